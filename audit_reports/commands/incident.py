"""Incidents and corrections: `incident record`, `incident list`, `incident show`, `correct`."""

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
    UsageError,
    check_file_name,
    keys_folder,
    named_ledger,
)
from audit_reports.output import print_json, print_line, table, time_text

if TYPE_CHECKING:
    from audit_reports.recorded_texts import RecordedTexts
    from ledger.incidents import Incident
    from ledger.lifecycle_events import CorrectionRecorded

__all__ = ["register"]

EXIT_FINDINGS = 3
ID_SHOWN = 12
PARTS = {
    "cause": "i. cause",
    "review": "ii. records reviewed",
    "repair": "iii. repair",
    "integrity": "iv. integrity before restart",
    "reason": "v. reason",
    "recovery": "vi. recovery",
}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Incidents: a malfunction in six parts, with the rounds that it concerns.")
    group.command("record")(record)
    group.command("list")(list_incidents)
    group.command("show")(show)
    app.add_typer(group, name="incident")
    app.command("correct")(correct)


def record(
    file: Annotated[str, typer.Option("--file", help="TOML file with the six parts (GLI-19, B.2.1(e)) and the rounds.")],
    by: ByOption,
    approved_by: ApprovedByOption,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record an incident; its texts are kept beside the record, in it by salted hash.

    Example: audit incident record --file outage.toml --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.incidents import load_incident, record_incident
    from ledger.rounds import RoundLedger

    check_file_name(file, "--file")
    report = load_incident(Path(file))
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        event = record_incident(opened, report, by, approved_by)
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "incident/1", "incident_id": event.incident_id, "round_ids": list(event.round_ids)})
    else:
        print_line(f"recorded incident {event.incident_id}, {_count(event.round_ids)}")


def _count(round_ids: tuple[str, ...]) -> str:
    return f"{len(round_ids)} round{'' if len(round_ids) == 1 else 's'}"


def list_incidents(ledger: LedgerOption = "ledger.db", as_json: JsonOption = False) -> None:
    """List the incidents in the order of the record.

    Example: audit incident list
    """
    from ledger.incidents import incidents
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        events = [incident.event for incident in incidents(opened.store)]
    finally:
        opened.close()
    if as_json:
        for event in events:
            print_json({"schema": "incident/1", **_facts(event)})
        print_json({"schema": "incident/1", "incidents": len(events)})
        return
    rows = [
        (event.incident_id[:ID_SHOWN], *map(time_text, (event.began_at_us, event.restored_at_us)), str(len(event.round_ids)),
         "yes" if event.is_recovered else "no")
        for event in events
    ]  # fmt: skip
    for line in table(("incident", "began", "restored", "rounds", "recovered"), rows, right=frozenset((3,))) if rows else ():
        print_line(line)
    print_line(f"{len(events)} incident{'' if len(events) == 1 else 's'} recorded")


def _facts(event: Any) -> dict[str, Any]:
    names = ("incident_id", "began_at_us", "restored_at_us", "is_recovered", "recorded_at_us")
    return {**{name: getattr(event, name) for name in names}, "round_ids": list(event.round_ids)}


def show(
    incident_id: Annotated[str, typer.Argument(help="An incident's id, or 8 characters of it or more.")],
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """Show an incident: its six parts and the rounds that it concerns.

    Example: audit incident show 4be1c07d
    """
    from audit_reports.recorded_texts import RecordedTexts
    from audit_reports.verdict_view import finding_json, finding_lines
    from ledger.incidents import find_incident
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        incident = find_incident(opened.store, incident_id)
        texts = RecordedTexts(opened.store)
        document = _document(incident, texts)
        findings = list(texts.findings(f"incident {incident.event.incident_id[:ID_SHOWN]}"))
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "incident/1", **document, "findings": [finding_json(finding) for finding in findings]})
    else:
        for line in (*_lines(document), *(line for finding in findings for line in finding_lines(finding))):
            print_line(line)
    sys.exit(EXIT_FINDINGS if findings else 0)


def _document(incident: "Incident", texts: "RecordedTexts") -> dict[str, Any]:
    event = incident.event
    parts = {name: texts(text_hash) for name, text_hash in incident.text_hashes.items()}
    names = {"recorded_by": texts(event.recorded_by_hash), "approved_by": texts(event.approved_by_hash)}
    return {**_facts(event), **parts, **names, "event_index": incident.event_index}


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield f"incident {document['incident_id']}"
    who = f"by {document['recorded_by']}, approved by {document['approved_by']}"
    yield f"recorded {time_text(document['recorded_at_us'])} {who}"
    yield f"began    {time_text(document['began_at_us'])}"
    yield f"restored {time_text(document['restored_at_us'])}"
    for name, title in PARTS.items():
        yield f"{title}{'' if name != 'recovery' else ', full' if document['is_recovered'] else ', not full'}:"
        yield from (f"  {line}" for line in document[name].splitlines())
    yield f"concerns {_count(tuple(document['round_ids']))}"
    yield from (f"  {round_id}" for round_id in document["round_ids"])


def correct(
    why: Annotated[str, typer.Option("--why", help="The reason, as free text; kept beside the record, in it by salted hash.")],
    by: ByOption,
    approved_by: ApprovedByOption,
    round_: Annotated[str, typer.Option("--round", help="The round of which an element was wrong; with --element and --after.")] = "",
    element: Annotated[str, typer.Option("--element", help="What was wrong, such as round_settled.total_win_minor.")] = "",
    after: Annotated[str, typer.Option("--after", help="What it should be; money in minor units.")] = "",
    account: Annotated[str, typer.Option("--account", help="The account whose balance was wrong; with --amount.")] = "",
    amount: Annotated[str, typer.Option("--amount", help="What it should have more, or with a minus less, in its currency.")] = "",
    incident: Annotated[str, typer.Option("--incident", help="The incident that led to it.")] = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record a correction: who, why, before and after. Nothing recorded is changed in place.

    A round's correction moves no money, an account's does.
    Example: audit correct --account player --amount 2.00 --why "paid short" --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.corrections import correct_balance, correct_round
    from ledger.money import parse_amount
    from ledger.rounds import RoundLedger

    if bool(round_) == bool(account):
        raise UsageError("--round, --account", "one of them", "both" if round_ else "neither")
    if (bool(element), bool(amount)) != (bool(round_), bool(account)) or (after and not round_):
        wanted = "--element and --after with --round, --amount with --account"
        raise UsageError("--element, --after, --amount", wanted, "others")
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        if round_:
            event = correct_round(opened, opened.find_round(round_), element, after, why, by, approved_by, incident=incident)
        else:
            row = opened.account(account)
            amount_minor = parse_amount(amount, row.currency)
            event = correct_balance(opened, row.account_ref, amount_minor, why, by, approved_by, incident=incident)
    finally:
        opened.close()
    _print_correction(event, as_json=as_json)


def _print_correction(event: "CorrectionRecorded", *, as_json: bool) -> None:
    names = ("alteration_id", "element", "before", "after", "movement_version", "incident_id", "corrected_at_us")
    if as_json:
        print_json({"schema": "correct/1", **{name: getattr(event, name) for name in names}})
    else:
        print_line(f"correction {event.alteration_id}: {event.element} {event.before} -> {event.after}")
