"""The parts of a certification that are made apart from the simulation: the generator, its tests, forced rounds, interruptions."""

from collections.abc import Iterator

from audit_reports.certification import Part
from engines.game import Game

__all__ = ["PART_NAMES", "certified_parts"]

PART_NAMES: tuple[str, ...] = ()


def certified_parts(game: Game, seed: bytes, tests: str) -> Iterator[Part]:
    """Yield every part, in the order of the report; the same for the same seed and list of tests."""
    yield from ()
