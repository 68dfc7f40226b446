"""Rows of played rounds as the monitor takes them, from the compiled kernels: millions without a ledger, faults planted in some."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy

from engines.event_buffer import HEAD_STATE, HEAD_TOTAL, STATUS_BUFFER_FULL
from engines.jit import arrays_of, compiled
from engines.registry import game_of_rules
from engines.rng import key_words, simulation_key, simulation_nonce
from engines.rules import GameRules, first_choices
from replay.return_sums import PlayedRound

__all__ = ["played_rows", "wins_of"]

CHUNK = 1 << 16


@cache
def _chunk(play_round: Callable[..., int]) -> Callable[..., int]:
    def play_chunk(key: Any, fixed: Any, state: Any, choices: Any, nonce: Any, buffer: Any, wins: Any) -> int:
        tables, mode, bet, readings = fixed
        for index in range(len(wins)):
            simulation_nonce(index, nonce)
            if play_round(key, nonce, tables, mode, bet, readings, state, choices, buffer) == STATUS_BUFFER_FULL:
                return -1
            for place in range(len(state)):
                state[place] = buffer.head[HEAD_STATE + place]
            wins[index] = buffer.head[HEAD_TOTAL]
        return len(wins)

    return compiled(play_chunk)


def wins_of(rules: GameRules, mode: str, count: int, seed: bytes) -> Iterator[int]:
    """Yield the wins of so many rounds at a bet of one minor unit a coin; the same for the same seed."""
    game = game_of_rules(rules)
    buffer = arrays_of(game.new_buffer(event_words=1 << 18))
    tables = arrays_of(game.tables)
    readings = numpy.array(rules.reading_values(), dtype=numpy.int64)
    state = numpy.array([rules.first_state[name] for name in game.state_fields], dtype=numpy.int64)
    choices, nonce = numpy.array(first_choices(rules), dtype=numpy.int64), numpy.zeros(3, dtype=numpy.int64)
    fixed = (tables, rules.mode_index(mode), rules.bet.coins, readings)
    for chunk in range(-(-count // CHUNK)):
        key = numpy.array(key_words(simulation_key(seed, rules.game, mode, chunk)), dtype=numpy.int64)
        wins = numpy.zeros(min(CHUNK, count - chunk * CHUNK), dtype=numpy.int64)
        done = _chunk(game.kernel)(key, fixed, state, choices, nonce, buffer, wins)
        assert done == len(wins), "a round did not fit"
        yield from wins.tolist()


def played_rows(
    rules: GameRules, mode: str, count: int, seed: bytes, *, said: GameRules | None = None, coin: int = 1, **terms: Any
) -> Iterator[PlayedRound]:
    """Yield so many rounds of one stake, played by `rules`; the record says that they were played by `said`, the same unless named."""
    named = said or rules
    facts = {"currency": "EUR", "build": "b1", "channel": "web", "opened_at_us": 1, **terms}
    bet = rules.bet.coins * coin
    cost = rules.cost_minor(mode, bet)
    opened = (facts["build"], facts["channel"], facts["opened_at_us"])
    for win in wins_of(rules, mode, count, seed):
        yield PlayedRound(named.rules_hash, named.game, mode, facts["currency"], bet, cost, win * coin, *opened)
