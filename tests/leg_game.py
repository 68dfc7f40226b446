"""A tiny game of several spins whose wins are given: for what happens between two legs, whatever the key."""

from collections.abc import Sequence

from engines.canonical import canonical_json
from engines.game import EventBytes, Outcome
from engines.rules import GameRules, load_rules
from tests.fake_game import RULES_FILE

__all__ = ["LegGame", "other_game"]


def _event(kind: str, **fields: object) -> EventBytes:
    return EventBytes(f"{kind}/1", canonical_json({"kind": kind, "v": 1, **fields}))


def _spin(index: int, left: int, win_minor: int, total_minor: int) -> list[EventBytes]:
    started = {"part": "free_spins" if index else "base", "strip_set": 0, "spins_left": left, "multiplier": 1, "total_multiplier": 0}
    return [
        _event("spin_started", spin_index=index, meter=0, highlighted_cells=[], **started),
        _event("spin_ended", spin_multiplier=1, cut_minor=0, award_minor=win_minor, total_minor=total_minor, meter=0),
    ]


class LegGame:
    """Has a leg for each of its wins, in minor units."""

    def __init__(self, *wins: int, game: str = "") -> None:
        self.rules: GameRules = load_rules(RULES_FILE)
        if game:
            self.rules = self.rules.model_copy(update={"game": game})
        self.fingerprint, self.wins = "ab" * 32, wins or (100, 0, 700)

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the same wins for every key."""
        events: list[EventBytes] = []
        for index, win in enumerate(self.wins):
            events += _spin(index, len(self.wins) - index - 1, win, sum(self.wins[: index + 1]))
        return Outcome(events, sum(self.wins), self.wins[0], sum(self.wins[1:]), "played", dict(state_in), 8)


def other_game() -> LegGame:
    """Return a game of another name."""
    return LegGame(50, game="another-game")
