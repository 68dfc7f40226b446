"""The evidence pack of one round (`docs/pack-format.md`): what an adjudicator is handed, and can check without this program."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from audit_reports.bag import BAG_TEXT, MANIFEST, TAG_MANIFEST, bag_description, folder_of, manifest, zip_bytes
from audit_reports.pack_page import pack_page
from audit_reports.round_report import RoundReport, report_json
from audit_reports.round_source import RoundNotShownError, read_report
from audit_reports.statement import signed_statement
from audit_reports.verdict_view import verdict_json
from engines.canonical import canonical_json
from engines.registry import installed_builds, installed_rules_path
from engines.rng import words
from ledger.checkpoints import log_keys
from ledger.errors import LedgerError, TreeBroken
from ledger.keys import public_key_bytes
from ledger.lifecycle_events import RoundOpened
from ledger.merkle import audit_path, consistency_path
from ledger.named_profiles import governing_profile
from ledger.rounds import RoundLedger
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM, ROUND_STREAM, RoundRecord, Tree
from replay.anchors import Anchors
from replay.verification import Verification, Verifier

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Pack", "PackTerms", "build_pack"]

README = """An evidence pack of one round, prepared for assessment. It certifies nothing.

report.html is for readers. Whoever has the program checks the pack by `audit pack verify PACK.zip --vkey LOG.VKEY --key PACK.PUB`, without
the ledger and without a network; LOG.VKEY is the log's verifier key and PACK.PUB the builder's public key, each as you got them by
another way than this pack. docs/pack-format.md of the program says what each file holds, byte for byte, for whoever would rather
write a checker of their own.
"""


class PackTerms(NamedTuple):
    """What a pack is built with: keys of the ledger, checkpoints, the rules file and question that were named, the moment."""

    keys_dir: Path
    anchors: Anchors
    rules: Any = None
    rules_path: Path | None = None
    case: Mapping[str, Any] | None = None
    as_of_us: int | None = None


class Pack(NamedTuple):
    """A built pack: its bytes, and what its cover says."""

    data: bytes
    verification: Verification
    as_of_us: int
    absent: dict[str, str]


class _Gathered(NamedTuple):
    """What is read of a ledger for a pack, of one tree."""

    ledger: RoundLedger
    tree: Tree
    records: dict[str, RoundRecord]  # by the file that its stream gets


def build_pack(ledger: RoundLedger, round_id: str, terms: PackTerms, key: "Ed25519PrivateKey") -> Pack:
    """Return the pack of a round, signed by its builder's key; the same ledger state, terms and key give the same bytes.

    Raises RoundUnknown, and as `RoundLedger.open_for_reading` where the ledger cannot be read.
    """
    gathered = _gather(ledger, round_id)
    as_of_us, as_of_from = _moment(ledger, gathered, terms)
    evidence = {"keys_dir": terms.keys_dir, "rules": terms.rules, "anchors": _as_in_pack(terms.anchors), "as_of_us": as_of_us}
    verifier = Verifier(ledger, **evidence)
    verification = verifier.verify(round_id)
    report = _report(ledger, terms, round_id)
    payload, absent = _payload(gathered, terms, verifier, verification)
    if report is None:
        absent["the round in pictures"] = "its opening cannot be read, or its rules are not installed where the pack was built"
    else:
        payload["report.json"] = _document(report_json(report, findings=verification.findings))
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in payload.items()}
    payload["report.html"] = pack_page(verification, report, case=terms.case, absent=absent, as_of_us=as_of_us, digests=digests)
    payload["keys/pack.pub"] = f"{public_key_bytes(key).hex()}\n".encode()
    index = {
        "schema": "pack/1",
        "round_id": round_id,
        "as_of_us": as_of_us,
        "as_of_from": as_of_from,
        "verdict": verification.verdict,
        "is_over": verification.settled is not None or verification.voided is not None,
        "tree_size": gathered.tree.size,
        "root": gathered.tree.root.hex(),
        "streams": {record.stream: file for file, record in gathered.records.items()},
        "absent": absent,
    }
    payload["pack.json"] = _document(index)
    return Pack(_bagged(round_id, as_of_us, verification.verdict, payload, key), verification, as_of_us, absent)


def _bagged(round_id: str, as_of_us: int, verdict: str, payload: Mapping[str, bytes], key: "Ed25519PrivateKey") -> bytes:
    """Return the zip of a payload, with its bag's tag files and signature."""
    data = {f"data/{name}": content for name, content in payload.items()}
    tags = {"bagit.txt": BAG_TEXT.encode(), "bag-info.txt": bag_description(as_of_us, round_id, data), MANIFEST: manifest(data)}
    predicate = {"as_of_us": as_of_us, "prepared_for": "assessment", "round_id": round_id, "verdict": verdict}
    tags["signature.json"] = signed_statement(predicate, tags, key)
    tags[TAG_MANIFEST] = manifest(tags)
    folder = folder_of(round_id)
    return zip_bytes({f"{folder}/{name}": content for name, content in (data | tags).items()})


def _document(value: Any) -> bytes:
    return canonical_json(value) + b"\n"


def _lines(values: Sequence[Any]) -> bytes:
    return b"".join(map(_document, values))


def _gather(ledger: RoundLedger, round_id: str) -> _Gathered:
    """Read the streams of a round's pack, each as far as the tree goes; raises RoundUnknown."""
    try:
        tree = ledger.store.tree()
    except TreeBroken:
        tree = Tree(ledger.store.tree_size(), b"")
    opened = ledger.opening(round_id)
    before, after = _neighbours(ledger, opened, round_id)
    wanted = {"streams/round.jsonl": ROUND_STREAM + round_id, "streams/account.jsonl": ACCOUNT_STREAM + opened.account_ref}
    wanted |= {"streams/epoch.jsonl": f"{EPOCH_STREAM}{opened.epoch}", "streams/ledger.jsonl": LEDGER_STREAM}
    wanted |= {f"streams/{name}.jsonl": ROUND_STREAM + each for name, each in (("round-before", before), ("round-after", after)) if each}
    records = {}
    for file, stream in wanted.items():
        (record,) = ledger.store.records_of([stream])
        records[file] = _cut(record, tree.size)
    return _Gathered(ledger, tree, records)


def _cut(record: RoundRecord, size: int) -> RoundRecord:
    """Return a stream as the first leaves have it; what no leaf covers stays."""
    later = [append.version_first for append in record.appends if append.leaf_index >= size]
    if not later:
        return record
    appends = tuple(append for append in record.appends if append.leaf_index < size)
    return record._replace(appends=appends, events=tuple(event for event in record.events if event.version < min(later)))


def _neighbours(ledger: RoundLedger, opened: RoundOpened, round_id: str) -> tuple[str, str]:
    """Return the rounds of the account opened before and after a round, by their leaves; empty where there is none."""
    streams = [ROUND_STREAM + each for each in ledger.store.rounds_of(opened.account_ref)]
    records = ledger.store.records_of(streams, topics=("round_opened/1",))
    leaves = sorted((record.appends[0].leaf_index, record.round_id) for record in records if record.appends)
    place = next((number for number, (_, each) in enumerate(leaves) if each == round_id), None)
    if place is None:
        return "", ""
    return leaves[place - 1][1] if place else "", leaves[place + 1][1] if place + 1 < len(leaves) else ""


def _moment(ledger: RoundLedger, gathered: _Gathered, terms: PackTerms) -> tuple[int, str]:
    """Return the only time in a pack: as given, else that of the newest leaf of the newest checkpoint, else of the newest leaf here."""
    if terms.as_of_us is not None:
        return terms.as_of_us, "given"
    sizes = [given.signed.checkpoint.tree_size for given in terms.anchors.checkpoints]
    size = max((size for size in sizes if 0 < size <= gathered.tree.size), default=0)
    return ledger.store.recorded_at(size or gathered.tree.size), "checkpoint" if size else "leaf"


def _as_in_pack(anchors: Anchors) -> Anchors:
    """Return anchors with each checkpoint called by its name in the pack: a file's place on one machine says nothing on another."""
    named = [each._replace(where=f"checkpoints/{each.signed.checkpoint.tree_size}.checkpoint") for each in anchors.checkpoints]
    return anchors._replace(checkpoints=tuple(named))


def _payload(
    gathered: _Gathered, terms: PackTerms, verifier: Verifier, verification: Verification
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of a pack by name under data/, and what is absent with the reason."""
    absent = {
        "presentation records": "the ledger holds nothing of what the player was shown",
        "texts of the game": "the program that built the pack does not hold the texts of this hash",
    }
    files = {file: _stream_lines(record) for file, record in gathered.records.items()}
    files["leaves.json"] = _document(_leaves(gathered))
    files |= _checkpoints(gathered, terms, absent)
    files["verdict.json"] = _document(verdict_json(verification))
    if terms.case is not None:
        files["case.json"] = _document(dict(terms.case))
    files |= _replayed(verifier, verification, absent)
    files |= _rules(gathered.ledger, terms, verification, absent)
    files["software.json"] = _document(_software(verification))
    files["readme.txt"] = README.encode()
    return files, absent


def _stream_lines(record: RoundRecord) -> bytes:
    def line(version: int, topic: str, data: bytes) -> dict[str, Any]:
        covering = [(place, each) for place, each in enumerate(record.appends) if each.version_first <= version <= each.version_last]
        append, recorded_at_us = (covering[0][0], covering[0][1].recorded_at_us) if covering else (-1, 0)
        place = {"stream": record.stream, "index": version - 1, "append": append, "recorded_at_us": recorded_at_us}
        return {**place, "topic": topic, "data": base64.b64encode(data).decode()}

    return _lines([line(row.version, row.topic, row.data) for row in record.events])


def _leaves(gathered: _Gathered) -> list[dict[str, Any]]:
    found = []
    for record in gathered.records.values():
        for append in record.appends:
            try:
                path = audit_path(append.leaf_index, gathered.tree.size, gathered.ledger.store.subtree) if gathered.tree.root else []
            except TreeBroken:
                path = []
            found.append({**append._asdict(), "leaf_hash": append.leaf_hash.hex(), "path": [node.hex() for node in path]})
    return sorted(found, key=lambda leaf: int(leaf["leaf_index"]))


def _checkpoints(gathered: _Gathered, terms: PackTerms, absent: dict[str, str]) -> dict[str, bytes]:
    """Return the checkpoints that are not of a later tree, their proofs, and the log's keys."""
    size, files, proofs = gathered.tree.size, {}, []
    for given in terms.anchors.checkpoints:
        signed = given.signed
        if not 0 < signed.checkpoint.tree_size <= size:
            continue
        try:
            path = consistency_path(signed.checkpoint.tree_size, size, gathered.ledger.store.subtree)
        except TreeBroken:
            path = []
        files[f"checkpoints/{signed.checkpoint.tree_size}.checkpoint"] = str(signed).encode()
        proofs.append({"size": signed.checkpoint.tree_size, "path": [node.hex() for node in path]})
    if not files:
        absent["checkpoint"] = "the pack was built without one: nothing says that the record was not written anew since"
    files["consistency.json"] = _document(sorted(proofs, key=lambda proof: int(proof["size"])))
    try:
        keys = log_keys(gathered.ledger)
    except LedgerError as error:
        keys, absent["the log's keys"] = [], str(error)
    files["keys/log.vkey"] = "".join(f"{each}\n" for each in keys).encode()
    return files


def _replayed(verifier: Verifier, verification: Verification, absent: dict[str, str]) -> dict[str, bytes]:
    """Return key, draws and what-if of a round that is over and can be rerun."""
    key = verifier.round_key(verification)
    if key is None:
        is_over = verification.settled is not None or verification.voided is not None
        absent["round key, draws, what-if"] = "the seed is sealed and its key was not at hand" if is_over else "the round is in play"
        return {}
    files = {"round-key.json": _document({"round_key": key.hex()})}
    draws, others = verifier.draws(verification), verifier.alternatives(verification)
    if draws is None or others is None:
        absent["draws, what-if"] = "the round could not be rerun, or is void"
        return files
    stream = list(islice(words(key), max((draw.first_word + draw.word_count for draw in draws), default=0)))
    files["draws.jsonl"] = _lines([_draw(draw, stream) for draw in draws])
    files["what-if.json"] = _document([other._asdict() for other in others])
    return files


def _report(ledger: RoundLedger, terms: PackTerms, round_id: str) -> RoundReport | None:
    try:
        return read_report(ledger.path, round_id, terms.rules_path)[0]
    except RoundNotShownError:
        return None


def _draw(draw: Any, stream: Sequence[int]) -> dict[str, Any]:
    taken = stream[draw.first_word : draw.first_word + draw.word_count]
    facts = {"number": draw.number, "purpose": draw.purpose, "n": draw.n, "first_word": draw.first_word}
    return {**facts, "words": list(taken), "result": draw.result}


def _rules(ledger: RoundLedger, terms: PackTerms, verification: Verification, absent: dict[str, str]) -> dict[str, bytes]:
    """Return the rules file and the profile that the round names."""
    files: dict[str, bytes] = {}
    opened = verification.opened
    if opened is None:
        return files
    path = terms.rules_path or installed_rules_path(opened.game, opened.rules_version, opened.rules_hash)
    if path is None:
        absent["rules"] = f"rules {opened.rules_hash} are not installed where the pack was built"
    else:
        files["rules.toml"] = path.read_bytes()
    try:
        files["profile.json"] = _document(governing_profile(ledger.store, opened).values)
    except LedgerError as error:
        absent["profile"] = str(error)
    return files


def _software(verification: Verification) -> dict[str, Any]:
    from importlib.metadata import version

    opened = verification.opened
    builds = installed_builds(opened.game) if opened is not None else []
    of_round = [each for each in builds if opened is not None and each.rules_hash == opened.rules_hash]
    sources = of_round[0].sources if of_round else {}
    facts = {"program": "slot-audit", "version": version("slot-audit"), "engine_fingerprint": verification.fingerprint}
    return {**facts, "recorded_fingerprint": opened.engine_fingerprint if opened else "", "sources": dict(sources)}
