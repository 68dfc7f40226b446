"""Rules files: every value a game is played by, each with the document that states it or the assumption it hangs on.

What all games have stands here; what a game has of its own is in the model `Rules` of `engines/games/<game>/rules.py`.
"""

import hashlib
import importlib.util
import re
import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engines.canonical import INTEGER_MAX, canonical_json

__all__ = [
    "PAY_SCALE",
    "Bet",
    "Cap",
    "GameRules",
    "Layout",
    "Limits",
    "Mode",
    "PayCounts",
    "Positive",
    "Reading",
    "ReadingValue",
    "ReelLayout",
    "RulesFileError",
    "Source",
    "Sourced",
    "StripSet",
    "Symbol",
    "Weight",
    "check_pay_counts",
    "check_role_once",
    "check_weights",
    "first_choices",
    "load_rules",
]

Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
Weight = Annotated[int, Field(ge=0, le=2**31 - 1)]
PAY_SCALE = 100
GAME_ID = "[a-z0-9-]{1,64}"


class RulesFileError(Exception):
    """A rules file cannot be read, or states something that no game can be played by."""

    def __init__(self, path: str, where: str, reason: str) -> None:
        super().__init__(path, where, reason)
        self.path, self.where, self.reason = path, where, reason

    def __str__(self) -> str:
        return f"rules file {self.path}: {self.where}: {self.reason}; correct the file or name another with --rules"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Sourced(_Part):
    """Values with one origin: a document in `sources`, or an assumption where no document states them."""

    source: str = ""
    assumption: str = ""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if bool(self.source) == bool(self.assumption):
            raise ValueError("want either a source or an assumption, and not both")
        return self


class Source(_Part):
    """A document that the rules were taken from."""

    name: str
    document: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Layout(Sourced):
    """A grid of as many rows on each reel: reels from the left, rows from the top."""

    reels: Annotated[int, Field(ge=1, le=10)]
    rows: Annotated[int, Field(ge=1, le=10)]


class ReelLayout(Sourced):
    """Reels of different heights, from the left."""

    rows: Annotated[tuple[Annotated[int, Field(ge=1, le=10)], ...], Field(min_length=1, max_length=10)]


class Symbol(Sourced):
    """A symbol; its index in the list is what events hold. `letter` stands for it on the strips."""

    name: str
    letter: Annotated[str, Field(pattern="^[A-Za-z0-9]$")]
    role: Literal["paying", "scatter", "heart", "wild", "moon", "mixed", "blank"]
    pays_x100: tuple[Weight, ...] = ()  # one for each count of `pay_counts`; of a scatter, for 0, 1, 2 … of them


class Bet(Sourced):
    """A bet is `coins` times one coin of `coin_minor_min` to `coin_minor_max` minor units."""

    coins: Positive
    coin_minor_min: Positive
    coin_minor_max: Positive


class Mode(Sourced):
    """A way to buy a round; its cost in hundredths of the bet."""

    name: str
    cost_x100: Positive


class PayCounts(Sourced):
    """How many of a symbol reach each pay: from counts[i] up to below counts[i + 1]."""

    counts: tuple[Positive, ...]


class Limits(Sourced):
    """Technical limits of a round; the one more that would pass a limit is not played."""

    free_spins: Positive
    tumbles: Positive


class Cap(Sourced):
    """The most a round may win, as a multiple of the bet."""

    multiple: Positive


class StripSet(Sourced):
    """One strip for each reel, a letter a position."""

    name: str
    strips: tuple[str, ...]


class ReadingValue(_Part):
    """One way to read a rule."""

    value: Annotated[int, Field(ge=0, le=9)]
    text: str


class Reading(_Part):
    """A point where the documents are silent: what was decided (`value`) and the other ways to read it."""

    name: str
    value: Annotated[int, Field(ge=0, le=9)]
    values: tuple[ReadingValue, ...]


class GameRules(_Part):
    """All that a kernel and a referee know of one version of a game."""

    reading_names: ClassVar[tuple[str, ...]] = ()  # those that the game's kernel and referee read, in their order
    state_reading: ClassVar[str] = ""  # one under which, at value 1, the state in of a round says nothing

    game: Annotated[str, Field(pattern=f"^{GAME_ID}$")]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    title: str
    kind: str  # how it pays; names the part of the referee that walks its rounds
    sources: tuple[Source, ...]
    layout: Layout | ReelLayout
    symbols: tuple[Symbol, ...]
    bet: Bet
    modes: tuple[Mode, ...]
    cap: Cap
    rtp_target_x10000: Positive
    readings: tuple[Reading, ...]
    assumptions: dict[str, str]
    strip_sets: tuple[StripSet, ...]

    @property
    def is_draft(self) -> bool:
        """Whether the version may still be replaced (0.x)."""
        return self.version.startswith("0.")

    @property
    def reel_rows(self) -> tuple[int, ...]:
        """The number of rows of each reel, from the left."""
        return (self.layout.rows,) * self.layout.reels if isinstance(self.layout, Layout) else self.layout.rows

    @property
    def first_state(self) -> dict[str, int]:
        """What an account's first round of the game starts from; empty where a game carries nothing from round to round."""
        return {}

    @property
    def states(self) -> tuple[dict[str, int], ...]:
        """Every state that an account can be in between two rounds of the game."""
        return (self.first_state,)

    @property
    def choice_names(self) -> tuple[str, ...]:
        """The names of what a player is given to choose from, in the order of the rules file; empty where a game asks nothing."""
        return ()

    @cached_property
    def rules_hash(self) -> str:
        """SHA-256 of the canonical JSON of all values, comments and layout of the file apart."""
        return hashlib.sha256(canonical_json(self.model_dump())).hexdigest()

    @cached_property
    def texts_hash(self) -> str:
        """SHA-256 over the list of the documents shown to players, each by its own SHA-256."""
        return hashlib.sha256(canonical_json([source.model_dump() for source in self.sources])).hexdigest()

    def symbol_index(self, name: str) -> int:
        """Return the index of the symbol called `name`; KeyError for an unknown one."""
        for index, symbol in enumerate(self.symbols):
            if symbol.name == name:
                return index
        raise KeyError(name)

    def strip_set_index(self, name: str) -> int:
        """Return the index of the strip set called `name`; KeyError for an unknown one."""
        for index, strip_set in enumerate(self.strip_sets):
            if strip_set.name == name:
                return index
        raise KeyError(name)

    def strip(self, strip_set: int, reel: int) -> list[int]:
        """Return the symbol indexes of one strip, position 0 first."""
        of_letter = {symbol.letter: index for index, symbol in enumerate(self.symbols)}
        return [of_letter[letter] for letter in self.strip_sets[strip_set].strips[reel]]

    def mode(self, name: str) -> Mode | None:
        """Return the mode called `name`, None where the game has no such mode."""
        return next((mode for mode in self.modes if mode.name == name), None)

    def mode_index(self, name: str) -> int:
        """Return the position of the mode called `name`; KeyError for an unknown one."""
        for index, mode in enumerate(self.modes):
            if mode.name == name:
                return index
        raise KeyError(name)

    def reading_values(self, other: dict[str, int] | None = None) -> list[int]:
        """Return the value of each reading in the order of the file, `other` replacing those it names."""
        other = other or {}
        return [other.get(reading.name, reading.value) for reading in self.readings]

    def other_readings(self) -> list[tuple[str, int, str]]:
        """Return every reading with each value it does not have here, and that value's text."""
        return [(each.name, other.value, other.text) for each in self.readings for other in each.values if other.value != each.value]

    def reading(self, name: str) -> int:
        """Return the decided value of the reading called `name`; KeyError for an unknown one."""
        for reading in self.readings:
            if reading.name == name:
                return reading.value
        raise KeyError(name)

    def with_reading(self, name: str, value: int) -> Self:
        """Return these rules with one reading decided otherwise; their hash is another."""
        readings = tuple(r.model_copy(update={"value": value}) if r.name == name else r for r in self.readings)
        return type(self).model_validate(self.model_copy(update={"readings": readings}).model_dump())

    def cost_minor(self, mode: str, bet_minor: int) -> int:
        """Return what a round of `mode` at `bet_minor` costs, in minor units; KeyError for an unknown mode."""
        return self.modes[self.mode_index(mode)].cost_x100 * bet_minor // PAY_SCALE

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        _check_readings(self)
        _check_letters(self)
        _check_strips(self)
        self.check_own()
        _check_money(self)
        known = {source.name for source in self.sources} | set(self.assumptions)
        for part in _sourced_parts(self):
            origin = part.source or part.assumption
            if origin not in known:
                raise ValueError(f"{type(part).__name__} hangs on {origin!r}, which is neither in sources nor in assumptions")
        return self

    def check_own(self) -> None:
        """Check what this game has of its own; raises ValueError with what was wanted and got."""

    def pays_x100_of(self, symbol: int) -> tuple[int, ...]:
        """Return the pays of a symbol in hundredths of the bet, in the order of its rules file; empty where it has none."""
        return self.symbols[symbol].pays_x100


def _sourced_parts(rules: GameRules) -> list[Sourced]:
    parts: list[Sourced] = []
    for name in type(rules).model_fields:
        value = getattr(rules, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Sourced):
                parts.append(part)
    return parts


def _check_readings(rules: GameRules) -> None:
    names = tuple(reading.name for reading in rules.readings)
    if names != rules.reading_names:
        raise ValueError(f"readings: want {', '.join(rules.reading_names)} in this order, got {', '.join(names) or 'none'}")
    for reading in rules.readings:
        values = [each.value for each in reading.values]
        if values != list(range(len(values))) or reading.value not in values:
            raise ValueError(f"reading {reading.name}: want values 0, 1, … and one of them decided, got {values} and {reading.value}")


def _check_letters(rules: GameRules) -> None:
    letters = [symbol.letter for symbol in rules.symbols]
    if len(set(letters)) != len(letters):
        raise ValueError(f"symbols: want letters that differ, got {''.join(letters)}")
    roles = [symbol.role for symbol in rules.symbols]
    if roles != sorted(roles, key=lambda role: role != "paying"):
        raise ValueError("symbols: want the paying ones first, in paytable order")


def _check_strips(rules: GameRules) -> None:
    letters = {symbol.letter for symbol in rules.symbols}
    rows = rules.reel_rows
    for strip_set in rules.strip_sets:
        if len(strip_set.strips) != len(rows):
            raise ValueError(f"strip set {strip_set.name}: want {len(rows)} strips, got {len(strip_set.strips)}")
        for reel, strip in enumerate(strip_set.strips):
            unknown = set(strip) - letters
            if unknown or len(strip) <= rows[reel]:
                raise ValueError(
                    f"strip set {strip_set.name} reel {reel}: unknown letters {sorted(unknown)} or not longer than {rows[reel]}"
                )


def _check_money(rules: GameRules) -> None:
    coins = rules.bet.coins
    for number, symbol in enumerate(rules.symbols):
        for pay in rules.pays_x100_of(number):
            if pay * coins % PAY_SCALE:
                raise ValueError(f"symbol {symbol.name}: pay {pay}/100 of a bet of {coins} coins is no whole number of minor units")
    for mode in rules.modes:
        if mode.cost_x100 * coins % PAY_SCALE:
            raise ValueError(f"mode {mode.name}: cost {mode.cost_x100}/100 of a bet of {coins} coins is no whole number of minor units")
    bet_max = coins * rules.bet.coin_minor_max
    win_max = rules.cap.multiple * bet_max * max(mode.cost_x100 for mode in rules.modes) // PAY_SCALE
    if win_max > INTEGER_MAX:
        raise ValueError(f"cap: {win_max} minor units at the highest bet do not fit a recorded integer")


def check_role_once(rules: GameRules, *roles: str) -> None:
    """Raise ValueError where a role is not that of exactly one symbol."""
    for role in roles:
        count = sum(symbol.role == role for symbol in rules.symbols)
        if count != 1:
            raise ValueError(f"symbols: want one of role {role}, got {count}")


def check_pay_counts(rules: GameRules, counts: Sequence[int]) -> None:
    """Raise ValueError where counts do not rise, or a paying symbol has not one pay for each."""
    if list(counts) != sorted(set(counts)):
        raise ValueError(f"pay_counts: want rising counts, got {tuple(counts)}")
    for number, symbol in enumerate(rules.symbols):
        pays = rules.pays_x100_of(number)
        if symbol.role == "paying" and len(pays) != len(counts):
            raise ValueError(f"symbol {symbol.name}: want {len(counts)} pays, got {len(pays)}")
        if symbol.role == "paying" and min(pays) < 1:
            raise ValueError(f"symbol {symbol.name}: want pays above 0, got {pays}")


def check_weights(what: str, weights: Sequence[int], count: int) -> None:
    """Raise ValueError where weights are not `count` in number, or nothing can be drawn by them."""
    if len(weights) != count or sum(weights) < 1:
        raise ValueError(f"{what}: want {count} weights with a sum above 0")


def first_choices(rules: GameRules) -> tuple[int, ...]:
    """Return the choices of a round in which the first one is always taken; empty where a game asks nothing."""
    return (0,) if rules.choice_names else ()


def load_rules(path: Path) -> GameRules:
    """Return the rules in the TOML file at `path`, checked by the model of their game; raises RulesFileError."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RulesFileError(str(path), "the file", f"cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesFileError(str(path), "the file", f"is no TOML ({error})") from error
    try:
        return _model_of(values.get("game"), path).model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RulesFileError(str(path), ".".join(str(part) for part in first["loc"]) or "the rules", first["msg"]) from error


def _model_of(game: object, path: Path) -> type[GameRules]:
    """Return the model of a game's rules, found by the folder that the game's id names."""
    name = f"engines.games.{game.replace('-', '_')}.rules" if isinstance(game, str) and re.fullmatch(GAME_ID, game) else ""
    if not name or importlib.util.find_spec(name) is None:
        raise RulesFileError(str(path), "game", f"{game!r} is no installed game")
    model: type[GameRules] = importlib.import_module(name).Rules
    return model
