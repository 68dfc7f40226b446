"""What came of checking a pack, as text for people."""

from collections.abc import Iterator

from audit_reports.pack_check import PackCheck
from audit_reports.verdict_view import finding_lines

__all__ = ["check_lines"]


def check_lines(found: PackCheck) -> Iterator[str]:
    """Yield what was found first, then what was checked and what could not be, then the findings."""
    count = len(found.findings)
    named = f", {found.said_count} of them named by the pack itself" if found.said_count else ""
    head = "NOTHING FOUND" if not count else f"{count} FINDING{'S' * (count > 1)}"
    yield f"{head}  pack of round {found.round_id}, {found.verdict}{named}"
    yield from (f"  checked      {text}" for text in found.checked)
    yield from (f"  not checked  {text}" for text in found.unchecked)
    for finding in found.findings:
        yield from finding_lines(finding)
