"""Was the engine that a round names approved when the round was opened? Registrations in the record, before the round's own leaf."""

from ledger.lifecycle_events import RoundOpened
from replay.own_stream import OwnStream
from replay.verdict import Finding

__all__ = ["RegisteredBuilds"]


class RegisteredBuilds:
    """The registrations of one ledger.

    Rounds opened before the first registration are not judged; from then on a round's build must be one of its game's. An
    event whose bytes are not those of its leaf, or whose leaf does not lead to the root, approves nothing; and where one
    was altered, what it said, and before which rounds, nobody knows: it counts against every round that no other approves.
    """

    def __init__(self, stream: OwnStream) -> None:
        self._stream = stream

    def check(self, opened: RoundOpened, opened_leaf: int) -> list[Finding]:
        """Return at most one finding: `build_unapproved`, or `build_altered` where what may approve the build was altered.

        opened_leaf: the leaf of the round's opening, -1 where it has none.
        """
        registered = [each.values for each in self._stream.events("build_registered") if each.leaf_index < opened_leaf]
        faults = self._stream.faults
        of_game = [str(values.get("engine_fingerprint")) for values in registered if values.get("game") == opened.game]
        if opened.engine_fingerprint in of_game or not (registered or faults):
            return []
        where = f"build of {opened.game} that opened the round at leaf {opened_leaf}"
        if faults:
            return [_finding("build_altered", where, "registrations as their leaves and the root have them", faults[0])]
        want = " or ".join(of_game) or f"a registered build of {opened.game}, of which there is none"
        return [_finding("build_unapproved", where, want, opened.engine_fingerprint or "none named")]


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", 0, -1, where, want, got, f"{where}: want {want}, got {got}")
