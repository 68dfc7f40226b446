"""Event streams out of the ledger and what can be said of them outside it: `export`, `check`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.options import JsonOption, LedgerOption, RulesOption, UsageError, ledger_path
from audit_reports.output import follow, note, print_json, print_line

__all__ = ["FileUnreadableError", "register"]


class FileUnreadableError(Exception):
    """A file that a command was to read cannot be read."""

    exit_status = 4

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"file {self.path}: want one that can be read, got {self.reason}; name another"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("export")(export)
    app.command("check")(check)


def export(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Every round of the ledger.")] = False,
    canonical: Annotated[bool, typer.Option("--canonical", help="The canonical event bytes alone, as they are hashed.")] = False,
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Write event streams as JSON lines, an event a line.

    Example: audit export --round 0190a1b2 > round.jsonl
    """
    del as_json  # lines of JSON either way
    if bool(round_) == all_:
        raise UsageError("--round, --all", "one of them", "both" if all_ else "neither")
    from ledger.export import export_all, export_round
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(ledger_path(ledger))
    try:
        if all_:
            lines = export_all(opened, is_canonical=canonical)
        else:
            lines = export_round(opened, opened.find_round(round_), is_canonical=canonical)
        for line in follow(lines if canonical else _named(lines), what="events", total=None):
            sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    finally:
        opened.close()


def _named(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield export lines with a member `names` where their rules are installed and the event holds symbols."""
    from audit_reports.event_names import names_in
    from replay.rulebook import Rulebook

    rulebook = Rulebook()
    rules = None
    for line in lines:
        event = json.loads(line).get("event")
        if not isinstance(event, dict):
            yield line
            continue
        if event.get("kind") == "round_opened":
            try:
                rules = rulebook.find(str(event.get("game")), str(event.get("rules_version")), str(event.get("rules_hash")))
            except LookupError:
                rules = None
        names = names_in(event, rules) if rules is not None else {}
        if names:
            line = line[:-1] + b',"names":' + json.dumps(names, separators=(",", ":"), ensure_ascii=False).encode() + b"}"
        yield line


def check(
    file: Annotated[str, typer.Argument(help="JSON lines as `audit export` writes them.")],
    rules: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Hold exported rounds against the rules, outside any ledger.

    Example: audit check round.jsonl
    """
    from engines.rules import load_rules
    from replay.check import check_rounds
    from replay.rulebook import Rulebook

    rulebook = Rulebook(load_rules(Path(rules)) if rules else None)
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            result = check_rounds(follow(lines, what="events", total=None), rulebook.find)
    except OSError as error:
        raise FileUnreadableError(file, error.strerror or type(error).__name__) from error
    findings = [(r.round_id, finding) for r in result.rounds for finding in r.findings]
    findings += [(stream.stream, stream.finding) for stream in result.stream_findings]
    not_run = [r for r in result.rounds if any(c.result == "not_run" and c.name == "referee" for c in r.checks)]
    if as_json:
        _print_check_json(result, findings)
    else:
        _print_check(result, findings, not_run)
    if rules:
        note("rules from a file outside the registry")
    is_wrong = bool(not_run) or any(finding.severity != "warning" for _, finding in findings)
    sys.exit(3 if is_wrong else 0)


def _print_check_json(result: Any, findings: list[Any]) -> None:
    from audit_reports.verdict_view import finding_json

    rounds = [{"round_id": r.round_id, "checks": [check._asdict() for check in r.checks]} for r in result.rounds]
    print_json({"schema": "check/1", "rounds": rounds, "findings": [{"round_id": name, **finding_json(f)} for name, f in findings]})


def _print_check(result: Any, findings: list[Any], not_run: list[Any]) -> None:
    from audit_reports.verdict_view import finding_lines

    for round_id, finding in findings:
        print_line(f"round {round_id}")
        for line in finding_lines(finding):
            print_line(line)
    for each in not_run:
        print_line(f"round {each.round_id}: not checked: {next(c.detail for c in each.checks if c.name == 'referee')}")
    print_line(f"{len(result.rounds)} rounds, {len(findings)} findings, {len(not_run)} not checked")
    print_line("referee and totals only: record, seed, replay and presentation are not shown by such a file")
