"""A round as a ledger holds it, handed to the same referee and totals as an exported one."""

import json
from typing import Any

from ledger.store import RoundRecord
from replay.check import ExportLine, RoundCheck, RulesFor, check_stream

__all__ = ["check_record_events"]


def check_record_events(record: RoundRecord, rules_for: RulesFor, *, is_balance_shown: bool) -> RoundCheck:
    """Return what the referee and the totals find in a recorded round; see `check_rounds`.

    `is_balance_shown` is False where other events moved the account between the round's opening and its settlement,
    or somebody follows the whole account. An event whose bytes are no JSON object counts as one of no known kind.
    """
    lines = []
    append_of = {
        version: number for number, append in enumerate(record.appends) for version in range(append.version_first, append.version_last + 1)
    }
    for row in record.events:
        append = append_of.get(row.version, -1)
        recorded_at = record.appends[append].recorded_at_us if append >= 0 else 0
        lines.append(ExportLine(row.version, record.stream, row.version - 1, append, recorded_at, _values(row.data), row.data))
    return check_stream(record.stream, lines, rules_for, is_balance_shown=is_balance_shown)


def _values(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
