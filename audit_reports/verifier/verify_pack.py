"""Checks an evidence pack (`pack/1`, docs/pack-format.md) with Python's standard library alone, and writes nothing to disk.

Exit status: 0 nothing found and the pack's own verdict is clean, 3 findings or another verdict, 2 wrong usage, 4 a file that cannot be
read or is no zip of the form. Read `main`, at the end, then `Audit`, then the checks in the order of the page. Every check ends with a
sentence on what it has checked; whatever a hostile pack makes it stumble over is one of WRONG, and becomes a finding.
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

BYTES_MAX, MEMBERS_MAX, JSON_MAX, JSON_TOTAL_MAX = 256 << 20, 2000, 16 << 20, 64 << 20
FILE_MAX = BYTES_MAX + MEMBERS_MAX * (30 + 46 + 2 * 120) + 22
FINDINGS_MAX, KEYS_MAX, CHECKPOINTS_MAX, WORDS_MAX = 1000, 100, 100, 1 << 19
NAME = re.compile(r"[a-z0-9._-]+(/[a-z0-9._-]+){1,3}")
TAGS = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "signature.json"]
ALWAYS = {"pack.json", "verdict.json", "leaves.json", "consistency.json", "clauses.json", "software.json", "keys/log.vkey", "keys/pack.pub"}
ALWAYS |= {"report.html", "report.pdf", "readme.txt", "verify_pack.py"}
OF_KEY = ["round-key.json", "draws.jsonl", "what-if.json"]  # never without the key, never while the round is in play
EXPLAINED = ["report.json", "history.json", "rules.toml", "rules.json", "texts.json", "profile.json", *OF_KEY]  # there, or in `absent`
OTHERS = re.compile(r"case\.json|streams/[a-z0-9._-]+\.jsonl|checkpoints/[0-9]{1,16}\.checkpoint")
GAME_KINDS = {"spin_started", "drop", "win", "tumble", "multiplier_change", "feature_trigger", "power", "prize"}
GAME_KINDS |= {"choice_offered", "cap_hit", "spin_ended", "feature_ended"}
ENDS, BEHIND_END = {"round_settled", "round_voided"}, {"correction_recorded", "presentation_sent", "presentation_acked"}
CLEAN = {"reproduced", "incomplete_open", "incomplete_resolved"}
VERDICTS = CLEAN | {"record_missing", "record_tampered", "not_replayable", "build_unapproved", "diverged", "rule_breach"}
VERDICTS |= {"settlement_divergence", "presentation_divergence"}
WRONG = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)
CANNOT = [
    "whether the outcome follows from rules and draws, and whether the draws are all that it took: here is no engine and no referee",
    "rules.toml, rules.json, software.json, clauses.json, history.json, what-if.json, report.json, report.html, report.pdf, case.json,"
    " readme.txt, verify_pack.py: only that they are there under their hashes, and JSON in its form; what they say is not looked at",
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
        self.checked: list[str] = []
        self.unchecked: list[str] = []
        self.findings: list[dict[str, str]] = []
        self.count, self.failed = 0, set[str]()

    def hold(self, code: str, where: str, want: object, got: object) -> None:
        """A finding unless both are of one type and equal."""
        if type(want) is not type(got) or want != got:
            self.count += 1
            if self.count <= FINDINGS_MAX:
                self.findings.append({"code": code, "where": plain(where), "want": plain(want), "got": plain(got)})

    def run(self, name: str, check: Callable[[Audit], str]) -> None:
        before = self.count
        try:
            self.checked.append(plain(f"{name}: {check(self)}"))
        except NotRunError as error:
            self.unchecked.append(plain(f"{name}: {error}"))
        except WRONG as error:
            self.hold("malformed", name, "what docs/pack-format.md says", f"{type(error).__name__}: {error}")
            self.unchecked.append(f"{name}: not to its end, see the finding")
        self.failed |= {name} if self.count > before else set()

    def body(self, name: str) -> bytes:
        if name not in self.members:
            raise NotRunError(f"{name} is not in the pack")
        return self.members[name]

    def json(self, name: str) -> Any:
        return json_of(self.body("data/" + name), name, b"\n")

    def lines(self, name: str) -> list[Any]:
        data = self.body("data/" + name)
        if len(data) > JSON_MAX or (data and not data.endswith(b"\n")):
            raise ValueError(f"{name}: more than {JSON_MAX} bytes, or no newline at its end")
        return [json_of(line, f"{name} line {number}") for number, line in enumerate(data.split(b"\n")[:-1], 1)]

    def round(self) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """The round's rows in order, and that of its end if there is one."""
        rows = [row for _, row in sorted(self.rows.get(f"round/{self.about.get('round_id')}", {}).items())]
        if not rows:
            raise NotRunError("the round's events could not be read")
        return rows, next((row for row in rows if row["event"]["kind"] in ENDS), None)


def plain(value: object) -> str:
    """A value as one short line of printable text: what an attacker wrote moves no cursor and turns no line."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= 400 else text[:400] + " …"
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)


def number_of(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,16}", text) or abs(int(text)) >= 2**53:
        raise ValueError(f"{text[:40]} is a float, no number, or one of 2^53 or more in magnitude")
    return int(text)


def json_of(data: bytes, where: str, end: bytes = b"") -> Any:
    """Canonical JSON (RFC 8785) without floats; ValueError for anything else."""
    if len(data) > JSON_MAX:
        raise ValueError(f"{where}: {len(data)} bytes of JSON, {JSON_MAX} at most")
    try:
        value = json.loads(data.decode(), parse_int=number_of, parse_float=number_of, parse_constant=number_of)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + end
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: {error}") from None
    if text != data:
        raise ValueError(f"{where}: JSON that is not canonical")
    return value


def event_of(data: bytes, where: str) -> dict[str, Any]:
    """An event by record/1, item 1."""
    event = json_of(data, where)
    todo = [event]
    for value in todo:
        if value is None or (isinstance(value, dict) and not all(key.isascii() for key in value)):
            raise ValueError(f"{where}: null, or a key that is not ASCII, in an event")
        todo.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else [])
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str) or type(event.get("v")) is not int:
        raise ValueError(f"{where}: an event is an object with kind and v")
    return event


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


# Ed25519 (RFC 8032): the curve -x^2 + y^2 = 1 + D x^2 y^2 modulo P; points as (x z, y z, z, x y z); ORDER that of BASE
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, BASE = -121665 * pow(121666, -1, P) % P, (4 * pow(5, -1, P) % P).to_bytes(32, "little")


def add(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    e, f, g, h = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0]), 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    return (f - e) * (h - g) % P, (f + e) * (h + g) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P


def times(number: int, point: tuple[int, ...]) -> tuple[int, ...]:
    total: tuple[int, ...] = (0, 1, 1, 0)
    for bit in bin(number)[2:]:
        total = add(total, total)
        total = add(total, point) if bit == "1" else total
    return total


def point_of(encoded: bytes) -> tuple[int, ...]:
    number = int.from_bytes(encoded, "little")
    y, sign = number & 2**255 - 1, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


def is_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether s B = R + h A; never by a key of small order, which has signatures over everything."""
    s = int.from_bytes(signature[32:], "little")
    if len(key) != 32 or len(signature) != 64 or s >= ORDER:
        return False
    try:
        own, r = point_of(key), point_of(signature[:32])
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    a, b, eight = times(s, point_of(BASE)), add(r, times(h, own)), times(8, own)
    is_small = eight[0] % P == 0 and (eight[1] - eight[2]) % P == 0
    return not is_small and (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def root_from(leaf: bytes, place: int, size: int, path: list[bytes]) -> bytes:
    """The root that an audit path leads to (RFC 6962, 2.1.1); none, of no bytes, for a path of the wrong length."""
    if size == 1 or not path:
        return leaf if size == 1 and not path else b""
    half = 1 << (size - 1).bit_length() - 1
    if place < half:
        return sha(b"\x01" + root_from(leaf, place, half, path[:-1]) + path[-1])
    return sha(b"\x01" + path[-1] + root_from(leaf, place - half, size - half, path[:-1]))


def roots_from(first: int, size: int, known: bytes, path: list[bytes]) -> tuple[bytes, bytes]:
    """The roots over the first leaves and over all that a consistency proof leads to (2.1.2); `known`: the first, while it needs no node."""
    if first == size or not path:
        root = b"".join([known, *path]) if first == size else b""
        return root, root
    half = 1 << (size - 1).bit_length() - 1
    if first <= half:
        old, new = roots_from(first, half, known, path[:-1])
        return old, sha(b"\x01" + new + path[-1])
    old, new = roots_from(first - half, size - half, b"", path[:-1])
    return sha(b"\x01" + path[-1] + old), sha(b"\x01" + path[-1] + new)


def block(key: bytes, counter: int) -> list[int]:
    """Sixteen words of the ChaCha20 key stream (RFC 8439) under a nonce of zeros."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
    x = list(start)
    columns = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for a, b, c, d in (columns + diagonals) * 10:
        for to, by, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[by]) & 0xFFFFFFFF
            word = x[turned] ^ x[to]
            x[turned] = (word << bits | word >> (32 - bits)) & 0xFFFFFFFF
    return [(x[i] + start[i]) & 0xFFFFFFFF for i in range(16)]


# 1. The zip: members are read from their local headers; then the one zip that they may stand in is written anew and compared.
def pieces_of(members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    directory, offset = b"", 0
    for name in sorted(members):
        body = members[name]
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(body), len(body), len(body), len(name), 0)
        tail = struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, offset)
        directory += b"PK\x01\x02" + struct.pack("<H", 3 << 8 | 20) + head + tail + name.encode()
        yield f"the local header of a stored member {name}, in the order of names", b"PK\x03\x04" + head + name.encode()
        yield f"the bytes of {name}", body
        offset += 30 + len(name) + len(body)
    yield "the directory of these members as plain files", directory
    yield "the end record", struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), offset, 0)


def members_of(data: bytes) -> tuple[str, dict[str, bytes]]:
    """The folder, and its members by name; ValueError where any byte of the zip is not the one that docs/pack-format.md says."""
    found: dict[str, bytes] = {}
    at = 0
    while data[at : at + 4] == b"PK\x03\x04" and at + 30 <= len(data):
        size, length = struct.unpack("<22xIH2x", data[at : at + 30])
        name = data[at + 30 : at + 30 + length].decode("latin-1")
        if len(name) > 120 or not NAME.fullmatch(name) or {".", ".."} & set(name.split("/")):
            raise ValueError(f"member {len(found)} has a name that is not allowed: {name}")
        if name in found or len(found) == MEMBERS_MAX or name.split("/")[0] != next(iter(found), name).split("/")[0]:
            raise ValueError(f"member {name} stands twice, lies in another folder, or is one more than {MEMBERS_MAX}")
        found[name] = data[at + 30 + length : at + 30 + length + size]
        at += 30 + length + size
    if not found or sum(map(len, found.values())) > BYTES_MAX:
        raise ValueError(f"no zip of stored members begins here, or it holds more than {BYTES_MAX} bytes")
    at = 0
    for what, piece in pieces_of(found):
        if data[at : at + len(piece)] != piece:
            raise ValueError(f"byte {at} and following: want {what}, got something else")
        at += len(piece)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes stand behind the end record")
    return name.split("/")[0], {name.split("/", 1)[1]: body for name, body in found.items()}


def check_about(audit: Audit) -> str:
    about = audit.json("pack.json")
    keys = ["absent", "as_of_from", "as_of_us", "is_over", "root", "round_id", "schema", "streams", "tree_size", "verdict"]
    audit.hold("pack", "pack.json", keys, sorted(about))
    integers(about, "as_of_us", "tree_size")
    unhex(about["root"])
    texts = [text for pair in [*about["absent"].items(), *about["streams"].items()] for text in pair]
    if not all(isinstance(text, str) for text in texts) or not isinstance(about["is_over"], bool) or about["verdict"] not in VERDICTS:
        raise ValueError("absent and streams are objects of texts, is_over is true or false, verdict is one of those that there are")
    if not re.fullmatch("[A-Za-z0-9._-]{1,64}", about["round_id"]):
        raise ValueError(f"round_id {plain(about['round_id'])} is none")
    audit.about = about
    audit.hold("pack", "pack.json schema", "pack/1", about["schema"])
    if about["as_of_from"] not in ("given", "checkpoint", "leaf"):
        audit.hold("pack", "pack.json as_of_from", "given, checkpoint or leaf", about["as_of_from"])
    audit.hold("folder", "the folder's name", "round-" + sha(about["round_id"].encode()).hex()[:16], audit.folder)
    return f"{about['tree_size']} leaves, verdict {about['verdict']}"


# 2. and 3. The bag and its signature
def check_bag(audit: Audit) -> str:
    payload = {name: body for name, body in audit.members.items() if name.startswith("data/")}
    tags = {name: body for name, body in audit.members.items() if name not in payload and name != "tagmanifest-sha256.txt"}
    for manifest, over in (("manifest-sha256.txt", payload), ("tagmanifest-sha256.txt", tags)):
        text = audit.members.get(manifest, b"").decode()
        listed = {line[66:]: line[:64] for line in text.split("\n") if line}
        form = "".join(f"{listed[name]}  {name}\n" for name in sorted(listed))
        audit.hold("manifest-form", f"{manifest}: lines of hash, two spaces, name, in the order of names", form, text)
        for name in sorted({*listed, *over}):
            got = sha(over[name]).hex() if name in over else "no such member"
            audit.hold("manifest", name, listed.get(name, f"not in {manifest}"), got)
    audit.hold("tag-files", "the bag", TAGS, sorted(tags))
    audit.hold("bagit", "bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", audit.members.get("bagit.txt"))
    if audit.about:
        date = datetime.date(1970, 1, 1) + datetime.timedelta(microseconds=audit.about["as_of_us"])
        oxum = f"{sum(map(len, payload.values()))}.{len(payload)}"
        want = f"Bagging-Date: {date.isoformat()}\nExternal-Identifier: {audit.about['round_id']}\nPayload-Oxum: {oxum}\n"
        audit.hold("bag-form", "bag-info.txt", want.encode(), audit.members.get("bag-info.txt"))
    return f"{len(payload)} payload and {len(tags)} tag files against their manifests"


def check_files(audit: Audit) -> str:
    names = {name[5:] for name in audit.members if name.startswith("data/")}
    for name in sorted(ALWAYS - names):
        audit.hold("missing", name, "in every pack", "not in the pack")
    for name in sorted(names - ALWAYS - {*EXPLAINED}):
        if not OTHERS.fullmatch(name):
            audit.hold("unknown-member", name, "a file that docs/pack-format.md names", "another")
    for name in EXPLAINED:
        word = name.split(".")[0].replace("-", " ")
        if name not in names and not any(word in text.replace("-", " ") for text in audit.about["absent"]):
            audit.hold("missing", name, f"in the pack, or {word!r} named in absent", "neither")
        if name in names and name in OF_KEY and not (audit.about["is_over"] and OF_KEY[0] in names):
            audit.hold("open-key", name, "in no pack of a round in play or without its key", "in the pack")
    return f"{len(names)} in data/: those that must be there, and no others"


def check_signature(audit: Audit) -> str:
    envelope = json_of(audit.body("signature.json"), "signature.json", b"\n")
    key = unhex(audit.body("data/keys/pack.pub").decode()[:-1])
    audit.hold("pack-key", "data/keys/pack.pub", f"{key.hex()}\n", audit.body("data/keys/pack.pub").decode())
    kind, payload = "application/vnd.in-toto+json", base64.b64decode(envelope["payload"], validate=True)
    (signed,) = envelope["signatures"]
    want = {"payload": envelope["payload"], "payloadType": kind, "signatures": [{"keyid": sha(key).hex(), "sig": signed["sig"]}]}
    audit.hold("signature", "signature.json", want, envelope)
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    is_signed = is_signature(key, base64.b64decode(signed["sig"], validate=True), message)
    audit.hold("signature", "signature.json: signed by data/keys/pack.pub", True, is_signed)
    predicate = {name: audit.about.get(name) for name in ("as_of_us", "round_id", "verdict")}
    subject = [{"digest": {"sha256": sha(audit.members.get(name, b"")).hex()}, "name": name} for name in TAGS[:3]]
    want = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:slot-audit:round-pack:1", "subject": subject}
    want["predicate"] = {**predicate, "prepared_for": "assessment"}
    audit.hold("statement", "the signed statement", want, json_of(payload, "the signed statement"))
    if audit.key is None:
        audit.unchecked.append("pack key: no --key given; anyone can sign a pack with a key of his own")
    else:
        audit.hold("pack-key", "data/keys/pack.pub against --key", audit.key.strip(), key.hex())
    return f"by key {key.hex()}, over the statement and so over the bag"


# 4. and 5. JSON, events, leaves, checkpoints
def check_json(audit: Audit) -> str:
    names = [name[5:] for name in sorted(audit.members) if name.startswith("data/") and name.endswith((".json", ".jsonl"))]
    if sum(len(audit.members["data/" + name]) for name in names) > JSON_TOTAL_MAX:
        raise ValueError(f"more than {JSON_TOTAL_MAX} bytes of JSON in all")
    for name in names:
        try:
            audit.json(name) if name.endswith(".json") else audit.lines(name)
        except WRONG as error:
            audit.hold("json", name, "canonical JSON", error)
    return f"{len(names)} files in canonical form"


def check_events(audit: Audit) -> str:
    streams, absent = audit.about["streams"], audit.about["absent"]
    files = sorted(name[5:] for name in audit.members if name.startswith("data/streams/"))
    audit.hold("streams", "pack.json streams", files, sorted(streams.values()))
    for stream, name in streams.items():
        rows: dict[int, dict[str, Any]] = {}
        following = 0
        for line in audit.lines(name):
            index, append, at = integers(line, "index", "append", "recorded_at_us", least=-1)
            where, data = f"{stream} index {index}", base64.b64decode(line["data"], validate=True)
            event = event_of(data, where)
            audit.hold("event", where, ["append", "data", "index", "recorded_at_us", "stream", "topic"], sorted(line))
            audit.hold("topic", where, [f"{event['kind']}/{event['v']}", stream], [line["topic"], line["stream"]])
            if index < following or stream not in absent:
                audit.hold("gap", where, following, index)
            following = index + 1
            rows[index + 1] = {"append": append, "at": at, "data": data, "event": event, "index": index, "leaf": -1, "where": where}
        audit.rows[stream] = rows
    opened = audit.round()[0][0]["event"]
    for stream in (f"account/{opened.get('account_ref')}", f"epoch/{opened.get('epoch')}", "ledger"):
        if stream not in streams and stream not in absent:
            audit.hold("streams", "pack.json streams", f"{stream}, or why it is not there in absent", "neither")
    cut = [plain(stream) for stream in streams if stream in absent]
    audit.unchecked += [f"events: {stream} is cut, as pack.json says; nothing is known of what is not in the pack" for stream in cut]
    return f"{sum(map(len, audit.rows.values()))} of {len(audit.rows)} streams"


def check_leaves(audit: Audit) -> str:
    leaves, size, root = audit.json("leaves.json"), audit.about["tree_size"], unhex(audit.about["root"])
    of_stream: dict[str, list[dict[str, Any]]] = {}
    for leaf in leaves:
        of_stream.setdefault(leaf["stream"], []).append(leaf)
    audit.hold("leaf", "leaves.json: leaves that stand twice", 0, len(leaves) - len({leaf["leaf_index"] for leaf in leaves}))
    for stream in sorted(of_stream):
        rows, before, newest, append = audit.rows.get(stream, {}), 0, -1, -1
        for leaf in sorted(of_stream[stream], key=lambda leaf: leaf["version_first"]):
            first, last, place, at = integers(leaf, "version_first", "version_last", "leaf_index", "recorded_at_us")
            where, is_cut = f"leaf {place}, {stream} versions {first} to {last}", stream in audit.about["absent"]
            here = [rows[version] for version in range(first, min(last, first + len(rows)) + 1) if version in rows]
            is_next = newest < place < size and (first == before + 1 or (is_cut and first > before))
            if not is_next or not 0 < len(here) == last - first + 1:
                audit.hold("leaf", where, "leaves in order without gaps, over events that are there", f"{len(here)} events")
                break
            append = here[0]["append"] if is_cut and append < 0 else append + 1
            for row in here:
                audit.hold("append", row["where"], [append, at], [row["append"], row["at"]])
                row["leaf"] = place
            data = b"leaf/1" + lp(stream) + struct.pack(">3Q", first, last, at) + append_digest(here)
            audit.hold("leaf-hash", where, sha(b"\x00" + data).hex(), leaf["leaf_hash"])
            if leaf["path"] and root_from(unhex(leaf["leaf_hash"]), place, size, [unhex(each) for each in leaf["path"]]) != root:
                audit.hold("audit-path", where, f"a path to root {root.hex()} over {size} leaves", "another root")
            before, newest = last, place
    bare = [row for rows in audit.rows.values() for row in rows.values() if row["leaf"] < 0]
    for row in bare:
        audit.hold("append", row["where"], -1, row["append"])
    pathless = sum(not leaf["path"] for leaf in leaves)
    audit.unchecked += [f"leaves: {len(bare)} events have none, {pathless} have no path to the root"] if bare or pathless else []
    return f"{len(leaves)} over the events, {len(leaves) - pathless} with a path to the root"


def keys_of(text: str) -> list[tuple[str, bytes, bytes]]:
    """Name, key id and public key of each C2SP verifier key; ValueError for a damaged one."""
    found = []
    for line in filter(None, text.split("\n")):
        name, key_id, encoded = line.split("+", 2)
        key = base64.b64decode(encoded, validate=True)
        own = sha(name.encode() + b"\n" + key)[:4]
        if len(key) != 33 or key[0] != 1 or own.hex() != key_id or len(found) == KEYS_MAX:
            raise ValueError(f"verifier key {plain(line)} is damaged, of another kind than Ed25519, or one too many")
        found.append((name, own, key[1:]))
    return found


def check_checkpoints(audit: Audit) -> str:
    keys = keys_of(audit.body("data/keys/log.vkey").decode())
    ledger = [row["event"] for _, row in sorted(audit.rows.get("ledger", {}).items())]
    named = [event["new_public_key"] if event["kind"] == "key_rotated" else event.get("log_public_key") for event in ledger]
    audit.hold("log-key", "data/keys/log.vkey", [key for key in named if key], [key.hex() for _, _, key in keys])
    if audit.vkey is None:
        audit.unchecked.append("log key: no --vkey given; whoever holds the record could have made another key and signed everything anew")
    elif not {*keys_of(audit.vkey)} & {*keys}:
        audit.hold("log-key", "data/keys/log.vkey", "the key given with --vkey among them", "other keys")
    keys = keys if audit.vkey is None else keys_of(audit.vkey)
    names = sorted(name for name in audit.members if name.startswith("data/checkpoints/"))
    paths = {each["size"]: [unhex(hash_) for hash_ in each["path"]] for each in audit.json("consistency.json")}
    audit.hold("consistency", "consistency.json", sorted(int(name[17:-11]) for name in names), sorted(paths))
    if not 0 < len(names) <= CHECKPOINTS_MAX:
        raise NotRunError(
            f"{len(names)} in the pack, 1 to {CHECKPOINTS_MAX} are looked at: only its builder says that the root is the log's"
        )
    for name in names:
        body, _, lines = audit.members[name].decode().rpartition("\n\n")
        origin, count, root = body.split("\n")[:3]
        audit.hold("checkpoint-size", name, [name[17:-11], f"slot-ledger/{ledger[0]['ledger_id']}"], [count, origin])
        signed = [line.split(" ") for line in lines.rstrip("\n").split("\n")[:16]]
        tried = [
            (key, base64.b64decode(text, validate=True))
            for key in keys
            for mark, by, text in signed
            if mark == "—" and by == key[0] == origin
        ]
        tried = [(key, sig[4:]) for key, sig in tried if sig[:4] == key[1]][:4]
        is_signed = any(is_signature(key[2], sig, f"{body}\n".encode()) for key, sig in tried)
        audit.hold("checkpoint-signature", f"{name}: signed by the log's key", True, is_signed)
        place, size, known = int(count), audit.about["tree_size"], base64.b64decode(root, validate=True)
        reached = roots_from(place, size, known, paths.get(place, [])) if 0 < place <= size else None
        audit.hold("consistency", f"{name}: the root grew from it", True, reached == (known, unhex(audit.about["root"])))
    return (
        f"{len(names)}, signed by {'a key that the pack itself brings' if audit.vkey is None else 'the key given'}; the root grew from each"
    )


# 6. The round
def check_round(audit: Audit) -> str:
    rows, end = audit.round()
    kinds = [row["event"]["kind"] for row in rows]
    starts, ends = kinds.count("round_opened"), sum(kind in ENDS for kind in kinds)
    if kinds[0] != "round_opened" or starts != 1 or ends > 1:
        audit.hold("order", "the round", "round_opened first and once, one end at most", f"{kinds[0]} first, {starts} and {ends}")
    audit.hold("is-over", "pack.json is_over", end is not None, audit.about["is_over"])
    if end is None:
        return f"{len(rows)} events; it is in play, so it has no digests yet"
    earlier, behind = rows[: rows.index(end)], {*kinds[rows.index(end) + 1 :]} - BEHIND_END
    audit.hold("order", "the round: behind its end, other than corrections and presentations", [], sorted(behind))
    audit.hold("round-digest", end["where"], append_digest(earlier).hex(), end["event"]["round_digest"])
    if end["event"]["kind"] == "round_settled":
        game = [row for row in earlier if row["event"]["kind"] in GAME_KINDS]
        audit.hold("outcome-digest", end["where"], append_digest(game).hex(), end["event"]["outcome_digest"])
    return f"{len(rows)} events in order, digests"


def check_money(audit: Audit) -> str:
    rows, _ = audit.round()
    (bet,) = integers(rows[0]["event"], "bet_minor")
    total = base = wins = prizes = cut = 0
    spin, is_spinning = -1, False
    for row in rows:
        event, kind, where = row["event"], row["event"]["kind"], f"{row['where']}, {row['event']['kind']}"
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
        elif kind in ("round_interrupted", "round_voided"):
            audit.hold("total", f"{where}: won_minor", total, event["won_minor"])
        elif kind == "round_settled":
            got = integers(event, "total_win_minor", "base_win_minor", "feature_win_minor")
            audit.hold("total", f"{where}: total, base, features", [total, base, total - base], got)
    return f"{spin + 1} spins, each win, prize and award by its law, {total} minor units in all"


def check_balance(audit: Audit) -> str:
    rows, end = audit.round()
    opened, start = rows[0], rows[0]["event"]
    before, cost, bonus = integers(start, "balance_before_minor", "cost_minor", "bonus_minor")
    if end is None or f"account/{start['account_ref']}" not in audit.rows:
        raise NotRunError("the round is in play" if end is None else "the account's stream is not in the pack")
    gained, got = integers(
        end["event"], "refund_minor" if end["event"]["kind"] == "round_voided" else "total_win_minor", "balance_after_minor"
    )
    others = [
        row for stream in audit.rows.values() for row in stream.values() if row["event"]["kind"] in {*ENDS, "round_opened", "funds_moved"}
    ]
    between = [row["where"] for row in others if opened["leaf"] < row["leaf"] < end["leaf"]]
    if between or min(opened["leaf"], end["leaf"]) < 0:
        raise NotRunError(f"between its opening and its end lies {between[0]}" if between else "no leaves tell the order of events")
    want = before - cost + bonus + gained
    if want != got and any(row["event"]["kind"] == "round_interrupted" for row in rows):
        raise NotRunError("it was interrupted, and rounds that are not in the pack may have moved money in between")
    audit.hold("balance", f"{end['where']}: balance_after_minor", want, got)
    return f"{before} - {cost} + {bonus} + {gained} = {want}"


# 7. The key and the draws
def check_key(audit: Audit) -> str:
    rows, end = audit.round()
    opened = rows[0]["event"]
    if end is None:
        raise NotRunError("the round is in play: its key is not shown")
    epoch = [row["event"] for row in audit.rows.get(f"epoch/{opened['epoch']}", {}).values()]
    key = unhex(audit.json("round-key.json")["round_key"])
    audit.hold("round-key-commitment", "round_opened", sha(b"round-key-commitment/1" + key).hex(), opened["round_key_commitment"])
    message = b"round-key/1" + lp(opened["game"]) + lp(opened["client_seed"]) + struct.pack(">Q", opened["nonce"])
    seeds = [unhex(event["server_seed"]) for event in epoch if event["kind"] == "seed_revealed"]
    for seed in seeds:
        audit.hold("seed-commitment", "seed_revealed", opened["seed_commitment"], sha(seed).hex())
        audit.hold("round-key", "round-key.json", hmac.new(seed, message, "sha256").hexdigest(), key.hex())
    for event in epoch:
        if event["kind"] == "epoch_committed":
            audit.hold("seed-commitment", "epoch_committed", opened["seed_commitment"], event["seed_commitment"])
    audit.unchecked += [] if seeds else ["key: whether it is the seed's, for the epoch's seed is not revealed in the pack"]
    return f"the round's, by its commitment{' and by the revealed seed' if seeds else ''}"


def check_draws(audit: Audit) -> str:
    draws, key = audit.lines("draws.jsonl"), unhex(audit.json("round-key.json")["round_key"])
    taken, stream = 0, list(block(key, 0))
    for place, draw in enumerate(draws):
        where, n, words, size = f"draw {place}", *integers(draw, "n", least=1), draw["words"], len(draw["words"])
        if n >= 2**31 or not size or taken + size > WORDS_MAX:
            raise ValueError(f"{where}: want n below 2^31, one word or more, {WORDS_MAX} in all at most")
        while len(stream) < taken + size:
            stream += block(key, len(stream) // 16)
        own = stream[taken : taken + size]
        audit.hold("draw-place", f"{where}: number, first_word", [place, taken], [draw["number"], draw["first_word"]])
        audit.hold("draw-words", where, own, words)
        audit.hold("draw-rejection", where, [True] * (size - 1) + [False], [word * n % 2**32 < 2**32 % n for word in own])
        audit.hold("draw-result", where, own[-1] * n >> 32, draw["result"])
        taken += size
    return f"{len(draws)}, {taken} words of the key stream, each result from its words"


# 8. and 9. Presentation, profile, texts, verdict
def check_presentation(audit: Audit) -> str:
    spins: dict[int, list[int]] = {}  # index of a spin_ended: its award, the sum up to there
    sent: dict[int, int] = {}  # index of a presentation_sent: the total that it told
    total, balance, rows = 0, -1, audit.round()[0]
    for row in rows:
        event, kind, where = row["event"], row["event"]["kind"], f"{row['where']}, {row['event']['kind']}"
        if kind == "spin_ended":
            total += event["award_minor"]
            spins[row["index"]] = [event["award_minor"], total]
        elif kind in ENDS or kind == "correction_recorded":  # behind a correction the balance may be another
            balance = event["balance_after_minor"] if kind in ENDS else -1
        elif kind == "presentation_sent":
            through, shown, *told = integers(event, "through_index", "balance_minor", "spin_win_minor", "total_win_minor", least=-1)
            sent[row["index"]] = told[1]
            audit.hold("presentation", f"{where}: spin's win, total up to index {through}", spins.get(through, "no spin_ended there"), told)
            audit.hold("presentation", f"{where}: balance", balance if shown != -1 != balance else shown, shown)
        elif kind == "presentation_acked":
            of, shown = integers(event, "sent_index", "total_win_minor", least=-1)
            want = sent.get(of, "no presentation_sent there")
            audit.hold("presentation", f"{where}: total of index {of}", want, shown if shown != -1 or of not in sent else want)
    if not any(row["event"]["kind"].startswith("presentation_") for row in rows):
        raise NotRunError("the record holds nothing of what the player was shown")
    return f"{len(sent)} records of what was sent, each with the amounts of the outcome; acknowledgements too"


def check_profile(audit: Audit) -> str:
    want = audit.round()[0][0]["event"]["profile_hash"]
    audit.hold("profile", "profile.json", want, sha(audit.body("data/profile.json")[:-1]).hex() if want else "")
    return "the one that the round names" if want else "the round names none"


def check_texts(audit: Audit) -> str:
    want = audit.round()[0][0]["event"]["texts_hash"]
    audit.hold("texts", "texts.json", want, sha(audit.body("data/texts.json")[:-1]).hex() if want else "")
    return "those that the round names, by their hashes" if want else "the round names none"


def check_verdict(audit: Audit) -> str:
    found, about = audit.json("verdict.json"), audit.about
    want = ["verify/1", about["round_id"], about["verdict"]]
    audit.hold("verdict", "verdict.json schema, round_id, verdict", want, [found["schema"], found["round_id"], found["verdict"]])
    reasons = [check["name"] for check in found["checks"] if check["result"] == "fail"]
    reasons += [each["code"] for each in found["findings"] if each["severity"] not in ("warning", "completeness")]
    reasons += sorted(audit.failed & {"events", "leaves", "round", "money", "balance", "key", "presentation"})
    reasons += [f"is_over {about['is_over']}"] if about["is_over"] == (about["verdict"] == "incomplete_open") else []
    if about["verdict"] in CLEAN and reasons:
        audit.hold("contradicted", "verdict.json", f"nothing against {about['verdict']}", ", ".join(map(plain, reasons)))
    return f"{about['verdict']}, with {len(found['findings'])} findings of its own"


FIRST = [check_about, check_bag]
CHECKS = [check_files, check_signature, check_json, check_events, check_leaves, check_checkpoints, check_round, check_money, check_balance]
CHECKS += [check_key, check_draws, check_presentation, check_profile, check_texts, check_verdict]


def audit_of(data: bytes, vkey: str | None = None, key: str | None = None) -> Audit:
    """Make all checks; ValueError for what is no zip of the form. Without a pack.json that can be read the bag alone is looked at."""
    audit = Audit(*members_of(data), vkey, key)
    audit.checked.append(f"zip: {len(audit.members)} members, byte for byte of the form")
    for check in FIRST + CHECKS:
        if audit.about or check in FIRST:
            audit.run(check.__name__[6:], check)
    audit.unchecked += CANNOT
    return audit


def text_of(audit: Audit, name: str, verdict: str) -> str:
    head = f"{audit.count} FINDING{'S' if audit.count > 1 else ''}" if audit.count else "NOTHING FOUND"
    lines = [f"{head}  pack of round {name}, {verdict}"]
    lines += [] if verdict in CLEAN else [f"the pack says of its round: {verdict}"]
    lines += [f"  {each['code']}  {each['where']}: want {each['want']}, got {each['got']}" for each in audit.findings]
    lines += [f"  and {audit.count - len(audit.findings)} more"] if audit.count > len(audit.findings) else []
    lines += ["checked", *(f"  {each}" for each in audit.checked), "not checked", *(f"  {each}" for each in audit.unchecked)]
    return "\n".join(lines)


def read(name: str, most: int) -> bytes:
    with open(name, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most} bytes")
    return data


def main() -> int:
    about = "Check an evidence pack of one round: form, signature, record, proofs, money, draws; without the ledger and without a network."
    example = "example: python -I -S verify_pack.py dispute.zip --vkey log.vkey --key pack.pub"
    parser = argparse.ArgumentParser(description=about, epilog=example)
    parser.add_argument("pack", help="the zip file")
    parser.add_argument("--vkey", metavar="FILE", help="the log's verifier key, as it came by another way than the pack")
    parser.add_argument("--key", metavar="FILE", help="the builder's public key, 64 hex digits, as it came by another way than the pack")
    parser.add_argument("--json", action="store_true", help="one JSON document, pack-verify/1")
    asked = parser.parse_args()
    name = asked.pack
    try:
        data = read(name, FILE_MAX)
        given: list[str | None] = [None, None]
        for place, name in enumerate((asked.vkey, asked.key)):
            given[place] = None if name is None else read(name, 100_000).decode("ascii")
        if (given[0] is not None and not keys_of(given[0])) or (given[1] is not None and not unhex(given[1].strip())):
            raise ValueError("no key is in it")
        name = asked.pack
        audit = audit_of(data, *given)
    except (OSError, ValueError) as error:
        print(f"{plain(name)} cannot be read, or is not of the form: {plain(str(error))}", file=sys.stderr)
        return 4
    round_id, verdict = audit.about.get("round_id", ""), audit.about.get("verdict", "")
    document = {"schema": "pack-verify/1", "round_id": round_id, "verdict": verdict, "checked": audit.checked}
    document.update(unchecked=audit.unchecked, findings=audit.findings)
    shown = json.dumps(document) if asked.json else text_of(audit, round_id or "unknown", verdict or "no verdict")
    sys.stdout.buffer.write(shown.encode() + b"\n")
    return 0 if not audit.count and verdict in CLEAN else 3


if __name__ == "__main__":
    sys.exit(main())
