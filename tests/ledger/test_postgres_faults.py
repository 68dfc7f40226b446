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

KILLS = int(os.environ.get("SLOT_AUDIT_POSTGRES_KILLS", "2"))
WRITERS = 3
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'slot-audit'"
LOSSES = {"ConnectionLost", "DatabaseUnreachable", "LedgerLocked"}


class Writers:
    """Processes that play, each on an account of its own; what they say goes to files, so that none of them waits for us."""

    def __init__(self, place: Place, refs: list[str], folder: Path) -> None:
        self._said = [folder / f"said-{number}" for number in range(len(refs))]
        self.processes = [self._start(place, ref, path) for ref, path in zip(refs, self._said, strict=True)]

    def _start(self, place: Place, account_ref: str, said: Path) -> subprocess.Popen[str]:
        program = str(ROOT / "tests" / "ledger" / "steadfast_process.py")
        command = [sys.executable, program, str(place.ledger), str(place.keys_dir), account_ref]
        with said.open("w") as file:
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "Writers":
        deadline = time.monotonic() + 60
        while not all(path.read_text().startswith("ready\n") for path in self._said) and time.monotonic() < deadline:
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def end(self, *, is_killed: int = -1) -> Counter[tuple[str, str]]:
        """Have the processes come to an end and return what they said; one that crashed by itself is a failure."""
        for number, process in enumerate(self.processes):
            if number != is_killed:
                _, err = process.communicate("", timeout=60)
                assert (process.returncode, err) == (0, "")
        lines = [line for path in self._said for line in path.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")]
        return Counter((line.split()[0], line.split()[1]) for line in lines)


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
def test_a_server_that_goes_away_loses_nothing(postgres_to_kill, killed_place, tmp_path, way):
    """Killed or stopped again and again under load, the server keeps every acknowledged round, none in part, and play goes on."""
    refs = accounts(killed_place)
    chance = random.Random(way)
    with Writers(killed_place, refs, tmp_path) as writers:
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 0.9))
            if way == "kill":
                postgres_to_kill.kill()
            else:
                postgres_to_kill.stop(way)
            time.sleep(chance.uniform(0.0, 0.3))
            postgres_to_kill.start()
        time.sleep(0.5)
        said = writers.end()
    assert {name for word, name in said if word == "lost"} <= LOSSES
    check_all_there(killed_place, said)
    finish_all(killed_place, refs)


def killed(process: int) -> bool:
    """Kill a process, and return whether it was still there to be killed."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:  # it ended by itself since it was seen
        return False
    return True


def test_a_session_that_crashes_takes_nothing_with_it(postgres_to_kill, killed_place, tmp_path):
    """Where one of the server's processes dies, all sessions are reset, and every writer goes on."""
    refs = accounts(killed_place)
    with Writers(killed_place, refs, tmp_path) as writers:
        for _ in range(KILLS):
            time.sleep(0.4)
            while not (found := rows(killed_place.ledger, SESSIONS)) or not killed(found[0][0]):
                time.sleep(0.05)
            time.sleep(0.1)
            postgres_to_kill.wait()
        said = writers.end()
    assert {name for word, name in said if word == "lost"} <= LOSSES
    check_all_there(killed_place, said)


def test_a_writer_that_is_killed_frees_the_lock(killed_place, tmp_path):
    """A process killed at any moment holds nobody up and leaves nothing in part; its open round is finished by another."""
    refs = accounts(killed_place)
    chance = random.Random(3)
    said: Counter[tuple[str, str]] = Counter()
    for _ in range(KILLS):
        with Writers(killed_place, refs, tmp_path) as writers:
            time.sleep(chance.uniform(0.1, 0.4))
            writers.processes[0].kill()
            time.sleep(0.2)
            said += writers.end(is_killed=0)
        check_all_there(killed_place, said)
    assert "lost" not in {word for word, _ in said}
    finish_all(killed_place, refs)


def finish_all(place: Place, refs: list[str]) -> None:
    """Each open round can be finished, each account plays on, and the ledger is whole."""
    with place.open_for_writing() as ledger:
        for ref in refs:
            if in_play := ledger.round_in_play(ref):
                ledger.finish_round(in_play[0], game())
            play_some(ledger, ref, 1)
    assert whole_ledger_faults(place.ledger) == []
    assert rows(place.ledger, "SELECT count(*) FROM rounds WHERE status <> 'settled'") == [(0,)]
