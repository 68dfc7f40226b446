"""The long lane: what must hold over many rounds, faults and random cases; every count is an option.

Without options the counts fit a continuous build; `--full` takes those that the issues name and writes what was measured
to docs/measured/, with commit, seed and machine. The proofs themselves are in tools/proofs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.proofs.attacks import prove_attacks  # noqa: E402
from tools.proofs.certification import prove_certified, prove_monitored, prove_random  # noqa: E402
from tools.proofs.growth import prove_growth  # noqa: E402
from tools.proofs.kernels import prove_bounds, prove_planted, prove_speeds  # noqa: E402
from tools.proofs.lives import prove_lives  # noqa: E402
from tools.proofs.load import prove_load  # noqa: E402
from tools.proofs.packs import prove_packs  # noqa: E402
from tools.proofs.proof import ProofError  # noqa: E402
from tools.proofs.returns import prove_simulated  # noqa: E402
from tools.proofs.rounds import prove_astra, prove_rare, prove_rounds  # noqa: E402
from tools.proofs.suites import prove_faults, prove_kills, prove_properties  # noqa: E402

FILES = {"planted": "planted-faults"}  # where the file of a proof has another name
PRINTED_MAX = 4000  # characters of what was measured
COUNTS: dict[str, tuple[int | str, int | str]] = {  # that fit a continuous build, and of the issues
    "rounds": (5_000, 20_000),
    "rare": (50, 2_000),
    "astra": (200_000, 1_000_000),
    "plain": (300, 300),
    "bounds": (200_000, 2_000_000),
    "simulated": (5_000_000, 100_000_000),
    "examples": (400, 1_000),
    "kills": (20, 300),
    "faults": ("6", "each"),
    "postgres_kills": (10, 300),
    "lives": (10, 200),
    "broken_rounds": (2, 200),
    "broken_kills": (10, 0),
    "instances": (8, 200),
    "attack_rounds": (500, 5_000),
    "pack_flips": (100, 2_000),
    "certified": (100_000, 20_000_000),
    "random_runs": (60, 1_000),
    "monitor_ledgers": (40, 200),
    "monitor_percent": (10, 2),
    "monitor_planted": (6, 10),
    "load_processes": (4, 16),
    "load_accounts": (8, 50),
    "load_seconds": (5, 30),
}

PROOFS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "speeds": prove_speeds,
    "rounds": prove_rounds,
    "rare": prove_rare,
    "astra": prove_astra,
    "bounds": prove_bounds,
    "simulated": prove_simulated,
    "properties": prove_properties,
    "kills": prove_kills,
    "faults": prove_faults,
    "lives": prove_lives,
    "load": prove_load,
    "growth": prove_growth,
    "attacks": prove_attacks,
    "planted": prove_planted,
    "packs": prove_packs,
    "certified": prove_certified,
    "random": prove_random,
    "monitored": prove_monitored,
}


def parse_options() -> argparse.Namespace:
    """Return the counts: those given, else the full or the short ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the counts of the issues; writes docs/measured/")
    parser.add_argument("--only", choices=PROOFS, action="append", help="these proofs alone")
    parser.add_argument("--rounds", type=int, help="recorded rounds of each mode (5,000; full 20,000)")
    parser.add_argument("--rare", type=int, help="rounds that reach each rare thing by test rules (50; full 2,000)")
    parser.add_argument("--astra", type=int, help="spins with Power Wilds, each of which must end (200,000; full 1,000,000)")
    parser.add_argument("--plain", type=int, help="plain rounds of each mode against compiled ones (300)")
    parser.add_argument("--bounds", type=int, help="rounds with checked bounds (200,000; full 2,000,000)")
    parser.add_argument("--simulated", type=int, help="simulated rounds of base and ante, a fiftieth of buy (5e6; full 1e8)")
    parser.add_argument("--examples", type=int, help="examples of each property (400; full 1,000)")
    parser.add_argument("--kills", type=int, help="kills of a writer (20; full 300)")
    parser.add_argument("--faults", help="failing writes and flushes of each fault test (6; full `each` of them)")
    parser.add_argument("--postgres-kills", type=int, help="kills of servers, sessions and writers on PostgreSQL (10; full 300)")
    parser.add_argument("--load-processes", type=int, help="processes that play at once (4; full 16)")
    parser.add_argument("--load-accounts", type=int, help="accounts that they play on (8; full 50)")
    parser.add_argument("--load-seconds", type=float, help="how long they play (5; full 30)")
    parser.add_argument("--lives", type=int, help="ledgers grown at random (10; full 200)")
    parser.add_argument("--first-life", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--broken-rounds", type=int, help="rounds of each game, mode and choice broken off at each leg (2; full 200)")
    parser.add_argument("--broken-kills", type=int, help="appends of a round killed in, of each game (10; full 0: each, at each moment)")
    parser.add_argument("--instances", type=int, help="instances of each attack on a ledger (8; full 200)")
    parser.add_argument("--attack-rounds", type=int, help="rounds of the ledger that is attacked (500; full 5,000)")
    parser.add_argument("--pack-flips", type=int, help="single bytes changed in evidence packs (100; full 2,000)")
    parser.add_argument("--certified", type=int, help="rounds that each configuration is certified by (100,000; full 20,000,000)")
    parser.add_argument("--random-runs", type=int, help="runs of 100,000 good draws (60; full 1,000)")
    parser.add_argument("--monitor-ledgers", type=int, help="honest ledgers that are monitored (40; full 200)")
    parser.add_argument("--monitor-percent", type=int, help="how much too high wins are paid in one channel (10; full 2)")
    parser.add_argument("--monitor-planted", type=int, help="ledgers with such a fault (6; full 10)")
    parser.add_argument("--planted-rounds", type=int, default=200, help="rounds of each planted fault at most (200)")
    parser.add_argument("--folder", type=Path, help="where ledgers are written meanwhile")
    options = parser.parse_args()
    for name, (short, full) in COUNTS.items():
        if getattr(options, name) is None:
            setattr(options, name, full if options.full else short)
    return options


def main() -> int:
    """Run the proofs and return the exit status."""
    options = parse_options()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    for name in options.only or PROOFS:
        started = time.perf_counter()
        sys.stderr.write(f"prove {name} …\n")
        try:
            measured = PROOFS[name](options)
        except ProofError as error:
            sys.stderr.write(f"prove {name}: FAILED: {error}\n")
            return 1
        seconds = round(time.perf_counter() - started, 1)
        print(f"{name}: holds ({seconds} s) {json.dumps(measured)[:PRINTED_MAX]}", flush=True)
        if options.full:
            facts = {"proof": name, "commit": commit, "machine": machine, "seconds": seconds, **measured}
            (ROOT / "docs" / "measured").mkdir(parents=True, exist_ok=True)
            (ROOT / "docs" / "measured" / f"{FILES.get(name, name)}.json").write_text(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
