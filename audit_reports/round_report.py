"""The picture of a round: one model from which the terminal view, HTML and PDF are drawn.

Built from recorded events alone, nothing is played again: what stands here is what the record says. Sums that the
record must obey are made anew beside it (`computed`), so that a view can say where the two differ. Money is in minor
units and as text. Any sequence of events has a report; what is missing is None, empty or said in `notes`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from replay.verdict import Finding

__all__ = [
    "Amount",
    "CapReport",
    "CellReport",
    "ChoiceReport",
    "Fact",
    "FeatureEndReport",
    "HeaderReport",
    "MultiplierReport",
    "PowerReport",
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
    """One cell of a board: its number, symbol, value and mark, whether it wins in this drop and whether it fell in for it."""

    cell: int
    symbol: SymbolReport
    value: int  # a heart's multiplier, a Moon's cash in hundredths of the bet
    mark: int  # 1 for gold, 2 for a Power Wild
    is_new: bool  # fell in for this drop, or was turned by the power before it
    is_won: bool = False
    is_highlighted: bool = False
    is_won_on: bool = False  # highlighted, and won on by an earlier drop of the spin


class WinReport(NamedTuple):
    """One winning combination; `where` says on what line, row or reel, empty where a game has none.

    `computed` is what pay, ways and multiplier come to at the bet, None where that is not known.
    """

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
    where: str = ""


class TumbleReport(NamedTuple):
    """What leaves the board, and the names of what falls in: for each reel, from the top row down."""

    event_index: int
    removed_cells: tuple[int, ...]
    turned_cells: tuple[int, ...]
    new_count: int
    new_names: tuple[tuple[str, ...], ...]


class PowerReport(NamedTuple):
    """A princess acts: cells turn into wilds, fewer than the size drawn where there is no room."""

    event_index: int
    princess: str
    power: str
    size: int
    turned_cells: tuple[int, ...]
    kind: str = "power"


class ChoiceReport(NamedTuple):
    """The round asks for a choice, or one is made; `made_by` is empty where it asks."""

    event_index: int
    names: tuple[str, ...]
    made_by: str = ""
    kind: str = "choice_offered"


class MultiplierReport(NamedTuple):
    """The multiplier changes; `hearts` are the values on the board as it lies."""

    event_index: int
    from_multiplier: int
    to_multiplier: int
    cause: str
    hearts: tuple[int, ...]
    kind: str = "multiplier_change"


class PrizeReport(NamedTuple):
    """An amount beside the wins; `counted` is what of `counted_name` lies on the board, None where there is no board."""

    event_index: int
    which: str
    counted: int | None
    counted_name: str
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
    counted: int
    counted_name: str
    spins_awarded: int
    spins_left: int
    kind: str = "feature_trigger"


class SpinEndReport(NamedTuple):
    """A spin's award; `computed` is wins x multiplier + prizes - cut, `hearts` add up to the multiplier or are empty.

    `wins_name` says what wins the game has.
    """

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
    wins_name: str = "wins"
    kind: str = "spin_ended"


class FeatureEndReport(NamedTuple):
    """A feature is over."""

    event_index: int
    feature: str
    spins_played: int
    total: Amount
    kind: str = "feature_ended"


Fact = MultiplierReport | PrizeReport | CapReport | TriggerReport | SpinEndReport | FeatureEndReport | ChoiceReport


class StepReport(NamedTuple):
    """A drop with its wins and what falls next; None where it is not recorded. A power begins a step too, on the board that it makes.

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
    power: PowerReport | None = None


class SpinReport(NamedTuple):
    """One spin; its steps, then what happened at rest. Without a recorded start `event_index` and `spin_index` are None."""

    event_index: int | None = None
    spin_index: int | None = None
    part: str = ""
    strip_set: str = ""  # empty where the spin is played on none
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
    rows: int  # of the highest reel; a lower one has no cell in the top rows
    reel_rows: tuple[int, ...]
    is_gold_shown: bool  # whether some cell of the round is gold
    is_power_shown: bool  # whether some cell of the round is a Power Wild
    symbols: tuple[SymbolReport, ...]
    spins: tuple[SpinReport, ...]
    award_total: Amount
    settlement: SettlementReport | None
    notes: tuple[str, ...]
    is_void: bool = False


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
