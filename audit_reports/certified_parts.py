"""The parts of a certification that are made apart from the simulation: the generator, its tests, forced rounds, interruptions."""

from collections.abc import Iterator

from audit_reports.broken_rounds import broken_blocks, broken_json, broken_rounds
from audit_reports.certification import Part
from audit_reports.determinism import determinism, determinism_blocks, determinism_json
from audit_reports.forced_rounds import forced_blocks, forced_files, forced_json, forced_rounds
from audit_reports.random_dossier import dossier, dossier_blocks
from audit_reports.randomness.lists_of_tests import shipped_list
from audit_reports.randomness.report import DRAWS_MAX, RandomnessReport, examined, judged, randomness_blocks
from audit_reports.randomness.sources import sources_of
from engines.game import Game

__all__ = ["PART_NAMES", "certified_parts"]

PART_NAMES: tuple[str, ...] = ("dossier", "randomness", "forced", "interruptions", "determinism")


def certified_parts(game: Game, seed: bytes, rounds: int, tests: str) -> Iterator[Part]:
    """Yield every part, in the order of the report; the same for the same terms.

    rounds: as many numbers of each source are tested as rounds are simulated, up to a million. Raises ListStrangeError.
    """
    about = dossier(game)
    yield Part("dossier", about.passes, about.as_json(), list(dossier_blocks(about)), {})
    tested = _randomness(game, seed, min(rounds, DRAWS_MAX), tests)
    yield Part("randomness", tested.passes, tested.as_json(), list(randomness_blocks(tested)), {})
    forced = list(forced_rounds(game.rules))
    passes = all(row.passes for row in forced)
    yield Part("forced", passes, forced_json(forced), list(forced_blocks(forced)), forced_files(game.rules, forced))
    broken = list(broken_rounds(game.rules))
    yield Part("interruptions", all(row.passes for row in broken), broken_json(broken), list(broken_blocks(broken)), {})
    same = list(determinism(game.rules))
    yield Part("determinism", all(row.passes for row in same), determinism_json(same), list(determinism_blocks(same)), {})


def _randomness(game: Game, seed: bytes, count: int, tests: str) -> RandomnessReport:
    named = shipped_list(tests)
    return judged(named, [examined(source, named, count) for source in sources_of(game, seed)])
