"""The integrity of a whole ledger: every byte, version, leaf, node and row against what the events say.

It shares nothing with the code that writes but the hashing of `merkle.py`. It goes on after a finding, holds no more in
memory than the accounts, epochs and rounds in play, and reads everything once, in the order of the record; where rows of
rounds are not what they should be once more, to name them.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from engines.canonical import strict_values
from ledger.address import LedgerPlace
from ledger.certain_stretches import certain_stretches
from ledger.event_forms import FOLDED, KINDS, agreeing_values, has_its_fields, taken_values, wrong_fields
from ledger.faults import EventFault, Fault
from ledger.later_tables import LATER_TABLES
from ledger.merkle import BLOCK_LEAVES, append_leaf, leaf_bytes, leaf_hash, root_of_peaks
from ledger.over_rounds import OverRounds
from ledger.ranges import RANGE_LEAVES, stretches_of_ranges
from ledger.recomputed import Recomputed
from ledger.recomputed_rounds import KeptRounds, MatchedRounds, RowFault, SettledRounds
from ledger.store import ROUND_STREAM, LeafRow
from ledger.stretch import STRETCH_LEAVES, StoredNodes, Stretch, clean_stretches
from ledger.table_rows import NumberedRow, TableRows, rows_in_pages, table_rows

__all__ = ["Fault", "FsckResult", "check_ledger", "leaf_count"]

APPEND_EVENTS_MAX = 10_000_000
LEAF_MISSING_MAX = 1000
RANGES_MIN = 16  # from which on machine code, or processes, pay off
BEHIND_THE_END = ("correction_recorded/1", "presentation_sent/1", "presentation_acked/1")  # what may come of a round that is over


class FsckResult(NamedTuple):
    """What a pass counted, and the root over all leaves as recomputed from the events' own bytes."""

    event_count: int
    leaf_count: int
    round_count: int
    root: bytes


class _Events:
    """The events in the order of their rows, with one row of look-ahead."""

    def __init__(self, rows: TableRows, after: int | None) -> None:
        self._rows = map(NumberedRow._make, rows_in_pages(rows.events(after)))
        self.next: NumberedRow | None = None
        self.advance()

    def advance(self) -> None:
        """Go on to the next row."""
        self.next = next(self._rows, None)


def _order_fault(row: NumberedRow) -> Fault:
    return Fault(
        "event_order", f"stored_events row {row.row_number}", row.stream, row.version - 1, "a row in the order of the leaves", "another"
    )


class _Nodes:
    """The stored inner nodes, level by level in the order of their index; of those below the first leaf nothing is said.

    Those of complete blocks must be there; of the block after them some or all may be.
    """

    def __init__(self, rows: TableRows, first_leaf: int) -> None:
        self._rows, self._first_leaf = rows, first_leaf
        leaf_count = rows.leaf_count()
        self._stored_end = leaf_count - leaf_count % BLOCK_LEAVES
        self._levels: dict[Any, Iterator[tuple[int, bytes]]] = {}
        self._waiting: dict[Any, tuple[int, bytes] | None] = {}

    def _fetch(self, level: Any) -> tuple[int, bytes] | None:
        if level not in self._levels:
            is_seen = isinstance(level, int) and 1 <= level <= self._first_leaf.bit_length()
            first = self._first_leaf >> level if is_seen else 0
            self._levels[level] = rows_in_pages(self._rows.nodes(level, first or None))
            self._advance(level)
        return self._waiting[level]

    def _advance(self, level: Any) -> None:
        self._waiting[level] = next(self._levels[level], None)

    def compare(self, level: int, node_index: int, node: bytes) -> Iterator[Fault]:
        """Yield what is wrong with the stored node at a place, and any before it that should not be there."""
        row = f"nodes level {level}, index {node_index}"
        while (stored := self._fetch(level)) is not None and stored[0] < node_index:
            yield Fault("node_extra", f"nodes level {level}, index {stored[0]}", "", -1, "no such node", stored[1].hex())
            self._advance(level)
        if stored is None or stored[0] > node_index:
            if node_index + 1 << level <= self._stored_end:
                yield Fault("node_missing", row, "", -1, node.hex(), "none")
            return
        if stored[1] != node:
            yield Fault("node", row, "", -1, node.hex(), stored[1].hex())
        self._advance(level)

    def rest(self) -> Iterator[Fault]:
        """Yield the nodes that no leaf has finished."""
        for level in self._rows.node_levels():
            while (stored := self._fetch(level)) is not None:
                yield Fault("node_extra", f"nodes level {level}, index {stored[0]}", "", -1, "no such node", stored[1].hex())
                self._advance(level)


class _Walk:
    """One pass over leaves and events together."""

    def __init__(
        self, place: LedgerPlace, rows: TableRows, settled: SettledRounds, held_roots: Iterable[tuple[int, bytes]], job_count: int
    ) -> None:
        self._place, self._rows, self._job_count = place, rows, job_count
        self._held_roots: dict[int, list[bytes]] = {}
        for size, root in held_roots:
            self._held_roots.setdefault(size, []).append(root)
        self._displaced: set[tuple[str, int]] = set()  # met before their row
        self._early: set[tuple[str, int]] = set()  # their row was met before they were due
        self._peaks: list[bytes] = []
        self._last_versions: dict[str, int] = {}
        self._last_number: int | None = None  # of the rows of events that were gone over in bulk
        self.recomputed = Recomputed(settled, OverRounds(rows.settled_version))
        self.event_count = 0
        self.leaf_count = 0

    def faults(self) -> Iterator[Fault | None]:
        """Yield every fault in the order of the record, and None after each leaf."""
        yield from self._follow_clean_stretches()
        is_clean = self.leaf_count == self._rows.leaf_count()
        self._rows.structure.allow_any_text(is_allowed=True)
        for step in self._go_leaf_by_leaf():
            is_clean = is_clean and step is None
            yield step
        if not is_clean:  # the types of what was gone over in bulk are right
            for table in ("stored_events", "leaves", "nodes"):
                yield from self._rows.structure.type_faults(table)

    def _go_leaf_by_leaf(self) -> Iterator[Fault | None]:
        self._events = _Events(self._rows, self._last_number)
        self._nodes = _Nodes(self._rows, self.leaf_count)
        for row in rows_in_pages(self._rows.leaves(self.leaf_count or None)):
            yield from self._check_leaf(LeafRow._make(row))
            yield None
        yield from self._skip_extra(None)
        yield from self._nodes.rest()
        for size, root in sorted((size, root) for size, roots in self._held_roots.items() for root in roots):
            yield Fault("checkpoint_tree_short", "leaves", "", -1, f"{size} leaves, root {root.hex()}", f"{self.leaf_count} leaves")

    def _follow_clean_stretches(self) -> Iterator[Fault | None]:
        """Go over the ledger in bulk, up to the first stretch in which a leaf, an event's place or form, or a node is wrong."""
        nodes = StoredNodes(self._rows)
        level_first = STRETCH_LEAVES.bit_length() - 1
        for stretch in self._clean_stretches():
            if self._last_number is not None and self._rows.number_after(self._last_number) != stretch.number_first:
                return
            peaks = [*self._peaks, *stretch.peaks]
            if len(stretch.ends) == STRETCH_LEAVES:
                peaks, finished = append_leaf(self._peaks, self.leaf_count // STRETCH_LEAVES, stretch.peaks[0])
                if not all(nodes.are_next(level_first + node.level, node.node_index, [node.node_hash]) for node in finished):
                    return
            self._last_number = stretch.number_last
            yield from self._follow(stretch)
            self._peaks = peaks

    def _clean_stretches(self) -> Iterator[Stretch]:
        range_count = self._rows.leaf_count() // RANGE_LEAVES if self._job_count > 1 else 0
        if range_count >= RANGES_MIN:
            certain = certain_stretches(self._place, self._rows) if isinstance(self._place, Path) else None
            yield from certain or stretches_of_ranges(self._place, range_count, self._job_count)
            if certain is None and self.leaf_count < range_count * RANGE_LEAVES:
                return
        yield from clean_stretches(self._rows, self.leaf_count)

    def _follow(self, stretch: Stretch) -> list[Fault | None]:
        """Take what the events of a stretch say, leaf by leaf, and hold the tree against each checkpoint that falls in it."""
        is_held = any(self.leaf_count < size <= self.leaf_count + len(stretch.ends) for size in self._held_roots)
        self.event_count += stretch.ends[-1]
        found: list[Fault | None] = []
        folded = iter((*stretch.folded, (stretch.ends[-1], "", None)))
        place, kind, values = next(folded)
        last_versions, take, in_play = self._last_versions, self.recomputed.take, self.recomputed.rounds
        go_on = self.recomputed.over.go_on
        leaves = zip(*stretch[:5], strict=True)
        for leaf_index, (stream, version_first, version_last, leaf_hash_, end) in enumerate(leaves, self.leaf_count):
            if version_first != last_versions.get(stream, 0) + 1:
                found += self._versions_faults(leaf_index, stream, version_first, version_last)
            last_versions[stream] = version_last
            while place < end:
                version = version_last - (end - 1 - place)
                if faults := take(stream, version, kind, values, leaf_index):
                    found += (_fold_fault(stream, version, fault) for fault in faults)
                place, kind, values = next(folded)
            self.leaf_count += 1
            if is_held:
                self._peaks, _ = append_leaf(self._peaks, leaf_index, leaf_hash_)
                found += self._hold()
            # As `_forget_settled`, without a call for each leaf.
            if stream[:6] == ROUND_STREAM and stream[6:] not in in_play:
                last_versions.pop(stream, None)
                go_on(stream, version_last)
            found.append(None)
        return found

    def root(self) -> bytes:
        """Return the root over the leaves seen so far, recomputed."""
        return root_of_peaks(self._peaks)

    def _check_leaf(self, leaf: LeafRow) -> Iterator[Fault]:
        row = f"leaves {leaf.leaf_index}"
        if leaf.leaf_index != self.leaf_count:
            yield Fault("leaf_gap", row, leaf.stream, -1, f"leaf {self.leaf_count}", f"leaf {leaf.leaf_index}")
        yield from self._versions_faults(*leaf[:4])
        self._last_versions[leaf.stream] = leaf.version_last
        form: list[bytes] = []
        missing_count = 0
        for version in range(leaf.version_first, min(leaf.version_last, leaf.version_first + APPEND_EVENTS_MAX) + 1):
            event = self._events.next
            if event is not None and event[2] == version and event[1] == leaf.stream:
                self._events.advance()
            else:
                found, faults = self._take(leaf, version)
                yield from faults
                if found is None:
                    missing_count += 1
                    if missing_count > LEAF_MISSING_MAX or version > self._rows.last_version(leaf.stream):
                        break  # what the leaf covers beyond the stream's end is one fault, and a gap without end is no more
                    continue
                event = found
            data = event[4]
            form += (len(data).to_bytes(4, "big"), data)
            values = agreeing_values(event[3], data)
            if values is None:
                yield _form_fault(event)
            elif not has_its_fields(values):
                yield _fold_fault(leaf.stream, version, wrong_fields(values))
            elif version == 1 or event[3] in FOLDED:
                for fault in self.recomputed.take(leaf.stream, version, KINDS[event[3]], taken_values(values), leaf.leaf_index):
                    yield _fold_fault(leaf.stream, version, fault)
        self.event_count += len(form) // 2
        digest = hashlib.sha256(b"".join(form)).digest()
        recomputed = leaf_hash(leaf_bytes(leaf.stream, leaf.version_first, leaf.version_last, leaf.recorded_at_us, digest))
        if recomputed != leaf.leaf_hash and not missing_count:
            yield Fault("leaf", row, leaf.stream, leaf.version_first - 1, leaf.leaf_hash.hex(), recomputed.hex())
        yield from self._grow(recomputed)
        self._forget_settled(leaf.stream, leaf.version_last)

    def _versions_faults(self, leaf_index: int, stream: str, version_first: int, version_last: int) -> Iterator[Fault]:
        """Yield where a leaf's versions do not go on from those that its stream has come to.

        A settled round has ended and is forgotten, but a correction, or what was shown of it, goes on from the version that it
        has come to.
        """
        last = self._last_versions.get(stream, 0)
        if not last and 1 < version_first <= version_last and stream.startswith(ROUND_STREAM):
            may_come = self._rows.are_of_topics(stream, version_first, version_last, BEHIND_THE_END)
            last = self.recomputed.over.version(stream, leaf_index) if may_come else 0
        if version_first != last + 1 or version_last < version_first:
            got = f"{version_first} to {version_last}"
            yield Fault("leaf_versions", f"leaves {leaf_index}", stream, -1, f"versions from {last + 1}", got)

    def _grow(self, leaf: bytes) -> Iterator[Fault]:
        self._peaks, finished = append_leaf(self._peaks, self.leaf_count, leaf)
        for node in finished:
            yield from self._nodes.compare(node.level, node.node_index, node.node_hash)
        self.leaf_count += 1
        yield from self._hold()

    def _hold(self) -> Iterator[Fault]:
        """Hold the tree as far as it has come against the checkpoints of this size."""
        for held in self._held_roots.pop(self.leaf_count, ()):
            if held == self.root():
                continue
            row = f"tree of {self.leaf_count} leaves"
            yield Fault("checkpoint_root", row, "", -1, f"root {held.hex()} of the checkpoint", self.root().hex())

    def _forget_settled(self, stream: str, version_last: int) -> None:
        # Of a settled round nothing but corrections and what was shown comes; what else would is a leaf whose versions do not begin at 1.
        if stream.startswith(ROUND_STREAM) and stream.removeprefix(ROUND_STREAM) not in self.recomputed.rounds:
            self._last_versions.pop(stream, None)
            self.recomputed.over.go_on(stream, version_last)

    def add_rounds_in_play(self) -> None:
        """Hand on what the rows of the rounds in play must be."""
        self.recomputed.add_rounds_in_play(self._last_versions)

    def _take(self, leaf: LeafRow, version: int) -> tuple[NumberedRow | None, list[Fault]]:
        """Return the event that a leaf covers, from the next row or from where it stands, and what is wrong with its place."""
        wanted = (leaf.stream, version)
        faults: list[Fault] = []
        while True:
            faults += self._skip_extra(wanted)
            following = self._events.next
            if following is not None and (following.stream, following.version) == wanted:
                self._events.advance()
                return following, faults
            found = self._rows.event_at(leaf.stream, version)
            if found is None:
                place = f"stored_events, covered by leaf {leaf.leaf_index}"
                faults.append(Fault("event_missing", place, leaf.stream, version - 1, "an event", "none"))
                return None, faults
            if wanted in self._early:
                self._early.discard(wanted)
                return found, faults
            if following is None or self._rows.number_after(following.row_number) != found.row_number:
                self._displaced.add(wanted)
                faults.append(_order_fault(found))
                return found, faults
            # The wanted event stands just behind: it is the row before it that came too early.
            self._early.add((following.stream, following.version))
            faults.append(_order_fault(following))
            self._events.advance()

    def _skip_extra(self, wanted: tuple[str, int] | None) -> Iterator[Fault]:
        """Pass over rows that no leaf covers, and those that were met out of order before."""
        while (row := self._events.next) is not None and (row.stream, row.version) != wanted:
            place = (row.stream, row.version)
            if place in self._displaced:
                self._displaced.discard(place)
            elif wanted is None or not self._rows.is_covered(row.stream, row.version):
                got = f"{row.topic} of {len(row.data)} bytes"
                yield Fault(
                    "event_extra", f"stored_events row {row.row_number}", row.stream, row.version - 1, "no event without a leaf", got
                )
            else:
                return
            self._events.advance()


def _fold_fault(stream: str, version: int, fault: EventFault) -> Fault:
    code, what, want, got = fault
    return Fault(code, what, stream, version - 1, want, got)


def _form_fault(event: NumberedRow) -> Fault:
    row = f"stored_events row {event.row_number}"
    values = strict_values(event.data)
    if values is None:
        return Fault("event_bytes", row, event.stream, event.version - 1, "a canonical JSON object", repr(event.data[:60]))
    named = f"{values.get('kind')}/{values.get('v')}"
    if named != event.topic:
        return Fault("topic", row, event.stream, event.version - 1, named, event.topic)
    return Fault("kind", row, event.stream, event.version - 1, "a kind of this record", named)


def leaf_count(place: LedgerPlace) -> int:
    """Return how many leaves a pass over the ledger will see; raises as `check_ledger`."""
    with table_rows(place) as rows:
        return rows.leaf_count()


def check_ledger(
    place: LedgerPlace,
    *,
    held_roots: Iterable[tuple[int, bytes]] = (),
    counted: list[FsckResult] | None = None,
    is_ticking: bool = False,
    job_count: int = 1,
) -> Iterator[Fault | None]:
    """Yield every fault of the ledger at `place`, in the order of the record, then those of its tables.

    held_roots: tree size and root of each kept checkpoint. counted: is given one FsckResult at the end.
    is_ticking: yield None as well, once for each leaf. job_count: 1 goes over a large ledger in plain Python alone, more in
    machine code where that can be had, else in so many processes; the faults are the same for any number.
    Reads one moment of a ledger in use. Raises as `table_rows`.
    """
    with table_rows(place) as rows:
        matched = MatchedRounds(rows)
        walk = _Walk(place, rows, matched, held_roots, job_count)
        structure = rows.structure
        structure.begin()
        yield from structure.definition_faults()
        for fault in walk.faults():
            if fault is not None or is_ticking:
                yield fault
        for table in ("accounts", "account_names", "epochs", *LATER_TABLES):
            yield from structure.type_faults(table)
        yield from map(_row_fault, walk.recomputed.compare(rows))
        walk.add_rounds_in_play()
        if not matched.are_all():
            yield from _round_faults(place, rows, job_count)
        yield from structure.last_faults()
        if counted is not None:
            counted.append(FsckResult(walk.event_count, walk.leaf_count, walk.recomputed.round_count, walk.root()))


def _row_fault(fault: RowFault) -> Fault:
    code, row, stream, want, got = fault
    return Fault(code, row, stream, -1, want, got)


def _round_faults(place: LedgerPlace, rows: TableRows, job_count: int) -> Iterator[Fault]:
    """Yield what is wrong with the rows of rounds, going over the ledger once more to keep what they must be."""
    rows.structure.allow_any_text(is_allowed=False)
    with closing(KeptRounds()) as kept:
        walk = _Walk(place, rows, kept, (), job_count)
        for _ in walk.faults():
            pass  # said before
        walk.add_rounds_in_play()
        yield from map(_row_fault, kept.compare(rows))
