"""A ledger on PostgreSQL copied into a file: every row of one moment of it, written as a ledger on SQLite holds it."""

import contextlib
import sqlite3
from pathlib import Path

from ledger.address import DatabaseAddress
from ledger.errors import LedgerDamaged
from ledger.later_tables import LATER_TABLES
from ledger.postgres_connection import SCHEMA
from ledger.postgres_reading import DIALECT
from ledger.postgres_rows import Reads, database_reads
from ledger.sqlite_schema import create_tables, ledger_error

__all__ = ["copy_database"]

ROWS_A_STEP = 5000
# Each table and what it is ordered by; rows of events keep their numbers, so that a finding names the same row in both.
_TABLES = {
    "stored_events": "notification_id",
    "leaves": "leaf_index",
    "nodes": "level, node_index",
    "accounts": "account_ref",
    "account_names": "account_ref",
    "epochs": "epoch",
    "rounds": "round_id",
    "texts": "text_hash",
}
# A ledger from before there were texts has no table of them, and an auditor may have no right to it.
_MAY_READ_TEXTS = (
    f"SELECT count(*) FROM pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = 'texts' "
    "AND has_table_privilege(schemaname || '.' || tablename, 'SELECT')"
)


def copy_database(address: DatabaseAddress, out: Path) -> None:
    """Write the ledger in a database to the new file `out`; writers go on meanwhile.

    Raises as `check_ledger_database`, LedgerUnwritable and its kin for the file, and LedgerDamaged for a row that no ledger holds,
    such as one with nothing in a column.
    """
    with database_reads(address) as reads:
        create_tables(out)
        try:
            with contextlib.closing(sqlite3.connect(out, isolation_level=None)) as connection:
                connection.execute("BEGIN")
                for table in (*_TABLES, *_later_tables(reads)):
                    if table == "texts" and not reads.one_of(_MAY_READ_TEXTS, ()).fetchone()[0]:
                        continue
                    _copy_table(reads, connection, table)
                connection.execute("COMMIT")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.IntegrityError as error:
            raise LedgerDamaged(str(address), f"a row that no ledger holds ({error})") from error
        except sqlite3.Error as error:
            raise ledger_error(str(out), error) from error


def _later_tables(reads: Reads) -> list[str]:
    later = [table for table in LATER_TABLES if table not in _TABLES]
    return [table for table in later if reads.one_of(DIALECT.later_tables.replace("?", DIALECT.mark), (table,)).fetchone()[0]]


def _copy_table(reads: Reads, connection: sqlite3.Connection, table: str) -> None:
    columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
    names = ["notification_id" if column == "rowid" else column for column in columns]
    rows = reads.all_of(f"SELECT {', '.join(names)} FROM {table} ORDER BY {_TABLES.get(table, 1)}", ())
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    while page := rows.fetchmany(ROWS_A_STEP):
        connection.executemany(insert, page)
