"""The log's own habit: what it signs, what it keeps of that, and which keys have signed for it.

A log that signs two checkpoints of which one is not the beginning of the other has lied to somebody. So a copy of each
is kept in the keys folder, and nothing is signed that does not grow from all of them.
"""

# ruff: noqa: N818 - an exception is named by what is the case.

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ledger.checkpoint import Checkpoint, CheckpointMissing, SignedCheckpoint, load_checkpoint, sign_checkpoint
from ledger.codec import event_bytes, parse_event
from ledger.errors import KeyMismatch, KeyUnreadable, LedgerError
from ledger.keys import LOG_KEY, LOG_VKEY, VerifierKey, load_log_key, log_origin, public_key_bytes
from ledger.lifecycle_events import KeyRotated
from ledger.merkle import consistency_path, is_consistent, root_of_size
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM, Tree
from ledger.whole_file import write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "CHECKPOINTS_FOLDER",
    "CheckpointInconsistent",
    "Divergence",
    "KeptCheckpoint",
    "find_divergence",
    "kept_checkpoints",
    "log_keys",
    "rotate_log_key",
    "sign_tree",
]

CHECKPOINTS_FOLDER = "checkpoints"
_SUFFIX = ".checkpoint"


class KeptCheckpoint(NamedTuple):
    """A signed checkpoint and the file that it lies in."""

    path: Path
    signed: SignedCheckpoint


class Divergence(NamedTuple):
    """In what a tree is not grown from a checkpoint: `checkpoint_tree_short` or `checkpoint_root`, and the evidence."""

    code: str
    where: str
    want: str
    got: str


class CheckpointInconsistent(LedgerError):
    """The tree does not grow from a checkpoint that the log has signed: nothing is signed."""

    exit_status = 3

    def __init__(self, path: str, note: str, where: str, expected: str, found: str) -> None:
        super().__init__(path, note, where, expected, found)
        self.path, self.note, self.where, self.expected, self.found = path, note, where, expected, found

    def __str__(self) -> str:
        return (
            f"{self.where} of the kept checkpoint {self.path}: want {self.expected}, got {self.found}; nothing was signed, "
            f"the record was altered or put back: see `audit verify --all --checkpoint {self.path}`"
        )


def find_divergence(checkpoint: Checkpoint, tree: Tree, node_at: Callable[[int, int], bytes]) -> Divergence | None:
    """Return how `tree` departs from a checkpoint of the same log, None where the checkpoint is its beginning.

    O(log n) from stored subtrees: both roots must follow from one and the same proof. Raises what `node_at` raises.
    """
    size, root = checkpoint.tree_size, checkpoint.root
    if tree.size < size:
        return Divergence("checkpoint_tree_short", "tree size", f"{size} leaves at least", str(tree.size))
    found = root_of_size(size, node_at)
    if found != root:
        return Divergence("checkpoint_root", f"root at the {size} leaves", root.hex(), found.hex())
    if not is_consistent(size, root, tree.size, tree.root, consistency_path(size, tree.size, node_at)):
        where = f"growth from the {size} leaves to {tree.size}"
        return Divergence("checkpoint_root", where, f"root {tree.root.hex()} to follow from them", "a root that does not")
    return None


def log_keys(ledger: RoundLedger) -> list[VerifierKey]:
    """Return the keys that the record names for its log, the one in force last; raises LedgerEmpty, KeyMismatch.

    Each rotation must be signed by the key before it. Whoever can rewrite the record can name other keys here.
    """
    created = ledger.created()
    origin = log_origin(created.ledger_id)
    keys = [VerifierKey(origin, bytes.fromhex(created.log_public_key))]
    for row in ledger.store.stream_events(LEDGER_STREAM):
        event = parse_event(row)
        if isinstance(event, KeyRotated):
            _check_rotation(event, keys[-1])
            keys.append(VerifierKey(origin, bytes.fromhex(event.new_public_key)))
    return keys


def _check_rotation(event: KeyRotated, key: VerifierKey) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    what = f"key rotation to {event.new_public_key}"
    if event.old_public_key != key.public_key.hex():
        raise KeyMismatch(what, f"one from the key in force, {key.public_key.hex()}", event.old_public_key)
    try:
        Ed25519PublicKey.from_public_bytes(key.public_key).verify(bytes.fromhex(event.proof), event.new_public_key.encode())
    except (InvalidSignature, ValueError) as error:
        raise KeyMismatch(what, f"a signature of {event.old_public_key} over it", "another") from error


def kept_checkpoints(keys_dir: Path) -> list[KeptCheckpoint]:
    """Return the checkpoints kept in a keys folder, smallest tree first; raises CheckpointMissing, NoteMalformed."""
    folder = keys_dir / CHECKPOINTS_FOLDER
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointMissing(str(folder), error.strerror or type(error).__name__) from error
    kept = [KeptCheckpoint(folder / name, load_checkpoint(folder / name)) for name in names if name.endswith(_SUFFIX)]
    return sorted(kept, key=lambda each: each.signed.checkpoint.tree_size)


def sign_tree(ledger: RoundLedger, keys_dir: Path) -> KeptCheckpoint:
    """Sign the ledger's tree as it stands, keep a copy, and return it; the same tree again gives the copy that is there.

    Raises CheckpointInconsistent where the tree does not grow from every checkpoint kept, KeyMissing, KeyUnreadable,
    KeyMismatch for the key or the checkpoints of another ledger, TreeBroken, LedgerUnwritable.
    """
    signing_key = _key_in_force(ledger, keys_dir)
    tree = ledger.store.tree()
    checkpoint = Checkpoint(log_origin(ledger.created().ledger_id), tree.size, tree.root)
    for kept in kept_checkpoints(keys_dir):
        found = kept.signed.checkpoint
        if found.origin != checkpoint.origin:
            raise KeyMismatch(f"origin of the kept checkpoint {kept.path}", checkpoint.origin, found.origin)
        divergence = find_divergence(found, tree, ledger.store.subtree)
        if divergence is not None:
            raise CheckpointInconsistent(str(kept.path), str(kept.signed), *divergence[1:])
    signed = sign_checkpoint(checkpoint, signing_key)
    path = keys_dir / CHECKPOINTS_FOLDER / f"{tree.size}{_SUFFIX}"
    write_whole(path, str(signed).encode(), 0o644)
    return KeptCheckpoint(path, signed)


def _key_in_force(ledger: RoundLedger, keys_dir: Path) -> "Ed25519PrivateKey":
    """Return the key in `log.key`, which must be the one that the record names last; a rotation cut short is finished first."""
    wanted = log_keys(ledger)[-1]
    signing_key = load_log_key(keys_dir)
    if public_key_bytes(signing_key) != wanted.public_key and _key_file(keys_dir, wanted).exists():
        _install(keys_dir, VerifierKey(wanted.name, public_key_bytes(signing_key)), wanted)
        signing_key = load_log_key(keys_dir)
    found = public_key_bytes(signing_key)
    if found != wanted.public_key:
        raise KeyMismatch(f"key file {keys_dir / LOG_KEY}", f"the key of {wanted}", f"public key {found.hex()}")
    return signing_key


def _key_file(keys_dir: Path, key: VerifierKey) -> Path:
    """Return where a key lies that comes into force, or has gone out of it."""
    return keys_dir / f"{LOG_KEY}.{key.key_id.hex()}"


def rotate_log_key(ledger: RoundLedger, keys_dir: Path) -> KeyRotated:
    """Make a new log key, record it signed by the old one, and put it in the old one's place; the old is kept beside it.

    Killed at any moment the event decides: once it is recorded, the next signing or rotation finishes the exchange.
    Needs a ledger opened for writing; raises as `sign_tree`, and LedgerReadOnly, VersionConflict.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    old_key, new_key = _key_in_force(ledger, keys_dir), Ed25519PrivateKey.generate()
    name = log_origin(ledger.created().ledger_id)
    old, new = (VerifierKey(name, public_key_bytes(key)) for key in (old_key, new_key))
    write_whole(_key_file(keys_dir, new), new_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    event = KeyRotated(
        old_public_key=old.public_key.hex(),
        new_public_key=new.public_key.hex(),
        proof=old_key.sign(new.public_key.hex().encode()).hex(),
        rotated_at_us=ledger.store.clock(),
    )
    version = len(ledger.store.stream_events(LEDGER_STREAM)) + 1
    ledger.store.append_events(LEDGER_STREAM, version, [event_bytes(event)])
    _install(keys_dir, old, new)
    return event


def _install(keys_dir: Path, old: VerifierKey, new: VerifierKey) -> None:
    """Put a key whose event is recorded in place as `log.key`, the one before it under the name of its key id.

    `log.key` comes last: until then the exchange is not finished, and all of it is done again.
    """
    write_whole(_key_file(keys_dir, old), _read_key(keys_dir / LOG_KEY), 0o600)
    write_whole(keys_dir / f"{LOG_VKEY}.{old.key_id.hex()}", f"{old}\n".encode(), 0o644)
    write_whole(keys_dir / LOG_VKEY, f"{new}\n".encode(), 0o644)
    write_whole(keys_dir / LOG_KEY, _read_key(_key_file(keys_dir, new)), 0o600)


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KeyUnreadable(str(path), "an Ed25519 private key in PKCS 8 PEM", error.strerror or type(error).__name__) from error
