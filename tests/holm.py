"""Many comparisons of exact with simulated values as one test: Holm's step-down procedure, and the p-values it takes.

Each part gives a two-sided p-value; all parts together are rejected wrongly with a chance of at most `level`, however
many there are and however they depend on each other.
"""

from collections.abc import Mapping
from math import erfc, exp, lgamma, log, log1p, sqrt

__all__ = ["binomial_p", "holm", "normal_p"]

EXACT_COUNT_MAX = 2000  # above so many expected on either side the normal law serves


def normal_p(found: float, wanted: float, deviation: float) -> float:
    """Return how likely a normal value of mean `wanted` and standard deviation `deviation` lies as far off as `found`."""
    if deviation == 0:
        return 1.0 if found == wanted else 0.0
    return erfc(abs(found - wanted) / deviation / sqrt(2))


def _binomial_odds(count: int, trials: int, odds: float) -> float:
    ways = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
    return exp(ways + count * log(odds) + (trials - count) * log1p(-odds))


def binomial_p(count: int, trials: int, odds: float) -> float:
    """Return how likely `trials` draws of chance `odds` give as unlikely a count: twice the smaller tail, exact where counts are small."""
    if odds in (0, 1):
        return 1.0 if count == trials * odds else 0.0
    if odds > 0.5:
        return binomial_p(trials - count, trials, 1 - odds)
    if trials * odds > EXACT_COUNT_MAX:
        return normal_p(count, trials * odds, sqrt(trials * odds * (1 - odds)))
    below = sum(_binomial_odds(each, trials, odds) for each in range(count + 1))
    above = 1 - below + _binomial_odds(count, trials, odds)
    return min(1.0, 2 * min(below, above))


def holm(p_values: Mapping[str, float], level: float = 0.01) -> list[str]:
    """Return the parts that are rejected at `level` jointly, most unlikely first; none where all agree."""
    rejected: list[str] = []
    for name, p_value in sorted(p_values.items(), key=lambda item: item[1]):
        if p_value > level / (len(p_values) - len(rejected)):
            break
        rejected.append(name)
    return rejected
