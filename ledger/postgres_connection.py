"""Connections to a PostgreSQL server: the driver where it is needed, its parameters, and errors of ours for its refusals.

Every connection works in the ledger's own schema and waits for its commits to be on disk, whatever the defaults of
server, database, role or environment are.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ledger.address import DatabaseAddress
from ledger.errors import LedgerError
from ledger.postgres_errors import AddressInvalid, DriverMissing, connect_error, postgres_error

if TYPE_CHECKING:
    import psycopg

__all__ = ["CONNECT_SECONDS", "LOCK_SECONDS", "SCHEMA", "check_driver", "connect", "parameters", "prepare_connection", "translated"]

SCHEMA = "slot_ledger"
CONNECT_SECONDS = 5
LOCK_SECONDS = 5
_IDLE_SECONDS = 60  # a writer that stands still in the middle of a transaction gives way to the others

_SETTINGS = (
    f"SET search_path = {SCHEMA}; "
    f"SET lock_timeout = '{LOCK_SECONDS}s'; "
    f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s'; "
    "SET client_min_messages = warning; "
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)


def check_driver(address: DatabaseAddress) -> None:
    """Raise DriverMissing where the packages of the extra `postgres` are not installed."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        lines = str(error).splitlines()
        raise DriverMissing(str(address), lines[0] if lines else "none") from error
    del psycopg, psycopg_pool


def parameters(address: DatabaseAddress) -> dict[str, Any]:
    """Return what libpq is given, the password included; raises AddressInvalid, which never shows it."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    if not address.is_clear:
        raise AddressInvalid(str(address), "one that can be read in more than one way")
    try:
        given: Mapping[str, Any] = conninfo_to_dict(address.secret_url)
    except psycopg.Error:
        raise AddressInvalid(str(address), "one that libpq cannot read") from None
    defaults = {"connect_timeout": CONNECT_SECONDS, "application_name": "slot-audit"}
    return {**defaults, **given, "client_encoding": "UTF8"}


def prepare_connection(connection: "psycopg.Connection[Any]") -> None:
    """Set a new connection to what a ledger needs; transactions are begun and ended by hand."""
    connection.autocommit = True
    connection.execute(_SETTINGS)


def connect(address: DatabaseAddress) -> "psycopg.Connection[Any]":
    """Return a new connection; raises DriverMissing, AddressInvalid, DatabaseUnreachable, DatabaseMissing, LoginRefused."""
    check_driver(address)
    import psycopg

    given = parameters(address)
    try:
        connection = psycopg.connect(**given)
    except psycopg.Error as error:
        raise _connect_error(address, given, error) from error
    try:
        prepare_connection(connection)
    except psycopg.Error as error:
        connection.close()
        raise translated(address, error) from error
    return connection


def _connect_error(address: DatabaseAddress, given: Mapping[str, Any], error: "psycopg.Error") -> LedgerError:
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import PGconn, Ping

    is_answering = PGconn.ping(make_conninfo(**given).encode()) == Ping.OK
    is_password_used = bool(error.pgconn and error.pgconn.used_password)
    return connect_error(str(address), error, is_answering=is_answering, is_password_used=is_password_used)


def translated(address: DatabaseAddress, error: BaseException) -> LedgerError:
    """Return the error of ours that an error of the driver or of the library around it means."""
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ == "PoolTimeout":
            # The pool tries in the background and keeps the reason to itself.
            try:
                connect(address).close()
            except LedgerError as reason:
                return reason
        cause = cause.__cause__
    return postgres_error(str(address), error, LOCK_SECONDS)
