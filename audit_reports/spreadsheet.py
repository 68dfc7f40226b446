"""Text as a spreadsheet may have it: nothing of it is run as a formula."""

from audit_reports.output import printable

__all__ = ["spreadsheet_safe"]


def spreadsheet_safe(text: str) -> str:
    """Return text that no spreadsheet runs as a formula: with an apostrophe before what would begin one. Numbers are no text here."""
    shown = printable(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else shown
