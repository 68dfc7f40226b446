"""What a ledger's file is made of, held against a new one's: definitions, numbers of rows, types of values, pages and indexes.

SQLite puts a value of any type into any column, and reads what its schema says from pages that may say otherwise.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from ledger.faults import Fault
from ledger.later_tables import LATER_TABLES
from ledger.sqlite_schema import SCHEMA_VERSION, definitions, ledger_uri
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, ROUND_STREAM

__all__ = ["FileStructure"]

_MASTER = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_STATISTICS = {("table", "sqlite_stat1"), ("table", "sqlite_stat4")}  # of an operator's ANALYZE: they choose ways to read, not what is read
_MESSAGES_MAX = 100

# For each table: how a row is named, by SQL, and the stream and the version that it is about.
_ROW_NAMES = {
    "stored_events": ("'stored_events row ' || rowid", "originator_id", "originator_version"),
    "leaves": ("'leaves ' || leaf_index", "stream", "0"),
    "nodes": ("'nodes level ' || level || ', index ' || node_index", "''", "0"),
    "accounts": ("'accounts ' || account_ref", f"'{ACCOUNT_STREAM}' || account_ref", "0"),
    "account_names": ("'account_names ' || account_ref", f"'{ACCOUNT_STREAM}' || account_ref", "0"),
    "epochs": ("'epochs ' || epoch", f"'{EPOCH_STREAM}' || epoch", "0"),
    "rounds": ("'rounds ' || round_id", f"'{ROUND_STREAM}' || round_id", "0"),
    "texts": ("'texts ' || text_hash", "''", "0"),
    "states": ("'states ' || account_ref || ', ' || game", f"'{ACCOUNT_STREAM}' || account_ref", "0"),
    "interrupted_rounds": ("'interrupted_rounds ' || account_ref || ', ' || game", f"'{ROUND_STREAM}' || round_id", "0"),
    "bonuses": ("'bonuses ' || account_ref", f"'{ACCOUNT_STREAM}' || account_ref", "0"),
}


class _Wanted(NamedTuple):
    """A new ledger's file: its definitions by kind and name, and the type of each column by table."""

    definitions: dict[tuple[str, str], tuple[str, str | None]]
    columns: dict[str, dict[str, str]]


@cache
def _wanted() -> _Wanted:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in definitions():
            connection.execute(statement)
        made = {(kind, name): (table, sql) for kind, name, table, sql in connection.execute(_MASTER)}
        columns = {
            table: {name: kind.lower() for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")} for table in _ROW_NAMES
        }
    return _Wanted(made, columns)


def _lenient_text(data: bytes) -> str:
    """Return the text of stored bytes, with what is no UTF-8 written out."""
    return data.decode("utf-8", "backslashreplace")


def _fault(code: str, row: str, want: object, got: object, stream: str = "") -> Fault:
    return Fault(code, row, stream, -1, str(want), str(got))


def _in_words(table: object, sql: object) -> str:
    return " ".join(str(sql).split()) if sql else f"one on {table}"


def _definition_faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Yield each table, index, view and trigger that a new ledger has not, has otherwise or has alone, and wrong numbers of rows."""
    for name, wanted_value in (("user_version", SCHEMA_VERSION), ("encoding", "UTF-8")):
        (found_value,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found_value != wanted_value:
            yield _fault("definition", name, wanted_value, found_value)
    missing = dict(_wanted().definitions)
    for kind, name, table, sql in connection.execute(_MASTER).fetchall():
        wanted = missing.pop((kind, name), None)
        if wanted is None and (kind, name) not in _STATISTICS:
            yield _fault("definition", f"{kind} {name}", "none", _in_words(table, sql))
        elif wanted is not None and wanted != (table, sql):
            yield _fault("definition", f"{kind} {name}", _in_words(*wanted), _in_words(table, sql))
    for (kind, name), wanted in missing.items():
        if wanted[0] not in LATER_TABLES:
            yield _fault("definition", f"{kind} {name}", _in_words(*wanted), "none")
    yield from _number_faults(connection)


def _number_faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Yield where rows of events are not numbered from 1 on, and where the number given out last is not the last row's."""
    first, last = connection.execute("SELECT (SELECT min(rowid) FROM stored_events), (SELECT max(rowid) FROM stored_events)").fetchone()
    if first is None:
        return
    if not isinstance(first, int) or first < 1:
        where = "FROM stored_events ORDER BY rowid LIMIT 1"
        (stream,) = connection.execute(f"SELECT coalesce(CAST(originator_id AS TEXT), '') {where}").fetchone()
        yield _fault("event_number", f"stored_events row {first}", "a number from 1 on", first, stream)
    try:
        given = connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    except sqlite3.OperationalError:
        return  # not there, which is said above
    if given != [("stored_events", last)]:
        yield _fault("event_number", "sqlite_sequence", f"stored_events {last}, its last row", given)


def _type_faults(connection: sqlite3.Connection, table: str) -> Iterator[Fault]:
    """Yield each value of a table that is not of its column's type, or is text and no UTF-8."""
    connection.create_function("is_text", 1, _is_text, deterministic=True)
    columns = _wanted().columns[table]
    row, stream, version = _ROW_NAMES[table]
    tests = {
        name: f"typeof({name}) = '{kind}'" + (f" AND is_text(CAST({name} AS BLOB))" * (kind == "text")) for name, kind in columns.items()
    }
    types = ", ".join(f"{test}, typeof({name})" for name, test in tests.items())
    selection = (
        f"SELECT coalesce({row}, '{table} without a key'), coalesce(CAST({stream} AS TEXT), ''), CAST({version} AS INTEGER), {types}"
    )
    try:
        found = connection.execute(f"{selection} FROM {table} WHERE NOT ({' AND '.join(tests.values())}) ORDER BY 1")
    except sqlite3.OperationalError:
        return  # a table or column that is not there, which its definition says
    for place, stream_, version_, *values in found:
        for (name, kind), is_right, got in zip(columns.items(), values[::2], values[1::2], strict=True):
            if not is_right:
                what = "text that is no UTF-8" if got == kind else got
                yield Fault("type", f"{name} in {place}", stream_, (version_ or 0) - 1, kind, what)


def _is_text(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


class _PageCheck:
    """SQLite's own check of all pages and indexes, in a thread beside other work: an index that lies does not survive it."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(ledger_uri(path, writable=False), uri=True, check_same_thread=False)
        self._connection.text_factory = _lenient_text
        self._messages: list[str] = []
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._messages = [str(row[0]) for row in self._connection.execute(f"PRAGMA integrity_check({_MESSAGES_MAX})")]
        except sqlite3.Error as error:
            self._messages = [str(error)]

    def faults(self) -> Iterator[Fault]:
        """Yield what it found, waiting for its end."""
        self._thread.join()
        for message in self._messages:
            if message != "ok":
                yield _fault("database", "pages and indexes of the file", "ok", " ".join(message.split()))

    def close(self) -> None:
        """Let go of it, finished or not."""
        self._connection.interrupt()
        self._thread.join()
        self._connection.close()


class FileStructure:
    """The structure of a ledger's file at one moment, that of a connection which is in a transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self._pages: _PageCheck | None = None

    def begin(self) -> None:
        """Begin what takes long, beside other work."""
        self._pages = _PageCheck(self._path)

    def definition_faults(self) -> Iterator[Fault]:
        """Yield what is otherwise than in a new ledger and puts all that is read in doubt."""
        is_allowed = self.allow_any_text(is_allowed=True)
        faults = list(_definition_faults(self._connection))
        self.allow_any_text(is_allowed=is_allowed)
        return iter(faults)

    def type_faults(self, table: str) -> Iterator[Fault]:
        """Yield each value of a table that is not of its column's type, or is text and no UTF-8."""
        return _type_faults(self._connection, table)

    def last_faults(self) -> Iterator[Fault]:
        """Yield what was begun, waiting for its end."""
        return self._pages.faults() if self._pages is not None else iter(())

    def allow_any_text(self, *, is_allowed: bool) -> bool:
        """Have text that is no UTF-8 read as if it were, or refused by UnicodeDecodeError or OperationalError, which is faster.

        Returns what was before.
        """
        was_allowed = self._connection.text_factory is _lenient_text
        self._connection.text_factory = _lenient_text if is_allowed else str
        return was_allowed

    def close(self) -> None:
        """Let go of what has not ended."""
        if self._pages is not None:
            self._pages.close()
