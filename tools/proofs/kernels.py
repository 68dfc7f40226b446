"""Kernels: the same bytes at both speeds, no index out of bounds, and faults planted in them that the referee sees."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import product
from typing import Any

from engines.digest import PINNED_ROUNDS
from engines.registry import GAMES, game_of_rules, installed_rules
from engines.rng import round_key
from tools.proofs.proof import ROOT, SEED, expect

__all__ = ["prove_bounds", "prove_planted", "prove_speeds"]

BET_MINOR = 40


def prove_speeds(options: argparse.Namespace) -> dict[str, Any]:
    """Compiled and plain kernels give the same bytes, whatever PYTHONHASHSEED is, and the pinned digests."""
    digests = {}
    program = (
        "import sys; from engines.registry import installed_game; from engines.digest import pinned_digest\n"
        "game = installed_game(sys.argv[1]); game.compile()\n"
        "print(*[pinned_digest(game, mode.name) for mode in game.rules.modes])"
    )
    for game in GAMES:
        rules = installed_rules(game)
        plain, machine = game_of_rules(rules), game_of_rules(rules)
        machine.compile()
        modes = [mode.name for mode in rules.modes]
        choices = [(choice,) for choice in range(len(rules.choice_names))] or [()]
        for mode, chosen in product(modes, choices):
            state = rules.first_state
            for nonce in range(options.plain):
                terms = (round_key(SEED, game, "", nonce), mode, BET_MINOR, state, chosen)
                outcome = machine.play(*terms)
                expect(f"{game} {mode} {chosen} nonce {nonce}", plain.play(*terms), outcome)
                state = outcome.state_out
        pinned = json.loads((ROOT / "tests" / "golden" / f"{game}-{rules.version}.json").read_text())
        expect(f"rules hash of {game}", pinned["rules_hash"], rules.rules_hash)
        for hash_seed in ("0", "1", "4242"):
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed}
            done = subprocess.run([sys.executable, "-c", program, game], env=environment, capture_output=True, text=True, check=True)
            expect(f"digests of {game} under PYTHONHASHSEED={hash_seed}", [pinned["digest"][mode] for mode in modes], done.stdout.split())
        digests[game] = pinned["digest"]
    return {"plain_rounds_per_mode": options.plain, "digest_rounds": PINNED_ROUNDS, "hash_seeds": [0, 1, 4242], "digests": digests}


def prove_bounds(options: argparse.Namespace) -> dict[str, Any]:
    """With the compiler checking every index, no kernel reads or writes outside an array."""
    program = (
        "import sys; from engines.registry import installed_rules; from engines.simulate import simulate\n"
        "rules, count = installed_rules(sys.argv[1]), int(sys.argv[2])\n"
        "for mode in rules.modes: list(simulate(rules, mode.name, count // (20 if mode.name == 'buy' else 1), seed=bytes(32)))"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_BOUNDSCHECK": "1", "XDG_CACHE_HOME": cache}
        for game in GAMES:
            command = [sys.executable, "-c", program, game, str(options.bounds)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            expect(f"bounds of {game}", (0, ""), (done.returncode, done.stderr))
    return {"rounds": options.bounds}


def prove_planted(options: argparse.Namespace) -> dict[str, Any]:
    """Of single faults planted in the kernels the referee sees nearly all, in each game, without the seed."""
    command = [sys.executable, "tools/planted_faults.py", "--rounds", str(options.planted_rounds), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    expect("exit status of the planted faults", 0, done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    return {"rounds_per_fault": options.planted_rounds, **found}
