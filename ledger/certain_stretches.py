"""The stretches of a ledger's file from its first leaf on, as far as machine code is certain of them, in a thread beside who takes them."""

import sqlite3
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ledger.event_forms import EventForms
from ledger.sqlite_library import DirectConnection
from ledger.stretch import STRETCH_LEAVES, Stretch, folded_events
from ledger.table_rows import TableRows

__all__ = ["ROOM_LEAVES", "certain_stretches"]

ROOM_LEAVES = 128 * STRETCH_LEAVES  # for each of which the thread waits once for Python's lock, some milliseconds
_ROOMS = 3  # one to be filled, one full, one to be taken from: memory does not grow with the ledger
_HASH_BYTES = 32


def certain_stretches(path: Path, rows: TableRows) -> Iterator[Stretch] | None:
    """Return the stretches from the first leaf on, up to the first that is not clean for certain; None where no machine code can be had.

    rows: of the same ledger, read at the moment that is held to: of what was written later nothing is looked at.
    """
    try:
        certain_leaves = import_module("ledger.certain_leaves")
    except ImportError:
        return None
    return _stretches(certain_leaves, path, rows)


def _stretches(certain_leaves: Any, path: Path, rows: TableRows) -> Iterator[Stretch]:
    forms, leaf_end = EventForms(), rows.leaf_count()
    # What SQLite cannot open is met again by who looks at the rest. Machine code may not find room to be kept.
    with suppress(sqlite3.Error, OSError), DirectConnection(path) as connection, ThreadPoolExecutor(1) as pool:
        direct: Any = rows.as_stored(connection.prepared)  # its cursors are numbers
        nodes = [direct.nodes(level) for level in range(1, STRETCH_LEAVES.bit_length())]
        go_over = partial(certain_leaves.go_over, direct.leaves(), direct.events(), nodes, leaf_end)
        rooms = [certain_leaves.new_room(ROOM_LEAVES, STRETCH_LEAVES) for _ in range(_ROOMS)]
        tasks = [pool.submit(go_over, first * ROOM_LEAVES, room) for first, room in enumerate(rooms)]
        number = 0
        while True:
            room, count = rooms[number % _ROOMS], tasks[number % _ROOMS].result()
            is_right = yield from _stretches_of_room(forms, count, room, certain_leaves.TOPICS)
            if not is_right or count < ROOM_LEAVES:
                return
            tasks[number % _ROOMS] = pool.submit(go_over, (number + _ROOMS) * ROOM_LEAVES, room)
            number += 1


def _hashes(rows: Any) -> list[bytes]:
    data = rows.tobytes()
    return [data[place : place + _HASH_BYTES] for place in range(0, len(data), _HASH_BYTES)]


def _stretches_of_room(forms: EventForms, count: int, room: Any, names: list[str]) -> Generator[Stretch, None, bool]:
    """Yield the stretches of a room, up to the first in which an event that something follows from is of a wrong form.

    count: of its leaves. Returns whether there was no such event.
    """
    streams = room.names[: room.name_ends[count]].tobytes().decode("ascii").split("\n")
    firsts, lasts, ends = room.firsts[:count].tolist(), room.lasts[:count].tolist(), room.ends[: count + 1].tolist()
    number_firsts, number_lasts = room.number_firsts[:count].tolist(), room.number_lasts[:count].tolist()
    hashes, tops = _hashes(room.hashes[:count]), _hashes(room.tops[: count // STRETCH_LEAVES])
    folded_ends = room.folded_ends[: count + 1].tolist()
    folded_count = folded_ends[-1]
    places, data_ends = room.places[:folded_count].tolist(), room.data_ends[: folded_count + 1].tolist()
    topics = [names[topic] for topic in room.topics[:folded_count].tolist()]
    for start in range(0, count, STRETCH_LEAVES):
        end = start + STRETCH_LEAVES
        low, high, event_first = folded_ends[start], folded_ends[end], ends[start]
        data, data_first = room.data[data_ends[low] : data_ends[high]].tobytes(), data_ends[low]
        datas = [data[data_ends[i] - data_first : data_ends[i + 1] - data_first] for i in range(low, high)]
        found = folded_events(forms, topics[low:high], datas)
        if found is None:
            return False
        folded = [(places[low + i] - event_first, kind, values) for i, kind, values in found]
        yield Stretch(
            streams=streams[start:end],
            firsts=firsts[start:end],
            lasts=lasts[start:end],
            hashes=hashes[start:end],
            ends=[each - event_first for each in ends[start + 1 : end + 1]],
            folded=folded,
            peaks=[tops[start // STRETCH_LEAVES]],
            number_first=number_firsts[start],
            number_last=number_lasts[end - 1],
        )
    return True
