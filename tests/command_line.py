"""Runs the `audit` command in this process, as a script would see it."""

import json
from typing import Any, NamedTuple

import pytest

from audit_reports.cli import main

__all__ = ["Ended", "run"]


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> Ended:
    """Run `audit` with these arguments; a traceback is a failure of the test."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return Ended(int(end.value.code or 0), out, err)
