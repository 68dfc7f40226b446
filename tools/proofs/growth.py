"""Ledgers that live by chance, in none of which anything may be found wrong."""

import argparse
import os
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.growth import OTHER_PYTHON, live
from tools.proofs.proof import ProofError

__all__ = ["prove_growth"]


def _life_task(task: tuple[str, int]) -> Counter[str]:
    """Let a ledger live; return how often what happened in it."""
    folder, seed = task
    with tempfile.TemporaryDirectory(dir=folder) as name:
        try:
            return live(Path(name), seed)
        except Exception as error:
            raise ProofError(f"life {seed}", "nothing found wrong", f"{type(error).__name__} {error}"[:2000]) from error


def prove_growth(options: argparse.Namespace) -> dict[str, Any]:
    """In ledgers grown and interrupted at random nothing is found wrong, nor in their copies, backups and after VACUUM."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        tasks = [(name, options.first_life + number) for number in range(options.lives)]
        counts: Counter[str] = Counter()
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            for counted in pool.map(_life_task, tasks):
                counts += counted
    other = os.environ.get(OTHER_PYTHON)
    told = [other, "-c", "import platform; print(platform.python_version())"] if other else []
    version = subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip() if told else None
    return {"lives": options.lives, "first_life": options.first_life, "happened": dict(counts.most_common()), "other_python": version}
