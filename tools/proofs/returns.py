"""The return of every mode and choice, simulated as rounds are played."""

import argparse
import os
from functools import reduce
from typing import Any

from engines.registry import GAMES, exact_return, installed_rules
from engines.rules import GameRules
from engines.simulate import Sums, estimate_return, simulate
from tools.proofs.proof import SEED, ProofError

__all__ = ["prove_simulated"]

WORST_CHOICE = 0.0025  # how much lower than the target the return with the worst choice may be


def _simulated(rules: GameRules, mode: str, count: int, choices: tuple[int, ...]) -> Sums:
    chunks = simulate(rules, mode, count, seed=SEED, choices=choices, job_count=os.cpu_count() or 1)
    return reduce(Sums.plus, chunks)


def prove_simulated(options: argparse.Namespace) -> dict[str, Any]:
    """The return of each mode, simulated as rounds are played, is not a tenth of a point off the target, or the exact return.

    Where rounds wait for a choice that is the return with the best one, and the worst is not much lower.
    """
    found = {}
    for game in GAMES:
        rules = installed_rules(game)
        for mode in (mode.name for mode in rules.modes):
            target = float(exact_return(rules, mode) or rules.rtp_target_x10000 / 10000)
            count = max(options.simulated // (50 if mode == "buy" else 1), 1000)
            estimates = []
            for place, choice in enumerate(rules.choice_names or ("",)):
                total = _simulated(rules, mode, count, (place,) if choice else ())
                estimate = estimate_return(rules, mode, total)
                estimates.append(estimate)
                shares = {"hit_frequency": total.total("hits") / count, "triggers": total.total("triggers") / count}
                found[f"{game} {mode} {choice}".strip()] = {"target": target, "rounds": count, **estimate._asdict(), **shares}
            best, worst = max(estimates), min(estimates)
            if not best.rtp_low - 0.001 < target < best.rtp_high + 0.001:
                raise ProofError(f"return of {game} {mode}", f"{target} within the interval, give or take 0.001", str(best))
            if worst.rtp_high < target - WORST_CHOICE:
                raise ProofError(f"worst choice of {game} {mode}", f"{target} less {WORST_CHOICE}, or more", str(worst))
    # The ante's triggers are twice the base mode's by construction; by count at the full number of rounds.
    ratio = found["moonlight-princess ante"]["triggers"] / found["moonlight-princess base"]["triggers"]
    if abs(ratio - 2) > (0.02 if options.full else 0.2):
        raise ProofError("triggers of ante and base", "2 to 1", f"{ratio:.4f}")
    return {"seed": SEED.hex(), "modes": found, "ante_triggers_per_base_trigger": ratio}
