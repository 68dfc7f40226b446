"""Rounds that ask for a choice, through the command line: played, left, gone on with, shown, and never disclosed while they wait."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from audit_reports.event_names import names_in
from engines.rules import load_rules
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT

Capture = pytest.CaptureFixture[str]
RULES = ROOT / "tests" / "rules" / "stargazing-pictures.toml"
GAME = "moon-princess-stargazing"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a new ledger that deals the seeds of these tests, in whose rounds a choice is asked for before long."""
    seeds = (hashlib.sha256(bytes([number])).digest() for number in range(100))
    monkeypatch.setattr("ledger.epochs.new_seed", lambda: next(seeds))
    RoundLedger.create(tmp_path / "ledger.db").close()
    return tmp_path / "ledger.db"


def play(capfd: Capture, ledger: Path, *options: object) -> Any:
    return run(capfd, "play", "--game", GAME, "--rules", RULES, "--ledger", ledger, *options)


def leave(capfd: Capture, ledger: Path) -> str:
    """Play up to a round that waits and return its id."""
    ended = play(capfd, ledger, "--rounds", 100, "--leave-at-choice", "--json")
    waiting = ended.lines[-2]
    assert waiting["waits_for"] == ["astra", "nova", "star"]
    return str(waiting["round_id"])


def made(ledger: Path, round_id: str) -> list[tuple[int, str, str]]:
    """Return the choices of a round: place, by whom, through what."""
    with RoundLedger.open_for_reading(ledger) as opened:
        events = [json.loads(row.data) for row in opened.round_events(round_id)]
    return [(event["choice"], event["made_by"], event["channel"]) for event in events if event["kind"] == "choice_made"]


def choices_made(ledger: Path) -> set[tuple[int, str, str]]:
    with RoundLedger.open_for_reading(ledger) as opened:
        ids = [stream.removeprefix("round/") for stream in opened.store.streams("round/")]
    return {choice for round_id in ids for choice in made(ledger, round_id)}


def test_a_choice_is_named_or_the_first_is_taken_and_said(capfd: Capture, ledger: Path) -> None:
    """With --choice all rounds that ask take it, by name or place; without it the first is taken, as the system's choice, and said."""
    named = play(capfd, ledger, "--rounds", 12, "--choice", "star")
    assert (named.status, "asked for a choice" in named.err) == (0, False)
    assert choices_made(ledger) == {(2, "player", "audit play")}
    assert play(capfd, ledger, "--rounds", 12, "--choice", "1", "--account", "bob").status == 0
    assert choices_made(ledger) == {(2, "player", "audit play"), (1, "player", "audit play")}
    first = play(capfd, ledger, "--rounds", 12, "--account", "cat")
    assert "asked for a choice, and the first was taken; name one with --choice, or leave it with --leave-at-choice" in first.err
    assert (0, "system", "") in choices_made(ledger)
    assert run(capfd, "verify", "--all", "--ledger", ledger, "--rules", RULES).status == 0
    assert list(check_ledger(ledger)) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--choice", "luna"), "--choice: want one of astra, nova, star, got 'luna'"),
        (("--choice", "3"), "--choice: want one of astra, nova, star, got '3'"),
        (("--choice", "astra", "--leave-at-choice"), "--choice, --leave-at-choice: want one of them, got 'both'"),
    ],
)
def test_a_choice_that_is_none_is_wrong_usage(capfd: Capture, ledger: Path, options: tuple[str, ...], said: str) -> None:
    """An unknown choice is refused with those there are, before anything is recorded."""
    ended = play(capfd, ledger, *options)
    assert (ended.status, said in ended.err) == (2, True), ended.err
    with RoundLedger.open_for_reading(ledger) as opened:
        assert opened.store.streams("account/") == []


def test_a_game_that_asks_nothing_refuses_the_options(capfd: Capture, ledger: Path) -> None:
    """A game without choices takes neither option."""
    wanted = (
        "want none, as a round of moon-spell waits for no choice, got 'astra'",
        "want a game whose rounds wait for a choice, got 'moon-spell'",
    )
    for options, message in zip((("--choice", "astra"), ("--leave-at-choice",)), wanted, strict=True):
        ended = run(capfd, "play", "--game", "moon-spell", "--ledger", ledger, *options)
        assert (ended.status, message in ended.err) == (2, True), ended.err


def test_a_round_is_left_and_gone_on_with(capfd: Capture, ledger: Path) -> None:
    """A round that is left waits; `resume` goes on with the choice named and may be repeated, another choice is refused."""
    round_id = leave(capfd, ledger)
    verdict = run(capfd, "verify", "--round", round_id, "--ledger", ledger, "--rules", RULES, "--json")
    assert (verdict.status, verdict.document["verdict"]) == (0, "incomplete_open")
    assert list(check_ledger(ledger)) == []
    resume = ("resume", "--round", round_id, "--ledger", ledger, "--rules", RULES)
    wrong = run(capfd, *resume, "--choice", "luna")
    assert (wrong.status, "want one of astra, nova, star" in wrong.err) == (2, True)
    ended = run(capfd, *resume, "--choice", "nova", "--json")
    assert ended.status == 0
    assert ended.document["schema"] == "resume/1"
    assert ended.document["round_id"] == round_id
    assert made(ledger, round_id) == [(1, "player", "audit resume")]
    repeat = run(capfd, *resume, "--choice", "nova", "--json")
    assert (repeat.status, repeat.document) == (0, ended.document)
    assert "settled before" in repeat.err
    assert run(capfd, *resume).status == 0
    other = run(capfd, *resume, "--choice", "star")
    assert (other.status, "want 1, which the record holds, got 2" in other.err) == (2, True), other.err
    unknown = run(capfd, "resume", "--round", "0" * 12, "--ledger", ledger)
    assert (unknown.status, "want one in the record" in unknown.err) == (3, True)
    assert run(capfd, "verify", "--all", "--ledger", ledger, "--rules", RULES).status == 0
    assert list(check_ledger(ledger)) == []


def test_a_round_that_waits_is_finished_first(capfd: Capture, ledger: Path) -> None:
    """The next `play` of its account goes on with it: by the choice named, or by the first, which is said; so does `resume` without one."""
    for options, choice in ((("--choice", "star"), (2, "player", "audit play")), ((), (0, "system", ""))):
        round_id = leave(capfd, ledger)
        ended = play(capfd, ledger, *options)
        assert ended.status == 0
        assert f"round {round_id} was still in play: finished first" in ended.err
        assert ("the first was taken: astra" in ended.err) == (not options)
        assert made(ledger, round_id) == [choice]
    round_id = leave(capfd, ledger)
    ended = run(capfd, "resume", "--round", round_id, "--ledger", ledger, "--rules", RULES)
    assert f"round {round_id}: it waited for a choice, the first was taken: astra" in ended.err
    assert ended.out.split()[:2] == [round_id, "won"]


def test_nothing_of_a_round_that_waits_is_disclosed(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """No key, seed, draw or other reading of it is given, by any command; once it is settled all are."""
    round_id = leave(capfd, ledger)
    one = ("--round", round_id, "--ledger", ledger)
    key = run(capfd, "seeds", "release", *one, "-o", tmp_path / "keys.jsonl")
    assert (key.status, "want a settled round, got one in play; its key would disclose what is to come" in key.err) == (2, True)
    since = run(capfd, "seeds", "release", "--since", "2020-01-01T00:00:00Z", "-o", tmp_path / "all.jsonl", "--ledger", ledger)
    assert since.status == 0
    assert round_id not in (tmp_path / "all.jsonl").read_text()
    run(capfd, "seeds", "rotate", "--ledger", ledger)
    with RoundLedger.open_for_reading(ledger) as opened:
        epoch = opened.opening(round_id).epoch
    seed = run(capfd, "seeds", "reveal", "--epoch", epoch, "--ledger", ledger)
    assert (seed.status, f"want no round of it in play, got {round_id}" in seed.err) == (2, True)
    drawn = run(capfd, "verify", *one, "--rules", RULES, "--draws", "--json").document
    assert drawn["draws"] is None
    other = run(capfd, "verify", *one, "--rules", RULES, "--what-if", "--draws")
    assert "draws: nothing is shown of this round, for it is not settled, and its draws would disclose its outcome" in other.out
    assert "it is not settled, and each reading would disclose its outcome" in other.out
    assert run(capfd, "verify", *one, "--rules", RULES, "--what-if", "--json").document["what_if"] is None
    exported = run(capfd, "export", *one)
    assert json.loads(exported.out.splitlines()[-1])["event"]["kind"] == "choice_offered"
    run(capfd, "resume", *one, "--rules", RULES, "--choice", "astra")
    assert run(capfd, "seeds", "release", *one, "-o", tmp_path / "keys.jsonl").status == 0
    drawn = run(capfd, "verify", *one, "--rules", RULES, "--draws", "--what-if", "--json").document
    assert len(drawn["draws"]) > 100
    assert all(each["ended"] for each in drawn["what_if"])
    assert run(capfd, "seeds", "reveal", "--epoch", epoch, "--ledger", ledger).status == 0


def test_a_round_that_waits_is_found_and_exported(capfd: Capture, ledger: Path) -> None:
    """`find`, `history` and `export` take it as an open round; names stand beside its numbers."""
    round_id = leave(capfd, ledger)
    found = run(capfd, "find", "--status", "waiting", "--ledger", ledger, "--json").lines
    assert [each["round_id"] for each in found[:-1]] == [round_id]
    assert run(capfd, "history", "--ledger", ledger).status == 0
    waits = run(capfd, "show", "--round", round_id, "--ledger", ledger, "--rules", RULES)
    assert "the round waits for a choice" in waits.out
    assert "choice       astra, nova or star offered" in waits.out
    run(capfd, "resume", "--round", round_id, "--ledger", ledger, "--rules", RULES, "--choice", "nova")
    assert run(capfd, "find", "--status", "open", "--ledger", ledger, "--json").lines[-1]["rounds"] == 0
    shown = run(capfd, "show", "--round", round_id, "--ledger", ledger, "--rules", RULES).out
    assert "choice       nova made by the player" in shown


def test_princesses_and_choices_have_names_in_an_export() -> None:
    """The names of a power's princess, of what is offered and of what is chosen stand beside their numbers."""
    rules = load_rules(RULES)
    assert names_in({"kind": "power", "princess": 1}, rules) == {"princess": "nova"}
    assert names_in({"kind": "choice_offered", "choices": [0, 2, 9]}, rules) == {"choices": ["astra", "star", "?"]}
    assert names_in({"kind": "choice_made", "choice": 2}, rules) == {"choice": "star"}
