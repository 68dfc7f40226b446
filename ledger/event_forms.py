"""The one form of events, looked at many at a time by compiled readers and writers, and what is taken of an event.

The readers are made from the models of the events. What comes back from one byte for byte is an event in canonical form
(`record/1`, item 1) with the fields of its kind; what does not is looked at one by one, exactly.
"""

from collections.abc import Collection
from functools import cache
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec

from engines.canonical import INTEGER_MAX, RecordedEvent, strict_values
from engines.game_events import GAME_EVENTS
from ledger.faults import EventFault
from ledger.lifecycle_events import LIFECYCLE_EVENTS

__all__ = ["FOLDED", "KINDS", "EventForms", "agreeing_values", "has_its_fields", "taken_values", "wrong_fields"]

KINDS = {f"{kind}/1": kind for kind in (*GAME_EVENTS, *LIFECYCLE_EVENTS)}
FOLDED = {f"{kind}/1": kind for kind in (*LIFECYCLE_EVENTS, "choice_offered")}  # of what something follows from

# Of the events that there are many of, what something follows from; of others it is all.
_TAKEN = {
    "round_opened": (
        *("account_ref", "game", "external_ref", "idempotency_key", "cost_minor", "epoch"),
        *("balance_before_minor", "seed_commitment", "nonce", "engine_fingerprint", "profile_id", "profile_hash"),
        "bonus_minor",
    ),
    "round_settled": ("total_win_minor", "balance_after_minor", "state_out"),
}
_OPEN_DEPTH = 4  # as the values of a jurisdiction profile go
_LIMITS = ("ge", "le", "max_length")  # patterns take longer than all else


def taken_values(values: dict[str, Any]) -> Any:
    """Return what `Recomputed.take` takes of an event: of `round_opened` and `round_settled` some values, of others all."""
    names = _TAKEN.get(values["kind"])
    return values if names is None else itemgetter(*names)(values)


def agreeing_values(topic: str, data: bytes) -> dict[str, Any] | None:
    """Return the values of an event of a known kind in canonical form whose kind and version are its topic's, else None."""
    values = strict_values(data)
    if values is None:
        return None
    kind, version = values.get("kind"), values.get("v")
    return values if kind is not None and KINDS.get(topic) == kind and version == 1 and version is not True else None


@cache
def _field_types(kind: str) -> tuple[list[str], list[type]]:
    """Return the names of a lifecycle event's fields, sorted as in its bytes, and the type of each."""
    fields = LIFECYCLE_EVENTS[kind].model_fields
    types = {name: get_origin(field.annotation) or field.annotation for name, field in fields.items()}
    for name, field in fields.items():
        if types[name] is Literal:
            types[name] = type(get_args(field.annotation)[0])
        elif types[name] is tuple:
            types[name] = list
    return sorted(types), [cast(type, types[name]) for name in sorted(types)]


def has_its_fields(values: dict[str, Any]) -> bool:
    """Return whether an event in canonical form, where it is a lifecycle event, has just the fields of its kind, each of its type."""
    kind = values["kind"]
    if kind not in LIFECYCLE_EVENTS:
        return True
    names, types = _field_types(kind)
    return list(values) == names and list(map(type, values.values())) == types


def wrong_fields(values: dict[str, Any]) -> EventFault:
    """Return what is wrong with the fields of a lifecycle event of which `has_its_fields` is not so."""
    wanted = dict(zip(*_field_types(values["kind"]), strict=True))
    wrong = [name for name in {**wanted, **values} if name not in wanted or type(values.get(name)) is not wanted[name]]
    found = ", ".join(f"{name} {'of ' + type(values[name]).__name__ if name in values else 'missing'}" for name in wrong)
    return "event_fields", f"fields of {values['kind']}", "those of its version, each of its type", found


def _open_value(depth: int) -> Any:
    """Return the type of a value that a model says nothing of, so deep: whatever else the record may hold is looked at exactly."""
    plain = Annotated[int, msgspec.Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)] | str | bool
    return plain | list[_open_value(depth - 1)] | dict[str, _open_value(depth - 1)] if depth else plain  # type: ignore[misc]


def _bounded(annotation: Any) -> Any:
    """Return the type of a field of a model as its reader has it: integers and texts within the limits of the model."""
    if annotation is Any:
        return _open_value(_OPEN_DEPTH)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        given = [limit for field in parts[1:] for limit in field.metadata]
        limits = {name: getattr(limit, name) for limit in given for name in _LIMITS if hasattr(limit, name)}
        return Annotated[_bounded(parts[0]), msgspec.Meta(**limits)] if limits else _bounded(parts[0])
    if origin is tuple:
        return list[_bounded(parts[0])]  # type: ignore[misc]
    return dict[str, _bounded(parts[1])] if origin is dict else annotation  # type: ignore[misc]


def _reader(model: type[RecordedEvent]) -> msgspec.json.Decoder[Any]:
    hints = get_type_hints(model, include_extras=True)
    fields = [(name, _bounded(hints[name])) for name in sorted(model.model_fields)]
    return msgspec.json.Decoder(msgspec.defstruct(model.__name__, fields, forbid_unknown_fields=True, gc=False))


class EventForms:
    """The forms of all kinds of events."""

    def __init__(self) -> None:
        self._readers = {f"{kind}/1": _reader(model) for kind, model in (GAME_EVENTS | LIFECYCLE_EVENTS).items()}
        self._takers = {topic: attrgetter(*_TAKEN[kind]) if kind in _TAKEN else msgspec.structs.asdict for topic, kind in FOLDED.items()}
        self._write = msgspec.json.Encoder(order="deterministic").encode_lines

    def taken(self, topic: str, events: Collection[bytes]) -> list[Any] | None:
        """Return what is taken of each of some events of one topic, nothing where nothing follows; None where the form of one is wrong."""
        try:
            joined = b"\n".join(events)
            if not joined.isascii() or b"\\" in joined:  # a text that writers may write in two ways
                return _exactly_taken(topic, events)
            values = self._readers[topic].decode_lines(joined)
        except (TypeError, msgspec.MsgspecError):  # no bytes, no such event
            return _exactly_taken(topic, events)
        if len(values) != len(events) or self._write(values) != joined + b"\n":
            return _exactly_taken(topic, events)
        return list(map(self._takers[topic], values)) if topic in FOLDED else []


def _exactly_taken(topic: str, events: Collection[bytes]) -> list[Any] | None:
    taken = []
    for data in events:
        values = agreeing_values(topic, data)
        if values is None or not has_its_fields(values):
            return None
        if topic in FOLDED:
            taken.append(taken_values(values))
    return taken
