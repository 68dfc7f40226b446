"""A new ledger in a database: tables, first event and keys in one transaction."""

from pathlib import Path

from ledger.address import DatabaseAddress
from ledger.creation import first_event
from ledger.errors import LedgerExists
from ledger.keys import VerifierKey, create_keys
from ledger.postgres_connection import connect, translated
from ledger.postgres_schema import create_tables
from ledger.references import new_reference, now_us
from ledger.store import LEDGER_STREAM

__all__ = ["create_in_database"]


def create_in_database(address: DatabaseAddress, keys_dir: Path) -> VerifierKey:
    """Make a ledger in an existing database, and its keys; raises as `connect`, and LedgerExists, KeysExist, NotALedger."""
    connection = connect(address)
    # The driver is there: it has connected.
    import psycopg

    from ledger.postgres import PostgresLedgerRecorder
    from ledger.postgres_reading import PostgresCursor

    ledger_id, now = new_reference(), now_us()
    try:
        with connection.transaction():
            create_tables(address, connection)
            # Keys come last: where the tables are refused, no keys of a ledger that is not there are left.
            verifier_key = create_keys(keys_dir, ledger_id)
            first = first_event(ledger_id, verifier_key, now)
            PostgresLedgerRecorder.append_first(PostgresCursor(connection), LEDGER_STREAM, first, now)
    except psycopg.errors.UniqueViolation as error:
        raise LedgerExists(str(address)) from error
    except psycopg.Error as error:
        raise translated(address, error) from error
    finally:
        connection.close()
    return verifier_key
