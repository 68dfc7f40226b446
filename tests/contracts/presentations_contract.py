"""What records of what a player was shown keep on every store: a class of tests as in `store_contract.py`."""

import hashlib
import json
import threading
from typing import Any

import pytest

from ledger.bets import Played
from ledger.codec import parse_event
from ledger.corrections import correct_balance, correct_round, corrections_in
from ledger.errors import LedgerReadOnly, RoundUnknown
from ledger.forgetting import forget_account
from ledger.held import CompletionRefused, complete_round, held_rounds
from ledger.history import build, compare
from ledger.interruptions import interrupt_round
from ledger.merkle import append_form
from ledger.presentations import Acknowledged, PresentationRefused, Shown, record_acknowledgement, record_presentation
from ledger.retention import round_records, weigh_retention
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from tests.contracts.alterations_contract import TWO
from tests.contracts.life_contract import BET, DAY_US, PEOPLE, faults, put_in_force
from tests.ledger_files import game, new_ledger_at, play_some
from tests.leg_game import LegGame
from tests.screens import screens_of

__all__ = ["PresentationsContract", "kinds", "show"]

SESSION, MANIFEST = "ab" * 16, "cd" * 32


def kinds(ledger: RoundLedger, round_id: str) -> list[str]:
    """Return the kinds of a round's events."""
    return [row.topic.removesuffix("/1") for row in ledger.round_events(round_id)]


def show(ledger: RoundLedger, round_id: str) -> tuple[int, ...]:
    """Record that a client was told all of a round so far, as it is, and has shown it; return the indexes of what it was told."""
    told = record_presentation(ledger, round_id, screens_of(ledger, round_id), session_ref=SESSION, channel="web")
    record_acknowledgement(ledger, round_id, [Acknowledged(index) for index in told])
    return told


class PresentationsContract:
    """The promises of `ledger/presentations.py`."""

    def test_what_was_told_is_recorded_as_it_was_told(self, new_place):
        """Right or wrong, with its spin, session, channel and time; of round, account and row nothing changes but the version."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.play(ref, LegGame(), "base", BET).round_id
            before, row, account = ledger.round_events(round_id), ledger.store.round(round_id), ledger.account("alice")
            wrong = Shown(4, -7, 2**53 - 1, -9, MANIFEST, 5)
            told = record_presentation(ledger, round_id, [Shown(2, 100, 100), wrong], session_ref=SESSION, channel="app")
            acked = record_acknowledgement(ledger, round_id, [Acknowledged(told[1], 3, 6), Acknowledged(told[0])])
            events = ledger.round_events(round_id)
            assert (told, acked) == ((len(before), len(before) + 1), (len(before) + 2, len(before) + 3))
            assert events[: len(before)] == before
            first, second, third, fourth = (parse_event(event) for event in events[len(before) :])
            assert (first.through_index, first.spin_index, first.spin_win_minor, first.total_win_minor) == (2, 0, 100, 100)
            assert (first.balance_minor, first.manifest_hash, first.session_ref, first.channel) == (-1, "", SESSION, "app")
            assert (second.spin_index, second.spin_win_minor, second.total_win_minor, second.balance_minor) == (1, -7, 2**53 - 1, -9)
            assert (second.manifest_hash, second.sent_at_us) == (MANIFEST, 5)
            assert (third.sent_index, third.total_win_minor, third.acked_at_us) == (told[1], 3, 6)
            assert (fourth.sent_index, fourth.total_win_minor) == (told[0], -1)
            assert account == ledger.account("alice")
            assert ledger.store.round(round_id) == row._replace(version=len(events))
            appends = ledger.store.stream_appends(f"round/{round_id}")
            assert [(each.version_first - 1, each.version_last - 1) for each in appends[-2:]] == [told, acked]
            assert appends[-3].recorded_at_us <= first.sent_at_us <= appends[-2].recorded_at_us
        assert faults(place) == []

    def test_what_cannot_stand_there_is_refused(self, new_place):
        """An index of no spin's end or of no presentation, a value that no event can hold, nothing at all, a round that is not there."""
        with new_ledger_at(new_place()) as (ledger, ref):
            round_id = ledger.play(ref, LegGame(), "base", BET).round_id
            waiting = ledger.open_round(ref, game(), "base", 200).round_id
            before = ledger.store.tree()
            for index, got in ((0, "round_opened"), (1, "spin_started"), (7, "round_settled"), (8, "no event"), (-1, "no event")):
                with pytest.raises(
                    PresentationRefused, match=f"want the index of a spin_ended in its stream, got {index}, {got}; they are at"
                ):
                    record_presentation(ledger, round_id, [Shown(2, 1, 1), Shown(index, 1, 1)])
            with pytest.raises(PresentationRefused, match="got 1, no event; there is none in this round so far"):
                record_presentation(ledger, waiting, [Shown(1, 1, 1)])
            with pytest.raises(PresentationRefused, match="want the index of a presentation_sent in its stream, got 2, spin_ended"):
                record_acknowledgement(ledger, round_id, [Acknowledged(2)])
            wrong: list[tuple[Any, str]] = [
                (Shown(2, 2**53, 1), "spin_win_minor"),
                (Shown(2, 1, 1.5), "total_win_minor"),  # type: ignore[arg-type]
                (Shown(2, 1, 1, manifest_hash="AB" * 32), "manifest_hash"),
                (Shown(2, 1, 1, sent_at_us=-1), "sent_at_us"),
            ]
            for shown, name in wrong:
                with pytest.raises(PresentationRefused, match=f"^{name} of what was shown of round {round_id}: want a value that"):
                    record_presentation(ledger, round_id, [shown])
            for terms in ({"session_ref": "alice"}, {"channel": "x" * 257}):
                with pytest.raises(PresentationRefused, match="of what was shown"):
                    record_presentation(ledger, round_id, [Shown(2, 1, 1)], **terms)
            for call in (record_presentation, record_acknowledgement):
                with pytest.raises(PresentationRefused, match="want one thing at least, got none; leave the call out"):
                    call(ledger, round_id, [])
                with pytest.raises(RoundUnknown):
                    call(ledger, "no-such-round", [Shown(2, 1, 1)])  # type: ignore[list-item]
            assert ledger.store.tree() == before

    def test_nobody_records_by_a_ledger_that_is_read(self, new_place):
        """A ledger that is open for reading takes nothing."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            (round_id,) = play_some(ledger, ref, 1)
            with place.open_for_reading() as reader, pytest.raises(LedgerReadOnly):
                show(reader, round_id)

    def test_a_round_is_shown_leg_by_leg(self, new_place):
        """Between two legs, while it stands still and when it is over: the same game events, and the round digest is over all before it."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            whole = ledger.play(ref, LegGame(), "base", BET).settled
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            for _ in range(2):
                ledger.play_leg(round_id, LegGame())
                show(ledger, round_id)
            assert ledger.store.round(round_id).status == "open"
            interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost")
            show(ledger, round_id)
            assert ledger.store.round(round_id).status == "interrupted"
            with place.open_for_reading() as reader:
                assert reader.store.rounds_in_play() == [round_id]
            assert faults(place) == []
            played = ledger.finish_round(round_id, LegGame())
            assert isinstance(played, Played)
            assert played.settled.outcome_digest == whole.outcome_digest
            rows = ledger.round_events(round_id)
            earlier = append_form([row.data for row in rows[:-1]])
            assert json.loads(rows[-1].data)["round_digest"] == hashlib.sha256(earlier).hexdigest()
            show(ledger, round_id)
            assert [each for each in kinds(ledger, round_id) if "presentation" in each] == ["presentation_sent", "presentation_acked"] + [
                *["presentation_sent"] * 2, *["presentation_acked"] * 2,
            ] * 2 + [*["presentation_sent"] * 3, *["presentation_acked"] * 3]  # fmt: skip
        assert faults(place) == []

    def test_a_void_round_was_shown_as_well(self, new_place):
        """Before its void and behind it, with a correction among it."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            ledger.play_leg(round_id, LegGame())
            show(ledger, round_id)
            void_round(ledger, round_id, "cannot_continue", **PEOPLE)
            show(ledger, round_id)
            correct_round(ledger, round_id, "round_opened.channel", "web", "why", *TWO)
            show(ledger, round_id)
            assert ledger.store.round(round_id).status == "voided"
        assert faults(place) == []

    def test_what_was_shown_late_puts_nothing_off(self, new_place):
        """A round that stands still is completed by the system as long after its last leg as its profile says, whatever was shown since."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            put_in_force(ledger, "complete-24-hours")
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            ledger.play_leg(round_id, LegGame())
            stopped = ledger.store.stream_appends(f"round/{round_id}")[-1].recorded_at_us
            ledger.store.clock = lambda: stopped + DAY_US - 1
            show(ledger, round_id)
            assert [held.stopped_at_us for held in held_rounds(ledger)] == [stopped]
            with pytest.raises(CompletionRefused):
                complete_round(ledger, round_id, LegGame())
            ledger.store.clock = lambda: stopped + DAY_US
            assert complete_round(ledger, round_id, LegGame()).settled.ended == "auto_completed"
            (interrupted,) = (row for row in ledger.round_events(round_id) if row.topic == "round_interrupted/1")
            assert json.loads(interrupted.data)["broke_at_us"] == stopped
        assert faults(place) == []

    def test_everything_else_goes_on_as_before(self, new_place, tmp_path):
        """Corrections, history, retention and erasure are as without it, and the next round is played."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            ids = play_some(ledger, ref, 4)
            plain = self._kept(ledger)
            model = tmp_path / "history.db"
            build(ledger, model)
            for round_id in ids[:3]:
                show(ledger, round_id)
            correct_round(ledger, ids[0], "round_settled.total_win_minor", "4", "why", *TWO)
            show(ledger, ids[0])
            correct_round(ledger, ids[0], "round_settled.total_win_minor", "5", "why", *TWO)
            correct_balance(ledger, ref, 5, "why", *TWO)
            assert [each.before for each in corrections_in(ledger.round_events(ids[0]))][1:] == ["4"]
            assert build(ledger, model) == 3
            assert compare(ledger, model) == []
            assert self._kept(ledger) == plain
            play_some(ledger, ref, 1)
            forget_account(ledger, ref, *TWO)
            show(ledger, ids[3])
        assert faults(place) == []

    @staticmethod
    def _kept(ledger: RoundLedger) -> list[tuple[Any, ...]]:
        kept = weigh_retention(ledger.store, round_records(ledger.store), 0)
        return [(each.kind, each.kept_count, each.unended_count, each.past_count, each.keep_until_us > 0) for each in kept]

    def test_many_say_at_once_what_they_have_shown(self, new_place):
        """Each finds its place behind the others, and none is lost."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            (round_id,) = play_some(ledger, ref, 1)
            shown, found = screens_of(ledger, round_id), []
            start = threading.Barrier(4)

            def tell() -> None:
                with place.open_for_writing() as writer:
                    start.wait()
                    for _ in range(5):
                        (index,) = record_presentation(writer, round_id, shown)
                        found.extend((index, *record_acknowledgement(writer, round_id, [Acknowledged(index)])))

            tellers = [threading.Thread(target=tell) for _ in range(4)]
            for each in tellers:
                each.start()
            for each in tellers:
                each.join()
            first = kinds(ledger, round_id).index("presentation_sent")
            assert sorted(found) == list(range(first, first + 40))
        assert faults(place) == []
