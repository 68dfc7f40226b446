"""A whole ledger by chunks: any worker can verify any chunk, and the report does not depend on how many there are."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from engines.canonical import strict_values
from engines.rules import GameRules
from engines.workers import start_worker
from ledger.address import LedgerPlace
from ledger.history import ALL_ROUNDS, RoundFilter
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM, RoundRecord
from replay.anchors import NO_ANCHORS, Anchors, Comparison
from replay.verdict import EXIT_CLEAN, Finding, exit_status
from replay.verification import Verification, Verifier
from replay.whole_ledger import check_whole_ledger

__all__ = ["BulkPlan", "BulkSummary", "ChunkResult", "may_be_wanted", "plan_bulk", "verify_bulk", "verify_chunk"]

CHUNK_ROUNDS = 250
COMPILE_FROM = 200  # rounds for which machine code pays off


class BulkPlan(NamedTuple):
    """Which rounds are to be verified; `is_whole` where they are all there are."""

    path: LedgerPlace
    keys_dir: Path
    rules: GameRules | None
    streams: tuple[str, ...]
    is_whole: bool
    tree_size: int  # of the moment that is verified; what is recorded later is left to the next time
    anchors: Anchors = NO_ANCHORS  # what the ledger's tree is held against
    round_keys: Mapping[str, bytes] | None = None  # released keys by round id, for rounds whose seed is sealed
    as_of_us: int | None = None  # when rounds in play and open disputes are judged, now where it is None

    @property
    def round_count(self) -> int:
        """The number of rounds."""
        return len(self.streams)


class ChunkTask(NamedTuple):
    """What a worker needs for one chunk."""

    path: LedgerPlace
    keys_dir: Path
    rules: GameRules | None
    streams: tuple[str, ...]
    is_compiled: bool
    has_paths: bool
    round_keys: Mapping[str, bytes] | None = None
    as_of_us: int | None = None


class ChunkResult(NamedTuple):
    """What a chunk came to; `unclean` are the verifications that say more than "reproduced"."""

    round_count: int
    verdicts: Counter[str]
    unclean: list[Verification]
    cost_minor: Counter[str]
    win_minor: Counter[str]
    refund_minor: Counter[str]
    draft_count: int


@dataclass
class BulkSummary:
    """The sums over all chunks, complete when `verify_bulk` has been read to its end. Money by currency."""

    round_count: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    finding_count: int = 0
    warning_count: int = 0
    cost_minor: Counter[str] = field(default_factory=Counter)
    win_minor: Counter[str] = field(default_factory=Counter)
    refund_minor: Counter[str] = field(default_factory=Counter)  # of voids, bonus money included
    draft_count: int = 0
    ledger_findings: list[Finding] = field(default_factory=list)
    tree_size: int = 0
    root: str = ""
    comparison: Comparison = field(default_factory=Comparison)
    is_whole: bool = True  # all rounds, and so the ledger as a whole
    is_wrong: bool = False

    def add(self, result: ChunkResult) -> None:
        """Add a chunk's sums."""
        self.round_count += result.round_count
        self.verdicts += result.verdicts
        self.cost_minor += result.cost_minor
        self.win_minor += result.win_minor
        self.refund_minor += result.refund_minor
        self.draft_count += result.draft_count
        for verification in result.unclean:
            warnings = sum(finding.severity == "warning" for finding in verification.findings)
            self.warning_count += warnings
            self.finding_count += len(verification.findings) - warnings
            self.is_wrong |= exit_status(verification.verdict, verification.findings) != EXIT_CLEAN


def plan_bulk(
    path: LedgerPlace,
    keys_dir: Path,
    wanted: RoundFilter = ALL_ROUNDS,
    *,
    rules: GameRules | None = None,
    sample_count: int | None = None,
    anchors: Anchors = NO_ANCHORS,
    round_keys: Mapping[str, bytes] | None = None,
    as_of_us: int | None = None,
) -> BulkPlan:
    """Return which rounds to verify: those wanted, in the order of opening, or `sample_count` of them evenly spread.

    as_of_us: when rounds in play and open disputes are judged, now where it is None.
    Raises as `RoundLedger.open_for_reading`, and AccountUnknown.
    """
    ledger = RoundLedger.open_for_reading(path)
    try:
        if wanted.account_ref:
            wanted = wanted._replace(account_ref=ledger.account(wanted.account_ref).account_ref)
        tree_size = ledger.store.tree_size()
        as_of_us = ledger.store.clock() if as_of_us is None else as_of_us  # the same for all workers
        streams = [
            record.stream
            for record in ledger.store.round_records(topics=("round_opened/1",))
            if not (record.appends and record.appends[0].leaf_index >= tree_size) and may_be_wanted(ledger, record, wanted)
        ]
    finally:
        ledger.close()
    is_whole = wanted == ALL_ROUNDS and sample_count is None
    if sample_count is not None and sample_count < len(streams):
        streams = [streams[i * len(streams) // sample_count] for i in range(sample_count)]
    return BulkPlan(path, keys_dir, rules, tuple(streams), is_whole, tree_size, anchors, round_keys, as_of_us)


def may_be_wanted(ledger: RoundLedger, record: RoundRecord, wanted: RoundFilter) -> bool:
    """Return whether a round is one that is wanted by anything that says so.

    Nothing of a round is verified yet, so no single altered field may take it out of an audit: its event, its leaf's time
    and the ledger's own row each bring it in, and one that cannot be read is always in.
    """
    if wanted == ALL_ROUNDS:
        return True
    opening = strict_values(record.events[0].data) if record.events else None
    if opening is None or opening.get("kind") != "round_opened":
        return True
    row = ledger.store.round(record.round_id)
    times = [opening.get("opened_at_us"), *(append.recorded_at_us for append in record.appends[:1])]
    since, until = wanted.since_us, wanted.until_us
    in_time = any(isinstance(at, int) and (since is None or at >= since) and (until is None or at < until) for at in times)
    of_account = wanted.account_ref in ("", opening.get("account_ref"), row.account_ref if row else "")
    of_game = wanted.game in ("", opening.get("game"), row.game if row else "")
    return in_time and of_account and of_game


def verify_chunk(task: ChunkTask) -> ChunkResult:
    """Verify the rounds of one chunk; the same function on this machine's cores and on any other."""
    ledger = RoundLedger.open_for_reading(task.path)
    try:
        verifier = Verifier(
            ledger,
            keys_dir=task.keys_dir,
            rules=task.rules,
            is_compiled=task.is_compiled,
            anchors=None,
            round_keys=task.round_keys,
            as_of_us=task.as_of_us,
        )
        result = ChunkResult(0, Counter(), [], Counter(), Counter(), Counter(), 0)
        draft_count = 0
        for verification in _verifications(ledger, verifier, task):
            result.verdicts[verification.verdict] += 1
            opened, settled = verification.opened, verification.settled
            if opened is not None:
                result.cost_minor[opened.currency] += opened.cost_minor
                draft_count += opened.rules_version.startswith("0.")
                if settled is not None:
                    result.win_minor[opened.currency] += settled.total_win_minor
                if (voided := verification.voided) is not None:
                    result.refund_minor[opened.currency] += voided.refund_minor + voided.refund_bonus_minor
            if verification.findings or verification.verdict != "reproduced":
                result.unclean.append(verification)
        return result._replace(round_count=len(task.streams), draft_count=draft_count)
    finally:
        ledger.close()


def _verifications(ledger: RoundLedger, verifier: Verifier, task: ChunkTask) -> Iterator[Verification]:
    """Yield each round's verification; where not all leaves are gone over in the end, each by its own audit paths."""
    if task.has_paths:
        for stream in task.streams:
            yield verifier.verify(stream.removeprefix(ROUND_STREAM))
    else:
        for record in ledger.store.records_of(task.streams):
            yield verifier.verify_record(record)


def verify_bulk(plan: BulkPlan, summary: BulkSummary, *, job_count: int = 1) -> Iterator[Verification | None]:
    """Yield for each round its verification where that is not clean, else None, and fill `summary`.

    The order is that of the record whatever `job_count` is. At the end the rounds' nonces and states are held against
    those of all rounds, and the disputes that concern one of them are judged; where the plan is the whole ledger, the root over
    all leaves and the balances of all accounts are checked as well; where anchors are given, that root is held against them
    whatever the plan is. These findings are the summary's.
    """
    summary.is_whole = plan.is_whole
    is_compiled = plan.round_count >= COMPILE_FROM and find_spec("numba") is not None
    tasks = [
        ChunkTask(plan.path, plan.keys_dir, plan.rules, streams, is_compiled, not plan.is_whole, plan.round_keys, plan.as_of_us)
        for streams in (plan.streams[i : i + CHUNK_ROUNDS] for i in range(0, plan.round_count, CHUNK_ROUNDS))
    ]
    unclean_ids: set[str] = set()
    seed_failed_ids: set[str] = set()
    state_failed_ids: set[str] = set()
    for result in _results(tasks, job_count):
        summary.add(result)
        unclean_ids.update(each.round_id for each in result.unclean if exit_status(each.verdict, each.findings) != EXIT_CLEAN)
        seed_failed_ids.update(verification.round_id for verification in result.unclean if _is_seed_failed(verification))
        state_failed_ids.update(verification.round_id for verification in result.unclean if _is_state_failed(verification))
        yield from result.unclean
        yield from (None for _ in range(result.round_count - len(result.unclean)))
    check_whole_ledger(plan, summary, unclean_ids, seed_failed_ids, state_failed_ids)


def _is_seed_failed(verification: Verification) -> bool:
    return any(check.name == "seed" and check.result == "fail" for check in verification.checks)


def _is_state_failed(verification: Verification) -> bool:
    return any(finding.code in ("state_in", "state_out", "state_carried") for finding in verification.findings)


def _results(tasks: list[ChunkTask], job_count: int) -> Iterator[ChunkResult]:
    if job_count <= 1 or len(tasks) <= 1:
        yield from map(verify_chunk, tasks)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(min(job_count, len(tasks)), context, start_worker, (os.getpid(),)) as pool:
        yield from pool.map(verify_chunk, tasks)
