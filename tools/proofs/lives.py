"""Rounds interrupted, left by their writers and killed at every leg and append, with more of each than an ordinary run has."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tools.proofs.proof import ROOT, expect

__all__ = ["prove_lives"]


def prove_lives(options: argparse.Namespace) -> dict[str, Any]:
    """A round broken off at each leg, or killed in each append, ends with the events, win and balance of the same round in one go."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        log = Path(name) / "broken"
        log.touch()
        environment = {**os.environ, "SLOT_AUDIT_BROKEN_ROUNDS": str(options.broken_rounds), "SLOT_AUDIT_BROKEN_LOG": str(log)}
        environment["SLOT_AUDIT_BROKEN_KILLS"] = str(options.broken_kills)
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", "2", "--dist", "worksteal", "tests/ledger/test_interruptions.py"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stdout[-8000:])
        expect("exit status of the tests of broken rounds", 0, done.returncode)
        counts: dict[str, Counter[str]] = {}
        for line in map(json.loads, log.read_text().splitlines()):
            counts.setdefault(line.pop("of"), Counter()).update(line)
    lines = done.stdout.strip().splitlines()
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    return {"rounds_of_each_kind": options.broken_rounds, "of": counts, "result": lines[-1], "skipped": skipped}
