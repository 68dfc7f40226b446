"""Strips and pays as played rounds show them: rebuilt from boards and wins alone, to be held against the rules file.

Another way to the same tables: what stands here comes from events, not from the file that the kernel reads.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from audit_reports.long_simulation import Configuration, configurations
from engines.game import Game
from engines.rules import GameRules

__all__ = ["OBSERVED_ROUNDS", "ObservedTables", "Seen", "observe", "observed_tables"]


FirstBoard = tuple[int, bool, int]  # strip set, whether it won, number of scatters or Moons


class Seen(NamedTuple):
    """One table: how many of its places were seen on boards or in wins, of how many, and where what was seen is not what is stated."""

    what: str
    seen: int
    of: int
    wrong: tuple[str, ...]  # place, want, got; the first ones

    @property
    def agrees(self) -> bool:
        """Whether something was seen, and nothing that contradicts the table."""
        return self.seen > 0 and not self.wrong


class ObservedTables(NamedTuple):
    """What so many rounds showed: strips by set and reel (from 0), position to symbol; pays by symbol and count.

    first_boards: of paid spins whose strip set was drawn, how many won and showed so many scatters or Moons, by strip set.
    """

    rounds: int
    strips: dict[tuple[int, int], dict[int, set[int]]]
    pays: dict[tuple[int, int], set[int]]
    first_boards: Counter[FirstBoard]


WRONG_MAX = 5
OBSERVED_ROUNDS = 3_000  # of each configuration of a certification
BOUGHT_MODE = "buy"  # its first board is not drawn as another is


def observe(game: Game, round_count: int, seed: bytes) -> Iterator[ObservedTables]:
    """Yield what was seen, after each configuration: so many rounds of each, keys from the seed, states carried on."""
    game.compile()
    rules, tables = game.rules, ObservedTables(0, {}, {}, Counter())
    for configuration in configurations(rules):
        for events in _events(game, configuration, round_count, seed):
            _note(rules, tables, events)
            if configuration.mode != BOUGHT_MODE:
                tables.first_boards[_first_board(rules, events)] += 1
        tables = tables._replace(rounds=tables.rounds + round_count)
        yield tables


def _events(game: Game, configuration: Configuration, round_count: int, seed: bytes) -> Iterator[list[dict[str, Any]]]:
    """Yield the events of interest of each round."""
    rules, state = game.rules, game.rules.first_state
    choices = (rules.choice_names.index(configuration.choice),) if configuration.choice else ()
    for number in range(round_count):
        key = sha256(b"observed-round/1" + seed + configuration.name.encode() + number.to_bytes(8, "big")).digest()
        outcome = game.play(key, configuration.mode, rules.bet.coins, state, choices)
        state = outcome.state_out
        yield [orjson.loads(each.data) for each in outcome.events if each.topic.split("/")[0] in ("spin_started", "drop", "win")]


def _note(rules: GameRules, tables: ObservedTables, events: list[dict[str, Any]]) -> None:
    strip_set = -1
    for event in events:
        if event["kind"] == "spin_started":
            strip_set = event["strip_set"]
        elif event["kind"] == "win":
            tables.pays.setdefault((event["symbol"], event["count"]), set()).add(event["pay_x100"])
        elif event["stops"] and strip_set >= 0:
            start = 0
            for reel, rows in enumerate(rules.reel_rows):
                strip = tables.strips.setdefault((strip_set, reel), {})
                length = len(rules.strip_sets[strip_set].strips[reel])
                for row in range(rows):
                    strip.setdefault((event["stops"][reel] + row) % length, set()).add(event["symbols"][start + row])
                start += rows


def _first_board(rules: GameRules, events: list[dict[str, Any]]) -> FirstBoard:
    """Return strip set, win and scatters or Moons of the paid spin's first board, from the events up to the next board."""
    counted = {number for number, symbol in enumerate(rules.symbols) if symbol.role in ("scatter", "moon")}
    started, drop = events[0], events[1]
    wins = len(events) > 2 and events[2]["kind"] == "win"
    return started["strip_set"], wins, sum(symbol in counted for symbol in drop["symbols"])


def observed_tables(rules: GameRules, found: ObservedTables) -> list[Seen]:
    """Return each strip and the paytable, as seen, against the rules."""
    rows = []
    for place, strip_set in enumerate(rules.strip_sets):
        for reel in range(len(rules.reel_rows)):
            wanted = dict(enumerate(rules.strip(place, reel)))
            seen = found.strips.get((place, reel), {})
            wrong = [
                f"position {position}: want {_names(rules, {wanted[position]})}, got {_names(rules, got)}"
                for position, got in sorted(seen.items())
                if got != {wanted[position]}
            ]
            rows.append(Seen(f"strip {strip_set.name}, reel {reel + 1}", len(seen), len(wanted), tuple(wrong[:WRONG_MAX])))
    rows.append(_paytable(rules, found))
    return rows


def _names(rules: GameRules, symbols: set[int]) -> str:
    return ", ".join(rules.symbols[symbol].name for symbol in sorted(symbols))


def _paytable(rules: GameRules, found: ObservedTables) -> Seen:
    """Return the paytable's entries that were paid; a count between two of the table pays the lower one's."""
    counts: tuple[int, ...] = getattr(rules, "pay_counts").counts  # noqa: B009 - each game's model has its own
    entries, seen, wrong = 0, set(), []
    for number, symbol in enumerate(rules.symbols):
        pays = rules.pays_x100_of(number) if symbol.role != "scatter" else ()
        entries += sum(pay > 0 for pay in pays)
        for (of, count), got in sorted(found.pays.items()):
            if of != number or symbol.role == "scatter":
                continue
            places = [place for place, wanted in enumerate(counts) if count >= wanted]
            if not places or len(pays) <= places[-1] or got != {pays[places[-1]]}:
                want = f"{pays[places[-1]] if places and len(pays) > places[-1] else 0}"
                wrong.append(f"{count} {symbol.name}: want {want}, got {', '.join(map(str, sorted(got)))} hundredths of the bet")
            else:
                seen.add((number, places[-1]))
    return Seen("paytable", len(seen), entries, tuple(wrong[:WRONG_MAX]))
