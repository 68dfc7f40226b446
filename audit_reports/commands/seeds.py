"""Seed epochs: `seeds list`, `rotate`, `reveal`, `release`, `rekey`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.interruption import held
from audit_reports.options import (
    AccountOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    SinceOption,
    UsageError,
    ZoneOption,
    keys_folder,
    named_ledger,
    parse_time,
)
from audit_reports.output import note, print_json, print_line, table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(no_args_is_help=True, help="Seed epochs: list, close, reveal; keys of settled rounds; another seed key.")
    group.command("list")(list_epochs)
    group.command("rotate")(rotate)
    group.command("reveal")(reveal)
    group.command("release")(release)
    group.command("rekey")(rekey)
    app.add_typer(group, name="seeds")


def list_epochs(account: AccountOption = "", ledger: LedgerOption = "ledger.db", as_json: JsonOption = False) -> None:
    """List the seed epochs, with the nonce that comes next in an open one.

    With --account those of the account's own: what its player is shown before betting.
    Example: audit seeds list --account player
    """
    from ledger.disclosure import epoch_states
    from ledger.rounds import RoundLedger

    opened = RoundLedger.open_for_reading(named_ledger(ledger))
    try:
        states = list(epoch_states(opened, opened.account(account).account_ref if account else ""))
        names = {ref: opened.store.account_name(ref) or ref for ref in {state.account_ref for state in states} if ref}
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "seeds/1", "epochs": [state._asdict() for state in states]})
        return
    rows = [
        (
            str(state.epoch),
            state.status,
            str(state.round_count),
            str(state.next_nonce) if state.status == "open" else "",
            names.get(state.account_ref, "(a writer)"),
            state.seed_commitment,
        )
        for state in states
    ]
    for line in table(("epoch", "status", "rounds", "next nonce", "of", "commitment"), rows, right=frozenset((0, 2, 3))):
        print_line(line)


def rotate(ledger: LedgerOption = "ledger.db", keys: KeysOption = "", as_json: JsonOption = False) -> None:
    """Close every open epoch; a writer starts a new one.

    Example: audit seeds rotate
    """
    from ledger.disclosure import rotate_epochs

    opened = _open(ledger, keys)
    try:
        numbers = rotate_epochs(opened)
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "seeds/1", "closed": numbers})
    else:
        print_line(f"{len(numbers)} epoch{'' if len(numbers) == 1 else 's'} closed{': ' if numbers else ''}{', '.join(map(str, numbers))}")


def reveal(
    epoch: Annotated[int, typer.Option("--epoch", help="Number of the epoch; every one that can be, unless named.")] = 0,
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record the seeds of closed epochs for everybody.

    Only where none of the epoch's rounds is in play.
    Example: audit seeds reveal --epoch 3
    """
    from ledger.disclosure import EpochNotRevealable, epoch_states, epochs_in_play, reveal_seed

    opened = _open(ledger, keys)
    seeds: dict[int, str] = {}
    try:
        numbers = [epoch] if epoch else [state.epoch for state in epoch_states(opened) if state.status == "closed"]
        in_play = None if epoch else epochs_in_play(opened)  # looked up once, after those epochs were seen to be closed
        for number in numbers:
            try:
                seeds[number] = reveal_seed(opened, number, in_play)
            except EpochNotRevealable as error:
                if epoch:
                    raise
                note(str(error))
    finally:
        opened.close()
    if as_json:
        print_json({"schema": "seeds/1", "revealed": [{"epoch": number, "server_seed": seed} for number, seed in seeds.items()]})
        return
    for number, seed in seeds.items():
        print_line(f"epoch {number}: {seed}")
    print_line(f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'} revealed")


def release(
    out: Annotated[str, typer.Option("-o", "--out", help="A new file for the keys, a JSON line each.")],
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    since: SinceOption = "",
    zone: ZoneOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Give an auditor the keys of settled rounds.

    Never a seed. The auditor names the file in `audit verify --round-keys FILE`.
    Example: audit seeds release --round 01a22cfdc2af -o keys.jsonl
    """
    from ledger.disclosure import release_key
    from ledger.history import RoundFilter, round_rows

    if bool(round_) == bool(since):
        raise UsageError("--round, --since", "one of them", "both" if round_ else "neither")
    if zone and not since:
        raise UsageError("--tz", "it with --since alone", zone)
    since_us = parse_time(since, "--since", zone)
    place = Path(out)
    if place.exists():
        raise UsageError("-o", "a new file", out)
    opened = _open(ledger, keys)
    try:
        if round_:
            ids = [opened.find_round(round_)]
        else:
            wanted = RoundFilter(since_us=since_us, status="settled")
            ids = [entry.round_id for entry in round_rows(opened, wanted) if entry.status == "settled"]
        released = [release_key(opened, round_id) for round_id in ids]
    finally:
        opened.close()
    _write(place, released)
    if as_json:
        print_json({"schema": "seeds/1", "released": [key.round_id for key in released], "file": out})
    else:
        print_line(f"{len(released)} round key{'' if len(released) == 1 else 's'} written to {out}")


def rekey(ledger: LedgerOption = "ledger.db", keys: KeysOption = "", as_json: JsonOption = False) -> None:
    """Put a new seed key in place of one that leaked.

    Every open epoch is closed; keys of before stay in the folder, as they open the seeds of their time until these are revealed.
    Example: audit seeds rekey
    """
    from ledger.seed_rotation import rotate_seed_key

    place = named_ledger(ledger)
    folder = keys_folder(place, keys)
    opened = _open(ledger, keys)
    try:
        with held():
            exchange = rotate_seed_key(opened.store, folder)
    finally:
        opened.close()
    count = len(exchange.closed_epochs)
    if as_json:
        print_json({"schema": "seeds/1", "keys": str(folder), **exchange._asdict()})
        return
    print_line(f"seed key {exchange.new_key_id[:16]} in force, in {folder}; {exchange.old_key_id[:16]} is kept beside it")
    print_line(f"{count} epoch{'' if count == 1 else 's'} closed{': ' if count else ''}{', '.join(map(str, exchange.closed_epochs))}")
    print_line("copy the folder to every machine that writes to this ledger; reveal what has no round in play with `audit seeds reveal`")


def _write(place: Path, released: list[Any]) -> None:
    from audit_reports.commands.rounds import FileUnreadableError

    try:
        with place.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(key._asdict()) + "\n" for key in released)
    except OSError as error:
        raise FileUnreadableError(str(place), error.strerror or type(error).__name__) from error


def _open(ledger: str, keys: str) -> Any:
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    return RoundLedger.open_for_writing(path, keys_folder(path, keys))
