"""Ranges of leaves gone over in bulk by worker processes; the result comes in the order of the record, a few ranges ahead."""

import gc
import marshal
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import orjson

from engines.workers import start_worker
from ledger.address import LedgerPlace
from ledger.stretch import STRETCH_LEAVES, Stretch, clean_stretches
from ledger.table_rows import table_rows

__all__ = ["RANGE_LEAVES", "pack_range", "stretches_of_ranges"]

RANGE_LEAVES = 16 * STRETCH_LEAVES
_AHEAD = 2  # ranges for each worker that are worked on or wait to be taken: memory does not grow with the ledger


def pack_range(place: LedgerPlace, first: int, leaf_end: int) -> bytes:
    """Return the clean stretches of a range, up to the first that is not, as bytes for another process of this Python.

    Of an event that something follows from its bytes are passed on: they are read again faster than its values are packed.
    """
    packed = []
    with table_rows(place) as rows:
        for stretch in clean_stretches(rows, first, leaf_end):
            packed.append((*stretch[:2], [(place_, orjson.dumps(values)) for place_, values in stretch.folded], *stretch[3:]))
    return marshal.dumps(packed)


def _unpack(packed: bytes) -> Iterator[Stretch]:
    for leaves, ends, folded, *rest in marshal.loads(packed):
        yield Stretch(leaves, ends, [(place, orjson.loads(data)) for place, data in folded], *rest)


def _start_worker(parent: int) -> None:
    start_worker(parent)
    gc.disable()  # rows and events hold no cycles


def stretches_of_ranges(place: LedgerPlace, range_count: int, job_count: int) -> Iterator[Stretch]:
    """Yield the stretches of the first `range_count` ranges in order, up to the first that is not clean; by `job_count` processes."""
    with ProcessPoolExecutor(min(job_count, range_count), get_context("spawn"), _start_worker, (os.getpid(),)) as pool:
        try:
            tasks = (pool.submit(pack_range, place, i * RANGE_LEAVES, (i + 1) * RANGE_LEAVES) for i in range(range_count))
            waiting = deque(islice(tasks, _AHEAD * job_count))
            while waiting:
                leaf_count = 0
                for stretch in _unpack(waiting.popleft().result()):
                    leaf_count += len(stretch.leaves)
                    yield stretch
                if leaf_count < RANGE_LEAVES:
                    return
                waiting.extend(islice(tasks, 1))
        finally:
            pool.shutdown(cancel_futures=True)
