"""Writes the small ledger that an issue leaves behind: `python tests/golden/keep_ledger.py issue-4`.

It is verified for ever, by every later release; it is never written anew. What a ledger can hold grows with the issues:
each one adds its part here, and the ledgers of earlier ones stay as they are.
"""

import sys
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engines.registry import GAMES, installed_builds, installed_game  # noqa: E402
from engines.rng import round_key  # noqa: E402
from ledger.bets import Waiting  # noqa: E402
from ledger.builds import register_builds  # noqa: E402
from ledger.checkpoints import sign_tree  # noqa: E402
from ledger.copying import copy_ledger  # noqa: E402
from ledger.corrections import correct_balance  # noqa: E402
from ledger.disclosure import reveal_seed  # noqa: E402
from ledger.forgetting import forget_account  # noqa: E402
from ledger.profile import shipped_profile  # noqa: E402
from ledger.profile_setting import set_profile  # noqa: E402
from ledger.rounds import RoundLedger  # noqa: E402
from ledger.seed_rotation import rotate_seed_key  # noqa: E402

CHOOSING = "moon-princess-stargazing"


def leave_at_choice(ledger: RoundLedger, account_ref: str) -> Waiting:
    """Play a round that waits for a choice: the client seed is one that leads to it, which only who holds the seeds can tell."""
    game = installed_game(CHOOSING)
    shown = ledger.commitment(account_ref)
    seed, bet_minor = ledger.seed_of(shown.epoch), 2 * game.rules.bet.coins
    for number in count():
        key = round_key(seed, CHOOSING, f"client-{number}", shown.next_nonce)
        if all(game.play(key, "base", bet_minor, state, ()).wants_choice for state in game.rules.states):
            break
    left = ledger.play_to_choice(account_ref, game, "base", bet_minor, client_seed=f"client-{number}")
    assert isinstance(left, Waiting)
    return left


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
    with RoundLedger.open_for_writing(working, keys) as ledger:
        profile = shipped_profile("void-15-days")
        assert profile is not None
        set_profile(ledger.store, profile, "Ann Archer", "Ben Baker")
        cid, dee = ledger.open_account("cid", "EUR"), ledger.open_account("dee", "EUR")
        for account in (cid, dee):
            ledger.move_funds(account, 10_000, "play_money")
        for choice in (1, 2):
            resumed = leave_at_choice(ledger, cid)
            ledger.resume_round(resumed.round_id, installed_game(CHOOSING), (choice,), channel="mobile")
        correct_balance(ledger, ann, 250, "a deposit was booked short", "Ann Archer", "Ben Baker")
        forget_account(ledger, "cid", "Ann Archer", "Ben Baker")
        leave_at_choice(ledger, dee)
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
