"""RFC 6962 hashing of the record, against its vectors and against a recursion written from the RFC."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import merkle
from ledger.errors import ProofMalformed

SPIN, DROP = b'{"kind":"spin_started","spin_index":0,"v":1}', b'{"cells":[1,2,3],"kind":"drop","v":1}'


def naive_root(hashes):
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    split = max(2**power for power in range(7) if 2**power < len(hashes))
    return hashlib.sha256(b"\x01" + naive_root(hashes[:split]) + naive_root(hashes[split:])).digest()


def naive_path(index, hashes):
    if len(hashes) <= 1:
        return []
    split = max(2**power for power in range(7) if 2**power < len(hashes))
    if index < split:
        return [*naive_path(index, hashes[:split]), naive_root(hashes[split:])]
    return [*naive_path(index - split, hashes[split:]), naive_root(hashes[:split])]


def grown(hashes):
    """The peaks and all stored nodes after appending the hashes one by one."""
    peaks, nodes = [], {}
    for tree_size, leaf in enumerate(hashes):
        nodes[0, tree_size] = leaf
        peaks, finished = merkle.append_leaf(peaks, tree_size, leaf)
        for level, node_index, value in finished:
            assert (level, node_index) not in nodes
            nodes[level, node_index] = value
    return peaks, nodes


def test_vector_of_the_record():
    """The record's own vector: append digest, two leaf hashes and their root."""
    digest = merkle.append_digest([SPIN, DROP])
    assert digest.hex() == "e92afd9a2e0b70df8dd2a8aa313288c8ddfd3807a7eca432dd5daea0d129bc13"
    first = merkle.leaf_hash(merkle.leaf_bytes("round/r-1", 2, 3, 1764547200000000, digest))
    assert first.hex() == "fcd97785bd8181a1b402f4417eb1fca1814bfb75674d2adee3a950d93da8cd04"
    digest = merkle.append_digest([b'{"kind":"x","v":1}'])
    second = merkle.leaf_hash(merkle.leaf_bytes("round/r-1", 4, 4, 1764547200000001, digest))
    assert second.hex() == "8a3c0a9aa5adfd43b2c668d6b57c717a8a60a688eb986743d0f79c82f537fc9d"
    root = "a0876ff94def28c7721d44f56ee8867996a80d97f8d947b804f862ae84f57bd6"
    assert merkle.root_of_peaks(merkle.append_leaf([first], 1, second)[0]).hex() == root
    assert merkle.root_of_leaves([first, second])[1].hex() == root


def test_empty_tree_has_the_hash_of_nothing():
    """The root of no leaves is SHA-256 of the empty string."""
    assert merkle.root_of_leaves([]) == (0, hashlib.sha256(b"").digest())
    assert merkle.peak_places(0) == []


leaf_lists = st.integers(0, 65).flatmap(lambda size: st.lists(st.binary(min_size=32, max_size=32), min_size=size, max_size=size))


@given(leaf_lists)
def test_peaks_and_nodes_equal_the_recursion(hashes):
    """At any size the peaks lead to the RFC's root, and exactly the complete subtrees are stored."""
    peaks, nodes = grown(hashes)
    assert merkle.root_of_peaks(peaks) == naive_root(hashes)
    assert merkle.root_of_leaves(hashes) == (len(hashes), naive_root(hashes))
    assert [nodes[place] for place in merkle.peak_places(len(hashes))] == peaks
    complete = {(level, index) for level in range(8) for index in range(len(hashes) >> level)}
    assert set(nodes) == complete
    for level, index in complete:
        assert nodes[level, index] == naive_root(hashes[index << level : index + 1 << level])


def test_every_leaf_of_every_size_has_its_path():
    """For sizes 1 to 65 each leaf's path from stored subtrees is the RFC's, and leads to the root from that leaf alone."""
    hashes = [hashlib.sha256(bytes([number])).digest() for number in range(65)]
    _, nodes = grown(hashes)
    for size in range(1, 66):
        root = naive_root(hashes[:size])
        for index in range(size):
            path = merkle.audit_path(index, size, lambda level, node_index: nodes[level, node_index])
            assert path == naive_path(index, hashes[:size])
            assert merkle.path_length(index, size) == len(path)
            assert merkle.root_of_path(index, size, hashes[index], path) == root
            assert merkle.root_of_path(index, size, hashes[(index + 1) % 65], path) != root


@given(st.integers(1, 65), st.data())
def test_a_changed_path_leads_elsewhere(size, data):
    """One changed bit anywhere in a path gives another root."""
    hashes = [hashlib.sha256(bytes([number])).digest() for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    path = naive_path(index, hashes)
    if not path:
        return
    place, bit = data.draw(st.integers(0, len(path) - 1)), data.draw(st.integers(0, 255))
    path[place] = (int.from_bytes(path[place], "big") ^ 1 << bit).to_bytes(32, "big")
    assert merkle.root_of_path(index, size, hashes[index], path) != naive_root(hashes)


@pytest.mark.parametrize(("index", "size", "length"), [(0, 2, 0), (0, 2, 2), (2, 3, 2), (3, 3, 1), (-1, 3, 1), (0, 0, 0)])
def test_a_path_of_another_length_is_refused(index, size, length):
    """A path too short or too long, or a leaf outside the tree, is an error and never a root."""
    with pytest.raises(ProofMalformed):
        merkle.root_of_path(index, size, bytes(32), [bytes(32)] * length)


@given(st.text(max_size=64), st.integers(), st.integers(), st.integers())
def test_leaf_bytes_take_what_an_altered_row_may_hold(stream, first, last, recorded_at):
    """Any integers in an altered row give leaf data, so that the difference is found by its hash."""
    assert merkle.leaf_bytes(stream, first, last, recorded_at, bytes(32)).startswith(b"leaf/1")


@given(st.lists(st.binary(max_size=20), max_size=6), st.lists(st.binary(max_size=20), max_size=6))
def test_append_form_tells_lists_of_events_apart(left, right):
    """Two different lists of events never have the same append form."""
    assert (merkle.append_form(left) == merkle.append_form(right)) == (left == right)
