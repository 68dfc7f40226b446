"""A ledger held against checkpoints and keys from elsewhere: what an insider with file and log key cannot hide."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from engines.canonical import canonical_json
from engines.registry import installed_game
from ledger.checkpoint import Checkpoint, NoteSignature, SignedCheckpoint, SignedNote, load_checkpoint, sign_checkpoint
from ledger.checkpoints import rotate_log_key, sign_tree
from ledger.keys import VerifierKey, load_log_key, load_verifier_key, public_key_bytes
from ledger.merkle import append_digest, append_leaf, leaf_bytes, leaf_hash
from ledger.rounds import RoundLedger
from replay.anchors import HELD_KEY, NO_ANCHORS, NO_CHECKPOINT, NO_KEY, NOT_HELD, Anchors, Comparison, GivenCheckpoint, compare
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verification import Verification, Verifier
from tests.ledger_files import altered

GAME = "moonlight-princess"
ROUNDS = 6


class Held:
    """A ledger, and what an auditor has of it: a checkpoint over all but the last round, and its verifier key."""

    def __init__(self, path: Path, rounds: int = ROUNDS) -> None:
        self.path, self.keys = path, path.with_name(path.name + ".keys")
        with RoundLedger.create(path) as ledger:
            ann = ledger.open_account("ann", "EUR")
            ledger.move_funds(ann, 100_000)
            self.round_ids = [ledger.play(ann, installed_game(GAME), "base", 200).round_id for _ in range(rounds - 1)]
            self.signed = sign_tree(ledger, self.keys).signed
            self.round_ids.append(ledger.play(ann, installed_game(GAME), "base", 200).round_id)
        self.key = load_verifier_key(self.keys / "log.vkey")

    def anchors(self, *others: VerifierKey, signed: SignedCheckpoint | None = None, is_keyed: bool = True) -> Anchors:
        """What the auditor holds the ledger against."""
        given = GivenCheckpoint("kept.checkpoint", signed or self.signed)
        return Anchors((given,), (self.key, *others) if is_keyed else others)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """A ledger that nobody has altered."""
    return Held(tmp_path_factory.mktemp("whole") / "ledger.db")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """One of more leaves than a block has, so that it stores nodes."""
    return Held(tmp_path_factory.mktemp("long") / "ledger.db", 34)


def copy_of(held: Held, folder: Path) -> Path:
    path = folder / "ledger.db"
    shutil.copyfile(held.path, path)
    shutil.copytree(held.keys, folder / "ledger.db.keys")
    return path


@pytest.fixture
def copy(whole: Held, tmp_path: Path) -> Path:
    """A copy of the ledger to be altered, its keys beside it."""
    return copy_of(whole, tmp_path)


def compared(path: Path, anchors: Anchors) -> Comparison:
    with RoundLedger.open_for_reading(path) as ledger:
        return compare(ledger, anchors, ledger.store.tree())


def codes(path: Path, anchors: Anchors) -> list[str]:
    return [finding.code for finding in compared(path, anchors).findings]


def verified(path: Path, round_id: str, anchors: Anchors) -> Verification:
    with RoundLedger.open_for_reading(path) as ledger:
        return Verifier(ledger, anchors=anchors).verify(round_id)


def summed(path: Path, anchors: Anchors, sample_count: int | None = None) -> BulkSummary:
    summary = BulkSummary()
    plan = plan_bulk(path, path.with_name(path.name + ".keys"), anchors=anchors, sample_count=sample_count)
    for _ in verify_bulk(plan, summary):
        pass
    return summary


def rebuild(path: Path, leaf_count: int | None = None) -> None:
    """Make leaves, nodes and all anew over what the events now are, as someone who knows the format can."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        leaves = connection.execute(
            "SELECT * FROM leaves ORDER BY leaf_index LIMIT ?", (-1 if leaf_count is None else leaf_count,)
        ).fetchall()
        connection.execute("DELETE FROM leaves")
        connection.execute("DELETE FROM nodes")
        peaks: list[bytes] = []
        for place, (_, stream, first, last, recorded_at, _) in enumerate(leaves):
            statement = (
                "SELECT state FROM stored_events WHERE originator_id = ? AND originator_version BETWEEN ? AND ? ORDER BY originator_version"
            )
            events = [bytes(row[0]) for row in connection.execute(statement, (stream, first, last))]
            leaf = leaf_hash(leaf_bytes(stream, first, last, recorded_at, append_digest(events)))
            peaks, finished = append_leaf(peaks, place, leaf)
            connection.execute("INSERT INTO leaves VALUES (?,?,?,?,?,?)", (place, stream, first, last, recorded_at, leaf))
            connection.executemany("INSERT INTO nodes VALUES (?,?,?)", finished)


def change_event(path: Path, stream: str, topic: str, **values: object) -> None:
    """Write other values into the first event of a topic, in canonical form."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        where = "FROM stored_events WHERE originator_id = ? AND topic = ? ORDER BY originator_version"
        version, state = connection.execute(f"SELECT originator_version, state {where}", (stream, topic)).fetchone()
        statement = "UPDATE stored_events SET state = ? WHERE originator_id = ? AND originator_version = ?"
        connection.execute(statement, (canonical_json({**json.loads(state), **values}), stream, version))


def test_an_honest_ledger_has_grown_from_its_checkpoint(whole: Held) -> None:
    """Nothing is found, the checkpoint covers the rounds before it and not the one after, and says by whose key it is signed."""
    found = compared(whole.path, whole.anchors())
    assert (found.findings, found.statement, found.held_keys) == ((), HELD_KEY, (str(whole.key),))
    assert found.signed_by == (str(whole.key),)
    assert found.checkpoint is not None
    first, last = (verified(whole.path, whole.round_ids[place], whole.anchors()) for place in (0, -1))
    assert (first.verdict, last.verdict) == ("reproduced", "reproduced")
    size = whole.signed.checkpoint.tree_size
    assert first.checks[0].detail.endswith(f"covered by the checkpoint of {size} leaves, {HELD_KEY}")
    assert f"came after the checkpoint of {size} leaves, which does not cover them" in last.checks[0].detail
    summary = summed(whole.path, whole.anchors())
    assert not summary.is_wrong
    assert summary.comparison == found


def test_without_a_key_every_statement_says_so(whole: Held) -> None:
    """A checkpoint verified by the key in the record alone is said to be so, for a round and for all."""
    anchors = whole.anchors(is_keyed=False)
    assert compared(whole.path, anchors).statement == NO_KEY
    assert NO_KEY in verified(whole.path, whole.round_ids[0], anchors).checks[0].detail
    assert NO_KEY in summed(whole.path, anchors).comparison.sentence()
    assert compared(whole.path, NO_ANCHORS) == Comparison(statement=NO_CHECKPOINT)
    assert compared(whole.path, Anchors(keys=(whole.key,))).statement == NO_CHECKPOINT


def attack_payload(path: Path, held: Held) -> None:
    change_event(path, f"round/{held.round_ids[1]}", "round_settled/1", total_win_minor=99)
    rebuild(path)


def attack_tail(path: Path, held: Held) -> None:
    size = held.signed.checkpoint.tree_size
    with closing(sqlite3.connect(path)) as connection:
        gone = connection.execute("SELECT stream, version_first FROM leaves WHERE leaf_index >= ?", (size - 2,)).fetchall()
    altered(
        path, *(f"DELETE FROM stored_events WHERE originator_id = '{stream}' AND originator_version >= {first}" for stream, first in gone)
    )
    rebuild(path, size - 2)


def attack_order(path: Path, held: Held) -> None:
    altered(
        path,
        "UPDATE leaves SET leaf_index = -1 WHERE leaf_index = 7",
        "UPDATE leaves SET leaf_index = 7 WHERE leaf_index = 8",
        "UPDATE leaves SET leaf_index = 8 WHERE leaf_index = -1",
    )
    rebuild(path)


def attack_round(path: Path, held: Held) -> None:
    stream = f"round/{held.round_ids[2]}"
    altered(
        path,
        *(
            f"DELETE FROM {table} WHERE {column} = '{stream}'"
            for table, column in (("stored_events", "originator_id"), ("leaves", "stream"))
        ),
    )
    rebuild(path)


def attack_time(path: Path, held: Held) -> None:
    altered(path, "UPDATE leaves SET recorded_at_us = recorded_at_us + 1 WHERE leaf_index = 5")
    rebuild(path)


ATTACKS = {
    "altered": (attack_payload, "checkpoint_root"),
    "tail cut": (attack_tail, "checkpoint_tree_short"),
    "reordered": (attack_order, "checkpoint_root"),
    "round dropped": (attack_round, "checkpoint_root"),
    "time moved": (attack_time, "checkpoint_root"),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_log_rebuilt_consistently_is_found(whole: Held, copy: Path, attack: str, is_keyed: bool) -> None:
    """Whatever was altered before the whole log was made anew: the kept checkpoint tells, for one round and for all, with want and got."""
    do, code = ATTACKS[attack]
    do(copy, whole)
    anchors = whole.anchors(is_keyed=is_keyed)
    (finding,) = compared(copy, anchors).findings
    assert (finding.code, finding.severity) == (code, "integrity")
    assert f"want {finding.want}, got {finding.got}" in finding.message
    assert "kept.checkpoint" in finding.message
    verdict = verified(copy, whole.round_ids[0], anchors)
    assert verdict.verdict == "record_tampered"
    assert [check.result for check in verdict.checks[1:4]] == ["pass", "pass", "pass"]
    for sample_count in (None, 1):
        summary = summed(copy, anchors, sample_count)
        assert summary.is_wrong
        assert code in [finding.code for finding in summary.ledger_findings]
    assert summary.comparison.statement == (NOT_HELD if is_keyed else NO_KEY)


def test_subtrees_left_as_they_were_hide_nothing(long: Held, tmp_path: Path) -> None:
    """A leaf changed under stored subtrees that still give the checkpoint's root is found: by the path of its round, and by the leaves."""
    copy = copy_of(long, tmp_path)
    change_event(copy, f"round/{long.round_ids[1]}", "round_settled/1", total_win_minor=99)
    with closing(sqlite3.connect(copy)) as connection:
        before = connection.execute("SELECT * FROM nodes").fetchall()
    rebuild(copy)
    size = long.signed.checkpoint.tree_size
    peaks = [(level, index, value) for level, index, value in before if (index + 1) << level <= size]
    assert len(peaks) == 63
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.executemany("INSERT OR REPLACE INTO nodes VALUES (?,?,?)", peaks)
    assert verified(copy, long.round_ids[1], long.anchors()).verdict == "record_tampered"
    for sample_count in (None, 1):
        assert {finding.code for finding in summed(copy, long.anchors(), sample_count).ledger_findings} & {"root", "checkpoint_root"}


def test_a_missing_round_brings_the_checkpoint_s_finding(whole: Held, copy: Path) -> None:
    """A round dropped from a rebuilt log is record_missing, and the finding of the checkpoint stands beside it."""
    attack_round(copy, whole)
    found = verified(copy, whole.round_ids[2], whole.anchors())
    assert found.verdict == "record_missing"
    assert [finding.code for finding in found.findings] == ["record_missing", "checkpoint_root"]


def test_a_replaced_key_pair_is_seen_with_a_held_key_only(whole: Held, copy: Path) -> None:
    """Key pair replaced and all signed anew: three findings against the held key, and "not compared" without one."""
    new_key = Ed25519PrivateKey.generate()
    change_event(copy, "ledger", "ledger_created/1", log_public_key=public_key_bytes(new_key).hex())
    rebuild(copy)
    with RoundLedger.open_for_reading(copy) as ledger:
        forged = sign_checkpoint(Checkpoint(whole.key.name, *ledger.store.tree()), new_key)
    assert codes(copy, whole.anchors(signed=forged)) == ["log_key", "checkpoint_signature"]
    assert codes(copy, Anchors(keys=(whole.key,))) == ["log_key"]
    without = compared(copy, whole.anchors(signed=forged, is_keyed=False))
    assert (without.findings, without.statement) == ((), NO_KEY)
    assert codes(copy, whole.anchors(is_keyed=False)) == ["checkpoint_signature"]
    assert verified(copy, whole.round_ids[0], whole.anchors(signed=forged)).verdict == "record_tampered"


def test_two_forks_of_one_log_are_told_apart(whole: Held, copy: Path) -> None:
    """Of two logs that grew apart from one, each fits its own checkpoint and not the other's; what both share fits both."""
    forks = []
    for path in (copy, copy.with_name("fork.db")):
        if path != copy:
            shutil.copyfile(whole.path, path)
            shutil.copytree(whole.keys, path.with_name("fork.db.keys"))
        with RoundLedger.open_for_writing(path) as ledger:
            ledger.play(ledger.account("ann").account_ref, installed_game(GAME), "base", 200)
            forks.append((path, sign_tree(ledger, path.with_name(path.name + ".keys")).signed))
    for path, own in forks:
        assert codes(path, whole.anchors()) == []
        for _, signed in forks:
            assert codes(path, whole.anchors(signed=signed)) == ([] if signed == own else ["checkpoint_root"])


def test_an_old_copy_put_back_is_short(whole: Held, tmp_path: Path) -> None:
    """A backup put back in the place of a ledger that had grown is shorter than the checkpoint of the grown one."""
    path = tmp_path / "ledger.db"
    held = Held(path)
    old = path.read_bytes()
    with RoundLedger.open_for_writing(path) as ledger:
        ledger.play(ledger.account("ann").account_ref, installed_game(GAME), "base", 200)
        later = sign_tree(ledger, held.keys).signed
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    path.write_bytes(old)
    assert codes(path, held.anchors(signed=later)) == ["checkpoint_tree_short"]
    assert codes(path, held.anchors()) == []


def test_a_checkpoint_that_is_not_the_log_s_says_nothing_of_the_tree(whole: Held) -> None:
    """Another origin, a signature that is cut or another's, and none at all: one finding each, about the checkpoint."""
    stranger = Ed25519PrivateKey.generate()
    other = sign_checkpoint(Checkpoint("slot-ledger/" + "ab" * 16, 3, bytes(32)), stranger)
    assert codes(whole.path, whole.anchors(signed=other)) == ["checkpoint_origin"]
    forged = sign_checkpoint(whole.signed.checkpoint, stranger)
    assert codes(whole.path, whole.anchors(signed=forged)) == ["checkpoint_signature"]
    line = whole.signed.note.signatures[0]
    for signature in (line.signature[:-1], bytes(64), line.signature + b"\0"):
        note = SignedNote(whole.signed.note.text, (line._replace(signature=signature),))
        assert codes(whole.path, whole.anchors(signed=whole.signed._replace(note=note))) == ["checkpoint_signature"]
    taller = sign_checkpoint(Checkpoint(whole.key.name, 10**6, bytes(32)), load_log_key(whole.keys))
    assert codes(whole.path, whole.anchors(signed=taller)) == ["checkpoint_tree_short"]


def test_another_ledger_s_key_is_no_key_of_this_one(whole: Held, tmp_path: Path) -> None:
    """A held key of another ledger is found out, with and without a checkpoint."""
    with RoundLedger.create(tmp_path / "other.db"):
        pass
    key = load_verifier_key(tmp_path / "other.db.keys" / "log.vkey")
    assert codes(whole.path, Anchors(keys=(key,))) == ["log_key"]
    assert codes(whole.path, Anchors((GivenCheckpoint("c", whole.signed),), (key,))) == ["log_key", "checkpoint_signature"]


def test_a_witness_that_is_given_must_have_signed(whole: Held) -> None:
    """A witness's signature is verified beside the log's; without it, or with a wrong one, there is a finding."""
    signing_key = Ed25519PrivateKey.generate()
    witness = VerifierKey("witness.example", public_key_bytes(signing_key))
    text = whole.signed.note.text
    line = NoteSignature(witness.name, witness.key_id, signing_key.sign(text.encode()))
    witnessed = whole.signed._replace(note=SignedNote(text, (*whole.signed.note.signatures, line)))
    found = compared(whole.path, whole.anchors(witness, signed=witnessed))
    assert (found.findings, found.signed_by) == ((), (str(whole.key), str(witness)))
    assert codes(whole.path, whole.anchors(witness)) == ["checkpoint_witness"]
    wrong = whole.signed._replace(note=SignedNote(text, (*whole.signed.note.signatures, line._replace(signature=bytes(64)))))
    assert codes(whole.path, whole.anchors(witness, signed=wrong)) == ["checkpoint_signature"]
    assert codes(whole.path, whole.anchors(signed=wrong)) == []
    assert compared(whole.path, whole.anchors(witness, signed=witnessed, is_keyed=False)).statement == NO_KEY


def test_keys_of_before_and_after_a_rotation(tmp_path: Path) -> None:
    """Each checkpoint verifies by the key that signed it: whoever holds the old one needs the new one too."""
    held = Held(tmp_path / "ledger.db")
    with RoundLedger.open_for_writing(held.path) as ledger:
        rotate_log_key(ledger, held.keys)
        later = sign_tree(ledger, held.keys).signed
    new_key = load_verifier_key(held.keys / "log.vkey")
    both = Anchors((GivenCheckpoint("a", held.signed), GivenCheckpoint("b", later)), (held.key, new_key))
    found = compared(held.path, both)
    assert found.findings == ()
    assert found.checkpoint is not None
    assert found.checkpoint.where == "b"
    assert codes(held.path, both._replace(keys=(held.key,))) == ["checkpoint_signature"]
    assert codes(held.path, both._replace(keys=())) == []


def test_a_record_whose_key_cannot_be_read(whole: Held, copy: Path) -> None:
    """Where the first event of the ledger is damaged, that is the finding, and no crash."""
    altered(copy, "UPDATE stored_events SET state = '{}' WHERE originator_id = 'ledger'")
    assert codes(copy, whole.anchors()) == ["log_key"]
    assert verified(copy, whole.round_ids[0], whole.anchors()).verdict == "record_tampered"


def test_a_node_that_is_missing_is_named(long: Held, tmp_path: Path) -> None:
    """A subtree that the checkpoint's root needs and that is gone is a finding of its own."""
    copy = copy_of(long, tmp_path)
    altered(copy, "DELETE FROM nodes")
    for round_id in long.round_ids:
        found = verified(copy, round_id, long.anchors())
        assert found.verdict == "record_tampered"
        assert "tree_broken" in {finding.code for finding in found.findings}
    summary = summed(copy, long.anchors())
    assert [finding.code for finding in summary.ledger_findings] == ["tree_broken", "tree_broken"]


def test_kept_copies_are_checkpoints_as_well(whole: Held) -> None:
    """The copy in the keys folder is the same checkpoint, byte for byte."""
    path = whole.keys / "checkpoints" / f"{whole.signed.checkpoint.tree_size}.checkpoint"
    assert load_checkpoint(path) == whole.signed
