"""A whole ledger with rounds that were interrupted, completed and voided, bonus money among their bets: by all who look at it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_game
from ledger.codec import event_bytes
from ledger.export import export_lines
from ledger.held import complete_round
from ledger.interruptions import interrupt_round
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.check import FileCheck, check_rounds
from replay.rulebook import Rulebook
from tests.contracts.alterations_contract import TWO
from tests.contracts.life_contract import grant, put_in_force
from tests.ledger_files import new_ledger
from tests.whole import everything_wrong

GAME, OTHER = "moonlight-princess", "starlight-wins"
COST = 20 * 100  # of a bought round
PEOPLE = {"why": "the reels stood still", "by": TWO[0], "approved_by": TWO[1]}


def bought(ledger: RoundLedger, ref: str) -> str:
    """Open a bought round, play its first leg and interrupt it."""
    game = installed_game(GAME)
    round_id = ledger.open_round(ref, game, "buy", 20).round_id
    ledger.play_leg(round_id, game)
    interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost")
    return round_id


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[tuple[RoundLedger, str, Path]]:
    """Give a ledger in which rounds were interrupted, gone on with, completed and voided, some of them paid by bonus money."""
    with new_ledger(tmp_path, balance_minor=COST + 300) as (ledger, ref):
        put_in_force(ledger, "complete-24-hours")
        grant(ledger, ref, 10**6)
        first = bought(ledger, ref)
        ledger.play(ref, installed_game(OTHER), "base", 20)  # between the legs of the first
        second = ledger.open_round(ref, installed_game(OTHER), "base", 20).round_id
        void_round(ledger, first, "cannot_continue", **PEOPLE)
        ledger.finish_round(second, installed_game(OTHER))
        for _ in range(3):
            ledger.finish_round(bought(ledger, ref), installed_game(GAME))
        if (rest := ledger.account("alice").balance_minor) >= 150:
            ledger.move_funds(ref, 150 - rest, "withdrawal")
        void_round(ledger, bought(ledger, ref), "cannot_continue", **PEOPLE)
        third = bought(ledger, ref)
        now = ledger.store.clock() + 86_400_000_000
        ledger.store.clock = lambda: now
        complete_round(ledger, third, installed_game(GAME))
        yield ledger, ref, tmp_path


def checked(ledger: RoundLedger) -> FileCheck:
    """Return what the check of an exported file finds in this ledger's rounds and its account."""
    streams = [*ledger.store.streams("account/"), *ledger.store.streams("round/")]
    lines = [line.decode() for line in export_lines(ledger.store.records_of(streams))]
    return check_rounds(lines, Rulebook().find)


def found_in_file(check: FileCheck) -> list[str]:
    """Return what an exported file shows to be wrong."""
    in_rounds = [finding.message for each in check.rounds for finding in each.findings if finding.severity != "warning"]
    return in_rounds + [each.finding.message for each in check.stream_findings]


def test_nothing_is_found_wrong(lived):
    """Fsck, a second reading, verification of all rounds with their balances, and the check of an exported file agree."""
    ledger, ref, folder = lived
    assert any(ledger.opening(round_id).bonus_minor for round_id in ledger.store.rounds_of(ref))
    assert everything_wrong(folder / "ledger.db", folder / "ledger.db.keys") == []
    assert found_in_file(checked(ledger)) == []


@pytest.mark.parametrize("end", ["settled", "voided"])
def test_a_unit_short_is_found_by_verification_and_in_a_file(lived, end, monkeypatch):
    """A balance one unit short, of a round that was interrupted, is one finding of the whole ledger, and one of its exported file."""
    ledger, ref, folder = lived

    def short(event: Any) -> Any:
        less = {"balance_after_minor": event.balance_after_minor - 1} if hasattr(event, "balance_after_minor") else {}
        return event_bytes(event.model_copy(update=less))

    round_id = bought(ledger, ref)
    for module in ("rounds", "voids"):
        monkeypatch.setattr(f"ledger.{module}.event_bytes", short)
    if end == "settled":
        ledger.finish_round(round_id, installed_game(GAME))
    else:
        void_round(ledger, round_id, "cannot_continue", **PEOPLE)
    summary = BulkSummary()
    said = [each for each in verify_bulk(plan_bulk(folder / "ledger.db", folder / "ledger.db.keys"), summary) if each is not None]
    assert [finding for each in said for finding in each.findings if finding.severity != "warning"] == []
    (row, finding) = sorted(summary.ledger_findings, key=lambda each: each.code, reverse=True)
    assert (row.code, finding.code) == ("balance_row", "balance")
    assert (round_id in finding.where, int(finding.want) - int(finding.got)) == (True, 1)
    (message,) = found_in_file(checked(ledger))
    assert round_id in message
