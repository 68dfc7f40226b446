"""What holds of a ledger as a whole, beside its rounds one by one: root, other streams, nonces, balances."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from engines.canonical import CanonicalFormError
from ledger.codec import parse_event
from ledger.errors import LedgerError, TreeBroken
from ledger.lifecycle_events import FundsMoved, RoundOpened, RoundSettled, RoundVoided
from ledger.merkle import root_of_leaves
from ledger.rounds import RoundLedger
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEAF_END, LEDGER_STREAM, ROUND_STREAM, LeafRow, RoundRecord, Tree
from replay.anchors import compare
from replay.disputes import RoundDisputes
from replay.nonces import NonceOrder
from replay.own_stream import OwnStream
from replay.reconcile import AccountFact, reconcile_account
from replay.record_check import check_record
from replay.rulebook import Rulebook
from replay.states import StateOrder
from replay.verdict import Finding

if TYPE_CHECKING:
    from replay.bulk import BulkPlan, BulkSummary

__all__ = ["check_whole_ledger"]

# By account: what moves its balance, with the leaf of each.
Facts: TypeAlias = dict[str, list[tuple[int, AccountFact]]]
LIFECYCLE_TOPICS = ("round_opened/1", "round_settled/1", "round_voided/1")
NO_STATE = b'"state_out":{}'


def check_whole_ledger(
    plan: "BulkPlan", summary: "BulkSummary", unclean_ids: set[str], seed_failed_ids: set[str], state_failed_ids: set[str]
) -> None:
    """Add to the summary what holds, or does not, of the ledger as a whole.

    `unclean_ids` are rounds with findings of their own, which are not named again; `seed_failed_ids` those whose seed
    check has failed, whose nonce is not; `state_failed_ids` those with a finding about their state.
    """
    ledger = RoundLedger.open_for_reading(plan.path)
    try:
        tree = _root_tree(ledger, plan, summary)
        summary.comparison = compare(ledger, plan.anchors, tree)
        summary.ledger_findings.extend(summary.comparison.findings)
        if plan.is_whole:
            summary.ledger_findings.extend(_check_other_streams(ledger))
        facts: Facts = {}
        summary.ledger_findings.extend(
            _check_rounds(ledger, plan, seed_failed_ids, StateOrder(Rulebook(plan.rules), state_failed_ids), facts)
        )
        if plan.is_whole:
            summary.ledger_findings.extend(_check_balances(ledger, plan.tree_size, facts, unclean_ids))
        wanted = frozenset(stream.removeprefix(ROUND_STREAM) for stream in plan.streams)
        summary.ledger_findings.extend(RoundDisputes(ledger, OwnStream(ledger), plan.as_of_us).findings(wanted))
    finally:
        ledger.close()
    summary.finding_count += len(summary.ledger_findings)
    summary.is_wrong |= bool(summary.ledger_findings)


def _root_tree(ledger: RoundLedger, plan: "BulkPlan", summary: "BulkSummary") -> Tree | None:
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
        leaves = islice(ledger.store.leaf_hashes(), min(tree.size, LEAF_END) if tree is not None else None)
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


def _check_other_streams(ledger: RoundLedger) -> Iterator[Finding]:
    """Yield where the events of accounts, epochs and the ledger itself depart from their leaves."""
    streams = [stream for prefix in (LEDGER_STREAM, ACCOUNT_STREAM, EPOCH_STREAM) for stream in ledger.store.streams(prefix)]
    for record in ledger.store.records_of(streams):
        for finding in check_record(record):
            where = f"{record.stream}, {finding.where}"
            yield finding._replace(where=where, message=f"{where}: want {finding.want}, got {finding.got}")


def _check_rounds(ledger: RoundLedger, plan: "BulkPlan", seed_failed_ids: set[str], states: StateOrder, facts: Facts) -> Iterator[Finding]:
    """Yield where nonce or state of a round in the plan does not follow from the rounds of its epoch or account, and fill `facts`.

    All rounds are gone over, whatever the plan is: one that is not in it may have the nonce of one that is, or stand before it.
    """
    streams, order = frozenset(plan.streams), NonceOrder()
    for record in ledger.store.round_records(topics=LIFECYCLE_TOPICS):
        opened, settled = _add_round(facts if plan.is_whole else None, record)
        if opened is None or not record.appends or record.appends[0].leaf_index >= plan.tree_size:
            continue
        for finding in order.take(opened):
            if record.stream in streams and record.round_id not in seed_failed_ids:
                where = f"{finding.where} (round {record.round_id})"
                yield finding._replace(where=where, message=f"{where}: want {finding.want}, got {finding.got}")
        carried = states.take(record.round_id, opened, settled)
        if carried is not None and record.stream in streams:
            yield carried


def _check_balances(ledger: RoundLedger, tree_size: int, facts: Facts, unclean_ids: set[str]) -> Iterator[Finding]:
    """Yield where an account's balances do not follow from its movements; a round that has findings of its own is not named again.

    `facts` are those of the rounds by account, with the leaf of each; those of the accounts' own streams are added.
    """
    for stream in ledger.store.streams(ACCOUNT_STREAM):
        _add_account(facts, ledger, stream)
    for account_ref, placed in sorted(facts.items()):
        ordered = [fact for leaf, fact in sorted(placed, key=lambda pair: pair[0]) if leaf < tree_size]
        for found in reconcile_account(ordered):
            if found.source not in unclean_ids:
                where = f"{found.finding.where} ({found.source}, event {found.finding.event_index})"
                yield found.finding._replace(where=where, message=f"{where}: want {found.finding.want}, got {found.finding.got}")
        if ordered:
            yield from _check_row(ledger, tree_size, account_ref, ordered, unclean_ids)


def _check_row(ledger: RoundLedger, tree_size: int, account_ref: str, facts: list[AccountFact], unclean_ids: set[str]) -> Iterator[Finding]:
    row = ledger.store.account(account_ref)
    if ledger.store.tree_size() != tree_size:
        return  # somebody is playing: the row is of a later moment than the facts
    last = facts[-1]
    event = last.event
    if isinstance(event, RoundOpened):
        balance = event.balance_before_minor - event.cost_minor + event.bonus_minor
    else:
        balance = event.balance_after_minor
    if last.source in unclean_ids or (row is not None and row.balance_minor == balance):
        return
    got = str(row.balance_minor) if row is not None else "no row"
    yield _finding("balance_row", "integrity", f"balance kept for account {account_ref}", str(balance), got)


def _leaf_of(appends: tuple[LeafRow, ...] | list[LeafRow], version: int) -> int:
    return next((append.leaf_index for append in appends if append.version_first <= version <= append.version_last), -1)


def _add_round(facts: Facts | None, record: RoundRecord) -> tuple[RoundOpened | None, RoundSettled | None]:
    """Add what a round does to its account, and return its opening and its settlement; without facts only one that leaves a state."""
    opened: RoundOpened | None = None
    settled: RoundSettled | None = None
    for row in record.events:
        if facts is None and row.topic != LIFECYCLE_TOPICS[0] and NO_STATE in row.data:
            continue
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        if isinstance(event, RoundOpened):
            opened = event
        if isinstance(event, RoundSettled):
            settled = event
        if facts is not None and opened is not None and isinstance(event, RoundOpened | RoundSettled | RoundVoided):
            fact = AccountFact(record.round_id, row.version - 1, event)
            facts.setdefault(opened.account_ref, []).append((_leaf_of(record.appends, row.version), fact))
    return opened, settled


def _add_account(facts: Facts, ledger: RoundLedger, stream: str) -> None:
    appends = ledger.store.stream_appends(stream)
    for row in ledger.store.stream_events(stream):
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        if isinstance(event, FundsMoved):
            fact = AccountFact(stream, row.version - 1, event)
            facts.setdefault(stream.removeprefix(ACCOUNT_STREAM), []).append((_leaf_of(appends, row.version), fact))
