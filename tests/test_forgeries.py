"""What takes more than the database to do is seen by the command that docs/tamper-evidence.md names, and by no other."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.copying import copy_ledger
from ledger.rounds import RoundLedger
from tests.attacks import open_for_attack
from tests.forgeries import CAREFUL, FORGERIES, GAME, Scene, forge, insider, new_scene, run_audit
from tests.rewriting import TABLES, Rewriting

Alteration = Callable[[Rewriting, random.Random], bool]
INSTANCES = int(os.environ.get("SLOT_AUDIT_ATTACKS", "6"))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A ledger of several epochs, accounts and movements of money, with backups of earlier moments beside it."""
    folder = tmp_path_factory.mktemp("scene")
    path = folder / "ledger.db"
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            ledger.move_funds(ref, 10**9)
    for part in range(3):
        with RoundLedger.open_for_writing(path) as ledger:
            for number in range(12):
                ledger.play(
                    refs[number % 2], installed_game(GAME), ("base", "ante")[number % 3 // 2], 200, external_ref=f"tx-{part}-{number}"
                )
            ledger.move_funds(refs[0], -500, "withdrawal")
        copy_ledger(path, folder / f"backup-{part}.db")
    return new_scene(folder, folder / "backup-2.db", folder / "ledger.db.keys")


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in (*TABLES, "sqlite_sequence")}


def test_a_rewriting_that_changes_nothing_changes_nothing(scene: Scene, tmp_path: Path) -> None:
    """The forger is as good as the writer: every row comes out as it was, and a shortened ledger is the backup of then."""
    path = tmp_path / "ledger.db"
    shutil.copyfile(scene.ledger, path)
    with closing(open_for_attack(str(path))) as connection:
        Rewriting(connection).write(connection)
    assert contents(path) == contents(scene.ledger)
    earlier = scene.ledger.with_name("backup-0.db")
    with closing(open_for_attack(str(path))) as connection:
        rewriting = Rewriting(connection)
        del rewriting.appends[len(contents(earlier)["leaves"]) :]
        rewriting.write(connection)
    assert contents(path) == contents(earlier)


@pytest.mark.parametrize("name", FORGERIES)
def test_every_forgery_is_seen_where_the_page_says(scene: Scene, name: str, tmp_path: Path) -> None:
    """Each instance is found and named by the commands that can see it, and by no other."""
    for number in range(INSTANCES):
        missed = forge(name, scene, tmp_path, random.Random(f"{name} {number}"))
        assert not missed, f"{name}, instance {number}: {missed}"


# What needs the seed to be right: an outcome, or a nonce under a round key that was committed to.
REPLAYED = {"alter_win", "drop_round", "swap_rounds", "double_round", "alter_commitment"}


@pytest.mark.parametrize("alter", CAREFUL, ids=lambda alter: alter.__name__)
def test_replay_sees_what_touches_outcomes_without_any_checkpoint(scene: Scene, tmp_path: Path, alter: Alteration) -> None:
    """A careful rewriting of outcomes or of their order diverges from the seeds; money, times and names do not hang on them."""
    copy = scene.copied(tmp_path)
    with insider(copy.ledger) as connection:
        rewriting = Rewriting(connection)
        assert alter(rewriting, random.Random(1))
        rewriting.write(connection)
    assert run_audit("fsck", "--ledger", copy.ledger)[0] == 0
    status, text = run_audit("verify", "--ledger", copy.ledger, "--keys", copy.keys, "--all", "--jobs", 1)
    assert status == (3 if alter.__name__ in REPLAYED else 0), text
