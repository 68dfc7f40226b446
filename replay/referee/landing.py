"""Symbols that land, held against the strips: the board as drawn against its stops, what falls in after a tumble."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import NamedTuple

from engines.game_events import Drop, Tumble
from replay.referee.falling import Board, NewSymbols, refill, removed_counts
from replay.referee.grammar import SpinRecord, Step
from replay.referee.notebook import Weight
from replay.referee.scene import Scene

__all__ = ["BOARDS_MAX", "DrawnBoard", "DrawnBoards", "boards_as_drawn", "check_drop_form", "check_refill", "is_shaped"]

BOARDS_MAX = 8


class DrawnBoard(NamedTuple):
    """A first board and where the strips stand; `tops` is empty where that is not known."""

    board: Board
    tops: tuple[int, ...]
    is_right: bool


class DrawnBoards(NamedTuple):
    """What may lie after the draw: the recorded board first; more than one where board and stops contradict each other."""

    placed: tuple[int, Drop]
    boards: list[DrawnBoard]
    is_in_doubt: bool = False
    are_stops_wrong: bool = False  # another stop explains the board; the second board is that of the stops


def check_drop_form(scene: Scene, step: Step, wanted: int, unused: str) -> None:
    """Check a drop's number, that it has stops only as drawn, and nothing in the list that the game has no use for."""
    if step.drop is None:
        return
    index, drop = step.drop
    where = f"drop {wanted}"
    if drop.drop_index != wanted:
        scene.notebook.add("drop_index", "integrity", index, where, what="drop index", want=wanted, got=drop.drop_index)
    if getattr(drop, unused):
        scene.notebook.add(unused, "integrity", index, where, what=unused, want="none", got=list(getattr(drop, unused)))
    if wanted and drop.stops:
        scene.notebook.add("stops", "integrity", index, where, what="stops", want="none after a tumble", got=list(drop.stops))
    name, beside = ("marks", drop.marks) if unused == "values" else ("values", drop.values)
    if not is_shaped(scene, drop, beside):
        got = f"{len(drop.symbols)} symbols and {len(beside)} {name}"
        scene.notebook.add("board_shape", "integrity", index, where, what="board", want=f"{scene.tables.cell_count} cells", got=got)


def is_shaped(scene: Scene, drop: Drop, beside: tuple[int, ...]) -> bool:
    """Return whether a drop has one symbol and one of what stands beside it for each cell."""
    return len(drop.symbols) == len(beside) == scene.tables.cell_count


def boards_as_drawn(scene: Scene, record: SpinRecord, step: Step, beside: Callable[[Drop], tuple[int, ...]]) -> DrawnBoards | None:
    """Check drop 0 against its stops and return the boards it may be; None where it is missing or of another shape."""
    tables = scene.tables
    if step.drop is None:
        index = step.wins[0][0] if step.wins else step.tumble[0] if step.tumble else record.index_first
        scene.notebook.add("drop_missing", "integrity", index, "drop 0", what="drop", want="the board as drawn", got="none")
        return None
    index, drop = step.drop
    if not is_shaped(scene, drop, beside(drop)):
        return None
    if not tables.are_stops(scene.strip_set, drop.stops):
        want = f"{tables.reels} positions on the strips of set {tables.set_name(scene.strip_set)}"
        scene.notebook.add("stops", "integrity", index, "drop 0", what="stops", want=want, got=list(drop.stops))
        return DrawnBoards(step.drop, [DrawnBoard(drop.symbols, (), True)])
    if tables.board_at(scene.strip_set, drop.stops) != drop.symbols:
        return _off_the_strips(scene, record, step.drop)
    return DrawnBoards(step.drop, [DrawnBoard(drop.symbols, drop.stops, True)])


def _off_the_strips(scene: Scene, record: SpinRecord, placed: tuple[int, Drop]) -> DrawnBoards:
    """Note a first board that its stops do not show: by another strip set, another stop, or other symbols."""
    tables, (index, drop) = scene.tables, placed
    others = [number for number in range(len(tables.strips)) if number != scene.strip_set]
    shown_by = [number for number in others if tables.are_stops(number, drop.stops) and tables.board_at(number, drop.stops) == drop.symbols]
    if shown_by:
        if len(scene.strip_sets) == 1:
            start = record.start[0] if record.start else index
            want, got = tables.set_name(shown_by[0]), tables.set_name(scene.strip_set)
            hung = tables.set_assumption("", 1)
            scene.notebook.add("strip_set", "integrity", start, "", what="strip set", want=want, got=got, assumption=hung)
        scene.strip_set = shown_by[0]
        return DrawnBoards(placed, [DrawnBoard(drop.symbols, drop.stops, True)])
    wanted = tables.board_at(scene.strip_set, drop.stops)
    tops = _tops_that_show(scene, drop)
    by_stops = [reel for reel, positions in enumerate(tops) if len(positions) > 1]
    bad = [cell for cell in range(tables.cell_count) if wanted[cell] != drop.symbols[cell]]
    reels = tables.reel_of_cell
    if by_stops and all(reels[cell] in by_stops for cell in bad):
        got = ", ".join(f"reel {reel} at {drop.stops[reel]}" for reel in by_stops)
        want = "stops whose windows are the board: " + ", ".join(f"reel {reel} at {tops[reel][1]}" for reel in by_stops)
        scene.notebook.add("stops", "open", index, "drop 0", what="stops", want=want, got=got, assumption="ALL-2")
    else:
        scene.note_cells(index, 0, "board_stops", bad, wanted, drop.symbols, "ALL-2")
    boards = [DrawnBoard(drop.symbols, drop.stops, bool(by_stops)), DrawnBoard(wanted, drop.stops, True)]
    others_that_show = product(*(positions[1:] or positions for positions in tops))
    boards += [DrawnBoard(drop.symbols, stops, True) for stops in islice(others_that_show, BOARDS_MAX - len(boards))]
    return DrawnBoards(placed, boards, is_in_doubt=True, are_stops_wrong=bool(by_stops))


def _tops_that_show(scene: Scene, drop: Drop) -> list[list[int]]:
    """Return for each reel its stop and, where that does not show what lies there, the positions that do."""
    tops, first = [], 0
    for stop, windows, rows in zip(drop.stops, scene.tables.windows[scene.strip_set], scene.tables.reel_rows, strict=True):
        column = drop.symbols[first : first + rows]
        tops.append([stop] if column == windows[stop] else [stop, *(at for at, shown in enumerate(windows) if shown == column)])
        first += rows
    return tops


Standing = tuple[tuple[int, ...], tuple[int, ...]]  # for each reel the strip position in its top row, and how many it has shown


def check_refill(
    scene: Scene, placed: tuple[int, Tumble], where: str, standings: Sequence[Standing], removals: Sequence[Iterable[tuple[int, ...]]]
) -> None:
    """Check what fell in against the strips, for each way they may stand and what may be gone with it; unknown tops allow all.

    Where another stop shows the same board and explains what fell in, either may be the altered one: only the seed tells.
    """
    index, tumble = placed
    tables = scene.tables
    wanted = []
    for (tops, _), ways_gone in zip(standings, removals, strict=True):
        if not tops:
            return
        for removed in ways_gone:
            new = refill(tables.strips[scene.strip_set], tops, removed_counts(removed, tables.reel_rows))[0]
            if new == tumble.new_symbols:
                return
            wanted.append(new)
    want, got = wanted[0], tumble.new_symbols
    bad = [reel for reel in range(max(len(want), len(got))) if want[reel : reel + 1] != got[reel : reel + 1]]
    want_text, got_text = (
        "; ".join(f"reel {reel}: {scene.names(list(new[reel])) or 'nothing'}" for reel in bad if reel < len(new)) or f"{len(new)} reels"
        for new in (want, got)
    )
    is_in_doubt = bool(standings[0][1]) and all(_is_stop_in_doubt(scene, standings[0], reel, want, got) for reel in bad)
    if is_in_doubt:
        want_text += ", or another stop of the first board: the seed tells which"
    weight: Weight = "integrity" if is_in_doubt else "open"
    scene.notebook.add("refill", weight, index, where, what="new symbols", want=want_text, got=got_text, assumption="ALL-3")


def _is_stop_in_doubt(scene: Scene, standing: Standing, reel: int, want: NewSymbols, got: NewSymbols) -> bool:
    """Return whether a reel at another place of its strip would have shown the same up to here, and let fall in what is recorded."""
    if reel >= len(got) or reel >= len(want) or len(want[reel]) != len(got[reel]):
        return False
    strip, top, shown = scene.tables.strips[scene.strip_set][reel], standing[0][reel], standing[1][reel]
    seen = [*got[reel], *(strip[(top + at) % len(strip)] for at in range(shown))]
    first = top - len(got[reel])
    return any(all(strip[(first + at + moved) % len(strip)] == symbol for at, symbol in enumerate(seen)) for moved in range(1, len(strip)))
