"""Rounds: opened and paid for before an outcome exists, played from a committed seed, settled in one append.

A round is two transactions. After the first the wager, the nonce and the commitment to the round key are on disk;
after the second the whole outcome is. Between the two a crash leaves an open round, and its outcome is already fixed:
`finish_round` plays it from the same seed and nonce. One that is left at a choice is three: it waits between the
second, which ends with what is offered, and the third, which begins with what is chosen.
"""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

from eventsourcing.application import Application
from eventsourcing.persistence import ApplicationRecorder, InfrastructureFactory, Mapper
from eventsourcing.utils import Environment, EnvType

from engines.canonical import strict_values
from engines.game import EventBytes, Outcome
from engines.rng import round_key, round_key_commitment
from engines.rules import GameRules
from ledger.accounts import FundsReason, check_text, find_account, move_funds, open_account
from ledger.address import DatabaseAddress, LedgerPlace, ledger_place
from ledger.altering import Altering
from ledger.bets import Bet, BetTerms, Draft, Game, Leg, Opened, Played, Waiting, check_game, check_same_bet, check_terms
from ledger.choices import OFFERED, Chosen, check_choices, events_of_leg, offered_by, play_out
from ledger.codec import LedgerMapper, event_bytes, parse_event
from ledger.creation import create_ledger, ledger_env
from ledger.epochs import Commitment, EpochOwner, WriterEpochs
from ledger.errors import (
    AccountUnknown,
    EpochEnded,
    KeyMismatch,
    LedgerEmpty,
    LedgerMoved,
    RoundAmbiguous,
    RoundNotOpen,
    RoundUnknown,
    TextInvalid,
    VersionConflict,
)
from ledger.interruptions import check_not_void, interrupt_round, resume_interrupted
from ledger.keys import default_keys_dir, load_seed_key
from ledger.legs import first_leg, is_completed_by_system, standing_of
from ledger.lifecycle_events import LedgerCreated, RoundOpened, RoundSettled
from ledger.merkle import append_form
from ledger.money import check_bet, check_mode, is_bet_allowed
from ledger.profile import Profile
from ledger.profile_setting import CurrentProfile, profile_in_force
from ledger.references import RoundIds
from ledger.sqlite import LedgerFactory
from ledger.sqlite_schema import check_ledger_file
from ledger.store import LEDGER_STREAM, ROUND_STREAM, AccountRow, EventRow

__all__ = ["RoundLedger"]

_PREFIX_MIN = 8  # characters of a round id that stand for it
_EXTERNAL_MARK = "ext:"


def _checked(place: str | LedgerPlace) -> LedgerPlace:
    """Return where a ledger is, having looked whether it can be opened as one."""
    path = ledger_place(place)
    if isinstance(path, DatabaseAddress):
        from ledger.postgres_schema import check_ledger_database

        check_ledger_database(path)
    else:
        check_ledger_file(path)
    return path


class RoundLedger(Application[str]):
    """A ledger of rounds in a file or a database. Make it with `create`, `open_for_writing` or `open_for_reading`, and close it.

    A place is a path, or the address of a database on a PostgreSQL server: `postgresql://…`, as text or as a DatabaseAddress.
    """

    def __init__(self, path: LedgerPlace, keys_dir: Path | None = None, epoch_of: EpochOwner = "writer") -> None:
        self.path = path
        super().__init__(ledger_env(path, is_writable=keys_dir is not None))
        self._profile = CurrentProfile(self.store)
        self._round_ids = RoundIds()
        self._epochs = WriterEpochs(self.store, keys_dir, where=str(path), owner=epoch_of)
        self._is_closed = False

    @classmethod
    def create(cls, place: str | LedgerPlace, keys_dir: Path | None = None, *, epoch_of: EpochOwner = "writer") -> Self:
        """Make a new ledger and its keys and open it for writing; raises LedgerExists, KeysExist, LedgerUnwritable."""
        path = ledger_place(place)
        create_ledger(path, keys_dir or default_keys_dir(path))
        return cls.open_for_writing(path, keys_dir, epoch_of=epoch_of)

    @classmethod
    def open_for_writing(cls, place: str | LedgerPlace, keys_dir: Path | None = None, *, epoch_of: EpochOwner = "writer") -> Self:
        """Open a ledger to record in it; raises LedgerMissing and its kin, KeyMissing, KeyUnreadable.

        Rounds are opened under epochs of this writer, or under one of each account's own (`rng/1`, item 1).
        """
        path = _checked(place)
        folder = keys_dir or default_keys_dir(path)
        load_seed_key(folder)  # before anything is opened
        return cls(path, folder, epoch_of)

    @classmethod
    def open_for_reading(cls, place: str | LedgerPlace) -> Self:
        """Open a ledger to read it, without keys; creates nothing, and no writer waits for it. Raises LedgerMissing and its kin."""
        return cls(_checked(place))

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Return the settings given and none of the process's environment, which the library lets win otherwise."""
        return Environment(name, env or {})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """Return the factory for the database that the ledger is on."""
        if isinstance(self.path, DatabaseAddress):
            from ledger.postgres import PostgresLedgerFactory

            return PostgresLedgerFactory(env, self.path)
        return LedgerFactory(env)

    def construct_mapper(self) -> Mapper[str]:
        """Return the validating mapper."""
        return LedgerMapper()

    def construct_recorder(self) -> ApplicationRecorder:
        """Return the recorder, which is also the store."""
        recorder = super().construct_recorder()
        assert isinstance(recorder, Altering)
        self.store: Altering = recorder
        return recorder

    def close(self) -> None:
        """Close the writer's epochs and the file."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._epochs.close()
        finally:
            super().close()

    def __del__(self) -> None:
        # Nothing is recorded while the interpreter takes things down: an epoch that was not closed stays open.
        with contextlib.suppress(AttributeError):
            self.factory.close()

    def created(self) -> LedgerCreated:
        """Return the first event of the ledger, which holds its id and its public key; raises LedgerEmpty."""
        events = self.store.stream_events(LEDGER_STREAM)
        event = parse_event(events[0]) if events else None
        if not isinstance(event, LedgerCreated):
            raise LedgerEmpty(str(self.path))
        return event

    @property
    def profile(self) -> Profile:
        """The jurisdiction profile that the next round is opened under; raises as `profile_in_force`."""
        return profile_in_force(self.store).profile

    def open_account(self, name: str, currency: str) -> str:
        """Open an account and return its reference; raises AccountExists, CurrencyUnknown, TextInvalid."""
        return open_account(self.store, name, currency)

    def move_funds(self, account_ref: str, amount_minor: int, reason: FundsReason = "deposit") -> int:
        """Add to or, below 0, take from a balance and return the new one; raises AccountUnknown, FundsShort, BalanceTooLarge."""
        return move_funds(self.store, account_ref, amount_minor, reason)

    def account(self, account: str) -> AccountRow:
        """Return the account with this name or reference; raises AccountUnknown."""
        return find_account(self.store, account)

    def open_round(self, account_ref: str, game: Game, mode: str, bet_minor: int, **terms: Unpack[BetTerms]) -> Opened:
        """Take the bet in one transaction: nonce, slot, cost, `round_opened`.

        The same idempotency key again gives the round that it opened, or IdempotencyConflict where the bet is another.
        Raises ModeUnknown, BetNotAllowed, TextInvalid, AccountUnknown, RoundInPlay, FundsShort.
        """
        self._check_bet(account_ref, game.rules, mode, bet_minor)
        bet = Bet(account_ref, game.rules.game, mode, bet_minor, **terms)
        check_terms(bet)
        while True:
            draft = Draft(bet, game, self._epochs.current(account_ref), *self._profile.read())
            try:
                row = self.store.open_round(draft.opening(self._round_ids.next()), draft.event_of)
            except EpochEnded:
                self._epochs.forget(draft.epoch)
                continue
            except LedgerMoved:
                self._profile.forget()
                continue
            if not row.is_repeat:
                assert draft.event is not None
                draft.epoch.next_nonce = draft.event.nonce + 1
                return Opened(row.round_id, draft.event, row.data, draft.key)
            opened = replace(self.recorded(row.round_id), is_repeat=True)
            check_same_bet(opened, bet)
            return opened

    def _check_bet(self, account_ref: str, rules: GameRules, mode: str, bet_minor: int) -> None:
        check_mode(rules, mode)
        if not is_bet_allowed(rules, bet_minor):
            account = self.store.account(account_ref)
            if account is None:
                raise AccountUnknown(account_ref)
            check_bet(rules, bet_minor, account.currency)

    def _reopened(self, round_id: str, opening: bytes) -> Opened:
        """Return a recorded opening with its round key, which must be the one that was committed to."""
        event = parse_event(EventRow(ROUND_STREAM + round_id, 1, "round_opened/1", opening))
        assert isinstance(event, RoundOpened)
        key = round_key(self._epochs.seed_of(event.epoch), event.game, event.client_seed, event.nonce)
        commitment = round_key_commitment(key)
        if commitment != event.round_key_commitment:
            raise KeyMismatch(f"round key of {round_id}", f"one of commitment {event.round_key_commitment}", commitment)
        return Opened(round_id, event, opening, key)

    def settle_round(
        self, opened: Opened, outcome: Outcome, chosen: Sequence[Chosen] = (), *, session_ref: str = "", channel: str = ""
    ) -> RoundSettled:
        """Record the outcome, its choices and `round_settled` in one transaction and one append, credit the win, free the slot.

        session_ref and channel: of the choices. Raises RoundUnknown, RoundNotOpen, VersionConflict where somebody else has gone on
        with the round, and BalanceTooLarge, upon which the round is still in play.
        """
        outcome_digest = hashlib.sha256(append_form([data for _, data in outcome.events])).hexdigest()
        is_by_system = is_completed_by_system(opened.later)
        settled: RoundSettled | None = None

        def events_of(balance_minor: int, now: int) -> Sequence[EventBytes]:
            nonlocal settled
            events = list(events_of_leg(opened, outcome, chosen, now, session_ref=session_ref, channel=channel))
            earlier = [opened.data, *(row.data for row in opened.later), *(event.data for event in events)]
            settled = RoundSettled(
                total_win_minor=outcome.total_win_minor,
                base_win_minor=outcome.base_win_minor,
                feature_win_minor=outcome.feature_win_minor,
                ended="auto_completed" if is_by_system and outcome.ended == "played" else outcome.ended,  # type: ignore[arg-type]
                state_out=outcome.state_out,
                balance_after_minor=balance_minor,
                outcome_digest=outcome_digest,
                round_digest=hashlib.sha256(append_form(earlier)).hexdigest(),
                settled_at_us=now,
            )
            return [*events, event_bytes(settled)]

        version_last, leaves_state = 1 + len(opened.later), bool(outcome.state_out)
        self.store.settle_round(opened.round_id, outcome.total_win_minor, events_of, version_last=version_last, leaves_state=leaves_state)
        assert settled is not None
        return settled

    def play(
        self,
        account_ref: str,
        game: Game,
        mode: str,
        bet_minor: int,
        *,
        choices: Sequence[int] | None = None,
        **terms: Unpack[BetTerms],
    ) -> Played:
        """Open, play and settle a round; raises as `open_round` and `settle_round`, ChoiceNotOffered, ChoiceConflict.

        choices: what the player chooses where the round asks, in order; where there is none the first of those offered is taken.
        Under an idempotency key that is there already, the round as it was recorded, finished now if it is still in play. Where
        the same call, made twice at once, settles it first, the round as it did; without a key RoundNotOpen or VersionConflict.
        """
        opened = self.open_round(account_ref, game, mode, bet_minor, **terms)
        if opened.is_repeat:
            settled = self._settled(opened)
            if settled is not None:
                check_choices(opened, choices)
                return Played(opened.round_id, opened.event, settled, True)
        terms_again = {"session_ref": opened.event.session_ref, "channel": opened.event.channel}
        try:
            if opened.is_repeat:
                return self.finish_round(opened.round_id, game, choices, **terms_again)._replace(is_repeat=True)
            return self._play_opened(opened, game, choices, **terms_again)
        except (RoundNotOpen, VersionConflict):
            if not opened.event.idempotency_key or (played := self._settled_by_another(opened.round_id, choices)) is None:
                raise
            return played

    def play_to_choice(self, account_ref: str, game: Game, mode: str, bet_minor: int, **terms: Unpack[BetTerms]) -> Played | Waiting:
        """Open and play a round, and leave it where it asks for a choice: it waits until `finish_round` or `resume_round`.

        Raises as `play`; under an idempotency key that is there already, the round as it is, gone on with where it was interrupted,
        and as somebody else has left or settled it where the same call is made twice at once.
        """
        opened = self.open_round(account_ref, game, mode, bet_minor, **terms)
        if opened.is_repeat:
            settled = self._settled(opened)
            if settled is not None:
                return Played(opened.round_id, opened.event, settled, True)
            terms_again = {"session_ref": opened.event.session_ref, "channel": opened.event.channel}
            try:
                opened = replace(self._going_on(opened.round_id, game, **terms_again), is_repeat=True)
            except RoundNotOpen:
                if (played := self._settled_by_another(opened.round_id, None)) is None:
                    raise
                return played
        outcome, chosen = play_out(game, opened, None, is_left=True)
        try:
            if not outcome.wants_choice:
                return Played(opened.round_id, opened.event, self.settle_round(opened, outcome, chosen), opened.is_repeat)
            if standing_of(opened.later) == "open":
                self._leave_round(opened, list(events_of_leg(opened, outcome, chosen, 0, session_ref="", channel="")), "waiting")
        except (RoundNotOpen, VersionConflict) as error:
            if not opened.event.idempotency_key:
                raise
            if (played := self._settled_by_another(opened.round_id, None)) is not None:
                return played
            if not outcome.wants_choice or isinstance(error, RoundNotOpen):
                raise
            return Waiting(opened.round_id, opened.event, offered_by(outcome.events)[-1], True)
        return Waiting(opened.round_id, opened.event, offered_by(outcome.events)[-1], opened.is_repeat)

    def play_leg(
        self, round_id: str, game: Game, choices: Sequence[int] | None = None, *, session_ref: str = "", channel: str = ""
    ) -> Played | Waiting | Leg:
        """Play a round up to the end of its next leg and record that; after the last one it is settled.

        choices: all that were made so far, in order; a round that waits for one that is not among them is left as it is. Raises as
        `finish_round`.
        """
        opened = self._going_on(round_id, game, session_ref=session_ref, channel=channel)
        outcome, chosen = play_out(game, opened, choices, is_left=True)
        terms = {"session_ref": session_ref, "channel": channel}
        added = list(events_of_leg(opened, outcome, chosen, self.store.clock(), **terms))
        count = first_leg(added)
        if count == len(added) and not outcome.wants_choice:
            return Played(round_id, opened.event, self.settle_round(opened, outcome, chosen, **terms))
        is_offer = not added or count == len(added) or added[count - 1].topic == OFFERED
        if count:
            self._leave_round(opened, added[:count], "waiting" if is_offer else "open")
        if is_offer:
            return Waiting(round_id, opened.event, (offered_by(added[:count]) or offered_by(opened.later))[-1])
        return Leg(round_id, opened.event, count)

    def _leave_round(self, opened: Opened, leg: Sequence[EventBytes], status: str) -> None:
        self.store.leave_round(opened.round_id, 1 + len(opened.later), lambda _: leg, status=status)

    def _play_opened(self, opened: Opened, game: Game, choices: Sequence[int] | None, *, session_ref: str, channel: str) -> Played:
        outcome, chosen = play_out(game, opened, choices, is_left=False)
        terms = {"session_ref": session_ref, "channel": channel}
        settled = self.settle_round(opened, outcome, chosen, **terms) if chosen else self.settle_round(opened, outcome)
        by_system = tuple(choice for choice, made_by in chosen if made_by == "system")
        return Played(opened.round_id, opened.event, settled, opened.is_repeat, by_system)

    def _settled(self, opened: Opened) -> RoundSettled | None:
        for row in reversed(opened.later):
            event = parse_event(row)
            if isinstance(event, RoundSettled):
                return event
        return None

    def finish_round(
        self, round_id: str, game: Game, choices: Sequence[int] | None = None, *, session_ref: str = "", channel: str = ""
    ) -> Played:
        """Play and settle a round that was cut off, interrupted or waits for a choice, from the same seed and nonce.

        choices: as by `play`, those recorded before included. session_ref and channel: where they come from. Raises RoundUnknown,
        RoundNotOpen, RoundOverdue where its profile has it void by now, RoundInPlay where it was interrupted and its account plays
        another, GameMismatch for another game, rules or build, EpochUnknown, KeyMismatch, ChoiceNotOffered, ChoiceConflict, and
        LegMismatch where what is recorded of the round is not what its seed leads to.
        """
        opened = self._going_on(round_id, game, session_ref=session_ref, channel=channel)
        return self._play_opened(opened, game, choices, session_ref=session_ref, channel=channel)

    def finish_for_player(self, opened: Opened, game: Game) -> Played:
        """Play and settle a round that the system has resumed, with the first of what is offered where a choice is left.

        Raises as `settle_round`, and LegMismatch.
        """
        return self._play_opened(opened, game, None, session_ref="", channel="")

    def _going_on(self, round_id: str, game: Game, *, session_ref: str, channel: str) -> Opened:
        """Return a round that can go on; one that is interrupted is resumed, as is one with which the system was cut off."""
        opened = self.recorded(round_id)
        standing = standing_of(opened.later)
        if standing in ("settled", "voided"):
            raise RoundNotOpen(round_id, standing)
        check_game(opened, game)
        check_not_void(self.store, opened)
        if standing != "interrupted":
            if not is_completed_by_system(opened.later):
                return opened
            # What comes now is the player's, and the record would say that it is the system's.
            interrupt_round(self.store, opened, "other")
            opened = self.recorded(round_id)
        resume_interrupted(self.store, opened, "player", session_ref=session_ref, channel=channel)
        return self.recorded(round_id)

    def resume_round(
        self, round_id: str, game: Game, choices: Sequence[int] | None = None, *, session_ref: str = "", channel: str = ""
    ) -> Played:
        """Go on with a round as `finish_round` does; one that is settled is returned as it is recorded.

        So a call may be repeated. Raises as `finish_round`, and ChoiceConflict where the record holds other choices.
        """
        try:
            return self.finish_round(round_id, game, choices, session_ref=session_ref, channel=channel)
        except (RoundNotOpen, VersionConflict):
            if (played := self._settled_by_another(round_id, choices)) is None:
                raise
            return played

    def _settled_by_another(self, round_id: str, choices: Sequence[int] | None) -> Played | None:
        opened = self.recorded(round_id)
        settled = self._settled(opened)
        if settled is None:
            return None
        check_choices(opened, choices)
        return Played(round_id, opened.event, settled, True)

    def recorded(self, round_id: str) -> Opened:
        """Return a round as it is recorded, with the key that it is played from; raises RoundUnknown, EpochUnknown, KeyMismatch."""
        events = self.round_events(round_id)
        if not events:
            raise RoundUnknown(round_id, "it has no events")
        return replace(self._reopened(round_id, events[0].data), later=tuple(events[1:]))

    def commitment(self, account_ref: str) -> Commitment:
        """Return the commitment that the account's next round will be opened under, made now where there is none.

        For the player to see before choosing a client seed; when the epoch is spent or closed, another takes its place.
        Raises AccountUnknown, KeyMismatch, LedgerReadOnly.
        """
        return self._epochs.commitment(account_ref)

    def seed_of(self, epoch: int) -> bytes:
        """Return the seed of an epoch, whoever started it; raises EpochUnknown, KeyMismatch, LedgerReadOnly."""
        return self._epochs.seed_of(epoch)

    def round_in_play(self, account_ref: str) -> tuple[str, RoundOpened] | None:
        """Return id and opening of the account's round in play, None where there is none."""
        account = self.store.account(account_ref)
        if account is None or not account.round_in_play:
            return None
        return account.round_in_play, self.opening(account.round_in_play)

    def opening(self, round_id: str) -> RoundOpened:
        """Return the opening of a round; raises RoundUnknown."""
        events = self.round_events(round_id)
        event = parse_event(events[0]) if events else None
        if not isinstance(event, RoundOpened):
            raise RoundUnknown(round_id, "it has no opening")
        return event

    def round_events(self, round_id: str) -> list[EventRow]:
        """Return stream, version, topic and bytes of a round's events in order; none where the round is unknown."""
        return self.store.stream_events(ROUND_STREAM + round_id)

    def find_round(self, wanted: str) -> str:
        """Return the round meant by an id, by its first eight characters or more, or by `ext:` and the operator's reference.

        Raises RoundUnknown, RoundAmbiguous.
        """
        try:
            check_text("round", wanted)
        except TextInvalid as error:
            raise RoundUnknown(ascii(wanted)[:80], f"{error.limit} wanted") from error
        if wanted.startswith(_EXTERNAL_MARK):
            external_ref = wanted.removeprefix(_EXTERNAL_MARK)
            named = self.store.round_ids_of(external_ref=external_ref) if external_ref else []
            found = [round_id for round_id in named if self._may_carry(round_id, external_ref)]
            reason = "no round carries this reference of the operator"
            if named:
                reason = "the row of a round says so whose opening carries another; see `audit fsck`"
        elif wanted and (self.store.round(wanted) or self.round_events(wanted)):
            return wanted
        elif len(wanted) < _PREFIX_MIN:
            found, reason = [], f"an id is cut to {_PREFIX_MIN} characters at least"
        else:
            found, reason = self.store.round_ids_of(prefix=wanted), "no id is or starts with this"
        if not found:
            raise RoundUnknown(wanted, reason)
        if len(found) > 1:
            raise RoundAmbiguous(wanted, tuple(found))
        return found[0]

    def _may_carry(self, round_id: str, external_ref: str) -> bool:
        """Return whether a round's opening carries the reference; one that cannot be read may, and its verdict will tell."""
        events = self.round_events(round_id)
        opening = strict_values(events[0].data) if events else None
        return opening is None or opening.get("external_ref") == external_ref
