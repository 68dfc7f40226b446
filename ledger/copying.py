"""A safe copy of a ledger that may be in use: one moment of it, whole, in one file without a write-ahead log.

A ledger on PostgreSQL is copied into a file as well: an evidence copy that is read, checked and verified without a server.
"""

import os
import sqlite3
from pathlib import Path

from ledger.address import DatabaseAddress, LedgerPlace
from ledger.errors import LedgerExists, LedgerUnwritable
from ledger.rounds import RoundLedger
from ledger.sqlite_schema import check_ledger_file, ledger_error, ledger_uri

__all__ = ["copy_ledger"]

PAGES_A_STEP = 1000


def copy_ledger(place: LedgerPlace, out: Path) -> tuple[int, bytes]:
    """Copy the ledger at `place` to the new file `out` and return tree size and root of the copy.

    A copy that fails leaves no file. Raises LedgerExists, LedgerUnwritable, and LedgerMissing and its kin, or as `copy_database`.
    """
    if not isinstance(place, DatabaseAddress):
        check_ledger_file(place)
    draft = out.with_name(out.name + ".new")
    if out.exists() or draft.exists():
        raise LedgerExists(str(out if out.exists() else draft))
    try:
        if isinstance(place, DatabaseAddress):
            from ledger.postgres_copying import copy_database

            copy_database(place, draft)
        else:
            _back_up(place, draft)
        os.link(draft, out)
    except FileExistsError as error:
        raise LedgerExists(str(out)) from error
    except OSError as error:
        raise LedgerUnwritable(str(out), error.strerror or type(error).__name__) from error
    finally:
        for ending in ("", "-wal", "-shm"):
            draft.with_name(draft.name + ending).unlink(missing_ok=True)
    with RoundLedger.open_for_reading(out) as ledger:
        tree = ledger.store.tree()
    return tree.size, tree.root


def _back_up(path: Path, draft: Path) -> None:
    try:
        source = sqlite3.connect(ledger_uri(path, writable=False), uri=True)
        try:
            target = sqlite3.connect(draft)
            try:
                source.backup(target, pages=PAGES_A_STEP)
                # The copy keeps the mode of the ledger's file; its own log is emptied, so that one file is the whole of it.
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                target.close()
        finally:
            source.close()
    except sqlite3.Error as error:
        raise ledger_error(str(draft), error) from error
