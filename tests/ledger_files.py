"""Ledgers for tests: new ones in a file or a database, what a whole one must agree with, and ways to alter one."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ledger.rounds import RoundLedger
from tests.attacks import open_for_attack
from tests.fake_game import FakeGame

__all__ = ["Place", "altered", "game", "new_ledger", "new_ledger_at", "play_some", "rows", "whole_ledger_faults"]

TABLES = "slot_ledger"  # the schema of a ledger in a database

_GAME: list[FakeGame] = []


def game() -> FakeGame:
    """Return one fake game for all tests: its rules file takes a while to read."""
    if not _GAME:
        _GAME.append(FakeGame())
    return _GAME[0]


class Place(NamedTuple):
    """Where a ledger of a test is to be: a file or the address of a database, and the folder of its keys."""

    ledger: Path | str
    keys_dir: Path

    def open_for_writing(self) -> RoundLedger:
        """Open it to record in it."""
        return RoundLedger.open_for_writing(self.ledger, self.keys_dir)

    def open_for_reading(self) -> RoundLedger:
        """Open it to read it."""
        return RoundLedger.open_for_reading(self.ledger)


@contextmanager
def new_ledger(folder: Path, *, balance_minor: int = 10**9, currency: str = "EUR") -> Iterator[tuple[RoundLedger, str]]:
    """Give a new ledger in a file and the reference of one account with money."""
    place = Place(folder / "ledger.db", folder / "ledger.db.keys")
    with new_ledger_at(place, balance_minor=balance_minor, currency=currency) as made:
        yield made


@contextmanager
def new_ledger_at(place: Place, *, balance_minor: int = 10**9, currency: str = "EUR") -> Iterator[tuple[RoundLedger, str]]:
    """Give a new ledger and the reference of one account with money."""
    with RoundLedger.create(place.ledger, place.keys_dir) as ledger:
        account_ref = ledger.open_account("alice", currency)
        if balance_minor:
            ledger.move_funds(account_ref, balance_minor)
        yield ledger, account_ref


def play_some(ledger: RoundLedger, account_ref: str, count: int, **terms: Any) -> list[str]:
    """Play rounds and return their ids."""
    return [ledger.play(account_ref, game(), "base", 200, **terms).round_id for _ in range(count)]


def _database(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True, options=f"-c search_path={TABLES}")


def rows(ledger: Path | str, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Return what plain SQL reads from a file or a database."""
    if isinstance(ledger, str):
        with _database(ledger) as database:
            found: list[tuple[Any, ...]] = database.execute(statement.replace("?", "%s"), values).fetchall()
            return found
    with closing(sqlite3.connect(ledger)) as connection:
        return connection.execute(statement, values).fetchall()


def altered(ledger: Path | str, *statements: str) -> None:
    """Do to a ledger what an insider with the database could do: without its triggers, which are put back, run the statements."""
    if isinstance(ledger, str):
        with _database(ledger) as database:
            named = "SELECT tgname, tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
            triggers = database.execute(named).fetchall()
            for name, table, _ in triggers:
                database.execute(f"DROP TRIGGER {name} ON {table}")
            for statement in statements:
                database.execute(statement)
            for name, table, definition in triggers:
                if database.execute("SELECT to_regclass(%s)", (table,)).fetchone() != (None,):
                    database.execute(definition)
                    database.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")
        return
    with closing(open_for_attack(str(ledger))) as connection:
        for statement in statements:
            connection.execute(statement)


def _naive_root(hashes: Sequence[bytes]) -> bytes:
    """Return the tree hash as RFC 6962 defines it, apart from the code under test."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return hashlib.sha256(b"\x01" + _naive_root(hashes[:split]) + _naive_root(hashes[split:])).digest()


def whole_ledger_faults(path: Path | str) -> list[str]:
    """Return what is wrong with a ledger, by code that shares nothing with it: contiguity, leaves, nodes, root, tables."""
    faults: list[str] = []
    streams: dict[str, list[tuple[int, str, bytes]]] = {}
    number = "notification_id" if isinstance(path, str) else "rowid"
    for stream, version, topic, state in rows(
        path, f"SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY {number}"
    ):
        streams.setdefault(stream, []).append((version, topic, state))
        if f"{json.loads(state)['kind']}/{json.loads(state)['v']}" != topic:
            faults.append(f"topic of {stream} {version}")
    for stream, events in streams.items():
        if [version for version, _, _ in events] != list(range(1, len(events) + 1)):
            faults.append(f"versions of {stream}")
    faults += _tree_faults(path, streams)
    return faults + _table_faults(path, streams)


def _tree_faults(path: Path | str, streams: dict[str, list[tuple[int, str, bytes]]]) -> list[str]:
    faults: list[str] = []
    leaves = rows(path, "SELECT leaf_index, stream, version_first, version_last, recorded_at_us, leaf_hash FROM leaves ORDER BY leaf_index")
    covered: dict[str, int] = {}
    for number, (leaf_index, stream, first, last, recorded_at, leaf_hash) in enumerate(leaves):
        if number != leaf_index or first != covered.get(stream, 0) + 1:
            faults.append(f"place of leaf {leaf_index}")
        covered[stream] = last
        form = b"".join(len(state).to_bytes(4, "big") + state for _, _, state in streams[stream][first - 1 : last])
        numbers = b"".join(value.to_bytes(8, "big") for value in (first, last, recorded_at))
        data = b"leaf/1" + len(stream.encode()).to_bytes(2, "big") + stream.encode() + numbers + hashlib.sha256(form).digest()
        if hashlib.sha256(b"\x00" + data).digest() != leaf_hash:
            faults.append(f"hash of leaf {leaf_index}")
    if covered != {stream: len(events) for stream, events in streams.items()}:
        faults.append("events without a leaf")
    hashes = [leaf[5] for leaf in leaves]
    nodes = {(level, index): value for level, index, value in rows(path, "SELECT * FROM nodes")}
    complete = {
        (level, index): _naive_root(hashes[index << level : index + 1 << level])
        for level in range(1, len(hashes).bit_length())
        for index in range(len(hashes) >> level)
    }
    # Nodes are written when 64 leaves are complete; a ledger that is older has some behind them as well.
    stored = {(level, index) for level, index in complete if index + 1 << level <= len(hashes) // 64 * 64}
    return faults if stored <= nodes.keys() and nodes.items() <= complete.items() else [*faults, "nodes"]


def _table_faults(path: Path | str, streams: dict[str, list[tuple[int, str, bytes]]]) -> list[str]:
    kept = _Kept()
    for stream, events in streams.items():
        bodies = [json.loads(state) for _, _, state in events]
        if stream.startswith("account/"):
            kept.take_account(bodies)
        if stream.startswith("round/") and not kept.take_round(stream.removeprefix("round/"), bodies):
            return [f"{stream} is there in part"]
    faults = []
    for ref, balance, slot in rows(path, "SELECT account_ref, balance_minor, round_in_play FROM accounts"):
        if (balance, slot) != (kept.balances[ref], kept.in_play.get(ref, "")):
            faults.append(f"account {ref}")
    if kept.statuses != {
        round_id: (status, version) for round_id, status, version in rows(path, "SELECT round_id, status, version FROM rounds")
    }:
        faults.append("table of rounds")
    if any(nonce != kept.nonces.get(epoch, 0) for epoch, nonce in rows(path, "SELECT epoch, next_nonce FROM epochs")):
        faults.append("nonces")
    for table, wanted in (("interrupted_rounds", kept.blocking), ("bonuses", kept.bonuses)):
        if _later_rows(path, table) != sorted(wanted):
            faults.append(f"table of {table}")
    return faults


def _later_rows(path: Path | str, table: str) -> list[tuple[Any, ...]]:
    tables = "SELECT tablename FROM pg_tables" if isinstance(path, str) else "SELECT name FROM sqlite_master"
    return sorted(rows(path, f"SELECT * FROM {table}")) if (table,) in rows(path, tables) else []


class _Kept:
    """What the tables must hold, by a second reading of the events."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = {}
        self.in_play: dict[str, str] = {}
        self.statuses: dict[str, tuple[str, int]] = {}
        self.nonces: dict[int, int] = {}
        self.blocking: list[tuple[str, str, str]] = []
        self._bonus: dict[str, int] = {}

    @property
    def bonuses(self) -> list[tuple[str, int]]:
        """The rows of bonus money."""
        return list(self._bonus.items())

    def take_account(self, bodies: list[dict[str, Any]]) -> None:
        """Take the events of an account."""
        ref = bodies[0]["account_ref"]
        moved = [body for body in bodies[1:] if "amount_minor" in body]
        self.balances[ref] = self.balances.get(ref, 0) + sum(body["amount_minor"] for body in moved if body["kind"] != "bonus_moved")
        for body in moved:
            if body["kind"] == "bonus_moved":
                self._bonus[ref] = self._bonus.get(ref, 0) + body["amount_minor"]

    def take_round(self, round_id: str, bodies: list[dict[str, Any]]) -> bool:
        """Take the events of a round, and return whether it is there whole, up to the end of a leg."""
        apart = ("correction_recorded", "presentation_sent", "presentation_acked")
        opened, told = bodies[0], [body for body in bodies if body["kind"] not in apart]
        last, ref, game = told[-1], opened["account_ref"], opened["game"]
        self.nonces[opened["epoch"]] = self.nonces.get(opened["epoch"], 0) + 1
        paid = last.get("total_win_minor", 0) if last["kind"] == "round_settled" else last.get("refund_minor", 0)
        self.balances[ref] = self.balances.get(ref, 0) - opened["cost_minor"] + opened["bonus_minor"] + paid
        bonus_paid = opened["bonus_minor"] - last.get("refund_bonus_minor", 0)
        if bonus_paid or ref in self._bonus:
            self._bonus[ref] = self._bonus.get(ref, 0) - bonus_paid
        asked = [body["kind"] for body in told if body["kind"] in ("choice_offered", "choice_made")]
        going = "waiting" if asked[-1:] == ["choice_offered"] else "open"
        status = {"round_settled": "settled", "round_voided": "voided", "round_interrupted": "interrupted"}.get(last["kind"], going)
        self.statuses[round_id] = (status, len(bodies))
        if status == "interrupted" and last["blocks"] == "own_game":
            self.blocking.append((ref, game, round_id))
        elif status in ("open", "waiting", "interrupted"):
            self.in_play[ref] = round_id
        leg_ends = ("spin_ended", "feature_ended", "choice_offered", "round_opened", "round_interrupted", "round_resumed")
        return status in ("settled", "voided") or last["kind"] in leg_ends
