"""One of many processes that play on the same accounts at once, until a moment; it writes down what it was told: run by the tests.

Of what a call may be refused with it knows three: the account has a round in play, cannot pay, or another writer held the
ledger for too long. Anything else ends it.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from engines.game import Game
from engines.registry import GAMES, installed_game
from engines.rng import round_key
from ledger.bets import Opened, Played, Waiting
from ledger.errors import FundsShort, LedgerLocked, RoundInPlay
from ledger.rounds import RoundLedger

ASKING = "moon-princess-stargazing"
ASKING_TRIES = 1000  # client seeds; one in some two hundred has the round ask
COINS_MINOR = (1, 2, 10, 50)
HELD_MAX = 3  # rounds that a process has opened and not finished
KEYS_MAX = 20  # that it remembers
SLOT_SECONDS = 0.05  # who plays under a shared key within one of them plays under the same, at its end


class Call(NamedTuple):
    """A bet with what it is known by; `is_left` where its round is left at a choice."""

    account_ref: str
    game: Game
    mode: str
    bet_minor: int
    external_ref: str
    key: str = ""
    client_seed: str = ""
    is_left: bool = False


def _minor(amount: str) -> int:
    return int(Decimal(amount) * 100)


class Player:
    """A process's way through the run, by chance."""

    def __init__(self, ledger: RoundLedger, refs: list[str], seed: str, number: int, said: TextIO) -> None:
        self.ledger, self.refs, self.seed, self.number, self._said = ledger, refs, seed, number, said
        self.chance = random.Random(f"{seed} {number}")
        self.games: dict[str, Game] = {name: installed_game(name) for name in GAMES}
        self.held: list[Opened] = []
        self.waiting: list[Waiting] = []
        self.cut: list[Call] = []  # calls whose round may be in play, without their having been told
        self.keyed: list[Call] = []
        self._call_count = 0
        self._started = 0.0
        finders = [(self.ask, 2)] if number % 2 else []
        self._steps = [
            (self.play, 28),
            (self.open, 14),
            (self.finish, 14),
            (self.play_to_choice, 10),
            (self.resume, 8),
            (self.move_funds, 8),
            (self.share, 6),
            (self.repeat, 6),
            (self.overdraw, 4),
            (self.look, 4),
            *finders,
        ]

    def step(self) -> None:
        """Do something."""
        if self.cut:
            self._recover(self.cut.pop())
        ((chosen, _),) = self.chance.choices(self._steps, [weight for _, weight in self._steps])
        chosen()

    def _say(self, told: str, **fields: Any) -> None:
        milliseconds = round((time.perf_counter() - self._started) * 1000, 1)
        self._said.write(json.dumps({"told": told, "ms": milliseconds, **fields}) + "\n")
        self._said.flush()

    @contextmanager
    def asked(self, account_ref: str = "", call: Call | None = None) -> Iterator[None]:
        """Write down how a call was refused; one that may have opened a round all the same is kept, to see to it."""
        self._started = time.perf_counter()
        try:
            yield
        except RoundInPlay as error:
            self._say("in_play", account=account_ref, round=error.round_id)
        except FundsShort as error:
            self._say("short", account=account_ref, cost=_minor(error.cost), balance=_minor(error.balance))
        except LedgerLocked:
            self._say("locked", account=account_ref, external_ref=call.external_ref if call else "")
            if call:
                self.cut.append(call)

    def _say_round(self, found: Opened | Played | Waiting) -> None:
        event = found.event if isinstance(found, Opened) else found.opened
        fields = {"round": found.round_id, "account": event.account_ref, "cost": event.cost_minor, "key": event.idempotency_key}
        fields |= {"is_repeat": found.is_repeat}
        if isinstance(found, Played):
            self._say("settled", **fields, win=found.settled.total_win_minor, balance=found.settled.balance_after_minor)
        else:
            told = "opened" if isinstance(found, Opened) else "waiting"
            self._say(told, **fields, balance=event.balance_before_minor - event.cost_minor)

    def _bet(self, chance: random.Random, name: str = "", **more: Any) -> Call:
        """Return a bet that a game takes, of some account."""
        game = self.games[name or chance.choice(list(self.games))]
        modes = [mode.name for mode in game.rules.modes for _ in range(1 if mode.name == "buy" else 20)]
        coin = min(chance.choice(COINS_MINOR), game.rules.bet.coin_minor_max)
        self._call_count += 1
        reference = {"external_ref": f"{self.number}-{self._call_count}"} | more
        return Call(chance.choice(self.refs), game, chance.choice(modes), game.rules.bet.coins * coin, **reference)

    def _make(self, call: Call) -> None:
        bet = call.account_ref, call.game, call.mode, call.bet_minor
        terms = {"client_seed": call.client_seed, "external_ref": call.external_ref, "idempotency_key": call.key}
        with self.asked(call.account_ref, call):
            found = self.ledger.play_to_choice(*bet, **terms) if call.is_left else self.ledger.play(*bet, **terms)  # type: ignore[arg-type]
            self._say_round(found)
            if isinstance(found, Waiting):
                self.waiting.append(found)

    def _recover(self, call: Call) -> None:
        """See to a call that was not acknowledged: with its key it is made again, without one its round is looked for."""
        if call.key:
            self._make(call)
            return
        with self.asked(call.account_ref, call):
            in_play = self.ledger.round_in_play(call.account_ref)
            if in_play is not None and in_play[1].external_ref == call.external_ref:
                self._say_round(self.ledger.finish_round(in_play[0], call.game))

    def play(self) -> None:
        """Play a round to its end."""
        self._make(self._bet(self.chance))

    def play_to_choice(self) -> None:
        """Play a round that may ask, up to there."""
        self._make(self._bet(self.chance, ASKING, is_left=True))

    def ask(self) -> None:
        """Play a round that does ask: who holds the seed can find a client seed for that, where nobody else deals its nonces."""
        bet = self._bet(self.chance, ASKING, is_left=True)
        with self.asked(bet.account_ref):
            commitment = self.ledger.commitment(bet.account_ref)
            seed = self.ledger.seed_of(commitment.epoch)
            for number in range(ASKING_TRIES):
                key = round_key(seed, ASKING, str(number), commitment.next_nonce)
                if bet.game.play(key, bet.mode, bet.bet_minor, bet.game.rules.first_state, ()).wants_choice:
                    self._make(bet._replace(client_seed=str(number)))
                    return

    def resume(self) -> None:
        """Choose in a round that waits; all who know of it choose the same."""
        if not self.waiting:
            return
        waiting = self.waiting.pop(0)
        self.waiting.append(waiting)
        choice = waiting.offered[int(waiting.round_id[-4:], 16) % len(waiting.offered)]
        with self.asked(waiting.opened.account_ref):
            self._say_round(self.ledger.resume_round(waiting.round_id, self.games[ASKING], [choice]))
            self.waiting.remove(waiting)

    def open(self) -> None:
        """Open a round and leave it there for a while."""
        if len(self.held) >= HELD_MAX:
            self.finish()
        bet = self._bet(self.chance)
        with self.asked(bet.account_ref):
            opened = self.ledger.open_round(*bet[:4], external_ref=bet.external_ref)
            self._say_round(opened)
            self.held.append(opened)

    def finish(self) -> None:
        """Finish a round that was left open."""
        if not self.held:
            return
        opened = self.held[0]
        with self.asked(opened.event.account_ref):
            self._say_round(self.ledger.finish_round(opened.round_id, self.games[opened.event.game]))
            self.held.remove(opened)

    def move_funds(self) -> None:
        """Put money in or take it out, sometimes more than is there."""
        some = self.chance.randint(1, 5_000)
        ref, amount = self.chance.choice(self.refs), self.chance.choice([some, -some, -(10**9)])
        with self.asked(ref):
            balance = self.ledger.move_funds(ref, amount, "deposit" if amount > 0 else "withdrawal")
            self._say("moved", account=ref, amount=amount, balance=balance)

    def share(self) -> None:
        """Play under the key that others play under in the same moment."""
        slot = int(time.monotonic() / SLOT_SECONDS) + 1
        chance = random.Random(f"{self.seed} {slot}")
        name, is_left = chance.choice([("", False), (ASKING, True)])
        call = self._bet(chance, name, is_left=is_left, external_ref=f"shared-{slot}", key=f"shared-{slot}")
        time.sleep(max(0.0, slot * SLOT_SECONDS - time.monotonic()))
        self._make(call)
        self.keyed = [*self.keyed[1 - KEYS_MAX :], call]

    def repeat(self) -> None:
        """Make a call under its key again."""
        if self.keyed:
            self._make(self.chance.choice(self.keyed))

    def overdraw(self) -> None:
        """Bet more than most accounts ever have."""
        bet = self._bet(self.chance, next(iter(GAMES)))
        self._make(bet._replace(mode="buy", bet_minor=bet.game.rules.bet.coins * bet.game.rules.bet.coin_minor_max))

    def look(self) -> None:
        """Look at an account."""
        ref = self.chance.choice(self.refs)
        with self.asked(ref):
            self._say("seen", account=ref, balance=self.ledger.account(ref).balance_minor)


def main() -> None:
    """Play from the word `ready` to the moment that is then given, in seconds of the monotonic clock."""
    place, keys_dir, number, seed, said_path, *refs = sys.argv[1:]
    ledger = RoundLedger.open_for_writing(place, Path(keys_dir), epoch_of="account" if int(number) % 2 else "writer")
    with open(said_path, "w") as said:
        player = Player(ledger, refs, seed, int(number), said)
        print("ready", flush=True)
        end = float(sys.stdin.readline())
        while time.monotonic() < end:
            player.step()
        with player.asked():
            ledger.close()


if __name__ == "__main__":
    main()
