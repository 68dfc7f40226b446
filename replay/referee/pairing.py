"""Recorded wins beside those that a board pays: which is which, what is missing, what is invented."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from engines.game_events import Win
from replay.referee.grammar import Step
from replay.referee.scene import Scene

__all__ = [
    "Pairs",
    "PlacedWin",
    "Won",
    "is_followed",
    "nearest",
    "note_missing",
    "note_pairs",
    "pair_wins",
    "win_place",
]

PlacedWin = tuple[int, Win]


class Won(Protocol):
    """A win of a board, as any game has it."""

    @property
    def symbol(self) -> int:
        """The symbol that wins."""

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells that hold it, ascending."""


W = TypeVar("W", bound=Won)


class Pairs(NamedTuple, Generic[W]):
    """Recorded wins with those of the board; `renamed` are in `matched` as well: the same cells by another symbol."""

    matched: list[tuple[PlacedWin, W]]
    renamed: list[tuple[PlacedWin, W]]
    invented: list[PlacedWin]
    missing: list[W]


def is_followed(recorded: Sequence[PlacedWin], wins: Sequence[Won]) -> bool:
    """Return whether the recorded wins are those of a board, by symbol and cells, in their order."""
    if len(recorded) != len(wins):
        return False
    return all(got.symbol == win.symbol and got.cells == win.cells for (_, got), win in zip(recorded, wins, strict=True))


def nearest(recorded: Sequence[PlacedWin], paid: Sequence[Sequence[Won]], rights: Sequence[bool]) -> int:
    """Return which board's wins differ least from the recorded ones; of two alike the right one."""
    got = {(win.symbol, win.cells) for _, win in recorded}
    distances = [(len(got ^ {(win.symbol, win.cells) for win in wins}), not right) for wins, right in zip(paid, rights, strict=True)]
    return distances.index(min(distances))


def pair_wins(recorded: Sequence[PlacedWin], wins: Sequence[W]) -> Pairs[W]:
    """Return recorded wins paired with those of the board by their symbol, else by their cells."""
    missing = {win.symbol: win for win in wins}
    pairs: Pairs[W] = Pairs([], [], [], [])
    spare: list[PlacedWin] = []
    for placed in sorted(recorded, key=lambda placed: _unlike(placed[1], missing.get(placed[1].symbol))):
        partner = missing.pop(placed[1].symbol, None)
        if partner is None:
            spare.append(placed)
        else:
            pairs.matched.append((placed, partner))
    for placed in spare:
        same_cells = [win for win in missing.values() if win.cells == placed[1].cells]
        if same_cells:
            del missing[same_cells[0].symbol]
            pairs.matched.append((placed, same_cells[0]))
            pairs.renamed.append((placed, same_cells[0]))
        else:
            pairs.invented.append(placed)
    pairs.missing.extend(missing.values())
    return pairs


def _unlike(win: Win, partner: Won | None) -> int:
    return 1 if partner is None or partner.cells != win.cells else 0


def win_place(scene: Scene, symbol: int, drop_index: int) -> str:
    """Return the words that say which win of a spin is meant."""
    return f"drop {drop_index}, win of {scene.tables.symbol_name(symbol)}"


def note_pairs(scene: Scene, pairs: Pairs[W], drop_index: int) -> None:
    """Write down wins that are invented, of another symbol, or out of order."""
    add, names = scene.notebook.add, scene.tables.symbol_name
    for index, win in pairs.invented:
        got_text = f"{win.count} of {names(win.symbol)} for {win.win_minor}"
        where = win_place(scene, win.symbol, drop_index)
        add("win_invented", "open", index, where, what="win", want="no such win on this board", got=got_text)
    for (index, got), right in pairs.renamed:
        where = win_place(scene, got.symbol, drop_index)
        add("win_symbol", "open", index, where, what="symbol", want=names(right.symbol), got=names(got.symbol))
    _check_order(scene, pairs.matched, drop_index)


def note_missing(scene: Scene, step: Step, win: Won, count: int, amount_minor: int, drop_index: int) -> None:
    """Write down that a win of `count` and `amount_minor` is missing."""
    index = step.drop[0] if step.drop else step.wins[0][0] if step.wins else -1
    want = f"{count} of {scene.tables.symbol_name(win.symbol)} for {amount_minor}"
    where = win_place(scene, win.symbol, drop_index)
    scene.notebook.add("win_missing", "open", index, where, what="win", want=want, got="no win")


def _check_order(scene: Scene, matched: Sequence[tuple[PlacedWin, Won]], drop_index: int) -> None:
    symbols = [win.symbol for _, win in sorted(matched, key=lambda pair: pair[0][0])]
    if symbols == sorted(symbols):
        return
    names = scene.tables.symbol_name
    index = min(placed[0] for placed, _ in matched)
    want, got = (", ".join(map(names, listed)) for listed in (sorted(symbols), symbols))
    scene.notebook.add("win_order", "integrity", index, f"drop {drop_index}", what="order of wins", want=want, got=got, assumption="ALL-6")
