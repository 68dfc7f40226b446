"""Epochs of accounts and of writers: when they end, how many may be open, and that no seed and nonce are dealt twice."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.copying import copy_ledger
from ledger.epochs import close_epochs
from ledger.errors import LedgerReadOnly
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from tests.ledger_files import game, new_ledger, play_some, whole_ledger_faults

EXAMPLES = int(os.environ.get("SLOT_AUDIT_RESTORES", "12"))


@pytest.fixture
def of_accounts(tmp_path):
    """A ledger in the account way and the references of four accounts."""
    with new_ledger(tmp_path):
        pass
    with RoundLedger.open_for_writing(tmp_path / "ledger.db", epoch_of="account") as ledger:
        refs = [ledger.open_account(f"account {number}", "EUR") for number in range(4)]
        for ref in refs:
            ledger.move_funds(ref, 100_000)
        yield ledger, refs
    assert list(check_ledger(tmp_path / "ledger.db")) == []
    assert whole_ledger_faults(tmp_path / "ledger.db") == []


def epoch_and_nonce(ledger, ref):
    event = ledger.play(ref, game(), "base", 200).opened
    return event.epoch, event.nonce


def test_an_account_s_epoch_is_spent_by_count_and_by_age(of_accounts):
    """An epoch of an account ends after its own rounds or its own time; the next account's goes on."""
    ledger, (ann, bob, *_) = of_accounts
    ledger._epochs.rounds_max = 2
    assert [epoch_and_nonce(ledger, ref) for ref in (ann, ann, bob, ann, bob, ann)] == [(1, 0), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]
    ledger._epochs.rounds_max = 100
    ledger._epochs.seconds_max = 0
    assert [epoch_and_nonce(ledger, ref) for ref in (ann, bob)] == [(4, 0), (5, 0)]
    assert [ledger.store.epoch(number).is_closed for number in range(1, 6)] == [True, True, True, True, False]


def test_epochs_nobody_bets_under_end_as_well(of_accounts):
    """The start of one account's epoch closes those of other accounts that are past their age, the account never seen again."""
    ledger, (ann, bob, cid, _) = of_accounts
    for ref in (ann, bob):
        play_some(ledger, ref, 1)
    for held in ledger._epochs._open.values():
        held.started -= ledger._epochs.seconds_max
    assert epoch_and_nonce(ledger, cid) == (3, 0)
    assert [ledger.store.epoch(number).is_closed for number in (1, 2, 3)] == [True, True, False]


def test_a_writer_holds_no_more_epochs_than_it_may(of_accounts):
    """Where too many accounts bet, the epoch that was started first ends, and its account starts another."""
    ledger, refs = of_accounts
    ledger._epochs.open_max = 2
    assert [epoch_and_nonce(ledger, ref) for ref in (*refs[:3], refs[0], refs[2])] == [(1, 0), (2, 0), (3, 0), (4, 0), (3, 1)]
    assert len(ledger._epochs._open) == 2


def test_what_was_shown_is_what_the_bet_is_under(of_accounts):
    """The commitment shown is the next round's; one that another process closed is never shown."""
    ledger, (ann, *_) = of_accounts
    shown = ledger.commitment(ann)
    opened = ledger.play(ann, game(), "base", 200, client_seed="chosen then").opened
    assert (opened.epoch, opened.seed_commitment, opened.nonce) == shown
    with RoundLedger.open_for_writing(ledger.path) as other:
        assert close_epochs(other.store, [shown.epoch, 99]) == [shown.epoch]
        assert close_epochs(other.store, [shown.epoch]) == []
    again = ledger.commitment(ann)
    assert (again.epoch, again.next_nonce) == (2, 0)


def test_a_reader_commits_to_nothing(of_accounts):
    """Without keys no commitment is made."""
    ledger, (ann, *_) = of_accounts
    with RoundLedger.open_for_reading(ledger.path) as reader, pytest.raises(LedgerReadOnly):
        reader.commitment(ann)


@settings(max_examples=EXAMPLES, deadline=None)
@given(owner=st.sampled_from(["writer", "account"]), course=st.lists(st.sampled_from(["play", "back up", "restore", "crash"]), max_size=14))
def test_no_restored_backup_deals_a_seed_and_nonce_twice(owner, course):
    """Whatever is backed up, put back and played on, in either way, every pair of commitment and nonce is dealt once."""
    with tempfile.TemporaryDirectory() as folder:
        path, keys, backup = Path(folder) / "ledger.db", Path(folder) / "keys", Path(folder) / "backup.db"
        with RoundLedger.create(path, keys) as ledger:
            refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
            for ref in refs:
                ledger.move_funds(ref, 100_000)
        ledger = RoundLedger.open_for_writing(path, keys, epoch_of=owner)
        dealt = set()
        for number, step in enumerate(["play", "back up", *course, "play", "restore", "play", "play"]):
            if step == "play":
                event = ledger.play(refs[number % 2], game(), "base", 200).opened
                assert (event.seed_commitment, event.nonce) not in dealt
                dealt.add((event.seed_commitment, event.nonce))
            elif step == "back up":
                backup.unlink(missing_ok=True)
                copy_ledger(path, backup)
            else:
                ledger.factory.close()  # as a process that died: no epoch is closed
                ledger._is_closed = True
                if step == "restore":
                    for old in Path(folder).glob("ledger.db*"):
                        old.unlink()
                    shutil.copyfile(backup, path)
                ledger = RoundLedger.open_for_writing(path, keys, epoch_of=owner)
        ledger.close()
        assert list(check_ledger(path)) == []
