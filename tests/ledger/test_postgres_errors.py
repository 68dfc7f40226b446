"""What a server can refuse has its own message, survives the way between processes, and never shows a password."""

import pickle
import sys
from pathlib import Path

import pytest

from ledger import errors, postgres_errors
from ledger.address import DatabaseAddress, ledger_place
from ledger.history import default_history_path
from ledger.keys import default_keys_dir
from ledger.postgres_connection import connect, parameters
from ledger.postgres_errors import connect_error, postgres_error
from ledger.rounds import RoundLedger

URL = "postgresql://ann@host/db"
CASES = [
    (
        postgres_errors.AddressInvalid(URL, "nonsense"),
        2,
        f"address {URL}: want postgresql://USER:PASSWORD@HOST:PORT/DATABASE, got nonsense; "
        "write special characters of user and password as %XX",
    ),
    (
        postgres_errors.DriverMissing(URL, "none"),
        4,
        f"driver of ledger {URL}: want psycopg with its pool, got none; install the extra: slot-audit[postgres]",
    ),
    (
        postgres_errors.DatabaseUnreachable(URL, "connection refused"),
        4,
        f"server of ledger {URL}: want an answer, got connection refused; start it, or correct host and port",
    ),
    (
        postgres_errors.LoginRefused(URL, "no"),
        4,
        f"login to ledger {URL}: want user and password accepted, got no; "
        "correct them in the address, or in PGUSER and PGPASSWORD or the password file",
    ),
    (
        postgres_errors.DatabaseMissing(URL, "none"),
        4,
        f"database of ledger {URL}: want one that exists, got none; correct its name or make it with createdb",
    ),
    (
        postgres_errors.LedgerForbidden(URL, "permission denied"),
        4,
        f"rights in ledger {URL}: want them granted, got permission denied; use a role that has them, an auditor's only reads",
    ),
    (
        postgres_errors.ConnectionLost(URL, "it closed"),
        4,
        f"connection to ledger {URL}: want it up to the answer, got it closed; "
        "read the record again before repeating, what was not acknowledged is recorded whole or not at all",
    ),
    (postgres_errors.KeysUnnamed(URL), 2, f"keys of ledger {URL}: want their folder, got none; name it with --keys or AUDIT_KEYS"),
    (postgres_errors.HistoryUnnamed(URL), 2, f"read model of ledger {URL}: want its file, got none; name it with --history"),
    (
        errors.LedgerExists(URL),
        2,
        f"ledger {URL}: want no ledger there yet, got one; name another path, an existing ledger is never touched",
    ),
    (
        errors.LedgerEmpty(URL),
        4,
        f"ledger {URL}: want a ledger's tables and first event, got an empty database; name another or make one with `audit init`",
    ),
    (
        errors.NotALedger(URL, "another"),
        4,
        f"ledger {URL}: want a database with a ledger's tables, got another; name another with --ledger",
    ),
]


@pytest.mark.parametrize(("error", "status", "message"), CASES, ids=lambda value: type(value).__name__)
def test_messages_and_exit_status(error, status, message):
    """The message is in the one form, and survives pickling with all fields."""
    assert str(error) == message
    assert error.exit_status == status
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), message, vars(error))


def test_every_exception_is_tested():
    """No exception of the module is left out above."""
    named = {name for name in postgres_errors.__all__ if name[0].isupper()}
    assert named <= {type(error).__name__ for error, _, _ in CASES}
    assert all(issubclass(getattr(postgres_errors, name), errors.LedgerError) for name in named)


class ServerError(Exception):
    """An error as the driver gives it."""

    def __init__(self, sqlstate: str | None, message: str = "message") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class OperationalError(ServerError):
    """The driver's class for what went wrong outside the statement."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ServerError("55P03"), errors.LedgerLocked),
        (ServerError("42501"), postgres_errors.LedgerForbidden),
        (ServerError("3F000"), errors.LedgerEmpty),
        (ServerError("53100"), errors.LedgerUnwritable),
        (ServerError("25006"), errors.LedgerUnwritable),
        (ServerError("57P01"), postgres_errors.ConnectionLost),
        (ServerError("57P03"), postgres_errors.ConnectionLost),
        (ServerError("08006"), postgres_errors.ConnectionLost),
        (ServerError("25P03"), postgres_errors.ConnectionLost),
        (OperationalError(None), postgres_errors.ConnectionLost),
        (ServerError("57014"), errors.LedgerUnwritable),
        (ServerError("42P01"), errors.LedgerDamaged),
        (ServerError("XX001"), errors.LedgerDamaged),
        (ServerError(None), errors.LedgerDamaged),
    ],
)
def test_server_errors_are_translated(error, expected):
    """Each of the server's ways to fail becomes an error of ours, also where the library has wrapped it."""
    assert type(postgres_error(URL, error, 5)) is expected
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = error
    assert type(postgres_error(URL, wrapped, 5)) is expected


@pytest.mark.parametrize(
    ("message", "is_answering", "is_password_used", "expected"),
    [
        ('FATAL:  database "x" does not exist', True, False, postgres_errors.DatabaseMissing),
        ('FATAL:  password authentication failed for user "x"', True, True, postgres_errors.LoginRefused),
        ("FATAL:  Passwort-Authentifizierung fehlgeschlagen", True, True, postgres_errors.LoginRefused),
        ("fe_sendauth: no password supplied", True, False, postgres_errors.LoginRefused),
        ('FATAL:  role "x" does not exist', True, False, postgres_errors.LoginRefused),
        ("FATAL:  no pg_hba.conf entry for host", True, False, postgres_errors.LoginRefused),
        ("FATAL:  the database system is starting up", False, False, postgres_errors.DatabaseUnreachable),
        ("connection refused", False, False, postgres_errors.DatabaseUnreachable),
    ],
)
def test_failures_to_connect_are_told_apart(message, is_answering, is_password_used, expected):
    """No server, no database and no entry are three messages."""
    error = connect_error(URL, OperationalError(None, message), is_answering=is_answering, is_password_used=is_password_used)
    assert type(error) is expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:secret@host/db", "postgresql://ann@host/db"),
        ("postgres://ann:secret@host:5433/db?sslmode=require", "postgresql://ann@host:5433/db"),
        ("postgresql:///db?host=%2Ftmp&user=ann&password=secret", "postgresql:///db?host=/tmp&user=ann"),
        ("postgresql://ann:secret@[::1]:5432,b:1/db", "postgresql://…"),
        ("postgresql://ann:secret@a:1,b:2/db", "postgresql://ann@a:1,b:2/db"),
        ("postgresql://ann:se/cret@host/db", "postgresql://…"),
        ("postgresql://ann:se@cret@host/db", "postgresql://…"),
        ("postgresql://ann:1?secret@host/db", "postgresql://…"),
        ("postgresql://ann:1#secret@host/db", "postgresql://…"),
        ("postgresql://ann:1/secret@host/db", "postgresql://…"),
        ("postgresql://host/db?password=sec@ret", "postgresql://…"),
    ],
)
def test_an_address_never_shows_its_password(url, shown):
    """Text and representation show what is no secret, and nothing at all where that cannot be told for certain."""
    address = ledger_place(url)
    assert isinstance(address, DatabaseAddress)
    assert str(address) == shown
    assert repr(address) == f"DatabaseAddress({shown!r})"
    assert pickle.loads(pickle.dumps(address)) == address
    if not address.is_clear:
        with pytest.raises(postgres_errors.AddressInvalid) as refused:
            parameters(address)
        assert "cret" not in str(refused.value)


def test_an_address_that_libpq_refuses_is_not_repeated():
    """Bad percent signs and unknown parameters are refused without the address, in the cause too."""
    for url in ("postgresql://ann:se%zzcret@host/db", "postgresql://ann:secret@host/db?nonsense=1"):
        with pytest.raises(postgres_errors.AddressInvalid, match="libpq cannot read") as refused:
            connect(DatabaseAddress(url))
        assert "cret" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__


def test_texts_that_are_no_address_are_paths():
    """Only the scheme makes an address; a path stays a path."""
    assert ledger_place("ledger.db") == Path("ledger.db")
    assert ledger_place(Path("x")) == Path("x")


def test_nothing_lies_beside_a_database():
    """Keys and read model of a database have to be named."""
    with pytest.raises(postgres_errors.KeysUnnamed):
        default_keys_dir(DatabaseAddress(URL))
    with pytest.raises(postgres_errors.HistoryUnnamed):
        default_history_path(DatabaseAddress(URL))
    with pytest.raises(postgres_errors.KeysUnnamed):
        RoundLedger.create(URL)


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_a_missing_driver_names_the_extra(monkeypatch, package):
    """Where the driver is not installed the message says which extra brings it."""
    monkeypatch.setitem(sys.modules, package, None)
    for open_it in (RoundLedger.open_for_reading, RoundLedger.open_for_writing):
        with pytest.raises(postgres_errors.DriverMissing, match=r"slot-audit\[postgres\]"):
            open_it(URL)
