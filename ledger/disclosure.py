"""What is shown of seeds: the seed of a closed epoch to everybody, the keys of settled rounds to an auditor.

A seed is revealed only when its epoch is closed and none of its rounds is in play; the key of a round in play never
leaves the server, since it would disclose what each choice leads to (`rng/1`, items 1 and 2).
"""

# ruff: noqa: N818 - as in errors.py

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engines.rng import round_key, round_key_commitment
from ledger.codec import event_bytes, parse_event
from ledger.epochs import close_epochs
from ledger.errors import EpochUnknown, KeyMismatch, LedgerError, RoundUnknown
from ledger.lifecycle_events import EpochCommitted, RoundOpened, RoundSettled, RoundVoided, SeedRevealed
from ledger.references import now_us
from ledger.rounds import RoundLedger
from ledger.store import EPOCH_STREAM, ROUND_STREAM

__all__ = [
    "EpochNotRevealable",
    "EpochState",
    "ReleasedKey",
    "RoundNotSettled",
    "epoch_states",
    "epochs_in_play",
    "release_key",
    "reveal_seed",
    "rotate_epochs",
]


class EpochNotRevealable(LedgerError):
    """The seed of an epoch must not be shown yet."""

    exit_status = 2

    def __init__(self, epoch: int, wanted: str, found: str, mend: str) -> None:
        super().__init__(epoch, wanted, found, mend)
        self.epoch, self.wanted, self.found, self.mend = epoch, wanted, found, mend

    def __str__(self) -> str:
        return f"seed of epoch {self.epoch}: want {self.wanted}, got {self.found}; {self.mend}"


class RoundNotSettled(LedgerError):
    """A round's key is asked for while the round is in play."""

    exit_status = 2

    def __init__(self, round_id: str) -> None:
        super().__init__(round_id)
        self.round_id = round_id

    def __str__(self) -> str:
        return f"key of round {self.round_id}: want a settled round, got one in play; its key would disclose what is to come"


class EpochState(NamedTuple):
    """A seed epoch as its events and its row say."""

    epoch: int
    status: str  # open, closed or revealed
    round_count: int
    seed_commitment: str
    account_ref: str  # empty for an epoch of a writer process
    next_nonce: int  # -1 where no round is opened under it any more


class ReleasedKey(NamedTuple):
    """The key of one settled round, in hex."""

    round_id: str
    round_key: str


def epoch_states(ledger: RoundLedger, account_ref: str = "") -> Iterator[EpochState]:
    """Yield every epoch, or every one of an account's own, in the order of its number.

    Raises TopicMismatch or CanonicalFormError where an `epoch_committed` cannot be read.
    """
    # By the events: the number in an epoch's row may be anything.
    numbers = (stream.removeprefix(EPOCH_STREAM) for stream in ledger.store.streams(EPOCH_STREAM))
    streams = [f"{EPOCH_STREAM}{number}" for number in sorted(int(number) for number in numbers if number.isdecimal())]
    for record in ledger.store.records_of(streams):
        committed = parse_event(record.events[0]) if record.events else None
        if not isinstance(committed, EpochCommitted) or account_ref not in ("", committed.account_ref):
            continue
        row = ledger.store.epoch(int(record.stream.removeprefix(EPOCH_STREAM)))
        if row is None:
            continue
        topics = [event.topic for event in record.events]
        status = "revealed" if "seed_revealed/1" in topics else "closed" if row.is_closed else "open"
        next_nonce = row.next_nonce if status == "open" else -1
        yield EpochState(row.epoch, status, row.next_nonce, row.seed_commitment, committed.account_ref, next_nonce)


def rotate_epochs(ledger: RoundLedger) -> list[int]:
    """Close every open epoch and return their numbers; each writer starts a new one at its next round."""
    return close_epochs(ledger.store, [state.epoch for state in epoch_states(ledger) if state.status == "open"])


def epochs_in_play(ledger: RoundLedger) -> dict[int, list[str]]:
    """Return the ids of the rounds that are not settled, by their epoch."""
    found: dict[int, list[str]] = {}
    for round_id in ledger.store.rounds_in_play():
        events = ledger.round_events(round_id)
        opened = parse_event(events[0]) if events else None
        if not isinstance(opened, RoundOpened):
            raise RoundUnknown(round_id, "it has no opening")
        found.setdefault(opened.epoch, []).append(round_id)
    return found


def reveal_seed(ledger: RoundLedger, epoch: int, in_play: Mapping[int, list[str]] | None = None) -> str:
    """Record the seed of a closed epoch for everybody to see and return it in hex.

    `in_play` is what `epochs_in_play` gave after the epoch was closed, for many epochs at once: none opens a round later.
    Raises EpochUnknown, EpochNotRevealable for one that is open or has rounds in play, KeyMismatch, LedgerReadOnly.
    """
    row = ledger.store.epoch(epoch)
    if row is None:
        raise EpochUnknown(epoch)
    stream = f"{EPOCH_STREAM}{epoch}"
    events = ledger.store.stream_events(stream)
    for event in events:
        if event.topic == "seed_revealed/1":
            revealed = parse_event(event)
            assert isinstance(revealed, SeedRevealed)
            return revealed.server_seed
    if not row.is_closed:
        raise EpochNotRevealable(epoch, "a closed epoch", "an open one", "close it with `audit seeds rotate`")
    open_rounds = (epochs_in_play(ledger) if in_play is None else in_play).get(epoch)
    if open_rounds:
        raise EpochNotRevealable(epoch, "no round of it in play", ", ".join(open_rounds[:3]), "see `audit held`")
    seed = ledger.seed_of(epoch).hex()
    revealed = SeedRevealed(epoch=epoch, server_seed=seed, revealed_at_us=now_us())
    ledger.store.append_events(stream, len(events) + 1, [event_bytes(revealed)])
    return seed


def release_key(ledger: RoundLedger, round_id: str) -> ReleasedKey:
    """Return the key of a round that is over, settled or void, for an auditor, never a seed.

    Raises RoundUnknown, RoundNotSettled, EpochUnknown, KeyMismatch, LedgerReadOnly.
    """
    events = [parse_event(row) for row in ledger.store.stream_events(ROUND_STREAM + round_id)]
    opened = events[0] if events else None
    if not isinstance(opened, RoundOpened):
        raise RoundUnknown(round_id, "it has no opening")
    if not any(isinstance(event, RoundSettled | RoundVoided) for event in events):
        raise RoundNotSettled(round_id)
    key = round_key(ledger.seed_of(opened.epoch), opened.game, opened.client_seed, opened.nonce)
    if round_key_commitment(key) != opened.round_key_commitment:
        raise KeyMismatch(f"round key of {round_id}", f"one of commitment {opened.round_key_commitment}", round_key_commitment(key))
    return ReleasedKey(round_id, key.hex())
