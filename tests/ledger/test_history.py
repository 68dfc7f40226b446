"""The read model follows the record: built from nothing or step by step it is the same, and where it lies it is found out."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import LedgerUnwritable
from ledger.history import Difference, RoundFilter, Total, build, compare, default_history_path, round_rows, totals
from ledger.history_errors import HistoryMismatch, HistoryMissing
from ledger.rounds import RoundLedger
from tests.ledger_files import altered, game, new_ledger, play_some, rows


def model_rows(path):
    return rows(path, "SELECT * FROM rounds ORDER BY round_id")


def test_rows_say_what_the_events_say(tmp_path):
    """A settled and an open round, field by field against their events."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        played = ledger.play(account_ref, game(), "ante", 400, external_ref="tx-1")
        opened = ledger.open_round(account_ref, game(), "base", 200)
        first, second = round_rows(ledger)
        for name in first._fields:
            for event in (played.opened, played.settled):
                if hasattr(event, name):
                    assert getattr(first, name) == getattr(event, name)
        assert (first.round_id, first.status, first.win_minor) == (played.round_id, "settled", played.settled.total_win_minor)
        assert (second.round_id, second.status, second.win_minor, second.settled_at_us) == (opened.round_id, "open", 0, 0)
        assert second.balance_after_minor == second.balance_before_minor - 200 == ledger.account("alice").balance_minor
        assert totals([first, second]) == {"EUR": Total(2, 700, first.win_minor)}


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["play", "open", "build", "reopen"]), max_size=14))
def test_step_by_step_equals_from_nothing(tmp_path_factory, course):
    """However building and playing alternate, the model is the one built in one go, and differs nowhere."""
    folder = tmp_path_factory.mktemp("history")
    ledger = RoundLedger.create(folder / "ledger.db")
    account_ref = ledger.open_account("alice", "EUR")
    ledger.move_funds(account_ref, 10**6)
    steps, whole = folder / "steps.db", folder / "whole.db"
    for operation in course:
        in_play = ledger.round_in_play(account_ref)
        if operation == "play":
            if in_play:
                ledger.finish_round(in_play[0], game())
            else:
                play_some(ledger, account_ref, 1)
        elif operation == "open" and not in_play:
            ledger.open_round(account_ref, game(), "base", 200)
        elif operation == "build":
            build(ledger, steps)
            assert compare(ledger, steps) == []
        elif operation == "reopen":
            ledger.close()
            ledger = RoundLedger.open_for_writing(folder / "ledger.db")
    if steps.exists():
        assert compare(ledger, steps) == []  # what came after the last build is no difference
    build(ledger, steps)
    build(ledger, whole)
    assert build(ledger, whole) == 0
    assert model_rows(steps) == model_rows(whole) == sorted(tuple(row) for row in round_rows(ledger))
    assert compare(ledger, steps) == compare(ledger, whole) == []
    ledger.close()


def test_building_reads_only(tmp_path):
    """The read model is built from a ledger opened for reading, in a file of its own beside it."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
    content = (tmp_path / "ledger.db").read_bytes()
    path = default_history_path(tmp_path / "ledger.db")
    assert path.name == "ledger.db.history.db"
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert build(reader, path) == 3
    assert (tmp_path / "ledger.db").read_bytes() == content


def test_building_goes_by_steps(tmp_path, monkeypatch):
    """A long record is worked through by stretches of leaves, with the same result."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 9)
        monkeypatch.setattr("ledger.history._LEAVES_A_STEP", 5)
        monkeypatch.setattr("ledger.history._ROWS_A_STEP", 2)
        build(ledger, tmp_path / "h.db")
        assert model_rows(tmp_path / "h.db") == sorted(tuple(row) for row in round_rows(ledger))
        assert compare(ledger, tmp_path / "h.db") == []


def test_every_difference_is_listed(tmp_path):
    """A changed field, a lost row and an invented row in the read model are each listed with both values."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        ids = play_some(ledger, account_ref, 4)
        build(ledger, path)
        altered(
            path,
            f"UPDATE rounds SET win_minor = 7, status = 'void' WHERE round_id = '{ids[0]}'",
            f"DELETE FROM rounds WHERE round_id = '{ids[1]}'",
            f"INSERT INTO rounds (round_id) SELECT 'x-1' FROM rounds WHERE round_id = '{ids[2]}'",
        )
        win = next(round_rows(ledger)).win_minor
        assert compare(ledger, path) == [
            Difference(ids[0], "win_minor", str(win), "7"),
            Difference(ids[0], "status", "settled", "void"),
            Difference(ids[1], "row", "one", "none"),
            Difference("x-1", "row", "none", "one"),
        ]


def test_a_changed_event_is_a_difference(tmp_path):
    """Where the record itself was altered after the build, the recomputed rows say so."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        (round_id,) = play_some(ledger, account_ref, 1)
        build(ledger, path)
    changed = "replace(CAST(state AS TEXT), '\"balance_after_minor\":9', '\"balance_after_minor\":8')"
    altered(tmp_path / "ledger.db", f"UPDATE stored_events SET state = CAST({changed} AS BLOB) WHERE topic = 'round_settled/1'")
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert [(difference.round_id, difference.field) for difference in compare(reader, path)] == [(round_id, "balance_after_minor")]


@pytest.mark.parametrize("state", ["not json", "{}", "[]", "17", '{"kind":"round_opened"}', ""])
def test_unreadable_rounds_are_listed_and_no_crash(tmp_path, state):
    """A round whose opening is no opening stays in the list, under the account that the table names."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        ids = play_some(ledger, account_ref, 2)
    altered(
        tmp_path / "ledger.db",
        f"UPDATE stored_events SET state = CAST('{state}' AS BLOB) WHERE topic = 'round_opened/1' AND originator_id = 'round/{ids[0]}'",
    )
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        listed = list(round_rows(reader, RoundFilter(account_ref=account_ref)))
        assert [(entry.round_id, entry.status) for entry in listed] == [(ids[0], "unreadable"), (ids[1], "settled")]
        build(reader, tmp_path / "h.db")
        assert compare(reader, tmp_path / "h.db") == []


def test_filters(tmp_path):
    """Each filter alone and together takes exactly the rounds it names; the end of a time span is exclusive."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        other = ledger.open_account("bob", "EUR")
        ledger.move_funds(other, 10_000)
        for number in range(6):
            ledger.play(other if number % 2 else account_ref, game(), "base", 200, external_ref=f"tx-{number}")
        ledger.open_round(other, game(), "base", 200)
        every = list(round_rows(ledger))
        middle = every[3].opened_at_us

        def listed(**wanted):
            return list(round_rows(ledger, RoundFilter(**wanted)))

        assert listed() == every
        assert len(every) == 7
        assert listed(account_ref=other) == [entry for entry in every if entry.account_ref == other]
        assert listed(since_us=middle) == every[3:]
        assert listed(until_us=middle) == every[:3]
        assert listed(since_us=middle, until_us=middle + 1) == [every[3]]
        assert listed(game="moon-spell") == []
        assert listed(game="moonlight-princess") == every
        assert listed(external_ref="tx-4") == [every[4]]
        assert listed(win_min_minor=1) == [entry for entry in every if entry.win_minor >= 1]
        assert listed(status="open") == every[6:]
        assert listed(status="settled", account_ref=other, since_us=middle) == [every[3], every[5]]


def test_a_read_model_belongs_to_one_ledger(tmp_path):
    """Another ledger's model, another database and a missing file are refused, and not written to."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with new_ledger(tmp_path / "a") as (first, account_ref), new_ledger(tmp_path / "b") as (second, _):
        play_some(first, account_ref, 1)
        build(first, tmp_path / "h.db")
        content = (tmp_path / "h.db").read_bytes()
        for call in (build, compare):
            with pytest.raises(HistoryMismatch, match=f"want that of ledger {second.created().ledger_id}, got that of"):
                call(second, tmp_path / "h.db")
        assert (tmp_path / "h.db").read_bytes() == content
        with pytest.raises(HistoryMissing):
            compare(first, tmp_path / "none.db")
        assert not (tmp_path / "none.db").exists()
        (tmp_path / "text.db").write_text("a text that is no database, at some length" * 9)
        for call in (build, compare):
            with pytest.raises(HistoryMismatch, match="no read model"):
                call(first, tmp_path / "text.db")
        with pytest.raises(LedgerUnwritable):
            build(first, tmp_path / "no" / "folder.db")


def test_a_build_that_was_cut_off_is_taken_up(tmp_path):
    """Rows whose mark was set back are a difference each, and are written again by the next build."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
        build(ledger, path)
        expected = model_rows(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE position SET leaf_count = 2")
        assert compare(ledger, path) == [Difference(row[0], "row", "none up to leaf 2", "one") for row in expected]
        assert build(ledger, path) == 3
        assert model_rows(path) == expected
        assert json.loads(json.dumps(rows(path, "SELECT leaf_count FROM position"))) == [[ledger.store.tree_size()]]


def test_a_mark_that_was_moved_is_said(tmp_path):
    """A read model is the record as of its mark: a mark set back within a round, or set beyond the last leaf, is a difference."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        ids = play_some(ledger, account_ref, 3)
        build(ledger, path)
        size = ledger.store.tree_size()
        play_some(ledger, account_ref, 2)
        assert compare(ledger, path) == []
        settled_at = next(round_rows(ledger)).settled_at_us
        for leaf_count in (0, size - 2, size - 1):
            altered(path, f"UPDATE position SET leaf_count = {leaf_count}")
            assert {difference.round_id for difference in compare(ledger, path)} == set(ids if leaf_count == 0 else ids[-1:])
        found = compare(ledger, path)
        assert ("status", "open", "settled") in [difference[1:] for difference in found]
        assert settled_at
        # What was altered beyond the mark is not hidden by it.
        altered(path, f"UPDATE rounds SET status = 'open', win_minor = 7, settled_at_us = 0 WHERE round_id = '{ids[-1]}'")
        assert "win_minor" in [difference.field for difference in compare(ledger, path)]
        altered(path, "UPDATE position SET leaf_count = 1000")
        size = ledger.store.tree_size()
        whole = compare(ledger, path)[0]
        assert whole == Difference("", "leaf_count", f"{size} at most", "1000")
        assert whole.message == f"leaf_count: want {size} at most, got 1000"


def test_a_model_is_of_the_leaves_it_names(tmp_path, monkeypatch):
    """Built while a round is in play, or cut off between two steps, the rows are those of the mark."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        ids = play_some(ledger, account_ref, 3)
        opening = ledger.store.stream_appends(f"round/{ids[0]}")[0].leaf_index
        # One step, which ends between the first round's opening and its settlement.
        steps = iter([list(ledger.store.leaf_hashes())[: opening + 1], []])
        monkeypatch.setattr("ledger.history.islice", lambda *_: next(steps))
        build(ledger, path)
        assert rows(path, "SELECT leaf_count FROM position") == [(opening + 1,)]
        assert rows(path, "SELECT round_id, status FROM rounds") == [(ids[0], "open")]
        assert compare(ledger, path) == []
        monkeypatch.undo()
        build(ledger, path)
        assert model_rows(path) == sorted(tuple(row) for row in round_rows(ledger))
        assert compare(ledger, path) == []


@pytest.mark.parametrize(
    "damage", ["DELETE FROM rounds WHERE rowid = 1", "UPDATE position SET leaf_count = 10000", "ALTER TABLE position DROP row_count"]
)
def test_a_model_that_cannot_be_taken_up_is_made_anew(tmp_path, damage):
    """Lost rows, leaves that there are none of, and another form: the model is built from nothing, and the reason told."""
    path, reasons = tmp_path / "h.db", []
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
        assert build(ledger, path, say=reasons.append) == 3
        expected = model_rows(path)
        assert build(ledger, path, say=reasons.append) == 0
        assert reasons == []
        altered(path, damage)
        assert build(ledger, path, say=reasons.append) == 3
        assert len(reasons) == 1
        assert model_rows(path) == expected
        assert compare(ledger, path) == []


@pytest.mark.parametrize("leaf_count", ["'x'", "NULL", "-1", "2.5", "x'00'"])
def test_a_model_that_says_nonsense_of_itself_is_refused(tmp_path, leaf_count):
    """A number of leaves that is none is a mismatch, to compare with and to build on."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 1)
        build(ledger, path)
        altered(path, f"UPDATE position SET leaf_count = {leaf_count}")
        for call in (build, compare):
            with pytest.raises(HistoryMismatch, match="want a number of leaves"):
                call(ledger, path)


def test_an_altered_leaf_index_does_not_hold_up_a_build(tmp_path):
    """A build goes by the leaves that are there: one whose number was made enormous is one step like any other."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
    last = "leaf_index = (SELECT MAX(leaf_index) FROM leaves)"
    altered(tmp_path / "ledger.db", f"UPDATE leaves SET leaf_index = 1000000000000 WHERE {last}")
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        assert build(reader, tmp_path / "h.db") == 3
        assert compare(reader, tmp_path / "h.db") == []


def test_a_build_that_fails_leaves_no_empty_file(tmp_path, monkeypatch):
    """Where nothing could be written there is no file afterwards; an empty one is as good as none."""
    path = tmp_path / "h.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 2)
        for is_there in (False, True):
            if is_there:
                path.touch()
            with monkeypatch.context() as patch:
                patch.setattr("ledger.history._write_rows", fail)
                with pytest.raises(LedgerUnwritable, match="disk is full"):
                    build(ledger, path)
            assert not path.exists()
        path.touch()
        with pytest.raises(HistoryMissing):
            compare(ledger, path)
        assert build(ledger, path) == 2


def fail(*_):
    raise sqlite3.OperationalError("database or disk is full")
