"""Proofs of rounds: true ones pass here and by the independent checker, altered ones pass neither."""

import copy
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.checkpoints import sign_tree
from ledger.errors import LedgerError, RoundUnknown
from ledger.keys import VerifierKey, load_verifier_key, public_key_bytes
from ledger.rounds import RoundLedger
from replay.anchors import HELD_KEY, NO_ANCHORS, NO_KEY, NOT_HELD, Anchors, GivenCheckpoint
from replay.round_proof import ProofUnreadable, RoundUncovered, build_proof, check_proof, load_proof
from tests.conftest import ROOT
from tests.ledger_files import altered, game, new_ledger, play_some

CHECKER = ROOT / "tools" / "check_proof.py"


class Proven:
    """Documents of proofs of all rounds of a ledger, and where its verifier key lies."""

    def __init__(self, folder: Path) -> None:
        with new_ledger(folder) as (ledger, account_ref):
            self.round_ids = play_some(ledger, account_ref, 9)
            self.opened_id = ledger.open_round(account_ref, game(), "base", 200).round_id
            self.keys = ledger.path.with_name("ledger.db.keys")
            self.key = load_verifier_key(self.keys / "log.vkey")
            self.signed = sign_tree(ledger, self.keys).signed
            rounds = [*self.round_ids, self.opened_id]
            self.documents = [json.loads(build_proof(ledger, each, self.signed, self.key).as_json()) for each in rounds]

    @property
    def anchors(self) -> Anchors:
        """The verifier key and the checkpoint, got by another way."""
        return Anchors((GivenCheckpoint("kept", self.signed),), (self.key,))


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Proven:
    """Proofs that nobody has altered."""
    return Proven(tmp_path_factory.mktemp("proven"))


def checked(document: Any, anchors: Anchors, folder: Path) -> list[str]:
    """The codes of the findings in a document, or the name of what was raised."""
    path = folder / "proof.json"
    path.write_text(json.dumps(document))
    try:
        return [finding.code for finding in check_proof(load_proof(path), anchors, where="proof.json").findings]
    except LedgerError as error:
        return [type(error).__name__]


def run_checker(document: Any, key: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the independent checker in an empty folder, so that nothing of ours can be imported."""
    proof, vkey = folder / "proof.json", folder / "log.vkey"
    proof.write_text(document if isinstance(document, str) else json.dumps(document))
    vkey.write_text(f"{key}\n")
    return subprocess.run([sys.executable, "-I", str(CHECKER), str(proof), str(vkey)], cwd=folder, capture_output=True, text=True)


def test_every_round_is_proven(proven: Proven, tmp_path: Path) -> None:
    """Each round's proof passes without the ledger, with and without a held key, and by the independent checker."""
    for document in proven.documents:
        assert checked(document, proven.anchors, tmp_path) == []
        assert checked(document, NO_ANCHORS, tmp_path) == []
        done = run_checker(document, proven.key, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("PROVEN: ")
        assert document["round_id"] in done.stdout


def test_the_statement_says_whose_key_it_was(proven: Proven, tmp_path: Path) -> None:
    """Without a held key the key in the proof is said to be not compared; another held key is a finding."""
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proven.documents[0]))
    proof = load_proof(path)
    assert check_proof(proof, NO_ANCHORS, where="p").comparison.statement == NO_KEY
    assert check_proof(proof, proven.anchors, where="p").comparison.statement == HELD_KEY
    other = VerifierKey(proven.key.name, bytes(32))
    found = check_proof(proof, Anchors(keys=(other,)), where="p")
    assert (found.comparison.statement, [finding.code for finding in found.findings]) == (NOT_HELD, ["checkpoint_signature"])


def flip(text: str, place: int = 0) -> str:
    """Another hex text."""
    return text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]


def alter_event(document: Any) -> None:
    document["appends"][1]["events"][0] = document["appends"][1]["events"][0].replace('"v":1', '"v":2')


def drop_event(document: Any) -> None:
    document["appends"][1]["events"].pop()


def drop_last_event(document: Any) -> None:
    document["appends"][1]["events"].pop()
    document["appends"][1]["version_last"] -= 1


def swap_events(document: Any) -> None:
    document["appends"][1]["events"][:2] = document["appends"][1]["events"][1::-1]


def join_events(document: Any) -> None:
    events = document["appends"][1]["events"]
    events[:2] = [events[0] + events[1]]


def drop_append(document: Any) -> None:
    document["appends"].pop(0)


def empty(document: Any) -> None:
    document["appends"] = []


def other_number(name: str) -> Callable[[Any], None]:
    def alter(document: Any) -> None:
        document["appends"][1][name] += 1

    alter.__name__ = name
    return alter


def alter_path(document: Any) -> None:
    document["appends"][0]["audit_path"][1] = flip(document["appends"][0]["audit_path"][1])


def shorten_path(document: Any) -> None:
    document["appends"][0]["audit_path"].pop()


def lengthen_path(document: Any) -> None:
    document["appends"][0]["audit_path"].append("00" * 32)


def cut_hash(document: Any) -> None:
    document["appends"][0]["audit_path"][0] = document["appends"][0]["audit_path"][0][:-2]


def leaf_outside(document: Any) -> None:
    document["appends"][0]["leaf_index"] = 10**6


def rename_round(document: Any) -> None:
    document["round_id"] = flip(document["round_id"])


def alter_root(document: Any) -> None:
    lines = document["checkpoint"].split("\n")
    lines[2] = ("A" if lines[2][0] != "A" else "B") + lines[2][1:]
    document["checkpoint"] = "\n".join(lines)


def alter_size(document: Any) -> None:
    lines = document["checkpoint"].split("\n")
    lines[1] = str(int(lines[1]) + 1)
    document["checkpoint"] = "\n".join(lines)


def alter_origin(document: Any) -> None:
    document["checkpoint"] = "x" + document["checkpoint"]


def alter_signature(document: Any) -> None:
    document["checkpoint"] = re.sub(r"(— \S+ .{20})(.)", lambda m: m[1] + ("A" if m[2] != "A" else "B"), document["checkpoint"])


def drop_signature(document: Any) -> None:
    document["checkpoint"] = document["checkpoint"].partition("—")[0]


def drop_member(document: Any) -> None:
    del document["appends"][0]["recorded_at_us"]


def wrong_type(document: Any) -> None:
    document["appends"][0]["version_first"] = "1"


ALTERATIONS = [
    alter_event,
    drop_event,
    drop_last_event,
    swap_events,
    join_events,
    drop_append,
    empty,
    *map(other_number, ("leaf_index", "version_first", "version_last", "recorded_at_us")),
    alter_path,
    shorten_path,
    lengthen_path,
    cut_hash,
    leaf_outside,
    rename_round,
    alter_root,
    alter_size,
    alter_origin,
    alter_signature,
    drop_signature,
    drop_member,
    wrong_type,
]


@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda alter: alter.__name__)
def test_an_altered_proof_is_refused_by_both_checkers(proven: Proven, tmp_path: Path, alter: Callable[[Any], None]) -> None:
    """One thing changed anywhere: a finding or an error here, and "NOT PROVEN" with status 3 there, never a traceback."""
    document = copy.deepcopy(proven.documents[3])
    alter(document)
    assert document != proven.documents[3]
    for anchors in (proven.anchors, NO_ANCHORS):
        assert checked(document, anchors, tmp_path)
    done = run_checker(document, proven.key, tmp_path)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("NOT PROVEN: ")


def test_a_proof_signed_anew_is_seen_with_a_held_key_only(proven: Proven, tmp_path: Path) -> None:
    """Whoever makes up a tree and a key of his own passes where nobody holds the true key, which is then said."""
    from ledger.merkle import append_digest, leaf_bytes, leaf_hash

    stranger = Ed25519PrivateKey.generate()
    key = VerifierKey(proven.key.name, public_key_bytes(stranger))
    document = copy.deepcopy(proven.documents[0])
    event = '{"kind":"x","v":1}'
    leaf = leaf_hash(leaf_bytes(f"round/{document['round_id']}", 1, 1, 7, append_digest([event.encode()])))
    append = {"leaf_index": 0, "version_first": 1, "version_last": 1, "recorded_at_us": 7, "events": [event], "audit_path": []}
    document |= {"appends": [append], "vkey": str(key), "checkpoint": str(sign_checkpoint(Checkpoint(key.name, 1, leaf), stranger))}
    assert checked(document, NO_ANCHORS, tmp_path) == []
    assert checked(document, Anchors(keys=(proven.key,)), tmp_path) == ["checkpoint_signature"]
    assert run_checker(document, key, tmp_path).returncode == 0
    assert run_checker(document, proven.key, tmp_path).returncode == 3


def test_a_proof_must_lead_to_the_checkpoint_given(proven: Proven, tmp_path: Path) -> None:
    """Held against a checkpoint of another size the proof is to be made anew; of another root or log it is refused."""
    stranger = Ed25519PrivateKey.generate()
    key = VerifierKey(proven.key.name, public_key_bytes(stranger))
    _, size, root, _ = proven.signed.checkpoint
    for made, code in (
        (Checkpoint(key.name, size - 1, root), "checkpoint_size"),
        (Checkpoint(key.name, size, bytes(32)), "checkpoint_root"),
        (Checkpoint("slot-ledger/other", size, root), "checkpoint_origin"),
    ):
        signed = sign_checkpoint(made, stranger)
        if made.origin != key.name:
            signed = signed._replace(note=signed.note._replace(signatures=(signed.note.signatures[0],)))
        keys = (proven.key, key, VerifierKey(made.origin, key.public_key))
        assert checked(proven.documents[0], Anchors((GivenCheckpoint("kept", signed),), keys), tmp_path) == [code]


def test_a_round_that_goes_on_after_the_checkpoint_is_not_proven(tmp_path: Path) -> None:
    """Leaves after the checkpoint, and rounds without any, are told with what to do."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        keys = ledger.path.with_name("ledger.db.keys")
        opened = ledger.open_round(account_ref, game(), "base", 200)
        signed, key = sign_tree(ledger, keys).signed, load_verifier_key(keys / "log.vkey")
        assert len(build_proof(ledger, opened.round_id, signed, key).appends) == 1
        ledger.finish_round(opened.round_id, game())
        size = signed.checkpoint.tree_size
        with pytest.raises(RoundUncovered, match=f"want all in the checkpoint of {size} leaves, got leaf {size} after it"):
            build_proof(ledger, opened.round_id, signed, key)
        with pytest.raises(RoundUnknown):
            build_proof(ledger, "no-such-round", signed, key)


def test_an_altered_ledger_gives_no_proof_that_passes(tmp_path: Path) -> None:
    """Bytes and numbers altered in the ledger, of any type, go into the proof as they stand and are found there."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        (round_id,) = play_some(ledger, account_ref, 1)
        keys = ledger.path.with_name("ledger.db.keys")
        signed, key = sign_tree(ledger, keys).signed, load_verifier_key(keys / "log.vkey")
    whole = ledger.path.read_bytes()
    for statement in (
        f"UPDATE stored_events SET state = x'ff' WHERE originator_id = 'round/{round_id}' AND originator_version = 1",
        f"UPDATE leaves SET version_last = -5 WHERE stream = 'round/{round_id}' AND version_first = 1",
        f"UPDATE leaves SET recorded_at_us = -1 WHERE stream = 'round/{round_id}'",
        f"DELETE FROM stored_events WHERE originator_id = 'round/{round_id}'",
    ):
        altered(ledger.path, statement)
        with RoundLedger.open_for_reading(ledger.path) as opened:
            proof = build_proof(opened, round_id, signed, key)
        assert check_proof(proof, Anchors(keys=(key,)), where="p").findings, statement
        ledger.path.write_bytes(whole)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Invalid JSON"),
        (b"\x00\xff", "Invalid JSON"),
        (b"[]", "got Input should be an object"),
        (b"{}", "round_id: Field required"),
        (b'{"schema":"prove/2","round_id":"r","appends":[],"checkpoint":"","vkey":""}', "schema: Input should be 'prove/1'"),
        (b"[" * 100_000, "Invalid JSON"),
    ],
    ids=range(6),
)
def test_what_is_no_proof_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """A file of something else is named with what was found; a missing one and a folder as well."""
    path = tmp_path / "proof.json"
    path.write_bytes(content)
    with pytest.raises(ProofUnreadable) as caught:
        load_proof(path)
    assert message in str(caught.value)
    for wrong in (tmp_path, tmp_path / "none"):
        with pytest.raises(ProofUnreadable, match="want a file that can be read"):
            load_proof(wrong)


def test_the_checker_takes_any_file_without_a_traceback(proven: Proven, tmp_path: Path) -> None:
    """Binary, cut, nested and empty files are "not proven"; a wrong number of arguments is wrong usage."""
    whole = json.dumps(proven.documents[0])
    for content in ("", "[]", "{}", whole[:-40], '{"checkpoint": 5}', "[" * 100_000, whole.replace("slot-ledger", "—")):
        done = run_checker(content, proven.key, tmp_path)
        assert (done.returncode, done.stderr) == (3, "")
    for key in ("", "a+b", "a+b+c", str(proven.key)[:-4], "n+00000000+AQ=="):
        done = run_checker(whole, key, tmp_path)
        assert (done.returncode, done.stderr) == (3, "")
    done = subprocess.run([sys.executable, "-I", str(CHECKER)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "usage: check_proof.py PROOF.json LOG.vkey\n"


def test_the_checker_is_short_and_imports_nothing_of_ours() -> None:
    """At most 100 lines, and of the standard library four modules."""
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 100
    assert re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE) == ["base64", "hashlib", "json", "sys"]


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (
            RoundUncovered("r", 9, 4),
            2,
            "leaves of round r: want all in the checkpoint of 4 leaves, got leaf 9 after it; sign a newer one with `audit checkpoint`",
        ),
        (ProofUnreadable("p", "a", "b"), 4, "proof p: want a, got b; get the file again as `audit prove` wrote it"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_messages_and_exit_status(error: LedgerError, status: int, message: str) -> None:
    """The messages are in the one form, and survive pickling with all fields."""
    assert (str(error), error.exit_status) == (message, status)
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), message, vars(error))
