"""A ledger written anew by a careful insider: everything that follows from a change is made to follow, from balances to the tree.

It knows no seed: what needs one, commitments to round keys and outcomes, stays as it was.
"""

import hashlib
import json
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from ledger.merkle import BLOCK_LEAVES, append_digest, append_form, append_leaf, leaf_bytes, leaf_hash

__all__ = ["Append", "Rewriting"]

TABLES = ("stored_events", "leaves", "nodes", "accounts", "epochs", "rounds")
FOLLOWED = ("account_opened/1", "funds_moved/1", "round_opened/1", "round_settled/1", "epoch_committed/1", "epoch_closed/1")


@dataclass
class Append:
    """The events of one leaf, each a topic and its bytes."""

    stream: str
    recorded_at_us: int
    events: list[tuple[str, bytes]]

    def values(self, place: int) -> dict[str, Any]:
        """The fields of an event."""
        found: dict[str, Any] = json.loads(self.events[place][1])
        return found

    def change(self, place: int, **values: Any) -> None:
        """Put other values into an event."""
        changed = {**self.values(place), **values}
        data = json.dumps(changed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        self.events[place] = (self.events[place][0], data)


class Rewriting:
    """A ledger's appends in the order of its leaves, to be changed, put in other order, added to and taken from, then written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        events: dict[str, list[tuple[str, bytes]]] = {}
        for stream, topic, state in connection.execute("SELECT originator_id, topic, state FROM stored_events ORDER BY rowid"):
            events.setdefault(stream, []).append((topic, state))
        leaves = connection.execute("SELECT stream, recorded_at_us, version_first, version_last FROM leaves ORDER BY leaf_index")
        self.appends = [Append(stream, at, events[stream][first - 1 : last]) for stream, at, first, last in leaves]
        self.sealed_seeds: dict[int, bytes] = dict(connection.execute("SELECT epoch, sealed_seed FROM epochs"))
        self._accounts: dict[str, list[Any]] = {}
        self._epochs: dict[int, list[Any]] = {}
        self._rounds: dict[str, list[Any]] = {}
        self._openings: dict[str, bytes] = {}

    def places(self, topic: str) -> list[int]:
        """Where the appends stand whose first event is of a topic."""
        return [place for place, append in enumerate(self.appends) if append.events[0][0] == topic]

    def rounds(self) -> list[tuple[int, int]]:
        """Where the two appends of each settled round stand that nothing of its account comes between: opening and settlement."""
        opened = {self.appends[place].stream: place for place in self.places("round_opened/1")}
        ends = [(place, append) for place, append in enumerate(self.appends) if append.events[-1][0] == "round_settled/1"]
        return [(opened[append.stream], place) for place, append in ends if place == opened.get(append.stream, place) + 1]

    def add(self, place: int, stream: str, append: Append) -> None:
        """Put a copy of an append at a place, in another stream."""
        self.appends.insert(place, replace(append, stream=stream, events=list(append.events)))

    def write(self, connection: sqlite3.Connection) -> None:
        """Have all follow from the appends and put it in the place of what was there."""
        self._follow()
        connection.execute("BEGIN")
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE sqlite_sequence SET seq = 0")
        versions: dict[str, int] = {}
        peaks: list[bytes] = []
        insert = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        whole = len(self.appends) // BLOCK_LEAVES * BLOCK_LEAVES  # nodes are written when a block is whole
        for size, append in enumerate(self.appends):
            first = versions.get(append.stream, 0) + 1
            versions[append.stream] = last = first + len(append.events) - 1
            connection.executemany(insert, [(append.stream, first + i, *event) for i, event in enumerate(append.events)])
            digest = append_digest([data for _, data in append.events])
            leaf = leaf_hash(leaf_bytes(append.stream, first, last, append.recorded_at_us, digest))
            connection.execute("INSERT INTO leaves VALUES (?,?,?,?,?,?)", (size, append.stream, first, last, append.recorded_at_us, leaf))
            peaks, nodes = append_leaf(peaks, size, leaf)
            connection.executemany("INSERT INTO nodes VALUES (?,?,?)", [node for node in nodes if (node[1] + 1) << node[0] <= whole])
        for ref, row in self._accounts.items():
            connection.execute("INSERT INTO accounts VALUES (?,?,?,?,?)", (ref, versions["account/" + ref], *row))
        for epoch, row in self._epochs.items():
            connection.execute("INSERT INTO epochs VALUES (?,?,?,?,?,?)", (epoch, *row))
        for round_id, row in self._rounds.items():
            connection.execute("INSERT INTO rounds VALUES (?,?,?,?,?,?,?)", (round_id, *row, versions["round/" + round_id]))
        connection.execute("COMMIT")

    def _follow(self) -> None:
        """Make balances, nonces, counts and digests follow, and the rows of the tables."""
        for append in self.appends:
            for place, (topic, _) in enumerate(append.events):
                if topic in FOLLOWED:
                    changes = self._take(append, append.values(place))
                    if changes:
                        append.change(place, **changes)
                    if topic == "round_opened/1":
                        self._openings[append.stream.removeprefix("round/")] = append.events[place][1]

    def _take(self, append: Append, values: dict[str, Any]) -> dict[str, Any]:
        """Follow one event into the tables; return the fields that what came before it makes."""
        prefix, _, name = append.stream.partition("/")
        kind = values["kind"]
        if kind == "account_opened":
            self._accounts[name] = [values["currency"], 0, ""]
        elif kind == "epoch_committed":
            epoch = values["epoch"]
            self._epochs[epoch] = [values["seed_commitment"], self.sealed_seeds[epoch], values["writer_ref"], 0, 0]
        elif kind == "epoch_closed":
            row = self._epochs[values["epoch"]]
            row[4] = 1
            return {"round_count": row[3]}
        elif kind == "funds_moved":
            self._accounts[name][1] += values["amount_minor"]
            return {"balance_after_minor": self._accounts[name][1]}
        elif kind == "round_opened":
            return self._open(name, values)
        elif prefix == "round":
            return self._settle(append, name, values)
        return {}

    def _open(self, round_id: str, values: dict[str, Any]) -> dict[str, Any]:
        account, epoch = self._accounts[values["account_ref"]], self._epochs[values["epoch"]]
        self._rounds[round_id] = [values[field] for field in ("account_ref", "game", "external_ref", "idempotency_key")] + ["open"]
        before, nonce = account[1], epoch[3]
        account[1:] = [before - values["cost_minor"], round_id]
        epoch[3] += 1
        return {"balance_before_minor": before, "nonce": nonce, "seed_commitment": epoch[0]}

    def _settle(self, append: Append, round_id: str, values: dict[str, Any]) -> dict[str, Any]:
        row = self._rounds[round_id]
        row[4] = "settled"
        account = self._accounts[row[0]]
        account[1:] = [account[1] + values["total_win_minor"], ""]
        outcome = append_form([data for _, data in append.events[:-1]])
        return {
            "balance_after_minor": account[1],
            "outcome_digest": hashlib.sha256(outcome).hexdigest(),
            "round_digest": hashlib.sha256(append_form([self._openings[round_id]]) + outcome).hexdigest(),
        }
