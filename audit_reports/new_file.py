"""A file that a command is told to write: new, and there whole or not at all."""

import contextlib
import os
from pathlib import Path

from audit_reports.options import UsageError
from ledger.errors import LedgerUnwritable
from ledger.whole_file import write_whole

__all__ = ["check_new", "write_new"]

_WANTED = "a file that is not there yet"


def check_new(out: str) -> None:
    """Raise UsageError where there is a file of the name of -o."""
    if out and os.path.lexists(out):
        raise UsageError("-o", _WANTED, out)


def write_new(out: str, content: bytes) -> None:
    """Write the new file of -o, durable when this returns; raises UsageError where there is one, LedgerUnwritable."""
    try:
        with open(out, "xb"):
            pass  # the name is ours from here on
    except FileExistsError as error:
        raise UsageError("-o", _WANTED, out) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise LedgerUnwritable(out, reason or type(error).__name__) from error
    try:
        write_whole(Path(out), content, 0o644)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(out)
        raise
