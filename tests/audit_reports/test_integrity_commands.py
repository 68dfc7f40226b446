"""`audit fsck` and `audit copy` as scripts and auditors see them."""

import random
import shutil
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.rounds import RoundLedger
from tests.attacks import attack
from tests.command_line import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of eight rounds with its keys."""
    path = tmp_path_factory.mktemp("integrity") / "ledger.db"
    with RoundLedger.create(path) as opened:
        account_ref = opened.open_account("ann", "EUR")
        opened.move_funds(account_ref, 10_000)
        for _ in range(8):
            opened.play(account_ref, installed_game("moonlight-princess"), "base", 200)
    return path


def test_a_clean_ledger(capfd: Capture, ledger: Path) -> None:
    """fsck of an untouched ledger ends with 0, and says what it counted and the root recomputed from the events."""
    done = run(capfd, "fsck", "--ledger", ledger, "--json")
    assert done.status == 0
    (summary,) = done.lines
    assert (summary["rounds"], summary["findings"]) == (8, 0)
    with RoundLedger.open_for_reading(ledger) as opened:
        assert summary["root"] == opened.store.tree().root.hex()
    assert "0 findings" in run(capfd, "fsck", "--ledger", ledger).out


def test_a_kept_checkpoint_sees_a_log_rebuilt_from_the_start(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """A consistent rewrite is clean in itself, and found by a checkpoint kept elsewhere."""
    kept = tmp_path / "kept.checkpoint"
    assert run(capfd, "checkpoint", "--ledger", ledger, "-o", kept).status == 0
    assert run(capfd, "fsck", "--ledger", ledger, "--checkpoint", kept).status == 0
    copy = tmp_path / "rewritten.db"
    assert run(capfd, "copy", copy, "--ledger", ledger).status == 0
    attack("rebuild the whole log after a change", str(copy), random.Random(5))
    done = run(capfd, "fsck", "--ledger", copy, "--checkpoint", kept, "--json")
    assert done.status == 3
    assert "checkpoint_root" in [line.get("code") for line in done.lines]


def test_what_a_checkpoint_is_worth_is_said(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """Without a verifier key that is held, fsck says that the signature was only compared with the key beside the record."""
    kept = tmp_path / "kept.checkpoint"
    run(capfd, "checkpoint", "--ledger", ledger, "-o", kept)
    alone = run(capfd, "fsck", "--ledger", ledger, "--checkpoint", kept)
    assert "signed by the key found beside the record; not compared with a key you hold" in alone.out
    held = run(capfd, "fsck", "--ledger", ledger, "--checkpoint", kept, "--vkey", ledger.with_name("ledger.db.keys") / "log.vkey")
    assert held.status == 0
    assert "signed by a key that you hold" in held.out


def test_another_ledger_s_checkpoint_is_no_anchor(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """A checkpoint of another log is named by its origin."""
    other = tmp_path / "other.db"
    run(capfd, "init", "--ledger", other)
    kept = tmp_path / "other.checkpoint"
    run(capfd, "checkpoint", "--ledger", other, "-o", kept)
    done = run(capfd, "fsck", "--ledger", ledger, "--checkpoint", kept)
    assert done.status == 3
    assert "origin" in done.out


def test_the_read_model_is_compared_where_there_is_one(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """A changed row of the read model is found."""
    import sqlite3

    model = tmp_path / "model.db"
    run(capfd, "history", "build", "--ledger", ledger, "--history", model)
    assert run(capfd, "fsck", "--ledger", ledger, "--history", model).status == 0
    connection = sqlite3.connect(model)
    connection.execute("UPDATE rounds SET win_minor = win_minor + 1")
    connection.commit()
    connection.close()
    done = run(capfd, "fsck", "--ledger", ledger, "--history", model, "--json")
    assert done.status == 3
    assert {line["code"] for line in done.lines[:-1]} == {"read_model"}


def test_a_copy_is_whole_and_refuses_to_overwrite(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """A copy has the same root, verifies with the ledger's keys, and never replaces a file; a failed one leaves none."""
    copy = tmp_path / "copy.db"
    document = run(capfd, "copy", copy, "--ledger", ledger, "--json").document
    keys = ledger.with_name("ledger.db.keys")
    everything = run(capfd, "verify", "--ledger", copy, "--keys", keys, "--all", "--json")
    assert everything.lines[-1]["verdicts"] == {"reproduced": 8}
    assert everything.lines[-1]["ledger"]["root"] == document["root"]
    again = run(capfd, "copy", copy, "--ledger", ledger)
    assert again.status == 2
    nowhere = run(capfd, "copy", tmp_path / "none" / "copy.db", "--ledger", ledger)
    assert nowhere.status == 4
    assert not (tmp_path / "none").exists()


def test_a_copy_of_a_ledger_in_use(tmp_path: Path) -> None:
    """A copy made while a writer plays is one moment of the ledger, and clean."""
    from ledger.copying import copy_ledger
    from ledger.fsck import check_ledger

    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as opened:
        account_ref = opened.open_account("ann", "EUR")
        opened.move_funds(account_ref, 10**6)
        for number in range(5):
            opened.play(account_ref, installed_game("moonlight-princess"), "base", 200)
            copy_ledger(path, tmp_path / f"copy-{number}.db")
    for number in range(5):
        assert list(check_ledger(tmp_path / f"copy-{number}.db")) == []


@pytest.mark.parametrize("command", ["fsck", "copy"])
def test_bad_ledgers(capfd: Capture, tmp_path: Path, command: str) -> None:
    """A missing ledger and one that is none end with 4 and a message."""
    out = (tmp_path / "out.db",) if command == "copy" else ()
    done = run(capfd, command, *out, "--ledger", tmp_path / "none.db")
    assert done.status == 4
    assert "none.db" in done.err
    (tmp_path / "text.db").write_text("no database " * 1000)
    assert run(capfd, command, *out, "--ledger", tmp_path / "text.db").status == 4
    shutil.rmtree(tmp_path)
