"""A process of whose system calls any one can be made to fail: by `strace`, where it is there."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

__all__ = ["CALLS", "Fault", "Traced", "audit_command", "count_calls", "require_strace", "run_traced"]

REQUIRED = "SLOT_AUDIT_STRACE"
CALLS = ("write", "pwrite64", "fdatasync", "fsync", "ftruncate")  # what puts bytes on a disk, or asks for them to be there
AUDIT = "import sys; from audit_reports.cli import main\nif __name__ == '__main__': main(sys.argv[1:])"
SECONDS_MAX = 60


class Fault(NamedTuple):
    """What is done to the `number`-th call of one name, counted from 1: `error=EIO`, `signal=KILL`.

    With span "+" to all later ones too, with "..9" to those up to the ninth.
    """

    call: str
    number: int
    action: str
    span: str = ""

    @property
    def option(self) -> str:
        """The fault as strace is told it."""
        return f"inject={self.call}:{self.action}:when={self.number}{self.span}"


class Traced(NamedTuple):
    """How a traced process ended, and its calls of CALLS in order, each a line of strace."""

    status: int
    out: str
    err: str
    lines: list[str]

    @property
    def is_hit(self) -> bool:
        """Whether the fault came to pass."""
        return any(line.endswith("(INJECTED)") or "killed by SIGKILL" in line for line in self.lines)


@cache
def _why_not() -> str:
    if shutil.which("strace") is None:
        return "no strace on this machine: install the Debian package strace"
    done = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True, text=True)
    return f"strace may not trace here: {done.stderr.strip()[:200]}" if done.returncode else ""


def require_strace() -> None:
    """Skip the test where nothing can be traced, or fail it where SLOT_AUDIT_STRACE=required."""
    if reason := _why_not():
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(reason)
        pytest.skip(reason)


def audit_command(*arguments: str) -> list[str]:
    """Return the command that runs `audit` with these arguments."""
    return [sys.executable, "-c", AUDIT, *arguments]


def run_traced(folder: Path, command: list[str], fault: Fault | None = None) -> Traced:
    """Run a command in a folder; every line that it prints is out at once."""
    log = folder / "strace.log"
    options = ["-f", "-o", str(log), "-e", f"trace={','.join(CALLS)}"]
    if fault is None or "KILL" not in fault.action:
        options.append("--seccomp-bpf")  # twice as fast; but a signal sent so does not arrive
    if fault is not None:
        options += ["-e", fault.option]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["strace", *options, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    lines = log.read_text().splitlines()
    log.unlink()
    return Traced(done.returncode, done.stdout, done.stderr, lines)


def count_calls(traced: Traced) -> Counter[str]:
    """Return how often each of CALLS was made."""
    names = (line.split(maxsplit=1)[-1].partition("(")[0] for line in traced.lines)
    return Counter(name for name in names if name in CALLS)
