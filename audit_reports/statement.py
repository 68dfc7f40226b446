"""Who built a pack, and of what: an in-toto statement in a DSSE envelope, signed by the builder's own key, never by the log's."""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from engines.canonical import canonical_json
from ledger.keys import public_key_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["CERTIFICATION_PACK", "ROUND_PACK", "SUBJECTS", "Statement", "read_statement", "signed_statement"]

SUBJECTS = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
_PAYLOAD_TYPE = "application/vnd.in-toto+json"
ROUND_PACK, CERTIFICATION_PACK = "urn:slot-audit:round-pack:1", "urn:slot-audit:certification-pack:1"
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
# Points of small order on Ed25519's curve, in every way that they can be written: a key that is one signs whatever is shown to it.
_SIGNING_ALL = frozenset(
    bytes.fromhex(y)[:31] + bytes([bytes.fromhex(y)[31] | sign])
    for sign in (0, 0x80)
    for y in (
        "01" + "00" * 31,
        "00" * 32,
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
)


class Statement(NamedTuple):
    """What the builder says of a pack, and whether the signature is by the key that is named."""

    predicate: dict[str, Any]
    subjects: dict[str, str]  # SHA-256 in hex by name
    key_id: str
    is_signed: bool


def _to_be_signed(payload: bytes) -> bytes:
    return b"DSSEv1 %d %s %d %s" % (len(_PAYLOAD_TYPE), _PAYLOAD_TYPE.encode(), len(payload), payload)


def signed_statement(kind: str, predicate: Mapping[str, Any], tags: Mapping[str, bytes], key: "Ed25519PrivateKey") -> bytes:
    """Return the envelope over the tag files of a bag that stand for all of it.

    kind: ROUND_PACK or CERTIFICATION_PACK. predicate: what is said of the pack.
    """
    subject = [{"digest": {"sha256": hashlib.sha256(tags[name]).hexdigest()}, "name": name} for name in SUBJECTS]
    statement = {"_type": _STATEMENT_TYPE, "predicate": dict(predicate), "predicateType": kind, "subject": subject}
    payload = canonical_json(statement)
    signature = {
        "keyid": hashlib.sha256(public_key_bytes(key)).hexdigest(),
        "sig": base64.b64encode(key.sign(_to_be_signed(payload))).decode(),
    }
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": _PAYLOAD_TYPE, "signatures": [signature]}
    return canonical_json(envelope) + b"\n"


def read_statement(kind: str, envelope: bytes, public_key: bytes) -> Statement | None:
    """Return what an envelope of this kind says and whether this key of 32 bytes signed it; None for what is no such envelope."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        values = json.loads(envelope)
        payload = base64.b64decode(values["payload"], validate=True)
        (signature,) = values["signatures"]
        statement = json.loads(payload)
        subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
        is_form = (statement["_type"], statement["predicateType"], values["payloadType"]) == (
            _STATEMENT_TYPE,
            kind,
            _PAYLOAD_TYPE,
        )
        if not is_form or canonical_json(values) + b"\n" != envelope or canonical_json(statement) != payload:
            return None
        key_id, signed = str(signature["keyid"]), base64.b64decode(signature["sig"], validate=True)
        predicate = dict(statement["predicate"])
        if base64.b64encode(payload).decode() != values["payload"] or base64.b64encode(signed).decode() != signature["sig"]:
            return None
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError):
        return None
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signed, _to_be_signed(payload))
        is_signed = key_id == hashlib.sha256(public_key).hexdigest() and public_key not in _SIGNING_ALL
    except (InvalidSignature, ValueError):
        is_signed = False
    return Statement(predicate, subjects, key_id, is_signed)
