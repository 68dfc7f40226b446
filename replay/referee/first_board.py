"""The first board of a spin against its stops and strips, and how cells and their symbols are named in findings."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from engines.game_events import Drop
from replay.referee.belief import RoundBelief, fault
from replay.referee.game_tables import GameTables

__all__ = ["CELLS_NAMED_MAX", "ShownBoard", "cells_text", "shown_boards", "symbols_text"]

CELLS_NAMED_MAX = 6
B = TypeVar("B", bound=RoundBelief)


class ShownBoard(NamedTuple):
    """A board that a spin may have begun with: cells whose recorded symbols are passed over, and whether it is not that of the stops."""

    board: tuple[int, ...]
    passed_over: tuple[int, ...] = ()
    is_against_stops: bool = False


def shown_boards(tables: GameTables, belief: B, strip_set: int, index: int, drop: Drop) -> list[tuple[B, ShownBoard]]:
    """Return the boards that may have lain there, each with the belief that says why: as the stops show it, or as it is told.

    The drop has a symbol for each cell.
    """
    told = ShownBoard(drop.symbols)
    if not tables.are_stops(strip_set, drop.stops):
        want = f"positions on the strips of set {tables.set_name(strip_set)}"
        return [(fault(belief, "stops", "integrity", index, "drop", what="stops", want=want, got=list(drop.stops)), told)]
    shown = tables.board_at(strip_set, drop.stops)
    if shown == drop.symbols:
        return [(belief, told)]
    bad = tuple([cell for cell, symbol in enumerate(shown) if symbol != drop.symbols[cell]])
    want, got = (symbols_text(tables, board, bad) for board in (shown, drop.symbols))
    where = f"drop, {cells_text(bad)}"
    against = fault(belief, "board_stops", "integrity", index, where, what="symbols", want=want, got=got, assumption="ALL-2")
    by_stops = against, ShownBoard(shown, bad)
    windows, ends = tables.windows[strip_set], [sum(tables.reel_rows[: reel + 1]) for reel in range(tables.reels)]
    columns = {reel: drop.symbols[ends[reel] - tables.reel_rows[reel] : ends[reel]] for reel in {tables.reel_of_cell[cell] for cell in bad}}
    if all(column in windows[reel] for reel, column in columns.items()):
        reels = ", ".join(f"reel {reel} at {windows[reel].index(column)}" for reel, column in sorted(columns.items()))
        want = f"stops whose windows are the board: {reels}"
        got = ", ".join(f"reel {reel} at {drop.stops[reel]}" for reel in sorted(columns))
        as_told = fault(belief, "stops", "integrity", index, "drop", what="stops", want=want, got=got, assumption="ALL-2")
        return [(as_told, told), by_stops]
    return [by_stops, (against, told._replace(is_against_stops=True))]


def cells_text(cells: Sequence[int]) -> str:
    """Return the numbers of cells in words, the first few of many."""
    named = ", ".join(map(str, cells[:CELLS_NAMED_MAX]))
    more = f" and {len(cells) - CELLS_NAMED_MAX} more" if len(cells) > CELLS_NAMED_MAX else ""
    return f"cell{'s' if len(cells) != 1 else ''} {named or 'none'}{more}"


def symbols_text(tables: GameTables, board: Sequence[int], cells: Sequence[int]) -> str:
    """Return the names of the symbols in `cells`, the first few of many."""
    return ", ".join(tables.symbol_name(board[cell]) for cell in cells[:CELLS_NAMED_MAX])
