"""Results to stdout, progress and notes to stderr.

What is printed may come from an altered record: a control character in it is shown escaped and never reaches the terminal.
"""

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

__all__ = [
    "UNSEEN",
    "done_so_far",
    "follow",
    "is_coloured",
    "note",
    "prepare_streams",
    "print_json",
    "print_line",
    "printable",
    "say_done",
    "table",
    "time_text",
]

T = TypeVar("T")
_done: list[str] = []
# Marks that turn the direction of what follows, end a line or are not seen at all: a terminal obeys some, and a reader is misled by all.
UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f"
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{UNSEEN}]")
_CONTROL_BUT_COLOUR = re.compile(f"\x1b(?!\\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f{UNSEEN}]")
_CONTROL_IN_JSON = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def prepare_streams() -> None:
    """Have what an encoding cannot show written escaped, and let a command run whose output is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str, *, is_colour_kept: bool = False) -> str:
    """Return text with its control characters, line end and tabulator apart, and marks that are not seen, in escaped form."""
    return (_CONTROL_BUT_COLOUR if is_colour_kept else _CONTROL).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def print_line(text: str = "") -> None:
    """Print one line of the result."""
    sys.stdout.write(printable(text) + "\n")


def print_json(document: Any) -> None:
    """Print one JSON document on one line: in UTF-8, or in ASCII where that cannot be written."""
    text = json.dumps(document, ensure_ascii=not _is_unicode(sys.stdout.encoding))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a pair, as in the name of a file that is no text
            text = json.dumps(document)
    sys.stdout.write(_CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")


def _is_unicode(encoding: str | None) -> bool:
    try:
        return codecs.lookup(encoding or "ascii").name == "utf-8"
    except LookupError:
        return False


def note(text: str) -> None:
    """Say something that is not the result."""
    sys.stderr.write(printable(text) + "\n")


def is_coloured() -> bool:
    """Return whether results may be coloured: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def follow(items: Iterable[T], *, what: str, total: int | None) -> Iterator[T]:
    """Yield the items, with a progress bar on a terminal, and keep count for what Ctrl-C says was done."""
    _done[:] = [f"nothing of {what} done"]
    count = 0
    if not sys.stderr.isatty():
        for item in items:
            count += 1
            _done[0] = f"{count} of {total if total is not None else 'an unknown number of'} {what} done"
            yield item
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        for item in items:
            count += 1
            _done[0] = f"{count} of {total if total is not None else 'an unknown number of'} {what} done"
            progress.update(task, completed=count)
            yield item


def done_so_far() -> str:
    """Return what the long work of this process had done when it was interrupted; empty where there was none."""
    return _done[0] if _done else ""


def say_done(text: str) -> None:
    """Set what `done_so_far` returns, for work that knows it better than a count of steps."""
    _done[:] = [text]


def time_text(time_us: int, zone: str = "") -> str:
    """Return a time in microseconds since 1970 UTC as text, in UTC or in a zone that is known; empty for 0."""
    if time_us == 0:
        return ""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
        if zone:
            return moment.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S.%f %z")
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    except (OverflowError, ValueError):  # an altered record; no calendar reaches that far
        return f"{time_us} microseconds since 1970"


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, right: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the lines of a table, columns as wide as their widest cell; those in `right` are aligned to the right."""
    cells = [heads, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        parts = [cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(parts).rstrip()
