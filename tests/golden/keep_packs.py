"""Writes the evidence packs that an issue leaves behind: `python tests/golden/keep_packs.py issue-7`.

They are checked for ever, by every later release; they are never written anew.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.pack_set import PackSet  # noqa: E402

# A draft's round that waits, by rules that are not installed; a revealed and a sealed seed; a difference; an altered record.
KEPT = ("waiting", "revealed", "sealed", "presentation", "tampered")


def keep(name: str) -> None:
    """Make the folder tests/golden/packs/<name>: packs, and the log's key of each."""
    folder = ROOT / "tests" / "golden" / "packs" / name
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as working:
        packs = PackSet(Path(working))
        for each in KEPT:
            pack = packs[each]
            (folder / f"{each}.zip").write_bytes(pack.data)
            (folder / f"{each}.vkey").write_bytes((pack.folder / "ledger.db.keys" / "log.vkey").read_bytes())


if __name__ == "__main__":
    keep(sys.argv[1])
