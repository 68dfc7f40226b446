"""Moon Spell's exact figures: against brute force on a tiny version, and against the kernel's own rounds."""

import itertools
import json
from fractions import Fraction
from functools import reduce
from math import sqrt
from typing import Any

from engines.games.moon_spell.exact import board_counts, end_counts, exact_figures, respin_counts, value_sums
from engines.registry import exact_return, installed_rules
from engines.simulate import SUM_NAMES, Sums, simulate
from tests.conftest import ROOT
from tests.holm import binomial_p, holm, normal_p
from tests.rules_changes import changed_rules

RULES: Any = installed_rules("moon-spell")
# Two reels that can show up to three Moons each, three that never do; few values: every round can be listed.
TINY_VALUES = {"values_x100": [50, 300], "source": "rules"}
TINY: Any = changed_rules(
    RULES,
    strip_sets=[{"name": "base", "assumption": "ALL-2", "strips": ["MMME", "MMWE", "EKWW", "KEEW", "SEEE"]}],
    moon_values=TINY_VALUES,
    moon_weights={"weights": [3, 1]},
    respin_weights={"moon": 3, "blank": 1},
    respins={"spins": 1},
    cap={"multiple": 5010},
)


def line_pays(board: list[str], rules: Any) -> int:
    """Return what all lines of a board pay, from the rules' own words."""
    pays = {symbol.letter: symbol.pays_x100 for symbol in rules.symbols if symbol.role == "paying"}
    total = 0
    for line in rules.lines.rows:
        shown = [board[3 * reel + row] for reel, row in enumerate(line)]
        if shown[0] in pays:
            run = next((reel for reel, letter in enumerate(shown) if letter not in (shown[0], "W")), len(shown))
            total += pays[shown[0]][run - 3] if run >= 3 else 0
    return total


def all_boards(rules: Any) -> list[list[str]]:
    """Return every board of the full cycle."""
    reels = [[(strip * 2)[stop : stop + 3] for stop in range(len(strip))] for strip in rules.strip_sets[0].strips]
    return [list("".join(windows)) for windows in itertools.product(*reels)]


def test_every_board_is_counted_once() -> None:
    """Plain and compiled, the full cycle's boards by Moons and line pays are those found one by one."""
    wanted: list[dict[int, int]] = [{} for _ in range(16)]
    for board in all_boards(TINY):
        row = wanted[board.count("M")]
        pay = line_pays(board, TINY)
        row[pay] = row.get(pay, 0) + 1
    assert board_counts(TINY, is_compiled=False) == wanted
    assert board_counts(TINY) == wanted


def bonus_law(moons: int, left: int) -> dict[int, Fraction]:
    """Return the law of the final count by playing every respin out, cell by cell in number."""
    if left == 0 or moons == 15:
        return {moons: Fraction(1)}
    law: dict[int, Fraction] = {}
    for new in range(16 - moons):
        ways = len(list(itertools.combinations(range(15 - moons), new)))
        odds = ways * Fraction(3, 4) ** new * Fraction(1, 4) ** (15 - moons - new)
        for final, share in bonus_law(moons + new, TINY.respins.spins if new else left - 1).items():
            law[final] = law.get(final, Fraction(0)) + odds * share
    return law


def test_exact_figures_are_those_of_brute_force() -> None:
    """Return, variance, hits and odds of the cap of the tiny version are, to the fraction, those of listing all its rounds."""
    mean = square = hits = cap = Fraction(0)
    boards = all_boards(TINY)
    values, limit = {50: Fraction(3, 4), 300: Fraction(1, 4)}, TINY.cap.multiple * 100
    sums: list[dict[int, Fraction]] = [{0: Fraction(1)}]
    for _ in range(15):
        following: dict[int, Fraction] = {}
        for total, value in itertools.product(sums[-1], values):
            following[total + value] = following.get(total + value, Fraction(0)) + sums[-1][total] * values[value]
        sums.append(following)
    ladder = dict(zip(TINY.ladder.counts, TINY.ladder.prizes_x100, strict=True))
    laws = {moons: bonus_law(moons, TINY.respins.spins) for moons in range(5, 7)}
    for board in boards:
        moons, lines = board.count("M"), line_pays(board, TINY)
        ends = laws[moons] if moons >= 5 else {moons if moons >= 3 else 0: Fraction(1)}
        for final, share in ends.items():
            for cash, odds in sums[final].items():
                total = min(lines + cash + (ladder.get(final, 0) if moons >= 5 else 0), limit)
                both = share * odds / len(boards)
                mean, square = mean + both * total, square + both * total**2
                hits += both if total else 0
                cap += both if total == limit else 0
    found = exact_figures(TINY)
    assert found.rtp == mean / 100
    assert found.lines + found.cash + found.bonus == found.rtp
    assert found.variance == (square - mean**2) / 10_000
    assert found.hit_frequency == hits
    assert found.cap == cap > 0
    assert value_sums(TINY, 3) == sums[3]
    assert end_counts(TINY, 5) == laws[5]


def test_the_mean_number_of_respins() -> None:
    """With one respin and a Moon always or never coming, the mean is what can be counted by hand."""
    never = changed_rules(TINY, respin_weights={"moon": 1, "blank": 10**9}, respins={"spins": 3})
    assert abs(respin_counts(never, 5) - 3) < Fraction(1, 10**6)
    assert respin_counts(TINY, 15) == 0


def test_the_return_is_the_published_one() -> None:
    """The exact return rounds to 90.71%, and its parts are those that the README names."""
    found = exact_figures(RULES)
    assert round(found.rtp * 10_000) == RULES.rtp_target_x10000 == 9071
    assert [round(float(part) * 100, 2) for part in (found.lines, found.cash, found.bonus)] == [32.02, 37.42, 21.27]
    assert exact_return(RULES, "base") == found.rtp
    assert exact_return(RULES.with_reading("MSP-3", 1), "base") is None
    assert 0.25 < found.hit_frequency < 0.5
    assert 13 < sqrt(found.variance) < 16


def test_simulated_rounds_agree_with_the_exact_figures() -> None:
    """Return, hits and triggers of half a million rounds agree with the exact figures, jointly at 99% (Holm)."""
    exact = exact_figures(RULES)
    count = 8 << 16
    sums = reduce(Sums.plus, simulate(RULES, "base", count, seed=b"exact"))
    total = dict(zip(SUM_NAMES, sums.strata[0], strict=True))
    bet, trigger = RULES.bet.coins, sum(exact.moons[5:])
    p_values = {
        "return": normal_p(total["win_minor"] / bet / count, float(exact.rtp), sqrt(exact.variance / count)),
        "hits": binomial_p(total["hits"], count, float(exact.hit_frequency)),
        "triggers": binomial_p(total["triggers"], count, float(trigger)),
    }
    assert holm(p_values) == []


def test_the_kept_figures_are_current() -> None:
    """The figures committed in `docs/measured` are those of the draft that was frozen."""
    kept = json.loads((ROOT / "docs" / "measured" / "moon-spell-exact.json").read_text())
    assert kept["rules_hash"] == installed_rules("moon-spell", "0.1.0").rules_hash
    rtp: Fraction = exact_figures(RULES).rtp
    assert kept["rtp"] == f"{rtp.numerator}/{rtp.denominator}"
