"""The referee's door: a round's game events and its rules in, findings and totals out; each kind of game has its own walk."""

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from engines.game_events import GameEvent
from engines.rules import GameRules
from replay.referee.moved import with_event_moved
from replay.verdict import Finding

__all__ = ["KINDS", "RoundTerms", "RoundTotals", "RoundWalk", "plain_walk", "referee_round", "walk_round"]

# The kind in a rules file to the module whose `walk_events` knows it.
KINDS = {
    "lines": "replay.referee.lines_walk",
    "runs": "replay.referee.runs_walk",
    "scatter_pays": "replay.referee.scatter_pays_walk",
    "ways": "replay.referee.ways_walk",
}

Events = Sequence[tuple[int, GameEvent]]


class RoundTerms(NamedTuple):
    """What a round was played for and from, beside its rules: money in minor units, choices by their place in the rules file.

    `is_complete` is False for a round that is still in play. findings_max: where a round has more findings, the first of
    them are enough.
    """

    mode: str
    bet_minor: int
    is_complete: bool
    state_in: dict[str, int]
    choices: tuple[int, ...]
    findings_max: int | None = None


class RoundTotals(NamedTuple):
    """What the settlement of a round may say, the recorded or right value first; money in minor units.

    `base` is the award of spin 0, `feature` of all others, `state_out` what the account's next round starts from. An empty
    tuple is a value that the events do not tell.
    """

    ended: tuple[str, ...]
    total: tuple[int, ...]
    base: tuple[int, ...]
    feature: tuple[int, ...]
    state_out: tuple[dict[str, int], ...] = ({},)


class RoundWalk(NamedTuple):
    """The findings of a round and what its settlement may say."""

    findings: list[Finding]
    totals: RoundTotals


Walk = Callable[[Events, GameRules, RoundTerms], RoundWalk]


def referee_round(events: Events, rules: GameRules, **terms: Any) -> list[Finding]:
    """Return what departs from the rules in one round's game events, each with its index in the round's stream; see `walk_round`."""
    return walk_round(events, rules, **terms).findings


def walk_round(
    events: Events,
    rules: GameRules,
    *,
    mode: str,
    bet_minor: int,
    is_complete: bool = True,
    state_in: dict[str, int] | None = None,
    choices: Sequence[int] = (),
) -> RoundWalk:
    """Return what departs from the rules in one round's game events, and what the settlement of the round may say.

    `is_complete` is False for a round that is still in play: spins that are yet to come are then no finding. state_in:
    as the round was opened with, by default the game's first state. choices: as they were made. A finding that would
    vanish under another reading of the rules names the reading. A limit reached is a warning.
    """
    terms = RoundTerms(mode, bet_minor, is_complete, rules.first_state if state_in is None else state_in, tuple(choices))
    walk = _walk_of(rules)
    found = walk(events, rules, terms)
    moved: list[Finding] = []
    if len(found.findings) > 1:
        fewer = terms._replace(findings_max=_count_grave(found.findings) - 2)  # those left when the event and one more are explained
        events, moved = with_event_moved(events, found.findings, lambda each: walk(each, rules, fewer).findings)
        found = walk(events, rules, terms) if moved else found
    findings = list(found.findings)
    grave = _count_grave(findings)
    as_many = terms._replace(findings_max=grave)
    for name, value, text in rules.other_readings() if grave else ():
        others = walk(events, _under(rules, name, value), as_many).findings
        if _count_grave(others) > grave:
            continue
        for number, finding in enumerate(found.findings):
            if finding.severity != "warning" and _is_gone(finding, found.findings, others):
                note = f"vanishes under reading {name} = {value}: {text}"
                findings[number] = findings[number]._replace(assumption=name, message=f"{findings[number].message}; {note}")
    return found._replace(findings=sorted([*findings, *moved], key=lambda finding: finding.event_index))


def plain_walk(events: Events, rules: GameRules, terms: RoundTerms) -> RoundWalk:
    """Return what one walk finds, whatever a moved event or another reading would explain: for whoever compares terms."""
    return _walk_of(rules)(events, rules, terms)


def _walk_of(rules: GameRules) -> Walk:
    walk: Walk = importlib.import_module(KINDS[rules.kind]).walk_events
    return walk


def _count_grave(findings: list[Finding]) -> int:
    return sum(finding.severity != "warning" for finding in findings)


def _under(rules: GameRules, name: str, value: int) -> GameRules:
    kept = _others_of(rules.rules_hash)
    if (name, value) not in kept:
        kept[name, value] = rules.with_reading(name, value)
    return kept[name, value]


@cache
def _others_of(rules_hash: str) -> dict[tuple[str, int], GameRules]:
    del rules_hash
    return {}


def _is_gone(finding: Finding, before: list[Finding], after: list[Finding]) -> bool:
    if any(other.event_index == finding.event_index and other.code == finding.code for other in after):
        return False
    faults_before, faults_after = (
        sum(other.spin_index == finding.spin_index and other.severity != "warning" for other in found) for found in (before, after)
    )
    return faults_after < faults_before
