"""Rules files: every value a game is played by, each with the document that states it or the assumption it hangs on."""

import hashlib
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engines.canonical import INTEGER_MAX, canonical_json

__all__ = ["GameRules", "Reading", "RulesFileError", "Sourced", "StripSet", "Symbol", "load_rules"]

Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
Weight = Annotated[int, Field(ge=0, le=2**31 - 1)]
PAY_SCALE = 100


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
    """The grid: reels from the left, rows from the top."""

    reels: Annotated[int, Field(ge=1, le=10)]
    rows: Annotated[int, Field(ge=1, le=10)]


class Symbol(Sourced):
    """A symbol; its index in the list is what events hold. `letter` stands for it on the strips."""

    name: str
    letter: Annotated[str, Field(pattern="^[A-Za-z0-9]$")]
    role: Literal["paying", "scatter", "heart"]
    pays_x100: tuple[Weight, ...] = ()  # one for each count of `pay_counts`; of a scatter, for 0, 1, 2 … of them


class PayCounts(Sourced):
    """How many of a symbol reach each pay: from counts[i] up to below counts[i + 1]."""

    counts: tuple[Positive, ...]


class Bet(Sourced):
    """A bet is `coins` times one coin of `coin_minor_min` to `coin_minor_max` minor units."""

    coins: Positive
    coin_minor_min: Positive
    coin_minor_max: Positive


class Mode(Sourced):
    """A way to buy a round; its cost in hundredths of the bet."""

    name: str
    cost_x100: Positive


class StripChoice(Sourced):
    """Weights of the strip sets for the paid spin in one mode, in the order of `strip_sets`."""

    mode: str
    weights: tuple[Weight, ...]


class HeartValues(Sourced):
    """The multipliers a heart can have."""

    values: tuple[Positive, ...]


class HeartWeights(Sourced):
    """Weights of the heart values on one strip set."""

    strip_set: str
    weights: tuple[Weight, ...]


class FreeSpins(Sourced):
    """Scatters that start or prolong free spins, and the spins they award."""

    count: Positive
    spins: Positive


class Buy(Sourced):
    """The first board of a bought round: the strip set, and the number of scatters by weight."""

    strip_set: str
    scatter_counts: tuple[Positive, ...]
    weights: tuple[Weight, ...]


class Cap(Sourced):
    """The most a round may win, as a multiple of the bet."""

    multiple: Positive


class Limits(Sourced):
    """Technical limits of a round; the one more that would pass a limit is not played."""

    free_spins: Positive
    tumbles: Positive


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

    game: Annotated[str, Field(pattern="^[a-z0-9-]{1,64}$")]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    title: str
    kind: Literal["scatter_pays"]
    sources: tuple[Source, ...]
    layout: Layout
    pay_counts: PayCounts
    symbols: tuple[Symbol, ...]
    bet: Bet
    modes: tuple[Mode, ...]
    strip_choices: tuple[StripChoice, ...]
    heart_values: HeartValues
    heart_weights: tuple[HeartWeights, ...]
    trigger: FreeSpins
    retrigger: FreeSpins
    free_spins_strip_set: str
    buy: Buy
    cap: Cap
    limits: Limits
    rtp_target_x10000: Positive
    readings: tuple[Reading, ...]
    assumptions: dict[str, str]
    strip_sets: tuple[StripSet, ...]

    @property
    def is_draft(self) -> bool:
        """Whether the version may still be replaced (0.x)."""
        return self.version.startswith("0.")

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

    def reading(self, name: str) -> int:
        """Return the decided value of the reading called `name`; KeyError for an unknown one."""
        for reading in self.readings:
            if reading.name == name:
                return reading.value
        raise KeyError(name)

    def with_reading(self, name: str, value: int) -> "GameRules":
        """Return these rules with one reading decided otherwise; their hash is another."""
        readings = tuple(r.model_copy(update={"value": value}) if r.name == name else r for r in self.readings)
        return GameRules.model_validate(self.model_copy(update={"readings": readings}).model_dump())

    def cost_minor(self, mode: str, bet_minor: int) -> int:
        """Return what a round of `mode` at `bet_minor` costs, in minor units; KeyError for an unknown mode."""
        return self.modes[self.mode_index(mode)].cost_x100 * bet_minor // PAY_SCALE

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        _check_symbols(self)
        _check_strips(self)
        _check_weights(self)
        _check_money(self)
        known = {source.name for source in self.sources} | set(self.assumptions)
        for part in _sourced_parts(self):
            origin = part.source or part.assumption
            if origin not in known:
                raise ValueError(f"{type(part).__name__} hangs on {origin!r}, which is neither in sources nor in assumptions")
        return self


def _sourced_parts(rules: GameRules) -> list[Sourced]:
    parts: list[Sourced] = []
    for name in type(rules).model_fields:
        value = getattr(rules, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Sourced):
                parts.append(part)
    return parts


def _check_symbols(rules: GameRules) -> None:
    letters = [symbol.letter for symbol in rules.symbols]
    if len(set(letters)) != len(letters):
        raise ValueError(f"symbols: want letters that differ, got {''.join(letters)}")
    if list(rules.pay_counts.counts) != sorted(set(rules.pay_counts.counts)):
        raise ValueError(f"pay_counts: want rising counts, got {rules.pay_counts.counts}")
    for symbol in rules.symbols:
        if symbol.role == "paying" and len(symbol.pays_x100) != len(rules.pay_counts.counts):
            raise ValueError(f"symbol {symbol.name}: want {len(rules.pay_counts.counts)} pays, got {len(symbol.pays_x100)}")
    for role in ("scatter", "heart"):
        count = sum(symbol.role == role for symbol in rules.symbols)
        if count != 1:
            raise ValueError(f"symbols: want one of role {role}, got {count}")
    roles = [symbol.role for symbol in rules.symbols]
    if "paying" in roles[roles.index("scatter") :] or "paying" in roles[roles.index("heart") :]:
        raise ValueError("symbols: want the paying ones first, in paytable order")


def _check_strips(rules: GameRules) -> None:
    letters = {symbol.letter for symbol in rules.symbols}
    scatter = next(symbol.letter for symbol in rules.symbols if symbol.role == "scatter")
    rows = rules.layout.rows
    for strip_set in rules.strip_sets:
        if len(strip_set.strips) != rules.layout.reels:
            raise ValueError(f"strip set {strip_set.name}: want {rules.layout.reels} strips, got {len(strip_set.strips)}")
        for reel, strip in enumerate(strip_set.strips):
            unknown = set(strip) - letters
            if unknown or len(strip) <= rows:
                raise ValueError(f"strip set {strip_set.name} reel {reel}: unknown letters {sorted(unknown)} or not longer than {rows}")
            around = strip + strip[: rows - 1]
            for position in range(len(strip)):
                if around[position : position + rows].count(scatter) > 1:
                    raise ValueError(f"strip set {strip_set.name} reel {reel}: two scatters in the window at {position}")


def _check_weights(rules: GameRules) -> None:
    for choice in rules.strip_choices:
        if len(choice.weights) != len(rules.strip_sets) or sum(choice.weights) < 1:
            raise ValueError(f"strip choice of {choice.mode}: want {len(rules.strip_sets)} weights with a sum above 0")
    sets = [weights.strip_set for weights in rules.heart_weights]
    if sets != [strip_set.name for strip_set in rules.strip_sets]:
        raise ValueError(f"heart_weights: want one table for each strip set in its order, got {sets}")
    for weights in rules.heart_weights:
        if len(weights.weights) != len(rules.heart_values.values) or sum(weights.weights) < 1:
            raise ValueError(f"heart weights of {weights.strip_set}: want {len(rules.heart_values.values)} with a sum above 0")
    if len(rules.buy.weights) != len(rules.buy.scatter_counts) or sum(rules.buy.weights) < 1:
        raise ValueError("buy: want a weight for each scatter count, with a sum above 0")
    for name in (rules.buy.strip_set, rules.free_spins_strip_set):
        if name not in sets:
            raise ValueError(f"strip set {name!r}: want one of {sets}")


def _check_money(rules: GameRules) -> None:
    coins = rules.bet.coins
    for symbol in rules.symbols:
        for pay in symbol.pays_x100:
            if pay * coins % PAY_SCALE:
                raise ValueError(f"symbol {symbol.name}: pay {pay}/100 of a bet of {coins} coins is no whole number of minor units")
    for mode in rules.modes:
        if mode.cost_x100 * coins % PAY_SCALE:
            raise ValueError(f"mode {mode.name}: cost {mode.cost_x100}/100 of a bet of {coins} coins is no whole number of minor units")
    bet_max = coins * rules.bet.coin_minor_max
    win_max = rules.cap.multiple * bet_max * max(mode.cost_x100 for mode in rules.modes) // PAY_SCALE
    if win_max > INTEGER_MAX:
        raise ValueError(f"cap: {win_max} minor units at the highest bet do not fit a recorded integer")


def load_rules(path: Path) -> GameRules:
    """Return the rules in the TOML file at `path`, checked; raises RulesFileError."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RulesFileError(str(path), "the file", f"cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesFileError(str(path), "the file", f"is no TOML ({error})") from error
    try:
        return GameRules.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RulesFileError(str(path), ".".join(str(part) for part in first["loc"]) or "the rules", first["msg"]) from error
