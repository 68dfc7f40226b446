"""The games that are installed, by id and rules version; each is imported when asked for."""

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType

from engines.fingerprint import engine_fingerprint
from engines.game import Game
from engines.rules import GameRules, load_rules

__all__ = ["GAMES", "GameUnknownError", "VersionUnknownError", "game_of_rules", "installed_game", "installed_rules", "rules_versions"]

_FOLDER = Path(__file__).resolve().parent / "games"

# Game id to the package below engines/games that holds it, in the order of the product's mission.
GAMES: dict[str, str] = {"moonlight-princess": "moonlight_princess", "starlight-wins": "starlight_wins"}


class GameUnknownError(Exception):
    """No game of this id is installed."""

    exit_status = 2

    def __init__(self, game: str) -> None:
        super().__init__(game)
        self.game = game

    def __str__(self) -> str:
        return f"game {self.game!r}: want one of {', '.join(GAMES)}; run `audit games` for what is installed"


class VersionUnknownError(Exception):
    """A game is installed, but not this version of its rules."""

    exit_status = 2

    def __init__(self, game: str, version: str, installed: tuple[str, ...]) -> None:
        super().__init__(game, version, installed)
        self.game, self.version, self.installed = game, version, installed

    def __str__(self) -> str:
        return f"rules version {self.version!r} of {self.game}: want one of {', '.join(self.installed)}; install the release that has it"


def rules_versions(game: str) -> tuple[str, ...]:
    """Return the installed rules versions of a game, oldest first; raises GameUnknownError."""
    if game not in GAMES:
        raise GameUnknownError(game)
    names = [path.stem.removeprefix("rules-") for path in (_FOLDER / GAMES[game]).glob("rules-*.toml")]
    return tuple(sorted(names, key=lambda name: tuple(int(part) for part in name.split("."))))


@cache
def installed_rules(game: str, version: str | None = None) -> GameRules:
    """Return the rules of a game, the newest version unless one is named; raises GameUnknownError, VersionUnknownError."""
    versions = rules_versions(game)
    wanted = versions[-1] if version is None else version
    if wanted not in versions:
        raise VersionUnknownError(game, wanted, versions)
    return load_rules(_FOLDER / GAMES[game] / f"rules-{wanted}.toml")


def _kernel_module(game: str, version: str) -> ModuleType:
    # A later version whose code differs stands beside the first as game_v2.py and is named here.
    del version
    return importlib.import_module(f"engines.games.{GAMES[game]}.game")


def game_of_rules(rules: GameRules) -> Game:
    """Return the game that plays by `rules`, be they installed or from a file of the user's; raises GameUnknownError."""
    if rules.game not in GAMES:
        raise GameUnknownError(rules.game)
    module = _kernel_module(rules.game, rules.version)
    return Game(
        rules,
        module.play_round,
        module.build_tables(rules),
        fingerprint=engine_fingerprint(module.__name__, rules.rules_hash),
        state_fields=module.STATE_FIELDS,
        draw_purposes=module.DRAW_PURPOSES,
    )


@cache
def installed_game(game: str, version: str | None = None) -> Game:
    """Return an installed game, the newest version unless one is named; raises GameUnknownError, VersionUnknownError."""
    return game_of_rules(installed_rules(game, version))
