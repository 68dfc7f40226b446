"""Erasing the personal data of an account: its name and the texts that concern it alone. Every proof and every sum stays whole.

The record holds a random reference and salted hashes (`record/1`, item 6): nothing in it leads to the person any more.
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Sequence
from typing import NamedTuple

from engines.game import EventBytes
from ledger.address import DatabaseAddress
from ledger.approval import approval_of
from ledger.codec import event_bytes, parse_event
from ledger.corrections import corrections_in
from ledger.errors import LedgerError, RoundInPlay
from ledger.incidents import incidents
from ledger.lifecycle_events import AccountForgotten, RoundVoided
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import empty_log
from ledger.store import ACCOUNT_STREAM, ROUND_STREAM, AccountRow, Store

__all__ = ["AccountErased", "Forgotten", "forget_account", "is_forgotten"]

_TOPIC, _VOIDED = "account_forgotten/1", "round_voided/1"


class AccountErased(LedgerError):
    """The account's personal data are erased already."""

    exit_status = 2

    def __init__(self, account_ref: str) -> None:
        super().__init__(account_ref)
        self.account_ref = account_ref

    def __str__(self) -> str:
        return f"account {self.account_ref}: want one that is not forgotten, got one that is; nothing is left to erase"


class Forgotten(NamedTuple):
    """What was erased; `kept_incidents` are ids of those whose texts stay, since they concern other accounts as well."""

    account_ref: str
    event: AccountForgotten
    kept_incidents: tuple[str, ...]


def is_forgotten(store: Store, account_ref: str) -> bool:
    """Return whether the record says that an account's personal data are erased."""
    return any(row.topic == _TOPIC for row in store.stream_events(ACCOUNT_STREAM + account_ref))


def forget_account(ledger: RoundLedger, account: str, by: str, approved_by: str) -> Forgotten:
    """Erase an account's name, the reasons of its rounds' voids and of all its corrections, and the texts of its own incidents.

    account: name or reference. by, approved_by: names of two people, which are not the account's and stay. Raises AccountUnknown,
    RoundInPlay for a round that is interrupted as well, AccountErased, ApproverSame, TextInvalid, LedgerReadOnly.
    """
    approval = approval_of(by, approved_by)
    row = ledger.account(account)
    ref = row.account_ref
    for round_id in ledger.store.rounds_in_play():  # one that is interrupted may leave the account's slot free
        found = ledger.store.round(round_id)
        if found is not None and found.account_ref == ref:
            raise RoundInPlay(ref, round_id)
    if is_forgotten(ledger.store, ref):
        raise AccountErased(ref)
    erased, kept = _texts_of(ledger, ref)
    event: AccountForgotten | None = None

    def events_of(_: AccountRow, now: int) -> Sequence[EventBytes]:
        nonlocal event
        event = AccountForgotten(
            erased_text_count=len(erased),
            forgotten_by_hash=approval.by.text_hash,
            approved_by_hash=approval.approved_by.text_hash,
            forgotten_at_us=now,
        )
        return [event_bytes(event)]

    ledger.store.forget_account(ref, erased, events_of, texts=approval)
    if not isinstance(ledger.path, DatabaseAddress):
        empty_log(ledger.path)  # in which the erased names would stand for a while
    assert event is not None
    return Forgotten(ref, event, kept)


def _texts_of(ledger: RoundLedger, account_ref: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the hashes of the texts that concern an account alone, and the incidents that concern others as well."""
    store = ledger.store
    round_ids = store.rounds_of(account_ref)
    reasons = [event.why_hash for event in corrections_in(store.stream_events(ACCOUNT_STREAM + account_ref))]
    for record in store.records_of([ROUND_STREAM + round_id for round_id in round_ids], topics=("correction_recorded/1", _VOIDED)):
        reasons += [event.why_hash for event in corrections_in(record.events)]
        voids = [parse_event(row) for row in record.events if row.topic == _VOIDED]
        reasons += [event.why_hash for event in voids if isinstance(event, RoundVoided) and event.why_hash]
    own, kept = frozenset(round_ids), []
    for incident in incidents(store):
        concerned = set(incident.event.round_ids)
        if concerned and concerned <= own:
            reasons += incident.text_hashes.values()
        elif concerned & own:
            kept.append(incident.event.incident_id)
    return reasons, tuple(kept)
