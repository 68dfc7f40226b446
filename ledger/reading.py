"""The reading half of a store, whatever database it is on: each method reads at one moment of the ledger.

Both databases run the same statements; a `Dialect` says how their few differences are written. What is read may have
been altered with any tool: columns are cast, so that a wrong value is read as one and is no crash.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ledger.errors import TreeBroken
from ledger.merkle import BLOCK_LEAVES, BLOCK_LEVEL, audit_path, peak_places, root_of_leaves, root_of_peaks
from ledger.store import LEAF_END, AccountRow, EpochRow, EventRow, LeafRow, RoundRecord, RoundRow, TextRow, Tree

__all__ = ["Cursor", "Dialect", "Nodes", "Reading", "Statements", "has_table", "read_node", "tree_size"]

_HASH_BYTES = 32
_PAGE_ROUNDS = 500
_ROUNDS_BEFORE = 8  # should be one; rows that were altered may put others before it
_PAGE_LEAVES = 10_000
_LEAF_FIRST, _LEAF_LAST = -(2**63), 2**63 - 1  # of all indexes that a row can have
_LAST_CHARACTER = "\U0010ffff"  # sorts after every other in the order of bytes


class Cursor(Protocol):
    """What runs a statement, and gives its rows as plain tuples."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> "Cursor":
        """Run a statement."""

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> object:
        """Run a statement for each row."""

    def fetchone(self) -> Any:
        """Return the next row of the last statement, None after the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows of the last statement."""


class Dialect(NamedTuple):
    """How a database writes what the other writes differently; `{}` stands for a column."""

    mark: str
    text: str
    integer: str
    data: str
    listed: str
    unindexed: str
    later_tables: str  # counts the tables of a name, which not every ledger has
    integer_type: str  # of a column
    list_of: Callable[[Sequence[str]], Any]


class Statements:
    """All statements that read, in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        text, integer, data = dialect.text.format, dialect.integer.format, dialect.data.format
        listed, unindexed = dialect.listed, dialect.unindexed
        event = f"originator_id, {integer('originator_version')}, {text('topic')}, {data('state')}"
        leaf = (
            f"{integer('leaf_index')}, {text('stream')}, {integer('version_first')}, {integer('version_last')}, "
            f"{integer('recorded_at_us')}, {data('leaf_hash')}"
        )
        is_round = f"{unindexed}stream >= 'round/' AND {unindexed}stream < 'round0'"
        is_named_event = f"FROM stored_events WHERE originator_id{listed}"
        in_order = "ORDER BY originator_id, originator_version"
        bounds = [f"SELECT {column} FROM {table} WHERE {name} >= ? AND {name} < ?" for column, table, name in _NAMES]
        every = {
            "account": "SELECT account_ref, version, currency, balance_minor, round_in_play FROM accounts WHERE account_ref = ?",
            "account_ref": "SELECT account_ref FROM account_names WHERE name = ?",
            "account_name": "SELECT name FROM account_names WHERE account_ref = ?",
            "epoch": (
                f"SELECT epoch, {text('seed_commitment')}, {data('sealed_seed')}, {text('writer_ref')}, "
                f"{integer('next_nonce')}, {integer('is_closed')} FROM epochs WHERE epoch = ?"
            ),
            "epoch_last": "SELECT MAX(epoch) FROM epochs",
            "round": f"SELECT {', '.join(map(text, _ROUND_TEXTS))}, {integer('version')} FROM rounds WHERE round_id = ?",
            "in_play": "SELECT round_in_play FROM accounts WHERE round_in_play <> ''",
            "interrupted": f"SELECT {text('round_id')} FROM interrupted_rounds",
            "external": "SELECT round_id FROM rounds WHERE external_ref = ? AND external_ref <> '' ORDER BY round_id LIMIT ?",
            "prefix": " UNION ".join(bounds[:3]) + " ORDER BY 1 LIMIT ?",
            "streams": " UNION ".join(bounds[3:]) + " ORDER BY 1",
            "last": "SELECT coalesce(MAX(leaf_index), -1) FROM leaves",
            "node": "SELECT node_hash FROM nodes WHERE level = ? AND node_index = ?",
            "leaf": "SELECT leaf_hash FROM leaves WHERE leaf_index = ?",
            "recorded_at": f"SELECT {integer('recorded_at_us')} FROM leaves WHERE leaf_index = ?",
            "stream_events": f"SELECT {event} FROM stored_events WHERE originator_id = ? ORDER BY originator_version",
            "stream_leaves": f"SELECT {leaf} FROM leaves WHERE stream = ? ORDER BY version_first",
            "leaf_page": f"SELECT leaf_index, {data('leaf_hash')} FROM leaves WHERE leaf_index >= ? AND leaf_index < {LEAF_END} "
            "ORDER BY leaf_index LIMIT ?",
            "touched": f"SELECT {text('stream')} FROM leaves WHERE leaf_index >= ? AND leaf_index < ? AND {is_round} "
            "GROUP BY stream ORDER BY MIN(leaf_index)",
            "page": f"SELECT leaf_index, {text('stream')} FROM leaves WHERE leaf_index >= ? AND leaf_index <= ? "
            f"AND version_first = 1 AND {is_round} ORDER BY leaf_index LIMIT ?",
            "page_events": f"SELECT {event} {is_named_event} {in_order}",
            "page_topics": f"SELECT {event} {is_named_event} AND {text('topic')}{listed} {in_order}",
            "page_leaves": f"SELECT {leaf} FROM leaves WHERE stream{listed} ORDER BY stream, version_first",
            # By the leaf of the settlement: a correction may come later.
            "before": "SELECT stream FROM leaves WHERE leaf_index < ? AND version_first > 1 AND stream IN "
            "(SELECT 'round/' || round_id FROM rounds WHERE account_ref = ? AND game = ?) AND EXISTS (SELECT 1 FROM stored_events "
            "WHERE originator_id = stream AND originator_version = version_last AND topic = 'round_settled/1') "
            "ORDER BY leaf_index DESC LIMIT ?",
            "voided_between": "SELECT 1 FROM leaves WHERE leaf_index > ? AND leaf_index < ? AND EXISTS (SELECT 1 FROM stored_events "
            "WHERE originator_id = stream AND originator_version = version_last AND topic = 'round_voided/1') AND EXISTS "
            "(SELECT 1 FROM rounds WHERE round_id = substr(stream, 7) AND account_ref = ?) LIMIT 1",
            "strays": _STRAYS,
            "later_tables": dialect.later_tables,
            "text": f"SELECT {text('text_hash')}, {text('salt')}, {text('content')} FROM texts WHERE text_hash = ?",
            "repeat": f"SELECT round_id, {data('state')} FROM rounds JOIN stored_events ON originator_id = 'round/' || round_id "
            "AND originator_version = 1 WHERE idempotency_key = ? AND idempotency_key <> ''",
        }
        self._every = {name: statement.replace("?", dialect.mark) for name, statement in every.items()}

    def __getitem__(self, name: str) -> str:
        return self._every[name]


_ROUND_TEXTS = ("round_id", "account_ref", "game", "external_ref", "idempotency_key", "status")
# Ids that start with a prefix are looked for in all three tables, so that a round does not vanish with some of its rows.
_NAMES = (
    ("round_id", "rounds", "round_id"),
    ("substr(originator_id, 7)", "stored_events", "originator_id"),
    ("substr(stream, 7)", "leaves", "stream"),
    ("originator_id", "stored_events", "originator_id"),
    ("stream", "leaves", "stream"),
)
# Rounds with no leaf that starts at version 1, be it lost or never written, in the events or in the table.
_STRAYS = (
    "SELECT originator_id AS stream FROM stored_events WHERE originator_id >= 'round/' AND originator_id < 'round0' "
    "AND NOT EXISTS (SELECT 1 FROM leaves WHERE stream = originator_id AND version_first = 1) "
    "UNION SELECT stream FROM leaves WHERE stream >= 'round/' AND stream < 'round0' AND version_first <> 1 "
    "AND NOT EXISTS (SELECT 1 FROM leaves AS other WHERE other.stream = leaves.stream AND other.version_first = 1) "
    "UNION SELECT 'round/' || coalesce(round_id, '') FROM rounds "
    "WHERE NOT EXISTS (SELECT 1 FROM leaves WHERE stream = 'round/' || round_id AND version_first = 1) ORDER BY 1"
)


def tree_size(cursor: Cursor, statements: Statements) -> int:
    """Return the number of leaves."""
    return int(cursor.execute(statements["last"]).fetchone()[0]) + 1


def read_node(cursor: Cursor, statements: Statements, level: int, node_index: int) -> bytes | None:
    """Return the hash of a complete subtree, level 0 being the leaves; None where it is missing or no hash."""
    if level:
        row = cursor.execute(statements["node"], (level, node_index)).fetchone()
    else:
        row = cursor.execute(statements["leaf"], (node_index,)).fetchone()
    return row[0] if row and isinstance(row[0], bytes) and len(row[0]) == _HASH_BYTES else None


def has_table(cursor: Cursor, statements: Statements, table: str) -> bool:
    """Return whether the ledger has one of the later tables; one from before it has none until it needs it."""
    return bool(cursor.execute(statements["later_tables"], (table,)).fetchone()[0])


class Nodes:
    """Reads complete subtrees of one tree; raises TreeBroken where one is missing.

    Those of complete blocks are stored; in the block after them they are reckoned from its leaves, be they stored or not.
    """

    def __init__(self, cursor: Cursor, statements: Statements, size: int) -> None:
        self._cursor, self._statements, self._size = cursor, statements, size
        self._stored_end = size - size % BLOCK_LEAVES

    def __call__(self, level: int, node_index: int) -> bytes:
        first = node_index << level
        if first >= self._stored_end and 0 < level < BLOCK_LEVEL:
            return root_of_leaves(self.leaves(first, 1 << level))[1]
        node = read_node(self._cursor, self._statements, level, node_index)
        if node is None:
            raise TreeBroken(level, node_index, self._size)
        return node

    def leaves(self, first: int, count: int) -> list[bytes]:
        """Return the hashes of `count` leaves from index `first` on."""
        found = dict(self._cursor.execute(self._statements["leaf_page"], (first, count)).fetchall())
        hashes = [found.get(leaf_index, b"") for leaf_index in range(first, first + count)]
        for leaf_index, value in enumerate(hashes, first):
            if len(value) != _HASH_BYTES:
                raise TreeBroken(0, leaf_index, self._size)
        return hashes

    def peaks(self) -> list[bytes]:
        """Return the hashes of the largest complete subtrees, largest first."""
        return [self(level, node_index) for level, node_index in peak_places(self._size)]

    def tree(self) -> Tree:
        """Return size and root."""
        return Tree(self._size, root_of_peaks(self.peaks()))


class Reading:
    """Reads a ledger; what it is on gives the cursor and the dialect."""

    dialect: Dialect
    reads: Statements

    def _reading(self) -> AbstractContextManager[Cursor]:
        """Give a cursor on one moment of the ledger."""
        raise NotImplementedError

    def account(self, account_ref: str) -> AccountRow | None:
        """Return an account."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["account"], (account_ref,)).fetchone()
        return AccountRow._make(row) if row else None

    def account_ref(self, name: str) -> str | None:
        """Return the reference of the account with this name."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["account_ref"], (name,)).fetchone()
        return row[0] if row else None

    def account_name(self, account_ref: str) -> str | None:
        """Return the name that a reference stands for; None also where it was erased."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["account_name"], (account_ref,)).fetchone()
        return row[0] if row else None

    def epoch(self, epoch: int) -> EpochRow | None:
        """Return an epoch."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["epoch"], (epoch,)).fetchone()
        return EpochRow._make([*row[:5], bool(row[5])]) if row else None

    def last_epoch(self) -> EpochRow | None:
        """Return the epoch that was started last."""
        with self._reading() as cursor:
            number = cursor.execute(self.reads["epoch_last"]).fetchone()[0]
        return None if number is None else self.epoch(number)

    def round(self, round_id: str) -> RoundRow | None:
        """Return a round's row."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["round"], (round_id,)).fetchone()
        return RoundRow._make(row) if row else None

    def round_ids_of(self, *, prefix: str = "", external_ref: str = "", limit: int = 6) -> list[str]:
        """Return up to `limit` ids that start with `prefix`, or that carry the operator's reference."""
        with self._reading() as cursor:
            if external_ref:
                return [row[0] for row in cursor.execute(self.reads["external"], (external_ref, limit)).fetchall()]
            first, end = prefix, prefix + _LAST_CHARACTER
            streams = ("round/" + first, "round/" + end)
            return [row[0] for row in cursor.execute(self.reads["prefix"], (first, end, *streams, *streams, limit)).fetchall()]

    def text(self, text_hash: str) -> TextRow | None:
        """Return the row of a text; None also where it was erased."""
        with self._reading() as cursor:
            if not has_table(cursor, self.reads, "texts"):
                return None
            row = cursor.execute(self.reads["text"], (text_hash,)).fetchone()
        return TextRow._make(row) if row else None

    def rounds_in_play(self) -> list[str]:
        """Return the ids of the rounds in play, those that are interrupted included, sorted."""
        with self._reading() as cursor:
            found = cursor.execute(self.reads["in_play"], ()).fetchall()
            if has_table(cursor, self.reads, "interrupted_rounds"):
                found += cursor.execute(self.reads["interrupted"], ()).fetchall()
            return sorted(row[0] for row in found)

    def streams(self, prefix: str) -> list[str]:
        """Return the names of the streams that start with `prefix`, sorted."""
        bounds = (prefix, prefix + _LAST_CHARACTER)
        with self._reading() as cursor:
            return [row[0] for row in cursor.execute(self.reads["streams"], (*bounds, *bounds)).fetchall()]

    def streams_before(self, account_ref: str, game: str, leaf_end: int) -> list[str]:
        """Return the streams of the last few rounds of an account and game that were settled before a leaf, the last one first."""
        with self._reading() as cursor:
            found = cursor.execute(self.reads["before"], (min(leaf_end, LEAF_END), account_ref, game, _ROUNDS_BEFORE)).fetchall()
        return list(dict.fromkeys(row[0] for row in found))

    def has_void_between(self, account_ref: str, leaf_first: int, leaf_last: int) -> bool:
        """Return whether a round of an account was voided between two leaves, which another one that is in play does not prevent."""
        with self._reading() as cursor:
            return cursor.execute(self.reads["voided_between"], (leaf_first, leaf_last, account_ref)).fetchone() is not None

    def stream_events(self, stream: str) -> list[EventRow]:
        """Return the events of a stream in order."""
        with self._reading() as cursor:
            return [EventRow._make(row) for row in cursor.execute(self.reads["stream_events"], (stream,)).fetchall()]

    def stream_appends(self, stream: str) -> list[LeafRow]:
        """Return the appends of a stream in order."""
        with self._reading() as cursor:
            return [LeafRow._make(row) for row in cursor.execute(self.reads["stream_leaves"], (stream,)).fetchall()]

    def tree(self) -> Tree:
        """Return size and root; raises TreeBroken where a node is missing."""
        with self._reading() as cursor:
            return Nodes(cursor, self.reads, tree_size(cursor, self.reads)).tree()

    def subtree(self, level: int, node_index: int) -> bytes:
        """Return the hash of a complete subtree, level 0 being the leaves; raises TreeBroken where it is missing."""
        with self._reading() as cursor:
            return Nodes(cursor, self.reads, tree_size(cursor, self.reads))(level, node_index)

    def round_record(self, stream: str) -> RoundRecord:
        """Return a stream's events, appends, audit paths and tree, read at one moment; raises TreeBroken."""
        with self._reading() as cursor:
            events = tuple(EventRow._make(row) for row in cursor.execute(self.reads["stream_events"], (stream,)).fetchall())
            appends = tuple(LeafRow._make(row) for row in cursor.execute(self.reads["stream_leaves"], (stream,)).fetchall())
            nodes = Nodes(cursor, self.reads, size := tree_size(cursor, self.reads))
            paths = tuple(tuple(audit_path(leaf.leaf_index, size, nodes)) for leaf in appends)
            return RoundRecord(stream, events, appends, paths, nodes.tree())

    def leaf_hashes(self, leaf_first: int = 0) -> Iterator[tuple[int, bytes]]:
        """Iterate over index and hash of the leaves in order, in pages, so that a writer is never held up."""
        while True:
            with self._reading() as cursor:
                page = cursor.execute(self.reads["leaf_page"], (leaf_first, _PAGE_LEAVES)).fetchall()
            yield from page
            if len(page) < _PAGE_LEAVES:
                return
            leaf_first = page[-1][0] + 1

    def recorded_at(self, size: int) -> int:
        """Return when the last of the first `size` leaves was recorded, 0 where there is none."""
        with self._reading() as cursor:
            row = cursor.execute(self.reads["recorded_at"], (size - 1,)).fetchone()
        return int(row[0]) if row else 0

    def tree_size(self) -> int:
        """Return the number of leaves."""
        with self._reading() as cursor:
            return tree_size(cursor, self.reads)

    def streams_touched(self, leaf_first: int, leaf_end: int) -> list[str]:
        """Return the round streams with an append in this range of leaves, each once."""
        with self._reading() as cursor:
            return [row[0] for row in cursor.execute(self.reads["touched"], (leaf_first, leaf_end)).fetchall()]

    def round_records(self, leaf_first: int = 0, leaf_end: int | None = None, *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the rounds whose first append is a leaf in the range, in the order of opening, in pages.

        Where the range is the whole record, leaves of any index are in it, also of one that no leaf can have.
        """
        leaf_last = _LEAF_LAST if leaf_end is None else leaf_end - 1
        leaf_first = leaf_first or _LEAF_FIRST
        while True:
            with self._reading() as cursor:
                page = cursor.execute(self.reads["page"], (leaf_first, leaf_last, _PAGE_ROUNDS)).fetchall()
                records = self._records(cursor, [row[1] for row in page], topics)
            yield from records
            if len(page) < _PAGE_ROUNDS or page[-1][0] == leaf_last:
                break
            leaf_first = page[-1][0] + 1
        if leaf_end is None:
            with self._reading() as cursor:
                strays = [row[0] for row in cursor.execute(self.reads["strays"]).fetchall()]
            yield from self.records_of(strays, topics=topics)

    def records_of(self, streams: Sequence[str], *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the named streams in the order given, in pages, without audit paths."""
        for start in range(0, len(streams), _PAGE_ROUNDS):
            with self._reading() as cursor:
                records = self._records(cursor, streams[start : start + _PAGE_ROUNDS], topics)
            yield from records

    def _records(self, cursor: Cursor, streams: Sequence[str], topics: Sequence[str]) -> list[RoundRecord]:
        names = self.dialect.list_of(streams)
        events: dict[str, list[EventRow]] = {stream: [] for stream in streams}
        appends: dict[str, list[LeafRow]] = {stream: [] for stream in streams}
        if topics:
            rows = cursor.execute(self.reads["page_topics"], (names, self.dialect.list_of(topics)))
        else:
            rows = cursor.execute(self.reads["page_events"], (names,))
        for event in map(EventRow._make, rows.fetchall()):
            if event.stream in events:  # a damaged index gives rows of a stream that was not asked for
                events[event.stream].append(event)
        for leaf in map(LeafRow._make, cursor.execute(self.reads["page_leaves"], (names,)).fetchall()):
            if leaf.stream in appends:
                appends[leaf.stream].append(leaf)
        return [RoundRecord(stream, tuple(events[stream]), tuple(appends[stream])) for stream in streams]
