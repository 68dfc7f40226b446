"""Reading a ledger on SQLite: plain rows from a cursor, each method at one moment of the ledger.

What is read may have been altered with any tool: columns are cast, so that a wrong type is a wrong value and no crash.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from ledger.errors import TreeBroken
from ledger.merkle import audit_path, peak_places, root_of_peaks
from ledger.store import AccountRow, EpochRow, EventRow, LeafRow, RoundRecord, RoundRow, Tree

__all__ = ["SQLiteReading", "read_node"]

_HASH_BYTES = 32
_PAGE_ROUNDS = 500
_PAGE_LEAVES = 10_000
_LAST_CHARACTER = "\U0010ffff"  # sorts after every other in SQLite's order of bytes

_EVENT = "originator_id, CAST(originator_version AS INTEGER), CAST(topic AS TEXT), CAST(state AS BLOB)"
_LEAF = (
    "leaf_index, CAST(stream AS TEXT), CAST(version_first AS INTEGER), CAST(version_last AS INTEGER), "
    "CAST(recorded_at_us AS INTEGER), CAST(leaf_hash AS BLOB)"
)
_SELECT_STREAM_EVENTS = f"SELECT {_EVENT} FROM stored_events WHERE originator_id = ? ORDER BY originator_version"
_SELECT_STREAM_LEAVES = f"SELECT {_LEAF} FROM leaves WHERE stream = ? ORDER BY version_first"
_SELECT_PAGE = (
    "SELECT leaf_index, CAST(stream AS TEXT) FROM leaves WHERE leaf_index >= ? AND leaf_index < ? "
    "AND version_first = 1 AND +stream >= 'round/' AND +stream < 'round0' ORDER BY leaf_index LIMIT ?"
)
_SELECT_PAGE_EVENTS = (
    f"SELECT {_EVENT} FROM stored_events WHERE originator_id IN (SELECT value FROM json_each(?)) ORDER BY originator_id, originator_version"
)
_SELECT_PAGE_TOPICS = (
    f"SELECT {_EVENT} FROM stored_events WHERE originator_id IN (SELECT value FROM json_each(?)) "
    "AND topic IN (SELECT value FROM json_each(?)) ORDER BY originator_id, originator_version"
)
_SELECT_PAGE_LEAVES = f"SELECT {_LEAF} FROM leaves WHERE stream IN (SELECT value FROM json_each(?)) ORDER BY stream, version_first"
# Rounds with no leaf that starts at version 1, be it lost or never written, in the events or in the table.
_SELECT_STRAYS = (
    "SELECT originator_id AS stream FROM stored_events WHERE originator_id >= 'round/' AND originator_id < 'round0' "
    "AND NOT EXISTS (SELECT 1 FROM leaves WHERE stream = originator_id AND version_first = 1) "
    "UNION SELECT stream FROM leaves WHERE stream >= 'round/' AND stream < 'round0' AND version_first <> 1 "
    "AND NOT EXISTS (SELECT 1 FROM leaves AS other WHERE other.stream = leaves.stream AND other.version_first = 1) "
    "UNION SELECT 'round/' || round_id FROM rounds "
    "WHERE NOT EXISTS (SELECT 1 FROM leaves WHERE stream = 'round/' || round_id AND version_first = 1) ORDER BY 1"
)


def read_node(cursor: sqlite3.Cursor, level: int, node_index: int) -> bytes | None:
    """Return the hash of a complete subtree, level 0 being the leaves; None where it is missing or no hash."""
    if level:
        row = cursor.execute("SELECT node_hash FROM nodes WHERE level = ? AND node_index = ?", (level, node_index)).fetchone()
    else:
        row = cursor.execute("SELECT leaf_hash FROM leaves WHERE leaf_index = ?", (node_index,)).fetchone()
    return row[0] if row and isinstance(row[0], bytes) and len(row[0]) == _HASH_BYTES else None


def _tree_size(cursor: sqlite3.Cursor) -> int:
    return int(cursor.execute("SELECT ifnull(MAX(leaf_index), -1) + 1 FROM leaves").fetchone()[0])


class _Nodes:
    """Reads complete subtrees of one tree; raises TreeBroken where one is missing."""

    def __init__(self, cursor: sqlite3.Cursor, tree_size: int) -> None:
        self._cursor, self._tree_size = cursor, tree_size

    def __call__(self, level: int, node_index: int) -> bytes:
        node = read_node(self._cursor, level, node_index)
        if node is None:
            raise TreeBroken(level, node_index, self._tree_size)
        return node

    def tree(self) -> Tree:
        return Tree(self._tree_size, root_of_peaks([self(level, node_index) for level, node_index in peak_places(self._tree_size)]))


class SQLiteReading:
    """The reading half of the store; a mixin of the recorder."""

    def _reading(self) -> AbstractContextManager[sqlite3.Cursor]:
        raise NotImplementedError

    def account(self, account_ref: str) -> AccountRow | None:
        """Return an account."""
        with self._reading() as cursor:
            statement = "SELECT account_ref, version, currency, balance_minor, round_in_play FROM accounts WHERE account_ref = ?"
            row = cursor.execute(statement, (account_ref,)).fetchone()
        return AccountRow._make(row) if row else None

    def account_ref(self, name: str) -> str | None:
        """Return the reference of the account with this name."""
        with self._reading() as cursor:
            row = cursor.execute("SELECT account_ref FROM account_names WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def account_name(self, account_ref: str) -> str | None:
        """Return the name that a reference stands for; None also where it was erased."""
        with self._reading() as cursor:
            row = cursor.execute("SELECT name FROM account_names WHERE account_ref = ?", (account_ref,)).fetchone()
        return row[0] if row else None

    def epoch(self, epoch: int) -> EpochRow | None:
        """Return an epoch."""
        with self._reading() as cursor:
            statement = "SELECT epoch, seed_commitment, sealed_seed, writer_ref, next_nonce, is_closed FROM epochs WHERE epoch = ?"
            row = cursor.execute(statement, (epoch,)).fetchone()
        return EpochRow._make([*row[:5], bool(row[5])]) if row else None

    def last_epoch(self) -> EpochRow | None:
        """Return the epoch that was started last."""
        with self._reading() as cursor:
            number = cursor.execute("SELECT MAX(epoch) FROM epochs").fetchone()[0]
        return None if number is None else self.epoch(number)

    def round(self, round_id: str) -> RoundRow | None:
        """Return a round's row."""
        with self._reading() as cursor:
            statement = "SELECT round_id, account_ref, game, external_ref, idempotency_key, status, version FROM rounds WHERE round_id = ?"
            row = cursor.execute(statement, (round_id,)).fetchone()
        return RoundRow._make(row) if row else None

    def round_ids_of(self, *, prefix: str = "", external_ref: str = "", limit: int = 6) -> list[str]:
        """Return up to `limit` ids that start with `prefix`, or that carry the operator's reference.

        A prefix is looked for in events and leaves as well as in the table, so that a round does not vanish with its row.
        """
        with self._reading() as cursor:
            if external_ref:
                statement = "SELECT round_id FROM rounds WHERE external_ref = ? AND external_ref <> '' ORDER BY round_id LIMIT ?"
                return [row[0] for row in cursor.execute(statement, (external_ref, limit))]
            statement = (
                "SELECT round_id FROM rounds WHERE round_id >= :from AND round_id < :to "
                "UNION SELECT substr(originator_id, 7) FROM stored_events "
                "WHERE originator_id >= 'round/' || :from AND originator_id < 'round/' || :to "
                "UNION SELECT substr(stream, 7) FROM leaves WHERE stream >= 'round/' || :from AND stream < 'round/' || :to "
                "ORDER BY 1 LIMIT :limit"
            )
            bounds = {"from": prefix, "to": prefix + _LAST_CHARACTER, "limit": limit}
            return [row[0] for row in cursor.execute(statement, bounds)]

    def streams(self, prefix: str) -> list[str]:
        """Return the names of the streams that start with `prefix`, sorted."""
        with self._reading() as cursor:
            statement = (
                "SELECT originator_id FROM stored_events WHERE originator_id >= :from AND originator_id < :to "
                "UNION SELECT stream FROM leaves WHERE stream >= :from AND stream < :to ORDER BY 1"
            )
            return [row[0] for row in cursor.execute(statement, {"from": prefix, "to": prefix + _LAST_CHARACTER})]

    def stream_events(self, stream: str) -> list[EventRow]:
        """Return the events of a stream in order."""
        with self._reading() as cursor:
            return [EventRow._make(row) for row in cursor.execute(_SELECT_STREAM_EVENTS, (stream,))]

    def stream_appends(self, stream: str) -> list[LeafRow]:
        """Return the appends of a stream in order."""
        with self._reading() as cursor:
            return [LeafRow._make(row) for row in cursor.execute(_SELECT_STREAM_LEAVES, (stream,))]

    def tree(self) -> Tree:
        """Return size and root; raises TreeBroken where a node is missing."""
        with self._reading() as cursor:
            return _Nodes(cursor, _tree_size(cursor)).tree()

    def round_record(self, stream: str) -> RoundRecord:
        """Return a stream's events, appends, audit paths and tree, read at one moment; raises TreeBroken."""
        with self._reading() as cursor:
            events = tuple(EventRow._make(row) for row in cursor.execute(_SELECT_STREAM_EVENTS, (stream,)))
            appends = tuple(LeafRow._make(row) for row in cursor.execute(_SELECT_STREAM_LEAVES, (stream,)))
            nodes = _Nodes(cursor, tree_size := _tree_size(cursor))
            paths = tuple(tuple(audit_path(leaf.leaf_index, tree_size, nodes)) for leaf in appends)
            return RoundRecord(stream, events, appends, paths, nodes.tree())

    def leaf_hashes(self, leaf_first: int = 0) -> Iterator[tuple[int, bytes]]:
        """Iterate over index and hash of the leaves in order, in pages, so that a writer is never held up."""
        statement = "SELECT leaf_index, CAST(leaf_hash AS BLOB) FROM leaves WHERE leaf_index >= ? ORDER BY leaf_index LIMIT ?"
        while True:
            with self._reading() as cursor:
                page = cursor.execute(statement, (leaf_first, _PAGE_LEAVES)).fetchall()
            yield from page
            if len(page) < _PAGE_LEAVES:
                return
            leaf_first = page[-1][0] + 1

    def tree_size(self) -> int:
        """Return the number of leaves."""
        with self._reading() as cursor:
            return _tree_size(cursor)

    def streams_touched(self, leaf_first: int, leaf_end: int) -> list[str]:
        """Return the round streams with an append in this range of leaves, each once."""
        statement = (
            "SELECT DISTINCT CAST(stream AS TEXT) FROM leaves "
            "WHERE leaf_index >= ? AND leaf_index < ? AND +stream >= 'round/' AND +stream < 'round0' ORDER BY leaf_index"
        )
        with self._reading() as cursor:
            return [row[0] for row in cursor.execute(statement, (leaf_first, leaf_end))]

    def round_records(self, leaf_first: int = 0, leaf_end: int | None = None, *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the rounds whose first append is a leaf in the range, in the order of opening, in pages."""
        while True:
            with self._reading() as cursor:
                page = cursor.execute(_SELECT_PAGE, (leaf_first, 2**62 if leaf_end is None else leaf_end, _PAGE_ROUNDS)).fetchall()
                records = self._records(cursor, [row[1] for row in page], topics)
            yield from records
            if len(page) < _PAGE_ROUNDS:
                break
            leaf_first = page[-1][0] + 1
        if leaf_end is None:
            with self._reading() as cursor:
                strays = [row[0] for row in cursor.execute(_SELECT_STRAYS)]
            yield from self.records_of(strays, topics=topics)

    def records_of(self, streams: Sequence[str], *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the named streams in the order given, in pages, without audit paths."""
        for start in range(0, len(streams), _PAGE_ROUNDS):
            with self._reading() as cursor:
                records = self._records(cursor, streams[start : start + _PAGE_ROUNDS], topics)
            yield from records

    def _records(self, cursor: sqlite3.Cursor, streams: Sequence[str], topics: Sequence[str]) -> list[RoundRecord]:
        names = json.dumps(streams)
        events: dict[str, list[EventRow]] = {stream: [] for stream in streams}
        appends: dict[str, list[LeafRow]] = {stream: [] for stream in streams}
        if topics:
            rows = cursor.execute(_SELECT_PAGE_TOPICS, (names, json.dumps(topics)))
        else:
            rows = cursor.execute(_SELECT_PAGE_EVENTS, (names,))
        for event in map(EventRow._make, rows):
            events[event.stream].append(event)
        for leaf in map(LeafRow._make, cursor.execute(_SELECT_PAGE_LEAVES, (names,))):
            appends[leaf.stream].append(leaf)
        return [RoundRecord(stream, tuple(events[stream]), tuple(appends[stream])) for stream in streams]
