"""What voids pay, what rows and events of a round's life must be, on every store: a class of tests as in `store_contract.py`."""

from typing import Any

import pytest

from engines.game import EventBytes
from ledger.bets import Played
from ledger.codec import event_bytes
from ledger.corrections import correct_round
from ledger.disclosure import EpochNotRevealable, RoundNotSettled, release_key, reveal_seed, rotate_epochs
from ledger.errors import FundsShort, RoundInPlay
from ledger.forgetting import forget_account
from ledger.held import held_rounds
from ledger.incidents import record_incident
from ledger.rounds import RoundLedger
from ledger.voids import void_round
from tests.contracts.alterations_contract import TWO, report_of
from tests.contracts.life_contract import BET, CALLS, LIVES, PEOPLE, faults, fsck, grant, interrupt, put_in_force, void
from tests.ledger_files import altered, new_ledger_at, rows
from tests.leg_game import LegGame, other_game

__all__ = ["VoidsContract"]


class VoidsContract:
    """The promises of `ledger/voids.py` and `ledger/pausing.py`, and of those who look at what they record."""

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
