"""Hold and respin: what the Moons of a board are worth, how respins are counted, what the ladder adds; pure functions.

The Moons of a board are one value for each cell in hundredths of the bet, 0 where no Moon lies.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

__all__ = ["Respins", "after_respin", "cash_x100", "ladder_x100", "moon_count", "possible_sums"]


class Respins(NamedTuple):
    """How a bonus stands after a spin: the respins left, whether new Moons set them back, whether it is over."""

    left: int
    is_reset: bool
    is_over: bool


def moon_count(moons: Sequence[int]) -> int:
    """Return how many cells hold a Moon; -1 is one whose value is not known."""
    return len(moons) - moons.count(0)


def cash_x100(moons: Sequence[int]) -> int:
    """Return the combined prize of the Moons whose values are known."""
    return sum(moon for moon in moons if moon > 0)


def possible_sums(moons: Sequence[int], values: Collection[int]) -> frozenset[int]:
    """Return what the Moons may be worth together, each unknown one with one of `values`."""
    sums = {cash_x100(moons)}
    for _ in range(moons.count(-1)):
        sums = {before + value for before in sums for value in values}
    return frozenset(sums)


def after_respin(left: int, landed: int, moons: int, cells: int, spins: int) -> Respins:
    """Return how the bonus stands after a respin in which `landed` Moons came and `moons` of `cells` are held.

    `left` are the respins left before what landed counts; a new Moon sets them back to `spins`, a full board ends the bonus.
    """
    if moons >= cells:
        return Respins(left, False, True)
    if landed > 0:
        return Respins(spins, True, False)
    return Respins(left, False, left <= 0)


def ladder_x100(moons: int, counts: Sequence[int], prizes_x100: Sequence[int], *, is_every_rung: bool = False) -> tuple[int, ...]:
    """Return the prizes of the ladder for a final count of Moons: that of its own rung, or of every rung up to it, lowest first."""
    return tuple(prize for count, prize in zip(counts, prizes_x100, strict=True) if count == moons or (is_every_rung and count < moons))
