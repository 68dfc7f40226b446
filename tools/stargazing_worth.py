"""What a round of Moon Princess Stargazing is worth, from its parts played apart: the estimator behind its calibration.

A round is a base spin; where that fills the meter a chain of Resonances; and where one of these clears the grid the free spins
of the chosen princess, who starts with the multiplier that the chain ends with. Nothing of a part depends on the parts before it
but this multiplier and how much the cap has left. All sums are of integers (docs/calibration.md).
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

from engines.event_buffer import CAPPED, HEAD_ENDED, HEAD_FIGURES, HEAD_SPINS, HEAD_STATE, HEAD_TOTAL, HEAD_TRIGGERS, LIMITED, clear_head
from engines.games.moon_princess_stargazing.game import FIGURES, OWN_MULTIPLIER, play_base_spin, play_free_spins, play_resonances
from engines.games.moon_princess_stargazing.rules import Rules
from engines.jit import arrays_of, compiled
from engines.registry import game_of_rules
from engines.rng import key_words, simulation_key, simulation_nonce, start_stream
from engines.simulate import CHUNK_ROUNDS

__all__ = ["BASE", "CONFIDENCE", "RESONANCE", "Estimate", "Part", "chunk_sums", "part_of", "start_table", "worth"]

CONFIDENCE = 0.99
BASE, RESONANCE = "base", "resonance"  # the other parts are the princesses by name
SUM_NAMES = ("count", "win", "win_squared", "triggers", "win_triggers", "hits", "capped", "limited", *(name for name, _ in FIGURES))
ROW = 3  # after the sums, for each multiplier from 0: how often, win, win squared
EVENT_WORDS = 1  # no event fits: the kernel plays on and writes none, in half the time


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def interval(self) -> dict[str, float]:
        """Return value, low and high of the normal interval at CONFIDENCE."""
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * self.error
        return {"value": self.mean, "low": self.mean - reach, "high": self.mean + reach}


class Part(NamedTuple):
    """Sums over base spins, over chains of Resonances or over free spins of one princess; money in minor units, one a coin.

    rows: for each multiplier from 0, at which a chain ended with a clear grid or free spins began: how many of them, what
    they won, the sum of its squares.
    """

    sums: dict[str, int]
    rows: list[tuple[int, ...]]
    coins: int

    def each(self, name: str) -> float:
        """Return a sum for each spin, chain or feature that was played; money in bets."""
        return self.sums[name] / self.sums["count"] / (self.coins if name.endswith(("win", "win_minor")) else 1)


def play_parts(
    key: Any, end: int, kind: int, tables: Any, bet_minor: int, readings: Any, starts: Any, nonce: Any, buffer: Any, sums: Any, rows: Any
) -> None:
    """Play base spins (kind -2; the active princess in turn), chains (-1) or free spins of princess `kind`, and add them up."""
    head = buffer.head
    cap_minor = tables.cap_multiple * bet_minor
    for index in range(end):
        simulation_nonce(index, nonce)
        start_stream(buffer.stream, key, nonce)
        clear_head(head)
        row = 0
        if kind == -2:
            head[HEAD_STATE] = index % len(tables.next_princess)
            play_base_spin(buffer, tables, readings, bet_minor, cap_minor)
        elif kind == -1:
            play_resonances(buffer, tables, readings, bet_minor, cap_minor)
            row = head[OWN_MULTIPLIER] * ROW if head[HEAD_ENDED] == 0 else 0
        else:
            head[OWN_MULTIPLIER], head[HEAD_SPINS], row = starts[index], 1, starts[index] * ROW
            play_free_spins(buffer, tables, readings, kind, bet_minor, cap_minor)
        win = head[HEAD_TOTAL]
        rows[row] += 1
        rows[row + 1] += win
        rows[row + 2] += win * win
        sums[0] += 1
        sums[1] += win
        sums[2] += win * win
        sums[3] += head[HEAD_TRIGGERS]
        sums[4] += win * head[HEAD_TRIGGERS]
        sums[5] += 1 if win > 0 else 0
        sums[6] += 1 if head[HEAD_ENDED] == CAPPED else 0
        sums[7] += 1 if head[HEAD_ENDED] == LIMITED else 0
        for figure in range(len(sums) - 8):
            sums[8 + figure] += head[HEAD_FIGURES + figure]


@cache
def _compiled() -> Callable[..., None]:
    return compiled(play_parts)


def chunk_sums(rules: Rules, part: str, seed: bytes, chunk: int, starts: Sequence[int] = ()) -> list[int]:
    """Return SUM_NAMES, then ROW sums for each multiplier, over chunk `chunk` of 2^16 of a part (`rng/1`, item 9).

    starts: for the free spins of a princess the multiplier that each of the 2^16 begins with.
    """
    import numpy

    game = game_of_rules(rules)
    kind = rules.choice_names.index(part) if starts else (-2 if part == BASE else -1)
    key = numpy.array(key_words(simulation_key(seed, rules.game, part, chunk)), dtype=numpy.int64)
    readings, nonce = numpy.array(rules.reading_values(), dtype=numpy.int64), numpy.zeros(3, dtype=numpy.int64)
    sums, rows = numpy.zeros(len(SUM_NAMES), dtype=numpy.int64), numpy.zeros(ROW * (rules.ceiling.multiplier + 1), dtype=numpy.int64)
    buffer, tables = arrays_of(game.new_buffer(event_words=EVENT_WORDS)), arrays_of(game.tables)
    begun = numpy.array(starts, dtype=numpy.int64)
    _compiled()(key, CHUNK_ROUNDS, kind, tables, rules.bet.coins, readings, begun, nonce, buffer, sums, rows)
    return [int(each) for each in (*sums, *rows)]


def part_of(rules: Rules, chunks: list[list[int]]) -> Part:
    """Return the sums of all chunks of one part."""
    total = list(map(sum, zip(*chunks, strict=True)))
    names, rest = dict(zip(SUM_NAMES, total, strict=False)), total[len(SUM_NAMES) :]
    return Part(names, [tuple(rest[at : at + ROW]) for at in range(0, len(rest), ROW)], rules.bet.coins)


def start_table(chains: Part) -> list[int]:
    """Return 2^16 multipliers in the proportions in which the chains ended with a clear grid at them, the lowest first."""
    counts = [0, *(row[0] for row in chains.rows[1:])]
    total, table, seen = sum(counts), [], 0
    for multiplier, count in enumerate(counts):
        seen += count
        table += [multiplier] * ((2 * seen * CHUNK_ROUNDS + total) // (2 * total) - len(table))
    return table


def worth(base: Part, chains: Part, features: Part) -> Estimate:
    """Return the RTP of rounds with such base spins, chains and free spins, the cap's view of the parts before it apart.

    The error has four sources: the base spin and whether it triggers, the chain's own win, at which multiplier free spins
    begin and whether they do, and what they win.
    """
    coins, rate, count = base.coins, base.each("triggers"), chains.sums["count"]
    mean_at = [row[1] / row[0] / coins if row[0] else 0.0 for row in features.rows]
    value = free = squared = spread = 0.0
    for multiplier, (ended, win, win_squared) in enumerate(chains.rows):
        later = mean_at[multiplier] if multiplier else 0.0
        value += (win / coins + ended * later) / count
        squared += (win_squared / coins**2 + 2 * win / coins * later + ended * later**2) / count
        own, played = features.rows[multiplier], features.sums["count"]
        if multiplier and own[0]:
            free += own[0] / played
            spread += (own[0] / played) ** 2 * (own[2] / own[0] / coins**2 - later**2) / own[0]
    share = sum(row[0] for row in chains.rows[1:]) / count
    sums, n = base.sums, base.sums["count"]
    both = (sums["win_squared"] / coins**2 + 2 * value * sums["win_triggers"] / coins + value**2 * sums["triggers"]) / n
    mean = base.each("win") + rate * value
    of_base, of_chains, of_features = (both - mean**2) / n, (squared - value**2) / count, share**2 * spread
    return Estimate(mean, sqrt(of_base + rate**2 * (of_chains + of_features)))
