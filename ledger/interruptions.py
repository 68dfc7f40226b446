"""Interruptions: a round stands still between two legs, its cost held, until it goes on to the same game events.

Who may go on with it, and until when, is what the profile says that the round was opened under.
"""

# ruff: noqa: N818 - as in errors.py

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from engines.game import EventBytes
from ledger.bets import Opened
from ledger.codec import event_bytes
from ledger.errors import LedgerError, RoundNotOpen, TextInvalid
from ledger.legs import is_completed_by_system, standing_of, won_so_far
from ledger.lifecycle_events import InterruptionCause, RoundInterrupted, RoundOpened, RoundResumed
from ledger.named_profiles import governing_profile
from ledger.pausing import Pausing
from ledger.profile import Profile
from ledger.store import EventRow

__all__ = ["CAUSES", "Due", "RoundOverdue", "check_not_void", "due_of", "interrupt_round", "resume_interrupted", "stopped_at"]

CAUSES: tuple[InterruptionCause, ...] = InterruptionCause.__args__  # type: ignore[attr-defined]
_DAY_US, _HOUR_US = 86_400_000_000, 3_600_000_000


class RoundOverdue(LedgerError):
    """A round is to go on that its profile has void by now."""

    exit_status = 2

    def __init__(self, round_id: str, profile: str, days: int) -> None:
        super().__init__(round_id, profile, days)
        self.round_id, self.profile, self.days = round_id, profile, days

    def __str__(self) -> str:
        want = f"one opened less than {self.days} days ago, as profile {self.profile} says"
        return f"round {self.round_id} to go on with: want {want}, got an older one; end it with `audit void --round {self.round_id}`"


class Due(NamedTuple):
    """What a profile has happen to a round that is not resumed, and from when on.

    `decide` is the deadline of a round that waits for its player: what then happens two people say.
    """

    action: Literal["complete", "void", "decide"]
    at_us: int


def due_of(opened: RoundOpened, profile: Profile, stopped_at_us: int) -> Due:
    """Return what comes next for a round in play; stopped_at_us: when it was cut off, or recorded last where nobody said that."""
    if profile.not_resumed.action == "complete":
        return Due("complete", stopped_at_us + profile.not_resumed.after_hours * _HOUR_US)
    deadline = opened.opened_at_us + profile.void_deadline.days * _DAY_US
    return Due("void" if profile.not_resumed.action == "void" else "decide", deadline)


def check_not_void(store: Pausing, opened: Opened) -> None:
    """Raise RoundOverdue where the profile of a round in play has it void by now; and as `governing_profile`."""
    profile = governing_profile(store, opened.event)
    due = due_of(opened.event, profile, 0)
    if due.action == "void" and store.clock() >= due.at_us:
        raise RoundOverdue(opened.round_id, profile.name, profile.void_deadline.days)


def interrupt_round(
    store: Pausing, opened: Opened, cause: InterruptionCause, *, broke_at_us: int | None = None, acked_index: int = -1, acked_at_us: int = 0
) -> RoundInterrupted:
    """Record that a round stopped where it is, and return the event; its cost is held, and its account plays on as its profile says.

    broke_at_us: when it was cut off, now where None. acked_index, acked_at_us: the event that the player's device has acknowledged
    last and when, -1 and 0 where none. Raises RoundNotOpen, TextInvalid for a time or an event that cannot be,
    VersionConflict, and as `governing_profile`.
    """
    standing = standing_of(opened.later)
    if standing not in ("open", "waiting"):
        raise RoundNotOpen(opened.round_id, standing)
    blocks = governing_profile(store, opened.event).interruption.blocks
    _check_times(store, opened, broke_at_us, acked_index, acked_at_us)
    event: RoundInterrupted | None = None

    def event_of(now: int) -> EventBytes:
        nonlocal event
        event = RoundInterrupted(
            cause=cause,
            acked_index=acked_index,
            acked_at_us=acked_at_us,
            broke_at_us=now if broke_at_us is None else broke_at_us,
            blocks=blocks,
            held_minor=opened.event.cost_minor,
            won_minor=won_so_far(opened.later),
            interrupted_at_us=now,
        )
        return event_bytes(event)

    store.interrupt_round(opened.round_id, 1 + len(opened.later), event_of, frees_slot=blocks == "own_game")
    assert event is not None
    return event


def _check_times(store: Pausing, opened: Opened, broke_at_us: int | None, acked_index: int, acked_at_us: int) -> None:
    first, now = opened.event.opened_at_us, store.clock()
    for name, moment in (("time of the break", broke_at_us), ("time of the acknowledgement", acked_at_us or None)):
        if moment is not None and not first <= moment <= now:
            raise TextInvalid(name, f"one from the round's opening at {first} to now, {now}, in microseconds", str(moment))
    if not -1 <= acked_index <= len(opened.later):
        raise TextInvalid("event acknowledged", f"an index from 0 to {len(opened.later)}, or -1", str(acked_index))
    if (acked_index < 0) != (acked_at_us == 0):
        raise TextInvalid("time of the acknowledgement", "one where an event was acknowledged, and none where none was", str(acked_at_us))


def stopped_at(later: Sequence[EventRow], recorded_at_us: int) -> int:
    """Return when a round in play stopped: when it was cut off where it is interrupted, else when it was recorded last.

    One that the system has gone on with and not ended is as it was before.
    """
    if standing_of(later) != "interrupted" and not is_completed_by_system(later):
        return recorded_at_us
    return max(int(json.loads(row.data)["broke_at_us"]) for row in later if row.topic.startswith("round_interrupted/"))


def resume_interrupted(
    store: Pausing, opened: Opened, resumed_by: Literal["player", "system"], *, session_ref: str = "", channel: str = ""
) -> RoundResumed:
    """Record that an interrupted round goes on, and return the event; it takes its account's slot again.

    Raises RoundNotOpen where it is not interrupted, RoundInPlay where the account plays another round, VersionConflict.
    """
    event: RoundResumed | None = None

    def event_of(now: int) -> EventBytes:
        nonlocal event
        event = RoundResumed(resumed_by=resumed_by, session_ref=session_ref, channel=channel, resumed_at_us=now)
        return event_bytes(event)

    before = [row for row in opened.later if not row.topic.startswith("round_interrupted/")]
    status = "waiting" if standing_of(before) == "waiting" else "open"
    store.resume_round(opened.round_id, 1 + len(opened.later), event_of, status=status)
    assert event is not None
    return event
