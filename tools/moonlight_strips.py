"""Strips for Moonlight Princess, from symbol counts and block lengths by `random.Random`; integers alone, so the same everywhere."""

import random
from typing import NamedTuple

from tools.strip_blocks import block_strip

STRIP_LENGTH = 120
SCATTER_LETTER, HEART_LETTER = "P", "H"
SCATTER_DISTANCE = 15  # positions between two scatters of a strip, at least


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


def make_strip(draw: random.Random, letters: str, plan: StripPlan, reel: int) -> str:
    """Return one strip of `plan`, its blocks in random order."""
    singles = [SCATTER_LETTER] * plan.scatter_counts[reel] + [HEART_LETTER] * plan.heart_counts[reel]
    distance = SCATTER_DISTANCE if plan.scatter_counts[reel] else 0
    return block_strip(draw, letters, plan.symbol_weights, plan.block_lengths[reel], singles, STRIP_LENGTH, distance)


def make_strips(seed: int, number: int, letters: str, plan: StripPlan) -> tuple[str, ...]:
    """Return the strips of shuffle `number` of a plan; the same numbers give the same strips."""
    draw = random.Random((seed * len(PLANS) + PLANS.index(plan)) * 1000 + number)
    return tuple(make_strip(draw, letters, plan, reel) for reel in range(len(plan.scatter_counts)))
