"""Event buffer to models and to bytes: two writers, one result."""

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import RecordedEvent, canonical_bytes
from engines.decode import CanonicalWriter, decode, event_shapes
from engines.game import EventBytes
from engines.game_events import GAME_EVENTS, parse_game_event
from engines.registry import installed_game

INTEGERS = st.integers(0, 2**31)
WRITER = CanonicalWriter()
BUFFER = installed_game("moonlight-princess").new_buffer(event_words=4096)


def field_values(form: int, words: tuple[str, ...]) -> st.SearchStrategy[Any]:
    if words:
        return st.sampled_from(words)
    lists = st.lists(INTEGERS, max_size=6).map(tuple)
    return (INTEGERS, lists, st.lists(lists, max_size=4).map(tuple))[form]


@st.composite
def events(draw: st.DrawFn) -> RecordedEvent:
    """Draw any game event."""
    shape = draw(st.sampled_from(event_shapes()))
    return shape.model(**{field.name: draw(field_values(field.form, field.words)) for field in shape.fields})


def to_words(event: RecordedEvent) -> list[int]:
    """Return the event as a kernel would write it, worked out from the model alone."""
    words: list[int] = []
    code = list(GAME_EVENTS).index(event.kind)
    for field in event_shapes()[code].fields:
        value = getattr(event, field.name)
        if field.words:
            words.append(field.words.index(value))
        elif isinstance(value, int):
            words.append(value)
        elif field.form == 1:
            words += [len(value), *value]
        else:
            words.append(len(value))
            for items in value:
                words += [len(items), *items]
    return [code + 1, len(words), *words]


@given(st.lists(events(), max_size=8))
def test_both_writers_and_the_decoder_agree(recorded: list[RecordedEvent]) -> None:
    """Any events, written as words, come back as the same models and as the same canonical bytes."""
    words = [word for event in recorded for word in to_words(event)]
    assert list(decode(words, len(words))) == recorded
    array = numpy.zeros(max(len(words), 1), dtype=numpy.int64)
    array[: len(words)] = words
    pairs = [EventBytes(*pair) for pair in WRITER.write(BUFFER._replace(events=array), len(words))]
    assert pairs == [EventBytes(f"{event.kind}/1", canonical_bytes(event)) for event in recorded]


@given(events())
def test_canonical_bytes_parse_back(event: RecordedEvent) -> None:
    """An event's canonical bytes are parsed to the event and no other."""
    assert parse_game_event(event.kind, canonical_bytes(event)) == event


@pytest.mark.parametrize("number", [0, 1, 9, 10, 99, 100, 2**31, 2**53 - 1, -1, -10, -(2**53) + 1])
def test_integers_are_written_in_decimal(number: int) -> None:
    """Integers of any size are written as JSON writes them."""
    from engines.decode import write_integer

    out = [0] * 20
    end = write_integer(number, out, 0)
    assert bytes(out[:end]).decode() == str(number)
