"""`retention`: until when what is recorded must be kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from audit_reports.options import AsOfOption, JsonOption, LedgerOption, ZoneOption, named_ledger, parse_time
from audit_reports.output import follow, print_json, print_line, table, time_text

if TYPE_CHECKING:
    from ledger.retention import KeptRecords

__all__ = ["register"]

HEADS = ("kind", "profile", "days", "kept", "not ended", "oldest must be kept until", "past", "on hold", "may go")
NUMBERS = frozenset((2, 3, 4, 6, 7, 8))


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("retention")(retention)


def retention(
    as_of: AsOfOption = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Say how long rounds, incidents and complaints must be kept, by the profile that each round names. Nothing is deleted.

    A record that must still be there and is not cannot be seen here: `audit fsck` sees that, by the leaf that it left.
    Example: audit retention --as-of 2031-12-01 --tz UTC
    """
    from ledger.retention import NOT_COUNTED_KINDS, round_records, weigh_retention
    from ledger.rounds import RoundLedger

    asked_us = parse_time(as_of, "--as-of", zone)
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        store = opened.store
        as_of_us = store.clock() if asked_us is None else asked_us
        kept = weigh_retention(store, follow(round_records(store), what="rounds weighed", total=None), as_of_us)
    finally:
        opened.close()
    if as_json:
        facts = {"kept": [_facts(row) for row in kept], "not_counted": list(NOT_COUNTED_KINDS)}
        print_json({"schema": "retention/1", "as_of_us": as_of_us, **facts})
    else:
        for line in _lines(kept, as_of_us, NOT_COUNTED_KINDS):
            print_line(line)


def _facts(row: "KeptRecords") -> dict[str, Any]:
    names = ("kept_count", "unended_count", "keep_until_us", "past_count", "held_count", "free_count")
    profile = row.profile
    named = {
        "profile": profile.name if profile is not None else None,
        "profile_hash": profile.profile_hash if profile is not None else None,
    }
    return {"kind": row.kind, **named, "days": row.days, **{name: getattr(row, name) for name in names}}


def _lines(kept: "list[KeptRecords]", as_of_us: int, not_counted: tuple[str, ...]) -> Iterator[str]:
    yield f"as of {time_text(as_of_us)}"
    if kept:
        yield from table(HEADS, map(_row, kept), right=NUMBERS)
    else:
        yield "nothing is recorded that a profile names"
    yield f"not counted: {', '.join(not_counted).replace('_', ' ')}; no end of them stands in the record"


def _row(row: "KeptRecords") -> tuple[str, ...]:
    profile = f"{row.profile.name} {row.profile.profile_hash[:8]}" if row.profile is not None else "not known, all stay"
    counts = (str(count) for count in (row.past_count, row.held_count, row.free_count))
    days = str(row.days) if row.days is not None else ""
    return row.kind, profile, days, str(row.kept_count), str(row.unended_count), time_text(row.keep_until_us), *counts
