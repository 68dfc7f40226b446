"""Starlight Wins: the published cases, one source at two speeds, the first boards drawn again, rare paths, readings."""

import json
import struct
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from engines.canonical import canonical_bytes
from engines.event_buffer import HEAD_POSITION, PART_BASE, PART_FREE, RoundBuffer
from engines.game import Game, Outcome
from engines.game_events import CapHit, Drop, MultiplierChange, SpinEnded, SpinStarted, Tumble, Win
from engines.games.starlight_wins.game import award_free_spins
from engines.kernels.ways import pay_ways
from engines.registry import game_of_rules, installed_game, installed_rules
from engines.rng import round_key, words
from engines.rules import GameRules
from tests.conftest import ROOT
from tests.rules_changes import changed_rules

CASES = json.loads((ROOT / "tests" / "cases" / "published.json").read_text())["starlight-wins"]
RULES = installed_rules("starlight-wins")
GAME = installed_game("starlight-wins")
SEED = bytes(range(32))
CAP_MINOR = 10**12
CELL_STARTS = (0, 4, 9, 14, 19, 23)

PINNED = json.loads((ROOT / "tests" / "golden" / f"starlight-wins-{RULES.version}.json").read_text())

# Strips that go down the paytable in step on every reel: nearly every board wins, so ladders are climbed to their ends.
STEPS = ["RGMBAKQJT" * 9 + "S", *["RGMBAKQJT" * 9] * 3, "RGMBAKQJT" * 9 + "S"]
BASE_SET, FREE_SET = (part.model_dump() for part in RULES.strip_sets)
IN_STEP = changed_rules(RULES, strip_sets=[{**BASE_SET, "strips": STEPS}, FREE_SET])
FREE_IN_STEP = changed_rules(RULES, strip_sets=[BASE_SET, {**FREE_SET, "strips": STEPS}])

# With wilds on reels 2 to 4 of five a win always reaches every wild, and SLW-2 changes nothing. On six reels it can miss one.
SIX_REELS = changed_rules(
    RULES,
    layout={"rows": (4, 5, 5, 5, 5, 4)},
    strip_sets=[{**part, "strips": [*STEPS[:3], BASE_SET["strips"][3], *STEPS[3:]]} for part in (BASE_SET, FREE_SET)],
    gold=[{**part.model_dump(), "weights": (0, *[0 if part.all_gold else 40_000] * 4, 0)} for part in RULES.gold],
)


def key_of(nonce: int) -> bytes:
    return round_key(SEED, "starlight-wins", "", nonce)


@cache
def game_by(rules_hash: str) -> list[Game]:
    del rules_hash
    return []


def played(rules: GameRules, nonce: int, bet_minor: int = 40) -> Outcome:
    kept = game_by(rules.rules_hash)
    if not kept:
        kept.append(game_of_rules(rules))
        kept[0].compile()
    return kept[0].play(key_of(nonce), "base", bet_minor, {}, ())


def events_of(rules: GameRules, nonce: int, bet_minor: int = 40) -> list[Any]:
    return game_of_rules(rules).events(key_of(nonce), "base", bet_minor, {}, ())


def first_nonce(rules: GameRules, wanted: Any, count: int = 3000) -> int:
    """Return the first nonce whose round has what is wanted of an outcome."""
    return next(nonce for nonce in range(count) if wanted(played(rules, nonce)))


def topics(outcome: Outcome) -> list[str]:
    return [event.topic.split("/")[0] for event in outcome.events]


def board(cells: dict[int, str]) -> RoundBuffer:
    """Return a buffer with these symbols on a board of scatters."""
    buffer = GAME.new_buffer()
    for cell in range(23):
        buffer.symbols[cell] = RULES.symbol_index(cells.get(cell, "scatter"))
    return buffer


def wins_of(buffer: RoundBuffer, multiplier: int = 1, bet_minor: int = 20) -> list[Win]:
    """Return the wins of a board as events."""
    pay_ways(buffer, GAME.tables, multiplier, bet_minor, 0, CAP_MINOR)
    return [event for event in GAME._decoded(buffer) if isinstance(event, Win)]


def spins_of(events: list[Any]) -> Iterator[list[Any]]:
    """Yield the events of each spin."""
    spin: list[Any] = []
    for event in events:
        spin.append(event)
        if isinstance(event, SpinEnded):
            yield spin
            spin = []


@pytest.mark.parametrize("case", CASES["ways"], ids=str)
def test_published_ways(case: dict[str, Any]) -> None:
    """Each published case of ways has its reach, ways and pay, and no other symbol wins."""
    counts = case["matching_cells_by_reel"]
    cells = {CELL_STARTS[reel] + row: case["symbol"] for reel, count in enumerate(counts) for row in range(count)}
    wins = wins_of(board(cells))
    if not case["ways"]:
        assert not wins
        return
    (win,) = wins
    assert (win.count, win.ways) == (case["of_a_kind"], case["ways"])
    assert win.pay_x100 * win.ways == float(case["pay"]) * 100
    assert win.win_minor == float(case["pay"]) * 20
    assert win.cells == tuple(cell for cell in sorted(cells) if cell < CELL_STARTS[win.count])


@pytest.mark.parametrize(("part", "rules"), [("base", IN_STEP), ("free", FREE_IN_STEP)], ids=["base", "free"])
def test_published_ladders(part: str, rules: GameRules) -> None:
    """The wins of a spin's drops are multiplied by the published ladder, from its start in each spin."""
    ladder = CASES["multiplier_ladder"][part]
    nonce = first_nonce(
        rules, lambda outcome: topics(outcome).count("tumble") >= 6 and (part == "base" or "feature_trigger" in topics(outcome))
    )
    long = [
        spin for spin in spins_of(events_of(rules, nonce)) if spin[0].part == part and sum(isinstance(event, Tumble) for event in spin) >= 6
    ]
    assert long
    for spin in long:
        assert spin[0].multiplier == ladder[0]
        seen: dict[int, int] = {}
        drop = -1
        for event in spin:
            drop += isinstance(event, Drop)
            if isinstance(event, Win):
                assert seen.setdefault(drop, event.multiplier) == event.multiplier
        assert [seen[drop] for drop in range(6)] == ladder
        changes = [(event.from_multiplier, event.to_multiplier) for event in spin if isinstance(event, MultiplierChange)]
        assert changes == [(ladder[0], ladder[1]), (ladder[1], ladder[2]), (ladder[2], ladder[3])]


@pytest.mark.parametrize("part", [PART_BASE, PART_FREE])
@pytest.mark.parametrize("scatters", CASES["free_spins_awarded"], ids=str)
def test_published_free_spins(part: int, scatters: str) -> None:
    """Each number of scatters awards the published spins, in free spins as in the base game; one more adds two more."""
    buffer = board(dict.fromkeys(range(int(scatters), 23), "ten"))
    assert award_free_spins(buffer, GAME.tables, part, 3) - 3 == CASES["free_spins_awarded"][scatters]
    assert award_free_spins(board(dict.fromkeys(range(8, 23), "ten")), GAME.tables, part, 0) == 20


def test_a_wild_stands_for_any_symbol_but_the_scatter() -> None:
    """Wilds on reels 2 to 4 count for every symbol that begins on reel 1; a way that would begin on reel 2 does not win."""
    wins = wins_of(board({0: "a", 1: "q", 4: "wild", 9: "wild", 10: "a", 14: "wild"}), multiplier=3, bet_minor=40)
    assert [(RULES.symbols[win.symbol].name, win.count, win.ways, win.cells) for win in wins] == [
        ("a", 4, 2, (0, 4, 9, 10, 14)),
        ("q", 4, 1, (1, 4, 9, 14)),
    ]
    assert [win.win_minor for win in wins] == [25 * 2 * 3 * 40 // 100, 20 * 3 * 40 // 100]
    assert not wins_of(board({4: "a", 9: "a", 14: "a", 19: "a"}))


def key_stream(key: bytes) -> Iterator[int]:
    """Yield the words of the ChaCha20 key stream under `key`, by another's implementation."""
    encryptor = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    while True:
        yield from struct.unpack("<16I", encryptor.update(bytes(64)))


def counted(stream: Iterator[int], taken: list[int]) -> Iterator[int]:
    """Yield the words of a stream and count them."""
    for word in stream:
        taken[0] += 1
        yield word


def draw_below(stream: Iterator[int], n: int) -> int:
    while True:
        product = next(stream) * n
        if product % 2**32 >= 2**32 % n:
            return product >> 32


def test_base_spins_follow_from_the_key() -> None:
    """Every board of 400 base spins, gold included, is what a plain reading of rng/1, file and draw map gives; no other word is drawn."""
    file = tomllib.loads((ROOT / "engines" / "games" / "starlight_wins" / "rules-0.1.0.toml").read_text())
    letters = [symbol["letter"] for symbol in file["symbols"]]
    strips, gold = file["strip_sets"][0]["strips"], file["gold"][0]
    gold_seen = [0, 0]
    for nonce in range(400):
        taken = [0]
        stream = counted(key_stream(key_of(nonce)), taken)

        def drawn_marks(reel: int, column: str, stream: Iterator[int] = stream) -> list[int]:
            weight = gold["weights"][reel]
            return [int(letter != "S" and weight > 0 and draw_below(stream, gold["total"]) < weight) for letter in column]

        tops = [draw_below(stream, len(strip)) for strip in strips]
        columns = ["".join(strips[reel][(tops[reel] + row) % 80] for row in range(rows)) for reel, rows in enumerate((4, 5, 5, 5, 4))]
        marks = [drawn_marks(reel, column) for reel, column in enumerate(columns)]
        outcome = played(RULES, nonce)
        spin = next(spins_of(events_of(RULES, nonce)))
        for event in spin:
            if isinstance(event, Drop):
                assert event.stops == (() if event.drop_index else tuple(tops))
                assert event.marks == tuple(mark for reel in marks for mark in reel)
                assert "".join(letters[symbol] for symbol in event.symbols) == "".join(columns)
                gold_seen[min(event.drop_index, 1)] += sum(event.marks)
            elif isinstance(event, Tumble):
                for reel in range(5):
                    cells = range(*CELL_STARTS[reel : reel + 2])
                    for cell in set(event.turned_cells) & set(cells):
                        columns[reel] = columns[reel][: cell - cells[0]] + "W" + columns[reel][cell - cells[0] + 1 :]
                        marks[reel][cell - cells[0]] = 0
                    stays = [row for row, cell in enumerate(cells) if cell not in event.removed_cells]
                    new_count = len(cells) - len(stays)
                    fallen = "".join(strips[reel][(tops[reel] - new_count + row) % 80] for row in range(new_count))
                    columns[reel] = fallen + "".join(columns[reel][row] for row in stays)
                    marks[reel] = drawn_marks(reel, fallen) + [marks[reel][row] for row in stays]
                    tops[reel] -= new_count
        if "feature_trigger" not in topics(outcome):
            assert taken == [outcome.words_used]
    assert min(gold_seen) > 20


def test_compiled_rounds_equal_plain_ones() -> None:
    """Compiled and plain kernels give the same bytes, totals and random words (300 rounds, and 60 on strips that always win)."""
    for rules, count in ((RULES, 300), (IN_STEP, 60)):
        plain = game_of_rules(rules)
        for nonce in range(count):
            assert played(rules, nonce) == plain.play(key_of(nonce), "base", 40, {}, ())


def test_events_as_models_have_the_recorded_bytes() -> None:
    """The models of a round with free spins and its recorded events are the same bytes."""
    nonce = first_nonce(RULES, lambda outcome: "feature_trigger" in topics(outcome))
    assert [canonical_bytes(event) for event in events_of(RULES, nonce)] == [event.data for event in played(RULES, nonce).events]


def test_another_hash_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """The digest of 300 rounds is the pinned one under two hash seeds, plain in one and compiled in the other."""
    for hash_seed, is_compiled in (("1", False), ("4242", True)):
        program = (
            "from engines.registry import installed_game; from engines.digest import pinned_digest\n"
            "game = installed_game('starlight-wins')\n"
            + ("game.compile()\n" if is_compiled else "")
            + "print(pinned_digest(game, 'base', round_count=300))"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=ROOT, env={"PYTHONHASHSEED": hash_seed, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [PINNED["digest_of_300"]["base"]]


def test_gold_turns_wild_and_falls() -> None:
    """Gold lies on reels 2 to 4 alone, on all paying symbols of reel 3 in free spins; gold that wins turns wild in its place."""
    scatter, wild = RULES.symbol_index("scatter"), RULES.symbol_index("wild")
    turned = 0
    for nonce in range(150):
        for spin in spins_of(events_of(IN_STEP if nonce % 3 == 0 else RULES, nonce)):
            won: set[int] = set()
            drop = None
            for event in spin:
                if isinstance(event, Drop):
                    drop, won = event, set()
                    assert not any(event.marks[:4] + event.marks[19:])
                    assert not any(mark for mark, symbol in zip(event.marks, event.symbols, strict=True) if symbol in (scatter, wild))
                    if spin[0].part == "free":
                        assert list(event.marks[9:14]) == [int(symbol not in (scatter, wild)) for symbol in event.symbols[9:14]]
                elif isinstance(event, Win):
                    won |= set(event.cells)
                elif isinstance(event, Tumble):
                    assert drop is not None
                    assert event.turned_cells == tuple(cell for cell in sorted(won) if drop.marks[cell])
                    assert event.removed_cells == tuple(cell for cell in sorted(won) if not drop.marks[cell])
                    assert event.turned_symbols == (wild,) * len(event.turned_cells)
                    turned += len(event.turned_cells)
    assert turned > 50


def test_a_low_cap_ends_the_round_at_the_win_that_reaches_it() -> None:
    """The win that reaches the cap is followed by `cap_hit` and the spin's end: no further win, no tumble, no trigger."""
    rules = changed_rules(IN_STEP, cap={"multiple": 30})
    seen = set()
    for nonce in range(60):
        outcome = played(rules, nonce)
        assert outcome.total_win_minor <= 30 * 40
        if outcome.ended != "capped":
            continue
        assert outcome.total_win_minor == 30 * 40
        names = topics(outcome)
        assert names[names.index("cap_hit") - 1] == "win"
        rest = names[names.index("cap_hit") + 1 :]
        assert rest in (["spin_ended"], ["spin_ended", "feature_ended"])
        seen.add(len(rest))
        events = events_of(rules, nonce)
        hit = next(event for event in events if isinstance(event, CapHit))
        spin = list(spins_of(events))[-1]
        wins = [event.win_minor for event in spin if isinstance(event, Win)]
        assert hit.uncapped_minor == wins[-1]
        assert hit.total_before_minor + hit.awarded_minor == 30 * 40
        assert spin[-1].cut_minor == hit.uncapped_minor - hit.awarded_minor
        assert spin[-1].award_minor == sum(wins) - spin[-1].cut_minor
    assert 1 in seen


def test_the_cap_in_free_spins_ends_the_feature() -> None:
    """A free spin that reaches the cap ends its feature, the spins that are left are forfeited."""
    rules = changed_rules(RULES, cap={"multiple": 25})
    nonce = first_nonce(rules, lambda outcome: outcome.ended == "capped" and "feature_ended" in topics(outcome))
    outcome = played(rules, nonce)
    assert outcome.total_win_minor == 25 * 40
    assert topics(outcome)[-3:] == ["cap_hit", "spin_ended", "feature_ended"]
    last = [event for event in events_of(rules, nonce) if isinstance(event, SpinStarted)][-1]
    assert last.spins_left > 0


def test_reaching_the_cap_exactly_cuts_nothing() -> None:
    """A win that brings the total to the cap to the unit is a `cap_hit` with nothing cut."""
    buffer = board({0: "red_star", 4: "red_star", 9: "red_star"})  # 0.5 of the bet
    assert pay_ways(buffer, GAME.tables, 2, 40, 60, 100) == (40, 0)
    assert buffer.head[HEAD_POSITION] > 0
    assert pay_ways(board({0: "red_star", 4: "red_star", 9: "red_star"}), GAME.tables, 2, 40, 59, 100) == (40, -1)


def test_a_tumble_limit_ends_the_round_with_its_wins_paid() -> None:
    """The fourth tumble of a spin that may have three is not played: its wins are paid, no ladder step is written, no trigger."""
    rules = changed_rules(IN_STEP, limits={"tumbles": 3})
    nonce = first_nonce(rules, lambda outcome: outcome.ended == "limit")
    assert topics(played(rules, nonce))[-2:] == ["win", "spin_ended"]
    (spin,) = spins_of(events_of(rules, nonce))
    assert spin[-1].award_minor == sum(event.win_minor for event in spin if isinstance(event, Win)) > 0
    assert sum(isinstance(event, Tumble) for event in spin) == 3


def test_a_strip_that_would_come_round_ends_the_round() -> None:
    """A tumble for which a strip has no position left that the spin has not shown is not played (ALL-5)."""
    nonce = first_nonce(IN_STEP, lambda outcome: outcome.ended == "limit")
    (spin,) = spins_of(events_of(IN_STEP, nonce))
    assert topics(played(IN_STEP, nonce))[-2:] == ["win", "spin_ended"]
    last = max(place for place, event in enumerate(spin) if isinstance(event, Drop))
    leaving = {cell for event in spin[last:] if isinstance(event, Win) for cell in event.cells if not spin[last].marks[cell]}
    shown = [len(range(*CELL_STARTS[reel : reel + 2])) for reel in range(5)]
    for event in spin:
        if isinstance(event, Tumble):
            shown = [count + len(new) for count, new in zip(shown, event.new_symbols, strict=True)]
    needed = [count + len(leaving & set(range(*CELL_STARTS[reel : reel + 2]))) for reel, count in enumerate(shown)]
    lengths = [len(strip) for strip in STEPS]
    assert all(count <= length for count, length in zip(shown, lengths, strict=True))
    assert any(count > length for count, length in zip(needed, lengths, strict=True))


def test_a_free_spin_limit_ends_the_feature() -> None:
    """With three free spins allowed a feature plays three and ends as `limit`."""
    rules = changed_rules(RULES, limits={"free_spins": 3})
    outcome = played(rules, first_nonce(rules, lambda outcome: "feature_trigger" in topics(outcome)))
    assert outcome.ended == "limit"
    assert topics(outcome).count("spin_started") == 4
    assert topics(outcome)[-1] == "feature_ended"


def test_free_spins_are_won_again() -> None:
    """A retrigger adds its spins to those that are left, and all are played."""
    nonce = first_nonce(RULES, lambda outcome: topics(outcome).count("feature_trigger") > 1, 40_000)
    outcome = played(RULES, nonce)
    awarded = [json.loads(event.data)["spins_awarded"] for event in outcome.events if event.topic == "feature_trigger/1"]
    assert topics(outcome).count("spin_started") == 1 + sum(awarded)


def totals(rules: GameRules, count: int = 400) -> list[int]:
    return [played(rules, nonce).total_win_minor for nonce in range(count)]


def test_each_reading_changes_an_amount() -> None:
    """Read otherwise, some round pays another amount; by a displayed bet of 0.20 every round pays twice as much."""
    assert totals(RULES.with_reading("SLW-1", 1)) == [2 * total for total in totals(RULES)]
    assert totals(SIX_REELS.with_reading("SLW-2", 1)) != totals(SIX_REELS)
    low = changed_rules(IN_STEP, cap={"multiple": 30})
    assert totals(low.with_reading("ALL-1", 2), 60) == totals(low, 60)  # without free spins a spin is a round
    free = changed_rules(RULES, cap={"multiple": 5})
    by_spin = [played(free.with_reading("ALL-1", 2), nonce) for nonce in range(4000)]
    assert [outcome.total_win_minor for outcome in by_spin] != totals(free, 4000)
    assert {outcome.ended for outcome in by_spin} == {"played"}
    # The one mode costs the bet, so that a cap by the price differs only where a mode costs more.
    dear = changed_rules(low, modes=[{**RULES.modes[0].model_dump(), "cost_x100": 200}])
    assert max(totals(dear.with_reading("ALL-1", 1), 60)) == 2 * max(totals(dear, 60)) == 60 * 40


def test_loose_wilds_leave_where_they_are_read_so() -> None:
    """Under SLW-2 = 1 no wild that lay on the board before a tumble is left after it; on five reels none ever is."""
    wild = RULES.symbol_index("wild")
    lasting = {0: 0, 1: 0}
    for reading in lasting:
        rules = SIX_REELS.with_reading("SLW-2", reading)
        for nonce in range(60):
            for spin in spins_of(events_of(rules, nonce)):
                drops = [event for event in spin if isinstance(event, Drop)]
                tumbles = [event for event in spin if isinstance(event, Tumble)]
                for drop, tumble in zip(drops[1:], tumbles, strict=True):
                    lasting[reading] += drop.symbols.count(wild) - len(tumble.turned_cells)
    assert lasting[0] > 0
    assert lasting[1] == 0
    assert totals(IN_STEP.with_reading("SLW-2", 1)) == totals(IN_STEP)


def test_the_draw_log_is_the_round() -> None:
    """Every draw follows from its words, none is skipped, and the purposes come in the order of the draw map."""
    nonce = first_nonce(RULES, lambda outcome: "feature_trigger" in topics(outcome))
    draws = GAME.draws(key_of(nonce), "base", 40, {}, ())
    outcome = GAME.play(key_of(nonce), "base", 40, {}, ())
    stream = [word for word, _ in zip(words(key_of(nonce)), range(outcome.words_used), strict=False)]
    place = 0
    for draw in draws:
        assert draw.first_word == place
        place += draw.word_count
        assert stream[place - 1] * draw.n >> 32 == draw.result
    assert place == outcome.words_used
    assert [draw.purpose for draw in draws[:6]] == ["reel stop"] * 5 + ["gold or not"]
    assert {draw.purpose for draw in draws} == {"reel stop", "gold or not"}
