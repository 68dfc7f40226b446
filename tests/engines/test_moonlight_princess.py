"""Moonlight Princess: the published cases, one source at two speeds, the limits, the draw map."""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engines.canonical import canonical_bytes
from engines.event_buffer import HEAD_ENDED, HEAD_TOTAL, NOT_ENDED, RoundBuffer
from engines.game import Game
from engines.games.moonlight_princess.game import rest_spin
from engines.kernels.scatter_pays import pay_of_count
from engines.registry import game_of_rules, installed_game, installed_rules
from engines.rng import round_key, words
from engines.rules import GameRules
from tests.conftest import ROOT
from tests.rules_changes import changed_rules

CASES = json.loads((ROOT / "tests" / "cases" / "published.json").read_text())["moonlight-princess"]
RULES = installed_rules("moonlight-princess")
GAME = installed_game("moonlight-princess")
SEED = bytes(range(32))
MODES = ("base", "ante", "buy")

PINNED = json.loads((ROOT / "tests" / "golden" / f"moonlight-princess-{RULES.version}.json").read_text())


def minor(amount: str) -> int:
    return int(Decimal(amount) * 100)


def key_of(nonce: int) -> bytes:
    return round_key(SEED, "moonlight-princess", "", nonce)


def rest(spin_index: int, won: str, hearts: list[int], bet: str, *, total_multiplier: int = 0, total: str = "0", scatters: int = 0) -> Any:
    """Bring a board with these hearts and scatters and no other win to rest; return the buffer and the new total multiplier."""
    buffer = GAME.new_buffer()
    symbols = [RULES.symbol_index("heart")] * len(hearts) + [RULES.symbol_index("scatter")] * scatters
    for cell in range(30):
        buffer.symbols[cell] = symbols[cell] if cell < len(symbols) else cell % 9
    buffer.values[: len(hearts)] = hearts
    buffer.head[HEAD_TOTAL] = minor(total)
    bet_minor = minor(bet)
    cap_minor = RULES.cap.multiple * bet_minor
    state = rest_spin(
        buffer, GAME.tables, RULES.reading_values(), spin_index, minor(won), False, total_multiplier, 10, bet_minor, cap_minor
    )
    return buffer, state


def won_minor(buffer: RoundBuffer, total: str = "0") -> int:
    return buffer.head[HEAD_TOTAL] - minor(total)


@pytest.mark.parametrize("case", CASES["pays"], ids=str)
def test_published_pays(case: dict[str, Any]) -> None:
    """Each published pay comes out of the paytable kernel or, for scatters, of a spin at rest."""
    bet_minor = minor(case["bet"])
    if case["symbol"] != "scatter":
        pay = pay_of_count(GAME.tables, RULES.symbol_index(case["symbol"]), case["count"])
        assert pay * bet_minor // 100 == minor(case["win"])
        return
    buffer, (_, spins_left) = rest(0, "0", [], case["bet"], scatters=case["count"])
    assert won_minor(buffer) == minor(case["win"])
    assert spins_left - 10 == case["free_spins"]
    buffer, (_, spins_left) = rest(1, "0", [], case["bet"], scatters=case["count"])
    assert spins_left - 10 == case.get("free_spins_if_in_feature", 5)


@pytest.mark.parametrize("case", CASES["costs"], ids=str)
def test_published_costs(case: dict[str, Any]) -> None:
    """Each published cost follows from the rules file."""
    bet_minor = minor(case["bet"])
    cost = RULES.cost_minor(case["mode"], bet_minor)
    if "cost" in case:
        assert cost == minor(case["cost"])
    else:
        assert (cost - bet_minor) * case["rounds"] == minor(case["extra_over_base"])


@pytest.mark.parametrize("case", CASES["free_spins"], ids=str)
def test_published_free_spins(case: dict[str, Any]) -> None:
    """Hearts raise the total on a winning free spin, and the new total multiplies it."""
    buffer, (total, _) = rest(3, case["tumble_wins"], case["hearts"], case["bet"], total_multiplier=case["total_multiplier_before"])
    assert total == case["total_multiplier_after"]
    assert won_minor(buffer) == minor(case["win"])


@pytest.mark.parametrize("case", CASES["base_spins"], ids=str)
def test_published_base_spins(case: dict[str, Any]) -> None:
    """In the base game the hearts' sum multiplies a win; none leaves it as it is."""
    buffer, _ = rest(0, case["tumble_wins"], case["hearts"], case["bet"])
    assert won_minor(buffer) == minor(case["win"])


@pytest.mark.parametrize("case", CASES["cap"], ids=str)
def test_published_cap(case: dict[str, Any]) -> None:
    """The win that reaches the cap is cut to what is left and ends the round."""
    buffer, _ = rest(3, case["next_win"], [], case["bet"], total=case["round_win_so_far"])
    assert won_minor(buffer, case["round_win_so_far"]) == minor(case["paid"])
    assert buffer.head[HEAD_TOTAL] == minor(case["round_total"])
    assert (buffer.head[HEAD_ENDED] != NOT_ENDED) == case["ends"]


@pytest.mark.parametrize("mode", MODES)
def test_compiled_rounds_equal_plain_ones(mode: str) -> None:
    """Compiled and plain kernels give the same bytes, totals and random words (100 rounds of each mode)."""
    machine = game_of_rules(RULES)
    machine.compile()
    for nonce in range(100):
        assert machine.play(key_of(nonce), mode, 40, {}, ()) == GAME.play(key_of(nonce), mode, 40, {}, ())


@pytest.mark.parametrize("mode", MODES)
def test_events_as_models_have_the_recorded_bytes(mode: str) -> None:
    """The models of a round and its recorded events are the same bytes."""
    events = GAME.events(key_of(5), mode, 40, {}, ())
    assert [canonical_bytes(event) for event in events] == [event.data for event in GAME.play(key_of(5), mode, 40, {}, ()).events]


def test_another_hash_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """The digest of 300 rounds in each mode is the pinned one under two hash seeds, plain in one and compiled in the other."""
    for hash_seed, is_compiled in (("1", False), ("4242", True)):
        program = (
            "from engines.registry import installed_game; from engines.digest import pinned_digest\n"
            "game = installed_game('moonlight-princess')\n"
            + ("game.compile()\n" if is_compiled else "")
            + "print(*[pinned_digest(game, mode, round_count=300) for mode in ('base', 'ante', 'buy')])"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=ROOT, env={"PYTHONHASHSEED": hash_seed, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [PINNED["digest_of_300"][mode] for mode in MODES]


def ended(rules: GameRules, mode: str, count: int = 200) -> set[str]:
    game = game_of_rules(rules)
    return {game.play(key_of(nonce), mode, 40, {}, ()).ended for nonce in range(count)}


def test_a_tumble_limit_ends_the_round_with_its_wins_paid() -> None:
    """With no tumble allowed a winning round ends at once as `limit`, its wins paid."""
    rules = changed_rules(RULES, limits={"tumbles": 1})
    game = game_of_rules(rules)
    outcomes = [game.play(key_of(nonce), "base", 40, {}, ()) for nonce in range(300)]
    limited = [outcome for outcome in outcomes if outcome.ended == "limit"]
    assert limited
    assert all(outcome.total_win_minor > 0 for outcome in limited)
    assert all(outcome.events[-1].topic in ("spin_ended/1", "feature_ended/1") for outcome in limited)


def test_a_free_spin_limit_ends_the_feature() -> None:
    """With three free spins allowed a bought round plays three and ends as `limit`."""
    game = game_of_rules(changed_rules(RULES, limits={"free_spins": 3}))
    outcome = game.play(key_of(1), "buy", 40, {}, ())
    assert outcome.ended == "limit"
    assert sum(event.topic == "spin_started/1" for event in outcome.events) == 4
    assert outcome.events[-1].topic == "feature_ended/1"


def test_a_strip_that_would_come_round_ends_the_round() -> None:
    """A tumble for which a strip has no position left that the spin has not shown is not played (ALL-5)."""
    short = changed_rules(RULES, strip_length=9)
    assert "limit" in ended(short, "base")


def test_a_low_cap_ends_rounds_in_every_mode() -> None:
    """With a cap of one bet rounds end `capped`, never above the cap."""
    rules = changed_rules(RULES, cap={"multiple": 1})
    game = game_of_rules(rules)
    for mode in MODES:
        outcomes = [game.play(key_of(nonce), mode, 40, {}, ()) for nonce in range(60)]
        assert any(outcome.ended == "capped" for outcome in outcomes)
        assert all(outcome.total_win_minor <= 40 for outcome in outcomes)


def test_a_buffer_that_is_too_small_is_doubled_and_the_round_is_the_same() -> None:
    """A round that outgrows the buffer is played again in a larger one, plain and compiled."""
    small = game_of_rules(RULES)
    small.new_buffer = lambda **_: Game.new_buffer(small, event_words=64)  # type: ignore[method-assign]
    machine = game_of_rules(RULES)
    machine.new_buffer = lambda **_: Game.new_buffer(machine, event_words=64)  # type: ignore[method-assign]
    machine.compile()
    want = GAME.play(key_of(2), "buy", 40, {}, ())
    assert small.play(key_of(2), "buy", 40, {}, ()) == want
    assert machine.play(key_of(2), "buy", 40, {}, ()) == want


@pytest.mark.parametrize("mode", MODES)
def test_the_draw_log_is_the_round(mode: str) -> None:
    """Every draw follows from its words, none is skipped, and the purposes come in the order of the draw map."""
    draws = GAME.draws(key_of(3), mode, 40, {}, ())
    outcome = GAME.play(key_of(3), mode, 40, {}, ())
    stream = [word for word, _ in zip(words(key_of(3)), range(outcome.words_used), strict=False)]
    place = 0
    for draw in draws:
        assert draw.first_word == place
        place += draw.word_count
        assert stream[place - 1] * draw.n >> 32 == draw.result
    assert place == outcome.words_used
    first = [draw.purpose for draw in draws[:9]]
    if mode == "buy":
        assert first[0] == "scatter count"
        assert first[1] == "scatter reel"
    else:
        assert first[:7] == ["strip set"] + ["reel stop"] * 6
