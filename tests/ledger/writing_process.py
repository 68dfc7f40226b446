"""A process that plays rounds of one account, so many or until it is killed, and says which ones are settled: run by the tests."""

import sys
import time
from pathlib import Path

from ledger.errors import LedgerLocked, RoundInPlay
from ledger.rounds import RoundLedger
from tests.fake_game import FakeGame


def main() -> None:
    """Play; a line `open <id>` or `done <id>` stands for a transaction that has returned."""
    path, account_ref, rounds_left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    game = FakeGame()
    ledger = RoundLedger.open_for_writing(path)
    print("ready", flush=True)
    while rounds_left:
        try:
            opened = ledger.open_round(account_ref, game, "base", 200)
        except (RoundInPlay, LedgerLocked):
            time.sleep(0.002)
            continue
        rounds_left -= 1
        print("open", opened.round_id, flush=True)
        outcome = game.play(opened.key, "base", 200, {}, ())
        ledger.settle_round(opened, outcome)
        print("done", opened.round_id, flush=True)
    ledger.close()


if __name__ == "__main__":
    main()
