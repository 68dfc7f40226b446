"""The picture of a round on a terminal: boards beside their wins, the arithmetic at rest, findings where they belong.

Lines are laid out as plain text with a style for each piece; colour is put on at the very end, so the text is the same
with and without it. Text of the record that cannot be printed is shown escaped: a record never steers a terminal.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from audit_reports.fact_text import (
    ALARM,
    FEATURE,
    FELL,
    MONEY,
    QUIET,
    ROLES,
    STRONG,
    Line,
    Span,
    differing,
    fact_spans,
    name_words,
    power_text,
)
from audit_reports.round_report import (
    CellReport,
    Fact,
    FeatureEndReport,
    RoundReport,
    SpinReport,
    StepReport,
    SymbolReport,
    WinReport,
)
from replay.verdict import Finding

__all__ = ["print_round", "symbol_labels"]

WIDTH_MIN = 80
LABEL_LENGTH = 4
CELL_WIDTH = LABEL_LENGTH + 2
MARGIN = 2
SIDE_WIDTH_MIN = 30  # narrower than this, wins stand below the board
TITLE_WIDTH = 13
HEADER_TITLE_WIDTH = 10
VALUE_SHOWN_MAX = 999

COLOURS = {
    "red": "red",
    "green": "green",
    "blue": "bright_blue",
    "cyan": "cyan",
    "yellow": "yellow",
    "golden": "bold yellow",
    "gold": "bold yellow",
    "crescent": "bright_white",
    "purple": "magenta",
    "pink": "bright_magenta",
}


def print_round(report: RoundReport, *, width: int, is_coloured: bool, spin_index: int | None, findings: Sequence[Finding] = ()) -> str:
    """Return the picture of a round, of one of its spins where `spin_index` is given; every line ends with a newline.

    width: columns of the terminal; less than 80 is drawn as 80.
    """
    lines = _RoundView(report, max(width, WIDTH_MIN), findings).draw(spin_index)
    written = _coloured if is_coloured else _uncoloured
    return "".join(written(line) + "\n" for line in lines)


def symbol_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return a label of up to four capital letters for each symbol name, no two alike.

    A label is made of a word that no other name has, of a short one where there is one: `golden_sun` is SUN. Longer
    words lose doubled letters and their end: `yellow_gem` is YELO.
    """
    worded = [_clean(name).upper().split("_") for name in names]
    labels: list[str] = []
    for number, words in enumerate(worded):
        elsewhere = {word for other, others in enumerate(worded) if other != number for word in others}
        own = [word for word in words if word and word not in elsewhere] or [word for word in words if word] or ["?"]
        chosen = next((word for word in own if len(word) <= LABEL_LENGTH), own[0])
        labels.append(_unlike(_shortened(chosen), labels))
    return tuple(labels)


def _shortened(word: str) -> str:
    if len(word) > LABEL_LENGTH:
        word = "".join(letter for at, letter in enumerate(word) if not at or letter != word[at - 1])
    return _cut(word, LABEL_LENGTH)


def _unlike(label: str, taken: Sequence[str]) -> str:
    numbered = (_cut(label, LABEL_LENGTH - len(str(number))) + str(number) for number in range(2, len(taken) + 3))
    return label if label not in taken else next(other for other in numbered if other not in taken)


def _cut(text: str, width: int) -> str:
    while _width(text) > width:
        text = text[:-1]
    return text


def _clean(text: str) -> str:
    """Return the text with what cannot be printed escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _uncoloured(line: Line) -> str:
    return "".join(span.text for span in line).rstrip()


def _coloured(line: Line) -> str:
    from rich.color import ColorSystem
    from rich.style import Style

    left = len(_uncoloured(line))
    pieces = []
    for span in line:
        pieces.append(Style.parse(span.style).render(span.text[:left], color_system=ColorSystem.STANDARD))
        left -= min(left, len(span.text))
    return "".join(pieces)


def _wrapped(spans: Sequence[Span], width: int) -> list[Line]:
    """Return the spans in lines of at most `width`, broken at blanks, within a word only where it is longer than a line."""
    width = max(width, 2)  # a wide letter takes two columns
    lines: list[Line] = [[]]
    used = 0
    for span in spans:
        text = _clean(span.text)
        for word in [text] if span.is_whole else re.findall(r" +|[^ ]+", text):
            if used + _width(word) > width:
                if word.isspace():
                    continue
                if used:
                    lines.append([])
                    used = 0
                while _width(word) > width:
                    head = _cut(word[:width], width)
                    lines[-1].append(Span(head, span.style))
                    lines.append([])
                    word = word[len(head) :]
            if used or not word.isspace():
                lines[-1].append(Span(word, span.style))
                used += _width(word)
    return lines


def _event_indexes(report: RoundReport) -> set[int]:
    """Return the indexes of all events of the report, and of the opening."""
    indexes: list[int | None] = [0]
    for spin in report.spins:
        indexes += [spin.event_index, *(fact.event_index for fact in spin.rest)]
        for step in spin.steps:
            indexes += [each.event_index if each else None for each in (step, step.tumble, step.power)]
            indexes += [*(win.event_index for win in step.wins), *(fact.event_index for fact in step.facts)]
    return {index for index in indexes if index is not None}


def _style(symbol: SymbolReport) -> str:
    return ROLES.get(symbol.role) or next((COLOURS[word] for word in symbol.name.lower().split("_") if word in COLOURS), "")


class _RoundView:
    """Draws one report; lines gather in `lines`."""

    def __init__(self, report: RoundReport, width: int, findings: Sequence[Finding]) -> None:
        self.report, self.width = report, width
        self.events = _event_indexes(report)
        self.findings = list(findings)  # those that are not drawn yet
        self.marked = {finding.event_index for finding in findings}
        self.index_width = len(f"#{max(self.events)}!") + 1
        self.labels = symbol_labels([symbol.name for symbol in report.symbols])
        self.lines: list[Line] = []

    def draw(self, spin_index: int | None) -> list[Line]:
        """Return the lines of the whole picture."""
        self.draw_header()
        self.draw_legend()
        self.draw_findings(lambda each: each.event_index == 0 or (each.event_index < 0 and each.spin_index < 0))
        spins = [spin for spin in self.report.spins if spin_index is None or spin.spin_index == spin_index]
        for spin in spins:
            self.draw_spin(spin)
        self.lines.append([])
        if not spins:
            what = "the record holds no spin" if spin_index is None else f"the record holds no spin {spin_index}"
            self.add([Span(what, ALARM)])
        self.draw_settlement(is_whole=spin_index is None)
        return self.lines

    def add(self, spans: Sequence[Span], *, first: Sequence[Span] = (), indent: int = MARGIN) -> None:
        """Add a paragraph that hangs at column `indent`; `first` stands to the left of its first line."""
        for number, line in enumerate(_wrapped(spans, self.width - indent)):
            lead = list(first) if first and not number else [Span("")]
            gap = indent - sum(_width(span.text) for span in lead)
            self.lines.append([*lead, Span(" " * gap), *line])

    def add_rule(self, text: str, *, sign: str, event_index: int | None, style: str) -> None:
        """Add a line across the page with a text in it, the event's index at its end."""
        end = f" {self.index(event_index)} {sign * 2}" if event_index is not None else ""
        text = _cut(_clean(text), self.width - len(end) - 6)
        left = f"{sign * 2} {text} "
        fill = sign * (self.width - _width(left) - len(end))
        self.lines.append([Span(left, style), Span(fill, QUIET), Span(end, QUIET)])

    def index(self, event_index: int) -> str:
        """Return an event's index as it is shown, with a ! where there is a finding about it."""
        return f"#{event_index}" + ("!" if event_index in self.marked else "")

    def index_span(self, event_index: int) -> Span:
        """Return an event's index in its column."""
        return Span(self.index(event_index).ljust(self.index_width), ALARM if event_index in self.marked else QUIET)

    def draw_header(self) -> None:
        """Draw what was played, for how much, by whom and when."""
        header, known = self.report.header, self.report.header.bet is not None
        self.add_rule(f"round {self.report.round_id}", sign="=", event_index=0 if known else None, style=STRONG)
        money = [("bet", header.bet), ("cost", header.cost), ("balance before", header.balance_before)]
        texts = [f"{title} {amount.text}" for title, amount in money if amount]
        facts = [
            ("game", f"{header.title} ({header.game} {header.version}{', draft rules' if header.is_draft else ''})"),
            ("mode", header.mode),
            ("money", f"{', '.join(texts)} {header.currency}" if texts else ""),
            ("account", header.account_ref),
            ("reference", header.external_ref),
            ("opened", header.opened_at),
            ("settled", header.settled_at),
            ("rules", header.rules_hash),
            ("drawn by", header.drawn_by_hash if header.drawn_by_hash != header.rules_hash else ""),
        ]
        for title, text in facts:
            if text:
                self.add([Span(text)], first=[Span(" " * MARGIN), Span(title, QUIET)], indent=MARGIN + HEADER_TITLE_WIDTH)
        for note in self.report.notes:
            self.add([Span(note, "yellow")], first=[Span(" " * MARGIN), Span("note", "yellow")], indent=MARGIN + HEADER_TITLE_WIDTH)

    def draw_legend(self) -> None:
        """Draw what the marks and labels mean."""
        label = self.labels[0] if self.labels else "SYMB"
        signs = [Span(f"[{label:<4}]", "reverse"), Span(" won  ")]
        signs += [Span("+", FELL), Span(f"{label:<4} new  ")]
        signs += [Span("+", FELL), Span(f"{label:<4}]", "reverse"), Span(" both  ")]
        roles = {symbol.role for symbol in self.report.symbols}
        signs += [Span(f"{label:<4}*", FELL), Span(" gold  ")] if self.report.is_gold_shown else []
        signs += [Span(f"{label:<4}*", FELL), Span(" Power Wild  ")] if self.report.is_power_shown else []
        if any(spin.highlighted_cells for spin in self.report.spins):
            signs += [Span(f"({label:<4})", FELL), Span(" highlighted  "), Span(f":{label:<4}:", FELL), Span(" won on before  ")]
        signs += [Span("x5", ROLES["heart"]), Span(" heart  ")] if "heart" in roles else []
        signs += [Span("5x", ROLES["moon"]), Span(" Moon's cash  ")] if "moon" in roles else []
        signs += [Span("#1 event  !! finding")]
        names: Line = []
        for symbol, name in zip(self.report.symbols, self.labels, strict=True):
            names += [Span(f"{name} {symbol.name}", _style(symbol), is_whole=True), Span("   ")]
        for title, spans in (("legend", signs), ("symbols", names)):
            self.add(spans, first=[Span(" " * MARGIN), Span(title, QUIET)], indent=MARGIN + HEADER_TITLE_WIDTH)

    def draw_findings_of(self, event_index: int | None) -> None:
        """Draw the findings about one event."""
        self.draw_findings(lambda finding: finding.event_index == event_index)

    def draw_findings(self, is_wanted: Callable[[Finding], bool]) -> None:
        """Draw those findings that are wanted and not drawn yet, each as a paragraph that starts with !!."""
        wanted = [finding for finding in self.findings if is_wanted(finding)]
        self.findings = [finding for finding in self.findings if finding not in wanted]
        for finding in wanted:
            place = f"#{finding.event_index} " if finding.event_index >= 0 else ""
            spin = f"spin {finding.spin_index} " if finding.spin_index >= 0 and finding.event_index < 0 else ""
            text = f"{place}{spin}{finding.severity} {finding.code}: {finding.message}"
            for name, value in (("want", finding.want), ("got", finding.got)):
                text += f"; {name} {value}" if value and value not in finding.message else ""
            text += f" (assumption {finding.assumption})" if finding.assumption else ""
            self.add([Span(text, ALARM)], first=[Span(" " * MARGIN), Span("!! ", ALARM)], indent=MARGIN + 3)

    def draw_spin(self, spin: SpinReport) -> None:
        """Draw a spin: its steps, then what happened at rest."""
        self.lines.append([])
        parts = ["spin without a recorded start"]
        if spin.spin_index is not None:
            parts = [f"spin {spin.spin_index}", spin.part, *([f"set {spin.strip_set}"] if spin.strip_set else [])]
            parts += [f"{spin.spins_left} left"] if spin.part != "base" or spin.spins_left else []
            is_gathered = spin.part == "free" and any(symbol.role == "heart" for symbol in self.report.symbols)
            parts += [f"total multiplier {spin.total_multiplier}"] if is_gathered or spin.total_multiplier else []
            parts += [f"multiplier {spin.multiplier}"] if spin.multiplier != 1 else []
            parts += [f"meter {spin.meter}"] if spin.meter else []
        self.add_rule(" | ".join(parts), sign="-", event_index=spin.event_index, style=STRONG)
        self.draw_findings_of(spin.event_index)
        for number, step in enumerate(spin.steps):
            if number:
                self.lines.append([])
            is_shown_next = number + 1 < len(spin.steps) and spin.steps[number + 1].event_index is not None
            self.draw_step(step, is_shown_next=is_shown_next)
        for fact in spin.rest:
            self.draw_fact(fact)
        self.draw_findings(lambda each: each.spin_index == spin.spin_index and each.event_index not in self.events)

    def draw_step(self, step: StepReport, *, is_shown_next: bool) -> None:
        """Draw a drop's board with its wins beside it, below it where the page is too narrow."""
        board = [self.board_row(row, from_top=at, is_won=bool(step.wins)) for at, row in enumerate(step.rows)]
        board_width = MARGIN + self.report.reels * CELL_WIDTH + 2 if board else MARGIN
        side_width = self.width - board_width
        if side_width < SIDE_WIDTH_MIN:
            self.lines += [*board]
            board, board_width, side_width = [], MARGIN, self.width - MARGIN
        side: list[Line] = []
        for first, spans in self.side_rows(step, side_width - self.index_width, is_shown_next=is_shown_next):
            for number, line in enumerate(_wrapped(spans, side_width - self.index_width)):
                side.append([Span(" " * self.index_width) if number or first is None else first, *line])
        for row, text in zip_longest(board, side):
            self.lines.append([*(row or [Span(" " * (board_width - 2))]), Span("  "), *(text or [])] if board else [Span("  "), *text])
        powers = [step.power.event_index] if step.power else []
        for event_index in (step.event_index, *powers, *(win.event_index for win in step.wins)):
            self.draw_findings_of(event_index)
        for fact in step.facts:
            self.draw_fact(fact)
        self.draw_findings_of(step.tumble.event_index if step.tumble else None)

    def board_row(self, row: Sequence[CellReport | None], *, from_top: int, is_won: bool) -> Line:
        """Return one row of a board, `from_top` of the highest reel; where something won, the rest of the board is quiet."""
        line = [Span(" " * MARGIN)]
        for reel, cell in enumerate(row):
            if cell is None:
                is_of_reel = from_top >= self.report.rows - self.report.reel_rows[reel]
                line.append(Span("  --  " if is_of_reel else " " * CELL_WIDTH, QUIET))
                continue
            label = self.label(cell)
            light = ":" if cell.is_won_on else "(" if cell.is_highlighted else " "
            left = "+" if cell.is_new else "[" if cell.is_won else light
            style = _style(cell.symbol)
            if cell.is_won:
                style = f"bold reverse {style}"
            elif is_won and cell.symbol.role == "paying":
                style = f"{QUIET} {style.removeprefix('bold ')}"
            line.append(Span(left, FELL if cell.is_new else style))
            end = "*" if cell.mark else light.replace("(", ")") if light != " " else "]" if cell.is_won else " "
            line.append(Span(label + " " * (LABEL_LENGTH - _width(label)) + end, style))
        return line

    def label(self, cell: CellReport) -> str:
        """Return what a cell shows: a heart's value, a Moon's cash, or the symbol's label."""
        if cell.symbol.role == "moon" and cell.value:
            cash = f"{cell.value // 100}x" if cell.value % 100 == 0 else f"{cell.value // 100}.{cell.value % 100:02}".rstrip("0") + "x"
            return cash if len(cash) <= LABEL_LENGTH else "***x"
        if cell.symbol.role == "blank":
            return "."
        if cell.value:
            return f"x{cell.value}" if cell.value <= VALUE_SHOWN_MAX else "x***"
        number = cell.symbol.symbol
        if number < len(self.labels):
            return self.labels[number]
        return f"?{number}" if number <= VALUE_SHOWN_MAX else "?***"

    def side_rows(self, step: StepReport, width: int, *, is_shown_next: bool) -> Iterator[tuple[Span | None, Line]]:
        """Yield what stands beside a board: for each paragraph the event's index, None where there is none, and its text."""
        if step.power is not None:
            yield self.index_span(step.power.event_index), [Span(power_text(step.power), FEATURE)]
        elif step.event_index is None:
            yield None, [Span("no board recorded", ALARM)]
        else:
            stops = f", stops {' '.join(map(str, step.stops))}" if step.stops else ""
            yield self.index_span(step.event_index), [Span(f"drop {step.drop_index}", STRONG), Span(stops, QUIET)]
            if step.cell_count != sum(self.report.reel_rows):
                wanted = "-".join(map(str, self.report.reel_rows))
                yield None, [Span(f"!! {step.cell_count} cells recorded, the grid is {wanted}", ALARM)]
        for value in sorted(
            {cell.value for row in step.rows for cell in row if cell and cell.value > VALUE_SHOWN_MAX and cell.symbol.role != "moon"}
        ):
            yield None, [Span(f"x*** is x{value}")]
        for win, spans in zip(step.wins, self.win_rows(step.wins, width), strict=True):
            yield self.index_span(win.event_index), spans
        if len(step.wins) > 1 and step.win_total:
            yield None, [Span("wins of this drop "), Span(step.win_total.text, STRONG)]
        if step.tumble:
            removed, new = len(step.tumble.removed_cells), step.tumble.new_count
            turned = f", {len(step.tumble.turned_cells)} turn" if step.tumble.turned_cells else ""
            unpaid = "" if step.wins or any(step.tumble.new_names) else ", unpaid"
            fallen = f", {new} fall in" if any(step.tumble.new_names) or not is_shown_next else ""
            yield self.index_span(step.tumble.event_index), [Span(f"tumble: {removed} leave{fallen}{turned}{unpaid}", QUIET)]
            if not is_shown_next:
                reels = " | ".join(" ".join(names) or "-" for names in step.tumble.new_names)
                yield None, [Span("!! no drop recorded after it; by reel "), Span(reels)]
        elif step.rows and not step.wins:
            yield None, [Span("no win", QUIET)]

    def win_rows(self, wins: Sequence[WinReport], width: int) -> list[Line]:
        """Return the wins of a drop in columns, with less space between them where the page is narrow."""
        counts = [str(win.symbol_count) for win in wins]
        names = [f"{win.symbol.name} {win.where}".rstrip() for win in wins]
        pays = [win.pay + "".join(f" x {n}" for n in (win.ways, win.multiplier) if n != 1) for win in wins]
        columns = [counts, names, pays, [win.win.text for win in wins]]
        widths = [max((_width(_clean(text)) for text in column), default=0) for column in columns]
        gap = "  " if sum(widths) + 5 <= width else " "
        rows: list[Line] = []
        for win, count, name, pay in zip(wins, counts, names, pays, strict=True):
            name_gap = " " * (widths[1] - _width(_clean(name)))
            row = [Span(count.rjust(widths[0]) + " ", is_whole=True), Span(name, _style(win.symbol))]
            row += [Span(name_gap + gap + pay.rjust(widths[2]) + gap), Span(win.win.text.rjust(widths[3]), STRONG)]
            rows.append(row + differing(win.computed, win.win, f"{win.pay} of the bet is"))
        return rows

    def draw_fact(self, fact: Fact) -> None:
        """Draw an event beside drops, wins and tumbles, and the findings about it."""
        if isinstance(fact, FeatureEndReport):
            text = f"{name_words(fact.feature)} over: {fact.spins_played} played, {fact.total.text} won"
            self.lines.append([])
            self.add_rule(text, sign="-", event_index=fact.event_index, style=FEATURE)
        else:
            title, spans = fact_spans(fact)
            first = [Span(" " * MARGIN), self.index_span(fact.event_index), Span(title, QUIET)]
            self.add(spans, first=first, indent=MARGIN + self.index_width + max(TITLE_WIDTH, len(title) + 1))
        self.draw_findings_of(fact.event_index)

    def draw_settlement(self, *, is_whole: bool) -> None:
        """Draw how the round was settled, after the findings that have no other place; the total win is the last line."""
        settlement, total, currency = self.report.settlement, self.report.award_total, self.report.header.currency
        ended = f"settled, {name_words(settlement.ended)}" if settlement else "void" if self.report.is_void else "not settled"
        self.add_rule(ended, sign="=", event_index=None, style=STRONG if settlement else ALARM)
        if is_whole:
            self.draw_findings(lambda _: True)
        elif self.findings:
            self.add([Span(f"!! findings elsewhere in the round: {len(self.findings)}; leave out --spin to see them", ALARM)])
        if settlement is None:
            self.add([Span(f"total win so far {total.text} {currency}", MONEY)])
            return
        parts = f"base {settlement.base_win.text} + features {settlement.feature_win.text}; "
        self.add([Span(parts + f"balance after {settlement.balance_after.text} {currency}")])
        spans = [Span(f"total win {settlement.total_win.text} {currency}", MONEY)]
        self.add(spans + differing(total, settlement.total_win, "the awards of all spins add up to"))
