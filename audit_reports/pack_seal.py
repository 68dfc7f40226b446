"""What holds a pack together: the bag over its payload, and the builder's signature over the bag; made and checked."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from audit_reports.bag import BAG_TEXT, MANIFEST, TAG_MANIFEST, bag_description, manifest, zip_bytes
from audit_reports.pack_parts import Parts
from audit_reports.statement import SUBJECTS, read_statement, signed_statement

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Cover", "Difference", "check_bag", "check_statement", "sealed"]

Difference = tuple[str, str, str, str]  # code, where, want, got


class Cover(NamedTuple):
    """What a pack is of: kind of statement, folder, identifier of the bag, moment, and what is said beside `prepared_for`."""

    kind: str
    folder: str
    identifier: str
    as_of_us: int
    said: Mapping[str, Any]

    @property
    def predicate(self) -> dict[str, Any]:
        """What the signed statement says of the pack."""
        return {"as_of_us": self.as_of_us, "prepared_for": "assessment", **self.said}


def sealed(cover: Cover, payload: Mapping[str, bytes], key: "Ed25519PrivateKey") -> bytes:
    """Return the zip of a payload, with its bag's tag files and signature."""
    data = {f"data/{name}": content for name, content in payload.items()}
    described = bag_description(cover.as_of_us, cover.identifier, data)
    tags = {"bagit.txt": BAG_TEXT.encode(), "bag-info.txt": described, MANIFEST: manifest(data)}
    tags["signature.json"] = signed_statement(cover.kind, cover.predicate, tags, key)
    tags[TAG_MANIFEST] = manifest(tags)
    return zip_bytes({f"{cover.folder}/{name}": content for name, content in (data | tags).items()})


def check_bag(parts: Parts) -> Iterator[Difference]:
    """Yield where the manifests are not those of the members."""
    tags = {name: content for name, content in parts.tags.items() if name != TAG_MANIFEST}
    payload = {f"data/{name}": content for name, content in parts.payload.items()}
    for name, wanted in ((MANIFEST, manifest(payload)), (TAG_MANIFEST, manifest(tags)), ("bagit.txt", BAG_TEXT.encode())):
        if parts.tags.get(name) != wanted:
            yield "bag", name, "what the members come to", "another text"
    if others := sorted(set(tags) - {*SUBJECTS, "signature.json"}):
        yield "bag", "tag files", "those of the format alone", ", ".join(others)


def check_statement(parts: Parts, cover: Cover, pack_key: bytes) -> Iterator[Difference]:
    """Yield where signature and statement are not those over this bag, or the builder's key is not the one given (32 bytes, or none).

    Raises MalformedError and ValueError for a key that is none.
    """
    tags = parts.tags
    payload = {f"data/{name}": content for name, content in parts.payload.items()}
    described = bag_description(cover.as_of_us, cover.identifier, payload)
    if tags.get("bag-info.txt") != described or parts.folder != cover.folder or not parts.is_one_folder:
        yield "bag", "bag-info.txt and folder", "those of what the pack is of, and of its moment", "others"
    named = parts.file("keys/pack.pub")
    public_key = bytes.fromhex(named.decode("ascii").strip())
    if named != f"{public_key.hex()}\n".encode():
        yield "pack_form", "keys/pack.pub", "64 hex digits and a newline", "another text"
    statement = read_statement(cover.kind, tags.get("signature.json", b""), public_key)
    if statement is None:
        yield "signature", "signature.json", "an in-toto statement in a DSSE envelope", "another text"
        return
    if not statement.is_signed:
        yield "signature", "signature", "one by the key in the pack", "none"
    wanted = {name: hashlib.sha256(tags.get(name, b"")).hexdigest() for name in SUBJECTS}
    if statement.subjects != wanted or statement.predicate != cover.predicate:
        yield "statement", "statement", "one over this bag and its cover", "another"
    if pack_key and pack_key != public_key:
        yield "pack_key", "builder's key", pack_key.hex(), public_key.hex()
