"""A recorded round as a report, with what the referee and the totals say of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from audit_reports.round_reader import NOT_SETTLED, Played, build_report
from audit_reports.round_report import RoundReport
from engines.canonical import CanonicalFormError
from engines.rules import load_rules
from ledger.address import LedgerPlace
from ledger.codec import is_game_topic, parse_event
from ledger.errors import LedgerError, RoundUnknown
from ledger.lifecycle_events import ChoiceMade, RoundOpened, RoundSettled, RoundVoided
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM
from replay.disputes import RoundDisputes
from replay.life_notes import life_notes
from replay.own_stream import OwnStream
from replay.profile_rules import recorded_life
from replay.recorded_round import check_record_events
from replay.rulebook import Rulebook
from replay.verdict import Finding

__all__ = ["RoundNotShownError", "read_report"]


class RoundNotShownError(Exception):
    """A round cannot be drawn: its opening cannot be read, or its rules are not at hand."""

    def __init__(self, round_id: str, reason: str) -> None:
        super().__init__(round_id, reason)
        self.round_id, self.reason = round_id, reason

    def __str__(self) -> str:
        mend = f"`audit verify --round {self.round_id}` says what stands there"
        return f"picture of round {self.round_id}: want its opening and its rules, got {self.reason}; {mend}"


def read_report(path: LedgerPlace, wanted: str, rules_file: Path | None) -> tuple[RoundReport, Sequence[Finding]]:
    """Return the report of a round and its findings; events that cannot be read are left out and are findings.

    Raises RoundUnknown, RoundAmbiguous, RoundNotShownError, and as `RoundLedger.open_for_reading`.
    """
    rulebook = Rulebook(load_rules(rules_file) if rules_file else None)
    ledger = RoundLedger.open_for_reading(path)
    try:
        round_id = ledger.find_round(wanted)
        # Without its audit paths: a round is shown whatever has become of the tree, which is for `verify` to judge.
        (record,) = ledger.store.records_of([ROUND_STREAM + round_id])
        disputed = RoundDisputes(ledger, OwnStream(ledger)).notes(round_id)
    finally:
        ledger.close()
    if not record.events:
        raise RoundUnknown(round_id, "it has no events")
    opened: RoundOpened | None = None
    settled: RoundSettled | None = None
    events: list[tuple[int, Played]] = []
    for row in record.events:
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):
            continue
        if isinstance(event, RoundOpened):
            opened = event
        elif isinstance(event, RoundSettled):
            settled = event
        elif is_game_topic(row.topic) or isinstance(event, ChoiceMade):
            events.append((row.version - 1, cast(Played, event)))
    if opened is None:
        raise RoundNotShownError(round_id, "no opening that can be read")
    try:
        rules = rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
    except LookupError as error:
        raise RoundNotShownError(round_id, str(error)) from error
    report = build_report(round_id, opened, settled, events, rules)
    life = recorded_life(record, opened, settled)
    is_void = isinstance(life.last, RoundVoided)
    notes = [note for note in report.notes if not (is_void and note == NOT_SETTLED)]
    report = report._replace(notes=(*notes, *life_notes(life), *disputed), is_void=is_void)
    return report, check_record_events(record, rulebook.find, is_balance_shown=False).findings
