"""A correction behind a round's end changes nothing of what is checked up to it."""

from pathlib import Path
from typing import Any

from engines.registry import installed_game
from ledger.corrections import correct_round
from replay.verification import Verifier
from tests.ledger_files import new_ledger


def test_a_balance_is_still_looked_at_when_a_correction_comes_later(tmp_path: Path) -> None:
    """A settlement whose balance is wrong is found although money moved between it and the round's correction."""
    with new_ledger(tmp_path) as (ledger, ref):
        game = installed_game("moonlight-princess")
        opened = ledger.open_round(ref, game, "base", 200)
        settle = ledger.store.settle_round

        def settle_wrong(round_id: str, win_minor: int, events_of: Any) -> int:
            return settle(round_id, win_minor, lambda balance_minor, now: events_of(balance_minor + 7, now))

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
