"""The certification pack of a game (`docs/certification-format.md`): what a test laboratory is handed, and can check by itself.

Built from what was simulated, tested and forced before; nothing is played here. The same facts and moment give the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from audit_reports.bill_of_materials import bill_of_materials, package_sources
from audit_reports.blocks import Block
from audit_reports.certification_clauses import CertifiedFacts, certification_clauses
from audit_reports.certification_report import CertificationReport, certification_blocks, strips_blocks
from audit_reports.charts import Chart
from audit_reports.derivation import derivation
from audit_reports.long_simulation import Simulated, SimulationTerms, simulation_json
from audit_reports.pack_page import pack_page
from audit_reports.pack_paper import pack_paper
from audit_reports.pack_seal import Cover, sealed
from audit_reports.pack_streams import document
from audit_reports.par_sheet import ParFacts, par_sheet, strips_json
from audit_reports.statement import CERTIFICATION_PACK
from engines.canonical import canonical_json
from engines.game import Game
from ledger.keys import public_key_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "VERIFIERS",
    "WITHHELD",
    "Certification",
    "CertificationFacts",
    "Part",
    "build_certification",
    "certification_folder",
    "certification_identifier",
    "redactions_of",
]

_FOLDER = Path(__file__).parent / "verifier"
VERIFIERS = ("verify_certification.py",)
# What shows the strips, or leads to them: the rules, test rules made of them, and boards beside the places that reels stood at.
WITHHELD = ("strips.json", "strips.html", "rules.toml", "rules.json", "forced/")
README = """A certification pack of one game, prepared for assessment. It certifies nothing.

report.html and report.pdf are for readers; clauses are in their last section but one, each with a link to what it is judged by. Whoever
has Python checks the pack with the stand-alone verifier, one file that needs nothing else: `python verify_certification.py PACK.zip
--key PACK.PUB`. A copy is in this pack; run one that you got by another way, or hold the copy's SHA-256 against the one that is published
with the program. Whoever has the program makes figures and samples again: `audit pack verify PACK.zip --key PACK.PUB`. PACK.PUB is the
builder's public key, as you got it by another way than this pack. docs/certification-format.md of the program says what each file holds.

Where redactions.json is there, files that show strips were taken out; it names each with the SHA-256 that it has in the whole pack.
"""


class Part(NamedTuple):
    """A part of a certification that was made before: its file, whether it agrees, its document, blocks and further files."""

    name: str
    agrees: bool
    document: dict[str, Any]
    blocks: Sequence[Block]
    files: dict[str, bytes]


class CertificationFacts(NamedTuple):
    """All that a pack is built from."""

    game: Game
    rules_file: bytes
    terms: SimulationTerms
    simulated: list[Simulated]
    par: ParFacts
    charts: list[Chart]
    parts: list[Part]
    test_list: str
    as_of_us: int
    other_hash: str  # of installed rules of the same version, where those certified are others; else empty


class Certification(NamedTuple):
    """A built pack: its bytes, whether everything in it agrees, and what does not."""

    data: bytes
    verdict: str
    findings: list[dict[str, str]]


def certification_identifier(game: str, version: str) -> str:
    """Return what a game's pack is called in its bag."""
    return f"{game} {version}"


def certification_folder(game: str, version: str, rules_hash: str) -> str:
    """Return the folder that all members of a game's pack lie in."""
    return f"certification-{hashlib.sha256(f'{game} {version} {rules_hash}'.encode()).hexdigest()[:16]}"


def build_certification(facts: CertificationFacts, key: "Ed25519PrivateKey", *, is_redacted: bool) -> Certification:
    """Return the pack of a game, signed by its builder's key; `is_redacted` leaves out what shows strips and keeps all hashes.

    Raises PaperMissingError.
    """
    rules = facts.game.rules
    par = par_sheet(facts.par)
    findings = [*par["findings"], *_two_hashes(facts), *_of_parts(facts.parts)]
    verdict = "disagrees" if findings else "agrees"
    payload = _documents(facts, par)
    payload["keys/pack.pub"] = f"{public_key_bytes(key).hex()}\n".encode()
    own = frozenset({*payload, "clauses.json", "report.html", "report.pdf"})
    agrees = {part.name: part.agrees for part in facts.parts} | {"par": not par["findings"]}
    clauses = list(certification_clauses(CertifiedFacts(par, agrees, facts.test_list, own)))
    payload["clauses.json"] = document([{**clause.as_json(), "sections": list(sections)} for clause, sections in clauses])
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in payload.items()}
    report = CertificationReport(rules, par, facts, derivation(rules), clauses, verdict, findings, digests)
    title = f"Certification pack of {rules.title} {rules.version}"
    blocks = list(certification_blocks(report))
    payload["report.html"] = pack_page(title, blocks, facts.as_of_us)
    payload["report.pdf"] = pack_paper(title, blocks, facts.as_of_us)
    payload["pack.json"] = document(_index(facts, verdict, findings))
    if is_redacted:
        payload = _redacted(payload)
    said = {"game": rules.game, "rules_hash": rules.rules_hash, "rules_version": rules.version, "verdict": verdict}
    folder = certification_folder(rules.game, rules.version, rules.rules_hash)
    identifier = certification_identifier(rules.game, rules.version)
    cover = Cover(CERTIFICATION_PACK, folder, identifier, facts.as_of_us, said)
    return Certification(sealed(cover, payload, key), verdict, findings)


def _documents(facts: CertificationFacts, par: dict[str, Any]) -> dict[str, bytes]:
    """Return all files of the payload that are no report."""
    rules = facts.game.rules
    sheet = {"schema": "rules/1", "rules_hash": rules.rules_hash, "file": None, "rules": rules.model_dump()}
    sources = package_sources()
    payload = {
        "par.json": document(par),
        "simulation.json": document(simulation_json(facts.terms, facts.game, facts.simulated)),
        "derivation.json": document(derivation(rules)),
        "strips.json": document(strips_json(rules)),
        "strips.html": pack_page(f"Strips of {rules.title} {rules.version}", list(strips_blocks(rules)), facts.as_of_us),
        "rules.toml": facts.rules_file,
        "rules.json": document(sheet),
        "texts.json": canonical_json([source.model_dump() for source in rules.sources]) + b"\n",
        "software.json": document(_software(facts.game, sources)),
        "sbom.json": document(bill_of_materials(sources)),
        "readme.txt": README.encode(),
    }
    payload |= {name: (_FOLDER / name).read_bytes() for name in VERIFIERS}
    payload |= {chart.file: chart.svg for chart in facts.charts}
    for part in facts.parts:
        payload[f"{part.name}.json"] = document(part.document)
        payload |= part.files
    return payload


def _software(game: Game, sources: dict[str, str]) -> dict[str, Any]:
    """Return the program's version, the game's fingerprint, and each file of the program: those that make its outcomes are critical."""
    from importlib.metadata import version

    from engines.registry import installed_builds

    critical = next((build.sources for build in installed_builds(game.rules.game) if build.fingerprint == game.fingerprint), {})
    root = Path(__file__).resolve().parent.parent
    rows = [
        {"path": path, "sha256": digest, "bytes": (root / path).stat().st_size, "critical": path in critical}
        for path, digest in sources.items()
    ]
    return {"program": "slot-audit", "version": version("slot-audit"), "engine_fingerprint": game.fingerprint, "files": rows}


def _index(facts: CertificationFacts, verdict: str, findings: list[dict[str, str]]) -> dict[str, Any]:
    rules = facts.game.rules
    return {
        "schema": "certification/1",
        "game": rules.game,
        "rules_version": rules.version,
        "rules_hash": rules.rules_hash,
        "engine_fingerprint": facts.game.fingerprint,
        "as_of_us": facts.as_of_us,
        "seed": facts.terms.seed.hex(),
        "rounds": facts.terms.rounds,
        "test_list": facts.test_list,
        "parts": sorted(part.name for part in facts.parts),
        "verdict": verdict,
        "findings": findings,
    }


def _two_hashes(facts: CertificationFacts) -> list[dict[str, str]]:
    """Return the finding of one paytable id with two hashes: rules of an installed version that are not the installed ones."""
    rules = facts.game.rules
    if not facts.other_hash:
        return []
    where = f"paytable id {rules.game} {rules.version}"
    return [{"code": "paytable_two_hashes", "where": where, "want": facts.other_hash, "got": rules.rules_hash}]


def _of_parts(parts: Sequence[Part]) -> list[dict[str, str]]:
    got = "what its section of the report names"
    return [
        {"code": f"part_{part.name}", "where": f"{part.name}.json", "want": "all of it to agree", "got": got}
        for part in parts
        if not part.agrees
    ]


def redactions_of(payload: Mapping[str, bytes]) -> dict[str, str] | None:
    """Return the files that a redacted pack withholds, with the SHA-256 of each; None for a whole one.

    Raises KeyError, TypeError and ValueError for what is no list of redactions.
    """
    content = payload.get("redactions.json")
    if content is None:
        return None
    return {str(row["file"]): str(row["sha256"]) for row in json.loads(content)["withheld"]}


def _redacted(payload: dict[str, bytes]) -> dict[str, bytes]:
    """Return the payload without what shows strips, and with the hash of each file that was taken out."""
    taken = {name: content for name, content in payload.items() if name.startswith(WITHHELD)}
    rows = [
        {"file": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "why": "shows strips, or leads to them"}
        for name, content in sorted(taken.items())
    ]
    kept = {name: content for name, content in payload.items() if name not in taken}
    return kept | {"redactions.json": document({"schema": "redactions/1", "withheld": rows})}
