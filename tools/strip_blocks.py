"""Strips from blocks of equal symbols by `random.Random`; integers alone, so the same everywhere."""

import random
from collections.abc import Sequence

__all__ = ["are_apart", "block_strip"]


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


def are_apart(strip: str, letter: str, distance: int) -> bool:
    """Return whether a letter's places lie `distance` positions or more apart, the strip taken as a ring."""
    places = [i for i, each in enumerate(strip) if each == letter]
    return all((places[(i + 1) % len(places)] - place - 1) % len(strip) + 1 >= distance for i, place in enumerate(places))


def block_strip(
    draw: random.Random, letters: str, weights: Sequence[int], block_max: int, singles: Sequence[str], length: int, distance: int
) -> str:
    """Return a strip of `length` positions: letters in proportion to `weights` in blocks of 1 to `block_max`, in random order.

    `singles` stand alone on it; the places of the first of them lie `distance` or more apart.
    """
    blocks = list(singles)
    for letter, count in zip(letters, apportion(length - len(singles), weights), strict=True):
        blocks += cut_blocks(draw, letter, count, block_max)
    while True:
        draw.shuffle(blocks)
        part_equal_blocks(draw, blocks)
        strip = "".join(blocks)
        if not singles or are_apart(strip, singles[0], distance):
            return strip
