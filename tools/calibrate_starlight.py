"""Make strips and gold weights for Starlight Wins that reach its targets, print them as TOML, and measure what they return.

Strips come from symbol counts and block lengths by `random.Random`; of several shuffles the one is kept that is nearest to
its target as it is, and its gold weight, to which the return is nearly linear, does the rest. What a round is worth is
estimated as docs/calibration.md says (`starlight_worth.py`). The same options give the same tables. Progress goes to stderr.
With --keep the sums of each block of spins are kept in a file as it ends, and a second start goes on from there.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engines.games.starlight_wins.rules import Rules  # noqa: E402
from engines.registry import installed_rules  # noqa: E402
from engines.simulate import Sums, estimate_return, simulate  # noqa: E402
from tools.starlight_worth import BLOCK_SPINS, GAME, Measurer, free_spin_worth, hit_share, report, stratified, worth  # noqa: E402
from tools.strip_blocks import block_strip  # noqa: E402

STRIP_LENGTH = 80
SCATTER_LETTER = "S"
SCATTER_DISTANCE = 5  # positions between two scatters of a strip, at least: a window shows one
GOLD_TOTAL = 100_000

BASE_ALONE = 0.700  # bets that the base spins are worth
HIT_LOW, HIT_HIGH = Fraction(235, 1000), Fraction(265, 1000)  # of first boards; SLW-5 has a point and a half more on both sides
CONFIDENCE = 0.99


class StripPlan(NamedTuple):
    """What the strips of a set are made of."""

    name: str
    symbol_weights: tuple[int, ...]  # shares of the paying symbols, in paytable order
    block_lengths: tuple[int, ...]  # on each strip a symbol lies in blocks of 1 to so many
    scatter_counts: tuple[int, ...]  # on each strip
    gold_tried: tuple[int, int]  # two weights of the reels that are tuned, out of GOLD_TOTAL; between them it is nearly linear


SYMBOL_WEIGHTS = (100, 108, 117, 127, 138, 149, 162, 175, 190)  # rising evenly by 1.9 in all
PLANS = (
    StripPlan("base", SYMBOL_WEIGHTS, (3, 4, 4, 4, 4), (2, 1, 2, 1, 1), (1000, 2000)),
    StripPlan("free", SYMBOL_WEIGHTS, (3, 4, 4, 4, 4), (1, 1, 1, 0, 1), (1000, 2000)),
)


def make_strips(seed: int, number: int, letters: str, plan: StripPlan) -> tuple[str, ...]:
    """Return the strips of shuffle `number` of a plan, blocks in random order; the same numbers give the same strips."""
    draw = random.Random((seed * len(PLANS) + PLANS.index(plan)) * 1000 + number)
    strips = []
    for length_max, scatter_count in zip(plan.block_lengths, plan.scatter_counts, strict=True):
        singles = [SCATTER_LETTER] * scatter_count
        strips.append(block_strip(draw, letters, plan.symbol_weights, length_max, singles, STRIP_LENGTH, SCATTER_DISTANCE))
    return tuple(strips)


def change(rules: Rules, name: str, *, strips: tuple[str, ...] = (), gold: int = -1) -> Rules:
    """Return `rules` with other strips in the set called `name`, or another gold weight on its reels that have one."""
    values = rules.model_dump()
    for part in values["strip_sets"]:
        if part["name"] == name and strips:
            part["strips"] = strips
    for part in values["gold"]:
        if part["strip_set"] == name and gold >= 0:
            part["weights"] = tuple(gold if weight else 0 for weight in part["weights"])
    return Rules.model_validate(values)


def choose_strips(rules: Rules, plan: StripPlan, wanted: float, value_of: Callable[[Rules], float], options: argparse.Namespace) -> Rules:
    """Return `rules` with the strips, of those whose first boards win often enough, whose value is nearest to `wanted`."""
    letters = "".join(symbol.letter for symbol in rules.symbols if symbol.role == "paying")
    found = []
    for number in range(options.shuffles):
        strips = make_strips(options.seed, number, letters, plan)
        tried = change(rules, plan.name, strips=strips, gold=sum(plan.gold_tried) // 2)
        hit = hit_share(tried, plan.name)
        if plan.name != rules.base_strip_set or HIT_LOW <= hit <= HIT_HIGH:
            value = value_of(tried)
            report(f"{plan.name} shuffle {number}: hit {float(hit):.4f}, {value:.4f}, wanted {wanted:.4f}")
            found.append((abs(value - wanted), number, tried))
    if not found:
        raise ValueError(f"{plan.name}: no shuffle of {options.shuffles} wins often enough; want other symbol weights or blocks")
    return min(found)[2]


def gold_between(rules: Rules, plan: StripPlan, wanted: float, value_of: Callable[[Rules], float]) -> tuple[int, float]:
    """Return the gold weight for which a value comes to `wanted` on the line through its values at the two weights tried, and its slope."""
    low, high = plan.gold_tried
    at_low, at_high = (value_of(change(rules, plan.name, gold=weight)) for weight in (low, high))
    slope = (at_high - at_low) / (high - low)
    weight = round(low + (wanted - at_low) / slope)
    report(f"{plan.name}: {at_low:.4f} at gold {low}, {at_high:.4f} at {high}, wanted {wanted:.4f}: gold {weight}")
    if not 0 < weight < GOLD_TOTAL // 10:
        raise ValueError(f"gold of {plan.name}: want a weight that is worth drawing, got {weight}; want other strips")
    return weight, slope


def calibrate(rules: Rules, measurer: Measurer, options: argparse.Namespace) -> Rules:
    """Return `rules` with strips and gold weights that reach the targets: first the base game, then what free spins must be worth.

    The base spins of the last measurement are played here already: nothing that they depend on is changed after it.
    """

    def base_worth(tried: Rules, spin_count: int, stream: str) -> float:
        return stratified(tried, "base", measurer.sums(tried, "base", spin_count, stream), 1, 0).mean

    def free_worth(tried: Rules, spin_count: int, stream: str) -> float:
        return free_spin_worth(tried, measurer.sums(tried, "free", spin_count, stream)).mean

    base_plan, free_plan = PLANS
    rules = choose_strips(rules, base_plan, BASE_ALONE, lambda tried: base_worth(tried, BLOCK_SPINS, "search"), options)
    weight, _ = gold_between(rules, base_plan, BASE_ALONE, lambda tried: base_worth(tried, options.rounds // 32, "tune"))
    rules = change(rules, base_plan.name, gold=weight)
    sums = measurer.sums(rules, "base", options.rounds, "measure")
    missing = rules.rtp_target_x10000 / 10000 - stratified(rules, "base", sums, 1, 0).mean
    wanted = missing / stratified(rules, "base", sums, 0, 1).mean
    rules = choose_strips(rules, free_plan, wanted, lambda tried: free_worth(tried, BLOCK_SPINS, "search"), options)
    weight, slope = gold_between(rules, free_plan, wanted, lambda tried: free_worth(tried, options.rounds // 32, "tune"))
    rules = change(rules, free_plan.name, gold=weight)
    missing = wanted - free_worth(rules, options.rounds // 2, "fine")
    return change(rules, free_plan.name, gold=weight + round(missing / slope))


def as_toml(rules: Rules) -> str:
    """Return the calibrated tables of `rules` as TOML, in the order of the rules file."""
    lines: list[str] = []
    for gold in rules.gold:
        lines += ["[[gold]]", f'strip_set = "{gold.strip_set}"', f"weights = {list(gold.weights)}", f"total = {gold.total}"]
        lines += [f"all_gold = {list(gold.all_gold)}", f'assumption = "{gold.assumption}"', ""]
    for part in rules.strip_sets:
        lines += ["[[strip_sets]]", f'name = "{part.name}"', f'assumption = "{part.assumption}"', "strips = ["]
        lines += [*(f'    "{strip}",' for strip in part.strips), "]", ""]
    return "\n".join(lines[:-1])


def measure(rules: Rules, measurer: Measurer, options: argparse.Namespace) -> dict[str, Any]:
    """Return what the installed rules return, its parts and how it was measured, as it is kept in docs/measured/."""
    base, free = measurer.sums(rules, "base", options.rounds, "measure"), measurer.sums(rules, "free", options.rounds // 2, "measure")
    found = worth(rules, base, free)
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * found.total.error
    plain = reduce(Sums.plus, simulate(rules, "base", options.rounds // 32, seed=f"{options.seed}/plain".encode()))
    count, triggers = plain.total("rounds"), plain.total("triggers")
    deviation = sqrt(plain.total("win_minor_squared") / count - (plain.total("win_minor") / count) ** 2) / rules.bet.coins
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {
        "command": f"python tools/calibrate_starlight.py --measure --rounds {options.rounds} --seed {options.seed}",
        "commit": commit,
        "rules_hash": rules.rules_hash,
        "target": rules.rtp_target_x10000 / 10000,
        "rtp_observed": found.total.mean,
        "rtp_low": found.total.mean - reach,
        "rtp_high": found.total.mean + reach,
        "confidence": CONFIDENCE,
        "parts": {name: getattr(found, name)._asdict() for name in found._fields},
        "spins": {"base": sum(base.awards), "free": sum(free.awards)},
        "spins_by_award": {"base": _by_award(base.awards), "free": _by_award(free.awards)},
        "rounds_per_feature": sum(base.awards) / sum(base.awards[1:]),
        "first_boards_that_win": float(hit_share(rules, "base")),
        "plain": {
            "rounds": count,
            **estimate_return(rules, "base", plain, confidence=CONFIDENCE)._asdict(),
            "hit_frequency": plain.total("hits") / count,
            "sd": deviation,
            "rounds_per_feature": count / triggers,
            "feature_spins_mean": plain.total("feature_spins") / triggers,
            "feature_mean": (plain.total("win_minor") - plain.total("base_win_minor")) / triggers / rules.bet.coins,
            "capped": plain.total("capped"),
            "limited": plain.total("limited"),
            "highest": plain.total("win_minor_max") / rules.bet.coins,
        },
    }


def _by_award(awards: Sequence[int]) -> dict[str, int]:
    return {str(awarded): count for awarded, count in enumerate(awards) if awarded and count}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print calibrated tables, or with --measure what the installed rules return."""
    parser = argparse.ArgumentParser(description="Calibrate Starlight Wins; print TOML tables for its rules file.")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffles and the rounds (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=1 << 27, help="base spins of the last measurement; half as many free spins (default: %(default)s)"
    )
    parser.add_argument("--shuffles", type=int, default=24, help="shuffles of each set to choose from (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="file for the sums of each block of rounds; a second start goes on from it")
    parser.add_argument("--measure", action="store_true", help="measure the installed rules and print the result as JSON")
    options = parser.parse_args(arguments)
    rules = installed_rules(GAME)
    assert isinstance(rules, Rules)
    measurer = Measurer(options.seed, options.keep)
    if options.measure:
        print(json.dumps(measure(rules, measurer, options), indent=1))
        return
    print(as_toml(calibrate(rules, measurer, options)))


if __name__ == "__main__":
    main()
