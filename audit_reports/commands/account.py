"""Accounts: `account open`, `account fund`, `account bonus`, `account forget`."""

from typing import Annotated

import typer

from audit_reports.options import ApprovedByOption, ByOption, JsonOption, KeysOption, LedgerOption, writing_ledger
from audit_reports.output import note, print_json, print_line

__all__ = ["register"]

AccountArgument = Annotated[str, typer.Argument(help="Name or reference of an account.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Accounts: open one, move money in or out, grant bonus money, erase its personal data.")
    group.command("open")(open_)
    group.command("fund")(fund)
    group.command("bonus")(bonus)
    group.command("forget")(forget)
    app.add_typer(group, name="account")


def open_(
    name: Annotated[str, typer.Argument(help="Name of the new account; kept beside the record, in it as a random reference.")],
    currency: Annotated[str, typer.Option("--currency", help="Code of ISO 4217, with 0, 2 or 3 decimals.")] = "EUR",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Open an account, with a balance of 0.

    Example: audit account open anna --currency JPY
    """
    with writing_ledger(ledger, keys) as opened:
        account_ref = opened.open_account(name, currency)
    if as_json:
        print_json({"schema": "account/1", "account_ref": account_ref, "currency": currency, "balance_minor": 0})
    else:
        print_line(f"account {account_ref} opened, in {currency}")


def fund(
    account: AccountArgument,
    amount: Annotated[str, typer.Option("--amount", help="What goes in, or with a minus out, in the account's currency.")],
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Move money into an account, or out of it.

    Example: audit account fund anna --amount 20.00
    """
    from ledger.money import amount_text, parse_amount

    with writing_ledger(ledger, keys) as opened:
        row = opened.account(account)
        amount_minor = parse_amount(amount, row.currency)
        balance_minor = opened.move_funds(row.account_ref, amount_minor, "deposit" if amount_minor >= 0 else "withdrawal")
    if as_json:
        facts = {"account_ref": row.account_ref, "currency": row.currency}
        print_json({"schema": "account/1", **facts, "amount_minor": amount_minor, "balance_minor": balance_minor})
    else:
        print_line(f"account {row.account_ref}: balance {amount_text(balance_minor, row.currency)} {row.currency}")


def bonus(
    account: AccountArgument,
    amount: Annotated[str, typer.Option("--amount", help="What is granted, or with a minus taken back, in the account's currency.")],
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Grant bonus money, or take it back; it pays a bet where the balance is short, and what it wins is balance.

    Example: audit account bonus anna --amount 10.00
    """
    from ledger.accounts import move_bonus
    from ledger.money import amount_text, parse_amount

    with writing_ledger(ledger, keys) as opened:
        row = opened.account(account)
        bonus_minor = move_bonus(opened.store, row.account_ref, parse_amount(amount, row.currency))
    if as_json:
        facts = {"account_ref": row.account_ref, "currency": row.currency, "balance_minor": row.balance_minor}
        print_json({"schema": "account/1", **facts, "bonus_minor": bonus_minor})
    else:
        amounts = [f"{amount_text(minor, row.currency)} {row.currency}" for minor in (bonus_minor, row.balance_minor)]
        print_line(f"account {row.account_ref}: bonus money {amounts[0]}, balance {amounts[1]}")


def forget(
    account: AccountArgument,
    by: ByOption,
    approved_by: ApprovedByOption,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Erase the personal data of an account for ever; every proof and every sum stays whole.

    Erased are its name, the reasons of its corrections, and the texts of incidents and disputes that concern no other account.
    Refused while a round of the account is disputed and its profile holds it (legal hold): close the dispute first.
    Example: audit account forget anna --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.forgetting import forget_account
    from ledger.money import amount_text

    with writing_ledger(ledger, keys) as opened:
        done = forget_account(opened, account, by, approved_by)
        row = opened.account(done.account_ref)
    count = done.event.erased_text_count
    if as_json:
        facts = {"account_ref": done.account_ref, "erased_texts": count, "kept_incidents": list(done.kept_incidents)}
        facts["kept_disputes"] = list(done.kept_disputes)
        print_json({"schema": "account/1", **facts, "currency": row.currency, "balance_minor": row.balance_minor})
    else:
        print_line(f"account {done.account_ref} forgotten: its name and {count} text{'' if count == 1 else 's'} erased")
    kept = [*(f"incident {each}" for each in done.kept_incidents), *(f"dispute {each}" for each in done.kept_disputes)]
    for name in kept:
        note(f"{name} concerns other accounts too: its texts are kept, see that they name nobody")
    if row.balance_minor:
        note(f"its balance of {amount_text(row.balance_minor, row.currency)} {row.currency} stays, under its reference alone")
    note("copies, backups and notes outside the ledger are not reached by this")
