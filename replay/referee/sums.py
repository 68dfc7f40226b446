"""What a spin adds up to, and what the win cap leaves of it; in minor units."""

from typing import Any, TypeVar, cast

from engines.game_events import CapHit, SpinEnded
from replay.referee.amounts import cap_award
from replay.referee.belief import RoundBelief, fault, raise_to_money
from replay.referee.game_tables import BetRound
from replay.referee.notebook import distinct_values

__all__ = ["cap_missing", "cap_taken", "pay_out", "spin_sums"]

B = TypeVar("B", bound=RoundBelief)


def pay_out(play: BetRound[Any], belief: B, amount: int, *, is_win: bool) -> B:
    """Return a belief after a win or prize of `amount`: the cap is due where it reaches or passes it."""
    if amount <= 0:
        return belief
    due = None
    if play.tables.is_capped and not belief.is_cap_ignored and belief.total is not None:
        before = belief.added + (0 if play.tables.is_cap_by_spin else belief.total)
        left = cap_award(before, amount, play.cap_minor)
        due = None if left is None else (before, amount, left)
    if belief.cap_fault >= 0:
        belief = raise_to_money(belief, belief.cap_fault)
    changes = {"added": belief.added + amount, "won_minor": belief.won_minor + (amount if is_win else 0), "cap_due": due}
    return cast(B, cast(Any, belief)._replace(**changes))


def cap_taken(play: BetRound[Any], belief: B, index: int, got: CapHit, due: tuple[int, int, int]) -> tuple[B, tuple[int, ...]]:
    """Return a belief after a `cap_hit` that is due, and what may have been cut."""
    before, amount, left = due
    cut = got.uncapped_minor - got.awarded_minor
    rooms = (left, max(play.cap_minor - got.total_before_minor, 0))
    wanted = (("total_before_minor", (before,)), ("uncapped_minor", (amount,)), ("awarded_minor", rooms))
    for name, allowed in wanted:
        value = getattr(got, name)
        if value not in allowed:
            belief = fault(belief, "cap_hit", "money", index, "win cap", what=f"{name} of the win cap", want=allowed[0], got=value)
            return belief, distinct_values((amount - left, cut, amount - got.awarded_minor, *(amount - room for room in rooms)))
    return belief, (amount - left,)


def cap_missing(belief: B, index: int) -> tuple[B, B, int]:
    """Return the beliefs that a `cap_hit` that is due was lost, and that the game ignored the cap; with what is cut."""
    assert belief.cap_due is not None
    before, amount, left = belief.cap_due
    want = f"a cap_hit that awards {left} of {amount} on top of {before}"
    missing: Any = fault(
        belief, "cap_missing", "integrity", index, "win cap", what="win cap", want=want, got="no cap_hit", assumption="ALL-1"
    )
    number = len(missing.findings) - 1
    missing = missing._replace(cap_due=None)
    ignored = missing._replace(is_cap_ignored=True, cap_fault=number, end="maybe")
    return missing, raise_to_money(ignored, number) if amount > left else ignored, amount - left


def spin_sums(belief: B, index: int, got: SpinEnded) -> list[tuple[B, int, int]]:
    """Return what may be believed after the sums of `spin_ended`, with the award and the total that the round goes on from.

    Each follows from the recorded or the right amounts before it. `spin_multiplier` is 1 by the rules.
    """
    after = belief
    where = "spin_ended"
    if got.spin_multiplier != 1:
        what = "multiplier of the spin's win"
        after = fault(after, "spin_multiplier", "integrity", index, where, what=what, want=1, got=got.spin_multiplier)
    if got.cut_minor != belief.cut:
        after = fault(after, "cut", "money", index, where, what="cut in minor units", want=belief.cut, got=got.cut_minor)
    right = belief.added - belief.cut
    multiplied = right + belief.won_minor * (got.spin_multiplier - 1)
    awards = distinct_values((right, belief.added - got.cut_minor, multiplied))
    if got.award_minor not in awards:
        after = fault(after, "award", "money", index, where, what="award in minor units", want=right, got=got.award_minor)
        awards = distinct_values((*awards, got.award_minor))
    elif got.award_minor == multiplied != right:
        after = raise_to_money(after, len(belief.findings))
    if belief.total is None:
        return [(after, got.award_minor, got.total_minor)]
    fitting = [award for award in (got.award_minor, *awards) if belief.total + award == got.total_minor]
    if fitting:
        return [(after, fitting[0], got.total_minor)]
    want = belief.total + got.award_minor
    after = fault(after, "total", "money", index, where, what="total of the round in minor units", want=want, got=got.total_minor)
    return [(after, got.award_minor, total) for total in (got.total_minor, want)]
