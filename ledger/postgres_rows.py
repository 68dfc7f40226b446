"""The rows of a ledger on PostgreSQL at one moment, by cursors that the server holds: memory does not grow with the ledger."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from ledger.address import DatabaseAddress
from ledger.postgres_connection import connect, translated
from ledger.postgres_reading import DIALECT
from ledger.postgres_schema import check_ledger_database
from ledger.table_rows import Read, RowCursor, TableRows

__all__ = ["Reads", "database_reads", "database_rows"]

# Whoever reads the report may take their time over it.
_BEGIN = b"SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"


class Reads(NamedTuple):
    """What runs statements on one moment of a database: for many rows, which the server hands out few at a time, and for one."""

    all_of: Read
    one_of: Read


@contextlib.contextmanager
def database_reads(address: DatabaseAddress) -> Iterator[Reads]:
    """Give one moment of a ledger in a database; raises as `check_ledger_database`."""
    check_ledger_database(address)
    connection = connect(address)
    try:
        with contextlib.ExitStack() as cursors:
            connection.execute(_BEGIN)
            names = itertools.count()

            def all_of(statement: str, values: Sequence[Any]) -> RowCursor:
                cursor = cursors.enter_context(connection.cursor(f"rows_{next(names)}", row_factory=tuple_row))
                return cursor.execute(statement.encode(), values or None, binary=True)

            def one_of(statement: str, values: Sequence[Any]) -> RowCursor:
                return connection.cursor(binary=True, row_factory=tuple_row).execute(statement.encode(), values or None)

            yield Reads(all_of, one_of)
    except psycopg.Error as error:
        raise translated(address, error) from error
    finally:
        connection.close()


@contextlib.contextmanager
def database_rows(address: DatabaseAddress) -> Iterator[TableRows]:
    """Give the rows of a ledger in a database at one moment; raises as `database_reads`."""
    with database_reads(address) as reads:
        yield TableRows(DIALECT, "notification_id", reads.all_of, reads.one_of)
