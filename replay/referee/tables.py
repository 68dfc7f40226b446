"""What the referee looks up in a rules file, laid out once for all rounds that are played by it."""

from engines.games.moonlight_princess.rules import Rules
from replay.referee.scatter_pays import scatter_pay, window

__all__ = ["RefereeTables", "tables_of"]

TABLES_MAX = 64


class RefereeTables:
    """The values of one rules file under one choice of readings; build it with `tables_of`."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.reels, self.rows = rules.layout.reels, rules.layout.rows
        self.cell_count = self.reels * self.rows
        self.no_values = (0,) * self.cell_count
        self.names = [symbol.name for symbol in rules.symbols]
        self.counts = rules.pay_counts.counts
        self.pays = tuple((index, symbol.pays_x100) for index, symbol in enumerate(rules.symbols) if symbol.role == "paying")
        self.pays_by_symbol = dict(self.pays)
        self.scatter = next(index for index, symbol in enumerate(rules.symbols) if symbol.role == "scatter")
        self.heart = next(index for index, symbol in enumerate(rules.symbols) if symbol.role == "heart")
        self.scatter_pays = rules.symbols[self.scatter].pays_x100
        self.set_names = [strip_set.name for strip_set in rules.strip_sets]
        reels, sets = range(self.reels), range(len(rules.strip_sets))
        self.strips = tuple(tuple(tuple(rules.strip(number, reel)) for reel in reels) for number in sets)
        self.windows = tuple(
            tuple(tuple(window(strip, stop, self.rows) for stop in range(len(strip))) for strip in strips) for strips in self.strips
        )
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
        self.readings = {reading.name: reading.value for reading in rules.readings}

    def symbol_name(self, symbol: int) -> str:
        """Return the name of a symbol, its number where the rules know none such."""
        return self.names[symbol] if 0 <= symbol < len(self.names) else f"symbol {symbol}"

    def set_name(self, strip_set: int) -> str:
        """Return the name of a strip set, its number where the rules know none such."""
        return self.set_names[strip_set] if 0 <= strip_set < len(self.set_names) else f"set {strip_set}"

    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip sets that spin 0 of a round of `mode` may be drawn on."""
        return self.sets_by_mode.get(mode, (self.buy_set,))

    def is_bought(self, mode: str) -> bool:
        """Return whether a round of `mode` begins with the first board of the buy."""
        return mode not in self.sets_by_mode

    def cap_minor(self, mode: str, bet_minor: int) -> int:
        """Return the win cap of a round, of a spin where the cap is read so; in minor units."""
        by_price = self.readings["ALL-1"] == 1 and self.rules.mode(mode) is not None
        return self.rules.cap.multiple * (self.rules.cost_minor(mode, bet_minor) if by_price else bet_minor)

    def scatter_pay(self, count: int, is_free: bool) -> int:
        """Return the pay of `count` scatters at rest, in hundredths of the bet."""
        return 0 if is_free and self.readings["MLP-4"] == 1 else scatter_pay(count, self.scatter_pays)

    def spins_for(self, count: int, is_free: bool) -> int:
        """Return the free spins that `count` scatters at rest award."""
        award = self.rules.retrigger if is_free else self.rules.trigger
        return award.spins if count >= award.count else 0


_TABLES: dict[int, RefereeTables] = {}


def tables_of(rules: Rules) -> RefereeTables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    found = _TABLES.get(id(rules))
    if found is None or found.rules is not rules:
        if len(_TABLES) >= TABLES_MAX:
            _TABLES.clear()
        found = _TABLES[id(rules)] = RefereeTables(rules)
    return found
