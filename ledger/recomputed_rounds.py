"""What the rows of rounds must be as their events make them, held against those that the ledger keeps."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias

from ledger.store import ROUND_STREAM
from ledger.table_rows import PAGE_ROWS, TableRows, rows_in_pages

__all__ = ["KeptRounds", "MatchedRounds", "RowFault", "SettledRounds", "compared_row", "compared_values"]

# code, row, stream, want, got
RowFault: TypeAlias = tuple[str, str, str, str, str]


def compared_row(row: str, stream: str, names: tuple[str, ...], wanted: Sequence[Any], found: Sequence[Any]) -> Iterator[RowFault]:
    """Yield each value of a row that is not the wanted one."""
    for name, want, got in zip(names, wanted, found, strict=True):
        if want != got:
            yield "row", f"{name} in {row}", stream, str(want), str(got)


def compared_values(
    column: str, found: Iterable[tuple[str, str, Any]], wanted: Mapping[str, tuple[str, Any]], extra: str
) -> Iterator[RowFault]:
    """Yield where rows of one value each are not the wanted ones.

    found: name, stream and value of each row. wanted: by name the stream that a row is about, and its value. extra: what is wanted
    where there should be no row.
    """
    missing = dict(wanted)
    for row, found_stream, value in found:
        stream, want = missing.pop(row, (found_stream, None))
        if want is None:
            yield "row_extra", row, stream, extra, str(value)
        elif want != value:
            yield "row", f"{column} in {row}", stream, str(want), str(value)
    for row, (stream, _) in missing.items():
        yield "row_missing", row, stream, "a row", "none"


class SettledRounds(Protocol):
    """Takes what the row of each round must be, in the order in which they are settled."""

    def add(self, row: tuple[Any, ...]) -> None:
        """Take one, its columns as of `RoundRow`."""

    def go_on(self, round_id: str, version: int) -> None:
        """Take the version that a round has come to behind its settlement, by a correction or by what was shown."""


class MatchedRounds:
    """Tells whether the rows of rounds are the wanted ones, value for value and type for type, and keeps few of them."""

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows
        self._waiting: dict[str, tuple[Any, ...]] = {}  # by round, the latest last: most go on soon where they do
        self._count = 0
        self._are_stored = True
        self._others: dict[str, tuple[Any, ...]] = {}  # wanted when they were looked for and not stored: of rounds that go on later
        self._versions: dict[str, int] = {}  # that these have come to

    def add(self, row: tuple[Any, ...]) -> None:
        """Look for the row of one round, some time."""
        self._are_stored = self._are_stored and row[0] not in self._waiting
        self._waiting[row[0]] = row
        if len(self._waiting) >= 2 * PAGE_ROWS:
            self._match(PAGE_ROWS)

    def go_on(self, round_id: str, version: int) -> None:
        """Have another version wanted of the row of a round that has gone on behind its end."""
        if row := self._waiting.get(round_id):
            self._waiting[round_id] = (*row[:-1], version)
        elif self._are_stored:
            self._versions[round_id] = version
            self._are_stored = len(self._versions) <= PAGE_ROWS

    def _match(self, count: int) -> None:
        """Look for the rows of so many rounds, those that wait longest."""
        wanted = {round_id: self._waiting.pop(round_id) for round_id in [*islice(self._waiting, count)]}
        self._count += len(wanted)
        if wanted and self._are_stored:
            found = self._stored(list(wanted))
            if found != wanted:
                self._others |= {round_id: row for round_id, row in wanted.items() if found.get(round_id) != row}
                self._are_stored = len(self._others) <= PAGE_ROWS

    def _stored(self, round_ids: list[str]) -> dict[str, tuple[Any, ...]]:
        return {row[0]: row for row in self._rows.rounds_of(round_ids) or ()}

    def are_all(self) -> bool:
        """Return whether every row wanted is there, and no other."""
        while self._waiting:
            self._match(PAGE_ROWS)
        if not self._are_stored or self._others.keys() != self._versions.keys() or self._rows.round_count() != self._count:
            return False
        corrected = {round_id: (*row[:-1], self._versions[round_id]) for round_id, row in self._others.items()}
        return not corrected or self._stored(list(corrected)) == corrected


class KeptRounds:
    """Rounds on their way to be compared with their rows: a temporary table of SQLite's, which spills to disk by itself."""

    FIELDS = ("account_ref", "game", "external_ref", "idempotency_key", "status", "version")

    def __init__(self) -> None:
        # An empty name is a private database on disk that goes with its connection.
        self._kept = sqlite3.connect("")
        self._kept.execute(f"CREATE TABLE rounds (round_id TEXT PRIMARY KEY, {', '.join(self.FIELDS)}) WITHOUT ROWID")
        self._waiting: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Let go of the rounds kept."""
        self._kept.close()

    def add(self, row: tuple[Any, ...]) -> None:
        """Keep what the row of a round must be."""
        self._waiting.append(row)
        if len(self._waiting) >= PAGE_ROWS:
            self._write()

    def go_on(self, round_id: str, version: int) -> None:
        """Keep another version of a round."""
        self._write()
        self._kept.execute("UPDATE rounds SET version = ? WHERE round_id = ?", (version, round_id))

    def _write(self) -> None:
        self._kept.executemany("INSERT OR REPLACE INTO rounds VALUES (?,?,?,?,?,?,?)", self._waiting)
        self._waiting.clear()

    def compare(self, rows: TableRows) -> Iterator[RowFault]:
        """Yield where rows of `rounds` are not what the events make, walking both in the order of ids."""
        self._write()
        yield from ((fault.code, fault.row, fault.stream, fault.want, fault.got) for fault in rows.structure.type_faults("rounds"))
        wanted = self._kept.execute(f"SELECT round_id, {', '.join(self.FIELDS)} FROM rounds ORDER BY round_id")
        yield from self._compare_in_step(rows_in_pages(wanted), rows_in_pages(rows.rounds()))

    def _compare_in_step(self, wanted: Iterator[tuple[Any, ...]], found: Iterator[tuple[Any, ...]]) -> Iterator[RowFault]:
        want, got = next(wanted, None), next(found, None)
        while want is not None or got is not None:
            if got is None or (want is not None and want[0] < got[0]):
                assert want is not None
                yield "row_missing", f"rounds {want[0]}", ROUND_STREAM + want[0], "a row", "none"
                want = next(wanted, None)
            elif want is None or got[0] < want[0]:
                yield "row_extra", f"rounds {got[0]}", ROUND_STREAM + got[0], "no row without a round_opened", "one"
                got = next(found, None)
            else:
                yield from compared_row(f"rounds {want[0]}", ROUND_STREAM + want[0], self.FIELDS, want[1:], got[1:])
                want, got = next(wanted, None), next(found, None)
