"""Rounds of Moon Princess Stargazing by the kernel, as lists of plain events, and boards put before it by hand."""

import json
from functools import cache
from typing import Any

from engines.decode import decode
from engines.event_buffer import HEAD_METER, HEAD_POSITION, HIGHLIGHTED, PART_BASE, RoundBuffer
from engines.game import Game, Outcome
from engines.games.moon_princess_stargazing.game import OWN_DARK, OWN_MULTIPLIER, play_to_rest
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules
from tests.stargazing_boards import LETTERS
from tests.stargazing_rules import INSTALLED

__all__ = ["BET", "SEED", "amount_of", "board_buffer", "events_of", "game_by", "key_of", "play", "play_board", "spins_of"]

SEED = bytes(range(32))
BET = 100
CAP_MINOR = 10**12
_GAMES: dict[str, Game] = {}


def game_by(rules: GameRules) -> Game:
    """Return the compiled game by these rules, kept for the next rounds."""
    if rules.rules_hash not in _GAMES:
        _GAMES[rules.rules_hash] = game_of_rules(rules)
        _GAMES[rules.rules_hash].compile()
    return _GAMES[rules.rules_hash]


def key_of(nonce: int) -> bytes:
    """Return the round key of a nonce of these tests."""
    return round_key(SEED, INSTALLED.game, "", nonce)


@cache
def _played(rules_hash: str, nonce: int, princess: int, choices: tuple[int, ...]) -> Outcome:
    return _GAMES[rules_hash].play(key_of(nonce), "base", BET, {"princess": princess}, choices)


def play(rules: GameRules, nonce: int, princess: int = 2, choices: tuple[int, ...] = (0,)) -> Outcome:
    """Return a round by compiled rules; `princess` is active before it."""
    game_by(rules)
    return _played(rules.rules_hash, nonce, princess, choices)


def amount_of(rules: GameRules, nonce: int, **terms: Any) -> int:
    """Return what a round wins in minor units."""
    return play(rules, nonce, **terms).total_win_minor


def events_of(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the events of a round as plain values, each with its `kind`."""
    return [json.loads(event.data) for event in outcome.events]


def spins_of(outcome: Outcome) -> list[list[dict[str, Any]]]:
    """Return the events of each spin from `spin_started` to `spin_ended`."""
    spins: list[list[dict[str, Any]]] = []
    is_open = False
    for event in events_of(outcome):
        if event["kind"] == "spin_started":
            spins.append([])
            is_open = True
        if is_open:
            spins[-1].append(event)
        is_open = is_open and event["kind"] != "spin_ended"
    return spins


def board_buffer(rules: GameRules, board: str, *, multiplier: int = 1, highlighted: tuple[int, ...] = (), meter: int = 0) -> RoundBuffer:
    """Return a buffer that shows a board of letters (see `stargazing_boards`), as a spin that has just landed."""
    buffer = game_by(rules).new_buffer()
    for cell, letter in enumerate(board):
        buffer.symbols[cell] = 9 if letter == "." else LETTERS.index(letter.replace("P", "W"))
        buffer.marks[cell] = 2 if letter == "P" else 0
    for cell in highlighted:
        buffer.highlights[cell] = HIGHLIGHTED
    buffer.head[OWN_MULTIPLIER], buffer.head[OWN_DARK], buffer.head[HEAD_METER] = multiplier, len(highlighted), meter
    return buffer


def play_board(
    rules: GameRules, board: str, *, bet: int = BET, cap_minor: int = CAP_MINOR, **shown: Any
) -> tuple[int, RoundBuffer, list[dict[str, Any]]]:
    """Play a board to rest in plain Python; return how it ended, the buffer and the events. shown: as of `board_buffer`."""
    buffer = board_buffer(rules, board, **shown)
    result = play_to_rest(buffer, game_by(rules).tables, rules.reading_values(), PART_BASE, bet, cap_minor)
    return result, buffer, [event.model_dump(mode="json") for event in decode(buffer.events, buffer.head[HEAD_POSITION])]
