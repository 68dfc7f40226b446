"""Each check of the referee that no listed fault reaches, by one alteration of a kernel-made round and the code it must have."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from replay.check import check_rounds
from replay.referee.falling import board_after, refill, removed_counts
from replay.referee.scatter_pays import board_wins
from replay.referee.tables import tables_of
from tests.replay.alterations import Facts, of_kind, spin_ranges
from tests.replay.kernel_play import assert_one, check_one, findings_of, kernel_facts
from tests.round_builder import INSTALLED, export_lines, redigest

TABLES = tables_of(INSTALLED)
HEART = TABLES.heart


def losing_spins(facts: Facts) -> list[tuple[int, int]]:
    """Return where the free spins of one drop and no hearts begin and end."""
    found = []
    for first, after in spin_ranges(facts)[1:]:
        kinds = [fact["kind"] for fact in facts[first:after]]
        if kinds[:3] == ["spin_started", "drop", "spin_ended"] and HEART not in facts[first + 1]["symbols"]:
            found.append((first, first + 3))
    return found


def change_first_board(facts: Facts) -> bool:
    drop = facts[2]
    drop["symbols"][0] = (drop["symbols"][0] + 4) % 9
    return not any(drop["symbols"][:5] == list(shown) for shown in TABLES.windows[facts[1]["strip_set"]][0])


def drop_again(facts: Facts) -> bool:
    first, _ = losing_spins(facts)[0]
    facts.insert(first + 2, {**copy.deepcopy(facts[first + 1]), "drop_index": 1, "stops": []})
    return True


def tumble_for_nothing(facts: Facts) -> bool:
    first, _ = losing_spins(facts)[0]
    drop = facts[first + 1]
    new, _ = refill(TABLES.strips[TABLES.free_set], drop["stops"], removed_counts([2], TABLES.reel_rows))
    board = board_after(drop["symbols"], [2], new, TABLES.reel_rows)
    if HEART in board or board_wins(board, TABLES.counts, TABLES.pays) or board.count(TABLES.scatter) > 2:
        return False
    tumble = {"kind": "tumble", "v": 1, "removed_cells": [2], "turned_cells": [], "turned_symbols": [], "new_symbols": list(map(list, new))}
    after = {**drop, "drop_index": 1, "symbols": list(board), "stops": []}
    facts[first + 2 : first + 2] = [tumble, after]
    return True


def value_not_in_the_table(facts: Facts) -> bool:
    for index in of_kind(facts, "drop"):
        if HEART in facts[index]["symbols"]:
            facts[index]["values"][facts[index]["symbols"].index(HEART)] = 7
            return True
    return False


def value_that_changes(facts: Facts) -> bool:
    """A heart that has been seen has another value in the next drop."""
    for index in of_kind(facts, "drop"):
        before = next(facts[at] for at in range(index - 1, -1, -1) if facts[at]["kind"] in ("drop", "round_opened"))
        if facts[index]["drop_index"] and any(facts[index]["values"]) and any(before["values"]):
            cell = max(cell for cell, value in enumerate(facts[index]["values"]) if value)
            facts[index]["values"][cell] = 500
            return facts[index]["symbols"].count(HEART) == before["symbols"].count(HEART)
    return False


def pay_scatters_for_nothing(facts: Facts) -> bool:
    first, _ = losing_spins(facts)[0]
    facts.insert(first + 2, {"kind": "prize", "v": 1, "which": "scatter_pay", "pay_x100": 300, "multiplier": 1, "prize_minor": 600})
    return True


def play_one_spin_more(facts: Facts) -> bool:
    end = of_kind(facts, "feature_ended")[0]
    first, after = losing_spins(facts)[0]
    spin = copy.deepcopy(facts[first:after])
    gathered = [fact["to_multiplier"] for fact in facts if fact["kind"] == "multiplier_change" and fact["cause"] == "total_hearts"]
    number = sum(fact["kind"] == "spin_started" for fact in facts)
    spin[0] |= {"spin_index": number, "spins_left": 0, "total_multiplier": gathered[-1] if gathered else 0}
    spin[2]["total_minor"] = facts[end - 1]["total_minor"]
    facts[end:end] = spin
    return True


def move_a_cell(facts: Facts) -> bool:
    win = facts[of_kind(facts, "win")[0]]
    win["cells"] = sorted([*win["cells"][:-1], next(cell for cell in range(30) if cell not in win["cells"])])
    return True


def change_order(facts: Facts) -> bool:
    for index in of_kind(facts, "win"):
        if facts[index + 1]["kind"] == "win":
            facts[index], facts[index + 1] = facts[index + 1], facts[index]
            return True
    return False


def other_symbol(facts: Facts) -> bool:
    win = facts[of_kind(facts, "win")[0]]
    win["symbol"] = (win["symbol"] + 1) % 9
    return True


def end_early(facts: Facts) -> bool:
    end, start = of_kind(facts, "feature_ended")[0], of_kind(facts, "spin_started")[-1]
    facts.insert(start, facts.pop(end))
    return True


def end_what_was_not(facts: Facts) -> bool:
    facts.insert(-1, {"kind": "feature_ended", "v": 1, "feature": "free_spins", "spins_played": 0, "total_minor": 0})
    return True


def lose_last_spin(facts: Facts) -> bool:
    first, after = spin_ranges(facts)[-1]
    end = of_kind(facts, "feature_ended")[0]
    is_plain = facts[first + 2]["kind"] == "spin_ended"
    del facts[first : min(after, end)]
    return is_plain


def exchange(*kinds: str) -> Callable[[Facts], bool]:
    """Return an alteration of the first events of such kinds: the second and the third of them change places."""

    def alter(facts: Facts) -> bool:
        for index in range(len(facts) - 2):
            if tuple(fact["kind"] for fact in facts[index : index + 3]) == kinds:
                facts[index + 1], facts[index + 2] = facts[index + 2], facts[index + 1]
                return True
        return False

    return alter


def exchange_stops(facts: Facts) -> bool:
    """The stops of two reels change places, in a spin that tumbles."""
    for index in of_kind(facts, "drop"):
        stops = facts[index]["stops"]
        if stops and facts[index + 1]["kind"] == "win" and stops[0] != stops[5]:
            stops[0], stops[5] = stops[5], stops[0]
            return True
    return False


def tell_stops(facts: Facts) -> bool:
    facts[of_kind(facts, "tumble")[0] + 1]["stops"] = [1] * 6
    return True


def hang_over(name: str, value: Any, kind: str) -> Callable[[Facts], bool]:
    """Return an alteration of one field of the last event of a kind."""

    def alter(facts: Facts) -> bool:
        facts[of_kind(facts, kind)[-1]][name] = value
        return True

    return alter


# What is done, how the round is played, and the code and severity it must be found as.
FAULTS: dict[str, tuple[Callable[[Facts], bool], str, str, str]] = {
    "a board that its stops do not show": (change_first_board, "base", "board_stops", "integrity"),
    "a drop where nothing won": (drop_again, "buy", "drop_invented", "integrity"),
    "a tumble where nothing won": (tumble_for_nothing, "buy", "tumble_invented", "integrity"),
    "a heart of no value of the table": (value_not_in_the_table, "buy", "heart_value", "integrity"),
    "a heart whose value changes": (value_that_changes, "buy", "heart_value", "integrity"),
    "a scatter pay for nothing": (pay_scatters_for_nothing, "buy", "prize_invented", "integrity"),
    "a spin that is not owed": (play_one_spin_more, "buy", "spin_unowed", "integrity"),
    "cells of a win": (move_a_cell, "buy", "win_cells", "integrity"),
    "wins out of order": (change_order, "buy", "win_order", "integrity"),
    "the symbol of a win": (other_symbol, "buy", "win_symbol", "integrity"),
    "an end before the last spin": (end_early, "buy", "feature_ended_early", "integrity"),
    "an end of what never was": (end_what_was_not, "base", "feature_ended_invented", "integrity"),
    "the last spin lost": (lose_last_spin, "buy", "spins_unplayed", "money"),
    "a win before its drop": (exchange("tumble", "drop", "win"), "buy", "event_order", "integrity"),
    "a tumble before its win": (exchange("drop", "win", "tumble"), "buy", "event_order", "integrity"),
    "the end of a spin before its drop": (exchange("spin_started", "drop", "spin_ended"), "base", "event_order", "integrity"),
    "two stops exchanged": (exchange_stops, "buy", "stops", "integrity"),
    "a meter at the end of a spin": (hang_over("meter", 2, "spin_ended"), "base", "meter", "integrity"),
    "stops after a tumble": (tell_stops, "buy", "stops", "integrity"),
    "symbols that a tumble turned": (hang_over("turned_symbols", [1], "tumble"), "buy", "turned", "integrity"),
    "spins left at spin 0": (lambda facts: facts[1].update(spins_left=3) is None, "base", "spins_left", "integrity"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_finds_its_fault(name: str) -> None:
    """One alteration is one finding with the code of its check, on several rounds."""
    alter, mode, code, severity = FAULTS[name]
    count = 0
    for nonce in range(1, 300):
        facts = kernel_facts("installed", mode, nonce)
        if mode == "buy" and not (losing_spins(facts) and of_kind(facts, "tumble")):
            continue
        if not alter(facts):
            continue
        assert_one(findings_of(facts, INSTALLED), {code}, {severity, "money"} if name == "the last spin lost" else {severity})
        count += 1
        if count == 4:
            break
    assert count >= 2


def test_a_settlement_stands_once_and_last() -> None:
    """A second settlement, and one before the last game event, are found by their place."""
    facts = kernel_facts("installed", "base", 3)
    twice = [*facts, copy.deepcopy(facts[-1])]
    found = check_rounds(export_lines([twice]), lambda *_: INSTALLED).rounds[0].findings
    assert [(finding.code, finding.severity) for finding in found] == [("round_settled", "integrity")]
    early = redigest(facts)
    early[-2], early[-1] = early[-1], early[-2]
    found = check_rounds(export_lines([early]), lambda *_: INSTALLED).rounds[0].findings
    assert [finding.code for finding in found] == ["round_settled"], found


def test_an_opening_stands_once_and_first() -> None:
    """A second opening is found by its place."""
    facts = kernel_facts("installed", "base", 3)
    twice = [facts[0], copy.deepcopy(facts[0]), *facts[1:]]
    assert [finding.code for finding in check_one(twice, INSTALLED).findings] == ["round_opened"]


def test_a_win_written_behind_the_end_of_its_spin_is_one_finding() -> None:
    """The last win of a round that a tumble limit ended, exchanged with the end of its spin, is out of order and not missing."""
    from tests.replay.kernel_play import RULES as RULES_BY_NAME
    from tests.replay.kernel_play import findings_of as found_in
    from tests.replay.kernel_play import kernel_facts

    seen = 0
    for number in range(25):
        facts = [dict(fact) for fact in kernel_facts("low limits", "base", number)]
        for index in range(len(facts) - 1):
            if facts[index]["kind"] == "win" and facts[index + 1]["kind"] == "spin_ended":
                seen += 1
                facts[index : index + 2] = facts[index + 1], facts[index]
                assert [finding.code for finding in found_in(facts, RULES_BY_NAME["low limits"])] == ["event_order"]
                break
    assert seen


def test_an_end_and_the_next_start_that_are_missing_are_two_findings() -> None:
    """Where a spin's end and the start behind it are both gone, nothing else is said, whatever stood before them."""
    seen: set[str] = set()
    for nonce in range(1, 6):
        facts = kernel_facts("installed", "buy", nonce)
        for end in of_kind(facts, "spin_ended"):
            if facts[end + 1]["kind"] == "spin_started" and facts[end - 1]["kind"] not in seen:
                seen.add(facts[end - 1]["kind"])
                found = findings_of([*facts[:end], *facts[end + 2 :]], INSTALLED)
                assert [finding.code for finding in found] == ["spin_ended_missing", "spin_started_missing"], found
    assert seen == {"drop", "multiplier_change", "feature_trigger"}
