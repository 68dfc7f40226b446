"""What is known of a game as fractions, to be held against what was simulated or seen; every figure has a second way."""

from fractions import Fraction
from typing import NamedTuple

from engines.rules import GameRules

__all__ = ["ExactFigure", "exact_figures"]


_PRODUCT = "product of the reels' polynomials over all stops"


class ExactFigure(NamedTuple):
    """One figure: what it is, of which mode or strip set (empty where of the game), and how it was computed."""

    name: str  # one of those that `par_sheet` knows a second way of
    of: str
    value: Fraction
    how: str

    @property
    def text(self) -> str:
        """The name as readers see it."""
        kind, _, number = self.name.partition(" ")
        return f"first board with {number} scatters or Moons" if kind == "first_board" else self.name.replace("_", " ")


def exact_figures(rules: GameRules) -> list[ExactFigure]:
    """Return all figures of a game that are fractions; none under readings other than those decided.

    Names: `return`, `share_base`, `share_feature`, `hit_frequency`, `feature_odds`, `cap_odds` of a mode; `strip_set <name>` of a mode;
    `first_board <n>` (n scatters or Moons) and `first_board_wins` of a strip set.
    """
    if any(reading.value for reading in rules.readings):
        return []
    of_game = {"moonlight-princess": _moonlight_princess, "starlight-wins": _starlight_wins, "moon-spell": _moon_spell}
    compute = of_game.get(rules.game)
    return compute(rules) if compute else []


def _moonlight_princess(rules: GameRules) -> list[ExactFigure]:
    from engines.games.moonlight_princess.exact import scatter_odds
    from engines.games.moonlight_princess.rules import Rules

    assert isinstance(rules, Rules)
    figures = []
    for choice in rules.strip_choices:
        total = sum(choice.weights)
        figures += [
            ExactFigure(f"strip_set {part.name}", choice.mode, Fraction(weight, total), "weight of the strip set over the sum of weights")
            for part, weight in zip(rules.strip_sets, choice.weights, strict=True)
            if weight
        ]
    drawn = {place for choice in rules.strip_choices for place, weight in enumerate(choice.weights) if weight}
    for place in sorted(drawn):
        figures += _first_boards(rules.strip_sets[place].name, scatter_odds(rules, place))
    return figures


def _first_boards(strip_set: str, odds: tuple[Fraction, ...] | list[Fraction], how: str = _PRODUCT) -> list[ExactFigure]:
    return [ExactFigure(f"first_board {count}", strip_set, odd, how) for count, odd in enumerate(odds)]


def _starlight_wins(rules: GameRules) -> list[ExactFigure]:
    from engines.games.starlight_wins.exact import first_board_odds, scatter_odds
    from engines.games.starlight_wins.rules import Rules

    assert isinstance(rules, Rules)
    name = rules.strip_sets[0].name
    wins = sum((odd for (is_win, _), odd in first_board_odds(rules, name).items() if is_win), Fraction(0))
    how = "all windows of the first reels that a win must reach"
    return [*_first_boards(name, scatter_odds(rules, name)), ExactFigure("first_board_wins", name, wins, how)]


def _moon_spell(rules: GameRules) -> list[ExactFigure]:
    from engines.games.moon_spell.exact import exact_figures as of_moon_spell
    from engines.games.moon_spell.rules import Rules

    assert isinstance(rules, Rules)
    found = of_moon_spell(rules)
    trigger = sum(found.moons[rules.moon_counts.trigger :], Fraction(0))
    how = "every board once; Moon values by convolution; the bonus by sums over its states"
    figures = []
    for mode in rules.modes:
        per_cost = Fraction(100, mode.cost_x100)
        rows = {
            "return": found.rtp * per_cost,
            "share_base": (found.lines + found.cash) * per_cost,
            "share_feature": found.bonus * per_cost,
            "hit_frequency": found.hit_frequency,
            "feature_odds": trigger,
            "cap_odds": found.cap,
        }
        figures += [ExactFigure(name, mode.name, value, how) for name, value in rows.items()]
    return [*figures, *_first_boards(rules.base_strip_set, found.moons, how)]
