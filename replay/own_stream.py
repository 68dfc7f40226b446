"""The stream `ledger` of one ledger as far as it can be relied on: builds, profiles and whatever else two people let in."""

from functools import cached_property
from typing import Any, NamedTuple

from engines.canonical import strict_values
from ledger.errors import TreeBroken
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM
from replay.record_check import check_append

__all__ = ["OwnEvent", "OwnStream"]


class OwnEvent(NamedTuple):
    """An event whose bytes are those of its leaf, which leads to the root."""

    leaf_index: int
    values: dict[str, Any]


class OwnStream:
    """Reads the stream when the first round is judged, and once."""

    def __init__(self, ledger: RoundLedger) -> None:
        self._ledger = ledger
        self._by_kind: dict[str, list[OwnEvent]] = {}

    @cached_property
    def _found(self) -> tuple[list[OwnEvent], list[str]]:
        try:
            record = self._ledger.store.round_record(LEDGER_STREAM)
        except TreeBroken as error:  # no leaf can be shown to stand where it says
            record = next(iter(self._ledger.store.records_of([LEDGER_STREAM])))
            return [], [str(error)] if len(record.events) > 1 or len(record.appends) > 1 else []
        events: list[OwnEvent] = []
        faults: list[str] = []
        uncovered = {row.version for row in record.events if row.version != 1}
        for place, append in enumerate(record.appends):
            found = check_append(record, place)
            if not found:
                rows = record.events[append.version_first - 1 : append.version_last]
                uncovered -= {row.version for row in rows}
                events += [OwnEvent(append.leaf_index, strict_values(row.data) or {}) for row in rows]
            elif append.version_first != 1:
                faults.append(f"leaf {append.leaf_index} of stream {LEDGER_STREAM}: {found[0].message}")
        faults += [f"version {version} of stream {LEDGER_STREAM} that no leaf vouches for" for version in sorted(uncovered)]
        return events, faults

    def events(self, kind: str) -> list[OwnEvent]:
        """Return the events of a kind, version 1, in the order of the record."""
        if kind not in self._by_kind:
            self._by_kind[kind] = [each for each in self._found[0] if each.values.get("kind") == kind and each.values.get("v") == 1]
        return self._by_kind[kind]

    @property
    def faults(self) -> list[str]:
        """What is wrong with the stream behind its first event, which is the ledger's making and lets nothing in."""
        return self._found[1]
