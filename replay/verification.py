"""One round, four questions, six checks, one verdict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from engines.canonical import CanonicalFormError
from engines.game import Draw, EventBytes, Game
from engines.registry import game_of_rules
from engines.rng import RandomStreamError, round_key_commitment
from engines.rules import GameRules
from ledger.codec import is_game_topic
from ledger.errors import TopicMismatch, TreeBroken
from ledger.keys import default_keys_dir
from ledger.lifecycle_events import RoundOpened, RoundSettled, RoundVoided
from ledger.rounds import RoundLedger
from ledger.store import ACCOUNT_STREAM, LEAF_END, ROUND_STREAM, RoundRecord
from replay.anchors import NO_ANCHORS, Anchors, Comparison, compare
from replay.build_check import RegisteredBuilds
from replay.check import RoundCheck
from replay.disputes import RoundDisputes
from replay.life_notes import life_notes
from replay.own_stream import OwnStream
from replay.profile_check import ProfilesInForce
from replay.profile_rules import GoverningProfiles, recorded_life
from replay.record_check import check_record
from replay.recorded_round import check_record_events
from replay.replayer import compare_outcome
from replay.rulebook import Rulebook
from replay.seed_check import SealedSeeds
from replay.states import round_before
from replay.terms import PlayTerms, recorded_terms
from replay.verdict import CHECK_NAMES, Check, CheckName, Finding, VerdictName
from replay.weighing import weigh
from replay.whatif import Alternative, alternatives

__all__ = ["ANOTHER_KEY", "IMPOSSIBLE_BET", "Verification", "Verifier"]

IMPOSSIBLE_BET = "a bet of {} minor units leads to amounts that no record holds"
ANOTHER_KEY = "the key at hand is not the one committed to, and leads to another outcome: that says nothing about this one"


class Verification(NamedTuple):
    """All that a verification of one round says."""

    round_id: str
    verdict: VerdictName
    checks: list[Check]
    findings: list[Finding]
    notes: list[str]
    opened: RoundOpened | None
    settled: RoundSettled | None
    fingerprint: str  # of the engine that replayed, empty where none did
    tree_size: int
    root: str
    comparison: Comparison = Comparison()  # of the tree with what it was held against
    terms: PlayTerms | None = None  # what it was played for and from
    voided: RoundVoided | None = None


class Verifier:
    """Verifies rounds of one ledger; keeps games and seeds between rounds.

    `rules`, where given, stands for the installed rules of its game. `is_compiled` replays by machine code: for many
    rounds. Balances are followed within each round unless `is_account_followed` says that somebody follows the account.
    `anchors` are what the tree of a single round is held against; None for many rounds, where `verify_bulk` does that once, and
    follows the nonces of all epochs, the states of all accounts and the disputes. `as_of_us` is when rounds in play and open disputes
    are judged: microseconds since 1970 UTC, now where it is None.
    """

    def __init__(
        self,
        ledger: RoundLedger,
        *,
        keys_dir: Path | None = None,
        rules: GameRules | None = None,
        is_compiled: bool = False,
        is_account_followed: bool = False,
        anchors: Anchors | None = NO_ANCHORS,
        round_keys: Mapping[str, bytes] | None = None,
        as_of_us: int | None = None,
    ) -> None:
        self._ledger = ledger
        self._anchors, self._as_of_us = anchors, as_of_us
        self._rulebook = Rulebook(rules)
        self._is_compiled = is_compiled
        self._is_account_followed = is_account_followed
        self._seeds = SealedSeeds(ledger, keys_dir or default_keys_dir(ledger.path), round_keys)
        own_stream = OwnStream(ledger)
        self._builds, self._profiles = RegisteredBuilds(own_stream), ProfilesInForce(own_stream)
        self._governing = GoverningProfiles(own_stream)
        self._disputes = RoundDisputes(ledger, own_stream, as_of_us)
        self._games: dict[str, Game] = {}

    def verify(self, round_id: str) -> Verification:
        """Return the verdict on a round by its whole id; an unknown one is `record_missing`."""
        stream = ROUND_STREAM + round_id
        try:
            record = self._ledger.store.round_record(stream)
        except TreeBroken as error:
            record = next(iter(self._ledger.store.records_of([stream])))
            want, got = f"a node at level {error.level}, index {error.node_index}", "none"
            broken = Finding("tree_broken", "integrity", -1, -1, "tree", want, got, str(error))
            return self.verify_record(record, (broken,), compare(self._ledger, self._anchors, None))
        return self.verify_record(record, (), compare(self._ledger, self._anchors, record.tree))

    def verify_record(self, record: RoundRecord, of_tree: Sequence[Finding] = (), comparison: Comparison | None = None) -> Verification:
        """Return the verdict on a round as it was read, with or without audit paths; see `Store.round_records`.

        `of_tree` are findings about the tree that the round's leaves stand in, `comparison` what holding it against
        anchors has found.
        """
        comparison = comparison or compare(self._ledger, None, None)
        if not record.events and not record.appends:
            return _missing(record, comparison)
        record_findings = [*of_tree, *comparison.findings, *check_record(record)]
        first_leaf = record.appends[0].leaf_index if record.appends else LEAF_END
        rounds = check_record_events(
            record,
            self._rulebook.find,
            is_balance_shown=self._is_balance_shown(record),
            before=lambda opened: round_before(self._ledger, opened, first_leaf),
            is_state_followed=self._anchors is None,
            are_legs_judged=not record_findings,
        )
        opened, settled = rounds.opened, rounds.settled
        findings = record_findings + rounds.findings
        checks = {check.name: check for check in rounds.checks}
        checks["record"] = _record_check(record, record_findings, comparison)
        notes: list[str] = []
        build_findings: list[Finding] = []
        fingerprint = ""
        if opened is None:
            reason = "the round has no opening that can be read"
            checks["seed"], checks["replay"] = Check("seed", "not_run", reason), Check("replay", "not_run", reason)
        else:
            opened_leaf = record.appends[0].leaf_index if record.appends else -1
            build_findings = self._builds.check(opened, opened_leaf)
            profile_findings = self._profiles.check(opened, opened_leaf, self._rules_of(opened))
            life = recorded_life(record, opened, settled)
            profile_findings += self._governing.check(life, self._ledger.store.clock() if self._as_of_us is None else self._as_of_us)
            wrong = [each for each in profile_findings if each.severity != "completeness"]
            if wrong and checks["totals"].result != "fail":
                checks["totals"] = Check("totals", "fail", wrong[0].message)
            seed = self._seeds.check(record.round_id, opened, opened_leaf, is_epoch_followed=self._anchors is None)
            checks["seed"] = seed.check
            checks["replay"], weighed, fingerprint = self._replay(record, opened, settled, seed.key, rounds)
            findings = record_findings + build_findings + profile_findings + seed.findings + weighed
            notes = _notes(opened, fingerprint, self._rulebook, is_rerun=checks["replay"].result in ("pass", "fail"))
            notes += [*life_notes(life), *_correction_notes(record), *self._disputes.notes(record.round_id)]
            if self._anchors is not None:
                findings += self._disputes.check(record.round_id)
        listed = [checks[name] for name in CHECK_NAMES]
        tree = record.tree
        return Verification(
            record.round_id,
            _verdict({check.name: check.result for check in listed}, end=_end_of(record, rounds), is_approved=not build_findings),
            listed,
            sorted(findings, key=lambda finding: finding.event_index),
            notes,
            opened,
            settled,
            fingerprint,
            tree.size if tree else 0,
            tree.root.hex() if tree else "",
            comparison,
            rounds.terms,
            rounds.voided,
        )

    def draws(self, verification: Verification) -> list[Draw] | None:
        """Return every random draw of a settled round (`rng/1`, item 8), None where it cannot be replayed or is in play."""
        shown = self._shown(verification)
        if shown is None:
            return None
        game, key, terms = shown
        return game.draws(key, *terms)

    def alternatives(self, verification: Verification, reading: tuple[str, int] | None = None) -> list[Alternative] | None:
        """Return a settled round under each other reading of its rules, or under `reading`; None where it cannot be replayed.

        A round in play is not shown: each alternative would disclose its outcome. Raises ReadingUnknownError.
        """
        shown = self._shown(verification)
        if shown is None:
            return None
        game, key, terms = shown
        return list(alternatives(game, key, terms, reading=reading))

    def round_key(self, verification: Verification) -> bytes | None:
        """Return the key of a round that is over, where it is at hand and the one committed to; else None."""
        opened = verification.opened
        if opened is None or (verification.settled is None and verification.voided is None):
            return None
        key = self._seeds.check(verification.round_id, opened, -1).key
        return key if key is not None and round_key_commitment(key) == opened.round_key_commitment else None

    def _shown(self, verification: Verification) -> tuple[Game, bytes, PlayTerms] | None:
        """Return game, key and terms of a settled round that was replayed, else None."""
        opened = verification.opened
        if opened is None or verification.settled is None or verification.terms is None or not verification.fingerprint:
            return None
        key = self._seeds.check(verification.round_id, opened, -1).key
        if key is None:
            return None
        game = self._game(self._rulebook.find(opened.game, opened.rules_version, opened.rules_hash))
        return game, key, verification.terms._replace(mode=opened.mode, bet_minor=opened.bet_minor)

    def _rules_of(self, opened: RoundOpened) -> GameRules | None:
        try:
            return self._rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
        except LookupError:
            return None

    def _game(self, rules: GameRules) -> Game:
        if rules.rules_hash not in self._games:
            game = game_of_rules(rules)
            if self._is_compiled:
                game.compile()
            self._games[rules.rules_hash] = game
        return self._games[rules.rules_hash]

    def _is_balance_shown(self, record: RoundRecord) -> bool:
        """Return whether nothing but this round moved the account's balance between its opening and its settlement."""
        if self._is_account_followed or len(record.appends) < 2:
            return False
        account = self._ledger.store.round(record.round_id)
        if account is None:
            return True
        over = ("round_settled/", "round_voided/")  # a correction may come later
        ends = [row.version for row in record.events if row.topic.startswith(over)] or [record.appends[-1].version_last]
        first, last = (_leaf_of(record, version) for version in (1, ends[-1]))
        appends = self._ledger.store.stream_appends(ACCOUNT_STREAM + account.account_ref)
        if any(first < append.leaf_index < last for append in appends):
            return False
        return last - first < 2 or not self._ledger.store.has_void_between(account.account_ref, first, last)

    def _replay(
        self, record: RoundRecord, opened: RoundOpened, settled: RoundSettled | None, key: bytes | None, rounds: RoundCheck
    ) -> tuple[Check, list[Finding], str]:
        if key is None:
            return Check("replay", "not_run", "the round's key is not at hand: key sealed"), rounds.findings, ""
        try:
            rules = self._rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
        except LookupError as error:
            return Check("replay", "not_run", str(error)), rounds.findings, ""
        if rules.mode(opened.mode) is None:
            return Check("replay", "not_run", f"mode {opened.mode!r} is none of {opened.game}"), rounds.findings, ""
        game = self._game(rules)
        try:
            terms = rounds.terms or recorded_terms(rules, opened, rounds.order)[0]
            outcome = game.play(key, opened.mode, opened.bet_minor, terms.state_in, terms.choices)
        except RandomStreamError as error:
            return Check("replay", "fail", str(error)), rounds.findings, game.fingerprint
        except ValidationError:  # an altered bet: below 0, or too large
            return Check("replay", "fail", IMPOSSIBLE_BET.format(opened.bet_minor)), rounds.findings, ""
        recorded = [(row.version - 1, EventBytes(row.topic, row.data)) for row in record.events if is_game_topic(row.topic)]
        if settled is None:
            # What the open round has yet to show stays unsaid: it would disclose its outcome.
            outcome = outcome._replace(events=outcome.events[: len(recorded)])
        recorded_win = settled.total_win_minor if settled is not None else outcome.total_win_minor
        findings = compare_outcome(recorded, outcome, recorded_win_minor=recorded_win)
        if findings and round_key_commitment(key) != opened.round_key_commitment:
            return Check("replay", "not_run", ANOTHER_KEY), rounds.findings, ""
        weighed = weigh(rounds.findings, findings, recorded, outcome)
        if findings:
            return Check("replay", "fail", findings[0].message), weighed, game.fingerprint
        detail = f"{len(recorded)} game events are byte for byte those of the seed, {outcome.words_used} random words"
        if settled is None:
            detail = f"{len(recorded)} game events so far are byte for byte those of the seed"
        return Check("replay", "pass", detail), weighed, game.fingerprint


def _leaf_of(record: RoundRecord, version: int) -> int:
    return next((append.leaf_index for append in record.appends if append.version_first <= version <= append.version_last), -1)


def _record_check(record: RoundRecord, findings: Sequence[Finding], comparison: Comparison) -> Check:
    if findings:
        return Check("record", "fail", findings[0].message)
    leaves = ", ".join(str(append.leaf_index) for append in record.appends)
    detail = f"{len(record.events)} events in {len(record.appends)} appends, leaves {leaves}"
    if record.tree is not None:
        detail += f" of {record.tree.size}, lead to root {record.tree.root.hex()[:16]}…; {comparison.sentence(record.appends)}"
    return Check("record", "pass", detail)


def _notes(opened: RoundOpened, fingerprint: str, rulebook: Rulebook, *, is_rerun: bool) -> list[str]:
    notes = []
    if opened.rules_version.startswith("0."):
        notes.append(f"draft rules: {opened.game} {opened.rules_version} may still be replaced")
    if is_rerun and fingerprint != opened.engine_fingerprint:
        notes.append(f"recorded by engine {opened.engine_fingerprint[:16]}…, rerun by {fingerprint[:16]}…")
    if rulebook.is_from_file(opened.game):
        notes.append(f"rules from a file outside the registry, hash {opened.rules_hash}")
    return notes


def _correction_notes(record: RoundRecord) -> list[str]:
    """Return a line for each correction behind a round's end: the verdict is on what was recorded before it."""
    if not any(row.topic == "correction_recorded/1" for row in record.events):
        return []
    from ledger.corrections import corrections_in

    try:
        found = corrections_in(record.events)
    except (CanonicalFormError, TopicMismatch):  # which the record's check says
        return []
    return [f"corrected since: {each.element} {each.before} -> {each.after} (alteration {each.alteration_id[:16]}…)" for each in found]


def _end_of(record: RoundRecord, rounds: RoundCheck) -> VerdictName:
    """Return what a round is in which nothing is wrong: settled in one go, interrupted or void and since resolved, or in play."""
    if rounds.settled is None and rounds.voided is None:
        return "incomplete_open"
    is_resolved = rounds.voided is not None or any(row.topic.startswith("round_interrupted/") for row in record.events)
    return "incomplete_resolved" if is_resolved else "reproduced"


def _missing(record: RoundRecord, comparison: Comparison) -> Verification:
    message = f"round {record.round_id}: want its events in the record, got none"
    finding = Finding("record_missing", "integrity", -1, -1, "record", "the round's events", "none", message)
    reason = "the round is not in this record"
    checks = [Check("record", "fail", reason), *(Check(name, "not_run", reason) for name in CHECK_NAMES[1:])]
    tree = record.tree
    size, root = (tree.size, tree.root.hex()) if tree else (0, "")
    findings = [finding, *comparison.findings]
    return Verification(record.round_id, "record_missing", checks, findings, [], None, None, "", size, root, comparison)


def _verdict(results: dict[CheckName, str], *, end: VerdictName, is_approved: bool) -> VerdictName:
    """Return the first verdict of the list that applies."""
    ladder: tuple[tuple[VerdictName, bool], ...] = (
        ("record_tampered", results["record"] == "fail"),
        ("not_replayable", results["replay"] == "not_run" and results["seed"] != "fail"),
        ("build_unapproved", not is_approved),
        ("diverged", results["replay"] == "fail" or results["seed"] == "fail"),
        ("rule_breach", results["referee"] == "fail"),
        ("settlement_divergence", results["totals"] == "fail"),
        ("presentation_divergence", results["presentation"] == "fail"),
    )
    return next((verdict for verdict, applies in ladder if applies), end)
