"""The form of events in bulk is that of each."""

import re
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.canonical import INTEGER_MAX, RecordedEvent, canonical_json
from engines.game_events import GAME_EVENTS
from ledger.event_forms import FOLDED, EventForms, agreeing_values, has_its_fields, taken_values
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.stretch import folded_events

KIND = st.sampled_from(["win", "drop", "spin_ended", "round_settled", "funds_moved", "meteor"])
EVENT = st.fixed_dictionaries({"kind": KIND, "v": st.sampled_from([1, 2])}, optional={"a": st.integers(0, 2)}).map(canonical_json)
BROKEN = st.sampled_from(
    [b"", b"{}", b"[1]", b'{"kind":"win","v":1.0}', b'{"kind":"win","v":true}', b'{"v":1,"kind":"win"}', b'{"kind": "win","v":1}']
)
TOPIC = st.builds("{}/{}".format, KIND, st.sampled_from([1, 2]))


def topic_of(data: bytes, other: str) -> str:
    """Return the topic that an event should have, where it is one."""
    kind = data.split(b'"kind":"')[-1].split(b'"')[0].decode()
    return f"{kind}/1" if data.endswith(b',"v":1}') else other


TEXT, NUMBER = st.sampled_from(["", "0.1", "null"]), st.sampled_from([0, 7, 1.5, True, None])
SETTLED = st.fixed_dictionaries(
    {
        "kind": st.just("round_settled"),
        "v": st.just(1),
        **dict.fromkeys(("total_win_minor", "base_win_minor", "feature_win_minor", "balance_after_minor", "settled_at_us"), st.just(5)),
        **dict.fromkeys(("ended", "outcome_digest", "round_digest"), TEXT),
        "state_out": st.dictionaries(st.sampled_from(["a", "b"]), NUMBER, max_size=1),
    }
)
ALTERED = st.tuples(SETTLED, st.sampled_from(["ended", "settled_at_us", "more"]), NUMBER, st.booleans()).map(
    lambda each: canonical_json(each[0] if each[3] else {**each[0], each[1]: each[2]})
)
ROWS = st.lists(st.tuples(st.one_of(EVENT, ALTERED), TOPIC, st.integers(0, 19)), max_size=6)


FORMS = EventForms()


def each_by_itself(topics: tuple[str, ...], datas: tuple[bytes, ...]) -> list[tuple[int, str, Any]] | None:
    """Return what `folded_events` should, of each event exactly."""
    each = [agreeing_values(topic, data) for topic, data in zip(topics, datas, strict=True)]
    if not all(values is not None and has_its_fields(values) for values in each):
        return None
    kinds = [topic.split("/")[0] for topic in topics]
    return [(i, kinds[i], taken_values(values)) for i, values in enumerate(each) if values and topics[i] in FOLDED]


@given(ROWS, st.one_of(st.none(), st.tuples(BROKEN, TOPIC)), st.integers(0, 9))
def test_the_form_of_many_is_that_of_each(rows: list[Any], broken: Any, place: int) -> None:
    """A page of events passes where each event does, and gives what something follows from."""
    events = [(topic if chance == 0 else topic_of(data, topic), data) for data, topic, chance in rows]
    if broken is not None:
        events.insert(place, (broken[1], broken[0]))
    topics, datas = zip(*events, strict=True) if events else ((), ())
    assert folded_events(FORMS, topics, datas) == each_by_itself(topics, datas)


def open_value(depth: int) -> st.SearchStrategy[Any]:
    """Return values that a model says nothing of, so deep."""
    plain = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.booleans() | st.text(max_size=3)
    if not depth:
        return plain
    return plain | st.lists(open_value(depth - 1), max_size=2) | st.dictionaries(st.text(max_size=2), open_value(depth - 1), max_size=2)


def field(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values for a field of a model, texts of any kind."""
    if annotation in (bool, Any):
        return st.booleans() if annotation is bool else open_value(3)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = {name: getattr(limit, name) for limit in parts[1].metadata for name in ("ge", "le") if hasattr(limit, name)}
        return st.integers(limits["ge"], limits["le"]) if parts[0] is int else st.text(max_size=3) | st.just("ab")
    if origin is tuple:
        return st.lists(field(parts[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(st.text(max_size=2), field(parts[1]), max_size=2)
    assert origin is Literal, annotation  # a number without limits would let through what is beyond INTEGER_MAX
    return st.sampled_from(parts)


MODELS = GAME_EVENTS | LIFECYCLE_EVENTS


def real_event(model: type[RecordedEvent]) -> st.SearchStrategy[bytes]:
    """Return the canonical bytes of events of a model."""
    hints = get_type_hints(model, include_extras=True)
    return st.fixed_dictionaries({name: field(hints[name]) for name in model.model_fields}).map(canonical_json)


REAL = {kind: real_event(model) for kind, model in MODELS.items()}
SOME = st.sampled_from(sorted(MODELS)).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(REAL[kind], min_size=1, max_size=3)))
PIECES = b'0 - -0 .0 e1 null true " \\u0041 \\u001F \\/ , [] {} "a":1, 9007199254740992 \x7f \x00 \xff'.split(b" ")
PIECE = st.sampled_from([b"", b" ", b"\n", *PIECES]) | st.binary(max_size=2)
PROFILE_SET = canonical_json(
    {
        **dict.fromkeys(("profile_id", "profile_version", "profile_hash", "set_by_hash", "approved_by_hash"), "ab"),
        **{"kind": "profile_set", "v": 1, "set_at_us": 1, "profile": {"coins": [{"coins_minor": [1, 2], "is_open": True}], "days": 90}},
    }
)
TOKEN = re.compile(rb'"[^"]*"|-?[0-9]+|[][{},:]')


@given(SOME, PIECE)
@example(("profile_set", [PROFILE_SET]), b"null")
@example(("profile_set", [PROFILE_SET]), b".0")
@example(("profile_set", [PROFILE_SET]), b"9007199254740992")
@example(("profile_set", [PROFILE_SET]), b"[" * 2000 + b"1" + b"]" * 2000)
@example(("cap_hit", [b'{"awarded_minor":0,"kind":"cap_hit","total_before_minor":0,"uncapped_minor":0,"v":1}']), b"9007199254740992")
def test_what_the_compiled_form_lets_through_is_exact(events: tuple[str, list[bytes]], piece: bytes) -> None:
    """Events of each kind, one of them with bytes put in or put in place of others, pass only where each is exactly right."""
    kind, (event, *others) = events
    topics = (f"{kind}/1",) * len(events[1])
    for token in TOKEN.finditer(event):
        for start in token.span():
            datas = (event[:start] + piece + event[token.end() :], *others)
            assert folded_events(FORMS, topics, datas) == each_by_itself(topics, datas)


@given(SOME)
def test_two_events_in_the_bytes_of_one_are_none(events: tuple[str, list[bytes]]) -> None:
    """Lines are read many at a time; a line more than there are events is not taken for one."""
    kind, datas = events
    assert folded_events(FORMS, (f"{kind}/1",), (b"\n".join([*datas, *datas]),)) is None


@given(SOME)
def test_plain_events_of_each_kind_go_the_fast_way(events: tuple[str, list[bytes]]) -> None:
    """Events in canonical form, in ASCII without escapes, are taken without being looked at one by one."""
    kind, datas = events
    with pytest.MonkeyPatch.context() as patch:
        looked_at: list[str] = []
        patch.setattr("ledger.event_forms._exactly_taken", lambda topic, _: looked_at.append(topic))
        FORMS.taken(f"{kind}/1", datas)
    joined = b"".join(datas)
    assert bool(looked_at) == (not joined.isascii() or b"\\" in joined)
