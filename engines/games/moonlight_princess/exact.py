"""What can be computed exactly of Moonlight Princess: its first boards, by convolution over the reels.

A reel's window is one of its strip's positions, each as likely as another, and no reel knows another: the ways in which
a board shows so many of some symbols are the product of the reels' polynomials. What falls in during tumbles depends on
where the winners lie, so nothing here goes beyond the first board.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from engines.games.moonlight_princess.rules import Rules

__all__ = ["board_odds", "board_ways", "fall_pays", "fall_trigger_odds", "first_board_pays", "pay_x100", "scatter_odds"]

PAY_SCALE = 100


def _convolve(reels: Iterable[Iterable[tuple[int, ...]]]) -> dict[tuple[int, ...], int]:
    """Return in how many ways one tuple of each reel, added up place by place, comes to each sum.

    Tuples are added as one integer with a byte for each place: no board has 256 cells.
    """
    ways = {0: 1}
    place_count = 0
    for tuples in reels:
        of_reel = Counter(tuples)
        place_count = len(next(iter(of_reel)))
        packed = [(int.from_bytes(bytes(counts), "big"), more_ways) for counts, more_ways in of_reel.items()]
        longer: dict[int, int] = {}
        for total, total_ways in ways.items():
            for more, more_ways in packed:
                longer[total + more] = longer.get(total + more, 0) + total_ways * more_ways
        ways = longer
    return {tuple(total.to_bytes(place_count, "big")): total_ways for total, total_ways in ways.items()}


def _window_counts(rules: Rules, strip_set: int, reel: int, symbols: Sequence[int]) -> Iterator[tuple[int, ...]]:
    strip = rules.strip(strip_set, reel)
    around = strip + strip[: rules.layout.rows - 1]
    for stop in range(len(strip)):
        window = around[stop : stop + rules.layout.rows]
        yield tuple(window.count(symbol) for symbol in symbols)


def _scatter(rules: Rules) -> int:
    return next(place for place, symbol in enumerate(rules.symbols) if symbol.role == "scatter")


def board_ways(rules: Rules, strip_set: int, symbols: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Return in how many ways the reels can stop so that the first board shows so many of each of `symbols`.

    strip_set, symbols: places in the rules file. The keys are counts in the order of `symbols`; all ways together are the
    product of the strips' lengths.
    """
    return _convolve(_window_counts(rules, strip_set, reel, symbols) for reel in range(rules.layout.reels))


def board_odds(rules: Rules, strip_set: int, symbols: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """Return the odds of each tuple of counts of `symbols` on the first board; see `board_ways`."""
    ways = board_ways(rules, strip_set, symbols)
    total = sum(ways.values())
    return {counts: Fraction(count_ways, total) for counts, count_ways in ways.items()}


def pay_x100(rules: Rules, symbol: int, count: int) -> int:
    """Return what `count` of a paying symbol pay, in hundredths of the bet."""
    reached = [pay for wanted, pay in zip(rules.pay_counts.counts, rules.symbols[symbol].pays_x100, strict=True) if count >= wanted]
    return reached[-1] if reached else 0


def _windows_after_fall(rules: Rules, strip_set: int, reel: int, symbol: int, others: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield for each stop how many the window shows of `symbol` and scatters, and of `others` once the symbol's cells have left."""
    strip, rows, scatter = rules.strip(strip_set, reel), rules.layout.rows, _scatter(rules)
    ring = strip * 3
    for stop in range(len(strip), 2 * len(strip)):
        window = ring[stop : stop + rows]
        leaving = window.count(symbol)
        after = ring[stop - leaving : stop] + [each for each in window if each != symbol]
        yield leaving, window.count(scatter), *(after.count(other) for other in others)


def fall_trigger_odds(rules: Rules, strip_set: int, symbol: int) -> tuple[Fraction, ...]:
    """Return for each number of scatters the odds that the first board shows them, `symbol` wins and triggers by its fall alone.

    By its fall alone: once the symbol's cells, and no others, have left and the strips have filled their places, the
    scatters are enough to trigger.
    """
    reels = range(rules.layout.reels)
    ways = _convolve(_windows_after_fall(rules, strip_set, reel, symbol, [_scatter(rules)]) for reel in reels)
    total = sum(ways.values())
    odds = [Fraction(0)] * (rules.layout.reels + 1)
    for (count, scatters, after), count_ways in ways.items():
        if count >= rules.pay_counts.counts[0] and after >= rules.trigger.count:
            odds[scatters] += Fraction(count_ways, total)
    return tuple(odds)


def fall_pays(rules: Rules, strip_set: int) -> dict[tuple[int, int], Fraction]:
    """Return what boards after the fall of one winning symbol pay on average, in bets, by scatters before and hearts after.

    Summed over the symbols that win on the first board, each as if it alone left. Where one symbol wins that is the second
    board; where several do it is none that is played, but known exactly all the same.
    """
    heart = next(place for place, symbol in enumerate(rules.symbols) if symbol.role == "heart")
    paying = range(sum(symbol.role == "paying" for symbol in rules.symbols))
    pays: dict[tuple[int, int], Fraction] = {}
    for symbol in paying:
        for other in paying:
            ways = _convolve(_windows_after_fall(rules, strip_set, reel, symbol, [heart, other]) for reel in range(rules.layout.reels))
            total = sum(ways.values()) * PAY_SCALE
            sums: dict[tuple[int, int], int] = {}
            for (count, scatters, hearts, after), count_ways in ways.items():
                pay = pay_x100(rules, other, after) if count >= rules.pay_counts.counts[0] else 0
                if pay:
                    sums[scatters, hearts] = sums.get((scatters, hearts), 0) + count_ways * pay
            for key, each in sums.items():
                pays[key] = pays.get(key, Fraction(0)) + Fraction(each, total)
    return pays


def first_board_pays(rules: Rules, strip_set: int) -> tuple[Fraction, ...]:
    """Return what each paying symbol pays on the first board on average, in bets and without hearts, in paytable order."""
    pays = []
    for symbol in range(sum(each.role == "paying" for each in rules.symbols)):
        odds = board_odds(rules, strip_set, [symbol])
        pays.append(sum((chance * pay_x100(rules, symbol, count) for (count,), chance in odds.items()), Fraction(0)) / PAY_SCALE)
    return tuple(pays)


def scatter_odds(rules: Rules, strip_set: int) -> tuple[Fraction, ...]:
    """Return the odds of 0, 1, 2 … scatters on the first board, as many as there are reels and one (MLP-3)."""
    odds = board_odds(rules, strip_set, [_scatter(rules)])
    return tuple(odds.get((count,), Fraction(0)) for count in range(rules.layout.reels + 1))
