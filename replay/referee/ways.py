"""Boards that pay by ways: what wins, which gold turns, what falls; pure functions of boards, marks, pays and strips.

A board is a sequence of symbol indexes, reel by reel from the left, the top row first; marks are one number for each
cell, `GOLD` where its symbol is gold. Pays are in hundredths of the bet, money is in minor units.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from replay.referee.falling import Board, NewSymbols, board_after, reel_numbers
from replay.referee.scatter_pays import pay_for_count

__all__ = ["GOLD", "WaysWin", "board_wins", "fall", "ladder_multiplier", "product_of_reels", "spins_for_scatters", "split_gold"]

GOLD = 1


class WaysWin(NamedTuple):
    """A symbol that pays on a board: the reels it reaches, the cells that hold it or a wild there, ascending, and its ways."""

    symbol: int
    reels: int
    cells: tuple[int, ...]
    ways: int
    pay_x100: int

    @property
    def whole_pay_x100(self) -> int:
        """The pay of all ways together, in hundredths of the bet."""
        return self.pay_x100 * self.ways


def board_wins(
    board: Sequence[int], reel_rows: Sequence[int], pays: Sequence[tuple[int, Sequence[int]]], counts: Sequence[int], wild: int
) -> list[WaysWin]:
    """Return what pays on `board` from the first reel on adjacent reels, in the order of `pays`.

    pays: pairs of a symbol and its pays, one for each of `counts`, the reels that a way must reach. `wild` stands for any of
    these symbols, -1 where a game has none.
    """
    columns = []
    first = 0
    for rows in reel_rows:
        columns.append(board[first : first + rows])
        first += rows
    head = set(columns[0])
    is_wild_first = wild in head
    wilds = [column.count(wild) for column in columns]
    wins = []
    for symbol, pays_x100 in pays:
        if symbol not in head and not is_wild_first:
            continue
        ways, count, end = 1, 0, 0
        for column, wild_count in zip(columns, wilds, strict=True):
            matching = column.count(symbol) + wild_count
            if not matching:
                break
            ways *= matching
            count += 1
            end += len(column)
        if count >= counts[0]:
            cells = tuple([cell for cell in range(end) if board[cell] in (symbol, wild)])
            wins.append(WaysWin(symbol, count, cells, ways, pay_for_count(count, counts, pays_x100)))
    return wins


def product_of_reels(cells: Iterable[int], reel_rows: tuple[int, ...], reels: int) -> int:
    """Return the product over the first `reels` reels of how many of `cells` lie on each."""
    of_cell = reel_numbers(reel_rows)
    counts = [0] * len(reel_rows)
    for cell in cells:
        if 0 <= cell < len(of_cell):
            counts[of_cell[cell]] += 1
    product = 1
    for count in counts[:reels]:
        product *= count
    return product


def split_gold(won: Iterable[int], marks: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cells of the wins that leave and those that turn wild because they are gold, each ascending."""
    leaving: list[int] = []
    turning: list[int] = []
    for cell in won:
        (turning if marks[cell] == GOLD else leaving).append(cell)
    return tuple(leaving), tuple(turning)


def fall(
    board: Board,
    marks: Sequence[int],
    removed: Collection[int],
    turned: Collection[int],
    landed: tuple[NewSymbols, NewSymbols],
    reel_rows: Sequence[int],
    wild: int,
) -> tuple[Board, tuple[int, ...]]:
    """Return board and marks after a tumble: cells turn wild and lose their mark, what stays falls, `landed` lies above it.

    landed: the new symbols and their marks, for each reel from the top row down.
    """
    new, new_marks = landed
    if turned:
        symbols, kept = list(board), list(marks)
        for cell in turned:
            if 0 <= cell < len(symbols):
                symbols[cell], kept[cell] = wild, 0
        board, marks = tuple(symbols), tuple(kept)
    return board_after(board, removed, new, reel_rows), board_after(marks, removed, new_marks, reel_rows)


def ladder_multiplier(ladder: Sequence[int], step: int) -> int:
    """Return the multiplier of win step `step`, from 0; the last holds for all that follow."""
    return ladder[min(step, len(ladder) - 1)]


def spins_for_scatters(scatters: int, count: int, spins: int, spins_each_more: int) -> int:
    """Return the free spins for `scatters`: `spins` from `count` on, and more for each scatter above that."""
    return spins + spins_each_more * (scatters - count) if scatters >= count else 0
