"""Every command on a ledger in a database: the same results as on a file, passwords never shown, an auditor who can only read."""

import json
from pathlib import Path

import pytest

from ledger.postgres_errors import LedgerForbidden
from ledger.rounds import RoundLedger
from replay.anchors import HELD_KEY
from tests.command_line import run
from tests.conftest import ROOT
from tests.ledger_files import Place, altered, new_ledger_at, rows, whole_ledger_faults
from tests.postgres_server import PASSWORD, PostgresServer

GAME = "moonlight-princess"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def place(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for a ledger in an empty database."""
    return Place(postgres.url(postgres.new_database()), tmp_path_factory.mktemp("commands") / "keys")


@pytest.fixture(scope="module")
def played(place: Place) -> Place:
    """A ledger with rounds of two accounts, one of them still open."""
    from engines.registry import installed_game

    game = installed_game(GAME)
    with RoundLedger.create(place.ledger, place.keys_dir) as ledger:
        refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            ledger.move_funds(ref, 100_000)
        for number in range(6):
            ledger.play(refs[number % 2], game, ("base", "ante")[number % 2], 200, external_ref=f"tx-{number}")
    return place


def test_init_play_doctor(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """A ledger is made, played on and found healthy, and no output holds the password."""
    url = postgres.url(postgres.new_database())
    named = ("--ledger", url, "--keys", tmp_path / "keys")
    made = run(capfd, "init", *named, "--json")
    assert made.status == 0
    assert made.document["ledger"] == url.replace(f":{PASSWORD}", "")
    again = run(capfd, "init", *named)
    assert again.status == 2
    assert "want no ledger there yet" in again.err
    shown = run(capfd, "play", *named, "--game", GAME, "--rounds", 3)
    assert shown.status == 0
    health = run(capfd, "doctor", *named)
    assert health.status == 0
    assert "append-only triggers: on 3 tables" in health.out
    assert "fsync: on" in health.out
    emptied = "CREATE OR REPLACE FUNCTION slot_ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
    postgres.execute(url.rpartition("/")[2], emptied)
    assert "BAD  append-only triggers: on 0 tables" in run(capfd, "doctor", *named).out
    altered(url)
    ill = run(capfd, "doctor", *named)
    assert ill.status == 4
    assert "BAD  append-only triggers: on 0 tables" in ill.out
    for ended in (made, again, shown, health, ill):
        assert PASSWORD not in ended.out + ended.err
    assert whole_ledger_faults(url) == []


def test_an_evidence_pack(capfd: Capture, played: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack is built of a round in a database, the same bytes twice, nothing is found in it, and it does not hold the password."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    named = ("--ledger", played.ledger, "--keys", played.keys_dir)
    round_id = run(capfd, "find", *named[:2], "--json").lines[2]["round_id"]
    for name in ("one.zip", "two.zip"):
        done = run(capfd, "pack", "build", "--round", round_id, *named, "-o", tmp_path / name)
        assert done.status == 0, done.err
    data = (tmp_path / "one.zip").read_bytes()
    assert data == (tmp_path / "two.zip").read_bytes()
    assert PASSWORD.encode() not in data
    assert run(capfd, "pack", "verify", tmp_path / "one.zip", "--vkey", played.keys_dir / "log.vkey").status == 0


def test_verify_find_show_history_export(capfd: Capture, played: Place, tmp_path: Path) -> None:
    """What reads works as on a file: verdict, bulk with workers, search, pictures, history, export."""
    ledger, keys = ("--ledger", played.ledger), ("--keys", played.keys_dir)
    found = run(capfd, "find", *ledger, "--account", "ann", "--json").lines
    assert found[-1]["rounds"] == 3
    verdict = run(capfd, "verify", *ledger, *keys, "--round", found[0]["round_id"][:20], "--json")
    assert verdict.document["verdict"] == "reproduced"
    one = run(capfd, "verify", *ledger, *keys, "--all", "--json")
    two = run(capfd, "verify", *ledger, *keys, "--all", "--json", "--jobs", 2)
    assert (one.status, one.out) == (two.status, two.out) == (0, one.out)
    assert run(capfd, "show", *ledger, "--round", "ext:tx-1").status == 0
    model = ("--history", tmp_path / "history.db")
    assert run(capfd, "history", "build", *ledger, *model, "--json").document["rounds_written"] == 6
    assert run(capfd, "history", *ledger, *model, "--json").lines[-1]["read_model_differences"] == []
    exported = run(capfd, "export", *ledger, "--all")
    assert len({json.loads(line)["round_id"] for line in exported.out.splitlines()}) == 6


def test_workers_are_given_the_address(capfd: Capture, played: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks verified by processes of their own come to the same as those of one."""
    monkeypatch.setattr("replay.bulk.CHUNK_ROUNDS", 2)
    arguments = ("verify", "--ledger", played.ledger, "--keys", played.keys_dir, "--all", "--json")
    one, three = run(capfd, *arguments, "--jobs", 1), run(capfd, *arguments, "--jobs", 3)
    assert (one.status, one.out) == (three.status, three.out)
    assert one.status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("verify", "--all"), "--keys: want the folder of the keys, as none lies beside a database, got 'none'"),
        (("init",), "--keys: want the folder of the keys"),
        (("play", "--game", GAME), "--keys: want the folder of the keys"),
        (("doctor",), "--keys: want the folder of the keys"),
        (("history",), "--history: want the file of the read model, as none lies beside a database, got 'none'"),
        (("history", "build"), "--history: want the file of the read model"),
    ],
    ids=str,
)
def test_what_has_no_place_beside_a_database_must_be_named(capfd: Capture, arguments: tuple[str, ...], message: str) -> None:
    """Keys and read model of a database have to be named: wrong usage otherwise, before anything is connected."""
    ended = run(capfd, *arguments, "--ledger", "postgresql://ann:secret@127.0.0.1:1/db")
    assert ended.status == 2
    assert message in ended.err
    assert "secret" not in ended.out + ended.err


def test_a_server_that_is_not_there_is_said(capfd: Capture) -> None:
    """No server, or no such database: status 4 and a message without the password."""
    ended = run(capfd, "find", "--ledger", "postgresql://ann:secret@127.0.0.1:1/db")
    assert ended.status == 4
    assert ended.err.startswith("audit: server of ledger postgresql://ann@127.0.0.1:1/db: want an answer, got ")
    assert "secret" not in ended.out + ended.err


def test_an_auditor_can_verify_and_not_write(
    capfd: Capture, postgres: PostgresServer, played: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role of docs/auditor_role.sql verifies the whole ledger, and the server refuses it every change."""
    database = str(played.ledger).rpartition("/")[2]
    script = (ROOT / "docs" / "auditor_role.sql").read_text()
    postgres.execute(database, script, script, "ALTER ROLE slot_auditor PASSWORD 'auditor-password'")
    url = postgres.url(database, user="slot_auditor", password="auditor-password")
    before = rows(played.ledger, "SELECT count(*), max(notification_id) FROM stored_events")
    sealed = run(capfd, "verify", "--ledger", url, "--keys", tmp_path / "none", "--all", "--json")
    assert sealed.lines[-1]["verdicts"] == {"not_replayable": 6}
    assert not any(finding["severity"] != "warning" for line in sealed.lines[:-1] for finding in line["findings"])
    assert run(capfd, "verify", "--ledger", url, "--keys", played.keys_dir, "--all").status == 0
    assert run(capfd, "fsck", "--ledger", url).status == 0
    assert run(capfd, "copy", tmp_path / "copy.db", "--ledger", url).status == 0
    with RoundLedger.open_for_writing(url, played.keys_dir) as writer, pytest.raises(LedgerForbidden, match="permission denied"):
        writer.open_account("carol", "EUR")
    for statement in (
        "INSERT INTO accounts VALUES ('x', 1, 'EUR', 0, '')",
        "UPDATE accounts SET balance_minor = 1",
        "DELETE FROM rounds",
        "TRUNCATE leaves",
        "DROP TABLE nodes",
        "CREATE TABLE slot_ledger.mine (x int)",
        "ALTER TABLE stored_events DISABLE TRIGGER ALL",
        "SELECT nextval('stored_events_notification_id_seq')",
        "LOCK TABLE stored_events IN EXCLUSIVE MODE",
    ):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            rows(url, "BEGIN READ WRITE; " + statement)
    assert rows(played.ledger, "SELECT count(*), max(notification_id) FROM stored_events") == before
    done = run(capfd, "play", "--ledger", url, "--keys", played.keys_dir, "--game", GAME)
    assert done.status == 4
    assert done.err.startswith("audit: rights in ledger postgresql://slot_auditor@")


def test_builds_in_a_database(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """Builds are registered, listed and judged by as on a file; an auditor who may not read texts sees no names."""
    database = postgres.new_database()
    url = postgres.url(database)
    named = ("--ledger", url, "--keys", tmp_path / "keys")
    run(capfd, "init", *named)
    run(capfd, "play", *named, "--game", GAME)
    assert run(capfd, "builds", "register", *named, "--by", "Ann", "--approved-by", "Bob").status == 0
    assert run(capfd, "builds", "register", *named, "--by", "Ann", "--approved-by", "Bob").status == 2
    run(capfd, "play", *named, "--game", GAME)
    listed = run(capfd, "builds", "list", "--ledger", url, "--json")
    assert (listed.status, listed.document["builds"][0]["registered_by"]) == (0, "Ann")
    assert run(capfd, "verify", "--all", *named).status == 0
    script = (ROOT / "docs" / "auditor_role.sql").read_text()
    hidden = "REVOKE SELECT ON slot_ledger.texts FROM slot_auditor"
    postgres.execute(database, script, hidden, "ALTER ROLE slot_auditor PASSWORD 'auditor-password'")
    auditor = postgres.url(database, user="slot_auditor", password="auditor-password")
    listed = run(capfd, "builds", "list", "--ledger", auditor, "--json")
    assert (listed.status, listed.document["builds"][0]["registered_by"]) == (0, "(not shown)")
    with RoundLedger.open_for_writing(url, tmp_path / "keys") as writer:
        from engines.registry import game_of_rules, installed_rules

        other = game_of_rules(installed_rules(GAME))
        other.fingerprint = "cd" * 32
        ref = writer.open_account("dora", "EUR")
        writer.move_funds(ref, 1000)
        writer.play(ref, other, "base", 200)
    all_ = run(capfd, "verify", "--all", *named, "--json")
    assert all_.lines[-1]["verdicts"] == {"build_unapproved": 1, "reproduced": 2}
    assert "builds: none" not in run(capfd, "doctor", *named).out


def test_a_game_server_needs_no_more_than_the_page_grants(postgres: PostgresServer, played: Place) -> None:
    """The grants that docs/postgresql-auditor.md lists are enough to play, and do not reach the triggers."""
    from engines.registry import installed_game
    from ledger.accounts import move_bonus
    from ledger.interruptions import interrupt_round

    database = str(played.ledger).rpartition("/")[2]
    page = (ROOT / "docs" / "postgresql-auditor.md").read_text()
    grants = [line.strip() for line in page.splitlines() if line.startswith("    GRANT ")]
    assert len(grants) == 7
    postgres.execute(database, "CREATE ROLE game_server LOGIN PASSWORD 'game-password'", *grants)
    url = postgres.url(database, user="game_server", password="game-password")
    with RoundLedger.open_for_writing(url, played.keys_dir) as writer:
        account_ref = writer.open_account("dora", "EUR")
        writer.move_funds(account_ref, 1000)
        writer.play(account_ref, installed_game(GAME), "base", 200)
        move_bonus(writer.store, account_ref, 10)
        opened = writer.open_round(account_ref, installed_game(GAME), "base", 200)
        interrupt_round(writer.store, opened, "system_restarted")
        writer.resume_round(opened.round_id, installed_game(GAME))
    for statement in ("ALTER TABLE stored_events DISABLE TRIGGER ALL", "DROP TRIGGER nodes_append_only ON nodes", "DELETE FROM leaves"):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            rows(url, statement)
    assert whole_ledger_faults(played.ledger) == []


def test_checkpoint_prove_and_anchors(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """A checkpoint is signed and proves a round; what is altered under it is found with it, and nothing is signed then."""
    place = Place(postgres.url(postgres.new_database()), tmp_path / "keys")
    ledger, keys = ("--ledger", place.ledger), ("--keys", place.keys_dir)
    with new_ledger_at(place) as (opened, account_ref):
        from engines.registry import installed_game

        round_ids = [opened.play(account_ref, installed_game(GAME), "base", 200).round_id for _ in range(32)]  # a whole block, with nodes
    file, proof, held_key = tmp_path / "kept.checkpoint", tmp_path / "proof.json", tmp_path / "log.vkey"
    signed = run(capfd, "checkpoint", *ledger, *keys, "-o", file, "--json").document
    size = rows(place.ledger, "SELECT count(*) FROM leaves")[0][0]
    assert (signed["tree_size"], file.read_text()) == (size, signed["note"])
    assert run(capfd, "checkpoint", *ledger, *keys).out == signed["note"]
    held_key.write_bytes((place.keys_dir / "log.vkey").read_bytes())
    held = ("--checkpoint", file, "--vkey", held_key)
    made = run(capfd, "prove", *ledger, *keys, "--round", round_ids[1], "-o", proof, *held, "--json")
    assert (made.status, made.document["ledger"]["comparison"]) == (0, HELD_KEY)
    checked = run(capfd, "prove", "--check", proof, *held, "--json")
    assert (checked.status, checked.document["proven"]) == (0, True)
    one = run(capfd, "verify", *ledger, *keys, "--round", round_ids[0], *held, "--json")
    assert (one.status, one.document["ledger"]["checkpoint"]["tree_size"]) == (0, size)
    every = run(capfd, "verify", *ledger, *keys, "--all", *held, "--json")
    assert (every.status, every.lines[-1]["ledger"]["comparison"]) == (0, HELD_KEY)
    stream = f"round/{round_ids[1]}"
    altered(place.ledger, f"UPDATE leaves SET recorded_at_us = recorded_at_us + 1 WHERE stream = '{stream}' AND version_first = 1")
    altered(place.ledger, "UPDATE nodes SET node_hash = sha256(node_hash)")
    refused = run(capfd, "checkpoint", *ledger, *keys)
    assert (refused.status, refused.out) == (3, "")
    assert "nothing was signed" in refused.err
    tampered = run(capfd, "verify", *ledger, *keys, "--round", round_ids[1], *held, "--json")
    assert (tampered.status, tampered.document["verdict"]) == (3, "record_tampered")
    assert {"leaf", "checkpoint_root"} <= {finding["code"] for finding in tampered.document["findings"]}
    assert run(capfd, "prove", *ledger, *keys, "--round", round_ids[1], "-o", tmp_path / "none.json", *held).status == 3
    assert run(capfd, "prove", "--check", proof, *held).status == 0
    for ended in (made, checked, one, every, refused, tampered):
        assert PASSWORD not in ended.out + ended.err


def test_seeds_and_round_keys(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """Epochs are listed, closed and revealed, and a released key alone lets an auditor rerun its round."""
    from engines.registry import installed_game

    place = Place(postgres.url(postgres.new_database()), tmp_path / "keys")
    ledger, keys = ("--ledger", place.ledger), ("--keys", place.keys_dir)
    with new_ledger_at(place) as (opened, account_ref):
        settled = [opened.play(account_ref, installed_game(GAME), "base", 200).round_id for _ in range(2)]
    writer = place.open_for_writing()
    in_play = writer.open_round(account_ref, installed_game(GAME), "base", 200).round_id
    writer.factory.close()  # as a process that died: its epoch stays open
    states = run(capfd, "seeds", "list", *ledger, "--json").document["epochs"]
    assert [(state["status"], state["round_count"]) for state in states] == [("closed", 2), ("open", 1)]
    assert "commitment" in run(capfd, "seeds", "list", *ledger).out

    file, nobody = tmp_path / "keys.jsonl", ("--keys", tmp_path / "nobody")
    released = run(capfd, "seeds", "release", *ledger, *keys, "--round", settled[0], "-o", file, "--json")
    assert released.document["released"] == [settled[0]]
    with_key = run(capfd, "verify", *ledger, *nobody, "--round", settled[0], "--round-keys", file, "--json")
    assert (with_key.status, with_key.document["verdict"]) == (0, "reproduced")
    assert run(capfd, "verify", *ledger, *nobody, "--round", settled[1], "--round-keys", file).status == 3
    busy = run(capfd, "seeds", "release", *ledger, *keys, "--round", in_play, "-o", tmp_path / "no.jsonl")
    assert busy.status == 2
    everything = tmp_path / "all.jsonl"
    assert run(capfd, "seeds", "release", *ledger, *keys, "--since", "2020-01-01", "--tz", "UTC", "-o", everything).status == 0
    every = run(capfd, "verify", *ledger, *nobody, "--all", "--round-keys", everything, "--json", "--jobs", 1)
    assert every.lines[-1]["verdicts"] == {"reproduced": 2, "not_replayable": 1}

    assert run(capfd, "seeds", "rotate", *ledger, *keys, "--json").document["closed"] == [2]
    early = run(capfd, "seeds", "reveal", *ledger, *keys, "--epoch", 2)
    assert early.status == 2
    assert "want no round of it in play" in early.err
    revealed = run(capfd, "seeds", "reveal", *ledger, *keys, "--json")
    assert [seed["epoch"] for seed in revealed.document["revealed"]] == [1]
    assert run(capfd, "verify", *ledger, *nobody, "--round", settled[1], "--json").document["verdict"] == "reproduced"
    assert [state["status"] for state in run(capfd, "seeds", "list", *ledger, "--json").document["epochs"]] == ["revealed", "closed"]
    for command in (("seeds", "rotate"), ("seeds", "reveal"), ("seeds", "release", "--round", settled[0], "-o", tmp_path / "x")):
        unnamed = run(capfd, *command, *ledger)
        assert unnamed.status == 2
        assert "--keys: want the folder of the keys, as none lies beside a database" in unnamed.err
        assert PASSWORD not in unnamed.out + unnamed.err
    assert whole_ledger_faults(place.ledger) == []


def test_fsck_and_copy(capfd: Capture, played: Place, tmp_path: Path) -> None:
    """A ledger in a database is checked as a whole, with its read model where one is named, and copied into a file that verifies."""
    ledger = ("--ledger", played.ledger)
    clean = run(capfd, "fsck", *ledger, "--json")
    assert clean.status == 0
    assert clean.document["read_model"] is False
    model = tmp_path / "history.db"
    run(capfd, "history", "build", *ledger, "--history", model)
    assert run(capfd, "fsck", *ledger, "--history", model, "--json").document["read_model"] is True
    copied = run(capfd, "copy", tmp_path / "copy.db", *ledger, "--json")
    assert copied.document["root"] == clean.document["root"]
    assert copied.document["ledger"] == str(played.ledger).replace(f":{PASSWORD}", "")
    assert run(capfd, "fsck", "--ledger", tmp_path / "copy.db").status == 0
    verified = run(capfd, "verify", "--ledger", tmp_path / "copy.db", "--keys", played.keys_dir, "--all", "--json")
    assert set(verified.lines[-1]["verdicts"]) == {"reproduced", "incomplete_resolved"}
    for command in (("fsck",), ("copy", tmp_path / "none.db")):
        ended = run(capfd, *command, "--ledger", "postgresql://ann:secret@127.0.0.1:1/db")
        assert ended.status == 4
        assert "secret" not in ended.out + ended.err
