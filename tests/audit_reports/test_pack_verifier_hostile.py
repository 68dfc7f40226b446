"""Packs made to deceive the stand-alone verifier, to stop it or to use it up: each ends in a message or in findings, and soon."""

import os
import random
import time
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from audit_reports.verifier import verify_pack
from tests import pack_maker as maker
from tests.pack_maker import bag_of, lean, parts_of, signed, zipped
from tests.verifier_process import codes, refused, run

FLIPS = int(os.environ.get("SLOT_AUDIT_FLIPS", "30"))


def test_signatures_by_keys_of_small_order_are_refused() -> None:
    """The points of small order sign nothing, whatever the signature; a right signature holds, altered or lengthened it does not."""
    small = [1, 2**255 - 20, 0, 2**255, 2**255 - 19, 2**255 - 18]
    eighth = int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little")
    for number in [*small, eighth, verify_pack.P - eighth, eighth + 2**255]:
        key = number.to_bytes(32, "little")
        for r in (key, (1).to_bytes(32, "little")):
            assert not any(verify_pack.is_signature(key, r + bytes(32), bytes([text])) for text in range(12))
    key, text = maker.public(maker.LOG_KEY), b"text"
    signature = maker.LOG_KEY.sign(text)
    assert verify_pack.is_signature(key, signature, text)
    assert not verify_pack.is_signature(key, signature, b"other")
    assert not verify_pack.is_signature(key, signature + b"\0", text)
    larger = (int.from_bytes(signature[32:], "little") + verify_pack.ORDER).to_bytes(32, "little")
    assert not verify_pack.is_signature(key, signature[:32] + larger, text)


def test_any_changed_byte_is_found() -> None:
    """Whatever single byte of the file is changed, it is refused or there is a finding, and never another exception."""
    right, chance = signed(parts_of()), random.Random(1)
    for _ in range(FLIPS * 10):
        wrong = bytearray(right)
        place = chance.randrange(len(wrong))
        wrong[place] ^= chance.randrange(1, 256)
        with pytest.raises(ValueError, match="member"):
            verify_pack.audit_of(bytes(wrong))


def test_any_changed_byte_of_a_member_is_found_behind_a_new_zip() -> None:
    """Whoever changes one byte of a member and writes the zip anew, checksums right, is found out by manifest or signature."""
    bag, chance = bag_of(lean(parts_of())), random.Random(3)
    for _ in range(FLIPS):
        wrong = bytearray(bag[name := chance.choice(sorted(bag))])
        wrong[place := chance.randrange(len(wrong))] ^= chance.randrange(1, 256)
        assert codes(zipped(bag | {name: bytes(wrong)})), f"{name}, byte {place}"


def test_cut_and_longer_files_are_no_zip_of_the_form(tmp_path: Path) -> None:
    """A file cut anywhere, and bytes before, behind or twice: status 4, said on standard error."""
    right = signed(parts_of())
    for wrong in [right[:place] for place in range(0, len(right), 97)] + [right + b"\0", b"\0" + right, right + right, b""]:
        assert refused(wrong)
    shown = run(tmp_path, right[:-1])
    assert (shown.returncode, shown.stdout) == (4, "")
    assert "as docs/pack-format.md has it byte for byte" in shown.stderr


def test_members_removed_added_renamed_and_swapped_are_found() -> None:
    """Each member taken out, renamed, or swapped with the next one; one added; without a new signature."""
    bag = bag_of(lean(parts_of()))
    names = sorted(bag)
    for name, following in zip(names, names[1:] + names[:1], strict=True):
        assert codes(zipped({other: body for other, body in bag.items() if other != name}))
        assert codes(zipped({(other if other != name else other + "x"): body for other, body in bag.items()}))
        assert codes(zipped(bag | {name: bag[following], following: bag[name]})) or bag[name] == bag[following]
    assert "manifest" in codes(zipped(bag | {"data/case.json": b"{}\n"}))
    assert "tag-files" in codes(zipped(bag | {"more.txt": b""}))
    assert refused(zipped(bag, names=names[1:] + names[:1]))


@pytest.mark.parametrize("name", ["../x", "./x", "a//b", "/x", "A", "a\\b", "é", "x" * 120, "a/b/c/d", "a\x01", "a\n", "data/../../x"])
def test_hostile_names_are_refused(name: str) -> None:
    """Names that leave the folder, or that two systems read in two ways."""
    assert refused(zipped(bag_of(parts_of()) | {name: b""}))


def test_links_compression_overlaps_and_doubles_are_refused(tmp_path: Path) -> None:
    """A symbolic link, a deflated bomb, a lying size, an offset into another member, a name twice, another folder."""
    right = signed(parts_of())
    start = int.from_bytes(right[-6:-2], "little")
    for place, value, size in ((38, 0o120777 << 16, 4), (20, 2**32 - 1, 4), (24, 2**32 - 1, 4), (42, 1, 4), (10, 8, 2), (8, 1, 2)):
        assert refused(right[: start + place] + value.to_bytes(size, "little") + right[start + place + size :])
    for place, value in ((18, 2**32 - 1), (22, 2**32 - 1), (22, 2**31), (14, 0)):
        assert refused(right[:place] + value.to_bytes(4, "little") + right[place + 4 :])
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("round-0/data/x.json", bytes(1 << 26))
    assert refused((tmp_path / "bomb.zip").read_bytes())
    once = right[: right.index(b"PK\x03\x04", 4)]
    assert refused(once * 2)
    assert refused(once * 2500)
    assert refused(right.replace(b"round-", b"found-", 1))


HOSTILE = [
    b"[" * 100_000 + b"]" * 100_000,
    b"[" + b"9" * 10_000 + b"]",
    b"NaN",
    b"[1.0]",
    b"[1e9]",
    b'{"a":1,"a":1}',
    b'"\\ud800"',
    b"[-0]",
]
HOSTILE += [b"{ }", b"\xff", b'"\xed\xa0\x80"', b"", b"[9007199254740992]", b'{"b":1,"a":1}', b"Infinity", b'"\\u00e9"', b"\xef\xbb\xbf{}"]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_json_is_refused(text: bytes) -> None:
    """JSON that readers differ about, or that would cost a reader his memory or stack, wherever it stands."""
    for name in ("pack.json", "verdict.json", "draws.jsonl", "streams/round.jsonl", "clauses.json"):
        parts = parts_of()
        bag = bag_of(parts | {name: text + b"\n"}) if name != "pack.json" else bag_of(parts) | {"data/pack.json": text + b"\n"}
        assert codes(zipped(bag)) & {"malformed", "json"}


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202egnp.exe", "a\nNOTHING FOUND", "\x00", "\x9b", "\u2066", "\ud7ff\ue000", "é" * 10**5])
def test_hostile_texts_are_shown_escaped(tmp_path: Path, text: str) -> None:
    """Control characters and marks that turn a line reach no terminal, and no line is long, wherever a pack can bring them in."""
    parts = parts_of()
    parts["pack.json"]["absent"] = {text: text}
    parts["pack.json"]["verdict"] = parts["verdict.json"]["verdict"] = text
    parts["verdict.json"]["checks"][0] = {"name": text, "result": "fail", "detail": text}
    parts["streams/round.jsonl"][1]["topic"] = parts["leaves.json"][0]["stream"] = text
    parts["pack.json"]["streams"][text] = text
    parts["checkpoints/3.checkpoint"] = parts["checkpoints/3.checkpoint"].replace(b"slot", text[:50].encode())
    for options in ([], ["--json"]):
        shown = run(tmp_path, signed(parts), *options)
        assert shown.returncode == 3
        assert all(line.isprintable() and not line.startswith("NOTHING FOUND\n") for line in shown.stdout.split("\n"))
        assert options or max(map(len, shown.stdout.splitlines())) < 3000
        assert shown.stderr == ""
    assert refused(zipped(bag_of(parts_of()) | {"a\u202eb": b""}))


def set_field(place: int, field: str, value: Any, events: list[dict[str, Any]]) -> None:
    events[place][field] = value


def test_any_value_of_any_field_is_no_exception() -> None:
    """Whatever type stands in any field of the pack's own JSON or events, the verifier ends with a report."""
    chance = random.Random(2)
    names = [
        "pack.json",
        "verdict.json",
        "leaves.json",
        "consistency.json",
        "draws.jsonl",
        "streams/round.jsonl",
        "round-key.json",
        "event",
    ]
    values = [None, True, -1, 2**53 - 1, "", "é", [], {}, [[]], [{}], "0" * 64, "a" * 64]
    for _ in range(FLIPS):
        name, to = chance.choice(names), chance.choice(values)
        if name == "event":
            place = chance.randrange(11)
            field = chance.choice(sorted(maker.round_events()[place]))
            parts = parts_of(partial(set_field, place, field, to))
        else:
            parts = parts_of()
            value: Any = parts[name]
            while isinstance(
                inner := value[step := chance.choice(list(value) if isinstance(value, dict) else range(len(value)))], dict | list
            ):
                if not inner or chance.random() < 0.2:
                    break
                value = inner
            value[step] = to
        assert isinstance(codes(zipped(bag_of(parts, **statement_of(parts)))), set), name


def statement_of(parts: dict[str, Any]) -> dict[str, Any]:
    return {} if isinstance(parts["pack.json"].get("as_of_us"), int) else {"predicate": {}}


def test_what_costs_time_is_bounded() -> None:
    """Leaves over all versions there are, thousands of keys, checkpoints, rejected words and findings end soon, with findings."""
    began, parts = time.monotonic(), parts_of()
    leaf = parts["leaves.json"][0]
    parts["leaves.json"] = [{**leaf, "leaf_index": place, "version_last": 10**5 + place} for place in range(5000)]
    parts["keys/log.vkey"] = b"\n".join(maker.vkey(maker.key_of(number)).encode() for number in range(101))
    parts |= {f"checkpoints/{size}.checkpoint": b"" for size in range(100, 201)}
    parts["draws.jsonl"] = [{**parts["draws.jsonl"][0], "n": 2**30 + 1}] * 2000
    parts["clauses.json"] = b"[" + b"[]," * (1 << 20) + b"[]]\n"
    audit = verify_pack.audit_of(signed(parts))
    assert max(audit.counts.values()) > verify_pack.ALIKE_MAX
    assert len(audit.findings) <= (verify_pack.ALIKE_MAX + 1) * len(audit.counts)
    assert any(each["where"].endswith("more of this kind") for each in audit.findings)
    assert time.monotonic() - began < 20
    parts["clauses.json"] = b" " * verify_pack.JSON_MAX
    assert refused(signed(parts))
