"""What stays the same while one spin is walked, and what is learnt on the way that weighs on the rest of it."""

from typing import Protocol

from replay.referee.falling import removed_counts
from replay.referee.notebook import Notebook
from replay.referee.reel_tables import ReelTables

__all__ = ["Scene", "can_tumble"]


class Scene:
    """One spin of a game with reels; `is_diverged` turns true where amounts follow a wrong board."""

    def __init__(self, tables: ReelTables, notebook: Notebook, *, spin: int, bet_minor: int, strip_sets: tuple[int, ...]) -> None:
        self.tables, self.notebook = tables, notebook
        self.spin, self.bet_minor = spin, bet_minor
        self.strip_sets = strip_sets  # the recorded one first, then those it should have been
        self.strip_set = strip_sets[0]
        self.is_diverged = False
        self.is_past_end = False  # the round should have ended before this spin, which is reported
        self.is_limited = False  # at rest by a technical limit
        self.limit_fault: int | None = None  # the finding that it was played past one
        self.stop_fault: int | None = None  # the finding that a tumble is missing at rest

    @property
    def is_free(self) -> bool:
        """Whether this is a free spin."""
        return self.spin > 0

    def names(self, symbols: list[int]) -> str:
        """Return the names of symbols in their order."""
        return ", ".join(map(self.tables.symbol_name, symbols))

    def note_cells(
        self,
        index: int,
        drop_index: int,
        code: str,
        bad: list[int],
        want: tuple[int, ...],
        got: tuple[int, ...],
        assumption: str | None,
    ) -> None:
        """Write down that the symbols of a drop are wrong in the cells `bad`."""
        named = bad[:CELLS_NAMED_MAX]
        cells = ", ".join(map(str, named)) + (f" and {len(bad) - len(named)} more" if len(bad) > len(named) else "")
        where = f"drop {drop_index}, cell{'s' if len(bad) > 1 else ''} {cells}"
        want_text, got_text = (self.names([board[cell] for cell in named]) for board in (want, got))
        self.notebook.add(code, "open", index, where, what="symbols", want=want_text, got=got_text, assumption=assumption)


CELLS_NAMED_MAX = 6


class Tumbled(Protocol):
    """How far a spin has come, of any kind of game whose symbols fall."""

    @property
    def tumbles(self) -> int:
        """The tumbles so far."""

    @property
    def shown(self) -> tuple[int, ...]:
        """For each reel how many positions of its strip it has shown, empty where nobody knows."""


def can_tumble(scene: Scene, world: Tumbled, removed: tuple[int, ...]) -> bool:
    """Return whether no technical limit forbids the tumble that removes `removed` (ALL-5)."""
    tables = scene.tables
    if world.tumbles >= tables.limits.tumbles:
        return False
    if not world.shown:
        return True
    counts = removed_counts(removed, tables.reel_rows)
    strips = tables.strips[scene.strip_set]
    return all(before + count <= len(strip) for before, count, strip in zip(world.shown, counts, strips, strict=True))
