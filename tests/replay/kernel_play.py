"""Rounds that the installed kernel plays, by the installed rules and by test rules, as the events of a whole round."""

import copy
from dataclasses import dataclass
from functools import cache

from engines.canonical import RecordedEvent
from engines.game import Game
from engines.game_events import GAME_EVENTS
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules
from replay.check import RoundCheck, check_rounds
from replay.verdict import Finding
from tests.replay.alterations import Facts
from tests.round_builder import INSTALLED, export_lines, redigest, round_facts
from tests.rules_changes import changed_rules

__all__ = [
    "BETS",
    "CAP_20",
    "CAP_60",
    "LOW_LIMITS",
    "RULES",
    "KernelRound",
    "assert_one",
    "check_one",
    "findings_of",
    "kernel_facts",
    "kernel_round",
]

SEED = bytes(range(32))
BETS = (200, 20, 10_000, 140)
CAP_20 = changed_rules(INSTALLED, cap={"multiple": 20})
CAP_60 = changed_rules(INSTALLED, cap={"multiple": 60})
LOW_LIMITS = changed_rules(INSTALLED, limits={"free_spins": 17, "tumbles": 2})
SHORT_STRIPS = changed_rules(INSTALLED, strip_length=14, cap={"multiple": 300})
RULES: dict[str, GameRules] = {
    "installed": INSTALLED,
    "cap 3": changed_rules(INSTALLED, cap={"multiple": 3}),
    "cap 20": CAP_20,
    "cap 60": CAP_60,
    "low limits": LOW_LIMITS,
    "short strips": SHORT_STRIPS,
    "hearts on the scatter pay, a winning spin": INSTALLED.with_reading("MLP-1", 1).with_reading("MLP-2", 1),
    "cap by spin, hearts on the scatter pay": CAP_20.with_reading("ALL-1", 2).with_reading("MLP-1", 1),
    **{
        f"{name} = {value}": INSTALLED.with_reading(name, value) for name, value in (("ALL-1", 1), ("MLP-1", 1), ("MLP-2", 1), ("MLP-4", 1))
    },
    **{f"cap 20, {name} = {value}": CAP_20.with_reading(name, value) for name, value in (("ALL-1", 1), ("ALL-1", 2), ("MLP-4", 1))},
}


@dataclass
class KernelRound:
    """A round as the kernel played it."""

    rules: GameRules
    mode: str
    bet: int
    events: list[RecordedEvent]
    total: int
    base_award: int
    ended: str


_GAMES: dict[str, Game] = {}


def game_by(rules: GameRules) -> Game:
    """Return the installed game as it plays by `rules`, kept for the next rounds."""
    if rules.rules_hash not in _GAMES:
        _GAMES[rules.rules_hash] = game_of_rules(rules)
    return _GAMES[rules.rules_hash]


def kernel_round(rules: GameRules, mode: str, nonce: int, bet: int = 200) -> KernelRound:
    """Return the round that the installed kernel plays by `rules`."""
    outcome = game_by(rules).play(round_key(SEED, rules.game, "", nonce), mode, bet, {}, ())
    events = [GAME_EVENTS[topic.split("/")[0]].model_validate_json(data) for topic, data in outcome.events]
    return KernelRound(rules, mode, bet, events, outcome.total_win_minor, outcome.base_win_minor, outcome.ended)


@cache
def _kept_facts(name: str, mode: str, nonce: int) -> Facts:
    return round_facts(kernel_round(RULES[name], mode, nonce), number=nonce, balance_before=10_000_000)


def kernel_facts(name: str, mode: str, nonce: int) -> Facts:
    """Return the events of a whole kernel-made round, which may be altered."""
    return copy.deepcopy(_kept_facts(name, mode, nonce))


def check_one(facts: Facts, rules: GameRules) -> RoundCheck:
    """Return what is found in a round, its digests made anew."""
    return check_rounds(export_lines([redigest(facts)]), lambda *_: rules).rounds[0]


def findings_of(facts: Facts, rules: GameRules) -> list[Finding]:
    """Return what is found in a round, warnings apart."""
    return [finding for finding in check_one(facts, rules).findings if finding.severity != "warning"]


def assert_one(findings: list[Finding], codes: set[str], severities: set[str]) -> None:
    """Assert that there is one finding, of one of `codes` and `severities`, which names event, want and got."""
    assert len(findings) == 1, [f"{found.code}@{found.event_index} {found.message}" for found in findings]
    found = findings[0]
    assert found.code in codes, found
    assert found.severity in severities, found
    assert found.event_index >= 0
    assert found.want != found.got
    assert found.want in found.message
    assert found.got in found.message
