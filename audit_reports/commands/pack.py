"""Evidence packs: `pack build`, `pack verify`."""

import hashlib
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit_reports.builder_key import builder_key
from audit_reports.new_file import check_new, write_new
from audit_reports.options import (
    CheckpointOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    RulesOption,
    UsageError,
    VkeyOption,
    ZoneOption,
    check_file_name,
    keys_folder,
    named_ledger,
    parse_moment,
    parse_time,
)
from audit_reports.output import note, print_json, print_line

if TYPE_CHECKING:
    from ledger.rounds import RoundLedger

__all__ = ["register"]

CASE_FIELDS = ("claimant", "claimed", "currency", "claimed_at", "question")
CASE_MAX = 4000  # characters of a field
CASE_BYTES_MAX, KEY_BYTES_MAX, TEXT_BYTES_MAX = 100_000, 1000, 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Evidence packs: all of one round, for whoever has neither the ledger nor this program.")
    group.command("build")(build)
    group.command("verify")(verify)
    app.add_typer(group, name="pack")


def build(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")],
    out: Annotated[str, typer.Option("-o", "--out", help="The new zip file to write; one that is there is never replaced.")],
    case: Annotated[str, typer.Option("--case", help="TOML file with the question asked; see docs/how-to/evidence-pack.md.")] = "",
    as_of: Annotated[str, typer.Option("--as-of", help="The only time in the pack; else the checkpoint's, or the newest leaf's.")] = "",
    zone: ZoneOption = "",
    pack_key: Annotated[str, typer.Option("--pack-key", envvar="AUDIT_PACK_KEY", help="The builder's own key; made at first use.")] = "",
    checkpoints: CheckpointOption = None,
    vkeys: VkeyOption = None,
    texts: Annotated[str, typer.Option("--texts", help="Folder with the texts that players were shown; those of the hashes go in.")] = "",
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Build the evidence pack of a round: prepared for assessment, checkable without this program and without a network.

    Example: audit pack build --round 01a22cfdc2af --checkpoint kept.checkpoint -o dispute.zip
    """
    from audit_reports.evidence_pack import PackTerms, build_pack
    from ledger.rounds import RoundLedger
    from replay.anchors import load_anchors

    check_file_name(out, "-o")
    check_new(out)
    file_rules = None
    if rules:
        from engines.rules import load_rules

        file_rules = load_rules(Path(rules))
    path = named_ledger(ledger)
    folder = keys_folder(path, keys)
    anchors = load_anchors(checkpoints or [], vkeys or [])
    terms = PackTerms(folder, anchors, file_rules, Path(rules) if rules else None, _case(case), parse_moment(as_of, zone), _texts(texts))
    signing_key = builder_key(pack_key)
    opened = RoundLedger.open_for_reading(path)
    try:
        _check_not_the_log(signing_key, opened)
        pack = build_pack(opened, opened.find_round(round_), terms, signing_key)
    finally:
        opened.close()
    write_new(out, pack.data)
    verification = pack.verification
    if as_json:
        facts = {"round_id": verification.round_id, "verdict": verification.verdict, "as_of_us": pack.as_of_us, "absent": pack.absent}
        print_json({"schema": "pack-build/1", "file": out, "bytes": len(pack.data), **facts})
        return
    print_line(f"pack of round {verification.round_id} in {out}: {verification.verdict}, {len(pack.data)} bytes")
    for what, why in pack.absent.items():
        note(f"not in it: {what}, for {why}")


def _case(file: str) -> dict[str, Any] | None:
    """Return the question in a TOML file; raises UsageError, AmountInvalid, CurrencyUnknown."""
    from ledger.money import parse_amount

    if not file:
        return None
    check_file_name(file, "--case")
    size = f"{CASE_BYTES_MAX} bytes in all"
    wanted = f"a TOML file with texts of {CASE_MAX} characters at most for {', '.join(CASE_FIELDS)}, and no others, {size}"
    try:
        text = _read(file, CASE_BYTES_MAX)
        values = tomllib.loads(text.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError("--case", wanted, file) from error
    if len(text) > CASE_BYTES_MAX:
        raise UsageError("--case", wanted, f"{file}, which is longer")
    if set(values) != set(CASE_FIELDS) or any(not isinstance(value, str) or len(value) > CASE_MAX for value in values.values()):
        raise UsageError("--case", wanted, ", ".join(sorted(values))[:200])
    parse_time(values["claimed_at"], "--case, claimed_at", "")
    if not values["claimed_at"]:
        raise UsageError("--case, claimed_at", "a time such as 2026-11-30T14:00:00+01:00", "none")
    claimed = parse_amount(values.pop("claimed"), values["currency"])
    return {**values, "claimed_minor": claimed}


def _texts(folder: str) -> dict[str, bytes]:
    """Return the files of a folder by their SHA-256; what is longer than a text of a game is passed over."""
    if not folder:
        return {}
    place = Path(folder)
    if not place.is_dir():
        raise UsageError("--texts", "a folder", folder)
    files = [path.read_bytes() for path in sorted(place.iterdir()) if path.is_file() and path.stat().st_size <= TEXT_BYTES_MAX]
    return {hashlib.sha256(content).hexdigest(): content for content in files}


def _check_not_the_log(key: Any, ledger: "RoundLedger") -> None:
    """Raise UsageError for a key that signs the log: a builder who signs with it could as well write the log anew."""
    from ledger.checkpoints import log_keys
    from ledger.errors import LedgerError
    from ledger.keys import public_key_bytes

    try:
        named = log_keys(ledger)
    except LedgerError:  # which the pack says
        return
    if any(each.public_key == public_key_bytes(key) for each in named):
        raise UsageError("--pack-key", "the builder's own key", "that of the log")


def verify(
    file: Annotated[str, typer.Argument(help="A pack, as `audit pack build` writes it.")],
    vkeys: VkeyOption = None,
    key: Annotated[str, typer.Option("--key", help="The builder's public key, 64 hex digits in a file, as it came by another way.")] = "",
    rules: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Check a pack by itself: bag, signature, record, rules, and the engine run again; without the ledger and without a network.

    Of a certification pack figures are computed again from its sums, and all but most of the simulation is made again; some minutes.

    Example: audit pack verify dispute.zip --vkey log.vkey
    """
    from audit_reports.bag import BYTES_MAX, is_certification, read_zip
    from audit_reports.commands.certify import verify_certification
    from audit_reports.pack_check import check_pack
    from audit_reports.pack_view import check_lines
    from audit_reports.verdict_view import finding_json
    from ledger.keys import load_verifier_key

    check_file_name(file, "FILE")
    file_rules = None
    if rules:
        from engines.rules import load_rules

        file_rules = load_rules(Path(rules))
    held = [load_verifier_key(Path(name)) for name in vkeys or []]
    data, public_key = _read(file, BYTES_MAX), _public_key(key)
    if is_certification(read_zip(data, file)):
        verify_certification(data, file, public_key, as_json=as_json)
    found = check_pack(data, file, vkeys=held, pack_key=public_key, rules=file_rules)
    if as_json:
        facts = {"round_id": found.round_id, "verdict": found.verdict, "checked": found.checked, "unchecked": found.unchecked}
        findings = [finding_json(finding) for finding in found.findings]
        print_json({"schema": "pack-verify/1", **facts, "findings": findings, "said_count": found.said_count})
    else:
        for line in check_lines(found):
            print_line(line)
    sys.exit(found.exit_status)


def _read(file: str, size_max: int) -> bytes:
    """Return the first bytes of a file, one more than it may have at most."""
    with open(file, "rb") as opened:
        return opened.read(size_max + 1)


def _public_key(file: str) -> bytes:
    if not file:
        return b""
    text = _read(file, KEY_BYTES_MAX).decode("ascii", "replace").strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise UsageError("--key", "a file with 64 hex digits", text[:80])
    return key
