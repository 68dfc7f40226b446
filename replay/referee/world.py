"""The boards that may lie before the next event: the recorded one, and after a fault also the one that should lie there."""

from typing import NamedTuple

from replay.referee.falling import NewSymbols, board_after, fallen, falls_in, refill, removed_counts, union_cells
from replay.referee.notebook import Notebook
from replay.referee.scatter_pays import board_wins
from replay.referee.scene import Scene, can_tumble
from replay.referee.tables import RefereeTables

__all__ = [
    "UNKNOWN_VALUE",
    "WORLDS_MAX",
    "SpinScene",
    "World",
    "after_tumble",
    "as_expected",
    "distinct",
    "played_out",
    "values_after",
]

UNKNOWN_VALUE = -1  # of a heart that has just fallen in: it is drawn, no rule tells it
WORLDS_MAX = 8


class World(NamedTuple):
    """A board, its hearts, where the strips stand and what the spin has won up to here.

    `tops` and `shown` are one number a reel: the strip position in the top row, empty where the stops are not known,
    and how many positions the spin has shown, empty where it is not known. `is_right` says that no fault led here.
    """

    board: tuple[int, ...]
    values: tuple[int, ...]
    tops: tuple[int, ...]
    shown: tuple[int, ...]
    tumbles: int
    wins_minor: int
    is_right: bool


class SpinScene(Scene):
    """One spin of a game that pays anywhere."""

    tables: RefereeTables

    def __init__(self, tables: RefereeTables, notebook: Notebook, *, spin: int, bet_minor: int, strip_sets: tuple[int, ...]) -> None:
        super().__init__(tables, notebook, spin=spin, bet_minor=bet_minor, strip_sets=strip_sets)
        self.boards: list[tuple[int, ...]] = []  # as recorded, by drop
        self.multiplier_faults: list[int] = []  # findings that may weigh on later spins


def distinct(worlds: list[World]) -> list[World]:
    """Return the worlds without those that are in the list twice; one that is also right is right."""
    found: dict[tuple[object, ...], World] = {}
    for world in worlds:
        key = tuple(world[:-1])
        if key not in found or world.is_right:
            found[key] = world
    return list(found.values())[:WORLDS_MAX]


def values_after(scene: SpinScene, values: tuple[int, ...], removed: tuple[int, ...], board: tuple[int, ...]) -> tuple[int, ...]:
    """Return the hearts' values after a tumble to `board`; those that fell in are unknown."""
    tables = scene.tables
    if tables.heart not in board:
        return tables.no_values
    rows = tables.rows
    after: list[int] = []
    for left in fallen(values, removed, tables.reel_rows):
        gaps = rows - len(left)
        first = len(after)
        after += [UNKNOWN_VALUE if board[cell] == tables.heart else 0 for cell in range(first, first + gaps)]
        after += left
    return tuple(after)


def after_tumble(
    scene: SpinScene, world: World, removed: tuple[int, ...], new_symbols: NewSymbols | None, *, is_right: bool
) -> World | None:
    """Return the world after a tumble that removes `removed`; None where the new symbols do not fill the gaps.

    Without `new_symbols` the strips are asked; None as well where it is not known how they stand.
    """
    tables = scene.tables
    counts = removed_counts(removed, tables.reel_rows)
    falling = falls_in(tables.strips[scene.strip_set], world.tops, counts, new_symbols)
    if falling is None:
        return None
    new, tops = falling
    return _fallen_world(scene, world, removed, (new, counts, tops), is_right=is_right)


def as_expected(scene: SpinScene, world: World, removed: tuple[int, ...], new_symbols: NewSymbols) -> World | None:
    """Return the world after a tumble whose new symbols are those of the strips and that no limit forbids, else None."""
    tables = scene.tables
    if not world.tops or world.tumbles >= tables.limits.tumbles:
        return None
    counts = removed_counts(removed, tables.reel_rows)
    strips = tables.strips[scene.strip_set]
    new, tops = refill(strips, world.tops, counts)
    after = _fallen_world(scene, world, removed, (new, counts, tops), is_right=world.is_right) if new == new_symbols else None
    if after is None or any(shown > len(strip) for shown, strip in zip(after.shown, strips, strict=True)):
        return None
    return after


def _fallen_world(
    scene: SpinScene, world: World, removed: tuple[int, ...], fall: tuple[NewSymbols, tuple[int, ...], tuple[int, ...]], *, is_right: bool
) -> World:
    new, counts, tops = fall
    board = board_after(world.board, removed, new, scene.tables.reel_rows)
    shown = tuple([before + count for before, count in zip(world.shown, counts, strict=True)]) if world.shown else ()
    values = values_after(scene, world.values, removed, board)
    return World(board, values, tops, shown, world.tumbles + 1, world.wins_minor, is_right)


def played_out(scene: SpinScene, world: World) -> World:
    """Return the world at rest that the strips lead to from `world`, whose own wins are counted already."""
    tables = scene.tables
    wins = board_wins(world.board, tables.counts, tables.pays)
    while wins and world.tops:
        removed = union_cells(win.cells for win in wins)
        after = after_tumble(scene, world, removed, None, is_right=world.is_right) if can_tumble(scene, world, removed) else None
        if after is None:
            break
        wins = board_wins(after.board, tables.counts, tables.pays)
        pay = sum(win.pay_x100 for win in wins)
        world = after._replace(wins_minor=after.wins_minor + pay * scene.bet_minor // 100)
    return world
