"""A round followed event by event: a right one once, any other by the least that must be wrong for it to be as it is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

from engines.game_events import GameEvent
from replay.referee.belief import RoundBelief
from replay.referee.explanation import least_explanations
from replay.referee.notebook import note
from replay.referee.walk import RoundTerms

__all__ = ["EventWalk"]

AHEAD_MAX = 8
Placed = tuple[int, GameEvent]
B = TypeVar("B", bound=RoundBelief)


class EventWalk(ABC, Generic[B]):
    """The events of one round, and what may be believed after each; a kind of game says what is due and what may be wrong."""

    def __init__(self, events: Sequence[Placed], terms: RoundTerms) -> None:
        self.events, self.is_complete, self.findings_max = events, terms.is_complete, terms.findings_max

    @abstractmethod
    def is_end(self, belief: B) -> bool:
        """Return whether the round may end here."""

    @abstractmethod
    def due(self, belief: B, kind: str) -> B | None:
        """Return the belief in which an event of this kind comes next, None where it does not."""

    @abstractmethod
    def taken(self, belief: B, index: int, event: GameEvent, ahead: int, *, is_plain: bool) -> list[B]:
        """Return what may be believed after an event of the kind that is due; `ahead` is the place of the one after it."""

    @abstractmethod
    def departures(self, belief: B, read: int, index: int, event: GameEvent | None) -> list[tuple[int, B]]:
        """Return the beliefs that something is missing, too many or otherwise at this event; each with the events then read."""

    def explanations(self, start: B) -> list[B]:
        """Return what may be believed of the whole round, by the fewest findings."""
        end = self.plain(start)
        if end is not None:
            return [end]
        return least_explanations(start, self.steps, self.is_end, len(self.events), self.findings_max)

    def plain(self, belief: B) -> B | None:
        """Return the belief after a round without a fault, None where there is one."""
        for read, (index, event) in enumerate(self.events):
            due = self.due(belief, event.kind)
            after = self.taken(due, index, event, read + 1, is_plain=True) if due is not None else ()
            if not after or after[0].findings:
                return None
            belief = after[0]
        return belief if self.is_end(belief) else None

    def steps(self, belief: B, read: int) -> list[tuple[int, B]]:
        """Return what may be believed next, after `read` events, with the number of events then read."""
        if belief.swap:
            return self._swapped(belief, read)
        index, event = self.at(read)
        found: list[tuple[int, B]] = []
        due = self.due(belief, event.kind) if event is not None else None
        if event is not None and due is not None:
            taken = self.taken(due, index, event, read + 1, is_plain=False)
            found = [(read + 1, each) for each in taken]
            if any(len(each.findings) == len(belief.findings) for each in taken):
                return found
        if event is not None:
            found += self._swapped(cast(B, cast(Any, belief)._replace(swap=1)), read)
        return found + self.departures(belief, read, index, event)

    def at(self, place: int) -> tuple[int, GameEvent | None]:
        """Return the event at a place with its index in the stream; outside of the round none."""
        if 0 <= place < len(self.events):
            return self.events[place]
        return (self.events[-1][0] if self.events else -1), None

    def ahead(self, place: int) -> list[GameEvent]:
        """Return the next few events from a place on."""
        return [each for _, each in self.events[place : place + AHEAD_MAX]]

    def _swapped(self, belief: B, read: int) -> list[tuple[int, B]]:
        """Return the belief that two events changed places: the later one fits here, then the earlier one."""
        first = belief.swap == 1
        index, event = self.at(read + 1 if first else read - 1)
        due = self.due(belief, event.kind) if event is not None else None
        if event is None or due is None:
            return []
        taken = self.taken(due, index, event, read + 1, is_plain=True)
        if not taken or len(taken[0].findings) > len(belief.findings):
            return []
        after: Any = taken[0]
        if not first:
            return [(read + 1, after._replace(swap=0))]
        index, passed = self.at(read)
        assert passed is not None
        want, got = f"{event.kind} before {passed.kind}", f"{passed.kind} at index {index}"
        found = note("event_order", "integrity", index, belief.spin, f"event {passed.kind}", what="order", want=want, got=got)
        return [(read + 1, after._replace(swap=2, findings=(*after.findings, found)))]
