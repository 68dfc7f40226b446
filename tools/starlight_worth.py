"""What a round of Starlight Wins is worth, from spins played one by one: the estimator behind its calibration.

A round is worth what its base spin awards, and for each free spin that it awards what such a spin is worth; that is what the
spin itself awards, and as much again for each free spin that it adds. So base spins and free spins are played apart, each
stratified by its first board, whose odds are exact (docs/calibration.md). All sums are of integers and do not depend on
what was kept of an earlier start.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engines.canonical import canonical_json  # noqa: E402
from engines.event_buffer import DROP, HEAD_POSITION, HEAD_SHORT, HEAD_TOTAL, TUMBLE, WIN, clear_head  # noqa: E402
from engines.fingerprint import source_files  # noqa: E402
from engines.game import Game  # noqa: E402
from engines.games.starlight_wins.exact import first_board_odds, first_board_pays  # noqa: E402
from engines.games.starlight_wins.game import play_spin  # noqa: E402
from engines.games.starlight_wins.rules import Rules  # noqa: E402
from engines.registry import game_of_rules  # noqa: E402
from engines.rng import key_words, simulation_key, simulation_nonce, start_stream  # noqa: E402
from engines.simulate import CHUNK_ROUNDS  # noqa: E402

GAME = "starlight-wins"
PARTS = ("base", "free")  # parts of the game, and their strip sets in the rules file
BLOCK_SPINS = 1 << 18  # spins of a kept block
STRATA = 4  # first boards with 0, 1, 2, and 3 or more scatters; of those that lose and of those that win
SUM_NAMES = (
    "spins",
    "win",
    "win_squared",
    "awarded",
    "awarded_squared",
    "win_awarded",
    "first",
    "first_squared",
    "win_first",
    "awarded_first",
)
SUM_COUNT = len(SUM_NAMES)
AWARDS_MAX = 64  # free spins awarded by one spin, and more than that


class Sums(NamedTuple):
    """Sums over spins of one part, in minor units and free spins awarded: a row of SUM_NAMES for each stratum."""

    strata: list[int]  # those that lose on the first board by its scatters, then those that win
    awards: list[int]  # number of spins by the free spins that they awarded


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float


class Worth(NamedTuple):
    """What a round is worth and its parts, in bets."""

    base: Estimate  # what the base spin awards
    awarded: Estimate  # free spins that a base spin awards
    free_spin: Estimate  # what an awarded free spin is worth, those that it adds included
    total: Estimate


def play_spins(
    key: Any, end: int, spin_index: int, tables: Any, bet_minor: int, readings: Any, nonce: Any, buffer: Any, sums: Any, awards: Any
) -> int:
    """Play `end` spins of one kind and add them to the sums of their strata; return 1 where one did not fit the buffer."""
    head, events = buffer.head, buffer.events
    for index in range(end):
        simulation_nonce(index, nonce)
        start_stream(buffer.stream, key, nonce)
        clear_head(head)
        awarded = play_spin(buffer, tables, readings, spin_index, 0, bet_minor, tables.cap_multiple * bet_minor)
        if head[HEAD_SHORT] == 1:
            return 1
        scatters, first_minor, place = 0, 0, 0
        while place < head[HEAD_POSITION] and events[place] != TUMBLE:
            if events[place] == DROP:
                for cell in range(events[place + 3]):
                    if events[place + 4 + cell] == tables.scatter:
                        scatters += 1
            elif events[place] == WIN:
                first_minor += events[place + 1 + events[place + 1]]  # its last field is the amount
            place += 2 + events[place + 1]
        win = head[HEAD_TOTAL]
        row = (min(scatters, STRATA - 1) + (STRATA if first_minor > 0 else 0)) * SUM_COUNT
        sums[row] += 1
        sums[row + 1] += win
        sums[row + 2] += win * win
        sums[row + 3] += awarded
        sums[row + 4] += awarded * awarded
        sums[row + 5] += win * awarded
        sums[row + 6] += first_minor
        sums[row + 7] += first_minor * first_minor
        sums[row + 8] += win * first_minor
        sums[row + 9] += awarded * first_minor
        awards[min(awarded, AWARDS_MAX - 1)] += 1
    return 0


def play_block(game: Game, part: str, seed: str, number: int) -> Sums:
    """Return the sums of block `number` of spins of a part: chunks of 2^16 with a key each (`rng/1`, item 9)."""
    import numpy

    from engines.jit import arrays_of

    buffer, tables = arrays_of(game.new_buffer(event_words=1 << 17)), arrays_of(game.tables)
    readings, nonce = numpy.array(game.rules.reading_values(), dtype=numpy.int64), numpy.zeros(3, dtype=numpy.int64)
    sums, awards = numpy.zeros(2 * STRATA * SUM_COUNT, dtype=numpy.int64), numpy.zeros(AWARDS_MAX, dtype=numpy.int64)
    for chunk in range(BLOCK_SPINS // CHUNK_ROUNDS):
        words = key_words(simulation_key(seed.encode(), GAME, part, number * (BLOCK_SPINS // CHUNK_ROUNDS) + chunk))
        key = numpy.array(words, dtype=numpy.int64)
        arguments = (key, CHUNK_ROUNDS, PARTS.index(part), tables, game.rules.bet.coins, readings, nonce, buffer, sums, awards)
        assert not _compiled()(*arguments), "a spin outgrew the buffer"
    return Sums(sums.tolist(), awards.tolist())


@cache
def _compiled() -> Callable[..., int]:
    from engines.jit import compiled

    return compiled(play_spins)


class Measurer:
    """Plays blocks of spins, and keeps the sums of each in a file where one is named."""

    def __init__(self, seed: int, keep: Path | None = None) -> None:
        self._seed, self._keep = seed, keep
        self._known: dict[str, Sums] = {}
        if keep and keep.exists():
            text = keep.read_text()
            whole = text[: text.rfind("\n") + 1]  # the last line may have been cut off
            if whole != text:
                keep.write_text(whole)
            for row in map(json.loads, whole.splitlines()):
                self._known[row["of"]] = Sums(row["strata"], row["awards"])

    def sums(self, rules: Rules, part: str, spin_count: int, stream: str) -> Sums:
        """Return the sums of at least `spin_count` spins of a part, in whole blocks; another `stream` gives other spins."""
        game = game_of_rules(rules)
        sources = hashlib.sha256(repr(source_files("engines.games.starlight_wins.game")).encode()).hexdigest()[:16]
        name = f"{sources} {part_hash(rules, part)} {part} {self._seed}/{stream}"
        total = Sums([0] * (2 * STRATA * SUM_COUNT), [0] * AWARDS_MAX)
        started, played = time.perf_counter(), 0
        for number in range(-(-spin_count // BLOCK_SPINS)):
            of = f"{name} {number}"
            if of not in self._known:
                played += BLOCK_SPINS
                self._known[of] = play_block(game, part, f"{self._seed}/{stream}", number)
                if self._keep:
                    with self._keep.open("a") as file:
                        file.write(json.dumps({"of": of, **self._known[of]._asdict()}) + "\n")
            total = Sums(*([a + b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in zip(total, self._known[of], strict=True)))
        if played:
            report(f"{part} {stream}: {played} spins, {played / (time.perf_counter() - started):.0f} a second")
        return total


def part_hash(rules: Rules, part: str) -> str:
    """Return a hash over the rules that spins of one part depend on: all but the other part's strips and gold."""
    values = rules.model_dump()
    other = {"base": rules.free_spins_strip_set, "free": rules.base_strip_set}[part]
    values["strip_sets"] = [each for each in values["strip_sets"] if each["name"] != other]
    values["gold"] = [each for each in values["gold"] if each["strip_set"] != other]
    return hashlib.sha256(canonical_json(values)).hexdigest()[:32]


def strip_set_of(rules: Rules, part: str) -> str:
    """Return the name of the strip set of `base` or `free`."""
    return rules.base_strip_set if part == "base" else rules.free_spins_strip_set


def exact_strata(rules: Rules, part: str) -> list[Fraction]:
    """Return the odds of each stratum of first boards, in the order of `Sums.strata`."""
    odds = [Fraction(0)] * (2 * STRATA)
    for (wins, scatters), odd in first_board_odds(rules, strip_set_of(rules, part)).items():
        odds[min(scatters, STRATA - 1) + (STRATA if wins else 0)] += odd
    return odds


def hit_share(rules: Rules, part: str) -> Fraction:
    """Return the exact share of first boards that win."""
    return sum(exact_strata(rules, part)[STRATA:], Fraction(0))


def stratified(rules: Rules, part: str, sums: Sums, of_win: float, of_awarded: float) -> Estimate:
    """Return the mean of of_win * bets won + of_awarded * free spins awarded of a spin.

    Each stratum's mean is weighted by its exact odds. Within the strata what the first board wins is taken off and its exact
    mean put back, both times the slope that leaves the least variance. Raises ValueError where a stratum has no spin.
    """
    coins = rules.bet.coins
    pays = first_board_pays(rules, strip_set_of(rules, part))
    first_mean = float(sum(pays, Fraction(0)) * rules.ladder(part)[0])
    rows = []
    for place, odd in enumerate(map(float, exact_strata(rules, part))):
        row = dict(zip(SUM_NAMES, sums.strata[place * SUM_COUNT : (place + 1) * SUM_COUNT], strict=True))
        n = row["spins"]
        if odd and not n:
            raise ValueError(f"stratum {place} of {part}, of odds {odd}: want a spin, got none; play more")
        if n:
            mean, first = (of_win * row["win"] / coins + of_awarded * row["awarded"]) / n, row["first"] / coins / n
            squared = of_win**2 * row["win_squared"] / coins**2 + of_awarded**2 * row["awarded_squared"]
            variance = (squared + 2 * of_win * of_awarded * row["win_awarded"] / coins) / n - mean**2
            covariance = (of_win * row["win_first"] / coins**2 + of_awarded * row["awarded_first"] / coins) / n - mean * first
            first_variance = row["first_squared"] / coins**2 / n - first**2
            rows.append((odd, odd**2 / n, mean, first, variance, covariance, first_variance))
    slope = sum(row[1] * row[5] for row in rows) / sum(row[1] * row[6] for row in rows)
    mean = sum(row[0] * (row[2] - slope * row[3]) for row in rows) + slope * first_mean
    spread = sum(row[1] * (row[4] - 2 * slope * row[5] + slope**2 * row[6]) for row in rows)
    return Estimate(mean, sqrt(max(spread, 0.0)))


def free_spin_worth(rules: Rules, sums: Sums) -> Estimate:
    """Return what an awarded free spin is worth in bets: its own award over one less the free spins that it adds on average."""
    award, added = stratified(rules, "free", sums, 1, 0).mean, stratified(rules, "free", sums, 0, 1).mean
    mean = award / (1 - added)
    return Estimate(mean, stratified(rules, "free", sums, 1, mean).error / (1 - added))


def worth(rules: Rules, base: Sums, free: Sums) -> Worth:
    """Return what a round is worth, from sums over base spins and over free spins; cap and limit of free spins apart."""
    free_spin = free_spin_worth(rules, free)
    awarded = stratified(rules, "base", base, 0, 1)
    both = stratified(rules, "base", base, 1, free_spin.mean)
    error = sqrt(both.error**2 + (awarded.mean * free_spin.error) ** 2)
    return Worth(stratified(rules, "base", base, 1, 0), awarded, free_spin, Estimate(both.mean, error))


def report(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)
