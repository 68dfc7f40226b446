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


def _stands(bodies: Sequence[dict[str, Any]]) -> str:
    """Return what the row of a round must say of how it stands."""
    stands, is_asked = "open", False
    for body in bodies:
        kind = body["kind"]
        is_asked = kind == "choice_offered" or (is_asked and kind != "choice_made")
        if kind in ("round_interrupted", "round_settled", "round_voided"):
            stands = kind.removeprefix("round_")
        elif stands in ("open", "waiting") or kind == "round_resumed":
            stands = "waiting" if is_asked else "open"
    return stands


def _later_rows(path: Path | str, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table that an old ledger has not."""
    try:
        return rows(path, statement)
    except Exception as error:
        if "no such table" in str(error) or "does not exist" in str(error):
            return []
        raise


def _table_faults(path: Path | str, streams: dict[str, list[tuple[int, str, bytes]]]) -> list[str]:
    balances: dict[str, int] = {}
    bonuses: dict[str, int] = {}
    in_play: dict[str, str] = {}
    blocking: set[tuple[str, str, str]] = set()
    statuses: dict[str, tuple[str, int]] = {}
    nonces: dict[int, int] = {}
    for stream, events in streams.items():
        bodies = [json.loads(state) for _, _, state in events]
        if stream.startswith("account/"):
            ref = bodies[0]["account_ref"]
            for body in bodies[1:]:
                purse = bonuses if body["kind"] == "bonus_moved" else balances
                purse[ref] = purse.get(ref, 0) + body.get("amount_minor", 0)
            balances.setdefault(ref, 0)
        if stream.startswith("round/"):
            opened, round_id, stands = bodies[0], stream.removeprefix("round/"), _stands(bodies)
            ref, bonus = opened["account_ref"], opened.get("bonus_minor", 0)
            nonces[opened["epoch"]] = nonces.get(opened["epoch"], 0) + 1
            paid = sum(body["total_win_minor"] for body in bodies if body["kind"] == "round_settled")
            paid += sum(body["refund_minor"] for body in bodies if body["kind"] == "round_voided")
            balances[ref] = balances.get(ref, 0) - opened["cost_minor"] + bonus + paid
            back = sum(body["refund_bonus_minor"] for body in bodies if body["kind"] == "round_voided")
            if bonus or back:
                bonuses[ref] = bonuses.get(ref, 0) - bonus + back
            statuses[round_id] = (stands, len(events))
            if stands == "interrupted" and [body for body in bodies if body["kind"] == "round_interrupted"][-1]["blocks"] == "own_game":
                blocking.add((ref, opened["game"], round_id))
            elif stands not in ("settled", "voided"):
                in_play[ref] = round_id
            spins = [body["kind"] for body in bodies if body["kind"] in ("spin_started", "spin_ended")]
            if stands == "open" and len(events) > 1 and spins[-1:] != ["spin_ended"] and bodies[-1]["kind"] != "round_resumed":
                return [f"{stream} is there in part"]
    faults = []
    for ref, balance, slot in rows(path, "SELECT account_ref, balance_minor, round_in_play FROM accounts"):
        if (balance, slot) != (balances[ref], in_play.get(ref, "")):
            faults.append(f"account {ref}")
    if statuses != {
        round_id: (status, version) for round_id, status, version in rows(path, "SELECT round_id, status, version FROM rounds")
    }:
        faults.append("table of rounds")
    if any(nonce != nonces.get(epoch, 0) for epoch, nonce in rows(path, "SELECT epoch, next_nonce FROM epochs")):
        faults.append("nonces")
    if blocking != set(_later_rows(path, "SELECT account_ref, game, round_id FROM interrupted_rounds")):
        faults.append("interrupted rounds")
    if bonuses != dict(_later_rows(path, "SELECT account_ref, bonus_minor FROM bonuses")):
        faults.append("bonus money")
    return faults
