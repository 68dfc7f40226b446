"""What the read model could not do; messages as in `errors.py`."""

# ruff: noqa: N818 - as in errors.py

from ledger.errors import LedgerError

__all__ = ["HistoryMismatch", "HistoryMissing"]


class HistoryMismatch(LedgerError):
    """The read model is another ledger's, or no read model at all."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path, self.expected, self.found = path, expected, found

    def __str__(self) -> str:
        return (
            f"read model {self.path}: want {self.expected}, got {self.found}; "
            "name another with --history or remove the file and build it again"
        )


class HistoryMissing(LedgerError):
    """There is no read model at its path."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"read model {self.path}: want a file, got none; build it with `audit history build`"
