"""Tables of a ledger on PostgreSQL, and what a database must hold to be taken for one. On disk for ever.

A ledger has a schema of its own, and a database holds one ledger. Text is compared by its bytes, as on SQLite.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.address import DatabaseAddress
from ledger.errors import LedgerEmpty, LedgerExists, LedgerNewer, NotALedger
from ledger.later_tables import LATER_TABLES
from ledger.postgres_connection import SCHEMA, connect, translated

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "APPEND_ONLY",
    "REFUSAL",
    "SCHEMA_VERSION",
    "TABLES",
    "DatabaseSettings",
    "check_ledger_database",
    "create_tables",
    "read_settings",
]

SCHEMA_VERSION = 1
TABLES = ("stored_events", "leaves", "nodes", "accounts", "account_names", "epochs", "rounds", "schema_version")
APPEND_ONLY = ("stored_events", "leaves", "nodes")

_TABLES = """
CREATE TABLE schema_version (version integer PRIMARY KEY);
CREATE TABLE stored_events (
  originator_id TEXT NOT NULL, originator_version bigint NOT NULL, topic TEXT NOT NULL, state bytea NOT NULL,
  notification_id bigserial NOT NULL UNIQUE,
  PRIMARY KEY (originator_id, originator_version));
CREATE TABLE leaves (
  leaf_index bigint PRIMARY KEY,
  stream TEXT NOT NULL, version_first bigint NOT NULL, version_last bigint NOT NULL,
  recorded_at_us bigint NOT NULL, leaf_hash bytea NOT NULL,
  UNIQUE (stream, version_first));
CREATE TABLE nodes (
  level bigint NOT NULL, node_index bigint NOT NULL, node_hash bytea NOT NULL,
  PRIMARY KEY (level, node_index));
CREATE TABLE accounts (
  account_ref TEXT PRIMARY KEY, version bigint NOT NULL, currency TEXT NOT NULL,
  balance_minor bigint NOT NULL CHECK (balance_minor >= 0), round_in_play TEXT NOT NULL);
CREATE TABLE account_names (account_ref TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE epochs (
  epoch bigint PRIMARY KEY, seed_commitment TEXT NOT NULL UNIQUE, sealed_seed bytea NOT NULL, writer_ref TEXT NOT NULL,
  next_nonce bigint NOT NULL, is_closed integer NOT NULL);
CREATE TABLE rounds (
  round_id TEXT PRIMARY KEY, account_ref TEXT NOT NULL, game TEXT NOT NULL, external_ref TEXT NOT NULL,
  idempotency_key TEXT NOT NULL, status TEXT NOT NULL, version bigint NOT NULL);
CREATE UNIQUE INDEX rounds_by_idempotency_key ON rounds (idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX rounds_by_external_ref ON rounds (external_ref) WHERE external_ref <> '';
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the record is append-only: no % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
REFUSAL = _TABLES.split("$$")[1]  # the source of that function


class DatabaseSettings(NamedTuple):
    """What decides whether a server keeps what it acknowledged, and whether the record is still guarded."""

    server_version: str
    encoding: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    guarded_tables: int


def _statements() -> list[str]:
    tables = _TABLES.replace(" TEXT ", ' text COLLATE "C" ')
    refusals = [
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.refuse_change(); "
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_append_only"
        for table in APPEND_ONLY
    ]
    return [
        f"CREATE SCHEMA {SCHEMA}",
        tables,
        *(table.replace("INTEGER", "bigint") for table in LATER_TABLES.values()),
        *refusals,
        f"INSERT INTO schema_version VALUES ({SCHEMA_VERSION})",
    ]


def create_tables(address: DatabaseAddress, connection: "psycopg.Connection[Any]") -> None:
    """Make the tables of a new ledger in the transaction that the connection is in; raises LedgerExists, NotALedger."""
    import psycopg

    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise NotALedger(str(address), f"a database in {encoding}, where texts of UTF8 are to be kept")
    try:
        for statement in _statements():
            connection.execute(statement.encode())
    except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation) as error:
        raise LedgerExists(str(address)) from error


def check_ledger_database(address: DatabaseAddress) -> None:
    """Refuse a database that cannot be opened as a ledger.

    Raises as `connect`, and LedgerEmpty, NotALedger, LedgerNewer, LedgerForbidden.
    """
    connection = connect(address)
    import psycopg

    try:
        _check_tables(str(address), connection)
    except psycopg.Error as error:
        raise translated(address, error) from error
    finally:
        connection.close()


def _check_tables(where: str, connection: "psycopg.Connection[Any]") -> None:
    named = "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind IN ('r', 'p')"
    tables = {row[0] for row in connection.execute(named, (SCHEMA,))}
    if not tables:
        others = "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p') "
        others += "AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg_toast%'"
        count = _one(connection, others)
        if count:
            raise NotALedger(where, f"a database with {count} tables and none of them in schema {SCHEMA}")
        raise LedgerEmpty(where)
    version = int(_one(connection, "SELECT coalesce(MAX(version), 0) FROM schema_version")) if "schema_version" in tables else 0
    if version > SCHEMA_VERSION:
        raise LedgerNewer(where, SCHEMA_VERSION, version)
    missing = set(TABLES) - tables
    if missing:
        raise NotALedger(where, f"a database without {', '.join(sorted(missing))}")
    if connection.execute("SELECT 1 FROM stored_events LIMIT 1").fetchone() is None:
        raise LedgerEmpty(where)


def _one(connection: "psycopg.Connection[Any]", statement: str) -> Any:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def read_settings(address: DatabaseAddress) -> DatabaseSettings:
    """Return the settings of the server and what still guards the record; raises as `connect`."""
    connection = connect(address)
    try:
        shown = [str(_one(connection, f"SHOW {name}")) for name in DatabaseSettings._fields[:-1] if name != "encoding"]
        triggers = "SELECT count(DISTINCT tgrelid) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
        triggers += f"JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '{SCHEMA}' AND tgname = relname || '_append_only' "
        triggers += "AND tgenabled = 'A' AND tgtype & 58 = 58 "  # before, delete, update, truncate
        triggers += "AND tgqual IS NULL AND EXISTS (SELECT 1 FROM pg_proc WHERE pg_proc.oid = tgfoid AND prosrc = %s)"
        row = connection.execute(triggers.encode(), (REFUSAL,)).fetchone()
        guarded = int(row[0]) if row else 0
        return DatabaseSettings(shown[0], str(_one(connection, "SHOW server_encoding")), shown[1], shown[2], shown[3], guarded)
    finally:
        connection.close()
