"""Rounds that the installed kernel plays: clean they pass, altered or played by other rules they are found, once for each cause."""

import copy
import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.rules import GameRules
from replay.check import check_rounds
from replay.referee.tables import tables_of
from tests.replay.alterations import ALTERED, CARRIED, INTEGRITY, Facts, alter_one_field, alter_order, carry_on, is_certain, of_kind
from tests.replay.kernel_play import (
    BETS,
    CAP_20,
    CAP_60,
    LOW_LIMITS,
    RULES,
    assert_one,
    check_one,
    findings_of,
    kernel_facts,
    kernel_round,
)
from tests.round_builder import INSTALLED, PLAYED, RoundBuilder, export_lines, redigest, round_facts
from tests.rules_changes import changed_rules

# Played by a kernel under rules that it should not be played by: those, the right ones, the mode, codes and severities.
OTHERWISE: dict[str, tuple[GameRules, GameRules, str, tuple[set[str], set[str]]]] = {
    "a trigger not awarded": (changed_rules(INSTALLED, trigger={"count": 5}), INSTALLED, "buy", ({"trigger_missing"}, {"money"})),
    "16 spins for 15": (changed_rules(INSTALLED, trigger={"spins": 16}), INSTALLED, "buy", ({"spins_awarded"}, {"money", "integrity"})),
    "14 spins for 15": (changed_rules(INSTALLED, trigger={"spins": 14}), INSTALLED, "buy", ({"spins_awarded"}, {"money"})),
    "a retrigger of +4": (changed_rules(INSTALLED, retrigger={"spins": 4}), INSTALLED, "buy", ({"spins_awarded"}, {"money"})),
    "a scatter pay multiplied": (
        RULES["MLP-1 = 1"], INSTALLED, "buy", ({"prize_multiplier", "multiplier_invented"}, {"money"}),
    ),
    "cap ignored": (INSTALLED, CAP_20, "buy", ({"cap_missing"}, {"money"})),
    "a cap reached exactly and ignored": (INSTALLED, RULES["cap 3"], "buy", ({"cap_missing"}, {"money", "integrity"})),
    "a cap too low": (CAP_20, INSTALLED, "buy", ({"cap_invented"}, {"money"})),
    "a cap by the price": (RULES["cap 20, ALL-1 = 1"], CAP_20, "buy", ({"cap_missing"}, {"money"})),
    "a limit of spins ignored": (
        INSTALLED, changed_rules(INSTALLED, limits={"free_spins": 10}), "buy", ({"limit_ignored"}, {"money", "integrity"}),
    ),
    "a limit of spins too low": (
        changed_rules(INSTALLED, limits={"free_spins": 10}), INSTALLED, "buy", ({"spins_unplayed"}, {"money"}),
    ),
    "a limit of tumbles ignored": (INSTALLED, LOW_LIMITS, "base", ({"limit_ignored"}, {"money", "integrity"})),
    "a limit of tumbles ignored, bought": (
        INSTALLED, changed_rules(INSTALLED, limits={"tumbles": 2}), "buy", ({"limit_ignored"}, {"money", "integrity"}),
    ),
    "a limit of tumbles too low": (LOW_LIMITS, INSTALLED, "base", ({"tumble_missing"}, {"money", "integrity"})),
    "a limit of tumbles too low, bought": (
        changed_rules(INSTALLED, limits={"tumbles": 2}), INSTALLED, "buy", ({"tumble_missing"}, {"money", "integrity"}),
    ),
    "an ante round at base cost": (
        changed_rules(
            INSTALLED, modes=[{**mode, "cost_x100": min(mode["cost_x100"], 100)} for mode in INSTALLED.model_dump()["modes"]]
        ),
        INSTALLED, "ante", ({"cost"}, {"money"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_right_kernel_rounds_have_no_findings(name: str) -> None:
    """Kernel and referee, two minds, agree on every round; a technical limit is one warning, and all totals are told."""
    rules = RULES[name]
    counts = {"base": 60, "ante": 40, "buy": 2} if name == "short strips" else {"base": 120, "ante": 90, "buy": 12}
    for mode, count in counts.items():
        for nonce in range(count):
            played = kernel_round(rules, mode, nonce, BETS[nonce % 4])
            checked = check_one(round_facts(played, balance_before=10_000_000), rules)
            wanted = ["limit_reached"] if played.ended == "limit" else []
            assert [finding.code for finding in checked.findings] == wanted, (mode, nonce, checked.findings)
            assert all(finding.severity == "warning" for finding in checked.findings)
            assert [check.result for check in checked.checks if check.name in ("referee", "totals")] == ["pass", "pass"]


def altered_kernel_rounds(name: str, count: int) -> list[tuple[Facts, GameRules]]:
    alter, how, _ = ALTERED[name]
    found: list[tuple[Facts, GameRules]] = []
    for nonce in range(600):
        rules_name = ("cap 20", "cap 60")[nonce % 2] if how == "capped" else "installed"
        facts = kernel_facts(rules_name, "buy" if how == "capped" else how, nonce)
        if alter(facts, random.Random(nonce)):
            found.append((facts, RULES[rules_name]))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("name", ALTERED)
def test_one_altered_event_of_a_kernel_round_is_one_finding(name: str) -> None:
    """What was altered in a kernel-made round, the rest left as it was, is found once by its code and severity."""
    rounds = altered_kernel_rounds(name, 4)
    assert len(rounds) >= 2
    for facts, rules in rounds:
        assert_one(findings_of(facts, rules), ALTERED[name][2], {"integrity" if name in INTEGRITY else "money"})


@pytest.mark.parametrize("name", CARRIED)
def test_an_alteration_carried_on_is_one_finding(name: str) -> None:
    """What was altered in a kernel-made round and added up again to the balance is found once, where it arose."""
    alter, codes = CARRIED[name]
    count = 0
    for nonce in range(200):
        facts = kernel_facts("installed", "buy", nonce)
        assert carry_on(copy.deepcopy(facts)) == facts
        if not alter(facts, random.Random(nonce)):
            continue
        # A heart that the last drop alone shows may be the altered one: only the seed tells (`test_weighing.py`).
        is_of_hearts = name in ("hearts counted on a losing free spin", "a multiplier", "a heart left out of the sum")
        assert_one(findings_of(carry_on(facts), INSTALLED), codes, {"money", "integrity"} if is_of_hearts else {"money"})
        count += 1
        if count == 5:
            break
    assert count == 5


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_round_played_by_other_rules_is_one_finding(name: str) -> None:
    """A kernel that plays by a rule it should not play by is found once where the rule is first broken."""
    played_by, rules, mode, (codes, severities) = OTHERWISE[name]
    count = 0
    for nonce in range(1, 500):
        played = kernel_round(played_by, mode, nonce)
        right = kernel_round(rules, mode, nonce)
        if (played.events, played.ended) == (right.events, right.ended) and mode != "ante":
            continue
        is_paid_wrongly = played.total != right.total
        assert_one(findings_of(round_facts(played), rules), codes, severities & {"money" if is_paid_wrongly else "integrity"} or severities)
        count += 1
        if count == 4:
            break
    assert count == 4


def faulty_round(hooks: dict[str, Any], rules: GameRules, seed: int) -> tuple[RoundBuilder, RoundBuilder] | None:
    """Return a round that a faulty game plays on the installed strips and the right one, None where the fault did not arise."""
    right = RoundBuilder(rules, seed=seed, mode="buy", hearts=True).play()
    builder = RoundBuilder(rules, seed=seed, mode="buy", hearts=True)
    builder.hooks = hooks
    builder.play()
    return None if builder.events == right.events else (builder, right)


# Faults after which a game draws as it would have: where the round's win is the same in the end, nobody was paid wrongly.
WEIGHED = {
    "a multiplier",
    "a total multiplier",
    "a heart left out of the sum",
    "hearts counted on a losing free spin",
    "16 spins for 15",
    "16 spins announced and played, 15 awarded",
    "a trigger invented",
    "play after the cap",
    "play after the cap for nothing",
}


@pytest.mark.parametrize("name", PLAYED)
def test_one_fault_on_the_installed_strips_is_one_finding(name: str) -> None:
    """A fault that a game carries on to the settlement is found once on the installed strips and hearts as well."""
    make, how, codes, severities = PLAYED[name]
    count = 0
    for seed in range(150):
        rules = (CAP_20, CAP_60)[seed % 2] if how == "capped" else INSTALLED
        rounds = faulty_round(make(seed % 5), rules, seed)
        if rounds is None:
            continue
        builder, right = rounds
        if name in WEIGHED:
            severities = {"money"} if builder.total != right.total else {"integrity"}
        assert_one(findings_of(round_facts(builder), rules), codes, severities)
        count += 1
        if count == (8 if name in WEIGHED else 4):
            break
    assert count >= 2 or name == "a retrigger of +4"  # rare on these strips; by other rules above


# The settlement adds up what spins awarded: an alteration of the two by the same amount is one consistent change.
PAIRED = sorted(
    name for name in ALTERED if ALTERED[name][1] == "buy" and name not in ("a wrong feature part", "a wrong total of the free spins")
)


@pytest.mark.parametrize("seed", range(30))
def test_two_alterations_of_a_kernel_round_are_two_findings(seed: int) -> None:
    """Two alterations in spins that do not touch are found as two, each by its own code."""
    rng = random.Random(seed)
    for attempt in itertools.count():
        first, second = rng.sample(PAIRED, 2)
        facts = kernel_facts(("installed", "cap 60")[attempt % 2], "buy", rng.randrange(40))
        rules = RULES[("installed", "cap 60")[attempt % 2]]
        spins = []
        for name in (first, second):
            alone = copy.deepcopy(facts)
            if ALTERED[name][0](alone, random.Random(seed)):
                spins.append(findings_of(alone, rules)[0].spin_index)
        if (
            len(spins) < 2
            or abs(spins[0] - spins[1]) < 2
            or not all(ALTERED[name][0](facts, random.Random(seed)) for name in (first, second))
        ):
            continue
        break
    codes = [finding.code for finding in findings_of(facts, rules)]
    assert len(codes) == 2, (first, second, codes)
    assert set(codes) & ALTERED[first][2]
    assert set(codes) & ALTERED[second][2]


@pytest.mark.parametrize("seed", range(12))
def test_two_faults_of_a_game_on_the_installed_strips_are_two_findings(seed: int) -> None:
    """Two faults carried on from different spins are found as two."""
    rng = random.Random(seed)
    names = [name for name in PLAYED if PLAYED[name][1] == "buy"]
    for attempt in itertools.count():
        first, second = rng.sample(names, 2)
        hooks = [PLAYED[first][0](1), PLAYED[second][0](6)]
        if set(hooks[0]) & set(hooks[1]):
            continue
        rounds = faulty_round(hooks[0] | hooks[1], INSTALLED, 100 * seed + attempt)
        fired = [hook for hook in (*hooks[0].values(), *hooks[1].values()) if getattr(hook, "fired", False)]
        if rounds is not None and len(fired) == 2 and abs(fired[0].spin_fired - fired[1].spin_fired) > 1:
            break
    codes = [finding.code for finding in findings_of(round_facts(rounds[0]), INSTALLED)]
    assert len(codes) == 2, (first, second, codes)
    assert set(codes) & PLAYED[first][2]
    assert set(codes) & PLAYED[second][2]


def test_alterations_in_two_rounds_of_a_file_are_two_findings() -> None:
    """One alteration in each of two rounds of one file is one finding in each of them."""
    rng = random.Random(5)
    for _ in range(15):
        names = rng.sample(PAIRED, 2)
        rounds = [redigest(altered_kernel_rounds(name, 1)[0][0]) for name in names]
        checked = check_rounds(export_lines(rounds), lambda *_: INSTALLED)
        for each, name in zip(checked.rounds, names, strict=True):
            assert_one(each.findings, ALTERED[name][2], {"money", "integrity"})


@pytest.mark.parametrize("name", ["cap 20", "cap 60", "low limits"])
def test_the_spins_played_of_a_round_that_ends_early_are_those_played(name: str) -> None:
    """A cap or a limit leaves awarded spins unplayed; the end of the free spins may not count them."""
    count = 0
    for nonce in range(60):
        facts = kernel_facts(name, "buy", nonce)
        awarded = sum(fact["spins_awarded"] for fact in facts if fact["kind"] == "feature_trigger")
        for fact in facts:
            if fact["kind"] == "feature_ended" and fact["spins_played"] < awarded:
                fact["spins_played"] = awarded
                assert_one(findings_of(facts, RULES[name]), {"spins_played"}, {"integrity"})
                count += 1
    assert count >= 2


NOT_IN_THE_OUTCOME = {"bonus_minor", "epoch", "nonce", "opened_at_us", "settled_at_us"}
FIELD_ROUNDS = [
    (name, mode)
    for name in ("installed", "cap 3", "cap 20", "cap 60", "low limits", "hearts on the scatter pay, a winning spin", "cap 20, ALL-1 = 2")
    for mode in ("base", "ante", "buy", "buy")
]


def needs_the_seed(before: Facts, facts: Facts, index: int, name: str, rules: GameRules) -> bool:
    """Return whether only the seed or the ledger could show a change: facts beside the outcome, hearts that count nowhere."""
    if name == "values":
        start = max(at for at in of_kind(before, "spin_started") if at < index)
        spin = itertools.takewhile(lambda fact: fact["kind"] != "spin_ended", before[start:])
        allowed = tables_of(rules).heart_values[before[start]["strip_set"]]
        drop = facts[index]
        are_drawable = all(value in allowed for value, symbol in zip(drop["values"], drop["symbols"], strict=True) if symbol == 10)
        return are_drawable and not any(fact["kind"] == "multiplier_change" for fact in spin)
    if name == "stops":
        windows = tables_of(rules).windows[before[index - 1]["strip_set"]]
        return all(reel[a] == reel[b] for reel, a, b in zip(windows, before[index]["stops"], facts[index]["stops"], strict=True))
    return name in NOT_IN_THE_OUTCOME


@given(rng=st.randoms(use_true_random=False))
def test_any_field_of_a_kernel_round_changed_alone_is_one_finding(rng: random.Random) -> None:
    """A changed field is found once unless the seed is needed; it is about money only where an amount, mode or heart was changed."""
    for _ in range(5):
        rules_name, mode = rng.choice(FIELD_ROUNDS)
        rules = RULES[rules_name]
        before = kernel_facts(rules_name, mode, rng.randrange(25))
        facts = copy.deepcopy(before)
        index, path = alter_one_field(facts, rng)
        if facts == before:
            continue
        name = str(path[0])
        found = findings_of(facts, rules)
        assert len(found) <= 1, (rules_name, mode, index, path, found)
        if not found:
            assert needs_the_seed(before, facts, index, name, rules), (rules_name, mode, index, path)
            assert not is_certain(before, index, path)
        elif found[0].severity == "money":
            assert name.endswith(("_minor", "_x100")) or name == "mode", (rules_name, mode, index, path, found)


@given(rng=st.randoms(use_true_random=False))
def test_an_event_lost_doubled_or_moved_is_one_finding(rng: random.Random) -> None:
    """An event left out, written twice or changed with its neighbour is one finding, and no amount is wrong for it."""
    for _ in range(3):
        rules_name, mode = rng.choice(FIELD_ROUNDS)
        before = kernel_facts(rules_name, mode, rng.randrange(25))
        facts = copy.deepcopy(before)
        index = alter_order(facts, rng)
        if facts == before:
            continue
        found = findings_of(facts, RULES[rules_name])
        assert len(found) == 1, (rules_name, mode, index, before[index], found)
        assert found[0].severity == "integrity", found
