"""What disputes, legal hold and retention keep on every store, whatever database it is on: a class of tests as in `store_contract.py`."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.approval import ApproverSame
from ledger.corrections import correct_round
from ledger.disputes import DAY_US, DECISIONS, DisputeRefused, DisputeUnknown, close_dispute, disputes, find_dispute, open_dispute
from ledger.errors import AccountUnknown, RoundUnknown, TextInvalid, VersionConflict
from ledger.forgetting import forget_account
from ledger.incidents import record_incident
from ledger.legal_hold import AccountOnHold, rounds_on_hold
from ledger.named_profiles import NamedProfiles
from ledger.profile import Profile, profile_of, shipped_profile
from ledger.profile_setting import set_profile
from ledger.retention import round_records, weigh_retention
from ledger.rounds import RoundLedger
from tests.contracts.alterations_contract import TWO, faults_of, report_of
from tests.ledger_files import game, new_ledger_at, play_some, rows, whole_ledger_faults

__all__ = ["NOW_US", "DisputesContract", "profile_with", "set_clock", "weighed"]

NOW_US = 1_800_000_000_000_000


def set_clock(ledger: RoundLedger, time_us: int) -> None:
    """Have a ledger's clock stand at a time."""
    ledger.store.clock = lambda: time_us


def profile_with(version: str, *, holds: bool = True, within_days: int = 3, days: int = 1827) -> Profile:
    """Return the default profile with other values, for rounds, incidents and complaints alike."""
    default = shipped_profile("default")
    assert default is not None
    values: dict[str, Any] = {**default.values, "version": version}
    values["legal_hold"] = {**values["legal_hold"], "holds_disputed_rounds": holds}
    values["answer"] = {**values["answer"], "within_days": within_days}
    values["retention"] = [{**each, "days": days} for each in values["retention"]]
    return profile_of(values, "a test")


def weighed(ledger: RoundLedger, as_of_us: int) -> list[tuple[Any, ...]]:
    """Return kind, days and counts of what is kept, by kind and profile."""
    found = weigh_retention(ledger.store, round_records(ledger.store), as_of_us)
    return [
        (row.kind, row.days, row.kept_count, row.unended_count, row.keep_until_us, row.past_count, row.held_count, row.free_count)
        for row in found
    ]


class DisputesContract:
    """The promises of `ledger/disputes.py`, `ledger/legal_hold.py` and `ledger/retention.py`."""

    def test_a_dispute_is_opened_and_closed_once(self, new_place: Any) -> None:
        """Both events stand on the stream `ledger`, their texts outside the tree; what was there before is as it was."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_ids = play_some(ledger, ref, 2)
            set_clock(ledger, NOW_US)
            event = open_dispute(ledger, [*round_ids, round_ids[0][:20]], " Zofia was paid short ", NOW_US - 5, "Ann", claimant="alice")
            assert (event.round_ids, event.claimant_ref, event.received_at_us) == (tuple(round_ids), ref, NOW_US - 5)
            assert ledger.store.text(event.claim_hash).content == "Zofia was paid short"
            assert ledger.store.text(event.recorded_by_hash).content == "Ann"
            other = open_dispute(ledger, round_ids[:1], "another", 0, "Ann")
            assert [dispute.closed for dispute in disputes(ledger.store)] == [None, None]
            closed = close_dispute(ledger, event.dispute_id[:8], " paid as recorded ", "rejected", *TWO, answered_at_us=NOW_US - 1)
            assert (closed.decision, closed.answered_at_us, closed.closed_at_us) == ("rejected", NOW_US - 1, NOW_US)
            assert ledger.store.text(closed.answer_hash).content == "paid as recorded"
            assert find_dispute(ledger.store, event.dispute_id).closed == closed
            assert find_dispute(ledger.store, other.dispute_id).closed is None
            for decision in DECISIONS:
                third = open_dispute(ledger, round_ids[:1], "another", NOW_US, "Ann")
                assert close_dispute(ledger, third.dispute_id, "done", decision, *TWO).answered_at_us == NOW_US
            play_some(ledger, ref, 1)
        assert all(b"Zofia" not in data and b"Ann" not in data for (data,) in rows(place.ledger, "SELECT state FROM stored_events"))
        assert faults_of(place.ledger) == []
        assert whole_ledger_faults(place.ledger) == []

    def test_what_cannot_be_disputed_or_answered(self, new_place: Any) -> None:
        """No round, a time to come, an answer before the claim, one person, a second answer: refused, and nothing is written."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            (round_id,) = play_some(ledger, ref, 1)
            set_clock(ledger, NOW_US)
            first = open_dispute(ledger, [round_id], "short", NOW_US - 10, "Ann").dispute_id
            done = open_dispute(ledger, [round_id], "short", NOW_US - 10, "Ann").dispute_id
            close_dispute(ledger, done, "no", "withdrawn", *TWO)
            before = ledger.store.tree(), rows(place.ledger, "SELECT count(*) FROM texts")
            calls: tuple[tuple[Callable[[], object], type[Exception], str], ...] = (
                (lambda: open_dispute(ledger, [], "x", 1, "Ann"), DisputeRefused, "want 1 to 1000, got 0"),
                (lambda: open_dispute(ledger, [round_id], "x", NOW_US + 1, "Ann"), DisputeRefused, "T08:00:00.000000Z, which is now"),
                (lambda: open_dispute(ledger, [round_id], "x", -1, "Ann"), DisputeRefused, "got 1969-12-31T23:59:59.999999Z"),
                (lambda: open_dispute(ledger, [round_id], " ", 1, "Ann"), TextInvalid, "--claim: want a text"),
                (lambda: open_dispute(ledger, [round_id], "x" * 10_001, 1, "Ann"), TextInvalid, "want 10000 characters at most"),
                (lambda: open_dispute(ledger, [round_id], "x", 1, ""), TextInvalid, "--by"),
                (lambda: open_dispute(ledger, ["nothing-there"], "x", 1, "Ann"), RoundUnknown, "nothing-there"),
                (lambda: open_dispute(ledger, [round_id], "x", 1, "Ann", claimant="eve"), AccountUnknown, "eve"),
                (lambda: close_dispute(ledger, first[:7], "x", "upheld", *TWO), DisputeUnknown, "got 0"),
                (lambda: close_dispute(ledger, "12345678", "x", "upheld", *TWO), DisputeUnknown, "got 0"),
                (lambda: close_dispute(ledger, first, "", "upheld", *TWO), TextInvalid, "--answer"),
                (lambda: close_dispute(ledger, first, "x", "upheld", "Ann", "ANN"), ApproverSame, "Ann"),
                (lambda: close_dispute(ledger, first, "x", "paid", *TWO), DisputeRefused, "want one of upheld, rejected"),  # type: ignore[arg-type]
                (lambda: close_dispute(ledger, done, "x", "upheld", *TWO), DisputeRefused, "want it open, got it closed, withdrawn"),
                (
                    lambda: close_dispute(ledger, first, "x", "upheld", *TWO, answered_at_us=NOW_US - 11),
                    DisputeRefused,
                    "when it came in, to 2027-01-15T08:00:00.000000Z, which is now, got 2027-01-15T07:59:59.999989Z",
                ),
                (lambda: close_dispute(ledger, first, "x", "upheld", *TWO, answered_at_us=NOW_US + 1), DisputeRefused, "which is now, got"),
            )
            for call, error, message in calls:
                with pytest.raises(error) as caught:
                    call()
                assert message in str(caught.value)
            assert (ledger.store.tree(), rows(place.ledger, "SELECT count(*) FROM texts")) == before
        assert faults_of(place.ledger) == []

    def test_an_account_with_a_round_on_hold_is_not_forgotten(self, new_place: Any) -> None:
        """It is refused with round and dispute while one is open, nothing is erased, and done when all are closed."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            other = ledger.open_account("bob", "EUR")
            ledger.move_funds(other, 10_000)
            mine, (others,) = play_some(ledger, ref, 3), play_some(ledger, other, 1)
            first, second = (open_dispute(ledger, mine[1:], "Zofia: short", 1, "Ann") for _ in range(2))
            shared = open_dispute(ledger, [mine[0], others], "both short", 1, "Ann", claimant="bob")
            crossed = [
                open_dispute(ledger, ids, "short", 1, "Ann", claimant=claimant)
                for ids, claimant in ((mine[:1], "bob"), ([others], "alice"))
            ]
            kept = tuple(each.dispute_id for each in (shared, *crossed))
            for dispute_id in kept:
                close_dispute(ledger, dispute_id, "no", "rejected", *TWO)
            before = ledger.store.tree()
            for dispute in (first, second):
                with pytest.raises(AccountOnHold) as caught:
                    forget_account(ledger, "alice", *TWO)
                assert (caught.value.round_id, caught.value.dispute_id, caught.value.round_count) == (mine[1], dispute.dispute_id, 2)
                assert ledger.store.account_name(ref) == "alice"
                answer = close_dispute(ledger, dispute.dispute_id, "Zofia: paid", "settled", *TWO)
            assert ledger.store.tree().size == before.size + 2
            done = forget_account(ledger, "alice", *TWO)
            assert (done.event.erased_text_count, done.kept_disputes) == (4, kept)
            assert ledger.store.text(first.claim_hash) is ledger.store.text(answer.answer_hash) is None
            assert all(ledger.store.text(each.claim_hash) is not None for each in (shared, *crossed))
            assert forget_account(ledger, "bob", *TWO).kept_disputes == kept
        assert faults_of(place.ledger) == []

    def test_the_profile_that_a_round_names_says_whether_it_is_held(self, new_place: Any) -> None:
        """A round under a profile that holds is held whatever is set later, one under a profile that does not is not."""
        with new_ledger_at(new_place()) as (ledger, ref):
            held = play_some(ledger, ref, 1)
            set_profile(ledger.store, profile_with("2.0.0", holds=False), *TWO)
            free = play_some(ledger, ref, 1)
            dispute = open_dispute(ledger, [*free, *held], "short", 1, "Ann")
            assert rounds_on_hold(disputes(ledger.store), NamedProfiles(ledger.store)) == {held[0]: dispute.dispute_id}
            close_dispute(ledger, dispute.dispute_id, "no", "rejected", *TWO)
            open_dispute(ledger, free, "short", 1, "Ann")
            assert rounds_on_hold(disputes(ledger.store), NamedProfiles(ledger.store)) == {}
            forget_account(ledger, ref, *TWO)

    def test_what_puts_a_round_on_hold_meanwhile_is_seen(self, new_place: Any) -> None:
        """A dispute that is opened between the look at the holds and the erasure keeps the erasure from happening."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_ids = play_some(ledger, ref, 1)
            erase = ledger.store.forget_account

            def disputed_first(*given: Any, **terms: Any) -> None:
                with place.open_for_writing() as other:
                    open_dispute(other, round_ids, "short", 1, "Ann")
                erase(*given, **terms)

            ledger.store.forget_account = disputed_first  # type: ignore[method-assign]
            with pytest.raises(VersionConflict):
                forget_account(ledger, "alice", *TWO)
            assert ledger.store.account_name(ref) == "alice"
        assert faults_of(place.ledger) == []

    def test_what_may_go_is_counted_by_kind_and_profile(self, new_place: Any) -> None:
        """Rounds, incidents and disputes each under their own profile; from the last that was recorded; on hold they stay."""
        with new_ledger_at(new_place()) as (ledger, ref):
            set_clock(ledger, NOW_US)
            record_incident(ledger, report_of([]), *TWO)
            set_profile(ledger.store, profile_with("2.0.0", days=10), *TWO)
            old = play_some(ledger, ref, 3)
            set_profile(ledger.store, profile_with("3.0.0", days=20, holds=False), *TWO)
            fresh = play_some(ledger, ref, 1)
            record_incident(ledger, report_of(old[:1]), *TWO)
            record_incident(ledger, report_of([*old[:1], *fresh]), *TWO)
            record_incident(ledger, report_of([]), *TWO)
            first, second = (open_dispute(ledger, ids, "short", 1, "Ann").dispute_id for ids in (old[:1], [*old[1:2], *fresh]))
            ledger.open_round(ref, game(), "base", 200)
            later = NOW_US + 10 * DAY_US
            for as_of_us, past in ((later, 0), (later + 1, 1)):
                assert weighed(ledger, as_of_us) == [
                    ("rounds", 10, 3, 0, later, 3 * past, 2 * past, past),
                    ("rounds", 20, 2, 1, NOW_US + 20 * DAY_US, 0, 0, 0),
                    ("incidents", 1827, 1, 0, NOW_US + 1827 * DAY_US, 0, 0, 0),
                    ("incidents", 10, 1, 0, later, past, past, 0),
                    ("incidents", 20, 2, 0, NOW_US + 20 * DAY_US, 0, 0, 0),
                    ("complaints", 10, 1, 1, 0, 0, 0, 0),
                    ("complaints", 20, 1, 1, 0, 0, 0, 0),
                ]
            set_clock(ledger, NOW_US + DAY_US)
            close_dispute(ledger, first, "no", "rejected", *TWO)
            correct_round(ledger, old[2], "round_opened.channel", "web", "why", *TWO)
            assert weighed(ledger, later + DAY_US + 1)[0] == ("rounds", 10, 3, 0, later, 3, 1, 2)
            assert weighed(ledger, later + DAY_US)[0] == ("rounds", 10, 3, 0, later, 2, 1, 1)
            assert weighed(ledger, later + DAY_US + 1)[3] == ("incidents", 10, 1, 0, later, 1, 0, 1)
            assert weighed(ledger, later + DAY_US + 1)[5] == ("complaints", 10, 1, 0, later + DAY_US, 1, 0, 1)
            close_dispute(ledger, second, "no", "rejected", *TWO)
            assert weighed(ledger, later + DAY_US + 1)[0] == ("rounds", 10, 3, 0, later, 3, 0, 3)
            assert weighed(ledger, NOW_US + 1000 * DAY_US)[1][3:] == (1, NOW_US + 20 * DAY_US, 1, 0, 1)
