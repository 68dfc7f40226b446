"""What the referee looks up in the rules of a game of win lines and Moons, and what one round of it adds."""

from engines.games.moon_spell.rules import Rules
from replay.referee.game_tables import BetRound, GameTables, kept_tables
from replay.referee.hold_and_respin import ladder_x100
from replay.referee.lines import cells_of_lines

__all__ = ["LinesRound", "LinesTables", "lines_tables_of"]


class LinesTables(GameTables):
    """The values of one rules file under one choice of readings; build it with `lines_tables_of`."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.rows = rules.layout.rows
        self.counts = rules.pay_counts.counts
        self.lines = cells_of_lines(rules.lines.rows, self.rows)
        self.wild, self.moon, self.blank = map(self.symbol_of_role, ("wild", "moon", "blank"))
        pairs = zip(rules.moon_values.values_x100, rules.moon_weights.weights, strict=True)
        self.moon_values = frozenset(value for value, weight in pairs if weight)
        self.cash_from, self.trigger_from = rules.moon_counts.cash, rules.moon_counts.trigger
        self.spins = rules.respins.spins
        self.ladder = rules.ladder
        self.base_set = rules.strip_set_index(rules.base_strip_set)
        self.is_capped = self.readings["MSP-2"] != 1

    def rungs_reached(self, moons: int) -> tuple[int, ...]:
        """Return the prizes of all rungs up to a final count of Moons, lowest first."""
        return ladder_x100(moons, self.ladder.counts, self.ladder.prizes_x100, is_every_rung=True)

    def ladder_pays(self, moons: int, moons_at_trigger: int) -> tuple[int, ...]:
        """Return the ladder prizes for a final count of Moons, as the reading of MSP-3 has them."""
        reading = self.readings["MSP-3"]
        counted = moons - moons_at_trigger if reading == 2 else moons
        return ladder_x100(counted, self.ladder.counts, self.ladder.prizes_x100, is_every_rung=reading == 1)


LinesRound = BetRound[LinesTables]


def lines_tables_of(rules: Rules) -> LinesTables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    return kept_tables(rules, LinesTables)
