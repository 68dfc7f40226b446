"""The keys that seal seeds: `seeds.key` is in force; each one of a rotation lies beside it, named by its id, and opens what it sealed.

A sealed seed is pinned by its hash in `epoch_committed`, so seeds are never sealed anew: a key that leaked goes on opening
the epochs of its time, all of them closed, and seals nothing more. Which key is in force the record says, by the id in the
last `seed_key_rotated`: so a writer on another machine, or one that was running, seals nothing under the old one.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ledger.codec import parse_event
from ledger.errors import KeyMismatch
from ledger.keys import SEEDS_KEY, load_seed_key
from ledger.lifecycle_events import SeedKeyRotated
from ledger.seeds import unseal_seed
from ledger.store import LEDGER_STREAM, Store
from ledger.whole_file import write_whole

__all__ = ["OWNER_ONLY", "SeedKeys", "kept_seed_keys", "last_rotation", "seed_key_file", "seed_key_id", "seed_keys_in_force"]

OWNER_ONLY = 0o600  # the mode of a file with a seed key
_NAMED_DIGITS = 16  # of the id, in the name of a file


def seed_key_id(key: bytes) -> str:
    """Return the id of a seed key: SHA-256 over `seed-key/1` and its 32 bytes, in hex."""
    return hashlib.sha256(b"seed-key/1" + key).hexdigest()


def kept_seed_keys(folder: Path) -> list[Path]:
    """Return the files of the seed keys of rotations, by name."""
    return sorted(folder.glob(f"{SEEDS_KEY}.{'?' * _NAMED_DIGITS}"))


class SeedKeys:
    """The seed keys in a folder; raises KeyMissing or KeyUnreadable where the one in force cannot be had."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.in_force = load_seed_key(folder)

    def unseal(self, sealed: bytes, commitment: bytes, *, epoch: int) -> bytes:
        """Return the seed of an epoch, whichever key sealed it; raises KeyMismatch where none of them did."""
        refused: KeyMismatch | None = None
        for key in self._candidates():
            try:
                return unseal_seed(sealed, commitment, key, epoch=epoch)
            except KeyMismatch as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _candidates(self) -> Iterator[bytes]:
        """Yield the key in force, then those that lie in the folder now: another process may have rotated them."""
        yield self.in_force
        yield load_seed_key(self._folder)
        for path in kept_seed_keys(self._folder):
            yield load_seed_key(self._folder, path.name)


def last_rotation(store: Store) -> SeedKeyRotated | None:
    """Return the event that names the seed key in force; None where the ledger still has its first."""
    for row in reversed(store.stream_events(LEDGER_STREAM)):
        if row.topic == "seed_key_rotated/1":
            event = parse_event(row)
            assert isinstance(event, SeedKeyRotated)
            return event
    return None


def seed_keys_in_force(rotated: SeedKeyRotated | None, folder: Path) -> SeedKeys:
    """Return the keys in `folder`, where `seeds.key` must be the one that the record names; an exchange cut short is finished.

    Only a folder that is one rotation behind is brought forward, never one that is ahead: a ledger put back from an old
    backup must not bring a leaked key back. Raises KeyMissing, KeyUnreadable, KeyMismatch.
    """
    keys = SeedKeys(folder)
    if rotated is None:
        return keys
    found = seed_key_id(keys.in_force)
    waiting = seed_key_file(folder, rotated.new_key_id)
    if found == rotated.old_key_id and waiting.exists():
        write_whole(folder / SEEDS_KEY, load_seed_key(folder, waiting.name), OWNER_ONLY)
        keys = SeedKeys(folder)
        found = seed_key_id(keys.in_force)
    if found != rotated.new_key_id:
        raise KeyMismatch(f"key file {folder / SEEDS_KEY}", f"the seed key in force, {rotated.new_key_id}", found)
    return keys


def seed_key_file(folder: Path, key_id: str) -> Path:
    """Return where a seed key lies under its own name, in force or not."""
    return folder / f"{SEEDS_KEY}.{key_id[:_NAMED_DIGITS]}"
