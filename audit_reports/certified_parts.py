"""The parts of a certification that are made apart from the simulation: the generator, its tests, forced rounds, interruptions."""

from collections.abc import Iterator

from audit_reports.certification import Part
from audit_reports.randomness.lists_of_tests import shipped_list
from audit_reports.randomness.report import DRAWS_MAX, RandomnessReport, examined, judged, randomness_blocks
from audit_reports.randomness.sources import sources_of
from engines.game import Game

__all__ = ["PART_NAMES", "certified_parts"]

PART_NAMES: tuple[str, ...] = ("randomness",)


def certified_parts(game: Game, seed: bytes, rounds: int, tests: str) -> Iterator[Part]:
    """Yield every part, in the order of the report; the same for the same terms.

    rounds: as many numbers of each source are tested as rounds are simulated, up to a million. Raises ListStrangeError.
    """
    randomness = _randomness(game, seed, min(rounds, DRAWS_MAX), tests)
    yield Part("randomness", randomness.passes, randomness.as_json(), list(randomness_blocks(randomness)), {})


def _randomness(game: Game, seed: bytes, count: int, tests: str) -> RandomnessReport:
    named = shipped_list(tests)
    return judged(named, [examined(source, named, count) for source in sources_of(game, seed)])
