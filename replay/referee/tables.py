"""What the referee looks up in the rules of a game that pays anywhere."""

from engines.games.moonlight_princess.rules import Rules
from replay.referee.game_tables import GameTables, kept_tables
from replay.referee.scatter_pays import scatter_pay

__all__ = ["RefereeTables", "tables_of"]


class RefereeTables(GameTables):
    """The values of one rules file under one choice of readings; build it with `tables_of`."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.rules = rules
        self.reels, self.rows = rules.layout.reels, rules.layout.rows
        self.counts = rules.pay_counts.counts
        self.scatter = self.symbol_of_role("scatter")
        self.heart = self.symbol_of_role("heart")
        self.scatter_pays = rules.symbols[self.scatter].pays_x100
        values = rules.heart_values.values
        self.heart_values = [
            frozenset(value for value, weight in zip(values, table.weights, strict=True) if weight) for table in rules.heart_weights
        ]
        self.free_set = rules.strip_set_index(rules.free_spins_strip_set)
        self.buy_set = rules.strip_set_index(rules.buy.strip_set)
        pairs = zip(rules.buy.scatter_counts, rules.buy.weights, strict=True)
        self.buy_scatters = tuple(count for count, weight in pairs if weight)
        self.sets_by_mode = {
            choice.mode: tuple(number for number, weight in enumerate(choice.weights) if weight) for choice in rules.strip_choices
        }

    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip sets that spin 0 of a round of `mode` may be drawn on."""
        return self.sets_by_mode.get(mode, (self.buy_set,))

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
