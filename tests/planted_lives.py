"""Rounds that are played leg by leg, and a ledger that records something else than what happened."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engines.canonical import RecordedEvent, canonical_json, strict_values
from engines.game import EventBytes
from engines.registry import installed_game
from ledger.bets import Game
from ledger.codec import event_bytes
from ledger.profile import Profile, shipped_profile
from ledger.rounds import RoundLedger

__all__ = ["begun", "moonlight", "recorded_as", "shipped", "slipped_in"]

_GAMES: dict[str, Game] = {}


def moonlight() -> Game:
    """Return one game for all tests, whose mode `buy` plays ten legs and more."""
    return _GAMES.setdefault("moonlight", installed_game("moonlight-princess"))


def shipped(profile_id: str) -> Profile:
    """Return a profile that comes with the program."""
    profile = shipped_profile(profile_id)
    assert profile is not None
    return profile


def begun(ledger: RoundLedger, account_ref: str, legs: int = 2) -> str:
    """Return the id of a new round that has come to the end of some legs."""
    round_id = ledger.open_round(account_ref, moonlight(), "buy", 200).round_id
    for _ in range(legs):
        ledger.play_leg(round_id, moonlight())
    return round_id


def slipped_in(ledger: RoundLedger, round_id: str, *events: RecordedEvent | EventBytes) -> None:
    """Record events behind those of a round in play as if they were a leg; nothing else follows from them."""
    rows = [event if isinstance(event, EventBytes) else event_bytes(event) for event in events]
    version_last = len(ledger.round_events(round_id))
    ledger.store.leave_round(round_id, version_last, lambda _: rows, status="open")


@contextmanager
def recorded_as(ledger: RoundLedger, kind: str, **values: object) -> Iterator[None]:
    """Have each event of a kind recorded with other values, as a faulty program would: the tree is over what is recorded."""
    append = ledger.store._append

    def append_changed(cursor: Any, stream: str, version_first: int, events: Any, now: int) -> None:
        append(cursor, stream, version_first, [_changed(event) for event in events], now)

    def _changed(event: EventBytes) -> EventBytes:
        if event.topic.partition("/")[0] != kind:
            return event
        return EventBytes(event.topic, canonical_json({**(strict_values(event.data) or {}), **values}))

    ledger.store._append = append_changed  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ledger.store._append
