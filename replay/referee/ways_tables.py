"""What the referee of a game that pays by ways looks up in a rules file."""

from engines.games.starlight_wins.rules import Rules
from replay.referee.falling import NewSymbols
from replay.referee.game_tables import kept_tables
from replay.referee.grammar import Grammar
from replay.referee.reel_tables import ReelTables
from replay.referee.ways import GOLD, WaysWin, board_wins, spins_for_scatters

__all__ = ["UNKNOWN_MARK", "WaysTables", "ways_tables_of"]

UNKNOWN_MARK = -1  # of a symbol that has just landed where gold is drawn: no rule tells it

_FOLLOWING = {
    "": frozenset({"spin_started"}),
    "spin_started": frozenset({"drop"}),
    "drop": frozenset({"win", "feature_trigger", "spin_ended"}),
    "win": frozenset({"win", "cap_hit", "multiplier_change", "tumble", "spin_ended"}),
    "cap_hit": frozenset({"spin_ended"}),
    "multiplier_change": frozenset({"tumble"}),
    "tumble": frozenset({"drop"}),
    "prize": frozenset[str](),
    "feature_trigger": frozenset({"spin_ended"}),
    "spin_ended": frozenset({"spin_started", "feature_ended"}),
    "feature_ended": frozenset[str](),
}


class WaysTables(ReelTables):
    """The values of one rules file under one choice of readings; build it with `ways_tables_of`."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules, rules.limits, rules.free_spins_strip_set)
        self.rules = rules
        self.counts = rules.pay_counts.counts
        self.wild = self.symbol_of_role("wild")
        self.grammar = Grammar(_FOLLOWING, frozenset({"drop", "win", "cap_hit", "multiplier_change", "tumble"}), self.wild)
        self.base_set = rules.strip_set_index(rules.base_strip_set)
        self.base_ladder, self.free_ladder = rules.ladder("base"), rules.ladder("free")
        self.wilds_always_leave = self.readings["SLW-2"] == 1
        paying = list(self.pays_by_symbol)
        self.landing_marks: list[list[dict[int, int]]] = []  # by strip set, reel and symbol; a symbol that is not there: none
        for gold in rules.gold:
            marks = []
            for reel, weight in enumerate(gold.weights):
                mark = GOLD if reel in gold.all_gold or weight == gold.total else UNKNOWN_MARK if weight else 0
                marks.append(dict.fromkeys(paying, mark))
            self.landing_marks.append(marks)

    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip set of spin 0."""
        del mode
        return (self.base_set,)

    def set_assumption(self, mode: str, spin: int) -> str | None:
        """Return none: that free spins have reels of their own is in the document."""
        del mode, spin
        return None

    def ladder(self, spin: int) -> tuple[int, ...]:
        """Return the multipliers of a spin's win steps."""
        return self.free_ladder if spin else self.base_ladder

    def start_multiplier(self, spin: int) -> int:
        """Return the first multiplier of the spin's ladder."""
        return self.ladder(spin)[0]

    def spins_for(self, count: int, is_free: bool) -> int:
        """Return the free spins that `count` scatters at rest award."""
        award = self.rules.retrigger if is_free else self.rules.trigger
        return spins_for_scatters(count, award.count, award.spins, award.spins_each_more)

    def wins(self, board: tuple[int, ...]) -> list[WaysWin]:
        """Return what pays on a board."""
        return board_wins(board, self.reel_rows, self.pays, self.counts, self.wild)

    def marks_of(self, strip_set: int, board: tuple[int, ...]) -> tuple[int, ...]:
        """Return the marks of a board of which every symbol has just landed."""
        marks = self.landing_marks[strip_set]
        return tuple([marks[reel].get(symbol, 0) for reel, symbol in zip(self.reel_of_cell, board, strict=True)])

    def marks_of_new(self, strip_set: int, new: NewSymbols) -> NewSymbols:
        """Return the marks of symbols that fall in, for each reel."""
        reels = self.landing_marks[strip_set]
        return tuple([tuple([marks.get(symbol, 0) for symbol in symbols]) for marks, symbols in zip(reels, new, strict=True)])


def ways_tables_of(rules: Rules) -> WaysTables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    return kept_tables(rules, WaysTables)
