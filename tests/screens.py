"""What a client that makes no mistake is told to show of a round, reckoned from the bytes of its events alone."""

import json
from collections.abc import Sequence

from ledger.presentations import Shown
from ledger.rounds import RoundLedger
from ledger.store import EventRow

__all__ = ["right_screens", "screens_of"]


def right_screens(rows: Sequence[EventRow]) -> list[Shown]:
    """Return what is right to show up to the end of each spin; a balance where the round is settled."""
    events = [json.loads(row.data) for row in rows]
    balances = [event["balance_after_minor"] for event in events if event["kind"] == "round_settled"]
    ended = [(index, event["award_minor"]) for index, event in enumerate(events) if event["kind"] == "spin_ended"]
    totals = [sum(award for _, award in ended[: number + 1]) for number in range(len(ended))]
    return [Shown(index, award, total, *balances) for (index, award), total in zip(ended, totals, strict=True)]


def screens_of(ledger: RoundLedger, round_id: str) -> list[Shown]:
    """Return what is right to show of a recorded round so far."""
    return right_screens(ledger.round_events(round_id))
