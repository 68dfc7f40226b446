"""The store on SQLite, on the eventsourcing library's factory and recorder (`ledger/store.py` says what it promises).

WAL, synchronous=FULL and BEGIN IMMEDIATE: a transaction that returned is on disk, and one that reads the last leaf
before it writes the next cannot be overtaken. The writer keeps one connection of the pool for itself behind a lock of
ours, since a writer that waits in the library's pool makes its readers wait too.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnection, SQLiteConnectionPool, SQLiteDatastore, SQLiteFactory
from eventsourcing.utils import Environment

from engines.game import EventBytes
from ledger.errors import (
    AccountExists,
    AccountUnknown,
    EpochEnded,
    FundsShort,
    LedgerLocked,
    LedgerReadOnly,
    RoundInPlay,
    RoundNotOpen,
    RoundUnknown,
    TreeBroken,
    VersionConflict,
)
from ledger.merkle import append_digest, append_leaf, leaf_bytes, leaf_hash, peak_places
from ledger.money import format_amount
from ledger.references import now_us
from ledger.sqlite_reading import SQLiteReading, read_node
from ledger.sqlite_schema import BUSY_SECONDS, ledger_error
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, ROUND_STREAM, AccountRow, OpenedRow, Opening

__all__ = ["LedgerFactory", "LedgerRecorder"]

_STATEMENTS_KEPT = 128  # the library asks for True, which is 1: every statement would be prepared anew

_INSERT_EVENT = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
_INSERT_LEAF = "INSERT INTO leaves VALUES (?,?,?,?,?,?)"
_INSERT_NODE = "INSERT INTO nodes VALUES (?,?,?)"
_SELECT_SIZE = "SELECT ifnull(MAX(leaf_index), -1) + 1 FROM leaves"
_SELECT_LAST_VERSION = "SELECT ifnull(MAX(originator_version), 0) FROM stored_events WHERE originator_id = ?"
_SELECT_ACCOUNT = "SELECT account_ref, version, currency, balance_minor, round_in_play FROM accounts WHERE account_ref = ?"
_SELECT_EPOCH = "SELECT next_nonce FROM epochs WHERE epoch = ? AND is_closed = 0"
_SELECT_REPEAT = (
    "SELECT r.round_id, CAST(e.state AS BLOB) FROM rounds r JOIN stored_events e "
    "ON e.originator_id = 'round/' || r.round_id AND e.originator_version = 1 WHERE r.idempotency_key = ? AND r.idempotency_key <> ''"
)
_SELECT_ROUND = (
    "SELECT r.status, r.version, r.account_ref, a.balance_minor "
    "FROM rounds r JOIN accounts a ON a.account_ref = r.account_ref WHERE r.round_id = ?"
)


class _LedgerPool(SQLiteConnectionPool):
    """Connections with our settings; one for reading changes nothing in the file, its journal mode included."""

    is_writable = False

    def _create_connection(self) -> SQLiteConnection:
        try:
            connection = sqlite3.connect(
                self.db_name,
                uri=True,
                check_same_thread=False,
                isolation_level=None,
                cached_statements=_STATEMENTS_KEPT,
                timeout=BUSY_SECONDS,
            )
            connection.row_factory = sqlite3.Row
            if self.is_writable:
                connection.execute("PRAGMA journal_mode=WAL").close()
                connection.execute("PRAGMA synchronous=FULL").close()
        except sqlite3.Error as error:
            raise ledger_error(self.db_name, error) from error
        return SQLiteConnection(sqlite_conn=connection, max_age=self.max_age)


class LedgerFactory(SQLiteFactory):
    """Builds recorders on a ledger file that is there already; configured by the environment it is given and by nothing else."""

    LEDGER_PATH = "LEDGER_PATH"
    LEDGER_ACCESS = "LEDGER_ACCESS"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        uri = env[self.SQLITE_DBNAME]
        # Nothing has been connected yet: the library's pool is put aside unused.
        pool = _LedgerPool(db_name=uri, lock_timeout=BUSY_SECONDS)
        pool.is_writable = env[self.LEDGER_ACCESS] == "write"
        self.datastore: SQLiteDatastore
        self.datastore.pool = pool

    def application_recorder(self) -> "LedgerRecorder":
        """Return the recorder; it creates no table."""
        return LedgerRecorder(self.datastore, path=self.env[self.LEDGER_PATH], is_writable=self.env[self.LEDGER_ACCESS] == "write")


class _Writing:
    """One writing transaction at a time for all threads of a recorder; SQLite keeps other processes out."""

    def __init__(self, recorder: "LedgerRecorder") -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._cursor: sqlite3.Cursor | None = None

    def _connect(self) -> sqlite3.Cursor:
        if not self._recorder.is_writable:
            raise LedgerReadOnly(self._recorder.path)
        connection = self._recorder.datastore.pool.get_connection()
        cursor = connection.cursor().sqlite_cursor
        cursor.row_factory = None
        return cursor

    def __enter__(self) -> sqlite3.Cursor:
        if not self._lock.acquire(timeout=BUSY_SECONDS):
            raise LedgerLocked(self._recorder.path, BUSY_SECONDS)
        try:
            if self._cursor is None:
                self._cursor = self._connect()
            self._cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._lock.release()
            raise ledger_error(self._recorder.path, error) from error
        except BaseException:
            self._lock.release()
            raise
        return self._cursor

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        cursor = self._cursor
        assert cursor is not None
        try:
            if error is None:
                cursor.execute("COMMIT")
                return
            self._undo(cursor)
            if isinstance(error, sqlite3.Error):
                raise ledger_error(self._recorder.path, error) from error
        except sqlite3.Error as failure:
            self._undo(cursor)
            raise ledger_error(self._recorder.path, failure) from failure
        finally:
            self._lock.release()

    def _undo(self, cursor: sqlite3.Cursor) -> None:
        self._recorder.forget_peaks()
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")


class LedgerRecorder(SQLiteReading, SQLiteApplicationRecorder):
    """Records events with their leaves and nodes, and the tables beside them, in one transaction."""

    def __init__(self, datastore: SQLiteDatastore, *, path: str, is_writable: bool) -> None:
        super().__init__(datastore)
        self.path = path
        self.is_writable = is_writable
        self.clock: Callable[[], int] = now_us
        self.insert_events_statement = _INSERT_EVENT
        self._writing = _Writing(self)
        self._tree_size = -1  # that `_peaks` belong to
        self._peaks: list[bytes] = []

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Cursor]:
        """Give a cursor on one moment of the ledger, rows as plain tuples."""
        pool = self.datastore.pool
        connection = pool.get_connection(is_writer=False)
        try:
            cursor = connection.cursor().sqlite_cursor
            cursor.row_factory = None
            cursor.execute("BEGIN")
            try:
                yield cursor
            finally:
                cursor.execute("ROLLBACK")
                cursor.close()
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error
        finally:
            if not pool.closed:
                pool.put_connection(connection)

    def forget_peaks(self) -> None:
        """Have the next append read the peaks from the file: what was reckoned in memory was not written."""
        self._tree_size = -1

    def _append(self, cursor: sqlite3.Cursor, stream: str, version_first: int, events: Sequence[EventBytes], now: int) -> None:
        """Write the events of one append, its leaf and the nodes that it finishes."""
        cursor.executemany(_INSERT_EVENT, [(stream, version_first + i, topic, state) for i, (topic, state) in enumerate(events)])
        tree_size = cursor.execute(_SELECT_SIZE).fetchone()[0]
        if tree_size != self._tree_size:
            self._peaks = self._read_peaks(cursor, tree_size)
        version_last = version_first + len(events) - 1
        leaf = leaf_hash(leaf_bytes(stream, version_first, version_last, now, append_digest([state for _, state in events])))
        self._peaks, finished = append_leaf(self._peaks, tree_size, leaf)
        self._tree_size = tree_size + 1
        cursor.execute(_INSERT_LEAF, (tree_size, stream, version_first, version_last, now, leaf))
        if finished:
            cursor.executemany(_INSERT_NODE, finished)

    def _read_peaks(self, cursor: sqlite3.Cursor, tree_size: int) -> list[bytes]:
        peaks = []
        for level, node_index in peak_places(tree_size):
            peak = read_node(cursor, level, node_index)
            if peak is None:
                raise TreeBroken(level, node_index, tree_size)
            peaks.append(peak)
        return peaks

    def append_events(self, stream: str, version_first: int, events: Sequence[EventBytes]) -> None:
        """Add events to a stream that no table is kept for; raises VersionConflict."""
        with self._writing as cursor:
            self._append_checked(cursor, stream, version_first, events, self.clock())

    def _append_checked(self, cursor: sqlite3.Cursor, stream: str, version_first: int, events: Sequence[EventBytes], now: int) -> None:
        # The database refuses a version that is taken; a gap only we see.
        last = cursor.execute(_SELECT_LAST_VERSION, (stream,)).fetchone()[0]
        if version_first != last + 1:
            raise VersionConflict(stream, last + 1, version_first)
        self._append(cursor, stream, version_first, events, now)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Add events in the library's own way: one append for each stretch of one stream, in the order given."""
        if not stored_events:
            return range(0)
        with self._writing as cursor:
            now, start = self.clock(), 0
            for end in range(1, len(stored_events) + 1):
                first, last = stored_events[start], stored_events[end - 1]
                if end < len(stored_events) and stored_events[end].originator_id == first.originator_id:
                    continue
                stream, count = str(first.originator_id), end - start
                if last.originator_version != first.originator_version + count - 1:
                    raise VersionConflict(stream, first.originator_version + count - 1, last.originator_version)
                events = [EventBytes(stored.topic, stored.state) for stored in stored_events[start:end]]
                self._append_checked(cursor, stream, first.originator_version, events, now)
                start = end
            rowid = cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'").fetchone()[0]
        return range(rowid - len(stored_events) + 1, rowid + 1)

    def open_account(self, account_ref: str, name: str, currency: str, event_of: Callable[[int], EventBytes]) -> None:
        """Add an account and the name it stands for; raises AccountExists."""
        with self._writing as cursor:
            if cursor.execute("SELECT 1 FROM account_names WHERE name = ?", (name,)).fetchone():
                raise AccountExists(name)
            now = self.clock()
            cursor.execute("INSERT INTO account_names VALUES (?,?)", (account_ref, name))
            cursor.execute("INSERT INTO accounts VALUES (?,1,?,0,'')", (account_ref, currency))
            self._append(cursor, ACCOUNT_STREAM + account_ref, 1, [event_of(now)], now)

    def move_funds(self, account_ref: str, amount_minor: int, event_of: Callable[[int, int], EventBytes]) -> int:
        """Change a balance and return it; raises AccountUnknown, FundsShort."""
        with self._writing as cursor:
            account = self._account(cursor, account_ref)
            balance = account.balance_minor + amount_minor
            if balance < 0:
                raise _short(account, -amount_minor)
            now = self.clock()
            cursor.execute("UPDATE accounts SET version = version + 1, balance_minor = ? WHERE account_ref = ?", (balance, account_ref))
            self._append(cursor, ACCOUNT_STREAM + account_ref, account.version + 1, [event_of(balance, now)], now)
        return balance

    def _account(self, cursor: sqlite3.Cursor, account_ref: str) -> AccountRow:
        row = cursor.execute(_SELECT_ACCOUNT, (account_ref,)).fetchone()
        if row is None:
            raise AccountUnknown(account_ref)
        return AccountRow._make(row)

    def start_epoch(self, seed_commitment: str, sealed_seed: bytes, writer_ref: str, event_of: Callable[[int, int], EventBytes]) -> int:
        """Add an epoch and return its number."""
        with self._writing as cursor:
            epoch = int(cursor.execute("SELECT ifnull(MAX(epoch), 0) + 1 FROM epochs").fetchone()[0])
            now = self.clock()
            cursor.execute("INSERT INTO epochs VALUES (?,?,?,?,0,0)", (epoch, seed_commitment, sealed_seed, writer_ref))
            self._append(cursor, f"{EPOCH_STREAM}{epoch}", 1, [event_of(epoch, now)], now)
        return epoch

    def close_epoch(self, epoch: int, event_of: Callable[[int, int], EventBytes]) -> None:
        """Close an epoch unless it is closed."""
        with self._writing as cursor:
            row = cursor.execute(_SELECT_EPOCH, (epoch,)).fetchone()
            if row is None:
                return
            now = self.clock()
            cursor.execute("UPDATE epochs SET is_closed = 1 WHERE epoch = ?", (epoch,))
            self._append(cursor, f"{EPOCH_STREAM}{epoch}", 2, [event_of(row[0], now)], now)

    def open_round(self, opening: Opening, event_of: Callable[[AccountRow, int, int], EventBytes]) -> OpenedRow:
        """Take the epoch's next nonce, the account's slot and the cost, and record the opening."""
        round_id, account_ref, game, cost_minor, external_ref, idempotency_key, epoch = opening
        with self._writing as cursor:
            if idempotency_key and (repeat := cursor.execute(_SELECT_REPEAT, (idempotency_key,)).fetchone()):
                return OpenedRow(repeat[0], repeat[1], True)
            account = self._account(cursor, account_ref)
            if account.round_in_play:
                raise RoundInPlay(account_ref, account.round_in_play)
            if account.balance_minor < cost_minor:
                raise _short(account, cost_minor)
            nonce = cursor.execute(_SELECT_EPOCH, (epoch,)).fetchone()
            if nonce is None:
                raise EpochEnded(epoch)
            now = self.clock()
            event = event_of(account, nonce[0], now)
            cursor.execute(
                "UPDATE accounts SET balance_minor = ?, round_in_play = ? WHERE account_ref = ?",
                (account.balance_minor - cost_minor, round_id, account_ref),
            )
            cursor.execute("UPDATE epochs SET next_nonce = next_nonce + 1 WHERE epoch = ?", (epoch,))
            cursor.execute("INSERT INTO rounds VALUES (?,?,?,?,?,'open',1)", (round_id, account_ref, game, external_ref, idempotency_key))
            self._append(cursor, ROUND_STREAM + round_id, 1, [event], now)
        return OpenedRow(round_id, event.data, False)

    def settle_round(self, round_id: str, win_minor: int, events_of: Callable[[int, int], Sequence[EventBytes]]) -> int:
        """Add a round's last events, credit the win, free the slot and return the balance."""
        with self._writing as cursor:
            row = cursor.execute(_SELECT_ROUND, (round_id,)).fetchone()
            if row is None:
                raise RoundUnknown(round_id, "it was never opened here")
            status, version, account_ref, balance = row
            if status != "open":
                raise RoundNotOpen(round_id, status)
            balance += win_minor
            now = self.clock()
            events = events_of(balance, now)
            cursor.execute("UPDATE accounts SET balance_minor = ?, round_in_play = '' WHERE account_ref = ?", (balance, account_ref))
            cursor.execute("UPDATE rounds SET status = 'settled', version = ? WHERE round_id = ?", (version + len(events), round_id))
            self._append(cursor, ROUND_STREAM + round_id, version + 1, events, now)
        return int(balance)


def _short(account: AccountRow, cost_minor: int) -> FundsShort:
    cost, balance = (format_amount(minor, account.currency) for minor in (cost_minor, account.balance_minor))
    return FundsShort(account.account_ref, cost, balance, account.currency)
