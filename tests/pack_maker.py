"""Evidence packs made by hand from docs/pack-format.md, record/1 and rng/1: synthetic streams, keys and trees, no code of ours."""

import base64
import hashlib
import hmac
import io
import json
import struct
import zipfile
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def key_of(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))


LOG_KEY, PACK_KEY, OTHER_KEY = key_of(1), key_of(2), key_of(3)
SEED, ROUND, ACCOUNT, LEDGER = bytes(range(32)), "r-1", "a" * 32, "b" * 32
START = 1764547200000000
TEXT = b"How to play."
TEXTS = {"help": hashlib.sha256(TEXT).hexdigest()}
Parts = dict[str, Any]
Streams = dict[str, list[dict[str, Any]]]
Appends = list[tuple[str, list[dict[str, Any]]]]


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def vkey(key: Ed25519PrivateKey) -> str:
    name, body = f"slot-ledger/{LEDGER}", b"\x01" + public(key)
    return "+".join([name, sha(name.encode() + b"\n" + body)[:4].hex(), base64.b64encode(body).decode()])


def tree_root(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else sha(b"")
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\x01" + tree_root(leaves[:half]) + tree_root(leaves[half:]))


def audit_path(place: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) < 2:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if place < half:
        return audit_path(place, leaves[:half]) + [tree_root(leaves[half:])]
    return audit_path(place - half, leaves[half:]) + [tree_root(leaves[:half])]


def consistency(size: int, leaves: list[bytes], is_whole: bool = True) -> list[bytes]:
    if size == len(leaves):
        return [] if is_whole else [tree_root(leaves)]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if size <= half:
        return consistency(size, leaves[:half], is_whole) + [tree_root(leaves[half:])]
    return consistency(size - half, leaves[half:], False) + [tree_root(leaves[:half])]


def append_digest(events: list[bytes]) -> bytes:
    return sha(b"".join(struct.pack(">I", len(event)) + event for event in events))


def round_key() -> bytes:
    message = b"round-key/1" + b"\x00\x04game" + b"\x00\x08client-1" + struct.pack(">Q", 0)
    return hmac.new(SEED, message, hashlib.sha256).digest()


def draws() -> list[dict[str, Any]]:
    stream = Cipher(algorithms.ChaCha20(round_key(), bytes(16)), None).encryptor().update(bytes(4000))
    words, at, found = struct.unpack("<1000I", stream), 0, []
    for number, n in enumerate([6, 30, 100, 2**30 + 1, 2**30 + 1, 2**30 + 1, 3] * 3):
        first = at
        while words[at] * n % 2**32 < 2**32 % n:
            at += 1
        at += 1
        taken = list(words[first:at])
        found.append({"first_word": first, "n": n, "number": number, "purpose": "stop", "result": taken[-1] * n >> 32, "words": taken})
    return found


def round_events() -> list[dict[str, Any]]:
    opened = {
        "kind": "round_opened", "v": 1, "account_ref": ACCOUNT, "balance_before_minor": 1000, "bet_minor": 100,
        "bonus_minor": 20,
        "cost_minor": 100, "client_seed": "client-1", "epoch": 0, "game": "game", "nonce": 0,
        "profile_hash": sha(canonical({"name": "é"})).hex(), "texts_hash": sha(canonical(TEXTS)).hex(),
        "round_key_commitment": sha(b"round-key-commitment/1" + round_key()).hex(), "seed_commitment": sha(SEED).hex(),
    }  # fmt: skip
    return [
        opened,
        {"kind": "spin_started", "v": 1, "spin_index": 0},
        {"kind": "drop", "v": 1, "symbols": [1, 2, 3]},
        {"kind": "win", "v": 1, "ways": 2, "pay_x100": 50, "multiplier": 1, "win_minor": 100},
        {"kind": "win", "v": 1, "ways": -1, "pay_x100": 20, "multiplier": 2, "win_minor": 40},
        {"kind": "spin_ended", "v": 1, "spin_multiplier": 2, "cut_minor": 0, "award_minor": 280, "total_minor": 280},
        {"kind": "presentation_sent", "v": 1, "through_index": 5, "spin_win_minor": 280, "total_win_minor": 280, "balance_minor": -1},
        {"kind": "spin_started", "v": 1, "spin_index": 1},
        {"kind": "prize", "v": 1, "pay_x100": 300, "multiplier": 1, "prize_minor": 300},
        {"kind": "cap_hit", "v": 1, "uncapped_minor": 300, "awarded_minor": 220, "total_before_minor": 280},
        {"kind": "spin_ended", "v": 1, "spin_multiplier": 1, "cut_minor": 80, "award_minor": 220, "total_minor": 500},
    ]  # fmt: skip


def told() -> list[dict[str, Any]]:
    """What stands behind the end of the round."""
    return [
        {"kind": "presentation_sent", "v": 1, "through_index": 10, "spin_win_minor": 220, "total_win_minor": 500, "balance_minor": 1420},
        {"kind": "presentation_acked", "v": 1, "sent_index": 12, "total_win_minor": 500},
        {"kind": "presentation_acked", "v": 1, "sent_index": 6, "total_win_minor": -1},
    ]


def streams(mend: Callable[[list[dict[str, Any]]], object], end: dict[str, Any] | None, behind: list[dict[str, Any]]) -> Streams:
    """Events by stream; a round whose `end` is None is in play."""
    events = round_events()
    mend(events)
    outside = ("round_opened", "presentation_sent", "round_interrupted", "choice_made")
    game = [canonical(event) for event in events if event["kind"] not in outside]
    settled = {
        "kind": "round_settled", "v": 1, "total_win_minor": 500, "base_win_minor": 280, "feature_win_minor": 220,
        "balance_after_minor": 1420,
        "outcome_digest": append_digest(game).hex(),
        "round_digest": append_digest([canonical(event) for event in events]).hex(), **(end or {}),
    }  # fmt: skip
    return {
        "ledger": [{"kind": "ledger_created", "v": 1, "ledger_id": LEDGER, "log_public_key": public(LOG_KEY).hex()}],
        "epoch/0": [
            {"kind": "epoch_committed", "v": 1, "seed_commitment": sha(SEED).hex()},
            {"kind": "seed_revealed", "v": 1, "server_seed": SEED.hex()},
        ],
        f"account/{ACCOUNT}": [{"kind": "account_opened", "v": 1}],
        f"round/{ROUND}": events if end is None else events + [settled] + behind,
    }


def checkpoint(size: int, root: bytes, key: Ed25519PrivateKey = LOG_KEY) -> bytes:
    name, body = f"slot-ledger/{LEDGER}", b"\x01" + public(key)
    text = f"{name}\n{size}\n{base64.b64encode(root).decode()}\n".encode()
    sign = base64.b64encode(sha(name.encode() + b"\n" + body)[:4] + key.sign(text)).decode()
    return text + f"\n— {name} {sign}\n".encode()


def appends_of(found: Streams) -> Appends:
    """The appends in the order of their leaves: one for each stream, two for a round, its opening and the rest."""
    cuts = {stream: [0, 1, len(events)] if stream.startswith("round/") else [0, len(events)] for stream, events in found.items()}
    return [(stream, found[stream][first:last]) for stream in found for first, last in pairwise(cuts[stream])]


def parts_of(
    mend: Callable[[list[dict[str, Any]]], object] = list,
    end: dict[str, Any] | None = {},  # noqa: B006
    behind: list[dict[str, Any]] | None = None,
    around: Callable[[Appends], Appends] = list,
) -> Parts:
    """Everything in `data/` as values, before it is written: wrong packs are made by changing these. `around` puts appends of other
    streams between those of the round."""
    parts: Parts = {}
    leaves: list[bytes] = []
    rows: list[dict[str, Any]] = []
    files: dict[str, str] = {}
    appended: dict[str, int] = {}
    for stream, events in around(appends_of(streams(mend, end, told() if behind is None else behind))):
        name = stream.split("/")[0] if stream not in ("round/before", "round/after", "round/other") else stream.replace("/", "-")
        files[stream], number = f"streams/{name}.jsonl", appended.get(stream, 0)
        lines = parts.setdefault(files[stream], [])
        appended[stream], first = number + 1, len(lines)
        data, at = [canonical(event) for event in events], START + len(leaves)
        numbers = struct.pack(">3Q", first + 1, first + len(events), at)
        leaf = sha(b"\x00leaf/1" + struct.pack(">H", len(stream)) + stream.encode() + numbers + append_digest(data))
        row = {"leaf_hash": leaf.hex(), "leaf_index": len(leaves), "recorded_at_us": at, "stream": stream}
        rows.append({**row, "version_first": first + 1, "version_last": first + len(events)})
        for index, (event, text) in enumerate(zip(events, data, strict=True), first):
            line = {"append": number, "data": base64.b64encode(text).decode(), "index": index, "recorded_at_us": at}
            lines.append({**line, "stream": stream, "topic": f"{event['kind']}/1"})
        leaves.append(leaf)
    leaves.extend(sha(bytes([number])) for number in range(3))
    for row in rows:
        row["path"] = [each.hex() for each in audit_path(row["leaf_index"], leaves)]
    root, sizes = tree_root(leaves), [3, 4, len(leaves)]
    for size in sizes:
        parts[f"checkpoints/{size}.checkpoint"] = checkpoint(size, tree_root(leaves[:size]))
    parts["consistency.json"] = [{"path": [each.hex() for each in consistency(size, leaves)], "size": size} for size in sizes]
    parts["leaves.json"] = rows
    verdict = "incomplete_open" if end is None else "reproduced"
    parts["pack.json"] = {
        "schema": "pack/1", "round_id": ROUND, "as_of_us": START, "as_of_from": "leaf", "verdict": verdict, "is_over": end is not None,
        "tree_size": len(leaves), "root": root.hex(), "streams": files,
        "absent": {"round key, draws, what-if": "the round is in play"} if end is None else {},
    }  # fmt: skip
    checks = [{"name": "record", "result": "pass", "detail": "as it was written"}]
    parts["verdict.json"] = {"checks": checks, "findings": [], "round_id": ROUND, "schema": "verify/1", "verdict": verdict}
    parts["keys/log.vkey"], parts["keys/pack.pub"] = f"{vkey(LOG_KEY)}\n".encode(), f"{public(PACK_KEY).hex()}\n".encode()
    if end is not None:
        parts |= {"round-key.json": {"round_key": round_key().hex()}, "draws.jsonl": draws(), "what-if.json": []}
    parts |= {"profile.json": {"name": "é"}, "texts.json": TEXTS, "rules.json": {}, "report.json": {}, "software.json": {}}
    parts |= {"clauses.json": [], "history.json": {"movements": [], "rounds": []}}
    for name in ("rules.toml", "report.html", "report.pdf", "readme.txt", "verify_pack.py"):
        parts[name] = b"x = 1\n"
    return parts


def written(parts: Parts) -> dict[str, bytes]:
    def text(name: str, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        return b"".join(canonical(line) + b"\n" for line in value) if name.endswith(".jsonl") else canonical(value) + b"\n"

    return {f"data/{name}": text(name, value) for name, value in parts.items()}


def bag_of(parts: Parts, key: Ed25519PrivateKey = PACK_KEY, without: str = "", **changed: Any) -> dict[str, bytes]:
    """All members of the bag, signed; `changed` fields of the statement are put in before it is signed, and the file
    `without` is left out before anything is hashed."""
    members = {name: body for name, body in written(parts).items() if name != f"data/{without}"}
    about, oxum = parts["pack.json"], f"{sum(map(len, members.values()))}.{len(members)}"
    tags = {
        "bag-info.txt": f"Bagging-Date: 2025-12-01\nExternal-Identifier: {about['round_id']}\nPayload-Oxum: {oxum}\n".encode(),
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "manifest-sha256.txt": manifest(members),
    }
    statement = {
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:slot-audit:round-pack:1",
        "predicate": {"as_of_us": about["as_of_us"], "prepared_for": "assessment", "round_id": about["round_id"],
                      "verdict": about["verdict"]},
        "subject": [{"digest": {"sha256": sha(body).hex()}, "name": name} for name, body in tags.items()], **changed,
    }  # fmt: skip
    payload, kind = canonical(statement), b"application/vnd.in-toto+json"
    sig = key.sign(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    signature = {"keyid": sha(public(key)).hex(), "sig": base64.b64encode(sig).decode()}
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": kind.decode(), "signatures": [signature]}
    tags["signature.json"] = canonical(envelope) + b"\n"
    return members | tags | {"tagmanifest-sha256.txt": manifest(tags)}


def manifest(members: dict[str, bytes]) -> bytes:
    return b"".join(f"{sha(members[name]).hex()}  {name}\n".encode() for name in sorted(members))


def zipped(members: dict[str, bytes], folder: str = "round-" + sha(ROUND.encode()).hex()[:16], names: list[str] | None = None) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in names or sorted(members):
            entry = zipfile.ZipInfo(f"{folder}/{name}", (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, members[name])
    return file.getvalue()


def signed(parts: dict[str, Any]) -> bytes:
    return zipped(bag_of(parts))


def lean(parts: dict[str, Any]) -> dict[str, Any]:
    """The same pack without checkpoints: three signatures less to check, where a test is about something else."""
    return {name: value for name, value in parts.items() if not name.startswith("checkpoints/")} | {"consistency.json": []}
