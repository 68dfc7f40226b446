"""A backup that is put back and goes on: no nonce of an epoch is dealt for two outcomes, and the two records are told apart."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger.checkpoints import CheckpointInconsistent, find_divergence, sign_tree
from ledger.copying import copy_ledger
from ledger.rounds import RoundLedger
from tests.ledger_files import game, new_ledger, play_some, rows, whole_ledger_faults
from tests.whole import fsck_messages


def dealt(path: Path) -> dict[tuple[str, int], str]:
    """Return the commitment to the round key under each seed commitment and nonce of a record; a pair that is there twice is a failure."""
    found: dict[tuple[str, int], str] = {}
    for (data,) in rows(path, "SELECT state FROM stored_events WHERE topic = 'round_opened/1'"):
        event = json.loads(data)
        place = (event["seed_commitment"], event["nonce"])
        assert place not in found
        found[place] = event["round_key_commitment"]
    return found


def put_back(backup: Path, path: Path) -> None:
    """Restore a ledger in its place, as SQLite does it, whoever has it open."""
    with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "in use"])
def test_two_lives_of_one_backup_share_no_nonce(tmp_path, is_closed):
    """Original and restored backup go on apart: what both dealt under one nonce is one round, opened before the backup, with one key."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
        in_play = ledger.open_round(account_ref, game(), "base", 200)
        if not is_closed:
            copy_ledger(tmp_path / "ledger.db", tmp_path / "backup.db")
        ledger.finish_round(in_play.round_id, game())
        play_some(ledger, account_ref, 4, client_seed="first life")
        before = dealt(tmp_path / "ledger.db") if is_closed else dealt(tmp_path / "backup.db")
        if is_closed:
            copy_ledger(tmp_path / "ledger.db", tmp_path / "backup.db")
        play_some(ledger, account_ref, 2, client_seed="first life")
    with RoundLedger.open_for_writing(tmp_path / "backup.db", tmp_path / "ledger.db.keys") as restored:
        if found := restored.round_in_play(account_ref):
            restored.finish_round(found[0], game())
        play_some(restored, account_ref, 4, client_seed="second life")
    with RoundLedger.open_for_writing(tmp_path / "ledger.db") as ledger:
        play_some(ledger, account_ref, 2, client_seed="first life")
    first, second = dealt(tmp_path / "ledger.db"), dealt(tmp_path / "backup.db")
    assert set(first) & set(second) == set(before)
    assert all(first[place] == second[place] for place in before)
    assert fsck_messages(tmp_path / "ledger.db") == fsck_messages(tmp_path / "backup.db") == []


@pytest.mark.parametrize("is_grown", [False, True], ids=["at once", "after a longer epoch"])
def test_a_writer_whose_ledger_is_put_back_under_it_deals_no_nonce_twice(tmp_path, is_grown):
    """A writer that is running while a backup is restored in its file leaves its epoch, whose nonces it had dealt, and starts another."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        path = tmp_path / "ledger.db"
        play_some(ledger, account_ref, 3)
        copy_ledger(path, tmp_path / "backup.db")
        play_some(ledger, account_ref, 4, client_seed="first life")
        first = dealt(path)
        put_back(tmp_path / "backup.db", path)
        if is_grown:
            with RoundLedger.open_for_writing(path) as other:
                play_some(other, account_ref, 6)
        play_some(ledger, account_ref, 5, client_seed="second life")
    second = dealt(path)
    assert all(first[place] == second[place] for place in set(first) & set(second))
    assert fsck_messages(path) == []
    assert whole_ledger_faults(path) == []


def test_an_epoch_of_another_writer_under_the_same_number_is_not_taken(tmp_path):
    """Where the restored ledger has given the writer's epoch number to another seed, the writer leaves it alone."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        path = tmp_path / "ledger.db"
        copy_ledger(path, tmp_path / "backup.db")
        play_some(ledger, account_ref, 2)
        put_back(tmp_path / "backup.db", path)
        other = RoundLedger.open_for_writing(path)
        play_some(other, account_ref, 3)
        play_some(ledger, account_ref, 2)
        other.close()
    commitments = rows(path, "SELECT epoch, seed_commitment FROM epochs")
    for place in dealt(path):
        assert place[0] in {commitment for _, commitment in commitments}
    assert len(dealt(path)) == 5
    opened = [json.loads(data) for (data,) in rows(path, "SELECT state FROM stored_events WHERE topic = 'round_opened/1'")]
    assert {(event["epoch"], event["seed_commitment"]) for event in opened} <= set(commitments)
    assert fsck_messages(path) == []


def test_a_restored_backup_is_told_by_checkpoints(tmp_path):
    """The log signs no tree of a restored backup; a kept checkpoint shows it short, and once it has grown, another record."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        path, keys = tmp_path / "ledger.db", tmp_path / "ledger.db.keys"
        play_some(ledger, account_ref, 2)
        copy_ledger(path, tmp_path / "backup.db")
        play_some(ledger, account_ref, 2)
        kept = sign_tree(ledger, keys).signed.checkpoint
    with RoundLedger.open_for_writing(tmp_path / "backup.db", keys) as restored:
        short = find_divergence(kept, restored.store.tree(), restored.store.subtree)
        with pytest.raises(CheckpointInconsistent, match="tree size"):
            sign_tree(restored, keys)
        play_some(restored, account_ref, 8)
        other = find_divergence(kept, restored.store.tree(), restored.store.subtree)
        with pytest.raises(CheckpointInconsistent, match="root at"):
            sign_tree(restored, keys)
    assert (short and short.code, other and other.code) == ("checkpoint_tree_short", "checkpoint_root")
    assert any("root" in message for message in fsck_messages(tmp_path / "backup.db", [(kept.tree_size, kept.root)]))
    shutil.copyfile(tmp_path / "ledger.db", tmp_path / "same.db")
    assert fsck_messages(tmp_path / "same.db", [(kept.tree_size, kept.root)]) == []
