"""Names that the ledger gives: time-ordered round ids, random references, and the clock they and the record go by."""

import os
import threading
import time
from datetime import UTC, datetime, timedelta

__all__ = ["RoundIds", "new_reference", "now_us", "utc_text"]

_RANDOM_BITS = 74
_STEP_BITS = 32


def now_us() -> int:
    """Return microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def utc_text(time_us: int) -> str:
    """Return a time in microseconds since 1970 as RFC 3339 has it, in UTC; of years up to 9999."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def new_reference() -> str:
    """Return 16 random bytes in hex: what an account, a writer or a ledger is called in the record."""
    return os.urandom(16).hex()


class RoundIds:
    """Makes UUIDv7 in 32 hex digits, each greater than the one before, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_ms = 0
        self._last_random = 0

    def next(self) -> str:
        """Return the next round id. Where the clock stands still or goes back, the last time is kept and the random part grows."""
        fresh = int.from_bytes(os.urandom(10), "big") >> 80 - _RANDOM_BITS
        with self._lock:
            milliseconds = time.time_ns() // 1_000_000
            if milliseconds <= self._last_ms:
                milliseconds, fresh = self._last_ms, self._last_random + 1 + (fresh >> _RANDOM_BITS - _STEP_BITS)
                if fresh >> _RANDOM_BITS:
                    milliseconds, fresh = milliseconds + 1, fresh % 2**_RANDOM_BITS
            self._last_ms, self._last_random = milliseconds, fresh
        high, low = fresh >> 62, fresh % 2**62
        return f"{milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low:032x}"
