"""Ways: a symbol wins on reels that lie side by side from the leftmost, each of its cells on a reel with each on the next."""

from typing import Any

from engines.event_buffer import LEAVES, STAYS, TURNS, RoundBuffer, emit_win
from engines.jit import kernel
from engines.kernels.scatter_pays import pay_of_count
from engines.kernels.win_cap import cut_to_cap

__all__ = ["find_ways", "pay_ways"]


@kernel
def find_ways(buffer: RoundBuffer, tables: Any, symbol: int) -> tuple[int, int, int]:
    """Return how many reels from the left hold `symbol` or a wild, the ways over them, and the number of those cells.

    The cells are left in `buffer.pool`, ascending. Without the symbol or a wild on the first reel all three are 0.
    """
    reach, ways, found = 0, 0, 0
    for reel in range(tables.reel_count):
        first_found = found
        for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
            if buffer.symbols[cell] == symbol or buffer.symbols[cell] == tables.wild:
                buffer.pool[found] = cell
                found += 1
        if found == first_found:
            break
        ways = found - first_found if reel == 0 else ways * (found - first_found)
        reach += 1
    return reach, ways, found


@kernel
def pay_ways(buffer: RoundBuffer, tables: Any, multiplier: int, bet_minor: int, before_minor: int, cap_minor: int) -> tuple[int, int]:
    """Write a `win` for each winning symbol in paytable order (ALL-6) and mark its cells: gold ones turn, the others leave.

    before_minor: what counts towards the cap before these wins; the win that reaches it is the last (ALL-1). Returns the
    sum of the wins in minor units, and what the cap cuts from it, -1 where it is not reached.
    """
    for cell in range(len(buffer.removed)):
        buffer.removed[cell] = STAYS
    won_minor = 0
    for symbol in range(tables.paying_count):
        reach, ways, cell_count = find_ways(buffer, tables, symbol)
        pay_x100 = pay_of_count(tables, symbol, reach)
        if pay_x100 > 0:
            win_minor = pay_x100 * ways * multiplier * bet_minor // 100
            emit_win(buffer, symbol, -1, reach, cell_count, buffer.pool, ways, pay_x100, multiplier, win_minor)
            for i in range(cell_count):
                cell = buffer.pool[i]
                buffer.removed[cell] = TURNS if buffer.marks[cell] == 1 else LEAVES
            left_minor = cut_to_cap(buffer, before_minor + won_minor, win_minor, cap_minor)
            won_minor += win_minor
            if left_minor >= 0:
                return won_minor, win_minor - left_minor
    return won_minor, -1
