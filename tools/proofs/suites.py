"""Tests of the suite with more examples, kills and faults than an ordinary run has."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.proofs.proof import ROOT, expect

__all__ = ["prove_faults", "prove_kills", "prove_properties"]

POSTGRES_FAULT_TESTS = 5  # the kills on PostgreSQL are shared out among them


def prove_properties(options: argparse.Namespace) -> dict[str, Any]:
    """The property tests of random numbers, bytes, tree, referee and pictures, with many more examples."""
    files = ["tests/engines/test_rng.py", "tests/engines/test_decode.py", "tests/engines/test_canonical.py"]
    files += [
        "tests/engines/test_stargazing.py",
        "tests/ledger/test_merkle.py",
        "tests/replay",
        "tests/audit_reports/test_terminal_view.py",
    ]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "long", "SLOT_AUDIT_EXAMPLES": str(options.examples)}
    if options.full:
        environment |= {"SLOT_AUDIT_RANDOM": "1", "SLOT_AUDIT_ASTRA_SPINS": str(1_000_000)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect("exit status of the property tests", 0, done.returncode)
    return {"examples": options.examples, "result": done.stdout.strip().splitlines()[-1]}


def prove_kills(options: argparse.Namespace) -> dict[str, Any]:
    """Writers killed at random points leave no partial round and lose none that was acknowledged; no copy put back deals a nonce twice."""
    environment = {**os.environ, "SLOT_AUDIT_KILLS": str(options.kills), "SLOT_AUDIT_RESTORES": str(options.kills)}
    command = [sys.executable, "-m", "pytest", "-q", "tests/ledger", "-k", "kill or restored"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect("exit status of the kill tests", 0, done.returncode)
    return {"kills": options.kills, "result": done.stdout.strip().splitlines()[-1]}


def prove_faults(options: argparse.Namespace) -> dict[str, Any]:
    """Each write and flush that fails, and a database server killed under load, loses nothing and leaves nothing in part."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        log = Path(name) / "faults"
        log.touch()
        environment = {**os.environ, "SLOT_AUDIT_FAULTS": str(options.faults), "SLOT_AUDIT_FAULTS_LOG": str(log)}
        environment["SLOT_AUDIT_POSTGRES_KILLS"] = str(max(1, options.postgres_kills // POSTGRES_FAULT_TESTS))
        files = ["tests/ledger/test_disk_faults.py", "tests/ledger/test_postgres_faults.py"]
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", "2", "--dist", "worksteal", *files]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stdout[-8000:])
        expect("exit status of the fault tests", 0, done.returncode)
        counts = {line["of"]: line["faults"] for line in map(json.loads, log.read_text().splitlines())}
    lines = done.stdout.strip().splitlines()
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    kills = {"postgres_kills": options.postgres_kills}
    return {"faults": sum(counts.values()), "of": dict(sorted(counts.items())), **kills, "result": lines[-1], "skipped": skipped}
