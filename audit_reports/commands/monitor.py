"""`monitor`: what a ledger returned, held against what its games are certified to return."""

import csv
import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from audit_reports.options import (
    JsonOption,
    LedgerOption,
    SinceOption,
    UntilOption,
    UsageError,
    ZoneOption,
    check_game_known,
    named_ledger,
    parse_count,
    parse_span,
)
from audit_reports.output import follow, note, print_json, print_line, table
from audit_reports.spreadsheet import spreadsheet_safe

if TYPE_CHECKING:
    from ledger.rounds import RoundLedger
    from replay.monitor import MonitorReport
    from replay.period_sums import Period, PeriodSums

__all__ = ["register"]

DAY_US = 86_400_000_000
WINDOW_DAYS_MAX = 3_660
EXIT_FINDINGS = 3


class _Looked(NamedTuple):
    """What was read: the report, the periods, days without a round, and the last moment of the span."""

    report: "MonitorReport"
    periods: "dict[Period, PeriodSums]"
    missing: list[str]
    profile: str
    percent: int


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("monitor")(monitor)


def monitor(
    game: Annotated[str, typer.Option("--game", help="Rounds of this game.")] = "",
    since: SinceOption = "",
    until: UntilOption = "",
    zone: ZoneOption = "",
    window: Annotated[str, typer.Option("--window", help="Days of a window, counted back from the end; 0 for none.")] = "30",
    as_csv: Annotated[bool, typer.Option("--csv", help="The period report as comma-separated values, amounts in minor units.")] = False,
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Hold the RTP of a ledger against what its games are certified to return.

    By game and mode, and apart by stake, build, channel and window; an alarm is a finding. How often an honest ledger
    raises one is said, however often it is looked at.

    Example: audit monitor --game moon-spell --since 2026-11-01 --tz Europe/Malta
    """
    from ledger.rounds import RoundLedger

    if as_csv and as_json:
        raise UsageError("--csv, --json", "one of them", "both")
    if game:
        check_game_known(game)
    days = parse_count(window, "--window") if window.strip("0_") else 0
    if days > WINDOW_DAYS_MAX:
        raise UsageError("--window", f"{WINDOW_DAYS_MAX} days at most", window)
    since_us, until_us = parse_span(since, until, zone)
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        looked = _looked(opened, (since_us, until_us), game, zone, days * DAY_US)
    finally:
        opened.close()
    if as_csv:
        _print_csv(looked)
    elif as_json:
        _print_json(looked)
    else:
        _print_text(looked)
    if any(finding.severity != "warning" for finding in looked.report.findings):
        sys.exit(EXIT_FINDINGS)


def _looked(ledger: "RoundLedger", span: tuple[int | None, int | None], game: str, zone: str, window_us: int) -> _Looked:
    """Read all rounds of the span once, and judge them."""
    from replay.monitor import judge, two_hashes
    from replay.monitor_reading import ledger_rounds
    from replay.period_sums import Period, PeriodSums, day_of, missing_days
    from replay.return_sums import Cell, ReturnSums, WinTerms, add_rounds
    from replay.theory import certified_returns

    profile = ledger.profile
    percent = next(each.percent for each in profile.confidence if each.of == "return_to_player")
    theory = certified_returns()
    terms = {each.rules_hash: WinTerms(each.cap_multiple, each.pay_step_x100) for each in theory.values()}
    until_us = span[1] if span[1] is not None else ledger.store.recorded_at(ledger.store.tree_size()) + 1
    cells: dict[Cell, ReturnSums] = {}
    periods: dict[Period, PeriodSums] = {}
    paytables: dict[str, set[str]] = {}
    rounds = ledger_rounds(ledger, since_us=span[0], until_us=span[1], game=game)
    for found in follow(rounds, what="rounds read", total=None):
        opened = found.opened
        period = Period(day_of(opened.opened_at_us, zone), opened.game, opened.currency) if opened else Period("", "", "")
        periods.setdefault(period, PeriodSums()).add(found)
        if opened:
            paytables.setdefault(f"{opened.game} {opened.rules_version}", set()).add(opened.rules_hash)
        if found.played is not None:
            for _ in add_rounds(cells, [found.played], terms, until_us=until_us, window_us=window_us):
                pass
    days = {period.day for period in periods if period.day}
    first = day_of(span[0], zone) if span[0] is not None else min(days, default="")
    last = day_of(until_us - 1, zone) if span[1] is not None else max(days, default="")
    missing = list(missing_days(days, first, last)) if first and last else []
    report = judge(cells, theory, (100 - percent) / 100)
    report.findings[:0] = two_hashes(paytables)
    return _Looked(report, periods, missing, profile.name, percent)


def _print_csv(looked: _Looked) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("day", "game", "currency", "rounds", "cost_minor", "win_minor", "in_play", "voided", "unreadable"))
    for period, sums in sorted(looked.periods.items()):
        counts = (sums.rounds, sums.cost_minor, sums.win_minor, sums.in_play, sums.voided, sums.unreadable)
        writer.writerow((*map(spreadsheet_safe, period), *counts))
    for finding in looked.report.findings:
        note(f"{finding.severity} {finding.code}: {finding.message}")


def _print_json(looked: _Looked) -> None:
    from audit_reports.verdict_view import finding_json
    from replay.monitor import FACTORS

    for period, sums in sorted(looked.periods.items()):
        counts = {name: getattr(sums, name) for name in ("rounds", "cost_minor", "win_minor", "in_play", "voided", "unreadable")}
        print_json({"schema": "monitor/1", "period": period._asdict(), **counts})
    for each in looked.report.slices:
        facts: dict[str, Any] = {"rounds": each.sums.rounds, "cost_minor": each.sums.cost, "win_minor": each.sums.win}
        facts |= {"band": each.band._asdict(), "power": dict(zip(map(str, FACTORS), each.power, strict=True))}
        facts |= {"smallest": each.smallest._asdict(), "alarms": [alarm._asdict() for alarm in each.alarms]}
        print_json({"schema": "monitor/1", "slice": each.slice._asdict(), **facts})
    rounds = sum(sums.rounds for sums in looked.periods.values())
    summary = {"rounds": rounds, "no_activity": not looked.periods, "days_without": looked.missing, "rate": looked.report.rate}
    findings = [finding_json(finding) for finding in looked.report.findings]
    print_json({"schema": "monitor/1", **summary, "profile": looked.profile, "findings": findings})


def _print_text(looked: _Looked) -> None:
    if not looked.periods:
        print_line(f"no activity from {looked.missing[0]} to {looked.missing[-1]}" if looked.missing else "no activity")
        return
    for line in table(_PERIOD_HEADS, _period_rows(looked), right=frozenset((2, 3, 4, 5, 6))):
        print_line(line)
    if looked.missing:
        print_line(f"no activity on {', '.join(looked.missing)}")
    print_line()
    for line in table(_SLICE_HEADS, _slice_rows(looked), right=frozenset((2, 3))):
        print_line(line)
    rate, count = looked.report.rate, len(looked.report.slices)
    print_line(
        f"An honest ledger of these {count} slices ever raises an alarm with a chance of {rate:.0%} at most, however often it is looked at"
        f" (profile {looked.profile}, {looked.percent} %)."
    )
    for finding in looked.report.findings:
        print_line(f"{finding.severity} {finding.code}: {finding.message}")


_PERIOD_HEADS = ("day", "game", "rounds", "cost", "won", "RTP", "not settled", "")
_SLICE_HEADS = ("slice", "by", "rounds", "RTP", "band (95 %)", "wins 5 % too high seen after", "alarm")


def _period_rows(looked: _Looked) -> list[tuple[str, ...]]:
    from ledger.money import amount_text

    rows: list[tuple[str, ...]] = []
    for period, sums in sorted(looked.periods.items()):
        if not period.day:
            rows.append(("not readable", "", str(sums.unreadable), "", "", "", "", "run audit verify --all"))
            continue
        money = [amount_text(amount, period.currency) for amount in (sums.cost_minor, sums.win_minor)]
        rtp = f"{sums.win_minor / sums.cost_minor:.2%}" if sums.cost_minor else ""
        left = str(sums.in_play + sums.voided + sums.unreadable)
        rows.append((period.day, period.game, str(sums.rounds), *money, rtp, left, period.currency))
    return rows


def _slice_rows(looked: _Looked) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for each in looked.report.slices:
        band = each.band
        shown = f"{band.low_95:.2%} to {band.high_95:.2%}" if band.is_normal else f"normal from {band.rounds_for_normal:,} rounds on"
        by = f"{each.slice.by} {each.slice.value}".strip()
        alarm = "ALARM" if each.alarms else "no"
        numbers = (f"{each.sums.rounds:,}", f"{band.seen:.2%}", shown, f"{each.power[1]:,}")
        rows.append((f"{each.slice.game} {each.slice.mode}", by, *numbers, alarm))
    return rows
