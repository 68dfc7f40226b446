"""`certify`: the evidence pack of a game, for a test laboratory."""

import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from audit_reports.builder_key import builder_key
from audit_reports.commands.simulate import MissingExtraError, simulation_seed
from audit_reports.new_file import check_new, write_new
from audit_reports.options import (
    GameOption,
    JsonOption,
    RulesOption,
    UsageError,
    ZoneOption,
    check_file_name,
    chosen_rules,
    job_count,
    parse_count,
    parse_moment,
)
from audit_reports.output import follow, note, print_json, print_line, say_done

if TYPE_CHECKING:
    from audit_reports.certification import Certification, CertificationFacts
    from audit_reports.long_simulation import Simulated, SimulationTerms
    from engines.game import Game
    from engines.rules import GameRules

__all__ = ["register", "verify_certification"]

DEFAULT_ROUNDS = "2e7"
ROUNDS_MIN = 10_000
LIBRARIES = ("numba", "scipy", "matplotlib", "cyclonedx", "typst")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("certify")(certify)


def certify(
    game: GameOption,
    out: Annotated[str, typer.Option("-o", "--out", help="The new zip file to write; one that is there is never replaced.")],
    rounds: Annotated[str, typer.Option("--rounds", help="Simulated rounds of each wager configuration.")] = DEFAULT_ROUNDS,
    seed: Annotated[str, typer.Option("--seed", help="Simulation seed in hex; unless named, one that follows from the rules.")] = "",
    tests: Annotated[str, typer.Option("--tests", help="List of tests of the random numbers: gli-19 or pennsylvania.")] = "gli-19",
    redact: Annotated[bool, typer.Option("--redact", help="Leave out what shows strips; every hash stays.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a simulation that was broken off, from the file beside -o.")] = False,
    as_of: Annotated[str, typer.Option("--as-of", help="The only time in the pack; now unless named.")] = "",
    zone: ZoneOption = "",
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes; 0 is one for each core. No figure depends on it.")] = 0,
    pack_key: Annotated[str, typer.Option("--pack-key", envvar="AUDIT_PACK_KEY", help="The builder's own key; made at first use.")] = "",
    rules: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Build the certification pack of a game: par sheet, tests of the random numbers, forced rounds, clauses; prepared for assessment.

    Example: audit certify --game moon-spell -o moon-spell.zip
    """
    from audit_reports.certification import build_certification
    from audit_reports.randomness.lists_of_tests import shipped_list
    from replay.verdict import EXIT_FINDINGS

    check_file_name(out, "-o")
    check_new(out)
    chosen = chosen_rules(game, rules)
    count = parse_count(rounds, "--rounds")
    if count < ROUNDS_MIN:
        raise UsageError("--rounds", f"{ROUNDS_MIN} at least, for intervals that mean something", rounds)
    moment = parse_moment(as_of, zone)
    shipped_list(tests)
    for library in LIBRARIES:
        _check_library(library)
    key = builder_key(pack_key)
    terms = _terms(chosen, count, simulation_seed(seed) if seed else b"")
    progress = Path(f"{out}.progress")
    facts = _facts(terms, Path(rules) if rules else None, tests, moment, (progress, job_count(jobs), resume))
    pack = build_certification(facts, key, is_redacted=redact)
    write_new(out, pack.data)
    progress.unlink(missing_ok=True)
    _say(facts, pack, out, redact, as_json)
    if pack.findings:
        sys.exit(EXIT_FINDINGS)


def _check_library(library: str) -> None:
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise MissingExtraError("certify", library, "certify")


def _terms(rules: "GameRules", count: int, seed: bytes) -> "SimulationTerms":
    from audit_reports.long_simulation import SimulationTerms

    return SimulationTerms(rules, count, seed or hashlib.sha256(f"certify/1 {rules.rules_hash}".encode()).digest())


def _facts(
    terms: "SimulationTerms", rules_path: Path | None, tests: str, moment: int | None, run: tuple[Path, int, bool]
) -> "CertificationFacts":
    """Do all the work that a pack is built from, with its progress; nothing of it depends on the number of workers."""
    from audit_reports.certification import CertificationFacts
    from audit_reports.certified_parts import PART_NAMES, certified_parts
    from audit_reports.charts import certification_charts
    from audit_reports.par_sheet import ParFacts
    from engines.registry import game_of_rules, installed_rules, installed_rules_path, rules_versions

    rules = terms.rules
    game = game_of_rules(rules)
    simulated = list(_simulated(terms, *run))
    par = ParFacts(game, simulated, _seen(game, terms.seed), _routes(game, terms.seed))
    charts = list(certification_charts(rules, simulated))
    parts = list(follow(certified_parts(game, terms.seed, terms.rounds, tests), what="parts made apart", total=len(PART_NAMES)))
    path = rules_path or installed_rules_path(rules.game, rules.version, rules.rules_hash)
    assert path is not None
    same_version = installed_rules(rules.game, rules.version) if rules.version in rules_versions(rules.game) else rules
    other_hash = same_version.rules_hash if same_version.rules_hash != rules.rules_hash else ""
    as_of_us = moment if moment is not None else int(time.time()) * 1_000_000
    return CertificationFacts(game, path.read_bytes(), terms, simulated, par, charts, parts, tests, as_of_us, other_hash)


def _simulated(terms: "SimulationTerms", progress: Path, jobs: int, is_resumed: bool) -> Iterator["Simulated"]:
    """Yield what came of each configuration, with a bar over all chunks."""
    from audit_reports.long_simulation import configurations, run_simulations
    from engines.simulate import CHUNK_ROUNDS

    total = -(-terms.rounds // CHUNK_ROUNDS) * len(configurations(terms.rules))
    steps = run_simulations(terms, progress, job_count=jobs, is_resumed=is_resumed)
    found: list[Simulated] = []

    def chunks() -> Iterator[int]:
        for step in steps:
            if isinstance(step, int):
                yield step
            else:
                found.append(step)

    for done in follow(chunks(), what=f"chunks of {CHUNK_ROUNDS} simulated rounds", total=total):
        say_done(f"{done} of {total} chunks of {CHUNK_ROUNDS} simulated rounds done, kept in {progress}: go on with --resume")
    yield from found


def _seen(game: "Game", seed: bytes) -> Any:
    from audit_reports.long_simulation import configurations
    from audit_reports.observed_tables import OBSERVED_ROUNDS, observe

    seen = None
    for each in follow(observe(game, OBSERVED_ROUNDS, seed), what="configurations looked at", total=len(configurations(game.rules))):
        seen = each
    return seen


def _routes(game: "Game", seed: bytes) -> Any:
    from audit_reports.cap_route import cap_route

    modes = [mode.name for mode in game.rules.modes]
    found = follow((cap_route(game.rules, mode, seed) for mode in modes), what="ways to the cap", total=len(modes))
    return dict(zip(modes, found, strict=True))


def _say(facts: "CertificationFacts", pack: "Certification", out: str, is_redacted: bool, as_json: bool) -> None:
    """Say what a pack comes to."""
    rules = facts.game.rules
    if as_json:
        named = {"game": rules.game, "rules_version": rules.version, "rules_hash": rules.rules_hash, "seed": facts.terms.seed.hex()}
        facts_of_pack = {"file": out, "bytes": len(pack.data), "verdict": pack.verdict, "findings": pack.findings}
        print_json({"schema": "certify/1", **named, **facts_of_pack})
    else:
        print_line(f"certification pack of {rules.title} {rules.version} in {out}: {pack.verdict}, {len(pack.data)} bytes")
        for each in pack.findings:
            print_line(f"  {each['code']}  {each['where']}: want {each['want']}, got {each['got']}")
    if is_redacted:
        note("redacted: what shows strips is left out, and named with its hash in redactions.json")


def verify_certification(data: bytes, file: str, pack_key: bytes, *, as_json: bool) -> NoReturn:
    """Check a certification pack, with its progress, and end with its exit status; pack_key: the builder's, 32 bytes, or none."""
    from audit_reports.certification_check import CertificationChecking
    from audit_reports.verdict_view import finding_json, finding_lines

    for library in ("numba", "scipy"):
        _check_library(library)
    checking = CertificationChecking(data, file, pack_key)
    for _ in follow(checking.steps(), what="checks", total=None):
        pass
    found = checking.result
    if as_json:
        facts = {"of": found.game, "verdict": found.verdict, "checked": found.checked, "unchecked": found.unchecked}
        print_json({"schema": "certification-verify/1", **facts, "findings": [finding_json(each) for each in found.findings]})
    else:
        count = len(found.findings)
        head = "NOTHING FOUND" if not count else f"{count} FINDING{'S' * (count > 1)}"
        print_line(f"{head}  certification pack of {found.game or 'unknown'}, whose own verdict is {found.verdict or 'none'}")
        for text in found.checked:
            print_line(f"  checked      {text}")
        for text in found.unchecked:
            print_line(f"  not checked  {text}")
        for each in found.findings:
            for line in finding_lines(each):
                print_line(line)
    sys.exit(found.exit_status)
