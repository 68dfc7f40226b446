"""Between stored rows and models: which topic is which model, and the mapper that the eventsourcing library calls.

Reading in bulk goes past this: it compares bytes and decodes what differs.
"""

from typing import NamedTuple

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder

from engines.canonical import RecordedEvent, canonical_bytes
from engines.game import EventBytes
from engines.game_events import GAME_EVENTS, parse_game_event
from ledger.errors import TopicMismatch
from ledger.lifecycle_events import LIFECYCLE_EVENTS, parse_lifecycle_event
from ledger.store import EventRow

__all__ = ["LedgerMapper", "StreamEvent", "event_bytes", "is_game_topic", "parse_event", "topic_of"]


class StreamEvent(NamedTuple):
    """An event at its place in a stream: what `RoundLedger.save` takes and `RoundLedger.events.get` gives."""

    originator_id: str
    originator_version: int
    event: RecordedEvent


def topic_of(event: RecordedEvent) -> str:
    """Return `<kind>/<v>`, which stays when classes move or are renamed."""
    return f"{event.kind}/{event.v}"


def event_bytes(event: RecordedEvent) -> EventBytes:
    """Return topic and canonical bytes of an event."""
    return EventBytes(topic_of(event), canonical_bytes(event))


def is_game_topic(topic: str) -> bool:
    """Return whether an event of this topic is made by an engine."""
    return topic.partition("/")[0] in GAME_EVENTS


def parse_event(row: EventRow) -> RecordedEvent:
    """Return the event in a row; raises TopicMismatch, or CanonicalFormError where the bytes are not what the topic says."""
    kind = row.topic.partition("/")[0]
    if kind in LIFECYCLE_EVENTS:
        event = parse_lifecycle_event(kind, row.data)
    elif kind in GAME_EVENTS:
        event = parse_game_event(kind, row.data)
    else:
        raise TopicMismatch(row.stream, row.version, "a known kind", row.topic[:80])
    if topic_of(event) != row.topic:
        raise TopicMismatch(row.stream, row.version, topic_of(event), row.topic[:80])
    return event


class _NoTranscoder(Transcoder):
    """The library's mapper asks for one; our bytes are canonical JSON and come from `canonical_bytes` alone."""

    def encode(self, obj: object) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> object:
        raise NotImplementedError


class LedgerMapper(Mapper[str]):
    """Maps validated events to canonical bytes and back; neither compresses nor encrypts."""

    def __init__(self) -> None:
        super().__init__(_NoTranscoder())

    def to_stored_event(self, domain_event: DomainEventProtocol[str]) -> StoredEvent:
        """Return the row of a StreamEvent."""
        if not isinstance(domain_event, StreamEvent):
            raise TypeError(f"want a StreamEvent, got {type(domain_event).__name__}")
        topic, state = event_bytes(domain_event.event)
        return StoredEvent(domain_event.originator_id, domain_event.originator_version, topic, state)

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[str]:
        """Return the StreamEvent in a row; raises as `parse_event`."""
        stream, version = str(stored_event.originator_id), stored_event.originator_version
        return StreamEvent(stream, version, parse_event(EventRow(stream, version, stored_event.topic, stored_event.state)))
