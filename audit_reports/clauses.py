"""The clause matrix of a round's pack: what the evidence shows of each clause that speaks of one round, and what it does not.

Clauses are referred to by number and in words of our own. `pass` says that what this pack holds agrees with the clause for this round;
it certifies nothing. What a pack of one round cannot show is `not_assessed`, and why stands beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from audit_reports.pack_record import events_of
from ledger.lifecycle_events import BuildRegistered
from ledger.store import RoundRecord
from replay.verdict import CheckName
from replay.verification import Verification

__all__ = ["STANDARDS", "Clause", "ClauseFacts", "ClauseResult", "clause_matrix"]

ClauseResult = Literal["pass", "fail", "not_applicable", "not_assessed"]
Judgement = tuple[ClauseResult, str]
Judge = Callable[["ClauseFacts"], Judgement]

# What a standard is called, where its clauses were read (primary: its own text; secondary: what others say of it), and as of when.
STANDARDS: Mapping[str, tuple[str, str, str]] = {
    "GLI-19": ("GLI-19 v3.0, Interactive Gaming Systems", "primary", "2020-07-17"),
    "NJ": ("New Jersey N.J.A.C. 13:69O", "primary", "2026-11-30"),
    "PA": ("Pennsylvania 58 Pa. Code", "primary", "2026-11-30"),
    "AGCO": ("AGCO Registrar's Standards for Internet Gaming", "primary", "2026-11-30"),
    "MGA": ("Malta Gaming Authority", "secondary", "2026-11-30"),
    "UKGC": ("UK Gambling Commission, Remote Technical Standards", "secondary", "2026-11-30"),
}


class ClauseFacts(NamedTuple):
    """What the matrix is judged from: the verification, the files of the pack, and its streams by file."""

    verification: Verification
    files: frozenset[str]
    records: Mapping[str, RoundRecord]


class Clause(NamedTuple):
    """One row of the matrix."""

    standard: str
    clause: str
    title: str
    result: ClauseResult
    why: str
    files: tuple[str, ...]
    source: str  # `primary` or `secondary`
    as_of: str

    def as_json(self) -> dict[str, Any]:
        """Return the row as in `clauses.json`."""
        return {**self._asdict(), "files": list(self.files)}


class _Row(NamedTuple):
    standard: str
    clause: str
    title: str
    judge: Judge
    files: str = ""  # names in data/, by blanks


def _check(name: CheckName) -> Judge:
    """Return a judge that goes by one of the six checks."""

    def judge(facts: ClauseFacts) -> Judgement:
        check = next(check for check in facts.verification.checks if check.name == name)
        if check.result in ("pass", "fail"):
            return ("pass" if check.result == "pass" else "fail"), f"check {name}: {check.detail}"
        return "not_assessed", f"check {name} was not made: {check.detail}"

    return judge


def _never(why: str) -> Judge:
    return lambda _: ("not_assessed", why)


def _given(why: str, *needed: str) -> Judge:
    """Return a judge that passes where these files are in the pack."""

    def judge(facts: ClauseFacts) -> Judgement:
        missing = [name for name in needed if name not in facts.files]
        return ("not_assessed", f"not in this pack: {', '.join(missing)}") if missing else ("pass", why)

    return judge


def _with(judge: Judge, *needed: str) -> Judge:
    """Return a judge that passes where another does and these files are in the pack: what nobody else can do again is not shown."""

    def judged(facts: ClauseFacts) -> Judgement:
        result, why = judge(facts)
        missing = [name for name in needed if name not in facts.files]
        return ("not_assessed", f"not in this pack: {', '.join(missing)}; {why}") if result == "pass" and missing else (result, why)

    return judged


def _shown_whole(why: str, *needed: str) -> Judge:
    """Return a judge that passes where the round is over, nothing of it was left out for being unreadable, and these files are here."""

    def judge(facts: ClauseFacts) -> Judgement:
        if _is_record_wrong(facts):
            return "not_assessed", "the record contradicts itself or the checkpoint: what is drawn may not be all, or not what was played"
        if facts.verification.settled is None and facts.verification.voided is None:
            return "not_assessed", "the round is not over: what is recorded of it so far is drawn"
        return _given(why, *needed)(facts)

    return judge


def _is_record_wrong(facts: ClauseFacts) -> bool:
    return any(check.name == "record" and check.result == "fail" for check in facts.verification.checks)


def _where(topics: Sequence[str], otherwise: str, judge: Judge) -> Judge:
    """Return a judge that asks another where the round has an event of these topics; else the clause does not apply."""

    def asked(facts: ClauseFacts) -> Judgement:
        record = facts.records.get("streams/round.jsonl")
        has_one = record is not None and any(row.topic in topics for row in record.events)
        return judge(facts) if has_one else ("not_applicable", otherwise)

    return asked


def _recorded(facts: ClauseFacts) -> Judgement:
    opened, settled, voided = facts.verification.opened, facts.verification.settled, facts.verification.voided
    if opened is None:
        return "fail", "the round's opening cannot be read"
    if _is_record_wrong(facts):
        return "fail", "the record contradicts itself or the checkpoint"
    if settled is None and voided is None:
        return "not_assessed", "the round is not over: what is recorded of it so far is in the pack"
    fields = (("location", ""), ("session", opened.session_ref), ("operator's reference", opened.external_ref))
    empty = ", ".join(name for name, value in fields if not value)
    return "pass", f"one record from opening to end; no jackpot, no fee; not given by the game server: {empty}"


def _covered(facts: ClauseFacts) -> Judgement:
    record, comparison = facts.records.get("streams/round.jsonl"), facts.verification.comparison
    if _is_record_wrong(facts):
        return "fail", "the record contradicts itself or the checkpoint"
    if record is None or not comparison.covers(record.appends):
        return "not_assessed", "no checkpoint that covers the round was given to be compared with"
    if not comparison.held_keys:
        return "not_assessed", "a checkpoint covers the round, signed by a key that was not compared with one held elsewhere"
    return "pass", comparison.sentence(record.appends)


def _alone(facts: ClauseFacts) -> Judgement:
    """Return whether no other round of the account in this pack was in play while this one was."""
    own = facts.records.get("streams/round.jsonl")
    others = [record for file, record in facts.records.items() if file.startswith("streams/round-") and record.appends]
    if own is None or not own.appends or _is_record_wrong(facts):
        return "not_assessed", "no leaf says when the round was recorded, or the record contradicts itself or the checkpoint"
    if not others:
        return "not_applicable", "the account has no other round before or after this one"
    across = [each.round_id for each in others if _is_across(own, each)]
    if not across:
        return "pass", "no other round of the account in this pack was opened before this one's end and ended behind its opening"
    why = "right where one was interrupted and the profile lets other games go on"
    return "not_assessed", f"in play at the same time: {', '.join(across)}; {why}"


def _is_across(one: RoundRecord, other: RoundRecord) -> bool:
    """Return whether the later of two rounds was opened while the earlier was in play."""
    first, second = sorted((one, other), key=lambda record: record.appends[0].leaf_index)
    ends = [row.version for row in first.events if row.topic.startswith(("round_settled/", "round_voided/"))]
    # What stands behind a round's end, a correction or what was shown, is no play; a round without an end is in play.
    until = next((append.leaf_index for append in first.appends if ends and append.version_last >= ends[0]), None)
    return until is None or second.appends[0].leaf_index < until


def _approved(facts: ClauseFacts) -> Judgement:
    codes, opened = {finding.code for finding in facts.verification.findings}, facts.verification.opened
    if "build_unapproved" in codes:
        return "fail", "the round was made by a build that nobody had approved"
    own, ledger = (facts.records.get(f"streams/{name}.jsonl") for name in ("round", "ledger"))
    registered = [(version, event) for version, event in events_of(ledger) if isinstance(event, BuildRegistered)]
    if not registered or ledger is None:
        return "not_assessed", "no build is registered in this ledger"
    if "build_altered" in codes or opened is None or own is None or not own.appends or _is_record_wrong(facts):
        return "not_assessed", "the record contradicts itself or the checkpoint"
    before = [append.version_last for append in ledger.appends if append.leaf_index < own.appends[0].leaf_index]
    of_round = [version for version, event in registered if event.engine_fingerprint == opened.engine_fingerprint]
    if not any(version <= max(before, default=0) for version in of_round):
        return "not_assessed", "the round was opened before any build was registered"
    return "pass", "the build was registered by two people before the round"


_PLAYED_ON = "the round was not interrupted"
_ROWS: tuple[_Row, ...] = (
    _Row(
        "GLI-19",
        "2.2.1, 2.2.2, 2.8.1(a)",
        "one system clock stamps what is recorded",
        _never("times stand in every event and leaf; whether the clock was right is not recorded"),
        "leaves.json",
    ),
    _Row(
        "GLI-19",
        "2.3.3",
        "software can be verified by others, apart from the system",
        _given(
            "the pack brings a verifier of its own, and lists the sources that make outcomes by hash", "software.json", "verify_pack.py"
        ),
        "software.json verify_pack.py",
    ),
    _Row(
        "GLI-19",
        "2.3.2, B.2.6",
        "software verifies itself each day, and the results are kept",
        _never("a log of verifications around the round is not part of the record"),
        "software.json",
    ),
    _Row(
        "GLI-19",
        "2.8.1(b)",
        "records can be exported for analysis",
        _given("every stream is here, an event a line, with the schema published", "streams/round.jsonl"),
        "streams/round.jsonl",
    ),
    _Row("GLI-19", "2.8.2(a)-(r)", "one record of a game, with its fields", _recorded, "streams/round.jsonl report.json history.json"),
    _Row("GLI-19", "3.2.2", "statistical tests of the random numbers", _never("says something of a generator, nothing of one round")),
    _Row("GLI-19", "3.2.3(a)", "scaling without bias", _with(_check("replay"), "draws.jsonl"), "draws.jsonl"),
    _Row(
        "GLI-19",
        "3.3.2(b)",
        "the generator's state cannot be guessed",
        _never("the seed was committed to before the first bet; where its entropy came from is not shown by a record"),
        "streams/epoch.jsonl",
    ),
    _Row(
        "GLI-19",
        "4.3.3(b), (d)",
        "debit before the outcome, one credit at the end, no balance below zero",
        _check("totals"),
        "streams/round.jsonl history.json",
    ),
    _Row("GLI-19", "4.3.3(c)", "all free games and choices belong to the round", _check("referee"), "streams/round.jsonl report.json"),
    _Row(
        "GLI-19",
        "4.3.3(e)",
        "no new round before the last is done",
        _alone,
        "streams/round-before.jsonl streams/round-after.jsonl leaves.json",
    ),
    _Row(
        "GLI-19",
        "4.3.4(e)(i), 4.5.2(c), 4.6.1(c)",
        "the outcome that is shown is the one that was made",
        _check("presentation"),
        "streams/round.jsonl",
    ),
    _Row(
        "GLI-19",
        "4.4.1(f), (r)",
        "a limit on the win is applied as disclosed",
        _where(("cap_hit/1",), "the round did not reach the win cap", _check("referee")),
        "rules.json report.json",
    ),
    _Row(
        "GLI-19",
        "4.5.2(a), (b), (d)",
        "random numbers in order, none passed over, no memory",
        _with(_check("replay"), "draws.jsonl"),
        "draws.jsonl",
    ),
    _Row(
        "GLI-19",
        "4.6.5",
        "the chance of an event is constant",
        _with(_check("replay"), "rules.toml", "draws.jsonl"),
        "rules.toml rules.json",
    ),
    _Row("GLI-19", "4.7.1", "the theoretical return to player", _never("a matter of certification, not of one round"), "rules.json"),
    _Row(
        "GLI-19",
        "4.8.1(f)",
        "a feature counts its spins as awarded, played, left",
        _where(("feature_trigger/1",), "the round has no feature of several spins", _check("referee")),
        "report.json",
    ),
    _Row("GLI-19", "4.8.1(e), 4.12", "what is carried from round to round goes on as it was left", _check("totals"), "streams/round.jsonl"),
    _Row(
        "GLI-19",
        "4.14.1, 4.14.2",
        "replay of the whole game, marked as replay",
        _shown_whole("drawn from recorded events alone", "report.json", "report.html", "report.pdf"),
        "report.html report.pdf report.json",
    ),
    _Row(
        "GLI-19",
        "4.14.3",
        "at least the last 50 feature games, each with its win",
        _shown_whole("every spin is shown, none left out", "report.json"),
        "report.json",
    ),
    _Row(
        "GLI-19",
        "4.16.1, 4.16.2",
        "an interrupted round: its cause recorded, its wager held",
        _where(("round_interrupted/1",), _PLAYED_ON, _check("totals")),
        "streams/round.jsonl",
    ),
    _Row(
        "GLI-19",
        "4.16.3",
        "an interrupted round goes on where it stopped",
        _where(("round_resumed/1",), "no interrupted round went on", _check("replay")),
        "streams/round.jsonl",
    ),
    _Row(
        "GLI-19",
        "A.6.4",
        "a round that cannot go on: wagers returned",
        _where(("round_voided/1",), "the round is not void", _check("totals")),
        "streams/round.jsonl profile.json",
    ),
    _Row(
        "GLI-19",
        "A.4.4",
        "complaints are logged, answered and kept",
        _never("complaints stand on the stream of the ledger by hash, their texts are in no pack"),
        "streams/ledger.jsonl",
    ),
    _Row(
        "GLI-19",
        "A.5.1(d), (e)",
        "the rules in force at the wager govern",
        _given("rules and texts are named by hash in the opening", "rules.toml", "texts.json"),
        "rules.toml texts.json",
    ),
    _Row(
        "GLI-19",
        "B.2.1(e)",
        "a malfunction is recorded in six parts",
        _where(("round_voided/1",), "the round is not void", _never("see the incidents of the stream of the ledger")),
        "streams/ledger.jsonl",
    ),
    _Row(
        "GLI-19",
        "B.2.7",
        "a report has a signature of its own for each version",
        _given("the pack is signed as a whole, and the same state gives the same bytes", "keys/pack.pub"),
        "keys/pack.pub",
    ),
    _Row("GLI-19", "B.3.1, B.6.2(b), B.6.5(c)", "logs cannot be altered unseen", _covered, "leaves.json consistency.json keys/log.vkey"),
    _Row(
        "GLI-19",
        "B.3.2",
        "data are corrected openly, what stood there is kept",
        _where(("correction_recorded/1",), "the round was not corrected", _check("record")),
        "streams/round.jsonl",
    ),
    _Row("GLI-19", "B.8.2", "changes of the software are recorded and approved", _approved, "streams/ledger.jsonl software.json"),
    _Row(
        "NJ", "13:69O-1.8(a)", "a copy under another administrator, or a log that shows tampering", _covered, "leaves.json consistency.json"
    ),
    _Row(
        "NJ",
        "13:69O-1.8(d)",
        "all that is needed to recreate the play",
        _with(_check("replay"), "round-key.json", "rules.toml"),
        "round-key.json rules.toml streams/round.jsonl",
    ),
    _Row("NJ", "13:69O-3.1(d)", "a player's issue is resolved within three days", _never("the answer to this question is not in the pack")),
    _Row("PA", "810a.5(c)", "statistical tests of the random numbers", _never("says something of a generator, nothing of one round")),
    _Row(
        "PA",
        "810a.11(a)",
        "recall of the entire last game",
        _shown_whole("drawn from recorded events alone", "report.json", "report.html"),
        "report.html report.pdf",
    ),
    _Row(
        "PA",
        "810a.11(b)",
        "the record names game, version and paytable",
        _given("all three stand in the opening", "rules.toml"),
        "streams/round.jsonl rules.toml",
    ),
    _Row("PA", "811a.7(a)", "a copy under another administrator, or a log that shows tampering", _covered, "leaves.json consistency.json"),
    _Row(
        "PA",
        "811a.7(d)",
        "all that is needed to recreate the play",
        _with(_check("replay"), "round-key.json", "rules.toml"),
        "round-key.json rules.toml streams/round.jsonl",
    ),
    _Row(
        "AGCO",
        "4.01, 4.02",
        "records fit for disputes and for rounds that stopped midway",
        _check("record"),
        "streams/round.jsonl leaves.json",
    ),
    _Row(
        "AGCO",
        "4.21(5)",
        "a round that cannot go on pays the better of win so far and wager",
        _where(("round_voided/1",), "the round is not void", _check("totals")),
        "streams/round.jsonl profile.json",
    ),
    _Row("UKGC", "RTS 5A", "the rules in force at the wager are applied fairly", _check("referee"), "rules.toml report.json"),
    _Row("UKGC", "RTS 7A, 7B", "outcomes are random and not compensated", _with(_check("replay"), "draws.jsonl"), "draws.jsonl"),
)


def clause_matrix(facts: ClauseFacts) -> Iterator[Clause]:
    """Yield each clause with what this pack shows of it; files that are not in the pack are not named."""
    for row in _ROWS:
        result, why = row.judge(facts)
        name, source, as_of = STANDARDS[row.standard]
        files = tuple(file for file in row.files.split() if file in facts.files)
        yield Clause(name, row.clause, row.title, result, why, files, source, as_of)
