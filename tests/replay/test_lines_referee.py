"""The referee of win lines and Moons: its pure functions, right rounds, readings, and what only the seed can weigh."""

import os
from typing import Any

import pytest

from engines.canonical import canonical_json
from engines.game import EventBytes
from engines.game_events import Drop
from replay.referee.amounts import cap_award
from replay.referee.hold_and_respin import after_respin, cash_x100, ladder_x100, moon_count, possible_sums
from replay.referee.lines import LineWin, cells_of_lines, line_win, line_wins
from replay.referee.walk import RoundTotals, referee_round, walk_round
from replay.replayer import compare_outcome
from replay.weighing import weigh
from tests.moon_spell_rounds import FULL_BOARDS, LINES, LOW_CAP, MANY_MOONS, PAYS, RULES, MoonSpellRound, moon_rules, placed

ROUNDS = int(os.environ.get("SLOT_AUDIT_LINES_ROUNDS", "60"))
VARIANTS = {
    "plain": RULES,
    "many Moons": MANY_MOONS,
    "full boards": FULL_BOARDS,
    "full boards, capped": moon_rules(stacks=4, height=4, cap=5010),
    "two respins": moon_rules(stacks=3, moon=1, blank=6, spins=2),
    "low cap": LOW_CAP,
    "cap by price": LOW_CAP.with_reading("ALL-1", 1),
    "cap by spin": LOW_CAP.with_reading("ALL-1", 2),
    "no cap": LOW_CAP.with_reading("MSP-2", 1),
    "every rung": MANY_MOONS.with_reading("MSP-3", 1),
    "every rung, full": FULL_BOARDS.with_reading("MSP-3", 1),
    "landed Moons only": MANY_MOONS.with_reading("MSP-3", 2),
    "landed Moons only, full": FULL_BOARDS.with_reading("MSP-3", 2),
}
ASKED = (0, 3, 4, 5, 7, 10, 15)
LADDER = ((10, 11, 12, 13, 14, 15), (5000, 10000, 20000, 30000, 100000, 500000))


def judged(events: list[Any], rules: Any = RULES, **options: Any) -> list[Any]:
    return referee_round(placed(events), rules, mode="base", bet_minor=200, **options)


@pytest.mark.parametrize("name", VARIANTS)
def test_right_rounds_have_no_findings(name: str) -> None:
    """A round played by the rules has no finding above a warning, whole or cut off after any spin, and its totals are told exactly."""
    rules = VARIANTS[name]
    capped = bonuses = 0
    for seed in range(ROUNDS):
        played = MoonSpellRound(rules, seed=seed, moons=ASKED[seed % len(ASKED)]).play()
        walk = walk_round(placed(played.events), rules, mode="base", bet_minor=200)
        is_above = rules.reading("MSP-2") == 1 and played.total > played.cap_minor
        assert [(finding.code, finding.severity) for finding in walk.findings] == [("above_maximum", "warning")] * is_above, seed
        feature = played.total - played.base_award
        assert walk.totals == RoundTotals((played.ended,), (played.total,), (played.base_award,), (feature,))
        for place, event in enumerate(played.events):
            if event.kind == "spin_ended":
                found = judged(played.events[: place + 1], rules, is_complete=False)
                assert all(finding.severity == "warning" for finding in found), (seed, place, found)
        capped += any(event.kind == "cap_hit" for event in played.events)
        bonuses += any(event.kind == "feature_trigger" for event in played.events)
    assert bonuses > 3
    assert (capped > 0) == ("cap" in name and name != "no cap")


@pytest.mark.parametrize(
    ("values", "award"), [((100, 200), 0), ((50, 100, 200), 350), ((10000, 5000, 2000, 1000), 18000)], ids=["two", "three", "four"]
)
def test_published_cash_of_moons(values: tuple[int, ...], award: int) -> None:
    """Three or four Moons pay their sum, two nothing: a round that pays otherwise is found."""
    assert cash_x100(values) == sum(values)
    rounds = (MoonSpellRound(RULES, seed=seed, moons=len(values)) for seed in range(400))
    for played in rounds:
        drawn = iter(values)
        played.hooks["board"] = lambda board, _: (board[0], [next(drawn, 0) if each else 0 for each in board[1]])  # noqa: B023
        played.play()
        if played.moons == len(values) and not played.spin:
            break
    prizes = [event.pay_x100 for event in played.events if event.kind == "prize"]  # type: ignore[attr-defined]
    assert prizes == ([award] if award else [])
    assert judged(played.events) == []


@pytest.mark.parametrize(
    ("values", "award"),
    [((50,) * 9, 450), ((50,) * 9 + (100,), 5550), ((50,) * 15, 500_750), ((10000,) * 15, 522_400)],
    ids=["nine", "ten", "fifteen", "the highest"],
)
def test_published_ends_of_the_bonus(values: tuple[int, ...], award: int) -> None:
    """Cash of all Moons and the ladder prize of the final count, cut at 5,224 bets."""
    prizes = [cash_x100(values), *ladder_x100(len(values), *LADDER)]
    total = 0
    for prize in prizes:
        left = cap_award(total, prize, 522_400)
        total += prize if left is None else left
    assert total == award


@pytest.mark.parametrize(
    ("landed", "played"), [((0, 0, 0), 3), ((0, 0, 1, 0, 0, 0), 6), ((1, 0, 0, 0), 4), ((0, 9), 2)], ids=["none", "third", "first", "full"]
)
def test_published_respins(landed: tuple[int, ...], played: int) -> None:
    """A new Moon sets the respins back to three; three that are empty, or fifteen Moons, end the bonus."""
    left, moons, count = 3, 6, 0
    for new in landed:
        count += 1
        moons += new
        respins = after_respin(left - 1, new, moons, 15, 3)
        left = respins.left
        assert respins.is_over == (count == len(landed))
    assert count == played
    assert after_respin(0, 0, 15, 15, 3).is_over


def test_readings_of_the_ladder() -> None:
    """The rung of the final count, or every rung that was reached, lowest first; none below ten Moons."""
    assert ladder_x100(12, *LADDER) == (20000,)
    assert ladder_x100(12, *LADDER, is_every_rung=True) == (5000, 10000, 20000)
    assert ladder_x100(9, *LADDER) == ladder_x100(9, *LADDER, is_every_rung=True) == ()


def test_what_unknown_moons_may_be_worth() -> None:
    """A Moon whose value nobody knows may have any of the table, however many there are."""
    assert possible_sums((50, -1, 0), {50, 100}) == {100, 150}
    assert possible_sums((-1, -1), {50, 100}) == {100, 150, 200}
    assert possible_sums((-1,) * 15, {50, 100}) == set(range(750, 1501, 50))
    assert moon_count((50, -1, 0)) == 2


def test_lines_pay_from_the_first_reel_and_wilds_stand_for_the_symbol() -> None:
    """The unbroken run of a symbol and wilds pays on each line it lies on; Moons and blanks break it."""
    pays = dict(enumerate(PAYS))
    lines = cells_of_lines(LINES, 3)
    board = (9, 6, 9, 9, 8, 9, 9, 6, 6, 9, 8, 9, 9, 9, 6)
    assert line_wins(board, lines, (3, 4, 5), pays, 8) == [
        LineWin(0, 6, 4, (1, 4, 7, 10), 75),
        LineWin(11, 6, 3, (1, 4, 7), 25),
        LineWin(15, 6, 4, (1, 4, 7, 10), 75),
        LineWin(16, 6, 4, (1, 4, 8, 10), 75),
    ][:1] + [win for win in line_wins(board, lines, (3, 4, 5), pays, 8) if win.line]
    assert line_win(0, (1, 4, 7, 10, 13), (9,) * 15, (3, 4, 5), pays, 8) is None


def test_the_largest_combination_of_a_line_pays() -> None:
    """Where wilds pay of their own, the better of their run and of the run they are part of is paid, never both."""
    pays = {0: (10, 20, 30), 8: (15, 25, 500)}
    cells = (0, 1, 2, 3, 4)
    assert line_win(0, cells, (8, 8, 8, 0, 9), (3, 4, 5), pays, 8) == LineWin(0, 0, 4, (0, 1, 2, 3), 20)
    assert line_win(0, cells, (8, 8, 8, 9, 9), (3, 4, 5), pays, 8) == LineWin(0, 8, 3, (0, 1, 2), 15)
    assert line_win(0, cells, (8, 8, 9, 0, 0), (3, 4, 5), pays, 8) is None


READ_OTHERWISE = {
    "ALL-1": (LOW_CAP, 2, {"cap_missing", "cap_hit", "trigger_missing"}),
    "MSP-2": (LOW_CAP, 1, {"cap_missing"}),
    "MSP-3": (MANY_MOONS, 1, {"prize_invented"}),
}


@pytest.mark.parametrize("name", READ_OTHERWISE)
def test_a_finding_says_under_which_reading_it_vanishes(name: str) -> None:
    """A round that is right under another reading is found, and the finding names the reading."""
    rules, value, codes = READ_OTHERWISE[name]
    count = 0
    for seed in range(200):
        played = MoonSpellRound(rules.with_reading(name, value), seed=seed, moons=8).play()
        rungs = [event for event in played.events if getattr(event, "which", "") == "ladder"]
        found = judged(played.events, rules) if len(rungs) < 3 else []
        if len(found) == 1:
            assert (found[0].assumption, found[0].code in codes) == (name, True), found
            assert f"vanishes under reading {name} = {value}" in found[0].message
            count += 1
            if count == 4:
                break
    assert count >= 3


def test_a_round_without_game_events_is_one_finding() -> None:
    """No spin at all is a finding about the round, and nothing is wrong with one that has yet to start."""
    assert [finding.code for finding in judged([])] == ["spins_unplayed"]
    assert judged([], is_complete=False) == []


def test_a_round_that_stops_within_its_bonus_owes_respins() -> None:
    """Respins that are owed and not played are money withheld."""
    played = MoonSpellRound(RULES, seed=3, moons=5).play()
    ends = [place for place, event in enumerate(played.events) if event.kind == "spin_ended"]
    assert [(finding.code, finding.severity) for finding in judged(played.events[: ends[1] + 1])] == [("spins_unplayed", "money")]


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("spin_started", {"part": "free"}, "part"),
        ("spin_started", {"strip_set": 9}, "strip_set"),
        ("spin_started", {"multiplier": 2}, "multiplier"),
        ("spin_started", {"total_multiplier": 2}, "total_multiplier"),
        ("spin_started", {"meter": 1}, "meter"),
        ("spin_started", {"highlighted_cells": (3,)}, "highlighted_cells"),
        ("spin_started", {"spin_index": 4}, "spin_index"),
        ("drop", {"drop_index": 2}, "drop_index"),
        ("drop", {"marks": (0,) * 15}, "marks"),
        ("drop", {"stops": (0,) * 4}, "stops"),
        ("drop", {"stops": (5000,) * 5}, "stops"),
        ("drop", {"symbols": (0,) * 14}, "board_shape"),
        ("feature_trigger", {"feature": "free_spins"}, "trigger_feature"),
        ("feature_trigger", {"count": 9}, "trigger_count"),
        ("prize", {"which": "scatter_pay"}, "prize_which"),
        ("spin_ended", {"meter": 3}, "meter"),
        ("feature_ended", {"feature": "free_spins"}, "feature"),
        ("feature_ended", {"spins_played": 2}, "spins_played"),
    ],
)
def test_other_fields_are_checked(kind: str, fields: dict[str, Any], code: str) -> None:
    """A field that the game has no use for, or one that follows from others, is one finding of the record."""
    events: list[Any] = list(MoonSpellRound(RULES, seed=3, moons=5).play().events)
    place = next(place for place, event in enumerate(events) if event.kind == kind)
    events[place] = events[place].model_copy(update=fields)
    assert [(finding.code, finding.severity) for finding in judged(events)] == [(code, "integrity")]


def test_a_sum_of_moons_that_one_board_alone_contradicts_needs_the_seed() -> None:
    """Without the seed a value of the only board and the sum stand against each other; with it the altered one is named, once."""
    count = 0
    for seed in range(8):
        played = MoonSpellRound(MANY_MOONS, seed=seed, moons=(3, 5)[seed % 2]).play()
        right = [EventBytes(f"{event.kind}/1", canonical_json(event.model_dump(mode="json"))) for event in played.events]
        for place, event in enumerate(played.events):
            if not isinstance(event, Drop) or not any(event.values):
                continue
            cell = next(cell for cell, value in reversed(list(enumerate(event.values))) if value)
            for value in (50, 300):
                values = (*event.values[:cell], value, *event.values[cell + 1 :])
                altered: list[Any] = [*played.events]
                altered[place] = event.model_copy(update={"values": values})
                if values != event.values:
                    found = judged(altered, MANY_MOONS)
                    assert len(found) <= 1, found
                    weighed = _weighed(found, altered, right)
                    assert [(each.event_index, each.severity) for each in weighed] == [(place + 1, "integrity")], (seed, place, found)
                    count += bool(found) and "the seed tells which" in found[0].want
    assert count > 1


def _weighed(found: list[Any], altered: list[Any], right: list[EventBytes]) -> list[Any]:
    recorded = [(index, EventBytes(f"{event.kind}/1", canonical_json(event.model_dump(mode="json")))) for index, event in placed(altered)]

    class Rerun:
        events, total_win_minor = right, altered[-1].total_minor

    by_replay = compare_outcome(recorded, Rerun, recorded_win_minor=Rerun.total_win_minor)  # type: ignore[arg-type]
    return weigh(found, by_replay, recorded, Rerun)  # type: ignore[arg-type]
