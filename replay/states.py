"""Does each round start from the state that the account's last settled round of its game left (`record/1`, field rules)?

One that is in play or voided leaves none. A state is right where it follows from the recorded state out of the round before
or from the recomputed one: so one wrong state is one finding.
"""

from typing import NamedTuple

from engines.canonical import CanonicalFormError
from engines.rules import GameRules
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import RoundOpened, RoundSettled
from ledger.rounds import RoundLedger
from ledger.store import RoundRecord
from replay.rulebook import Rulebook
from replay.verdict import Finding, Severity

__all__ = ["LeftState", "StateOrder", "carried_finding", "round_before", "state_after"]


class LeftState(NamedTuple):
    """A settled round of an account, and what it may have left: as recorded, and as recomputed."""

    round_id: str
    states: tuple[dict[str, int], ...]


def carried_finding(
    round_id: str,
    opened: tuple[int, RoundOpened],
    before: LeftState | None,
    rules: GameRules,
    *,
    severity: Severity = "integrity",
    note: str = "",
) -> Finding | None:
    """Return a finding that names both rounds where a round's state in is not what the round before left.

    before: the account's last settled round of the game, None where this is its first: it starts from the game's first state,
    as does one to whose rules the state is not known. A state in that no account can be in is a finding of its own elsewhere.
    note: what else may be the case. Nothing is found under a reading by which the state in says nothing.
    """
    found, reading = opened[1].state_in, rules.state_reading
    if found not in rules.states or (reading and rules.reading(reading) == 1):
        return None
    wanted = [state if state in rules.states else rules.first_state for state in (before.states if before else ({},))]
    if found in wanted:
        return None
    where = f"state in of round {round_id}"
    want = f"{wanted[0]}, which round {before.round_id} left" if before else f"{wanted[0]}, as no round was settled before it"
    message = f"{where}: want {want}, got {found}{note}"
    if reading:
        message += f"; vanishes under reading {reading} = 1"
    return Finding("state_carried", severity, opened[0], -1, where, want, str(found), message, reading or None)


def state_after(rules: GameRules, before: LeftState | None) -> dict[str, int]:
    """Return the state that a round starts from by what is recorded of the one before."""
    return dict(before.states[0]) if before and before.states[0] in rules.states else rules.first_state


def round_before(ledger: RoundLedger, opened: RoundOpened, opened_leaf: int) -> LeftState | None:
    """Return the account's last round of a game that was settled before a leaf, by the ledger's table of rounds.

    Rows that were altered may hide it; `audit fsck` finds those, and `audit verify --all` goes by the events alone.
    """
    for stream in ledger.store.streams_before(opened.account_ref, opened.game, opened_leaf):
        record = next(iter(ledger.store.records_of([stream], topics=("round_opened/1", "round_settled/1"))))
        if (state := _left_by(record, opened)) is not None:
            return LeftState(record.round_id, (state,))
    return None


class StateOrder:
    """Follows the states of all accounts over the rounds of a ledger, taken in the order of the record."""

    def __init__(self, rulebook: Rulebook, failed_ids: set[str]) -> None:
        self._rulebook, self._failed_ids = rulebook, failed_ids  # rounds with a finding about a state of their own
        self._left: dict[tuple[str, str], LeftState] = {}

    def take(self, round_id: str, opened: RoundOpened, settled: RoundSettled | None) -> Finding | None:
        """Return what is wrong with the state in of the next round."""
        place = opened.account_ref, opened.game
        before = self._left.get(place)
        found: Finding | None = None
        if (before or opened.state_in) and not {round_id, before.round_id if before else ""} & self._failed_ids:
            try:
                rules: GameRules | None = self._rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
            except LookupError:
                rules = None
            found = carried_finding(round_id, (0, opened), before, rules) if rules else None
        if settled is not None and (before or settled.state_out):
            self._left[place] = LeftState(round_id, (settled.state_out,))
        return found


def _left_by(record: RoundRecord, opened: RoundOpened) -> dict[str, int] | None:
    """Return the state out of a round of the same account and game, None where it is another's, not settled or cannot be read."""
    first, last = _events_of(record)
    if first is None or last is None or (first.account_ref, first.game) != (opened.account_ref, opened.game):
        return None
    return last.state_out


def _events_of(record: RoundRecord) -> tuple[RoundOpened | None, RoundSettled | None]:
    opened, settled = None, None
    for row in record.events:
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        opened = event if isinstance(event, RoundOpened) else opened
        settled = event if isinstance(event, RoundSettled) else settled
    return opened, settled
