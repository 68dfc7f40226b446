"""The forms of game events as lists of numbers, and what goes along an event's bytes by one: so plain that it can be compiled.

A form is made from the model of a kind. It lets through no bytes but the canonical ones (`record/1`, item 1) of an event with
just the fields of its kind, each of its type and within its limits; what it does not let through may still be right.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from engines.canonical import INTEGER_MAX, RecordedEvent, canonical_json

__all__ = ["KERNELS", "follows_form", "form_of"]

# What a form is made of: each is followed by what it says there, and a form ends with _END.
_END = 0
_BYTES = 1  # their number, and they
_INTEGER = 2  # its least and its greatest value
_LIST = 3  # those of each number in it
_LISTS = 4  # those of each number in each list in it
_ONE_OF = 5  # how many there are, and the number of bytes and the bytes of each: no one begins with another
_QUOTE, _COMMA, _MINUS, _ZERO, _OPEN, _CLOSE = b'",-0[]'
_DIGITS_MAX = len(str(INTEGER_MAX))


def _value_form(annotation: Any) -> list[int]:
    """Return the form of a field's value; raises TypeError for one that no game event has."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        texts = [canonical_json(part) for part in parts]
        return [_ONE_OF, len(texts), *(number for text in texts for number in (len(text), *text))]
    if origin is Annotated and parts[0] is int:
        given = [limit for field in parts[1:] for limit in field.metadata]
        limits = {name: getattr(limit, name) for limit in given for name in ("ge", "le") if hasattr(limit, name)}
        return [_INTEGER, max(limits["ge"], -INTEGER_MAX), min(limits["le"], INTEGER_MAX)]
    if origin is tuple:
        code, *limits_ = _value_form(parts[0])
        if code in (_INTEGER, _LIST):
            return [code + 1, *limits_]
    raise TypeError(f"no form for {annotation}")


def form_of(model: type[RecordedEvent]) -> list[int]:
    """Return the form of the events of a model, whose fields are integers, lists of them at most two deep, and texts of a few.

    Raises TypeError for a model with another field.
    """
    hints = get_type_hints(model, include_extras=True)
    form: list[int] = []
    for number, name in enumerate(sorted(model.model_fields)):
        before = b"{,"[number > 0 :][:1] + canonical_json(name) + b":"
        form += [_BYTES, len(before), *before, *_value_form(hints[name])]
    return [*form, _BYTES, 1, *b"}", _END]


def _follow_bytes(data: Sequence[int], place: int, end: int, form: Sequence[int], step: int, count: int) -> int:
    """Return the place behind the `count` bytes that stand in a form from `step` on, -1 where they are not the event's."""
    if end - place < count:
        return -1
    for i in range(count):
        if data[place + i] != form[step + i]:
            return -1
    return place + count


def _follow_integer(data: Sequence[int], place: int, end: int, least: int, greatest: int) -> int:
    """Return the place behind an integer, -1 where none stands there, or one with zeros before it, or out of its limits."""
    sign = 1
    if place < end and data[place] == _MINUS:
        sign, place = -1, place + 1
    start, value = place, 0
    while place < end and place - start <= _DIGITS_MAX and 0 <= data[place] - _ZERO <= 9:
        value = value * 10 + (data[place] - _ZERO)
        place += 1
    count = place - start
    if count == 0 or count > _DIGITS_MAX or (data[start] == _ZERO and (count > 1 or sign < 0)):
        return -1
    return place if least <= sign * value <= greatest else -1


def _follow_list(data: Sequence[int], place: int, end: int, least: int, greatest: int) -> int:
    """Return the place behind a list of integers, -1 where none stands there."""
    if end - place < 2 or data[place] != _OPEN:
        return -1
    if data[place + 1] == _CLOSE:
        return place + 2
    while True:
        place = _follow_integer(data, place + 1, end, least, greatest)
        if place < 0 or place >= end:
            return -1
        if data[place] == _CLOSE:
            return place + 1
        if data[place] != _COMMA:
            return -1


def _follow_lists(data: Sequence[int], place: int, end: int, least: int, greatest: int) -> int:
    """Return the place behind a list of lists of integers, -1 where none stands there."""
    if end - place < 2 or data[place] != _OPEN:
        return -1
    if data[place + 1] == _CLOSE:
        return place + 2
    while True:
        place = _follow_list(data, place + 1, end, least, greatest)
        if place < 0 or place >= end:
            return -1
        if data[place] == _CLOSE:
            return place + 1
        if data[place] != _COMMA:
            return -1


def _follow_one_of(data: Sequence[int], place: int, end: int, form: Sequence[int], step: int) -> int:
    """Return the place behind the one of some texts that stands there, -1 where none of them does."""
    found, at = -1, step + 2
    for _ in range(form[step + 1]):
        if found < 0:
            found = _follow_bytes(data, place, end, form, at + 1, form[at])
        at += 1 + form[at]
    return found


def follows_form(data: Sequence[int], end: int, form: Sequence[int], step: int) -> bool:
    """Return whether the first `end` bytes of `data` are an event of the form that begins at `step` in `form`, for certain."""
    place = 0
    while form[step] != _END:
        code = form[step]
        if code == _BYTES:
            place = _follow_bytes(data, place, end, form, step + 2, form[step + 1])
            step += 2 + form[step + 1]
        elif code == _ONE_OF:
            place = _follow_one_of(data, place, end, form, step)
            count = form[step + 1]
            step += 2
            for _ in range(count):
                step += 1 + form[step]
        else:
            if code == _INTEGER:
                place = _follow_integer(data, place, end, form[step + 1], form[step + 2])
            elif code == _LIST:
                place = _follow_list(data, place, end, form[step + 1], form[step + 2])
            else:
                place = _follow_lists(data, place, end, form[step + 1], form[step + 2])
            step += 3
        if place < 0:
            return False
    return place == end


KERNELS = (_follow_bytes, _follow_integer, _follow_list, _follow_lists, _follow_one_of, follows_form)
