"""Was the engine that a round names approved when the round was opened? Registrations in the record, before the round's own leaf."""

from collections.abc import Iterator
from typing import NamedTuple

from engines.canonical import strict_values
from ledger.errors import TreeBroken
from ledger.lifecycle_events import RoundOpened
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM
from replay.record_check import check_append
from replay.verdict import Finding

__all__ = ["RegisteredBuilds"]


class _Registered(NamedTuple):
    leaf_index: int
    game: str
    fingerprint: str


class RegisteredBuilds:
    """The registrations of one ledger, read when the first round is judged.

    Rounds opened before the first registration are not judged; from then on a round's build must be one of its game's. An
    event whose bytes are not those of its leaf, or whose leaf does not lead to the root, approves nothing; and where one
    was altered, what it said, and before which rounds, nobody knows: it counts against every round that no other approves.
    """

    def __init__(self, ledger: RoundLedger) -> None:
        self._ledger = ledger
        self._found: tuple[list[_Registered], list[str]] | None = None

    def check(self, opened: RoundOpened, opened_leaf: int) -> list[Finding]:
        """Return at most one finding: `build_unapproved`, or `build_altered` where what may approve the build was altered.

        opened_leaf: the leaf of the round's opening, -1 where it has none.
        """
        if self._found is None:
            self._found = self._read()
        registered = [each for each in self._found[0] if each.leaf_index < opened_leaf]
        faults = self._found[1]
        of_game = [each.fingerprint for each in registered if each.game == opened.game]
        if opened.engine_fingerprint in of_game or not (registered or faults):
            return []
        where = f"build of {opened.game} that opened the round at leaf {opened_leaf}"
        if faults:
            return [_finding("build_altered", where, "registrations as their leaves and the root have them", faults[0])]
        want = " or ".join(of_game) or f"a registered build of {opened.game}, of which there is none"
        return [_finding("build_unapproved", where, want, opened.engine_fingerprint or "none named")]

    def _read(self) -> tuple[list[_Registered], list[str]]:
        """Return the registrations that can be relied on, and what is wrong with the stream behind its first event.

        The first is the ledger's making: no build was ever registered by it.
        """
        try:
            record = self._ledger.store.round_record(LEDGER_STREAM)
        except TreeBroken as error:  # no leaf can be shown to stand where it says
            record = next(iter(self._ledger.store.records_of([LEDGER_STREAM])))
            return [], [str(error)] if len(record.events) > 1 or len(record.appends) > 1 else []
        registered: list[_Registered] = []
        faults: list[str] = []
        uncovered = {row.version for row in record.events if row.version != 1}
        for place, append in enumerate(record.appends):
            found = check_append(record, place)
            if not found:
                rows = record.events[append.version_first - 1 : append.version_last]
                uncovered -= {row.version for row in rows}
                registered += [_Registered(append.leaf_index, *build) for row in rows for build in _builds(row.data)]
            elif append.version_first != 1:
                faults.append(f"leaf {append.leaf_index} of stream ledger: {found[0].message}")
        faults += [f"version {version} of stream ledger that no leaf vouches for" for version in sorted(uncovered)]
        return registered, faults


def _builds(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield game and fingerprint of a `build_registered`, nothing for any other event."""
    values = strict_values(data)
    if values is not None and values.get("kind") == "build_registered" and values.get("v") == 1:
        yield str(values.get("game")), str(values.get("engine_fingerprint"))


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", 0, -1, where, want, got, f"{where}: want {want}, got {got}")
