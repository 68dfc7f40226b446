"""What the walk of any game with tumbling reels and free spins looks up beside that."""

from abc import ABC, abstractmethod

from engines.rules import GameRules, Limits
from replay.referee.game_tables import GameTables
from replay.referee.grammar import Grammar

__all__ = ["ReelTables"]


class ReelTables(GameTables, ABC):
    """The values of one rules file that any walk of tumbling reels asks for."""

    grammar: Grammar

    def __init__(self, rules: GameRules, limits: Limits, free_spins_strip_set: str) -> None:
        super().__init__(rules)
        self.limits = limits
        self.scatter = self.symbol_of_role("scatter")
        self.free_set = rules.strip_set_index(free_spins_strip_set)

    @abstractmethod
    def paid_spin_sets(self, mode: str) -> tuple[int, ...]:
        """Return the strip sets that spin 0 of a round of `mode` may be played on."""

    @abstractmethod
    def set_assumption(self, mode: str, spin: int) -> str | None:
        """Return the assumption that the strip set of a spin hangs on, None where a document states it."""

    @abstractmethod
    def start_multiplier(self, spin: int) -> int:
        """Return the multiplier in force as a spin starts."""

    @abstractmethod
    def spins_for(self, count: int, is_free: bool) -> int:
        """Return the free spins that `count` scatters at rest award."""
