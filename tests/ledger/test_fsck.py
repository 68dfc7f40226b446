"""fsck: clean ledgers are clean, and every attack on a covered ledger is found and named."""

import os
import random
import shutil
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.fsck import Fault, FsckResult, check_ledger
from ledger.rounds import RoundLedger
from tests.attacks import ATTACKS, attack, is_named

INSTANCES = int(os.environ.get("SLOT_AUDIT_ATTACKS", "6"))
ROUNDS = int(os.environ.get("SLOT_AUDIT_ATTACK_ROUNDS", "60"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, bytes]:
    """A ledger of several epochs and accounts, with the size and root that a kept checkpoint holds."""
    path = tmp_path_factory.mktemp("fsck") / "ledger.db"
    game = installed_game("moonlight-princess")
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            ledger.move_funds(ref, 10**9)
    for part in range(3):
        with RoundLedger.open_for_writing(path) as ledger:
            for number in range(ROUNDS // 3):
                mode = ("base", "ante", "buy")[number % 10 // 8]
                ledger.play(refs[number % 2], game, mode, 200, external_ref=f"tx-{part}-{number}")
            ledger.move_funds(refs[0], -500, "withdrawal")
            tree = ledger.store.tree()
    # Copies of the file alone must be whole: nothing is left in the write-ahead log.
    with RoundLedger.open_for_reading(path) as ledger:
        tree = ledger.store.tree()
    return path, tree.size, tree.root


def faults_of(path: Path, size: int, root: bytes) -> list[Fault]:
    return [fault for fault in check_ledger(path, held_roots=[(size, root)]) if fault is not None]


def test_a_clean_ledger_is_clean(whole: tuple[Path, int, bytes]) -> None:
    """Nothing is found, the counts are right and the recomputed root is the stored one."""
    path, size, root = whole
    counted: list[FsckResult] = []
    assert list(check_ledger(path, held_roots=[(size, root)], counted=counted)) == []
    (result,) = counted
    assert (result.leaf_count, result.root) == (size, root)
    assert result.round_count == ROUNDS // 3 * 3


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_found_and_named(whole: tuple[Path, int, bytes], name: str, tmp_path: Path) -> None:
    """Each instance of the attack is a finding that names its place."""
    path, size, root = whole
    for number in range(INSTANCES):
        chance = random.Random(f"{name} {number}")
        copy = tmp_path / f"{number}.db"
        shutil.copyfile(path, copy)
        words = attack(name, str(copy), chance)
        messages = [fault.message for fault in faults_of(copy, size, root)]
        assert messages, f"{name}, instance {number}: nothing found"
        assert is_named(words, messages), (name, number, words, messages[:5])
        copy.unlink()
