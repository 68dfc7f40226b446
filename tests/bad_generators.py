"""Generators with a fault that a laboratory would try: each gives raw words or draws of a range, as many as are asked for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from audit_reports.randomness.sources import WORD_RANGE, Source

__all__ = ["BAD", "Bad", "good_source"]


class Bad(NamedTuple):
    """A faulty source, how many numbers show it, and one of the tests that must fail."""

    source: Source
    number: int
    test: str


def _good(number: int, n: int, seed: int = 1) -> Any:
    return numpy.random.default_rng(seed).integers(0, n, number, dtype=numpy.int64)


def good_source(n: int, seed: int) -> Source:
    """Return a source of good numbers that is no part of the product."""
    return Source(f"good {n}", n, (), lambda number: _good(number, n, seed))


def _biased_by_remainder(number: int) -> Any:
    return _good(number, 1 << 16) % 1000


def _congruential(number: int, multiplier: int = 1664525, increment: int = 1013904223) -> Any:
    words, state = numpy.zeros(number, dtype=numpy.int64), 12345
    for place in range(number):
        state = (multiplier * state + increment) % WORD_RANGE
        words[place] = state
    return words


def _low_bits(bits: int) -> Callable[[int], Any]:
    return lambda number: _congruential(number) % (1 << bits)


def _randu(number: int) -> Any:
    words, state = numpy.zeros(number, dtype=numpy.int64), 1
    for place in range(number):
        state = state * 65539 % (1 << 31)
        words[place] = state
    return words


def _stuck_bit(number: int) -> Any:
    return _good(number, WORD_RANGE) | (1 << 17)


def _short_period(number: int) -> Any:
    period = _good(number // 4, WORD_RANGE)
    return numpy.tile(period, 5)[:number]


def _short_period_scaled(number: int) -> Any:
    return numpy.tile(_good(number // 4, 120), 5)[:number]


def _repeating(number: int) -> Any:
    draws = _good(number, 60)
    again = numpy.random.default_rng(2).random(number) < 0.02
    for place in numpy.flatnonzero(again[1:]) + 1:
        draws[place] = draws[place - 1]
    return draws


def _avoiding(number: int) -> Any:
    draws = _good(number, 20)
    same = numpy.flatnonzero(draws[1:] == draws[:-1]) + 1
    draws[same] = (draws[same] + 1) % 20
    return draws


def _missing_value(number: int) -> Any:
    draws = _good(number, 120)
    draws[draws == 77] = 76
    return draws


def _coupled(number: int) -> Any:
    draws = _good(number, 120)
    copied = numpy.random.default_rng(3).random(number // 2) < 0.03
    draws[1 : 2 * (number // 2) : 2][copied] = draws[: 2 * (number // 2) : 2][copied]
    return draws


def _float_scaled(number: int) -> Any:
    return (_good(number, 1 << 12) * 1000) >> 12


BAD: dict[str, Bad] = {
    "a 16-bit word modulo 1,000": Bad(Source("modulo", 1000, (), _biased_by_remainder), 1_000_000, "coarse distribution"),
    "three low bits of a congruential generator": Bad(Source("low bits", 8, (), _low_bits(3)), 100_000, "overlaps"),
    "eight low bits of a congruential generator": Bad(Source("low bits", 256, (), _low_bits(8)), 100_000, "duplicates"),
    "raw words of a congruential generator": Bad(Source("congruential", WORD_RANGE, (), _congruential), 100_000, "bits that change"),
    "triples of RANDU": Bad(Source("randu", 1 << 31, (), _randu), 1_000_000, "triples"),
    "a stuck bit": Bad(Source("stuck", WORD_RANGE, (), _stuck_bit), 100_000, "bits"),
    "a period shorter than the sample, raw": Bad(Source("period", WORD_RANGE, (), _short_period), 100_000, "duplicates"),
    "a period shorter than the sample, scaled": Bad(Source("period", 120, (), _short_period_scaled), 100_000, "duplicates"),
    "a draw repeated now and then": Bad(Source("repeating", 60, (), _repeating), 100_000, "serial correlation"),
    "a draw that is never the last one": Bad(Source("avoiding", 20, (), _avoiding), 100_000, "overlaps"),
    "a value that never comes": Bad(Source("missing", 120, (), _missing_value), 100_000, "total distribution"),
    "a reel that now and then copies the one before": Bad(Source("coupled", 120, (), _coupled, 120), 100_000, "interplay"),
    "12-bit words scaled to 1,000": Bad(Source("scaled", 1000, (), _float_scaled), 1_000_000, "total distribution"),
}
