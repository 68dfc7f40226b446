"""The report of a certification pack as blocks: verdict and limits, par sheet, each figure by both ways, tests, matrices, clauses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from audit_reports.blocks import Block, Heading, Pairs, Picture, Table, Verdict, plain
from audit_reports.clauses import Clause
from engines.rules import GameRules

if TYPE_CHECKING:
    from audit_reports.certification import CertificationFacts

__all__ = ["CertificationReport", "certification_blocks", "strips_blocks"]

_RESULTS = {"pass": "pass", "fail": "FAIL", "not_applicable": "not applicable", "not_assessed": "not assessed"}
_LIMITS = (
    ("the running system", "this pack is about a game's rules and this program; that a casino runs them unaltered is shown by its records"),
    (
        "unpredictability",
        "no simulation and no statistical test shows that random numbers cannot be foretold; the dossier names the algorithm",
    ),
    ("the player's screen", "no client is part of this program"),
    (
        "what was not seen",
        "a figure that was simulated lies in its interval at the confidence named, and an event that never came has only a bound",
    ),
)


class CertificationReport(NamedTuple):
    """All that the report is drawn from."""

    rules: GameRules
    par: Mapping[str, Any]
    facts: "CertificationFacts"
    derivation: Mapping[str, Any]
    clauses: Sequence[tuple[Clause, tuple[str, ...]]]
    verdict: str
    findings: Sequence[Mapping[str, str]]
    digests: Mapping[str, str]


def certification_blocks(report: CertificationReport) -> Iterator[Block]:
    """Yield the whole report, what decides first."""
    yield from _verdict(report)
    yield from _par(report)
    yield from _ways(report)
    yield from _simulation(report)
    yield from _derivation(report)
    for part in report.facts.parts:
        yield from part.blocks
    yield from _software(report)
    yield from _clauses(report)
    yield Heading(2, "Files of this pack", "files")
    rows = tuple((name, digest) for name, digest in sorted(report.digests.items()))
    yield Table("files in data/, by SHA-256", ("file", "SHA-256"), rows, links=frozenset((0,)))


def _percent(text: str, digits: int = 4) -> str:
    """Return a share as decimal text in percent, digits cut from what is there."""
    from fractions import Fraction

    from audit_reports.decimal_text import decimal_text

    return f"{decimal_text(Fraction(text) * 100, digits)}%" if text else ""


def _verdict(report: CertificationReport) -> Iterator[Block]:
    rules, facts = report.rules, report.facts
    yield Heading(2, "The verdict", "verdict")
    if report.findings:
        text = "Figures, tests or tables in this pack contradict each other or the rules; each is named below."
    else:
        text = (
            "Every figure that has two ways of computing agrees by both, every test passed, and every forced round ended as the rules say."
        )
    yield Verdict(report.verdict, text, bool(report.findings))
    yield Pairs(
        (
            ("game", f"{rules.title} ({rules.game})"),
            ("rules", f"version {rules.version}, SHA-256 {rules.rules_hash}"),
            ("engine", facts.game.fingerprint),
            ("simulated", f"{facts.terms.rounds:,} rounds in each of {len(facts.simulated)} wager configurations"),
            ("seed", facts.terms.seed.hex()),
            ("tests of random numbers", facts.test_list),
            ("draft", "yes: these rules may still be replaced" if rules.is_draft else "no"),
        )
    )
    if report.findings:
        yield Heading(3, "Findings", "findings")
        rows = tuple((each["code"], each["where"], each["want"], each["got"]) for each in report.findings)
        yield Table("all that is wrong", ("finding", "where", "wanted", "found"), rows)
    yield Heading(3, "What this pack does not show", "limits")
    yield Pairs(_LIMITS)


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['mode']}, {row['choice']}" if row["choice"] else str(row["mode"])


def _par(report: CertificationReport) -> Iterator[Block]:
    par, rules = report.par, report.rules
    yield Heading(2, "Par sheet", "par")
    yield Pairs(
        (
            ("paytable id", par["paytable_id"]),
            ("displayed RTP", _percent(par["displayed_rtp"], 2)),
            ("bet", f"{rules.bet.coins} coins of {rules.bet.coin_minor_min} to {rules.bet.coin_minor_max} minor units"),
            ("cap", f"{par['cap_multiple']:,} bets"),
            ("RTP", "wins divided by cost, in every mode; the same at every bet, for every pay is a multiple of it"),
        )
    )
    rows = [
        (
            _name(row),
            row["cost_bets"],
            _percent(row["return_decimal"]) if row["return_exact"] else "simulated",
            _percent(row["return_99"]["seen"]),
            f"{_percent(row['return_95']['low'], 3)} to {_percent(row['return_95']['high'], 3)}",
            f"{_percent(row['return_99']['low'], 3)} to {_percent(row['return_99']['high'], 3)}",
        )
        for row in par["configurations"]
    ]
    heads = ("wager", "cost, bets", "RTP exact", "RTP observed", "95 % interval", "99 % interval")
    yield Table("RTP of every wager configuration and player's choice", heads, tuple(rows), frozenset((1, 2, 3)))
    yield from _spread(par)
    yield from _awards(par)
    pays = tuple((each["symbol"].replace("_", " "), each["role"], each["pays"] or "none") for each in par["paytable"])
    yield Table("paytable: how many pay what", ("symbol", "role", "pays, by count"), pays)
    strips = tuple((each["strip_set"], str(each["reel"]), str(each["length"]), each["sha256"]) for each in par["strips"])
    yield Table(
        "strips, by SHA-256 of their letters", ("strip set", "reel", "length", "SHA-256"), strips, frozenset((1, 2)), is_folded=True
    )
    yield plain("The strips themselves stand in strips.html and strips.json, which a redacted pack leaves out.", "quiet")


def _spread(par: Mapping[str, Any]) -> Iterator[Block]:
    rows = []
    for row in par["configurations"]:
        hit, index, feature = row["hit_frequency"], row["volatility_index"], row["feature"]
        odds = f"{_percent(feature['odds']['seen'])} ({_percent(feature['odds']['low'])} to {_percent(feature['odds']['high'])})"
        rows.append(
            (_name(row), f"{_percent(hit['seen'], 3)}", row["deviation_costs"], index["value"], odds, feature["spins_mean"] or "none")
        )
    z = par["configurations"][0]["volatility_index"]["z"]
    heads = ("wager", "hit frequency", "deviation, costs", f"volatility index, z {z}", "feature comes in (99 %)", "spins of it")
    yield Table("hits, deviation and features", heads, tuple(rows), frozenset((1, 2, 3, 5)))
    yield plain(
        f"The volatility index is z = {z} times the deviation: over N rounds 90 % of results lie within index / root of N of the RTP.",
        "quiet",
    )
    shares = [(_name(row), each["part"], _percent(each["of_return"])) for row in par["configurations"] for each in row["shares"]]
    yield Table("what each part of a round gives of the RTP", ("wager", "part", "of the cost"), tuple(shares), frozenset((2,)))


def _awards(par: Mapping[str, Any]) -> Iterator[Block]:
    rows = []
    for row in par["configurations"]:
        award = row["top_award"]
        if award["odds_exact"]:
            odds = f"exactly {_one_in(award['odds_exact'])}"
        elif award["seen"] == "0":
            odds = f"rarer than {_one_in(award['odds']['high'])}"
        else:
            odds = f"{_one_in(award['odds']['seen'])} ({_one_in(award['odds']['low'])} to {_one_in(award['odds']['high'])})"
        rows.append((_name(row), f"{award['bets']:,}", award["seen"], odds, award["judged"], award["highest_seen_bets"]))
    heads = ("wager", "bets", "seen", "odds (99 %)", "judged", "highest seen, bets")
    yield Table("the top award, which is the cap", heads, tuple(rows), frozenset((1, 2, 5)))
    routes = {row["mode"]: row["top_award"]["route"] for row in par["configurations"]}
    ways = tuple((mode, "yes" if route["is_shown"] else "NOT SHOWN", route["text"]) for mode, route in routes.items())
    yield Table("whether the cap can be reached at all", ("mode", "reachable", "how it is shown"), ways)


def _one_in(text: str) -> str:
    from fractions import Fraction

    odds = Fraction(text)
    return f"1 in {round(1 / odds):,}" if odds else "never"


def _ways(report: CertificationReport) -> Iterator[Block]:
    yield Heading(2, "Every figure by both ways", "ways")
    yield plain("Where a figure can be had by two ways it is had by both. Intervals are wide enough for all of them together at 99 %.")
    compared = report.par["two_ways"]
    wrong, tables, others = (
        [each for each in compared if not each["agrees"]],
        [each for each in compared if each["kind"] == "table"],
        [each for each in compared if each["kind"] != "table"],
    )
    if wrong:
        rows = tuple((each["figure"], each["of"], each["first"], each["second"]) for each in wrong)
        yield Table("figures that do not agree", ("figure", "of", "one way", "the other"), rows)
    figures = tuple((each["figure"], each["of"] or "game", each["first"], each["second"], _yes(each["agrees"])) for each in others)
    yield Table("figures", ("figure", "of", "computed", "simulated or added up apart", "agrees"), figures)
    seen = tuple((each["figure"], each["second"], _yes(each["agrees"])) for each in tables)
    yield Table("tables of the rules, rebuilt from boards and wins alone", ("table", "as seen", "agrees"), seen)


def _yes(agrees: bool) -> str:
    return "yes" if agrees else "NO"


def _simulation(report: CertificationReport) -> Iterator[Block]:
    facts = report.facts
    yield Heading(2, "Simulation", "simulation")
    yield plain(
        "Rounds were played by the kernel that plays the recorded ones, in chunks with a key each from the seed above, so that the sums are"
        " the same for any number of workers. Sums and the points of the charts stand in simulation.json."
    )
    yield from (Picture(chart.caption, chart.words, chart.svg) for chart in facts.charts)
    for row in report.par["configurations"]:
        rows = tuple(
            (
                each["from_bets"] if each["below_bets"] == "0" else f"{each['from_bets']} to below {each['below_bets']}",
                each["rounds"],
                _percent(each["of_rounds"], 5),
                _percent(each["of_return"], 4),
            )
            for each in row["classes"]
        )
        heads = ("win, bets", "rounds", "of rounds", "of the cost")
        yield Table(f"wins of {_name(row)} by class", heads, rows, frozenset((1, 2, 3)), is_folded=True)


def _derivation(report: CertificationReport) -> Iterator[Block]:
    log = report.derivation
    yield Heading(2, "Derivation", "derivation")
    if not log["figures"]:
        yield plain("No figure of this game is known as a fraction: its rounds have too many states. All are simulated.")
        return
    yield plain("Figures that are known exactly, as fractions in derivation.json, and the sums over states that they come from.")
    rows = tuple((each["figure"], each["of"], each["decimal"], each["how"]) for each in log["figures"])
    yield Table("exact figures", ("figure", "of", "value", "computed by"), rows)
    for table in log["tables"]:
        states = tuple((row["state"], _shown(row["ways"])) for row in table["rows"])
        heads = ("state", table["unit"])
        yield Table(f"{table['table']}; in all {_shown(table['total'])}", heads, states, frozenset((1,)), is_folded=True)


def _shown(text: str) -> str:
    """Return a number of the log; a fraction as a decimal, which the file has whole."""
    from fractions import Fraction

    from audit_reports.decimal_text import decimal_text

    return decimal_text(Fraction(text), 10) if "/" in text else text


def _software(report: CertificationReport) -> Iterator[Block]:
    yield Heading(2, "Software", "software")
    yield plain(
        "Each file of the program with its SHA-256 is in software.json, with the libraries that it stands on in sbom.json (CycloneDX 1.6)."
    )
    yield Table(
        "where to find it",
        ("what", "files in data/"),
        (("manifest of the program's files", "software.json"), ("bill of materials", "sbom.json"), ("verifier", "verify_certification.py")),
        links=frozenset((1,)),
    )


def _clauses(report: CertificationReport) -> Iterator[Block]:
    yield Heading(2, "Clauses", "clauses")
    yield plain("What this pack shows of each clause that speaks of a game or its random numbers. It certifies nothing.")
    for standard in dict.fromkeys(clause.standard for clause, _ in report.clauses):
        of_it = [(clause, sections) for clause, sections in report.clauses if clause.standard == standard]
        rows = tuple(
            (
                clause.clause,
                clause.title,
                _RESULTS[clause.result],
                clause.why,
                ", ".join([*(f"#{each}" for each in sections), *clause.files]),
            )
            for clause, sections in of_it
        )
        read = f"{standard}; {of_it[0][0].source} text, as of {of_it[0][0].as_of}"
        yield Table(read, ("clause", "asks for", "result", "why", "section, files in data/"), rows, links=frozenset((4,)))


def strips_blocks(rules: GameRules) -> Iterator[Block]:
    """Yield the strips with their counts, for the page that a redacted pack leaves out."""
    from audit_reports.par_sheet import strips_json

    yield Heading(2, "Strips", "verdict")
    yield plain("Position 0 first; a reel's window is read from the position it stands at downwards, and the strip is a ring.")
    found = strips_json(rules)
    yield Pairs(tuple((letter, name.replace("_", " ")) for letter, name in found["symbols"].items()))
    for strip_set in rules.strip_sets:
        of_it = [each for each in found["strips"] if each["strip_set"] == strip_set.name]
        rows = tuple((str(each["reel"]), str(each["length"]), " ".join(_in_tens(each["letters"]))) for each in of_it)
        yield Table(f"strip set {strip_set.name}", ("reel", "length", "letters, in tens"), rows, frozenset((0, 1)))
        names = [symbol.name for symbol in rules.symbols if any(symbol.name in each["counts"] for each in of_it)]
        counts = tuple((name.replace("_", " "), *(str(each["counts"].get(name, 0)) for each in of_it)) for name in names)
        heads = ("symbol", *(f"reel {each['reel']}" for each in of_it))
        yield Table(f"how often each symbol is on a strip of {strip_set.name}", heads, counts, frozenset(range(1, len(heads))))


def _in_tens(letters: str) -> Iterator[str]:
    yield from (letters[place : place + 10] for place in range(0, len(letters), 10))
