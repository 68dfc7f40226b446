"""Sums over rounds that a return is judged by: exact, by cells of stake, build, channel and window, memory by the number of cells alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["LIMITS", "TAILS", "Cell", "PlayedRound", "ReturnSums", "Slice", "WinTerms", "add_rounds", "slices_of"]

LIMITS = (4, 16, 64, 256)  # bets at which wins are cut, so that their deviation is a fraction of the whole one
TAILS = (256, 1024, 4096)  # bets: how often wins of so much or more come


class PlayedRound(NamedTuple):
    """What is judged of one settled round; amounts in minor units."""

    rules_hash: str
    game: str
    mode: str
    currency: str
    bet_minor: int
    cost_minor: int
    win_minor: int
    build: str
    channel: str
    opened_at_us: int


class Cell(NamedTuple):
    """Rounds that agree in everything by which returns are looked at."""

    rules_hash: str
    game: str
    mode: str
    currency: str
    bet_minor: int
    build: str
    channel: str
    window: int  # number of the window, from 0


@dataclass(slots=True)
class ReturnSums:
    """Sums over rounds; `cut` by LIMITS, `tails` by TAILS.

    above_cap: rounds that won more than the cap lets them; off_step: those whose win is no sum of pays, for every pay is a multiple
    of one step.
    """

    rounds: int = 0
    cost: int = 0
    cost_squared: int = 0
    bet: int = 0
    bet_squared: int = 0
    bet_min: int = 0
    bet_max: int = 0
    win: int = 0
    above_cap: int = 0
    off_step: int = 0
    cut: list[int] = field(default_factory=lambda: [0] * len(LIMITS))
    tails: list[int] = field(default_factory=lambda: [0] * len(TAILS))

    def add(self, bet: int, cost: int, win: int, terms: "WinTerms") -> None:
        """Add one round."""
        self.rounds += 1
        self.cost += cost
        self.cost_squared += cost * cost
        self.bet += bet
        self.bet_squared += bet * bet
        self.bet_min = min(self.bet_min or bet, bet)
        self.bet_max = max(self.bet_max, bet)
        if win:
            self.win += win
            for place, limit in enumerate(LIMITS):
                self.cut[place] += min(win, limit * bet)
            for place, limit in enumerate(TAILS):
                self.tails[place] += win >= limit * bet
            self.above_cap += win > terms.cap_multiple * bet
            self.off_step += win * 100 % (terms.pay_step_x100 * bet) != 0

    def plus(self, other: "ReturnSums") -> "ReturnSums":
        """Return the sums over the rounds of both."""
        return ReturnSums(
            self.rounds + other.rounds,
            self.cost + other.cost,
            self.cost_squared + other.cost_squared,
            self.bet + other.bet,
            self.bet_squared + other.bet_squared,
            min(self.bet_min or other.bet_min, other.bet_min or self.bet_min),
            max(self.bet_max, other.bet_max),
            self.win + other.win,
            self.above_cap + other.above_cap,
            self.off_step + other.off_step,
            [mine + theirs for mine, theirs in zip(self.cut, other.cut, strict=True)],
            [mine + theirs for mine, theirs in zip(self.tails, other.tails, strict=True)],
        )


class WinTerms(NamedTuple):
    """What every win obeys: the cap in bets, and the step of pays in hundredths of the bet."""

    cap_multiple: int
    pay_step_x100: int


NO_TERMS = WinTerms(1 << 60, 1)  # of rules of which nothing is certified: no win contradicts them but one that is no whole amount


class Slice(NamedTuple):
    """A part of a configuration's rounds that is looked at apart: all of them, or those of one stake, build, channel or window."""

    rules_hash: str
    game: str
    mode: str
    by: str  # `all`, `stake`, `build`, `channel` or `window`
    value: str

    def holds(self, cell: Cell) -> bool:
        """Return whether a cell's rounds are of this slice."""
        same = cell[:3] == self[:3]
        return same and (self.by == "all" or value_of(cell, self.by) == self.value)


def value_of(cell: Cell, by: str) -> str:
    """Return what a cell has of that by which a slice is made."""
    if by == "stake":
        return f"{cell.currency} {cell.bet_minor}"
    return str({"build": cell.build, "channel": cell.channel, "window": cell.window}[by])


def add_rounds(
    cells: dict[Cell, ReturnSums], rounds: Iterable[PlayedRound], terms: Mapping[str, WinTerms], *, until_us: int, window_us: int
) -> Iterator[PlayedRound]:
    """Add rounds to the sums of their cells; yields each, for who counts on.

    terms: by rules hash. Windows are counted back from `until_us`.
    """
    for each in rounds:
        window = max(0, (until_us - each.opened_at_us) // window_us) if window_us else 0
        cell = Cell(*each[:4], each.bet_minor, each.build, each.channel, window)
        sums = cells.get(cell)
        if sums is None:
            sums = cells[cell] = ReturnSums()
        sums.add(each.bet_minor, each.cost_minor, each.win_minor, terms.get(each.rules_hash, NO_TERMS))
        yield each


def slices_of(cells: Iterable[Cell]) -> list[Slice]:
    """Return every slice that cells make, whole configurations first; one that is all of its configuration is left out."""
    found: dict[Slice, None] = {}
    listed = list(cells)
    for cell in listed:
        found[Slice(*cell[:3], "all", "")] = None
    for by in ("stake", "build", "channel", "window"):
        values: dict[tuple[str, ...], set[str]] = {}
        for cell in listed:
            values.setdefault(tuple(map(str, cell[:3])), set()).add(value_of(cell, by))
        for cell in listed:
            if len(values[tuple(map(str, cell[:3]))]) > 1:
                found[Slice(*cell[:3], by, value_of(cell, by))] = None
    return sorted(found, key=lambda each: (*each[:3], each.by != "all", each.by, each.value))
