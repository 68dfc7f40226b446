"""The life of a ledger by chance: played, funded, rotated, signed, killed, reopened, restored; in none may anything be found wrong."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from engines.game import Game
from engines.registry import GAMES, installed_game
from ledger.bets import Waiting
from ledger.checkpoint import load_checkpoint
from ledger.checkpoints import rotate_log_key, sign_tree
from ledger.copying import copy_ledger
from ledger.corrections import correct_balance, correct_round
from ledger.disclosure import epoch_states, epochs_in_play, release_key, reveal_seed, rotate_epochs
from ledger.errors import RoundInPlay
from ledger.forgetting import forget_account
from ledger.held import held_rounds
from ledger.history import build, compare
from ledger.incidents import record_incident
from ledger.interruptions import CAUSES, interrupt_round
from ledger.profile import shipped_profile, shipped_profiles
from ledger.profile_setting import profile_in_force, set_profile
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from replay.anchors import load_anchors
from tests.contracts.alterations_contract import TWO, report_of
from tests.contracts.life_contract import grant
from tests.ledger_files import rows
from tests.traced import audit_command
from tests.whole import everything_wrong

__all__ = ["OTHER_PYTHON", "Life", "live"]

OTHER_PYTHON = "SLOT_AUDIT_OTHER_PYTHON"  # names another interpreter that has the dependencies
STEPS = (20, 50)
CURRENCIES = ("EUR", "EUR", "JPY", "KWD")
CLIENT_SEEDS = ("", "", "client", "größer ♥", "0" * 64)
COINS_MINOR = (1, 2, 10, 50)
MODES = ("base", "base", "base", "base", "ante", "ante", "buy")
SEVERAL = "moonlight-princess"  # whose bought rounds have several legs
ASKING, ROUNDS_TO_A_CHOICE = "moon-princess-stargazing", 120
KILL_AFTER_SECONDS = (0.2, 0.9)
ROOT = Path(__file__).resolve().parent.parent


class Life:
    """One ledger with its keys and everything that others keep of it; each step leaves it as the product may leave it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(f"life {seed}")
        self.path, self.keys_dir, self.history = folder / "ledger.db", folder / "keys", folder / "history.db"
        self.kept: list[Path] = []  # checkpoints
        self.vkeys: list[Path] = []
        self.counts: Counter[str] = Counter()
        self._games: list[Game] = [installed_game(name) for name in GAMES]
        self.ledger = RoundLedger.create(self.path, self.keys_dir)
        self._keep_vkey()
        self.open_account()

    @property
    def steps(self) -> list[tuple[Callable[[], None], int]]:
        """What may happen, and how often of a hundred times."""
        return [
            (self.play, 34),
            (self.repeat, 4),
            (self.leave_open, 7),
            (self.leave_waiting, 4),
            (self.interrupt, 6),
            (self.void, 3),
            (self.grant, 2),
            (self.move_funds, 8),
            (self.correct, 4),
            (self.set_profile, 2),
            (self.forget, 1),
            (self.open_account, 4),
            (self.rotate, 4),
            (self.reveal, 4),
            (self.release, 4),
            (self.sign, 8),
            (self.rotate_key, 2),
            (self.build_history, 5),
            (self.reopen, 5),
            (self.die, 5),
            (self.share, 4),
            (self.restore_copy, 2),
        ]

    def step(self) -> None:
        """Let something happen."""
        steps = self.steps
        ((chosen, _),) = self.chance.choices(steps, [weight for _, weight in steps])
        chosen()
        self.counts[chosen.__name__] += 1

    def _account(self) -> str:
        # Not those of the other writers, who may be playing on them.
        refs = [ref for (ref,) in rows(self.path, "SELECT account_ref FROM account_names WHERE name LIKE 'player %' ORDER BY name")]
        return self.chance.choice(refs)

    def open_account(self) -> None:
        """Open an account, with money."""
        number = len(rows(self.path, "SELECT 1 FROM accounts"))
        ref = self.ledger.open_account(f"player {number}", self.chance.choice(CURRENCIES))
        self.ledger.move_funds(ref, 10**7)

    def move_funds(self) -> None:
        """Put money in, or take out what is there."""
        ref = self._account()
        amount, reason = self.chance.choice([(12_345, "deposit"), (1, "play_money"), (-777, "withdrawal")])
        if self.ledger.account(ref).balance_minor + amount >= 0:
            self.ledger.move_funds(ref, amount, reason)  # type: ignore[arg-type]

    def _bet(self, ledger: RoundLedger, ref: str) -> tuple[Game, str, int]:
        game, mode, coin = self.chance.choice(self._games), self.chance.choice(MODES), self.chance.choice(COINS_MINOR)
        mode = mode if game.rules.mode(mode) else "base"
        bet_minor = game.rules.bet.coins * min(coin, game.rules.bet.coin_minor_max)
        if ledger.account(ref).balance_minor < game.rules.cost_minor(mode, bet_minor):
            ledger.move_funds(ref, 10**7)
        return game, mode, bet_minor

    def _finish(self, ledger: RoundLedger, ref: str) -> None:
        # The one that takes the slot first: while it is in play no other one goes on.
        for held in sorted(held_rounds(ledger, ref), key=lambda held: held.standing == "interrupted"):
            ledger.finish_round(held.round_id, installed_game(held.opened.game))

    def play(self) -> None:
        """Play a few rounds of an account, after the one that lay open."""
        ref = self._account()
        self._finish(self.ledger, ref)
        for _ in range(self.chance.randint(1, 4)):
            client_seed, external_ref = self.chance.choice(CLIENT_SEEDS), self.chance.choice(["", f"tx-{self.chance.random()}"])
            self.ledger.play(ref, *self._bet(self.ledger, ref), client_seed=client_seed, external_ref=external_ref)

    def repeat(self) -> None:
        """Play a round under an idempotency key, twice."""
        ref = self._account()
        self._finish(self.ledger, ref)
        bet, key = self._bet(self.ledger, ref), f"key-{self.chance.random()}"
        first, second = (self.ledger.play(ref, *bet, idempotency_key=key) for _ in range(2))
        assert first.round_id == second.round_id

    def leave_open(self) -> None:
        """Die between a bet and its outcome."""
        ref = self._account()
        try:
            self.ledger.open_round(ref, *self._bet(self.ledger, ref))
        except RoundInPlay:
            return
        self.die()

    def leave_waiting(self) -> None:
        """Play until a round asks for a choice, and die there; what was left waiting is gone on with by one choice or another."""
        ref, game = self._account(), installed_game(ASKING)
        if in_play := self.ledger.round_in_play(ref):
            asking = installed_game(in_play[1].game)
            self.ledger.resume_round(in_play[0], asking, [self.chance.randrange(3)] if asking.rules.choice_names else None)
        self._finish(self.ledger, ref)
        for _ in range(ROUNDS_TO_A_CHOICE):
            if self.ledger.account(ref).balance_minor < game.rules.bet.coins:
                self.ledger.move_funds(ref, 10**7)
            if isinstance(self.ledger.play_to_choice(ref, game, "base", game.rules.bet.coins), Waiting):
                self.counts["waiting"] += 1
                self.die()
                return

    def interrupt(self) -> None:
        """Cut a round off behind its first leg, and now and then the writer with it; the account plays on."""
        ref, game = self._account(), installed_game(SEVERAL)
        if game.rules.cost_minor("buy", 20) > self.ledger.account(ref).balance_minor:
            return
        try:
            round_id = self.ledger.open_round(ref, game, "buy", 20).round_id
        except RoundInPlay:
            return
        for _ in range(self.chance.randint(0, 3)):
            self.ledger.play_leg(round_id, game)
        interrupt_round(self.ledger.store, self.ledger.recorded(round_id), self.chance.choice(CAUSES))
        if self.chance.random() < 0.3:
            self.die()

    def void(self) -> None:
        """Have two people void a round in play."""
        if in_play := list(held_rounds(self.ledger, self._account())):
            void_round(self.ledger, self.chance.choice(in_play).round_id, "cannot_continue", why="why", by=TWO[0], approved_by=TWO[1])

    def grant(self) -> None:
        """Grant bonus money to an account and have it play by that alone."""
        ref = self._account()
        grant(self.ledger, ref, 12_345)
        self._finish(self.ledger, ref)
        self.ledger.move_funds(ref, 5 - self.ledger.account(ref).balance_minor, "withdrawal")
        self.ledger.play(ref, installed_game(SEVERAL), "base", 20)
        self.ledger.move_funds(ref, 10**7)

    def correct(self) -> None:
        """Say what a settled round and a balance should have been, and by an incident why."""
        ref, store = self._account(), self.ledger.store
        settled = [round_id for round_id in store.rounds_of(ref) if store.round(round_id).status == "settled"]  # type: ignore[union-attr]
        if settled:
            round_id = self.chance.choice(settled)
            incident = record_incident(self.ledger, report_of([round_id]), *TWO)
            after = f"web {self.chance.random()}"
            correct_round(self.ledger, round_id, "round_opened.channel", after, "why", *TWO, incident=incident.incident_id)
        correct_balance(self.ledger, ref, self.chance.randint(1, 999), "why", *TWO)

    def set_profile(self) -> None:
        """Have another of the profiles that come with the program govern what is played from here on."""
        in_force = profile_in_force(self.ledger.store).profile.id
        profile = shipped_profile(self.chance.choice([each for each in shipped_profiles() if each != in_force]))
        assert profile is not None
        set_profile(self.ledger.store, profile, *TWO)

    def forget(self) -> None:
        """Erase the personal data of an account that has no round in play, where another one is left."""
        refs = [ref for (ref,) in rows(self.path, "SELECT account_ref FROM account_names WHERE name LIKE 'player %' ORDER BY name")]
        if len(refs) > 1 and not list(held_rounds(self.ledger, refs[0])):
            forget_account(self.ledger, refs[0], *TWO)

    def die(self) -> None:
        """End as a killed process does, the epoch open; and come back."""
        self.ledger.factory.close()
        self.ledger = RoundLedger.open_for_writing(self.path, self.keys_dir)

    def reopen(self) -> None:
        """End and come back."""
        self.ledger.close()
        self.ledger = RoundLedger.open_for_writing(self.path, self.keys_dir)

    def rotate(self) -> None:
        """Close all epochs."""
        rotate_epochs(self.ledger)

    def reveal(self) -> None:
        """Reveal the seed of a closed epoch."""
        closed = [state.epoch for state in epoch_states(self.ledger) if state.status == "closed"]
        free = [epoch for epoch in closed if epoch not in epochs_in_play(self.ledger)]
        if free:
            reveal_seed(self.ledger, self.chance.choice(free))

    def release(self) -> None:
        """Release the key of a settled round."""
        settled = rows(self.path, "SELECT round_id FROM rounds WHERE status = 'settled' ORDER BY round_id")
        if settled:
            release_key(self.ledger, self.chance.choice(settled)[0])

    def sign(self) -> None:
        """Sign a checkpoint and give it to somebody who keeps it."""
        kept = sign_tree(self.ledger, self.keys_dir)
        place = self.folder / f"kept-{len(self.kept)}.checkpoint"
        shutil.copyfile(kept.path, place)
        self.kept.append(place)

    def _keep_vkey(self) -> None:
        place = self.folder / f"kept-{len(self.vkeys)}.vkey"
        shutil.copyfile(self.keys_dir / "log.vkey", place)
        self.vkeys.append(place)

    def rotate_key(self) -> None:
        """Exchange the log's key and hand out the new one."""
        rotate_log_key(self.ledger, self.keys_dir)
        self._keep_vkey()

    def build_history(self) -> None:
        """Bring the read model up to date."""
        build(self.ledger, self.history)

    def share(self) -> None:
        """Play while two other writers play, one of which may be killed."""
        mode, rounds = self.chance.choice(["base", "ante"]), str(self.chance.randint(3, 400))
        terms = ["--game", next(iter(GAMES)), "--mode", mode, "--ledger", str(self.path), "--keys", str(self.keys_dir)]
        commands = [["play", *terms, "--account", "first", "--rounds", "3"], ["play", *terms, "--account", "second", "--rounds", rounds]]
        others = [
            subprocess.Popen(audit_command(*each), env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for each in commands
        ]
        time.sleep(self.chance.uniform(*KILL_AFTER_SECONDS))
        self.play()
        others[1].send_signal(signal.SIGKILL)
        ends = [(other.communicate(timeout=60)[1], other.returncode) for other in others]
        assert ends[0][1] == 0, ends[0][0]
        assert ends[1][1] in (0, -signal.SIGKILL), ends[1][0]

    def restore_copy(self) -> None:
        """Restore a backup elsewhere, with its keys, and go on there: both are whole."""
        self._compare_copy("restored", lambda place: copy_ledger(self.path, place), is_continued=True)

    def _compare_copy(self, name: str, make: Callable[[Path], object], *, is_continued: bool = False) -> None:
        """Make a copy, play on in it where that is asked for, and raise AssertionError where anything is found wrong with it."""
        folder = self.folder / name
        folder.mkdir()
        place, keys_dir = folder / "ledger.db", folder / "keys"
        make(place)
        shutil.copytree(self.keys_dir, keys_dir)
        if is_continued:
            with RoundLedger.open_for_writing(place, keys_dir) as copy:
                for _ in range(2):
                    ref = self._account()
                    self._finish(copy, ref)
                    copy.play(ref, *self._bet(copy, ref))
                sign_tree(copy, keys_dir)
        else:
            with RoundLedger.open_for_reading(place) as copy:
                assert copy.store.tree() == self.ledger.store.tree(), name
        assert self.wrong(place, keys_dir) == [], name
        shutil.rmtree(folder)

    def wrong(self, path: Path, keys_dir: Path) -> list[str]:
        """Return all that is found wrong with a ledger that goes back to this one, held against everything that was kept."""
        checkpoints = [load_checkpoint(place).checkpoint for place in self.kept]
        anchors = load_anchors([str(place) for place in self.kept], [str(place) for place in self.vkeys])
        return everything_wrong(path, keys_dir, held_roots=[(each.tree_size, each.root) for each in checkpoints], anchors=anchors)

    def end(self) -> None:
        """Raise AssertionError where anything is found wrong with the ledger at its end, with a copy of it, or after maintenance."""
        assert self.wrong(self.path, self.keys_dir) == []
        if self.history.exists():
            assert compare(self.ledger, self.history) == []
        build(self.ledger, self.history)
        assert compare(self.ledger, self.history) == []
        self._compare_copy("copied", lambda place: copy_ledger(self.path, place))
        self._compare_copy("file", self._copy_files)
        self._compare_copy("backup", self._back_up)
        self.ledger.close()
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("VACUUM")
        self.ledger = RoundLedger.open_for_reading(self.path)
        assert self.wrong(self.path, self.keys_dir) == []
        assert compare(self.ledger, self.history) == []
        self._compare_copy("vacuumed into", self._vacuum_into)
        self._check_commands([])
        if other := os.environ.get(OTHER_PYTHON):
            self._check_commands([other])
        self.ledger.close()

    def _copy_files(self, place: Path) -> None:
        for ending in ("", "-wal"):  # the index of the log is made anew
            if (file := Path(f"{self.path}{ending}")).exists():
                # In a process of its own: who closes a file that SQLite has open takes its locks away.
                subprocess.run(["cp", file, f"{place}{ending}"], check=True)

    def _back_up(self, place: Path) -> None:
        dump = place.with_name("dump.db")
        for source_path, target_path in ((self.path, dump), (dump, place)):
            with closing(sqlite3.connect(source_path)) as source, closing(sqlite3.connect(target_path)) as target:
                source.backup(target)

    def _vacuum_into(self, place: Path) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("VACUUM INTO ?", (str(place),))

    def _check_commands(self, interpreter: list[str]) -> None:
        """Raise AssertionError unless fsck and verify end with status 0, under another Python where one is named."""
        anchors = [word for place in self.kept for word in ("--checkpoint", str(place))]
        anchors += [word for place in self.vkeys for word in ("--vkey", str(place))]
        history = ["--history", str(self.history)]
        for command in (["fsck", *history, *anchors], ["verify", "--all", "--referee", "--keys", str(self.keys_dir), *anchors]):
            own, *rest = audit_command(*command, "--ledger", str(self.path))
            done = subprocess.run([*(interpreter or [own]), *rest], env=_environment(), capture_output=True, text=True)
            assert done.returncode == 0, (command[0], interpreter, done.stdout[-2000:], done.stderr[-2000:])


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def live(folder: Path, seed: int) -> Counter[str]:
    """Let a ledger live in an empty folder and return how often what happened; raises AssertionError where anything is found wrong."""
    life = Life(folder, seed)
    for _ in range(life.chance.randint(*STEPS)):
        life.step()
    life.counts["rounds"] = len(rows(life.path, "SELECT 1 FROM rounds"))
    life.counts["kept checkpoints"] = len(life.kept)
    life.end()
    return life.counts
