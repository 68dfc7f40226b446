"""What Moon Princess Stargazing has of its own in its rules file."""

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

__all__ = [
    "BasePower",
    "Ceiling",
    "FreeSpins",
    "FreeSpinsLimit",
    "HighlightWeights",
    "Highlights",
    "Meter",
    "Power",
    "PowerWeights",
    "PrincessOrder",
    "ResonanceLimit",
    "Rules",
    "SpotPrize",
    "WildLeft",
]


class WildLeft(Sourced):
    """The length of a winning run that leaves a wild in its middle."""

    count: Positive


class Highlights(Sourced):
    """How many cells a spin may highlight."""

    counts: tuple[Positive, ...]


class HighlightWeights(Sourced):
    """The weights of the numbers of highlighted cells, in their order."""

    weights: tuple[Weight, ...]


class Ceiling(Sourced):
    """The highest win multiplier."""

    multiplier: Positive


class SpotPrize(Sourced):
    """An instant prize in hundredths of the bet, paid at the multiplier in force."""

    which: Literal["constellation", "clear_grid"]
    pay_x100: Positive


class Meter(Sourced):
    """How many sections fill the meter, and how many a winning run with princesses fills for each of `pay_counts`."""

    sections: Positive
    sections_of_run: tuple[Positive, ...]


class Power(Sourced):
    """What a princess does with paying symbols: wilds on so many of them, drawn from `sizes`.

    `power_wilds` last for the spin, `diagonal` ones lie on a diagonal stretch, `wilds` anywhere.
    """

    princess: str  # a symbol
    power: Literal["power_wilds", "diagonal", "wilds"]
    sizes: tuple[Positive, ...]


class PowerWeights(Sourced):
    """The weights of a princess's sizes, in their order: in base spins and Resonances, or in free spins."""

    part: Literal["base", "free"]
    princess: str
    weights: tuple[Weight, ...]


class BasePower(Sourced):
    """Weights of a power and of none on a base spin at rest."""

    act: Weight
    rest: Weight


class PrincessOrder(Sourced):
    """The order in which the active princess changes, from the one that an account starts with, round and round."""

    princesses: tuple[str, ...]


class FreeSpins(Sourced):
    """The free spins that a chosen princess starts with."""

    princess: str
    spins: Positive


class FreeSpinsLimit(Sourced):
    """Free spins that a full meter adds, and the most that a round may have, those at the start included."""

    spins_added: Positive
    spins_max: Positive


class ResonanceLimit(Sourced):
    """Technical limit of Resonances in a round; the one more is not played (ALL-5)."""

    resonances: Positive


class Rules(GameRules):
    """The rules of one version of Moon Princess Stargazing.

    Princesses are numbered by their place in `powers`, which is also the order of a Resonance's powers and of the choice.
    """

    reading_names: ClassVar[tuple[str, ...]] = ("ALL-1", "MPS-3", "MPS-4", "MPS-5", "MPS-9", "MPS-11")
    state_reading: ClassVar[str] = "MPS-9"

    kind: Literal["runs"]
    layout: Layout
    pay_counts: PayCounts  # length of a run
    wild_left: WildLeft
    highlights: Highlights
    highlight_weights: HighlightWeights
    ceiling: Ceiling
    prizes: tuple[SpotPrize, ...]
    meter: Meter
    powers: tuple[Power, ...]
    power_weights: tuple[PowerWeights, ...]
    base_power: BasePower
    princess_order: PrincessOrder
    free_spins: tuple[FreeSpins, ...]
    free_spins_limit: FreeSpinsLimit
    resonance_limit: ResonanceLimit
    base_strip_set: str
    resonance_strip_set: str
    free_spins_strip_set: str

    @property
    def choice_names(self) -> tuple[str, ...]:
        """The princesses in the order of the rules file."""
        return tuple(power.princess for power in self.powers)

    @property
    def first_state(self) -> dict[str, int]:
        """The active princess that an account starts with, by her place in `powers`."""
        return {"princess": self.choice_names.index(self.princess_order.princesses[0])}

    @property
    def states(self) -> tuple[dict[str, int], ...]:
        """Each princess as the active one."""
        return tuple({"princess": princess} for princess in range(len(self.powers)))

    def weights_of(self, part: str, princess: int) -> tuple[int, ...]:
        """Return the weights of a princess's sizes in `base` (Resonances included) or `free`."""
        name = self.choice_names[princess]
        return next(row.weights for row in self.power_weights if row.part == part and row.princess == name)

    def prize_x100(self, which: str) -> int:
        """Return the prize `constellation` or `clear_grid` in hundredths of the bet."""
        return next(prize.pay_x100 for prize in self.prizes if prize.which == which)

    def check_own(self) -> None:
        """Check symbols, pays, princesses, highlights and prizes; raises ValueError."""
        check_role_once(self, "wild", "mixed", "blank")
        counts = self.pay_counts.counts
        check_pay_counts(self, counts)
        for symbol in self.symbols:
            if symbol.role in ("wild", "mixed") and len(symbol.pays_x100) != len(counts):
                raise ValueError(f"symbol {symbol.name}: want {len(counts)} pays, got {len(symbol.pays_x100)}")
        self._check_cells()
        self._check_princesses()
        if [prize.which for prize in self.prizes] != ["constellation", "clear_grid"]:
            raise ValueError("prizes: want constellation and clear_grid")
        for prize in self.prizes:
            if prize.pay_x100 * self.bet.coins % PAY_SCALE:
                raise ValueError(f"prize {prize.pay_x100}/100 of a bet of {self.bet.coins} coins is no whole number of minor units")
        letters = [symbol.letter for symbol in self.symbols if symbol.role != "paying"]
        if any(letter in strip for strip_set in self.strip_sets for strip in strip_set.strips for letter in letters):
            raise ValueError("strip_sets: want paying symbols alone")
        sets = [strip_set.name for strip_set in self.strip_sets]
        for name in (self.base_strip_set, self.resonance_strip_set, self.free_spins_strip_set):
            if name not in sets:
                raise ValueError(f"strip set {name!r}: want one of {sets}")

    def _check_cells(self) -> None:
        counts, cell_count = self.pay_counts.counts, self.layout.reels * self.layout.rows
        longest = max(self.layout.reels, self.layout.rows)
        if list(counts) != list(range(counts[0], longest + 1)) or counts[0] < 2:
            raise ValueError(f"pay_counts: want every length from the shortest of 2 or more to {longest}, got {counts}")
        if self.wild_left.count not in counts or self.wild_left.count % 2 == 0:
            raise ValueError(f"wild_left: want an odd length of {counts}, got {self.wild_left.count}")
        if len(self.meter.sections_of_run) != len(counts):
            raise ValueError(f"meter: want sections for each of {counts}, got {self.meter.sections_of_run}")
        highlighted = self.highlights.counts
        if list(highlighted) != sorted(set(highlighted)) or not highlighted or highlighted[-1] > cell_count:
            raise ValueError(f"highlights: want rising counts up to {cell_count}, got {highlighted}")
        check_weights("highlight_weights", self.highlight_weights.weights, len(highlighted))
        if self.base_power.act + self.base_power.rest < 1:
            raise ValueError("base_power: want weights with a sum above 0")

    def _check_princesses(self) -> None:
        names = self.choice_names
        paying = [symbol.name for symbol in self.symbols if symbol.role == "paying"]
        if len(set(names)) != len(names) or not set(names) <= set(paying):
            raise ValueError(f"powers: want princesses among the paying symbols, each once, got {names}")
        if [power.power for power in self.powers] != ["power_wilds", "diagonal", "wilds"]:
            raise ValueError("powers: want power_wilds, diagonal and wilds, in this order")
        if sorted(self.princess_order.princesses) != sorted(names):
            raise ValueError(f"princess_order: want each of {names} once, got {self.princess_order.princesses}")
        if tuple(row.princess for row in self.free_spins) != names:
            raise ValueError(f"free_spins: want one row for each of {names}, in this order")
        if any(row.spins > self.free_spins_limit.spins_max for row in self.free_spins):
            raise ValueError(f"free_spins: want at most {self.free_spins_limit.spins_max} to start with")
        rows = [(row.part, row.princess) for row in self.power_weights]
        if rows != [(part, name) for part in ("base", "free") for name in names]:
            raise ValueError(f"power_weights: want base and then free, each for {names} in this order")
        for power in self.powers:
            for row in self.power_weights:
                if row.princess == power.princess:
                    check_weights(f"power_weights of {row.part} {row.princess}", row.weights, len(power.sizes))
