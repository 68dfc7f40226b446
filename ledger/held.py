"""Held funds: what the rounds in play of a ledger have cost, and what comes next for each (GLI-19, 2.9.2(i) and 4.16.2)."""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Iterator
from typing import NamedTuple

from ledger.bets import Game, Played, check_game
from ledger.codec import parse_event
from ledger.errors import LedgerError, RoundNotOpen, RoundUnknown
from ledger.interruptions import CAUSES, Due, due_of, interrupt_round, resume_interrupted, stopped_at
from ledger.legs import Standing, is_completed_by_system, standing_of, went_on_at, won_so_far
from ledger.lifecycle_events import InterruptionCause, RoundInterrupted, RoundOpened
from ledger.named_profiles import governing_profile
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM, RoundRecord

__all__ = ["CompletionRefused", "HeldRound", "complete_round", "held_round", "held_rounds"]


class CompletionRefused(LedgerError):
    """The system is to complete a round that its profile leaves alone, or leaves alone for some time yet."""

    exit_status = 2

    def __init__(self, held: "HeldRound") -> None:
        super().__init__(held)
        self.held = held

    def __str__(self) -> str:
        place = f"round {self.held.round_id} to be completed by the system"
        if self.held.due.action == "complete":
            hours = (self.held.due.at_us - self.held.stopped_at_us) // 3_600_000_000
            want = f"one that stands still for {hours} hours"
            return f"{place}: want {want}, as profile {self.held.profile} says, got one that has not for so long; wait for it"
        return f"{place}: want a profile that says so, got {self.held.profile}; the player goes on with it, or it is void at its deadline"


class HeldRound(NamedTuple):
    """A round in play: what is held for it, since when it stands still, and what its profile says comes next.

    Money in minor units, bonus money in the cost included; times in microseconds. cause is empty where it is not interrupted.
    """

    round_id: str
    opened: RoundOpened
    standing: Standing
    cause: InterruptionCause | None
    held_minor: int
    won_minor: int
    stopped_at_us: int
    profile: str
    due: Due

    def is_due(self, now_us: int) -> bool:
        """Return whether it has come to that, at a time."""
        return now_us >= self.due.at_us


def held_rounds(ledger: RoundLedger, account_ref: str = "") -> Iterator[HeldRound]:
    """Yield the rounds in play, of an account or of all, in the order of their ids; raises as `held_round`."""
    streams = [ROUND_STREAM + round_id for round_id in ledger.store.rounds_in_play()]
    for record in ledger.store.records_of(streams):
        held = held_round(ledger, record)
        if held is not None and account_ref in ("", held.opened.account_ref):
            yield held


def held_round(ledger: RoundLedger, record: RoundRecord) -> HeldRound | None:
    """Return a round as it is held, None where it is over.

    Raises RoundUnknown where its opening cannot be read, CanonicalFormError and TopicMismatch for altered events, and as
    `governing_profile`.
    """
    event, later = parse_event(record.events[0]) if record.events else None, record.events[1:]
    if not isinstance(event, RoundOpened):
        raise RoundUnknown(record.round_id, "it has no opening")
    standing = standing_of(later)
    if standing in ("settled", "voided"):
        return None
    profile = governing_profile(ledger.store, event)
    stopped = stopped_at(later, went_on_at(record) or event.opened_at_us)
    causes = [each.cause for each in map(parse_event, later) if isinstance(each, RoundInterrupted)]
    cause = causes[-1] if causes and standing == "interrupted" else None
    due = due_of(event, profile, stopped)
    return HeldRound(record.round_id, event, standing, cause, event.cost_minor, won_so_far(later), stopped, profile.name, due)


def complete_round(ledger: RoundLedger, round_id: str, game: Game) -> Played:
    """Have the system play a round to its end, with the first of what is offered where a choice is left (ALL-4).

    One that nobody said was interrupted is recorded as that first, as of its last leg; a completion that was cut off goes on.
    Raises CompletionRefused where its profile does not say so, or not yet, and as `RoundLedger.finish_round`.
    """
    opened = ledger.recorded(round_id)
    held = held_round(ledger, next(iter(ledger.store.records_of([ROUND_STREAM + round_id]))))
    if held is None:
        raise RoundNotOpen(round_id, standing_of(opened.later))
    if held.due.action != "complete" or not held.is_due(ledger.store.clock()):
        raise CompletionRefused(held)
    check_game(opened, game)
    standing = standing_of(opened.later)
    if standing in ("open", "waiting") and not is_completed_by_system(opened.later):
        interrupt_round(ledger.store, opened, CAUSES[-1], broke_at_us=held.stopped_at_us)
        opened = ledger.recorded(round_id)
        standing = standing_of(opened.later)
    if standing == "interrupted":
        resume_interrupted(ledger.store, opened, "system", channel="system")
    return ledger.finish_for_player(ledger.recorded(round_id), game)
