"""Statistical tests of random numbers: each takes an array of draws and gives a statistic and how likely one as extreme is.

Draws are integers of 0 to n - 1, every one as likely as another and none knowing the others: that is what is tested. A p-value
is uniform under it, or conservative; where cells would be too thin they are merged, and a test that cannot be made gives None.
References: D. E. Knuth, The Art of Computer Programming, volume 2, 3.3.2; I. J. Good, The serial test for sampling numbers (1953).
"""

from collections.abc import Callable, Mapping
from math import comb, erfc, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["ALPHABET", "BIT_TESTS", "TESTS", "Statistic", "interplay"]

CELL_MIN = 20  # expected in each cell of a chi-square: fewer make its far tail too heavy
CELLS_MAX = 1_024
ALPHABET = 16  # values that a test of several draws at once tells apart
COLLECTED = 8
HAND = 5
ORDERED = 4
LAGS = 5
GAPS_MAX = 60
PAIRS_PER_REPEAT = 128  # repeats expected are at most this, so that repeats of repeats do not matter
BLOCK = 100

Draws = Any  # a numpy array of int64


class Statistic(NamedTuple):
    """What a test came to: the statistic, in words what it was compared with, and the p-value."""

    value: float
    law: str
    p_value: float


def _normal(z: float, law: str) -> Statistic:
    return Statistic(z, law, erfc(abs(z) / sqrt(2)))


def _chi_square(counts: Any, expected: Any, what: str) -> Statistic | None:
    """Compare counts with what is expected, neighbouring cells merged until none is thin; None for fewer than two."""
    import numpy
    from scipy.stats import chi2

    merged_counts, merged_expected, count, wanted = [], [], 0.0, 0.0
    for seen, due in zip(counts, expected, strict=True):
        count, wanted = count + float(seen), wanted + float(due)
        if wanted >= CELL_MIN:
            merged_counts.append(count)
            merged_expected.append(wanted)
            count, wanted = 0.0, 0.0
    if merged_counts and wanted > 0:
        merged_counts[-1] += count
        merged_expected[-1] += wanted
    if len(merged_counts) < 2:
        return None
    seen_array, due_array = numpy.array(merged_counts), numpy.array(merged_expected)
    value = float(((seen_array - due_array) ** 2 / due_array).sum())
    freedom = len(merged_counts) - 1
    return Statistic(value, f"chi-square, {freedom} degrees, {what}", float(chi2.sf(value, freedom)))


def _cells(draws: Draws, n: int, most: int) -> tuple[Any, Any]:
    """Return draws in at most so many neighbouring cells of nearly one size, and the chance of each cell."""
    import numpy

    cells = min(n, most)
    edges = [cell * n // cells for cell in range(cells + 1)]
    sizes = numpy.diff(edges)
    return numpy.searchsorted(numpy.array(edges[1:]), draws, side="right"), sizes / n


def _even(draws: Draws, n: int, most: int) -> tuple[Any, int]:
    """Return draws in cells of exactly one size, those of the uneven rest left out, and the number of cells."""
    cells = min(n, most)
    size = n // cells
    return draws[draws < size * cells] // size, cells


def total_distribution(draws: Draws, n: int) -> Statistic | None:
    """Compare how often each value came, or each of many cells of values, with its chance."""
    import numpy

    cells, chances = _cells(draws, n, max(min(CELLS_MAX, len(draws) // CELL_MIN), 2))
    return _chi_square(numpy.bincount(cells, minlength=len(chances)), chances * len(draws), "values")


def coarse_distribution(draws: Draws, n: int) -> Statistic | None:
    """Compare sixteen broad cells of values: a small bias that many values share adds up here."""
    import numpy

    if n <= ALPHABET:
        return None
    cells, chances = _cells(draws, n, ALPHABET)
    return _chi_square(numpy.bincount(cells, minlength=len(chances)), chances * len(draws), "broad cells of values")


def overlaps(draws: Draws, n: int) -> Statistic | None:
    """Compare overlapping pairs: Good's difference of two chi-squares, over the draws as a ring."""
    import numpy
    from scipy.stats import chi2

    cells, chances = _cells(draws, n, ALPHABET)
    count, kinds = len(draws), len(chances)
    if kinds < 2 or count * chances.min() ** 2 < CELL_MIN:
        return None
    pairs = numpy.bincount(cells * kinds + numpy.roll(cells, -1), minlength=kinds * kinds)
    due = numpy.outer(chances, chances).ravel() * count
    single, single_due = numpy.bincount(cells, minlength=kinds), chances * count
    value = float(((pairs - due) ** 2 / due).sum() - ((single - single_due) ** 2 / single_due).sum())
    freedom = kinds * kinds - kinds
    return Statistic(value, f"difference of chi-squares, {freedom} degrees, pairs", float(chi2.sf(value, freedom)))


def triples(draws: Draws, n: int) -> Statistic | None:
    """Compare triples of draws that do not overlap, in three dimensions."""
    import numpy

    cells, chances = _cells(draws, n, ALPHABET)
    kinds = len(chances)
    groups = cells[: len(cells) // 3 * 3].reshape(-1, 3)
    due = len(groups) * numpy.einsum("i,j,k->ijk", chances, chances, chances).ravel()
    if kinds < 2 or due.min() < 5:
        return None
    return _chi_square(numpy.bincount(groups @ numpy.array([kinds * kinds, kinds, 1]), minlength=kinds**3), due, "triples")


def serial_correlation(draws: Draws, n: int) -> Statistic | None:
    """Sum the squared correlations of draws with those one to five places on."""
    import numpy
    from scipy.stats import chi2

    if n < 2 or len(draws) < 1000:
        return None
    centred = draws - (n - 1) / 2
    variance = (n * n - 1) / 12
    value = 0.0
    for lag in range(1, LAGS + 1):
        products = float(numpy.dot(centred[:-lag], centred[lag:]))
        value += products**2 / ((len(draws) - lag) * variance**2)
    return Statistic(value, f"chi-square, {LAGS} degrees, correlation at lags 1 to {LAGS}", float(chi2.sf(value, LAGS)))


def runs(draws: Draws, n: int) -> Statistic | None:
    """Count how often draws change from the lower half of the values to the upper or back."""
    import numpy

    if n < 2 or len(draws) < 1000:
        return None
    chance = (n // 2) / n
    upper = draws >= n // 2
    changes = int(numpy.count_nonzero(upper[1:] != upper[:-1]))
    count, both = len(draws), chance * (1 - chance)
    rate = 2 * both
    variance = (count - 1) * rate * (1 - rate) + 2 * (count - 2) * (both - rate * rate)
    return _normal((changes - (count - 1) * rate) / sqrt(variance), "normal, changes between halves")


def runs_up(draws: Draws, n: int) -> Statistic | None:
    """Compare how many draws in a row rise: lengths of runs up, one draw left out after each so that they know nothing of each other."""
    import numpy

    if n < 3 or len(draws) < 1000:
        return None
    lengths = _rising_lengths(draws)
    most = int(lengths.max())
    # A run of length k or more: k draws that rise strictly, C(n, k) of n^k.
    at_least = [comb(n, length) / n**length for length in range(1, most + 3)]
    chances = numpy.array([at_least[length - 1] - at_least[length] for length in range(1, most + 1)] + [at_least[most]])
    counts = numpy.append(numpy.bincount(lengths, minlength=most + 1)[1:], 0)
    return _chi_square(counts, chances * len(lengths), "lengths of rising runs")


def _rising_lengths(draws: Draws) -> Any:
    """Return lengths of rising runs; the draw that ends one begins none."""
    import numpy

    ends = numpy.flatnonzero(draws[1:] <= draws[:-1]) + 1  # places of draws that do not rise over the one before
    lengths = []
    start = 0
    for end in ends.tolist():
        if end > start:
            lengths.append(end - start)
            start = end + 1
    return numpy.array(lengths, dtype=numpy.int64)


def gap(draws: Draws, n: int) -> Statistic | None:
    """Compare how many draws lie between two of the lowest values."""
    import numpy

    if n < 2:
        return None
    low = max(n // 8, 1)
    chance = low / n
    places = numpy.flatnonzero(draws < low)
    if len(places) < 1000:
        return None
    gaps = numpy.minimum(numpy.diff(places) - 1, GAPS_MAX)
    lengths = numpy.arange(GAPS_MAX)
    chances = numpy.append(chance * (1 - chance) ** lengths, (1 - chance) ** GAPS_MAX)
    return _chi_square(numpy.bincount(gaps, minlength=GAPS_MAX + 1), chances * len(gaps), "gaps")


def coupon_collector(draws: Draws, n: int) -> Statistic | None:
    """Compare how many draws it takes until each of eight kinds of value has come."""
    import numpy

    if n < 2:
        return None
    cells, kinds = _even(draws, n, COLLECTED)
    lengths = _collecting_lengths(cells, kinds)
    if len(lengths) < 200:
        return None
    most = int(max(lengths.max(), 12 * kinds))
    chances = _collecting_chances(kinds, most)
    return _chi_square(numpy.bincount(lengths, minlength=most + 1), chances * len(lengths), "lengths of collections")


def _collecting_lengths(cells: Any, kinds: int) -> Any:
    import numpy

    lengths, seen, since, whole = [], 0, 0, (1 << kinds) - 1
    for cell in cells.tolist():
        seen |= 1 << cell
        since += 1
        if seen == whole:
            lengths.append(since)
            seen = since = 0
    return numpy.array(lengths, dtype=numpy.int64)


def _collecting_chances(kinds: int, most: int) -> Any:
    """Return the chance of each length from 0 to `most`; the last holds all that is longer."""
    import numpy

    having = [1.0] + [0.0] * kinds
    chances = [0.0]
    for _ in range(most):
        following = [0.0] * (kinds + 1)
        for seen in range(kinds):
            following[seen] += having[seen] * seen / kinds
            following[seen + 1] += having[seen] * (kinds - seen) / kinds
        chances.append(following[kinds])
        having = [*following[:kinds], 0.0]
    chances[-1] += sum(having)
    return numpy.array(chances)


def poker(draws: Draws, n: int) -> Statistic | None:
    """Compare how many different values hands of five draws hold."""
    import numpy

    if n < 2:
        return None
    cells, kinds = _even(draws, n, ALPHABET)
    hands = numpy.sort(cells[: len(cells) // HAND * HAND].reshape(-1, HAND), axis=1)
    different = 1 + (hands[:, 1:] != hands[:, :-1]).sum(axis=1)
    ways = [_surjections(HAND, values) * comb(kinds, values) for values in range(1, HAND + 1)]
    chances = numpy.array([0.0] + [way / kinds**HAND for way in ways])
    return _chi_square(numpy.bincount(different, minlength=HAND + 1), chances * len(hands), "different values in hands of five")


def _surjections(draws: int, values: int) -> int:
    return sum((-1) ** left * comb(values, left) * (values - left) ** draws for left in range(values + 1))


def permutation(draws: Draws, n: int) -> Statistic | None:
    """Compare the orders of groups of draws that all differ: every order is as likely as another."""
    import numpy

    size = min(ORDERED, n)
    if size < 2:
        return None
    groups = draws[: len(draws) // size * size].reshape(-1, size)
    ranked = numpy.sort(groups, axis=1)
    orders = numpy.argsort(groups[(ranked[:, 1:] != ranked[:, :-1]).all(axis=1)], axis=1)
    codes = orders @ numpy.array([size**place for place in range(size)])
    _, counts = numpy.unique(codes, return_counts=True)
    kinds = 1
    for factor in range(2, size + 1):
        kinds *= factor
    seen = numpy.append(counts, numpy.zeros(kinds - len(counts)))
    return _chi_square(seen, numpy.full(kinds, len(orders) / kinds), f"orders of {size} draws")


def duplicates(draws: Draws, n: int) -> Statistic | None:
    """Count repeats of long combinations of draws: too many show a short period, too few that draws avoid what has come."""
    import numpy
    from scipy.stats import poisson

    if n < 2:
        return None
    width = 1
    while n**width * PAIRS_PER_REPEAT * 2 < (len(draws) // width) ** 2:
        width += 1
    urns = n**width
    balls = draws[: len(draws) // width * width].reshape(-1, width)
    if urns >= 1 << 62 or len(balls) < 100:
        return None
    codes = balls @ numpy.array([n**place for place in range(width)], dtype=numpy.int64)
    repeats = len(codes) - len(numpy.unique(codes))
    due = len(codes) - urns * -numpy.expm1(len(codes) * numpy.log1p(-1 / urns))
    if due < 0.01:
        due = len(codes) * (len(codes) - 1) / 2 / urns
    tail = min(float(poisson.cdf(repeats, due)), float(poisson.sf(repeats - 1, due)))
    return Statistic(float(repeats), f"Poisson of mean {due:.3f}, repeats of {width} draws", min(1.0, 2 * tail))


def kolmogorov_smirnov(draws: Draws, n: int) -> Statistic | None:
    """Compare the whole distribution of values at its greatest distance; conservative, for values are not continuous."""
    import numpy
    from scipy.stats import kstwo

    if n < 2:
        return None
    values, counts = numpy.unique(draws, return_counts=True)
    reached = numpy.cumsum(counts) / len(draws)
    before = numpy.append(0.0, reached[:-1])
    distance = float(max(numpy.abs(reached - (values + 1) / n).max(), numpy.abs(before - values / n).max()))
    return Statistic(distance, "Kolmogorov, greatest distance", float(kstwo.sf(distance, len(draws))))


def order_statistic(draws: Draws, n: int) -> Statistic | None:
    """Compare the highest of each five draws with its law."""
    import numpy

    if n < 2:
        return None
    highest = draws[: len(draws) // HAND * HAND].reshape(-1, HAND).max(axis=1)
    edges = numpy.unique(numpy.round(n * numpy.linspace(0, 1, 65) ** (1 / HAND)).astype(numpy.int64))
    cells = numpy.searchsorted(edges[1:], highest, side="right")
    return _chi_square(numpy.bincount(cells, minlength=len(edges) - 1), numpy.diff((edges / n) ** HAND) * len(highest), "highest of five")


def subsequences(draws: Draws, n: int) -> Statistic | None:
    """Compare every seventh draw alone, by broad cells."""
    import numpy

    cells, chances = _cells(draws[::7], n, ALPHABET)
    return _chi_square(numpy.bincount(cells, minlength=len(chances)), chances * len(cells), "values of every seventh draw")


def block_counts(draws: Draws, n: int) -> Statistic | None:
    """Compare how often blocks of a hundred draws hold one of the lowest values with the binomial law, whose limit is Poisson's."""
    import numpy
    from scipy.stats import binom

    if n < 2:
        return None
    low = max(n // 25, 1)
    blocks = (draws[: len(draws) // BLOCK * BLOCK].reshape(-1, BLOCK) < low).sum(axis=1)
    return _chi_square(
        numpy.bincount(blocks, minlength=BLOCK + 1), binom.pmf(numpy.arange(BLOCK + 1), BLOCK, low / n) * len(blocks), "counts in blocks"
    )


def interplay(draws: Draws, first: int, second: int) -> Statistic | None:
    """Compare pairs of draws of two ranges that follow each other: the one must say nothing of the other."""
    import numpy

    pairs = draws[: len(draws) // 2 * 2].reshape(-1, 2)
    (left, left_chances), (right, right_chances) = _cells(pairs[:, 0], first, ALPHABET), _cells(pairs[:, 1], second, ALPHABET)
    due = numpy.outer(left_chances, right_chances).ravel() * len(pairs)
    if min(len(left_chances), len(right_chances)) < 2 or due.min() < 5:
        return None
    counts = numpy.bincount(left * len(right_chances) + right, minlength=len(due))
    return _chi_square(counts, due, "pairs of two ranges")


def frequency_of_words(words: Draws) -> Statistic:
    """Compare how often each of 32 bits is set in raw words; each bit apart, the squares added."""
    from scipy.stats import chi2

    value = sum((2.0 * int(((words >> bit) & 1).sum()) - len(words)) ** 2 / len(words) for bit in range(32))
    return Statistic(value, "chi-square, 32 degrees, bits set", float(chi2.sf(value, 32)))


def changes_of_words(words: Draws) -> Statistic:
    """Count how often each of 32 bits changes from one word to the next; each bit apart, the squares added."""
    from scipy.stats import chi2

    changed = words[1:] ^ words[:-1]
    value = sum((2.0 * int(((changed >> bit) & 1).sum()) - len(changed)) ** 2 / len(changed) for bit in range(32))
    return Statistic(value, "chi-square, 32 degrees, bits changed", float(chi2.sf(value, 32)))


def neighbours_of_bits(words: Draws) -> Statistic:
    """Count how often two neighbouring bits of a word are alike; each pair apart, the squares added."""
    from scipy.stats import chi2

    alike = (words ^ (words >> 1)) & 0x7FFFFFFF
    value = sum((2.0 * int(((alike >> bit) & 1).sum()) - len(words)) ** 2 / len(words) for bit in range(31))
    return Statistic(value, "chi-square, 31 degrees, neighbouring bits alike", float(chi2.sf(value, 31)))


# What is made on draws of a range, and on raw words; the names are those that lists of tests use.
TESTS: Mapping[str, Callable[[Draws, int], Statistic | None]] = MappingProxyType(
    {
        "total distribution": total_distribution,
        "coarse distribution": coarse_distribution,
        "overlaps": overlaps,
        "triples": triples,
        "serial correlation": serial_correlation,
        "runs": runs,
        "runs up": runs_up,
        "gap": gap,
        "coupon collector": coupon_collector,
        "poker": poker,
        "permutation": permutation,
        "duplicates": duplicates,
        "Kolmogorov-Smirnov": kolmogorov_smirnov,
        "order statistic": order_statistic,
        "subsequences": subsequences,
        "Poisson": block_counts,
    }
)
BIT_TESTS: Mapping[str, Callable[[Draws], Statistic]] = MappingProxyType(
    {"bits": frequency_of_words, "bits that change": changes_of_words, "neighbouring bits": neighbours_of_bits}
)
