"""Holes of fsck: what an insider can alter with fsck saying nothing, or stopping before it has said all. Each is to be mended.

Every leaf and payload is as the kept checkpoint has it, so that nothing but fsck's own reading can tell. Where a hole is
mended its test passes, and the mark goes: the alteration then belongs among those that fsck finds.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.copying import copy_ledger
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger
from tests.attacks import open_for_attack
from tests.ledger_files import new_ledger, play_some

Alteration = Callable[[Path], None]
FIRST_ROUND = "(SELECT originator_id FROM stored_events WHERE originator_id LIKE 'round/%' ORDER BY rowid LIMIT 1)"


def run_sql(*statements: str) -> Alteration:
    """Alter by statements."""

    def alter(path: Path) -> None:
        with closing(open_for_attack(str(path))) as connection:
            triggers = sqlite_triggers(path.with_name("whole.db"))
            for statement in (*statements, *triggers):
                connection.execute(statement)

    return alter


def sqlite_triggers(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]


def rebuilt(table: str, changes: dict[str, str], *copies: str) -> Alteration:
    """Make a table anew by a changed definition, and fill it by these selections from the old one."""

    def alter(path: Path) -> None:
        with closing(open_for_attack(str(path))) as connection:
            definition = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0]
            for old, new in changes.items():
                assert old in definition
                definition = definition.replace(old, new)
            connection.execute(f"ALTER TABLE {table} RENAME TO before")
            connection.execute(definition)
            for selection in copies or ("SELECT * FROM before",):
                connection.execute(f"INSERT INTO {table} {selection}")
            connection.execute("DROP TABLE before")
            for statement in sqlite_triggers(path.with_name("whole.db")):
                connection.execute(statement)

    return alter


def swap_references(connection: sqlite3.Connection) -> None:
    for old, new in (("tx-1", "~"), ("tx-2", "tx-1"), ("~", "tx-2")):
        connection.execute("UPDATE rounds SET external_ref = ? WHERE external_ref = ?", (new, old))


def lie_by_index(path: Path) -> None:
    """Leave a table as it was, and have its index of references lead to other rounds."""
    name = "rounds_by_external_ref"
    with closing(open_for_attack(str(path))) as connection:
        entry = connection.execute("SELECT * FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        swap_references(connection)
    for statement, values in (
        ("DELETE FROM sqlite_master WHERE name = ?", (name,)),
        ("INSERT INTO sqlite_master VALUES (?,?,?,?,?)", entry),
    ):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(statement, values)
            version = connection.execute("PRAGMA schema_version").fetchone()[0]
            connection.execute(f"PRAGMA schema_version = {version + 1}")
        if "DELETE" in statement:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                swap_references(connection)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in sqlite_triggers(path.with_name("whole.db")):
            connection.execute(statement)


def put_value(name: str, value: object) -> Alteration:
    """Put a value of another type into the newest bet: its leaf tells, and fsck must live to say so."""

    def alter(path: Path) -> None:
        with closing(open_for_attack(str(path))) as connection:
            newest = "FROM stored_events WHERE topic = 'round_opened/1' ORDER BY rowid DESC LIMIT 1"
            rowid, data = connection.execute(f"SELECT rowid, state {newest}").fetchone()
            changed = json.dumps({**json.loads(data), name: value}, sort_keys=True, separators=(",", ":")).encode()
            connection.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (changed, rowid))

    return alter


NO_KEY = {"PRIMARY KEY": "", " WITHOUT ROWID": ""}
AGAIN = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state) SELECT {}, originator_version, topic, "
    "CAST(replace(state, '1', '2') AS BLOB) FROM stored_events WHERE rowid = 12"
)


def repeat_event(*streams: str) -> Alteration:
    """Have an event twice behind the last, the second altered, where no index forbids it, and what else is to stand behind."""

    def alter(path: Path) -> None:
        rebuilt("stored_events", {",\n  UNIQUE (originator_id, originator_version)": ""})(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for stream in streams:
                connection.execute(AGAIN.format(stream))

    return alter


SILENT: dict[str, Alteration] = {
    # The bytes are right and the type is not: found by a walk that casts, and not by a search by the text.
    "a round's stream as bytes": run_sql(
        f"UPDATE stored_events SET originator_id = CAST(originator_id AS BLOB) WHERE originator_id = {FIRST_ROUND}"
    ),
    "a leaf's stream as bytes": run_sql(f"UPDATE leaves SET stream = CAST(stream AS BLOB) WHERE stream = {FIRST_ROUND}"),
    "a topic as bytes": run_sql("UPDATE stored_events SET topic = CAST(topic AS BLOB) WHERE topic = 'round_settled/1'"),
    "a payload as text": run_sql("UPDATE stored_events SET state = CAST(state AS TEXT) WHERE rowid = 12"),
    "a version with letters behind": run_sql("UPDATE stored_events SET originator_version = originator_version || 'x' WHERE rowid = 12"),
    "a version with a fraction": run_sql("UPDATE stored_events SET originator_version = originator_version + 0.5 WHERE rowid = 12"),
    "a leaf's first version with letters behind": run_sql("UPDATE leaves SET version_first = version_first || 'x' WHERE leaf_index = 5"),
    "a leaf's last version as bytes": run_sql("UPDATE leaves SET version_last = CAST(version_last AS BLOB) WHERE leaf_index = 5"),
    "a leaf's time with a fraction": run_sql("UPDATE leaves SET recorded_at_us = recorded_at_us + 0.25 WHERE leaf_index = 5"),
    "a leaf's time with letters behind": run_sql("UPDATE leaves SET recorded_at_us = recorded_at_us || 'x' WHERE leaf_index = 5"),
    "a leaf's hash as text": run_sql("UPDATE leaves SET leaf_hash = CAST(leaf_hash AS TEXT) WHERE leaf_index = 5"),
    "a node as text": run_sql("UPDATE nodes SET node_hash = CAST(node_hash AS TEXT) WHERE level = 1 AND node_index = 1"),
    "balances as floating point numbers": rebuilt("accounts", {"balance_minor INTEGER": "balance_minor REAL"}),
    # Rows twice, the false one first, where the key was taken from the table.
    "an account twice": rebuilt(
        "accounts",
        NO_KEY,
        "SELECT account_ref, version, currency, balance_minor + 1, round_in_play FROM before",
        "SELECT * FROM before",
    ),
    "an epoch twice": rebuilt(
        "epochs",
        {"PRIMARY KEY": "", "UNIQUE": ""},
        "SELECT epoch, seed_commitment, x'00', writer_ref, next_nonce, is_closed FROM before",
        "SELECT * FROM before",
    ),
    "an event a second time behind the last": repeat_event("originator_id"),
    "a round of no leaf behind an event that is there a second time": repeat_event("originator_id", "'round/' || hex(zeroblob(16))"),
    # What the database does by itself.
    "an index that lies": lie_by_index,
    "a trigger that alters what comes": run_sql(
        "CREATE TRIGGER kind_hand AFTER INSERT ON leaves BEGIN UPDATE accounts SET balance_minor = balance_minor + 1; END"
    ),
    "a payload that is reckoned from another column": rebuilt(
        "stored_events",
        {"state BLOB NOT NULL": "hidden BLOB, state BLOB GENERATED ALWAYS AS (hidden) VIRTUAL"},
        "(rowid, originator_id, originator_version, topic, hidden) SELECT * FROM before",
    ),
    "an order of references of its own": rebuilt("rounds", {"external_ref TEXT": "external_ref TEXT COLLATE NOCASE"}),
    "numbers of events below zero": run_sql("UPDATE stored_events SET rowid = rowid - 1000000"),
}

STOPPING: dict[str, Alteration] = {
    "a round's id as bytes": run_sql("UPDATE rounds SET round_id = CAST(round_id AS BLOB) WHERE external_ref = 'tx-1'"),
    "a round without an id": rebuilt(
        "rounds",
        {"PRIMARY KEY": "", " WITHOUT ROWID": "", " NOT NULL": ""},
        "SELECT * FROM before",
        "VALUES (NULL,NULL,NULL,NULL,NULL,NULL,NULL)",
    ),
    "a leaf without a hash": rebuilt(
        "leaves", {" NOT NULL": ""}, "SELECT leaf_index, stream, version_first, version_last, recorded_at_us, NULL FROM before"
    ),
    "a leaf without a last version": rebuilt(
        "leaves", {" NOT NULL": ""}, "SELECT leaf_index, stream, version_first, NULL, recorded_at_us, leaf_hash FROM before"
    ),
    "a node without a hash": rebuilt("nodes", {" NOT NULL": ""}, "SELECT level, node_index, NULL FROM before"),
    "an event without bytes": rebuilt(
        "stored_events", {" NOT NULL": ""}, "SELECT rowid, originator_id, originator_version, topic, NULL FROM before"
    ),
    "a topic that is no text": run_sql("UPDATE stored_events SET topic = CAST(x'ff' AS TEXT) WHERE rowid = 12"),
    "a currency that is no text": run_sql("UPDATE accounts SET currency = CAST(x'ff' AS TEXT)"),
    **{
        f"{name} of a bet as {type(value).__name__}": put_value(name, value)
        for name in ("external_ref", "account_ref", "game", "idempotency_key")
        for value in (2**63, ["x"])
    },
}


@pytest.fixture
def held(tmp_path: Path) -> tuple[Path, tuple[int, bytes]]:
    """A ledger to be altered, and size and root of its kept checkpoint."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        for number in range(4):
            play_some(ledger, account_ref, 1, external_ref=f"tx-{number}")
    copy_ledger(tmp_path / "ledger.db", tmp_path / "whole.db")
    shutil.copyfile(tmp_path / "whole.db", tmp_path / "altered.db")
    with RoundLedger.open_for_reading(tmp_path / "whole.db") as ledger:
        tree = ledger.store.tree()
    assert list(check_ledger(tmp_path / "altered.db", held_roots=[(tree.size, tree.root)])) == []
    return tmp_path / "altered.db", (tree.size, tree.root)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="fsck says nothing")
@pytest.mark.parametrize("name", SILENT)
def test_a_hole_where_fsck_says_nothing(held: tuple[Path, tuple[int, bytes]], name: str) -> None:
    """Each of these alterations is a fault, and fsck names it."""
    path, root = held
    SILENT[name](path)
    assert list(check_ledger(path, held_roots=[root]))


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="fsck stops at it")
@pytest.mark.parametrize("name", STOPPING)
def test_a_hole_where_fsck_stops(held: tuple[Path, tuple[int, bytes]], name: str) -> None:
    """Each of these alterations is a fault like others: fsck goes on to the end and neither crashes nor gives up."""
    path, root = held
    STOPPING[name](path)
    try:
        faults = list(check_ledger(path, held_roots=[root]))
    except Exception as error:
        raise AssertionError("fsck stopped") from error
    assert faults


def test_an_index_can_lie(held: tuple[Path, tuple[int, bytes]]) -> None:
    """The alteration is real: the search by the operator's reference leads to another round than the one that carries it."""
    path, _ = held
    lie_by_index(path)
    with RoundLedger.open_for_reading(path) as ledger:
        (round_id,) = ledger.store.round_ids_of(external_ref="tx-1")
        found = ledger.store.round(round_id)
        assert found is not None
        assert found.external_ref == "tx-2"
