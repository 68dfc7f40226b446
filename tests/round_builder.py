"""Rounds written from the rule texts, without a kernel: for tests of the referee and the reconciler.

`RoundBuilder` plays by the rules with `random.Random`; a hook replaces one value where it arises, so that a fault is
carried through as a faulty game would have written it. Lines are those of `audit export`.
"""

import copy
import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from engines.canonical import RecordedEvent, canonical_json
from engines.game_events import (
    CapHit,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    MultiplierChange,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from engines.rules import GameRules, load_rules
from replay.referee.falling import board_after, refill, removed_counts, union_cells, window
from replay.referee.scatter_pays import board_wins
from replay.referee.tables import tables_of
from replay.referee.world import UNKNOWN_VALUE

__all__ = ["INSTALLED", "PLAYED", "RULES", "RoundBuilder", "events_of", "export_lines", "redigest", "round_facts", "rules_with"]

RULES_FILE = Path(__file__).parents[1] / "engines/games/moonlight_princess/rules-0.1.0.toml"
INSTALLED = load_rules(RULES_FILE)
ACCOUNT = "a" * 32
START_US = 1_764_547_200_000_000
Hook = Callable[..., Any]


def _test_strip(rng: random.Random, scatters: int, hearts: int) -> str:
    """Return a strip of 72 positions with short runs, scatters at least twelve apart and some hearts."""
    letters = [symbol.letter for symbol in INSTALLED.symbols if symbol.role == "paying"]
    strip: list[str] = []
    while len(strip) < 72:
        strip += rng.choices(letters, weights=range(2, 2 + len(letters)))[0] * rng.randint(1, 4)
    strip = strip[:72]
    for number in range(scatters):
        strip[12 * number + rng.randint(0, 2)] = "P"
    for place in rng.sample([place for place in range(72) if strip[place] != "P"], hearts):
        strip[place] = "H"
    return "".join(strip)


def _test_strip_sets() -> list[dict[str, Any]]:
    """Return strip sets of our own, so that a calibration of the game changes no test; three sets as in the rules file."""
    rng = random.Random(20)
    counts = {"A": (1, 1), "B": (2, 2), "free": (3, 2)}
    return [
        {"name": part.name, "assumption": "ALL-2", "strips": [_test_strip(rng, *counts[part.name]) for _ in range(INSTALLED.layout.reels)]}
        for part in INSTALLED.strip_sets
    ]


def rules_with(**parts: Any) -> GameRules:
    """Return the test rules with some parts replaced: dicts are merged into the part, other values stand for it."""
    values = INSTALLED.model_dump() | {"strip_sets": _test_strip_sets()}
    for weights in values["heart_weights"]:
        weights["weights"] = [1] * len(values["heart_values"]["values"])
    for name, part in parts.items():
        values[name] = {**values[name], **part} if isinstance(part, dict) else part
    return type(INSTALLED).model_validate(values)


RULES = rules_with()


class RoundBuilder:
    """Plays one round and keeps its game events; `hooks` replace values by name, each called with the value and the builder."""

    def __init__(
        self, rules: GameRules, *, seed: int, mode: str = "base", bet_minor: int = 200, scatters: int | None = None, hearts: bool = False
    ) -> None:
        self.rules, self.tables = rules, tables_of(rules)
        self.random = random.Random(seed)
        self.mode, self.bet = mode, bet_minor
        self.scatters, self.want_hearts = scatters, hearts
        self.hooks: dict[str, Hook] = {}
        self.events: list[RecordedEvent] = []
        self.spin = self.drop = self.total = self.total_multiplier = 0
        self.left = self.free_total = self.base_award = 0
        self.ended = "played"
        self.is_capped = False
        self.cap_minor = self.tables.cap_minor(mode, bet_minor)

    def hooked(self, name: str, value: Any) -> Any:
        """Return `value`, or what the hook called `name` makes of it."""
        hook = self.hooks.get(name)
        return value if hook is None else hook(value, self)

    def play(self) -> "RoundBuilder":
        """Play the round to its end."""
        self.play_spin()
        if self.left and not self.is_over:
            while self.left and not self.is_over:
                if self.spin >= self.rules.limits.free_spins:
                    self.ended = "limit"
                    break
                self.spin += 1
                self.left -= 1
                self.play_spin()
        self.end_feature()
        return self

    @property
    def is_over(self) -> bool:
        """Whether cap or limit ended the round."""
        return bool(self.hooked("is_over", self.ended != "played"))

    def end_feature(self) -> None:
        """Write the end of the free spins where there were some."""
        if self.spin:
            self.events.append(
                FeatureEnded(feature="free_spins", spins_played=self.hooked("spins_played", self.spin), total_minor=self.free_total)
            )

    def play_spin(self) -> None:
        """Play one spin from `spin_started` to `spin_ended`."""
        strip_set = self._choose_set()
        self.strips = self.tables.strips[strip_set]
        allowed = sorted(self.tables.heart_values[strip_set])
        shown_multiplier = self.hooked("start_multiplier", self.total_multiplier if self.spin else 0)
        self.total_multiplier = shown_multiplier if self.spin else 0
        self.events.append(
            SpinStarted(
                spin_index=self.spin,
                part="free" if self.spin else "base",
                strip_set=strip_set,
                spins_left=self.left if self.spin else 0,
                multiplier=1,
                total_multiplier=shown_multiplier,
                meter=0,
                highlighted_cells=(),
            )
        )
        stops = self._choose_stops()
        board = sum((window(strip, stop, self.tables.rows) for strip, stop in zip(self.strips, stops, strict=True)), ())
        values = self._draw([0] * len(board), board, range(len(board)), allowed)
        self.drop = 0
        board, values = self.hooked("board", (board, values))
        self.events.append(Drop(drop_index=0, symbols=board, values=values, marks=(), stops=stops))
        self._tumble_on(board, values, stops, allowed)

    def _choose_set(self) -> int:
        if self.spin:
            return self.tables.free_set
        sets = self.tables.paid_spin_sets(self.mode)
        return sets[-1] if self.scatters else self.random.choice(sets)

    def _choose_stops(self) -> tuple[int, ...]:
        tables, rows = self.tables, self.tables.rows
        count = None if self.spin else self.scatters
        if count is None and not self.spin and tables.is_bought(self.mode):
            count = self.random.choice(tables.buy_scatters)
        stops = []
        chosen = self.random.sample(range(tables.reels), count) if count is not None else []
        for reel, strip in enumerate(self.strips):
            fits = list(range(len(strip)))
            if count is not None:
                fits = [stop for stop in fits if (tables.scatter in window(strip, stop, rows)) == (reel in chosen)]
            elif self.want_hearts and self.random.random() < 0.4:
                fits = [stop for stop in fits if tables.heart in window(strip, stop, rows)] or fits
            stops.append(self.random.choice(fits))
        return tuple(stops)

    def _draw(self, values: Sequence[int], board: Sequence[int], cells: Any, allowed: Sequence[int]) -> tuple[int, ...]:
        drawn = list(values)
        for cell in cells:
            drawn[cell] = self.random.choice(allowed[:6]) if board[cell] == self.tables.heart else 0
        return tuple(drawn)

    def _tumble_on(self, board: Any, values: Any, tops: Any, allowed: Sequence[int]) -> None:
        tables, rows = self.tables, self.tables.rows
        sum_minor = 0
        shown = [rows] * tables.reels
        is_limited = False
        while True:
            wins = [
                {
                    "symbol": win.symbol,
                    "line": -1,
                    "count": win.cell_count,
                    "cells": win.cells,
                    "ways": 1,
                    "pay_x100": win.pay_x100,
                    "multiplier": 1,
                    "win_minor": win.pay_x100 * self.bet // 100,
                }
                for win in board_wins(board, tables.counts, tables.pays)
            ]
            wins = self.hooked("wins", wins)
            for win in wins:
                self.events.append(Win(**win))
                sum_minor += win["win_minor"]
            removed = self.hooked("removed", union_cells(win["cells"] for win in wins))
            if not removed:
                break
            counts = removed_counts(removed, tables.reel_rows)
            shown = [before + count for before, count in zip(shown, counts, strict=True)]
            if self.drop >= self.rules.limits.tumbles or any(a > len(strip) for a, strip in zip(shown, self.strips, strict=True)):
                is_limited = True
                break
            new, tops = refill(self.strips, tops, counts)
            new = self.hooked("new_symbols", new)
            board = board_after(board, removed, new, tables.reel_rows)
            kept = board_after(values, removed, tuple((UNKNOWN_VALUE,) * count for count in counts), tables.reel_rows)
            values = self._draw(kept, board, [cell for cell, value in enumerate(kept) if value == UNKNOWN_VALUE], allowed)
            self.events.append(Tumble(removed_cells=removed, turned_cells=(), turned_symbols=(), new_symbols=new))
            self.drop += 1
            board, values = self.hooked("board", (board, values))
            self.events.append(Drop(drop_index=self.drop, symbols=board, values=values, marks=(), stops=()))
        self._rest(board, values, sum_minor, is_limited)

    def _rest(self, board: Any, values: Any, sum_minor: int, is_limited: bool) -> None:
        """Hearts, cap, scatter prize, trigger, adding up: the decision page, read top to bottom."""
        reading = self.tables.readings
        free = self.spin > 0
        hearts = self.hooked("hearts", sum(values))
        scatters = self.hooked("scatters", board.count(self.tables.scatter))
        pay = self.rules.symbols[self.tables.scatter].pays_x100[min(scatters, 6)]
        if free and reading["MLP-4"] == 1:
            pay = 0
        winning = sum_minor > 0 or (pay > 0 and reading["MLP-2" if free else "MLP-1"] == 1)
        applies = self.hooked("applies", winning and hearts > 0)
        factor = 1
        if applies:
            before = self.total_multiplier if free else 1
            factor = self.hooked("factor", self.total_multiplier + hearts if free else hearts)
            self.events.append(MultiplierChange(from_multiplier=before, to_multiplier=factor, cause="total_hearts" if free else "hearts"))
            self.total_multiplier = factor if free else 0
        spin_multiplier = self.hooked("spin_multiplier", factor if sum_minor else 1)
        before_minor = 0 if reading["ALL-1"] == 2 else self.total
        if self.hooked("cap_first", False):
            award, cut, hit = self._capped(before_minor, sum_minor)
            award *= spin_multiplier
        else:
            award, cut, hit = self._capped(before_minor, sum_minor * spin_multiplier)
        pay = self.hooked("prize_pay", pay)
        if pay and not hit:
            multiplier = self.hooked("prize_multiplier", factor if applies and reading["MLP-1"] == 1 else 1)
            prize = pay * multiplier * self.bet // 100
            self.events.append(Prize(which="scatter_pay", pay_x100=pay, multiplier=multiplier, prize_minor=prize))
            more, cut, hit = self._capped(before_minor + award, prize)
            award += more
        self._trigger(scatters, is_barred=hit or is_limited)
        award = self.hooked("award", award)
        self.total = self.hooked("total", self.total + award)
        self.events.append(SpinEnded(spin_multiplier=spin_multiplier, cut_minor=cut, award_minor=award, total_minor=self.total, meter=0))
        self.base_award, self.free_total = (self.base_award, self.free_total + award) if free else (award, 0)
        if hit and reading["ALL-1"] != 2:
            self.ended = "capped"
        elif is_limited:
            self.ended = "limit"

    def _capped(self, before: int, amount: int) -> tuple[int, int, bool]:
        room = max(self.cap_minor - before, 0)
        if amount <= 0 or amount < room or self.hooked("no_cap", False):
            return amount, 0, False
        fields = self.hooked("cap_hit", {"total_before_minor": before, "uncapped_minor": amount, "awarded_minor": room})
        self.events.append(CapHit(**fields))
        return fields["awarded_minor"], fields["uncapped_minor"] - fields["awarded_minor"], True

    def _trigger(self, scatters: int, *, is_barred: bool) -> None:
        award = self.rules.retrigger if self.spin else self.rules.trigger
        spins = self.hooked("spins", 0 if is_barred or scatters < award.count else award.spins)
        if spins:
            self.left = self.hooked("left", self.left + spins)
            self.events.append(FeatureTrigger(feature="free_spins", count=scatters, spins_awarded=spins, spins_left=self.left))


def events_of(builder: RoundBuilder, first: int = 1) -> list[tuple[int, Any]]:
    """Return the game events with their indexes in the round's stream."""
    return list(enumerate(builder.events, start=first))


class PlayedRound(Protocol):
    """What `round_facts` needs of a round, whoever played it."""

    rules: GameRules
    mode: str
    bet: int
    events: list[RecordedEvent]
    total: int
    base_award: int
    ended: str


def round_facts(builder: PlayedRound, *, number: int = 0, balance_before: int = 1_000_000, **changes: Any) -> list[dict[str, Any]]:
    """Return the events of a whole round as dicts, choices and states that it has included, digests made; `changes` go into the opening."""
    rules = builder.rules
    cost = rules.cost_minor(builder.mode, builder.bet)
    zeros = "0" * 64
    opened: dict[str, Any] = {
        "kind": "round_opened", "v": 1, "external_ref": "", "idempotency_key": f"key-{number}", "account_ref": ACCOUNT, "session_ref": "",
        "channel": "", "profile_id": "", "profile_hash": "", "game": rules.game,
        "rules_version": rules.version, "rules_hash": rules.rules_hash,
        "texts_hash": "", "rng": "rng/1", "engine_fingerprint": "", "mode": builder.mode, "bet_minor": builder.bet, "cost_minor": cost,
        "bonus_minor": 0, "currency": "EUR", "balance_before_minor": balance_before, "epoch": 1, "seed_commitment": zeros,
        "round_key_commitment": zeros, "client_seed": "", "nonce": number, "state_in": getattr(builder, "state_in", {}),
        "opened_at_us": START_US + 10 * number,
    }  # fmt: skip
    opened |= changes
    settled = {
        "kind": "round_settled", "v": 1, "total_win_minor": builder.total, "base_win_minor": builder.base_award,
        "feature_win_minor": builder.total - builder.base_award, "ended": builder.ended,
        "state_out": getattr(builder, "state_out", {}),
        "balance_after_minor": balance_before - opened["cost_minor"] + builder.total, "outcome_digest": zeros, "round_digest": zeros,
        "settled_at_us": START_US + 10 * number + 1,
    }  # fmt: skip
    made = {"kind": "choice_made", "v": 1, "made_by": "player", "session_ref": "", "channel": "", "made_at_us": START_US + 10 * number}
    choices, events = iter(getattr(builder, "choices", ())), []
    for event in builder.events:
        events.append(event.model_dump(mode="json"))
        if event.kind == "choice_offered":
            events.append({**made, "choice": next(choices)})
    return redigest([opened, *events, settled])


def redigest(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of a round with the digests of its settlement made anew."""
    *before, settled = facts
    outer, inner = hashlib.sha256(), hashlib.sha256()
    for position, fact in enumerate(before):
        data = canonical_json(fact)
        framed = len(data).to_bytes(4, "big") + data
        outer.update(framed)
        if position and fact["kind"] != "choice_made":
            inner.update(framed)
    return [*before, {**settled, "outcome_digest": inner.hexdigest(), "round_digest": outer.hexdigest()}]


def export_lines(rounds: Sequence[Sequence[dict[str, Any]]], account: Sequence[dict[str, Any]] = ()) -> list[str]:
    """Return the lines of `audit export` for whole rounds and, before them, one account stream."""
    lines = []
    for index, fact in enumerate(account):
        lines.append(_line("", f"account/{ACCOUNT}", index, index, START_US - 100 + index, fact))
    for number, facts in enumerate(rounds):
        name = f"r-{number}"
        for index, fact in enumerate(facts):
            lines.append(_line(name, f"round/{name}", index, min(index, 1), START_US + 10 * number + min(index, 1), fact))
    return lines


def _line(round_id: str, stream: str, index: int, append: int, at: int, event: dict[str, Any]) -> str:
    return canonical_json(
        {"round_id": round_id, "stream": stream, "index": index, "append": append, "recorded_at": at, "event": event}
    ).decode()


Hooks = dict[str, Callable[[Any, RoundBuilder], Any]]


class Once:
    """A hook that replaces a value the first time it can, from one spin on."""

    def __init__(self, spin: int, change: Callable[[Any, RoundBuilder], Any]) -> None:
        self.spin, self.change, self.fired, self.spin_fired = spin, change, False, -1

    def __call__(self, value: Any, builder: RoundBuilder) -> Any:
        if self.fired or builder.spin < self.spin:
            return value
        changed = self.change(copy.deepcopy(value), builder)
        if changed is None or changed == value:
            return value
        self.fired, self.spin_fired = True, builder.spin
        return changed


def pay_more(wins: Any, builder: RoundBuilder) -> Any:
    if wins:
        wins[0]["pay_x100"] += 50
        wins[0]["win_minor"] = wins[0]["pay_x100"] * builder.bet // 100
    return wins


def win_more(wins: Any, builder: RoundBuilder) -> Any:
    if wins:
        wins[0]["win_minor"] += 40
    return wins


def count_more(wins: Any, builder: RoundBuilder) -> Any:
    if wins and wins[0]["count"] in (8, 9):
        wins[0]["count"] += 2
        wins[0]["pay_x100"] = builder.rules.symbols[wins[0]["symbol"]].pays_x100[1]
        wins[0]["win_minor"] = wins[0]["pay_x100"] * builder.bet // 100
    return wins


def miss_heart(hearts: Any, builder: RoundBuilder) -> Any:
    drop = next(event for event in reversed(builder.events) if event.kind == "drop")
    values = [value for value in drop.values if value]  # type: ignore[attr-defined]
    return hearts - values[0] if values and builder.drop else None


def swap_two(board: Any, builder: RoundBuilder) -> Any:
    if not builder.drop:
        return None
    symbols, values = map(list, board)
    a, b = builder.random.sample(range(30), 2)
    for cells in (symbols, values):
        cells[a], cells[b] = cells[b], cells[a]
    return (tuple(symbols), tuple(values)) if symbols[a] != symbols[b] else None


def hang_on(board: Any, builder: RoundBuilder) -> Any:
    """A symbol stays where it was before the tumble; what is between it and its place moves up around it."""
    tumble = builder.events[-1]
    for cell in range(30) if isinstance(tumble, Tumble) else ():
        gaps = sum(other // 5 == cell // 5 and other > cell for other in tumble.removed_cells)
        if cell in tumble.removed_cells or not gaps:
            continue
        symbols, values = map(list, board)
        for cells in (symbols, values):
            cells.insert(cell, cells.pop(cell + gaps))
        if tuple(symbols) != board[0]:
            return tuple(symbols), tuple(values)
    return None


def replace_new(new: Any, builder: RoundBuilder) -> Any:
    changed = [list(symbols) for symbols in new]
    reel = next(reel for reel, symbols in enumerate(changed) if symbols)
    changed[reel][0] = (changed[reel][0] + 1) % 9
    return tuple(map(tuple, changed))


def always(name: str, value: Any) -> Hooks:
    return {name: lambda _, builder: value}


def once(name: str, change: Callable[[Any, RoundBuilder], Any]) -> Callable[[int], Hooks]:
    return lambda spin: {name: Once(spin, change)}


def losing_hearts(applies: Any, builder: RoundBuilder) -> Any:
    drop = next(event for event in reversed(builder.events) if event.kind == "drop")
    is_losing = builder.spin and builder.drop == 0 and any(drop.values)  # type: ignore[attr-defined]
    return True if is_losing else None


def total_anyway(multiplier: Any, builder: RoundBuilder) -> Any:
    is_plain = builder.spin and builder.drop and multiplier == 1 and builder.total_multiplier > 1
    return builder.total_multiplier if is_plain else None


# Played so by a faulty game, which carries the fault on: name, hooks from a spin on, how it is played, codes, severities.
PLAYED: dict[str, tuple[Callable[[int], Hooks], str, set[str], set[str]]] = {
    "a win's amount": (once("wins", win_more), "buy", {"win_amount"}, {"money"}),
    "a pay": (once("wins", pay_more), "buy", {"win_pay"}, {"money"}),
    "a symbol count": (once("wins", count_more), "buy", {"win_count"}, {"money"}),
    "a heart left out of the sum": (
        once("hearts", miss_heart), "buy", {"multiplier_change", "multiplier_missing"}, {"money", "integrity"},
    ),
    # Where the last drop alone shows a heart, its value may be the altered one: only the seed tells (`replay/weighing.py`).
    "a multiplier": (once("factor", lambda n, b: n + 1), "buy", {"multiplier_change"}, {"money", "integrity"}),
    "hearts counted on a losing free spin": (once("applies", losing_hearts), "buy", {"multiplier_invented"}, {"money", "integrity"}),
    "a total multiplier": (
        once("start_multiplier", lambda n, b: n + 4 if b.spin else None), "buy", {"total_multiplier"}, {"money", "integrity"},
    ),
    "the total applied to a spin without a new heart": (
        once("spin_multiplier", total_anyway), "buy", {"spin_multiplier"}, {"money"},
    ),
    "two different cells swapped after a tumble": (once("board", swap_two), "buy", {"board_fall"}, {"money", "integrity"}),
    "a symbol that did not fall": (once("board", hang_on), "buy", {"board_fall"}, {"money", "integrity"}),
    "other symbols fall in": (once("new_symbols", replace_new), "buy", {"refill"}, {"money", "integrity"}),
    "a tumble missing": (once("removed", lambda r, b: () if r else None), "buy", {"tumble_missing"}, {"money", "integrity"}),
    "a win missed on the board": (once("wins", lambda w, b: w[:-1] if w else None), "buy", {"win_missing"}, {"money"}),
    "a trigger not awarded": (once("spins", lambda n, b: 0 if n else None), "buy", {"trigger_missing"}, {"money", "integrity"}),
    "16 spins for 15": (once("spins", lambda n, b: 16 if n == 15 else None), "buy", {"spins_awarded"}, {"money", "integrity"}),
    "16 spins announced and played, 15 awarded": (
        once("left", lambda n, b: 16 if n == 15 and not b.spin else None), "buy", {"spins_left"}, {"money", "integrity"},
    ),
    "a retrigger of +4": (once("spins", lambda n, b: 4 if n == 5 else None), "buy", {"spins_awarded"}, {"money", "integrity"}),
    "a trigger invented": (
        once("spins", lambda n, b: 5 if b.spin and not n else None), "buy", {"trigger_invented"}, {"money", "integrity"},
    ),
    "a scatter pay multiplied": (once("prize_multiplier", lambda n, b: 3), "buy", {"prize_multiplier"}, {"money"}),
    "a scatter pay not paid": (once("prize_pay", lambda n, b: 0 if n else None), "buy", {"prize_missing"}, {"money"}),
    "cap ignored": (lambda spin: always("no_cap", True), "capped", {"cap_missing"}, {"money"}),
    "cap taken before the multiplier": (lambda spin: always("cap_first", True), "capped", {"cap_hit", "cap_missing"}, {"money"}),
    "play after the cap": (
        lambda spin: {"is_over": lambda v, b: False, "no_cap": lambda v, b: b.total >= b.cap_minor},
        "capped", {"after_cap"}, {"money", "integrity"},
    ),
    "play after the cap for nothing": (lambda spin: always("is_over", False), "capped", {"after_cap"}, {"integrity"}),
    "an award": (once("award", lambda n, b: n + 20), "buy", {"award"}, {"money"}),
    "a wrong total": (once("total", lambda n, b: n + 20), "buy", {"total"}, {"money"}),
}  # fmt: skip
