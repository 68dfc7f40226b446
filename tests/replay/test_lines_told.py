"""How faults of win lines and Moons are told: one cause once, by the event where it arose, with what was wanted and got."""

from collections.abc import Callable
from typing import Any

import pytest

from engines.games.moon_spell.rules import Rules
from replay.verdict import Finding
from tests.moon_spell_rounds import FULL_BOARDS, MANY_MOONS, MoonSpellRound, moon_rules
from tests.replay.test_lines_faults import findings_of
from tests.round_builder import round_facts
from tests.rules_changes import changed_rules

CAPPED = moon_rules(stacks=3, moon=1, blank=4, cap=5224)
RUNGS_CAPPED = moon_rules(stacks=4, height=4, moon=1, blank=2, cap=6000)
FEW_MOONS = changed_rules(moon_rules(moon=1, blank=9), moon_counts={"cash": 1, "trigger": 2})
CASH_CAPPED = moon_rules(stacks=3, moon=1, blank=10, cap=40)


def played(rules: Rules, seed: int, **hooks: Any) -> MoonSpellRound:
    faulty = MoonSpellRound(rules, seed=seed, moons=(5, 6, 7, 10)[seed % 4])
    faulty.hooks = hooks
    return faulty.play()


def found_in(faulty: MoonSpellRound) -> list[Finding]:
    return findings_of(round_facts(faulty, balance_before=10**9), faulty.rules)


def spin_of_last_drop(faulty: MoonSpellRound) -> int:
    return sum(event.kind == "drop" for event in faulty.events) - 1


def redrawn(board: Any, faulty: MoonSpellRound) -> Any:
    """In the first respin one Moon of the first board has another value, which the game goes on with."""
    symbols, values = board
    if faulty.spin == 1:
        cell = next(cell for cell, value in enumerate(faulty.events[1].values) if value)  # type: ignore[attr-defined]
        values[cell] = 500 if values[cell] != 500 else 300
    return symbols, values


def test_a_moon_drawn_again_in_the_first_respin_is_its_value() -> None:
    """The drop that shows it is named with both values, whatever the drops after it show."""
    for seed in range(20):
        found = found_in(played(MANY_MOONS, seed, board=redrawn))
        assert [(each.code, each.event_index > 0, each.spin_index) for each in found] == [("moon_value", True, 1)], (seed, found)


def always_redrawn(board: Any, faulty: MoonSpellRound) -> Any:
    """In each respin every Moon that was held has another value."""
    symbols, values = board
    before = [event for event in faulty.events if event.kind == "drop"]
    held = before[-1].values if before else ()  # type: ignore[attr-defined]
    return symbols, [faulty.random.choice([50, 50, 100]) if cell < len(held) and held[cell] else v for cell, v in enumerate(values)]


def test_moons_drawn_again_in_every_respin_are_their_values() -> None:
    """Each respin's drop is one finding at most, about values, and never a missing drop where one stands."""
    count = 0
    for seed in range(12):
        faulty = MoonSpellRound(FEW_MOONS, seed=seed, moons=2)
        faulty.hooks = {"board": always_redrawn}
        faulty.play()
        found = found_in(faulty)
        assert len({each.event_index for each in found}) == len(found) <= spin_of_last_drop(faulty), (seed, found)
        assert {each.code for each in found} <= {"moon_value"}, (seed, found)
        count += bool(found)
    assert count > 6


def without_reset_at_the_end(right: bool, faulty: MoonSpellRound) -> bool:
    return right and faulty.left > 0


def test_a_reset_missing_in_the_last_respin_is_its_trigger() -> None:
    """The respins owed are told, by the trigger that is missing, and are money withheld."""
    count = 0
    for seed in range(60):
        faulty = played(MANY_MOONS, seed, resets=without_reset_at_the_end)
        if faulty.events != played(MANY_MOONS, seed).events:
            found = found_in(faulty)
            assert [(each.code, each.severity, each.spin_index) for each in found] == [("trigger_missing", "money", faulty.spin)], found
            assert "3 respins" in found[0].want
            count += 1
    assert count > 10


def test_respins_withheld_where_the_cap_is_reached_are_not_about_money() -> None:
    """No respin could pay where the prizes reach the cap without it."""
    severities = []
    for seed in range(60):
        faulty = played(CASH_CAPPED, seed, resets=without_reset_at_the_end)
        if faulty.spin and faulty.events != played(CASH_CAPPED, seed).events:
            found = found_in(faulty)
            assert [each.code for each in found] == ["trigger_missing"], found
            assert found[0].severity == ("integrity" if faulty.ended == "capped" else "money")
            severities.append(found[0].severity)
    assert set(severities) == {"money", "integrity"}


def test_a_bonus_that_ends_early_says_how_many_respins_it_owes() -> None:
    """Never none: those left, or all of them where a Moon landed."""
    count = 0
    for seed in range(60):
        faulty = played(MANY_MOONS, seed, resets=lambda right, faulty: False, left_after=lambda left, faulty: 0)
        new = faulty.moons - sum(symbol == 9 for symbol in faulty.events[1].symbols)  # type: ignore[attr-defined]
        if faulty.spin == 1 and faulty.moons < 15:
            found = found_in(faulty)
            want = "3 respins more" if new else "2 respins more"
            assert [(each.code, each.severity, each.want) for each in found] == [("bonus_early", "money", want)], found
            count += 1
    assert count > 10


def without_values(board: Any, faulty: MoonSpellRound) -> Any:
    """Every Moon that lands in a respin has no value."""
    symbols, values = board
    first = next((event.values for event in faulty.events if event.kind == "drop"), values)  # type: ignore[attr-defined]
    return symbols, list(first)


def test_new_moons_without_a_value_are_about_money() -> None:
    """Whatever values they should have, the cash that was paid is too small."""
    count = 0
    for seed in range(30):
        faulty = played(MANY_MOONS, seed, board=without_values)
        if faulty.events == played(MANY_MOONS, seed).events:
            continue
        found = found_in(faulty)
        assert {(each.code, each.severity) for each in found} == {("moon_value", "money")}, (seed, found)
        assert len({each.event_index for each in found}) == len(found)
        count += 1
        if count == 8:
            break
    assert count == 8


@pytest.mark.parametrize(
    ("value", "severity", "codes"), [(0, "money", ["moon_value"]), (1, "money", ["moon_value"]), (75, "money", ["moon_value"])]
)
@pytest.mark.parametrize("asked", [3, 4])
def test_moons_of_the_first_board_outside_the_table_that_were_paid(asked: int, value: int, severity: str, codes: list[str]) -> None:
    """A sum that no values of the table make is money, and told once, at the board it comes from; a prize of none as well."""

    def spoilt(board: Any, faulty: MoonSpellRound) -> Any:
        return board[0], [value if each else 0 for each in board[1]]

    count = 0
    for seed in range(200):
        faulty = MoonSpellRound(MANY_MOONS, seed=seed, moons=asked)
        faulty.hooks = {"board": spoilt}
        faulty.play()
        if faulty.moons == asked and not faulty.spin and asked * value not in (300, 450):
            found = found_in(faulty)
            assert [each.code for each in found] == codes, found
            assert (found[0].severity, found[0].event_index) == (severity, 2)
            count += 1
    assert count > 3 or asked * value in (300, 450)


def test_a_value_outside_the_table_that_the_sum_does_not_have_is_not_about_money() -> None:
    """The record alone is wrong where the cash is one that the table's values make."""
    count = 0
    for seed in range(60):
        faulty = played(MANY_MOONS, seed)
        facts = round_facts(faulty, balance_before=10**9)
        drops = [fact for fact in facts if fact["kind"] == "drop"][-2:]
        fresh = [cell for cell in range(15) if drops[-1]["values"][cell] and not drops[0]["values"][cell]]
        if fresh and faulty.spin:
            drops[-1]["values"][fresh[0]] = 0
            assert [(each.code, each.severity) for each in findings_of(facts, MANY_MOONS)] == [("moon_value", "integrity")]
            count += 1
    assert count > 3


def test_a_wrong_sum_beside_a_value_outside_the_table_is_another_finding() -> None:
    """What the board does not explain is told of the prize."""
    count = 0
    for seed in range(30):
        faulty = played(MANY_MOONS, seed, board=without_values, moon_cash=lambda pay, faulty: pay - 7)
        if faulty.events[-3].kind == "prize" and faulty.moons > sum(symbol == 9 for symbol in faulty.events[1].symbols):  # type: ignore[attr-defined]
            codes = [each.code for each in found_in(faulty)]
            assert codes[-1] == "prize_pay", codes
            assert set(codes[:-1]) == {"moon_value"}, codes
            count += 1
            if count == 4:
                break
    assert count == 4


def every_rung(pays: list[int], faulty: MoonSpellRound) -> list[int]:
    ladder = faulty.rules.ladder
    return [pay for count, pay in zip(ladder.counts, ladder.prizes_x100, strict=True) if count <= faulty.moons]


def rungs_of(faulty: MoonSpellRound) -> int:
    return sum(getattr(event, "which", "") == "ladder" for event in faulty.events)


@pytest.mark.parametrize("rules", [MANY_MOONS, CAPPED, FULL_BOARDS, RUNGS_CAPPED], ids=["many", "capped", "full", "rungs capped"])
def test_every_rung_paid_is_one_finding(rules: Rules) -> None:
    """The first rung too many is named, with the rung that is owed; only the reading that pays every rung would have it so."""
    count = longest = 0
    for seed in range(200):
        faulty = played(rules, seed, rungs=every_rung)
        right = played(rules, seed)
        if rungs_of(faulty) < 2 or faulty.events == right.events:
            continue
        found = found_in(faulty)
        severity = "integrity" if faulty.total == right.total else "money"
        assert [(each.code, each.severity) for each in found] == [("prize_invented", severity)], (seed, found)
        assert "MSP-3 = 1" in found[0].message
        assert "MSP-3 = 2" not in found[0].message
        count += 1
        longest = max(longest, rungs_of(faulty))
    assert (count > 3, longest > 3) == (True, True), (count, longest)


@pytest.mark.parametrize("rule", [0, 1])
def test_a_cap_ignored_beside_every_rung_is_a_second_finding(rule: int) -> None:
    """The cap has its own finding where it is another fault, and nothing else has one."""
    hooks: dict[str, Callable[[Any, MoonSpellRound], Any]] = {"rungs": every_rung, "is_capped": lambda right, faulty: False}
    rules = (CAPPED, RUNGS_CAPPED)[rule]
    count = 0
    for seed in range(200):
        faulty = played(rules, seed, **hooks)
        if rungs_of(faulty) > 1 and faulty.total > faulty.cap_minor:
            codes = [each.code for each in found_in(faulty)]
            assert sorted(codes) == ["cap_missing", "prize_invented"], (seed, codes)
            count += 1
            if count == 2:
                break
    assert count == 2


def test_the_last_rung_alone_is_one_finding_where_each_is_owed() -> None:
    """Under the reading that pays every rung a game that pays one withholds the others."""
    rules = MANY_MOONS.with_reading("MSP-3", 1)
    count = 0
    for seed in range(60):
        faulty = played(rules, seed, rungs=lambda pays, faulty: pays[-1:])
        if faulty.events != played(rules, seed).events:
            found = found_in(faulty)
            assert [(each.code, each.severity) for each in found] == [("prize_missing", "money")], (seed, found)
            assert "vanishes under reading MSP-3 = 0" in found[0].message
            count += 1
    assert count > 3


def test_a_counter_told_one_too_high_withholds_nothing() -> None:
    """Each respin's start is a finding; that the bonus ends where it should is none, and no money is withheld."""
    count = 0
    for seed in range(20):
        faulty = played(MANY_MOONS, seed, shown_left=lambda left, faulty: left + 1 if faulty.spin else left)
        if faulty.spin and faulty.moons < 15:
            found = found_in(faulty)
            assert {each.severity for each in found} == {"integrity"}, (seed, found)
            assert not {each.code for each in found} - {"spins_left", "spins_awarded"}, (seed, found)
            assert len(found) <= faulty.spin
            count += 1
            if count == 6:
                break
    assert count == 6
