"""The key that packs are signed with: the builder's own, never the log's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from audit_reports.output import note

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["builder_key"]


def builder_key(named: str) -> "Ed25519PrivateKey":
    """Return the key in the file named, else in the user's own folder of settings; made, and said, where there is none.

    Raises as `load_signing_key` and `create_signing_key`.
    """
    from ledger.errors import KeyMissing
    from ledger.keys import create_signing_key, load_signing_key

    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    path = Path(named) if named else Path(base) / "slot-audit" / "pack.key"
    try:
        return load_signing_key(path)
    except KeyMissing:
        key = create_signing_key(path)
        note(f"the builder's key was not there: made, in {path}")
        return key
