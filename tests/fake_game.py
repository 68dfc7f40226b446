"""A tiny game with the real rules file: every round is drawn from its key, and its events are of the usual number and size."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from engines.canonical import canonical_json
from engines.game import EventBytes, Outcome
from engines.rules import GameRules, load_rules

__all__ = ["FakeGame"]

RULES_FILE = Path(__file__).parents[1] / "engines" / "games" / "moonlight_princess" / "rules-0.1.0.toml"
CELLS = 30


def _event(kind: str, **fields: object) -> EventBytes:
    return EventBytes(f"{kind}/1", canonical_json({"kind": kind, "v": 1, **fields}))


def _drop(drop_index: int, noise: bytes, stops: list[int]) -> EventBytes:
    symbols = [byte % 11 for byte in noise[:CELLS]]
    values = [noise[0] if symbol == 10 else 0 for symbol in symbols]
    return _event("drop", drop_index=drop_index, symbols=symbols, values=values, marks=[0] * CELLS, stops=stops)


class FakeGame:
    """Wins half a bet in three rounds of four, through one tumble; follows the key and nothing else."""

    def __init__(self, *, fingerprint: str = "ab" * 32) -> None:
        self.rules: GameRules = load_rules(RULES_FILE)
        self.fingerprint = fingerprint
        self.play_count = 0

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome of a key."""
        self.play_count += 1
        noise = hashlib.sha256(key + mode.encode()).digest()
        pay_x100 = 50 if noise[31] % 4 else 0
        win_minor = pay_x100 * bet_minor // 100
        events = [
            _event(
                "spin_started",
                spin_index=0,
                part="base",
                strip_set=0,
                spins_left=0,
                multiplier=1,
                total_multiplier=0,
                meter=0,
                highlighted_cells=[],
            ),
            _drop(0, noise, list(noise[:6])),
        ]
        if win_minor:
            cells = list(range(8))
            win = {"symbol": 8, "line": -1, "count": 8, "cells": cells, "ways": 1, "pay_x100": pay_x100, "multiplier": 1}
            events.append(_event("win", **win, win_minor=win_minor))
            fallen = [[noise[i] % 9] for i in range(6)]
            events.append(_event("tumble", removed_cells=cells, turned_cells=[], turned_symbols=[], new_symbols=fallen))
            events.append(_drop(1, noise[::-1], []))
        events.append(_event("spin_ended", spin_multiplier=1, cut_minor=0, award_minor=win_minor, total_minor=win_minor, meter=0))
        return Outcome(events, win_minor, win_minor, 0, "played", dict(state_in), 8)
