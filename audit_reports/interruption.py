"""Ctrl-C and SIGTERM: a command ends cleanly from its first moment on, and is never cut off inside a round.

This is imported before anything that takes time to load.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupted", "end_at_once", "held", "ignore_interrupts", "raise_interrupts"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_held: list[int] = []  # one more for each `held` that is entered
_pending: list[int] = []  # the signal that came while one was


class Interrupted(BaseException):
    """A signal that ends the command, told apart from what the command line library makes of it."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number

    @property
    def exit_status(self) -> int:
        """What a shell gives for the signal: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.signal_number


def _is_worker() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _end(signal_number: int, frame: FrameType | None) -> None:
    del frame
    os.write(2, b"interrupted; nothing was begun\n")
    os._exit(128 + signal_number)


def _raise(signal_number: int, frame: FrameType | None) -> None:
    del frame
    if _held:
        _pending[:] = [signal_number]
        return
    ignore_interrupts(signal_number)
    raise Interrupted(signal_number)


def end_at_once() -> None:
    """End the process at a signal without a word of Python's, while it is still loading; a worker process leaves that to its parent."""
    if _is_worker():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return
    for number in _SIGNALS:
        signal.signal(number, _end)


def raise_interrupts() -> None:
    """Raise Interrupted at a signal from here on; the first one alone, so that ending is not interrupted."""
    _held.clear()
    _pending.clear()
    for number in _SIGNALS:
        signal.signal(number, _raise)


def ignore_interrupts(signal_number: int = signal.SIGTERM) -> None:
    """Ignore further signals; after Ctrl-C, SIGTERM still ends the process."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN if signal_number == signal.SIGTERM or number == signal.SIGINT else signal.SIG_DFL)


@contextmanager
def held() -> Iterator[None]:
    """Keep a signal back until the work inside is done, which takes a moment only."""
    _held.append(1)
    try:
        yield
    finally:
        _held.pop()
    if _pending and not _held:
        number = _pending.pop()
        ignore_interrupts(number)
        raise Interrupted(number)
