"""`audit checkpoint`, `audit prove`, and `--checkpoint`, `--vkey` as scripts and auditors see them."""

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from engines.registry import installed_game
from ledger.checkpoints import sign_tree
from ledger.rounds import RoundLedger
from replay.anchors import HELD_KEY, IN_SUMMARY, NO_CHECKPOINT, NO_KEY
from tests.command_line import run
from tests.conftest import ROOT
from tests.ledger_files import altered
from tests.postgres_server import PostgresServer

GAME = "moonlight-princess"
Capture = pytest.CaptureFixture[str]


class Kept(NamedTuple):
    """A ledger of four rounds, and what an auditor keeps of it."""

    path: Path
    checkpoint: Path
    vkey: Path
    round_ids: list[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A ledger that nobody has altered, its checkpoint and verifier key elsewhere."""
    folder = tmp_path_factory.mktemp("whole")
    path, auditor = folder / "ledger.db", folder / "auditor"
    with RoundLedger.create(path) as opened:
        ann = opened.open_account("ann", "EUR")
        opened.move_funds(ann, 100_000)
        round_ids = [opened.play(ann, installed_game(GAME), "base", 200, external_ref=f"tx-{n}").round_id for n in range(4)]
    auditor.mkdir()
    shutil.copyfile(folder / "ledger.db.keys" / "log.vkey", auditor / "log.vkey")
    with RoundLedger.open_for_reading(path) as opened:
        (auditor / "c.checkpoint").write_text(str(sign_tree(opened, folder / "ledger.db.keys").signed))
    return Kept(path, auditor / "c.checkpoint", auditor / "log.vkey", round_ids)


@pytest.fixture
def copy(whole: Kept, tmp_path: Path) -> Path:
    """A copy of the ledger to be altered, its keys beside it."""
    path = tmp_path / "ledger.db"
    shutil.copyfile(whole.path, path)
    shutil.copytree(whole.path.with_name("ledger.db.keys"), tmp_path / "ledger.db.keys")
    return path


def test_checkpoint_prints_the_note_or_writes_it(capfd: Capture, copy: Path, tmp_path: Path) -> None:
    """The note is the result, byte for byte the copy that is kept; -o writes it to a new file; --json says the same."""
    done = run(capfd, "checkpoint", "--ledger", copy)
    assert done.status == 0
    origin, size, root, empty, line = done.out.splitlines()
    kept = copy.with_name("ledger.db.keys") / "checkpoints" / f"{size}.checkpoint"
    assert kept.read_text() == done.out
    assert f"a copy is kept in {kept}" in done.err
    assert (origin.startswith("slot-ledger/"), empty, line.startswith(f"— {origin} "), len(root)) == (True, "", True, 44)
    out = tmp_path / "out.checkpoint"
    document = run(capfd, "checkpoint", "--ledger", copy, "-o", out, "--json").document
    assert document["schema"] == "checkpoint/1"
    assert (document["origin"], document["tree_size"], document["file"], document["kept"]) == (origin, int(size), str(out), str(kept))
    assert document["note"] == done.out == out.read_text()
    again = run(capfd, "checkpoint", "--ledger", copy, "-o", out)
    assert again.status == 2
    assert f"-o: want a file that is not there yet, got '{out}'" in again.err


def test_verify_against_a_checkpoint(capfd: Capture, whole: Kept) -> None:
    """With checkpoint and key the round is covered; without the key, or without both, each output says what is missing."""
    options = ("verify", "--ledger", whole.path, "--round", whole.round_ids[0])
    held = run(capfd, *options, "--checkpoint", whole.checkpoint, "--vkey", whole.vkey)
    assert held.status == 0
    assert f"covered by the checkpoint of {size_of(whole)} leaves, {HELD_KEY}" in held.out
    document = run(capfd, *options, "--checkpoint", whole.checkpoint, "--vkey", whole.vkey, "--json").document
    facts = document["ledger"]
    assert facts["checkpoint"]["tree_size"] == size_of(whole)
    assert facts["checkpoint"]["root"] == facts["root"] or facts["tree_size"] > size_of(whole)
    assert facts["vkey"] == whole.vkey.read_text().strip()
    assert facts["comparison"] == HELD_KEY
    assert NO_KEY in run(capfd, *options, "--checkpoint", whole.checkpoint).out
    assert NO_CHECKPOINT in run(capfd, *options).out
    assert run(capfd, *options, "--json").document["ledger"]["comparison"] == NO_CHECKPOINT


def test_verify_all_against_a_checkpoint(capfd: Capture, whole: Kept) -> None:
    """The summary says what the tree was held against, in text and in JSON, whatever the number of workers."""
    options = ("verify", "--ledger", whole.path, "--all", "--checkpoint", whole.checkpoint)
    done = run(capfd, *options, "--vkey", whole.vkey, "--jobs", 1)
    assert done.status == 0
    assert f"grown from the checkpoint of {size_of(whole)} leaves, {HELD_KEY}" in done.out
    assert NO_KEY in run(capfd, *options, "--jobs", 2).out
    assert run(capfd, *options, "--json").lines[-1]["ledger"]["comparison"] == NO_KEY
    without_seeds = run(capfd, *options, "--keys", whole.vkey.parent, "--sample", 2, "--json")
    assert [line["verdict"] for line in without_seeds.lines[:-1]] == ["not_replayable"] * 2
    assert {line["ledger"]["comparison"] for line in without_seeds.lines[:-1]} == {IN_SUMMARY}
    assert not [line for line in without_seeds.lines[:-1] if NO_CHECKPOINT in str(line)]


def size_of(whole: Kept) -> int:
    """The tree size in the kept checkpoint."""
    return int(whole.checkpoint.read_text().splitlines()[1])


def test_a_cut_tail_is_found(capfd: Capture, whole: Kept, copy: Path) -> None:
    """A ledger whose tail was cut off cleanly is clean by itself, and record_tampered against the checkpoint."""
    size = size_of(whole)
    with closing(sqlite3.connect(copy)) as connection:
        gone = connection.execute("SELECT stream, version_first FROM leaves WHERE leaf_index >= ?", (size - 1,)).fetchall()
    altered(
        copy,
        *(f"DELETE FROM stored_events WHERE originator_id = '{stream}' AND originator_version >= {first}" for stream, first in gone),
        f"DELETE FROM leaves WHERE leaf_index >= {size - 1}",
        f"DELETE FROM nodes WHERE (node_index + 1) << level > {size - 1}",
    )
    options = ("verify", "--ledger", copy, "--round", whole.round_ids[0])
    assert run(capfd, *options).status == 0
    done = run(capfd, *options, "--checkpoint", whole.checkpoint, "--vkey", whole.vkey)
    assert done.status == 3
    assert done.out.startswith("RECORD_TAMPERED")
    assert f"want {size} leaves at least, got {size - 1}" in done.out
    everything = run(capfd, "verify", "--ledger", copy, "--all", "--checkpoint", whole.checkpoint, "--json")
    assert everything.status == 3
    assert "checkpoint_tree_short" in [finding["code"] for finding in everything.lines[-1]["ledger_findings"]]
    refused = run(capfd, "checkpoint", "--ledger", copy)
    assert refused.status == 3
    assert "nothing was signed" in refused.err
    assert refused.out == ""
    unproven = run(capfd, "prove", "--ledger", copy, "--round", whole.round_ids[0], "-o", copy.with_name("p.json"))
    assert unproven.status == 3
    assert unproven.out.startswith("NOT PROVEN\n")
    assert not copy.with_name("p.json").exists()


def test_prove_and_check(capfd: Capture, whole: Kept, tmp_path: Path) -> None:
    """A proof is made from the newest kept checkpoint or the one given, and checked without the ledger, here and independently."""
    for number, options in enumerate(((), ("--checkpoint", whole.checkpoint, "--vkey", whole.vkey))):
        file = tmp_path / f"proof-{number}.json"
        made = run(capfd, "prove", "--ledger", whole.path, "--round", "ext:tx-2", "-o", file, *options)
        assert made.status == 0
        assert f"proof of round {whole.round_ids[2]} in {file}" in made.out
        assert (HELD_KEY if options else NO_KEY) in made.out
        document = json.loads(file.read_text())
        assert (document["schema"], document["round_id"]) == ("prove/1", whole.round_ids[2])
        checked = run(capfd, "prove", "--check", file)
        assert checked.status == 0
        assert checked.out.startswith(f"PROVEN  round {whole.round_ids[2]}\n")
        assert NO_KEY in checked.out
        held = run(capfd, "prove", "--check", file, "--vkey", whole.vkey, "--checkpoint", whole.checkpoint, "--json")
        assert held.status == 0
        assert (held.document["proven"], held.document["ledger"]["comparison"]) == (True, HELD_KEY)
        program = [sys.executable, "-I", str(ROOT / "tools" / "check_proof.py"), str(file), str(whole.vkey)]
        assert subprocess.run(program, capture_output=True, text=True, cwd=tmp_path).stdout.startswith("PROVEN: ")
    assert run(capfd, "prove", "--ledger", whole.path, "--round", "ext:tx-2", "-o", file).status == 2


def test_an_altered_proof_is_named(capfd: Capture, whole: Kept, tmp_path: Path) -> None:
    """An event changed in the file: status 3, the events' leaf with want and got, in text and JSON."""
    file = tmp_path / "proof.json"
    run(capfd, "prove", "--ledger", whole.path, "--round", whole.round_ids[0], "-o", file)
    file.write_text(file.read_text().replace('\\"total_win_minor\\":', '\\"total_win_minor\\":1', 1))
    done = run(capfd, "prove", "--check", file, "--vkey", whole.vkey)
    assert done.status == 3
    assert done.out.startswith(f"NOT PROVEN  round {whole.round_ids[0]}\n  [integrity] leaf_path, event 1: audit path of leaf ")
    document = run(capfd, "prove", "--check", file, "--json").document
    assert (document["proven"], [finding["code"] for finding in document["findings"]]) == (False, ["leaf_path"])


def test_a_round_altered_in_the_ledger_is_not_proven(capfd: Capture, whole: Kept, copy: Path) -> None:
    """No file is written for a round whose bytes are not those of its leaf."""
    stream = f"round/{whole.round_ids[0]}"
    altered(copy, f"UPDATE stored_events SET state = '{{}}' WHERE originator_id = '{stream}' AND originator_version = 1")
    done = run(capfd, "prove", "--ledger", copy, "--round", whole.round_ids[0], "-o", copy.with_name("p.json"))
    assert done.status == 3
    assert "leaf_path" in done.out
    assert not copy.with_name("p.json").exists()


def test_prove_writes_nothing_but_its_file(capfd: Capture, copy: Path, whole: Kept, tmp_path: Path) -> None:
    """`prove` and `verify` leave ledger, keys and kept checkpoints as they are."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert run(capfd, "prove", "--ledger", copy, "--round", whole.round_ids[0], "-o", tmp_path / "p.json").status == 0
    assert run(capfd, "verify", "--ledger", copy, "--all", "--checkpoint", whole.checkpoint).status == 0
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix not in (".db-wal", ".db-shm")}
    after.pop(tmp_path / "p.json")
    assert {path: content for path, content in after.items() if not path.name.endswith(("-wal", "-shm"))} == before


BAD_NOTES = {
    "empty": b"",
    "binary": bytes(range(256)),
    "text": b"hello\n",
    "huge": b"x" * 2_000_000,
    "unsigned": b"slot-ledger/x\n1\nAAAA\n",
}


@pytest.mark.parametrize("name", BAD_NOTES)
def test_a_file_that_is_no_checkpoint(capfd: Capture, whole: Kept, tmp_path: Path, name: str) -> None:
    """Whatever the file holds: status 4, its name, what was wanted and found."""
    file = tmp_path / "bad.checkpoint"
    file.write_bytes(BAD_NOTES[name])
    for command in (("verify", "--round", whole.round_ids[0]), ("verify", "--all"), ("prove", "--round", whole.round_ids[0], "-o", "p")):
        done = run(capfd, *command, "--ledger", whole.path, "--checkpoint", file)
        assert (done.status, done.out) == (4, "")
        assert f"of checkpoint {file}: want " in done.err


def test_a_cut_checkpoint_and_a_missing_one(capfd: Capture, whole: Kept, tmp_path: Path) -> None:
    """A checkpoint cut anywhere is unreadable or not signed; a missing one and a folder are named."""
    content = whole.checkpoint.read_bytes()
    file = tmp_path / "cut.checkpoint"
    for length in (1, 20, len(content) // 2, len(content) - 40, len(content) - 1):
        file.write_bytes(content[:length])
        done = run(capfd, "verify", "--ledger", whole.path, "--round", whole.round_ids[0], "--checkpoint", file)
        assert (done.status, done.out) == (4, "")
    for path in (tmp_path / "none", tmp_path):
        done = run(capfd, "verify", "--ledger", whole.path, "--all", "--checkpoint", path)
        assert done.status == 4
        assert f"checkpoint {path}: want a file that can be read, got " in done.err


def test_keys_that_are_none(capfd: Capture, whole: Kept, tmp_path: Path) -> None:
    """A missing key, a private one in its place, binary and text: status 4; another ledger's key: findings."""
    log_key = whole.path.with_name("ledger.db.keys") / "log.key"
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    for path in (tmp_path / "none", tmp_path, log_key, binary, whole.checkpoint):
        done = run(capfd, "verify", "--ledger", whole.path, "--round", whole.round_ids[0], "--vkey", path)
        assert (done.status, done.out) == (4, "")
        assert f"key file {path}: want " in done.err
        assert "BEGIN PRIVATE" not in done.err
    with RoundLedger.create(tmp_path / "other.db"):
        pass
    other = tmp_path / "other.db.keys" / "log.vkey"
    done = run(
        capfd, "verify", "--ledger", whole.path, "--round", whole.round_ids[0], "--checkpoint", whole.checkpoint, "--vkey", other, "--json"
    )
    assert (done.status, done.document["verdict"]) == (3, "record_tampered")
    assert [finding["code"] for finding in done.document["findings"]] == ["log_key", "checkpoint_signature"]
    assert done.document["ledger"]["checkpoint"] is None


def test_checkpoint_without_its_key(capfd: Capture, copy: Path, tmp_path: Path) -> None:
    """No log key, another ledger's, and a kept copy that is damaged: nothing is signed, status 4, no traceback."""
    done = run(capfd, "checkpoint", "--ledger", copy, "--keys", tmp_path / "none")
    assert (done.status, done.out) == (4, "")
    assert "log.key: want a file, got none" in done.err
    with RoundLedger.create(tmp_path / "other.db"):
        pass
    done = run(capfd, "checkpoint", "--ledger", copy, "--keys", tmp_path / "other.db.keys")
    assert (done.status, done.out) == (4, "")
    assert "want the key of slot-ledger/" in done.err
    (kept,) = (copy.with_name("ledger.db.keys") / "checkpoints").iterdir()
    kept.write_bytes(b"\0")
    done = run(capfd, "checkpoint", "--ledger", copy)
    assert (done.status, done.out) == (4, "")
    assert f"of checkpoint {kept}: want " in done.err
    assert run(capfd, "checkpoint", "--ledger", tmp_path / "none.db").status == 4
    kept.unlink()
    kept.parent.rmdir()
    kept.parent.write_text("no folder")
    done = run(capfd, "checkpoint", "--ledger", copy)
    assert (done.status, done.out) == (4, "")
    assert f"checkpoint {kept.parent}: want a file that can be read, got Not a directory" in done.err


def test_files_that_cannot_be_written(capfd: Capture, whole: Kept, tmp_path: Path) -> None:
    """A folder that is not there, or a name that no file can have, is told."""
    for out in (tmp_path / "none" / "file", "a" * 300):
        for command in (("checkpoint",), ("prove", "--round", whole.round_ids[0])):
            done = run(capfd, *command, "--ledger", whole.path, "-o", out)
            assert done.status == 4
            assert f"write to {out}: want room and access, got " in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prove",), "--round, --check: want one of them, got 'neither'"),
        (("prove", "--round", "x", "--check", "y"), "--round, --check: want one of them, got 'both'"),
        (("prove", "--round", "01234567"), "-o: want a new file for the proof, got ''"),
        (("prove", "--check", "none.json"), "proof none.json: want a file that can be read, got No such file or directory"),
        (("prove", "--check", "none.json", "-o", "x"), "-o: want it with --round only, got 'x'"),
        (("prove", "--round", "deadbeef" * 4, "-o", "p.json"), "round deadbeef"),
    ],
    ids=str,
)
def test_wrong_usage(
    capfd: Capture, whole: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Each wrong combination is named, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = run(capfd, *arguments, *(("--ledger", whole.path) if "--round" in arguments else ()))
    assert done.status in (2, 3, 4)
    assert message in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_prove_without_any_checkpoint(capfd: Capture, tmp_path: Path) -> None:
    """Where no checkpoint was ever signed, and for a round after the last one, the command to make one is named."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as opened:
        ann = opened.open_account("ann", "EUR")
        opened.move_funds(ann, 10_000)
        round_id = opened.play(ann, installed_game(GAME), "base", 200).round_id
        done = run(capfd, "prove", "--ledger", path, "--round", round_id, "-o", tmp_path / "p.json")
        assert done.status == 2
        assert "audit checkpoint" in done.err
        run(capfd, "checkpoint", "--ledger", path)
        later = opened.play(ann, installed_game(GAME), "base", 200).round_id
    done = run(capfd, "prove", "--ledger", path, "--round", later, "-o", tmp_path / "p.json")
    assert done.status == 2
    assert f"leaves of round {later}: want all in the checkpoint of " in done.err
    assert not (tmp_path / "p.json").exists()


def test_kept_copies_may_be_read_by_all(whole: Kept) -> None:
    """A checkpoint is public: the kept copy may be read by whoever may enter the folder."""
    (kept,) = (whole.path.with_name("ledger.db.keys") / "checkpoints").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) & 0o044 == 0o044


def test_on_postgresql(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """Signed, proven and held against on a database as on a file; the keys lie where they are named, no password is printed."""
    pytest.importorskip("psycopg")
    url, keys = postgres.url(postgres.new_database()), tmp_path / "keys"
    where = ("--ledger", url, "--keys", keys)
    assert run(capfd, "init", *where).status == 0
    assert run(capfd, "play", "--game", GAME, *where, "--rounds", 3).status == 0
    file, proof = tmp_path / "c", tmp_path / "p.json"
    done = run(capfd, "checkpoint", *where, "-o", file)
    assert done.status == 0
    assert url not in done.out + done.err
    held = ("--checkpoint", file, "--vkey", keys / "log.vkey")
    round_id = run(capfd, "find", "--ledger", url, "--json").lines[0]["round_id"]
    assert run(capfd, "verify", *where, "--round", round_id, *held, "--json").document["ledger"]["comparison"] == HELD_KEY
    assert run(capfd, "prove", *where, "--round", round_id, "-o", proof).status == 0
    assert run(capfd, "prove", "--check", proof, *held).status == 0
    altered(url, "DELETE FROM leaves WHERE leaf_index >= 5", "DELETE FROM nodes WHERE (node_index + 1) * 2 ^ level > 5")
    assert run(capfd, "checkpoint", *where).status == 3
    assert "checkpoint_tree_short" in run(capfd, "verify", *where, "--all", *held).out
    assert run(capfd, "checkpoint", "--ledger", url).status == 2
