"""What the streams of rounds that are over have come to, for the check of a whole ledger, which forgets a round that is over.

A correction or what was shown of a round goes on behind its end: as a rule soon, so the rounds that ended last are kept in mind; of
older ones it is read again.
"""

from collections.abc import Callable

__all__ = ["OverRounds"]

KEPT_MAX = 20_000


class OverRounds:
    """Rounds that are over, each by its stream; memory does not grow with the ledger.

    read: gives the version that the stream of a round that was over before a leaf has come to there, 0 where none was.
    """

    def __init__(self, read: Callable[[str, int], int]) -> None:
        self._read = read
        self._kept: dict[str, int] = {}  # 0 while the leaf is gone over in which it ends

    def end(self, stream: str) -> None:
        """Have a round be over from the next leaf on."""
        self._kept[stream] = 0
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]

    def go_on(self, stream: str, version: int) -> None:
        """Take what a stream has come to with a leaf."""
        if stream in self._kept:
            self._kept[stream] = version

    def version(self, stream: str, leaf_index: int) -> int:
        """Return the version that the stream of a round that was over before a leaf has come to there, 0 where none was."""
        return self._kept.get(stream) or self._read(stream, leaf_index)
