"""What every game offers to those who play, replay or simulate it."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["EventBytes", "Outcome"]


class EventBytes(NamedTuple):
    """One game event as it is recorded: its topic `<kind>/<v>` and its canonical bytes."""

    topic: str
    data: bytes


class Outcome(NamedTuple):
    """All that a round came to, in the order in which it happened. Money in minor units."""

    events: Sequence[EventBytes]
    total_win_minor: int
    base_win_minor: int  # the award of spin 0
    feature_win_minor: int  # the rest
    ended: str  # played, capped or limit
    state_out: dict[str, int]
    words_used: int  # random words taken, rejected ones included
