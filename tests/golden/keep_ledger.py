"""Writes the small ledger that an issue leaves behind: `python tests/golden/keep_ledger.py issue-4`.

It is verified for ever, by every later release; it is never written anew. What a ledger can hold grows with the issues:
each one adds its part here, and the ledgers of earlier ones stay as they are.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engines.registry import GAMES, installed_builds, installed_game  # noqa: E402
from ledger.builds import register_builds  # noqa: E402
from ledger.checkpoints import sign_tree  # noqa: E402
from ledger.copying import copy_ledger  # noqa: E402
from ledger.disclosure import reveal_seed  # noqa: E402
from ledger.rounds import RoundLedger  # noqa: E402
from ledger.seed_rotation import rotate_seed_key  # noqa: E402


def keep(name: str) -> None:
    """Make the folder tests/golden/ledgers/<name>: a ledger, its keys, a checkpoint of it."""
    folder = ROOT / "tests" / "golden" / "ledgers" / name
    folder.mkdir(parents=True)
    working, keys = folder / "working.db", folder / "keys"
    game = installed_game("moonlight-princess")
    with RoundLedger.create(working, keys) as ledger:
        ann, bob = ledger.open_account("ann", "EUR"), ledger.open_account("bob", "JPY")
        ledger.move_funds(ann, 100_000)
        ledger.move_funds(bob, 100_000, "play_money")
        for number in range(6):
            ledger.play(ann, game, "base", 200, external_ref=f"tx-{number}", client_seed="client-1" if number % 2 else "")
    with RoundLedger.open_for_writing(working, keys) as ledger:
        ledger.play(bob, game, "ante", 100)
        ledger.play(ann, game, "buy", 200)
        ledger.move_funds(ann, -500, "withdrawal")
        reveal_seed(ledger, 1)
    with RoundLedger.open_for_writing(working, keys, epoch_of="account") as ledger:
        register_builds(ledger, installed_builds(), "Ann Archer", "Ben Baker")
        for name in GAMES:
            other = installed_game(name)
            for number in range(4):
                ledger.play((ann, bob)[number % 2], other, "base", 2 * other.rules.bet.coins)
        rotate_seed_key(ledger.store, keys)
        ledger.play(ann, game, "base", 200)
    ledger = RoundLedger.open_for_writing(working, keys)
    ledger.open_round(bob, game, "base", 20)
    sign_tree(ledger, keys)
    ledger.factory.close()  # as a process that died: a round stays in play
    copy_ledger(working, folder / "ledger.db")
    for path in folder.glob("working.db*"):
        path.unlink()
    for path in folder.glob("ledger.db-*"):
        path.unlink()


if __name__ == "__main__":
    keep(sys.argv[1])
