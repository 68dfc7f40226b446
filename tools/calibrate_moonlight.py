"""Make strips and heart tables for Moonlight Princess that reach its targets, and print them as TOML.

Strips come from symbol counts and block lengths by `random.Random`; of several shuffles the one is kept whose heart
table needs the least change. A win is linear in the hearts' mean value, so two measurements, with every heart at 2x
and at 3x, give the mean that reaches a target, and the weight of the 2x heart sets it. Every number that is printed
comes from integers alone: the same options give the same tables. Progress goes to stderr.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from engines.games.moonlight_princess.rules import Rules
from engines.registry import installed_rules
from engines.simulate import SUM_NAMES, Sums, estimate_return, simulate

GAME = "moonlight-princess"
STRIP_LENGTH = 120
SCATTER_LETTER, HEART_LETTER = "P", "H"
SCATTER_DISTANCE = 15  # positions between two scatters of a strip, at least
CHOICE_TOTAL = 10000  # sum of a mode's strip set weights
HEART_TOTAL = 10000  # sum of the tables that give every heart one value

BASE_ALONE = Fraction(735, 1000)  # bets that the base game is worth on either of its strip sets, scatter pay included
BOUGHT_ROUND = Fraction(98)  # bets that a bought round is worth
ROUNDS_PER_TRIGGER = 384
HIT_LOW, HIT_HIGH = Fraction(27, 100), Fraction(34, 100)
BUY_WEIGHTS = (940, 57, 3)

# Weights of the hearts from 2x to 500x that the tuning starts from.
HEART_SHAPE = (5489, 3000, 1500, 900, 500, 250, 150, 100, 60, 40, 25, 10, 4, 1, 1)


class StripPlan(NamedTuple):
    """What the strips of a set are made of."""

    name: str
    symbol_weights: tuple[int, ...]  # shares of the paying symbols, in paytable order
    block_lengths: tuple[int, ...]  # on each strip a symbol lies in blocks of 1 to so many
    scatter_counts: tuple[int, ...]  # on each strip
    heart_counts: tuple[int, ...]  # on each strip


PLANS = (
    StripPlan("A", (100, 112, 124, 139, 155, 173, 193, 215, 240), (2,) * 6, (1, 0, 1, 0, 1, 0), (1, 1, 1, 1, 0, 1)),
    StripPlan("B", (100, 113, 128, 145, 164, 186, 211, 238, 270), (2,) * 6, (4, 3, 4, 3, 4, 3), (1, 1, 1, 1, 1, 1)),
    StripPlan("free", (100, 113, 128, 145, 164, 186, 211, 238, 270), (3, 4, 3, 3, 4, 3), (1, 1, 1, 1, 1, 1), (2, 1, 1, 1, 1, 2)),
)


class Candidate(NamedTuple):
    """One shuffle of a set's strips, measured."""

    number: int
    strips: tuple[str, ...]
    heart_mean: Fraction  # that reaches the target on these strips
    slope: Fraction  # bets that one more in the hearts' mean adds
    hit_share: Fraction  # of rounds whose paid spin is on this set


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole shares of `total` in proportion to `weights`, by the largest remainders, the first of equals first."""
    shares = [total * weight // sum(weights) for weight in weights]
    remainders = [total * weight % sum(weights) for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: -remainders[i])
    for i in order[: total - sum(shares)]:
        shares[i] += 1
    return shares


def cut_blocks(draw: random.Random, letter: str, count: int, length_max: int) -> list[str]:
    """Return `count` letters cut into blocks of 1 to `length_max`."""
    blocks = []
    while count > 0:
        length = min(count, draw.randrange(1, length_max + 1))
        blocks.append(letter * length)
        count -= length
    return blocks


def part_equal_blocks(draw: random.Random, blocks: list[str]) -> None:
    """Swap blocks until no two of one letter are neighbours, the ends counted as neighbours."""
    while True:
        equal = [i for i in range(len(blocks)) if blocks[i][0] == blocks[i - 1][0]]
        if not equal:
            return
        for i in equal:
            j = draw.randrange(len(blocks))
            blocks[i], blocks[j] = blocks[j], blocks[i]


def scatters_apart(strip: str) -> bool:
    """Return whether a strip's scatters lie SCATTER_DISTANCE or more apart, the strip taken as a ring."""
    places = [i for i, letter in enumerate(strip) if letter == SCATTER_LETTER]
    return all((places[(i + 1) % len(places)] - place - 1) % len(strip) + 1 >= SCATTER_DISTANCE for i, place in enumerate(places))


def make_strip(draw: random.Random, letters: str, plan: StripPlan, reel: int) -> str:
    """Return one strip of `plan`, its blocks in random order."""
    scatter_count, heart_count = plan.scatter_counts[reel], plan.heart_counts[reel]
    counts = apportion(STRIP_LENGTH - scatter_count - heart_count, plan.symbol_weights)
    blocks = [SCATTER_LETTER] * scatter_count + [HEART_LETTER] * heart_count
    for letter, count in zip(letters, counts, strict=True):
        blocks += cut_blocks(draw, letter, count, plan.block_lengths[reel])
    while True:
        draw.shuffle(blocks)
        part_equal_blocks(draw, blocks)
        strip = "".join(blocks)
        if scatters_apart(strip):
            return strip


def make_strips(seed: int, number: int, letters: str, plan: StripPlan) -> tuple[str, ...]:
    """Return the strips of shuffle `number` of a plan; the same numbers give the same strips."""
    draw = random.Random((seed * len(PLANS) + PLANS.index(plan)) * 1000 + number)
    return tuple(make_strip(draw, letters, plan, reel) for reel in range(len(plan.scatter_counts)))


def change(rules: Rules, **values: Any) -> Rules:
    """Return `rules` with the fields named replaced, checked anew."""
    return Rules.model_validate({**rules.model_dump(), **values})


def with_strips(rules: Rules, name: str, strips: tuple[str, ...]) -> Rules:
    """Return `rules` with other strips in the set called `name`."""
    sets = [part.model_dump() for part in rules.strip_sets]
    return change(rules, strip_sets=[{**part, "strips": strips} if part["name"] == name else part for part in sets])


def with_hearts(rules: Rules, name: str, weights: Sequence[int]) -> Rules:
    """Return `rules` with another heart table for the set called `name`."""
    tables = [part.model_dump() for part in rules.heart_weights]
    return change(rules, heart_weights=[{**part, "weights": tuple(weights)} if part["strip_set"] == name else part for part in tables])


def with_choice(rules: Rules, mode: str, weights: Sequence[int]) -> Rules:
    """Return `rules` with other strip set weights in `mode`."""
    choices = [part.model_dump() for part in rules.strip_choices]
    return change(rules, strip_choices=[{**part, "weights": tuple(weights)} if part["mode"] == mode else part for part in choices])


def on_one_set(rules: Rules, name: str) -> Rules:
    """Return `rules` with every base spin on the set called `name`."""
    return with_choice(rules, "base", [CHOICE_TOTAL if part.name == name else 0 for part in rules.strip_sets])


def hearts_of_one_value(rules: Rules, value: int) -> list[int]:
    """Return a heart table that gives every heart `value`."""
    return [HEART_TOTAL if known == value else 0 for known in rules.heart_values.values]


def measure(rules: Rules, mode: str, round_count: int, seed: int, *, stream: int = 0) -> Sums:
    """Return the sums of `round_count` rounds of `mode`; another `stream` gives other rounds of the same seed."""
    return reduce(Sums.plus, simulate(rules, mode, round_count, seed=f"{seed}/{stream}".encode()))


def bets_per_round(rules: Rules, sums: Sums, name: str) -> Fraction:
    """Return the sum `name` in bets for each round."""
    return Fraction(sums.total(name), sums.total("rounds") * rules.bet.coins)


def mean_heart(values: Sequence[int], weights: Sequence[int]) -> Fraction:
    """Return the mean heart of a table."""
    return Fraction(sum(value * weight for value, weight in zip(values, weights, strict=True)), sum(weights))


def table_with_mean(values: Sequence[int], mean: Fraction) -> list[int]:
    """Return HEART_SHAPE with the weight of its lowest heart changed so that the mean comes nearest to `mean`.

    Raises ValueError for a mean that no such weight reaches.
    """
    lowest, rest = values[0], HEART_SHAPE[1:]
    above = sum(value * weight for value, weight in zip(values[1:], rest, strict=True))
    if mean <= lowest or above <= mean * sum(rest):
        raise ValueError(f"hearts of mean {float(mean):.3f}: want strips that need a mean nearer to the start table's")
    return [max(1, round((above - mean * sum(rest)) / (mean - lowest))), *rest]


def evaluate(rules: Rules, plan: StripPlan, number: int, round_count: int, seed: int, *, stream: int = 0) -> Candidate:
    """Measure a shuffle with every heart at each of the two lowest values; return the mean heart that reaches the set's target."""
    strips = make_strips(seed, number, "".join(symbol.letter for symbol in rules.symbols if symbol.role == "paying"), plan)
    free = plan.name == rules.free_spins_strip_set
    target = BOUGHT_ROUND if free else BASE_ALONE
    rules = with_strips(rules, plan.name, strips)
    mode, name = ("buy", "win_minor") if free else ("base", "base_win_minor")
    rules = rules if free else on_one_set(rules, plan.name)
    low, high = rules.heart_values.values[:2]
    variants = [with_hearts(rules, plan.name, hearts_of_one_value(rules, value)) for value in (low, high)]
    sums = [measure(variant, mode, round_count, seed, stream=stream) for variant in variants]
    at_low, at_high = (bets_per_round(rules, part, name) for part in sums)
    slope = (at_high - at_low) / (high - low)
    hit_share = Fraction(sums[0].total("hits"), sums[0].total("rounds"))
    candidate = Candidate(number, strips, low + (target - at_low) / slope, slope, hit_share)
    report(f"set {plan.name} shuffle {number}: wants hearts of mean {float(candidate.heart_mean):.3f}, hit {float(hit_share):.4f}")
    return candidate


def choose_shuffle(rules: Rules, plan: StripPlan, round_count: int, options: argparse.Namespace) -> int:
    """Return the shuffle whose hearts' mean lies nearest to the start table's, or the one that the options name.

    Raises ValueError where no hit share fits.
    """
    if options.numbers:
        return int(options.numbers[PLANS.index(plan)])
    free = plan.name == rules.free_spins_strip_set
    found = [evaluate(rules, plan, number, round_count, options.seed) for number in range(options.shuffles)]
    fitting = [candidate for candidate in found if free or HIT_LOW <= candidate.hit_share <= HIT_HIGH]
    if not fitting:
        raise ValueError(f"set {plan.name}: no shuffle of {options.shuffles} has a hit share in range; want other symbol weights")
    wanted = mean_heart(rules.heart_values.values, HEART_SHAPE)
    return min(fitting, key=lambda candidate: abs(candidate.heart_mean - wanted)).number


def tune_base_set(rules: Rules, plan: StripPlan, options: argparse.Namespace) -> Rules:
    """Return `rules` with strips and hearts for a base game set that reach BASE_ALONE."""
    number = choose_shuffle(rules, plan, options.rounds // 16, options)
    exact = evaluate(rules, plan, number, options.rounds, options.seed, stream=1)
    weights = table_with_mean(rules.heart_values.values, exact.heart_mean)
    return with_hearts(with_strips(rules, plan.name, exact.strips), plan.name, weights)


def tune_free_set(rules: Rules, plan: StripPlan, options: argparse.Namespace) -> Rules:
    """Return `rules` with strips and hearts for free spins that reach BOUGHT_ROUND, what the cap takes made good."""
    number = choose_shuffle(rules, plan, options.rounds // 128, options)
    exact = evaluate(rules, plan, number, options.rounds // 8, options.seed, stream=1)
    rules = with_strips(rules, plan.name, exact.strips)
    mean = exact.heart_mean
    for step in range(2):
        tuned = with_hearts(rules, plan.name, table_with_mean(rules.heart_values.values, mean))
        sums = measure(tuned, "buy", options.rounds // 4, options.seed, stream=2 + step)
        mean += (BOUGHT_ROUND - bets_per_round(tuned, sums, "win_minor")) / exact.slope
    return with_hearts(rules, plan.name, table_with_mean(rules.heart_values.values, mean))


def tune_choices(rules: Rules, options: argparse.Namespace) -> Rules:
    """Return `rules` with the weight of the set that can trigger, and twice that weight for the ante."""
    sums = measure(on_one_set(rules, rules.buy.strip_set), "base", 4 * options.rounds, options.seed, stream=1)
    weight = round(Fraction(CHOICE_TOTAL * sums.total("rounds"), ROUNDS_PER_TRIGGER * sums.total("triggers")))
    report(f"set {rules.buy.strip_set} triggers 1 in {sums.total('rounds') / sums.total('triggers'):.2f}, weight {weight}")
    rules = with_choice(rules, "base", (CHOICE_TOTAL - weight, weight, 0))
    return with_choice(rules, "ante", (CHOICE_TOTAL - 2 * weight, 2 * weight, 0))


def calibrate(rules: Rules, options: argparse.Namespace) -> Rules:
    """Return `rules` with strips, heart tables and strip set weights that reach the targets."""
    rules = change(rules, buy={**rules.buy.model_dump(), "weights": BUY_WEIGHTS})
    for plan in PLANS:
        rules = with_hearts(rules, plan.name, HEART_SHAPE)
    *base_plans, free_plan = PLANS
    for plan in base_plans:
        rules = tune_base_set(rules, plan, options)
    rules = tune_choices(rules, options)
    return tune_free_set(rules, free_plan, options)


def as_toml(rules: Rules) -> str:
    """Return the calibrated tables of `rules` as TOML, in the order of the rules file."""
    lines: list[str] = []
    for choice in rules.strip_choices:
        lines += ["[[strip_choices]]", f'mode = "{choice.mode}"', f"weights = {list(choice.weights)}"]
        lines += [f'assumption = "{choice.assumption}"', ""]
    for table in rules.heart_weights:
        lines += ["[[heart_weights]]", f'strip_set = "{table.strip_set}"', f"weights = {list(table.weights)}"]
        lines += [f'assumption = "{table.assumption}"', ""]
    lines += ["[buy]", f'strip_set = "{rules.buy.strip_set}"', f"scatter_counts = {list(rules.buy.scatter_counts)}"]
    lines += [f"weights = {list(rules.buy.weights)}", f'assumption = "{rules.buy.assumption}"', ""]
    for part in rules.strip_sets:
        lines += ["[[strip_sets]]", f'name = "{part.name}"', f'assumption = "{part.assumption}"', "strips = ["]
        lines += [*(f'    "{strip}",' for strip in part.strips), "]", ""]
    return "\n".join(lines[:-1])


def describe(rules: Rules, mode: str, round_count: int, seed: int) -> str:
    """Return one line on `round_count` rounds of `mode`: RTP with its 99% interval, rates, and each set's base game."""
    sums = measure(rules, mode, round_count, seed)
    estimate = estimate_return(rules, mode, sums)
    count, coins = sums.total("rounds"), rules.bet.coins
    mean = sums.total("win_minor") / count
    deviation = (sums.total("win_minor_squared") / count - mean * mean) ** 0.5 / coins
    names, base = [part.name for part in rules.strip_sets], SUM_NAMES.index("base_win_minor")
    alone = [f"{name} {row[base] / row[0] / coins:.4f} of {row[0]}" for name, row in zip(names, sums.strata, strict=True) if row[0]]
    spins = sums.total("feature_spins") / max(1, sums.total("triggers"))
    return (
        f"{mode}: RTP {100 * estimate.rtp_observed:.3f}% ({100 * estimate.rtp_low:.3f} to {100 * estimate.rtp_high:.3f}), "
        f"rounds {count}, mean {mean / coins:.4f} bets, sd {deviation:.2f}, hit {sums.total('hits') / count:.4f}, "
        f"trigger 1 in {count / max(1, sums.total('triggers')):.2f}, free spins {spins:.2f}, capped {sums.total('capped')}, "
        f"limited {sums.total('limited')}, highest {sums.total('win_minor_max') / coins:.1f}, base alone: {'; '.join(alone)}"
    )


def report(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Print calibrated tables, or with --check measure the installed rules instead."""
    parser = argparse.ArgumentParser(description="Calibrate Moonlight Princess; print TOML tables for its rules file.")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffles and the rounds (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=8_000_000, help="base rounds of a tuning measurement (default: %(default)s)")
    parser.add_argument("--shuffles", type=int, default=8, help="shuffles of each set to choose from (default: %(default)s)")
    parser.add_argument("--numbers", type=int, nargs=len(PLANS), help="shuffle to take for each of A, B and free, without a search")
    parser.add_argument("--check", action="store_true", help="measure the installed rules: --rounds of base and ante, a tenth of buy")
    options = parser.parse_args()
    rules = installed_rules(GAME)
    if options.check:
        for mode, count in (("base", options.rounds), ("ante", options.rounds), ("buy", options.rounds // 10)):
            print(describe(rules, mode, count, options.seed), flush=True)
        return
    print(as_toml(calibrate(rules, options)))


if __name__ == "__main__":
    main()
