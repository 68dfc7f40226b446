"""Was the round opened under the jurisdiction profile in force, and was its bet one that this profile takes?"""

from typing import Any

from engines.rules import GameRules
from ledger.lifecycle_events import RoundOpened
from replay.own_stream import OwnStream
from replay.verdict import Finding, Severity

__all__ = ["ProfilesInForce"]


class ProfilesInForce:
    """The profiles set in one ledger; rounds opened before the first are not judged."""

    def __init__(self, stream: OwnStream) -> None:
        self._stream = stream

    def check(self, opened: RoundOpened, opened_leaf: int, rules: GameRules | None) -> list[Finding]:
        """Return at most one finding: `profile` for another than the one in force, `bet` for a coin that it leaves out (ALL-7).

        opened_leaf: the leaf of the round's opening, -1 where it has none. rules: None where they are not installed.
        """
        before = [each.values for each in self._stream.events("profile_set") if each.leaf_index < opened_leaf]
        if not before:
            return []
        in_force = before[-1]
        named, wanted = f"{opened.profile_id} {opened.profile_hash}", f"{in_force.get('profile_id')} {in_force.get('profile_hash')}"
        if named != wanted:
            where = f"profile of the round opened at leaf {opened_leaf}"
            return [_finding("profile", "integrity", where, f"the one in force, {wanted}", named.strip() or "none named")]
        coins = _coins(in_force, opened.currency)
        if rules is None or coins is None or opened.bet_minor % rules.bet.coins or opened.bet_minor // rules.bet.coins in coins:
            return []
        want = f"{rules.bet.coins} coins of {' or '.join(map(str, coins))}, as profile {opened.profile_id} takes them in {opened.currency}"
        return [_finding("bet", "money", "bet of round_opened", want, str(opened.bet_minor))]


def _coins(values: dict[str, Any], currency: str) -> list[int] | None:
    """Return a profile's list of coins for a currency, None where it has none."""
    try:
        return next((list(each["coins_minor"]) for each in values["profile"]["coins"] if each["currency"] == currency), None)
    except (
        KeyError,
        TypeError,
    ):  # whoever holds the keys can write any values: fsck holds them to their hash
        return None


def _finding(code: str, severity: Severity, where: str, want: str, got: str) -> Finding:
    return Finding(code, severity, 0, -1, where, want, got, f"{where}: want {want}, got {got}")
