"""The picture of a round: one model from which the terminal view, HTML and PDF are drawn.

Built from recorded events alone, nothing is played again: what stands here is what the record says. Sums that the
record must obey are made anew beside it (`computed`), so that a view can say where the two differ. Money is in minor
units and as text. Any sequence of events has a report; what is missing is None, empty or said in `notes`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any, NamedTuple

from engines.game_events import (
    CapHit,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    GameEvent,
    MultiplierChange,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from engines.rules import PAY_SCALE, GameRules
from ledger.errors import CurrencyUnknown
from ledger.lifecycle_events import RoundOpened, RoundSettled
from ledger.money import format_amount
from replay.verdict import Finding

__all__ = [
    "Amount",
    "CapReport",
    "CellReport",
    "Fact",
    "FeatureEndReport",
    "HeaderReport",
    "MultiplierReport",
    "PrizeReport",
    "RoundReport",
    "SettlementReport",
    "SpinEndReport",
    "SpinReport",
    "StepReport",
    "SymbolReport",
    "TriggerReport",
    "TumbleReport",
    "WinReport",
    "build_report",
    "report_json",
]


class Amount(NamedTuple):
    """Money in minor units and as text; the text is the minor units where the currency is not known."""

    minor: int
    text: str


class SymbolReport(NamedTuple):
    """A symbol of the rules; of role `unknown` where the rules know none such."""

    symbol: int
    name: str
    letter: str
    role: str


class CellReport(NamedTuple):
    """One cell of a board: its symbol, a heart's value, whether it wins in this drop and whether it fell in for it."""

    symbol: SymbolReport
    value: int
    is_new: bool
    is_won: bool = False


class WinReport(NamedTuple):
    """One winning combination; `computed` is what pay, ways and multiplier come to at the bet, None where that is not known."""

    event_index: int
    symbol: SymbolReport
    line: int
    symbol_count: int
    cells: tuple[int, ...]
    ways: int
    multiplier: int
    pay_x100: int
    pay: str
    win: Amount
    computed: Amount | None


class TumbleReport(NamedTuple):
    """What leaves the board, and the names of what falls in: for each reel, from the top row down."""

    event_index: int
    removed_cells: tuple[int, ...]
    turned_cells: tuple[int, ...]
    new_count: int
    new_names: tuple[tuple[str, ...], ...]


class MultiplierReport(NamedTuple):
    """The multiplier changes; `hearts` are the values on the board as it lies."""

    event_index: int
    from_multiplier: int
    to_multiplier: int
    cause: str
    hearts: tuple[int, ...]
    kind: str = "multiplier_change"


class PrizeReport(NamedTuple):
    """An amount beside the wins; `scatter_count` is the scatters on the board as it lies, None where there is no board."""

    event_index: int
    which: str
    scatter_count: int | None
    multiplier: int
    pay_x100: int
    pay: str
    prize: Amount
    computed: Amount | None
    kind: str = "prize"


class CapReport(NamedTuple):
    """A win or prize is cut to what the win cap leaves of it; `cap` is the total before it and what was awarded."""

    event_index: int
    total_before: Amount
    uncapped: Amount
    awarded: Amount
    cut: Amount
    cap: Amount
    kind: str = "cap_hit"


class TriggerReport(NamedTuple):
    """A feature is won, or more spins within it."""

    event_index: int
    feature: str
    scatter_count: int
    spins_awarded: int
    spins_left: int
    kind: str = "feature_trigger"


class SpinEndReport(NamedTuple):
    """A spin's award; `computed` is wins x multiplier + prizes - cut, `hearts` add up to the multiplier or are empty."""

    event_index: int
    wins: Amount
    spin_multiplier: int
    hearts: tuple[int, ...]
    prizes: Amount
    cut: Amount
    award: Amount
    computed: Amount
    total: Amount
    meter: int
    kind: str = "spin_ended"


class FeatureEndReport(NamedTuple):
    """A feature is over."""

    event_index: int
    feature: str
    spins_played: int
    total: Amount
    kind: str = "feature_ended"


Fact = MultiplierReport | PrizeReport | CapReport | TriggerReport | SpinEndReport | FeatureEndReport


class StepReport(NamedTuple):
    """A drop with its wins and what falls next; None where it is not recorded.

    `rows` are the board from the top; `facts` are other events between this drop and its tumble.
    """

    event_index: int | None = None
    drop_index: int | None = None
    stops: tuple[int, ...] = ()
    cell_count: int = 0
    rows: tuple[tuple[CellReport | None, ...], ...] = ()
    wins: tuple[WinReport, ...] = ()
    win_total: Amount | None = None
    facts: tuple[Fact, ...] = ()
    tumble: TumbleReport | None = None


class SpinReport(NamedTuple):
    """One spin; its steps, then what happened at rest. Without a recorded start `event_index` and `spin_index` are None."""

    event_index: int | None = None
    spin_index: int | None = None
    part: str = ""
    strip_set: str = ""
    spins_left: int = 0
    multiplier: int = 0
    total_multiplier: int = 0
    meter: int = 0
    highlighted_cells: tuple[int, ...] = ()
    steps: tuple[StepReport, ...] = ()
    rest: tuple[Fact, ...] = ()


class HeaderReport(NamedTuple):
    """What was played, for how much, by whom and when; times are RFC 3339 in UTC, empty where not recorded."""

    title: str
    is_draft: bool
    drawn_by_hash: str
    settled_at: str
    game: str
    version: str
    rules_hash: str = ""
    mode: str = ""
    bet: Amount | None = None
    cost: Amount | None = None
    currency: str = ""
    account_ref: str = ""
    external_ref: str = ""
    balance_before: Amount | None = None
    opened_at: str = ""


class SettlementReport(NamedTuple):
    """How the round was settled."""

    ended: str
    base_win: Amount
    feature_win: Amount
    total_win: Amount
    balance_after: Amount


class RoundReport(NamedTuple):
    """A round from its opening to its settlement; `award_total` is the sum of the recorded awards."""

    round_id: str
    header: HeaderReport
    reels: int
    rows: int
    symbols: tuple[SymbolReport, ...]
    spins: tuple[SpinReport, ...]
    award_total: Amount
    settlement: SettlementReport | None
    notes: tuple[str, ...]


def build_report(
    round_id: str, opened: RoundOpened | None, settled: RoundSettled | None, events: Sequence[tuple[int, GameEvent]], rules: GameRules
) -> RoundReport:
    """Return the report of a round; `events` are its game events, each with its index in the round's stream."""
    reader = _RoundReader(rules, opened)
    for event_index, event in events:
        reader.add(event_index, event)
    reader.end_spin()
    return RoundReport(
        round_id=round_id,
        header=_header(opened, settled, rules, reader.money),
        reels=rules.layout.reels,
        rows=rules.layout.rows,
        symbols=reader.symbols,
        spins=tuple(reader.spins),
        award_total=reader.money.amount(reader.awarded_minor),
        settlement=_settlement(settled, reader.money),
        notes=_notes(opened, settled, rules, reader.money),
    )


def report_json(report: RoundReport, *, spin_index: int | None = None, findings: Sequence[Finding] = ()) -> dict[str, Any]:
    """Return the report as `show/1`: dicts, lists, text and integers; with `spin_index` only the spins of that index."""
    document = {"schema": "show/1", **_plain(report), "findings": [finding._asdict() for finding in findings]}
    if spin_index is not None:
        document["spins"] = [spin for spin in document["spins"] if spin["spin_index"] == spin_index]
    return document


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _time_text(time_us: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


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


_FactEvent = MultiplierChange | Prize | CapHit | FeatureTrigger | SpinEnded | FeatureEnded


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

    def add(self, event_index: int, event: GameEvent) -> None:
        """Take the next event of the round."""
        if isinstance(event, SpinStarted):
            self.end_spin()
            self._spin = self._spin_report(event_index, event)
            return
        if self._spin is None or (self._is_ended and not isinstance(event, FeatureEnded)):
            self.end_spin()
            self._spin = SpinReport()
        match event:
            case Drop():
                self._steps.append(self._step_of(event_index, event))
            case Win():
                self._add_win(self._win(event_index, event), event.cells)
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
        self._spin, self._steps, self._is_ended = None, [], False

    def _open_step(self) -> StepReport:
        """Return the last step, a new one after a tumble."""
        if not self._steps or self._steps[-1].tumble is not None:
            self._steps.append(StepReport())
        return self._steps[-1]

    def _add_win(self, win: WinReport, cells: Sequence[int]) -> None:
        step, won = self._open_step(), set(cells)
        wins = (*step.wins, win)
        rows = tuple(
            tuple(
                cell._replace(is_won=True) if cell and reel * len(step.rows) + row in won else cell
                for reel, cell in enumerate(cells_of_row)
            )
            for row, cells_of_row in enumerate(step.rows)
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
                return TriggerReport(event_index, event.feature, event.count, event.spins_awarded, event.spins_left)
            case FeatureEnded():
                return FeatureEndReport(event_index, event.feature, event.spins_played, money(event.total_minor))
            case SpinEnded():
                self._is_ended = True
                self.awarded_minor += event.award_minor
                return self._spin_end(event_index, event)

    def _board(self) -> list[CellReport] | None:
        """Return the cells of the last recorded board of the spin reel by reel, None where there is none."""
        rows = next((step.rows for step in reversed(self._steps) if step.event_index is not None), None)
        return None if rows is None else [cell for reel in zip(*rows, strict=True) for cell in reel if cell]

    def _hearts(self) -> tuple[int, ...]:
        return tuple(cell.value for cell in self._board() or () if cell.value)

    def _prize(self, event_index: int, event: Prize) -> PrizeReport:
        board, pay_x100, multiplier = self._board(), event.pay_x100, event.multiplier
        scatter_count = None if board is None else sum(cell.symbol.role == "scatter" for cell in board)
        prize, computed = self.money.amount(event.prize_minor), self.money.of_pay(pay_x100, multiplier)
        return PrizeReport(event_index, event.which, scatter_count, multiplier, pay_x100, _pay_text(pay_x100), prize, computed)

    def _spin_end(self, event_index: int, event: SpinEnded) -> SpinEndReport:
        money, hearts = self.money.amount, self._hearts()
        facts = [fact for step in self._steps for fact in step.facts]
        is_of_hearts = any(isinstance(fact, MultiplierReport) and fact.cause == "hearts" for fact in facts)
        wins_minor = sum(win.win.minor for step in self._steps for win in step.wins)
        prizes_minor = sum(fact.prize.minor for fact in facts if isinstance(fact, PrizeReport))
        computed = money(wins_minor * event.spin_multiplier + prizes_minor - event.cut_minor)
        factor = (event.spin_multiplier, hearts if is_of_hearts and sum(hearts) == event.spin_multiplier else ())
        amounts = (money(event.cut_minor), money(event.award_minor), computed, money(event.total_minor))
        return SpinEndReport(event_index, money(wins_minor), *factor, money(prizes_minor), *amounts, event.meter)

    def _symbol(self, number: int) -> SymbolReport:
        return self.symbols[number] if number < len(self.symbols) else SymbolReport(number, f"symbol {number}", "?", "unknown")

    def _spin_report(self, event_index: int, start: SpinStarted) -> SpinReport:
        sets = self.rules.strip_sets
        strip_set = sets[start.strip_set].name if 0 <= start.strip_set < len(sets) else f"number {start.strip_set}"
        before, after = (event_index, start.spin_index, start.part), (start.meter, start.highlighted_cells)
        return SpinReport(*before, strip_set, start.spins_left, start.multiplier, start.total_multiplier, *after)

    def _step_of(self, event_index: int, drop: Drop) -> StepReport:
        reels, rows = self.rules.layout.reels, self.rules.layout.rows
        symbols = drop.symbols[: reels * rows]
        tumble = self._steps[-1].tumble if self._steps else None
        new_counts = [len(names) for names in tumble.new_names] if tumble else []
        cells: list[CellReport | None] = []
        for cell, (number, value) in enumerate(zip_longest(symbols, drop.values[: len(symbols)], fillvalue=0)):
            reel, row = divmod(cell, rows)
            cells.append(CellReport(self._symbol(number), value, is_new=reel < len(new_counts) and row < new_counts[reel]))
        cells += [None] * (reels * rows - len(cells))
        board = tuple(tuple(cells[row : reels * rows : rows]) for row in range(rows))
        return StepReport(event_index, drop.drop_index, drop.stops, len(drop.symbols), board)

    def _win(self, event_index: int, win: Win) -> WinReport:
        amounts = (self.money.amount(win.win_minor), self.money.of_pay(win.pay_x100, win.ways * win.multiplier))
        where = (event_index, self._symbol(win.symbol), win.line, win.count, win.cells)
        return WinReport(*where, win.ways, win.multiplier, win.pay_x100, _pay_text(win.pay_x100), *amounts)

    def _tumble(self, event_index: int, tumble: Tumble) -> TumbleReport:
        names = tuple(tuple(self._symbol(number).name for number in column) for column in tumble.new_symbols)
        return TumbleReport(event_index, tumble.removed_cells, tumble.turned_cells, sum(len(column) for column in names), names)


def _header(opened: RoundOpened | None, settled: RoundSettled | None, rules: GameRules, money: _Money) -> HeaderReport:
    settled_at = _time_text(settled.settled_at_us) if settled else ""
    header = HeaderReport(rules.title, rules.is_draft, rules.rules_hash, settled_at, rules.game, rules.version)
    if opened is None:
        return header
    bet, cost, balance_before = (money.amount(minor) for minor in (opened.bet_minor, opened.cost_minor, opened.balance_before_minor))
    header = header._replace(game=opened.game, version=opened.rules_version, rules_hash=opened.rules_hash, mode=opened.mode)
    header = header._replace(bet=bet, cost=cost, currency=money.currency, balance_before=balance_before)
    return header._replace(account_ref=opened.account_ref, external_ref=opened.external_ref, opened_at=_time_text(opened.opened_at_us))


def _settlement(settled: RoundSettled | None, money: _Money) -> SettlementReport | None:
    if settled is None:
        return None
    base_win, feature_win, total_win = settled.base_win_minor, settled.feature_win_minor, settled.total_win_minor
    amounts = [money.amount(minor) for minor in (base_win, feature_win, total_win, settled.balance_after_minor)]
    return SettlementReport(settled.ended, *amounts)


def _notes(opened: RoundOpened | None, settled: RoundSettled | None, rules: GameRules, money: _Money) -> tuple[str, ...]:
    notes = []
    if opened is None:
        notes.append("the opening of this round is missing: bet and currency are not known, amounts are in minor units")
    elif not money.is_known:
        notes.append(f"currency {money.currency} is not known: amounts are in minor units")
    if opened is not None and opened.rules_hash != rules.rules_hash:
        notes.append(f"drawn by other rules than the record names: symbols and strip sets are those of {rules.game} {rules.version}")
    if settled is None:
        notes.append("the round is not settled")
    return tuple(notes)
