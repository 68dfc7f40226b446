"""The seed epochs of one writer: started at its first round, closed when it closes, never taken over from a file."""

import hashlib
import threading
import time

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.errors import EpochUnknown, LedgerReadOnly
from ledger.lifecycle_events import EpochClosed, EpochCommitted
from ledger.references import new_reference
from ledger.seeds import SeedEpoch, new_seed, seal_seed, unseal_seed
from ledger.store import EpochRow, Store

__all__ = ["EPOCH_ROUNDS_MAX", "EPOCH_SECONDS_MAX", "WriterEpochs", "close_epoch"]


EPOCH_ROUNDS_MAX = 100_000
EPOCH_SECONDS_MAX = 24 * 3600


def close_epoch(store: Store, epoch: int) -> None:
    """Record that no round is opened under an epoch any more; nothing where it is closed already."""

    def event_of(round_count: int, now: int) -> EventBytes:
        return event_bytes(EpochClosed(epoch=epoch, round_count=round_count, closed_at_us=now))

    store.close_epoch(epoch, event_of)


class WriterEpochs:
    """Holds the open epoch of a writer process; without a seed key it holds none and opens none."""

    def __init__(self, store: Store, seed_key: bytes | None, *, where: str) -> None:
        self._store, self._seed_key, self._where = store, seed_key, where
        self._writer_ref = new_reference()
        self._lock = threading.Lock()
        self._current: SeedEpoch | None = None
        self._started = 0.0
        self._opened_count = 0
        self.rounds_max, self.seconds_max = EPOCH_ROUNDS_MAX, EPOCH_SECONDS_MAX

    def current(self) -> SeedEpoch:
        """Return the epoch to open a round under, started now where there is none or the last is spent.

        Raises KeyMismatch, LedgerReadOnly.
        """
        with self._lock:
            epoch = self._current
            if epoch is not None and self._is_spent():
                self._current = None
                self._close(epoch)
            if self._current is None:
                self._current = self._start()
                self._started = time.monotonic()
                self._opened_count = 0
            self._opened_count += 1
            return self._current

    def _is_spent(self) -> bool:
        return self._opened_count >= self.rounds_max or time.monotonic() - self._started >= self.seconds_max

    def forget(self, epoch: SeedEpoch) -> None:
        """Let go of an epoch that another process closed."""
        with self._lock:
            if self._current is epoch:
                self._current = None

    def _start(self) -> SeedEpoch:
        last = self._store.last_epoch()
        if last is not None:
            self._unseal(last)  # a seed key that is another ledger's is found before anything is sealed under it
        if self._seed_key is None:
            raise LedgerReadOnly(self._where)
        epoch = SeedEpoch(0, new_seed())

        sealed = seal_seed(epoch.seed, self._seed_key)

        def event_of(number: int, now: int) -> EventBytes:
            committed = EpochCommitted(
                epoch=number,
                seed_commitment=epoch.commitment,
                sealed_seed_hash=hashlib.sha256(sealed).hexdigest(),
                writer_ref=self._writer_ref,
                account_ref="",
                committed_at_us=now,
            )
            return event_bytes(committed)

        epoch.number = self._store.start_epoch(epoch.commitment, sealed, self._writer_ref, event_of)
        return epoch

    def close(self) -> None:
        """Close the open epoch, if there is one: no round is opened under it any more."""
        with self._lock:
            epoch, self._current = self._current, None
        if epoch is not None:
            self._close(epoch)

    def _close(self, epoch: SeedEpoch) -> None:
        close_epoch(self._store, epoch.number)

    def seed_of(self, epoch: int) -> bytes:
        """Return the seed of an epoch, whoever started it; raises EpochUnknown, KeyMismatch, LedgerReadOnly."""
        row = self._store.epoch(epoch)
        if row is None:
            raise EpochUnknown(epoch)
        return self._unseal(row)

    def _unseal(self, row: EpochRow) -> bytes:
        if self._seed_key is None:
            raise LedgerReadOnly(self._where)
        try:
            commitment = bytes.fromhex(row.seed_commitment)
        except ValueError as error:
            raise EpochUnknown(row.epoch) from error
        return unseal_seed(row.sealed_seed, commitment, self._seed_key, epoch=row.epoch)
