"""What Starlight Wins has of its own in its rules file."""

from typing import ClassVar, Literal

from engines.rules import (
    PAY_SCALE,
    GameRules,
    Limits,
    PayCounts,
    Positive,
    ReelLayout,
    Sourced,
    Weight,
    check_pay_counts,
    check_role_once,
)

__all__ = ["DisplayedBets", "FreeSpins", "Gold", "Ladder", "MoneyPays", "Rules"]

READING_OF_BET = "SLW-1"


class MoneyPays(Sourced):
    """What a symbol pays for each of `pay_counts`, as the amounts in minor units that the paytable shows."""

    symbol: str
    amounts_minor: tuple[Positive, ...]


class DisplayedBets(Sourced):
    """The bet in minor units that the paytable's amounts are shown for, one for each value of the reading SLW-1."""

    bets_minor: tuple[Positive, ...]


class Gold(Sourced):
    """How often a paying symbol that lands is gold on one strip set: for each reel so many of `total`.

    Reels with 0 make no draw, nor do those in `all_gold`, where every paying symbol is gold.
    """

    strip_set: str
    weights: tuple[Weight, ...]
    total: Positive
    all_gold: tuple[Weight, ...]  # reels, from 0


class Ladder(Sourced):
    """The multiplier of each win step of a spin in one part of the game; the last holds for all that follow."""

    part: Literal["base", "free"]
    multipliers: tuple[Positive, ...]


class FreeSpins(Sourced):
    """Scatters that start or prolong free spins, the spins they award, and those for each scatter above their number."""

    count: Positive
    spins: Positive
    spins_each_more: Positive


class Rules(GameRules):
    """The rules of one version of Starlight Wins."""

    reading_names: ClassVar[tuple[str, ...]] = ("ALL-1", "SLW-1", "SLW-2")

    kind: Literal["ways"]
    layout: ReelLayout
    pay_counts: PayCounts  # reels from the left that a way must reach
    displayed_bets: DisplayedBets
    money_pays: tuple[MoneyPays, ...]
    gold: tuple[Gold, ...]
    ladders: tuple[Ladder, ...]
    trigger: FreeSpins
    retrigger: FreeSpins
    base_strip_set: str
    free_spins_strip_set: str
    limits: Limits

    def pays_x100_of(self, symbol: int) -> tuple[int, ...]:
        """Return the pays of a symbol in hundredths of the bet, by the displayed bet as decided; empty where it has none."""
        amounts = next((row.amounts_minor for row in self.money_pays if row.symbol == self.symbols[symbol].name), ())
        displayed = self.displayed_bets.bets_minor[self.reading(READING_OF_BET)]
        return tuple(amount * PAY_SCALE // displayed for amount in amounts)

    def ladder(self, part: str) -> tuple[int, ...]:
        """Return the multipliers of the win steps in `base` or `free`."""
        return next(ladder.multipliers for ladder in self.ladders if ladder.part == part)

    def check_own(self) -> None:
        """Check symbols, paytable, gold and ladders; raises ValueError."""
        check_role_once(self, "scatter", "wild")
        values = len(self.readings[self.reading_names.index(READING_OF_BET)].values)
        if len(self.displayed_bets.bets_minor) != values:
            raise ValueError(f"displayed_bets: want one for each of {values} values of {READING_OF_BET}")
        paying = [symbol.name for symbol in self.symbols if symbol.role == "paying"]
        if [row.symbol for row in self.money_pays] != paying:
            raise ValueError(f"money_pays: want one row for each paying symbol in its order, {paying}")
        check_pay_counts(self, self.pay_counts.counts)
        for row in self.money_pays:
            for bet in self.displayed_bets.bets_minor:
                if any(amount * PAY_SCALE % bet for amount in row.amounts_minor):
                    raise ValueError(f"money_pays of {row.symbol}: no whole hundredths of a bet of {bet}")
        sets = [strip_set.name for strip_set in self.strip_sets]
        if [gold.strip_set for gold in self.gold] != sets:
            raise ValueError(f"gold: want one table for each strip set in its order, {sets}")
        reels = len(self.layout.rows)
        for gold in self.gold:
            if len(gold.weights) != reels or max(gold.weights) > gold.total or any(reel >= reels for reel in gold.all_gold):
                raise ValueError(f"gold of {gold.strip_set}: want a weight up to {gold.total} for each of {reels} reels")
            if {0, reels - 1} & set(gold.all_gold) or any(gold.weights[reel] for reel in (*gold.all_gold, 0, reels - 1)):
                raise ValueError(f"gold of {gold.strip_set}: want no gold on the first and the last reel, and weight 0 where all is gold")
        if [ladder.part for ladder in self.ladders] != ["base", "free"] or not all(ladder.multipliers for ladder in self.ladders):
            raise ValueError("ladders: want those of base and free")
        wild = next(symbol.letter for symbol in self.symbols if symbol.role == "wild")
        if any(wild in strip for strip_set in self.strip_sets for strip in strip_set.strips):
            raise ValueError("strip_sets: want no wild on a strip")
        for name in (self.base_strip_set, self.free_spins_strip_set):
            if name not in sets:
                raise ValueError(f"strip set {name!r}: want one of {sets}")
