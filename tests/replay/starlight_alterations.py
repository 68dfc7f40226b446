"""Alterations of right rounds of Starlight Wins, and faults that its builder plays: what is done and as what it is found."""

import itertools
import random
from collections.abc import Callable
from typing import Any

from engines.game_events import Tumble
from tests.replay.alterations import (
    Facts,
    award_spins,
    drop_events,
    has_drop_after,
    of_kind,
    set_field,
    spin_ranges,
)
from tests.round_builder import Once, always, once
from tests.starlight_rounds import HEIGHTS, PAYTABLE, SCATTER, WILD, StarlightBuilder, flat, reel_of

__all__ = ["ALTERED", "PLAYED", "Hooks"]

Hooks = dict[str, Callable[[Any, Any], Any]]
FIRST_CELLS = (0, 4, 9, 14, 19, 23)


def alter_tumble(change: Callable[[Any, Facts, int], bool]) -> Any:
    def alter(facts: Facts, rng: random.Random) -> bool:
        tumbles = of_kind(facts, "tumble")
        rng.shuffle(tumbles)
        return any(change(facts[index], facts, index) for index in tumbles)

    return alter


def let_gold_leave(tumble: Any, facts: Facts, index: int) -> bool:
    if not tumble["turned_cells"]:
        return False
    tumble["removed_cells"] = sorted([*tumble["removed_cells"], tumble["turned_cells"].pop()])
    tumble["turned_symbols"].pop()
    return True


def turn_to_another(tumble: Any, facts: Facts, index: int) -> bool:
    if tumble["turned_symbols"]:
        tumble["turned_symbols"][0] = 3
    return bool(tumble["turned_symbols"])


def hang(tumble: Any, facts: Facts, index: int) -> bool:
    """A symbol stays where it was; what is between it and where it should lie moves up around it."""
    drop = facts[index + 1]
    before = list(drop["symbols"])
    for cell in range(23):
        gaps = sum(reel_of(other) == reel_of(cell) and other > cell for other in tumble["removed_cells"])
        if cell in tumble["removed_cells"] or not gaps:
            continue
        for name in ("symbols", "marks"):
            drop[name].insert(cell, drop[name].pop(cell + gaps))
        if drop["symbols"] != before:
            return True
    return False


def set_mark(fits: Callable[[int, int, Any, Any], bool], mark: int) -> Any:
    """Return an alteration of a mark in a cell that fits: cell, symbol, drop, the spin's start."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        found = []
        start: Any = None
        for fact in facts:
            start = fact if fact["kind"] == "spin_started" else start
            if fact["kind"] == "drop":
                cells = [cell for cell, symbol in enumerate(fact["symbols"]) if fits(cell, symbol, fact, start)]
                found += [(fact, cell) for cell in cells if fact["marks"][cell] != mark]
        if not found:
            return False
        drop, cell = rng.choice(found)
        drop["marks"][cell] = mark
        return True

    return alter


def swap_cells(facts: Facts, rng: random.Random) -> bool:
    drops = [facts[index] for index in of_kind(facts, "drop") if facts[index]["drop_index"]]
    if not drops:
        return False
    drop = rng.choice(drops)
    a, b = rng.sample(range(23), 2)
    for name in ("symbols", "marks"):
        drop[name][a], drop[name][b] = drop[name][b], drop[name][a]
    return bool(drop["symbols"][a] != drop["symbols"][b])


def start_on_second_reel(facts: Facts, rng: random.Random) -> bool:
    """Write a win of a symbol that reels 2 to 4 show and reel 1 does not."""
    for index in of_kind(facts, "drop"):
        symbols = facts[index]["symbols"]
        columns = [symbols[a:b] for a, b in itertools.pairwise(FIRST_CELLS)]
        for symbol in range(9):
            if symbol in columns[0] or not all({symbol, WILD} & set(column) for column in columns[1:4]):
                continue
            cells = [cell for cell in range(4, 19) if symbols[cell] in (symbol, WILD)]
            place = index + 1
            while facts[place]["kind"] == "win" and facts[place]["symbol"] < symbol:
                place += 1
            if facts[place - 1]["kind"] == "cap_hit" or facts[place]["kind"] == "cap_hit":
                continue
            pay = PAYTABLE[list(PAYTABLE)[symbol]][0] * 100 // 40
            ways = len([c for c in cells if c < 9]) * len([c for c in cells if 9 <= c < 14]) * len([c for c in cells if c >= 14])
            win = {"kind": "win", "v": 1, "symbol": symbol, "line": -1, "count": 3, "cells": cells, "ways": ways, "pay_x100": pay}
            facts.insert(place, win | {"multiplier": 1, "win_minor": pay * ways * 40 // 100})
            return True
    return False


def play_on_after_cap(facts: Facts, rng: random.Random) -> bool:
    ends = of_kind(facts, "feature_ended")
    if not of_kind(facts, "cap_hit") or not ends:
        return False
    ranges = spin_ranges(facts)
    kinds = ("spin_started", "drop", "spin_ended")
    plain = [[dict(f) for f in facts[a:b]] for a, b in ranges[1:] if tuple(f["kind"] for f in facts[a:b]) == kinds]
    if not plain:
        return False
    last = facts[ranges[-1][0]]
    spin = plain[0]
    spin[0] |= {"spin_index": last["spin_index"] + 1, "spins_left": max(last["spins_left"] - 1, 0)}
    spin[2] |= {"award_minor": 0, "total_minor": facts[ends[0] - 1]["total_minor"]}
    facts[ends[0] : ends[0]] = spin
    return True


def is_in_free_spin(facts: Facts, index: int) -> bool:
    starts = [at for at in of_kind(facts, "spin_started") if at < index]
    return bool(facts[starts[-1]]["spin_index"])


def is_later_drop(facts: Facts, index: int) -> bool:
    return bool(facts[index]["drop_index"])


def is_cut(facts: Facts, index: int) -> bool:
    return bool(facts[index]["cut_minor"])


def is_on_reel_3(cell: int, symbol: int, drop: Any, start: Any) -> bool:
    return bool(9 <= cell < 14 and symbol < SCATTER and start["spin_index"])


# Altered afterwards, all else left as it was: name, what is done, which rules, the codes, the severity.
ALTERED: dict[str, tuple[Any, str, set[str], str]] = {
    "a win's amount": (set_field("win", "win_minor", lambda n: n + 20), "plain", {"win_amount"}, "money"),
    "a win's amount less": (set_field("win", "win_minor", lambda n: n // 2), "plain", {"win_amount"}, "money"),
    "a pay": (set_field("win", "pay_x100", lambda n: n + 5), "plain", {"win_pay"}, "money"),
    "ways": (set_field("win", "ways", lambda n: n + 1), "plain", {"win_ways"}, "integrity"),
    "a symbol count": (set_field("win", "count", lambda n: n + 1), "plain", {"win_count"}, "integrity"),
    "a win's multiplier": (set_field("win", "multiplier", lambda n: n + 1), "plain", {"win_multiplier"}, "integrity"),
    "a multiplier": (set_field("multiplier_change", "to_multiplier", lambda n: n + 1), "plain", {"multiplier_change"}, "integrity"),
    "a multiplier before": (set_field("multiplier_change", "from_multiplier", lambda n: n + 1), "plain", {"multiplier_from"}, "integrity"),
    "a multiplier at a spin's start": (set_field("spin_started", "multiplier", lambda n: 3 * n), "plain", {"multiplier"}, "integrity"),
    "a spin's multiplier": (set_field("spin_ended", "spin_multiplier", lambda n: n + 1), "plain", {"spin_multiplier"}, "integrity"),
    "a way that starts on reel 2": (start_on_second_reel, "plain", {"win_invented"}, "integrity"),
    "gold that leaves": (alter_tumble(let_gold_leave), "gold", {"turned_cells"}, "integrity"),
    "gold that turns to another symbol": (alter_tumble(turn_to_another), "gold", {"turned_symbols"}, "integrity"),
    "gold on reel 1": (set_mark(lambda cell, symbol, d, s: cell < 4, 1), "plain", {"marks"}, "integrity"),
    "gold on reel 5": (set_mark(lambda cell, symbol, d, s: cell > 18, 1), "plain", {"marks"}, "integrity"),
    "a scatter that is gold": (set_mark(lambda cell, symbol, d, s: symbol == SCATTER, 1), "plain", {"marks"}, "integrity"),
    "a wild that is gold": (set_mark(lambda cell, symbol, d, s: symbol == WILD, 1), "gold", {"marks"}, "integrity"),
    "no gold on reel 3 in free spins": (set_mark(is_on_reel_3, 0), "plain", {"marks"}, "integrity"),
    "a wild counted as a scatter": (set_field("feature_trigger", "count", lambda n: n + 1), "plain", {"trigger_count"}, "integrity"),
    "two different cells swapped after a tumble": (swap_cells, "gold", {"board_fall"}, "integrity"),
    "a symbol that did not fall": (alter_tumble(hang), "gold", {"board_fall"}, "integrity"),
    "a tumble missing": (drop_events("tumble"), "gold", {"tumble_missing"}, "integrity"),
    "a tumble missing with its drop": (drop_events("tumble", 2, has_drop_after), "gold", {"tumble_missing"}, "integrity"),
    "a drop missing": (drop_events("drop", 1, is_later_drop), "gold", {"drop_missing"}, "integrity"),
    "a win missed on the board": (drop_events("win"), "plain", {"win_missing"}, "integrity"),
    "a multiplier change missing": (drop_events("multiplier_change"), "plain", {"multiplier_missing"}, "integrity"),
    "a trigger not awarded": (drop_events("feature_trigger"), "plain", {"trigger_missing"}, "integrity"),
    "a retrigger not awarded": (drop_events("feature_trigger", 1, is_in_free_spin), "plain", {"trigger_missing"}, "integrity"),
    "a spin's end missing": (drop_events("spin_ended"), "plain", {"spin_ended_missing"}, "integrity"),
    "a spin's start missing": (drop_events("spin_started"), "plain", {"spin_started_missing"}, "integrity"),
    "the end of the free spins missing": (drop_events("feature_ended"), "plain", {"feature_ended_missing"}, "integrity"),
    "11 spins for 3 scatters": (award_spins(10, 11), "plain", {"spins_awarded"}, "integrity"),
    "10 spins for 4 scatters": (award_spins(12, 10), "plain", {"spins_awarded"}, "integrity"),
    "cap ignored": (drop_events("cap_hit"), "capped", {"cap_missing"}, "integrity"),
    "cap passed": (set_field("cap_hit", "awarded_minor", lambda n: n + 20), "capped", {"cap_hit"}, "money"),
    "play after the cap": (play_on_after_cap, "capped", {"after_cap"}, "integrity"),
    "a cut": (set_field("spin_ended", "cut_minor", lambda n: n + 20, is_cut), "capped", {"cut"}, "money"),
    "an award": (set_field("spin_ended", "award_minor", lambda n: n + 20), "plain", {"award"}, "money"),
    "a wrong total": (set_field("spin_ended", "total_minor", lambda n: n + 20), "plain", {"total"}, "money"),
    "a wrong total of the free spins": (set_field("feature_ended", "total_minor", lambda n: n + 20), "plain", {"feature_total"}, "money"),
    "a wrong total of the round": (set_field("round_settled", "total_win_minor", lambda n: n + 20), "plain", {"total_win"}, "money"),
    "a wrong base part": (set_field("round_settled", "base_win_minor", lambda n: n + 20), "plain", {"base_win"}, "money"),
    "a wrong feature part": (set_field("round_settled", "feature_win_minor", lambda n: n + 20), "plain", {"feature_win"}, "money"),
    "a wrong balance": (set_field("round_settled", "balance_after_minor", lambda n: n + 1), "plain", {"balance"}, "money"),
}  # fmt: skip


def more(field: str, by: int) -> Any:
    """Return a hook on a drop's wins that raises one field of the first."""

    def change(wins: Any, builder: StarlightBuilder) -> Any:
        if wins:
            wins[0][field] += by
        return wins

    return change


def pay_as(field: str, value: Callable[[Any, StarlightBuilder], int]) -> Any:
    def change(wins: Any, builder: StarlightBuilder) -> Any:
        if wins:
            wins[0][field] = value(wins[0], builder)
        return wins

    return change


def count_more(wins: Any, builder: StarlightBuilder) -> Any:
    if not wins or wins[0]["count"] > 4:
        return None
    wins[0]["count"] += 1
    wins[0]["pay_x100"] = PAYTABLE[list(PAYTABLE)[wins[0]["symbol"]]][wins[0]["count"] - 3] * 100 // 40
    return wins


def from_second_reel(reached: Any, builder: StarlightBuilder) -> Any:
    """Pay a symbol that reels 2 to 4 show and reel 1 does not."""
    cells, columns, symbol = reached
    if cells or not all({symbol, WILD} & set(column) for column in columns[1:4]):
        return None
    board = flat(columns)
    found = [[cell for cell in range(a, b) if board[cell] in (symbol, WILD)] for a, b in itertools.pairwise(FIRST_CELLS)]
    return found[1:4], columns, symbol


def wilds_as_scatters(scatters: Any, builder: StarlightBuilder) -> Any:
    drop = next(event for event in reversed(builder.events) if event.kind == "drop")
    wilds = drop.symbols.count(WILD)  # type: ignore[attr-defined]
    return scatters + wilds if wilds and scatters + wilds > 2 and not builder.is_capped else None


def leave_gold(gone: Any, builder: StarlightBuilder) -> Any:
    removed, turned = gone
    return (sorted([*removed, turned[0]]), turned[1:]) if turned else None


def gild(*reels: int) -> Any:
    return lambda mark, builder: (1, *mark[1:]) if mark[1] in reels and mark[2] < SCATTER else None


def tarnish(mark: Any, builder: StarlightBuilder) -> Any:
    return (0, *mark[1:]) if mark[1] == 2 and builder.spin and mark[0] else None


def swap_two(board: Any, builder: StarlightBuilder) -> Any:
    if not builder.drop:
        return None
    columns, marks = board
    reel, other = 1, 3
    columns[reel][0], columns[other][1] = columns[other][1], columns[reel][0]
    marks[reel][0], marks[other][1] = marks[other][1], marks[reel][0]
    return board if columns[reel][0] != columns[other][1] else None


def keep_gold(board: Any, builder: StarlightBuilder) -> Any:
    """A symbol that has turned wild stays gold."""
    tumble = builder.events[-1]
    if not isinstance(tumble, Tumble) or not tumble.turned_cells:
        return None
    reel = reel_of(tumble.turned_cells[0])
    board[1][reel][board[0][reel].index(WILD)] = 1
    return board


def lose_gold(board: Any, builder: StarlightBuilder) -> Any:
    """A gold symbol loses its mark as it falls."""
    tumble = builder.events[-1]
    for reel, rows in enumerate(HEIGHTS if isinstance(tumble, Tumble) else ()):
        for row in range(len(tumble.new_symbols[reel]), rows):  # type: ignore[attr-defined]
            if board[1][reel][row]:
                board[1][reel][row] = 0
                return board
    return None


def replace_new(new: Any, builder: StarlightBuilder) -> Any:
    reel = next((reel for reel, symbols in enumerate(new) if symbols), None)
    if reel is None:
        return None
    new[reel][0] = (new[reel][0] + 1) % 9
    return new


def if_free(change: Callable[[Any, StarlightBuilder], Any]) -> Any:
    return lambda value, builder: change(value, builder) if builder.spin else None


def after_the_cap(spin: int) -> Hooks:
    return {"is_over": lambda v, b: False, "no_cap": lambda v, b: b.total >= b.cap_minor}


def play_out(spin: int) -> Hooks:
    return {"is_capped": lambda v, b: False, "no_cap": lambda v, b: any(event.kind == "cap_hit" for event in b.events)}


MONEY, EITHER = {"money"}, {"money", "integrity"}
# Played so by a faulty game, which carries the fault on: hooks from a spin on, which rules, codes, severities.
PLAYED: dict[str, tuple[Callable[[int], Hooks], str, set[str], set[str]]] = {
    "a win's amount": (once("wins", pay_as("win_minor", lambda w, b: 3 + w["pay_x100"] * w["ways"])), "plain", {"win_amount"}, MONEY),
    "a pay": (once("wins", more("pay_x100", 5)), "plain", {"win_pay"}, MONEY),
    "ways": (once("wins", more("ways", 1)), "plain", {"win_ways"}, MONEY),
    "a symbol count": (once("wins", count_more), "plain", {"win_count"}, MONEY),
    "a win's multiplier": (once("wins", pay_as("multiplier", lambda w, b: 7)), "plain", {"win_multiplier"}, MONEY),
    "the multiplier of a drop's wins": (
        once("wins", lambda w, b: [each | {"multiplier": b.ladder[0] + 4} for each in w]), "gold", {"win_multiplier"}, EITHER,
    ),
    "a way that starts on reel 2": (once("reached", from_second_reel), "plain", {"win_invented"}, MONEY),
    "a win missed on the board": (once("wins", lambda w, b: w[:-1] if w else None), "plain", {"win_missing"}, MONEY),
    "a wild counted as a scatter": (once("scatters", wilds_as_scatters), "gold", {"trigger_invented", "trigger_count"}, EITHER),
    "gold that leaves": (once("gone", leave_gold), "gold", {"turned_cells"}, EITHER),
    "gold on reel 1": (once("gold", gild(0)), "gold", {"marks"}, EITHER),
    "gold on reel 5": (once("gold", gild(4)), "gold", {"marks"}, EITHER),
    "no gold on reel 3 in free spins": (once("gold", tarnish), "gold", {"marks"}, EITHER),
    "a wild that is gold": (once("board", keep_gold), "gold", {"marks"}, EITHER),
    "gold lost in the fall": (once("board", lose_gold), "gold", {"marks"}, EITHER),
    "ladder not reset": (once("first_step", if_free(lambda n, b: 3)), "plain", {"multiplier"}, EITHER),
    "ladder not reset, shown as if": (
        lambda spin: {"first_step": Once(max(spin, 1), lambda n, b: 2), "start_multiplier": lambda n, b: b.ladder[0]},
        "plain", {"win_multiplier"}, MONEY,
    ),
    "ladder not climbed": (once("next_step", lambda n, b: n - 1 if n < 4 else None), "gold", {"multiplier_missing"}, EITHER),
    "ladder climbed twice": (once("next_step", lambda n, b: n + 1 if n < 3 else None), "gold", {"multiplier_change"}, EITHER),
    "two different cells swapped after a tumble": (once("board", swap_two), "gold", {"board_fall"}, EITHER),
    "other symbols fall in": (once("new_symbols", replace_new), "gold", {"refill"}, EITHER),
    "a tumble missing": (once("gone", lambda g, b: ([], []) if g[0] else None), "plain", {"tumble_missing"}, EITHER),
    "a trigger not awarded": (once("spins", lambda n, b: 0 if n else None), "plain", {"trigger_missing"}, EITHER),
    "a retrigger not awarded": (once("spins", if_free(lambda n, b: 0 if n else None)), "plain", {"trigger_missing"}, EITHER),
    "11 spins for 3 scatters": (once("spins", lambda n, b: 11 if n == 10 else None), "plain", {"spins_awarded"}, EITHER),
    "11 spins played, 10 awarded": (once("left", lambda n, b: 11 if n == 10 and not b.spin else None), "plain", {"spins_left"}, EITHER),
    "a trigger invented": (once("spins", if_free(lambda n, b: 5 if not n else None)), "plain", {"trigger_invented"}, EITHER),
    "cap ignored": (lambda spin: always("no_cap", True), "capped", {"cap_missing"}, EITHER),
    "cap passed": (once("cap_hit", lambda f, b: {**f, "awarded_minor": f["uncapped_minor"]}), "capped", {"cap_hit"}, MONEY),
    "a spin played out after the cap": (play_out, "capped", {"after_cap"}, EITHER),
    "play after the cap": (after_the_cap, "capped", {"after_cap"}, EITHER),
    "play after the cap for nothing": (lambda spin: always("is_over", False), "capped", {"after_cap"}, {"integrity"}),
    "a limit of tumbles ignored": (lambda spin: always("is_limited", False), "limited", {"limit_ignored"}, EITHER),
    "a limit of tumbles too low": (once("is_limited", lambda v, b: True), "plain", {"tumble_missing"}, EITHER),
    "an award": (once("award", lambda n, b: n + 20), "plain", {"award"}, MONEY),
    "a wrong total": (once("total", lambda n, b: n + 20), "plain", {"total"}, MONEY),
}  # fmt: skip
