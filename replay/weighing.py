"""What a rerun says about findings that the record alone could not weigh: whether money hangs on them, and on which event."""

import json
from collections.abc import Sequence

from engines.game import EventBytes, Outcome
from replay.verdict import Finding

__all__ = ["weigh"]

# Where a field that is not the seed's shows as another event's fault: the code, and how many spins later.
CONTRADICTED_BY = {
    "drop.values": {"heart_value": 0, "multiplier_change": 0, "moon_value": 1, "prize_pay": 0},
    "drop.marks": {"marks": 0, "removed_cells": 0, "turned_cells": 0},
    "drop.stops": {"refill": 0},
    "spin_started.highlighted_cells": dict.fromkeys(
        ("multiplier", "multiplier_invented", "multiplier_missing", "prize_invented", "prize_missing"), 0
    ),
    "power.turned_cells": dict.fromkeys(
        ("power_cells", "power_size", "drop_symbols", "marks", "tumble_cells", "win_missing", "win_invented", "win_cells", "win_symbol"), 0
    ),
}

Recorded = Sequence[tuple[int, EventBytes]]


def weigh(by_record: list[Finding], by_replay: list[Finding], recorded: Recorded, outcome: Outcome) -> list[Finding]:
    """Return the findings of both sides, each cause once, with the severity that the seed gives them.

    by_record: of the referee and the totals. by_replay: of `compare_outcome`, at most one. recorded: the game events with
    their index in the round's stream. Where every amount of them is that of the seed, no finding about an event that is
    not the seed's is of severity `money`; where the first difference is one of money, the finding about its event is.
    Findings about events that are the seed's keep theirs: there the game itself departs from its rules.
    """
    altered = {index for (index, event), own in zip(recorded, outcome.events, strict=False) if event != own}
    findings = _less_consequences(by_record, by_replay, altered)
    if _amounts([event for _, event in recorded]) == _amounts(outcome.events):
        findings = [_weighed(finding, "integrity") if finding.event_index in altered else finding for finding in findings]
    elif by_replay and all(finding.severity != "money" for finding in findings):
        first = by_replay[0]
        findings = [_weighed(finding, first.severity) if finding.event_index == first.event_index else finding for finding in findings]
    named = {finding.event_index for finding in findings}
    return findings + [finding for finding in by_replay if finding.event_index not in named]


def _weighed(finding: Finding, severity: str) -> Finding:
    if {finding.severity, severity} == {"money", "integrity"}:
        return finding._replace(severity="money" if severity == "money" else "integrity")
    return finding


def _less_consequences(by_record: list[Finding], by_replay: list[Finding], altered: set[int]) -> list[Finding]:
    """Return the record's findings without those about events that are the seed's where the value they contradict is not.

    A heart is contradicted in its own spin, by a later drop or the sum; a Moon by its sum, or by the drop of the next respin;
    gold by a later drop, or by the tumble that turns it; a stop, where another shows the same board, by what falls in later;
    highlighted cells by a rise of the multiplier or by the constellation; cells of a power by later ones, wins or drops.
    """
    codes = CONTRADICTED_BY.get(by_replay[0].where.partition("[")[0]) if by_replay else None
    if codes is None:
        return by_record
    return [
        finding
        for finding in by_record
        if finding.event_index in altered or codes.get(finding.code, -1) != finding.spin_index - by_replay[0].spin_index
    ]


def _amounts(events: Sequence[EventBytes]) -> list[tuple[str, int]] | None:
    """Return every amount in minor units, in order; None where an event cannot be read."""
    found: list[tuple[str, int]] = []
    for event in events:
        try:
            fields = json.loads(event.data)
        except (ValueError, RecursionError):
            return None
        if isinstance(fields, dict):
            found += [(name, fields[name]) for name in sorted(fields) if name.endswith("_minor")]
    return found
