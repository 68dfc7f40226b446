"""Names beside the numbers of an exported event; the record itself holds the numbers alone."""

from typing import Any

from engines.rules import GameRules

__all__ = ["names_in"]


def names_in(event: dict[str, Any], rules: GameRules) -> dict[str, Any]:
    """Return the names of symbols, strip set, princess and choices in an event, by field; empty where it has none.

    A number that the rules have no name for is given as `?`.
    """
    symbols = [symbol.name for symbol in rules.symbols]
    sets = [strip_set.name for strip_set in rules.strip_sets]
    names: dict[str, Any] = {}
    if isinstance(event.get("symbol"), int):
        names["symbol"] = _name(symbols, event["symbol"])
    if isinstance(event.get("symbols"), list):
        names["symbols"] = [_name(symbols, symbol) for symbol in event["symbols"]]
    if isinstance(event.get("strip_set"), int):
        names["strip_set"] = _name(sets, event["strip_set"])
    for field in ("princess", "choice"):
        if isinstance(event.get(field), int):
            names[field] = _name(list(rules.choice_names), event[field])
    if isinstance(event.get("choices"), list):
        names["choices"] = [_name(list(rules.choice_names), choice) for choice in event["choices"]]
    return names


def _name(names: list[str], index: Any) -> str:
    return names[index] if isinstance(index, int) and 0 <= index < len(names) else "?"
