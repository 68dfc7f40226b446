"""Leaves with their events gone over by machine code, for as long as it is certain that nothing is wrong with them.

Rows are read where SQLite has them, hashed by the library behind hashlib, and no Python object is made of one, so that a thread
can do it beside others. It finds nothing: at the first stretch of which it is not certain, for whatever reason, it ends, and who
called it looks at the rest in another way. Nothing checks the bounds of an array here: each loop ends with what SQLite says is
there, and each place written to is held against the room first.

Importing this raises ImportError where numba, one of the libraries or a place to keep machine code is missing.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy
from numba.extending import register_jitable

from engines.fingerprint import package_digest
from engines.game_events import GAME_EVENTS
from engines.jit import cache_folder
from ledger.event_forms import FOLDED, KINDS
from ledger.game_forms import KERNELS, follows_form, form_of
from ledger.sqlite_library import addresses

__all__ = ["TOPICS", "Room", "go_over", "new_room"]

TOPICS = sorted(KINDS)

# Functions of the two libraries are bound by name: machine code that is kept from one process to the next holds no address.
_COLUMNS = ("type", "int64", "text", "blob", "bytes")
_ROWS = ("sqlite3_step", *(f"sqlite3_column_{what}" for what in _COLUMNS))
_HASHES = ("SHA256_Init", "SHA256_Update", "SHA256_Final")
for _module, _names in (("_sqlite3", _ROWS), ("_hashlib", _HASHES)):
    for _name, _address in addresses(_module, _names).items():
        llvmlite.binding.add_symbol(_name, _address)
        llvmlite.binding.add_symbol(f"{_name} of a row", _address)

_types: Any = numba.types
_statement, _number, _bytes = _types.intp, _types.int32, _types.CPointer(_types.uint8)
_step = _types.ExternalFunction("sqlite3_step", _number(_statement))
_type_of = _types.ExternalFunction("sqlite3_column_type", _number(_statement, _number))
_integer_of = _types.ExternalFunction("sqlite3_column_int64", _types.int64(_statement, _number))
_text_of = _types.ExternalFunction("sqlite3_column_text", _bytes(_statement, _number))
_blob_of = _types.ExternalFunction("sqlite3_column_blob", _bytes(_statement, _number))
_size_of = _types.ExternalFunction("sqlite3_column_bytes", _number(_statement, _number))  # asked after the text or bytes themselves
_begin_hash = _types.ExternalFunction("SHA256_Init", _number(_types.uintp))
_add_to_hash = _types.ExternalFunction("SHA256_Update", _number(_types.uintp, _types.uintp, _types.uintp))
_add_row_to_hash = _types.ExternalFunction("SHA256_Update of a row", _number(_types.uintp, _bytes, _types.uintp))
_end_hash = _types.ExternalFunction("SHA256_Final", _number(_types.uintp, _types.uintp))

_ROW, _INTEGER, _TEXT, _BLOB = 100, 1, 3, 4  # what the functions of SQLite say
_LEAF_TYPES = (_INTEGER, _TEXT, _INTEGER, _INTEGER, _INTEGER, _BLOB)
_EVENT_TYPES = (_INTEGER, _TEXT, _INTEGER, _TEXT, _BLOB)
_NODE_TYPES = (_INTEGER, _BLOB)
_HASH_BYTES = 32
_NAME_MAX = 256
_LEAF_EVENTS_MAX = 250_000  # far more than an append has
_VERSION_MAX = 2**63 - 1
_NAMES, _FOLDED, _DATA = 128, 8, 4096  # that there is room for, for each leaf in the mean
_CONTEXT = 256  # more than a SHA256_CTX takes
_LEAF = numpy.frombuffer(b"\x00leaf/1", dtype=numpy.uint8)


class Room(NamedTuple):
    """What is taken of leaves and events, in arrays that are made once and used again.

    Those of `ends` begin with a 0, so that what belongs to leaf i lies between values i and i + 1.
    names, name_ends: of the leaves' streams, each with a line feed behind it. firsts, lasts: versions. number_firsts, number_lasts:
    of the rows of its events. ends: places of events. folded_ends: places in the next three. places, topics, data_ends, data: of
    the events that something follows from. hashes: of leaves. nodes: those of a level. tops: of each stretch.
    """

    names: Any
    name_ends: Any
    firsts: Any
    lasts: Any
    number_firsts: Any
    number_lasts: Any
    ends: Any
    folded_ends: Any
    places: Any
    topics: Any
    data_ends: Any
    data: Any
    hashes: Any
    nodes: Any
    tops: Any
    scratch: Any


def new_room(leaf_count: int, stretch_leaves: int) -> Room:
    """Return room for so many leaves in stretches of so many, a power of two."""
    integers, octets = numpy.int64, numpy.uint8
    return Room(
        names=numpy.zeros(_NAMES * leaf_count, octets),
        name_ends=numpy.zeros(leaf_count + 1, integers),
        firsts=numpy.zeros(leaf_count, integers),
        lasts=numpy.zeros(leaf_count, integers),
        number_firsts=numpy.zeros(leaf_count, integers),
        number_lasts=numpy.zeros(leaf_count, integers),
        ends=numpy.zeros(leaf_count + 1, integers),
        folded_ends=numpy.zeros(leaf_count + 1, integers),
        places=numpy.zeros(_FOLDED * leaf_count, integers),
        topics=numpy.zeros(_FOLDED * leaf_count, integers),
        data_ends=numpy.zeros(_FOLDED * leaf_count + 1, integers),
        data=numpy.zeros(_DATA * leaf_count, octets),
        hashes=numpy.zeros((leaf_count, _HASH_BYTES), octets),
        nodes=numpy.zeros((stretch_leaves, _HASH_BYTES), octets),
        tops=numpy.zeros((leaf_count // stretch_leaves, _HASH_BYTES), octets),
        scratch=numpy.zeros(2 * _CONTEXT + _NAME_MAX, octets),
    )


class _Topics(NamedTuple):
    """The bytes of all topics, and where the form of each begins: at -1 where something follows from the event."""

    texts: Any
    ends: Any
    starts: Any
    forms: Any


def _all_topics() -> _Topics:
    starts: list[int] = []
    forms: list[int] = []
    for topic in TOPICS:
        starts.append(-1 if topic in FOLDED else len(forms))
        if topic not in FOLDED:
            forms += form_of(GAME_EVENTS[KINDS[topic]])
    texts = numpy.frombuffer("".join(TOPICS).encode(), numpy.uint8)
    ends = numpy.cumsum([0, *map(len, TOPICS)])
    return _Topics(texts, ends, numpy.array(starts, numpy.int64), numpy.array(forms, numpy.int64))


def _are_typed(statement: int, kinds: Sequence[int]) -> bool:
    for column in range(len(kinds)):  # noqa: SIM110  (all() is none of the compiler's)
        if _type_of(statement, column) != kinds[column]:
            return False
    return True


def _is_same(found: Any, size: int, wanted: Any, start: int, end: int) -> bool:
    """Return whether `size` bytes found are those wanted, which lie between two places."""
    if size != end - start:
        return False
    for i in range(size):  # noqa: SIM110
        if found[i] != wanted[start + i]:
            return False
    return True


def _topic_of(found: Any, size: int, topics: _Topics) -> int:
    for topic in range(len(topics.starts)):
        if _is_same(found, size, topics.texts, topics.ends[topic], topics.ends[topic + 1]):
            return topic
    return -1


def _copy(target: Any, place: int, source: Any, start: int, size: int) -> None:
    for i in range(size):
        target[place + i] = source[start + i]


def _put_number(target: Any, place: int, size: int, number: int) -> None:
    """Write an unsigned number big-endian."""
    for i in range(size):
        target[place + i] = number >> 8 * (size - 1 - i) & 255


def _read_leaf(statement: int, i: int, leaf_index: int, room: Room) -> bool:
    """Take the next leaf and return whether it may be one, with a name of plain characters."""
    if _step(statement) != _ROW or not _are_typed(statement, _LEAF_TYPES):
        return False
    first, last = _integer_of(statement, 2), _integer_of(statement, 3)
    if _integer_of(statement, 0) != leaf_index or first < 1 or last < first or _integer_of(statement, 4) < 0:
        return False
    if last - first >= _LEAF_EVENTS_MAX or last == _VERSION_MAX:  # behind that no version can be counted
        return False
    name = _text_of(statement, 1)
    size, place = _size_of(statement, 1), room.name_ends[i]
    if size < 1 or size > _NAME_MAX or place + size + 1 > len(room.names):
        return False
    for j in range(size):
        if name[j] < 32 or name[j] > 126:
            return False
        room.names[place + j] = name[j]
    room.names[place + size] = 10
    room.name_ends[i + 1] = place + size + 1
    room.firsts[i], room.lasts[i] = first, last
    return True


def _keep(data: Any, size: int, i: int, place: int, topic: int, room: Room) -> bool:
    """Keep an event that something follows from, and return whether there was room for it."""
    at = room.folded_ends[i + 1]
    if at >= len(room.places) or room.data_ends[at] + size > len(room.data):
        return False
    _copy(room.data, room.data_ends[at], data, 0, size)
    room.places[at], room.topics[at], room.data_ends[at + 1] = place, topic, room.data_ends[at] + size
    room.folded_ends[i + 1] = at + 1
    return True


def _read_events(statement: int, i: int, topics: _Topics, room: Room) -> bool:
    """Go over the next events, which are to be those of a leaf, hash them, and return whether they are for certain."""
    context, prefix = room.scratch[:_CONTEXT], room.scratch[_CONTEXT:]
    _begin_hash(context.ctypes.data)
    room.folded_ends[i + 1] = room.folded_ends[i]
    for version in range(room.firsts[i], room.lasts[i] + 1):
        if _step(statement) != _ROW or not _are_typed(statement, _EVENT_TYPES) or _integer_of(statement, 2) != version:
            return False
        stream = _text_of(statement, 1)
        if not _is_same(stream, _size_of(statement, 1), room.names, room.name_ends[i], room.name_ends[i + 1] - 1):
            return False
        name = _text_of(statement, 3)
        topic = _topic_of(name, _size_of(statement, 3), topics)
        data = _blob_of(statement, 4)
        size = _size_of(statement, 4)
        if topic < 0 or size < 1:
            return False
        if topics.starts[topic] < 0:
            if not _keep(data, size, i, room.ends[i] + version - room.firsts[i], topic, room):
                return False
        elif version == 1 or not follows_form(data, size, topics.forms, topics.starts[topic]):
            return False  # something follows from whatever a stream begins with
        _put_number(prefix, 0, 4, size)
        _add_to_hash(context.ctypes.data, prefix.ctypes.data, 4)
        _add_row_to_hash(context.ctypes.data, data, size)
        room.number_lasts[i] = _integer_of(statement, 0)
        if version == room.firsts[i]:
            room.number_firsts[i] = room.number_lasts[i]
    room.ends[i + 1] = room.ends[i] + room.lasts[i] - room.firsts[i] + 1
    return True


def _is_hash_stored(statement: int, i: int, room: Room) -> bool:
    """Hash a leaf over its events (`record/1`, items 3 and 4), and return whether the stored hash is this one."""
    context, leaf, digest = room.scratch[:_CONTEXT], room.scratch[_CONTEXT:], room.hashes[i]
    _end_hash(digest.ctypes.data, context.ctypes.data)
    start, size = room.name_ends[i], room.name_ends[i + 1] - 1 - room.name_ends[i]
    _copy(leaf, 0, _LEAF, 0, 7)
    _put_number(leaf, 7, 2, size)
    _copy(leaf, 9, room.names, start, size)
    _put_number(leaf, 9 + size, 8, room.firsts[i])
    _put_number(leaf, 17 + size, 8, room.lasts[i])
    _put_number(leaf, 25 + size, 8, _integer_of(statement, 4))
    _copy(leaf, 33 + size, digest, 0, _HASH_BYTES)
    _begin_hash(context.ctypes.data)
    _add_to_hash(context.ctypes.data, leaf.ctypes.data, 33 + size + _HASH_BYTES)
    _end_hash(digest.ctypes.data, context.ctypes.data)
    stored = _blob_of(statement, 5)
    return _is_same(stored, _size_of(statement, 5), digest, 0, _HASH_BYTES)


def _is_node_stored(statement: int, node_index: int, node: Any) -> bool:
    """Return whether the next row of a level of nodes is this one."""
    if _step(statement) != _ROW or not _are_typed(statement, _NODE_TYPES) or _integer_of(statement, 0) != node_index:
        return False
    stored = _blob_of(statement, 1)
    return _is_same(stored, _size_of(statement, 1), node, 0, _HASH_BYTES)


def _are_nodes_stored(statements: Sequence[int], start: int, leaf_first: int, room: Room) -> bool:
    """Hash the nodes over a stretch of leaves (RFC 6962, 2.1), keep the topmost, and return whether the stored ones are they."""
    context, mark, nodes = room.scratch[:_CONTEXT], room.scratch[_CONTEXT:], room.nodes
    mark[0], count = 1, len(nodes)
    for i in range(count):
        _copy(nodes[i], 0, room.hashes[start + i], 0, _HASH_BYTES)
    for level in range(1, len(statements) + 1):
        count //= 2
        for i in range(count):
            _begin_hash(context.ctypes.data)
            _add_to_hash(context.ctypes.data, mark.ctypes.data, 1)
            _add_to_hash(context.ctypes.data, nodes[2 * i].ctypes.data, 2 * _HASH_BYTES)
            _end_hash(nodes[i].ctypes.data, context.ctypes.data)
            if not _is_node_stored(statements[level - 1], (leaf_first + start >> level) + i, nodes[i]):
                return False
    _copy(room.tops[start // len(nodes)], 0, nodes[0], 0, _HASH_BYTES)
    return True


def _go_over(leaves: int, events: int, nodes: Sequence[int], leaf_first: int, leaf_end: int, topics: _Topics, room: Room) -> int:
    stretch = len(room.nodes)
    for i in range(len(room.firsts)):
        start = i // stretch * stretch
        if leaf_first + i >= leaf_end or not _read_leaf(leaves, i, leaf_first + i, room):
            return start
        if not _read_events(events, i, topics, room) or not _is_hash_stored(leaves, i, room):
            return start
        if i == start + stretch - 1 and not _are_nodes_stored(nodes, start, leaf_first, room):
            return start
    return len(room.firsts)


def _machine_code() -> Any:
    folder = cache_folder() / package_digest("ledger")[:32]
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ImportError(f"machine code cannot be kept in {folder}")
    setattr(numba.config, "CACHE_DIR", str(folder))  # noqa: B010  (its stubs do not name it)
    rows = (_are_typed, _is_same, _topic_of, _copy, _put_number, _read_leaf, _keep, _read_events)
    for function in (*KERNELS, *rows, _is_hash_stored, _is_node_stored, _are_nodes_stored):
        register_jitable(_nrt=False)(function)
    compiled: Any = numba.njit
    return compiled(nogil=True, cache=True, error_model="numpy", _nrt=False)(_go_over)


_machine, _topics = _machine_code(), _all_topics()


def go_over(leaves: int, events: int, nodes: Any, leaf_end: int, leaf_first: int, room: Room) -> int:
    """Fill a room from statements and return the number of its leaves with which nothing is wrong for certain: whole stretches.

    nodes: a statement for each level within a stretch. leaf_first: the index of the room's first leaf. leaf_end: that of the first
    leaf that is not looked at any more.
    """
    return int(_machine(leaves, events, numpy.array(nodes, numpy.int64), leaf_first, leaf_end, _topics, room))
