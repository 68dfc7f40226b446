"""The jurisdiction profiles that rounds name by hash: the one in force at the wager governs a round for as long as it is kept."""

import hashlib
from collections.abc import Sequence

from engines.canonical import strict_values
from ledger.lifecycle_events import RoundOpened
from ledger.profile import Profile, default_profile, shipped_profiles
from ledger.profile_setting import ProfileUnknown, find_profile
from ledger.store import ROUND_STREAM, RoundRecord, Store

__all__ = ["OPENING", "NamedProfiles", "governing_profile", "has_values"]

OPENING = "round_opened/1"
# What rounds named before profiles said anything; as an empty one.
_WITHOUT_VALUES = hashlib.sha256(b'{"id":"default"}').hexdigest()


def has_values(profile_hash: str) -> bool:
    """Return whether a hash names values: the first rounds named none, and are under the default profile."""
    return profile_hash not in ("", _WITHOUT_VALUES)


def governing_profile(store: Store, opened: RoundOpened) -> Profile:
    """Return the profile that a round was opened under and that governs it to its end.

    Raises ProfileUnknown where nobody here knows its values, and as `NamedProfiles.named`.
    """
    profile = NamedProfiles(store).named(opened.profile_hash)
    if profile is None:
        raise ProfileUnknown(opened.profile_hash, shipped_profiles())
    return profile


class NamedProfiles:
    """The profiles of one ledger's rounds, each looked up once; None stands for one that nobody here knows the values of."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, Profile | None] = {}

    def named(self, profile_hash: str) -> Profile | None:
        """Return the profile of a hash; the default one, as for a house that has set none, where a round names none that has values.

        Raises ProfileAltered, CanonicalFormError, TopicMismatch for altered settings.
        """
        if profile_hash not in self._found:
            self._found[profile_hash] = self._find(profile_hash) if has_values(profile_hash) else default_profile()
        return self._found[profile_hash]

    def _find(self, profile_hash: str) -> Profile | None:
        try:
            profile = find_profile(self._store, profile_hash).profile
        except ProfileUnknown:
            return None
        return profile if profile.profile_hash == profile_hash else None

    def of_record(self, record: RoundRecord) -> Profile | None:
        """Return the profile that a round's opening names, None also where that cannot be read; raises as `named`."""
        values = strict_values(record.events[0].data) if record.events and record.events[0].topic == OPENING else None
        profile_hash = values.get("profile_hash") if values is not None else None
        return self.named(profile_hash) if isinstance(profile_hash, str) else None

    def of_rounds(self, round_ids: Sequence[str]) -> list[Profile | None]:
        """Return the profile of each round, in the order given; raises as `named`."""
        streams = [ROUND_STREAM + round_id for round_id in round_ids]
        return [self.of_record(record) for record in self._store.records_of(streams, topics=(OPENING,))]
