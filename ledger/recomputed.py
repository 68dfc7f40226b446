"""Accounts, epochs and rounds as their events make them, held against the rows that the ledger keeps of them."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin

from engines.canonical import is_of_the_record
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.recomputed_alterations import Movement, RecomputedIncidents, check_correction, check_movement
from ledger.recomputed_builds import RecomputedBuilds
from ledger.recomputed_profiles import RecomputedProfiles
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM, ROUND_STREAM
from ledger.table_rows import PAGE_ROWS, TableRows, rows_in_pages, text_rows

__all__ = ["EventFault", "Recomputed", "has_its_fields", "have_their_fields", "taken_values", "wrong_fields"]

# code, what, want, got
EventFault: TypeAlias = tuple[str, str, str, str]
# code, row, stream, want, got
RowFault: TypeAlias = tuple[str, str, str, str, str]


@dataclass(slots=True)
class _Account:
    currency: str
    balance_minor: int = 0
    round_in_play: str = ""
    version: int = 1
    movement: Movement | None = None  # that a correction says comes next


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


@dataclass(slots=True)
class _Round:
    account_ref: str
    game: str
    external_ref: str
    idempotency_key: str
    cost_minor: int
    epoch: int
    version: int = 1
    status: str = "open"  # waiting where its last append ends with a choice that is offered


# Of the events that there are many of, what is taken; of others all.
_TAKEN = {
    "round_opened": (
        *("kind", "account_ref", "game", "external_ref", "idempotency_key", "cost_minor", "balance_before_minor"),
        *("epoch", "seed_commitment", "nonce", "engine_fingerprint", "profile_id", "profile_hash"),
    ),
    "round_settled": ("kind", "total_win_minor", "balance_after_minor", "state_out"),
}


def taken_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return what `Recomputed.take` takes of an event's values, or more."""
    names = _TAKEN.get(values["kind"])
    return values if names is None else {name: values[name] for name in names}


@cache
def _field_types(kind: str) -> tuple[list[str], list[type]]:
    """Return the names of a lifecycle event's fields, sorted as in its bytes, and the type of each."""
    fields = LIFECYCLE_EVENTS[kind].model_fields
    types = {name: get_origin(field.annotation) or field.annotation for name, field in fields.items()}
    for name, field in fields.items():
        if types[name] is Literal:
            types[name] = type(get_args(field.annotation)[0])
        elif types[name] is tuple:
            types[name] = list
    return sorted(types), [cast(type, types[name]) for name in sorted(types)]


def has_its_fields(values: dict[str, Any]) -> bool:
    """Return whether an event in canonical form, where it is a lifecycle event, has just the fields of its kind, each of its type."""
    kind = values["kind"]
    if kind not in LIFECYCLE_EVENTS:
        return True
    names, types = _field_types(kind)
    return list(values) == names and list(map(type, values.values())) == types


def have_their_fields(events: Sequence[dict[str, Any]]) -> bool:
    """Return whether `has_its_fields` is so of each of some lifecycle events of one kind, and none holds a float or null."""
    names, types = _field_types(events[0]["kind"])
    if set(map(tuple, events)) != {tuple(names)}:
        return False
    for column, wanted in zip(zip(*map(dict.values, events), strict=True), types, strict=True):
        if set(map(type, column)) != {wanted} or (wanted in (dict, list) and not all(map(is_of_the_record, filter(None, column)))):
            return False
    return True


def wrong_fields(values: dict[str, Any]) -> EventFault:
    """Return what is wrong with the fields of a lifecycle event of which `has_its_fields` is not so."""
    wanted = dict(zip(*_field_types(values["kind"]), strict=True))
    wrong = [name for name in {**wanted, **values} if name not in wanted or type(values.get(name)) is not wanted[name]]
    found = ", ".join(f"{name} {'of ' + type(values[name]).__name__ if name in values else 'missing'}" for name in wrong)
    return "event_fields", f"fields of {values['kind']}", "those of its version, each of its type", found


class Recomputed:
    """The state that events make; settled rounds are compared with their rows at once and forgotten."""

    def __init__(self) -> None:
        self.accounts: dict[str, _Account] = {}
        self.epochs: dict[int, _Epoch] = {}
        self._committed: dict[str, int] = {}  # commitment to epoch
        self._ending: set[int] = set()  # epochs open when the seed key was rotated, which closes them
        self.rounds: dict[str, _Round] = {}  # in play
        self.settled = _SettledRounds()
        self._states: dict[tuple[str, str], str] = {}  # by account and game: the round that left the last state
        self.builds = RecomputedBuilds()
        self.profiles = RecomputedProfiles()
        self.incidents = RecomputedIncidents(lambda round_id: round_id in self.rounds or self.settled.version_of(round_id) > 0)
        self.round_count = 0

    def close(self) -> None:
        """Let go of the table of settled rounds."""
        self.settled.close()

    def take(self, stream: str, version: int, values: dict[str, Any], leaf_index: int) -> Sequence[EventFault]:
        """Take one event in the order of the record and return what does not follow from the events before it."""
        kind = values["kind"]
        faults: list[EventFault] = []
        try:
            if kind == "round_opened":
                if version != 1:
                    faults.append(("round_start", "place of round_opened", "the first event of its round", f"version {version}"))
                self._open_round(faults, stream.removeprefix(ROUND_STREAM), values)
            elif kind == "round_settled":
                self._settle_round(faults, stream.removeprefix(ROUND_STREAM), version, values)
            elif kind in ("choice_offered", "choice_made"):
                if (round_ := self.rounds.get(stream.removeprefix(ROUND_STREAM))) is not None:
                    round_.status = "waiting" if kind == "choice_offered" else "open"
            elif kind == "account_opened":
                ref = stream.removeprefix(ACCOUNT_STREAM)
                if version != 1 or values["account_ref"] != ref:
                    faults.append(
                        ("account_start", "place of account_opened", "the first event of its account", f"version {version} of {stream}")
                    )
                self.accounts[ref] = _Account(values["currency"])
            elif kind == "funds_moved":
                self._move_funds(faults, stream.removeprefix(ACCOUNT_STREAM), version, values)
            elif kind in ("account_forgotten", "correction_recorded"):
                self._alter(faults, stream, version, values)
            elif kind == "incident_recorded":
                faults += self.incidents.take(stream, values)
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

    def _open_round(self, faults: list[EventFault], round_id: str, values: dict[str, Any]) -> None:
        self.round_count += 1
        ref, cost = values["account_ref"], values["cost_minor"]
        names = values["game"], values["external_ref"], values["idempotency_key"]
        self.rounds[round_id] = _Round(ref, *names, cost, values["epoch"])
        account = self.accounts.get(ref)
        if account is None:
            faults.append(("account_unknown", "account of round_opened", "an account that was opened", ref))
        else:
            if values["balance_before_minor"] != account.balance_minor:
                faults.append(
                    ("balance", "balance before in round_opened", str(account.balance_minor), str(values["balance_before_minor"]))
                )
            if account.round_in_play:
                faults.append(("round_overlap", "round in play of the account", "none", account.round_in_play))
            account.balance_minor = values["balance_before_minor"] - cost
            account.round_in_play = round_id
        self._use_nonce(faults, values)
        faults += self.builds.check_round(values)
        faults += self.profiles.check_round(values)

    def _use_nonce(self, faults: list[EventFault], values: dict[str, Any]) -> None:
        epoch = self.epochs.get(values["epoch"])
        if epoch is None:
            faults.append(("epoch_unknown", f"epoch {values['epoch']} of round_opened", "one committed to before the bet", "none"))
            return
        if values["seed_commitment"] != epoch.seed_commitment:
            faults.append(("seed_commitment", f"commitment of epoch {values['epoch']}", epoch.seed_commitment, values["seed_commitment"]))
        if epoch.account_ref not in ("", values["account_ref"]):
            faults.append(("epoch_account", f"account of epoch {values['epoch']}", epoch.account_ref, values["account_ref"]))
        if values["nonce"] not in (epoch.next_nonce, epoch.round_count):
            code = "nonce_used_twice" if values["nonce"] < epoch.next_nonce else "nonce_skipped"
            faults.append((code, f"nonce in epoch {values['epoch']}", str(epoch.next_nonce), str(values["nonce"])))
        if epoch.is_closed:
            faults.append(("epoch_closed", f"epoch {values['epoch']} of round_opened", "one that is open", "one closed before"))
        elif values["epoch"] in self._ending:
            self._ending.discard(values["epoch"])  # one cause, however many rounds
            where = f"epoch {values['epoch']} of round_opened"
            faults.append(("epoch_outdated", where, "one under the seed key in force", "one of the key before"))
        epoch.round_count, epoch.next_nonce = epoch.round_count + 1, values["nonce"] + 1

    def _settle_round(self, faults: list[EventFault], round_id: str, version: int, values: dict[str, Any]) -> None:
        round_ = self.rounds.pop(round_id, None)
        if round_ is None:
            faults.append(("round_settled", "settlement", "of a round in play", "of none"))
            return
        round_.version, round_.status = version, "settled"
        self.settled.add(round_id, round_)
        if values["state_out"]:
            self._states[round_.account_ref, round_.game] = round_id
        account = self.accounts.get(round_.account_ref)
        if account is not None:
            balance = account.balance_minor + values["total_win_minor"]
            if values["balance_after_minor"] != balance:
                faults.append(("balance", "balance after in round_settled", str(balance), str(values["balance_after_minor"])))
            account.balance_minor = values["balance_after_minor"]
            if account.round_in_play == round_id:
                account.round_in_play = ""

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

    def _alter(self, faults: list[EventFault], stream: str, version: int, values: dict[str, Any]) -> None:
        """Take a correction or an erasure, in the stream of what it is about."""
        kind = values["kind"]
        if kind == "correction_recorded":
            faults += self.incidents.check_correction(values)
        round_id = stream.removeprefix(ROUND_STREAM)
        if stream != round_id and kind == "correction_recorded":
            if round_id in self.rounds or not self.settled.version_of(round_id):
                faults.append(("correction_round", "round of correction_recorded", "one that was settled before", "another"))
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
        in_play = [round_id for round_id, round_ in self.rounds.items() if round_.epoch == number]
        if in_play:
            faults.append(("round_in_play", f"seed revealed for epoch {number}", "no round of it in play", in_play[0]))

    def compare(self, rows: TableRows) -> Iterator[RowFault]:
        """Yield where the rows of accounts, epochs and rounds are not what the events make."""
        yield from self._compare_accounts(rows)
        yield from self._compare_epochs(rows)
        yield from self._compare_states(rows)
        yield from self.settled.compare(rows, self.rounds)

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
                yield from _compare_row(row, stream, names, wanted, found)
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
                yield from _compare_row(row, stream, names, wanted, found)
            met.add(number)
        for number in self.epochs:
            if number not in met:
                yield "row_missing", f"epochs {number}", f"{EPOCH_STREAM}{number}", "a row", "none"

    def _compare_states(self, rows: TableRows) -> Iterator[RowFault]:
        missing = dict(self._states)
        for ref, game, round_id in rows.states():
            row, stream = f"states {ref}, {game}", ACCOUNT_STREAM + ref
            wanted = missing.pop((ref, game), None)
            if wanted is None:
                yield "row_extra", row, stream, "no row without a round that left a state", round_id
            elif wanted != round_id:
                yield "row", f"round_id in {row}", stream, wanted, round_id
        for ref, game in missing:
            yield "row_missing", f"states {ref}, {game}", ACCOUNT_STREAM + ref, "a row", "none"


def _compare_row(row: str, stream: str, names: tuple[str, ...], wanted: Sequence[Any], found: Sequence[Any]) -> Iterator[RowFault]:
    for name, want, got in zip(names, wanted, found, strict=True):
        if want != got:
            yield "row", f"{name} in {row}", stream, str(want), str(got)


_ROUND_VALUES = attrgetter("account_ref", "game", "external_ref", "idempotency_key", "status", "version")


class _SettledRounds:
    """Rounds on their way to be compared with their rows: a temporary table of SQLite's, which spills to disk by itself."""

    FIELDS = ("account_ref", "game", "external_ref", "idempotency_key", "status", "version")

    def __init__(self) -> None:
        # An empty name is a private database on disk that goes with its connection.
        self._kept = sqlite3.connect("")
        self._kept.execute(f"CREATE TABLE rounds (round_id TEXT PRIMARY KEY, {', '.join(self.FIELDS)}) WITHOUT ROWID")
        self._waiting: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Let go of the rounds kept."""
        self._kept.close()

    def add(self, round_id: str, round_: _Round) -> None:
        """Keep one round."""
        self._waiting.append((round_id, *_ROUND_VALUES(round_)))
        if len(self._waiting) >= PAGE_ROWS:
            self._write()

    def version_of(self, round_id: str) -> int:
        """Return the version of a settled round's last event, 0 where there is no such round."""
        self._write()
        row = self._kept.execute("SELECT version FROM rounds WHERE round_id = ?", (round_id,)).fetchone()
        return row[0] if row else 0

    def go_on(self, round_id: str, version: int) -> None:
        """Take note of an event behind the settlement."""
        self._write()
        self._kept.execute("UPDATE rounds SET version = ? WHERE round_id = ?", (version, round_id))

    def _write(self) -> None:
        self._kept.executemany("INSERT OR REPLACE INTO rounds VALUES (?,?,?,?,?,?,?)", self._waiting)
        self._waiting.clear()

    def compare(self, rows: TableRows, in_play: dict[str, _Round]) -> Iterator[RowFault]:
        """Yield where rows of `rounds` are not what the events make, walking both in the order of ids."""
        for round_id, round_ in in_play.items():
            self.add(round_id, round_)
        self._write()
        if not self._are_stored(rows):
            yield from ((fault.code, fault.row, fault.stream, fault.want, fault.got) for fault in rows.structure.type_faults("rounds"))
            yield from self._compare_in_step(rows_in_pages(self._in_order()), rows_in_pages(rows.rounds()))

    def _in_order(self) -> sqlite3.Cursor:
        return self._kept.execute(f"SELECT round_id, {', '.join(self.FIELDS)} FROM rounds ORDER BY round_id")

    def _are_stored(self, rows: TableRows) -> bool:
        """Return whether the rows are the wanted ones, value for value and type for type; most often they are."""
        rows.structure.allow_any_text(is_allowed=False)
        wanted, found = self._in_order(), rows.as_stored().rounds()
        try:
            while (wants := wanted.fetchmany(PAGE_ROWS)) == text_rows(found, PAGE_ROWS):
                if not wants:
                    return True
        finally:
            rows.structure.allow_any_text(is_allowed=True)
        return False

    def _compare_in_step(self, wanted: Iterator[tuple[Any, ...]], found: Iterator[tuple[Any, ...]]) -> Iterator[RowFault]:
        want, got = next(wanted, None), next(found, None)
        while want is not None or got is not None:
            if got is None or (want is not None and want[0] < got[0]):
                assert want is not None
                yield "row_missing", f"rounds {want[0]}", ROUND_STREAM + want[0], "a row", "none"
                want = next(wanted, None)
            elif want is None or got[0] < want[0]:
                yield "row_extra", f"rounds {got[0]}", ROUND_STREAM + got[0], "no row without a round_opened", "one"
                got = next(found, None)
            else:
                yield from _compare_row(f"rounds {want[0]}", ROUND_STREAM + want[0], self.FIELDS, want[1:], got[1:])
                want, got = next(wanted, None), next(found, None)
