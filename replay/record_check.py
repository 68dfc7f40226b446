"""Is this the record that was written, whole and unchanged? One round's bytes against their leaves and the tree's root."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from engines.canonical import strict_values
from ledger.errors import ProofMalformed
from ledger.merkle import append_digest, leaf_bytes, leaf_hash, root_of_path
from ledger.store import LEAF_END, EventRow, LeafRow, RoundRecord
from replay.verdict import Finding

__all__ = ["check_append", "check_record"]


def check_record(record: RoundRecord) -> list[Finding]:
    """Return where a round's stored events depart from their leaves, their topics or the canonical form.

    Where the record was read with audit paths and a tree, each leaf must lead to the root. All findings are of
    severity `integrity`, and one altered event is one finding: its bytes first, else its append's leaf.
    """
    findings = [*_check_versions(record), *_check_places(record)]
    for append in record.appends:
        findings.extend(_check_leaf(record.stream, append, record.events[append.version_first - 1 : append.version_last]))
    if not findings:
        for place in range(len(record.appends)):
            findings.extend(_check_path(record, place))
    return findings


def check_append(record: RoundRecord, place: int) -> list[Finding]:
    """Return what is wrong with one append of a stream, by its place among them, whatever the others are, or that they are not there."""
    append = record.appends[place]
    start = bisect_left(record.events, append.version_first, key=lambda event: event.version)
    events = record.events[start : bisect_right(record.events, append.version_last, key=lambda event: event.version)]
    return _check_leaf(record.stream, append, events) or _check_path(record, place)


def _finding(code: str, event_index: int, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", event_index, -1, where, want, got, f"{where}: want {want}, got {got}")


def _check_versions(record: RoundRecord) -> list[Finding]:
    """Return at most one finding: that versions have a gap, or that appends and events do not cover each other."""
    for place, event in enumerate(record.events):
        if event.version != place + 1:
            return [_finding("version_gap", place, "versions of the stream", str(place + 1), str(event.version))]
    expected = 1
    for append in record.appends:
        if append.version_first != expected or append.version_last < append.version_first:
            got = f"{append.version_first} to {append.version_last}"
            return [_finding("append_gap", expected - 1, f"append of leaf {append.leaf_index}", f"versions from {expected}", got)]
        expected = append.version_last + 1
    if expected != len(record.events) + 1:
        got = f"{len(record.events)} events"
        return [_finding("events_missing", len(record.events), "events of the stream", f"{expected - 1} by the leaves", got)]
    return []


def _check_places(record: RoundRecord) -> list[Finding]:
    """Return where a leaf has an index that no leaf has: below 0, or beyond all that there will be."""
    return [
        _finding("leaf_index", first, f"append from event {first}", "the index of a leaf", str(leaf_index))
        for leaf_index, first in ((append.leaf_index, append.version_first - 1) for append in record.appends)
        if not 0 <= leaf_index < LEAF_END
    ]


def _check_leaf(stream: str, append: LeafRow, events: Sequence[EventRow]) -> list[Finding]:
    findings: list[Finding] = []
    for event in events:
        findings.extend(_check_form(event.version - 1, event.topic, event.data))
    leaf = leaf_bytes(
        stream, append.version_first, append.version_last, append.recorded_at_us, append_digest([event.data for event in events])
    )
    if leaf_hash(leaf) != append.leaf_hash and not findings:
        where = f"leaf {append.leaf_index}, over events {append.version_first - 1} to {append.version_last - 1}"
        findings.append(_finding("leaf", append.version_first - 1, where, append.leaf_hash.hex(), leaf_hash(leaf).hex()))
    return findings


def _check_form(event_index: int, topic: str, data: bytes) -> Sequence[Finding]:
    where = f"event {event_index}"
    values = strict_values(data)
    if values is None:
        return [_finding("event_bytes", event_index, where, "a canonical JSON object", repr(data[:60]))]
    named = f"{values.get('kind')}/{values.get('v')}"
    if named != topic:
        return [_finding("topic", event_index, f"topic of event {event_index}", named, topic)]
    return []


def _check_path(record: RoundRecord, place: int) -> list[Finding]:
    """Return whether a leaf leads to the root, where the record was read with paths and a tree."""
    tree = record.tree
    if tree is None:
        return []
    append = record.appends[place]
    try:
        found = root_of_path(append.leaf_index, tree.size, append.leaf_hash, record.paths[place]).hex()
    except ProofMalformed as error:  # a leaf that is said to stand outside the tree
        found = str(error)
    if found == tree.root.hex():
        return []
    where = f"audit path of leaf {append.leaf_index} in the tree of {tree.size}"
    return [_finding("leaf_path", append.version_first - 1, where, tree.root.hex(), found)]
