"""Pays-anywhere boards: what wins, what falls, what comes from the strips; pure functions of boards, pays and strips.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first. Pays are in hundredths of the
bet, money is in minor units.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "BoardWin",
    "board_after",
    "board_wins",
    "cap_award",
    "fallen",
    "hearts_sum",
    "pay_for_count",
    "refill",
    "removed_counts",
    "scatter_pay",
    "union_cells",
    "win_amount",
    "window",
]

Board = tuple[int, ...]
NewSymbols = tuple[tuple[int, ...], ...]
PAY_SCALE = 100


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


def union_cells(groups: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """Return every cell that is in one of `groups`, ascending."""
    return tuple(sorted({cell for group in groups for cell in group}))


def win_amount(pay_x100: int, multiplier: int, bet_minor: int) -> int:
    """Return a pay in minor units; whole for every allowed bet, else cut down to the whole unit below."""
    return pay_x100 * multiplier * bet_minor // PAY_SCALE


def removed_counts(removed: Iterable[int], reels: int, rows: int) -> tuple[int, ...]:
    """Return how many of the cells `removed` lie on each reel; a cell outside the board counts nowhere."""
    counts = [0] * reels
    for cell in removed:
        reel = cell // rows
        if 0 <= reel < reels:
            counts[reel] += 1
    return tuple(counts)


def fallen(board: Sequence[int], removed: Iterable[int], rows: int) -> tuple[tuple[int, ...], ...]:
    """Return for each reel what is left of it without the cells `removed`, from the top; it lies at the bottom."""
    gone = set(removed)
    return tuple(tuple(board[cell] for cell in range(first, first + rows) if cell not in gone) for first in range(0, len(board), rows))


def board_after(board: Sequence[int], removed: Iterable[int], new_symbols: Sequence[Sequence[int]], rows: int) -> Board:
    """Return the board after a tumble: what is left falls, `new_symbols` of each reel lie above it, the top row first.

    The board is of another length than before where the new symbols are more or fewer than the gaps.
    """
    gone = set(removed)
    after: list[int] = []
    first = 0
    for new in new_symbols:
        after += new
        after += [board[cell] for cell in range(first, first + rows) if cell not in gone]
        first += rows
    return tuple(after)


def window(strip: Sequence[int], stop: int, rows: int) -> Board:
    """Return the `rows` symbols of a reel that stands at `stop`, the strip position in the top row; strips are cyclic."""
    length = len(strip)
    return tuple([strip[(stop + row) % length] for row in range(rows)])


def refill(strips: Sequence[Sequence[int]], tops: Sequence[int], counts: Sequence[int]) -> tuple[NewSymbols, tuple[int, ...]]:
    """Return the symbols that fall in on each reel, the top row first, and the strip positions then in the top rows.

    `tops` are the positions in the top rows before; the window moves upwards by the number of gaps of its reel.
    """
    new = []
    after = []
    for strip, top, count in zip(strips, tops, counts, strict=True):
        first = top - count
        if first >= 0:
            new.append(tuple(strip[first:top]))
        else:
            length = len(strip)
            new.append(tuple([strip[(first + row) % length] for row in range(count)]))
            first %= length
        after.append(first)
    return tuple(new), tuple(after)


def scatter_pay(count: int, pays_x100: Sequence[int]) -> int:
    """Return the pay of `count` scatters, where pays_x100[n] is that of n; more than the last pay as the last."""
    return pays_x100[min(count, len(pays_x100) - 1)]


def hearts_sum(values: Iterable[int]) -> int:
    """Return the sum of the multipliers on a board, given one value for each cell, 0 where there is none."""
    return sum(values)


def cap_award(total_before_minor: int, uncapped_minor: int, cap_minor: int) -> int | None:
    """Return what the cap leaves of a win or prize that reaches or passes it, None for one that does not."""
    if uncapped_minor <= 0 or total_before_minor + uncapped_minor < cap_minor:
        return None
    return max(cap_minor - total_before_minor, 0)
