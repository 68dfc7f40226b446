"""Names and free text: an event holds a salted hash, the text itself lies in a table outside the tree (`record/1`, item 6).

So a text can be erased without touching a proof, and what is left of it cannot be guessed from its hash.
"""

import hashlib
import os

from ledger.store import TextRow

__all__ = ["is_own_text", "salted_text"]

_SALT_BYTES = 32


def _hash(salt: bytes, content: str) -> str:
    return hashlib.sha256(b"text/1" + salt + content.encode()).hexdigest()


def salted_text(content: str) -> TextRow:
    """Return the row of a text under a fresh salt of 32 bytes; its hash is SHA-256 over `text/1`, the salt and the UTF-8 text."""
    salt = os.urandom(_SALT_BYTES)
    return TextRow(_hash(salt, content), salt.hex(), content)


def is_own_text(row: TextRow) -> bool:
    """Return whether salt and text of a row lead to its hash: the row may have been altered."""
    try:
        return _hash(bytes.fromhex(row.salt), row.content) == row.text_hash
    except ValueError:
        return False
