"""A symbol's pays in words: how many of it pay what, in multiples of the bet."""

from typing import Any

__all__ = ["pays_text", "times"]


def times(x100: int) -> str:
    """Return hundredths of the bet as a multiple of it."""
    return f"{x100 // 100}.{x100 % 100:02d}x"


def pays_text(rules: Any, number: int) -> str:
    """Return what a symbol of the rules pays, by count; empty where it pays nothing. A scatter's pays are listed from a count of 0."""
    symbol = rules.symbols[number]
    pays = rules.pays_x100_of(number) or symbol.pays_x100
    counts = range(len(pays)) if symbol.role == "scatter" else rules.pay_counts.counts
    return ", ".join(f"{count}: {times(pay)}" for count, pay in zip(counts, pays, strict=True) if pay) if pays else ""
