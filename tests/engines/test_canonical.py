"""Canonical bytes: RFC 8785 for the values that events hold, and nothing else is accepted."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import INTEGER_MAX, CanonicalFormError, canonical_bytes, canonical_json, strict_values
from engines.game_events import SpinEnded, Win, parse_game_event

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
KEYS = st.text(st.characters(codec="ascii"), max_size=8)
VALUES = st.recursive(
    st.integers(-INTEGER_MAX, INTEGER_MAX) | TEXTS | st.booleans(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
WIN = Win(symbol=4, line=-1, count=8, cells=tuple(range(8)), ways=1, pay_x100=100, multiplier=1, win_minor=200)
DATA = canonical_bytes(WIN)


@given(VALUES)
def test_canonical_json_is_that_of_rfc_8785(value: Any) -> None:
    """For integers, strings, booleans, arrays and objects with ASCII keys the form is the rfc8785 package's."""
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (DATA.replace(b'"count":8', b'"count": 8'), "keys unsorted, spaces"),
        (DATA.replace(b'"count":8,', b""), "count: Field required"),
        (DATA.replace(b'"count":8', b'"count":8,"extra":1'), "extra: Extra inputs are not permitted"),
        (DATA.replace(b'"count":8', b'"count":8.0'), "count: Input should be a valid integer"),
        (DATA.replace(b'"count":8', b'"count":"8"'), "count: Input should be a valid integer"),
        (DATA.replace(b'"count":8', b'"count":true'), "count: Input should be a valid integer"),
        (DATA.replace(b'"win_minor":200', b'"win_minor":9007199254740992'), "win_minor: Input should be less than or equal to"),
        (DATA.replace(b'"v":1', b'"v":2'), "v: Input should be 1"),
        (b'{"kind":"win","v":1}', "Field required"),
        (b"[]", "Input should be an object"),
        (b"\xff", "the bytes: Invalid JSON"),
        (DATA[:-1], "EOF"),
    ],
)
def test_other_forms_are_refused_with_their_reason(data: bytes, reason: str) -> None:
    """Bytes that are no canonical win of version 1 raise with what is wrong."""
    with pytest.raises(CanonicalFormError) as caught:
        parse_game_event("win", data)
    assert reason in str(caught.value)
    assert str(caught.value).startswith("event bytes: want Win in canonical form, got b")


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    """A kind of a newer program is named together with those that are known."""
    with pytest.raises(CanonicalFormError, match="want one of spin_started, drop, win"):
        parse_game_event("meteor", DATA)


def test_keys_are_sorted_and_every_field_is_there() -> None:
    """The bytes of an event are pinned: on disk for ever."""
    event = SpinEnded(spin_multiplier=1, cut_minor=0, award_minor=5, total_minor=5, meter=0)
    want = b'{"award_minor":5,"cut_minor":0,"kind":"spin_ended","meter":0,"spin_multiplier":1,"total_minor":5,"v":1}'
    assert canonical_bytes(event) == want


OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)
OTHERS = st.recursive(VALUES | st.none() | st.floats(allow_nan=False), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(OBJECTS)
def test_strict_values_reads_what_was_written(values: dict[str, Any]) -> None:
    """The canonical form of any object of integers, strings, booleans, arrays and objects is read back."""
    assert strict_values(canonical_json(values)) == values


@given(OBJECTS, KEYS, OTHERS)
def test_strict_values_refuses_floats_and_null(values: dict[str, Any], key: str, other: Any) -> None:
    """An object that holds a float or null anywhere is refused, whatever its form."""
    import json

    import orjson

    values[key] = other
    data = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    is_plain = not _holds_other(other)
    assert (strict_values(data) is not None) == is_plain
    # The same written as the library writes it, which the round trip alone would not tell.
    assert (strict_values(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)) is not None) == is_plain


def _holds_other(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_other, value.values()))
    return any(map(_holds_other, value)) if isinstance(value, list) else value is None or isinstance(value, float)


@given(OBJECTS.filter(bool), st.data())
def test_strict_values_refuses_any_other_form(values: dict[str, Any], draw: st.DataObject) -> None:
    """A space, a byte taken out or put in gives another object or none, never the same one in another form."""
    data = canonical_json(values)
    place = draw.draw(st.integers(0, len(data)))
    byte = bytes([draw.draw(st.integers(0, 255))])
    for other in (data[:place] + byte + data[place:], data[: max(place - 1, 0)] + data[place:]):
        read = strict_values(other)
        assert other == data or read is None or canonical_json(read) == other


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[]", b"1", b"null", b'{"a":1.0}', b'{"a":null}', b'{"a":-0}', b'{"a":1,"a":1}', b'{"b":1,"a":1}', b'{"a": 1}'),
        *(b'{"a":1e-7}', b'{"a":1e+16}', b'{"a":1e16}', b'{"a":[1e300]}', b'{"a":9007199254740992}', b'{"a":-9007199254740992}'),
    ],
)
def test_strict_values_refuses_what_is_no_canonical_object(data: bytes) -> None:
    """Other values, floats, null, repeated and unsorted keys and spaces are refused."""
    assert strict_values(data) is None
