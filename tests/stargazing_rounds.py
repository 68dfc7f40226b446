"""Rounds of Moon Princess Stargazing written from the rule text, without a kernel and without the referee's own functions.

`StargazingRound` plays with `random.Random`; a hook replaces one value where it arises, so that a fault is carried on to
the settlement as a faulty game would write it. Lines are read as words of letters, runs found by patterns.
"""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engines.canonical import RecordedEvent
from engines.game_events import (
    CapHit,
    ChoiceOffered,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    MultiplierChange,
    Power,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from engines.games.moon_princess_stargazing.rules import Rules
from engines.rules import load_rules

__all__ = ["RULES", "Hook", "StargazingRound", "placed"]

LOADED = load_rules(Path(__file__).parent / "rules" / "stargazing-referee.toml")
assert isinstance(LOADED, Rules)
RULES: Rules = LOADED
LETTERS = "BHTRANSWMx"
LINES = [range(row, 25, 5) for row in range(5)] + [range(5 * reel, 5 * reel + 5) for reel in range(5)]
Hook = Callable[[Any, "StargazingRound"], Any]


class StargazingRound:
    """Plays one round and keeps its game events; `hooks` replace values by name, each called with the value and the round.

    state: the active princess. choice: the princess of the free spins.
    """

    def __init__(self, rules: Rules, *, seed: int, bet_minor: int = 100, state: int = 2, choice: int = 0) -> None:
        self.rules, self.random, self.bet, self.mode, self.choice = rules, random.Random(seed), bet_minor, "base", choice
        self.readings = {reading.name: reading.value for reading in rules.readings}
        self.state_in = state
        self.active = 2 if self.readings["MPS-9"] else state
        self.choices: tuple[int, ...] = ()
        self.cap_minor = rules.cap.multiple * bet_minor
        self.hooks: dict[str, Hook] = {}
        self.events: list[RecordedEvent] = []
        self.spin = self.left = self.given = self.total = self.base_award = self.resonances = self.drop = 0
        self.multiplier, self.meter, self.sum, self.cut = 1, 0, 0, 0
        self.part = "base"
        self.board, self.marks = "", [0] * 25
        self.highlights: set[int] = set()
        self.won: set[int] = set()
        self.has_stars = self.is_stopped = self.is_clear = False
        self.ended, self.is_past_cap = "played", False
        self.step_wins: list[dict[str, Any]] = []
        self.triggered = ""

    def hooked(self, name: str, value: Any) -> Any:
        """Return `value`, or what the hook called `name` makes of it."""
        hook = self.hooks.get(name)
        return value if hook is None else hook(value, self)

    def play(self) -> "StargazingRound":
        """Play the round to its end."""
        award = self._spin("base", 0, [])
        self.base_award = award
        if not self.hooked("resonates", self._takes_resonance()):
            return self
        total = played = 0
        while True:
            self.resonances += 1
            played += 1
            total += self._spin("resonance", 0, [0, 1, 2])
            if not self._takes_resonance() or self.ended != "played":
                break
        self._feature_ended("resonance", played, total)
        if self.is_clear and not self.is_stopped:
            self._free_spins()
        return self

    def _takes_resonance(self) -> bool:
        return self.triggered == "resonance"

    def _free_spins(self) -> None:
        self.events.append(ChoiceOffered(choices=self.hooked("choices", (0, 1, 2))))
        self.choices = (self.choice,)
        self.left = self.given = self.hooked("given", self.rules.free_spins[self.choice].spins)
        self.meter = total = played = 0
        self.multiplier = self.hooked("free_multiplier", self.multiplier)
        while self.left > 0 and self.ended == "played":
            self.left -= 1
            played += 1
            total += self._spin("free", self.left, [self.choice])
        self._feature_ended("free_spins", played, total)

    def _feature_ended(self, feature: Any, played: int, total: int) -> None:
        fields = self.hooked("feature_ended", {"feature": feature, "spins_played": played, "total_minor": total})
        self.events.append(FeatureEnded(**fields))

    def _spin(self, part: Any, left: int, powers: list[int]) -> int:
        """Play one spin from `spin_started` to `spin_ended` and return its award."""
        self.part, self.sum, self.cut, self.drop, self.triggered = part, 0, 0, 0, ""
        self.is_stopped = self.is_clear = self.has_stars = False
        if part != "free":
            self.multiplier, self.meter = self.hooked("reset", (1, 0))
        names = {"base": self.rules.base_strip_set, "resonance": self.rules.resonance_strip_set, "free": self.rules.free_spins_strip_set}
        number = self.rules.strip_set_index(names[part])
        count = self.random.choices(self.rules.highlights.counts, self.rules.highlight_weights.weights)[0]
        self.highlights, self.won, self.acted = set(self.random.sample(range(25), count)), set(), False
        self.events.append(
            SpinStarted(
                spin_index=self.spin, part=part, strip_set=number, spins_left=self.hooked("shown_left", left), multiplier=self.multiplier,
                total_multiplier=0, meter=self.meter, highlighted_cells=tuple(sorted(self.highlights)),
            )
        )  # fmt: skip
        strips = self.rules.strip_sets[number].strips
        stops = tuple(self.random.randrange(len(strip)) for strip in strips)
        self.board = "".join((strip * 2)[stop : stop + 5] for strip, stop in zip(strips, stops, strict=True))
        self.marks = [0] * 25
        self._write_drop(stops)
        self.powers = self.hooked("powers", list(powers))
        self._play_board()
        return self._end_spin()

    def _write_drop(self, stops: tuple[int, ...] = ()) -> None:
        self.board, self.marks = self.hooked("board", (self.board, list(self.marks)))
        symbols = tuple(LETTERS.index(letter) for letter in self.board)
        self.events.append(Drop(drop_index=self.drop, symbols=symbols, values=(), marks=tuple(self.marks), stops=stops))
        self.drop += 1

    def _play_board(self) -> None:
        """Play steps and powers until the board is at rest for good, or clear."""
        is_first = True
        while not self.is_stopped:
            if not re.search("[BHTRANS]", self.board):
                self._clear()
                return
            if self.hooked("acts_first", False) and self.powers:
                self._power(self.powers.pop(0))
                continue
            wins = self.hooked("wins", self._runs())
            if wins:
                if self.part == "free" and is_first:
                    self.powers = self.hooked("powers_of_winning_spin", [])
                self._step(wins)
            elif self.part == "base" and not self.acted and self._acts():
                self.acted = True
                self._power(self.hooked("princess", self.active))
            elif self.powers:
                self._power(self.powers.pop(0))
            else:
                return
            is_first = False

    def _acts(self) -> bool:
        self.acted = True
        act = self.random.choices((True, False), (self.rules.base_power.act, self.rules.base_power.rest))[0]
        return bool(self.hooked("acts", act))

    def _runs(self) -> list[dict[str, Any]]:
        """Return the winning runs of the board, each as the fields of a win but for its money, with the pay."""
        found = []
        for number, cells in enumerate(LINES):
            word = "".join(self.board[cell] for cell in cells)
            spans = [(match.span(), letter) for letter in "BHTR" for match in re.finditer(f"[{letter}W]{{3,}}", word) if letter in match[0]]
            for match in re.finditer("[ANSW]{3,}", word):
                kinds = set(match[0]) - {"W"}
                if kinds:
                    spans.append((match.span(), kinds.pop() if len(kinds) == 1 else "M"))
            for match in re.finditer("(?<![BHTRANSW])W{3,}(?![BHTRANSW])", word):
                if any(self.marks[cell] == 0 for cell in cells[match.start() : match.end()]):
                    spans.append((match.span(), "W"))
            for (first, after), letter in sorted(spans):
                pay = self._pay(letter, after - first)
                if letter == "M" and self.readings["MPS-3"]:
                    pay = sum(
                        self._pay(kind, len(match[0]))
                        for kind in "ANS"
                        for match in re.finditer(f"[{kind}W]{{3,}}", word[first:after])
                        if kind in match[0]
                    )
                found.append(
                    {"symbol": LETTERS.index(letter), "line": number, "count": after - first, "cells": tuple(cells[first:after]),
                     "ways": 1, "pay_x100": pay}
                )  # fmt: skip
        return found

    def _pay(self, letter: str, length: int) -> int:
        return self.rules.symbols[LETTERS.index(letter)].pays_x100[length - 3]

    def _step(self, wins: list[dict[str, Any]]) -> None:
        cells = {cell for win in wins for cell in win["cells"]}
        new = (cells & self.highlights) - self.won
        rise = int(bool(cells & self.highlights)) if self.readings["MPS-5"] else len(new)
        to = max(self.multiplier, min(self.rules.ceiling.multiplier, self.multiplier + self.hooked("rise", rise)))
        to = self.hooked("to", to)
        factor = self.hooked("factor", to if self.readings["MPS-4"] else self.multiplier)
        for win in wins:
            win = {"multiplier": factor} | win
            paid = self.hooked("win", win | {"win_minor": win["pay_x100"] * win["multiplier"] * self.bet // 100})
            self.events.append(Win(**paid))
            self._add(paid["win_minor"])
            if self.is_stopped:
                return
        sections = sum(self._sections(win) for win in wins)
        self.meter = self.hooked("meter", min(self.meter + sections, 3))
        if to != self.multiplier:
            self.events.append(MultiplierChange(from_multiplier=self.multiplier, to_multiplier=to, cause="highlights"))
            self.multiplier = to
        self.won |= cells
        is_last = bool(new) and self.highlights <= self.won and not self.has_stars
        if self.hooked("constellation", is_last):
            self.has_stars = True
            self._prize("constellation")
            if self.is_stopped:
                return
        self._fall(wins, cells)

    def _sections(self, win: dict[str, Any]) -> int:
        fills = self.hooked("fills", win["symbol"] in (4, 5, 6, 8))
        return self.rules.meter.sections_of_run[win["count"] - 3] if fills else 0

    def _fall(self, wins: list[dict[str, Any]], cells: set[int]) -> None:
        self.step_wins = wins
        stay = {cell for cell in cells if self.marks[cell]}
        turned = {win["cells"][1] for win in wins if win["count"] == 3 and win["symbol"] != 7} - stay
        removed, turned = self.hooked("leaves", (cells - stay - turned, turned))
        above = self.hooked("above", ((),) * 5)
        self.events.append(
            Tumble(
                removed_cells=tuple(sorted(removed)),
                turned_cells=tuple(sorted(turned)),
                turned_symbols=(7,) * len(turned),
                new_symbols=above,
            )
        )
        board = ["W" if cell in turned else letter for cell, letter in enumerate(self.board)]
        columns, marks = [], []
        for reel in range(5):
            kept = [cell for cell in range(5 * reel, 5 * reel + 5) if cell not in removed and board[cell] != "x"]
            new = "".join(LETTERS[symbol] for symbol in above[reel])
            columns.append((new + "".join(board[cell] for cell in kept)).rjust(5, "x"))
            marks += [0] * (5 - len(kept)) + [self.marks[cell] for cell in kept]
        self.board, self.marks = "".join(columns), marks
        self._write_drop()

    def _clear(self) -> None:
        if not self.hooked("clears", True):
            return
        wilds = tuple(cell for cell, letter in enumerate(self.board) if letter == "W")
        if wilds:
            self.events.append(Tumble(removed_cells=wilds, turned_cells=(), turned_symbols=(), new_symbols=((),) * 5))
            self.board, self.marks = "x" * 25, [0] * 25
            self._write_drop()
        self.is_clear = True
        if self.hooked("pays_clear", self.part != "resonance"):
            self._prize("clear_grid")

    def _power(self, princess: int) -> None:
        rows = {(row.part, row.princess): row.weights for row in self.rules.power_weights}
        power = self.rules.powers[princess]
        part = "free" if self.part == "free" else "base"
        size = self.random.choices(power.sizes, rows[part, power.princess])[0]
        cells = [cell for cell, letter in enumerate(self.board) if letter in "BHTRANS"]
        if power.power == "diagonal":
            chosen = self._diagonal(size, cells)
        else:
            chosen = sorted(self.random.sample(cells, min(size, len(cells))))
        princess, size, chosen = self.hooked("power", (princess, size, tuple(chosen)))
        self.events.append(Power(princess=princess, size=size, turned_cells=tuple(chosen)))
        self.board = "".join("W" if cell in chosen else letter for cell, letter in enumerate(self.board))
        if princess == 0:
            self.marks = [2 if cell in chosen else mark for cell, mark in enumerate(self.marks)]
        if self.part == "base":
            self.active = self.hooked("next", {2: 0, 0: 1, 1: 2}[princess])

    def _diagonal(self, size: int, cells: list[int]) -> list[int]:
        for length in range(size, 1, -1):
            found = []
            for cell in cells:
                for way in (1, -1):
                    stretch = [cell + at * (5 + way) for at in range(length)]
                    rows = [each % 5 for each in stretch]
                    if rows == list(range(rows[0], rows[0] + way * length, way)) and set(stretch) <= set(cells):
                        found.append(stretch)
            if found:
                return self.random.choice(found)
        return [self.random.choice(cells)]

    def _prize(self, which: Any) -> None:
        pay = {"constellation": 500, "clear_grid": 2000}[which]
        fields = {"which": which, "pay_x100": pay, "multiplier": self.multiplier, "prize_minor": pay * self.multiplier * self.bet // 100}
        fields = self.hooked("prize", fields)
        self.events.append(Prize(**fields))
        self._add(fields["prize_minor"])

    def _add(self, amount: int) -> None:
        before = self.sum + (0 if self.readings["ALL-1"] == 2 else self.total)
        self.sum += amount
        if self.hooked("is_capped", amount > 0 and before + amount >= self.cap_minor) and not self.is_past_cap:
            fields = {"total_before_minor": before, "uncapped_minor": amount, "awarded_minor": max(self.cap_minor - before, 0)}
            fields = self.hooked("cap_hit", fields)
            self.events.append(CapHit(**fields))
            self.cut = fields["uncapped_minor"] - fields["awarded_minor"]
            self.is_stopped = self.hooked("is_stopped", True)
            self.is_past_cap = not self.is_stopped
            if self.readings["ALL-1"] != 2 and self.is_stopped:
                self.ended = "capped"

    def _trigger(self) -> None:
        """Write what the spin triggers."""
        is_full = self.hooked("is_full", self.meter >= 3)
        if self.part == "resonance" and self.is_clear:
            self._write_trigger("free_spins", 25, 0, 0)
        elif self.part == "free" and is_full:
            more = self.hooked("more", min(self.rules.free_spins_limit.spins_added, self.rules.free_spins_limit.spins_max - self.given))
            if more > 0:
                self.left += more
                self.given += more
                self._write_trigger("free_spins", 3, more, self.left)
        elif is_full and self.part != "free" and not (self.part == "resonance" and self.readings["MPS-11"]):
            if self.part == "resonance" and self.resonances >= self.rules.resonance_limit.resonances:
                self.ended = "limit"
            else:
                self._write_trigger("resonance", 3, 1, 1)

    def _write_trigger(self, feature: Any, count: int, awarded: int, left: int) -> None:
        self.triggered = feature
        if self.hooked("writes_trigger", True):
            self.events.append(FeatureTrigger(feature=feature, count=count, spins_awarded=awarded, spins_left=left))

    def _end_spin(self) -> int:
        if not self.is_stopped:
            self._trigger()
        self.meter = self.hooked("meter_after", 0 if self.meter >= 3 else self.meter)
        award = self.hooked("award", self.sum - self.cut)
        self.total = self.hooked("total", self.total + award)
        self.events.append(SpinEnded(spin_multiplier=1, cut_minor=self.cut, award_minor=award, total_minor=self.total, meter=self.meter))
        self.spin += 1
        return int(award)


def placed(events: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return game events with their indexes in the round's stream."""
    return list(enumerate(events, start=1))
