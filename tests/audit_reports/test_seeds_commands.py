"""Seed epochs through the command line: closed, revealed, and keys of settled rounds for an auditor."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT
from tests.ledger_files import altered

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


def test_an_epoch_without_a_number_stops_no_list(capfd: Capture, ledger: tuple[Path, list[str], str]) -> None:
    """Where the numbers of epochs are gone from a table made anew, no epoch's row is found and nothing crashes."""
    path, _, _ = ledger
    altered(path, "CREATE TABLE anew AS SELECT * FROM epochs", "DROP TABLE epochs", "ALTER TABLE anew RENAME TO epochs")
    for value in ("NULL", "'x'"):
        altered(path, f"UPDATE epochs SET epoch = {value} WHERE rowid = 2")
        states = run(capfd, "seeds", "list", "--ledger", path, "--json").document["epochs"]
        assert [state["epoch"] for state in states] == [1]


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


def told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_player_checks_his_own_rounds_by_the_how_to(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe of the how-to, run as it stands there, confirms rounds played the player's way, and no altered one."""
    path, file = tmp_path / "ledger.db", tmp_path / "rounds.jsonl"
    run(capfd, "init", "--ledger", path)
    told(monkeypatch, "dice 4 2 6\nnot read\n")
    play = ("play", "--ledger", path, "--game", GAME.rules.game, "--epoch-of", "account")
    played = run(capfd, *play, "--client-seed", "-", "--rounds", 5)
    assert played.status == 0
    shown = re.search(r"epoch 1, commitment ([0-9a-f]{64}), next nonce 0\nclient seed, one line:\n", played.err)
    assert shown
    assert run(capfd, *play, "--account", "other").status == 0
    seed = run(capfd, "seeds", "reveal", "--epoch", 1, "--ledger", path, "--json").document["revealed"][0]["server_seed"]
    exported = run(capfd, "export", "--all", "--ledger", path).out
    page = (ROOT / "docs" / "how-to-check-your-own-rounds.md").read_text()
    recipe = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    values = {"kept before the bet": shown[1], "chosen after that": "dice 4 2 6", "shown after the reveal": seed, "rounds.jsonl": str(file)}
    for name, value in values.items():
        assert f'"{name}"' in recipe
        recipe = recipe.replace(f'"{name}"', repr(value))

    def checked(text: str, program: str = recipe) -> str:
        file.write_text(text)
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert checked(exported).endswith("5 rounds follow from the seed\n")
    lines = exported.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if '"nonce":0' in line.replace(" ", ""))
    rounds = json.loads(lines[first])["round_id"]
    assert "a nonce was left out" in checked("".join(line for line in lines if rounds not in line))
    assert "not the key that was committed to" in checked(
        re.sub(r'"round_key_commitment": ?"..', lambda found: found[0][:-2] + "zz", exported)
    )
    assert "not the client seed that was chosen" in checked(exported.replace("dice 4 2 6", "dice 6 6 6"))
    assert "another win was paid" in checked(re.sub(r'"total_win_minor": ?[0-9]+', '"total_win_minor":7', exported))
    assert "the seed leads to another outcome" in checked(re.sub(r'"award_minor": ?[0-9]+', '"award_minor":7', exported))
    assert "not the seed that was committed to" in checked(exported, recipe.replace(seed, "00" * 32))


def test_bad_client_seeds_and_owners(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client seed asked for must come, and be one that the record takes; epochs are a writer's or an account's."""
    path = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", path)
    play = ("play", "--ledger", path, "--game", GAME.rules.game)
    for text, message in (
        ("", "--client-seed: want a line on the standard input, got 'its end'"),
        ("x" * 257 + "\n", "client seed: want 256"),
    ):
        told(monkeypatch, text)
        done = run(capfd, *play, "--client-seed", "-")
        assert done.status == 2
        assert message in done.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8"))
    done = run(capfd, *play, "--client-seed", "-")
    assert (done.status, "want a line of Unicode text on the standard input" in done.err) == (2, True)
    done = run(capfd, *play, "--epoch-of", "bank")
    assert (done.status, "--epoch-of: want writer or account, got 'bank'" in done.err) == (2, True)
    assert run(capfd, "find", "--ledger", path, "--json").lines[-1].get("rounds", 0) == 0


def test_epochs_of_an_account_are_listed(capfd: Capture, tmp_path: Path) -> None:
    """An open epoch of an account is shown with commitment and next nonce, to whoever has the ledger, without keys."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path, epoch_of="account") as opened:
        refs = [opened.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            opened.move_funds(ref, 10_000)
            opened.play(ref, GAME, "base", 200)
        shown = opened.commitment(refs[1])
        listed = run(capfd, "seeds", "list", "--account", "bob", "--ledger", path, "--json").document["epochs"]
        assert listed == [
            {
                "epoch": 2,
                "status": "open",
                "round_count": 1,
                "seed_commitment": shown.seed_commitment,
                "account_ref": refs[1],
                "next_nonce": 1,
            }
        ]
        lines = run(capfd, "seeds", "list", "--ledger", path).out.splitlines()
        assert [line.split()[:5] for line in lines[1:]] == [["1", "open", "1", "1", "ann"], ["2", "open", "1", "1", "bob"]]
    assert run(capfd, "seeds", "list", "--account", "cid", "--ledger", path).status != 0


def test_another_seed_key_by_the_command(capfd: Capture, ledger: tuple[Path, list[str], str]) -> None:
    """`seeds rekey` closes what is open and says what to do; doctor names a folder that is behind; all rounds still verify."""
    path, _, _ = ledger
    keys = path.with_name("ledger.db.keys")
    old = (keys / "seeds.key").read_bytes()
    done = run(capfd, "seeds", "rekey", "--ledger", path, "--json").document
    assert done["closed_epochs"] == [2]
    assert "seed key in force" in run(capfd, "doctor", "--ledger", path).out
    assert run(capfd, "play", "--ledger", path, "--game", GAME.rules.game, "--account", "ann").status == 0
    kept = keys / f"seeds.key.{done['old_key_id'][:16]}"
    whole = kept.read_bytes()
    for damaged, said in ((bytes([whole[0] ^ 1]) + whole[1:], f"{kept}: want the key of that id, got"), (whole[:31], "31 bytes")):
        kept.write_bytes(damaged)
        ill = run(capfd, "doctor", "--ledger", path)
        assert (ill.status, f"BAD  {kept.name}: " in ill.out, said in ill.out) == (4, True, True)
    kept.write_bytes(whole)
    (keys / "seeds.key").write_bytes(old)
    ill = run(capfd, "doctor", "--ledger", path)
    assert ill.status == 4
    assert f"BAD  seed key in force: {done['old_key_id']}, the record names {done['new_key_id']}" in ill.out
    text = run(capfd, "seeds", "rekey", "--ledger", path)
    assert text.status == 0
    assert "0 epochs closed" in text.out
    assert run(capfd, "verify", "--all", "--ledger", path, "--jobs", 1).status == 0
    assert run(capfd, "fsck", "--ledger", path).status == 0
    assert len(run(capfd, "seeds", "reveal", "--ledger", path, "--json").document["revealed"]) == 3
