"""Moon Spell: the published cases, one source at two speeds, the rare paths, the readings, the draws."""

import itertools
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engines.canonical import canonical_bytes
from engines.event_buffer import HEAD_TRIGGERS, RoundBuffer
from engines.game import Game, Outcome
from engines.games.moon_spell.game import rest_base, rest_bonus
from engines.registry import game_of_rules, installed_game, installed_rules
from engines.rng import round_key, words
from engines.rules import GameRules
from tests.conftest import ROOT
from tests.rules_changes import changed_rules

CASES = json.loads((ROOT / "tests" / "cases" / "published.json").read_text())["moon-spell"]
RULES = installed_rules("moon-spell")
GAME = installed_game("moon-spell")
SEED = bytes(range(32))
BET = 200
PINNED = json.loads((ROOT / "tests" / "golden" / f"moon-spell-{RULES.version}.json").read_text())
MOON, BLANK = RULES.symbol_index("moon"), RULES.symbol_index("blank")
CAP_MINOR = RULES.cap.multiple * BET

MOONLIT = changed_rules(RULES, strip_sets=[{"name": "base", "assumption": "ALL-2", "strips": ["MMSRMG", *["MSMRW"] * 4]}])
FULL = changed_rules(RULES, strip_sets=[{"name": "base", "assumption": "ALL-2", "strips": ["MMMM"] * 5}])
GENEROUS = changed_rules(MOONLIT, respin_weights={"moon": 9, "blank": 11})


def key_of(nonce: int) -> bytes:
    return round_key(SEED, "moon-spell", "", nonce)


def play(rules: GameRules, nonce: int) -> Outcome:
    return _game(rules).play(key_of(nonce), "base", BET, {}, ())


_GAMES: dict[str, Game] = {}


def _game(rules: GameRules) -> Game:
    return _GAMES.setdefault(rules.rules_hash, game_of_rules(rules))


def events_of(outcome: Outcome, kind: str) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in outcome.events if event.topic.startswith(f"{kind}/")]


def board_of(values: list[str]) -> RoundBuffer:
    """Return a buffer with Moons of these values on its first cells and nothing else that pays."""
    buffer = GAME.new_buffer()
    for cell in range(15):
        is_moon = cell < len(values)
        buffer.symbols[cell] = MOON if is_moon else BLANK
        buffer.values[cell] = int(Decimal(values[cell]) * 100) if is_moon else 0
    return buffer


@pytest.mark.parametrize("case", CASES["moons"], ids=str)
def test_published_moons(case: dict[str, Any]) -> None:
    """Three or four Moons pay their cash together, fewer nothing."""
    buffer = board_of(case["values"])
    won, cut, left = rest_base(buffer, GAME.tables, RULES.reading_values(), len(case["values"]), BET, 0, CAP_MINOR)
    assert (won, cut, left) == (int(Decimal(case["award"]) * BET), -1, 0)
    assert buffer.head[HEAD_TRIGGERS] == 0


@pytest.mark.parametrize("case", CASES["bonus_ends"], ids=str)
def test_published_ends_of_the_bonus(case: dict[str, Any]) -> None:
    """At its end the bonus pays all Moons and the ladder prize of their number, cut to the cap."""
    buffer = board_of(case["values"])
    won, cut = rest_bonus(buffer, GAME.tables, RULES.reading_values(), len(case["values"]), BET, 0, 0, CAP_MINOR)
    assert won == int(Decimal(case["award"]) * BET)
    uncapped = int(Decimal(case.get("uncapped", case["award"])) * BET)
    assert cut == (uncapped - won if "uncapped" in case else -1)


def new_moons(outcome: Outcome) -> list[int]:
    """Return how many Moons each respin brought."""
    counts = [drop["symbols"].count(MOON) for drop in events_of(outcome, "drop")]
    return [after - before for before, after in itertools.pairwise(counts)]


@pytest.mark.parametrize("case", CASES["respins"], ids=str)
def test_published_respins(case: dict[str, Any]) -> None:
    """Three respins; each that brings a Moon sets them back to three; a full board ends the bonus at once."""
    if "moons_on_the_triggering_board" in case:
        outcome = play(FULL, 0)
        assert len(events_of(outcome, "spin_started")) - 1 == case["respins_played"]
        assert [prize["which"] for prize in events_of(outcome, "prize")] == ["moon_cash", "ladder"]
        return
    rounds = (play(MOONLIT, nonce) for nonce in range(3000))
    found = next(outcome for outcome in rounds if [min(new, 1) for new in new_moons(outcome)] == case["new_moons_by_respin"])
    ended = events_of(found, "feature_ended")
    assert [end["spins_played"] for end in ended] == [case["respins_played"]]


def test_every_bonus_follows_the_counter() -> None:
    """In every bonus the respins left are three after a new Moon, one less after none, and it ends at none or a full board."""
    full = 0
    for nonce in range(400):
        outcome = play(GENEROUS, nonce)
        if not events_of(outcome, "feature_trigger"):
            continue
        left, moons = 3, events_of(outcome, "drop")[0]["symbols"].count(MOON)
        starts = events_of(outcome, "spin_started")[1:]
        for start, new in zip(starts, new_moons(outcome), strict=True):
            left -= 1
            assert start["spins_left"] == left
            moons += new
            left = 0 if moons == 15 else 3 if new else left
        assert left == 0
        full += moons == 15
    assert full > 20


def test_compiled_rounds_equal_plain_ones() -> None:
    """Compiled and plain kernels give the same bytes, totals and random words, by the installed rules and by rich ones."""
    for rules, count in ((RULES, 300), (GENEROUS, 100)):
        machine = game_of_rules(rules)
        machine.compile()
        for nonce in range(count):
            assert machine.play(key_of(nonce), "base", BET, {}, ()) == play(rules, nonce)


def test_events_as_models_have_the_recorded_bytes() -> None:
    """The models of a round and its recorded events are the same bytes."""
    for nonce in range(40):
        events = _game(MOONLIT).events(key_of(nonce), "base", BET, {}, ())
        assert [canonical_bytes(event) for event in events] == [event.data for event in play(MOONLIT, nonce).events]


def test_another_hash_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """The digest of 300 rounds is the pinned one under another hash seed."""
    program = (
        "from engines.registry import installed_game; from engines.digest import pinned_digest\n"
        "print(pinned_digest(installed_game('moon-spell'), 'base', round_count=300))"
    )
    environment = {"PYTHONHASHSEED": "4242", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [PINNED["digest_of_300"]["base"]]


def below(stream: list[int], n: int) -> int:
    """Draw by `rng/1`, item 4, from a list of words that is used up."""
    while True:
        product = stream.pop(0) * n
        if product % 2**32 >= 2**32 % n:
            return product >> 32


def weighted(stream: list[int], weights: tuple[int, ...]) -> int:
    drawn = below(stream, sum(weights))
    return next(place for place in range(len(weights)) if sum(weights[: place + 1]) > drawn)


def test_the_draws_are_those_of_the_draw_map() -> None:
    """Boards and values of whole rounds follow from the key stream by the draw map, drawn here once more."""
    values, moon_weights = MOONLIT.moon_values.values_x100, MOONLIT.moon_weights.weights
    for nonce in range(60):
        outcome = play(MOONLIT, nonce)
        stream = list(itertools.islice(words(key_of(nonce)), outcome.words_used))
        drops = events_of(outcome, "drop")
        stops = [below(stream, len(strip)) for strip in MOONLIT.strip_sets[0].strips]
        assert drops[0]["stops"] == stops
        shown = [(MOONLIT.strip(0, reel) * 2)[stop + row] for reel, stop in enumerate(stops) for row in range(3)]
        assert drops[0]["symbols"] == shown
        cash = [values[weighted(stream, moon_weights)] if symbol == MOON else 0 for symbol in shown]
        assert drops[0]["values"] == cash
        for drop in drops[1:]:
            for cell in range(15):
                if shown[cell] != MOON:
                    is_moon = weighted(stream, (1, 19)) == 0
                    shown[cell], cash[cell] = (MOON, values[weighted(stream, moon_weights)]) if is_moon else (BLANK, 0)
            assert (drop["symbols"], drop["values"]) == (shown, cash)
        assert stream == []


def test_the_cap_cuts_what_reaches_it() -> None:
    """A low cap cuts a line win, the Moons' cash or the ladder, and what would follow is not written."""
    cut_after = set()
    for cap in (2, 10, 40, 60):
        rules = changed_rules(GENEROUS, cap={"multiple": cap})
        for nonce in range(120):
            outcome = play(rules, nonce)
            free = play(GENEROUS, nonce)
            assert outcome.total_win_minor == min(free.total_win_minor, cap * BET)
            kinds = [event.topic.split("/")[0] for event in outcome.events]
            if outcome.ended == "capped":
                at = kinds.index("cap_hit")
                cut_after.add(kinds[at - 1] + str(json.loads(outcome.events[at - 1].data).get("which", "")))
                assert set(kinds[at + 1 :]) <= {"spin_ended", "feature_ended"}
    assert cut_after == {"win", "prizemoon_cash", "prizeladder"}


@pytest.mark.parametrize(("name", "value"), [("ALL-1", 2), ("MSP-2", 1), ("MSP-3", 1), ("MSP-3", 2)])
def test_each_reading_changes_an_amount(name: str, value: int) -> None:
    """Every other reading pays some round otherwise than the decided one; where it is not touched the bytes are the same."""
    rules = GENEROUS if name == "MSP-3" else changed_rules(GENEROUS, cap={"multiple": 60})
    other = rules.with_reading(name, value)
    differences = {play(other, nonce).total_win_minor - play(rules, nonce).total_win_minor for nonce in range(200)}
    assert differences - {0}
    assert min(differences) < 0 if (name, value) == ("MSP-3", 2) else max(differences) > 0


def test_the_price_of_a_round_is_its_bet() -> None:
    """The reading of the cap as a multiple of the price changes an amount only where the price is not the bet."""
    costly = changed_rules(GENEROUS, cap={"multiple": 60}, modes=[{**RULES.modes[0].model_dump(), "cost_x100": 200}])
    other = costly.with_reading("ALL-1", 1)
    assert any(play(other, nonce).total_win_minor > play(costly, nonce).total_win_minor for nonce in range(200))
    plain = RULES.with_reading("ALL-1", 1)
    assert all(play(plain, nonce).events == play(RULES, nonce).events for nonce in range(20))


def test_the_split_of_a_round_adds_up() -> None:
    """Base part, features, awards and running totals of every round add up."""
    for nonce in range(200):
        outcome = play(GENEROUS, nonce)
        ends = events_of(outcome, "spin_ended")
        assert ends[-1]["total_minor"] == sum(end["award_minor"] for end in ends) == outcome.total_win_minor
        assert outcome.base_win_minor == ends[0]["award_minor"]
        features = events_of(outcome, "feature_ended")
        assert [each["total_minor"] for each in features] in ([], [outcome.feature_win_minor])


STRIPS = list(RULES.strip_sets[0].strips)
LINES = list(RULES.lines.rows)


def strips_with(reel: int, strip: str) -> list[dict[str, Any]]:
    return [{"name": "base", "assumption": "ALL-2", "strips": [strip if at == reel else each for at, each in enumerate(STRIPS)]}]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lines": {"rows": [*LINES[:-1], (0, 0, 0, 0)]}}, "line 19: want a row below 3 for each of 5 reels, got (0, 0, 0, 0)"),
        ({"lines": {"rows": [*LINES[:-1], (0, 0, 3, 0, 0)]}}, "line 19: want a row below 3 for each of 5 reels, got (0, 0, 3, 0, 0)"),
        ({"lines": {"rows": [*LINES, LINES[0]]}}, "lines: want shapes that differ"),
        ({"moon_weights": {"weights": [1]}}, "moon_weights: want 9 weights with a sum above 0"),
        ({"ladder": {"counts": [10, 11, 12, 13, 14, 16]}}, "ladder: want rising counts up to 15, each with its prize"),
        ({"ladder": {"prizes_x100": [5000]}}, "ladder: want rising counts up to 15, each with its prize"),
        ({"moon_counts": {"cash": 5}}, "moon_counts: want the cash to be paid from fewer Moons than start the bonus"),
        (
            {"moon_values": {"values_x100": [51, *RULES.moon_values.values_x100[1:]]}},
            "prize 51/100 of a bet of 20 coins",
        ),
        ({"strip_sets": strips_with(1, "X" + STRIPS[1])}, "strip_sets: want no blank on a strip and no wild on the first reel"),
        ({"strip_sets": strips_with(0, "W" + STRIPS[0])}, "strip_sets: want no blank on a strip and no wild on the first reel"),
        ({"base_strip_set": "moon"}, "strip set 'moon': want a strip set of the file"),
        ({"readings": []}, "readings: want ALL-1, MSP-2, MSP-3 in this order, got none"),
    ],
    ids=str,
)
def test_rules_that_cannot_be_played_are_refused(change: dict[str, Any], reason: str) -> None:
    """Each wrong value of a rules file is refused with what was wanted and found."""
    with pytest.raises(ValidationError) as caught:
        changed_rules(RULES, **change)
    assert reason in str(caught.value)
