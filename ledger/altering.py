"""What is written beside rounds and money moved: corrections, which change nothing in place, and the erasure of personal data.

As in `ledger/recording.py` each is one transaction on whatever database the ledger is on.
"""

from collections.abc import Callable, Sequence

from engines.game import EventBytes
from ledger.errors import RoundUnknown, VersionConflict
from ledger.money import check_balance
from ledger.pausing import Pausing
from ledger.reading import Cursor, has_table
from ledger.recording import short_error
from ledger.store import ACCOUNT_STREAM, LEDGER_STREAM, ROUND_STREAM, AccountRow, TextRow

__all__ = ["Altering"]

_SELECT_ROUND = "SELECT version FROM rounds WHERE round_id = ?"
_SELECT_ROUNDS_OF = "SELECT round_id FROM rounds WHERE account_ref = ? ORDER BY round_id"
_UPDATE_ROUND = "UPDATE rounds SET version = ? WHERE round_id = ?"
_UPDATE_ACCOUNT = "UPDATE accounts SET version = ?, balance_minor = ? WHERE account_ref = ?"
_DELETE_NAME = "DELETE FROM account_names WHERE account_ref = ?"
_DELETE_TEXT = "DELETE FROM texts WHERE text_hash = ?"


class Altering(Pausing):
    """All of a store but its connections."""

    def _marked(self, statement: str) -> str:
        return statement.replace("?", self.dialect.mark)

    def rounds_of(self, account_ref: str) -> list[str]:
        """Return the ids of an account's rounds, sorted; goes over all rounds."""
        with self._reading() as cursor:
            return [row[0] for row in cursor.execute(self._marked(_SELECT_ROUNDS_OF), (account_ref,)).fetchall()]

    def correct_round(self, round_id: str, version: int, event_of: Callable[[int], EventBytes], *, texts: Sequence[TextRow]) -> None:
        """Add an event behind the last one of a round, whose version it is; `event_of` is called with the time.

        Raises RoundUnknown, and VersionConflict where the round has gone on.
        """
        with self._writing as cursor:
            row = cursor.execute(self._marked(_SELECT_ROUND), (round_id,)).fetchone()
            if row is None:
                raise RoundUnknown(round_id, "it was never opened here")
            if row[0] != version:
                raise VersionConflict(ROUND_STREAM + round_id, row[0] + 1, version + 1)
            self._write_texts(cursor, texts)
            now = self.clock()
            cursor.execute(self._marked(_UPDATE_ROUND), (version + 1, round_id))
            self._append(cursor, ROUND_STREAM + round_id, version + 1, [event_of(now)], now)

    def show_round(self, round_id: str, events: Sequence[EventBytes]) -> int:
        """Add events behind whatever a round has come to, in play or over, and return the version of the first; raises RoundUnknown."""
        with self._writing as cursor:
            row = cursor.execute(self._marked(_SELECT_ROUND), (round_id,)).fetchone()
            if row is None:
                raise RoundUnknown(round_id, "it was never opened here")
            version_last = int(row[0])
            cursor.execute(self._marked(_UPDATE_ROUND), (version_last + len(events), round_id))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, events, self.clock())
        return version_last + 1

    def correct_account(
        self,
        account_ref: str,
        amount_minor: int,
        events_of: Callable[[AccountRow, int], Sequence[EventBytes]],
        *,
        texts: Sequence[TextRow],
    ) -> int:
        """Add events to an account's stream, change its balance and return it.

        `events_of` is called with the account as it was and the time. Raises AccountUnknown, FundsShort, BalanceTooLarge.
        """
        with self._writing as cursor:
            account = self._account(cursor, account_ref)
            balance = account.balance_minor + amount_minor
            if balance < 0:
                raise short_error(account, -amount_minor)
            check_balance(account_ref, balance, account.currency)
            self._alter_account(cursor, account, balance, events_of, texts)
        return balance

    def _alter_account(
        self,
        cursor: Cursor,
        account: AccountRow,
        balance_minor: int,
        events_of: Callable[[AccountRow, int], Sequence[EventBytes]],
        texts: Sequence[TextRow],
    ) -> None:
        self._write_texts(cursor, texts)
        now = self.clock()
        events = events_of(account, now)
        cursor.execute(self._marked(_UPDATE_ACCOUNT), (account.version + len(events), balance_minor, account.account_ref))
        self._append(cursor, ACCOUNT_STREAM + account.account_ref, account.version + 1, events, now)

    def forget_account(
        self,
        account_ref: str,
        erased: Sequence[str],
        events_of: Callable[[AccountRow, int], Sequence[EventBytes]],
        *,
        texts: Sequence[TextRow],
        ledger_version: int,
    ) -> None:
        """Erase an account's name and the texts of these hashes, and add events to its stream.

        `events_of` is called with the account and the time; ledger_version: of the stream `ledger` when it was read for disputes.
        Raises AccountUnknown, and VersionConflict where that stream has gone on.
        """
        with self._writing as cursor:
            last = cursor.execute(self.writes.select_last_version, (LEDGER_STREAM,)).fetchone()[0]
            if last != ledger_version:
                raise VersionConflict(LEDGER_STREAM, last + 1, ledger_version + 1)
            account = self._account(cursor, account_ref)
            cursor.execute(self._marked(_DELETE_NAME), (account_ref,))
            if has_table(cursor, self.reads, "texts"):
                for text_hash in erased:
                    cursor.execute(self._marked(_DELETE_TEXT), (text_hash,))
            self._alter_account(cursor, account, account.balance_minor, events_of, texts)
