"""Canonical bytes of recorded events (`record/1`, item 1). On disk for ever: what is written here never changes."""

import json
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

__all__ = [
    "INTEGER_MAX",
    "CanonicalFormError",
    "Hash",
    "Integer",
    "Minor",
    "RecordedEvent",
    "canonical_bytes",
    "canonical_json",
    "is_plain",
    "reversible_values",
    "strict_values",
]

# RFC 8785 numbers are IEEE doubles: beyond this magnitude two integers may share one.
INTEGER_MAX = 2**53 - 1
_STRICT = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER  # refuses integers beyond INTEGER_MAX
_EXPONENT = orjson.dumps(1e16)[1:3]  # how it writes floats without a point; of small ones it is "e-"
_PLAIN, _NESTED = {int, str, bool}, {dict, list}
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

Integer = Annotated[int, Field(ge=-INTEGER_MAX, le=INTEGER_MAX)]
Minor = Annotated[int, Field(ge=0, le=INTEGER_MAX)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class CanonicalFormError(Exception):
    """Event bytes are no event of this specification, or not in its one canonical form."""

    def __init__(self, wanted: str, found: bytes, reason: str) -> None:
        super().__init__(wanted, found, reason)
        self.wanted, self.found, self.reason = wanted, found, reason

    def __str__(self) -> str:
        got = f"{self.found[:80]!r} ({self.reason})"
        return f"event bytes: want {self.wanted} in canonical form, got {got}; the record was altered or is of a newer version"


class RecordedEvent(BaseModel):
    """One fact of a stream; integers, strings, booleans, arrays and objects only."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    kind: str
    v: Literal[1] = 1

    @classmethod
    def parse(cls, data: bytes) -> "RecordedEvent":
        """Return the event that `data` is the canonical form of.

        Raises CanonicalFormError for bytes of another kind or version, a missing or unknown field, a value
        outside its range, or any form but the canonical one.
        """
        try:
            event = cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the bytes"
            raise CanonicalFormError(cls.__name__, data, f"{where}: {first['msg']}") from error
        if canonical_bytes(event) != data:
            raise CanonicalFormError(cls.__name__, data, "keys unsorted, spaces, or numbers and strings in another form")
        return event


def canonical_json(value: Any) -> bytes:
    """Return the RFC 8785 form of `value`, made of integers below 2^53, strings, booleans, arrays and objects."""
    return _ENCODER.encode(value).encode()


def strict_values(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that `data` is the canonical form of, None where it is none: floats, null, larger integers and
    other forms are refused.
    """
    values = reversible_values(data)
    return values if values is not None and (is_plain(data) or _is_of_the_record(values)) else None


def reversible_values(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that `data` is, None unless it comes back byte for byte: sorted, compact, integers below 2^53.

    What it may still hold are floats and null: see `is_plain`.
    """
    try:
        values = orjson.loads(data)
        is_same = orjson.dumps(values, option=_STRICT) == data
    except (ValueError, TypeError):
        return None
    return values if is_same and type(values) is dict else None


def is_plain(data: bytes) -> bool:
    """Return whether reversible values with these bytes, or many of them together, hold no float and no null for certain."""
    return b"." not in data and b"null" not in data and b"e-" not in data and _EXPONENT not in data


def _is_of_the_record(values: dict[str, Any] | list[Any]) -> bool:
    each = values.values() if isinstance(values, dict) else values
    others = set(map(type, each)) - _PLAIN
    if not others <= _NESTED:
        return False
    nested = [value for value in each if type(value) in _NESTED] if others else ()
    return all(_is_of_the_record(value) for value in nested if value)


def canonical_bytes(event: RecordedEvent) -> bytes:
    """Return the bytes of `event` that are stored and hashed (`record/1`, item 1)."""
    return canonical_json(event.model_dump())
