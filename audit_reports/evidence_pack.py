"""The evidence pack of one round (`docs/pack-format.md`): what an adjudicator is handed, and can check without this program."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from audit_reports.bag import folder_of
from audit_reports.clauses import ClauseFacts, clause_matrix
from audit_reports.draw_log import draw_log
from audit_reports.pack_page import pack_page
from audit_reports.pack_paper import pack_paper
from audit_reports.pack_report import PackFacts, report_blocks
from audit_reports.pack_rules import governing_rules, profile_files, rules_files, software_of
from audit_reports.pack_seal import Cover, sealed
from audit_reports.pack_streams import OTHERS_MAX, Gathered, checkpoint_files, document, gather, history_of, json_lines, stream_files
from audit_reports.round_report import RoundReport, report_json
from audit_reports.round_source import RoundNotShownError, read_report
from audit_reports.statement import ROUND_PACK
from audit_reports.verdict_view import verdict_json
from engines.canonical import INTEGER_MAX
from ledger.keys import public_key_bytes
from ledger.rounds import RoundLedger
from replay.anchors import Anchors
from replay.verification import Verification, Verifier

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["VERIFIER", "Pack", "PackTerms", "build_pack"]

VERIFIER = Path(__file__).parent / "verifier" / "verify_pack.py"
README = """An evidence pack of one round, prepared for assessment. It certifies nothing.

report.html and report.pdf are for readers. Whoever has Python checks the pack with the stand-alone verifier, one file that needs nothing
else: `python verify_pack.py PACK.zip --vkey LOG.VKEY --key PACK.PUB`. A copy is in this pack; run one that you got by another way than
the pack, or hold the copy's SHA-256 against the one that is published with the program. Whoever has the program checks rules and outcome
as well: `audit pack verify PACK.zip --vkey LOG.VKEY --key PACK.PUB`. LOG.VKEY is the log's verifier key and PACK.PUB the builder's public
key, each as you got them by another way than this pack. Neither needs the ledger or a network. docs/pack-format.md of the program says
what each file holds, byte for byte, for whoever would rather write a checker of their own.
"""


class PackTerms(NamedTuple):
    """What a pack is built with: keys of the ledger, checkpoints, the rules file and question that were named, the moment.

    texts: those that players were shown, by their SHA-256 in hex.
    """

    keys_dir: Path
    anchors: Anchors
    rules: Any = None
    rules_path: Path | None = None
    case: Mapping[str, Any] | None = None
    as_of_us: int | None = None
    texts: Mapping[str, bytes] = MappingProxyType({})


class Pack(NamedTuple):
    """A built pack: its bytes, and what its cover says."""

    data: bytes
    verification: Verification
    as_of_us: int
    absent: dict[str, str]


class _Rerun(NamedTuple):
    """What the round's key gives, where it is at hand."""

    files: dict[str, bytes]
    draws: Any = None
    alternatives: Any = None


def build_pack(ledger: RoundLedger, round_id: str, terms: PackTerms, key: "Ed25519PrivateKey") -> Pack:
    """Return the pack of a round, signed by its builder's key; the same ledger state, terms and key give the same bytes.

    Raises RoundUnknown, PaperMissingError, and as `RoundLedger.open_for_reading` where the ledger cannot be read.
    """
    gathered = gather(ledger, round_id)
    as_of_us, as_of_from = _moment(ledger, gathered, terms)
    verifier = Verifier(ledger, keys_dir=terms.keys_dir, rules=terms.rules, anchors=_as_in_pack(terms.anchors), as_of_us=as_of_us)
    verification = verifier.verify(round_id)
    absent: dict[str, str] = {}
    payload = _records(gathered, terms, verification, absent)
    rerun = _rerun(verifier, verification, absent)
    found = governing_rules(verification.opened, terms.rules_path)
    payload |= (
        rerun.files | rules_files(verification.opened, found, terms.texts, absent) | profile_files(ledger, verification.opened, absent)
    )
    report = _report(ledger, terms, round_id, absent)
    if report is not None:
        payload["report.json"] = document(report_json(report, findings=verification.findings))
    software = software_of(verification)
    payload |= {"software.json": document(software), "readme.txt": README.encode(), "verify_pack.py": VERIFIER.read_bytes()}
    payload["keys/pack.pub"] = f"{public_key_bytes(key).hex()}\n".encode()
    own = {"clauses.json", "report.html", "report.pdf"}
    clauses = list(clause_matrix(ClauseFacts(verification, frozenset(own | set(payload)), gathered.records)))
    payload["clauses.json"] = document([clause.as_json() for clause in clauses])
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in payload.items()}
    history, rules = history_of(gathered), found[1] if found else None
    texts = {name: payload[name] for name in sorted(payload) if name.startswith("texts/")}
    seen = (verification, report, terms.case, absent, as_of_us, gathered.tree, gathered.records, history, rules, texts)
    facts = PackFacts(*seen, rerun.draws, rerun.alternatives, clauses, software, digests)
    payload |= _readers(facts)
    payload["pack.json"] = document(_index(gathered, verification, absent, as_of_us, as_of_from))
    said = {"round_id": round_id, "verdict": verification.verdict}
    cover = Cover(ROUND_PACK, folder_of(round_id), round_id, as_of_us, said)
    return Pack(sealed(cover, payload, key), verification, as_of_us, absent)


def _index(gathered: Gathered, verification: Verification, absent: dict[str, str], as_of_us: int, as_of_from: str) -> dict[str, Any]:
    return {
        "schema": "pack/1",
        "round_id": verification.round_id,
        "as_of_us": as_of_us,
        "as_of_from": as_of_from,
        "verdict": verification.verdict,
        "is_over": verification.settled is not None or verification.voided is not None,
        "tree_size": gathered.tree.size,
        "root": gathered.tree.root.hex(),
        "streams": {record.stream: file for file, record in gathered.records.items()},
        "absent": absent,
    }


def _readers(facts: PackFacts) -> dict[str, bytes]:
    """Return the report as a page and as a paper."""
    blocks = list(report_blocks(facts))
    title = f"Evidence pack of round {facts.verification.round_id}"
    return {"report.html": pack_page(title, blocks, facts.as_of_us), "report.pdf": pack_paper(title, blocks, facts.as_of_us)}


def _moment(ledger: RoundLedger, gathered: Gathered, terms: PackTerms) -> tuple[int, str]:
    """Return the only time in a pack: as given, else that of the newest leaf of the newest checkpoint, else of the newest leaf here."""
    if terms.as_of_us is not None:
        return terms.as_of_us, "given"
    sizes = [given.signed.checkpoint.tree_size for given in terms.anchors.checkpoints]
    size = max((size for size in sizes if 0 < size <= gathered.tree.size), default=0)
    recorded_at_us = ledger.store.recorded_at(size or gathered.tree.size)
    return min(max(recorded_at_us, 0), INTEGER_MAX), "checkpoint" if size else "leaf"  # a leaf may have been altered


def _as_in_pack(anchors: Anchors) -> Anchors:
    """Return anchors with each checkpoint called by its name in the pack: a file's place on one machine says nothing on another."""
    named = [each._replace(where=f"checkpoints/{each.signed.checkpoint.tree_size}.checkpoint") for each in anchors.checkpoints]
    return anchors._replace(checkpoints=tuple(named))


def _records(gathered: Gathered, terms: PackTerms, verification: Verification, absent: dict[str, str]) -> dict[str, bytes]:
    """Return streams, proofs, history, verdict and question; say what is absent with the reason."""
    if not any(row.topic.startswith("presentation_") for row in gathered.records["streams/round.jsonl"].events):
        absent["presentation records"] = "the ledger holds nothing of what the player was shown"
    if gathered.is_cut:
        absent["rounds in between"] = f"more than {OTHERS_MAX} moved the account's balance meanwhile, which is not added up here"
    files = stream_files(gathered, absent) | checkpoint_files(gathered, terms.anchors, absent)
    files["history.json"] = document(history_of(gathered))
    files["verdict.json"] = document(verdict_json(verification))
    if terms.case is not None:
        files["case.json"] = document(dict(terms.case))
    return files


def _rerun(verifier: Verifier, verification: Verification, absent: dict[str, str]) -> _Rerun:
    """Return key, draws and what-if of a round that is over and can be rerun."""
    key = verifier.round_key(verification)
    if key is None:
        is_over = verification.settled is not None or verification.voided is not None
        absent["round key, draws, what-if"] = "the seed is sealed and its key was not at hand" if is_over else "the round is in play"
        return _Rerun({})
    files = {"round-key.json": document({"round_key": key.hex()})}
    draws, others = verifier.draws(verification), verifier.alternatives(verification)
    if draws is None or others is None:
        absent["draws, what-if"] = "the round could not be rerun, or is void"
        return _Rerun(files)
    files["draws.jsonl"] = json_lines(draw_log(draws, key))
    files["what-if.json"] = document([other._asdict() for other in others])
    return _Rerun(files, draws, others)


def _report(ledger: RoundLedger, terms: PackTerms, round_id: str, absent: dict[str, str]) -> RoundReport | None:
    try:
        return read_report(ledger.path, round_id, terms.rules_path)[0]
    except RoundNotShownError:
        absent["the round in pictures"] = "its opening cannot be read, or its rules are not installed where the pack was built"
        return None
