"""What the player was shown against what was evaluated: right records pass, an amount that differs is one finding, in one round or many."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import canonical_json
from engines.game import EventBytes
from engines.registry import GAMES, installed_game
from ledger.bets import Played, Waiting
from ledger.corrections import correct_round
from ledger.export import export_lines
from ledger.presentations import Acknowledged, Shown, record_acknowledgement, record_presentation
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.check import RoundCheck, check_rounds
from replay.rulebook import Rulebook
from replay.verification import Verification, Verifier
from tests.contracts.alterations_contract import TWO
from tests.contracts.life_contract import DAY_US, interrupt, put_in_force, void
from tests.contracts.presentations_contract import show
from tests.ledger_files import new_ledger
from tests.planted_lives import begun, moonlight
from tests.screens import screens_of
from tests.whole import everything_wrong

Lines = list[dict[str, Any]]
MODES = ("base", "buy")


def play_in_legs(ledger: RoundLedger, ref: str, name: str, mode: str) -> str:
    """Play a round leg by leg, show each to its player before the next, and return its id."""
    game = installed_game(name)
    round_id, choices = ledger.open_round(ref, game, mode, game.rules.bet.coins * 2).round_id, []
    while not isinstance(played := ledger.play_leg(round_id, game, choices or None), Played):
        if isinstance(played, Waiting):
            choices.append(played.offered[-1])
        show(ledger, round_id)
    show(ledger, round_id)
    return round_id


def play_at_once(ledger: RoundLedger, ref: str, name: str, mode: str) -> str:
    """Play a round, show all of it at once, and return its id."""
    game = installed_game(name)
    round_id = ledger.play(ref, game, mode, game.rules.bet.coins * 2).round_id
    show(ledger, round_id)
    return round_id


class Table:
    """A ledger with shown rounds of all games."""

    def __init__(self, folder: Path) -> None:
        self.path, self.keys_dir = folder / "ledger.db", folder / "ledger.db.keys"
        self.rounds: dict[str, Lines] = {}
        with new_ledger(folder) as (ledger, ref):
            for name in GAMES:
                for mode in MODES:
                    if installed_game(name).rules.mode(mode):
                        for play in (play_at_once, play_in_legs):
                            round_id = play(ledger, ref, name, mode)
                            records = ledger.store.records_of([f"round/{round_id}"])
                            self.rounds[round_id] = [json.loads(line) for line in export_lines(records)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Give a ledger with shown rounds of all games."""
    return Table(tmp_path_factory.mktemp("shown"))


def check_lines(lines: Lines) -> RoundCheck:
    """Return what is found in one exported round."""
    return check_rounds(map(json.dumps, lines), Rulebook().find).rounds[0]


def test_right_records_of_all_games_are_clean(table: Table) -> None:
    """Shown at once and leg by leg: fsck, `verify --all` and each round by itself find nothing, and say how many there are."""
    assert everything_wrong(table.path, table.keys_dir) == []
    with RoundLedger.open_for_reading(table.path) as ledger:
        verifier = Verifier(ledger, keys_dir=table.keys_dir)
        for round_id, lines in table.rounds.items():
            found = verifier.verify(round_id)
            assert (found.verdict, found.findings) == ("reproduced", [])
            count = sum(line["event"]["kind"] == "presentation_sent" for line in lines)
            words = f"{count} record{'' if count == 1 else 's'} of what the client was told, {count} acknowledged"
            assert found.checks[-1] == ("presentation", "pass", f"{words}: amounts are those of the outcome")
            checked = check_lines(lines)
            assert (checked.findings, checked.checks[-1]) == ([], found.checks[-1])


AMOUNTS = {"presentation_sent": ("spin_win_minor", "total_win_minor", "balance_minor"), "presentation_acked": ("total_win_minor",)}


@given(st.data())
def test_one_amount_that_differs_is_one_finding(table: Table, data: st.DataObject) -> None:
    """Whatever round, record, field and difference: one finding at that event, with both amounts and no word of which is right."""
    round_id = data.draw(st.sampled_from(sorted(table.rounds)))
    lines = json.loads(json.dumps(table.rounds[round_id]))
    end = next(place for place, line in enumerate(lines) if line["event"]["kind"] == "round_settled")
    places = [
        (place, name)
        for place, line in enumerate(lines)
        for name in AMOUNTS.get(line["event"]["kind"], ())
        if name != "balance_minor" or (place > end and line["event"][name] != -1)
    ]
    place, name = data.draw(st.sampled_from(places))
    event = lines[place]["event"]
    want = event[name] if event["kind"] == "presentation_sent" else lines[event["sent_index"]]["event"]["total_win_minor"]
    got = data.draw(st.integers(-(10**9), 10**9).filter(lambda value: value not in (want, -1)))
    event[name] = got
    checked = check_lines(lines)
    (finding,) = checked.findings
    assert (finding.code, finding.severity, finding.event_index) == ("presentation_amount", "presentation", place)
    assert (finding.want, finding.got) == (str(want), str(got))
    assert finding.message.endswith(f" {want}, shown {got}")
    assert [check.result for check in checked.checks] == ["not_shown"] * 3 + ["pass", "pass", "fail"]


@given(st.data())
def test_an_index_that_names_nothing_is_one_finding(table: Table, data: st.DataObject) -> None:
    """Of no spin's end, of one that comes later, of another spin, of no presentation: one finding of integrity at that event."""
    round_id = data.draw(st.sampled_from(sorted(table.rounds)))
    lines = json.loads(json.dumps(table.rounds[round_id]))
    end = next(place for place, line in enumerate(lines) if line["event"]["kind"] == "round_settled")
    shown = [place for place, line in enumerate(lines) if line["event"]["kind"] in AMOUNTS and place > end]
    place = data.draw(st.sampled_from(shown))
    event = lines[place]["event"]
    name = data.draw(st.sampled_from(["through_index", "spin_index"] if event["kind"] == "presentation_sent" else ["sent_index"]))
    wanted = {"through_index": "spin_ended", "sent_index": "presentation_sent"}.get(name)
    wrong = [index for index, line in enumerate(lines) if line["event"]["kind"] != wanted or index > place] + [len(lines) + 5]
    event[name] = data.draw(st.sampled_from([index for index in wrong if index != event[name]]))
    (finding,) = check_lines(lines).findings
    assert (finding.code, finding.severity, finding.event_index) == ("presentation_order", "integrity", place)


Wrong = Callable[[list[Shown]], list[Shown]]


def verified(ledger: RoundLedger, keys_dir: Path, round_id: str) -> Verification:
    return Verifier(ledger, keys_dir=keys_dir).verify(round_id)


def spin_told_wrong(shown: list[Shown]) -> list[Shown]:
    """Tell 20 more for the first spin, and so in every total and balance from there on."""
    off = [each._replace(total_win_minor=each.total_win_minor + 20, balance_minor=each.balance_minor + 20) for each in shown]
    return [off[0]._replace(spin_win_minor=off[0].spin_win_minor + 20), *off[1:]]


CAUSES: dict[str, tuple[Wrong, list[str]]] = {
    "a spin's win, and all that follows from it": (spin_told_wrong, ["win of spin 0"]),
    "a total, and those after it": (
        lambda shown: [*shown[:2], *(each._replace(total_win_minor=each.total_win_minor - 1) for each in shown[2:])],
        ["win so far after spin 2"],
    ),
    "a balance, told each time": (lambda shown: [each._replace(balance_minor=7) for each in shown], ["balance"]),
    "told twice": (lambda shown: [shown[0]._replace(spin_win_minor=3)] * 2 + shown[1:], ["win of spin 0"]),
    "two spins": (
        lambda shown: [each._replace(spin_win_minor=each.spin_win_minor + place * (place < 3)) for place, each in enumerate(shown)],
        ["win of spin 1", "win of spin 2"],
    ),
    "every total another": (
        lambda shown: [each._replace(total_win_minor=each.total_win_minor + 5**place) for place, each in enumerate(shown[:3])],
        ["win so far after spin 0", "win so far after spin 1", "win so far after spin 2"],
    ),
    "nothing": (lambda shown: [each._replace(balance_minor=-1) for each in shown], []),
}


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RoundLedger, str, Path]]:
    """Give a ledger, an account and its keys."""
    folder = tmp_path_factory.mktemp("bought")
    with new_ledger(folder) as (ledger, ref):
        yield ledger, ref, folder / "ledger.db.keys"


@pytest.mark.parametrize("name", CAUSES)
def test_one_cause_is_one_finding(bought: tuple[RoundLedger, str, Path], name: str) -> None:
    """What follows from a wrong amount that is named already is not named again; another cause is."""
    ledger, ref, keys_dir = bought
    wrong, wanted = CAUSES[name]
    game = installed_game("moonlight-princess")
    round_id = ledger.play(ref, game, "buy", 20).round_id
    record_presentation(ledger, round_id, wrong(screens_of(ledger, round_id)))
    found = verified(ledger, keys_dir, round_id)
    assert [finding.where.split(" in presentation")[0] for finding in found.findings] == wanted
    assert found.verdict == ("presentation_divergence" if wanted else "reproduced")
    assert [check.result for check in found.checks] == ["pass"] * 5 + ["fail" if wanted else "pass"]


def test_the_client_shows_another_amount_than_it_was_told(bought: tuple[RoundLedger, str, Path]) -> None:
    """That is one finding, of the acknowledgement alone, with what was told and what was shown; silence is none."""
    ledger, ref, keys_dir = bought
    game = installed_game("starlight-wins")
    round_id = ledger.play(ref, game, "base", game.rules.bet.coins).round_id
    shown = screens_of(ledger, round_id)
    (index,) = record_presentation(ledger, round_id, shown)
    record_acknowledgement(ledger, round_id, [Acknowledged(index)])
    assert verified(ledger, keys_dir, round_id).verdict == "reproduced"
    told = shown[0].total_win_minor
    record_acknowledgement(ledger, round_id, [Acknowledged(index, told), Acknowledged(index, told + 9), Acknowledged(index, told + 9)])
    found = verified(ledger, keys_dir, round_id)
    (finding,) = found.findings
    assert (finding.want, finding.got, finding.event_index) == (str(told), str(told + 9), index + 3)
    assert finding.message == f"win so far in presentation_acked of event {index}: told {told}, shown {told + 9}"
    assert found.verdict == "presentation_divergence"
    assert "1 record of what the client was told, 1 acknowledged" not in found.checks[-1].detail


LIVES: dict[str, tuple[Callable[[RoundLedger, str], object], str]] = {
    "in play": (lambda ledger, round_id: None, "incomplete_open"),
    "interrupted": (lambda ledger, round_id: interrupt(ledger, round_id), "incomplete_open"),
    "gone on with": (
        lambda ledger, round_id: (interrupt(ledger, round_id), ledger.finish_round(round_id, moonlight())),
        "incomplete_resolved",
    ),
    "void": (lambda ledger, round_id: void(ledger, round_id), "incomplete_resolved"),
    "settled": (lambda ledger, round_id: ledger.finish_round(round_id, moonlight()), "reproduced"),
    "corrected": (
        lambda ledger, round_id: (
            ledger.finish_round(round_id, moonlight()),
            correct_round(ledger, round_id, "round_settled.balance_after_minor", "5", "why", *TWO),
        ),
        "reproduced",
    ),
}


@pytest.mark.parametrize("name", LIVES)
def test_a_round_of_any_life_is_shown(tmp_path: Path, name: str) -> None:
    """Shown between its legs and behind all that happens to it: the verdict is as without it; one amount that differs is the divergence."""
    live, verdict = LIVES[name]
    path, keys_dir = tmp_path / "ledger.db", tmp_path / "ledger.db.keys"
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = begun(ledger, ref)
        show(ledger, round_id)
        ledger.play_leg(round_id, moonlight())
        live(ledger, round_id)
        assert verified(ledger, keys_dir, round_id).verdict == verdict
        show(ledger, round_id)
        found = verified(ledger, keys_dir, round_id)
        assert (found.verdict, found.findings, found.checks[-1].result) == (verdict, [], "pass")
        assert everything_wrong(path, keys_dir) == []
        lines = [line.decode() for line in export_lines(ledger.store.records_of([f"round/{round_id}"]))]
        assert not [each for each in check_rounds(lines, Rulebook().find).rounds[0].findings if each.code != "not_settled"]
        record_presentation(ledger, round_id, [screens_of(ledger, round_id)[0]._replace(spin_win_minor=1)])
        found = verified(ledger, keys_dir, round_id)
        assert (found.verdict, [finding.code for finding in found.findings]) == ("presentation_divergence", ["presentation_amount"])


def test_a_wrong_amount_between_legs_is_not_the_digest_s(tmp_path: Path) -> None:
    """Told wrong as it was recorded, the digest over it is right: one finding; altered in an exported file, one finding as well."""
    keys_dir = tmp_path / "ledger.db.keys"
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = begun(ledger, ref)
        shown = screens_of(ledger, round_id)
        record_presentation(ledger, round_id, [shown[0]._replace(total_win_minor=shown[0].total_win_minor + 1)])
        ledger.finish_round(round_id, moonlight())
        assert [each.code for each in verified(ledger, keys_dir, round_id).findings] == ["presentation_amount"]
        lines = [json.loads(line) for line in export_lines(ledger.store.records_of([f"round/{round_id}"]))]
    (told,) = (line["event"] for line in lines if line["event"]["kind"] == "presentation_sent")
    told["total_win_minor"] -= 1
    assert [each.code for each in check_lines(lines).findings] == ["round_digest"]
    told["total_win_minor"] += 1
    told["channel"] = "other"
    assert [each.code for each in check_lines(lines).findings] == ["presentation_amount"]


def test_a_round_that_is_overdue_is_so_whatever_was_shown_since(tmp_path: Path) -> None:
    """The hours of its profile run from its last leg."""
    keys_dir = tmp_path / "ledger.db.keys"
    with new_ledger(tmp_path) as (ledger, ref):
        put_in_force(ledger, "complete-24-hours")
        round_id = begun(ledger, ref)
        due = ledger.store.stream_appends(f"round/{round_id}")[-1].recorded_at_us + DAY_US
        ledger.store.clock = lambda: due - 1  # type: ignore[method-assign]
        show(ledger, round_id)
        for as_of_us, codes in ((due - 1, []), (due, ["round_overdue"])):
            found = Verifier(ledger, keys_dir=keys_dir, as_of_us=as_of_us).verify(round_id)
            assert (found.verdict, [finding.code for finding in found.findings]) == ("incomplete_open", codes)


LIES: dict[str, dict[str, Any]] = {
    "no amount": {"spin_win_minor": "much"},
    "below every index": {"through_index": -1},
    "no hash": {"manifest_hash": "x"},
}


@pytest.mark.parametrize("name", LIES)
def test_a_record_that_is_none_is_one_finding_and_stops_no_other_check(tmp_path: Path, name: str) -> None:
    """A writer that lies adds what no model reads: that is a finding of this check, and referee and totals are run as before."""
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = begun(ledger, ref)
        ledger.finish_round(round_id, moonlight())
        show(ledger, round_id)
        sent = next(row for row in ledger.round_events(round_id) if row.topic == "presentation_sent/1")
        ledger.store.show_round(round_id, [EventBytes(sent.topic, canonical_json({**json.loads(sent.data), **LIES[name]}))])
        found = verified(ledger, tmp_path / "ledger.db.keys", round_id)
    assert [each.code for each in found.findings] == ["event_model"]
    assert [check.result for check in found.checks] == ["pass"] * 5 + ["fail"]


def test_what_cannot_be_evaluated_is_held_against_nothing(table: Table) -> None:
    """Where an event of the outcome cannot be read, that is the finding, and what was shown is not judged."""
    for round_id in sorted(table.rounds)[:4]:
        lines = json.loads(json.dumps(table.rounds[round_id]))
        ended = next(line["event"] for line in lines if line["event"]["kind"] == "spin_ended")
        for value in ("much", -5):
            ended["award_minor"] = value
            checked = check_lines(lines)
            assert checked.checks[-1] == ("presentation", "not_run", "an event of the round cannot be read")
            assert not [each for each in checked.findings if each.code.startswith("presentation")]


def test_one_divergence_among_many_rounds_is_found(tmp_path: Path) -> None:
    """`verify --all` names the one round of many, on one core and on two, and a correction of its balance changes nothing of that."""
    with new_ledger(tmp_path) as (ledger, ref):
        game = installed_game("moonlight-princess")
        ids = [ledger.play(ref, game, "base", 20).round_id for _ in range(260)]
        for round_id in ids:
            show(ledger, round_id)
        last = screens_of(ledger, ids[130])[-1]
        record_presentation(ledger, ids[130], [last._replace(balance_minor=last.balance_minor + 1)])
    for job_count in (1, 2):
        summary = BulkSummary()
        plan = plan_bulk(tmp_path / "ledger.db", tmp_path / "ledger.db.keys")
        found = [each for each in verify_bulk(plan, summary, job_count=job_count) if each is not None]
        assert [(each.round_id, each.verdict) for each in found] == [(ids[130], "presentation_divergence")]
        assert [finding.code for finding in found[0].findings] == ["presentation_amount"]
        assert summary.is_wrong
