"""A round between its opening and its end: `interrupt`, `void`, `held`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit_reports.interruption import held as signals_held
from audit_reports.options import (
    AccountOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    UsageError,
    ZoneOption,
    named_ledger,
    parse_time,
    writing_ledger,
)
from audit_reports.output import follow, note, print_json, print_line, table, time_text

if TYPE_CHECKING:
    from ledger.held import HeldRound
    from ledger.rounds import RoundLedger

__all__ = ["register", "settle_due"]

EXIT_FINDINGS = 3
REASONS = ("deadline", "cannot_continue", "malfunction")
RoundOption = Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")]
HEADS = ("round", "account", "game", "stands", "since", "held", "won so far", "", "then", "from")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("interrupt")(interrupt)
    app.command("void")(void)
    app.command("held")(held)


def interrupt(
    round_: RoundOption,
    cause: Annotated[str, typer.Option("--cause", help="One of the causes of GLI-19, 4.16.1 (a) to (e), or other; see below.")],
    broke_at: Annotated[str, typer.Option("--broke-at", help="When it was cut off; now unless named.")] = "",
    acked_event: Annotated[int, typer.Option("--acked-event", help="Index of the event that the player's device acknowledged last.")] = -1,
    acked_at: Annotated[str, typer.Option("--acked-at", help="When it did.")] = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record that a round in play was cut off; its cost is held until it goes on.

    Causes: connection_lost, system_restarted, device_restarted, software_ended, game_disabled, other.
    Example: audit interrupt --round 01a22cfdc2af --cause connection_lost --broke-at 2026-11-30T14:00:07Z
    """
    from ledger.interruptions import CAUSES, interrupt_round
    from ledger.money import amount_text

    if cause not in CAUSES:
        raise UsageError("--cause", " or ".join(CAUSES), cause)
    if (acked_event < 0) != (acked_at == ""):
        raise UsageError("--acked-event, --acked-at", "both or neither", "one of them")
    broke_at_us, acked_at_us = parse_time(broke_at, "--broke-at", zone), parse_time(acked_at, "--acked-at", zone)
    with writing_ledger(ledger, keys) as opened:
        recorded = opened.recorded(opened.find_round(round_))
        with signals_held():
            event = interrupt_round(
                opened.store, recorded, cause, broke_at_us=broke_at_us, acked_index=acked_event, acked_at_us=acked_at_us or 0
            )
    names = ("cause", "broke_at_us", "held_minor", "won_minor", "blocks")
    if as_json:
        print_json({"schema": "interrupt/1", "round_id": recorded.round_id, **{name: getattr(event, name) for name in names}})
        return
    currency = recorded.event.currency
    money = f"{amount_text(event.held_minor, currency)} {currency} held, {amount_text(event.won_minor, currency)} won so far"
    print_line(f"round {recorded.round_id} interrupted, {event.cause}: {money}")
    blocked = "its own game" if event.blocks == "own_game" else "every game"
    note(f"its account cannot play {blocked} until it goes on with: audit resume --round {recorded.round_id}")


def void(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    due: Annotated[bool, typer.Option("--due", help="Every round that its profile has void by now.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="deadline, cannot_continue or malfunction.")] = "",
    why: Annotated[str, typer.Option("--why", help="The reason in words; kept beside the record, in it by salted hash.")] = "",
    incident: Annotated[str, typer.Option("--incident", help="The incident that spoilt it; a malfunction needs one.")] = "",
    by: Annotated[str, typer.Option("--by", help="Name of who does it; kept beside the record, in it by salted hash.")] = "",
    approved_by: Annotated[str, typer.Option("--approved-by", help="Name of another person, who approves.")] = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """End a round in play without its outcome, and pay what its profile says.

    Examples: audit void --due · audit void --round 01a22cfdc2af --reason malfunction --incident 4be1c07d --why "reels stuck"
    --by "R. Mayer" --approved-by "K. Lind"
    """
    from ledger.voids import void_round

    if bool(round_) == due:
        raise UsageError("--round, --due", "one of them", "both" if due else "neither")
    if due:
        given = {"--reason": reason, "--why": why, "--incident": incident, "--by": by, "--approved-by": approved_by}
        for option, value in given.items():
            if value:
                raise UsageError(option, "it only together with --round", value)
        with writing_ledger(ledger, keys) as opened:
            settle_due(opened, "void", lambda held: _show_void(held.round_id, held.opened, _voided(opened, held), as_json=as_json))
        return
    if reason not in REASONS:
        raise UsageError("--reason", " or ".join(REASONS), reason)
    with writing_ledger(ledger, keys) as opened:
        recorded = opened.recorded(opened.find_round(round_))
        with signals_held():
            names = {"why": why, "by": by, "approved_by": approved_by, "incident": incident}
            event = void_round(opened, recorded.round_id, reason, **names)  # type: ignore[arg-type]
    _show_void(recorded.round_id, recorded.event, event, as_json=as_json)


def _voided(ledger: "RoundLedger", held: "HeldRound") -> Any:
    from ledger.voids import void_round

    with signals_held():
        return void_round(ledger, held.round_id, "deadline")


def _show_void(round_id: str, opened: Any, event: Any, *, as_json: bool) -> None:
    from ledger.money import amount_text

    names = ("reason", "pays", "won_minor", "refund_minor", "refund_bonus_minor", "incident_id", "balance_after_minor")
    if as_json:
        print_json({"schema": "void/1", "round_id": round_id, **{name: getattr(event, name) for name in names}})
        return
    amounts = (event.refund_minor, event.balance_after_minor)
    refund, balance = (f"{amount_text(minor, opened.currency)} {opened.currency}" for minor in amounts)
    bonus = f" and {amount_text(event.refund_bonus_minor, opened.currency)} of bonus money" if event.refund_bonus_minor else ""
    print_line(f"round {round_id} void, {event.reason}: pays {refund}{bonus} ({event.pays}), balance {balance}")


def settle_due(ledger: "RoundLedger", action: str, settle: Any) -> None:
    """Do with each round in play what its profile says, where it has come to that; one whose account plays another waits."""
    from ledger.errors import RoundInPlay
    from ledger.held import held_rounds

    now, count = ledger.store.clock(), 0
    due = [each for each in held_rounds(ledger) if each.due.action == action and each.is_due(now)]
    for each in follow(due, what="rounds settled", total=len(due)):
        try:
            settle(each)
        except RoundInPlay as error:
            note(f"round {each.round_id} is left for now: its account plays round {error.round_id}")
            continue
        count += 1
    note(f"{count} of {len(due)} rounds that were due")


def held(
    account: AccountOption = "",
    as_of: Annotated[str, typer.Option("--as-of", help="Judge at this time instead of now.")] = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    as_json: JsonOption = False,
) -> None:
    """List the rounds in play: the money held for each, and what its profile has happen next.

    Ends with 3 where one is overdue. Example: audit held --account anna
    """
    from ledger.held import held_rounds
    from ledger.rounds import RoundLedger

    at_us = parse_time(as_of, "--as-of", zone)
    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        account_ref = opened.account(account).account_ref if account else ""
        rounds = list(held_rounds(opened, account_ref))
        names = {each.opened.account_ref: opened.store.account_name(each.opened.account_ref) for each in rounds}
        now = opened.store.clock() if at_us is None else at_us
    finally:
        opened.close()
    overdue = sum(each.is_due(now) for each in rounds)
    sums: dict[str, int] = {}
    for each in rounds:
        sums[each.opened.currency] = sums.get(each.opened.currency, 0) + each.held_minor
    if as_json:
        for each in rounds:
            print_json({"schema": "held/1", **_facts(each, now)})
        print_json({"schema": "held/1", "rounds": len(rounds), "overdue": overdue, "held_minor": sums})
    else:
        for line in _lines(rounds, names, now, zone):
            print_line(line)
        print_line(_summary(len(rounds), overdue, sums))
    if overdue:
        sys.exit(EXIT_FINDINGS)


def _facts(each: "HeldRound", now: int) -> dict[str, Any]:
    opened = each.opened
    facts: dict[str, Any] = {"round_id": each.round_id, "account_ref": opened.account_ref, "game": opened.game}
    facts |= {"currency": opened.currency, "standing": each.standing, "cause": each.cause, "held_minor": each.held_minor}
    facts |= {"won_minor": each.won_minor, "bonus_minor": opened.bonus_minor}
    facts |= {"opened_at_us": opened.opened_at_us, "stopped_at_us": each.stopped_at_us, "profile": each.profile}
    return {**facts, "due": each.due.action, "due_at_us": each.due.at_us, "is_overdue": each.is_due(now)}


def _lines(rounds: list["HeldRound"], names: dict[str, str | None], now: int, zone: str) -> Iterator[str]:
    from ledger.money import amount_text

    rows = []
    for each in rounds:
        opened = each.opened
        amounts = [amount_text(minor, opened.currency) for minor in (each.held_minor, each.won_minor)]
        standing = f"{each.standing}, {each.cause}" if each.cause else each.standing
        then = f"{each.due.action}{', OVERDUE' if each.is_due(now) else ''}"
        name = names[opened.account_ref] or opened.account_ref
        times = (time_text(each.stopped_at_us, zone), time_text(each.due.at_us, zone))
        rows.append((each.round_id, name, opened.game, standing, times[0], *amounts, opened.currency, then, times[1]))
    yield from table(HEADS, rows, right=frozenset((5, 6))) if rows else ()


def _summary(count: int, overdue: int, sums: dict[str, int]) -> str:
    from ledger.money import amount_text

    money = ", ".join(f"{amount_text(minor, currency)} {currency}" for currency, minor in sorted(sums.items())) or "nothing"
    late = f"; {overdue} overdue: audit resume --due, audit void --due, or two people decide" if overdue else ""
    return f"{count} round{'' if count == 1 else 's'} in play, {money} held{late}"
