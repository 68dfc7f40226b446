"""What the referee looks up in the rules of a game of runs, princesses and highlighted cells."""

from engines.games.moon_princess_stargazing.rules import Rules
from replay.referee.game_tables import BetRound, GameTables, kept_tables
from replay.referee.runs import RunSymbols, lines_of_cells

__all__ = ["RunsRound", "RunsTables", "runs_tables_of"]


class RunsTables(GameTables):
    """The values of one rules file under one choice of readings; build it with `runs_tables_of`."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.rows = rules.layout.rows
        self.lines = lines_of_cells(self.reels, self.rows)
        self.wild, self.mixed, self.empty = map(self.symbol_of_role, ("wild", "mixed", "blank"))
        self.paying = len(self.pays)
        self.princesses = tuple(rules.symbol_index(name) for name in rules.choice_names)
        self.symbols = RunSymbols(
            paying=self.paying,
            group=frozenset(self.princesses),
            wild=self.wild,
            mixed=self.mixed,
            empty=self.empty,
            shortest=rules.pay_counts.counts[0],
            pays={symbol: rules.pays_x100_of(symbol) for symbol in (*range(self.paying), self.wild, self.mixed)},
            is_mixed_summed=self.readings["MPS-3"] == 1,
        )
        self.leaves_wild = rules.wild_left.count
        self.empty_board = (self.empty,) * self.cell_count
        pairs = zip(rules.highlights.counts, rules.highlight_weights.weights, strict=True)
        self.highlight_counts = frozenset(count for count, weight in pairs if weight)
        self.ceiling = rules.ceiling.multiplier
        self.prizes_x100 = {which: rules.prize_x100(which) for which in ("constellation", "clear_grid")}
        self.sections, self.sections_of_run = rules.meter.sections, rules.meter.sections_of_run
        numbers = range(len(self.princesses))
        self.sizes = {
            part: [
                tuple(size for size, weight in zip(rules.powers[number].sizes, rules.weights_of(part, number), strict=True) if weight)
                for number in numbers
            ]
            for part in ("base", "free")
        }
        self.kinds = tuple(power.power for power in rules.powers)
        order = [rules.choice_names.index(name) for name in rules.princess_order.princesses]
        self.first_princess = order[0]
        self.princess_after = {each: order[(at + 1) % len(order)] for at, each in enumerate(order)}
        self.base_acts, self.base_rests = rules.base_power.act > 0, rules.base_power.rest > 0
        self.spins_of = tuple(row.spins for row in rules.free_spins)
        self.spins_added, self.spins_max = rules.free_spins_limit.spins_added, rules.free_spins_limit.spins_max
        self.resonances_max = rules.resonance_limit.resonances
        sets = (rules.base_strip_set, rules.resonance_strip_set, rules.free_spins_strip_set)
        self.set_of_part = dict(zip(("base", "resonance", "free"), map(rules.strip_set_index, sets), strict=True))
        self.choices = tuple(numbers)

    def princess_name(self, princess: int) -> str:
        """Return the name of a princess, her number where the rules know none such."""
        return self.names[self.princesses[princess]] if 0 <= princess < len(self.princesses) else f"princess {princess}"

    def sizes_of(self, part: str, princess: int) -> tuple[int, ...]:
        """Return the sizes that a princess's power may have in a part of the round."""
        return self.sizes["free" if part == "free" else "base"][princess]

    def sections_for(self, symbol: int, length: int) -> int:
        """Return the sections of the meter that a winning run fills."""
        at = length - self.symbols.shortest
        fills = symbol == self.mixed or symbol in self.symbols.group
        return self.sections_of_run[at] if fills and 0 <= at < len(self.sections_of_run) else 0


RunsRound = BetRound[RunsTables]


def runs_tables_of(rules: Rules) -> RunsTables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    return kept_tables(rules, RunsTables)
