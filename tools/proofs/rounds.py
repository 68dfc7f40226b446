"""Rounds of every game: recorded and verified, and those that reach what is rare, before the referee."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from engines.game_events import parse_game_event
from engines.registry import GAMES, game_of_rules, installed_rules
from engines.rng import round_key
from engines.simulate import simulate
from replay.referee.walk import walk_round
from tests.stargazing_rules import ASTRA, RARE
from tools.proofs.proof import ROOT, SEED, expect

__all__ = ["prove_astra", "prove_rare", "prove_rounds"]

RARE_TRIES = 100  # rounds played at most for each that is wanted


def audit(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    program = "import sys; from audit_reports.cli import main\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], env=environment, capture_output=True, text=True)


def _play_modes(ledger: Path, game: str, round_count: int) -> dict[str, Any]:
    """Play rounds of each mode of a game, with each choice where its rounds wait for one, and return what they came to."""
    played = {}
    rules = installed_rules(game)
    for mode, choice in product(rules.modes, rules.choice_names or ("",)):
        started = time.perf_counter()
        terms = ["--game", game, "--mode", mode.name, *(["--choice", choice] if choice else [])]
        done = audit("play", "--ledger", ledger, *terms, "--rounds", round_count, "--json")
        expect(f"play {' '.join(terms)}", (0, ""), (done.returncode, "" if not done.returncode else done.stderr[-300:]))
        total = json.loads(done.stdout.splitlines()[-1])
        seconds = round(time.perf_counter() - started, 1)
        name = f"{mode.name} {choice}".strip()
        played[name] = {"win_minor": total["win_minor"], "cost_minor": total["cost_minor"], "seconds": seconds}
    return played


def prove_rounds(options: argparse.Namespace) -> dict[str, Any]:
    """Play rounds of each mode of each game, with each choice, into a ledger; `verify --all` with the referee finds nothing."""
    games = {}
    for game in GAMES:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            ledger = Path(name) / "ledger.db"
            audit("init", "--ledger", ledger)
            played = _play_modes(ledger, game, options.rounds)
            started = time.perf_counter()
            done = audit("verify", "--ledger", ledger, "--all", "--referee", "--json")
            seconds = round(time.perf_counter() - started, 1)
            lines = done.stdout.splitlines()
            expect(f"exit status of verify --all of {game}, and its lines", (0, lines[-1:]), (done.returncode, lines))
            summary = json.loads(lines[-1])
            expect("verdicts", {"reproduced": len(played) * options.rounds}, summary["verdicts"])
            expect("findings", (0, []), (summary["finding_count"], summary["ledger_findings"]))
            expect("total win", sum(mode["win_minor"] for mode in played.values()), summary["win_minor"]["EUR"])
            games[game] = {"played": played, "verify_all_seconds": seconds, "warnings": summary["warning_count"]}
    return {"rounds_per_mode": options.rounds, "games": games}


def prove_rare(options: argparse.Namespace) -> dict[str, Any]:
    """In so many rounds that reach each rare thing by test rules the referee finds nothing, and the totals are those it allows."""
    reached = {}
    for name, (rules, what, least) in RARE.items():
        game, state, found, nonce = game_of_rules(rules), rules.first_state, 0, 0
        game.compile()
        while found < options.rare:
            expect(f"rounds with {name} within the first {nonce}", True, nonce < RARE_TRIES * options.rare)
            choices = (nonce % len(rules.choice_names),)
            outcome = game.play(round_key(SEED, rules.game, "", nonce), "base", 2 * rules.bet.coins, state, choices)
            found += _referee_told(f"{name}, nonce {nonce}", rules, outcome, state, choices)[what] >= least
            nonce, state = nonce + 1, outcome.state_out
        reached[name] = {"rounds": nonce, "with it": found}
    return {"rounds_by_each": options.rare, "reached": reached}


def _referee_told(name: str, rules: Any, outcome: Any, state: dict[str, int], choices: tuple[int, ...]) -> Counter[str]:
    """Hold a kernel's round against the referee and return what is told in it."""
    events = [(place, parse_game_event(each.topic.split("/")[0], each.data)) for place, each in enumerate(outcome.events, 1)]
    walk = walk_round(events, rules, mode="base", bet_minor=2 * rules.bet.coins, state_in=state, choices=choices)
    expect(f"findings in {name}", [], [str(finding) for finding in walk.findings if finding.severity != "warning"])
    got = (outcome.ended, outcome.total_win_minor, outcome.base_win_minor, outcome.feature_win_minor, outcome.state_out)
    expect(f"totals of {name}", tuple((each,) for each in got), tuple(walk.totals))
    told = Counter([outcome.ended])
    for _, event in events:
        match event.kind:
            case "prize":
                told[f"prize {event.which}"] += 1
            case "power":
                told[f"power of princess {event.princess}"] += 1
            case "multiplier_change" if event.to_multiplier == rules.ceiling.multiplier:
                told[f"multiplier {event.to_multiplier}"] += 1
            case "spin_started":
                told[f"spin of {event.part}"] += 1
            case "choice_offered":
                told[f"choice {choices[0]}"] += 1
    return told


def prove_astra(options: argparse.Namespace) -> dict[str, Any]:
    """Spins in which Astra leaves up to nine Power Wilds all come to an end: no win goes on for ever."""
    sums = list(simulate(ASTRA, "base", options.astra, seed=SEED, job_count=os.cpu_count() or 1))
    expect("spins that ended", options.astra, sum(each.total("rounds") for each in sums))
    return {"spins": options.astra}
