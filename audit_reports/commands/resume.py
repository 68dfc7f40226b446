"""`resume`: go on with a round that waits for a choice or was cut off."""

from pathlib import Path
from typing import Annotated, Any

import typer

from audit_reports.commands.play import show_played, system_text
from audit_reports.interruption import held
from audit_reports.options import JsonOption, KeysOption, LedgerOption, RulesOption, keys_folder, named_choices, named_ledger
from audit_reports.output import note

__all__ = ["register"]

CHANNEL = "audit resume"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("resume")(resume)


def resume(
    round_: Annotated[str, typer.Option("--round", help="A round: its id, a prefix of 8 characters or more, or ext:REF.")],
    choice: Annotated[str, typer.Option("--choice", help="What the player chooses, by name or place; else the first.")] = "",
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Go on with a round that waits for a choice, or was cut off, from the same seed.

    One that is settled is shown as it is recorded, so that the command may be repeated.
    Example: audit resume --round 01a22cfdc2af --choice astra
    """
    from ledger.rounds import RoundLedger

    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys))
    try:
        round_id = opened.find_round(round_)
        opening = opened.opening(round_id)
        game = _game(opening, rules)
        choices = named_choices(game.rules, choice)
        with held():
            played = opened.resume_round(round_id, game, choices, channel=CHANNEL)
        if played.is_repeat:
            note(f"round {round_id} was settled before: shown as it is recorded")
        elif played.system_choices:
            note(f"round {round_id}: {system_text(game.rules, played)}")
        show_played(played, opening.currency, "resume/1", as_json=as_json)
    finally:
        opened.close()


def _game(opening: Any, rules: str) -> Any:
    from engines.registry import game_of_rules, installed_rules
    from engines.rules import load_rules

    return game_of_rules(load_rules(Path(rules)) if rules else installed_rules(opening.game, opening.rules_version))
