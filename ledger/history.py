"""The read model: rounds as rows in an SQLite file of its own, made from the record and never the other way.

It remembers how many leaves it has seen. It can be removed at any time and built again from nothing; it is never written
in a round's transaction, and what it says counts only as far as it agrees with the rows recomputed from the events.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ledger.address import DatabaseAddress, LedgerPlace
from ledger.errors import HistoryMismatch, HistoryMissing, LedgerUnwritable
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
    "round_rows",
    "totals",
]

_TOPICS = ("round_opened/1", "round_settled/1")
_LEAVES_A_STEP = 20_000
_ROWS_A_STEP = 500


class RoundEntry(NamedTuple):
    """A round in the game history. Money in minor units, times in microseconds since 1970 UTC.

    Status is `open`, `settled`, or `unreadable` where its events are not what they should be; what is not there yet is 0.
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


class RoundFilter(NamedTuple):
    """What a round must be like to be listed; `until_us` is the first moment that is too late."""

    account_ref: str = ""
    since_us: int | None = None
    until_us: int | None = None
    game: str = ""
    external_ref: str = ""
    win_min_minor: int | None = None
    status: str = ""

    def takes(self, entry: RoundEntry) -> bool:
        """Return whether the round is listed."""
        return (
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
    """A field for which the read model says other than the record: `want` is recomputed from the events."""

    round_id: str
    field: str
    want: str
    got: str


class Total(NamedTuple):
    """What rounds of one currency cost and won."""

    round_count: int
    cost_minor: int
    win_minor: int


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


def totals(entries: Iterable[RoundEntry]) -> dict[str, Total]:
    """Return the totals of the entries by currency."""
    sums: dict[str, Total] = {}
    for entry in entries:
        total = sums.get(entry.currency, Total(0, 0, 0))
        sums[entry.currency] = Total(total.round_count + 1, total.cost_minor + entry.cost_minor, total.win_minor + entry.win_minor)
    return sums


def _entry(ledger: RoundLedger, record: RoundRecord) -> RoundEntry:
    try:
        opened = json.loads(record.events[0].data)
        settled = json.loads(record.events[1].data) if len(record.events) == 2 else None
        return _readable_entry(record.round_id, opened, settled)
    except (ValueError, KeyError, TypeError, IndexError):
        row = ledger.store.round(record.round_id)
        account_ref, game, external_ref = (row.account_ref, row.game, row.external_ref) if row else ("", "", "")
        return RoundEntry(record.round_id, account_ref, game, "", "", 0, 0, 0, 0, 0, "", 0, 0, 0, 0, "unreadable", external_ref)


def _readable_entry(round_id: str, opened: dict[str, Any], settled: dict[str, Any] | None) -> RoundEntry:
    if opened["kind"] != "round_opened" or (settled and settled["kind"] != "round_settled"):
        raise ValueError("not the events that their topics name")
    amounts = ("total_win_minor", "base_win_minor", "feature_win_minor", "balance_after_minor", "settled_at_us")
    unsettled = (0, 0, 0, _whole(opened, "balance_before_minor") - _whole(opened, "cost_minor"), 0)
    win, base, features, balance_after, settled_at = (_whole(settled, name) for name in amounts) if settled else unsettled
    return RoundEntry(
        round_id=round_id,
        account_ref=str(opened["account_ref"]),
        game=str(opened["game"]),
        rules_version=str(opened["rules_version"]),
        mode=str(opened["mode"]),
        bet_minor=_whole(opened, "bet_minor"),
        cost_minor=_whole(opened, "cost_minor"),
        win_minor=win,
        base_win_minor=base,
        feature_win_minor=features,
        currency=str(opened["currency"]),
        balance_before_minor=_whole(opened, "balance_before_minor"),
        balance_after_minor=balance_after,
        opened_at_us=_whole(opened, "opened_at_us"),
        settled_at_us=settled_at,
        status="settled" if settled else "open",
        external_ref=str(opened["external_ref"]),
    )


def _whole(event: dict[str, Any], name: str) -> int:
    value = event[name]
    if type(value) is not int:
        raise TypeError(name)
    return value


def build(ledger: RoundLedger, path: Path) -> int:
    """Bring the read model up to date, making it where there is none, and return the number of rounds written.

    Raises HistoryMismatch for the file of another ledger, LedgerUnwritable.
    """
    import sqlite_utils

    ledger_id = ledger.created().ledger_id
    try:
        if path.exists():
            _check_owner(path, ledger_id)
        database = sqlite_utils.Database(path)
        try:
            # Many small commits need not wait for the disk: what a power cut spoils is built again from the record.
            database.execute("PRAGMA synchronous=OFF")
            return _build(ledger, database, ledger_id)
        finally:
            database.close()
    except (sqlite3.Error, OSError) as error:
        raise LedgerUnwritable(str(path), str(error)) from error


def _build(ledger: RoundLedger, database: Any, ledger_id: str) -> int:
    rounds, position = database.table("rounds", pk="round_id"), database.table("position", pk="ledger_id")
    if not position.exists():
        columns = {name: int if name.endswith(("_minor", "_us")) else str for name in RoundEntry._fields}
        rounds.create(columns, pk="round_id", if_not_exists=True)
        rounds.create_index(["account_ref", "opened_at_us"], if_not_exists=True)
        rounds.create_index(["external_ref"], if_not_exists=True)
        position.create({"ledger_id": str, "leaf_count": int}, pk="ledger_id")
        position.insert({"ledger_id": ledger_id, "leaf_count": 0})
    seen = position.get(ledger_id)["leaf_count"]
    tree_size, written = ledger.store.tree_size(), 0
    # Rows come before the position that covers them: cut off in between, the same rows are written again.
    while seen < tree_size:
        leaf_end = min(seen + _LEAVES_A_STEP, tree_size)
        streams = ledger.store.streams_touched(seen, leaf_end)
        records = ledger.store.records_of(streams, topics=_TOPICS)
        rounds.insert_all((_entry(ledger, record)._asdict() for record in records), pk="round_id", replace=True)
        position.upsert({"ledger_id": ledger_id, "leaf_count": leaf_end}, pk="ledger_id")
        written += len(streams)
        seen = leaf_end
    return written


def _check_owner(path: Path, ledger_id: str) -> int:
    """Return how many leaves the read model has seen; raises HistoryMismatch unless it is this ledger's."""
    expected = f"that of ledger {ledger_id}"
    try:
        connection = _connect(path)
        try:
            rows = connection.execute("SELECT ledger_id, leaf_count FROM position").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise HistoryMismatch(str(path), expected, "a file that is no read model") from error
    if len(rows) != 1 or rows[0][0] != ledger_id:
        raise HistoryMismatch(str(path), expected, f"that of {', '.join(str(row[0]) for row in rows) or 'no ledger'}")
    return int(rows[0][1])


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect("file:" + quote(str(path.absolute())) + "?mode=ro", uri=True)


def compare(ledger: RoundLedger, path: Path) -> list[Difference]:
    """Return where the read model differs from the rows recomputed from events, as far as it has been built.

    Raises HistoryMissing, HistoryMismatch.
    """
    if not path.exists():
        raise HistoryMissing(str(path))
    seen = _check_owner(path, ledger.created().ledger_id)
    connection = _connect(path)
    try:
        return [*_differing_rows(ledger, connection, seen), *_rows_of_no_round(ledger, connection)]
    except sqlite3.Error as error:
        raise HistoryMismatch(str(path), "readable rows", str(error)) from error
    finally:
        connection.close()


def _differing_rows(ledger: RoundLedger, connection: sqlite3.Connection, seen: int) -> Iterator[Difference]:
    statement = f"SELECT {', '.join(RoundEntry._fields)} FROM rounds WHERE round_id = ?"
    for record in ledger.store.round_records(topics=_TOPICS):
        if not record.appends or record.appends[-1].leaf_index >= seen:
            continue  # the read model has not come to it
        want, got = _entry(ledger, record), connection.execute(statement, (record.round_id,)).fetchone()
        if got is None:
            yield Difference(record.round_id, "row", "one", "none")
            continue
        for name, recomputed, shown in zip(RoundEntry._fields, want, got, strict=True):
            if recomputed != shown:
                yield Difference(record.round_id, name, str(recomputed), str(shown))


def _rows_of_no_round(ledger: RoundLedger, connection: sqlite3.Connection) -> Iterator[Difference]:
    cursor = connection.execute("SELECT round_id FROM rounds ORDER BY round_id")
    while page := cursor.fetchmany(_ROWS_A_STEP):
        streams = [ROUND_STREAM + str(row[0]) for row in page]
        for record in ledger.store.records_of(streams, topics=_TOPICS):
            if not record.events and not record.appends:
                yield Difference(record.round_id, "row", "none", "one")
