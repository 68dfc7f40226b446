"""The page of an evidence pack: one HTML file that needs no network and no other file, readable with scripts off and by keyboard.

Whatever comes from outside or from a record is text in it, never markup; marks that no eye sees are shown as their numbers, and no text
turns the direction of what stands beside it.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from audit_reports.blocks import Block, Board, Cell, Heading, Pairs, Paragraph, Picture, Spin, Table, Text, Verdict, named_links
from audit_reports.output import UNSEEN, time_text
from audit_reports.pictures import symbol_shape
from audit_reports.round_report import SymbolReport

__all__ = ["pack_page"]

_UNSEEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{UNSEEN}]")
SHORT_MAX = 12  # characters of a cell that are kept on one line
_FOLDER = Path(__file__).parent
_STYLE, _SCRIPT = ((_FOLDER / f"pack_page.{kind}").read_text() for kind in ("css", "js"))
_LONG = re.compile("[0-9a-f]{32,}|[^ ]{40,}")


def pack_page(title: str, blocks: Sequence[Block], as_of_us: int) -> bytes:
    """Return a report as a page; `as_of_us` is the only time that it names of itself."""
    heads = [block for block in blocks if isinstance(block, Heading) and block.level == 2]
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        '<a class="skip" href="#verdict">To the verdict</a>',
        _pictures(blocks),
        f"<header><p>Prepared for assessment as of {_text(time_text(as_of_us))}. It certifies nothing.</p><h1>{_text(title)}</h1></header>",
        '<nav class="contents" aria-label="Sections"><ul>',
        *(f'<li><a href="#{each.anchor}">{_text(each.text)}</a></li>' for each in heads),
        "</ul></nav><main>",
        *_body(blocks),
        f"</main><script>{_SCRIPT}</script></body></html>\n",
    ]
    return "\n".join(parts).encode()


def _text(value: str) -> str:
    """Return anything as text of a page; what no eye sees is written as its number."""
    return escape(_UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", value.encode("utf-8", "replace").decode()))


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    sections = {block.anchor: block.text for block in blocks if isinstance(block, Heading) and block.anchor}
    is_in_spins = False
    for block in blocks:
        if isinstance(block, Spin) and not is_in_spins:
            is_in_spins = True
            yield _STEPPER
        yield from _block(block, sections)


_STEPPER = (
    '<div id="stepper" class="stepper" role="group" aria-label="Spins" hidden><button type="button" id="back">Back</button>'
    '<button type="button" id="next">Next</button><button type="button" id="all">All</button><span id="where" role="status"></span></div>'
)


def _block(block: Block | Board, sections: Mapping[str, str]) -> Iterator[str]:
    match block:
        case Heading():
            yield f'<h{block.level} id="{block.anchor}">{_text(block.text)}</h{block.level}>'
        case Paragraph():
            yield f"<p>{''.join(map(_span, block.spans))}</p>"
        case Verdict():
            kind = "verdict wrong" if block.is_wrong else "verdict"
            yield f'<div class="{kind}"><p class="name">{_text(block.name.replace("_", " "))}</p><p>{_text(block.text)}</p></div>'
        case Pairs():
            rows = "".join(f'<tr><th scope="row">{_text(name)}</th>{_value(value)}</tr>' for name, value in block.rows)
            yield f'<table class="pairs"><tbody>{rows}</tbody></table>'
        case Table():
            yield _table(block, sections)
        case Picture():
            source = f"data:image/svg+xml;base64,{b64encode(block.svg).decode()}"
            caption = f"<figcaption>{_text(block.caption)}</figcaption>"
            yield f'<figure><img src="{source}" alt="{_text(block.words)}">{caption}</figure>'
        case Text():
            lines = "\n".join(map(_text, block.text.splitlines()))
            yield f'<details><summary>{_text(block.caption)}</summary><pre class="words">{lines}</pre></details>'
        case Board():
            rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in block.rows)
            yield _scrolled(f'<table class="board"><caption>{_text(block.caption)}</caption><tbody>{rows}</tbody></table>', block.caption)
        case Spin():
            yield f'<section class="spin" aria-label="spin {block.number}">'
            yield f"<h3>Spin {block.number} of {block.of}: {_text(block.title)}</h3>"
            for each in block.blocks:
                yield from _block(each, sections)
            yield "</section>"


def _span(span: tuple[str, str]) -> str:
    text, tone = span
    return f'<span class="{tone}">{_text(text)}</span>' if tone else f"<bdi>{_text(text)}</bdi>"


def _value(text: str, kind: str = "") -> str:
    kinds = [each for each in (kind, "long" if _LONG.search(text) else "short" if len(text) <= SHORT_MAX else "") if each]
    return f"<td{_class(kinds)}><bdi>{_text(text)}</bdi></td>"


def _linked(cell: str, sections: Mapping[str, str]) -> str:
    """Return a cell whose names lead to files beside the page or to its sections."""
    links = (f'<a href="{_text(place)}">{_text(name)}</a>' for place, name in named_links(cell, sections))
    return f'<td class="links">{", ".join(links)}</td>'


def _table(block: Table, sections: Mapping[str, str]) -> str:
    head = "".join(
        f'<th scope="col">{_text(each)}</th>' if each else '<th scope="col"><span class="unseen">unit</span></th>' for each in block.heads
    )
    rows = "".join(f"<tr>{''.join(_cell_of(block, place, cell, sections) for place, cell in enumerate(row))}</tr>" for row in block.rows)
    table = f"<table><caption>{_text(block.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    if block.is_folded:
        return f"<details><summary>{_text(block.caption)}: {len(block.rows)}</summary>{_scrolled(table, block.caption)}</details>"
    return _scrolled(table, block.caption)


def _cell_of(block: Table, place: int, cell: str, sections: Mapping[str, str]) -> str:
    return _linked(cell, sections) if place in block.links else _value(cell, "right" if place in block.right else "")


def _scrolled(table: str, name: str) -> str:
    """Return a table that scrolls within the page where it is wider; by keyboard too."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(name)}">{table}</div>'


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return '<td class="none"></td>'
    kinds = [name for name, is_so in (("won", cell.is_won), ("new", cell.is_new)) if is_so]
    picture = f'<svg viewBox="0 0 24 24" aria-hidden="true"><use href="#s{cell.symbol.symbol}"/></svg>'
    value = f"<b>{_text(cell.text)}</b>" if cell.text else ""
    notes = f'<span class="unseen"> {", ".join(cell.notes)}</span>' if cell.notes else ""
    return f"<td{_class(kinds)}>{picture}{value}<span>{_text(cell.symbol.name.replace('_', ' '))}</span>{notes}</td>"


def _class(kinds: Sequence[str]) -> str:
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _symbols(blocks: Sequence[Block]) -> dict[int, SymbolReport]:
    """Return every symbol that some board of a report shows, by its number."""
    boards = [each for block in blocks if isinstance(block, Spin) for each in block.blocks if isinstance(each, Board)]
    return {cell.symbol.symbol: cell.symbol for board in boards for row in board.rows for cell in row if cell is not None}


def _pictures(blocks: Sequence[Block]) -> str:
    """Return the pictures that the boards use, each once."""
    shapes = "".join(
        f'<symbol id="s{number}" viewBox="0 0 24 24">{symbol_shape(symbol)}</symbol>' for number, symbol in sorted(_symbols(blocks).items())
    )
    return f'<svg class="pictures" aria-hidden="true" focusable="false" width="0" height="0">{shapes}</svg>'
