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
    parse_span,
)
from audit_reports.output import follow, note, print_json, print_line, table, time_text
from audit_reports.spreadsheet import spreadsheet_safe

__all__ = ["register"]

EXIT_FINDINGS = 3
STATUSES = ("open", "waiting", "interrupted", "settled", "voided", "unreadable")
HEADS = ("round", "opened", "account", "game", "mode", "bet", "cost", "won", "balance", "", "status")


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
    return RoundFilter(account_ref, *parse_span(since, until, zone))


class _Names:
    """The names of accounts, each looked up once; the reference where it has none, with `forgotten` before it where it was erased."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self._names: dict[str, str] = {"": ""}

    def __call__(self, account_ref: str) -> str:
        name = self._names.get(account_ref)
        if name is None:
            name = self._names[account_ref] = self._ledger.store.account_name(account_ref) or self._nameless(account_ref)
        return name

    def _nameless(self, account_ref: str) -> str:
        from ledger.forgetting import is_forgotten

        return f"forgotten {account_ref}" if is_forgotten(self._ledger.store, account_ref) else account_ref


def _row(entry: Any, names: Any, zone: str) -> tuple[str, ...]:
    from ledger.money import amount_text

    name = names(entry.account_ref)
    if entry.status == "unreadable":
        return (entry.round_id, "", name, entry.game, "", "", "", "", "", "", entry.status)
    amounts = [entry.bet_minor, entry.cost_minor, entry.win_minor, entry.balance_after_minor]
    texts = [amount_text(amount, entry.currency) for amount in amounts]
    return (entry.round_id, time_text(entry.opened_at_us, zone), name, entry.game, entry.mode, *texts, entry.currency, entry.status)


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    for line in table(HEADS, rows, right=frozenset((5, 6, 7, 8))) if rows else ():
        print_line(line)


def _unreadable_count(entries: list[Any]) -> int:
    return sum(entry.status == "unreadable" for entry in entries)


def _unreadable_text(count: int) -> str:
    return f"{count} round{'' if count == 1 else 's'} cannot be read: run audit verify --all"


def find(
    account: AccountOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    zone: ZoneOption = "",
    game: Annotated[str, typer.Option("--game", help="Rounds of this game.")] = "",
    external: Annotated[str, typer.Option("--external", help="The operator's own reference.")] = "",
    win_min: Annotated[str, typer.Option("--win-min", help="Rounds that won at least this amount.")] = "",
    currency: Annotated[str, typer.Option("--currency", help="With --win-min: its currency; EUR unless named.")] = "",
    status: Annotated[str, typer.Option("--status", help="open, waiting, interrupted, settled, voided or unreadable.")] = "",
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
    if currency and not win_min:
        raise UsageError("--currency", "it with --win-min alone", currency)
    win_min_minor = parse_amount(win_min, currency or "EUR") if win_min else None
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        wanted = _filter(opened, account, since, until, zone)
        wanted = wanted._replace(game=game, external_ref=external, win_min_minor=win_min_minor, status=status)
        entries = list(follow(round_rows(opened, wanted), what="rounds found", total=None))
        if win_min:
            entries = [entry for entry in entries if entry.currency == (currency or "EUR") or entry.status == "unreadable"]
        names = _Names(opened)
        rows = [] if as_json else [_row(entry, names, zone) for entry in entries]
    finally:
        opened.close()
    unreadable = _unreadable_count(entries)
    if as_json:
        for entry in entries:
            print_json({"schema": "find/1", **entry._asdict()})
        print_json({"schema": "find/1", "rounds": len(entries), "unreadable": unreadable})
    else:
        _print_rows(rows)
        found = f"{len(entries)} round{'' if len(entries) == 1 else 's'} found"
        print_line(f"{found}; {_unreadable_text(unreadable)}" if unreadable else found)
    if unreadable:
        sys.exit(EXIT_FINDINGS)


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
    from ledger.history import compare, is_history, round_rows
    from ledger.rounds import RoundLedger

    if as_csv and as_json:
        raise UsageError("--csv, --json", "one of them", "both")
    path = named_ledger(ledger)
    model = history_path(path, history_file)
    opened = RoundLedger.open_for_reading(path)
    try:
        wanted = _filter(opened, account, since, until, zone)
        entries = list(follow(round_rows(opened, wanted), what="rounds read", total=None))
        # An empty file is what a build leaves that could not begin; a file that was named and is not there is an error.
        has_model = is_history(model) or (history_file != "" and not model.exists())
        differences = compare(opened, model) if has_model else None
        names = _Names(opened)
        rows = [] if as_csv or as_json else [_row(entry, names, zone) for entry in entries]
    finally:
        opened.close()
    if as_csv:
        _print_csv(entries)
    elif as_json:
        _print_json(entries, differences)
    else:
        _print_table(rows, entries, differences, model)
    unreadable = _unreadable_count(entries)
    if as_csv and differences:
        note(f"the read model {model} differs from the record in {len(differences)} places; see `audit history`")
    if as_csv and unreadable:
        note(_unreadable_text(unreadable))
    if differences or unreadable:
        sys.exit(EXIT_FINDINGS)


def _print_csv(entries: list[Any]) -> None:
    from ledger.history import RoundEntry

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(RoundEntry._fields)
    writer.writerows([spreadsheet_safe(value) if isinstance(value, str) else value for value in entry] for entry in entries)


def _print_json(entries: list[Any], differences: list[Any] | None) -> None:
    from ledger.history import totals

    for entry in entries:
        print_json({"schema": "history/1", **entry._asdict()})
    sums = {currency: total._asdict() for currency, total in totals(entries).items() if currency}
    found = None if differences is None else [difference._asdict() for difference in differences]
    counts = {"rounds": len(entries), "unreadable": _unreadable_count(entries)}
    print_json({"schema": "history/1", **counts, "totals": sums, "read_model_differences": found})


def _print_table(rows: list[tuple[str, ...]], entries: list[Any], differences: list[Any] | None, model: Path) -> None:
    from ledger.history import totals
    from ledger.money import amount_text

    if not entries:
        print_line("no activity")
    else:
        _print_rows(rows)
        for currency, total in sorted(totals(entries).items()):
            if currency:
                paid, won = amount_text(total.cost_minor, currency), amount_text(total.win_minor, currency)
                net = amount_text(total.win_minor + total.refund_minor - total.cost_minor, currency)
                back = f", given back {amount_text(total.refund_minor, currency)}" if total.refund_minor else ""
                print_line(f"{total.round_count} rounds in {currency}: cost {paid}, won {won}{back}, player's net {net}")
    if unreadable := _unreadable_count(entries):
        print_line(_unreadable_text(unreadable))
    if differences is None:
        print_line("no read model to compare with; make one with: audit history build")
    else:
        print_line(
            f"the read model {model} agrees with the record" if not differences else f"the read model {model} differs from the record:"
        )
        for difference in differences:
            print_line(f"  {difference.message}")
        if differences:
            print_line("keep a copy of it as evidence, remove it and make it anew with: audit history build")


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
        reasons: list[str] = []
        count = build_history(opened, model, say=reasons.append)
    finally:
        opened.close()
    for reason in reasons:
        note(f"the read model {model} could not be taken up where it was left: {reason}; made anew")
    if as_json:
        discarded = reasons[0] if reasons else None
        print_json({"schema": "history/1", "history": str(model), "rounds_written": count, "discarded": discarded})
    else:
        print_line(f"{count} rounds written to {model}")
