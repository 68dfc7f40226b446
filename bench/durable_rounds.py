"""How fast durable rounds are recorded, against plain sqlite3 writing the same rows in the same two transactions.

Both write WAL files with synchronous=FULL in one folder, in turns, on tables with the same indexes and triggers; plain sqlite3
copies its log back when SQLite does so by itself. The rounds are base rounds of the real game, its kernels compiled and warm.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from engines.game import Game
from engines.registry import installed_game
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import create_tables

Row = tuple[object, ...]
Transaction = list[tuple[str, list[Row]]]


@contextlib.contextmanager
def new_ledger(folder: Path, name: str) -> Iterator[tuple[RoundLedger, str]]:
    """Give a fresh ledger with one rich account."""
    with RoundLedger.create(folder / f"{name}.db") as ledger:
        account_ref = ledger.open_account("bench", "EUR")
        ledger.move_funds(account_ref, 10**12, "play_money")
        yield ledger, account_ref


def play_rounds(ledger: RoundLedger, account_ref: str, game: Game, rounds: int) -> float:
    """Return rounds a second through `RoundLedger.play`."""
    start = time.perf_counter()
    for _ in range(rounds):
        ledger.play(account_ref, game, "base", 200)
    return rounds / (time.perf_counter() - start)


def recorded_transactions(path: Path) -> list[Transaction]:
    """Return the rows of each round's two transactions, as the ledger at `path` holds them."""
    connection = sqlite3.connect(path)
    nodes: dict[int, list[Row]] = {}
    for level, node_index, node_hash in connection.execute("SELECT level, node_index, node_hash FROM nodes ORDER BY level"):
        nodes.setdefault((node_index + 1 << level) - 1, []).append((level, node_index, node_hash))
    transactions: list[Transaction] = []
    account_ref = connection.execute("SELECT account_ref FROM accounts").fetchone()[0]
    leaves = connection.execute("SELECT * FROM leaves WHERE stream >= 'round/' AND stream < 'round0' ORDER BY leaf_index").fetchall()
    for leaf in leaves:
        leaf_index, stream, version_first, version_last = leaf[:4]
        select = "SELECT originator_id, originator_version, topic, state FROM stored_events WHERE originator_id = ? "
        select += "AND originator_version BETWEEN ? AND ?"
        events = connection.execute(select, (stream, version_first, version_last)).fetchall()
        round_id = stream.removeprefix("round/")
        transaction: Transaction = [
            ("INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)", events),
            ("INSERT INTO leaves VALUES (?,?,?,?,?,?)", [leaf]),
            ("INSERT INTO nodes VALUES (?,?,?)", nodes.get(leaf_index, [])),
        ]
        if version_first == 1:
            transaction.append(
                ("UPDATE accounts SET balance_minor = ?, round_in_play = ? WHERE account_ref = ?", [(1, round_id, account_ref)])
            )
            transaction.append(("UPDATE epochs SET next_nonce = next_nonce + 1 WHERE epoch = ?", [(1,)]))
            transaction.append(("INSERT INTO rounds VALUES (?,?,?,?,?,'open',1)", [(round_id, account_ref, "moonlight-princess", "", "")]))
        else:
            transaction.append(("UPDATE accounts SET balance_minor = ?, round_in_play = '' WHERE account_ref = ?", [(2, account_ref)]))
            transaction.append(("UPDATE rounds SET status = 'settled', version = ? WHERE round_id = ?", [(version_last, round_id)]))
        transactions.append(transaction)
    connection.close()
    return transactions


class RawFile:
    """Writes ready-made rows with sqlite3 and nothing else."""

    def __init__(self, path: Path, account_ref: str) -> None:
        create_tables(path)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("INSERT INTO accounts VALUES (?,1,'EUR',0,'')", (account_ref,))
        self.connection.execute("INSERT INTO epochs VALUES (1,'','','',0,0)")

    def write(self, transactions: list[Transaction]) -> float:
        """Return rounds a second."""
        cursor = self.connection.cursor()
        start = time.perf_counter()
        for transaction in transactions:
            cursor.execute("BEGIN IMMEDIATE")
            for statement, rows in transaction:
                if len(rows) == 1:
                    cursor.execute(statement, rows[0])
                elif rows:
                    cursor.executemany(statement, rows)
            cursor.execute("COMMIT")
        return len(transactions) / 2 / (time.perf_counter() - start)


def measure_durable(folder: Path, *, round_count: int, turns: int) -> tuple[list[float], list[float]]:
    """Return rounds a second of `RoundLedger.play` and of sqlite3 alone, in `turns` neighbouring turns."""
    per_turn = max(1, round_count // turns)
    game = installed_game("moonlight-princess")
    game.compile()
    with new_ledger(folder, "rows") as (ledger, account_ref):
        play_rounds(ledger, account_ref, game, per_turn * turns)
    transactions = recorded_transactions(folder / "rows.db")
    raw_file = RawFile(folder / "raw.db", account_ref)
    raw_rates, ledger_rates = [], []
    with new_ledger(folder, "ledger") as (ledger, account_ref):
        ledger.play(account_ref, game, "base", 200)
        for turn in range(turns):
            raw_rates.append(raw_file.write(transactions[2 * per_turn * turn : 2 * per_turn * (turn + 1)]))
            ledger_rates.append(play_rounds(ledger, account_ref, game, per_turn))
    return ledger_rates, raw_rates
