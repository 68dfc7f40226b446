"""The monitor: alarms where a fault is planted in one stake, channel or build, within the rounds that it says; few where there is none."""

import json
import os
from collections.abc import Iterable
from math import exp, log
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from audit_reports.long_simulation import Simulated, SimulationTerms, run_simulations
from engines.registry import installed_rules
from engines.rules import GameRules
from replay.monitor import MonitorReport, judge
from replay.return_sums import LIMITS, TAILS, Cell, PlayedRound, ReturnSums, WinTerms, add_rounds, slices_of
from replay.return_tests import TESTS_PER_SLICE, bennett, laws_of, rounds_needed, rounds_to_see
from replay.theory import CertifiedReturns, ReturnsUnreadableError, certified_returns, load_returns, win_law
from tests.played_rows import played_rows, wins_of
from tests.rules_changes import changed_rules

GAME = "moon-spell"
RATE = 0.01
LEDGERS = int(os.environ.get("SLOT_AUDIT_MONITOR_LEDGERS", "20"))
ROUNDS = int(os.environ.get("SLOT_AUDIT_MONITOR_ROUNDS", "6000"))
PERCENT = int(os.environ.get("SLOT_AUDIT_MONITOR_PERCENT", "10"))  # that wins are paid too high by
LOG = os.environ.get("SLOT_AUDIT_MONITOR_LOG", "")  # a file for what was told, a line each
PLANTED = int(os.environ.get("SLOT_AUDIT_MONITOR_PLANTED", "6"))


@pytest.fixture(scope="module")
def rules() -> GameRules:
    """The rules of the game that these tests are about."""
    return installed_rules(GAME)


def _judged(rows: Iterable[PlayedRound], theory: dict[str, CertifiedReturns] | None = None) -> MonitorReport:
    known = theory or certified_returns()
    terms = {name: WinTerms(each.cap_multiple, each.pay_step_x100) for name, each in known.items()}
    cells: dict[Cell, ReturnSums] = {}
    for _ in add_rounds(cells, rows, terms, until_us=10**9, window_us=10**8):
        pass
    return judge(cells, known, RATE)


def _note(**facts: object) -> None:
    if LOG:
        with open(LOG, "a") as file:
            file.write(json.dumps(facts) + "\n")


def _alarms(report: MonitorReport) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in report.findings if finding.severity != "warning"]


def _certified(rules: GameRules, folder: Path, rounds: int) -> CertifiedReturns:
    """Return what test rules are certified to return, by simulation."""
    steps = run_simulations(SimulationTerms(rules, rounds, b"certified"), folder / "progress", job_count=2, is_resumed=False)
    rows = [step for step in steps if isinstance(step, Simulated)]
    document = {
        "schema": "certified/1",
        "game": rules.game,
        "rules_version": rules.version,
        "rules_hash": rules.rules_hash,
        "bet_minor": rules.bet.coins,
        "cap_multiple": rules.cap.multiple,
        "pay_step_x100": 5,
        "configurations": [
            {
                "mode": row.configuration.mode,
                "choice": row.configuration.choice,
                "cost_minor": rules.cost_minor(row.configuration.mode, rules.bet.coins),
                "return_exact": "",
                "classes": [
                    {"rounds": str(count), "win_minor": str(wins), "win_minor_squared": str(squares)}
                    for count, wins, squares in zip(row.sums.histogram, row.sums.class_wins, row.sums.class_squares, strict=True)
                ],
            }
            for row in rows
        ],
    }
    return CertifiedReturns.model_validate_json(json.dumps(document))


def _mixed(rules: GameRules, rounds: int, seed: str, **fault: object) -> list[PlayedRound]:
    """Return the rounds of a ledger with two stakes, two channels and two builds, in turn."""
    rows = []
    for place, (coin, channel, build) in enumerate([(1, "web", "b1"), (1, "app", "b1"), (10, "web", "b1"), (10, "app", "b2")]):
        terms = {"coin": coin, "channel": channel, "build": build, "opened_at_us": 10**8 * place}
        rows += list(played_rows(rules, "base", rounds // 4, f"{seed} {place}".encode(), **terms, **fault))
    return rows


def test_honest_ledgers_raise_few_alarms(rules: GameRules) -> None:
    """Of many honest ledgers, looked at again and again while they grow, no more raise an alarm than is stated."""
    alarmed = 0
    for number in range(LEDGERS):
        rows = _mixed(rules, ROUNDS, f"honest {number}")
        order = numpy.random.default_rng(number).permutation(len(rows)).tolist()
        looks = [len(rows) // 16, len(rows) // 4, len(rows)]
        alarmed += any(_alarms(_judged(rows[place] for place in order[:look])) for look in looks)
    _note(honest_ledgers=LEDGERS, rounds_each=ROUNDS, alarmed=alarmed)
    assert binomtest(alarmed, LEDGERS, RATE, alternative="greater").pvalue > 1e-3, alarmed


def test_a_pay_two_percent_too_high_in_one_stake_is_told(rules: GameRules) -> None:
    """A pay of 100 that is paid as 102, at one stake alone, is told at its first win, and at that stake."""
    symbols = rules.model_dump()["symbols"]
    place = next(place for place, symbol in enumerate(symbols) if 100 in symbol["pays_x100"])
    symbols[place]["pays_x100"] = tuple(102 if pay == 100 else pay for pay in symbols[place]["pays_x100"])
    values = {**rules.model_dump(), "symbols": symbols, "bet": {**rules.model_dump()["bet"], "coins": 1000}}
    faulty = type(rules).model_validate(values)
    rows = _mixed(rules, 4_000, "honest")
    for row in played_rows(faulty, "base", 4_000, b"faulty", said=rules, coin=1):
        rows.append(row)
    report = _judged(rows)
    assert _alarms(report) == [("amount_off_step", f"{GAME}, base, stake EUR 1000")]


def test_wins_paid_too_high_in_one_channel_are_told_in_time(rules: GameRules) -> None:
    """Wins paid some percent too high in one channel raise the alarm within the rounds that the power statement says, and there."""
    returns = certified_returns()[rules.rules_hash]
    laws = laws_of(returns, "base")
    assert laws is not None
    needed = rounds_to_see(laws, 1 + PERCENT / 100, RATE / (TESTS_PER_SLICE * 3))
    told = []
    for number in range(PLANTED):
        honest = played_rows(rules, "base", needed // 4, f"web {number}".encode(), coin=100, channel="web")
        fault = played_rows(rules, "base", needed, f"app {number}".encode(), coin=100, channel="app")
        rows = [*honest, *(row._replace(win_minor=row.win_minor * (100 + PERCENT) // 100) for row in fault)]
        report = _judged(rows)
        told.append([where for code, where in _alarms(report) if code == "return_alarm"])
    seen = sum(f"{GAME}, base, channel app" in where for where in told)
    _note(fault=f"wins {PERCENT} % too high in one channel", ledgers=PLANTED, rounds_needed=needed, told=seen)
    assert binomtest(seen, PLANTED, 0.9, alternative="less").pvalue > 1e-3, told
    assert all(where in ([f"{GAME}, base, channel app"], []) for where in told), told


def test_a_cap_that_is_not_applied_in_one_build_is_told(rules: GameRules, tmp_path: Path) -> None:
    """Where one build does not apply the cap, its first win above it is told, at that build; by test rules with a low cap."""
    capped = changed_rules(rules, cap={"multiple": 20})
    theory = {capped.rules_hash: _certified(capped, tmp_path, 400_000)}
    uncapped = changed_rules(rules, cap={"multiple": 5000})
    rows = [
        *played_rows(capped, "base", 4_000, b"one", build="b1"),
        *played_rows(uncapped, "base", 4_000, b"two", said=capped, build="b2"),
    ]
    report = _judged(rows, theory)
    assert ("cap_not_applied", f"{GAME}, base, build b2") in _alarms(report)
    assert _alarms(_judged(_mixed(capped, 8_000, "honest"), theory)) == []


def test_a_swapped_strip_in_one_build_is_told_in_time(rules: GameRules, tmp_path: Path) -> None:
    """Where one build plays with a strip that is another reel's, the alarm comes within the rounds that the power statement says."""
    strips = list(rules.strip_sets[0].strips)
    strips[1] = strips[4]
    values = rules.model_dump()["strip_sets"]
    values[0]["strips"] = tuple(strips)
    swapped = changed_rules(rules, strip_sets=values)
    returns, other = certified_returns()[rules.rules_hash], _certified(swapped, tmp_path, 400_000)
    level = RATE / (TESTS_PER_SLICE * 3)
    laws, faulty = ([win_law(each, each.configurations[0], limit) for limit in LIMITS] for each in (returns, other))
    needed = min(rounds_needed(law, wrong.mean - law.mean, level) for law, wrong in zip(laws, faulty, strict=True))
    assert needed < 300_000
    rows = [
        *played_rows(rules, "base", needed // 4, b"right", build="b1"),
        *played_rows(swapped, "base", needed, b"wrong", said=rules, build="b2"),
    ]
    _note(fault="a strip swapped in one build", rounds_needed=needed)
    assert ("return_alarm", f"{GAME}, base, build b2") in _alarms(_judged(rows))


def test_rounds_of_rules_that_nothing_is_certified_of_are_named(rules: GameRules) -> None:
    """Such rounds are not judged, and the report says so by a warning."""
    report = _judged(played_rows(rules, "base", 100, b"unknown", said=changed_rules(rules, cap={"multiple": 7})))
    assert report.slices == []
    assert [(finding.code, finding.severity) for finding in report.findings] == [("not_judged", "warning")]


def test_a_fault_everywhere_is_one_finding(rules: GameRules) -> None:
    """Wins that are paid twice in every slice are one finding of the whole mode, not one of each slice."""
    rows = [row._replace(win_minor=2 * row.win_minor) for row in _mixed(rules, 40_000, "twice")]
    found = [where for code, where in _alarms(_judged(rows)) if code == "return_alarm"]
    assert found == [f"{GAME}, base"]


def test_slices_are_of_what_differs_alone(rules: GameRules) -> None:
    """A stake, build, channel or window is a slice where there is another beside it."""
    one = Cell(rules.rules_hash, GAME, "base", "EUR", 20, "b1", "web", 0)
    assert [each.by for each in slices_of([one])] == ["all"]
    assert [(each.by, each.value) for each in slices_of([one, one._replace(channel="app")])] == [
        ("all", ""),
        ("channel", "app"),
        ("channel", "web"),
    ]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 400_000)), max_size=40))
def test_sums_are_those_of_their_parts(rounds: list[tuple[int, int]]) -> None:
    """Sums of two halves add up to the sums of all, and each is what a naive count says."""
    terms = WinTerms(5224, 5)

    def summed(part: list[tuple[int, int]]) -> ReturnSums:
        total = ReturnSums()
        for coin, win in part:
            total.add(20 * coin, 20 * coin, win, terms)
        return total

    middle = len(rounds) // 2
    whole = summed(rounds)
    assert summed(rounds[:middle]).plus(summed(rounds[middle:])) == whole
    assert whole.cut == [sum(min(win, limit * 20 * coin) for coin, win in rounds) for limit in LIMITS]
    assert whole.tails == [sum(win >= limit * 20 * coin for coin, win in rounds) for limit in TAILS]
    assert whole.off_step == sum(win % coin != 0 for coin, win in rounds)


@given(st.integers(1, 400), st.floats(0.01, 0.9), st.integers(0, 400))
def test_bennett_bounds_the_binomial_tail(rounds: int, share: float, above: int) -> None:
    """The bound is never below the true chance of so many hits, nor above one; it falls with the excess."""
    excess = above - rounds * share
    bound = bennett(excess, rounds * share * (1 - share), 1 - share)
    assert binom.sf(above - 1, rounds, share) <= bound + 1e-12
    assert bound <= 1
    assert bennett(excess + 1, rounds * share * (1 - share), 1 - share) <= bound


def test_bennett_is_hoeffding_s_improvement_of_bernstein() -> None:
    """The bound is at most Bernstein's, exp(-x^2 / 2(v + x/3))."""
    for excess in (0.1, 1, 10, 100):
        for variance in (0.1, 1, 50):
            assert bennett(excess, variance, 1.0) <= exp(-(excess**2) / (2 * (variance + excess / 3))) + 1e-15
    assert log(bennett(1e-4, 1e3, 1.0)) == pytest.approx(-(1e-8) / 2e3, rel=1e-3)


def test_laws_are_those_of_the_wins(rules: GameRules) -> None:
    """Mean, deviation and tails of cut wins, from sums by class, are those of the wins one by one."""
    wins = numpy.array(list(wins_of(rules, "base", 400_000, b"laws"))) / rules.bet.coins
    returns = certified_returns()[rules.rules_hash]
    for limit in LIMITS:
        law = win_law(returns, returns.configurations[0], limit)
        cut = numpy.minimum(wins, limit)
        assert abs(cut.mean() - law.mean) < 5 * (law.variance / len(wins)) ** 0.5
        assert cut.var() == pytest.approx(law.variance, rel=0.1)
        assert abs((wins >= limit).mean() - law.tail) < 5 * (law.tail / len(wins)) ** 0.5


def test_power_grows_with_the_fault_and_the_level(rules: GameRules) -> None:
    """A greater fault is seen sooner, a stricter level later; what is within the law's own error never."""
    laws = laws_of(certified_returns()[rules.rules_hash], "base")
    assert laws is not None
    assert rounds_to_see(laws, 1.2, 1e-3) < rounds_to_see(laws, 1.1, 1e-3) < rounds_to_see(laws, 1.1, 1e-6)
    assert rounds_to_see(laws, 1.0001, 1e-3) == 10**12


def test_files_of_returns_are_read_strictly(tmp_path: Path) -> None:
    """A file that is not there, no JSON, or of another form is refused with its place."""
    file = tmp_path / "returns.json"
    with pytest.raises(ReturnsUnreadableError, match=r"the file: want what tools/certified\.py writes, got No such file"):
        load_returns(file)
    file.write_text("{")
    with pytest.raises(ReturnsUnreadableError, match="got Invalid JSON"):
        load_returns(file)
    returns = next(iter(certified_returns().values())).model_dump(by_alias=True)
    file.write_text(json.dumps({**returns, "cap_multiple": 0}))
    with pytest.raises(ReturnsUnreadableError, match="cap_multiple: want"):
        load_returns(file)
