"""Writes the evidence and certification packs that an issue leaves behind: `python tests/golden/keep_packs.py issue-7`.

They are checked for ever, by every later release; they are never written anew.
"""

import os
import subprocess
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
    keep_certifications(name)
    with tempfile.TemporaryDirectory() as working:
        packs = PackSet(Path(working))
        for each in KEPT:
            pack = packs[each]
            (folder / f"{each}.zip").write_bytes(pack.data)
            (folder / f"{each}.vkey").write_bytes((pack.folder / "ledger.db.keys" / "log.vkey").read_bytes())


def keep_certifications(name: str) -> None:
    """Make the folder tests/golden/certifications/<name>: a small pack of Moon Spell, whole and redacted."""
    folder = ROOT / "tests" / "golden" / "certifications" / name
    folder.mkdir(parents=True)
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    with tempfile.TemporaryDirectory() as working:
        terms = ["--rounds", "20000", "--as-of", "2026-12-01T10:00:00Z", "--pack-key", f"{working}/pack.key"]
        for file, more in (("moon-spell.zip", []), ("moon-spell-redacted.zip", ["--redact"])):
            command = [sys.executable, "-c", program, "certify", "--game", "moon-spell", "-o", str(folder / file), *terms, *more]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


if __name__ == "__main__":
    keep(sys.argv[1])
