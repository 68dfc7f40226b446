"""The seed check: commitments, the sealed seed and the round key, each altered in turn past the triggers."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_game
from ledger.rounds import RoundLedger
from replay.verification import Verification, Verifier


@pytest.fixture
def played(tmp_path: Path) -> tuple[Path, str]:
    """A ledger with two rounds in one epoch and one in another, and the id of the first."""
    path = tmp_path / "ledger.db"
    game = installed_game("moonlight-princess")
    with RoundLedger.create(path) as ledger:
        account_ref = ledger.open_account("ann", "EUR")
        ledger.move_funds(account_ref, 10_000)
        round_id = ledger.play(account_ref, game, "base", 200).round_id
        ledger.play(account_ref, game, "base", 200)
    with RoundLedger.open_for_writing(path) as ledger:
        ledger.play(account_ref, game, "base", 200)
    return path, round_id


def alter(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def alter_event(path: Path, stream: str, **changes: Any) -> None:
    connection = sqlite3.connect(path)
    (data,) = connection.execute("SELECT state FROM stored_events WHERE originator_id = ? AND originator_version = 1", (stream,)).fetchone()
    connection.close()
    event = {**json.loads(data), **changes}
    altered = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
    alter(path, "UPDATE stored_events SET state = ? WHERE originator_id = ? AND originator_version = 1", altered, stream)


def verify(path: Path, round_id: str) -> Verification:
    with RoundLedger.open_for_reading(path) as ledger:
        return Verifier(ledger).verify(round_id)


def seed_codes(verification: Verification) -> list[str]:
    return [finding.code for finding in verification.findings if finding.code not in ("leaf", "round_digest")]


def test_a_sound_round_passes(played: tuple[Path, str]) -> None:
    """The seed check of an untouched round passes and names epoch and nonce."""
    verification = verify(*played)
    assert verification.verdict == "reproduced"
    assert verification.checks[1].detail.startswith("epoch 1, nonce 0: the seed has the commitment recorded before the bet")


def test_a_changed_sealed_seed_is_named(played: tuple[Path, str]) -> None:
    """Another epoch's sealed seed in the row is found with or without the key, by its hash in the record."""
    alter(played[0], "UPDATE epochs SET sealed_seed = (SELECT sealed_seed FROM epochs WHERE epoch = 2) WHERE epoch = 1")
    verification = verify(*played)
    assert verification.verdict == "diverged"
    assert seed_codes(verification) == ["sealed_seed"]


def test_another_commitment_in_the_opening_is_named(played: tuple[Path, str]) -> None:
    """A round that names another commitment than its epoch's is found; the record's leaf is wrong as well."""
    path, round_id = played
    alter_event(path, f"round/{round_id}", seed_commitment="00" * 32)
    verification = verify(path, round_id)
    assert verification.verdict == "record_tampered"
    assert seed_codes(verification) == ["seed_commitment"]
    assert verification.checks[1].result == "fail"


def test_another_round_key_commitment_is_named(played: tuple[Path, str]) -> None:
    """A round key that is not the one committed to is found."""
    path, round_id = played
    alter_event(path, f"round/{round_id}", round_key_commitment="00" * 32)
    assert seed_codes(verify(path, round_id)) == ["round_key"]


def test_another_nonce_is_named(played: tuple[Path, str]) -> None:
    """A round moved to another nonce has another key than it committed to."""
    path, round_id = played
    alter_event(path, f"round/{round_id}", nonce=7)
    assert "round_key" in seed_codes(verify(path, round_id))


def test_an_epoch_without_its_event_is_named(played: tuple[Path, str]) -> None:
    """A round of an epoch that the record does not know is found."""
    path, round_id = played
    alter(path, "DELETE FROM stored_events WHERE originator_id = 'epoch/1'")
    assert seed_codes(verify(path, round_id)) == ["epoch_missing"]


def test_a_commitment_younger_than_the_bet_is_named(played: tuple[Path, str]) -> None:
    """A commitment whose leaf stands behind the round's own is found."""
    path, round_id = played
    alter(path, "UPDATE leaves SET leaf_index = 1000 WHERE stream = 'epoch/1' AND version_first = 1")
    assert "commitment_late" in seed_codes(verify(path, round_id))
