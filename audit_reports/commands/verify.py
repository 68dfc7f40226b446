"""`verify`: the verdict on one round, or on all."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.options import (
    JsonOption,
    KeysOption,
    LedgerOption,
    RulesOption,
    SinceOption,
    UntilOption,
    UsageError,
    ZoneOption,
    check_game_known,
    job_count,
    keys_folder,
    ledger_path,
    parse_count,
    parse_time,
)
from audit_reports.output import follow, print_json, print_line, table

__all__ = ["register"]

PREFIX_MIN = 8


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("verify")(verify)


def verify(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Every round of the ledger.")] = False,
    draws: Annotated[bool, typer.Option("--draws", help="List every random draw of the round as well.")] = False,
    game: Annotated[str, typer.Option("--game", help="With --all: rounds of this game.")] = "",
    account: Annotated[str, typer.Option("--account", help="With --all: rounds of this account.")] = "",
    since: SinceOption = "",
    until: UntilOption = "",
    zone: ZoneOption = "",
    jobs: Annotated[int, typer.Option("--jobs", help="With --all: worker processes; 0 is one for each core.")] = 0,
    sample: Annotated[str, typer.Option("--sample", help="With --all: this many rounds, evenly spread over the record.")] = "",
    referee: Annotated[bool, typer.Option("--referee", help="With --all: kept for scripts; the referee always runs.")] = False,
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Rerun a round from its seed and say whether record, rules, payouts, cap and totals agree.

    Examples: audit verify --round 0190a1b2 · audit verify --all --since 2026-11-01 --tz UTC
    """
    del referee
    if bool(round_) == all_:
        raise UsageError("--round, --all", "one of them", "both" if all_ else "neither")
    path = ledger_path(ledger)
    file_rules = None
    if rules:
        from engines.rules import load_rules

        file_rules = load_rules(Path(rules))
    if round_ and len(round_) < PREFIX_MIN and not round_.startswith("ext:"):
        raise UsageError("--round", f"an id, at least {PREFIX_MIN} characters of one, or ext:REF", round_)
    if game:
        check_game_known(game)
    if round_:
        sys.exit(_verify_one(path, keys_folder(path, keys), round_, file_rules, is_draws=draws, as_json=as_json))
    from ledger.history import RoundFilter

    wanted = RoundFilter(
        account_ref=account, since_us=parse_time(since, "--since", zone), until_us=parse_time(until, "--until", zone), game=game
    )
    sample_count = parse_count(sample, "--sample") if sample else None
    sys.exit(_verify_all(path, keys_folder(path, keys), wanted, file_rules, sample_count, job_count(jobs), as_json=as_json))


def _verify_one(path: Path, keys: Path, wanted: str, rules: Any, *, is_draws: bool, as_json: bool) -> int:
    from ledger.errors import RoundUnknown
    from ledger.rounds import RoundLedger
    from replay.verdict import exit_status
    from replay.verification import Verifier

    ledger = RoundLedger.open_for_reading(path)
    try:
        try:
            round_id = ledger.find_round(wanted)
        except RoundUnknown:
            round_id = wanted
        verifier = Verifier(ledger, keys_dir=keys, rules=rules)
        verification = verifier.verify(round_id)
        drawn = verifier.draws(verification) if is_draws else None
    finally:
        ledger.close()
    from audit_reports.verdict_view import verdict_json, verdict_lines

    if as_json:
        document = verdict_json(verification)
        if drawn is not None:
            document["draws"] = [draw._asdict() for draw in drawn]
        print_json(document)
    else:
        for line in verdict_lines(verification):
            print_line(line)
        if drawn is not None:
            print_line()
            rows = [(str(d.number), d.purpose, f"below({d.n})", str(d.first_word), str(d.word_count - 1), str(d.result)) for d in drawn]
            for line in table(("draw", "purpose", "range", "word", "rejected", "result"), rows, right=frozenset((0, 3, 4, 5))):
                print_line(line)
    return exit_status(verification.verdict, verification.findings)


def _verify_all(path: Path, keys: Path, wanted: Any, rules: Any, sample_count: int | None, jobs: int, *, as_json: bool) -> int:
    from audit_reports.verdict_view import summary_json, summary_lines, verdict_json, verdict_lines
    from replay.bulk import BulkSummary, plan_bulk, verify_bulk
    from replay.verdict import EXIT_CLEAN, EXIT_FINDINGS

    plan = plan_bulk(path, keys, wanted, rules=rules, sample_count=sample_count)
    summary = BulkSummary()
    for verification in follow(verify_bulk(plan, summary, job_count=jobs), what="rounds", total=plan.round_count):
        if verification is None:
            continue
        if as_json:
            print_json(verdict_json(verification))
        else:
            for line in verdict_lines(verification, is_short=True):
                print_line(line)
    if as_json:
        print_json(summary_json(summary))
    else:
        for line in summary_lines(summary):
            print_line(line)
    return EXIT_FINDINGS if summary.is_wrong else EXIT_CLEAN
