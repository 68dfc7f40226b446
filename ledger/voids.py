"""Voids: a round ends without its outcome and pays what its profile says.

A deadline voids it where the profile does; what cannot go on and what a malfunction spoilt two people void, the latter with an incident
in its six parts (GLI-19, A.6.4 and B.2.1(e)). What was settled stays as it is: there a correction moves money.
"""

# ruff: noqa: N818 - as in errors.py

import hashlib
from typing import Literal, NamedTuple, TypeAlias

from engines.game import EventBytes
from ledger.accounts import check_text
from ledger.approval import approval_of
from ledger.bets import Opened
from ledger.codec import event_bytes
from ledger.errors import LedgerError, RoundNotOpen
from ledger.incidents import TEXT_MAX, find_incident
from ledger.interruptions import due_of
from ledger.legs import standing_of, won_so_far
from ledger.lifecycle_events import RoundOpened, RoundVoided
from ledger.merkle import append_form
from ledger.named_profiles import governing_profile
from ledger.pausing import Refund
from ledger.profile import Profile
from ledger.rounds import RoundLedger
from ledger.store import Store, TextRow
from ledger.texts import salted_text

__all__ = ["VoidReason", "VoidRefused", "refund_of", "void_round"]

VoidReason: TypeAlias = Literal["deadline", "cannot_continue", "malfunction"]


class VoidRefused(LedgerError):
    """A round is not to be voided as it is asked for."""

    exit_status = 2

    def __init__(self, round_id: str, want: str, got: str, mend: str) -> None:
        super().__init__(round_id, want, got, mend)
        self.round_id, self.want, self.got, self.mend = round_id, want, got, mend

    def __str__(self) -> str:
        return f"void of round {self.round_id}: want {self.want}, got {self.got}; {self.mend}"


class _Names(NamedTuple):
    """Why a round is void and who says so, as hashes, and the rows of the texts; empty where the system does what a profile says."""

    why_hash: str = ""
    voided_by_hash: str = ""
    approved_by_hash: str = ""
    texts: tuple[TextRow, ...] = ()


def refund_of(opened: RoundOpened, won_minor: int, pays: str) -> Refund:
    """Return what a void round pays by a profile's rule: its cost to where it came from, or what it has won where that is better."""
    if pays == "better_of" and won_minor > opened.cost_minor:
        return Refund(won_minor, 0)
    return Refund(opened.cost_minor - opened.bonus_minor, opened.bonus_minor)


def void_round(
    ledger: RoundLedger, round_id: str, reason: VoidReason, *, why: str = "", by: str = "", approved_by: str = "", incident: str = ""
) -> RoundVoided:
    """End a round in play without its outcome, pay its refund and return the event.

    why, by, approved_by: the reason in words and two people, wherever the profile does not void the round by itself. incident: id of
    one that names the round and was not recovered from, for a malfunction. Raises RoundUnknown, RoundNotOpen, VoidRefused,
    ApproverSame, TextInvalid, IncidentUnknown, BalanceTooLarge, LedgerReadOnly, VersionConflict, and as `governing_profile`.
    """
    opened = ledger.recorded(round_id)
    standing = standing_of(opened.later)
    if standing in ("settled", "voided"):
        raise RoundNotOpen(round_id, standing)
    profile = governing_profile(ledger.store, opened.event)
    is_by_system = reason == "deadline" and not (by or approved_by)
    if reason == "deadline":
        _check_deadline(ledger.store, opened, profile, is_by_system=is_by_system)
    incident_id = _incident_of(ledger.store, opened, profile, incident) if incident or _needs_incident(reason, profile) else ""
    names = _Names() if is_by_system else _named(opened, reason, profile, why, by, approved_by)
    won, pays = won_so_far(opened.later), profile.cannot_continue.pays
    refund = refund_of(opened.event, won, pays)
    earlier = append_form([opened.data, *(row.data for row in opened.later)])
    event: RoundVoided | None = None

    def event_of(balance_minor: int, now: int) -> EventBytes:
        nonlocal event
        event = RoundVoided(
            reason=reason,
            pays=pays,
            won_minor=won,
            refund_minor=refund.balance_minor,
            refund_bonus_minor=refund.bonus_minor,
            incident_id=incident_id,
            why_hash=names.why_hash,
            voided_by_hash=names.voided_by_hash,
            approved_by_hash=names.approved_by_hash,
            balance_after_minor=balance_minor,
            round_digest=hashlib.sha256(earlier).hexdigest(),
            voided_at_us=now,
        )
        return event_bytes(event)

    ledger.store.void_round(round_id, 1 + len(opened.later), refund, event_of, texts=names.texts)
    assert event is not None
    return event


def _check_deadline(store: Store, opened: Opened, profile: Profile, *, is_by_system: bool) -> None:
    due = due_of(opened.event, profile, 0)
    if due.action == "complete":
        got = f"profile {profile.name}, which has the system complete it"
        raise VoidRefused(opened.round_id, "a profile that voids at a deadline", got, "complete it with `audit resume --due`")
    now, days = store.clock(), profile.void_deadline.days
    if now < due.at_us:
        got = f"one opened {(now - opened.event.opened_at_us) // 86_400_000_000} days ago"
        raise VoidRefused(opened.round_id, f"a round opened {days} days ago or more, as profile {profile.name} says", got, "wait for it")
    if is_by_system and due.action != "void":
        got = f"profile {profile.name}, which leaves it to people"
        raise VoidRefused(opened.round_id, "a profile that voids it by itself", got, "give --why, --by and --approved-by")


def _needs_incident(reason: VoidReason, profile: Profile) -> bool:
    return reason == "malfunction" and profile.malfunction.needs_incident


def _incident_of(store: Store, opened: Opened, profile: Profile, incident: str) -> str:
    """Return the id of the incident that a void rests on; raises VoidRefused, IncidentUnknown."""
    if not incident:
        want = f"an incident in its six parts, as profile {profile.name} says (GLI-19, B.2.1(e))"
        raise VoidRefused(opened.round_id, want, "none", "record one with `audit incident record`, then name it with --incident")
    event = find_incident(store, incident).event
    if opened.round_id not in event.round_ids:
        raise VoidRefused(opened.round_id, "an incident that names the round", f"{event.incident_id}, which does not", "name another one")
    if event.is_recovered:
        got = f"{event.incident_id}, which was recovered from"
        raise VoidRefused(opened.round_id, "an incident that nobody could recover from", got, "go on with the round: `audit resume`")
    return event.incident_id


def _named(opened: Opened, reason: VoidReason, profile: Profile, why: str, by: str, approved_by: str) -> _Names:
    """Return who voids a round and why; raises VoidRefused, ApproverSame, TextInvalid."""
    check_text("--why", why.strip(), is_empty_allowed=False, length_max=TEXT_MAX)
    reason_text = salted_text(why.strip())
    if reason == "malfunction" and not profile.malfunction.needs_two_people and by and not approved_by:
        check_text("--by", by.strip(), is_empty_allowed=False)
        name = salted_text(by.strip())
        return _Names(reason_text.text_hash, name.text_hash, "", (reason_text, name))
    if not by or not approved_by:
        raise VoidRefused(opened.round_id, "two people who say so", "one" if by or approved_by else "none", "give --by and --approved-by")
    approval = approval_of(by, approved_by)
    return _Names(reason_text.text_hash, approval.by.text_hash, approval.approved_by.text_hash, (reason_text, *approval))
