"""Rounds of Starlight Wins that are wrong in one way, each found as one finding: altered afterwards, or played so by a faulty game."""

import copy
import itertools
import random

import pytest

from replay.check import check_rounds
from replay.verdict import Finding
from tests.replay.alterations import Facts, of_kind
from tests.replay.starlight_alterations import ALTERED, PLAYED
from tests.round_builder import export_lines, redigest, round_facts
from tests.starlight_rounds import VARIANTS, starlight_round

SEEDS_TRIED = 300
SEEDS_KEPT = 4


def findings_of(facts: Facts, name: str) -> list[Finding]:
    """Return what `check_rounds` finds in one round, warnings apart."""
    checked = check_rounds(export_lines([redigest(facts)]), lambda *_: VARIANTS[name])
    return [finding for finding in checked.rounds[0].findings if finding.severity != "warning"]


def assert_one(findings: list[Finding], codes: set[str], severities: set[str]) -> None:
    assert len(findings) == 1, [f"{f.code}@{f.event_index} {f.message}" for f in findings]
    found = findings[0]
    assert found.code in codes, found
    assert found.severity in severities, found
    assert found.want in found.message
    assert found.got in found.message
    assert found.event_index >= 0


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_event_is_one_finding(name: str) -> None:
    """What was altered after the round was played is found once, named with what is wanted and what stands there."""
    alter, rules, codes, severity = ALTERED[name]
    count = 0
    for seed in range(SEEDS_TRIED):
        facts = copy.deepcopy(round_facts(starlight_round(rules, seed)))
        if alter(facts, random.Random(seed)):
            assert_one(findings_of(facts, rules), codes, {severity})
            count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 3


@pytest.mark.parametrize("name", PLAYED)
def test_one_fault_of_a_game_is_one_finding(name: str) -> None:
    """A fault that a game carries on to the settlement is found once, where it arose."""
    make, rules, codes, severities = PLAYED[name]
    count = 0
    for seed in range(SEEDS_TRIED):
        builder = starlight_round(rules, seed, make(seed % 3))
        if builder.events == starlight_round(rules, seed).events:
            continue
        assert_one(findings_of(round_facts(builder), rules), codes, severities)
        count += 1
        if count == SEEDS_KEPT * 2:
            break
    assert count >= 3


# An alteration of what spins awarded and of their sum by the same amount is one consistent change.
PAIRED = [name for name, (_, rules, _, _) in ALTERED.items() if rules == "plain" and name not in ("a wrong feature part",)]


@pytest.mark.parametrize("seed", range(40))
def test_two_alterations_in_different_spins_are_two_findings(seed: int) -> None:
    """Two alterations in spins that do not touch are found as two, each by its own code."""
    rng = random.Random(seed)
    for attempt in itertools.count():
        first, second = rng.sample(PAIRED, 2)
        facts = round_facts(starlight_round("plain", 3 * (1000 * attempt + seed)))
        spins = []
        for name in (first, second):
            alone = copy.deepcopy(facts)
            if ALTERED[name][0](alone, random.Random(seed)):
                spins.append(findings_of(alone, "plain")[0].spin_index)
        both = copy.deepcopy(facts)
        is_apart = len(spins) == 2 and abs(spins[0] - spins[1]) > 1
        if is_apart and all(ALTERED[name][0](both, random.Random(seed)) for name in (first, second)):
            break
    found = findings_of(both, "plain")
    assert len(found) == 2, (first, second, [finding.message for finding in found])
    codes = {finding.code for finding in found}
    assert codes & ALTERED[first][2]
    assert codes & ALTERED[second][2]


@pytest.mark.parametrize("seed", range(20))
def test_two_faults_of_a_game_are_two_findings(seed: int) -> None:
    """Two faults carried on from different spins are found as two, each by its own code."""
    rng = random.Random(seed)
    names = [name for name, (_, rules, _, _) in PLAYED.items() if rules in ("plain", "gold")]
    for attempt in itertools.count():
        first, second = rng.sample(names, 2)
        hooks = [PLAYED[first][0](1), PLAYED[second][0](5)]
        if set(hooks[0]) & set(hooks[1]):
            continue
        builder = starlight_round("gold", 3 * (100 * seed + attempt), hooks[0] | hooks[1])
        fired = [hook for hook in (*hooks[0].values(), *hooks[1].values()) if getattr(hook, "fired", False)]
        if len(fired) == 2 and abs(fired[0].spin_fired - fired[1].spin_fired) > 1:  # type: ignore[attr-defined]
            break
    found = findings_of(round_facts(builder), "gold")
    codes = [finding.code for finding in found]
    assert len(codes) == 2, (first, second, [finding.message for finding in found])
    assert set(codes) & PLAYED[first][2]
    assert set(codes) & PLAYED[second][2]


def test_a_round_by_the_other_paytable_says_so() -> None:
    """A pay for a displayed bet of 0.20 is a finding about money that vanishes under that reading."""
    facts = round_facts(starlight_round("SLW-1 = 1", 0), rules_hash=VARIANTS["plain"].rules_hash)
    found = findings_of(facts, "plain")
    assert len(found) == len(of_kind(facts, "win")) > 0
    assert all((finding.code, finding.severity, finding.assumption) == ("win_pay", "money", "SLW-1") for finding in found)
    assert all("vanishes under reading SLW-1 = 1" in finding.message for finding in found)
