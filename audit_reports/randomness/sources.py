"""Where tested numbers come from: raw words of the product's own generator, and draws in every range that a game uses.

All come from `rng/1` as rounds have it, by the compiled kernels that play: nothing is a copy of generator or scaling.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from audit_reports.long_simulation import configurations
from engines.game import Game
from engines.rng import STREAM_LENGTH, below, key_words, next_word, simulation_key, start_stream
from engines.rules import GameRules

__all__ = ["WORD_RANGE", "Range", "Source", "drawn_pairs", "ranges_of", "sources_of", "stated_ranges"]

WORD_RANGE = 1 << 32
LOGGED_ROUNDS = 400  # of each configuration, whose draw logs are read
PAIRS_MAX = 60


class Range(NamedTuple):
    """A range that a game draws from: 0 to n - 1, and for what."""

    n: int
    purposes: tuple[str, ...]


class Source(NamedTuple):
    """Numbers to be tested: what they are, their range, and how so many of them are had as an array of int64.

    second: the range of every other draw, where two ranges are drawn from in turn; 0 for one range.
    """

    name: str
    n: int
    purposes: tuple[str, ...]
    make: Callable[[int], Any]
    second: int = 0


@cache
def _fill_words() -> Callable[..., None]:
    from engines.jit import compiled

    def fill_words(stream: Any, words: Any) -> None:
        for place in range(len(words)):
            words[place] = next_word(stream)

    return compiled(fill_words)


@cache
def _fill_draws() -> Callable[..., None]:
    from engines.jit import compiled

    def fill_draws(stream: Any, first: int, second: int, draws: Any) -> None:
        for place in range(len(draws)):
            draws[place] = below(stream, first if place % 2 == 0 else second, 0)

    return compiled(fill_draws)


def _stream(seed: bytes, what: str) -> Any:
    """Return the key stream of a source: a key of its own for each, from the simulation seed (`rng/1`, item 9)."""
    import numpy

    started = [0] * STREAM_LENGTH
    start_stream(started, key_words(simulation_key(seed, "random-tests", what, 0)), [0, 0, 0])
    return numpy.array(started, dtype=numpy.int64)


def sources_of(game: Game, seed: bytes) -> list[Source]:
    """Return raw words, draws in every range of a game with more than one value, and pairs of ranges that are drawn in turn."""
    raw = Source("raw words", WORD_RANGE, ("every draw",), lambda count: _words(seed, count))
    scaled = [Source(f"range {each.n}", each.n, each.purposes, _drawing(seed, each.n, each.n)) for each in ranges_of(game) if each.n > 1]
    pairs = [
        Source(f"ranges {first} and {second}", first, (), _drawing(seed, first, second), second) for first, second in drawn_pairs(game)
    ]
    return [raw, *scaled, *pairs]


def _words(seed: bytes, count: int) -> Any:
    import numpy

    words = numpy.zeros(count, dtype=numpy.int64)
    _fill_words()(_stream(seed, "raw words"), words)
    return words


def _drawing(seed: bytes, first: int, second: int) -> Callable[[int], Any]:
    def make(count: int) -> Any:
        import numpy

        draws = numpy.zeros(count, dtype=numpy.int64)
        _fill_draws()(_stream(seed, f"range {first} {second}"), first, second, draws)
        return draws

    return make


def ranges_of(game: Game) -> list[Range]:
    """Return every range that the rules state or that played rounds were seen to draw from, with what for, in order."""
    purposes: dict[int, set[str]] = {n: set() for n in stated_ranges(game.rules)}
    for purpose, n in _seen(game):
        purposes.setdefault(n, set()).add(purpose)
    return [Range(n, tuple(sorted(purposes[n]))) for n in sorted(purposes)]


def stated_ranges(rules: GameRules) -> set[int]:
    """Return the ranges that a rules file leads to by itself: lengths of strips and sums of weights."""
    found = {len(strip) for part in rules.strip_sets for strip in part.strips}
    found.update(_weight_sums(rules.model_dump()))
    return {n for n in found if n > 0}


def _weight_sums(values: Any) -> Iterator[int]:
    if isinstance(values, dict):
        if "total" in values:
            yield values["total"]
        elif isinstance(values.get("weights"), list | tuple):
            yield sum(values["weights"])
        for names in (("act", "rest"), ("moon", "blank")):
            if all(isinstance(values.get(name), int) for name in names):
                yield sum(values[name] for name in names)
        for value in values.values():
            yield from _weight_sums(value)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _weight_sums(value)


@cache
def _draw_logs(game: Game) -> list[list[tuple[str, int]]]:
    """Return purpose and range of each draw of some rounds of every configuration, keys fixed."""
    rules, logs = game.rules, []
    for configuration in configurations(rules):
        choices = (rules.choice_names.index(configuration.choice),) if configuration.choice else ()
        for number in range(LOGGED_ROUNDS):
            key = sha256(f"draws of {configuration.name} {number}".encode()).digest()
            logs.append(
                [(draw.purpose, draw.n) for draw in game.draws(key, configuration.mode, rules.bet.coins, rules.first_state, choices)]
            )
    return logs


def _seen(game: Game) -> set[tuple[str, int]]:
    return {draw for log in _draw_logs(game) for draw in log}


def drawn_pairs(game: Game) -> list[tuple[int, int]]:
    """Return ranges that follow each other in rounds, those that are drawn most often first, and at most PAIRS_MAX of them."""
    counts: Counter[tuple[int, int]] = Counter()
    for log in _draw_logs(game):
        counts.update((first, second) for (_, first), (_, second) in pairwise(log) if first > 1 and second > 1)
    return [pair for pair, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:PAIRS_MAX]]
