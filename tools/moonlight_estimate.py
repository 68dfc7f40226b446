"""The stratified estimate of Moonlight Princess's returns, from the sums of `moonlight_spins` and exact first boards.

docs/calibration.md says why it is unbiased. Floats: this is calibration, no money is counted here.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from engines.games.moonlight_princess.exact import board_odds, fall_pays, fall_trigger_odds, pay_x100
from engines.games.moonlight_princess.rules import Rules
from tools.moonlight_spins import (
    AGAIN,
    BARE,
    BOUGHT,
    CAP_STEP,
    FALL_BARE,
    FALL_TRIGGERS,
    FEATURE,
    FEATURE_CAPPED,
    FEATURE_SURPLUS,
    FEATURE_SURPLUS_BELOW,
    FEATURE_WIN,
    FEATURES,
    FIRST_BARE,
    HEART_DRAWS,
    HEARTED,
    HITS,
    LIMITS,
    PAY,
    SPINS,
    SURPLUS,
    TIMES,
    TRIGGERS,
    WINNING,
    WINNING_AGAIN,
    Stratum,
    bought_stratum,
    scatter_strata,
)

Floats = NDArray[numpy.float64]
CONFIDENCE = 0.99
CONTROL_CHUNKS_MIN = 40  # below, the slopes of ten control variates would be fitted to noise
REACH = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Measured(NamedTuple):
    """A stratum's sums as one row for each chunk: means of a spin, of a feature from FEATURES on, freed of what is known exactly."""

    stratum: Stratum
    rows: Floats
    slope_count: int  # fitted to the rows
    spin_count: int
    feature_count: int


class Estimate(NamedTuple):
    """A value with its 99% interval."""

    value: float
    low: float
    high: float


class Sample(NamedTuple):
    """All strata of one sample of one version of the rules."""

    rules: Rules
    strata: tuple[Measured, ...]


def strata_of(rules: Rules) -> list[Stratum]:
    """Return all strata: the set that cannot trigger, the other by its scatters, bought first boards, features."""
    dull = next(part.name for part in rules.strip_sets if part.name not in (rules.buy.strip_set, rules.free_spins_strip_set))
    free = Stratum(FEATURE, rules.strip_set_index(rules.free_spins_strip_set), is_feature=True)
    return [Stratum(dull, rules.strip_set_index(dull)), *scatter_strata(rules), bought_stratum(rules), free]


Falls = Mapping[tuple[int, int], Fraction]


def first_board_means(rules: Rules, stratum: Stratum, falls: Falls) -> list[Fraction]:
    """Return the exact means of the sums FIRST_BARE to FALL_TRIGGERS over a stratum's spins; falls: `fall_pays` of its strip set."""
    scatter, heart = (next(i for i, symbol in enumerate(rules.symbols) if symbol.role == role) for role in ("scatter", "heart"))
    counts = {len(chosen) for chosen in stratum.reel_sets} or set(range(rules.layout.reels + 1))
    means = [Fraction(0)] * (FALL_TRIGGERS + 1 - FIRST_BARE)

    def add(first: int, hearts: int, win: Fraction) -> None:
        means[first + (1 if hearts else 0)] += win
        means[first + 2] += win * hearts

    for (hearts, scatters), odds in board_odds(rules, stratum.strip_set, [heart, scatter]).items():
        if scatters in counts:
            triggers = [scatters >= rules.retrigger.count, scatters >= rules.trigger.count]
            for place, value in enumerate([hearts, *triggers], start=3):
                means[place] += odds * value
    for symbol in range(sum(each.role == "paying" for each in rules.symbols)):
        for (count, hearts, scatters), odds in board_odds(rules, stratum.strip_set, [symbol, heart, scatter]).items():
            if scatters in counts:
                add(0, hearts, odds * pay_x100(rules, symbol, count) * rules.bet.coins / 100)
        means[-1] += sum(odds for scatters, odds in enumerate(fall_trigger_odds(rules, stratum.strip_set, symbol)) if scatters in counts)
    for (scatters, hearts), pay in falls.items():
        if scatters in counts:
            add(FALL_BARE - FIRST_BARE, hearts, pay * rules.bet.coins)
    return [mean / stratum.odds for mean in means]


def exact_means(rules: Rules, strata: Sequence[Stratum]) -> dict[str, list[Fraction]]:
    """Return `first_board_means` of each stratum by name; bought first boards, drawn by a law of their own, have none."""
    falls: dict[int, Falls] = {place: fall_pays(rules, place) for place in {part.strip_set for part in strata}}
    return {part.name: first_board_means(rules, part, falls[part.strip_set]) for part in strata if part.name != BOUGHT}


def measured(stratum: Stratum, chunks: Sequence[Sequence[int]], exact: Sequence[Fraction] | None) -> Measured:
    """Return the chunks of a stratum as rows whose means estimate its means, what is exact of them as control variates.

    Raises ValueError where a technical limit ended a spin: the estimate knows none.
    """
    sums = numpy.array(chunks, dtype=numpy.float64)
    if sums[:, LIMITS].any():
        raise ValueError(f"stratum {stratum.name}: want no spin that a limit of the rules ends, got {int(sums[:, LIMITS].sum())}")
    # A feature's number of spins is a stopping time: sums over its spins have the mean of a spin times that of the number,
    # so a spin's means are ratios, here as their linear part.
    spins = sums[:, SPINS]
    ratios = sums.sum(axis=0) / spins.sum()
    rows = ratios + (sums - numpy.outer(spins, ratios)) / spins.mean()
    if stratum.is_feature:
        rows[:, FEATURES:] = sums[:, FEATURES:] / sums[:, FEATURES : FEATURES + 1]
    slope_count = 0
    if exact is not None and len(rows) >= CONTROL_CHUNKS_MIN:
        slope_count = len(exact)
        controls = rows[:, FIRST_BARE : FALL_TRIGGERS + 1] - numpy.array([float(mean) for mean in exact])
        centred = controls - controls.mean(axis=0)
        slopes = numpy.linalg.pinv(centred) @ (rows - rows.mean(axis=0))
        rows = rows - controls @ slopes
    return Measured(stratum, rows, slope_count, int(spins.sum()), int(sums[:, FEATURES].sum()))


def estimate(sample: Sample, value: Callable[[Mapping[str, Floats]], float]) -> Estimate:
    """Return a smooth function of the strata's means with its interval, by the delta method stratum by stratum."""
    means = {part.stratum.name: part.rows.mean(axis=0) for part in sample.strata}
    variance = 0.0
    for part in sample.strata:
        name, centre = part.stratum.name, means[part.stratum.name]
        gradient = numpy.zeros_like(centre)
        for place in range(len(centre)):
            step = numpy.zeros_like(centre)
            step[place] = 1e-4 * (abs(centre[place]) + 1e-6)
            above, below = value({**means, name: centre + step}), value({**means, name: centre - step})
            gradient[place] = (above - below) / (2 * step[place])
        variance += float(numpy.var(part.rows @ gradient, ddof=1 + part.slope_count)) / len(part.rows)
    centre_value = value(means)
    return Estimate(centre_value, centre_value - REACH * variance**0.5, centre_value + REACH * variance**0.5)


def heart_mean(rules: Rules, strip_set: str) -> float:
    """Return the mean heart on a strip set."""
    weights = next(table.weights for table in rules.heart_weights if table.strip_set == strip_set)
    return sum(value * weight for value, weight in zip(rules.heart_values.values, weights, strict=True)) / sum(weights)


def spin_value(rules: Rules, mean: Floats, hearts: float) -> float:
    """Return what a paid spin awards in bets, its feature apart, with hearts of mean `hearts`."""
    return float(mean[BARE] + hearts * mean[TIMES] + mean[PAY] - mean[SURPLUS] / HEART_DRAWS) / rules.bet.coins


def feature_value(rules: Rules, mean: Floats, hearts: float) -> float:
    """Return what a feature awards in bets without a cap, hearts replaced by their mean.

    With s spins left and a total multiplier M it is u(s) + v(s) M, v(s) = c s and u(s) = a s + b s^2: the recursion over
    one spin, which pays, raises M by its hearts and adds spins by its scatters, fixes a, b and c.
    """
    again, added = mean[AGAIN], rules.retrigger.spins
    each = mean[BARE] + hearts * mean[TIMES] + mean[PAY]
    still = 1 - added * again  # a spin uses up so many on average
    c = mean[HEARTED] / still
    b = hearts * c * mean[WINNING] / (2 * still)
    raised = hearts * c * (added * mean[WINNING_AGAIN] - mean[WINNING])
    a = (each + raised + b * (1 + (added * added - 2 * added) * again)) / still
    spins = rules.trigger.spins
    return float(a * spins + b * spins * spins) / rules.bet.coins


def feature_surplus(rules: Rules, mean: Floats, before: float) -> float:
    """Return what the cap takes from a feature in bets, where the paid spin awarded `before` bets."""
    slope = (mean[FEATURE_SURPLUS_BELOW] - mean[FEATURE_SURPLUS]) / CAP_STEP
    return float(mean[FEATURE_SURPLUS] + slope * before) / HEART_DRAWS / rules.bet.coins


class Values(NamedTuple):
    """The parts of the return in bets, as functions of the strata's means and the mean heart on each strip set."""

    rules: Rules
    hearts: Mapping[str, float]  # for each strip set by name

    def set_means(self, means: Mapping[str, Floats], name: str) -> Floats:
        """Return the means of a spin on a strip set of the base game."""
        parts = [each for each in strata_of(self.rules)[:-2] if each.name.split("-")[0] == name]
        return numpy.sum([float(part.odds) * means[part.name] for part in parts], axis=0)

    def alone(self, means: Mapping[str, Floats], name: str) -> float:
        """Return what a base spin on a strip set awards without its feature."""
        return spin_value(self.rules, self.set_means(means, name), self.hearts[name])

    def bought_spin(self, means: Mapping[str, Floats]) -> float:
        """Return what the first spin of a bought round awards."""
        return spin_value(self.rules, means[BOUGHT], self.hearts[self.rules.buy.strip_set])

    def feature(self, means: Mapping[str, Floats]) -> float:
        """Return what a feature awards, the cap counted."""
        hearts = self.hearts[self.rules.free_spins_strip_set]
        return feature_value(self.rules, means[FEATURE], hearts) - feature_surplus(self.rules, means[FEATURE], self.bought_spin(means))

    def trigger_odds(self, means: Mapping[str, Floats], mode: str) -> float:
        """Return the odds that a paid spin wins its feature."""
        return 1.0 if mode == "buy" else self.average(means, mode, lambda name: float(self.set_means(means, name)[TRIGGERS]))

    def hit_odds(self, means: Mapping[str, Floats], mode: str) -> float:
        """Return the odds that a paid spin awards anything."""
        return 1.0 if mode == "buy" else self.average(means, mode, lambda name: float(self.set_means(means, name)[HITS]))

    def average(self, means: Mapping[str, Floats], mode: str, value: Callable[[str], float]) -> float:
        """Return the mean of a value of the strip sets by a mode's strip set weights."""
        del means
        weights = next(choice.weights for choice in self.rules.strip_choices if choice.mode == mode)
        named = zip(self.rules.strip_sets, weights, strict=True)
        return sum(weight * value(part.name) for part, weight in named if weight) / sum(weights)

    def mode_return(self, means: Mapping[str, Floats], mode: str) -> float:
        """Return the RTP of a mode, as a fraction of its cost."""
        paid = self.bought_spin(means) if mode == "buy" else self.average(means, mode, lambda name: self.alone(means, name))
        cost = next(each.cost_x100 for each in self.rules.modes if each.name == mode) / 100
        return (paid + self.trigger_odds(means, mode) * self.feature(means)) / cost


def values_of(rules: Rules) -> Values:
    """Return the parts of the return under the heart tables of `rules`."""
    return Values(rules, {part.name: heart_mean(rules, part.name) for part in rules.strip_sets})


def direct_feature(sample: Sample) -> Estimate:
    """Return what a feature awards without a cap as its plain mean with drawn hearts: an unbiased second opinion, less sharp."""
    return estimate(sample, lambda means: float(means[FEATURE][FEATURE_WIN]) / HEART_DRAWS / sample.rules.bet.coins)


def capped_odds(sample: Sample) -> Estimate:
    """Return the odds that a feature reaches the cap."""
    return estimate(sample, lambda means: float(means[FEATURE][FEATURE_CAPPED]) / HEART_DRAWS)
