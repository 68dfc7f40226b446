"""What a hostile hand can put into a ledger, on the command line or at the end of a pipe: a message each, and no traceback."""

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit_reports import output
from engines.registry import installed_game
from ledger.rounds import RoundLedger
from tests.command_line import Ended, run
from tests.conftest import ROOT
from tests.ledger_files import altered

GAME = "moonlight-princess"
PROGRAM = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with three rounds of `ann`."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    opened = RoundLedger.create(path)
    ann = opened.open_account("ann", "EUR")
    opened.move_funds(ann, 100_000)
    for _ in range(3):
        opened.play(ann, installed_game(GAME), "base", 200)
    opened.close()
    return path


@pytest.fixture
def ledger(whole: Path, tmp_path: Path) -> Path:
    """A copy of that ledger, with its keys, to be altered."""
    shutil.copyfile(whole, tmp_path / "ledger.db")
    shutil.copytree(whole.with_name("ledger.db.keys"), tmp_path / "ledger.db.keys")
    return tmp_path / "ledger.db"


def ids_of(ledger: Path) -> list[str]:
    with closing(sqlite3.connect(ledger)) as connection:
        return [row[0] for row in connection.execute("SELECT round_id FROM rounds ORDER BY round_id")]


def put(ledger: Path, round_id: str, topic: str, **values: Any) -> None:
    """Overwrite fields of one event of a round."""
    place = f"topic = '{topic}' AND originator_id = 'round/{round_id}'"
    with closing(sqlite3.connect(ledger)) as connection:
        event = json.loads(connection.execute(f"SELECT state FROM stored_events WHERE {place}").fetchone()[0])
    put_bytes(ledger, round_id, topic, json.dumps(event | values, sort_keys=True, separators=(",", ":")).encode())


def put_bytes(ledger: Path, round_id: str, topic: str, data: bytes) -> None:
    altered(ledger, f"UPDATE stored_events SET state = x'{data.hex()}' WHERE topic = '{topic}' AND originator_id = 'round/{round_id}'")


def start(*arguments: object, **options: Any) -> Any:
    """Run `audit` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, "-c", PROGRAM, *map(str, arguments)], env=environment, timeout=60, **options)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal_will_do(whole: Path, encoding: str) -> None:
    """Half of a surrogate pair and letters that the terminal has not are printed escaped, and JSON stays JSON."""
    name = os.fsdecode("☃é".encode() + b"\xff")
    for command in (("find", "--external", name), ("show", "--round", name * 4), ("export", "--round", name * 4)):
        done = start(*command, "--ledger", whole, environment={"PYTHONIOENCODING": encoding})
        assert done.returncode in (0, 3)
        assert b"Traceback" not in done.stderr
    shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", shown)
        output.prepare_streams()
        output.print_json({"name": name, "bell": "\x07\x7f\x9b"})
        output.print_line(name)
        shown.flush()
    line = shown.buffer.getvalue().split(b"\n")[0]  # type: ignore[attr-defined]
    assert json.loads(line) == {"name": name, "bell": "\x07\x7f\x9b"}
    assert not set(line) & {0x07, 0x7F}


def test_control_characters_are_shown_escaped(capfd: Capture, ledger: Path) -> None:
    """What was written into a record to move the cursor of whoever reads it arrives as text."""
    evil = "\x1b[2J\x1b]0;pwned\x07\x9b\x7f\r"
    put(ledger, ids_of(ledger)[0], "round_opened/1", mode=evil, currency=evil)
    for command in ("find", "history", ("history", "--csv"), ("show", "--round", ids_of(ledger)[0]), ("verify", "--all")):
        words = command if isinstance(command, tuple) else (command,)
        done = run(capfd, *words, "--ledger", ledger)
        assert not set(done.out + done.err) & set("\x1b\x07\x9b\x7f\r")
    assert r"\x1b[2J" in run(capfd, "find", "--ledger", ledger).out
    assert output.printable("\x1b[31mred\x1b[0m\x1b[2J", is_colour_kept=True) == "\x1b[31mred\x1b[0m\\x1b[2J"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_behind_the_output_is_said(whole: Path) -> None:
    """Results that cannot be written end with 4 and a message; help as well."""
    for command in (("find", "--ledger", whole), ("export", "--all", "--ledger", whole), ("--help",), ("games", "--json")):
        with open("/dev/full", "w") as full:
            done = start(*command, stdout=full)
        assert done.returncode == 4
        assert b"No space left on device" in done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


def test_a_reader_that_has_gone_is_no_error(whole: Path) -> None:
    """`audit … | head -1` ends without a word and with 141, never with the 0 that means nothing is wrong."""
    for command in (("find", "--ledger", whole), ("export", "--all", "--ledger", whole), ("--help",), ("rules", "--game", GAME)):
        reading, writing = os.pipe()
        os.close(reading)
        done = start(*command, stdout=writing)
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, b"")


def test_an_unknown_currency_is_listed(capfd: Capture, ledger: Path) -> None:
    """A record in a currency that there is none of is shown in minor units by every view, and no view ends at it."""
    round_id = ids_of(ledger)[0]
    put(ledger, round_id, "round_opened/1", currency="ZZZ")
    for command in (("find",), ("history",), ("verify", "--all"), ("verify", "--round", round_id), ("show", "--round", round_id)):
        done = run(capfd, *command, "--ledger", ledger)
        assert done.status in (0, 3)
        assert "ZZZ" in done.out
    assert "200 minor units" in run(capfd, "find", "--ledger", ledger).out


@pytest.mark.parametrize("time_us", [10**30, -1, 2**63, 2**53])
def test_a_time_out_of_range_is_unreadable(capfd: Capture, ledger: Path, time_us: int) -> None:
    """A time that no record can hold makes its round unreadable, in lists and in the read model, and no crash."""
    put(ledger, ids_of(ledger)[0], "round_opened/1", opened_at_us=time_us)
    assert_first_is_unreadable(capfd, ledger)
    assert "10000000" in output.time_text(10**30)
    assert output.time_text(-(10**30), "Europe/Malta").startswith("-1")


@pytest.mark.parametrize("topic", ["round_opened/1", "round_settled/1"])
@pytest.mark.parametrize("data", [b"[" * 100_000, b"null", b'{"game":"\\ud800"}', b"9" * 5000, "{}".encode("utf-16")], ids=len)
def test_bytes_that_break_parsers_are_unreadable(capfd: Capture, ledger: Path, topic: str, data: bytes) -> None:
    """Nested without end, half pairs, endless numbers: the round is unreadable, and its export says what the bytes are."""
    put_bytes(ledger, ids_of(ledger)[0], topic, data)
    assert_first_is_unreadable(capfd, ledger)
    done = run(capfd, "export", "--all", "--ledger", ledger)
    assert done.status == 0
    assert all(json.loads(line)["event"] is not None or json.loads(line)["event_hex"] == data.hex() for line in done.out.splitlines())


def assert_first_is_unreadable(capfd: Capture, ledger: Path) -> None:
    first = ids_of(ledger)[0]
    filters = ("--account", "ann", "--win-min", "9999.00", "--until", "1980-01-01", "--tz", "UTC", "--status", "open", "--game", GAME)
    done = run(capfd, "find", "--ledger", ledger, *filters, "--external", "none", "--json")
    assert done.status == 3
    assert [(line.get("round_id"), line.get("status")) for line in done.lines[:-1]] == [(first, "unreadable")]
    assert done.lines[-1]["unreadable"] == 1
    assert "1 round cannot be read: run audit verify --all" in run(capfd, "find", "--ledger", ledger).out
    for command in (("history",), ("history", "--csv"), ("history", "--json")):
        shown = run(capfd, *command, "--ledger", ledger)
        assert shown.status == 3
        assert "unreadable" in shown.out
    assert "1 round cannot be read" in run(capfd, "history", "--ledger", ledger).out
    assert run(capfd, "history", "build", "--ledger", ledger, "--json").document["rounds_written"] == 3
    assert run(capfd, "verify", "--all", "--ledger", ledger).status == 3


def test_a_raw_line_end_in_an_event_keeps_the_lines_whole(capfd: Capture, ledger: Path) -> None:
    """An event with a line end in it is exported as altered bytes, so that each line is one event."""
    put_bytes(ledger, ids_of(ledger)[0], "round_opened/1", b'{\n"kind":"round_opened"}')
    assert all("round_id" in json.loads(line) for line in run(capfd, "export", "--all", "--ledger", ledger).out.splitlines())


def test_an_empty_read_model_is_none(capfd: Capture, ledger: Path) -> None:
    """A file without bytes at the read model's place is no read model; a build fills it, and one that fails leaves no file."""
    model = ledger.with_name("ledger.db.history.db")
    model.touch()
    assert "no read model to compare with" in run(capfd, "history", "--ledger", ledger).out
    assert run(capfd, "history", "build", "--ledger", ledger, "--json").document["rounds_written"] == 3
    assert "agrees with the record" in run(capfd, "history", "--ledger", ledger).out


def test_a_read_model_that_lost_rows_is_made_anew_and_that_is_said(capfd: Capture, ledger: Path) -> None:
    """After rows were deleted a build does not say that there is nothing to do."""
    model = ledger.with_name("ledger.db.history.db")
    run(capfd, "history", "build", "--ledger", ledger)
    altered(model, "DELETE FROM rounds")
    assert run(capfd, "history", "--ledger", ledger).status == 3
    done = run(capfd, "history", "build", "--ledger", ledger)
    assert "it had 0 rows of 3; made anew" in done.err
    assert done.out.startswith("3 rounds written")
    assert run(capfd, "history", "--ledger", ledger).status == 0


@pytest.mark.parametrize(
    "place", ["", ".", "/", "..", "x\udcff.db", "mysql://u:secret@h/d", "PostgreSQL://u:secret@h", "a/postgres://:secret@h"]
)
def test_a_place_that_can_be_no_ledger(capfd: Capture, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """No name, bytes that are no text and addresses of other databases are wrong usage; no password is shown and nothing made."""
    monkeypatch.chdir(tmp_path)
    commands = ("init", "doctor", "find", "history", "fsck", "verify --all", "export --all", "seeds list", f"play --game {GAME}")
    for command in (*commands, "history build", "show --round 01234567", "copy out.db"):
        done = run(capfd, *command.split(), "--ledger", place)
        assert done.status == 2, command
        assert "--ledger: want" in done.err
        assert "secret" not in done.err
    for option in (("init", "--keys"), ("history", "--history")) if ":" in place else ():
        done = run(capfd, option[0], "--ledger", whole if option[0] == "history" else tmp_path / "new.db", option[1], place)
        assert (done.status, "secret" in done.err) == (2, False)
    assert list(tmp_path.iterdir()) == []


BAD_OPTIONS = [
    ("simulate --game G --rounds _1", "--rounds: want a whole number"),
    ("simulate --game G --rounds 1__0", "--rounds: want a whole number"),
    (f"simulate --game G --rounds {'9' * 5000}", "9999…'"),
    ("simulate --game G --jobs -3", "--jobs: want 0 or more, got '-3'"),
    ("verify --all --jobs -3 --ledger L", "--jobs: want 0 or more"),
    ("show --spin -7 --round R --ledger L", "--spin: want a spin of the round"),
    ("find --currency EUR --ledger L", "--currency: want it with --win-min alone"),
    ("find --win-min 1 --currency ZZZ --ledger L", "currency ZZZ"),
    ("find --tz Nowhere/Bad --ledger L", "--tz: want a time zone"),
    ("history --tz ../etc --ledger L", "--tz: want a time zone"),
    ("history --csv --json --ledger L", "--csv, --json: want one of them"),
    ("find --since 2026-12-02 --until 2026-12-01 --tz UTC --ledger L", "--until: want a time after --since 2026-12-02"),
    ("find --since 2026-03-29T02:30 --tz Europe/Malta --ledger L", "--since: want a time that there was in Europe/Malta"),
    ("find --since 2026-W48-1 --tz UTC --ledger L", "--since: want a time such as"),
    ("find --since 20261130 --tz UTC --ledger L", "--since: want a time such as"),
    ("find --since 9999-12-31T23:59 --tz America/New_York --ledger L", "--since: want a time such as"),
    ("export --all --canonical --json --ledger L", "--canonical, --json: want one of them"),
    ("seeds release --round R --tz UTC -o keys.jsonl --ledger L", "--tz: want it with --since alone"),
    ("play --game G --rules F --mode turbo --ledger L", "mode of moonlight-princess"),
    ("play --game moon-shine --rules F --ledger L", "game 'moon-shine'"),
    ("simulate --game moon-shine --rules F", "game 'moon-shine'"),
    ("rules --game moon-shine --rules F", "game 'moon-shine'"),
    ("rules --game G --rules F --version 7.0.0", "--version: want 0.1.0"),
]


@pytest.mark.parametrize(("command", "message"), BAD_OPTIONS, ids=[command[:60] for command, _ in BAD_OPTIONS])
def test_no_option_is_passed_over(capfd: Capture, whole: Path, command: str, message: str) -> None:
    """An option that would have no effect, or a value with two readings, is wrong usage."""
    rules = ROOT / "engines" / "games" / "moonlight_princess" / "rules-0.1.0.toml"
    meant = {"G": GAME, "L": whole, "R": ids_of(whole)[0], "F": rules}
    done = run(capfd, *(meant.get(word, word) for word in command.split()))
    assert done.status == 2
    assert message in done.err


def test_times_of_rfc_3339_are_taken(capfd: Capture, whole: Path) -> None:
    """Dates, local times and times with an offset are taken; lists show times in the zone that was named."""
    for text in ("2026-01-01", "2026-01-01T10:00", "2026-01-01 10:00:00", "2026-01-01t10:00:00.123z", "2026-01-01T10:00:00+01:00"):
        assert run(capfd, "find", "--ledger", whole, "--since", text, "--tz", "Asia/Tokyo").status == 0
    shown = run(capfd, "find", "--ledger", whole, "--tz", "Asia/Tokyo").out.splitlines()
    assert shown[0].split()[:3] == ["round", "opened", "account"]
    assert all(" +0900  ann " in line for line in shown[1:-1])


@pytest.mark.parametrize("obstacle", ["link", "file", "link_fails"])
def test_an_init_that_fails_leaves_no_keys(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str) -> None:
    """Whatever is in the way of a new ledger, no keys of one that is not there are left behind."""
    path = tmp_path / "new.db"
    if obstacle == "link":
        path.symlink_to(tmp_path / "nowhere")
    elif obstacle == "file":
        path.touch()
    else:
        monkeypatch.setattr(os, "link", fail_with_full_disk)
    done = run(capfd, "init", "--ledger", path)
    assert done.status == (4 if obstacle == "link_fails" else 2)
    assert [each.name for each in tmp_path.iterdir()] == ([] if obstacle == "link_fails" else ["new.db"])


def fail_with_full_disk(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("option", ["--bet 2.01", "--mode turbo", "--currency ZZZ", f"--client-seed {'a' * 300}", "--bet 1e3"])
def test_a_bet_that_is_refused_opens_no_account(capfd: Capture, ledger: Path, option: str) -> None:
    """Nothing is recorded for a bet that cannot be taken, not even an account and its play money."""
    content = ledger.read_bytes()
    done = run(capfd, "play", "--ledger", ledger, "--game", GAME, "--account", "new", *option.split())
    assert done.status == 2
    assert ledger.read_bytes() == content


def play_with(capfd: Capture, ledger: Path, patch: Any, at: int) -> Ended:
    """Play five rounds, and call `patch` with the ledger and its own settlement of the round `at`."""
    settle, count = RoundLedger.settle_round, 0

    def settle_round(self: RoundLedger, opened: Any, outcome: Any) -> Any:
        nonlocal count
        count += 1
        return patch(self, opened) if count == at else settle(self, opened, outcome)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(RoundLedger, "settle_round", settle_round)
        return run(capfd, "play", "--ledger", ledger, "--game", GAME, "--account", "ann", "--rounds", 5)


def test_a_full_disk_during_play_says_what_is_recorded(capfd: Capture, ledger: Path) -> None:
    """The rounds that were recorded are counted, the one that lies open is named, and the next play finishes it."""
    from ledger.errors import LedgerUnwritable

    def fail(self: RoundLedger, opened: Any) -> None:
        raise LedgerUnwritable(str(ledger), "database or disk is full")

    done = play_with(capfd, ledger, fail, 3)
    assert done.status == 4
    open_id = ids_of(ledger)[-1]
    assert f"2 of 5 rounds done, each recorded whole; round {open_id} is open: its bet is taken" in done.err
    assert "nothing was recorded" not in done.err
    assert (
        f"round {open_id} was still in play: finished first"
        in run(capfd, "play", "--ledger", ledger, "--game", GAME, "--account", "ann").err
    )


def test_another_process_on_the_account_is_named_as_what_it_may_be(capfd: Capture, ledger: Path) -> None:
    """A round of ours that somebody else settled, or one of theirs in our way, is told as two plays on one account."""

    def finish_elsewhere(self: RoundLedger, opened: Any) -> Any:
        with RoundLedger.open_for_writing(ledger) as other:
            other.finish_round(opened.round_id, installed_game(GAME))
        return self.settle_round(opened, installed_game(GAME).play(opened.key, "base", 200, {}, ()))

    done = play_with(capfd, ledger, finish_elsewhere, 2)
    assert done.status == 2
    assert "another process may be playing on it" in done.err
    assert "1 of 5 rounds done" in done.err


def test_ctrl_c_comes_before_or_after_a_round_never_inside(capfd: Capture, ledger: Path) -> None:
    """A signal in the middle of a round waits for its settlement; the count that is said is the count that is recorded."""
    import signal

    settle = RoundLedger.settle_round
    outcomes: list[int] = []

    def interrupt(self: RoundLedger, opened: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        outcomes.append(1)
        return settle(self, opened, installed_game(GAME).play(opened.key, "base", 200, {}, ()))

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        done = play_with(capfd, ledger, interrupt, 2)
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert done.status == 143
    assert "interrupted; 2 of 5 rounds done, each recorded whole\n" in done.err
    assert len(ids_of(ledger)) == 5
    assert run(capfd, "verify", "--all", "--ledger", ledger, "--json").lines[-1]["verdicts"] == {"reproduced": 5}


def test_ctrl_c_while_loading_ends_with_130() -> None:
    """From the first line of the entry point on, a signal ends the process without a word of Python's."""
    program = "import os, signal\nfrom audit_reports import interruption\ninterruption.end_at_once()\nos.kill(os.getpid(), signal.SIG{})"
    for name, status in (("INT", 130), ("TERM", 143)):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", program.format(name)], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (status, "interrupted; nothing was begun\n")


def test_show_needs_no_tree(capfd: Capture, ledger: Path) -> None:
    """A round is shown though a node and a leaf on its path are damaged."""
    altered(ledger, "DELETE FROM nodes", "UPDATE leaves SET leaf_hash = x'00' WHERE leaf_index > 2")
    done = run(capfd, "show", "--ledger", ledger, "--round", ids_of(ledger)[0])
    assert done.status == 0
    assert "Moonlight Princess" in done.out


def test_few_rounds_have_no_interval(capfd: Capture) -> None:
    """Below a thousand rounds no interval is given, in words and in JSON."""
    options = ("simulate", "--game", GAME, "--rounds", 1, "--seed", "00", "--jobs", 1)
    document = run(capfd, *options, "--json").document
    assert (document["rtp_low"], document["rtp_high"]) == (None, None)
    assert "interval not meaningful below 1,000 rounds" in run(capfd, *options).out


def test_export_as_json_is_counted(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """With --json each line names its schema and the last counts them, and `check` takes such a file."""
    *lines, total = run(capfd, "export", "--all", "--ledger", whole, "--json").lines
    assert {line["schema"] for line in lines} == {"export/1"}
    assert total == {"schema": "export/1", "rounds": 3, "events": len(lines)}
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, [*lines, total])))
    assert run(capfd, "check", tmp_path / "all.jsonl").status == 0


def test_doctor_does_not_ask_for_keys_that_are_there(capfd: Capture, ledger: Path) -> None:
    """Where only the ledger is gone or damaged, nothing is said of restoring keys, nor of `audit init`, which they would stop."""
    ledger.write_bytes(b"no ledger any more")
    damaged = run(capfd, "doctor", "--ledger", ledger)
    ledger.unlink()
    missing = run(capfd, "doctor", "--ledger", ledger)
    for done in (damaged, missing):
        assert done.status == 4
        assert done.out.count("BAD") == 1
        assert "restore the ledger from its backup" in done.out or "restore it from its backup" in done.out
        assert "audit init" not in done.out.split("mend:")[1]


def test_a_demo_that_cannot_be_written(capfd: Capture, tmp_path: Path) -> None:
    """A folder that cannot be made is named with the reason."""
    (tmp_path / "file").touch()
    done = run(capfd, "demo", "--dir", tmp_path / "file" / "tour")
    assert done.status == 4
    assert "Not a directory" in done.err


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (("CREATE TRIGGER leaves_no_update BEFORE UPDATE ON leaves BEGIN SELECT 1; END",), "0 and 1 that are not the ledger's"),
        ((), "0"),
    ],
)
def test_doctor_looks_at_what_triggers_do(capfd: Capture, ledger: Path, statements: tuple[str, ...], said: str) -> None:
    """Triggers that were dropped, or put back under their names with nothing to do, guard nothing."""
    assert "ok   append-only triggers: 6\n" in run(capfd, "doctor", "--ledger", ledger).out
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    done = run(capfd, "doctor", "--ledger", ledger)
    assert done.status == 4
    assert f"BAD  append-only triggers: {said}\n" in done.out
    assert "otherwise than in a new ledger, the first: trigger " in done.out


def test_doctor_sees_a_trigger_of_another_hand(capfd: Capture, ledger: Path) -> None:
    """One trigger more than the ledger's own is told, whatever it does."""
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("CREATE TRIGGER other AFTER INSERT ON leaves BEGIN UPDATE accounts SET balance_minor = balance_minor + 1; END")
    done = run(capfd, "doctor", "--ledger", ledger)
    assert done.status == 4
    assert "BAD  append-only triggers: 6 and 1 that are not the ledger's\n" in done.out
