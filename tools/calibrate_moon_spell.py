"""Moon Spell's strips and Moon weights: shuffled from a seed, then trimmed until the exact return rounds to the target.

    python tools/calibrate_moon_spell.py [--seed 1] [--write]

The line part of the return depends on how many of each symbol a strip has, not on their order; so the order is free, but for
Moons, which lie in one stack a reel, and equal neighbours, which are avoided so that lines win one by one. The Moon part is
linear in the mean Moon value: weight is shifted from 1x to 0.5x until the fraction is nearest to the target. Nothing is
simulated. --write puts strips and weights into the rules file; without it they are only printed.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engines.games.moon_spell.exact import Exact, exact_figures, keep_board_counts  # noqa: E402
from engines.games.moon_spell.rules import Rules  # noqa: E402
from engines.rules import load_rules  # noqa: E402

FILE = ROOT / "engines" / "games" / "moon_spell" / "rules-0.1.0.toml"
FIGURES = ROOT / "docs" / "measured" / "moon-spell-exact.json"
COUNTS = (1, 2, 3, 3, 4, 4, 5, 5)  # of the paying symbols, on every reel
MOONS = (2, 1, 2, 1, 2)  # in one stack, by reel
WEIGHTS = (4200, 3000, 1500, 700, 350, 150, 60, 30, 10)  # before the trim
SHIFT_MAX = 1000


def shuffled_strip(rules: Rules, reel: int, chance: random.Random) -> str:
    """Return a strip with the wanted counts, its Moons in one stack, and no two equal neighbours else."""
    letters = {symbol.role: symbol.letter for symbol in rules.symbols}
    paying = [symbol.letter for symbol in rules.symbols if symbol.role == "paying"]
    pool = [letter for letter, count in zip(paying, COUNTS, strict=True) for _ in range(count)]
    if reel > 0:
        pool.append(letters["wild"])
    while True:
        chance.shuffle(pool)
        at = chance.randrange(len(pool))
        strip = "".join(pool[:at]) + letters["moon"] * MOONS[reel] + "".join(pool[at:])
        around = strip + strip[0]
        if all(left != right or left == letters["moon"] for left, right in pairwise(around)):
            return strip


def changed(rules: Rules, **parts: Any) -> Rules:
    """Return the rules with some parts replaced."""
    return Rules.model_validate({**rules.model_dump(), **parts})


def with_shift(rules: Rules, shift: int) -> Rules:
    """Return the rules with `shift` of the weight of the second Moon value at the first."""
    weights = (WEIGHTS[0] + shift, WEIGHTS[1] - shift, *WEIGHTS[2:])
    return changed(rules, moon_weights={"weights": weights, "assumption": "ALL-2"})


def trimmed(rules: Rules) -> Rules:
    """Return the rules with the shift whose exact return is nearest to the target: the return is linear in it."""
    target = Fraction(rules.rtp_target_x10000, 10_000)
    none, full = with_shift(rules, 0), with_shift(rules, SHIFT_MAX)
    boards = keep_board_counts(none)
    keep_board_counts(full, boards)
    first, last = exact_figures(none).rtp, exact_figures(full).rtp
    found = with_shift(rules, round((first - target) / (first - last) * SHIFT_MAX))
    keep_board_counts(found, boards)
    return found


def figures_text(rules: Rules, exact: Exact, seed: int) -> str:
    """Return the figures as they are committed: the return as a fraction, the rest as decimals."""
    facts: dict[str, Any] = {"command": f"python tools/calibrate_moon_spell.py --seed {seed} --write", "rules_hash": rules.rules_hash}
    facts |= {"rtp": f"{exact.rtp.numerator}/{exact.rtp.denominator}", "rtp_percent": round(float(exact.rtp) * 100, 6)}
    for name, value in exact._asdict().items():
        if name != "rtp":
            facts[name] = [float(part) for part in value] if isinstance(value, tuple) else float(value)
    return json.dumps(facts, indent=1) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make strips and weights, print them with their figures, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    rules = load_rules(FILE)
    assert isinstance(rules, Rules)
    chance = random.Random(options.seed)
    strips = [shuffled_strip(rules, reel, chance) for reel in range(rules.layout.reels)]
    rules = trimmed(changed(rules, strip_sets=[{"name": "base", "assumption": "ALL-2", "strips": strips}]))
    text = FILE.read_text(encoding="utf-8")
    text = re.sub(r"strips = \[.*?\]", "strips = [\n" + "".join(f'    "{strip}",\n' for strip in strips) + "]", text, flags=re.DOTALL)
    text = re.sub(r"(\[moon_weights\]\nweights = ).*", rf"\g<1>{list(rules.moon_weights.weights)}", text)
    figures = figures_text(rules, exact_figures(rules), options.seed)
    print(figures)
    if options.write:
        FILE.write_text(text, encoding="utf-8")
        FIGURES.write_text(figures, encoding="utf-8")


if __name__ == "__main__":
    main()
