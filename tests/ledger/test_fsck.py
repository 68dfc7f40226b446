"""fsck: clean ledgers are clean, every attack on a covered ledger is found and named, in bulk or leaf by leaf."""

import itertools
import multiprocessing
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.registry import installed_game
from ledger.errors import LedgerError
from ledger.fsck import Fault, FsckResult, check_ledger
from ledger.rounds import RoundLedger
from ledger.stretch import STRETCH_LEAVES, clean_stretches
from ledger.table_rows import table_rows
from tests.attacks import ATTACKS, attack, is_named
from tests.ledger_files import altered, new_ledger, play_some

INSTANCES = int(os.environ.get("SLOT_AUDIT_ATTACKS", "6"))
ROUNDS = int(os.environ.get("SLOT_AUDIT_ATTACK_ROUNDS", "60"))


def played(path: Path) -> tuple[Path, int, bytes]:
    game = installed_game("moonlight-princess")
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            ledger.move_funds(ref, 10**9)
    for part in range(3):
        with RoundLedger.open_for_writing(path) as ledger:
            for number in range(ROUNDS // 3):
                mode = ("base", "ante", "buy")[number % 10 // 8]
                ledger.play(refs[number % 2], game, mode, 200, external_ref=f"tx-{part}-{number}")
            ledger.move_funds(refs[0], -500, "withdrawal")
            tree = ledger.store.tree()
    # Copies of the file alone must be whole: nothing is left in the write-ahead log.
    with RoundLedger.open_for_reading(path) as ledger:
        tree = ledger.store.tree()
    return path, tree.size, tree.root


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, bytes]:
    """A ledger of several epochs and accounts, with the size and root that a kept checkpoint holds."""
    return played(tmp_path_factory.mktemp("fsck") / "ledger.db")


@pytest.fixture(scope="module")
def finely(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, bytes]:
    """Such a ledger with its nodes in blocks of eight leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger.recording.BLOCK_LEAVES", 8)
        return played(tmp_path_factory.mktemp("finely") / "ledger.db")


def faults_of(path: Path, size: int, root: bytes) -> list[Fault]:
    return [fault for fault in check_ledger(path, held_roots=[(size, root)]) if fault is not None]


def test_a_clean_ledger_is_clean(whole: tuple[Path, int, bytes]) -> None:
    """Nothing is found, the counts are right and the recomputed root is the stored one."""
    path, size, root = whole
    counted: list[FsckResult] = []
    assert list(check_ledger(path, held_roots=[(size, root)], counted=counted)) == []
    (result,) = counted
    assert (result.leaf_count, result.root) == (size, root)
    assert result.round_count == ROUNDS // 3 * 3


def test_a_clean_ledger_is_gone_over_in_bulk_to_its_end(tmp_path: Path) -> None:
    """Leaves behind the last complete block, which have no nodes yet, are no reason to go leaf by leaf."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 34)
    with table_rows(tmp_path / "ledger.db") as rows:
        assert sum(len(stretch.ends) for stretch in clean_stretches(rows)) == rows.leaf_count() == STRETCH_LEAVES + 9


def test_what_an_operator_may_do_is_no_finding(whole: tuple[Path, int, bytes], tmp_path: Path) -> None:
    """ANALYZE and VACUUM leave tables of SQLite's own, and nothing to find."""
    path, size, root = whole
    copy = tmp_path / "tended.db"
    shutil.copyfile(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("ANALYZE")
        connection.execute("VACUUM")
        assert connection.execute("SELECT count(*) FROM sqlite_stat1").fetchone()[0]
    assert [fault for fault in check_ledger(copy, held_roots=[(size, root)]) if fault is not None] == []


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_found_and_named(whole: tuple[Path, int, bytes], name: str, tmp_path: Path) -> None:
    """Each instance of the attack is a finding that names its place."""
    path, size, root = whole
    for number in range(INSTANCES):
        chance = random.Random(f"{name} {number}")
        copy = tmp_path / f"{number}.db"
        shutil.copyfile(path, copy)
        words = attack(name, str(copy), chance)
        messages = [fault.message for fault in faults_of(copy, size, root)]
        assert messages, f"{name}, instance {number}: nothing found"
        assert is_named(words, messages), (name, number, words, messages[:5])
        copy.unlink()


# Values that a column can be made to hold, some of another type than it should have.
DAMAGES = (
    "UPDATE stored_events SET {} = {} WHERE rowid = {}",
    "UPDATE leaves SET {} = {} WHERE leaf_index = {}",
    "UPDATE nodes SET {} = {} WHERE node_index = {}",
    "DELETE FROM nodes WHERE {} = {} AND node_index > {}",
)
COLUMNS = (
    ("originator_id", "originator_version", "topic", "state", "rowid"),
    ("leaf_index", "stream", "version_first", "version_last", "recorded_at_us", "leaf_hash"),
    ("level", "node_index", "node_hash"),
    ("level", "node_index"),
)
VALUES = (
    "-3",
    "0",
    "1",
    "4",
    "2.5",
    "1e300",
    "'x'",
    "x'00ff'",
    "'round/x'",
    "'drop/1'",
    "CAST(x'ff' AS TEXT)",
    "9223372036854775807",
    "-9223372036854775808",
    "zeroblob(32)",
)
DAMAGE = st.one_of(
    st.tuples(st.sampled_from(sorted(ATTACKS)), st.integers(0, 2**32)),
    st.tuples(st.integers(0, 3), st.integers(0, 200), st.integers(0, 5), st.sampled_from(VALUES)),
)


class OwnProcess(ThreadPoolExecutor):
    """Runs what is meant for another process in this one, at once; every other task is never begun."""

    def __init__(self, *_: object) -> None:
        super().__init__(1)
        self._begun = itertools.cycle([False, True])

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":
        task: Future[Any] = Future()
        if next(self._begun):
            try:
                task.set_result(function(*given, **named))
            except LedgerError as error:
                task.set_exception(error)
        return task


def damage(path: Path, course: list[tuple[object, ...]]) -> None:
    for what, *chance in course:
        if isinstance(what, str):
            with suppress(Exception):  # what comes second may find nothing left to attack
                attack(what, str(path), random.Random(chance[0]))
            continue
        place, column, value = chance
        assert isinstance(what, int)
        columns = COLUMNS[what]
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            with suppress(sqlite3.IntegrityError):  # a place that is taken, or a value that the column does not take
                connection.execute(DAMAGES[what].format(columns[column % len(columns)], value, place))


@given(course=st.lists(DAMAGE, max_size=3), is_held=st.booleans())
def test_in_bulk_and_leaf_by_leaf_are_one(
    finely: tuple[Path, int, bytes], tmp_path_factory: pytest.TempPathFactory, course: list[tuple[object, ...]], is_held: bool
) -> None:
    """Whatever is done to a ledger, going over it in bulk, in stretches, ranges or by machine code, gives what going leaf by leaf gives."""
    path, size, root = finely
    copy = tmp_path_factory.mktemp("one") / "copy.db"
    shutil.copyfile(path, copy)
    damage(copy, course)
    held = [(size, root), (5, bytes(32)), (size - 1, bytes(32))] if is_held else []
    reports = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsck.STRETCH_LEAVES", "fsck.BLOCK_LEAVES", "stretch.STRETCH_LEAVES", "certain_stretches.STRETCH_LEAVES"):
            patch.setattr(f"ledger.{name}", 8)
        patch.setattr("ledger.certain_stretches.ROOM_LEAVES", 16)
        for module in ("ledger.fsck", "ledger.ranges"):
            patch.setattr(f"{module}.RANGE_LEAVES", 16)
        patch.setattr("ledger.fsck.RANGES_MIN", 2)
        patch.setattr("ledger.ranges.ProcessPoolExecutor", OwnProcess)
        for way in ("machine code", "ranges", "stretches", "leaves"):
            if way == "ranges":
                patch.setattr("ledger.fsck.certain_stretches", lambda *_: None)
            if way == "leaves":
                patch.setattr("ledger.stretch.clean_stretch", lambda *_: None)
            counted: list[FsckResult] = []
            jobs = 2 if way in ("machine code", "ranges") else 1
            try:
                steps = check_ledger(copy, held_roots=held, counted=counted, is_ticking=True, job_count=jobs)
                reports.append((list(steps), counted))
            except LedgerError as error:  # a row that the database cannot read, met as far ahead as rows are fetched
                reports.append(([str(error)], []))
    assert reports[0] == reports[3]
    assert reports[1] == reports[3]
    assert reports[2] == reports[3]
    copy.unlink()


@pytest.mark.parametrize("is_bulk", [True, False])
def test_nodes_behind_the_last_block_may_be_missing_and_not_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_bulk: bool) -> None:
    """Each node of a complete block must be there; of those behind it that an older ledger has, any may be gone, none wrong or more."""
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with monkeypatch.context() as patch:
        patch.setattr("ledger.recording.BLOCK_LEAVES", 2)  # nodes with each append that finishes any, as it was
        with new_ledger(tmp_path) as (ledger, account_ref):
            for _ in range(97):
                ledger.move_funds(account_ref, 1)
    if not is_bulk:
        monkeypatch.setattr("ledger.stretch.clean_stretch", lambda *_: None)
    with closing(sqlite3.connect(path)) as connection:
        places = connection.execute("SELECT level, node_index FROM nodes ORDER BY level, node_index").fetchall()
    assert len(places) == 63 + 34  # of a block, and of 36 leaves behind it
    for level, node_index in places[:2] + places[30:34] + places[-6:]:
        where = f"WHERE level = {level} AND node_index = {node_index}"
        for statement, code in (
            (f"DELETE FROM nodes {where}", "node_missing" if node_index + 1 << level <= 64 else ""),
            (f"UPDATE nodes SET node_hash = zeroblob(32) {where}", "node"),
            (f"UPDATE nodes SET node_hash = CAST(x'ff' AS TEXT) {where}", "node"),
        ):
            shutil.copyfile(path, copy)
            altered(copy, statement)
            found = [fault for fault in check_ledger(copy) if fault is not None]
            assert {fault.code for fault in found} - {"type"} == ({code} if code else set()), (statement, found)
            assert all(f"nodes level {level}, index {node_index}" in fault.message for fault in found)
    for level in range(1, 8):
        shutil.copyfile(path, copy)
        altered(
            copy, "DELETE FROM nodes WHERE (node_index + 1) << level > 64", f"INSERT INTO nodes VALUES ({level}, {100 >> level}, x'00')"
        )
        (found,) = (fault for fault in check_ledger(copy) if fault is not None)
        assert (found.code, f"level {level}, index {100 >> level}" in found.message) == ("node_extra", True)


def test_processes_report_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes go over all whole ranges and find a ledger clean or damaged as one process does; none of them is left."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 520)
    ranges, range_leaves, started = 2, 8 * STRETCH_LEAVES, []
    for module in ("ledger.fsck", "ledger.ranges"):
        monkeypatch.setattr(f"{module}.RANGE_LEAVES", range_leaves)
    monkeypatch.setattr("ledger.fsck.RANGES_MIN", ranges)
    monkeypatch.setattr("ledger.fsck.certain_stretches", lambda *_: None)
    monkeypatch.setattr("ledger.fsck.clean_stretches", lambda rows, first: started.append(first) or clean_stretches(rows, first))
    path = tmp_path / "ledger.db"
    for statement in ("", "UPDATE leaves SET recorded_at_us = recorded_at_us + 1 WHERE leaf_index = 600"):
        if statement:
            altered(path, statement)
        one, two = (list(check_ledger(path, job_count=jobs)) for jobs in (1, 2))
        assert one == two
        assert bool(one) == bool(statement)
    assert started == [0, ranges * range_leaves, 0]  # in bulk; behind the ranges; of the damaged one in bulk, by one process alone
    assert not multiprocessing.active_children()
