"""What an insider can do beside the record: types, definitions, indexes, rows twice. fsck finds each and goes on to the end.

In most of them every leaf and payload is as the kept checkpoint has it, so that nothing but fsck's own reading can tell.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.copying import copy_ledger
from ledger.errors import LedgerDamaged
from ledger.fsck import FsckResult, check_ledger
from ledger.rounds import RoundLedger
from tests.attacks import open_for_attack, rebuild_log
from tests.ledger_files import altered, new_ledger, play_some

Alteration = Callable[[Path], None]
FIRST_ROUND = "(SELECT originator_id FROM stored_events WHERE originator_id LIKE 'round/%' ORDER BY rowid LIMIT 1)"


def run_sql(*statements: str) -> Alteration:
    """Alter by statements."""

    def alter(path: Path) -> None:
        altered(path, *statements)

    return alter


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


def put_value(name: str, value: object) -> Alteration:
    """Put a value of another type into the newest bet: its leaf tells, and fsck must live to say so."""

    def alter(path: Path) -> None:
        with closing(open_for_attack(str(path))) as connection:
            newest = "FROM stored_events WHERE topic = 'round_opened/1' ORDER BY rowid DESC LIMIT 1"
            rowid, data = connection.execute(f"SELECT rowid, state {newest}").fetchone()
            changed = json.dumps({**json.loads(data), name: value}, sort_keys=True, separators=(",", ":")).encode()
            connection.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (changed, rowid))

    return alter


NO_NODE_KEY = {",\n  PRIMARY KEY (level, node_index)": "", " WITHOUT ROWID": ""}
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


def nest_deeply(path: Path) -> None:
    """Put a fraction into many lists in the newest bet: deeper than a function can call itself."""
    put_value("state_in", json.loads("[" * 900 + "0.5" + "]" * 900))(path)


def repeat_opening(path: Path) -> None:
    """Open an account a second time, in an append of its own, and have the tree follow: its money is gone."""
    with closing(open_for_attack(str(path))) as connection:
        connection.execute(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) SELECT originator_id, 3, topic, state "
            "FROM stored_events WHERE topic = 'account_opened/1'"
        )
        connection.execute(
            "INSERT INTO leaves SELECT (SELECT max(leaf_index) + 1 FROM leaves), stream, 3, 3, recorded_at_us, leaf_hash FROM leaves "
            "WHERE leaf_index = 1"
        )
        rebuild_log(connection)


ALTERATIONS: dict[str, tuple[Alteration, str]] = {
    # The bytes are right and the type is not: found by a walk that casts, and not by a search by the text.
    "a round's stream as bytes": (
        run_sql(f"UPDATE stored_events SET originator_id = CAST(originator_id AS BLOB) WHERE originator_id = {FIRST_ROUND}"),
        "originator_id in stored_events row 5: want text, got blob",
    ),
    "a leaf's stream as bytes": (
        run_sql(f"UPDATE leaves SET stream = CAST(stream AS BLOB) WHERE stream = {FIRST_ROUND}"),
        "stream in leaves 4: want text, got blob",
    ),
    "a topic as bytes": (
        run_sql("UPDATE stored_events SET topic = CAST(topic AS BLOB) WHERE topic = 'round_settled/1'"),
        "topic in stored_events row ",
    ),
    "a payload as text": (
        run_sql("UPDATE stored_events SET state = CAST(state AS TEXT) WHERE rowid = 12"),
        "state in stored_events row 12: want blob, got text",
    ),
    "a version with letters behind": (
        run_sql("UPDATE stored_events SET originator_version = originator_version || 'x' WHERE rowid = 12"),
        "originator_version in stored_events row 12: want integer, got text",
    ),
    "a version with a fraction": (
        run_sql("UPDATE stored_events SET originator_version = originator_version + 0.5 WHERE rowid = 12"),
        "originator_version in stored_events row 12: want integer, got real",
    ),
    "a leaf's first version with letters behind": (
        run_sql("UPDATE leaves SET version_first = version_first || 'x' WHERE leaf_index = 5"),
        "version_first in leaves 5: want integer",
    ),
    "a leaf's last version as bytes": (
        run_sql("UPDATE leaves SET version_last = CAST(version_last AS BLOB) WHERE leaf_index = 5"),
        "version_last in leaves 5: want integer, got blob",
    ),
    "a leaf's time with a fraction": (
        run_sql("UPDATE leaves SET recorded_at_us = recorded_at_us + 0.25 WHERE leaf_index = 5"),
        "recorded_at_us in leaves 5: want integer, got real",
    ),
    "a leaf's time with letters behind": (
        run_sql("UPDATE leaves SET recorded_at_us = recorded_at_us || 'x' WHERE leaf_index = 5"),
        "recorded_at_us in leaves 5: want integer, got text",
    ),
    "a leaf's hash as text": (
        run_sql("UPDATE leaves SET leaf_hash = CAST(leaf_hash AS TEXT) WHERE leaf_index = 5"),
        "leaf_hash in leaves 5: want blob, got text",
    ),
    "a node as text": (
        run_sql("UPDATE nodes SET node_hash = CAST(node_hash AS TEXT) WHERE level = 1 AND node_index = 1"),
        "node_hash in nodes level 1, index 1: want blob",
    ),
    "balances as floating point numbers": (rebuilt("accounts", {"balance_minor INTEGER": "balance_minor REAL"}), "want integer, got real"),
    # Rows twice, the false one first, where the key was taken from the table.
    "an account twice": (
        rebuilt(
            "accounts",
            NO_KEY,
            "SELECT account_ref, version, currency, balance_minor + 1, round_in_play FROM before",
            "SELECT * FROM before",
        ),
        "want one row, got another",
    ),
    "an epoch twice": (
        rebuilt(
            "epochs",
            {"PRIMARY KEY": "", "UNIQUE": ""},
            "SELECT epoch, seed_commitment, x'00', writer_ref, next_nonce, is_closed FROM before",
            "SELECT * FROM before",
        ),
        "epochs 1: want one row, got another",
    ),
    "an event a second time behind the last": (repeat_event("originator_id"), "want no event without a leaf"),
    "a round of no leaf behind an event that is there a second time": (
        repeat_event("originator_id", "'round/' || hex(zeroblob(16))"),
        "of round/00000000000000000000000000000000, stored_events row",
    ),
    # What the database does by itself.
    "an index that lies": (lie_by_index, "missing from index rounds_by_external_ref"),
    "a trigger that alters what comes": (
        run_sql("CREATE TRIGGER kind_hand AFTER INSERT ON leaves BEGIN UPDATE accounts SET balance_minor = balance_minor + 1; END"),
        "trigger kind_hand: want none",
    ),
    "a payload that is reckoned from another column": (
        rebuilt(
            "stored_events",
            {"state BLOB NOT NULL": "hidden BLOB, state BLOB GENERATED ALWAYS AS (hidden) VIRTUAL"},
            "(rowid, originator_id, originator_version, topic, hidden) SELECT * FROM before",
        ),
        "table stored_events: want CREATE TABLE",
    ),
    "an order of references of its own": (
        rebuilt("rounds", {"external_ref TEXT": "external_ref TEXT COLLATE NOCASE"}),
        "table rounds: want CREATE TABLE",
    ),
    "numbers of events below zero": (run_sql("UPDATE stored_events SET rowid = rowid - 1000000"), "want a number from 1 on, got -999999"),
    "a round's id as bytes": (
        run_sql("UPDATE rounds SET round_id = CAST(round_id AS BLOB) WHERE external_ref = 'tx-1'"),
        "round_id in rounds",
    ),
    "a round without an id": (
        rebuilt(
            "rounds",
            {"PRIMARY KEY": "", " WITHOUT ROWID": "", " NOT NULL": ""},
            "SELECT * FROM before",
            "VALUES (NULL,NULL,NULL,NULL,NULL,NULL,NULL)",
        ),
        "round_id in rounds without a key: want text, got null",
    ),
    "a leaf without a hash": (
        rebuilt("leaves", {" NOT NULL": ""}, "SELECT leaf_index, stream, version_first, version_last, recorded_at_us, NULL FROM before"),
        "leaf_hash in leaves 5: want blob, got null",
    ),
    "a leaf without a last version": (
        rebuilt("leaves", {" NOT NULL": ""}, "SELECT leaf_index, stream, version_first, NULL, recorded_at_us, leaf_hash FROM before"),
        "version_last in leaves 5: want integer, got null",
    ),
    "a node without a hash": (
        rebuilt("nodes", {" NOT NULL": ""}, "SELECT level, node_index, NULL FROM before"),
        "node_hash in nodes level 1, index 1: want blob, got null",
    ),
    "an event without bytes": (
        rebuilt("stored_events", {" NOT NULL": ""}, "SELECT rowid, originator_id, originator_version, topic, NULL FROM before"),
        "state in stored_events row 12: want blob, got null",
    ),
    "a topic that is no text": (
        run_sql("UPDATE stored_events SET topic = CAST(x'ff' AS TEXT) WHERE rowid = 12"),
        "topic in stored_events row 12: want text, got text that is no UTF-8",
    ),
    "a currency that is no text": (run_sql("UPDATE accounts SET currency = CAST(x'ff' AS TEXT)"), "currency in accounts"),
    **{
        f"{name} of a bet as {type(value).__name__}": (put_value(name, value), "event 0 of round/")
        for name in ("external_ref", "account_ref", "game", "idempotency_key")
        for value in (2**63, ["x"])
    },
    # Hostile things of all kinds.
    "numbers of events as texts": (
        rebuilt(
            "stored_events",
            {"INTEGER PRIMARY KEY AUTOINCREMENT": ""},
            "SELECT rowid || 'x', originator_id, originator_version, topic, state FROM before",
        ),
        "rowid in stored_events row 12x: want integer, got text",
    ),
    "a gap without end": (
        run_sql(
            f"UPDATE stored_events SET originator_version = 9223372036854775807 WHERE originator_id = {FIRST_ROUND} "
            "AND topic = 'round_settled/1'",
            f"UPDATE leaves SET version_last = 9223372036854775807 WHERE stream = {FIRST_ROUND} AND version_first > 1",
        ),
        "covered by leaf 5: want an event, got none",
    ),
    "a fraction deep in lists": (nest_deeply, "want a canonical JSON object"),
    "an account opened a second time": (repeat_opening, "place of account_opened: want the first event of its account, got version 3"),
    "another table": (run_sql("CREATE TABLE aside (x)"), "table aside: want none, got CREATE TABLE aside (x)"),
    "a view": (run_sql("CREATE VIEW shown AS SELECT * FROM rounds"), "view shown: want none"),
    "another index": (run_sql("CREATE INDEX aside ON rounds (game)"), "index aside: want none"),
    "an index less": (run_sql("DROP INDEX rounds_by_external_ref"), "index rounds_by_external_ref: want CREATE INDEX"),
    "an older version": (run_sql("PRAGMA user_version = 0"), "user_version: want 1, got 0"),
    "the last number of events": (run_sql("UPDATE sqlite_sequence SET seq = 1"), "sqlite_sequence: want stored_events "),
    "a name that is no text": (run_sql("UPDATE account_names SET name = CAST(x'ff' AS TEXT)"), "name in account_names"),
    "a seed as text": (run_sql("UPDATE epochs SET sealed_seed = CAST('x' AS TEXT)"), "sealed_seed in epochs 1: want blob, got text"),
    "a nonce as text": (run_sql("UPDATE epochs SET next_nonce = next_nonce || 'x'"), "next_nonce in epochs 1: want integer, got text"),
    "an epoch without a number": (
        rebuilt(
            "epochs",
            {"epoch INTEGER PRIMARY KEY": "epoch"},
            "SELECT NULL, seed_commitment, sealed_seed, writer_ref, next_nonce, is_closed FROM before",
        ),
        "epoch in epochs without a key: want integer, got null",
    ),
    "a stream that is no text": (
        run_sql("UPDATE leaves SET stream = CAST(x'ff' AS TEXT) WHERE leaf_index = 5"),
        "stream in leaves 5: want text, got text that is no UTF-8",
    ),
    "a node twice": (
        rebuilt("nodes", NO_NODE_KEY, "SELECT * FROM before", "SELECT level, node_index, x'00' FROM before WHERE level = 2"),
        "nodes level 2, index 0: want no such node, got 00",
    ),
    "a leaf twice": (
        rebuilt(
            "leaves",
            {"PRIMARY KEY": "", ",\n  UNIQUE (stream, version_first)": ""},
            "SELECT * FROM before",
            "SELECT * FROM before WHERE leaf_index = 5",
        ),
        "leaves 5: want leaf 6, got leaf 5",
    ),
    "a round twice": (
        rebuilt("rounds", NO_KEY, "SELECT * FROM before", "SELECT * FROM before WHERE external_ref = 'tx-1'"),
        "want no row without a round_opened, got one",
    ),
}


@pytest.fixture
def held(tmp_path: Path) -> tuple[Path, tuple[int, bytes]]:
    """A ledger to be altered, and size and root of its kept checkpoint."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        for number in range(4):
            play_some(ledger, account_ref, 1, external_ref=f"tx-{number}")
        play_some(ledger, account_ref, 28)  # a whole block, with nodes
    copy_ledger(tmp_path / "ledger.db", tmp_path / "whole.db")
    shutil.copyfile(tmp_path / "whole.db", tmp_path / "altered.db")
    with RoundLedger.open_for_reading(tmp_path / "whole.db") as ledger:
        tree = ledger.store.tree()
    assert list(check_ledger(tmp_path / "altered.db", held_roots=[(tree.size, tree.root)])) == []
    return tmp_path / "altered.db", (tree.size, tree.root)


@pytest.mark.parametrize("name", ALTERATIONS)
def test_every_alteration_is_found_and_stops_nothing(held: tuple[Path, tuple[int, bytes]], name: str) -> None:
    """Each is a fault that names its place, found in a walk that comes to its end, and none comes twice."""
    path, root = held
    alter, words = ALTERATIONS[name]
    alter(path)
    counted: list[FsckResult] = []
    messages = [fault.message for fault in check_ledger(path, held_roots=[root], counted=counted) if fault is not None]
    assert any(words in message for message in messages), messages[:5]
    assert len(messages) == len(set(messages))
    assert counted


def test_an_index_can_lie(held: tuple[Path, tuple[int, bytes]]) -> None:
    """The alteration is real: the search by the operator's reference leads to another round than the one that carries it."""
    path, _ = held
    lie_by_index(path)
    with RoundLedger.open_for_reading(path) as ledger:
        (round_id,) = ledger.store.round_ids_of(external_ref="tx-1")
        found = ledger.store.round(round_id)
        assert found is not None
        assert found.external_ref == "tx-2"


def test_a_schema_that_is_no_text_is_a_damaged_ledger(held: tuple[Path, tuple[int, bytes]]) -> None:
    """What SQLite cannot read the schema of, and says so in bytes that are no UTF-8, is refused as damaged."""
    path, _ = held
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES ('view', CAST(x'ff' AS TEXT), 'v', 0, 'CREATE VIEW v AS SELECT 1')")
    with pytest.raises(LedgerDamaged, match="a schema that is no text"):
        list(check_ledger(path))
