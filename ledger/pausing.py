"""What is written of a round between its opening and its settlement, and of one that is never settled.

As in `ledger/recording.py` each is one transaction on whatever database the ledger is on.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engines.game import EventBytes
from ledger.errors import RoundInPlay
from ledger.money import check_balance
from ledger.recording import IN_PLAY, Recording, short_error
from ledger.store import ACCOUNT_STREAM, ROUND_STREAM, TextRow

__all__ = ["Pausing", "Refund"]


class Refund(NamedTuple):
    """What a void round pays, in minor units: to the balance, and back to bonus money."""

    balance_minor: int
    bonus_minor: int


class Pausing(Recording):
    """Adds to a store what happens to a round that is not played in one go."""

    def leave_round(self, round_id: str, version_last: int, events_of: Callable[[int], Sequence[EventBytes]], *, status: str) -> None:
        """Add the events of a leg behind version `version_last`; `events_of` is called with the time.

        status: `waiting` where the leg ends with a choice, else `open`. Raises RoundUnknown, RoundNotOpen, VersionConflict.
        """
        with self._writing as cursor:
            self._round_in_play(cursor, round_id, version_last)
            now = self.clock()
            events = events_of(now)
            cursor.execute(self.writes.update_round, (status, version_last + len(events), round_id))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, events, now)

    def interrupt_round(self, round_id: str, version_last: int, event_of: Callable[[int], EventBytes], *, frees_slot: bool) -> None:
        """Add an event behind which a round stands still; `event_of` is called with the time.

        frees_slot: whether the account may meanwhile play other games. Raises RoundUnknown, RoundNotOpen, VersionConflict.
        """
        with self._writing as cursor:
            found = self._round_in_play(cursor, round_id, version_last)
            now = self.clock()
            cursor.execute(self.writes.update_round, ("interrupted", version_last + 1, round_id))
            if frees_slot:
                self._need_table(cursor, "interrupted_rounds")
                cursor.execute(self.writes.insert_interrupted, (found.account_ref, found.game, round_id))
                cursor.execute(self.writes.update_account_opening, (found.balance_minor, "", found.account_ref))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, [event_of(now)], now)

    def resume_round(self, round_id: str, version_last: int, event_of: Callable[[int], EventBytes], *, status: str) -> None:
        """Add an event by which an interrupted round goes on, and take the account's slot for it; status: as by `leave_round`.

        Raises RoundUnknown, RoundNotOpen where it is not interrupted, VersionConflict, RoundInPlay where the account plays another.
        """
        with self._writing as cursor:
            found = self._round_in_play(cursor, round_id, version_last, ("interrupted",))
            account = self._account(cursor, found.account_ref)
            if account.round_in_play not in ("", round_id):
                raise RoundInPlay(found.account_ref, account.round_in_play)
            now = self.clock()
            cursor.execute(self.writes.update_round, (status, version_last + 1, round_id))
            cursor.execute(self.writes.update_account_opening, (found.balance_minor, round_id, found.account_ref))
            if self._has_table(cursor, "interrupted_rounds"):
                cursor.execute(self.writes.delete_interrupted, (round_id,))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, [event_of(now)], now)

    def void_round(
        self,
        round_id: str,
        version_last: int,
        refund: Refund,
        event_of: Callable[[int, int], EventBytes],
        *,
        texts: Sequence[TextRow],
    ) -> int:
        """End a round without its outcome, pay the refund, free the slot and return the balance.

        `event_of` is called with the new balance and the time. Raises RoundUnknown, RoundNotOpen, VersionConflict, BalanceTooLarge.
        """
        with self._writing as cursor:
            found = self._round_in_play(cursor, round_id, version_last, IN_PLAY)
            balance = found.balance_minor + refund.balance_minor
            check_balance(found.account_ref, balance, found.currency)
            self._write_texts(cursor, texts)
            now = self.clock()
            event = event_of(balance, now)
            cursor.execute(self.writes.update_account_voiding, (balance, round_id, found.account_ref))
            cursor.execute(self.writes.update_round, ("voided", version_last + 1, round_id))
            if self._has_table(cursor, "interrupted_rounds"):
                cursor.execute(self.writes.delete_interrupted, (round_id,))
            if refund.bonus_minor:
                bonus = self._bonus(cursor, found.account_ref) + refund.bonus_minor
                cursor.execute(self.writes.upsert_bonus, (found.account_ref, bonus))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, [event], now)
        return int(balance)

    def move_bonus(self, account_ref: str, amount_minor: int, event_of: Callable[[int, int], EventBytes]) -> int:
        """Change an account's bonus money and return it; `event_of` is called with the new amount and the time.

        Raises AccountUnknown, FundsShort, BalanceTooLarge.
        """
        with self._writing as cursor:
            account = self._account(cursor, account_ref)
            bonus = self._bonus(cursor, account_ref) + amount_minor
            if bonus < 0:
                raise short_error(account._replace(balance_minor=bonus - amount_minor), -amount_minor)
            check_balance(account_ref, bonus, account.currency)
            self._need_table(cursor, "bonuses")
            now = self.clock()
            event = event_of(bonus, now)
            cursor.execute(self.writes.upsert_bonus, (account_ref, bonus))
            cursor.execute(self.writes.update_account_funds, (account.balance_minor, account_ref))
            self._append(cursor, ACCOUNT_STREAM + account_ref, account.version + 1, [event], now)
        return bonus

    def bonus_minor(self, account_ref: str) -> int:
        """Return an account's bonus money."""
        with self._reading() as cursor:
            return self._bonus(cursor, account_ref)

    def interrupted_round(self, account_ref: str, game: str) -> str:
        """Return the round of a game that an account has interrupted and does not hold its slot, empty where there is none."""
        with self._reading() as cursor:
            return self._interrupted(cursor, account_ref, game)
