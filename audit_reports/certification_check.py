"""`audit pack verify` of a certification pack: held against itself, and made again by the program where it can be.

Whoever has no program checks with the stand-alone verifier; here rules are loaded, figures computed anew from the sums, boards looked at
again, a first part of every simulation played again, and every other part made again from the seed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from audit_reports.bag import read_zip
from audit_reports.bill_of_materials import package_sources
from audit_reports.cap_route import cap_route
from audit_reports.certification import (
    WITHHELD,
    Part,
    certification_folder,
    certification_identifier,
    redactions_of,
)
from audit_reports.certified_parts import certified_parts
from audit_reports.derivation import derivation
from audit_reports.long_simulation import Simulated, configurations, simulations_of_json
from audit_reports.observed_tables import OBSERVED_ROUNDS, ObservedTables, observe
from audit_reports.pack_parts import Hash, MalformedError, Moment, Parts
from audit_reports.pack_seal import Cover, check_bag, check_statement
from audit_reports.pack_streams import document
from audit_reports.par_sheet import ParFacts, par_sheet, strips_json
from audit_reports.statement import CERTIFICATION_PACK
from engines.game import Game
from engines.registry import GAMES, game_of_rules, installed_rules, rules_versions
from engines.rules import GameRules, RulesFileError, load_rules
from engines.simulate import CHUNK_ROUNDS, simulate
from replay.verdict import EXIT_CLEAN, EXIT_FINDINGS, Finding

__all__ = ["CertificationCheck", "CertificationChecking"]

_ALWAYS = ("par", "simulation", "derivation", "texts", "software", "sbom", "clauses", "pack")
_ALWAYS_FILES = frozenset(
    {f"{name}.json" for name in _ALWAYS} | {"report.html", "report.pdf", "readme.txt", "verify_certification.py", "keys/pack.pub"}
)
_RULES_FILES = frozenset({"strips.json", "strips.html", "rules.toml", "rules.json"})


class Found(BaseModel):
    """One of the findings of `pack.json`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    code: str
    where: str
    want: str
    got: str


class Index(BaseModel):
    """`pack.json` of a certification pack."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    document: Literal["certification/1"] = Field(alias="schema")
    game: str
    rules_version: str
    rules_hash: Hash
    engine_fingerprint: Hash
    as_of_us: Moment
    seed: str = Field(pattern="^([0-9a-f]{2})*$")
    rounds: int = Field(ge=1, lt=2**53)
    test_list: str
    parts: list[str]
    verdict: Literal["agrees", "disagrees"]
    findings: list[Found]


_INDEX, _ANY = TypeAdapter(Index), TypeAdapter(dict[str, Any])


class CertificationCheck(NamedTuple):
    """What a pack comes to: what it is of, its own verdict, what was checked, what could not be, and the findings."""

    game: str
    verdict: str
    checked: list[str]
    unchecked: list[str]
    findings: list[Finding]

    @property
    def exit_status(self) -> int:
        """3 for findings and for a pack whose own verdict is that it disagrees, else 0."""
        return EXIT_CLEAN if self.verdict == "agrees" and not self.findings else EXIT_FINDINGS


class CertificationChecking:
    """One pack on its way through the checks; `steps` does them, `result` says what came of them."""

    def __init__(self, data: bytes, where: str, pack_key: bytes) -> None:
        self._parts = Parts(read_zip(data, where))
        self._pack_key = pack_key
        self._index: Index | None = None
        self._findings: list[Finding] = []
        self._checked: list[str] = []
        self._unchecked: list[str] = []

    @property
    def result(self) -> CertificationCheck:
        """What has come of the checks so far."""
        index = self._index
        named = (certification_identifier(index.game, index.rules_version), index.verdict) if index else ("", "")
        return CertificationCheck(*named, self._checked, self._unchecked, self._findings)

    def steps(self) -> Iterator[str]:
        """Do all checks in turn; yields the name of each that was done."""
        try:
            yield from self._steps()
        except (MalformedError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            self._find("pack_form", "form of the pack", "that of docs/certification-format.md", f"{type(error).__name__} {error}"[:200])

    def _find(self, code: str, where: str, want: object, got: object) -> None:
        wanted, found = (f"{text[:300]} …" if len(text) > 300 else text for text in (str(want), str(got)))
        self._findings.append(Finding(code, "integrity", -1, -1, where, wanted, found, f"{where}: want {wanted}, got {found}"))

    def _steps(self) -> Iterator[str]:
        for each in check_bag(self._parts):
            self._find(*each)
        self._checked.append(f"bag: {len(self._parts.payload)} files under their hashes")
        self._index = index = self._parts.json("pack.json", _INDEX)
        self._check_statement(index)
        self._check_files(index)
        yield "bag, signature, files"
        rules = self._rules(index)
        if rules is None:
            return
        game = game_of_rules(rules)
        simulated = simulations_of_json(self._parts.json("simulation.json", _ANY))
        self._check_simulation(index, game, simulated)
        yield "first rounds of each simulation"
        looked_at: list[ObservedTables] = []
        for tables in observe(game, OBSERVED_ROUNDS, bytes.fromhex(index.seed)):
            looked_at[:] = [tables]
            yield "boards and wins"
        routes = {}
        for mode in rules.modes:
            routes[mode.name] = cap_route(rules, mode.name, bytes.fromhex(index.seed))
            yield f"way to the cap, {mode.name}"
        self._check_figures(game, simulated, looked_at[0], routes)
        self._check_verdict(index)
        yield "figures"
        yield from self._remake_parts(index, game)

    def _check_statement(self, index: Index) -> None:
        said = {name: getattr(index, name) for name in ("game", "rules_hash", "rules_version", "verdict")}
        folder = certification_folder(index.game, index.rules_version, index.rules_hash)
        identifier = certification_identifier(index.game, index.rules_version)
        cover = Cover(CERTIFICATION_PACK, folder, identifier, index.as_of_us, said)
        found = list(check_statement(self._parts, cover, self._pack_key))
        for each in found:
            self._find(*each)
        if not self._pack_key:
            self._unchecked.append("builder: signed by the key in the pack, not compared with one that you hold; give it with --key")
        elif not found:
            self._checked.append("builder: signed by the key that you hold")

    def _check_files(self, index: Index) -> None:
        payload, parts = self._parts.payload, {f"{name}.json" for name in index.parts}
        redacted = redactions_of(payload)
        wanted = _ALWAYS_FILES | parts | (frozenset() if redacted is not None else _RULES_FILES)
        for name in sorted(wanted - set(payload)):
            self._find("files", f"data/{name}", "the files of the format", "missing")
        allowed = wanted | ({"redactions.json"} if redacted is not None else set())
        others = [name for name in payload if name not in allowed and not name.startswith(("charts/", "forced/"))]
        for name in sorted(others):
            self._find("files", f"data/{name}", "the files of the format", "one that does not belong here")
        for name in sorted(each for each in payload if redacted is not None and each.startswith(WITHHELD)):
            self._find("redaction", f"data/{name}", "nothing that shows strips", "it in a redacted pack")
        for name in sorted(each for each in redacted or () if not each.startswith(WITHHELD)):
            self._find("redaction", f"data/{name}", "files that show strips withheld, no others", "another withheld")
        for name in self._parts.uncanonical():
            self._find("pack_form", f"data/{name}", "canonical JSON", "another form")
        self._unchecked.append("report, charts, software and bill of materials: there under their hashes, not made anew")

    def _rules(self, index: Index) -> GameRules | None:
        """Return the rules of the pack, or the installed ones that have its hash; says so where there are none, or two of one id."""
        if index.game not in GAMES:
            self._unchecked.append(f"rules and figures: {index.game} is not installed here")
            return None
        installed = installed_rules(index.game, index.rules_version) if index.rules_version in rules_versions(index.game) else None
        named = {each.code for each in index.findings}
        if installed is not None and installed.rules_hash != index.rules_hash and "paytable_two_hashes" not in named:
            where = f"paytable id {certification_identifier(index.game, index.rules_version)}"
            self._find("paytable_two_hashes", where, installed.rules_hash, index.rules_hash)
        content = self._parts.payload.get("rules.toml")
        if content is None:
            if installed is not None and installed.rules_hash == index.rules_hash:
                self._checked.append("rules: those installed here, which have the pack's hash")
                return installed
            self._unchecked.append("rules and figures: the pack is redacted, and rules of its hash are not installed here")
            return None
        rules = _loaded(content)
        if rules is None or rules.rules_hash != index.rules_hash:
            self._find("rules", "rules.toml", index.rules_hash, rules.rules_hash if rules else "no rules file")
            return None
        sheet = {"schema": "rules/1", "rules_hash": rules.rules_hash, "file": None, "rules": rules.model_dump()}
        for name, made in (("rules.json", sheet), ("strips.json", strips_json(rules))):
            self._hold(name, made)
        self._checked.append("rules: rules.toml has the pack's hash, strips and sheet are its own")
        return rules

    def _hold(self, name: str, made: Any) -> None:
        """Hold a JSON file against what was made again, by its first difference."""
        if document(made) != self._parts.file(name):
            where, want, got = next(_differences(made, json.loads(self._parts.file(name))), ("", "the same", "another"))
            self._find("made_again", f"{name}{where}", want, got)

    def _check_simulation(self, index: Index, game: Game, simulated: list[Simulated]) -> None:
        """Play a first part of every configuration again."""
        rules = game.rules
        wanted = [each.name for each in configurations(rules)]
        if [each.configuration.name for each in simulated] != wanted:
            self._find("simulation", "configurations", ", ".join(wanted), ", ".join(each.configuration.name for each in simulated))
            return
        for each in simulated:
            count = min(index.rounds, CHUNK_ROUNDS)
            choices = (rules.choice_names.index(each.configuration.choice),) if each.configuration.choice else ()
            sums = next(simulate(rules, each.configuration.mode, count, seed=bytes.fromhex(index.seed), choices=choices))
            want = (count, sums.total("win_minor"), sums.total("win_minor_squared"))
            if each.points[0] != want:
                self._find("simulation", f"first rounds of {each.configuration.name}", want, tuple(each.points[0]))
            if each.sums.total("rounds") != index.rounds:
                self._find("simulation", f"rounds of {each.configuration.name}", index.rounds, each.sums.total("rounds"))
        self._checked.append(f"simulation: the first {min(index.rounds, CHUNK_ROUNDS)} rounds of each configuration, played again")

    def _check_figures(self, game: Game, simulated: list[Simulated], seen: ObservedTables, routes: dict[str, Any]) -> None:
        self._hold("derivation.json", derivation(game.rules))
        self._hold("par.json", par_sheet(ParFacts(game, simulated, seen, routes)))
        self._checked.append("par sheet: every figure computed again from the sums, tables seen again on boards, the way to the cap again")

    def _check_verdict(self, index: Index) -> None:
        """Hold verdict and findings of the cover against the par sheet's."""
        if (index.verdict == "agrees") != (not index.findings):
            self._find("verdict", "verdict of pack.json", "agrees where there is no finding, and only there", index.verdict)
        of_par = self._parts.json("par.json", _ANY)["findings"]
        if missing := [each for each in of_par if each not in [found.model_dump() for found in index.findings]]:
            self._find("verdict", "findings of pack.json", f"those of par.json, {missing[0]['where']} among them", "others")

    def _remake_parts(self, index: Index, game: Game) -> Iterator[str]:
        """Make every other part again from the seed, and hold it against the pack's."""
        if self._findings:
            self._unchecked.append("parts made apart: not made again, for something is wrong already")
            return
        if index.engine_fingerprint != game.fingerprint:
            self._unchecked.append(f"parts made apart: by engine {index.engine_fingerprint}, installed is {game.fingerprint}")
            return
        built_by = {row["path"]: row["sha256"] for row in self._parts.json("software.json", _ANY)["files"]}
        others = sum(digest != built_by.get(path) for path, digest in package_sources().items())
        for part in certified_parts(game, bytes.fromhex(index.seed), index.rounds, index.test_list):
            if part.name in index.parts:
                self._hold_part(part, others)
                yield part.name

    def _hold_part(self, part: Part, others: int) -> None:
        """Hold a part that was made again against the pack's; others: how many files of the program are not those that built it.

        Another version of the program may make a part otherwise: then a difference is said, and is no finding.
        """
        files = {f"{part.name}.json": document(part.document), **part.files}
        differing = [name for name, content in files.items() if self._parts.payload.get(name, content) != content]
        if differing and others:
            self._unchecked.append(f"{part.name}: made again it is another; {others} files of the program did not build the pack")
        elif differing:
            self._hold(f"{part.name}.json", part.document)
            for name in differing[1 if differing[0] == f"{part.name}.json" else 0 :]:
                self._find("made_again", f"data/{name}", "what was made again", "another")
        else:
            self._checked.append(f"{part.name}: made again from the seed")


def _loaded(content: bytes) -> GameRules | None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_bytes(content)
        try:
            return load_rules(path)
        except RulesFileError:
            return None


def _differences(made: Any, held: Any, where: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two JSON values differ: place, made again, held in the pack."""
    if isinstance(made, dict) and isinstance(held, dict):
        for name in sorted({*made, *held}):
            yield from _differences(made.get(name), held.get(name), f"{where}, {name}")
    elif isinstance(made, list | tuple) and isinstance(held, list) and len(made) == len(held):
        for place, (mine, theirs) in enumerate(zip(made, held, strict=True)):
            yield from _differences(mine, theirs, f"{where}, {place}")
    elif made != held:
        yield where, str(made)[:200], str(held)[:200]
