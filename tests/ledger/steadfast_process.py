"""A process that plays on a server or a disk that may fail at any time, so many rounds or until it is told to stop: run by the tests."""

import sys
import threading
import time
from pathlib import Path

from ledger.errors import LedgerError, LedgerUnwritable
from ledger.rounds import RoundLedger
from tests.fake_game import FakeGame

PAUSE_SECONDS = 0.05


def play_one(ledger: RoundLedger, game: FakeGame, account_ref: str) -> None:
    """Play a round, or finish the one that a loss of the server left open."""
    in_play = ledger.round_in_play(account_ref)
    if in_play is not None:
        played = ledger.finish_round(in_play[0], game)
        print("done", played.round_id, flush=True)
        return
    opened = ledger.open_round(account_ref, game, "base", 200)
    print("open", opened.round_id, flush=True)
    ledger.settle_round(opened, game.play(opened.key, "base", 200, {}, ()))
    print("done", opened.round_id, flush=True)


def opened(url: str, keys_dir: Path) -> RoundLedger:
    """Open the ledger for writing, again and again while the disk fails."""
    while True:
        try:
            return RoundLedger.open_for_writing(url, keys_dir)
        except LedgerUnwritable as error:
            print("lost", type(error).__name__, flush=True)
            time.sleep(PAUSE_SECONDS)


def main() -> None:
    """Play; a line `open <id>` or `done <id>` stands for a transaction that has returned, `lost <error>` for one that has not."""
    url, keys_dir, account_ref, *count = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
    rounds_left = int(count[0]) if count else -1
    is_over = threading.Event()
    if not count:
        threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    game = FakeGame()
    ledger = opened(url, keys_dir)
    print("ready", flush=True)
    while rounds_left and not is_over.is_set():
        try:
            play_one(ledger, game, account_ref)
            rounds_left -= 1
        except LedgerError as error:
            print("lost", type(error).__name__, flush=True)
            time.sleep(PAUSE_SECONDS)
    ledger.close()


if __name__ == "__main__":
    main()
