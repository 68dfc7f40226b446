"""The steps that calibrate Moon Princess Stargazing: strips, tune, measure; run by `tools/calibrate.py moon-princess-stargazing STEP`.

Strips and the sizes of the powers in base spins and Resonances were chosen by hand of short samples. What the free spins of a
princess are worth grows with the weights of her greater sizes, nearly on a line: the tuning lays it through two samples.
"""

import argparse
import hashlib
import json
import random
import sys
from typing import Any

from engines.games.moon_princess_stargazing.rules import Rules
from engines.registry import installed_rules
from tools.chunk_file import ChunkFile
from tools.stargazing_strips import MIDDLE, OUTER, shuffled_strip
from tools.stargazing_worth import BASE, CONFIDENCE, RESONANCE, Part, chunk_sums, part_of, start_table, worth

GAME = "moon-princess-stargazing"
SAMPLING = "parts/1"  # changes with what the sums of a chunk mean
SHARES = {BASE: 256, RESONANCE: 16, "astra": 2, "nova": 2, "star": 5}  # chunks in one unit of --scale
FREE_FIELDS = {"free_spins", "free_spins_strip_set", "free_spins_limit"}  # nothing before the free spins depends on these
PARTS_OF_SIZES = {2: (1000,), 4: (740, 199, 61)}  # how the weight of all sizes but the least is shared among them, in thousandths
WEIGHT_TOTAL = 10_000
TRIED = {2: (2200, 3400), 4: (4000, 5000)}  # by how many sizes: the weights between which the worth of free spins is taken for a line


def report(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)


def rules_of(options: argparse.Namespace) -> Rules:
    """Return the rules that the options name."""
    rules = installed_rules(GAME, options.version)
    assert isinstance(rules, Rules)
    assert not any(rules.reading_values()), "the estimate follows the readings of value 0"
    return rules


def subject(rules: Rules, part: str, seed: str, starts: list[int]) -> str:
    """Return what a chunk is a sample of: the seed, and a digest of the rules that decide what the part shows and pays."""
    values = rules.model_dump(mode="json", exclude={"version", "title", "readings", "assumptions", "sources"})
    if part in (BASE, RESONANCE):
        values["power_weights"] = [row for row in values["power_weights"] if row["part"] == "base"]
        values = {name: value for name, value in values.items() if name not in FREE_FIELDS}
    else:
        for name in ("power_weights", "free_spins"):
            values[name] = [row for row in values[name] if row["princess"] == part and row.get("part") != "base"]
    text = json.dumps([values, starts], sort_keys=True)
    return f"{SAMPLING} of {GAME} {part} {hashlib.sha256(text.encode()).hexdigest()[:16]} seed {seed}"


def sample(rules: Rules, part: str, options: argparse.Namespace, starts: list[int], scale: int) -> Part:
    """Return the sums of a part over all seeds; what of them is in the folder is read, the rest is made."""
    chunks = []
    for seed in options.seed:
        of = subject(rules, part, seed, starts)
        file = ChunkFile(options.folder / f"{part}-{hashlib.sha256(of.encode()).hexdigest()[:8]}.jsonl", of)
        chunks += file.extend(SHARES[part] * scale, lambda chunk, seed=seed: chunk_sums(rules, part, seed.encode(), chunk, starts))
    report(f"{part}: {len(chunks)} chunks")
    return part_of(rules, chunks)


def with_free_weight(rules: Rules, princess: str, weight: int) -> Rules:
    """Return `rules` with `weight` of WEIGHT_TOTAL on all but the least size of a princess in free spins."""
    rows = [row.model_dump() for row in rules.power_weights]
    for row in rows:
        if row["part"] == "free" and row["princess"] == princess:
            greater = [weight * share // 1000 for share in PARTS_OF_SIZES[len(row["weights"])][1:]]
            row["weights"] = (WEIGHT_TOTAL - weight, weight - sum(greater), *greater)
    return Rules.model_validate({**rules.model_dump(), "power_weights": rows})


def strips(options: argparse.Namespace) -> str:
    """Return the strips of a seed as TOML."""
    chance = random.Random(int(options.seed[0]))
    return "\n".join(f'    "{shuffled_strip(MIDDLE if reel == 2 else OUTER, chance)}",' for reel in range(5))


def tune(options: argparse.Namespace) -> str:
    """Return the weights of each princess's sizes in free spins with which a round returns the target, as TOML."""
    rules = rules_of(options)
    base, chains = (sample(rules, part, options, [], options.scale) for part in (BASE, RESONANCE))
    starts, target = start_table(chains), rules.rtp_target_x10000 / 10000
    lines = []
    for number, princess in enumerate(rules.choice_names):
        low, high = TRIED[len(rules.powers[number].sizes)]
        returns = []
        for weight in (low, high):
            tried = with_free_weight(rules, princess, weight)
            returns.append(worth(base, chains, sample(tried, princess, options, starts, options.scale)).mean)
        slope = (returns[1] - returns[0]) / (high - low)
        weight = round(low + (target - returns[0]) / slope)
        report(f"{princess}: {returns[0]:.5f} at {low}, {returns[1]:.5f} at {high}, {target} at {weight}")
        tuned = with_free_weight(rules, princess, weight).weights_of("free", number)
        lines.append(f'princess = "{princess}"\nweights = {list(tuned)}')
    return "\n".join(lines)


def measure(options: argparse.Namespace) -> str:
    """Return the RTP with each choice, its parts and the rates of its features as JSON, as it is kept in docs/measured/."""
    rules = rules_of(options)
    base, chains = (sample(rules, part, options, [], options.scale) for part in (BASE, RESONANCE))
    starts = start_table(chains)
    features = {princess: sample(rules, princess, options, starts, options.scale) for princess in rules.choice_names}
    seeds = " ".join(options.seed)
    facts: dict[str, Any] = {
        "command": f"python tools/calibrate.py {GAME} measure --seed {seeds} --scale {options.scale} --folder FOLDER",
        "rules": rules.version,
        "rules_hash": rules.rules_hash,
        "seeds": options.seed,
        "confidence": CONFIDENCE,
        "target": rules.rtp_target_x10000 / 10000,
        "rtp": {princess: worth(base, chains, part).interval() for princess, part in features.items()},
        "base": _base_facts(base),
        "resonance": _chain_facts(base, chains),
        "free_spins": {princess: _free_facts(base, chains, part) for princess, part in features.items()},
    }
    return json.dumps(facts, indent=1)


def _base_facts(base: Part) -> dict[str, float]:
    squared = base.sums["win_squared"] / base.sums["count"] / base.coins**2
    return {
        "spins": base.sums["count"],
        "share_of_bet": base.each("win"),
        "hit_frequency": base.each("hits"),
        "sd": (squared - base.each("win") ** 2) ** 0.5,
        "rounds_per_power": 1 / base.each("base_powers"),
        "rounds_per_clear_grid": 1 / base.each("base_clears"),
        "rounds_per_constellation": 1 / base.each("base_constellations"),
        "rounds_per_resonance": 1 / base.each("triggers"),
    }


def _chain_facts(base: Part, chains: Part) -> dict[str, float]:
    cleared = sum(row[0] for row in chains.rows[1:])
    return {
        "chains": chains.sums["count"],
        "share_of_bet": base.each("triggers") * chains.each("win"),
        "resonances_mean": chains.each("resonances"),
        "win_mean": chains.each("win"),
        "constellations_per_resonance": chains.sums["resonance_constellations"] / chains.sums["resonances"],
        "clear_share": cleared / chains.sums["count"],
        "rounds_per_free_spins": chains.sums["count"] / cleared / base.each("triggers"),
        "limited": chains.sums["limited"],
    }


def _free_facts(base: Part, chains: Part, part: Part) -> dict[str, float]:
    share = base.each("triggers") * sum(row[0] for row in chains.rows[1:]) / chains.sums["count"]
    squared = part.sums["win_squared"] / part.sums["count"] / part.coins**2
    return {
        "features": part.sums["count"],
        "share_of_bet": share * part.each("win"),
        "win_mean": part.each("win"),
        "win_sd": (squared - part.each("win") ** 2) ** 0.5,
        "spins_mean": part.each("free_spins"),
        "clear_grids_mean": part.each("free_clears"),
        "constellations_mean": part.each("free_constellations"),
        "multiplier_at_start": part.each("multipliers_at_start"),
        "multiplier_at_end": part.each("multipliers_at_end"),
        "capped": part.sums["capped"],
    }


STEPS = {"strips": strips, "tune": tune, "measure": measure}
