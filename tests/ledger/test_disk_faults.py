"""A disk that fails or fills up, or a process that dies, at each write and flush in turn: nothing is lost, nothing is there in part."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.checkpoint import load_checkpoint
from ledger.checkpoints import kept_checkpoints
from ledger.errors import LedgerMissing
from ledger.rounds import RoundLedger
from ledger.sqlite import LOG_PAGES
from tests.conftest import ROOT
from tests.ledger_files import new_ledger, rows, whole_ledger_faults
from tests.traced import Fault, Traced, audit_command, count_calls, require_strace, run_traced
from tests.whole import everything_wrong, fsck_messages

FAULTS = os.environ.get("SLOT_AUDIT_FAULTS", "1")  # of each test: a number, or `each`
GAME = "moonlight-princess"
KILLED = 128 + 9
KINDS = {
    "EIO": ("error=EIO", ""),
    "ENOSPC": ("error=ENOSPC", ""),
    "ENOSPC-lasting": ("error=ENOSPC", "+"),
    "KILL": ("signal=KILL", ""),
}
WAL_BYTES_NEAR_CHECKPOINT = (LOG_PAGES - 40) * 4120  # so that SQLite copies the log back in the middle of play
CALLS_OF: dict[str, Counter[str]] = {}  # what a run without a fault makes, by the name of the command and its folder
PLAY = ["play", "--game", GAME, "--rounds", "3", "--json"]


def play_on(path: Path) -> str:
    """Finish what is in play, play a round more and return its id."""
    game = installed_game(GAME)
    with RoundLedger.open_for_writing(path) as ledger:
        for (account_ref,) in rows(path, "SELECT account_ref FROM accounts"):
            if in_play := ledger.round_in_play(account_ref):
                ledger.finish_round(in_play[0], game)
        ref = ledger.account("player").account_ref
        ledger.move_funds(ref, 1000)
        return ledger.play(ref, game, "base", 200).round_id


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a ledger of two rounds that its writer closed, and a checkpoint of it that is kept."""
    folder = tmp_path_factory.mktemp("closed")
    with RoundLedger.create(folder / "ledger.db") as ledger:
        ledger.open_account("player", "EUR")
    play_on(folder / "ledger.db")
    play_on(folder / "ledger.db")
    assert run_audit(folder, "checkpoint", "-o", "kept.checkpoint") == 0
    return folder


@pytest.fixture(scope="module")
def left(closed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the same ledger as a killed writer left it: a round in play, a log that is about to be copied back."""
    folder = tmp_path_factory.mktemp("left") / "a"
    shutil.copytree(closed, folder)
    path, log = folder / "ledger.db", folder / "ledger.db-wal"
    ledger = RoundLedger.open_for_writing(path)
    ref, game = ledger.account("player").account_ref, installed_game(GAME)
    ledger.move_funds(ref, 10**6)
    for _ in range(20):
        ledger.play(ref, game, "base", 200)
    with closing(sqlite3.connect(path, isolation_level=None)) as filler:
        filler.execute("PRAGMA synchronous=OFF")
        filler.execute("PRAGMA wal_autocheckpoint=0")
        while log.stat().st_size < WAL_BYTES_NEAR_CHECKPOINT:
            filler.execute("PRAGMA user_version=1")  # which it is: the first page, written again
    ledger.open_round(ref, game, "base", 200)
    copy = folder.parent / "left"
    shutil.copytree(folder, copy)
    ledger.close()
    (copy / "ledger.db-shm").unlink()
    return copy


def run_audit(folder: Path, *arguments: str) -> int:
    """Run `audit` in a folder and return its exit status."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(audit_command(*arguments), cwd=folder, env=environment, capture_output=True).returncode


def faults_to_try(counted: Counter[str], kind: str, name: str) -> Iterator[Fault]:
    """Yield faults of a kind for the calls that a run without any made: each of them, or a few drawn by the name of the test."""
    action, span = KINDS[kind]
    counts = sorted(counted.items())
    if FAULTS == "each":
        yield from (Fault(call, number, action, span) for call, count in counts for number in range(1, count + 1))
        return
    chance = random.Random(f"{name} {kind}")
    for _ in range(int(FAULTS)):
        call, count = chance.choice(counts)
        yield Fault(call, chance.randint(1, count), action, span)


def check_end(ended: Traced, fault: Fault) -> None:
    """The process went on, was killed, or said in its own words what was the case."""
    assert "Traceback" not in ended.err, (fault, ended.err)
    assert "file:" not in ended.err, (fault, ended.err)  # the ledger is called by its path
    if not ended.is_hit:
        assert ended.status == 0, (fault, ended.err)
    elif fault.action == "signal=KILL":
        assert ended.status in (KILLED, -9), fault
    else:
        assert ended.status in (0, 4), (fault, ended.status, ended.err)
    if ended.status == 4 and fault.call != "write":  # a write that fails may be the message's own
        assert ended.err.splitlines()[-1].startswith("audit: "), (fault, ended.err)


def acknowledged(ended: Traced) -> list[str]:
    """Return the ids of the rounds of which the process said, in a whole line, that they are settled."""
    lines = [json.loads(line) for line in ended.out.splitlines(keepends=True) if line.endswith("\n")]
    return [line["round_id"] for line in lines if "round_id" in line]


def record_faults(name: str, count: int) -> None:
    """Add a line to the file that SLOT_AUDIT_FAULTS_LOG names, for who wants to know how many faults were had."""
    if log := os.environ.get("SLOT_AUDIT_FAULTS_LOG"):
        with Path(log).open("a") as file:
            file.write(f"{json.dumps({'of': name, 'faults': count})}\n")


def each_fault(folder: Path, arguments: list[str], kind: str, check: Callable[[Path, Traced, Fault], None], *, work: Path) -> None:
    """Run a command on a copy of a folder once whole and once for each fault, and have what is left checked each time."""
    require_strace()
    name = f"{folder.name.rstrip('0123456789')} {arguments[0]}"
    command = audit_command(*arguments)
    if name not in CALLS_OF:
        shutil.copytree(folder, work / "whole")
        whole = run_traced(work / "whole", command)
        assert whole.status == 0, whole.err
        CALLS_OF[name] = count_calls(whole)
    hits = tries = 0
    for fault in faults_to_try(CALLS_OF[name], kind, name):
        copy = work / "copy"
        shutil.copytree(folder, copy)
        ended = run_traced(copy, command, fault)
        check_end(ended, fault)
        check(copy, ended, fault)
        shutil.rmtree(copy)
        tries, hits = tries + 1, hits + ended.is_hit
    assert hits * 2 >= tries, (hits, tries)  # what a round writes differs from round to round, so the last few may not come
    record_faults(f"{name} {kind}", hits)


def check_play(folder: Path, ended: Traced, fault: Fault) -> None:
    """Every acknowledged round is settled in a ledger in which nothing is wrong, and play goes on."""
    path = folder / "ledger.db"
    kept = load_checkpoint(folder / "kept.checkpoint").checkpoint
    held = [(kept.tree_size, kept.root)]
    assert everything_wrong(path, folder / "ledger.db.keys", held_roots=held) == [], fault
    settled = {name for (name,) in rows(path, "SELECT round_id FROM rounds WHERE status = 'settled'")}
    assert set(acknowledged(ended)) <= settled, fault
    play_on(path)
    assert fsck_messages(path, held) == [], fault


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", ["closed", "left"])
def test_a_failing_write_or_flush_loses_no_round(request, tmp_path, state, kind):
    """Whichever write or flush of `audit play` fails, no acknowledged round is lost, none is there in part, and play goes on."""
    each_fault(request.getfixturevalue(state), PLAY, kind, check_play, work=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_write_makes_no_half_ledger(tmp_path, kind):
    """Whichever write or flush of `audit init` fails, there is a whole ledger or none; after an error a second try makes it."""

    def check(folder: Path, ended: Traced, fault: Fault) -> None:
        if (folder / "ledger.db").exists():
            assert everything_wrong(folder / "ledger.db", folder / "ledger.db.keys") == [], fault
            return
        assert ended.status != 0, fault
        with pytest.raises(LedgerMissing):
            RoundLedger.open_for_reading(folder / "ledger.db")
        if ended.status == 4:
            assert list(folder.iterdir()) == [], fault
            assert run_audit(folder, "init") == 0, fault

    (tmp_path / "empty").mkdir()
    each_fault(tmp_path / "empty", ["init"], kind, check, work=tmp_path)


@pytest.mark.parametrize("span", ["", "+"])
def test_a_new_ledger_is_not_put_in_place_without_its_first_event(tmp_path, span):
    """Where a write of `audit init` fails after its last commit, there is no ledger, or one that holds its first event."""
    require_strace()
    whole = run_traced(tmp_path, audit_command("init", "--ledger", "whole.db"))
    count = count_calls(whole)["pwrite64"]
    for number in range(count - 12, count + 1, 3 if FAULTS != "each" else 1):
        ended = run_traced(tmp_path, audit_command("init", "--ledger", f"{number}.db"), Fault("pwrite64", number, "error=EIO", span))
        if (tmp_path / f"{number}.db").exists():
            assert fsck_messages(tmp_path / f"{number}.db") == [], number
        else:
            assert ended.status == 4, ended.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_write_makes_no_half_checkpoint(closed, tmp_path, kind):
    """Whichever write or flush of `audit checkpoint` fails, every checkpoint that is kept is whole, and the next one is signed."""

    def check(folder: Path, ended: Traced, fault: Fault) -> None:
        keys_dir = folder / "ledger.db.keys"
        held = [kept.signed.checkpoint for kept in kept_checkpoints(keys_dir)]
        if ended.status == 0:
            load_checkpoint(folder / "new.checkpoint")
        assert fsck_messages(folder / "ledger.db", [(each.tree_size, each.root) for each in held]) == [], fault
        assert run_audit(folder, "checkpoint", "-o", "next.checkpoint") == 0, fault

    grown = tmp_path / "grown"
    shutil.copytree(closed, grown)
    play_on(grown / "ledger.db")
    each_fault(grown, ["checkpoint", "-o", "new.checkpoint"], kind, check, work=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_write_makes_no_half_copy(closed, tmp_path, kind):
    """Whichever write or flush of `audit copy` fails, the copy is whole or not there, and the ledger is as it was."""

    def check(folder: Path, ended: Traced, fault: Fault) -> None:
        if (folder / "copy.db").exists():
            assert fsck_messages(folder / "copy.db") == [], fault
        else:
            assert ended.status != 0, fault
        assert fsck_messages(folder / "ledger.db") == [], fault
        if ended.status == 4 and not (folder / "copy.db").exists():
            assert run_audit(folder, "copy", "copy.db") == 0, fault

    each_fault(closed, ["copy", "copy.db"], kind, check, work=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_write_closes_no_epoch_in_part(left, tmp_path, kind):
    """Whichever write or flush of `audit seeds rotate` fails, each epoch is open or closed, and play goes on under a new one."""
    each_fault(left, ["seeds", "rotate", "--json"], kind, check_play, work=tmp_path)


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "ENOSPC-span"])
def test_a_writer_that_met_a_fault_goes_on(tmp_path, kind):
    """The same writer, told that a write failed, finishes and plays on once the disk works again; nothing is there twice or in part."""
    require_strace()
    with new_ledger(tmp_path) as (_, account_ref):
        pass
    path, rounds = tmp_path / "ledger.db", 6
    command = [sys.executable, str(ROOT / "tests" / "ledger" / "steadfast_process.py"), str(path), f"{path}.keys", account_ref, str(rounds)]
    done: list[str] = []
    losses = 0
    chance = random.Random(kind)
    for _ in range(20 if FAULTS == "each" else max(3, int(FAULTS))):
        call, count = chance.choice([("pwrite64", 200), ("fdatasync", 12)])
        number = chance.randint(1, count)
        span = f"..{number + count // 6}" if kind == "ENOSPC-span" else ""
        ended = run_traced(tmp_path, command, Fault(call, number, f"error={kind.removesuffix('-span')}", span))
        assert ended.status == 0, ended.err
        words = [line.split() for line in ended.out.splitlines()]
        losses += sum(word[0] == "lost" for word in words)
        assert {word[1] for word in words if word[0] == "lost"} <= {"LedgerUnwritable", "FlushFailed"}
        done += [word[1] for word in words if word[0] == "done"]
        assert fsck_messages(path) == []
        assert whole_ledger_faults(path) == []
    settled = {name for (name,) in rows(path, "SELECT round_id FROM rounds WHERE status = 'settled'")}
    assert set(done) <= settled
    assert len(set(done)) == len(done)
    assert losses


DEPOSITS = """
import os, sys
from pathlib import Path
from ledger.errors import FlushFailed
from ledger.rounds import RoundLedger
ledger = RoundLedger.open_for_writing(Path('ledger.db'))
try:
    while True:
        print(ledger.move_funds(sys.argv[1], 1), flush=True)
except FlushFailed:
    os._exit(7)
"""


def test_a_commit_that_the_disk_did_not_confirm_is_whole_or_not_there(tmp_path):
    """Where only the flush failed and then the process died, the next opening finds the commit: the message did not deny it."""
    require_strace()
    with new_ledger(tmp_path, balance_minor=1) as (_, account_ref):
        pass
    ended = run_traced(tmp_path, [sys.executable, "-c", DEPOSITS, account_ref], Fault("fdatasync", 6, "error=EIO"))
    assert ended.status == 7, ended.err
    told = [int(line) for line in ended.out.split()]
    with RoundLedger.open_for_writing(tmp_path / "ledger.db") as ledger:
        assert ledger.account("alice").balance_minor == told[-1] + 1
    assert fsck_messages(tmp_path / "ledger.db") == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder that is a disk of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()[:200]}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def check_full(folder: Path, ended: subprocess.CompletedProcess[str], reason: str) -> None:
    """The command said why it ended, and every round that it acknowledged is there."""
    assert ended.returncode == 4, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1] == (
        f"audit: write to ledger.db: want room and access, got {reason}; see to both and try again, this write was not recorded"
    )
    ids = [json.loads(line)["round_id"] for line in ended.stdout.splitlines()]
    assert ids
    assert set(ids) <= {name for (name,) in rows(folder / "ledger.db", "SELECT round_id FROM rounds WHERE status = 'settled'")}


def test_a_full_disk_loses_nothing(closed, small_disk):
    """On a disk that has run full, play ends with its message, nothing acknowledged is lost, and it goes on when room is made."""
    folder = small_disk / "a"
    shutil.copytree(closed, folder)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(2_000_000))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    play = audit_command("play", "--game", GAME, "--rounds", "150", "--json")
    ended = subprocess.run(play, cwd=folder, env=environment, capture_output=True, text=True)
    again = subprocess.run(play, cwd=folder, env=environment, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (4, "")
    for command in (["fsck"], ["copy", "copy.db"], ["checkpoint", "-o", "full.checkpoint"], ["verify", "--all"]):
        tried = subprocess.run(audit_command(*command), cwd=folder, env=environment, capture_output=True, text=True)
        assert tried.returncode in (0, 4), (command, tried.stderr)
        assert "Traceback" not in tried.stderr
    ballast.unlink()
    check_full(folder, ended, "database or disk is full")
    kept = load_checkpoint(folder / "kept.checkpoint").checkpoint
    assert everything_wrong(folder / "ledger.db", folder / "ledger.db.keys", held_roots=[(kept.tree_size, kept.root)]) == []
    play_on(folder / "ledger.db")
    assert run_audit(folder, "play", "--game", GAME, "--rounds", "5") == 0
    assert fsck_messages(folder / "ledger.db", [(kept.tree_size, kept.root)]) == []


def test_a_limit_on_the_size_of_files_loses_nothing(closed, tmp_path):
    """Where the log may grow no further, play ends with its message, nothing acknowledged is lost, and it goes on without the limit."""
    folder = tmp_path / "a"
    shutil.copytree(closed, folder)
    limited = ["sh", "-c", 'ulimit -f 1000 && exec "$@"', "sh", *audit_command("play", "--game", GAME, "--rounds", "150", "--json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    ended = subprocess.run(limited, cwd=folder, env=environment, capture_output=True, text=True)
    check_full(folder, ended, "disk I/O error")
    assert everything_wrong(folder / "ledger.db", folder / "ledger.db.keys") == []
    play_on(folder / "ledger.db")
    assert fsck_messages(folder / "ledger.db") == []
