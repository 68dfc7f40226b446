"""What interruptions, resumptions, completions and voids keep on every store: a class of tests as in `store_contract.py`."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from engines.game import EventBytes
from ledger.bets import Leg, Played
from ledger.codec import event_bytes
from ledger.corrections import correct_round
from ledger.disclosure import EpochNotRevealable, RoundNotSettled, release_key, reveal_seed, rotate_epochs
from ledger.errors import FundsShort, LedgerError, RoundInPlay, RoundNotOpen, RoundUnknown, TextInvalid, VersionConflict
from ledger.forgetting import forget_account
from ledger.fsck import check_ledger
from ledger.held import CompletionRefused, complete_round, held_rounds
from ledger.incidents import record_incident
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.lifecycle_events import BonusMoved
from ledger.profile import Profile, profile_of, shipped_profile
from ledger.profile_setting import set_profile
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from tests.choosing_game import choosing
from tests.contracts.alterations_contract import TWO, report_of
from tests.ledger_files import Place, altered, new_ledger_at, rows, whole_ledger_faults
from tests.leg_game import LegGame, other_game

__all__ = ["LifeContract", "grant", "profile_with"]

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

    @pytest.mark.parametrize("pays", ["return-of-bet", "better-of"])
    @pytest.mark.parametrize("wins", [(100, 700), (300, 700)], ids=["below the bet", "above the bet"])
    @pytest.mark.parametrize("bonus", [0, 150])
    def test_what_a_void_pays(self, new_place, pays, wins, bonus):
        """The bet goes back to where it came from, or what was won is paid to the balance where that is the rule and more."""
        place = new_place()
        with new_ledger_at(place, balance_minor=BET - bonus) as (ledger, ref):
            put_in_force(ledger, pays)
            if bonus:
                assert grant(ledger, ref, 1000) == 1000
            round_id = ledger.open_round(ref, LegGame(*wins), "base", BET).round_id
            assert (ledger.opening(round_id).bonus_minor, ledger.store.bonus_minor(ref)) == (bonus, 1000 - bonus if bonus else 0)
            assert ledger.account("alice").balance_minor == 0
            ledger.play_leg(round_id, LegGame(*wins))
            interrupt(ledger, round_id)
            event = void_round(ledger, round_id, "cannot_continue", **PEOPLE)
            is_better = pays == "better-of" and wins[0] > BET
            wanted = (wins[0], 0) if is_better else (BET - bonus, bonus)
            assert (event.refund_minor, event.refund_bonus_minor, event.won_minor) == (*wanted, wins[0])
            assert (ledger.account("alice").balance_minor, event.balance_after_minor) == (wanted[0], wanted[0])
            assert ledger.store.bonus_minor(ref) == (1000 - bonus + wanted[1] if bonus else 0)
        assert faults(place) == []

    def test_bonus_money_pays_what_the_balance_is_short_of(self, new_place):
        """The balance first; what it wins is balance; neither a bet nor a forfeit takes more than there is."""
        place = new_place()
        with new_ledger_at(place, balance_minor=BET) as (ledger, ref):
            grant(ledger, ref, 250)
            ledger.commitment(ref)  # the epoch
            tree = ledger.store.tree()
            for call in (lambda: ledger.play(ref, LegGame(), "base", 3 * BET), lambda: grant(ledger, ref, -251)):
                with pytest.raises(FundsShort):
                    call()
            assert (ledger.store.tree(), ledger.store.bonus_minor(ref)) == (tree, 250)
            opened = ledger.play(ref, LegGame(0), "base", BET).opened
            assert (opened.bonus_minor, ledger.store.bonus_minor(ref)) == (0, 250)
            played = ledger.play(ref, LegGame(60), "base", BET)
            assert (played.opened.bonus_minor, played.settled.balance_after_minor, ledger.store.bonus_minor(ref)) == (BET, 60, 50)
            grant(ledger, ref, -50)
            assert ledger.store.bonus_minor(ref) == 0
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

    def test_rows_that_are_not_what_the_events_make(self, new_place):
        """Each row of interrupted rounds, bonus money and statuses that is altered, missing or too many is one fault."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            done = ledger.play(ref, LegGame(), "base", BET).round_id
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            voided = ledger.open_round(ref, other_game(), "base", BET).round_id
            void(ledger, voided)
            grant(ledger, ref, 500)
        kept, name, bonus = f"interrupted_rounds {ref}, moonlight-princess", f"'{round_id}'", f"bonuses {ref}"
        for change, back, row, code in (
            (f"UPDATE interrupted_rounds SET round_id = '{done}'", f"UPDATE interrupted_rounds SET round_id = {name}", kept, "row"),
            (
                "DELETE FROM interrupted_rounds",
                f"INSERT INTO interrupted_rounds VALUES ('{ref}', 'moonlight-princess', {name})",
                kept,
                "row_missing",
            ),
            (
                f"INSERT INTO interrupted_rounds VALUES ('{ref}', 'x', {name})",
                "DELETE FROM interrupted_rounds WHERE game = 'x'",
                f"interrupted_rounds {ref}, x",
                "row_extra",
            ),
            ("UPDATE bonuses SET bonus_minor = 501", "UPDATE bonuses SET bonus_minor = 500", bonus, "row"),
            ("DELETE FROM bonuses", f"INSERT INTO bonuses VALUES ('{ref}', 500)", bonus, "row_missing"),
            ("INSERT INTO bonuses VALUES ('x', 0)", "DELETE FROM bonuses WHERE account_ref = 'x'", "bonuses x", "row_extra"),
            *(
                (
                    f"UPDATE rounds SET status = '{wrong}' WHERE round_id = '{each}'",
                    f"UPDATE rounds SET status = '{right}' WHERE round_id = '{each}'",
                    f"rounds {each}",
                    "row",
                )
                for each, right, wrong in ((round_id, "interrupted", "open"), (voided, "voided", "settled"), (done, "settled", "voided"))
            ),
        ):
            altered(place.ledger, change)
            found = [(fault.code, fault.row.rpartition(" in ")[2]) for fault in fsck(place)]
            assert found == [(code, row)], change
            altered(place.ledger, back)
        assert faults(place) == []

    def test_events_that_stand_where_none_can(self, new_place):
        """An interruption of what stands still or is over, a resumption of what goes on, a second end: each is its own fault."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            ids = {}
            for standing, (before, _) in LIVES.items():
                who = ledger.open_account(standing, "EUR")
                ledger.move_funds(who, 10**6)
                ids[standing] = ledger.open_round(who, LegGame(), "base", BET).round_id
                for name in before:
                    CALLS[name](ledger, ids[standing])
            interrupted, resumed, settled, voided = self._events(ledger, ref)
            cases = [("open", resumed), ("interrupted", interrupted), ("interrupted", settled), ("voided", settled), ("settled", voided)]
            cases += [("settled", interrupted), ("voided", resumed), ("voided", voided)]
            for standing, event in cases:
                before_count = len(fsck(place))
                stream = f"round/{ids[standing]}"
                ledger.store.append_events(stream, len(ledger.store.stream_events(stream)) + 1, [event])
                altered(place.ledger, f"UPDATE rounds SET version = version + 1 WHERE round_id = '{ids[standing]}'")
                found = [fault.code for fault in fsck(place) if fault.stream == stream]
                assert event.topic.partition("/")[0] in found, (standing, event.topic, found)
                assert len(fsck(place)) > before_count

    def _events(self, ledger: RoundLedger, ref: str) -> list[EventBytes]:
        """Return an interruption, a resumption, a settlement and a void, as other rounds have them."""
        first = ledger.open_round(ref, LegGame(), "base", BET).round_id
        interrupt(ledger, first)
        ledger.finish_round(first, LegGame())
        second = ledger.open_round(ref, LegGame(), "base", BET).round_id
        void(ledger, second)
        events = {row.topic: EventBytes(row.topic, row.data) for each in (first, second) for row in ledger.round_events(each)}
        return [events[f"round_{kind}/1"] for kind in ("interrupted", "resumed", "settled", "voided")]

    def test_an_old_ledger_gets_the_tables_when_they_are_needed(self, new_place):
        """A ledger without them reads, plays and checks as it did, and has each from its first row on."""
        place = new_place()
        with new_ledger_at(place):
            pass
        altered(place.ledger, "DROP TABLE interrupted_rounds", "DROP TABLE bonuses")
        with place.open_for_writing() as ledger:
            ref = ledger.account("alice").account_ref
            ledger.play(ref, LegGame(), "base", BET)
            assert (ledger.store.interrupted_round(ref, "x"), ledger.store.bonus_minor(ref), ledger.store.rounds_in_play()) == ("", 0, [])
            assert faults(place) == []
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            with place.open_for_reading() as reader:
                assert [held.standing for held in held_rounds(reader)] == ["open"]
                interrupt(ledger, round_id)
                assert [held.standing for held in held_rounds(reader)] == ["interrupted"]
            assert rows(place.ledger, "SELECT round_id FROM interrupted_rounds") == [(round_id,)]
            grant(ledger, ref, 5)
            assert rows(place.ledger, "SELECT bonus_minor FROM bonuses") == [(5,)]
            assert faults(place) == []
            void(ledger, round_id)
        assert faults(place) == []

    def test_nothing_of_a_round_that_stands_still_is_disclosed(self, new_place):
        """No key and no seed while it is interrupted; when it is void it is over, and both are shown."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            rotate_epochs(ledger)
            with pytest.raises(RoundNotSettled):
                release_key(ledger, round_id)
            with pytest.raises(EpochNotRevealable, match=round_id):
                reveal_seed(ledger, 1)
            void(ledger, round_id)
            assert len(release_key(ledger, round_id).round_key) == 64
            assert len(reveal_seed(ledger, 1)) == 64
        assert faults(place) == []

    def test_a_void_round_is_corrected_and_named_as_every_other(self, new_place):
        """A correction stands behind a void, an incident names it, and nothing of that is a fault."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            void(ledger, round_id)
            record_incident(ledger, report_of([round_id]), *TWO)
            correct_round(ledger, round_id, "round_opened.channel", "web", "why", *TWO)
            assert isinstance(ledger.play(ref, LegGame(), "base", BET), Played)
        assert faults(place) == []

    def test_an_account_is_forgotten_when_its_rounds_are_over(self, new_place):
        """Not while one is interrupted, whatever slot it takes; then the reason of a void goes with the name, its proof stays."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            with pytest.raises(RoundInPlay, match=round_id):
                forget_account(ledger, "alice", *TWO)
            event = void_round(ledger, round_id, "cannot_continue", **PEOPLE)
            assert ledger.store.text(event.why_hash).content == PEOPLE["why"]
            assert forget_account(ledger, "alice", *TWO).event.erased_text_count == 1
            assert ledger.store.text(event.why_hash) is None
            assert ledger.store.text(event.voided_by_hash) is not None
        assert faults(place) == []

    @pytest.mark.parametrize("end", ["finish", "void"])
    def test_a_balance_one_unit_short_is_found(self, new_place, end):
        """In the settlement of a round that was interrupted, and in a void, fsck names the unit, whatever the account's row says."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, LegGame(), "base", BET).round_id
            interrupt(ledger, round_id)
            with pytest.MonkeyPatch.context() as patch:
                self._short(patch)
                CALLS[end](ledger, round_id)
        altered(place.ledger, "UPDATE accounts SET balance_minor = balance_minor - 1")
        (fault,) = fsck(place)
        balance = 10**9 + (600 if end == "finish" else 0)
        assert (fault.code, fault.stream, fault.want, fault.got) == ("balance", f"round/{round_id}", str(balance), str(balance - 1))

    @staticmethod
    def _short(patch: pytest.MonkeyPatch) -> None:
        def short(event: Any) -> EventBytes:
            less = {"balance_after_minor": event.balance_after_minor - 1} if hasattr(event, "balance_after_minor") else {}
            return event_bytes(event.model_copy(update=less))

        for module in ("rounds", "voids"):
            patch.setattr(f"ledger.{module}.event_bytes", short)
