"""Totals of a round and balances of an account, held against what they should be."""

from typing import Any

import pytest

from engines.canonical import canonical_json
from ledger.lifecycle_events import FundsMoved, RoundOpened, RoundSettled
from replay.reconcile import (
    AccountFact,
    appended_digest,
    bet_is_allowed,
    check_digests,
    cost_options,
    reconcile_account,
    reconcile_round,
    reconcile_stream,
    win_options,
)
from replay.referee.walk import RoundTotals
from tests.round_builder import RULES, RoundBuilder, round_facts

BUILDER = RoundBuilder(RULES, seed=5, mode="ante", scatters=4, hearts=True).play()
FACTS = round_facts(BUILDER)
TOTALS = RoundTotals(("played",), (BUILDER.total,), (BUILDER.base_award,), (BUILDER.total - BUILDER.base_award,))
LAST = len(FACTS) - 1


def opened(**changes: Any) -> tuple[int, RoundOpened]:
    return 0, RoundOpened.model_validate(FACTS[0]).model_copy(update=changes)


def settled(**changes: Any) -> tuple[int, RoundSettled]:
    return LAST, RoundSettled.model_validate(FACTS[-1]).model_copy(update=changes)


def event_bytes() -> list[tuple[str, bytes]]:
    return [(fact["kind"], canonical_json(fact)) for fact in FACTS[:-1]]


def test_a_right_round_reconciles() -> None:
    """Opening, settlement and digests of a right round give no finding."""
    assert reconcile_stream(opened(), settled(), TOTALS, RULES, event_bytes()) == []
    assert reconcile_stream(opened(), None, TOTALS, RULES, event_bytes()) == []
    assert cost_options(opened()[1], RULES) == (250,)
    assert win_options(settled()[1], TOTALS) == (BUILDER.total,)


@pytest.mark.parametrize(
    ("changes", "code", "severity", "index"),
    [
        ({"cost_minor": 200}, "cost", "money", 0),
        ({"bet_minor": 210}, "bet", "money", 0),
        ({"bet_minor": 0, "cost_minor": 0}, "bet", "money", 0),
        ({"mode": "double"}, "mode", "integrity", 0),
        ({"bonus_minor": 251}, "bonus", "money", 0),
        ({"state_in": {"x": 1}}, "state_in", "integrity", 0),
        ({"balance_before_minor": 100}, "balance_negative", "money", 0),
    ],
)
def test_a_wrong_opening_is_one_finding(changes: dict[str, Any], code: str, severity: str, index: int) -> None:
    """One wrong value of an opening is one finding, though the balance after may follow from either value."""
    after = 1_000_000 - changes.get("cost_minor", 250) + BUILDER.total
    found = reconcile_round(opened(**changes), settled(balance_after_minor=after), TOTALS, RULES)
    assert [(finding.code, finding.severity, finding.event_index) for finding in found] == [(code, severity, index)], found
    assert found[0].want in found[0].message
    assert found[0].got in found[0].message


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"total_win_minor": BUILDER.total + 20}, "total_win"),
        ({"base_win_minor": BUILDER.base_award + 20}, "base_win"),
        ({"feature_win_minor": 7}, "feature_win"),
        ({"ended": "capped"}, "ended"),
        ({"state_out": {"x": 1}}, "state_out"),
        ({"balance_after_minor": 5}, "balance"),
        ({"total_win_minor": BUILDER.total + 20, "balance_after_minor": 1_000_000 - 250 + BUILDER.total + 20}, "total_win"),
    ],
)
def test_a_wrong_settlement_is_one_finding(changes: dict[str, Any], code: str) -> None:
    """One wrong value of a settlement is one finding, carried on to the balance or not."""
    found = reconcile_round(opened(), settled(**changes), TOTALS, RULES)
    assert [(finding.code, finding.event_index, finding.spin_index) for finding in found] == [(code, LAST, -1)], found


def test_balances_are_left_out_where_they_are_not_shown() -> None:
    """Where other movements may lie between opening and settlement, the balance after is no finding."""
    assert reconcile_round(opened(), settled(balance_after_minor=5), TOTALS, RULES, is_balance_shown=False) == []


def test_digests_come_last() -> None:
    """A digest that differs is a finding only where nothing else was found, and one change is one finding."""
    data = event_bytes()
    data[3] = (data[3][0], data[3][1] + b" ")
    assert [finding.code for finding in check_digests(settled(), data)] == ["outcome_digest"]
    data = event_bytes()
    data[0] = (data[0][0], data[0][1] + b" ")
    found = reconcile_stream(opened(), settled(), TOTALS, RULES, data)
    assert [(finding.code, finding.severity) for finding in found] == [("round_digest", "integrity")]
    assert reconcile_stream(opened(), settled(), TOTALS, RULES, data, is_clean=False) == []
    assert [finding.code for finding in reconcile_stream(opened(cost_minor=200), settled(), TOTALS, RULES, data)] == ["cost"]


def test_the_append_form_is_that_of_the_specification() -> None:
    """The digest over two events is the vector of `record/1`."""
    events = [b'{"kind":"spin_started","spin_index":0,"v":1}', b'{"cells":[1,2,3],"kind":"drop","v":1}']
    assert appended_digest(events) == "e92afd9a2e0b70df8dd2a8aa313288c8ddfd3807a7eca432dd5daea0d129bc13"


@pytest.mark.parametrize(("bet", "allowed"), [(20, True), (10000, True), (10020, False), (0, False), (30, False), (-20, False)])
def test_bets_are_coins(bet: int, allowed: bool) -> None:
    """A bet is 20 coins of 1 to 500 minor units."""
    assert bet_is_allowed(RULES, bet) is allowed


def account(*, before: tuple[int, int] = (1000, 950), after: tuple[int, int] = (950, 900), deposit_after: int = 1000) -> list[AccountFact]:
    """Return a deposit of 1000 and two rounds that cost 250 and win 200."""
    facts = [AccountFact("account/a", 1, FundsMoved(amount_minor=1000, reason="deposit", balance_after_minor=deposit_after, moved_at_us=1))]
    for number in range(2):
        facts.append(AccountFact(f"r-{number}", 0, opened(balance_before_minor=before[number])[1], (250,)))
        facts.append(AccountFact(f"r-{number}", 9, settled(total_win_minor=200, balance_after_minor=after[number])[1], (200,)))
    return facts


def test_an_account_adds_up() -> None:
    """Deposits, costs and wins give the balances that the events hold."""
    assert reconcile_account(account()) == []


@pytest.mark.parametrize(
    ("changes", "source", "index"),
    [
        ({"before": (1000, 960)}, "r-1", 0),
        ({"before": (1000, 960), "after": (950, 910)}, "r-1", 0),
        ({"after": (955, 900)}, "r-0", 9),
        ({"after": (955, 905), "before": (1000, 955)}, "r-0", 9),
        ({"deposit_after": 1100}, "account/a", 1),
        ({"deposit_after": 1100, "before": (1100, 1050), "after": (1050, 1000)}, "account/a", 1),
    ],
)
def test_a_wrong_balance_is_one_finding_in_its_event(changes: dict[str, Any], source: str, index: int) -> None:
    """A wrong balance is found where it arose, whether later balances follow from it or from the right one."""
    found = reconcile_account(account(**changes))
    assert [(each.source, each.finding.event_index, each.finding.code) for each in found] == [(source, index, "balance")], found


def test_a_balance_below_nothing_is_a_finding() -> None:
    """A round that costs more than the account holds is found at its opening."""
    facts = account(deposit_after=100, before=(100, 50), after=(50, 0))
    facts[0] = AccountFact("account/a", 1, FundsMoved(amount_minor=100, reason="deposit", balance_after_minor=100, moved_at_us=1))
    found = reconcile_account(facts)
    assert [(each.source, each.finding.code) for each in found] == [("r-0", "balance_negative"), ("r-1", "balance_negative")]


def test_a_round_settled_before_it_was_opened_is_one_finding() -> None:
    """A settlement that is older than its opening is found, with both times."""
    early = opened()[1].opened_at_us - 1
    (finding,) = reconcile_round(opened(), settled(settled_at_us=early), TOTALS, RULES)
    assert (finding.code, finding.severity, finding.event_index, finding.got) == ("time_order", "integrity", LAST, str(early))
