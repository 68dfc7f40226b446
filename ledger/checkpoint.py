"""C2SP checkpoints in signed notes (`record/1`, item 7): made, read and verified; pure, no ledger.

Byte for byte the public format: a text, an empty line, and lines `— <name> <base64 of key id and signature>`. A text is
valid UTF-8 whose only control character is the line feed. The text of a checkpoint is the origin, the tree size, the
root in base64, and lines that later formats may add. Signatures by keys that are not given are kept and say nothing.
"""

# ruff: noqa: N818 - an exception is named by what is the case.

import base64
import binascii
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ledger.errors import LedgerError
from ledger.keys import COSIGNATURE, VerifierKey, public_key_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "Checkpoint",
    "CheckpointMissing",
    "NoteMalformed",
    "NoteSignature",
    "SignatureWrong",
    "SignedCheckpoint",
    "SignedNote",
    "load_checkpoint",
    "parse_checkpoint",
    "parse_note",
    "sign_checkpoint",
    "sign_note",
    "verify_note",
]

_DASH = "— "
_BYTES_MAX = 1_000_000
_SIGNATURES_MAX = 100
_KEY_ID_BYTES, _TIME_BYTES, _SIGNATURE_BYTES, _ROOT_BYTES = 4, 8, 64, 32
_TREE_SIZE_MAX = 2**63 - 1


class CheckpointMissing(LedgerError):
    """A checkpoint's file cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"checkpoint {self.path}: want a file that can be read, got {self.reason}; name another"


class NoteMalformed(LedgerError):
    """A text is no signed note, or its text no checkpoint; `part` says which piece of it."""

    def __init__(self, where: str, part: str, expected: str, found: str) -> None:
        super().__init__(where, part, expected, found)
        self.where, self.part, self.expected, self.found = where, part, expected, found

    def __str__(self) -> str:
        return f"{self.part} of checkpoint {self.where}: want {self.expected}, got {self.found}; get the whole file again, byte for byte"


class SignatureWrong(LedgerError):
    """A signature line names a given key and is not that key's signature over the text."""

    exit_status = 3

    def __init__(self, name: str, key_id: bytes, text: str) -> None:
        super().__init__(name, key_id, text)
        self.name, self.key_id, self.text = name, key_id, text

    def __str__(self) -> str:
        return (
            f"signature of {self.name}+{self.key_id.hex()}: want one over this text, got another; "
            "the text or the signature was altered, get the note again from whoever keeps it"
        )


class NoteSignature(NamedTuple):
    """One signature line of a note; `signature` is what follows the key id."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.signature).decode()}"


class SignedNote(NamedTuple):
    """A text, its final line feed included, and its signature lines in order."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def __str__(self) -> str:
        return f"{self.text}\n" + "".join(f"{line}\n" for line in self.signatures)


class Checkpoint(NamedTuple):
    """The state of a log: whose, how many leaves, their root, and lines that say more."""

    origin: str
    tree_size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = (self.origin, str(self.tree_size), base64.b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


class SignedCheckpoint(NamedTuple):
    """A checkpoint and the note that it was read from or is written as."""

    checkpoint: Checkpoint
    note: SignedNote

    def __str__(self) -> str:
        return str(self.note)


def sign_note(text: str, name: str, signing_key: "Ed25519PrivateKey") -> SignedNote:
    """Return the note of `text` with one signature; `name` is that of the key. Ed25519: the same text gives the same bytes."""
    key_id = VerifierKey(name, public_key_bytes(signing_key)).key_id
    return SignedNote(text, (NoteSignature(name, key_id, signing_key.sign(text.encode())),))


def sign_checkpoint(checkpoint: Checkpoint, signing_key: "Ed25519PrivateKey") -> SignedCheckpoint:
    """Return the checkpoint signed under its origin, which is the name of the log's key."""
    return SignedCheckpoint(checkpoint, sign_note(str(checkpoint), checkpoint.origin, signing_key))


def parse_note(content: bytes, *, where: str) -> SignedNote:
    """Return the signed note that `content` is; raises NoteMalformed, which names `where` and the piece that is wrong."""
    if len(content) > _BYTES_MAX:
        raise NoteMalformed(where, "length", f"{_BYTES_MAX} bytes at most", f"{len(content)}")
    try:
        whole = content.decode()
    except UnicodeDecodeError as error:
        raise NoteMalformed(where, "text", "UTF-8", f"byte {content[error.start]:#04x} at {error.start}") from error
    control = next((place for place, character in enumerate(whole) if character < " " and character != "\n"), None)
    if control is not None:
        raise NoteMalformed(where, "text", "no control character but line feeds", f"{ord(whole[control]):#04x} at {control}")
    body, mark, lines = whole.rpartition("\n\n")
    if not mark or not body:
        raise NoteMalformed(where, "text", "a text, an empty line and signatures", "no empty line" if not mark else "no text")
    if not lines.endswith("\n"):
        raise NoteMalformed(where, "signatures", "lines that each end in a line feed", "none" if not lines else "the last one cut")
    signatures = tuple(_parse_signature(line, where) for line in lines[:-1].split("\n"))
    if len(signatures) > _SIGNATURES_MAX:
        raise NoteMalformed(where, "signatures", f"{_SIGNATURES_MAX} at most", str(len(signatures)))
    return SignedNote(body + "\n", signatures)


def _parse_signature(line: str, where: str) -> NoteSignature:
    expected = "`— <name> <base64>`"
    name, mark, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not mark or not _is_name(name):
        raise NoteMalformed(where, "signature line", expected, repr(line[:60]))
    decoded = _decode(encoded)
    if decoded is None or len(decoded) <= _KEY_ID_BYTES:
        raise NoteMalformed(where, f"signature of {name}", "base64 of a key id and a signature", repr(encoded[:60]))
    return NoteSignature(name, decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(character.isspace() for character in name)


def _decode(encoded: str) -> bytes | None:
    """Return the bytes of standard base64 written in its one way, None for any other text."""
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        return None
    return decoded if base64.b64encode(decoded).decode() == encoded else None


def parse_checkpoint(content: bytes, *, where: str) -> SignedCheckpoint:
    """Return the signed checkpoint that `content` is, its signatures not yet verified; raises NoteMalformed."""
    note = parse_note(content, where=where)
    lines = note.text[:-1].split("\n")
    if len(lines) < 3:
        raise NoteMalformed(where, "text", "origin, tree size and root", f"{len(lines)} lines")
    origin, size, encoded, *extensions = lines
    if not origin:
        raise NoteMalformed(where, "origin", "a name", "an empty line")
    # Compared as text first: `int` takes other digits than these, and digits without end.
    is_decimal = size.isascii() and size.isdecimal() and len(size) <= len(str(_TREE_SIZE_MAX)) and size == str(int(size))
    if not is_decimal or int(size) > _TREE_SIZE_MAX:
        raise NoteMalformed(where, "tree size", "a decimal number below 2^63 without leading zeros", repr(size[:60]))
    root = _decode(encoded)
    if root is None or len(root) != _ROOT_BYTES:
        raise NoteMalformed(where, "root", f"base64 of {_ROOT_BYTES} bytes", repr(encoded[:60]))
    if "" in extensions:
        raise NoteMalformed(where, "text", "no empty line", f"one in line {lines.index('', 3) + 1}")
    return SignedCheckpoint(Checkpoint(origin, int(size), root, tuple(extensions)), note)


def load_checkpoint(path: Path) -> SignedCheckpoint:
    """Return the signed checkpoint in a file; raises CheckpointMissing, NoteMalformed."""
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise CheckpointMissing(str(path), reason or type(error).__name__) from error
    return parse_checkpoint(content, where=str(path))


def verify_note(note: SignedNote, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
    """Return which of the keys signed the note; raises SignatureWrong where a line names one of them and is not its signature."""
    found = []
    for key in keys:
        lines = [line for line in note.signatures if (line.name, line.key_id) == (key.name, key.key_id)]
        for line in lines:
            _verify(note.text, line, key)
        if lines:
            found.append(key)
    return found


def _verify(text: str, line: NoteSignature, key: VerifierKey) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    message, signature = text.encode(), line.signature
    if key.signature_type == COSIGNATURE:
        signed_at, signature = signature[:_TIME_BYTES], signature[_TIME_BYTES:]
        message = b"cosignature/v1\ntime %d\n" % int.from_bytes(signed_at, "big") + message
    try:
        if len(signature) != _SIGNATURE_BYTES:
            raise InvalidSignature
        Ed25519PublicKey.from_public_bytes(key.public_key).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise SignatureWrong(line.name, line.key_id, text) from error
