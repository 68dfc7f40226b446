"""The read model: rounds as rows in an SQLite file of its own, made from the record and never the other way.

It remembers how many leaves it has seen. It can be removed at any time and built again from nothing; it is never written
in a round's transaction, and what it says counts only as far as it agrees with the rows recomputed from the events.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from engines.canonical import INTEGER_MAX
from ledger.address import DatabaseAddress, LedgerPlace
from ledger.errors import LedgerUnwritable
from ledger.history_errors import HistoryMismatch, HistoryMissing
from ledger.legs import STANDING_TOPICS, standing_of
from ledger.postgres_errors import HistoryUnnamed
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM, RoundRecord

__all__ = [
    "ALL_ROUNDS",
    "Difference",
    "RoundEntry",
    "RoundFilter",
    "Total",
    "build",
    "compare",
    "default_history_path",
    "is_history",
    "round_row",
    "round_rows",
    "totals",
]

_TOPICS = ("round_opened/1", *STANDING_TOPICS)
_LEAVES_A_STEP = 20_000
_ROWS_A_STEP = 500


class RoundEntry(NamedTuple):
    """A round in the game history. Money in minor units, times in microseconds since 1970 UTC.

    Status is `open`, `waiting` for a choice, `interrupted`, `settled`, `voided`, or `unreadable` where its events are not what they
    should be; what is not there yet is 0. refund_minor is what a void gave back, bonus money included.
    """

    round_id: str
    account_ref: str
    game: str
    rules_version: str
    mode: str
    bet_minor: int
    cost_minor: int
    win_minor: int
    base_win_minor: int
    feature_win_minor: int
    currency: str
    balance_before_minor: int
    balance_after_minor: int
    opened_at_us: int
    settled_at_us: int
    status: str
    external_ref: str
    refund_minor: int


_INSERT_ROW = f"INSERT OR REPLACE INTO rounds ({', '.join(RoundEntry._fields)}) VALUES ({', '.join('?' * len(RoundEntry._fields))})"


class RoundFilter(NamedTuple):
    """What a round must be like to be listed; `until_us` is the first moment that is too late.

    A round that cannot be read may be any: it is always listed, so that nobody can hide one by damaging it.
    """

    account_ref: str = ""
    since_us: int | None = None
    until_us: int | None = None
    game: str = ""
    external_ref: str = ""
    win_min_minor: int | None = None
    status: str = ""

    def takes(self, entry: RoundEntry) -> bool:
        """Return whether the round is listed."""
        return entry.status == "unreadable" or (
            self.account_ref in ("", entry.account_ref)
            and (self.since_us is None or entry.opened_at_us >= self.since_us)
            and (self.until_us is None or entry.opened_at_us < self.until_us)
            and self.game in ("", entry.game)
            and self.external_ref in ("", entry.external_ref)
            and (self.win_min_minor is None or entry.win_minor >= self.win_min_minor)
            and self.status in ("", entry.status)
        )


ALL_ROUNDS = RoundFilter()


class Difference(NamedTuple):
    """A field for which the read model says other than the record: `want` is recomputed from the events.

    `round_id` is empty where it is about the read model as a whole.
    """

    round_id: str
    field: str
    want: str
    got: str

    @property
    def message(self) -> str:
        """The difference in one sentence."""
        place = f"round {self.round_id}, {self.field}" if self.round_id else self.field
        return f"{place}: want {self.want}, got {self.got}"


class Total(NamedTuple):
    """What rounds of one currency cost and won, and what of the cost was given back by voids."""

    round_count: int
    cost_minor: int
    win_minor: int
    refund_minor: int = 0


def default_history_path(ledger: LedgerPlace) -> Path:
    """Return where the read model of a ledger lies unless another place is named; raises HistoryUnnamed for a database."""
    if isinstance(ledger, DatabaseAddress):
        raise HistoryUnnamed(str(ledger))
    return ledger.with_name(ledger.name + ".history.db")


def round_rows(ledger: RoundLedger, wanted: RoundFilter = ALL_ROUNDS) -> Iterator[RoundEntry]:
    """Iterate over the rounds that are wanted, recomputed from events, in the order of opening."""
    for record in ledger.store.round_records(topics=_TOPICS):
        entry = _entry(ledger, record)
        if wanted.takes(entry):
            yield entry


def round_row(ledger: RoundLedger, record: RoundRecord) -> RoundEntry:
    """Return a round's row, recomputed from its stream as it was read."""
    return _entry(ledger, record._replace(events=tuple(event for event in record.events if event.topic in _TOPICS)))


def totals(entries: Iterable[RoundEntry]) -> dict[str, Total]:
    """Return the totals of the entries by currency."""
    sums: dict[str, Total] = {}
    for entry in entries:
        total = sums.get(entry.currency, Total(0, 0, 0))
        amounts = (total.cost_minor + entry.cost_minor, total.win_minor + entry.win_minor, total.refund_minor + entry.refund_minor)
        sums[entry.currency] = Total(total.round_count + 1, *amounts)
    return sums


def _as_of(record: RoundRecord, leaf_end: int) -> RoundRecord:
    """Return what was recorded of a round before the leaf `leaf_end`."""
    later = [append for append in record.appends if append.leaf_index >= leaf_end]
    if not later:
        return record
    version_end = min(append.version_first for append in later)
    appends = tuple(append for append in record.appends if append.leaf_index < leaf_end)
    return record._replace(appends=appends, events=tuple(event for event in record.events if event.version < version_end))


def _entry(ledger: RoundLedger, record: RoundRecord) -> RoundEntry:
    try:
        opened, *more = [json.loads(event.data) for event in record.events]
        if not all(isinstance(event, dict) for event in (opened, *more)):
            raise ValueError("not events")
        ends = [event for event in more if event["kind"] in ("round_settled", "round_voided")]
        if len(ends) > 1 or (ends and ends[0] is not more[-1]):
            raise ValueError("not one opening and one end")
        kinds = [f"{event['kind']}/{event['v']}" for event in (opened, *more)]
        if kinds != [event.topic for event in record.events]:
            raise ValueError("not the events that their topics name")
        return _readable_entry(record.round_id, opened, ends[0] if ends else None, standing_of(record.events[1:]))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        row = ledger.store.round(record.round_id)
        account_ref, game, external_ref = (str(row.account_ref), str(row.game), str(row.external_ref)) if row else ("", "", "")
        return RoundEntry(record.round_id, account_ref, game, "", "", 0, 0, 0, 0, 0, "", 0, 0, 0, 0, "unreadable", external_ref, 0)


def _readable_entry(round_id: str, opened: dict[str, Any], end: dict[str, Any] | None, status: str) -> RoundEntry:
    if opened["kind"] != "round_opened":
        raise ValueError("not an opening")
    win, base, features, ended_at, refund = 0, 0, 0, 0, 0
    balance_after = _whole(opened, "balance_before_minor") - _whole(opened, "cost_minor") + _whole(opened, "bonus_minor")
    if end is not None and status == "settled":
        win, base, features, ended_at = (
            _whole(end, name) for name in ("total_win_minor", "base_win_minor", "feature_win_minor", "settled_at_us")
        )
    elif end is not None:
        refund, ended_at = _whole(end, "refund_minor") + _whole(end, "refund_bonus_minor"), _whole(end, "voided_at_us")
    if end is not None:
        balance_after = _whole(end, "balance_after_minor")
    return RoundEntry(
        round_id=round_id,
        account_ref=_text(opened, "account_ref"),
        game=_text(opened, "game"),
        rules_version=_text(opened, "rules_version"),
        mode=_text(opened, "mode"),
        bet_minor=_whole(opened, "bet_minor"),
        cost_minor=_whole(opened, "cost_minor"),
        win_minor=win,
        base_win_minor=base,
        feature_win_minor=features,
        currency=_text(opened, "currency"),
        balance_before_minor=_whole(opened, "balance_before_minor"),
        balance_after_minor=balance_after,
        opened_at_us=_whole(opened, "opened_at_us"),
        settled_at_us=ended_at,
        status=status,
        external_ref=_text(opened, "external_ref"),
        refund_minor=refund,
    )


def _whole(event: dict[str, Any], name: str) -> int:
    value = event[name]
    if type(value) is not int:
        raise TypeError(name)
    if not 0 <= value <= INTEGER_MAX:
        raise ValueError(name)
    return value


def _text(event: dict[str, Any], name: str) -> str:
    value = event[name]
    if not isinstance(value, str):
        raise TypeError(name)
    value.encode()  # half of a pair is no text, and no database takes it
    return value


def is_history(path: Path) -> bool:
    """Return whether there is a file of a read model at `path`; an empty file is none."""
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def build(ledger: RoundLedger, path: Path, *, say: Callable[[str], None] | None = None) -> int:
    """Bring the read model up to date, making it where there is none, and return the number of rounds written.

    One that has lost rows, or has come to leaves that there are none of, is made anew, and `say` is called with the reason.
    A file that was not there before is not left behind where the build fails before it is of use.
    Raises HistoryMismatch for the file of another ledger, LedgerUnwritable.
    """
    ledger_id = ledger.created().ledger_id
    discarded = ""
    try:
        is_new = not is_history(path)
        if not is_new:
            discarded = _why_useless(path, _check_owner(path, ledger_id, mode="rw"), ledger.store.tree_size())
        if discarded:
            path.unlink()
            if say:
                say(discarded)
        try:
            return _write(ledger, path, ledger_id)
        except BaseException:
            if (is_new or discarded) and not _has_position(path):
                path.unlink(missing_ok=True)
            raise
    except (sqlite3.Error, OSError) as error:
        raise LedgerUnwritable(str(path), str(error)) from error


def _why_useless(path: Path, leaf_count: int, tree_size: int) -> str:
    """Return why a read model cannot be taken up where it was left, empty where it can."""
    if leaf_count > tree_size:
        return f"it had come to leaf {leaf_count} of a tree of {tree_size}"
    connection = _connect(path)
    try:
        known = connection.execute("SELECT row_count FROM position").fetchone()[0]
        found = connection.execute("SELECT COUNT(*) FROM rounds").fetchone()[0]
        columns = [row[1] for row in connection.execute("PRAGMA table_info(rounds)")]
    except sqlite3.Error as error:
        return f"it is not of this form ({error})"
    finally:
        connection.close()
    if columns != list(RoundEntry._fields):
        return "it is of an earlier form"
    return f"it had {found} rows of {known}" if not isinstance(known, int) or found < known else ""


def _has_position(path: Path) -> bool:
    try:
        connection = _connect(path)
        try:
            return connection.execute("SELECT 1 FROM position").fetchone() is not None
        finally:
            connection.close()
    except sqlite3.Error:
        return False


def _write(ledger: RoundLedger, path: Path, ledger_id: str) -> int:
    import sqlite_utils

    database = sqlite_utils.Database(path)
    try:
        # Many small commits need not wait for the disk: what a power cut spoils is built again from the record.
        database.execute("PRAGMA synchronous=OFF")
        return _write_rows(ledger, database, ledger_id)
    finally:
        database.close()


def _write_rows(ledger: RoundLedger, database: Any, ledger_id: str) -> int:
    rounds, position = database.table("rounds", pk="round_id"), database.table("position", pk="ledger_id")
    if not position.exists():
        columns = {name: int if name.endswith(("_minor", "_us")) else str for name in RoundEntry._fields}
        rounds.create(columns, pk="round_id", if_not_exists=True)
        rounds.create_index(["account_ref", "opened_at_us"], if_not_exists=True)
        rounds.create_index(["external_ref"], if_not_exists=True)
        position.create({"ledger_id": str, "leaf_count": int, "row_count": int}, pk="ledger_id")
        position.insert({"ledger_id": ledger_id, "leaf_count": 0, "row_count": 0})
    seen, written = position.get(ledger_id)["leaf_count"], 0
    # By leaves that are there, not by their numbers: one that was altered may be of any size.
    while leaves := list(islice(ledger.store.leaf_hashes(seen), _LEAVES_A_STEP)):
        leaf_end = leaves[-1][0] + 1
        streams = ledger.store.streams_touched(seen, leaf_end)
        records = ledger.store.records_of(streams, topics=_TOPICS)
        # Rows and the mark that covers them are one transaction, so that a row beyond the mark is nobody's but an alterer's.
        with database.conn:
            database.conn.executemany(_INSERT_ROW, (_entry(ledger, _as_of(record, leaf_end)) for record in records))
            database.conn.execute("UPDATE position SET leaf_count = ?, row_count = (SELECT COUNT(*) FROM rounds)", (leaf_end,))
        written += len(streams)
        seen = leaf_end
    return written


def _check_owner(path: Path, ledger_id: str, *, mode: str = "ro") -> int:
    """Return how many leaves the read model has seen; raises HistoryMismatch unless it is this ledger's."""
    expected = f"that of ledger {ledger_id}"
    try:
        connection = _connect(path, mode)  # to write, what a build that was killed left half done is undone first
        try:
            rows = connection.execute("SELECT ledger_id, leaf_count FROM position").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise HistoryMismatch(str(path), expected, "a file that is no read model") from error
    if len(rows) != 1 or rows[0][0] != ledger_id:
        raise HistoryMismatch(str(path), expected, f"that of {', '.join(str(row[0]) for row in rows) or 'no ledger'}")
    leaf_count = rows[0][1]
    if not isinstance(leaf_count, int) or leaf_count < 0:
        raise HistoryMismatch(str(path), "a number of leaves that it has come to", repr(leaf_count)[:80])
    return leaf_count


def _connect(path: Path, mode: str = "ro") -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}", uri=True)


def compare(ledger: RoundLedger, path: Path) -> list[Difference]:
    """Return where the read model differs from the rows recomputed from events as of the leaf that it says it has come to.

    A row of a round that was opened later, and a leaf that there is none of, are differences too: a mark that was moved hides
    nothing. Raises HistoryMissing, HistoryMismatch.
    """
    if not is_history(path):
        raise HistoryMissing(str(path))
    seen = _check_owner(path, ledger.created().ledger_id)
    connection = _connect(path)
    try:
        marks = _differing_mark(ledger, seen)
        return [*marks, *_differing_rows(ledger, connection, seen), *_rows_of_no_round(ledger, connection)]
    except sqlite3.Error as error:
        raise HistoryMismatch(str(path), "readable rows", str(error)) from error
    finally:
        connection.close()


def _differing_mark(ledger: RoundLedger, seen: int) -> list[Difference]:
    size = ledger.store.tree_size()
    return [Difference("", "leaf_count", f"{size} at most", str(seen))] if seen > size else []


def _differing_rows(ledger: RoundLedger, connection: sqlite3.Connection, seen: int) -> Iterator[Difference]:
    statement = f"SELECT {', '.join(RoundEntry._fields)} FROM rounds WHERE round_id = ?"
    for record in ledger.store.round_records(topics=_TOPICS):
        if not record.appends:
            continue
        rows = connection.execute(statement, (record.round_id,)).fetchall()
        if record.appends[0].leaf_index >= seen:
            if rows:
                yield Difference(record.round_id, "row", f"none up to leaf {seen}", "one" if len(rows) == 1 else str(len(rows)))
            continue
        if len(rows) != 1:
            yield Difference(record.round_id, "row", "one", str(len(rows) or "none"))
            continue
        yield from _differing_fields(_entry(ledger, _as_of(record, seen)), rows[0])


def _differing_fields(want: RoundEntry, got: tuple[Any, ...]) -> Iterator[Difference]:
    for name, recomputed, shown in zip(RoundEntry._fields, want, got, strict=True):
        if (type(recomputed), recomputed) != (type(shown), shown):  # 1.0 is not 1 in a column of money
            yield Difference(want.round_id, name, str(recomputed), str(shown))


def _rows_of_no_round(ledger: RoundLedger, connection: sqlite3.Connection) -> Iterator[Difference]:
    cursor = connection.execute("SELECT round_id FROM rounds ORDER BY round_id")
    while page := cursor.fetchmany(_ROWS_A_STEP):
        streams = [ROUND_STREAM + str(row[0]) for row in page]
        for record in ledger.store.records_of(streams, topics=_TOPICS):
            if not record.events and not record.appends:
                yield Difference(record.round_id, "row", "none", "one")
