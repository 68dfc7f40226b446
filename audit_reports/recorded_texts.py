"""Names and free text that events hold by salted hash, as they are shown: erased, altered and forbidden ones in brackets."""

from collections.abc import Iterator

from ledger.postgres_errors import LedgerForbidden
from ledger.store import Store
from ledger.texts import is_own_text
from replay.verdict import Finding

__all__ = ["RecordedTexts"]

ALTERED, ERASED, NOT_SHOWN = "(altered)", "(erased)", "(not shown)"
_HASH_SHOWN = 16


class RecordedTexts:
    """The texts of one ledger, each looked up once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, str] = {}

    def __call__(self, text_hash: str) -> str:
        """Return the text of a hash, or in brackets why there is none; raises as reading does."""
        found = self._found.get(text_hash)
        if found is None:
            found = self._found[text_hash] = self._read(text_hash)
        return found

    def _read(self, text_hash: str) -> str:
        try:
            row = self._store.text(text_hash)
        except LedgerForbidden:
            return NOT_SHOWN
        return ERASED if row is None else row.content if is_own_text(row) else ALTERED

    def findings(self, of: str) -> Iterator[Finding]:
        """Yield a finding for each text shown so far that is not the one whose hash is recorded; one that was erased is none."""
        for text_hash, found in self._found.items():
            if found == ALTERED:
                where = f"text {text_hash[:_HASH_SHOWN]}… of {of}"
                want = "one that comes to its hash"
                message = f"{where}: want {want}, got another; the text was altered, the record of it stands"
                yield Finding("text_hash", "integrity", -1, -1, where, want, "another", message)
