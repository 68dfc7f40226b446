"""A file put in place whole or not at all: keys and checkpoints must survive a crash at any moment."""

import contextlib
import os
from pathlib import Path

from ledger.errors import LedgerUnwritable

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Put a file in place, durable when this returns; one of the same name is replaced. Raises LedgerUnwritable."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        os.replace(draft, path)
        _flush(path.parent)
    except OSError as error:
        raise LedgerUnwritable(str(path), error.strerror or type(error).__name__) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
