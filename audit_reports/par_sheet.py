"""The par sheet of a game: what its rules come to, each figure by every way that there is of computing it.

Built from the rules, from sums of a simulation and from tables that played rounds showed; nothing is played here. All figures are
text: integers, decimals rounded once, fractions `p/q`. A round is one full play from wager to settlement; RTP is wins divided by cost.
"""

from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from statistics import NormalDist
from typing import Any, NamedTuple

from audit_reports.cap_route import CapRoute
from audit_reports.decimal_text import Interval, Z, decimal_text, fraction_text, mean_interval, share_interval, square_root
from audit_reports.exact_figures import ExactFigure, exact_figures
from audit_reports.long_simulation import Simulated
from audit_reports.observed_tables import ObservedTables, observed_tables
from audit_reports.pay_text import pays_text
from engines.game import Game
from engines.rules import GameRules

__all__ = ["FAMILY_PERCENT", "ParFacts", "par_sheet", "strips_json"]

FAMILY_PERCENT = 99  # at which all figures with an interval together are held against the exact ones
TOP_AWARD_ODDS = Fraction(1, 100_000_000)  # GLI-19 4.7.3
DISPLAY_STEP = Fraction(1, 10_000)  # a displayed RTP is in hundredths of a percent


class ParFacts(NamedTuple):
    """What a par sheet is computed from."""

    game: Game
    simulated: list[Simulated]
    seen: ObservedTables
    routes: dict[str, CapRoute]  # by mode


class _TwoWays(NamedTuple):
    """A figure or table by two ways; `agrees` is whether the second holds the first."""

    kind: str  # `table` of the rules rebuilt from rounds, `exact` figure in an interval, `sum` added up twice
    figure: str
    of: str
    first: str
    first_how: str
    second: str
    second_how: str
    agrees: bool


def par_sheet(facts: ParFacts) -> dict[str, Any]:
    """Return the par sheet as `par.json` has it."""
    rules = facts.game.rules
    exact = exact_figures(rules)
    rows = [_configuration(facts, each, exact) for each in facts.simulated]
    compared = list(_compared(facts, exact))
    return {
        "schema": "par/1",
        "game": rules.game,
        "title": rules.title,
        "paytable_id": f"{rules.game} {rules.version}",
        "rules_version": rules.version,
        "rules_hash": rules.rules_hash,
        "texts_hash": rules.texts_hash,
        "coins": rules.bet.coins,
        "cap_multiple": rules.cap.multiple,
        "displayed_rtp": decimal_text(rules.rtp_target_x10000 * DISPLAY_STEP, 4),
        "z": {str(percent): decimal_text(z, 9) for percent, z in Z.items()},
        "paytable": [
            {"symbol": symbol.name, "role": symbol.role, "pays": pays_text(rules, number)} for number, symbol in enumerate(rules.symbols)
        ],
        "strips": _strip_hashes(rules),
        "configurations": rows,
        "two_ways": [each._asdict() for each in compared],
        "findings": [*_unequal(compared), *_displayed(rules, facts.simulated, exact), *_not_reached(rows)],
    }


def strips_json(rules: GameRules) -> dict[str, Any]:
    """Return the strips as `strips.json` has them: each with its symbols by position and how often it has each."""
    names = {symbol.letter: symbol.name for symbol in rules.symbols}
    return {
        "schema": "strips/1",
        "rules_hash": rules.rules_hash,
        "symbols": names,
        "strips": [
            {
                "strip_set": part.name,
                "reel": reel + 1,
                "length": len(strip),
                "letters": "".join(strip),
                "sha256": sha256("".join(strip).encode()).hexdigest(),
                "counts": {names[letter]: strip.count(letter) for letter in names if letter in strip},
            }
            for part in rules.strip_sets
            for reel, strip in enumerate(part.strips)
        ],
    }


def _strip_hashes(rules: GameRules) -> list[dict[str, Any]]:
    """Return what the sheet says of each strip, which a redacted pack may say too: its length and its hash."""
    kept = ("strip_set", "reel", "length", "sha256")
    return [{name: each[name] for name in kept} for each in strips_json(rules)["strips"]]


def _value(exact: list[ExactFigure], name: str, of: str) -> Fraction | None:
    return next((each.value for each in exact if (each.name, each.of) == (name, of)), None)


def _ends(interval: Interval) -> dict[str, str]:
    return {"seen": decimal_text(interval.seen), "low": decimal_text(interval.low), "high": decimal_text(interval.high)}


def _return_interval(rules: GameRules, each: Simulated, z: Fraction) -> Interval:
    cost = rules.cost_minor(each.configuration.mode, rules.bet.coins)
    sums = each.sums
    found = mean_interval(sums.total("rounds"), sums.total("win_minor"), sums.total("win_minor_squared"), z)
    return Interval(*(value / cost for value in found))


def _configuration(facts: ParFacts, each: Simulated, exact: list[ExactFigure]) -> dict[str, Any]:
    rules, sums, (mode, choice) = facts.game.rules, each.sums, each.configuration
    count, coins = sums.total("rounds"), rules.bet.coins
    cost = rules.cost_minor(mode, coins)
    known = _value(exact, "return", mode)
    triggers, capped = sums.total("triggers"), sums.total("capped")
    mean = Fraction(sums.total("win_minor"), count)
    deviation = square_root(max(Fraction(sums.total("win_minor_squared"), count) - mean * mean, Fraction(0))) / cost
    return {
        "mode": mode,
        "choice": choice,
        "cost_bets": decimal_text(Fraction(cost, coins), 2),
        "rounds": str(count),
        "return_exact": fraction_text(known) if known is not None else "",
        "return_decimal": decimal_text(known if known is not None else mean / cost),
        "return_95": _ends(_return_interval(rules, each, Z[95])),
        "return_99": _ends(_return_interval(rules, each, Z[99])),
        "shares": _shares(facts.game, each),
        "hit_frequency": _ends(share_interval(count, sums.total("hits"), Z[99])),
        "deviation_costs": decimal_text(deviation, 4),
        "volatility_index": {"z": decimal_text(Z[90], 3), "confidence_percent": 90, "value": decimal_text(deviation * Z[90], 3)},
        "feature": {
            "seen": str(triggers),
            "odds": _ends(share_interval(count, min(triggers, count), Z[99])),
            "spins_mean": decimal_text(Fraction(sums.total("feature_spins"), triggers), 4) if triggers else "",
        },
        "top_award": _top_award(facts, each, _value(exact, "cap_odds", mode), capped),
        "limited": str(sums.total("limited")),
        "classes": _classes(rules, each, cost),
    }


def _shares(game: Game, each: Simulated) -> list[dict[str, str]]:
    """Return what each part of a round gives of the RTP: the paid spin, its features, and those that the game counts apart."""
    rules, sums = game.rules, each.sums
    cost = sums.total("rounds") * rules.cost_minor(each.configuration.mode, rules.bet.coins)
    base, whole = sums.total("base_win_minor"), sums.total("win_minor")
    rows = [("paid spin", base)]
    own = [
        (name.removesuffix("_win_minor").replace("_", " "), value)
        for (name, per), value in zip(game.figures, sums.figures, strict=True)
        if per == "cost"
    ]
    rows += own if own and sum(value for _, value in own) == whole - base else [("features", whole - base)]
    return [{"part": part, "of_return": decimal_text(Fraction(value, cost))} for part, value in rows]


def _top_award(facts: ParFacts, each: Simulated, known: Fraction | None, capped: int) -> dict[str, Any]:
    """Return the odds of the highest award of a mode, the cap, and whether they meet 1 in 100,000,000 (GLI-19, 4.7.3)."""
    rules, count = facts.game.rules, each.sums.total("rounds")
    interval = share_interval(count, capped, Z[99])
    low, high = (known, known) if known is not None else (interval.low, interval.high)
    if low >= TOP_AWARD_ODDS and (known is not None or capped):
        judged = "as often as 1 in 100,000,000"
    elif high < TOP_AWARD_ODDS:
        judged = "rarer than 1 in 100,000,000: its odds must be shown to players"
    else:
        judged = "not shown to be as often as 1 in 100,000,000"
    return {
        "bets": rules.cap.multiple,
        "seen": str(capped),
        "odds_exact": fraction_text(known) if known is not None else "",
        "odds": {name: decimal_text(value, 12) for name, value in zip(Interval._fields, interval, strict=True)},
        "judged": judged,
        "highest_seen_bets": decimal_text(Fraction(each.sums.total("win_minor_max"), rules.bet.coins), 2),
        "route": facts.routes[each.configuration.mode].as_json(),
    }


def _classes(rules: GameRules, each: Simulated, cost: int) -> list[dict[str, str]]:
    """Return how often wins of each class come and what they give of the RTP; bounds in bets, each double the one before."""
    count, rows = each.sums.total("rounds"), []
    for place, (rounds, wins) in enumerate(zip(each.sums.histogram, each.sums.class_wins, strict=True)):
        if rounds:
            low = "0" if place < 2 else str(1 << (place - 2))
            high = "0" if place == 0 else str(1 << (place - 1))
            share = {"of_rounds": decimal_text(Fraction(rounds, count)), "of_return": decimal_text(Fraction(wins, count * cost))}
            rows.append({"from_bets": low, "below_bets": high, "rounds": str(rounds), **share})
    return rows


def _compared(facts: ParFacts, exact: list[ExactFigure]) -> Iterator[_TwoWays]:
    """Yield every figure that has two ways of computing, by both."""
    rules = facts.game.rules
    for table in observed_tables(rules, facts.seen):
        second = f"{table.seen} of {table.of} places seen, {'all as stated' if not table.wrong else '; '.join(table.wrong)}"
        how = f"rebuilt from boards and wins of {facts.seen.rounds} rounds"
        yield _TwoWays("table", table.what, "", "the rules file", "as the kernel reads it", second, how, table.agrees)
    pairs = [(figure, interval) for figure in exact if (interval := _seen_of(facts, figure, Fraction(1))) is not None]
    pairs = [(figure, interval) for figure, interval in pairs if figure.value or interval.seen]  # what cannot be and was not seen
    # All intervals together hold at the family's confidence: each is as wide as its share of what is left asks for (Bonferroni).
    quantile = NormalDist().inv_cdf(1 - (100 - FAMILY_PERCENT) / 100 / max(len(pairs), 1) / 2)
    z = Fraction(f"{quantile:.6f}")
    for figure, narrow in pairs:
        interval = _seen_of(facts, figure, z) or narrow
        second = f"{decimal_text(interval.low)} to {decimal_text(interval.high)}"
        how = f"{decimal_text(interval.seen)} seen, interval at z {decimal_text(z, 6)}: all {len(pairs)} together {FAMILY_PERCENT} %"
        name, value = figure.text, decimal_text(figure.value)
        yield _TwoWays("exact", name, figure.of, value, figure.how, second, how, interval.holds(figure.value))
    for each in facts.simulated:
        yield from _added_twice(each)


def _seen_of(facts: ParFacts, figure: ExactFigure, z: Fraction) -> Interval | None:
    """Return what was simulated or seen of an exact figure; None where nothing counts it."""
    rules = facts.game.rules
    if figure.name.startswith("first_board"):
        return _first_board_of(facts, figure, z)
    each = next((each for each in facts.simulated if each.configuration.mode == figure.of), None)
    if each is None:
        return None
    count = each.sums.total("rounds")
    if figure.name == "return":
        return _return_interval(rules, each, z)
    if figure.name.startswith("strip_set "):
        place = rules.strip_set_index(figure.name.removeprefix("strip_set "))
        return share_interval(count, each.sums.strata[place][0], z)
    counted = {"hit_frequency": "hits", "feature_odds": "triggers", "cap_odds": "capped"}
    return share_interval(count, each.sums.total(counted[figure.name]), z) if figure.name in counted else None


def _first_board_of(facts: ParFacts, figure: ExactFigure, z: Fraction) -> Interval | None:
    place = facts.game.rules.strip_set_index(figure.of)
    rows = {key: count for key, count in facts.seen.first_boards.items() if key[0] == place}
    total = sum(rows.values())
    if figure.name == "first_board_wins":
        seen = sum(count for (_, wins, _), count in rows.items() if wins)
    else:
        seen = sum(count for (_, _, shown), count in rows.items() if shown == int(figure.name.removeprefix("first_board ")))
    return share_interval(total, seen, z) if total else None


def _added_twice(each: Simulated) -> Iterator[_TwoWays]:
    """Yield sums that two counts of the kernel's totals must both come to, to the last minor unit."""
    sums, name = each.sums, each.configuration.name
    last = each.points[-1]
    rows = (
        ("sum of wins", sums.total("win_minor"), sum(sums.class_wins), last.win_minor),
        ("number of rounds", sums.total("rounds"), sum(sums.histogram), last.rounds),
        ("sum of squares", sums.total("win_minor_squared"), sum(sums.class_squares), last.win_minor_squared),
        ("rounds that win", sums.total("hits"), sum(sums.histogram[1:]), sums.total("hits")),
    )
    for figure, by_strata, by_class, at_end in rows:
        agrees = by_strata == by_class == at_end
        yield _TwoWays("sum", figure, name, str(by_strata), "by strip set of the paid spin", str(by_class), "by class of win", agrees)


def _finding(code: str, where: str, want: str, got: str) -> dict[str, str]:
    return {"code": code, "where": where, "want": want, "got": got}


def _unequal(compared: list[_TwoWays]) -> Iterator[dict[str, str]]:
    for each in compared:
        if not each.agrees:
            where = f"{each.figure} of {each.of}" if each.of else each.figure
            yield _finding("par_figure", where, f"{each.first} ({each.first_how})", f"{each.second} ({each.second_how})")


def _displayed(rules: GameRules, simulated: list[Simulated], exact: list[ExactFigure]) -> Iterator[dict[str, str]]:
    """Yield each mode whose displayed RTP is not that of its best choice, as far as exact figure or interval tell."""
    displayed, reach = rules.rtp_target_x10000 * DISPLAY_STEP, DISPLAY_STEP / 2
    for mode in dict.fromkeys(each.configuration.mode for each in simulated):
        known = _value(exact, "return", mode)
        intervals = [_return_interval(rules, each, Z[99]) for each in simulated if each.configuration.mode == mode]
        low = known if known is not None else max(each.low for each in intervals)
        high = known if known is not None else max(each.high for each in intervals)
        if not low - reach <= displayed <= high + reach:
            got = decimal_text(low) if known is not None else f"{decimal_text(low)} to {decimal_text(high)}"
            yield _finding("displayed_rtp", f"displayed RTP, mode {mode}", got, decimal_text(displayed, 4))


def _not_reached(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield a mode whose cap nothing shows to be reachable: an award that is advertised must be winnable (GLI-19, 4.4.1(f))."""
    seen: dict[str, bool] = {}
    for row in rows:
        award = row["top_award"]
        seen[row["mode"]] = seen.get(row["mode"], False) or award["seen"] != "0" or bool(award["odds_exact"]) or award["route"]["is_shown"]
    for mode, is_shown in seen.items():
        if not is_shown:
            yield _finding("cap_route", f"cap, mode {mode}", "a way to reach it", "none found")
