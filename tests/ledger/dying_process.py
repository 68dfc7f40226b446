"""Plays rounds leg by leg and kills itself in the middle of an append, in a child for each line that it is given: run by the tests.

A line is a task in JSON; the answer is `killed`, or `ended` where the round was over before that append.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ledger.bets import Played, Waiting
from ledger.interruptions import interrupt_round
from ledger.rounds import RoundLedger
from tests.broken_rounds import Kind, kind_game

MOMENTS = ("before", "events", "written", "committed")  # nothing written yet; without the leaf; all written; just confirmed


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(store: Any, number: int, moment: str) -> None:
    """Have the process killed at a moment of the append of this number, counted from 1."""
    count = 0
    write, write_leaf, commit = store._append, store._write_leaf, store._writing._commit

    def append(*given: Any) -> None:
        nonlocal count
        count += 1
        if (count, moment) == (number, "before"):
            _die()
        write(*given)
        if (count, moment) == (number, "written"):
            _die()

    def leaf(*given: Any) -> None:
        if (count, moment) == (number, "events"):
            _die()
        write_leaf(*given)

    def confirmed(*given: Any) -> None:
        commit(*given)
        if (count, moment) == (number, "committed"):
            _die()

    store._append, store._write_leaf, store._writing._commit = append, leaf, confirmed


def play(task: dict[str, Any]) -> None:
    """Open a round where none is given, and interrupt it and go on with it at each of its legs."""
    kind = Kind(task["game"], task["mode"], tuple(task["choices"]))
    game = kind_game(kind.game)
    place = task["ledger"] if task["ledger"].startswith("postgresql:") else Path(task["ledger"])
    ledger = RoundLedger.open_for_writing(place, Path(task["keys_dir"]))
    arm(ledger.store, task["append"], task["moment"])
    round_id = task["round_id"] or ledger.open_round(task["account_ref"], game, kind.mode, 2 * game.rules.bet.coins).round_id
    choices: tuple[int, ...] = ()
    while True:
        interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost")
        played = ledger.play_leg(round_id, game, choices)
        if isinstance(played, Played):
            break
        if isinstance(played, Waiting):
            choices = kind.choices[: len(choices) + 1]
    ledger.close()


def main() -> None:
    """Take tasks and answer each when its child is gone."""
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if not child:
            try:
                play(task)
                os._exit(0)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(3)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        print({0: "ended", -signal.SIGKILL: "killed"}.get(code, f"failed with {code}"), flush=True)


if __name__ == "__main__":
    main()
