"""Test rules: a rules file with some values replaced, to reach what is rare. Never in the registry; own hash."""

from typing import Any

from engines.rules import GameRules

__all__ = ["changed_rules"]


def changed_rules(rules: GameRules, *, strip_length: int = 0, **changes: Any) -> GameRules:
    """Return `rules` with fields of its parts replaced (`cap={"multiple": 1}`) and each strip cut to its first positions."""
    values = rules.model_dump()
    for name, change in changes.items():
        values[name] = {**values[name], **change} if isinstance(change, dict) else change
    if strip_length:
        for strip_set in values["strip_sets"]:
            strip_set["strips"] = [strip.replace("P", "H")[: strip_length - 1] + "P" for strip in strip_set["strips"]]
    return type(rules).model_validate(values)
