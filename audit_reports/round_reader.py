"""The events of a round in order, read into the model of its picture; whatever comes finds a place."""

from collections.abc import Sequence

from audit_reports.round_report import (
    Amount,
    CapReport,
    CellReport,
    ChoiceReport,
    Fact,
    FeatureEndReport,
    HeaderReport,
    MultiplierReport,
    PowerReport,
    PrizeReport,
    RoundReport,
    SettlementReport,
    SpinEndReport,
    SpinReport,
    StepReport,
    SymbolReport,
    TriggerReport,
    TumbleReport,
    WinReport,
)
from engines.game_events import (
    CapHit,
    ChoiceOffered,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    GameEvent,
    MultiplierChange,
    Power,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from engines.rules import PAY_SCALE, GameRules
from ledger.errors import CurrencyUnknown
from ledger.lifecycle_events import ChoiceMade, RoundOpened, RoundSettled
from ledger.money import format_amount
from ledger.references import utc_text

__all__ = ["NOT_SETTLED", "Played", "build_report"]

NOT_SETTLED = "the round is not settled"

Played = GameEvent | ChoiceMade

COUNTED_FOR = {"moon_cash": "moon", "ladder": "moon", "hold_and_respin": "moon"}  # prizes and features that are not for scatters
COUNTED_FOR |= {"resonance": "section"}
UNCOUNTED = ("constellation", "clear_grid")  # prizes for what is no symbol
WINS = {"scatter_pays": "tumble wins", "ways": "tumble wins", "lines": "line wins", "runs": "runs"}
POWER_WILD = 2


def build_report(
    round_id: str, opened: RoundOpened | None, settled: RoundSettled | None, events: Sequence[tuple[int, Played]], rules: GameRules
) -> RoundReport:
    """Return the report of a round; `events` are its game events and choices, each with its index in the round's stream."""
    reader = _RoundReader(rules, opened)
    for event_index, event in events:
        reader.add(event_index, event)
    reader.end_spin()
    return RoundReport(
        round_id=round_id,
        header=_header(opened, settled, rules, reader.money),
        reels=len(rules.reel_rows),
        rows=max(rules.reel_rows),
        reel_rows=rules.reel_rows,
        is_gold_shown=any(isinstance(event, Drop) and 1 in event.marks for _, event in events),
        is_power_shown=any(
            cell and cell.mark == POWER_WILD for spin in reader.spins for step in spin.steps for row in step.rows for cell in row
        ),
        symbols=reader.symbols,
        spins=tuple(reader.spins),
        award_total=reader.money.amount(reader.awarded_minor),
        settlement=_settlement(settled, reader.money),
        notes=_notes(opened, settled, rules, reader.money, is_waiting=bool(events) and isinstance(events[-1][1], ChoiceOffered)),
    )


def _pay_text(pay_x100: int) -> str:
    return f"{pay_x100 // PAY_SCALE}.{pay_x100 % PAY_SCALE:02}x"


class _Money:
    """Amounts of one round: its currency and bet, both unknown where the opening is missing."""

    def __init__(self, opened: RoundOpened | None) -> None:
        self.bet_minor = opened.bet_minor if opened else None
        self.currency = opened.currency if opened else ""
        self.is_known = True
        try:
            format_amount(0, self.currency)
        except CurrencyUnknown:
            self.is_known = False

    def amount(self, minor: int) -> Amount:
        return Amount(minor, format_amount(minor, self.currency) if self.is_known else str(minor))

    def of_pay(self, pay_x100: int, factor: int) -> Amount | None:
        """Return what a pay comes to at the bet; None without a bet and where it is no whole number."""
        if self.bet_minor is None:
            return None
        minor, rest = divmod(pay_x100 * factor * self.bet_minor, PAY_SCALE)
        return None if rest else self.amount(minor)


_FactEvent = MultiplierChange | Prize | CapHit | FeatureTrigger | SpinEnded | FeatureEnded | ChoiceOffered | ChoiceMade
_AFTER_SPIN = FeatureEnded | ChoiceOffered | ChoiceMade  # what stands behind the end of a spin and is none of the next


class _RoundReader:
    """Takes the events of a round in order and keeps the spins they make up; whatever comes finds a place."""

    def __init__(self, rules: GameRules, opened: RoundOpened | None) -> None:
        self.rules = rules
        self.money = _Money(opened)
        self.symbols = tuple(SymbolReport(number, symbol.name, symbol.letter, symbol.role) for number, symbol in enumerate(rules.symbols))
        self.spins: list[SpinReport] = []
        self.awarded_minor = 0
        self._spin: SpinReport | None = None
        self._steps: list[StepReport] = []  # of the spin that is open
        self._is_ended = False
        self._won_on: set[int] = set()  # cells that have won in the spin that is open

    def add(self, event_index: int, event: Played) -> None:
        """Take the next event of the round."""
        if isinstance(event, SpinStarted):
            self.end_spin()
            self._spin = self._spin_report(event_index, event)
            return
        if self._spin is None or (self._is_ended and not isinstance(event, _AFTER_SPIN)):
            self.end_spin()
            self._spin = SpinReport()
        match event:
            case Drop():
                self._steps.append(self._step_of(event_index, event))
            case Win():
                self._add_win(self._win(event_index, event), event.cells)
            case Power():
                self._steps.append(self._power_step(event_index, event))
            case Tumble():
                self._steps[-1] = self._open_step()._replace(tumble=self._tumble(event_index, event))
            case _:
                fact = self._fact(event_index, event)
                self._steps[-1] = self._open_step()._replace(facts=(*self._open_step().facts, fact))

    def end_spin(self) -> None:
        """Close the spin that is open, if there is one; what follows its last drop and is no tumble was at rest."""
        if self._spin is not None:
            rest: tuple[Fact, ...] = ()
            if self._steps and self._steps[-1].tumble is None:
                rest = self._steps[-1].facts
                self._steps[-1] = self._steps[-1]._replace(facts=())
            self.spins.append(self._spin._replace(steps=tuple(step for step in self._steps if step != StepReport()), rest=rest))
        self._spin, self._steps, self._is_ended, self._won_on = None, [], False, set()

    def _open_step(self) -> StepReport:
        """Return the last step, a new one after a tumble."""
        if not self._steps or self._steps[-1].tumble is not None:
            self._steps.append(StepReport())
        return self._steps[-1]

    def _add_win(self, win: WinReport, cells: Sequence[int]) -> None:
        step, won = self._open_step(), set(cells)
        self._won_on |= won
        wins = (*step.wins, win)
        rows = tuple(
            tuple(cell._replace(is_won=True) if cell and cell.cell in won else cell for cell in cells_of_row) for cells_of_row in step.rows
        )
        self._steps[-1] = step._replace(wins=wins, rows=rows, win_total=self.money.amount(sum(each.win.minor for each in wins)))

    def _fact(self, event_index: int, event: _FactEvent) -> Fact:
        money = self.money.amount
        match event:
            case MultiplierChange():
                return MultiplierReport(event_index, event.from_multiplier, event.to_multiplier, event.cause, self._hearts())
            case Prize():
                return self._prize(event_index, event)
            case CapHit():
                before, uncapped, awarded = event.total_before_minor, event.uncapped_minor, event.awarded_minor
                cut, cap = money(uncapped - awarded), money(before + awarded)
                return CapReport(event_index, money(before), money(uncapped), money(awarded), cut, cap)
            case FeatureTrigger():
                name = COUNTED_FOR.get(event.feature, "scatter")
                if self.rules.kind == "runs" and event.feature == "free_spins":
                    name = "section" if event.spins_awarded else "empty cell"
                return TriggerReport(event_index, event.feature, event.count, name, event.spins_awarded, event.spins_left)
            case ChoiceOffered():
                return ChoiceReport(event_index, tuple(map(self._choice_name, event.choices)))
            case ChoiceMade():
                return ChoiceReport(event_index, (self._choice_name(event.choice),), event.made_by, "choice_made")
            case FeatureEnded():
                return FeatureEndReport(event_index, event.feature, event.spins_played, money(event.total_minor))
            case SpinEnded():
                self._is_ended = True
                self.awarded_minor += event.award_minor
                return self._spin_end(event_index, event)

    def _board(self) -> list[CellReport] | None:
        """Return the cells of the last recorded board of the spin in their order, None where there is none."""
        rows = next((step.rows for step in reversed(self._steps) if step.rows), None)
        return None if rows is None else [cell for reel in zip(*rows, strict=True) for cell in reel if cell]

    def _hearts(self) -> tuple[int, ...]:
        return tuple(cell.value for cell in self._board() or () if cell.value and cell.symbol.role != "moon")

    def _prize(self, event_index: int, event: Prize) -> PrizeReport:
        board, pay_x100, multiplier = self._board(), event.pay_x100, event.multiplier
        name = COUNTED_FOR.get(event.which, "scatter")
        is_counted = board is not None and event.which not in UNCOUNTED
        counted = sum(cell.symbol.role == name for cell in board or ()) if is_counted else None
        prize, computed = self.money.amount(event.prize_minor), self.money.of_pay(pay_x100, multiplier)
        return PrizeReport(event_index, event.which, counted, name, multiplier, pay_x100, _pay_text(pay_x100), prize, computed)

    def _spin_end(self, event_index: int, event: SpinEnded) -> SpinEndReport:
        money, hearts = self.money.amount, self._hearts()
        facts = [fact for step in self._steps for fact in step.facts]
        is_of_hearts = any(isinstance(fact, MultiplierReport) and fact.cause == "hearts" for fact in facts)
        wins_minor = sum(win.win.minor for step in self._steps for win in step.wins)
        prizes_minor = sum(fact.prize.minor for fact in facts if isinstance(fact, PrizeReport))
        computed = money(wins_minor * event.spin_multiplier + prizes_minor - event.cut_minor)
        factor = (event.spin_multiplier, hearts if is_of_hearts and sum(hearts) == event.spin_multiplier else ())
        amounts = (money(event.cut_minor), money(event.award_minor), computed, money(event.total_minor))
        return SpinEndReport(
            event_index, money(wins_minor), *factor, money(prizes_minor), *amounts, event.meter, WINS.get(self.rules.kind, "wins")
        )

    def _symbol(self, number: int) -> SymbolReport:
        return self.symbols[number] if number < len(self.symbols) else SymbolReport(number, f"symbol {number}", "?", "unknown")

    def _spin_report(self, event_index: int, start: SpinStarted) -> SpinReport:
        sets = self.rules.strip_sets
        strip_set = sets[start.strip_set].name if 0 <= start.strip_set < len(sets) else f"number {start.strip_set}"
        strip_set = "" if start.strip_set < 0 else strip_set
        before, after = (event_index, start.spin_index, start.part), (start.meter, start.highlighted_cells)
        return SpinReport(*before, strip_set, start.spins_left, start.multiplier, start.total_multiplier, *after)

    def _step_of(self, event_index: int, drop: Drop) -> StepReport:
        reel_rows = self.rules.reel_rows
        tumble = self._steps[-1].tumble if self._steps else None
        new_counts = [len(names) for names in tumble.new_names] if tumble else []
        columns: list[list[CellReport | None]] = []
        cell = 0
        for reel, row_count in enumerate(reel_rows):
            column: list[CellReport | None] = [None] * (max(reel_rows) - row_count)
            for row in range(row_count):
                is_new = reel < len(new_counts) and row < new_counts[reel]
                column.append(self._cell(drop, cell, is_new=is_new))
                cell += 1
            columns.append(column)
        return StepReport(event_index, drop.drop_index, drop.stops, len(drop.symbols), tuple(zip(*columns, strict=True)))

    def _cell(self, drop: Drop, cell: int, *, is_new: bool) -> CellReport | None:
        """Return a cell of a drop, None where it is not recorded."""
        if cell >= len(drop.symbols):
            return None
        value = drop.values[cell] if cell < len(drop.values) else 0
        mark = drop.marks[cell] if cell < len(drop.marks) else 0
        return self._lit(CellReport(cell, self._symbol(drop.symbols[cell]), value, mark, is_new))

    def _lit(self, cell: CellReport) -> CellReport:
        """Return a cell with what the spin's highlights say of it."""
        is_highlighted = self._spin is not None and cell.cell in self._spin.highlighted_cells
        return cell._replace(is_highlighted=is_highlighted, is_won_on=is_highlighted and cell.cell in self._won_on)

    def _power_step(self, event_index: int, event: Power) -> StepReport:
        """Return the step that a power begins: the last board with its cells turned, which is not recorded again."""
        powers = getattr(self.rules, "powers", ())
        power = powers[event.princess].power if event.princess < len(powers) else ""
        wild = next((symbol for symbol in self.symbols if symbol.role == "wild"), self._symbol(len(self.symbols)))
        mark, turned = POWER_WILD if power == "power_wilds" else 0, set(event.turned_cells)
        rows = next((step.rows for step in reversed(self._steps) if step.rows), ())

        def after(cell: CellReport | None) -> CellReport | None:
            if cell is None:
                return None
            if cell.cell in turned:
                cell = cell._replace(symbol=wild, mark=mark)
            return self._lit(cell._replace(is_won=False, is_new=cell.cell in turned))

        report = PowerReport(event_index, self._choice_name(event.princess), power, event.size, event.turned_cells)
        return StepReport(rows=tuple(tuple(map(after, row)) for row in rows), power=report)

    def _choice_name(self, choice: int) -> str:
        names = self.rules.choice_names
        return names[choice] if choice < len(names) else f"number {choice}"

    def _where(self, win: Win) -> str:
        if win.line < 0:
            return ""
        if self.rules.kind != "runs":
            return f"on line {win.line}"
        rows = max(self.rules.reel_rows)
        return f"in row {win.line + 1}" if win.line < rows else f"in reel {win.line - rows + 1}"

    def _win(self, event_index: int, win: Win) -> WinReport:
        amounts = (self.money.amount(win.win_minor), self.money.of_pay(win.pay_x100, win.ways * win.multiplier))
        where = (event_index, self._symbol(win.symbol), win.line, win.count, win.cells)
        return WinReport(*where, win.ways, win.multiplier, win.pay_x100, _pay_text(win.pay_x100), *amounts, self._where(win))

    def _tumble(self, event_index: int, tumble: Tumble) -> TumbleReport:
        names = tuple(tuple(self._symbol(number).name for number in column) for column in tumble.new_symbols)
        return TumbleReport(event_index, tumble.removed_cells, tumble.turned_cells, sum(len(column) for column in names), names)


def _header(opened: RoundOpened | None, settled: RoundSettled | None, rules: GameRules, money: _Money) -> HeaderReport:
    settled_at = utc_text(settled.settled_at_us) if settled else ""
    header = HeaderReport(rules.title, rules.is_draft, rules.rules_hash, settled_at, rules.game, rules.version)
    if opened is None:
        return header
    bet, cost, balance_before = (money.amount(minor) for minor in (opened.bet_minor, opened.cost_minor, opened.balance_before_minor))
    header = header._replace(game=opened.game, version=opened.rules_version, rules_hash=opened.rules_hash, mode=opened.mode)
    header = header._replace(bet=bet, cost=cost, currency=money.currency, balance_before=balance_before)
    return header._replace(account_ref=opened.account_ref, external_ref=opened.external_ref, opened_at=utc_text(opened.opened_at_us))


def _settlement(settled: RoundSettled | None, money: _Money) -> SettlementReport | None:
    if settled is None:
        return None
    base_win, feature_win, total_win = settled.base_win_minor, settled.feature_win_minor, settled.total_win_minor
    amounts = [money.amount(minor) for minor in (base_win, feature_win, total_win, settled.balance_after_minor)]
    return SettlementReport(settled.ended, *amounts)


def _notes(
    opened: RoundOpened | None, settled: RoundSettled | None, rules: GameRules, money: _Money, *, is_waiting: bool
) -> tuple[str, ...]:
    notes = []
    if opened is None:
        notes.append("the opening of this round is missing: bet and currency are not known, amounts are in minor units")
    elif not money.is_known:
        notes.append(f"currency {money.currency} is not known: amounts are in minor units")
    if opened is not None and opened.rules_hash != rules.rules_hash:
        notes.append(f"drawn by other rules than the record names: symbols and strip sets are those of {rules.game} {rules.version}")
    if settled is None:
        notes.append("the round waits for a choice" if is_waiting else NOT_SETTLED)
    return tuple(notes)
