"""Faults of a game of runs, carried on to the settlement: hooks, the rules by which each shows, what it is found as."""

from collections.abc import Callable, Sequence
from typing import Any

from replay.referee.notebook import note
from replay.referee.walk import walk_round
from replay.verdict import Finding, Severity
from tests.moon_spell_faults import Once, once
from tests.rules_changes import changed_rules
from tests.stargazing_rounds import RULES, Hook, StargazingRound, placed

__all__ = ["PLAYED", "RULES_BY", "found_in", "played_by"]

RICH = changed_rules(RULES, base_strip_set="rich", free_spins_strip_set="rich", free_spins_limit={"spins_max": 9})
CAPPED = changed_rules(RICH, cap={"multiple": 45})
RULES_BY: dict[str, Any] = {
    "plain": RULES,
    "rich": RICH,
    "capped": CAPPED,
    "capped by spin": CAPPED.with_reading("ALL-1", 2),
    "low ceiling": changed_rules(RULES, ceiling={"multiplier": 6}),
    "few Resonances": changed_rules(RULES, resonance_limit={"resonances": 2}),
    "mixed by its parts": RULES.with_reading("MPS-3", 1),
    "raised first": RULES.with_reading("MPS-4", 1),
    "one a step": RULES.with_reading("MPS-5", 1),
    "Star in every session": RULES.with_reading("MPS-9", 1),
    "no Resonance again": RULES.with_reading("MPS-11", 1),
}
MONEY, INTEGRITY, EITHER = {"money"}, {"integrity"}, {"money", "integrity"}


def played_by(how: str, seed: int) -> StargazingRound:
    """Return a round that is yet to be played, with another active princess and another choice from seed to seed."""
    return StargazingRound(RULES_BY[how], seed=seed, state=seed % 3, choice=seed // 3 % 3)


def found_in(events: Sequence[Any], played: StargazingRound, *, is_complete: bool = True) -> list[Finding]:
    """Return what the referee finds in events of `played`, warnings apart, and where its settlement is not what it allows."""
    state = {"princess": played.state_in}
    walk = walk_round(
        placed(events), played.rules, mode="base", bet_minor=played.bet, is_complete=is_complete, state_in=state, choices=played.choices
    )
    found = [finding for finding in walk.findings if finding.severity != "warning"]
    feature = played.total - played.base_award
    settled = (played.ended, played.total, played.base_award, feature, {"princess": played.active})
    for name, value, allowed in zip(walk.totals._fields, settled, walk.totals, strict=True):
        if is_complete and allowed and value not in allowed:
            severity: Severity = "integrity" if name in ("ended", "state_out") else "money"
            found.append(note(name, severity, len(events) + 1, -1, "", what=name, want=allowed[0], got=value))
    return found


Wins = list[dict[str, Any]]
Leaves = tuple[set[int], set[int]]


def run_of(length: int, played: StargazingRound) -> dict[str, Any] | None:
    return next((win for win in played.step_wins if win["count"] == length and win["symbol"] != 7), None)


def wild_after_four(leaves: Leaves, played: StargazingRound) -> Any:
    win = run_of(4, played)
    if win is None or win["cells"][1] not in leaves[0]:
        return None
    return leaves[0] - {win["cells"][1]}, leaves[1] | {win["cells"][1]}


def no_wild(leaves: Leaves, played: StargazingRound) -> Any:
    return (leaves[0] | {min(leaves[1])}, leaves[1] - {min(leaves[1])}) if leaves[1] else None


def power_wild_leaves(leaves: Leaves, played: StargazingRound) -> Any:
    stay = {cell for win in played.step_wins for cell in win["cells"] if played.marks[cell]}
    return (leaves[0] | {min(stay)}, leaves[1]) if stay else None


def wild_falls_wrongly(board: tuple[str, list[int]], played: StargazingRound) -> Any:
    """A wild lies one place too high or low in its reel."""
    symbols, marks = board
    for cell in range(24) if played.drop else ():
        pair = symbols[cell : cell + 2]
        if cell % 5 != 4 and "W" in pair and pair[0] != pair[1] and "x" not in pair and not any(marks[cell : cell + 2]):
            return symbols[:cell] + pair[::-1] + symbols[cell + 2 :], marks
    return None


def symbol_from_above(board: tuple[str, list[int]], played: StargazingRound) -> Any:
    symbols, marks = board
    cell = symbols.find("x")
    while cell >= 0 and symbols[cell + 1 : cell + 2] == "x":
        cell += 1
    return (symbols[:cell] + "H" + symbols[cell + 1 :], marks) if played.drop and cell >= 0 and "B" in symbols else None


def from_above(above: Any, played: StargazingRound) -> Any:
    reels = {cell // 5 for win in played.step_wins for cell in win["cells"]}
    full = [reel for reel in sorted(reels) if "x" not in played.board[5 * reel : 5 * reel + 5]]
    straight = [win for win in played.step_wins if win["line"] > 4 and win["line"] - 5 in full]
    if not straight:
        return None
    reel = straight[0]["line"] - 5
    return tuple((1,) if each == reel else () for each in range(5))


def power_wild_vanishes(board: tuple[str, list[int]], played: StargazingRound) -> Any:
    symbols, marks = board
    if not played.drop or 2 not in marks:
        return None
    cell = marks.index(2)
    first = cell - cell % 5
    column = (symbols[first:cell] + symbols[cell + 1 : first + 5]).rjust(5, "x")
    marked = [0, *marks[first:cell], *marks[cell + 1 : first + 5]]
    return symbols[:first] + column + symbols[first + 5 :], marks[:first] + marked + marks[first + 5 :]


def diagonal_paid(wins: Wins, played: StargazingRound) -> Any:
    for cell in range(13):
        cells = (cell, cell + 6, cell + 12)
        if cell % 5 < 3 and len({played.board[each] for each in cells}) == 1 and played.board[cell] in "BHTRANS":
            symbol = "BHTRANSWMx".index(played.board[cell])
            pay = played.rules.symbols[symbol].pays_x100[0]
            return [*wins, {"symbol": symbol, "line": -1, "count": 3, "cells": cells, "ways": 1, "pay_x100": pay}]
    return None


def mixed_as_equal(wins: Wins, played: StargazingRound) -> Any:
    at = next((at for at, win in enumerate(wins) if win["symbol"] == 8), None)
    if at is None:
        return None
    equal = wins[at] | {"symbol": 5, "pay_x100": played.rules.symbols[5].pays_x100[wins[at]["count"] - 3]}
    return [*wins[:at], equal, *wins[at + 1 :]]


def sub_run(wins: Wins, played: StargazingRound) -> Any:
    for at, win in enumerate(wins):
        if win["count"] > 3 and win["symbol"] < 7:
            pay = played.rules.symbols[win["symbol"]].pays_x100[0]
            return [*wins[: at + 1], win | {"count": 3, "cells": win["cells"][:3], "pay_x100": pay}, *wins[at + 1 :]]
    return None


def miss_win(wins: Wins, played: StargazingRound) -> Any:
    return wins[:-1] if wins else None


def change_win(**changes: Callable[[Any], Any]) -> Hook:
    def hook(wins: Wins, played: StargazingRound) -> Any:
        return [wins[0] | {name: change(wins[0][name]) for name, change in changes.items()}, *wins[1:]] if wins else None

    return hook


def more_paid(win: dict[str, Any], played: StargazingRound) -> dict[str, Any]:
    return win | {"win_minor": win["win_minor"] + 10}


def rise_more(rise: int, played: StargazingRound) -> Any:
    return rise + 1 if rise else None


def rise_not(rise: int, played: StargazingRound) -> Any:
    return 0 if rise else None


def paid_raised(factor: int, played: StargazingRound) -> Any:
    cells = {cell for win in played._runs() for cell in win["cells"]}
    return factor + len((cells & played.highlights) - played.won)


def stars_without_last(is_last: bool, played: StargazingRound) -> Any:
    return True if not is_last and len(played.highlights - played.won) == 1 and not played.has_stars else None


def stars_missed(is_last: bool, played: StargazingRound) -> Any:
    return False if is_last else None


def in_resonance(change: Hook) -> Hook:
    return lambda value, played: change(value, played) if played.part == "resonance" else None


def in_free(change: Hook) -> Hook:
    return lambda value, played: change(value, played) if played.part == "free" else None


def acts_on_win(acts: bool, played: StargazingRound) -> Any:
    return True if played._runs() and played.powers else None


def off_the_diagonal(power: tuple[int, int, tuple[int, ...]], played: StargazingRound) -> Any:
    princess, size, cells = power
    if princess != 1 or len(cells) < 2:
        return None
    free = [cell for cell in range(25) if played.board[cell] in "BHTRANS" and cell not in cells]
    other = next((cell for cell in free if cell // 5 == cells[1] // 5), None)
    return None if other is None else (princess, size, tuple(sorted((*cells[1:], other))))


def too_many_wilds(power: tuple[int, int, tuple[int, ...]], played: StargazingRound) -> Any:
    princess, size, cells = power
    free = [cell for cell in range(25) if played.board[cell] in "BHTRANS" and cell not in cells]
    return (princess, size, tuple(sorted((*cells, free[0])))) if princess == 2 and free else None


def on_a_wild(power: tuple[int, int, tuple[int, ...]], played: StargazingRound) -> Any:
    princess, size, cells = power
    wilds = [cell for cell in range(25) if played.board[cell] in "Wx"]
    return (princess, size, tuple(sorted((*cells[1:], wilds[0])))) if princess != 1 and wilds else None


def one_past_ceiling(to: int, played: StargazingRound) -> Any:
    ceiling = played.rules.ceiling.multiplier
    cells = {cell for win in played._runs() for cell in win["cells"]}
    return ceiling + 1 if played.multiplier == ceiling and cells & played.highlights - played.won else None


def always(**hooks: Any) -> Callable[[int], dict[str, Hook]]:
    """Return hooks that put a value in the place of another each time."""
    return lambda spin: {name: lambda right, played, value=value: value for name, value in hooks.items()}


def chosen(name: str, change: Hook) -> Callable[[int], dict[str, Hook]]:
    """Return a hook that changes a value each time it can."""
    return lambda spin: {name: lambda value, played: value if (changed := change(value, played)) is None else changed}


def with_low_symbols(fills: bool, played: StargazingRound) -> Any:
    return None if fills else True


def uncut(more: int, played: StargazingRound) -> Any:
    return 3 if more < 3 else None


def carried(reset: tuple[int, int], played: StargazingRound) -> Any:
    return (played.multiplier, 0) if played.multiplier > 1 else None


def cap_early(spin: int) -> dict[str, Any]:
    less = lambda fields, _: fields | {"awarded_minor": min(fields["awarded_minor"], fields["uncapped_minor"] - 10)}  # noqa: E731
    return {"is_capped": Once(spin, lambda value, _: True if not value else None), "cap_hit": less}


Fault = tuple[Callable[[int], dict[str, Any]], str, set[str], set[str]]
PLAYED: dict[str, Fault] = {
    "a wild left by a run of four": (once("leaves", wild_after_four), "plain", {"tumble_cells"}, EITHER),
    "no wild after a run of three": (once("leaves", no_wild), "plain", {"tumble_cells"}, EITHER),
    "a wild that fell wrongly": (once("board", wild_falls_wrongly), "plain", {"drop_symbols"}, EITHER),
    "a symbol that came from above": (once("board", symbol_from_above), "plain", {"drop_symbols"}, EITHER),
    "a symbol from above, told by the tumble": (once("above", from_above), "plain", {"new_symbols"}, EITHER),
    "a diagonal run paid": (once("wins", diagonal_paid), "plain", {"win_invented"}, MONEY),
    "a mixed run paid as equal": (once("wins", mixed_as_equal), "plain", {"win_symbol"}, MONEY),
    "a sub-run paid beside its run": (once("wins", sub_run), "plain", {"win_invented"}, MONEY),
    "raised twice for one cell": (once("rise", rise_more), "plain", {"multiplier", "highlighted_cells"}, EITHER),
    "not raised": (once("rise", rise_not), "plain", {"multiplier_missing", "highlighted_cells"}, EITHER),
    "a win paid at the raised value": (once("factor", paid_raised), "plain", {"win_multiplier"}, MONEY),
    "constellation without the last cell": (
        once("constellation", stars_without_last),
        "rich",
        {"prize_invented", "highlighted_cells"},
        EITHER,
    ),
    "no constellation": (once("constellation", stars_missed), "rich", {"prize_missing", "highlighted_cells"}, EITHER),
    "a clear prize in Resonance": (once("pays_clear", in_resonance(lambda value, _: True)), "plain", {"prize_invented"}, MONEY),
    "no clear prize": (once("pays_clear", lambda value, _: False), "rich", {"prize_missing"}, MONEY),
    "a power on a winning drop in Resonance": (once("acts_first", in_resonance(acts_on_win)), "plain", {"power_invented"}, EITHER),
    "powers out of order": (once("powers", in_resonance(lambda value, _: [1, 0, 2])), "plain", {"power_princess"}, INTEGRITY),
    "two powers in Resonance": (once("powers", in_resonance(lambda value, _: [0, 1])), "plain", {"power_missing"}, EITHER),
    "the wrong princess": (once("princess", lambda value, _: (value + 1) % 3), "plain", {"power_princess"}, INTEGRITY),
    "another princess than the chosen": (
        chosen("powers", in_free(lambda value, played: [(played.choice + 1) % 3])),
        "plain",
        {"power_princess", "power_size", "power_cells"},
        INTEGRITY,
    ),
    "Nova's wilds off the diagonal": (once("power", off_the_diagonal), "plain", {"power_cells"}, EITHER),
    "a wild more than the size": (once("power", too_many_wilds), "plain", {"power_cells", "power_size"}, EITHER),
    "a power on a wild": (once("power", on_a_wild), "plain", {"power_cells"}, EITHER),
    "a power on a free spin that wins": (
        once("acts_first", in_free(acts_on_win)),
        "plain",
        {"power_invented"},
        EITHER,
    ),
    "a Power Wild that left": (once("leaves", power_wild_leaves), "plain", {"tumble_cells"}, EITHER),
    "a Power Wild that vanished": (once("board", power_wild_vanishes), "plain", {"drop_symbols"}, EITHER),
    "wilds that do not clear": (once("clears", lambda value, _: False), "rich", {"clear_missing", "prize_missing", "power_cells"}, EITHER),
    "multiplier not reset for Resonance": (once("reset", in_resonance(carried)), "plain", {"multiplier"}, EITHER),
    "multiplier reset when free spins began": (
        once("free_multiplier", lambda value, _: 1 if value > 1 else None),
        "plain",
        {"multiplier"},
        EITHER,
    ),
    "a multiplier past the ceiling": (once("to", one_past_ceiling), "low ceiling", {"multiplier_invented", "multiplier"}, EITHER),
    "four spins more": (once("more", lambda value, _: 4 if value == 3 else None), "plain", {"spins_awarded"}, EITHER),
    "two spins more": (once("more", lambda value, _: 2 if value == 3 else None), "plain", {"spins_awarded"}, EITHER),
    "a spin above the most": (
        once("more", lambda value, _: 3 if value < 3 else None),
        "rich",
        {"spins_awarded", "trigger_invented"},
        EITHER,
    ),
    "meter filled by a low symbol": (
        once("fills", lambda value, _: True if not value else None),
        "plain",
        {"trigger_invented", "meter"},
        EITHER,
    ),
    "meter kept into a new base spin": (once("reset", lambda value, _: (1, 2)), "plain", {"meter"}, INTEGRITY),
    "a win's amount": (once("win", more_paid), "plain", {"win_amount"}, MONEY),
    "a pay": (once("wins", change_win(pay_x100=lambda pay: pay + 10)), "plain", {"win_pay"}, MONEY),
    "a win missed": (once("wins", miss_win), "plain", {"win_missing", "power_invented", "power_cells"}, EITHER),
    "an award": (once("award", lambda value, _: value + 50), "plain", {"award"}, MONEY),
    "a wrong total": (once("total", lambda value, _: value + 50), "plain", {"total"}, MONEY),
    "a trigger not awarded": (once("is_full", lambda value, _: False), "plain", {"trigger_missing"}, MONEY),
    "a trigger awarded": (once("is_full", lambda value, _: True), "plain", {"trigger_invented"}, EITHER),
    "a trigger not written": (once("writes_trigger", lambda value, _: False), "plain", {"trigger_missing"}, INTEGRITY),
    "a wrong number of free spins": (once("given", lambda value, _: value + 1), "plain", {"spins_left"}, EITHER),
    "the cap ignored": (always(is_capped=False), "capped", {"cap_missing"}, EITHER),
    "play after the cap": (always(is_stopped=False), "capped", {"after_cap"}, EITHER),
    "the cap too early": (cap_early, "plain", {"cap_invented"}, MONEY),
    "a wrong award of the cap": (
        once("cap_hit", lambda fields, _: fields | {"awarded_minor": max(fields["awarded_minor"] - 10, 0)}),
        "capped",
        {"cap_hit"},
        MONEY,
    ),
    "a wrong princess next": (once("next", lambda value, played: (value + 1) % 3), "plain", {"state_out"}, INTEGRITY),
}
