"""The wins of one drop of a game that pays by ways, each held against its board and against the win cap in its order."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from engines.game_events import CapHit
from replay.referee.amounts import win_amount
from replay.referee.cap import CapOutcome, check_cap, past_the_cap
from replay.referee.falling import union_cells
from replay.referee.grammar import Step
from replay.referee.notebook import distinct_values
from replay.referee.pairing import PlacedWin, is_followed, nearest, note_missing, note_pairs, pair_wins, win_place
from replay.referee.scatter_pays import pay_for_count
from replay.referee.ways import WaysWin, product_of_reels
from replay.referee.ways_world import WaysScene, WaysWorld, with_wins

__all__ = ["WaysDropWins", "check_wins"]

OPTIONS_MAX = 64


class WaysDropWins(NamedTuple):
    """What a tumble may take after the wins of a drop."""

    worlds: list[WaysWorld]  # with the drop's wins counted
    won: list[tuple[int, ...]]  # cells of the wins of each world, by its own board
    recorded: tuple[int, ...]  # by the recorded wins


class _Entry(NamedTuple):
    """A win as recorded, as the board pays it, or both."""

    placed: PlacedWin | None
    win: WaysWin | None


def check_wins(scene: WaysScene, worlds: list[WaysWorld], step: Step, drop_index: int) -> WaysDropWins:
    """Check the recorded wins of a drop against the boards that may lie there, none of which may be known."""
    recorded = step.wins
    paid = [scene.tables.wins(world.board) for world in worlds]
    if not recorded and step.cap is None and not any(paid):
        return WaysDropWins(worlds, [()] * len(worlds), ())
    recorded_cells = union_cells(win.cells for _, win in recorded)
    if not worlds:
        entries = [_Entry(placed, _self_told(scene, placed)) for placed in recorded]
        _walk_entries(scene, step, entries, drop_index)
        return WaysDropWins([], [], recorded_cells)
    # A cap ends the wins that are written.
    followed = [is_followed(recorded, wins[: len(recorded)] if step.cap is not None else wins) for wins in paid]
    if any(followed):
        best = followed.index(True)
        entries = [_Entry(*pair) for pair in zip_longest(recorded, paid[best])]
    else:
        best = nearest(recorded, paid, [world.is_right for world in worlds])
        pairs = pair_wins(recorded, paid[best])
        note_pairs(scene, pairs, drop_index)
        entries = [_Entry(*pair) for pair in pairs.matched]
        entries += [_Entry(placed, None) for placed in pairs.invented] + [_Entry(None, win) for win in pairs.missing]
        entries.sort(key=_paytable_place)
    _walk_entries(scene, step, entries, drop_index)
    if len(worlds) > 1:
        worlds, paid = _still_open(scene, worlds, paid, followed, best)
    counted = [with_wins(scene, world, wins) for world, wins in zip(worlds, paid, strict=True)]
    return WaysDropWins(counted, [union_cells(win.cells for win in wins) for wins in paid], recorded_cells)


def _paytable_place(entry: _Entry) -> int:
    return entry.win.symbol if entry.win is not None else entry.placed[1].symbol if entry.placed is not None else 0


def _self_told(scene: WaysScene, placed: PlacedWin) -> WaysWin:
    """Return what a win says of itself where its board is not known."""
    win, tables = placed[1], scene.tables
    count = len({tables.reel_of_cell[cell] for cell in win.cells if cell < tables.cell_count})
    pays = tables.pays_by_symbol.get(win.symbol, ())
    pay = pay_for_count(count, tables.counts, pays) if pays else 0
    return WaysWin(win.symbol, count, win.cells, product_of_reels(win.cells, tables.reel_rows, count), pay)


def _still_open(
    scene: WaysScene, worlds: list[WaysWorld], paid: list[list[WaysWin]], followed: list[bool], best: int
) -> tuple[list[WaysWorld], list[list[WaysWin]]]:
    """Return the worlds that the recorded wins leave open; where only a wrong board pays so, amounts follow a fault."""
    keep = [number for number, is_same in enumerate(followed) if is_same] or [best]
    if not any(worlds[number].is_right for number in keep):
        pay = sum(win.whole_pay_x100 for win in paid[keep[0]])
        for number, world in enumerate(worlds):
            if world.is_right and number not in keep:
                if sum(win.whole_pay_x100 for win in paid[number]) == pay:
                    keep.append(number)
                else:
                    scene.is_diverged = True
    return [worlds[number] for number in keep], [paid[number] for number in keep]


def _walk_entries(scene: WaysScene, step: Step, entries: list[_Entry], drop_index: int) -> None:
    """Check the wins in their order, each against the cap before the next."""
    rungs = list(scene.rungs)
    cap_place = _cap_place(scene, step, entries)
    is_step_capped = False
    for number, (placed, win) in enumerate(entries):
        if scene.hit == "yes":
            if placed is not None:
                if win is not None:
                    where = win_place(scene, placed[1].symbol, drop_index)
                    scene.note_after_cap(placed[0], where, f"a win of {placed[1].win_minor}")
                _add(scene, (placed[1].win_minor, 0))
            continue
        if placed is not None:
            amounts = _check_fields(scene, placed, win, drop_index)
            index = placed[0]
        else:
            assert win is not None
            if is_step_capped:
                continue
            amount = _amount(scene, win)
            note_missing(scene, step, win, win.reels, amount, drop_index)
            amounts = (0, amount)
            index = step.drop[0] if step.drop else step.wins[0][0] if step.wins else -1
        _hold_against_cap(scene, step.cap if number == cap_place else None, amounts, index, drop_index)
        is_step_capped = scene.hit not in ("no", "yes")
    if step.cap is not None and not entries:
        _hold_against_cap(scene, step.cap, (0,), step.cap[0], drop_index)
    told = {placed[1].multiplier for placed, _ in entries if placed is not None}
    if scene.rungs == rungs and told:
        scene.rungs = [rung for rung in rungs if rung[0] in told] or rungs


def _cap_place(scene: WaysScene, step: Step, entries: list[_Entry]) -> int:
    """Return which win the recorded cap belongs to.

    That is the one it stands after, or the one that reaches the cap, where all that stands between them is a finding already.
    """
    if step.cap is None:
        return -1
    place = next((n for n, entry in enumerate(entries) if entry.placed is not None and entry.placed[0] == step.cap_after), -1)
    known = max(scene.before or (0,)) + max(scene.sums)
    reached = -1
    for number, entry in enumerate(entries):
        known += entry.placed[1].win_minor if entry.placed is not None and entry.win is not None else _amount(scene, entry.win)
        if known >= scene.cap_minor:
            reached = number
            break
    between = entries[reached + 1 : place + 1] if reached <= place else entries[place + 1 : reached + 1]
    if reached >= 0 and (_are_out_of_order(entries) or all(entry.placed is None or entry.win is None for entry in between)):
        return reached
    return max(place, 0)


def _are_out_of_order(entries: list[_Entry]) -> bool:
    indexes = [entry.placed[0] for entry in entries if entry.placed is not None]
    return indexes != sorted(indexes)


def _amount(scene: WaysScene, win: WaysWin | None) -> int:
    return win_amount(win.whole_pay_x100, scene.rungs[-1][0], scene.bet_minor) if win is not None else 0


def _add(scene: WaysScene, amounts: Sequence[int]) -> None:
    scene.sums = distinct_values([total + amount for amount in amounts for total in scene.sums])[:OPTIONS_MAX]


def _hold_against_cap(scene: WaysScene, recorded: tuple[int, CapHit] | None, amounts: tuple[int, ...], index: int, drop_index: int) -> None:
    """Count a win of one of `amounts` and check whether it is cut as it should be."""
    sums = scene.sums
    _add(scene, amounts)
    if recorded is None and scene.before is not None and max(scene.before, default=0) + max(scene.sums) < scene.cap_minor:
        return
    outcome: CapOutcome
    if scene.is_past_end or scene.after_cap_fault is not None or scene.hit == "due":
        if recorded is None:
            return
        outcome = past_the_cap(recorded, amounts)
    else:
        before = None if scene.before is None else distinct_values([total + some for total in scene.before for some in sums])
        where = f"drop {drop_index}, win"
        outcome = check_cap(scene.notebook, recorded, what=where, index=index, before=before, amounts=amounts, cap_minor=scene.cap_minor)
    if outcome.fault is not None:
        scene.cap_faults.append(outcome.fault)
    if outcome.hit == "no":
        return
    scene.hit = "due" if scene.hit == "due" else outcome.hit
    scene.cuts = outcome.cuts if outcome.hit == "yes" else distinct_values([*scene.cuts, *outcome.cuts])
    scene.cap_awards += tuple([some + award for some in sums for award in outcome.awarded])


def _check_fields(scene: WaysScene, placed: PlacedWin, win: WaysWin | None, drop_index: int) -> tuple[int, ...]:
    """Check a recorded win against the board's and return what it may be worth, as recorded first.

    Each value may follow from the recorded or the right ones before it: cells, count, ways, pay, multiplier, amount.
    """
    index, got = placed
    if win is None:
        return (got.win_minor, 0)
    multipliers = [multiplier for multiplier, _ in scene.rungs]
    if (
        got.cells == win.cells
        and got.count == win.reels
        and got.ways == win.ways
        and got.pay_x100 == win.pay_x100
        and got.multiplier in multipliers
        and got.win_minor == got.pay_x100 * got.ways * got.multiplier * scene.bet_minor // 100
        and got.line == -1
        and got.symbol == win.symbol
    ):
        return (got.win_minor,)
    tables, add = scene.tables, scene.notebook.add
    where = win_place(scene, got.symbol, drop_index)
    found = len(scene.notebook.findings)
    if got.cells != win.cells:
        add("win_cells", "open", index, where, what="cells", want=list(win.cells), got=list(got.cells))
    reels_told = len({tables.reel_of_cell[cell] for cell in got.cells if cell < tables.cell_count})
    if got.count not in (win.reels, reels_told):
        add("win_count", "open", index, where, what="count", want=win.reels, got=got.count)
    ways = distinct_values([win.ways, *(product_of_reels(cells, tables.reel_rows, got.count) for cells in (win.cells, got.cells))])
    if got.ways not in ways:
        add("win_ways", "open", index, where, what="ways", want=win.ways, got=got.ways)
    rows = [tables.pays_by_symbol[symbol] for symbol in (win.symbol, got.symbol) if symbol in tables.pays_by_symbol]
    counts = (win.reels, got.count, reels_told)
    pays = distinct_values([win.pay_x100, *(pay_for_count(count, tables.counts, row) for row in rows for count in counts)])
    if got.pay_x100 not in pays:
        add("win_pay", "money", index, where, what="pay in hundredths of the bet", want=win.pay_x100, got=got.pay_x100)
    if got.multiplier not in multipliers:
        _note_multiplier(scene, placed, where)
    if got.line != -1:
        add("win_line", "integrity", index, where, what="line", want=-1, got=got.line)
    factors = distinct_values([got.multiplier] if got.multiplier in multipliers else [*multipliers, got.multiplier])
    products = [pay * way * factor for pay in {*pays, got.pay_x100} for way in {*ways, got.ways} for factor in factors]
    amounts = distinct_values([win_amount(product, 1, scene.bet_minor) for product in products])
    right = distinct_values([win_amount(win.whole_pay_x100, factor, scene.bet_minor) for factor in multipliers])
    if got.win_minor not in amounts:
        add("win_amount", "money", index, where, what="win in minor units", want=right[0], got=got.win_minor)
    return distinct_values([got.win_minor, *right]) if len(scene.notebook.findings) > found else (got.win_minor,)


def _note_multiplier(scene: WaysScene, placed: PlacedWin, where: str) -> None:
    index, got = placed
    multipliers = [multiplier for multiplier, _ in scene.rungs]
    scene.notebook.add("win_multiplier", "open", index, where, what="multiplier", want=multipliers[0], got=got.multiplier)
    steps = [step for step, multiplier in enumerate(scene.ladder) if multiplier == got.multiplier]
    scene.rungs = [*scene.rungs, *((got.multiplier, step) for step in steps or [scene.rungs[0][1]])]
