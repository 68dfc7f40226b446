"""What every store keeps, whatever database it is on: a class of tests that each store's own module makes its own.

The module gives a fixture `new_place` of its own scope: a function that makes a place for a new ledger.
"""

import random
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.game import EventBytes
from engines.registry import installed_builds
from ledger.address import ledger_place
from ledger.builds import register_builds
from ledger.codec import StreamEvent, event_bytes
from ledger.errors import (
    LedgerEmpty,
    LedgerExists,
    LedgerNewer,
    LedgerReadOnly,
    TreeBroken,
    VersionConflict,
)
from ledger.fsck import check_ledger
from ledger.lifecycle_events import AccountOpened, FundsMoved
from ledger.merkle import (
    append_digest,
    consistency_path,
    is_consistent,
    leaf_bytes,
    leaf_hash,
    root_of_leaves,
    root_of_path,
)
from ledger.profile import shipped_profile
from ledger.profile_setting import find_profile, set_profile
from ledger.rounds import RoundLedger
from ledger.texts import salted_text
from replay.record_check import check_record
from tests.ledger_files import altered, game, new_ledger_at, play_some, rows, whole_ledger_faults

__all__ = ["StoreContract"]

REF = "ab" * 16
OPERATIONS = ["account", "fund", "withdraw", "play", "open", "finish", "reopen", "crash"]


def opened_event() -> AccountOpened:
    """Return an event to append."""
    return AccountOpened(account_ref=REF, currency="EUR", opened_at_us=1)


def check_paths(record: Any, tree: Any) -> None:
    """Each append's leaf follows from its events and leads to the root."""
    assert record.tree == tree
    assert sum(leaf.version_last - leaf.version_first + 1 for leaf in record.appends) == len(record.events)
    for leaf, path in zip(record.appends, record.paths, strict=True):
        digest = append_digest([event.data for event in record.events[leaf.version_first - 1 : leaf.version_last]])
        hashed = leaf_hash(leaf_bytes(leaf.stream, leaf.version_first, leaf.version_last, leaf.recorded_at_us, digest))
        assert hashed == leaf.leaf_hash
        assert root_of_path(leaf.leaf_index, tree.size, hashed, path) == tree.root


def node_places(place: Any) -> set[tuple[int, int]]:
    """Return level and index of the stored nodes."""
    return {(level, node_index) for level, node_index in rows(place.ledger, "SELECT level, node_index FROM nodes")}


def complete_places(size: int) -> set[tuple[int, int]]:
    """Return level and index of the inner nodes that the first `size` leaves finish."""
    return {(level, node_index) for level in range(1, 8) for node_index in range(size >> level)}


def check_tree(store: Any, size: int) -> None:
    """The root is that of the leaves, and every smaller tree is proved to be its beginning."""
    hashes = [leaf for _, leaf in store.leaf_hashes()]
    tree = store.tree()
    assert tree == (size, root_of_leaves(hashes)[1])
    for old in range(1, size, 3):
        assert is_consistent(old, root_of_leaves(hashes[:old])[1], size, tree.root, consistency_path(old, size, store.subtree))


class StoreContract:
    """The promises of `ledger/store.py`."""

    def test_events_go_through_the_library_with_leaf_and_tree(self, new_place):
        """`save` of the eventsourcing application makes one append for each stretch of a stream, and `events.get` gives them back."""
        place = new_place()
        with new_ledger_at(place) as (ledger, _):
            before = ledger.store.tree_size()
            moved = FundsMoved(amount_minor=1, reason="deposit", balance_after_minor=1, moved_at_us=2)
            events = [StreamEvent(f"account/{REF}", 1, opened_event()), StreamEvent(f"account/{REF}", 2, moved)]
            recordings = ledger.save(*events, StreamEvent("account/" + "cd" * 16, 1, opened_event()))
            assert ledger.store.tree_size() == before + 2
            assert list(ledger.events.get(f"account/{REF}")) == events
            assert [recording.notification.id for recording in recordings] == list(range(before + 1, before + 4))
            page = ledger.store.select_notifications(before + 1, 10)
            assert [notification.topic for notification in page] == ["account_opened/1", "funds_moved/1", "account_opened/1"]
            assert list(ledger.store.insert_events([])) == []
        assert [fault for fault in whole_ledger_faults(place.ledger) if "account" not in fault] == []

    @pytest.mark.parametrize("versions", [(2,), (1, 3), (1, 1), (0,), (1, 2, 4)])
    def test_gaps_and_repeats_of_versions_are_refused(self, new_place, versions):
        """Versions that do not follow on each other are refused, and nothing of the call is written."""
        place = new_place()
        with new_ledger_at(place) as (ledger, _):
            before = ledger.store.tree()
            with pytest.raises(VersionConflict):
                ledger.save(*[StreamEvent(f"account/{REF}", version, opened_event()) for version in versions])
            assert ledger.store.tree() == before
            assert ledger.store.stream_events(f"account/{REF}") == []
        assert whole_ledger_faults(place.ledger) == []

    @pytest.mark.parametrize("table", ["stored_events", "leaves", "nodes"])
    def test_the_record_cannot_be_updated_or_deleted(self, new_place, table):
        """Any UPDATE and DELETE on events, leaves and nodes is refused by the database itself, whoever asks."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            play_some(ledger, account_ref, 32)
        column = {"stored_events": "topic", "leaves": "stream", "nodes": "level"}[table]
        for statement in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):
            with pytest.raises(Exception, match="append-only"):
                rows(place.ledger, statement)
        assert whole_ledger_faults(place.ledger) == []

    def test_reading_needs_no_keys_and_records_nothing(self, new_place):
        """A reader opens a ledger without its keys and can record nothing."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            (round_id,) = play_some(ledger, account_ref, 1)
        for path in place.keys_dir.iterdir():
            path.unlink()
        before = rows(place.ledger, "SELECT count(*) FROM stored_events")
        with place.open_for_reading() as reader:
            assert len(reader.round_events(round_id)) > 3
            for write in (
                lambda: reader.open_account("bob", "EUR"),
                lambda: reader.play(account_ref, game(), "base", 200),
                lambda: reader.move_funds(account_ref, 1),
            ):
                with pytest.raises(LedgerReadOnly):
                    write()
        assert rows(place.ledger, "SELECT count(*) FROM stored_events") == before

    def test_a_reader_sees_committed_rounds_while_a_writer_is_active(self, new_place):
        """Reading goes on while a writer is in the middle of a transaction, and sees what was committed before."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref), place.open_for_reading() as reader:
            for _ in range(3):
                (round_id,) = play_some(ledger, account_ref, 1)
                with ledger.store._writing as cursor:
                    cursor.execute("INSERT INTO rounds VALUES ('x','','','','','open',1)")
                    assert reader.store.tree() == ledger.store.tree()
                    assert reader.find_round(round_id) == round_id
                    assert reader.store.round("x") is None
                    cursor.execute("DELETE FROM rounds WHERE round_id = 'x'")

    def test_a_new_ledger_touches_nothing_that_is_there(self, new_place, tmp_path):
        """`create` refuses an existing ledger and makes no keys then; a ledger's first event is `ledger_created`."""
        place = new_place()
        with new_ledger_at(place) as (ledger, _):
            created = ledger.created()
            assert ledger.store.stream_events("ledger")[0].topic == "ledger_created/1"
            assert created.record == "record/1"
        with pytest.raises(LedgerExists):
            RoundLedger.create(place.ledger, tmp_path / "keys")
        assert not (tmp_path / "keys").exists()
        with place.open_for_reading() as reader:
            assert reader.created() == created

    def test_a_headless_ledger_is_refused(self, new_place):
        """Tables without a first event are an empty ledger."""
        place = new_place()
        with new_ledger_at(place):
            pass
        altered(place.ledger, "DELETE FROM stored_events")
        for open_it in (place.open_for_reading, place.open_for_writing):
            with pytest.raises(LedgerEmpty):
                open_it()

    def test_a_newer_ledger_is_refused(self, new_place, newer_schema):
        """The version of a newer program is named."""
        place = new_place()
        with new_ledger_at(place):
            pass
        altered(place.ledger, newer_schema)
        with pytest.raises(LedgerNewer, match="want version 1 at most, got 7"):
            place.open_for_reading()

    def test_stray_environment_variables_change_nothing(self, new_place, monkeypatch, tmp_path):
        """The library's variables in the process's environment do not redirect, compress or encrypt the ledger."""
        for name in ("SQLITE_DBNAME", "ROUNDLEDGER_SQLITE_DBNAME", "POSTGRES_DBNAME", "ROUNDLEDGER_POSTGRES_DBNAME"):
            monkeypatch.setenv(name, str(tmp_path / "other.db"))
        monkeypatch.setenv("COMPRESSOR_TOPIC", "eventsourcing.compressor:ZlibCompressor")
        monkeypatch.setenv("PERSISTENCE_MODULE", "eventsourcing.popo")
        monkeypatch.setenv("IS_SNAPSHOTTING_ENABLED", "y")
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            play_some(ledger, account_ref, 1)
        assert not (tmp_path / "other.db").exists()
        assert whole_ledger_faults(place.ledger) == []

    def test_a_failure_inside_a_transaction_undoes_tree_and_tables(self, new_place):
        """Whatever fails after the leaf was reckoned, the next append builds on the tree that is on disk, another's leaf too."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref), place.open_for_writing() as other:
            play_some(ledger, account_ref, 3)
            before = ledger.store.tree()

            def fail_after_append():
                with ledger.store._writing as cursor:
                    ledger.store._append(cursor, "round/x", 1, [EventBytes("drop/1", b"{}")], 1)
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                fail_after_append()
            assert ledger.store.tree() == before
            other.move_funds(account_ref, 1)  # a tree of the size that the failed append would have made
            play_some(ledger, account_ref, 3)
        assert whole_ledger_faults(place.ledger) == []

    def test_a_transaction_that_was_walked_out_of_is_undone(self, new_place):
        """Where an interrupt takes a thread out between two lines, its next transaction undoes what was left and goes on."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            play_some(ledger, account_ref, 2)
            cursor = ledger.store._writing.__enter__()
            ledger.store._append(cursor, "round/x", 1, [EventBytes("drop/1", b"{}")], 1)
            play_some(ledger, account_ref, 2)
        assert whole_ledger_faults(place.ledger) == []

    def test_two_writers_take_turns_on_one_tree(self, new_place):
        """Two ledgers open for writing at once keep one tree, each finding the other's leaves, and epochs of their own."""
        place = new_place()
        with new_ledger_at(place) as (first, account_ref), place.open_for_writing() as second:
            for _ in range(23):  # two blocks, and more
                play_some(first, account_ref, 1)
                play_some(second, account_ref, 2)
        assert whole_ledger_faults(place.ledger) == []
        assert rows(place.ledger, "SELECT next_nonce, is_closed FROM epochs ORDER BY epoch") == [(23, 1), (46, 1)]

    def test_nodes_are_written_when_a_block_of_leaves_is_complete(self, new_place):
        """All complete subtrees of complete blocks are stored and no others; root and proofs of every size are those of the leaves."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            for size in range(3, 130):
                if size > 3:
                    ledger.move_funds(account_ref, 1)
                if size % 64 in (0, 1, 37, 63):
                    assert node_places(place) == complete_places(size // 64 * 64)
                    check_tree(ledger.store, size)
                    check_paths(ledger.store.round_record(f"account/{account_ref}"), ledger.store.tree())
        assert whole_ledger_faults(place.ledger) == []

    @pytest.mark.parametrize("size", [64, 69, 127])
    def test_a_ledger_with_nodes_behind_the_last_block_is_grown_on(self, new_place, monkeypatch, size):
        """Ledgers from before nodes came in blocks hold some behind the last complete one: right, and so is what grows from them."""
        place = new_place()
        monkeypatch.setattr("ledger.recording.BLOCK_LEAVES", 2)  # nodes with each append that finishes any, as it was
        with new_ledger_at(place) as (ledger, account_ref):
            for _ in range(size - 3):
                ledger.move_funds(account_ref, 1)
            monkeypatch.undo()
            assert node_places(place) == complete_places(size)
            before = ledger.store.tree()
            for grown in range(size, 131):
                if grown > size:
                    ledger.move_funds(account_ref, 1)
                if grown % 64 in (0, 5, 63) or grown == 130:
                    check_tree(ledger.store, grown)
                    assert list(check_ledger(ledger_place(place.ledger), held_roots=[before])) == []
                    assert whole_ledger_faults(place.ledger) == []
            assert node_places(place) == complete_places(128)

    def test_any_course_of_events_leaves_a_whole_ledger(self, new_place):
        """After any operations, crashes of the writer included, streams, leaves, nodes and tables agree with each other."""

        @settings(max_examples=15, deadline=None)
        @given(course=st.lists(st.sampled_from(OPERATIONS), max_size=14))
        def check(course):
            place = new_place()
            take_course(place, course)
            assert whole_ledger_faults(place.ledger) == []
            with place.open_for_reading() as reader:
                tree = reader.store.tree()
                assert tree == root_of_leaves(leaf for _, leaf in reader.store.leaf_hashes())
                for stream in reader.store.streams(""):
                    check_paths(reader.store.round_record(stream), tree)

        check()

    def test_rounds_in_bulk_are_complete_and_in_order(self, new_place, monkeypatch):
        """Paging over all rounds, or over ranges of leaves, gives each once, in the order of opening, interleaved or not."""
        monkeypatch.setattr("ledger.reading._PAGE_ROUNDS", 3)
        monkeypatch.setattr("ledger.reading._PAGE_LEAVES", 4)
        with new_ledger_at(new_place()) as (ledger, account_ref):
            other = ledger.open_account("bob", "EUR")
            ledger.move_funds(other, 10_000)
            opened = ledger.open_round(other, game(), "base", 200)
            expected = [opened.round_id, *play_some(ledger, account_ref, 7)]
            ledger.finish_round(opened.round_id, game())
            expected += play_some(ledger, account_ref, 3)
            store = ledger.store
            assert [record.round_id for record in store.round_records()] == expected
            size = store.tree_size()
            pieces = [record.round_id for first, end in pairwise([0, 5, 6, 11, size]) for record in store.round_records(first, end)]
            assert pieces == expected
            for record in store.round_records():
                assert list(record.events) == store.stream_events(record.stream)
                assert list(record.appends) == store.stream_appends(record.stream)
            only = [[event.topic for event in record.events] for record in store.round_records(topics=["round_settled/1"])]
            assert only == [["round_settled/1"]] * len(expected)
            assert [index for index, _ in store.leaf_hashes()] == list(range(size))
            assert store.streams_touched(0, size) == [f"round/{round_id}" for round_id in expected]
            assert store.streams("epoch/") == ["epoch/1"]
            assert [store.subtree(0, index) for index in range(size)] == [leaf for _, leaf in store.leaf_hashes()]

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
    def test_a_round_does_not_vanish_with_some_of_its_rows(self, new_place, statement, event_count, append_count):
        """Whatever of a round's rows an insider removes, bulk reading and search still show it, with what is left."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            ids = play_some(ledger, account_ref, 8)
            lengths = {round_id: len(ledger.round_events(round_id)) for round_id in ids}
        round_id = next(round_id for round_id in ids if lengths[round_id] == 8 and round_id != ids[-1])
        altered(place.ledger, statement.format(id=round_id))
        with place.open_for_reading() as reader:
            found = {record.round_id: record for record in reader.store.round_records()}
            assert set(found) == set(ids)
            assert (len(found[round_id].events), len(found[round_id].appends)) == (event_count, append_count)
            assert reader.find_round(round_id) == round_id

    @pytest.mark.parametrize("index", [-(2**63), -1, 2**62, 2**63 - 1])
    def test_an_index_that_no_leaf_has_hides_no_round(self, new_place, index):
        """A leaf given an index below 0 or beyond all that there will be leaves its round in bulk reading, its size and tree refused."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            ids = play_some(ledger, account_ref, 4)
        altered(place.ledger, f"UPDATE leaves SET leaf_index = {index} WHERE stream = 'round/{ids[1]}' AND version_first = 1")
        with place.open_for_reading() as reader:
            assert {record.round_id for record in reader.store.round_records()} == set(ids)
            found = check_record(next(reader.store.records_of([f"round/{ids[1]}"])))
            assert [(finding.code, finding.got) for finding in found] == [("leaf_index", str(index))]
            with suppress(TreeBroken):
                reader.store.tree()

    def test_altered_rows_are_read_or_refused_and_never_a_crash(self, new_place, alteration):
        """Wrong values and lost rows are read as values that differ, or give an error of ours."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            ids = play_some(ledger, account_ref, 34)
        alteration(place.ledger)
        with place.open_for_reading() as reader:
            assert len(list(reader.store.round_records())) == 34
            with suppress(TreeBroken):
                record = reader.store.round_record(f"round/{ids[0]}")
                assert all(isinstance(event.data, bytes) and isinstance(event.topic, str) for event in record.events)

    def test_prefixes_and_streams_are_in_the_order_of_bytes(self, new_place):
        """Ids are found by their beginnings and sorted by their bytes, whatever the language of the database."""
        with new_ledger_at(new_place()) as (ledger, _):
            names = [f"round/{name}" for name in ("Zeta.1-x", "alpha_1", "alpha-1", "alpha.1", "Alpha-1", "0190a1b2-x", "0190A1B2-x")]
            chance = random.Random(5)
            for name in chance.sample(names, len(names)):
                ledger.store.append_events(name, 1, [EventBytes("drop/1", b"{}")])
            assert ledger.store.streams("round/") == sorted(names)
            assert ledger.store.round_ids_of(prefix="alpha") == ["alpha-1", "alpha.1", "alpha_1"]
            assert ledger.store.round_ids_of(prefix="0190a") == ["0190a1b2-x"]
            assert ledger.store.round_ids_of(prefix="a", limit=2) == ["alpha-1", "alpha.1"]
            assert ledger.store.round_ids_of(prefix="b") == []

    def test_builds_are_registered_with_their_names(self, new_place):
        """A registration and the names that it holds by hash are one transaction, also where the table of texts is yet to be made."""
        place = new_place()
        with new_ledger_at(place) as (ledger, _):
            (event, *_) = register_builds(ledger, installed_builds(), "Zoë", "Bob")
            assert [ledger.store.text(each).content for each in (event.registered_by_hash, event.approved_by_hash)] == ["Zoë", "Bob"]
            before = rows(place.ledger, "SELECT count(*) FROM texts")
            with pytest.raises(VersionConflict):
                ledger.store.append_events("ledger", 9, [event_bytes(event)], texts=[salted_text("Eve")])
            assert rows(place.ledger, "SELECT count(*) FROM texts") == before
        altered(place.ledger, "DROP TABLE texts")
        with place.open_for_writing() as ledger:
            assert ledger.store.text(event.registered_by_hash) is None
            fresh = [build._replace(fingerprint="ee" * 32) for build in installed_builds()[:1]]
            (event,) = register_builds(ledger, fresh, "Zoë", "Bob")
            assert ledger.store.text(event.approved_by_hash).content == "Bob"
        assert whole_ledger_faults(place.ledger) == []

    def test_a_profile_is_set_and_named_by_rounds(self, new_place):
        """A profile set by two is in the record with its values, whoever reads it; a writer that knew the one before names it."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            assert ledger.play(ref, game(), "base", 200).opened.profile_id == "default"
            event = set_profile(other.store, shipped_profile("better-of"), "Zoë", "Bob")
            opened = ledger.play(ref, game(), "base", 200).opened
            assert (opened.profile_id, opened.profile_hash) == ("better-of", event.profile_hash)
            assert find_profile(other.store, opened.profile_hash).profile == shipped_profile("better-of")
        assert [fault for fault in check_ledger(ledger_place(place.ledger)) if fault] == []
        assert whole_ledger_faults(place.ledger) == []


def take_course(place: Any, course: list[str]) -> None:
    """Make a ledger and do the operations to it, as far as they can be done."""
    ledger = RoundLedger.create(place.ledger, place.keys_dir)
    refs = [ledger.open_account("0", "EUR")]
    ledger.move_funds(refs[0], 100_000)
    for number, operation in enumerate(course):
        ref = refs[number % len(refs)]
        in_play = ledger.round_in_play(ref)
        if operation == "account":
            refs.append(ledger.open_account(f"a{number}", "EUR"))
        elif operation == "fund":
            ledger.move_funds(ref, 1000)
        elif operation == "withdraw" and ledger.account(ref).balance_minor > 500:
            ledger.move_funds(ref, -500, "withdrawal")
        elif operation in ("play", "open") and not in_play and ledger.account(ref).balance_minor >= 200:
            (ledger.play if operation == "play" else ledger.open_round)(ref, game(), "base", 200)
        elif operation == "finish" and in_play:
            ledger.finish_round(in_play[0], game())
        elif operation == "reopen":
            ledger.close()
            ledger = place.open_for_writing()
        elif operation == "crash":
            ledger.factory.close()  # no epoch is closed
            ledger = place.open_for_writing()
    ledger.close()
