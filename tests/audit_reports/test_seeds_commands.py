"""Seed epochs through the command line: closed, revealed, and keys of settled rounds for an auditor."""

import json
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from tests.command_line import run

Capture = pytest.CaptureFixture[str]
GAME = installed_game("moonlight-princess")


@pytest.fixture
def ledger(tmp_path: Path) -> tuple[Path, list[str], str]:
    """A ledger with two settled rounds in a closed epoch and one in play in an open one; its round ids."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as opened:
        ref = opened.open_account("ann", "EUR")
        opened.move_funds(ref, 10_000)
        settled = [opened.play(ref, GAME, "base", 200).round_id for _ in range(2)]
    writer = RoundLedger.open_for_writing(path)
    in_play = writer.open_round(ref, GAME, "base", 200).round_id
    writer.factory.close()  # as a process that died: its epoch stays open
    return path, settled, in_play


def test_epochs_are_listed_closed_and_revealed(capfd: Capture, ledger: tuple[Path, list[str], str]) -> None:
    """A closed epoch can be revealed, one with a round in play cannot, and fsck finds nothing at any time."""
    path, _, _ = ledger
    states = run(capfd, "seeds", "list", "--ledger", path, "--json").document["epochs"]
    assert [(state["status"], state["round_count"]) for state in states] == [("closed", 2), ("open", 1)]
    early = run(capfd, "seeds", "reveal", "--epoch", 2, "--ledger", path)
    assert early.status == 2
    assert "seed of epoch 2: want a closed epoch, got an open one; close it with `audit seeds rotate`" in early.err
    assert run(capfd, "seeds", "rotate", "--ledger", path, "--json").document["closed"] == [2]
    busy = run(capfd, "seeds", "reveal", "--epoch", 2, "--ledger", path)
    assert busy.status == 2
    assert "want no round of it in play" in busy.err
    revealed = run(capfd, "seeds", "reveal", "--ledger", path, "--json")
    assert [seed["epoch"] for seed in revealed.document["revealed"]] == [1]
    assert "epoch 2: want no round of it in play" in revealed.err
    assert run(capfd, "seeds", "reveal", "--epoch", 1, "--ledger", path, "--json").document == revealed.document
    assert [state["status"] for state in run(capfd, "seeds", "list", "--ledger", path, "--json").document["epochs"]] == [
        "revealed",
        "closed",
    ]
    assert list(check_ledger(path)) == []
    assert run(capfd, "seeds", "reveal", "--epoch", 9, "--ledger", path).status == 4


def test_a_revealed_epoch_needs_no_key(capfd: Capture, ledger: tuple[Path, list[str], str], tmp_path: Path) -> None:
    """After the reveal anybody can rerun the epoch's rounds, without the seed key."""
    path, settled, _ = ledger
    nobody = tmp_path / "nobody"
    assert run(capfd, "verify", "--ledger", path, "--keys", nobody, "--round", settled[0], "--json").document["verdict"] == "not_replayable"
    run(capfd, "seeds", "reveal", "--ledger", path)
    assert run(capfd, "verify", "--ledger", path, "--keys", nobody, "--round", settled[0], "--json").document["verdict"] == "reproduced"


def test_released_keys_let_an_auditor_replay(capfd: Capture, ledger: tuple[Path, list[str], str], tmp_path: Path) -> None:
    """With the released key of a settled round alone the round is reproduced; no seed is in the file."""
    path, settled, in_play = ledger
    nobody, keys = tmp_path / "nobody", tmp_path / "keys.jsonl"
    done = run(capfd, "seeds", "release", "--round", settled[0], "-o", keys, "--ledger", path, "--json")
    assert done.document["released"] == [settled[0]]
    verified = run(capfd, "verify", "--ledger", path, "--keys", nobody, "--round-keys", keys, "--round", settled[0], "--json")
    assert (verified.status, verified.document["verdict"]) == (0, "reproduced")
    assert "the seed itself is not shown" in verified.out
    other = run(capfd, "verify", "--ledger", path, "--keys", nobody, "--round-keys", keys, "--round", settled[1], "--json")
    assert other.document["verdict"] == "not_replayable"
    refused = run(capfd, "seeds", "release", "--round", in_play, "-o", tmp_path / "other.jsonl", "--ledger", path)
    assert refused.status == 2
    assert "its key would disclose what is to come" in refused.err
    everything = tmp_path / "all.jsonl"
    assert run(capfd, "seeds", "release", "--since", "2020-01-01", "--tz", "UTC", "-o", everything, "--ledger", path).status == 0
    assert [json.loads(line)["round_id"] for line in everything.read_text().splitlines()] == settled
    all_ = run(capfd, "verify", "--ledger", path, "--keys", nobody, "--round-keys", everything, "--all", "--json", "--jobs", 1)
    assert all_.lines[-1]["verdicts"]["reproduced"] == 2


def test_a_wrong_released_key_is_found(capfd: Capture, ledger: tuple[Path, list[str], str], tmp_path: Path) -> None:
    """A key that is not the one committed to before the bet is a finding."""
    path, settled, _ = ledger
    keys = tmp_path / "keys.jsonl"
    keys.write_text(json.dumps({"round_id": settled[0], "round_key": "00" * 32}) + "\n")
    done = run(capfd, "verify", "--ledger", path, "--keys", tmp_path / "nobody", "--round-keys", keys, "--round", settled[0], "--json")
    assert done.document["verdict"] == "diverged"
    assert "round_key" in [finding["code"] for finding in done.document["findings"]]


@pytest.mark.parametrize("text", ["{", '{"round_id": "x"}', '{"round_id": "x", "round_key": "12"}', "[]"])
def test_a_damaged_file_of_keys(capfd: Capture, ledger: tuple[Path, list[str], str], tmp_path: Path, text: str) -> None:
    """A damaged line of a key file is named; a file that is not there as well."""
    path, settled, _ = ledger
    keys = tmp_path / "keys.jsonl"
    keys.write_text(text + "\n")
    done = run(capfd, "verify", "--ledger", path, "--round-keys", keys, "--round", settled[0])
    assert done.status == 4
    assert "keys.jsonl, line 1: want" in done.err
    missing = run(capfd, "verify", "--ledger", path, "--round-keys", tmp_path / "none.jsonl", "--round", settled[0])
    assert missing.status == 4
    assert "none.jsonl, line 0: want a file of JSON lines" in missing.err


def test_bad_options_of_release(capfd: Capture, ledger: tuple[Path, list[str], str], tmp_path: Path) -> None:
    """Neither or both of --round and --since, and a file that is there, are wrong usage."""
    path, settled, _ = ledger
    out = tmp_path / "keys.jsonl"
    assert run(capfd, "seeds", "release", "-o", out, "--ledger", path).status == 2
    assert run(capfd, "seeds", "release", "-o", out, "--round", settled[0], "--since", "2020-01-01", "--ledger", path).status == 2
    out.write_text("")
    assert run(capfd, "seeds", "release", "-o", out, "--round", settled[0], "--ledger", path).status == 2
    assert run(capfd, "seeds", "release", "-o", tmp_path / "no" / "k", "--round", settled[0], "--ledger", path).status == 4


def test_an_epoch_is_spent_by_count_and_by_age(tmp_path: Path) -> None:
    """A writer goes on under a fresh seed when an epoch has had its rounds or its time, and no nonce is dealt twice."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as opened:
        ref = opened.open_account("ann", "EUR")
        opened.move_funds(ref, 10_000)
        opened._epochs.rounds_max = 3
        epochs = [opened.play(ref, GAME, "base", 200).opened for _ in range(7)]
        assert [(event.epoch, event.nonce) for event in epochs] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0)]
        opened._epochs.seconds_max = 0
        assert opened.play(ref, GAME, "base", 200).opened.epoch == 4
    assert list(check_ledger(path)) == []


def test_a_restored_backup_never_deals_a_nonce_twice(tmp_path: Path) -> None:
    """A copy put back and played on starts an epoch of its own: no pair of seed and nonce is used twice."""
    from ledger.copying import copy_ledger

    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    used = set()
    with RoundLedger.create(path) as opened:
        ref = opened.open_account("ann", "EUR")
        opened.move_funds(ref, 10_000)
        for _ in range(2):
            event = opened.play(ref, GAME, "base", 200).opened
            used.add((event.seed_commitment, event.nonce))
        copy_ledger(path, backup)
        event = opened.play(ref, GAME, "base", 200).opened
        used.add((event.seed_commitment, event.nonce))
    with RoundLedger.open_for_writing(backup, tmp_path / "ledger.db.keys") as restored:
        for _ in range(3):
            event = restored.play(ref, GAME, "base", 200).opened
            assert (event.seed_commitment, event.nonce) not in used
            used.add((event.seed_commitment, event.nonce))
