"""Does what happened to a round agree with the jurisdiction profile that it was opened under, the rules of the wager's own day?

The profile is the one that the round names by hash, with its values as the ledger's own stream holds them or as they come with the
program; where neither has it nothing is judged. Findings here are about no spin: `spin_index` is -1.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from engines.canonical import CanonicalFormError, RecordedEvent
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.interruptions import Due, due_of
from ledger.lifecycle_events import RoundInterrupted, RoundOpened, RoundResumed, RoundSettled, RoundVoided
from ledger.named_profiles import has_values
from ledger.profile import Profile, ProfileFileUnreadable, default_profile, profile_of, shipped_profile, shipped_profiles
from ledger.store import RoundRecord
from replay.own_stream import OwnStream
from replay.presentation import PRESENTATION_KINDS
from replay.verdict import Finding, Severity

__all__ = ["GoverningProfiles", "RecordedLife", "recorded_life"]

_DAY_US = 86_400_000_000
_LIFE_KINDS = ("round_interrupted/", "round_resumed/", "round_voided/")


class RecordedLife(NamedTuple):
    """A round's lifecycle as its stream holds it: opening, the events that can be read with their index, when it was recorded last."""

    round_id: str
    opened: RoundOpened
    events: Sequence[tuple[int, RecordedEvent]]
    recorded_at_us: int

    @property
    def last(self) -> RecordedEvent:
        """What happened last to the round as a whole."""
        kinds = (RoundInterrupted, RoundResumed, RoundSettled, RoundVoided)
        return next((event for _, event in reversed(self.events) if isinstance(event, kinds)), self.opened)

    @property
    def stopped_at_us(self) -> int:
        """When it stopped: when it was cut off where it is interrupted, or the system went on with it, else when it was recorded last."""
        is_stopped = isinstance(self.last, RoundInterrupted) or (isinstance(self.last, RoundResumed) and self.last.resumed_by == "system")
        breaks = [event.broke_at_us for _, event in self.events if isinstance(event, RoundInterrupted)]
        return max(breaks) if is_stopped and breaks else self.recorded_at_us


def recorded_life(record: RoundRecord, opened: RoundOpened, settled: RoundSettled | None) -> RecordedLife:
    """Return what is recorded of a round beside its game events; what cannot be read is left out, which other checks say."""
    events: list[tuple[int, RecordedEvent]] = []
    for row in record.events:
        if row.topic.startswith(_LIFE_KINDS):
            with contextlib.suppress(CanonicalFormError, LedgerError):
                events.append((row.version - 1, parse_event(row)))
        elif row.topic == "round_settled/1" and settled is not None:
            events.append((row.version - 1, settled))
    return RecordedLife(record.round_id, opened, events, _last_recorded(record, opened))


def _last_recorded(record: RoundRecord, opened: RoundOpened) -> int:
    """Return when the last of a round was recorded, whatever was shown of it since."""
    shown = [row.topic.partition("/")[0] in PRESENTATION_KINDS for row in record.events]
    last = max((row.version for row, is_shown in zip(record.events, shown, strict=True) if not is_shown), default=0)
    covering = [append.recorded_at_us for append in record.appends if append.version_first <= last]
    return covering[-1] if covering else opened.opened_at_us


class GoverningProfiles:
    """The profiles that the rounds of one ledger name, and what each allows."""

    def __init__(self, stream: OwnStream) -> None:
        self._stream = stream
        self._found: dict[str, Profile | None] = {}

    def find(self, profile_hash: str) -> Profile | None:
        """Return the profile of a hash, the default one for an empty hash, None where nobody has it."""
        if profile_hash not in self._found:
            self._found[profile_hash] = self._look_for(profile_hash) if has_values(profile_hash) else default_profile()
        return self._found[profile_hash]

    def _look_for(self, profile_hash: str) -> Profile | None:
        for each in self._stream.events("profile_set"):
            if each.values.get("profile_hash") == profile_hash:
                try:
                    profile = profile_of(each.values.get("profile") or {}, str(each.values.get("profile_id")))
                except ProfileFileUnreadable:
                    continue
                if profile.profile_hash == profile_hash:
                    return profile
        shipped = [shipped_profile(profile_id) for profile_id in shipped_profiles()]
        return next((profile for profile in shipped if profile is not None and profile.profile_hash == profile_hash), None)

    def check(self, life: RecordedLife, now_us: int) -> list[Finding]:
        """Return where an interruption, a completion, a void or a settlement is not what the profile says."""
        profile = self.find(life.opened.profile_hash)
        if profile is None:
            return []
        findings: list[Finding] = []
        stopped: int | None = None
        for index, event in life.events:
            if isinstance(event, RoundInterrupted):
                stopped = event.broke_at_us
                findings += _blocking(index, event, profile)
            elif isinstance(event, RoundResumed):
                if event.resumed_by == "system":
                    findings += _completion(index, event, life.opened, profile, stopped)
            elif isinstance(event, RoundVoided):
                findings += _void(index, event, life.opened, profile)
                findings += self._incident(index, event, life.round_id, profile)
            elif isinstance(event, RoundSettled):
                findings += _lateness(index, event, life.opened, profile)
        return findings + _overdue(life, profile, now_us)

    def _incident(self, index: int, event: RoundVoided, round_id: str, profile: Profile) -> list[Finding]:
        """Return what is wrong with the incident that a void for a malfunction rests on."""
        if event.reason != "malfunction" and not event.incident_id:
            return []
        where = "incident of round_voided"
        if not event.incident_id:
            want = f"one in six parts, as profile {profile.name} says (GLI-19, B.2.1(e))"
            return [_finding("void_incident", "integrity", index, where, want, "none")] if profile.malfunction.needs_incident else []
        named = [each.values for each in self._stream.events("incident_recorded") if each.values.get("incident_id") == event.incident_id]
        got = _wrong_incident(named[-1] if named else None, round_id)
        if not got:
            return []
        want = "one of the ledger's that names the round and that nobody could recover from"
        return [_finding("void_incident", "integrity", index, where, want, f"{event.incident_id}, {got}")]


def _wrong_incident(values: dict[str, Any] | None, round_id: str) -> str:
    if values is None:
        return "which is not recorded"
    if round_id not in values.get("round_ids", ()):
        return "which does not name the round"
    return "which was recovered from" if values.get("is_recovered") else ""


def _finding(code: str, severity: Severity, index: int, where: str, want: str, got: str) -> Finding:
    return Finding(code, severity, index, -1, where, want, got, f"{where}: want {want}, got {got}")


def _since(opened: RoundOpened, moment_us: int) -> str:
    days, rest = divmod(moment_us - opened.opened_at_us, _DAY_US)
    return f"{days} days {rest // 3_600_000_000} hours after the opening"


def _blocking(index: int, event: RoundInterrupted, profile: Profile) -> list[Finding]:
    if event.blocks == profile.interruption.blocks:
        return []
    want = f"{profile.interruption.blocks}, as profile {profile.name} says"
    return [_finding("interruption_blocks", "integrity", index, "what round_interrupted blocks", want, event.blocks)]


def _completion(index: int, event: RoundResumed, opened: RoundOpened, profile: Profile, stopped_us: int | None) -> list[Finding]:
    """Return where the system went on with a round that the profile leaves alone, or too soon."""
    due = due_of(opened, profile, stopped_us or opened.opened_at_us)
    where = "completion by the system"
    if due.action != "complete":
        want = f"none, as profile {profile.name} says {profile.not_resumed.action}"
        return [_finding("completed_unasked", "integrity", index, where, want, "one")]
    if event.resumed_at_us < due.at_us:
        want = f"{profile.not_resumed.after_hours} hours after the interruption or later, as profile {profile.name} says"
        hours = (event.resumed_at_us - (stopped_us or opened.opened_at_us)) // 3_600_000_000
        return [_finding("completed_early", "integrity", index, where, want, f"{hours} hours after it")]
    return []


def _void(index: int, event: RoundVoided, opened: RoundOpened, profile: Profile) -> list[Finding]:
    """Return where a void, or the rule by which it pays, is not the profile's; one cause, one finding."""
    if event.pays != profile.cannot_continue.pays:
        want = f"{profile.cannot_continue.pays}, as profile {profile.name} says"
        return [_finding("void_rule", "money", index, "rule by which round_voided pays", want, event.pays)]
    due = due_of(opened, profile, opened.opened_at_us)
    are_named = bool(event.voided_by_hash and event.approved_by_hash and event.voided_by_hash != event.approved_by_hash)
    if event.reason == "deadline":
        if due.action == "complete":
            want = f"none, as profile {profile.name} has the system complete it"
            return [_finding("void_unasked", "money", index, "void at a deadline", want, "one")]
        if event.voided_at_us < due.at_us:
            want = f"{profile.void_deadline.days} days after the opening or later, as profile {profile.name} says"
            return [_finding("void_early", "money", index, "void at a deadline", want, _since(opened, event.voided_at_us))]
        is_named_enough = are_named or due.action == "void"
    elif event.reason == "malfunction":
        is_named_enough = are_named or not profile.malfunction.needs_two_people
    else:
        is_named_enough = are_named
    if is_named_enough:
        return []
    want = f"two different ones, as profile {profile.name} says"
    got = str(len({event.voided_by_hash, event.approved_by_hash} - {""}))
    return [_finding("void_people", "integrity", index, "people who void the round", want, got)]


def _lateness(index: int, event: RoundSettled, opened: RoundOpened, profile: Profile) -> list[Finding]:
    due = due_of(opened, profile, opened.opened_at_us)
    if due.action != "void" or event.settled_at_us < due.at_us:
        return []
    want = f"a void, as profile {profile.name} says {profile.void_deadline.days} days after the opening"
    return [_finding("settled_late", "money", index, "end of the round", want, f"round_settled {_since(opened, event.settled_at_us)}")]


def _overdue(life: RecordedLife, profile: Profile, now_us: int) -> list[Finding]:
    """Return one finding where a round is in play that should be over by now."""
    if isinstance(life.last, RoundSettled | RoundVoided):
        return []
    due: Due = due_of(life.opened, profile, life.stopped_at_us)
    if now_us < due.at_us:
        return []
    words = {"complete": "completed by the system", "void": "void", "decide": "decided on by two people"}[due.action]
    last = life.events[-1][0] if life.events else 0
    want = f"{words} by now, as profile {profile.name} says"
    return [_finding("round_overdue", "completeness", last, "round in play", want, f"in play {_since(life.opened, now_us)}")]
