"""Period reports: what was played, paid for and won by game, day and currency; days without a round are said to be such."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from replay.monitor_reading import LedgerRound

__all__ = ["DAYS_MAX", "Period", "PeriodSums", "day_of", "missing_days"]

DAYS_MAX = 400  # of a span, whose days without a round are listed


class Period(NamedTuple):
    """A game on a day, in a time zone, in a currency."""

    day: str
    game: str
    currency: str


@dataclass(slots=True)
class PeriodSums:
    """Rounds of a period: those settled with cost and wins, those in play, void and not readable."""

    rounds: int = 0
    cost_minor: int = 0
    win_minor: int = 0
    in_play: int = 0
    voided: int = 0
    unreadable: int = 0

    def add(self, found: LedgerRound) -> None:
        """Add one round."""
        if found.played is not None:
            self.rounds += 1
            self.cost_minor += found.played.cost_minor
            self.win_minor += found.played.win_minor
        elif found.status == "in_play":
            self.in_play += 1
        elif found.status == "voided":
            self.voided += 1
        else:
            self.unreadable += 1


def day_of(moment_us: int, zone: str) -> str:
    """Return the day of a moment in a time zone, UTC unless one is named."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment_us)
    return moment.astimezone(ZoneInfo(zone) if zone else UTC).date().isoformat()


def missing_days(days: set[str], first: str, last: str) -> Iterator[str]:
    """Yield the days from the first to the last on which nothing was played, DAYS_MAX at most."""
    day, end = date.fromisoformat(first), date.fromisoformat(last)
    for _ in range(DAYS_MAX):
        if day > end:
            return
        if day.isoformat() not in days:
            yield day.isoformat()
        day += timedelta(days=1)
