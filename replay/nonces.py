"""Are the nonces of an epoch dealt once each, in the order in which its rounds were opened (`rng/1`, item 2)?

A nonce is right where it follows from the one recorded before it or from the number of rounds before it: so one wrong
nonce is one finding, and those behind it are not accused.
"""

from collections.abc import Collection, Iterator, Sequence

from engines.canonical import CanonicalFormError
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import RoundOpened
from ledger.rounds import RoundLedger
from ledger.store import RoundRecord
from replay.verdict import Finding

__all__ = ["NonceOrder", "check_nonce"]

_OPENINGS = ("round_opened/1",)
_WINDOW_LEAVES, _WINDOW_LEAVES_MAX = 16, 4096


class NonceOrder:
    """Follows all epochs of a ledger over its rounds, taken in the order of the record; keeps two numbers for each epoch."""

    def __init__(self) -> None:
        self._dealt: dict[int, tuple[int, int]] = {}  # by epoch: number of rounds, nonce after the last one recorded
        self._owners: dict[str, int] = {}  # the epoch under which a commitment was first used

    def take(self, opened: RoundOpened) -> Iterator[Finding]:
        """Yield what is wrong with the next round: `nonce_used_twice`, `nonce_skipped`, `commitment_twice`."""
        count, following = self._dealt.get(opened.epoch, (0, 0))
        self._dealt[opened.epoch] = count + 1, opened.nonce + 1
        yield from _nonce_finding(opened, following, (following, count))
        owner = self._owners.setdefault(opened.seed_commitment, opened.epoch)
        if opened.seed_commitment and owner != opened.epoch and not count:
            where = f"commitment of epoch {opened.epoch}"
            yield _finding("commitment_twice", where, "one of its own", f"that of epoch {owner}")


def check_nonce(ledger: RoundLedger, opened: RoundOpened, opened_leaf: int, committed_leaf: int) -> list[Finding]:
    """Return what is wrong with a round's nonce, by the one or two rounds of its epoch that were opened last before it.

    The leaves are those of the round's opening and of the epoch's commitment.
    """
    before = _openings_before(ledger, opened.epoch, opened_leaf, committed_leaf)
    if not before:
        return list(_nonce_finding(opened, 0, (0,)))
    following = before[-1].nonce + 1
    by_count = before[-2].nonce + 2 if len(before) > 1 else 1
    return list(_nonce_finding(opened, following, (following, by_count)))


def _openings_before(ledger: RoundLedger, epoch: int, opened_leaf: int, committed_leaf: int) -> Sequence[RoundOpened]:
    """Return the last two rounds of an epoch opened before a leaf, or as many as there are, reading backwards."""
    found: list[RoundOpened] = []
    end, width = opened_leaf, _WINDOW_LEAVES
    while end > committed_leaf + 1 and len(found) < 2:
        start = max(committed_leaf + 1, end - width)
        records = ledger.store.round_records(start, end, topics=_OPENINGS)
        found = [opening for opening in map(_opening, records) if opening is not None and opening.epoch == epoch] + found
        end, width = start, min(2 * width, _WINDOW_LEAVES_MAX)
    return found[-2:]


def _opening(record: RoundRecord) -> RoundOpened | None:
    try:
        event = parse_event(record.events[0]) if record.events else None
    except (CanonicalFormError, LedgerError):
        return None
    return event if isinstance(event, RoundOpened) else None


def _nonce_finding(opened: RoundOpened, following: int, right: Collection[int]) -> Iterator[Finding]:
    if opened.nonce not in right:
        code = "nonce_used_twice" if opened.nonce < following else "nonce_skipped"
        yield _finding(code, f"nonce in epoch {opened.epoch}", str(following), str(opened.nonce))


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", 0, -1, where, want, got, f"{where}: want {want}, got {got}")
