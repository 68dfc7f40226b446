"""What corrections, incidents and erasures keep on every store, whatever database it is on: a class of tests as in `store_contract.py`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.canonical import INTEGER_MAX, canonical_bytes
from engines.game import EventBytes
from ledger.address import ledger_place
from ledger.approval import ApproverSame
from ledger.codec import parse_event
from ledger.corrections import CorrectionRefused, correct_balance, correct_round, corrections_in
from ledger.errors import AccountUnknown, FundsShort, RoundInPlay, RoundUnknown, TextInvalid, VersionConflict
from ledger.forgetting import AccountErased, forget_account, is_forgotten
from ledger.fsck import check_ledger
from ledger.incidents import INCIDENT_TEXTS, IncidentReport, IncidentUnknown, find_incident, incidents, record_incident
from ledger.lifecycle_events import AccountForgotten, FundsMoved
from ledger.money import BalanceTooLarge
from tests.ledger_files import altered, game, new_ledger_at, play_some, rows, whole_ledger_faults

__all__ = ["TWO", "AlterationsContract", "faults_of", "report_of"]

TWO = ("Ann Adams", "Bob Brown")
FORGOTTEN = canonical_bytes(AccountForgotten(erased_text_count=0, forgotten_by_hash="0" * 64, approved_by_hash="1" * 64, forgotten_at_us=1))


def faults_of(place: Path | str) -> list[str]:
    """Return the messages of all faults that the check of a whole ledger finds."""
    return [fault.message for fault in check_ledger(ledger_place(place)) if fault is not None]


def report_of(rounds: Sequence[str], about: str = "Zofia's reel stood still") -> IncidentReport:
    """Return an incident about rounds."""
    texts = {name: f"{name}: {about}" for name in INCIDENT_TEXTS}
    times = {"began_at": datetime(2026, 11, 30, 14, tzinfo=UTC), "restored_at": datetime(2026, 11, 30, 15, 30, tzinfo=UTC)}
    return IncidentReport(**texts, **times, is_recovered=False, rounds=list(rounds))


class AlterationsContract:
    """The promises of `ledger/corrections.py`, `ledger/incidents.py` and `ledger/forgetting.py`."""

    def test_a_round_is_corrected_behind_its_end(self, new_place):
        """Each correction is an event behind the last one, with what stood before it; the round is as it was, and verifies as before."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id, other = play_some(ledger, ref, 2)
            before, balance = ledger.round_events(round_id), ledger.account("alice").balance_minor
            win = parse_event(before[-1]).total_win_minor
            first = correct_round(ledger, round_id, "round_settled.total_win_minor", "400", "a reel stood still", *TWO)
            second = correct_round(ledger, round_id, "round_settled.total_win_minor", "600", "no, both", *TWO)
            third = correct_round(ledger, round_id, "round_opened.external_ref", "T-1", "typed wrong", *TWO)
            assert (first.before, first.after, second.before, second.after) == (str(win), "400", "400", "600")
            assert (third.before, third.after, third.movement_version) == ("", "T-1", 0)
            events = ledger.round_events(round_id)
            assert events[: len(before)] == before
            assert corrections_in(events) == [first, second, third]
            assert ledger.store.round(round_id).version == len(events)
            assert ledger.account("alice").balance_minor == balance
            assert ledger.store.text(first.why_hash).content == "a reel stood still"
            play_some(ledger, ref, 1)
            assert corrections_in(ledger.round_events(other)) == []
        assert all(b"stood still" not in data and b"Ann" not in data for (data,) in rows(place.ledger, "SELECT state FROM stored_events"))
        assert faults_of(place.ledger) == []
        assert whole_ledger_faults(place.ledger) == []

    def test_nothing_but_corrections_comes_behind_a_round_s_end(self, new_place):
        """Any other event there is found, before a correction or after one, with a row that takes note of it or does not."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            ids = play_some(ledger, ref, 6)
            for number, round_id in enumerate(ids):
                rows_of = ledger.round_events(round_id)
                if number % 2:
                    correct_round(ledger, round_id, "round_opened.channel", "web", "typed wrong", *TWO)
                event = EventBytes(*rows_of[1][2:]) if number < 4 else EventBytes("account_forgotten/1", FORGOTTEN)
                ledger.store.append_events(f"round/{round_id}", len(rows_of) + 1 + number % 2, [event])
                if number in (2, 3):
                    altered(place.ledger, f"UPDATE rounds SET version = version + 1 WHERE round_id = '{round_id}'")
            play_some(ledger, ref, 1)
        found = [fault.stream for fault in check_ledger(ledger_place(place.ledger)) if fault is not None and fault.code == "leaf_versions"]
        assert found == [f"round/{round_id}" for round_id in ids]

    def test_a_balance_is_corrected_by_a_movement_that_is_named(self, new_place):
        """Correction and movement are one append; the balance is what the correction says after it, and rounds go on from there."""
        place = new_place()
        with new_ledger_at(place, balance_minor=1000) as (ledger, ref):
            play_some(ledger, ref, 1)
            balance = ledger.account("alice").balance_minor
            event = correct_balance(ledger, ref, 250, "paid short", *TWO)
            assert (event.element, event.before, event.after) == ("balance_minor", str(balance), str(balance + 250))
            stream = ledger.store.stream_events(f"account/{ref}")
            moved = parse_event(stream[event.movement_version - 1])
            assert isinstance(moved, FundsMoved)
            assert (moved.reason, moved.amount_minor, moved.balance_after_minor) == ("correction", 250, balance + 250)
            appends = ledger.store.stream_appends(f"account/{ref}")
            assert (appends[-1].version_first, appends[-1].version_last) == (event.movement_version - 1, event.movement_version)
            correct_balance(ledger, ref, -50, "a little too much", *TWO)
            play_some(ledger, ref, 1)
            ledger.move_funds(ref, 5)
        assert faults_of(place.ledger) == []
        assert whole_ledger_faults(place.ledger) == []

    def test_what_cannot_be_corrected(self, new_place):
        """A round in play, an element that is none, a value of another kind or the same, too much money, one person: nothing is written."""
        place = new_place()
        with new_ledger_at(place, balance_minor=1000) as (ledger, ref):
            (round_id,) = play_some(ledger, ref, 1)
            opened = ledger.open_round(ref, game(), "base", 200)
            before = (ledger.store.tree(), ledger.account("alice"), rows(place.ledger, "SELECT count(*) FROM texts"))
            win = "round_settled.total_win_minor"
            refused = (
                (lambda: correct_round(ledger, opened.round_id, "round_opened.channel", "x", "y", *TWO), "want it settled, got it in play"),
                (
                    lambda: correct_round(ledger, round_id, "round_settled.state_out", "x", "y", *TWO),
                    "choose one of round_opened.",
                ),
                (lambda: correct_round(ledger, round_id, "round_settled.kind", "x", "y", *TWO), "element 'round_settled.kind'"),
                (lambda: correct_round(ledger, round_id, win, "4.00", "y", *TWO), "want a whole number, money in minor units, got '4.00'"),
                (lambda: correct_round(ledger, round_id, win, str(INTEGER_MAX + 1), "y", *TWO), "want a whole number"),
                (lambda: correct_round(ledger, round_id, "round_opened.mode", "base", "y", *TWO), "want another value than base"),
                (lambda: correct_balance(ledger, ref, 0, "y", *TWO), "want another than 0"),
            )
            for call, message in refused:
                with pytest.raises(CorrectionRefused) as caught:
                    call()
                assert message in str(caught.value)
            for call, error in (
                (lambda: correct_round(ledger, "nothing", win, "1", "y", *TWO), RoundUnknown),
                (lambda: correct_round(ledger, round_id, win, "1", "y", "Ann", "ANN"), ApproverSame),
                (lambda: correct_round(ledger, round_id, win, "1", " ", *TWO), TextInvalid),
                (lambda: correct_round(ledger, round_id, win, "1", "y", *TWO, incident="12345678"), IncidentUnknown),
                (lambda: correct_balance(ledger, "00" * 16, 1, "y", *TWO), AccountUnknown),
                (lambda: correct_balance(ledger, ref, -10_000, "y", *TWO), FundsShort),
                (lambda: correct_balance(ledger, ref, INTEGER_MAX, "y", *TWO), BalanceTooLarge),
                (lambda: ledger.store.correct_round(round_id, 1, lambda now: None, texts=[]), VersionConflict),
                (lambda: ledger.store.correct_round("nothing", 1, lambda now: None, texts=[]), RoundUnknown),
            ):
                with pytest.raises(error):
                    call()
            assert (ledger.store.tree(), ledger.account("alice"), rows(place.ledger, "SELECT count(*) FROM texts")) == before
            ledger.finish_round(opened.round_id, game())
        assert faults_of(place.ledger) == []

    def test_an_incident_has_six_parts_outside_the_tree(self, new_place):
        """It names its rounds; its texts read back by hash and are no part of any event; a correction may name it."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_ids = play_some(ledger, ref, 2, external_ref="")
            event = record_incident(ledger, report_of([*round_ids, round_ids[0]]), *TWO)
            assert event.round_ids == tuple(round_ids)
            found = find_incident(ledger.store, event.incident_id[:8])
            assert found.event == event
            assert [found.event for found in incidents(ledger.store)] == [event]
            texts = {name: ledger.store.text(text_hash).content for name, text_hash in found.text_hashes.items()}
            assert texts == {name: f"{name}: Zofia's reel stood still" for name in INCIDENT_TEXTS}
            assert event.restored_at_us - event.began_at_us == 90 * 60 * 1_000_000
            correction = correct_balance(ledger, ref, 200, "the bet back", *TWO, incident=event.incident_id[:8])
            assert correction.incident_id == event.incident_id
            for wanted in ("12345678", event.incident_id[:7], ""):
                with pytest.raises(IncidentUnknown):
                    find_incident(ledger.store, wanted)
            before = ledger.store.tree()
            with pytest.raises(RoundUnknown):
                record_incident(ledger, report_of(["nothing-at-all"]), *TWO)
            assert ledger.store.tree() == before
            play_some(ledger, ref, 1)
        assert all(b"Zofia" not in data for (data,) in rows(place.ledger, "SELECT state FROM stored_events"))
        assert faults_of(place.ledger) == []
        assert whole_ledger_faults(place.ledger) == []

    def test_a_forgotten_account_leaves_every_proof_whole(self, new_place):
        """Name, reasons and its own incidents' texts are gone; rounds, balances, root and others' texts are as they were."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            other = ledger.open_account("bob", "EUR")
            ledger.move_funds(other, 10_000)
            mine, others = play_some(ledger, ref, 2), play_some(ledger, other, 1)
            own = record_incident(ledger, report_of(mine), *TWO)
            shared = record_incident(ledger, report_of([mine[0], *others]), *TWO)
            reasons = [
                correct_round(ledger, mine[0], "round_settled.total_win_minor", "400", "Zofia wrote", *TWO).why_hash,
                correct_balance(ledger, ref, 10, "Zofia called", *TWO).why_hash,
            ]
            kept = correct_balance(ledger, other, 10, "bob called", *TWO).why_hash
            root, balance = ledger.store.tree().root, ledger.account("alice").balance_minor
            record = ledger.store.round_record(f"round/{mine[0]}")
            done = forget_account(ledger, "alice", *TWO)
            assert (done.account_ref, done.event.erased_text_count, done.kept_incidents) == (ref, 8, (shared.incident_id,))
            assert ledger.store.account_name(ref) is None
            assert all(ledger.store.text(each) is None for each in (*reasons, own.cause_hash, own.recovery_hash))
            assert all(ledger.store.text(each) is not None for each in (kept, shared.cause_hash, done.event.forgotten_by_hash))
            assert is_forgotten(ledger.store, ref)
            assert not is_forgotten(ledger.store, other)
            assert ledger.store.tree().root != root
            assert ledger.store.round_record(f"round/{mine[0]}").events == record.events
            assert ledger.account(ref).balance_minor == balance
            with pytest.raises(AccountUnknown):
                ledger.account("alice")
            with pytest.raises(AccountErased):
                forget_account(ledger, ref, *TWO)
            assert ledger.open_account("alice", "EUR") != ref
            play_some(ledger, ref, 1)
        assert faults_of(place.ledger) == []
        assert whole_ledger_faults(place.ledger) == []

    def test_what_cannot_be_forgotten(self, new_place):
        """An account with a round in play, one that is not there, and one person alone are refused; nothing is erased."""
        with new_ledger_at(new_place()) as (ledger, ref):
            opened = ledger.open_round(ref, game(), "base", 200)
            before = ledger.store.tree()
            with pytest.raises(RoundInPlay):
                forget_account(ledger, "alice", *TWO)
            with pytest.raises(AccountUnknown):
                forget_account(ledger, "eve", *TWO)
            with pytest.raises(ApproverSame):
                forget_account(ledger, "alice", "Ann", "ann")
            assert (ledger.store.tree(), ledger.store.account_name(ref)) == (before, "alice")
            ledger.finish_round(opened.round_id, game())
