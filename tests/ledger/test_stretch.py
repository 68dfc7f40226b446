"""The form of events in bulk is that of each."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import canonical_json
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.recomputed import has_its_fields
from ledger.stretch import agreeing_values, folded_events

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
ROWS = st.lists(st.tuples(st.integers(1, 2), st.one_of(EVENT, ALTERED), TOPIC, st.integers(0, 19)), max_size=6)


KNOWN: dict[bytes, str] = {}  # one for all examples: what was right before is not taken for something else


@given(ROWS, st.one_of(st.none(), st.tuples(st.integers(1, 2), BROKEN, TOPIC)), st.integers(0, 9))
def test_the_form_of_many_is_that_of_each(rows: list[Any], broken: Any, place: int) -> None:
    """A page of events passes where each event does, and gives what something follows from."""
    events = [(version, topic if chance == 0 else topic_of(data, topic), data) for version, data, topic, chance in rows]
    if broken is not None:
        events.insert(place, (broken[0], broken[2], broken[1]))
    each = [agreeing_values(topic, data) for _, topic, data in events]
    is_right = all(values is not None and has_its_fields(values) for values in each)
    folded = [
        (place, values)
        for place, (values, (version, topic, _)) in enumerate(zip(each, events, strict=True))
        if version == 1 or topic.split("/")[0] in LIFECYCLE_EVENTS
    ]
    versions, topics, datas = zip(*events, strict=True) if events else ((), (), ())
    assert folded_events(versions, topics, datas, KNOWN) == (folded if is_right else None)
