"""Packs of rounds in damaged ledgers: built all the same, and wrong for everybody who checks them; commands never end in a traceback."""

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from audit_reports.pack_check import check_pack
from tests.attacks import open_for_attack
from tests.command_line import Ended, run
from tests.verifier_process import codes

Capture = pytest.CaptureFixture[str]
OF_ROUND = "originator_id = 'round/{round}'"
DAMAGES = {
    "an opening that is no JSON": f"UPDATE stored_events SET state = 'xx' WHERE {OF_ROUND} AND originator_version = 1",
    "an event gone": f"DELETE FROM stored_events WHERE {OF_ROUND} AND originator_version = 4",
    "a leaf gone": "DELETE FROM leaves WHERE stream = 'round/{round}'",
    "a neighbour that is no JSON": "UPDATE stored_events SET state = 'xx' WHERE originator_id = 'round/{before}'",
    "an account's events gone": "DELETE FROM stored_events WHERE originator_id LIKE 'account/%'",
    "an epoch's events gone": "DELETE FROM stored_events WHERE originator_id LIKE 'epoch/%'",
    "the ledger's events gone": "DELETE FROM stored_events WHERE originator_id = 'ledger'",
    "a topic that is none": f"UPDATE stored_events SET topic = 'ä/x' WHERE {OF_ROUND} AND originator_version = 3",
    "a leaf over versions that are not there": "UPDATE leaves SET version_last = 9000000000000000000 WHERE stream = 'round/{round}'",
    "a leaf's hash cut off": "UPDATE leaves SET leaf_hash = X'00' WHERE stream = 'round/{round}'",
    "times that no calendar has": "UPDATE leaves SET recorded_at_us = 9000000000000000000",
    "a bet below 0": f"""UPDATE stored_events SET state = replace(state, '"bet_minor":200', '"bet_minor":-200') WHERE {OF_ROUND}""",
    "a bet without measure": f"""UPDATE stored_events SET state = replace(state, '"bet_minor":200', '"bet_minor":9007199254740991')
        WHERE {OF_ROUND}""",
    "a game that is not installed": f"UPDATE stored_events SET state = replace(state, 'moonlight', 'moonlit') WHERE {OF_ROUND}",
    "a bet that is no integer": f"""UPDATE stored_events SET state = replace(state, '"bet_minor":200', '"bet_minor":2.5')
        WHERE {OF_ROUND}""",
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with three rounds of one account, each with a feature."""
    from engines.registry import installed_game
    from ledger.rounds import RoundLedger

    path = tmp_path_factory.mktemp("damaged") / "ledger.db"
    with RoundLedger.create(path) as ledger:
        account_ref = ledger.open_account("anna", "EUR")
        ledger.move_funds(account_ref, 1_000_000)
        for _ in range(3):
            ledger.play(account_ref, installed_game("moonlight-princess"), "buy", 200)
    return path


def damaged(played: Path, folder: Path, damage: str) -> tuple[Path, str]:
    """Return a copy of the ledger with one damage, and the id of its second round."""
    path = folder / "ledger.db"
    shutil.copyfile(played, path)
    shutil.copytree(played.with_name("ledger.db.keys"), folder / "ledger.db.keys")
    with closing(open_for_attack(str(path))) as connection:
        streams = "SELECT DISTINCT stream FROM leaves WHERE stream LIKE 'round/%' ORDER BY leaf_index"
        before, round_id, _ = dict.fromkeys(stream.removeprefix("round/") for (stream,) in connection.execute(streams))
        connection.execute(DAMAGES[damage].format(round=round_id, before=before))
        connection.commit()
    return path, round_id


def ended(capfd: Capture, words: Sequence[object], path: Path) -> Ended:
    """Run a command on a ledger that may be damaged: it ends with a status of the contract, and no traceback."""
    done = run(capfd, *words, "--ledger", path)
    assert done.status in (0, 3, 4), done.err
    assert "Traceback" not in done.out + done.err
    return done


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_round_has_a_pack_that_is_wrong_for_everybody(
    capfd: Capture, played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """The pack of a round in a damaged ledger is built, and both checkers find it wrong."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path, round_id = damaged(played, tmp_path, damage)
    done = ended(capfd, ("pack", "build", "--round", round_id, "-o", tmp_path / "pack.zip"), path)
    assert done.status == 0, done.err
    data = (tmp_path / "pack.zip").read_bytes()
    assert check_pack(data, "pack").exit_status == 3
    assert codes(data)
    assert run(capfd, "pack", "verify", tmp_path / "pack.zip", "--json").status == 3


@pytest.mark.parametrize("damage", ["a bet below 0", "a bet without measure", "a bet that is no integer"])
def test_a_bet_that_was_altered_is_found_and_not_played(capfd: Capture, played: Path, tmp_path: Path, damage: str) -> None:
    """`audit verify` of a round whose bet leads to amounts that no record holds ends with findings, alone and among all."""
    path, round_id = damaged(played, tmp_path, damage)
    verdict = ended(capfd, ("verify", "--round", round_id, "--what-if", "--draws", "--json"), path)
    assert (verdict.status, json.loads(verdict.out)["verdict"]) == (3, "record_tampered")
    assert ended(capfd, ("verify", "--all", "--jobs", "1"), path).status == 3
    ended(capfd, ("show", "--round", round_id), path)
