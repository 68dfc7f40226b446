"""Jurisdiction profile: what the house decides beside the rules of the games, each value with the clause or document behind it.

A profile is a TOML file with an id and a version; a version's values never change. Each round names the one it was opened under by
id and hash. Which one is in force is recorded (`ledger/profile_setting.py`). Several of its values are kept for rounds that are
not resumed and for voids, which nothing in this program does yet.
"""

# ruff: noqa: N818 - as in errors.py

import hashlib
import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engines.canonical import canonical_json
from engines.rules import Sourced
from ledger.errors import LedgerError

__all__ = ["Profile", "ProfileFileUnreadable", "default_profile", "load_profile", "profile_of", "shipped_profile", "shipped_profiles"]

_FOLDER = Path(__file__).parent / "profiles"
_DEFAULT = "default"
Days = Annotated[int, Field(ge=1, le=36_525)]
Id = Annotated[str, Field(pattern="^[a-z0-9-]{1,64}$")]
Words = Annotated[str, Field(min_length=1, max_length=1000)]


class ProfileFileUnreadable(LedgerError):
    """A file is no profile, or states something that none can."""

    exit_status = 4

    def __init__(self, path: str, where: str, reason: str) -> None:
        super().__init__(path, where, reason)
        self.path, self.where, self.reason = path, where, reason

    def __str__(self) -> str:
        return f"profile {self.path}, {self.where}: want a profile's value, got {self.reason}; correct the file or name another"


class _Decision(Sourced):
    """Values with one origin: a document or standard in `sources`, or an assumption."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    clause: str = ""  # of the source


class VoidDeadline(_Decision):
    """When a round that nobody has resumed may be void at the earliest, counted from its opening."""

    days: Days


class NotResumed(_Decision):
    """What happens to a round that is not resumed.

    `void`: it is void at the deadline. `complete`: the system completes it `after_hours` after the interruption, with the first
    choice of the rules file (ALL-4). `wait`: it waits for the player, and at the deadline for a person's decision.
    """

    action: Literal["wait", "complete", "void"]
    after_hours: Annotated[int, Field(ge=0, le=24 * 366)]  # 0 unless it is completed

    @model_validator(mode="after")
    def _has_hours_to_complete_after(self) -> Self:
        if (self.action == "complete") != (self.after_hours > 0):
            raise ValueError(f"want hours where the round is completed and 0 elsewhere, got {self.action} and {self.after_hours}")
        return self


class CannotContinue(_Decision):
    """What a round pays that cannot go on: the bet, or the better of the bet and what was won so far."""

    pays: Literal["return_of_bet", "better_of"]


class Interruption(_Decision):
    """Which games an account cannot play while a round of its own is interrupted (ALL-8)."""

    blocks: Literal["own_game", "all_games"]


class Malfunction(_Decision):
    """What a void for a malfunction needs."""

    needs_incident: bool
    needs_two_people: bool


class Answer(_Decision):
    """How long a player's complaint may wait for its answer."""

    within_days: Days


class Retention(_Decision):
    """How long one kind of record is kept."""

    kind: Literal["rounds", "accounts", "incidents", "complaints", "statements", "verification_logs"]
    days: Days


class LegalHold(_Decision):
    """Whether a disputed round and what belongs to it outlive their retention until the dispute is closed."""

    holds_disputed_rounds: bool


class Confidence(_Decision):
    """At which confidence something is judged, in percent."""

    of: Literal["random_numbers", "return_to_player"]
    percent: Literal[95, 99]


class Coins(_Decision):
    """The coins taken in one currency, in minor units; those of a game's rules that are not listed are left out (ALL-7)."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    coins_minor: Annotated[tuple[Annotated[int, Field(ge=1, le=2**31 - 1)], ...], Field(min_length=1, max_length=50)]


class Profile(BaseModel):
    """One version of a set of decisions under one id."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    id: Id
    version: Annotated[str, Field(pattern=r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}$")]
    title: Words
    sources: dict[Id, Words]
    assumptions: dict[str, Words] = {}
    void_deadline: VoidDeadline
    not_resumed: NotResumed
    cannot_continue: CannotContinue
    interruption: Interruption
    malfunction: Malfunction
    answer: Answer
    legal_hold: LegalHold
    retention: tuple[Retention, ...]
    confidence: tuple[Confidence, ...]
    coins: tuple[Coins, ...] = ()

    @property
    def name(self) -> str:
        """The id and the version."""
        return f"{self.id} {self.version}"

    @property
    def values(self) -> dict[str, Any]:
        """All values as JSON has them."""
        return self.model_dump(mode="json")

    @cached_property
    def profile_hash(self) -> str:
        """SHA-256 of the canonical JSON of all values."""
        return hashlib.sha256(canonical_json(self.values)).hexdigest()

    def coins_minor(self, currency: str) -> tuple[int, ...] | None:
        """Return the profile's list of coins for a currency, None where it has none and so leaves none out."""
        return next((each.coins_minor for each in self.coins if each.currency == currency), None)

    @model_validator(mode="after")
    def _is_of_one_piece(self) -> Self:
        known = self.sources.keys() | self.assumptions.keys()
        for part in decisions(self):
            origin = part.source or part.assumption
            if origin not in known:
                raise ValueError(f"{type(part).__name__} hangs on {origin!r}, which is neither in sources nor in assumptions")
        _check_once("retention", [each.kind for each in self.retention], Retention.model_fields["kind"].annotation)
        _check_once("confidence", [each.of for each in self.confidence], Confidence.model_fields["of"].annotation)
        _check_once("coins", [each.currency for each in self.coins], None)
        if self.not_resumed.after_hours > 24 * self.void_deadline.days:
            raise ValueError(f"completion after {self.not_resumed.after_hours} hours comes after the void deadline")
        return self


def decisions(profile: Profile) -> list[_Decision]:
    """Return the parts of a profile that have an origin, in the order of the model."""
    parts: list[_Decision] = []
    for name in type(profile).model_fields:
        value = getattr(profile, name)
        parts += [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, _Decision)]
    return parts


def _check_once(what: str, names: list[str], wanted: Any) -> None:
    """Raise ValueError where a name comes twice, or where one of those wanted is not there."""
    if len(set(names)) != len(names):
        raise ValueError(f"{what}: want each once, got {', '.join(names)}")
    if wanted is not None and (missing := [name for name in wanted.__args__ if name not in names]):
        raise ValueError(f"{what}: want one for each, got none for {', '.join(missing)}")


def profile_of(values: dict[str, Any], where: str) -> Profile:
    """Return the profile that values are of; raises ProfileFileUnreadable, which names `where` they came from."""
    try:
        return Profile.model_validate_json(canonical_json(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        raise ProfileFileUnreadable(where, ".".join(map(str, first["loc"])) or "the profile", reason) from error
    except (TypeError, ValueError) as error:  # dates and floats beyond JSON
        raise ProfileFileUnreadable(where, "the file", f"a value of another kind ({error})") from error


def load_profile(path: Path) -> Profile:
    """Return the profile in a TOML file; raises ProfileFileUnreadable, and CurrencyUnknown for coins of a currency that is none."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileFileUnreadable(str(path), "the file", f"one that cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileFileUnreadable(str(path), "the file", f"no TOML ({error})") from error
    profile = profile_of(values, str(path))
    if profile.coins:
        from ledger.money import decimals_of

        for each in profile.coins:
            decimals_of(each.currency)
    return profile


@cache
def shipped_profiles() -> tuple[str, ...]:
    """Return the ids of the profiles that come with the program, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def shipped_profile(profile_id: str) -> Profile | None:
    """Return the profile of this id that comes with the program, None where there is none."""
    return load_profile(_FOLDER / f"{profile_id}.toml") if profile_id in shipped_profiles() else None


@cache
def default_profile() -> Profile:
    """Return the profile of a house that has set none; read when asked for, as it takes time that reading a ledger does not need."""
    return load_profile(_FOLDER / f"{_DEFAULT}.toml")
