"""Disputes: `dispute open`, `dispute close`, `dispute list`, `dispute show`."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from audit_reports.options import (
    ApprovedByOption,
    AsOfOption,
    ByOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    UsageError,
    ZoneOption,
    named_ledger,
    parse_time,
    writing_ledger,
)
from audit_reports.output import print_json, print_line, table, time_text

if TYPE_CHECKING:
    from ledger.disputes import Decision, Dispute
    from ledger.profile import Profile
    from ledger.rounds import RoundLedger
    from replay.verdict import Finding

__all__ = ["register"]

EXIT_FINDINGS = 3
ID_SHOWN = 12
HEADS = ("dispute", "received", "answer due", "answered", "rounds", "state", "finding")
DisputeArgument = Annotated[str, typer.Argument(help="A dispute's id, or 8 characters of it or more.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Disputes: a complaint about rounds, until when it is to be answered, and its answer.")
    group.command("open")(open_)
    group.command("close")(close)
    group.command("list")(list_disputes)
    group.command("show")(show)
    app.add_typer(group, name="dispute")


def open_(
    rounds: Annotated[list[str], typer.Option("--round", help="A round that it concerns: id, prefix or ext:REF; once for each.")],
    claim: Annotated[str, typer.Option("--claim", help="What is claimed, as free text; kept beside the record, in it by salted hash.")],
    received: Annotated[str, typer.Option("--received", help="When it came in: RFC 3339 with an offset, or a date with --tz.")],
    by: ByOption,
    account: Annotated[str, typer.Option("--account", help="Account of whoever complains, by name or reference.")] = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record that a complaint came in: its rounds are on legal hold, where their profile says so, until it is closed.

    Example: audit dispute open --round 01a22cfd --claim "paid short" --received 2026-11-30T14:00:00+01:00 --by "R. Mayer"
    """
    from ledger.disputes import open_dispute

    received_at_us = parse_time(received, "--received", zone)
    if received_at_us is None:
        raise UsageError("--received", "a time such as 2026-11-30T14:00:00+01:00", received)
    with writing_ledger(ledger, keys) as opened:
        event = open_dispute(opened, rounds, claim, received_at_us, by, claimant=account)
        entry = _judge(opened, [_dispute_of(opened, event.dispute_id)], opened.store.clock())[0]
    if as_json:
        print_json({"schema": "dispute/1", **entry.facts})
    else:
        print_line(f"opened dispute {event.dispute_id}, {_count(event.round_ids)}; {entry.due_text}")
        _print_findings(entry.findings)


def _count(round_ids: Sequence[str]) -> str:
    return f"{len(round_ids)} round{'' if len(round_ids) == 1 else 's'}"


def close(
    dispute: DisputeArgument,
    answer: Annotated[str, typer.Option("--answer", help="The answer, as free text; kept beside the record, in it by salted hash.")],
    decision: Annotated[str, typer.Option("--decision", help="One of upheld, rejected, settled, withdrawn.")],
    by: ByOption,
    approved_by: ApprovedByOption,
    answered: Annotated[str, typer.Option("--answered", help="When the answer went out, as --since; now unless named.")] = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record how a complaint was answered; it holds its rounds no longer. What is to be put right is a correction of its own.

    Example: audit dispute close 4be1c07d --answer "paid as recorded" --decision rejected --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.disputes import close_dispute

    answered_at_us = parse_time(answered, "--answered", zone)
    with writing_ledger(ledger, keys) as opened:
        chosen = cast("Decision", decision)  # which the ledger looks at
        event = close_dispute(opened, dispute, answer, chosen, by, approved_by, answered_at_us=answered_at_us)
        entry = _judge(opened, [_dispute_of(opened, event.dispute_id)], event.closed_at_us)[0]
    if as_json:
        print_json({"schema": "dispute/1", **entry.facts})
    else:
        print_line(f"closed dispute {event.dispute_id}: {event.decision}, answered {time_text(event.answered_at_us)}")
        _print_findings(entry.findings)


def _dispute_of(ledger: "RoundLedger", wanted: str) -> "Dispute":
    from ledger.disputes import find_dispute

    return find_dispute(ledger.store, wanted)


class _Entry(NamedTuple):
    """A dispute with what its rounds' profiles say of its answer."""

    dispute: "Dispute"
    due_at_us: int | None  # None where no profile is known
    profile: "Profile | None"
    findings: "list[Finding]"

    @property
    def state(self) -> str:
        """What it has come to."""
        return self.dispute.closed.decision if self.dispute.closed is not None else "open"

    @property
    def due_text(self) -> str:
        """Until when it is to be answered."""
        if self.due_at_us is None or self.profile is None:
            return "when to answer it is not known, as the values of its rounds' profiles are not"
        return f"to be answered by {time_text(self.due_at_us)}, as profile {self.profile.name} has it"

    @property
    def facts(self) -> dict[str, Any]:
        """Its values as JSON has them."""
        opened, closed = self.dispute
        return {
            "dispute_id": opened.dispute_id,
            "round_ids": list(opened.round_ids),
            "claimant_ref": opened.claimant_ref,
            "received_at_us": opened.received_at_us,
            "recorded_at_us": opened.recorded_at_us,
            "due_at_us": self.due_at_us,
            "profile": self.profile.name if self.profile is not None else None,
            "state": self.state,
            "answered_at_us": closed.answered_at_us if closed is not None else None,
            "closed_at_us": closed.closed_at_us if closed is not None else None,
            "findings": [finding._asdict() for finding in self.findings],
        }


def _judge(ledger: "RoundLedger", found: "Sequence[Dispute]", as_of_us: int) -> list[_Entry]:
    from ledger.disputes import answer_time
    from ledger.named_profiles import NamedProfiles
    from replay.disputes import check_answer

    named, entries = NamedProfiles(ledger.store), []
    for dispute in found:
        profiles = named.of_rounds(dispute.opened.round_ids)
        due = answer_time(dispute, profiles)
        due_at_us, profile = due if due is not None else (None, None)
        entries.append(_Entry(dispute, due_at_us, profile, check_answer(dispute, profiles, as_of_us)))
    return entries


def _print_findings(findings: "Sequence[Finding]") -> None:
    from audit_reports.verdict_view import finding_lines

    for finding in findings:
        for line in finding_lines(finding):
            print_line(line)


def list_disputes(
    is_open: Annotated[bool, typer.Option("--open", help="Only those that are not closed.")] = False,
    is_overdue: Annotated[bool, typer.Option("--overdue", help="Only those that are not closed and past their time.")] = False,
    as_of: AsOfOption = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """List the disputes in the order of the record; one that was not answered in time is a finding.

    Example: audit dispute list --overdue --as-of 2026-12-04 --tz Europe/Malta
    """
    from ledger.disputes import disputes
    from ledger.rounds import RoundLedger

    asked_us = parse_time(as_of, "--as-of", zone)
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        as_of_us = opened.store.clock() if asked_us is None else asked_us
        entries = _judge(opened, disputes(opened.store), as_of_us)
    finally:
        opened.close()
    if is_open or is_overdue:
        entries = [entry for entry in entries if entry.dispute.closed is None and (entry.findings or not is_overdue)]
    findings = [finding for entry in entries for finding in entry.findings]
    if as_json:
        for entry in entries:
            print_json({"schema": "dispute/1", **entry.facts})
        open_count = sum(entry.dispute.closed is None for entry in entries)
        counts = {"disputes": len(entries), "open": open_count, "finding_count": len(findings)}
        print_json({"schema": "dispute/1", **counts, "as_of_us": as_of_us})
    else:
        for line in table(HEADS, map(_row, entries), right=frozenset((4,))) if entries else ():
            print_line(line)
        print_line(f"{len(entries)} dispute{'' if len(entries) == 1 else 's'}, as of {time_text(as_of_us)}")
        _print_findings(findings)
    sys.exit(EXIT_FINDINGS if findings else 0)


def _row(entry: _Entry) -> tuple[str, ...]:
    opened, closed = entry.dispute
    due = time_text(entry.due_at_us) if entry.due_at_us is not None else "not known"
    answered = time_text(closed.answered_at_us) if closed is not None else ""
    found = " ".join(finding.code for finding in entry.findings)
    return opened.dispute_id[:ID_SHOWN], time_text(opened.received_at_us), due, answered, str(len(opened.round_ids)), entry.state, found


def show(dispute: DisputeArgument, ledger: LedgerOption = "ledger.db", as_json: JsonOption = False) -> None:
    """Show a dispute: claim, answer, decision, the rounds that it concerns, and whether it was answered in time.

    Example: audit dispute show 4be1c07d
    """
    from audit_reports.recorded_texts import RecordedTexts
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        entry = _judge(opened, [_dispute_of(opened, dispute)], opened.store.clock())[0]
        texts = RecordedTexts(opened.store)
        hashes = {**_hashes(entry.dispute.opened), **_hashes(entry.dispute.closed)}
        said = {name: texts(text_hash) for name, text_hash in hashes.items()}
        entry.findings.extend(texts.findings(f"dispute {entry.dispute.dispute_id[:ID_SHOWN]}"))
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "dispute/1", **entry.facts, **said})
    else:
        for line in _lines(entry, said):
            print_line(line)
        _print_findings(entry.findings)
    sys.exit(EXIT_FINDINGS if entry.findings else 0)


def _hashes(event: Any) -> dict[str, str]:
    """Return the salted hashes of an event by the name of what they are of."""
    names = [name for name in type(event).model_fields if name.endswith("_hash")] if event is not None else []
    return {name.removesuffix("_hash"): getattr(event, name) for name in names}


def _lines(entry: _Entry, said: dict[str, str]) -> Iterator[str]:
    opened, closed = entry.dispute
    yield f"dispute {opened.dispute_id}: {entry.state}"
    yield f"received {time_text(opened.received_at_us)}, recorded {time_text(opened.recorded_at_us)} by {said['recorded_by']}"
    yield entry.due_text
    if opened.claimant_ref:
        yield f"claimed by account {opened.claimant_ref}"
    yield "claim:"
    yield from (f"  {line}" for line in said["claim"].splitlines())
    if closed is not None:
        yield f"answered {time_text(closed.answered_at_us)}, closed {time_text(closed.closed_at_us)}"
        yield f"by {said['closed_by']}, approved by {said['approved_by']}"
        yield "answer:"
        yield from (f"  {line}" for line in said["answer"].splitlines())
    yield f"concerns {_count(opened.round_ids)}"
    yield from (f"  {round_id}" for round_id in opened.round_ids)
