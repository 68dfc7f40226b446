"""Evidence packs written when issues were closed, checked for ever: by today's two checkers, and by the one that each brings."""

import subprocess
import sys
from pathlib import Path

import pytest

from audit_reports.bag import read_zip
from audit_reports.pack_check import check_pack
from ledger.keys import load_verifier_key
from tests.conftest import ROOT
from tests.verifier_process import VERIFIER

KEPT = sorted((ROOT / "tests" / "golden" / "packs").glob("*/*.zip"))
STATUSES = {"waiting": 0, "revealed": 0, "sealed": 3, "presentation": 3, "tampered": 3}
CLEAN = ("waiting", "revealed", "sealed")  # packs in which nothing is found


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_kept_pack_is_what_it_was(file: Path, tmp_path: Path) -> None:
    """Each checker ends as it did when the pack was built, with the log's key given, and finds nothing where nothing was wrong."""
    data, vkey = file.read_bytes(), file.with_suffix(".vkey")
    found = check_pack(data, file.name, vkeys=[load_verifier_key(vkey)])
    assert found.exit_status == STATUSES[file.stem]
    assert bool(found.findings) == (file.stem not in CLEAN)
    (inside,) = [content for name, content in read_zip(data, file.name).items() if name.endswith("/data/verify_pack.py")]
    for code in (VERIFIER.read_bytes(), inside):
        (tmp_path / "verify_pack.py").write_bytes(code)
        command = [sys.executable, "-I", "-S", "verify_pack.py", str(file), "--vkey", str(vkey)]
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
        assert done.returncode == STATUSES[file.stem], done.stdout + done.stderr
        assert done.stdout.startswith("NOTHING FOUND") == (file.stem in CLEAN)


def test_there_are_kept_packs() -> None:
    """Each folder has a pack of each kind."""
    assert {file.stem for file in KEPT} == set(STATUSES)
