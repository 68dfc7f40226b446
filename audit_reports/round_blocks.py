"""A round step by step as blocks of a report: each spin, each board with its picture, what won and what it paid."""

from collections.abc import Iterator

from audit_reports.blocks import Board, Cell, Paragraph, Spin, Tone, plain
from audit_reports.fact_text import ALARM, CAP, MONEY, STRONG, differing, fact_spans, power_text
from audit_reports.round_report import CellReport, Fact, FeatureEndReport, RoundReport, SpinReport, StepReport, WinReport

__all__ = ["spin_blocks"]

_TONES: dict[str, Tone] = {ALARM: "alarm", MONEY: "strong", STRONG: "strong", CAP: "strong"}
_MARKS = {1: "gold", 2: "Power Wild"}


def spin_blocks(report: RoundReport) -> Iterator[Spin]:
    """Yield each spin of a round, as it is recorded."""
    for number, spin in enumerate(report.spins, start=1):
        yield Spin(number, len(report.spins), _title(spin), tuple(_blocks(spin)))


def _title(spin: SpinReport) -> str:
    parts = [spin.part.replace("_", " ") if spin.part else "without a recorded start"]
    if spin.spins_left:
        parts.append(f"{spin.spins_left} left after it")
    if spin.multiplier > 1:
        parts.append(f"multiplier {spin.multiplier}")
    if spin.total_multiplier > 1:
        parts.append(f"total multiplier {spin.total_multiplier}")
    if spin.meter:
        parts.append(f"meter {spin.meter}")
    return ", ".join(parts)


def _blocks(spin: SpinReport) -> Iterator[Paragraph | Board]:
    for step in spin.steps:
        yield from _step(step)
    for fact in spin.rest:
        yield _fact(fact)


def _step(step: StepReport) -> Iterator[Paragraph | Board]:
    if step.power is not None:
        yield plain(power_text(step.power), "strong")
    if step.rows:
        stops = f", reels stopped at {' '.join(map(str, step.stops))}" if step.stops else ""
        caption = f"drop {step.drop_index}{stops}" if step.drop_index is not None else "the board after it"
        yield Board(caption, tuple(tuple(_cell(cell) for cell in row) for row in step.rows))
    elif step.power is None and step.event_index is None:
        yield plain("no board is recorded here", "alarm")
    for win in step.wins:
        yield _win(win)
    for fact in step.facts:
        yield _fact(fact)
    if step.tumble is not None:
        turned = f", {len(step.tumble.turned_cells)} turn" if step.tumble.turned_cells else ""
        yield plain(f"{len(step.tumble.removed_cells)} symbols leave, {step.tumble.new_count} fall in{turned}", "quiet")


def _cell(cell: CellReport | None) -> Cell | None:
    if cell is None:
        return None
    texts = []
    if cell.value:
        texts.append(_cash(cell.value) if cell.symbol.role == "moon" else f"x{cell.value}")
    if cell.mark:
        texts.append(_MARKS.get(cell.mark, f"mark {cell.mark}"))
    marked = (("won", cell.is_won), ("new", cell.is_new), ("won on before", cell.is_won_on), ("highlighted", cell.is_highlighted))
    return Cell(cell.symbol, " ".join(texts), cell.is_won, cell.is_new, tuple(name for name, is_so in marked if is_so))


def _cash(value_x100: int) -> str:
    return f"{value_x100 // 100}x" if value_x100 % 100 == 0 else f"{value_x100 // 100}.{value_x100 % 100:02}".rstrip("0") + "x"


def _win(win: WinReport) -> Paragraph:
    what = f"{win.symbol_count} {win.symbol.name.replace('_', ' ')} {win.where}".rstrip()
    ways = f" x {win.ways} ways" if win.ways > 1 else ""
    many = f" x {win.multiplier}" if win.multiplier > 1 else ""
    spans = [(f"{what}: {win.pay}{ways}{many} = ", ""), (win.win.text, "strong")]
    return Paragraph((*spans, *((span.text, "alarm") for span in differing(win.computed, win.win, "that is"))))


def _fact(fact: Fact) -> Paragraph:
    if isinstance(fact, FeatureEndReport):
        text = f"{fact.feature.replace('_', ' ')} over: {fact.spins_played} played, "
        return Paragraph(((text, ""), (fact.total.text, "strong"), (" won in it", "")))
    title, spans = fact_spans(fact)
    return Paragraph(((f"{title}: ", ""), *((span.text, _TONES.get(span.style, "")) for span in spans)))
