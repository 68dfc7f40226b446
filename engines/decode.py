"""Event buffer to events, and to the canonical bytes that are recorded.

`decode` makes models in plain Python. `CanonicalWriter` makes the same bytes from the same integers with a kernel, for
many rounds: it is led by tables that are drawn from the models, so a field is named once.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from engines.canonical import RecordedEvent
from engines.event_buffer import RoundBuffer
from engines.game_events import GAME_EVENTS
from engines.jit import arrays_of, compiled, kernel

__all__ = ["CanonicalWriter", "decode", "write_canonical"]

INTEGER, INTEGERS, LISTS, WORD = 0, 1, 2, 3
DIGITS_MAX = 20
FIELDS_MAX = 16


class Field(NamedTuple):
    """How one field of an event lies in the buffer."""

    name: str
    form: int  # INTEGER, INTEGERS, LISTS or WORD
    words: tuple[str, ...]  # of a WORD


class EventShape(NamedTuple):
    """The fields of one kind of event in buffer order."""

    model: type[RecordedEvent]
    fields: tuple[Field, ...]


def _field(name: str, annotation: Any) -> Field:
    if get_origin(annotation) is Literal:
        return Field(name, WORD, get_args(annotation))
    if get_origin(annotation) is tuple:
        form = LISTS if get_origin(get_args(annotation)[0]) is tuple else INTEGERS
        return Field(name, form, ())
    return Field(name, INTEGER, ())


@cache
def event_shapes() -> tuple[EventShape, ...]:
    """Return the shape of every kind of game event, in the order of their codes from 1."""
    shapes = []
    for model in GAME_EVENTS.values():
        fields = [_field(name, part.annotation) for name, part in model.model_fields.items() if name not in ("kind", "v")]
        shapes.append(EventShape(model, tuple(fields)))
    return tuple(shapes)


def _read_list(events: Sequence[int], place: int) -> tuple[tuple[int, ...], int]:
    end = place + 1 + int(events[place])
    return tuple(int(item) for item in events[place + 1 : end]), end


def _read_field(field: Field, events: Sequence[int], place: int) -> tuple[Any, int]:
    if field.form == INTEGERS:
        return _read_list(events, place)
    if field.form == LISTS:
        lists = []
        count = int(events[place])
        place += 1
        for _ in range(count):
            items, place = _read_list(events, place)
            lists.append(items)
        return tuple(lists), place
    value = int(events[place])
    return (field.words[value] if field.form == WORD else value), place + 1


def decode(events: Sequence[int], word_count: int) -> Iterator[RecordedEvent]:
    """Yield the game events in the first `word_count` integers of a buffer's events, validated."""
    shapes = event_shapes()
    place = 0
    while place < word_count:
        shape = shapes[int(events[place]) - 1]
        end = place + 2 + int(events[place + 1])
        place += 2
        values = {}
        for field in shape.fields:
            values[field.name], place = _read_field(field, events, place)
        assert place == end, f"{shape.model.__name__} in the buffer: want an end at {end}, got {place}"
        yield shape.model(**values)


class WriterTables(NamedTuple):
    """The models as integers: what is written for each event, in the order of sorted keys."""

    text: list[int]  # bytes of all literal pieces
    piece_starts: list[int]  # a piece is text[start:next start]
    first_pieces: list[int]  # for each code, its first piece; piece i of an event comes before its i-th value
    value_fields: list[int]  # parallel to pieces: which field follows, -1 after the last piece
    forms: list[int]  # for each code, FIELDS_MAX forms in buffer order
    field_counts: list[int]
    word_pieces: list[int]  # for each code and field, the piece of its first word


def _writer_tables() -> WriterTables:
    tables = WriterTables([], [0], [], [], [], [], [])

    def add_piece(text: str, field: int) -> None:
        tables.text.extend(text.encode())
        tables.piece_starts.append(len(tables.text))
        tables.value_fields.append(field)

    for (kind, model), shape in zip(GAME_EVENTS.items(), event_shapes(), strict=True):
        places = {field.name: i for i, field in enumerate(shape.fields)}
        tables.first_pieces.append(len(tables.value_fields))
        text = "{"
        for name in sorted(model.model_fields):
            if name in places:
                add_piece(f'{text}"{name}":', places[name])
                text = ","
            else:
                text += f'"{name}":"{kind}",' if name == "kind" else f'"{name}":{model.model_fields[name].default},'
                text = text if name != sorted(model.model_fields)[-1] else text[:-1]
        add_piece(("" if text == "," else text) + "}", -1)
        padding = [0] * (FIELDS_MAX - len(shape.fields))
        tables.forms.extend([field.form for field in shape.fields] + padding)
        tables.field_counts.append(len(shape.fields))
    for shape in event_shapes():
        for field in shape.fields + (Field("", INTEGER, ()),) * (FIELDS_MAX - len(shape.fields)):
            tables.word_pieces.append(len(tables.value_fields))
            for word in field.words:
                add_piece(f'"{word}"', -1)
    return tables


@kernel
def write_integer(value: int, out: list[int], place: int) -> int:
    """Write `value` in decimal at out[place]; return the place after it."""
    if value < 0:
        out[place] = 45
        place += 1
        value = -value
    if value < 10:
        out[place] = 48 + value
        return place + 1
    end = place + 1
    rest = value // 10
    while rest > 0:
        rest //= 10
        end += 1
    for back in range(end - 1, place - 1, -1):
        out[back] = 48 + value % 10
        value //= 10
    return end


@kernel
def write_piece(tables: WriterTables, piece: int, out: list[int], place: int) -> int:
    """Write a literal piece at out[place]; return the place after it."""
    start = tables.piece_starts[piece]
    length = tables.piece_starts[piece + 1] - start
    for i in range(length):
        out[place + i] = tables.text[start + i]
    return place + length


@kernel
def write_list(events: list[int], at: int, out: list[int], place: int) -> int:
    """Write the list at events[at] (length, items) at out[place]; return the place after it."""
    out[place] = 91
    place += 1
    for i in range(events[at]):
        if i > 0:
            out[place] = 44
            place += 1
        place = write_integer(events[at + 1 + i], out, place)
    out[place] = 93
    return place + 1


@kernel
def write_value(tables: WriterTables, slot: int, events: list[int], at: int, out: list[int], place: int) -> int:
    """Write the field of `slot` (code and field) that lies at events[at]; return the place after it."""
    form = tables.forms[slot]
    if form == INTEGER:
        return write_integer(events[at], out, place)
    if form == WORD:
        return write_piece(tables, tables.word_pieces[slot] + events[at], out, place)
    if form == INTEGERS:
        return write_list(events, at, out, place)
    out[place] = 91
    place += 1
    count = events[at]
    at += 1
    for i in range(count):
        if i > 0:
            out[place] = 44
            place += 1
        place = write_list(events, at, out, place)
        at += 1 + events[at]
    out[place] = 93
    return place + 1


@kernel
def find_fields(tables: WriterTables, code: int, events: list[int], place: int, starts: list[int]) -> None:
    """Write where each field of the record at events[place] begins into `starts`."""
    for field in range(tables.field_counts[code]):
        starts[field] = place
        form = tables.forms[code * FIELDS_MAX + field]
        if form == INTEGERS:
            place += events[place]
        elif form == LISTS:
            count = events[place]
            for _ in range(count):
                place += 1 + events[place + 1]
        place += 1


@kernel
def write_canonical(tables: WriterTables, events: list[int], word_count: int, out: list[int], ends: list[int], starts: list[int]) -> int:
    """Write the canonical bytes of all events in events[:word_count], one after the other; return how many there are.

    out: large enough (DIGITS_MAX bytes a word). ends: for each event, its code and the place after its bytes.
    starts: FIELDS_MAX places of work space.
    """
    at = 0
    place = 0
    event_count = 0
    while at < word_count:
        code = events[at] - 1
        find_fields(tables, code, events, at + 2, starts)
        piece = tables.first_pieces[code]
        place = write_piece(tables, piece, out, place)
        while tables.value_fields[piece] >= 0:
            field = tables.value_fields[piece]
            place = write_value(tables, code * FIELDS_MAX + field, events, starts[field], out, place)
            piece += 1
            place = write_piece(tables, piece, out, place)
        ends[2 * event_count] = code
        ends[2 * event_count + 1] = place
        event_count += 1
        at += 2 + events[at + 1]
    return event_count


class CanonicalWriter:
    """Writes the canonical bytes of a compiled round's events; one for a thread, its space grows with the buffer."""

    def __init__(self) -> None:
        self._tables = arrays_of(_writer_tables())
        self._write = compiled(write_canonical)
        self._kinds = [f"{kind}/1" for kind in GAME_EVENTS]
        self._resize(0)

    def _resize(self, event_words: int) -> None:
        import numpy

        self._out = numpy.zeros(event_words * DIGITS_MAX + 1024, dtype=numpy.uint8)
        self._ends = numpy.zeros(event_words + 16, dtype=numpy.int64)
        self._starts = numpy.zeros(FIELDS_MAX, dtype=numpy.int64)
        self._event_words = event_words

    def write(self, buffer: RoundBuffer, word_count: int) -> list[tuple[str, bytes]]:
        """Return topic and canonical bytes of each event in the first `word_count` integers of the buffer's events."""
        if len(buffer.events) > self._event_words:
            self._resize(len(buffer.events))
        count = self._write(self._tables, buffer.events, word_count, self._out, self._ends, self._starts)
        places = self._ends[: 2 * count].tolist()
        text = self._out[: places[-1]].tobytes() if count else b""
        pairs = []
        start = 0
        for i in range(count):
            end = places[2 * i + 1]
            pairs.append((self._kinds[places[2 * i]], text[start:end]))
            start = end
        return pairs
