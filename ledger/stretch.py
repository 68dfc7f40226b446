"""A stretch of leaves with the events that they cover, gone over in bulk: either nothing is wrong with it, or it is left alone.

What is left alone is gone over leaf by leaf in `ledger/fsck.py`, which names what is wrong. So only one thing matters here:
that no stretch passes in which that would find a fault of place, form, hash or node.
"""

import struct
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from engines.canonical import STRICT, is_plain, strict_values
from engines.game_events import GAME_EVENTS
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.recomputed import have_their_fields
from ledger.table_rows import RowCursor, TableRows, text_rows

__all__ = [
    "FOLDED",
    "KINDS",
    "STRETCH_LEAVES",
    "StoredNodes",
    "Stretch",
    "agreeing_values",
    "clean_stretch",
    "clean_stretches",
    "folded_events",
]

KINDS = {f"{kind}/1": kind for kind in (*GAME_EVENTS, *LIFECYCLE_EVENTS)}
STRETCH_LEAVES = 64  # a power of two, so that a stretch is a whole subtree; so few that its rows stay in the processor's cache
STRETCH_EVENTS_MAX = 250_000  # far more than so many appends have; a leaf that claims more is looked at by itself
_LIFECYCLE = frozenset(f"{kind}/1" for kind in LIFECYCLE_EVENTS)
_OFFERED = "choice_offered/1"
FOLDED = _LIFECYCLE | {_OFFERED}  # topics of events that something follows from
_LEAF_TYPES = [{int}, {str}, {int}, {int}, {int}, {bytes}]
_KNOWN_BYTES_MAX = 200
_KNOWN_MAX = 4096
_LEAF, _NUMBERS = b"\x00leaf/1", struct.Struct(">3Q").pack
_LENGTHS = [length.to_bytes(4, "big") for length in range(4096)]


class Stretch(NamedTuple):
    """Leaves in whose bytes nothing is wrong; what their events say has still to be followed.

    leaves: rows of the table, columns as of `LeafRow`. ends: for each, the place after its last event.
    folded: place and values of each event that something follows from. peaks: of the tree over these leaves alone.
    number_first, number_last: of the rows of its events, between which no other row stands.
    """

    leaves: list[Any]
    ends: list[int]
    folded: list[tuple[int, dict[str, Any]]]
    peaks: list[bytes]
    number_first: int
    number_last: int


def agreeing_values(topic: str, data: bytes) -> dict[str, Any] | None:
    """Return the values of an event of a known kind in canonical form whose kind and version are its topic's, else None."""
    values = strict_values(data)
    return values if values is not None and _is_agreeing(topic, values) else None


def _is_agreeing(topic: str, values: dict[str, Any]) -> bool:
    kind, version = values.get("kind"), values.get("v")
    return kind is not None and KINDS.get(topic) == kind and version == 1 and version is not True


def folded_events(
    versions: Sequence[int], topics: Sequence[str], datas: Sequence[bytes], known: dict[bytes, str]
) -> list[tuple[int, dict[str, Any]]] | None:
    """Return place and values of the events that something follows from; None where the form of any event is wrong.

    Something follows from lifecycle events, from a choice that is offered and from whatever a stream begins with. What
    `agreeing_values` and `has_its_fields` say of one event is said here of many. known: short events that were right before, which
    come again byte for byte.
    """
    if len(known) > _KNOWN_MAX:
        known.clear()
    by_topic: dict[str, list[dict[str, Any]]] = {topic: [] for topic in _LIFECYCLE.intersection(topics)}
    folded: list[tuple[int, dict[str, Any]]] = []
    others: list[bytes] = []
    met: dict[bytes, str] = {}
    loads, dumps, kinds = orjson.loads, orjson.dumps, KINDS.get
    try:
        for place, (topic, data) in enumerate(zip(topics, datas, strict=True)):
            is_short = len(data) <= _KNOWN_BYTES_MAX
            if is_short and known.get(data) == topic and versions[place] != 1:
                continue
            values = loads(data)
            if dumps(values, option=STRICT) != data or values["kind"] != kinds(topic) or values["v"] != 1 or values["v"] is True:
                return None
            if topic in by_topic:
                by_topic[topic].append(values)
                folded.append((place, values))
                continue
            others.append(data)
            is_folded = topic == _OFFERED or versions[place] == 1
            if is_short and not is_folded:
                met[data] = topic
            if is_folded:
                folded.append((place, values))
    except (KeyError, TypeError, ValueError):
        return None
    if not is_plain(b"".join(others)) and None in map(strict_values, others):
        return None
    known.update(met)
    return folded if all(map(have_their_fields, by_topic.values())) else None


class StoredNodes:
    """The stored inner nodes, each level read in the order of its index from the one above leaf `first_leaf` on."""

    def __init__(self, rows: TableRows, first_leaf: int = 0) -> None:
        self._rows, self._first_leaf = rows.as_stored(), first_leaf
        self._levels: dict[int, RowCursor] = {}

    def are_next(self, level: int, first: int, nodes: Sequence[bytes]) -> bool:
        """Return whether the next stored nodes of a level are these, from index `first` on."""
        if level not in self._levels:
            self._levels[level] = self._rows.nodes(level, self._first_leaf >> level or None)
        return text_rows(self._levels[level], len(nodes)) == list(enumerate(nodes, first))


def clean_stretches(rows: TableRows, first: int = 0, leaf_end: int | None = None) -> Iterator[Stretch]:
    """Yield the stretches of the leaves from `first`, a multiple of STRETCH_LEAVES, to before `leaf_end`, while they are clean."""
    rows = rows.as_stored()
    leaves, nodes = rows.leaves(first or None), StoredNodes(rows, first)
    events = None if first else rows.events()
    known: dict[bytes, str] = {}
    while (leaf_end is None or first < leaf_end) and (page := text_rows(leaves, STRETCH_LEAVES)):
        if not _are_typed(page):
            return
        counts = [version_last - version_first + 1 for _, _, version_first, version_last, _, _ in page]
        if min(counts) < 1 or sum(counts) > STRETCH_EVENTS_MAX:
            return
        if events is None:
            events = rows.events_from(page[0][1], page[0][2])
        stretch = clean_stretch(first, page, text_rows(events, sum(counts)) or (), known, nodes)
        if stretch is None:
            return
        yield stretch
        first += len(page)


def _are_typed(leaves: list[Any]) -> bool:
    """Return whether every value of these rows is of its column's type."""
    return [set(map(type, column)) for column in zip(*leaves, strict=True)] == _LEAF_TYPES


def clean_stretch(
    first: int, leaves: list[Any], events: Sequence[tuple[Any, ...]], known: dict[bytes, str], nodes: StoredNodes
) -> Stretch | None:
    """Return the stretch of the leaves from index `first` on, None where its events, in the order of their rows, are not theirs.

    events: number, stream, version, topic and bytes of as many rows as the leaves cover. known: as of `folded_events`.
    Compared are the order of leaves and rows, the form of every event, the hash of every leaf, and the nodes that need no
    leaf before these; versions are those that the leaves say, be they right or not.
    """
    streams: list[str] = []
    versions: list[int] = []
    ends: list[int] = []
    for leaf_index, (index, stream, version_first, version_last, _, _) in enumerate(leaves, first):
        if index != leaf_index:
            return None
        streams += [stream] * (version_last - version_first + 1)
        versions += range(version_first, version_last + 1)
        ends.append(len(streams))
    if len(events) != len(streams):
        return None
    numbers, found_streams, found_versions, topics, datas = zip(*events, strict=True)
    if list(found_versions) != versions or list(found_streams) != streams or set(map(type, datas)) != {bytes}:
        return None
    folded = folded_events(versions, topics, datas, known)
    if folded is None:
        return None
    try:
        hashes = _leaf_hashes(leaves, ends, datas)
    except (OverflowError, UnicodeEncodeError, struct.error):
        return None  # a negative number, a name too long
    if hashes != [leaf[5] for leaf in leaves]:
        return None
    peaks = _stored_peaks(first, hashes, nodes)
    return Stretch(leaves, ends, folded, peaks, numbers[0], numbers[-1]) if peaks is not None else None


def _stored_peaks(first: int, leaves: list[bytes], nodes: StoredNodes) -> list[bytes] | None:
    """Return the peaks of the tree over leaf hashes (RFC 6962, 2.1), None where its nodes are not the stored ones."""
    peaks: list[bytes] = []
    level, hashes = 0, leaves
    while True:
        if len(hashes) & 1:
            peaks.append(hashes[-1])
        if len(hashes) < 2:
            return peaks[::-1]
        level += 1
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(hashes[::2], hashes[1::2], strict=False)]
        if not nodes.are_next(level, first >> level, hashes):
            return None


def _leaf_hashes(leaves: list[Any], ends: Sequence[int], datas: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of the leaves (`record/1`, items 3 and 4), each append digest over a slice of one run of bytes."""
    lengths = list(map(len, datas))
    form: list[bytes] = [b""] * (2 * len(datas))
    form[1::2] = datas
    form[0::2] = [_LENGTHS[length] if length < len(_LENGTHS) else length.to_bytes(4, "big") for length in lengths]
    joined = memoryview(b"".join(form))
    places = [0, *accumulate(lengths)]
    hashes = []
    start = 0
    for (_, stream, version_first, version_last, recorded_at_us, _), end in zip(leaves, ends, strict=True):
        stop = places[end] + 4 * end
        name = stream.encode()
        numbers = _NUMBERS(version_first, version_last, recorded_at_us)
        leaf = b"".join((_LEAF, len(name).to_bytes(2, "big"), name, numbers, sha256(joined[start:stop]).digest()))
        hashes.append(sha256(leaf).digest())
        start = stop
    return hashes
