"""The whole ledger as a thing of its own: `fsck`, `copy`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.options import (
    CheckpointOption,
    HistoryOption,
    JsonOption,
    LedgerOption,
    VkeyOption,
    check_file_name,
    history_path,
    job_count,
    named_ledger,
)
from audit_reports.output import follow, print_json, print_line
from ledger.address import DatabaseAddress, LedgerPlace

__all__ = ["register"]

EXIT_FINDINGS = 3


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("fsck")(fsck)
    app.command("copy")(copy)


def fsck(
    checkpoints: CheckpointOption = None,
    vkeys: VkeyOption = None,
    ledger: LedgerOption = "ledger.db",
    history_file: HistoryOption = "",
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            help="Of a large ledger: 1 is plain Python alone, more machine code where numba is there, else so many processes; "
            "0 is one for each core.",
        ),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Check the integrity of a whole ledger.

    Every byte, version, leaf, node and row, the checkpoints given, and the read model where there is one.
    Example: audit fsck --checkpoint kept.checkpoint --vkey log.vkey
    """
    from ledger.fsck import FsckResult, check_ledger, leaf_count
    from replay.anchors import load_anchors

    place = named_ledger(ledger)
    model = _read_model(place, history_file)
    anchors = load_anchors(checkpoints or [], vkeys or [])
    signature_findings, statement = _check_signatures(place, anchors)
    held = [(given.signed.checkpoint.tree_size, given.signed.checkpoint.root) for given in anchors.checkpoints]
    counted: list[FsckResult] = []
    count = 0
    for text in signature_findings:
        count += 1
        _print_fault({"code": "checkpoint_signature", "message": text}, as_json=as_json)
    total = leaf_count(place)
    steps = check_ledger(place, held_roots=held, counted=counted, is_ticking=True, job_count=job_count(jobs))
    for step in follow(steps, what="leaves", total=total):
        if step is not None:
            count += 1
            _print_fault({**step._asdict(), "message": step.message}, as_json=as_json)
    for difference in _compare_model(place, model) if model is not None else []:
        count += 1
        _print_fault({"code": "read_model", "message": f"read model, {difference.message}"}, as_json=as_json)
    _sum_up(counted[0], count, statement, is_model_compared=model is not None, as_json=as_json)
    sys.exit(EXIT_FINDINGS if count else 0)


def _check_signatures(place: LedgerPlace, anchors: Any) -> tuple[list[str], str]:
    """Return what is wrong with the checkpoints' origins and signatures, and what they are worth, in words."""
    from ledger.rounds import RoundLedger
    from replay.anchors import HELD_KEY, NO_CHECKPOINT, NO_KEY, NOT_HELD, compare

    opened = RoundLedger.open_for_reading(place)
    try:
        # Roots are held against what the events themselves come to, not against stored subtrees: so no tree is given here.
        comparison = compare(opened, anchors, None)
    finally:
        opened.close()
    is_held = bool(anchors.log_keys) and not comparison.findings
    statement = NO_CHECKPOINT if not anchors.checkpoints else HELD_KEY if is_held else NOT_HELD if anchors.log_keys else NO_KEY
    return [finding.message for finding in comparison.findings], statement


def _read_model(place: LedgerPlace, history_file: str) -> Path | None:
    """Return the read model to compare with: the one named, else one that lies beside the file of the ledger."""
    from ledger.history import is_history

    if isinstance(place, DatabaseAddress) and not history_file:
        return None
    model = history_path(place, history_file)
    return model if is_history(model) or (history_file and not model.exists()) else None


def _compare_model(place: LedgerPlace, model: Path) -> list[Any]:
    from ledger.history import compare
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(place)
    try:
        return compare(opened, model)
    finally:
        opened.close()


def _print_fault(fault: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": "fsck/1", **fault})
    else:
        print_line(f"[integrity] {fault['code']}: {fault['message']}")


def _sum_up(result: Any, count: int, statement: str, *, is_model_compared: bool, as_json: bool) -> None:
    if as_json:
        counts = {"events": result.event_count, "leaves": result.leaf_count, "rounds": result.round_count, "findings": count}
        document = {"schema": "fsck/1", **counts, "root": result.root.hex(), "held": statement, "read_model": is_model_compared}
        print_json(document)
        return
    print_line(
        f"{result.event_count} events, {result.leaf_count} leaves, {result.round_count} rounds: {count} finding{'' if count == 1 else 's'}"
    )
    print_line(f"root recomputed from the events: {result.root.hex()}")
    print_line(f"checkpoints: {statement}" if statement else "")
    if not is_model_compared:
        print_line("no read model to compare with")


def copy(
    out: Annotated[str, typer.Argument(help="A new file.")],
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Make a safe copy of a ledger, in use or not.

    One moment of it in one new file. A ledger on PostgreSQL is copied into a file as well: all its rows, names of accounts included.

    Example: audit copy evidence.db --ledger casino.db
    """
    from ledger.copying import copy_ledger

    place = named_ledger(ledger)
    check_file_name(out, "OUT")
    tree_size, root = copy_ledger(place, Path(out))
    if as_json:
        print_json({"schema": "copy/1", "ledger": str(place), "copy": out, "tree_size": tree_size, "root": root.hex()})
        return
    print_line(f"{out}: {tree_size} leaves, root {root.hex()}; keys and read model are not copied")
