"""What interruptions and voids keep on every store, whatever database it is on: a class of tests as in `store_contract.py`."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engines.game import EventBytes, Game
from ledger.accounts import move_bonus
from ledger.address import ledger_place
from ledger.bets import Leg, Opened, Played, Waiting
from ledger.codec import event_bytes
from ledger.disclosure import EpochNotRevealable, RoundNotSettled, release_key, reveal_seed, rotate_epochs
from ledger.errors import LedgerError, RoundInPlay, RoundNotOpen, VersionConflict
from ledger.fsck import check_ledger
from ledger.held import CompletionRefused, complete_round
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.lifecycle_events import BonusMoved, RoundInterrupted, RoundResumed, RoundVoided
from ledger.pausing import Refund
from ledger.profile import profile_of, shipped_profile
from ledger.profile_setting import set_profile
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from tests.broken_rounds import kind_game
from tests.choosing_game import choosing
from tests.ledger_files import altered, new_ledger_at, rows, whole_ledger_faults

__all__ = ["InterruptionsContract"]

DAY_US = 86_400_000_000
VOID = {"reason": "cannot_continue", "why": "the game is gone", "by": "Ann Adams", "approved_by": "Bob Brown"}
ZERO, ONE = "0" * 64, "0" * 32


def princess() -> Game:
    """Return a game whose bought rounds have many legs."""
    return kind_game("moonlight-princess")


def starlight() -> Game:
    """Return another game."""
    return kind_game("starlight-wins")


def codes(place: Any) -> list[str]:
    """Return the codes of what fsck finds."""
    return [fault.code for fault in check_ledger(ledger_place(place.ledger)) if fault is not None]


def faults(place: Any) -> list[Any]:
    """Return what two minds find wrong with a ledger."""
    return [*whole_ledger_faults(place.ledger), *check_ledger(ledger_place(place.ledger))]


def opened_leg(ledger: RoundLedger, ref: str) -> Opened:
    """Open a round with many legs and play one of them."""
    opened = ledger.open_round(ref, princess(), "buy", 40)
    assert isinstance(ledger.play_leg(opened.round_id, princess()), Leg)
    return ledger.recorded(opened.round_id)


def interrupted(ledger: RoundLedger, ref: str) -> Opened:
    """Open a round, play a leg of it and interrupt it."""
    interrupt_round(ledger.store, opened_leg(ledger, ref), "connection_lost")
    return ledger.recorded(next(iter(ledger.store.rounds_in_play())))


def set_all_games(ledger: RoundLedger) -> None:
    """Have a profile govern under which an interrupted round keeps its account from all games."""
    values = shipped_profile("default").values
    profile = profile_of({**values, "id": "all-games", "interruption": {**values["interruption"], "blocks": "all_games"}}, "test")
    set_profile(ledger.store, profile, "Ann", "Bob")


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make calls in threads that start together, and return what each returned or raised of our own errors."""
    found: list[Any] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(number: int) -> None:
        barrier.wait()
        try:
            found[number] = calls[number]()
        except LedgerError as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class InterruptionsContract:
    """The promises of `ledger/interruptions.py`, `legs.py`, `held.py` and `voids.py` as to calls, rows and what fsck makes of them."""

    def test_calls_made_again_or_out_of_order_change_nothing(self, new_place):
        """Each call in a standing that it is not for is refused, with the standing named, and leaves the ledger as it was."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            store = ledger.store

            def refused(error: type[LedgerError], *calls: Callable[[], Any]) -> None:
                before = store.tree(), ledger.account(ref)
                for call in calls:
                    with pytest.raises(error):
                        call()
                assert (store.tree(), ledger.account(ref)) == before

            first = opened_leg(ledger, ref)
            stale = ledger.recorded(first.round_id)
            refused(RoundNotOpen, lambda: resume_interrupted(store, first, "player"))
            interrupt_round(store, first, "other")
            after = ledger.recorded(first.round_id)
            refused(
                RoundNotOpen,
                lambda: interrupt_round(store, after, "other"),
                lambda: interrupt_round(store, stale, "other"),
                lambda: store.leave_round(first.round_id, len(after.later) + 1, lambda now: [], status="open"),
                lambda: store.settle_round(first.round_id, 0, lambda balance, now: [], version_last=len(after.later) + 1),
            )
            refused(CompletionRefused, lambda: complete_round(ledger, first.round_id, princess()))
            resume_interrupted(store, after, "player")
            refused(RoundNotOpen, lambda: resume_interrupted(store, after, "player"))
            refused(VersionConflict, lambda: interrupt_round(store, stale, "other"))
            interrupt_round(store, ledger.recorded(first.round_id), "other")
            refused(VersionConflict, lambda: resume_interrupted(store, after, "player"))
            void_round(ledger, first.round_id, **VOID)
            over = ledger.recorded(first.round_id)
            settled = ledger.play(ref, princess(), "base", 40).round_id
            for round_id in (first.round_id, settled):
                found = ledger.recorded(round_id)
                refused(
                    RoundNotOpen,
                    lambda found=found: interrupt_round(store, found, "other"),
                    lambda found=found: resume_interrupted(store, found, "player"),
                    lambda round_id=round_id: ledger.play_leg(round_id, princess()),
                    lambda round_id=round_id: ledger.finish_round(round_id, princess()),
                    lambda round_id=round_id: void_round(ledger, round_id, **VOID),
                    lambda round_id=round_id: complete_round(ledger, round_id, princess()),
                )
            refused(RoundNotOpen, lambda: ledger.resume_round(over.round_id, princess()), lambda: interrupt_round(store, after, "other"))
        assert faults(place) == []

    def test_a_leg_that_waits_is_asked_for_again_without_a_change(self, new_place):
        """A round that waits for its choice and is played on without one is left as it is, be it interrupted meanwhile or not."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            round_id = ledger.open_round(ref, choosing(), "base", 200).round_id
            waits = ledger.play_leg(round_id, choosing())
            assert isinstance(waits, Waiting)
            before = ledger.store.tree()
            assert ledger.play_leg(round_id, choosing()) == waits
            assert ledger.store.tree() == before
            interrupt_round(ledger.store, ledger.recorded(round_id), "other")
            assert ledger.store.round(round_id).status == "interrupted"
            assert ledger.play_leg(round_id, choosing()) == waits
            assert ledger.store.round(round_id).status == "waiting"
            assert isinstance(ledger.play_leg(round_id, choosing(), [1]), Played)
        assert faults(place) == []

    @pytest.mark.parametrize("what", ["interrupt", "resume", "leg", "void", "finish", "mixed"])
    def test_of_calls_at_the_same_moment_one_goes_through(self, new_place, what):
        """Of many writers at once one interrupts, resumes, plays, voids or finishes; the others are told; money moves once."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            opened = opened_leg(ledger, ref) if what != "resume" else interrupted(ledger, ref)
            round_id, size, balance = opened.round_id, ledger.store.tree_size(), ledger.account(ref).balance_minor

            def call_of(writer: RoundLedger, name: str) -> Callable[[], Any]:
                return {
                    "interrupt": lambda: interrupt_round(writer.store, opened, "other"),
                    "resume": lambda: resume_interrupted(writer.store, opened, "player"),
                    "leg": lambda: writer.store.leave_round(round_id, 1 + len(opened.later), lambda now: leg, status="open"),
                    "void": lambda: void_round(writer, round_id, **VOID),
                    "finish": lambda: writer.finish_round(round_id, princess()),
                }[name]

            outcome = princess().play(opened.key, "buy", 40, {}, ())
            leg = _second_leg(outcome.events)
            names = ["interrupt", "leg", "void", "finish"] * 2 if what == "mixed" else [what] * 6
            found = at_once(*(call_of((ledger, other)[number % 2], name) for number, name in enumerate(names)))
            told = Counter(type(each) for each in found)
            errors = {kind: count for kind, count in told.items() if issubclass(kind, Exception)}
            assert set(errors) <= {RoundNotOpen, VersionConflict}
            added = ledger.store.tree_size() - size
            if what != "mixed":
                assert sum(errors.values()) == len(names) - 1
                assert added == 1
            ends = [each for each in found if isinstance(each, Played | RoundVoided)]
            paid = sum(each.settled.total_win_minor if isinstance(each, Played) else each.refund_minor for each in ends)
            assert len(ends) <= 1
            assert ledger.account(ref).balance_minor == balance + paid
            assert faults(place) == []
            if not ends:
                played = other.finish_round(round_id, princess())
                assert played.settled.total_win_minor == outcome.total_win_minor
            assert ledger.account(ref).round_in_play == ""
        assert faults(place) == []

    def test_an_interrupted_round_keeps_its_account_from_its_own_game(self, new_place):
        """Other games are played meanwhile, its own is not, and while one of them is in play it is not resumed (ALL-8)."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            first = interrupted(ledger, ref)
            assert ledger.store.interrupted_round(ref, first.event.game) == first.round_id
            assert ledger.account(ref).round_in_play == ""
            with pytest.raises(RoundInPlay, match=first.round_id):
                ledger.play(ref, princess(), "base", 40)
            ledger.play(ref, starlight(), "base", 40)
            bob = ledger.open_account("bob", "EUR")
            ledger.move_funds(bob, 10**6)
            ledger.play(bob, princess(), "base", 40)
            second = ledger.open_round(ref, starlight(), "base", 40)
            for resume in (
                lambda: resume_interrupted(ledger.store, first, "player"),
                lambda: ledger.finish_round(first.round_id, princess()),
                lambda: ledger.play_leg(first.round_id, princess()),
            ):
                before = ledger.store.tree()
                with pytest.raises(RoundInPlay, match=second.round_id):
                    resume()
                assert ledger.store.tree() == before
            interrupt_round(ledger.store, second, "other")
            assert faults(place) == []
            ledger.finish_round(first.round_id, princess())
            assert ledger.store.rounds_in_play() == [second.round_id]
            void_round(ledger, second.round_id, **VOID)
            assert ledger.store.interrupted_round(ref, second.event.game) == ""
            third = interrupted(ledger, ref)
            fourth = ledger.open_round(ref, starlight(), "base", 40)
            void_round(ledger, third.round_id, **VOID)
            assert ledger.account(ref).round_in_play == fourth.round_id
            ledger.finish_round(fourth.round_id, starlight())
            assert ledger.store.rounds_in_play() == []
        assert faults(place) == []

    def test_under_a_profile_that_says_so_it_keeps_it_from_all_games(self, new_place):
        """The account's slot stays taken until the round goes on or is void; a profile set later does not change that."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            set_all_games(ledger)
            first = opened_leg(ledger, ref)
            set_profile(ledger.store, shipped_profile("default"), "Ann", "Bob")
            assert interrupt_round(ledger.store, first, "other").blocks == "all_games"
            for game in (princess(), starlight()):
                with pytest.raises(RoundInPlay, match=first.round_id):
                    ledger.play(ref, game, "base", 40)
            assert ledger.account(ref).round_in_play == first.round_id
            assert ledger.store.rounds_in_play() == [first.round_id]
            assert faults(place) == []
            assert isinstance(ledger.play_leg(first.round_id, princess()), Leg)
            interrupt_round(ledger.store, ledger.recorded(first.round_id), "other")
            void_round(ledger, first.round_id, **VOID)
            ledger.play(ref, starlight(), "base", 40)
        assert faults(place) == []

    def test_two_interrupted_rounds_are_not_resumed_at_once(self, new_place):
        """Of two rounds of two games that are resumed at the same moment one takes the slot, and the other is told which."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref), place.open_for_writing() as other:
            first = interrupted(ledger, ref)
            second = ledger.open_round(ref, starlight(), "base", 40)
            interrupt_round(ledger.store, second, "other")
            second = ledger.recorded(second.round_id)
            found = at_once(
                lambda: resume_interrupted(ledger.store, first, "player"), lambda: resume_interrupted(other.store, second, "player")
            )
            assert sorted(type(each).__name__ for each in found) == ["RoundInPlay", "RoundResumed"]
            slot = ledger.account(ref).round_in_play
            assert slot == (first, second)[isinstance(found[1], RoundResumed)].round_id
            assert faults(place) == []
            for round_id in sorted((first.round_id, second.round_id), key=lambda each: each != slot):
                ledger.finish_round(round_id, princess() if round_id == first.round_id else starlight())
        assert faults(place) == []

    def test_nothing_is_shown_of_a_round_that_is_interrupted(self, new_place):
        """Its key is not released and its epoch's seed not revealed while it is in play; a void round is over."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            first = interrupted(ledger, ref)
            rotate_epochs(ledger)
            with pytest.raises(RoundNotSettled):
                release_key(ledger, first.round_id)
            with pytest.raises(EpochNotRevealable):
                reveal_seed(ledger, 1)
            void_round(ledger, first.round_id, **VOID)
            assert release_key(ledger, first.round_id).round_key == first.key.hex()
            assert len(reveal_seed(ledger, 1)) == 64
        assert faults(place) == []

    def test_rows_of_interruptions_and_bonus_money_that_were_altered_are_found(self, new_place):
        """Each altered, missing or added row, and each status that is not the events', is one fault at its row."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            move_bonus(ledger.store, ref, 500)
            first = interrupted(ledger, ref)
            second = ledger.open_round(ref, starlight(), "base", 40)
            void = ledger.open_account("bob", "EUR")
            ledger.move_funds(void, 10**6)
            third = ledger.open_round(void, starlight(), "base", 40)
            void_round(ledger, third.round_id, **VOID)
        assert faults(place) == []
        mine = f"account_ref = '{ref}'"
        for change, back, found in (
            ("DELETE FROM interrupted_rounds", "INSERT", ["row_missing"]),
            ("DROP TABLE interrupted_rounds", "", ["row_missing"]),
            (f"UPDATE interrupted_rounds SET round_id = '{second.round_id}'", f"round_id = '{first.round_id}'", ["row"]),
            ("UPDATE interrupted_rounds SET game = 'x'", f"game = '{first.event.game}'", ["row_extra", "row_missing"]),
            (f"UPDATE interrupted_rounds SET account_ref = '{void}'", mine, ["row_extra", "row_missing"]),
            (f"INSERT INTO interrupted_rounds VALUES ('{ref}', 'x', '{second.round_id}')", "DELETE 'x'", ["row_extra"]),
            (f"UPDATE bonuses SET bonus_minor = 501 WHERE {mine}", "bonus_minor = 500", ["row"]),
            (f"UPDATE bonuses SET account_ref = '{void}'", mine, ["row_extra", "row_missing"]),
            ("DELETE FROM bonuses", f"INSERT INTO bonuses VALUES ('{ref}', 500)", ["row_missing"]),
            (f"INSERT INTO bonuses VALUES ('{void}', 0)", f"DELETE FROM bonuses WHERE account_ref = '{void}'", ["row_extra"]),
            *((f"UPDATE rounds SET status = '{status}' WHERE round_id = '{opened.round_id}'", f"status = '{was}'", ["row"])
              for opened, was in ((first, "interrupted"), (second, "open"), (third, "voided"))
              for status in ("open", "waiting", "interrupted", "settled", "voided") if status != was),
        ):  # fmt: skip
            altered(place.ledger, change)
            assert sorted(codes(place)) == found, change
            whole = f"INSERT INTO interrupted_rounds VALUES ('{ref}', '{first.event.game}', '{first.round_id}')"
            table, where = change.split()[1], change[change.index("WHERE") :] if "WHERE round_id" in change else ""
            undo = f"UPDATE {table} SET {back} {where}"
            if change.startswith("DROP"):
                with place.open_for_writing() as ledger, ledger.store._writing as cursor:
                    ledger.store._need_table(cursor, "interrupted_rounds")
                undo = whole
            if back == "INSERT":
                undo = whole
            elif back == "DELETE 'x'":
                undo = "DELETE FROM interrupted_rounds WHERE game = 'x'"
            elif " " in back and back.split()[1] in ("INTO", "FROM"):
                undo = back
            altered(place.ledger, undo)
            assert faults(place) == [], (change, undo)

    def test_events_out_of_order_are_found(self, new_place):
        """What happens to a round in a standing that it cannot have, or with money that is not there, is one fault of its own.

        With it come an append behind an end, which only a correction may be, and an amount that goes by bonus money that is not there.
        """
        for name, alter in _OUT_OF_ORDER.items():
            place = new_place()
            with new_ledger_at(place) as (ledger, ref):
                code = alter(place, ledger, ref)
            beside = ["leaf_versions"] if "over" in name else ["balance"] if code == "bonus" else []
            assert sorted(codes(place)) == sorted([code, *beside]), name

    def test_an_old_ledger_gets_its_tables_when_they_are_needed(self, new_place):
        """A ledger from before interruptions and bonus money is read, played on and checked; each table comes with its first row."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ref):
            ledger.play(ref, princess(), "base", 40)
        altered(place.ledger, "DROP TABLE interrupted_rounds", "DROP TABLE bonuses")
        assert faults(place) == []
        with place.open_for_writing() as ledger:
            assert (ledger.store.interrupted_round(ref, princess().rules.game), ledger.store.bonus_minor(ref)) == ("", 0)
            assert ledger.store.rounds_in_play() == []
            ledger.play(ref, princess(), "base", 40)
            void_round(ledger, ledger.open_round(ref, starlight(), "base", 40).round_id, **VOID)
            assert faults(place) == []
            first = interrupted(ledger, ref)
            assert rows(place.ledger, "SELECT round_id FROM interrupted_rounds") == [(first.round_id,)]
            assert faults(place) == []
            with place.open_for_writing() as other:
                other.finish_round(first.round_id, princess())
            move_bonus(ledger.store, ref, 7)
            assert ledger.store.bonus_minor(ref) == 7
        assert rows(place.ledger, "SELECT bonus_minor FROM bonuses") == [(7,)]
        assert rows(place.ledger, "SELECT round_id FROM interrupted_rounds") == []
        assert faults(place) == []


def _second_leg(events: list[EventBytes]) -> list[EventBytes]:
    starts = [place for place, event in enumerate(events) if event.topic == "spin_started/1"]
    return list(events[starts[1] : starts[2]])


def _interruption() -> EventBytes:
    moments = {"acked_at_us": 0, "broke_at_us": 1, "interrupted_at_us": 1}
    return event_bytes(RoundInterrupted(cause="other", acked_index=-1, blocks="own_game", held_minor=4000, won_minor=0, **moments))


def _resumption() -> EventBytes:
    return event_bytes(RoundResumed(resumed_by="player", session_ref="", channel="", resumed_at_us=1))


def _void(balance_minor: int, refund_minor: int = 0) -> EventBytes:
    hashes = {"why_hash": "", "voided_by_hash": "", "approved_by_hash": "", "round_digest": ZERO, "incident_id": ""}
    terms = {"reason": "deadline", "pays": "return_of_bet", "won_minor": 0, "refund_minor": refund_minor, "refund_bonus_minor": 0}
    return event_bytes(RoundVoided(**terms, **hashes, balance_after_minor=balance_minor, voided_at_us=1))


def _added(event_of: Callable[[RoundLedger, str], EventBytes], code: str, *, is_settled: bool = False, is_interrupted: bool = False) -> Any:
    """Return a function that adds an event to a round and has the row of the round follow."""

    def alter(place: Any, ledger: RoundLedger, ref: str) -> str:
        if is_settled:
            round_id = ledger.play(ref, princess(), "base", 40).round_id
        else:
            round_id = (interrupted if is_interrupted else opened_leg)(ledger, ref).round_id
        version = len(ledger.round_events(round_id)) + 1
        ledger.store.append_events(f"round/{round_id}", version, [event_of(ledger, ref)])
        if not is_settled:
            altered(place.ledger, f"UPDATE rounds SET version = {version} WHERE round_id = '{round_id}'")
        return code

    return alter


def _settled_though_interrupted(place: Any, ledger: RoundLedger, ref: str) -> str:
    opened = interrupted(ledger, ref)
    altered(place.ledger, "UPDATE rounds SET status = 'open'", "DELETE FROM interrupted_rounds")
    ledger.settle_round(opened, princess().play(opened.key, "buy", 40, {}, ()))
    return "round_settled"


def _opened_though_interrupted(place: Any, ledger: RoundLedger, ref: str) -> str:
    opened = interrupted(ledger, ref)
    altered(place.ledger, "DELETE FROM interrupted_rounds")
    ledger.play(ref, princess(), "base", 40)
    altered(place.ledger, f"INSERT INTO interrupted_rounds VALUES ('{ref}', '{opened.event.game}', '{opened.round_id}')")
    return "round_overlap"


def _resumed_though_another_is_in_play(place: Any, ledger: RoundLedger, ref: str) -> str:
    opened = interrupted(ledger, ref)
    ledger.open_round(ref, starlight(), "base", 40)
    altered(place.ledger, f"UPDATE accounts SET round_in_play = '' WHERE account_ref = '{ref}'")
    resume_interrupted(ledger.store, opened, "player")
    return "round_overlap"


def _voided_with_another_balance(place: Any, ledger: RoundLedger, ref: str) -> str:
    opened = opened_leg(ledger, ref)
    balance = ledger.account(ref).balance_minor
    ledger.store.void_round(
        opened.round_id, 1 + len(opened.later), Refund(4000, 0), lambda after, now: _void(balance + 3999, 4000), texts=()
    )
    altered(place.ledger, f"UPDATE accounts SET balance_minor = {balance + 3999} WHERE account_ref = '{ref}'")
    return "balance"


def _bonus_one_unit_more(place: Any, ledger: RoundLedger, ref: str) -> str:
    def event_of(bonus: int, now: int) -> EventBytes:
        return event_bytes(BonusMoved(amount_minor=500, reason="granted", bonus_after_minor=bonus + 1, moved_at_us=now))

    ledger.store.move_bonus(ref, 500, event_of)
    altered(place.ledger, "UPDATE bonuses SET bonus_minor = 501")
    return "balance"


def _bonus_of_nobody(place: Any, ledger: RoundLedger, ref: str) -> str:
    event = event_bytes(BonusMoved(amount_minor=5, reason="granted", bonus_after_minor=5, moved_at_us=1))
    ledger.store.append_events(f"account/{ONE}", 1, [event])
    return "account_unknown"


def _bonus_that_is_not_there(place: Any, ledger: RoundLedger, ref: str) -> str:
    ledger.move_funds(ref, -ledger.account(ref).balance_minor, "withdrawal")
    move_bonus(ledger.store, ref, 39)
    altered(place.ledger, "UPDATE bonuses SET bonus_minor = 40")
    ledger.play(ref, starlight(), "base", 40)
    move_bonus(ledger.store, ref, 1)  # to 1; by the events to 0
    return "bonus"


def _revealed_though_interrupted(place: Any, ledger: RoundLedger, ref: str) -> str:
    opened = interrupted(ledger, ref)
    rotate_epochs(ledger)
    reveal_seed(ledger, 1, in_play={})
    assert ledger.recorded(opened.round_id).later[-1].topic == "round_interrupted/1"
    return "round_in_play"


_OUT_OF_ORDER: dict[str, Callable[[Any, RoundLedger, str], str]] = {
    "interrupted twice": _added(lambda ledger, ref: _interruption(), "round_interrupted", is_interrupted=True),
    "interrupted when over": _added(lambda ledger, ref: _interruption(), "round_interrupted", is_settled=True),
    "resumed when it went on": _added(lambda ledger, ref: _resumption(), "round_resumed"),
    "resumed when over": _added(lambda ledger, ref: _resumption(), "round_resumed", is_settled=True),
    "void when over": _added(lambda ledger, ref: _void(ledger.account(ref).balance_minor), "round_voided", is_settled=True),
    "settled when interrupted": _settled_though_interrupted,
    "opened when another of its game is interrupted": _opened_though_interrupted,
    "resumed when another is in play": _resumed_though_another_is_in_play,
    "void with another balance": _voided_with_another_balance,
    "bonus money one unit more": _bonus_one_unit_more,
    "bonus money of nobody": _bonus_of_nobody,
    "bonus money that is not there": _bonus_that_is_not_there,
    "revealed when interrupted": _revealed_though_interrupted,
}
