"""Takes a pack apart and seals it anew as a careful forger would, stage by stage, with keys of his own.

Between any two stages something can be made wrong; what comes after is made to fit it, what came before stays. The
pack's leaves must be all of its tree.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit_reports.bag import BAG_TEXT, MANIFEST, TAG_MANIFEST, bag_description, manifest, read_zip, zip_bytes
from audit_reports.statement import ROUND_PACK, signed_statement
from engines.canonical import canonical_json
from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.keys import VerifierKey, log_origin, public_key_bytes
from ledger.merkle import append_digest, audit_path, consistency_path, leaf_bytes, leaf_hash, root_of_leaves

__all__ = [
    "ANOTHER_HASH",
    "STAGES",
    "WRONGS",
    "Append",
    "Forgery",
    "Wrong",
    "document",
    "key_of",
    "lines",
    "take_apart",
    "values_of",
    "wrong",
]

ANOTHER_HASH = "5a" * 32

GAME_KINDS = {
    "spin_started",
    "drop",
    "win",
    "tumble",
    "multiplier_change",
    "feature_trigger",
    "power",
    "prize",
    "choice_offered",
    "cap_hit",
    "spin_ended",
    "feature_ended",
}
ENDS = {"round_settled", "round_voided"}
STAGES = ("digests", "leaves", "record", "bag", "statement", "list")


def key_of(name: str) -> Ed25519PrivateKey:
    """Return the key that this name always gives."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def document(value: Any) -> bytes:
    """Return canonical JSON and a newline."""
    return canonical_json(value) + b"\n"


def lines(content: bytes) -> list[Any]:
    """Return the values of a file of JSON lines."""
    return [json.loads(line) for line in content.splitlines()]


def values_of(data: bytes) -> dict[str, Any]:
    """Return the fields of an event."""
    return dict(json.loads(data))


@dataclass
class Append:
    """The events of one append, each with its index in the stream, and its leaf."""

    leaf_index: int
    recorded_at_us: int
    version_first: int
    version_last: int
    events: list[tuple[int, bytes]]
    leaf_hash: bytes = b""

    @property
    def fresh_leaf(self) -> bytes:
        """The digest of the events as they stand."""
        return append_digest(data for _, data in self.events)


@dataclass
class Forgery:
    """A pack in the making."""

    folder: str
    files: dict[str, bytes]  # the payload by name under data/
    index: dict[str, Any]  # pack.json
    streams: dict[str, list[Append]]
    sizes: list[int]  # of the checkpoints' trees
    tags: dict[str, bytes] = field(default_factory=dict)
    log_key: Ed25519PrivateKey = field(default_factory=lambda: key_of("log"))
    pack_key: Ed25519PrivateKey = field(default_factory=lambda: key_of("builder"))
    house_key: bytes = b""  # of a round in play, which only the house has
    done: int = 0  # stages
    before: dict[str, str] = field(default_factory=dict)  # SHA-256 of the files as they were, by name
    extra: dict[str, bytes] = field(default_factory=dict)  # members that no list of hashes knows

    @property
    def round_id(self) -> str:
        """The round that the pack is of."""
        return str(self.index["round_id"])

    @property
    def round(self) -> str:
        """The stream of that round."""
        return f"round/{self.round_id}"

    @property
    def appends(self) -> list[tuple[str, Append]]:
        """All appends with their stream, in the order of their leaves."""
        found = [(stream, append) for stream, appends in self.streams.items() for append in appends]
        return sorted(found, key=lambda each: each[1].leaf_index)

    @property
    def rounds(self) -> list[str]:
        """The streams of rounds, in the order of their opening."""
        return [stream for stream, append in self.appends if stream.startswith("round/") and append.version_first == 1]

    def events(self, stream: str) -> Iterator[tuple[Append, int, dict[str, Any]]]:
        """Yield append, place in it and fields of each event of a stream."""
        for append in self.streams[stream]:
            for place, (_, data) in enumerate(append.events):
                yield append, place, values_of(data)

    def find(self, kind: str, number: int = 0, stream: str = "") -> tuple[Append, int, dict[str, Any]]:
        """Return append, place and fields of the event of a kind in a stream, the round's unless named; number: from 0, -1 the last."""
        return [each for each in self.events(stream or self.round) if each[2]["kind"] == kind][number]

    def change(self, kind: str, number: int = 0, stream: str = "", **values: Any) -> None:
        """Give fields of an event other values."""
        append, place, fields = self.find(kind, number, stream)
        self.put(append, place, {**fields, **values})

    @staticmethod
    def put(append: Append, place: int, fields: dict[str, Any]) -> None:
        """Write an event in the place of another."""
        append.events[place] = (append.events[place][0], canonical_json(fields))

    def renumber(self, stream: str) -> None:
        """Give the events of a stream their indexes, and its appends their versions, anew."""
        index = 0
        for append in self.streams[stream]:
            append.events = [(index + place, data) for place, (_, data) in enumerate(append.events)]
            append.version_first, append.version_last = index + 1, index + len(append.events)
            index += len(append.events)

    def json(self, name: str) -> Any:
        """Return the value of a file of the payload."""
        return json.loads(self.files[name])

    def amend(self, name: str, **values: Any) -> None:
        """Give top fields of a JSON file other values."""
        self.files[name] = document({**self.json(name), **values})

    def reach(self, stage: str) -> "Forgery":
        """Do what is left to do up to and with a stage."""
        while self.done <= STAGES.index(stage):
            getattr(self, f"_{STAGES[self.done]}")()
            self.done += 1
        return self

    def sealed(self) -> bytes:
        """Return the pack's bytes."""
        self.reach("list")
        members = {f"data/{name}": content for name, content in self.files.items()} | self.tags | self.extra
        return zip_bytes({f"{self.folder}/{name}": content for name, content in members.items()})

    def _digests(self) -> None:
        """The ledger names the forger's key, and each end of a round the digests of what stands before it."""
        self.change("ledger_created", stream="ledger", log_public_key=public_key_bytes(self.log_key).hex())
        for stream in self.rounds:
            earlier: list[bytes] = []
            for append, place, fields in list(self.events(stream)):
                if fields["kind"] in ENDS:
                    outcome = [data for data in earlier if values_of(data)["kind"] in GAME_KINDS]
                    if "outcome_digest" in fields:
                        fields["outcome_digest"] = append_digest(outcome).hex()
                    self.put(append, place, {**fields, "round_digest": append_digest(earlier).hex()})
                earlier.append(append.events[place][1])

    def _leaves(self) -> None:
        for stream, append in self.appends:
            leaf = leaf_bytes(stream, append.version_first, append.version_last, append.recorded_at_us, append.fresh_leaf)
            append.leaf_hash = leaf_hash(leaf)

    def root(self, size: int) -> bytes:
        """Return the root over the first leaves."""
        return root_of_leaves(append.leaf_hash for _, append in self.appends[:size])[1]

    def subtree(self, level: int, node_index: int) -> bytes:
        """Return a complete subtree's hash."""
        hashes = [append.leaf_hash for _, append in self.appends]
        return root_of_leaves(hashes[node_index << level : node_index + 1 << level])[1]

    def _record(self) -> None:
        """The files of streams, leaves, checkpoints, keys and proofs; what else names root or key follows."""
        assert [append.leaf_index for _, append in self.appends] == list(range(len(self.appends)))
        size, old_root = len(self.appends), str(self.index["root"])
        roots = {size: self.root(size) for size in [*self.sizes, size]}
        renamed = {old_root: roots[size].hex(), old_root[:16]: roots[size].hex()[:16]}
        for stream, file in self.index["streams"].items():
            self.files[file] = self._stream_lines(stream)
        self.files["leaves.json"] = document([self._leaf(stream, append, size) for stream, append in self.appends])
        origin = log_origin(str(self.find("ledger_created", stream="ledger")[2]["ledger_id"]))
        for each in self.sizes:
            file = f"checkpoints/{each}.checkpoint"
            encoded = self.files[file].decode().split("\n")[2]
            renamed[base64.b64decode(encoded).hex()] = roots[each].hex()
            self.files[file] = str(sign_checkpoint(Checkpoint(origin, each, roots[each]), self.log_key)).encode()
        paths = [(each, consistency_path(each, size, self.subtree)) for each in self.sizes]
        self.files["consistency.json"] = document([{"size": each, "path": [node.hex() for node in path]} for each, path in paths])
        vkey = VerifierKey(origin, public_key_bytes(self.log_key))
        renamed[self.files["keys/log.vkey"].decode().strip()] = str(vkey)
        self.files["keys/log.vkey"] = f"{vkey}\n".encode()
        self.files["keys/pack.pub"] = f"{public_key_bytes(self.pack_key).hex()}\n".encode()
        verdict = self._renamed("verdict.json", renamed)
        verdict["ledger"]["tree_size"] = size
        self.files["verdict.json"] = document(verdict)
        self.index = {**self.index, "root": roots[size].hex(), "tree_size": size}
        self.files["pack.json"] = document(self.index)

    def _renamed(self, name: str, renamed: dict[str, str]) -> dict[str, Any]:
        text = self.files[name].decode()
        for old, new in renamed.items():
            text = text.replace(old, new)
        return dict(json.loads(text))

    def _stream_lines(self, stream: str) -> bytes:
        found = []
        for number, append in enumerate(self.streams[stream]):
            for index, data in append.events:
                fields = values_of(data)
                place = {"stream": stream, "index": index, "append": number, "recorded_at_us": append.recorded_at_us}
                found.append({**place, "topic": f"{fields['kind']}/{fields['v']}", "data": base64.b64encode(data).decode()})
        return b"".join(map(document, found))

    def _leaf(self, stream: str, append: Append, size: int) -> dict[str, Any]:
        path = audit_path(append.leaf_index, size, self.subtree)
        versions = {"version_first": append.version_first, "version_last": append.version_last}
        place = {"leaf_index": append.leaf_index, "stream": stream, "recorded_at_us": append.recorded_at_us, **versions}
        return {**place, "leaf_hash": append.leaf_hash.hex(), "path": [node.hex() for node in path]}

    def _bag(self) -> None:
        """The page's list of hashes, then the bag's tag files."""
        page = self.files["report.html"].decode()
        for name, old in self.before.items():
            if name in self.files:
                page = page.replace(old, hashlib.sha256(self.files[name]).hexdigest())
        self.files["report.html"] = page.encode()
        payload = {f"data/{name}": content for name, content in self.files.items()}
        self.tags = {"bagit.txt": BAG_TEXT.encode(), MANIFEST: manifest(payload)}
        self.tags["bag-info.txt"] = bag_description(int(self.index["as_of_us"]), self.round_id, payload)

    def _statement(self) -> None:
        self.tags["signature.json"] = signed_statement(ROUND_PACK, self.predicate, self.tags, self.pack_key)

    @property
    def predicate(self) -> dict[str, Any]:
        """What the builder says of the pack."""
        facts = {"as_of_us": self.index["as_of_us"], "round_id": self.round_id, "verdict": self.index["verdict"]}
        return {**facts, "prepared_for": "assessment"}

    def _list(self) -> None:
        self.tags[TAG_MANIFEST] = manifest(self.tags)


def take_apart(pack: bytes) -> Forgery:
    """Return a forgery with nothing changed yet."""
    members = read_zip(pack, "pack")
    folder = next(iter(members)).split("/")[0]
    files = {name.removeprefix(f"{folder}/data/"): content for name, content in members.items() if name.startswith(f"{folder}/data/")}
    index = json.loads(files["pack.json"])
    events = {stream: {line["index"]: line for line in lines(files[file])} for stream, file in index["streams"].items()}
    streams: dict[str, list[Append]] = {stream: [] for stream in events}
    for leaf in json.loads(files["leaves.json"]):
        versions = range(leaf["version_first"], leaf["version_last"] + 1)
        held = [(version - 1, base64.b64decode(events[leaf["stream"]][version - 1]["data"])) for version in versions]
        streams[leaf["stream"]].append(Append(leaf["leaf_index"], leaf["recorded_at_us"], versions[0], versions[-1], held))
    sizes = sorted(int(name.split("/")[1].split(".")[0]) for name in files if name.startswith("checkpoints/"))
    before = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return Forgery(folder, files, index, streams, sizes, before=before)


Change = Callable[[Forgery], None]


class Wrong(NamedTuple):
    """A way to be wrong: what is done, whether any checker sees it, what a finding says, which pack it is done to, a file that it needs."""

    change: Change
    is_seen_by_all: bool
    words: str
    base: Literal["settled", "in_play", "presented"]
    needs: str


WRONGS: dict[str, Wrong] = {}


def wrong(
    words: str, *, by_all: bool = True, base: Literal["settled", "in_play", "presented"] = "settled", needs: str = ""
) -> Callable[[Change], Change]:
    """Note a function under its name; words: a pattern that stands in code, place or message of one finding at least."""

    def noted(change: Change) -> Change:
        WRONGS[change.__name__] = Wrong(change, by_all, words, base, needs)
        return change

    return noted
