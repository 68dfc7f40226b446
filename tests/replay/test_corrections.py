"""A correction behind a round's end changes nothing of what is checked up to it."""

from pathlib import Path
from typing import Any

from engines.registry import game_of_rules, installed_game
from engines.rules import load_rules
from ledger.corrections import correct_round
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verification import Verifier
from tests.conftest import ROOT
from tests.ledger_files import new_ledger


def test_a_balance_is_still_looked_at_when_a_correction_comes_later(tmp_path: Path) -> None:
    """A settlement whose balance is wrong is found although money moved between it and the round's correction."""
    with new_ledger(tmp_path) as (ledger, ref):
        game = installed_game("moonlight-princess")
        opened = ledger.open_round(ref, game, "base", 200)
        settle = ledger.store.settle_round

        def settle_wrong(round_id: str, win_minor: int, events_of: Any, **terms: Any) -> int:
            return settle(round_id, win_minor, lambda balance_minor, now: events_of(balance_minor + 7, now), **terms)

        ledger.store.settle_round = settle_wrong  # type: ignore[method-assign]
        ledger.finish_round(opened.round_id, game)
        verifier = Verifier(ledger, keys_dir=tmp_path / "ledger.db.keys")
        before = verifier.verify(opened.round_id)
        ledger.move_funds(ref, 100)
        correct_round(ledger, opened.round_id, "round_opened.channel", "web", "why", "Ann", "Bob")
        after = verifier.verify(opened.round_id)
    assert [finding.code for finding in before.findings] == ["balance"]
    assert after.findings == before.findings
    assert after.verdict == before.verdict == "settlement_divergence"
    assert after.notes[-1].startswith("corrected since: round_opened.channel")


def test_a_state_is_that_of_the_round_settled_last_not_of_the_one_corrected_last(tmp_path: Path) -> None:
    """A round starts from what the one before left, though an older one was corrected, many times, in between."""
    rules = load_rules(ROOT / "tests" / "rules" / "stargazing-pictures.toml")
    game = game_of_rules(rules)
    with new_ledger(tmp_path) as (ledger, ref):
        rounds = [ledger.play(ref, game, "base", 200)]
        while rounds[-1].settled.state_out == rounds[0].settled.state_out:
            rounds.append(ledger.play(ref, game, "base", 200))
        for number in range(9):
            correct_round(ledger, rounds[0].round_id, "round_opened.channel", f"web {number}", "why", "Ann", "Bob")
        last = ledger.play(ref, game, "base", 200)
        assert last.opened.state_in == rounds[-1].settled.state_out != rounds[0].settled.state_out
        verifier = Verifier(ledger, keys_dir=tmp_path / "ledger.db.keys", rules=rules)
        for each in (rounds[0], rounds[-1], last):
            assert verifier.verify(each.round_id).verdict == "reproduced"
    summary = BulkSummary()
    list(verify_bulk(plan_bulk(tmp_path / "ledger.db", tmp_path / "ledger.db.keys", rules=rules), summary))
    assert not summary.is_wrong
