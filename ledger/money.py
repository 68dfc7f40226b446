"""Money: minor units of a currency, and the bets that a game takes. Integers only; nothing is ever rounded.

The number of decimals comes from the table of ISO 4217 as its maintenance agency publishes it (package `iso4217`). A currency
that has left that table is no longer taken; amounts recorded in it are shown in minor units.
"""

# ruff: noqa: N818 - as in errors.py

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

from engines.canonical import INTEGER_MAX
from engines.rules import GameRules
from ledger.errors import AmountInvalid, BetNotAllowed, CurrencyUnknown, LedgerError, ModeUnknown

__all__ = [
    "BalanceTooLarge",
    "allowed_coins",
    "amount_text",
    "check_balance",
    "check_bet",
    "check_mode",
    "decimals_of",
    "format_amount",
    "is_bet_allowed",
    "parse_amount",
]

_DECIMALS_KNOWN = (0, 2, 3)
# 12 digits before the point keep every amount, in any currency, below what a recorded integer holds.
_AMOUNT = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]+))?")


class BalanceTooLarge(LedgerError):
    """A balance would pass the largest integer of the record, 2^53 - 1. Amounts are texts in the currency."""

    exit_status = 2

    def __init__(self, account_ref: str, balance: str, balance_max: str, currency: str) -> None:
        super().__init__(account_ref, balance, balance_max, currency)
        self.account_ref, self.balance, self.balance_max, self.currency = account_ref, balance, balance_max, currency

    def __str__(self) -> str:
        return (
            f"balance of account {self.account_ref}: want {self.balance_max} {self.currency} at most, got {self.balance}; "
            "take money out of the account, then repeat; a round that is in play waits for it and pays the same"
        )


@cache
def _decimals(currency: str) -> int | None:
    from iso4217 import Currency  # parses its table, some ten milliseconds

    try:
        decimals = Currency(currency).exponent
    except ValueError:
        return None
    return decimals if decimals in _DECIMALS_KNOWN else None


def decimals_of(currency: str) -> int:
    """Return the number of decimals of a currency (ISO 4217): 0, 2 or 3; raises CurrencyUnknown, also for any other number."""
    decimals = _decimals(currency)
    if decimals is None:
        raise CurrencyUnknown(currency)
    return decimals


def parse_amount(text: str, currency: str) -> int:
    """Return the minor units of an amount such as `2.00`; raises AmountInvalid for any other form or too many decimals."""
    decimals = decimals_of(currency)
    match = _AMOUNT.fullmatch(text)
    fraction = match[3] or "" if match else ""
    if match is None or len(fraction) > decimals:
        raise AmountInvalid(text, currency, decimals)
    minor: int = int(match[2]) * 10**decimals + int(fraction.ljust(decimals, "0") or "0")
    return -minor if match[1] else minor


def format_amount(minor: int, currency: str) -> str:
    """Return an amount in minor units as text with all decimals of its currency, such as `2.00`; raises CurrencyUnknown."""
    decimals = decimals_of(currency)
    sign, digits = "-" if minor < 0 else "", str(abs(minor))
    if not decimals:
        return sign + digits
    digits = digits.rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def amount_text(minor: int, currency: str) -> str:
    """Return a recorded amount as text, in minor units where its currency is none that is known.

    A record may have been altered, or be older than the end of its currency.
    """
    return f"{minor} minor units" if _decimals(currency) is None else format_amount(minor, currency)


def check_balance(account_ref: str, balance_minor: int, currency: str) -> None:
    """Raise BalanceTooLarge where an account would come to hold more than a recorded integer can."""
    if balance_minor > INTEGER_MAX:
        balance, balance_max = amount_text(balance_minor, currency), amount_text(INTEGER_MAX, currency)
        raise BalanceTooLarge(account_ref, balance, balance_max, currency)


def check_mode(rules: GameRules, mode: str) -> None:
    """Raise ModeUnknown where the game has no such mode."""
    if rules.mode(mode) is None:
        raise ModeUnknown(rules.game, mode, tuple(known.name for known in rules.modes))


def allowed_coins(rules: GameRules, listed: Sequence[int] | None = None) -> Sequence[int]:
    """Return the coins that a bet may be made of, rising, in minor units (ALL-7).

    Those of the rules file, less what a profile leaves out: `listed` is its list for the currency, None where it has none.
    """
    coins = range(rules.bet.coin_minor_min, rules.bet.coin_minor_max + 1)
    return coins if listed is None else tuple(coin for coin in sorted(set(listed)) if coin in coins)


def is_bet_allowed(rules: GameRules, bet_minor: int, listed: Sequence[int] | None = None) -> bool:
    """Return whether the game takes the bet: its number of coins times one allowed coin, so that every pay of it is whole."""
    coin_minor, rest = divmod(bet_minor, rules.bet.coins)
    return not rest and coin_minor in allowed_coins(rules, listed)


def check_bet(rules: GameRules, bet_minor: int, currency: str, listed: Sequence[int] | None = None) -> None:
    """Raise BetNotAllowed, which names the allowed bets and the nearest of them, where the game does not take the bet."""
    if is_bet_allowed(rules, bet_minor, listed):
        return
    step, coins = rules.bet.coins, allowed_coins(rules, listed)
    place = bisect_right(coins, bet_minor // step)
    nearest = tuple(amount_text(coin * step, currency) for coin in (*coins[max(place - 1, 0) : place], *coins[place : place + 1]))
    raise BetNotAllowed(rules.game, amount_text(bet_minor, currency), _bets_text(coins, step, currency), nearest)


def _bets_text(coins: Sequence[int], step: int, currency: str) -> str:
    if not coins:
        return f"none in {currency}, as the profile leaves out every coin"
    if isinstance(coins, range):
        lowest, highest, steps = (amount_text(amount, currency) for amount in (step * coins[0], step * coins[-1], step))
        return f"{lowest} to {highest} {currency} in steps of {steps}"
    return f"{' or '.join(amount_text(coin * step, currency) for coin in coins)} {currency}"
