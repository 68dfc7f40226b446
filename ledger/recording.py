"""The writing half of a store, whatever database it is on: what each transaction reads, changes and appends.

The database gives one writer at a time (`_writing`): a transaction that reads the last leaf before it writes the next
cannot be overtaken. The clock is read after that, so that times follow the order of the leaves.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from eventsourcing.persistence import StoredEvent

from engines.game import EventBytes
from ledger.errors import (
    AccountExists,
    AccountUnknown,
    EpochEnded,
    FundsShort,
    LedgerMoved,
    RoundInPlay,
    RoundNotOpen,
    RoundUnknown,
    VersionConflict,
)
from ledger.later_tables import LATER_TABLES
from ledger.merkle import BLOCK_LEAVES, append_digest, block_nodes, leaf_bytes, leaf_hash
from ledger.money import amount_text, check_balance
from ledger.reading import Cursor, Nodes, Reading, has_table, tree_size
from ledger.references import now_us
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM, ROUND_STREAM, AccountRow, OpenedRow, Opening, TextRow

__all__ = ["IN_PLAY", "PLAYABLE", "Recording", "RoundInStore", "WriteStatements", "short_error", "write_statements"]

PLAYABLE = ("open", "waiting")  # what a round is that can go on at once
IN_PLAY = (*PLAYABLE, "interrupted")


class WriteStatements(NamedTuple):
    """All statements of the writing transactions."""

    select_account: str
    select_account_name: str
    select_account_opening: str
    select_epoch: str
    select_epoch_next: str
    select_epochs_open: str
    select_interrupted: str
    select_bonus: str
    select_last_version: str
    select_round: str
    select_state: str
    insert_account: str
    insert_account_name: str
    insert_epoch: str
    insert_interrupted: str
    insert_leaf: str
    insert_node: str
    insert_round: str
    insert_text: str
    update_account_funds: str
    update_account_opening: str
    update_account_settling: str
    update_epoch_closing: str
    update_epoch_nonce: str
    update_account_voiding: str
    update_round: str
    upsert_bonus: str
    upsert_state: str
    delete_interrupted: str


_STATEMENTS = WriteStatements(
    select_account="SELECT account_ref, version, currency, balance_minor, round_in_play FROM accounts WHERE account_ref = ?",
    select_account_name="SELECT 1 FROM account_names WHERE name = ?",
    select_account_opening="SELECT account_ref, version, currency, balance_minor, round_in_play, "
    "(SELECT next_nonce FROM epochs WHERE epoch = ? AND seed_commitment = ? AND is_closed = 0), "
    f"(SELECT coalesce(MAX(originator_version), 0) FROM stored_events WHERE originator_id = '{LEDGER_STREAM}') "
    "FROM accounts WHERE account_ref = ?",
    select_epoch="SELECT next_nonce FROM epochs WHERE epoch = ? AND is_closed = 0",
    select_epoch_next="SELECT coalesce(MAX(epoch), 0) + 1 FROM epochs",
    select_epochs_open="SELECT epoch FROM epochs WHERE is_closed = 0 ORDER BY epoch",
    select_interrupted="SELECT round_id FROM interrupted_rounds WHERE account_ref = ? AND game = ?",
    select_bonus="SELECT bonus_minor FROM bonuses WHERE account_ref = ?",
    select_last_version="SELECT coalesce(MAX(originator_version), 0) FROM stored_events WHERE originator_id = ?",
    select_round="SELECT r.status, r.version, r.account_ref, r.game, a.balance_minor, a.currency "
    "FROM rounds r JOIN accounts a ON a.account_ref = r.account_ref WHERE r.round_id = ?",
    select_state="SELECT e.state FROM states s JOIN stored_events e ON e.originator_id = 'round/' || s.round_id "
    "WHERE s.account_ref = ? AND s.game = ? AND e.topic = 'round_settled/1'",
    insert_account="INSERT INTO accounts VALUES (?,1,?,0,'')",
    insert_account_name="INSERT INTO account_names VALUES (?,?)",
    insert_epoch="INSERT INTO epochs VALUES (?,?,?,?,0,0)",
    insert_interrupted="INSERT INTO interrupted_rounds VALUES (?,?,?)",
    insert_leaf="INSERT INTO leaves VALUES (?,?,?,?,?,?)",
    insert_node="INSERT INTO nodes VALUES (?,?,?) ON CONFLICT DO NOTHING",  # a ledger from before nodes came in blocks holds some
    insert_round="INSERT INTO rounds VALUES (?,?,?,?,?,'open',1)",
    insert_text="INSERT INTO texts VALUES (?,?,?)",
    update_account_funds="UPDATE accounts SET version = version + 1, balance_minor = ? WHERE account_ref = ?",
    update_account_opening="UPDATE accounts SET balance_minor = ?, round_in_play = ? WHERE account_ref = ?",
    update_account_settling="UPDATE accounts SET balance_minor = ?, round_in_play = '' WHERE account_ref = ?",
    update_epoch_closing="UPDATE epochs SET is_closed = 1 WHERE epoch = ?",
    update_epoch_nonce="UPDATE epochs SET next_nonce = next_nonce + 1 WHERE epoch = ?",
    update_account_voiding="UPDATE accounts SET balance_minor = ?, "
    "round_in_play = CASE round_in_play WHEN ? THEN '' ELSE round_in_play END WHERE account_ref = ?",
    update_round="UPDATE rounds SET status = ?, version = ? WHERE round_id = ?",
    upsert_bonus="INSERT INTO bonuses VALUES (?,?) ON CONFLICT (account_ref) DO UPDATE SET bonus_minor = excluded.bonus_minor",
    upsert_state="INSERT INTO states VALUES (?,?,?) ON CONFLICT (account_ref, game) DO UPDATE SET round_id = excluded.round_id",
    delete_interrupted="DELETE FROM interrupted_rounds WHERE round_id = ?",
)


def write_statements(mark: str) -> WriteStatements:
    """Return the statements with the mark that a database knows values by."""
    return WriteStatements._make(statement.replace("?", mark) for statement in _STATEMENTS)


class RoundInStore(NamedTuple):
    """What a transaction that goes on with a round reads of it."""

    status: str
    version: int
    account_ref: str
    game: str
    balance_minor: int
    currency: str


class Recording(Reading):
    """Records events with their leaves and nodes, and the tables beside them, in one transaction; all of a store but its connections."""

    writes: WriteStatements
    clock: Callable[[], int]
    _writing: AbstractContextManager[Cursor]  # one transaction of the only writer, undone where its body raises

    def _start(self) -> None:
        self.clock = now_us
        self._tables_seen: set[str] = set()

    @staticmethod
    def _write_events(cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes]) -> None:
        """Write the rows of events."""
        raise NotImplementedError

    def _last_number(self, cursor: Cursor) -> int:
        """Return the number of the event that was written last."""
        raise NotImplementedError

    def _append(self, cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes], now: int) -> None:
        """Write the events of one append, its leaf and the nodes of the block that it ends."""
        self._write_events(cursor, stream, version_first, events)
        self._write_leaf(cursor, stream, version_first, events, now)

    @classmethod
    def _write_leaf(cls, cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes], now: int) -> None:
        """Write the leaf of an append and, where it ends a block, the nodes of the block and those above that it finishes."""
        leaf_index = tree_size(cursor, cls.reads)
        version_last = version_first + len(events) - 1
        leaf = leaf_hash(leaf_bytes(stream, version_first, version_last, now, append_digest([state for _, state in events])))
        cursor.execute(cls.writes.insert_leaf, (leaf_index, stream, version_first, version_last, now, leaf))
        size = leaf_index + 1
        if size % BLOCK_LEAVES == 0:
            nodes, first = Nodes(cursor, cls.reads, size), size - BLOCK_LEAVES
            cursor.executemany(cls.writes.insert_node, block_nodes(first, nodes.leaves(first, BLOCK_LEAVES), nodes))

    def append_events(self, stream: str, version_first: int, events: Sequence[EventBytes], *, texts: Sequence[TextRow] = ()) -> None:
        """Add events to a stream that no table is kept for, and the texts that they name by hash; raises VersionConflict."""
        with self._writing as cursor:
            self._write_texts(cursor, texts)
            self._append_checked(cursor, stream, version_first, events)

    def _write_texts(self, cursor: Cursor, texts: Sequence[TextRow]) -> None:
        if texts:
            self._need_table(cursor, "texts")
        for text in texts:
            cursor.execute(self.writes.insert_text, text)

    def _need_table(self, cursor: Cursor, table: str) -> None:
        """Make one of the later tables where the ledger has none."""
        if not has_table(cursor, self.reads, table):
            cursor.execute(LATER_TABLES[table].replace("INTEGER", self.dialect.integer_type))

    def _append_checked(self, cursor: Cursor, stream: str, version_first: int, events: Sequence[EventBytes]) -> None:
        # The database refuses a version that is taken; a gap only we see.
        last = cursor.execute(self.writes.select_last_version, (stream,)).fetchone()[0]
        if version_first != last + 1:
            raise VersionConflict(stream, last + 1, version_first)
        self._append(cursor, stream, version_first, events, self.clock())

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Add events in the library's own way: one append for each stretch of one stream, in the order given."""
        if not stored_events:
            return range(0)
        with self._writing as cursor:
            start = 0
            for end in range(1, len(stored_events) + 1):
                first, last = stored_events[start], stored_events[end - 1]
                if end < len(stored_events) and stored_events[end].originator_id == first.originator_id:
                    continue
                stream, count = str(first.originator_id), end - start
                if last.originator_version != first.originator_version + count - 1:
                    raise VersionConflict(stream, first.originator_version + count - 1, last.originator_version)
                events = [EventBytes(stored.topic, stored.state) for stored in stored_events[start:end]]
                self._append_checked(cursor, stream, first.originator_version, events)
                start = end
            number = self._last_number(cursor)
        return range(number - len(stored_events) + 1, number + 1)

    def open_account(self, account_ref: str, name: str, currency: str, event_of: Callable[[int], EventBytes]) -> None:
        """Add an account and the name it stands for; raises AccountExists."""
        with self._writing as cursor:
            if cursor.execute(self.writes.select_account_name, (name,)).fetchone():
                raise AccountExists(name)
            now = self.clock()
            cursor.execute(self.writes.insert_account_name, (account_ref, name))
            cursor.execute(self.writes.insert_account, (account_ref, currency))
            self._append(cursor, ACCOUNT_STREAM + account_ref, 1, [event_of(now)], now)

    def move_funds(self, account_ref: str, amount_minor: int, event_of: Callable[[int, int], EventBytes]) -> int:
        """Change a balance and return it; raises AccountUnknown, FundsShort, BalanceTooLarge."""
        with self._writing as cursor:
            account = self._account(cursor, account_ref)
            balance = account.balance_minor + amount_minor
            if balance < 0:
                raise short_error(account, -amount_minor)
            check_balance(account_ref, balance, account.currency)
            now = self.clock()
            event = event_of(balance, now)
            cursor.execute(self.writes.update_account_funds, (balance, account_ref))
            self._append(cursor, ACCOUNT_STREAM + account_ref, account.version + 1, [event], now)
        return balance

    def _account(self, cursor: Cursor, account_ref: str) -> AccountRow:
        row = cursor.execute(self.writes.select_account, (account_ref,)).fetchone()
        if row is None:
            raise AccountUnknown(account_ref)
        return AccountRow._make(row)

    def start_epoch(self, seed_commitment: str, sealed_seed: bytes, writer_ref: str, event_of: Callable[[int, int], EventBytes]) -> int:
        """Add an epoch and return its number."""
        with self._writing as cursor:
            epoch = int(cursor.execute(self.writes.select_epoch_next).fetchone()[0])
            now = self.clock()
            cursor.execute(self.writes.insert_epoch, (epoch, seed_commitment, sealed_seed, writer_ref))
            self._append(cursor, f"{EPOCH_STREAM}{epoch}", 1, [event_of(epoch, now)], now)
        return epoch

    def close_epochs(self, epochs: Sequence[int], closed_of: Callable[[int, int, int], EventBytes]) -> list[int]:
        """Close those of these epochs that are open and return their numbers."""
        with self._writing as cursor:
            return self._close_epochs(cursor, epochs, closed_of)

    def _close_epochs(self, cursor: Cursor, epochs: Sequence[int], closed_of: Callable[[int, int, int], EventBytes]) -> list[int]:
        closed = []
        for epoch in epochs:
            row = cursor.execute(self.writes.select_epoch, (epoch,)).fetchone()
            if row is None:
                continue
            now = self.clock()
            cursor.execute(self.writes.update_epoch_closing, (epoch,))
            self._append(cursor, f"{EPOCH_STREAM}{epoch}", 2, [closed_of(epoch, row[0], now)], now)
            closed.append(epoch)
        return closed

    def rotate_seed_key(self, event_of: Callable[[int], EventBytes], closed_of: Callable[[int, int, int], EventBytes]) -> list[int]:
        """Add an event to the ledger's own stream and close every open epoch; return their numbers."""
        with self._writing as cursor:
            version = cursor.execute(self.writes.select_last_version, (LEDGER_STREAM,)).fetchone()[0] + 1
            now = self.clock()
            self._append(cursor, LEDGER_STREAM, version, [event_of(now)], now)
            epochs = [row[0] for row in cursor.execute(self.writes.select_epochs_open, ()).fetchall()]
            return self._close_epochs(cursor, epochs, closed_of)

    def open_round(self, opening: Opening, event_of: Callable[[AccountRow, int, bytes | None, int], EventBytes]) -> OpenedRow:
        """Take the epoch's next nonce, the account's slot and the cost, and record the opening."""
        round_id, account_ref, game, cost_minor, external_ref, idempotency_key = opening[:6]
        with self._writing as cursor:
            if idempotency_key and (repeat := cursor.execute(self.reads["repeat"], (idempotency_key,)).fetchone()):
                return OpenedRow(repeat[0], repeat[1], True)
            row = cursor.execute(self.writes.select_account_opening, (opening.epoch, opening.seed_commitment, account_ref)).fetchone()
            if row is None:
                raise AccountUnknown(account_ref)
            account, nonce = AccountRow._make(row[:5]), row[5]
            if held := account.round_in_play or self._interrupted(cursor, account_ref, game):
                raise RoundInPlay(account_ref, held)
            bonus_minor = self._pay_by_bonus(cursor, account, cost_minor) if account.balance_minor < cost_minor else 0
            if nonce is None:
                raise EpochEnded(opening.epoch)
            if row[6] != opening.ledger_version:
                raise LedgerMoved
            settlement = self._left_state(cursor, account_ref, game) if opening.carries_state else None
            now = self.clock()
            event = event_of(account, nonce, settlement, now)
            balance = account.balance_minor - cost_minor + bonus_minor
            cursor.execute(self.writes.update_account_opening, (balance, round_id, account_ref))
            cursor.execute(self.writes.update_epoch_nonce, (opening.epoch,))
            cursor.execute(self.writes.insert_round, (round_id, account_ref, game, external_ref, idempotency_key))
            self._append(cursor, ROUND_STREAM + round_id, 1, [event], now)
        return OpenedRow(round_id, event.data, False)

    def _has_table(self, cursor: Cursor, table: str) -> bool:
        """Return whether there is one of the later tables: one that was seen is never looked for again."""
        if table not in self._tables_seen and has_table(cursor, self.reads, table):
            self._tables_seen.add(table)
        return table in self._tables_seen

    def _interrupted(self, cursor: Cursor, account_ref: str, game: str) -> str:
        """Return the round of this game that the account has interrupted, empty where there is none."""
        if not self._has_table(cursor, "interrupted_rounds"):
            return ""
        row = cursor.execute(self.writes.select_interrupted, (account_ref, game)).fetchone()
        return str(row[0]) if row else ""

    def _bonus(self, cursor: Cursor, account_ref: str) -> int:
        row = cursor.execute(self.writes.select_bonus, (account_ref,)).fetchone() if self._has_table(cursor, "bonuses") else None
        return int(row[0]) if row else 0

    def _pay_by_bonus(self, cursor: Cursor, account: AccountRow, cost_minor: int) -> int:
        """Take from an account's bonus money what its balance is short of, and return that; raises FundsShort."""
        bonus, missing = self._bonus(cursor, account.account_ref), cost_minor - account.balance_minor
        if bonus < missing:
            raise short_error(account, cost_minor, bonus)
        cursor.execute(self.writes.upsert_bonus, (account.account_ref, bonus - missing))
        return missing

    def _left_state(self, cursor: Cursor, account_ref: str, game: str) -> bytes | None:
        row = cursor.execute(self.writes.select_state, (account_ref, game)).fetchone() if has_table(cursor, self.reads, "states") else None
        return bytes(row[0]) if row else None

    def _round_in_play(self, cursor: Cursor, round_id: str, version_last: int, statuses: Sequence[str] = PLAYABLE) -> RoundInStore:
        """Return what is kept of a round; raises RoundUnknown, RoundNotOpen unless its status is one of these, VersionConflict."""
        row = cursor.execute(self.writes.select_round, (round_id,)).fetchone()
        if row is None:
            raise RoundUnknown(round_id, "it was never opened here")
        found = RoundInStore._make(row)
        if found.status not in statuses:
            raise RoundNotOpen(round_id, found.status)
        if found.version != version_last:  # somebody else has gone on with it
            raise VersionConflict(ROUND_STREAM + round_id, found.version + 1, version_last + 1)
        return found

    def settle_round(
        self,
        round_id: str,
        win_minor: int,
        events_of: Callable[[int, int], Sequence[EventBytes]],
        *,
        version_last: int = 1,
        leaves_state: bool = False,
    ) -> int:
        """Add a round's last events, credit the win, free the slot and return the balance."""
        with self._writing as cursor:
            found = self._round_in_play(cursor, round_id, version_last)
            balance = found.balance_minor + win_minor
            check_balance(found.account_ref, balance, found.currency)
            now = self.clock()
            events = events_of(balance, now)
            cursor.execute(self.writes.update_account_settling, (balance, found.account_ref))
            cursor.execute(self.writes.update_round, ("settled", version_last + len(events), round_id))
            if leaves_state:
                self._need_table(cursor, "states")
                cursor.execute(self.writes.upsert_state, (found.account_ref, found.game, round_id))
            self._append(cursor, ROUND_STREAM + round_id, version_last + 1, events, now)
        return int(balance)


def short_error(account: AccountRow, cost_minor: int, bonus_minor: int = 0) -> FundsShort:
    """Return the error that an account cannot pay, its bonus money included where that would count."""
    cost, balance = (amount_text(minor, account.currency) for minor in (cost_minor, account.balance_minor + bonus_minor))
    return FundsShort(account.account_ref, cost, balance, account.currency)
