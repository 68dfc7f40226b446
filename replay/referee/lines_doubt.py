"""Where a round of win lines and Moons is not as the rules want: an event missing, one too many, or a game that went on from it."""

from engines.game_events import CapHit, Drop, FeatureEnded, FeatureTrigger, GameEvent, Prize, SpinEnded, SpinStarted, Win
from replay.referee.belief import fault, raise_to_money
from replay.referee.hold_and_respin import moon_count
from replay.referee.lines_belief import LinesBelief, Owed, wanted_kind, with_value_faults_paid
from replay.referee.lines_drop import bonus_prizes
from replay.referee.lines_pays import after_prize, after_win, amount_of, are_capped, paid_of
from replay.referee.lines_spin import after_spin, with_respins
from replay.referee.lines_tables import LinesRound
from replay.referee.sums import cap_missing, pay_out
from replay.verdict import Severity

__all__ = ["lacking", "needless", "other_ends"]

Placed = tuple[int, GameEvent]


def lacking(play: LinesRound, belief: LinesBelief, index: int, event: GameEvent | None) -> list[LinesBelief]:
    """Return what may be believed where the event that is owed next is missing; `event` stands there instead, or nothing does."""
    kind = wanted_kind(belief)
    where = kind
    if kind == "spin_started":
        return _without_spin(belief, index, event)
    if kind == "win":
        owed, win = belief.owed[0], belief.owed[0].win
        assert win is not None
        want = f"{win.run} of {play.tables.symbol_name(win.symbol)} for {amount_of(play, owed)}"
        missing = fault(belief, "win_missing", "integrity", index, f"line {win.line}", what="win", want=want, got="no win")
        return [after_win(play, missing, amount_of(play, owed)), _unpaid(play, missing)]
    if kind == "prize":
        owed = belief.owed[0]
        if owed.which == "moon_cash" and belief.value_faults and not belief.shown_x100:
            return [with_value_faults_paid(belief)._replace(owed=belief.owed[1:])]  # Moons of no value are told, and pay nothing
        want = f"{amount_of(play, owed)} for {owed.moons} Moons"
        missing = fault(belief, "prize_missing", "integrity", index, owed.which, what=f"prize {owed.which}", want=want, got="no prize")
        return [after_prize(play, missing, amount_of(play, owed)), _unpaid(play, missing)]
    if kind == "feature_trigger":
        return _without_trigger(play, belief, index)
    if kind == "cap_hit":
        return _without_cap(play, belief, index)
    got = event.kind if event is not None else "the end of the round"
    missing = fault(belief, f"{kind}_missing", "integrity", index, where, what="event", want=kind, got=got)
    if kind == "drop":
        return [missing._replace(phase="rest", told="spin", is_over=not belief.spin or (belief.left or 0) <= 0)]
    if kind == "spin_ended":
        award = belief.added - belief.cut
        return [after_spin(missing, award, None if belief.total is None else belief.total + award)]
    return [missing._replace(phase="done")]


def _unpaid(play: LinesRound, belief: LinesBelief) -> LinesBelief:
    """Return a belief in which what is owed next was not paid either, which the last finding says."""
    paid = amount_of(play, belief.owed[0])
    after = belief._replace(owed=belief.owed[1:])
    return raise_to_money(after, len(after.findings) - 1) if paid else after


def _without_spin(belief: LinesBelief, index: int, event: GameEvent | None) -> list[LinesBelief]:
    if event is not None and not isinstance(event, FeatureEnded):
        missing = fault(belief, "spin_started_missing", "integrity", index, "", what="first event", want="spin_started", got=event.kind)
        left = 0 if not belief.spin or belief.left is None else belief.left - 1
        right = belief.left_right - 1 if belief.spin else 0
        return [missing._replace(phase="drop", left=left, left_right=right, won_minor=0, added=0, cut=0)]
    if not belief.spin:
        return [fault(belief, "spins_unplayed", "integrity", index, "", what="round", want="a spin", got="no game event", phase="done")]
    got = "the end of the round" if event is None else event.kind
    left = belief.left_right if belief.left_right > 0 else max(belief.left or 0, 1)  # by the rules, else as the game counts
    want = f"{left} respins more"
    stopped = fault(belief, "spins_unplayed", "money", index, "", what="respins", want=want, got=got)
    return [stopped._replace(phase="feature", end="stopped"), stopped._replace(phase="done", end="stopped")]


def _without_trigger(play: LinesRound, belief: LinesBelief, index: int) -> list[LinesBelief]:
    tables, owed = play.tables, belief.owed[0]
    want = f"{tables.spins} respins again for {owed.moons} Moons" if belief.spin else f"hold_and_respin for {owed.moons} Moons"
    missing = fault(belief, "trigger_missing", "integrity", index, "trigger", what="feature", want=want, got="no feature_trigger")
    number = len(missing.findings) - 1
    missing = missing._replace(owed=belief.owed[1:])
    if belief.spin:
        not_reset = missing._replace(left_right=tables.spins, spin_fault=number, is_over=(belief.left or 0) <= 0)
        if not_reset.is_over:
            prizes = tuple(bonus_prizes(tables, belief.moons, owed.moons, belief.moons_at_trigger))
            if not are_capped(play, belief, prizes):  # else no respin could pay
                not_reset = raise_to_money(not_reset, number)
            not_reset = not_reset._replace(owed=prizes)
        return [with_respins(missing, tables.spins), not_reset]
    missing = missing._replace(moons_at_trigger=owed.moons)
    if owed.moons == tables.cell_count:
        return [missing._replace(in_bonus=True)]
    withheld = raise_to_money(missing, number)
    cash = bonus_prizes(tables, belief.moons, owed.moons, owed.moons)[:1]
    return [with_respins(missing, tables.spins), withheld._replace(owed=tuple(cash)), withheld]


def _without_cap(play: LinesRound, belief: LinesBelief, index: int) -> list[LinesBelief]:
    missing, ignored, cut = cap_missing(belief, index)
    return [missing._replace(cut=cut, owed=(), is_over=True, end="" if play.tables.is_cap_by_spin else "capped"), ignored]


def needless(play: LinesRound, belief: LinesBelief, placed: Placed, before: GameEvent | None, after: GameEvent | None) -> list[LinesBelief]:
    """Return what may be believed where an event stands that nothing calls for: it is passed over, or the game went by it.

    `before` and `after` are its neighbours in the record. A belief that takes the rest of the round as it is told reads
    the event once more.
    """
    index, event = placed
    if event == before and not isinstance(event, Win):
        return [_misplaced(belief, placed, "the event once")]
    is_at_rest = belief.phase == "rest" and not belief.owed and belief.cap_due is None
    if isinstance(event, SpinStarted) and belief.phase in ("feature", "done") and isinstance(after, Drop):
        return [_spin_too_many(belief, index, event), _misplaced(belief, placed, "no spin more")]
    if isinstance(event, (Win, Prize)) and belief.phase == "rest":
        if belief.end == "capped" and is_at_rest:
            return _past_the_cap(belief, index, event)
        return _pay_too_many(play, belief, index, event)
    if isinstance(event, FeatureTrigger) and belief.phase == "rest":
        if belief.end == "capped" and is_at_rest:
            return _past_the_cap(belief, index, event)
        return _trigger_too_many(play, belief, index, event)
    if isinstance(event, CapHit) and belief.phase == "rest" and belief.cap_due is None:
        return _cap_too_many(play, belief, index, event)
    return [_misplaced(belief, placed, wanted_kind(belief) or "the end of the round")]


def _misplaced(belief: LinesBelief, placed: Placed, want: str) -> LinesBelief:
    index, event = placed
    got = f"{event.kind} at index {index}"
    return fault(belief, "event_order", "integrity", index, f"event {event.kind}", what="order", want=want, got=got)


def _spin_too_many(belief: LinesBelief, index: int, event: SpinStarted) -> LinesBelief:
    is_capped = belief.end == "capped"
    code, want = ("after_cap", "no spin after the cap") if is_capped else ("spin_unowed", "no spin more")
    got = f"a {event.part} played"
    found = fault(belief, code, "integrity", index, "", what="spin", want=want, got=got, assumption="ALL-1" if is_capped else None)
    end = "maybe" if is_capped else belief.end
    return found._replace(told="round", phase="start", is_cap_ignored=True, cap_fault=len(found.findings) - 1, end=end)


def _past_the_cap(belief: LinesBelief, index: int, event: GameEvent) -> list[LinesBelief]:
    """Return the beliefs that an event after the cap is passed over, and that the game went on after it: then it is read as told."""
    want = "only spin_ended and feature_ended after the cap"
    found = fault(belief, "after_cap", "integrity", index, "", what="event", want=want, got=event.kind, assumption="ALL-1")
    return [found, found._replace(told="round", is_cap_ignored=True, cap_fault=len(found.findings) - 1, end="maybe")]


def _pay_too_many(play: LinesRound, belief: LinesBelief, index: int, event: Win | Prize) -> list[LinesBelief]:
    is_win = isinstance(event, Win)
    every_rung: list[LinesBelief] = []
    amount = event.win_minor if isinstance(event, Win) else event.prize_minor
    if isinstance(event, Win):
        owed = belief.owed[0].win if belief.owed else None
        is_second = event.line >= 0 and (owed is None or event.line < owed.line)
        want = "no win, or no other one, on this line" if is_second else "no such win on this board"
        got = f"{event.count} of {play.tables.symbol_name(event.symbol)} for {amount}"
        found = fault(belief, "win_invented", "integrity", index, f"line {event.line}", what="win", want=want, got=got)
    else:
        moons = moon_count(belief.moons)
        every_rung = _every_rung(play, belief, index, event)
        found = fault(
            belief, "prize_invented", "integrity", index, event.which, what="prize", want=f"none for {moons} Moons here", got=amount
        )
    paid = raise_to_money(found, len(found.findings) - 1) if amount else found
    if not is_win and belief.spin and not belief.is_over:
        paid = paid._replace(doubts=paid.doubts + 1)  # a prize within the bonus is likelier its end
    return [*every_rung, found, pay_out(play, paid, amount, is_win=is_win)]


def _every_rung(play: LinesRound, belief: LinesBelief, index: int, event: Prize) -> list[LinesBelief]:
    """Return the belief that the ladder is paid rung by rung, where a prize of its first rung stands and one prize at most is owed."""
    tables, owed, moons = play.tables, belief.owed, moon_count(belief.moons)
    rungs = tuple(Owed("prize", "ladder", pay, moons) for pay in tables.rungs_reached(moons))
    is_ladder_next = belief.in_bonus and belief.is_over and all(each.which == "ladder" for each in owed)
    if not is_ladder_next or len(owed) > 1 or len(rungs) < 2:
        return []
    amount = amount_of(play, rungs[0])
    if (event.which, event.pay_x100, event.multiplier, event.prize_minor) != ("ladder", rungs[0].pay_x100, 1, amount):
        return []
    severity: Severity = "integrity" if paid_of(play, belief, owed) == paid_of(play, belief, rungs) else "money"
    want = f"one prize, {amount_of(play, owed[0])} for {moons} Moons" if owed else f"none for {moons} Moons here"
    got = f"{amount}, and every rung reached after it"
    found = fault(belief, "prize_invented", severity, index, event.which, what="prize", want=want, got=got, assumption="MSP-3")
    return [after_prize(play, found._replace(owed=rungs), amount)]


def _trigger_too_many(play: LinesRound, belief: LinesBelief, index: int, event: FeatureTrigger) -> list[LinesBelief]:
    moons = moon_count(belief.moons)
    want = f"none for {moons} Moons" if not belief.spin else "the end of the bonus" if belief.is_over else "none without a new Moon"
    got = f"{event.spins_awarded} respins for {event.count} Moons"
    found = fault(belief, "trigger_invented", "integrity", index, "trigger", what="respins", want=want, got=got)
    number = len(found.findings) - 1
    followed = with_respins(found, event.spins_left, belief.left_right)._replace(spin_fault=number)
    if belief.spin:
        followed = followed._replace(doubts=belief.doubts + 2 * (event.count != moons))
        if belief.is_over:
            return [found, followed._replace(owed=(), goes_on=moons == play.tables.cell_count)]
        return [found, followed]
    if belief.in_bonus:
        return [found]
    followed = followed._replace(unseen=max(event.count - moons, 0), moons_at_trigger=event.count)
    without_cash = tuple(owed for owed in belief.owed if owed.kind != "prize")
    paid_twice = raise_to_money(followed, number) if moons else followed
    return [found, paid_twice] if without_cash == belief.owed else [found, followed._replace(owed=without_cash), paid_twice]


def _cap_too_many(play: LinesRound, belief: LinesBelief, index: int, event: CapHit) -> list[LinesBelief]:
    want, got = f"no cap_hit below {play.cap_minor}", f"cap_hit that awards {event.awarded_minor}"
    found = fault(belief, "cap_invented", "integrity", index, "win cap", what="win cap", want=want, got=got, assumption="ALL-1")
    cut = event.uncapped_minor - event.awarded_minor
    is_short = cut != 0 or bool(belief.owed) or not belief.is_over
    stopped = raise_to_money(found, len(found.findings) - 1) if is_short else found
    return [found, stopped._replace(cut=cut, owed=(), is_over=True, end="maybe")]


def _bonus_early(play: LinesRound, belief: LinesBelief, index: int) -> list[LinesBelief]:
    """Return the belief that the bonus ends with respins left; where only a reset would leave any, it is the reset that is missing.

    Where the rules leave none the bonus ends as it should, whatever a wrong counter says.
    """
    is_reset = bool(belief.owed) and belief.owed[0].kind == "feature_trigger"
    if (belief.left or 0) <= 0 if is_reset else belief.left_right <= 0:
        return []
    prizes = tuple(bonus_prizes(play.tables, belief.moons, moon_count(belief.moons), belief.moons_at_trigger))
    severity: Severity = "integrity" if are_capped(play, belief, prizes) else "money"
    want = f"{play.tables.spins if is_reset else belief.left_right} respins more"
    early = fault(belief, "bonus_early", severity, index, "", what="end of the bonus", want=want, got="its prizes")
    return [early._replace(owed=prizes, is_over=True)]


def other_ends(play: LinesRound, belief: LinesBelief, placed: Placed, start_index: int | None) -> list[LinesBelief]:
    """Return the belief that a bonus ends at an event before it should, or is played on with the spin that starts at `start_index`.

    The event is read again. None where no spin starts.
    """
    index, event = placed
    if belief.phase != "rest" or not belief.spin or not belief.in_bonus:
        return []
    if isinstance(event, Prize) and event.which == "moon_cash" and not belief.is_over:
        return _bonus_early(play, belief, index)
    if start_index is not None and isinstance(event, SpinEnded) and belief.is_over and belief.owed and not belief.goes_on:
        want, got = "the end of the bonus with its prizes", "one more respin"
        found = fault(belief, "bonus_goes_on", "integrity", start_index, "", what="respins", want=want, got=got)
        return [found._replace(owed=(), is_over=False, goes_on=True, left=None, spin_fault=len(found.findings) - 1)]
    return []
