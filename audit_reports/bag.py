"""The form of an evidence pack (`docs/pack-format.md`, The file): a BagIt bag in a zip whose members alone decide every byte."""

import hashlib
import re
import struct
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

__all__ = [
    "BAG_TEXT",
    "BYTES_MAX",
    "MANIFEST",
    "TAG_MANIFEST",
    "PackUnreadableError",
    "bag_description",
    "folder_of",
    "is_certification",
    "manifest",
    "read_zip",
    "zip_bytes",
]

BAG_TEXT = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
BYTES_MAX, MEMBERS_MAX, NAME_MAX = 256 * 2**20, 2000, 120
_PART = r"(?!\.{1,2}(?:/|$))[a-z0-9._-]+"
_NAME = re.compile(f"{_PART}(?:/{_PART}){{0,3}}")
_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I"), struct.Struct("<4s4H2IH")
_VERSION, _UNIX, _DATE, _ATTRIBUTES = 20, 3 << 8, 33, 0o100644 << 16


class PackUnreadableError(Exception):
    """A file is no evidence pack: not of the one form that its members have."""

    exit_status = 4

    def __init__(self, where: str, want: str, got: str) -> None:
        super().__init__(where, want, got)
        self.where, self.want, self.got = where, want, got

    def __str__(self) -> str:
        return f"{self.where}: want {self.want}, got {self.got}; get the pack again from whoever built it"


def folder_of(round_id: str) -> str:
    """Return the folder that all members of a round's pack lie in."""
    return f"round-{hashlib.sha256(round_id.encode()).hexdigest()[:16]}"


def is_certification(members: Mapping[str, bytes]) -> bool:
    """Return whether the members of a pack are those of a game's certification, by the name of their folder."""
    return next(iter(members), "").startswith("certification-")


def bag_description(as_of_us: int, round_id: str, payload: Mapping[str, bytes]) -> bytes:
    """Return `bag-info.txt` of a payload as of a moment."""
    day = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=as_of_us)).date().isoformat()
    size = sum(map(len, payload.values()))
    return f"Bagging-Date: {day}\nExternal-Identifier: {round_id}\nPayload-Oxum: {size}.{len(payload)}\n".encode()


def manifest(members: Mapping[str, bytes]) -> bytes:
    """Return a manifest of members: the SHA-256 and name of each, in the order of names."""
    return "".join(f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members)).encode()


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    """Return the zip of members by name: stored, in the order of names, every field of its headers fixed."""
    parts, directory, offset = [], [], 0
    for name in sorted(members):
        data, encoded = members[name], name.encode("ascii")
        sizes = (zlib.crc32(data), len(data), len(data))
        local = _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, *sizes, len(encoded), 0) + encoded
        fixed = (len(encoded), 0, 0, 0, 0, _ATTRIBUTES, offset)
        directory.append(_CENTRAL.pack(b"PK\1\2", _UNIX | _VERSION, _VERSION, 0, 0, 0, _DATE, *sizes, *fixed) + encoded)
        parts += [local, data]
        offset += len(local) + len(data)
    central = b"".join(directory)
    end = _END.pack(b"PK\5\6", 0, 0, len(members), len(members), len(central), offset, 0)
    return b"".join([*parts, central, end])


def read_zip(data: bytes, where: str) -> dict[str, bytes]:
    """Return the members of a pack's zip by name, walking it from its first byte; raises PackUnreadableError for any other form."""
    if len(data) > BYTES_MAX:
        raise PackUnreadableError(where, f"{BYTES_MAX} bytes at most", str(len(data)))
    members: dict[str, bytes] = {}
    offset = 0
    while data[offset : offset + 4] == b"PK\3\4" and len(members) < MEMBERS_MAX:
        if len(data) - offset < _LOCAL.size:
            raise PackUnreadableError(where, "a whole member", f"the end of the file at {len(data)}")
        *_, size, name_size, _ = _LOCAL.unpack_from(data, offset)
        start = offset + _LOCAL.size + name_size
        name = data[offset + _LOCAL.size : start].decode("ascii", "replace")
        if len(name) > NAME_MAX or not _NAME.fullmatch(name) or name in members or start + size > len(data):
            raise PackUnreadableError(where, "a member of a new and simple name, whole", ascii(name)[:NAME_MAX])
        members[name] = data[start : start + size]
        offset = start + size
    if zip_bytes(members) != data:
        raise PackUnreadableError(where, "stored members alone, in order, with fixed headers", f"another form, {len(members)} members in")
    return members
