"""Moon Spell's mathematics as fractions: every board once, Moon values by convolution, the bonus by sums over its states.

All of it is exact. A round's total is L + C + P: line wins L of the first board, cash C of its Moons or of the bonus, ladder
prize P. Given the number of Moons on the first board the three hang together only through the number of Moons at the end;
so the joint counts of (Moons, line wins) over the full cycle of boards, the law of the end count and the law of a sum of
values give every figure, also under the win cap. Amounts are hundredths of the bet.
"""

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from engines.games.moon_spell.game import Tables, build_tables
from engines.games.moon_spell.rules import Rules
from engines.jit import arrays_of, compiled, kernel

__all__ = ["Exact", "board_counts", "end_counts", "exact_figures", "exact_return", "keep_board_counts", "respin_counts", "value_sums"]

PAY_STEP = 5  # hundredths of the bet; every pay is a multiple

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
def show_reel(tables: Tables, cells: list[int], reel: int, stop: int) -> None:
    """Write the window of a reel that stands at `stop` into `cells`."""
    strip = tables.base_strip_set * tables.reel_count + reel
    start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
    position = stop
    for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
        cells[cell] = tables.strips[start + position]
        position += 1
        if position == length:
            position = 0


@kernel
def line_pay(tables: Tables, cells: list[int], line: int) -> int:
    """Return what a line pays in hundredths of the bet."""
    reels = tables.reel_count
    symbol = cells[tables.line_cells[line * reels]]
    if symbol >= tables.paying_count:
        return 0
    run = 1
    while run < reels:
        other = cells[tables.line_cells[line * reels + run]]
        if other != symbol and other != tables.wild:
            break
        run += 1
    pay = 0
    steps = len(tables.pay_counts)
    for step in range(steps):
        if run >= tables.pay_counts[step]:
            pay = tables.pays_x100[symbol * steps + step]
    return pay


@kernel
def count_boards(tables: Tables, cells: list[int], stops: list[int], counts: list[int], row_length: int) -> None:
    """Go once through the full cycle of boards and count them: counts[Moons * row_length + line pays in steps of PAY_STEP]."""
    reels = tables.reel_count
    first_strip = tables.base_strip_set * reels
    total = 1
    for reel in range(reels):
        stops[reel] = 0
        show_reel(tables, cells, reel, 0)
        total *= tables.strip_lengths[first_strip + reel]
    for _ in range(total):
        moons = 0
        for cell in range(len(cells)):
            if cells[cell] == tables.moon:
                moons += 1
        pay = 0
        for line in range(tables.line_count):
            pay += line_pay(tables, cells, line)
        counts[moons * row_length + pay // PAY_STEP] += 1
        for reel in range(reels):  # the next stops, the first reel the fastest
            stops[reel] += 1
            if stops[reel] == tables.strip_lengths[first_strip + reel]:
                stops[reel] = 0
            show_reel(tables, cells, reel, stops[reel])
            if stops[reel] > 0:
                break


def board_counts(rules: Rules, *, is_compiled: bool = True) -> list[dict[int, int]]:
    """Return for each number of Moons how many boards of the full cycle pay so much on their lines."""
    tables = build_tables(rules)
    cell_count = tables.cell_starts[-1]
    row_length = max(tables.pays_x100) * tables.line_count // PAY_STEP + 1
    size = (cell_count + 1) * row_length
    if is_compiled:
        import numpy

        counts = numpy.zeros(size, dtype=numpy.int64)
        space = numpy.zeros(cell_count, dtype=numpy.int64)
        stops = numpy.zeros(tables.reel_count, dtype=numpy.int64)
        compiled(count_boards)(arrays_of(tables), space, stops, counts, row_length)
        found = counts.tolist()
    else:
        found = [0] * size
        count_boards(tables, [0] * cell_count, [0] * tables.reel_count, found, row_length)
    rows = [found[moons * row_length : (moons + 1) * row_length] for moons in range(cell_count + 1)]
    return [{PAY_STEP * place: count for place, count in enumerate(row) if count} for row in rows]


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
    # Sums over all cash values from one on: odds, odds x value, odds x value squared.
    values = sorted(cash)
    tails = [(Fraction(0), Fraction(0), Fraction(0))]
    for value in reversed(values):
        chance, first, second = tails[-1]
        tails.append((chance + cash[value], first + value * cash[value], second + value**2 * cash[value]))
    tails.reverse()
    mean, square, odds = Fraction(0), Fraction(0), Fraction(0)
    for line, line_odds in lines.items():
        beside = line + ladder
        chance, first, second = tails[bisect_left(values, cap - beside)]
        mean += line_odds * (first + (beside - cap) * chance)
        square += line_odds * (second + 2 * beside * first + (beside**2 - cap**2) * chance)
        odds += line_odds * chance
    return mean, square, odds


@cache
def _board_counts_of(rules_hash: str) -> list[list[dict[int, int]]]:
    del rules_hash
    return []


def keep_board_counts(rules: Rules, boards: list[dict[int, int]] | None = None) -> list[dict[int, int]]:
    """Return the counts of `board_counts`, made once for these rules, or take over those of rules with the same strips and pays."""
    kept = _board_counts_of(rules.rules_hash)
    if not kept:
        kept.append(boards or board_counts(rules))
    return kept[0]


def exact_figures(rules: Rules) -> Exact:
    """Return every figure of the game under the decided readings; MSP-3, MSP-2 and ALL-1 must stand as decided.

    Raises ValueError for other readings.
    """
    if any(reading.value for reading in rules.readings):
        raise ValueError("exact figures: want the readings as decided")
    boards = keep_board_counts(rules)
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
