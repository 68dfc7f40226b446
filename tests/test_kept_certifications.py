"""Certification packs written when issues were closed, checked for ever: by program and verifier of today, and by its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from audit_reports.bag import read_zip
from audit_reports.certification_check import CertificationChecking
from tests.conftest import ROOT

VERIFIER = ROOT / "audit_reports" / "verifier" / "verify_certification.py"
KEPT = sorted((ROOT / "tests" / "golden" / "certifications").glob("*/*.zip"))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_kept_certification_is_what_it_was(file: Path, tmp_path: Path) -> None:
    """Nothing is found in it by either checker, nor by the file that it brings; figures are computed again and are the same."""
    data = file.read_bytes()
    checking = CertificationChecking(data, file.name, b"")
    assert list(checking.steps())
    assert (checking.result.exit_status, checking.result.findings) == (0, [])
    assert any("every figure computed again" in text for text in checking.result.checked)
    (inside,) = [content for name, content in read_zip(data, file.name).items() if name.endswith("/data/verify_certification.py")]
    for code in (VERIFIER.read_bytes(), inside):
        (tmp_path / "verify_certification.py").write_bytes(code)
        command = [sys.executable, "-I", "-S", "verify_certification.py", str(file)]
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("NOTHING FOUND")


def test_there_are_kept_certifications() -> None:
    """Each folder has a whole pack and a redacted one."""
    assert KEPT
    assert {file.stem for file in KEPT} == {"moon-spell", "moon-spell-redacted"}
