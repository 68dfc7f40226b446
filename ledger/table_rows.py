"""Every row of a ledger's tables at one moment, in the order of the record, whatever database it is on.

What is read may have been altered with any tool: columns are cast, so that a wrong value is read as one and is no crash.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from ledger.address import DatabaseAddress, LedgerPlace
from ledger.reading import Dialect
from ledger.sqlite_reading import DIALECT
from ledger.sqlite_schema import check_ledger_file, ledger_error, ledger_uri

__all__ = ["NumberedRow", "Read", "RowCursor", "TableRows", "rows_in_pages", "table_rows"]

PAGE_ROWS = 1000


class NumberedRow(NamedTuple):
    """An event as it is stored, with the number that its table gives the row."""

    row_number: int
    stream: str
    version: int
    topic: str
    data: bytes


class RowCursor(Protocol):
    """Gives the rows of one statement as plain tuples, few at a time."""

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""

    def fetchmany(self, size: int, /) -> list[Any]:
        """Return up to `size` rows, none after the last."""


Read: TypeAlias = Callable[[str, Sequence[Any]], RowCursor]


def rows_in_pages(cursor: RowCursor) -> Iterator[Any]:
    """Iterate over the rows of a cursor, which are fetched many at a time."""
    while page := cursor.fetchmany(PAGE_ROWS):
        yield from page


class TableRows:
    """Reads the tables of a ledger.

    number: the column that rows of events are numbered by. read_all and read_one run a statement, both on the same moment;
    many rows are wanted of the first and one of the second.
    """

    def __init__(self, dialect: Dialect, number: str, read_all: Read, read_one: Read) -> None:
        text, integer, data = dialect.text.format, dialect.integer.format, dialect.data.format
        self._mark, self._number, self._read_all, self._read_one = dialect.mark, number, read_all, read_one
        self._event = f"{number}, {text('originator_id')}, {integer('originator_version')}, {text('topic')}, {data('state')}"
        self._leaf = (
            f"leaf_index, {text('stream')}, {integer('version_first')}, {integer('version_last')}, "
            f"{integer('recorded_at_us')}, {data('leaf_hash')}"
        )
        self._node = f"{integer('node_index')}, {data('node_hash')}"
        self._commitment = f"{text('seed_commitment')}, {data('sealed_seed')}, {text('writer_ref')}, next_nonce, is_closed"

        self._version_last = f"SELECT coalesce(max({integer('originator_version')}), 0) FROM stored_events WHERE originator_id = ?"

    def _all(self, statement: str, *values: Any) -> RowCursor:
        return self._read_all(statement.replace("?", self._mark), values)

    def _one(self, statement: str, *values: Any) -> Any:
        return self._read_one(statement.replace("?", self._mark), values).fetchone()

    def _value(self, statement: str, *values: Any) -> Any:
        row = self._one(statement, *values)
        return row[0] if row else None

    def _from(self, statement: str, order: str, first: int | None, *values: Any) -> RowCursor:
        if first is None:
            return self._all(f"{statement} ORDER BY {order}", *values)
        return self._all(f"{statement} {'AND' if 'WHERE' in statement else 'WHERE'} {order} >= ? ORDER BY {order}", *values, first)

    def events(self, after: int | None = None) -> RowCursor:
        """Return the events (number, stream, version, topic, bytes) in the order of their rows, all or those behind a number."""
        if after is None:
            return self._all(f"SELECT {self._event} FROM stored_events ORDER BY {self._number}")
        return self._all(f"SELECT {self._event} FROM stored_events WHERE {self._number} > ? ORDER BY {self._number}", after)

    def events_from(self, stream: str, version: int) -> RowCursor:
        """Return the events in the order of their rows from the one at a place in its stream on, none where it is not there."""
        start = f"SELECT {self._number} FROM stored_events WHERE originator_id = ? AND originator_version = ?"
        return self._all(
            f"SELECT {self._event} FROM stored_events WHERE {self._number} >= ({start}) ORDER BY {self._number}", stream, version
        )

    def leaves(self, first: int | None = None) -> RowCursor:
        """Return the leaves in order, all or from an index on; their columns are those of `LeafRow`."""
        return self._from(f"SELECT {self._leaf} FROM leaves", "leaf_index", first)

    def nodes(self, level: Any, first: int | None = None) -> RowCursor:
        """Return index and hash of the inner nodes of a level in order, all or from an index on."""
        return self._from(f"SELECT {self._node} FROM nodes WHERE level = ?", "node_index", first, level)

    def node_levels(self) -> list[Any]:
        """Return the levels of which there are nodes, sorted."""
        return [level for (level,) in rows_in_pages(self._all("SELECT DISTINCT level FROM nodes ORDER BY level"))]

    def leaf_count(self) -> int:
        """Return the number of leaves."""
        return int(self._value("SELECT count(*) FROM leaves"))

    def event_at(self, stream: str, version: int) -> NumberedRow | None:
        """Return the event at a place in its stream, wherever its row stands."""
        select = f"SELECT {self._event} FROM stored_events WHERE originator_id = ? AND originator_version = ?"
        row = self._one(select, stream, version)
        return NumberedRow._make(row) if row else None

    def number_after(self, number: int) -> int | None:
        """Return the number of the row of events that follows, None after the last."""
        found: int | None = self._value(f"SELECT min({self._number}) FROM stored_events WHERE {self._number} > ?", number)
        return found

    def last_version(self, stream: str) -> int:
        """Return the highest version of a stream, 0 where it has no event."""
        return int(self._value(self._version_last, stream))

    def is_covered(self, stream: str, version: int) -> bool:
        """Return whether some leaf covers a version of a stream."""
        select = "SELECT 1 FROM leaves WHERE stream = ? AND version_first <= ? AND version_last >= ?"
        return self._value(select, stream, version, version) is not None

    def accounts(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Iterate over the reference and the columns named of all accounts."""
        return rows_in_pages(self._all(f"SELECT account_ref, {', '.join(columns)} FROM accounts"))

    def epochs(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over number, commitment, sealed seed, writer, next nonce and whether it is closed, of all epochs."""
        return rows_in_pages(self._all(f"SELECT epoch, {self._commitment} FROM epochs"))

    def rounds(self, columns: Sequence[str]) -> RowCursor:
        """Return the id and the columns named of all rounds, sorted by id."""
        return self._all(f"SELECT round_id, {', '.join(columns)} FROM rounds ORDER BY round_id")


@contextlib.contextmanager
def table_rows(place: LedgerPlace) -> Iterator[TableRows]:
    """Give the rows of a ledger at one moment, whoever writes meanwhile.

    Raises as `check_ledger_file` or `check_ledger_database`, and LedgerDamaged and its kin while rows are read.
    """
    if isinstance(place, DatabaseAddress):
        from ledger.postgres_rows import database_rows

        with database_rows(place) as rows:
            yield rows
        return
    with _file_rows(place) as rows:
        yield rows


@contextlib.contextmanager
def _file_rows(path: Path) -> Iterator[TableRows]:
    check_ledger_file(path)
    try:
        with contextlib.closing(sqlite3.connect(ledger_uri(path, writable=False), uri=True, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            yield TableRows(DIALECT, "rowid", connection.execute, connection.execute)
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error
