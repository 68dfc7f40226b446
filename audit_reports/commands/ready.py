"""Commands that make ready: `init`, `doctor`, `demo`."""

import sys
from typing import Annotated

import typer

from audit_reports.options import JsonOption, KeysOption, LedgerOption, keys_folder, named_ledger
from audit_reports.output import print_json, print_line

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("demo")(demo)
    app.command("init")(init)
    app.command("doctor")(doctor)


def demo(
    folder: Annotated[str, typer.Option("--dir", help="A new folder; demo, demo-2, … here unless named.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Play, verify, alter a copy, show what is found.

    Example: audit demo --dir /tmp/tour
    """
    from audit_reports.demo import run_demo

    sys.exit(run_demo(folder, as_json=as_json))


def init(ledger: LedgerOption = "ledger.db", keys: KeysOption = "", as_json: JsonOption = False) -> None:
    """Make a new ledger and its keys.

    Example: audit init --ledger casino.db
    """
    from ledger.keys import load_verifier_key
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    folder = keys_folder(path, keys)
    made = RoundLedger.create(path, folder)
    try:
        ledger_id = made.created().ledger_id
    finally:
        made.close()
    verifier_key = str(load_verifier_key(folder / "log.vkey"))
    if as_json:
        print_json({"schema": "init/1", "ledger": str(path), "ledger_id": ledger_id, "keys": str(folder), "vkey": verifier_key})
        return
    print_line(f"ledger        {path}")
    print_line(f"ledger id     {ledger_id}")
    print_line(f"keys          {folder}: log.key and seeds.key are secret and to be backed up, log.vkey is for auditors")
    print_line(f"verifier key  {verifier_key}")
    print_line("Hand log.vkey to your auditor now, by another way than the ledger; play with: audit play --game moonlight-princess")


def doctor(ledger: LedgerOption = "ledger.db", keys: KeysOption = "", as_json: JsonOption = False) -> None:
    """Say what is fine here, and what mends the rest.

    Example: audit doctor --ledger casino.db
    """
    from audit_reports.health import diagnose

    path = named_ledger(ledger)
    points = diagnose(path, keys_folder(path, keys))
    if as_json:
        print_json({"schema": "doctor/1", "points": [point._asdict() for point in points]})
    else:
        for point in points:
            print_line(
                f"{'ok  ' if point.is_fine else 'BAD '} {point.what}: {point.found}"
                + (f"\n       mend: {point.mend}" if point.mend else "")
            )
    if any(not point.is_fine for point in points):
        sys.exit(4)
