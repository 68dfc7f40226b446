"""`audit check`: the referee and the totals on exported event streams, outside any ledger.

A line of the file is one event with its place in its stream. What such a file cannot show (the record's proofs, the
seed, a rerun, what the player saw) is said to be not shown.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from engines.canonical import RecordedEvent
from engines.game_events import GAME_EVENTS, GameEvent
from engines.rules import GameRules
from ledger.lifecycle_events import LIFECYCLE_EVENTS, AccountOpened, FundsMoved, RoundOpened, RoundSettled, RoundVoided
from replay.choices import ChoiceOrder, check_choices
from replay.export_lines import ExportLine, parse_export, short_text
from replay.life import check_amounts, check_order, is_completed_by_system, refund_options
from replay.presentation import PRESENTATION_KINDS, Presented, check_presentation
from replay.reconcile import AccountFact, check_digests, cost_options, reconcile_account, reconcile_round, win_options
from replay.referee.walk import RoundTerms, RoundTotals, RoundWalk, plain_walk, walk_round
from replay.states import LeftState, carried_finding, state_after
from replay.terms import PlayTerms, recorded_terms
from replay.verdict import Check, CheckName, Finding, Severity

__all__ = [
    "FileCheck",
    "RoundCheck",
    "RulesFor",
    "StreamFinding",
    "check_rounds",
    "check_stream",
]

RulesFor = Callable[[str, str, str], GameRules]
ROUND_PREFIX = "round/"
ACCOUNT_PREFIX = "account/"
# A value of the right type outside its range: the event can still be walked.
VALUE_ERRORS = frozenset(
    {"greater_than_equal", "less_than_equal", "literal_error", "string_pattern_mismatch", "string_too_long", "extra_forbidden"}
)
NOT_SHOWN: tuple[tuple[CheckName, str], ...] = (
    ("record", "the file holds no proofs; verify the round against its ledger"),
    ("seed", "the file holds no seed or round key"),
    ("replay", "the file holds no key to rerun the round from"),
)


class RoundCheck(NamedTuple):
    """What was found in one round; `opened`, `settled` and `voided` are None where the file has no such event.

    `terms` are what the round was played for and from, None where it was not walked; `order` what it says of choices.
    """

    round_id: str
    findings: list[Finding]
    checks: list[Check]
    opened: RoundOpened | None
    settled: RoundSettled | None
    order: ChoiceOrder
    terms: PlayTerms | None
    voided: RoundVoided | None = None


class StreamFinding(NamedTuple):
    """A finding about a stream that is no round."""

    stream: str
    finding: Finding


class FileCheck(NamedTuple):
    """What was found in a file: each round, and what belongs to none."""

    rounds: list[RoundCheck]
    stream_findings: list[StreamFinding]


class _Stream:
    """The parsed events of one stream, and what is wrong with their form."""

    def __init__(self, name: str, lines: list[ExportLine]) -> None:
        self.name = name
        self.lines = sorted(lines, key=lambda line: line.event_index)
        self.findings: list[Finding] = []
        self.events: list[tuple[ExportLine, RecordedEvent]] = []
        self.is_whole = True  # every event could be read
        for line in self.lines:
            self._take(line)

    def _take(self, line: ExportLine) -> None:
        kind = line.kind
        if self.name.startswith(ROUND_PREFIX):
            models = {**GAME_EVENTS, **LIFECYCLE_EVENTS}
        else:
            models = LIFECYCLE_EVENTS
        model = models.get(kind)
        if model is None:
            if self.name.startswith(ROUND_PREFIX):
                self._note(line, "event kind", "a kind of this record", short_text(line.event.get("kind")))
                self.is_whole = False
            return
        try:
            self.events.append((line, model.model_validate_json(line.data)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the event"
            self._note(line, f"{kind} field {where}", first["msg"], short_text(first.get("input")))
            event = _as_it_stands(model, line.event, error)
            if event is None:
                self.is_whole &= kind in PRESENTATION_KINDS  # which say nothing about outcome or totals
            else:
                self.events.append((line, event))

    def _note(self, line: ExportLine, where: str, want: str, got: str) -> None:
        message = f"{where} of index {line.event_index} in {self.name}: want {want}, got {got}"
        self.findings.append(Finding("event_model", "integrity", line.event_index, -1, where, want, got, message))

    @property
    def broken(self) -> set[int]:
        """The indexes of events whose form is wrong: what else is found there is of the same cause."""
        return {finding.event_index for finding in self.findings}

    def first(self, kind: type[RecordedEvent]) -> tuple[int, Any] | None:
        """Return the first event of a kind with its index in the stream."""
        return next(((line.event_index, event) for line, event in self.events if isinstance(event, kind)), None)


def _as_it_stands(model: type[RecordedEvent], fields: dict[str, Any], error: ValidationError) -> RecordedEvent | None:
    """Return the event with its wrong values where only ranges are broken, else None."""
    if any(each["type"] not in VALUE_ERRORS for each in error.errors(include_url=False)):
        return None
    values = {name: _as_tuple(fields[name]) for name in model.model_fields if name in fields}
    return model.model_construct(**values)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def check_rounds(lines: Iterable[str], rules_for: RulesFor) -> FileCheck:
    """Return what the referee and the totals find in each round of an export.

    `rules_for(game, version, rules_hash)` gives the rules of a round and raises LookupError with the reason where
    there are none: its checks are then not run. Balances are followed over a whole account where the file has its
    stream from `account_opened` on, else within each round. Raises ExportLineError for a damaged line.
    """
    streams = [_Stream(name, found) for name, found in parse_export(lines).items()]
    followed = {
        stream.name.removeprefix(ACCOUNT_PREFIX)
        for stream in streams
        if stream.name.startswith(ACCOUNT_PREFIX) and stream.first(AccountOpened) is not None
    }
    passes = [_RoundPass(stream, rules_for, followed, is_file=True) for stream in streams if stream.name.startswith(ROUND_PREFIX)]
    by_stream = _check_accounts(streams, passes, followed)
    _check_states(passes, followed)
    others = [
        StreamFinding(stream.name, finding) for stream in streams if not stream.name.startswith(ROUND_PREFIX) for finding in stream.findings
    ]
    return FileCheck([each.result() for each in passes], others + by_stream)


def _check_accounts(streams: list[_Stream], passes: list["_RoundPass"], followed: set[str]) -> list[StreamFinding]:
    """Follow each whole account over its rounds; findings about a round are given to its pass, the others returned."""
    others: list[StreamFinding] = []
    by_id = {each.round_id: each for each in passes}
    for account in sorted(followed):
        facts: list[tuple[int, int, AccountFact]] = []
        for stream in streams:
            if stream.name == ACCOUNT_PREFIX + account:
                moved = [(line, event) for line, event in stream.events if isinstance(event, FundsMoved)]
                facts += [(line.recorded_at, line.line, AccountFact(stream.name, line.event_index, event)) for line, event in moved]
        for each in passes:
            if each.opened is not None and each.opened[1].account_ref == account:
                facts += each.account_facts()
        for found in reconcile_account([fact for _, _, fact in sorted(facts, key=lambda fact: fact[:2])]):
            if any(stream.name == found.source and found.finding.event_index in stream.broken for stream in streams):
                continue
            if found.source in by_id:
                by_id[found.source].add_totals([found.finding])
            else:
                others.append(StreamFinding(found.source, found.finding))
    return others


def _check_states(passes: list["_RoundPass"], followed: set[str]) -> None:
    """Follow the states of each account and game over its rounds, in the order of time, and give findings to the passes.

    Where the file does not hold the account from its opening on, a round between two may be missing, and before the first.
    """
    left: dict[tuple[str, str], LeftState] = {}
    placed = [each for each in passes if each.opened is not None and each.rules is not None]
    for each in sorted(placed, key=lambda each: (each.stream.lines[0].recorded_at, each.stream.lines[0].line)):
        assert each.opened is not None
        assert each.rules is not None
        account = each.opened[1].account_ref
        place = account, each.opened[1].game
        if account in followed:
            each.hold_against(left.get(place))
        elif place in left:
            each.hold_against(left[place], severity="completeness", note="; or a round between the two is not in the file")
        if each.settled is not None:
            left[place] = LeftState(each.round_id, (each.settled[1].state_out, *each.walk.totals.state_out))


class _RoundPass:
    """One round on its way through the checks."""

    def __init__(
        self, stream: _Stream, rules_for: RulesFor, followed: set[str], *, is_file: bool = False, are_legs_judged: bool = True
    ) -> None:
        self.stream = stream
        self._are_legs_judged = are_legs_judged
        self.is_file = is_file  # a ledger's open round is in play; a file that ends before the settlement may be cut off
        self.round_id = stream.name.removeprefix(ROUND_PREFIX)
        self.opened: tuple[int, RoundOpened] | None = stream.first(RoundOpened)
        self.settled: tuple[int, RoundSettled] | None = stream.first(RoundSettled)
        self.voided: tuple[int, RoundVoided] | None = stream.first(RoundVoided)
        self._placed = [(line.event_index, event) for line, event in stream.events]
        self._is_by_system = is_completed_by_system(self._placed)
        self.reason = ""  # why referee and totals are not run
        self.walk = RoundWalk([], RoundTotals((), (), (), ()))
        self.terms: PlayTerms | None = None
        self._order = check_choices(self._placed)
        self.rules: GameRules | None = None
        self.totals: list[Finding] = []
        self._form = stream.broken
        self._is_alone = False  # whether nothing else moved the account's balance meanwhile
        self._events: list[tuple[int, GameEvent]] = []
        self._find_rules(rules_for)
        if self.rules is not None and self.opened is not None:
            self._is_alone = self.opened[1].account_ref not in followed and not self._is_interrupted()
            self._walk(self.rules, self.opened)

    def _find_rules(self, rules_for: RulesFor) -> None:
        if self.opened is None:
            self.reason = "the file does not hold the round's opening, or it cannot be read"
        elif not self.stream.is_whole:
            self.reason = "an event of the round cannot be read"
        else:
            opened = self.opened[1]
            try:
                self.rules = rules_for(opened.game, opened.rules_version, opened.rules_hash)
            except LookupError as error:
                self.reason = f"no rules of {opened.game} {opened.rules_version}: {error.args[0] if error.args else error}"

    def _is_interrupted(self) -> bool:
        return any(line.kind in ("round_interrupted", "round_resumed") for line in self.stream.lines)

    def _walk(self, rules: GameRules, opened: tuple[int, RoundOpened]) -> None:
        """Walk the round by its terms as recorded; where these contradict each other, by those that fit best what came of them."""
        events: list[tuple[int, GameEvent]] = [(line.event_index, event) for line, event in self.stream.events if event.kind in GAME_EVENTS]  # type: ignore[misc]
        if self.is_file and self.settled is None and self.voided is None:
            ends = [place for place, (_, event) in enumerate(events) if event.kind == "spin_ended"]
            events = events[: ends[-1] + 1] if ends else []  # the spin that the file ends in is not to be judged

        self._events = events
        options = recorded_terms(rules, opened[1], self._order)
        if len(options) > 1:
            options = [min(options, key=lambda terms: self._fault_count(rules, terms))]
        self._walk_by(rules, options[0])
        named = {finding.event_index for finding in self.walk.findings}
        self.add_totals([finding for finding, about in self._order.findings if not named & about])
        self.add_totals(check_order(self._placed))

    def _walk_by(self, rules: GameRules, terms: PlayTerms) -> None:
        """Have the referee walk the round by these terms, and hold its opening and settlement against what came of it."""
        assert self.opened is not None
        self.walk, self.terms = walk_round(self._events, rules, is_complete=self.settled is not None, **terms._asdict()), terms
        self.totals = []
        self.add_totals(self._reconciled(rules, self.walk.totals))

    def _fault_count(self, rules: GameRules, terms: PlayTerms) -> int:
        """Return how much is wrong with the round by these terms."""
        assert self.opened is not None
        given = RoundTerms(terms.mode, terms.bet_minor, self.settled is not None, terms.state_in, terms.choices)
        walk = plain_walk(self._events, rules, given)
        return sum(finding.severity != "warning" for finding in (*walk.findings, *self._reconciled(rules, walk.totals)))

    def _reconciled(self, rules: GameRules, totals: RoundTotals) -> list[Finding]:
        assert self.opened is not None
        return reconcile_round(self.opened, self.settled, totals, rules, is_balance_shown=self._is_alone, is_by_system=self._is_by_system)

    def cut_finding(self) -> list[Finding]:
        """Return one finding where a file ends before the round's settlement."""
        if not self.is_file or self.settled is not None or self.voided is not None or self.opened is None:
            return []
        last = self.stream.lines[-1]
        got = f"the end of the file after event {last.event_index}, {last.event.get('kind')}"
        message = f"end of {self.stream.name}: want round_settled, got {got}; the round is in play or the file was cut off"
        return [Finding("not_settled", "completeness", last.event_index, -1, "end of the round", "round_settled", got, message)]

    def add_totals(self, findings: list[Finding]) -> None:
        """Add findings of the totals; those about an event whose form is wrong are of the same cause."""
        self.totals += [finding for finding in findings if finding.event_index not in self._form]

    def hold_against(self, before: LeftState | None, *, severity: Severity = "integrity", note: str = "") -> None:
        """Hold the state in against what the round before left; what vanishes by that state is of the same cause as the difference."""
        if self.opened is None or self.rules is None or self.terms is None:
            return
        found = carried_finding(self.round_id, self.opened, before, self.rules, severity=severity, note=note)
        if found is None:
            return
        carried = self.terms._replace(state_in=state_after(self.rules, before))
        if self.has_faults and not self._fault_count(self.rules, carried):
            self._walk_by(self.rules, carried)
        self.add_totals([found])

    @property
    def has_faults(self) -> bool:
        """Whether referee or totals have found more than a warning."""
        return any(finding.severity != "warning" for finding in (*self.walk.findings, *self.totals))

    def account_facts(self) -> list[tuple[int, int, AccountFact]]:
        """Return what the round did to its account, each with when it was recorded and its line."""
        facts = []
        for line, event in self.stream.events:
            if isinstance(event, RoundOpened):
                amounts = cost_options(event, self.rules) if self.rules else ()
            elif isinstance(event, RoundSettled):
                amounts = win_options(event, self.walk.totals)
            elif isinstance(event, RoundVoided) and self.opened is not None:
                amounts = refund_options(event, self.opened[1])
            else:
                continue
            facts.append((line.recorded_at, line.line, AccountFact(self.round_id, line.event_index, event, amounts)))
        return facts

    def result(self) -> RoundCheck:
        """Return the round's findings and checks; order, gaps and digests are looked at last."""
        by_referee = [finding for finding in self.walk.findings if finding.event_index not in self._form]
        presented = self._presented()
        findings = self.stream.findings + by_referee + self.totals + self.cut_finding()
        if all(finding.severity in ("warning", "completeness") for finding in findings):
            last = self._check_form()
            if not last and self.opened is not None:
                last = check_amounts(self.opened[1], self._placed)
            end = self.settled or self.voided
            if not last and end is not None and all(finding.event_index > end[0] for finding in presented.findings):
                before = [(line.kind, line.data) for line in self.stream.lines if line.event_index < end[0]]
                last = check_digests(end, before)
            self.totals += last
            findings += last
        findings += presented.findings
        findings.sort(key=lambda finding: finding.event_index)
        checks = [
            *(Check(name, "not_shown", why) for name, why in NOT_SHOWN),
            *self._own_checks(by_referee),
            self._presentation_check(presented),
        ]
        opened, settled = self.opened[1] if self.opened else None, self.settled[1] if self.settled else None
        voided = self.voided[1] if self.voided else None
        return RoundCheck(self.round_id, findings, checks, opened, settled, self._order, self.terms, voided)

    def _presented(self) -> Presented:
        """Return what was shown, held against what was evaluated where all of that can be read."""
        presented = check_presentation(self._placed)
        is_evaluated = self.stream.is_whole and not any(map(self._is_game_event, self._form))
        found = [finding for finding in presented.findings if is_evaluated and finding.event_index not in self._form]
        return presented._replace(findings=found, is_evaluated=is_evaluated)

    def _presentation_check(self, presented: Presented) -> Check:
        if not any(line.kind in PRESENTATION_KINDS for line in self.stream.lines):
            holder = "file" if self.is_file else "record"
            return Check("presentation", "not_shown", f"the {holder} holds nothing of what the player was shown")
        form = [finding for finding in self.stream.findings if self._kind_at(finding.event_index) in PRESENTATION_KINDS]
        reason = "" if presented.is_evaluated else "an event of the round cannot be read"
        return _check("presentation", [*form, *presented.findings], reason, presented.sentence)

    def _own_checks(self, by_referee: list[Finding]) -> list[Check]:
        form = [finding for finding in self.stream.findings if self._kind_at(finding.event_index) not in PRESENTATION_KINDS]
        return [
            _check(
                "referee",
                [*by_referee, *(f for f in form if self._is_game_event(f.event_index))],
                self.reason,
                "every step obeys the rules",
            ),
            _check(
                "totals",
                [*self.totals, *(f for f in form if not self._is_game_event(f.event_index))],
                self._totals_reason(),
                "the totals follow from the events",
            ),
        ]

    def _kind_at(self, index: int) -> str | None:
        return self._kinds.get(index)

    @cached_property
    def _kinds(self) -> dict[int, str]:
        """The kind of the first line of each index."""
        return {line.event_index: line.kind for line in reversed(self.stream.lines)}

    def _is_game_event(self, index: int) -> bool:
        return self._kind_at(index) not in LIFECYCLE_EVENTS

    def _totals_reason(self) -> str:
        return self.reason or ("" if self.settled is not None or self.voided is not None else "the round is not settled")

    def _check_form(self) -> list[Finding]:
        """Return at most one finding about the lines themselves: order, gaps, an end without a settlement."""
        appends = 0
        for position, line in enumerate(self.stream.lines):
            if line.event_index != position:
                return [_form_finding("index", line.event_index, f"index {position} of {self.stream.name}", position, line.event_index)]
            if not appends <= line.append <= appends + (position > 0):
                return [
                    _form_finding("append", line.event_index, f"append of index {position} of {self.stream.name}", appends, line.append)
                ]
            appends = line.append
        kinds = [line.kind for line in self.stream.lines]
        if self._are_legs_judged and (torn := self._torn_leg()):
            return [torn]
        for kind, place, want in (("round_opened", 0, "the first event"), ("round_settled", len(kinds) - 1, "the last event")):
            at = [number for number, each in enumerate(kinds) if each == kind]
            if kind == "round_opened" and at != [0]:
                return [_form_finding("round_opened", 0, f"round_opened of {self.stream.name}", f"{want}, once", f"at {at or 'no index'}")]
            if kind == "round_settled" and at and (len(at) > 1 or any(each in GAME_EVENTS for each in kinds[at[0] :])):
                return [
                    _form_finding(
                        "round_settled", place, f"round_settled of {self.stream.name}", f"{want} of the outcome, once", f"at {at}"
                    )
                ]
        return []

    def _torn_leg(self) -> Finding | None:
        """Return a finding where an append ends within a leg of the round: it was cut off where nobody may cut it."""
        last: ExportLine | None = None
        for line in self.stream.lines:
            if line.kind not in GAME_EVENTS:
                continue
            if last and line.append != last.append and line.kind != "spin_started" and last.kind != "choice_offered":
                where = f"first game event of append {line.append} of {self.stream.name}"
                return _form_finding("leg", line.event_index, where, "spin_started, or what follows a choice", line.kind)
            last = line
        return None


def _form_finding(code: str, index: int, where: str, want: object, got: object) -> Finding:
    return Finding(code, "integrity", index, -1, where, str(want), str(got), f"{where}: want {want}, got {got}")


def _check(name: CheckName, findings: list[Finding], reason: str, passed: str) -> Check:
    bad = [finding for finding in findings if finding.severity != "warning"]
    if bad:
        return Check(name, "fail", f"{len(bad)} finding{'s' if len(bad) > 1 else ''}, first: {bad[0].message}")
    if reason:
        return Check(name, "not_run", reason)
    return Check(name, "pass", passed)


def check_stream(
    stream: str,
    lines: list[ExportLine],
    rules_for: RulesFor,
    *,
    is_balance_shown: bool,
    before: Callable[[RoundOpened], LeftState | None] | None,
    is_state_followed: bool,
    are_legs_judged: bool,
) -> RoundCheck:
    """Return what the referee and the totals find in one round's stream; see `check_rounds`.

    `are_legs_judged` is False where the record's own checks say that its appends are not as they were written.

    `is_balance_shown` is False where other events moved the account meanwhile, or somebody follows the whole account.
    `before` looks for the round whose state this one starts from; where somebody follows the states of all rounds it is
    asked for those alone with which something is wrong; None takes the round for itself.
    """
    parsed = _Stream(stream, lines)
    opened = parsed.first(RoundOpened)
    followed = set() if is_balance_shown or opened is None else {opened[1].account_ref}
    found = _RoundPass(parsed, rules_for, followed, are_legs_judged=are_legs_judged)
    is_due = found.has_faults or not is_state_followed
    if before is not None and is_due and found.opened is not None and found.rules is not None and found.rules.first_state:
        found.hold_against(before(found.opened[1]))
    return found.result()
