"""Boards whose symbols fall: windows of strips, gaps, falls and refills; pure functions for reels of any height.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first; `reel_rows` are the rows of each reel.
"""

from collections.abc import Iterable, Sequence
from functools import cache

__all__ = ["Board", "NewSymbols", "board_after", "fallen", "falls_in", "reel_numbers", "refill", "removed_counts", "union_cells", "window"]

Board = tuple[int, ...]
NewSymbols = tuple[tuple[int, ...], ...]


@cache
def reel_numbers(reel_rows: tuple[int, ...]) -> tuple[int, ...]:
    """Return for each cell the number of its reel, from 0."""
    return tuple(reel for reel, rows in enumerate(reel_rows) for _ in range(rows))


def union_cells(groups: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """Return every cell that is in one of `groups`, ascending."""
    return tuple(sorted({cell for group in groups for cell in group}))


def removed_counts(removed: Iterable[int], reel_rows: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many of the cells `removed` lie on each reel; a cell outside the board counts nowhere."""
    reels = reel_numbers(reel_rows)
    counts = [0] * len(reel_rows)
    for cell in removed:
        if 0 <= cell < len(reels):
            counts[reels[cell]] += 1
    return tuple(counts)


def fallen(board: Sequence[int], removed: Iterable[int], reel_rows: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return for each reel what is left of it without the cells `removed`, from the top; it lies at the bottom."""
    gone = set(removed)
    kept = []
    first = 0
    for rows in reel_rows:
        kept.append(tuple([board[cell] for cell in range(first, first + rows) if cell not in gone]))
        first += rows
    return tuple(kept)


def board_after(board: Sequence[int], removed: Iterable[int], new_symbols: Sequence[Sequence[int]], reel_rows: Sequence[int]) -> Board:
    """Return the board after a tumble: what is left falls, `new_symbols` of each reel lie above it, the top row first.

    The board is of another length than before where the new symbols are more or fewer than the gaps.
    """
    gone = set(removed)
    after: list[int] = []
    first = 0
    for new, rows in zip(new_symbols, reel_rows, strict=False):
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


def falls_in(
    strips: Sequence[Sequence[int]], tops: tuple[int, ...], counts: tuple[int, ...], told: NewSymbols | None
) -> tuple[NewSymbols, tuple[int, ...]] | None:
    """Return what falls in on each reel, `told` or else that of the strips, and the strip positions then in the top rows.

    counts: gaps of each reel. tops: empty where nobody knows how the strips stand, and so they stay. None where what is
    told does not fill the gaps, or nothing is told and the strips cannot be asked.
    """
    if tops:
        from_strips, tops = refill(strips, tops, counts)
        told = from_strips if told is None else told
    return None if told is None or tuple(map(len, told)) != counts else (told, tops)
