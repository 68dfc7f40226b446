"""The least that must be wrong for a record to be as it is: a search over how its events may have come about.

A state is a belief about a round up to some event, and what it costs is the findings that it takes. Where an event is not what the
rules want, there are several beliefs (the event alone is wrong; the game went on from it; it is missing; it is one too
many), and what comes later tells which of them needs the fewest findings: one cause gives one, two faults give two.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol, TypeVar

__all__ = ["Belief", "least_explanations"]

SLACKS = (1, 2)  # findings more than the best belief at the same event that one may have and still be followed
WIDTH, WIDTH_LOST = 60, 8  # beliefs followed at one event; where very many findings were made already
LOST_FROM = 20  # findings from which on a record is so wrong that no finer explanation is looked for


class Belief(Protocol):
    """A state of the search: its findings, and what makes two of them the same from here on."""

    @property
    def cost(self) -> tuple[int, int]:
        """The findings made so far, and of beliefs that take as many how unlikely this one is."""

    def key(self) -> object:
        """Return what tells it from others, findings apart."""


B = TypeVar("B", bound=Belief)


def least_explanations(
    start: B, steps: Callable[[B, int], Iterable[tuple[int, B]]], is_end: Callable[[B], bool], length: int, most: int | None = None
) -> list[B]:
    """Return the beliefs about a whole record of `length` events that take the fewest findings, the likeliest first.

    `steps(belief, read)` gives those that may follow after `read` events, each with the number of events it has read:
    as many (an event is missing) or one more. Of two that cost alike the one that was given first counts. most: where
    more findings than that are needed, a belief about the first events alone that has made them.
    """
    ends: list[B] = []
    for slack in SLACKS:
        ends = _ends(start, steps, is_end, length, slack, most)
        if most is not None and ends[0].cost[0] > most:
            break
        if ends[0].cost[0] <= slack or ends[0].cost[0] >= LOST_FROM:  # none better was left out
            break
    return ends


def _ends(
    start: B,
    steps: Callable[[B, int], Iterable[tuple[int, B]]],
    is_end: Callable[[B], bool],
    length: int,
    slack: int,
    most: int | None,
) -> list[B]:
    serial = count()
    layers: list[list[tuple[tuple[int, int], int, B]]] = [[] for _ in range(length + 1)]
    heappush(layers[0], (start.cost, next(serial), start))
    ends: list[B] = []
    beyond = start
    for read, layer in enumerate(layers):
        seen: set[object] = set()
        least: int | None = None  # findings of the best belief that gets past this event
        while layer:
            cost, _, belief = heappop(layer)
            if most is not None and cost[0] > most:
                beyond = belief
                break
            width = WIDTH if cost[0] < LOST_FROM else WIDTH_LOST
            if least is not None and (cost[0] > least + slack or len(seen) >= width):
                break
            key = belief.key()
            if key in seen:
                continue
            seen.add(key)
            if read == length and is_end(belief):
                if ends and cost > ends[0].cost:
                    break
                ends.append(belief)
                continue
            for after, following in steps(belief, read):
                heappush(layers[after], (following.cost, next(serial), following))
                if after > read and least is None:
                    least = cost[0]
        layer.clear()
    return ends or [beyond]
