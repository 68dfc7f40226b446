"""The store on SQLite: append-only, whole at every moment, read without a trace, and honest about altered files."""

import os
import sqlite3
from contextlib import closing, suppress
from itertools import pairwise

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

import ledger.sqlite
from engines.canonical import INTEGER_MAX, CanonicalFormError, canonical_bytes, canonical_json
from engines.game import EventBytes
from ledger.codec import StreamEvent, is_game_topic, parse_event
from ledger.errors import (
    LedgerDamaged,
    LedgerEmpty,
    LedgerExists,
    LedgerLocked,
    LedgerMissing,
    LedgerNewer,
    LedgerReadOnly,
    LedgerUnwritable,
    NotALedger,
    TopicMismatch,
    TreeBroken,
    VersionConflict,
)
from ledger.lifecycle_events import AccountOpened, FundsMoved
from ledger.merkle import append_digest, leaf_bytes, leaf_hash, root_of_leaves, root_of_path
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import ledger_uri
from ledger.store import EventRow
from tests.ledger_files import altered, game, new_ledger, play_some, rows, whole_ledger_faults

REF = "ab" * 16
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


def opened_event():
    return AccountOpened(account_ref=REF, currency="EUR", opened_at_us=1)


def test_events_go_through_the_library_with_leaf_and_tree(tmp_path):
    """`save` of the eventsourcing application makes one append for each stretch of a stream, and `events.get` gives them back."""
    with new_ledger(tmp_path) as (ledger_, _):
        before = ledger_.store.tree_size()
        moved = FundsMoved(amount_minor=1, reason="deposit", balance_after_minor=1, moved_at_us=2)
        events = [StreamEvent(f"account/{REF}", 1, opened_event()), StreamEvent(f"account/{REF}", 2, moved)]
        recordings = ledger_.save(*events, StreamEvent("account/" + "cd" * 16, 1, opened_event()))
        assert ledger_.store.tree_size() == before + 2
        assert list(ledger_.events.get(f"account/{REF}")) == events
        assert [recording.notification.id for recording in recordings] == list(range(before + 1, before + 4))
        page = ledger_.store.select_notifications(before + 1, 10)
        assert [notification.topic for notification in page] == ["account_opened/1", "funds_moved/1", "account_opened/1"]
        assert list(ledger_.store.insert_events([])) == []
    assert [fault for fault in whole_ledger_faults(tmp_path / "ledger.db") if "account" not in fault] == []


@pytest.mark.parametrize("versions", [(2,), (1, 3), (1, 1), (0,), (1, 2, 4)])
def test_gaps_and_repeats_of_versions_are_refused(tmp_path, versions):
    """Versions that do not follow on each other are refused, and nothing of the call is written."""
    with new_ledger(tmp_path) as (ledger_, _):
        before = ledger_.store.tree()
        with pytest.raises(VersionConflict):
            ledger_.save(*[StreamEvent(f"account/{REF}", version, opened_event()) for version in versions])
        assert ledger_.store.tree() == before
        assert ledger_.store.stream_events(f"account/{REF}") == []
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


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


@pytest.mark.parametrize("table", ["stored_events", "leaves", "nodes"])
def test_the_record_cannot_be_updated_or_deleted(tmp_path, table):
    """Any UPDATE and DELETE on events, leaves and nodes is refused by the file itself, whoever asks."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        play_some(ledger_, account_ref, 2)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as connection:
        column = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchone()[0]
        for statement in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_durability_settings(tmp_path):
    """The writing connection runs WAL with synchronous=FULL, keeps its statements, and events are numbered by AUTOINCREMENT."""
    with new_ledger(tmp_path) as (ledger_, _), ledger_.store._writing as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert cursor.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
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


def test_a_reader_sees_committed_rounds_while_a_writer_is_active(tmp_path):
    """Reading goes on while a writer is in the middle of a transaction, and sees what was committed before."""
    with new_ledger(tmp_path) as (ledger_, account_ref), RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        for _ in range(3):
            (round_id,) = play_some(ledger_, account_ref, 1)
            with ledger_.store._writing as cursor:
                cursor.execute("INSERT INTO rounds VALUES ('x','','','','','open',1)")
                assert reader.store.tree() == ledger_.store.tree()
                assert reader.find_round(round_id) == round_id
                assert reader.store.round("x") is None
                cursor.execute("DELETE FROM rounds WHERE round_id = 'x'")


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


def test_opening_a_newer_or_headless_ledger(tmp_path):
    """The version of a newer program is named; tables without a first event are an empty ledger."""
    with new_ledger(tmp_path):
        pass
    path = tmp_path / "ledger.db"
    altered(path, "PRAGMA user_version = 7")
    with pytest.raises(LedgerNewer, match="want version 1 at most, got 7"):
        RoundLedger.open_for_reading(path)
    altered(path, "PRAGMA user_version = 1", "DELETE FROM stored_events")
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


def test_a_failure_inside_a_transaction_undoes_tree_and_tables(tmp_path):
    """Whatever fails after the leaf was reckoned, the next append builds on the tree that is on disk, another writer's leaf included."""
    with new_ledger(tmp_path) as (ledger_, account_ref), RoundLedger.open_for_writing(tmp_path / "ledger.db") as other:
        play_some(ledger_, account_ref, 3)
        before = ledger_.store.tree()

        def fail_after_append():
            with ledger_.store._writing as cursor:
                ledger_.store._append(cursor, "round/x", 1, [EventBytes("drop/1", b"{}")], 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail_after_append()
        assert ledger_.store.tree() == before
        other.move_funds(account_ref, 1)  # a tree of the size that the failed append would have made
        play_some(ledger_, account_ref, 3)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_two_writers_take_turns_on_one_tree(tmp_path):
    """Two ledgers open for writing at once keep one tree, each finding the other's leaves, and epochs of their own."""
    with new_ledger(tmp_path) as (first, account_ref), RoundLedger.open_for_writing(tmp_path / "ledger.db") as second:
        for _ in range(5):
            play_some(first, account_ref, 1)
            play_some(second, account_ref, 2)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []
    assert rows(tmp_path / "ledger.db", "SELECT next_nonce, is_closed FROM epochs ORDER BY epoch") == [(5, 1), (10, 1)]


operations = st.lists(st.sampled_from(["account", "fund", "withdraw", "play", "open", "finish", "reopen", "crash"]), max_size=14)


@settings(max_examples=25, deadline=None)
@given(operations)
def test_any_course_of_events_leaves_a_whole_ledger(tmp_path_factory, course):
    """After any operations, crashes of the writer included, streams, leaves, nodes and tables agree with each other."""
    folder = tmp_path_factory.mktemp("course")
    path = folder / "ledger.db"
    ledger_ = RoundLedger.create(path)
    refs = [ledger_.open_account("0", "EUR")]
    ledger_.move_funds(refs[0], 100_000)
    for number, operation in enumerate(course):
        ref = refs[number % len(refs)]
        in_play = ledger_.round_in_play(ref)
        if operation == "account":
            refs.append(ledger_.open_account(f"a{number}", "EUR"))
        elif operation == "fund":
            ledger_.move_funds(ref, 1000)
        elif operation == "withdraw" and ledger_.account(ref).balance_minor > 500:
            ledger_.move_funds(ref, -500, "withdrawal")
        elif operation in ("play", "open") and not in_play and ledger_.account(ref).balance_minor >= 200:
            (ledger_.play if operation == "play" else ledger_.open_round)(ref, game(), "base", 200)
        elif operation == "finish" and in_play:
            ledger_.finish_round(in_play[0], game())
        elif operation == "reopen":
            ledger_.close()
            ledger_ = RoundLedger.open_for_writing(path)
        elif operation == "crash":
            ledger_.factory.close()  # no epoch is closed
            ledger_ = RoundLedger.open_for_writing(path)
    ledger_.close()
    assert whole_ledger_faults(path) == []
    with RoundLedger.open_for_reading(path) as reader:
        tree = reader.store.tree()
        assert tree == root_of_leaves(leaf for _, leaf in reader.store.leaf_hashes())
        for stream in reader.store.streams(""):
            check_paths(reader.store.round_record(stream), tree)


def check_paths(record, tree):
    """Each append's leaf follows from its events and leads to the root."""
    assert record.tree == tree
    assert sum(leaf.version_last - leaf.version_first + 1 for leaf in record.appends) == len(record.events)
    for leaf, path in zip(record.appends, record.paths, strict=True):
        digest = append_digest([event.data for event in record.events[leaf.version_first - 1 : leaf.version_last]])
        hashed = leaf_hash(leaf_bytes(leaf.stream, leaf.version_first, leaf.version_last, leaf.recorded_at_us, digest))
        assert hashed == leaf.leaf_hash
        assert root_of_path(leaf.leaf_index, tree.size, hashed, path) == tree.root


def test_rounds_in_bulk_are_complete_and_in_order(tmp_path, monkeypatch):
    """Paging over all rounds, or over ranges of leaves, gives each once, in the order of opening, interleaved or not."""
    monkeypatch.setattr("ledger.sqlite_reading._PAGE_ROUNDS", 3)
    monkeypatch.setattr("ledger.sqlite_reading._PAGE_LEAVES", 4)
    with new_ledger(tmp_path) as (ledger_, account_ref):
        other = ledger_.open_account("bob", "EUR")
        ledger_.move_funds(other, 10_000)
        opened = ledger_.open_round(other, game(), "base", 200)
        expected = [opened.round_id, *play_some(ledger_, account_ref, 7)]
        ledger_.finish_round(opened.round_id, game())
        expected += play_some(ledger_, account_ref, 3)
        store = ledger_.store
        assert [record.round_id for record in store.round_records()] == expected
        size = store.tree_size()
        cuts = [0, 5, 6, 11, size]
        pieces = [record.round_id for first, end in pairwise(cuts) for record in store.round_records(first, end)]
        assert pieces == expected
        for record in store.round_records():
            assert list(record.events) == store.stream_events(record.stream)
            assert list(record.appends) == store.stream_appends(record.stream)
        only = [[event.topic for event in record.events] for record in store.round_records(topics=["round_settled/1"])]
        assert only == [["round_settled/1"]] * len(expected)
        assert [index for index, _ in store.leaf_hashes()] == list(range(size))
        assert store.streams_touched(0, size) == [f"round/{round_id}" for round_id in expected]
        assert store.streams("epoch/") == ["epoch/1"]


@pytest.mark.parametrize(
    ("statement", "event_count", "append_count"),
    [
        ("DELETE FROM stored_events WHERE originator_id = 'round/' || '{id}'", 0, 2),
        ("DELETE FROM leaves WHERE stream = 'round/' || '{id}'", 8, 0),
        ("DELETE FROM leaves WHERE stream = 'round/' || '{id}' AND version_first = 1", 8, 1),
        ("DELETE FROM stored_events WHERE originator_id = 'round/' || '{id}' AND originator_version = 1", 7, 2),
        ("DELETE FROM rounds WHERE round_id = '{id}'", 8, 2),
    ],
)
def test_a_round_does_not_vanish_with_some_of_its_rows(tmp_path, statement, event_count, append_count):
    """Whatever of a round's rows an insider removes, bulk reading and search still show it, with what is left."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        ids = play_some(ledger_, account_ref, 8)
    lengths = {
        round_id: len(rows(tmp_path / "ledger.db", "SELECT 1 FROM stored_events WHERE originator_id = ?", (f"round/{round_id}",)))
        for round_id in ids
    }
    round_id = next(round_id for round_id in ids if lengths[round_id] == 8 and round_id != ids[-1])
    altered(tmp_path / "ledger.db", statement.format(id=round_id))
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        found = {record.round_id: record for record in reader.store.round_records()}
        assert set(found) == set(ids)
        assert (len(found[round_id].events), len(found[round_id].appends)) == (event_count, append_count)
        assert reader.find_round(round_id) == round_id


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE stored_events SET state = 'text', topic = 5",
        "UPDATE stored_events SET state = 17 WHERE originator_version = 1",
        "UPDATE leaves SET leaf_hash = 'text'",
        "UPDATE leaves SET recorded_at_us = 'never', version_last = -4",
        "UPDATE leaves SET leaf_hash = NULL",
        "DELETE FROM nodes",
        "UPDATE nodes SET node_hash = 1",
        "DELETE FROM leaves WHERE leaf_index = 3",
    ],
)
def test_altered_rows_are_read_or_refused_and_never_a_crash(tmp_path, statement):
    """Wrong types and lost rows give values that differ, or an error of ours."""
    with new_ledger(tmp_path) as (ledger_, account_ref):
        ids = play_some(ledger_, account_ref, 5)
    altered(tmp_path / "ledger.db", "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    altered(tmp_path / "ledger.db", statement)
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert len(list(reader.store.round_records())) == 5
        with suppress(TreeBroken):
            record = reader.store.round_record(f"round/{ids[0]}")
            assert all(isinstance(event.data, bytes) and isinstance(event.topic, str) for event in record.events)
