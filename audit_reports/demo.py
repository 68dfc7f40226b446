"""The guided tour: play, verify, alter a copy, show what is found, hand a round over."""

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any, NamedTuple

from audit_reports.evidence_pack import PackTerms, build_pack
from audit_reports.new_file import write_new
from audit_reports.options import UsageError, check_place
from audit_reports.output import follow, print_json, print_line
from audit_reports.pack_check import PackCheck, check_pack
from audit_reports.pack_paper import PaperMissingError
from audit_reports.pack_view import check_lines
from audit_reports.verdict_view import finding_json, summary_json, summary_lines, verdict_lines
from engines.canonical import canonical_json
from engines.registry import GAMES, installed_game, installed_rules
from ledger.checkpoints import sign_tree
from ledger.errors import LedgerUnwritable
from ledger.keys import create_signing_key, load_verifier_key
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM
from replay.anchors import load_anchors
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verification import Verification, Verifier

__all__ = ["run_demo"]

ROUNDS = {"base": 40, "ante": 20, "buy": 3}
COINS_MINOR = 10  # of a bet, or the most that the game takes
FUNDS_MINOR = 10_000_00
PACK = "pack.zip"


class Alteration(NamedTuple):
    """What was done to the copy: a win's amount and its round's total raised in the stored bytes."""

    round_id: str
    version: int
    win_minor: int
    altered_minor: int


def run_demo(folder: str, *, as_json: bool) -> int:
    """Run the tour in a new folder and return the exit status: 0 where the honest ledger is clean and the alteration found."""
    place = _new_folder(folder)
    say = (lambda text="": None) if as_json else print_line
    say("1. A new ledger, and rounds of every game, each recorded before and after its outcome")
    path = place / "ledger.db"
    played = _play_rounds(path)
    for mode, count in played.items():
        say(f"   {mode}: {count} rounds")
    say()
    say("2. Every round rerun from its seed and held against the rules")
    summary = _verify_all(path)
    if not as_json:
        for line in summary_lines(summary):
            print_line("   " + line)
    say()
    say("3. A copy in which somebody raised one win")
    copy = place / "altered.db"
    alteration = _alter_copy(path, copy)
    place_of_it = f"round {alteration.round_id}, event {alteration.version - 1}"
    say(f"   {place_of_it}: win of {alteration.win_minor} minor units made {alteration.altered_minor}")
    verification = _verify_round(copy, place / "ledger.db.keys", alteration.round_id)
    if not as_json:
        for line in verdict_lines(verification):
            print_line("   " + line)
    say()
    say("4. The evidence pack of that round from the honest ledger, checked by itself")
    try:
        found = _check_pack(place, alteration.round_id)
    except PaperMissingError as error:  # an installation without the extra: the tour goes on
        found = None
        say(f"   not built: {error}")
    if found is not None and not as_json:
        for line in check_lines(found):
            print_line("   " + line)
    say()
    is_well = not summary.is_wrong and verification.verdict == "record_tampered" and bool(verification.findings)
    is_well = is_well and (found is None or not found.findings)
    if as_json:
        document = {"schema": "demo/1", "folder": str(place), "rounds": played, "summary": summary_json(summary)}
        findings = [finding_json(finding) for finding in verification.findings]
        altered = {"altered": alteration._asdict(), "altered_verdict": verification.verdict, "altered_findings": findings}
        print_json({**document, **altered, "pack": _pack_json(place, found)})
    else:
        _say_where(place, alteration, is_packed=found is not None)
    return 0 if is_well else 3


def _new_folder(folder: str) -> Path:
    try:
        if folder:
            check_place(folder, "--dir", "a folder")
            place = Path(folder)
            if place.exists() and any(place.iterdir() if place.is_dir() else [place]):
                raise UsageError("--dir", "a new or empty folder", folder)
        else:
            number = 1
            while Path(f"demo-{number}" if number > 1 else "demo").exists():
                number += 1
            place = Path(f"demo-{number}" if number > 1 else "demo")
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerUnwritable(folder or os.curdir, error.strerror or type(error).__name__) from error
    return place


def _play_rounds(path: Path) -> dict[str, int]:
    ledger = RoundLedger.create(path)
    try:
        account_ref = ledger.open_account("player", "EUR")
        ledger.move_funds(account_ref, FUNDS_MINOR, "play_money")
        played = [(installed_game(game), mode) for game in GAMES for mode in ROUNDS if installed_rules(game).mode(mode)]
        jobs = [(game, mode) for game, mode in played for _ in range(ROUNDS[mode])]
        for game, mode in follow(jobs, what="rounds played", total=len(jobs)):
            bet = game.rules.bet
            ledger.play(account_ref, game, mode, bet.coins * min(COINS_MINOR, bet.coin_minor_max))
    finally:
        ledger.close()
    return {f"{game.rules.game} {mode}": ROUNDS[mode] for game, mode in played}


def _verify_all(path: Path) -> BulkSummary:
    summary = BulkSummary()
    plan = plan_bulk(path, path.with_name(path.name + ".keys"))
    for _ in follow(verify_bulk(plan, summary), what="rounds verified", total=plan.round_count):
        pass
    return summary


def _verify_round(path: Path, keys_dir: Path, round_id: str) -> Verification:
    ledger = RoundLedger.open_for_reading(path)
    try:
        return Verifier(ledger, keys_dir=keys_dir).verify(round_id)
    finally:
        ledger.close()


def _check_pack(place: Path, round_id: str) -> PackCheck:
    """Build the pack of a round, held against a checkpoint and signed by a key of the tour's own, and check it."""
    path, keys_dir = place / "ledger.db", place / "ledger.db.keys"
    ledger = RoundLedger.open_for_reading(path)
    try:
        (place / "kept.checkpoint").write_text(str(sign_tree(ledger, keys_dir).signed))
        anchors = load_anchors([str(place / "kept.checkpoint")], [str(keys_dir / "log.vkey")])
        data = build_pack(ledger, round_id, PackTerms(keys_dir, anchors), create_signing_key(place / "pack.key")).data
    finally:
        ledger.close()
    write_new(str(place / PACK), data)
    return check_pack(data, PACK, vkeys=[load_verifier_key(keys_dir / "log.vkey")])


def _alter_copy(path: Path, copy: Path) -> Alteration:
    """Copy the ledger and raise the first win in it, past the triggers that refuse it, as someone with the file could."""
    shutil.copyfile(path, copy)
    with sqlite3.connect(copy) as connection:
        for name, kind in connection.execute("SELECT name, type FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP {kind} {name}")
        statement = "SELECT originator_id, originator_version, state FROM stored_events WHERE topic = 'win/1' ORDER BY rowid LIMIT 1"
        stream, version, state = connection.execute(statement).fetchone()
        event: dict[str, Any] = json.loads(state)
        win_minor = event["win_minor"]
        event["win_minor"] = win_minor * 10
        update = "UPDATE stored_events SET state = ? WHERE originator_id = ? AND originator_version = ?"
        connection.execute(update, (canonical_json(event), stream, version))
    connection.close()
    return Alteration(stream.removeprefix(ROUND_STREAM), version, win_minor, win_minor * 10)


def _pack_json(place: Path, found: PackCheck | None) -> dict[str, Any] | None:
    return found and {"file": str(place / PACK), "findings": [finding_json(each) for each in found.findings]}


def _say_where(place: Path, alteration: Alteration, *, is_packed: bool) -> None:
    print_line("Where everything lies")
    print_line(f"   the ledger            {place / 'ledger.db'}")
    print_line(f"   its keys              {place / 'ledger.db.keys'}")
    print_line(f"   the altered copy      {place / 'altered.db'}")
    if is_packed:
        print_line(f"   the evidence pack     {place / PACK}")
    command = "audit" if shutil.which("audit") else os.path.relpath(sys.argv[0])
    print_line("Try next")
    print_line(f"   {command} show --ledger {place / 'ledger.db'} --round {alteration.round_id}")
    print_line(f"   {command} verify --ledger {place / 'ledger.db'} --round {alteration.round_id}")
    print_line(f"   {command} history --ledger {place / 'ledger.db'} --account player")
