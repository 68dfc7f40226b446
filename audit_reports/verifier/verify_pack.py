"""Checks an evidence pack (`pack/1`, docs/pack-format.md) with Python's standard library alone, and writes nothing to disk.

Exit status: 0 nothing found and the pack's own verdict is clean, 3 findings or another verdict, 2 wrong usage, 4 a file that cannot be
read or is no zip of the form. Read `main` first, at the end; then `Audit`, then the checks, in the order of the page.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import hashlib
import hmac
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

__all__: list[str] = []

BYTES_MAX, MEMBERS_MAX, JSON_MAX, FINDINGS_MAX, KEYS_MAX, CHECKPOINTS_MAX = 256 << 20, 2000, 32 << 20, 1000, 100, 100
NAME = re.compile(r"[a-z0-9._-]+(/[a-z0-9._-]+){1,3}")
TAGS = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "signature.json"]
ALWAYS = {"pack.json", "verdict.json", "leaves.json", "consistency.json", "clauses.json", "software.json", "keys/log.vkey", "keys/pack.pub"}
ALWAYS |= {"report.html", "report.pdf", "readme.txt", "verify_pack.py"}
OF_KEY = ["round-key.json", "draws.jsonl", "what-if.json"]  # never without the key, never while the round is in play
EXPLAINED = ["report.json", "history.json", "rules.toml", "rules.json", "texts.json", "profile.json", *OF_KEY]  # there, or in `absent`
OTHERS = re.compile(r"case\.json|streams/[a-z0-9._-]+\.jsonl|checkpoints/[0-9]{1,16}\.checkpoint|texts/[0-9a-f]{64}\.txt")
GAME_KINDS = {"spin_started", "drop", "win", "tumble", "multiplier_change", "feature_trigger", "power", "prize", "choice_offered"}
GAME_KINDS |= {"cap_hit", "spin_ended", "feature_ended"}
ENDS, BEHIND_END = {"round_settled", "round_voided"}, {"correction_recorded", "presentation_sent", "presentation_acked"}
CLEAN = {"reproduced", "incomplete_open", "incomplete_resolved"}
WRONG = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)
CANNOT = [
    "whether the outcome follows from rules and draws, and whether the draws are all that it took: here is no engine and no referee",
    "what clauses, report.*, history, rules.*, what-if, software, case, readme.txt and verify_pack.py say: only that they are there",
    "whether the log was shown to everybody alike, and what the texts say that the record holds by hash",
]


class NotRunError(Exception):
    """A check cannot be made; the text says why."""


class Audit:
    """The members of one pack without their folder, what was read from them, what was checked, could not be, and was found."""

    def __init__(self, folder: str, members: dict[str, bytes], vkey: str | None, key: str | None) -> None:
        self.folder, self.members, self.vkey, self.key = folder, members, vkey, key
        self.about: dict[str, Any] = {}  # pack.json
        self.rows: dict[str, dict[int, dict[str, Any]]] = {}  # stream, version: its event, and what its line and leaf say
        self.checked = [f"zip: {len(members)} members, byte for byte of the form"]
        self.unchecked: list[str] = []
        self.findings: list[dict[str, str]] = []
        self.failed: set[str] = set()  # names of checks with findings

    def hold(self, code: str, where: str, want: object, got: object) -> None:
        """A finding unless both are of one type and equal."""
        if (type(want) is not type(got) or want != got) and len(self.findings) < FINDINGS_MAX:
            self.findings.append({"code": code, "where": plain(where), "want": plain(want), "got": plain(got)})

    def run(self, name: str, check: Callable[[Audit], str]) -> None:
        before = len(self.findings)
        try:
            self.checked.append(plain(f"{name}: {check(self)}"))
        except (NotRunError, *WRONG) as error:
            self.unchecked.append(plain(f"{name}: {error}"))
            if not isinstance(error, NotRunError):
                self.hold("malformed", name, "what docs/pack-format.md says", f"{type(error).__name__}: {error}")
        self.failed |= {name} if len(self.findings) > before else set()

    def body(self, name: str) -> bytes:
        if name not in self.members:
            raise NotRunError(f"{name} is not in the pack")
        return self.members[name]

    def json(self, name: str) -> Any:
        *lines, rest = self.body("data/" + name).split(b"\n")
        if rest or (name.endswith(".json") and len(lines) != 1):
            raise ValueError(f"{name}: want a newline at its end, and no other in a .json")
        values = [json_of(line, f"{name} line {number}") for number, line in enumerate(lines, 1)]
        return values[0] if name.endswith(".json") else values

    def round(self) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """The round's rows in order, and that of its end if there is one."""
        rows = [row for _, row in sorted(self.rows.get(f"round/{self.about.get('round_id')}", {}).items())]
        if not rows:
            raise NotRunError("the round's events could not be read")
        return rows, next((row for row in rows if row["kind"] in ENDS), None)


def plain(value: object) -> str:
    """A value as one short line of printable text: what an attacker wrote moves no cursor and turns no line."""
    text = value if isinstance(value, str) else repr(value)
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text[:400]) + (" …" if len(text) > 400 else "")


def number_of(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,16}", text) or abs(int(text)) >= 2**53:
        raise ValueError(f"{text[:40]} is a float, no number, or one of 2^53 or more in magnitude")
    return int(text)


def json_of(data: bytes, where: str) -> Any:
    """Canonical JSON (RFC 8785) without floats; ValueError for anything else."""
    try:
        value = json.loads(data.decode(), parse_int=number_of, parse_float=number_of, parse_constant=number_of)
        if json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == data:
            return value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: {error}") from None
    raise ValueError(f"{where}: JSON that is not canonical")


def event_of(data: bytes, where: str) -> dict[str, Any]:
    """An event by record/1, item 1: an object, keys of ASCII, no null."""
    event = json_of(data, where)
    todo = [event]
    for value in todo:
        if value is None or (isinstance(value, dict) and not "".join(value).isascii()) or not isinstance(event["kind"], str):
            raise ValueError(f"{where}: null, a key that is not ASCII, or a kind that is no text, in an event")
        todo.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else [])
    return dict(event)


def integers(fields: dict[str, Any], *names: str, least: int = 0) -> list[Any]:
    for name in names:
        if type(fields[name]) is not int or fields[name] < least:
            raise ValueError(f"{name} is {plain(fields[name])}, no integer from {least}")
    return [fields[name] for name in names]


def unhex(text: object, size: int = 32) -> bytes:
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-f]{{{2 * size}}}", text):
        raise ValueError(f"{plain(text)} is not {size} bytes in lower-case hex")
    return bytes.fromhex(text)


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def lp(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def append_digest(rows: list[dict[str, Any]]) -> bytes:
    return sha(b"".join(struct.pack(">I", len(row["data"])) + row["data"] for row in rows))


# Ed25519 (RFC 8032): the curve -x^2 + y^2 = 1 + D x^2 y^2 modulo P; ORDER is that of BASE
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, BASE = -121665 * pow(121666, -1, P) % P, (4 * pow(5, -1, P) % P).to_bytes(32, "little")


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    k = D * a[0] * b[0] * a[1] * b[1]
    return (a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, P) % P, (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P


def times(number: int, point: tuple[int, int]) -> tuple[int, int]:
    if number == 0:
        return 0, 1
    rest = times(number >> 1, add(point, point))
    return add(rest, point) if number & 1 else rest


def point_of(encoded: bytes) -> tuple[int, int]:
    number = int.from_bytes(encoded, "little")
    y, sign = number & 2**255 - 1, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    return (x if x & 1 == sign else P - x), y


def is_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether s B = R + h A; never by a key A of small order, which has signatures over everything."""
    s = int.from_bytes(signature[32:], "little")
    try:
        a, r = point_of(key), point_of(signature[:32])
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    return len(signature) == 64 and s < ORDER and times(8, a) != (0, 1) and times(s, point_of(BASE)) == add(r, times(h, a))


def root_from(leaf: bytes, place: int, size: int, path: list[bytes]) -> bytes:
    """The root that an audit path leads to (RFC 6962, 2.1.1); none, of no bytes, for a path of the wrong length."""
    if size == 1 or not path:
        return leaf if size == 1 and not path else b""
    half = 1 << (size - 1).bit_length() - 1
    if place < half:
        return sha(b"\x01" + root_from(leaf, place, half, path[:-1]) + path[-1])
    return sha(b"\x01" + path[-1] + root_from(leaf, place - half, size - half, path[:-1]))


def roots_from(first: int, size: int, known: bytes, path: list[bytes]) -> tuple[bytes, bytes]:
    """The roots over the first leaves and over all, from a consistency proof (2.1.2); `known` is the first, while it needs no node."""
    if first == size or not path:
        root = b"".join([known, *path]) if first == size else b""
        return root, root
    half = 1 << (size - 1).bit_length() - 1
    if first <= half:
        old, new = roots_from(first, half, known, path[:-1])
        return old, sha(b"\x01" + new + path[-1])
    old, new = roots_from(first - half, size - half, b"", path[:-1])
    return sha(b"\x01" + path[-1] + old), sha(b"\x01" + path[-1] + new)


def words_of(key: bytes) -> Iterator[int]:
    """The words of the ChaCha20 key stream (RFC 8439) under a nonce of zeros, in order."""
    quarters = [(i, 4 + (i + turn) % 4, 8 + (i + 2 * turn) % 4, 12 + (i + 3 * turn) % 4) for turn in range(2) for i in range(4)]
    for counter in range(2**32):
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
        x = list(start)
        for a, b, c, d in quarters * 10:
            for to, by, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[to] = (x[to] + x[by]) & 0xFFFFFFFF
                word = x[turned] ^ x[to]
                x[turned] = (word << bits | word >> (32 - bits)) & 0xFFFFFFFF
        yield from ((x[i] + start[i]) & 0xFFFFFFFF for i in range(16))


# 1. The zip: members are read from their local headers; then the one zip that they may stand in is written anew and compared
def zip_of(members: dict[str, bytes]) -> bytes:
    local, directory, offset = [], [], 0
    for name, body in sorted(members.items()):
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(body), len(body), len(body), len(name), 0)
        directory.append(b"PK\x01\x02\x14\x03" + head + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, offset) + name.encode())
        local += [b"PK\x03\x04" + head + name.encode(), body]
        offset += 30 + len(name) + len(body)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(members), len(members), sum(map(len, directory)), offset, 0)
    return b"".join([*local, *directory, end])


def members_of(data: bytes) -> tuple[str, dict[str, bytes]]:
    """The folder, and its members by name; ValueError where any byte of the zip is not the one that docs/pack-format.md says."""
    found: dict[str, bytes] = {}
    at = 0
    while data[at : at + 4] == b"PK\x03\x04" and at + 30 <= len(data):
        size, length = struct.unpack("<22xIH2x", data[at : at + 30])
        name = data[at + 30 : at + 30 + length].decode("latin-1")
        is_name = len(name) <= 120 and NAME.fullmatch(name) and not {".", ".."} & {*name.split("/")}
        if not is_name or name in found or len(found) == MEMBERS_MAX:
            raise ValueError(f"member {name} has a name that is not allowed, stands twice, or is one more than {MEMBERS_MAX}")
        found[name] = data[at + 30 + length : at + 30 + length + size]
        at += 30 + length + size
    texts, folders = [body for name, body in found.items() if name.endswith((".json", ".jsonl"))], {name.split("/")[0] for name in found}
    if len(folders) != 1 or sum(map(len, found.values())) > BYTES_MAX or sum(map(len, texts)) > JSON_MAX:
        raise ValueError(f"want stored members from the first byte on, in one folder, of {BYTES_MAX} bytes at most, {JSON_MAX} of JSON")
    if zip_of(found) != data:
        raise ValueError("want the zip of its members, stored, in order, as docs/pack-format.md has it byte for byte; got another")
    return folders.pop(), {name.split("/", 1)[1]: body for name, body in found.items()}


def check_bag(audit: Audit) -> str:
    payload = {name: body for name, body in audit.members.items() if name.startswith("data/")}
    tags = {name: body for name, body in audit.members.items() if name not in payload and name != "tagmanifest-sha256.txt"}
    for manifest, over in (("manifest-sha256.txt", payload), ("tagmanifest-sha256.txt", tags)):
        want = [f"{sha(over[name]).hex()}  {name}\n" for name in sorted(over)]
        got = audit.members.get(manifest, b"").decode().splitlines(keepends=True)
        wrong = sorted({*want} ^ {*got}) or ([] if want == got else ["its order"])
        audit.hold("manifest", f"{manifest}: lines that only it has, or only the members' hashes", [], wrong)
    audit.hold("tag-files", "the bag", TAGS, sorted(tags))
    audit.hold("missing", "data/: files of every pack that are not there", [], sorted(ALWAYS - {name[5:] for name in payload}))
    audit.hold("bagit", "bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", audit.members.get("bagit.txt"))
    return f"{len(payload)} payload and {len(tags)} tag files against their manifests"


def check_about(audit: Audit) -> str:
    about = audit.json("pack.json")
    audit.hold("pack", "pack.json schema", "pack/1", about["schema"])
    audit.hold("pack", "pack.json as_of_from is one of three", True, about["as_of_from"] in ("given", "checkpoint", "leaf"))
    texts = [about["verdict"], *about["absent"].values(), *about["streams"].values()]
    is_form = all(isinstance(text, str) for text in texts) and isinstance(about["is_over"], bool) and len(unhex(about["root"])) == 32
    if not is_form or not re.fullmatch("[A-Za-z0-9._-]{1,64}", about["round_id"]):
        raise ValueError("want texts in absent, streams and verdict, true or false in is_over, a round's id in round_id")
    time, size = integers(about, "as_of_us", "tree_size")
    audit.about = about
    audit.hold("folder", "the folder's name", "round-" + sha(about["round_id"].encode()).hex()[:16], audit.folder)
    payload = [body for name, body in audit.members.items() if name.startswith("data/")]
    date = datetime.date(1970, 1, 1) + datetime.timedelta(microseconds=time)
    want = f"Bagging-Date: {date}\nExternal-Identifier: {about['round_id']}\nPayload-Oxum: {sum(map(len, payload))}.{len(payload)}\n"
    audit.hold("bag-form", "bag-info.txt", want.encode(), audit.members.get("bag-info.txt"))
    return f"{size} leaves, verdict {about['verdict']}"


def check_files(audit: Audit) -> str:
    names = {name[5:] for name in audit.members if name.startswith("data/")}
    said = " ".join(audit.about["absent"]).replace("-", " ")
    others = sorted(name for name in names - ALWAYS - {*EXPLAINED} if not OTHERS.fullmatch(name))
    missing = [name for name in EXPLAINED if name not in names and name.split(".")[0].replace("-", " ") not in said]
    audit.hold("missing", "data/: files that are not there, and absent does not say why", [], missing)
    audit.hold("unknown-member", "data/: files that docs/pack-format.md does not name", [], others)
    if not audit.about["is_over"] or OF_KEY[0] not in names:
        audit.hold("open-key", "data/: files without the key, or of a round in play", [], [name for name in OF_KEY if name in names])
    hashes = {sha(body).hex() for body in audit.members.values() if sha(body).hex().encode() in audit.members.get("data/texts.json", b"")}
    strange = sorted(name for name in names if name.startswith("texts/") and name[6:-4] not in hashes)
    audit.hold("texts", "data/texts/: not of the SHA-256 that names them, or not in texts.json", [], strange)
    for name in sorted(name for name in names if name.endswith((".json", ".jsonl"))):
        try:
            audit.json(name)
        except WRONG as error:
            audit.hold("json", name, "canonical JSON", error)
    return f"{len(names)} in data/: those that must be there, no others, JSON in its form"


def check_signature(audit: Audit) -> str:
    envelope = json_of(audit.body("signature.json")[:-1], "signature.json")
    key = unhex(audit.body("data/keys/pack.pub").decode()[:-1])
    audit.hold("pack-key", "data/keys/pack.pub", f"{key.hex()}\n", audit.body("data/keys/pack.pub").decode())
    kind, payload = "application/vnd.in-toto+json", base64.b64decode(envelope["payload"], validate=True)
    text = envelope["signatures"][0]["sig"]
    want = {"payload": envelope["payload"], "payloadType": kind, "signatures": [{"keyid": sha(key).hex(), "sig": text}]}
    audit.hold("signature", "signature.json", want, envelope)
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    audit.hold("signature", "signature.json: by pack.pub", True, is_signature(key, base64.b64decode(text, validate=True), message))
    subject = [{"digest": {"sha256": sha(audit.members.get(name, b"")).hex()}, "name": name} for name in TAGS[:3]]
    want = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:slot-audit:round-pack:1", "subject": subject}
    want["predicate"] = {"prepared_for": "assessment", **{name: audit.about[name] for name in ("as_of_us", "round_id", "verdict")}}
    audit.hold("statement", "the signed statement", want, json_of(payload, "the signed statement"))
    audit.hold("pack-key", "data/keys/pack.pub against --key", audit.key or key.hex(), key.hex())
    audit.unchecked += [] if audit.key else ["pack key: no --key given; anyone can sign a pack with a key of his own"]
    return f"by key {key.hex()}, over the statement and so over the bag"


def check_events(audit: Audit) -> str:
    streams, absent = audit.about["streams"], audit.about["absent"]
    files = sorted(name[5:] for name in audit.members if name.startswith("data/streams/"))
    audit.hold("streams", "pack.json streams", files, sorted(streams.values()))
    for stream, name in streams.items():
        rows, following = audit.rows.setdefault(stream, {}), 0
        for line in audit.json(name):
            index, append, at = integers(line, "index", "append", "recorded_at_us", least=-1)
            where, data = f"{stream} index {index}, {line['topic']}", base64.b64decode(line["data"], validate=True)
            event = event_of(data, where)
            audit.hold("event", where, ["append", "data", "index", "recorded_at_us", "stream", "topic"], sorted(line))
            audit.hold("topic", where, [f"{event['kind']}/{event['v']}", stream], [line["topic"], line["stream"]])
            if index < following or stream not in absent:
                audit.hold("gap", where, following, index)
            following, place = index + 1, {"index": index, "append": append, "at": at, "leaf": -1, "due": [-1, at]}
            rows[index + 1] = {**place, "data": data, "event": event, "kind": event["kind"], "where": where}
    audit.hold("streams", "pack.json: the round's own stream, with events", True, bool(audit.rows.get(f"round/{audit.about['round_id']}")))
    opened = audit.round()[0][0]["event"]
    missing = ({f"account/{opened['account_ref']}", f"epoch/{opened['epoch']}"} - {*absent} | {"ledger"}) - {*streams}
    audit.hold("streams", "pack.json: streams that are not there, and absent does not say why", [], sorted(missing))
    audit.unchecked += [plain(f"events: what is not in the pack of {stream}, cut as absent says") for stream in {*streams} & {*absent}]
    return f"{sum(map(len, audit.rows.values()))} of {len(audit.rows)} streams"


def check_leaves(audit: Audit) -> str:
    leaves, size, root, newest = audit.json("leaves.json"), audit.about["tree_size"], unhex(audit.about["root"]), -1
    next_of: dict[str, tuple[int, int]] = {}  # stream: version and number of the append that follows; (0, 0): its leaves are not in order
    for leaf in sorted(leaves, key=lambda leaf: leaf["leaf_index"]):
        first, last, place, at = integers(leaf, "version_first", "version_last", "leaf_index", "recorded_at_us")
        stream, where = leaf["stream"], f"leaf {place}, {leaf['stream']} versions {first} to {last}"
        rows, (version, append) = audit.rows.get(stream, {}), next_of.get(stream, (1, 0))
        if stream in audit.about["absent"] and first in rows and first > version > 0:
            version, append = first, rows[first]["append"]
        span = range(first, min(last, first + len(rows)) + 1) if first == version else []
        here = [rows[each] for each in span if each in rows]
        if not 0 < len(here) == last - first + 1 or not newest < place < size:
            audit.hold("leaf", f"{where}: whole, in order and in the tree once, as those before it", True, version == 0)
            next_of[stream] = 0, 0
            continue
        next_of[stream], newest = (last + 1, append + 1), place
        for row in here:
            row.update(leaf=place, due=[append, at])
        data = b"leaf/1" + lp(stream) + struct.pack(">3Q", first, last, at) + append_digest(here)
        audit.hold("leaf-hash", where, sha(b"\x00" + data).hex(), leaf["leaf_hash"])
        if leaf["path"] and root_from(unhex(leaf["leaf_hash"]), place, size, [unhex(each) for each in leaf["path"]]) != root:
            audit.hold("audit-path", where, f"a path to root {root.hex()} over {size} leaves", "another root")
    for row in (every := [row for rows in audit.rows.values() for row in rows.values()]):
        audit.hold("append", f"{row['where']}: append, recorded_at_us", row["due"], [row["append"], row["at"]])
    bare, pathless = sum(row["leaf"] < 0 for row in every), sum(size > 1 and not leaf["path"] for leaf in leaves)
    audit.hold("leaf", "leaves.json: events without a leaf, leaves without a path to the root", [0, 0], [bare, pathless])
    return f"{len(leaves)} over the events, {len(leaves) - pathless} with a path to the root"


def keys_of(text: str) -> set[tuple[str, bytes, bytes]]:
    """Name, key id and public key of each C2SP verifier key; ValueError for a damaged one."""
    found: set[tuple[str, bytes, bytes]] = set()
    for line in text.split():
        name, key_id, encoded = line.split("+", 2)
        key = base64.b64decode(encoded, validate=True)
        own = sha(name.encode() + b"\n" + key)[:4]
        if len(key) != 33 or key[0] != 1 or own.hex() != key_id or len(found) == KEYS_MAX:
            raise ValueError(f"verifier key {plain(line)} is damaged, of another kind than Ed25519, or one too many")
        found.add((name, own, key[1:]))
    return found


def check_checkpoints(audit: Audit) -> str:
    own, ledger = keys_of(audit.body("data/keys/log.vkey").decode()), [row["event"] for row in audit.rows["ledger"].values()]
    named = {event[field] for event in ledger for field in ("log_public_key", "new_public_key") if field in event}
    audit.hold("log-key", "data/keys/log.vkey: the keys that the ledger names", sorted(named), sorted(key.hex() for _, _, key in own))
    keys = own if audit.vkey is None else keys_of(audit.vkey)
    audit.hold("log-key", "data/keys/log.vkey: has the key given with --vkey", True, bool(own & keys))
    audit.unchecked += [] if audit.vkey else ["log key: no --vkey given; whoever holds the record could sign it anew with another"]
    names = sorted(name for name in audit.members if name.startswith("data/checkpoints/"))
    paths = {each["size"]: [unhex(hash_) for hash_ in each["path"]] for each in audit.json("consistency.json")}
    audit.hold("consistency", "consistency.json", sorted(int(name[17:-11]) for name in names), sorted(paths))
    if not 0 < len(names) <= CHECKPOINTS_MAX:
        raise NotRunError(f"{len(names)} in the pack, want 1 to {CHECKPOINTS_MAX}: only the builder says that the root is the log's")
    origin, size, root = f"slot-ledger/{ledger[0]['ledger_id']}", audit.about["tree_size"], unhex(audit.about["root"])
    for name in names:
        body, _, lines = audit.members[name].decode().rpartition("\n\n")
        audit.hold("checkpoint-form", f"{name}: origin, size", [origin, name[17:-11]], body.split("\n")[:2])
        place, known = int(name[17:-11]), base64.b64decode(body.split("\n")[2], validate=True)
        marks = [line.split(" ")[2] for line in lines.split("\n") if line.startswith(f"— {origin} ")][:4]
        pairs = [(key, base64.b64decode(mark, validate=True)) for key in keys for mark in marks if key[0] == origin]
        is_signed = any(is_signature(key, sig[4:], f"{body}\n".encode()) for (_, mark, key), sig in pairs if mark == sig[:4])
        audit.hold("checkpoint-signature", f"{name}: signed by the log's key", True, is_signed)
        reached = roots_from(place, size, known, paths.get(place, [])) if 0 < place <= size else None
        audit.hold("consistency", f"{name}: the root grew from it", True, reached == (known, root))
    return f"{len(names)}, signed by {'the key given' if audit.vkey else 'keys that the pack itself brings'}; the root grew from each"


def check_round(audit: Audit) -> str:
    rows, end = audit.round()
    kinds = [row["kind"] for row in rows]
    counts = [kinds.count("round_opened"), sum(kind in ENDS for kind in kinds)]
    audit.hold("order", "the round: first event, openings, ends", ["round_opened", 1, int(end is not None)], [kinds[0], *counts])
    audit.hold("is-over", "pack.json is_over", end is not None, audit.about["is_over"])
    if end is None:
        return f"{len(rows)} events; it is in play, so it has no digests yet"
    earlier, event = rows[: rows.index(end)], end["event"]
    audit.hold("order", "the round: what may not stand behind its end", [], sorted({*kinds[len(earlier) + 1 :]} - BEHIND_END))
    audit.hold("round-digest", end["where"], append_digest(earlier).hex(), event["round_digest"])
    game = append_digest([row for row in earlier if row["kind"] in GAME_KINDS]).hex()
    audit.hold("outcome-digest", end["where"], game, event["outcome_digest"] if end["kind"] == "round_settled" else game)
    return f"{len(rows)} events in order, digests"


def check_money_and_presentation(audit: Audit) -> str:
    rows, _ = audit.round()
    (bet,) = integers(rows[0]["event"], "bet_minor")
    total = base = wins = prizes = cut = 0
    spin, is_spinning, balance = -1, False, -1
    spins: dict[int, list[int]] = {}  # index of a spin_ended: its award, the total up to there
    sent: dict[int, int] = {}  # index of a presentation_sent: the total that it told
    for event, kind, index, where in ((row["event"], row["kind"], row["index"], row["where"]) for row in rows):
        if kind in ("win", "prize", "cap_hit", "spin_ended", *ENDS):
            audit.hold("spin-order", f"{where}: in a spin", kind not in ENDS, is_spinning)
        if kind == "spin_started":
            audit.hold("spin-order", f"{where}: spin, in one that has not ended", [spin + 1, False], [event["spin_index"], is_spinning])
            spin, is_spinning, wins, prizes, cut = event["spin_index"], True, 0, 0, 0
        elif kind in ("win", "prize"):
            pay, multiplier, minor = integers(event, "pay_x100", "multiplier", f"{kind}_minor")
            ways = max(1, *integers(event, "ways", least=-1)) if kind == "win" else 1
            audit.hold(f"{kind}-law", f"{where}: {kind}_minor x 100", pay * ways * multiplier * bet, minor * 100)
            wins, prizes = (wins + minor, prizes) if kind == "win" else (wins, prizes + minor)
        elif kind == "cap_hit":
            uncapped, awarded = integers(event, "uncapped_minor", "awarded_minor")
            cut += uncapped - awarded
        elif kind == "spin_ended":
            factor, *got = integers(event, "spin_multiplier", "cut_minor", "award_minor", "total_minor")
            total, base, is_spinning = total + got[1], base + (got[1] if spin == 0 else 0), False
            audit.hold("adding-up", f"{where}: cut, award, total", [cut, wins * factor + prizes - cut, total], got)
            spins[index] = [got[1], total]
        elif kind in ("round_interrupted", "round_voided"):
            audit.hold("total", f"{where}: won_minor", total, event["won_minor"])
        elif kind == "round_settled":
            got = integers(event, "total_win_minor", "base_win_minor", "feature_win_minor")
            audit.hold("total", f"{where}: total, base, features", [total, base, total - base], got)
        elif kind == "presentation_sent":
            through, shown, *got = integers(event, "through_index", "balance_minor", "spin_win_minor", "total_win_minor", least=-1)
            sent[index] = got[1]
            audit.hold("presentation", f"{where}: spin's win, total up to index {through}", spins.get(through, "no spin_ended there"), got)
            audit.hold("presentation", f"{where}: balance", balance if shown != -1 != balance else shown, shown)
        elif kind == "presentation_acked":
            of, shown = integers(event, "sent_index", "total_win_minor", least=-1)
            want = sent.get(of, "no presentation_sent there")
            audit.hold("presentation", f"{where}: total of index {of}", want, want if shown == -1 and of in sent else shown)
        if kind in ENDS or kind == "correction_recorded":  # behind a correction the balance may be another
            balance = event["balance_after_minor"] if kind in ENDS else -1
    audit.unchecked += [] if sent else ["presentation: the record holds nothing of what the player was shown"]
    return f"{spin + 1} spins, each win, prize and award by its law, {total} minor units in all; {len(sent)} records of what was shown"


def check_balance(audit: Audit) -> str:
    rows, end = audit.round()
    opened, start = rows[0], rows[0]["event"]
    if end is None or f"account/{start['account_ref']}" not in audit.rows:
        raise NotRunError("the round is in play" if end is None else "the account's stream is not in the pack")
    before, cost, bonus = integers(start, "balance_before_minor", "cost_minor", "bonus_minor")
    won, after = integers(end["event"], "total_win_minor" if end["kind"] == "round_settled" else "refund_minor", "balance_after_minor")
    moving = [row for each in audit.rows.values() for row in each.values() if row["kind"] in ENDS | {"round_opened", "funds_moved"}]
    between = [row["where"] for row in moving if opened["leaf"] < row["leaf"] < end["leaf"]]
    if between or min(opened["leaf"], end["leaf"]) < 0:
        raise NotRunError(f"between its opening and its end lies {between[0]}" if between else "no leaves tell the order of events")
    want = before - cost + bonus + won
    if want != after and any(row["kind"] == "round_interrupted" for row in rows):
        raise NotRunError("it was interrupted, and rounds that are not in the pack may have moved money in between")
    audit.hold("balance", f"{end['where']}: balance_after_minor", want, after)
    return f"{before} - {cost} + {bonus} + {won} = {want}"


def check_key_and_draws(audit: Audit) -> str:
    rows, end = audit.round()
    opened = rows[0]["event"]
    if end is None:
        raise NotRunError("the round is in play: its key is not shown")
    epoch = [row["event"] for row in audit.rows.get(f"epoch/{opened['epoch']}", {}).values()]
    seeds = [unhex(event["server_seed"]) for event in epoch if event["kind"] == "seed_revealed"]
    commitments = [event["seed_commitment"] for event in epoch if event["kind"] == "epoch_committed"]
    for got in [*commitments, *(sha(seed).hex() for seed in seeds)]:
        audit.hold("seed-commitment", "round_opened, epoch_committed, seed_revealed", opened["seed_commitment"], got)
    key = unhex(audit.json("round-key.json")["round_key"])
    audit.hold("round-key-commitment", "round_opened", sha(b"round-key-commitment/1" + key).hex(), opened["round_key_commitment"])
    message = b"round-key/1" + lp(opened["game"]) + lp(opened["client_seed"]) + struct.pack(">Q", opened["nonce"])
    for seed in seeds:
        audit.hold("round-key", "round-key.json", hmac.new(seed, message, "sha256").hexdigest(), key.hex())
    audit.unchecked += [] if seeds else ["key: whether it is the seed's, for the epoch's seed is not revealed in the pack"]
    draws, stream, taken = audit.json("draws.jsonl"), words_of(key), 0
    for place, draw in enumerate(draws):
        (n,), words = integers(draw, "n", least=1), [next(stream)]
        if n >= 2**31:
            raise ValueError(f"draw {place}: want n below 2^31, got {n}")
        while words[-1] * n % 2**32 < 2**32 % n:
            words.append(next(stream))
        got = [draw["number"], draw["first_word"], draw["words"], draw["result"]]
        audit.hold("draw", f"draw {place}: number, first word, words, result", [place, taken, words, words[-1] * n >> 32], got)
        taken += len(words)
    return f"the round's by its commitment{', by the revealed seed' if seeds else ''}; {len(draws)} draws from {taken} words of it"


def check_verdict(audit: Audit) -> str:
    found, about = audit.json("verdict.json"), audit.about
    want = ["verify/1", about["round_id"], about["verdict"]]
    audit.hold("verdict", "verdict.json schema, round_id, verdict", want, [found["schema"], found["round_id"], found["verdict"]])
    reasons = [check["name"] for check in found["checks"] if check["result"] == "fail"]
    reasons += [each["code"] for each in found["findings"] if each["severity"] not in ("warning", "completeness")]
    reasons += sorted(audit.failed & {"events", "leaves", "round", "money and presentation", "balance", "key and draws"})
    reasons += [f"is_over {about['is_over']}"] if about["is_over"] == (about["verdict"] == "incomplete_open") else []
    if about["verdict"] in CLEAN and reasons:
        audit.hold("contradicted", "verdict.json", f"nothing against {about['verdict']}", ", ".join(map(plain, reasons)))
    opened = audit.round()[0][0]["event"]
    for name in ("profile", "texts"):
        if opened[f"{name}_hash"] and f"data/{name}.json" in audit.members:
            audit.hold(name, f"{name}.json", opened[f"{name}_hash"], sha(audit.body(f"data/{name}.json")[:-1]).hex())
        else:
            audit.unchecked.append(f"{name}: the round names none by hash, or {name}.json is not in the pack")
    return f"{about['verdict']}, with {len(found['findings'])} findings of its own; profile and texts by their hashes"


def audit_of(data: bytes, vkey: str | None = None, key: str | None = None) -> Audit:
    """Make all checks, of a pack whose pack.json cannot be read the first two; ValueError for what is no zip of the form."""
    audit = Audit(*members_of(data), vkey, key)
    checks = [check_bag, check_about, check_files, check_signature, check_events, check_leaves, check_checkpoints, check_round]
    for check in [*checks, check_money_and_presentation, check_balance, check_key_and_draws, check_verdict]:
        if audit.about or check in checks[:2]:
            audit.run(check.__name__[6:].replace("_", " "), check)
    audit.unchecked += CANNOT if len(audit.findings) < FINDINGS_MAX else [f"all: {FINDINGS_MAX} findings are kept, no more", *CANNOT]
    return audit


def read(name: str, most: int) -> bytes:
    with open(name, "rb") as file:
        return file.read(most)


def main() -> int:
    about = "Check an evidence pack of one round: form, signature, record, proofs, money, draws; without the ledger and without a network."
    example = "example: python -I -S verify_pack.py dispute.zip --vkey log.vkey --key pack.pub"
    parser = argparse.ArgumentParser(description=about, epilog=example)
    parser.add_argument("pack", help="the zip file")
    parser.add_argument("--vkey", metavar="FILE", help="the log's verifier key, as it came by another way than the pack")
    parser.add_argument("--key", metavar="FILE", help="the builder's public key, 64 hex digits, as it came by another way than the pack")
    parser.add_argument("--json", action="store_true", help="one JSON document, pack-verify/1")
    asked = parser.parse_args()
    try:
        vkey = None if asked.vkey is None else read(asked.vkey, 100_000).decode("ascii")
        key = None if asked.key is None else unhex(read(asked.key, 1000).decode("ascii").strip()).hex()
        keys_of(vkey or "")
        audit = audit_of(read(asked.pack, BYTES_MAX + (1 << 20)), vkey, key)
    except (OSError, ValueError) as error:
        print(f"a file cannot be read, or is not of its form: {plain(str(error))}", file=sys.stderr)
        return 4
    round_id, verdict, count = audit.about.get("round_id", ""), audit.about.get("verdict", ""), len(audit.findings)
    document = {"schema": "pack-verify/1", "round_id": round_id, "verdict": verdict, "checked": audit.checked}
    document.update(unchecked=audit.unchecked, findings=audit.findings)
    head = f"{count} FINDING{'S' if count > 1 else ''}" if count else "NOTHING FOUND"
    lines = [f"{head}  pack of round {round_id or 'unknown'}, {plain(verdict) or 'no verdict'}"]
    lines += [] if verdict in CLEAN else [f"the pack says of its round: {plain(verdict) or 'nothing'}"]
    lines += [f"  {each['code']}  {each['where']}: want {each['want']}, got {each['got']}" for each in audit.findings]
    lines += ["checked", *(f"  {each}" for each in audit.checked), "not checked", *(f"  {each}" for each in audit.unchecked)]
    sys.stdout.buffer.write((json.dumps(document) if asked.json else "\n".join(lines)).encode() + b"\n")
    return 0 if not audit.findings and verdict in CLEAN else 3


if __name__ == "__main__":
    sys.exit(main())
