"""Lines: runs of one symbol and wilds from the first reel, along fixed lines."""

from typing import Any

from engines.event_buffer import RoundBuffer
from engines.jit import kernel

__all__ = ["line_run"]


@kernel
def line_run(buffer: RoundBuffer, tables: Any, line: int) -> int:
    """Return how many cells from the first reel on hold the first one's symbol or a wild along a line, 0 where it is no paying symbol.

    The cells of the run are written to the front of `buffer.pool`, ascending.
    """
    first = line * tables.reel_count
    symbol = buffer.symbols[tables.line_cells[first]]
    if symbol >= tables.paying_count:
        return 0
    count = 0
    for reel in range(tables.reel_count):
        cell = tables.line_cells[first + reel]
        if buffer.symbols[cell] != symbol and buffer.symbols[cell] != tables.wild:
            break
        buffer.pool[count] = cell
        count += 1
    return count
