"""The rounds of a ledger as the monitor judges them, one after the other; those that are in play or void are counted apart."""

from collections.abc import Iterator
from typing import NamedTuple

from engines.canonical import CanonicalFormError
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import RoundOpened, RoundSettled, RoundVoided
from ledger.rounds import RoundLedger
from ledger.store import RoundRecord
from replay.return_sums import PlayedRound

__all__ = ["LedgerRound", "ledger_rounds"]

_TOPICS = ("round_opened/1", "round_settled/1", "round_voided/1")


class LedgerRound(NamedTuple):
    """One round: its opening, how it stands, and what is judged of it where it is settled; None where it cannot be read."""

    opened: RoundOpened | None
    status: str  # `settled`, `voided`, `in_play` or `unreadable`
    played: PlayedRound | None


def ledger_rounds(ledger: RoundLedger, *, since_us: int | None, until_us: int | None, game: str) -> Iterator[LedgerRound]:
    """Yield the rounds that were opened in a span, of one game or of all, in the order of their openings; those that cannot be read too."""
    for record in ledger.store.round_records(topics=_TOPICS):
        found = _round(record)
        opened = found.opened
        if opened is None or (
            game in ("", opened.game)
            and (since_us is None or opened.opened_at_us >= since_us)
            and (until_us is None or opened.opened_at_us < until_us)
        ):
            yield found


def _round(record: RoundRecord) -> LedgerRound:
    opened: RoundOpened | None = None
    end: RoundSettled | RoundVoided | None = None
    try:
        for row in record.events:
            event = parse_event(row)
            if isinstance(event, RoundOpened):
                opened = event
            elif isinstance(event, RoundSettled | RoundVoided):
                end = event
    except (CanonicalFormError, LedgerError):
        return LedgerRound(opened, "unreadable", None)
    if opened is None:
        return LedgerRound(None, "unreadable", None)
    if not isinstance(end, RoundSettled):
        return LedgerRound(opened, "voided" if end is not None else "in_play", None)
    return LedgerRound(opened, "settled", _played(opened, end))


def _played(opened: RoundOpened, settled: RoundSettled) -> PlayedRound:
    terms = (opened.rules_hash, opened.game, opened.mode, opened.currency, opened.bet_minor, opened.cost_minor)
    return PlayedRound(*terms, settled.total_win_minor, opened.engine_fingerprint[:16], opened.channel, opened.opened_at_us)
