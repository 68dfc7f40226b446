"""Tables of a ledger on SQLite, and what a file must look like to be taken for one. On disk for ever."""

import errno
import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from ledger.errors import (
    FlushFailed,
    LedgerDamaged,
    LedgerEmpty,
    LedgerError,
    LedgerLocked,
    LedgerMissing,
    LedgerNewer,
    LedgerUnwritable,
    NotALedger,
)
from ledger.later_tables import LATER_TABLES

__all__ = [
    "BUSY_SECONDS",
    "SCHEMA_VERSION",
    "check_ledger_file",
    "commit_error",
    "create_tables",
    "definitions",
    "empty_log",
    "ledger_error",
    "ledger_uri",
    "refusals",
]

SCHEMA_VERSION = 1
BUSY_SECONDS = 5

# AUTOINCREMENT: the number of a lost last row is never given out again. Column `rowid` is what the library's SQL names.
_TABLES = """
CREATE TABLE stored_events (
  rowid INTEGER PRIMARY KEY AUTOINCREMENT,
  originator_id TEXT NOT NULL, originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL,
  UNIQUE (originator_id, originator_version));
CREATE TABLE leaves (
  leaf_index INTEGER PRIMARY KEY,
  stream TEXT NOT NULL, version_first INTEGER NOT NULL, version_last INTEGER NOT NULL,
  recorded_at_us INTEGER NOT NULL, leaf_hash BLOB NOT NULL,
  UNIQUE (stream, version_first));
CREATE TABLE nodes (
  level INTEGER NOT NULL, node_index INTEGER NOT NULL, node_hash BLOB NOT NULL,
  PRIMARY KEY (level, node_index)) WITHOUT ROWID;
CREATE TABLE accounts (
  account_ref TEXT PRIMARY KEY, version INTEGER NOT NULL, currency TEXT NOT NULL,
  balance_minor INTEGER NOT NULL CHECK (balance_minor >= 0), round_in_play TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE account_names (account_ref TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE epochs (
  epoch INTEGER PRIMARY KEY, seed_commitment TEXT NOT NULL UNIQUE, sealed_seed BLOB NOT NULL, writer_ref TEXT NOT NULL,
  next_nonce INTEGER NOT NULL, is_closed INTEGER NOT NULL);
CREATE TABLE rounds (
  round_id TEXT PRIMARY KEY, account_ref TEXT NOT NULL, game TEXT NOT NULL, external_ref TEXT NOT NULL,
  idempotency_key TEXT NOT NULL, status TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX rounds_by_idempotency_key ON rounds (idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX rounds_by_external_ref ON rounds (external_ref) WHERE external_ref <> '';
"""


def refusals() -> list[str]:
    """Return the definitions of the triggers that keep the record append-only, as a ledger's file holds them."""
    return [
        f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the record is append-only: no {action} on {table}'); END"
        for table in ("stored_events", "leaves", "nodes")
        for action in ("UPDATE", "DELETE")
    ]


def definitions() -> list[str]:
    """Return the statements that make the tables, indexes and triggers of a new ledger."""
    return [*(statement for statement in _TABLES.split(";\n") if statement.strip()), *LATER_TABLES.values(), *refusals()]


def ledger_uri(path: Path, *, writable: bool) -> str:
    """Return the SQLite URI of a ledger; neither way of opening creates the file.

    On a medium that cannot be written, where SQLite can make no index of its write-ahead log, a file without such a log
    is read as one that nobody changes.
    """
    location = "file:" + quote(str(path.absolute()))
    if writable:
        return location + "?mode=rw"
    log = path.with_name(path.name + "-wal")
    if _is_unwritable_medium(path.parent) and not (log.exists() and log.stat().st_size):
        return location + "?immutable=1"
    return location + "?mode=ro"


def _is_unwritable_medium(folder: Path) -> bool:
    return not os.access(folder, os.W_OK) or bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def ledger_error(path: str, error: sqlite3.Error) -> LedgerError:
    """Return the error of ours that an SQLite error means."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerLocked(path, BUSY_SECONDS)
    if primary == sqlite3.SQLITE_NOTADB:
        return NotALedger(path, "something that is no SQLite file")
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return LedgerUnwritable(path, str(error))
    return LedgerDamaged(path, str(error))


def commit_error(path: str, error: sqlite3.Error) -> LedgerError:
    """Return the error of ours that a COMMIT failed with.

    Where the bytes are written and only their flush, or what follows it, failed, the next opening may find the commit whole.
    """
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code & 0xFF == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_WRITE:
        return FlushFailed(path, str(error))
    return ledger_error(path, error)


def create_tables(path: Path) -> None:
    """Make the tables of a new ledger in the file at `path`, which SQLite creates."""
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            for statement in ["BEGIN IMMEDIATE", *definitions(), f"PRAGMA user_version={SCHEMA_VERSION}", "COMMIT"]:
                connection.execute(statement)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error


def check_ledger_file(path: Path) -> None:
    """Refuse a file that cannot be opened as a ledger.

    Raises LedgerMissing, LedgerEmpty, NotALedger, LedgerNewer, LedgerLocked, LedgerDamaged, LedgerUnwritable.
    """
    name = str(path)
    _check_file(path)
    try:
        connection = sqlite3.connect(ledger_uri(path, writable=False), uri=True, timeout=BUSY_SECONDS)
        try:
            _check_tables(name, connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ledger_error(name, error) from error
    except UnicodeDecodeError as error:  # of SQLite's own message
        raise LedgerDamaged(name, "a schema that is no text") from error


def empty_log(path: Path) -> None:
    """Bring all that the write-ahead log of a ledger holds into its file, which SQLite does on closing too, but silently or not at all.

    Raises LedgerUnwritable.
    """
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ledger_error(str(path), error) from error


def _check_file(path: Path) -> None:
    """Refuse what SQLite need not be asked about, without opening it.

    Whoever closes a file that SQLite has open in the same process takes SQLite's locks on it away. Another writer that ends
    then holds itself to be the last one and removes the log into which this process still writes.
    """
    name = str(path)
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise LedgerMissing(name) from error
    except OSError as error:
        raise NotALedger(name, error.strerror or type(error).__name__) from error
    if not stat.S_ISREG(found.st_mode):
        raise NotALedger(name, "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file")
    if not found.st_size:
        raise LedgerEmpty(name)
    if not os.access(path, os.R_OK):
        raise NotALedger(name, os.strerror(errno.EACCES))


def _check_tables(name: str, connection: sqlite3.Connection) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version > SCHEMA_VERSION and "stored_events" in tables:
        raise LedgerNewer(name, SCHEMA_VERSION, version)
    if not tables:
        raise LedgerEmpty(name)
    missing = {"stored_events", "leaves", "nodes", "accounts", "account_names", "epochs", "rounds"} - tables
    if missing:
        raise NotALedger(name, f"a database without {', '.join(sorted(missing))}")
    # Names alone: whether the triggers still stand is a matter of integrity, and other tools than ours report it.
    if connection.execute("SELECT 1 FROM stored_events LIMIT 1").fetchone() is None:
        raise LedgerEmpty(name)
