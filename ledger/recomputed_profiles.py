"""Profiles in force as their events make them, for the check of a whole ledger: each round under the one set last before it."""

import hashlib
from collections.abc import Iterator
from typing import Any

from engines.canonical import canonical_json
from ledger.store import LEDGER_STREAM

__all__ = ["RecomputedProfiles"]

# code, what, want, got
EventFault = tuple[str, str, str, str]


class RecomputedProfiles:
    """The profile set last, in the order of the record; before the first no round is judged by its profile."""

    def __init__(self) -> None:
        self._in_force: tuple[str, str] | None = None  # id and hash

    def set(self, stream: str, values: dict[str, Any]) -> Iterator[EventFault]:
        """Take a `profile_set` and yield what is wrong with it; raises KeyError or TypeError for missing or wrong fields."""
        if stream != LEDGER_STREAM:
            yield "profile_stream", "stream of profile_set", LEDGER_STREAM, stream
            return
        profile = values["profile"]
        found = hashlib.sha256(canonical_json(profile)).hexdigest()
        if found != values["profile_hash"]:
            yield "profile_hash", "values of profile_set", f"those of hash {values['profile_hash']}", found
        for name in ("id", "version"):
            if profile.get(name) != values[f"profile_{name}"]:
                yield "profile_name", f"{name} in the values of profile_set", str(values[f"profile_{name}"]), str(profile.get(name))
        self._in_force = values["profile_id"], values["profile_hash"]

    def check_round(self, values: dict[str, Any]) -> Iterator[EventFault]:
        """Yield where a `round_opened` names another profile than the one in force."""
        named = values["profile_id"], values["profile_hash"]
        if self._in_force is not None and named != self._in_force:
            want, got = (f"{profile_id or 'none'} {profile_hash}".strip() for profile_id, profile_hash in (self._in_force, named))
            yield "profile", "profile of round_opened", f"the one in force, {want}", got
