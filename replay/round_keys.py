"""Keys of settled rounds as an operator releases them to an auditor: a file of JSON lines."""

import json
import re
from pathlib import Path

__all__ = ["RoundKeysError", "load_round_keys"]

_KEY = re.compile("[0-9a-f]{64}")


class RoundKeysError(Exception):
    """A file of round keys cannot be read."""

    exit_status = 4

    def __init__(self, path: str, line: int, wanted: str, found: str) -> None:
        super().__init__(path, line, wanted, found)
        self.path, self.line, self.wanted, self.found = path, line, wanted, found

    def __str__(self) -> str:
        return f"round keys {self.path}, line {self.line}: want {self.wanted}, got {self.found}; have them released again"


def load_round_keys(path: Path) -> dict[str, bytes]:
    """Return the keys in a file by round id; raises RoundKeysError."""
    keys: dict[str, bytes] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RoundKeysError(str(path), 0, "a file of JSON lines", getattr(error, "strerror", None) or "other bytes") from error
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            round_id, key = values["round_id"], values["round_key"]
        except (ValueError, TypeError, KeyError) as error:
            raise RoundKeysError(str(path), number, "an object with round_id and round_key", line[:60]) from error
        if not isinstance(round_id, str) or not isinstance(key, str) or not _KEY.fullmatch(key):
            raise RoundKeysError(str(path), number, "a round id and 64 hex digits", line[:60])
        keys[round_id] = bytes.fromhex(key)
    return keys
