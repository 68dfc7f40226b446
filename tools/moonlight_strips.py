"""Strips for Moonlight Princess, from symbol counts and block lengths by `random.Random`; integers alone, so the same everywhere."""

import random
from collections.abc import Sequence
from typing import NamedTuple

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
