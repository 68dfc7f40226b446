"""Money: minor units of a currency, and the bets that a game takes. Integers only; nothing is ever rounded."""

import re

from engines.rules import GameRules
from ledger.errors import AmountInvalid, BetNotAllowed, CurrencyUnknown, ModeUnknown

__all__ = ["amount_text", "check_bet", "check_mode", "decimals_of", "format_amount", "is_bet_allowed", "parse_amount"]

_NO_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND"
_TWO_DECIMALS = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE "
    "CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD "
    "KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR "
    "PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU "
    "UZS VED VES WST XCD YER ZAR ZMW ZWG"
)
_DECIMALS: dict[str, int] = {
    code: decimals for decimals, codes in ((0, _NO_DECIMALS), (2, _TWO_DECIMALS), (3, _THREE_DECIMALS)) for code in codes.split()
}
# 12 digits before the point keep every amount, in any currency, below what a recorded integer holds.
_AMOUNT = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]+))?")


def decimals_of(currency: str) -> int:
    """Return the number of decimals of a currency: 0, 2 or 3; raises CurrencyUnknown."""
    decimals = _DECIMALS.get(currency)
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
    """Return an amount in minor units as text with all decimals of its currency, such as `2.00`."""
    decimals = decimals_of(currency)
    sign, digits = "-" if minor < 0 else "", str(abs(minor))
    if not decimals:
        return sign + digits
    digits = digits.rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def amount_text(minor: int, currency: str) -> str:
    """Return a recorded amount as text, in minor units where its currency is none that is known: a record may have been altered."""
    if currency in _DECIMALS:
        return format_amount(minor, currency)
    return f"{minor} minor units"


def check_mode(rules: GameRules, mode: str) -> None:
    """Raise ModeUnknown where the game has no such mode."""
    if rules.mode(mode) is None:
        raise ModeUnknown(rules.game, mode, tuple(known.name for known in rules.modes))


def is_bet_allowed(rules: GameRules, bet_minor: int) -> bool:
    """Return whether the game takes the bet: its number of coins times one coin in range."""
    coin_minor, rest = divmod(bet_minor, rules.bet.coins)
    return not rest and rules.bet.coin_minor_min <= coin_minor <= rules.bet.coin_minor_max


def check_bet(rules: GameRules, bet_minor: int, currency: str) -> None:
    """Raise BetNotAllowed, which names the nearest allowed bets, where the game does not take the bet."""
    if is_bet_allowed(rules, bet_minor):
        return
    step = rules.bet.coins
    bet_min, bet_max = step * rules.bet.coin_minor_min, step * rules.bet.coin_minor_max
    if bet_minor < bet_min:
        nearest = [bet_min]
    elif bet_minor > bet_max:
        nearest = [bet_max]
    else:
        nearest = [bet_minor // step * step, bet_minor // step * step + step]
    texts = tuple(format_amount(bet, currency) for bet in nearest)
    bet, lowest, highest, steps = (format_amount(amount, currency) for amount in (bet_minor, bet_min, bet_max, step))
    raise BetNotAllowed(rules.game, bet, currency, lowest, highest, steps, texts)
