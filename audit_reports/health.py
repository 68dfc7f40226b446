"""What `audit doctor` looks at: versions, the database's settings, clock, keys, compile cache."""

import platform
import sqlite3
import stat
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from engines.canonical import CanonicalFormError
from engines.rules import RulesFileError
from ledger.address import DatabaseAddress, LedgerPlace
from ledger.checkpoints import log_keys
from ledger.errors import LedgerEmpty, LedgerError, LedgerMissing
from ledger.keys import LOG_KEY, LOG_VKEY, SEEDS_KEY, load_log_key, load_seed_key, load_verifier_key, public_key_bytes
from ledger.postgres_schema import APPEND_ONLY, read_settings
from ledger.rounds import RoundLedger
from ledger.seed_keys import kept_seed_keys, last_rotation, seed_key_id
from ledger.sqlite_schema import ledger_uri, refusals
from ledger.table_rows import table_rows
from replay.self_check import check_installed

__all__ = ["Point", "diagnose"]

CLOCK_EARLIEST_US = 1_760_000_000_000_000  # this software is younger than that


class Point(NamedTuple):
    """One thing looked at: what was found, whether it is fine, and what mends it where it is not."""

    what: str
    is_fine: bool
    found: str
    mend: str = ""


def diagnose(ledger: LedgerPlace, keys_dir: Path) -> list[Point]:
    """Return every point, in the order to mend them; changes nothing."""
    return [*_versions(), _compiler(), _clock(), *_ledger(ledger, keys_dir), *_keys(ledger, keys_dir)]


def _versions() -> Iterator[Point]:
    yield Point("Python", True, platform.python_version())
    yield Point(
        "SQLite",
        sqlite3.sqlite_version_info >= (3, 35),
        sqlite3.sqlite_version,
        "" if sqlite3.sqlite_version_info >= (3, 35) else "want 3.35 or newer",
    )
    for package in ("slot-audit", "eventsourcing", "pydantic", "sqlite-utils", "cryptography"):
        try:
            yield Point(package, True, version(package))
        except PackageNotFoundError:
            yield Point(package, False, "not installed", f"pip install {package}")


def _compiler() -> Point:
    if find_spec("numba") is None:
        return Point(
            "compiled kernels", True, "numba is not installed: rounds are replayed in plain Python, same bytes; slot-audit[fast] brings it"
        )
    from engines.jit import cache_folder

    folder = cache_folder()
    found = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
    return Point("compiled kernels", True, f"numba {version('numba')}, cache {folder} ({found // 1024} KiB)")


def _clock() -> Point:
    now_us = time.time_ns() // 1000
    is_fine = now_us >= CLOCK_EARLIEST_US
    found = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_us // 1_000_000))
    return Point("clock", is_fine, found, "" if is_fine else "set the system clock, or synchronise it by NTP")


def _mend_ledger(path: LedgerPlace, keys_dir: Path, error: LedgerError) -> str:
    if not isinstance(error, LedgerMissing | LedgerEmpty):
        return "name the right one with --ledger, or restore it from its backup"
    if any((keys_dir / name).exists() for name in (LOG_KEY, LOG_VKEY, SEEDS_KEY)):
        return f"its keys are there, in {keys_dir}: restore the ledger from its backup, or name it with --ledger; a new one needs new keys"
    if isinstance(error, LedgerEmpty) and isinstance(path, Path):
        return f"remove the file, then audit init --ledger {path}"
    return f"audit init --ledger {path}"


def _ledger(path: LedgerPlace, keys_dir: Path) -> Iterator[Point]:
    try:
        ledger = RoundLedger.open_for_reading(path)
    except LedgerError as error:
        yield Point("ledger", False, str(error), _mend_ledger(path, keys_dir, error))
        return
    try:
        try:
            tree = ledger.store.tree()
            yield Point("ledger", True, f"{path}, id {ledger.created().ledger_id}, {tree.size} leaves")
        except (LedgerError, CanonicalFormError) as error:
            yield Point("ledger", False, str(error), "treat the ledger as altered: keep it, run audit fsck, restore it from its backup")
            return
        yield from _database(path) if isinstance(path, DatabaseAddress) else _settings(path)
        yield _definitions(path)
        yield _last_write(ledger, tree.size)
        yield from _builds(ledger)
    finally:
        ledger.close()


def _settings(path: Path) -> Iterator[Point]:
    connection = sqlite3.connect(ledger_uri(path, writable=False), uri=True)
    try:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        yield Point("journal", mode == "wal", mode, "" if mode == "wal" else f"sqlite3 {path} 'PRAGMA journal_mode=WAL'")
        # By what they do: one of the same name may do nothing, and another may alter what is written.
        found = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")}
        wanted = set(refusals())
        mend = "triggers that refuse UPDATE and DELETE were dropped, or others made: treat the ledger as altered, run audit verify --all"
        others = f" and {len(found - wanted)} that are not the ledger's" if found - wanted else ""
        yield Point("append-only triggers", found == wanted, f"{len(found & wanted)}{others}", "" if found == wanted else mend)
    finally:
        connection.close()


def _database(address: DatabaseAddress) -> Iterator[Point]:
    settings = read_settings(address)
    yield Point("PostgreSQL", True, settings.server_version)
    yield Point("encoding", settings.encoding == "UTF8", settings.encoding, "" if settings.encoding == "UTF8" else "want UTF8")
    for name in ("fsync", "full_page_writes"):
        value = str(getattr(settings, name))
        is_on = value == "on"
        yield Point(name, is_on, value, "" if is_on else f"ALTER SYSTEM SET {name} = on; a crash may lose what was acknowledged")
    is_guarded = settings.guarded_tables == len(APPEND_ONLY)
    mend = "" if is_guarded else "triggers that refuse changes were dropped: treat the ledger as altered, run audit verify --all"
    yield Point("append-only triggers", is_guarded, f"on {settings.guarded_tables} tables", mend)


def _definitions(place: LedgerPlace) -> Point:
    with table_rows(place) as rows:
        faults = list(rows.structure.definition_faults())
    if not faults:
        return Point("definitions", True, "tables, indexes and triggers as in a new ledger")
    found = f"{len(faults)} otherwise than in a new ledger, the first: {faults[0].message}"
    return Point("definitions", False, found, "treat the ledger as altered: keep it, run audit fsck")


def _last_write(ledger: RoundLedger, tree_size: int) -> Point:
    records = list(ledger.store.streams_touched(max(tree_size - 1, 0), tree_size))
    appends = [append for stream in records for append in ledger.store.stream_appends(stream)]
    last_us = max((append.recorded_at_us for append in appends), default=0)
    is_fine = last_us <= time.time_ns() // 1000
    return Point(
        "last write",
        is_fine,
        "not in the future" if is_fine else "in the future",
        "" if is_fine else "the clock went back: synchronise it by NTP",
    )


def _builds(ledger: RoundLedger) -> Iterator[Point]:
    try:
        checked = check_installed(ledger)
    except (LedgerError, CanonicalFormError, RulesFileError) as error:
        yield Point("builds", False, str(error), "restore what it names: the installed program by the release, the ledger by its backup")
        return
    if not checked.registered:
        yield Point("builds", not checked.findings, "none is registered: no round is judged by its build")
    for build in checked.installed:
        if checked.is_registered(build):
            yield Point(f"build {build.game} {build.rules_version}", True, f"{build.fingerprint} is registered")
    release = "install the registered release, or have this one approved: audit builds register; audit builds list shows each file"
    altered = "treat the ledger as altered: keep it, run audit fsck"
    for finding in checked.findings:
        yield Point("builds", False, finding.message, release if finding.code == "build_unapproved" else altered)


def _keys(ledger_path: LedgerPlace, folder: Path) -> Iterator[Point]:
    mend = f"restore {folder} from its backup, or name the folder with --keys"
    if isinstance(ledger_path, Path) and not ledger_path.exists() and not folder.exists():
        mend = "audit init makes the keys together with the ledger"
    for name, load in (("seeds.key", load_seed_key), ("log.key", load_log_key)):
        path = folder / name
        try:
            load(folder)
        except LedgerError as error:
            yield Point(name, False, str(error), mend)
            continue
        is_private = not stat.S_IMODE(path.stat().st_mode) & 0o077
        yield Point(
            name, is_private, str(path) if is_private else f"{path} can be read by others", "" if is_private else f"chmod 600 {path}"
        )
    yield from _seed_key_in_force(ledger_path, folder)
    yield from _kept_seed_keys(folder)
    yield _verifier_key(ledger_path, folder, mend)


def _kept_seed_keys(folder: Path) -> Iterator[Point]:
    """Yield each key of a rotation that is not the one its name says: the epochs that it sealed could not be opened."""
    for path in kept_seed_keys(folder):
        mend = f"restore {path} from its backup; without it the seeds that it sealed cannot be opened"
        try:
            found = seed_key_id(load_seed_key(folder, path.name))
        except LedgerError as error:
            yield Point(path.name, False, str(error), mend)
            continue
        if not path.name.endswith(f".{found[: len(path.suffix) - 1]}"):
            yield Point(path.name, False, f"{path}: want the key of that id, got {found}", mend)


def _seed_key_in_force(ledger_path: LedgerPlace, folder: Path) -> Iterator[Point]:
    """Yield whether `seeds.key` is the one that the record names, where it names one and both can be read."""
    try:
        found = seed_key_id(load_seed_key(folder))
        ledger = RoundLedger.open_for_reading(ledger_path)
        try:
            rotated = last_rotation(ledger.store)
        finally:
            ledger.close()
    except (LedgerError, CanonicalFormError):
        return  # said of the key or of the ledger
    if rotated is None:
        return
    is_fine = found == rotated.new_key_id
    mend = "" if is_fine else f"the next round finishes a rotation cut short; else put the key in force in {folder}, or audit seeds rekey"
    got = found if is_fine else f"{found}, the record names {rotated.new_key_id}"
    yield Point("seed key in force", is_fine, got, mend)


def _verifier_key(ledger_path: LedgerPlace, folder: Path, mend: str) -> Point:
    try:
        key = load_verifier_key(folder / "log.vkey")
        own = public_key_bytes(load_log_key(folder)).hex()
    except LedgerError as error:
        return Point("log.vkey", False, str(error), mend)
    try:
        ledger = RoundLedger.open_for_reading(ledger_path)
        try:
            recorded = log_keys(ledger)[-1].public_key.hex()
        finally:
            ledger.close()
    except (LedgerError, CanonicalFormError):
        if key.public_key.hex() == own:
            return Point("log.vkey", True, f"{key}; not held against the ledger, which cannot be read: see there")
        return Point("log.vkey", False, "not the key of log.key", mend)
    is_fine = key.public_key.hex() == recorded == own
    return Point("log.vkey", is_fine, str(key) if is_fine else "not the ledger's own key", "" if is_fine else mend)
