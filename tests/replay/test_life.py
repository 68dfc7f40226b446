"""A round's life in the verdict: each thing that cannot have happened is one finding, in a ledger and in a file; a right life has none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engines.game import EventBytes
from engines.registry import game_of_rules
from engines.rules import load_rules
from ledger import voids
from ledger.bets import Waiting
from ledger.codec import event_bytes
from ledger.export import export_lines
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.legs import won_so_far
from ledger.lifecycle_events import BonusMoved, RoundInterrupted, RoundResumed, RoundVoided
from ledger.pausing import Refund
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM
from ledger.voids import void_round
from replay.check import check_rounds
from replay.rulebook import Rulebook
from replay.verdict import Finding, exit_status
from replay.verification import Verification, Verifier
from tests.conftest import ROOT
from tests.contracts.alterations_contract import TWO
from tests.ledger_files import new_ledger
from tests.planted_lives import begun, moonlight, recorded_as, slipped_in

COST = 20_000  # of mode buy at a bet of 2.00
STARGAZING = load_rules(ROOT / "tests" / "rules" / "stargazing-pictures.toml")


def verified(ledger: RoundLedger, round_id: str, rules: Any = None) -> Verification:
    return Verifier(ledger, keys_dir=Path(f"{ledger.path}.keys"), rules=rules).verify(round_id)


def found_in_file(ledger: RoundLedger, round_id: str, rules: Any = None) -> list[Finding]:
    """Return what `audit check` finds in the round's export."""
    records = ledger.store.records_of([ROUND_STREAM + round_id])
    (checked,) = check_rounds((line.decode() for line in export_lines(records)), Rulebook(rules).find).rounds
    return checked.findings


def interrupted(ledger: RoundLedger, round_id: str, **terms: Any) -> RoundInterrupted:
    return interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost", **terms)


def interruption(ledger: RoundLedger, round_id: str) -> RoundInterrupted:
    """Return an interruption that is right but for where it is put."""
    now = ledger.store.clock()
    won = ledger_won(ledger, round_id)
    terms = {"cause": "other", "acked_index": -1, "acked_at_us": 0, "broke_at_us": now, "blocks": "own_game", "held_minor": COST}
    return RoundInterrupted(**terms, won_minor=won, interrupted_at_us=now)  # type: ignore[arg-type]


def ledger_won(ledger: RoundLedger, round_id: str) -> int:
    return won_so_far(ledger.round_events(round_id)[1:])


def resumption(ledger: RoundLedger) -> RoundResumed:
    return RoundResumed(resumed_by="player", session_ref="", channel="", resumed_at_us=ledger.store.clock())


def settled_at_once(ledger: RoundLedger, round_id: str) -> None:
    """Settle a round as it stands: nobody looks whether it may go on."""
    opened = ledger.recorded(round_id)
    ledger.settle_round(opened, moonlight().play(opened.key, "buy", 200, {}, ()))


def interrupted_as(**values: int) -> Callable[[RoundLedger, str], int]:
    """Return a fault: an interruption that is recorded with other values."""

    def make(ledger: RoundLedger, round_id: str) -> int:
        with recorded_as(ledger, "round_interrupted", **values):
            interrupted(ledger, round_id)
        index = len(ledger.round_events(round_id)) - 1
        ledger.finish_round(round_id, moonlight())
        return index

    return make


def voided_as(**values: object) -> Callable[[RoundLedger, str], int]:
    """Return a fault: a void that is recorded with other values."""

    def make(ledger: RoundLedger, round_id: str) -> int:
        with recorded_as(ledger, "round_voided", **values):
            void_round(ledger, round_id, "cannot_continue", why="a board died", by=TWO[0], approved_by=TWO[1])
        return len(ledger.round_events(round_id)) - 1

    return make


def paid_too_much(ledger: RoundLedger, round_id: str) -> int:
    """The money that the event names has moved: only the rule that it names says that it is too much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voids, "refund_of", lambda *_: Refund(COST + 1, 0))
        return voided_as()(ledger, round_id)


def paid_as_bonus(ledger: RoundLedger, round_id: str) -> int:
    """A cost that was paid from the balance goes to bonus money."""
    ledger.store.move_bonus(ledger.opening(round_id).account_ref, 0, lambda bonus, now: bonus_event(bonus, now))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voids, "refund_of", lambda *_: Refund(0, COST))
        return voided_as()(ledger, round_id)


def bonus_event(bonus_minor: int, now: int) -> EventBytes:
    return event_bytes(BonusMoved(amount_minor=0, reason="granted", bonus_after_minor=bonus_minor, moved_at_us=now))


def broken_before_the_opening(ledger: RoundLedger, round_id: str) -> int:
    return interrupted_as(broke_at_us=ledger.opening(round_id).opened_at_us - 1)(ledger, round_id)


def broken_after_it_was_recorded(ledger: RoundLedger, round_id: str) -> int:
    now = ledger.store.clock() + 1
    ledger.store.clock = lambda: now
    return interrupted_as(broke_at_us=now + 1)(ledger, round_id)


def acknowledged_to_come(ledger: RoundLedger, round_id: str) -> int:
    index = len(ledger.round_events(round_id))
    return interrupted_as(acked_index=index, acked_at_us=ledger.store.clock())(ledger, round_id)


def resumed_uninterrupted(ledger: RoundLedger, round_id: str) -> int:
    slipped_in(ledger, round_id, resumption(ledger))
    ledger.finish_round(round_id, moonlight())
    return _last_of(ledger, round_id, "round_resumed")


def resumed_twice(ledger: RoundLedger, round_id: str) -> int:
    interrupted(ledger, round_id)
    resume_interrupted(ledger.store, ledger.recorded(round_id), "player")
    return resumed_uninterrupted(ledger, round_id)


def interrupted_twice(ledger: RoundLedger, round_id: str) -> int:
    slipped_in(ledger, round_id, interruption(ledger, round_id))
    slipped_in(ledger, round_id, interruption(ledger, round_id))
    slipped_in(ledger, round_id, resumption(ledger))
    settled_at_once(ledger, round_id)
    return _last_of(ledger, round_id, "round_interrupted")


def played_on_unresumed(ledger: RoundLedger, round_id: str) -> int:
    slipped_in(ledger, round_id, interruption(ledger, round_id))
    settled_at_once(ledger, round_id)
    return _last_of(ledger, round_id, "round_interrupted") + 1


def interrupted_behind_the_end(ledger: RoundLedger, round_id: str) -> int:
    ledger.finish_round(round_id, moonlight())
    return _behind(ledger, round_id, event_bytes(interruption(ledger, round_id)))


def resumed_behind_the_end(ledger: RoundLedger, round_id: str) -> int:
    ledger.finish_round(round_id, moonlight())
    return _behind(ledger, round_id, event_bytes(resumption(ledger)))


def interrupted_behind_a_void(ledger: RoundLedger, round_id: str) -> int:
    voided_as()(ledger, round_id)
    return _behind(ledger, round_id, event_bytes(interruption(ledger, round_id)))


def resumed_behind_a_void(ledger: RoundLedger, round_id: str) -> int:
    voided_as()(ledger, round_id)
    return _behind(ledger, round_id, event_bytes(resumption(ledger)))


def torn(ledger: RoundLedger, round_id: str) -> int:
    """A leg is cut within a spin, where nobody may cut it."""
    opened = ledger.recorded(round_id)
    events = moonlight().play(opened.key, "buy", 200, {}, ()).events
    done = len(opened.later)
    slipped_in(ledger, round_id, events[done])
    ledger.finish_round(round_id, moonlight())
    return 1 + done + 1


def _behind(ledger: RoundLedger, round_id: str, *events: EventBytes) -> int:
    version = len(ledger.round_events(round_id)) + 1
    ledger.store.append_events(ROUND_STREAM + round_id, version, list(events))
    return version - 1


def _last_of(ledger: RoundLedger, round_id: str, kind: str) -> int:
    return max(row.version - 1 for row in ledger.round_events(round_id) if row.topic.startswith(kind))


FAULTS: list[tuple[str, str, Callable[[RoundLedger, str], int]]] = [
    ("held", "money", interrupted_as(held_minor=COST + 1)),
    ("held", "money", interrupted_as(held_minor=0)),
    ("won_so_far", "money", interrupted_as(won_minor=999_983)),
    ("won_so_far", "money", voided_as(won_minor=999_983)),
    ("acked", "integrity", acknowledged_to_come),
    ("acked", "integrity", interrupted_as(acked_index=-2)),
    ("acked", "integrity", interrupted_as(acked_index=0)),
    ("acked", "integrity", interrupted_as(acked_at_us=1)),
    ("time_order", "integrity", broken_before_the_opening),
    ("time_order", "integrity", broken_after_it_was_recorded),
    ("void_amount", "money", voided_as(refund_minor=COST - 1)),
    ("void_amount", "money", voided_as(refund_bonus_minor=1)),
    ("void_amount", "money", paid_too_much),
    ("void_amount", "money", paid_as_bonus),
    ("life_order", "integrity", resumed_uninterrupted),
    ("life_order", "integrity", resumed_twice),
    ("life_order", "integrity", interrupted_twice),
    ("life_order", "integrity", played_on_unresumed),
    ("life_order", "integrity", interrupted_behind_the_end),
    ("life_order", "integrity", resumed_behind_the_end),
    ("life_order", "integrity", interrupted_behind_a_void),
    ("life_order", "integrity", resumed_behind_a_void),
    ("leg", "integrity", torn),
]


@pytest.mark.parametrize(("code", "severity", "make"), FAULTS, ids=[f"{code}-{place}" for place, (code, _, _) in enumerate(FAULTS)])
def test_each_impossible_life_is_one_finding(tmp_path: Path, code: str, severity: str, make: Callable[[RoundLedger, str], int]) -> None:
    """It names the code and the event; the ledger's verdict and the check of an exported file say the same."""
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = begun(ledger, ref)
        index = make(ledger, round_id)
        verification = verified(ledger, round_id)
        assert [(each.code, each.severity, each.event_index) for each in verification.findings] == [(code, severity, index)]
        (finding,) = verification.findings
        assert finding.message == f"{finding.where}: want {finding.want}, got {finding.got}"
        assert finding.spin_index == -1
        assert exit_status(verification.verdict, verification.findings) == 3
        assert verification.verdict == "settlement_divergence"
        assert found_in_file(ledger, round_id) == verification.findings


def test_a_choice_while_interrupted_is_one_finding(tmp_path: Path) -> None:
    """Whoever chooses in a round that stands still has not gone on with it."""
    game = game_of_rules(STARGAZING)
    with new_ledger(tmp_path) as (ledger, ref):
        waiting = next(
            played for played in (ledger.play_to_choice(ref, game, "base", 200) for _ in range(2000)) if isinstance(played, Waiting)
        )
        round_id = waiting.round_id
        stopped = interruption(ledger, round_id).model_copy(update={"held_minor": waiting.opened.cost_minor})
        slipped_in(ledger, round_id, stopped)
        opened = ledger.recorded(round_id)
        outcome = game.play(opened.key, "base", 200, opened.event.state_in, waiting.offered[-1:])
        ledger.settle_round(opened, outcome, [(waiting.offered[-1], "player")])
        (finding,) = verified(ledger, round_id, STARGAZING).findings
        assert (finding.code, finding.event_index) == ("life_order", _last_of(ledger, round_id, "round_interrupted") + 1)
        assert ledger.round_events(round_id)[finding.event_index].topic == "choice_made/1"
        assert finding.got == "one that is interrupted"
        assert found_in_file(ledger, round_id, STARGAZING) == [finding]


def test_a_life_that_can_be_has_no_finding(tmp_path: Path) -> None:
    """Interrupted at the opening, after a leg and after a resumption, late and by the device's word, settled or void: nothing is found."""
    with new_ledger(tmp_path) as (ledger, ref):
        for legs in (0, 1, 3):
            for end in ("settled", "void", "void while interrupted"):
                round_id = begun(ledger, ref, legs)
                opened_at_us = ledger.opening(round_id).opened_at_us
                interrupted(ledger, round_id, broke_at_us=opened_at_us)
                resume_interrupted(ledger.store, ledger.recorded(round_id), "player")
                version = len(ledger.round_events(round_id))
                interrupted(ledger, round_id, acked_index=version - 1, acked_at_us=ledger.store.clock())
                if end == "void":
                    resume_interrupted(ledger.store, ledger.recorded(round_id), "player")
                if end == "settled":
                    ledger.finish_round(round_id, moonlight())
                else:
                    voided_as()(ledger, round_id)
                verification = verified(ledger, round_id)
                assert verification.findings == []
                assert (verification.verdict, exit_status(verification.verdict, [])) == ("incomplete_resolved", 0)
                assert found_in_file(ledger, round_id) == []
                assert sum(note.startswith("interrupted: connection lost") for note in verification.notes) == 2
                assert sum(note.startswith("resumed at") for note in verification.notes) == (1 if end == "void while interrupted" else 2)
                assert (verification.voided is None) == (end == "settled")


def test_a_void_and_a_settlement_of_one_round_are_found(tmp_path: Path) -> None:
    """A round that is settled cannot be void as well, nor the other way round: one is enough to pay."""
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = begun(ledger, ref)
        ledger.finish_round(round_id, moonlight())
        other = begun(ledger, ref)
        voided_as()(ledger, other)
        void = ledger.round_events(other)[-1]
        assert isinstance(verified(ledger, other).voided, RoundVoided)
        _behind(ledger, round_id, EventBytes(void.topic, void.data))
        codes = {finding.code for finding in verified(ledger, round_id).findings}
        assert "life_order" in codes
        opened = ledger.recorded(other)
        outcome = moonlight().play(opened.key, "buy", 200, {}, ())
        index = _behind(ledger, other, *outcome.events[len(opened.later) - 1 :])
        found = verified(ledger, other).findings
        assert ("life_order", index) in [(finding.code, finding.event_index) for finding in found]
