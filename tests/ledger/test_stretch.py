"""Events in bulk: what repeats is looked at once, and never taken for something else."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import canonical_json
from ledger.lifecycle_events import LIFECYCLE_EVENTS
from ledger.stretch import FormCheck, agreeing_values

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


ROWS = st.lists(st.tuples(st.integers(1, 2), EVENT, TOPIC, st.integers(0, 19)), max_size=8)


@given(ROWS, ROWS, st.tuples(st.integers(1, 2), BROKEN, TOPIC), st.integers(0, 9))
def test_the_form_of_many_is_that_of_each(first: list[Any], second: list[Any], broken: Any, place: int) -> None:
    """A page of events passes where each event does, whatever was seen before, and gives what something follows from."""
    form = FormCheck()
    for rows in (first, second, first):
        events = [(version, topic if chance == 0 else topic_of(data, topic), data) for version, data, topic, chance in rows]
        if place < len(events):
            events.insert(place, (broken[0], broken[2], broken[1]))
        each = [agreeing_values(topic, data) for _, topic, data in events]
        folded = [
            (place, values)
            for place, (values, (version, topic, _)) in enumerate(zip(each, events, strict=True))
            if version == 1 or topic.split("/")[0] in LIFECYCLE_EVENTS
        ]
        versions, topics, datas = zip(*events, strict=True) if events else ((), (), ())
        assert form.folded(versions, topics, datas) == (None if None in each else folded)
