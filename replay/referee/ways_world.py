"""The boards that may lie before the next event of a game that pays by ways: the recorded one, after a fault also the right one."""

from collections.abc import Sequence
from typing import NamedTuple

from replay.referee.amounts import win_amount
from replay.referee.falling import NewSymbols, falls_in, removed_counts, union_cells
from replay.referee.notebook import Notebook
from replay.referee.scene import Scene, can_tumble
from replay.referee.standing import Options
from replay.referee.ways import GOLD, WaysWin, fall, ladder_multiplier, split_gold
from replay.referee.ways_tables import UNKNOWN_MARK, WaysTables

__all__ = [
    "TOLD_GOLD",
    "TOLD_PLAIN",
    "Gone",
    "WaysScene",
    "WaysWorld",
    "after_tumble",
    "distinct_worlds",
    "gone_by",
    "played_out",
    "with_wins",
]

TOLD_PLAIN, TOLD_GOLD = 2, 3  # marks that one drop has told and no other event has confirmed
WORLDS_MAX = 8

Gone = tuple[tuple[int, ...], tuple[int, ...]]  # cells removed, cells turned


class WaysWorld(NamedTuple):
    """A board, its marks, where the strips stand and what the spin has won up to here.

    `tops` and `shown` are one number a reel, empty where they are not known: the strip position in the top row, and how
    many positions the spin has shown. `steps` counts the drops that won. `is_right` says that no fault led here.
    """

    board: tuple[int, ...]
    marks: tuple[int, ...]
    tops: tuple[int, ...]
    shown: tuple[int, ...]
    tumbles: int
    steps: int
    wins_minor: int
    is_right: bool


class WaysScene(Scene):
    """One spin of a game that pays by ways, and what its wins may have come to so far."""

    tables: WaysTables

    def __init__(
        self, tables: WaysTables, notebook: Notebook, *, spin: int, bet_minor: int, strip_sets: tuple[int, ...], cap_minor: int
    ) -> None:
        super().__init__(tables, notebook, spin=spin, bet_minor=bet_minor, strip_sets=strip_sets)
        self.cap_minor = cap_minor
        self.ladder = tables.ladder(spin)
        self.rungs: list[tuple[int, int]] = [(self.ladder[0], 0)]  # multipliers that may hold, each with its step
        self.before: Options = (0,)  # what counts towards the cap before the spin
        self.sums: tuple[int, ...] = (0,)  # of its wins so far, uncut
        self.may_be_limited = False  # by a tumble after wins that are no wins, which is reported
        self.hit = "no"  # as in `CapOutcome`
        self.cuts: tuple[int, ...] = (0,)
        self.cap_awards: tuple[int, ...] = ()
        self.cap_faults: list[int] = []
        self.after_cap_fault: int | None = None

    def note_after_cap(self, index: int, where: str, what: str) -> None:
        """Write down, once, that the spin goes on after the cap."""
        if self.after_cap_fault is None:
            self.after_cap_fault = self.notebook.add(
                "after_cap", "open", index, where, what="play", want="the end of the spin at the cap", got=what, assumption="ALL-1"
            )


def distinct_worlds(worlds: Sequence[WaysWorld]) -> list[WaysWorld]:
    """Return the worlds without those that are in the list twice; one that is also right is right."""
    found: dict[tuple[object, ...], WaysWorld] = {}
    for world in worlds:
        key = tuple(world[:-1])
        if key not in found or world.is_right:
            found[key] = world
    return list(found.values())[:WORLDS_MAX]


def with_wins(scene: WaysScene, world: WaysWorld, wins: Sequence[WaysWin]) -> WaysWorld:
    """Return the world with the wins of its board counted at the multiplier of its own step."""
    if not wins:
        return world
    pay = sum([win.pay_x100 * win.ways for win in wins])
    amount = win_amount(pay, ladder_multiplier(scene.ladder, world.steps), scene.bet_minor)
    return world._replace(wins_minor=world.wins_minor + amount, steps=world.steps + 1)


def gone_by(scene: WaysScene, world: WaysWorld, won: tuple[int, ...], told_turned: tuple[int, ...]) -> Gone:
    """Return what a tumble after a win on the cells `won` removes and turns; the record tells marks that are not known."""
    if not won:
        return (), ()
    marks = [GOLD if mark == TOLD_GOLD or (mark == UNKNOWN_MARK and cell in told_turned) else mark for cell, mark in enumerate(world.marks)]
    removed, turned = split_gold([cell for cell in won if cell < len(marks)], marks)
    if scene.tables.wilds_always_leave:
        wilds = [cell for cell, symbol in enumerate(world.board) if symbol == scene.tables.wild]
        removed = tuple([cell for cell in union_cells((removed, wilds)) if cell not in turned])
    return removed, turned


def after_tumble(scene: WaysScene, world: WaysWorld, gone: Gone, new_symbols: NewSymbols | None, *, is_right: bool) -> WaysWorld | None:
    """Return the world after a tumble; None where the new symbols do not fill the gaps.

    Without `new_symbols` the strips are asked; None as well where it is not known how they stand.
    """
    tables = scene.tables
    removed, turned = gone
    counts = removed_counts(removed, tables.reel_rows)
    falling = falls_in(tables.strips[scene.strip_set], world.tops, counts, new_symbols)
    if falling is None:
        return None
    new, tops = falling
    landed = new, tables.marks_of_new(scene.strip_set, new)
    board, marks = fall(world.board, world.marks, removed, turned, landed, tables.reel_rows, tables.wild)
    shown = tuple([before + count for before, count in zip(world.shown, counts, strict=True)]) if world.shown else ()
    return WaysWorld(board, marks, tops, shown, world.tumbles + 1, world.steps, world.wins_minor, is_right)


def played_out(scene: WaysScene, world: WaysWorld) -> WaysWorld:
    """Return the world that the strips lead to from `world`, whose wins are counted; as far as its marks are known."""
    wins = scene.tables.wins(world.board)
    while wins and world.tops:
        won = union_cells(win.cells for win in wins)
        gone = gone_by(scene, world, won, ())
        is_known = all(world.marks[cell] != UNKNOWN_MARK for cell in won)
        after = after_tumble(scene, world, gone, None, is_right=world.is_right) if is_known and can_tumble(scene, world, gone[0]) else None
        if after is None:
            break
        wins = scene.tables.wins(after.board)
        world = with_wins(scene, after, wins)
    return world
