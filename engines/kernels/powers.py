"""Powers: which paying symbols turn into wilds, anywhere on the board or on a diagonal stretch.

The cells that turn are marked TURNS in `buffer.removed`. Cells are numbered reel by reel from the left, top row first, with
as many rows on each reel.
"""

from typing import Any

from engines.event_buffer import STAYS, TURNS, RoundBuffer
from engines.jit import kernel
from engines.rng import below, choose

__all__ = ["count_paying", "turn_anywhere", "turn_diagonal"]


@kernel
def count_paying(buffer: RoundBuffer, paying_count: int) -> int:
    """Return how many cells hold a paying symbol."""
    count = 0
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] < paying_count:
            count += 1
    return count


@kernel
def turn_paying(buffer: RoundBuffer, paying_count: int, number: int) -> None:
    """Mark the cell that is number `number`, from 0, of those with a paying symbol."""
    seen = 0
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] < paying_count:
            if seen == number:
                buffer.removed[cell] = TURNS
            seen += 1


@kernel
def turn_anywhere(buffer: RoundBuffer, tables: Any, size: int, purpose: int) -> None:
    """Choose `size` of the cells with a paying symbol, in the order of cells; all without a draw where there are no more (MPS-7)."""
    count = count_paying(buffer, tables.paying_count)
    for cell in range(len(buffer.removed)):
        is_taken = count <= size and buffer.symbols[cell] < tables.paying_count
        buffer.removed[cell] = TURNS if is_taken else STAYS
    if count > size:
        choose(buffer.stream, size, count, buffer.pool, purpose)
        for i in range(size):
            turn_paying(buffer, tables.paying_count, buffer.pool[i])


@kernel
def is_diagonal(buffer: RoundBuffer, tables: Any, cell: int, step: int, length: int) -> bool:
    """Return whether `length` cells from `cell` on to the right, one row down or up (`step` 1 or -1) a reel, all hold a paying symbol."""
    rows = len(buffer.symbols) // tables.reel_count
    last_row = cell % rows + step * (length - 1)
    if cell // rows + length > tables.reel_count or last_row < 0 or last_row >= rows:
        return False
    paying = 0
    for i in range(length):
        if buffer.symbols[cell + i * (rows + step)] < tables.paying_count:
            paying += 1
    return paying == length


@kernel
def turn_diagonal(buffer: RoundBuffer, tables: Any, size: int, purpose: int) -> None:
    """Draw one of the diagonal stretches of `size` paying symbols, or of the next shorter length with any; one symbol where there is none.

    Stretches are listed by their leftmost cell, the one that goes down to the right before the one that goes up (MPS-7).
    """
    cell_count = len(buffer.symbols)
    rows = cell_count // tables.reel_count
    for cell in range(cell_count):
        buffer.removed[cell] = STAYS
    for length in range(size, 1, -1):
        count = 0
        for place in range(2 * cell_count):
            if is_diagonal(buffer, tables, place // 2, 1 - 2 * (place % 2), length):
                count += 1
        if count > 0:
            left = below(buffer.stream, count, purpose)
            for place in range(2 * cell_count):
                step = 1 - 2 * (place % 2)
                if is_diagonal(buffer, tables, place // 2, step, length):
                    if left == 0:
                        for i in range(length):
                            buffer.removed[place // 2 + i * (rows + step)] = TURNS
                    left -= 1
            return
    turn_paying(buffer, tables.paying_count, below(buffer.stream, count_paying(buffer, tables.paying_count), purpose))
