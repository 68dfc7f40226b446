"""The seed epochs of one writer: its own, or one for each account that bets; never taken over from a file.

An epoch of an account is the player-verifiable way (`rng/1`, item 1): nobody can burn a nonce between two rounds of the
player, who sees the commitment, then chooses a client seed, then bets.
"""

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.errors import AccountUnknown, EpochUnknown, LedgerReadOnly
from ledger.lifecycle_events import EpochClosed, EpochCommitted
from ledger.references import new_reference
from ledger.seed_keys import SeedKeys, last_rotation, seed_keys_in_force
from ledger.seeds import SeedEpoch, new_seed, seal_seed
from ledger.store import EpochRow, Store

__all__ = [
    "EPOCHS_OPEN_MAX",
    "EPOCH_ROUNDS_MAX",
    "EPOCH_SECONDS_MAX",
    "Commitment",
    "EpochOwner",
    "WriterEpochs",
    "close_epochs",
    "closed_event",
]

EPOCH_ROUNDS_MAX = 100_000
EPOCH_SECONDS_MAX = 24 * 3600
EPOCHS_OPEN_MAX = 10_000  # of accounts, in one writer
_ENDED_AT_ONCE = 100  # epochs that a start of another may close: no bet waits long

EpochOwner = Literal["writer", "account"]


class Commitment(NamedTuple):
    """What a player is shown before betting: epoch, commitment to its seed in hex, and the nonce that comes next."""

    epoch: int
    seed_commitment: str
    next_nonce: int


def closed_event(epoch: int, round_count: int, now: int) -> EventBytes:
    """Return the `epoch_closed` of an epoch."""
    return event_bytes(EpochClosed(epoch=epoch, round_count=round_count, closed_at_us=now))


def close_epochs(store: Store, epochs: Sequence[int]) -> list[int]:
    """Record that no round is opened under these epochs any more, and return those that were open."""
    return store.close_epochs(epochs, closed_event)


class _OpenEpoch:
    """An epoch with what spends it."""

    __slots__ = ("bet_count", "epoch", "started")

    def __init__(self, epoch: SeedEpoch) -> None:
        self.epoch = epoch
        self.started = time.monotonic()
        self.bet_count = 0


class WriterEpochs:
    """Holds the open epochs of a writer process; without a keys folder it holds none and opens none.

    Raises KeyMissing or KeyUnreadable where the folder has no seed key.
    """

    def __init__(self, store: Store, keys_dir: Path | None, *, where: str, owner: EpochOwner = "writer") -> None:
        self._store, self._keys_dir, self._where, self._owner = store, keys_dir, where, owner
        self._seed_keys = SeedKeys(keys_dir) if keys_dir is not None else None
        self._writer_ref = new_reference()
        self._lock = threading.Lock()
        self._open: dict[str, _OpenEpoch] = {}  # by whose they are, "" for the writer's own; the one started first comes first
        self.rounds_max, self.seconds_max, self.open_max = EPOCH_ROUNDS_MAX, EPOCH_SECONDS_MAX, EPOCHS_OPEN_MAX

    def current(self, account_ref: str) -> SeedEpoch:
        """Return the epoch to open a round of an account under, started now where there is none or the last is spent.

        Raises AccountUnknown, KeyMismatch, LedgerReadOnly.
        """
        with self._lock:
            found = self._ready(account_ref)
            found.bet_count += 1
            return found.epoch

    def commitment(self, account_ref: str) -> Commitment:
        """Return what the account's next round will be opened under; raises as `current`."""
        with self._lock:
            while True:
                epoch = self._ready(account_ref).epoch
                row = self._store.epoch(epoch.number)
                if row is not None and not row.is_closed:
                    return Commitment(epoch.number, epoch.commitment, row.next_nonce)
                self._let_go(epoch)

    def _ready(self, account_ref: str) -> _OpenEpoch:
        owner_ref = account_ref if self._owner == "account" else ""
        found = self._open.get(owner_ref)
        if found is not None and not self._is_spent(found):
            return found
        ended = [self._open[ref].epoch for ref in {owner_ref: None, **dict.fromkeys(self._outlived())} if ref in self._open]
        for epoch in ended:
            self._let_go(epoch)
        if ended:
            close_epochs(self._store, [epoch.number for epoch in ended])
        return self._open.setdefault(owner_ref, _OpenEpoch(self._start(owner_ref)))

    def _is_spent(self, found: _OpenEpoch) -> bool:
        return found.bet_count >= self.rounds_max or time.monotonic() - found.started >= self.seconds_max

    def _outlived(self) -> Iterator[str]:
        """Yield whose epochs are to end though nobody bets under them: past their age, or the oldest of too many."""
        surplus = len(self._open) - self.open_max + 1
        for place, (ref, found) in enumerate(islice(self._open.items(), _ENDED_AT_ONCE)):
            if place >= surplus and not self._is_spent(found):
                return
            yield ref

    def forget(self, epoch: SeedEpoch) -> None:
        """Let go of an epoch that another process closed."""
        with self._lock:
            self._let_go(epoch)

    def _let_go(self, epoch: SeedEpoch) -> None:
        held = self._open.get(epoch.account_ref)
        if held is not None and held.epoch is epoch:
            del self._open[epoch.account_ref]

    def _start(self, account_ref: str) -> SeedEpoch:
        """Commit to a new seed, sealed under the seed key in force when that was done."""
        if self._keys_dir is None:
            raise LedgerReadOnly(self._where)
        if account_ref and self._store.account(account_ref) is None:
            raise AccountUnknown(account_ref)
        while True:
            rotated = last_rotation(self._store)
            self._seed_keys = seed_keys_in_force(rotated, self._keys_dir)
            last = self._store.last_epoch()
            if rotated is None and last is not None:
                self._unseal(last)  # a seed key that is another ledger's is found before anything is sealed under it
            epoch = SeedEpoch(0, new_seed(), account_ref)
            self._commit(epoch, seal_seed(epoch.seed, self._seed_keys.in_force))
            if last_rotation(self._store) == rotated:
                return epoch
            close_epochs(self._store, [epoch.number])  # the key was exchanged in between, perhaps because it leaked

    def _commit(self, epoch: SeedEpoch, sealed: bytes) -> None:
        def event_of(number: int, now: int) -> EventBytes:
            committed = EpochCommitted(
                epoch=number,
                seed_commitment=epoch.commitment,
                sealed_seed_hash=hashlib.sha256(sealed).hexdigest(),
                writer_ref=self._writer_ref,
                account_ref=epoch.account_ref,
                committed_at_us=now,
            )
            return event_bytes(committed)

        epoch.number = self._store.start_epoch(epoch.commitment, sealed, self._writer_ref, event_of)

    def close(self) -> None:
        """Close all open epochs: no round is opened under them any more."""
        with self._lock:
            numbers = [found.epoch.number for found in self._open.values()]
            self._open = {}
        if numbers:
            close_epochs(self._store, numbers)

    def seed_of(self, epoch: int) -> bytes:
        """Return the seed of an epoch, whoever started it; raises EpochUnknown, KeyMismatch, LedgerReadOnly."""
        row = self._store.epoch(epoch)
        if row is None:
            raise EpochUnknown(epoch)
        return self._unseal(row)

    def _unseal(self, row: EpochRow) -> bytes:
        if self._seed_keys is None:
            raise LedgerReadOnly(self._where)
        try:
            commitment = bytes.fromhex(row.seed_commitment)
        except ValueError as error:
            raise EpochUnknown(row.epoch) from error
        return self._seed_keys.unseal(row.sealed_seed, commitment, epoch=row.epoch)
