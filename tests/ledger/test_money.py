"""Amounts are parsed and written exactly, and a bet that is not allowed is told what is."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import INTEGER_MAX
from engines.registry import GAMES, installed_game
from ledger import money
from ledger.errors import AmountInvalid, BetNotAllowed, CurrencyUnknown, FundsShort, ModeUnknown
from ledger.history import RoundEntry, totals
from ledger.money import BalanceTooLarge
from ledger.rounds import RoundLedger
from replay.verification import Verifier
from tests.ledger_files import game, new_ledger, whole_ledger_faults

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


@pytest.mark.parametrize("currency", ["", "eur", "XXX", "XAU", "EURO", "ABC", "BGN", "CLF", "UYW"])
def test_unknown_currencies_are_refused(currency):
    """A code that ISO 4217 has not, has without decimals, has no more, or has with four of them is refused rather than guessed."""
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


def test_an_amount_of_a_currency_that_is_no_more():
    """What was recorded in a currency that has left the table is shown in minor units, never with decimals that are guessed."""
    assert money.amount_text(1234, "BGN") == "1234 minor units"
    assert money.amount_text(-5, "JPY") == "-5"


@given(st.sets(st.integers(1, 600), max_size=8), st.integers(-100, 11_000))
def test_a_profile_s_list_leaves_coins_out(listed, bet_minor):
    """With a list for the currency a bet is allowed where its coin is in the rules' range and in the list; else the nearest are named."""
    rules = game().rules
    allowed = [20 * coin for coin in sorted(listed) if coin <= 500]
    assert money.is_bet_allowed(rules, bet_minor, tuple(listed)) == (bet_minor in allowed)
    if bet_minor in allowed:
        return
    with pytest.raises(BetNotAllowed) as caught:
        money.check_bet(rules, bet_minor, "EUR", tuple(listed))
    below, above = [bet for bet in allowed if bet < bet_minor][-1:], [bet for bet in allowed if bet > bet_minor][:1]
    assert [money.parse_amount(text, "EUR") for text in caught.value.nearest] == below + above


def test_messages_name_what_a_profile_leaves():
    """The allowed bets are named one by one, in the currency's own decimals."""
    rules = game().rules
    with pytest.raises(BetNotAllowed, match="want 200 or 2000 JPY, got 20; nearest: 200"):
        money.check_bet(rules, 20, "JPY", (10, 100))
    with pytest.raises(BetNotAllowed, match=r"want 0\.200 or 2\.000 KWD, got 0\.220; nearest: 0\.200 and 2\.000"):
        money.check_bet(rules, 220, "KWD", (10, 100))
    with pytest.raises(BetNotAllowed, match=r"want none in EUR, as the profile leaves out every coin, got .*; bet in another currency"):
        money.check_bet(rules, 20, "EUR", (1000,))


@pytest.mark.parametrize("currency", ["JPY", "EUR", "KWD"])
@pytest.mark.parametrize("name", GAMES)
def test_every_game_in_every_exponent(tmp_path, name, currency):
    """Smallest and largest bet are played and paid alike with 0, 2 and 3 decimals; what lies beside them is refused in its decimals."""
    played_game = installed_game(name)
    bet = played_game.rules.bet
    with new_ledger(tmp_path, currency=currency) as (ledger, ref):
        for coin in (bet.coin_minor_min, bet.coin_minor_max):
            before = ledger.account("alice").balance_minor
            played = ledger.play(ref, played_game, "base", bet.coins * coin)
            assert played.opened.currency == currency
            assert played.settled.balance_after_minor == before - bet.coins * coin + played.settled.total_win_minor
            assert played.settled.total_win_minor * 100 % coin == 0
        step, highest = (money.format_amount(bet.coins * coin, currency) for coin in (1, bet.coin_minor_max))
        for wrong in (bet.coins * bet.coin_minor_max + 1, bet.coins + 1, 0):
            with pytest.raises(BetNotAllowed, match=f"want {step} to {highest} {currency} in steps of {step}"):
                ledger.play(ref, played_game, "base", wrong)
    assert whole_ledger_faults(tmp_path / "ledger.db") == []
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        verifier = Verifier(reader, keys_dir=tmp_path / "ledger.db.keys")
        assert verifier.verify(played.round_id).verdict == "reproduced"


def test_the_edge_of_a_recorded_integer():
    """A balance may be 2^53 - 1 and no more; the message says what waits."""
    money.check_balance("ab", INTEGER_MAX, "EUR")
    with pytest.raises(BalanceTooLarge, match=r"want 9007199254740991 JPY at most, got 9007199254740992; take money out"):
        money.check_balance("ab", INTEGER_MAX + 1, "JPY")


def test_totals_go_beyond_a_recorded_integer():
    """Sums over rounds are exact, whatever their size: each round fits the record, their sum need not."""
    entry = RoundEntry("r", "a", "g", "1", "base", 1, INTEGER_MAX, INTEGER_MAX - 1, 0, 0, "EUR", 0, 0, 0, 0, "settled", "", 0)
    assert totals([entry] * 3)["EUR"][1:] == (3 * INTEGER_MAX, 3 * INTEGER_MAX - 3, 0)
    assert money.amount_text(3 * INTEGER_MAX, "EUR") == "270215977642229.73"


def test_a_balance_one_unit_short(tmp_path):
    """An account that has one minor unit less than the cost cannot play; with that unit it can."""
    with new_ledger(tmp_path, balance_minor=199, currency="JPY") as (ledger, ref):
        with pytest.raises(FundsShort, match="want 200 JPY at least, got 199"):
            ledger.play(ref, game(), "base", 200)
        ledger.move_funds(ref, 1)
        ledger.play(ref, game(), "base", 200)
