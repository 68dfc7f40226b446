"""What the referee of a game that pays anywhere looks up in a rules file."""

from engines.games.moonlight_princess.rules import Rules
from replay.referee.game_tables import kept_tables
from replay.referee.grammar import Grammar
from replay.referee.reel_tables import ReelTables
from replay.referee.scatter_pays import scatter_pay

__all__ = ["RefereeTables", "tables_of"]

_AT_REST = frozenset({"multiplier_change", "cap_hit", "prize", "feature_trigger", "spin_ended"})
GRAMMAR = Grammar(
    {
        "": frozenset({"spin_started"}),
        "spin_started": frozenset({"drop"}),
        "drop": _AT_REST | {"win"},
        "win": _AT_REST | {"win", "tumble"},
        "tumble": frozenset({"drop"}),
        "multiplier_change": _AT_REST - {"multiplier_change"},
        "cap_hit": frozenset({"prize", "feature_trigger", "spin_ended"}),
        "prize": frozenset({"cap_hit", "feature_trigger", "spin_ended"}),
        "feature_trigger": frozenset({"spin_ended"}),
        "spin_ended": frozenset({"spin_started", "feature_ended"}),
        "feature_ended": frozenset(),
    }
)


class RefereeTables(ReelTables):
    """The values of one rules file under one choice of readings; build it with `tables_of`."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules, rules.limits, rules.free_spins_strip_set)
        self.rules = rules
        self.grammar = GRAMMAR
        self.rows = rules.layout.rows
        self.no_values = (0,) * self.cell_count
        self.counts = rules.pay_counts.counts
        self.heart = self.symbol_of_role("heart")
        self.scatter_pays = rules.symbols[self.scatter].pays_x100
        values = rules.heart_values.values
        self.heart_values = [
            frozenset(value for value, weight in zip(values, table.weights, strict=True) if weight) for table in rules.heart_weights
        ]
        self.buy_set = rules.strip_set_index(rules.buy.strip_set)
        pairs = zip(rules.buy.scatter_counts, rules.buy.weights, strict=True)
        self.buy_scatters = tuple(count for count, weight in pairs if weight)
        self.sets_by_mode = {
            choice.mode: tuple(number for number, weight in enumerate(choice.weights) if weight) for choice in rules.strip_choices
        }

    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip sets that spin 0 of a round of `mode` may be drawn on."""
        return self.sets_by_mode.get(mode, (self.buy_set,))

    def set_assumption(self, mode: str, spin: int) -> str | None:
        """Return the assumption that the strip set of a spin hangs on."""
        return "MLP-7" if spin == 0 and self.is_bought(mode) else "MLP-9"

    def start_multiplier(self, spin: int) -> int:
        """Return 1: hearts multiply a spin at rest, nothing multiplies it as it starts."""
        del spin
        return 1

    def is_bought(self, mode: str) -> bool:
        """Return whether a round of `mode` begins with the first board of the buy."""
        return mode not in self.sets_by_mode

    def scatter_pay(self, count: int, is_free: bool) -> int:
        """Return the pay of `count` scatters at rest, in hundredths of the bet."""
        return 0 if is_free and self.readings["MLP-4"] == 1 else scatter_pay(count, self.scatter_pays)

    def spins_for(self, count: int, is_free: bool) -> int:
        """Return the free spins that `count` scatters at rest award."""
        award = self.rules.retrigger if is_free else self.rules.trigger
        return award.spins if count >= award.count else 0


def tables_of(rules: Rules) -> RefereeTables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    return kept_tables(rules, RefereeTables)
