"""What a ledger's schema on PostgreSQL is made of, held against a new one's, and what of the database could show other rows.

All from the system catalogs, which every role can read: tables, columns, constraints, indexes, triggers, functions, and what no
ledger has, as views, rules, policies, heirs of a table or objects among the system's that are found before the ledger's.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ledger.faults import Fault
from ledger.later_tables import LATER_TABLES
from ledger.postgres_connection import SCHEMA
from ledger.postgres_objects import OBJECTS
from ledger.postgres_schema import TABLES

__all__ = ["DatabaseStructure", "found_objects"]

_SCHEMA_ID = f"(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}')"

# Each gives what an object is called, the table it is of, and how it is defined.
_OBJECTS = (
    # Tables, indexes, sequences, views; one that is unlogged, or of another way of storing, is another thing.
    "SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' "
    "WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'relation' END || ' ' || relname, "
    "coalesce(i.indrelid::regclass::text, relname::text), concat_ws(', ', pg_get_indexdef(indexrelid), relpersistence::text, "
    "CASE WHEN relrowsecurity THEN 'row security' END, CASE WHEN relforcerowsecurity THEN 'forced' END, "
    "CASE WHEN NOT coalesce(indisvalid AND indisready AND indislive, true) THEN 'not valid' END) "
    f"FROM pg_class c LEFT JOIN pg_index i ON indexrelid = c.oid WHERE relnamespace = {_SCHEMA_ID} AND relkind NOT IN ('t', 'I', 'c')",
    "SELECT 'column ' || relname || '.' || attname, relname::text, concat_ws(' ', format_type(atttypid, atttypmod), "
    "CASE WHEN attnotnull THEN 'not null' END, CASE WHEN collname <> 'default' THEN 'collate ' || collname END, "
    "CASE WHEN attgenerated <> '' THEN 'generated' WHEN attidentity <> '' THEN 'identity' END, pg_get_expr(adbin, adrelid)) "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_collation o ON o.oid = attcollation "
    f"LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE relnamespace = {_SCHEMA_ID} AND relkind = 'r' "
    "AND attnum > 0 AND NOT attisdropped",
    "SELECT 'constraint ' || relname || '.' || conname, relname::text, pg_get_constraintdef(k.oid) || CASE WHEN convalidated "
    f"THEN '' ELSE ' not valid' END FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid WHERE relnamespace = {_SCHEMA_ID} "
    "AND contype <> 'n'",
    "SELECT 'trigger ' || relname || '.' || tgname, relname::text, pg_get_triggerdef(t.oid) || ' ' || tgenabled::text "
    f"FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = {_SCHEMA_ID} AND NOT tgisinternal",
    "SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', '', prosrc || ' ' || prokind::text "
    f"|| ' ' || lanname::text FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = {_SCHEMA_ID}",
    "SELECT 'rule ' || relname || '.' || rulename, relname::text, pg_get_ruledef(r.oid) FROM pg_rewrite r "
    f"JOIN pg_class c ON c.oid = ev_class WHERE relnamespace = {_SCHEMA_ID} AND relkind NOT IN ('v', 'm')",
    "SELECT 'policy ' || relname || '.' || polname, relname::text, coalesce(pg_get_expr(polqual, polrelid), '') "
    f"FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE relnamespace = {_SCHEMA_ID}",
    "SELECT 'heir ' || inhrelid::regclass::text || ' of ' || relname, relname::text, '' FROM pg_inherits "
    f"JOIN pg_class c ON c.oid = inhparent WHERE relnamespace = {_SCHEMA_ID} AND relkind = 'r'",
    f"SELECT 'operator ' || oprname, '', oid::regoperator::text FROM pg_operator WHERE oprnamespace = {_SCHEMA_ID}",
    f"SELECT 'type ' || typname, '', '' FROM pg_type WHERE typnamespace = {_SCHEMA_ID} AND typrelid = 0 AND typelem = 0",
    # Of the database's own triggers those at a login can touch what a session reads; providers have others.
    "SELECT 'event trigger ' || evtname, '', evtevent::text FROM pg_event_trigger WHERE evtenabled <> 'D' AND evtevent = 'login'",
    # What stands in the system's own schema, or in one for temporary tables, is found first.
    "SELECT 'relation ' || relname || ' found before the ledger''s', '', '' FROM pg_class WHERE relname = ANY(%s) "
    "AND (relnamespace = 'pg_catalog'::regnamespace OR relnamespace = pg_my_temp_schema())",
)


def found_objects(read: Callable[[str, Sequence[Any]], Any]) -> list[tuple[str, str, str]]:
    """Return each object of the ledger's schema, sorted: what it is called, the table it is of, and how it is defined."""
    found: list[tuple[str, str, str]] = []
    for statement in _OBJECTS:
        found += read(statement, (list(TABLES),) if "%s" in statement else ()).fetchall()
    return sorted((name, table, " ".join(definition.split())) for name, table, definition in found)


class DatabaseStructure:
    """The structure of a ledger's schema at one moment; a database sees to the types of its columns itself."""

    def __init__(self, read: Callable[[str, Sequence[Any]], Any]) -> None:
        self._read = read

    def begin(self) -> None:
        """Do nothing."""

    def definition_faults(self) -> Iterator[Fault]:
        """Yield each object that a new ledger has not, has otherwise or has alone, and a number of a row that none gives out."""
        found = found_objects(self._read)
        tables = {table for _, table, _ in found}
        missing = {name: definition for name, table, definition in OBJECTS if table not in LATER_TABLES or table in tables}
        for name, _, definition in found:
            wanted = missing.pop(name, None)
            if wanted is None:
                yield Fault("definition", name, "", -1, "none", definition or "one")
            elif wanted is not None and wanted != definition:
                yield Fault("definition", name, "", -1, wanted, definition or "none")
        for name, definition in missing.items():
            yield Fault("definition", name, "", -1, definition or "one", "none")
        first = "SELECT notification_id, originator_id FROM stored_events ORDER BY notification_id LIMIT 1"
        for number, stream in self._read(first, ()).fetchall():
            if number is None or number < 1:
                yield Fault("event_number", f"stored_events row {number}", stream or "", -1, "a number from 1 on", str(number))

    def type_faults(self, table: str) -> Iterator[Fault]:
        """Yield nothing: a value of another type than its column's cannot be."""
        del table
        return iter(())

    def last_faults(self) -> Iterator[Fault]:
        """Yield nothing: pages and indexes are the server's own to check."""
        return iter(())

    def allow_any_text(self, *, is_allowed: bool) -> bool:
        """Do nothing: a text that is no UTF-8 cannot be."""
        return is_allowed

    def close(self) -> None:
        """Do nothing."""
