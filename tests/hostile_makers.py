"""The list of hostile files: each by a maker that takes a right pack's bytes."""

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["HOSTILE", "UGLY", "Hostile", "Make", "hostile", "note"]

Make = Callable[[bytes], bytes]
RED, BELL, MIRRORED = "\x1b[31m\x1b[2J\x1b]0;owned\x07", "\x07\x00\x9b", "\u202egnp.\u2066"
UGLY = f"<script>alert(1)</script><img src=x onerror=alert(1)>=cmd|'/c calc'!A1 {MIRRORED} \U0001f3b0 {RED}{BELL}\u2028\nNOTHING FOUND"


class Hostile(NamedTuple):
    """How a file is made of a right pack, the exit statuses that are right for it, and whether it is one of many of its kind."""

    make: Make
    statuses: tuple[int, ...]
    is_one_of_many: bool


HOSTILE: dict[str, Hostile] = {}


def note(name: str, make: Make, *statuses: int, is_one_of_many: bool = False) -> None:
    """Note a maker under a name."""
    assert name not in HOSTILE
    HOSTILE[name] = Hostile(make, statuses, is_one_of_many)


def hostile(*statuses: int) -> Callable[[Make], Make]:
    """Note a maker under its own name."""

    def noted(make: Make) -> Make:
        note(make.__name__, make, *statuses)
        return make

    return noted
