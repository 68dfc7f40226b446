"""Moon Princess Stargazing where it is rare: Resonance, free spins, clear grid, constellation, limits, cap, each reading."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from engines.event_buffer import HEAD_METER
from engines.game import Outcome
from engines.rules import GameRules
from tests.rules_changes import changed_rules
from tests.stargazing_play import BET, amount_of, events_of, game_by, key_of, play, play_board, spins_of
from tests.stargazing_rules import CAPPED, CLEARING, CONSTELLATIONS, FREE, HIGH, INSTALLED, LIMITED, RESONANT, UNLIT

Spin = list[dict[str, Any]]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def prizes_of(spin: Spin, which: str) -> list[dict[str, Any]]:
    return [prize for prize in of_kind(spin, "prize") if prize["which"] == which]


def multiplier_after(spin: Spin) -> int:
    """Return the multiplier that a spin ends with."""
    changes = of_kind(spin, "multiplier_change")
    return int(changes[-1]["to_multiplier"] if changes else spin[0]["multiplier"])


def is_empty(spin: Spin) -> bool:
    return set(of_kind(spin, "drop")[-1]["symbols"]) == {9}


def rounds(rules: GameRules, count: int, choice: int = 0) -> list[Outcome]:
    return [play(rules, nonce, nonce % 3, (choice,)) for nonce in range(count)]


def spins(rules: GameRules, count: int, part: str, choice: int = 0) -> list[Spin]:
    """Return the spins of one part of the first rounds by these rules."""
    return [spin for outcome in rounds(rules, count, choice) for spin in spins_of(outcome) if spin[0]["part"] == part]


def check_power(spin: Spin, at: int) -> None:
    """Check that a power stands on a board that did not win: right after a drop, or a power that led to nothing."""
    assert spin[at - 1]["kind"] in ("drop", "power")


def test_a_resonance_plays_its_powers_in_order() -> None:
    """Multiplier 1, an empty meter, powers in order on boards at rest, all three unless the grid is cleared; a full meter gives another."""
    cleared = again = 0
    for outcome in rounds(RESONANT, 150):
        events, played = events_of(outcome), spins_of(outcome)
        resonances = [spin for spin in played if spin[0]["part"] == "resonance"]
        for number, spin in enumerate(resonances):
            assert (spin[0]["multiplier"], spin[0]["meter"], spin[0]["spins_left"]) == (1, 0, 0)
            powers = [event["princess"] for event in spin if event["kind"] == "power"]
            for at, event in enumerate(spin):
                if event["kind"] == "power":
                    check_power(spin, at)
            assert powers == list(range(3)) or (is_empty(spin) and powers == list(range(len(powers))))
            triggers = [(each["feature"], each["count"], each["spins_awarded"]) for each in of_kind(spin, "feature_trigger")]
            is_last = number == len(resonances) - 1
            wanted = [("free_spins", 25, 0)] if is_empty(spin) else [] if is_last else [("resonance", 3, 1)]
            assert triggers == wanted
            assert spin[-1]["meter"] < 3
            assert not prizes_of(spin, "clear_grid")
            cleared, again = cleared + is_empty(spin), again + (number > 0)
        ended = of_kind(events, "feature_ended")
        assert [end["spins_played"] for end in ended if end["feature"] == "resonance"] == ([len(resonances)] if resonances else [])
        assert bool(of_kind(events, "choice_offered")) == bool(resonances and is_empty(resonances[-1]))
    assert cleared > 5
    assert again > 5


@pytest.mark.parametrize("princess", range(3))
def test_free_spins_are_those_of_the_chosen_princess(princess: int) -> None:
    """The chosen princess acts once in a spin whose drop does not win, the multiplier goes on, a full meter adds three."""
    found = acted = added = 0
    for outcome in rounds(RESONANT, 150, princess):
        played = spins_of(outcome)
        free = [spin for spin in played if spin[0]["part"] == "free"]
        if not free:
            continue
        found += 1
        left, multiplier, meter = RESONANT.free_spins[princess].spins, multiplier_after(played[played.index(free[0]) - 1]), 0
        for spin in free:
            left -= 1
            start = spin[0]
            assert (start["spins_left"], start["multiplier"], start["meter"]) == (left, multiplier, meter)
            powers = [(at, event) for at, event in enumerate(spin) if event["kind"] == "power"]
            wins_at_once = spin[2]["kind"] == "win"
            assert [(at, event["princess"]) for at, event in powers] == ([] if wins_at_once else [(2, princess)])
            acted += len(powers)
            for trigger in of_kind(spin, "feature_trigger"):
                left += trigger["spins_awarded"]
                assert (trigger["feature"], trigger["count"], trigger["spins_left"]) == ("free_spins", 3, left)
                assert spin[-1]["meter"] == 0
                added += 1
            multiplier, meter = multiplier_after(spin), spin[-1]["meter"]
        assert left == 0
    assert min(found, acted, added) > 5


def test_a_cleared_grid_pays_but_in_a_resonance() -> None:
    """A grid cleared in base and free spins pays 20 bets at the multiplier in force, after the last board; and ends the spin."""
    for part in ("base", "free", "resonance"):
        cleared = [spin for spin in spins(CLEARING, 120, part) if is_empty(spin)]
        assert len(cleared) > 5
        for spin in cleared:
            prizes = prizes_of(spin, "clear_grid")
            if part == "resonance":
                assert prizes == []
                continue
            multiplier = multiplier_after(spin)
            assert [(each["multiplier"], each["prize_minor"]) for each in prizes] == [(multiplier, 20 * BET * multiplier)]
            assert [event["kind"] for event in spin[spin.index(prizes[0]) + 1 :]] in (["spin_ended"], ["feature_trigger", "spin_ended"])
    assert any(of_kind(spin, "feature_trigger") for spin in spins(CLEARING, 120, "base") if is_empty(spin))


def test_wilds_left_alone_go_unpaid() -> None:
    """The wilds of a board without a paying symbol leave by a tumble without a win, then the board is empty."""
    seen = 0
    for spin in spins(CLEARING, 120, "free"):
        drops = of_kind(spin, "drop")
        if is_empty(spin) and len(drops) > 1 and 7 in drops[-2]["symbols"] and min(drops[-2]["symbols"]) == 7:
            at = spin.index(drops[-1])
            assert spin[at - 1]["kind"] == "tumble"
            assert spin[at - 2]["kind"] in ("drop", "power")
            assert spin[at - 1]["turned_cells"] == []
            assert spin[at - 1]["removed_cells"] == [cell for cell, symbol in enumerate(drops[-2]["symbols"]) if symbol == 7]
            seen += 1
    assert seen > 3


@pytest.mark.parametrize("part", ["base", "resonance", "free"])
def test_the_constellation_needs_every_highlighted_cell(part: str) -> None:
    """It is paid once, in the step in which the last highlighted cell is won on, at the multiplier after that step's rise."""
    seen = 0
    for spin in spins(CONSTELLATIONS, 60, part):
        lit, prizes = set(spin[0]["highlighted_cells"]), prizes_of(spin, "constellation")
        wins = of_kind(spin, "win")
        won_on = {cell for win in wins for cell in win["cells"]} & lit
        assert len(prizes) == (won_on == lit)
        if prizes:
            at = spin.index(prizes[0])
            before = {cell for event in spin[:at] if event["kind"] == "win" for cell in event["cells"]}
            assert lit <= before
            assert prizes[0]["multiplier"] == multiplier_after(spin[:at])
            assert prizes[0]["prize_minor"] == 5 * BET * prizes[0]["multiplier"]
            seen += 1
    assert seen > 5


def test_free_spins_end_at_the_limit() -> None:
    """Fifty spins in all, those at the start included; the last full meter adds what is left, and then nothing."""
    assert FREE.free_spins_limit.spins_max == 50
    found = [outcome for outcome in rounds(FREE, 25, 1) if of_kind(events_of(outcome), "choice_offered")]
    assert len(found) > 5
    awards = set()
    for outcome in found:
        events = events_of(outcome)
        assert of_kind(events, "feature_ended")[-1]["spins_played"] == 50
        given = [each["spins_awarded"] for each in of_kind(events, "feature_trigger") if each["feature"] == "free_spins"][1:]
        assert sum(given) == 50 - 4
        awards |= set(given)
    assert awards == {1, 3}


def test_the_multiplier_stops_at_a_hundred() -> None:
    """It climbs to 100 in free spins, is carried to the end, and never passes it."""
    tops = set()
    for outcome in rounds(HIGH, 6):
        changes = of_kind(events_of(outcome), "multiplier_change")
        tops.add(max((change["to_multiplier"] for change in changes), default=1))
        assert all(change["from_multiplier"] < change["to_multiplier"] <= 100 for change in changes)
    assert max(tops) == 100


def test_the_cap_ends_the_round() -> None:
    """A win or prize that reaches the cap is cut; what would follow is not written, and a trigger not yet taken is forfeited."""
    cut_after, parts = set(), set()
    for rules in (CAPPED, changed_rules(CLEARING, cap={"multiple": 20}), changed_rules(CONSTELLATIONS, cap={"multiple": 5})):
        for outcome, free in zip(rounds(rules, 80), rounds(changed_rules(rules, cap={"multiple": 1_000_000}), 80), strict=True):
            assert outcome.total_win_minor == min(free.total_win_minor, rules.cap.multiple * BET)
            if outcome.ended != "capped":
                continue
            events = events_of(outcome)
            kinds = [event["kind"] for event in events]
            at = kinds.index("cap_hit")
            cut_after.add(events[at - 1]["kind"] + events[at - 1].get("which", ""))
            part = of_kind(events, "spin_started")[-1]["part"]
            parts.add(part)
            assert kinds[at + 1 :] == ["spin_ended"] + ["feature_ended"] * (part != "base")
            assert events[at + 1]["meter"] < 3
            assert part == "base" or outcome.state_out == free.state_out
    assert cut_after == {"win", "prizeclear_grid", "prizeconstellation"}
    assert parts == {"base", "resonance", "free"}


def test_the_resonance_beyond_the_limit_is_not_played() -> None:
    """The one more ends the round as settled by a limit, all wins paid, without a trigger; the installed limit is 20."""
    assert INSTALLED.resonance_limit.resonances == 20
    limited = [nonce for nonce in range(200) if play(LIMITED, nonce, nonce % 3).ended == "limit"]
    assert len(limited) > 2
    for nonce in limited:
        events = events_of(play(LIMITED, nonce, nonce % 3))
        whole = events_of(play(RESONANT, nonce, nonce % 3))
        assert [event["kind"] for event in events[-2:]] == ["spin_ended", "feature_ended"]
        assert events[-1]["spins_played"] == 2
        # Without the limit the same spin would have been followed by its trigger.
        at = len(events) - 2
        assert whole[at]["kind"] == "feature_trigger"
        assert events[:at] == whole[:at]


def test_a_round_waits_for_a_missing_choice() -> None:
    """Without a choice the round stops after the offer; with it the same bytes come first, whatever is chosen."""
    waiting = 0
    for nonce in range(120):
        outcome = play(RESONANT, nonce, 2, ())
        whole = [play(RESONANT, nonce, 2, (choice,)) for choice in range(3)]
        assert all(each.events[: len(outcome.events)] == outcome.events for each in whole)
        if outcome.wants_choice:
            waiting += 1
            assert outcome.events[-1].data == b'{"choices":[0,1,2],"kind":"choice_offered","v":1}'
            assert len({each.events[-1] for each in whole}) > 1
        else:
            assert whole[0] == whole[1] == whole[2] == outcome
    assert waiting > 3


COSTLY = changed_rules(CAPPED, modes=[{**INSTALLED.modes[0].model_dump(), "cost_x100": 200}])
READINGS: list[tuple[str, int, GameRules, Callable[[int], bool]]] = [
    ("ALL-1", 1, COSTLY, lambda change: change > 0),
    ("ALL-1", 2, CAPPED, lambda change: change > 0),
    ("MPS-3", 1, UNLIT, lambda change: change != 0),
    ("MPS-4", 1, INSTALLED, lambda change: change > 0),
    ("MPS-5", 1, INSTALLED, lambda change: change != 0),
    ("MPS-9", 1, RESONANT, lambda change: change != 0),
    ("MPS-11", 1, RESONANT, lambda change: change < 0),
]


@pytest.mark.parametrize(("name", "value", "rules", "is_wanted"), READINGS, ids=lambda part: part if isinstance(part, str) else "")
def test_each_reading_changes_an_amount(name: str, value: int, rules: GameRules, is_wanted: Callable[[int], bool]) -> None:
    """Every other reading pays some round otherwise than the decided one, in the direction that it must."""
    other = rules.with_reading(name, value)
    changes = {amount_of(other, nonce, princess=nonce % 3) - amount_of(rules, nonce, princess=nonce % 3) for nonce in range(150)}
    assert changes - {0}
    assert all(is_wanted(change) for change in changes - {0})


def test_every_reading_is_among_those() -> None:
    """No other reading is left out."""
    assert {(name, value) for name, value, _ in INSTALLED.other_readings()} == {(name, value) for name, value, *_ in READINGS}


def test_the_first_princess_begins_every_session() -> None:
    """Under the other reading of MPS-9 the state in changes nothing, and with Star active it is the decided one."""
    other = RESONANT.with_reading("MPS-9", 1)
    for nonce in range(60):
        assert play(other, nonce, 0) == play(other, nonce, 1) == play(RESONANT, nonce, 2)
    assert any(play(RESONANT, nonce, 0) != play(RESONANT, nonce, 2) for nonce in range(60))


def test_a_mixed_run_pays_the_runs_inside_it() -> None:
    """Under the other reading of MPS-3 a mixed win is of the same cells and length; it pays its equal runs, or nothing."""
    pays = set()
    for nonce in range(80):
        one, other = (events_of(play(rules, nonce)) for rules in (UNLIT, UNLIT.with_reading("MPS-3", 1)))
        for own, read in zip(of_kind(one, "win"), of_kind(other, "win"), strict=True):
            assert {**read, "pay_x100": 0, "win_minor": 0} == {**own, "pay_x100": 0, "win_minor": 0}
            if own["symbol"] == 8:
                pays.add((own["count"], own["pay_x100"], read["pay_x100"]))
            else:
                assert own == read
    assert {(3, 20, 0), (4, 60, 0), (4, 60, 30), (5, 200, 0), (5, 200, 60)} <= pays
    assert {count: pay for count, pay, _ in pays} == {3: 20, 4: 60, 5: 200}


@pytest.mark.parametrize(
    ("row", "pay", "read"),
    [("AAANS", 200, 30), ("AAWNN", 200, 60), ("ANSAN", 200, 0), ("AWWWN", 200, 200), ("SSSSN", 200, 100), ("ANS", 20, 0)],
)
def test_what_is_inside_a_mixed_run(row: str, pay: int, read: int) -> None:
    """A mixed run pays by its length; read otherwise the sum of the runs of one princess, wilds between two in both."""
    board = "".join("...b" + letter if number == 0 else "...." + letter for number, letter in enumerate(row)).ljust(25, ".")
    for rules, wanted in ((UNLIT, pay), (UNLIT.with_reading("MPS-3", 1), read)):
        _, buffer, events = play_board(rules, board)
        win = of_kind(events, "win")[0]
        assert (win["symbol"], win["count"], win["pay_x100"], win["win_minor"]) == (8, len(row), wanted, wanted * BET // 100)
        assert buffer.head[HEAD_METER] == len(row) - 2


def test_each_spin_is_capped_apart() -> None:
    """Under ALL-1 = 2 a spin that hits the cap ends, the free spins won before go on, and the multiplier stays."""
    rules = CAPPED.with_reading("ALL-1", 2)
    went_on = 0
    for outcome in rounds(rules, 20, 2):
        played = spins_of(outcome)
        assert outcome.ended == "played"
        for spin, following in pairwise(played):
            hits = of_kind(spin, "cap_hit")
            if hits:
                assert spin[-1]["award_minor"] == hits[0]["total_before_minor"] + hits[0]["awarded_minor"] == rules.cap.multiple * BET
                assert following[0]["part"] == "free"
                assert following[0]["multiplier"] == multiplier_after(spin)
                went_on += 1
    assert went_on > 5


def test_state_and_choice_are_what_the_draws_are_for() -> None:
    """The draws of a round that waits are the first of those of the whole round."""
    nonce = next(nonce for nonce in range(200) if play(RESONANT, nonce, 2, ()).wants_choice)
    game = game_by(RESONANT)
    waiting, whole = (game.draws(key_of(nonce), "base", BET, {"princess": 2}, choices) for choices in ((), (1,)))
    assert whole[: len(waiting)] == waiting
    assert {draw.purpose for draw in whole} <= set(game.draw_purposes)
