"""Alterations of a right round of win lines and Moons, the rest left as it was: what is done, by which rules, what it is found as."""

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any

from tests.replay.alterations import Facts, award_spins, drop_events, of_kind, set_field, spin_ranges

__all__ = ["ALTERED"]

Alter = Callable[[Facts, random.Random], bool]


def is_which(which: str) -> Callable[[Facts, int], bool]:
    return lambda facts, index: bool(facts[index]["which"] == which)


def in_respin(facts: Facts, index: int) -> bool:
    return index > (of_kind(facts, "spin_ended") or [len(facts)])[0]


def in_base(facts: Facts, index: int) -> bool:
    return not in_respin(facts, index)


def respin_drops(facts: Facts) -> list[tuple[Any, Any]]:
    """Return each respin's drop after the drop before it."""
    drops = [facts[index] for index in of_kind(facts, "drop")]
    return list(itertools.pairwise(drops))


def change_held(change: Callable[[Any, int], bool]) -> Alter:
    """Return an alteration of one Moon that lay there in the spin before as well; two boards have shown it."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        pairs = respin_drops(facts)[1:]
        rng.shuffle(pairs)
        first = facts[of_kind(facts, "drop")[0]] if pairs else None
        for _, drop in pairs:
            cells = [cell for cell in range(15) if first["symbols"][cell] == 9]  # type: ignore[index]
            if change(drop, rng.choice(cells)):
                return True
        return False

    return alter


def other_value(drop: Any, cell: int) -> bool:
    drop["values"][cell] = 300 if drop["values"][cell] != 300 else 500
    return True


def other_place(drop: Any, cell: int) -> bool:
    free = [at for at in range(15) if drop["symbols"][at] == 10]
    if not free:
        return False
    for name in ("symbols", "values"):
        drop[name][free[0]], drop[name][cell] = drop[name][cell], drop[name][free[0]]
    return True


def turned_blank(drop: Any, cell: int) -> bool:
    drop["symbols"][cell], drop["values"][cell] = 10, 0
    return True


def turned_wild(drop: Any, cell: int) -> bool:
    drop["symbols"][cell], drop["values"][cell] = 8, 0
    return True


def moon_added(facts: Facts, rng: random.Random) -> bool:
    """A Moon that the boards after it do not show."""
    pairs = [(drop, later) for drop, later in respin_drops(facts)[1:] if 10 in later["symbols"]]
    if not pairs:
        return False
    drop, later = rng.choice(pairs)
    cell = rng.choice([cell for cell in range(15) if later["symbols"][cell] == 10])
    drop["symbols"][cell], drop["values"][cell] = 9, 100
    return True


def moon_landed_late(facts: Facts, rng: random.Random) -> bool:
    """The board on which a Moon landed does not show it, the one after it does."""
    for before, drop in respin_drops(facts)[:-1]:
        new = [cell for cell in range(15) if drop["symbols"][cell] == 9 and before["symbols"][cell] != 9]
        if new:
            return turned_blank(drop, new[0])
    return False


def paying_symbol(facts: Facts, rng: random.Random) -> bool:
    drops = [drop for _, drop in respin_drops(facts) if 10 in drop["symbols"]]
    if not drops:
        return False
    drop = rng.choice(drops)
    drop["symbols"][drop["symbols"].index(10)] = 2
    return True


def first_symbol(facts: Facts, rng: random.Random) -> bool:
    drop = facts[of_kind(facts, "drop")[0]]
    cell = rng.randrange(15)
    drop["symbols"][cell] = (drop["symbols"][cell] + rng.randint(1, 7)) % 8
    return not drop["values"][cell]


def junk_value(facts: Facts, rng: random.Random) -> bool:
    drops = [facts[index] for index in of_kind(facts, "drop") if any(facts[index]["values"])]
    if not drops:
        return False
    drop = rng.choice(drops)
    drop["values"][rng.choice([cell for cell in range(15) if drop["values"][cell]])] = 75
    return True


def other_cells(facts: Facts, rng: random.Random) -> bool:
    wins = of_kind(facts, "win")
    if wins:
        win = facts[rng.choice(wins)]
        win["cells"] = [cell + 1 if cell % 3 == 0 else cell - 1 for cell in win["cells"]]
    return bool(wins)


def second_pay(facts: Facts, rng: random.Random) -> bool:
    long = [index for index in of_kind(facts, "win") if facts[index]["count"] > 3]
    if not long:
        return False
    index = rng.choice(long)
    win = copy.deepcopy(facts[index])
    win |= {"count": 3, "cells": win["cells"][:3]}
    facts.insert(index + 1, win)
    return True


def swap_wins(facts: Facts, rng: random.Random) -> bool:
    places = [index for index in of_kind(facts, "win") if facts[index + 1]["kind"] == "win"]
    if places:
        index = rng.choice(places)
        facts[index : index + 2] = facts[index + 1], facts[index]
    return bool(places)


def second_rung(facts: Facts, rng: random.Random) -> bool:
    ladders = [index for index in of_kind(facts, "prize") if facts[index]["which"] == "ladder" and facts[index + 1]["kind"] == "spin_ended"]
    if not ladders:
        return False
    rung = copy.deepcopy(facts[ladders[0]])
    rung |= {"pay_x100": 2500, "prize_minor": 2500 * facts[0]["bet_minor"] // 100}
    facts.insert(ladders[0], rung)
    return True


def one_respin_more(facts: Facts, rng: random.Random) -> bool:
    """An empty respin after the bonus: after 15 Moons, or after three that were empty."""
    ends = of_kind(facts, "feature_ended")
    if not ends or len(spin_ranges(facts)) < 2:
        return False
    first, _ = spin_ranges(facts)[-1]
    spin = [copy.deepcopy(facts[at]) for at in (first, first + 1, ends[0] - 1)]
    spin[0] |= {"spin_index": spin[0]["spin_index"] + 1, "spins_left": max(spin[0]["spins_left"] - 1, 0)}
    spin[2] |= {"award_minor": 0, "cut_minor": 0}
    facts[ends[0] : ends[0]] = spin
    return True


def play_after_the_cap(facts: Facts, rng: random.Random) -> bool:
    return bool(of_kind(facts, "cap_hit")) and one_respin_more(facts, rng)


def drop_respin(facts: Facts, rng: random.Random) -> bool:
    ranges = spin_ranges(facts)[1:-1]
    if not ranges:
        return False
    first, after = rng.choice(ranges)
    del facts[first:after]
    return True


def more(amount: int) -> Callable[[int], int]:
    return lambda number: number + amount


# Name: what is done, by which rules, the codes it may be found as, whether an amount is wrong for it.
ALTERED: dict[str, tuple[Alter, str, set[str], bool]] = {
    "a win's amount": (set_field("win", "win_minor", more(20)), "plain", {"win_amount"}, True),
    "a pay": (set_field("win", "pay_x100", more(5)), "plain", {"win_pay"}, True),
    "a pay divided by the lines": (set_field("win", "pay_x100", lambda pay: pay // 20), "plain", {"win_pay"}, True),
    "a symbol count": (set_field("win", "count", more(1)), "plain", {"win_count"}, False),
    "a symbol": (set_field("win", "symbol", lambda symbol: (symbol + 1) % 8), "plain", {"win_symbol"}, False),
    "a line": (set_field("win", "line", lambda line: (line + 1) % 20), "plain", {"win_line"}, False),
    "cells": (other_cells, "plain", {"win_cells"}, False),
    "ways": (set_field("win", "ways", more(1)), "plain", {"win_ways"}, False),
    "a win's multiplier": (set_field("win", "multiplier", more(1)), "plain", {"win_multiplier"}, False),
    "a win missing": (drop_events("win"), "plain", {"win_missing"}, False),
    "a second pay on a line": (second_pay, "plain", {"win_invented"}, False),
    "two wins changed places": (swap_wins, "plain", {"event_order"}, False),
    "a symbol of the first board": (first_symbol, "plain", {"board_stops", "stops"}, False),
    "a stop": (set_field("drop", "drop_index", more(1)), "many", {"drop_index"}, False),
    "a strip set": (set_field("spin_started", "strip_set", more(1)), "many", {"strip_set"}, False),
    "respins left": (set_field("spin_started", "spins_left", more(1)), "many", {"spins_left"}, False),
    "a value of no Moon": (junk_value, "many", {"moon_value"}, False),
    "a held Moon of another value": (change_held(other_value), "many", {"moon_value"}, False),
    "a held Moon in another place": (change_held(other_place), "many", {"moon_held"}, False),
    "a held Moon gone": (change_held(turned_blank), "many", {"moon_held"}, False),
    "a held Moon turned wild": (change_held(turned_wild), "many", {"moon_held"}, False),
    "a Moon too many": (moon_added, "many", {"respin_board", "moon_held", "moon_value"}, False),
    "a Moon that shows late": (moon_landed_late, "many", {"respin_board", "trigger_count"}, False),
    "a paying symbol in a respin": (paying_symbol, "many", {"respin_board"}, False),
    "a trigger not awarded": (drop_events("feature_trigger", 1, in_base), "many", {"trigger_missing"}, False),
    "a reset missing": (drop_events("feature_trigger", 1, in_respin), "many", {"trigger_missing"}, False),
    "four respins for three": (award_spins(3, 4), "many", {"spins_awarded"}, False),
    "a count of Moons": (set_field("feature_trigger", "count", more(1)), "many", {"trigger_count"}, False),
    "cash missing": (drop_events("prize", 1, is_which("moon_cash")), "many", {"prize_missing"}, False),
    "a ladder prize missing": (drop_events("prize", 1, is_which("ladder")), "many", {"prize_missing"}, False),
    "cash of another pay": (set_field("prize", "pay_x100", more(35), is_which("moon_cash")), "many", {"prize_pay"}, True),
    "a wrong ladder rung": (set_field("prize", "pay_x100", more(5000), is_which("ladder")), "many", {"prize_pay"}, True),
    "two ladder rungs": (second_rung, "many", {"prize_invented"}, False),
    "a prize's amount": (set_field("prize", "prize_minor", more(20)), "many", {"prize_amount"}, True),
    "a prize multiplied": (set_field("prize", "multiplier", more(1)), "many", {"prize_multiplier"}, False),
    "a drop missing": (drop_events("drop"), "many", {"drop_missing"}, False),
    "a spin's start missing": (drop_events("spin_started"), "many", {"spin_started_missing"}, False),
    "a spin's end missing": (drop_events("spin_ended"), "many", {"spin_ended_missing"}, False),
    "the end of the bonus missing": (drop_events("feature_ended"), "many", {"feature_ended_missing"}, False),
    "a whole respin missing": (drop_respin, "many", {"spin_missing"}, False),
    "one respin more": (one_respin_more, "many", {"spin_unowed", "bonus_goes_on"}, False),
    "play after the cap": (play_after_the_cap, "capped", {"after_cap"}, False),
    "cap ignored": (drop_events("cap_hit"), "capped", {"cap_missing"}, False),
    "less awarded by the cap": (set_field("cap_hit", "awarded_minor", lambda n: n - 20), "capped", {"cap_hit"}, True),
    "a total before the cap": (set_field("cap_hit", "total_before_minor", more(20)), "capped", {"cap_hit"}, True),
    "a cut": (set_field("spin_ended", "cut_minor", more(20)), "capped", {"cut"}, True),
    "an award": (set_field("spin_ended", "award_minor", more(20)), "many", {"award"}, True),
    "a wrong total": (set_field("spin_ended", "total_minor", more(20)), "many", {"total"}, True),
    "a spin's multiplier": (set_field("spin_ended", "spin_multiplier", more(1)), "many", {"spin_multiplier"}, False),
    "respins miscounted": (set_field("feature_ended", "spins_played", more(1)), "many", {"spins_played"}, False),
    "a total of the bonus": (set_field("feature_ended", "total_minor", more(20)), "many", {"feature_total"}, True),
    "a total win": (set_field("round_settled", "total_win_minor", more(20)), "many", {"total_win"}, True),
    "a base win": (set_field("round_settled", "base_win_minor", more(20)), "many", {"base_win"}, True),
    "a balance": (set_field("round_settled", "balance_after_minor", more(20)), "many", {"balance"}, True),
}
