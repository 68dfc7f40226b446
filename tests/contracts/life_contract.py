"""What interruptions, resumptions, completions and voids keep on every store: a class of tests as in `store_contract.py`."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from engines.game import EventBytes
from ledger.bets import Leg
from ledger.codec import event_bytes
from ledger.errors import LedgerError, RoundInPlay, RoundNotOpen, RoundUnknown, TextInvalid, VersionConflict
from ledger.fsck import check_ledger
from ledger.held import CompletionRefused, complete_round, held_rounds
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.lifecycle_events import BonusMoved
from ledger.profile import Profile, profile_of, shipped_profile
from ledger.profile_setting import set_profile
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from tests.choosing_game import choosing
from tests.contracts.alterations_contract import TWO
from tests.ledger_files import Place, new_ledger_at, whole_ledger_faults
from tests.leg_game import LegGame, other_game

__all__ = [
    "BET",
    "CALLS",
    "DAY_US",
    "LIVES",
    "PEOPLE",
    "LifeContract",
    "faults",
    "fsck",
    "grant",
    "interrupt",
    "profile_with",
    "put_in_force",
    "void",
]

BET = 200
PEOPLE = {"why": "the reels stood still", "by": TWO[0], "approved_by": TWO[1]}
DAY_US = 86_400_000_000


def faults(place: Place) -> list[Any]:
    """Return what two minds find wrong with a ledger."""
    return [*whole_ledger_faults(place.ledger), *fsck(place)]


def fsck(place: Place) -> list[Any]:
    """Return the faults that the check of a whole ledger finds."""
    with place.open_for_reading() as reader:
        return [fault for fault in check_ledger(reader.path) if fault is not None]


def profile_with(base: str, name: str, **parts: dict[str, Any]) -> Profile:
    """Return a profile that comes with the program with some of its values changed, under a name of its own."""
    profile = shipped_profile(base)
    assert profile is not None
    values = {**profile.values, "id": name}
    for part, changes in parts.items():
        values[part] = {**values[part], **changes}
    return profile_of(values, name)


def put_in_force(ledger: RoundLedger, profile: Profile | str) -> None:
    """Have two people set a profile; a name is of one that comes with the program."""
    found = shipped_profile(profile) if isinstance(profile, str) else profile
    assert found is not None
    set_profile(ledger.store, found, *TWO)
    ledger._profile.forget()


def grant(ledger: RoundLedger, ref: str, amount_minor: int) -> int:
    """Grant bonus money, or take it back."""
    reason: Any = "granted" if amount_minor > 0 else "forfeited"

    def event_of(bonus_minor: int, now: int) -> EventBytes:
        return event_bytes(BonusMoved(amount_minor=amount_minor, reason=reason, bonus_after_minor=bonus_minor, moved_at_us=now))

    return ledger.store.move_bonus(ref, amount_minor, event_of)


def interrupt(ledger: RoundLedger, round_id: str) -> None:
    """Interrupt a round where it is."""
    interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost")


def resume(ledger: RoundLedger, round_id: str) -> None:
    """Have the player go on with a round."""
    resume_interrupted(ledger.store, ledger.recorded(round_id), "player")


def void(ledger: RoundLedger, round_id: str) -> None:
    """Void a round by two people."""
    void_round(ledger, round_id, "cannot_continue", **PEOPLE)


CALLS: dict[str, Callable[[RoundLedger, str], Any]] = {
    "interrupt": interrupt,
    "resume": resume,
    "leg": lambda ledger, round_id: ledger.play_leg(round_id, LegGame()),
    "finish": lambda ledger, round_id: ledger.finish_round(round_id, LegGame()),
    "void": void,
    "complete": lambda ledger, round_id: complete_round(ledger, round_id, LegGame()),
}
LIVES = {  # how a round comes to stand, and what is then refused
    "open": ((), ("resume",)),
    "interrupted": (("leg", "interrupt"), ("interrupt",)),
    "settled": (("finish",), tuple(CALLS)),
    "voided": (("leg", "void"), tuple(CALLS)),
}


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same moment and return what each gave or raised."""
    found: list[Any] = []
    start = threading.Barrier(len(calls))

    def make(call: Callable[[], Any]) -> None:
        start.wait()
        try:
            found.append(call())
        except LedgerError as refused:
            found.append(refused)

    threads = [threading.Thread(target=make, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class LifeContract:
    """The promises of `ledger/legs.py`, `interruptions.py`, `pausing.py`, `held.py` and `voids.py`."""

    @pytest.mark.parametrize("standing", LIVES)
    def test_what_is_repeated_or_out_of_order_is_refused(self, new_place, standing):
        """A call that does not fit how a round stands records nothing and says how it stands; an unknown round is said."""
        place = new_place()
        before, refused = LIVES[standing]
        with new_ledger_at(place) as (ledger, ref):
            put_in_force(ledger, "complete-24-hours")
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            for name in before:
                CALLS[name](ledger, round_id)
            tree = ledger.store.tree()
            for name in refused:
                with pytest.raises(RoundNotOpen) as said:
                    CALLS[name](ledger, round_id)
                assert said.value.status == standing
                with pytest.raises(RoundUnknown):
                    CALLS[name](ledger, "nothing")
            assert ledger.store.tree() == tree
        assert faults(place) == []

    def test_a_stale_view_of_a_round_is_refused(self, new_place):
        """What was read before somebody else went on with the round records nothing."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            stale = ledger.recorded(round_id)
            other.play_leg(round_id, LegGame())
            tree = ledger.store.tree()
            with pytest.raises(VersionConflict):
                interrupt_round(ledger.store, stale, "other")
            with pytest.raises(VersionConflict):
                ledger.settle_round(stale, LegGame().play(b"", "base", BET, {}, ()))
            assert ledger.store.tree() == tree
            interrupt(other, round_id)
            halted = ledger.recorded(round_id)
            resume(other, round_id)
            interrupt(other, round_id)
            with pytest.raises(VersionConflict):
                resume_interrupted(ledger.store, halted, "player")
            assert isinstance(ledger.play_leg(round_id, LegGame()), Leg)
        assert faults(place) == []

    @pytest.mark.parametrize(("before", "name"), [((), "interrupt"), (("interrupt",), "resume"), ((), "finish"), (("interrupt",), "void")])
    def test_of_several_at_once_one_goes_through(self, new_place, before, name):
        """Made by two writers at the same moment a call is recorded once; the others are told that the round has gone on."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            for each in before:
                CALLS[each](ledger, round_id)
            found = at_once([partial(CALLS[name], writer, round_id) for writer in (ledger, other) * 3])
            refused = [each for each in found if isinstance(each, LedgerError)]
            assert len(refused) == len(found) - 1
            assert all(isinstance(each, RoundNotOpen | VersionConflict) for each in refused)
            assert len(ledger.store.stream_appends(f"round/{round_id}")) == 2 + len(before)
        assert faults(place) == []

    def test_different_calls_at_once(self, new_place):
        """Whatever two writers do with a round at the same moment, nothing is lost, halved or paid twice."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            for _ in range(4):
                balance = ledger.account("alice").balance_minor
                round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
                names = ("interrupt", "leg", "void", "resume", "leg")
                at_once([partial(CALLS[name], writer, round_id) for writer in (ledger, other) for name in names])
                if ledger.store.round(round_id).status not in ("settled", "voided"):
                    ledger.finish_round(round_id, LegGame())
                paid = {"settled": 800, "voided": BET}[ledger.store.round(round_id).status]
                assert ledger.account("alice").balance_minor == balance - BET + paid
                assert ledger.account("alice").round_in_play == ""
        assert faults(place) == []

    def test_an_interrupted_round_blocks_its_own_game(self, new_place):
        """As the shipped profiles say (ALL-8): other games are played meanwhile, and while one is in play the round cannot go on."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            ledger.play_leg(round_id, LegGame())
            interrupt(ledger, round_id)
            assert ledger.round_in_play(ref) is None
            with pytest.raises(RoundInPlay, match=round_id):
                ledger.open_round(ref, LegGame(), "base", BET)
            bob = ledger.open_account("bob", "EUR")
            ledger.move_funds(bob, 10_000)
            ledger.play(bob, LegGame(), "base", BET)
            ledger.play(ref, other_game(), "base", BET)
            second = ledger.open_round(ref, other_game(), "base", BET).round_id
            for call in ("resume", "leg", "finish"):
                with pytest.raises(RoundInPlay, match=second):
                    CALLS[call](ledger, round_id)
            assert sorted(held.round_id for held in held_rounds(ledger)) == sorted((round_id, second))
            interrupt(ledger, second)
            assert [held.standing for held in held_rounds(ledger, ref)] == ["interrupted"] * 2
            ledger.finish_round(round_id, LegGame())
            ledger.finish_round(second, other_game())
            assert ledger.account("alice").balance_minor == 10**9 - 3 * BET + 800 + 2 * 50
        assert faults(place) == []

    def test_a_void_of_an_interrupted_round_leaves_the_slot_of_another(self, new_place):
        """Voided while the account plays another game, a round frees its own game and nothing else."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            second = ledger.open_round(ref, other_game(), "base", BET).round_id
            void(ledger, round_id)
            assert ledger.round_in_play(ref)[0] == second
            (leaf,) = ledger.store.stream_appends(f"round/{round_id}")[2:]
            for first, last, is_there in ((0, 100, True), (leaf.leaf_index, 100, False), (0, leaf.leaf_index, False)):
                assert ledger.store.has_void_between(ref, first, last) == is_there
            assert not ledger.store.has_void_between("00" * 16, 0, 100)
            assert ledger.finish_round(second, other_game()).settled.balance_after_minor == 10**9 - BET + 50
            ledger.play(ref, LegGame(), "base", BET)
        assert faults(place) == []

    def test_a_profile_may_block_all_games(self, new_place):
        """Where it does, an interrupted round keeps its account's slot; it goes on as every other."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            put_in_force(ledger, profile_with("default", "all", interruption={"blocks": "all_games"}))
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            for each in (LegGame(), other_game()):
                with pytest.raises(RoundInPlay, match=round_id):
                    ledger.open_round(ref, each, "base", BET)
            assert ledger.round_in_play(ref)[0] == round_id
            assert faults(place) == []
            assert isinstance(ledger.play_leg(round_id, LegGame()), Leg)
            interrupt(ledger, round_id)
            void(ledger, round_id)
            ledger.play(ref, other_game(), "base", BET)
        assert faults(place) == []

    def test_a_repeated_bet_goes_on_where_it_was(self, new_place):
        """Under its idempotency key an interrupted round goes on, one that is void is said, one that is overdue is not settled."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            terms: dict[str, Any] = {"idempotency_key": "a"}
            first = ledger.open_round(ref, LegGame(), "base", BET, **terms).round_id
            ledger.play_leg(first, LegGame())
            interrupt(ledger, first)
            assert ledger.play(ref, LegGame(), "base", BET, **terms).round_id == first
            terms = {"idempotency_key": "b"}
            second = ledger.open_round(ref, LegGame(), "base", BET, **terms).round_id
            void(ledger, second)
            tree = ledger.store.tree()
            for call in (ledger.play, ledger.play_to_choice):
                with pytest.raises(RoundNotOpen, match="voided"):
                    call(ref, LegGame(), "base", BET, **terms)
            assert ledger.store.tree() == tree
            terms = {"idempotency_key": "c"}
            third = ledger.open_round(ref, LegGame(), "base", BET, **terms).round_id
            now = ledger.store.clock() + 90 * DAY_US
            ledger.store.clock = lambda: now
            for call in (ledger.play, ledger.play_to_choice):
                with pytest.raises(LedgerError, match="90 days"):
                    call(ref, LegGame(), "base", BET, **terms)
            void_round(ledger, third, "deadline")
        assert faults(place) == []

    def test_the_system_completes_with_the_first_that_is_offered(self, new_place):
        """A round that waits is completed when its profile says, not before; a completion that was cut off goes on at once."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            put_in_force(ledger, "complete-24-hours")
            round_id = ledger.play_to_choice(ref, choosing(), "base", BET).round_id
            stopped = ledger.store.stream_appends(f"round/{round_id}")[-1].recorded_at_us
            ledger.store.clock = lambda: stopped + DAY_US - 1
            with pytest.raises(CompletionRefused):
                complete_round(ledger, round_id, choosing())
            ledger.store.clock = lambda: stopped + DAY_US
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(RoundLedger, "finish_for_player", lambda *_: None)  # as a crash before it does
                complete_round(ledger, round_id, choosing())
            (held,) = held_rounds(ledger)
            assert (held.standing, held.is_due(stopped + DAY_US)) == ("waiting", True)
            played = complete_round(ledger, round_id, choosing())
            assert (played.settled.ended, played.system_choices) == ("auto_completed", (0,))
            kinds = [row.topic.partition("/")[0] for row in ledger.round_events(round_id)]
            assert kinds[3:6] == ["round_interrupted", "round_resumed", "choice_made"]
        assert faults(place) == []

    def test_a_repeated_bet_on_a_round_that_asks(self, new_place):
        """Interrupted while it waits it goes on and waits again; void it is said, and no choice is offered."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            terms: dict[str, Any] = {"idempotency_key": "a"}
            first = ledger.play_to_choice(ref, choosing(), "base", BET, **terms)
            interrupt(ledger, first.round_id)
            again = ledger.play_to_choice(ref, choosing(), "base", BET, **terms)
            assert (again, ledger.store.round(first.round_id).status) == (first._replace(is_repeat=True), "waiting")
            void(ledger, first.round_id)
            with pytest.raises(RoundNotOpen, match="voided"):
                ledger.play_to_choice(ref, choosing(), "base", BET, **terms)
        assert faults(place) == []

    def test_times_and_events_that_cannot_be(self, new_place):
        """A break before the opening or to come, an event that is not there, a time without an event: each is refused."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            opened = ledger.open_round(ref, LegGame(), "base", BET)
            at, tree = opened.event.opened_at_us, ledger.store.tree()
            later = ledger.store.clock() + DAY_US
            for terms in (
                {"broke_at_us": at - 1},
                {"broke_at_us": later},
                {"acked_index": 1, "acked_at_us": at},
                {"acked_index": -2},
                {"acked_index": 0},
                {"acked_at_us": at},
                {"acked_index": 0, "acked_at_us": at - 1},
            ):
                with pytest.raises(TextInvalid):
                    interrupt_round(ledger.store, opened, "other", **terms)
            assert ledger.store.tree() == tree
            event = interrupt_round(ledger.store, opened, "other", broke_at_us=at, acked_index=0, acked_at_us=at)
            assert (event.broke_at_us, event.acked_index, event.held_minor) == (at, 0, BET)
        assert faults(place) == []
