"""Builds that two people have let make rounds: registered on the stream `ledger`, each once, with its manifest.

A registration counts for the rounds that are opened after it; what came before the ledger's first one nobody has judged.
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Sequence
from typing import NamedTuple

from engines.registry import InstalledBuild
from ledger.approval import approval_of
from ledger.codec import event_bytes, parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import BuildRegistered
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM

__all__ = ["BuildKnown", "Registration", "register_builds", "registrations"]


class BuildKnown(LedgerError):
    """All the builds that are to be registered are registered already."""

    exit_status = 2

    def __init__(self, builds: str) -> None:
        super().__init__(builds)
        self.builds = builds

    def __str__(self) -> str:
        return f"build {self.builds}: want one that is not registered yet, got one that is; see `audit builds list`"


class Registration(NamedTuple):
    """A registered build and its place: index (from 0) in the stream `ledger`."""

    event: BuildRegistered
    event_index: int


def registrations(ledger: RoundLedger) -> list[Registration]:
    """Return the registered builds in the order of the record; raises CanonicalFormError, TopicMismatch for altered events."""
    events = [parse_event(row) for row in ledger.store.stream_events(LEDGER_STREAM)]
    return [Registration(event, index) for index, event in enumerate(events) if isinstance(event, BuildRegistered)]


def register_builds(ledger: RoundLedger, builds: Sequence[InstalledBuild], by: str, approved_by: str) -> list[BuildRegistered]:
    """Record those of `builds` that are not registered yet, in one append, and return their events.

    by, approved_by: names of two people, kept beside the record and in it by salted hash. Needs a ledger opened for
    writing. Raises BuildKnown where none is left to register, ApproverSame, TextInvalid, LedgerReadOnly, VersionConflict.
    """
    approval = approval_of(by, approved_by)
    version = len(ledger.store.stream_events(LEDGER_STREAM)) + 1
    known = {(found.event.game, found.event.engine_fingerprint) for found in registrations(ledger)}
    fresh = [build for build in builds if (build.game, build.fingerprint) not in known]
    if not fresh:
        raise BuildKnown(", ".join(f"{build.game} {build.rules_version} {build.fingerprint}" for build in builds))
    now = ledger.store.clock()
    events = [
        BuildRegistered(
            game=build.game,
            rules_version=build.rules_version,
            rules_hash=build.rules_hash,
            engine_fingerprint=build.fingerprint,
            sources=build.sources,
            registered_by_hash=approval.by.text_hash,
            approved_by_hash=approval.approved_by.text_hash,
            registered_at_us=now,
        )
        for build in fresh
    ]
    ledger.store.append_events(LEDGER_STREAM, version, [event_bytes(event) for event in events], texts=approval)
    return events
