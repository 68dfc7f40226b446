"""What a player is asked within a round: each `choice_made` stands behind the `choice_offered` that it answers.

A round goes on from the same key whatever is chosen, so that nobody chooses an outcome; while it waits nothing of its key
is shown (`ledger/disclosure.py`).
"""

# ruff: noqa: N818 - as in errors.py

import json
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from engines.game import EventBytes, Outcome
from ledger.bets import Game, Opened
from ledger.codec import event_bytes, is_game_topic
from ledger.errors import LedgerError
from ledger.lifecycle_events import ChoiceMade
from ledger.store import EventRow

__all__ = [
    "MADE",
    "OFFERED",
    "ChoiceConflict",
    "ChoiceNotOffered",
    "Chosen",
    "LegMismatch",
    "check_choices",
    "events_of_leg",
    "made_choices",
    "offered_by",
    "play_out",
]

OFFERED, MADE = "choice_offered/1", "choice_made/1"
MadeBy: TypeAlias = Literal["player", "system"]


class ChoiceNotOffered(LedgerError):
    """A choice that the round does not offer."""

    exit_status = 2

    def __init__(self, round_id: str, choice: int, offered: Sequence[int]) -> None:
        super().__init__(round_id, choice, tuple(offered))
        self.round_id, self.choice, self.offered = round_id, choice, tuple(offered)

    def __str__(self) -> str:
        wanted = ", ".join(map(str, self.offered))
        mend = "choose one of these" if wanted else "leave the choice out"
        return f"choice of round {self.round_id}: want {f'one of {wanted}' if wanted else 'none'}, got {self.choice}; {mend}"


class ChoiceConflict(LedgerError):
    """A round that has gone on with one choice is to go on with another."""

    exit_status = 2

    def __init__(self, round_id: str, made: Sequence[int], given: Sequence[int]) -> None:
        super().__init__(round_id, tuple(made), tuple(given))
        self.round_id, self.made, self.given = round_id, tuple(made), tuple(given)

    def __str__(self) -> str:
        made, given = (", ".join(map(str, choices)) for choices in (self.made, self.given))
        return f"choices of round {self.round_id}: want {made}, which the record holds, got {given}; what is made stays made"


class LegMismatch(LedgerError):
    """What is recorded of a round that waits is not what its seed leads to."""

    def __init__(self, round_id: str, event_index: int, wanted: str, found: str) -> None:
        super().__init__(round_id, event_index, wanted, found)
        self.round_id, self.event_index, self.wanted, self.found = round_id, event_index, wanted, found

    def __str__(self) -> str:
        return (
            f"event {self.event_index} of round {self.round_id}: want {self.wanted}, got {self.found}; the round is left as it is, "
            f"see `audit verify --round {self.round_id}`"
        )


class Chosen(NamedTuple):
    """A choice, by its place in the rules file's list, and who made it."""

    choice: int
    made_by: MadeBy


def offered_by(events: Sequence[EventBytes] | Sequence[EventRow]) -> list[tuple[int, ...]]:
    """Return what each `choice_offered` among the events offers."""
    return [tuple(json.loads(event.data)["choices"]) for event in events if event.topic == OFFERED]


def made_choices(events: Sequence[EventRow]) -> tuple[Chosen, ...]:
    """Return the choices that are recorded, in order."""
    made = [json.loads(event.data) for event in events if event.topic == MADE]
    return tuple(Chosen(each["choice"], each["made_by"]) for each in made)


def check_choices(opened: Opened, given: Sequence[int] | None) -> None:
    """Raise ChoiceConflict where the record of a round holds other choices than those given; None stands for whatever it holds."""
    made = [choice for choice, _ in made_choices(opened.later)]
    if given is not None and any(choice != wanted for choice, wanted in zip(given, made, strict=False)):
        raise ChoiceConflict(opened.round_id, made, given)


def play_out(game: Game, opened: Opened, given: Sequence[int] | None, *, is_left: bool) -> tuple[Outcome, tuple[Chosen, ...]]:
    """Return the outcome of an opened round and the choices that it took.

    given: what the player chose, in order, those recorded before included; where it ends the first of those offered is taken
    for the system, or the round is left waiting. Raises ChoiceNotOffered, ChoiceConflict, LegMismatch.
    """
    check_choices(opened, given)
    event, made = opened.event, made_choices(opened.later)
    chosen = [*made, *(Chosen(choice, "player") for choice in (given or ())[len(made) :])]
    for choice, _ in chosen:
        if choice not in range(len(game.rules.choice_names)):
            raise ChoiceNotOffered(opened.round_id, choice, range(len(game.rules.choice_names)))
    while True:
        outcome = game.play(opened.key, event.mode, event.bet_minor, dict(event.state_in), [choice for choice, _ in chosen])
        _check_leg(opened, outcome)
        offers = offered_by(outcome.events)
        for (choice, _), offered in zip(chosen, offers, strict=False):
            if choice not in offered:
                raise ChoiceNotOffered(opened.round_id, choice, offered)
        if is_left or not outcome.wants_choice:
            return outcome, tuple(chosen[: len(offers)])
        chosen.append(Chosen(offers[-1][0], "system"))


def _check_leg(opened: Opened, outcome: Outcome) -> None:
    """Raise LegMismatch unless the game events that are recorded are byte for byte the first of the outcome."""
    recorded = [row for row in opened.later if is_game_topic(row.topic)]
    for place, row in enumerate(recorded):
        wanted = outcome.events[place] if place < len(outcome.events) else None
        if wanted != EventBytes(row.topic, row.data):
            topics = (f"the {wanted.topic} that its seed leads to" if wanted else "no further event", f"another {row.topic}")
            raise LegMismatch(opened.round_id, row.version - 1, *topics)


def events_of_leg(
    opened: Opened, outcome: Outcome, chosen: Sequence[Chosen], now: int, *, session_ref: str, channel: str
) -> Iterator[EventBytes]:
    """Yield what an outcome adds to what is recorded of its round: game events, and each choice behind the one that offers it.

    session_ref and channel: of the player's choices.
    """
    recorded = sum(is_game_topic(row.topic) for row in opened.later)
    made, offers = len(made_choices(opened.later)), 0
    for place, event in enumerate(outcome.events):
        if place >= recorded:
            yield event
        if event.topic == OFFERED:
            offers += 1
            if made < offers <= len(chosen):
                choice, made_by = chosen[offers - 1]
                terms = (session_ref, channel) if made_by == "player" else ("", "")
                yield event_bytes(ChoiceMade(choice=choice, made_by=made_by, session_ref=terms[0], channel=terms[1], made_at_us=now))
