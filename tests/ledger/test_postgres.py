"""The store on PostgreSQL: the contract of every store, and what only a server can do to a ledger."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.game import EventBytes
from ledger.epochs import EpochOwner
from ledger.errors import KeysExist, LedgerEmpty, LedgerLocked, NotALedger
from ledger.postgres_errors import ConnectionLost, DatabaseMissing, DatabaseUnreachable, LoginRefused
from ledger.rounds import RoundLedger
from tests.conftest import ROOT
from tests.contracts.alterations_contract import AlterationsContract
from tests.contracts.choices_contract import ChoicesContract
from tests.contracts.disputes_contract import DisputesContract
from tests.contracts.interruptions_contract import InterruptionsContract
from tests.contracts.rounds_contract import RoundsContract
from tests.contracts.store_contract import StoreContract
from tests.ledger_files import Place, altered, game, new_ledger_at, play_some, rows, whole_ledger_faults
from tests.postgres_server import PostgresServer

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def new_place(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    """Give a function that makes a database for a new ledger."""

    def make() -> Place:
        return Place(postgres.url(postgres.new_database()), tmp_path_factory.mktemp("store") / "keys")

    return make


class TestPostgresChoices(ChoicesContract):
    """The contract of choices and states, on PostgreSQL."""


class TestPostgresInterruptions(InterruptionsContract):
    """The contract of interruptions and voids, on PostgreSQL."""


class TestPostgresRounds(RoundsContract):
    """The contract of rounds, on PostgreSQL."""


class TestPostgresAlterations(AlterationsContract):
    """The contract of corrections, incidents and erasures, on PostgreSQL."""


class TestPostgresDisputes(DisputesContract):
    """The contract of disputes, legal hold and retention, on PostgreSQL."""


class TestPostgresStore(StoreContract):
    """The contract of every store, on PostgreSQL."""

    @pytest.fixture
    def newer_schema(self) -> str:
        """Give the statement that makes a ledger one of a newer program."""
        return "UPDATE schema_version SET version = 7"

    @pytest.fixture(
        params=[
            "UPDATE stored_events SET state = 'text', topic = '5'",
            "UPDATE stored_events SET state = NULL, topic = NULL WHERE originator_version = 1",
            "UPDATE leaves SET leaf_hash = 'text'",
            "UPDATE leaves SET recorded_at_us = NULL, version_last = -4",
            "UPDATE leaves SET leaf_hash = NULL",
            "DELETE FROM nodes",
            "UPDATE nodes SET node_hash = NULL",
            "DELETE FROM leaves WHERE leaf_index = 3",
        ]
    )
    def alteration(self, request: pytest.FixtureRequest) -> Callable[[Path | str], None]:
        """Give a function that puts wrong values into a ledger, or takes rows away."""
        columns = {"stored_events": ("topic", "state"), "leaves": ("recorded_at_us", "leaf_hash"), "nodes": ("node_hash",)}
        nullable = [f"ALTER TABLE {table} ALTER {name} DROP NOT NULL" for table, names in columns.items() for name in names]
        return lambda ledger: altered(ledger, *nullable, request.param)


@pytest.fixture
def place(new_place: Callable[[], Place]) -> Place:
    """Give a place for a new ledger."""
    return new_place()


def test_truncate_and_upserts_are_refused_too(place):
    """TRUNCATE, ON CONFLICT DO UPDATE and MERGE are changes, also for a session that asks for no triggers."""
    with new_ledger_at(place):
        pass
    for statement in (
        "TRUNCATE stored_events",
        "TRUNCATE leaves, nodes",
        "TRUNCATE nodes",
        "INSERT INTO nodes VALUES (1, 0, '') ON CONFLICT (level, node_index) DO UPDATE SET node_hash = ''",
        "MERGE INTO leaves USING (SELECT 0) AS one ON true WHEN MATCHED THEN DELETE",
        "SET session_replication_role = replica; DELETE FROM stored_events",
    ):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="append-only"):
            rows(place.ledger, statement)
    assert whole_ledger_faults(place.ledger) == []


def test_the_writer_waits_for_the_disk_and_holds_the_library_s_lock(place, monkeypatch):
    """Whatever the environment asks for, commits are durable, isolation is that of the lock, and the database functions stay off."""
    monkeypatch.setenv("PGOPTIONS", "-c synchronous_commit=off -c default_transaction_isolation=serializable -c search_path=public")
    with new_ledger_at(place) as (ledger, account_ref):
        play_some(ledger, account_ref, 1)
        assert not ledger.store.datastore.enable_db_functions
        with ledger.store._writing as cursor:
            shown = [
                cursor.execute(f"SHOW {name}").fetchone()[0] for name in ("synchronous_commit", "transaction_isolation", "search_path")
            ]
            locks = "SELECT mode FROM pg_locks WHERE relation = 'stored_events'::regclass AND pid = pg_backend_pid()"
            modes = {row[0] for row in cursor.execute(locks).fetchall()}
        assert shown == ["on", "read committed", "slot_ledger"]
        assert "ExclusiveLock" in modes
        with ledger.store._reading() as cursor:
            assert cursor.execute("SHOW transaction_isolation").fetchone()[0] == "repeatable read"
            assert cursor.execute("SHOW transaction_read_only").fetchone()[0] == "on"


def test_a_lock_held_too_long_is_said(place):
    """Where another session holds the lock, the writer gives up with a message, and goes on when it is free."""
    with new_ledger_at(place, balance_minor=0) as (ledger, account_ref):
        writing = ledger.store._writing
        assert b"lock_timeout = '5s'" in writing._begin
        writing._begin = writing._begin.replace(b"'5s'", b"'50ms'")
        with psycopg.connect(place.ledger) as other:
            other.execute("LOCK TABLE slot_ledger.stored_events IN EXCLUSIVE MODE")
            with pytest.raises(LedgerLocked):
                ledger.move_funds(account_ref, 1)
        ledger.move_funds(account_ref, 1)
    assert whole_ledger_faults(place.ledger) == []


def test_a_lost_connection_is_said_and_mended(place, postgres):
    """A connection that went between two transactions is replaced without a word; one that went within one is said."""
    with new_ledger_at(place) as (ledger, account_ref):
        end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slot-audit'"
        postgres.execute("postgres", end_all)
        play_some(ledger, account_ref, 2)
        assert ledger.account("alice").round_in_play == ""
        opened = ledger.open_round(account_ref, game(), "base", 200)
        before = ledger.store.tree()

        def events_of(balance, now):
            postgres.execute("postgres", end_all)
            return [EventBytes("drop/1", b"{}")]

        with pytest.raises(ConnectionLost):
            ledger.store.settle_round(opened.round_id, 0, events_of)
        assert ledger.store.tree() == before
        ledger.finish_round(opened.round_id, game())
    assert whole_ledger_faults(place.ledger) == []


def test_opening_what_is_no_ledger(postgres, place):
    """No database, a wrong password, an unknown user, no server and a database of something else each have their error."""
    database = str(place.ledger).rpartition("/")[2]
    for url, error in (
        (postgres.url("nothing"), DatabaseMissing),
        (postgres.url(database, password="wrong-secret"), LoginRefused),
        (postgres.url(database, user="nobody", password="wrong-secret"), LoginRefused),
        (f"postgresql://ann:wrong-secret@127.0.0.1:1/{database}", DatabaseUnreachable),
        (place.ledger, LedgerEmpty),
    ):
        for open_it in (RoundLedger.open_for_reading, RoundLedger.open_for_writing):
            with pytest.raises(error) as refused:
                open_it(url)
            assert "secret" not in str(refused.value)
            assert postgres.url(database).split(":")[2].split("@")[0] not in str(refused.value)
    postgres.execute(database, "CREATE TABLE t (x int)")
    with pytest.raises(NotALedger, match="1 tables and none of them in schema slot_ledger"):
        place.open_for_reading()
    with new_ledger_at(place):
        pass
    altered(place.ledger, "DROP TABLE nodes")
    with pytest.raises(NotALedger, match="a database without nodes"):
        place.open_for_reading()


def test_a_database_of_another_encoding_is_refused(postgres, tmp_path):
    """Texts are kept in UTF8 or not at all, and no keys are made for a ledger that is not."""
    postgres.execute("postgres", "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(NotALedger, match="a database in LATIN1"):
        RoundLedger.create(postgres.url("latin"), tmp_path / "keys")
    assert not (tmp_path / "keys").exists()


def test_keys_that_are_there_leave_no_ledger(place):
    """Where the keys cannot be made, nothing is in the database either."""
    with new_ledger_at(Place(place.ledger, place.keys_dir)):
        pass
    altered(place.ledger, "DROP SCHEMA slot_ledger CASCADE")
    with pytest.raises(KeysExist):
        RoundLedger.create(place.ledger, place.keys_dir)
    with pytest.raises(LedgerEmpty):
        place.open_for_reading()


def test_no_text_of_a_ledger_shows_the_password(place, postgres):
    """Representations, settings and the pool's own text hold no password."""
    password = str(place.ledger).split(":")[2].split("@")[0]
    with new_ledger_at(place) as (ledger, _):
        texts = [ledger.path, ledger.store, ledger.env, ledger.factory, ledger.store.datastore, ledger.store.datastore.pool]
        for each in [*texts, ledger.store.ledger_datastore.writer, ledger.store.path]:
            assert password not in f"{each} {each!r}"


def test_a_password_may_come_from_the_environment(place, monkeypatch):
    """An address without a password takes it from PGPASSWORD, as every client of PostgreSQL does."""
    head, _, tail = str(place.ledger).partition("@")
    user, password = head.removeprefix("postgresql://").split(":")
    monkeypatch.setenv("PGPASSWORD", password)
    with new_ledger_at(Place(f"postgresql://{user}@{tail}", place.keys_dir)) as (ledger, account_ref):
        play_some(ledger, account_ref, 1)
    assert whole_ledger_faults(place.ledger) == []


def test_the_ledger_loads_no_driver_for_a_file():
    """Importing the ledger, or opening a file, does not load psycopg."""
    program = "import sys, ledger.rounds, audit_reports.health, audit_reports.options; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("owner", ["writer", "account"])
def test_a_restored_database_never_deals_a_seed_and_nonce_twice(
    postgres: PostgresServer, new_place: Callable[[], Place], owner: EpochOwner
) -> None:
    """A database put back from an earlier moment starts epochs of its own: every pair of commitment and nonce is dealt once."""
    place = new_place()
    with new_ledger_at(place) as (ledger, ref):
        pass
    ledger = RoundLedger.open_for_writing(place.ledger, place.keys_dir, epoch_of=owner)
    dealt = [ledger.play(ref, game(), "base", 200).opened for _ in range(2)]
    ledger.factory.close()  # as a process that died, for the copy is taken of a database that nobody is connected to
    ledger._is_closed = True
    database = str(place.ledger).rpartition("/")[2].partition("?")[0]
    postgres.execute("postgres", f"CREATE DATABASE {database}_restored TEMPLATE {database}")
    for restored in (place, Place(postgres.url(f"{database}_restored"), place.keys_dir)):
        with RoundLedger.open_for_writing(restored.ledger, restored.keys_dir, epoch_of=owner) as ledger:
            dealt += [ledger.play(ref, game(), "base", 200).opened for _ in range(2)]
    assert len({(event.seed_commitment, event.nonce) for event in dealt}) == 6
