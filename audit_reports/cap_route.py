"""Whether a game's cap can be reached at all: by rounds that reach it, or by a way to it that has a chance above nothing.

A way is shown by a round under narrowed rules: the game's own with some weights set to nothing or to others above nothing, and no
other value changed. Whatever happens under them can happen under the game's rules, more rarely. Where no single such round is
found, free spins that know nothing of each other are counted: a spin that was seen to pay so much can come again and again.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from engines.game import Game, Outcome
from engines.registry import game_of_rules
from engines.rules import GameRules, first_choices

__all__ = ["CapRoute", "cap_route", "is_narrowed", "narrowed_rules"]

ROUNDS_MAX = 240_000
_WEIGHTS = ("weights", "act", "rest", "moon", "blank")


class CapRoute(NamedTuple):
    """How the cap is reached: by which rules and round, and what it shows; `is_shown` is False where none was found."""

    is_shown: bool
    how: str  # `round` under narrowed rules, `repeated spins`, `none`
    rules_hash: str
    round_number: int  # of the sequence of keys; -1 where none was found
    text: str

    def as_json(self) -> dict[str, Any]:
        """Return it as in the par sheet."""
        return self._asdict()


def narrowed_rules(rules: GameRules) -> GameRules:
    """Return rules of the game by which what pays most happens as often as can be; those of the game where nothing can be narrowed."""
    values = rules.model_dump()
    for part in ("heart_weights", "power_weights"):
        for each in values.get(part, ()):
            each["weights"] = _last_alone(each["weights"])
    for part in ("highlight_weights", "moon_weights"):
        if part in values:
            values[part]["weights"] = _last_alone(values[part]["weights"])
    for each in values.get("gold", ()):
        each["weights"] = tuple(each["total"] if weight else 0 for weight in each["weights"])
    for each in values.get("strip_choices", ()):  # the set that can trigger
        place = max(place for place, weight in enumerate(each["weights"]) if weight)
        each["weights"] = tuple(int(number == place) for number in range(len(each["weights"])))
    if "base_power" in values:
        values["base_power"] |= {"act": 1, "rest": 0}
    if "respin_weights" in values:
        values["respin_weights"] |= {"moon": 1000, "blank": 1}
    return type(rules).model_validate(values)


def _last_alone(weights: tuple[int, ...]) -> tuple[int, ...]:
    """Return weights under which the last entry that can come always does."""
    last = max(place for place, weight in enumerate(weights) if weight)
    return tuple(int(place == last) for place in range(len(weights)))


def is_narrowed(narrowed: Any, rules: Any, *, name: str = "") -> bool:
    """Return whether nothing can happen under the one that cannot happen under the other; both as `model_dump` gives them.

    All but weights is equal; a weight is above nothing only where the game's is, and one that is its whole total keeps it.
    """
    if isinstance(rules, Mapping):
        if not isinstance(narrowed, Mapping) or set(rules) != set(narrowed):
            return False
        return all(is_narrowed(narrowed[key], rules[key], name=key if key in _WEIGHTS else name) for key in rules)
    if isinstance(rules, list | tuple):
        if len(narrowed) != len(rules):
            return False
        return all(is_narrowed(mine, theirs, name=name) for mine, theirs in zip(narrowed, rules, strict=True))
    if name in _WEIGHTS and isinstance(rules, int):
        return bool(narrowed == 0 or rules > 0)
    return bool(narrowed == rules)


def cap_route(rules: GameRules, mode: str, seed: bytes) -> CapRoute:
    """Return a way to the cap in a mode, by narrowed rules; the seed gives the keys of the rounds that are tried."""
    narrowed = narrowed_rules(rules)
    assert is_narrowed(narrowed.model_dump(), rules.model_dump()), "narrowed rules let something happen that the game does not"
    game = game_of_rules(narrowed)
    game.compile()
    best, best_number = 0, -1
    for number, outcome in _rounds(game, mode, seed):
        if outcome.ended == "capped":
            text = f"round {number} under narrowed rules, which no weight makes impossible in the game, reaches it"
            return CapRoute(True, "round", narrowed.rules_hash, number, text)
        spin = _best_free_spin(outcome)
        if spin > best:
            best, best_number = spin, number
    return _repeated(rules, narrowed, best, best_number)


def _rounds(game: Game, mode: str, seed: bytes) -> Iterator[tuple[int, Outcome]]:
    rules, state = game.rules, game.rules.first_state
    choices = list(range(len(rules.choice_names))) or [0]
    for number in range(ROUNDS_MAX):
        key = sha256(b"cap-route/1" + seed + number.to_bytes(8, "big")).digest()
        chosen = (choices[number % len(choices)],) if first_choices(rules) else ()
        outcome = game.play(key, mode, rules.bet.coins, state, chosen)
        state = outcome.state_out
        yield number, outcome


def _best_free_spin(outcome: Outcome) -> int:
    """Return the highest award of a free spin of a round, in minor units."""
    ends = [each.data for each in outcome.events if each.topic.startswith("spin_ended/")]
    return max((orjson.loads(end)["award_minor"] for end in ends[1:]), default=0)


def _repeated(rules: GameRules, narrowed: GameRules, best: int, number: int) -> CapRoute:
    """Return the way of free spins that pay as much again and again, where spins of the game carry nothing to the next."""
    limits, retrigger = getattr(rules, "limits", None), getattr(rules, "retrigger", None)
    if best == 0 or limits is None or retrigger is None or not hasattr(limits, "free_spins"):
        return CapRoute(False, "none", narrowed.rules_hash, -1, f"no round of {ROUNDS_MAX} under narrowed rules reached it")
    # One spin in each award must be another that prolongs the feature; these are taken to pay nothing.
    paying = limits.free_spins - -(-limits.free_spins // retrigger.spins)
    cap = rules.cap.multiple * rules.bet.coins
    bets = f"{best // rules.bet.coins} bets"
    if best * paying < cap:
        text = f"no round of {ROUNDS_MAX} reached it, and {paying} free spins of the best that was seen, {bets}, fall short of it"
        return CapRoute(False, "none", narrowed.rules_hash, -1, text)
    needed = -(-cap // best)
    text = (
        f"a free spin that paid {bets} was seen (round {number} under narrowed rules); free spins carry nothing to the next, and up to"
        f" {limits.free_spins} can come in a round, one in {retrigger.spins} of which must prolong them: {needed} such spins reach it"
    )
    return CapRoute(True, "repeated spins", narrowed.rules_hash, number, text)
