"""Bad input: each with its message, its exit status, and no traceback."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.rounds import RoundLedger
from tests.command_line import run

GAME = "moonlight-princess"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with two rounds of `ann`."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    opened = RoundLedger.create(path)
    ann = opened.open_account("ann", "EUR")
    opened.move_funds(ann, 100_000)
    for _ in range(2):
        opened.play(ann, installed_game(GAME), "base", 200)
    opened.close()
    return path


@pytest.fixture
def locked(whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the ledger that another process is writing to."""
    path = tmp_path / "locked.db"
    shutil.copyfile(whole, path)
    shutil.copytree(whole.with_name("ledger.db.keys"), tmp_path / "locked.db.keys")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    yield path
    connection.close()


def test_unknown_game(capfd: Capture, whole: Path) -> None:
    """An unknown game is wrong usage and the known ones are listed."""
    for command in (("play", "--ledger", whole), ("simulate",), ("rules",)):
        done = run(capfd, *command, "--game", "moon-shine")
        assert done.status == 2
        assert "audit: game 'moon-shine': want one of moonlight-princess, starlight-wins, moon-spell, " in done.err


def test_unknown_mode(capfd: Capture, whole: Path) -> None:
    """An unknown mode is wrong usage and the game's modes are listed."""
    for command in (("play", "--ledger", whole), ("simulate",)):
        done = run(capfd, *command, "--game", GAME, "--mode", "turbo")
        assert done.status == 2
        assert "turbo" in done.err
        assert "base" in done.err
        assert "buy" in done.err


def test_unknown_round(capfd: Capture, whole: Path) -> None:
    """An unknown round is the verdict record_missing, and for other commands a message; status 3."""
    done = run(capfd, "verify", "--ledger", whole, "--round", "deadbeef" * 4, "--json")
    assert (done.status, done.document["verdict"]) == (3, "record_missing")
    for command in ("show", "export"):
        done = run(capfd, command, "--ledger", whole, "--round", "deadbeef" * 4)
        assert done.status == 3
        assert "deadbeef" in done.err
    short = run(capfd, "show", "--ledger", whole, "--round", "01a2")
    assert short.status == 3
    assert "8" in short.err


def test_unknown_account(capfd: Capture, whole: Path) -> None:
    """An unknown account is named, with what to do."""
    for command in ("find", "history", ("verify", "--all")):
        words = command if isinstance(command, tuple) else (command,)
        done = run(capfd, *words, "--ledger", whole, "--account", "carl")
        assert done.status in (2, 3)
        assert "carl" in done.err


def test_a_bet_off_the_list(capfd: Capture, whole: Path) -> None:
    """A bet that the game does not take is wrong usage; the nearest allowed ones are named."""
    for bet, near in (("2.10", ("2.00", "2.20")), ("0.10", ("0.20",)), ("100.20", ("100.00",))):
        done = run(capfd, "play", "--ledger", whole, "--game", GAME, "--account", "ann", "--bet", bet)
        assert done.status == 2
        assert all(amount in done.err for amount in near)
    for bet in ("2.005", "two", "-2.00", ""):
        assert run(capfd, "play", "--ledger", whole, "--game", GAME, "--account", "ann", "--bet", bet).status == 2


def test_a_missing_ledger(capfd: Capture, tmp_path: Path) -> None:
    """A ledger that is not there is named with the command that makes one; nothing is created."""
    for command in (
        ("verify", "--all"),
        ("play", "--game", GAME),
        ("find",),
        ("history",),
        ("export", "--all"),
        ("show", "--round", "01234567"),
    ):
        done = run(capfd, *command, "--ledger", tmp_path / "none.db")
        assert done.status == 4
        assert "none.db" in done.err
        assert "audit init" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_and_no_sqlite(capfd: Capture, tmp_path: Path) -> None:
    """A file of no bytes, one that is not SQLite and one of another program are each told apart."""
    empty, text, other = tmp_path / "empty.db", tmp_path / "text.db", tmp_path / "other.db"
    empty.write_bytes(b"")
    text.write_text("not a database, however long it may be " * 200)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE dogs (name)")
    connection.close()
    messages = set()
    for path in (empty, text, other):
        before = path.read_bytes()
        done = run(capfd, "verify", "--all", "--ledger", path)
        assert done.status == 4
        assert path.name in done.err
        messages.add(done.err.replace(path.name, ""))
        assert path.read_bytes() == before
    assert len(messages) >= 2


def test_a_locked_ledger(capfd: Capture, locked: Path) -> None:
    """A ledger that another process holds is named, with what to do."""
    done = run(capfd, "play", "--game", GAME, "--ledger", locked, "--account", "ann")
    assert done.status == 4
    assert "locked.db" in done.err
    assert "lock" in done.err


def test_a_newer_ledger(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """A ledger of a newer program is refused with both versions."""
    path = tmp_path / "newer.db"
    shutil.copyfile(whole, path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    for command in (("verify", "--all"), ("play", "--game", GAME)):
        done = run(capfd, *command, "--ledger", path, "--keys", whole.with_name("ledger.db.keys"))
        assert done.status == 4
        assert "99" in done.err


def test_no_key(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """Playing without the seed key, or with another's, is refused before a bet is taken."""
    done = run(capfd, "play", "--game", GAME, "--ledger", whole, "--keys", tmp_path)
    assert done.status == 4
    assert "seeds.key" in done.err
    (tmp_path / "seeds.key").write_bytes(bytes(7))
    short = run(capfd, "play", "--game", GAME, "--ledger", whole, "--keys", tmp_path)
    assert short.status == 4
    (tmp_path / "seeds.key").write_bytes(bytes(32))
    other = run(capfd, "play", "--game", GAME, "--ledger", whole, "--account", "ann", "--keys", tmp_path)
    assert other.status == 4
    assert "seed key" in other.err
    assert run(capfd, "find", "--ledger", whole, "--json").lines[-1]["rounds"] == 2


def test_cut_and_damaged_lines(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """A cut or damaged line is named by its number; a file that is not there or no text as well."""
    exported = run(capfd, "export", "--ledger", whole, "--all").out
    file = tmp_path / "rounds.jsonl"
    lines = exported.splitlines()
    for damage in (lines[1][:-20], lines[1].replace('"index":1', '"index":"one"'), "[]", "\x00", '{"event":{}}', lines[1] + "}"):
        file.write_text("\n".join([lines[0], damage, *lines[2:]]))
        done = run(capfd, "check", file)
        assert done.status == 4
        assert "line 2 of the export" in done.err
    file.write_bytes(b"\xff\xfe" + exported.encode())
    assert run(capfd, "check", file).status == 4
    missing = run(capfd, "check", tmp_path / "none.jsonl")
    assert missing.status == 4
    assert "none.jsonl: want one that can be read, got No such file or directory" in missing.err
    assert run(capfd, "check", tmp_path).status == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("verify",), "--round, --all: want one of them, got 'neither'"),
        (("verify", "--all", "--round", "01234567"), "--round, --all: want one of them, got 'both'"),
        (("export",), "--round, --all: want one of them, got 'neither'"),
        (("verify", "--round", "01a22cfdc2af", "--account", "ann"), "--account: want it only together with --all, got 'ann'"),
        (("verify", "--all", "--draws"), "--draws: want it only together with --round, got '--all'"),
        (("verify", "--all", "--since", "2026-11-02", "--until", "2026-11-01", "--tz", "UTC"), "--until: want a time after --since"),
        (("verify", "--all", "--sample", "1.5"), "--sample: want a whole number"),
        (("find", "--since", "yesterday"), "--since: want a time such as"),
        (("find", "--since", "2026-11-30"), "--since: want a time such as"),
        (("find", "--until", "2026-11-30", "--tz", "Moon/Base"), "--tz: want a time zone"),
        (("find", "--status", "lost"), "--status: want open or waiting or interrupted or settled or voided or unreadable, got 'lost'"),
        (("find", "--win-min", "a lot"), "a lot"),
        (("verify", "--all", "--ledger", "postgresql://ann:secret@host/db"), "--keys: want the folder of the keys"),
        (("simulate", "--game", GAME, "--rounds", "0"), "--rounds: want a whole number"),
        (("simulate", "--game", GAME, "--rounds", "1e99"), "--rounds: want a whole number"),
        (("simulate", "--game", GAME, "--seed", "zz"), "--seed: want bytes in hex"),
        (("play", "--game", GAME, "--currency", "XXX", "--account", "dora"), "XXX"),
        (("rules", "--game", GAME, "--version", "7.0.0"), "rules version '7.0.0'"),
        (("rules", "--game", GAME, "--rules", "none.toml"), "rules file none.toml: the file: cannot be read"),
    ],
    ids=str,
)
def test_options_that_cannot_be_taken(capfd: Capture, whole: Path, arguments: tuple[str, ...], message: str) -> None:
    """Each wrong value is named with what was wanted; passwords are never printed."""
    needs_ledger = arguments[0] in ("verify", "export", "find", "play") and "--ledger" not in arguments
    done = run(capfd, *arguments, *(("--ledger", whole) if needs_ledger else ()))
    assert done.status in (2, 4)
    assert message in done.err
    assert "secret" not in done.err
    assert done.out == ""


def test_an_unknown_option_is_wrong_usage(capfd: Capture) -> None:
    """The command line's own errors end with 2."""
    assert run(capfd, "verify", "--colour").status == 2
    assert run(capfd, "fly").status == 2


def test_a_missing_extra_is_named(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba `simulate` names the extra that brings it."""
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "numba" else found(name, *rest))
    done = run(capfd, "simulate", "--game", GAME)
    assert done.status == 2
    assert done.err == "audit: audit simulate: want the library numba, got none; pip install 'slot-audit[fast]'\n"


def test_an_altered_event_is_found_in_the_whole_ledger(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """A win altered past the triggers is record_tampered for that round, in --round and in --all, with status 3."""
    path = tmp_path / "altered.db"
    shutil.copyfile(whole, path)
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        stream, version, data = connection.execute(
            "SELECT originator_id, originator_version, state FROM stored_events WHERE topic = 'spin_ended/1'"
        ).fetchone()
        event = json.loads(data)
        event["award_minor"] += 1
        altered = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
        connection.execute(
            "UPDATE stored_events SET state = ? WHERE originator_id = ? AND originator_version = ?", (altered, stream, version)
        )
    connection.close()
    keys = whole.with_name("ledger.db.keys")
    done = run(capfd, "verify", "--ledger", path, "--keys", keys, "--round", stream.removeprefix("round/"), "--json")
    assert (done.status, done.document["verdict"]) == (3, "record_tampered")
    assert {finding["code"] for finding in done.document["findings"]} >= {"leaf"}
    everything = run(capfd, "verify", "--ledger", path, "--keys", keys, "--all", "--json")
    assert everything.status == 3
    assert everything.lines[-1]["verdicts"] == {"record_tampered": 1, "reproduced": 1}
