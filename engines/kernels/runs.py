"""Runs: unbroken stretches of one symbol, or of one group of symbols, and wilds along rows and reels; and the fall without refill.

A line is a row or a reel: `tables.line_cells` has the cells of each, `tables.line_starts` where each begins there, and the
end. `tables.groups` has a number for each symbol: symbols of one number make runs together; the wild and the blank have
their own. A place below is a place in `line_cells`.
"""

from typing import Any

from engines.event_buffer import HIGHLIGHTED, LEAVES, STAYS, TURNS, WON_ON, RoundBuffer
from engines.jit import kernel

__all__ = ["POWER_WILD", "fall", "mark_runs", "next_run", "symbol_of_run"]

POWER_WILD = 2  # the mark of a wild that no win removes


@kernel
def next_run(buffer: RoundBuffer, tables: Any, groups: list[int], place: int, end: int) -> tuple[int, int, int, int]:
    """Return the next winning run of a line from `place` on: its first place, its length, its group, and where to look on from.

    end: where the line ends. The group is the wild's for a run of wilds alone; the length is 0 where there is none. A run
    is as long as it can be and holds one of its group; wilds between two runs belong to both. Wilds alone are a run where
    no paying symbol is next to them, and win only if one of them is no Power Wild (MPS-3, MPS-6).
    """
    wild, blank = tables.wild, tables.blank
    group, start, loose = wild, place, place  # loose: the first of the wilds right before `at`
    for at in range(place, end + 1):
        here = blank if at == end else groups[buffer.symbols[tables.line_cells[at]]]
        if here == wild:
            continue
        if here != group:
            following = at + 1 if here == blank else loose
            if at - start >= tables.run_min and (group != wild or (here == blank and holds_wild(buffer, tables, start, at))):
                return start, at - start, group, following
            start = following
            group = wild if here == blank else here
        loose = at + 1
    return end, 0, blank, end


@kernel
def holds_wild(buffer: RoundBuffer, tables: Any, start: int, end: int) -> bool:
    """Return whether one of the wilds on these places is no Power Wild."""
    lasting = 0
    for at in range(start, end):
        if buffer.marks[tables.line_cells[at]] == POWER_WILD:
            lasting += 1
    return lasting < end - start


@kernel
def symbol_of_run(buffer: RoundBuffer, tables: Any, start: int, count: int, group: int) -> int:
    """Return the symbol that a run is paid as: that of its cells, or its group's where two of the group are in it."""
    symbol = group
    for at in range(start, start + count):
        here = buffer.symbols[tables.line_cells[at]]
        if here != tables.wild and here != symbol:
            if symbol != group:
                return group
            symbol = here
    return symbol


@kernel
def mark_runs(buffer: RoundBuffer, tables: Any) -> tuple[int, int, int]:
    """Mark the cells of all winning runs: those that leave or turn, and the highlighted ones as won on.

    The middle of a run of `tables.wild_left_count` turns, whatever other runs it is in, but for runs of wilds alone; Power
    Wilds stay (MPS-6). Returns the number of runs, the highlighted cells won on for the first time, and all of them won on,
    a cell in two runs counted twice there.
    """
    removed, highlights = buffer.removed, buffer.highlights
    for cell in range(len(removed)):
        removed[cell] = STAYS
    run_count, new_count, lit_count = 0, 0, 0
    for line in range(len(tables.line_starts) - 1):
        place, end = tables.line_starts[line], tables.line_starts[line + 1]
        while end - place >= tables.run_min:
            start, count, group, place = next_run(buffer, tables, tables.groups, place, end)
            if count == 0:
                break
            run_count += 1
            middle = start + count // 2 if count == tables.wild_left_count and group != tables.wild else -1
            for at in range(start, start + count):
                cell = tables.line_cells[at]
                if highlights[cell] != 0:
                    lit_count += 1
                    if highlights[cell] == HIGHLIGHTED:
                        new_count += 1
                        highlights[cell] = WON_ON
                if buffer.marks[cell] != POWER_WILD:
                    if at == middle:
                        removed[cell] = TURNS
                    elif removed[cell] == STAYS:
                        removed[cell] = LEAVES
    return run_count, new_count, lit_count


@kernel
def fall(buffer: RoundBuffer, tables: Any) -> None:
    """Turn to wilds the cells that turn, then let what is left on each reel fall onto those that leave; blanks are left on top."""
    symbols, marks, removed = buffer.symbols, buffer.marks, buffer.removed
    for reel in range(tables.reel_count):
        first, end = tables.cell_starts[reel], tables.cell_starts[reel + 1]
        write = end - 1
        for cell in range(end - 1, first - 1, -1):
            if removed[cell] != LEAVES:
                symbols[write] = tables.wild if removed[cell] == TURNS else symbols[cell]
                marks[write] = marks[cell]
                write -= 1
        for cell in range(write, first - 1, -1):
            symbols[cell] = tables.blank
            marks[cell] = 0
