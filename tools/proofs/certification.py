"""Certification and monitoring at the counts of their issue: time and memory, work broken off, bad and good generators, planted faults."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engines.registry import GAMES
from tools.proofs.proof import ROOT, expect

__all__ = ["prove_certified", "prove_monitored", "prove_random"]

PROGRAM = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
AS_OF = "2026-12-01T10:00:00Z"


def _audit(*arguments: object) -> tuple[int, str, float, int]:
    """Run the command line in a process of its own; its exit status, what it printed, its seconds, and the most memory in MiB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen(command, env=environment, stdout=printed, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        return child.returncode, printed.read(), round(time.perf_counter() - started, 1), used.ru_maxrss // 1024


def prove_certified(options: argparse.Namespace) -> dict[str, Any]:
    """Each game is certified by so many rounds of each configuration, its pack agrees and is verified; broken-off work comes to it too."""
    games = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        terms = ["--rounds", options.certified, "--as-of", AS_OF, "--pack-key", folder / "pack.key"]
        for game in GAMES:
            pack = folder / f"{game}.zip"
            status, said, seconds, memory = _audit("certify", "--game", game, "-o", pack, *terms)
            expect(f"certify {game}", (0, True), (status, "agrees" in said))
            status, _, verify_seconds, _ = _audit("pack", "verify", pack)
            expect(f"verify the pack of {game}", 0, status)
            alone = [sys.executable, "-I", "-S", str(ROOT / "audit_reports" / "verifier" / "verify_certification.py"), str(pack)]
            expect(f"verify_certification.py on {game}", 0, subprocess.run(alone, capture_output=True).returncode)
            games[game] = {"seconds": seconds, "memory_mib": memory, "bytes": pack.stat().st_size, "verify_seconds": verify_seconds}
        whole = (folder / "moon-spell.zip").read_bytes()
        expect("the pack of work broken off", True, _broken_off(folder, terms, options) == whole)
    pages = _tests({"SLOT_AUDIT_PAGES": " ".join(GAMES)}, "tests/audit_reports/test_certify_pages.py")
    return {"rounds": options.certified, "games": games, "broken_off": "the same bytes", "pages": pages}


def _broken_off(folder: Path, terms: list[Any], options: argparse.Namespace) -> bytes:
    """Certify a game with Ctrl-C after the first saved chunk, and go on."""
    import signal

    pack = folder / "broken.zip"
    command = [sys.executable, "-c", PROGRAM, *map(str, ["certify", "--game", "moon-spell", "-o", pack, *terms])]
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    progress = Path(f"{pack}.progress")
    while not progress.exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    if child.wait() != 0:
        status, *_ = _audit("certify", "--game", "moon-spell", "-o", pack, *terms, "--resume", "--jobs", "1")
        expect("certify --resume", 0, status)
    del options
    return pack.read_bytes()


def _tests(environment: dict[str, str], *names: str) -> str:
    """Run tests with counts by environment, and return the last line of what they say."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *names]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect(f"exit status of {', '.join(names)}", 0, done.returncode)
    return re.sub(r" in .*", "", done.stdout.strip().splitlines()[-1])


def prove_random(options: argparse.Namespace) -> dict[str, Any]:
    """Bad generators fail, and over so many runs of 100,000 good draws at a level of 0.01 no more alarms than 20 in 1,000 are raised."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        log = Path(name) / "alarms"
        environment = {"SLOT_AUDIT_RANDOM_RUNS": str(options.random_runs), "SLOT_AUDIT_RANDOM_LOG": str(log)}
        result = _tests(environment, "tests/audit_reports/test_randomness.py")
        return {"runs": options.random_runs, "alarms": json.loads(log.read_text()), "tests": result}


def prove_monitored(options: argparse.Namespace) -> dict[str, Any]:
    """Honest ledgers raise no more alarms than stated, planted faults are told within the rounds of the power statement."""
    environment = {
        "SLOT_AUDIT_MONITOR_LEDGERS": str(options.monitor_ledgers),
        "SLOT_AUDIT_MONITOR_PERCENT": str(options.monitor_percent),
        "SLOT_AUDIT_MONITOR_PLANTED": str(options.monitor_planted),
    }
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        log = Path(name) / "told"
        log.touch()
        result = _tests({**environment, "SLOT_AUDIT_MONITOR_LOG": str(log)}, "tests/replay/test_monitor.py")
        told = [json.loads(line) for line in log.read_text().splitlines()]
    return {"ledgers": options.monitor_ledgers, "percent": options.monitor_percent, "told": told, "tests": result}
