"""How PostgreSQL writes what the statements of `ledger/reading.py` leave open, and a cursor that takes them.

Columns have types here; what an insider can still put into one is nothing at all.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from ledger.postgres_connection import SCHEMA
from ledger.reading import Dialect

__all__ = ["DIALECT", "PostgresCursor"]

DIALECT = Dialect(
    mark="%s",
    text="coalesce({}, '')",
    integer="coalesce({}, 0)",
    data="coalesce({}, '')",
    listed=" = ANY(%s)",
    unindexed="",
    later_tables=f"SELECT count(*) FROM pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = ?",
    integer_type="bigint",
    list_of=list,
)


class PostgresCursor:
    """Runs statements on a connection, also where several are on their way at once; its rows are those of the last one.

    `ahead` holds what was asked already in the transaction's first message: the answer is good for the first time it is asked for.
    """

    def __init__(self, connection: psycopg.Connection[Any], ahead: dict[str, psycopg.Cursor[Any]] | None = None) -> None:
        self._connection = connection
        self._ahead = ahead or {}
        self._last: psycopg.Cursor[Any] | None = None

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> "PostgresCursor":
        """Run a statement."""
        if (answered := self._ahead.pop(statement, None)) is not None:
            self._last = answered
            return self
        self._last = self._connection.cursor(binary=True, row_factory=tuple_row)
        self._last.execute(statement.encode(), values or None)
        return self

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> object:
        """Run a statement for each row."""
        for row in rows:
            self.execute(statement, row)
        return self

    def fetchone(self) -> Any:
        """Return the next row of the last statement, None after the last."""
        assert self._last is not None
        return self._last.fetchone()

    def fetchall(self) -> list[Any]:
        """Return all rows of the last statement."""
        assert self._last is not None
        return self._last.fetchall()
