"""What Moon Spell has of its own in its rules file."""

from typing import ClassVar, Literal

from engines.rules import (
    PAY_SCALE,
    GameRules,
    Layout,
    PayCounts,
    Positive,
    Sourced,
    Weight,
    check_pay_counts,
    check_role_once,
    check_weights,
)

__all__ = ["Ladder", "Lines", "MoonCounts", "MoonValues", "MoonWeights", "RespinWeights", "Respins", "Rules"]


class Lines(Sourced):
    """The win lines by number: for each reel from the left the row it passes, 0 at the top."""

    rows: tuple[tuple[Weight, ...], ...]


class MoonValues(Sourced):
    """The cash values of a Moon in hundredths of the bet, as the sources state them."""

    values_x100: tuple[Positive, ...]


class MoonWeights(Sourced):
    """The weights of the Moon values, in their order."""

    weights: tuple[Weight, ...]


class MoonCounts(Sourced):
    """From how many Moons their cash is paid, and from how many they start the hold and respin instead."""

    cash: Positive
    trigger: Positive


class Respins(Sourced):
    """Respins of the bonus; each one with a new Moon sets those left back to this number."""

    spins: Positive


class RespinWeights(Sourced):
    """Weights of Moon and blank on an empty cell of a respin."""

    moon: Positive
    blank: Positive


class Ladder(Sourced):
    """The prize for each final count of Moons in hundredths of the bet, counts rising."""

    counts: tuple[Positive, ...]
    prizes_x100: tuple[Positive, ...]


class Rules(GameRules):
    """The rules of one version of Moon Spell."""

    reading_names: ClassVar[tuple[str, ...]] = ("ALL-1", "MSP-2", "MSP-3")

    kind: Literal["lines"]
    layout: Layout
    pay_counts: PayCounts  # symbols in a row from reel 1
    lines: Lines
    moon_values: MoonValues
    moon_weights: MoonWeights
    moon_counts: MoonCounts
    respins: Respins
    respin_weights: RespinWeights
    ladder: Ladder
    base_strip_set: str

    def check_own(self) -> None:
        """Check symbols, lines, Moons and ladder; raises ValueError."""
        check_role_once(self, "wild", "moon", "blank")
        check_pay_counts(self, self.pay_counts.counts)
        reels, rows = self.layout.reels, self.layout.rows
        for number, line in enumerate(self.lines.rows):
            if len(line) != reels or max(line) >= rows:
                raise ValueError(f"line {number}: want a row below {rows} for each of {reels} reels, got {line}")
        if len(set(self.lines.rows)) != len(self.lines.rows):
            raise ValueError("lines: want shapes that differ")
        check_weights("moon_weights", self.moon_weights.weights, len(self.moon_values.values_x100))
        counts = self.ladder.counts
        if list(counts) != sorted(set(counts)) or len(counts) != len(self.ladder.prizes_x100) or counts[-1] > reels * rows:
            raise ValueError(f"ladder: want rising counts up to {reels * rows}, each with its prize, got {counts}")
        if self.moon_counts.cash >= self.moon_counts.trigger:
            raise ValueError("moon_counts: want the cash to be paid from fewer Moons than start the bonus")
        for prize in (*self.moon_values.values_x100, *self.ladder.prizes_x100):
            if prize * self.bet.coins % PAY_SCALE:
                raise ValueError(f"prize {prize}/100 of a bet of {self.bet.coins} coins is no whole number of minor units")
        letters = {symbol.role: symbol.letter for symbol in self.symbols}
        strips = [strip for strip_set in self.strip_sets for strip in strip_set.strips]
        if any(letters["blank"] in strip for strip in strips) or letters["wild"] in strips[0]:
            raise ValueError("strip_sets: want no blank on a strip and no wild on the first reel")
        if self.base_strip_set not in [strip_set.name for strip_set in self.strip_sets]:
            raise ValueError(f"strip set {self.base_strip_set!r}: want a strip set of the file")
