"""Attacks on a ledger that somebody keeps a checkpoint of, each found and named."""

import argparse
import os
import random
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from engines.registry import game_of_rules, installed_rules
from ledger import fsck
from ledger.copying import copy_ledger
from ledger.fsck import RANGES_MIN
from ledger.rounds import RoundLedger
from tests.attacks import ATTACKS, attack, is_named
from tests.forgeries import FORGERIES, Scene, forge, new_scene
from tools.proofs.proof import expect

__all__ = ["prove_attacks"]

GAME = "moonlight-princess"
MODES = ("base", "ante", "buy")


def _attack_task(task: tuple[str, str, int, bytes, int, int]) -> tuple[str, int, list[str]]:
    """Make instances of one attack on copies of a ledger; return its name, how many were found and named, and what was not."""
    path, name, size, root, first, end = task
    found, missed = 0, []
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        for number in range(first, end):
            copy = Path(folder) / f"{number}.db"
            shutil.copyfile(path, copy)
            words = attack(name, str(copy), random.Random(f"{name} {number}"))
            # Every other instance as a large file is gone over, in machine code where there is numba.
            fsck.RANGES_MIN, job_count = (0, 2) if number % 2 else (RANGES_MIN, 1)
            faults = fsck.check_ledger(copy, held_roots=[(size, root)], job_count=job_count)
            messages = [fault.message for fault in faults if fault is not None]
            if is_named(words, messages):
                found += 1
            else:
                missed.append(f"instance {number}: want {words!r}, got {messages[:2]}")
            copy.unlink()
    return name, found, missed


def _forgery_task(task: tuple[Scene, str, int, int]) -> tuple[str, int, list[str]]:
    """Make instances of one forgery on copies of a scene; return its name, how many every command saw that must, and what was not."""
    scene, name, first, end = task
    missed = []
    for number in range(first, end):
        missed += [f"instance {number}: {text}" for text in forge(name, scene, scene.ledger.parent, random.Random(f"{name} {number}"))[:1]]
    return name, end - first - len(missed), missed


def _play_attacked(folder: Path, round_count: int) -> Scene:
    """Play the ledger that is attacked, in five epochs and on three accounts, and hand its checkpoint over."""
    path = folder / "ledger.db"
    game = game_of_rules(installed_rules(GAME))
    game.compile()
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(account, "EUR") for account in ("ann", "bob", "carl")]
        for ref in refs:
            ledger.move_funds(ref, 10**11)
    for part in range(5):
        with RoundLedger.open_for_writing(path) as ledger:
            for number in range(round_count // 5):
                ledger.play(refs[number % 3], game, MODES[number % 50 // 49 * 2], 200, external_ref=f"tx-{part}-{number}")
            ledger.move_funds(refs[part % 3], -500, "withdrawal")
    copy_ledger(path, folder / "whole.db")
    return new_scene(folder, folder / "whole.db", folder / "ledger.db.keys")


def prove_attacks(options: argparse.Namespace) -> dict[str, Any]:
    """Each attack on a ledger that a kept checkpoint covers is found and named, by the commands that the page on them says."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        scene = _play_attacked(Path(name), options.attack_rounds)
        with RoundLedger.open_for_reading(scene.ledger) as ledger:
            tree = ledger.store.tree()
        counts = dict.fromkeys((*ATTACKS, *FORGERIES), 0)
        step = max(1, options.instances // 4)
        parts = [(first, min(first + step, options.instances)) for first in range(0, options.instances, step)]
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            attacks = [(str(scene.ledger), attack_name, tree.size, tree.root, *part) for attack_name in ATTACKS for part in parts]
            forgeries = [(scene, forgery, *part) for forgery in FORGERIES for part in parts]
            # Not both at once: where a forgery is missed, the attacks are not to be waited for.
            for results in (pool.map(*work) for work in ((_forgery_task, forgeries), (_attack_task, attacks))):
                for attack_name, found, missed in results:
                    expect(f"attack {attack_name!r}", [], missed)
                    counts[attack_name] += found
                    if counts[attack_name] == options.instances:
                        sys.stderr.write(f"  {attack_name}: all {options.instances} found and named\n")
    print(f"{'found and named':>15}  of {options.instances} on a ledger of {options.attack_rounds} rounds")
    for attack_name, count in counts.items():
        print(f"{count:>15}  {attack_name}")
    return {"rounds": options.attack_rounds, "instances": options.instances, "found_and_named": counts}
