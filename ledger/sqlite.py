"""The store on SQLite, on the eventsourcing library's factory and recorder (`ledger/store.py` says what it promises).

WAL, synchronous=FULL and BEGIN IMMEDIATE: a transaction that returned is on disk, and one that reads the last leaf
before it writes the next cannot be overtaken. The writer keeps one connection of the pool for itself behind a lock of
ours, since a writer that waits in the library's pool makes its readers wait too.
"""

import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnection, SQLiteConnectionPool, SQLiteDatastore, SQLiteFactory
from eventsourcing.utils import Environment

from engines.game import EventBytes
from ledger.altering import Altering
from ledger.errors import LedgerLocked, LedgerReadOnly
from ledger.reading import Cursor, Statements
from ledger.recording import write_statements
from ledger.sqlite_reading import DIALECT
from ledger.sqlite_schema import BUSY_SECONDS, commit_error, ledger_error

__all__ = ["LOG_PAGES", "LedgerFactory", "LedgerRecorder"]

LOG_PAGES = 4000  # when the log is copied back into the file, with two flushes: at SQLite's 1,000 that is every sixty rounds
_ASK_SECONDS = (0.001, 0.005)  # after which a writer asks again whether another one has ended
_STATEMENTS_KEPT = 128  # the library asks for True, which is 1: every statement would be prepared anew

_INSERT_EVENT = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
_SELECT_LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"


class _LedgerPool(SQLiteConnectionPool):
    """Connections with our settings; one for reading changes nothing in the file, its journal mode included."""

    path = ""
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
            try:
                self._set_up(connection)
            except sqlite3.Error:
                connection.close()  # at once: closed later, it may leave files where others have tidied up
                raise
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error
        return SQLiteConnection(sqlite_conn=connection, max_age=self.max_age)

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        if self.is_writable:
            connection.execute("PRAGMA journal_mode=WAL").close()
            connection.execute("PRAGMA synchronous=FULL").close()
            connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}").close()
            connection.execute("PRAGMA secure_delete=ON").close()  # what is erased is overwritten; events are never deleted


class LedgerFactory(SQLiteFactory):
    """Builds recorders on a ledger file that is there already; configured by the environment it is given and by nothing else."""

    LEDGER_PATH = "LEDGER_PATH"
    LEDGER_ACCESS = "LEDGER_ACCESS"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        uri = env[self.SQLITE_DBNAME]
        # Nothing has been connected yet: the library's pool is put aside unused.
        pool = _LedgerPool(db_name=uri, lock_timeout=BUSY_SECONDS)
        pool.path, pool.is_writable = env[self.LEDGER_PATH], env[self.LEDGER_ACCESS] == "write"
        self.datastore: SQLiteDatastore
        self.datastore.pool = pool

    def application_recorder(self) -> "LedgerRecorder":
        """Return the recorder; it creates no table."""
        return LedgerRecorder(self.datastore, path=self.env[self.LEDGER_PATH], is_writable=self.env[self.LEDGER_ACCESS] == "write")


class _Writing:
    """One writing transaction at a time for all threads of a recorder; SQLite keeps other processes out."""

    def __init__(self, recorder: "LedgerRecorder") -> None:
        self._recorder = recorder
        self._lock = threading.RLock()  # a thread that an interrupt took out of a transaction, between two lines, may begin another
        self._cursor: sqlite3.Cursor | None = None

    def _connect(self) -> sqlite3.Cursor:
        if not self._recorder.is_writable:
            raise LedgerReadOnly(self._recorder.path)
        connection = self._recorder.datastore.pool.get_connection()
        cursor = connection.cursor().sqlite_cursor
        cursor.row_factory = None
        cursor.execute("PRAGMA busy_timeout=0")  # waiting is ours
        return cursor

    def _begin(self, cursor: sqlite3.Cursor) -> None:
        """Begin, and while another process writes ask again in a moment.

        SQLite itself would ask the more rarely the longer it has waited: of many writers some would come and go, some never begin.
        """
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                    raise
            time.sleep(random.uniform(*_ASK_SECONDS))

    def __enter__(self) -> sqlite3.Cursor:
        if not self._lock.acquire(timeout=BUSY_SECONDS):
            raise LedgerLocked(self._recorder.path, BUSY_SECONDS)
        try:
            if self._cursor is None:
                self._cursor = self._connect()
            if self._cursor.connection.in_transaction:
                self._undo(self._cursor)
            self._begin(self._cursor)
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
                self._commit(cursor)
                return
            self._undo(cursor)
            if isinstance(error, sqlite3.Error):
                raise ledger_error(self._recorder.path, error) from error
        except sqlite3.Error as failure:
            self._undo(cursor)
            raise ledger_error(self._recorder.path, failure) from failure
        finally:
            self._lock.release()

    def _commit(self, cursor: sqlite3.Cursor) -> None:
        try:
            cursor.execute("COMMIT")
        except sqlite3.Error as failure:
            self._undo(cursor)
            raise commit_error(self._recorder.path, failure) from failure

    def _undo(self, cursor: sqlite3.Cursor) -> None:
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")


class LedgerRecorder(Altering, SQLiteApplicationRecorder):
    """Records events with their leaves and nodes, and the tables beside them, in one transaction."""

    dialect = DIALECT
    reads = Statements(DIALECT)
    writes = write_statements(DIALECT.mark)

    def __init__(self, datastore: SQLiteDatastore, *, path: str, is_writable: bool) -> None:
        super().__init__(datastore)
        self.path = path
        self.is_writable = is_writable
        self.insert_events_statement = _INSERT_EVENT
        self._writing = _Writing(self)
        self._start()

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

    @staticmethod
    def _write_events(cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes]) -> None:
        cursor.executemany(_INSERT_EVENT, [(stream, version_first + i, topic, state) for i, (topic, state) in enumerate(events)])

    def _last_number(self, cursor: Cursor) -> int:
        return int(cursor.execute(_SELECT_LAST_NUMBER).fetchone()[0])
