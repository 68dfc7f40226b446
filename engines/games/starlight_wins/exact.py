"""What can be said of the first board of a Starlight Wins spin without playing one: exact, as fractions.

The five stops are drawn apart from each other, so a product over reels has the product of their means. Gold does not
matter before the first tumble. Multipliers and tumbles are left out: these are the first board's values alone.
"""

from fractions import Fraction
from itertools import product
from math import prod

from engines.games.starlight_wins.rules import Rules
from engines.rules import PAY_SCALE

__all__ = ["first_board_odds", "first_board_pays", "scatter_odds"]


def _windows(rules: Rules, strip_set: str, reel: int) -> list[list[int]]:
    """Return the symbols that a reel shows for each stop."""
    rows = rules.reel_rows[reel]
    strip = rules.strip(rules.strip_set_index(strip_set), reel)
    around = strip + strip[: rows - 1]
    return [around[stop : stop + rows] for stop in range(len(strip))]


def first_board_pays(rules: Rules, strip_set: str) -> list[Fraction]:
    """Return what each paying symbol's ways on the first board are worth on average, in bets before any multiplier.

    In paytable order. A symbol that reaches exactly k reels pays its entry for k times the product of its cells on them.
    """
    reels = [_windows(rules, strip_set, reel) for reel in range(len(rules.reel_rows))]
    worth = []
    for symbol, role in enumerate(symbol.role for symbol in rules.symbols):
        if role != "paying":
            continue
        counts = [[window.count(symbol) for window in windows] for windows in reels]
        means = [Fraction(sum(each), len(each)) for each in counts]
        missing = [Fraction(each.count(0), len(each)) for each in counts] + [Fraction(1)]
        pays = zip(rules.pay_counts.counts, rules.pays_x100_of(symbol), strict=True)
        worth.append(sum((pay * prod(means[:reach]) * missing[reach] for reach, pay in pays), Fraction(0)) / PAY_SCALE)
    return worth


def scatter_odds(rules: Rules, strip_set: str) -> list[Fraction]:
    """Return the odds of 0, 1, 2 … scatters on the first board, by convolution over the reels."""
    odds = {0: Fraction(1)}
    for reel in range(len(rules.reel_rows)):
        odds = _with_reel(rules, strip_set, reel, odds)
    return [odds.get(count, Fraction(0)) for count in range(max(odds) + 1)]


def _with_reel(rules: Rules, strip_set: str, reel: int, odds: dict[int, Fraction]) -> dict[int, Fraction]:
    scatter = rules.symbol_index(next(symbol.name for symbol in rules.symbols if symbol.role == "scatter"))
    windows = _windows(rules, strip_set, reel)
    joined: dict[int, Fraction] = {}
    for count, odd in odds.items():
        for window in windows:
            total = count + window.count(scatter)
            joined[total] = joined.get(total, Fraction(0)) + odd / len(windows)
    return joined


def first_board_odds(rules: Rules, strip_set: str) -> dict[tuple[bool, int], Fraction]:
    """Return the odds of each pair of whether the first board wins and how many scatters it shows.

    It wins where a symbol is on every reel of the least that a way must reach; the boards of those reels are all gone over.
    """
    reach = rules.pay_counts.counts[0]
    paying = {number for number, symbol in enumerate(rules.symbols) if symbol.role == "paying"}
    scatter = rules.symbol_index(next(symbol.name for symbol in rules.symbols if symbol.role == "scatter"))
    kinds: list[dict[tuple[frozenset[int], int], int]] = []
    for reel in range(reach):
        seen: dict[tuple[frozenset[int], int], int] = {}
        for window in _windows(rules, strip_set, reel):
            kind = (frozenset(window) & paying, window.count(scatter))
            seen[kind] = seen.get(kind, 0) + 1
        kinds.append(seen)
    cycle = prod(sum(seen.values()) for seen in kinds)
    numbers: dict[tuple[bool, int], int] = {}
    for boards in product(*(seen.items() for seen in kinds)):
        wins = bool(frozenset.intersection(*(symbols for (symbols, _), _ in boards)))
        place = (wins, sum(count for (_, count), _ in boards))
        numbers[place] = numbers.get(place, 0) + prod(number for _, number in boards)
    found: dict[tuple[bool, int], Fraction] = {}
    for wins in (False, True):
        odds = {count: Fraction(number, cycle) for (is_win, count), number in numbers.items() if is_win == wins}
        for reel in range(reach, len(rules.reel_rows)):
            odds = _with_reel(rules, strip_set, reel, odds)
        found.update({(wins, count): odd for count, odd in sorted(odds.items())})
    return found
