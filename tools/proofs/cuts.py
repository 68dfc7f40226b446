"""Rounds that are cut off: at the end of each leg, and by a kill within each append."""

import argparse
import os
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.cut_rounds import RULES_OF, cut_game, live_cut_rounds
from tests.killed_rounds import play_killed
from tests.ledger_files import Place, whole_ledger_faults
from tests.whole import fsck_messages
from tools.proofs.proof import expect

__all__ = ["prove_cuts"]


def _cut(task: tuple[str, str, int]) -> tuple[str, dict[str, int]]:
    """Play rounds of a game in each mode, each cut off at each leg boundary; return what happened."""
    folder, name, count = task
    with tempfile.TemporaryDirectory(dir=folder) as place_name:
        place = Place(Path(place_name) / "ledger.db", Path(place_name) / "keys")
        counts, wrong = live_cut_rounds(place, name, count, 1)
        expect(f"rounds of {name} that are cut off", [], wrong)
        expect(f"ledger of {name}", [], [*fsck_messages(place.ledger), *whole_ledger_faults(place.ledger)])
        return name, dict(counts)


def _kill(task: tuple[str, str, int]) -> int:
    """Kill a writer at each point of each append of a round; return the number of kills."""
    folder, name, seed = task
    with tempfile.TemporaryDirectory(dir=folder) as place_name:
        place = Place(Path(place_name) / "ledger.db", Path(place_name) / "keys")
        modes = cut_game(name).rules.modes
        killed = play_killed(place, name, modes[seed % len(modes)].name, seed=seed)
        expect(f"ledger of {name}, seed {seed}", [], [*fsck_messages(place.ledger), *whole_ledger_faults(place.ledger)])
        return killed


def prove_cuts(options: argparse.Namespace) -> dict[str, Any]:
    """A round cut off at each leg boundary, or by a kill within each append, ends as its key and choices say; nobody finds a fault."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            happened = dict(pool.map(_cut, [(name, game, options.cut_rounds) for game in RULES_OF]))
        kills: Counter[str] = Counter()
        for seed in range(options.killed_rounds):  # whose writers are processes of their own
            for game in RULES_OF:
                kills[game] += _kill((name, game, seed))
    return {
        "rounds_of_each_game_and_mode": options.cut_rounds,
        "happened": happened,
        "killed_rounds": options.killed_rounds,
        "kills": kills,
    }
