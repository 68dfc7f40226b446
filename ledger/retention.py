"""Retention: until when what is recorded must be kept, by the jurisdiction profile that each round names.

Nothing is deleted by this program; this says what could go. A record that must be there and is not cannot be seen here: the tree
has its leaf, and the check of the whole ledger sees that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ledger.disputes import DAY_US, disputes
from ledger.incidents import incidents
from ledger.legal_hold import rounds_on_hold
from ledger.named_profiles import OPENING, NamedProfiles
from ledger.profile import Profile, Retention, default_profile
from ledger.profile_setting import profile_settings
from ledger.store import RoundRecord, Store

__all__ = ["COUNTED_KINDS", "NOT_COUNTED_KINDS", "KeptRecords", "round_records", "weigh_retention"]

CountedKind = Literal["rounds", "incidents", "complaints"]
COUNTED_KINDS: tuple[CountedKind, ...] = CountedKind.__args__  # type: ignore[attr-defined]
# Accounts end nowhere in the record; statements and logs of verifications are made and not kept.
NOT_COUNTED_KINDS = tuple(kind for kind in Retention.model_fields["kind"].annotation.__args__ if kind not in COUNTED_KINDS)  # type: ignore[union-attr]
_TOPICS = (OPENING, "round_settled/1", "round_voided/1")


@dataclass
class KeptRecords:
    """The records of one kind under one profile; `profile` is None for those whose profile cannot be told, which all stay.

    `unended_count` are those whose retention has not begun: rounds in play, open disputes. `keep_until_us` is when the oldest of the
    others may go, 0 where there is none; `past_count` those that are past it, of which `held_count` are on legal hold and stay.
    """

    kind: CountedKind
    profile: Profile | None
    kept_count: int = 0
    unended_count: int = 0
    keep_until_us: int = 0
    past_count: int = 0
    held_count: int = 0

    @property
    def days(self) -> int | None:
        """How long each is kept from its end."""
        return _days(self.profile, self.kind) if self.profile is not None else None

    @property
    def free_count(self) -> int:
        """The number of those that may go."""
        return self.past_count - self.held_count

    def add(self, ended_at_us: int | None, as_of_us: int, *, is_held: bool) -> None:
        """Add a record that ended at this moment, None where it has not."""
        self.kept_count += 1
        if ended_at_us is None:
            self.unended_count += 1
        elif (days := self.days) is not None:
            until = ended_at_us + days * DAY_US
            self.keep_until_us = min(self.keep_until_us or until, until)
            self.past_count += until < as_of_us
            self.held_count += until < as_of_us and is_held


class _Record(NamedTuple):
    """What is weighed of one record."""

    kind: CountedKind
    profile: Profile | None
    ended_at_us: int | None
    is_held: bool


def _days(profile: Profile, kind: str) -> int:
    return next(each.days for each in profile.retention if each.kind == kind)


def round_records(store: Store) -> Iterator[RoundRecord]:
    """Iterate over the rounds as `weigh_retention` takes them, in pages."""
    return store.round_records(topics=_TOPICS)


def weigh_retention(store: Store, rounds: Iterable[RoundRecord], as_of_us: int) -> list[KeptRecords]:
    """Return what is kept as of a moment, by kind and profile; memory grows with the stream `ledger`, not with rounds.

    A round ends with the last that was recorded of it, its end or what came behind that; an incident when it was recorded, a
    dispute when it was closed. Of several profiles the one that keeps longest counts. Raises ProfileAltered, CanonicalFormError,
    TopicMismatch for altered events of the stream `ledger`.
    """
    profiles, found = NamedProfiles(store), disputes(store)
    on_hold = rounds_on_hold(found, profiles)
    kept: dict[tuple[str, str], KeptRecords] = {}
    records = [*_incidents(store, profiles, on_hold)]
    for each in found:
        profile = _longest(profiles.of_rounds(each.opened.round_ids), "complaints")
        is_held = not on_hold.keys().isdisjoint(each.opened.round_ids)
        records.append(_Record("complaints", profile, each.closed.closed_at_us if each.closed is not None else None, is_held))
    of_rounds = (_Record("rounds", profiles.of_record(each), _end_of(each), each.round_id in on_hold) for each in rounds)
    for source in (of_rounds, records):
        for kind, profile, ended_at_us, is_held in source:
            key = kind, profile.profile_hash if profile is not None else ""
            if key not in kept:
                kept[key] = KeptRecords(kind, profile)
            kept[key].add(ended_at_us, as_of_us, is_held=is_held)
    return sorted(kept.values(), key=_place)


def _place(row: KeptRecords) -> tuple[int, str, str]:
    name, profile_hash = (row.profile.name, row.profile.profile_hash) if row.profile is not None else ("", "")
    return COUNTED_KINDS.index(row.kind), name, profile_hash


def _end_of(record: RoundRecord) -> int | None:
    """Return when the last of a round that has ended was recorded; None while it is in play, or where its events are not there."""
    is_ended = len(record.events) > 1 and record.events[0].topic == OPENING
    return max((append.recorded_at_us for append in record.appends), default=None) if is_ended else None


def _incidents(store: Store, profiles: NamedProfiles, on_hold: dict[str, str]) -> Iterator[_Record]:
    settings = profile_settings(store)
    for event, event_index in incidents(store):
        if event.round_ids:
            profile = _longest(profiles.of_rounds(event.round_ids), "incidents")
        else:  # it is kept by the profile that was in force
            in_force = [setting for setting in settings if setting.event_index < event_index]
            profile = in_force[-1].profile if in_force else default_profile()
        yield _Record("incidents", profile, event.recorded_at_us, not on_hold.keys().isdisjoint(event.round_ids))


def _longest(profiles: list[Profile | None], kind: str) -> Profile | None:
    """Return the profile that keeps a kind of record longest; None where one of them is not known."""
    known = [profile for profile in profiles if profile is not None]
    return max(known, key=lambda profile: _days(profile, kind)) if known and len(known) == len(profiles) else None
