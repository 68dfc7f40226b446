"""The clause matrix of a certification pack: what it shows of each clause that speaks of a game, its mathematics and its random numbers.

As in `clauses.py`: clauses by number and in words of our own; `pass` says that what is in the pack agrees, and certifies nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from audit_reports.clauses import STANDARDS, Clause, ClauseResult

__all__ = ["CertifiedFacts", "certification_clauses"]

Judgement = tuple[ClauseResult, str]
Judge = Callable[["CertifiedFacts"], Judgement]


class CertifiedFacts(NamedTuple):
    """What the matrix is judged from: the par sheet, which parts agree by name, the list of tests, what files there are."""

    par: Mapping[str, Any]
    agrees: Mapping[str, bool]
    test_list: str
    files: frozenset[str]


class _Row(NamedTuple):
    standard: str
    clause: str
    title: str
    judge: Judge
    sections: str = ""  # anchors in the report, by blanks
    files: str = ""  # names in data/, by blanks


def _never(why: str) -> Judge:
    return lambda _: ("not_assessed", why)


def _absent(why: str) -> Judge:
    return lambda _: ("not_applicable", why)


def _part(name: str, why: str) -> Judge:
    """Return a judge that goes by whether a part of the pack agrees."""

    def judge(facts: CertifiedFacts) -> Judgement:
        if name not in facts.agrees:
            return "not_assessed", "this part is not in the pack"
        return ("pass", why) if facts.agrees[name] else ("fail", f"what is in the pack contradicts itself or the rules: see {name}")

    return judge


def _without(code: str, why: str) -> Judge:
    """Return a judge that passes where the par sheet has no finding of a kind."""

    def judge(facts: CertifiedFacts) -> Judgement:
        found = [each for each in facts.par["findings"] if each["code"] == code]
        return ("fail", "; ".join(f"{each['where']}: want {each['want']}, got {each['got']}" for each in found)) if found else ("pass", why)

    return judge


def _least_return(wanted: Fraction) -> Judge:
    """Return a judge of the lowest RTP that any configuration and choice has: exact, or the low end of its 99 % interval."""

    def judge(facts: CertifiedFacts) -> Judgement:
        lowest = min(_low(row) for row in facts.par["configurations"])
        highest = min(_high(row) for row in facts.par["configurations"])
        text = f"the lowest RTP of any configuration is {float(lowest):.4%} at least (99 % interval, or exact)"
        if lowest >= wanted:
            return "pass", text
        return ("fail" if highest < wanted else "not_assessed"), f"{text}; {float(wanted):.0%} is asked for"

    return judge


def _low(row: Mapping[str, Any]) -> Fraction:
    return Fraction(row["return_exact"] or row["return_99"]["low"])


def _high(row: Mapping[str, Any]) -> Fraction:
    return Fraction(row["return_exact"] or row["return_99"]["high"])


def _top_award(facts: CertifiedFacts) -> Judgement:
    words = {row["mode"]: row["top_award"]["judged"] for row in facts.par["configurations"]}
    text = "; ".join(f"{mode}: {judged}" for mode, judged in words.items())
    if all(judged.startswith("as often") for judged in words.values()):
        return "pass", text
    return "not_assessed", f"{text}; whether its odds are shown to players is not in this pack"


def _listed(name: str, clause_list: str) -> Judge:
    def judge(facts: CertifiedFacts) -> Judgement:
        if facts.test_list != clause_list:
            return "not_assessed", f"the tests of this pack are those of the list {facts.test_list}; name another with --tests"
        return _part(name, f"every test of the list {clause_list} together, raw and scaled")(facts)

    return judge


def _all_reached(facts: CertifiedFacts) -> Judgement:
    """Return whether every position of every strip was seen on a board: stops are drawn alike, so the rarest is as rare as any."""
    strips = [row["second"] for row in facts.par["two_ways"] if row["kind"] == "table" and row["figure"].startswith("strip ")]
    whole = [text for text in strips if (words := text.split())[0] == words[2]]
    text = f"every position was seen of {len(whole)} of {len(strips)} strips; a round's key has 256 bits"
    if not facts.agrees["par"]:
        return "fail", f"what was seen is not what the rules state: {text}"
    return ("pass", text) if len(whole) == len(strips) else ("not_assessed", text)


def _weights(_: CertifiedFacts) -> Judgement:
    return "pass", "every weight is in the rules, under one hash"


_DISPLAYED = _without("displayed_rtp", "within what exact figure or interval tell")
_CARRIED = _never("state in and out are part of the bytes; what it does to the return, and whether it is tied to a stake, is not judged")
_UNREAD = "minimum return; its clause was not read"
_ROWS: tuple[_Row, ...] = (
    _Row("GLI-19", "2.3.2, B.2.6", "software verifies itself each day", _never("a matter of the running system"), "software"),
    _Row(
        "GLI-19",
        "2.3.3",
        "software can be verified by others, apart from the system",
        lambda _: ("pass", "every file of the program by hash, and a verifier that imports nothing of it"),
        "software files",
        "software.json sbom.json verify_certification.py",
    ),
    _Row("GLI-19", "2.6.5(g)", "the client holds no logic of outcomes", _never("no client is part of this program"), ""),
    _Row("GLI-19", "3.2.2", "statistical tests of final outcomes", _listed("randomness", "gli-19"), "randomness", "randomness.json"),
    _Row(
        "GLI-19",
        "3.2.3(a)",
        "scaling without bias",
        _part("dossier", "shown by counting words"),
        "dossier",
        "dossier.json",
    ),
    _Row(
        "GLI-19",
        "3.2.5",
        "all outcomes can be reached",
        _all_reached,
        "ways dossier",
        "par.json",
    ),
    _Row(
        "GLI-19",
        "3.3.1, 3.3.2(a)",
        "a cryptographically strong generator",
        _never("the algorithm, its parameters and known answers are in the dossier; no statistics show strength, a person must judge it"),
        "dossier",
        "dossier.json",
    ),
    _Row(
        "GLI-19",
        "3.3.2(b), (c)",
        "seeding, and new entropy from time to time",
        _never("how epochs are seeded is said in the dossier; that a running system does so is not shown here"),
        "dossier",
        "dossier.json",
    ),
    _Row("GLI-19", "3.3.3", "monitoring of a hardware generator", _absent("the generator is software"), "dossier"),
    _Row(
        "GLI-19",
        "4.4.1(f), (r), 4.7.4",
        "an advertised award can be won; a limit is applied as disclosed",
        lambda facts: (
            _without("cap_route", "the cap is reached by test rules, and can be by the game's own")(facts)
            if facts.agrees.get("forced", True)
            else ("fail", "a forced round did not end as the cap says")
        ),
        "par forced",
        "par.json forced.json",
    ),
    _Row(
        "GLI-19",
        "4.5.1",
        "each implementation of the generator is tested",
        _part("determinism", "both implementations, plain and compiled, give the same bytes"),
        "determinism",
        "determinism.json",
    ),
    _Row(
        "GLI-19",
        "4.5.2(a), (b), (d)",
        "random numbers in order, none passed over, no memory",
        _part("determinism", "a round's bytes follow from its key, state and choices alone"),
        "determinism dossier",
        "determinism.json dossier.json",
    ),
    _Row(
        "GLI-19",
        "4.6.5",
        "the chance of an event is constant",
        _weights,
        "par",
        "par.json",
    ),
    _Row("GLI-19", "4.7.1", "75 % at least in every configuration", _least_return(Fraction(75, 100)), "par", "par.json simulation.json"),
    _Row(
        "GLI-19",
        "4.7.2",
        "the displayed RTP is the game's",
        _DISPLAYED,
        "par",
        "par.json",
    ),
    _Row("GLI-19", "4.7.3", "the top award once in 100,000,000, or its odds shown", _top_award, "par", "par.json"),
    _Row(
        "GLI-19",
        "4.8.1(e), (f), 4.12",
        "features and what is carried on",
        _CARRIED,
        "determinism",
    ),
    _Row("GLI-19", "4.8.5", "a gamble feature returns all", _absent("the game has none"), ""),
    _Row("GLI-19", "4.13, 2.8.7", "jackpots", _absent("the game has none"), ""),
    _Row(
        "GLI-19",
        "4.16.1-4.16.3",
        "an interrupted round goes on, or is void, as it must",
        _part("interruptions", "broken at every point, gone on in every way: the same outcome and balance"),
        "interruptions",
        "interruptions.json",
    ),
    _Row(
        "GLI-19",
        "A.6.1(a)-(d)",
        "a par sheet that is kept current",
        _without("par_figure", "each figure by every way there is of computing it"),
        "par ways derivation",
        "par.json derivation.json simulation.json",
    ),
    _Row("GLI-19", "A.6.2", "output is monitored", _never("what a live ledger returns is judged by `audit monitor`"), ""),
    _Row(
        "GLI-19",
        "B.8.2",
        "changes are recorded and approved",
        _never("see `audit builds list` of a ledger"),
        "software",
    ),
    _Row("PA", "810a.5(c)", "fifteen tests at 95 %", _listed("randomness", "pennsylvania"), "randomness", "randomness.json"),
    _Row("NJ", _UNREAD, "83 % at least, as others say", _least_return(Fraction(83, 100)), "par", "par.json"),
    _Row("MGA", _UNREAD, "85 % at least, as others say", _least_return(Fraction(85, 100)), "par", "par.json"),
    _Row("UKGC", "RTS 3C", "the displayed RTP", _DISPLAYED, "par", "par.json"),
    _Row(
        "UKGC",
        "RTS 7A, 7B",
        "outcomes are random, and never made good for",
        _part("determinism", "an outcome follows from key, rules, state and choices alone"),
        "determinism randomness",
        "determinism.json randomness.json",
    ),
    _Row(
        "UKGC",
        "Testing strategy, section 5",
        "live RTP monitoring",
        _never("the bands' mean and deviation are in the par sheet; monitoring is a matter of the live ledger"),
        "par",
        "par.json",
    ),
)


def certification_clauses(facts: CertifiedFacts) -> Iterator[tuple[Clause, tuple[str, ...]]]:
    """Yield every row with the sections of the report where its artefact stands; no two of a clause."""
    for row in _ROWS:
        result, why = row.judge(facts)
        name, source, as_of = STANDARDS[row.standard]
        if row.clause == _UNREAD:
            source = "secondary"
        files = tuple(file for file in row.files.split() if file in facts.files)
        yield Clause(name, row.clause, row.title, result, why, files, source, as_of), tuple(row.sections.split())
