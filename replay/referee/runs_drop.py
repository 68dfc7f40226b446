"""The boards of runs: the first against stops and strips, what leaves and turns wild in a tumble, and what then lies there."""

from engines.game_events import Drop, Tumble
from replay.referee.belief import fault, faults_of_fields, raise_to_money
from replay.referee.falling import Board, board_after
from replay.referee.first_board import cells_text, shown_boards, symbols_text
from replay.referee.runs import POWER_WILD
from replay.referee.runs_belief import Owed, RunsBelief
from replay.referee.runs_step import looked_at, worth_of
from replay.referee.runs_tables import RunsRound, RunsTables

__all__ = ["drops", "first_drops", "tumbles"]


def first_drops(play: RunsRound, belief: RunsBelief, index: int, drop: Drop) -> list[RunsBelief]:
    """Return what may be believed after drop 0 of a spin: its board as the stops show it, or as it is told."""
    tables = play.tables
    belief = _check_form(belief._replace(phase="spin", drop_index=0), index, drop, 0)
    if len(drop.symbols) != tables.cell_count:
        return [_without_board(tables, belief, index, drop)]
    if drop.marks != tables.no_values:
        belief = fault(belief, "marks", "integrity", index, "drop", what="marks", want="none", got=list(drop.marks))
    found: list[RunsBelief] = []
    rights: list[list[tuple[int, int]]] = []
    for after, shown in shown_boards(tables, belief, belief.strip_set, index, drop):
        if after.findings != belief.findings:
            rights.append(worth_of(play, shown.board, tables.no_values))
        if shown.is_against_stops and rights[0] != rights[1]:
            after = raise_to_money(after, len(belief.findings))
        found.append(looked_at(play, after._replace(board=shown.board, marks=tables.no_values)))
    return found


def _check_form(belief: RunsBelief, index: int, drop: Drop, number: int) -> RunsBelief:
    if drop.drop_index != number:
        belief = fault(belief, "drop_index", "integrity", index, "drop", what="drop index", want=number, got=drop.drop_index)
    if drop.values:
        belief = fault(belief, "values", "integrity", index, "drop", what="values", want="none", got=list(drop.values))
    return belief


def _without_board(tables: RunsTables, belief: RunsBelief, index: int, drop: Drop) -> RunsBelief:
    got = f"{len(drop.symbols)} symbols and {len(drop.marks)} marks"
    told = fault(belief, "board_shape", "integrity", index, "drop", what="board", want=f"{tables.cell_count} cells", got=got)
    return told._replace(board=None, owed=(), taken=())


def tumbles(play: RunsRound, belief: RunsBelief, index: int, got: Tumble) -> list[RunsBelief]:
    """Return what may be believed after a tumble: cells may be wrong in it alone, or be those that really left and turned."""
    tables, owed = play.tables, belief.owed[0]
    none_new = ((),) * tables.reels
    after = belief._replace(owed=belief.owed[1:], is_settled=False)
    if owed.removed is None:
        return [after]
    turned_wild = (tables.wild,) * len(got.turned_cells)
    if got.removed_cells == owed.removed and got.turned_cells == owed.turned and got.turned_symbols == turned_wild:
        if got.new_symbols == none_new:
            return [after]
        what = "symbols from above"
        above = fault(
            after, "new_symbols", "integrity", index, "tumble", what=what, want="none", got=[list(new) for new in got.new_symbols]
        )
        return [above, *_fallen_as_told(play, above, belief, owed, got)]
    if got.removed_cells != owed.removed or got.turned_cells != owed.turned:
        wanted, told = (_fates(removed, turned) for removed, turned in ((owed.removed, owed.turned), (got.removed_cells, got.turned_cells)))
        bad = sorted(cell for cell in {*wanted, *told} if wanted.get(cell) != told.get(cell))
        if bad:
            want, text = (", ".join(fates.get(cell, "stays") for cell in bad) for fates in (wanted, told))
        else:
            want, text = "cells ascending, each once", f"{list(got.removed_cells)} and {list(got.turned_cells)}"
        where = f"tumble, {cells_text(bad)}" if bad else "tumble"
        after = fault(after, "tumble_cells", "integrity", index, where, what="cells that leave", want=want, got=text, assumption="MPS-6")
    elif got.turned_symbols != turned_wild:
        symbols = (("turned_symbols", [tables.wild] * len(owed.turned), list(got.turned_symbols)),)
        after = faults_of_fields(after, "", index, "tumble", symbols, {})
    if got.new_symbols != none_new:
        above_text = [list(new) for new in got.new_symbols]
        after = fault(after, "new_symbols", "integrity", index, "tumble", what="symbols from above", want="none", got=above_text)
    return [after, *_fallen_as_told(play, after, belief, owed, got)]


def _fates(removed: tuple[int, ...], turned: tuple[int, ...]) -> dict[int, str]:
    fates = dict.fromkeys(removed, "leaves")
    return fates | {cell: "turns" if cell not in fates else "leaves and turns" for cell in turned}


def _fallen_as_told(play: RunsRound, after: RunsBelief, before: RunsBelief, owed: Owed, got: Tumble) -> list[RunsBelief]:
    """Return the belief that the board fell as the tumble tells, where that can be and is another board than the right one."""
    tables, board = play.tables, before.board
    cells = {*got.removed_cells, *got.turned_cells}
    if board is None or any(cell >= tables.cell_count for cell in cells) or len(got.new_symbols) != tables.reels:
        return []
    symbols = list(board)
    for cell, symbol in zip(got.turned_cells, got.turned_symbols, strict=False):
        symbols[cell] = symbol
    gone = {cell for cell, symbol in enumerate(symbols) if symbol == tables.empty} | set(got.removed_cells)
    columns, marked = [], []
    for reel, new in enumerate(got.new_symbols):
        holes = sum(tables.reel_of_cell[cell] == reel for cell in gone)
        above = new[len(new) - holes :] if len(new) > holes else new
        columns.append((tables.empty,) * (holes - len(above)) + tuple(above))
        marked.append((0,) * holes)
    fallen = board_after(symbols, gone, columns, tables.reel_rows)
    marks = board_after(before.marks, gone, marked, tables.reel_rows)
    right = after.owed[0] if after.owed else owed
    if (fallen, marks) == (right.board, right.marks):
        return []
    followed = _weighed(play, after, len(before.findings), right, fallen, marks)
    return [followed._replace(owed=(Owed("drop", board=fallen, marks=marks), *after.owed[1:]))]


def _weighed(play: RunsRound, belief: RunsBelief, number: int, right: Owed, board: Board, marks: Board) -> RunsBelief:
    """Return the belief whose finding `number` is about money where the board pays otherwise than the right one."""
    is_paid = worth_of(play, right.board, right.marks) != worth_of(play, board, marks)
    return raise_to_money(belief, number) if is_paid else belief


def drops(play: RunsRound, belief: RunsBelief, index: int, got: Drop) -> list[RunsBelief]:
    """Return what may be believed after the drop that follows a tumble: the board as it must have fallen, or as it is told."""
    tables, owed = play.tables, belief.owed[0]
    number = belief.drop_index + 1
    after = _check_form(belief._replace(owed=(), is_settled=False, drop_index=number), index, got, number)
    if got.stops:
        after = fault(after, "stops", "integrity", index, "drop", what="stops", want="none after a tumble", got=list(got.stops))
    is_shaped = len(got.symbols) == len(got.marks) == tables.cell_count
    if owed.board is None:
        return [
            looked_at(play, after._replace(board=got.symbols, marks=got.marks)) if is_shaped else _without_board(tables, after, index, got)
        ]
    right = looked_at(play, after._replace(board=owed.board, marks=owed.marks))
    if got.symbols == owed.board and got.marks == owed.marks:
        return [right]
    if not is_shaped:
        return [right._replace(findings=_without_board(tables, after, index, got).findings)]
    pairs = list(zip(owed.board, owed.marks, got.symbols, got.marks, strict=True))
    bad = [cell for cell, (symbol, mark, shown, shown_mark) in enumerate(pairs) if (symbol, mark) != (shown, shown_mark)]
    are_marks = got.symbols == owed.board
    code, what = ("marks", "marks") if are_marks else ("drop_symbols", "symbols")
    if are_marks:
        want, text = (", ".join(str(marks[cell]) for cell in bad) for marks in (owed.marks, got.marks))
    else:
        want, text = (_marked_text(tables, *each, bad) for each in ((owed.board, owed.marks), (got.symbols, got.marks)))
    hung = "MPS-7" if any(POWER_WILD in (owed.marks[cell], got.marks[cell]) for cell in bad) else None
    where = f"drop, {cells_text(bad)}"
    wrong = fault(after, code, "integrity", index, where, what=what, want=want, got=text, assumption=hung)
    told = _weighed(play, wrong, len(after.findings), owed, got.symbols, got.marks)
    return [
        right._replace(findings=wrong.findings),
        looked_at(play, told._replace(board=got.symbols, marks=tuple([mark if mark == POWER_WILD else 0 for mark in got.marks]))),
    ]


def _marked_text(tables: RunsTables, board: Board, marks: Board, cells: list[int]) -> str:
    if not any(marks[cell] for cell in cells):
        return symbols_text(tables, board, cells)
    named = (tables.symbol_name(board[cell]) + (f" of mark {marks[cell]}" if marks[cell] else "") for cell in cells[:6])
    return ", ".join(named)
