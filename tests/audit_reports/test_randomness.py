"""Tests of random numbers: bad generators fail, good ones do not, p-values are uniform, and a report says what it must."""

import json
import os
from hashlib import sha256
from itertools import pairwise, product
from math import comb
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest

from audit_reports.blocks import Heading, Table
from audit_reports.randomness.lists_of_tests import ListStrangeError, load_list, shipped_list, shipped_list_names
from audit_reports.randomness.report import Examined, RandomnessReport, examined, judged, randomness_blocks
from audit_reports.randomness.sources import WORD_RANGE, ranges_of, sources_of, stated_ranges
from audit_reports.randomness.statistics import BIT_TESTS, TESTS, Statistic, _collecting_chances, _rising_lengths, _surjections
from engines.canonical import canonical_json
from engines.registry import GAMES, installed_game, installed_rules
from engines.rng import simulation_key, words
from tests.bad_generators import BAD, good_source

ALL = shipped_list("pennsylvania")
RUNS = int(os.environ.get("SLOT_AUDIT_RANDOM_RUNS", "10"))
LOG = os.environ.get("SLOT_AUDIT_RANDOM_LOG", "")  # a file for the number of alarms
RANGES = (2, 3, 20, 60, 120, 1000, 10_127, 100_000, WORD_RANGE)


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("list_name", ["gli-19", "pennsylvania"])
def test_a_bad_generator_fails(name: str, list_name: str) -> None:
    """Each fault makes the family fail, by the test that looks for it among others."""
    bad, tests = BAD[name], shipped_list(list_name)
    report = judged(tests, [examined(bad.source, tests, bad.number)])
    failed = {row.test for row in report.rows if not row.passes}
    assert not report.passes
    assert bad.test in failed, failed


def _family(run: int) -> tuple[RandomnessReport, list[float]]:
    found = [examined(good_source(n, 1000 * run + place), ALL, 100_000) for place, n in enumerate(RANGES)]
    report = judged(shipped_list("gli-19"), found)  # at 0.01, whichever tests were made
    return report, [row.statistic.p_value for row in report.rows]


def test_good_generators_raise_few_alarms() -> None:
    """Over runs of 100,000 good draws the family fails as seldom as it says: no more than 20 in 1,000 at a level of 0.01."""
    alarms = sum(not _family(run)[0].passes for run in range(RUNS))
    if LOG:
        Path(LOG).write_text(json.dumps(alarms))
    assert binomtest(alarms, RUNS, 0.01, alternative="greater").pvalue > 0.002
    assert alarms <= max(20 * RUNS / 1000, 3)


@pytest.mark.parametrize("name", TESTS)
def test_p_values_are_uniform(name: str) -> None:
    """Of good draws the p-values of each test are uniform, or greater than that."""
    found = []
    for n in (3, 5, 8, 20, 105, 1000):
        for run in range(12):
            statistic = TESTS[name](good_source(n, 77 * run + n).make(40_000), n)
            found += [statistic.p_value] if statistic is not None else []
    assert len(found) > 20
    assert kstest(found, "uniform", alternative="greater").pvalue > 1e-4, sorted(found)


def test_bits_of_good_words_pass() -> None:
    """The tests of raw bits give uniform p-values on good words."""
    for name, test in BIT_TESTS.items():
        found = [test(good_source(WORD_RANGE, run).make(20_000)).p_value for run in range(60)]
        assert kstest(found, "uniform").pvalue > 1e-4, name


@given(st.integers(1, 6), st.integers(1, 6))
def test_hands_are_counted_as_they_fall(draws: int, values: int) -> None:
    """The number of hands with so many different values is that of listing them all."""
    listed = sum(len(set(hand)) == values for hand in product(range(values), repeat=draws))
    assert _surjections(draws, values) == listed


@given(st.integers(2, 8))
def test_collections_take_as_long_as_they_must(kinds: int) -> None:
    """Chances of lengths add up to one, and their mean is the known one: kinds times the harmonic number."""
    chances = _collecting_chances(kinds, 60 * kinds)
    assert abs(chances.sum() - 1) < 1e-12
    mean = float((chances * numpy.arange(len(chances))).sum())
    assert abs(mean - kinds * sum(1 / each for each in range(1, kinds + 1))) < 1e-6


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60))
def test_rising_runs_are_cut_as_they_are_defined(values: list[int]) -> None:
    """A run goes on while draws rise, the draw that ends it begins none; the last, unfinished one is left out."""
    wanted, start, place = [], 0, 1
    while place < len(values):
        if values[place] <= values[place - 1]:
            wanted.append(place - start)
            start = place + 1
            place = start
        place += 1
    assert _rising_lengths(numpy.array(values)).tolist() == wanted


def test_rising_runs_have_their_chances() -> None:
    """Of n values so many strictly rising sequences of a length there are as ways to choose them."""
    for n in range(1, 6):
        for length in range(1, 5):
            rising = sum(all(a < b for a, b in pairwise(each)) for each in product(range(n), repeat=length))
            assert rising == comb(n, length)


def test_holm_is_the_step_down_correction() -> None:
    """Adjusted p-values are those of Holm's procedure, never falling, each at most one."""
    tests = shipped_list("gli-19")
    p_values = [0.01, 0.04, 0.03, 0.005, 0.9]
    source = good_source(2, 0)
    report = judged(tests, [Examined(source, 1, "", [("gap", Statistic(0.0, "", p)) for p in p_values])])
    assert [round(row.adjusted, 6) for row in report.rows] == [0.04, 0.09, 0.09, 0.025, 0.9]
    assert report.passes
    assert not judged(
        tests, [Examined(source, 1, "", [("gap", Statistic(0.0, "", 0.0019)), *[("gap", Statistic(0.0, "", 0.5))] * 4])]
    ).passes


def test_raw_words_are_those_of_the_generator() -> None:
    """The tested words are the key stream under the source's own key, and the digest is over them as they stand there."""
    seed = bytes(range(32))
    raw = sources_of(installed_game("moon-spell"), seed)[0]
    stream = words(simulation_key(seed, "random-tests", "raw words", 0))
    wanted = [next(stream) for _ in range(1000)]
    assert raw.make(1000).tolist() == wanted
    packed = b"".join(word.to_bytes(4, "little") for word in wanted)
    assert examined(raw, ALL, 1000).digest == sha256(packed).hexdigest()


@pytest.mark.parametrize("game", GAMES)
def test_every_range_in_use_is_tested(game: str) -> None:
    """What rules state and rounds draw from is there, with its purposes; every source but range 1 is tested."""
    played = installed_game(game)
    ranges = {each.n: each.purposes for each in ranges_of(played)}
    assert stated_ranges(installed_rules(game)) <= set(ranges)
    assert any("reel stop" in purposes for purposes in ranges.values())
    sources = {each.n for each in sources_of(played, b"") if not each.second}
    assert sources == {n for n in ranges if n > 1} | {WORD_RANGE}


def test_a_report_holds_no_float_and_says_its_limits() -> None:
    """The document is canonical JSON, the same each time; every source has its digest, every row its p-value as text."""
    game, tests = installed_game("moon-spell"), shipped_list("gli-19")
    made = [judged(tests, [examined(source, tests, 20_000) for source in sources_of(game, b"a seed")]) for _ in range(2)]
    document = json.loads(canonical_json(made[0].as_json()))
    assert document == json.loads(canonical_json(made[1].as_json()))
    assert document["verdict"] == "pass"
    assert all(len(each["sha256"]) == 64 for each in document["sources"])
    assert {row["source"] for row in document["rows"]} <= {each["source"] for each in document["sources"]}
    blocks = list(randomness_blocks(made[0]))
    assert [each.anchor for each in blocks if isinstance(each, Heading)] == ["randomness", "randomness-limits"]
    assert sum(len(each.rows) for each in blocks if isinstance(each, Table) and each.caption == "every test") == len(document["rows"])


def test_a_failing_report_shows_what_fails_first() -> None:
    """The first table of a report that fails is that of the tests that fail."""
    bad, tests = BAD["a stuck bit"], shipped_list("gli-19")
    report = judged(tests, [examined(bad.source, tests, 20_000)])
    tables = [each for each in randomness_blocks(report) if isinstance(each, Table)]
    assert tables[0].caption == "tests that fail"
    assert report.as_json()["verdict"] == "fail"


def test_shipped_lists_can_be_read() -> None:
    """Both lists that are named in the documents are there; what a list leaves out it says."""
    assert shipped_list_names() == ("gli-19", "pennsylvania")
    assert [shipped_list(name).percent for name in shipped_list_names()] == [99, 95]
    assert shipped_list("pennsylvania").not_made


def test_a_strange_list_is_refused(tmp_path: Path) -> None:
    """An unknown name, a file that is not there, no TOML, an unknown test and a missing value are each said."""
    with pytest.raises(ListStrangeError, match="list of tests 'gli-11': want one of gli-19, pennsylvania, got no such list"):
        shipped_list("gli-11")
    file = tmp_path / "list.toml"
    with pytest.raises(ListStrangeError, match="want a file that can be read, got No such file"):
        load_list(file)
    file.write_text("name = ")
    with pytest.raises(ListStrangeError, match="want TOML"):
        load_list(file)
    file.write_text('name = "x"\ntitle = "x"\npercent = 99\nsource = "x"\nclause = "x"\n[tests]\n"x" = ["dice"]\n[not_made]\n')
    with pytest.raises(ListStrangeError, match=r"tests: want some of .* got dice"):
        load_list(file)
    file.write_text('name = "x"\n')
    with pytest.raises(ListStrangeError, match="want a value of a list of tests, got Field required"):
        load_list(file)
