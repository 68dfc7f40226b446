"""Incidents: a malfunction in the six parts that GLI-19, B.2.1(e) asks for, recorded by two with the rounds that it concerns.

The texts are free and may hold personal data: they stand outside the tree, in it their salted hashes.
"""

# ruff: noqa: N818 - as in errors.py

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ledger.accounts import check_text
from ledger.approval import approval_of
from ledger.codec import event_bytes, parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import IncidentRecorded
from ledger.references import new_reference
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM, Store
from ledger.texts import salted_text

__all__ = [
    "INCIDENT_TEXTS",
    "ROUNDS_MAX",
    "TEXT_MAX",
    "Incident",
    "IncidentFileUnreadable",
    "IncidentReport",
    "IncidentUnknown",
    "find_incident",
    "incidents",
    "load_incident",
    "record_incident",
]

INCIDENT_TEXTS = ("cause", "review", "repair", "integrity", "reason", "recovery")
TEXT_MAX = 10_000
ROUNDS_MAX = 1000  # an event stays below the 65,535 bytes that a log of tiles takes
_ID_MIN = 8
_TOPIC = "incident_recorded/1"
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)
Words = Annotated[str, Field(min_length=1, max_length=TEXT_MAX)]


class IncidentFileUnreadable(LedgerError):
    """A file is no incident, or leaves out one of its parts."""

    exit_status = 4

    def __init__(self, path: str, where: str, reason: str) -> None:
        super().__init__(path, where, reason)
        self.path, self.where, self.reason = path, where, reason

    def __str__(self) -> str:
        return f"incident {self.path}, {self.where}: want one of its six parts, got {self.reason}; complete the file (GLI-19, B.2.1(e))"


class IncidentUnknown(LedgerError):
    """No incident is meant by this, or more than one."""

    exit_status = 2

    def __init__(self, wanted: str, count: int) -> None:
        super().__init__(wanted, count)
        self.wanted, self.count = wanted, count

    def __str__(self) -> str:
        return f"incident {self.wanted}: want one by its id or {_ID_MIN} characters of it, got {self.count}; see `audit incident list`"


class IncidentReport(BaseModel):
    """What a file says of an incident."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    cause: Words
    review: Words
    repair: Words
    integrity: Words
    began_at: AwareDatetime
    restored_at: AwareDatetime
    reason: Words
    is_recovered: bool
    recovery: Words
    rounds: Annotated[list[str], Field(max_length=ROUNDS_MAX)]


class Incident(NamedTuple):
    """A recorded incident, and the place of its event in the stream `ledger`, from 0."""

    event: IncidentRecorded
    event_index: int

    @property
    def text_hashes(self) -> dict[str, str]:
        """The hash of each of its texts, by name."""
        return {name: getattr(self.event, f"{name}_hash") for name in INCIDENT_TEXTS}


def load_incident(path: Path) -> IncidentReport:
    """Return the incident in a TOML file; raises IncidentFileUnreadable, TextInvalid."""
    try:
        report = IncidentReport.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise IncidentFileUnreadable(str(path), "the file", f"one that cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IncidentFileUnreadable(str(path), "the file", f"no TOML ({error})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise IncidentFileUnreadable(str(path), ".".join(map(str, first["loc"])) or "the file", first["msg"]) from error
    for name in INCIDENT_TEXTS:
        check_text(name, getattr(report, name).strip(), is_empty_allowed=False, length_max=TEXT_MAX)
    if not _EPOCH_START <= report.began_at <= report.restored_at:
        raise IncidentFileUnreadable(str(path), "restored_at", f"{report.restored_at}, before it began")
    return report


def record_incident(ledger: RoundLedger, report: IncidentReport, by: str, approved_by: str) -> IncidentRecorded:
    """Record an incident and return its event.

    by, approved_by: names of two people, kept beside the record and in it by salted hash. Needs a ledger opened for writing. Raises
    RoundUnknown, RoundAmbiguous, ApproverSame, TextInvalid, LedgerReadOnly, VersionConflict.
    """
    approval = approval_of(by, approved_by)
    version = len(ledger.store.stream_events(LEDGER_STREAM)) + 1
    round_ids = tuple(dict.fromkeys(ledger.find_round(wanted) for wanted in report.rounds))
    texts = {name: salted_text(getattr(report, name)) for name in INCIDENT_TEXTS}
    event = IncidentRecorded(
        incident_id=new_reference(),
        cause_hash=texts["cause"].text_hash,
        review_hash=texts["review"].text_hash,
        repair_hash=texts["repair"].text_hash,
        integrity_hash=texts["integrity"].text_hash,
        began_at_us=_microseconds(report.began_at),
        restored_at_us=_microseconds(report.restored_at),
        reason_hash=texts["reason"].text_hash,
        is_recovered=report.is_recovered,
        recovery_hash=texts["recovery"].text_hash,
        round_ids=round_ids,
        recorded_by_hash=approval.by.text_hash,
        approved_by_hash=approval.approved_by.text_hash,
        recorded_at_us=ledger.store.clock(),
    )
    ledger.store.append_events(LEDGER_STREAM, version, [event_bytes(event)], texts=[*texts.values(), *approval])
    return event


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH_START) // timedelta(microseconds=1)


def incidents(store: Store) -> list[Incident]:
    """Return the incidents in the order of the record; raises CanonicalFormError, TopicMismatch for altered events."""
    events = [(parse_event(row), row.version - 1) for row in store.stream_events(LEDGER_STREAM) if row.topic == _TOPIC]
    return [Incident(event, index) for event, index in events if isinstance(event, IncidentRecorded)]


def find_incident(store: Store, wanted: str) -> Incident:
    """Return the incident meant by an id or its first eight characters or more; raises IncidentUnknown, and as `incidents`."""
    found = [each for each in incidents(store) if len(wanted) >= _ID_MIN and each.event.incident_id.startswith(wanted)]
    if len(found) != 1:
        raise IncidentUnknown(wanted, len(found))
    return found[0]
