"""The keys folder (`record/1`, item 8): `log.key` signs, `log.vkey` is for whoever checks, `seeds.key` seals the seeds.

Files are made for the owner only and never replaced, but by a rotation (`checkpoints.py`, `seed_keys.py`), which keeps the
old key under its key id. A folder that keys are written to is the operator's to back up.
"""

import base64
import binascii
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ledger.address import DatabaseAddress, LedgerPlace
from ledger.errors import KeyMissing, KeysExist, KeyUnreadable, LedgerUnwritable
from ledger.postgres_errors import KeysUnnamed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "COSIGNATURE",
    "ED25519",
    "LOG_KEY",
    "LOG_VKEY",
    "SEEDS_KEY",
    "VerifierKey",
    "create_keys",
    "create_signing_key",
    "default_keys_dir",
    "load_log_key",
    "load_seed_key",
    "load_signing_key",
    "load_verifier_key",
    "log_origin",
    "parse_verifier_key",
    "public_key_bytes",
]

LOG_KEY, LOG_VKEY, SEEDS_KEY = "log.key", "log.vkey", "seeds.key"
ED25519, COSIGNATURE = 1, 4  # signature types of C2SP signed notes: over the text; over a time and the text (a witness)
_KEY_BYTES = 32


class VerifierKey(NamedTuple):
    """A C2SP verifier key: the name that signatures carry, the Ed25519 public key, and what its signatures are over."""

    name: str
    public_key: bytes
    signature_type: int = ED25519

    @property
    def key_id(self) -> bytes:
        """The four bytes that a signature line starts with."""
        return hashlib.sha256(self.name.encode() + b"\n" + self._typed_key).digest()[:4]

    @property
    def _typed_key(self) -> bytes:
        return bytes((self.signature_type,)) + self.public_key

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(self._typed_key).decode()}"


def default_keys_dir(ledger: LedgerPlace) -> Path:
    """Return the folder beside a ledger in which its keys are looked for where none is named; raises KeysUnnamed for a database."""
    if isinstance(ledger, DatabaseAddress):
        raise KeysUnnamed(str(ledger))
    return ledger.with_name(ledger.name + ".keys")


def log_origin(ledger_id: str) -> str:
    """Return the origin of a ledger's checkpoints, which is also the name of its key."""
    return f"slot-ledger/{ledger_id}"


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise KeysExist(str(path)) from error
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, mode)  # whatever the umask is
        file.write(content)
        file.flush()
        os.fsync(handle)


def create_keys(folder: Path, ledger_id: str) -> VerifierKey:
    """Make the three key files and return the verifier key; raises KeysExist before anything is written where one is there."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    for name in (LOG_KEY, LOG_VKEY, SEEDS_KEY):
        if (folder / name).exists():
            raise KeysExist(str(folder / name))
    signing_key = Ed25519PrivateKey.generate()
    verifier_key = VerifierKey(log_origin(ledger_id), public_key_bytes(signing_key))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_new(folder / LOG_KEY, _pem_of(signing_key), 0o600)
        _write_new(folder / LOG_VKEY, f"{verifier_key}\n".encode(), 0o644)
        _write_new(folder / SEEDS_KEY, os.urandom(_KEY_BYTES), 0o600)
    except OSError as error:
        raise LedgerUnwritable(str(folder), error.strerror or type(error).__name__) from error
    return verifier_key


def create_signing_key(path: Path) -> "Ed25519PrivateKey":
    """Make a key of its own in a new file for the owner only; raises KeysExist, LedgerUnwritable."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signing_key = Ed25519PrivateKey.generate()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_new(path, _pem_of(signing_key), 0o600)
    except OSError as error:
        raise LedgerUnwritable(str(path), error.strerror or type(error).__name__) from error
    return signing_key


def _pem_of(signing_key: "Ed25519PrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return signing_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_key_bytes(signing_key: "Ed25519PrivateKey") -> bytes:
    """Return the 32 bytes of the public key of `signing_key`."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return signing_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _read(path: Path, expected: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise KeyMissing(str(path)) from error
    except OSError as error:
        raise KeyUnreadable(str(path), expected, error.strerror or type(error).__name__) from error


def load_seed_key(folder: Path, name: str = SEEDS_KEY) -> bytes:
    """Return the 32 bytes under which seeds are sealed, of the key in force unless another is named.

    Raises KeyMissing or KeyUnreadable.
    """
    expected = f"{_KEY_BYTES} bytes"
    content = _read(folder / name, expected)
    if len(content) != _KEY_BYTES:
        raise KeyUnreadable(str(folder / name), expected, f"{len(content)} bytes")
    return content


def load_log_key(folder: Path) -> "Ed25519PrivateKey":
    """Return the key that signs checkpoints; raises as `load_signing_key`."""
    return load_signing_key(folder / LOG_KEY)


def load_signing_key(path: Path) -> "Ed25519PrivateKey":
    """Return the Ed25519 key in a file; raises KeyMissing or KeyUnreadable."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    expected = "an Ed25519 private key in PKCS 8 PEM"
    content = _read(path, expected)
    try:
        signing_key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnreadable(str(path), expected, "something else") from error
    if not isinstance(signing_key, Ed25519PrivateKey):
        raise KeyUnreadable(str(path), expected, "a key of another kind")
    return signing_key


def parse_verifier_key(text: str, *, where: str) -> VerifierKey:
    """Return the verifier key written as `<name>+<hash>+<key>`; `where` names the file in a KeyUnreadable."""
    expected = "a verifier key <name>+<8 hex digits>+<base64>"
    parts = text.strip().split("+", 2)
    try:
        name, key_id, encoded = parts
        decoded = base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error) as error:
        raise KeyUnreadable(where, expected, "something else") from error
    if not name or len(decoded) != 1 + _KEY_BYTES or decoded[0] not in (ED25519, COSIGNATURE):
        raise KeyUnreadable(where, expected, "a key of another kind")
    verifier_key = VerifierKey(name, decoded[1:], decoded[0])
    if verifier_key.key_id.hex() != key_id:
        raise KeyUnreadable(where, f"hash {verifier_key.key_id.hex()} for that name and key", key_id[:16])
    return verifier_key


def load_verifier_key(path: Path) -> VerifierKey:
    """Return the verifier key in the file at `path`; raises KeyMissing or KeyUnreadable."""
    content = _read(path, "a verifier key")
    return parse_verifier_key(content.decode("utf-8", "replace"), where=str(path))
