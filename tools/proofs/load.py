"""Many processes that play on the same accounts of one ledger at once, on each database."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ledger_files import Place
from tests.load import Load, put_under_load
from tests.postgres_server import PostgresServer, is_required, postgres_binaries
from tools.proofs.proof import ProofError, expect

__all__ = ["prove_load"]

SHARES = {"half": 0.5, "99 of 100": 0.99, "999 of 1000": 0.999, "all": 1.0}


@contextmanager
def _server() -> Iterator[PostgresServer | None]:
    binaries = postgres_binaries()
    if binaries is None:
        if is_required():
            raise ProofError("load", "a PostgreSQL server", "none on this machine")
        yield None
        return
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _loaded(place: Place, load: Load, folder: Path) -> dict[str, Any]:
    result = put_under_load(place, load, folder)
    expect(f"faults under load on {'PostgreSQL' if isinstance(place.ledger, str) else 'SQLite'}", [], result.faults)
    reckoning = result.reckoning
    return {
        "rounds": len(reckoning.rounds),
        "events": reckoning.event_count,
        "told": {**dict(result.told.most_common()), "locked": result.told["locked"]},
        "in_play_at_the_end": sum(bool(account.in_play) for account in reckoning.accounts.values()),
        "debits_minor": sum(account.debits for account in reckoning.accounts.values()),
        "credits_minor": sum(account.credits for account in reckoning.accounts.values()),
        "milliseconds_of_calls_at_most": {name: result.milliseconds(share) for name, share in SHARES.items()},
    }


def prove_load(options: argparse.Namespace) -> dict[str, Any]:
    """Of many processes that play on the same accounts none gets two rounds in play, a wrong balance or another answer than the record."""
    load = Load(options.load_processes, options.load_accounts, options.load_seconds)
    found = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name, _server() as server:
        folder = Path(name)
        found["sqlite"] = _loaded(Place(folder / "ledger.db", folder / "keys"), load, folder)
        if server is None:
            found["postgresql"] = {"skipped": "no server on this machine"}
        else:
            found["postgresql"] = _loaded(Place(server.url(server.new_database()), folder / "other-keys"), load, folder)
    return {"processes": load.processes, "accounts": load.accounts, "seconds_of_play": load.seconds, "databases": found}
