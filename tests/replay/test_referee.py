"""The referee on right rounds, on literal boards, under other readings, and apart from every kernel."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engines.game_events import SpinEnded, Win
from engines.rules import GameRules
from replay.referee.amounts import cap_award
from replay.referee.falling import board_after, refill, union_cells, window
from replay.referee.plan import plan_award, plan_of
from replay.referee.scatter_pays import board_wins, pay_for_count, scatter_pay
from replay.referee.tables import tables_of
from replay.referee.walk import RoundTotals, referee_round, walk_round
from tests.round_builder import INSTALLED, RULES, RoundBuilder, events_of, rules_with

ROOT = Path(__file__).parents[2]
SHORT_STRIPS = tuple({**part, "strips": [strip[:23] for strip in part["strips"]]} for part in RULES.model_dump()["strip_sets"])
LOW_CAP = rules_with(cap={"multiple": 30})
VARIANTS: dict[str, GameRules] = {
    "installed": INSTALLED,
    "test strips": RULES,
    "low cap": LOW_CAP,
    "low limits": rules_with(limits={"free_spins": 17, "tumbles": 3}),
    "short strips": rules_with(strip_sets=SHORT_STRIPS, limits={"free_spins": 40}),
    "cap by price": LOW_CAP.with_reading("ALL-1", 1),
    "cap by spin": LOW_CAP.with_reading("ALL-1", 2),
    "hearts on scatter pay": rules_with(cap={"multiple": 300}).with_reading("MLP-1", 1),
    "scatter pay wins": RULES.with_reading("MLP-2", 1),
    "both": RULES.with_reading("MLP-2", 1).with_reading("MLP-1", 1),
    "no pay in free spins": RULES.with_reading("MLP-4", 1),
}
CASES: dict[str, list[Any]] = {
    "costs": [("base", 200, 200), ("ante", 200, 250), ("buy", 200, 20000)],
    # total before, tumble wins, hearts, total after, win; in minor units
    "free": [(0, 430, 7, 7, 3010), (7, 50, 2, 9, 450), (9, 150, 0, 9, 150), (9, 0, 5, 9, 0), (3, 100, 5, 8, 800), (8, 100, 9, 17, 1700)],
    "base": [(400, 0, 400), (400, 5, 2000), (0, 500, 0)],
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("mode", ["base", "ante", "buy"])
def test_right_rounds_have_no_findings(name: str, mode: str) -> None:
    """A round played by the rules has no finding above a warning, and its totals are told exactly."""
    rules = VARIANTS[name]
    for seed in range(25):
        scatters = 4 if seed % 3 == 0 and mode != "buy" and name != "short strips" else None
        try:
            builder = RoundBuilder(rules, seed=seed, mode=mode, scatters=scatters, hearts=seed % 2 == 0).play()
        except (IndexError, ValueError):  # strips that cannot show that many scatters
            continue
        walk = walk_round(events_of(builder), rules, mode=mode, bet_minor=200)
        assert [finding for finding in walk.findings if finding.severity != "warning"] == []
        feature = builder.total - builder.base_award
        assert walk.totals == RoundTotals((builder.ended,), (builder.total,), (builder.base_award,), (feature,))
        assert [finding.code for finding in walk.findings] == (["limit_reached"] if builder.ended == "limit" else [])


@pytest.mark.parametrize(("total", "wins", "hearts", "after", "win"), CASES["free"])
def test_published_free_spins(total: int, wins: int, hearts: int, after: int, win: int) -> None:
    """The total multiplier grows and multiplies as in the worked cases of the guide."""
    plan = plan_of(tables_of(RULES), is_free=True, wins_minor=wins, total=total, hearts=hearts, scatters=0)
    assert (plan.change_to if plan.applies else plan.total) == after
    assert plan.wins_minor * plan.spin_multiplier == win


@pytest.mark.parametrize(("wins", "hearts", "win"), CASES["base"])
def test_published_base_spins(wins: int, hearts: int, win: int) -> None:
    """A base spin's win is multiplied by the sum of the hearts."""
    plan = plan_of(tables_of(RULES), is_free=False, wins_minor=wins, total=0, hearts=hearts, scatters=0)
    assert plan.wins_minor * plan.spin_multiplier == win


@pytest.mark.parametrize(("before", "win", "paid"), [(499000, 2500, 1000), (499000, 1000, 1000), (499000, 995, None)])
def test_published_caps(before: int, win: int, paid: int | None) -> None:
    """The cap cuts what reaches or passes it to what is left and leaves the rest alone."""
    assert cap_award(before, win, 500000) == paid
    assert cap_award(before, 0, 500000) is None


@pytest.mark.parametrize(
    ("name", "count", "pay"), [("red_heart_gem", 10, 150), ("yellow_gem", 11, 75), ("cyan_gem", 9, 40), ("golden_sun", 30, 5000)]
)
def test_published_pays(name: str, count: int, pay: int) -> None:
    """A symbol pays by the number of its cells."""
    pays = RULES.symbols[RULES.symbol_index(name)].pays_x100
    assert pay_for_count(count, RULES.pay_counts.counts, pays) == pay
    assert pay_for_count(7, RULES.pay_counts.counts, pays) == 0


def test_scatters_pay_by_count() -> None:
    """Four, five and six scatters pay 3, 5 and 100 bets, more than six as six, three nothing."""
    pays = tables_of(RULES).scatter_pays
    assert [scatter_pay(count, pays) for count in (0, 3, 4, 5, 6, 7)] == [0, 0, 300, 500, 10000, 10000]


def test_a_board_pays_in_the_order_of_the_symbols() -> None:
    """Two symbols with eight cells or more pay in the order of the list, whatever cells they hold."""
    board = (4,) * 8 + (2,) * 12 + (0, 1, 3, 5, 6, 7, 8, 0, 1, 3)
    wins = board_wins(board, (8, 10, 12), tables_of(RULES).pays)
    assert [(win.symbol, win.cell_count, win.pay_x100) for win in wins] == [(2, 12, 1500), (4, 8, 100)]
    assert union_cells(win.cells for win in wins) == tuple(range(20))


def test_symbols_fall_and_the_strip_moves_upwards() -> None:
    """What is left falls onto the gaps, the symbols before the window come in above it, round the strip's end."""
    strip = tuple(range(10, 20))
    assert window(strip, 8, 5) == (18, 19, 10, 11, 12)
    new, tops = refill([strip], [1], [3])
    assert new == ((18, 19, 10),)
    assert tops == (8,)
    assert board_after((1, 2, 3, 4, 5), (1, 4, 3), new, (5,)) == (18, 19, 10, 1, 3)


def test_readings_change_what_a_spin_at_rest_is_worth() -> None:
    """Each reading of hearts and scatter pay changes the plan as its text says."""
    spin: dict[str, Any] = {"is_free": True, "wins_minor": 0, "total": 4, "hearts": 3, "scatters": 4}
    table = tables_of(RULES)
    as_decided, mlp2 = plan_of(table, **spin), plan_of(tables_of(RULES.with_reading("MLP-2", 1)), **spin)
    both = plan_of(tables_of(RULES.with_reading("MLP-2", 1).with_reading("MLP-1", 1)), **spin)
    none = plan_of(tables_of(RULES.with_reading("MLP-4", 1).with_reading("MLP-2", 1)), **spin)
    assert (as_decided.applies, as_decided.prize_minor(200)) == (False, 600)
    assert (mlp2.applies, mlp2.change_to, mlp2.spin_multiplier, mlp2.prize_minor(200)) == (True, 7, 1, 600)
    assert both.prize_minor(200) == 4200
    assert (none.applies, none.prize_minor(200)) == (False, 0)
    base = plan_of(tables_of(RULES.with_reading("MLP-1", 1)), **{**spin, "is_free": False})
    assert (base.change_from, base.change_to, base.spin_multiplier, base.prize_minor(200)) == (1, 3, 1, 1800)


def test_a_finding_says_under_which_reading_it_vanishes() -> None:
    """A scatter pay that the hearts multiplied is a finding that another reading would not make."""
    other = RULES.with_reading("MLP-1", 1)
    found = []
    for seed in range(300):
        builder = RoundBuilder(other, seed=seed, mode="buy", hearts=True).play()
        changed = [event for event in builder.events if event.kind == "prize" and event.multiplier > 1]  # type: ignore[attr-defined]
        if len(changed) == 1:
            found = referee_round(events_of(builder), RULES, mode="buy", bet_minor=200)
            break
    assert len(found) == 1
    assert found[0].assumption == "MLP-1"
    assert "vanishes under reading MLP-1 = 1: hearts multiply the scatter pay" in found[0].message
    assert found[0].severity == "money"


def test_a_round_in_play_may_stop_between_spins() -> None:
    """Spins that are yet to come are a finding only where the round is complete."""
    builder = RoundBuilder(RULES, seed=1, mode="buy").play()
    starts = [index for index, event in events_of(builder) if event.kind == "spin_started"]
    events = [(index, event) for index, event in events_of(builder) if index < starts[5]]
    assert referee_round(events, RULES, mode="buy", bet_minor=200, is_complete=False) == []
    found = referee_round(events, RULES, mode="buy", bet_minor=200)
    assert [(finding.code, finding.severity) for finding in found] == [("spins_unplayed", "money")]


def test_a_round_without_game_events_is_one_finding() -> None:
    """No spin at all is a finding about the round."""
    assert [finding.code for finding in referee_round([], RULES, mode="base", bet_minor=200)] == ["spins_unplayed"]


def altered(kind: str, **fields: Any) -> list[tuple[int, Any]]:
    """Return a bought round's events with the first of a kind changed."""
    events = events_of(RoundBuilder(RULES, seed=7, mode="buy", hearts=True).play())
    place = next(place for place, (_, event) in enumerate(events) if event.kind == kind)
    events[place] = (events[place][0], events[place][1].model_copy(update=fields))
    return events


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("spin_started", {"part": "free"}, "part"),
        ("spin_started", {"strip_set": 0}, "strip_set"),
        ("spin_started", {"strip_set": 9}, "strip_set"),
        ("spin_started", {"multiplier": 2}, "multiplier"),
        ("spin_started", {"meter": 1}, "meter"),
        ("spin_started", {"highlighted_cells": (3,)}, "highlighted_cells"),
        ("spin_started", {"spin_index": 4}, "spin_index"),
        ("drop", {"drop_index": 2}, "drop_index"),
        ("drop", {"marks": (0,) * 30}, "marks"),
        ("drop", {"stops": (0,) * 5}, "stops"),
        ("drop", {"stops": (5000,) * 6}, "stops"),
        ("drop", {"symbols": (0,) * 29}, "board_shape"),
        ("tumble", {"turned_cells": (1,)}, "turned"),
        ("tumble", {"removed_cells": (0,)}, "removed_cells"),
        ("win", {"line": 3}, "win_line"),
        ("win", {"ways": 2}, "win_ways"),
        ("win", {"multiplier": 2}, "win_multiplier"),
        ("multiplier_change", {"cause": "hearts"}, "multiplier_cause"),
        ("feature_trigger", {"count": 9}, "trigger_count"),
        ("feature_ended", {"spins_played": 3}, "spins_played"),
    ],
)
def test_other_fields_are_checked(kind: str, fields: dict[str, Any], code: str) -> None:
    """A field that the game has no use for, or one that follows from others, is one finding of the record."""
    found = referee_round(altered(kind, **fields), RULES, mode="buy", bet_minor=200)
    assert [(finding.code, finding.severity) for finding in found] == [(code, "integrity")], found


def test_a_bought_board_shows_bought_scatters() -> None:
    """A round that starts on a board of no bought number of scatters is no bought round."""
    builder = RoundBuilder(RULES, seed=2, mode="base", scatters=2).play()
    found = referee_round(events_of(builder), RULES, mode="buy", bet_minor=200)
    assert [(finding.code, finding.assumption) for finding in found] == [("bought_scatters", "MLP-7")]


def test_events_out_of_order_are_findings() -> None:
    """An event twice, and two events that changed places, are one finding each."""
    events = [event for _, event in events_of(RoundBuilder(RULES, seed=7, mode="buy", hearts=True).play())]
    ended = next(place for place, event in enumerate(events) if isinstance(event, SpinEnded))
    twice = [*events[: ended + 1], events[ended], *events[ended + 1 :]]
    swapped = [*events[: ended - 1], events[ended], events[ended - 1], *events[ended + 1 :]]
    for changed in (twice, swapped):
        found = referee_round(list(enumerate(changed, start=1)), RULES, mode="buy", bet_minor=200)
        assert [finding.code for finding in found] == ["event_order"], found


def test_a_missing_spin_is_one_finding() -> None:
    """A free spin left out, with the later ones as they were, is found once."""
    events = events_of(RoundBuilder(RULES, seed=7, mode="buy", hearts=True).play())
    starts = [place for place, (_, event) in enumerate(events) if event.kind == "spin_started"]
    found = referee_round(events[: starts[6]] + events[starts[7] :], RULES, mode="buy", bet_minor=200)
    assert [finding.code for finding in found] == ["spin_missing"], found


def test_a_win_twice_is_invented() -> None:
    """A win written twice is no win of the board, and the player was not paid for it."""
    events = events_of(RoundBuilder(RULES, seed=7, mode="buy", hearts=True).play())
    place = next(place for place, (_, event) in enumerate(events) if isinstance(event, Win))
    found = referee_round([*events[: place + 1], events[place], *events[place + 1 :]], RULES, mode="buy", bet_minor=200)
    assert [(finding.code, finding.severity) for finding in found] == [("win_invented", "integrity")]


def test_a_play_past_a_limit_is_one_finding() -> None:
    """A spin or a tumble more than a technical limit allows is found once, and the wins of it are paid wrongly or not."""
    builder = RoundBuilder(RULES, seed=7, mode="buy", hearts=True).play()
    for limits in ({"free_spins": 10}, {"tumbles": 1}):
        found = referee_round(events_of(builder), rules_with(limits=limits), mode="buy", bet_minor=200)
        assert found
        assert found[0].code == "limit_ignored", found
        assert found[0].assumption == "ALL-5"


def test_the_cap_of_a_prize_comes_after_the_win() -> None:
    """A plan's award cuts the win first and leaves to the prize what is left."""

    class Scene:
        tables, bet_minor = tables_of(RULES), 200

    plan = plan_of(Scene.tables, is_free=False, wins_minor=400, total=0, hearts=0, scatters=6)
    assert plan_award(Scene, plan, 0, None) == 20400  # type: ignore[arg-type]
    assert plan_award(Scene, plan, 0, 10000) == 10000  # type: ignore[arg-type]
    assert plan_award(Scene, plan, 9700, 10000) == 300  # type: ignore[arg-type]


def test_the_referee_reaches_no_kernel() -> None:
    """The referee runs in a process in which every other module of `engines` cannot be imported."""
    script = """
import json, sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.startswith('engines.') and name not in ('engines.rules', 'engines.game_events', 'engines.canonical'):
            raise ImportError(name)
sys.meta_path.insert(0, Wall())
from replay.referee.walk import referee_round
print(json.dumps(sorted(name for name in sys.modules if name.startswith('engines.'))))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["engines.canonical", "engines.game_events", "engines.rules"]
