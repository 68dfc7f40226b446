"""Pays anywhere: a symbol wins by how many of it are on the board, wherever they lie."""

from typing import Any

from engines.event_buffer import LEAVES, STAYS, RoundBuffer, emit_win
from engines.jit import kernel

__all__ = ["count_symbols", "mark_winners", "pay_of_count"]


@kernel
def count_symbols(buffer: RoundBuffer, symbol_count: int) -> None:
    """Count the cells of each symbol into `buffer.counts`."""
    for symbol in range(symbol_count):
        buffer.counts[symbol] = 0
    for cell in range(len(buffer.symbols)):
        buffer.counts[buffer.symbols[cell]] += 1


@kernel
def pay_of_count(tables: Any, symbol: int, count: int) -> int:
    """Return the pay of `count` of a symbol in hundredths of the bet, 0 below the first pay."""
    steps = len(tables.pay_counts)
    pay = 0
    for step in range(steps):
        if count >= tables.pay_counts[step]:
            pay = tables.pays_x100[symbol * steps + step]
    return pay


@kernel
def mark_winners(buffer: RoundBuffer, tables: Any, bet_minor: int) -> int:
    """Write a `win` for each winning symbol in paytable order (ALL-6), mark its cells as removed, return the sum in minor units."""
    count_symbols(buffer, tables.symbol_count)
    won_minor = 0
    for symbol in range(tables.paying_count):
        count = buffer.counts[symbol]
        if count >= tables.pay_counts[0]:
            pay_x100 = pay_of_count(tables, symbol, count)
            win_minor = pay_x100 * bet_minor // 100
            won_minor += win_minor
            found = 0
            for cell in range(len(buffer.symbols)):
                if buffer.symbols[cell] == symbol:
                    buffer.pool[found] = cell
                    found += 1
            emit_win(buffer, symbol, -1, count, count, buffer.pool, 1, pay_x100, 1, win_minor)
    for cell in range(len(buffer.symbols)):
        symbol = buffer.symbols[cell]
        wins = symbol < tables.paying_count and buffer.counts[symbol] >= tables.pay_counts[0]
        buffer.removed[cell] = LEAVES if wins else STAYS
    return won_minor
