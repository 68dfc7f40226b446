"""Amounts are parsed and written exactly, and a bet that is not allowed is told what is."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import money
from ledger.errors import AmountInvalid, BetNotAllowed, CurrencyUnknown, ModeUnknown
from tests.ledger_files import game

CURRENCIES = {"EUR": 2, "GBP": 2, "USD": 2, "JPY": 0, "KRW": 0, "KWD": 3, "BHD": 3, "TND": 3, "OMR": 3, "JOD": 3}


@given(st.sampled_from(sorted(CURRENCIES)), st.integers(-(10**14), 10**14))
def test_amounts_survive_text(currency, minor):
    """Any amount is written with its currency's decimals, equals the decimal number, and comes back."""
    text = money.format_amount(minor, currency)
    assert Decimal(text) == Decimal(minor).scaleb(-CURRENCIES[currency])
    assert len(text.partition(".")[2]) == CURRENCIES[currency]
    if abs(minor) < 10 ** (12 + CURRENCIES[currency]):
        assert money.parse_amount(text, currency) == minor


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("2.00", "EUR", 200),
        ("2", "EUR", 200),
        ("2.5", "EUR", 250),
        ("0.01", "EUR", 1),
        ("-1.10", "EUR", -110),
        ("200", "JPY", 200),
        ("1.234", "KWD", 1234),
    ],
)
def test_amounts_are_read(text, currency, minor):
    """Fewer decimals than the currency has are filled up."""
    assert money.parse_amount(text, currency) == minor


@pytest.mark.parametrize("text", ["", "2.001", "2.000", "1e3", ".5", "2.", " 2", "2,00", "+2", "٢", "nan", "1_000", "9" * 13, "--1"])
def test_other_texts_are_refused(text):
    """Anything but digits with at most the currency's decimals is refused, zeros included."""
    with pytest.raises(AmountInvalid):
        money.parse_amount(text, "EUR")


def test_yen_take_no_decimals():
    """A currency without decimals takes none."""
    with pytest.raises(AmountInvalid, match=r"at most 0 decimals, got '2.0'; write it as in 200"):
        money.parse_amount("2.0", "JPY")


@pytest.mark.parametrize("currency", ["", "eur", "XXX", "EURO"])
def test_unknown_currencies_are_refused(currency):
    """A currency without known decimals is refused rather than guessed."""
    with pytest.raises(CurrencyUnknown):
        money.decimals_of(currency)


@given(st.integers(-100, 11_000))
def test_bets_are_coins(bet_minor):
    """A bet is allowed exactly where it is 20 coins of 1 to 500 minor units; else the nearest allowed ones are named."""
    rules = game().rules
    allowed = [20 * coin for coin in range(1, 501)]
    assert money.is_bet_allowed(rules, bet_minor) == (bet_minor in allowed)
    if bet_minor in allowed:
        money.check_bet(rules, bet_minor, "EUR")
        return
    with pytest.raises(BetNotAllowed) as caught:
        money.check_bet(rules, bet_minor, "EUR")
    distance = min(abs(bet - bet_minor) for bet in allowed)
    below, above = [bet for bet in allowed if bet < bet_minor][-1:], [bet for bet in allowed if bet > bet_minor][:1]
    nearest = [money.parse_amount(text, "EUR") for text in caught.value.nearest]
    assert nearest == below + above
    assert min(abs(bet - bet_minor) for bet in nearest) == distance


def test_messages_name_what_is_allowed():
    """The messages name range, step and nearest bets, and the modes."""
    with pytest.raises(BetNotAllowed) as caught:
        money.check_bet(game().rules, 250, "EUR")
    want = "bet of moonlight-princess: want 0.20 to 100.00 EUR in steps of 0.20, got 2.50; nearest: 2.40 and 2.60"
    assert str(caught.value) == want
    with pytest.raises(ModeUnknown, match="mode of moonlight-princess: want one of base, ante, buy, got 'turbo'"):
        money.check_mode(game().rules, "turbo")
