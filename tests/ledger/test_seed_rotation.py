"""Another seed key after a leak: what is sealed under which, crashes between any two steps, writers that run meanwhile or elsewhere."""

import os
import random
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.rng import seed_commitment
from ledger import seed_rotation
from ledger.disclosure import reveal_seed
from ledger.errors import KeyMismatch, KeyUnreadable, LedgerReadOnly
from ledger.fsck import check_ledger
from ledger.keys import load_seed_key
from ledger.rounds import RoundLedger
from ledger.seed_keys import last_rotation, seed_key_id
from ledger.seed_rotation import rotate_seed_key
from ledger.seeds import unseal_seed
from replay.verification import Verifier
from tests.conftest import ROOT
from tests.ledger_files import game, new_ledger, play_some, whole_ledger_faults

KILLS = min(int(os.environ.get("SLOT_AUDIT_KILLS", "3")), 20)  # each adds keys, and every seed is tried with every key


@pytest.fixture
def place(tmp_path):
    """A ledger with a round in a closed epoch and its folder of keys."""
    with new_ledger(tmp_path) as (ledger, ref):
        play_some(ledger, ref, 1)
    yield ledger.path, tmp_path / "ledger.db.keys", ref
    assert list(check_ledger(ledger.path)) == []
    assert whole_ledger_faults(ledger.path) == []


def opens(ledger, epoch, key):
    """Whether a key alone opens an epoch's sealed seed."""
    row = ledger.store.epoch(epoch)
    try:
        return seed_commitment(unseal_seed(row.sealed_seed, bytes.fromhex(row.seed_commitment), key, epoch=epoch)) == row.seed_commitment
    except KeyMismatch:
        return False


def test_a_leaked_key_opens_nothing_that_comes_after(place):
    """Seeds of before open under the old key alone, seeds of after under the new one alone; every key file is its owner's only."""
    path, keys, ref = place
    leaked = load_seed_key(keys)
    with RoundLedger.open_for_writing(path) as ledger:
        play_some(ledger, ref, 1)
        exchange = rotate_seed_key(ledger.store, keys)
        assert (exchange.old_key_id, exchange.new_key_id) == (seed_key_id(leaked), seed_key_id(load_seed_key(keys)))
        play_some(ledger, ref, 2)
        assert [opens(ledger, epoch, leaked) for epoch in (1, 2, 3)] == [True, True, False]
        assert [opens(ledger, epoch, load_seed_key(keys)) for epoch in (1, 2, 3)] == [False, False, True]
        assert (ledger.store.epoch(1).is_closed, ledger.store.epoch(2).is_closed, ledger.store.epoch(3).is_closed) == (True, True, False)
        assert [seed_commitment(bytes.fromhex(reveal_seed(ledger, epoch))) for epoch in (1, 2)] == [
            ledger.store.epoch(epoch).seed_commitment for epoch in (1, 2)
        ]
    names = {file.name: stat.S_IMODE(file.stat().st_mode) for file in keys.iterdir() if file.name.startswith("seeds")}
    wanted = {"seeds.key", f"seeds.key.{exchange.old_key_id[:16]}", f"seeds.key.{exchange.new_key_id[:16]}"}
    assert names == dict.fromkeys(wanted, 0o600)


def test_rounds_of_every_key_are_verified(place):
    """The check of a round's seed finds the key that sealed it, in force or kept; without the kept one it is not run."""
    path, keys, ref = place
    with RoundLedger.open_for_writing(path) as ledger:
        first = play_some(ledger, ref, 1)[0]
        exchange = rotate_seed_key(ledger.store, keys)
        second = play_some(ledger, ref, 1)[0]
    with RoundLedger.open_for_reading(path) as reader:
        results = [Verifier(reader).verify(round_id).checks[1].result for round_id in (first, second)]
        assert results == ["pass", "pass"]
        (keys / f"seeds.key.{exchange.old_key_id[:16]}").unlink()
        checks = [Verifier(reader).verify(round_id).checks[1] for round_id in (first, second)]
        assert [check.result for check in checks] == ["not_run", "pass"]
        assert "seed key for epoch 2: want one that opens the seed committed to" in checks[0].detail


class Killed(BaseException):
    """Stands for a kill at this moment."""


@pytest.mark.parametrize("step", range(1, 5))
def test_a_kill_between_any_two_steps_loses_nothing(place, monkeypatch, step):
    """Killed before each of its four writes a rotation has happened whole or not at all, and every seed still opens."""
    path, keys, ref = place
    with RoundLedger.open_for_writing(path) as ledger:
        (in_play,) = [ledger.open_round(ref, game(), "base", 200).round_id]
        ledger._epochs._open = {}  # as a process that died: its epoch stays open
    leaked, steps = load_seed_key(keys), []

    def counted(write):
        def count(*arguments):
            steps.append(1)
            if len(steps) == step:
                raise Killed
            return write(*arguments)

        return count

    with RoundLedger.open_for_writing(path) as ledger:
        monkeypatch.setattr(seed_rotation, "write_whole", counted(seed_rotation.write_whole))
        monkeypatch.setattr(ledger.store, "rotate_seed_key", counted(ledger.store.rotate_seed_key))
        with pytest.raises(Killed):
            rotate_seed_key(ledger.store, keys)
        monkeypatch.undo()
    is_recorded = step > 3
    with RoundLedger.open_for_writing(path) as ledger:
        assert (last_rotation(ledger.store) is not None) == is_recorded
        assert ledger.store.epoch(2).is_closed == is_recorded
        assert ledger.finish_round(in_play, game()).opened.epoch == 2
        play_some(ledger, ref, 1)
        assert opens(ledger, 3, leaked) != is_recorded
        assert (load_seed_key(keys) == leaked) != is_recorded
        exchange = rotate_seed_key(ledger.store, keys)
        assert 3 in exchange.closed_epochs
        play_some(ledger, ref, 1)
        assert not opens(ledger, 4, leaked)
        assert [len(ledger.seed_of(epoch)) for epoch in (1, 2, 3, 4)] == [32] * 4


PROGRAM = """
import sys
from pathlib import Path
from ledger.rounds import RoundLedger
from ledger.seed_rotation import rotate_seed_key
from tests.conftest import ROOT
from tests.ledger_files import game, play_some
game()
ledger = RoundLedger.open_for_writing(sys.argv[1])
while True:
    play_some(ledger, sys.argv[3], 1)
    rotate_seed_key(ledger.store, Path(sys.argv[2]))
    print("rotated", flush=True)
"""


def test_kill_9_between_rotations_loses_no_seed(place):
    """A process that does nothing but rotate and play, killed at random moments, leaves a whole ledger of which every seed opens."""
    path, keys, ref = place
    chance, epoch_count = random.Random(7), 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", PROGRAM, str(path), str(keys), ref]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert process.stdout.readline() == b"rotated\n"
        time.sleep(chance.uniform(0.02, 0.2))
        process.kill()
        process.communicate(timeout=60)
        assert list(check_ledger(path)) == []
        with RoundLedger.open_for_writing(path) as ledger:
            if in_play := ledger.round_in_play(ref):
                ledger.finish_round(in_play[0], game())
            play_some(ledger, ref, 1)
            assert seed_key_id(load_seed_key(keys)) == last_rotation(ledger.store).new_key_id
            last = ledger.store.last_epoch().epoch
            assert [len(ledger.seed_of(epoch)) for epoch in range(1, last + 1)] == [32] * last
            assert last > epoch_count + 1
            epoch_count = last


def test_a_writer_that_runs_seals_nothing_under_the_old_key(place, monkeypatch):
    """A rotation in the very moment in which a writer starts an epoch: that epoch is closed before a bet, and another started."""
    path, keys, ref = place
    leaked = load_seed_key(keys)
    with RoundLedger.open_for_writing(path) as writer, RoundLedger.open_for_writing(path) as other:
        start = writer.store.start_epoch

        def start_late(*arguments):
            monkeypatch.undo()
            rotate_seed_key(other.store, keys)
            return start(*arguments)

        monkeypatch.setattr(writer.store, "start_epoch", start_late)
        (round_id,) = play_some(writer, ref, 1)
        assert (opens(writer, 2, leaked), writer.store.epoch(2).is_closed, writer.store.epoch(2).next_nonce) == (True, True, 0)
        assert not opens(writer, 3, leaked)
        assert Verifier(writer).verify(round_id).checks[1].detail.startswith("epoch 3, nonce 0")


def test_a_writer_elsewhere_stops_until_it_has_the_new_key(place, tmp_path):
    """A machine with the old folder of keys starts no epoch: the error names the key wanted; with the new folder it goes on."""
    path, keys, ref = place
    shutil.copytree(keys, tmp_path / "elsewhere")
    with RoundLedger.open_for_writing(path, tmp_path / "elsewhere") as writer:
        play_some(writer, ref, 1)
        exchange = rotate_seed_key(writer.store, keys)
        with pytest.raises(KeyMismatch, match=f"seeds.key: want the seed key in force, {exchange.new_key_id}, got {exchange.old_key_id};"):
            play_some(writer, ref, 1)
        shutil.copytree(keys, tmp_path / "elsewhere", dirs_exist_ok=True)
        play_some(writer, ref, 1)
        assert not opens(writer, 3, load_seed_key(tmp_path / "elsewhere", f"seeds.key.{exchange.old_key_id[:16]}"))


def test_an_old_ledger_never_brings_a_leaked_key_back(place, tmp_path):
    """A ledger put back from before the last rotation refuses to seal under the key that it names, though that lies there still."""
    path, keys, ref = place
    with RoundLedger.open_for_writing(path) as ledger:
        rotate_seed_key(ledger.store, keys)
    backup = Path(shutil.copyfile(path, tmp_path / "backup.db"))
    with RoundLedger.open_for_writing(path) as ledger:
        rotate_seed_key(ledger.store, keys)
    newest = load_seed_key(keys)
    with RoundLedger.open_for_writing(backup, keys) as restored:
        with pytest.raises(KeyMismatch, match="the seed key in force"):
            play_some(restored, ref, 1)
        assert load_seed_key(keys) == newest
        rotate_seed_key(restored.store, keys)
        play_some(restored, ref, 1)
    assert list(check_ledger(backup)) == []


def test_a_reader_rotates_nothing_and_a_damaged_key_is_named(place):
    """Without a ledger opened for writing nothing is recorded; a kept key that was cut short is named when it is wanted."""
    path, keys, ref = place
    with RoundLedger.open_for_reading(path) as reader, pytest.raises(LedgerReadOnly):
        rotate_seed_key(reader.store, keys)
    with RoundLedger.open_for_writing(path) as ledger:
        (opened,) = [ledger.open_round(ref, game(), "base", 200)]
        exchange = rotate_seed_key(ledger.store, keys)
    kept = keys / f"seeds.key.{exchange.old_key_id[:16]}"
    key = kept.read_bytes()
    kept.write_bytes(key[:31])
    with RoundLedger.open_for_writing(path) as ledger:
        with pytest.raises(KeyUnreadable, match="want 32 bytes, got 31 bytes"):
            ledger.finish_round(opened.round_id, game())
        kept.write_bytes(key)
        ledger.finish_round(opened.round_id, game())
