"""Disputes in a verdict: findings by the clock that is given, notes of holds, one finding for each dispute over many rounds."""

from pathlib import Path
from typing import Any

import pytest

from engines.game import EventBytes
from engines.registry import installed_game
from ledger.codec import event_bytes
from ledger.disputes import DAY_US, close_dispute, open_dispute
from ledger.lifecycle_events import DisputeClosed
from ledger.profile_setting import set_profile
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verdict import exit_status
from replay.verification import Verification, Verifier
from tests.contracts.alterations_contract import TWO
from tests.contracts.disputes_contract import NOW_US, profile_with, set_clock
from tests.ledger_files import altered, new_ledger

DUE_US = NOW_US + 2 * DAY_US


def verified(ledger: RoundLedger, round_id: str, as_of_us: int | None = None) -> Verification:
    """Return the verdict on a round as of a moment."""
    return Verifier(ledger, keys_dir=Path(f"{ledger.path}.keys"), as_of_us=as_of_us).verify(round_id)


@pytest.fixture
def disputed(tmp_path: Path) -> Any:
    """Give a ledger, three rounds, the second under a stricter profile, the third under one that holds none, and a dispute about them."""
    game = installed_game("moonlight-princess")
    with new_ledger(tmp_path) as (ledger, ref):
        round_ids = []
        for profile in (None, profile_with("2.0.0", within_days=2), profile_with("3.0.0", within_days=5, holds=False)):
            if profile is not None:
                set_profile(ledger.store, profile, *TWO)
            round_ids.append(ledger.play(ref, game, "base", 200).round_id)
        set_clock(ledger, NOW_US)
        dispute = open_dispute(ledger, round_ids, "short", NOW_US, "Ann")
        yield ledger, round_ids, dispute


def test_an_open_dispute_is_overdue_after_its_time(disputed: Any) -> None:
    """Up to the last moment of the strictest profile nothing is wrong, after it each round has one finding of completeness."""
    ledger, round_ids, dispute = disputed
    for round_id in round_ids:
        assert verified(ledger, round_id, DUE_US).findings == []
        late = verified(ledger, round_id, DUE_US + 1)
        (finding,) = late.findings
        assert (finding.code, finding.severity, finding.event_index) == ("answer_overdue", "completeness", -1)
        assert finding.where == f"answer to dispute {dispute.dispute_id}"
        assert finding.want == "one by 2027-01-17T08:00:00.000000Z, 2 days after it came in, as profile default 2.0.0 has it"
        assert finding.got == "none by 2027-01-17T08:00:00.000001Z"
        assert (late.verdict, exit_status(late.verdict, late.findings)) == ("reproduced", 3)
        assert all(check.result in ("pass", "not_shown") for check in late.checks)
    set_clock(ledger, DUE_US + 1)
    assert len(verified(ledger, round_ids[0]).findings) == 1
    set_clock(ledger, DUE_US)
    assert verified(ledger, round_ids[0]).findings == []


def test_an_answer_that_came_too_late_stays_a_finding(disputed: Any) -> None:
    """What counts is when the answer went out, whenever the verdict is asked for; one in time is none, though closed later."""
    ledger, round_ids, dispute = disputed
    set_clock(ledger, DUE_US + 9)
    on_time = open_dispute(ledger, round_ids[:1], "short", NOW_US, "Ann")
    close_dispute(ledger, on_time.dispute_id, "no", "rejected", *TWO, answered_at_us=DUE_US)
    close_dispute(ledger, dispute.dispute_id, "no", "rejected", *TWO, answered_at_us=DUE_US + 1)
    for as_of_us in (0, NOW_US, 2**52):
        (finding,) = verified(ledger, round_ids[0], as_of_us).findings
        assert (finding.code, finding.severity) == ("answer_late", "completeness")
        assert finding.got == "one of 2027-01-17T08:00:00.000001Z"


def test_a_verdict_notes_what_is_disputed(disputed: Any) -> None:
    """Each dispute is a line: since when, on hold by the round's own profile or not; how it was closed."""
    ledger, round_ids, dispute = disputed
    line = f"disputed: {dispute.dispute_id[:16]}… is open since 2027-01-15T08:00:00.000000Z; "
    held = "on legal hold: it outlives its retention, and its account is not forgotten"
    for round_id, what in zip(round_ids, (held, held, "its profile does not hold it"), strict=True):
        assert verified(ledger, round_id).notes == [line + what]
    close_dispute(ledger, dispute.dispute_id, "no", "settled", *TWO)
    closed = f"disputed: {dispute.dispute_id[:16]}… is closed, settled, answered 2027-01-15T08:00:00.000000Z"
    assert verified(ledger, round_ids[0]).notes == [closed]


def test_many_rounds_have_one_finding_for_each_dispute(disputed: Any, tmp_path: Path) -> None:
    """One cause, one finding, whatever the number of its rounds; and none where no round of it was asked for."""
    ledger, round_ids, dispute = disputed
    other = ledger.play(ledger.account("alice").account_ref, installed_game("moonlight-princess"), "base", 200).round_id
    for as_of_us, count in ((DUE_US, 0), (DUE_US + 1, 1)):
        summary = BulkSummary()
        plan = plan_bulk(tmp_path / "ledger.db", tmp_path / "ledger.db.keys", as_of_us=as_of_us)
        assert list(verify_bulk(plan, summary)) == [None] * 4
        assert [finding.code for finding in summary.ledger_findings] == ["answer_overdue"] * count
        assert (summary.finding_count, summary.is_wrong) == (count, bool(count))
    for round_id, count in ((round_ids[2], 1), (other, 0)):
        summary = BulkSummary()
        list(verify_bulk(plan._replace(streams=(f"round/{round_id}",), is_whole=False), summary))
        assert [finding.where for finding in summary.ledger_findings] == [f"answer to dispute {dispute.dispute_id}"] * count


def test_a_stream_that_was_altered_is_not_relied_on(disputed: Any, tmp_path: Path) -> None:
    """An altered dispute or profile says nothing of answers, and a note says that something may be missing."""
    (_, round_ids, _), path = disputed, tmp_path / "ledger.db"
    for topic, old, new in (
        ("profile_set/1", '"within_days":2', '"within_days":1'),
        ("dispute_opened/1", f'_at_us":{NOW_US}', '_at_us":1'),
    ):
        change = "UPDATE stored_events SET state = replace(state, '{}', '{}') WHERE topic = '{}'"
        altered(path, change.format(old, new, topic))
        with RoundLedger.open_for_reading(path) as reader:
            found = verified(reader, round_ids[1], 2**52)
        assert [finding.code for finding in found.findings] == ["build_altered"]
        assert len([note for note in found.notes if note.startswith("what is disputed is not known for sure: leaf ")]) == 1
        altered(path, change.format(new, old, topic))
    with RoundLedger.open_for_reading(path) as reader:
        assert [finding.code for finding in verified(reader, round_ids[1], 2**52).findings] == ["answer_overdue"]


def test_whoever_holds_the_keys_can_write_what_is_no_dispute(disputed: Any) -> None:
    """A closing with values beyond their ranges is none to a verdict."""
    ledger, round_ids, dispute = disputed
    closed = DisputeClosed(
        dispute_id=dispute.dispute_id,
        answer_hash="ab" * 32,
        decision="upheld",
        answered_at_us=NOW_US,
        closed_by_hash="ab" * 32,
        approved_by_hash="ab" * 32,
        closed_at_us=NOW_US,
    )
    data = event_bytes(closed).data.replace(b'"upheld"', b'"paid"')
    version = len(ledger.store.stream_events("ledger")) + 1
    ledger.store.append_events("ledger", version, [EventBytes("dispute_closed/1", data)])
    found = verified(ledger, round_ids[0], DUE_US + 1)
    assert [finding.code for finding in found.findings] == ["answer_overdue"]
