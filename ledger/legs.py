"""Legs: a round is played in one go or stops between two of them, and its game events have the same bytes either way.

A leg ends where the player must act or before the next spin; its events are one append (`record/1`, Legs).
"""

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

from engines.game import EventBytes
from ledger.choices import MADE, OFFERED
from ledger.codec import is_game_topic
from ledger.store import EventRow, RoundRecord

__all__ = ["STANDING_TOPICS", "Standing", "first_leg", "is_completed_by_system", "standing_of", "went_on_at", "won_so_far"]

Standing: TypeAlias = Literal["open", "waiting", "interrupted", "settled", "voided"]
_SHOWN = ("presentation_sent/", "presentation_acked/")
_SPIN, _ENDED, _RESUMED = "spin_started/", "spin_ended/", "round_resumed/"
_STANDINGS: dict[str, Standing] = {
    "round_interrupted/1": "interrupted",
    "round_resumed/1": "open",
    MADE: "open",
    OFFERED: "waiting",
    "round_settled/1": "settled",
    "round_voided/1": "voided",
}
STANDING_TOPICS = tuple(_STANDINGS)


def first_leg(events: Sequence[EventBytes]) -> int:
    """Return how many of the events that an outcome adds to a round are the leg that comes next."""
    is_begun = False
    for place, event in enumerate(events):
        if is_begun and event.topic.startswith(_SPIN):
            return place
        if event.topic == OFFERED:
            return place + 1
        is_begun |= is_game_topic(event.topic)
    return len(events)


def standing_of(later: Sequence[EventRow]) -> Standing:
    """Return how a round stands by the events behind its opening."""
    standing: Standing = "open"
    is_asked = False
    for row in later:
        found = _STANDINGS.get(row.topic)
        if row.topic in (OFFERED, MADE):
            is_asked = row.topic == OFFERED
        if found is not None:
            standing = "waiting" if found == "open" and is_asked else found
    return standing


def went_on_at(record: RoundRecord) -> int:
    """Return when something of a round was recorded last, 0 where nothing was; what was shown of it says nothing of that."""
    shown = {row.version for row in record.events if row.topic.startswith(_SHOWN)}
    times = [append.recorded_at_us for append in record.appends if append.version_first not in shown]
    return times[-1] if times else 0


def is_completed_by_system(later: Sequence[EventRow]) -> bool:
    """Return whether it was the system that went on with a round that was interrupted last."""
    resumed = [row.data for row in later if row.topic.startswith(_RESUMED)]
    return bool(resumed) and json.loads(resumed[-1])["resumed_by"] == "system"


def won_so_far(later: Sequence[EventRow]) -> int:
    """Return what the spins that are recorded have won, in minor units."""
    return sum(json.loads(row.data)["award_minor"] for row in later if row.topic.startswith(_ENDED))
