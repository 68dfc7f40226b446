"""Choices in a round's stream: each offer that play went beyond has one `choice_made` behind it, of what it offers."""

from collections.abc import Sequence
from typing import NamedTuple

from engines.canonical import RecordedEvent
from engines.game_events import GAME_EVENTS, ChoiceOffered
from ledger.lifecycle_events import ChoiceMade, RoundSettled
from replay.verdict import Finding

__all__ = ["ChoiceOrder", "check_choices"]


class ChoiceOrder(NamedTuple):
    """What is wrong with the order of offers and choices, and what may have been chosen.

    findings: each with the indexes of the events that it is about; one that the referee speaks of as well is of the same cause.
    options: for each offer that play went beyond, the choice made, or all that were offered where none is that was.
    made_at: for each of these the index of its `choice_made`, -1 where there is none.
    """

    findings: list[tuple[Finding, frozenset[int]]]
    options: tuple[tuple[int, ...], ...]
    made_at: tuple[int, ...]


class _Order:
    """Follows the events of a round that say something of choices."""

    def __init__(self) -> None:
        self.findings: list[tuple[Finding, frozenset[int]]] = []
        self.options: list[tuple[int, ...]] = []
        self.made_at: list[int] = []
        self._offer: tuple[int, tuple[int, ...]] | None = None  # that nobody has answered: index and choices
        self._last = (-1, "")  # index and kind of the event before

    def take(self, index: int, event: RecordedEvent) -> None:
        """Take the next event."""
        if isinstance(event, ChoiceMade):
            self._take_choice(index, event)
        elif event.kind in GAME_EVENTS or isinstance(event, RoundSettled):
            if self._offer is not None:
                self._note("choice_missing", index, f"a choice_made behind the offer of event {self._offer[0]}", event.kind)
                self._go_on(self._offer[1], -1)
            if isinstance(event, ChoiceOffered):
                self._offer = (index, event.choices)
        else:
            return  # an interruption or a presentation may lie between
        self._last = (index, event.kind)

    def _take_choice(self, index: int, event: ChoiceMade) -> None:
        if self._offer is None:
            code, got = ("choice_doubled", "another") if self._last[1] == "choice_made" else ("choice_invented", "one that nothing offers")
            self._note(code, index, "a choice_made for each offer", got)
        elif event.choice not in self._offer[1]:
            self._note("choice_not_offered", index, f"one of {', '.join(map(str, self._offer[1]))}", str(event.choice))
            self._go_on(self._offer[1], index)
        else:
            self._go_on((event.choice,), index)

    def _go_on(self, options: tuple[int, ...], made_at: int) -> None:
        self.options.append(options)
        self.made_at.append(made_at)
        self._offer = None

    def _note(self, code: str, index: int, want: str, got: str) -> None:
        where = "choice_made" if code != "choice_not_offered" else "choice of choice_made"
        finding = Finding(code, "integrity", index, -1, where, want, got, f"{where}: want {want}, got {got}")
        about = {index, self._last[0]} if self._offer is None else {self._offer[0]}
        self.findings.append((finding, frozenset(about | ({index + 1} if code == "choice_invented" else set()))))


def check_choices(events: Sequence[tuple[int, RecordedEvent]]) -> ChoiceOrder:
    """Return what is wrong with offers and choices among a round's events, each given with its index in the round's stream."""
    order = _Order()
    for index, event in events:
        order.take(index, event)
    return ChoiceOrder(order.findings, tuple(order.options), tuple(order.made_at))
