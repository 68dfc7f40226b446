"""A round altered in a ledger: `audit verify --round` says `record_tampered`, and the other checks' results stand beside it."""

import json
import os
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_game
from ledger.copying import copy_ledger
from ledger.rounds import RoundLedger
from replay.verdict import CHECK_NAMES
from tests.attacks import ATTACKS, open_for_attack, rebuild_log
from tests.command_line import run

INSTANCES = int(os.environ.get("SLOT_AUDIT_ATTACKS", "6"))
Capture = pytest.CaptureFixture[str]

PAYLOADS = ("change any byte of a payload", "swap two payloads", "change leaf and payload")
LEAVES = ("change a leaf",)
PLACES = ("change a version", "change a stream", "change a topic", "delete an event in the middle", "add an event")
LEAF_COLUMNS = ("version_first", "version_last", "recorded_at_us", "leaf_hash")
EVENT_COLUMNS = ("originator_version", "topic", "state")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of some rounds, long and short, in one file: of 64 leaves, so that there are nodes over each."""
    folder = tmp_path_factory.mktemp("whole")
    game = installed_game("moonlight-princess")
    with RoundLedger.create(folder / "ledger.db") as opened:
        ann = opened.open_account("ann", "EUR")
        opened.move_funds(ann, 10**7)
        opened.move_funds(ann, 10**7)
        for number in range(29):
            opened.play(ann, game, ("base", "buy")[number % 3 // 2], 200, external_ref=f"tx-{number}")
    copy_ledger(folder / "ledger.db", folder / "whole.db")
    shutil.copytree(folder / "ledger.db.keys", folder / "whole.db.keys")
    with RoundLedger.open_for_reading(folder / "whole.db") as opened:
        assert opened.store.tree_size() == 64
    return folder / "whole.db"


def altered_round(whole: Path, copy: Path, name: str, number: int) -> str:
    """Make one instance of an attack that hits a round on a copy; return the round's id."""
    chance = random.Random(f"{name} {number}")
    while True:
        shutil.copyfile(whole, copy)
        with closing(open_for_attack(str(copy))) as connection:
            before = dict(connection.execute("SELECT stream, group_concat(hex(leaf_hash)) FROM leaves GROUP BY stream"))
            words = ATTACKS[name](connection, chance)
            after = dict(connection.execute("SELECT stream, group_concat(hex(leaf_hash)) FROM leaves GROUP BY stream"))
        stream = words or next((stream for stream in before if before[stream] != after[stream]), "")
        if words is not None and stream.startswith("round/"):
            return stream.removeprefix("round/")


def verified(capfd: Capture, whole: Path, copy: Path, round_id: str) -> tuple[dict[str, Any], str]:
    """The verdict as a document and as text."""
    options = ("verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--round", round_id)
    done, told = run(capfd, *options, "--json"), run(capfd, *options)
    assert (done.status, told.status) == (3, 3)
    return done.document, told.out


@pytest.mark.parametrize("name", PAYLOADS + LEAVES + PLACES)
def test_an_altered_round_is_tampered_and_the_other_checks_stand_beside(capfd: Capture, whole: Path, tmp_path: Path, name: str) -> None:
    """The verdict, an integrity finding, and six results; the other checks say what they say where the log is rebuilt over it."""
    copy = tmp_path / "copy.db"
    for number in range(INSTANCES):
        round_id = altered_round(whole, copy, name, number)
        document, text = verified(capfd, whole, copy, round_id)
        assert document["verdict"] == "record_tampered", (name, number)
        checks = {check["name"]: check["result"] for check in document["checks"]}
        assert tuple(checks) == CHECK_NAMES
        assert checks["record"] == "fail"
        finding = next(finding for finding in document["findings"] if finding["severity"] == "integrity")
        assert f"want {finding['want']}, got {finding['got']}" in finding["message"]
        assert text.startswith(f"RECORD_TAMPERED  round {round_id}\n")
        for check in document["checks"]:
            line = next(line for line in text.splitlines() if line.startswith(f"  {check['name']} "))
            assert check["result"].replace("_", " ") in line
        assert all(finding["code"] in text for finding in document["findings"])
        if name in LEAVES:
            assert [checks[each] for each in ("seed", "replay", "referee", "totals")] == ["pass"] * 4, (name, number, checks)
        if name in PAYLOADS:
            with closing(open_for_attack(str(copy))) as connection:
                rebuild_log(connection)
            options = ("verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--round", round_id, "--json")
            laundered = {check["name"]: check["result"] for check in run(capfd, *options).document["checks"]}
            assert laundered | {"record": "fail"} == checks, (name, number)


@pytest.mark.parametrize(("name", "value"), [("epoch", 2**63), ("nonce", 2**64 - 1), ("nonce", -1), ("epoch", -1)])
def test_numbers_that_no_database_holds_are_findings(capfd: Capture, whole: Path, tmp_path: Path, name: str, value: int) -> None:
    """An epoch or a nonce outside its range, in a log rebuilt over it: a finding of the seed check with want and got, and no crash."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    with closing(open_for_attack(str(copy))) as connection:
        row = "FROM stored_events WHERE topic = 'round_opened/1' ORDER BY rowid LIMIT 1"
        rowid, stream, data = connection.execute(f"SELECT rowid, originator_id, state {row}").fetchone()
        altered = json.dumps({**json.loads(data), name: value}, sort_keys=True, separators=(",", ":")).encode()
        connection.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (altered, rowid))
        rebuild_log(connection)
    document, text = verified(capfd, whole, copy, stream.removeprefix("round/"))
    (finding,) = [finding for finding in document["findings"] if finding["code"] == f"{name}_range"]
    assert finding["message"] == f"{name} of the round: want one from 0 to 9007199254740991, got {value}"
    assert {check["name"]: check["result"] for check in document["checks"]}["seed"] == "fail"
    assert finding["message"] in text
    everything = run(capfd, "verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--all", "--jobs", 1)
    assert everything.status == 3
    assert finding["message"] in everything.out


def test_a_topic_of_another_type_hides_no_settlement(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """Topics stored as bytes are read as what they say, by the history as by the verdict."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    before = run(capfd, "history", "--ledger", whole, "--json").out
    with closing(open_for_attack(str(copy))) as connection:
        connection.execute("UPDATE stored_events SET topic = CAST(topic AS BLOB) WHERE topic = 'round_settled/1'")
    assert run(capfd, "history", "--ledger", copy, "--json").out == before
    assert run(capfd, "verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--all").status == 0


def test_a_row_of_no_round_is_missing_its_record(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """A row without an id, where the table was made anew to take one: a round that the record does not hold, and no crash."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    with closing(open_for_attack(str(copy))) as connection:
        definition = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'rounds'").fetchone()[0]
        connection.execute("ALTER TABLE rounds RENAME TO before")
        connection.execute(definition.replace(" NOT NULL", "").replace("PRIMARY KEY", "").replace(" WITHOUT ROWID", ""))
        connection.execute("INSERT INTO rounds SELECT * FROM before")
        connection.execute("DROP TABLE before")
        connection.execute("INSERT INTO rounds (status) VALUES ('settled')")
    done = run(capfd, "verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--all", "--json")
    assert done.status == 3
    assert done.lines[-1]["verdicts"] == {"reproduced": 29, "record_missing": 1}


def test_a_row_leads_to_no_round_that_does_not_carry_the_reference(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """An operator's reference put on another round's row: that round is not verified in the place of the one that is meant."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    keys = ("--keys", whole.with_name("whole.db.keys"))
    assert run(capfd, "verify", "--ledger", copy, *keys, "--round", "ext:tx-1", "--json").document["verdict"] == "reproduced"
    with closing(open_for_attack(str(copy))) as connection:
        for old, new in (("tx-1", "~"), ("tx-2", "tx-1"), ("~", "tx-2")):
            connection.execute("UPDATE rounds SET external_ref = ? WHERE external_ref = ?", (new, old))
    done = run(capfd, "verify", "--ledger", copy, *keys, "--round", "ext:tx-1", "--json")
    assert (done.status, done.document["verdict"]) == (3, "record_missing")
    shown = run(capfd, "show", "--ledger", copy, "--round", "ext:tx-1")
    assert "the row of a round says so whose opening carries another; see `audit fsck`" in shown.err


def test_a_leaf_of_any_number_stops_no_command(capfd: Capture, whole: Path, tmp_path: Path) -> None:
    """The last leaf under the highest number that a column holds: the tree is told to be broken, and the read model is built."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    with closing(open_for_attack(str(copy))) as connection:
        connection.execute("UPDATE leaves SET leaf_index = 9223372036854775807 WHERE leaf_index = (SELECT max(leaf_index) FROM leaves)")
    done = run(capfd, "verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--all", "--json")
    assert done.status == 3
    assert "tree_broken" in [finding["code"] for finding in done.lines[-1]["ledger_findings"]]
    assert run(capfd, "history", "build", "--ledger", copy, "--history", tmp_path / "model.db").status == 0


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column) for table, columns in (("leaves", LEAF_COLUMNS), ("stored_events", EVENT_COLUMNS)) for column in columns],
)
def test_nothing_in_a_column_is_tampered_and_no_crash(capfd: Capture, whole: Path, tmp_path: Path, table: str, column: str) -> None:
    """A table made anew without NOT NULL and a value taken out of it: the round is tampered, for one round and for all."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(whole, copy)
    stream = "stream" if table == "leaves" else "originator_id"
    with closing(open_for_attack(str(copy))) as connection:
        definition = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0]
        connection.execute(f"ALTER TABLE {table} RENAME TO before")
        connection.execute(definition.replace(" NOT NULL", ""))
        connection.execute(f"INSERT INTO {table} SELECT * FROM before")
        connection.execute("DROP TABLE before")
        place = f"FROM {table} WHERE {stream} LIKE 'round/%' ORDER BY 1 LIMIT 1"
        number, name = connection.execute(f"SELECT rowid, {stream} {place}").fetchone()
        connection.execute(f"UPDATE {table} SET {column} = NULL WHERE rowid = ?", (number,))
    document, _ = verified(capfd, whole, copy, name.removeprefix("round/"))
    assert document["verdict"] == "record_tampered"
    assert run(capfd, "verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--all", "--jobs", 1).status == 3
