"""Moonlight Princess's exact first boards: against every board of tiny strips, and against simulated ones."""

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest

from engines.game import Game
from engines.games.moonlight_princess.exact import board_odds, fall_pays, fall_trigger_odds, first_board_pays, pay_x100, scatter_odds
from engines.games.moonlight_princess.game import land_board
from engines.games.moonlight_princess.rules import Rules
from engines.jit import arrays_of, compiled, kernel
from engines.kernels.scatter_pays import count_symbols
from engines.registry import game_of_rules, installed_rules
from engines.rng import key_words, simulation_key, start_stream
from tests.holm import binomial_p, holm, normal_p
from tests.rules_changes import changed_rules

RULES: Any = installed_rules("moonlight-princess")
SCATTER, HEART = RULES.symbol_index("scatter"), RULES.symbol_index("heart")
PAYING = range(9)
BOARDS = 1 << 19


def tiny_rules(seed: int) -> Rules:
    """Return rules whose six strips have six positions: two of them as a whole make 46,656 boards."""
    draw = random.Random(seed)
    strips = []
    for reel in range(6):
        letters = [draw.choice("SSSYYW") for _ in range(5)] + ["P" if reel < 5 else "H"]
        letters[draw.randrange(5)] = "H" if reel % 2 else "C"
        draw.shuffle(letters)
        strips.append("".join(letters))
    rules = changed_rules(RULES, strip_sets=[{**each.model_dump(), "strips": tuple(strips)} for each in RULES.strip_sets])
    assert isinstance(rules, Rules)
    return rules


def stops_of(rules: Rules) -> Any:
    return product(*(range(len(rules.strip(0, reel))) for reel in range(rules.layout.reels)))


def window(strip: list[int], first: int, length: int) -> list[int]:
    return [strip[(first + row) % len(strip)] for row in range(length)]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_board_of_tiny_strips(seed: int) -> None:
    """Pays, scatters, joint counts and falls are those counted over every board there is."""
    rules = tiny_rules(seed)
    strips = [rules.strip(0, reel) for reel in range(6)]
    pays: Counter[int] = Counter()
    scatters: Counter[int] = Counter()
    joint: Counter[tuple[int, int]] = Counter()
    falls: Counter[tuple[int, int]] = Counter()
    triggers: Counter[tuple[int, int]] = Counter()
    boards = 0
    for stops in stops_of(rules):
        boards += 1
        reels = [window(strip, stop, 5) for strip, stop in zip(strips, stops, strict=True)]
        counts = Counter(symbol for reel in reels for symbol in reel)
        scatters[counts[SCATTER]] += 1
        joint[counts[0], counts[HEART]] += 1
        for symbol in PAYING:
            if counts[symbol] < 8:
                continue
            pays[symbol] += pay_x100(rules, symbol, counts[symbol])
            after: Counter[int] = Counter()
            for reel, strip, stop in zip(reels, strips, stops, strict=True):
                gone = reel.count(symbol)
                after.update(each for each in reel if each != symbol)
                after.update(window(strip, stop - gone, gone))
            falls[counts[SCATTER], after[HEART]] += sum(pay_x100(rules, each, after[each]) for each in PAYING)
            triggers[symbol, counts[SCATTER]] += after[SCATTER] >= 4
    assert sum(pays.values()) > 0
    assert sum(falls.values()) > 0
    assert sum(triggers.values()) > 0
    assert first_board_pays(rules, 0) == tuple(Fraction(pays[symbol], 100 * boards) for symbol in PAYING)
    assert scatter_odds(rules, 0) == tuple(Fraction(scatters[count], boards) for count in range(7))
    assert board_odds(rules, 0, [0, HEART]) == {key: Fraction(count, boards) for key, count in joint.items()}
    assert fall_pays(rules, 0) == {key: Fraction(pay, 100 * boards) for key, pay in falls.items() if pay}
    for symbol in PAYING:
        assert fall_trigger_odds(rules, 0, symbol) == tuple(Fraction(triggers[symbol, count], boards) for count in range(7))


@kernel
def count_first_boards(key: list[int], nonce: list[int], count: int, tables: Any, strip_set: int, buffer: Any, seen: list[int]) -> None:
    """Add to `seen` how many first boards show each count of each symbol, 31 places a symbol."""
    start_stream(buffer.stream, key, nonce)
    for _ in range(count):
        land_board(buffer, tables, strip_set)
        count_symbols(buffer, tables.symbol_count)
        for symbol in range(tables.symbol_count):
            seen[31 * symbol + buffer.counts[symbol]] += 1


def first_boards(game: Game, strip_set: int) -> list[list[int]]:
    import numpy

    key = numpy.array(key_words(simulation_key(b"first boards", "moonlight-princess", str(strip_set), 0)), dtype=numpy.int64)
    seen = numpy.zeros(31 * 11, dtype=numpy.int64)
    nonce, tables, buffer = numpy.zeros(3, dtype=numpy.int64), arrays_of(game.tables), arrays_of(game.new_buffer())
    compiled(count_first_boards)(key, nonce, BOARDS, tables, strip_set, buffer, seen)
    return [seen[31 * symbol : 31 * symbol + 31].tolist() for symbol in range(11)]


def p_values_of(rules: Rules, strip_set: int, seen: list[list[int]]) -> dict[str, float]:
    """Return the p-values of each band of each symbol, of its mean pay, and of each scatter count."""
    found = {}
    edges = [*rules.pay_counts.counts, 31]
    for symbol in PAYING:
        odds = board_odds(rules, strip_set, [symbol])
        square = 0.0
        for first, end in pairwise(edges):
            band = float(sum(chance for (count,), chance in odds.items() if first <= count < end))
            found[f"set {strip_set} symbol {symbol} from {first}"] = binomial_p(sum(seen[symbol][first:end]), BOARDS, band)
            square += band * pay_x100(rules, symbol, first) ** 2
        mean = sum(count * pay_x100(rules, symbol, place) for place, count in enumerate(seen[symbol])) / BOARDS
        wanted = 100 * float(first_board_pays(rules, strip_set)[symbol])
        found[f"set {strip_set} symbol {symbol} pay"] = normal_p(mean, wanted, ((square - wanted**2) / BOARDS) ** 0.5)
    for count, chance in enumerate(scatter_odds(rules, strip_set)):
        found[f"set {strip_set} scatters {count}"] = binomial_p(seen[SCATTER][count], BOARDS, float(chance))
    return found


def test_simulated_first_boards_agree_jointly() -> None:
    """On every strip set all bands, pays and scatter counts of half a million first boards agree with the exact ones, jointly at 99%."""
    game = game_of_rules(RULES)
    found: dict[str, float] = {}
    for strip_set in range(3):
        found |= p_values_of(RULES, strip_set, first_boards(game, strip_set))
    assert len(found) == 3 * (9 * 4 + 7)
    assert holm(found) == []


def test_another_strip_is_noticed() -> None:
    """Boards of one strip set are no boards of another: the joint test can fail."""
    assert holm(p_values_of(RULES, 1, first_boards(game_of_rules(RULES), 0)))
