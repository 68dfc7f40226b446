"""An event that stands far from its place: missing at one place and too many at another, which is one cause and not two."""

from collections.abc import Callable, Sequence
from itertools import product

from engines.game_events import GameEvent
from replay.verdict import Finding

__all__ = ["with_event_moved"]

FINDINGS_MAX = 6
PLACES_BEFORE, PLACES_AFTER = 2, 7
EVENTS_WALKED_MAX = 40_000  # in all that is tried for one round, so that a long one takes no minutes

Events = Sequence[tuple[int, GameEvent]]
Find = Callable[[Events], list[Finding]]


def with_event_moved(events: Events, findings: list[Finding], find: Find) -> tuple[Events, list[Finding]]:
    """Return the events with one of them moved, and the finding that it was, where that explains two findings or more by one.

    find: what is found in events. Nothing is moved, and no finding returned, where there is no such event or very many findings.
    """
    grave = [finding for finding in findings if finding.severity != "warning"]
    missing = [finding.event_index for finding in grave if finding.code.endswith("_missing")]
    if not missing or not 2 <= len(grave) <= FINDINGS_MAX:
        return events, []
    place_of = {index: place for place, (index, _) in enumerate(events)}
    named = [place_of[finding.event_index] for finding in grave if finding.event_index in place_of]
    sources = dict.fromkeys([*named, *(place - 1 for place in named if place)])  # what it stands before may be named instead
    middles = dict.fromkeys(place_of.get(index, 0) for index in missing)
    best: tuple[Events, list[Finding]] = events, []
    fewest = len(grave) - 1
    tries = EVENTS_WALKED_MAX // len(events)
    for source, middle in product(sources, middles):
        for place in range(max(middle - PLACES_BEFORE, 0), min(middle + PLACES_AFTER, len(events))):
            tries -= 1
            if tries < 0:
                return best
            moved = [*events[:source], *events[source + 1 :]]
            moved.insert(place, events[source])
            found = find(moved) if place != source else findings
            left = sum(finding.severity != "warning" for finding in found)
            if left < fewest:
                best, fewest = (moved, [_misplaced(events, moved, source, place, findings)]), left
            if not fewest:
                return best
    return best


def _misplaced(events: Events, moved: Events, source: int, place: int, findings: list[Finding]) -> Finding:
    index, event = events[source]
    spin = next((finding.spin_index for finding in findings if finding.event_index == index), 0)
    after = f"after {moved[place - 1][1].kind} of index {moved[place - 1][0]}" if place else "at the beginning"
    where, want, got = f"spin {spin}, event {event.kind}", f"{event.kind} {after}", f"{event.kind} at index {index}"
    message = f"order of {where}: want {want}, got {got}"
    return Finding("event_order", "integrity", index, spin, where, want, got, message, None)
