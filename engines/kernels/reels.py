"""Reels: windows of strips, and what falls in from above them.

Cells are numbered reel by reel from the left, top row first. A strip set's strips lie one after the other in
`tables.strips`; `strip_starts` and `strip_lengths` have one entry for each reel of each strip set.
"""

from typing import Any

from engines.event_buffer import RoundBuffer
from engines.jit import kernel

__all__ = ["land_reel", "refill_reels", "room_on_strips"]


@kernel
def land_reel(buffer: RoundBuffer, tables: Any, strip_set: int, reel: int, stop: int) -> None:
    """Show the window of a reel's strip that has `stop` in its top row, cyclic (`rng/1`, item 7)."""
    strip = strip_set * tables.reel_count + reel
    start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
    cell = reel * tables.row_count
    position = stop
    for row in range(tables.row_count):
        buffer.symbols[cell + row] = tables.strips[start + position]
        position += 1
        if position == length:
            position = 0
    buffer.tops[reel] = stop
    buffer.shown[reel] = tables.row_count


@kernel
def room_on_strips(buffer: RoundBuffer, tables: Any, strip_set: int) -> bool:
    """Return whether every reel has positions not yet shown in this spin for all its removed cells (ALL-5)."""
    cell = 0
    for reel in range(tables.reel_count):
        needed = buffer.shown[reel]
        for _ in range(tables.row_count):
            needed += buffer.removed[cell]
            cell += 1
        if needed > tables.strip_lengths[strip_set * tables.reel_count + reel]:
            return False
    return True


@kernel
def refill_reels(buffer: RoundBuffer, tables: Any, strip_set: int) -> None:
    """Let each reel's remaining symbols fall onto its removed cells and fill the top from its strip, going up (ALL-3).

    Removed cells are those with 1 in `buffer.removed`. Symbols and values move together; a cell that is filled from
    the strip has value 0.
    """
    symbols, values, removed = buffer.symbols, buffer.values, buffer.removed
    for reel in range(tables.reel_count):
        first = reel * tables.row_count
        write = first + tables.row_count - 1
        for cell in range(first + tables.row_count - 1, first - 1, -1):
            if removed[cell] == 0:
                symbols[write] = symbols[cell]
                values[write] = values[cell]
                write -= 1
        strip = strip_set * tables.reel_count + reel
        start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
        position = buffer.tops[reel]
        for cell in range(write, first - 1, -1):
            position = length - 1 if position == 0 else position - 1
            symbols[cell] = tables.strips[start + position]
            values[cell] = 0
            buffer.shown[reel] += 1
        buffer.tops[reel] = position
