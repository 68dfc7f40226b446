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
from ledger.disputes import Dispute, disputes_in
from ledger.errors import LedgerError, RoundInPlay
from ledger.incidents import incidents
from ledger.legal_hold import AccountOnHold, rounds_on_hold
from ledger.lifecycle_events import AccountForgotten, RoundVoided
from ledger.named_profiles import NamedProfiles
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import empty_log
from ledger.store import ACCOUNT_STREAM, LEDGER_STREAM, ROUND_STREAM, AccountRow, Store

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
    """What was erased; kept are the texts of incidents and disputes, here their ids, that concern other accounts as well."""

    account_ref: str
    event: AccountForgotten
    kept_incidents: tuple[str, ...]
    kept_disputes: tuple[str, ...]


def is_forgotten(store: Store, account_ref: str) -> bool:
    """Return whether the record says that an account's personal data are erased."""
    return any(row.topic == _TOPIC for row in store.stream_events(ACCOUNT_STREAM + account_ref))


def forget_account(ledger: RoundLedger, account: str, by: str, approved_by: str) -> Forgotten:
    """Erase an account's name, the reasons of its corrections and voids, and texts of incidents and disputes that are its alone.

    account: name or reference. by, approved_by: names of two people, which are not the account's and stay. Raises AccountUnknown,
    RoundInPlay for a round that is interrupted as well, AccountErased, AccountOnHold, ApproverSame, TextInvalid, LedgerReadOnly, and
    VersionConflict where something was recorded meanwhile that may put a round on hold.
    """
    approval = approval_of(by, approved_by)
    row = ledger.account(account)
    ref = row.account_ref
    for round_id in ledger.store.rounds_in_play():  # one that is interrupted may leave the account's slot free
        in_play = ledger.store.round(round_id)
        if in_play is not None and in_play.account_ref == ref:
            raise RoundInPlay(ref, round_id)
    if is_forgotten(ledger.store, ref):
        raise AccountErased(ref)
    own_stream = ledger.store.stream_events(LEDGER_STREAM)
    round_ids, found = ledger.store.rounds_of(ref), disputes_in(own_stream)
    _check_hold(ledger.store, ref, round_ids, found)
    erased, kept_incidents = _texts_of(ledger, ref, round_ids)
    of_disputes, kept_disputes = _dispute_texts(ref, round_ids, found)
    erased += of_disputes
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

    ledger.store.forget_account(ref, erased, events_of, texts=approval, ledger_version=len(own_stream))
    if not isinstance(ledger.path, DatabaseAddress):
        empty_log(ledger.path)  # in which the erased names would stand for a while
    assert event is not None
    return Forgotten(ref, event, kept_incidents, kept_disputes)


def _check_hold(store: Store, account_ref: str, round_ids: Sequence[str], found: Sequence[Dispute]) -> None:
    on_hold = rounds_on_hold(found, NamedProfiles(store))
    held = [round_id for round_id in round_ids if round_id in on_hold]
    if held:
        raise AccountOnHold(account_ref, held[0], on_hold[held[0]], len(held))


def _dispute_texts(account_ref: str, round_ids: Sequence[str], found: Sequence[Dispute]) -> tuple[list[str], tuple[str, ...]]:
    """Return the hashes of claims and answers that concern an account alone, and the disputes that concern others as well."""
    own, erased, kept = frozenset(round_ids), [], []
    for opened, closed in found:
        concerned = set(opened.round_ids)
        if opened.claimant_ref != account_ref and not concerned & own:
            continue
        if concerned <= own and opened.claimant_ref in ("", account_ref):
            erased += [opened.claim_hash, *([closed.answer_hash] if closed else [])]
        else:
            kept.append(opened.dispute_id)
    return erased, tuple(kept)


def _texts_of(ledger: RoundLedger, account_ref: str, round_ids: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the hashes of the texts that concern an account alone, and the incidents that concern others as well."""
    store = ledger.store
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
