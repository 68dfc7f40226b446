"""The integrity of a whole ledger: every byte, version, leaf, node and row against what the events say.

It shares nothing with the code that writes but the hashing of `merkle.py`. It goes on after a finding, holds no more in
memory than the accounts, epochs and rounds in play, and reads everything once, in the order of the record.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engines.canonical import strict_values
from engines.game_events import GAME_EVENTS
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.merkle import append_leaf, leaf_bytes, leaf_hash, root_of_peaks
from ledger.recomputed import Recomputed
from ledger.sqlite_schema import check_ledger_file, ledger_error, ledger_uri
from ledger.store import ROUND_STREAM, LeafRow

__all__ = ["Fault", "FsckResult", "check_ledger", "leaf_count"]

KINDS = {f"{kind}/1": kind for kind in (*GAME_EVENTS, *LIFECYCLE_EVENTS)}
APPEND_EVENTS_MAX = 10_000_000
PAGE_ROWS = 1000


class Fault(NamedTuple):
    """One thing that is wrong in a ledger: where it stands, what was wanted and found.

    `row` names the table and its key; `stream` and `event_index` (from 0) are "" and -1 where it is about no event.
    """

    code: str
    row: str
    stream: str
    event_index: int
    want: str
    got: str

    @property
    def message(self) -> str:
        """The fault in one sentence."""
        place = f"event {self.event_index} of {self.stream}, " if self.event_index >= 0 else f"{self.stream}, " if self.stream else ""
        return f"{place}{self.row}: want {self.want}, got {self.got}"


class FsckResult(NamedTuple):
    """What a pass counted, and the root over all leaves as recomputed from the events' own bytes."""

    event_count: int
    leaf_count: int
    round_count: int
    root: bytes


class _Row(NamedTuple):
    rowid: int
    stream: str
    version: int
    topic: str
    data: bytes


class _Events:
    """The events in the order of their rows, with one row of look-ahead, and any event by its place in its stream."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        columns = "CAST(originator_id AS TEXT), CAST(originator_version AS INTEGER), CAST(topic AS TEXT), CAST(state AS BLOB)"
        self._rows = connection.execute(f"SELECT rowid, {columns} FROM stored_events ORDER BY rowid")
        self._select = f"SELECT rowid, {columns} FROM stored_events WHERE originator_id = ? AND originator_version = ?"
        self._page: list[_Row] = []
        self.next: _Row | None = None
        self.advance()

    def advance(self) -> None:
        """Go on to the next row."""
        if not self._page:
            self._page = [_Row._make(row) for row in self._rows.fetchmany(PAGE_ROWS)]
            self._page.reverse()
        self.next = self._page.pop() if self._page else None

    def rowid_after(self, rowid: int) -> int | None:
        """Return the number of the row that follows, None after the last."""
        found: int | None = self._connection.execute("SELECT min(rowid) FROM stored_events WHERE rowid > ?", (rowid,)).fetchone()[0]
        return found

    def last_version(self, stream: str) -> int:
        """Return the highest version of a stream, 0 where it has no event."""
        select = "SELECT ifnull(max(CAST(originator_version AS INTEGER)), 0) FROM stored_events WHERE originator_id = ?"
        return int(self._connection.execute(select, (stream,)).fetchone()[0])

    def find(self, stream: str, version: int) -> _Row | None:
        """Return the event at a place, wherever its row stands."""
        row = self._connection.execute(self._select, (stream, version)).fetchone()
        return _Row._make(row) if row else None


def _order_fault(row: _Row) -> Fault:
    return Fault(
        "event_order", f"stored_events row {row.rowid}", row.stream, row.version - 1, "a row in the order of the leaves", "another"
    )


class _Nodes:
    """The stored inner nodes, level by level in the order of their index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._levels: dict[int, sqlite3.Cursor] = {}
        self._waiting: dict[int, tuple[int, bytes] | None] = {}

    def _fetch(self, level: int) -> tuple[int, bytes] | None:
        if level not in self._levels:
            statement = "SELECT node_index, CAST(node_hash AS BLOB) FROM nodes WHERE level = ? ORDER BY node_index"
            self._levels[level] = self._connection.execute(statement, (level,))
            self._waiting[level] = self._levels[level].fetchone()
        return self._waiting[level]

    def compare(self, level: int, node_index: int, node: bytes) -> Iterator[Fault]:
        """Yield what is wrong with the stored node at a place, and any before it that should not be there."""
        row = f"nodes level {level}, index {node_index}"
        while (stored := self._fetch(level)) is not None and stored[0] < node_index:
            yield Fault("node_extra", f"nodes level {level}, index {stored[0]}", "", -1, "no such node", stored[1].hex())
            self._waiting[level] = self._levels[level].fetchone()
        if stored is None or stored[0] > node_index:
            yield Fault("node_missing", row, "", -1, node.hex(), "none")
            return
        if stored[1] != node:
            yield Fault("node", row, "", -1, node.hex(), stored[1].hex())
        self._waiting[level] = self._levels[level].fetchone()

    def rest(self) -> Iterator[Fault]:
        """Yield the nodes that no leaf has finished."""
        for (level,) in self._connection.execute("SELECT DISTINCT level FROM nodes ORDER BY level").fetchall():
            while (stored := self._fetch(level)) is not None:
                yield Fault("node_extra", f"nodes level {level}, index {stored[0]}", "", -1, "no such node", stored[1].hex())
                self._waiting[level] = self._levels[level].fetchone()


class _Walk:
    """One pass over leaves and events together."""

    def __init__(self, connection: sqlite3.Connection, held_roots: Iterable[tuple[int, bytes]]) -> None:
        self._connection = connection
        self._events = _Events(connection)
        self._nodes = _Nodes(connection)
        self._held_roots: dict[int, list[bytes]] = {}
        for size, root in held_roots:
            self._held_roots.setdefault(size, []).append(root)
        self._displaced: set[tuple[str, int]] = set()  # met before their row
        self._early: set[tuple[str, int]] = set()  # their row was met before they were due
        self._peaks: list[bytes] = []
        self._last_versions: dict[str, int] = {}
        self.recomputed = Recomputed()
        self.event_count = 0
        self.leaf_count = 0

    def faults(self) -> Iterator[Fault | None]:
        """Yield every fault in the order of the record, and None after each leaf."""
        statement = (
            "SELECT CAST(leaf_index AS INTEGER), CAST(stream AS TEXT), CAST(version_first AS INTEGER), CAST(version_last AS INTEGER), "
            "CAST(recorded_at_us AS INTEGER), CAST(leaf_hash AS BLOB) FROM leaves ORDER BY leaf_index"
        )
        for row in self._connection.execute(statement):
            yield from self._check_leaf(LeafRow._make(row))
            yield None
        yield from self._skip_extra(None)
        yield from self._nodes.rest()
        for size, root in sorted((size, root) for size, roots in self._held_roots.items() for root in roots):
            yield Fault("checkpoint_tree_short", "leaves", "", -1, f"{size} leaves, root {root.hex()}", f"{self.leaf_count} leaves")

    def root(self) -> bytes:
        """Return the root over the leaves seen so far, recomputed."""
        return root_of_peaks(self._peaks)

    def _check_leaf(self, leaf: LeafRow) -> Iterator[Fault]:
        row = f"leaves {leaf.leaf_index}"
        if leaf.leaf_index != self.leaf_count:
            yield Fault("leaf_gap", row, leaf.stream, -1, f"leaf {self.leaf_count}", f"leaf {leaf.leaf_index}")
        last = self._last_versions.get(leaf.stream, 0)
        if leaf.version_first != last + 1 or leaf.version_last < leaf.version_first:
            got = f"{leaf.version_first} to {leaf.version_last}"
            yield Fault("leaf_versions", row, leaf.stream, -1, f"versions from {last + 1}", got)
        self._last_versions[leaf.stream] = leaf.version_last
        form: list[bytes] = []
        is_whole = True
        for version in range(leaf.version_first, min(leaf.version_last, leaf.version_first + APPEND_EVENTS_MAX) + 1):
            event = self._events.next
            if event is not None and event[2] == version and event[1] == leaf.stream:
                self._events.advance()
            else:
                found, faults = self._take(leaf, version)
                yield from faults
                if found is None:
                    is_whole = False
                    if version > self._events.last_version(leaf.stream):
                        break  # what the leaf covers beyond the stream's end is one fault
                    continue
                event = found
            data = event[4]
            form += (len(data).to_bytes(4, "big"), data)
            values, kind = strict_values(data), KINDS.get(event[3])
            if values is None or kind is None or values.get("kind") != kind or values.get("v") != 1:
                yield from self._form_faults(event, values)
            elif version == 1 or kind in LIFECYCLE_EVENTS:
                yield from self._fold(event, values, leaf)
        self.event_count += len(form) // 2
        digest = hashlib.sha256(b"".join(form)).digest()
        recomputed = leaf_hash(leaf_bytes(leaf.stream, leaf.version_first, leaf.version_last, leaf.recorded_at_us, digest))
        if recomputed != leaf.leaf_hash and is_whole:
            yield Fault("leaf", row, leaf.stream, leaf.version_first - 1, leaf.leaf_hash.hex(), recomputed.hex())
        yield from self._grow(recomputed)
        self._forget_settled(leaf.stream)

    def _grow(self, leaf: bytes) -> Iterator[Fault]:
        self._peaks, finished = append_leaf(self._peaks, self.leaf_count, leaf)
        for node in finished:
            yield from self._nodes.compare(node.level, node.node_index, node.node_hash)
        self.leaf_count += 1
        for held in self._held_roots.pop(self.leaf_count, ()):
            if held == self.root():
                continue
            row = f"tree of {self.leaf_count} leaves"
            yield Fault("checkpoint_root", row, "", -1, f"root {held.hex()} of the checkpoint", self.root().hex())

    def _forget_settled(self, stream: str) -> None:
        # A settled round's stream has ended; what would come after it is seen as a leaf whose versions do not begin at 1.
        if stream.startswith(ROUND_STREAM) and stream.removeprefix(ROUND_STREAM) not in self.recomputed.rounds:
            self._last_versions.pop(stream, None)

    def _take(self, leaf: LeafRow, version: int) -> tuple[_Row | None, list[Fault]]:
        """Return the event that a leaf covers, from the next row or from where it stands, and what is wrong with its place."""
        wanted = (leaf.stream, version)
        faults: list[Fault] = []
        while True:
            faults += self._skip_extra(wanted)
            following = self._events.next
            if following is not None and (following.stream, following.version) == wanted:
                self._events.advance()
                return following, faults
            found = self._events.find(leaf.stream, version)
            if found is None:
                place = f"stored_events, covered by leaf {leaf.leaf_index}"
                faults.append(Fault("event_missing", place, leaf.stream, version - 1, "an event", "none"))
                return None, faults
            if wanted in self._early:
                self._early.discard(wanted)
                return found, faults
            if following is None or self._events.rowid_after(following.rowid) != found.rowid:
                self._displaced.add(wanted)
                faults.append(_order_fault(found))
                return found, faults
            # The wanted event stands just behind: it is the row before it that came too early.
            self._early.add((following.stream, following.version))
            faults.append(_order_fault(following))
            self._events.advance()

    def _skip_extra(self, wanted: tuple[str, int] | None) -> Iterator[Fault]:
        """Pass over rows that no leaf covers, and those that were met out of order before."""
        while (row := self._events.next) is not None and (row.stream, row.version) != wanted:
            place = (row.stream, row.version)
            if place in self._displaced:
                self._displaced.discard(place)
            elif not self._is_covered(row):
                got = f"{row.topic} of {len(row.data)} bytes"
                yield Fault("event_extra", f"stored_events row {row.rowid}", row.stream, row.version - 1, "no event without a leaf", got)
            else:
                return
            self._events.advance()

    def _is_covered(self, row: _Row) -> bool:
        statement = "SELECT 1 FROM leaves WHERE stream = ? AND version_first <= ? AND version_last >= ?"
        return self._connection.execute(statement, (row.stream, row.version, row.version)).fetchone() is not None

    def _fold(self, event: _Row, values: dict[str, Any], leaf: LeafRow) -> Iterator[Fault]:
        for code, what, want, got in self.recomputed.take(event.stream, event.version, values, leaf):
            yield Fault(code, what, event.stream, event.version - 1, want, got)

    def _form_faults(self, event: _Row, values: dict[str, Any] | None) -> Iterator[Fault]:
        row = f"stored_events row {event.rowid}"
        if values is None:
            yield Fault("event_bytes", row, event.stream, event.version - 1, "a canonical JSON object", repr(event.data[:60]))
            return
        named = f"{values.get('kind')}/{values.get('v')}"
        if named != event.topic:
            yield Fault("topic", row, event.stream, event.version - 1, named, event.topic)
        else:
            yield Fault("kind", row, event.stream, event.version - 1, "a kind of this record", named)


def leaf_count(path: Path) -> int:
    """Return how many leaves a pass over the ledger will see; raises LedgerMissing and its kin."""
    check_ledger_file(path)
    try:
        connection = sqlite3.connect(ledger_uri(path, writable=False), uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM leaves").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error


def check_ledger(
    path: Path, *, held_roots: Iterable[tuple[int, bytes]] = (), counted: list[FsckResult] | None = None, is_ticking: bool = False
) -> Iterator[Fault | None]:
    """Yield every fault of the ledger at `path`, in the order of the record, then those of its tables.

    held_roots: tree size and root of each kept checkpoint. counted: is given one FsckResult at the end.
    is_ticking: yield None as well, once for each leaf. Reads one moment of a ledger in use. Raises LedgerMissing and its kin.
    """
    check_ledger_file(path)
    try:
        connection = sqlite3.connect(ledger_uri(path, writable=False), uri=True, isolation_level=None)
        try:
            connection.execute("BEGIN")
            walk = _Walk(connection, held_roots)
            try:
                for fault in walk.faults():
                    if fault is not None or is_ticking:
                        yield fault
                for code, row, stream, want, got in walk.recomputed.compare(connection):
                    yield Fault(code, row, stream, -1, want, got)
                if counted is not None:
                    counted.append(FsckResult(walk.event_count, walk.leaf_count, walk.recomputed.round_count, walk.root()))
            finally:
                walk.recomputed.close()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error
