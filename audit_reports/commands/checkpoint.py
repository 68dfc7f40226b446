"""Commands about what is signed: `checkpoint`, `prove`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.new_file import check_new, write_new
from audit_reports.options import (
    CheckpointOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    UsageError,
    VkeyOption,
    keys_folder,
    named_ledger,
)
from audit_reports.output import note, print_json, print_line

__all__ = ["register"]

OutOption = Annotated[str, typer.Option("-o", "--out", help="A new file to write; one that is there is never replaced.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("checkpoint")(checkpoint)
    app.command("prove")(prove)


def checkpoint(out: OutOption = "", ledger: LedgerOption = "ledger.db", keys: KeysOption = "", as_json: JsonOption = False) -> None:
    """Sign the ledger's tree as it stands now.

    Prints the checkpoint, or writes it with -o, and keeps a copy in the keys folder. Give it to somebody who does not
    hold the ledger: from then on nothing under it can be changed unseen.

    Example: audit checkpoint -o 2026-11-30.checkpoint
    """
    from ledger.checkpoints import sign_tree
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    check_new(out)
    opened = RoundLedger.open_for_reading(path)
    try:
        kept = sign_tree(opened, keys_folder(path, keys))
    finally:
        opened.close()
    if out:
        write_new(out, str(kept.signed).encode())
    origin, tree_size, root, _ = kept.signed.checkpoint
    if as_json:
        facts = {"schema": "checkpoint/1", "origin": origin, "tree_size": tree_size, "root": root.hex(), "note": str(kept.signed)}
        print_json({**facts, "kept": str(kept.path), "file": out or None})
        return
    if out:
        print_line(f"checkpoint of {tree_size} leaves, root {root.hex()}, in {out}")
    else:
        sys.stdout.write(str(kept.signed))
    note(f"a copy is kept in {kept.path}; hand one to somebody who does not hold the ledger")


def prove(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    check: Annotated[str, typer.Option("--check", help="A proof to check, without the ledger.")] = "",
    out: OutOption = "",
    checkpoints: CheckpointOption = None,
    vkeys: VkeyOption = None,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Prove that a round is in the record, or check that.

    The proof leads to the checkpoint given, else to the newest in the keys folder. It is checked without the ledger, here
    or by tools/check_proof.py, which shares no code with this program.

    Examples: audit prove --round 01a22cfdc2af -o proof.json · audit prove --check proof.json --vkey log.vkey
    """
    if bool(round_) == bool(check):
        raise UsageError("--round, --check", "one of them", "both" if check else "neither")
    from replay.anchors import load_anchors

    if check:
        if out:
            raise UsageError("-o", "it with --round only", out)
        sys.exit(_check(check, load_anchors(checkpoints or [], vkeys or []), as_json=as_json))
    if not out:
        raise UsageError("-o", "a new file for the proof", "")
    check_new(out)
    path = named_ledger(ledger)
    sys.exit(_prove(path, keys_folder(path, keys), round_, out, load_anchors(checkpoints or [], vkeys or []), as_json=as_json))


def _prove(path: Any, keys: Path, wanted: str, out: str, anchors: Any, *, as_json: bool) -> int:
    from ledger.checkpoints import kept_checkpoints
    from ledger.keys import parse_verifier_key
    from ledger.rounds import RoundLedger
    from replay.anchors import GivenCheckpoint, compare
    from replay.round_proof import build_proof, check_proof
    from replay.verdict import EXIT_CLEAN, EXIT_FINDINGS

    if not anchors.checkpoints:
        kept = kept_checkpoints(keys)
        if not kept:
            raise UsageError("--checkpoint", f"one, or one in {keys} made by `audit checkpoint`", "none")
        anchors = anchors._replace(checkpoints=(GivenCheckpoint(str(kept[-1].path), kept[-1].signed),))
    opened = RoundLedger.open_for_reading(path)
    try:
        comparison = compare(opened, anchors, opened.store.tree())
        given = comparison.checkpoint
        if comparison.findings or given is None:
            _print_findings("", comparison.findings, comparison, as_json=as_json)
            return EXIT_FINDINGS
        round_id = opened.find_round(wanted)
        proof = build_proof(opened, round_id, given.signed, parse_verifier_key(comparison.signed_by[0], where=given.where))
    finally:
        opened.close()
    checked = check_proof(proof, anchors._replace(checkpoints=(given,)), where=out)
    if checked.findings:
        _print_findings(round_id, checked.findings, comparison, as_json=as_json)
        return EXIT_FINDINGS
    write_new(out, proof.as_json().encode())
    tree_size = given.signed.checkpoint.tree_size
    if as_json:
        print_json({"schema": "prove/1", "round_id": round_id, "file": out, "findings": [], "ledger": comparison.as_json()})
    else:
        events = sum(len(append.events) for append in proof.appends)
        print_line(f"proof of round {round_id} in {out}: {events} events under the checkpoint of {tree_size} leaves")
        print_line(comparison.statement)
    return EXIT_CLEAN


def _check(file: str, anchors: Any, *, as_json: bool) -> int:
    from replay.round_proof import check_proof, load_proof
    from replay.verdict import EXIT_CLEAN, EXIT_FINDINGS

    proof = load_proof(Path(file))
    findings, signed, comparison = check_proof(proof, anchors, where=file)
    if findings or as_json:
        _print_findings(proof.round_id, findings, comparison, as_json=as_json)
        return EXIT_FINDINGS if findings else EXIT_CLEAN
    events = sum(len(append.events) for append in proof.appends)
    _, tree_size, root, _ = signed.checkpoint
    print_line(f"PROVEN  round {proof.round_id}")
    print_line(
        f"  {events} events in {len(proof.appends)} appends were recorded under the checkpoint of {tree_size} leaves, root {root.hex()}"
    )
    print_line(f"  {comparison.statement}")
    print_line("  that no event came after these is not shown by a proof")
    return EXIT_CLEAN


def _print_findings(round_id: str, findings: Any, comparison: Any, *, as_json: bool) -> None:
    from audit_reports.verdict_view import finding_json, finding_lines

    if as_json:
        facts = {"schema": "prove/1", "round_id": round_id or None, "proven": not findings}
        print_json({**facts, "findings": [finding_json(finding) for finding in findings], "ledger": comparison.as_json()})
        return
    print_line(f"NOT PROVEN  round {round_id}" if round_id else "NOT PROVEN")
    for finding in findings:
        for line in finding_lines(finding):
            print_line(line)
    print_line(f"  {comparison.statement}")
