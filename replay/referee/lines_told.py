"""Spins of win lines and Moons whose events are taken as they are, since no rule says what should stand there; amounts still add up."""

from engines.game_events import CapHit, Drop, FeatureEnded, FeatureTrigger, GameEvent, Prize, SpinEnded, SpinStarted, Win
from replay.referee.amounts import win_amount
from replay.referee.belief import fault
from replay.referee.hold_and_respin import moon_count
from replay.referee.lines_belief import LinesBelief
from replay.referee.lines_doubt import lacking
from replay.referee.lines_spin import feature_ends, spin_ends, with_respins
from replay.referee.lines_tables import LinesRound
from replay.referee.sums import pay_out

__all__ = ["told_steps"]

Steps = list[tuple[int, LinesBelief]]


def told_steps(play: LinesRound, belief: LinesBelief, read: int, index: int, event: GameEvent | None) -> Steps:
    """Return what may be believed after an event that is taken as it is, with the number of events then read."""
    is_open = belief.phase == "rest"
    match event:
        case Drop() if is_open:
            return [(read + 1, belief)]
        case Win() | Prize() if is_open:
            return [(read + 1, _told_pay(play, belief, index, event))]
        case CapHit() if is_open:
            return [(read + 1, belief._replace(cut=belief.cut + event.uncapped_minor - event.awarded_minor, end="maybe"))]
        case FeatureTrigger() if is_open:
            return [(read + 1, _told_trigger(belief, event))]
        case SpinEnded() if is_open:
            ended = spin_ends(play, belief, index, event)
            return [(read + 1, each._replace(phase="start") if each.told else each) for each in ended]
        case SpinStarted() if not is_open:
            return [(read + 1, belief._replace(phase="rest", won_minor=0, added=0, cut=0))]
        case FeatureEnded() if not is_open:
            played = feature_ends(play, belief._replace(end="stopped"), index, event)
            return [(read + 1, each._replace(phase="start", end=belief.end)) for each in played]
    if is_open:
        closed = lacking(play, belief._replace(owed=(), cap_due=None), index, event)
        return [(read, each._replace(phase="start") if each.told else each) for each in closed]
    return [] if event is None else [(read + 1, belief)]


def _told_pay(play: LinesRound, belief: LinesBelief, index: int, event: Win | Prize) -> LinesBelief:
    is_win = isinstance(event, Win)
    factor, amount = (event.multiplier * event.ways, event.win_minor) if isinstance(event, Win) else (event.multiplier, event.prize_minor)
    want = win_amount(event.pay_x100, factor, play.bet_minor)
    if amount != want:
        code, what = ("win_amount", "win in minor units") if is_win else ("prize_amount", "prize in minor units")
        belief = fault(belief, code, "money", index, event.kind, what=what, want=want, got=amount)
    if isinstance(event, Prize) and belief.in_bonus and belief.told == "spin":
        belief = belief._replace(is_over=True)
    return pay_out(play, belief, amount, is_win=is_win)._replace(cap_due=None)


def _told_trigger(belief: LinesBelief, event: FeatureTrigger) -> LinesBelief:
    if belief.told == "round":
        return belief
    unseen = max(event.count - moon_count(belief.moons), 0)
    after = with_respins(belief, event.spins_left)._replace(unseen=unseen, is_over=event.spins_left == 0)
    return after if belief.spin else after._replace(moons_at_trigger=event.count)
