"""Test rules of Moon Princess Stargazing in which what is rare comes often; never in the registry, each with a hash of its own."""

import random
from typing import Any

from engines.registry import installed_rules
from engines.rules import GameRules
from tests.rules_changes import changed_rules

__all__ = ["ASTRA", "CAPPED", "CLEARING", "CONSTELLATIONS", "FREE", "HIGH", "INSTALLED", "LIMITED", "RARE", "RESONANT", "UNLIT"]

INSTALLED = installed_rules("moon-princess-stargazing", "0.1.0")
ACTING = {"act": 1, "rest": 1}


def strips(seed: int, letters: str) -> list[dict[str, Any]]:
    """Return one set of strips, each a shuffle of `letters` in which a letter may follow itself."""
    chance = random.Random(seed)
    return [{"name": "all", "assumption": "ALL-2", "strips": ["".join(chance.sample(letters, len(letters))) for _ in range(5)]}]


def astra_alone() -> GameRules:
    """Return rules by which every round is one spin that Astra ends with up to nine Power Wilds: the meter is never full."""
    large = {"astra": {"sizes": (1, 2, 4, 9)}}
    weights = {"astra": {"weights": (1, 1, 1, 1)}}
    return changed_rules(
        INSTALLED,
        base_power={"act": 1, "rest": 0},
        meter={"sections": 1000},
        princess_order={"princesses": ("astra", "nova", "star")},
        powers=[power.model_dump() | large.get(power.princess, {}) for power in INSTALLED.powers],
        power_weights=[row.model_dump() | weights.get(row.princess, {}) for row in INSTALLED.power_weights],
    ).with_reading("MPS-9", 1)


# Resonances often, one after another; free spins of every length up to the limit.
RESONANT = changed_rules(INSTALLED, strip_sets=strips(1, "BHTR" * 6 + "ANS" * 3), base_power=ACTING)
# A full meter in nearly every spin: free spins go on to their limit.
FREE = changed_rules(INSTALLED, strip_sets=strips(2, "BHT" * 4 + "ANS" * 3), base_power=ACTING)
CLEARING = changed_rules(INSTALLED, strip_sets=strips(3, "B" * 14 + "H" * 10 + "AN" * 3), base_power=ACTING)
# One or two highlighted cells: all of them are won on often.
CONSTELLATIONS = changed_rules(RESONANT, highlights={"counts": (1, 2)}, highlight_weights={"weights": (1, 1)})
# All cells highlighted: the multiplier climbs to its ceiling.
HIGH = changed_rules(FREE, highlights={"counts": (24, 25)}, highlight_weights={"weights": (1, 1)}, cap={"multiple": 1_000_000})
CAPPED = changed_rules(FREE, cap={"multiple": 60})
LIMITED = changed_rules(RESONANT, resonance_limit={"resonances": 2})
# No multiplier above 1: a round's amount is that of its runs alone.
UNLIT = changed_rules(RESONANT, ceiling={"multiplier": 1})
ASTRA = astra_alone()

# What is rare by the installed rules: the test rules that reach it, and how much of what must be told of a round that does.
RARE: dict[str, tuple[GameRules, str, int]] = {
    "a Resonance won again": (RESONANT, "spin of resonance", 2),
    "free spins of princess 0": (FREE, "choice 0", 1),
    "free spins of princess 1": (FREE, "choice 1", 1),
    "free spins of princess 2": (FREE, "choice 2", 1),
    "clear grid": (CLEARING, "prize clear_grid", 1),
    "constellation": (CONSTELLATIONS, "prize constellation", 1),
    "50 free spins": (FREE, "spin of free", 50),
    "multiplier 100": (HIGH, "multiplier 100", 1),
    "the cap": (CAPPED, "capped", 1),
    "the limit of Resonances": (LIMITED, "limit", 1),
    "Power Wilds": (ASTRA, "power of princess 0", 1),
}
