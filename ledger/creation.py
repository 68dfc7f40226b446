"""A new ledger: keys, file, tables and the first event, in place all at once or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eventsourcing.utils import Environment

from engines.game import EventBytes
from ledger.address import DatabaseAddress, LedgerPlace
from ledger.codec import event_bytes
from ledger.errors import KeysExist, LedgerExists, LedgerUnwritable
from ledger.keys import LOG_KEY, LOG_VKEY, SEEDS_KEY, VerifierKey, create_keys
from ledger.lifecycle_events import LedgerCreated
from ledger.references import new_reference, now_us
from ledger.sqlite import LedgerFactory
from ledger.sqlite_schema import create_tables, empty_log, ledger_uri
from ledger.store import LEDGER_STREAM

__all__ = ["create_ledger", "first_event", "ledger_env"]


def ledger_env(place: LedgerPlace, *, is_writable: bool) -> dict[str, str]:
    """Return the settings of the eventsourcing library for a ledger."""
    if isinstance(place, DatabaseAddress):
        from ledger.postgres import postgres_env

        return postgres_env(is_writable=is_writable)
    path = place
    return {
        LedgerFactory.SQLITE_DBNAME: ledger_uri(path, writable=is_writable),
        LedgerFactory.ORIGINATOR_ID_TYPE: "text",
        LedgerFactory.CREATE_TABLE: "n",
        LedgerFactory.LEDGER_PATH: str(path),
        LedgerFactory.LEDGER_ACCESS: "write" if is_writable else "read",
    }


def create_ledger(place: LedgerPlace, keys_dir: Path) -> VerifierKey:
    """Make a ledger and its keys and return the key to verify it by; raises LedgerExists, KeysExist, LedgerUnwritable.

    In a database raises as `check_ledger_database` too: there all is one transaction.
    """
    if isinstance(place, DatabaseAddress):
        from ledger.postgres_creation import create_in_database

        return create_in_database(place, keys_dir)
    return _create_file(place, keys_dir)


def _create_file(path: Path, keys_dir: Path) -> VerifierKey:
    """Make a ledger in a file.

    The file is finished under another name and then linked to its own, so that no half-made ledger is ever found there.
    """
    if os.path.lexists(path):  # a link that leads nowhere as well
        raise LedgerExists(str(path))
    ledger_id = new_reference()
    draft = path.with_name(f"{path.name}.{ledger_id[:8]}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_tables(draft)
        with _new_keys(keys_dir, ledger_id) as verifier_key:
            _record_creation(draft, ledger_id, verifier_key)
            empty_log(draft)
            os.link(draft, path)
        _flush_folder(path.parent)
    except FileExistsError as error:
        raise LedgerExists(str(path)) from error
    except OSError as error:
        raise LedgerUnwritable(str(path), error.strerror or type(error).__name__) from error
    finally:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                draft.with_name(draft.name + ending).unlink()
    return verifier_key


@contextmanager
def _new_keys(folder: Path, ledger_id: str) -> Iterator[VerifierKey]:
    """Make the keys of a ledger; where making them or the ledger fails, those that were made are taken away again."""
    was_there = folder.exists()
    before = {name for name in (LOG_KEY, LOG_VKEY, SEEDS_KEY) if os.path.lexists(folder / name)}
    try:
        yield create_keys(folder, ledger_id)
    except KeysExist:  # another ledger's, be it one that is being made at this moment
        raise
    except BaseException:
        for name in {LOG_KEY, LOG_VKEY, SEEDS_KEY} - before:
            (folder / name).unlink(missing_ok=True)
        if not was_there:
            with suppress(OSError):
                folder.rmdir()
        raise


def first_event(ledger_id: str, verifier_key: VerifierKey, now: int) -> EventBytes:
    """Return the event that a ledger begins with."""
    return event_bytes(
        LedgerCreated(ledger_id=ledger_id, record="record/1", log_public_key=verifier_key.public_key.hex(), created_at_us=now)
    )


def _record_creation(path: Path, ledger_id: str, verifier_key: VerifierKey) -> None:
    now = now_us()
    factory = LedgerFactory(Environment("RoundLedger", ledger_env(path, is_writable=True)))
    try:
        recorder = factory.application_recorder()
        recorder.clock = lambda: now
        recorder.append_events(LEDGER_STREAM, 1, [first_event(ledger_id, verifier_key, now)])
    finally:
        factory.close()


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
