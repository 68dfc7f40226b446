"""How fast a whole ledger is checked, and what leaf and nodes cost an append.

fsck is held against a plain sqlite3 cursor that fetches the rows of events, leaves and nodes and drops them. Appends are the
recorded ones of rounds, written by the ledger's own recorder, with its leaves and nodes and without, in WAL files with
synchronous=FULL in one folder, in turns.
"""

import gc
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from bench.durable_rounds import new_ledger, play_rounds
from engines.game import EventBytes
from engines.registry import installed_game
from ledger.fsck import check_ledger
from ledger.rounds import RoundLedger

Append = tuple[str, int, list[EventBytes]]

TURN_APPENDS = 1000  # in a turn the log is copied back into the file once or twice

READS = (
    "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid",
    "SELECT * FROM leaves ORDER BY leaf_index",
    "SELECT * FROM nodes ORDER BY level, node_index",
)


def read_rows(path: Path) -> float:
    """Return the seconds that a plain cursor takes to fetch every row of events, leaves and nodes."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    start = time.perf_counter()
    for statement in READS:
        for _ in connection.execute(statement):
            pass
    taken = time.perf_counter() - start
    connection.close()
    return taken


def check_rows(path: Path) -> float:
    """Return the seconds that fsck takes, on all cores."""
    start = time.perf_counter()
    found = list(check_ledger(path, job_count=os.cpu_count() or 1))
    assert not found
    return time.perf_counter() - start


def measure_fsck(path: Path, *, turns: int) -> tuple[list[float], list[float]]:
    """Return passes a second of fsck and of a plain cursor over the ledger at `path`, in neighbouring turns."""
    check_rates, read_rates = [], []
    for turn in range(turns + 1):
        taken = 1 / read_rows(path), 1 / check_rows(path)
        if turn:  # the first fills the cache of the disk
            read_rates.append(taken[0])
            check_rates.append(taken[1])
    return check_rates, read_rates


def recorded_appends(path: Path) -> list[Append]:
    """Return stream, first version and events of each append to a round, in the order of the record."""
    connection = sqlite3.connect(path)
    select = "SELECT topic, state FROM stored_events WHERE originator_id = ? AND originator_version BETWEEN ? AND ?"
    leaves = "SELECT stream, version_first, version_last FROM leaves WHERE stream LIKE 'round/%' ORDER BY leaf_index"
    appends = [
        (stream, first, [EventBytes(*row) for row in connection.execute(select, (stream, first, last))])
        for stream, first, last in connection.execute(leaves).fetchall()
    ]
    connection.close()
    return appends


def write_appends(ledger: RoundLedger, appends: Sequence[Append]) -> float:
    """Return appends a second, each a transaction of its own."""
    start = time.perf_counter()
    for stream, version_first, events in appends:
        ledger.store.append_events(stream, version_first, events)
    return len(appends) / (time.perf_counter() - start)


def measure_appends(folder: Path, *, turns: int) -> tuple[list[float], list[float]]:
    """Return appends a second with leaf and nodes and without, in `turns` neighbouring turns, each of both first in turn."""
    game = installed_game("moonlight-princess")
    game.compile()
    with new_ledger(folder, "appends") as (ledger, account_ref):
        play_rounds(ledger, account_ref, game, (turns + 1) * TURN_APPENDS // 2)
    appends = recorded_appends(folder / "appends.db")
    gc.collect()
    gc.freeze()  # what is held here for the bench alone is not to be gone through meanwhile
    rates: dict[bool, list[float]] = {True: [], False: []}
    with new_ledger(folder, "with-tree") as (whole, _), new_ledger(folder, "without-tree") as (bare, _):
        bare.store._write_leaf = lambda *_: None  # type: ignore[method-assign]
        for turn in range(turns + 1):
            part = appends[TURN_APPENDS * turn : TURN_APPENDS * (turn + 1)]
            for is_whole in (True, False) if turn % 2 else (False, True):
                rate = write_appends(whole if is_whole else bare, part)
                if turn:  # in the first the log grows to the length that it keeps
                    rates[is_whole].append(rate)
    gc.unfreeze()
    return rates[True], rates[False]
