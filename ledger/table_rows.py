"""Every row of a ledger's tables at one moment, in the order of the record, whatever database it is on.

What is read may have been altered with any tool: columns are cast, so that a wrong value is read as one and is no crash.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from ledger.address import DatabaseAddress, LedgerPlace
from ledger.faults import Fault
from ledger.reading import Dialect
from ledger.sqlite_reading import DIALECT
from ledger.sqlite_schema import check_ledger_file, ledger_error, ledger_uri
from ledger.sqlite_structure import FileStructure
from ledger.store import RoundRow

__all__ = ["PAGE_ROWS", "NumberedRow", "Read", "RowCursor", "Structure", "TableRows", "rows_in_pages", "table_rows", "text_rows"]

PAGE_ROWS = 1000
_ROUND_TEXTS = ("round_id", "account_ref", "game", "external_ref", "idempotency_key", "status")


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


class Structure(Protocol):
    """What a ledger's tables are made of: their definitions, and what the database itself can tell of them."""

    def begin(self) -> None:
        """Begin what takes long, beside other work."""

    def definition_faults(self) -> Iterator[Fault]:
        """Yield what is otherwise than in a new ledger and puts all that is read in doubt."""

    def type_faults(self, table: str) -> Iterator[Fault]:
        """Yield each value of a table that is not of its column's type."""

    def last_faults(self) -> Iterator[Fault]:
        """Yield what was begun, waiting for its end."""

    def allow_any_text(self, *, is_allowed: bool) -> bool:
        """Have text that is no UTF-8 read as if it were, or refused; return what was before."""

    def close(self) -> None:
        """Let go of what has not ended."""


def text_rows(cursor: RowCursor, size: int) -> list[Any] | None:
    """Return the next rows of a cursor, up to `size`; None where a text among them is no UTF-8."""
    try:
        return cursor.fetchmany(size)
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error):
            raise
        return None


def rows_in_pages(cursor: RowCursor) -> Iterator[Any]:
    """Iterate over the rows of a cursor, which are fetched many at a time."""
    while page := cursor.fetchmany(PAGE_ROWS):
        yield from page


class TableRows:
    """Reads the tables of a ledger.

    number: the column that rows of events are numbered by. read_all and read_one run a statement, both on the same moment;
    many rows are wanted of the first and one of the second.
    """

    def __init__(self, dialect: Dialect, number: str, read_all: Read, read_one: Read, structure: Structure) -> None:
        text, integer, data = dialect.text.format, dialect.integer.format, dialect.data.format
        self._dialect, self._text, self._number, self._read_all, self._read_one = dialect, text, number, read_all, read_one
        self.structure = structure
        self._event = f"{number}, {text('originator_id')}, {integer('originator_version')}, {text('topic')}, {data('state')}"
        self._leaf = (
            f"leaf_index, {text('stream')}, {integer('version_first')}, {integer('version_last')}, "
            f"{integer('recorded_at_us')}, {data('leaf_hash')}"
        )
        self._leaf_last = integer("version_last")
        self._node = f"{integer('node_index')}, {data('node_hash')}"
        self._epoch = (
            f"{integer('epoch')}, {text('seed_commitment')}, {data('sealed_seed')}, {text('writer_ref')}, "
            f"{integer('next_nonce')}, {integer('is_closed')}"
        )
        self._account = (
            f"{text('account_ref')}, {integer('version')}, {text('currency')}, {integer('balance_minor')}, {text('round_in_play')}"
        )
        self._round = ", ".join([*map(text, _ROUND_TEXTS), integer("version")])
        self._version_last = f"SELECT coalesce(max({integer('originator_version')}), 0) FROM stored_events WHERE originator_id = ?"

    def as_stored(self, read_all: Callable[[str, Sequence[Any]], Any] | None = None) -> "TableRows":
        """Return the same rows at the same moment with every value as it is stored, of whatever type: faster, for who looks at them.

        read_all: what many rows are read by from here on, where it is another; of another moment then.
        """
        stored = self._dialect._replace(text="{}", integer="{}", data="{}")
        return TableRows(stored, self._number, read_all or self._read_all, self._read_one, self.structure)

    def _all(self, statement: str, *values: Any) -> RowCursor:
        return self._read_all(statement.replace("?", self._dialect.mark), values)

    def _one(self, statement: str, *values: Any) -> Any:
        return self._read_one(statement.replace("?", self._dialect.mark), values).fetchone()

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

    def settled_version(self, stream: str, leaf_index: int) -> int:
        """Return the version that the stream of a round that was over before a leaf has come to there, 0 where none was."""
        if "\0" in stream:  # which no ledger holds, and not every database takes
            return 0
        select = (
            f"SELECT {self._leaf_last} FROM leaves WHERE stream = ? AND leaf_index < ? AND EXISTS (SELECT 1 FROM stored_events WHERE "
            "originator_id = stream AND originator_version <= version_last AND topic IN ('round_settled/1', 'round_voided/1')) "
            "ORDER BY leaf_index DESC LIMIT 1"
        )
        return int(self._value(select, stream, leaf_index) or 0)

    def are_of_topics(self, stream: str, version_first: int, version_last: int, topics: Sequence[str]) -> bool:
        """Return whether all events of a stream from a version to another are there and of these topics."""
        if "\0" in stream:  # which no ledger holds, and not every database takes
            return False
        marks = ", ".join("?" * len(topics))
        select = (
            "SELECT count(*) FROM stored_events WHERE originator_id = ? AND originator_version >= ? AND originator_version <= ? "
            f"AND {self._text('topic')} IN ({marks})"
        )
        return int(self._value(select, stream, version_first, version_last, *topics)) == version_last - version_first + 1

    def is_covered(self, stream: str, version: int) -> bool:
        """Return whether some leaf covers a version of a stream."""
        select = "SELECT 1 FROM leaves WHERE stream = ? AND version_first <= ? AND version_last >= ?"
        return self._value(select, stream, version, version) is not None

    def accounts(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over reference, version, currency, balance and round in play of all accounts, sorted."""
        return rows_in_pages(self._all(f"SELECT {self._account} FROM accounts ORDER BY 1"))

    def epochs(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over number, commitment, sealed seed, writer, next nonce and whether it is closed, of all epochs, sorted."""
        return rows_in_pages(self._all(f"SELECT {self._epoch} FROM epochs ORDER BY 1"))

    def states(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over account, game and round of all states, sorted; none where there is no table of them."""
        return self._later("states", [*map(self._text, ("account_ref", "game", "round_id"))])

    def interrupted_rounds(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over account, game and round of all rounds that are interrupted and leave a slot free, sorted."""
        return self._later("interrupted_rounds", [*map(self._text, ("account_ref", "game", "round_id"))])

    def bonuses(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over account and bonus money, sorted."""
        return self._later("bonuses", [self._text("account_ref"), self._dialect.integer.format("bonus_minor")])

    def _later(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if not self._value(self._dialect.later_tables, table):
            return iter(())
        return rows_in_pages(self._all(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2"))

    def round_count(self) -> int:
        """Return the number of rows of rounds."""
        return int(self._value("SELECT count(*) FROM rounds"))

    def rounds_of(self, round_ids: Sequence[str]) -> list[Any] | None:
        """Return the rows of some rounds as they are stored, in any order; None where a text among them is no UTF-8."""
        is_allowed = self.structure.allow_any_text(is_allowed=False)
        ids = ", ".join("?" * len(round_ids))
        statement = f"SELECT {', '.join(RoundRow._fields)} FROM rounds WHERE round_id IN ({ids})"
        try:
            return text_rows(self._read_one(statement.replace("?", self._dialect.mark), round_ids), len(round_ids))
        finally:
            self.structure.allow_any_text(is_allowed=is_allowed)

    def rounds(self) -> RowCursor:
        """Return id, account, game, both references, status and version of all rounds, sorted by id."""
        return self._all(f"SELECT {self._round} FROM rounds ORDER BY {self._text('round_id')}")


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
            with contextlib.closing(FileStructure(path, connection)) as structure:
                yield TableRows(DIALECT, "rowid", connection.execute, connection.execute, structure)
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error
