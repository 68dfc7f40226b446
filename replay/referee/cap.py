"""The win cap: where it bites, what it leaves, and what is recorded of it."""

from collections.abc import Sequence
from typing import NamedTuple

from engines.game_events import CapHit
from replay.referee.amounts import cap_award
from replay.referee.notebook import Notebook
from replay.referee.standing import Options

__all__ = ["CapOutcome", "check_cap", "past_the_cap"]


class CapOutcome(NamedTuple):
    """Whether the cap was hit (`yes`, `due` where that is missing, `maybe`, `no`), what may have been cut and awarded."""

    hit: str
    cuts: tuple[int, ...]
    awarded: tuple[int, ...]
    is_faulty: bool = False
    fault: int | None = None  # number of the finding


def check_cap(
    notebook: Notebook,
    recorded: tuple[int, CapHit] | None,
    *,
    what: str,
    index: int,
    before: Options,
    amounts: Sequence[int],
    cap_minor: int,
) -> CapOutcome:
    """Check that a win or prize of one of `amounts` is cut where it reaches the cap, and only there.

    `before` are the totals it may come on top of, `index` the event to name where a `cap_hit` is missing.
    """
    if before is None:
        before = () if recorded is None else (recorded[1].total_before_minor,)
    awards = {(total, amount): cap_award(total, amount, cap_minor) for total in before for amount in amounts}
    hits = {pair: award for pair, award in awards.items() if award is not None}
    if recorded is not None:
        return _check_recorded(notebook, recorded, what, awards, hits, cap_minor)
    if not hits:
        return CapOutcome("no", (0,), tuple(amounts))
    cuts = (0, *(amount - award for (_, amount), award in hits.items()))
    awarded = (*amounts, *hits.values())
    if len(hits) < len(awards):
        return CapOutcome("maybe", cuts, awarded)
    (total, amount), award = next(iter(hits.items()))
    want = f"a cap_hit that awards {award} of {amount} on top of {total}"
    number = notebook.add("cap_missing", "open", index, what, what="win cap", want=want, got="no cap_hit", assumption="ALL-1")
    return CapOutcome("due", cuts, awarded, is_faulty=True, fault=number)


def _check_recorded(
    notebook: Notebook,
    recorded: tuple[int, CapHit],
    what: str,
    awards: dict[tuple[int, int], int | None],
    hits: dict[tuple[int, int], int],
    cap_minor: int,
) -> CapOutcome:
    index, event = recorded
    cut_told = event.uncapped_minor - event.awarded_minor
    if not hits:
        amounts = {amount for _, amount in awards}
        want = f"no cap_hit below {cap_minor}"
        number = notebook.add(
            "cap_invented",
            "open",
            index,
            what,
            what="win cap",
            want=want,
            got=f"cap_hit that awards {event.awarded_minor}",
            assumption="ALL-1",
        )
        return CapOutcome("maybe", (0, cut_told), (*amounts, event.awarded_minor), is_faulty=True, fault=number)
    totals = {total for total, _ in hits}
    rooms = {*hits.values(), max(cap_minor - event.total_before_minor, 0)}
    wanted = (("total_before_minor", totals), ("uncapped_minor", {amount for _, amount in hits}), ("awarded_minor", rooms))
    for name, allowed in wanted:
        got = getattr(event, name)
        if got not in allowed:
            number = notebook.add("cap_hit", "money", index, what, what=f"{name} of the win cap", want=min(allowed), got=got)
            break
    else:
        return CapOutcome(
            "yes", (cut_told, *(amount - award for (_, amount), award in hits.items())), (event.awarded_minor, *hits.values())
        )
    cuts = {cut_told, *(amount - room for (_, amount) in hits for room in (*rooms, event.awarded_minor))}
    return CapOutcome("yes", tuple(cuts), (event.awarded_minor, *hits.values()), is_faulty=True, fault=number)


def past_the_cap(recorded: tuple[int, CapHit] | None, wins: tuple[int, ...]) -> CapOutcome:
    """Return the outcome in a spin that should not be played, which is reported: no rule says what its cap is."""
    if recorded is None:
        return CapOutcome("no", (0,), wins)
    cut = recorded[1].uncapped_minor - recorded[1].awarded_minor
    return CapOutcome("maybe", (0, cut), (*wins, recorded[1].awarded_minor), is_faulty=True)
