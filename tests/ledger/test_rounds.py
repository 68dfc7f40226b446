"""Rounds from bet to settlement: two transactions, one slot, one nonce, and nothing lost or doubled by a crash or a repeat."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engines import rng
from engines.game_events import GAME_EVENTS
from ledger import seeds
from ledger.errors import (
    AccountExists,
    AccountUnknown,
    BetNotAllowed,
    CurrencyUnknown,
    EpochUnknown,
    FundsShort,
    GameMismatch,
    IdempotencyConflict,
    KeyMismatch,
    KeyMissing,
    ModeUnknown,
    RoundAmbiguous,
    RoundInPlay,
    RoundNotOpen,
    RoundUnknown,
    TextInvalid,
)
from ledger.keys import load_seed_key, load_verifier_key
from ledger.merkle import append_form
from ledger.references import RoundIds
from ledger.rounds import RoundLedger
from tests.fake_game import FakeGame
from tests.ledger_files import altered, game, new_ledger, play_some, rows, whole_ledger_faults

ROOT = Path(__file__).parents[2]


def events_of(ledger, round_id):
    return [json.loads(row.data) for row in ledger.round_events(round_id)]


def test_a_round_is_recorded_from_bet_to_settlement(tmp_path):
    """The record holds the wager with the commitment to its key, the engine's events as they are, and digests over both."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        played = ledger.play(account_ref, game(), "ante", 200, client_seed="client-1", external_ref="tx-9", channel="web")
        stored = ledger.round_events(played.round_id)
        opened, *steps, settled = (json.loads(row.data) for row in stored)
        row = ledger.store.epoch(opened["epoch"])
        seed = seeds.unseal_seed(
            row.sealed_seed, bytes.fromhex(opened["seed_commitment"]), load_seed_key(tmp_path / "ledger.db.keys"), epoch=1
        )
    key = rng.round_key(seed, "moonlight-princess", "client-1", 0)
    outcome = game().play(key, "ante", 200, {}, ())
    assert opened["kind"] == "round_opened"
    assert settled["kind"] == "round_settled"
    assert opened["seed_commitment"] == hashlib.sha256(seed).hexdigest()
    assert opened["round_key_commitment"] == rng.round_key_commitment(key)
    assert (opened["bet_minor"], opened["cost_minor"], opened["nonce"], opened["external_ref"]) == (200, 250, 0, "tx-9")
    assert opened["rules_hash"] == game().rules.rules_hash
    assert opened["texts_hash"] == game().rules.texts_hash
    assert [(row.topic, row.data) for row in stored[1:-1]] == list(outcome.events)
    assert {step["kind"] for step in steps} <= set(GAME_EVENTS)
    assert settled["outcome_digest"] == hashlib.sha256(append_form([event for _, event in outcome.events])).hexdigest()
    assert settled["round_digest"] == hashlib.sha256(append_form([row.data for row in stored[:-1]])).hexdigest()
    assert opened["balance_before_minor"] - opened["cost_minor"] + settled["total_win_minor"] == settled["balance_after_minor"]
    assert played.settled.total_win_minor == outcome.total_win_minor
    assert [row.version for row in stored] == list(range(1, len(stored) + 1))
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_the_wager_is_durable_before_an_outcome_exists(tmp_path):
    """After opening, another reader sees the wager, the debit and the slot, and no outcome; its leaf is in the tree."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        ledger.open_round(account_ref, game(), "base", 200)
        with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
            round_id, event = reader.round_in_play(account_ref)
            assert [row.topic for row in reader.round_events(round_id)] == ["round_opened/1"]
            assert reader.account(account_ref).balance_minor == 10**9 - 200
            assert event.nonce == 0
            assert reader.store.stream_appends(f"round/{round_id}")[0].version_last == 1
        assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_the_tree_grows_by_one_leaf_for_each_append(tmp_path):
    """A round is two leaves, whose times are those in its events."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        before = ledger.store.tree_size()
        played = ledger.play(account_ref, game(), "base", 200)
        appends = ledger.store.stream_appends(f"round/{played.round_id}")
        assert ledger.store.tree_size() == before + 3  # the epoch's commitment first
        assert [leaf.leaf_index for leaf in appends] == [before + 1, before + 2]
        assert [leaf.recorded_at_us for leaf in appends] == [played.opened.opened_at_us, played.settled.settled_at_us]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda led, ref: led.play(ref, game(), "turbo", 200), ModeUnknown),
        (lambda led, ref: led.play(ref, game(), "base", 210), BetNotAllowed),
        (lambda led, ref: led.play(ref, game(), "base", -20), BetNotAllowed),
        (lambda led, ref: led.play("00" * 16, game(), "base", 210), AccountUnknown),
        (lambda led, ref: led.play("00" * 16, game(), "base", 200), AccountUnknown),
        (lambda led, ref: led.play(ref, game(), "base", 10_000), FundsShort),
        (lambda led, ref: led.move_funds(ref, -10_000, "withdrawal"), FundsShort),
        (lambda led, ref: led.move_funds("00" * 16, 1), AccountUnknown),
        (lambda led, ref: led.open_account("alice", "EUR"), AccountExists),
        (lambda led, ref: led.open_account("bob", "ABC"), CurrencyUnknown),
        (lambda led, ref: led.open_account("", "EUR"), TextInvalid),
        (lambda led, ref: led.play(ref, game(), "base", 200, client_seed="é" * 129), TextInvalid),
        (lambda led, ref: led.play(ref, game(), "base", 200, client_seed="\ud800"), TextInvalid),
        (lambda led, ref: led.play(ref, game(), "base", 200, external_ref="x" * 257), TextInvalid),
        (lambda led, ref: led.play(ref, game(), "base", 200, session_ref="s"), TextInvalid),
        (lambda led, ref: led.finish_round("nothing", game()), RoundUnknown),
        (lambda led, ref: led.account("nobody"), AccountUnknown),
        (lambda led, ref: led.account("\ud800"), AccountUnknown),
    ],
)
def test_what_is_refused_records_nothing(tmp_path, call, error):
    """A refused bet or movement leaves balance, slot, nonce and tree as they were."""
    with new_ledger(tmp_path, balance_minor=5000) as (ledger, account_ref):
        play_some(ledger, account_ref, 1)
        before = (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1))
        with pytest.raises(error):
            call(ledger, account_ref)
        assert (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1)) == before
        play_some(ledger, account_ref, 1)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_one_round_in_play_for_an_account(tmp_path):
    """A second bet waits for the first round's end, and the message names that round; another account is free."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        other = ledger.open_account("bob", "KWD")
        ledger.move_funds(other, 10_000)
        opened = ledger.open_round(account_ref, game(), "base", 200)
        with pytest.raises(RoundInPlay, match=opened.round_id):
            ledger.open_round(account_ref, game(), "base", 200)
        play_some(ledger, other, 1)
        ledger.settle_round(opened, game().play(opened.key, "base", 200, {}, ()))
        with pytest.raises(RoundNotOpen):
            ledger.settle_round(opened, game().play(opened.key, "base", 200, {}, ()))
        assert ledger.round_in_play(account_ref) is None
        play_some(ledger, account_ref, 1)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_a_repeated_idempotency_key_pays_once(tmp_path):
    """The same bet under the same key gives the recorded round, without another play, debit or leaf."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        counting = FakeGame()
        first = ledger.play(account_ref, counting, "base", 200, idempotency_key="k", external_ref="r")
        before = (ledger.store.tree(), ledger.account("alice"))
        again = ledger.play(account_ref, counting, "base", 200, idempotency_key="k", external_ref="r")
        assert again == first._replace(is_repeat=True)
        assert (ledger.store.tree(), ledger.account("alice"), counting.play_count) == (*before, 1)
        with pytest.raises(IdempotencyConflict, match=r"bet_minor under idempotency key 'k'.*want 200, got 400"):
            ledger.play(account_ref, counting, "base", 400, idempotency_key="k", external_ref="r")
        with pytest.raises(IdempotencyConflict, match=r"mode"):
            ledger.open_round(account_ref, counting, "ante", 200, idempotency_key="k", external_ref="r")
        assert ledger.play(account_ref, counting, "base", 200, idempotency_key="k2").round_id != first.round_id


def test_a_repeat_of_an_open_round_finishes_it(tmp_path):
    """Where the first call was cut off after its opening, the repeat plays the same round under its own nonce."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        opened = ledger.open_round(account_ref, game(), "base", 200, idempotency_key="k")
        again = ledger.open_round(account_ref, game(), "base", 200, idempotency_key="k")
        assert (again.round_id, again.key, again.data, again.is_repeat) == (opened.round_id, opened.key, opened.data, True)
        played = ledger.play(account_ref, game(), "base", 200, idempotency_key="k")
        assert (played.round_id, played.is_repeat, played.opened) == (opened.round_id, True, opened.event)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_an_open_round_is_finished_by_another_process_with_the_same_outcome(tmp_path):
    """After a crash the round's seed is unsealed and leads to the outcome that was fixed at opening; no new nonce is dealt."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        opened = ledger.open_round(account_ref, game(), "base", 200, client_seed="c")
        expected = game().play(opened.key, "base", 200, {}, ())
        ledger.factory.close()  # as a crash does: the epoch stays open
        ledger._is_closed = True
    with RoundLedger.open_for_writing(tmp_path / "ledger.db") as second:
        assert second.round_in_play(account_ref) == (opened.round_id, opened.event)
        played = second.finish_round(opened.round_id, game())
        assert played.settled.total_win_minor == expected.total_win_minor
        assert [(row.topic, row.data) for row in second.round_events(opened.round_id)[1:-1]] == list(expected.events)
        with pytest.raises(RoundNotOpen):
            second.finish_round(opened.round_id, game())
        play_some(second, account_ref, 1)
    assert rows(tmp_path / "ledger.db", "SELECT next_nonce, is_closed FROM epochs ORDER BY epoch") == [(1, 0), (1, 1)]
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_a_round_is_finished_by_its_own_game_alone(tmp_path):
    """Another build, rules file or seed finishes no round."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        opened = ledger.open_round(account_ref, game(), "base", 200)
        with pytest.raises(GameMismatch, match="engine fingerprint of round"):
            ledger.finish_round(opened.round_id, FakeGame(fingerprint="cd" * 32))
        other = FakeGame()
        other.rules = other.rules.model_copy(update={"version": "0.2.0"})
        with pytest.raises(GameMismatch, match=r"rules version of round .*: want 0.1.0, got 0.2.0"):
            ledger.finish_round(opened.round_id, other)
        altered(tmp_path / "ledger.db", "UPDATE epochs SET seed_commitment = 'zz'")
        with pytest.raises(EpochUnknown):
            ledger.finish_round(opened.round_id, game())


def test_epochs_belong_to_one_writer_and_are_closed_with_their_count(tmp_path):
    """Each writer commits to a seed of its own at its first round; a clean close records how many rounds it had."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        assert rows(path, "SELECT * FROM epochs") == []
        play_some(ledger, account_ref, 3)
    with RoundLedger.open_for_writing(path) as second:
        play_some(second, account_ref, 1)
    with RoundLedger.open_for_writing(path):
        pass  # no round, no epoch
    with RoundLedger.open_for_reading(path) as reader:
        assert reader.store.streams("epoch/") == ["epoch/1", "epoch/2"]
        for number, count in ((1, 3), (2, 1)):
            committed, closed = (json.loads(row.data) for row in reader.store.stream_events(f"epoch/{number}"))
            assert (committed["kind"], closed["kind"], closed["round_count"]) == ("epoch_committed", "epoch_closed", count)
            assert committed["seed_commitment"] == reader.store.epoch(number).seed_commitment
    assert len({row[0] for row in rows(path, "SELECT seed_commitment FROM epochs")}) == 2


def test_a_writer_starts_another_epoch_when_its_own_was_closed(tmp_path):
    """Where another process closes a writer's epoch, its next round comes under a new one."""
    with new_ledger(tmp_path) as (ledger, account_ref), RoundLedger.open_for_writing(tmp_path / "ledger.db") as other:
        play_some(ledger, account_ref, 2)
        other._epochs._open = dict(ledger._epochs._open)
        other._epochs.close()
        (round_id,) = play_some(ledger, account_ref, 1)
        opened = events_of(ledger, round_id)[0]
        assert (opened["epoch"], opened["nonce"]) == (2, 0)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_no_seed_lies_open_in_any_file(tmp_path):
    """Neither seed nor round key stands in the ledger's files, nor in what Python shows of a round or an epoch."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        opened = ledger.open_round(account_ref, game(), "base", 200)
        epoch = ledger._epochs.current(account_ref)
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*") if path.is_file())
        shown = repr(opened) + repr(epoch)
        for secret in (epoch.seed, opened.key):
            assert secret not in stored
            assert secret.hex().encode() not in stored
            assert secret.hex() not in shown
            assert repr(secret) not in shown


def test_names_are_in_no_event(tmp_path):
    """An account's name stands in its own table and nowhere in event bytes, and is found by name or reference."""
    with new_ledger(tmp_path) as (ledger, _):
        ref = ledger.open_account("Zofia Kowalska", "EUR")
        assert ledger.account("Zofia Kowalska") == ledger.account(ref)
        assert ledger.store.account_name(ref) == "Zofia Kowalska"
        assert ledger.store.account_name("00" * 16) is None
    for (state,) in rows(tmp_path / "ledger.db", "SELECT state FROM stored_events"):
        assert b"Zofia" not in state


def test_another_ledgers_seed_key_is_refused(tmp_path):
    """With the wrong seed key no round is finished and no new epoch is sealed; without one, nothing is opened for writing."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        opened = ledger.open_round(account_ref, game(), "base", 200)
    seed_key = tmp_path / "ledger.db.keys" / "seeds.key"
    seed_key.write_bytes(os.urandom(32))
    with RoundLedger.open_for_writing(tmp_path / "ledger.db") as second:
        with pytest.raises(KeyMismatch, match="seed key for epoch 1"):
            second.finish_round(opened.round_id, game())
        other = second.open_account("bob", "EUR")
        second.move_funds(other, 1000)
        with pytest.raises(KeyMismatch):
            second.play(other, game(), "base", 200)
    seed_key.unlink()
    with pytest.raises(KeyMissing):
        RoundLedger.open_for_writing(tmp_path / "ledger.db")


def test_init_names_the_signing_key(tmp_path):
    """The first event holds the ledger's id, which is in the key's name, and the key that checkpoints are signed with."""
    with new_ledger(tmp_path) as (ledger, _):
        created = ledger.created()
    verifier_key = load_verifier_key(tmp_path / "ledger.db.keys" / "log.vkey")
    assert verifier_key.name == f"slot-ledger/{created.ledger_id}"
    assert verifier_key.public_key.hex() == created.log_public_key


def test_rounds_are_found_by_id_prefix_and_reference(tmp_path):
    """An id, eight characters or more that fit one round, or `ext:` and the operator's reference find a round."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        first = ledger.play(account_ref, game(), "base", 200, external_ref="tx-1").round_id
        second = ledger.play(account_ref, game(), "base", 200, external_ref="tx-2").round_id
        ledger.play(account_ref, game(), "base", 200, external_ref="tx-2")
        length = next(length for length in range(8, 33) if first[:length] != second[:length])
        assert ledger.find_round(first) == first
        assert ledger.find_round(first[:length]) == first
        assert ledger.find_round("ext:tx-1") == first
        with pytest.raises(RoundAmbiguous, match=f"{first}, {second}"):
            ledger.find_round(first[:8])
        with pytest.raises(RoundAmbiguous):
            ledger.find_round("ext:tx-2")
        for wanted in ("", "ext:", "ext:tx", first[:7], "f" * 32, "\ud800" * 9, "x" * 500, "%" * 9, "round/" + first):
            with pytest.raises(RoundUnknown):
                ledger.find_round(wanted)


def test_round_ids_are_uuid7_and_grow(monkeypatch):
    """Ids are version 7 in 32 hex digits and strictly rising, also where the clock stands still or goes back."""
    ids = RoundIds()
    made = [ids.next() for _ in range(1000)]
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    made += [ids.next() for _ in range(1000)]
    ids._last_random = 2**74 - 1
    made += [ids.next() for _ in range(10)]
    assert made == sorted(set(made))
    assert all(len(round_id) == 32 and round_id[12] == "7" and round_id[16] in "89ab" for round_id in made)


def test_threads_take_a_slot_once(tmp_path):
    """Of eight threads that bet at once for one account, one gets the round, and no nonce or cost is taken twice."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        results = []
        start = threading.Barrier(8)

        def bet():
            start.wait()
            try:
                results.append(ledger.open_round(account_ref, game(), "base", 200).round_id)
            except RoundInPlay:
                results.append(None)

        threads = [threading.Thread(target=bet) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert sum(result is not None for result in results) == 1
        assert ledger.account("alice").balance_minor == 10**9 - 200
    assert rows(tmp_path / "ledger.db", "SELECT count(*), sum(next_nonce) FROM epochs") == [(1, 1)]
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def test_reading_rounds_imports_no_more_than_it_needs():
    """Opening a ledger to read loads neither cryptography nor the tools of the read model and of bulk work."""
    code = "import sys, ledger.rounds, ledger.history, ledger.export; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "eventsourcing" in loaded
    assert not {"cryptography", "sqlite_utils", "rich", "numpy", "numba", "typer", "replay", "audit_reports"} & set(loaded)


KILLS = int(os.environ.get("SLOT_AUDIT_KILLS", "8"))


def start_process(path, account_ref, *, rounds=-1):
    command = [sys.executable, str(ROOT / "tests" / "ledger" / "writing_process.py"), str(path), account_ref, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def said(process):
    """What a killed process had said: the opened and the settled rounds."""
    # A line that the kill cut off was never said. Read from the stream itself: `communicate` leaves out what its buffer
    # took in together with the first line.
    timer = threading.Timer(60, process.kill)
    timer.start()
    try:
        with process.stdout as stream:
            text = stream.read()
        process.wait()
    finally:
        timer.cancel()
        process.kill()
    lines = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line[1] for line in lines if line[0] == "open"], [line[1] for line in lines if line[0] == "done"]


def test_kill_9_loses_and_halves_nothing(tmp_path):
    """Killed at random moments, the writer leaves no partial round, each acknowledged one is there, and the open one can be finished."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        pass
    chance = random.Random(20)
    opened, done = [], []
    for _ in range(KILLS):
        process = start_process(path, account_ref)
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.05, 0.3))
        process.send_signal(signal.SIGKILL)
        now_opened, now_done = said(process)
        opened, done = opened + now_opened, done + now_done
        assert whole_ledger_faults(path) == []
        with RoundLedger.open_for_writing(path) as ledger:
            if in_play := ledger.round_in_play(account_ref):
                ledger.finish_round(in_play[0], game())
            assert ledger.round_in_play(account_ref) is None
    statuses = dict(rows(path, "SELECT round_id, status FROM rounds"))
    assert done
    assert set(opened) <= set(statuses)
    assert set(done) <= set(statuses)
    assert set(statuses.values()) == {"settled"}
    assert len(statuses) - len(opened) <= KILLS  # committed, and killed before it could be said
    assert whole_ledger_faults(path) == []
    nonces = rows(
        path, "SELECT json_extract(state, '$.epoch'), json_extract(state, '$.nonce') FROM stored_events WHERE topic = 'round_opened/1'"
    )
    assert len(set(nonces)) == len(nonces)


def test_processes_share_a_ledger(tmp_path):
    """Three writers at once, two of them on one account, keep one whole ledger; nobody's round is settled twice."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, account_ref):
        other = ledger.open_account("bob", "EUR")
        ledger.move_funds(other, 10**9)
    processes = [start_process(path, ref, rounds=25) for ref in (account_ref, account_ref, other)]
    results = [said(process) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [len(done) for _, done in results] == [25, 25, 25]
    assert len({round_id for _, done in results for round_id in done}) == 75
    assert whole_ledger_faults(path) == []
    assert rows(path, "SELECT next_nonce, is_closed FROM epochs") == [(25, 1)] * 3


LOOKED_AT = """
import os, subprocess, sys
from pathlib import Path
from ledger.rounds import RoundLedger
from tests.ledger_files import game
path, ref, other = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
ledger = RoundLedger.open_for_writing(path)
ledger.play(ref, game(), 'base', 200)
RoundLedger.open_for_reading(path).close()
subprocess.run([sys.executable, 'tests/ledger/writing_process.py', str(path), other, '2'], check=True, stdout=subprocess.DEVNULL)
for _ in range(5):
    print(ledger.play(ref, game(), 'base', 200).round_id, flush=True)
os._exit(0)
"""


def test_looking_at_a_ledger_takes_no_lock_from_its_writer(tmp_path):
    """A writer whose process also opens the ledger to read keeps its lock: another's end does not take the log away from under it."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        other = ledger.open_account("bob", "EUR")
        ledger.move_funds(other, 10**9)
    path = tmp_path / "ledger.db"
    command = [sys.executable, "-c", LOOKED_AT, str(path), account_ref, other]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 5
    assert set(done.stdout.split()) <= {name for (name,) in rows(path, "SELECT round_id FROM rounds")}
    assert whole_ledger_faults(path) == []
