"""The games that are installed, by id and rules version; each is imported when asked for."""

import importlib.util
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engines.fingerprint import engine_fingerprint
from engines.game import Game
from engines.manifest import source_manifest
from engines.rules import GameRules, load_rules

__all__ = [
    "GAMES",
    "GameUnknownError",
    "InstalledBuild",
    "VersionUnknownError",
    "exact_return",
    "game_of_rules",
    "installed_builds",
    "installed_game",
    "installed_rules",
    "installed_rules_path",
    "rules_versions",
]

_FOLDER = Path(__file__).resolve().parent / "games"

# Game id to the package below engines/games that holds it, in the order of the product's mission.
GAMES: dict[str, str] = {
    "moonlight-princess": "moonlight_princess",
    "starlight-wins": "starlight_wins",
    "moon-spell": "moon_spell",
    "moon-princess-stargazing": "moon_princess_stargazing",
}


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


class InstalledBuild(NamedTuple):
    """A game under one version of its rules, as its sources stand here; `sources` holds the SHA-256 of each by path."""

    game: str
    rules_version: str
    rules_path: str
    rules_hash: str
    fingerprint: str
    sources: dict[str, str]


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


def installed_rules_path(game: str, version: str, rules_hash: str) -> Path | None:
    """Return the file of installed rules, None where those of this version have another hash or are not installed."""
    path = _FOLDER / GAMES[game] / f"rules-{version}.toml" if game in GAMES and version in rules_versions(game) else None
    return path if path is not None and installed_rules(game, version).rules_hash == rules_hash else None


def _kernel_module(game: str, version: str) -> str:
    # A later version whose code differs stands beside the first as game_v2.py and is named here.
    del version
    return f"engines.games.{GAMES[game]}.game"


def game_of_rules(rules: GameRules) -> Game:
    """Return the game that plays by `rules`, be they installed or from a file of the user's; raises GameUnknownError."""
    if rules.game not in GAMES:
        raise GameUnknownError(rules.game)
    module = importlib.import_module(_kernel_module(rules.game, rules.version))
    return Game(
        rules,
        module.play_round,
        module.build_tables(rules),
        fingerprint=engine_fingerprint(module.__name__, rules.rules_hash),
        state_fields=module.STATE_FIELDS,
        draw_purposes=module.DRAW_PURPOSES,
        figures=getattr(module, "FIGURES", ()),
    )


def exact_return(rules: GameRules, mode: str) -> Fraction | None:
    """Return the RTP of a mode as a fraction, None where the game's return is not known exactly under these readings."""
    name = f"engines.games.{GAMES[rules.game]}.exact"
    if importlib.util.find_spec(name) is None or any(reading.value for reading in rules.readings):
        return None
    compute = getattr(importlib.import_module(name), "exact_return", None)
    found: Fraction | None = compute(rules, mode) if compute else None
    return found


@cache
def installed_game(game: str, version: str | None = None) -> Game:
    """Return an installed game, the newest version unless one is named; raises GameUnknownError, VersionUnknownError."""
    return game_of_rules(installed_rules(game, version))


def installed_builds(game: str = "") -> list[InstalledBuild]:
    """Return the builds of one game, or of all, for each installed version of its rules; raises GameUnknownError, RulesFileError.

    No kernel is imported: an edited one, or one of which a part is lost, is named all the same.
    """
    builds = []
    for name in [game] if game else GAMES:
        for version in rules_versions(name):
            rules = installed_rules(name, version)
            module = _kernel_module(name, version)
            path = f"engines/games/{GAMES[name]}/rules-{version}.toml"
            fingerprint = engine_fingerprint(module, rules.rules_hash)
            builds.append(InstalledBuild(name, version, path, rules.rules_hash, fingerprint, source_manifest(module)))
    return builds
