"""The files of a pack as a checker reads them, each of one strict form (`docs/pack-format.md`, The payload)."""

import base64
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from engines.canonical import INTEGER_MAX, canonical_json
from ledger.store import EventRow, LeafRow, RoundRecord, Tree
from replay.verdict import EXIT_CLEAN, VerdictName, exit_status

__all__ = ["CONSISTENCIES", "DRAW", "INDEX", "LEAVES", "LINE", "ROUND_KEY", "VERDICT", "Draws", "Index", "MalformedError", "Parts", "Said"]

T = TypeVar("T")

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Moment = Annotated[int, Field(ge=0, le=INTEGER_MAX)]
Stored = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # of a row that may have been altered
StreamFile = Annotated[str, Field(pattern=r"^streams/[a-z0-9._-]{1,60}\.jsonl$")]
Word = Annotated[int, Field(ge=0, lt=2**32)]

WRONG = ("money", "integrity", "presentation")
_ALWAYS = ("pack", "verdict", "leaves", "consistency", "software", "clauses", "history")
_ALWAYS_FILES = frozenset(
    {f"{name}.json" for name in _ALWAYS} | {"keys/log.vkey", "keys/pack.pub", "report.html", "report.pdf", "readme.txt", "verify_pack.py"}
)
_SOMETIMES = frozenset({"case.json", "report.json", "rules.toml", "rules.json", "texts.json", "profile.json", "round-key.json"})
_BY_KEY = frozenset({"draws.jsonl", "what-if.json"})
_CHECKPOINT, _TEXT = re.compile(r"checkpoints/[1-9][0-9]{0,18}\.checkpoint"), re.compile(r"texts/([0-9a-f]{64})\.txt")


class MalformedError(Exception):
    """A file of a pack is not what its name says."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Index(_Part):
    """`pack.json`."""

    document: Literal["pack/1"] = Field(alias="schema")
    round_id: Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,64}$")]
    as_of_us: Moment
    as_of_from: Literal["given", "checkpoint", "leaf"]
    verdict: VerdictName
    is_over: bool
    tree_size: Annotated[int, Field(ge=0, lt=2**62)]
    root: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
    streams: Annotated[dict[str, StreamFile], Field(max_length=60)]
    absent: dict[str, str]

    @model_validator(mode="after")
    def _has_each_file_once(self) -> Self:
        if len(set(self.streams.values())) != len(self.streams):
            raise ValueError("want a file of its own for each stream")
        return self

    @property
    def tree(self) -> Tree:
        """The tree that the pack says its leaves stand in."""
        return Tree(self.tree_size, bytes.fromhex(self.root))


class Leaf(_Part):
    """One of `leaves.json`."""

    leaf_index: Stored
    stream: str
    version_first: Stored
    version_last: Stored
    recorded_at_us: Stored
    leaf_hash: Hash
    path: list[Hash]

    @property
    def row(self) -> LeafRow:
        """The leaf as a ledger gives it."""
        numbers = (self.version_first, self.version_last, self.recorded_at_us)
        return LeafRow(self.leaf_index, self.stream, *numbers, bytes.fromhex(self.leaf_hash))


class Line(_Part):
    """One event of a stream."""

    append: Stored
    data: str
    index: Stored
    recorded_at_us: Stored
    stream: str
    topic: str


class Consistency(_Part):
    """One of `consistency.json`."""

    size: Annotated[int, Field(ge=0, lt=2**62)]
    path: list[Hash]


class RoundKey(_Part):
    """`round-key.json`."""

    round_key: Hash


class Draws(_Part):
    """One of `draws.jsonl`."""

    number: Moment
    purpose: str
    n: Word
    first_word: Moment
    words: list[Word]
    result: Word


class SaidFinding(BaseModel):
    """What names a finding of `verdict.json`."""

    model_config = ConfigDict(strict=True, frozen=True)

    code: str
    severity: str
    event_index: int


class SaidCheck(BaseModel):
    """One of the checks of `verdict.json`."""

    model_config = ConfigDict(strict=True, frozen=True)

    name: str
    result: str


class Said(BaseModel):
    """What is held against the pack of `verdict.json`; the rest of it is what `audit verify --json` gives."""

    model_config = ConfigDict(strict=True, frozen=True)

    round_id: str
    verdict: VerdictName
    checks: list[SaidCheck]
    findings: list[SaidFinding]

    @property
    def is_contradicted(self) -> bool:
        """Whether a clean verdict stands over a check that failed, or a finding that is more than a warning."""
        is_wrong = any(check.result == "fail" for check in self.checks) or any(each.severity in WRONG for each in self.findings)
        return exit_status(self.verdict, ()) == EXIT_CLEAN and is_wrong


INDEX, LEAVES, LINE, DRAW, VERDICT = TypeAdapter(Index), TypeAdapter(list[Leaf]), TypeAdapter(Line), TypeAdapter(Draws), TypeAdapter(Said)
CONSISTENCIES, ROUND_KEY = TypeAdapter(list[Consistency]), TypeAdapter(RoundKey)


class Parts:
    """The members of a pack, folder taken off: tag files by name, payload by name under `data/`."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.folder = next(iter(members), "").partition("/")[0]
        self.is_one_folder = all(name.startswith(f"{self.folder}/") for name in members)
        inner = {name.partition("/")[2]: content for name, content in members.items()}
        self.tags = {name: content for name, content in inner.items() if not name.startswith("data/")}
        self.payload = {name.removeprefix("data/"): content for name, content in inner.items() if name.startswith("data/")}

    def file(self, name: str) -> bytes:
        """Return a file of the payload; raises MalformedError where it is missing."""
        if name not in self.payload:
            raise MalformedError(f"no file data/{name}")
        return self.payload[name]

    def json(self, name: str, form: TypeAdapter[T]) -> T:
        """Return what a file holds; raises MalformedError for bytes of another form, ValidationError for other values."""
        content = self.file(name)
        check_canonical(name, content)
        return form.validate_json(content)

    def lines(self, name: str, form: TypeAdapter[T]) -> Iterator[T]:
        """Yield what the lines of a file hold; raises as `json`."""
        for line in self.file(name).splitlines(keepends=True):
            check_canonical(name, line)
            yield form.validate_json(line)

    def wrong_files(self, index: Index) -> Iterator[tuple[str, str]]:
        """Yield files that are missing, and such as a pack does not have or not without the round's key."""
        streams = frozenset(index.streams.values())
        yield from ((name, "missing") for name in sorted((_ALWAYS_FILES | streams) - set(self.payload)))
        allowed = _ALWAYS_FILES | _SOMETIMES | streams | (_BY_KEY if "round-key.json" in self.payload else frozenset())
        if not index.is_over:
            allowed -= {"round-key.json"} | _BY_KEY
        for name in sorted(set(self.payload) - allowed):
            if (text := _TEXT.fullmatch(name)) is not None:
                if hashlib.sha256(self.payload[name]).hexdigest() != text[1] or text[1].encode() not in self.payload.get("texts.json", b""):
                    yield name, "another text than its name and texts.json say"
            elif not _CHECKPOINT.fullmatch(name):
                yield name, "one that does not belong here"

    def uncanonical(self) -> Iterator[str]:
        """Yield the names of JSON files that are not in the canonical form."""
        for name, content in self.payload.items():
            parts = [content] if name.endswith(".json") else content.splitlines(keepends=True) if name.endswith(".jsonl") else []
            try:
                for part in parts:
                    check_canonical(name, part)
            except (MalformedError, ValueError, RecursionError):
                yield name

    def records(self, index: Index) -> Iterator[RoundRecord]:
        """Yield the streams of the pack as a ledger would give them; raises as `json`."""
        leaves: dict[str, list[Leaf]] = {stream: [] for stream in index.streams}
        for leaf in self.json("leaves.json", LEAVES):
            if leaf.stream not in leaves:
                raise MalformedError(f"leaves.json has a leaf of {leaf.stream[:80]}, which is no stream of the pack")
            leaves[leaf.stream].append(leaf)
        for stream, file in index.streams.items():
            rows = [EventRow(stream, each.index + 1, each.topic, _bytes(file, each.data)) for each in self.lines(file, LINE)]
            of_stream = sorted(leaves[stream], key=lambda leaf: leaf.version_first)
            paths = tuple(tuple(bytes.fromhex(node) for node in leaf.path) for leaf in of_stream)
            yield RoundRecord(stream, tuple(rows), tuple(leaf.row for leaf in of_stream), paths, index.tree)

    def misplaced(self, index: Index, records: Mapping[str, RoundRecord]) -> Iterator[tuple[str, int, int]]:
        """Yield files of streams with lines that name another stream, append or time than their leaf: the first of them, and how many."""
        for stream, file in index.streams.items():
            appends = records[stream].appends
            places = []
            for place, line in enumerate(self.lines(file, LINE)):
                at = bisect_right(appends, line.index + 1, key=lambda append: append.version_first) - 1
                leaf = appends[at] if at >= 0 and line.index < appends[at].version_last else None
                wanted = (stream, leaf.recorded_at_us if leaf is not None else 0)
                is_place = line.append == (at if leaf is not None else -1) or (stream in index.absent and line.append >= at)
                if (line.stream, line.recorded_at_us) != wanted or not is_place:
                    places.append(place)
            if places:
                yield file, places[0], len(places)


def _bytes(name: str, text: str) -> bytes:
    """Return what a text in base64 stands for; raises MalformedError for any but the one way to write it."""
    content = base64.b64decode(text, validate=True)
    if base64.b64encode(content).decode() != text:
        raise MalformedError(f"{name} has base64 that is not written as it must be")
    return content


def check_canonical(name: str, content: bytes) -> Any:
    """Raise MalformedError for bytes that are no canonical JSON with a newline at the end."""
    if canonical_json(json.loads(content)) + b"\n" != content:
        raise MalformedError(f"{name} is no canonical JSON")
