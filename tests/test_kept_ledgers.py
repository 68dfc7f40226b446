"""Ledgers written when issues were closed, verified for ever: old bytes are never rewritten, and stay readable."""

import shutil
from pathlib import Path

import pytest

from engines.registry import installed_rules
from ledger.checkpoint import load_checkpoint
from ledger.checkpoints import find_divergence
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from tests.conftest import ROOT
from tests.ledger_files import rows, whole_ledger_faults

KEPT = sorted((ROOT / "tests" / "golden" / "ledgers").iterdir())


def written(path: Path) -> int:
    """Return when a ledger was written to last: a round in play is judged as of then, or it would be overdue one day."""
    return int(rows(path, "SELECT max(recorded_at_us) FROM leaves")[0][0])


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_ledger_verifies(folder: Path, tmp_path: Path) -> None:
    """Record, totals and referee of each kept ledger pass; its rounds are reproduced, or their draft rules were replaced."""
    path = tmp_path / "ledger.db"
    shutil.copyfile(folder / "ledger.db", path)
    (kept,) = (folder / "keys" / "checkpoints").iterdir()
    checkpoint = load_checkpoint(kept).checkpoint
    assert list(check_ledger(path, held_roots=[(checkpoint.tree_size, checkpoint.root)])) == []
    summary = BulkSummary()
    unclean = [each for each in verify_bulk(plan_bulk(path, folder / "keys", as_of_us=written(path)), summary) if each is not None]
    assert summary.finding_count == 0
    assert set(summary.verdicts) <= {"reproduced", "incomplete_open", "incomplete_resolved", "not_replayable"}
    assert not any(check.result == "fail" for each in unclean for check in each.checks)


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_ledger_is_grown_on(folder: Path, tmp_path: Path) -> None:
    """Kept ledgers hold nodes behind their last block, as it was; through the ends of two blocks all stays right and covered."""
    path = tmp_path / "ledger.db"
    shutil.copyfile(folder / "ledger.db", path)
    shutil.copytree(folder / "keys", tmp_path / "keys")
    (kept,) = (folder / "keys" / "checkpoints").iterdir()
    checkpoint = load_checkpoint(kept).checkpoint
    held = [(checkpoint.tree_size, checkpoint.root)]
    with RoundLedger.open_for_writing(path, tmp_path / "keys") as ledger:
        ref = ledger.account("bob").account_ref
        for _ in range(130):
            ledger.move_funds(ref, 1)
            if ledger.store.tree_size() % 64 in (0, 1, 63):
                assert find_divergence(checkpoint, ledger.store.tree(), ledger.store.subtree) is None
                assert list(check_ledger(path, held_roots=held)) == []
                assert whole_ledger_faults(path) == []


def test_the_rounds_of_the_draft_in_force_are_reproduced(tmp_path: Path) -> None:
    """While the draft that the kept ledger of issue 2 was played by is installed, its rounds are reproduced."""
    folder = ROOT / "tests" / "golden" / "ledgers" / "issue-2"
    path = tmp_path / "ledger.db"
    shutil.copyfile(folder / "ledger.db", path)
    summary = BulkSummary()
    for _ in verify_bulk(plan_bulk(path, folder / "keys", as_of_us=written(path)), summary):
        pass
    with RoundLedger.open_for_reading(path) as ledger:
        in_play = ledger.round_in_play(ledger.account("bob").account_ref)
    assert in_play is not None
    if in_play[1].rules_hash == installed_rules("moonlight-princess", "0.1.0").rules_hash:
        assert summary.verdicts == {"reproduced": 8, "incomplete_open": 1}
