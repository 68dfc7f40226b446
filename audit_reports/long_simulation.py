"""The simulation behind a par sheet: every wager configuration, many rounds, stopped and resumed without a round played twice.

Memory does not grow with the rounds: of each configuration the sums are kept, and what they were at some points on the way.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engines.game import Game
from engines.rules import GameRules
from engines.simulate import CHUNK_ROUNDS, SUM_NAMES, Sums, simulate
from ledger.whole_file import write_whole

__all__ = [
    "Configuration",
    "Point",
    "ProgressStrangeError",
    "Simulated",
    "SimulationTerms",
    "configurations",
    "run_simulations",
    "simulation_json",
    "simulations_of_json",
]

SAVE_SECONDS = 5.0
POINTS_PER_OCTAVE = 4


class Configuration(NamedTuple):
    """One way to wager: a mode of the game and, where it asks for one, the choice that every round takes."""

    mode: str
    choice: str  # empty where the game asks for none

    @property
    def name(self) -> str:
        """What it is called in files and tables."""
        return f"{self.mode}-{self.choice}" if self.choice else self.mode


class Point(NamedTuple):
    """Sums over the first rounds of a configuration."""

    rounds: int
    win_minor: int
    win_minor_squared: int


class Simulated(NamedTuple):
    """What came of one configuration, at a bet of one minor unit a coin."""

    configuration: Configuration
    sums: Sums
    points: list[Point]


class SimulationTerms(NamedTuple):
    """What is simulated: these sums depend on nothing else."""

    rules: GameRules
    rounds: int  # of each configuration
    seed: bytes

    @property
    def subject(self) -> dict[str, Any]:
        """The terms as a progress file names them."""
        return {"game": self.rules.game, "rules_hash": self.rules.rules_hash, "rounds": self.rounds, "seed": self.seed.hex()}


class ProgressStrangeError(Exception):
    """A progress file cannot be gone on from."""

    exit_status = 2

    def __init__(self, where: str, wanted: str, found: str) -> None:
        super().__init__(where, wanted, found)
        self.where, self.wanted, self.found = where, wanted, found

    def __str__(self) -> str:
        return f"progress file {self.where}: want {self.wanted}, got {self.found}"


class _Done(NamedTuple):
    """A configuration on its way: chunks played, and what came of them."""

    chunks: int
    sums: Sums
    points: list[Point]


def configurations(rules: GameRules) -> list[Configuration]:
    """Return every wager configuration of a game: its modes, and each with each choice where the game asks for one."""
    return [Configuration(mode.name, choice) for mode in rules.modes for choice in rules.choice_names or ("",)]


def run_simulations(terms: SimulationTerms, progress: Path, *, job_count: int, is_resumed: bool) -> Iterator[Simulated | int]:
    """Yield the number of chunks that is done of all after each, and what came of each configuration after its last.

    progress: a file beside the result, written every few seconds and when the work is broken off; `is_resumed`: go on from it.
    Raises ProgressStrangeError, LedgerUnwritable.
    """
    done = _read_progress(progress, terms) if is_resumed else {}
    if not is_resumed and progress.exists():
        raise ProgressStrangeError(str(progress), "none before new work; go on from it with --resume, or remove it", "one")
    chunk_count = -(-terms.rounds // CHUNK_ROUNDS)
    saved = time.monotonic()
    try:
        for place, configuration in enumerate(configurations(terms.rules)):
            for so_far in _one(terms, configuration, done, job_count):
                done[configuration.name] = so_far
                yield place * chunk_count + so_far.chunks
                if time.monotonic() - saved > SAVE_SECONDS:
                    _write_progress(progress, terms, done)
                    saved = time.monotonic()
            finished = done[configuration.name]
            yield Simulated(configuration, finished.sums, finished.points)
    finally:
        if done:
            _write_progress(progress, terms, done)


def _one(terms: SimulationTerms, configuration: Configuration, done: dict[str, _Done], job_count: int) -> Iterator[_Done]:
    """Yield a configuration's sums after each chunk that was still to be played."""
    rules = terms.rules
    choices = (rules.choice_names.index(configuration.choice),) if configuration.choice else ()
    so_far = done.get(configuration.name)
    first = so_far.chunks if so_far else 0
    chunks = simulate(rules, configuration.mode, terms.rounds, seed=terms.seed, choices=choices, job_count=job_count, first_chunk=first)
    last = -(-terms.rounds // CHUNK_ROUNDS)
    for number, sums in enumerate(chunks, first + 1):
        total = so_far.sums.plus(sums) if so_far else sums
        points = list(so_far.points) if so_far else []
        if number == last or _is_point(number):
            points.append(Point(total.total("rounds"), total.total("win_minor"), total.total("win_minor_squared")))
        so_far = _Done(number, total, points)
        yield so_far


def _is_point(number: int) -> bool:
    """Return whether the sums after this chunk are kept: four times from each number of chunks to its double."""
    octave = number.bit_length() - 1
    return any(number == (1 << octave) * (POINTS_PER_OCTAVE + part) // POINTS_PER_OCTAVE for part in range(POINTS_PER_OCTAVE))


def _write_progress(progress: Path, terms: SimulationTerms, done: dict[str, _Done]) -> None:
    document = {"schema": "certify-progress/1", "subject": terms.subject, "done": done}
    write_whole(progress, json.dumps(document).encode(), 0o644)


def _read_progress(progress: Path, terms: SimulationTerms) -> dict[str, _Done]:
    """Return what was done of these terms; raises ProgressStrangeError for a file of others, or of none."""
    try:
        document = json.loads(progress.read_bytes())
        subject, done = document["subject"], document["done"]
        found = {name: _Done(chunks, Sums(*sums), [Point(*point) for point in points]) for name, (chunks, sums, points) in done.items()}
    except FileNotFoundError as error:
        raise ProgressStrangeError(str(progress), "one to go on from; leave out --resume", "none") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        wanted = "what `audit certify` wrote; remove it and begin anew"
        raise ProgressStrangeError(str(progress), wanted, type(error).__name__) from error
    for name, wanted in terms.subject.items():
        if subject.get(name) != wanted:
            raise ProgressStrangeError(str(progress), f"{name} {wanted}, as asked for now", str(subject.get(name))[:80])
    return found


def simulation_json(terms: SimulationTerms, game: Game, found: list[Simulated]) -> dict[str, Any]:
    """Return all sums as `simulation.json` has them; sums may pass 2^53 and are decimal text."""
    return {
        "schema": "simulation/1",
        "seed": terms.seed.hex(),
        "rounds": terms.rounds,
        "chunk_rounds": CHUNK_ROUNDS,
        "bet_minor": terms.rules.bet.coins,
        "configurations": [_sums_json(terms.rules, game, each) for each in found],
    }


def _sums_json(rules: GameRules, game: Game, found: Simulated) -> dict[str, Any]:
    (mode, choice), sums = found.configuration, found.sums
    strata = zip(rules.strip_sets, sums.strata, strict=True)
    classes = zip(sums.histogram, sums.class_wins, sums.class_squares, strict=True)
    return {
        "mode": mode,
        "choice": choice,
        "cost_minor": rules.cost_minor(mode, rules.bet.coins),
        "strata": [{"strip_set": part.name, **dict(zip(SUM_NAMES, map(str, row), strict=True))} for part, row in strata],
        "classes": [dict(zip(Point._fields, map(str, row), strict=True)) for row in classes],
        "figures": [{"name": name, "per": per, "sum": str(value)} for (name, per), value in zip(game.figures, sums.figures, strict=True)],
        "points": [{name: str(value) for name, value in point._asdict().items()} for point in found.points],
    }


def simulations_of_json(document: dict[str, Any]) -> list[Simulated]:
    """Return the sums that `simulation_json` has written; raises KeyError, TypeError and ValueError for another document."""
    found = []
    for row in document["configurations"]:
        strata = [[int(stratum[name]) for name in SUM_NAMES] for stratum in row["strata"]]
        counts, wins, squares = ([int(each[name]) for each in row["classes"]] for name in Point._fields)
        sums = Sums(strata, counts, wins, squares, [int(each["sum"]) for each in row["figures"]])
        points = [Point(*(int(point[name]) for name in Point._fields)) for point in row["points"]]
        found.append(Simulated(Configuration(row["mode"], row["choice"]), sums, points))
    return found
