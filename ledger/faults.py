"""One thing that is wrong in a ledger, as the check of a whole ledger names it."""

from typing import NamedTuple, TypeAlias

__all__ = ["EventFault", "Fault"]

# What does not follow from the events before: code, what, want, got.
EventFault: TypeAlias = tuple[str, str, str, str]


class Fault(NamedTuple):
    """One thing that is wrong in a ledger: where it stands, what was wanted and found.

    `row` names the table and its key; `stream` and `event_index` (from 0) are "" and -1 where it is about no event.
    """

    code: str
    row: str
    stream: str
    event_index: int
    want: str
    got: str

    @property
    def message(self) -> str:
        """The fault in one sentence."""
        place = f"event {self.event_index} of {self.stream}, " if self.event_index >= 0 else f"{self.stream}, " if self.stream else ""
        return f"{place}{self.row}: want {self.want}, got {self.got}"
