"""The clause matrix of a certification pack: each judgement follows from what is in the pack, and no clause stands twice."""

from collections import Counter
from typing import Any

import pytest

from audit_reports.certification_clauses import CertifiedFacts, certification_clauses

FILES = frozenset({f"{name}.json" for name in ("par", "simulation", "derivation", "dossier", "randomness", "forced", "software", "sbom")})
PARTS = ("par", "dossier", "randomness", "forced", "interruptions", "determinism")


def _par(low: str = "0.95", high: str = "0.97", *, judged: str = "as often as 1 in 100,000,000", seen: str = "30 of 30") -> dict[str, Any]:
    row = {"mode": "base", "return_exact": "", "return_99": {"low": low, "high": high}, "top_award": {"judged": judged}}
    strips = {"kind": "table", "figure": "strip base, reel 1", "second": f"{seen} places seen, all as stated"}
    return {"configurations": [row], "findings": [], "two_ways": [strips]}


def _results(par: dict[str, Any], *, without: str = "", failed: str = "", test_list: str = "gli-19") -> dict[str, tuple[str, str]]:
    agrees = {name: name != failed for name in PARTS if name != without}
    rows = certification_clauses(CertifiedFacts(par, agrees, test_list, FILES))
    return {f"{clause.standard.split()[0]} {clause.clause}": (clause.result, clause.why) for clause, _ in rows}


def test_a_good_pack_has_no_failure_and_many_rows_that_are_not_assessed() -> None:
    """What a pack cannot show is said to be not assessed, and why; nothing fails, no clause stands twice."""
    results = _results(_par())
    counts = Counter(result for result, _ in results.values())
    assert counts["fail"] == 0
    assert counts["not_assessed"] >= 8
    assert all(why for _, why in results.values())
    rows = list(certification_clauses(CertifiedFacts(_par(), dict.fromkeys(PARTS, True), "gli-19", FILES)))
    assert len({(clause.standard, clause.clause) for clause, _ in rows}) == len(rows)


@pytest.mark.parametrize(
    ("low", "high", "result"),
    [("0.7501", "0.8", "pass"), ("0.74", "0.7499", "fail"), ("0.74", "0.76", "not_assessed")],
)
def test_the_least_return_is_judged_by_its_interval(low: str, high: str, result: str) -> None:
    """A return is enough where its interval is, too little where all of it is below, else not assessed."""
    assert _results(_par(low, high))["GLI-19 4.7.1"][0] == result


@pytest.mark.parametrize(("seen", "result"), [("30 of 30", "pass"), ("29 of 30", "not_assessed")])
def test_outcomes_are_reached_where_every_position_was_seen(seen: str, result: str) -> None:
    """A strip with a position that no board showed is not assessed."""
    assert _results(_par(seen=seen))["GLI-19 3.2.5"][0] == result


@pytest.mark.parametrize(
    ("clause", "failed"),
    [
        ("GLI-19 3.2.2", "randomness"),
        ("GLI-19 3.2.3(a)", "dossier"),
        ("GLI-19 3.2.5", "par"),
        ("GLI-19 4.4.1(f), (r), 4.7.4", "forced"),
        ("GLI-19 4.5.1", "determinism"),
        ("GLI-19 4.16.1-4.16.3", "interruptions"),
    ],
)
def test_a_part_that_fails_fails_its_clause(clause: str, failed: str) -> None:
    """A part that disagrees fails the clauses that go by it; one that is not there leaves them not assessed."""
    assert _results(_par(), failed=failed)[clause][0] == "fail"
    if failed not in ("par", "forced"):
        assert _results(_par(), without=failed)[clause][0] == "not_assessed"


def test_findings_of_the_par_sheet_fail_their_clauses() -> None:
    """A displayed RTP, a figure and a cap that are wrong fail the clauses that speak of them, and say what."""
    for code, clause in (
        ("displayed_rtp", "GLI-19 4.7.2"),
        ("par_figure", "GLI-19 A.6.1(a)-(d)"),
        ("cap_route", "GLI-19 4.4.1(f), (r), 4.7.4"),
    ):
        par = {**_par(), "findings": [{"code": code, "where": "here", "want": "a", "got": "b"}]}
        result, why = _results(par)[clause]
        assert (result, why) == ("fail", "here: want a, got b")


def test_a_rare_top_award_is_not_assessed() -> None:
    """Rarer than once in 100,000,000 it needs its odds shown, which no pack sees."""
    result, why = _results(_par(judged="rarer than 1 in 100,000,000: its odds must be shown to players"))["GLI-19 4.7.3"]
    assert result == "not_assessed"
    assert "whether its odds are shown to players is not in this pack" in why


def test_a_list_is_judged_by_its_own_clause_alone() -> None:
    """With Pennsylvania's list GLI-19's clause is not assessed, and the other way round."""
    assert _results(_par(), test_list="pennsylvania")["GLI-19 3.2.2"][0] == "not_assessed"
    assert _results(_par(), test_list="pennsylvania")["Pennsylvania 810a.5(c)"][0] == "pass"
