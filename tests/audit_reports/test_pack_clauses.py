"""What the clauses of a pack say of rounds that are in play, played across, made before any approval, or recorded wrongly."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit_reports.bag import read_zip
from audit_reports.evidence_pack import PackTerms, build_pack
from engines.registry import installed_builds, installed_game
from ledger.builds import register_builds
from ledger.interruptions import interrupt_round
from ledger.rounds import RoundLedger
from replay.anchors import NO_ANCHORS
from tests.ledger_files import altered, new_ledger

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
ALONE = "4.3.3(e)"
OF_DRAWS = ("3.2.3(a)", "4.5.2(a), (b), (d)", "4.6.5", "13:69O-1.8(d)", "811a.7(d)", "RTS 7A, 7B")
OF_THE_WHOLE = ("2.8.2(a)-(r)", "4.14.1, 4.14.2", "4.14.3", "810a.11(a)")


def clauses(ledger: RoundLedger, round_id: str) -> Mapping[str, Any]:
    """Return the clauses of a round's pack by their number."""
    data = build_pack(ledger, round_id, PackTerms(ledger.path.with_name("ledger.db.keys"), NO_ANCHORS), KEY).data
    (rows,) = [json.loads(content) for name, content in read_zip(data, "pack").items() if name.endswith("/data/clauses.json")]
    return {row["clause"]: row for row in rows}


def results(rows: Mapping[str, Any], names: tuple[str, ...]) -> set[str]:
    """Return the results of these clauses."""
    return {rows[name]["result"] for name in names}


def test_nothing_passes_that_a_round_in_play_cannot_show(tmp_path: Path) -> None:
    """Without key and draws nobody can do the outcome again from the pack, and what is not played is not shown; afterwards both are."""
    game = installed_game("moonlight-princess")
    with new_ledger(tmp_path) as (ledger, account_ref):
        round_id = ledger.open_round(account_ref, game, "buy", 200).round_id
        ledger.play_leg(round_id, game)
        rows = clauses(ledger, round_id)
        assert results(rows, OF_DRAWS + OF_THE_WHOLE) == {"not_assessed"}
        assert "draws.jsonl" in rows["3.2.3(a)"]["why"]
        ledger.finish_round(round_id, game)
        assert results(clauses(ledger, round_id), OF_DRAWS + OF_THE_WHOLE) == {"pass"}


def test_a_round_that_another_was_played_across_is_not_alone(tmp_path: Path) -> None:
    """A round in play with a later one beside it, and one that an earlier one lies across which is not its neighbour, are not alone."""
    game, other = installed_game("moonlight-princess"), installed_game("moon-spell")
    with new_ledger(tmp_path) as (ledger, account_ref):
        first = ledger.play(account_ref, other, "base", 200).round_id
        held = ledger.open_round(account_ref, game, "buy", 200).round_id
        ledger.play_leg(held, game)
        assert clauses(ledger, held)[ALONE]["result"] == "pass"
        interrupt_round(ledger.store, ledger.recorded(held), "connection_lost")
        one = ledger.play(account_ref, other, "base", 200).round_id
        ledger.play_leg(held, game)
        interrupt_round(ledger.store, ledger.recorded(held), "connection_lost")
        two = ledger.play(account_ref, other, "base", 200).round_id
        for round_id, beside in ((held, one), (one, held), (two, held)):
            row = clauses(ledger, round_id)[ALONE]
            assert (row["result"], beside in row["why"]) == ("not_assessed", True), row
        assert clauses(ledger, first)[ALONE]["result"] == "pass"


def test_a_build_approves_no_round_before_its_registration(tmp_path: Path) -> None:
    """A round that was opened before the first registration was approved by nobody; the next one was."""
    game = installed_game("moonlight-princess")
    with new_ledger(tmp_path) as (ledger, account_ref):
        before = ledger.play(account_ref, game, "base", 200).round_id
        register_builds(ledger, installed_builds("moonlight-princess"), "R. Mayer", "K. Lind")
        after = ledger.play(account_ref, game, "base", 200).round_id
        assert [clauses(ledger, each)["B.8.2"]["result"] for each in (before, after)] == ["not_assessed", "pass"]


@pytest.mark.parametrize("change", ["state = 'xx'", "state = replace(state, 'spin', 'spun')"])
def test_nothing_is_whole_in_a_record_that_is_wrong(tmp_path: Path, change: str) -> None:
    """Where an event cannot be read the report leaves it out, and no clause says that all is shown."""
    game = installed_game("moonlight-princess")
    with new_ledger(tmp_path) as (ledger, account_ref):
        round_id = ledger.play(account_ref, game, "base", 200).round_id
    path = tmp_path / "ledger.db"
    altered(path, f"UPDATE stored_events SET {change} WHERE originator_id = 'round/{round_id}' AND originator_version = 2")
    with RoundLedger.open_for_reading(path) as ledger:
        assert "pass" not in results(clauses(ledger, round_id), OF_THE_WHOLE)
