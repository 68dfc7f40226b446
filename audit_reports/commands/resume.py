"""`resume`: go on with a round that was interrupted, waits for a choice or was cut off."""

from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.commands.life import settle_due
from audit_reports.commands.play import show_played, system_text
from audit_reports.interruption import held
from audit_reports.options import JsonOption, KeysOption, LedgerOption, RulesOption, UsageError, keys_folder, named_choices, named_ledger
from audit_reports.output import note

__all__ = ["register"]

CHANNEL = "audit resume"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("resume")(resume)


def resume(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")] = "",
    due: Annotated[bool, typer.Option("--due", help="Every round that its profile has the system complete by now.")] = False,
    choice: Annotated[str, typer.Option("--choice", help="What the player chooses, by name or place; else the first.")] = "",
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Go on with a round that was interrupted, waits for a choice or was cut off, from the same seed.

    One that is settled is shown as it is recorded, so that the command may be repeated. With --due the system goes on.
    Examples: audit resume --round 01a22cfdc2af --choice astra · audit resume --due
    """
    from ledger.rounds import RoundLedger

    if bool(round_) == due:
        raise UsageError("--round, --due", "one of them", "both" if due else "neither")
    if due and choice:
        raise UsageError("--choice", "it only together with --round", choice)
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        if due:
            settle_due(opened, "complete", lambda held_round: _complete(opened, held_round, rules, as_json=as_json))
        else:
            _resume(opened, opened.find_round(round_), rules, choice, as_json=as_json)
    finally:
        opened.close()


def _resume(ledger: Any, round_id: str, rules: str, choice: str, *, as_json: bool) -> None:
    opening = ledger.opening(round_id)
    game = _game(opening, rules)
    choices = named_choices(game.rules, choice)
    with held():
        played = ledger.resume_round(round_id, game, choices, channel=CHANNEL)
    if played.is_repeat:
        note(f"round {round_id} was settled before: shown as it is recorded")
    elif played.system_choices:
        note(f"round {round_id}: {system_text(game.rules, played)}")
    show_played(played, opening.currency, "resume/1", as_json=as_json)


def _complete(ledger: Any, held_round: Any, rules: str, *, as_json: bool) -> None:
    from ledger.held import complete_round

    game = _game(held_round.opened, rules)
    with held():
        played = complete_round(ledger, held_round.round_id, game)
    if played.system_choices:
        note(f"round {played.round_id}: {system_text(game.rules, played)}")
    show_played(played, held_round.opened.currency, "resume/1", as_json=as_json)


def _game(opening: Any, rules: str) -> Any:
    from engines.registry import game_of_rules, installed_rules
    from engines.rules import load_rules

    return game_of_rules(load_rules(Path(rules)) if rules else installed_rules(opening.game, opening.rules_version))
