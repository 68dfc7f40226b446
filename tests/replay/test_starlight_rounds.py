"""The referee of Starlight Wins on right rounds, on literal boards, under other readings, and on any field or event altered."""

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.referee.falling import refill
from replay.referee.walk import RoundTotals, referee_round, walk_round
from replay.referee.ways import board_wins, fall, ladder_multiplier, product_of_reels, spins_for_scatters, split_gold
from replay.referee.ways_tables import UNKNOWN_MARK, ways_tables_of
from tests.conftest import ROOT
from tests.replay.alterations import alter_one_field, alter_order, is_certain
from tests.replay.test_starlight_alterations import findings_of
from tests.round_builder import events_of, round_facts
from tests.starlight_rounds import BET, HEIGHTS, PAYTABLE, RULES, SCATTER, VARIANTS, WILD, starlight_round

CASES = json.loads((ROOT / "tests/cases/published.json").read_text())["starlight-wins"]
TABLES = ways_tables_of(RULES)
NAMES = list(PAYTABLE)
NOT_IN_THE_OUTCOME = {"bonus_minor", "epoch", "nonce", "opened_at_us", "settled_at_us"}


def walked(name: str, events: list[tuple[int, Any]], *, is_complete: bool = True) -> Any:
    return walk_round(events, VARIANTS[name], mode="base", bet_minor=BET, is_complete=is_complete)


@pytest.mark.parametrize("name", VARIANTS)
def test_right_rounds_have_no_findings(name: str) -> None:
    """A round played by the rules has no finding above a warning, and its totals are told exactly."""
    for seed in range(30):
        builder = starlight_round(name, seed)
        walk = walked(name, events_of(builder))
        assert [finding.code for finding in walk.findings] == (["limit_reached"] if builder.ended == "limit" else []), (seed, walk.findings)
        feature = builder.total - builder.base_award
        assert walk.totals == RoundTotals((builder.ended,), (builder.total,), (builder.base_award,), (feature,))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_round_in_play_has_no_findings(name: str) -> None:
    """A right round that stops after any of its spins is no finding while it is in play."""
    for seed in range(8):
        events = events_of(starlight_round(name, seed))
        for place in [place for place, (_, event) in enumerate(events) if event.kind == "spin_ended"][:12]:
            walk = walked(name, events[: place + 1], is_complete=False)
            assert walk.findings == [], (seed, place)


@pytest.mark.parametrize("case", CASES["ways"], ids=lambda case: case["symbol"])
def test_published_ways(case: dict[str, Any]) -> None:
    """A symbol pays its ways, the product of its cells on adjacent reels from the left, at a bet of one."""
    symbol = NAMES.index(case["symbol"])
    board: list[int] = []
    for reel, (matching, rows) in enumerate(zip(case["matching_cells_by_reel"], HEIGHTS, strict=True)):
        board += [symbol] * matching + [SCATTER if reel % 2 else (symbol + 1) % 9] * (rows - matching)
    wins = [win for win in board_wins(tuple(board), HEIGHTS, TABLES.pays, TABLES.counts, WILD) if win.symbol == symbol]
    if not case["of_a_kind"]:
        assert wins == []
        return
    assert [(win.reels, win.ways) for win in wins] == [(case["of_a_kind"], case["ways"])]
    assert product_of_reels(wins[0].cells, HEIGHTS, wins[0].reels) == case["ways"]
    assert wins[0].whole_pay_x100 == round(100 * float(case["pay"]))


def test_published_ladders_and_spins() -> None:
    """The ladders of base game and free spins, and the spins that scatters award, are those of the worked cases."""
    for part, wanted in CASES["multiplier_ladder"].items():
        assert [ladder_multiplier(RULES.ladder(part), step) for step in range(len(wanted))] == wanted
    for scatters, spins in CASES["free_spins_awarded"].items():
        assert TABLES.spins_for(int(scatters), is_free=False) == TABLES.spins_for(int(scatters), is_free=True) == spins
    assert spins_for_scatters(8, 3, 10, 2) == 20


def test_wilds_stand_for_paying_symbols_and_not_for_scatters() -> None:
    """A wild on reels 2 to 4 is in the ways of every symbol that reaches it; a scatter is in none."""
    columns = ((0, 1, SCATTER, SCATTER), (WILD, SCATTER, 5, 5, 5), (0, 1, 7, 7, 7), (WILD, 6, 6, 6, 6), (8, 8, 8, 8))
    wins = board_wins(sum(columns, ()), HEIGHTS, TABLES.pays, TABLES.counts, WILD)
    assert [(win.symbol, win.reels, win.cells, win.ways) for win in wins] == [(0, 4, (0, 4, 9, 14), 1), (1, 4, (1, 4, 10, 14), 1)]


def test_gold_turns_wild_in_its_place_and_then_falls() -> None:
    """A gold symbol that is won on stays as a wild without a mark, falls onto the gaps, and new symbols lie above it."""
    assert split_gold((0, 1, 2), (0, 1, 0, 1)) == ((0, 2), (1,))
    new, tops = refill([(7, 8, 6), (5,) * 9], [1, 4], [2, 1])
    assert tops == (2, 3)
    board, marks = fall((1, 2, 3, 4, 1, 3), (0, 1, 0, 0, 0, 1), (0, 2, 5), (1,), (new, ((0, 0), (1,))), (3, 3), WILD)
    assert board == (6, 7, WILD, 5, 4, 1)
    assert marks == (0, 0, 0, 1, 0, 0)


def altered(kind: str, **fields: Any) -> list[tuple[int, Any]]:
    """Return a round's events with the first of a kind changed."""
    events = events_of(starlight_round("gold", 6))
    place = next(place for place, (_, event) in enumerate(events) if event.kind == kind)
    events[place] = (events[place][0], events[place][1].model_copy(update=fields))
    return events


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("spin_started", {"part": "free"}, "part"),
        ("spin_started", {"strip_set": 1}, "strip_set"),
        ("spin_started", {"strip_set": 9}, "strip_set"),
        ("spin_started", {"multiplier": 4}, "multiplier"),
        ("spin_started", {"total_multiplier": 2}, "total_multiplier"),
        ("spin_started", {"meter": 1}, "meter"),
        ("spin_started", {"highlighted_cells": (3,)}, "highlighted_cells"),
        ("spin_started", {"spin_index": 4}, "spin_index"),
        ("spin_started", {"spins_left": 4}, "spins_left"),
        ("drop", {"drop_index": 2}, "drop_index"),
        ("drop", {"values": (0,) * 23}, "values"),
        ("drop", {"marks": ()}, "board_shape"),
        ("drop", {"marks": (7,) + (0,) * 22}, "marks"),
        ("drop", {"stops": (0,) * 4}, "stops"),
        ("drop", {"stops": (5000,) * 5}, "stops"),
        ("drop", {"symbols": (0,) * 22}, "board_shape"),
        ("win", {"line": 3}, "win_line"),
        ("win", {"symbol": SCATTER}, "win_symbol"),
        ("win", {"cells": (0, 4)}, "win_cells"),
        ("tumble", {"removed_cells": (0,)}, "removed_cells"),
        ("tumble", {"turned_symbols": (1,)}, "turned_symbols"),
        ("multiplier_change", {"cause": "hearts"}, "multiplier_cause"),
        ("feature_trigger", {"feature": "hold_and_respin"}, "feature"),
        ("feature_ended", {"feature": "hold_and_respin"}, "feature"),
        ("feature_ended", {"spins_played": 3}, "spins_played"),
    ],
)
def test_other_fields_are_checked(kind: str, fields: dict[str, Any], code: str) -> None:
    """A field that the game has no use for, or one that follows from others, is one finding of the record."""
    found = referee_round(altered(kind, **fields), VARIANTS["gold"], mode="base", bet_minor=BET)
    grave = [(finding.code, finding.severity) for finding in found if finding.severity != "warning"]
    assert grave == [(code, "integrity")], found


def test_an_event_far_from_its_place_is_one_finding() -> None:
    """A win, a tumble or a trigger that stands in another spin is one finding of the order of events."""
    moved = 0
    for seed in range(12):
        events = starlight_round("plain", 3 * seed).events
        for kind in ("win", "multiplier_change", "feature_trigger"):
            places = [place for place, event in enumerate(events) if event.kind == kind]
            if not places or places[0] + 30 > len(events):
                continue
            others = [*events[: places[0]], *events[places[0] + 1 :]]
            others.insert(places[0] + 25, events[places[0]])
            found = walked("plain", list(enumerate(others, start=1))).findings
            grave = [(finding.code, finding.severity, finding.assumption) for finding in found if finding.severity != "warning"]
            assert grave == [("event_order", "integrity", None)], (seed, kind, found)
            moved += 1
    assert moved > 8


def needs_the_seed(name: str, before: Any, facts: Any, index: int, field: str) -> bool:
    """Return whether only the seed or the ledger could show a change: facts beside the outcome, marks that are drawn and count nowhere."""
    tables, drop = ways_tables_of(VARIANTS[name]), facts[index]
    strip_set = next(fact["strip_set"] for fact in reversed(before[: index + 1]) if fact["kind"] == "spin_started") if index > 1 else 0
    if field == "stops":
        windows = tables.windows[strip_set]
        return all(reel[a] == reel[b] for reel, a, b in zip(windows, before[index]["stops"], drop["stops"], strict=True))
    if field == "marks":
        landing = tables.marks_of(strip_set, tuple(drop["symbols"]))
        changed = [cell for cell, mark in enumerate(drop["marks"]) if mark != before[index]["marks"][cell]]
        return all(landing[cell] == UNKNOWN_MARK and drop["marks"][cell] in (0, 1) for cell in changed)
    return field in NOT_IN_THE_OUTCOME


@given(rng=st.randoms(use_true_random=False))
def test_any_field_changed_alone_is_one_finding(rng: random.Random) -> None:
    """A changed field is found once unless the seed is needed; it is about money only where an amount was changed."""
    for _ in range(4):
        name = rng.choice(list(VARIANTS))
        before = round_facts(starlight_round(name, rng.randrange(12)))
        facts = copy.deepcopy(before)
        index, path = alter_one_field(facts, rng)
        if facts == before or path[0] == "mode":
            continue
        found = findings_of(facts, name)
        assert len(found) <= 1, (name, index, path, found)
        if not found:
            assert needs_the_seed(name, before, facts, index, str(path[0])), (name, index, path)
            assert not is_certain(before, index, path)
        elif found[0].severity == "money":
            assert str(path[0]).endswith(("_minor", "_x100")), (name, index, path, found)


@given(rng=st.randoms(use_true_random=False))
def test_an_event_lost_doubled_or_moved_is_one_finding(rng: random.Random) -> None:
    """An event left out, written twice or changed with its neighbour is one finding, and no amount is wrong for it."""
    for _ in range(3):
        name = rng.choice(list(VARIANTS))
        before = round_facts(starlight_round(name, rng.randrange(12)))
        facts = copy.deepcopy(before)
        index = alter_order(facts, rng)
        if facts == before:
            continue
        found = findings_of(facts, name)
        assert len(found) == 1, (name, index, before[index], found)
        assert found[0].severity == "integrity", found
