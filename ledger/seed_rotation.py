"""Another seed key for a ledger whose own has leaked: every open epoch ends, and nothing is sealed under the old key again."""

import os
from pathlib import Path
from typing import NamedTuple

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.epochs import closed_event
from ledger.keys import SEEDS_KEY, load_seed_key
from ledger.lifecycle_events import SeedKeyRotated
from ledger.seed_keys import OWNER_ONLY, seed_key_file, seed_key_id
from ledger.seeds import SEED_BYTES
from ledger.store import Store
from ledger.whole_file import write_whole

__all__ = ["SeedKeyExchange", "rotate_seed_key"]


class SeedKeyExchange(NamedTuple):
    """A seed key put in another's place: both ids in hex, and the numbers of the epochs that were closed with it."""

    old_key_id: str
    new_key_id: str
    closed_epochs: list[int]


def rotate_seed_key(store: Store, folder: Path) -> SeedKeyExchange:
    """Make a new seed key and put it in force, closing every open epoch; keys of before stay in the folder under their ids.

    Killed at any moment the event decides: before it nothing has changed, in its transaction every open epoch is closed,
    after it the next epoch that is started finishes the exchange of the files.
    Raises KeyMissing, KeyUnreadable, LedgerUnwritable, LedgerReadOnly.
    """
    old, new = load_seed_key(folder), os.urandom(SEED_BYTES)
    old_id, new_id = seed_key_id(old), seed_key_id(new)
    for key_id, key in ((old_id, old), (new_id, new)):
        write_whole(seed_key_file(folder, key_id), key, OWNER_ONLY)

    def event_of(now: int) -> EventBytes:
        return event_bytes(SeedKeyRotated(old_key_id=old_id, new_key_id=new_id, rotated_at_us=now))

    closed = store.rotate_seed_key(event_of, closed_event)
    write_whole(folder / SEEDS_KEY, new, OWNER_ONLY)
    return SeedKeyExchange(old_id, new_id, closed)
