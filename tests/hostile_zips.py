"""Zips of a harmful form: names that lead elsewhere, links, bombs, sizes that lie, more than one way to read them."""

import struct
import zlib
from collections.abc import Callable
from typing import Any

from audit_reports.bag import read_zip
from tests.hostile_makers import UGLY, Make, hostile, note
from tests.raw_zip import Member, raw_zip

__all__: list[str] = []


def _members(pack: bytes) -> list[Member]:
    return [Member(name.encode(), data) for name, data in read_zip(pack, "pack").items()]


def _one_changed(change: Callable[[Member], Member]) -> Make:
    """Return a maker that changes one member's headers or bytes: the last, `tagmanifest-sha256.txt`."""

    def make(pack: bytes) -> bytes:
        *others, last = _members(pack)
        return raw_zip([*others, change(last)])

    return make


def _one_more(name: bytes, **fields: Any) -> Make:
    """Return a maker that adds a member of a name."""

    def make(pack: bytes) -> bytes:
        member = Member(name.replace(b"FOLDER", _members(pack)[0].name.split(b"/")[0]), b"planted\n")._replace(**fields)
        return raw_zip(sorted([*_members(pack), member]))

    return make


NAMES = {
    "parent": b"../planted",
    "parent_inside": b"FOLDER/../../planted",
    "absolute": b"/tmp/planted",
    "backslash": b"..\\planted",
    "drive": b"c:\\planted",
    "drive_slash": b"c:/planted",
    "network": b"//server/planted",
    "dot": b"FOLDER/./planted",
    "empty": b"",
    "empty_part": b"FOLDER//planted",
    "folder": b"FOLDER/planted/",
    "uppercase": b"FOLDER/data/Readme.TXT",
    "control": b"FOLDER/data/\x1b[2J\x07",
    "null": b"FOLDER/data/readme.txt\x00.exe",
    "newline": b"FOLDER/data/a\nNOTHING FOUND",
    "utf8": "FOLDER/data/\u202egnp".encode(),
    "not_utf8": b"FOLDER/data/\xff\xfe",
    "space": b"FOLDER/data/read me.txt",
    "device": b"FOLDER/data/con:",
    "long": b"FOLDER/data/" + b"a" * 200,
    "very_long": b"a" * 65_535,
    "deep": b"FOLDER/data/a/b/c",
    "other_folder": b"round-0000000000000000/planted",
    "beside": b"planted",
}
for _name, _bytes in NAMES.items():
    note(f"name_{_name}", _one_more(_bytes), 3, 4)
note("name_utf8_flagged", _one_more(NAMES["utf8"], flags=1 << 11), 3, 4)

for _name, _fields in {
    "symbolic_link": {"attributes": 0o120777 << 16, "data": b"/etc/passwd"},
    "executable": {"attributes": 0o104755 << 16},
    "encrypted": {"flags": 1},
    "data_descriptor": {"flags": 8},
    "utf8_flag": {"flags": 1 << 11},
    "member_comment": {"comment": UGLY.encode()},
    "extra_field": {"extra": b"\x55\x54\x05\x00\x01\x00\x00\x00\x00"},
    "zip64_extra": {"extra": struct.pack("<2HQQ", 1, 16, 8, 8), "size": 0xFFFFFFFF, "packed_size": 0xFFFFFFFF, "version": 45},
    "version_needed": {"version": 63},
    "made_on_dos": {"made_by": 20},
    "crc_wrong": {"crc": 1},
    "size_beyond_the_file": {"size": 2**31, "packed_size": 2**31},
    "size_too_small": {"size": 1, "packed_size": 1},
    "sizes_that_differ": {"central_size": 2**32 - 1},
    "local_header_elsewhere": {"offset": 2**32 - 1},
    "method_unknown": {"method": 99},
}.items():
    note(_name, _one_changed(lambda last, fields=_fields: last._replace(**fields)), 3, 4)  # type: ignore[misc]


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@hostile(3, 4)
def deflated(pack: bytes) -> bytes:
    """Every member is compressed, its sizes and CRC true."""
    made = [each._replace(data=_deflated(each.data), size=len(each.data), crc=zlib.crc32(each.data), method=8) for each in _members(pack)]
    return raw_zip(made)


def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    mebibyte = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return mebibyte * 1024 + packer.flush()


@hostile(3, 4)
def deflate_bomb(pack: bytes) -> bytes:
    """A member of a megabyte unpacks to one gibibyte."""
    *others, last = _members(pack)
    return raw_zip([*others, last._replace(data=_bomb(), size=2**30, crc=0, method=8)])


@hostile(3, 4)
def deflate_bomb_that_lies(pack: bytes) -> bytes:
    """The same, said to unpack to a hundred bytes."""
    *others, last = _members(pack)
    return raw_zip([*others, last._replace(data=_bomb(), size=100, crc=0, method=8)])


@hostile(3, 4)
def overlapping_members(pack: bytes) -> bytes:
    """A thousand members in the directory, all at one place in the file."""
    first = _members(pack)[0]
    whole = raw_zip([first])
    start = whole.index(b"PK\1\2")
    directory = b"".join(whole[start : start + 46] + first.name[:-4] + b"%04d" % number for number in range(1000))
    return whole[:start] + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1000, 1000, len(directory), start, 0)


@hostile(3, 4)
def duplicate_names(pack: bytes) -> bytes:
    """Every member stands twice."""
    return raw_zip([each for member in _members(pack) for each in (member, member)])


@hostile(3, 4)
def duplicate_name_of_other_bytes(pack: bytes) -> bytes:
    """A member stands twice, the second time with other bytes."""
    found = _members(pack)
    return raw_zip([*found, found[-1]._replace(data=b"other\n")])


@hostile(3, 4)
def members_out_of_order(pack: bytes) -> bytes:
    """The members stand in the order of their names from behind."""
    return raw_zip(_members(pack)[::-1])


@hostile(3, 4)
def three_thousand_members(pack: bytes) -> bytes:
    """There are more members than a pack may have."""
    folder = _members(pack)[0].name.split(b"/")[0]
    return raw_zip(sorted([*_members(pack), *(Member(b"%s/data/more/%04d" % (folder, number), b"") for number in range(3000))]))


for _name, _around in {
    "zip_comment": {"comment": UGLY.encode()},
    "bytes_before": {"prefix": b"#!/bin/sh\nexit 0\n"},
    "bytes_after": {"suffix": b"more"},
    "zip_after_zip": {"suffix": raw_zip([Member(b"planted", b"")])},
    "zip64_end": {"before_end": struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 46, 0) + b"PK\6\7" + bytes(16)},
}.items():
    note(_name, lambda pack, around=_around: raw_zip(_members(pack), **around), 3, 4)  # type: ignore[misc]

note("empty_file", lambda pack: b"", 4)
note("no_members", lambda pack: raw_zip([]), 3, 4)
note("no_zip", lambda pack: UGLY.encode() * 1000, 4)
note("zeros", lambda pack: bytes(2**20), 4)
note("local_headers_alone", lambda pack: b"PK\3\4" * 2**18, 4)
note("cut_in_the_middle", lambda pack: pack[: len(pack) // 2], 4)
note("cut_at_the_end", lambda pack: pack[:-1], 4)
note("cut_in_a_header", lambda pack: pack[:20], 4)
note("one_member_beyond_2_gib", lambda pack: raw_zip([Member(b"a", b"", size=2**31 - 1, packed_size=2**31 - 1)]), 3, 4)
