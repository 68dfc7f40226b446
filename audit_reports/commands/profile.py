"""Jurisdiction profile: `profile show`, `profile set`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit_reports.options import (
    ApprovedByOption,
    ByOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    check_file_name,
    keys_folder,
    named_ledger,
)
from audit_reports.output import print_json, print_line, table, time_text

if TYPE_CHECKING:
    from ledger.profile import Profile
    from ledger.profile_setting import ProfileSetting

__all__ = ["register"]

EXIT_FINDINGS = 3
NOT_VALUES = ("id", "version", "title", "sources", "assumptions")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Jurisdiction profile: void deadline, retention, what a broken round pays, coins.")
    group.command("show")(show)
    group.command("set")(set_)
    app.add_typer(group, name="profile")


def show(
    profile_id: Annotated[
        str, typer.Option("--id", help="A profile's id, or 8 characters of its hash or more; the one in force unless named.")
    ] = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Show the profile in force, or one that was, or that comes with the program.

    Example: audit profile show --id better-of
    """
    from audit_reports.recorded_texts import RecordedTexts
    from audit_reports.verdict_view import finding_json, finding_lines
    from ledger.profile_setting import find_profile, profile_in_force, profile_settings
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        store, texts = opened.store, RecordedTexts(opened.store)
        profile = (find_profile(store, profile_id) if profile_id else profile_in_force(store)).profile
        is_in_force = profile.profile_hash == profile_in_force(store).profile.profile_hash
        settings = [each for each in profile_settings(store) if each.event.profile_hash == profile.profile_hash]
        set_at = [_setting_json(setting, texts) for setting in settings]
        findings = list(texts.findings("a profile's setting"))
    finally:
        opened.close()
    if as_json:
        facts = {"profile": profile.values, "profile_hash": profile.profile_hash, "is_in_force": is_in_force, "settings": set_at}
        print_json({"schema": "profile/1", **facts, "findings": [finding_json(finding) for finding in findings]})
    else:
        for line in _lines(profile, set_at, is_in_force=is_in_force):
            print_line(line)
        for finding in findings:
            for line in finding_lines(finding):
                print_line(line)
    sys.exit(EXIT_FINDINGS if findings else 0)


def _setting_json(setting: "ProfileSetting", texts: Any) -> dict[str, Any]:
    event = setting.event
    names = {"set_by": texts(event.set_by_hash), "approved_by": texts(event.approved_by_hash)}
    return {"event_index": setting.event_index, "set_at_us": event.set_at_us, **names}


def _lines(profile: "Profile", settings: list[dict[str, Any]], *, is_in_force: bool) -> Iterator[str]:
    yield f"{profile.name}: {profile.title}"
    yield f"hash {profile.profile_hash}, {'in force' if is_in_force else 'not in force'}"
    for setting in settings:
        yield f"set {time_text(setting['set_at_us'])} by {setting['set_by']}, approved by {setting['approved_by']}"
    if not settings:
        yield "it comes with the program and was never set" + (", and is in force while none is" if is_in_force else "")
    yield from table(("what", "value", "by"), _rows(profile))
    for name, text in (*profile.sources.items(), *profile.assumptions.items()):
        yield f"{name}: {text}"


def _rows(profile: "Profile") -> Iterator[tuple[str, str, str]]:
    for name, value in profile.values.items():
        if name in NOT_VALUES:
            continue
        for part in value if isinstance(value, list) else [value]:
            by = " ".join(filter(None, (part["source"] or f"assumption {part['assumption']}", part["clause"])))
            fields = [(field, found) for field, found in part.items() if field not in ("source", "assumption", "clause")]
            of = f" {fields.pop(0)[1]}" if isinstance(value, list) else ""  # what this one of several is about comes first
            for field, found in fields:
                yield f"{name}{of} {field}".replace("_", " "), _value_text(found), by


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def set_(
    file: Annotated[str, typer.Argument(help="A profile's TOML file, or the id of one that comes with the program.")],
    by: ByOption,
    approved_by: ApprovedByOption,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Have a profile govern the rounds opened from now on; those before stay under theirs.

    Example: audit profile set better-of --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.profile import load_profile, shipped_profile
    from ledger.profile_setting import set_profile
    from ledger.rounds import RoundLedger

    check_file_name(file, "FILE", "a profile's file")
    profile = shipped_profile(file) or load_profile(Path(file))
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        event = set_profile(opened.store, profile, by, approved_by)
    finally:
        opened.close()
    if as_json:
        facts = {"profile_id": profile.id, "profile_version": profile.version, "profile_hash": event.profile_hash}
        print_json({"schema": "profile/1", **facts, "set_at_us": event.set_at_us})
    else:
        print_line(f"in force from now on: {profile.name}, {event.profile_hash}")
