"""Accounts, epochs and rounds as their events make them, held against the rows that the ledger keeps of them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ledger.faults import EventFault
from ledger.over_rounds import OverRounds
from ledger.recomputed_alterations import Movement, RecomputedIncidents, check_correction, check_movement
from ledger.recomputed_builds import RecomputedBuilds
from ledger.recomputed_disputes import RecomputedDisputes
from ledger.recomputed_profiles import RecomputedProfiles
from ledger.recomputed_rounds import RowFault, SettledRounds, compared_row, compared_values
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM, ROUND_STREAM
from ledger.table_rows import TableRows

__all__ = ["Recomputed"]


@dataclass(slots=True)
class _Account:
    currency: str
    balance_minor: int = 0
    round_in_play: str = ""
    version: int = 1
    movement: Movement | None = None  # that a correction says comes next
    bonus_minor: int | None = None  # None where there never was any


@dataclass(slots=True)
class _Epoch:
    seed_commitment: str
    sealed_seed_hash: str
    writer_ref: str
    leaf_index: int
    account_ref: str
    round_count: int = 0
    next_nonce: int = 0  # after the last one recorded; it and the count differ where a nonce is wrong
    is_closed: bool = False

    def opened_count(self, found: object) -> int:
        """Return the number of rounds to hold one that was found against: by the count, or by the nonces, as it may be right."""
        return self.next_nonce if found == self.next_nonce else self.round_count


class _Opened(NamedTuple):
    """What is taken of a `round_opened`, as `event_forms` has it."""

    account_ref: str
    game: str
    external_ref: str
    idempotency_key: str
    cost_minor: int
    epoch: int
    balance_before_minor: int
    seed_commitment: str
    nonce: int
    engine_fingerprint: str
    profile_id: str
    profile_hash: str
    bonus_minor: int


class Recomputed:
    """The state that events make; what the rows of settled rounds must be is handed on to `settled` and forgotten.

    over: is told of each round that ends.
    """

    def __init__(self, settled: SettledRounds, over: OverRounds) -> None:
        self.accounts: dict[str, _Account] = {}
        self.epochs: dict[int, _Epoch] = {}
        self._committed: dict[str, int] = {}  # commitment to epoch
        self._ending: set[int] = set()  # epochs open when the seed key was rotated, which closes them
        self.rounds: dict[str, tuple[Any, ...]] = {}  # in play, each as its `_Opened`
        self._asking: set[str] = set()  # rounds in play that wait for a choice
        self._interrupted: set[str] = set()  # rounds in play that stand still
        self._blocking: dict[tuple[str, str], str] = {}  # of these by account and game, where they leave the account's slot free
        self._states: dict[tuple[str, str], str] = {}  # by account and game: the round that left the last state
        self.settled, self.over = settled, over
        self.builds = RecomputedBuilds()
        self.profiles = RecomputedProfiles()
        self.incidents = RecomputedIncidents()
        self.disputes = RecomputedDisputes()
        self.round_count = 0

    def take(self, stream: str, version: int, kind: str, values: Any, leaf_index: int) -> Sequence[EventFault]:
        """Take one event in the order of the record and return what does not follow from the events before it.

        values: as of `event_forms.taken_values`.
        """
        faults: list[EventFault] = []
        try:
            if kind == "round_opened":
                if version != 1:
                    faults.append(("round_start", "place of round_opened", "the first event of its round", f"version {version}"))
                self._open_round(faults, stream.removeprefix(ROUND_STREAM), values)
            elif kind == "round_settled":
                self._settle_round(faults, stream.removeprefix(ROUND_STREAM), version, values)
            elif kind in ("round_interrupted", "round_resumed"):
                self._stand_still(faults, stream.removeprefix(ROUND_STREAM), kind, values)
            elif kind == "round_voided":
                self._void_round(faults, stream.removeprefix(ROUND_STREAM), version, values)
            elif kind == "bonus_moved":
                self._move_bonus(faults, stream.removeprefix(ACCOUNT_STREAM), version, values)
            elif kind == "choice_offered" and stream.removeprefix(ROUND_STREAM) in self.rounds:
                self._asking.add(stream.removeprefix(ROUND_STREAM))
            elif kind == "choice_made" and stream.removeprefix(ROUND_STREAM) in self.rounds:
                self._asking.discard(stream.removeprefix(ROUND_STREAM))
            elif kind == "account_opened":
                ref = stream.removeprefix(ACCOUNT_STREAM)
                if version != 1 or values["account_ref"] != ref:
                    faults.append(
                        ("account_start", "place of account_opened", "the first event of its account", f"version {version} of {stream}")
                    )
                self.accounts[ref] = _Account(values["currency"])
            elif kind == "funds_moved":
                self._move_funds(faults, stream.removeprefix(ACCOUNT_STREAM), version, values)
            elif kind in ("presentation_sent", "presentation_acked"):
                self._show(faults, stream, version, values, leaf_index)
            elif kind in ("account_forgotten", "correction_recorded"):
                self._alter(faults, stream, version, values, leaf_index)
            elif kind == "incident_recorded":
                faults += self.incidents.take(stream, values, lambda round_id: self._is_known(round_id, leaf_index))
            elif kind == "dispute_opened":
                faults += self.disputes.open(stream, values, lambda round_id: self._is_known(round_id, leaf_index), self.accounts)
            elif kind == "dispute_closed":
                faults += self.disputes.close(stream, values)
            elif kind == "epoch_committed":
                self._commit_epoch(faults, stream, values, leaf_index)
            elif kind == "epoch_closed":
                self._close_epoch(faults, stream, values)
            elif kind == "seed_revealed":
                self._reveal_seed(faults, stream, values)
            elif kind == "build_registered":
                faults += self.builds.register(stream, values)
            elif kind == "profile_set":
                faults += self.profiles.set(stream, values)
            elif kind == "seed_key_rotated":
                self._ending = {number for number, epoch in self.epochs.items() if not epoch.is_closed}
            elif kind == "ledger_created" and (stream, version) != (LEDGER_STREAM, 1):
                faults.append(("ledger_created", "place", "the first event of the ledger", f"version {version} of {stream}"))
            elif version == 1 and stream.partition("/")[0] == "round":
                faults.append(("round_start", "first event of a round", "round_opened", kind))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            faults.append(("event_fields", f"fields of {kind}", "those of its version", f"{type(error).__name__} {error}"))
        return faults

    def _open_round(self, faults: list[EventFault], round_id: str, opened: tuple[Any, ...]) -> None:
        ref, game, _, _, cost, number, before, commitment, nonce, fingerprint, profile_id, profile_hash, bonus = opened
        self.round_count += 1
        self.rounds[round_id] = opened
        account = self.accounts.get(ref)
        if account is None:
            faults.append(("account_unknown", "account of round_opened", "an account that was opened", ref))
        else:
            if before != account.balance_minor:
                faults.append(("balance", "balance before in round_opened", str(account.balance_minor), str(before)))
            if held := account.round_in_play or self._blocking.get((ref, game), ""):
                faults.append(("round_overlap", "round in play of the account", "none", held))
            account.balance_minor = before - cost + bonus
            account.round_in_play = round_id
            if bonus:
                account.bonus_minor = (account.bonus_minor or 0) - bonus
                if account.bonus_minor < 0:
                    faults.append(("bonus", "bonus money of the account", f"{bonus} at least", str(bonus + account.bonus_minor)))
        self._use_nonce(faults, ref, number, commitment, nonce)
        faults += self.builds.round_faults(game, fingerprint)
        faults += self.profiles.round_faults(profile_id, profile_hash)

    def _use_nonce(self, faults: list[EventFault], ref: str, number: int, commitment: str, nonce: int) -> None:
        epoch = self.epochs.get(number)
        if epoch is None:
            faults.append(("epoch_unknown", f"epoch {number} of round_opened", "one committed to before the bet", "none"))
            return
        if commitment != epoch.seed_commitment:
            faults.append(("seed_commitment", f"commitment of epoch {number}", epoch.seed_commitment, commitment))
        if epoch.account_ref not in ("", ref):
            faults.append(("epoch_account", f"account of epoch {number}", epoch.account_ref, ref))
        if nonce not in (epoch.next_nonce, epoch.round_count):
            code = "nonce_used_twice" if nonce < epoch.next_nonce else "nonce_skipped"
            faults.append((code, f"nonce in epoch {number}", str(epoch.next_nonce), str(nonce)))
        if epoch.is_closed:
            faults.append(("epoch_closed", f"epoch {number} of round_opened", "one that is open", "one closed before"))
        elif number in self._ending:
            self._ending.discard(number)  # one cause, however many rounds
            where = f"epoch {number} of round_opened"
            faults.append(("epoch_outdated", where, "one under the seed key in force", "one of the key before"))
        epoch.round_count, epoch.next_nonce = epoch.round_count + 1, nonce + 1

    def _settle_round(self, faults: list[EventFault], round_id: str, version: int, settled: tuple[int, int, Any]) -> None:
        opened = self.rounds.pop(round_id, None)
        if opened is None:
            faults.append(("round_settled", "settlement", "of a round in play", "of none"))
            return
        self._asking.discard(round_id)
        if self._go_on(round_id, opened):
            faults.append(("round_settled", "settlement", "of a round that goes on", "of one that is interrupted"))
        total_win, after, state_out = settled
        self.settled.add((round_id, *opened[:4], "settled", version))
        self.over.end(ROUND_STREAM + round_id)
        if state_out:
            self._states[opened[0], opened[1]] = round_id
        account = self.accounts.get(opened[0])
        if account is not None:
            balance = account.balance_minor + total_win
            if after != balance:
                faults.append(("balance", "balance after in round_settled", str(balance), str(after)))
            account.balance_minor = after
            if account.round_in_play == round_id:
                account.round_in_play = ""

    def _stand_still(self, faults: list[EventFault], round_id: str, kind: str, values: dict[str, Any]) -> None:
        """Take an interruption, or its end."""
        opened, is_interrupted = self.rounds.get(round_id), round_id in self._interrupted
        if opened is None or is_interrupted == (kind == "round_interrupted"):
            want = "a round in play that goes on" if kind == "round_interrupted" else "one that is interrupted"
            got = "none in play" if opened is None else "one that is interrupted" if is_interrupted else "one that goes on"
            faults.append((kind, f"round of {kind}", want, got))
            return
        account = self.accounts.get(opened[0])
        if kind == "round_interrupted":
            self._interrupted.add(round_id)
            if values["blocks"] == "own_game":
                self._blocking[opened[0], opened[1]] = round_id
                if account is not None and account.round_in_play == round_id:
                    account.round_in_play = ""
            return
        self._go_on(round_id, opened)
        if account is not None:
            if account.round_in_play not in ("", round_id):
                faults.append(("round_overlap", "round in play of the account", "none", account.round_in_play))
            account.round_in_play = round_id

    def _go_on(self, round_id: str, opened: tuple[Any, ...]) -> bool:
        """Have a round no longer stand still, and return whether it did."""
        if self._blocking.get((opened[0], opened[1])) == round_id:
            del self._blocking[opened[0], opened[1]]
        is_interrupted = round_id in self._interrupted
        self._interrupted.discard(round_id)
        return is_interrupted

    def _void_round(self, faults: list[EventFault], round_id: str, version: int, values: dict[str, Any]) -> None:
        opened = self.rounds.pop(round_id, None)
        if opened is None:
            faults.append(("round_voided", "void", "of a round in play", "of none"))
            return
        self._asking.discard(round_id)
        self._go_on(round_id, opened)
        self.settled.add((round_id, *opened[:4], "voided", version))
        self.over.end(ROUND_STREAM + round_id)
        account = self.accounts.get(opened[0])
        if account is not None:
            balance, after = account.balance_minor + values["refund_minor"], values["balance_after_minor"]
            if after != balance:
                faults.append(("balance", "balance after in round_voided", str(balance), str(after)))
            account.balance_minor = after
            if values["refund_bonus_minor"]:
                account.bonus_minor = (account.bonus_minor or 0) + values["refund_bonus_minor"]
            if account.round_in_play == round_id:
                account.round_in_play = ""

    def _move_bonus(self, faults: list[EventFault], ref: str, version: int, values: dict[str, Any]) -> None:
        account = self.accounts.get(ref)
        if account is None:
            faults.append(("account_unknown", "account of bonus_moved", "an account that was opened", ref))
            return
        bonus, after = (account.bonus_minor or 0) + values["amount_minor"], values["bonus_after_minor"]
        if after != bonus:
            faults.append(("balance", "bonus money after in bonus_moved", str(bonus), str(after)))
        faults += check_movement(account.movement, values, version)
        account.movement = None
        account.bonus_minor, account.version = after, version

    def _move_funds(self, faults: list[EventFault], ref: str, version: int, values: dict[str, Any]) -> None:
        account = self.accounts.get(ref)
        if account is None:
            faults.append(("account_unknown", "account of funds_moved", "an account that was opened", ref))
            return
        faults += check_movement(account.movement, values, version)
        account.movement = None
        balance = account.balance_minor + values["amount_minor"]
        if values["balance_after_minor"] != balance:
            faults.append(("balance", "balance after in funds_moved", str(balance), str(values["balance_after_minor"])))
        account.balance_minor, account.version = values["balance_after_minor"], version

    def _is_known(self, round_id: str, leaf_index: int) -> bool:
        return round_id in self.rounds or self.over.version(ROUND_STREAM + round_id, leaf_index) > 0

    def _show(self, faults: list[EventFault], stream: str, version: int, values: dict[str, Any], leaf_index: int) -> None:
        """Take what was shown of a round, in play or over; whether the event that it names is of the right kind the verdict says."""
        kind, round_id = values["kind"], stream.removeprefix(ROUND_STREAM)
        if stream == round_id or not self._is_known(round_id, leaf_index):
            faults.append(("presentation_round", f"round of {kind}", "one opened before it", stream))
        elif round_id not in self.rounds:
            self.settled.go_on(round_id, version)
        named = values["through_index" if kind == "presentation_sent" else "sent_index"]
        if not 0 < named < version - 1:
            faults.append(("presentation_order", f"event named by {kind}", f"one from 1 to before {version - 1}", str(named)))

    def _alter(self, faults: list[EventFault], stream: str, version: int, values: dict[str, Any], leaf_index: int) -> None:
        """Take a correction or an erasure, in the stream of what it is about."""
        kind = values["kind"]
        if kind == "correction_recorded":
            faults += self.incidents.check_correction(values)
        round_id = stream.removeprefix(ROUND_STREAM)
        if stream != round_id and kind == "correction_recorded":
            if round_id in self.rounds or not self.over.version(stream, leaf_index):
                faults.append(("correction_round", "round of correction_recorded", "one that was settled before", "another"))
            else:
                self.settled.go_on(round_id, version)
            return
        account = self.accounts.get(stream.removeprefix(ACCOUNT_STREAM))
        if account is None:
            faults.append(("account_unknown", f"account of {kind}", "an account that was opened", stream))
            return
        faults += check_movement(account.movement, values, version)
        account.version, account.movement = version, None
        if kind == "correction_recorded":
            account.movement, found = check_correction(values, version, account.balance_minor)
            faults += found

    def _commit_epoch(self, faults: list[EventFault], stream: str, values: dict[str, Any], leaf_index: int) -> None:
        number, commitment, ref = values["epoch"], values["seed_commitment"], values["account_ref"]
        if stream != f"{EPOCH_STREAM}{number}":
            faults.append(("epoch_stream", "stream of epoch_committed", f"{EPOCH_STREAM}{number}", stream))
            number = int(stream.removeprefix(EPOCH_STREAM))
        if number in self.epochs:
            first = self.epochs[number].seed_commitment
            faults.append(("epoch_twice", f"commitments of epoch {number}", f"one, {first}", f"another, {commitment}"))
            return
        if ref and ref not in self.accounts:
            faults.append(("account_unknown", "account of epoch_committed", "an account that was opened", ref))
        other = self._committed.setdefault(commitment, number)
        if other != number:
            faults.append(("commitment_twice", f"commitment of epoch {number}", "one of its own", f"that of epoch {other}"))
        self.epochs[number] = _Epoch(commitment, values["sealed_seed_hash"], values["writer_ref"], leaf_index, ref)

    def _close_epoch(self, faults: list[EventFault], stream: str, values: dict[str, Any]) -> None:
        epoch = self.epochs.get(values["epoch"])
        if epoch is None or stream != f"{EPOCH_STREAM}{values['epoch']}":
            faults.append(("epoch_unknown", "epoch_closed", "an epoch committed to before", stream))
            return
        count = epoch.opened_count(values["round_count"])
        if values["round_count"] != count:
            faults.append(("epoch_rounds", f"rounds of epoch {values['epoch']}", str(count), str(values["round_count"])))
        epoch.is_closed = True

    def _reveal_seed(self, faults: list[EventFault], stream: str, values: dict[str, Any]) -> None:
        number = values["epoch"]
        epoch = self.epochs.get(number)
        if epoch is None or stream != f"{EPOCH_STREAM}{number}":
            faults.append(("epoch_unknown", "seed_revealed", "an epoch committed to before", stream))
            return
        commitment = hashlib.sha256(bytes.fromhex(values["server_seed"])).hexdigest()
        if commitment != epoch.seed_commitment:
            faults.append(("seed_commitment", f"commitment of the seed revealed for epoch {number}", epoch.seed_commitment, commitment))
        if not epoch.is_closed:
            faults.append(("epoch_open", f"seed revealed for epoch {number}", "a closed epoch", "an open one"))
        in_play = [round_id for round_id, opened in self.rounds.items() if _Opened._make(opened).epoch == number]
        if in_play:
            faults.append(("round_in_play", f"seed revealed for epoch {number}", "no round of it in play", in_play[0]))

    def compare(self, rows: TableRows) -> Iterator[RowFault]:
        """Yield where the rows of accounts, epochs and states are not what the events make."""
        yield from self._compare_accounts(rows)
        yield from self._compare_epochs(rows)
        yield from self._compare_states(rows)
        yield from self._compare_interrupted(rows)
        yield from self._compare_bonuses(rows)

    def add_rounds_in_play(self, last_versions: Mapping[str, int]) -> None:
        """Hand on what the rows of the rounds in play must be; last_versions: what their streams have come to."""
        for round_id, opened in self.rounds.items():
            status = "interrupted" if round_id in self._interrupted else "waiting" if round_id in self._asking else "open"
            self.settled.add((round_id, *opened[:4], status, last_versions.get(ROUND_STREAM + round_id, 1)))

    def _compare_accounts(self, rows: TableRows) -> Iterator[RowFault]:
        names = ("version", "currency", "balance_minor", "round_in_play")
        met: set[str] = set()
        for ref, *found in rows.accounts():
            account = self.accounts.get(ref)
            row, stream = f"accounts {ref}", ACCOUNT_STREAM + ref
            if account is None:
                yield "row_extra", row, stream, "no row without an account_opened", "one"
            elif ref in met:
                yield "row_extra", row, stream, "one row", "another"
            else:
                wanted = (account.version, account.currency, account.balance_minor, account.round_in_play)
                yield from compared_row(row, stream, names, wanted, found)
            met.add(ref)
        for ref, account in self.accounts.items():
            if ref not in met:
                yield "row_missing", f"accounts {ref}", ACCOUNT_STREAM + ref, "a row", "none"
            if account.movement is not None:
                want = f"{account.movement.amount_minor} moved by version {account.movement.version}"
                yield "correction_movement", "what follows correction_recorded", ACCOUNT_STREAM + ref, want, "nothing"

    def _compare_epochs(self, rows: TableRows) -> Iterator[RowFault]:
        names = ("seed_commitment", "sealed seed", "writer_ref", "next_nonce", "is_closed")
        met: set[int] = set()
        for number, commitment, sealed, writer, nonce, closed in rows.epochs():
            epoch = self.epochs.get(number)
            row, stream = f"epochs {number}", f"{EPOCH_STREAM}{number}"
            if epoch is None:
                yield "row_extra", row, stream, "no row without an epoch_committed", "one"
            elif number in met:
                yield "row_extra", row, stream, "one row", "another"
            else:
                found = (commitment, hashlib.sha256(sealed).hexdigest(), writer, nonce, closed)
                wanted = (epoch.seed_commitment, epoch.sealed_seed_hash, epoch.writer_ref, epoch.opened_count(nonce), int(epoch.is_closed))
                yield from compared_row(row, stream, names, wanted, found)
            met.add(number)
        for number in self.epochs:
            if number not in met:
                yield "row_missing", f"epochs {number}", f"{EPOCH_STREAM}{number}", "a row", "none"

    def _compare_states(self, rows: TableRows) -> Iterator[RowFault]:
        found = ((f"states {ref}, {game}", ACCOUNT_STREAM + ref, round_id) for ref, game, round_id in rows.states())
        wanted = {f"states {ref}, {game}": (ACCOUNT_STREAM + ref, round_id) for (ref, game), round_id in self._states.items()}
        yield from compared_values("round_id", found, wanted, "no row without a round that left a state")

    def _compare_interrupted(self, rows: TableRows) -> Iterator[RowFault]:
        found = ((f"interrupted_rounds {ref}, {game}", ROUND_STREAM + id_, id_) for ref, game, id_ in rows.interrupted_rounds())
        blocking = self._blocking.items()
        wanted = {f"interrupted_rounds {ref}, {game}": (ROUND_STREAM + round_id, round_id) for (ref, game), round_id in blocking}
        yield from compared_values("round_id", found, wanted, "no row without a round that is interrupted")

    def _compare_bonuses(self, rows: TableRows) -> Iterator[RowFault]:
        found = ((f"bonuses {ref}", ACCOUNT_STREAM + ref, bonus) for ref, bonus in rows.bonuses())
        granted = {ref: account.bonus_minor for ref, account in self.accounts.items() if account.bonus_minor is not None}
        wanted = {f"bonuses {ref}": (ACCOUNT_STREAM + ref, bonus) for ref, bonus in granted.items()}
        yield from compared_values("bonus_minor", found, wanted, "no row without bonus money")
