"""Legal hold: a disputed round outlives its retention, and its account is not forgotten, until the dispute is closed.

Whether a round is held is for the jurisdiction profile to say that the round itself names, whatever was set since.
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Iterable

from ledger.disputes import Dispute
from ledger.errors import LedgerError
from ledger.named_profiles import NamedProfiles
from ledger.profile import Profile

__all__ = ["AccountOnHold", "holds", "rounds_on_hold"]


class AccountOnHold(LedgerError):
    """An account has a round on hold and is not forgotten."""

    exit_status = 2

    def __init__(self, account_ref: str, round_id: str, dispute_id: str, round_count: int) -> None:
        super().__init__(account_ref, round_id, dispute_id, round_count)
        self.account_ref, self.round_id, self.dispute_id, self.round_count = account_ref, round_id, dispute_id, round_count

    def __str__(self) -> str:
        others = f" and {self.round_count - 1} more" if self.round_count > 1 else ""
        held = f"round {self.round_id} held by dispute {self.dispute_id}{others}"
        mend = f"answer it and `audit dispute close {self.dispute_id}` first"
        return f"rounds on legal hold of account {self.account_ref}: want none, got {held}; {mend}"


def holds(profile: Profile | None) -> bool:
    """Return whether a profile holds disputed rounds; one that nobody knows the values of does, to be safe."""
    return profile is None or profile.legal_hold.holds_disputed_rounds


def rounds_on_hold(found: Iterable[Dispute], profiles: NamedProfiles) -> dict[str, str]:
    """Return the rounds on hold, each with the id of the first open dispute that holds it; raises as `NamedProfiles.named`."""
    on_hold: dict[str, str] = {}
    for dispute in found:
        if dispute.closed is None:
            round_ids = dispute.opened.round_ids
            held = (round_id for round_id, profile in zip(round_ids, profiles.of_rounds(round_ids), strict=True) if holds(profile))
            on_hold = {**dict.fromkeys(held, dispute.dispute_id), **on_hold}
    return on_hold
