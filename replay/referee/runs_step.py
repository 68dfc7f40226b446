"""What follows from a board of runs: its wins, what the step then owes, a clear grid, a power, or the end of the spin."""

from replay.referee.falling import Board
from replay.referee.runs import board_after_fall, board_with_wilds, paying_cells, runs_of, split_cells
from replay.referee.runs_belief import Owed, RunsBelief, mask_of, risen_to
from replay.referee.runs_tables import RunsRound

__all__ = ["after_tumble", "after_wins", "at_rest", "due", "looked_at", "optional_tail", "spin_end", "without_wins", "worth_of"]

ANY_TUMBLE, ANY_DROP = Owed("tumble"), Owed("drop")
PHASES = {"start": "spin_started", "drop": "drop", "feature": "feature_ended", "choice": "choice_offered"}


def due(play: RunsRound, belief: RunsBelief, kind: str) -> RunsBelief | None:
    """Return the belief in which an event of `kind` is owed next, what may be left out before it left out; None where it is not."""
    if belief.phase != "spin":
        return belief if PHASES.get(belief.phase) == kind else None
    if belief.cap_due:
        return belief if kind == "cap_hit" else None
    if not belief.owed:
        belief = _as_told(play, belief, kind)
    owed = belief.owed
    at = 0
    while owed[at].is_optional and owed[at].kind != kind:
        at += 1
    if owed[at].kind != kind:
        return None
    return belief._replace(owed=owed[at:]) if at else belief


def _as_told(play: RunsRound, belief: RunsBelief, kind: str) -> RunsBelief:
    """Return what is owed where nobody knows the board and `kind` stands next."""
    if kind == "win":
        is_first = belief.part == "free" and belief.drop_index == 0
        return belief._replace(owed=(Owed("win"),), powers=() if is_first else belief.powers)
    if belief.taken:
        return after_wins(play, belief)
    if kind == "power":
        return belief._replace(owed=(Owed("power"),))
    if kind in ("tumble", "drop"):
        return belief._replace(owed=(ANY_TUMBLE, ANY_DROP)[kind == "drop" :])
    return at_rest(play, belief)


def looked_at(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    """Return the belief once the board is looked at: a clear grid, a step's wins, a power or the end of the spin is owed."""
    tables, board = play.tables, belief.board
    belief = belief._replace(taken=(), before=(belief.won, belief.meter), is_settled=False, pay_multiplier=belief.multiplier, owed=())
    if board is None:
        return belief if tables.readings["MPS-4"] != 1 else belief._replace(pay_multiplier=0)
    if not paying_cells(board, tables.paying):
        wilds = tuple([cell for cell, symbol in enumerate(board) if symbol == tables.wild])
        if not wilds:
            return belief._replace(owed=spin_end(play, belief, is_clear=True))
        emptied = Owed("drop", board=tables.empty_board, marks=tables.no_values)
        return belief._replace(owed=(Owed("tumble", removed=wilds), emptied))
    runs = runs_of(board, belief.marks, tables.lines, tables.symbols)
    if not runs:
        return at_rest(play, belief)
    if belief.part == "free" and belief.drop_index == 0:
        belief = belief._replace(powers=())
    if tables.readings["MPS-4"] == 1:
        mask = mask_of(tuple([cell for run in runs for cell in run.cells]))
        raised = risen_to(play, belief.multiplier, _rise(play, belief, mask))
        belief = belief._replace(pay_multiplier=0 if belief.is_hidden else raised)
    return belief._replace(owed=tuple([Owed("win", run=run) for run in runs]))


def _rise(play: RunsRound, belief: RunsBelief, mask: int) -> int:
    lit = mask & belief.highlights
    if play.tables.readings["MPS-5"] == 1:
        return 1 if lit else 0
    return (lit & ~belief.before[0]).bit_count()


def without_wins(belief: RunsBelief) -> RunsBelief:
    """Return a belief as it was before what the step's wins lead to was worked out."""
    won, meter = belief.before
    return belief._replace(won=won, meter=meter, is_settled=False, owed=())


def after_wins(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    """Return the belief once the wins of a step are written: meter, rise, constellation and fall follow from those that were taken."""
    tables = play.tables
    if not belief.taken:
        return at_rest(play, belief)
    mask, before = 0, belief.before[0]
    sections = belief.meter
    for run in belief.taken:
        mask |= mask_of(run.cells)
        sections += tables.sections_for(run.symbol, run.length)
    won = before | mask
    owed: list[Owed] = []
    if belief.is_hidden:
        owed += optional_tail(play)
    else:
        to = risen_to(play, belief.multiplier, _rise(play, belief, mask))
        if to != belief.multiplier:
            owed.append(Owed("multiplier_change", to=to))
        lit = belief.highlights
        if lit and lit & ~won == 0 and lit & ~before and not belief.is_constellation_paid:
            owed.append(Owed("prize", which="constellation"))
    if belief.board is None:
        owed += [ANY_TUMBLE, ANY_DROP]
    else:
        removed, turned = split_cells(belief.taken, belief.marks, tables.wild, tables.leaves_wild)
        owed += after_tumble(play, belief, removed, turned)
    fresh = (mask & ~before).bit_count()
    return belief._replace(won=won, fresh=fresh, meter=min(sections, tables.sections), owed=tuple(owed), is_settled=True)


def optional_tail(play: RunsRound) -> tuple[Owed, ...]:
    """Return what a step may owe where nobody knows the highlighted cells."""
    return Owed("multiplier_change", is_optional=True), Owed("prize", is_optional=True, which="constellation")


def after_tumble(play: RunsRound, belief: RunsBelief, removed: tuple[int, ...], turned: tuple[int, ...]) -> tuple[Owed, Owed]:
    """Return the tumble and the drop that are owed where these cells leave and turn wild."""
    tables = play.tables
    assert belief.board is not None
    board = board_with_wilds(belief.board, turned, tables.wild)
    symbols, marks = board_after_fall(board, belief.marks, removed, tables.reel_rows, tables.empty)
    return Owed("tumble", removed=removed, turned=turned), Owed("drop", board=symbols, marks=marks)


def at_rest(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    """Return the belief where nothing wins: a power that is left acts or may act, else the spin ends."""
    if belief.powers:
        return belief._replace(owed=(Owed("power"),))
    owed = spin_end(play, belief, is_clear=False)
    if belief.may_act and play.tables.base_acts:
        acts = Owed("power", is_optional=play.tables.base_rests)
        return belief._replace(owed=(acts, *owed) if acts.is_optional else (acts,))
    return belief._replace(owed=owed)


def spin_end(play: RunsRound, belief: RunsBelief, *, is_clear: bool) -> tuple[Owed, ...]:
    """Return what the spin owes at its end: the prize of a clear grid, a trigger, its sums."""
    tables = play.tables
    owed: list[Owed] = []
    is_full = belief.meter >= tables.sections
    is_limit = False
    if is_clear and belief.part != "resonance":
        owed.append(Owed("prize", which="clear_grid"))
    if belief.part == "resonance" and is_clear:
        owed.append(Owed("feature_trigger", which="free_spins", counted=tables.cell_count))
    elif belief.part == "free" and is_full:
        added = min(tables.spins_added, tables.spins_max - belief.given)
        if added > 0:
            owed.append(Owed("feature_trigger", which="free_spins", counted=tables.sections, spins=added, left=belief.left + added))
    elif is_full and (belief.part == "base" or tables.readings["MPS-11"] != 1):
        is_limit = belief.resonances >= tables.resonances_max
        if not is_limit:
            owed.append(Owed("feature_trigger", which="resonance", counted=tables.sections, spins=1, left=1))
    return (*owed, Owed("spin_ended", which="limit" if is_limit else ""))


def worth_of(play: RunsRound, board: Board | None, marks: Board) -> list[tuple[int, int]]:
    """Return what a board pays step by step until it is at rest, each with the cells won on; a clear grid last."""
    tables = play.tables
    found: list[tuple[int, int]] = []
    while board is not None:
        if not paying_cells(board, tables.paying):
            return [*found, (tables.prizes_x100["clear_grid"], -1)]
        runs = runs_of(board, marks, tables.lines, tables.symbols)
        if not runs:
            break
        found.append((sum(run.pay_x100 for run in runs), mask_of(tuple([cell for run in runs for cell in run.cells]))))
        removed, turned = split_cells(runs, marks, tables.wild, tables.leaves_wild)
        board, marks = board_after_fall(board_with_wilds(board, turned, tables.wild), marks, removed, tables.reel_rows, tables.empty)
    return found
