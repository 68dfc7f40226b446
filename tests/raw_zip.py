"""Zips of any form, honest or not: every header field can be other than it should be."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Member", "raw_zip"]


class Member(NamedTuple):
    """One member, and what its headers say of it; a size or CRC of None is the true one."""

    name: bytes
    data: bytes
    flags: int = 0
    method: int = 0
    size: int | None = None  # unpacked, in both headers
    packed_size: int | None = None
    central_size: int | None = None  # unpacked, in the central header alone
    crc: int | None = None
    extra: bytes = b""
    comment: bytes = b""
    attributes: int = 0o100644 << 16
    version: int = 20
    made_by: int = 3 << 8 | 20
    offset: int | None = None  # of the local header, as the central one says


def raw_zip(members: Sequence[Member], *, comment: bytes = b"", prefix: bytes = b"", suffix: bytes = b"", before_end: bytes = b"") -> bytes:
    """Return a zip of members in this order; `before_end` stands between the central directory and the end record."""
    parts, directory, offset = [prefix], [], len(prefix)
    for member in members:
        size = len(member.data) if member.size is None else member.size
        packed = len(member.data) if member.packed_size is None else member.packed_size
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        sizes = (len(member.name), len(member.extra))
        local = struct.pack("<4s5H3I2H", b"PK\3\4", member.version, member.flags, member.method, 0, 33, crc, packed, size, *sizes)
        central_size = size if member.central_size is None else member.central_size
        head = struct.pack("<4s6H", b"PK\1\2", member.made_by, member.version, member.flags, member.method, 0, 33)
        place = offset if member.offset is None else member.offset
        rest = struct.pack("<3I5H2I", crc, packed, central_size, *sizes, len(member.comment), 0, 0, member.attributes, place)
        directory.append(head + rest + member.name + member.extra + member.comment)
        parts += [local, member.name, member.extra, member.data]
        offset += len(local) + len(member.name) + len(member.extra) + len(member.data)
    central = b"".join(directory)
    count = len(members) % 2**16
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(central), offset, len(comment))
    return b"".join([*parts, central, before_end, end, comment, suffix])
