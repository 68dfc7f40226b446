"""`show`: a round in pictures."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from audit_reports.options import JsonOption, LedgerOption, RulesOption, UsageError, named_ledger
from audit_reports.output import is_coloured, note, print_json, printable
from replay.verdict import EXIT_FINDINGS

__all__ = ["register"]

WIDTH_PIPED = 80
WIDTH_MAX = 120


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("show")(show)


def show(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")],
    spin: Annotated[int | None, typer.Option("--spin", help="One spin only; 0 is the paid one.")] = None,
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Show a round in pictures: boards, wins, sums.

    Example: audit show --round 01a22cfdc2af --spin 3
    """
    from audit_reports.round_report import report_json
    from audit_reports.round_source import read_report
    from audit_reports.terminal_view import print_round

    report, findings = read_report(named_ledger(ledger), round_, Path(rules) if rules else None)
    if spin is not None and spin not in [each.spin_index for each in report.spins]:
        raise UsageError("--spin", f"a spin of the round, 0 to {len(report.spins) - 1}", str(spin))
    if as_json:
        print_json(report_json(report, spin_index=spin, findings=findings))
    else:
        width = min(shutil.get_terminal_size((WIDTH_PIPED, 24)).columns, WIDTH_MAX) if sys.stdout.isatty() else WIDTH_PIPED
        text = print_round(report, width=max(width, WIDTH_PIPED), is_coloured=is_coloured(), spin_index=spin, findings=findings)
        sys.stdout.write(printable(text, is_colour_kept=is_coloured()))
    if rules:
        note("rules from a file outside the registry")
    if any(finding.severity != "warning" for finding in findings):
        sys.exit(EXIT_FINDINGS)
