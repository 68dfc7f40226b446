"""Event streams out of the ledger and what can be said of them outside it: `export`, `check`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from audit_reports.options import JsonOption, LedgerOption, RulesOption, UsageError, named_ledger
from audit_reports.output import follow, note, print_json, print_line

__all__ = ["FileUnreadableError", "register"]

ROUNDS_SHOWN_MAX = 20  # of more rounds only those with findings are shown


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
    """Write event streams as JSON lines.

    With --json each line names its schema, and a last line counts rounds and events.
    Example: audit export --round 01a22cfdc2af > round.jsonl
    """
    if canonical and as_json:
        raise UsageError("--canonical, --json", "one of them, the canonical bytes stand for themselves", "both")
    if bool(round_) == all_:
        raise UsageError("--round, --all", "one of them", "both" if all_ else "neither")
    from ledger.export import export_all, export_round
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        if all_:
            lines = export_all(opened, is_canonical=canonical)
        else:
            lines = export_round(opened, opened.find_round(round_), is_canonical=canonical)
        if not canonical:
            lines = _counted(_named(lines)) if as_json else _named(lines)
        for line in follow(lines, what="events", total=None):
            sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    finally:
        opened.close()


def _counted(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield export lines with their schema, and at the end a line that counts them; a round's lines come together."""
    rounds = events = 0
    last = b""
    for line in lines:
        place = line.partition(b',"stream":')[0]
        rounds, events, last = rounds + (place != last), events + 1, place
        yield b'{"schema":"export/1",' + line[1:]
    yield b'{"schema":"export/1","rounds":%d,"events":%d}' % (rounds, events)


def _named(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield export lines with a member `names` where their rules are installed and the event holds symbols."""
    from audit_reports.event_names import names_in
    from replay.rulebook import Rulebook

    rulebook = Rulebook()
    rules = None
    for line in lines:
        try:
            event = json.loads(line).get("event")
        except RecursionError:  # an altered event, just as deep as can be read without its line
            event = None
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
    file: Annotated[str, typer.Argument(help="JSON lines as `audit export` writes them; - for standard input.")],
    rules: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Hold exported rounds against the rules, without a ledger.

    Example: audit check round.jsonl
    """
    from engines.rules import load_rules
    from replay.check import check_rounds
    from replay.rulebook import Rulebook

    rulebook = Rulebook(load_rules(Path(rules)) if rules else None)
    try:
        with _open_text(file) as lines:
            result = check_rounds(follow(lines, what="events", total=None), rulebook.find)
    except OSError as error:
        raise FileUnreadableError(file, error.strerror or type(error).__name__) from error
    if not result.rounds:
        raise FileUnreadableError(file, "no event of any round")
    findings = [(r.round_id, finding) for r in result.rounds for finding in r.findings]
    findings += [(stream.stream, stream.finding) for stream in result.stream_findings]
    if as_json:
        _print_check_json(result, findings)
    else:
        _print_check(result, findings)
    if rules:
        note("rules from a file outside the registry")
    is_wrong = bool(_not_run(result)) or any(finding.severity != "warning" for _, finding in findings)
    sys.exit(3 if is_wrong else 0)


def _open_text(file: str) -> TextIO:
    """Open a file of lines, `-` for standard input; bytes that are no UTF-8 are left for the parser to name by line."""
    if file == "-":
        return open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False)
    return open(file, encoding="utf-8", errors="surrogateescape")


def _not_run(result: Any) -> list[Any]:
    return [r for r in result.rounds if any(check.result == "not_run" and check.name == "referee" for check in r.checks)]


def _print_check_json(result: Any, findings: list[Any]) -> None:
    from audit_reports.verdict_view import finding_json

    rounds = [{"round_id": r.round_id, "checks": [check._asdict() for check in r.checks]} for r in result.rounds]
    print_json({"schema": "check/1", "rounds": rounds, "findings": [{"round_id": name, **finding_json(f)} for name, f in findings]})


def _print_check(result: Any, findings: list[Any]) -> None:
    from audit_reports.verdict_view import finding_lines

    by_stream: dict[str, list[Any]] = {}
    for name, finding in findings:
        by_stream.setdefault(name, []).append(finding)
    for each in result.rounds:
        found = by_stream.pop(each.round_id, [])
        if found or len(result.rounds) <= ROUNDS_SHOWN_MAX:
            _print_round(each, found)
    for name, found in by_stream.items():
        print_line(f"stream {name}")
        for finding in found:
            for line in finding_lines(finding):
                print_line(line)
    rounds, count = len(result.rounds), len(findings)
    not_run = len(_not_run(result))
    print_line(f"{rounds} round{'' if rounds == 1 else 's'}, {count} finding{'' if count == 1 else 's'}, {not_run} not checked")
    print_line("the file may be altered as a whole: record, seed and replay are not shown by it, names in it are not checked")


def _print_round(each: Any, found: list[Any]) -> None:
    from audit_reports.verdict_view import finding_lines
    from ledger.money import amount_text

    print_line(f"round {each.round_id}")
    opened, settled = each.opened, each.settled
    if opened is not None:
        bet, cost = amount_text(opened.bet_minor, opened.currency), amount_text(opened.cost_minor, opened.currency)
        won = "not settled in this file"
        if settled is not None:
            won = f"won {amount_text(settled.total_win_minor, opened.currency)} {opened.currency}"
        game = f"{opened.game} {opened.rules_version} (rules {opened.rules_hash[:16]}…)"
        print_line(f"  {game}, {opened.mode}, bet {bet}, cost {cost}, {won}")
    for check in each.checks:
        if check.result != "not_shown":
            print_line(f"  {check.name:<13} {check.result.replace('_', ' '):<10} {check.detail}")
    for finding in found:
        for line in finding_lines(finding):
            print_line(line)
