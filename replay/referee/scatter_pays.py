"""Pays-anywhere boards: what wins, what scatters and hearts are worth; pure functions of boards and pays.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first. Pays are in hundredths of the bet.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["BoardWin", "board_wins", "hearts_sum", "pay_for_count", "scatter_pay"]


class BoardWin(NamedTuple):
    """One symbol that pays on a board, with the cells that hold it, ascending."""

    symbol: int
    cells: tuple[int, ...]
    cell_count: int
    pay_x100: int


def pay_for_count(count: int, counts: Sequence[int], pays_x100: Sequence[int]) -> int:
    """Return the pay of `count` equal symbols, where counts[i] is the least that reaches pays_x100[i]; 0 below the first."""
    band = bisect_right(counts, count)
    return pays_x100[band - 1] if band else 0


def board_wins(board: Sequence[int], counts: Sequence[int], pays: Sequence[tuple[int, Sequence[int]]]) -> list[BoardWin]:
    """Return what pays on `board`, in the order of `pays`: pairs of a symbol and its pays, one for each of `counts`."""
    wins = []
    count_min = counts[0]
    for symbol, pays_x100 in pays:
        count = board.count(symbol)
        if count >= count_min:
            cells = tuple([cell for cell, held in enumerate(board) if held == symbol])
            wins.append(BoardWin(symbol, cells, count, pay_for_count(count, counts, pays_x100)))
    return wins


def scatter_pay(count: int, pays_x100: Sequence[int]) -> int:
    """Return the pay of `count` scatters, where pays_x100[n] is that of n; more than the last pay as the last."""
    return pays_x100[min(count, len(pays_x100) - 1)]


def hearts_sum(values: Iterable[int]) -> int:
    """Return the sum of the multipliers on a board, given one value for each cell, 0 where there is none."""
    return sum(values)
