"""The steps that calibrate Moonlight Princess: strips, tune, measure; run by `python tools/calibrate.py moonlight-princess STEP`.

A return is linear in the mean heart of each strip set once a sample has counted the hearts. So one sample of any heart
tables gives the three means that reach the targets, and the weight of the 2x heart sets each.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

from engines.games.moonlight_princess.rules import Rules
from engines.registry import installed_rules
from tools.chunk_file import ChunkFile
from tools.moonlight_estimate import (
    CONFIDENCE,
    Estimate,
    Sample,
    Values,
    capped_odds,
    direct_feature,
    estimate,
    exact_means,
    feature_value,
    measured,
    strata_of,
    values_of,
)
from tools.moonlight_spins import BARE, FEATURE, HITS, TIMES, TRIGGERS, Stratum, chunk_sums
from tools.moonlight_strips import PLANS, StripPlan, make_strips

GAME = "moonlight-princess"
SAMPLING = "sample/1"  # changes with what the sums of a chunk mean
SHUFFLES, SHUFFLE_CHUNKS = 8, 8
HITS_LOW, HITS_HIGH = 0.25, 0.35  # of a base set
# Bets, about, of which the hearts of a shuffle are to make a base spin, and a feature without a cap.
BASE_ALONE, FEATURE_ALONE = 0.735, 94.47

# Chunks of each stratum in one unit of --scale: nearly the shares that make the ante's interval shortest.
SHARES = {"A": 16, "B-0": 18, "B-1": 24, "B-2": 20, "B-3": 12, "B-4": 1, "bought": 1, "free": 80}

RETURN = Fraction(98, 100)
CHOICE_TOTAL = 10000  # sum of a mode's strip set weights
# Weights of the hearts from 2x to 500x that the tuning starts from; it moves the first.
HEART_SHAPE = (5489, 3000, 1500, 900, 500, 250, 150, 100, 60, 40, 25, 10, 4, 1, 1)


def report(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)


def rules_of(options: argparse.Namespace) -> Rules:
    """Return the rules that the options name."""
    rules = installed_rules(GAME, options.version)
    assert isinstance(rules, Rules)
    assert not any(rules.reading_values()), "the estimate follows the readings of value 0"
    return rules


def subject(rules: Rules, seed: str) -> str:
    """Return what a chunk is a sample of: the seed, and a digest of the rules that decide what boards show and pay.

    Hearts' weights are not among them: they decide nothing but the small sums above the cap.
    """
    apart = {"version", "title", "readings", "assumptions", "sources", "heart_weights", "strip_choices", "modes"}
    values = json.dumps(rules.model_dump(mode="json", exclude=apart), sort_keys=True)
    return f"{SAMPLING} of {GAME} {hashlib.sha256(values.encode()).hexdigest()[:16]} seed {seed}"


def sample_of(rules: Rules, options: argparse.Namespace) -> Sample:
    """Return the samples of all seeds as one: what of them is in the folder is read, the rest is made, unit by unit of the scale."""
    strata = strata_of(rules)

    def extend(part: Stratum, seed: str, scale: int) -> list[list[int]]:
        file = ChunkFile(options.folder / seed / f"{part.name}.jsonl", subject(rules, seed))
        return file.extend(SHARES[part.name] * scale, lambda chunk: chunk_sums(rules, part, seed.encode(), chunk))

    for seed in options.seed:
        for scale in range(1, options.scale + 1):
            for part in strata:
                extend(part, seed, scale)
        report(f"seed {seed}: {options.scale} units")
    exact = exact_means(rules, strata)
    chunks = {part.name: [chunk for seed in options.seed for chunk in extend(part, seed, options.scale)] for part in strata}
    return Sample(rules, tuple(measured(part, chunks[part.name], exact.get(part.name)) for part in strata))


def change(rules: Rules, **values: Any) -> Rules:
    """Return `rules` with the fields named replaced, checked anew."""
    return Rules.model_validate({**rules.model_dump(), **values})


def with_strips(rules: Rules, name: str, strips: tuple[str, ...]) -> Rules:
    """Return `rules` with other strips in the set called `name`."""
    sets = [part.model_dump() for part in rules.strip_sets]
    return change(rules, strip_sets=[{**part, "strips": strips} if part["name"] == name else part for part in sets])


def table_with_mean(values: Sequence[int], mean: Fraction) -> list[int]:
    """Return HEART_SHAPE with the weight of its lowest heart changed so that the mean comes nearest to `mean`.

    Raises ValueError for a mean that no such weight reaches.
    """
    lowest, rest = values[0], HEART_SHAPE[1:]
    above = sum(value * weight for value, weight in zip(values[1:], rest, strict=True))
    if mean <= lowest or above <= mean * sum(rest):
        raise ValueError(f"hearts of mean {float(mean):.3f}: want strips that need a mean nearer to the start table's")
    return [max(1, round((above - mean * sum(rest)) / (mean - lowest))), *rest]


def heart_means(sample: Sample, weight: int | None = None) -> tuple[int, dict[str, float]]:
    """Return the weight of the set that can trigger and the mean hearts that reach RETURN in every mode.

    The ante costs a quarter more and has twice the features, so features must be worth a quarter of RETURN in the base
    mode; what is left is what the base game is worth on either of its sets.
    """
    rules, means = sample.rules, {part.stratum.name: part.rows.mean(axis=0) for part in sample.strata}
    hearts = dict(values_of(rules).hearts)
    bought, free = rules.buy.strip_set, rules.free_spins_strip_set
    dull = next(name for name in hearts if name not in (bought, free))
    for _ in range(20):
        values = Values(rules, hearts)
        feature = 100 * float(RETURN) - values.bought_spin(means)
        odds = float(values.set_means(means, bought)[TRIGGERS])
        taken = weight or round(CHOICE_TOTAL * float(RETURN) / 4 / (odds * feature))
        alone = float(RETURN) - taken / CHOICE_TOTAL * odds * feature
        for name in (dull, bought):
            slope = float(values.set_means(means, name)[TIMES]) / rules.bet.coins
            hearts[name] += (alone - values.alone(means, name)) / slope
        slope = feature_value(rules, means[FEATURE], 1.0) - feature_value(rules, means[FEATURE], 0.0)
        hearts[free] += (feature - values.feature(means)) / slope
    return taken, hearts


def tune(options: argparse.Namespace) -> str:
    """Return strip set weights and heart tables that reach RETURN in every mode, as TOML."""
    rules = rules_of(options)
    weight, hearts = heart_means(sample_of(rules, options))
    lines: list[str] = []
    for choice, factor in zip(rules.strip_choices, (1, 2), strict=True):
        weights = [CHOICE_TOTAL - factor * weight, factor * weight, 0]
        lines += ["[[strip_choices]]", f'mode = "{choice.mode}"', f"weights = {weights}", f'assumption = "{choice.assumption}"', ""]
    for table in rules.heart_weights:
        weights = table_with_mean(rules.heart_values.values, Fraction(hearts[table.strip_set]))
        lines += ["[[heart_weights]]", f'strip_set = "{table.strip_set}"', f"weights = {weights}", f'assumption = "{table.assumption}"', ""]
    return "\n".join(lines[:-1])


def strips(options: argparse.Namespace) -> str:
    """Return the strips of each plan, of SHUFFLES shuffles those whose hearts' mean lies nearest to HEART_SHAPE's, as TOML."""
    rules = rules_of(options)
    lines: list[str] = []
    for plan in PLANS:
        found = [shuffled(rules, plan, number, options.seed[0]) for number in range(SHUFFLES)]
        lines += ["[[strip_sets]]", f'name = "{plan.name}"', "strips = ["]
        lines += [*(f'    "{strip}",' for strip in min(found)[1]), "]", ""]
    return "\n".join(lines[:-1])


def shuffled(rules: Rules, plan: StripPlan, number: int, seed: str) -> tuple[float, tuple[str, ...]]:
    """Return how far from HEART_SHAPE's mean a shuffle wants its hearts, infinitely where its hits do not fit, and its strips."""
    letters = "".join(symbol.letter for symbol in rules.symbols if symbol.role == "paying")
    made = make_strips(int(seed), number, letters, plan)
    rules = with_strips(rules, plan.name, made)
    place = rules.strip_set_index(plan.name)
    part = Stratum(plan.name, place, is_feature=plan.name == rules.free_spins_strip_set)
    chunks = [chunk_sums(rules, part, seed.encode(), chunk) for chunk in range(SHUFFLE_CHUNKS)]
    mean = measured(part, chunks, None).rows.mean(axis=0)
    shape = sum(value * weight for value, weight in zip(rules.heart_values.values, HEART_SHAPE, strict=True)) / sum(HEART_SHAPE)
    if part.is_feature:
        low, high = (feature_value(rules, mean, hearts) for hearts in (0.0, 1.0))
        wanted, fits = (FEATURE_ALONE - low) / (high - low), True
    else:
        wanted = (BASE_ALONE * rules.bet.coins - float(mean[BARE])) / float(mean[TIMES])
        fits = HITS_LOW <= mean[HITS] <= HITS_HIGH
    report(f"set {plan.name} shuffle {number}: wants hearts of mean {wanted:.3f}")
    return abs(wanted - shape) if fits else inf, made


def _facts(found: Estimate) -> dict[str, float]:
    return {"value": round(found.value, 9), "low": round(found.low, 9), "high": round(found.high, 9)}


def measure(options: argparse.Namespace) -> str:
    """Return the returns of a sample by mode and part, with their intervals, as JSON."""
    rules = rules_of(options)
    sample = sample_of(rules, options)
    values = values_of(rules)
    base_sets = [part.name for part in rules.strip_sets if part.name != rules.free_spins_strip_set]
    parts = {f"base spin on {name} alone, bets": estimate(sample, lambda means, name=name: values.alone(means, name)) for name in base_sets}
    parts |= {
        "bought spin, bets": estimate(sample, values.bought_spin),
        "feature, bets": estimate(sample, values.feature),
        "feature without a cap, bets": estimate(sample, lambda means: feature_value(rules, means[FEATURE], values.hearts["free"])),
        "feature without a cap by its plain mean, bets": direct_feature(sample),
        "features that reach the cap": capped_odds(sample),
    }
    modes = {}
    for mode in (each.name for each in rules.modes):
        modes[mode] = {
            "rtp": _facts(estimate(sample, lambda means, mode=mode: values.mode_return(means, mode))),
            "hits": _facts(estimate(sample, lambda means, mode=mode: values.hit_odds(means, mode))),
            "triggers": _facts(estimate(sample, lambda means, mode=mode: values.trigger_odds(means, mode))),
        }
    facts = {
        "proof": "return",
        "rules": rules.version,
        "rules_hash": rules.rules_hash,
        "command": f"python tools/calibrate.py {GAME} measure --seed {' '.join(options.seed)} --scale {options.scale} --folder FOLDER",
        "seeds": options.seed,
        "target": float(RETURN),
        "confidence": CONFIDENCE,
        "modes": modes,
        "parts": {name: _facts(found) for name, found in parts.items()},
        "strata": {part.stratum.name: {"spins": part.spin_count, "features": part.feature_count} for part in sample.strata},
    }
    return json.dumps(facts, indent=1)


STEPS = {"strips": strips, "tune": tune, "measure": measure}
