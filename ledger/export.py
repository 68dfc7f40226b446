"""The record as JSON lines, one for each event, for anyone's tools."""

import json
from collections.abc import Iterable, Iterator

from ledger.errors import RoundUnknown
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM, EventRow, LeafRow, RoundRecord

__all__ = ["export_all", "export_lines", "export_round"]


def export_round(ledger: RoundLedger, round_id: str, *, is_canonical: bool = False) -> Iterator[bytes]:
    """Return the lines of one round; raises RoundUnknown."""
    record = next(iter(ledger.store.records_of([ROUND_STREAM + round_id])))
    if not record.events:
        raise RoundUnknown(round_id, "it has no events")
    return export_lines([record], is_canonical=is_canonical)


def export_all(ledger: RoundLedger, *, is_canonical: bool = False) -> Iterator[bytes]:
    """Return the lines of all rounds in the order of opening, a round's events together."""
    return export_lines(ledger.store.round_records(), is_canonical=is_canonical)


def export_lines(records: Iterable[RoundRecord], *, is_canonical: bool = False) -> Iterator[bytes]:
    """Iterate over a line for each event, without the line's end: the event's bytes alone, or with their place around them."""
    for record in records:
        for event in record.events:
            yield event.data if is_canonical else _line(record, event)


def _line(record: RoundRecord, event: EventRow) -> bytes:
    """Return one line; an event that no append covers has `append` -1 and `recorded_at` 0."""
    append, recorded_at_us = _append_of(record.appends, event.version)
    place = {
        "round_id": record.round_id,
        "stream": record.stream,
        "index": event.version - 1,
        "append": append,
        "recorded_at": recorded_at_us,
    }
    head = json.dumps(place, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")[:-1]
    if not _is_one_line_of_json(event.data):
        # Altered bytes are shown as they are and not as an event.
        return head + b',"event":null,"event_hex":"' + event.data.hex().encode() + b'"}'
    return head + b',"event":' + event.data + b"}"


def _is_one_line_of_json(data: bytes) -> bool:
    if b"\n" in data or b"\r" in data:
        return False
    try:
        return json.loads(data.decode(), parse_constant=_refuse) is not None  # null stands for what is no event
    except (ValueError, RecursionError):
        return False


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _append_of(appends: tuple[LeafRow, ...], version: int) -> tuple[int, int]:
    for number, leaf in enumerate(appends):
        if leaf.version_first <= version <= leaf.version_last:
            return number, leaf.recorded_at_us
    return -1, 0
