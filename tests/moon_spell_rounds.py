"""Rounds of Moon Spell written from the rule text, without a kernel and without the referee's own functions.

`MoonSpellRound` plays with `random.Random`; a hook replaces one value where it arises, so that a fault is carried on to
the settlement as a faulty game would write it.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from engines.canonical import RecordedEvent
from engines.game_events import CapHit, Drop, FeatureEnded, FeatureTrigger, Prize, SpinEnded, SpinStarted, Win
from engines.games.moon_spell.rules import Rules

__all__ = ["FULL_BOARDS", "LOW_CAP", "MANY_MOONS", "PAYS", "RULES", "MoonSpellRound", "moon_rules", "placed"]

LETTERS = "ABCDEFGHWMx"
PAYS = ((150, 750, 3000), (100, 450, 1800), (75, 300, 1200), (60, 200, 800), (40, 120, 350), (40, 120, 350), (25, 75, 200), (25, 75, 200))
LINES = [
    tuple(map(int, f"{rows:05d}"))
    for rows in (
        11111, 0, 22222, 1210, 21012, 100, 22122, 12221, 10001, 1110,
        21112, 10101, 12121, 1010, 21212, 11011, 11211, 2020, 20202, 2220,
    )
]  # fmt: skip
Hook = Callable[[Any, "MoonSpellRound"], Any]


def _strip(rng: random.Random, reel: int, stacks: int, height: int) -> str:
    """Return a strip of some 30 positions: the paying symbols, a wild on reels 2 to 5, and stacks of Moons."""
    length = 28 - height * stacks
    runs = [rng.choice("ABCDEFGGGHHH") * rng.randint(1, 4) for _ in range(length)]
    strip = list("".join(runs)[:length])
    for _ in range(2 if reel else 0):
        strip[rng.randrange(length)] = "W"
    for number in range(stacks):
        strip[number * 9 : number * 9] = "M" * height
    return "".join(strip)


def moon_rules(*, stacks: int = 1, height: int = 2, moon: int = 1, blank: int = 15, cap: int = 5224, spins: int = 3) -> Rules:
    """Return test rules: our own strips with stacks of Moons on each reel, weights of Moon and blank in a respin, the cap."""
    rng = random.Random(11)
    roles = ["paying"] * 8 + ["wild", "moon", "blank"]
    hung = {"assumption": "MSP-1"}
    return Rules.model_validate(
        {
            "game": "moon-spell", "version": "0.0.1", "title": "Moon Spell", "kind": "lines", "rtp_target_x10000": 9071,
            "sources": [], "assumptions": {"MSP-1": "test rules"},
            "layout": {"reels": 5, "rows": 3, **hung},
            "symbols": [
                {"name": name, "letter": letter, "role": role, "pays_x100": PAYS[number] if number < 8 else (), **hung}
                for number, (name, letter, role) in enumerate(
                    zip(
                        ("witch", "cat", "owl", "book", "ace", "king", "queen", "jack", "wild", "moon", "blank"),
                        LETTERS, roles, strict=True,
                    )
                )
            ],
            "bet": {"coins": 20, "coin_minor_min": 1, "coin_minor_max": 500, **hung},
            "modes": [{"name": "base", "cost_x100": 100, **hung}],
            "cap": {"multiple": cap, **hung},
            "readings": [
                {"name": name, "value": 0, "values": [{"value": value, "text": f"{name} read as {value}"} for value in values]}
                for name, values in (("ALL-1", range(3)), ("MSP-2", range(2)), ("MSP-3", range(3)))
            ],
            "strip_sets": [{"name": "base", "strips": [_strip(rng, reel, stacks, height) for reel in range(5)], **hung}],
            "pay_counts": {"counts": [3, 4, 5], **hung},
            "lines": {"rows": LINES, **hung},
            "moon_values": {"values_x100": [50, 100, 200, 300, 500, 1000, 2000, 5000, 10000], **hung},
            "moon_weights": {"weights": [420, 300, 150, 70, 35, 15, 6, 3, 1], **hung},
            "moon_counts": {"cash": 3, "trigger": 5, **hung},
            "respins": {"spins": spins, **hung},
            "respin_weights": {"moon": moon, "blank": blank, **hung},
            "ladder": {"counts": [10, 11, 12, 13, 14, 15], "prizes_x100": [5000, 10000, 20000, 30000, 100000, 500000], **hung},
            "base_strip_set": "base",
        }
    )  # fmt: skip


RULES = moon_rules()
MANY_MOONS = moon_rules(stacks=3, moon=1, blank=4, cap=100_000)
FULL_BOARDS = moon_rules(stacks=4, height=4, moon=1, blank=4, cap=100_000)
LOW_CAP = moon_rules(stacks=3, moon=1, blank=4, cap=30)


class MoonSpellRound:
    """Plays one round and keeps its game events; `hooks` replace values by name, each called with the value and the round.

    `moons` asks for a first board with that many Moons, where these strips show one.
    """

    def __init__(self, rules: Rules, *, seed: int, bet_minor: int = 200, moons: int = 0) -> None:
        self.rules, self.random, self.bet, self.mode, self.asked = rules, random.Random(seed), bet_minor, "base", moons
        self.strips = [rules.strip(0, reel) for reel in range(5)]
        self.readings = {reading.name: reading.value for reading in rules.readings}
        self.wild, self.moon, self.blank = 8, 9, 10
        self.cap_minor = rules.cap.multiple * bet_minor
        self.hooks: dict[str, Hook] = {}
        self.events: list[RecordedEvent] = []
        self.spin = self.left = self.total = self.base_award = self.bonus_total = self.sum = self.cut = 0
        self.board: list[int] = []
        self.values: list[int] = []
        self.ended = "played"
        self.is_stopped = False  # by the cap, within the spin

    def hooked(self, name: str, value: Any) -> Any:
        """Return `value`, or what the hook called `name` makes of it."""
        hook = self.hooks.get(name)
        return value if hook is None else hook(value, self)

    @property
    def moons(self) -> int:
        """The Moons on the board."""
        return self.board.count(self.moon)

    def play(self) -> "MoonSpellRound":
        """Play the round to its end."""
        self._start("base")
        self._first_board()
        self._line_wins()
        count = self.hooked("moons", self.moons)
        counts = self.rules.moon_counts
        has_bonus = not self.is_stopped and self.hooked("has_bonus", count >= counts.trigger)
        if self.hooked("has_cash", counts.cash <= count < counts.trigger):
            self._prize("moon_cash", self._cash())
        is_full = self.moons == 15
        if has_bonus:
            self.left = self.hooked("left", 0 if is_full else self.rules.respins.spins)
            self._trigger(count, 0 if is_full else self.rules.respins.spins)
            self.triggering = count
            if is_full and not self.left:
                self._bonus_prizes()
        self._end()
        while has_bonus and self.left > 0 and self.ended == "played":
            self._respin()
        if has_bonus:
            played = self.hooked("spins_played", self.spin)
            self.events.append(FeatureEnded(feature="hold_and_respin", spins_played=played, total_minor=self.bonus_total))
        return self

    def _start(self, part: Any) -> None:
        self.sum = self.cut = 0
        self.is_stopped = False
        self.events.append(
            SpinStarted(
                spin_index=self.spin, part=part, strip_set=-1 if self.spin else 0, spins_left=self.hooked("shown_left", self.left),
                multiplier=1, total_multiplier=0, meter=0, highlighted_cells=(),
            )
        )  # fmt: skip

    def _first_board(self) -> None:
        for _ in range(3000):
            stops = tuple(self.random.randrange(len(strip)) for strip in self.strips)
            self.board = [strip[(stop + row) % len(strip)] for strip, stop in zip(self.strips, stops, strict=True) for row in range(3)]
            if self.moons >= self.asked:
                break
        self.values = [self._value() if symbol == self.moon else 0 for symbol in self.board]
        self._drop(stops)

    def _value(self) -> int:
        return self.random.choices(self.rules.moon_values.values_x100, self.rules.moon_weights.weights)[0]

    def _drop(self, stops: tuple[int, ...] = ()) -> None:
        self.board, self.values = self.hooked("board", (list(self.board), list(self.values)))
        self.events.append(Drop(drop_index=0, symbols=tuple(self.board), values=tuple(self.values), marks=(), stops=stops))

    def _line_wins(self) -> None:
        wins = []
        for number, line in enumerate(self.rules.lines.rows):
            cells = [3 * reel + row for reel, row in enumerate(line)]
            symbol = self.board[cells[0]]
            run = 0
            while run < 5 and self.board[cells[run]] in (symbol, self.wild):
                run += 1
            if symbol < 8 and run >= 3:
                pay = self.rules.symbols[symbol].pays_x100[run - 3]
                wins.append(
                    {"symbol": symbol, "line": number, "count": run, "cells": tuple(cells[:run]), "ways": 1, "pay_x100": pay,
                     "multiplier": 1, "win_minor": pay * self.bet // 100}
                )  # fmt: skip
        for win in self.hooked("wins", wins):
            if self.is_stopped:
                return
            self.events.append(Win(**win))
            self._add(win["win_minor"])

    def _add(self, amount: int) -> None:
        before = self.sum + (0 if self.readings["ALL-1"] == 2 else self.total)
        self.sum += amount
        is_capped = self.readings["MSP-2"] == 0 and amount > 0 and before + amount >= self.cap_minor
        if self.hooked("is_capped", is_capped):
            fields = {"total_before_minor": before, "uncapped_minor": amount, "awarded_minor": max(self.cap_minor - before, 0)}
            fields = self.hooked("cap_hit", fields)
            self.events.append(CapHit(**fields))
            self.cut = fields["uncapped_minor"] - fields["awarded_minor"]
            self.is_stopped = self.hooked("is_stopped", True)
            if self.readings["ALL-1"] != 2 and self.is_stopped:
                self.ended = "capped"

    def _cash(self) -> int:
        return sum(self.values)

    def _prize(self, which: Any, pay: int) -> None:
        pay = self.hooked(which, pay)
        if pay and not self.is_stopped:
            amount = self.hooked("prize_amount", pay * self.bet // 100)
            self.events.append(Prize(which=which, pay_x100=pay, multiplier=1, prize_minor=amount))
            self._add(amount)

    def _bonus_prizes(self) -> None:
        self._prize("moon_cash", self._cash())
        reading, count = self.readings["MSP-3"], self.moons
        counted = count - self.triggering if reading == 2 else count
        rungs = dict(zip(self.rules.ladder.counts, self.rules.ladder.prizes_x100, strict=True))
        reached = [pay for rung, pay in rungs.items() if rung <= counted] if reading == 1 else [rungs[counted]] if counted in rungs else []
        for pay in self.hooked("rungs", reached):
            self._prize("ladder", pay)

    def _trigger(self, count: int, awarded: int) -> None:
        awarded = self.hooked("awarded", awarded)
        self.events.append(FeatureTrigger(feature="hold_and_respin", count=count, spins_awarded=awarded, spins_left=self.left))

    def _respin(self) -> None:
        self.spin += 1
        self.left -= 1
        self._start("respin")
        landed = 0
        weights = (self.rules.respin_weights.moon, self.rules.respin_weights.blank)
        for cell in range(15):
            if self.board[cell] == self.moon:
                continue
            is_new = self.random.choices((True, False), weights)[0]
            self.board[cell], self.values[cell] = (self.moon, self._value()) if is_new else (self.blank, 0)
            landed += is_new
        self._drop()
        is_full = self.hooked("is_full", self.moons == 15)
        if landed and not is_full and self.hooked("resets", True):
            awarded = self.hooked("regained", max(self.rules.respins.spins - self.left, 0))
            self.left += awarded
            self._trigger(self.moons, awarded)
        self.left = self.hooked("left_after", 0 if is_full else self.left)
        if not self.left:
            self._bonus_prizes()
        self._end()

    def _end(self) -> None:
        award = self.hooked("award", self.sum - self.cut)
        self.total = self.hooked("total", self.total + award)
        self.events.append(SpinEnded(spin_multiplier=1, cut_minor=self.cut, award_minor=award, total_minor=self.total, meter=0))
        if self.spin:
            self.bonus_total += award
        else:
            self.base_award = award


def placed(events: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return game events with their indexes in the round's stream."""
    return list(enumerate(events, start=1))
