"""Win lines: what a board pays on each of them; pure functions of boards, lines and pays.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first. A line has for each reel from
the left the row it passes, 0 at the top. Pays are in hundredths of the bet.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replay.referee.scatter_pays import pay_for_count

__all__ = ["LineWin", "cells_of_lines", "line_win", "line_wins"]


class LineWin(NamedTuple):
    """The best combination of one line: its symbol, over how many reels from the first it runs, and the cells, ascending."""

    line: int
    symbol: int
    run: int
    cells: tuple[int, ...]
    pay_x100: int


def cells_of_lines(lines: Sequence[Sequence[int]], rows: int) -> tuple[tuple[int, ...], ...]:
    """Return the cells that each line passes, reel by reel, on a board of `rows` rows."""
    return tuple(tuple(reel * rows + row for reel, row in enumerate(line)) for line in lines)


def line_win(
    number: int, cells: Sequence[int], board: Sequence[int], counts: Sequence[int], pays: Mapping[int, Sequence[int]], wild: int
) -> LineWin | None:
    """Return what line `number` pays from the first reel on, None where it pays nothing.

    `pays` has for each paying symbol one pay for each of `counts`. Wilds stand for every paying symbol; of several
    combinations on a line the one with the largest pay counts, the longer one of two that pay alike.
    """
    symbol, run, wilds = wild, 0, 0
    for cell in cells:
        shown = board[cell]
        if shown == wild:
            wilds += run == wilds
        elif symbol == wild and shown in pays:
            symbol = shown
        elif shown != symbol:
            break
        run += 1
    best = None
    for paying, count in ((symbol, run), (wild, wilds)):
        pay = pay_for_count(count, counts, pays[paying]) if paying in pays and count >= counts[0] else 0
        if pay > (best.pay_x100 if best else 0):
            best = LineWin(number, paying, count, tuple(cells[:count]), pay)
    return best


def line_wins(
    board: Sequence[int], lines: Sequence[Sequence[int]], counts: Sequence[int], pays: Mapping[int, Sequence[int]], wild: int
) -> list[LineWin]:
    """Return what a board pays, by line number; `lines` are the cells of each line (`cells_of_lines`)."""
    found = []
    for number, cells in enumerate(lines):
        first = board[cells[0]]
        if first in pays or first == wild:
            win = line_win(number, cells, board, counts, pays, wild)
            if win is not None:
                found.append(win)
    return found
