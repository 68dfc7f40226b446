"""The page of an evidence pack: one HTML file that needs no network and no other file, readable with scripts off and by keyboard.

Whatever comes from outside or from a record is text in it, never markup; marks that no eye sees are shown as their numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from audit_reports.fact_text import fact_spans, power_text
from audit_reports.output import time_text
from audit_reports.round_report import CellReport, FeatureEndReport, RoundReport, SpinReport, StepReport
from replay.verification import Verification

__all__ = ["pack_page"]

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PLAIN = {
    "reproduced": "The record is whole, the outcome follows from the committed seed, every step obeys the rules, and the totals agree.",
    "incomplete_resolved": "The round was interrupted or is void, and is resolved; nothing recorded contradicts seed, rules or profile.",
    "incomplete_open": "The round is not over. What is recorded so far agrees with the seed and the rules.",
    "record_tampered": "The record is not the one that was written: bytes, leaves or the tree contradict each other.",
    "not_replayable": "The outcome could not be made again; everything else was checked.",
    "build_unapproved": "The round was made by a build that nobody had approved.",
    "diverged": "The recorded outcome is not the one that the committed seed leads to.",
    "rule_breach": "A recorded step does not obey the rules of the game.",
    "settlement_divergence": "The settlement does not follow from the recorded steps, or is not what the profile says.",
    "presentation_divergence": "What the player was shown is not what was recorded.",
    "record_missing": "The record does not hold the round.",
}
_FOLDER = Path(__file__).parent
_STYLE, _SCRIPT = ((_FOLDER / f"pack_page.{kind}").read_text() for kind in ("css", "js"))


def _text(value: object) -> str:
    """Return anything as text of a page; what no eye sees is written as its number."""
    return escape(_UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", str(value)))


def _table(rows: Sequence[Sequence[object]], heads: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{_text(each)}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _pairs(rows: Sequence[tuple[str, object]]) -> str:
    body = "".join(f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>' for name, value in rows)
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


def pack_page(
    verification: Verification,
    report: RoundReport | None,
    *,
    case: Mapping[str, Any] | None,
    absent: Mapping[str, str],
    as_of_us: int,
    digests: Mapping[str, str],
) -> bytes:
    """Return the page of a round's pack.

    report: the round in pictures, None where it cannot be drawn. digests: SHA-256 of each other file of the payload, by name.
    """
    title = f"Evidence pack of round {verification.round_id}"
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{_text(title)}</title><style>{_STYLE}</style></head><body><header><p class="quiet">Prepared for assessment as of '
        f"{_text(time_text(as_of_us))}. It certifies nothing.</p><h1>{_text(title)}</h1></header><main>",
        *_cover(verification, case, absent),
        *(_round(report) if report is not None else ()),
        "<h2>Files of this pack</h2>",
        _table([(name, digest) for name, digest in sorted(digests.items())], ("file in data/", "SHA-256")),
        f"</main><script>{_SCRIPT}</script></body></html>\n",
    ]
    return "\n".join(parts).encode()


def _cover(verification: Verification, case: Mapping[str, Any] | None, absent: Mapping[str, str]) -> Iterator[str]:
    """Yield question, verdict, checks, findings, and what none of this shows."""
    if case is not None:
        yield "<h2>The question asked</h2>"
        yield _pairs([(name.replace("_", " "), value) for name, value in case.items()])
    verdict, wrong = verification.verdict, bool(verification.findings)
    yield "<h2>The verdict</h2>"
    yield f'<div class="verdict{" wrong" if wrong else ""}"><strong>{_text(verdict)}</strong><br>{_text(_PLAIN[verdict])}</div>'
    yield _table([(check.name, check.result.replace("_", " "), check.detail) for check in verification.checks], ("check", "result", "why"))
    if verification.findings:
        rows = [(each.severity, each.code, each.where, each.want, each.got, each.assumption or "") for each in verification.findings]
        yield "<h3>Findings</h3>"
        yield _table(rows, ("severity", "finding", "where", "wanted", "found", "hangs on"))
    yield "".join(f"<p>{_text(note)}</p>" for note in verification.notes)
    yield "<h3>What this pack does not show</h3>"
    yield _pairs(list(absent.items()))


def _round(report: RoundReport) -> Iterator[str]:
    head, settled = report.header, report.settlement
    facts: list[tuple[str, object]] = [
        ("game", f"{head.title} ({head.game} {head.version})"),
        ("mode", head.mode),
        ("opened", head.opened_at),
    ]
    for name, amount in (("bet", head.bet), ("cost", head.cost), ("balance before", head.balance_before)):
        if amount is not None:
            facts.append((name, f"{amount.text} {head.currency}"))
    if settled is not None:
        facts += [("ended", settled.ended), ("total win", f"{settled.total_win.text} {head.currency}")]
        facts += [("balance after", f"{settled.balance_after.text} {head.currency}"), ("settled", head.settled_at)]
    facts += [("account", head.account_ref), ("operator's reference", head.external_ref or "none"), ("rules", head.rules_hash)]
    yield "<h2>The round</h2>"
    yield _pairs(facts)
    yield "<h2>Step by step</h2>"
    yield (
        '<nav id="steps" hidden aria-label="Spins"><button type="button" id="back">Back</button>'
        '<button type="button" id="next">Next</button><button type="button" id="all">All</button>'
        '<span id="where" role="status"></span></nav>'
    )
    for number, spin in enumerate(report.spins, start=1):
        yield from _spin(spin, number, report)


def _spin(spin: SpinReport, number: int, report: RoundReport) -> Iterator[str]:
    part = f"{spin.part or 'without a start'}, {spin.spins_left} left" if spin.spins_left else spin.part or "without a start"
    yield f'<section class="spin" aria-label="spin {number}"><h3>Spin {number} of {len(report.spins)}: {_text(part)}</h3>'
    for step in spin.steps:
        yield from _step(step)
    for fact in spin.rest:
        yield _fact(fact)
    yield "</section>"


def _step(step: StepReport) -> Iterator[str]:
    if step.power is not None:
        yield f"<p>{_text(power_text(step.power))}</p>"
    if step.rows:
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in step.rows)
        caption = f'<caption class="quiet">{f"drop {step.drop_index}" if step.drop_index is not None else "board"}</caption>'
        yield f'<div class="scroll"><table class="board">{caption}<tbody>{rows}</tbody></table></div>'
    for win in step.wins:
        ways = f" &times; {win.ways} ways" if win.ways > 1 else ""
        many = f" &times; {win.multiplier}" if win.multiplier > 1 else ""
        what = f"{win.symbol_count} {_text(win.symbol.name.replace('_', ' '))} {_text(win.where)}".rstrip()
        yield f"<p>{what}: {_text(win.pay)}{ways}{many} = <strong>{_text(win.win.text)}</strong></p>"
    for fact in step.facts:
        yield _fact(fact)
    if step.tumble is not None:
        yield f'<p class="quiet">{len(step.tumble.removed_cells)} symbols leave, {step.tumble.new_count} fall in</p>'


def _cell(cell: CellReport | None) -> str:
    if cell is None:
        return "<td></td>"
    marks = [name for name, is_so in (("won", cell.is_won), ("new", cell.is_new)) if is_so]
    told = f" x{cell.value}" if cell.value else ""
    extra = {1: " gold", 2: " Power Wild"}.get(cell.mark, "")
    hidden = f'<span class="quiet"> ({", ".join(marks)})</span>' if "won" in marks else ""
    kind = f' class="{" ".join(marks)}"' if marks else ""
    return f"<td{kind}>{_text(cell.symbol.name.replace('_', ' '))}{told}{extra}{hidden}</td>"


def _fact(fact: Any) -> str:
    if isinstance(fact, FeatureEndReport):
        return f"<p>{_text(fact.feature.replace('_', ' '))} over: {fact.spins_played} played, {_text(fact.total.text)} won</p>"
    title, spans = fact_spans(fact)
    words = "".join(f'<span class="alarm">{_text(span.text)}</span>' if "red" in span.style else _text(span.text) for span in spans)
    return f"<p>{_text(title)}: {words}</p>"
