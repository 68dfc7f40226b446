"""Many processes that play on the same accounts of one ledger at once, and what is found wrong with it afterwards."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from ledger.rounds import RoundLedger
from tests.conftest import ROOT
from tests.ledger_files import Place
from tests.reckoning import Reckoning, reckon
from tests.whole import everything_wrong

__all__ = ["Load", "LoadResult", "put_under_load"]

BALANCE_MINOR = 50_000
END_SECONDS = 120  # that processes may take to end


class Load(NamedTuple):
    """How many processes play on how many accounts for how many seconds; `seed` is of what each chooses to do."""

    processes: int
    accounts: int
    seconds: float
    seed: str = "load"


class LoadResult(NamedTuple):
    """What was said, each line by one process, and all that is wrong."""

    said: list[dict[str, Any]]
    reckoning: Reckoning
    faults: list[str]

    @property
    def told(self) -> Counter[str]:
        """How often what was told; a round or key that was there already is told `again`."""
        return Counter(f"{line['told']} again" if line.get("is_repeat") else str(line["told"]) for line in self.said)

    def milliseconds(self, share: float) -> float:
        """Return how long a call took at most, of that share of the calls which were the fastest."""
        taken = sorted(line["ms"] for line in self.said if "ms" in line)
        return float(taken[max(0, int(len(taken) * share) - 1)])


def _accounts(place: Place, count: int) -> list[str]:
    with RoundLedger.create(place.ledger, place.keys_dir) as ledger:
        refs = [ledger.open_account(f"player {number}", "EUR") for number in range(count)]
        for ref in refs:
            ledger.move_funds(ref, BALANCE_MINOR)
    return refs


def _start(place: Place, refs: list[str], seed: str, number: int, said: Path) -> subprocess.Popen[str]:
    program = str(ROOT / "tests" / "load_process.py")
    command = [sys.executable, program, str(place.ledger), str(place.keys_dir), str(number), seed, str(said), *refs]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def _run(place: Place, refs: list[str], load: Load, folder: Path) -> list[str]:
    """Have the processes play, each writing to a file of its own; return how those ended that did not end well."""
    faults = []
    with ExitStack() as stack:
        processes = []
        for number in range(load.processes):
            processes.append(stack.enter_context(_start(place, refs, load.seed, number, folder / f"said-{number}.jsonl")))
            stack.callback(processes[-1].kill)
        for process in processes:
            process.stdout.readline()
        end = time.monotonic() + load.seconds
        for process in processes:
            process.stdin.write(f"{end}\n")
            process.stdin.flush()
        for number, process in enumerate(processes):
            _, err = process.communicate(timeout=load.seconds + END_SECONDS)
            if process.returncode or err:
                faults.append(f"end of process {number}: want status 0 and no word, got {process.returncode}, {err[-1500:]}")
    return faults


def put_under_load(place: Place, load: Load, folder: Path) -> LoadResult:
    """Make a ledger, put it under load, and look for what is wrong: by a reckoning of its own, by fsck, by verification."""
    refs = _accounts(place, load.accounts)
    faults = _run(place, refs, load, folder)
    said = [{"told": "moved", "account": ref, "amount": BALANCE_MINOR, "balance": BALANCE_MINOR} for ref in refs]
    for number in range(load.processes):
        said += map(json.loads, (folder / f"said-{number}.jsonl").read_text().splitlines())
    reckoning = reckon(place.ledger, said)
    return LoadResult(said, reckoning, faults + reckoning.faults + everything_wrong(place.ledger, place.keys_dir))
