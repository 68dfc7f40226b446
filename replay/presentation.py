"""What the player was shown against what was evaluated: the records of what the client was told, and of what it says it has shown.

Pure functions of a round's events. Where the two differ both amounts are said, and nothing of which one counts: that is for whoever
decides a dispute (GLI-19, 4.3.4(e)i and 4.5.2(c)).
"""

from collections.abc import Sequence
from typing import NamedTuple

from engines.canonical import RecordedEvent
from engines.game_events import SpinEnded, SpinStarted
from ledger.lifecycle_events import PresentationAcked, PresentationSent, RoundSettled
from replay.verdict import Finding

__all__ = ["PRESENTATION_KINDS", "Presented", "check_presentation"]

PRESENTATION_KINDS = frozenset({"presentation_sent", "presentation_acked"})


class Presented(NamedTuple):
    """What is wrong with the records of what was shown in a round, how many there are, and how many of them were acknowledged.

    is_evaluated: False where what they are held against cannot be read.
    """

    findings: list[Finding]
    sent_count: int
    acked_count: int
    is_evaluated: bool = True

    @property
    def sentence(self) -> str:
        """The records in words, for where nothing is wrong with them."""
        records = f"{self.sent_count} record{'' if self.sent_count == 1 else 's'} of what the client was told"
        return f"{records}, {self.acked_count} acknowledged: amounts are those of the outcome"


class _Ended(NamedTuple):
    """A spin that has ended: its index, its award and the round's win with it, in minor units."""

    spin_index: int
    award_minor: int
    total_minor: int


class _Screen:
    """Follows a round and what its player was shown of it. What follows from a wrong amount that is named already is of the same cause."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.acked: set[int] = set()
        self.sent: dict[int, PresentationSent] = {}
        self._ended: dict[int, _Ended] = {}
        self._told: set[tuple[int, int]] = set()  # wins of spins that are named already, by the index of the end of the spin
        self._spin_index, self._total = -1, 0
        self._balance: int | None = None  # after the settlement
        self._off = 0  # of the total told last, from what was evaluated
        self._balance_off = 0
        self._acked_off = 0  # of the total acknowledged last, from what was told

    def take(self, index: int, event: RecordedEvent) -> None:
        """Take the next event of the round."""
        if isinstance(event, SpinStarted):
            self._spin_index = event.spin_index
        elif isinstance(event, SpinEnded):
            self._total += event.award_minor
            self._ended[index] = _Ended(self._spin_index, event.award_minor, self._total)
        elif isinstance(event, RoundSettled):
            self._balance = event.balance_after_minor
        elif isinstance(event, PresentationSent):
            self.sent[index] = event
            self._take_sent(index, event)
        elif isinstance(event, PresentationAcked):
            self._take_acked(index, event)

    def _take_sent(self, index: int, event: PresentationSent) -> None:
        ended = self._ended.get(event.through_index)
        if ended is None:
            self._misplaced(index, -1, "event shown by presentation_sent", "the index of a spin_ended before it", event.through_index)
            return
        if event.spin_index != ended.spin_index:
            where = f"spin shown by presentation_sent through event {event.through_index}"
            self._misplaced(index, ended.spin_index, where, ended.spin_index, event.spin_index)
        spin_off, off = event.spin_win_minor - ended.award_minor, event.total_win_minor - ended.total_minor
        if spin_off and (event.through_index, spin_off) not in self._told:
            self._told.add((event.through_index, spin_off))
            where = f"win of spin {ended.spin_index} in presentation_sent"
            self._differs(index, ended.spin_index, where, ended.award_minor, event.spin_win_minor)
        if off not in (0, self._off, spin_off, self._off + spin_off):
            where = f"win so far after spin {ended.spin_index} in presentation_sent"
            self._differs(index, ended.spin_index, where, ended.total_minor, event.total_win_minor)
        self._off = off
        if self._balance is not None and event.balance_minor != -1:
            balance_off = event.balance_minor - self._balance
            if balance_off not in (0, self._balance_off, off):
                self._differs(index, ended.spin_index, "balance in presentation_sent", self._balance, event.balance_minor)
            self._balance_off = balance_off

    def _take_acked(self, index: int, event: PresentationAcked) -> None:
        sent = self.sent.get(event.sent_index)
        if sent is None:
            want = "the index of a presentation_sent before it"
            self._misplaced(index, -1, "event acknowledged by presentation_acked", want, event.sent_index)
            return
        self.acked.add(event.sent_index)
        if event.total_win_minor == -1:
            return
        off = event.total_win_minor - sent.total_win_minor
        if off not in (0, self._acked_off):
            where = f"win so far in presentation_acked of event {event.sent_index}"
            self._differs(index, sent.spin_index, where, sent.total_win_minor, event.total_win_minor, want_word="told")
        self._acked_off = off

    def _misplaced(self, index: int, spin_index: int, where: str, want: object, got: object) -> None:
        message = f"{where}: want {want}, got {got}"
        self.findings.append(Finding("presentation_order", "integrity", index, spin_index, where, str(want), str(got), message))

    def _differs(self, index: int, spin_index: int, where: str, want: int, got: int, *, want_word: str = "evaluated") -> None:
        message = f"{where}: {want_word} {want}, shown {got}"
        self.findings.append(Finding("presentation_amount", "presentation", index, spin_index, where, str(want), str(got), message))


def check_presentation(events: Sequence[tuple[int, RecordedEvent]]) -> Presented:
    """Return where what was shown is not what was evaluated; events with their index in the round's stream, in order.

    Evaluated are the awards of the spins as they are recorded, their sum so far, and behind the settlement its balance; an
    acknowledgement is held against what was told.
    """
    screen = _Screen()
    for index, event in events:
        screen.take(index, event)
    return Presented(screen.findings, len(screen.sent), len(screen.acked))
