"""What Moonlight Princess has of its own in its rules file."""

from typing import ClassVar, Literal

from engines.rules import (
    GameRules,
    Layout,
    Limits,
    PayCounts,
    Positive,
    Sourced,
    Weight,
    check_pay_counts,
    check_role_once,
    check_weights,
)

__all__ = ["BOUGHT_MODE", "Buy", "FreeSpins", "HeartValues", "HeartWeights", "Rules", "StripChoice"]

BOUGHT_MODE = "buy"  # the mode whose first board is that of the buy; its strip set is not drawn


class StripChoice(Sourced):
    """Weights of the strip sets for the paid spin in one mode, in the order of `strip_sets`."""

    mode: str
    weights: tuple[Weight, ...]


class HeartValues(Sourced):
    """The multipliers a heart can have."""

    values: tuple[Positive, ...]


class HeartWeights(Sourced):
    """Weights of the heart values on one strip set."""

    strip_set: str
    weights: tuple[Weight, ...]


class FreeSpins(Sourced):
    """Scatters that start or prolong free spins, and the spins they award."""

    count: Positive
    spins: Positive


class Buy(Sourced):
    """The first board of a bought round: the strip set, and the number of scatters by weight."""

    strip_set: str
    scatter_counts: tuple[Positive, ...]
    weights: tuple[Weight, ...]


class Rules(GameRules):
    """The rules of one version of Moonlight Princess."""

    reading_names: ClassVar[tuple[str, ...]] = ("ALL-1", "MLP-1", "MLP-2", "MLP-4")

    kind: Literal["scatter_pays"]
    layout: Layout
    pay_counts: PayCounts
    strip_choices: tuple[StripChoice, ...]
    heart_values: HeartValues
    heart_weights: tuple[HeartWeights, ...]
    trigger: FreeSpins
    retrigger: FreeSpins
    free_spins_strip_set: str
    buy: Buy
    limits: Limits

    def check_own(self) -> None:
        """Check symbols, strips and weights; raises ValueError."""
        check_role_once(self, "scatter", "heart")
        check_pay_counts(self, self.pay_counts.counts)
        _check_modes(self)
        _check_scatters(self)
        _check_weights(self)


def _check_modes(rules: Rules) -> None:
    """Check that each mode draws its strip set, but for the bought one, and that scatters have pays."""
    drawn, modes = [choice.mode for choice in rules.strip_choices], [mode.name for mode in rules.modes]
    if sorted([*drawn, BOUGHT_MODE]) != sorted(modes):
        raise ValueError(f"modes: want {BOUGHT_MODE} and those of strip_choices, {', '.join(drawn)}, each once, got {', '.join(modes)}")
    scatter = next(symbol for symbol in rules.symbols if symbol.role == "scatter")
    if not scatter.pays_x100:
        raise ValueError(f"symbol {scatter.name}: want pays for 0, 1, 2 … of them, got none")


def _check_scatters(rules: Rules) -> None:
    """Check that no window of a strip shows two scatters (MLP-3)."""
    scatter = next(symbol.letter for symbol in rules.symbols if symbol.role == "scatter")
    rows = rules.layout.rows
    for strip_set in rules.strip_sets:
        for reel, strip in enumerate(strip_set.strips):
            around = strip + strip[: rows - 1]
            for position in range(len(strip)):
                if around[position : position + rows].count(scatter) > 1:
                    raise ValueError(f"strip set {strip_set.name} reel {reel}: two scatters in the window at {position}")


def _check_weights(rules: Rules) -> None:
    for choice in rules.strip_choices:
        check_weights(f"strip choice of {choice.mode}", choice.weights, len(rules.strip_sets))
    sets = [weights.strip_set for weights in rules.heart_weights]
    if sets != [strip_set.name for strip_set in rules.strip_sets]:
        raise ValueError(f"heart_weights: want one table for each strip set in its order, got {sets}")
    for weights in rules.heart_weights:
        check_weights(f"heart weights of {weights.strip_set}", weights.weights, len(rules.heart_values.values))
    check_weights("buy", rules.buy.weights, len(rules.buy.scatter_counts))
    for name in (rules.buy.strip_set, rules.free_spins_strip_set):
        if name not in sets:
            raise ValueError(f"strip set {name!r}: want one of {sets}")
