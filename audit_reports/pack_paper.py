"""The paper of an evidence pack: the report as a tagged PDF (PDF/UA-1), of the same blocks as the page, set by typst with its own fonts.

The text goes to typst as data, never as markup. The same blocks give the same bytes: no time, no name of a machine, no font of one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from audit_reports.blocks import Block, Board, Cell, Heading, Pairs, Paragraph, Picture, Spin, Table, Text, Verdict, named_links
from audit_reports.output import time_text
from audit_reports.pictures import symbol_svg
from audit_reports.round_report import SymbolReport

__all__ = ["PaperMissingError", "pack_paper"]

ROWS_MAX = 300  # of a table that the page folds
_LAYOUT = Path(__file__).parent / "pack_paper.typ"
# What the fonts inside typst draw, from left to right: Latin, Greek, Cyrillic, punctuation, currencies, arrows. All else by its number.
_UNDRAWN = re.compile(
    "[^ -~\u00a1-\u00ac\u00ae-\u024f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u03ff\u0400-\u04ff\u1e00-\u1eff\u2010-\u2027\u2030-\u2040"
    "\u20a0-\u20c0\u2190-\u21ff\u2200-\u222f]"
)
_RUN = re.compile(r"[^\s/.,:;-]{18,}")


class PaperMissingError(Exception):
    """The library that sets the paper is not installed."""

    exit_status = 2

    def __str__(self) -> str:
        return "paper of an evidence pack: want the library typst, got none; install slot-audit with its extra `paper`"


def pack_paper(title: str, blocks: Sequence[Block], as_of_us: int) -> bytes:
    """Return a report as a PDF; `as_of_us` is the only time that it names of itself. Raises PaperMissingError."""
    try:
        import typst
    except ImportError as error:
        raise PaperMissingError from error
    symbols: dict[int, SymbolReport] = {}
    sections = {block.anchor: block.text for block in blocks if isinstance(block, Heading) and block.anchor}
    body = [drawn for block in blocks for drawn in _drawn(_with_names(block, sections), symbols)]
    pictures = {str(number): symbol_svg(symbol) for number, symbol in sorted(symbols.items())}
    data = {"title": _drawable(title), "heading": _text(title), "as_of": time_text(as_of_us), "body": body, "pictures": pictures}
    compiler = typst.Compiler(_LAYOUT.read_bytes(), ignore_system_fonts=True, sys_inputs={"data": json.dumps(data)})
    paper = compiler.compile(format="pdf", pdf_standards=["ua-1"])
    assert isinstance(paper, bytes)
    return paper


def _text(value: str) -> str:
    """Return text as it can be drawn; long runs get places where a line may end, which are not seen."""
    return _RUN.sub(lambda match: "\u200b".join(match[0][place : place + 8] for place in range(0, len(match[0]), 8)), _drawable(value))


def _drawable(value: str) -> str:
    return _UNDRAWN.sub(lambda match: f"[U+{ord(match[0]):04X}]" if match[0] != "\n" else " ", value)


def _drawn(block: Block | Board, symbols: dict[int, SymbolReport]) -> Iterator[dict[str, Any]]:
    """Yield a block as the layout reads it; symbols that it shows are gathered by number."""
    match block:
        case Heading():
            yield {"kind": "heading", "level": block.level - 1, "text": _text(block.text), "starts-page": block.anchor == "round"}
        case Paragraph():
            yield {"kind": "paragraph", "spans": [[_text(text), tone] for text, tone in block.spans]}
        case Verdict():
            name = block.name.replace("_", " ")
            yield {"kind": "verdict", "name": _text(name), "text": _text(block.text), "is_wrong": block.is_wrong}
        case Pairs():
            yield {"kind": "pairs", "rows": [[_text(cell) for cell in row] for row in block.rows]}
        case Table():
            yield from _table(block)
        case Picture():
            words = {"caption": _text(block.caption), "words": _text(block.words)}
            yield {"kind": "picture", **words, "svg": block.svg.decode()}
        case Text():
            yield {"kind": "words", "caption": _text(block.caption), "lines": [_text(line) for line in block.text.splitlines()]}
        case Board():
            rows = [[_cell(cell, symbols) for cell in row] for row in block.rows]
            yield {"kind": "board", "caption": _text(block.caption), "rows": rows}
        case Spin():
            title = f"Spin {block.number} of {block.of}: {block.title}"
            yield {"kind": "heading", "level": 2, "text": _text(title), "starts-page": False}
            for each in block.blocks:
                yield from _drawn(each, symbols)


def _with_names(block: Block, sections: Mapping[str, str]) -> Block:
    """Return a block whose links, which lead nowhere on paper, are the names of files and sections."""
    if not isinstance(block, Table) or not block.links:
        return block
    rows = [
        tuple(
            ", ".join(name for _, name in named_links(cell, sections)) if place in block.links else cell for place, cell in enumerate(row)
        )
        for row in block.rows
    ]
    return block._replace(rows=tuple(rows), links=frozenset())


def _table(block: Table) -> Iterator[dict[str, Any]]:
    if not block.rows:
        return
    cut = len(block.rows) - ROWS_MAX if block.is_folded and len(block.rows) > ROWS_MAX else 0
    rows = [[_text(cell) for cell in row] for row in block.rows[: len(block.rows) - cut]]
    heads = [_text(head) or "unit" for head in block.heads]
    widest = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    yield {"kind": "table", "caption": _text(block.caption), "heads": heads, "rows": rows, "right": sorted(block.right), "widest": widest}
    if cut:
        yield {"kind": "paragraph", "spans": [[f"{cut} more rows are on the page and in the files of the pack.", "quiet"]]}


def _cell(cell: Cell | None, symbols: dict[int, SymbolReport]) -> dict[str, Any] | None:
    if cell is None:
        return None
    symbols[cell.symbol.symbol] = cell.symbol
    name = cell.symbol.name.replace("_", " ")
    return {"picture": str(cell.symbol.symbol), "name": _text(name), "text": _text(cell.text), "is_won": cell.is_won, "is_new": cell.is_new}
