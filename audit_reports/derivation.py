"""The derivation log: how each exact figure of a par sheet comes about, with the sums over states that it is added up from."""

from fractions import Fraction
from math import prod
from typing import Any

from audit_reports.decimal_text import decimal_text, fraction_text
from audit_reports.exact_figures import exact_figures
from engines.rules import GameRules

__all__ = ["derivation"]


def derivation(rules: GameRules) -> dict[str, Any]:
    """Return the log as `derivation.json` has it: figures as fractions, and tables whose rows add up to their totals."""
    return {
        "schema": "derivation/1",
        "rules_hash": rules.rules_hash,
        "figures": [
            {
                "figure": each.text,
                "of": each.of,
                "value": fraction_text(each.value),
                "decimal": decimal_text(each.value, 12),
                "how": each.how,
            }
            for each in exact_figures(rules)
            if each.value
        ],
        "tables": _tables(rules),
    }


def _tables(rules: GameRules) -> list[dict[str, Any]]:
    if rules.game == "moonlight-princess":
        return _moonlight_princess(rules)
    if rules.game == "starlight-wins":
        return _starlight_wins(rules)
    return _moon_spell(rules) if rules.game == "moon-spell" else []


def _ways_table(rules: GameRules, place: int, what: str, odds: list[Fraction]) -> dict[str, Any]:
    """Return in how many of all boards of a strip set so many of a symbol are shown."""
    strips = rules.strip_sets[place].strips
    cycle = prod(len(strip) for strip in strips)
    rows = [{"state": f"{count} {what}", "ways": str(odd * cycle)} for count, odd in enumerate(odds) if odd]
    return {
        "table": f"first boards of strip set {rules.strip_sets[place].name} by {what}",
        "unit": "boards",
        "rows": rows,
        "total": str(cycle),
    }


def _moonlight_princess(rules: GameRules) -> list[dict[str, Any]]:
    from engines.games.moonlight_princess.exact import first_board_pays, scatter_odds
    from engines.games.moonlight_princess.rules import Rules

    assert isinstance(rules, Rules)
    places = range(len(rules.strip_sets))
    tables = [_ways_table(rules, place, "scatters", list(scatter_odds(rules, place))) for place in places]
    names = [symbol.name for symbol in rules.symbols if symbol.role == "paying"]
    return tables + [_pays_table(rules.strip_sets[place].name, names, list(first_board_pays(rules, place))) for place in places]


def _pays_table(strip_set: str, names: list[str], pays: list[Fraction]) -> dict[str, Any]:
    """Return what each symbol pays on the first board on average, before any multiplier."""
    rows = [{"state": name, "ways": fraction_text(pay)} for name, pay in zip(names, pays, strict=True)]
    table = f"mean pay of the first board of strip set {strip_set}, before any multiplier"
    return {"table": table, "unit": "bets", "rows": rows, "total": fraction_text(sum(pays, Fraction(0)))}


def _starlight_wins(rules: GameRules) -> list[dict[str, Any]]:
    from engines.games.starlight_wins.exact import first_board_pays, scatter_odds
    from engines.games.starlight_wins.rules import Rules

    assert isinstance(rules, Rules)
    names = [symbol.name for symbol in rules.symbols if symbol.role == "paying"]
    tables = [_ways_table(rules, place, "scatters", scatter_odds(rules, part.name)) for place, part in enumerate(rules.strip_sets)]
    return tables + [_pays_table(part.name, names, first_board_pays(rules, part.name)) for part in rules.strip_sets]


def _moon_spell(rules: GameRules) -> list[dict[str, Any]]:
    from engines.games.moon_spell.exact import end_counts, keep_board_counts
    from engines.games.moon_spell.exact import exact_figures as figures
    from engines.games.moon_spell.rules import Rules

    assert isinstance(rules, Rules)
    boards = keep_board_counts(rules)
    cycle = sum(sum(row.values()) for row in boards)
    by_moons = [{"state": f"{moons} Moons", "ways": str(sum(row.values()))} for moons, row in enumerate(boards) if row]
    paid = [sum(pay * count for pay, count in row.items()) for row in boards]
    lines = [{"state": f"{moons} Moons", "ways": str(pay)} for moons, pay in enumerate(paid) if pay]
    tables = [
        {"table": "first boards by Moons", "unit": "boards", "rows": by_moons, "total": str(cycle)},
        {"table": "line pays over all boards, by Moons", "unit": "hundredths of the bet", "rows": lines, "total": str(sum(paid))},
    ]
    found = figures(rules)
    for start in range(rules.moon_counts.trigger, len(boards)):
        if boards[start]:
            ends = end_counts(rules, start)
            rows = [{"state": f"{moons} Moons", "ways": decimal_text(odd, 18)} for moons, odd in sorted(ends.items()) if odd]
            tables.append({"table": f"end of a bonus that starts with {start} Moons", "unit": "odds", "rows": rows, "total": "1"})
    parts = {"lines": found.lines, "Moon cash": found.cash, "hold and respin, less the cap's cut": found.bonus}
    rows = [{"state": name, "ways": fraction_text(value)} for name, value in parts.items()]
    tables.append({"table": "parts of the return", "unit": "of the bet", "rows": rows, "total": fraction_text(found.rtp)})
    return tables
