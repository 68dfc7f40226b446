"""What the referee looks up in the rules of every game, laid out once for all rounds that are played by them."""

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from engines.rules import GameRules
from replay.referee.falling import Board, reel_numbers, window

__all__ = ["BetRound", "GameTables", "kept_tables"]

TABLES_MAX = 64


class GameTables:
    """Names, pays, strips and readings of one rules file under one choice of readings."""

    def __init__(self, rules: GameRules) -> None:
        self.game_rules = rules
        self.reel_rows = rules.reel_rows
        self.reels, self.cell_count = len(self.reel_rows), sum(self.reel_rows)
        self.reel_of_cell = reel_numbers(self.reel_rows)
        self.no_values = (0,) * self.cell_count
        self.names = [symbol.name for symbol in rules.symbols]
        self.pays = tuple((index, rules.pays_x100_of(index)) for index, symbol in enumerate(rules.symbols) if symbol.role == "paying")
        self.pays_by_symbol = dict(self.pays)
        self.set_names = [strip_set.name for strip_set in rules.strip_sets]
        reels, sets = range(self.reels), range(len(rules.strip_sets))
        self.strips = tuple(tuple(tuple(rules.strip(number, reel)) for reel in reels) for number in sets)
        self.windows = tuple(
            tuple(
                tuple(window(strip, stop, rows) for stop in range(len(strip))) for strip, rows in zip(strips, self.reel_rows, strict=True)
            )
            for strips in self.strips
        )
        self.readings = {reading.name: reading.value for reading in rules.readings}
        self.is_cap_by_spin = self.readings["ALL-1"] == 2
        self.is_capped = True

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


R = TypeVar("R", bound=GameRules)
T = TypeVar("T", bound=GameTables)


class BetRound(Generic[T]):
    """The tables with the bet of one round and its win cap, in minor units."""

    def __init__(self, tables: T, mode: str, bet_minor: int) -> None:
        self.tables, self.bet_minor = tables, bet_minor
        self.cap_minor = tables.cap_minor(mode, bet_minor)


_KEPT: dict[int, GameTables] = {}


def kept_tables(rules: R, build: Callable[[R], T]) -> T:
    """Return the tables that `build` makes of `rules`, made at the first call and kept for the next rounds."""
    found = _KEPT.get(id(rules))
    if found is None or found.game_rules is not rules:
        if len(_KEPT) >= TABLES_MAX:
            _KEPT.clear()
        found = _KEPT[id(rules)] = build(rules)
    return cast(T, found)
