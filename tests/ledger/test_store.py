"""The store on SQLite: append-only, whole at every moment, read without a trace, and honest about altered files."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

import ledger.sqlite
from engines.canonical import INTEGER_MAX, CanonicalFormError, canonical_bytes, canonical_json
from ledger.codec import is_game_topic, parse_event
from ledger.errors import (
    LedgerDamaged,
    LedgerEmpty,
    LedgerExists,
    LedgerLocked,
    LedgerMissing,
    LedgerReadOnly,
    LedgerUnwritable,
    NotALedger,
    TopicMismatch,
)
from ledger.lifecycle_events import FundsMoved
from ledger.rounds import RoundLedger
from ledger.sqlite import LOG_PAGES
from ledger.sqlite_schema import ledger_uri
from ledger.store import EventRow
from tests.contracts.choices_contract import ChoicesContract
from tests.contracts.interruptions_contract import InterruptionsContract
from tests.contracts.rounds_contract import RoundsContract
from tests.contracts.store_contract import StoreContract, opened_event
from tests.ledger_files import Place, altered, game, new_ledger, play_some, whole_ledger_faults

json_values = st.recursive(
    st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_canonical_bytes_are_rfc_8785(value):
    """For integers, texts, booleans, arrays and objects with ASCII keys our bytes are those of the rfc8785 package."""
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.integers(-INTEGER_MAX, INTEGER_MAX), st.integers(0, INTEGER_MAX), st.integers(0, INTEGER_MAX))
def test_lifecycle_events_are_rfc_8785_and_come_back(amount, balance, moved_at):
    """An event's stored bytes are the oracle's, and parse to the same event."""
    event = FundsMoved(amount_minor=amount, reason="deposit", balance_after_minor=balance, moved_at_us=moved_at)
    stored = canonical_bytes(event)
    assert stored == rfc8785.dumps(event.model_dump())
    assert parse_event(EventRow("account/x", 2, "funds_moved/1", stored)) == event


def test_the_mapper_validates(tmp_path):
    """An unknown topic, a topic of another version and bytes that are not canonical are refused on reading."""
    good = canonical_bytes(opened_event())
    for topic, stored, error in [
        ("won/1", good, TopicMismatch),
        ("account_opened/2", good, TopicMismatch),
        ("funds_moved/1", good, CanonicalFormError),
        ("account_opened/1", good.replace(b",", b", "), CanonicalFormError),
        ("account_opened/1", b"", CanonicalFormError),
    ]:
        with pytest.raises(error):
            parse_event(EventRow("account/x", 1, topic, stored))
    assert is_game_topic("drop/1")
    assert not is_game_topic("round_opened/1")
    with new_ledger(tmp_path) as (ledger_, _), pytest.raises(TypeError):
        ledger_.mapper.to_stored_event(EventRow("s", 1, "t", b""))  # type: ignore[arg-type]


def test_durability_settings(tmp_path):
    """The writing connection runs WAL with synchronous=FULL, keeps its statements, and events are numbered by AUTOINCREMENT."""
    with new_ledger(tmp_path) as (ledger_, _), ledger_.store._writing as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert cursor.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert cursor.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == LOG_PAGES
        assert cursor.execute("SELECT 1 FROM sqlite_sequence WHERE name = 'stored_events'").fetchone()
        assert cursor.execute("PRAGMA user_version").fetchone()[0] == 1
        with pytest.raises(sqlite3.OperationalError, match="within a transaction"):
            cursor.execute("BEGIN")  # it is one already, and an immediate one:
        with closing(sqlite3.connect(tmp_path / "ledger.db", timeout=0)) as other, pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")


def test_reading_creates_nothing_and_needs_no_keys(tmp_path):
    """A reader opens a ledger without its keys, leaves no file but SQLite's own, and can record nothing."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        (round_id,) = play_some(ledger_, account_ref, 1)
    for path in (tmp_path / "ledger.db.keys").iterdir():
        path.unlink()
    content = (tmp_path / "ledger.db").read_bytes()
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert len(reader.round_events(round_id)) > 3
        for write in (
            lambda: reader.open_account("bob", "EUR"),
            lambda: reader.play(account_ref, game(), "base", 200),
            lambda: reader.finish_round(round_id, game()) if reader.store.round(round_id) is None else reader.move_funds(account_ref, 1),
        ):
            with pytest.raises(LedgerReadOnly):
                write()
    names = {path.name for path in tmp_path.iterdir()}
    assert names <= {"ledger.db", "ledger.db.keys", "ledger.db-wal", "ledger.db-shm"}
    assert (tmp_path / "ledger.db").read_bytes() == content


def test_opening_what_is_no_ledger(tmp_path):
    """A missing file, a folder, an empty file, a text, a truncated file, another database and a newer ledger each have their error."""
    path = tmp_path / "x.db"
    for open_it in (RoundLedger.open_for_reading, RoundLedger.open_for_writing):
        with pytest.raises(LedgerMissing):
            open_it(path)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(NotALedger, match="a folder"):
            open_it(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(LedgerEmpty):
        RoundLedger.open_for_reading(path)
    path.write_text("a text that is long enough to look at")
    with pytest.raises(NotALedger, match="no SQLite file"):
        RoundLedger.open_for_reading(path)
    path.write_bytes(b"SQLite format 3\0" + os.urandom(200))
    with pytest.raises((NotALedger, LedgerDamaged)):
        RoundLedger.open_for_reading(path)
    path.unlink()
    altered(path, "CREATE TABLE t (x)")
    with pytest.raises(NotALedger, match="a database without account_names, accounts, epochs"):
        RoundLedger.open_for_reading(path)
    altered(path, "DROP TABLE t")
    with pytest.raises(LedgerEmpty):
        RoundLedger.open_for_reading(path)


def test_a_new_ledger_touches_nothing_that_is_there(tmp_path):
    """`create` refuses an existing file and leaves no half-made one; its first event is `ledger_created`."""
    with new_ledger(tmp_path) as (ledger_, _):
        created = ledger_.created()
        assert ledger_.store.stream_events("ledger")[0].topic == "ledger_created/1"
        assert created.record == "record/1"
    content = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(LedgerExists):
        RoundLedger.create(tmp_path / "ledger.db")
    assert (tmp_path / "ledger.db").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "ledger.db.keys"]


def test_a_medium_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    """Where SQLite could make no index of its log, a closed ledger is read as it is, and one with a log left behind is not misread."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        (round_id,) = play_some(ledger_, account_ref, 1)
        monkeypatch.setattr("ledger.sqlite_schema._is_unwritable_medium", lambda folder: True)
        assert ledger_uri(tmp_path / "ledger.db", writable=False).endswith("?mode=ro")
    assert ledger_uri(tmp_path / "ledger.db", writable=False).endswith("?immutable=1")
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert reader.find_round(round_id) == round_id
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "ledger.db.keys"]


def test_paths_may_hold_what_a_uri_may_not(tmp_path):
    """A question mark, a hash, a percent sign or a space in a path is part of the name."""
    folder = tmp_path / "a ?mode=memory#b%20c"
    folder.mkdir()
    with new_ledger(folder) as (ledger_, account_ref):
        play_some(ledger_, account_ref, 1)
    with RoundLedger.open_for_reading(folder / "ledger.db") as reader:
        assert reader.store.tree_size() == 7


def test_stray_environment_variables_change_nothing(tmp_path, monkeypatch):
    """The library's variables in the process's environment do not redirect, compress or encrypt the ledger."""
    monkeypatch.setenv("SQLITE_DBNAME", str(tmp_path / "other.db"))
    monkeypatch.setenv("ROUNDLEDGER_SQLITE_DBNAME", str(tmp_path / "other.db"))
    monkeypatch.setenv("COMPRESSOR_TOPIC", "eventsourcing.compressor:ZlibCompressor")
    monkeypatch.setenv("PERSISTENCE_MODULE", "eventsourcing.popo")
    monkeypatch.setenv("IS_SNAPSHOTTING_ENABLED", "y")
    with new_ledger(tmp_path) as (ledger_, account_ref):
        play_some(ledger_, account_ref, 1)
        assert set(ledger_.env) == {"SQLITE_DBNAME", "ORIGINATOR_ID_TYPE", "CREATE_TABLE", "LEDGER_PATH", "LEDGER_ACCESS"}
    assert not (tmp_path / "other.db").exists()
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_a_lock_held_too_long_is_said(tmp_path, monkeypatch):
    """Where another process holds the lock, the writer gives up with a message, and goes on when it is free."""
    monkeypatch.setattr(ledger.sqlite, "BUSY_SECONDS", 0)
    with new_ledger(tmp_path) as (ledger_, account_ref):
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerLocked):
                ledger_.move_funds(account_ref, 1)
            other.execute("ROLLBACK")
        ledger_.move_funds(account_ref, 1)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_a_writer_goes_on_asking_for_the_lock(tmp_path, monkeypatch):
    """However long it has waited, a writer asks every few milliseconds: who comes later is not served before it again and again."""
    waits: list[float] = []
    with new_ledger(tmp_path) as (ledger_, account_ref), closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 500:
                other.execute("ROLLBACK")

        with ledger_.store._writing as cursor:
            assert cursor.execute("PRAGMA busy_timeout").fetchone() == (0,)  # SQLite's own way of waiting is off
        monkeypatch.setattr(ledger.sqlite, "time", SimpleNamespace(monotonic=lambda: sum(waits), sleep=sleep))
        other.execute("BEGIN IMMEDIATE")
        assert ledger_.move_funds(account_ref, 1) == 10**9 + 1
        assert len(waits) == 500
        assert max(waits) <= 0.005
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_a_full_disk_leaves_no_part_of_a_round(tmp_path):
    """Where the file can grow no more, rounds fail with a message and nothing partial; later the writer goes on."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        play_some(ledger_, account_ref, 2)
        with ledger_.store._writing as cursor:
            pages = cursor.execute("PRAGMA page_count").fetchone()[0]
            cursor.connection.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(LedgerUnwritable, match="full"):
            play_some(ledger_, account_ref, 50)
        assert whole_ledger_faults(tmp_path / "ledger.db") == []
        with ledger_.store._writing as cursor:
            cursor.connection.execute("PRAGMA max_page_count=1000000")
        if in_play := ledger_.round_in_play(account_ref):
            ledger_.finish_round(in_play[0], game())
        play_some(ledger_, account_ref, 5)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


@pytest.fixture(scope="module")
def new_place(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    """Give a function that makes a folder for a new ledger file."""

    def make() -> Place:
        folder = tmp_path_factory.mktemp("store")
        return Place(folder / "ledger.db", folder / "ledger.db.keys")

    return make


class TestSQLiteChoices(ChoicesContract):
    """The contract of choices and states, on SQLite."""


class TestSQLiteInterruptions(InterruptionsContract):
    """The contract of interruptions and voids, on SQLite."""


class TestSQLiteRounds(RoundsContract):
    """The contract of rounds, on SQLite."""


class TestSQLiteStore(StoreContract):
    """The contract of every store, on SQLite."""

    @pytest.fixture
    def newer_schema(self) -> str:
        """Give the statement that makes a ledger one of a newer program."""
        return "PRAGMA user_version = 7"

    @pytest.fixture(
        params=[
            "UPDATE stored_events SET state = 'text', topic = 5",
            "UPDATE stored_events SET state = 17 WHERE originator_version = 1",
            "UPDATE leaves SET leaf_hash = 'text'",
            "UPDATE leaves SET recorded_at_us = 'never', version_last = -4",
            "UPDATE leaves SET leaf_hash = NULL",
            "DELETE FROM nodes",
            "UPDATE nodes SET node_hash = 1",
            "DELETE FROM leaves WHERE leaf_index = 3",
        ]
    )
    def alteration(self, request: pytest.FixtureRequest) -> Callable[[Path], None]:
        """Give a function that puts wrong types into a ledger, or takes rows away."""

        def alter(path: Path) -> None:
            altered(path, "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
            altered(path, request.param)

        return alter
