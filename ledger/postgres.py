"""The store on PostgreSQL, on the eventsourcing library's datastore and recorder (`ledger/store.py` says what it promises).

Every writing transaction takes the library's lock on the table of events first: writers of all processes and machines
take turns, and the order of the leaves is the order of the commits. The library's database functions stay off, since
they leave that lock out. The writer has a connection of its own; readers share the library's pool and wait for nobody.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import psycopg
from eventsourcing.persistence import PersistenceError
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from engines.game import EventBytes
from ledger.address import DatabaseAddress
from ledger.altering import Altering
from ledger.errors import LedgerLocked, LedgerReadOnly, LedgerUnwritable
from ledger.postgres_connection import CONNECT_SECONDS, LOCK_SECONDS, SCHEMA, connect, parameters, prepare_connection, translated
from ledger.postgres_reading import DIALECT, PostgresCursor
from ledger.reading import Cursor, Statements
from ledger.recording import write_statements

__all__ = ["PostgresLedgerFactory", "PostgresLedgerRecorder", "postgres_env"]

_LEDGER_ACCESS = "LEDGER_ACCESS"
_READERS_MAX = 10
_BEGIN_READING = b"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_BEGIN_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
_INSERT_EVENTS = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state) "
    "SELECT %s, %s + place - 1, topic, state FROM unnest(%s::text[], %s::bytea[]) WITH ORDINALITY AS given (topic, state, place) "
    "ORDER BY place"
)
_SELECT_LAST_NUMBER = "SELECT MAX(notification_id) FROM stored_events"


def postgres_env(*, is_writable: bool) -> dict[str, str]:
    """Return the settings of the eventsourcing library; the address, which may hold a password, is not among them."""
    factory = PostgresLedgerFactory
    elsewhere = dict.fromkeys((factory.POSTGRES_DBNAME, factory.POSTGRES_HOST, factory.POSTGRES_USER, factory.POSTGRES_PASSWORD), "")
    return {
        **elsewhere,
        factory.ORIGINATOR_ID_TYPE: "text",
        factory.CREATE_TABLE: "n",
        factory.POSTGRES_ENABLE_DB_FUNCTIONS: "n",
        _LEDGER_ACCESS: "write" if is_writable else "read",
    }


class _LedgerDatastore(PostgresDatastore):
    """The library's pool, connecting as the address says, and the writer's connection beside it."""

    def __init__(self, address: DatabaseAddress) -> None:
        super().__init__(
            "",
            "",
            "",
            "",
            "",
            connect_timeout=CONNECT_SECONDS,
            max_overflow=_READERS_MAX - 1,
            pre_ping=True,
            lock_timeout=LOCK_SECONDS,
            schema=SCHEMA,
            originator_id_type="text",
            enable_db_functions=False,
        )
        self.address = address
        self.pool.kwargs = {**parameters(address), "row_factory": dict_row}
        self.writer: psycopg.Connection[Any] | None = None

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """Return what makes a new connection one of ours."""
        return prepare_connection

    def register_type_adapters(self) -> None:
        """Register none: events are inserted without the library's composite type."""

    def forget_writer(self) -> None:
        """Close the writer's connection; the next transaction opens another."""
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        """Close all connections."""
        with contextlib.suppress(AttributeError):
            self.forget_writer()
        super().close()


class PostgresLedgerFactory(PostgresFactory):
    """Builds recorders on a ledger that is there already; configured by what it is given and by nothing else."""

    def __init__(self, env: Environment, address: DatabaseAddress) -> None:
        super().__init__(env)
        # Nothing has been connected yet: the library's datastore is put aside unused.
        self.datastore: PostgresDatastore = _LedgerDatastore(address)

    def application_recorder(self) -> "PostgresLedgerRecorder":
        """Return the recorder; it creates no table."""
        assert isinstance(self.datastore, _LedgerDatastore)
        return PostgresLedgerRecorder(self.datastore, is_writable=self.env[_LEDGER_ACCESS] == "write")


class _Writing:
    """One writing transaction at a time for all threads of a recorder; the table lock keeps other processes out.

    Statements are sent without waiting for each other's answer, where none is read.
    """

    def __init__(self, recorder: "PostgresLedgerRecorder") -> None:
        self._recorder = recorder
        self._datastore = recorder.ledger_datastore
        self._lock = threading.RLock()  # a thread that an interrupt took out of a transaction, between two lines, may begin another
        self._pipeline: contextlib.AbstractContextManager[Any] | None = None
        self._begin = b""

    def __enter__(self) -> Cursor:
        if not self._recorder.is_writable:
            raise LedgerReadOnly(self._recorder.path)
        if not self._lock.acquire(timeout=LOCK_SECONDS):
            raise LedgerLocked(self._recorder.path, LOCK_SECONDS)
        try:
            if self._pipeline is not None:
                self._undo()
            answered = self._begun()
            self._pipeline = answered.connection.pipeline()
            self._pipeline.__enter__()
            return PostgresCursor(answered.connection, {self._recorder.reads["last"]: answered})
        except BaseException as error:
            self._undo(is_interrupt=not isinstance(error, Exception))
            self._lock.release()
            if isinstance(error, psycopg.Error):
                raise translated(self._datastore.address, error) from error
            raise

    def _begun(self) -> psycopg.Cursor[Any]:
        """Begin, take the lock and ask for the last leaf in one message, and return the answer.

        A connection that was lost since the last transaction is replaced: nothing was sent on it yet.
        """
        if not self._begin:
            locks = [statement.as_string() for statement in self._recorder.lock_table_statements]  # type: ignore[union-attr]
            self._begin = "; ".join([_BEGIN_WRITING, *locks, self._recorder.reads["last"]]).encode()
        if (writer := self._datastore.writer) is not None:
            try:
                return self._last_answer(writer)
            except psycopg.OperationalError:
                if not writer.closed:
                    raise
                self._datastore.forget_writer()
        self._datastore.writer = connect(self._datastore.address)
        return self._last_answer(self._datastore.writer)

    def _last_answer(self, writer: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
        answers = writer.execute(self._begin)
        while answers.nextset():
            pass
        return answers

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._commit()
                return
            self._undo(is_interrupt=not isinstance(error, Exception))
            if isinstance(error, psycopg.Error):
                raise translated(self._datastore.address, error) from error
        except psycopg.Error as failure:
            self._undo()
            raise translated(self._datastore.address, failure) from failure
        except BaseException as failure:
            self._undo(is_interrupt=not isinstance(failure, Exception))
            raise
        finally:
            self._lock.release()

    def _commit(self) -> None:
        writer, pipeline = self._datastore.writer, self._pipeline
        assert writer is not None
        assert pipeline is not None
        commit = writer.execute(b"COMMIT")
        self._pipeline = None
        pipeline.__exit__(None, None, None)  # waits for the answers to all that was sent
        if commit.statusmessage != "COMMIT":
            self._undo()
            raise LedgerUnwritable(self._recorder.path, f"{commit.statusmessage} for COMMIT")

    def _undo(self, *, is_interrupt: bool = False) -> None:
        """Take back what the transaction did; after an interrupt, which may have come in the middle of a message, by hanging up."""
        if is_interrupt:
            self._pipeline = None
            self._datastore.forget_writer()
            return
        writer, pipeline, self._pipeline = self._datastore.writer, self._pipeline, None
        if pipeline is not None:
            with contextlib.suppress(psycopg.Error):
                pipeline.__exit__(None, None, None)
        if writer is None:
            return
        try:
            if writer.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                writer.execute(b"ROLLBACK")
        except psycopg.Error:
            writer.close()
        if writer.info.transaction_status != TransactionStatus.IDLE:
            self._datastore.forget_writer()


class PostgresLedgerRecorder(Altering, PostgresApplicationRecorder):
    """Records events with their leaves and nodes, and the tables beside them, in one transaction."""

    dialect = DIALECT
    reads = Statements(DIALECT)
    writes = write_statements(DIALECT.mark)

    def __init__(self, datastore: _LedgerDatastore, *, is_writable: bool) -> None:
        super().__init__(datastore)
        self.ledger_datastore = datastore
        self.path = str(datastore.address)
        self.is_writable = is_writable
        self._writing = _Writing(self)
        self._start()

    @classmethod
    def append_first(cls, cursor: Cursor, stream: str, event: EventBytes, now: int) -> None:
        """Write the first append of a new ledger, in the transaction that makes its tables."""
        cls._write_events(cursor, stream, 1, [event])
        cls._write_leaf(cursor, stream, 1, [event], now)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[PostgresCursor]:
        """Give a cursor on one moment of the ledger, rows as plain tuples."""
        try:
            with self.datastore.get_connection() as connection:
                connection.execute(_BEGIN_READING)
                try:
                    yield PostgresCursor(connection)
                finally:
                    if not connection.closed:
                        connection.rollback()
        except (psycopg.Error, PersistenceError) as error:
            raise translated(self.ledger_datastore.address, error) from error

    @staticmethod
    def _write_events(cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes]) -> None:
        topics, states = [topic for topic, _ in events], [state for _, state in events]
        cursor.execute(_INSERT_EVENTS, (stream, version_first, topics, states))

    def _last_number(self, cursor: Cursor) -> int:
        return int(cursor.execute(_SELECT_LAST_NUMBER).fetchone()[0])
