"""Approved builds: `builds register`, `builds list`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit_reports.options import ApprovedByOption, ByOption, JsonOption, KeysOption, LedgerOption, keys_folder, named_ledger
from audit_reports.output import note, print_json, print_line, table, time_text

if TYPE_CHECKING:
    from replay.self_check import CheckedBuild, SelfCheck

__all__ = ["register"]

EXIT_FINDINGS = 3
_FINGERPRINT_SHOWN = 16


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Approved builds: register what is installed, hold it against what is registered.")
    group.command("register")(register_installed)
    group.command("list")(list_builds)
    app.add_typer(group, name="builds")


def register_installed(
    by: ByOption,
    approved_by: ApprovedByOption,
    games: Annotated[list[str] | None, typer.Option("--game", help="Id of a game, once for each; all unless named.")] = None,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Register the builds installed here: from now on rounds of any other are `build_unapproved`.

    Example: audit builds register --by "R. Mayer" --approved-by "K. Lind"
    """
    from engines.registry import GAMES, installed_builds
    from ledger.builds import register_builds
    from ledger.rounds import RoundLedger

    installed = [build for game in dict.fromkeys(games or GAMES) for build in installed_builds(game)]
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        events = register_builds(opened, installed, by, approved_by)
    finally:
        opened.close()
    fresh = {(event.game, event.engine_fingerprint) for event in events}
    if as_json:
        print_json({"schema": "builds/1", "registered": [_event_json(event) for event in events]})
    else:
        for event in events:
            name = f"{event.game} {event.rules_version}"
            print_line(f"registered {name}: {event.engine_fingerprint}, {len(event.sources)} sources and the rules file")
    for build in installed:
        if (build.game, build.fingerprint) not in fresh:
            note(f"{build.game} {build.rules_version} is registered already: {build.fingerprint}")


def list_builds(ledger: LedgerOption = "ledger.db", as_json: JsonOption = False) -> None:
    """List the registered builds, and in which files what is installed here departs from them.

    Example: audit builds list
    """
    from audit_reports.recorded_texts import RecordedTexts
    from ledger.rounds import RoundLedger
    from replay.self_check import check_installed

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        checked = check_installed(opened)
        texts = RecordedTexts(opened.store)
        hashes = [text_hash for each in checked.registered for text_hash in (each.event.registered_by_hash, each.event.approved_by_hash)]
        names = {text_hash: texts(text_hash) for text_hash in hashes}
        checked.findings.extend(texts.findings("a registration"))
    finally:
        opened.close()
    if as_json:
        print_json(_document(checked, names))
    else:
        for line in _lines(checked, names):
            print_line(line)
    sys.exit(EXIT_FINDINGS if checked.findings else 0)


def _event_json(event: Any) -> dict[str, Any]:
    return {
        "game": event.game,
        "rules_version": event.rules_version,
        "rules_hash": event.rules_hash,
        "fingerprint": event.engine_fingerprint,
        "registered_at_us": event.registered_at_us,
        "sources": event.sources,
    }


def _document(checked: "SelfCheck", names: dict[str, str]) -> dict[str, Any]:
    from audit_reports.verdict_view import finding_json

    builds = [
        {
            **_event_json(build.event),
            "registered_by": names[build.event.registered_by_hash],
            "approved_by": names[build.event.approved_by_hash],
            "event_index": build.event_index,
            "is_installed": build.is_installed,
            "differences": [difference._asdict() for difference in build.differences],
        }
        for build in checked.registered
    ]
    installed = [
        {
            "game": build.game,
            "rules_version": build.rules_version,
            "fingerprint": build.fingerprint,
            "is_registered": checked.is_registered(build),
        }
        for build in checked.installed
    ]
    findings = [finding_json(finding) for finding in checked.findings]
    return {"schema": "builds/1", "builds": builds, "installed": installed, "findings": findings}


def _lines(checked: "SelfCheck", names: dict[str, str]) -> Iterator[str]:
    from audit_reports.verdict_view import finding_lines

    if not checked.registered:
        yield "no build is registered: no round is judged by its build"
    else:
        rows = [_row(build, names) for build in checked.registered]
        yield from table(("game", "rules", "fingerprint", "registered", "by", "approved by", "installed"), rows)
    for build in checked.registered:
        if build.differences:
            count = len(build.differences)
            yield f"{build.event.engine_fingerprint}: what is installed differs in {count} file{'' if count == 1 else 's'}"
        for difference in build.differences:
            yield f"  {difference.path}: want {difference.want}, got {difference.got}"
    for finding in checked.findings:
        yield from finding_lines(finding)


def _row(build: "CheckedBuild", names: dict[str, str]) -> tuple[str, ...]:
    event = build.event
    who = names[event.registered_by_hash], names[event.approved_by_hash]
    shown = event.engine_fingerprint[:_FINGERPRINT_SHOWN] + "…"
    return event.game, event.rules_version, shown, time_text(event.registered_at_us), *who, "yes" if build.is_installed else "no"
