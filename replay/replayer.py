"""Recorded round against recomputed round, byte for byte; the first difference is a finding."""

import json
from collections.abc import Sequence
from typing import Any

from engines.game import EventBytes, Outcome
from replay.verdict import Finding, Severity

__all__ = ["compare_outcome"]


def compare_outcome(recorded: Sequence[tuple[int, EventBytes]], outcome: Outcome, *, recorded_win_minor: int) -> list[Finding]:
    """Return one finding for the first game event whose bytes differ from the recomputed ones, none where all are equal.

    recorded: the game events with their index in the round's stream, in order. recorded_win_minor: what the round was
    settled with, or what its game events add up to: the finding is about money where the recomputed win is another.
    """
    severity: Severity = "money" if outcome.total_win_minor != recorded_win_minor else "integrity"
    spin_index = -1
    for place, (event_index, event) in enumerate(recorded):
        if event.topic.startswith("spin_started/"):
            spin_index += 1
        if place >= len(outcome.events):
            got = _told(event)
            return [_finding(severity, event_index, spin_index, "event", "no further event", got)]
        recomputed = outcome.events[place]
        if recomputed != event:
            where, want, got = _first_difference(recomputed, event)
            return [_finding(severity, event_index, spin_index, where, want, got)]
    if len(recorded) < len(outcome.events):
        event_index = recorded[-1][0] + 1 if recorded else 1
        missing = outcome.events[len(recorded)]
        return [_finding(severity, event_index, spin_index, "event", _told(missing), "the end of the game events")]
    return []


def _finding(severity: Severity, event_index: int, spin_index: int, where: str, want: str, got: str) -> Finding:
    message = f"event {event_index}, {where}: the seed gives {want}, the record has {got}"
    return Finding("replay_difference", severity, event_index, spin_index, where, want, got, message)


def _told(event: EventBytes) -> str:
    return f"{event.topic} {event.data[:200].decode(errors='replace')}"


def _first_difference(recomputed: EventBytes, recorded: EventBytes) -> tuple[str, str, str]:
    """Return which field of the event differs first, its recomputed and its recorded value."""
    if recomputed.topic != recorded.topic:
        return "kind", recomputed.topic, recorded.topic
    kind = recomputed.topic.split("/")[0]
    wanted = json.loads(recomputed.data)
    try:
        found = json.loads(recorded.data)
    except ValueError:
        return kind, _told(recomputed), _told(recorded)
    for name in wanted:
        if not isinstance(found, dict) or name not in found:
            return f"{kind}.{name}", str(wanted[name]), "no such field"
        if wanted[name] != found[name]:
            return _item_difference(f"{kind}.{name}", wanted[name], found[name])
    return kind, _told(recomputed), _told(recorded)


def _item_difference(where: str, wanted: Any, found: Any) -> tuple[str, str, str]:
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for place, (want, got) in enumerate(zip(wanted, found, strict=True)):
            if want != got:
                return f"{where}[{place}]", str(want), str(got)
    return where, str(wanted), str(found)
