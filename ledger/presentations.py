"""Presentations: what a client was told to show of a round, and what it says it has shown, each recorded as it was told.

Neither is held against the outcome here: `replay/presentation.py` does that, and says where the two differ.
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from engines.canonical import RecordedEvent, strict_values
from ledger.codec import event_bytes
from ledger.errors import LedgerError, RoundUnknown
from ledger.lifecycle_events import PresentationAcked, PresentationSent
from ledger.rounds import RoundLedger
from ledger.store import EventRow

__all__ = ["Acknowledged", "PresentationRefused", "Shown", "record_acknowledgement", "record_presentation"]

_STARTED, _ENDED, _SENT = "spin_started/1", "spin_ended/1", "presentation_sent/1"
_Event = TypeVar("_Event", bound=RecordedEvent)


class PresentationRefused(LedgerError):
    """What was shown cannot stand in the round's stream."""

    exit_status = 2

    def __init__(self, round_id: str, what: str, want: str, got: str, mend: str) -> None:
        super().__init__(round_id, what, want, got, mend)
        self.round_id, self.what, self.want, self.got, self.mend = round_id, what, want, got, mend

    def __str__(self) -> str:
        return f"{self.what} of round {self.round_id}: want {self.want}, got {self.got}; {self.mend}"


class Shown(NamedTuple):
    """What a client was told to show up to the end of a spin; money in minor units, as it was told.

    through_index: of the `spin_ended` in the round's stream, as `audit export` counts. balance_minor: -1 where none was told.
    manifest_hash: SHA-256 in hex of all that was sent, or empty. sent_at_us: now where None.
    """

    through_index: int
    spin_win_minor: int
    total_win_minor: int
    balance_minor: int = -1
    manifest_hash: str = ""
    sent_at_us: int | None = None


class Acknowledged(NamedTuple):
    """What a client says it has shown of the `presentation_sent` at an index of the round's stream.

    total_win_minor: -1 where it does not say. acked_at_us: now where None.
    """

    sent_index: int
    total_win_minor: int = -1
    acked_at_us: int | None = None


def record_presentation(
    ledger: RoundLedger, round_id: str, shown: Sequence[Shown], *, session_ref: str = "", channel: str = ""
) -> tuple[int, ...]:
    """Record in one append what a client was told to show of a round, and return the index of each event in the round's stream.

    The round may be in play, between two legs, or over. session_ref and channel: of the client. Raises RoundUnknown,
    PresentationRefused where an index is that of no `spin_ended` or a value is none that the record can hold, LedgerReadOnly.
    """
    rows, now = _rows_of(ledger, round_id), ledger.store.clock()
    for each in shown:
        _check_index(round_id, rows, each.through_index, _ENDED, "event shown")
    events = [
        _made(
            round_id,
            PresentationSent,
            through_index=each.through_index,
            spin_index=_spin_of(rows, each.through_index),
            spin_win_minor=each.spin_win_minor,
            total_win_minor=each.total_win_minor,
            balance_minor=each.balance_minor,
            manifest_hash=each.manifest_hash,
            session_ref=session_ref,
            channel=channel,
            sent_at_us=now if each.sent_at_us is None else each.sent_at_us,
        )
        for each in shown
    ]
    return _recorded(ledger, round_id, events)


def record_acknowledgement(ledger: RoundLedger, round_id: str, acked: Sequence[Acknowledged]) -> tuple[int, ...]:
    """Record in one append what a client says it has shown of a round, and return the index of each event; raises as `record_presentation`.

    PresentationRefused where an index is that of no `presentation_sent`.
    """
    rows, now = _rows_of(ledger, round_id), ledger.store.clock()
    for each in acked:
        _check_index(round_id, rows, each.sent_index, _SENT, "event acknowledged")
    events = [
        _made(
            round_id,
            PresentationAcked,
            sent_index=each.sent_index,
            total_win_minor=each.total_win_minor,
            acked_at_us=now if each.acked_at_us is None else each.acked_at_us,
        )
        for each in acked
    ]
    return _recorded(ledger, round_id, events)


def _rows_of(ledger: RoundLedger, round_id: str) -> list[EventRow]:
    rows = ledger.round_events(round_id)
    if not rows:
        raise RoundUnknown(round_id, "it has no events")
    return rows


def _check_index(round_id: str, rows: Sequence[EventRow], index: int, topic: str, what: str) -> None:
    found = rows[index].topic if 0 <= index < len(rows) else "no event"
    if found != topic:
        kind = topic.partition("/")[0]
        there = [place for place, row in enumerate(rows) if row.topic == topic]
        mend = f"they are at {', '.join(map(str, there))}" if there else "there is none in this round so far"
        raise PresentationRefused(round_id, what, f"the index of a {kind} in its stream", f"{index}, {found.partition('/')[0]}", mend)


def _spin_of(rows: Sequence[EventRow], through_index: int) -> int:
    """Return the index of the spin that ends at an event, -1 where none that can be read begins before it."""
    begun = next((strict_values(row.data) for row in reversed(rows[:through_index]) if row.topic == _STARTED), None)
    found = (begun or {}).get("spin_index")
    return found if isinstance(found, int) else -1


def _made(round_id: str, model: type[_Event], **fields: object) -> _Event:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        want = f"a value that the record can hold ({first['msg']})"
        raise PresentationRefused(round_id, f"{name} of what was shown", want, repr(first.get("input"))[:80], "correct it") from error


def _recorded(ledger: RoundLedger, round_id: str, events: Sequence[RecordedEvent]) -> tuple[int, ...]:
    if not events:
        raise PresentationRefused(round_id, "what was shown", "one thing at least", "none", "leave the call out")
    version_first = ledger.store.show_round(round_id, [event_bytes(event) for event in events])
    return tuple(range(version_first - 1, version_first - 1 + len(events)))
