"""Many rounds of a game to integer sums, by the kernel that plays the recorded ones.

Rounds come in chunks of 2^16, each with a key of its own (`rng/1`, item 9), so any worker can play any chunk and the
sums never depend on how many workers there are.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from math import sqrt
from multiprocessing import get_context
from statistics import NormalDist
from typing import Any, NamedTuple

from engines.event_buffer import (
    CAPPED,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_FIGURES,
    HEAD_SPINS,
    HEAD_STATE,
    HEAD_STRIP_SET,
    HEAD_TOTAL,
    HEAD_TRIGGERS,
    LIMITED,
    STATUS_BUFFER_FULL,
)
from engines.game import Game
from engines.registry import game_of_rules
from engines.rng import key_words, simulation_key, simulation_nonce
from engines.rules import GameRules, first_choices
from engines.workers import start_worker

__all__ = ["CHUNK_ROUNDS", "SUM_NAMES", "ReturnEstimate", "Sums", "estimate_return", "simulate"]

CHUNK_ROUNDS = 1 << 16
WAITING_PER_JOB = 4  # chunks handed to a worker before their time, so that none waits and memory stays the same
STRATA_MAX = 8
HISTOGRAM_LENGTH = 32
SUM_NAMES = (
    "rounds",
    "win_minor",
    "base_win_minor",
    "win_minor_squared",
    "hits",
    "triggers",
    "capped",
    "limited",
    "feature_spins",
    "win_minor_max",
)
SUM_COUNT = len(SUM_NAMES)
ROUNDS, WIN, BASE, SQUARED, HITS, TRIGGERS, CAPS, LIMITS, SPINS, MAX = range(SUM_COUNT)


class Sums(NamedTuple):
    """Sums over rounds: one row of SUM_NAMES for each stratum, a histogram of wins, and the figures of the game's own.

    A stratum is the strip set of spin 0, by its place in the rules file. histogram[0] counts rounds without a win,
    histogram[k] those that won from 2^(k-2) up to below 2^(k-1) bets (k = 1: less than one bet); class_wins and class_squares
    are the sums of their wins and of the squares of these. figures: in the order of `Game.figures`, empty where a game has none.
    """

    strata: list[list[int]]
    histogram: list[int]
    class_wins: list[int]
    class_squares: list[int]
    figures: list[int]

    def total(self, name: str) -> int:
        """Return a sum over all strata (the highest, for `win_minor_max`)."""
        place = SUM_NAMES.index(name)
        values = [row[place] for row in self.strata]
        return max(values) if place == MAX else sum(values)

    def plus(self, other: "Sums") -> "Sums":
        """Return the sums over the rounds of both."""
        strata = [
            [max(a, b) if i == MAX else a + b for i, (a, b) in enumerate(zip(mine, theirs, strict=True))]
            for mine, theirs in zip(self.strata, other.strata, strict=True)
        ]
        counts, wins, squares, figures = (
            [a + b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in zip(self[1:], other[1:], strict=True)
        )
        return Sums(strata, counts, wins, squares, figures)


class ReturnEstimate(NamedTuple):
    """RTP (wins divided by costs) seen over rounds, with a normal interval; all as fractions."""

    rtp_observed: float
    rtp_low: float
    rtp_high: float
    confidence: float


@cache
def _chunk_kernel(play_round: Callable[..., int]) -> Callable[..., int]:
    def play_chunk(
        key: Any,
        first: int,
        end: int,
        tables: Any,
        mode: int,
        bet_minor: int,
        readings: Any,
        state: Any,
        choices: Any,
        nonce: Any,
        buffer: Any,
        sums: Any,
        classes: Any,
        figures: Any,
    ) -> int:
        head = buffer.head
        for index in range(first, end):
            simulation_nonce(index, nonce)
            if play_round(key, nonce, tables, mode, bet_minor, readings, state, choices, buffer) == STATUS_BUFFER_FULL:
                return index
            for i in range(len(state)):
                state[i] = head[HEAD_STATE + i]
            win = head[HEAD_TOTAL]
            row = head[HEAD_STRIP_SET] * SUM_COUNT
            sums[row + ROUNDS] += 1
            sums[row + WIN] += win
            sums[row + BASE] += head[HEAD_BASE]
            sums[row + SQUARED] += win * win
            sums[row + HITS] += 1 if win > 0 else 0
            sums[row + TRIGGERS] += head[HEAD_TRIGGERS]
            sums[row + CAPS] += 1 if head[HEAD_ENDED] == CAPPED else 0
            sums[row + LIMITS] += 1 if head[HEAD_ENDED] == LIMITED else 0
            sums[row + SPINS] += head[HEAD_SPINS]
            sums[row + MAX] = max(sums[row + MAX], win)
            place = 0 if win == 0 else 1
            reached = bet_minor
            while win >= reached and place < HISTOGRAM_LENGTH - 1:
                reached *= 2
                place += 1
            classes[0][place] += 1
            classes[1][place] += win
            classes[2][place] += win * win
            for i in range(len(figures)):
                figures[i] += head[HEAD_FIGURES + i]
        return end

    return play_chunk


class _ChunkTask(NamedTuple):
    rules: GameRules
    mode: str
    seed: bytes
    chunk: int
    round_count: int
    choices: tuple[int, ...]


@cache
def _game_by_hash(rules_hash: str) -> list[Game]:
    del rules_hash
    return []


def _play_chunk(task: _ChunkTask) -> Sums:
    import numpy

    from engines.jit import arrays_of, compiled

    kept = _game_by_hash(task.rules.rules_hash)
    if not kept:
        kept.append(game_of_rules(task.rules))
    game = kept[0]
    run = compiled(_chunk_kernel(game.kernel))
    key = numpy.array(key_words(simulation_key(task.seed, task.rules.game, task.mode, task.chunk)), dtype=numpy.int64)
    buffer, tables = arrays_of(game.new_buffer()), arrays_of(game.tables)
    readings = numpy.array(task.rules.reading_values(), dtype=numpy.int64)
    state = numpy.array([task.rules.first_state[name] for name in game.state_fields], dtype=numpy.int64)
    choices, figures = numpy.array(task.choices, dtype=numpy.int64), numpy.zeros(len(game.figures), dtype=numpy.int64)
    nonce, sums = numpy.zeros(3, dtype=numpy.int64), numpy.zeros(STRATA_MAX * SUM_COUNT, dtype=numpy.int64)
    classes = numpy.zeros((3, HISTOGRAM_LENGTH), dtype=numpy.int64)
    mode = task.rules.mode_index(task.mode)
    bet_minor = task.rules.bet.coins
    first = 0
    while first < task.round_count:
        arguments = (tables, mode, bet_minor, readings, state, choices, nonce, buffer, sums, classes, figures)
        first = run(key, first, task.round_count, *arguments)
        if first < task.round_count:
            buffer = buffer._replace(events=numpy.zeros(2 * len(buffer.events), dtype=numpy.int64))
    rows = [sums[i * SUM_COUNT : (i + 1) * SUM_COUNT].tolist() for i in range(len(task.rules.strip_sets))]
    counts, class_wins, class_squares = classes.tolist()
    return Sums(rows, counts, class_wins, class_squares, figures.tolist())


def simulate(
    rules: GameRules,
    mode: str,
    round_count: int,
    *,
    seed: bytes,
    choices: tuple[int, ...] = (),
    job_count: int = 1,
    first_chunk: int = 0,
) -> Iterator[Sums]:
    """Yield the sums of each chunk of `round_count` rounds in `mode` in the order of chunks, at a bet of one minor unit a coin.

    seed: the simulation seed, any length. choices: the choice that all rounds take, by its place in `rules.choice_names`;
    the first one unless it is given. first_chunk: those before it are left out. Raises KeyError for an unknown mode.
    """
    rules.mode_index(mode)
    chunk_count = -(-round_count // CHUNK_ROUNDS)
    tasks = (
        _ChunkTask(rules, mode, seed, chunk, min(CHUNK_ROUNDS, round_count - chunk * CHUNK_ROUNDS), choices or first_choices(rules))
        for chunk in range(first_chunk, chunk_count)
    )
    if job_count <= 1 or chunk_count - first_chunk <= 1:
        yield from map(_play_chunk, tasks)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(min(job_count, chunk_count), context, start_worker, (os.getpid(),)) as pool:
        waiting = deque(pool.submit(_play_chunk, task) for task in islice(tasks, WAITING_PER_JOB * job_count))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(_play_chunk, task) for task in islice(tasks, 1))


def estimate_return(rules: GameRules, mode: str, sums: Sums, *, confidence: float = 0.99) -> ReturnEstimate:
    """Return the RTP of simulated rounds with a normal interval of the mean at `confidence`; at least one round."""
    count = sums.total("rounds")
    cost = rules.cost_minor(mode, rules.bet.coins)
    mean = sums.total("win_minor") / count
    variance = max(sums.total("win_minor_squared") / count - mean * mean, 0.0)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(variance / count)
    return ReturnEstimate(mean / cost, (mean - reach) / cost, (mean + reach) / cost, confidence)
