"""What a pack holds of the rules that governed a round: rules file and sheet, the texts shown to players, the jurisdiction profile."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from audit_reports.pack_streams import document
from engines.canonical import canonical_json
from engines.registry import GAMES, installed_builds, installed_rules_path
from engines.rules import GameRules, load_rules
from ledger.errors import LedgerError
from ledger.lifecycle_events import RoundOpened
from ledger.named_profiles import governing_profile
from ledger.rounds import RoundLedger
from replay.verification import Verification

__all__ = ["governing_rules", "profile_files", "rules_files", "software_of"]


def governing_rules(opened: RoundOpened | None, given: Path | None) -> tuple[Path, GameRules] | None:
    """Return the rules file that a round names by hash, and its rules: the given one, else the installed one; None where it is neither."""
    if opened is None:
        return None
    for path in (given, installed_rules_path(opened.game, opened.rules_version, opened.rules_hash)):
        if path is not None:
            rules = load_rules(path)
            if rules.rules_hash == opened.rules_hash:
                return path, rules
    return None


def rules_files(
    opened: RoundOpened | None, found: tuple[Path, GameRules] | None, words: Mapping[str, bytes], absent: dict[str, str]
) -> dict[str, bytes]:
    """Return rules file, rules sheet, the list of texts, and those of them that are at hand; words: texts by their SHA-256."""
    if opened is None:
        return {}
    if found is None:
        absent["rules"] = f"rules {opened.rules_hash} are not installed where the pack was built"
        return {}
    path, rules = found
    sheet = {"schema": "rules/1", "rules_hash": rules.rules_hash, "file": None, "rules": rules.model_dump()}
    files = {"rules.toml": path.read_bytes(), "rules.json": document(sheet)}
    texts = canonical_json([source.model_dump() for source in rules.sources])
    if hashlib.sha256(texts).hexdigest() == opened.texts_hash:
        files["texts.json"] = texts + b"\n"
        files |= {f"texts/{source.sha256}.txt": words[source.sha256] for source in rules.sources if source.sha256 in words}
        if missing := [source.document for source in rules.sources if source.sha256 not in words]:
            absent["words of the game's texts"] = f"not given to the builder, whose hashes stand in texts.json: {', '.join(missing)}"
    else:
        absent["texts of the game"] = f"the round names texts {opened.texts_hash or 'by no hash'}, which its rules file does not lead to"
    return files


def profile_files(ledger: RoundLedger, opened: RoundOpened | None, absent: dict[str, str]) -> dict[str, bytes]:
    """Return the values of the jurisdiction profile that a round is under."""
    if opened is None:
        return {}
    try:
        values = document(governing_profile(ledger.store, opened).values)
    except LedgerError as error:
        absent["profile"] = str(error)
        return {}
    if hashlib.sha256(values[:-1]).hexdigest() != opened.profile_hash:
        absent["profile"] = "the round names none that has values: it was opened before profiles governed anything"
        return {}
    return {"profile.json": values}


def software_of(verification: Verification) -> dict[str, Any]:
    """Return what the pack was built with: the program's version, and each source that makes outcomes by hash."""
    from importlib.metadata import version

    opened = verification.opened
    builds = installed_builds(opened.game) if opened is not None and opened.game in GAMES else []
    of_round = [each for each in builds if opened is not None and each.rules_hash == opened.rules_hash]
    sources = of_round[0].sources if of_round else {}
    facts = {"program": "slot-audit", "version": version("slot-audit"), "engine_fingerprint": verification.fingerprint}
    return {**facts, "recorded_fingerprint": opened.engine_fingerprint if opened else "", "sources": dict(sources)}
