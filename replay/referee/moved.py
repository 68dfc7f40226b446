"""An event that stands far from its place: missing at one place and too many at another, which is one cause and not two."""

from collections.abc import Callable, Sequence

from engines.game_events import GameEvent
from replay.verdict import Finding

__all__ = ["with_event_moved"]

FINDINGS_MAX = 4
PLACES_BEFORE, PLACES_AFTER = 2, 7

Events = Sequence[tuple[int, GameEvent]]
Find = Callable[[Events], list[Finding]]


def with_event_moved(events: Events, findings: list[Finding], find: Find) -> tuple[Events, list[Finding]]:
    """Return the events, and what is found in them, with one event moved where that explains two findings or more by one.

    find: what is found in events. The move itself is a finding; nothing is moved where there are very many findings.
    """
    grave = [finding for finding in findings if finding.severity != "warning"]
    missing = [finding for finding in grave if finding.code.endswith("_missing")]
    if not missing or not 2 <= len(grave) <= FINDINGS_MAX:
        return events, findings
    place_of = {index: place for place, (index, _) in enumerate(events)}
    for source in dict.fromkeys(place_of[finding.event_index] for finding in grave if finding.event_index in place_of):
        for lost in missing:
            middle = place_of.get(lost.event_index, 0)
            for place in range(max(middle - PLACES_BEFORE, 0), min(middle + PLACES_AFTER, len(events))):
                moved = [*events[:source], *events[source + 1 :]]
                moved.insert(place, events[source])
                found = find(moved) if place != source else findings
                if sum(finding.severity != "warning" for finding in found) + 1 < len(grave):
                    return moved, sorted([*found, _misplaced(events, moved, source, place, findings)], key=lambda each: each.event_index)
    return events, findings


def _misplaced(events: Events, moved: Events, source: int, place: int, findings: list[Finding]) -> Finding:
    index, event = events[source]
    spin = next((finding.spin_index for finding in findings if finding.event_index == index), 0)
    after = f"after {moved[place - 1][1].kind} of index {moved[place - 1][0]}" if place else "at the beginning"
    where, want, got = f"spin {spin}, event {event.kind}", f"{event.kind} {after}", f"{event.kind} at index {index}"
    message = f"order of {where}: want {want}, got {got}"
    return Finding("event_order", "integrity", index, spin, where, want, got, message, None)
