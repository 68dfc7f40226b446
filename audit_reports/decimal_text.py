"""Figures of a pack as decimal text: from fractions, rounded once, the same on every machine."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

__all__ = ["Z", "Interval", "decimal_text", "fraction_text", "mean_interval", "share_interval", "square_root"]

DIGITS = 8
_ROOT_SCALE = 10**30
_CONTEXT = Context(prec=400)
# Quantiles of the standard normal distribution for a two-sided interval, by its confidence in percent.
Z = {90: Fraction("1.644853627"), 95: Fraction("1.959963985"), 99: Fraction("2.575829304")}


class Interval(NamedTuple):
    """Where a figure lies: what was seen, and the ends."""

    seen: Fraction
    low: Fraction
    high: Fraction

    def holds(self, value: Fraction) -> bool:
        """Return whether a value lies in it."""
        return self.low <= value <= self.high


def decimal_text(value: Fraction, digits: int = DIGITS) -> str:
    """Return a fraction as decimal text with so many digits after the point, half to even."""
    quotient = _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(quotient.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN, context=_CONTEXT), "f")
    return text.removeprefix("-") if set(text) <= set("-0.") else text


def fraction_text(value: Fraction) -> str:
    """Return a fraction as `p/q`."""
    return f"{value.numerator}/{value.denominator}"


def square_root(value: Fraction) -> Fraction:
    """Return the root of a fraction that is not below 0, to 30 digits after the point, rounded down."""
    return Fraction(isqrt(value.numerator * _ROOT_SCALE**2 // value.denominator), _ROOT_SCALE)


def mean_interval(count: int, total: int, squares: int, z: Fraction) -> Interval:
    """Return the mean of `count` integers of this sum and sum of squares, with its normal interval; count is 1 at least."""
    mean = Fraction(total, count)
    reach = z * square_root(max(Fraction(squares, count) - mean * mean, Fraction(0)) / count)
    return Interval(mean, mean - reach, mean + reach)


def share_interval(count: int, seen: int, z: Fraction) -> Interval:
    """Return the share of `seen` in `count`, with Wilson's interval, which holds for rare and for certain things as well."""
    share = Fraction(seen, count)
    spread = z * square_root(share * (1 - share) / count + z * z / (4 * count * count))
    centre, scale = share + z * z / (2 * count), 1 + z * z / count
    low = (centre - spread) / scale if seen else Fraction(0)
    return Interval(share, low, (centre + spread) / scale if seen < count else Fraction(1))
