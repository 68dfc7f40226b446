"""What a report for readers is made of: one sequence of blocks, from which the page and the paper are both drawn.

Every text in a block is plain text, whatever it holds: who draws it escapes it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from audit_reports.round_report import SymbolReport

__all__ = [
    "Block",
    "Board",
    "Cell",
    "Heading",
    "Pairs",
    "Paragraph",
    "Picture",
    "Row",
    "Spin",
    "Table",
    "Text",
    "Tone",
    "Verdict",
    "named_links",
    "plain",
]

Tone = str  # "" as it is, or `quiet`, `strong`, `alarm`
Row = tuple[str, ...]


class Heading(NamedTuple):
    """A section begins: level 2, or 3 within one. `anchor` is unique in the report."""

    level: int
    text: str
    anchor: str = ""


class Paragraph(NamedTuple):
    """Pieces of text, each with its tone, in one paragraph."""

    spans: tuple[tuple[str, Tone], ...]


class Verdict(NamedTuple):
    """The verdict by its name, and in plain words."""

    name: str
    text: str
    is_wrong: bool


class Pairs(NamedTuple):
    """Names and what stands there."""

    rows: tuple[tuple[str, str], ...]


class Table(NamedTuple):
    """A table with a head; numbers stand in the columns `right`, text of outside or long hashes may break anywhere.

    is_folded: it is closed on the page until a reader opens it, and on paper cut where it is long. links: columns whose cells
    name files of the pack, or sections of the report as `#anchor`, several with a comma between; on the page each leads there.
    """

    caption: str
    heads: Row
    rows: tuple[Row, ...]
    right: frozenset[int] = frozenset()
    is_folded: bool = False
    links: frozenset[int] = frozenset()


class Picture(NamedTuple):
    """A drawing as SVG with its caption; `words` say what it shows to whoever cannot see it."""

    caption: str
    words: str
    svg: bytes


class Text(NamedTuple):
    """A document as it is, in its own lines; folded on the page."""

    caption: str
    text: str


class Cell(NamedTuple):
    """One cell of a board; `notes` say in words what its frame shows."""

    symbol: SymbolReport
    text: str  # value and mark
    is_won: bool
    is_new: bool
    notes: tuple[str, ...]


class Board(NamedTuple):
    """A board from its top row down; None where a reel has no cell."""

    caption: str
    rows: tuple[tuple[Cell | None, ...], ...]


class Spin(NamedTuple):
    """One spin with its blocks; `number` counts from 1, up to `of`."""

    number: int
    of: int
    title: str
    blocks: tuple[Heading | Paragraph | Board, ...]


Block = Heading | Paragraph | Verdict | Pairs | Table | Picture | Text | Spin


def named_links(cell: str, sections: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what a cell of links leads to: the place, and what a reader sees of it; sections: their texts by anchor."""
    places = [place for place in cell.split(", ") if place]
    return [(place, sections.get(place[1:], place[1:]) if place.startswith("#") else place) for place in places]


def plain(text: object, tone: Tone = "") -> Paragraph:
    """Return a paragraph of one piece."""
    return Paragraph(((str(text), tone),))
