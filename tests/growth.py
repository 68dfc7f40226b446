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
from ledger.accounts import move_bonus
from ledger.bets import Played, Waiting
from ledger.checkpoint import load_checkpoint
from ledger.checkpoints import rotate_log_key, sign_tree
from ledger.copying import copy_ledger
from ledger.corrections import correct_balance, correct_round
from ledger.disclosure import epoch_states, epochs_in_play, release_key, reveal_seed, rotate_epochs
from ledger.disputes import DECISIONS, close_dispute, disputes, open_dispute
from ledger.errors import RoundInPlay
from ledger.forgetting import forget_account
from ledger.history import build, compare
from ledger.incidents import record_incident
from ledger.interruptions import CAUSES, interrupt_round
from ledger.presentations import Acknowledged, record_acknowledgement, record_presentation
from ledger.profile import shipped_profile, shipped_profiles
from ledger.profile_setting import profile_in_force, set_profile
from ledger.rounds import RoundLedger
from ledger.voids import VoidReason, void_round
from replay.anchors import load_anchors
from tests.contracts.alterations_contract import TWO, report_of
from tests.ledger_files import rows
from tests.screens import screens_of
from tests.traced import audit_command
from tests.whole import everything_wrong

__all__ = ["OTHER_PYTHON", "Life", "live"]

OTHER_PYTHON = "SLOT_AUDIT_OTHER_PYTHON"  # names another interpreter that has the dependencies
STEPS = (20, 50)
CURRENCIES = ("EUR", "EUR", "JPY", "KWD")
CLIENT_SEEDS = ("", "", "client", "größer ♥", "0" * 64)
COINS_MINOR = (1, 2, 10, 50)
MODES = ("base", "base", "base", "base", "ante", "ante", "buy")
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
            (self.play, 30),
            (self.show, 4),
            (self.repeat, 4),
            (self.leave_open, 7),
            (self.leave_waiting, 4),
            (self.interrupt, 6),
            (self.void, 3),
            (self.move_bonus, 2),
            (self.move_funds, 8),
            (self.correct, 4),
            (self.set_profile, 2),
            (self.dispute, 3),
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
        """Go on with the round that an account has in play, and with those that it has interrupted."""
        if in_play := ledger.round_in_play(ref):
            ledger.finish_round(in_play[0], installed_game(in_play[1].game))
        for game in self._games:
            if round_id := ledger.store.interrupted_round(ref, game.rules.game):
                ledger.finish_round(round_id, game)

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
        if round_id := self.ledger.store.interrupted_round(ref, ASKING):
            self.ledger.finish_round(round_id, game)
        for _ in range(ROUNDS_TO_A_CHOICE):
            if self.ledger.account(ref).balance_minor < game.rules.bet.coins:
                self.ledger.move_funds(ref, 10**7)
            if isinstance(self.ledger.play_to_choice(ref, game, "base", game.rules.bet.coins), Waiting):
                self.counts["waiting"] += 1
                self.die()
                return

    def interrupt(self) -> None:
        """Play a round some legs far, have it cut off, and now and then play another game meanwhile; or go on with an older one."""
        ref = self._account()
        if self.chance.random() < 0.5:
            self._finish(self.ledger, ref)
        game = self.chance.choice(self._games)
        if self.ledger.round_in_play(ref) or self.ledger.store.interrupted_round(ref, game.rules.game):
            return
        mode, bet_minor = "buy" if game.rules.mode("buy") else "base", game.rules.bet.coins
        self.ledger.move_funds(ref, game.rules.cost_minor(mode, bet_minor))
        round_id, choices = self.ledger.open_round(ref, game, mode, bet_minor).round_id, []
        for _ in range(self.chance.randint(0, 6)):
            played = self.ledger.play_leg(round_id, game, choices or None)
            if isinstance(played, Played):
                return
            if isinstance(played, Waiting) and self.chance.random() < 0.5:
                choices.append(self.chance.choice(played.offered))
        if self.chance.random() < 0.8:
            interrupt_round(self.ledger.store, self.ledger.recorded(round_id), self.chance.choice(CAUSES))
            self.counts["interrupted"] += 1
        if self.chance.random() < 0.3:
            self.die()

    def void(self) -> None:
        """Void a round in play, for that it cannot go on or by an incident."""
        if in_play := self.ledger.store.rounds_in_play():
            round_id = self.chance.choice(in_play)
            reason: VoidReason = self.chance.choice(("cannot_continue", "malfunction"))
            report = report_of([round_id]).model_copy(update={"is_recovered": False})
            incident = record_incident(self.ledger, report, *TWO).incident_id if reason == "malfunction" else ""
            void_round(self.ledger, round_id, reason, why="it stands still", by=TWO[0], approved_by=TWO[1], incident=incident)
            self.counts["voided"] += 1

    def move_bonus(self) -> None:
        """Grant bonus money, or take some back."""
        ref = self._account()
        move_bonus(self.ledger.store, ref, self.chance.choice([500, 40, -min(7, self.ledger.store.bonus_minor(ref))]))

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

    def show(self) -> None:
        """Record what was shown of a round, in play or over, and that some of it was acknowledged."""
        ref, store = self._account(), self.ledger.store
        rounds = [*store.rounds_of(ref)[-4:], *store.rounds_in_play()]
        for round_id in self.chance.sample(rounds, min(2, len(rounds))):
            if shown := screens_of(self.ledger, round_id):
                told = record_presentation(self.ledger, round_id, shown, channel=self.chance.choice(["", "web"]))
                acked = [Acknowledged(index) for index in told if self.chance.random() < 0.7]
                if acked:
                    record_acknowledgement(self.ledger, round_id, acked)
                self.counts["shown"] += 1

    def dispute(self) -> None:
        """Have somebody complain about a few rounds, after an older complaint was answered now and then."""
        if self.chance.random() < 0.5:
            self._answer()
        ref, store = self._account(), self.ledger.store
        if round_ids := store.rounds_of(ref)[-3:]:
            open_dispute(self.ledger, round_ids, "paid short", store.clock(), "Ann Adams", claimant=self.chance.choice(["", ref]))

    def _answer(self) -> None:
        for each in disputes(self.ledger.store):
            if each.closed is None:
                close_dispute(self.ledger, each.dispute_id, "an answer", self.chance.choice(DECISIONS), *TWO)

    def set_profile(self) -> None:
        """Have another of the profiles that come with the program govern what is played from here on."""
        in_force = profile_in_force(self.ledger.store).profile.id
        profile = shipped_profile(self.chance.choice([each for each in shipped_profiles() if each != in_force]))
        assert profile is not None
        set_profile(self.ledger.store, profile, *TWO)

    def forget(self) -> None:
        """Erase the personal data of an account that has no round in play, where another one is left."""
        refs = [ref for (ref,) in rows(self.path, "SELECT account_ref FROM account_names WHERE name LIKE 'player %' ORDER BY name")]
        if len(refs) > 1 and not any(self.ledger.opening(each).account_ref == refs[0] for each in self.ledger.store.rounds_in_play()):
            self._answer()
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
