"""Where a round of runs lacks an event that is owed: it was lost from the record, or what it tells never happened."""

from engines.game_events import FeatureEnded, GameEvent, Win
from replay.referee.belief import fault, raise_to_money
from replay.referee.runs_belief import RunsBelief, wanted_kind
from replay.referee.runs_pays import after_prize, after_win, amount_of, is_rise_in_doubt, past_cap, risen_to_least, seed_tells, settled
from replay.referee.runs_power import acted, may_have_led_to, princess_due
from replay.referee.runs_spin import after_feature, after_spin, choice_offers, spin_begun
from replay.referee.runs_step import at_rest, looked_at, spin_end
from replay.referee.runs_tables import RunsRound
from replay.referee.sums import cap_missing
from replay.verdict import Severity

__all__ = ["lacking", "without_power"]


def lacking(play: RunsRound, belief: RunsBelief, index: int, event: GameEvent | None) -> list[RunsBelief]:
    """Return what may be believed where the event that is owed next is missing; `event` stands there instead, or nothing does."""
    kind = wanted_kind(belief)
    if belief.phase == "spin":
        owed = belief.owed
        while owed and owed[0].is_optional:
            owed = owed[1:]
        belief = belief._replace(owed=owed)
    match kind:
        case "":
            return []
        case "spin_started":
            return _without_spin(play, belief, index, event)
        case "win" if belief.owed and belief.owed[0].run:
            return _without_win(play, belief, index)
        case "multiplier_change":
            return _without_change(play, belief, index)
        case "prize":
            return _without_prize(play, belief, index)
        case "power":
            return without_power(play, belief, index, event)
        case "feature_trigger":
            return _without_trigger(play, belief, index)
        case "cap_hit":
            return _without_cap(play, belief, index)
    got = event.kind if event is not None else "the end of the round"
    missing = fault(belief, f"{kind}_missing", "integrity", index, kind, what="event", want=kind, got=got)
    match kind:
        case "drop" if belief.phase == "drop":
            return [looked_at(play, missing._replace(phase="spin", drop_index=0))]
        case "drop" if belief.owed:
            after = missing._replace(board=belief.owed[0].board, marks=belief.owed[0].marks, drop_index=belief.drop_index + 1)
            return [looked_at(play, after)]
        case "tumble":
            return _without_tumble(play, belief, missing)
        case "spin_ended":
            award = belief.added - belief.cut
            meter = 0 if belief.meter >= play.tables.sections else belief.meter
            total = None if belief.total is None else belief.total + award
            return [after_spin(play, missing._replace(meter=meter), award, total)]
        case "feature_ended":
            return [after_feature(missing)]
        case "choice_offered":
            return choice_offers(play, missing, index, None)
    return []


def _without_spin(play: RunsRound, belief: RunsBelief, index: int, event: GameEvent | None) -> list[RunsBelief]:
    if event is not None and not isinstance(event, FeatureEnded):
        missing = fault(belief, "spin_started_missing", "integrity", index, "", what="event", want="spin_started", got=event.kind)
        return spin_begun(play, missing, index)
    if not belief.spin:
        return [fault(belief, "spins_unplayed", "integrity", index, "", what="round", want="a spin", got="no game event", phase="done")]
    spins = f"{max(belief.left, 1)} free spins" if belief.part == "free" else "a Resonance"
    got = "the end of the round" if event is None else event.kind
    stopped = fault(belief, "spins_unplayed", "money", index, "", what="spins", want=f"{spins} more", got=got)._replace(end="stopped")
    return [stopped._replace(phase="feature", triggered=""), stopped._replace(phase="done")]


def _without_win(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    owed = belief.owed[0]
    assert owed.run is not None
    run, amount = owed.run, amount_of(play, belief, owed)
    want = f"{run.length} of {play.tables.symbol_name(run.symbol)} for {amount}"
    missing = fault(belief, "win_missing", "integrity", index, f"line {run.line}", what="win", want=want, got="no win")
    unpaid = raise_to_money(missing, len(belief.findings)) if amount else missing
    return [after_win(play, missing, amount, run), after_win(play, unpaid, 0, None), after_win(play, unpaid, 0, run)]


def _without_change(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    to = belief.owed[0].to or risen_to_least(play, belief)
    rest = belief._replace(owed=belief.owed[1:], is_settled=False)
    is_seeds = is_rise_in_doubt(play, belief, 0, has_constellation=None)
    want = f"{belief.multiplier} to {to}"
    if is_seeds:
        want = seed_tells(want, "other highlighted cells")
    what = "rise of the multiplier"
    missing = fault(rest, "multiplier_missing", "integrity", index, "multiplier", what=what, want=want, got="none", assumption="MPS-5")
    rise = to - belief.multiplier
    lost = missing._replace(multiplier=to, multiplier_right=max(to, belief.multiplier_right), risen=belief.risen + rise)
    if is_seeds:
        return [lost, missing]
    return [lost, missing._replace(multiplier_right=to, multiplier_fault=len(belief.findings))]


def _without_prize(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    owed = belief.owed[0]
    amount = amount_of(play, belief, owed)
    is_seeds = owed.which == "constellation" and is_rise_in_doubt(play, belief, 0, has_constellation=False)
    want = seed_tells(amount, "other highlighted cells") if is_seeds else amount
    what, hung = f"prize {owed.which}", "MPS-5" if owed.which == "constellation" else "MPS-8"
    missing = fault(belief, "prize_missing", "integrity", index, owed.which, what=what, want=want, got="no prize", assumption=hung)
    unpaid = missing if is_seeds else raise_to_money(missing, len(belief.findings))
    return [after_prize(play, missing, amount), unpaid._replace(owed=belief.owed[1:], is_settled=False)]


def without_power(play: RunsRound, belief: RunsBelief, index: int, event: GameEvent | None) -> list[RunsBelief]:
    """Return the beliefs that a power is missing: lost, so that nobody knows the board, or not played, or none that is left is."""
    princess = princess_due(belief)
    want = f"a power of {play.tables.princess_name(princess)}"
    hung = {"base": "MPS-9", "resonance": "MPS-11", "free": "MPS-12"}[belief.part]
    missing = fault(belief, "power_missing", "integrity", index, "power", what="power", want=want, got="none", assumption=hung)
    after = acted(play, missing, princess)
    is_lost = not isinstance(event, Win) or may_have_led_to(play, belief, princess, event)
    found = [looked_at(play, after._replace(board=None))] if is_lost else []
    if belief.board is not None and belief.part != "base":
        found.append(at_rest(play, after))
        if len(belief.powers) > 1:
            found.append(at_rest(play, after._replace(powers=())))
    return found


def _without_trigger(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    owed = belief.owed[0]
    is_free = belief.part == "free"
    want = f"{owed.spins} free spins more" if is_free else owed.which
    missing = fault(belief, "trigger_missing", "integrity", index, "trigger", what="feature", want=want, got="no feature_trigger")
    missing = missing._replace(owed=belief.owed[1:])
    won = missing._replace(triggered=owed.which)
    if is_free:
        given, right = belief.given + owed.spins, belief.left_right + owed.spins
        won = won._replace(left=owed.left, left_right=right, given=given)
        return [won, raise_to_money(missing, len(belief.findings))]
    withheld = raise_to_money(missing, len(belief.findings))
    return [won, withheld]


def _without_tumble(play: RunsRound, belief: RunsBelief, missing: RunsBelief) -> list[RunsBelief]:
    lost = missing._replace(owed=belief.owed[1:], is_settled=False)
    if belief.taken or belief.board is None:
        return [lost]
    severity: Severity = "integrity" if belief.part == "resonance" and not play.tables.prizes_x100["clear_grid"] else "money"
    index = missing.findings[-1].event_index
    want, got = "all wilds leave, the grid is clear", "wilds that stay"
    kept = fault(belief, "clear_missing", severity, index, "", what="clear grid", want=want, got=got, assumption="MPS-8")
    return [lost, kept._replace(owed=spin_end(play, belief, is_clear=False), powers=(), may_act=False)]


def _without_cap(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    missing, ignored, cut = cap_missing(belief, index)
    return [past_cap(play, missing._replace(cut=cut)), settled(play, ignored)]
