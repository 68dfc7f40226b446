"""Options that several commands share, and how their values become paths, numbers and times."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from ledger.address import DATABASE_SCHEMES, DatabaseAddress, LedgerPlace, ledger_place

if TYPE_CHECKING:
    from engines.rules import GameRules
    from ledger.rounds import RoundLedger

__all__ = [
    "AccountOption",
    "ApprovedByOption",
    "AsOfOption",
    "ByOption",
    "CheckpointOption",
    "GameOption",
    "HistoryOption",
    "JsonOption",
    "KeysOption",
    "LedgerOption",
    "RulesOption",
    "SinceOption",
    "Span",
    "UntilOption",
    "UsageError",
    "VkeyOption",
    "ZoneOption",
    "check_file_name",
    "check_game_known",
    "check_place",
    "chosen_choices",
    "chosen_rules",
    "history_path",
    "job_count",
    "keys_folder",
    "named_choices",
    "named_ledger",
    "parse_count",
    "parse_moment",
    "parse_span",
    "parse_time",
    "writing_ledger",
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
AsOfOption = Annotated[str, typer.Option("--as-of", help="The time by which deadlines are judged, as with --since; now unless named.")]
ZoneOption = Annotated[str, typer.Option("--tz", help="Time zone of dates without an offset, such as Europe/Malta.")]
ByOption = Annotated[str, typer.Option("--by", help="Name of who does it; kept beside the record, in it by salted hash.")]
ApprovedByOption = Annotated[str, typer.Option("--approved-by", help="Name of another person, who approves.")]
CheckpointOption = Annotated[
    list[str] | None, typer.Option("--checkpoint", help="A checkpoint kept elsewhere, to hold the record against; once for each.")
]
VkeyOption = Annotated[
    list[str] | None, typer.Option("--vkey", help="A verifier key that came by another way than the ledger; once for each.")
]

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*)://")
_COUNT = re.compile(r"([0-9]+(?:_[0-9]+)*)(?:[eE]([0-9]{1,2}))?")
_COUNT_LENGTH_MAX = 40
# RFC 3339; seconds may be left out, and so may the time or the offset where --tz says what is meant.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?")
EPOCH_START = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class UsageError(Exception):
    """An option has a value that the command cannot take."""

    exit_status: ClassVar[int] = 2

    def __init__(self, option: str, wanted: str, found: str) -> None:
        super().__init__(option, wanted, found)
        self.option, self.wanted, self.found = option, wanted, found

    def __str__(self) -> str:
        return f"{self.option}: want {self.wanted}, got {self.found!r}"


class Span(NamedTuple):
    """A span of time in microseconds since 1970 UTC, open where it is None; the end is the first moment that is too late."""

    since_us: int | None
    until_us: int | None


def check_place(text: str, option: str, wanted: str) -> None:
    """Raise UsageError for an address, whose password is not shown, and for bytes that are no text, where a file or folder is wanted."""
    if "://" in text:
        scheme = _SCHEME.match(text)
        raise UsageError(option, wanted, f"{scheme[1] if scheme else '…'}://…")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(option, "a name that is Unicode text", os.fsencode(text).decode("ascii", "backslashreplace")) from error


def check_file_name(text: str, option: str, wanted: str = "a file") -> None:
    """Raise UsageError for what cannot be the name of a file: as `check_place`, and where it has none."""
    check_place(text, option, wanted)
    if Path(text).name in ("", ".."):
        raise UsageError(option, "the name of a file", text)


def named_ledger(ledger: str) -> LedgerPlace:
    """Return where a ledger is: a file, or a database, whose password is never shown; raises UsageError."""
    if not ledger.startswith(DATABASE_SCHEMES):
        check_file_name(ledger, "--ledger", "a file, or a database at postgresql://…")
    return ledger_place(ledger)


def check_game_known(game: str) -> None:
    """Raise GameUnknownError for a game that is not installed: a misspelt filter must not look like a clean audit."""
    from engines.registry import rules_versions

    rules_versions(game)


def chosen_rules(game: str, file: str, version: str = "") -> "GameRules":
    """Return the rules in the file named, which must be the game's, or else those that are installed.

    Raises UsageError, GameUnknownError, VersionUnknownError, RulesError.
    """
    from engines.registry import installed_rules
    from engines.rules import load_rules

    if not file:
        return installed_rules(game, version or None)
    check_game_known(game)
    rules = load_rules(Path(file))
    if rules.game != game:
        raise UsageError("--game", f"{rules.game}, whose rules {file} holds", game)
    if version not in ("", rules.version):
        raise UsageError("--version", f"{rules.version}, as {file} says", version)
    return rules


def keys_folder(ledger: LedgerPlace, keys: str) -> Path:
    """Return the folder of the keys of a ledger (`record/1`, item 8); raises UsageError where a database's is not named."""
    if keys:
        check_place(keys, "--keys", "a folder")
        return Path(keys)
    if isinstance(ledger, DatabaseAddress):
        raise UsageError("--keys", "the folder of the keys, as none lies beside a database", "none")
    return ledger.with_name(ledger.name + ".keys")


@contextmanager
def writing_ledger(ledger: str, keys: str) -> Iterator["RoundLedger"]:
    """Give the ledger of --ledger and --keys, open for writing; raises as `RoundLedger.open_for_writing`, UsageError."""
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        yield opened
    finally:
        opened.close()


def history_path(ledger: LedgerPlace, history: str) -> Path:
    """Return the file of the read model of a ledger; raises UsageError where a database's is not named."""
    from ledger.history import default_history_path

    if isinstance(ledger, DatabaseAddress) and not history:
        raise UsageError("--history", "the file of the read model, as none lies beside a database", "none")
    if history:
        check_file_name(history, "--history")
    return Path(history) if history else default_history_path(ledger)


def parse_count(text: str, option: str) -> int:
    """Return a count of 1 or more, written `1000000`, `1_000_000` or `1e6`; raises UsageError."""
    match = _COUNT.fullmatch(text) if len(text) <= _COUNT_LENGTH_MAX else None
    if match:
        count: int = int(match[1]) * 10 ** int(match[2] or "0")
        if 1 <= count <= 10**15:
            return count
    shown = text if len(text) <= _COUNT_LENGTH_MAX else f"{text[:_COUNT_LENGTH_MAX]}…"
    raise UsageError(option, "a whole number from 1 to 1e15, such as 1000000, 1_000_000 or 1e6", shown)


def _zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError("--tz", "a time zone such as Europe/Malta or UTC", zone) from error


def parse_time(text: str, option: str, zone: str) -> int | None:
    """Return a time in microseconds since 1970 UTC, None for an empty text; raises UsageError, for an unknown zone in any case."""
    place = _zone(zone) if zone else None
    if not text:
        return None
    wanted = "a time such as 2026-11-30T14:00:00+01:00, or a date or time together with --tz Europe/Malta"
    try:
        if not _TIME.fullmatch(text):
            raise UsageError(option, wanted, text)
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is None:
            if place is None:
                raise UsageError(option, wanted, text)
            local, moment = moment, moment.replace(tzinfo=place)
            if moment.astimezone(UTC).astimezone(place).replace(tzinfo=None) != local:
                raise UsageError(option, f"a time that there was in {zone}: its clocks were put forward past this one", text)
    except (ValueError, OverflowError) as error:
        raise UsageError(option, wanted, text) from error
    return (moment - EPOCH_START) // timedelta(microseconds=1)


def parse_moment(as_of: str, zone: str) -> int | None:
    """Return the time of --as-of, None where none was named; raises UsageError for one that a pack cannot hold."""
    from engines.canonical import INTEGER_MAX

    as_of_us = parse_time(as_of, "--as-of", zone)
    if as_of_us is not None and not 0 <= as_of_us <= INTEGER_MAX:
        raise UsageError("--as-of", "a time from 1970 to 2255", as_of)
    return as_of_us


def parse_span(since: str, until: str, zone: str) -> Span:
    """Return the span of time between --since and --until; raises UsageError, also where it ends before it begins."""
    span = Span(parse_time(since, "--since", zone), parse_time(until, "--until", zone))
    if span.since_us is not None and span.until_us is not None and span.since_us > span.until_us:
        raise UsageError("--until", f"a time after --since {since}", until)
    return span


def chosen_choices(rules: "GameRules", choice: str) -> tuple[int, ...]:
    """Return the choice of this name as rounds take it, the first one where none is named; raises UsageError."""
    return named_choices(rules, choice) or ((0,) if rules.choice_names else ())


def named_choices(rules: "GameRules", choice: str) -> tuple[int, ...] | None:
    """Return the choice of this name, or of this place in the rules file, as rounds take it; None where none is named, or UsageError."""
    names = rules.choice_names
    if not choice:
        return None
    if not names:
        raise UsageError("--choice", f"none, as a round of {rules.game} waits for no choice", choice)
    if choice.isascii() and choice.isdecimal() and int(choice) < len(names):
        return (int(choice),)
    if choice not in names:
        raise UsageError("--choice", f"one of {', '.join(names)}", choice)
    return (names.index(choice),)


def job_count(jobs: int) -> int:
    """Return the number of worker processes: `jobs`, or one for each core where it is 0; raises UsageError below 0."""
    if jobs < 0:
        raise UsageError("--jobs", "0 or more", str(jobs))
    return jobs or os.cpu_count() or 1
