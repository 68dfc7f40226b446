"""Reels: windows of strips, and what falls in from above them.

Cells are numbered reel by reel from the left, top row first: `tables.cell_starts` has the first cell of each reel, and the
end. A strip set's strips lie one after the other in `tables.strips`; `strip_starts` and `strip_lengths` have one entry for
each reel of each strip set.
"""

from typing import Any

from engines.event_buffer import LEAVES, RoundBuffer
from engines.jit import kernel

__all__ = ["land_reel", "refill_reels", "room_on_strips"]


@kernel
def land_reel(buffer: RoundBuffer, tables: Any, strip_set: int, reel: int, stop: int) -> None:
    """Show the window of a reel's strip that has `stop` in its top row, cyclic (`rng/1`, item 7)."""
    strip = strip_set * tables.reel_count + reel
    start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
    position = stop
    for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
        buffer.symbols[cell] = tables.strips[start + position]
        position += 1
        if position == length:
            position = 0
    buffer.tops[reel] = stop
    buffer.shown[reel] = tables.cell_starts[reel + 1] - tables.cell_starts[reel]


@kernel
def room_on_strips(buffer: RoundBuffer, tables: Any, strip_set: int) -> bool:
    """Return whether every reel has positions not yet shown in this spin for all its cells that leave (ALL-5)."""
    for reel in range(tables.reel_count):
        needed = buffer.shown[reel]
        for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
            if buffer.removed[cell] == LEAVES:
                needed += 1
        if needed > tables.strip_lengths[strip_set * tables.reel_count + reel]:
            return False
    return True


@kernel
def refill_reels(buffer: RoundBuffer, tables: Any, strip_set: int) -> None:
    """Let what stays on each reel fall onto its cells that leave and fill the top from its strip, going up (ALL-3).

    Symbols, values and marks move together; a cell that is filled from the strip has value and mark 0.
    """
    symbols, values, marks, removed = buffer.symbols, buffer.values, buffer.marks, buffer.removed
    for reel in range(tables.reel_count):
        first, end = tables.cell_starts[reel], tables.cell_starts[reel + 1]
        write = end - 1
        for cell in range(end - 1, first - 1, -1):
            if removed[cell] != LEAVES:
                symbols[write] = symbols[cell]
                values[write] = values[cell]
                marks[write] = marks[cell]
                write -= 1
        strip = strip_set * tables.reel_count + reel
        start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
        position = buffer.tops[reel]
        for cell in range(write, first - 1, -1):
            position = length - 1 if position == 0 else position - 1
            symbols[cell] = tables.strips[start + position]
            values[cell] = 0
            marks[cell] = 0
            buffer.shown[reel] += 1
        buffer.tops[reel] = position
