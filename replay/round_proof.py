"""A round's proof: its events and leaves, their audit paths, and the signed checkpoint that these lead to.

One JSON document that is checked without the ledger, by us or by the hundred lines of `tools/check_proof.py`. It shows
that these events were recorded under that checkpoint, and not that none came after them.
"""

# ruff: noqa: N818 - an exception is named by what is the case.

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engines.canonical import Hash
from ledger.checkpoint import SignedCheckpoint, parse_checkpoint
from ledger.errors import LedgerError, ProofMalformed, RoundUnknown
from ledger.keys import VerifierKey, parse_verifier_key
from ledger.merkle import append_digest, audit_path, leaf_bytes, leaf_hash, root_of_path
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM, LeafRow, RoundRecord
from replay.anchors import HELD_KEY, NO_KEY, NOT_HELD, Anchors, Comparison, GivenCheckpoint, check_signatures
from replay.verdict import Finding

__all__ = [
    "ProofAppend",
    "ProofCheck",
    "ProofUnreadable",
    "RoundProof",
    "RoundUncovered",
    "build_proof",
    "check_proof",
    "load_proof",
]

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


class RoundUncovered(LedgerError):
    """The round goes on after the checkpoint that its proof was to lead to."""

    exit_status = 2

    def __init__(self, round_id: str, leaf_index: int, tree_size: int) -> None:
        super().__init__(round_id, leaf_index, tree_size)
        self.round_id, self.leaf_index, self.tree_size = round_id, leaf_index, tree_size

    def __str__(self) -> str:
        return (
            f"leaves of round {self.round_id}: want all in the checkpoint of {self.tree_size} leaves, got leaf {self.leaf_index} after it; "
            "sign a newer one with `audit checkpoint`"
        )


class ProofUnreadable(LedgerError):
    """A file is no proof of a round."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path, self.expected, self.found = path, expected, found

    def __str__(self) -> str:
        return f"proof {self.path}: want {self.expected}, got {self.found}; get the file again as `audit prove` wrote it"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ProofAppend(_Part):
    """One append of the round: what its leaf is over, and the way from the leaf to the root."""

    leaf_index: Count
    version_first: Count
    version_last: Count
    recorded_at_us: Count
    events: tuple[str, ...]
    audit_path: tuple[Hash, ...]


class RoundProof(_Part):
    """The whole document; `vkey` is the key found beside the record, for whoever holds none."""

    document: Literal["prove/1"] = Field("prove/1", alias="schema")
    round_id: str
    appends: Annotated[tuple[ProofAppend, ...], Field(min_length=1)]
    checkpoint: str
    vkey: str

    def as_json(self) -> str:
        """Return the document as text."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"


class ProofCheck(NamedTuple):
    """What a proof comes to: the findings, the checkpoint it leads to, and what that was held against."""

    findings: list[Finding]
    signed: SignedCheckpoint
    comparison: Comparison


def build_proof(ledger: RoundLedger, round_id: str, signed: SignedCheckpoint, verifier_key: VerifierKey) -> RoundProof:
    """Return a round's proof under a checkpoint of its ledger; raises RoundUnknown, RoundUncovered, TreeBroken.

    What was altered in the ledger goes into the proof as it stands there: `check_proof` finds it.
    """
    (record,) = ledger.store.records_of([ROUND_STREAM + round_id])
    if not record.appends:
        raise RoundUnknown(round_id, "it has no leaf in the tree")
    tree_size = signed.checkpoint.tree_size
    for append in record.appends:
        if append.leaf_index >= tree_size:
            raise RoundUncovered(round_id, append.leaf_index, tree_size)
    appends = tuple(_proof_append(ledger, record, append, tree_size) for append in record.appends)
    return RoundProof(schema="prove/1", round_id=round_id, appends=appends, checkpoint=str(signed), vkey=str(verifier_key))


def _proof_append(ledger: RoundLedger, record: RoundRecord, append: LeafRow, tree_size: int) -> ProofAppend:
    events = record.events[max(append.version_first - 1, 0) : max(append.version_last, 0)]
    path = audit_path(append.leaf_index, tree_size, ledger.store.subtree)
    return ProofAppend(
        leaf_index=append.leaf_index,
        version_first=max(append.version_first, 0),
        version_last=max(append.version_last, 0),
        recorded_at_us=max(append.recorded_at_us, 0),
        events=tuple(event.data.decode("utf-8", "replace") for event in events),
        audit_path=tuple(node.hex() for node in path),
    )


def load_proof(path: Path) -> RoundProof:
    """Return the proof in a file; raises ProofUnreadable."""
    expected = "a document prove/1"
    try:
        return RoundProof.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ProofUnreadable(str(path), "a file that can be read", error.strerror or type(error).__name__) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ProofUnreadable(str(path), expected, f"{place}: {first['msg']}" if place else first["msg"]) from error
    except ValueError as error:
        raise ProofUnreadable(str(path), expected, str(error)) from error


def check_proof(proof: RoundProof, anchors: Anchors, *, where: str) -> ProofCheck:
    """Return what is wrong with a proof, held against anchors; raises NoteMalformed, KeyUnreadable.

    Without a log key among the anchors the key in the proof is taken, and the statement says so.
    """
    signed = parse_checkpoint(proof.checkpoint.encode("utf-8", "replace"), where=f"in {where}")
    held = anchors.log_keys
    log = held or (parse_verifier_key(proof.vkey, where=f"in {where}"),)
    own = GivenCheckpoint(f"in {where}", signed)
    findings = [*_check_name(own, log), *check_signatures(own, log, anchors.witness_keys)]
    for given in anchors.checkpoints:
        findings.extend(check_signatures(given, log, anchors.witness_keys) or _check_same(own, given, proof.round_id))
    is_signed = not findings
    findings.extend(_check_appends(proof, signed))
    statement = NO_KEY if not held else HELD_KEY if is_signed else NOT_HELD
    signed_by = tuple(str(key) for key in (*log, *anchors.witness_keys) if _has_line(own, key)) if is_signed else ()
    comparison = Comparison(tuple(findings), own if is_signed else None, signed_by, tuple(map(str, held)), statement)
    return ProofCheck(findings, signed, comparison)


def _has_line(given: GivenCheckpoint, key: VerifierKey) -> bool:
    return any((line.name, line.key_id) == (key.name, key.key_id) for line in given.signed.note.signatures)


def _finding(code: str, where: str, want: str, got: str, event_index: int = -1) -> Finding:
    return Finding(code, "integrity", event_index, -1, where, want, got, f"{where}: want {want}, got {got}")


def _check_name(own: GivenCheckpoint, log: Sequence[VerifierKey]) -> list[Finding]:
    """Return a finding where the checkpoint is of another log than the key."""
    origin = own.signed.checkpoint.origin
    if any(key.name == origin for key in log):
        return []
    return [_finding("checkpoint_origin", f"origin of checkpoint {own.where}", " or ".join(key.name for key in log), origin)]


def _check_same(own: GivenCheckpoint, given: GivenCheckpoint, round_id: str) -> list[Finding]:
    """Return a finding where the proof does not lead to the checkpoint that somebody kept."""
    want, got = given.signed.checkpoint, own.signed.checkpoint
    where = f"of the proof against checkpoint {given.where}"
    if want.origin != got.origin:
        return [_finding("checkpoint_origin", f"origin {where}", want.origin, got.origin)]
    if want.tree_size != got.tree_size:
        mend = f"make it anew: audit prove --round {round_id} --checkpoint {given.where}"
        found = _finding("checkpoint_size", f"tree size {where}", f"{want.tree_size} leaves", f"{got.tree_size}")
        return [found._replace(message=f"{found.message}; {mend}")]
    if want.root != got.root:
        return [_finding("checkpoint_root", f"root {where}", want.root.hex(), got.root.hex())]
    return []


def _check_appends(proof: RoundProof, signed: SignedCheckpoint) -> Iterator[Finding]:
    """Yield where versions have a gap or a leaf does not lead to the root."""
    expected = 1
    _, tree_size, root, _ = signed.checkpoint
    for append in proof.appends:
        index = append.version_first - 1
        if append.version_first != expected or len(append.events) != append.version_last - append.version_first + 1 or not append.events:
            got = f"{len(append.events)} events, {append.version_first} to {append.version_last}"
            yield _finding("append_gap", f"append of leaf {append.leaf_index}", f"versions from {expected}", got, expected - 1)
            return
        expected = append.version_last + 1
        digest = append_digest([event.encode("utf-8", "replace") for event in append.events])
        stream = ROUND_STREAM + proof.round_id
        leaf = leaf_hash(leaf_bytes(stream, append.version_first, append.version_last, append.recorded_at_us, digest))
        where = f"audit path of leaf {append.leaf_index} in the tree of {tree_size}"
        try:
            found = root_of_path(append.leaf_index, tree_size, leaf, [bytes.fromhex(node) for node in append.audit_path])
        except ProofMalformed as error:
            got = f"{error.length_got} hashes" if error.length_want >= 0 else "a leaf outside the tree"
            yield _finding("leaf_path", where, f"{max(error.length_want, 0)} hashes", got, index)
            continue
        if found != root:
            yield _finding("leaf_path", where, root.hex(), found.hex(), index)
