"""Single faults planted in the sources of a game, and rounds of the faulty game for the referee to judge.

The faults of each game are listed in the TOML file of its name in this folder: an exact piece of a source file, which must stand
there once, and what takes its place. The faulty sources are run as modules of their own, by the plain path; no file is changed.
"""

import importlib
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from engines.canonical import RecordedEvent
from engines.game import Game, Outcome
from engines.game_events import GAME_EVENTS
from engines.registry import GAMES, installed_rules
from engines.rng import round_key
from engines.rules import GameRules
from replay.check import check_rounds
from replay.verdict import Finding
from tests.round_builder import export_lines, round_facts
from tests.rules_changes import changed_rules

__all__ = ["ROUNDS", "Fault", "FaultListError", "Judged", "faults_of", "judge", "right_rounds_findings", "rules_named"]

FOLDER = Path(__file__).resolve().parent
ENGINES = FOLDER.parents[1] / "engines"
ROUNDS = 200
SEED = bytes(range(32))
BALANCE_MINOR = 10**9


class FaultListError(Exception):
    """A list of planted faults does not fit the code that it is about."""

    def __init__(self, game: str, fault: str, wanted: str, found: str) -> None:
        super().__init__(game, fault, wanted, found)
        self.game, self.fault, self.wanted, self.found = game, fault, wanted, found

    def __str__(self) -> str:
        return f"{self.game}, {self.fault!r}: want {self.wanted}, found {self.found}; correct tests/planted/{self.game}.toml"


class Fault(NamedTuple):
    """One fault: in `file` below engines/, `old` stands once and is replaced by `new`."""

    game: str
    name: str
    file: str
    old: str
    new: str
    rules: str = "installed"  # or test rules of the list, where the installed ones reach the place too rarely
    equivalent: str = ""  # why it changes nothing
    needs_seed: str = ""  # why no one can see it in the events alone


class Judged(NamedTuple):
    """What became of a fault: `seen`, `missed` (rounds changed, nothing found), `unchanged` or `equivalent`."""

    fault: Fault
    outcome: str
    rounds: int  # played; the last one is that of the finding
    changed: int  # of these, rounds that differ from those of the right game
    finding: str


class _Played(NamedTuple):
    """A round as `round_facts` takes it."""

    rules: GameRules
    mode: str
    bet: int
    events: list[RecordedEvent]
    total: int
    base_award: int
    ended: str
    state_in: dict[str, int]
    state_out: dict[str, int]
    choices: tuple[int, ...]


@cache
def _list_of(game: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{game}.toml").read_text(encoding="utf-8"))


def faults_of(game: str) -> list[Fault]:
    """Return the listed faults of a game; raises FaultListError where a name comes twice or a text is not there once."""
    folder = f"games/{GAMES[game]}"
    faults = [Fault(game, **{"file": f"{folder}/game.py", **entry}) for entry in _list_of(game)["fault"]]
    names = [fault.name for fault in faults]
    for fault in faults:
        if names.count(fault.name) > 1:
            raise FaultListError(game, fault.name, "a name of its own", f"{names.count(fault.name)} of this name")
        _faulty_text(fault)
    return faults


def rules_named(game: str, name: str) -> GameRules:
    """Return the installed rules of a game, or test rules of its list by their name."""
    rules = installed_rules(game)
    if name == "installed":
        return rules
    changes = dict(_list_of(game)["rules"][name])
    readings = changes.pop("readings", {})
    if "strips" in changes:
        strips = tuple(changes.pop("strips"))
        changes["strip_sets"] = [{**part.model_dump(), "strips": strips} for part in rules.strip_sets]
    rules = changed_rules(rules, **changes)
    for reading, value in readings.items():
        rules = rules.with_reading(reading, value)
    return rules


def _faulty_text(fault: Fault) -> str:
    text = (ENGINES / fault.file).read_text(encoding="utf-8")
    count = text.count(fault.old)
    if count != 1 or fault.old == fault.new:
        raise FaultListError(fault.game, fault.name, f"the text once in {fault.file}, and another in its place", f"it {count} times")
    return text.replace(fault.old, fault.new)


def _kernel_files(game: str) -> list[str]:
    """Return the files below engines/ that make a round, in the order in which they are imported."""
    kernels = sorted(f"kernels/{path.name}" for path in (ENGINES / "kernels").glob("*.py") if path.stem != "__init__")
    kernels.sort(key=lambda file: "engines.kernels" in (ENGINES / file).read_text(encoding="utf-8"))
    own = [f"games/{GAMES[game]}/{name}.py" for name in ("tables", "game")]
    return ["event_buffer.py", *kernels, *(file for file in own if (ENGINES / file).is_file())]


def _load_faulty(fault: Fault) -> ModuleType:
    """Return the game's module with the fault in it; the modules of this process stay as they are."""
    importlib.import_module(f"engines.games.{GAMES[fault.game]}.game")
    uncompiled = ModuleType("engines.jit")
    uncompiled.__dict__["kernel"] = lambda function: function
    loaded = {"engines.jit": uncompiled}
    kept = dict(sys.modules)
    try:
        sys.modules.update(loaded)
        for file in _kernel_files(fault.game):
            text = _faulty_text(fault) if file == fault.file else (ENGINES / file).read_text(encoding="utf-8")
            name = "engines." + file.removesuffix(".py").replace("/", ".")
            module = loaded[name] = sys.modules[name] = ModuleType(name)
            exec(compile(text, f"{file} with {fault.name!r}", "exec"), module.__dict__)
    finally:
        sys.modules.update({name: kept[name] for name in loaded if name in kept})
        for name in loaded.keys() - kept.keys():
            del sys.modules[name]
    return module


def _game(module: ModuleType, rules: GameRules) -> Game:
    return Game(
        rules,
        module.play_round,
        module.build_tables(rules),
        fingerprint="",
        state_fields=module.STATE_FIELDS,
        draw_purposes=module.DRAW_PURPOSES,
    )


@cache
def _right_game(game: str, rules_name: str) -> Game:
    return _game(importlib.import_module(f"engines.games.{GAMES[game]}.game"), rules_named(game, rules_name))


def _terms(rules: GameRules, nonce: int) -> tuple[str, int]:
    """Return mode and bet of a round: every mode in turn, at the lowest, a middle and the highest bet."""
    coins = (rules.bet.coin_minor_min, (rules.bet.coin_minor_min + rules.bet.coin_minor_max) // 2, rules.bet.coin_minor_max)
    return rules.modes[nonce % len(rules.modes)].name, rules.bet.coins * coins[nonce // len(rules.modes) % 3]


def _state_and_choices(rules: GameRules, nonce: int) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return what a round starts from and what is chosen in it: every choice in turn, and in turn what a state can hold."""
    count = len(rules.choice_names)
    state = {name: (first + nonce) % count for name, first in rules.first_state.items()}  # a state is one of the choices in every game
    return state, ((nonce // count) % count,) if count else ()


def _play(game: Game, nonce: int) -> Outcome:
    mode, bet_minor = _terms(game.rules, nonce)
    return game.play(round_key(SEED, game.rules.game, "", nonce), mode, bet_minor, *_state_and_choices(game.rules, nonce))


@cache
def _right_round(game: str, rules_name: str, nonce: int) -> Outcome:
    return _play(_right_game(game, rules_name), nonce)


def _findings(outcome: Outcome, rules: GameRules, nonce: int) -> list[Finding]:
    """Return what is found in a round by the right rules, without its seed, warnings apart."""
    mode, bet_minor = _terms(rules, nonce)
    events = [GAME_EVENTS[topic.split("/")[0]].model_validate_json(data) for topic, data in outcome.events]
    state_in, choices = _state_and_choices(rules, nonce)
    totals = (outcome.total_win_minor, outcome.base_win_minor, outcome.ended)
    played = _Played(rules, mode, bet_minor, events, *totals, state_in, outcome.state_out, choices)
    lines = export_lines([round_facts(played, number=nonce, balance_before=BALANCE_MINOR)])
    found = check_rounds(lines, lambda *_: rules).rounds[0].findings
    return [finding for finding in found if finding.severity != "warning"]


def right_rounds_findings(game: str, rules_name: str, round_count: int = ROUNDS) -> Iterator[tuple[int, Finding]]:
    """Yield what is found in the rounds of the game without a fault, each with its nonce: there is to be nothing."""
    for nonce in range(round_count):
        for finding in _findings(_right_round(game, rules_name, nonce), _right_game(game, rules_name).rules, nonce):
            yield nonce, finding


def judge(fault: Fault, round_count: int = ROUNDS) -> Judged:
    """Play the faulty game until the referee sees it, `round_count` rounds at most.

    A round that is that of the right game to the byte is not judged again. Raises FaultListError where the faulty game breaks
    down, or changes a round although its fault is listed as one that changes nothing.
    """
    rules = _right_game(fault.game, fault.rules).rules
    game = _game(_load_faulty(fault), rules)
    changed = 0
    for nonce in range(round_count):
        try:
            outcome = _play(game, nonce)
        except Exception as error:
            raise FaultListError(fault.game, fault.name, "a game that plays", f"{type(error).__name__}: {error}") from error
        right = _right_round(fault.game, fault.rules, nonce)
        if outcome._replace(words_used=right.words_used) == right:
            continue
        changed += 1
        if fault.equivalent:
            raise FaultListError(fault.game, fault.name, "no round changed, as it is listed as equivalent", f"round {nonce} changed")
        found = _findings(outcome, rules, nonce)
        if found:
            return Judged(fault, "seen", nonce + 1, changed, f"[{found[0].severity}] {found[0].code}: {found[0].message}")
    outcome_word = "equivalent" if fault.equivalent else "missed" if changed else "unchanged"
    return Judged(fault, outcome_word, round_count, changed, fault.equivalent or fault.needs_seed)
