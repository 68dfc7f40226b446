"""The pinned digest of a game: one SHA-256 that moves when any byte of any of 20,000 rounds does."""

import hashlib
from collections.abc import Iterable

from engines.game import EventBytes, Game
from engines.rng import round_key
from engines.rules import first_choices

__all__ = ["PINNED_ROUNDS", "append_form", "pinned_digest"]

PINNED_ROUNDS = 20_000
PINNED_SEED = bytes(range(32))
BET_STEPS = 2


def append_form(events: Iterable[EventBytes]) -> bytes:
    """Return each event's length as unsigned 32-bit big-endian and its bytes, one after the other (`record/1`, item 3)."""
    return b"".join(len(event.data).to_bytes(4, "big") + event.data for event in events)


def pinned_digest(game: Game, mode: str, *, round_count: int = PINNED_ROUNDS) -> str:
    """Return the digest over nonces 0 to round_count - 1 in order, in hex.

    Server seed 00 … 1f, empty client seed, a bet of two steps, the first choice always, the game's first state at
    nonce 0 and then the state out of the nonce before.
    """
    total = hashlib.sha256()
    bet_minor = BET_STEPS * game.rules.bet.coins
    state, choices = game.rules.first_state, first_choices(game.rules)
    for nonce in range(round_count):
        outcome = game.play(round_key(PINNED_SEED, game.rules.game, "", nonce), mode, bet_minor, state, choices)
        state = outcome.state_out
        total.update(append_form(outcome.events))
    return total.hexdigest()
