"""Right rounds of Starlight Wins written from the rule text, without a kernel, and rules of our own to reach what is rare.

`StarlightBuilder` plays by the rules with `random.Random`; a hook replaces one value where it arises, so that a fault is
carried through as a faulty game would have written it.
"""

import random
from collections.abc import Callable
from typing import Any

from engines.canonical import RecordedEvent
from engines.game_events import CapHit, Drop, FeatureEnded, FeatureTrigger, MultiplierChange, SpinEnded, SpinStarted, Tumble, Win
from engines.games.starlight_wins.rules import Rules

__all__ = [
    "BET",
    "HEIGHTS",
    "PAYTABLE",
    "RULES",
    "SCATTER",
    "VARIANTS",
    "WILD",
    "StarlightBuilder",
    "flat",
    "reel_of",
    "starlight_round",
    "starlight_rules",
]

BET = 40
PAYTABLE = {
    "red_star": (20, 50, 100), "green_heart": (16, 40, 80), "pink_moon": (12, 30, 60), "blue_star": (10, 20, 30), "a": (6, 10, 24),
    "k": (6, 10, 24), "q": (4, 8, 20), "j": (2, 6, 12), "ten": (2, 6, 12),
}  # fmt: skip
LETTERS = "RGPBAKQJT"
SCATTER, WILD = 9, 10
HEIGHTS = (4, 5, 5, 5, 4)
LADDERS = {"base": (1, 2, 3, 5), "free": (2, 4, 6, 10)}


def _strips(rng: random.Random, length: int, kinds: int, scatters: int) -> list[str]:
    """Return a strip for each reel: `kinds` paying symbols in short runs, scatters at least nine positions apart."""
    strips = []
    for _ in HEIGHTS:
        strip: list[str] = []
        while len(strip) < length:
            strip += rng.choice(LETTERS[9 - kinds :]) * rng.randint(1, 2)
        strip = strip[:length]
        for number in range(scatters):
            strip[9 * number + rng.randint(0, 3)] = "S"
        strips.append("".join(strip))
    return strips


def starlight_rules(
    *,
    length: int = 60,
    kinds: int = 9,
    scatters: int = 2,
    gold: int = 40,
    cap: int = 100_000,
    free_spins: int = 1000,
    tumbles: int = 1000,
    readings: dict[str, int] | None = None,
) -> Rules:
    """Return rules with strips of our own: short, with much gold, low caps and limits where asked."""
    rng = random.Random(7)
    decided = {"ALL-1": 0, "SLW-1": 0, "SLW-2": 0} | (readings or {})
    values: dict[str, Any] = {
        "game": "starlight-wins", "version": "0.1.0", "title": "Starlight Wins", "kind": "ways",
        "sources": [{"name": "rules", "document": "Game Rules", "sha256": "0" * 64}],
        "layout": {"rows": HEIGHTS, "source": "rules"},
        "symbols": [
            *({"name": name, "letter": LETTERS[n], "role": "paying", "source": "rules"} for n, name in enumerate(PAYTABLE)),
            {"name": "scatter", "letter": "S", "role": "scatter", "source": "rules"},
            {"name": "wild", "letter": "W", "role": "wild", "source": "rules"},
        ],
        "pay_counts": {"counts": (3, 4, 5), "source": "rules"},
        "displayed_bets": {"bets_minor": (40, 20), "assumption": "SLW-1"},
        "money_pays": [{"symbol": name, "amounts_minor": amounts, "source": "rules"} for name, amounts in PAYTABLE.items()],
        "gold": [
            {"strip_set": "base", "weights": (0, gold, gold, gold, 0), "total": 100, "all_gold": (), "assumption": "ALL-2"},
            {"strip_set": "free", "weights": (0, gold, 0, gold, 0), "total": 100, "all_gold": (2,), "assumption": "ALL-2"},
        ],
        "ladders": [{"part": part, "multipliers": ladder, "source": "rules"} for part, ladder in LADDERS.items()],
        "trigger": {"count": 3, "spins": 10, "spins_each_more": 2, "source": "rules"},
        "retrigger": {"count": 3, "spins": 10, "spins_each_more": 2, "source": "rules"},
        "bet": {"coins": 20, "coin_minor_min": 1, "coin_minor_max": 2, "source": "rules"},
        "modes": [{"name": "base", "cost_x100": 100, "source": "rules"}],
        "cap": {"multiple": cap, "source": "rules"},
        "limits": {"free_spins": free_spins, "tumbles": tumbles, "assumption": "ALL-5"},
        "rtp_target_x10000": 9650,
        "readings": [
            {"name": name, "value": decided[name], "values": [{"value": n, "text": f"{name} {n}"} for n in range(count)]}
            for name, count in (("ALL-1", 3), ("SLW-1", 2), ("SLW-2", 2))
        ],
        "assumptions": {name: name for name in ("ALL-1", "ALL-2", "ALL-5", "SLW-1", "SLW-2")},
        "strip_sets": [
            {"name": name, "assumption": "ALL-2", "strips": _strips(rng, length, kinds, scatters)} for name in ("base", "free")
        ],
        "base_strip_set": "base", "free_spins_strip_set": "free",
    }  # fmt: skip
    return Rules.model_validate(values)


RULES = starlight_rules()


class StarlightBuilder:
    """Plays one round and keeps its game events; `hooks` replace values by name, each called with the value and the builder."""

    def __init__(self, rules: Rules, *, seed: int, bet_minor: int = BET, scatters: int | None = None, hooks: Any = None) -> None:
        self.rules, self.mode, self.bet = rules, "base", bet_minor
        self.random = random.Random(seed)
        self.scatters = scatters
        self.hooks: dict[str, Callable[[Any, StarlightBuilder], Any]] = hooks or {}
        self.events: list[RecordedEvent] = []
        self.spin = self.left = self.total = self.base_award = self.spin_minor = self.drop = 0
        self.ended = "played"
        self.readings = {reading.name: reading.value for reading in rules.readings}
        self.cap_minor = rules.cap.multiple * bet_minor
        self.is_capped = self.is_at_limit = False
        self.step = 0

    def hooked(self, name: str, value: Any) -> Any:
        """Return `value`, or what the hook called `name` makes of it."""
        hook = self.hooks.get(name)
        return value if hook is None else hook(value, self)

    def play(self) -> "StarlightBuilder":
        """Play the round to its end."""
        self.play_spin()
        while self.left and not self.is_over:
            if self.spin >= self.rules.limits.free_spins:
                self.ended = "limit"
                break
            self.spin += 1
            self.left -= 1
            self.play_spin()
        if self.spin:
            played = self.hooked("spins_played", self.spin)
            self.events.append(FeatureEnded(feature="free_spins", spins_played=played, total_minor=self.total - self.base_award))
        return self

    @property
    def is_over(self) -> bool:
        """Whether cap or limit ended the round."""
        return bool(self.hooked("is_over", self.ended != "played"))

    def play_spin(self) -> None:
        """Play one spin from `spin_started` to `spin_ended`."""
        free = self.spin > 0
        self.strip_set = int(free)
        self.strips = [self.rules.strip(self.strip_set, reel) for reel in range(5)]
        self.ladder = LADDERS["free" if free else "base"]
        self.step = self.hooked("first_step", 0)
        self.events.append(
            SpinStarted(
                spin_index=self.spin, part="free" if free else "base", strip_set=self.strip_set, spins_left=self.left if free else 0,
                multiplier=self.hooked("start_multiplier", self.ladder[min(self.step, 3)]),
                total_multiplier=0, meter=0, highlighted_cells=(),
            )
        )  # fmt: skip
        self.tops = self._stops()
        self.shown = list(HEIGHTS)
        columns = [
            [strip[(top + row) % len(strip)] for row in range(rows)]
            for strip, top, rows in zip(self.strips, self.tops, HEIGHTS, strict=True)
        ]
        marks = [[self.gold(reel, symbol) for symbol in column] for reel, column in enumerate(columns)]
        self.drop = self.spin_minor = self.cut = 0
        self.is_capped = self.is_at_limit = False
        columns, marks = self.land(columns, marks, tuple(self.tops))
        while True:
            won = self.pay(columns)
            if not won or self.is_capped:
                break
            removed, turned = self.hooked("gone", self.gone(columns, marks, won))
            if not removed and not turned:
                break
            counts = [sum(reel_of(cell) == reel for cell in removed) for reel in range(5)]
            if self.is_limited(counts):
                self.is_at_limit = True
                break
            self.climb()
            columns, marks = self.tumble(columns, marks, (removed, turned), counts)
        self.rest(columns)

    def _stops(self) -> list[int]:
        """Return stops at random; where `scatters` are wanted in the first spin, such that as many lie there."""
        while True:
            stops = [self.random.randrange(len(strip)) for strip in self.strips]
            if self.scatters is None or self.spin:
                return stops
            shown = sum(
                strip[(top + row) % len(strip)] == SCATTER
                for strip, top, rows in zip(self.strips, stops, HEIGHTS, strict=True)
                for row in range(rows)
            )
            if shown == self.scatters:
                return stops

    def gold(self, reel: int, symbol: int) -> int:
        """Return the mark of a symbol that lands."""
        table = self.rules.gold[self.strip_set]
        if symbol >= SCATTER:
            mark = 0
        elif reel in table.all_gold:
            mark = 1
        else:
            mark = int(table.weights[reel] > 0 and self.random.randrange(table.total) < table.weights[reel])
        return int(self.hooked("gold", (mark, reel, symbol))[0])

    def land(self, columns: Any, marks: Any, stops: tuple[int, ...]) -> tuple[Any, Any]:
        """Write the board down and return it."""
        columns, marks = self.hooked("board", (columns, marks))
        self.events.append(Drop(drop_index=self.drop, symbols=flat(columns), values=(), marks=flat(marks), stops=stops))
        return columns, marks

    def pay(self, columns: Any) -> list[int]:
        """Pay the ways of a board in paytable order, up to the cap; return the cells won."""
        wins = []
        for symbol, name in enumerate(PAYTABLE):
            reached = self.hooked("reached", (ways_of(columns, symbol), columns, symbol))[0]
            if len(reached) < 3:
                continue
            ways = 1
            for cells in reached:
                ways *= len(cells)
            cells = tuple(sorted(cell for cells in reached for cell in cells))
            pay = PAYTABLE[name][len(reached) - 3] * 100 // (20 if self.readings["SLW-1"] else 40)
            wins.append({"symbol": symbol, "count": len(reached), "cells": cells, "ways": ways, "pay_x100": pay})
        won: set[int] = set()
        multiplier = self.ladder[min(self.step, 3)]
        for win in self.hooked("wins", wins):
            amount = win["pay_x100"] * win["ways"] * win.get("multiplier", multiplier) * self.bet // 100
            event = Win(**{"line": -1, "multiplier": multiplier, "win_minor": amount} | win)
            self.events.append(event)
            won |= set(event.cells)
            if self.count_win(event.win_minor):
                break
        return sorted(won)

    def count_win(self, amount: int) -> bool:
        """Count a win and return whether the cap ends the spin there."""
        before = (0 if self.readings["ALL-1"] == 2 else self.total) + self.spin_minor
        if self.hooked("no_cap", False) or before + amount < self.cap_minor:
            self.spin_minor += amount
            return False
        fields = {"total_before_minor": before, "uncapped_minor": amount, "awarded_minor": max(self.cap_minor - before, 0)}
        fields = self.hooked("cap_hit", fields)
        self.events.append(CapHit(**fields))
        self.spin_minor += fields["awarded_minor"]
        self.cut += fields["uncapped_minor"] - fields["awarded_minor"]
        self.is_capped = bool(self.hooked("is_capped", True))
        return self.is_capped

    def gone(self, columns: Any, marks: Any, won: list[int]) -> tuple[list[int], list[int]]:
        """Return the cells that a tumble removes and those it turns."""
        board, gold = flat(columns), flat(marks)
        turned = [cell for cell in won if gold[cell]]
        leaving = {cell for cell in won if not gold[cell]}
        if self.readings["SLW-2"]:
            leaving |= {cell for cell, symbol in enumerate(board) if symbol == WILD and cell not in turned}
        return sorted(leaving), turned

    def is_limited(self, counts: list[int]) -> bool:
        """Return whether a technical limit forbids the tumble."""
        passes = any(shown + count > len(strip) for shown, count, strip in zip(self.shown, counts, self.strips, strict=True))
        return bool(self.hooked("is_limited", self.drop >= self.rules.limits.tumbles or passes))

    def climb(self) -> None:
        """Go up the ladder and write a change of the multiplier down."""
        before = self.ladder[min(self.step, 3)]
        self.step = self.hooked("next_step", self.step + 1)
        after = self.ladder[min(self.step, 3)]
        if before != after:
            self.events.append(MultiplierChange(from_multiplier=before, to_multiplier=self.hooked("to", after), cause="tumble"))

    def tumble(self, columns: Any, marks: Any, gone: tuple[list[int], list[int]], counts: list[int]) -> tuple[Any, Any]:
        """Write a tumble and the drop after it and return what lies there."""
        removed, turned = gone
        new = []
        for reel, (strip, count) in enumerate(zip(self.strips, counts, strict=True)):
            self.tops[reel] -= count
            self.shown[reel] += count
            new.append([strip[(self.tops[reel] + row) % len(strip)] for row in range(count)])
        new = self.hooked("new_symbols", new)
        fallen, kept_marks, first = [], [], 0
        for reel, rows in enumerate(HEIGHTS):
            cells = [cell for cell in range(first, first + rows) if cell not in removed]
            fallen.append(new[reel] + [WILD if cell in turned else columns[reel][cell - first] for cell in cells])
            kept_marks.append([-1] * len(new[reel]) + [0 if cell in turned else marks[reel][cell - first] for cell in cells])
            first += rows
        for reel, column in enumerate(kept_marks):
            for row, mark in enumerate(column):
                column[row] = self.gold(reel, fallen[reel][row]) if mark < 0 else mark
        self.events.append(
            Tumble(
                removed_cells=tuple(removed), turned_cells=tuple(turned), turned_symbols=(WILD,) * len(turned),
                new_symbols=tuple(map(tuple, new)),
            )
        )  # fmt: skip
        self.drop += 1
        return self.land(fallen, kept_marks, ())

    def rest(self, columns: Any) -> None:
        """Award free spins and add up."""
        scatters = self.hooked("scatters", flat(columns).count(SCATTER))
        spins = 10 + 2 * (scatters - 3) if scatters >= 3 and not self.is_capped and not self.is_at_limit else 0
        spins = self.hooked("spins", spins)
        if spins:
            self.left = self.hooked("left", self.left + spins)
            self.events.append(FeatureTrigger(feature="free_spins", count=scatters, spins_awarded=spins, spins_left=self.left))
        award = self.hooked("award", self.spin_minor)
        self.total = self.hooked("total", self.total + award)
        if not self.spin:
            self.base_award = award
        self.events.append(SpinEnded(spin_multiplier=1, cut_minor=self.cut, award_minor=award, total_minor=self.total, meter=0))
        if self.is_capped and self.readings["ALL-1"] != 2:
            self.ended = "capped"
        elif self.is_at_limit:
            self.ended = "limit"


def flat(columns: Any) -> tuple[int, ...]:
    """Return columns as one tuple, reel by reel."""
    return tuple(value for column in columns for value in column)


def reel_of(cell: int) -> int:
    """Return the reel of a cell."""
    return sum(cell >= first for first in (4, 9, 14, 19))


def ways_of(columns: Any, symbol: int) -> list[list[int]]:
    """Return the cells of a symbol or a wild on each reel that its ways reach from the left."""
    reached, first = [], 0
    for column in columns:
        cells = [first + row for row, held in enumerate(column) if held in (symbol, WILD)]
        if not cells:
            break
        reached.append(cells)
        first += len(column)
    return reached


# Rules that reach what is rare, by the part they are for.
VARIANTS: dict[str, Rules] = {
    "plain": starlight_rules(free_spins=40),
    "gold": starlight_rules(kinds=6, gold=70, free_spins=14),
    "capped": starlight_rules(kinds=6, cap=20, free_spins=14),
    "low cap": starlight_rules(kinds=6, cap=5, free_spins=14),
    "limited": starlight_rules(kinds=6, tumbles=2, free_spins=12),
    "short strips": starlight_rules(length=20, kinds=6, gold=90, free_spins=12),
    "SLW-1 = 1": starlight_rules(free_spins=40, readings={"SLW-1": 1}),
    "SLW-2 = 1": starlight_rules(kinds=6, gold=70, free_spins=14, readings={"SLW-2": 1}),
    "cap by spin": starlight_rules(kinds=6, cap=8, free_spins=14, readings={"ALL-1": 2}),
}


def starlight_round(name: str, seed: int, hooks: Any = None) -> StarlightBuilder:
    """Return a round by one of the variants; two of three begin with scatters enough for free spins."""
    if hooks is None and (name, seed) in _PLAYED:
        return _PLAYED[name, seed]
    builder = StarlightBuilder(VARIANTS[name], seed=seed, scatters=(3, 4, None)[seed % 3], hooks=hooks).play()
    return builder if hooks is not None else _PLAYED.setdefault((name, seed), builder)


_PLAYED: dict[tuple[str, int], StarlightBuilder] = {}  # right rounds, kept for the next test that asks
