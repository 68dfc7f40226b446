"""A stretch of leaves with the events that they cover, gone over in bulk: either nothing is wrong with it, or it is left alone.

What is left alone is gone over leaf by leaf in `ledger/fsck.py`, which names what is wrong. So only one thing matters here:
that no stretch passes in which that would find a fault of place, form, hash or node.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import accumulate, chain, repeat
from operator import sub
from typing import Any, NamedTuple

from ledger.event_forms import FOLDED, KINDS, EventForms
from ledger.merkle import BLOCK_LEAVES
from ledger.table_rows import RowCursor, TableRows, text_rows

__all__ = ["STRETCH_LEAVES", "StoredNodes", "Stretch", "clean_stretch", "clean_stretches"]

STRETCH_LEAVES = BLOCK_LEAVES  # a block, of which all nodes are stored; so few that its rows stay in the processor's cache
STRETCH_EVENTS_MAX = 250_000  # far more than so many appends have; a leaf that claims more is looked at by itself
_LEAF_TYPES = [{int}, {str}, {int}, {int}, {int}, {bytes}]
_LEAF = b"\x00leaf/1"


class Stretch(NamedTuple):
    """Leaves in whose bytes nothing is wrong; what their events say has still to be followed.

    streams, firsts, lasts, hashes: columns of the leaves, as of `LeafRow`. ends: for each, the place after its last event.
    folded: place, kind and values, as of `event_forms.taken_values`, of each event that something follows from.
    peaks: of the tree over these leaves alone. number_first, number_last: of the rows of its events, between which no other
    row stands.
    """

    streams: Sequence[str]
    firsts: Sequence[int]
    lasts: Sequence[int]
    hashes: Sequence[bytes]
    ends: list[int]
    folded: list[tuple[int, str, Any]]
    peaks: list[bytes]
    number_first: int
    number_last: int


def folded_events(forms: EventForms, topics: Sequence[str], datas: Sequence[bytes]) -> list[tuple[int, str, Any]] | None:
    """Return place, kind and what is taken of the events that something follows from; None where the form of any event is wrong."""
    by_topic: dict[str, list[bytes]] = {topic: [] for topic in set(topics)}
    if not by_topic.keys() <= KINDS.keys():
        return None
    for topic, data in zip(topics, datas, strict=True):
        by_topic[topic].append(data)
    taken = {}
    for topic, events in by_topic.items():
        values = forms.taken(topic, events if topic in FOLDED else set(events))
        if values is None:
            return None
        taken[topic] = iter(values)
    return [(place, FOLDED[topic], next(taken[topic])) for place, topic in enumerate(topics) if topic in FOLDED]


class StoredNodes:
    """The stored inner nodes, each level read in the order of its index from the one above leaf `first_leaf` on."""

    def __init__(self, rows: TableRows, first_leaf: int = 0) -> None:
        self._rows, self._first_leaf = rows.as_stored(), first_leaf
        self._levels: dict[int, RowCursor] = {}

    def are_next(self, level: int, first: int, nodes: Sequence[bytes], *, may_lack: bool = False) -> bool:
        """Return whether the next stored nodes of a level are these, from index `first` on, or some of them and no others."""
        if level not in self._levels:
            self._levels[level] = self._rows.nodes(level, self._first_leaf >> level or None)
        found = text_rows(self._levels[level], len(nodes))
        return found is not None and found == [node for node in enumerate(nodes, first) if not may_lack or node in found]


def clean_stretches(rows: TableRows, first: int = 0, leaf_end: int | None = None) -> Iterator[Stretch]:
    """Yield the stretches of the leaves from `first`, a multiple of STRETCH_LEAVES, to before `leaf_end`, while they are clean."""
    rows = rows.as_stored()
    leaves, nodes, forms = rows.leaves(first or None), StoredNodes(rows, first), EventForms()
    events = None if first else rows.events()
    while (leaf_end is None or first < leaf_end) and (page := text_rows(leaves, STRETCH_LEAVES)):
        if not _are_typed(page):
            return
        event_count = sum(version_last - version_first + 1 for _, _, version_first, version_last, _, _ in page)
        if event_count > STRETCH_EVENTS_MAX:
            return
        if events is None:
            events = rows.events_from(page[0][1], page[0][2])
        stretch = clean_stretch(first, page, text_rows(events, event_count) or (), forms, nodes)
        if stretch is None:
            return
        yield stretch
        first += len(page)


def _are_typed(leaves: list[Any]) -> bool:
    """Return whether every value of these rows is of its column's type."""
    return [set(map(type, column)) for column in zip(*leaves, strict=True)] == _LEAF_TYPES


def clean_stretch(
    first: int, leaves: list[Any], events: Sequence[tuple[Any, ...]], forms: EventForms, nodes: StoredNodes
) -> Stretch | None:
    """Return the stretch of the leaves from index `first` on, None where its events, in the order of their rows, are not theirs.

    events: number, stream, version, topic and bytes of as many rows as the leaves cover. Compared are the order of leaves and
    rows, the form of every event, the hash of every leaf, and the nodes that need no leaf before these; versions are those that
    the leaves say, be they right or not.
    """
    indexes, streams, firsts, lasts, times, stored_hashes = zip(*leaves, strict=True)
    afters = [last + 1 for last in lasts]
    counts = list(map(sub, afters, firsts))
    if indexes != tuple(range(first, first + len(leaves))) or min(counts) < 1 or min(firsts) < 1 or len(events) != sum(counts):
        return None
    numbers, found_streams, versions, topics, datas = zip(*events, strict=True)
    if tuple(chain.from_iterable(map(repeat, streams, counts))) != found_streams:
        return None
    if tuple(chain.from_iterable(map(range, firsts, afters))) != versions:
        return None
    ends = list(accumulate(counts))
    if not FOLDED.keys() >= {topics[end - count] for end, count, version in zip(ends, counts, firsts, strict=True) if version == 1}:
        return None  # something follows from whatever a stream begins with
    folded = folded_events(forms, topics, datas)
    if folded is None:
        return None
    try:
        hashes = _leaf_hashes(zip(streams, firsts, lasts, times, strict=True), ends, datas)
    except (OverflowError, UnicodeEncodeError, struct.error):
        return None  # a negative number, a name too long
    if hashes != list(stored_hashes):
        return None
    peaks = _stored_peaks(first, hashes, nodes)
    return Stretch(streams, firsts, lasts, hashes, ends, folded, peaks, numbers[0], numbers[-1]) if peaks is not None else None


def _stored_peaks(first: int, leaves: list[bytes], nodes: StoredNodes) -> list[bytes] | None:
    """Return the peaks of the tree over leaf hashes (RFC 6962, 2.1), None where its nodes are not the stored ones.

    Of fewer leaves than a block has, nodes need not be stored.
    """
    peaks: list[bytes] = []
    level, hashes = 0, leaves
    while True:
        if len(hashes) & 1:
            peaks.append(hashes[-1])
        if len(hashes) < 2:
            return peaks[::-1]
        level += 1
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(hashes[::2], hashes[1::2], strict=False)]
        if not nodes.are_next(level, first >> level, hashes, may_lack=len(leaves) < STRETCH_LEAVES):
            return None


class _Prefixes(dict[int, bytes]):
    """The length of an event's bytes as it stands before them (`record/1`, item 3), by the length."""

    def __missing__(self, length: int) -> bytes:
        return self.setdefault(length, length.to_bytes(4, "big"))


_prefix = _Prefixes().__getitem__


@cache
def _leaf_packer(name_length: int) -> Callable[..., bytes]:
    """Return what packs the bytes of a leaf (`record/1`, item 4) whose stream has a name of so many bytes."""
    return struct.Struct(f">{len(_LEAF)}sH{name_length}s3Q32s").pack


def _leaf_hashes(leaves: Iterable[tuple[str, int, int, int]], ends: list[int], datas: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of leaves (`record/1`, items 3 and 4): of each its stream, versions and time, and the place after its events."""
    form: list[bytes] = [b""] * (2 * len(datas))
    form[0::2] = map(_prefix, map(len, datas))
    form[1::2] = datas
    join = b"".join
    digests = [sha256(join(form[2 * start : 2 * end])).digest() for start, end in zip((0, *ends), ends, strict=False)]
    hashes = []
    for (stream, version_first, version_last, recorded_at_us), digest in zip(leaves, digests, strict=True):
        name = stream.encode()
        leaf = _leaf_packer(len(name))(_LEAF, len(name), name, version_first, version_last, recorded_at_us, digest)
        hashes.append(sha256(leaf).digest())
    return hashes
