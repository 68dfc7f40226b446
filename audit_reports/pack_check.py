"""`audit pack verify`: a pack checked without its ledger, rules and engine included (`docs/pack-format.md`, What a checker does).

A pack is held against itself: bag and signature, the record's own checks, the referee and the totals, and a rerun from the round's key
where the pack has it. Findings are of severity `integrity` unless the referee or the rerun says otherwise.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from audit_reports.bag import BAG_TEXT, MANIFEST, TAG_MANIFEST, bag_description, folder_of, manifest, read_zip
from audit_reports.statement import SUBJECTS, read_statement
from engines.canonical import INTEGER_MAX, canonical_json
from engines.game import EventBytes
from engines.registry import game_of_rules
from engines.rng import round_key_commitment
from engines.rules import GameRules
from ledger.checkpoint import parse_checkpoint, verify_note
from ledger.codec import is_game_topic
from ledger.errors import LedgerError
from ledger.keys import VerifierKey, parse_verifier_key
from ledger.merkle import is_consistent
from ledger.store import EventRow, LeafRow, RoundRecord, Tree
from replay.check import RoundCheck
from replay.record_check import check_record
from replay.recorded_round import check_record_events
from replay.replayer import compare_outcome
from replay.rulebook import Rulebook
from replay.verdict import Finding

__all__ = ["PackCheck", "check_pack"]

T = TypeVar("T")


Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Moment = Annotated[int, Field(ge=0, le=INTEGER_MAX)]
Stored = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # of a row that may have been altered


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _Index(_Part):
    """`pack.json`."""

    document: Literal["pack/1"] = Field(alias="schema")
    round_id: str
    as_of_us: Moment
    as_of_from: Literal["given", "checkpoint", "leaf"]
    verdict: str
    is_over: bool
    tree_size: Annotated[int, Field(ge=0, lt=2**62)]
    root: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
    streams: dict[str, str]
    absent: dict[str, str]


class _Leaf(_Part):
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


class _Line(_Part):
    """One event of a stream."""

    append: Stored
    data: str
    index: Stored
    recorded_at_us: Stored
    stream: str
    topic: str


class _Consistency(_Part):
    """One of `consistency.json`."""

    size: Annotated[int, Field(ge=0, lt=2**62)]
    path: list[Hash]


class _RoundKey(_Part):
    """`round-key.json`."""

    round_key: Hash


_INDEX, _LEAVES, _LINE = TypeAdapter(_Index), TypeAdapter(list[_Leaf]), TypeAdapter(_Line)
_CONSISTENCIES, _ROUND_KEY = TypeAdapter(list[_Consistency]), TypeAdapter(_RoundKey)


class PackCheck(NamedTuple):
    """What a pack comes to: what was checked, in words, what could not be, and the findings."""

    round_id: str
    verdict: str  # that the pack says of its round
    checked: list[str]
    unchecked: list[str]
    findings: list[Finding]


class _MalformedError(Exception):
    """A file of a pack is not what its name says."""


def _finding(code: str, where: str, want: object, got: object) -> Finding:
    return Finding(code, "integrity", -1, -1, where, str(want), str(got), f"{where}: want {want}, got {got}")


def check_pack(
    data: bytes, where: str, *, vkeys: Sequence[VerifierKey] = (), pack_key: bytes = b"", rules: GameRules | None = None
) -> PackCheck:
    """Return what is wrong with a pack.

    vkeys: log keys that came by another way. pack_key: the builder's, 32 bytes. Raises PackUnreadableError for what is no pack.
    """
    members = read_zip(data, where)
    checking = _Checking(members, vkeys, pack_key, Rulebook(rules))
    try:
        checking.run()
    except (_MalformedError, ValueError, RecursionError, LedgerError) as error:
        got = f"{type(error).__name__} {error}"[:200]
        checking.findings.append(_finding("pack_form", "form of the pack", "that of docs/pack-format.md", got))
    index = checking.index
    cover = (index.round_id, index.verdict) if index is not None else ("", "")
    return PackCheck(*cover, checking.checked, checking.unchecked, checking.findings)


class _Checking:
    """One pack on its way through the checks."""

    def __init__(self, members: Mapping[str, bytes], vkeys: Sequence[VerifierKey], pack_key: bytes, rulebook: Rulebook) -> None:
        self.findings: list[Finding] = []
        self.checked: list[str] = []
        self.unchecked: list[str] = []
        self.index: _Index | None = None
        self._folder = next(iter(members), "").partition("/")[0]
        self._members = {name.partition("/")[2]: content for name, content in members.items() if name.startswith(f"{self._folder}/")}
        self._is_one_folder = len(self._members) == len(members)
        self._vkeys, self._pack_key, self._rulebook = vkeys, pack_key, rulebook

    def run(self) -> None:
        """Do all checks in turn."""
        self._check_bag()
        self.index = index = self._json("data/pack.json", _INDEX)
        self._check_statement(index)
        records = dict(self._records(index))
        for record in records.values():
            self.findings += [each._replace(message=f"{record.stream}, {each.message}") for each in check_record(record)]
        self.checked.append(f"record: {sum(len(record.appends) for record in records.values())} appends lead to the root")
        self._check_checkpoints(index)
        own = next((record for record in records.values() if record.stream == f"round/{index.round_id}"), None)
        if own is None:
            raise _MalformedError(f"no stream of round {index.round_id}")
        rounds = check_record_events(own, self._rulebook.find, is_balance_shown=False)
        self.findings += rounds.findings
        self.checked.append("rules: the referee and the totals went over the round's events")
        self._rerun(own, rounds)

    def _file(self, name: str) -> bytes:
        if name not in self._members:
            raise _MalformedError(f"no file {name}")
        return self._members[name]

    def _json(self, name: str, form: TypeAdapter[T]) -> T:
        """Return what a file holds; raises _MalformedError for another form, ValidationError for other values."""
        content = self._file(name)
        if canonical_json(json.loads(content)) + b"\n" != content:
            raise _MalformedError(f"{name} is no canonical JSON")
        return form.validate_json(content)

    def _check_bag(self) -> None:
        """Hold the manifests against the members, and the folder against the round."""
        tags = {name: content for name, content in self._members.items() if not name.startswith("data/") and name != TAG_MANIFEST}
        payload = {name: content for name, content in self._members.items() if name.startswith("data/")}
        for name, wanted in ((MANIFEST, manifest(payload)), (TAG_MANIFEST, manifest(tags)), ("bagit.txt", BAG_TEXT.encode())):
            if self._members.get(name) != wanted:
                self.findings.append(_finding("bag", name, "what the members come to", "another text"))
        self.checked.append(f"bag: {len(payload)} files under their hashes")

    def _check_statement(self, index: _Index) -> None:
        """Hold signature and statement against the bag."""
        payload = {name: content for name, content in self._members.items() if name.startswith("data/")}
        described = bag_description(index.as_of_us, index.round_id, payload)
        if self._members.get("bag-info.txt") != described or self._folder != folder_of(index.round_id) or not self._is_one_folder:
            self.findings.append(_finding("bag", "bag-info.txt and folder", "those of round and moment", "others"))
        public_key = bytes.fromhex(self._file("data/keys/pack.pub").decode("ascii").strip())
        statement = read_statement(self._file("signature.json"), public_key)
        if statement is None:
            self.findings.append(_finding("signature", "signature.json", "an in-toto statement in a DSSE envelope", "another text"))
            return
        if not statement.is_signed:
            self.findings.append(_finding("signature", "signature", "one by the key in the pack", "none"))
        wanted = {name: hashlib.sha256(self._members.get(name, b"")).hexdigest() for name in SUBJECTS}
        said = {"as_of_us": index.as_of_us, "prepared_for": "assessment", "round_id": index.round_id, "verdict": index.verdict}
        if statement.subjects != wanted or statement.predicate != said:
            self.findings.append(_finding("statement", "statement", "one over this bag and its cover", "another"))
        if not self._pack_key:
            self.unchecked.append("builder: signed by the key in the pack, not compared with one that you hold; give it with --key")
        elif self._pack_key != public_key:
            self.findings.append(_finding("pack_key", "builder's key", self._pack_key.hex(), public_key.hex()))
        else:
            self.checked.append("builder: signed by the key that you hold")

    def _records(self, index: _Index) -> Iterator[tuple[str, RoundRecord]]:
        """Yield the streams of the pack as a ledger would give them."""
        tree = Tree(index.tree_size, bytes.fromhex(index.root))
        leaves: dict[str, list[_Leaf]] = {}
        for leaf in self._json("data/leaves.json", _LEAVES):
            leaves.setdefault(leaf.stream, []).append(leaf)
        for stream, file in index.streams.items():
            lines = [_LINE.validate_json(line) for line in self._file(f"data/{file}").splitlines()]
            rows = [EventRow(stream, each.index + 1, each.topic, base64.b64decode(each.data, validate=True)) for each in lines]
            of_stream = sorted(leaves.pop(stream, []), key=lambda leaf: leaf.version_first)
            appends = tuple(leaf.row for leaf in of_stream)
            paths = tuple(tuple(bytes.fromhex(node) for node in leaf.path) for leaf in of_stream)
            yield file, RoundRecord(stream, tuple(rows), appends, paths, tree)
        if leaves:
            self.findings.append(_finding("leaves", "leaves.json", "leaves of the pack's streams alone", ", ".join(leaves)))

    def _check_checkpoints(self, index: _Index) -> None:
        """Hold each checkpoint's signature and root against the log's keys and the pack's tree."""
        named = [parse_verifier_key(line, where="keys/log.vkey") for line in self._file("data/keys/log.vkey").decode().splitlines()]
        keys = list(self._vkeys) or named
        proofs = self._json("data/consistency.json", _CONSISTENCIES)
        paths = {proof.size: [bytes.fromhex(node) for node in proof.path] for proof in proofs}
        size, root = index.tree_size, bytes.fromhex(index.root)
        names = [name for name in self._members if name.startswith("data/checkpoints/")]
        for name in names:
            signed = parse_checkpoint(self._members[name], where=name)
            if not verify_note(signed.note, keys):
                self.findings.append(_finding("checkpoint_signature", name, "a signature by the log's key", "none"))
            of = signed.checkpoint
            if not is_consistent(of.tree_size, of.root, size, root, paths.get(of.tree_size, [])):
                self.findings.append(_finding("checkpoint_root", name, "a tree that this one has grown from", "another"))
        if names:
            self.checked.append(f"checkpoints: {len(names)}, signed by {'the key that you hold' if self._vkeys else 'a key in the pack'}")
        if not names or not self._vkeys:
            self.unchecked.append(
                "log: not held against a key that came by another way; give it with --vkey" if names else "log: no checkpoint"
            )

    def _rerun(self, own: RoundRecord, rounds: RoundCheck) -> None:
        """Rerun the engine from the round's key, and hold the recorded game events against it."""
        opened = rounds.opened
        if opened is None or "data/round-key.json" not in self._members or rounds.terms is None:
            self.unchecked.append("rerun: the pack has no key of the round, or the round cannot be walked")
            return
        key = bytes.fromhex(self._json("data/round-key.json", _ROUND_KEY).round_key)
        if round_key_commitment(key) != opened.round_key_commitment:
            self.findings.append(_finding("round_key", "round key", opened.round_key_commitment, round_key_commitment(key)))
            return
        try:
            rules = self._rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
        except LookupError as error:
            self.unchecked.append(f"rerun: {error}")
            return
        outcome = game_of_rules(rules).play(key, opened.mode, opened.bet_minor, rounds.terms.state_in, rounds.terms.choices)
        recorded = [(row.version - 1, EventBytes(row.topic, row.data)) for row in own.events if is_game_topic(row.topic)]
        if rounds.settled is None:
            outcome = outcome._replace(events=outcome.events[: len(recorded)])
        won = rounds.settled.total_win_minor if rounds.settled is not None else outcome.total_win_minor
        self.findings += compare_outcome(recorded, outcome, recorded_win_minor=won)
        self.checked.append("rerun: the engine was run again from the round's key")
