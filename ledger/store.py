"""What a store promises, whatever database it is on.

Every method that writes is one transaction: the events of a stream that it adds are one append, and the append's leaf
and, where that ends a block of leaves, the inner nodes are written with them, or nothing is. Versions of a stream are without gaps.
Times are microseconds since 1970 UTC, hashes of rows are bytes, commitments are hex as in the events.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from engines.game import EventBytes

__all__ = [
    "ACCOUNT_STREAM",
    "EPOCH_STREAM",
    "LEAF_END",
    "LEDGER_STREAM",
    "ROUND_STREAM",
    "AccountRow",
    "EpochRow",
    "EventRow",
    "LeafRow",
    "OpenedRow",
    "Opening",
    "RoundRecord",
    "RoundRow",
    "Store",
    "TextRow",
    "Tree",
]

LEAF_END = 2**62  # more leaves than there will be
ROUND_STREAM, ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM = "round/", "account/", "epoch/", "ledger"


class EventRow(NamedTuple):
    """An event as it is stored: its place, its topic `<kind>/<v>` and its canonical bytes."""

    stream: str
    version: int
    topic: str
    data: bytes


class LeafRow(NamedTuple):
    """An append and its leaf."""

    leaf_index: int
    stream: str
    version_first: int
    version_last: int
    recorded_at_us: int
    leaf_hash: bytes


class Tree(NamedTuple):
    """The number of leaves and the root over them."""

    size: int
    root: bytes


class RoundRecord(NamedTuple):
    """All that is recorded of one stream, read at one moment.

    `paths` holds an audit path for each append, to the root of `tree`; in bulk reading there are none and `tree` is None.
    """

    stream: str
    events: tuple[EventRow, ...]
    appends: tuple[LeafRow, ...]
    paths: tuple[tuple[bytes, ...], ...] = ()
    tree: Tree | None = None

    @property
    def round_id(self) -> str:
        """The id of the round, where the stream is a round's."""
        return self.stream.removeprefix(ROUND_STREAM)


class AccountRow(NamedTuple):
    """An account as its last transaction left it; `round_in_play` is empty where none is."""

    account_ref: str
    version: int
    currency: str
    balance_minor: int
    round_in_play: str


class EpochRow(NamedTuple):
    """A seed epoch; `next_nonce` is also the number of rounds opened in it."""

    epoch: int
    seed_commitment: str
    sealed_seed: bytes
    writer_ref: str
    next_nonce: int
    is_closed: bool


class RoundRow(NamedTuple):
    """A round as its last transaction left it; `version` is that of its last event."""

    round_id: str
    account_ref: str
    game: str
    external_ref: str
    idempotency_key: str
    status: str
    version: int


class TextRow(NamedTuple):
    """A name or free text that an event holds by its salted hash (`ledger/texts.py`); hash and salt in hex."""

    text_hash: str
    salt: str
    content: str


class Opening(NamedTuple):
    """What opening a round asks of the store; the epoch is the one of this number and this commitment.

    ledger_version: of the stream `ledger` when the profile in force was read from it.
    """

    round_id: str
    account_ref: str
    game: str
    cost_minor: int
    external_ref: str
    idempotency_key: str
    epoch: int
    seed_commitment: str
    ledger_version: int
    carries_state: bool = False  # whether the game carries one from round to round


class OpenedRow(NamedTuple):
    """The bytes of a `round_opened`; `is_repeat` where an earlier transaction wrote them under the same idempotency key."""

    round_id: str
    data: bytes
    is_repeat: bool


class Store(Protocol):
    """A ledger's events, tree and tables."""

    clock: Callable[[], int]

    def append_events(self, stream: str, version_first: int, events: Sequence[EventBytes], *, texts: Sequence[TextRow] = ()) -> None:
        """Add events to a stream that no table is kept for, and the texts that they name by hash; raises VersionConflict."""

    def open_account(self, account_ref: str, name: str, currency: str, event_of: Callable[[int], EventBytes]) -> None:
        """Add an account and the name it stands for; `event_of` is called with the time. Raises AccountExists."""

    def move_funds(self, account_ref: str, amount_minor: int, event_of: Callable[[int, int], EventBytes]) -> int:
        """Change a balance and return it; `event_of` is called with the new balance and the time.

        Raises AccountUnknown, and FundsShort or BalanceTooLarge where the balance would fall below 0 or pass 2^53 - 1.
        """

    def start_epoch(self, seed_commitment: str, sealed_seed: bytes, writer_ref: str, event_of: Callable[[int, int], EventBytes]) -> int:
        """Add an epoch and return its number; `event_of` is called with the number and the time."""

    def close_epochs(self, epochs: Sequence[int], closed_of: Callable[[int, int, int], EventBytes]) -> list[int]:
        """Close those of these epochs that are open and return their numbers.

        `closed_of` is called with an epoch's number, its number of rounds and the time.
        """

    def rotate_seed_key(self, event_of: Callable[[int], EventBytes], closed_of: Callable[[int, int, int], EventBytes]) -> list[int]:
        """Add an event to the ledger's own stream and close every open epoch; return their numbers.

        `event_of` is called with the time, `closed_of` as by `close_epochs`.
        """

    def open_round(self, opening: Opening, event_of: Callable[[AccountRow, int, bytes | None, int], EventBytes]) -> OpenedRow:
        """Take the epoch's next nonce, the account's slot and the cost.

        `event_of` is called with the account, the nonce, the settlement that left the game's state, None where none did, and the time.
        Under an idempotency key that is there already, nothing is taken and the row of that round is returned.
        Raises AccountUnknown, RoundInPlay, FundsShort, EpochEnded where the epoch was closed or is not there, and LedgerMoved
        where the stream `ledger` has another version.
        """

    def settle_round(
        self,
        round_id: str,
        win_minor: int,
        events_of: Callable[[int, int], Sequence[EventBytes]],
        *,
        version_last: int = 1,
        leaves_state: bool = False,
    ) -> int:
        """Add a round's last events behind version `version_last`, credit the win, free the slot and return the balance.

        `events_of` is called with the new balance and the time. Where the round leaves a state, it is noted to have left the
        account's last one of its game. Raises RoundUnknown, RoundNotOpen, VersionConflict, or BalanceTooLarge, upon which the
        round is still in play.
        """

    def account(self, account_ref: str) -> AccountRow | None:
        """Return an account."""

    def account_ref(self, name: str) -> str | None:
        """Return the reference of the account with this name."""

    def account_name(self, account_ref: str) -> str | None:
        """Return the name that a reference stands for; None also where it was erased."""

    def epoch(self, epoch: int) -> EpochRow | None:
        """Return an epoch."""

    def last_epoch(self) -> EpochRow | None:
        """Return the epoch that was started last."""

    def round(self, round_id: str) -> RoundRow | None:
        """Return a round's row."""

    def round_ids_of(self, *, prefix: str = "", external_ref: str = "", limit: int = 6) -> list[str]:
        """Return up to `limit` ids that start with `prefix`, or that carry the operator's reference."""

    def text(self, text_hash: str) -> TextRow | None:
        """Return the row of a text; None also where it was erased."""

    def rounds_in_play(self) -> list[str]:
        """Return the ids of the rounds in play, those that are interrupted included, sorted."""

    def streams(self, prefix: str) -> list[str]:
        """Return the names of the streams that start with `prefix`, sorted."""

    def streams_before(self, account_ref: str, game: str, leaf_end: int) -> list[str]:
        """Return the streams of the last few rounds of an account and game that were settled before a leaf, the last one first."""

    def has_void_between(self, account_ref: str, leaf_first: int, leaf_last: int) -> bool:
        """Return whether a round of an account was voided between two leaves, which another one that is in play does not prevent."""

    def stream_events(self, stream: str) -> list[EventRow]:
        """Return the events of a stream in order."""

    def stream_appends(self, stream: str) -> list[LeafRow]:
        """Return the appends of a stream in order."""

    def tree(self) -> Tree:
        """Return size and root; raises TreeBroken where a node is missing."""

    def subtree(self, level: int, node_index: int) -> bytes:
        """Return the hash of a complete subtree, level 0 being the leaves; raises TreeBroken where it is missing."""

    def round_record(self, stream: str) -> RoundRecord:
        """Return a stream's events, appends, audit paths and tree, read at one moment; raises TreeBroken."""

    def leaf_hashes(self, leaf_first: int = 0) -> Iterator[tuple[int, bytes]]:
        """Iterate over index and hash of the leaves in order."""

    def recorded_at(self, size: int) -> int:
        """Return when the last of the first `size` leaves was recorded, 0 where there is none."""

    def tree_size(self) -> int:
        """Return the number of leaves."""

    def streams_touched(self, leaf_first: int, leaf_end: int) -> list[str]:
        """Return the round streams with an append in this range of leaves, each once."""

    def records_of(self, streams: Sequence[str], *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the named streams in the order given, without audit paths."""

    def round_records(self, leaf_first: int = 0, leaf_end: int | None = None, *, topics: Sequence[str] = ()) -> Iterator[RoundRecord]:
        """Iterate over the rounds whose first append is a leaf in the range, in the order of opening.

        With `topics` only those events are read. A round without events, or events without a leaf, is not left out:
        the second kind comes after all others, where the range is open to the end.
        """
