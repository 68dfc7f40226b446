"""What a princess does with a board at rest: who acts, how large her power is, and the cells that turn wild."""

from engines.game_events import Drop, GameEvent, Power, SpinEnded, Win
from replay.referee.belief import fault
from replay.referee.runs import POWER_WILD, are_power_cells, board_with_wilds, paying_cells
from replay.referee.runs_belief import RunsBelief
from replay.referee.runs_step import looked_at
from replay.referee.runs_tables import RunsRound, RunsTables

__all__ = ["acted", "may_have_led_to", "powers", "princess_due"]


def princess_due(belief: RunsBelief) -> int:
    """Return the princess who acts next."""
    return belief.powers[0] if belief.part != "base" and belief.powers else belief.active


def powers(play: RunsRound, belief: RunsBelief, index: int, got: Power, ahead: list[GameEvent], *, is_plain: bool) -> list[RunsBelief]:
    """Return what may be believed after a power; `ahead` are the events that follow, which may show other cells than are told."""
    right = princess_due(belief)
    if belief.board is None and (belief.part != "base" and not belief.powers):
        right = got.princess
    after = belief
    if got.princess != right:
        hung = "MPS-9" if belief.part == "base" else "MPS-11" if belief.part == "resonance" else "MPS-12"
        want, told = (play.tables.princess_name(each) for each in (right, got.princess))
        after = fault(after, "power_princess", "integrity", index, "power", what="princess", want=want, got=told, assumption=hung)
    found: list[RunsBelief] = []
    for princess in dict.fromkeys((right, got.princess)):
        if princess in play.tables.choices:
            found += _with_cells(play, after, index, got, princess, ahead, is_plain=is_plain)
    return sorted(found, key=lambda each: each.cost)


def acted(play: RunsRound, belief: RunsBelief, princess: int) -> RunsBelief:
    """Return a belief after a princess has acted, whatever the board: who acts next."""
    if belief.part == "base":
        return belief._replace(active=play.tables.princess_after[princess], may_act=False)
    if belief.part == "free":
        return belief._replace(powers=(), chosen=princess)
    left = [each for each in belief.powers if each != princess]
    return belief._replace(powers=tuple(left if princess in belief.powers else belief.powers[1:]))


def _with_cells(
    play: RunsRound, belief: RunsBelief, index: int, got: Power, princess: int, ahead: list[GameEvent], *, is_plain: bool
) -> list[RunsBelief]:
    """Return what may be believed of a power of `princess`: its size and cells, or cells that nobody knows until the next drop."""
    tables, board, cells = play.tables, belief.board, got.turned_cells
    sizes = tables.sizes_of(belief.part, princess)
    after = acted(play, belief, princess)
    if princess != got.princess:  # her number alone is wrong; the next one to act is hers
        after = after._replace(chosen=belief.chosen)
    if board is None:
        if got.size not in sizes:
            after = _wrong_size(after, index, got, sizes)
        return [looked_at(play, after)]
    is_sized = got.size in sizes
    if are_cells_of(tables, board, cells, princess, got.size if is_sized else None, sizes):
        if not is_sized:
            after = _wrong_size(after, index, got, sizes)
        shown = _turned(play, after, cells, princess)
        has_others = len(cells) < len(paying_cells(board, tables.paying))
        return [shown, _in_doubt(play, after, index, got, ahead)] if has_others and not is_plain else [shown]
    if are_cells_of(tables, board, cells, princess, None, sizes):
        fitting = [size for size in sizes if are_cells_of(tables, board, cells, princess, size, sizes)]
        after = _wrong_size(after, index, got, fitting)
        return [_turned(play, after, cells, princess)]
    kind = tables.kinds[princess]
    want = f"{'a diagonal stretch of' if kind == 'diagonal' else 'different'} paying symbols, as the size {got.size} has them"
    hung = "MPS-7"
    wrong = fault(after, "power_cells", "integrity", index, "power", what="turned cells", want=want, got=list(cells), assumption=hung)
    if not is_sized:
        wrong = _wrong_size(wrong, index, got, sizes)
    known = tuple([cell for cell in cells if cell < tables.cell_count])
    return [_turned(play, wrong, known, princess), _hidden(play, wrong)]


def are_cells_of(
    tables: RunsTables, board: tuple[int, ...], cells: tuple[int, ...], princess: int, size: int | None, sizes: tuple[int, ...]
) -> bool:
    """Return whether a princess may turn `cells` with a power of `size`, of any of `sizes` where it is None."""
    is_diagonal = tables.kinds[princess] == "diagonal"
    return any(
        are_power_cells(board, cells, each, tables.reels, tables.rows, tables.paying, is_diagonal=is_diagonal)
        for each in (sizes if size is None else (size,))
    )


def _wrong_size(belief: RunsBelief, index: int, got: Power, sizes: tuple[int, ...] | list[int]) -> RunsBelief:
    want = " or ".join(map(str, sizes))
    return fault(belief, "power_size", "integrity", index, "power", what="size", want=want, got=got.size, assumption="MPS-7")


def _turned(play: RunsRound, belief: RunsBelief, cells: tuple[int, ...], princess: int) -> RunsBelief:
    tables = play.tables
    assert belief.board is not None
    board = board_with_wilds(belief.board, cells, tables.wild)
    marks = belief.marks
    if tables.kinds[princess] == "power_wilds":
        marks = board_with_wilds(marks, cells, POWER_WILD)
    return looked_at(play, belief._replace(board=board, marks=marks))


def _hidden(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    return looked_at(play, belief._replace(board=None))


def _in_doubt(play: RunsRound, belief: RunsBelief, index: int, got: Power, ahead: list[GameEvent]) -> RunsBelief:
    """Return the belief that other cells turned than are told: likelier than a missing win where no drop shows the board any more."""
    is_shown = False
    for event in ahead:
        is_shown = is_shown or isinstance(event, Drop)
        if isinstance(event, SpinEnded):
            break
    want, hung = "cells that lead to what follows", "MPS-7"
    after = fault(
        belief, "power_cells", "integrity", index, "power", what="turned cells", want=want, got=list(got.turned_cells), assumption=hung
    )
    return _hidden(play, after)._replace(doubts=belief.doubts + (3 if is_shown else -1))


def may_have_led_to(play: RunsRound, belief: RunsBelief, princess: int, win: Win) -> bool:
    """Return whether a power of a princess on this board may make a win: a run in its line, few cells of which had to turn."""
    tables, board = play.tables, belief.board
    if board is None:
        return True
    line = tables.lines[win.line] if 0 <= win.line < len(tables.lines) else ()
    at = line.index(win.cells[0]) if win.cells and win.cells[0] in line else len(line)
    if not win.cells or line[at : at + len(win.cells)] != win.cells:
        return False
    fitting = {win.symbol, tables.wild} | (set(tables.princesses) if win.symbol == tables.mixed else set())
    turned = [cell for cell in win.cells if board[cell] not in fitting]
    sizes = tables.sizes_of(belief.part, princess)
    most = 1 if tables.kinds[princess] == "diagonal" else max(sizes, default=0)
    return len(turned) <= most and all(board[cell] < tables.paying for cell in turned)
