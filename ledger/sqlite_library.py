"""The SQLite library that Python's sqlite3 is linked to, called past it: rows are read where they lie, and no object is made of one.

Only the addresses of its public functions are taken, of the very library that is loaded: two of them in one process would let
go of each other's locks. Where Python was built with a library of its own inside, there are none to take.
"""

import ctypes
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ledger.sqlite_schema import BUSY_SECONDS, ledger_uri

__all__ = ["DirectConnection", "addresses"]

_READ_ONLY, _URI, _NO_MUTEX = 0x1, 0x40, 0x8000
_TRANSIENT = ctypes.c_void_p(-1)  # the library keeps a copy of its own


def addresses(module: str, names: Sequence[str]) -> dict[str, int]:
    """Return where functions of the library behind a module of Python's stand; raises ImportError where it shows none."""
    try:
        library = ctypes.CDLL(__import__(module).__file__)
        return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}
    except (AttributeError, OSError, TypeError) as error:
        raise ImportError(f"{module} shows no {names[0]}") from error


@cache
def _functions() -> Any:
    """Return the library's functions that open a file and prepare statements; raises ImportError where there are none."""
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    shapes = {
        "sqlite3_open_v2": (text, pointer, number, text),
        "sqlite3_close_v2": (pointer,),
        "sqlite3_busy_timeout": (pointer, number),
        "sqlite3_prepare_v2": (pointer, text, number, pointer, pointer),
        "sqlite3_bind_int64": (pointer, number, ctypes.c_int64),
        "sqlite3_bind_text": (pointer, number, text, number, pointer),
        "sqlite3_finalize": (pointer,),
    }
    found = addresses("_sqlite3", list(shapes))
    return {name: ctypes.CFUNCTYPE(number, *shape)(found[name]) for name, shape in shapes.items()}


class DirectConnection:
    """A connection that reads a ledger's file, for one thread. Errors are sqlite3.Error and say no more than where they came up."""

    def __init__(self, path: Path) -> None:
        self._functions, self._handle = _functions(), ctypes.c_void_p()
        self._statements: list[ctypes.c_void_p] = []
        uri = ledger_uri(path, writable=False).encode()
        self._call("sqlite3_open_v2", uri, ctypes.byref(self._handle), _READ_ONLY | _URI | _NO_MUTEX, None)
        self._call("sqlite3_busy_timeout", self._handle, 1000 * BUSY_SECONDS)

    def _call(self, name: str, *values: Any) -> None:
        if code := self._functions[name](*values):
            self.close()
            raise sqlite3.OperationalError(f"{name}: {code}")

    def prepared(self, statement: str, values: Sequence[int | str]) -> int:
        """Return the handle of a statement with these values, at its start; it is let go with the connection."""
        handle = ctypes.c_void_p()
        self._call("sqlite3_prepare_v2", self._handle, statement.encode(), -1, ctypes.byref(handle), None)
        self._statements.append(handle)
        for place, value in enumerate(values, 1):
            if isinstance(value, int):
                self._call("sqlite3_bind_int64", handle, place, value)
            else:
                data = value.encode()
                self._call("sqlite3_bind_text", handle, place, data, len(data), _TRANSIENT)
        return handle.value or 0

    def close(self) -> None:
        """Let go of statements and file."""
        for handle in self._statements:
            self._functions["sqlite3_finalize"](handle)
        self._statements.clear()
        self._functions["sqlite3_close_v2"](self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> "DirectConnection":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
