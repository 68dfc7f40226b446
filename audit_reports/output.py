"""Results to stdout, progress and notes to stderr."""

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

__all__ = ["done_so_far", "follow", "is_coloured", "note", "print_json", "print_line", "table", "time_text"]

T = TypeVar("T")
_done: list[str] = []


def print_line(text: str = "") -> None:
    """Print one line of the result."""
    sys.stdout.write(text + "\n")


def print_json(document: Any) -> None:
    """Print one JSON document on one line."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def note(text: str) -> None:
    """Say something that is not the result."""
    sys.stderr.write(text + "\n")


def is_coloured() -> bool:
    """Return whether results may be coloured: on a terminal, unless NO_COLOR is set."""
    import os

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


def time_text(time_us: int) -> str:
    """Return a time in microseconds since 1970 UTC as text, empty for 0."""
    if time_us == 0:
        return ""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)).strftime("%Y-%m-%d %H:%M:%S.%f UTC")


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, right: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the lines of a table, columns as wide as their widest cell; those in `right` are aligned to the right."""
    cells = [heads, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        parts = [cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(parts).rstrip()
