"""Corrections: something recorded was wrong, and from here on it is said what it should be (GLI-19, B.3.2).

Nothing is changed in place: what was wrong stays provable, and a verdict still judges what was recorded. A correction stands in the
stream of what it corrects. One of a balance moves the money in the same append.
"""

# ruff: noqa: N818 - as in errors.py

import re
from collections.abc import Sequence
from typing import Any

from engines.canonical import INTEGER_MAX, RecordedEvent
from engines.game import EventBytes
from ledger.accounts import check_text
from ledger.approval import Approval, approval_of
from ledger.codec import event_bytes, parse_event
from ledger.errors import LedgerError, RoundUnknown
from ledger.incidents import TEXT_MAX, find_incident
from ledger.lifecycle_events import CorrectionRecorded, FundsMoved, RoundOpened, RoundSettled
from ledger.references import new_reference
from ledger.rounds import RoundLedger
from ledger.store import AccountRow, EventRow, TextRow
from ledger.texts import salted_text

__all__ = ["BALANCE", "CorrectionRefused", "correct_balance", "correct_round", "corrections_in"]

BALANCE = "balance_minor"
_INTEGER = re.compile("-?[1-9][0-9]{0,15}|0")
_FIXED = ("kind", "v")
_ENDED = ("round_settled/", "round_voided/")


class CorrectionRefused(LedgerError):
    """A correction cannot be recorded as it is asked for."""

    exit_status = 2

    def __init__(self, what: str, want: str, got: str, mend: str) -> None:
        super().__init__(what, want, got, mend)
        self.what, self.want, self.got, self.mend = what, want, got, mend

    def __str__(self) -> str:
        return f"{self.what}: want {self.want}, got {self.got}; {self.mend}"


def corrections_in(rows: Sequence[EventRow]) -> list[CorrectionRecorded]:
    """Return the corrections among the events of a stream, in their order; raises CanonicalFormError, TopicMismatch."""
    events = [parse_event(row) for row in rows if row.topic == "correction_recorded/1"]
    return [event for event in events if isinstance(event, CorrectionRecorded)]


def correct_round(
    ledger: RoundLedger, round_id: str, element: str, after: str, why: str, by: str, approved_by: str, *, incident: str = ""
) -> CorrectionRecorded:
    """Record what an element of a settled round should have been, and return the event. No money is moved.

    element: `round_opened.<field>` or `round_settled.<field>`, of a text or a number. by, approved_by: two people. Raises
    RoundUnknown, CorrectionRefused, ApproverSame, TextInvalid, IncidentUnknown, LedgerReadOnly, VersionConflict.
    """
    approval, reason, incident_id = _terms(ledger, why, by, approved_by, incident)
    rows = ledger.round_events(round_id)
    if not rows:
        raise RoundUnknown(round_id, "it has no events")
    if not any(each.topic.startswith(_ENDED) for each in rows):
        raise CorrectionRefused(f"round {round_id}", "it settled", "it in play", "correct it when it has ended")
    before = _value_of(rows, element)
    _check_after(element, before, after)
    event: CorrectionRecorded | None = None

    def event_of(now: int) -> EventBytes:
        nonlocal event
        event = _event(element, str(before), after, 0, incident_id, reason, approval, now)
        return event_bytes(event)

    ledger.store.correct_round(round_id, len(rows), event_of, texts=[reason, *approval])
    assert event is not None
    return event


def correct_balance(
    ledger: RoundLedger, account_ref: str, amount_minor: int, why: str, by: str, approved_by: str, *, incident: str = ""
) -> CorrectionRecorded:
    """Add to or, below 0, take from an account what it should have had, and return the event of the correction.

    It names the `funds_moved` with reason `correction` that follows it in the same append. Raises AccountUnknown, FundsShort,
    BalanceTooLarge, and otherwise as `correct_round`.
    """
    approval, reason, incident_id = _terms(ledger, why, by, approved_by, incident)
    if not amount_minor:
        raise CorrectionRefused("amount of a correction", "another than 0", "0", "say what the account should have more or less")
    event: CorrectionRecorded | None = None

    def events_of(account: AccountRow, now: int) -> Sequence[EventBytes]:
        nonlocal event
        balance = account.balance_minor + amount_minor
        before, after, version = str(account.balance_minor), str(balance), account.version + 2
        event = _event(BALANCE, before, after, version, incident_id, reason, approval, now)
        moved = FundsMoved(amount_minor=amount_minor, reason="correction", balance_after_minor=balance, moved_at_us=now)
        return [event_bytes(event), event_bytes(moved)]

    ledger.store.correct_account(account_ref, amount_minor, events_of, texts=[reason, *approval])
    assert event is not None
    return event


def _terms(ledger: RoundLedger, why: str, by: str, approved_by: str, incident: str) -> tuple[Approval, TextRow, str]:
    """Return what two corrections have in common: the names, the reason, and the id of an incident or nothing."""
    check_text("--why", why.strip(), is_empty_allowed=False, length_max=TEXT_MAX)
    incident_id = find_incident(ledger.store, incident).event.incident_id if incident else ""
    return approval_of(by, approved_by), salted_text(why.strip()), incident_id


def _event(
    element: str, before: str, after: str, version: int, incident_id: str, reason: TextRow, approval: Approval, now: int
) -> CorrectionRecorded:
    return CorrectionRecorded(
        alteration_id=new_reference(),
        element=element,
        before=before,
        after=after,
        movement_version=version,
        incident_id=incident_id,
        why_hash=reason.text_hash,
        corrected_by_hash=approval.by.text_hash,
        approved_by_hash=approval.approved_by.text_hash,
        corrected_at_us=now,
    )


def _value_of(rows: Sequence[EventRow], element: str) -> str | int:
    """Return what an element of a round is now: as it was recorded, or as it was corrected last."""
    elements: dict[str, Any] = {}
    for row in rows:
        event: RecordedEvent = parse_event(row)
        if isinstance(event, RoundOpened | RoundSettled):
            fields = event.model_dump().items()
            elements.update(
                {f"{event.kind}.{name}": value for name, value in fields if name not in _FIXED and isinstance(value, str | int)}
            )
    if element not in elements:
        names = ", ".join(elements)
        raise CorrectionRefused(f"element {element!r}", "one of the round's", "another", f"choose one of {names}")
    value: str | int = elements[element]
    for correction in corrections_in(rows):
        if correction.element == element:
            value = int(correction.after) if isinstance(value, int) else correction.after
    return value


def _check_after(element: str, before: str | int, after: str) -> None:
    check_text("--after", after)
    if isinstance(before, int) and (not _INTEGER.fullmatch(after) or abs(int(after)) > INTEGER_MAX):
        raise CorrectionRefused(
            f"{element} after the correction", "a whole number, money in minor units", repr(after), "write it as in 200"
        )
    if str(before) == after:
        raise CorrectionRefused(f"{element} after the correction", f"another value than {before}", after, "nothing is to be corrected")
