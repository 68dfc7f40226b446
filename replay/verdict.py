"""What a verification says: findings, checks, one verdict, and the exit status that scripts rely on."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = [
    "CHECK_NAMES",
    "EXIT_CLEAN",
    "EXIT_FINDINGS",
    "VERDICTS",
    "Check",
    "CheckName",
    "CheckResult",
    "Finding",
    "Severity",
    "VerdictName",
    "exit_status",
]

Severity = Literal["money", "integrity", "presentation", "completeness", "warning"]
CheckName = Literal["record", "seed", "replay", "referee", "totals", "presentation"]
CheckResult = Literal["pass", "fail", "not_run", "not_shown"]
VerdictName = Literal[
    "record_missing",
    "record_tampered",
    "not_replayable",
    "build_unapproved",
    "diverged",
    "rule_breach",
    "settlement_divergence",
    "presentation_divergence",
    "incomplete_open",
    "incomplete_resolved",
    "reproduced",
]
CHECK_NAMES: tuple[CheckName, ...] = ("record", "seed", "replay", "referee", "totals", "presentation")
VERDICTS: tuple[VerdictName, ...] = VerdictName.__args__  # type: ignore[attr-defined]

EXIT_CLEAN = 0
EXIT_FINDINGS = 3


class Finding(NamedTuple):
    """One cause for which the record is wrong: what stands there, and what should.

    `event_index` is the event's version in the round's stream minus 1, -1 where it is about no one event;
    `spin_index` likewise. `want` and `got` are text. `assumption` names the decision it hangs on, else None.
    """

    code: str
    severity: Severity
    event_index: int
    spin_index: int
    where: str
    want: str
    got: str
    message: str
    assumption: str | None = None


class Check(NamedTuple):
    """One of the six checks, its result, and why."""

    name: CheckName
    result: CheckResult
    detail: str


def exit_status(verdict: VerdictName, findings: Sequence[Finding]) -> int:
    """Return 0 where nothing is wrong, 3 for findings above a warning and for every verdict that is not clean."""
    if verdict not in ("reproduced", "incomplete_open", "incomplete_resolved"):
        return EXIT_FINDINGS
    return EXIT_FINDINGS if any(finding.severity != "warning" for finding in findings) else EXIT_CLEAN
