"""What a verdict notes of a round's interruptions and void: the facts that a complaint about a lost connection asks for, a line each."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from ledger.lifecycle_events import RoundInterrupted, RoundResumed, RoundVoided
from ledger.money import amount_text
from replay.profile_rules import RecordedLife

__all__ = ["life_notes"]

_START = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(time_us: int) -> str:
    return (_START + timedelta(microseconds=time_us)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def life_notes(life: RecordedLife) -> list[str]:
    """Return a line for each interruption, resumption and void of a round, in their order."""
    notes: Sequence[str | None] = [_note(index, event, life.opened.currency) for index, event in life.events]
    return [note for note in notes if note]


def _note(index: int, event: object, currency: str) -> str | None:
    if isinstance(event, RoundInterrupted):
        cause = event.cause.replace("_", " ")
        acked = f"event {event.acked_index} at {_moment(event.acked_at_us)}" if event.acked_index >= 0 else "none"
        amounts = ((event.held_minor, "held"), (event.won_minor, "won so far"))
        money = ", ".join(f"{amount_text(minor, currency)} {currency} {word}" for minor, word in amounts)
        return (
            f"interrupted: {cause}, cut off at {_moment(event.broke_at_us)}, recorded at {_moment(event.interrupted_at_us)} behind event "
            f"{index - 1}; last event acknowledged: {acked}; {money}"
        )
    if isinstance(event, RoundResumed):
        return f"resumed at {_moment(event.resumed_at_us)} by the {event.resumed_by}, behind event {index - 1}"
    if isinstance(event, RoundVoided):
        reason, rule = event.reason.replace("_", " "), event.pays.replace("_", " ")
        back = f"{amount_text(event.refund_minor, currency)} {currency}"
        if event.refund_bonus_minor:
            back += f" and {amount_text(event.refund_bonus_minor, currency)} of bonus money"
        why = f", incident {event.incident_id[:16]}…" if event.incident_id else ""
        return f"void at {_moment(event.voided_at_us)}: {reason}{why}; pays {back} by the rule {rule}"
    return None
