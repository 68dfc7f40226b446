"""Disputes as their events make them, for the check of a whole ledger: opened about rounds that are there, closed once."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from ledger.faults import EventFault
from ledger.store import LEDGER_STREAM

__all__ = ["RecomputedDisputes"]


class RecomputedDisputes:
    """The disputes so far: when each came in, and whether it is closed."""

    def __init__(self) -> None:
        self._received: dict[str, int] = {}
        self._closed: set[str] = set()

    def open(
        self, stream: str, values: dict[str, Any], is_round_known: Callable[[str], bool], accounts: Collection[str]
    ) -> Iterator[EventFault]:
        """Take a `dispute_opened` and yield what is wrong with it; raises KeyError or TypeError for missing or wrong fields."""
        dispute_id, received_at = values["dispute_id"], values["received_at_us"]
        if stream != LEDGER_STREAM:
            yield "dispute_stream", "stream of dispute_opened", LEDGER_STREAM, stream
        if dispute_id in self._received:
            yield "dispute_twice", f"openings of dispute {dispute_id}", "one", "another"
        self._received.setdefault(dispute_id, received_at)
        if received_at > values["recorded_at_us"]:
            want = f"{values['recorded_at_us']} or earlier, when it was recorded"
            yield "dispute_times", f"receipt of dispute {dispute_id}", want, str(received_at)
        if not values["round_ids"]:
            yield "dispute_round", f"rounds of dispute {dispute_id}", "one at least", "none"
        for round_id in values["round_ids"]:
            if not is_round_known(round_id):
                yield "dispute_round", f"round of dispute {dispute_id}", "one opened before it", round_id
        if values["claimant_ref"] and values["claimant_ref"] not in accounts:
            yield "account_unknown", "account of dispute_opened", "an account that was opened", values["claimant_ref"]

    def close(self, stream: str, values: dict[str, Any]) -> Iterator[EventFault]:
        """Take a `dispute_closed` and yield what is wrong with it; raises KeyError or TypeError for missing or wrong fields."""
        dispute_id, answered_at, closed_at = values["dispute_id"], values["answered_at_us"], values["closed_at_us"]
        if stream != LEDGER_STREAM:
            yield "dispute_stream", "stream of dispute_closed", LEDGER_STREAM, stream
        if dispute_id in self._closed:
            yield "dispute_closed_twice", f"closings of dispute {dispute_id}", "one", "another"
        self._closed.add(dispute_id)
        received_at = self._received.get(dispute_id)
        if received_at is None:
            yield "dispute_unknown", "dispute of dispute_closed", "one opened before it", dispute_id
        elif not received_at <= answered_at <= closed_at:
            want = f"between {received_at}, when it came in, and {closed_at}, when it was closed"
            yield "dispute_times", f"answer to dispute {dispute_id}", want, str(answered_at)
