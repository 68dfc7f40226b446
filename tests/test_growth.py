"""No false alarm: in the ledgers of ordinary and of disturbed lives nothing is found wrong."""

import os
import sqlite3
from contextlib import closing

import pytest

from tests.growth import Life, live

LIVES = int(os.environ.get("SLOT_AUDIT_LIVES", "2"))


@pytest.mark.parametrize("seed", range(LIVES))
def test_nothing_is_found_wrong_with_a_ledger_that_lived(tmp_path, seed):
    """Grown, interrupted, signed, copied, restored, vacuumed: fsck, verification, kept checkpoints and history agree."""
    counts = live(tmp_path, seed)
    assert counts["rounds"] > 10


def test_a_life_is_held_against_what_was_kept(tmp_path):
    """The same look sees a balance raised behind the ledger's back, and a checkpoint that is not the ledger's: it is not blind."""
    life = Life(tmp_path / "a", 0)
    life.play()
    life.sign()
    assert life.wrong(life.path, life.keys_dir) == []
    with closing(sqlite3.connect(life.path)) as connection, connection:
        connection.execute("UPDATE accounts SET balance_minor = balance_minor + 1")
    assert len(life.wrong(life.path, life.keys_dir)) >= 3
    other = Life(tmp_path / "b", 0)
    other.play()
    other.sign()
    other.kept += life.kept
    assert other.wrong(other.path, other.keys_dir)
    life.ledger.close()
    other.ledger.close()
