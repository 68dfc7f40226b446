"""The win cap: what a win or prize may still add (ALL-1)."""

from engines.event_buffer import RoundBuffer, emit_cap_hit
from engines.jit import kernel

__all__ = ["cut_to_cap"]


@kernel
def cut_to_cap(buffer: RoundBuffer, total_before_minor: int, amount_minor: int, cap_minor: int) -> int:
    """Return what the cap leaves of `amount_minor`; -1 where it does not bite, else a `cap_hit` is written.

    It bites where an amount above 0 reaches or passes the cap.
    """
    if amount_minor == 0 or total_before_minor + amount_minor < cap_minor:
        return -1
    left = cap_minor - total_before_minor
    emit_cap_hit(buffer, total_before_minor, amount_minor, left)
    return left
