"""A whole ledger by chunks: any worker can verify any chunk, and the report does not depend on how many there are."""

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from engines.canonical import CanonicalFormError
from engines.rules import GameRules
from ledger.address import LedgerPlace
from ledger.codec import parse_event
from ledger.errors import LedgerError, TreeBroken
from ledger.history import ALL_ROUNDS, RoundFilter, round_rows
from ledger.lifecycle_events import FundsMoved, RoundOpened, RoundSettled
from ledger.merkle import root_of_leaves
from ledger.rounds import RoundLedger
from ledger.store import ACCOUNT_STREAM, ROUND_STREAM, LeafRow, RoundRecord, Tree
from replay.anchors import NO_ANCHORS, Anchors, Comparison, compare
from replay.reconcile import AccountFact, reconcile_account
from replay.verdict import EXIT_CLEAN, Finding, exit_status
from replay.verification import Verification, Verifier

__all__ = ["BulkPlan", "BulkSummary", "ChunkResult", "plan_bulk", "verify_bulk", "verify_chunk"]

CHUNK_ROUNDS = 250
COMPILE_FROM = 200  # rounds for which machine code pays off
LIFECYCLE_TOPICS = ("round_opened/1", "round_settled/1")


class BulkPlan(NamedTuple):
    """Which rounds are to be verified; `is_whole` where they are all there are."""

    path: LedgerPlace
    keys_dir: Path
    rules: GameRules | None
    streams: tuple[str, ...]
    is_whole: bool
    anchors: Anchors = NO_ANCHORS  # what the ledger's tree is held against
    round_keys: Mapping[str, bytes] | None = None  # released keys by round id, for rounds whose seed is sealed

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
    round_keys: Mapping[str, bytes] | None = None


class ChunkResult(NamedTuple):
    """What a chunk came to; `unclean` are the verifications that say more than "reproduced"."""

    round_count: int
    verdicts: Counter[str]
    unclean: list[Verification]
    cost_minor: Counter[str]
    win_minor: Counter[str]
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
    draft_count: int = 0
    ledger_findings: list[Finding] = field(default_factory=list)
    tree_size: int = 0
    root: str = ""
    comparison: Comparison = field(default_factory=Comparison)
    is_wrong: bool = False

    def add(self, result: ChunkResult) -> None:
        """Add a chunk's sums."""
        self.round_count += result.round_count
        self.verdicts += result.verdicts
        self.cost_minor += result.cost_minor
        self.win_minor += result.win_minor
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
) -> BulkPlan:
    """Return which rounds to verify: those wanted, in the order of opening, or `sample_count` of them evenly spread.

    Raises as `RoundLedger.open_for_reading`, and AccountUnknown.
    """
    ledger = RoundLedger.open_for_reading(path)
    try:
        is_whole = wanted == ALL_ROUNDS and sample_count is None
        if wanted == ALL_ROUNDS:
            streams = [record.stream for record in ledger.store.round_records(topics=("round_opened/1",))]
        else:
            if wanted.account_ref:
                wanted = wanted._replace(account_ref=ledger.account(wanted.account_ref).account_ref)
            streams = [ROUND_STREAM + entry.round_id for entry in round_rows(ledger, wanted)]
    finally:
        ledger.close()
    if sample_count is not None and sample_count < len(streams):
        streams = [streams[i * len(streams) // sample_count] for i in range(sample_count)]
    return BulkPlan(path, keys_dir, rules, tuple(streams), is_whole, anchors, round_keys)


def verify_chunk(task: ChunkTask) -> ChunkResult:
    """Verify the rounds of one chunk; the same function on this machine's cores and on any other."""
    ledger = RoundLedger.open_for_reading(task.path)
    try:
        verifier = Verifier(ledger, keys_dir=task.keys_dir, rules=task.rules, is_compiled=task.is_compiled, round_keys=task.round_keys)
        result = ChunkResult(0, Counter(), [], Counter(), Counter(), 0)
        draft_count = 0
        for record in ledger.store.records_of(task.streams):
            verification = verifier.verify_record(record)
            result.verdicts[verification.verdict] += 1
            opened, settled = verification.opened, verification.settled
            if opened is not None:
                result.cost_minor[opened.currency] += opened.cost_minor
                draft_count += opened.rules_version.startswith("0.")
                if settled is not None:
                    result.win_minor[opened.currency] += settled.total_win_minor
            if verification.findings or verification.verdict != "reproduced":
                result.unclean.append(verification)
        return result._replace(round_count=len(task.streams), draft_count=draft_count)
    finally:
        ledger.close()


def verify_bulk(plan: BulkPlan, summary: BulkSummary, *, job_count: int = 1) -> Iterator[Verification | None]:
    """Yield for each round its verification where that is not clean, else None, and fill `summary`.

    The order is that of the record whatever `job_count` is. Where the plan is the whole ledger, the root over all
    leaves and the balances of all accounts are checked at the end; where anchors are given, that root is held against
    them whatever the plan is. These findings are the summary's.
    """
    is_compiled = plan.round_count >= COMPILE_FROM and find_spec("numba") is not None
    tasks = [
        ChunkTask(plan.path, plan.keys_dir, plan.rules, plan.streams[i : i + CHUNK_ROUNDS], is_compiled, plan.round_keys)
        for i in range(0, plan.round_count, CHUNK_ROUNDS)
    ]
    unclean_ids: set[str] = set()
    for result in _results(tasks, job_count):
        summary.add(result)
        unclean_ids.update(verification.round_id for verification in result.unclean)
        yield from result.unclean
        yield from (None for _ in range(result.round_count - len(result.unclean)))
    _check_ledger(plan, summary, unclean_ids)


def _results(tasks: list[ChunkTask], job_count: int) -> Iterator[ChunkResult]:
    if job_count <= 1 or len(tasks) <= 1:
        yield from map(verify_chunk, tasks)
        return
    with ProcessPoolExecutor(min(job_count, len(tasks)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(verify_chunk, tasks)


def _check_ledger(plan: BulkPlan, summary: BulkSummary, unclean_ids: set[str]) -> None:
    ledger = RoundLedger.open_for_reading(plan.path)
    try:
        tree = _root_tree(ledger, plan, summary)
        summary.comparison = compare(ledger, plan.anchors, tree)
        summary.ledger_findings.extend(summary.comparison.findings)
        if plan.is_whole:
            summary.ledger_findings.extend(_check_balances(ledger, unclean_ids))
    finally:
        ledger.close()
    summary.finding_count += len(summary.ledger_findings)
    summary.is_wrong |= bool(summary.ledger_findings)


def _root_tree(ledger: RoundLedger, plan: BulkPlan, summary: BulkSummary) -> Tree | None:
    """Return size and root, recomputed from the leaves where that is due; None where no root can be had.

    A checkpoint says something of a round only where the round's leaf leads to the root that is held against it, so with
    checkpoints the leaves are gone over even where not all rounds are.
    """
    tree: Tree | None = None
    try:
        tree = ledger.store.tree()
    except TreeBroken as error:
        got = f"no node at level {error.level}, index {error.node_index}"
        summary.ledger_findings.append(_finding("tree_broken", "integrity", "tree", "all its complete subtrees", got))
    if plan.is_whole or plan.anchors.checkpoints:
        # A writer may have added leaves since the tree was read.
        leaves = islice(ledger.store.leaf_hashes(), tree.size if tree is not None else None)
        rooted = Tree(*root_of_leaves(leaf for _, leaf in leaves))
        if tree is not None and rooted != tree:
            want, got = (f"{each.size} leaves, root {each.root.hex()}" for each in (rooted, tree))
            summary.ledger_findings.append(_finding("root", "integrity", "root over all leaves", want, got))
        tree = tree or rooted
    if tree is not None:
        summary.tree_size, summary.root = tree.size, tree.root.hex()
    return tree


def _finding(code: str, severity: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, severity, -1, -1, where, want, got, f"{where}: want {want}, got {got}")  # type: ignore[arg-type]


def _check_balances(ledger: RoundLedger, unclean_ids: set[str]) -> Iterator[Finding]:
    """Yield where an account's balances do not follow from its movements in the order of the record.

    A round that has findings of its own is not named again.
    """
    facts: dict[str, list[tuple[int, AccountFact]]] = {}
    for record in ledger.store.round_records(topics=LIFECYCLE_TOPICS):
        _add_round(facts, record)
    for stream in ledger.store.streams(ACCOUNT_STREAM):
        _add_account(facts, ledger, stream)
    for account_ref, placed in sorted(facts.items()):
        ordered = [fact for _, fact in sorted(placed, key=lambda pair: pair[0])]
        for found in reconcile_account(ordered):
            if found.source not in unclean_ids:
                where = f"{found.finding.where} ({found.source}, event {found.finding.event_index})"
                yield found.finding._replace(where=where, message=f"{where}: want {found.finding.want}, got {found.finding.got}")
        yield from _check_row(ledger, account_ref, ordered, unclean_ids)


def _check_row(ledger: RoundLedger, account_ref: str, facts: list[AccountFact], unclean_ids: set[str]) -> Iterator[Finding]:
    row = ledger.store.account(account_ref)
    last = facts[-1]
    event = last.event
    balance = event.balance_before_minor - event.cost_minor if isinstance(event, RoundOpened) else event.balance_after_minor
    if last.source in unclean_ids or (row is not None and row.balance_minor == balance):
        return
    got = str(row.balance_minor) if row is not None else "no row"
    yield _finding("balance_row", "integrity", f"balance kept for account {account_ref}", str(balance), got)


def _leaf_of(appends: tuple[LeafRow, ...] | list[LeafRow], version: int) -> int:
    return next((append.leaf_index for append in appends if append.version_first <= version <= append.version_last), -1)


def _add_round(facts: dict[str, list[tuple[int, AccountFact]]], record: RoundRecord) -> None:
    account_ref = ""
    for row in record.events:
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        if isinstance(event, RoundOpened):
            account_ref = event.account_ref
        if account_ref and isinstance(event, RoundOpened | RoundSettled):
            fact = AccountFact(record.round_id, row.version - 1, event)
            facts.setdefault(account_ref, []).append((_leaf_of(record.appends, row.version), fact))


def _add_account(facts: dict[str, list[tuple[int, AccountFact]]], ledger: RoundLedger, stream: str) -> None:
    appends = ledger.store.stream_appends(stream)
    for row in ledger.store.stream_events(stream):
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        if isinstance(event, FundsMoved):
            fact = AccountFact(stream, row.version - 1, event)
            facts.setdefault(stream.removeprefix(ACCOUNT_STREAM), []).append((_leaf_of(appends, row.version), fact))
