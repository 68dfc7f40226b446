"""The stand-alone verifier as a process of its own, and what it finds as values."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit_reports.verifier import verify_pack
from tests.conftest import ROOT

VERIFIER = ROOT / "audit_reports" / "verifier" / "verify_pack.py"


def codes(data: bytes, vkey: str | None = None, key: str | None = None) -> set[str]:
    return {each["code"] for each in verify_pack.audit_of(data, vkey, key).findings}


def refused(data: bytes) -> bool:
    with pytest.raises(ValueError, match="member"):
        verify_pack.audit_of(data)
    return True


def run(folder: Path, data: bytes, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a clean copy of the verifier in a folder that holds nothing else, with the bare interpreter."""
    shutil.copy(VERIFIER, folder / "verify_pack.py")
    (folder / "pack.zip").write_bytes(data)
    command = [sys.executable, "-I", "-S", "verify_pack.py", "pack.zip", *options]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)
