"""A verdict as text for people and as JSON for scripts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from audit_reports.output import table
from engines.game import Draw
from ledger.money import amount_text
from replay.verdict import Finding
from replay.verification import Verification
from replay.whatif import Alternative

if TYPE_CHECKING:
    from replay.bulk import BulkSummary

__all__ = [
    "alternative_lines",
    "draw_lines",
    "finding_json",
    "finding_lines",
    "summary_json",
    "summary_lines",
    "verdict_json",
    "verdict_lines",
]


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as in `verify/1`."""
    return finding._asdict()


def verdict_json(verification: Verification) -> dict[str, Any]:
    """Return the document of `audit verify --round --json`."""
    opened, settled = verification.opened, verification.settled
    facts: dict[str, Any] | None = None
    if opened is not None:
        facts = {
            name: getattr(opened, name) for name in ("game", "rules_version", "rules_hash", "mode", "bet_minor", "cost_minor", "currency")
        }
        facts["total_win_minor"] = settled.total_win_minor if settled is not None else None
        if verification.voided is not None:
            facts["refund_minor"] = verification.voided.refund_minor
    return {
        "schema": "verify/1",
        "round_id": verification.round_id,
        "verdict": verification.verdict,
        "checks": [check._asdict() for check in verification.checks],
        "findings": [finding_json(finding) for finding in verification.findings],
        "notes": verification.notes,
        "round": facts,
        "engine": {"fingerprint": verification.fingerprint or None},
        "ledger": {"tree_size": verification.tree_size, "root": verification.root, **verification.comparison.as_json()},
    }


def finding_lines(finding: Finding) -> Iterator[str]:
    """Yield a finding as text: severity, place, what was wanted and found, the assumption it hangs on."""
    place = f"event {finding.event_index}" if finding.event_index >= 0 else "round"
    if finding.spin_index >= 0:
        place += f", spin {finding.spin_index}"
    yield f"  [{finding.severity}] {finding.code}, {place}: {finding.message}"
    if finding.assumption:
        yield f"      hangs on the assumption {finding.assumption}, which no source states"


def verdict_lines(verification: Verification, *, is_short: bool = False) -> Iterator[str]:
    """Yield a verdict as text: the verdict first, then checks, findings and notes; `is_short` leaves out checks that passed."""
    opened = verification.opened
    if is_short and not verification.findings:
        lived = [note for note in verification.notes if note.startswith(("void at", "resumed at"))]
        said = lived[-1] if verification.verdict == "incomplete_resolved" and lived else "not settled yet"
        reason = next((check.detail for check in verification.checks if check.result == "not_run"), said)
        yield f"{verification.verdict.upper()}  round {verification.round_id}: {reason}"
        return
    yield f"{verification.verdict.upper()}  round {verification.round_id}"
    if opened is not None:
        bet, cost = amount_text(opened.bet_minor, opened.currency), amount_text(opened.cost_minor, opened.currency)
        yield f"  {opened.game} {opened.rules_version}, {opened.mode}, bet {bet}, cost {cost}, {_end_text(verification)} {opened.currency}"
    for check in verification.checks:
        if not (is_short and check.result in ("pass", "not_shown")):
            yield f"  {check.name:<13} {check.result.replace('_', ' '):<10} {check.detail}"
    if verification.findings:
        yield f"{len(verification.findings)} finding{'' if len(verification.findings) == 1 else 's'}"
        for finding in verification.findings:
            yield from finding_lines(finding)
    elif not is_short:
        yield "no findings"
    if not is_short:
        for text in verification.notes:
            yield f"note: {text}"


def _end_text(verification: Verification) -> str:
    opened, settled, voided = verification.opened, verification.settled, verification.voided
    assert opened is not None
    if settled is not None:
        return f"won {amount_text(settled.total_win_minor, opened.currency)}"
    return f"void, pays {amount_text(voided.refund_minor, opened.currency)}" if voided is not None else "not settled"


def draw_lines(verification: Verification, draws: list[Draw] | None) -> Iterator[str]:
    """Yield every random draw of a round, as a table; `draws` is None where none is shown."""
    yield ""
    if draws is None:
        yield f"draws: nothing is shown of this round, for {_why_hidden(verification, 'its draws')}"
        return
    rows = [(str(d.number), d.purpose, f"below({d.n})", str(d.first_word), str(d.word_count - 1), str(d.result)) for d in draws]
    yield from table(("draw", "purpose", "range", "word", "rejected", "result"), rows, right=frozenset((0, 3, 4, 5)))


def _why_hidden(verification: Verification, what: str) -> str:
    is_open = verification.opened is not None and verification.settled is None
    return f"it is not settled, and {what} would disclose its outcome" if is_open else "it could not be rerun"


def alternative_lines(verification: Verification, others: list[Alternative] | None) -> Iterator[str]:
    """Yield what a round would have paid under other readings; `others` is None where it could not be rerun."""
    opened = verification.opened
    yield ""
    if others is None or opened is None:
        yield f"what if: nothing is shown of this round, for {_why_hidden(verification, 'each reading')}"
        return
    yield "what if: the same key under other readings of the rules, one at a time"
    for other in others:
        yield f"  {other.reading} = {other.value}  {other.text}"
        if not other.is_touched:
            yield "      the round is the same to the byte"
            continue
        total, change = amount_text(other.total_win_minor, opened.currency), amount_text(abs(other.difference_minor), opened.currency)
        sign = "more" if other.difference_minor > 0 else "less"
        difference = f"{change} {sign}" if other.difference_minor else "the same amount"
        beyond = f"; it takes {other.words_beyond} random words that the round never took" if other.words_beyond else ""
        beyond += "; it asks for a choice that was never made, and is shown with the first" if other.is_choice_assumed else ""
        yield f"      wins {total} {opened.currency}, {difference}; {other.ended}; differs from event {other.first_event} on{beyond}"


def summary_json(summary: "BulkSummary") -> dict[str, Any]:
    """Return the last line of `audit verify --all --json`."""
    return {
        "schema": "verify/1",
        "rounds": summary.round_count,
        "verdicts": dict(sorted(summary.verdicts.items())),
        "finding_count": summary.finding_count,
        "warning_count": summary.warning_count,
        "is_whole_ledger": summary.is_whole,
        "ledger_findings": [finding_json(finding) for finding in summary.ledger_findings],
        "cost_minor": summary.cost_minor,
        "win_minor": summary.win_minor,
        "refund_minor": summary.refund_minor,
        "draft_rules": summary.draft_count > 0,
        "ledger": {"tree_size": summary.tree_size, "root": summary.root, **summary.comparison.as_json()},
    }


def summary_lines(summary: "BulkSummary") -> Iterator[str]:
    """Yield the summary of many verdicts as text."""
    for finding in summary.ledger_findings:
        yield from finding_lines(finding)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(summary.verdicts.items())) or "no rounds"
    yield f"{summary.round_count} rounds: {verdicts}"
    of_ledger = len(summary.ledger_findings)
    yield f"findings: {summary.finding_count}, of which about the ledger as a whole {of_ledger}; warnings: {summary.warning_count}"
    for currency, cost in sorted(summary.cost_minor.items()):
        won, refund = summary.win_minor.get(currency, 0), summary.refund_minor.get(currency, 0)
        back = f", given back {amount_text(refund, currency)}" if refund else ""
        yield f"{currency}: cost {amount_text(cost, currency)}, won {amount_text(won, currency)}{back}"
    yield f"tree of {summary.tree_size} leaves, root {summary.root}; {summary.comparison.sentence()}"
    if summary.verdicts["record_tampered"]:
        yield "note: this root is that of the stored leaves; the rounds above are not what their leaves say"
    if not summary.is_whole:
        yield "note: a selection of rounds, each held against the root; accounts and other streams as a whole were not checked"
    if summary.draft_count:
        yield f"note: draft rules in {summary.draft_count} rounds"
