"""The rules that a round was played by, found again by game, version and hash."""

from engines.registry import GameUnknownError, VersionUnknownError, installed_rules
from engines.rules import GameRules

__all__ = ["Rulebook", "RulesMismatchError"]


class RulesMismatchError(LookupError):
    """The rules at hand are not those that the round was played by."""

    def __init__(self, game: str, version: str, wanted: str, found: str) -> None:
        super().__init__(game, version, wanted, found)
        self.game, self.version, self.wanted, self.found = game, version, wanted, found

    def __str__(self) -> str:
        replaced = ", draft rules replaced" if self.version.startswith("0.") else ""
        hashes = f"want hash {self.wanted[:16]}…, got {self.found[:16]}…{replaced}"
        return f"rules of {self.game} {self.version}: {hashes}; name the rules file with --rules"


class Rulebook:
    """The installed rules, and one file that stands in for those of its game where it is given."""

    def __init__(self, file_rules: GameRules | None = None) -> None:
        self._file_rules = file_rules

    def find(self, game: str, version: str, rules_hash: str) -> GameRules:
        """Return the rules with this hash; raises LookupError that says which are wanted and which are at hand."""
        rules = self._file_rules
        if rules is None or rules.game != game:
            try:
                rules = installed_rules(game, version)
            except (GameUnknownError, VersionUnknownError) as error:
                raise LookupError(str(error)) from error
        if rules.rules_hash != rules_hash:
            raise RulesMismatchError(game, version, rules_hash, rules.rules_hash)
        return rules

    def is_from_file(self, game: str) -> bool:
        """Return whether the rules of `game` come from a file outside the registry."""
        return self._file_rules is not None and self._file_rules.game == game
