"""The referee of runs and princesses: its pure functions, right rounds, readings, and rounds that wait or stop."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from engines.canonical import canonical_json
from engines.game import EventBytes
from replay.referee.amounts import win_amount
from replay.referee.runs import (
    RunSymbols,
    are_power_cells,
    board_after_fall,
    diagonal_stretches,
    lines_of_cells,
    paying_cells,
    runs_of,
    split_cells,
)
from replay.referee.runs_tables import runs_tables_of
from replay.referee.walk import RoundTotals, walk_round
from replay.replayer import compare_outcome
from replay.weighing import weigh
from tests.stargazing_faults import RULES_BY, found_in, played_by
from tests.stargazing_rounds import RULES, StargazingRound, placed

ROUNDS = int(os.environ.get("SLOT_AUDIT_RUNS_ROUNDS", "30"))
PUBLISHED = Path(__file__).parents[1] / "cases" / "published.json"
LINES = lines_of_cells(5, 5)
SYMBOLS = runs_tables_of(RULES).symbols
SUMMED = runs_tables_of(RULES.with_reading("MPS-3", 1)).symbols
LETTERS = "BHTRANSWMx"


def row_runs(word: str, symbols: RunSymbols = SYMBOLS, *, marked: str = "") -> list[tuple[str, str, int]]:
    """Return what wins in a row of five letters, the rest of the grid empty: symbol, the cells' letters, pay."""
    board = [9] * 25
    marks = [0] * 25
    for reel, letter in enumerate(word):
        board[5 * reel] = LETTERS.index(letter)
        marks[5 * reel] = 2 if str(reel) in marked else 0
    found = [run for run in runs_of(board, marks, LINES, symbols) if run.line == 0]
    return [(LETTERS[run.symbol], "".join(word[cell // 5] for cell in run.cells), run.pay_x100) for run in found]


@pytest.mark.parametrize("name", RULES_BY)
def test_right_rounds_have_no_findings(name: str) -> None:
    """A round played by the rules has no finding but a limit reached, whole or cut off after any leg, and its totals are told exactly."""
    ended, waited = set(), 0
    for seed in range(ROUNDS):
        played = played_by(name, seed).play()
        state = {"princess": played.state_in}
        walk = walk_round(placed(played.events), played.rules, mode="base", bet_minor=played.bet, state_in=state, choices=played.choices)
        assert [finding.code for finding in walk.findings] == ["limit_reached"] * (played.ended == "limit"), (seed, walk.findings)
        feature = played.total - played.base_award
        told = RoundTotals((played.ended,), (played.total,), (played.base_award,), (feature,), ({"princess": played.active},))
        assert walk.totals == told, seed
        ended.add(played.ended)
        for place, event in enumerate(played.events[:-1]):
            is_leg = event.kind == "choice_offered" or (event.kind == "spin_ended" and played.events[place + 1].kind == "spin_started")
            if is_leg:
                waited += event.kind == "choice_offered"
                chosen = played.choices
                played.choices = () if event.kind == "choice_offered" else chosen
                assert found_in(played.events[: place + 1], played, is_complete=False) == [], (seed, place)
                played.choices = chosen
    assert waited > 3
    assert ("capped" in ended) == (name == "capped")
    assert ("limit" in ended) <= (name == "few Resonances")


def test_free_spins_with_each_princess_are_right() -> None:
    """Each choice has its own spins and power; a choice that is not given is the one that the spins are of."""
    for choice in range(3):
        seen = 0
        for seed in range(30):
            played = StargazingRound(RULES, seed=seed, choice=choice).play()
            if played.choices:
                seen += 1
                assert found_in(played.events, played) == []
                played.choices = ()
                assert found_in(played.events, played) == []
        assert seen > 3


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("BBBxx", [("B", "BBB", 10)]),
        ("BBBBx", [("B", "BBBB", 30)]),
        ("BBWHH", [("B", "BBW", 10), ("H", "WHH", 10)]),
        ("AANSx", [("M", "AANS", 60)]),
        ("AAAAN", [("M", "AAAAN", 200)]),
        ("AWAxx", [("A", "AWA", 30)]),
        ("WWWxx", [("W", "WWW", 30)]),
        ("WWWWW", [("W", "WWWWW", 500)]),
        ("WWWBx", [("B", "WWWB", 30)]),
        ("BWWWA", [("B", "BWWW", 30), ("A", "WWWA", 100)]),
        ("BBxBB", []),
        ("ABABA", []),
    ],
)
def test_runs_of_a_row(word: str, found: list[tuple[str, str, int]]) -> None:
    """The longest stretches of a symbol and wilds, of princesses of any kind, and of wilds that nothing makes longer."""
    assert row_runs(word) == found


def test_a_run_of_power_wilds_alone_does_not_win() -> None:
    """Of wilds alone a run wins only where one of them is no Power Wild."""
    assert row_runs("WWWxx", marked="012") == []
    assert row_runs("WWWxx", marked="01") == [("W", "WWW", 30)]


@pytest.mark.parametrize(("word", "pay"), [("AAANx", 30), ("AAWNN", 60), ("ANSxx", 0), ("AWNxx", 0)])
def test_a_mixed_run_read_by_its_parts(word: str, pay: int) -> None:
    """Read so a mixed run pays the sum of the equal runs inside it, and wins where that is nothing."""
    assert [run[2] for run in row_runs(word, SUMMED) if run[0] == "M"] == [pay]


def test_only_a_run_of_exactly_three_leaves_a_wild() -> None:
    """The middle of three turns, a Power Wild there stays, a run of wilds leaves none; the rest leaves."""
    published = json.loads(PUBLISHED.read_text())["moon-princess-stargazing"]
    for length, is_left in published["wild_left_by_run_length"].items():
        board = [0] * int(length) + [9] * (25 - int(length))
        runs = [run for run in runs_of(board, [0] * 25, LINES, SYMBOLS) if run.line == 5]
        assert split_cells(runs, [0] * 25, 7, 3)[1] == ((1,) if is_left else ())
    board = [0, 7, 0, *[9] * 22]
    runs = runs_of(board, [0, 2, 0, *[0] * 22], LINES, SYMBOLS)
    assert split_cells(runs, [0, 2, 0, *[0] * 22], 7, 3) == ((0, 2), ())
    runs = runs_of([7, 7, 7, *[9] * 22], [0] * 25, LINES, SYMBOLS)
    assert split_cells(runs, [0] * 25, 7, 3) == ((0, 1, 2), ())


def test_published_prizes_and_meter() -> None:
    """Clear grid, constellation and sections as the published cases have them."""
    tables = runs_tables_of(RULES)
    assert win_amount(tables.prizes_x100["clear_grid"], 4, 100) == 8000
    assert win_amount(tables.prizes_x100["constellation"], 6, 50) == 1500
    assert [tables.sections_for(4, length) for length in (3, 4, 5)] == [1, 2, 3]
    assert [tables.sections_for(8, length) for length in (3, 4, 5)] == [1, 2, 3]
    assert [tables.sections_for(symbol, 5) for symbol in (0, 3, 7)] == [0, 0, 0]


def test_what_is_left_falls_and_nothing_comes_from_above() -> None:
    """In each reel what is left lies at the bottom in its order, marks with it; above it is nothing."""
    board = (0, 1, 2, 7, 4) + (9,) * 20
    symbols, marks = board_after_fall(board, (0, 0, 0, 2, 0) + (0,) * 20, (0, 2, 4), (5,) * 5, 9)
    assert symbols[:5] == (9, 9, 9, 1, 7)
    assert marks[:5] == (0, 0, 0, 0, 2)
    assert symbols[5:] == (9,) * 20


def test_diagonal_stretches_are_listed_by_their_leftmost_cell() -> None:
    """Going down to the right comes before going up; only paying symbols count."""
    assert diagonal_stretches([0] * 25, 5, 5, 5, 7) == [(0, 6, 12, 18, 24), (4, 8, 12, 16, 20)]
    assert diagonal_stretches([0] * 25, 2, 5, 5, 7)[:3] == [(0, 6), (1, 7), (1, 5)]
    assert diagonal_stretches([7] * 25, 2, 5, 5, 7) == []


def test_where_a_power_may_act() -> None:
    """As many paying symbols as the size or all that are left; Nova on a diagonal, the longest there is up to her length."""
    full = [0] * 25
    few = [9] * 23 + [0, 7]
    assert are_power_cells(full, (1, 9), 2, 5, 5, 7, is_diagonal=False)
    assert not are_power_cells(full, (1,), 2, 5, 5, 7, is_diagonal=False)
    assert not are_power_cells(full, (9, 1), 2, 5, 5, 7, is_diagonal=False)
    assert are_power_cells(few, (23,), 3, 5, 5, 7, is_diagonal=False)
    assert not are_power_cells(few, (24,), 1, 5, 5, 7, is_diagonal=False)
    assert are_power_cells(full, (0, 6, 12), 3, 5, 5, 7, is_diagonal=True)
    assert not are_power_cells(full, (0, 6), 3, 5, 5, 7, is_diagonal=True)
    assert are_power_cells(few, (23,), 4, 5, 5, 7, is_diagonal=True)


def test_a_step_takes_something_away() -> None:
    """Every win removes or turns a paying symbol or removes a wild, so that a spin ends."""
    rng = random.Random(5)
    for _ in range(300):
        board = tuple(rng.choice((0, 1, 4, 5, 7, 7, 9)) for _ in range(25))
        marks = tuple(2 if symbol == 7 and rng.random() < 0.5 else 0 for symbol in board)
        runs = runs_of(board, marks, LINES, SYMBOLS)
        removed, turned = split_cells(runs, marks, 7, 3)
        assert not runs or removed or any(board[cell] != 7 for cell in turned)
        after, _ = board_after_fall([7 if cell in turned else each for cell, each in enumerate(board)], marks, removed, (5,) * 5, 9)
        before = (len(paying_cells(board, 7)), board.count(7))
        assert not runs or (len(paying_cells(after, 7)), after.count(7)) < before


READ_OTHERWISE: dict[str, tuple[int, set[str]]] = {
    "ALL-1": (2, {"cap_missing", "cap_hit", "trigger_missing"}),
    "MPS-3": (1, {"win_pay"}),
    "MPS-4": (1, {"win_multiplier"}),
    "MPS-5": (1, {"multiplier", "multiplier_invented", "multiplier_missing", "highlighted_cells"}),
    "MPS-9": (1, {"power_princess"}),
    "MPS-11": (1, {"trigger_missing"}),
}


@pytest.mark.parametrize("name", READ_OTHERWISE)
def test_a_finding_says_under_which_reading_it_vanishes(name: str) -> None:
    """A round that is right under another reading is found, and a finding names the reading."""
    value, codes = READ_OTHERWISE[name]
    rules = RULES_BY["capped"] if name == "ALL-1" else RULES
    count = 0
    for seed in range(150):
        played = StargazingRound(rules.with_reading(name, value), seed=seed, state=seed % 2, choice=seed % 3).play()
        if len(played.events) > 90:
            continue
        played.rules = rules
        found = found_in(played.events, played)
        if len(found) == 1 and found[0].assumption == name and f"vanishes under reading {name} = {value}" in found[0].message:
            assert found[0].code in codes, found
            count += 1
            if count == 3:
                break
    assert count >= 2


def test_a_limit_reached_is_a_warning() -> None:
    """Where the Resonance after the last allowed one would be won the round ends, which is said."""
    seen = 0
    for seed in range(200):
        played = played_by("few Resonances", seed).play()
        if played.ended == "limit":
            state = {"princess": played.state_in}
            walk = walk_round(placed(played.events), played.rules, mode="base", bet_minor=played.bet, state_in=state)
            assert [(finding.code, finding.severity, finding.assumption) for finding in walk.findings] == [
                ("limit_reached", "warning", "ALL-5")
            ]
            seen += 1
    assert seen > 1


def test_a_round_without_game_events_is_one_finding() -> None:
    """No spin at all is a finding about the round, and nothing is wrong with one that has yet to start."""
    played = played_by("plain", 0)
    assert [finding.code for finding in found_in([], played)] == ["spins_unplayed"]
    assert found_in([], played, is_complete=False) == []


def test_a_round_that_stops_owes_its_spins() -> None:
    """A complete round that ends before a Resonance, at the choice or within the free spins withholds money."""
    found: set[str] = set()
    for seed in range(10):
        played = played_by("plain", seed).play()
        for place, event in enumerate(played.events[:-1]):
            if played.events[place + 1].kind == "spin_started":
                stopped = walk_round(
                    placed(played.events[: place + 1]), RULES, mode="base", bet_minor=100, state_in={"princess": played.state_in},
                    choices=played.choices,
                )  # fmt: skip
                assert [(each.code, each.severity) for each in stopped.findings] == [("spins_unplayed", "money")], (seed, place)
                found.add(event.kind)
    assert found == {"spin_ended", "choice_offered"}


def test_the_state_goes_on_from_the_one_the_round_began_with() -> None:
    """The active princess acts and gives way to the next; another state in contradicts the power."""
    count = 0
    for seed in range(60):
        played = played_by("plain", seed).play()
        acts = [event for event in played.events if event.kind == "power"]
        if not acts or played.active == played.state_in:
            continue
        played.state_in = (played.state_in + 1) % 3
        found: list[Any] = found_in(played.events, played)
        assert [finding.code for finding in found] == ["power_princess"], (seed, found)
        count += 1
    assert count > 3


def in_bytes(event: Any) -> EventBytes:
    return EventBytes(f"{event.kind}/1", canonical_json(event.model_dump(mode="json")))


@pytest.mark.parametrize(("kind", "field"), [("spin_started", "highlighted_cells"), ("power", "turned_cells")])
def test_with_the_seed_altered_cells_are_the_one_finding(kind: str, field: str) -> None:
    """Cells that stand in one event alone are found where they stand once the round is rerun, and no amount is wrong for them."""
    count = 0
    for seed in range(26):
        rng = random.Random(seed)
        played = played_by("plain", seed).play()
        places = [place for place, event in enumerate(played.events) if event.kind == kind]
        if not places or len(played.events) > 150:
            continue
        place = rng.choice(places)
        altered: list[Any] = [*played.events]
        cells = list(getattr(altered[place], field))
        cells[rng.randrange(len(cells))] = rng.choice([cell for cell in range(25) if cell not in cells])
        altered[place] = altered[place].model_copy(update={field: tuple(sorted(cells))})
        recorded = [(index, in_bytes(event)) for index, event in placed(altered)]

        class Rerun:
            events = tuple(in_bytes(event) for event in played.events)
            total_win_minor = played.total

        by_replay = compare_outcome(recorded, Rerun, recorded_win_minor=played.total)  # type: ignore[arg-type]
        weighed = weigh(found_in(altered, played), by_replay, recorded, Rerun)  # type: ignore[arg-type]
        assert [(each.event_index, each.severity) for each in weighed] == [(place + 1, "integrity")], (seed, place)
        count += 1
    assert count > 10
