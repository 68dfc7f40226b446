"""A round as a ledger holds it, handed to the same referee and totals as an exported one."""

import json
from collections.abc import Callable
from typing import Any

from ledger.lifecycle_events import RoundOpened
from ledger.store import RoundRecord
from replay.check import RoundCheck, RulesFor, check_stream
from replay.export_lines import ExportLine
from replay.states import LeftState

__all__ = ["check_record_events"]


def check_record_events(
    record: RoundRecord,
    rules_for: RulesFor,
    *,
    is_balance_shown: bool,
    before: Callable[[RoundOpened], LeftState | None] | None = None,
    is_state_followed: bool = False,
    are_legs_judged: bool = True,
) -> RoundCheck:
    """Return what the referee and the totals find in a recorded round; see `check_rounds`.

    `is_balance_shown` is False where other events moved the account between the round's opening and its settlement,
    or somebody follows the whole account. An event whose bytes are no JSON object counts as one of no known kind.
    `before`, `is_state_followed` and `are_legs_judged` are as in `check_stream`.
    """
    lines = []
    number = 0
    for row in record.events:
        # Appends come in the order of their versions; where they do not cover an event it belongs to none.
        while number < len(record.appends) and record.appends[number].version_last < row.version:
            number += 1
        is_covered = number < len(record.appends) and record.appends[number].version_first <= row.version
        append = number if is_covered else -1
        recorded_at = record.appends[number].recorded_at_us if is_covered else 0
        lines.append(ExportLine(row.version, record.stream, row.version - 1, append, recorded_at, _values(row.data), row.data))
    return check_stream(
        record.stream,
        lines,
        rules_for,
        is_balance_shown=is_balance_shown,
        before=before,
        is_state_followed=is_state_followed,
        are_legs_judged=are_legs_judged,
    )


def _values(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
