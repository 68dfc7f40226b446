"""Runs of equal symbols in rows and reels, what they leave behind, and powers on a board; pure functions of boards and marks.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first. A mark of 2 is a wild that stays. Pays
are in hundredths of the bet. Cells that are empty hold a symbol that is neither paying nor wild.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from replay.referee.falling import Board, fallen, union_cells

__all__ = [
    "POWER_WILD",
    "Run",
    "RunSymbols",
    "are_power_cells",
    "board_after_fall",
    "board_with_wilds",
    "diagonal_stretches",
    "lines_of_cells",
    "paying_cells",
    "runs_of",
    "split_cells",
]

POWER_WILD = 2  # the mark


class Run(NamedTuple):
    """A winning run: its symbol, the line it lies in, its length, its cells, ascending, and its pay."""

    symbol: int
    line: int
    length: int
    cells: tuple[int, ...]
    pay_x100: int


class RunSymbols(NamedTuple):
    """What symbols do in runs: paying ones are below `paying`; those of `group` make a `mixed` run of different kinds.

    pays: for each symbol, `wild` and `mixed` too, one for each length from `shortest` on. is_mixed_summed: a mixed run pays
    what the runs of one symbol inside it pay.
    """

    paying: int
    group: frozenset[int]
    wild: int
    mixed: int
    empty: int
    shortest: int
    pays: Mapping[int, Sequence[int]]
    is_mixed_summed: bool = False

    def pay_x100(self, symbol: int, count: int) -> int:
        """Return the pay of a run, 0 where it is none."""
        pays = self.pays.get(symbol, ())
        return pays[count - self.shortest] if 0 <= count - self.shortest < len(pays) else 0


@cache
def lines_of_cells(reels: int, rows: int) -> tuple[tuple[int, ...], ...]:
    """Return the cells of each row from the top, then of each reel from the left."""
    across = [tuple(reel * rows + row for reel in range(reels)) for row in range(rows)]
    return (*across, *(tuple(range(reel * rows, reel * rows + rows)) for reel in range(reels)))


def runs_of(board: Sequence[int], marks: Sequence[int], lines: Sequence[Sequence[int]], symbols: RunSymbols) -> list[Run]:
    """Return what wins on a board: by line, within a line from the left or the top."""
    found: list[Run] = []
    paying, wild, shortest = symbols.paying, symbols.wild, symbols.shortest
    for number, line in enumerate(lines):
        shown = [board[cell] for cell in line]
        kinds = {symbol for symbol in shown if symbol < paying}
        has_wild = wild in shown
        if not has_wild and len(kinds) > len(shown) - shortest + 1 and len(kinds & symbols.group) < 2:
            continue
        in_line: list[tuple[int, Run]] = []
        for kind in kinds - symbols.group:
            for first, after in _stretches(shown, {kind}, wild, shortest):
                in_line.append((first, _run(symbols, kind, number, line, first, after)))
        if kinds & symbols.group:
            for first, after in _stretches(shown, symbols.group, wild, shortest):
                here = {symbol for symbol in shown[first:after] if symbol != wild}
                run = _run(symbols, here.pop() if len(here) == 1 else symbols.mixed, number, line, first, after)
                if run.symbol == symbols.mixed and symbols.is_mixed_summed:
                    run = run._replace(pay_x100=_pay_inside(shown[first:after], symbols))
                in_line.append((first, run))
        if has_wild:
            for first, after in _stretches(shown, (), wild, shortest, is_of_wilds=True):
                is_alone = all(shown[at] >= paying for at in (first - 1, after) if 0 <= at < len(shown))
                if is_alone and any(marks[cell] != POWER_WILD for cell in line[first:after]):
                    in_line.append((first, _run(symbols, wild, number, line, first, after)))
        found += [run for _, run in sorted(in_line)]
    return found


def _stretches(shown: Sequence[int], kinds: Iterable[int], wild: int, shortest: int, *, is_of_wilds: bool = False) -> list[tuple[int, int]]:
    """Return the longest stretches of `kinds` and wilds with one of the kinds at least, or of wilds alone."""
    found = []
    first, has_kind = 0, is_of_wilds
    for at, symbol in enumerate([*shown, -1]):
        if symbol == wild:
            continue
        if symbol in kinds:
            has_kind = True
            continue
        if at - first >= shortest and has_kind:
            found.append((first, at))
        first, has_kind = at + 1, is_of_wilds
    return found


def _run(symbols: RunSymbols, symbol: int, number: int, line: Sequence[int], first: int, after: int) -> Run:
    return Run(symbol, number, after - first, tuple(line[first:after]), symbols.pay_x100(symbol, after - first))


def _pay_inside(shown: Sequence[int], symbols: RunSymbols) -> int:
    return sum(
        symbols.pay_x100(kind, after - first)
        for kind in symbols.group & set(shown)
        for first, after in _stretches(shown, {kind}, symbols.wild, symbols.shortest)
    )


def split_cells(runs: Iterable[Run], marks: Sequence[int], wild: int, leaves_wild: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cells that leave and those that turn wild when `runs` have won: middles of runs of `leaves_wild`, not of wilds.

    Wilds that stay are in neither.
    """
    runs = list(runs)
    middles = {run.cells[run.length // 2] for run in runs if run.length == len(run.cells) == leaves_wild and run.symbol != wild}
    won = [cell for cell in union_cells(run.cells for run in runs) if 0 <= cell < len(marks) and marks[cell] != POWER_WILD]
    return tuple([cell for cell in won if cell not in middles]), tuple([cell for cell in won if cell in middles])


def board_after_fall(
    board: Sequence[int], marks: Sequence[int], removed: Iterable[int], reel_rows: Sequence[int], empty: int
) -> tuple[Board, Board]:
    """Return board and marks when all that is left in a reel has fallen to the bottom; nothing comes from above."""
    gone = set(removed)
    after: list[int] = []
    marks_after: list[int] = []
    kept = [cell not in gone and symbol != empty for cell, symbol in enumerate(board)]
    holes = [cell for cell, is_kept in enumerate(kept) if not is_kept]
    for rows, symbols, marked in zip(reel_rows, fallen(board, holes, reel_rows), fallen(marks, holes, reel_rows), strict=True):
        after += (empty,) * (rows - len(symbols)) + symbols
        marks_after += (0,) * (rows - len(marked)) + marked
    return tuple(after), tuple(marks_after)


def board_with_wilds(board: Sequence[int], cells: Iterable[int], wild: int) -> Board:
    """Return a board on which `cells` have turned wild."""
    after = list(board)
    for cell in cells:
        after[cell] = wild
    return tuple(after)


def paying_cells(board: Sequence[int], paying: int) -> tuple[int, ...]:
    """Return the cells that hold a symbol below `paying`, in their order."""
    return tuple([cell for cell, symbol in enumerate(board) if symbol < paying])


def diagonal_stretches(board: Sequence[int], length: int, reels: int, rows: int, paying: int) -> list[tuple[int, ...]]:
    """Return the diagonal stretches of `length` cells that all hold paying symbols, by leftmost cell, going down before going up."""
    found = []
    for cell, symbol in enumerate(board):
        reel, row = divmod(cell, rows)
        if symbol >= paying or reel + length > reels:
            continue
        for step in (1, -1):
            if 0 <= row + step * (length - 1) < rows:
                cells = tuple([cell + at * (rows + step) for at in range(length)])
                if all(board[each] < paying for each in cells):
                    found.append(cells)
    return found


def are_power_cells(
    board: Sequence[int], cells: tuple[int, ...], size: int, reels: int, rows: int, paying: int, *, is_diagonal: bool
) -> bool:
    """Return whether a power of `size` may turn `cells`, ascending: paying symbols anywhere, as many as size or all that are left.

    A diagonal one turns a stretch of that length, else of the longest shorter one that there is, else a single cell.
    """
    held = paying_cells(board, paying)
    if not is_diagonal:
        return len(cells) == min(size, len(held)) and list(cells) == sorted(set(cells)) and set(cells) <= set(held)
    for length in range(size, 1, -1):
        stretches = diagonal_stretches(board, length, reels, rows, paying)
        if stretches:
            return cells in stretches
    return len(cells) == 1 and cells[0] in held
