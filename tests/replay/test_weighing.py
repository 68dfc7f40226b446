"""What the seed adds to a finding: which of two contradicting events was altered, and whether money hangs on it."""

import copy
import itertools
import json
import random
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import canonical_json
from engines.game import EventBytes, Outcome
from engines.game_events import GAME_EVENTS, GameEvent
from engines.registry import installed_rules
from engines.rng import round_key
from engines.rules import GameRules
from replay.referee.walk import walk_round
from replay.replayer import compare_outcome
from replay.verdict import Finding
from replay.weighing import weigh
from tests.replay.alterations import Facts, carry_on, leave_heart_out, number_paths, of_kind, set_field
from tests.replay.kernel_play import RULES, SEED, findings_of, game_by, kernel_facts
from tests.replay.test_kernel_rounds import alter_one_field
from tests.rules_changes import changed_rules

ROUNDS = [(name, mode) for name in ("installed", "cap 20", "low limits") for mode in ("base", "ante", "buy", "buy")]


def outcome_of(name: str, mode: str, nonce: int) -> Outcome:
    rules = RULES[name]
    return game_by(rules).play(round_key(SEED, rules.game, "", nonce), mode, 200, {}, ())


def weighed(facts: Facts, rules: GameRules, outcome: Outcome) -> list[Finding]:
    """Return the findings of a verification that has the round's key, the record's proofs apart."""
    recorded = [
        (index, EventBytes(f"{fact['kind']}/{fact['v']}", canonical_json(fact)))
        for index, fact in enumerate(facts)
        if fact["kind"] in GAME_EVENTS
    ]
    by_replay = compare_outcome(recorded, outcome, recorded_win_minor=facts[-1]["total_win_minor"])
    return weigh(findings_of(facts, rules), by_replay, recorded, outcome)


def heart_changes(facts: Facts, name: str) -> list[Facts]:
    """Return the round with each heart of each drop at each other value of the table."""
    heart = RULES[name].symbol_index("heart")
    changed = []
    for index in of_kind(facts, "drop"):
        for cell, symbol in enumerate(facts[index]["symbols"]):
            if symbol == heart:
                for value in RULES[name].heart_values.values:
                    other = copy.deepcopy(facts)
                    other[index]["values"][cell] = value
                    changed += [other] if other != facts else []
    return changed


def test_an_altered_heart_is_never_about_money() -> None:
    """Every heart of many rounds at every other value gives one finding, of the drop that was altered, not about money."""
    count = 0
    for (name, mode), nonce in itertools.product(ROUNDS, range(6)):
        outcome, facts = outcome_of(name, mode, nonce), kernel_facts(name, mode, nonce)
        changes = heart_changes(facts, name)
        for altered in random.Random(nonce).sample(changes, min(len(changes), 12)):
            found = weighed(altered, RULES[name], outcome)
            assert [finding.severity for finding in found] == ["integrity"], found
            assert altered[found[0].event_index]["kind"] == "drop", found
            count += 1
    assert count > 300


@given(rng=st.randoms(use_true_random=False))
def test_what_leaves_every_amount_right_is_never_about_money(rng: random.Random) -> None:
    """Any field of the game events changed alone is found, and is about money only where the field is an amount or a pay."""
    name, mode = rng.choice(ROUNDS)
    nonce = rng.randrange(20)
    facts = kernel_facts(name, mode, nonce)
    before = copy.deepcopy(facts)
    index, path = alter_one_field(facts, rng)
    if facts == before or facts[index]["kind"] not in GAME_EVENTS:
        return
    found = weighed(facts, RULES[name], outcome_of(name, mode, nonce))
    assert len(found) == 1, (name, mode, nonce, index, path, found)
    if not str(path[0]).endswith(("_minor", "_x100")):
        assert found[0].severity == "integrity", (name, mode, nonce, index, path, found)


def carried(alter: Any, nonce: int) -> Facts | None:
    """Return a bought round altered and added up again to the settlement; None where its total stayed as it was."""
    facts = kernel_facts("installed", "buy", nonce)
    total = facts[-1]["total_win_minor"]
    if not alter(facts, random.Random(nonce)):
        return None
    facts = carry_on(facts)
    return facts if facts[-1]["total_win_minor"] != total else None


def test_a_multiplier_that_was_paid_is_about_money() -> None:
    """A sum of hearts that is wrong and was paid is one finding about money, whatever other value the heart might have had."""
    count = 0
    alterations = [leave_heart_out, *(set_field("multiplier_change", "to_multiplier", lambda n, d=d: n + d) for d in (1, 2, 3))]
    for alter, nonce in itertools.product(alterations, range(12)):
        facts = carried(alter, nonce)
        if facts is not None:
            found = weighed(facts, RULES["installed"], outcome_of("installed", "buy", nonce))
            assert [(finding.code, finding.severity) for finding in found] == [("multiplier_change", "money")], found
            count += 1
    assert count > 20


def test_a_game_that_departs_from_its_rules_keeps_its_severity() -> None:
    """Where the rerun is the record to the byte, the referee's finding stays what it is: the game itself paid wrongly."""
    outcome, facts = outcome_of("installed", "base", 1), kernel_facts("installed", "base", 1)
    index = of_kind(facts, "spin_ended")[0]
    finding = Finding("award", "money", index, 0, "spin 0", "1", "2", "want 1, got 2")
    recorded = [(place, event) for place, event in enumerate(outcome.events, start=1)]
    assert weigh([finding], [], recorded, outcome) == [finding]


def test_a_difference_beside_a_finding_is_told_once() -> None:
    """A first difference at an event that has a finding is not told again; at another event it is."""
    outcome, facts = outcome_of("installed", "base", 1), kernel_facts("installed", "base", 1)
    path = next(path for path in number_paths(facts[1]) if path[0] == "strip_set")
    facts[1][path[0]] = 7
    found = weighed(facts, RULES["installed"], outcome)
    assert [finding.event_index for finding in found] == [1]


def rich(game: str) -> GameRules:
    """Return a game's rules with its features made frequent."""
    rules: Any = installed_rules(game)
    if game == "moon-spell":
        strips = [{"name": "base", "assumption": "ALL-2", "strips": ["MMSRMG", *["MSMRW"] * 4]}]
        return changed_rules(rules, strip_sets=strips, respin_weights={"moon": 9, "blank": 11})
    gold = [{**part.model_dump(), "total": 100, "weights": [40 if weight else 0 for weight in part.weights]} for part in rules.gold]
    sets = [{**part.model_dump(), "strips": ["S" + strip[1:30] + "S" + strip[31:] for strip in part.strips]} for part in rules.strip_sets]
    return changed_rules(rules, gold=gold, strip_sets=sets)


RICH = {game: rich(game) for game in ("starlight-wins", "moon-spell")}


@given(rng=st.randoms(use_true_random=False))
def test_in_the_other_games_a_changed_number_is_one_finding_and_its_severity_is_the_seeds(rng: random.Random) -> None:
    """Any number of a round's game events changed alone is one finding, about money only where it is an amount or a pay."""
    game = rng.choice(sorted(RICH))
    rules = RICH[game]
    bet = 2 * rules.bet.coins
    outcome = game_by(rules).play(round_key(SEED, game, "", rng.randrange(400)), "base", bet, {}, ())
    facts = [json.loads(event.data) for event in outcome.events]
    event = rng.choice(facts)
    before = copy.deepcopy(event)
    name = rng.choice(sorted({path[0] for path in number_paths(event)}))
    path = rng.choice([path for path in number_paths(event) if path[0] == name])
    holder: Any = event
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = rng.choice((holder[path[-1]] + 1, max(holder[path[-1]] - 1, 0), 0, 1, rng.randrange(12)))
    if event == before:
        return
    events = [
        (index, cast(GameEvent, GAME_EVENTS[fact["kind"]].model_validate_json(canonical_json(fact)))) for index, fact in enumerate(facts, 1)
    ]
    walk = walk_round(events, rules, mode="base", bet_minor=bet)
    recorded = [(index, EventBytes(f"{fact['kind']}/1", canonical_json(fact))) for index, fact in enumerate(facts, 1)]
    by_replay = compare_outcome(recorded, outcome, recorded_win_minor=outcome.total_win_minor)
    by_record = [finding for finding in walk.findings if finding.severity != "warning"]
    found = weigh(by_record, by_replay, recorded, outcome)
    assert len(found) == 1, (game, name, found)
    if not str(name).endswith(("_minor", "_x100")):
        assert found[0].severity == "integrity", (game, name, found)


def test_a_stop_that_shows_the_same_board_is_one_finding_of_its_own() -> None:
    """A stop moved to where its strip shows the same window is told at the drop, not at the refill that it no longer explains."""
    rules: Any = RICH["starlight-wins"]
    sets = [{**part.model_dump(), "strips": [strip[:12] + strip[:11] for strip in part.strips]} for part in rules.strip_sets]
    rules = changed_rules(rules, strip_sets=sets)
    count = 0
    for nonce in range(60):
        outcome = game_by(rules).play(round_key(SEED, rules.game, "", nonce), "base", 40, {}, ())
        facts = [json.loads(event.data) for event in outcome.events]
        facts[1]["stops"][0] = (facts[1]["stops"][0] + 12) % len(rules.strip_sets[0].strips[0])
        recorded = [(index, EventBytes(f"{fact['kind']}/1", canonical_json(fact))) for index, fact in enumerate(facts, 1)]
        models = [GAME_EVENTS[each.topic.split("/")[0]].model_validate_json(each.data) for _, each in recorded]
        walk = walk_round(cast(list[tuple[int, GameEvent]], list(enumerate(models, 1))), rules, mode="base", bet_minor=40)
        by_record = [finding for finding in walk.findings if finding.severity != "warning"]
        by_replay = compare_outcome(recorded, outcome, recorded_win_minor=outcome.total_win_minor)
        found = weigh(by_record, by_replay, recorded, outcome)
        assert [(finding.event_index, finding.severity) for finding in found] == [(2, "integrity")], (nonce, found)
        count += any(finding.code == "refill" for finding in by_record)
    assert count > 2
