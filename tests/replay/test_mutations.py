"""Rounds that are wrong in one way, each found as one finding: altered afterwards, or played so by a faulty game."""

import copy
import itertools
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.rules import GameRules
from replay.check import check_rounds
from replay.verdict import Finding
from tests.replay.alterations import ALTERED, INTEGRITY, Facts, is_certain, number_paths, of_kind
from tests.round_builder import PLAYED, RULES, RoundBuilder, export_lines, redigest, round_facts, rules_with

CAPPED = rules_with(cap={"multiple": 30})
SEEDS_TRIED = 400
SEEDS_KEPT = 6


def findings_of(facts: Facts, rules: GameRules = RULES) -> list[Finding]:
    """Return what `check_rounds` finds in one round, warnings apart."""
    checked = check_rounds(export_lines([redigest(facts)]), lambda *_: rules)
    return [finding for finding in checked.rounds[0].findings if finding.severity != "warning"]


def play(how: str, seed: int) -> tuple[RoundBuilder, GameRules]:
    """Return a round of a kind: by its mode, or `capped` where the cap is low."""
    rules = CAPPED if how == "capped" else RULES
    mode = "buy" if how == "capped" else how
    scatters = 4 if how == "ante" else None
    return RoundBuilder(rules, seed=seed, mode=mode, scatters=scatters, hearts=True).play(), rules


def altered_rounds(name: str) -> list[tuple[Facts, GameRules]]:
    alter, how, _ = ALTERED[name]
    found: list[tuple[Facts, GameRules]] = []
    for seed in range(SEEDS_TRIED):
        builder, rules = play(how, seed)
        facts = copy.deepcopy(round_facts(builder))
        if alter(facts, random.Random(seed)):
            found.append((facts, rules))
        if len(found) == SEEDS_KEPT:
            break
    return found


def assert_one(findings: list[Finding], codes: set[str]) -> Finding:
    assert len(findings) == 1, [f"{f.code}@{f.event_index} {f.message}" for f in findings]
    found = findings[0]
    assert found.code in codes, found
    assert all((found.want, found.got, found.where, found.message))
    assert found.want in found.message
    assert found.got in found.message
    assert found.event_index >= 0
    return found


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_event_is_one_finding(name: str) -> None:
    """What was altered after the round was played is found once, named with what is wanted and what stands there."""
    rounds = altered_rounds(name)
    assert len(rounds) >= 3
    for facts, rules in rounds:
        found = assert_one(findings_of(facts, rules), ALTERED[name][2])
        assert found.severity == ("integrity" if name in INTEGRITY else "money"), found


def played_rounds(name: str) -> list[tuple[Facts, GameRules]]:
    make, how, _, _ = PLAYED[name]
    rules = CAPPED if how == "capped" else RULES
    found: list[tuple[Facts, GameRules]] = []
    for seed in range(SEEDS_TRIED):
        right = RoundBuilder(rules, seed=seed, mode="buy", hearts=True).play()
        builder = RoundBuilder(rules, seed=seed, mode="buy", hearts=True)
        builder.hooks = make(seed % 5)
        builder.play()
        if builder.events != right.events:
            found.append((round_facts(builder), rules))
        if len(found) == SEEDS_KEPT * 2:
            break
    return found


@pytest.mark.parametrize("name", PLAYED)
def test_one_fault_of_a_game_is_one_finding(name: str) -> None:
    """A fault that a game carries on to the settlement is found once, where it arose."""
    rounds = played_rounds(name)
    _, _, codes, severities = PLAYED[name]
    assert len(rounds) >= 3
    for facts, rules in rounds:
        found = assert_one(findings_of(facts, rules), codes)
        assert found.severity in severities, found


PAIRED = sorted(
    set(ALTERED) - {"play after the cap", "cap ignored", "cap taken before the multiplier", "a cut"} - {"an ante round at base cost"}
)


def altered_pair(seed: int, first: str, second: str) -> Facts | None:
    """Return a bought round with two alterations two spins apart or more; None where this seed gives no such pair."""
    facts = round_facts(play("buy", seed)[0])
    spins = []
    for name in (first, second):
        alone = copy.deepcopy(facts)
        if not ALTERED[name][0](alone, random.Random(seed)):
            return None
        findings = findings_of(alone)
        spins.append(findings[0].spin_index)
    both = copy.deepcopy(facts)
    for name in (first, second):
        if not ALTERED[name][0](both, random.Random(seed)):
            return None
    return both if abs(spins[0] - spins[1]) >= 2 else None


@pytest.mark.parametrize("seed", range(60))
def test_two_alterations_that_do_not_touch_are_two_findings(seed: int) -> None:
    """Two alterations in different spins of one round are found as two, each by its own code."""
    rng = random.Random(seed)
    for attempt in itertools.count():
        first, second = rng.sample(PAIRED, 2)
        both = altered_pair(1000 * attempt + seed, first, second)
        if both is not None:
            break
    assert both is not None
    found = findings_of(both)
    assert len(found) == 2, (first, second, [f.message for f in found])
    codes = {finding.code for finding in found}
    assert codes & ALTERED[first][2]
    assert codes & ALTERED[second][2]


@pytest.mark.parametrize("seed", range(20))
def test_alterations_in_two_rounds_are_two_findings(seed: int) -> None:
    """One alteration in each of two rounds of a file is one finding in each of them."""
    rng = random.Random(seed)
    rounds, codes = [], []
    for place in range(2):
        name = rng.choice(PAIRED)
        facts = rng.choice(altered_rounds(name))[0]
        rounds.append(redigest(facts))
        codes.append(ALTERED[name][2])
        assert place < 2
    checked = check_rounds(export_lines(rounds), lambda *_: RULES)
    for each, wanted in zip(checked.rounds, codes, strict=True):
        assert_one([finding for finding in each.findings if finding.severity != "warning"], wanted)


@pytest.mark.parametrize("seed", range(12))
def test_a_fault_of_a_game_and_an_alteration_are_two_findings(seed: int) -> None:
    """A fault carried on from an early spin hides no alteration of a later one."""
    rng = random.Random(seed)
    name = rng.choice(["a win's amount", "a pay", "a heart left out of the sum", "a wrong total", "an award"])
    builder = RoundBuilder(RULES, seed=seed, mode="buy", hearts=True)
    builder.hooks = PLAYED[name][0](0)
    facts = copy.deepcopy(round_facts(builder.play()))
    first = findings_of(facts)
    late = [index for index in of_kind(facts, "spin_ended") if index > max(finding.event_index for finding in first) + 20]
    facts[late[-2]]["total_minor"] += 40
    found = findings_of(facts)
    assert len(found) == len(first) + 1
    assert "total" in {finding.code for finding in found}


FIELD_ROUNDS = [play(how, seed) for how in ("base", "ante", "buy", "capped") for seed in (3, 14)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    choice=st.integers(0, len(FIELD_ROUNDS) - 1),
    at=st.randoms(use_true_random=False),
    change=st.integers(1, 9),
    sign=st.sampled_from([-1, 1]),
)
def test_a_changed_number_is_found_once_and_is_money_only_where_an_amount_is_wrong(
    choice: int, at: random.Random, change: int, sign: int
) -> None:
    """Any number of a round changed alone gives one finding at most, and surely one where money hangs on it."""
    builder, rules = FIELD_ROUNDS[choice]
    facts = copy.deepcopy(round_facts(builder))
    index = at.randrange(len(facts))
    names = sorted({path[0] for path in number_paths(facts[index])})
    name = at.choice(names)
    path = at.choice([path for path in number_paths(facts[index]) if path[0] == name])
    before = copy.deepcopy(facts)
    holder: Any = facts[index]
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = (holder[path[-1]] + change) % 11 if name == "symbols" else max(holder[path[-1]] + sign * change, 0)
    if facts == before:
        return
    found = findings_of(facts, rules)
    assert len(found) <= 1, found
    if is_certain(before, index, path):
        assert found
    if not name.endswith(("_minor", "_x100")):
        assert all(finding.severity != "money" for finding in found)
