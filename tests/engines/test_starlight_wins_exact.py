"""The exact part of Starlight Wins against boards gone over one by one, and against boards that were played."""

import json
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from pathlib import Path

import pytest

from engines.games.starlight_wins.exact import first_board_odds, first_board_pays, scatter_odds
from engines.registry import game_of_rules, installed_rules
from engines.rng import round_key
from engines.rules import GameRules
from engines.simulate import CHUNK_ROUNDS, estimate_return, simulate
from tests.holm import holm, normal_p
from tests.rules_changes import changed_rules
from tools.calibrate_starlight import PLANS, make_strips
from tools.starlight_worth import BLOCK_SPINS, STRATA, SUM_COUNT, Measurer, exact_strata, worth

RULES = installed_rules("starlight-wins")
SEED = bytes(range(32))
ROUNDS = 20_000
SHUFFLES = (9, 13)  # of the base strips and of those of free spins, as the calibration chose them
STRIPS = ("RSGRT", "RRGSTM", "SRTGSR", "GRRTSA", "RTSRG")  # 5 * 6 * 6 * 6 * 5 boards
TINY = changed_rules(
    RULES,
    strip_sets=[{**part.model_dump(), "strips": STRIPS} for part in RULES.strip_sets],
    layout={"rows": (2, 2, 3, 2, 2)},
)


def boards_of(rules: GameRules) -> list[list[str]]:
    """Return every board of strips and heights, as the letters on each reel."""
    strips = rules.strip_sets[0].strips
    windows = [
        [(strip + strip)[stop : stop + rows] for stop in range(len(strip))] for strip, rows in zip(strips, rules.reel_rows, strict=True)
    ]
    return [list(board) for board in product(*windows)]


def first_pay(rules: GameRules, board: list[str], symbol: int) -> Fraction:
    """Return what a symbol's ways on a board pay, each way counted apart."""
    letter, pays = rules.symbols[symbol].letter, dict(zip((3, 4, 5), rules.pays_x100_of(symbol), strict=True))
    reach = next((reel for reel in range(5) if letter not in board[reel]), 5)
    ways = sum(all(cell == letter for cell in way) for way in product(*board[:reach])) if reach >= 3 else 0
    return Fraction(ways * pays.get(reach, 0), 100)


def test_exact_values_are_those_of_all_boards() -> None:
    """On tiny strips pays, scatter odds and joint odds are the means over every board, to the fraction."""
    boards = boards_of(TINY)
    assert len(boards) == prod(map(len, STRIPS))
    worths = [[first_pay(TINY, board, symbol) for board in boards] for symbol in range(9)]
    assert first_board_pays(TINY, "base") == [sum(pays) / len(boards) for pays in worths]
    counts = ["".join(board).count("S") for board in boards]
    assert scatter_odds(TINY, "base") == [Fraction(counts.count(count), len(boards)) for count in range(max(counts) + 1)]
    wins = [any(pays) for pays in zip(*worths, strict=True)]
    places = list(zip(wins, counts, strict=True))
    assert first_board_odds(TINY, "base") == {place: Fraction(places.count(place), len(boards)) for place in set(places)}
    assert any(wins)
    assert not all(wins)


def test_a_scatter_more_moves_the_exact_values() -> None:
    """Other strips have other values: the comparison above can fail."""
    other = changed_rules(TINY, strip_sets=[{**part.model_dump(), "strips": ("RSGRS", *STRIPS[1:])} for part in TINY.strip_sets])
    assert scatter_odds(other, "base") != scatter_odds(TINY, "base")
    assert first_board_pays(other, "base")[8] < first_board_pays(TINY, "base")[8]


@pytest.mark.parametrize("strip_set", ["base", "free"])
def test_played_first_boards_agree(strip_set: str) -> None:
    """First boards of 20,000 spins of each strip set agree with the exact values in all parts jointly at 99% (Holm)."""
    machine = game_of_rules(changed_rules(RULES, base_strip_set=strip_set, trigger={"count": 23}))
    machine.compile()
    pays: list[list[float]] = [[] for _ in range(9)]
    scatters = []
    for nonce in range(ROUNDS):
        first = [0.0] * 9
        for event in machine.play(round_key(SEED, "starlight-wins", "first boards", nonce), "base", 20, {}, ()).events:
            if event.topic == "win/1":
                win = json.loads(event.data)
                first[win["symbol"]] = win["win_minor"] / 20
            elif event.topic == "drop/1":
                scatters.append(json.loads(event.data)["symbols"].count(9))
            elif event.topic in ("multiplier_change/1", "tumble/1"):
                break
        for symbol, pay in enumerate(first):
            pays[symbol].append(pay)
    found = {}
    for symbol, exact in enumerate(first_board_pays(RULES, strip_set)):
        mean = sum(pays[symbol]) / ROUNDS
        deviation = sqrt(sum(pay * pay for pay in pays[symbol]) / ROUNDS - mean**2)
        found[RULES.symbols[symbol].name] = (mean - float(exact)) / deviation * sqrt(ROUNDS)
    for count, odd in enumerate(scatter_odds(RULES, strip_set)):
        expected = float(odd) * ROUNDS
        if expected >= 10:
            found[f"{count} scatters"] = (scatters.count(count) - expected) / sqrt(expected * (1 - float(odd)))
    assert len(found) >= 12
    p_values = {name: normal_p(z, 0, 1) for name, z in found.items()}
    assert holm(p_values) == []
    assert holm({**p_values, "planted": normal_p(5, 0, 1)}) == ["planted"]


def test_the_stratified_estimate_is_that_of_plain_rounds(tmp_path: Path) -> None:
    """What a round is worth by strata and by plain rounds agree within their errors, part by part; its error is the smaller one.

    A second start takes what the first one kept, and plays a block anew whose line was cut off.
    """
    kept = tmp_path / "kept.jsonl"
    measurer = Measurer(5, kept)
    base, free = measurer.sums(RULES, "base", BLOCK_SPINS, "test"), measurer.sums(RULES, "free", BLOCK_SPINS, "test")
    found = worth(RULES, base, free)
    plain = list(simulate(RULES, "base", 4 * CHUNK_ROUNDS, seed=SEED))
    total = plain[0].plus(plain[1]).plus(plain[2]).plus(plain[3])
    estimate = estimate_return(RULES, "base", total)
    plain_error = (estimate.rtp_high - estimate.rtp_low) / 2 / 2.5758
    z_scores = {"total": (found.total.mean - estimate.rtp_observed) / sqrt(found.total.error**2 + plain_error**2)}
    for place, odd in enumerate(exact_strata(RULES, "base")):
        expected, seen = float(odd) * BLOCK_SPINS, base.strata[place * SUM_COUNT]
        assert place < 2 * STRATA
        if expected >= 10:
            z_scores[f"stratum {place}"] = (seen - expected) / sqrt(expected * (1 - float(odd)))
    features = [row[5] for row in total.strata]
    share = sum(features) / total.total("rounds")
    share_of_spins = sum(base.awards[1:]) / BLOCK_SPINS
    z_scores["triggers"] = (share_of_spins - share) / sqrt(2 * share / BLOCK_SPINS)
    assert holm({name: normal_p(z, 0, 1) for name, z in z_scores.items()}) == []
    assert found.total.error < plain_error
    lines = kept.read_text().splitlines()
    assert len(lines) == 2
    kept.write_text(f"{lines[0]}\n{lines[1][:100]}")
    again = Measurer(5, kept)
    assert again.sums(RULES, "base", BLOCK_SPINS, "test") == base
    assert kept.read_text().splitlines() == lines[:1]
    assert again.sums(RULES, "free", BLOCK_SPINS, "test") == free
    assert kept.read_text().splitlines() == lines


def test_the_installed_strips_are_the_tool_s() -> None:
    """The strips in the rules file are those that the calibration makes, letter by letter."""
    letters = "".join(symbol.letter for symbol in RULES.symbols if symbol.role == "paying")
    for part, plan, number in zip(RULES.strip_sets, PLANS, SHUFFLES, strict=True):
        assert part.strips == make_strips(1, number, letters, plan)
        assert make_strips(1, number + 1, letters, plan) != part.strips
