"""The page on a lost connection, command by command, on rounds of a real game."""

import re
import shlex
from pathlib import Path

import pytest

from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT

Capture = pytest.CaptureFixture[str]
PAGE = ROOT / "docs" / "how-to" / "lost-connection.md"


def page_commands() -> list[list[str]]:
    """Return the words of each command of the page, in its order."""
    text = re.sub(r"\\\n +", "", PAGE.read_text())
    return [shlex.split(line)[1:] for line in re.findall(r"^    (audit .*)$", text, re.MULTILINE)]


def interrupted(capfd: Capture, account: str) -> str:
    """Return a round of an account that is interrupted after three legs."""
    document = run(capfd, "play", "--game", "moonlight-princess", "--mode", "buy", "--account", account, "--legs", "3", "--json").lines[0]
    round_id: str = document["round_id"]
    assert document["waits_for"] == []
    done = run(capfd, "interrupt", "--round", round_id, "--cause", "connection_lost", "--acked-event", "2", "--acked-at", now())
    assert done.status == 0
    assert f"round {round_id} interrupted, connection_lost: 200.00 EUR held" in done.out
    return round_id


def now() -> str:
    """Return the moment, as text."""
    from audit_reports.output import time_text
    from ledger.references import now_us

    return time_text(now_us()).removesuffix(" UTC").replace(" ", "T") + "Z"


def test_the_commands_of_the_page_do_what_it_says(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of docs/how-to/lost-connection.md is run, with ids of a ledger for those of the page, and ends as the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUDIT_LEDGER", raising=False)
    run(capfd, "init")
    first, second = interrupted(capfd, "anna"), interrupted(capfd, "cleo")
    with_ledger = RoundLedger.open_for_reading(Path("ledger.db"))
    try:
        profile_hash = with_ledger.opening(first).profile_hash
        before = [row.topic for row in with_ledger.round_events(first)]
    finally:
        with_ledger.close()
    ids = {"ROUND": first, "ROUND2": second, "PROFILE_HASH": profile_hash}
    told = []
    for words in page_commands():
        ids["NOW"] = now()
        done = run(capfd, *[ids.get(word.removeprefix("$"), word) for word in words])
        told.append((" ".join(words[:2]), done.status, done.out))
        if words[0] == "play":
            ids["ROUND3"] = re.match("[0-9a-f]{32}", done.out)[0]  # type: ignore[index]
    assert [status for _, status, _ in told] == [0] * len(told)
    verdicts = [out.split()[0] for name, _, out in told if name == "verify --round"]
    assert verdicts == ["INCOMPLETE_OPEN", "INCOMPLETE_RESOLVED", "INCOMPLETE_RESOLVED"]
    assert before[-1] == "round_interrupted/1"
    notes = next(out for name, _, out in told if name == "verify --round")
    shape = r"note: interrupted: connection lost, cut off at \S+Z, recorded at \S+Z behind event \d+; "
    assert re.search(shape + r"last event acknowledged: event 2 at \S+Z; 200\.00 EUR held, \d+\.\d\d EUR won so far", notes)
    shown = next(out for name, _, out in told if name == "show --round")
    assert "interrupted: connection lost" in re.sub(r"\s+", " ", shown)
    assert "1 round in play, 200.00 EUR held" in told[-1][2]
    assert "given back" not in next(out for name, _, out in told if name == "history --account")
    assert f"round {second} void, cannot_continue: pays 200.00 EUR (return_of_bet)" in next(
        out for name, _, out in told if name == "void --round"
    )
    for command in re.findall(r"^    audit (\w+)", PAGE.read_text(), re.MULTILINE):
        assert f"## audit {command}" in (ROOT / "docs" / "reference" / "cli.md").read_text()


def test_every_finding_of_a_rounds_life_is_on_the_page() -> None:
    """The page names each code that the checks of a round's life can give, and no other."""
    sources = [(ROOT / "replay" / name).read_text() for name in ("life.py", "profile_rules.py")]
    codes = {code for source in sources for code in re.findall(r'_finding\(\s*"(\w+)"', source)} | {"leg"}
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    assert codes == {code for row in rows for code in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("interrupt", "--round", "x" * 8, "--cause", "lightning"), "--cause: want connection_lost or system_restarted or"),
        (("interrupt", "--round", "ROUND", "--cause", "other", "--acked-event", "2"), "--acked-event, --acked-at: want both or neither"),
        (("interrupt", "--round", "ROUND", "--cause", "other", "--broke-at", "2001-01-01T00:00:00Z"), "time of the break: want one from"),
        (("interrupt", "--round", "ROUND", "--cause", "other", "--acked-event", "999", "--acked-at", "NOW"), "event acknowledged: want an"),
        (("interrupt", "--round", "nothing-of-it", "--cause", "other"), "round nothing-of-it"),
        (("void",), "--round, --due: want one of them, got 'neither'"),
        (("void", "--due", "--why", "x"), "--why: want it only together with --round"),
        (("void", "--round", "ROUND"), "--reason: want deadline or cannot_continue or malfunction"),
        (("void", "--round", "ROUND", "--reason", "deadline"), "want a round opened 90 days ago or more"),
        (("void", "--round", "ROUND", "--reason", "cannot_continue", "--why", "x"), "want two people who say so, got none"),
        (("void", "--round", "ROUND", "--reason", "malfunction", "--why", "x", "--by", "A", "--approved-by", "B"), "want an incident in"),
        (("resume",), "--round, --due: want one of them, got 'neither'"),
        (("resume", "--due", "--choice", "x"), "--choice: want it only together with --round"),
        (("play", "--game", "moonlight-princess", "--legs", "-1"), "--legs: want a number of legs, 1 or more"),
        (("play", "--game", "moonlight-princess", "--legs", "2", "--rounds", "2"), "--legs: want it for one round"),
        (("held", "--as-of", "yesterday"), "--as-of: want a time"),
        (("held", "--account", "nobody"), "nobody"),
        (("account", "bonus", "anna", "--amount", "-1.00"), "balance of account"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(capfd: Capture, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    """Each wrong use is named with what was wanted, nothing is recorded, and the status is 2 or 3."""
    ledger = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", ledger)
    played = run(
        capfd, "play", "--game", "moonlight-princess", "--mode", "buy", "--account", "anna", "--legs", "2", "--json", "--ledger", ledger
    )
    ids = {"ROUND": played.lines[0]["round_id"], "NOW": now()}
    reader = RoundLedger.open_for_reading(ledger)
    before = reader.store.tree_size()
    done = run(capfd, *[ids.get(word, word) for word in words], "--ledger", ledger)
    assert done.status in (2, 3)
    assert message in done.err
    assert reader.store.tree_size() <= before + 2  # an epoch that the command closed
    reader.close()
