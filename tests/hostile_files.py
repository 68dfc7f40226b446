"""Packs of the right form, whole under their hashes and signed, whose files hold what no honest builder writes."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from engines.canonical import canonical_json
from tests.hostile_makers import UGLY, Make, hostile, note
from tests.pack_forging import document, lines, take_apart

__all__: list[str] = []

DEEP, MANY = 100_000, 20_000
HUGE = b"1" + b"0" * 5000


def _file(name: str, content: bytes | Callable[[bytes], bytes]) -> Make:
    """Return a maker that puts other bytes in a file of the payload."""

    def make(pack: bytes) -> bytes:
        forged = take_apart(pack).reach("record")
        forged.files[name] = content(forged.files.get(name, b"{}\n")) if callable(content) else content
        return forged.sealed()

    return make


def _value(name: str, key: str, text: bytes) -> Make:
    """Return a maker that writes these bytes for one value of a file: what may be no JSON at all."""

    def changed(content: bytes) -> bytes:
        mark = "\u00a7\u00a7"
        line, *rest = content.splitlines(keepends=True)
        values = json.loads(line)
        holder = values[0] if isinstance(values, list) else values
        holder[key] = mark
        return document(values).replace(f'"{mark}"'.encode(), text) + b"".join(rest)

    return _file(name, changed)


def _event(index: int, change: Callable[[bytes], bytes]) -> Make:
    """Return a maker that puts other bytes in the place of one of the round's events, its leaf as it was."""

    def changed(content: bytes) -> bytes:
        found = lines(content)
        found[index]["data"] = base64.b64encode(change(base64.b64decode(found[index]["data"]))).decode()
        return b"".join(map(document, found))

    return _file("streams/round.jsonl", changed)


PLACES = {
    "pack.json": "as_of_us",
    "leaves.json": "leaf_index",
    "verdict.json": "verdict",
    "draws.jsonl": "n",
    "round-key.json": "round_key",
    "streams/round.jsonl": "index",
    "consistency.json": "size",
    "profile.json": "fallback",
    "case.json": "claimant",
}
NUMBERS = {
    "huge": HUGE,
    "minus_huge": b"-" + HUGE,
    "beyond": b"1e999",
    "fraction": b"0.1",
    "nan": b"NaN",
    "infinite": b"-Infinity",
    "minus_0": b"-0",
}
DEEP_LIST, DEEP_OBJECT = b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP
TEXTS = {"null_bytes": b'"\\u0000\\u0000"', "ugly": canonical_json(UGLY)}
VALUES = {
    **NUMBERS,
    **TEXTS,
    "deep": DEEP_LIST,
    "deep_objects": DEEP_OBJECT,
    "surrogate": b'"\\ud800"',
    "not_utf8": b'"\xff\xfe"',
}


def _note_place(file: str, key: str) -> None:
    """Note all that can stand in one place of a file; in a question's text any text may, and what is no number of the record."""
    short = file.replace("/", "_").partition(".")[0].replace("-", "_")
    for name, value in VALUES.items():
        may_be = file == "case.json" and (name in TEXTS or name == "fraction")
        note(f"{short}_{name}", _value(file, key, value), *((0,) if may_be else ()), 3, 4, is_one_of_many=True)
    note(f"{short}_cut", _file(file, lambda content: content[:-3]), 3, 4, is_one_of_many=True)
    # That the last draws are missing only an engine can tell.
    note(f"{short}_empty", _file(file, b""), *((0,) if short == "draws" else ()), 3, 4, is_one_of_many=True)
    twice = b'{"%s":0,' % key.encode()
    note(f"{short}_twice", _file(file, lambda content: content.replace(b"{", twice, 1)), 3, 4, is_one_of_many=True)


def _note_event(name: str, value: bytes) -> None:
    more = b'"nonce":%s,"x":' % value
    note(f"event_{name}", _event(0, lambda data: data.replace(b'"nonce":', more)), 3, 4, is_one_of_many=True)


for _file_name, _key in PLACES.items():
    _note_place(_file_name, _key)
for _name, _bytes in VALUES.items():
    _note_event(_name, _bytes)
note("event_twice_a_key", _event(0, lambda data: data.replace(b"{", b'{"bet_minor":1,', 1)), 3, 4)
note("event_null_bytes_behind", _event(0, lambda data: data + b"\0" * 10), 3, 4)
note("event_no_object", _event(0, lambda data: b"[]"), 3, 4)
note("event_empty", _event(0, lambda data: b""), 3, 4)
note("event_ten_megabytes", _event(0, lambda data: data + b" " * 10**7), 3, 4)


# Texts in their own forms: base64, keys, checkpoints, signature.


def _line_data(change: Callable[[str], str]) -> Make:
    def changed(content: bytes) -> bytes:
        found = lines(content)
        found[1]["data"] = change(found[1]["data"])
        return b"".join(map(document, found))

    return _file("streams/round.jsonl", changed)


for _name, _change in {
    "newlines": lambda text: "\n".join(text[place : place + 76] for place in range(0, len(text), 76)),
    "spaces": lambda text: text + "  ",
    "of_urls": lambda text: text[:-4] + "-_-_",
    "cut": lambda text: text[:-1],
    "padded_more": lambda text: text + "====",
    "not_ascii": lambda text: "\u0660" + text,
    "ugly": lambda text: UGLY,
}.items():
    note(f"base64_{_name}", _line_data(_change), 3, 4)

for _name, _bytes in {
    "empty": b"",
    "huge_size": b"slot-ledger/x\n" + HUGE + b"\nAAAA\n\n\xe2\x80\x94 slot-ledger/x AAAA\n",
    "other_digits": "slot-ledger/x\n\u0661\nAAAA\n\n\u2014 slot-ledger/x AAAA\n".encode(),
    "many_signatures": b"slot-ledger/x\n1\nAAAA\n\n" + b"\xe2\x80\x94 slot-ledger/x AAAA\n" * MANY,
    "ugly": UGLY.encode() + b"\n1\nAAAA\n\n" + UGLY.encode(),
    "not_utf8": b"\xff\xfe\n1\n\n",
}.items():
    note(f"checkpoint_{_name}", _file("checkpoints/6.checkpoint", _bytes), 3, 4)
note("checkpoint_of_no_size", _file("checkpoints/x.checkpoint", b"x\n"), 3, 4)
note("checkpoint_of_a_huge_size", _file(f"checkpoints/{'9' * 60}.checkpoint", b"x\n"), 3, 4)

for _name, _bytes in {
    "empty": b"",
    "ugly": UGLY.encode(),
    "not_utf8": b"\xff\xfe\n",
    "many": b"slot-ledger/x+00000000+AAAA\n" * MANY,
}.items():
    note(f"vkey_{_name}", _file("keys/log.vkey", _bytes), 3, 4)
for _name, _bytes in {
    "short": b"00\n",
    "long": b"00" * 10**6 + b"\n",
    "ugly": UGLY.encode(),
    "upper": b"AA" * 32 + b"\n",
    "spaces": b"00 " * 32,
}.items():
    note(f"pack_key_{_name}", _file("keys/pack.pub", _bytes), 3, 4)


def _envelope(change: Callable[[bytes], bytes]) -> Make:
    """Return a maker that puts another text in the place of the signature's file."""

    def make(pack: bytes) -> bytes:
        forged = take_apart(pack).reach("statement")
        forged.tags["signature.json"] = change(forged.tags["signature.json"])
        return forged.sealed()

    return make


def _payload(change: Callable[[bytes], bytes]) -> Make:
    """Return a maker that signs another statement."""

    def changed(envelope: bytes) -> bytes:
        values = json.loads(envelope)
        return document({**values, "payload": base64.b64encode(change(base64.b64decode(values["payload"]))).decode()})

    return _envelope(changed)


for _name, _text in {
    "deep": lambda _: DEEP_LIST,
    "deep_objects": lambda _: DEEP_OBJECT,
    "cut": lambda text: text[:-9],
    "empty": lambda _: b"",
}.items():
    note(f"envelope_{_name}", _envelope(_text), 3, 4)
    note(f"statement_{_name}", _payload(_text), 3, 4)
for _name, _bytes in NUMBERS.items():
    note(f"statement_{_name}", _payload(lambda text, value=_bytes: text.replace(b'"as_of_us":', b'"as_of_us":%s,"x":' % value)), 3, 4)  # type: ignore[misc]
note("envelope_without_signatures", _envelope(lambda text: document({**json.loads(text), "signatures": []})), 3, 4)
note(
    "envelope_many_signatures",
    _envelope(lambda text: document({**json.loads(text), "signatures": json.loads(text)["signatures"] * MANY})),
    3,
    4,
)
note("envelope_newlines", _envelope(lambda text: text.replace(b'"sig":"', b'"sig":"\\n')), 3, 4)


def _tag(name: str, change: Callable[[bytes], bytes]) -> Make:
    """Return a maker that changes a tag file before the statement is signed."""

    def make(pack: bytes) -> bytes:
        forged = take_apart(pack).reach("bag")
        forged.tags[name] = change(forged.tags[name])
        return forged.sealed()

    return make


@hostile(3, 4)
def key_of_small_order(pack: bytes) -> bytes:
    """The builder's key is the neutral point, under which one signature fits every text."""
    forged = take_apart(pack).reach("record")
    neutral = b"\1" + bytes(31)
    forged.files["keys/pack.pub"] = f"{neutral.hex()}\n".encode()
    envelope = json.loads(forged.reach("statement").tags["signature.json"])
    signature = {"keyid": hashlib.sha256(neutral).hexdigest(), "sig": base64.b64encode(neutral + bytes(32)).decode()}
    forged.tags["signature.json"] = document({**envelope, "signatures": [signature]})
    return forged.sealed()


# Values that ask for more than there is.


def _index(**values: Any) -> Make:
    return _file("pack.json", lambda content: document({**json.loads(content), **values}))


for _name, _values in {
    "streams_elsewhere": {"streams": {"ledger": "../../../../../../etc/passwd", "round/x": "/etc/passwd"}},
    "streams_none": {"streams": {}},
    "streams_ugly": {"streams": {UGLY: UGLY}},
    "streams_many": {"streams": {f"round/{number}": "streams/round.jsonl" for number in range(MANY)}},
    "round_ugly": {"round_id": UGLY},
    "round_long": {"round_id": "a" * 10**6},
    "verdict_ugly": {"verdict": UGLY},
    "verdict_two_lines": {"verdict": "reproduced\nNOTHING FOUND  pack of round x, reproduced"},
    "tree_endless": {"tree_size": 2**53 - 1},
    "tree_negative": {"tree_size": -1},
    "moment_too_late": {"as_of_us": 2**53 - 1},
    "moment_too_early": {"as_of_us": -(2**53 - 1)},
}.items():
    note(f"index_{_name}", _index(**_values), 3, 4)
note("index_absent_ugly", _index(absent={UGLY: UGLY}), 0, 3, 4)


def _leaf(**values: Any) -> Make:
    return _file("leaves.json", lambda content: document([{**json.loads(content)[0], **values}, *json.loads(content)[1:]]))


for _name, _values in {
    "index_large": {"leaf_index": 2**53 - 1},
    "index_negative": {"leaf_index": -1},
    "versions_endless": {"version_first": 1, "version_last": 2**53 - 1},
    "versions_negative": {"version_first": -(2**53 - 1), "version_last": -1},
    "time_negative": {"recorded_at_us": -1},
    "path_long": {"path": ["00" * 32] * MANY},
    "path_of_no_hashes": {"path": ["", UGLY, "zz" * 32]},
    "hash_ugly": {"leaf_hash": UGLY},
    "stream_ugly": {"stream": UGLY},
    "stream_long": {"stream": "a" * 70_000},
}.items():
    note(f"leaf_{_name}", _leaf(**_values), 3, 4)
note("leaves_many", _file("leaves.json", lambda content: document(json.loads(content) * 500)), 3, 4)


def _draw(**values: Any) -> Make:
    def changed(content: bytes) -> bytes:
        first, *others = lines(content)
        return b"".join(map(document, [{**first, **values}, *others]))

    return _file("draws.jsonl", changed)


for _name, _values in {
    "of_nothing": {"n": 0},
    "below_nothing": {"n": -1},
    "beyond": {"n": 2**40},
    "far_away": {"first_word": 2**40},
    "at_the_end": {"first_word": 2**36 - 1},
    "before_the_start": {"first_word": -1},
    "without_words": {"words": []},
    "of_many_words": {"words": [1] * 10**6},
    "of_large_words": {"words": [2**53 - 1]},
    "of_negative_words": {"words": [-1]},
    "purpose_ugly": {"purpose": UGLY},
}.items():
    note(f"draw_{_name}", _draw(**_values), *((3, 4) if _name != "purpose_ugly" else (0, 3, 4)))
note("draws_many", _file("draws.jsonl", lambda content: content * 500), 3, 4)

for _name, _values in {
    "bet_large": {"bet_minor": 2**53 - 1},
    "nonce_large": {"nonce": 2**53 - 1},
    "nonce_negative": {"nonce": -1},
    "client_seed_long": {"client_seed": "a" * 70_000},
    "game_ugly": {"game": UGLY},
    "game_elsewhere": {"game": "../../../etc", "rules_version": "../passwd"},
    "commitment_ugly": {"round_key_commitment": UGLY, "seed_commitment": UGLY},
    "epoch_large": {"epoch": 2**53 - 1},
    "kind_ugly": {"kind": UGLY},
    "kind_of_no_text": {"kind": {"a": []}, "v": []},
}.items():
    note(f"opening_{_name}", _event(0, lambda data, values=_values: canonical_json({**json.loads(data), **values})), 3, 4)  # type: ignore[misc]


# Much of it.


def _many_lines(change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> Make:
    """Return a maker that makes the round's stream many lines, each made of its second one."""

    def changed(content: bytes) -> bytes:
        one = lines(content)[1]
        return b"".join(document(change(number, {**one, "index": number})) for number in range(MANY))

    return _file("streams/round.jsonl", changed)


note("many_lines_of_wrong_topics", _many_lines(lambda number, line: {**line, "topic": f"{number}/1"}), 3, 4)
note("many_lines_under_one_number", _many_lines(lambda number, line: {**line, "index": 0}), 3, 4)
note("many_lines_that_are_no_events", _many_lines(lambda number, line: {**line, "data": ""}), 3, 4)
note("many_lines_of_other_streams", _many_lines(lambda number, line: {**line, "stream": f"round/{number}"}), 3, 4)
note("many_lines_alike", _many_lines(lambda number, line: line), 3, 4)
note("lines_without_end", _file("streams/round.jsonl", b"\n" * 10**6), 3, 4)
note("case_of_ten_megabytes", _file("case.json", document({"claimant": UGLY * 80_000})), 0, 3, 4)
note("case_all_ugly", _file("case.json", lambda content: document(dict.fromkeys(json.loads(content), UGLY))), 0, 3, 4)
note("readme_ten_megabytes", _file("readme.txt", b"a" * 10**7), 0, 3, 4)
note("manifest_ten_megabytes", _tag("manifest-sha256.txt", lambda text: text * 1500), 3, 4)
note("description_ugly", _tag("bag-info.txt", lambda text: text + UGLY.encode()), 3, 4)
note("description_empty", _tag("bag-info.txt", lambda _: b""), 3, 4)
note("description_huge_oxum", _tag("bag-info.txt", lambda text: text[: text.index(b"Payload")] + b"Payload-Oxum: " + HUGE + b".1\n"), 3, 4)
note("bagit_empty", _tag("bagit.txt", lambda _: b""), 3, 4)


# One value of another kind, anywhere.

ANY_FILE = ("pack.json", "leaves.json", "verdict.json", "draws.jsonl", "consistency.json", "streams/round.jsonl", "streams/epoch.jsonl")
OTHERS = [None, True, -1, 2**53, 10**30, 1.5, "", "\x00", "00" * 32, "9" * 5000, [], [1], {}, {"a": 1}, [[[]]]]


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*way, key)
        yield from _places(inner, (*way, key))


def _one_other(seed: int) -> Make:
    """Return a maker that puts a value of another kind in a place that this seed chooses; events have theirs in their base64."""
    chance = random.Random(seed)
    name = chance.choice(ANY_FILE)

    def changed(content: bytes) -> bytes:
        found = lines(content)
        *way, last = chance.choice(list(_places(found)))
        holder: Any = found
        for key in way:
            holder = holder[key]
        holder[last] = chance.choice(OTHERS)
        return b"".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode() + b"\n" for each in found)

    return _file(name, changed)


for _seed in range(100):
    note(f"one_other_value_{_seed}", _one_other(_seed), 0, 3, 4, is_one_of_many=True)
