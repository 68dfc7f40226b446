"""RFC 6962 hashing of the record (`record/1`, items 3 and 4): pure, no store. On disk for ever: no byte of it may change.

The tree is kept as its complete subtrees: node (level, index) covers the leaves index * 2^level up to below
(index + 1) * 2^level; level 0 holds the leaves. A tree of any size is a few complete subtrees, its peaks, largest first.
Inner nodes are written when a block of leaves is complete (docs/decisions/0009-nodes-in-blocks.md), until then they are reckoned.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ledger.errors import ProofMalformed

__all__ = [
    "BLOCK_LEAVES",
    "BLOCK_LEVEL",
    "EMPTY_ROOT",
    "Node",
    "append_digest",
    "append_form",
    "append_leaf",
    "audit_path",
    "block_nodes",
    "consistency_path",
    "is_consistent",
    "leaf_bytes",
    "leaf_hash",
    "node_hash",
    "path_length",
    "peak_places",
    "root_of_leaves",
    "root_of_path",
    "root_of_peaks",
    "root_of_size",
]

BLOCK_LEVEL = 6  # of the node over a whole block
BLOCK_LEAVES = 2**BLOCK_LEVEL
EMPTY_ROOT = hashlib.sha256(b"").digest()
_LEAF_MARK = b"leaf/1"
_UNSIGNED_64 = 2**64


class Node(NamedTuple):
    """A complete subtree of 2^level leaves and its hash."""

    level: int
    node_index: int
    node_hash: bytes


def append_form(events: Iterable[bytes]) -> bytes:
    """Return length (unsigned 32-bit big-endian) and bytes of each event in order: what append, outcome and round digest are over."""
    parts: list[bytes] = []
    for event in events:
        parts.append(len(event).to_bytes(4, "big"))
        parts.append(event)
    return b"".join(parts)


def append_digest(events: Iterable[bytes]) -> bytes:
    """Return SHA-256 over the append form of the events."""
    return hashlib.sha256(append_form(events)).digest()


def leaf_bytes(stream: str, version_first: int, version_last: int, recorded_at_us: int, digest: bytes) -> bytes:
    """Return the leaf data of one append; `digest` is its append digest.

    Numbers are taken modulo 2^64: an altered row that holds a negative one gives another hash and no crash.
    """
    name = stream.encode("utf-8", "surrogatepass")
    numbers = struct.pack(">3Q", version_first % _UNSIGNED_64, version_last % _UNSIGNED_64, recorded_at_us % _UNSIGNED_64)
    return b"".join((_LEAF_MARK, (len(name) % 2**16).to_bytes(2, "big"), name, numbers, digest))


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of a leaf with the leaf data `leaf`."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the inner node above `left` and `right`."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def append_leaf(peaks: Sequence[bytes], tree_size: int, leaf: bytes) -> tuple[list[bytes], list[Node]]:
    """Return the peaks of the tree with one more leaf, and the inner nodes that this leaf finishes, lowest first.

    `peaks` are those of the tree of `tree_size` leaves, largest first; `leaf` is the new leaf's hash.
    """
    grown = list(peaks)
    finished: list[Node] = []
    top, level, place = leaf, 0, tree_size
    while place & 1:
        top = node_hash(grown.pop(), top)
        level += 1
        place >>= 1
        finished.append(Node(level, place, top))
    grown.append(top)
    return grown, finished


def block_nodes(first: int, leaves: Sequence[bytes], node_at: Callable[[int, int], bytes]) -> list[Node]:
    """Return the inner nodes over a block of leaves, then those above it that its last leaf finishes, lowest first.

    leaves: their hashes, as many as a power of two; first: the index of the first, a multiple of their number. `node_at` reads a
    complete subtree before them by level and index.
    """
    nodes: list[Node] = []
    level, place, hashes = 0, first, leaves
    while len(hashes) > 1:
        level, place = level + 1, place >> 1
        hashes = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
        nodes += [Node(level, node_index, value) for node_index, value in enumerate(hashes, place)]
    top = hashes[0]
    while place & 1:
        top = node_hash(node_at(level, place - 1), top)
        level, place = level + 1, place >> 1
        nodes.append(Node(level, place, top))
    return nodes


def peak_places(tree_size: int) -> list[tuple[int, int]]:
    """Return level and index of each peak of a tree of `tree_size` leaves, largest first."""
    places: list[tuple[int, int]] = []
    covered = 0
    for level in range(tree_size.bit_length() - 1, -1, -1):
        if tree_size >> level & 1:
            places.append((level, covered >> level))
            covered += 1 << level
    return places


def root_of_peaks(peaks: Sequence[bytes]) -> bytes:
    """Return the root of the tree with these peaks, largest first; SHA-256 of nothing where there are none."""
    if not peaks:
        return EMPTY_ROOT
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


def root_of_size(tree_size: int, node_at: Callable[[int, int], bytes]) -> bytes:
    """Return the root of the first `tree_size` leaves; `node_at` reads a complete subtree by level and index."""
    return root_of_peaks([node_at(level, node_index) for level, node_index in peak_places(tree_size)])


def root_of_leaves(leaves: Iterable[bytes]) -> tuple[int, bytes]:
    """Return the number of leaf hashes and the root of the tree over them; holds no more than the peaks."""
    peaks: list[bytes] = []
    tree_size = 0
    for leaf in leaves:
        peaks, _ = append_leaf(peaks, tree_size, leaf)
        tree_size += 1
    return tree_size, root_of_peaks(peaks)


def _split(count: int) -> int:
    """Return the largest power of two below `count`, which is 2 or more."""
    return 1 << (count - 1).bit_length() - 1


def _range_root(first: int, count: int, node_at: Callable[[int, int], bytes]) -> bytes:
    if count & (count - 1) == 0:
        level = count.bit_length() - 1
        return node_at(level, first >> level)
    left = _split(count)
    return node_hash(_range_root(first, left, node_at), _range_root(first + left, count - left, node_at))


def audit_path(leaf_index: int, tree_size: int, node_at: Callable[[int, int], bytes]) -> list[bytes]:
    """Return the audit path of a leaf, from the leaf's neighbour up; `node_at` reads a complete subtree by level and index."""
    path: list[bytes] = []
    first, count = 0, tree_size
    while count > 1:
        left = _split(count)
        if leaf_index - first < left:
            path.append(_range_root(first + left, count - left, node_at))
            count = left
        else:
            path.append(_range_root(first, left, node_at))
            first, count = first + left, count - left
    path.reverse()
    return path


def path_length(leaf_index: int, tree_size: int) -> int:
    """Return the number of hashes in the audit path of a leaf of a tree."""
    length, place, count = 0, leaf_index, tree_size
    while count > 1:
        left = _split(count)
        place, count = (place, left) if place < left else (place - left, count - left)
        length += 1
    return length


def root_of_path(leaf_index: int, tree_size: int, leaf: bytes, path: Sequence[bytes]) -> bytes:
    """Return the root that `path` leads to from the leaf hash `leaf`; raises ProofMalformed for a path of another length."""
    length = path_length(leaf_index, tree_size) if 0 <= leaf_index < tree_size else -1
    if len(path) != length:
        raise ProofMalformed(leaf_index, tree_size, length, len(path))
    root, place, last = leaf, leaf_index, tree_size - 1
    for sibling in path:
        # A leaf without a neighbour on its right rises to the level where it has one on its left.
        while place == last and not place & 1:
            place, last = place >> 1, last >> 1
        root = node_hash(sibling, root) if place & 1 else node_hash(root, sibling)
        place, last = place >> 1, last >> 1
    return root


def consistency_path(size_from: int, size_to: int, node_at: Callable[[int, int], bytes]) -> list[bytes]:
    """Return the proof that the tree of `size_from` leaves is the beginning of that of `size_to` (RFC 6962, 2.1.2).

    0 <= size_from <= size_to; empty where either is 0 or both are equal. `node_at` reads a complete subtree by level and index.
    """
    if size_from == 0:
        return []
    path: list[bytes] = []
    first, count, old = 0, size_to, size_from
    while old != count:
        left = _split(count)
        if old <= left:
            path.append(_range_root(first + left, count - left, node_at))
            count = left
        else:
            path.append(_range_root(first, left, node_at))
            first, count, old = first + left, count - left, old - left
    if first:
        path.append(_range_root(first, count, node_at))
    path.reverse()
    return path


def is_consistent(size_from: int, root_from: bytes, size_to: int, root_to: bytes, path: Sequence[bytes]) -> bool:
    """Return whether `path` proves that the tree with `root_from` is the beginning of the one with `root_to` (RFC 9162, 2.1.4.2).

    A path that is too short, too long or of other hashes proves nothing, and neither do sizes that fall.
    """
    if not 0 <= size_from <= size_to:
        return False
    if size_from == 0 or size_from == size_to:
        return not path and root_from == (root_to if size_from == size_to else EMPTY_ROOT)
    # The last leaf of the old tree: each hash of the path is a neighbour of its subtree, in the old tree or only in the new.
    place, last = size_from - 1, size_to - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    hashes = list(path) if size_from & (size_from - 1) else [root_from, *path]
    if not hashes or not path:
        return False
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old == root_from and new == root_to
