"""What rounds, accounts and epochs keep on every store, whatever database it is on: a class of tests as in `store_contract.py`."""

import threading

import pytest

from engines.canonical import INTEGER_MAX
from ledger.bets import Played
from ledger.disclosure import epoch_states
from ledger.errors import (
    AccountExists,
    AccountUnknown,
    FundsShort,
    IdempotencyConflict,
    RoundInPlay,
    RoundNotOpen,
    RoundUnknown,
    TextInvalid,
)
from ledger.history import build, compare
from ledger.money import BalanceTooLarge
from ledger.rounds import RoundLedger
from ledger.seed_rotation import rotate_seed_key
from tests.fake_game import FakeGame
from tests.ledger_files import altered, game, new_ledger_at, play_some, rows, whole_ledger_faults

__all__ = ["RoundsContract"]


class RoundsContract:
    """The promises of `ledger/rounds.py` and `ledger/epochs.py`."""

    def test_one_round_in_play_for_an_account(self, new_place):
        """Of many writers at once one takes an account's slot and nonce; the others are told which round is in play."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            outcomes: list[object] = []

            def open_one(writer):
                try:
                    outcomes.append(writer.open_round(account_ref, game(), "base", 200).round_id)
                except RoundInPlay as refused:
                    outcomes.append(refused)

            with place.open_for_writing() as other:
                threads = [threading.Thread(target=open_one, args=(writer,)) for writer in (ledger, other) * 4]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            (round_id,) = [outcome for outcome in outcomes if isinstance(outcome, str)]
            assert len(outcomes) == 8
            assert all(round_id in str(outcome) for outcome in outcomes)
            ledger.finish_round(round_id, game())
            with pytest.raises(RoundNotOpen):
                ledger.finish_round(round_id, game())
            play_some(ledger, account_ref, 1)
        assert whole_ledger_faults(place.ledger) == []

    def test_a_repeated_idempotency_key_pays_once(self, new_place):
        """The same bet under the same key gives the recorded round, without another play, debit or leaf; another bet is refused."""
        with new_ledger_at(new_place()) as (ledger, account_ref):
            counting = FakeGame()
            first = ledger.play(account_ref, counting, "base", 200, idempotency_key="k", external_ref="r")
            before = (ledger.store.tree(), ledger.account("alice"))
            assert ledger.play(account_ref, counting, "base", 200, idempotency_key="k", external_ref="r") == first._replace(is_repeat=True)
            assert (ledger.store.tree(), ledger.account("alice"), counting.play_count) == (*before, 1)
            with pytest.raises(IdempotencyConflict):
                ledger.play(account_ref, counting, "base", 400, idempotency_key="k", external_ref="r")
            assert ledger.find_round("ext:r") == first.round_id

    def test_a_call_that_another_overtakes_under_its_key_gets_the_round(self, new_place):
        """Where the same call, made once more while it is under way, settles the round first, both return it as it is recorded."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref), place.open_for_writing() as other:
            overtaking: list[Played] = []

            class Overtaken(FakeGame):
                def play(self, *terms):
                    if not overtaking:
                        overtaking.append(other.play(account_ref, game(), "base", 200, idempotency_key="k"))
                    return super().play(*terms)

            played = ledger.play(account_ref, Overtaken(), "base", 200, idempotency_key="k")
            assert [played] == overtaking
            assert played.is_repeat
            assert ledger.account("alice").balance_minor == 10**9 - 200 + played.settled.total_win_minor
        assert whole_ledger_faults(place.ledger) == []
        assert rows(place.ledger, "SELECT count(*) FROM rounds") == [(1,)]

    def test_an_open_round_is_finished_by_another_writer_with_the_same_outcome(self, new_place):
        """After a crash the round's seed is unsealed and leads to the outcome that was fixed at opening."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            opened = ledger.open_round(account_ref, game(), "base", 200, client_seed="c")
            expected = game().play(opened.key, "base", 200, {}, ())
            ledger.factory.close()  # as a crash does: the epoch stays open
            ledger._is_closed = True
        with place.open_for_writing() as second:
            assert second.round_in_play(account_ref) == (opened.round_id, opened.event)
            second.finish_round(opened.round_id, game())
            assert [(row.topic, row.data) for row in second.round_events(opened.round_id)[1:-1]] == list(expected.events)
            play_some(second, account_ref, 1)
        assert rows(place.ledger, "SELECT next_nonce, is_closed FROM epochs ORDER BY epoch") == [(1, 0), (1, 1)]
        assert whole_ledger_faults(place.ledger) == []

    def test_a_nonce_is_dealt_once_whatever_the_ledger_says(self, new_place):
        """A writer to whom the ledger offers a nonce that it has dealt, as a backup put back does, leaves its epoch and starts another."""
        place = new_place()
        with new_ledger_at(place) as (ledger, account_ref):
            play_some(ledger, account_ref, 3)
            altered(place.ledger, "UPDATE epochs SET next_nonce = 2")
            opened = ledger.play(account_ref, game(), "base", 200, client_seed="another").opened
            assert (opened.epoch, opened.nonce) == (2, 0)
            altered(place.ledger, "UPDATE epochs SET next_nonce = 3 WHERE epoch = 1")
        assert whole_ledger_faults(place.ledger) == []

    def test_a_balance_that_would_pass_the_largest_integer(self, new_place):
        """Neither a deposit nor a win may pass 2^53 - 1: the round stays in play, and pays the same once there is room."""
        place = new_place()
        with new_ledger_at(place, balance_minor=INTEGER_MAX) as (ledger, ref):
            assert ledger.account("alice").balance_minor == INTEGER_MAX
            before = ledger.store.tree()
            with pytest.raises(BalanceTooLarge, match=r"got 90071992547409\.92"):
                ledger.move_funds(ref, 1)
            assert ledger.store.tree() == before
            opened = ledger.open_round(ref, game(), "base", 200)
            while not game().play(opened.key, "base", 200, {}, ()).total_win_minor:
                ledger.finish_round(opened.round_id, game())
                opened = ledger.open_round(ref, game(), "base", 200)
            ledger.move_funds(ref, INTEGER_MAX - ledger.account("alice").balance_minor)
            before = ledger.store.tree()
            with pytest.raises(BalanceTooLarge):
                ledger.finish_round(opened.round_id, game())
            assert ledger.store.tree() == before
            assert ledger.round_in_play(ref)[0] == opened.round_id
            ledger.move_funds(ref, -100, "withdrawal")
            assert ledger.finish_round(opened.round_id, game()).settled.balance_after_minor == INTEGER_MAX
        assert whole_ledger_faults(place.ledger) == []

    def test_what_is_refused_records_nothing(self, new_place):
        """A refused bet, movement or name leaves balance, slot, nonce and tree as they were."""
        place = new_place()
        with new_ledger_at(place, balance_minor=5000) as (ledger, ref):
            play_some(ledger, ref, 1)
            before = (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1))
            for call, error in (
                (lambda: ledger.play("00" * 16, game(), "base", 200), AccountUnknown),
                (lambda: ledger.play(ref, game(), "base", 10_000), FundsShort),
                (lambda: ledger.move_funds(ref, -10_000, "withdrawal"), FundsShort),
                (lambda: ledger.open_account("alice", "EUR"), AccountExists),
                (lambda: ledger.play(ref, game(), "base", 200, external_ref="a\0b"), TextInvalid),
                (lambda: ledger.play(ref, game(), "base", 200, idempotency_key="\0"), TextInvalid),
                (lambda: ledger.open_account("a\0b", "EUR"), TextInvalid),
                (lambda: ledger.account("a\0b"), AccountUnknown),
                (lambda: ledger.finish_round("nothing", game()), RoundUnknown),
                (lambda: ledger.find_round("nothing\0nothing"), RoundUnknown),
                (lambda: ledger.find_round("ext:nothing"), RoundUnknown),
            ):
                with pytest.raises(error):
                    call()
            assert (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1)) == before
            play_some(ledger, ref, 1, external_ref="Größe 5' \" \\ %s ? 汉字", client_seed="\0")
            assert ledger.find_round("ext:Größe 5' \" \\ %s ? 汉字")
        assert whole_ledger_faults(place.ledger) == []

    def test_an_account_has_an_epoch_of_its_own_in_each_writer(self, new_place):
        """In the account way every account's rounds count their own nonces from 0, anew in each process, as its events and rows say."""
        place = new_place()
        with new_ledger_at(place) as (ledger, ann):
            bob = ledger.open_account("bob", "EUR")
            ledger.move_funds(bob, 10_000)
        dealt = []
        for _ in range(2):
            with RoundLedger.open_for_writing(place.ledger, place.keys_dir, epoch_of="account") as writer:
                shown = writer.commitment(ann)
                assert writer.commitment(ann) == shown  # nothing is taken by looking
                for ref in (ann, bob, ann, ann, bob):
                    event = writer.play(ref, game(), "base", 200).opened
                    dealt.append((event.epoch, event.account_ref, event.nonce))
                assert dealt[-5][0] == shown.epoch
                assert writer.commitment(ann) == shown._replace(next_nonce=3)
                assert [state.next_nonce for state in epoch_states(writer, ann)][-1] == 3
                with pytest.raises(AccountUnknown):
                    writer.play("00" * 16, game(), "base", 200)
        one, two = (1, ann), (2, bob)
        assert dealt[:5] == [(*one, 0), (*two, 0), (*one, 1), (*one, 2), (*two, 1)]
        assert dealt[5:] == [(epoch + 2, ref, nonce) for epoch, ref, nonce in dealt[:5]]
        with place.open_for_reading() as reader:
            states = list(epoch_states(reader))
            assert [(state.status, state.round_count, state.account_ref) for state in states] == [
                ("closed", 3, ann),
                ("closed", 2, bob),
            ] * 2
            assert [state.epoch for state in epoch_states(reader, bob)] == [2, 4]
        assert whole_ledger_faults(place.ledger) == []

    def test_another_seed_key_closes_what_is_open_in_one_transaction(self, new_place):
        """With a new seed key every open epoch of every writer is closed; each goes on under it, and rounds in play are finished."""
        place = new_place()
        with new_ledger_at(place) as (first, ann), place.open_for_writing() as second:
            bob = first.open_account("bob", "EUR")
            first.move_funds(bob, 10_000)
            play_some(first, ann, 2)
            in_play = second.open_round(bob, game(), "base", 200)
            assert first.store.rounds_in_play() == [in_play.round_id]
            size = first.store.tree_size()
            exchange = rotate_seed_key(first.store, place.keys_dir)
            assert exchange.closed_epochs == [1, 2]
            assert first.store.tree_size() == size + 3
            assert second.finish_round(in_play.round_id, game()).opened.epoch == 2  # under the key that is kept
            assert [writer.play(ref, game(), "base", 200).opened.epoch for writer, ref in ((second, bob), (first, ann))] == [3, 4]
            assert rotate_seed_key(second.store, place.keys_dir).old_key_id == exchange.new_key_id
        with place.open_for_writing() as third:
            assert [len(third.seed_of(epoch)) for epoch in (1, 2, 3, 4)] == [32] * 4
        assert whole_ledger_faults(place.ledger) == []

    def test_the_read_model_follows(self, new_place, tmp_path):
        """The read model is built from the store and differs nowhere."""
        with new_ledger_at(new_place()) as (ledger, account_ref):
            play_some(ledger, account_ref, 3)
            assert build(ledger, tmp_path / "history.db") == 3
            opened = ledger.open_round(account_ref, game(), "base", 200)
            assert build(ledger, tmp_path / "history.db") == 1
            ledger.finish_round(opened.round_id, game())
            assert compare(ledger, tmp_path / "history.db") == []
