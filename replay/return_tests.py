"""Whether sums of wins are what a game is certified to return: anytime-valid tests of cut wins and of counts of large ones.

Each test bounds how far a sum of bounded, independent amounts can stray from its mean: Bennett's inequality, which holds for any
number of rounds and any skewness, in its maximal form, so that it holds at all moments up to a variance. Variances are taken in
stretches, each a fifth longer than the one before, and the chances of all stretches add up (as 1, 1/4, 1/9, … of 6/pi^2): so whoever
looks as often as he likes is told a fault that is none no more often than whoever looks once.
"""

from collections.abc import Iterator
from math import exp, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

from replay.return_sums import LIMITS, TAILS, ReturnSums
from replay.theory import CertifiedReturns, WinLaw, win_law

__all__ = ["ROUNDS_MAX", "TESTS_PER_SLICE", "ReturnLaws", "Strayed", "bennett", "laws_of", "rounds_needed", "rounds_to_see", "strayed"]

STRETCH = 1.2
TESTS_PER_SLICE = 2 * (len(LIMITS) + len(TAILS))
THEORY_ERRORS = 4.0  # standard errors of the simulated mean that are given to the ledger
ROUNDS_MAX = 10**12
POWER = 0.9  # how often a fault is told after the number of rounds that is stated


class ReturnLaws(NamedTuple):
    """The laws of a mode's win, one for each choice that a player has: whole, cut at each of LIMITS, and of TAILS for their shares.

    What a player chooses is not known of a round that never asked. So a mean is held against the least and the greatest of the
    choices, a variance against the greatest: that holds whatever players choose, and when.
    """

    whole: tuple[WinLaw, ...]
    cut: tuple[tuple[WinLaw, ...], ...]
    tails: tuple[tuple[WinLaw, ...], ...]
    cost_bets: float
    returns: tuple[float, ...]


class Strayed(NamedTuple):
    """One test of one slice: what it is of, whether it is too much or too little, what is due and what was seen, the p-value."""

    what: str
    is_high: bool
    due: float
    seen: float
    p_value: float


def laws_of(returns: CertifiedReturns, mode: str) -> ReturnLaws | None:
    """Return the laws of a certified mode, None where nothing is certified of it."""
    choices = [each for each in returns.configurations if each.mode == mode]
    if not choices:
        return None
    whole = tuple(win_law(returns, each, 0) for each in choices)
    cost = choices[0].cost_minor / returns.bet_minor
    exact = [each.return_exact.partition("/") for each in choices]
    seen = tuple(int(p) / int(q) if p else law.mean / cost for (p, _, q), law in zip(exact, whole, strict=True))
    cut, tails = (tuple(tuple(win_law(returns, each, limit) for each in choices) for limit in limits) for limits in (LIMITS, TAILS))
    return ReturnLaws(whole, cut, tails, cost, seen)


def bennett(excess: float, variance: float, most: float) -> float:
    """Return a bound of the chance that a sum exceeds its mean by `excess` at any moment up to a variance.

    most: how far an amount can lie above its mean.
    """
    if excess <= 0 or variance <= 0:
        return 1.0
    ratio = most * excess / variance
    shape = 0.5 * ratio * ratio if ratio < 1e-6 else (1 + ratio) * log1p(ratio) - ratio
    return exp(-min(variance / (most * most) * shape, 700.0))


def _anytime(excess: float, variance: float, most: float, first_variance: float) -> float:
    """Return a p-value that holds at all moments: the bound at the end of the variance's stretch, divided by the stretch's share."""
    stretch = max(0, -int(-log(max(variance / first_variance, 1.0)) // log(STRETCH)))
    at_end = first_variance * STRETCH**stretch
    return min(1.0, bennett(excess, at_end, most) * pi * pi / 6 * (stretch + 1) ** 2)


def _stake_share(sums: ReturnSums, unit: int) -> tuple[float, float]:
    """Return the highest stake up to a power of two times the unit, in units, and by how much p-values grow for its being chosen later."""
    doublings = max(0, (sums.bet_max - 1) // unit).bit_length()
    return float(1 << doublings), pi * pi / 6 * (doublings + 1) ** 2 if doublings else 1.0


def strayed(laws: ReturnLaws, sums: ReturnSums, unit: int) -> Iterator[Strayed]:
    """Yield every test of a slice.

    unit: the stake in whose terms others are taken, fixed before any round: the slice's own, or the lowest of the game.
    """
    weight, weight_squared = sums.bet / unit, sums.bet_squared / unit / unit
    most_bet, grown = _stake_share(sums, unit)
    for of_choices, total in zip(laws.cut, sums.cut, strict=True):
        variance = max(law.variance for law in of_choices)
        error = THEORY_ERRORS * sqrt(variance / of_choices[0].rounds) * weight
        seen = total / sums.bet if sums.bet else 0.0
        for is_high in (True, False):
            law = _bound(of_choices, is_high=is_high, by="mean")
            excess = (total / unit - law.mean * weight) * (1 if is_high else -1) - error
            # How far a win can lie from its own mean, which is that of some choice.
            most = (law.limit - min(each.mean for each in of_choices) if is_high else max(each.mean for each in of_choices)) * most_bet
            p = _anytime(excess, variance * weight_squared, most, variance) * grown
            yield Strayed(f"wins cut at {law.limit} bets, mean in bets", is_high, law.mean, seen, min(p, 1.0))
    for of_choices, count in zip(laws.tails, sums.tails, strict=True):
        seen = count / sums.rounds if sums.rounds else 0.0
        for is_high in (True, False):
            law = _bound(of_choices, is_high=is_high, by="tail")
            share = max(law.tail, 1 / law.rounds)  # what was never simulated may still come
            if share == 1 or (law.tail == 0 and not is_high):
                continue
            error = THEORY_ERRORS * sqrt(share / law.rounds) * sums.rounds
            excess = (count - share * sums.rounds) * (1 if is_high else -1) - error
            variance = share * (1 - share)
            p = _anytime(excess, variance * sums.rounds, 1.0 if is_high else max(share, *(each.tail for each in of_choices)), variance)
            yield Strayed(f"rounds that win {law.limit} bets or more, share", is_high, law.tail, seen, p)


def _bound(laws: tuple[WinLaw, ...], *, is_high: bool, by: str) -> WinLaw:
    """Return the law of the choice with the greatest mean or tail, or with the least."""
    return (max if is_high else min)(laws, key=lambda law: law.mean if by == "mean" else law.tail)


def rounds_needed(law: WinLaw, shift: float, level: float, *, power: float = POWER) -> int:
    """Return after how many rounds of one stake a cut mean that is off by `shift` bets is told at `level`, this often.

    ROUNDS_MAX where so small a shift is hidden by what is not known of the law itself.
    """
    reach = NormalDist().inv_cdf(power) * sqrt(law.variance)
    most = (law.limit - law.mean) if shift > 0 else law.mean
    size = abs(shift) - THEORY_ERRORS * sqrt(law.variance / law.rounds)
    if size <= 0 or most <= 0 or law.variance <= 0:
        return ROUNDS_MAX
    low, high = 1, ROUNDS_MAX
    while low < high:
        middle = (low + high) // 2
        if _anytime(size * middle - reach * sqrt(middle), law.variance * middle, most, law.variance) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def rounds_to_see(laws: ReturnLaws, factor: float, level: float) -> int:
    """Return after how many rounds of one stake it is told that all wins are paid `factor` times, nine times in ten."""
    return min(max(rounds_needed(law, (factor - 1) * law.growing, level) for law in of_choices) for of_choices in laws.cut)
