"""The lines of an export: one event each, with its place in its stream."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from engines.canonical import canonical_json

__all__ = ["ExportLine", "ExportLineError", "parse_export", "short_text"]

FOUND_MAX = 60


class ExportLineError(Exception):
    """A line of an export is damaged, cut short or no line of an export."""

    def __init__(self, line: int, want: str, got: str) -> None:
        super().__init__(line, want, got)
        self.line, self.want, self.got = line, want, got

    def __str__(self) -> str:
        return f"line {self.line} of the export: want {self.want}, got {self.got}; export the round again, or restore the file"


class ExportLine(NamedTuple):
    """One event of an export, as it stands there."""

    line: int
    stream: str
    event_index: int
    append: int
    recorded_at: int
    event: dict[str, Any]
    data: bytes  # canonical

    @property
    def kind(self) -> str:
        """The event's kind, empty where it has none that is a word."""
        kind = self.event.get("kind")
        return kind if isinstance(kind, str) else ""


def short_text(value: object) -> str:
    """Return a value as a message shows it."""
    text = repr(value)
    return text if len(text) <= FOUND_MAX else text[:FOUND_MAX] + "…"


def parse_export(lines: Iterable[str]) -> dict[str, list[ExportLine]]:
    """Return the lines of an export by stream, in the order of the file; raises ExportLineError for a damaged one.

    Members of a line beside the six that every line has (`names`, `schema`) are no evidence and passed over, as are
    empty lines and a summary line without an event.
    """
    streams: dict[str, list[ExportLine]] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        line = _parse_line(number, text)
        if line is not None:
            streams.setdefault(line.stream, []).append(line)
    return streams


def _parse_line(number: int, text: str) -> ExportLine | None:
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ExportLineError(number, "one JSON object", short_text(text.strip())) from error
    if not isinstance(values, dict):
        raise ExportLineError(number, "one JSON object", short_text(values))
    if "event" not in values and "schema" in values:
        return None
    wanted: tuple[tuple[str, type], ...] = (("stream", str), ("index", int), ("append", int), ("recorded_at", int), ("event", dict))
    for name, kind in wanted:
        if name not in values:
            raise ExportLineError(number, f"the member {name!r}", "none of that name")
        if not isinstance(values[name], kind) or isinstance(values[name], bool):
            raise ExportLineError(number, f"{kind.__name__} as {name!r}", short_text(values[name]))
    try:
        data = canonical_json(values["event"])
    except ValueError as error:
        raise ExportLineError(number, "an event of integers, strings, booleans, arrays and objects", short_text(text.strip())) from error
    return ExportLine(number, values["stream"], values["index"], values["append"], values["recorded_at"], values["event"], data)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
