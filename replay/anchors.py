"""What a record is held against: checkpoints kept elsewhere, and the keys to verify them by.

A ledger that is whole in itself may still have been written anew from the start by whoever holds file and log key. What
tells is a checkpoint in another person's hands; and what tells that it is the log's is a verifier key that came by
another way than the ledger. Without such a key every statement says so.
"""

from pathlib import Path
from typing import Any, NamedTuple

from engines.canonical import CanonicalFormError
from ledger.checkpoint import SignatureWrong, SignedCheckpoint, load_checkpoint, verify_note
from ledger.checkpoints import find_divergence, log_keys
from ledger.errors import LedgerError, TreeBroken
from ledger.keys import VerifierKey, load_verifier_key, log_origin
from ledger.rounds import RoundLedger
from ledger.store import LeafRow, Tree
from replay.verdict import Finding

__all__ = [
    "HELD_KEY",
    "IN_SUMMARY",
    "NOT_HELD",
    "NO_ANCHORS",
    "NO_CHECKPOINT",
    "NO_KEY",
    "Anchors",
    "Comparison",
    "GivenCheckpoint",
    "check_signatures",
    "compare",
    "is_log_key",
    "load_anchors",
]

NO_CHECKPOINT = "no checkpoint was given to hold the root against"
NO_KEY = "signed by the key found beside the record; not compared with a key you hold"
HELD_KEY = "signed by a key that you hold"
IN_SUMMARY = "the ledger as a whole is held against checkpoints, see the summary"
NOT_HELD = "no checkpoint given is both signed by a key that you hold and the beginning of this tree"


class GivenCheckpoint(NamedTuple):
    """A checkpoint that somebody kept, and the name that messages call it by."""

    where: str
    signed: SignedCheckpoint


class Anchors(NamedTuple):
    """The checkpoints and verifier keys that came by another way than the ledger.

    Keys named `slot-ledger/…` are log keys, one of which must have signed; all others are witnesses, and each must have.
    """

    checkpoints: tuple[GivenCheckpoint, ...] = ()
    keys: tuple[VerifierKey, ...] = ()

    @property
    def log_keys(self) -> tuple[VerifierKey, ...]:
        """The keys that are a ledger's own."""
        return tuple(key for key in self.keys if is_log_key(key))

    @property
    def witness_keys(self) -> tuple[VerifierKey, ...]:
        """The keys of others who have signed beside the log."""
        return tuple(key for key in self.keys if not is_log_key(key))


NO_ANCHORS = Anchors()


class Comparison(NamedTuple):
    """What came of holding a tree against anchors; `checkpoint` is the largest that the tree has grown from."""

    findings: tuple[Finding, ...] = ()
    checkpoint: GivenCheckpoint | None = None
    signed_by: tuple[str, ...] = ()  # the verifier keys whose signatures of `checkpoint` were verified
    held_keys: tuple[str, ...] = ()
    statement: str = NO_CHECKPOINT

    def covers(self, appends: tuple[LeafRow, ...]) -> bool:
        """Return whether all these leaves stand in the checkpoint."""
        return self.checkpoint is not None and all(append.leaf_index < self.checkpoint.signed.checkpoint.tree_size for append in appends)

    def sentence(self, appends: tuple[LeafRow, ...] | None = None) -> str:
        """Return what is shown, in words; with `appends`, whether the checkpoint covers these leaves too."""
        if self.checkpoint is None:
            return self.statement
        size = self.checkpoint.signed.checkpoint.tree_size
        if appends is None:
            return f"grown from the checkpoint of {size} leaves, {self.statement}"
        if self.covers(appends):
            return f"covered by the checkpoint of {size} leaves, {self.statement}"
        after = ", ".join(str(append.leaf_index) for append in appends if append.leaf_index >= size)
        return f"leaves {after} came after the checkpoint of {size} leaves, which does not cover them; it is {self.statement}"

    def as_json(self) -> dict[str, Any]:
        """Return the members `checkpoint`, `vkey` and `comparison` of a document's `ledger`."""
        facts: dict[str, Any] | None = None
        if self.checkpoint is not None:
            origin, tree_size, root, _ = self.checkpoint.signed.checkpoint
            facts = {"file": self.checkpoint.where, "origin": origin, "tree_size": tree_size, "root": root.hex()}
            facts["signed_by"] = list(self.signed_by)
        return {"checkpoint": facts, "vkey": self.held_keys[0] if self.held_keys else None, "comparison": self.statement}


def is_log_key(key: VerifierKey) -> bool:
    """Return whether a key is some ledger's own by its name."""
    return key.name.startswith(log_origin(""))


def load_anchors(checkpoints: list[str], keys: list[str]) -> Anchors:
    """Return the anchors in these files; raises CheckpointMissing, NoteMalformed, KeyMissing, KeyUnreadable."""
    return Anchors(
        tuple(GivenCheckpoint(path, load_checkpoint(Path(path))) for path in checkpoints),
        tuple(load_verifier_key(Path(path)) for path in keys),
    )


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", -1, -1, where, want, got, f"{where}: want {want}, got {got}")


def check_signatures(given: GivenCheckpoint, log: tuple[VerifierKey, ...], witnesses: tuple[VerifierKey, ...]) -> list[Finding]:
    """Return where a checkpoint is not signed by one of the log's keys and by each witness."""
    where, note = f"checkpoint {given.where}", given.signed.note
    findings = []
    try:
        signers = verify_note(note, (*log, *witnesses))
    except SignatureWrong as error:
        signer = f"{error.name}+{error.key_id.hex()}"
        return [_finding("checkpoint_signature", f"signature of {signer} on {where}", "one over this text", "another")]
    found = ", ".join(f"{line.name}+{line.key_id.hex()}" for line in note.signatures)
    if not any(key in signers for key in log):
        want = " or ".join(f"{key.name}+{key.key_id.hex()}" for key in log)
        findings.append(_finding("checkpoint_signature", f"signature on {where}", f"one of {want}", found))
    for witness in witnesses:
        if witness not in signers:
            want = f"one of {witness.name}+{witness.key_id.hex()}"
            findings.append(_finding("checkpoint_witness", f"signature on {where}", want, found))
    return findings


def compare(ledger: RoundLedger, anchors: Anchors | None, tree: Tree | None) -> Comparison:
    """Hold a ledger's tree, None where it cannot be read, against anchors; all findings are of severity `integrity`.

    Without anchors at all, None, somebody else holds the whole ledger against them, and the statement says so.
    """
    if anchors is None:
        return Comparison(statement=IN_SUMMARY)
    if anchors == NO_ANCHORS:
        return Comparison()
    held = tuple(map(str, anchors.log_keys))
    statement = NO_CHECKPOINT if not anchors.checkpoints else NOT_HELD if held else NO_KEY
    try:
        recorded = tuple(log_keys(ledger))
    except (CanonicalFormError, LedgerError) as error:
        unread = _finding("log_key", "key that the record names for its log", "one that can be read", str(error))
        return Comparison((unread,), held_keys=held, statement=statement)
    findings = []
    if held and not set(anchors.log_keys) & set(recorded):
        findings.append(_finding("log_key", "key that the record names for its log", " or ".join(held), str(recorded[-1])))
    log = anchors.log_keys or recorded
    best: GivenCheckpoint | None = None
    for given in anchors.checkpoints:
        found = _check_checkpoint(ledger, given, (log, anchors.witness_keys), recorded[-1].name, tree)
        findings.extend(found)
        if not found and tree is not None and (best is None or _size(given) > _size(best)):
            best = given
    signed_by = verify_note(best.signed.note, (*log, *anchors.witness_keys)) if best is not None else ()
    if best is not None and held:
        statement = HELD_KEY
    return Comparison(tuple(findings), best, tuple(map(str, signed_by)), held, statement)


def _size(given: GivenCheckpoint) -> int:
    return given.signed.checkpoint.tree_size


def _check_checkpoint(
    ledger: RoundLedger,
    given: GivenCheckpoint,
    keys: tuple[tuple[VerifierKey, ...], tuple[VerifierKey, ...]],
    origin: str,
    tree: Tree | None,
) -> list[Finding]:
    """Return what is wrong with one checkpoint; a checkpoint that is not this log's, or not signed, says nothing of the tree."""
    checkpoint = given.signed.checkpoint
    if checkpoint.origin != origin:
        return [_finding("checkpoint_origin", f"origin of checkpoint {given.where}", origin, checkpoint.origin)]
    findings = check_signatures(given, *keys)
    if findings or tree is None:
        return findings
    try:
        divergence = find_divergence(checkpoint, tree, ledger.store.subtree)
    except TreeBroken as error:
        where = f"subtrees under checkpoint {given.where}"
        return [_finding("tree_broken", where, f"a node at level {error.level}, index {error.node_index}", "none")]
    if divergence is None:
        return []
    code, where, want, got = divergence
    return [_finding(code, f"{where} of checkpoint {given.where}", want, got)]
