"""Rules files of Starlight Wins: what is refused, with its reason, and what the document states."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engines.registry import installed_rules

RULES = installed_rules("starlight-wins")
VALUES = RULES.model_dump()


def with_part(name: str, place: int, **change: Any) -> dict[str, Any]:
    return {name: [{**part, **change} if i == place else part for i, part in enumerate(VALUES[name])]}


BAD = [
    ({"money_pays": VALUES["money_pays"][1:]}, "money_pays: want one row for each paying symbol in its order"),
    (with_part("money_pays", 0, amounts_minor=(20, 50)), "symbol red_star: want 3 pays, got 2"),
    ({"displayed_bets": {**VALUES["displayed_bets"], "bets_minor": (40, 30)}}, "no whole hundredths of a bet of 30"),
    ({"displayed_bets": {**VALUES["displayed_bets"], "bets_minor": (40,)}}, "displayed_bets: want one for each of 2 values of SLW-1"),
    ({"readings": ()}, "readings: want ALL-1, SLW-1, SLW-2 in this order, got none"),
    (with_part("money_pays", 8, amounts_minor=(1, 6, 12)), "no whole hundredths of a bet of 40"),
    ({"gold": VALUES["gold"][:1]}, "gold: want one table for each strip set in its order"),
    (with_part("gold", 0, weights=(0, 1, 1, 0)), "gold of base: want a weight up to 100000 for each of 5 reels"),
    (with_part("gold", 0, weights=(0, 1, 100_001, 1, 0)), "gold of base: want a weight up to 100000"),
    (with_part("gold", 1, all_gold=(5,)), "gold of free: want a weight up to 100000"),
    (with_part("gold", 0, weights=(1, 1, 1, 1, 0)), "gold of base: want no gold on the first and the last reel"),
    (with_part("gold", 0, weights=(0, 1, 1, 1, 1)), "gold of base: want no gold on the first and the last reel"),
    (with_part("gold", 1, all_gold=(4,)), "gold of free: want no gold on the first and the last reel"),
    (
        with_part("gold", 1, weights=(0, 1, 1, 1, 0)),
        "gold of free: want no gold on the first and the last reel, and weight 0 where all is gold",
    ),
    ({"ladders": VALUES["ladders"][::-1]}, "ladders: want those of base and free"),
    (with_part("ladders", 1, multipliers=()), "ladders: want those of base and free"),
    (with_part("strip_sets", 0, strips=("RGMBWQ",) * 5), "strip_sets: want no wild on a strip"),
    ({"base_strip_set": "moon"}, "strip set 'moon': want one of ['base', 'free']"),
    ({"symbols": VALUES["symbols"][:-1]}, "symbols: want one of role wild, got 0"),
    ({"pay_counts": {**VALUES["pay_counts"], "counts": (3, 3, 5)}}, "pay_counts: want rising counts"),
]


@pytest.mark.parametrize(("change", "reason"), BAD, ids=[f"{number} {reason}" for number, (_, reason) in enumerate(BAD)])
def test_rules_that_cannot_be_played_are_refused(change: dict[str, Any], reason: str) -> None:
    """Each wrong value is refused with what was wanted and found."""
    with pytest.raises(ValidationError) as caught:
        type(RULES).model_validate({**VALUES, **change})
    assert reason in str(caught.value)


def test_the_values_are_the_document_s() -> None:
    """Amounts, ladders, spins and cap are those of the document, typed in apart from the file."""
    amounts = {
        "red_star": "1.00 0.50 0.20",
        "green_heart": "0.80 0.40 0.16",
        "pink_moon": "0.60 0.30 0.12",
        "blue_star": "0.30 0.20 0.10",
        "a": "0.24 0.10 0.06",
        "k": "0.24 0.10 0.06",
        "q": "0.20 0.08 0.04",
        "j": "0.12 0.06 0.02",
        "ten": "0.12 0.06 0.02",
    }
    want = {name: [int(text.replace(".", "")) for text in reversed(row.split())] for name, row in amounts.items()}
    assert {row["symbol"]: list(row["amounts_minor"]) for row in VALUES["money_pays"]} == want
    assert [ladder["multipliers"] for ladder in VALUES["ladders"]] == [(1, 2, 3, 5), (2, 4, 6, 10)]
    for award in ("trigger", "retrigger"):
        assert [VALUES[award][name] for name in ("count", "spins", "spins_each_more")] == [3, 10, 2]
    assert RULES.cap.multiple == 100_000
    assert [RULES.bet.coins * coin for coin in (RULES.bet.coin_minor_min, RULES.bet.coin_minor_max)] == [20, 40]
    assert RULES.reel_rows == (4, 5, 5, 5, 4)


def test_the_displayed_bet_doubles_the_pays() -> None:
    """By a displayed bet of 0.20 every pay is twice that of 0.40 (SLW-1)."""
    other = RULES.with_reading("SLW-1", 1)
    for symbol in range(9):
        assert other.pays_x100_of(symbol) == tuple(2 * pay for pay in RULES.pays_x100_of(symbol))
    assert RULES.pays_x100_of(0) == (50, 125, 250)


@pytest.mark.seeds
def test_the_source_is_the_document_named() -> None:
    """The hash in the rules file is that of the rule text (which is not part of the project)."""
    folder = os.environ.get("SLOT_AUDIT_SEEDS")
    if not folder:
        pytest.skip("the rule texts are not part of the project; SLOT_AUDIT_SEEDS names their folder")
    found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(folder).glob("*.txt")}
    assert {source.sha256 for source in RULES.sources} <= found
