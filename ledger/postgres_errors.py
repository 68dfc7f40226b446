"""What a database on a server can refuse, and which error of ours each of its own means; no message holds a password.

The driver is not imported here: errors are told apart by the five characters of their SQLSTATE, which no language of
the server changes. What libpq says while it connects has none, so that there the words count where they are known.
"""

from typing import Any

from ledger.errors import LedgerDamaged, LedgerEmpty, LedgerError, LedgerLocked, LedgerUnwritable

__all__ = [
    "AddressInvalid",
    "ConnectionLost",
    "DatabaseMissing",
    "DatabaseUnreachable",
    "DriverMissing",
    "HistoryUnnamed",
    "KeysUnnamed",
    "LedgerForbidden",
    "LoginRefused",
    "connect_error",
    "postgres_error",
]

# ruff: noqa: N818 - as in `ledger/errors.py`.

_REASON_MAX = 200


class _OfDatabase(LedgerError):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where, self.reason = where, reason


class AddressInvalid(_OfDatabase):
    """The address of a database cannot be read."""

    exit_status = 2

    def __str__(self) -> str:
        return (
            f"address {self.where}: want postgresql://USER:PASSWORD@HOST:PORT/DATABASE, got {self.reason}; "
            "write special characters of user and password as %XX"
        )


class DriverMissing(LedgerError):
    """The package that speaks to PostgreSQL is not installed."""

    def __init__(self, where: str, found: str) -> None:
        super().__init__(where, found)
        self.where, self.found = where, found

    def __str__(self) -> str:
        return f"driver of ledger {self.where}: want psycopg with its pool, got {self.found}; install the extra: slot-audit[postgres]"


class DatabaseUnreachable(_OfDatabase):
    """No server answers at the address, or it is not taking connections."""

    def __str__(self) -> str:
        return f"server of ledger {self.where}: want an answer, got {self.reason}; start it, or correct host and port"


class LoginRefused(_OfDatabase):
    """The server answers and lets this user not in."""

    def __str__(self) -> str:
        return (
            f"login to ledger {self.where}: want user and password accepted, got {self.reason}; "
            "correct them in the address, or in PGUSER and PGPASSWORD or the password file"
        )


class DatabaseMissing(_OfDatabase):
    """The server has no database of this name."""

    def __str__(self) -> str:
        return f"database of ledger {self.where}: want one that exists, got {self.reason}; correct its name or make it with createdb"


class LedgerForbidden(_OfDatabase):
    """The user has not the right to do this."""

    def __str__(self) -> str:
        return f"rights in ledger {self.where}: want them granted, got {self.reason}; use a role that has them, an auditor's only reads"


class ConnectionLost(_OfDatabase):
    """The server went away in the middle; a transaction that was not acknowledged is recorded whole or not at all."""

    def __str__(self) -> str:
        return (
            f"connection to ledger {self.where}: want it up to the answer, got {self.reason}; "
            "read the record again before repeating, what was not acknowledged is recorded whole or not at all"
        )


class _Unnamed(LedgerError):
    exit_status = 2

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


class KeysUnnamed(_Unnamed):
    """A ledger on a server has no folder beside it in which its keys could lie."""

    def __str__(self) -> str:
        return f"keys of ledger {self.where}: want their folder, got none; name it with --keys or AUDIT_KEYS"


class HistoryUnnamed(_Unnamed):
    """A ledger on a server has no place beside it for its read model."""

    def __str__(self) -> str:
        return f"read model of ledger {self.where}: want its file, got none; name it with --history"


def _reason(error: BaseException) -> str:
    """Return the first line of what the server says, which holds no parameter of the connection but host, user and database."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = [line.strip() for line in (primary or str(error)).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text.removeprefix("connection failed: ").removesuffix(".")[:_REASON_MAX]


def connect_error(where: str, error: BaseException, *, is_answering: bool, is_password_used: bool) -> LedgerError:
    """Return what a failure to connect means: `is_answering` where a server is there, whatever it thinks of this user."""
    state, reason = getattr(error, "sqlstate", None) or "", _reason(error)
    if state == "3D000" or ("database" in reason and "does not exist" in reason):
        return DatabaseMissing(where, "none")
    if state.startswith("28") or "authentication failed" in reason or "no password supplied" in reason:
        return LoginRefused(where, reason.partition("FATAL:")[2].strip() or reason)
    if is_answering and (is_password_used or ("role" in reason and "does not exist" in reason) or "pg_hba.conf" in reason):
        return LoginRefused(where, reason.partition("FATAL:")[2].strip() or reason)
    return DatabaseUnreachable(where, reason)


def postgres_error(where: str, error: BaseException, lock_seconds: int) -> LedgerError:
    """Return the error of ours that an error of the driver means; one that the library wrapped is looked through."""
    while not hasattr(error, "sqlstate") and error.__cause__ is not None:
        error = error.__cause__
    state, reason = getattr(error, "sqlstate", None) or "", _reason(error)
    if state == "55P03":
        return LedgerLocked(where, lock_seconds)
    if state == "42501":
        return LedgerForbidden(where, reason)
    if state == "3F000":
        return LedgerEmpty(where)
    if state[:2] == "53" or state in ("0A000", "25006", "57014", "58030", "58P01"):
        return LedgerUnwritable(where, reason)
    if state[:2] in ("08", "57") or state in ("25P03", "25P02") or (not state and _is_operational(error)):
        return ConnectionLost(where, reason)
    return LedgerDamaged(where, reason)


def _is_operational(error: Any) -> bool:
    return any(kind.__name__ in ("OperationalError", "InterfaceError", "PoolTimeout", "PoolClosed") for kind in type(error).__mro__)
