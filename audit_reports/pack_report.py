"""The report of an evidence pack as blocks: the question, the verdict and its limits, the round, and all that speaks for or against it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from audit_reports.blocks import Block, Heading, Pairs, Row, Table, Text, Verdict, plain
from audit_reports.clauses import Clause
from audit_reports.output import time_text
from audit_reports.pack_record import events_of
from audit_reports.pay_text import pays_text
from audit_reports.round_blocks import spin_blocks
from audit_reports.round_report import RoundReport
from engines.game import Draw
from engines.game_events import SpinEnded
from engines.rules import GameRules
from ledger.lifecycle_events import PresentationAcked, PresentationSent
from ledger.money import amount_text
from ledger.store import RoundRecord, Tree
from replay.verdict import EXIT_CLEAN, VerdictName, exit_status
from replay.verification import Verification
from replay.whatif import Alternative

__all__ = ["PackFacts", "report_blocks"]

_PLAIN: Mapping[VerdictName, str] = {
    "reproduced": "The record is whole, the outcome follows from the committed seed, every step obeys the rules, and the totals agree.",
    "incomplete_resolved": "The round was interrupted or is void, and is resolved; nothing recorded contradicts seed, rules or profile.",
    "incomplete_open": "The round is not over. Nothing that is recorded so far contradicts the seed and the rules.",
    "record_tampered": "The record is not the one that was written: bytes, leaves or the tree contradict each other.",
    "not_replayable": "The outcome could not be made again; everything else was checked.",
    "build_unapproved": "The round was made by a build that nobody had approved.",
    "diverged": "The recorded outcome is not the one that the committed seed leads to.",
    "rule_breach": "A recorded step does not obey the rules of the game.",
    "settlement_divergence": "The settlement does not follow from the recorded steps, or is not what the profile says.",
    "presentation_divergence": "What the player was told is not what was recorded. Which of the two counts is not said here.",
    "record_missing": "The record does not hold the round.",
}
_RESULTS = {"pass": "pass", "fail": "FAIL", "not_applicable": "not applicable", "not_assessed": "not assessed"}
_LIMITS: tuple[tuple[str, str], ...] = (
    ("the player's screen", "what a device showed is not recorded here; at most what it was told to show, and what it said it had shown"),
    ("who played", "an account is a random reference; whose it is, the operator knows"),
    (
        "a record that lied from the start",
        "the rerun from the committed seed shows an outcome that was made up, and nothing shows a round left out",
    ),
)


class PackFacts(NamedTuple):
    """All that the report is drawn from. digests: SHA-256 of each other file of the payload, by name in data/."""

    verification: Verification
    report: RoundReport | None  # None where the round cannot be drawn
    case: Mapping[str, Any] | None
    absent: Mapping[str, str]
    as_of_us: int
    tree: Tree
    records: Mapping[str, RoundRecord]
    history: Mapping[str, Any]
    rules: GameRules | None
    texts: Mapping[str, bytes]  # those that players were shown, as far as they are at hand, by file
    draws: Sequence[Draw] | None
    alternatives: Sequence[Alternative] | None
    clauses: Sequence[Clause]
    software: Mapping[str, Any]
    digests: Mapping[str, str]


def report_blocks(facts: PackFacts) -> Iterator[Block]:
    """Yield the whole report, what decides first."""
    yield from _question(facts)
    yield from _verdict(facts)
    yield from _round(facts)
    yield from _steps(facts)
    yield from _shown(facts)
    yield from _account(facts)
    yield from _rules(facts)
    yield from _draws(facts)
    yield from _proofs(facts)
    yield from _clauses(facts)
    yield Heading(2, "Software", "software")
    yield Pairs(tuple((name.replace("_", " "), str(value) or "none") for name, value in facts.software.items() if name != "sources"))
    sources = tuple(sorted(facts.software["sources"].items()))
    yield Table("sources that make outcomes, by SHA-256", ("file", "SHA-256"), sources, is_folded=True)
    yield Heading(2, "Files of this pack", "files")
    yield Table("files in data/, by SHA-256", ("file", "SHA-256"), tuple(sorted(facts.digests.items())))


def _question(facts: PackFacts) -> Iterator[Block]:
    case = facts.case
    if case is None:
        return
    yield Heading(2, "The question asked", "question")
    claimed = f"{amount_text(case['claimed_minor'], case['currency'])} {case['currency']}"
    yield Pairs((("claimant", case["claimant"]), ("claimed", claimed), ("of", case["claimed_at"]), ("question", case["question"])))


def _verdict(facts: PackFacts) -> Iterator[Block]:
    """Yield verdict, amounts, checks, findings, and what none of this shows."""
    verification = facts.verification
    verdict, notes = verification.verdict, verification.notes
    yield Heading(2, "The verdict", "verdict")
    yield Verdict(verdict, _PLAIN[verdict], exit_status(verdict, verification.findings) != EXIT_CLEAN)
    if amounts := tuple(_amounts(facts)):
        yield Pairs(amounts)
    rows = tuple((check.name, check.result.replace("_", " "), check.detail) for check in verification.checks)
    yield Table("the six checks", ("check", "result", "why"), rows)
    if verification.findings:
        yield Heading(3, "Findings", "findings")
        found = [(each.severity, each.code, each.where, each.want, each.got, each.assumption or "none") for each in verification.findings]
        yield Table("all that is wrong", ("severity", "finding", "where", "wanted", "found", "hangs on"), tuple(found))
        if any(each.severity in ("money", "presentation") for each in verification.findings) and verification.opened is not None:
            yield plain(f"Amounts in findings are in minor units of {verification.opened.currency}, as the record holds them.", "quiet")
    yield from (plain(note) for note in notes)
    yield Heading(3, "What this pack does not show", "limits")
    yield Pairs((*facts.absent.items(), *_LIMITS))


def _amounts(facts: PackFacts) -> Iterator[tuple[str, str]]:
    opened, settled, voided = facts.verification.opened, facts.verification.settled, facts.verification.voided
    if opened is None:
        return
    currency = opened.currency
    if facts.case is not None:
        yield "claimed", f"{amount_text(facts.case['claimed_minor'], facts.case['currency'])} {facts.case['currency']}"
    yield "paid for the round", f"{amount_text(opened.cost_minor, currency)} {currency}"
    if settled is not None:
        yield "won and credited, as recorded", f"{amount_text(settled.total_win_minor, currency)} {currency}"
    if voided is not None:
        back = voided.refund_minor + voided.refund_bonus_minor
        yield "given back, as recorded", f"{amount_text(back, currency)} {currency}"
    told = _told(facts)
    if told:
        yield "told to the player's client as the win, last", f"{amount_text(told[-1][1].total_win_minor, currency)} {currency}"
    if facts.report is not None and settled is not None:
        yield "sum of the awards of its spins", f"{facts.report.award_total.text} {currency}"


def _round(facts: PackFacts) -> Iterator[Block]:
    opened, report = facts.verification.opened, facts.report
    yield Heading(2, "The round", "round")
    if opened is None or report is None:
        yield plain(f"The round is not drawn here: {facts.absent.get('the round in pictures', 'its opening cannot be read')}.", "alarm")
        return
    head, settled = report.header, report.settlement
    rows = [("game", f"{head.title} ({head.game} {head.version})"), ("mode", head.mode), ("opened", head.opened_at)]
    money = (("bet", head.bet), ("cost", head.cost), ("balance before", head.balance_before))
    rows += [(name, f"{amount.text} {head.currency}") for name, amount in money if amount is not None]
    if settled is not None:
        rows += [("ended", settled.ended.replace("_", " ")), ("won in the base game", f"{settled.base_win.text} {head.currency}")]
        rows += [("won in features", f"{settled.feature_win.text} {head.currency}"), ("won", f"{settled.total_win.text} {head.currency}")]
        rows += [("balance after", f"{settled.balance_after.text} {head.currency}"), ("settled", head.settled_at)]
    rows += [("account", head.account_ref), ("session", opened.session_ref or "none given"), ("channel", opened.channel or "none given")]
    rows += [("operator's reference", head.external_ref or "none given"), ("client seed", opened.client_seed or "none given")]
    rows += [("epoch and nonce", f"{opened.epoch}, {opened.nonce}"), ("engine", opened.engine_fingerprint)]
    rows += [("profile", f"{opened.profile_id} {opened.profile_hash}")]
    yield Pairs(tuple(rows))
    yield from (plain(note, "quiet") for note in report.notes)


def _steps(facts: PackFacts) -> Iterator[Block]:
    if facts.report is None or not facts.report.spins:
        return
    yield Heading(2, "Step by step", "steps")
    yield plain("Replay of a recorded round, drawn from its events. Nothing is played here.", "strong")
    yield from spin_blocks(facts.report)


def _told(facts: PackFacts) -> list[tuple[int, PresentationSent]]:
    """Return what the client was told to show, with its index in the round's stream."""
    events = events_of(facts.records["streams/round.jsonl"])
    return [(version - 1, event) for version, event in events if isinstance(event, PresentationSent)]


def _shown(facts: PackFacts) -> Iterator[Block]:
    """Yield what the client was told to show and says it has shown, beside what the record says; no opinion which of them counts."""
    yield Heading(2, "What the player was told", "shown")
    told, opened = _told(facts), facts.verification.opened
    if not told or opened is None:
        yield plain("The ledger holds nothing of it.")
        return
    events, currency = dict(events_of(facts.records["streams/round.jsonl"])), opened.currency
    acked = {event.sent_index: event.total_win_minor for event in events.values() if isinstance(event, PresentationAcked)}
    rows = []
    for index, sent in told:
        spins = [event for version, event in events.items() if isinstance(event, SpinEnded) and version - 1 <= sent.through_index]
        award, total = (spins[-1].award_minor, sum(spin.award_minor for spin in spins)) if spins else (0, 0)
        says = "nothing" if acked.get(index, -1) == -1 else amount_text(acked[index], currency)
        amounts = [amount_text(each, currency) for each in (award, sent.spin_win_minor, total, sent.total_win_minor)]
        rows.append((time_text(sent.sent_at_us), str(sent.spin_index), *amounts, says))
    heads = ("sent", "spin", "its win, as recorded", "as told", "round so far, as recorded", "as told", "shown, as the client says")
    yield Table(f"amounts in {currency}", heads, tuple(rows), frozenset((2, 3, 4, 5, 6)))


def _account(facts: PackFacts) -> Iterator[Block]:
    yield Heading(2, "The account around it", "account")
    rounds = [
        (each["round_id"], time_text(each["opened_at_us"]), each["game"], each["mode"])
        + tuple(amount_text(each[f"{name}_minor"], each["currency"]) for name in ("balance_before", "cost", "win", "balance_after"))
        + (each["currency"], each["status"])
        for each in facts.history["rounds"]
    ]
    heads: Row = ("round", "opened", "game", "mode", "before", "cost", "won", "after", "", "status")
    yield Table(
        "rounds of the account before, in question, after, and such as went on meanwhile", heads, tuple(rounds), frozenset((4, 5, 6, 7))
    )
    currency = facts.verification.opened.currency if facts.verification.opened is not None else ""
    moved = [
        (time_text(each["moved_at_us"]), each["kind"].replace("_", " "), each["reason"].replace("_", " "))
        + (
            amount_text(each["amount_minor"], currency),
            amount_text(each.get("balance_after_minor", each.get("bonus_after_minor", 0)), currency),
        )
        for each in facts.history["movements"]
    ]
    if moved:
        heads = ("when", "what", "why", "amount", "after it")
        yield Table("money moved in between, other than by rounds", heads, tuple(moved), frozenset((3, 4)))
    else:
        yield plain("Nothing but rounds moved its balance in between.")


def _rules(facts: PackFacts) -> Iterator[Block]:
    yield Heading(2, "Rules, assumptions, what if", "rules")
    rules, opened = facts.rules, facts.verification.opened
    if rules is None or opened is None:
        yield plain(facts.absent.get("rules", "The round names no rules that can be read."))
        return
    yield Pairs(
        (("rules", f"{rules.title} {rules.version}"), ("hash of the rules", rules.rules_hash), ("hash of the texts", rules.texts_hash))
    )
    texts = tuple((source.name, source.document, source.sha256) for source in rules.sources)
    yield Table("texts in force, by their hashes", ("name", "document", "SHA-256"), texts)
    for source in rules.sources:
        if (content := facts.texts.get(f"texts/{source.sha256}.txt")) is not None:
            yield Text(f"{source.document}, the text as players were shown it", content.decode("utf-8", "replace"))
    pays = [
        (symbol.name.replace("_", " "), symbol.role, pays_text(rules, number) or "nothing") for number, symbol in enumerate(rules.symbols)
    ]
    yield Table("paytable, in multiples of the bet", ("symbol", "kind", "pays"), tuple(pays), is_folded=True)
    assumed = tuple((name, text) for name, text in rules.assumptions.items())
    if assumed:
        yield Table("assumptions: what no text states, and how it was decided", ("name", "decided"), assumed, is_folded=True)
    if facts.alternatives is None:
        yield plain("What the round would have paid under other readings is not shown: it was not rerun, or is in play or void.", "quiet")
        return
    rows = [(f"{each.reading} = {each.value}", each.text, *_alternative(each, opened.currency)) for each in facts.alternatives]
    heads = ("reading", "the rule read otherwise", "would have won", "difference")
    yield Table("what if: the same random numbers, one rule read otherwise", heads, tuple(rows), frozenset((2, 3)))


def _alternative(each: Alternative, currency: str) -> tuple[str, str]:
    if not each.is_touched:
        return "the same", "none"
    sign = "+" if each.difference_minor > 0 else ""
    return amount_text(each.total_win_minor, currency), f"{sign}{amount_text(each.difference_minor, currency)}"


def _draws(facts: PackFacts) -> Iterator[Block]:
    yield Heading(2, "Random draws", "draws")
    if facts.draws is None:
        reason = next((why for what, why in facts.absent.items() if "draws" in what), "the round could not be rerun")
        yield plain(f"None is shown: {reason}.")
        return
    yield plain(f"{len(facts.draws)} draws, in order; draws.jsonl has the words of each. Any result can be had again from its words.")
    rows = [
        (str(each.number), each.purpose, f"0 to {each.n - 1}", str(each.first_word), str(each.word_count - 1), str(each.result))
        for each in facts.draws
    ]
    heads = ("draw", "for", "range", "first word", "passed over", "result")
    yield Table("every draw of the round", heads, tuple(rows), frozenset((0, 3, 4, 5)), is_folded=True)


def _proofs(facts: PackFacts) -> Iterator[Block]:
    verification, tree = facts.verification, facts.tree
    yield Heading(2, "Proofs", "proofs")
    own = facts.records["streams/round.jsonl"]
    rows = [
        ("tree", f"{tree.size} leaves"),
        ("root", tree.root.hex() or "the tree is broken"),
        ("held against", verification.comparison.sentence(own.appends)),
    ]
    if verification.opened is not None:
        rows.append(("commitment to the round's key", verification.opened.round_key_commitment or "none"))
        rows.append(("commitment to the seed", verification.opened.seed_commitment or "none"))
    yield Pairs(tuple(rows))
    leaves = tuple(
        (file.removeprefix("streams/").removesuffix(".jsonl"), str(each.leaf_index), f"{each.version_first} to {each.version_last}")
        + (time_text(each.recorded_at_us), each.leaf_hash.hex())
        for file, record in facts.records.items()
        if "round" in file
        for each in record.appends
    )
    yield Table("leaves of the rounds", ("stream", "leaf", "events", "recorded", "hash"), leaves, frozenset((1,)), is_folded=True)


def _clauses(facts: PackFacts) -> Iterator[Block]:
    yield Heading(2, "Clauses", "clauses")
    yield plain(
        "What the evidence in this pack shows of each clause that speaks of a round. It is prepared for assessment and certifies nothing."
    )
    for standard in dict.fromkeys(each.standard for each in facts.clauses):
        of_it = [each for each in facts.clauses if each.standard == standard]
        rows = [(each.clause, each.title, _RESULTS[each.result], each.why, ", ".join(each.files)) for each in of_it]
        read = f"{standard}; {of_it[0].source} text, as of {of_it[0].as_of}"
        yield Table(read, ("clause", "asks for", "result", "why", "files in data/"), tuple(rows))
