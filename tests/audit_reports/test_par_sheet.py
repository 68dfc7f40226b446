"""Par sheets: what is wrong in one is found, what is right in one agrees by both ways, and figures are rounded once."""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_reports.cap_route import CapRoute, cap_route, is_narrowed, narrowed_rules
from audit_reports.decimal_text import Z, decimal_text, mean_interval, share_interval, square_root
from audit_reports.long_simulation import Simulated, SimulationTerms, run_simulations
from audit_reports.observed_tables import ObservedTables, observe
from audit_reports.par_sheet import ParFacts, par_sheet
from engines.registry import GAMES, game_of_rules, installed_game, installed_rules
from engines.rules import GameRules
from tests.rules_changes import changed_rules

GAME = "moon-spell"
SEED = b"par sheet"
SHOWN = CapRoute(True, "round", "", 0, "for these tests")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> ParFacts:
    """What a sheet of Moon Spell is computed from: 200,000 simulated rounds, boards and wins of 1,000."""
    game = installed_game(GAME)
    progress = tmp_path_factory.mktemp("par") / "progress"
    terms = SimulationTerms(game.rules, 200_000, SEED)
    simulated = [each for each in run_simulations(terms, progress, job_count=1, is_resumed=False) if isinstance(each, Simulated)]
    return ParFacts(game, simulated, _seen(GAME, 1_000), {"base": SHOWN})


def _seen(game: str, rounds: int) -> ObservedTables:
    found = list(observe(installed_game(game), rounds, SEED))
    return found[-1]


def _of(facts: ParFacts, rules: GameRules) -> dict[str, Any]:
    """Return the sheet of other rules over what these rounds showed."""
    return par_sheet(facts._replace(game=game_of_rules(rules)))


def test_a_right_sheet_agrees_by_both_ways(facts: ParFacts) -> None:
    """Nothing is found; every exact figure lies in the interval of what was simulated, every table is as seen, every sum is one."""
    par = par_sheet(facts)
    assert par["findings"] == []
    assert {each["kind"] for each in par["two_ways"]} == {"table", "exact", "sum"}
    assert all(each["agrees"] for each in par["two_ways"])
    assert {"return", "hit frequency", "feature odds", "cap odds"} <= {each["figure"] for each in par["two_ways"]}
    row = par["configurations"][0]
    assert Fraction(row["return_exact"]) == Fraction(
        79462401713864441238537010374153767812789770411032459600977916946451327406460757153992339865200569763480696786593436986481010730785403048675135125397032494602165977786141380986293973255929229254427070445203998356367642911110973437352892751211468390800567901232707,
        87600079092605070390238419480864587529556472931880953446400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000,
    )
    assert row["return_decimal"] == "0.90710422"


def test_a_wrong_strip_is_found(facts: ParFacts) -> None:
    """Of a sheet with two neighbouring symbols of a strip swapped the strip is named, its reel and both places."""
    strips = [list(part["strips"]) for part in facts.game.rules.model_dump()["strip_sets"]]
    letters = strips[0][2]
    place = next(place for place in range(len(letters) - 1) if letters[place] != letters[place + 1])
    swapped = letters[:place] + letters[place + 1] + letters[place] + letters[place + 2 :]
    values = facts.game.rules.model_dump()["strip_sets"]
    values[0]["strips"] = (*strips[0][:2], swapped, *strips[0][3:])
    found = _of(facts, changed_rules(facts.game.rules, strip_sets=values))["findings"]
    (of_strip,) = [each for each in found if each["where"].startswith("strip ")]
    assert (of_strip["code"], of_strip["where"]) == ("par_figure", "strip base, reel 3")
    assert f"position {place}: want" in of_strip["got"]
    assert f"position {place + 1}: want" in of_strip["got"]


def test_a_wrong_pay_is_found(facts: ParFacts) -> None:
    """Of a sheet with another pay than was paid the symbol and the count are named."""
    values = facts.game.rules.model_dump()["symbols"]
    values[5]["pays_x100"] = (values[5]["pays_x100"][0] + 5, *values[5]["pays_x100"][1:])
    found = _of(facts, changed_rules(facts.game.rules, symbols=values))["findings"]
    assert any(each["where"] == "paytable" and values[5]["name"] in each["got"] for each in found)


def test_other_weights_are_found_by_the_return(facts: ParFacts) -> None:
    """Weights that no board shows are found by the figures that they lead to: a hit in ten more of the bonus."""
    rules = changed_rules(facts.game.rules, respin_weights={"moon": 5, "blank": 19})
    where = {each["where"] for each in _of(facts, rules)["findings"]}
    assert any(each.startswith("return of") for each in where)


@pytest.mark.parametrize("displayed", [9171, 8971])
def test_a_displayed_return_that_is_not_the_games_is_found(facts: ParFacts, displayed: int) -> None:
    """A displayed RTP a point off is found, and both figures are named."""
    par = _of(facts, changed_rules(facts.game.rules, rtp_target_x10000=displayed))
    (found,) = par["findings"]
    assert (found["code"], found["want"], found["got"]) == ("displayed_rtp", "0.90710422", decimal_text(Fraction(displayed, 10000), 4))


def test_a_displayed_return_is_held_against_the_interval_where_nothing_is_exact(tmp_path: Path) -> None:
    """Of a game without an exact return a displayed RTP outside the interval of every choice is found, one within it is not."""
    game = installed_game("moon-princess-stargazing")
    terms = SimulationTerms(game.rules, 20_000, SEED)
    simulated = [each for each in run_simulations(terms, tmp_path / "p", job_count=1, is_resumed=False) if isinstance(each, Simulated)]
    facts = ParFacts(game, simulated, _seen(game.rules.game, 200), {"base": SHOWN})
    assert par_sheet(facts)["findings"] == []
    (found,) = _of(facts, changed_rules(game.rules, rtp_target_x10000=19620))["findings"]
    assert found["code"] == "displayed_rtp"


def test_sums_that_do_not_add_up_are_found(facts: ParFacts) -> None:
    """One minor unit more in a class of wins than by strip sets is found."""
    (each,) = facts.simulated
    wins = [value + (place == 3) for place, value in enumerate(each.sums.class_wins)]
    par = par_sheet(facts._replace(simulated=[each._replace(sums=each.sums._replace(class_wins=wins))]))
    assert [found["where"] for found in par["findings"]] == ["sum of wins of base"]


def test_a_cap_that_nothing_reaches_is_found() -> None:
    """A game whose cap no round and no route reaches, and of which nothing is exact, is told so."""
    game = installed_game("starlight-wins")
    no_way = CapRoute(False, "none", "", -1, "none")
    row = {"mode": "base", "top_award": {"seen": "0", "odds_exact": "", "route": no_way.as_json()}}
    from audit_reports.par_sheet import _not_reached

    assert [each["code"] for each in _not_reached([row])] == ["cap_route"]
    assert cap_route(game.rules, "base", SEED).is_shown


@pytest.mark.parametrize("game", GAMES)
def test_narrowed_rules_let_nothing_happen_that_the_game_does_not(game: str) -> None:
    """Narrowed rules are of the game, and the check that says so tells rules with another value, or a weight where the game has none."""
    rules = installed_rules(game)
    narrowed = narrowed_rules(rules)
    assert is_narrowed(narrowed.model_dump(), rules.model_dump())
    assert not is_narrowed({**narrowed.model_dump(), "rtp_target_x10000": 1}, rules.model_dump())
    wider = {**rules.model_dump(), "strip_sets": narrowed.model_dump()["strip_sets"][:-1]}
    assert not is_narrowed(wider, rules.model_dump())


def test_a_weight_above_nothing_where_the_game_has_none_is_no_narrowing() -> None:
    """The strip set that a bought round's twin never has cannot be given a weight by narrowing."""
    rules = installed_rules("starlight-wins")
    values = rules.model_dump()
    values["gold"][0]["weights"] = (1, *values["gold"][0]["weights"][1:])
    assert not is_narrowed(values, rules.model_dump())


@given(st.fractions(min_value=-(10**6), max_value=10**6), st.integers(0, 12))
def test_decimals_are_rounded_once_half_to_even(value: Fraction, digits: int) -> None:
    """A fraction's text is the decimal next to it, the even one of two; zero has no sign."""
    text = decimal_text(value, digits)
    off = abs(Fraction(text) - value) * 10**digits
    assert off <= Fraction(1, 2)
    assert len(text.partition(".")[2]) == digits
    if off == Fraction(1, 2):
        assert int(text[-1]) % 2 == 0
    assert not (text.startswith("-") and Fraction(text) == 0)


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_are_right_to_thirty_digits(value: Fraction) -> None:
    """The square of a root is the number, and that of the next step above it is greater."""
    root, step = square_root(value), Fraction(1, 10**30)
    assert root * root <= value + step
    assert (root + 2 * step) ** 2 > value


def _decimal_interval(count: int, values: list[int], percent: int) -> tuple[Decimal, Decimal]:
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_HALF_EVEN
        mean = Decimal(sum(values)) / count
        spread = (Decimal(sum(value * value for value in values)) / count - mean * mean).max(Decimal(0))
        reach = Decimal(Z[percent].numerator) / Z[percent].denominator * (spread / count).sqrt()
        return mean - reach, mean + reach


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50), st.sampled_from([90, 95, 99]))
def test_intervals_of_means_are_those_of_decimal_arithmetic(values: list[int], percent: int) -> None:
    """The normal interval is that which sixty digits of decimals give."""
    found = mean_interval(len(values), sum(values), sum(value * value for value in values), Z[percent])
    low, high = _decimal_interval(len(values), values, percent)
    assert abs(Decimal(found.low.numerator) / Decimal(found.low.denominator) - low) < Decimal("1e-12")
    assert abs(Decimal(found.high.numerator) / Decimal(found.high.denominator) - high) < Decimal("1e-12")


@given(st.integers(1, 10**7).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count))))
def test_intervals_of_shares_hold_the_share(counts: tuple[int, int]) -> None:
    """Wilson's interval lies in 0 to 1, holds the share, and its ends are as far from it as the formula's own equation says."""
    count, seen = counts
    found = share_interval(count, seen, Z[99])
    assert 0 <= found.low <= found.seen <= found.high <= 1
    for end in (found.low, found.high):
        if 0 < end < 1:
            off = (found.seen - end) ** 2 - Z[99] ** 2 * end * (1 - end) / count
            assert abs(off) < Fraction(1, 10**12)


@pytest.mark.parametrize("game", GAMES)
def test_what_rounds_show_is_what_the_rules_state(game: str) -> None:
    """Strips and paytables rebuilt from boards and wins of each game are those of its rules file."""
    from audit_reports.observed_tables import observed_tables

    tables = observed_tables(installed_rules(game), _seen(game, 2_000 if game == "starlight-wins" else 300))  # free spins once in 210
    assert all(each.agrees for each in tables), [each for each in tables if not each.agrees]
