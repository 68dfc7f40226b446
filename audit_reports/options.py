"""Options that several commands share, and how their values become paths, numbers and times."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from ledger.address import DatabaseAddress, LedgerPlace, ledger_place

__all__ = [
    "AccountOption",
    "CheckpointOption",
    "GameOption",
    "HistoryOption",
    "JsonOption",
    "KeysOption",
    "LedgerOption",
    "RulesOption",
    "SinceOption",
    "UntilOption",
    "UsageError",
    "VkeyOption",
    "ZoneOption",
    "check_game_known",
    "history_path",
    "job_count",
    "keys_folder",
    "ledger_path",
    "named_ledger",
    "parse_count",
    "parse_time",
]

LedgerOption = Annotated[
    str, typer.Option("--ledger", envvar="AUDIT_LEDGER", help="The ledger: a file, or postgresql://…", show_default=True)
]
KeysOption = Annotated[str, typer.Option("--keys", envvar="AUDIT_KEYS", help="Folder of the keys; beside a ledger file unless named.")]
HistoryOption = Annotated[str, typer.Option("--history", help="File of the read model; beside a ledger file unless named.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document, or JSON lines where many are listed.")]
RulesOption = Annotated[str, typer.Option("--rules", help="A rules file outside the registry.")]
GameOption = Annotated[str, typer.Option("--game", help="Id of a game, see `audit games`.")]
AccountOption = Annotated[str, typer.Option("--account", help="Name or reference of an account.")]
SinceOption = Annotated[str, typer.Option("--since", help="From this time on: RFC 3339 with an offset, or a date with --tz.")]
UntilOption = Annotated[str, typer.Option("--until", help="Before this time; a date means before that day begins.")]
ZoneOption = Annotated[str, typer.Option("--tz", help="Time zone of dates without an offset, such as Europe/Malta.")]
CheckpointOption = Annotated[
    list[str] | None, typer.Option("--checkpoint", help="A checkpoint kept elsewhere, to hold the record against; once for each.")
]
VkeyOption = Annotated[
    list[str] | None, typer.Option("--vkey", help="A verifier key that came by another way than the ledger; once for each.")
]

EPOCH_START = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class UsageError(Exception):
    """An option has a value that the command cannot take."""

    exit_status: ClassVar[int] = 2

    def __init__(self, option: str, wanted: str, found: str) -> None:
        super().__init__(option, wanted, found)
        self.option, self.wanted, self.found = option, wanted, found

    def __str__(self) -> str:
        return f"{self.option}: want {self.wanted}, got {self.found!r}"


def named_ledger(ledger: str) -> LedgerPlace:
    """Return where a ledger is: a file, or a database, whose password is never shown."""
    return ledger_place(ledger)


def ledger_path(ledger: str) -> Path:
    """Return the file of a ledger, for a command that works on files alone; raises UsageError for a database."""
    place = ledger_place(ledger)
    if isinstance(place, DatabaseAddress):
        raise UsageError("--ledger", "a file, this command does not work on a database", str(place))
    return place


def check_game_known(game: str) -> None:
    """Raise GameUnknownError for a game that is not installed: a misspelt filter must not look like a clean audit."""
    from engines.registry import rules_versions

    rules_versions(game)


def keys_folder(ledger: LedgerPlace, keys: str) -> Path:
    """Return the folder of the keys of a ledger (`record/1`, item 8); raises UsageError where a database's is not named."""
    if keys:
        return Path(keys)
    if isinstance(ledger, DatabaseAddress):
        raise UsageError("--keys", "the folder of the keys, as none lies beside a database", "none")
    return ledger.with_name(ledger.name + ".keys")


def history_path(ledger: LedgerPlace, history: str) -> Path:
    """Return the file of the read model of a ledger; raises UsageError where a database's is not named."""
    from ledger.history import default_history_path

    if isinstance(ledger, DatabaseAddress) and not history:
        raise UsageError("--history", "the file of the read model, as none lies beside a database", "none")
    return Path(history) if history else default_history_path(ledger)


def parse_count(text: str, option: str) -> int:
    """Return a count of 1 or more, written `1000000`, `1_000_000` or `1e6`; raises UsageError."""
    mantissa, mark, exponent = text.lower().partition("e")
    digits = mantissa.replace("_", "")
    if digits.isdecimal() and digits.isascii() and (not mark or (exponent.isdecimal() and exponent.isascii() and len(exponent) <= 2)):
        count: int = int(digits) * 10 ** int(exponent or "0")
        if 1 <= count <= 10**15:
            return count
    raise UsageError(option, "a whole number from 1 to 1e15, such as 1000000, 1_000_000 or 1e6", text)


def parse_time(text: str, option: str, zone: str) -> int | None:
    """Return a time in microseconds since 1970 UTC, None for an empty text; raises UsageError."""
    if not text:
        return None
    wanted = "a time such as 2026-11-30T14:00:00+01:00, or a date or time together with --tz Europe/Malta"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(option, wanted, text) from error
    if moment.tzinfo is None:
        if not zone:
            raise UsageError(option, wanted, text)
        try:
            moment = moment.replace(tzinfo=ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UsageError("--tz", "a time zone such as Europe/Malta or UTC", zone) from error
    return (moment - EPOCH_START) // timedelta(microseconds=1)


def job_count(jobs: int) -> int:
    """Return the number of worker processes: `jobs`, or one for each core where it is 0."""
    return jobs if jobs > 0 else os.cpu_count() or 1
