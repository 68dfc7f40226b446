"""Accounts: a random reference in the record, a name outside it, a balance and a slot for one round in play.

Balance and slot change in the round's own transaction; here is what opens and funds an account.
"""

from typing import TYPE_CHECKING, Literal

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.errors import AccountUnknown, TextInvalid
from ledger.lifecycle_events import AccountOpened, BonusMoved, FundsMoved
from ledger.money import decimals_of
from ledger.references import new_reference
from ledger.store import AccountRow, Store

if TYPE_CHECKING:
    from ledger.pausing import Pausing

__all__ = ["NAME_MAX", "FundsReason", "check_text", "find_account", "move_bonus", "move_funds", "open_account"]

FundsReason = Literal["deposit", "withdrawal", "play_money", "correction"]
NAME_MAX = 256


def check_text(field: str, text: str, *, is_empty_allowed: bool = True, is_zero_allowed: bool = False, length_max: int = NAME_MAX) -> None:
    """Raise TextInvalid for a text that is too long, that is no Unicode text, has a character 0, or is empty where it may not be."""
    if len(text) > length_max:
        raise TextInvalid(field, f"{length_max} characters at most", str(len(text)))
    if not text and not is_empty_allowed:
        raise TextInvalid(field, "a text", "an empty one")
    if "\0" in text and not is_zero_allowed:  # PostgreSQL keeps none in its tables, and a text is good for every store or for none
        raise TextInvalid(field, "text without the character 0", ascii(text)[:80])
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TextInvalid(field, "Unicode text", ascii(text)[:80]) from error


def open_account(store: Store, name: str, currency: str) -> str:
    """Open an account and return its reference; raises AccountExists, CurrencyUnknown, TextInvalid."""
    check_text("account name", name, is_empty_allowed=False)
    decimals_of(currency)
    account_ref = new_reference()

    def event_of(now: int) -> EventBytes:
        return event_bytes(AccountOpened(account_ref=account_ref, currency=currency, opened_at_us=now))

    store.open_account(account_ref, name, currency, event_of)
    return account_ref


def move_funds(store: Store, account_ref: str, amount_minor: int, reason: FundsReason) -> int:
    """Add to or, below 0, take from a balance and return the new one; raises AccountUnknown, FundsShort, BalanceTooLarge."""

    def event_of(balance_minor: int, now: int) -> EventBytes:
        moved = FundsMoved(amount_minor=amount_minor, reason=reason, balance_after_minor=balance_minor, moved_at_us=now)
        return event_bytes(moved)

    return store.move_funds(account_ref, amount_minor, event_of)


def move_bonus(store: "Pausing", account_ref: str, amount_minor: int) -> int:
    """Grant or, below 0, take back bonus money and return what there is; it is no part of the balance and pays where that is short.

    Raises AccountUnknown, FundsShort, BalanceTooLarge.
    """

    def event_of(bonus_minor: int, now: int) -> EventBytes:
        reason: Literal["granted", "forfeited"] = "granted" if amount_minor >= 0 else "forfeited"
        return event_bytes(BonusMoved(amount_minor=amount_minor, reason=reason, bonus_after_minor=bonus_minor, moved_at_us=now))

    return store.move_bonus(account_ref, amount_minor, event_of)


def find_account(store: Store, account: str) -> AccountRow:
    """Return the account with this name or, where no account has it as its name, this reference; raises AccountUnknown."""
    try:
        check_text("account", account)
    except TextInvalid as error:
        raise AccountUnknown(ascii(account)[:80]) from error
    row = store.account(store.account_ref(account) or account)
    if row is None:
        raise AccountUnknown(account)
    return row
