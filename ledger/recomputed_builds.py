"""Registered builds as their events make them, for the check of a whole ledger: each round by one that was registered before."""

from collections.abc import Iterator, Sequence
from typing import Any

from engines.manifest import manifest_fingerprint
from ledger.faults import EventFault
from ledger.store import LEDGER_STREAM

__all__ = ["RecomputedBuilds"]


class RecomputedBuilds:
    """The builds registered so far, in the order of the record; before the first no round is judged by its build."""

    def __init__(self) -> None:
        self._fingerprints: dict[str, set[str]] = {}  # by game

    def register(self, stream: str, values: dict[str, Any]) -> Iterator[EventFault]:
        """Take a `build_registered` and yield what is wrong with it; raises KeyError or TypeError for missing or wrong fields."""
        game, fingerprint = values["game"], values["engine_fingerprint"]
        if stream != LEDGER_STREAM:
            yield "build_stream", "stream of build_registered", LEDGER_STREAM, stream
            return
        found = manifest_fingerprint(values["sources"], values["rules_hash"])
        if found != fingerprint:
            yield "build_manifest", "manifest of build_registered", f"one that comes to {fingerprint}", found
        if fingerprint in self._fingerprints.setdefault(game, set()):
            yield "build_twice", f"registration of a build of {game}", "one for each build", f"another of {fingerprint}"
        self._fingerprints[game].add(fingerprint)

    def round_faults(self, game: str, fingerprint: str) -> Sequence[EventFault]:
        """Return what is wrong where a `round_opened` names a build of its game that was not registered before it."""
        if not self._fingerprints or fingerprint in self._fingerprints.get(game, ()):
            return ()
        found = fingerprint or "none"
        return [("build_unapproved", "engine fingerprint of round_opened", f"a build of {game} registered before the round", found)]
