"""The round under another reading of the rules: the same key, one point decided otherwise, and what it would have paid.

A reading changes evaluation or order, never strips (`rules.md`), so the random numbers are the round's own. Where a reading
lets the round go on, it needs words of the key stream that the recorded round never took: the alternative says how many.
"""

from collections.abc import Iterator
from typing import NamedTuple

from engines.game import Game, Outcome
from engines.registry import game_of_rules
from ledger.choices import offered_by
from replay.terms import PlayTerms

__all__ = ["Alternative", "ReadingUnknownError", "alternatives"]


class ReadingUnknownError(Exception):
    """A game has no such reading, or the reading no such value."""

    exit_status = 2

    def __init__(self, game: str, name: str, value: int, known: tuple[str, ...]) -> None:
        super().__init__(game, name, value, known)
        self.game, self.name, self.value, self.known = game, name, value, known

    def __str__(self) -> str:
        return f"reading {self.name}={self.value} of {self.game}: want one of {', '.join(self.known)}; see `audit rules --game {self.game}`"


class Alternative(NamedTuple):
    """What a round comes to under one other reading. Money in minor units."""

    reading: str
    value: int
    text: str
    is_touched: bool  # whether any game event would be another
    total_win_minor: int
    difference_minor: int  # against the round under the readings as decided
    ended: str
    first_event: int  # index in the round's stream of the first event that would be another, -1 where none would
    words_beyond: int  # random words past those that the round took
    is_choice_assumed: bool  # whether it asks where the round did not, and goes on with the first choice that it offers


def alternatives(game: Game, key: bytes, terms: PlayTerms, *, reading: tuple[str, int] | None = None) -> Iterator[Alternative]:
    """Yield the round that `key` decides under each other reading of the game's rules, or under `reading` alone.

    Each takes the choices of the round as they were made; one that asks where the round did not takes the first that is offered.

    Raises ReadingUnknownError for a reading that the rules do not have.
    """
    others = game.rules.other_readings()
    if reading is not None:
        known = tuple(f"{each.name}={value.value}" for each in game.rules.readings for value in each.values)
        if f"{reading[0]}={reading[1]}" not in known:
            raise ReadingUnknownError(game.rules.game, *reading, known)
        texts = {(each.name, value.value): value.text for each in game.rules.readings for value in each.values}
        others = [(*reading, texts[reading])]
    decided, _ = _play(game, key, terms)
    for name, value, text in others:
        other, is_choice_assumed = _play(game_of_rules(game.rules.with_reading(name, value)), key, terms)
        pairs = zip(decided.events, other.events, strict=False)
        is_touched = list(decided.events) != list(other.events)
        shorter = min(len(decided.events), len(other.events))
        first = next((place for place, (own, its) in enumerate(pairs) if own != its), shorter) + 1
        yield Alternative(
            name,
            value,
            text,
            is_touched,
            other.total_win_minor,
            other.total_win_minor - decided.total_win_minor,
            other.ended,
            first if is_touched else -1,
            max(other.words_used - decided.words_used, 0),
            is_choice_assumed,
        )


def _play(game: Game, key: bytes, terms: PlayTerms) -> tuple[Outcome, bool]:
    outcome, is_choice_assumed = game.play(key, *terms), False
    while outcome.wants_choice:
        terms = terms._replace(choices=(*terms.choices, offered_by(outcome.events)[-1][0]))
        outcome, is_choice_assumed = game.play(key, *terms), True
    return outcome, is_choice_assumed
