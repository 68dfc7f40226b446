"""What a round was played for and from: as recorded, and where the record contradicts itself, what it may have been instead."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from engines.rules import GameRules
from ledger.lifecycle_events import RoundOpened
from replay.choices import ChoiceOrder
from replay.reconcile import bet_is_allowed
from replay.verdict import Finding

__all__ = ["PlayTerms", "other_terms", "recorded_terms", "terms_findings"]


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


def other_terms(rules: GameRules, opened: RoundOpened, order: ChoiceOrder, terms: PlayTerms) -> Iterator[PlayTerms]:
    """Yield the terms with another state, or with another choice in place of one that is recorded."""
    if opened.state_in in rules.states:
        yield from (terms._replace(state_in=dict(state)) for state in rules.states if state != terms.state_in)
    for place, options in enumerate(order.options):
        if len(options) == 1:
            before, after = terms.choices[:place], terms.choices[place + 1 :]
            others = (each for each in range(len(rules.choice_names)) if each != terms.choices[place])
            yield from (terms._replace(choices=(*before, other, *after)) for other in others)


def terms_findings(rules: GameRules, opened: tuple[int, RoundOpened], order: ChoiceOrder, terms: PlayTerms) -> list[Finding]:
    """Return a finding for a recorded state or choice that is not the one by which the round went on."""
    findings = []
    if opened[1].state_in in rules.states and opened[1].state_in != terms.state_in:
        where, want = "state in of round_opened", f"{terms.state_in}, as the round was played"
        findings.append(_finding("state_in", "integrity", opened[0], where, want, str(opened[1].state_in)))
    for options, made_at, choice in zip(order.options, order.made_at, terms.choices, strict=False):
        if len(options) == 1 and options[0] != choice:
            where, names = "choice of choice_made", rules.choice_names
            got = names[options[0]] if options[0] < len(names) else str(options[0])
            findings.append(_finding("choice", "money", made_at, where, f"{names[choice]}, as the round went on", got))
    return findings


def _finding(code: str, severity: str, index: int, where: str, want: str, got: str) -> Finding:
    return Finding(code, severity, index, -1, where, want, got, f"{where}: want {want}, got {got}")  # type: ignore[arg-type]


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
