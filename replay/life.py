"""A round's life between its opening and its end: interruptions, going on, voids, in the order that they can have.

Pure functions of the round's own events; whether its profile allows what happened is for `replay/profile_rules.py`. Findings here are
about no spin: `spin_index` is -1.
"""

from collections.abc import Sequence

from engines.canonical import RecordedEvent
from engines.game_events import GAME_EVENTS, SpinEnded
from ledger.legs import Standing
from ledger.lifecycle_events import RoundInterrupted, RoundOpened, RoundResumed, RoundSettled, RoundVoided
from replay.verdict import Finding, Severity

__all__ = ["check_amounts", "check_order", "is_completed_by_system", "refund_options"]

_ENDS: tuple[Standing, ...] = ("settled", "voided")


def _finding(code: str, severity: Severity, index: int, where: str, want: object, got: object) -> Finding:
    return Finding(code, severity, index, -1, where, str(want), str(got), f"{where}: want {want}, got {got}")


def is_completed_by_system(events: Sequence[tuple[int, RecordedEvent]]) -> bool:
    """Return whether it was the system that went on with the round last."""
    resumed = [event.resumed_by for _, event in events if isinstance(event, RoundResumed)]
    return bool(resumed) and resumed[-1] == "system"


def check_order(events: Sequence[tuple[int, RecordedEvent]]) -> list[Finding]:
    """Return what happened to the round at a time when it cannot have; events with their index in the stream, in order."""
    findings: list[Finding] = []
    standing: Standing = "open"
    for index, event in events:
        want = _wanted_before(event, standing)
        if want:
            where, got = f"round before {event.kind}", _words(standing)
            findings.append(_finding("life_order", "integrity", index, where, want, got))
        if isinstance(event, RoundInterrupted):
            standing = "interrupted"
        elif isinstance(event, RoundResumed) or (standing == "interrupted" and want):
            standing = "open"  # it went on, said or not
        if isinstance(event, RoundSettled | RoundVoided):
            standing = "settled" if isinstance(event, RoundSettled) else "voided"
    return findings


def _words(standing: Standing) -> str:
    return {"open": "one that goes on", "interrupted": "one that is interrupted"}.get(standing, f"one that is {standing}")


def _wanted_before(event: RecordedEvent, standing: Standing) -> str:
    """Return how the round must stand before an event, empty where it may stand as it does."""
    if isinstance(event, RoundResumed):
        return "" if standing == "interrupted" else "one that is interrupted"
    if isinstance(event, RoundVoided):
        return "" if standing not in _ENDS else "one in play"
    if isinstance(event, RoundInterrupted | RoundSettled) or event.kind in GAME_EVENTS or event.kind == "choice_made":
        is_said = standing == "settled" and not isinstance(event, RoundInterrupted)  # that a settlement is the last event, once
        return "" if standing == "open" or is_said else "one that goes on"
    return ""


def check_amounts(opened: RoundOpened, events: Sequence[tuple[int, RecordedEvent]]) -> list[Finding]:
    """Return what an interruption or a void says otherwise than opening and spins: money held, won, given back, and times."""
    findings: list[Finding] = []
    won = 0
    for index, event in events:
        if isinstance(event, SpinEnded):
            won += event.award_minor
        elif isinstance(event, RoundInterrupted):
            findings += _check_interruption(index, event, opened, won)
        elif isinstance(event, RoundVoided):
            findings += _check_void(index, event, opened, won)
    return findings


def _check_interruption(index: int, event: RoundInterrupted, opened: RoundOpened, won: int) -> list[Finding]:
    found = []
    if event.held_minor != opened.cost_minor:
        where = "money held in round_interrupted"
        found.append(_finding("held", "money", index, where, f"{opened.cost_minor}, the cost", event.held_minor))
    if event.won_minor != won:
        found.append(_finding("won_so_far", "money", index, "won so far in round_interrupted", won, event.won_minor))
    is_timed = opened.opened_at_us <= event.acked_at_us <= event.interrupted_at_us
    if not (0 <= event.acked_index < index and is_timed) and (event.acked_index, event.acked_at_us) != (-1, 0):
        want = f"an event before {index} at a time between opening and interruption, or -1 at 0"
        got = f"{event.acked_index} at {event.acked_at_us}"
        found.append(_finding("acked", "integrity", index, "event acknowledged in round_interrupted", want, got))
    if not opened.opened_at_us <= event.broke_at_us <= event.interrupted_at_us:
        want = f"from {opened.opened_at_us}, when the round was opened, to {event.interrupted_at_us}, when it was recorded"
        found.append(_finding("time_order", "integrity", index, "time of the break in round_interrupted", want, event.broke_at_us))
    return found


def refund_options(event: RoundVoided, opened: RoundOpened) -> tuple[int, ...]:
    """Return what a void may have credited in minor units: as recorded, and by its rule."""
    return tuple(dict.fromkeys((event.refund_minor, _refund(event, opened, event.won_minor)[0])))


def _refund(event: RoundVoided, opened: RoundOpened, won: int) -> tuple[int, int]:
    """Return what the void pays by the rule that it names: to the balance, and back to bonus money."""
    if event.pays == "better_of" and won > opened.cost_minor:
        return won, 0
    return opened.cost_minor - opened.bonus_minor, opened.bonus_minor


def _check_void(index: int, event: RoundVoided, opened: RoundOpened, won: int) -> list[Finding]:
    if event.won_minor != won:
        return [_finding("won_so_far", "money", index, "won so far in round_voided", won, event.won_minor)]
    wanted, found = _refund(event, opened, won), (event.refund_minor, event.refund_bonus_minor)
    if found != wanted:
        where = f"refund of round_voided by {event.pays}"
        want, got = (f"{balance} and {bonus} of bonus money" for balance, bonus in (wanted, found))
        return [_finding("void_amount", "money", index, where, want, got)]
    return []
