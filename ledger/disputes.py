"""Disputes: complaints about rounds, each opened when it came in and closed by two people with an answer (GLI-19, A.4.4).

Claim and answer are free texts and may hold personal data: they stand outside the tree, in it their salted hashes.
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from engines.canonical import RecordedEvent
from ledger.accounts import check_text
from ledger.approval import approval_of
from ledger.codec import event_bytes, parse_event
from ledger.errors import LedgerError
from ledger.incidents import ROUNDS_MAX, TEXT_MAX
from ledger.lifecycle_events import DisputeClosed, DisputeOpened
from ledger.profile import Profile
from ledger.references import new_reference, utc_text
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM, EventRow, Store
from ledger.texts import salted_text

__all__ = [
    "DAY_US",
    "DECISIONS",
    "AnswerTime",
    "Decision",
    "Dispute",
    "DisputeRefused",
    "DisputeUnknown",
    "answer_time",
    "close_dispute",
    "disputes",
    "disputes_among",
    "disputes_in",
    "find_dispute",
    "open_dispute",
]

Decision = Literal["upheld", "rejected", "settled", "withdrawn"]
DECISIONS: tuple[Decision, ...] = Decision.__args__  # type: ignore[attr-defined]
DAY_US = 24 * 3600 * 10**6
_ID_MIN = 8
_TOPICS = ("dispute_opened/1", "dispute_closed/1")


class DisputeUnknown(LedgerError):
    """No dispute is meant by this, or more than one."""

    exit_status = 2

    def __init__(self, wanted: str, count: int) -> None:
        super().__init__(wanted, count)
        self.wanted, self.count = wanted, count

    def __str__(self) -> str:
        return f"dispute {self.wanted}: want one by its id or {_ID_MIN} characters of it, got {self.count}; see `audit dispute list`"


class DisputeRefused(LedgerError):
    """A dispute cannot be opened or closed as it is asked for."""

    exit_status = 2

    def __init__(self, what: str, want: str, got: str, mend: str) -> None:
        super().__init__(what, want, got, mend)
        self.what, self.want, self.got, self.mend = what, want, got, mend

    def __str__(self) -> str:
        return f"{self.what}: want {self.want}, got {self.got}; {self.mend}"


class Dispute(NamedTuple):
    """A dispute as recorded: its opening, its closing, None while it is open."""

    opened: DisputeOpened
    closed: DisputeClosed | None

    @property
    def dispute_id(self) -> str:
        """Its id."""
        return self.opened.dispute_id


class AnswerTime(NamedTuple):
    """Until when a dispute is to be answered, the last moment in time, and the profile that says so."""

    due_at_us: int
    profile: Profile


def answer_time(dispute: Dispute, profiles: Iterable[Profile | None]) -> AnswerTime | None:
    """Return the answer time of a dispute by the strictest of its rounds' profiles; None where none of them is known.

    A calendar day is the 24 hours that follow, whatever the time zone: nobody's day is shorter.
    """
    known = [profile for profile in profiles if profile is not None]
    if not known:
        return None
    strictest = min(known, key=lambda profile: profile.answer.within_days)
    return AnswerTime(dispute.opened.received_at_us + strictest.answer.within_days * DAY_US, strictest)


def disputes(store: Store) -> list[Dispute]:
    """Return the disputes in the order of the record; raises CanonicalFormError, TopicMismatch for altered events."""
    return disputes_in(store.stream_events(LEDGER_STREAM))


def disputes_in(rows: Sequence[EventRow]) -> list[Dispute]:
    """Return the disputes among the events of the ledger's own stream; raises as `disputes`."""
    return disputes_among(parse_event(row) for row in rows if row.topic in _TOPICS)


def disputes_among(events: Iterable[RecordedEvent]) -> list[Dispute]:
    """Return the disputes that events in their order make; a second opening or closing of one changes nothing."""
    found: dict[str, Dispute] = {}
    for event in events:
        if isinstance(event, DisputeOpened):
            found.setdefault(event.dispute_id, Dispute(event, None))
        elif isinstance(event, DisputeClosed) and event.dispute_id in found and found[event.dispute_id].closed is None:
            found[event.dispute_id] = found[event.dispute_id]._replace(closed=event)
    return list(found.values())


def find_dispute(store: Store, wanted: str) -> Dispute:
    """Return the dispute meant by an id or its first eight characters or more; raises DisputeUnknown, and as `disputes`."""
    return _found(disputes(store), wanted)


def _found(known: Sequence[Dispute], wanted: str) -> Dispute:
    found = [each for each in known if len(wanted) >= _ID_MIN and each.dispute_id.startswith(wanted)]
    if len(found) != 1:
        raise DisputeUnknown(wanted, len(found))
    return found[0]


def open_dispute(
    ledger: RoundLedger, rounds: Sequence[str], claim: str, received_at_us: int, by: str, *, claimant: str = ""
) -> DisputeOpened:
    """Record that a complaint came in, and return its event.

    rounds: those that it concerns, each by anything that `RoundLedger.find_round` takes. received_at_us: when it came in. by: a
    name, kept beside the record and in it by salted hash. claimant: name or reference of an account, empty for none. Raises
    DisputeRefused, RoundUnknown, RoundAmbiguous, AccountUnknown, TextInvalid, LedgerReadOnly, VersionConflict.
    """
    claim, by, now = claim.strip(), by.strip(), ledger.store.clock()
    check_text("--claim", claim, is_empty_allowed=False, length_max=TEXT_MAX)
    check_text("--by", by, is_empty_allowed=False)
    if not 0 <= received_at_us <= now:
        want = f"a time up to {utc_text(now)}, which is now"
        raise DisputeRefused("receipt of a dispute", want, utc_text(received_at_us), "say when it came in")
    version = len(ledger.store.stream_events(LEDGER_STREAM)) + 1
    round_ids = tuple(dict.fromkeys(ledger.find_round(wanted) for wanted in rounds))
    if not 1 <= len(round_ids) <= ROUNDS_MAX:
        raise DisputeRefused("rounds of a dispute", f"1 to {ROUNDS_MAX}", str(len(round_ids)), "open several disputes for more")
    texts = (salted_text(claim), salted_text(by))
    event = DisputeOpened(
        dispute_id=new_reference(),
        round_ids=round_ids,
        claimant_ref=ledger.account(claimant).account_ref if claimant else "",
        claim_hash=texts[0].text_hash,
        received_at_us=received_at_us,
        recorded_by_hash=texts[1].text_hash,
        recorded_at_us=now,
    )
    ledger.store.append_events(LEDGER_STREAM, version, [event_bytes(event)], texts=texts)
    return event


def close_dispute(
    ledger: RoundLedger, wanted: str, answer: str, decision: Decision, by: str, approved_by: str, *, answered_at_us: int | None = None
) -> DisputeClosed:
    """Record how a dispute was answered, and return its event; it holds no round from here on.

    by, approved_by: names of two people. answered_at_us: when the answer went out, now where it is None. Raises DisputeUnknown,
    DisputeRefused, ApproverSame, TextInvalid, LedgerReadOnly, VersionConflict.
    """
    approval, answer, now = approval_of(by, approved_by), answer.strip(), ledger.store.clock()
    check_text("--answer", answer, is_empty_allowed=False, length_max=TEXT_MAX)
    if decision not in DECISIONS:
        raise DisputeRefused("decision of a dispute", f"one of {', '.join(DECISIONS)}", repr(decision), "choose one of these")
    rows = ledger.store.stream_events(LEDGER_STREAM)
    dispute = _found(disputes_in(rows), wanted)
    name, received_at_us = f"dispute {dispute.dispute_id}", dispute.opened.received_at_us
    if dispute.closed is not None:
        raise DisputeRefused(name, "it open", f"it closed, {dispute.closed.decision}", "open another one for what came after")
    answered_at_us = now if answered_at_us is None else answered_at_us
    if not received_at_us <= answered_at_us <= now:
        want = f"a time from {utc_text(received_at_us)}, when it came in, to {utc_text(now)}, which is now"
        raise DisputeRefused(f"answer to {name}", want, utc_text(answered_at_us), "say when the answer went out")
    text = salted_text(answer)
    event = DisputeClosed(
        dispute_id=dispute.dispute_id,
        answer_hash=text.text_hash,
        decision=decision,
        answered_at_us=answered_at_us,
        closed_by_hash=approval.by.text_hash,
        approved_by_hash=approval.approved_by.text_hash,
        closed_at_us=now,
    )
    ledger.store.append_events(LEDGER_STREAM, len(rows) + 1, [event_bytes(event)], texts=[text, *approval])
    return event
