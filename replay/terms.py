"""What a round was played for and from: as recorded, and where the record contradicts itself, what it may have been instead."""

from itertools import product
from typing import NamedTuple

from engines.rules import GameRules
from ledger.lifecycle_events import RoundOpened
from replay.choices import ChoiceOrder
from replay.reconcile import bet_is_allowed

__all__ = ["PlayTerms", "recorded_terms"]


class PlayTerms(NamedTuple):
    """Mode, bet in minor units, the state at the start and the choices in order, each by its place in the rules file's list."""

    mode: str
    bet_minor: int
    state_in: dict[str, int]
    choices: tuple[int, ...]


def recorded_terms(rules: GameRules, opened: RoundOpened, order: ChoiceOrder) -> list[PlayTerms]:
    """Return the terms as recorded; several where the record holds none, or one that contradicts another: any of them may be right."""
    states = [dict(opened.state_in)] if opened.state_in in rules.states else [dict(state) for state in rules.states]
    offered = [tuple(each for each in options if each < len(rules.choice_names)) or (0,) for options in order.options]
    choices = list(product(*offered)) if rules.choice_names else [()]
    return [PlayTerms(*pair, *rest) for pair in _modes_and_bets(rules, opened) for rest in product(states, choices)]


def _modes_and_bets(rules: GameRules, opened: RoundOpened) -> list[tuple[str, int]]:
    """Return mode and bet as recorded and, where the cost contradicts them, every pair that the cost agrees with."""
    found = [(opened.mode, opened.bet_minor)]
    is_known = rules.mode(opened.mode) is not None
    if is_known and bet_is_allowed(rules, opened.bet_minor) and rules.cost_minor(opened.mode, opened.bet_minor) == opened.cost_minor:
        return found
    for mode in rules.modes:
        bet, rest = divmod(opened.cost_minor * 100, mode.cost_x100)
        if rest == 0 and bet_is_allowed(rules, bet) and (mode.name == opened.mode or bet == opened.bet_minor or not is_known):
            found.append((mode.name, bet))
    return found
