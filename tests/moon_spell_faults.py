"""Faults of a game of win lines and Moons, carried on to the settlement: hooks, the rules by which each shows, what it is found as."""

from collections.abc import Callable
from typing import Any

from tests.moon_spell_rounds import PAYS, Hook, MoonSpellRound

__all__ = ["PLAYED", "Once"]

MONEY, INTEGRITY, EITHER = {"money"}, {"integrity"}, {"money", "integrity"}


class Once:
    """A hook that replaces a value the first time it can, from one spin on."""

    def __init__(self, spin: int, change: Hook) -> None:
        self.spin, self.change, self.spin_fired = spin, change, -1

    def __call__(self, value: Any, played: MoonSpellRound) -> Any:
        if self.spin_fired >= 0 or played.spin < self.spin:
            return value
        changed = self.change(value, played)
        if changed is None or changed == value:
            return value
        self.spin_fired = played.spin
        return changed


def on_win(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Hook:
    """Return a hook that changes the second win of a spin, or its only one; its amount follows from its pay where it is not changed."""

    def hook(wins: list[dict[str, Any]], played: MoonSpellRound) -> Any:
        if not wins:
            return None
        at = min(len(wins) - 1, 1)
        changed = change(dict(wins[at]))
        if changed is None:
            return None
        if changed["win_minor"] == wins[at]["win_minor"]:
            changed["win_minor"] = changed["pay_x100"] * played.bet // 100
        return [*wins[:at], changed, *wins[at + 1 :]]

    return hook


def longer_by_one(win: dict[str, Any]) -> dict[str, Any] | None:
    count = win["count"]
    return win | {"count": count + 1, "pay_x100": PAYS[win["symbol"]][count - 2]} if count < 5 else None


def pay_twice(wins: list[dict[str, Any]], played: MoonSpellRound) -> Any:
    """The longest combination of a line and a shorter one of it."""
    for at, win in enumerate(wins):
        if win["count"] > 3:
            pay = played.rules.symbols[win["symbol"]].pays_x100[0]
            shorter = win | {"count": 3, "cells": win["cells"][:3], "pay_x100": pay, "win_minor": pay * played.bet // 100}
            return [*wins[: at + 1], shorter, *wins[at + 1 :]]
    return None


def invent_win(wins: list[dict[str, Any]], played: MoonSpellRound) -> Any:
    taken = {win["line"] for win in wins}
    line = next(line for line in range(3, 20) if line not in taken)
    cells = tuple(3 * reel + row for reel, row in enumerate(played.rules.lines.rows[line]))[:3]
    money = {"pay_x100": 60, "multiplier": 1, "win_minor": 60 * played.bet // 100}
    win = {"symbol": 3, "line": line, "count": 3, "cells": cells, "ways": 1, **money}
    return sorted([*wins, win], key=lambda win: int(win["line"]))


def wilds_as_moons(count: int, played: MoonSpellRound) -> Any:
    more = count + played.board.count(played.wild)
    return more if (count < 3 <= more) or (count < 5 <= more) else None


def wild_turns_moon(board: Any, played: MoonSpellRound) -> Any:
    """In the first respin the wild that was counted lies as a Moon."""
    symbols, values = board
    drop = next(event for event in played.events if event.kind == "drop")
    if drop.symbols.count(played.moon) != 4:  # type: ignore[attr-defined]
        return None
    at = drop.symbols.index(played.wild)  # type: ignore[attr-defined]
    symbols[at], values[at] = played.moon, 200
    return symbols, values


def held(played: MoonSpellRound) -> list[int]:
    """Return the cells of Moons that two boards at least have shown."""
    boards = [event for event in played.events if event.kind == "drop"][-2:]
    if len(boards) < 2:
        return []
    return [cell for cell in range(15) if all(board.symbols[cell] == played.moon for board in boards)]  # type: ignore[attr-defined]


def change_moon(change: Callable[[list[int], list[int], int, MoonSpellRound], None]) -> Hook:
    def hook(board: tuple[list[int], list[int]], played: MoonSpellRound) -> Any:
        cells = held(played)
        if not cells:
            return None
        symbols, values = list(board[0]), list(board[1])
        change(symbols, values, played.random.choice(cells), played)
        return symbols, values

    return hook


def more_worth(symbols: list[int], values: list[int], cell: int, played: MoonSpellRound) -> None:
    values[cell] = 500 if values[cell] != 500 else 300


def move(symbols: list[int], values: list[int], cell: int, played: MoonSpellRound) -> None:
    if played.blank in symbols:
        free = symbols.index(played.blank)
        symbols[free], values[free], symbols[cell], values[cell] = played.moon, values[cell], played.blank, 0


def lose(symbols: list[int], values: list[int], cell: int, played: MoonSpellRound) -> None:
    symbols[cell], values[cell] = played.blank, 0


def lower_rung(pays: list[int], played: MoonSpellRound) -> Any:
    prizes = list(played.rules.ladder.prizes_x100)
    return [prizes[prizes.index(pays[0]) - 1]] if pays and pays[0] > prizes[0] else None


def both_rungs(pays: list[int], played: MoonSpellRound) -> Any:
    lower = lower_rung(pays, played)
    return None if lower is None else [*lower, *pays]


def leave_moon_out(pay: int, played: MoonSpellRound) -> Any:
    return pay - next(value for value in played.values if value)


def award_less(fields: dict[str, int], played: MoonSpellRound) -> dict[str, int]:
    return fields | {"awarded_minor": fields["awarded_minor"] - 20}


def once(name: str, change: Hook) -> Callable[[int], dict[str, Hook]]:
    return lambda spin: {name: Once(spin, change)}


def always(**hooks: Hook) -> Callable[[int], dict[str, Hook]]:
    return lambda spin: dict(hooks)


def when(name: str, fits: Callable[[MoonSpellRound], bool], value: Any) -> Callable[[int], dict[str, Hook]]:
    """Return hooks that put `value` in the place of what is called `name` where the round `fits`."""
    return lambda spin: {name: lambda right, played: value if fits(played) else right}


# Name: hooks from a spin on, the rules by which it shows, codes, severities.
PLAYED: dict[str, tuple[Callable[[int], dict[str, Hook]], str, set[str], set[str]]] = {
    "a line pay divided by the lines": (
        once("wins", on_win(lambda win: win | {"pay_x100": win["pay_x100"] // 20})), "plain", {"win_pay"}, MONEY,
    ),
    "a line win divided by the lines": (
        once("wins", on_win(lambda win: win | {"win_minor": win["win_minor"] // 20})), "plain", {"win_amount"}, MONEY,
    ),
    "two pays on one line": (once("wins", pay_twice), "plain", {"win_invented"}, MONEY),
    "a win's amount": (once("wins", on_win(lambda win: win | {"win_minor": win["win_minor"] + 20})), "plain", {"win_amount"}, MONEY),
    "a pay": (once("wins", on_win(lambda win: win | {"pay_x100": win["pay_x100"] + 5})), "plain", {"win_pay"}, MONEY),
    "a count and its pay": (once("wins", on_win(longer_by_one)), "plain", {"win_count", "win_pay"}, MONEY),
    "a win missed": (once("wins", lambda wins, played: wins[:-1] if wins else None), "plain", {"win_missing"}, MONEY),
    "a win invented": (once("wins", invent_win), "plain", {"win_invented"}, MONEY),
    "a wild counted as Moon": (once("moons", wilds_as_moons), "plain", {"trigger_invented", "prize_invented"}, EITHER),
    "a wild that became a Moon": (
        lambda spin: {
            "moons": Once(0, lambda count, played: 5 if count == 4 and played.board.count(played.wild) == 1 else None),
            "board": Once(1, wild_turns_moon),
        },
        "plain", {"trigger_invented"}, EITHER,
    ),
    "four Moons that triggered": (
        lambda spin: {
            "has_bonus": lambda right, played: right or played.moons == 4,
            "has_cash": lambda right, played: right and played.moons != 4,
        },
        "plain", {"trigger_invented"}, EITHER,
    ),
    "four Moons that paid and triggered": (when("has_bonus", lambda played: played.moons >= 4, True), "plain", {"trigger_invented"}, MONEY),
    "a trigger not awarded": (when("has_bonus", lambda played: True, False), "plain", {"trigger_missing"}, MONEY),
    "cash in the place of a trigger": (
        lambda spin: {"has_bonus": lambda right, played: False, "has_cash": lambda right, played: played.moons >= 3},
        "plain", {"trigger_missing"}, MONEY,
    ),
    "four respins for three": (
        lambda spin: {"left": lambda left, played: 4 if left else left, "awarded": Once(0, lambda n, played: 4)},
        "plain", {"spins_awarded"}, EITHER,
    ),
    "a counter that did not reset": (once("resets", lambda right, played: False), "many", {"trigger_missing"}, EITHER),
    "a counter that gained three": (once("regained", lambda n, played: 3), "many", {"spins_awarded"}, EITHER),
    "a counter set back without a Moon": (
        once("left_after", lambda left, played: 3 if 0 < left < 3 else None), "many", {"spins_left"}, EITHER,
    ),
    "a Moon that changed its value": (once("board", change_moon(more_worth)), "many", {"moon_value"}, EITHER),
    "a Moon that changed its place": (once("board", change_moon(move)), "many", {"moon_held"}, EITHER),
    "a Moon lost": (once("board", change_moon(lose)), "many", {"moon_held"}, EITHER),
    "two ladder rungs": (once("rungs", both_rungs), "many", {"prize_invented"}, MONEY),
    "a wrong ladder rung": (once("rungs", lower_rung), "many", {"prize_pay"}, MONEY),
    "a ladder prize missing": (once("rungs", lambda pays, played: [] if pays else None), "many", {"prize_missing"}, MONEY),
    "a bonus that went on after 15 Moons": (
        lambda spin: {"is_full": lambda right, played: False}, "many", {"trigger_invented", "bonus_goes_on"}, INTEGRITY,
    ),
    "a bonus that went on after 15 Moons in silence": (
        lambda spin: {"is_full": lambda right, played: False, "resets": lambda right, played: played.moons < 15},
        "many", {"bonus_goes_on"}, INTEGRITY,
    ),
    "a bonus that went on after 15 Moons at once": (when("left", lambda played: True, 3), "full", {"spins_left"}, EITHER),
    "a bonus that ended early": (once("left_after", lambda left, played: 0), "many", {"bonus_early", "trigger_missing"}, MONEY),
    "a bonus that went on after three empty respins": (
        once("left_after", lambda left, played: 1 if not left and played.moons < 15 else None), "many", {"bonus_goes_on"}, EITHER,
    ),
    "cash missing": (once("moon_cash", lambda pay, played: 0), "plain", {"prize_missing"}, MONEY),
    "cash for two Moons": (when("has_cash", lambda played: 2 <= played.moons < 5, True), "plain", {"prize_invented"}, MONEY),
    # Where another value of a Moon that one board alone shows explains the sum, only the seed tells (`replay/weighing.py`).
    "a Moon left out of the cash": (once("moon_cash", leave_moon_out), "plain", {"prize_pay"}, EITHER),
    "cash of other worth": (once("moon_cash", lambda pay, played: pay + 35), "plain", {"prize_pay"}, MONEY),
    "a prize's amount": (once("prize_amount", lambda amount, played: amount + 20), "plain", {"prize_amount"}, MONEY),
    "cap ignored": (always(is_capped=lambda right, played: False), "capped", {"cap_missing"}, MONEY),
    "less awarded by the cap": (once("cap_hit", award_less), "capped", {"cap_hit"}, MONEY),
    "play after the cap": (
        lambda spin: {
            "is_stopped": lambda right, played: False,
            "is_capped": lambda right, played: right and not any(event.kind == "cap_hit" for event in played.events),
        },
        "capped", {"after_cap"}, EITHER,
    ),
    "an award": (once("award", lambda n, played: n + 20), "many", {"award"}, MONEY),
    "a wrong total": (once("total", lambda n, played: n + 20), "many", {"total"}, MONEY),
    "respins miscounted": (once("spins_played", lambda n, played: n + 1), "many", {"spins_played"}, INTEGRITY),
}  # fmt: skip
