"""Attacks on a ledger by someone who holds the database but not the kept checkpoint, each as one function.

An attack takes a connection to a copy of a ledger whose triggers are dropped, and a source of chance; it changes the copy
and returns the words that a finding must hold (a stream, a row) for the attack to count as named, or None where this
instance could not be made (try again with other chance).
"""

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ledger.merkle import append_digest, append_leaf, leaf_bytes, leaf_hash

__all__ = ["ATTACKS", "Attack", "open_for_attack", "rebuild_log"]

Attack = Callable[[sqlite3.Connection, random.Random], str | None]


class _Careful(sqlite3.Connection):
    """Drops the triggers of a ledger, and puts them back on closing: nothing in the file's schema tells of the attack."""

    triggers: Sequence[tuple[str, str]] = ()

    def drop_triggers(self) -> None:
        self.triggers = self.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in self.triggers:
            self.execute(f"DROP TRIGGER {name}")

    def close(self) -> None:
        triggers, self.triggers = self.triggers, ()
        for _, statement in triggers:
            with suppress(sqlite3.Error):  # its table may be gone
                self.execute(statement)
        super().close()


def open_for_attack(path: str) -> sqlite3.Connection:
    """Return a connection to a ledger file without its triggers, as anybody with the file can; they are back when it is closed."""
    connection = sqlite3.connect(path, isolation_level=None, factory=_Careful)
    connection.drop_triggers()
    connection.execute("PRAGMA synchronous=OFF")
    return connection


def pick(connection: sqlite3.Connection, chance: random.Random, table: str, where: str = "1") -> tuple[Any, ...]:
    """Return one row of a table by chance."""
    count = connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]
    offset = chance.randrange(count)
    row: tuple[Any, ...] = connection.execute(f"SELECT * FROM {table} WHERE {where} LIMIT 1 OFFSET {offset}").fetchone()
    return row


def pick_event(connection: sqlite3.Connection, chance: random.Random, where: str = "1") -> tuple[int, str, int, str, bytes]:
    """Return rowid, stream, version, topic and bytes of an event by chance."""
    rowid, stream, version, topic, data = pick(connection, chance, "stored_events", where)
    return rowid, stream, version, topic, data


def changed_value(chance: random.Random, data: bytes) -> bytes:
    """Return an event with one number changed, still in canonical form: a change that a careful insider would make."""
    event = json.loads(data)
    names = [name for name, value in event.items() if isinstance(value, int) and name != "v"]
    if names:
        event[chance.choice(names)] += chance.choice([1, 5, 100])
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def set_data(connection: sqlite3.Connection, rowid: int, data: bytes) -> None:
    connection.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (data, rowid))


def rebuild_log(connection: sqlite3.Connection) -> None:
    """Make all leaves and nodes anew from the events that stand there, as if nothing had happened."""
    leaves = connection.execute(
        "SELECT leaf_index, stream, version_first, version_last, recorded_at_us FROM leaves ORDER BY leaf_index"
    ).fetchall()
    connection.execute("BEGIN")
    connection.execute("DELETE FROM leaves")
    connection.execute("DELETE FROM nodes")
    peaks: list[bytes] = []
    size = 0
    for _, stream, first, last, recorded_at in leaves:
        select = (
            "SELECT state FROM stored_events WHERE originator_id = ? AND originator_version BETWEEN ? AND ? ORDER BY originator_version"
        )
        datas = [row[0] for row in connection.execute(select, (stream, first, last))]
        if not datas:
            continue
        leaf = leaf_hash(leaf_bytes(stream, first, first + len(datas) - 1, recorded_at, append_digest(datas)))
        connection.execute("INSERT INTO leaves VALUES (?,?,?,?,?,?)", (size, stream, first, first + len(datas) - 1, recorded_at, leaf))
        peaks, nodes = append_leaf(peaks, size, leaf)
        connection.executemany("INSERT INTO nodes VALUES (?,?,?)", [(node.level, node.node_index, node.node_hash) for node in nodes])
        size += 1
    connection.execute("COMMIT")


def drop_tail(connection: sqlite3.Connection, chance: random.Random) -> int:
    """Take the last leaves with their events away; return how many leaves stay."""
    size = connection.execute("SELECT count(*) FROM leaves").fetchone()[0]
    kept = size - chance.randint(1, min(20, size - 2))
    for stream, first, last in connection.execute(
        "SELECT stream, version_first, version_last FROM leaves WHERE leaf_index >= ?", (kept,)
    ).fetchall():
        where = "originator_id = ? AND originator_version BETWEEN ? AND ?"
        connection.execute(f"DELETE FROM stored_events WHERE {where}", (stream, first, last))
    connection.execute("DELETE FROM leaves WHERE leaf_index >= ?", (kept,))
    connection.execute("DELETE FROM nodes WHERE ((node_index + 1) << level) > ?", (kept,))
    return int(kept)


def change_byte(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, stream, _, _, data = pick_event(connection, chance)
    place = chance.randrange(len(data))
    altered = data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
    set_data(connection, rowid, altered)
    return stream


def change_version(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, stream, version, _, _ = pick_event(connection, chance)
    connection.execute("UPDATE stored_events SET originator_version = ? WHERE rowid = ?", (version + 1000, rowid))
    return stream


def change_stream(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, stream, _, _, _ = pick_event(connection, chance)
    connection.execute("UPDATE stored_events SET originator_id = ? WHERE rowid = ?", (stream + "0", rowid))
    return stream


def change_topic(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, stream, _, topic, _ = pick_event(connection, chance)
    other = chance.choice([each for each in ("win/1", "drop/1", "prize/1", "meteor/1", "win/2") if each != topic])
    connection.execute("UPDATE stored_events SET topic = ? WHERE rowid = ?", (other, rowid))
    return stream


def change_order(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    first, second = pick_event(connection, chance), pick_event(connection, chance)
    if first[0] == second[0]:
        return None
    connection.execute("UPDATE stored_events SET rowid = -1 WHERE rowid = ?", (first[0],))
    connection.execute("UPDATE stored_events SET rowid = ? WHERE rowid = ?", (first[0], second[0]))
    connection.execute("UPDATE stored_events SET rowid = ? WHERE rowid = -1", (second[0],))
    return first[1]


def delete_event(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    last = connection.execute("SELECT max(rowid) FROM stored_events").fetchone()[0]
    rowid, stream, _, _, _ = pick_event(connection, chance, f"rowid < {last}")
    connection.execute("DELETE FROM stored_events WHERE rowid = ?", (rowid,))
    return stream


def delete_round(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    _, stream, _, _, _ = pick_event(connection, chance, "topic = 'round_opened/1'")
    connection.execute("DELETE FROM stored_events WHERE originator_id = ?", (stream,))
    connection.execute("DELETE FROM rounds WHERE round_id = ?", (stream.removeprefix("round/"),))
    if chance.random() < 0.5:
        connection.execute("DELETE FROM leaves WHERE stream = ?", (stream,))
        return "leaves"
    return stream


def delete_tail(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    drop_tail(connection, chance)
    return "leaves"


def add_event(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    _, stream, _, topic, data = pick_event(connection, chance)
    version = connection.execute("SELECT max(originator_version) FROM stored_events WHERE originator_id = ?", (stream,)).fetchone()[0] + 1
    insert = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
    connection.execute(insert, (stream, version, topic, changed_value(chance, data)))
    return stream


def add_round(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    _, stream, _, _, _ = pick_event(connection, chance, "topic = 'round_opened/1'")
    added = "round/" + f"{chance.getrandbits(128):032x}"
    insert = "INSERT INTO stored_events (originator_id, originator_version, topic, state) "
    connection.execute(insert + "SELECT ?, originator_version, topic, state FROM stored_events WHERE originator_id = ?", (added, stream))
    return added


def swap_payloads(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    first, second = pick_event(connection, chance), pick_event(connection, chance)
    if first[4] == second[4]:
        return None
    set_data(connection, first[0], second[4])
    set_data(connection, second[0], first[4])
    return first[1]


def change_leaf(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    leaf_index, stream, *_ = pick(connection, chance, "leaves")
    change = chance.choice(["leaf_hash = randomblob(32)", "recorded_at_us = recorded_at_us + 1", "version_last = version_last + 1"])
    connection.execute(f"UPDATE leaves SET {change} WHERE leaf_index = ?", (leaf_index,))
    return f"{stream}"


def change_node(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    level, node_index, _ = pick(connection, chance, "nodes")
    connection.execute("UPDATE nodes SET node_hash = randomblob(32) WHERE level = ? AND node_index = ?", (level, node_index))
    return f"nodes level {level}, index {node_index}"


def change_leaf_and_payload(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, stream, version, _, data = pick_event(connection, chance)
    altered = changed_value(chance, data)
    if altered == data:
        return None
    set_data(connection, rowid, altered)
    select = "SELECT leaf_index, version_first, version_last, recorded_at_us FROM leaves "
    select += "WHERE stream = ? AND version_first <= ? AND version_last >= ?"
    leaf_index, first, last, recorded_at = connection.execute(select, (stream, version, version)).fetchone()
    events = "SELECT state FROM stored_events WHERE originator_id = ? AND originator_version BETWEEN ? AND ? ORDER BY originator_version"
    digest = append_digest([row[0] for row in connection.execute(events, (stream, first, last))])
    leaf = leaf_hash(leaf_bytes(stream, first, last, recorded_at, digest))
    connection.execute("UPDATE leaves SET leaf_hash = ? WHERE leaf_index = ?", (leaf, leaf_index))
    return ""


def rebuild_after_change(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    rowid, _, _, _, data = pick_event(connection, chance, "topic IN ('win/1', 'spin_ended/1', 'drop/1', 'prize/1')")
    altered = changed_value(chance, data)
    if altered == data:
        return None
    set_data(connection, rowid, altered)
    rebuild_log(connection)
    return "of the checkpoint"


def rebuild_after_dropping_tail(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    drop_tail(connection, chance)
    rebuild_log(connection)
    return "leaves"


def change_seed_store(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    epoch, _, sealed, *_ = pick(connection, chance, "epochs")
    place = chance.randrange(len(sealed))
    altered = sealed[:place] + bytes([sealed[place] ^ (1 << chance.randrange(8))]) + sealed[place + 1 :]
    connection.execute("UPDATE epochs SET sealed_seed = ? WHERE epoch = ?", (altered, epoch))
    return f"epochs {epoch}"


def swap_seeds(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    first, second = pick(connection, chance, "epochs"), pick(connection, chance, "epochs")
    if first[0] == second[0]:
        return None
    for epoch, sealed in ((first[0], second[2]), (second[0], first[2])):
        connection.execute("UPDATE epochs SET sealed_seed = ? WHERE epoch = ?", (sealed, epoch))
    return f"epochs {first[0]}"


def change_commitment(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    epoch = pick(connection, chance, "epochs")[0]
    commitment = f"{chance.getrandbits(256):064x}"
    connection.execute("UPDATE epochs SET seed_commitment = ? WHERE epoch = ?", (commitment, epoch))
    return f"epochs {epoch}"


def change_balance(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    ref = pick(connection, chance, "accounts")[0]
    connection.execute("UPDATE accounts SET balance_minor = balance_minor + 1 WHERE account_ref = ?", (ref,))
    return f"accounts {ref}"


def change_round_row(connection: sqlite3.Connection, chance: random.Random) -> str | None:
    round_id = pick(connection, chance, "rounds")[0]
    change = chance.choice(["account_ref = 'x'", "status = 'void'", "external_ref = external_ref || 'x'", "version = version + 1"])
    connection.execute(f"UPDATE rounds SET {change} WHERE round_id = ?", (round_id,))
    return f"rounds {round_id}"


ATTACKS: dict[str, Attack] = {
    "change any byte of a payload": change_byte,
    "change a version": change_version,
    "change a stream": change_stream,
    "change a topic": change_topic,
    "change the order": change_order,
    "delete an event in the middle": delete_event,
    "delete a round": delete_round,
    "delete the tail": delete_tail,
    "add an event": add_event,
    "add a round": add_round,
    "swap two payloads": swap_payloads,
    "change a leaf": change_leaf,
    "change a node": change_node,
    "change leaf and payload": change_leaf_and_payload,
    "rebuild the whole log after a change": rebuild_after_change,
    "rebuild it after dropping the tail": rebuild_after_dropping_tail,
    "change the seed store": change_seed_store,
    "swap two seeds": swap_seeds,
    "change a commitment": change_commitment,
    "change a balance": change_balance,
    "change a round's row": change_round_row,
}


def attack(name: str, path: str, chance: random.Random) -> str:
    """Make one instance of an attack on the ledger file at `path`; return the words that a finding must hold."""
    connection = open_for_attack(path)
    try:
        for _ in range(100):
            words = ATTACKS[name](connection, chance)
            if words is not None:
                return words
        raise AssertionError(f"no instance of {name!r} could be made")
    finally:
        connection.close()


def is_named(words: str, messages: Sequence[str]) -> bool:
    """Return whether some finding holds the words."""
    return any(words in message for message in messages)
