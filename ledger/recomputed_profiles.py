"""Profiles in force as their events make them, for the check of a whole ledger: each round under the one set last before it."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from engines.canonical import canonical_json
from ledger.faults import EventFault
from ledger.store import LEDGER_STREAM

__all__ = ["RecomputedProfiles"]


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

    def round_faults(self, profile_id: str, profile_hash: str) -> Sequence[EventFault]:
        """Return what is wrong where a `round_opened` names another profile than the one in force."""
        if self._in_force is None or self._in_force == (profile_id, profile_hash):
            return ()
        want, got = (f"{name or 'none'} {found}".strip() for name, found in (self._in_force, (profile_id, profile_hash)))
        return [("profile", "profile of round_opened", f"the one in force, {want}", got)]
