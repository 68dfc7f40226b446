"""What choices and carried states keep on every store, whatever database it is on: a class of tests as in `store_contract.py`."""

import hashlib
import json
import random
import threading
from typing import Any

import pytest

from engines.game import EventBytes
from ledger.bets import Played, Waiting
from ledger.choices import ChoiceConflict, ChoiceNotOffered, LegMismatch
from ledger.corrections import CorrectionRefused, correct_round
from ledger.disclosure import EpochNotRevealable, RoundNotSettled, release_key, reveal_seed, rotate_epochs
from ledger.errors import GameMismatch, IdempotencyConflict, RoundInPlay, RoundNotOpen, VersionConflict
from ledger.fsck import check_ledger
from ledger.history import build, compare, round_rows
from ledger.merkle import append_form
from ledger.rounds import RoundLedger
from replay.record_check import check_record
from tests.choosing_game import ChoosingGame, choosing
from tests.ledger_files import altered, game, new_ledger_at, rows, whole_ledger_faults

__all__ = ["ChoicesContract"]


def stored(ledger: RoundLedger, round_id: str) -> list[dict[str, Any]]:
    """Return a round's events."""
    return [json.loads(row.data) for row in ledger.round_events(round_id)]


def kinds(ledger: RoundLedger, round_id: str) -> list[str]:
    """Return the kinds of a round's events, in order."""
    return [event["kind"] for event in stored(ledger, round_id)]


def faults(place: Any) -> list[Any]:
    """Return what two minds find wrong with a ledger."""
    return [*whole_ledger_faults(place.ledger), *check_ledger(RoundLedger.open_for_reading(place.ledger).path)]


WHOLE = ["round_opened", "cap_hit", "choice_offered", "choice_made", "feature_ended", "round_settled"]


class ChoicesContract:
    """The promises of `ledger/choices.py` and `ledger/states.py`."""

    def test_a_choice_that_is_known_stands_in_the_one_append(self, new_place):
        """All runs in one append as without a choice, the choice behind the one that offers it; both digests follow."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            for choices, made in (([2], (2, "player")), (None, (0, "system"))):
                played = ledger.play(ref, choosing(), "base", 200, choices=choices, channel="web", session_ref="cd" * 16)
                events = stored(ledger, played.round_id)
                assert [event["kind"] for event in events] == WHOLE
                assert len(ledger.store.stream_appends(f"round/{played.round_id}")) == 2
                assert (events[3]["choice"], events[3]["made_by"]) == made
                assert (events[3]["channel"], events[3]["session_ref"]) == (("web", "cd" * 16) if choices else ("", ""))
                assert events[3]["made_at_us"] == events[-1]["settled_at_us"]
                assert played.system_choices == (() if choices else (0,))
                data = [row.data for row in ledger.round_events(played.round_id)]
                game_form = append_form([*data[1:3], data[4]])
                assert events[-1]["outcome_digest"] == hashlib.sha256(game_form).hexdigest()
                assert events[-1]["round_digest"] == hashlib.sha256(append_form(data[:-1])).hexdigest()
        assert faults(place) == []

    def test_a_round_waits_and_goes_on_with_the_same_bytes(self, new_place):
        """Left at a choice the slot stays taken and the wager debited; gone on with, its events are those of a round in one go."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
            assert isinstance(waiting, Waiting)
            assert waiting.offered == (0, 1, 2)
            assert kinds(ledger, waiting.round_id) == WHOLE[:3]
            account, row = ledger.account("alice"), ledger.store.round(waiting.round_id)
            assert (account.round_in_play, account.balance_minor) == (waiting.round_id, 10**9 - 200)
            assert row is not None
            assert (row.status, row.version) == ("waiting", 3)
            assert faults(place) == []
            with pytest.raises(RoundInPlay):
                ledger.play(ref, choosing(), "base", 200)
            key = ledger.recorded(waiting.round_id).key
            expected = choosing().play(key, "base", 200, {"place": 1}, (1,))
            ledger.factory.close()  # as a crash does
            ledger._is_closed = True
        with place.open_for_writing() as second:
            played = second.finish_round(waiting.round_id, choosing(), [1], channel="app", session_ref="ef" * 16)
            events = second.round_events(waiting.round_id)
            assert [row.topic.removesuffix("/1") for row in events] == WHOLE
            own = [row.data for row in events if row.topic.removesuffix("/1") not in ("round_opened", "choice_made", "round_settled")]
            assert own == [event.data for event in expected.events]
            made = json.loads(events[3].data)
            assert (made["choice"], made["made_by"], made["channel"], made["session_ref"]) == (1, "player", "app", "ef" * 16)
            assert [leaf.version_first for leaf in second.store.stream_appends(f"round/{waiting.round_id}")] == [1, 2, 4]
            assert played.settled.total_win_minor == expected.total_win_minor
            assert second.account("alice") == account._replace(
                round_in_play="", balance_minor=account.balance_minor + expected.total_win_minor
            )
            assert hashlib.sha256(append_form([row.data for row in events[:-1]])).hexdigest() == played.settled.round_digest
            assert check_record(second.store.round_record(f"round/{waiting.round_id}")) == []
        assert faults(place) == []

    def test_a_call_may_be_repeated(self, new_place):
        """The same call again returns what is there and records nothing; another choice is refused, as is one never offered."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            first = ledger.play_to_choice(ref, choosing(), "base", 200, idempotency_key="k")
            again = ledger.play_to_choice(ref, choosing(), "base", 200, idempotency_key="k")
            assert isinstance(again, Waiting)
            assert again == first._replace(is_repeat=True)
            with pytest.raises(IdempotencyConflict):
                ledger.play_to_choice(ref, choosing(), "base", 400, idempotency_key="k")
            for wrong in (3, -1):
                with pytest.raises(ChoiceNotOffered):
                    ledger.resume_round(first.round_id, choosing(), [wrong])
            size = ledger.store.tree_size()
            settled = ledger.resume_round(first.round_id, choosing(), [1])
            assert ledger.store.tree_size() == size + 1
            for choices in (None, [], [1]):
                repeat = ledger.resume_round(first.round_id, choosing(), choices)
                assert (repeat.settled, repeat.is_repeat) == (settled.settled, True)
            for call in (
                lambda: ledger.resume_round(first.round_id, choosing(), [2]),
                lambda: ledger.play(ref, choosing(), "base", 200, choices=[0], idempotency_key="k"),
            ):
                with pytest.raises(ChoiceConflict):
                    call()
            with pytest.raises(RoundNotOpen):
                ledger.finish_round(first.round_id, choosing(), [1])
            played = ledger.play_to_choice(ref, choosing(), "base", 200, idempotency_key="k")
            assert isinstance(played, Played)
            assert ledger.play(ref, choosing(), "base", 200, choices=[1], idempotency_key="k").settled == settled.settled
            assert ledger.store.tree_size() == size + 1
            with pytest.raises(ChoiceNotOffered):
                ledger.play(ref, game(), "base", 200, choices=[0])
        assert faults(place) == []

    @pytest.mark.parametrize("way", ["left", "settled"])
    def test_a_call_that_another_overtakes_on_its_way_to_a_choice_gets_the_round(self, new_place, way):
        """Where the same call leaves the round at its choice first, or it is played out, both get it as it is recorded."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            overtaking: list[Any] = []
            call = {"left": other.play_to_choice, "settled": other.play}[way]

            class Overtaken(ChoosingGame):
                def play(self, *given):
                    if not overtaking:
                        overtaking.append(call(ref, choosing(), "base", 200, idempotency_key="k"))
                    return super().play(*given)

            found = ledger.play_to_choice(ref, Overtaken(), "base", 200, idempotency_key="k")
            assert (type(found), found[:3], found.is_repeat) == (type(overtaking[0]), overtaking[0][:3], True)
        assert faults(place) == []
        assert rows(place.ledger, "SELECT status FROM rounds") == [("waiting" if way == "left" else "settled",)]

    def test_of_several_writers_one_goes_on(self, new_place):
        """Of many that choose at once one choice is recorded; the others are told which, or get the same round."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
            found: list[Any] = []

            def choose(writer, choice):
                try:
                    found.append(writer.resume_round(waiting.round_id, choosing(), [choice]))
                except ChoiceConflict as refused:
                    found.append(refused)

            threads = [threading.Thread(target=choose, args=(writer, choice)) for writer in (ledger, other) for choice in (0, 1, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            made = stored(ledger, waiting.round_id)[3]["choice"]
            assert kinds(ledger, waiting.round_id) == WHOLE
            played = [each for each in found if isinstance(each, Played)]
            assert len(played) == (2, 4)[made]
            assert sum(not each.is_repeat for each in played) == 1
            waits = ledger.play_to_choice(ref, choosing(), "base", 200)
            with pytest.raises(VersionConflict):
                ledger.store.leave_round(waits.round_id, 1, lambda now: [], status="waiting")
        assert faults(place) == []

    def test_a_leg_that_is_not_the_seed_s_is_not_gone_on_with(self, new_place):
        """Where the recorded leg was altered, or another engine passes for the one that made it, nothing is recorded and it is said."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
            size = ledger.store.tree_size()
            with pytest.raises(LegMismatch) as said:
                ledger.finish_round(waiting.round_id, ChoosingGame(salt=b"x" * 7), [1])
            assert said.value.event_index == 1
            with pytest.raises(GameMismatch):
                ledger.finish_round(waiting.round_id, ChoosingGame(fingerprint="cd" * 32), [1])
            with pytest.raises(LegMismatch) as said:
                ledger.finish_round(waiting.round_id, ChoosingGame(offers=0), [1])
            assert (said.value.event_index, said.value.wanted) == (2, "no further event")
            assert ledger.store.tree_size() == size
            ledger.finish_round(waiting.round_id, choosing(), [1])
        assert faults(place) == []

    def test_a_round_may_ask_twice(self, new_place):
        """Choices that are given are taken in order, the rest is the system's; what another offer holds is not offered here."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            for choices, made in (([2, 1], [(2, "player"), (1, "player")]), ([2], [(2, "player"), (1, "system")])):
                round_id = ledger.play_to_choice(ref, choosing(2), "base", 200).round_id
                played = ledger.finish_round(round_id, choosing(2), choices)
                assert [(e["choice"], e["made_by"]) for e in stored(ledger, round_id) if e["kind"] == "choice_made"] == made
                assert played.system_choices == ((1,) if len(choices) == 1 else ())
            waiting = ledger.play_to_choice(ref, choosing(2), "base", 200)
            with pytest.raises(ChoiceNotOffered) as said:
                ledger.finish_round(waiting.round_id, choosing(2), [1, 0])
            assert said.value.offered == (1, 2)
            ledger.finish_round(waiting.round_id, choosing(2))
        assert faults(place) == []

    def test_nothing_of_a_round_that_waits_is_disclosed(self, new_place):
        """Its key is not released and its epoch's seed not revealed, before it is settled."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
            rotate_epochs(ledger)
            with pytest.raises(RoundNotSettled):
                release_key(ledger, waiting.round_id)
            with pytest.raises(EpochNotRevealable):
                reveal_seed(ledger, 1)
            ledger.finish_round(waiting.round_id, choosing(), [1])
            assert release_key(ledger, waiting.round_id).round_id == waiting.round_id
            assert len(reveal_seed(ledger, 1)) == 64
        assert faults(place) == []

    def test_the_state_goes_from_round_to_round(self, new_place):
        """A round starts from what the account's last settled round of the game left, the first from the game's first state."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ann), place.open_for_writing() as other:
            bob = ledger.open_account("bob", "EUR")
            ledger.move_funds(bob, 10**6)
            left: dict[str, dict[str, int]] = {}
            seen: set[int] = set()
            chance = random.Random(7)
            for number in range(24):
                writer, ref = (ledger, other)[number % 2], (ann, bob)[number % 3 % 2]
                if number % 5 == 0:
                    assert writer.play(ref, game(), "base", 200).opened.state_in == {}  # another state: none
                    continue
                played = writer.play_to_choice(ref, choosing(), "base", 200)
                if isinstance(played, Waiting):
                    played = (other, ledger)[number % 2].finish_round(played.round_id, choosing(), [chance.randrange(3)])
                assert played.opened.state_in == left.get(ref, {"place": 1})
                left[ref] = played.settled.state_out
                seen.add(left[ref]["place"])
            assert len(seen) > 1
        assert faults(place) == []

    def test_rows_that_are_not_what_the_events_make_are_found(self, new_place):
        """A status, a version and a state that were altered are one fault each."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            first, second = (ledger.play(ref, choosing(), "base", 200) for _ in range(2))
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
        for change, back, row in (
            ("UPDATE rounds SET status = 'open' WHERE status = 'waiting'", "'waiting'", f"status in rounds {waiting.round_id}"),
            ("UPDATE rounds SET version = 1 WHERE status = 'waiting'", "3", f"version in rounds {waiting.round_id}"),
        ):
            altered(place.ledger, change)
            assert [fault.row for fault in check_ledger(RoundLedger.open_for_reading(place.ledger).path)] == [row]
            name = row.partition(" ")[0]
            altered(place.ledger, f"UPDATE rounds SET {name} = {back} WHERE round_id = '{waiting.round_id}'")
        assert faults(place) == []
        row = f"states {ref}, {choosing().rules.game}"
        for change, code in (
            (f"UPDATE states SET round_id = '{first.round_id}'", "row"),
            ("UPDATE states SET game = 'x'", "row_missing"),
            ("DELETE FROM states", "row_missing"),
            ("DROP TABLE states", "row_missing"),
        ):
            altered(place.ledger, change)
            found = [
                (fault.code, fault.row.removeprefix("round_id in "))
                for fault in check_ledger(RoundLedger.open_for_reading(place.ledger).path)
            ]
            assert (code, row) in found
            assert len(found) == 1 + ("game" in change)
            if code == "row":
                assert rows(place.ledger, "SELECT round_id FROM states") == [(first.round_id,)]
        with place.open_for_writing() as ledger:  # made anew with the next state
            ledger.finish_round(waiting.round_id, choosing())
        assert second.round_id < waiting.round_id
        assert rows(place.ledger, "SELECT round_id FROM states") == [(waiting.round_id,)]
        assert faults(place) == []

    def test_a_round_that_waited_is_corrected_behind_its_end(self, new_place):
        """Not while it waits; then as every other, whatever its appends were; what is repeated or carried on goes by its settlement."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200, idempotency_key="k")
            element, why = "round_settled.total_win_minor", ("7", "a reel stood still", "Ann Adams", "Bob Brown")
            with pytest.raises(CorrectionRefused):
                correct_round(ledger, waiting.round_id, element, *why)
            played = ledger.finish_round(waiting.round_id, choosing(), [2])
            second = ledger.play(ref, choosing(), "base", 200)
            for after in ("7", "8"):
                correct_round(ledger, waiting.round_id, element, after, *why[1:])
            assert ledger.resume_round(waiting.round_id, choosing(), [2]).settled == played.settled
            assert ledger.play(ref, choosing(), "base", 200, idempotency_key="k").settled == played.settled
            assert kinds(ledger, waiting.round_id) == [*WHOLE, "correction_recorded", "correction_recorded"]
            appends = ledger.store.stream_appends(f"round/{waiting.round_id}")
            assert [(each.version_first, each.version_last) for each in appends] == [(1, 1), (2, 3), (4, 6), (7, 7), (8, 8)]
            third = ledger.play(ref, choosing(), "base", 200)
            assert third.opened.state_in == second.settled.state_out
            before = ledger.store.streams_before(ref, choosing().rules.game, appends[-1].leaf_index + 1)
            assert before == [f"round/{each.round_id}" for each in (second, waiting)]
            assert (ledger.store.round(waiting.round_id).status, ledger.store.round(waiting.round_id).version) == ("settled", 8)
        assert faults(place) == []

    def test_no_round_begins_with_a_choice(self, new_place):
        """An offer or a choice without an opening before it is found, with no row of a round at all."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            played = ledger.play(ref, choosing(), "base", 200)
            for row in ledger.round_events(played.round_id)[2:4]:
                ledger.store.append_events(f"round/{row.topic[:12]}", 1, [EventBytes(row.topic, row.data)])
        assert [fault.code for fault in check_ledger(RoundLedger.open_for_reading(place.ledger).path)] == ["round_start"] * 2

    def test_the_read_model_follows_a_round_that_waits(self, new_place, tmp_path):
        """A round that waits waits in the history, with its cost alone."""
        with new_ledger_at(new_place()) as (ledger, ref):
            waiting = ledger.play_to_choice(ref, choosing(), "base", 200)
            assert build(ledger, tmp_path / "history.db") == 1
            (entry,) = round_rows(ledger)
            assert (entry.status, entry.win_minor, entry.balance_after_minor) == ("waiting", 0, 10**9 - 200)
            ledger.finish_round(waiting.round_id, choosing())
            assert build(ledger, tmp_path / "history.db") == 1
            assert compare(ledger, tmp_path / "history.db") == []
