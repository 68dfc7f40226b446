"""Alterations of a right round of runs, the rest left as it was: what is done, by which rules, what it is found as."""

import copy
import random
from collections.abc import Callable
from typing import Any

from tests.replay.alterations import Facts, of_kind, set_field

__all__ = ["ALTERED"]

Alter = Callable[[Facts, random.Random], bool]


def in_part(part: str) -> Callable[[Facts, int], bool]:
    def fits(facts: Facts, index: int) -> bool:
        return bool(next(fact["part"] for fact in reversed(facts[: index + 1]) if fact["kind"] == "spin_started") == part)

    return fits


def with_value(field: str, value: Any) -> Callable[[Facts, int], bool]:
    return lambda facts, index: bool(facts[index][field] == value)


def changed(kind: str, change: Callable[[dict[str, Any], Facts, int], bool]) -> Alter:
    """Return an alteration of the first event of a kind, in a random order, that `change` can be made to."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        indexes = of_kind(facts, kind)
        rng.shuffle(indexes)
        return any(change(facts[index], facts, index) for index in indexes)

    return alter


def turn_one_more(tumble: dict[str, Any], facts: Facts, index: int) -> bool:
    if len(tumble["removed_cells"]) < 2 or not tumble["turned_cells"]:
        return False
    cell = tumble["removed_cells"].pop()
    tumble["turned_cells"] = sorted([*tumble["turned_cells"], cell])
    tumble["turned_symbols"].append(7)
    return True


def turn_none(tumble: dict[str, Any], facts: Facts, index: int) -> bool:
    if not tumble["turned_cells"]:
        return False
    cell = tumble["turned_cells"].pop()
    tumble["turned_symbols"].pop()
    tumble["removed_cells"] = sorted([*tumble["removed_cells"], cell])
    return True


def move_wild(drop: dict[str, Any], facts: Facts, index: int) -> bool:
    if not drop["drop_index"]:
        return False
    for cell in range(24):
        pair = drop["symbols"][cell : cell + 2]
        if cell % 5 != 4 and 7 in pair and 9 not in pair and pair[0] != pair[1] and not any(drop["marks"][cell : cell + 2]):
            drop["symbols"][cell : cell + 2] = pair[::-1]
            return True
    return False


def fill_hole(drop: dict[str, Any], facts: Facts, index: int) -> bool:
    if 9 not in drop["symbols"] or set(drop["symbols"]) == {9}:
        return False
    drop["symbols"][drop["symbols"].index(9)] = 2
    return True


def tell_from_above(tumble: dict[str, Any], facts: Facts, index: int) -> bool:
    tumble["new_symbols"][1] = [3]
    return True


def lose_power_wild(drop: dict[str, Any], facts: Facts, index: int) -> bool:
    if 2 not in drop["marks"]:
        return False
    cell = drop["marks"].index(2)
    drop["symbols"][cell], drop["marks"][cell] = 9, 0
    return True


def unmark(drop: dict[str, Any], facts: Facts, index: int) -> bool:
    if 2 not in drop["marks"]:
        return False
    drop["marks"][drop["marks"].index(2)] = 0
    return True


def insert_copy(kind: str, change: Callable[[dict[str, Any], Facts, int], dict[str, Any] | None]) -> Alter:
    """Return an alteration that puts another event of a kind after a random one."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        indexes = of_kind(facts, kind)
        rng.shuffle(indexes)
        for index in indexes:
            made = change(copy.deepcopy(facts[index]), facts, index)
            if made is not None:
                facts.insert(index + 1, made)
                return True
        return False

    return alter


def diagonal(win: dict[str, Any], facts: Facts, index: int) -> dict[str, Any] | None:
    return win | {"line": -1, "cells": [0, 6, 12], "count": 3} if facts[index + 1]["kind"] != "cap_hit" else None


def shorter(win: dict[str, Any], facts: Facts, index: int) -> dict[str, Any] | None:
    return win | {"count": 3, "cells": win["cells"][:3]} if win["count"] > 3 and facts[index + 1]["kind"] != "cap_hit" else None


def equal(win: dict[str, Any], facts: Facts, index: int) -> bool:
    is_mixed = win["symbol"] == 8
    if is_mixed:
        win["symbol"] = 4
    return is_mixed


def delete(kind: str, fits: Callable[[Facts, int], bool] = lambda facts, index: True) -> Alter:
    def alter(facts: Facts, rng: random.Random) -> bool:
        indexes = [index for index in of_kind(facts, kind) if fits(facts, index)]
        if indexes:
            del facts[rng.choice(indexes)]
        return bool(indexes)

    return alter


def clear_prize_at_end(facts: Facts, rng: random.Random) -> bool:
    ends = [index for index in of_kind(facts, "spin_ended") if in_part("resonance")(facts, index)]
    if ends:
        fields = {"kind": "prize", "v": 1, "which": "clear_grid", "pay_x100": 2000, "multiplier": 1, "prize_minor": 2000}
        facts.insert(ends[0], fields)
    return bool(ends)


def move_power_cell(power: dict[str, Any], facts: Facts, index: int) -> bool:
    cells = power["turned_cells"]
    if power["princess"] != 1 or len(cells) < 2:
        return False
    cells[0] = cells[1] - 1 if cells[1] % 5 else cells[1] + 1
    cells.sort()
    return True


def plus(number: int) -> Callable[[int], int]:
    return lambda value: value + number


def next_princess(princess: int) -> int:
    return (princess + 1) % 3


Altered = tuple[Alter, str, set[str], bool]
ALTERED: dict[str, Altered] = {
    "a wild more left by a tumble": (changed("tumble", turn_one_more), "plain", {"tumble_cells"}, False),
    "a wild less left by a tumble": (changed("tumble", turn_none), "plain", {"tumble_cells"}, False),
    "a wild that fell wrongly": (changed("drop", move_wild), "plain", {"drop_symbols"}, False),
    "a symbol that came from above": (changed("drop", fill_hole), "plain", {"drop_symbols"}, False),
    "a symbol from above in the tumble": (changed("tumble", tell_from_above), "plain", {"new_symbols"}, False),
    "a Power Wild that vanished": (changed("drop", lose_power_wild), "plain", {"drop_symbols"}, False),
    "a Power Wild without its mark": (changed("drop", unmark), "plain", {"marks"}, False),
    "a diagonal run": (insert_copy("win", diagonal), "plain", {"win_invented"}, False),
    "a sub-run beside its run": (insert_copy("win", shorter), "plain", {"win_invented"}, False),
    "a mixed run as equal": (changed("win", equal), "plain", {"win_symbol"}, False),
    "a win's amount": (set_field("win", "win_minor", plus(10)), "plain", {"win_amount"}, True),
    "a win's pay": (set_field("win", "pay_x100", plus(7)), "plain", {"win_pay"}, True),
    "a win's multiplier": (set_field("win", "multiplier", plus(1)), "plain", {"win_multiplier"}, False),
    "a win's count": (set_field("win", "count", plus(3)), "plain", {"win_count"}, False),
    "a win's line": (set_field("win", "line", plus(10)), "plain", {"win_line"}, False),
    "a win left out": (delete("win"), "plain", {"win_missing"}, False),
    "a rise too high": (set_field("multiplier_change", "to_multiplier", plus(25)), "plain", {"multiplier"}, False),
    "101": (set_field("multiplier_change", "to_multiplier", lambda value: 101), "plain", {"multiplier"}, False),
    "a rise left out": (delete("multiplier_change"), "plain", {"multiplier_missing"}, False),
    "a constellation left out": (
        delete("prize", with_value("which", "constellation")),
        "rich",
        {"prize_missing", "highlighted_cells"},
        False,
    ),
    "a clear prize left out": (delete("prize", with_value("which", "clear_grid")), "rich", {"prize_missing"}, False),
    "a clear prize in Resonance": (clear_prize_at_end, "plain", {"prize_invented"}, False),
    "a prize's amount": (set_field("prize", "prize_minor", plus(100)), "rich", {"prize_amount"}, True),
    "the wrong princess": (
        set_field("power", "princess", lambda value: (value + 1) % 3, in_part("base")),
        "plain",
        {"power_princess"},
        False,
    ),
    "the wrong princess in Resonance": (
        set_field("power", "princess", next_princess, in_part("resonance")),
        "plain",
        {"power_princess"},
        False,
    ),
    "a power's size": (set_field("power", "size", plus(9)), "plain", {"power_size"}, False),
    "Nova's wilds off the diagonal": (changed("power", move_power_cell), "plain", {"power_cells"}, False),
    "a power left out in Resonance": (delete("power", in_part("resonance")), "plain", {"power_missing"}, False),
    "not reset for Resonance": (set_field("spin_started", "multiplier", plus(4), in_part("resonance")), "plain", {"multiplier"}, False),
    "another multiplier in free spins": (set_field("spin_started", "multiplier", plus(1), in_part("free")), "plain", {"multiplier"}, False),
    "a meter at the start": (set_field("spin_started", "meter", plus(1)), "plain", {"meter"}, False),
    "a meter at the end": (set_field("spin_ended", "meter", plus(1)), "plain", {"meter"}, False),
    "highlighted cells out of the grid": (
        lambda facts, rng: bool(facts[0].__setitem__("highlighted_cells", [3, 7, 25]) or True),
        "plain",
        {"highlighted_cells"},
        False,
    ),
    "eleven highlighted cells": (
        lambda facts, rng: bool(facts[0].__setitem__("highlighted_cells", list(range(11))) or True),
        "plain",
        {"highlighted_cells"},
        False,
    ),
    "no highlighted cells": (
        lambda facts, rng: bool(facts[0].__setitem__("highlighted_cells", []) or True),
        "plain",
        {"highlighted_cells"},
        False,
    ),
    "four spins": (set_field("feature_trigger", "spins_awarded", plus(1), in_part("free")), "plain", {"spins_awarded"}, False),
    "spins left": (set_field("spin_started", "spins_left", plus(1)), "plain", {"spins_left"}, False),
    "a part": (lambda facts, rng: bool(facts[0].__setitem__("part", "free") or True), "plain", {"part"}, False),
    "a trigger left out": (delete("feature_trigger"), "plain", {"trigger_missing"}, False),
    "a trigger's count": (set_field("feature_trigger", "count", plus(1)), "plain", {"trigger_count"}, False),
    "an award": (set_field("spin_ended", "award_minor", plus(10)), "plain", {"award", "total"}, True),
    "a total": (set_field("spin_ended", "total_minor", plus(10)), "plain", {"total"}, True),
    "a feature's total": (set_field("feature_ended", "total_minor", plus(10)), "plain", {"feature_total"}, True),
    "a feature's spins": (set_field("feature_ended", "spins_played", plus(1)), "plain", {"spins_played"}, False),
    "choices": (
        lambda facts, rng: any(facts[index].__setitem__("choices", [0, 1]) is None for index in of_kind(facts, "choice_offered")),
        "plain",
        {"choices"},
        False,
    ),
    "a cap left out": (delete("cap_hit"), "capped", {"cap_missing"}, False),
    "an award of the cap": (set_field("cap_hit", "awarded_minor", plus(10)), "capped", {"cap_hit"}, True),
}
