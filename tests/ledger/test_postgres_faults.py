"""Faults on PostgreSQL: many writers, and a server that is killed and started again under their load."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.ledger_files import Place, game, new_ledger_at, play_some, rows, whole_ledger_faults
from tests.postgres_server import PostgresServer

pytest.importorskip("psycopg")

KILLS = int(os.environ.get("SLOT_AUDIT_POSTGRES_KILLS", "3"))
WRITERS = 3
LOSSES = {"ConnectionLost", "DatabaseUnreachable", "LedgerLocked"}


def start_process(place: Place, account_ref: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "tests" / "ledger" / "steadfast_process.py"), str(place.ledger), str(place.keys_dir), account_ref]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def started(place: Place, refs: list[str]) -> list[subprocess.Popen[str]]:
    processes = [start_process(place, ref) for ref in refs]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    return processes


def ended(processes: list[subprocess.Popen[str]]) -> Counter[tuple[str, str]]:
    """Have the processes come to an end and return what they said; one that crashed is a failure."""
    said: Counter[tuple[str, str]] = Counter()
    for process in processes:
        out, err = process.communicate("", timeout=60)
        assert (process.returncode, err) == (0, "")
        said.update((line.split()[0], line.split()[1]) for line in out.splitlines())
    return said


def check_all_there(place: Place, said: Counter[tuple[str, str]]) -> None:
    """Every round that was acknowledged is in the record as it was acknowledged, once; nothing else is wrong either."""
    assert whole_ledger_faults(place.ledger) == []
    statuses = dict(rows(place.ledger, "SELECT round_id, status FROM rounds"))
    opened = {name for word, name in said if word == "open"}
    done = {name for word, name in said if word == "done"}
    assert done
    assert opened | done <= set(statuses)
    assert {statuses[name] for name in done} == {"settled"}
    nonces = rows(place.ledger, "SELECT originator_id FROM stored_events WHERE topic = 'round_opened/1'")
    assert len(nonces) == len(statuses)


@pytest.fixture
def killed_place(postgres_to_kill: PostgresServer, tmp_path: Path) -> Place:
    """Give a place on the server that may be killed."""
    return Place(postgres_to_kill.url(postgres_to_kill.new_database()), tmp_path / "keys")


def accounts(place: Place) -> list[str]:
    with new_ledger_at(place) as (ledger, first):
        refs = [first, *(ledger.open_account(f"player {number}", "EUR") for number in range(1, WRITERS))]
        for ref in refs[1:]:
            ledger.move_funds(ref, 10**9)
    return refs


@pytest.mark.parametrize("way", ["kill", "immediate", "fast"])
def test_a_server_that_goes_away_loses_nothing(postgres_to_kill, killed_place, way):
    """Killed or stopped again and again under load, the server keeps every acknowledged round, none in part, and play goes on."""
    refs = accounts(killed_place)
    processes = started(killed_place, refs)
    chance = random.Random(way)
    try:
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 0.9))
            if way == "kill":
                postgres_to_kill.kill()
            else:
                postgres_to_kill.stop(way)
            time.sleep(chance.uniform(0.0, 0.3))
            postgres_to_kill.start()
        time.sleep(0.5)
        said = ended(processes)
    finally:
        for process in processes:
            process.kill()
    assert {name for word, name in said if word == "lost"} <= LOSSES
    check_all_there(killed_place, said)
    with killed_place.open_for_writing() as ledger:
        for ref in refs:
            if in_play := ledger.round_in_play(ref):
                ledger.finish_round(in_play[0], game())
            play_some(ledger, ref, 1)
    assert whole_ledger_faults(killed_place.ledger) == []
    assert rows(killed_place.ledger, "SELECT count(*) FROM rounds WHERE status <> 'settled'") == [(0,)]


def test_a_backend_that_crashes_takes_nothing_with_it(postgres_to_kill, killed_place):
    """Where one of the server's processes dies, all sessions are reset, and every writer goes on."""
    refs = accounts(killed_place)
    processes = started(killed_place, refs)
    try:
        for _ in range(KILLS):
            time.sleep(0.4)
            found = rows(killed_place.ledger, "SELECT pid FROM pg_stat_activity WHERE application_name = 'slot-audit'")
            os.kill(found[0][0], signal.SIGKILL)
            postgres_to_kill.wait()
        said = ended(processes)
    finally:
        for process in processes:
            process.kill()
    assert {name for word, name in said if word == "lost"} <= LOSSES
    check_all_there(killed_place, said)


def test_a_writer_that_is_killed_frees_the_lock(postgres_to_kill, killed_place):
    """A process killed at any moment holds nobody up and leaves nothing in part; its open round is finished by another."""
    refs = accounts(killed_place)
    said: Counter[tuple[str, str]] = Counter()
    chance = random.Random(3)
    for _ in range(KILLS):
        processes = started(killed_place, refs)
        try:
            time.sleep(chance.uniform(0.1, 0.4))
            processes[0].kill()
            out, _ = processes[0].communicate()
            said.update((line.split()[0], line.split()[1]) for line in out.splitlines())
            time.sleep(0.1)
            said.update(ended(processes[1:]))
        finally:
            for process in processes:
                process.kill()
        check_all_there(killed_place, said)
    assert "lost" not in {word for word, _ in said}
    with killed_place.open_for_writing() as ledger:
        for ref in refs:
            if in_play := ledger.round_in_play(ref):
                ledger.finish_round(in_play[0], game())
    check_all_there(killed_place, said)
