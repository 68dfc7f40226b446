"""Rounds of win lines and Moons that are wrong in one way or in two: altered afterwards, or played so by a faulty game."""

import copy
import itertools
import os
import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.games.moon_spell.rules import Rules
from replay.check import check_rounds
from replay.verdict import Finding
from tests.moon_spell_alterations import ALTERED
from tests.moon_spell_faults import PLAYED
from tests.moon_spell_rounds import FULL_BOARDS, LOW_CAP, MANY_MOONS, RULES, MoonSpellRound
from tests.replay.alterations import Facts, assert_one, number_paths, of_kind
from tests.round_builder import export_lines, redigest, round_facts
from tests.rules_changes import changed_rules

RULES_BY = {
    "plain": RULES,
    "many": MANY_MOONS,
    "full": FULL_BOARDS,
    "capped": LOW_CAP,
    "capped, by spin": LOW_CAP.with_reading("ALL-1", 2),
    "no cap": LOW_CAP.with_reading("MSP-2", 1),
    "every rung": MANY_MOONS.with_reading("MSP-3", 1),
}
CHANGES = int(os.environ.get("SLOT_AUDIT_LINES_CHANGES", "120"))
SEEDS_KEPT = 4
NOT_IN_THE_OUTCOME = {"bonus_minor", "epoch", "nonce", "opened_at_us", "settled_at_us"}


def played_by(how: str, seed: int, *, moons: int | None = None) -> MoonSpellRound:
    asked = moons if moons is not None else (0, 3, 4, 5, 7, 10, 2, 15)[seed % 8]
    return MoonSpellRound(RULES_BY[how], seed=seed, moons=asked)


def moons_asked(name: str, codes: set[str]) -> int | None:
    """Return 0 for faults of line wins, which boards of many Moons have less often; 4 where a wild is the fifth."""
    return 0 if all(code.startswith("win_") for code in codes) else 4 if "wild" in name else None


@cache
def _kept(how: str, seed: int, moons: int | None) -> Facts:
    return round_facts(played_by(how, seed, moons=moons).play(), balance_before=10**9)


def right_facts(how: str, seed: int, moons: int | None = None) -> Facts:
    """Return the events of a right round, which may be altered."""
    return copy.deepcopy(_kept(how, seed, moons))


def findings_of(facts: Facts, rules: Rules) -> list[Finding]:
    """Return what `check_rounds` finds in one round, warnings apart; whatever was altered, none wants what it got."""
    found = check_rounds(export_lines([redigest(facts)]), lambda *_: rules).rounds[0].findings
    for each in found:
        assert each.want != each.got, each
    return [finding for finding in found if finding.severity != "warning"]


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_event_is_one_finding(name: str) -> None:
    """What was altered after the round was played is found once, by its code, and is money only where an amount is wrong."""
    alter, how, codes, is_money = ALTERED[name]
    count = 0
    for seed in range(300):
        facts = right_facts(how, seed, moons_asked(name, codes) if how == "plain" else None)
        if not alter(facts, random.Random(seed)):
            continue
        assert_one(findings_of(facts, RULES_BY[how]), codes, {"money" if is_money else "integrity"})
        count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 3


@pytest.mark.parametrize("name", PLAYED)
def test_one_fault_of_a_game_is_one_finding(name: str) -> None:
    """A fault that a game carries on to the settlement is found once, where it arose."""
    make, how, codes, severities = PLAYED[name]
    count = 0
    for seed in range(400):
        moons = moons_asked(name, codes)
        right, wrong = played_by(how, seed, moons=moons).play(), played_by(how, seed, moons=moons)
        wrong.hooks = make(seed % 4)
        if wrong.play().events == right.events:
            continue
        assert_one(findings_of(round_facts(wrong, balance_before=10**9), RULES_BY[how]), codes, severities)
        count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 2


# Played by rules that it should not be played by: those, the right ones, codes, severities.
OTHERWISE: dict[str, tuple[Rules, Rules, set[str], set[str]]] = {
    "four Moons trigger": (changed_rules(RULES, moon_counts={"trigger": 4}), RULES, {"trigger_invented"}, {"money", "integrity"}),
    "six Moons trigger": (changed_rules(RULES, moon_counts={"trigger": 6}), RULES, {"trigger_missing"}, {"money"}),
    "two Moons are paid": (changed_rules(RULES, moon_counts={"cash": 2}), RULES, {"prize_invented"}, {"money"}),
    "a cap too low": (LOW_CAP, MANY_MOONS, {"cap_invented"}, {"money"}),
    "a cap ignored": (MANY_MOONS, LOW_CAP, {"cap_missing"}, {"money", "integrity"}),
    "every rung": (MANY_MOONS.with_reading("MSP-3", 1), MANY_MOONS, {"prize_invented"}, {"money"}),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_round_played_by_other_rules_is_found(name: str) -> None:
    """A game that plays by a rule it should not play by is found where the rule is first broken."""
    by, rules, codes, severities = OTHERWISE[name]
    count = 0
    for seed in range(300):
        wrong = MoonSpellRound(by, seed=seed, moons=(0, 2, 4, 5, 8)[seed % 5]).play()
        right = MoonSpellRound(rules, seed=seed, moons=(0, 2, 4, 5, 8)[seed % 5]).play()
        rungs = [event for event in wrong.events if getattr(event, "which", "") == "ladder"]
        if wrong.events == right.events or len(rungs) > 2:
            continue
        found = findings_of(round_facts(wrong, balance_before=10**9), rules)
        assert_one(found, codes, severities)
        count += 1
        if count == SEEDS_KEPT:
            break
    assert count >= 2


PAIRED = sorted(name for name in ALTERED if ALTERED[name][1] == "many" and not name.startswith(("a total of", "a base win", "a total win")))


@pytest.mark.parametrize("seed", range(24))
def test_two_alterations_that_do_not_touch_are_two_findings(seed: int) -> None:
    """Two alterations in different spins of one round are found as two, each by its own code."""
    rng = random.Random(seed)
    for attempt in itertools.count():
        first, second = rng.sample(PAIRED, 2)
        facts = right_facts("many", rng.randrange(60), 7)
        spins = []
        for name in (first, second):
            alone = copy.deepcopy(facts)
            if ALTERED[name][0](alone, random.Random(seed)):
                spins.append(findings_of(alone, MANY_MOONS)[0].spin_index)
        if (
            len(spins) == 2
            and abs(spins[0] - spins[1]) >= 2
            and all(ALTERED[name][0](facts, random.Random(seed)) for name in (first, second))
        ):
            break
        assert attempt < 500
    codes = [finding.code for finding in findings_of(facts, MANY_MOONS)]
    assert len(codes) == 2, (first, second, codes)
    assert set(codes) & ALTERED[first][2]
    assert set(codes) & ALTERED[second][2]


@pytest.mark.parametrize("seed", range(12))
def test_a_fault_of_a_game_and_an_alteration_are_two_findings(seed: int) -> None:
    """A fault carried on from the first spin hides no alteration of a later one."""
    rng = random.Random(seed)
    names = ["a win's amount", "a pay", "a win missed", "a win invented", "an award", "a wrong total"]
    for attempt in itertools.count():
        name = rng.choice(names)
        wrong = played_by("many", 100 * seed + attempt, moons=5)
        wrong.hooks = PLAYED[name][0](0)
        facts = copy.deepcopy(round_facts(wrong.play(), balance_before=10**9))
        first = findings_of(facts, MANY_MOONS)
        if len(first) == 1 and first[0].spin_index == 0 and len(of_kind(facts, "spin_ended")) > 3:
            break
    facts[of_kind(facts, "spin_started")[3]]["spins_left"] += 1
    found = findings_of(facts, MANY_MOONS)
    assert [finding.code for finding in found] == [first[0].code, "spins_left"]


def alter_one_field(facts: Facts, rng: random.Random) -> tuple[int, tuple[Any, ...]]:
    """Change one number of one event, kinds and fields alike in chance, and return the event's index and the path."""
    index = rng.choice(of_kind(facts, rng.choice(sorted({fact["kind"] for fact in facts}))))
    paths = number_paths(facts[index])
    name = rng.choice(sorted({path[0] for path in paths}))
    paths = [path for path in paths if path[0] == name]
    path = rng.choice([path for path in paths if name == "values" and _holder(facts[index], path)[path[-1]]] or paths)
    holder = _holder(facts[index], path)
    before = holder[path[-1]]
    other = rng.choice(paths)
    choices = [before + 1, before + 20, before + 50, max(before - 1, 0), 0, rng.randrange(11 if name == "symbols" else 2 * before + 12)]
    if rng.random() < 0.2:
        holder[path[-1]] = _holder(facts[index], other)[other[-1]]
        _holder(facts[index], other)[other[-1]] = before
    else:
        holder[path[-1]] = rng.choice(choices)
    return index, path


def _holder(fact: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        fact = fact[step]
    return fact


def needs_the_seed(before: Facts, facts: Facts, index: int, name: str, rules: Rules) -> bool:
    """Return whether only the seed could show a change: facts beside the outcome, Moons that nothing pays, stops that look alike."""
    if name == "values":
        is_paid = any(fact["kind"] == "prize" or fact["kind"] == "feature_trigger" for fact in before)
        are_drawable = all(value in (0, *rules.moon_values.values_x100) for value in facts[index]["values"])
        return are_drawable and (not is_paid or sorted(before[index]["values"]) == sorted(facts[index]["values"]))
    if name == "stops":
        windows = []
        for each in (before, facts):
            pairs = zip(rules.strip_sets[0].strips, each[index]["stops"], strict=True)
            windows.append([(strip * 2)[stop : stop + 3] for strip, stop in pairs])
        return windows[0] == windows[1]
    return name in NOT_IN_THE_OUTCOME


@settings(max_examples=CHANGES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_any_field_changed_alone_is_one_finding(rng: random.Random) -> None:
    """A changed number is found once unless the seed is needed, and is money only where it is an amount, or a Moon left out."""
    how = rng.choice(sorted(RULES_BY))
    before = right_facts(how, rng.randrange(40))
    facts = copy.deepcopy(before)
    index, path = alter_one_field(facts, rng)
    if facts == before:
        return
    name = str(path[0])
    found = findings_of(facts, RULES_BY[how])
    assert len(found) <= 1, (how, index, path, found)
    if not found:
        assert needs_the_seed(before, facts, index, name, RULES_BY[how]), (how, index, path)
    elif found[0].severity == "money":
        assert name.endswith(("_minor", "_x100")), (how, index, path, found)


@settings(max_examples=CHANGES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_an_event_lost_doubled_or_moved_is_one_finding(rng: random.Random) -> None:
    """An event left out, written twice or changed with its neighbour is one finding, and no amount is wrong for it."""
    how = rng.choice(sorted(RULES_BY))
    before = right_facts(how, rng.randrange(40))
    facts = copy.deepcopy(before)
    index = rng.choice(of_kind(facts, rng.choice(sorted({fact["kind"] for fact in facts[1:-1]}))))
    match rng.choice(("lost", "doubled", "moved")):
        case "lost":
            del facts[index]
        case "doubled":
            facts.insert(index, copy.deepcopy(facts[index]))
        case _ if index < len(facts) - 2:
            facts[index : index + 2] = facts[index + 1], facts[index]
    if facts != before:
        found = findings_of(facts, RULES_BY[how])
        assert [finding.severity for finding in found] == ["integrity"], (how, index, found)
