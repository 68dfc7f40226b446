"""Checkpoints and signed notes: the public format byte for byte, and the log that never signs against what it signed."""

import base64
import hashlib
import pickle

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from ledger import checkpoint, checkpoints
from ledger.errors import KeyMismatch, KeyMissing, LedgerReadOnly, TreeBroken
from ledger.keys import COSIGNATURE, VerifierKey, load_verifier_key, parse_verifier_key, public_key_bytes
from ledger.lifecycle_events import KeyRotated
from ledger.merkle import root_of_size
from ledger.rounds import RoundLedger
from tests.ledger_files import altered, new_ledger, play_some

# From the documentation of Go's sumdb/note, and a tree that sum.golang.org has signed.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
SUMDB = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
SUMDB_NOTE = (
    "go.sum database tree\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— sum.golang.org Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)
SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ORIGIN = "slot-ledger/" + "0a" * 16
KEY = VerifierKey(ORIGIN, public_key_bytes(SIGNING_KEY))
ROOT = hashlib.sha256(b"root").digest()
SIGNED = checkpoint.sign_checkpoint(checkpoint.Checkpoint(ORIGIN, 77, ROOT), SIGNING_KEY)


@pytest.mark.parametrize(("key", "text"), [(PETER, PETER_NOTE), (SUMDB, SUMDB_NOTE)])
def test_published_notes_verify_and_come_back_byte_for_byte(key, text):
    """Notes that others have signed are read, verified by their published keys, and written as they were."""
    note = checkpoint.parse_note(text.encode(), where="-")
    verifier_key = parse_verifier_key(key, where="-")
    assert checkpoint.verify_note(note, [verifier_key]) == [verifier_key]
    assert str(note) == text


def test_a_published_checkpoint_is_read():
    """Origin, size and root of a published checkpoint are its first three lines."""
    found = checkpoint.parse_checkpoint(SUMDB_NOTE.encode(), where="-").checkpoint
    assert found == ("go.sum database tree", 20852163, base64.b64decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="), ())


@given(
    st.integers(0, 2**63 - 1),
    st.binary(min_size=32, max_size=32),
    st.lists(st.text(st.characters(min_codepoint=32, blacklist_categories=("Cs",)), min_size=1, max_size=20), max_size=3).map(tuple),
)
def test_what_is_signed_is_read_back(tree_size, root, extensions):
    """Any checkpoint comes back from its note, verifies, and no longer does after a change of its text."""
    made = checkpoint.Checkpoint(ORIGIN, tree_size, root, extensions)
    signed = checkpoint.sign_checkpoint(made, SIGNING_KEY)
    assert checkpoint.parse_checkpoint(str(signed).encode(), where="-") == signed
    assert checkpoint.verify_note(signed.note, [KEY]) == [KEY]
    other = signed.note._replace(text=signed.note.text + "more\n")
    with pytest.raises(checkpoint.SignatureWrong):
        checkpoint.verify_note(other, [KEY])


def test_every_byte_counts():
    """Each bit of a signed checkpoint flipped: it is no note, another checkpoint's, or not verified; never a verified other one."""
    content = str(SIGNED).encode()
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            try:
                found = checkpoint.parse_checkpoint(bytes(flipped), where="-")
                assert checkpoint.verify_note(found.note, [KEY]) == []
            except (checkpoint.NoteMalformed, checkpoint.SignatureWrong):
                continue


def test_every_cut_is_refused():
    """A note that ends early anywhere is no note."""
    content = str(SIGNED).encode()
    for length in range(len(content)):
        with pytest.raises(checkpoint.NoteMalformed):
            checkpoint.parse_checkpoint(content[:length], where="-")


TEXT = str(SIGNED.note.text)
LINE = f"{SIGNED.note.signatures[0]}\n"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "text"),
        (b"\x00\x01\x02", "text"),
        (b"\xff\xfe", "text"),
        (TEXT.replace("\n", "\r\n").encode(), "text"),
        (b"\n\n" + LINE.encode(), "text"),
        (f"{TEXT}\n".encode(), "signatures"),
        (f"{TEXT}\n{LINE[:-1]}".encode(), "signatures"),
        (f"{TEXT}\n- {LINE[2:]}".encode(), "signature line"),
        (f"{TEXT}\n— a+b AAAAAAA=\n".encode(), "signature line"),
        (f"{TEXT}\n—  AAAAAAA=\n".encode(), "signature line"),
        (f"{TEXT}\n— a AAAA\n".encode(), "signature of a"),
        (f"{TEXT}\n— a !AAAAAAA\n".encode(), "signature of a"),
        (f"{TEXT}\n{LINE * 101}".encode(), "signatures"),
        (b"x" * 1_000_001, "length"),
        (f"{ORIGIN}\n77\n\n{LINE}".encode(), "text"),
        (f"\n77\n{TEXT.splitlines()[2]}\n\n{LINE}".encode(), "origin"),
        (f"{TEXT}\n{TEXT}\n{LINE}".encode(), "text"),
        (TEXT.replace("\n77\n", "\n077\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (TEXT.replace("\n77\n", "\n-1\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (TEXT.replace("\n77\n", "\n7_7\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (TEXT.replace("\n77\n", "\n\u0667\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (TEXT.replace("\n77\n", f"\n{2**63}\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (TEXT.replace("\n77\n", "\n" + "9" * 5000 + "\n").encode() + b"\n" + LINE.encode(), "tree size"),
        (f"{ORIGIN}\n77\nAAAA\n\n{LINE}".encode(), "root"),
        (f"{ORIGIN}\n77\n{TEXT.splitlines()[2][:-2]}Z=\n\n{LINE}".encode(), "root"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_checkpoint_is_refused_and_says_why(content, part):
    """Each departure from the format names the piece that is wrong, what was wanted and what to do."""
    with pytest.raises(checkpoint.NoteMalformed) as caught:
        checkpoint.parse_checkpoint(content, where="c.txt")
    assert caught.value.part == part
    assert str(caught.value).startswith(f"{part} of checkpoint c.txt: want ")
    assert len(str(caught.value)) < 300


def test_unknown_signatures_are_kept_and_say_nothing():
    """Lines by keys that are not given stay in place, are not verified, and do not stand for a key of the same name."""
    stranger = checkpoint.sign_note(TEXT, "witness.example", Ed25519PrivateKey.from_private_bytes(bytes(32))).signatures[0]
    namesake = checkpoint.NoteSignature(ORIGIN, b"\0\0\0\1", bytes(64))
    content = f"{TEXT}\n{stranger}\n{LINE}{namesake}\n".encode()
    found = checkpoint.parse_checkpoint(content, where="-")
    assert str(found).encode() == content
    assert checkpoint.verify_note(found.note, [KEY]) == [KEY]
    assert checkpoint.verify_note(found.note, []) == []
    assert checkpoint.verify_note(found.note, [KEY._replace(name="other")]) == []


def test_a_witness_is_verified_too():
    """A given witness key must be over the same text; a wrong signature of it is refused although the log's is right."""
    witness_key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    witness = VerifierKey("witness.example", public_key_bytes(witness_key))
    line = checkpoint.sign_note(TEXT, witness.name, witness_key).signatures[0]
    note = checkpoint.SignedNote(TEXT, (*SIGNED.note.signatures, line))
    assert checkpoint.verify_note(note, [KEY, witness]) == [KEY, witness]
    wrong = note._replace(signatures=(note.signatures[0], line._replace(signature=bytes(64))))
    with pytest.raises(checkpoint.SignatureWrong, match=r"^signature of witness\.example\+"):
        checkpoint.verify_note(wrong, [KEY, witness])
    short = note._replace(signatures=(note.signatures[0], line._replace(signature=line.signature[:-1])))
    with pytest.raises(checkpoint.SignatureWrong):
        checkpoint.verify_note(short, [witness])


def test_a_cosignature_is_over_its_time_and_the_text():
    """A witness's cosignature/v1 holds the time in eight bytes, signs it with the text, and its key says so by type 4."""
    witness_key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public = public_key_bytes(witness_key)
    raw = b"\x04" + public
    key_id = hashlib.sha256(b"witness.example\n" + raw).digest()[:4]
    text = f"witness.example+{key_id.hex()}+{base64.b64encode(raw).decode()}"
    witness = parse_verifier_key(text, where="-")
    assert (str(witness), witness.signature_type) == (text, COSIGNATURE)
    signature = witness_key.sign(f"cosignature/v1\ntime 1764547200\n{TEXT}".encode())
    encoded = base64.b64encode(key_id + (1764547200).to_bytes(8, "big") + signature).decode()
    found = checkpoint.parse_note(f"{TEXT}\n{LINE}— witness.example {encoded}\n".encode(), where="-")
    assert checkpoint.verify_note(found, [KEY, witness]) == [KEY, witness]
    later = base64.b64encode(key_id + (1764547201).to_bytes(8, "big") + signature).decode()
    found = checkpoint.parse_note(f"{TEXT}\n{LINE}— witness.example {later}\n".encode(), where="-")
    with pytest.raises(checkpoint.SignatureWrong):
        checkpoint.verify_note(found, [KEY, witness])


def test_files_that_cannot_be_read(tmp_path):
    """A missing file, a folder and a name that no file can have are told with what to do."""
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "directory"), (tmp_path / "a\0b", "ValueError")):
        with pytest.raises(checkpoint.CheckpointMissing, match=f"want a file that can be read, got .*{reason}"):
            checkpoint.load_checkpoint(path)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (
            checkpoint.CheckpointMissing("c", "No such file"),
            4,
            "checkpoint c: want a file that can be read, got No such file; name another",
        ),
        (
            checkpoint.NoteMalformed("c", "root", "32 bytes", "3"),
            4,
            "root of checkpoint c: want 32 bytes, got 3; get the whole file again, byte for byte",
        ),
        (
            checkpoint.SignatureWrong("n", b"\1\2\3\4", "text\n"),
            3,
            "signature of n+01020304: want one over this text, got another; "
            "the text or the signature was altered, get the note again from whoever keeps it",
        ),
        (
            checkpoints.CheckpointInconsistent("c", "note", "root at the 4 leaves", "aa", "bb"),
            3,
            "root at the 4 leaves of the kept checkpoint c: want aa, got bb; nothing was signed, "
            "the record was altered or put back: see `audit verify --all --checkpoint c`",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_messages_and_exit_status(error, status, message):
    """The messages are in the one form, and survive pickling with all fields."""
    assert (str(error), error.exit_status) == (message, status)
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), message, vars(error))


def keys_of(ledger):
    return ledger.path.with_name("ledger.db.keys")


def test_the_log_signs_what_it_holds_and_keeps_a_copy(tmp_path):
    """The checkpoint has the ledger's origin, size and root, verifies by log.vkey, and lies in the keys folder byte for byte."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        for _ in range(3):
            play_some(ledger, account_ref, 2)
            kept = checkpoints.sign_tree(ledger, keys_of(ledger))
            made = kept.signed.checkpoint
            assert made == (f"slot-ledger/{ledger.created().ledger_id}", *ledger.store.tree(), ())
            key = load_verifier_key(keys_of(ledger) / "log.vkey")
            assert checkpoint.verify_note(kept.signed.note, [key]) == [key]
            assert kept.path == keys_of(ledger) / "checkpoints" / f"{made.tree_size}.checkpoint"
            assert kept.path.read_bytes() == str(kept.signed).encode()
            assert checkpoints.sign_tree(ledger, keys_of(ledger)) == kept
        sizes = [each.signed.checkpoint.tree_size for each in checkpoints.kept_checkpoints(keys_of(ledger))]
        assert len(sizes) == 3
        assert sizes == sorted(sizes)
        for each in checkpoints.kept_checkpoints(keys_of(ledger)):
            size = each.signed.checkpoint.tree_size
            assert root_of_size(size, ledger.store.subtree) == each.signed.checkpoint.root
        assert [path.name for path in (keys_of(ledger) / "checkpoints").iterdir() if path.suffix != ".checkpoint"] == []


def test_nothing_is_signed_that_does_not_grow_from_what_was(tmp_path):
    """A shorter tree, a changed leaf, and a changed leaf under a node left as it was are refused with the evidence."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 32)
        kept = checkpoints.sign_tree(ledger, keys_of(ledger))
        play_some(ledger, account_ref, 32)  # two whole blocks, and a node over both
    path, size = ledger.path, kept.signed.checkpoint.tree_size
    whole = path.read_bytes()

    def refusal():
        with RoundLedger.open_for_reading(path) as opened, pytest.raises(checkpoints.CheckpointInconsistent) as caught:
            checkpoints.sign_tree(opened, keys_of(ledger))
        assert caught.value.note == str(kept.signed)
        assert len(list((keys_of(ledger) / "checkpoints").iterdir())) == 1
        return str(caught.value)

    altered(path, f"DELETE FROM leaves WHERE leaf_index >= {size - 1}")
    assert f"tree size of the kept checkpoint {kept.path}: want {size} leaves at least, got {size - 1}; nothing was signed" in refusal()
    path.write_bytes(whole)
    altered(path, "UPDATE leaves SET leaf_hash = zeroblob(32)", "UPDATE nodes SET node_hash = zeroblob(32)")
    assert f"root at the {size} leaves of the kept checkpoint {kept.path}: want {kept.signed.checkpoint.root.hex()}, got " in refusal()
    path.write_bytes(whole)
    # The subtrees of the old tree are left as they were, those above them are of another one.
    top = max(level for level in range(20) if 1 << level <= size)
    altered(path, f"UPDATE nodes SET node_hash = zeroblob(32) WHERE level > {top}")
    assert f"growth from the {size} leaves to " in refusal()


def test_the_keys_of_another_ledger_sign_nothing(tmp_path):
    """Another ledger's key, kept checkpoints or no key at all are refused before anything is written."""
    with new_ledger(tmp_path) as (ledger, _), RoundLedger.create(tmp_path / "other.db") as other:
        with pytest.raises(KeyMismatch, match=r"log\.key: want the key of slot-ledger/"):
            checkpoints.sign_tree(ledger, other.path.with_name("other.db.keys"))
        with pytest.raises(KeyMissing, match=r"log\.key"):
            checkpoints.sign_tree(ledger, tmp_path)
        checkpoints.sign_tree(other, other.path.with_name("other.db.keys"))
        (other.path.with_name("other.db.keys") / "checkpoints").rename(keys_of(ledger) / "checkpoints")
        with pytest.raises(KeyMismatch, match="origin of the kept checkpoint"):
            checkpoints.sign_tree(ledger, keys_of(ledger))


def test_a_tree_with_a_node_missing_is_not_signed(tmp_path):
    """Where a subtree is gone there is no root to sign."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, 32)
    altered(ledger.path, "DELETE FROM nodes")
    with RoundLedger.open_for_reading(ledger.path) as opened, pytest.raises(TreeBroken):
        checkpoints.sign_tree(opened, keys_of(ledger))


def test_a_rotated_key_is_an_event_signed_by_the_old_one(tmp_path):
    """After a rotation the new key signs, the record names both, the old checkpoints still verify by the old, which is kept."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        old_key = load_verifier_key(keys_of(ledger) / "log.vkey")
        before = checkpoints.sign_tree(ledger, keys_of(ledger))
        event = checkpoints.rotate_log_key(ledger, keys_of(ledger))
        new_key = load_verifier_key(keys_of(ledger) / "log.vkey")
        assert (event.old_public_key, event.new_public_key) == (old_key.public_key.hex(), new_key.public_key.hex())
        assert new_key.name == old_key.name
        assert checkpoints.log_keys(ledger) == [old_key, new_key]
        play_some(ledger, account_ref, 1)
        after = checkpoints.sign_tree(ledger, keys_of(ledger))
        assert checkpoint.verify_note(after.signed.note, [old_key, new_key]) == [new_key]
        assert checkpoint.verify_note(before.signed.note, [old_key, new_key]) == [old_key]
        assert load_verifier_key(keys_of(ledger) / f"log.vkey.{old_key.key_id.hex()}") == old_key
        third = checkpoints.rotate_log_key(ledger, keys_of(ledger))
        assert third.old_public_key == event.new_public_key
        assert all(path.stat().st_mode & 0o077 == 0 for path in keys_of(ledger).glob("log.key*"))


def test_a_rotation_cut_short_is_finished_or_never_was(tmp_path, monkeypatch):
    """Killed before the event the old key signs on; killed after it, the next signing puts the new key in place."""
    with new_ledger(tmp_path) as (ledger, _):
        folder = keys_of(ledger)
        old_key = load_verifier_key(folder / "log.vkey")

        class Killed(BaseException):
            pass

        def killed(*_):
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(ledger.store, "append_events", killed)
            with pytest.raises(Killed):
                checkpoints.rotate_log_key(ledger, folder)
        kept = checkpoints.sign_tree(ledger, folder)
        assert checkpoint.verify_note(kept.signed.note, [old_key]) == [old_key]
        write, calls = checkpoints.write_whole, []
        for steps in range(1, 5):
            with monkeypatch.context() as patch:

                def write_some(path, content, mode, steps=steps):
                    calls.append(path)
                    if len(calls) > steps:
                        raise Killed
                    write(path, content, mode)

                patch.setattr(checkpoints, "write_whole", write_some)
                with pytest.raises(Killed):
                    checkpoints.rotate_log_key(ledger, folder)
            calls.clear()
            kept = checkpoints.sign_tree(ledger, folder)
            in_force = checkpoints.log_keys(ledger)[-1]
            assert load_verifier_key(folder / "log.vkey") == in_force
            assert checkpoint.verify_note(kept.signed.note, [in_force]) == [in_force]


def test_a_rotation_that_the_old_key_did_not_sign_is_no_rotation(tmp_path):
    """A key_rotated from a key that is not in force, or with another's proof, is refused by whoever reads the keys."""
    other = Ed25519PrivateKey.generate()
    public = public_key_bytes(other).hex()
    for old, expected in ((None, "a signature of"), (public, "one from the key in force")):
        folder = tmp_path / expected.split()[0]
        folder.mkdir()
        with new_ledger(folder) as (ledger, _):
            proof = other.sign(public.encode()).hex()
            in_force = ledger.created().log_public_key
            event = KeyRotated(old_public_key=old or in_force, new_public_key=public, proof=proof, rotated_at_us=1)
            ledger.store.append_events("ledger", 2, [checkpoints.event_bytes(event)])
            with pytest.raises(KeyMismatch, match=f"key rotation to {public}: want {expected}"):
                checkpoints.log_keys(ledger)
            with pytest.raises(KeyMismatch):
                checkpoints.sign_tree(ledger, keys_of(ledger))


def test_rotation_needs_a_ledger_opened_for_writing(tmp_path):
    """On a ledger opened for reading no key comes into force."""
    with new_ledger(tmp_path) as (ledger, _):
        pass
    key = load_verifier_key(keys_of(ledger) / "log.vkey")
    with RoundLedger.open_for_reading(ledger.path) as opened:
        with pytest.raises(LedgerReadOnly):
            checkpoints.rotate_log_key(opened, keys_of(ledger))
        assert checkpoint.verify_note(checkpoints.sign_tree(opened, keys_of(ledger)).signed.note, [key]) == [key]
