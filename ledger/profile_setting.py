"""Which jurisdiction profile is in force: set by two people on the stream `ledger`, with all its values.

It governs the rounds opened after it; those before it stay under the one that they name. A profile's values are no personal data
and never erased, so they stand in the event: whoever can read a round can read the profile that it was played under.
"""

# ruff: noqa: N818 - as in errors.py

from typing import NamedTuple

from ledger.approval import approval_of
from ledger.codec import event_bytes, parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import ProfileSet
from ledger.profile import Profile, ProfileFileUnreadable, default_profile, profile_of, shipped_profile, shipped_profiles
from ledger.store import LEDGER_STREAM, EventRow, Store

__all__ = [
    "CurrentProfile",
    "FoundProfile",
    "ProfileAltered",
    "ProfileSame",
    "ProfileSetting",
    "ProfileUnknown",
    "ProfileVersionTaken",
    "find_profile",
    "profile_in_force",
    "profile_settings",
    "set_profile",
]

_TOPIC = "profile_set/1"
_HASH_MIN = 8  # characters of a profile's hash that stand for it


class ProfileSame(LedgerError):
    """The profile that is to be set is the one in force."""

    exit_status = 2

    def __init__(self, profile: str, profile_hash: str) -> None:
        super().__init__(profile, profile_hash)
        self.profile, self.profile_hash = profile, profile_hash

    def __str__(self) -> str:
        return f"profile {self.profile}: want another than the one in force, got that one ({self.profile_hash}); nothing is to be set"


class ProfileVersionTaken(LedgerError):
    """A profile's id and version were set before with other values."""

    exit_status = 2

    def __init__(self, profile: str, hash_want: str, hash_got: str) -> None:
        super().__init__(profile, hash_want, hash_got)
        self.profile, self.hash_want, self.hash_got = profile, hash_want, hash_got

    def __str__(self) -> str:
        return f"values of profile {self.profile}: want those that were set, {self.hash_want}, got {self.hash_got}; give them a new version"


class ProfileAltered(LedgerError):
    """The values of a recorded profile are not those of its hash, or none that this program knows."""

    def __init__(self, profile_id: str, event_index: int, want: str, got: str) -> None:
        super().__init__(profile_id, event_index, want, got)
        self.profile_id, self.event_index, self.want, self.got = profile_id, event_index, want, got

    def __str__(self) -> str:
        place = f"profile {self.profile_id}, event {self.event_index} of stream {LEDGER_STREAM}"
        mend = "the record was altered or is of a newer program, run `audit fsck`"
        return f"{place}: want values of hash {self.want}, got {self.got}; {mend}"


class ProfileUnknown(LedgerError):
    """No profile is meant by this."""

    exit_status = 2

    def __init__(self, wanted: str, known: tuple[str, ...]) -> None:
        super().__init__(wanted, known)
        self.wanted, self.known = wanted, known

    def __str__(self) -> str:
        mend = f"choose one of {', '.join(self.known)}, or give {_HASH_MIN} characters of a hash or more"
        return f"profile {self.wanted}: want one that was set or comes with the program, got none; {mend}"


class ProfileSetting(NamedTuple):
    """A profile that was set, and the place of its event in the stream `ledger`, from 0."""

    event: ProfileSet
    event_index: int

    @property
    def profile(self) -> Profile:
        """The profile itself; raises ProfileAltered where its values are none, or not those of the hash that rounds name."""
        event = self.event
        try:
            profile = profile_of(event.profile, event.profile_id)
        except ProfileFileUnreadable as error:
            raise ProfileAltered(event.profile_id, self.event_index, event.profile_hash, f"{error.reason} in {error.where}") from error
        if profile.profile_hash != event.profile_hash:
            raise ProfileAltered(event.profile_id, self.event_index, event.profile_hash, profile.profile_hash)
        return profile


class FoundProfile(NamedTuple):
    """A profile, and where it was set last; `setting` is None where it comes with the program and was never set."""

    profile: Profile
    setting: ProfileSetting | None


def profile_settings(store: Store) -> list[ProfileSetting]:
    """Return the profiles that were set, in the order of the record; raises CanonicalFormError, TopicMismatch for altered events."""
    return _settings(store.stream_events(LEDGER_STREAM))


def _settings(rows: list[EventRow]) -> list[ProfileSetting]:
    events = [(parse_event(row), row.version - 1) for row in rows if row.topic == _TOPIC]
    return [ProfileSetting(event, index) for event, index in events if isinstance(event, ProfileSet)]


def profile_in_force(store: Store) -> FoundProfile:
    """Return the profile that was set last, the default one where none was; raises as `profile_settings`, ProfileAltered."""
    return _in_force(profile_settings(store))


def _in_force(settings: list[ProfileSetting]) -> FoundProfile:
    return FoundProfile(settings[-1].profile, settings[-1]) if settings else FoundProfile(default_profile(), None)


def find_profile(store: Store, wanted: str) -> FoundProfile:
    """Return the profile meant by an id or by the first eight characters or more of its hash, which each round names.

    Of an id the one set last, else the one that comes with the program. Raises ProfileUnknown, and as `profile_in_force`.
    """
    settings = profile_settings(store)
    for setting in reversed(settings):
        if setting.event.profile_id == wanted or _is_hash(wanted, setting.event.profile_hash):
            return FoundProfile(setting.profile, setting)
    for profile_id in shipped_profiles():
        profile = shipped_profile(profile_id)
        assert profile is not None
        if profile_id == wanted or _is_hash(wanted, profile.profile_hash):
            return FoundProfile(profile, None)
    known = {setting.event.profile_id for setting in settings} | set(shipped_profiles())
    raise ProfileUnknown(wanted, tuple(sorted(known)))


def _is_hash(wanted: str, profile_hash: str) -> bool:
    return len(wanted) >= _HASH_MIN and profile_hash.startswith(wanted)


def set_profile(store: Store, profile: Profile, by: str, approved_by: str) -> ProfileSet:
    """Have a profile govern the rounds opened from now on, and return its event.

    by, approved_by: names of two people, kept beside the record and in it by salted hash. Raises ProfileSame,
    ProfileVersionTaken, ApproverSame, TextInvalid, LedgerReadOnly, VersionConflict, and as `profile_in_force`.
    """
    approval = approval_of(by, approved_by)
    rows = store.stream_events(LEDGER_STREAM)
    settings = _settings(rows)
    if _in_force(settings).profile.profile_hash == profile.profile_hash:
        raise ProfileSame(profile.name, profile.profile_hash)
    for setting in settings:
        if setting.profile.name == profile.name and setting.event.profile_hash != profile.profile_hash:
            raise ProfileVersionTaken(profile.name, setting.event.profile_hash, profile.profile_hash)
    event = ProfileSet(
        profile_id=profile.id,
        profile_version=profile.version,
        profile_hash=profile.profile_hash,
        profile=profile.values,
        set_by_hash=approval.by.text_hash,
        approved_by_hash=approval.approved_by.text_hash,
        set_at_us=store.clock(),
    )
    store.append_events(LEDGER_STREAM, len(rows) + 1, [event_bytes(event)], texts=approval)
    return event


class CurrentProfile:
    """The profile in force as a writer knows it, with the version of the stream `ledger` that it was read at.

    A round is opened only where that is still the stream's version, so that no round names a profile that another process has
    replaced.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[Profile, int] | None = None

    def read(self) -> tuple[Profile, int]:
        """Return the profile and the version; raises as `profile_in_force`."""
        if self._known is None:
            rows = self._store.stream_events(LEDGER_STREAM)
            self._known = _in_force(_settings(rows)).profile, rows[-1].version if rows else 0
        return self._known

    def forget(self) -> None:
        """Have it read anew."""
        self._known = None
