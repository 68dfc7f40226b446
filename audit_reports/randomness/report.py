"""The report on a generator: every test of a list on raw words and on draws in every range, judged together."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import isnan
from typing import Any, NamedTuple

from audit_reports.blocks import Block, Heading, Pairs, Table, plain
from audit_reports.randomness.lists_of_tests import INTERPLAY, ListOfTests
from audit_reports.randomness.sources import WORD_RANGE, Source
from audit_reports.randomness.statistics import ALPHABET, BIT_TESTS, TESTS, Statistic, interplay

__all__ = ["DRAWS_MAX", "RandomnessReport", "Row", "examined", "judged", "randomness_blocks"]

DRAWS_MAX = 1_000_000
DIGITS = 6
POWER = 0.9
_LIMITS = (
    (
        "unpredictability",
        "numbers that pass every test may still be foretold by who knows the key; that rests on ChaCha20 and on the key's secrecy",
    ),
    (
        "seeding",
        "where the seed of a live epoch came from; the numbers tested are from a simulation seed, by the same generator and scaling",
    ),
    ("the numbers played with", "that a casino draws from this generator is shown by its records, round by round, not by these numbers"),
    ("what was not looked for", "a fault that none of these tests looks for, or that is too small for so many draws"),
)


class Row(NamedTuple):
    """One test of one source: the statistic, its p-value, the p-value after Holm's correction, and whether it passes."""

    source: str
    test: str
    statistic: Statistic
    number: int
    adjusted: float
    passes: bool


class Examined(NamedTuple):
    """A source after its tests: how many numbers, their digest, and what came of each test that can be made of it."""

    source: Source
    number: int
    digest: str
    statistics: list[tuple[str, Statistic]]


class RandomnessReport(NamedTuple):
    """What all tests of a list come to, together."""

    tests: ListOfTests
    examined: list[Examined]
    rows: list[Row]

    @property
    def passes(self) -> bool:
        """Whether no test fails at the confidence at which all are judged together."""
        return all(row.passes for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the report without floats; statistics and p-values as decimal text."""
        return {
            "schema": "randomness/1",
            "list": self.tests.model_dump(),
            "verdict": "pass" if self.passes else "fail",
            "sources": [
                {
                    "source": each.source.name,
                    "n": each.source.n if each.source.n < WORD_RANGE else 0,
                    "second": each.source.second,
                    "purposes": list(each.source.purposes),
                    "count": each.number,
                    "sha256": each.digest,
                    "bias_seen": _bias_seen(each, self.tests, len(self.rows)),
                }
                for each in self.examined
            ],
            "rows": [
                {
                    "source": row.source,
                    "test": row.test,
                    "statistic": _decimal(row.statistic.value),
                    "law": row.statistic.law,
                    "count": row.number,
                    "p": _decimal(row.statistic.p_value),
                    "adjusted": _decimal(row.adjusted),
                    "result": "pass" if row.passes else "fail",
                }
                for row in self.rows
            ],
            "limits": [{"what": what, "why": why} for what, why in _LIMITS],
        }


def _decimal(value: float) -> str:
    return f"{value:.{DIGITS}f}"


def examined(source: Source, tests: ListOfTests, count: int) -> Examined:
    """Return what the tests of a list come to on so many numbers of a source."""
    numbers = source.make(count)
    digest = sha256(numbers.astype("<u4").tobytes()).hexdigest()
    return Examined(source, count, digest, list(_statistics(source, numbers, tests)))


def _statistics(source: Source, numbers: Any, tests: ListOfTests) -> Iterator[tuple[str, Statistic]]:
    if source.second:
        found = interplay(numbers, source.n, source.second) if INTERPLAY in tests.made else None
        if found is not None:
            yield INTERPLAY, found
        return
    if source.n == WORD_RANGE:
        yield from ((name, test(numbers)) for name, test in BIT_TESTS.items() if name in tests.made)
    for name, test in TESTS.items():
        statistic = test(numbers, source.n) if name in tests.made else None
        if statistic is not None:
            assert not isnan(statistic.p_value), f"{name} of {source.name}"
            yield name, statistic


def judged(tests: ListOfTests, found: Sequence[Examined]) -> RandomnessReport:
    """Return the report: p-values corrected by Holm's step-down, so that all together are wrong as seldom as the list says."""
    alpha = (100 - tests.percent) / 100
    made = [(each, name, statistic) for each in found for name, statistic in each.statistics]
    order = sorted(range(len(made)), key=lambda place: made[place][2].p_value)
    adjusted = [1.0] * len(made)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(made) - rank) * made[place][2].p_value))
        adjusted[place] = highest
    rows = [
        Row(each.source.name, name, statistic, each.number, adjusted[place], adjusted[place] > alpha)
        for place, (each, name, statistic) in enumerate(made)
    ]
    return RandomnessReport(tests, list(found), rows)


def _bias_seen(each: Examined, tests: ListOfTests, test_count: int) -> str:
    """Return which bias would have been found nine times in ten: half of the values more likely than the others, by this share.

    By the chi-square of the broad cells alone, at the level that Holm leaves to the smallest p-value.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    freedom = min(each.source.n, ALPHABET) - 1
    if each.source.second or freedom < 1:
        return ""
    critical = chi2.isf((100 - tests.percent) / 100 / max(test_count, 1), freedom)
    needed = brentq(lambda excess: ncx2.sf(critical, freedom, excess) - POWER, 1e-3, 1e4)
    return _decimal((needed / each.number) ** 0.5)


def randomness_blocks(report: RandomnessReport) -> Iterator[Block]:
    """Yield the report's section, what fails first."""
    tests = report.tests
    failed = [row for row in report.rows if not row.passes]
    number = report.examined[0].number if report.examined else 0
    yield Heading(2, "Tests of the random numbers", "randomness")
    yield Pairs(
        (
            ("list", f"{tests.title}: {tests.source}, {tests.clause}"),
            ("judged", f"{len(report.rows)} tests together at {tests.percent} %, p-values corrected by Holm's step-down"),
            ("verdict", "no test fails" if not failed else f"{len(failed)} TESTS FAIL"),
            ("numbers", f"{number:,} of each source; SHA-256 over them as 32-bit words, little-endian"),
        )
    )
    if failed:
        yield Table("tests that fail", _HEADS, tuple(map(_row, failed)), _RIGHT)
    named = tuple((name, ", ".join(ours)) for name, ours in tests.tests.items()) + tuple(
        (name, f"not made: {why}") for name, why in tests.not_made.items()
    )
    yield Table("what the list names, and by which tests it is answered", ("the list", "tests"), named)
    rows = []
    for each in report.examined:
        purposes = ", ".join(each.source.purposes) or "drawn in turn"
        rows.append((each.source.name, purposes, _bias_seen(each, tests, len(report.rows)) or "none", each.digest))
    yield Table("what was tested", ("source", "drawn for", "bias seen", "SHA-256"), tuple(rows), is_folded=True)
    yield plain(
        "Bias seen: were half of the values more likely by this share, and the others less, nine in ten samples would show it.",
        "quiet",
    )
    smallest = sorted(report.rows, key=lambda row: row.statistic.p_value)[:20]
    yield Table("the twenty smallest p-values", _HEADS, tuple(map(_row, smallest)), _RIGHT)
    yield Table("every test", _HEADS, tuple(map(_row, report.rows)), _RIGHT, is_folded=True)
    yield Heading(3, "What statistics cannot show", "randomness-limits")
    yield Pairs(_LIMITS)


_HEADS = ("source", "test", "statistic", "compared with", "p", "adjusted")
_RIGHT = frozenset((2, 4, 5))


def _row(row: Row) -> tuple[str, ...]:
    return (row.source, row.test, f"{row.statistic.value:.3f}", row.statistic.law, _decimal(row.statistic.p_value), _decimal(row.adjusted))
