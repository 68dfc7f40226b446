"""Ranges of leaves gone over in bulk by this process and others; the result comes in the order of the record, a few ranges ahead."""

import gc
import marshal
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Any

from engines.workers import start_worker
from ledger.address import LedgerPlace
from ledger.stretch import STRETCH_LEAVES, Stretch, clean_stretches
from ledger.table_rows import table_rows

__all__ = ["RANGE_LEAVES", "pack_range", "stretches_of_ranges"]

RANGE_LEAVES = 128 * STRETCH_LEAVES
_AHEAD = 4  # ranges for each process that are worked on or wait to be taken: memory does not grow with the ledger


def _range_stretches(place: LedgerPlace, first: int, leaf_end: int) -> list[Stretch]:
    """Return the clean stretches of a range, up to the first that is not."""
    with table_rows(place) as rows:
        return list(clean_stretches(rows, first, leaf_end))


def pack_range(place: LedgerPlace, first: int, leaf_end: int) -> bytes:
    """Return `_range_stretches` as bytes for another process of this Python."""
    return marshal.dumps(list(map(tuple, _range_stretches(place, first, leaf_end))))


def _range_here(place: LedgerPlace, first: int, leaf_end: int) -> Future[Any]:
    """Return the result of a range gone over by this process, or its error, for its turn."""
    done: Future[list[Stretch]] = Future()
    try:
        done.set_result(_range_stretches(place, first, leaf_end))
    except Exception as error:
        done.set_exception(error)
    return done


def _start_worker(parent: int) -> None:
    start_worker(parent)
    gc.disable()  # rows and events hold no cycles


def _taken_back(tasks: Sequence[Future[Any]]) -> int | None:
    """Return the place of a task that no worker has begun, and now none will; None where the first one is done."""
    return None if tasks[0].done() else next((i for i in reversed(range(len(tasks))) if tasks[i].cancel()), None)


def stretches_of_ranges(place: LedgerPlace, range_count: int, job_count: int) -> Iterator[Stretch]:
    """Yield the stretches of the first `range_count` ranges in order, up to the first that is not clean.

    By `job_count` processes: this one goes over ranges as well while it would wait for the others.
    """
    with ProcessPoolExecutor(job_count - 1, get_context("spawn"), _start_worker, (os.getpid(),)) as pool:
        try:
            firsts = range(0, range_count * RANGE_LEAVES, RANGE_LEAVES)
            submitted = (pool.submit(pack_range, place, first, first + RANGE_LEAVES) for first in firsts)
            tasks: deque[Future[Any]] = deque(islice(submitted, _AHEAD * job_count))
            for first in firsts:
                while (i := _taken_back(tasks)) is not None:
                    start = first + i * RANGE_LEAVES
                    tasks[i] = _range_here(place, start, start + RANGE_LEAVES)
                found = tasks.popleft().result()
                stretches = list(map(Stretch._make, marshal.loads(found))) if isinstance(found, bytes) else found
                yield from stretches
                if sum(len(stretch.ends) for stretch in stretches) < RANGE_LEAVES:
                    return
                tasks.extend(islice(submitted, 1))
        finally:
            pool.shutdown(cancel_futures=True)
