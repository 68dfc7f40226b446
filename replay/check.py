"""`audit check`: the referee and the totals on exported event streams, outside any ledger.

A line of the file is one event with its place in its stream. What such a file cannot show (the record's proofs, the
seed, a rerun, what the player saw) is said to be not shown.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError

from engines.canonical import RecordedEvent, canonical_json
from engines.game_events import GAME_EVENTS, GameEvent
from engines.rules import GameRules
from ledger.lifecycle_events import LIFECYCLE_EVENTS, AccountOpened, FundsMoved, RoundOpened, RoundSettled
from replay.reconcile import AccountFact, bet_is_allowed, check_digests, cost_options, reconcile_account, reconcile_round, win_options
from replay.referee.walk import RoundTotals, RoundWalk, walk_round
from replay.verdict import Check, CheckName, Finding

__all__ = [
    "ExportLine",
    "ExportLineError",
    "FileCheck",
    "RoundCheck",
    "RulesFor",
    "StreamFinding",
    "check_rounds",
    "check_stream",
    "parse_export",
]

RulesFor = Callable[[str, str, str], GameRules]
ROUND_PREFIX = "round/"
ACCOUNT_PREFIX = "account/"
FOUND_MAX = 60
# Kinds of `record/1` that say nothing about outcome or totals; they have no model yet.
KINDS_PASSED_OVER = frozenset(
    {"choice_made", "round_interrupted", "round_resumed", "round_voided", "presentation_sent", "presentation_acked"}
)
# A value of the right type outside its range: the event can still be walked.
VALUE_ERRORS = frozenset(
    {"greater_than_equal", "less_than_equal", "literal_error", "string_pattern_mismatch", "string_too_long", "extra_forbidden"}
)
NOT_SHOWN: tuple[tuple[CheckName, str], ...] = (
    ("record", "the file holds no proofs; verify the round against its ledger"),
    ("seed", "the file holds no seed or round key"),
    ("replay", "the file holds no key to rerun the round from"),
    ("presentation", "the file holds no record of what the player was shown"),
)


class ExportLineError(Exception):
    """A line of an export is damaged, cut short or no line of an export."""

    def __init__(self, line: int, want: str, got: str) -> None:
        super().__init__(line, want, got)
        self.line, self.want, self.got = line, want, got

    def __str__(self) -> str:
        return f"line {self.line} of the export: want {self.want}, got {self.got}; export the round again, or restore the file"


class ExportLine(NamedTuple):
    """One event of an export, as it stands there."""

    line: int
    stream: str
    event_index: int
    append: int
    recorded_at: int
    event: dict[str, Any]
    data: bytes  # canonical

    @property
    def kind(self) -> str:
        """The event's kind, empty where it has none that is a word."""
        kind = self.event.get("kind")
        return kind if isinstance(kind, str) else ""


class RoundCheck(NamedTuple):
    """What was found in one round; `opened` and `settled` are None where the file has no such event."""

    round_id: str
    findings: list[Finding]
    checks: list[Check]
    opened: RoundOpened | None
    settled: RoundSettled | None


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
            if self.name.startswith(ROUND_PREFIX) and kind not in KINDS_PASSED_OVER:
                self._note(line, "event kind", "a kind of this record", _short(line.event.get("kind")))
                self.is_whole = False
            return
        try:
            self.events.append((line, model.model_validate_json(line.data)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the event"
            self._note(line, f"{kind} field {where}", first["msg"], _short(first.get("input")))
            event = _as_it_stands(model, line.event, error)
            if event is None:
                self.is_whole = False
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


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= FOUND_MAX else text[:FOUND_MAX] + "…"


def _as_it_stands(model: type[RecordedEvent], fields: dict[str, Any], error: ValidationError) -> RecordedEvent | None:
    """Return the event with its wrong values where only ranges are broken, else None."""
    if any(each["type"] not in VALUE_ERRORS for each in error.errors(include_url=False)):
        return None
    values = {name: _as_tuple(fields[name]) for name in model.model_fields if name in fields}
    return model.model_construct(**values)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def parse_export(lines: Iterable[str]) -> dict[str, list[ExportLine]]:
    """Return the lines of an export by stream, in the order of the file; raises ExportLineError for a damaged one.

    Members of a line beside the six that every line has (`names`, `schema`) are no evidence and passed over, as are
    empty lines and a summary line without an event.
    """
    streams: dict[str, list[ExportLine]] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        line = _parse_line(number, text)
        if line is not None:
            streams.setdefault(line.stream, []).append(line)
    return streams


def _parse_line(number: int, text: str) -> ExportLine | None:
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ExportLineError(number, "one JSON object", _short(text.strip())) from error
    if not isinstance(values, dict):
        raise ExportLineError(number, "one JSON object", _short(values))
    if "event" not in values and "schema" in values:
        return None
    wanted: tuple[tuple[str, type], ...] = (("stream", str), ("index", int), ("append", int), ("recorded_at", int), ("event", dict))
    for name, kind in wanted:
        if name not in values:
            raise ExportLineError(number, f"the member {name!r}", "none of that name")
        if not isinstance(values[name], kind) or isinstance(values[name], bool):
            raise ExportLineError(number, f"{kind.__name__} as {name!r}", _short(values[name]))
    try:
        data = canonical_json(values["event"])
    except ValueError as error:
        raise ExportLineError(number, "an event of integers, strings, booleans, arrays and objects", _short(text.strip())) from error
    return ExportLine(number, values["stream"], values["index"], values["append"], values["recorded_at"], values["event"], data)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


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


class _RoundPass:
    """One round on its way through the checks."""

    def __init__(self, stream: _Stream, rules_for: RulesFor, followed: set[str], *, is_file: bool = False) -> None:
        self.stream = stream
        self.is_file = is_file  # a ledger's open round is in play; a file that ends before the settlement may be cut off
        self.round_id = stream.name.removeprefix(ROUND_PREFIX)
        self.opened: tuple[int, RoundOpened] | None = stream.first(RoundOpened)
        self.settled: tuple[int, RoundSettled] | None = stream.first(RoundSettled)
        self.reason = ""  # why referee and totals are not run
        self.walk = RoundWalk([], RoundTotals((), (), (), ()))
        self.rules: GameRules | None = None
        self.totals: list[Finding] = []
        self._form = stream.broken
        self._find_rules(rules_for)
        if self.rules is not None and self.opened is not None:
            self._walk(self.rules, self.opened[1])
            is_alone = self.opened[1].account_ref not in followed and not self._is_interrupted()
            self.add_totals(reconcile_round(self.opened, self.settled, self.walk.totals, self.rules, is_balance_shown=is_alone))

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

    def _walk(self, rules: GameRules, opened: RoundOpened) -> None:
        """Walk the round by its mode and bet; where its cost contradicts them also by those that the cost tells."""
        events: list[tuple[int, GameEvent]] = [(line.event_index, event) for line, event in self.stream.events if event.kind in GAME_EVENTS]  # type: ignore[misc]
        if self.is_file and self.settled is None:
            ends = [place for place, (_, event) in enumerate(events) if event.kind == "spin_ended"]
            events = events[: ends[-1] + 1] if ends else []  # the spin that the file ends in is not to be judged
        walks = [
            walk_round(events, rules, mode=mode, bet_minor=bet, is_complete=self.settled is not None)
            for mode, bet in _modes_and_bets(rules, opened)
        ]
        self.walk = min(walks, key=lambda walk: sum(finding.severity != "warning" for finding in walk.findings))

    def cut_finding(self) -> list[Finding]:
        """Return one finding where a file ends before the round's settlement."""
        if not self.is_file or self.settled is not None or self.opened is None:
            return []
        last = self.stream.lines[-1]
        got = f"the end of the file after event {last.event_index}, {last.event.get('kind')}"
        message = f"end of {self.stream.name}: want round_settled, got {got}; the round is in play or the file was cut off"
        return [Finding("not_settled", "completeness", last.event_index, -1, "end of the round", "round_settled", got, message)]

    def add_totals(self, findings: list[Finding]) -> None:
        """Add findings of the totals; those about an event whose form is wrong are of the same cause."""
        self.totals += [finding for finding in findings if finding.event_index not in self._form]

    def account_facts(self) -> list[tuple[int, int, AccountFact]]:
        """Return what the round did to its account, each with when it was recorded and its line."""
        facts = []
        for line, event in self.stream.events:
            if isinstance(event, RoundOpened):
                amounts = cost_options(event, self.rules) if self.rules else ()
            elif isinstance(event, RoundSettled):
                amounts = win_options(event, self.walk.totals)
            else:
                continue
            facts.append((line.recorded_at, line.line, AccountFact(self.round_id, line.event_index, event, amounts)))
        return facts

    def result(self) -> RoundCheck:
        """Return the round's findings and checks; order, gaps and digests are looked at last."""
        by_referee = [finding for finding in self.walk.findings if finding.event_index not in self._form]
        findings = self.stream.findings + by_referee + self.totals + self.cut_finding()
        if all(finding.severity in ("warning", "completeness") for finding in findings):
            last = self._check_form()
            if not last and self.settled is not None:
                before = [(line.kind, line.data) for line in self.stream.lines if line.event_index < self.settled[0]]
                last = check_digests(self.settled, before)
            self.totals += last
            findings += last
        findings.sort(key=lambda finding: finding.event_index)
        checks = [
            *(Check(name, "not_shown", why) for name, why in NOT_SHOWN[:3]),
            *self._own_checks(by_referee),
            Check(NOT_SHOWN[3][0], "not_shown", NOT_SHOWN[3][1]),
        ]
        return RoundCheck(
            self.round_id, findings, checks, self.opened[1] if self.opened else None, self.settled[1] if self.settled else None
        )

    def _own_checks(self, by_referee: list[Finding]) -> list[Check]:
        form = self.stream.findings
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

    def _is_game_event(self, index: int) -> bool:
        kind = next((line.kind for line in self.stream.lines if line.event_index == index), None)
        return kind not in LIFECYCLE_EVENTS

    def _totals_reason(self) -> str:
        return self.reason or ("" if self.settled is not None else "the round is not settled")

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


def _form_finding(code: str, index: int, where: str, want: object, got: object) -> Finding:
    return Finding(code, "integrity", index, -1, where, str(want), str(got), f"{where}: want {want}, got {got}")


def _check(name: CheckName, findings: list[Finding], reason: str, passed: str) -> Check:
    bad = [finding for finding in findings if finding.severity != "warning"]
    if bad:
        return Check(name, "fail", f"{len(bad)} finding{'s' if len(bad) > 1 else ''}, first: {bad[0].message}")
    if reason:
        return Check(name, "not_run", reason)
    return Check(name, "pass", passed)


def _modes_and_bets(rules: GameRules, opened: RoundOpened) -> list[tuple[str, int]]:
    """Return mode and bet as recorded and, where the cost contradicts them, every pair that the cost agrees with."""
    found = [(opened.mode, opened.bet_minor)]
    is_known = rules.mode(opened.mode) is not None
    if is_known and bet_is_allowed(rules, opened.bet_minor) and rules.cost_minor(opened.mode, opened.bet_minor) == opened.cost_minor:
        return found
    for mode in rules.modes:
        bet, rest = divmod(opened.cost_minor * 100, mode.cost_x100)
        if rest == 0 and bet_is_allowed(rules, bet) and (mode.name == opened.mode or bet == opened.bet_minor or not is_known):
            found.append((mode.name, bet))
    return found


def check_stream(stream: str, lines: list[ExportLine], rules_for: RulesFor, *, is_balance_shown: bool) -> RoundCheck:
    """Return what the referee and the totals find in one round's stream; see `check_rounds`.

    `is_balance_shown` is False where other events moved the account meanwhile, or somebody follows the whole account.
    """
    parsed = _Stream(stream, lines)
    opened = parsed.first(RoundOpened)
    followed = set() if is_balance_shown or opened is None else {opened[1].account_ref}
    return _RoundPass(parsed, rules_for, followed).result()
