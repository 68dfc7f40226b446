"""Was a complaint about a round answered in time, and is the round on hold? By the profile that the round itself names."""

from collections.abc import Collection, Iterator
from functools import cached_property

from engines.canonical import CanonicalFormError, RecordedEvent, canonical_json
from ledger.disputes import Dispute, answer_time, disputes_among
from ledger.errors import LedgerError
from ledger.legal_hold import holds
from ledger.lifecycle_events import parse_lifecycle_event
from ledger.named_profiles import NamedProfiles
from ledger.profile import Profile
from ledger.references import utc_text
from ledger.rounds import RoundLedger
from replay.own_stream import OwnEvent, OwnStream
from replay.verdict import Finding

__all__ = ["RoundDisputes", "check_answer"]

_KINDS = ("dispute_opened", "dispute_closed")
_ID_SHOWN = 16


def check_answer(dispute: Dispute, profiles: Collection[Profile | None], as_of_us: int) -> list[Finding]:
    """Return at most one finding: `answer_overdue` where none was given in time as of a moment, `answer_late` where it came too late.

    profiles: of the dispute's rounds, of which the strictest counts; where the values of none are known nothing is judged.
    """
    time = answer_time(dispute, profiles)
    answered_at_us = dispute.closed.answered_at_us if dispute.closed is not None else None
    if time is None or (as_of_us if answered_at_us is None else answered_at_us) <= time.due_at_us:
        return []
    days = time.profile.answer.within_days
    where = f"answer to dispute {dispute.dispute_id}"
    want = (
        f"one by {utc_text(time.due_at_us)}, {days} day{'' if days == 1 else 's'} after it came in, as profile {time.profile.name} has it"
    )
    got = f"none by {utc_text(as_of_us)}" if answered_at_us is None else f"one of {utc_text(answered_at_us)}"
    code = "answer_overdue" if answered_at_us is None else "answer_late"
    return [Finding(code, "completeness", -1, -1, where, want, got, f"{where}: want {want}, got {got}")]


class RoundDisputes:
    """The disputes of one ledger, as far as its own stream can be relied on.

    as_of_us: when those that are open are judged, now where it is None.
    """

    def __init__(self, ledger: RoundLedger, stream: OwnStream, as_of_us: int | None = None) -> None:
        self._stream, self._profiles = stream, NamedProfiles(ledger.store)
        self._as_of_us = ledger.store.clock() if as_of_us is None else as_of_us

    @cached_property
    def _by_round(self) -> dict[str, list[Dispute]]:
        events = sorted((each for kind in _KINDS for each in self._stream.events(kind)), key=lambda each: each.leaf_index)
        found: dict[str, list[Dispute]] = {}
        for dispute in disputes_among(parsed for each in events if (parsed := _parsed(each)) is not None):
            for round_id in dispute.opened.round_ids:
                found.setdefault(round_id, []).append(dispute)
        return found

    def _profiles_of(self, round_ids: tuple[str, ...]) -> list[Profile | None]:
        try:
            return self._profiles.of_rounds(round_ids)
        except (CanonicalFormError, LedgerError):  # a setting that was altered: nobody knows its values
            return [None]

    def check(self, round_id: str) -> list[Finding]:
        """Return a finding for each dispute about a round that was not answered in time."""
        return [finding for dispute in self._by_round.get(round_id, ()) for finding in self._judged(dispute)]

    def _judged(self, dispute: Dispute) -> list[Finding]:
        return check_answer(dispute, self._profiles_of(dispute.opened.round_ids), self._as_of_us)

    def findings(self, round_ids: Collection[str]) -> Iterator[Finding]:
        """Yield a finding for each dispute that was not answered in time and concerns one of these rounds, each once."""
        concerning = (dispute for round_id, found in self._by_round.items() if round_id in round_ids for dispute in found)
        for dispute in {each.dispute_id: each for each in concerning}.values():
            yield from self._judged(dispute)

    def notes(self, round_id: str) -> list[str]:
        """Return a line for each dispute about a round, and one where what the ledger's own stream says of them was altered."""
        notes = [self._note(round_id, dispute) for dispute in self._by_round.get(round_id, ())]
        if self._stream.faults:
            notes.append(f"what is disputed is not known for sure: {self._stream.faults[0]}")
        return notes

    def _note(self, round_id: str, dispute: Dispute) -> str:
        opened, closed = dispute
        if closed is not None:
            return f"disputed: {dispute.dispute_id[:_ID_SHOWN]}… is closed, {closed.decision}, answered {utc_text(closed.answered_at_us)}"
        held = all(map(holds, self._profiles_of((round_id,))))
        what = "on legal hold: it outlives its retention, and its account is not forgotten" if held else "its profile does not hold it"
        return f"disputed: {dispute.dispute_id[:_ID_SHOWN]}… is open since {utc_text(opened.received_at_us)}; {what}"


def _parsed(event: OwnEvent) -> RecordedEvent | None:
    try:
        return parse_lifecycle_event(str(event.values["kind"]), canonical_json(event.values))
    except CanonicalFormError:  # whoever holds the keys can write any values: fsck says so
        return None
