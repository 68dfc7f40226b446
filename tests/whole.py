"""What anybody can find wrong with a ledger of real rounds: fsck, a second reading of the tables, verification with the referee."""

from collections.abc import Iterable
from pathlib import Path

from ledger.fsck import check_ledger
from replay.anchors import NO_ANCHORS, Anchors
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from tests.ledger_files import whole_ledger_faults

__all__ = ["everything_wrong", "fsck_messages"]

CLEAN_VERDICTS = {"reproduced", "incomplete_open", "incomplete_resolved"}


def fsck_messages(path: Path, held_roots: Iterable[tuple[int, bytes]] = ()) -> list[str]:
    """Return what fsck says of a ledger, held against the size and root of kept checkpoints."""
    return [fault.message for fault in check_ledger(path, held_roots=held_roots) if fault is not None]


def everything_wrong(
    path: Path, keys_dir: Path, *, held_roots: Iterable[tuple[int, bytes]] = (), anchors: Anchors = NO_ANCHORS
) -> list[str]:
    """Return all that is found wrong with a ledger and its rounds; a round in play is nothing wrong."""
    found = fsck_messages(path, held_roots) + whole_ledger_faults(path)
    summary = BulkSummary()
    for each in verify_bulk(plan_bulk(path, keys_dir, anchors=anchors), summary):
        if each is not None and each.verdict not in CLEAN_VERDICTS:
            found.append(f"round {each.round_id}: {each.verdict}")
    if summary.is_wrong or summary.finding_count:
        found.append(f"verify: {summary.finding_count} findings, {[finding.message for finding in summary.ledger_findings]}")
    return found
