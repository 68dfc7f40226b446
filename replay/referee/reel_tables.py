"""What the walk of any game with reels and free spins looks up in a rules file, laid out once for all rounds played by it."""

from collections.abc import Callable
from typing import TypeVar, cast

from engines.rules import GameRules, Limits
from replay.referee.falling import Board, reel_numbers, window
from replay.referee.grammar import Grammar

__all__ = ["ReelTables", "kept_tables"]

TABLES_MAX = 64


class ReelTables:
    """The values of one rules file under one choice of readings that any walk of reels asks for."""

    grammar: Grammar

    def __init__(self, rules: GameRules, limits: Limits, free_spins_strip_set: str) -> None:
        self.game_rules = rules
        self.limits = limits
        self.reel_rows = rules.reel_rows
        self.reels, self.cell_count = len(self.reel_rows), sum(self.reel_rows)
        self.reel_of_cell = reel_numbers(self.reel_rows)
        self.names = [symbol.name for symbol in rules.symbols]
        self.pays = tuple((index, rules.pays_x100_of(index)) for index, symbol in enumerate(rules.symbols) if symbol.role == "paying")
        self.pays_by_symbol = dict(self.pays)
        self.scatter = self.symbol_of_role("scatter")
        self.set_names = [strip_set.name for strip_set in rules.strip_sets]
        reels, sets = range(self.reels), range(len(rules.strip_sets))
        self.strips = tuple(tuple(tuple(rules.strip(number, reel)) for reel in reels) for number in sets)
        self.windows = tuple(
            tuple(
                tuple(window(strip, stop, rows) for stop in range(len(strip))) for strip, rows in zip(strips, self.reel_rows, strict=True)
            )
            for strips in self.strips
        )
        self.free_set = rules.strip_set_index(free_spins_strip_set)
        self.readings = {reading.name: reading.value for reading in rules.readings}

    def symbol_of_role(self, role: str) -> int:
        """Return the first symbol of a role; StopIteration where there is none."""
        return next(index for index, symbol in enumerate(self.game_rules.symbols) if symbol.role == role)

    def symbol_name(self, symbol: int) -> str:
        """Return the name of a symbol, its number where the rules know none such."""
        return self.names[symbol] if 0 <= symbol < len(self.names) else f"symbol {symbol}"

    def set_name(self, strip_set: int) -> str:
        """Return the name of a strip set, its number where the rules know none such."""
        return self.set_names[strip_set] if 0 <= strip_set < len(self.set_names) else f"set {strip_set}"

    def are_stops(self, strip_set: int, stops: tuple[int, ...]) -> bool:
        """Return whether `stops` are one position on each strip of a set."""
        windows = self.windows[strip_set]
        return len(stops) == len(windows) and all(0 <= stop < len(reel) for stop, reel in zip(stops, windows, strict=True))

    def board_at(self, strip_set: int, stops: tuple[int, ...]) -> Board:
        """Return the board that the strips of a set show at `stops`."""
        board: Board = ()
        for reel, stop in zip(self.windows[strip_set], stops, strict=True):
            board += reel[stop]
        return board

    def cap_minor(self, mode: str, bet_minor: int) -> int:
        """Return the win cap of a round, of a spin where the cap is read so; in minor units."""
        by_price = self.readings["ALL-1"] == 1 and self.game_rules.mode(mode) is not None
        return self.game_rules.cap.multiple * (self.game_rules.cost_minor(mode, bet_minor) if by_price else bet_minor)

    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip sets that spin 0 of a round of `mode` may be played on."""
        raise NotImplementedError

    def set_assumption(self, mode: str, spin: int) -> str | None:
        """Return the assumption that the strip set of a spin hangs on, None where a document states it."""
        raise NotImplementedError

    def start_multiplier(self, spin: int) -> int:
        """Return the multiplier in force as a spin starts."""
        raise NotImplementedError

    def spins_for(self, count: int, is_free: bool) -> int:
        """Return the free spins that `count` scatters at rest award."""
        raise NotImplementedError


Rules = TypeVar("Rules", bound=GameRules)
Tables = TypeVar("Tables", bound=ReelTables)
_TABLES: dict[int, ReelTables] = {}


def kept_tables(rules: Rules, build: Callable[[Rules], Tables]) -> Tables:
    """Return the tables of `rules`, built at the first call and kept for the next rounds."""
    found = _TABLES.get(id(rules))
    if found is None or found.game_rules is not rules:
        if len(_TABLES) >= TABLES_MAX:
            _TABLES.clear()
        found = _TABLES[id(rules)] = build(rules)
    return cast(Tables, found)
