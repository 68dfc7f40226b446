"""A stretch of leaves with the events that they cover, gone over in bulk: either nothing is wrong with it, or it is left alone.

What is left alone is gone over leaf by leaf in `ledger/fsck.py`, which names what is wrong. So only one thing matters here:
that no stretch passes in which that would find a fault of place, form, hash or node.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

from engines.canonical import strict_values
from engines.game_events import GAME_EVENTS
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.merkle import append_leaf, leaf_bytes
from ledger.store import LeafRow
from ledger.table_rows import RowCursor, TableRows

__all__ = [
    "KINDS",
    "STRETCH_EVENTS_MAX",
    "STRETCH_LEAVES",
    "FormCheck",
    "NodeCheck",
    "Stretch",
    "agreeing_values",
    "clean_stretch",
    "levels_above",
]

KINDS = {f"{kind}/1": kind for kind in (*GAME_EVENTS, *LIFECYCLE_EVENTS)}
STRETCH_LEAVES = 512  # a power of two, so that a stretch is a whole subtree
STRETCH_EVENTS_MAX = 250_000  # far more than so many appends have; a leaf that claims more is looked at by itself
_TOPICS_FOLDED = frozenset(f"{kind}/1" for kind in LIFECYCLE_EVENTS)
_KEPT_BYTES_MAX = 200
_KEPT_MAX = 4096
_LENGTHS = [length.to_bytes(4, "big") for length in range(4096)]


class Stretch(NamedTuple):
    """Leaves in whose bytes nothing is wrong; what their events say has still to be followed.

    levels: the hashes of the leaves and of the subtrees above them that the stretch finishes, lowest first.
    ends: for each leaf, the place after its last event. folded: place and values of each event that something follows from.
    """

    leaves: Sequence[LeafRow]
    levels: list[list[bytes]]
    ends: list[int]
    folded: list[tuple[int, dict[str, Any]]]


def agreeing_values(topic: str, data: bytes) -> dict[str, Any] | None:
    """Return the values of an event of a known kind in canonical form whose kind and version are its topic's, else None."""
    values = strict_values(data)
    kind = KINDS.get(topic)
    if values is None or kind is None or values.get("kind") != kind or values.get("v") != 1 or values["v"] is True:
        return None
    return values


class FormCheck:
    """The form of many events; short ones that come again and again, byte for byte, are looked at once."""

    def __init__(self) -> None:
        self._topics: dict[bytes, str] = {}

    def folded(self, versions: Sequence[int], topics: Sequence[str], datas: Sequence[bytes]) -> list[tuple[int, dict[str, Any]]] | None:
        """Return place and values of the events that something follows from; None where the form of any event is wrong.

        Something follows from lifecycle events and from whatever a stream begins with.
        """
        known = self._topics
        folded: list[tuple[int, dict[str, Any]]] = []
        for place, (version, topic, data) in enumerate(zip(versions, topics, datas, strict=True)):
            is_short = len(data) <= _KEPT_BYTES_MAX
            if is_short and known.get(data) == topic and version != 1:
                continue
            values = agreeing_values(topic, data)
            if values is None:
                return None
            if topic in _TOPICS_FOLDED or version == 1:
                folded.append((place, values))
            elif is_short:
                if len(known) >= _KEPT_MAX:
                    known.clear()
                known[data] = topic
        return folded


class NodeCheck:
    """The stored inner nodes, held level by level against those that leaves make."""

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows
        self._levels: dict[int, RowCursor] = {}

    def peaks_after(self, first: int, peaks: Sequence[bytes], levels: list[list[bytes]]) -> list[bytes] | None:
        """Return the tree's peaks after a stretch; None where the nodes that it finishes are not the stored ones.

        first: leaves before the stretch, a multiple of STRETCH_LEAVES, and `peaks` theirs. levels: as of `Stretch`.
        """
        for level, nodes in enumerate(levels[1:], 1):
            if not self._are_next(level, first >> level, nodes):
                return None
        leaf_count = len(levels[0])
        if leaf_count < STRETCH_LEAVES:  # the last stretch
            return [*peaks, *(nodes[-1] for level, nodes in reversed(list(enumerate(levels))) if leaf_count >> level & 1)]
        grown, finished = append_leaf(peaks, first // STRETCH_LEAVES, levels[-1][0])
        level_first = len(levels) - 1
        if not all(self._are_next(level_first + node.level, node.node_index, [node.node_hash]) for node in finished):
            return None
        return grown

    def _are_next(self, level: int, first: int, nodes: Sequence[bytes]) -> bool:
        if level not in self._levels:
            self._levels[level] = self._rows.nodes(level)
        return self._levels[level].fetchmany(len(nodes)) == list(enumerate(nodes, first))


def levels_above(leaves: list[bytes]) -> list[list[bytes]]:
    """Return leaf hashes and, level by level, the hashes of the complete subtrees above them (RFC 6962, 2.1)."""
    levels = [leaves]
    while len(level := levels[-1]) > 1:
        levels.append([sha256(b"\x01" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)])
    return levels


def clean_stretch(first: int, leaves: Sequence[LeafRow], events: Sequence[tuple[Any, ...]], form: FormCheck) -> Stretch | None:
    """Return the stretch of the leaves from index `first` on, None where its events, in the order of their rows, are not theirs.

    events: number, stream, version, topic and bytes of as many rows as the leaves cover. Compared are the order of leaves and
    rows, the form of every event and the hash of every leaf; versions are those that the leaves say, be they right or not.
    """
    streams: list[str] = []
    versions: list[int] = []
    ends: list[int] = []
    for leaf_index, (index, stream, version_first, version_last, _, _) in enumerate(leaves, first):
        if index != leaf_index or version_last < version_first:
            return None
        streams += [stream] * (version_last - version_first + 1)
        versions += range(version_first, version_last + 1)
        ends.append(len(streams))
    if len(events) != len(streams):
        return None
    _, found_streams, found_versions, topics, datas = zip(*events, strict=True) if events else ((),) * 5
    if list(found_versions) != versions or list(found_streams) != streams:
        return None
    folded = form.folded(versions, topics, datas)
    if folded is None:
        return None
    hashes = _leaf_hashes(leaves, ends, datas)
    if hashes != [leaf[5] for leaf in leaves]:
        return None
    return Stretch(leaves, levels_above(hashes), ends, folded)


def _leaf_hashes(leaves: Sequence[LeafRow], ends: Sequence[int], datas: Sequence[bytes]) -> list[bytes]:
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
        digest = sha256(joined[start:stop]).digest()
        hashes.append(sha256(b"\x00" + leaf_bytes(stream, version_first, version_last, recorded_at_us, digest)).digest())
        start = stop
    return hashes
