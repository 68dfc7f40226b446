"""`verify`: the verdict on one round, or on all."""

import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from audit_reports.options import (
    AsOfOption,
    CheckpointOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    RulesOption,
    SinceOption,
    UntilOption,
    UsageError,
    VkeyOption,
    ZoneOption,
    check_game_known,
    job_count,
    keys_folder,
    named_ledger,
    parse_count,
    parse_span,
    parse_time,
)
from audit_reports.output import follow, print_json, print_line
from ledger.address import LedgerPlace

__all__ = ["register"]

PREFIX_MIN = 8


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("verify")(verify)


def verify(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Every round of the ledger.")] = False,
    draws: Annotated[bool, typer.Option("--draws", help="List every random draw of the round as well.")] = False,
    what_if: Annotated[bool, typer.Option("--what-if", help="What the round would have paid under each other reading.")] = False,
    reading: Annotated[str, typer.Option("--reading", help="With --what-if: this reading alone, such as MLP-1=1.")] = "",
    game: Annotated[str, typer.Option("--game", help="With --all: rounds of this game.")] = "",
    account: Annotated[str, typer.Option("--account", help="With --all: rounds of this account.")] = "",
    since: SinceOption = "",
    until: UntilOption = "",
    as_of: AsOfOption = "",
    zone: ZoneOption = "",
    jobs: Annotated[int, typer.Option("--jobs", help="With --all: worker processes; 0 is one for each core.")] = 0,
    sample: Annotated[str, typer.Option("--sample", help="With --all: this many rounds, evenly spread over the record.")] = "",
    referee: Annotated[bool, typer.Option("--referee", help="With --all: kept for scripts; the referee always runs.")] = False,
    rules: RulesOption = "",
    checkpoints: CheckpointOption = None,
    vkeys: VkeyOption = None,
    round_keys: Annotated[str, typer.Option("--round-keys", help="Keys of settled rounds, as `audit seeds release` wrote them.")] = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Rerun a round from its seed and say whether record, rules, payouts, cap and totals agree.

    Examples: audit verify --round 01a22cfdc2af · audit verify --all --since 2026-11-01 --tz UTC
    """
    del referee
    if bool(round_) == all_:
        raise UsageError("--round, --all", "one of them", "both" if all_ else "neither")
    path = named_ledger(ledger)
    as_of_us = parse_time(as_of, "--as-of", zone)
    evidence = _load_evidence(keys_folder(path, keys), rules, checkpoints, vkeys, round_keys)._replace(as_of_us=as_of_us)
    if round_ and len(round_) < PREFIX_MIN and not round_.startswith("ext:"):
        raise UsageError("--round", f"an id, at least {PREFIX_MIN} characters of one, or ext:REF", round_)
    if game:
        check_game_known(game)
    selecting = {"--game": game, "--account": account, "--since": since, "--until": until, "--sample": sample}
    for option, value in selecting.items():
        if round_ and value:
            raise UsageError(option, "it only together with --all", value)
    for option, is_given in (("--draws", draws), ("--what-if", what_if)):
        if is_given and all_:
            raise UsageError(option, "it only together with --round", "--all")
    if reading and not what_if:
        raise UsageError("--reading", "it only together with --what-if", reading)
    if round_:
        extras = _Extras(draws, what_if, _parse_reading(reading) if reading else None)
        sys.exit(_verify_one(path, round_, evidence, extras, as_json=as_json))
    from ledger.history import RoundFilter

    span = parse_span(since, until, zone)
    wanted = RoundFilter(account_ref=account, since_us=span.since_us, until_us=span.until_us, game=game)
    sample_count = parse_count(sample, "--sample") if sample else None
    sys.exit(_verify_all(path, wanted, evidence, sample_count, job_count(jobs), as_json=as_json))


class _Evidence(NamedTuple):
    """What the record is verified with, beside itself."""

    keys_dir: Path
    rules: Any
    anchors: Any
    round_keys: dict[str, bytes]
    as_of_us: int | None = None


def _load_evidence(keys_dir: Path, rules: str, checkpoints: list[str] | None, vkeys: list[str] | None, round_keys: str) -> _Evidence:
    from replay.anchors import load_anchors

    file_rules, released = None, {}
    if rules:
        from engines.rules import load_rules

        file_rules = load_rules(Path(rules))
    if round_keys:
        from replay.round_keys import load_round_keys

        released = load_round_keys(Path(round_keys))
    return _Evidence(keys_dir, file_rules, load_anchors(checkpoints or [], vkeys or []), released)


class _Extras(NamedTuple):
    """What is shown of one round beside its verdict."""

    is_draws: bool
    is_what_if: bool
    reading: tuple[str, int] | None


def _parse_reading(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdecimal() or not value.isascii():
        raise UsageError("--reading", "a name and a value, such as MLP-1=1", text)
    return name, int(value)


def _verify_one(path: LedgerPlace, wanted: str, evidence: _Evidence, extras: _Extras, *, as_json: bool) -> int:
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
        verifier = Verifier(ledger, **evidence._asdict())
        verification = verifier.verify(round_id)
        drawn = verifier.draws(verification) if extras.is_draws else None
        others = verifier.alternatives(verification, extras.reading) if extras.is_what_if else None
    finally:
        ledger.close()
    from audit_reports.verdict_view import alternative_lines, draw_lines, verdict_json, verdict_lines

    if as_json:
        document = verdict_json(verification)
        if extras.is_draws:
            document["draws"] = None if drawn is None else [draw._asdict() for draw in drawn]
        if extras.is_what_if:
            document["what_if"] = None if others is None else [other._asdict() for other in others]
        print_json(document)
    else:
        for line in verdict_lines(verification):
            print_line(line)
        if extras.is_what_if:
            for line in alternative_lines(verification, others):
                print_line(line)
        if extras.is_draws:
            for line in draw_lines(verification, drawn):
                print_line(line)
    return exit_status(verification.verdict, verification.findings)


def _verify_all(path: LedgerPlace, wanted: Any, evidence: _Evidence, sample_count: int | None, jobs: int, *, as_json: bool) -> int:
    from audit_reports.verdict_view import summary_json, summary_lines, verdict_json, verdict_lines
    from replay.bulk import BulkSummary, plan_bulk, verify_bulk
    from replay.verdict import EXIT_CLEAN, EXIT_FINDINGS

    plan = plan_bulk(path, wanted=wanted, sample_count=sample_count, **evidence._asdict())
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
