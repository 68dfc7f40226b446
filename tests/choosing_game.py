"""A tiny game that carries a state and asks: what it wins, leaves and asks for follows its key, its state and the choices."""

import hashlib
from collections.abc import Sequence

from engines.canonical import canonical_json
from engines.game import EventBytes, Outcome
from engines.games.moonlight_princess.rules import Rules
from engines.rules import load_rules
from tests.fake_game import RULES_FILE

__all__ = ["ChoosingGame", "choosing"]

STATES = 5


class _ChoosingRules(Rules):
    """Rules of a game with three things to choose from, whose accounts start in state 1."""

    @property
    def choice_names(self) -> tuple[str, ...]:
        """Return what can be chosen."""
        return ("ann", "bea", "cat")

    @property
    def first_state(self) -> dict[str, int]:
        """Return what an account starts from."""
        return {"place": 1}

    @property
    def states(self) -> tuple[dict[str, int], ...]:
        """Return all that an account can be in."""
        return tuple({"place": place} for place in range(STATES))


class ChoosingGame:
    """Asks `offers` times in a round, the last two of three choices the second time; each choice wins its own amount."""

    def __init__(self, *, offers: int = 1, fingerprint: str = "ab" * 32, salt: bytes = b"") -> None:
        rules = load_rules(RULES_FILE)
        object.__setattr__(rules, "__class__", _ChoosingRules)
        self.rules = rules
        self.fingerprint, self.offers, self.salt = fingerprint, offers, salt

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome of a key."""
        noise = hashlib.sha256(key + mode.encode() + self.salt).digest()
        base = int.from_bytes(noise[28:31]) * bet_minor  # another for every key
        events, total = [_event("cap_hit", total_before_minor=0, uncapped_minor=base, awarded_minor=base)], base
        for number in range(self.offers):
            events.append(_event("choice_offered", choices=[0, 1, 2] if number == 0 else [1, 2]))
            if number == len(choices):
                return Outcome(events, total, base, total - base, "", {}, 8)
            won = noise[1 + 3 * number + choices[number]] * bet_minor
            total += won
            events.append(_event("feature_ended", feature="free_spins", spins_played=1, total_minor=won))
        place = (state_in["place"] + 1 + sum(choices) + noise[31]) % STATES
        return Outcome(events, total, base, total - base, "played", {"place": place}, 8)


def _event(kind: str, **fields: object) -> EventBytes:
    return EventBytes(f"{kind}/1", canonical_json({"kind": kind, "v": 1, **fields}))


_GAMES: dict[int, ChoosingGame] = {}


def choosing(offers: int = 1) -> ChoosingGame:
    """Return one game for all tests: its rules file takes a while to read."""
    if offers not in _GAMES:
        _GAMES[offers] = ChoosingGame(offers=offers)
    return _GAMES[offers]
