"""Rounds of runs that are wrong in one way or in two: altered afterwards, or played so by a faulty game."""

import copy
import itertools
import os
import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.canonical import canonical_json
from engines.game_events import parse_game_event
from replay.verdict import Finding
from tests.replay.alterations import Facts, assert_one, number_paths, of_kind
from tests.stargazing_alterations import ALTERED
from tests.stargazing_faults import PLAYED, RULES_BY, found_in, played_by
from tests.stargazing_rounds import StargazingRound

CHANGES = int(os.environ.get("SLOT_AUDIT_RUNS_CHANGES", "40"))
SEEDS_KEPT = int(os.environ.get("SLOT_AUDIT_RUNS_SEEDS", "3"))


@cache
def _kept(how: str, seed: int) -> tuple[StargazingRound, Facts]:
    played = played_by(how, seed).play()
    return played, [event.model_dump(mode="json") for event in played.events]


def right_facts(how: str, seed: int) -> tuple[StargazingRound, Facts]:
    """Return a right round, and its events, which may be altered."""
    played, facts = _kept(how, seed)
    return played, copy.deepcopy(facts)


def findings_of(facts: Facts, played: StargazingRound) -> list[Finding]:
    """Return what is found in altered events of `played`; whatever was altered, none wants what it got."""
    found = found_in([parse_game_event(fact["kind"], canonical_json(fact)) for fact in facts], played)
    for each in found:
        assert each.want != each.got, each
    return found


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_event_is_one_finding(name: str) -> None:
    """What was altered after the round was played is found once, by its code, and is money only where an amount is wrong."""
    alter, how, codes, is_money = ALTERED[name]
    count = 0
    for seed in range(200):
        played, facts = right_facts(how, seed)
        if not alter(facts, random.Random(seed)):
            continue
        assert_one(findings_of(facts, played), codes, {"money" if is_money else "integrity"})
        count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 2


@pytest.mark.parametrize("name", PLAYED)
def test_one_fault_of_a_game_is_one_finding(name: str) -> None:
    """A fault that a game carries on to the settlement is found once, where it arose."""
    make, how, codes, severities = PLAYED[name]
    count = 0
    for seed in range(200):
        right, wrong = _kept(how, seed)[0], played_by(how, seed)
        wrong.hooks = make(seed % 3)
        if (wrong.play().events, wrong.active) == (right.events, right.active):
            continue
        assert_one(found_in(wrong.events, wrong), codes, severities)
        count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 2


def spins_of(found: list[Finding]) -> list[int]:
    return [finding.spin_index for finding in found]


@pytest.mark.parametrize("seed", range(8))
def test_two_alterations_that_do_not_touch_are_two_findings(seed: int) -> None:
    """Two alterations in different spins of one round are found as two, each by its own code."""
    rng = random.Random(seed)
    names = sorted(name for name in ALTERED if ALTERED[name][1] == "plain" and not name.startswith(("an award", "a total", "a feature's")))
    for attempt in itertools.count():
        first, second = rng.sample(names, 2)
        played, facts = right_facts("plain", rng.randrange(60))
        spins = []
        for name in (first, second):
            alone = copy.deepcopy(facts)
            if ALTERED[name][0](alone, random.Random(seed)):
                spins += spins_of(findings_of(alone, played))
        both = copy.deepcopy(facts)
        if (
            len(spins) == 2
            and abs(spins[0] - spins[1]) >= 2
            and all(ALTERED[name][0](both, random.Random(seed)) for name in (first, second))
        ):
            found = findings_of(both, played)
            if spins_of(found) != sorted(spins):
                continue  # the second alteration chose another event of the longer round
            break
        assert attempt < 500
    codes = [finding.code for finding in found]
    assert len(codes) == 2, (first, second, codes)
    assert set(codes) & ALTERED[first][2]
    assert set(codes) & ALTERED[second][2]


@pytest.mark.parametrize("seed", range(8))
def test_a_fault_of_a_game_and_an_alteration_are_two_findings(seed: int) -> None:
    """A fault carried on from the first spin hides no alteration of a later one."""
    rng = random.Random(seed)
    for attempt in itertools.count(100 * seed):
        name = rng.choice(["a win's amount", "a pay", "an award", "a wrong total", "a sub-run paid beside its run"])
        wrong = played_by("plain", attempt)
        wrong.hooks = PLAYED[name][0](0)
        facts = [event.model_dump(mode="json") for event in wrong.play().events]
        first = findings_of(facts, wrong)
        if len(first) == 1 and first[0].spin_index == 0 and len(of_kind(facts, "spin_ended")) > 3:
            break
    facts[of_kind(facts, "spin_started")[3]]["spins_left"] += 1
    assert [finding.code for finding in findings_of(facts, wrong)] == [first[0].code, "spins_left"]


def alter_one_number(facts: Facts, rng: random.Random) -> tuple[int, str]:
    """Change one number of one event, kinds and fields alike in chance, and return the event's index and the field."""
    index = rng.choice(of_kind(facts, rng.choice(sorted({fact["kind"] for fact in facts}))))
    paths = number_paths(facts[index])
    name = str(rng.choice(sorted({path[0] for path in paths})))
    path = rng.choice([path for path in paths if path[0] == name])
    holder: Any = facts[index]
    for step in path[:-1]:
        holder = holder[step]
    before = holder[path[-1]]
    if len(path) > 1 and rng.random() < 0.2:
        other = rng.randrange(len(holder))
        holder[path[-1]], holder[other] = holder[other], before
    else:
        limit = 11 if name == "symbols" else 25
        holder[path[-1]] = rng.choice([before + 1, before + 20, max(before - 1, 0), 0, rng.randrange(limit)])
    return index, name


def needs_the_seed(before: Facts, facts: Facts, index: int, name: str, played: StargazingRound) -> bool:
    """Return whether only the seed could show a change: values that a right round could hold as well."""
    if name == "stops":
        strips = played.rules.strip_sets[next(f["strip_set"] for f in reversed(facts[:index]) if f["kind"] == "spin_started")].strips
        windows = [
            [(strip * 2)[stop : stop + 5] for strip, stop in zip(strips, each[index]["stops"], strict=True)] for each in (before, facts)
        ]
        return windows[0] == windows[1]
    return name in ("highlighted_cells", "turned_cells", "size") and facts[index]["kind"] != "tumble"


@settings(max_examples=CHANGES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_any_number_changed_alone_is_one_finding(rng: random.Random) -> None:
    """A changed number is found once unless the seed is needed, and is money only where it is an amount."""
    how = rng.choice(sorted(RULES_BY))
    played, facts = right_facts(how, rng.randrange(40))
    before = copy.deepcopy(facts)
    index, name = alter_one_number(facts, rng)
    if facts == before:
        return
    found = findings_of(facts, played)
    assert len(found) <= 1, (how, index, name, found)
    if not found:
        assert needs_the_seed(before, facts, index, name, played), (how, index, name)
    elif found[0].severity == "money":
        assert name.endswith(("_minor", "_x100")), (how, index, name, found)


@settings(max_examples=CHANGES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_an_event_lost_doubled_or_moved_is_one_finding(rng: random.Random) -> None:
    """An event left out, written twice or changed with its neighbour is one finding, and no amount is wrong for it."""
    how = rng.choice(sorted(RULES_BY))
    played, facts = right_facts(how, rng.randrange(40))
    before = copy.deepcopy(facts)
    index = rng.choice(of_kind(facts, rng.choice(sorted({fact["kind"] for fact in facts}))))
    match rng.choice(("lost", "doubled", "moved")):
        case "lost":
            del facts[index]
        case "doubled":
            facts.insert(index, copy.deepcopy(facts[index]))
        case _ if index < len(facts) - 1:
            facts[index : index + 2] = facts[index + 1], facts[index]
    if facts != before:
        found = findings_of(facts, played)
        assert [finding.severity for finding in found] == ["integrity"], (how, index, found)
