"""How fast durable rounds are recorded, against plain sqlite3 writing the same rows in the same two transactions.

Both write WAL files with synchronous=FULL in one folder, in turns, on tables with the same indexes and triggers. The game
is a ready-made outcome of a usual base round, so that what is measured is the ledger. The last line is the ratio.
"""

import argparse
import contextlib
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from engines.game import Outcome
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import create_tables
from tests.fake_game import FakeGame

Row = tuple[object, ...]
Transaction = list[tuple[str, list[Row]]]


class ReadyGame(FakeGame):
    """Gives one winning outcome again and again."""

    def __init__(self) -> None:
        super().__init__()
        keys = (bytes([number]) * 32 for number in range(256))
        outcomes = (super(ReadyGame, self).play(key, "base", 200, {}, ()) for key in keys)
        self.outcome = next(outcome for outcome in outcomes if outcome.total_win_minor)

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome, whatever the key."""
        return self.outcome


@contextlib.contextmanager
def new_ledger(folder: Path, name: str) -> Iterator[tuple[RoundLedger, str]]:
    """Give a fresh ledger with one rich account."""
    with RoundLedger.create(folder / f"{name}.db") as ledger:
        account_ref = ledger.open_account("bench", "EUR")
        ledger.move_funds(account_ref, 10**12, "play_money")
        yield ledger, account_ref


def play_rounds(ledger: RoundLedger, account_ref: str, game: ReadyGame, rounds: int) -> float:
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


def main() -> None:
    """Measure in turns and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000, help="rounds of each kind in all")
    parser.add_argument("--turns", type=int, default=10, help="how often the two take turns")
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a folder of the disk that counts")
    options = parser.parse_args()
    per_turn = max(1, options.rounds // options.turns)
    game = ReadyGame()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        with new_ledger(folder, "rows") as (ledger, account_ref):
            play_rounds(ledger, account_ref, game, per_turn * options.turns)
        transactions = recorded_transactions(folder / "rows.db")
        raw_file = RawFile(folder / "raw.db", account_ref)
        raw_rates, ledger_rates = [], []
        with new_ledger(folder, "ledger") as (ledger, account_ref):
            ledger.play(account_ref, game, "base", 200)
            for turn in range(options.turns):
                raw_rates.append(raw_file.write(transactions[2 * per_turn * turn : 2 * per_turn * (turn + 1)]))
                ledger_rates.append(play_rounds(ledger, account_ref, game, per_turn))
    raw, ours = statistics.median(raw_rates), statistics.median(ledger_rates)
    # Neighbouring turns are compared: a disk that others use changes its speed from one second to the next.
    ratio = statistics.median(our_rate / raw_rate for our_rate, raw_rate in zip(ledger_rates, raw_rates, strict=True))
    print(f"raw sqlite3      {raw:7.0f} rounds/s  ({min(raw_rates):.0f} to {max(raw_rates):.0f})")
    print(f"RoundLedger.play {ours:7.0f} rounds/s  ({min(ledger_rates):.0f} to {max(ledger_rates):.0f})")
    print(f"ratio            {ratio:7.2f}")


if __name__ == "__main__":
    main()
