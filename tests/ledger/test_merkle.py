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


@given(leaf_lists, st.integers(1, 4))
def test_nodes_in_blocks_are_those_one_by_one(hashes, block_level):
    """Block after block, of whatever power of two, exactly the complete subtrees of complete blocks are made, each once."""
    count, made = 1 << block_level, {(0, index): leaf for index, leaf in enumerate(hashes)}
    for first in range(0, len(hashes) - count + 1, count):
        nodes = merkle.block_nodes(first, hashes[first : first + count], lambda level, node_index: made[level, node_index])
        assert nodes == sorted(nodes)
        assert not made.keys() & {node[:2] for node in nodes}
        made.update({node[:2]: node.node_hash for node in nodes})
    complete = grown(hashes[: len(hashes) // count * count])[1]
    assert {place: value for place, value in made.items() if place[0]} == {place: value for place, value in complete.items() if place[0]}


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


def naive_consistency(old, hashes, is_whole=True):
    """SUBPROOF of RFC 6962, 2.1.2."""
    if old == len(hashes):
        return [] if is_whole else [naive_root(hashes)]
    split = max(2**power for power in range(7) if 2**power < len(hashes))
    if old <= split:
        return [*naive_consistency(old, hashes[:split], is_whole), naive_root(hashes[split:])]
    return [*naive_consistency(old - split, hashes[split:], False), naive_root(hashes[:split])]


HASHES = [hashlib.sha256(bytes([number])).digest() for number in range(65)]
ROOTS = [naive_root(HASHES[:size]) for size in range(66)]


def node_reader(hashes):
    nodes = grown(hashes)[1]
    return lambda level, node_index: nodes[level, node_index]


def test_every_pair_of_sizes_has_its_consistency_proof():
    """For all sizes from 0 to 65 the proof from stored subtrees is the RFC's, and proves these two roots and no others."""
    node_at = node_reader(HASHES)
    for size_to in range(66):
        assert merkle.root_of_size(size_to, node_at) == ROOTS[size_to]
        for size_from in range(size_to + 1):
            path = merkle.consistency_path(size_from, size_to, node_at)
            assert path == (naive_consistency(size_from, HASHES[:size_to]) if size_from else [])
            assert len(path) <= 2 * size_to.bit_length()
            assert merkle.is_consistent(size_from, ROOTS[size_from], size_to, ROOTS[size_to], path)
            assert not merkle.is_consistent(size_from, bytes(32), size_to, ROOTS[size_to], path)
            if size_from:
                assert not merkle.is_consistent(size_from, ROOTS[size_from], size_to, bytes(32), path)


def test_consistency_proofs_read_few_subtrees():
    """From a tree of a million leaves a proof reads no more than some dozens of stored subtrees."""
    reads = []

    def node_at(level, node_index):
        reads.append((level, node_index))
        return hashlib.sha256(b"%d %d" % (level, node_index)).digest()

    merkle.consistency_path(654_321, 1_000_003, node_at)
    assert len(reads) < 60


def test_any_other_path_proves_nothing():
    """Each byte of each hash flipped, a hash left out, doubled, added, or put in another place: refused, for sizes up to 20."""
    node_at = node_reader(HASHES)
    for size_to in range(2, 21):
        for size_from in range(1, size_to):
            path = merkle.consistency_path(size_from, size_to, node_at)
            others = [path[:-1], path[1:], [*path, bytes(32)], [bytes(32), *path], [*path, path[-1]], [path[0], *path], []]
            others += [path[:place] + path[place + 1 :] for place in range(len(path))]
            if path[::-1] != path:
                others.append(path[::-1])
            for place, value in enumerate(path):
                for byte in range(32):
                    flipped = value[:byte] + bytes([value[byte] ^ 1]) + value[byte + 1 :]
                    others.append([*path[:place], flipped, *path[place + 1 :]])
            for other in others:
                assert not merkle.is_consistent(size_from, ROOTS[size_from], size_to, ROOTS[size_to], other)


@pytest.mark.parametrize(("size_from", "size_to"), [(-1, 3), (4, 3), (3, 3), (0, 3)])
def test_sizes_that_need_no_path_take_none(size_from, size_to):
    """Falling sizes are never consistent, and between equal ones, or from nothing, a path is one hash too much."""
    assert not merkle.is_consistent(size_from, ROOTS[max(size_from, 0)], size_to, ROOTS[size_to], [bytes(32)])
    if size_from > size_to or size_from < 0:
        assert not merkle.is_consistent(size_from, ROOTS[max(size_from, 0)], size_to, ROOTS[size_to], [])


# The leaves, roots and proofs that implementations of RFC 6962 have been tested with since the first one.
PUBLISHED_LEAVES = [
    bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
PUBLISHED_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAF_1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
LEAF_4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
LEAVES_2_3 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
LEAVES_4_7 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
LEAVES_4_5 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
LEAVES_6_7 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
PUBLISHED_PATHS = [
    (0, 1, []),
    (0, 8, [LEAF_1, LEAVES_2_3, LEAVES_4_7]),
    (5, 8, [LEAF_4, LEAVES_6_7, PUBLISHED_ROOTS[3]]),
    (2, 3, [PUBLISHED_ROOTS[1]]),
    (1, 5, [PUBLISHED_ROOTS[0], LEAVES_2_3, LEAF_4]),
]
PUBLISHED_CONSISTENCY = [
    (1, 1, []),
    (1, 8, [LEAF_1, LEAVES_2_3, LEAVES_4_7]),
    (6, 8, [LEAVES_4_5, LEAVES_6_7, PUBLISHED_ROOTS[3]]),
    (2, 5, [LEAVES_2_3, LEAF_4]),
]


def test_published_vectors():
    """Roots, audit paths and consistency proofs are those that are published for RFC 6962."""
    hashes = [merkle.leaf_hash(leaf) for leaf in PUBLISHED_LEAVES]
    node_at = node_reader(hashes)
    for size, root in enumerate(PUBLISHED_ROOTS, 1):
        assert merkle.root_of_size(size, node_at).hex() == root
    for index, size, path in PUBLISHED_PATHS:
        assert [node.hex() for node in merkle.audit_path(index, size, node_at)] == path
        assert merkle.root_of_path(index, size, hashes[index], list(map(bytes.fromhex, path))).hex() == PUBLISHED_ROOTS[size - 1]
    for size_from, size_to, path in PUBLISHED_CONSISTENCY:
        assert [node.hex() for node in merkle.consistency_path(size_from, size_to, node_at)] == path
        old, new = (bytes.fromhex(PUBLISHED_ROOTS[size - 1]) for size in (size_from, size_to))
        assert merkle.is_consistent(size_from, old, size_to, new, list(map(bytes.fromhex, path)))
