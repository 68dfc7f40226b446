"""Plants single faults in the kernels and counts those that the referee sees without the seed.

Each fault of tests/planted/<game>.toml is played over 200 rounds at most, until the referee finds something; before that, the
game without a fault plays as many by the same rules, in which nothing may be found. Exit status 3 where fewer than 95% are seen,
1 where a list does not fit the code.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines.registry import GAMES
from tests.planted.faults import ROUNDS, Fault, FaultListError, Judged, faults_of, judge, right_rounds_findings

SEEN_MIN_PERCENT = 95
EQUIVALENT_MAX_PERCENT = 5
FAULT_SECONDS_MAX = 300


def _judge(task: tuple[Fault, int]) -> Judged:
    fault, round_count = task
    signal.alarm(FAULT_SECONDS_MAX)  # a faulty game may never end; the worker then dies and the run breaks off
    judged = judge(fault, round_count)
    signal.alarm(0)
    return judged


def _check_right(task: tuple[str, str, int]) -> None:
    game, rules_name, round_count = task
    for nonce, finding in right_rounds_findings(game, rules_name, round_count):
        wanted = f"no finding in rounds without a fault by the rules {rules_name!r}"
        raise FaultListError(game, "none", wanted, f"{finding.code} in round {nonce}: {finding.message}")


def judge_all(games: list[str], round_count: int = ROUNDS) -> Iterator[Judged]:
    """Yield what became of each fault; raises FaultListError where a list does not fit the code or a right round has findings."""
    faults = [fault for game in games for fault in faults_of(game)]
    by_rules = sorted({(fault.game, fault.rules, round_count) for fault in faults})
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        list(pool.map(_check_right, by_rules))
        yield from pool.map(_judge, [(fault, round_count) for fault in faults])


def score(judged: list[Judged]) -> dict[str, Any]:
    """Return the score of the faults of one game, or of all."""
    counts = {word: sum(each.outcome == word for each in judged) for word in ("seen", "missed", "unchanged", "equivalent")}
    faults = len(judged) - counts["equivalent"]
    return {"faults": faults, **counts, "seen_percent": round(100 * counts["seen"] / faults, 1)}


def as_json(judged: list[Judged]) -> dict[str, Any]:
    """Return the document of `--json`: the score of all, of each game, and each fault."""
    by_game = {game: [each for each in judged if each.fault.game == game] for game in dict.fromkeys(each.fault.game for each in judged)}
    rows = [
        {
            "game": each.fault.game,
            "fault": each.fault.name,
            "file": each.fault.file,
            "rules": each.fault.rules,
            "outcome": each.outcome,
            "rounds": each.rounds,
            "finding": each.finding,
        }
        for each in judged
    ]
    return {"score": score(judged), "games": {game: score(found) for game, found in by_game.items()}, "faults": rows}


def exit_status(judged: list[Judged]) -> int:
    """Return 0 where enough is seen and little is equivalent, in each game and in all, else 3."""
    document = as_json(judged)
    for each in (document["score"], *document["games"].values()):
        if 100 * each["seen"] < SEEN_MIN_PERCENT * each["faults"]:
            return 3
        if 100 * each["equivalent"] > EQUIVALENT_MAX_PERCENT * (each["faults"] + each["equivalent"]):
            return 3
    return 0


def main() -> int:
    """Judge the faults, print the table and the score, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=GAMES, action="append", help="faults of this game alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each fault at most (200)")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of the table")
    options = parser.parse_args()
    judged: list[Judged] = []
    try:
        for each in judge_all(options.game or list(GAMES), options.rounds):
            judged.append(each)
            if not options.json:
                print(f"{each.fault.game:<19} {each.outcome:<10} {each.rounds:>4}  {each.fault.name}: {each.finding[:110]}", flush=True)
    except FaultListError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    document = as_json(judged)
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        for name, each_score in (*document["games"].items(), ("all", document["score"])):
            print(
                f"{name}: {each_score['seen']} of {each_score['faults']} seen, {each_score['seen_percent']}%; "
                f"missed {each_score['missed']}, not reached {each_score['unchanged']}, equivalent {each_score['equivalent']}"
            )
    return exit_status(judged)


if __name__ == "__main__":
    sys.exit(main())
