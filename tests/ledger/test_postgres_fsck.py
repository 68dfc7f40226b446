"""fsck and copy of a ledger on PostgreSQL: the same code and the same findings as on a file, of one moment, in constant memory."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.address import ledger_place
from ledger.copying import copy_ledger
from ledger.errors import LedgerDamaged, LedgerExists
from ledger.fsck import Fault, FsckResult, check_ledger, leaf_count
from ledger.incidents import record_incident
from ledger.postgres_errors import DatabaseMissing
from ledger.profile import shipped_profile
from ledger.profile_setting import profile_in_force, set_profile
from ledger.rounds import RoundLedger
from ledger.table_rows import table_rows
from tests.conftest import ROOT
from tests.contracts.alterations_contract import report_of
from tests.ledger_files import Place, altered, game, new_ledger_at, play_some, rows
from tests.postgres_server import PostgresServer

psycopg = pytest.importorskip("psycopg")

Whole = tuple[Place, int, bytes]


@pytest.fixture(scope="module")
def whole(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A ledger of two accounts and two epochs, with the size and root that a kept checkpoint holds."""
    place = Place(postgres.url(postgres.new_database()), tmp_path_factory.mktemp("fsck") / "keys")
    with new_ledger_at(place) as (ledger, account_ref):
        other = ledger.open_account("bob", "EUR")
        ledger.move_funds(other, 10**6)
        play_some(ledger, account_ref, 6)
        play_some(ledger, other, 24, external_ref="tx")
    with place.open_for_writing() as ledger:
        play_some(ledger, account_ref, 5)
        ledger.open_round(other, game(), "base", 200)
        tree = ledger.store.tree()
    with place.open_for_reading() as ledger:
        tree = ledger.store.tree()
    return place, tree.size, tree.root


@pytest.fixture
def copy(postgres: PostgresServer, whole: Whole) -> Iterator[str]:
    """The address of a copy of that ledger, which a test may alter."""
    source = str(whole[0].ledger).rpartition("/")[2]
    name = postgres.new_database()
    postgres.execute("postgres", f"DROP DATABASE {name}", f"CREATE DATABASE {name} TEMPLATE {source}")
    yield postgres.url(name)
    postgres.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def faults_of(ledger: Path | str, whole: Whole) -> list[Fault]:
    return [fault for fault in check_ledger(ledger_place(ledger), held_roots=[whole[1:]]) if fault is not None]


def test_a_clean_ledger_is_clean(whole: Whole) -> None:
    """Nothing is found; counts and the recomputed root are the stored ones."""
    place, size, root = whole
    counted: list[FsckResult] = []
    address = ledger_place(place.ledger)
    assert list(check_ledger(address, held_roots=[(size, root)], counted=counted)) == []
    assert leaf_count(address) == size
    assert (counted[0].leaf_count, counted[0].round_count, counted[0].root) == (size, 36, root)


STREAM = "(SELECT originator_id FROM stored_events WHERE topic = 'round_settled/1' ORDER BY notification_id LIMIT 1)"
OPENING = "(SELECT min(notification_id) FROM stored_events WHERE topic = 'round_opened/1')"
ATTACKS = {
    "change a byte": (f"UPDATE stored_events SET state = set_byte(state, 9, 33) WHERE notification_id = {OPENING}", "{stream}"),
    "change a version": (f"UPDATE stored_events SET originator_version = 900 WHERE notification_id = {OPENING}", "{stream}"),
    "change a stream": (f"UPDATE stored_events SET originator_id = originator_id || '0' WHERE notification_id = {OPENING}", "{stream}"),
    "change a topic": (f"UPDATE stored_events SET topic = 'win/1' WHERE notification_id = {OPENING}", "{stream}"),
    "change the order": (f"UPDATE stored_events SET notification_id = 100000 WHERE notification_id = {OPENING}", "{stream}"),
    "a number below one": (f"UPDATE stored_events SET notification_id = -5 WHERE notification_id = {OPENING}", "stored_events row -5"),
    "delete an event": (f"DELETE FROM stored_events WHERE notification_id = {OPENING}", "{stream}"),
    "delete a round": (f"DELETE FROM stored_events WHERE originator_id = {STREAM}", "{stream}"),
    "delete its leaves": (f"DELETE FROM leaves WHERE stream = {STREAM}", "leaves"),
    "add an event": (
        f"INSERT INTO stored_events (originator_id, originator_version, topic, state) SELECT {STREAM}, 900, topic, state "
        f"FROM stored_events WHERE notification_id = {OPENING}",
        "{stream}",
    ),
    "nothing in a column": (
        f"ALTER TABLE stored_events ALTER state DROP NOT NULL; UPDATE stored_events SET state = NULL WHERE notification_id = {OPENING}",
        "{stream}",
    ),
    "change a leaf": (f"UPDATE leaves SET recorded_at_us = recorded_at_us + 1 WHERE stream = {STREAM}", "{stream}"),
    "change a leaf's index": ("UPDATE leaves SET leaf_index = -4 WHERE leaf_index = 9", "leaves -4"),
    "change a node": ("UPDATE nodes SET node_hash = '\\x00' WHERE level = 2 AND node_index = 3", "nodes level 2, index 3"),
    "add a node": ("INSERT INTO nodes VALUES (40, 7, '\\x00')", "nodes level 40, index 7"),
    "drop the tail": (
        "DELETE FROM stored_events WHERE originator_id = (SELECT stream FROM leaves ORDER BY leaf_index DESC LIMIT 1); "
        "DELETE FROM leaves WHERE leaf_index = (SELECT max(leaf_index) FROM leaves)",
        "leaves",
    ),
    "change the seed store": ("UPDATE epochs SET sealed_seed = sealed_seed || '\\x00' WHERE epoch = 2", "epochs 2"),
    "change a balance": ("UPDATE accounts SET balance_minor = balance_minor + 1", "accounts"),
    "change a round's row": ("UPDATE rounds SET external_ref = 'x' WHERE round_id = substr({stream}, 7)", "rounds"),
}


STRUCTURES = {
    "a policy": ("CREATE POLICY mine ON rounds USING (external_ref <> 'x')", "policy rounds.mine"),
    "row security": ("ALTER TABLE rounds ENABLE ROW LEVEL SECURITY", "table rounds: want p, got p, row security"),
    "a rule": ("CREATE RULE mine AS ON INSERT TO leaves DO ALSO NOTHING", "rule leaves.mine"),
    "a trigger": (
        "CREATE TRIGGER mine BEFORE INSERT ON leaves FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "trigger leaves.mine",
    ),
    "a trigger that is off": ("ALTER TABLE nodes DISABLE TRIGGER ALL", "trigger nodes.nodes_append_only"),
    "another guard": (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "function refuse_change()",
    ),
    "a view": ("CREATE VIEW shown AS SELECT * FROM rounds", "view shown"),
    "a table": ("CREATE TABLE aside (x int)", "table aside"),
    "an heir": ("CREATE TABLE public.aside () INHERITS (rounds)", "heir public.aside of rounds"),
    "another type": (
        "ALTER TABLE accounts ALTER version TYPE numeric",
        "column accounts.version: want bigint not null, got numeric not null",
    ),
    "a default": ("ALTER TABLE leaves ALTER recorded_at_us SET DEFAULT 7", "column leaves.recorded_at_us"),
    "another order": ('ALTER TABLE rounds ALTER external_ref TYPE text COLLATE "POSIX"', "column rounds.external_ref"),
    "a column": ("ALTER TABLE rounds ADD hidden text", "column rounds.hidden: want none"),
    "a constraint less": (
        "ALTER TABLE accounts DROP CONSTRAINT accounts_balance_minor_check",
        "constraint accounts.accounts_balance_minor_check",
    ),
    "an index less": ("DROP INDEX rounds_by_external_ref", "index rounds_by_external_ref"),
    "an unlogged table": ("ALTER TABLE account_names SET UNLOGGED", "table account_names: want p, got u"),
    "an operator": ('CREATE OPERATOR = (LEFTARG = text, RIGHTARG = int, FUNCTION = "left")', "operator ="),
    "a function": ("CREATE FUNCTION count(bytea) RETURNS int LANGUAGE sql AS 'SELECT 1'", "function count(bytea)"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_a_new_ledger_has_not_is_found_and_named(whole: Whole, copy: str, name: str) -> None:
    """Whatever stands between the auditor and the rows, or lets them be changed, is a finding of fsck and a point of the doctor."""
    statement, words = STRUCTURES[name]
    with psycopg.connect(copy, options="-c search_path=slot_ledger") as connection:
        connection.execute(statement)
    place = ledger_place(copy)
    assert any(words in fault.message for fault in faults_of(copy, whole))
    with table_rows(place) as found:
        assert any(words in fault.message for fault in found.structure.definition_faults())


def test_a_ledger_without_texts_is_right(whole: Whole, copy: str) -> None:
    """One from before there were texts has no table of them."""
    altered(copy, "DROP TABLE texts")
    assert faults_of(copy, whole) == []


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_of_the_owner_is_found_and_named(whole: Whole, copy: str, name: str) -> None:
    """What the owner of the tables does, triggers dropped, is a finding that names its place."""
    statement, words = ATTACKS[name]
    ((stream,),) = rows(copy, STREAM)
    altered(copy, statement.replace("{stream}", f"'{stream}'"))
    messages = [fault.message for fault in faults_of(copy, whole)]
    assert any(words.format(stream=stream) in message for message in messages), messages[:5]


def test_the_findings_are_those_of_the_same_rows_in_a_file(whole: Whole, copy: str, tmp_path: Path) -> None:
    """A damaged ledger in a database and its copy in a file have equal findings, row for row."""
    altered(copy, *(ATTACKS[name][0] for name in ("change a byte", "change a node", "add a node", "change a balance", "change a leaf")))
    copy_ledger(ledger_place(copy), tmp_path / "copy.db")
    found = faults_of(copy, whole)
    assert len(found) > 5
    assert faults_of(tmp_path / "copy.db", whole) == found


def test_a_ledger_in_use_is_read_at_one_moment(postgres: PostgresServer, tmp_path: Path) -> None:
    """What is written while fsck or a copy is on its way is not seen, and no writer waits for it."""
    place = Place(postgres.url(postgres.new_database()), tmp_path / "keys")
    with new_ledger_at(place) as (ledger, account_ref):
        play_some(ledger, account_ref, 3)
        size = ledger.store.tree_size()
        steps = check_ledger(ledger_place(place.ledger), is_ticking=True)
        assert next(steps) is None
        play_some(ledger, account_ref, 2)
        assert list(steps) == [None] * (size - 1)
        for number in range(2):
            play_some(ledger, account_ref, 1)
            assert copy_ledger(ledger_place(place.ledger), tmp_path / f"{number}.db") == tuple(ledger.store.tree())
            assert list(check_ledger(tmp_path / f"{number}.db")) == []


def test_a_copy_is_a_whole_ledger_in_a_file(whole: Whole, tmp_path: Path) -> None:
    """The copy has all rows and numbers, the same root, no write-ahead log, its triggers, and can be read and played on."""
    place, size, root = whole
    out = tmp_path / "copy.db"
    assert copy_ledger(ledger_place(place.ledger), out) == (size, root)
    assert {path.name for path in tmp_path.iterdir() if path.stat().st_size and not path.name.endswith("-shm")} == {"copy.db"}
    for table, order in (
        ("leaves", "leaf_index"),
        ("nodes", "level, node_index"),
        ("accounts", "1"),
        ("account_names", "1"),
        ("epochs", "1"),
    ):
        assert rows(out, f"SELECT * FROM {table} ORDER BY {order}") == rows(place.ledger, f"SELECT * FROM {table} ORDER BY {order}")
    events = "originator_id, originator_version, topic, state FROM stored_events"
    assert rows(out, f"SELECT rowid, {events} ORDER BY 1") == rows(place.ledger, f"SELECT notification_id, {events} ORDER BY 1")
    with pytest.raises(LedgerExists):
        copy_ledger(ledger_place(place.ledger), out)
    with closing(sqlite3.connect(out)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM stored_events")
    with RoundLedger.open_for_writing(out, place.keys_dir) as ledger:
        play_some(ledger, ledger.account("alice").account_ref, 2)
    assert list(check_ledger(out, held_roots=[(size, root)])) == []


def test_a_copy_holds_the_texts_that_may_be_read(postgres: PostgresServer, tmp_path: Path) -> None:
    """Names and texts go into the copy; a role without the right to them makes one without, and a ledger from before them too."""
    database = postgres.new_database()
    place = Place(postgres.url(database), tmp_path / "keys")
    with new_ledger_at(place) as (ledger, account_ref):
        event = record_incident(ledger, report_of(play_some(ledger, account_ref, 1)), "Ann", "Bob")
        set_profile(ledger.store, shipped_profile("better-of"), "Ann", "Bob")
    script = (ROOT / "docs" / "auditor_role.sql").read_text()
    hidden = "REVOKE SELECT ON slot_ledger.texts FROM slot_auditor"
    postgres.execute(database, script, hidden, "ALTER ROLE slot_auditor PASSWORD 'auditor-password'")
    auditor = postgres.url(database, user="slot_auditor", password="auditor-password")
    for number, (url, content) in enumerate(((place.ledger, "cause: Zofia's reel stood still"), (auditor, None))):
        copy_ledger(ledger_place(url), tmp_path / f"{number}.db")
        with RoundLedger.open_for_reading(tmp_path / f"{number}.db") as reader:
            row = reader.store.text(event.cause_hash)
            assert (row.content if row else None) == content
            assert profile_in_force(reader.store).profile.id == "better-of"
        assert list(check_ledger(tmp_path / f"{number}.db")) == []
    altered(place.ledger, "DROP TABLE texts")
    copy_ledger(ledger_place(place.ledger), tmp_path / "2.db")
    assert list(check_ledger(tmp_path / "2.db")) == []


def test_a_copy_that_fails_leaves_no_file(whole: Whole, copy: str, tmp_path: Path) -> None:
    """A row that no ledger can hold, and a database that is not there, are said, and nothing is left behind."""
    altered(copy, "ALTER TABLE leaves ALTER leaf_hash DROP NOT NULL", "UPDATE leaves SET leaf_hash = NULL WHERE leaf_index = 3")
    with pytest.raises(LedgerDamaged, match=r"want a sound database, got a row that no ledger holds \(NOT NULL constraint failed: leaves"):
        copy_ledger(ledger_place(copy), tmp_path / "copy.db")
    with pytest.raises(DatabaseMissing):
        copy_ledger(ledger_place(copy + "x"), tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []
