"""The game history: `find`, `history`, `history build`."""

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.options import (
    AccountOption,
    HistoryOption,
    JsonOption,
    LedgerOption,
    SinceOption,
    UntilOption,
    UsageError,
    ZoneOption,
    check_game_known,
    history_path,
    named_ledger,
    parse_time,
)
from audit_reports.output import follow, note, print_json, print_line, table, time_text

__all__ = ["register"]

STATUSES = ("open", "settled", "unreadable")
HEADS = ("round", "opened", "game", "mode", "bet", "cost", "won", "balance", "", "status")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("find")(find)
    group = typer.Typer(invoke_without_command=True, help=history.__doc__)
    group.callback()(history)
    group.command("build")(build)
    app.add_typer(group, name="history")


def _filter(ledger: Any, account: str, since: str, until: str, zone: str) -> Any:
    from ledger.history import RoundFilter

    account_ref = ledger.account(account).account_ref if account else ""
    return RoundFilter(account_ref, parse_time(since, "--since", zone), parse_time(until, "--until", zone))


def _row(entry: Any) -> tuple[str, ...]:
    from ledger.money import format_amount

    if entry.status == "unreadable":
        return (entry.round_id, "", entry.game, "", "", "", "", "", "", entry.status)
    amounts = [entry.bet_minor, entry.cost_minor, entry.win_minor, entry.balance_after_minor]
    texts = [format_amount(amount, entry.currency) for amount in amounts]
    return (entry.round_id, time_text(entry.opened_at_us), entry.game, entry.mode, *texts, entry.currency, entry.status)


def find(
    account: AccountOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    zone: ZoneOption = "",
    game: Annotated[str, typer.Option("--game", help="Rounds of this game.")] = "",
    external: Annotated[str, typer.Option("--external", help="The operator's own reference.")] = "",
    win_min: Annotated[str, typer.Option("--win-min", help="Rounds that won at least this amount.")] = "",
    currency: Annotated[str, typer.Option("--currency", help="Currency of --win-min.")] = "EUR",
    status: Annotated[str, typer.Option("--status", help="open, settled or unreadable.")] = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Find rounds by what a complaint knows.

    Example: audit find --account player --since 2026-11-30 --tz Europe/Malta --win-min 100.00
    """
    from ledger.history import round_rows
    from ledger.money import parse_amount
    from ledger.rounds import RoundLedger

    if game:
        check_game_known(game)
    if status and status not in STATUSES:
        raise UsageError("--status", " or ".join(STATUSES), status)
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        win_min_minor = parse_amount(win_min, currency) if win_min else None
        wanted = _filter(opened, account, since, until, zone)
        wanted = wanted._replace(game=game, external_ref=external, win_min_minor=win_min_minor, status=status)
        entries = list(follow(round_rows(opened, wanted), what="rounds found", total=None))
    finally:
        opened.close()
    if win_min:
        entries = [entry for entry in entries if entry.currency == currency]
    if as_json:
        for entry in entries:
            print_json({"schema": "find/1", **entry._asdict()})
        print_json({"schema": "find/1", "rounds": len(entries)})
        return
    if entries:
        for line in table(HEADS, map(_row, entries), right=frozenset((4, 5, 6, 7))):
            print_line(line)
    print_line(f"{len(entries)} round{'' if len(entries) == 1 else 's'} found")


def history(
    context: typer.Context,
    account: AccountOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    zone: ZoneOption = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values, amounts in minor units.")] = False,
    ledger: LedgerOption = "ledger.db",
    history_file: HistoryOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show the history, recomputed and compared.

    Rows and totals come from the events and are compared with the read model where there is one.

    Example: audit history --account player --csv
    """
    if context.invoked_subcommand is not None:
        return
    from ledger.history import compare, round_rows
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    model = history_path(path, history_file)
    opened = RoundLedger.open_for_reading(path)
    try:
        wanted = _filter(opened, account, since, until, zone)
        entries = list(follow(round_rows(opened, wanted), what="rounds read", total=None))
        differences = compare(opened, model) if history_file or model.exists() else None
    finally:
        opened.close()
    if as_csv:
        _print_csv(entries)
    elif as_json:
        _print_json(entries, differences)
    else:
        _print_table(entries, differences, model)
    if differences:
        if as_csv:
            note(f"the read model {model} differs from the record in {len(differences)} places; see `audit history`")
        sys.exit(3)


def _print_csv(entries: list[Any]) -> None:
    from ledger.history import RoundEntry

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(RoundEntry._fields)
    writer.writerows(entries)


def _print_json(entries: list[Any], differences: list[Any] | None) -> None:
    from ledger.history import totals

    for entry in entries:
        print_json({"schema": "history/1", **entry._asdict()})
    sums = {currency: total._asdict() for currency, total in totals(entries).items() if currency}
    found = None if differences is None else [difference._asdict() for difference in differences]
    print_json({"schema": "history/1", "rounds": len(entries), "totals": sums, "read_model_differences": found})


def _print_table(entries: list[Any], differences: list[Any] | None, model: Path) -> None:
    from ledger.history import totals
    from ledger.money import format_amount

    if not entries:
        print_line("no activity")
    else:
        for line in table(HEADS, map(_row, entries), right=frozenset((4, 5, 6, 7))):
            print_line(line)
        for currency, total in sorted(totals(entries).items()):
            if currency:
                paid, won = format_amount(total.cost_minor, currency), format_amount(total.win_minor, currency)
                net = format_amount(total.win_minor - total.cost_minor, currency)
                print_line(f"{total.round_count} rounds in {currency}: cost {paid}, won {won}, player's net {net}")
    if differences is None:
        print_line("no read model to compare with; make one with: audit history build")
    else:
        print_line(
            f"the read model {model} agrees with the record" if not differences else f"the read model {model} differs from the record:"
        )
        for difference in differences:
            print_line(f"  round {difference.round_id}, {difference.field}: want {difference.want}, got {difference.got}")


def build(ledger: LedgerOption = "ledger.db", history_file: HistoryOption = "", as_json: JsonOption = False) -> None:
    """Bring the read model up to date, or make it.

    Example: audit history build --ledger casino.db
    """
    from ledger.history import build as build_history
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    model = history_path(path, history_file)
    opened = RoundLedger.open_for_reading(path)
    try:
        count = build_history(opened, model)
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "history/1", "history": str(model), "rounds_written": count})
    else:
        print_line(f"{count} rounds written to {model}")
