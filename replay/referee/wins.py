"""The wins of one drop, held against what its board pays."""

from typing import NamedTuple

from engines.game_events import Win
from replay.referee.amounts import win_amount
from replay.referee.falling import union_cells
from replay.referee.grammar import Step
from replay.referee.pairing import PlacedWin, is_followed, nearest, note_missing, note_pairs, pair_wins, win_place
from replay.referee.scatter_pays import BoardWin, board_wins, pay_for_count
from replay.referee.world import SpinScene, World

__all__ = ["DropWins", "check_wins"]


class DropWins(NamedTuple):
    """What a tumble may remove after the wins of a drop."""

    worlds: list[World]  # with the drop's wins counted
    removals: list[tuple[int, ...]]  # of each world, by its own board
    recorded: tuple[int, ...]  # by the recorded wins


def check_wins(scene: SpinScene, worlds: list[World], step: Step, drop_index: int) -> DropWins:
    """Check the recorded wins of a drop against the boards that may lie there, none of which may be known."""
    tables, bet = scene.tables, scene.bet_minor
    recorded = step.wins
    if not recorded and len(worlds) == 1 and not board_wins(worlds[0].board, tables.counts, tables.pays):
        return DropWins(worlds, [()], ())
    if not worlds:
        for placed in recorded:
            _check_fields(scene, placed, _self_told(scene, placed[1]), drop_index)
        return DropWins([], [], union_cells(win.cells for _, win in recorded))
    paid = [board_wins(world.board, tables.counts, tables.pays) for world in worlds]
    followed = [is_followed(recorded, wins) for wins in paid]
    if any(followed):
        best = followed.index(True)
        matched = list(zip(recorded, paid[best], strict=True))
    else:
        best = nearest(recorded, paid, [world.is_right for world in worlds])
        pairs = pair_wins(recorded, paid[best])
        note_pairs(scene, pairs, drop_index)
        for win in pairs.missing:
            note_missing(scene, step, win, win.cell_count, win_amount(win.pay_x100, 1, bet), drop_index)
        matched = pairs.matched
    for placed, win in matched:
        _check_fields(scene, placed, win, drop_index)
    if len(worlds) > 1:
        worlds, paid = _still_open(scene, worlds, paid, followed, best)
    counted, removals = [], []
    for world, wins in zip(worlds, paid, strict=True):
        pay = sum([win_amount(win.pay_x100, 1, bet) for win in wins])
        counted.append(world._replace(wins_minor=world.wins_minor + pay) if pay else world)
        removals.append(wins[0].cells if len(wins) == 1 else union_cells(win.cells for win in wins))
    return DropWins(counted, removals, recorded[0][1].cells if len(recorded) == 1 else union_cells(win.cells for _, win in recorded))


def _self_told(scene: SpinScene, win: Win) -> BoardWin:
    pays = scene.tables.pays_by_symbol.get(win.symbol, ())
    count = len(win.cells)
    return BoardWin(win.symbol, win.cells, count, pay_for_count(count, scene.tables.counts, pays) if pays else 0)


def _still_open(
    scene: SpinScene, worlds: list[World], paid: list[list[BoardWin]], followed: list[bool], best: int
) -> tuple[list[World], list[list[BoardWin]]]:
    """Return the worlds that the recorded wins leave open; where only a wrong board pays so, amounts follow a fault."""
    keep = [number for number, is_followed in enumerate(followed) if is_followed] or [best]
    if not any(worlds[number].is_right for number in keep):
        pay = sum(win.pay_x100 for win in paid[keep[0]])
        for number, world in enumerate(worlds):
            if world.is_right and number not in keep:
                if sum(win.pay_x100 for win in paid[number]) == pay:
                    keep.append(number)
                else:
                    scene.is_diverged = True
    return [worlds[number] for number in keep], [paid[number] for number in keep]


def _check_fields(scene: SpinScene, placed: PlacedWin, win: BoardWin, drop_index: int) -> None:
    """Check a recorded win against the board's: each value may follow from the recorded or the right ones before it."""
    index, got = placed
    amount = win_amount(win.pay_x100, 1, scene.bet_minor)
    if (
        got.cells == win.cells
        and got.count == win.cell_count
        and got.pay_x100 == win.pay_x100
        and got.win_minor == amount
        and got.multiplier == got.ways == 1
        and got.line == -1
        and got.symbol == win.symbol
    ):
        return
    tables, add = scene.tables, scene.notebook.add
    where = win_place(scene, got.symbol, drop_index)
    if got.cells != win.cells:
        add("win_cells", "open", index, where, what="cells", want=list(win.cells), got=list(got.cells))
    if got.count not in (win.cell_count, len(got.cells)):
        add("win_count", "open", index, where, what="count", want=win.cell_count, got=got.count)
    pays_x100 = [tables.pays_by_symbol[symbol] for symbol in (win.symbol, got.symbol) if symbol in tables.pays_by_symbol]
    pays = {win.pay_x100} | {pay_for_count(count, tables.counts, pays) for pays in pays_x100 for count in (got.count, len(got.cells))}
    if got.pay_x100 not in pays:
        add("win_pay", "money", index, where, what="pay in hundredths of the bet", want=win.pay_x100, got=got.pay_x100)
    for name, want in (("line", -1), ("ways", 1), ("multiplier", 1)):
        value = getattr(got, name)
        if value != want:
            add(f"win_{name}", "integrity" if name == "line" else "open", index, where, what=name, want=want, got=value)
    factors = {1, got.multiplier, got.ways, got.multiplier * got.ways}
    amounts = {win_amount(pay, factor, scene.bet_minor) for pay in {win.pay_x100, got.pay_x100} for factor in factors}
    if got.win_minor not in amounts:
        add("win_amount", "money", index, where, what="win in minor units", want=amount, got=got.win_minor)
