"""Where an event of a round of runs stands that nothing calls for: it is passed over, or the game went on by it."""

from engines.game_events import CapHit, Drop, FeatureTrigger, GameEvent, MultiplierChange, Power, Prize, SpinStarted, Win
from replay.referee.belief import fault, raise_to_money
from replay.referee.runs import POWER_WILD, Run, board_with_wilds
from replay.referee.runs_belief import Owed, RunsBelief, paid, wanted_kind
from replay.referee.runs_pays import after_win, is_rise_in_doubt, past_cap, seed_tells
from replay.referee.runs_power import acted
from replay.referee.runs_step import looked_at, optional_tail, without_wins, worth_of
from replay.referee.runs_tables import RunsRound

__all__ = ["needless", "with_highlights_hidden"]

Placed = tuple[int, GameEvent]


def needless(play: RunsRound, belief: RunsBelief, placed: Placed, before: GameEvent | None, after: GameEvent | None) -> list[RunsBelief]:
    """Return what may be believed where an event stands that nothing calls for; `before` and `after` are its neighbours."""
    index, event = placed
    passed = _misplaced(belief, placed, "the event once" if event == before else wanted_kind(belief) or "the end of the round")
    in_spin = belief.phase == "spin" and not belief.cap_due
    match event:
        case Win() if in_spin:
            return _win_too_many(play, belief, index, event)
        case _ if event == before:
            return [passed]
        case SpinStarted() if belief.phase in ("feature", "choice", "done") and isinstance(after, Drop):
            return [_spin_too_many(belief, index, event), passed]
        case Prize() if in_spin:
            return _prize_too_many(play, belief, index, event)
        case MultiplierChange() if in_spin:
            return _change_too_many(play, belief, index, event)
        case Power() if in_spin:
            return _power_too_many(play, belief, index, event)
        case FeatureTrigger() if in_spin:
            return _trigger_too_many(play, belief, index, event)
        case CapHit() if in_spin:
            return _cap_too_many(play, belief, index, event)
        case Power() if belief.part == "base" and event.princess in play.tables.choices:
            return [passed, passed._replace(active=play.tables.princess_after[event.princess])]
    return [passed]


def _misplaced(belief: RunsBelief, placed: Placed, want: str) -> RunsBelief:
    index, event = placed
    got = f"{event.kind} at index {index}"
    return fault(belief, "event_order", "integrity", index, f"event {event.kind}", what="order", want=want, got=got)


def _spin_too_many(belief: RunsBelief, index: int, event: SpinStarted) -> RunsBelief:
    is_capped = belief.end == "capped"
    code, want = ("after_cap", "no spin after the cap") if is_capped else ("spin_unowed", "no spin more")
    hung = "ALL-1" if is_capped else None
    found = fault(belief, code, "integrity", index, "", what="spin", want=want, got=f"one of part {event.part}", assumption=hung)
    number = len(found.findings) - 1
    part = "free" if event.part == "free" else "resonance"
    return found._replace(
        phase="start",
        part=part,
        played=belief.played if part == belief.part else 0,
        feature=belief.feature if part == belief.part else 0,
        left=event.spins_left + 1,
        left_right=0,
        multiplier=event.multiplier,
        multiplier_right=event.multiplier,
        meter=event.meter,
        is_unowed=True,
        spin_fault=number,
        is_cap_ignored=is_capped,
        cap_fault=number if is_capped else -1,
        end="maybe" if is_capped else belief.end,
    )


def _win_too_many(play: RunsRound, belief: RunsBelief, index: int, event: Win) -> list[RunsBelief]:
    want = "no such win on this board"
    got = f"{event.count} of {play.tables.symbol_name(event.symbol)} for {event.win_minor}"
    found = fault(belief, "win_invented", "integrity", index, f"line {event.line}", what="win", want=want, got=got, assumption="MPS-3")
    if belief.end == "capped":
        return [_after_cap(belief, index, event)]
    if belief.powers or belief.may_act:
        found = found._replace(doubts=belief.doubts + 1)  # a power that is missing is likelier
    is_more_owed = bool(belief.owed) and belief.owed[0].kind == "win"
    base = found if is_more_owed else without_wins(found)
    if not is_more_owed and not belief.taken:
        base = base._replace(before=(belief.won, belief.meter), won=belief.won, meter=belief.meter)
    elif not is_more_owed and not belief.is_settled:
        return [found]
    base = base._replace(owed=(Owed("win"), *base.owed))
    run = Run(event.symbol, event.line, event.count, event.cells, event.pay_x100)
    as_paid = raise_to_money(base, len(belief.findings)) if event.win_minor else base
    return [found, after_win(play, as_paid, event.win_minor, run), after_win(play, as_paid, event.win_minor, None)]


def _after_cap(belief: RunsBelief, index: int, event: GameEvent) -> RunsBelief:
    want = "only spin_ended and feature_ended after the cap"
    return fault(belief, "after_cap", "integrity", index, "", what="event", want=want, got=event.kind, assumption="ALL-1")


def _prize_too_many(play: RunsRound, belief: RunsBelief, index: int, event: Prize) -> list[RunsBelief]:
    if belief.end == "capped":
        return [_after_cap(belief, index, event)]
    is_stars = event.which == "constellation"
    is_seeds = is_stars and _is_constellation_in_doubt(play, belief)
    want = seed_tells("none here", "other highlighted cells") if is_seeds else "none here"
    hung = "MPS-5" if is_stars else "MPS-11" if belief.part == "resonance" else "MPS-8"
    found = fault(
        belief,
        "prize_invented",
        "integrity",
        index,
        event.which,
        what=f"prize {event.which}",
        want=want,
        got=event.prize_minor,
        assumption=hung,
    )
    as_paid = found if is_seeds or not event.prize_minor else raise_to_money(found, len(belief.findings))
    as_paid = as_paid._replace(is_constellation_paid=belief.is_constellation_paid or is_stars)
    return [found, paid(play, as_paid, event.prize_minor, is_win=False)]


def _is_constellation_in_doubt(play: RunsRound, belief: RunsBelief) -> bool:
    """Return whether the last highlighted cell may have been won on in this step, if other cells than the recorded were highlighted."""
    is_step = bool(belief.taken) and bool(belief.owed) and belief.owed[0].kind == "tumble" and not belief.is_constellation_paid
    return is_step and belief.fresh > 0 and belief.risen in play.tables.highlight_counts and belief.risen > 0


def _change_too_many(play: RunsRound, belief: RunsBelief, index: int, event: MultiplierChange) -> list[RunsBelief]:
    rise = event.to_multiplier - belief.multiplier
    is_step = bool(belief.taken) and bool(belief.owed) and belief.owed[0].kind in ("tumble", "prize")
    is_seeds = is_step and event.to_multiplier <= play.tables.ceiling and is_rise_in_doubt(play, belief, rise, has_constellation=None)
    want = seed_tells("none here", "other highlighted cells") if is_seeds else "none here"
    got = f"{event.from_multiplier} to {event.to_multiplier}"
    what = "rise of the multiplier"
    found = fault(belief, "multiplier_invented", "integrity", index, "multiplier", what=what, want=want, got=got, assumption="MPS-5")
    followed = found._replace(multiplier=event.to_multiplier, risen=belief.risen + max(rise, 0), is_settled=False)
    if not is_seeds:
        followed = followed._replace(multiplier_fault=len(belief.findings))
    else:
        followed = followed._replace(multiplier_right=event.to_multiplier)
    return [found, followed]


def _power_too_many(play: RunsRound, belief: RunsBelief, index: int, event: Power) -> list[RunsBelief]:
    tables = play.tables
    if belief.end == "capped":
        return [_after_cap(belief, index, event)]
    hung = {"base": "MPS-9", "resonance": "MPS-11", "free": "MPS-12"}[belief.part]
    wins = bool(belief.owed) and belief.owed[0].kind == "win"
    want = "no power on a board that wins" if wins else "no power here"
    got = f"one of {tables.princess_name(event.princess)}"
    found = fault(belief, "power_invented", "integrity", index, "power", what="power", want=want, got=got, assumption=hung)
    if belief.board is None or event.princess not in tables.choices:
        return [found]
    board = board_with_wilds(belief.board, [cell for cell in event.turned_cells if cell < tables.cell_count], tables.wild)
    marks = belief.marks
    if tables.kinds[event.princess] == "power_wilds":
        marks = board_with_wilds(marks, [cell for cell in event.turned_cells if cell < tables.cell_count], POWER_WILD)
    followed = found._replace(board=board, marks=marks, won=belief.before[0], meter=belief.before[1])
    if worth_of(play, belief.board, belief.marks) != worth_of(play, board, marks):
        followed = raise_to_money(followed, len(belief.findings))
    used = acted(play, followed, event.princess)
    return [found, looked_at(play, used), looked_at(play, followed)]


def _trigger_too_many(play: RunsRound, belief: RunsBelief, index: int, event: FeatureTrigger) -> list[RunsBelief]:
    if belief.end == "capped":
        return [_after_cap(belief, index, event)]
    sections = play.tables.sections
    hung = "MPS-10" if belief.part == "base" else "MPS-11" if belief.part == "resonance" else "MPS-10"
    want = f"none with {belief.meter} of {sections} sections"
    got = f"{event.spins_awarded} spins of {event.feature}"
    found = fault(belief, "trigger_invented", "integrity", index, "trigger", what="feature", want=want, got=got, assumption=hung)
    number = len(belief.findings)
    if belief.part == "free":
        more = found._replace(left=event.spins_left, given=belief.given + event.spins_awarded, spin_fault=number, meter=sections)
        return [found, more, more._replace(meter=belief.meter)]
    followed = found._replace(triggered=event.feature, is_unowed=True, spin_fault=number)
    return [found, followed, followed._replace(meter=sections)]


def _cap_too_many(play: RunsRound, belief: RunsBelief, index: int, event: CapHit) -> list[RunsBelief]:
    want, got = f"no cap_hit below {play.cap_minor}", f"cap_hit that awards {event.awarded_minor}"
    found = fault(belief, "cap_invented", "integrity", index, "win cap", what="win cap", want=want, got=got, assumption="ALL-1")
    cut = event.uncapped_minor - event.awarded_minor
    is_short = cut != 0 or len(belief.owed) > 1
    stopped = raise_to_money(found, len(belief.findings)) if is_short else found
    stopped = past_cap(play, stopped._replace(cut=cut))
    return [found, stopped._replace(end="maybe" if stopped.end else "")]


def with_highlights_hidden(play: RunsRound, belief: RunsBelief, event: GameEvent | None) -> list[RunsBelief]:
    """Return the belief that other cells are highlighted than the spin's start tells, where a step's rise or constellation differs."""
    tails = ("multiplier_change", "prize", "tumble")
    is_step = belief.phase == "spin" and bool(belief.taken) and bool(belief.owed) and belief.owed[0].kind in tails and not belief.cap_due
    if not is_step or belief.is_hidden or event is None or event.kind not in tails:
        return []
    cells = [cell for cell in range(play.tables.cell_count) if belief.highlights >> cell & 1]
    want, hung = "cells that explain the rises of the multiplier and the constellation", "MPS-5"
    what = "highlighted cells"
    found = fault(
        belief, "highlighted_cells", "integrity", belief.start_index, "spin_started", what=what, want=want, got=cells, assumption=hung
    )
    rest = belief.owed
    while rest[0].kind != "tumble":
        rest = rest[1:]
    return [found._replace(is_hidden=True, owed=(*optional_tail(play), *rest), doubts=belief.doubts + 1)]
