"""Checks a round's proof as `audit prove` writes it, with the standard library and nothing of ours: check_proof.py PROOF.json LOG.vkey

LOG.vkey is the verifier key that you got by another way than the proof. Exit status: 0 proven, 3 not, 1 wrong usage."""

import base64
import hashlib
import json
import sys

# Ed25519 (RFC 8032): the curve -x^2 + y^2 = 1 + D x^2 y^2 modulo P; points as (x z, y z, z, x y z); ORDER that of BASE.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, BASE = -121665 * pow(121666, -1, P) % P, (4 * pow(5, -1, P) % P).to_bytes(32, "little")


def need(is_so: bool, what: str) -> None:
    if not is_so:
        print("NOT PROVEN:", what)
        sys.exit(3)


def add(a: tuple, b: tuple) -> tuple:
    e, f, g, h = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0]), 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    return (f - e) * (h - g) % P, (f + e) * (h + g) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P


def times(number: int, point: tuple) -> tuple:
    total = (0, 1, 1, 0)
    for bit in bin(number)[2:]:
        total = add(add(total, total), point) if bit == "1" else add(total, total)
    return total


def point_of(encoded: bytes) -> tuple:
    y, sign = (number := int.from_bytes(encoded, "little")) & 2**255 - 1, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    need(y < P and (x * x - square) % P == 0 and not (x == 0 and sign), "the key or the signature is no point of the curve")
    return (x, y, 1, x * y % P) if x & 1 == sign else (P - x, y, 1, (P - x) * y % P)


def is_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    if len(key) != 32 or len(signature) != 64 or (s := int.from_bytes(signature[32:], "little")) >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    (x1, y1, z1, _), (x2, y2, z2, _) = times(s, point_of(BASE)), add(point_of(signature[:32]), times(h, point_of(key)))
    return (x1 * z2 - x2 * z1) % P == 0 and (y1 * z2 - y2 * z1) % P == 0


def checkpoint_of(note: str, vkey: str) -> tuple[int, bytes]:  # C2SP tlog-checkpoint in a signed note
    name, key_id, encoded = vkey.strip().split("+", 2)
    key = base64.b64decode(encoded, validate=True)
    own_id = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    need(key[0] == 1 and own_id.hex() == key_id, "the verifier key is damaged or of another kind")
    body, _, lines = note.rpartition("\n\n")
    signed = [base64.b64decode(line.split(" ")[2]) for line in lines.split("\n") if line.startswith(f"— {name} ")]
    own = [each[4:] for each in signed if each[:4] == own_id]
    is_signed = bool(own) and all(is_signature(key[1:], each, f"{body}\n".encode()) for each in own)
    need(is_signed, f"the checkpoint has no signature of {name}+{key_id} over this text")
    origin, size, root = body.split("\n")[:3]
    need(origin == name, f"the checkpoint is of {origin}")
    return int(size), base64.b64decode(root)


def root_from(leaf: bytes, place: int, size: int, path: list[bytes]) -> bytes:  # RFC 9162, 2.1.3.2
    last = size - 1 if 0 <= place < size else -1
    for node in path:
        need(last > 0, "an audit path is too long")
        while place == last and not place & 1:
            place, last = place >> 1, last >> 1
        leaf = hashlib.sha256(b"\x01" + (node + leaf if place & 1 else leaf + node)).digest()
        place, last = place >> 1, last >> 1
    need(last == 0, "an audit path is too short, or of a leaf outside the tree")
    return leaf


def check(proof: dict, vkey: str) -> str:
    size, root = checkpoint_of(proof["checkpoint"], vkey)
    done, stream = 0, f"round/{proof['round_id']}".encode()
    for append in proof["appends"]:
        first, last, events = append["version_first"], append["version_last"], [event.encode() for event in append["events"]]
        need(first == done + 1 and last - done == len(events) > 0, f"events after {done} are missing")
        digest = hashlib.sha256(b"".join(len(event).to_bytes(4, "big") + event for event in events)).digest()
        numbers = b"".join(number.to_bytes(8, "big") for number in (first, last, append["recorded_at_us"]))
        leaf = hashlib.sha256(b"\x00leaf/1" + len(stream).to_bytes(2, "big") + stream + numbers + digest).digest()
        found = root_from(leaf, append["leaf_index"], size, [bytes.fromhex(node) for node in append["audit_path"]])
        need(found == root, f"events {first} to {last} do not lead to the checkpoint's root")
        done = last
    need(done > 0, "there are no events")
    return f"PROVEN: {done} events of round {proof['round_id']} under the checkpoint of {size} leaves, root {root.hex()}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: check_proof.py PROOF.json LOG.vkey")
    try:
        with open(sys.argv[1], encoding="utf-8") as proof_file, open(sys.argv[2], encoding="utf-8") as key_file:
            print(check(json.load(proof_file), key_file.read()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        need(False, f"{type(error).__name__}: {error}")
