"""Moon Spell's mathematics as fractions: every board once, Moon values by convolution, the bonus by sums over its states.

All of it is exact. A round's total is L + C + P: line wins L of the first board, cash C of its Moons or of the bonus, ladder
prize P. Given the number of Moons on the first board the three hang together only through the number of Moons at the end;
so the joint counts of (Moons, line wins) over the full cycle of boards, the law of the end count and the law of a sum of
values give every figure, also under the win cap. Amounts are hundredths of the bet.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from engines.games.moon_spell.game import Tables, build_tables
from engines.games.moon_spell.rules import Rules
from engines.jit import arrays_of, compiled, kernel

__all__ = ["Exact", "board_counts", "end_counts", "exact_figures", "exact_return", "respin_counts", "value_sums"]

LAYOUT_CELLS_MAX = 15

Law = dict[int, Fraction]


class Exact(NamedTuple):
    """The figures of one rules version at a bet of 1; the parts of the return add up to it."""

    rtp: Fraction
    lines: Fraction
    cash: Fraction  # 3 or 4 Moons
    bonus: Fraction  # hold and respin, less what the cap cuts
    cut: Fraction  # by the cap, included in `bonus`
    hit_frequency: Fraction  # rounds that win anything
    variance: Fraction  # of a round's win
    moons: tuple[Fraction, ...]  # odds of each number of Moons on the first board
    ends: tuple[Fraction, ...]  # odds that a bonus of a round ends with so many Moons
    respins: Fraction  # mean number of respins in a bonus
    cap: Fraction  # odds of the cap


@kernel
def count_boards(tables: Tables, cells: list[int], stops: list[int], counts: list[int], line_pay_max: int) -> None:
    """Go once through the full cycle of boards and count them: counts[moons * (line_pay_max + 1) + line pay in steps of 5]."""
    reels = tables.reel_count
    steps = len(tables.pay_counts)
    for reel in range(reels):
        stops[reel] = 0
    total = 1
    for reel in range(reels):
        total *= tables.strip_lengths[tables.base_strip_set * reels + reel]
    for _ in range(total):
        moons = 0
        for reel in range(reels):
            strip = tables.base_strip_set * reels + reel
            for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
                place = (stops[reel] + cell - tables.cell_starts[reel]) % tables.strip_lengths[strip]
                cells[cell] = tables.strips[tables.strip_starts[strip] + place]
                if cells[cell] == tables.moon:
                    moons += 1
        pay = 0
        for line in range(tables.line_count):
            symbol = cells[tables.line_cells[line * reels]]
            if symbol < tables.paying_count:
                run = 1
                while run < reels:
                    other = cells[tables.line_cells[line * reels + run]]
                    if other != symbol and other != tables.wild:
                        break
                    run += 1
                best = 0
                for step in range(steps):
                    if run >= tables.pay_counts[step]:
                        best = tables.pays_x100[symbol * steps + step]
                pay += best
        counts[moons * (line_pay_max + 1) + pay // 5] += 1
        reel = 0
        while reel < reels:
            stops[reel] += 1
            if stops[reel] < tables.strip_lengths[tables.base_strip_set * reels + reel]:
                break
            stops[reel] = 0
            reel += 1


def board_counts(rules: Rules, *, is_compiled: bool = True) -> list[dict[int, int]]:
    """Return for each number of Moons how many boards of the full cycle pay so much on their lines."""
    tables = build_tables(rules)
    cell_count = tables.cell_starts[-1]
    pay_max = max(tables.pays_x100) * tables.line_count // 5
    size = (cell_count + 1) * (pay_max + 1)
    if is_compiled:
        import numpy

        counts = numpy.zeros(size, dtype=numpy.int64)
        space = numpy.zeros(cell_count, dtype=numpy.int64)
        stops = numpy.zeros(tables.reel_count, dtype=numpy.int64)
        compiled(count_boards)(arrays_of(tables), space, stops, counts, pay_max)
        found = counts.tolist()
    else:
        found = [0] * size
        count_boards(tables, [0] * cell_count, [0] * tables.reel_count, found, pay_max)
    rows = [found[moons * (pay_max + 1) : (moons + 1) * (pay_max + 1)] for moons in range(cell_count + 1)]
    return [{5 * place: count for place, count in enumerate(row) if count} for row in rows]


def value_sums(rules: Rules, moon_count: int) -> Law:
    """Return the law of the sum of `moon_count` Moon values, by convolution."""
    weights = rules.moon_weights.weights
    total = sum(weights)
    sums: dict[int, int] = {0: 1}
    for _ in range(moon_count):
        following: dict[int, int] = {}
        for value, count in sums.items():
            for more, weight in zip(rules.moon_values.values_x100, weights, strict=True):
                if weight:
                    following[value + more] = following.get(value + more, 0) + count * weight
        sums = following
    return {value: Fraction(count, total**moon_count) for value, count in sums.items()}


def _new_moons(rules: Rules, empty: int) -> Iterator[tuple[int, Fraction]]:
    """Yield how many of `empty` cells get a Moon in a respin, and the odds."""
    from math import comb

    weights = rules.respin_weights
    odds = Fraction(weights.moon, weights.moon + weights.blank)
    for new in range(empty + 1):
        yield new, comb(empty, new) * odds**new * (1 - odds) ** (empty - new)


def _states(rules: Rules, moons_at_start: int) -> tuple[Law, Fraction]:
    """Return the law of the Moons at the end of a bonus that starts with so many, and the mean number of respins."""
    cell_count = sum(rules.reel_rows)
    spins = rules.respins.spins
    ends: Law = {}
    played = Fraction(0)
    # What is reached with so many Moons and all respins left; a Moon more always sets the counter back.
    reached: Law = {moons_at_start: Fraction(1)}
    for moons in range(moons_at_start, cell_count):
        weight = reached.get(moons, Fraction(0))
        laws = dict(_new_moons(rules, cell_count - moons))
        for _ in range(spins):
            played += weight
            for new, odds in laws.items():
                if new:
                    reached[moons + new] = reached.get(moons + new, Fraction(0)) + weight * odds
            weight *= laws[0]
        ends[moons] = weight
    ends[cell_count] = reached.get(cell_count, Fraction(0))
    return ends, played


def end_counts(rules: Rules, moons_at_start: int) -> Law:
    """Return the law of the number of Moons at the end of a bonus that starts with `moons_at_start`."""
    return _states(rules, moons_at_start)[0]


def respin_counts(rules: Rules, moons_at_start: int) -> Fraction:
    """Return the mean number of respins of a bonus that starts with `moons_at_start` Moons."""
    return _states(rules, moons_at_start)[1]


def _ladder(rules: Rules, moons: int) -> int:
    prizes = [prize for count, prize in zip(rules.ladder.counts, rules.ladder.prizes_x100, strict=True) if count <= moons]
    return prizes[-1] if prizes else 0


class _Moments(NamedTuple):
    first: Fraction
    second: Fraction


def _moments(law: dict[int, int] | Law) -> _Moments:
    return _Moments(
        sum((Fraction(value) * odds for value, odds in law.items()), Fraction(0)),
        sum((Fraction(value) ** 2 * odds for value, odds in law.items()), Fraction(0)),
    )


def _excess(rules: Rules, lines: Law, cash: Law, ladder: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return what the cap takes from the mean and from the mean square of L + C + P, and the odds that it is reached."""
    cap = rules.cap.multiple * 100
    if max(lines) + max(cash) + ladder < cap:
        return Fraction(0), Fraction(0), Fraction(0)
    mean, square, odds = Fraction(0), Fraction(0), Fraction(0)
    for line, line_odds in lines.items():
        for value, value_odds in cash.items():
            total = line + value + ladder
            if total >= cap:
                both = line_odds * value_odds
                mean, square, odds = mean + both * (total - cap), square + both * (total**2 - cap**2), odds + both
    return mean, square, odds


@cache
def _board_counts_of(rules_hash: str) -> list[list[dict[int, int]]]:
    del rules_hash
    return []


def exact_figures(rules: Rules, *, is_compiled: bool = True) -> Exact:
    """Return every figure of the game under the decided readings; MSP-3, MSP-2 and ALL-1 must stand as decided.

    Raises ValueError for other readings.
    """
    if any(reading.value for reading in rules.readings):
        raise ValueError("exact figures: want the readings as decided")
    kept = _board_counts_of(rules.rules_hash)
    if not kept:
        kept.append(board_counts(rules, is_compiled=is_compiled))
    boards = kept[0]
    cycle = sum(sum(row.values()) for row in boards)
    sums = [value_sums(rules, moons) for moons in range(len(boards))]
    cash_moments = [_moments(law) for law in sums]
    lines = cash = bonus = cut = square = hits = cap = starts = respins = Fraction(0)
    ends = [Fraction(0)] * len(boards)
    for moons, row in enumerate(boards):
        if not row:
            continue
        odds = Fraction(sum(row.values()), cycle)
        law = {pay: Fraction(count, cycle) / odds for pay, count in row.items()}
        line = _moments(law)
        lines += odds * line.first
        hits += odds if moons >= rules.moon_counts.cash else odds - Fraction(row.get(0, 0), cycle)
        if moons < rules.moon_counts.trigger:
            paid = moons if moons >= rules.moon_counts.cash else 0
            outcomes = [(paid, Fraction(1))]
        else:
            outcomes = list(end_counts(rules, moons).items())
            starts += odds
            respins += odds * respin_counts(rules, moons)
        for final, share in outcomes:
            ladder = _ladder(rules, final) if moons >= rules.moon_counts.trigger else 0
            paid_cash = cash_moments[final]
            over, over_square, over_odds = _excess(rules, law, sums[final], ladder)
            both = odds * share
            prize = paid_cash.first + ladder
            prize_square = paid_cash.second + 2 * ladder * paid_cash.first + ladder**2
            square += both * (line.second + 2 * line.first * prize + prize_square - over_square)
            cut += both * over
            cap += both * over_odds
            if moons >= rules.moon_counts.trigger:
                bonus += both * (prize - over)
                ends[final] += both
            else:
                cash += both * (prize - over)
    mean = lines + cash + bonus
    return Exact(
        rtp=mean / 100,
        lines=lines / 100,
        cash=cash / 100,
        bonus=bonus / 100,
        cut=cut / 100,
        hit_frequency=hits,
        variance=(square - mean**2) / 10_000,
        moons=tuple(Fraction(sum(row.values()), cycle) for row in boards),
        ends=tuple(ends),
        respins=respins / starts if starts else Fraction(0),
        cap=cap,
    )


def exact_return(rules: Rules, mode: str) -> Fraction:
    """Return the RTP of a mode as a fraction; KeyError for an unknown mode."""
    cost_x100 = rules.modes[rules.mode_index(mode)].cost_x100
    return exact_figures(rules).rtp * 100 / cost_x100
