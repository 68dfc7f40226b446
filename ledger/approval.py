"""Two people for what nobody may do alone; their names stand beside the record, in it their salted hashes (`record/1`, item 6)."""

# ruff: noqa: N818 - as in errors.py

from typing import NamedTuple

from ledger.accounts import check_text
from ledger.errors import LedgerError
from ledger.store import TextRow
from ledger.texts import salted_text

__all__ = ["Approval", "ApproverSame", "approval_of"]


class ApproverSame(LedgerError):
    """One person has done and approved something."""

    exit_status = 2

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"--approved-by: want another person than --by, got {self.name!r} for both; have a second person approve it"


class Approval(NamedTuple):
    """The names of who does something and of who approves it, each as a row of texts."""

    by: TextRow
    approved_by: TextRow


def approval_of(by: str, approved_by: str) -> Approval:
    """Return the rows of two names under fresh salts; raises ApproverSame for one person twice, TextInvalid."""
    by, approved_by = by.strip(), approved_by.strip()
    check_text("--by", by, is_empty_allowed=False)
    check_text("--approved-by", approved_by, is_empty_allowed=False)
    if by.casefold() == approved_by.casefold():
        raise ApproverSame(by)
    return Approval(salted_text(by), salted_text(approved_by))
