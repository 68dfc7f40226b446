"""The start of a spin: whether it is owed, its number, its strip set, and what it carries on from the spins before."""

from engines.game_events import SpinStarted
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import Notebook, settled_options
from replay.referee.reel_tables import ReelTables
from replay.referee.standing import Options, Standing

__all__ = ["check_start"]


def check_start(
    tables: ReelTables,
    notebook: Notebook,
    record: SpinRecord,
    following: SpinRecord | None,
    standing: Standing,
    *,
    mode: str,
    spin: int,
    cap_minor: int,
) -> tuple[int, tuple[int, ...]]:
    """Check `spin_started` and return the spin's number and the strip sets it may be on, the recorded one first."""
    allowed = (tables.free_set,) if spin else tables.paid_spin_sets(mode)
    _clear_doubt(standing, cap_minor)
    if spin:
        _check_owed(tables, notebook, record, standing)
        standing.free_played += 1
    if record.start is None:
        _take_one_off(standing, spin)
        return spin, allowed
    index, start = record.start
    spin = _check_number(notebook, index, start, following, standing, spin)
    want_part = "free" if spin else "base"
    wanted = (("part", want_part), ("multiplier", tables.start_multiplier(spin)), ("meter", 0), ("highlighted_cells", ()))
    for name, want in wanted:
        got = getattr(start, name)
        if got != want:
            notebook.add(
                name, "open" if name == "multiplier" else "integrity", index, "spin_started", what=name, want=want or "none", got=got
            )
    _check_carried(notebook, index, start, standing, spin)
    return spin, _check_strip_set(tables, notebook, index, start, allowed, tables.set_assumption(mode, spin))


def _clear_doubt(standing: Standing, cap_minor: int) -> None:
    """Decide whether a cap that may have been hit was: a total below it says no, one that reached it is reported."""
    if standing.over == "maybe" and standing.totals is not None:
        if all(total < cap_minor for total in standing.totals):
            standing.over = ""
        else:
            standing.is_over_reported = True


def _check_owed(tables: ReelTables, notebook: Notebook, record: SpinRecord, standing: Standing) -> None:
    if standing.is_over_reported:
        standing.spins_left = None
        standing.free_unowed += 1
        return
    index = record.index_first
    left = standing.spins_left
    if standing.over == "capped":
        code, want, hung = "after_cap", "no spin after the cap", "ALL-1"
    elif standing.over == "limit" or (standing.free_played >= tables.limits.free_spins and left and all(left)):
        code, want, hung = "limit_ignored", "no spin past a technical limit", "ALL-5"
    elif left is not None and not any(left):
        code, want, hung = "spin_unowed", "no spin more", None
    else:
        return
    standing.spin_faults.append(
        notebook.add(code, "integrity", index, "", what="spin", want=want, got="a free spin played", assumption=hung)
    )
    standing.is_over_reported = True
    standing.spins_left = None
    standing.free_unowed += 1


def _take_one_off(standing: Standing, spin: int) -> None:
    if spin and standing.spins_left is not None:
        standing.spins_left = tuple(left - 1 for left in standing.spins_left if left)


def _check_number(notebook: Notebook, index: int, start: SpinStarted, following: SpinRecord | None, standing: Standing, spin: int) -> int:
    """Return the spin's number; a gap that the next events share is a spin that is missing."""
    ahead = start.spin_index - spin
    if ahead == 0:
        return spin
    after = following.start[1].spin_index if following and following.start else None
    left = standing.spins_left
    is_left_ahead = left is not None and start.spins_left in {before - 1 - ahead for before in left}
    if ahead > 0 and (after == start.spin_index + 1 or (after is None and is_left_ahead)):
        notebook.add("spin_missing", "integrity", index, "spin_started", what="spin index", want=spin, got=start.spin_index)
        standing.totals = standing.multipliers = standing.spins_left = None
        standing.is_award_unknown = True
        standing.free_played += ahead
        return start.spin_index
    notebook.add("spin_index", "integrity", index, "spin_started", what="spin index", want=spin, got=start.spin_index)
    return spin


def _check_carried(notebook: Notebook, index: int, start: SpinStarted, standing: Standing, spin: int) -> None:
    options: Options = standing.multipliers
    standing.multipliers, is_right = settled_options(start.total_multiplier, options)
    if not is_right and options is not None:
        want = options[0]
        number = notebook.add(
            "total_multiplier", "open", index, "spin_started", what="total multiplier", want=want, got=start.total_multiplier
        )
        standing.multiplier_faults.append(number)
    if options is None:
        standing.multiplier_right = start.total_multiplier
    if not spin:
        if start.spins_left:
            notebook.add("spins_left", "integrity", index, "spin_started", what="spins left", want=0, got=start.spins_left)
        return
    if standing.spins_left is None:
        standing.spins_left = None if standing.is_over_reported else (start.spins_left,)
        return
    wanted = tuple(left - 1 for left in standing.spins_left if left)
    standing.spins_left, is_right = settled_options(start.spins_left, wanted)
    if not is_right:
        notebook.add("spins_left", "integrity", index, "spin_started", what="spins left", want=wanted[0], got=start.spins_left)


def _check_strip_set(
    tables: ReelTables, notebook: Notebook, index: int, start: SpinStarted, allowed: tuple[int, ...], hung: str | None
) -> tuple[int, ...]:
    if start.strip_set in allowed:
        return (start.strip_set,)
    want = " or ".join(map(tables.set_name, allowed))
    got = tables.set_name(start.strip_set)
    notebook.add("strip_set", "integrity", index, "spin_started", what="strip set", want=want, got=got, assumption=hung)
    if 0 <= start.strip_set < len(tables.strips):
        return (start.strip_set, *allowed)
    return allowed if len(allowed) > 1 else allowed * 2
