"""What a ledger returned against what its games are certified to return: bands, alarms, and one finding for one cause."""

from collections.abc import Iterable, Mapping
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from replay.return_sums import Cell, ReturnSums, Slice, slices_of
from replay.return_tests import TESTS_PER_SLICE, ReturnLaws, Strayed, laws_of, rounds_to_see, strayed
from replay.theory import CertifiedReturns
from replay.verdict import Finding

__all__ = ["FACTORS", "Band", "MonitorReport", "SliceReport", "judge", "two_hashes"]

FACTORS = (1.02, 1.05, 1.10)  # of wins that are paid too high: what the power of a slice is stated for
WARNED_AT = 0.95
SKEW_ROUNDS = 25  # a normal band needs this many times the squared skewness in rounds


class Band(NamedTuple):
    """RTP seen, and where it lies by a normal law: RTP ± z * deviation * root of the sum of squared costs / sum of costs.

    The deviation is in terms of the cost. is_normal: whether so many rounds as there are have a normal mean.
    """

    seen: float
    certified_low: float  # of the choices that a player has; the same where there is none
    certified_high: float
    low_95: float
    high_95: float
    low_99: float
    high_99: float
    is_normal: bool
    rounds_for_normal: int


class SliceReport(NamedTuple):
    """One slice: its sums, band, smallest p-value, and after how many rounds each of FACTORS is told; `alarms` are the tests that fail."""

    slice: Slice
    sums: ReturnSums
    band: Band
    smallest: Strayed
    power: tuple[int, ...]
    alarms: tuple[Strayed, ...]


class MonitorReport(NamedTuple):
    """All slices, at which rate all together raise an alarm where there is none, and the findings."""

    rate: float
    slices: list[SliceReport]
    findings: list[Finding]


def judge(cells: Mapping[Cell, ReturnSums], theory: Mapping[str, CertifiedReturns], rate: float) -> MonitorReport:
    """Return what cells of rounds come to, held against certified returns by rules hash.

    rate: the chance that a ledger without a fault ever raises an alarm, however often it is looked at, for the slices that it has.
    Rounds of rules without certified returns are named by a warning.
    """
    slices = [each for each in slices_of(cells) if _laws(each, theory) is not None]
    level = rate / max(TESTS_PER_SLICE * len(slices), 1)
    reports = []
    for each in slices:
        laws, sums = _laws(each, theory), _sums(cells, each)
        assert laws is not None
        tests = list(_tests(each, laws, sums, theory))
        smallest = min(tests, key=lambda test: test.p_value)
        power = tuple(rounds_to_see(laws, factor, level) for factor in FACTORS)
        alarms = tuple(test for test in tests if test.p_value <= level)
        reports.append(SliceReport(each, sums, _band(laws, sums), smallest, power, alarms))
    findings = [
        *_impossible(reports, "cap_not_applied", "above_cap"),
        *_impossible(reports, "amount_off_step", "off_step"),
        *_caused(cells, theory, level, reports),
        *_outside(reports),
        *_not_judged(cells, theory),
    ]
    return MonitorReport(rate, reports, findings)


def _laws(each: Slice, theory: Mapping[str, CertifiedReturns]) -> ReturnLaws | None:
    returns = theory.get(each.rules_hash)
    return laws_of(returns, each.mode) if returns else None


def _sums(cells: Mapping[Cell, ReturnSums], each: Slice, *, without: Iterable[Slice] = ()) -> ReturnSums:
    total = ReturnSums()
    left_out = list(without)
    for cell, sums in cells.items():
        if each.holds(cell) and not any(other.holds(cell) for other in left_out):
            total = total.plus(sums)
    return total


def _tests(each: Slice, laws: ReturnLaws, sums: ReturnSums, theory: Mapping[str, CertifiedReturns]) -> Iterable[Strayed]:
    unit = sums.bet_min if each.by == "stake" else theory[each.rules_hash].bet_minor
    return strayed(laws, sums, max(unit, 1))


def _band(laws: ReturnLaws, sums: ReturnSums) -> Band:
    deviation = sqrt(max(law.variance for law in laws.whole)) / laws.cost_bets
    reach = deviation * sqrt(sums.cost_squared) / sums.cost if sums.cost else 0.0
    z_95, z_99 = (NormalDist().inv_cdf((1 + confidence) / 2) * reach for confidence in (WARNED_AT, 0.99))
    needed = int(SKEW_ROUNDS * max(law.skewness for law in laws.whole) ** 2) + 1
    effective = sums.cost * sums.cost / sums.cost_squared if sums.cost_squared else 0.0
    seen = sums.win / sums.cost if sums.cost else 0.0
    low, high = min(laws.returns), max(laws.returns)
    return Band(seen, low, high, low - z_95, high + z_95, low - z_99, high + z_99, effective >= needed, needed)


def _named(each: Slice) -> str:
    of = f"{each.game}, {each.mode}"
    return f"{of}, {each.by} {each.value}" if each.by != "all" else of


def _caused(
    cells: Mapping[Cell, ReturnSums], theory: Mapping[str, CertifiedReturns], level: float, reports: list[SliceReport]
) -> list[Finding]:
    """Return a finding for each cause: the slice without whose rounds the fewest alarms are left, then what is still alarmed, and so on."""
    alarmed = {report.slice: report for report in reports if report.alarms}
    taken: list[Slice] = []
    findings = []
    while alarmed:
        left = {each: _still(cells, theory, level, list(alarmed), [*taken, each]) for each in alarmed}
        cause = min(alarmed, key=lambda each: (len(left[each]), alarmed[each].sums.rounds))
        report = alarmed[cause]
        test = min(report.alarms, key=lambda each: each.p_value)
        explained = len(alarmed) - len(left[cause]) - 1
        where = _named(cause)
        want, got = f"{test.due:.6f}", f"{test.seen:.6f}"
        also = f"; {explained} other slices are alarmed by the same rounds" if explained > 0 else ""
        message = (
            f"{where}: {test.what} {'above' if test.is_high else 'below'} what is certified, want {want}, got {got} over"
            f" {report.sums.rounds} rounds, p {test.p_value:.3g} at all moments{also}"
        )
        findings.append(Finding("return_alarm", "money", -1, -1, where, want, got, message))
        taken.append(cause)
        alarmed = {each: alarmed[each] for each in left[cause]}
    return findings


def _still(
    cells: Mapping[Cell, ReturnSums], theory: Mapping[str, CertifiedReturns], level: float, alarmed: list[Slice], without: list[Slice]
) -> list[Slice]:
    """Return the slices that are alarmed by what is left of their rounds."""
    found = []
    for each in alarmed:
        if each not in without:
            laws, sums = _laws(each, theory), _sums(cells, each, without=without)
            if laws is not None and sums.rounds and any(test.p_value <= level for test in _tests(each, laws, sums, theory)):
                found.append(each)
    return found


_SAID = {"cap_not_applied": "rounds that won more than the cap", "amount_off_step": "rounds whose win is no sum of pays"}


def _impossible(reports: list[SliceReport], code: str, count: str) -> list[Finding]:
    """Return the wins that no round can have, by the most specific slice that holds them all."""
    findings = []
    for whole in (report for report in reports if report.slice.by == "all" and getattr(report.sums, count)):
        seen = getattr(whole.sums, count)
        inside = [each for each in reports if each.slice[:3] == whole.slice[:3] and getattr(each.sums, count) == seen]
        where = _named(min(inside, key=lambda each: each.sums.rounds).slice)
        findings.append(Finding(code, "money", -1, -1, where, "0", str(seen), f"{where}: {_SAID[code]}, want none, got {seen}"))
    return findings


def _outside(reports: list[SliceReport]) -> list[Finding]:
    """Return a warning for each slice whose RTP lies outside its 95 % band, where a normal band holds and nothing worse is said of it."""
    findings = []
    for report in reports:
        band = report.band
        if band.is_normal and not report.alarms and not band.low_95 <= band.seen <= band.high_95:
            where = _named(report.slice)
            want, got = f"{band.low_95:.4%} to {band.high_95:.4%}", f"{band.seen:.4%}"
            message = f"{where}: RTP outside its 95 % band, want {want}, got {got}; of honest slices one in twenty is"
            findings.append(Finding("return_band", "warning", -1, -1, where, want, got, message))
    return findings


def _not_judged(cells: Mapping[Cell, ReturnSums], theory: Mapping[str, CertifiedReturns]) -> list[Finding]:
    """Return a warning for rounds of each configuration that nothing is certified of."""
    unknown: dict[tuple[str, str, str], int] = {}
    for cell, sums in cells.items():
        if _laws(Slice(*cell[:3], "all", ""), theory) is None:
            unknown[cell[:3]] = unknown.get(cell[:3], 0) + sums.rounds
    return [
        Finding(
            "not_judged",
            "warning",
            -1,
            -1,
            f"{game}, {mode}",
            "certified returns of these rules",
            rules_hash,
            f"{game}, {mode}: {count} rounds of rules {rules_hash} are not judged, nothing is certified of them",
        )
        for (rules_hash, game, mode), count in unknown.items()
    ]


def two_hashes(paytables: Mapping[str, set[str]]) -> list[Finding]:
    """Return a finding for each paytable id, a game and rules version, whose rounds name rules of more than one hash (GLI-19, A.6.1)."""
    return [
        Finding(
            "paytable_two_hashes",
            "integrity",
            -1,
            -1,
            name,
            "one hash",
            ", ".join(sorted(hashes)),
            f"paytable id {name}: want rules of one hash, got {', '.join(sorted(hashes))}",
        )
        for name, hashes in sorted(paytables.items())
        if len(hashes) > 1
    ]
