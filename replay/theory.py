"""What a game is certified to return: shipped files of simulated rounds by class of win, one for each version of rules.

From them come mean and deviation of a round's win, whole or cut at a limit, and how often wins above a limit come: what a live
ledger is held against. A file is a part of a certification (`audit certify`), made by `tools/certified.py`.
"""

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

__all__ = ["CertifiedConfiguration", "CertifiedReturns", "ReturnsUnreadableError", "WinLaw", "certified_returns", "load_returns", "win_law"]

_FOLDER = Path(__file__).parent / "certified"
CLASS_COUNT = 32
Number = Annotated[str, Field(pattern="^[0-9]{1,40}$")]


class ReturnsUnreadableError(Exception):
    """A file of certified returns is none."""

    exit_status = 4

    def __init__(self, path: str, where: str, found: str) -> None:
        super().__init__(path, where, found)
        self.path, self.where, self.found = path, where, found

    def __str__(self) -> str:
        return f"certified returns {self.path}, {self.where}: want what tools/certified.py writes, got {self.found}"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class WinClass(_Part):
    """Rounds of one class of win, with the sums of their wins and of the squares of these."""

    rounds: Number
    win_minor: Number
    win_minor_squared: Number


class CertifiedConfiguration(_Part):
    """One mode, and choice where there is one; `return_exact` is `p/q`, or empty where it was simulated alone."""

    mode: str
    choice: str
    cost_minor: Annotated[int, Field(ge=1)]
    return_exact: Annotated[str, Field(pattern="^([0-9]+/[0-9]+)?$")]
    classes: Annotated[list[WinClass], Field(min_length=CLASS_COUNT, max_length=CLASS_COUNT)]


class CertifiedReturns(_Part):
    """The returns of one version of a game's rules, at a bet of one minor unit a coin."""

    document: Literal["certified/1"] = Field(alias="schema")
    game: str
    rules_version: str
    rules_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    bet_minor: Annotated[int, Field(ge=1)]
    cap_multiple: Annotated[int, Field(ge=1)]
    pay_step_x100: Annotated[int, Field(ge=1)]
    configurations: Annotated[list[CertifiedConfiguration], Field(min_length=1)]

    def configuration(self, mode: str, choice: str) -> CertifiedConfiguration | None:
        """Return the configuration of a mode and choice, None where there is none such."""
        return next((each for each in self.configurations if (each.mode, each.choice) == (mode, choice)), None)


class WinLaw(NamedTuple):
    """What is known of a win, cut at `limit` bets: mean and variance in bets, over so many simulated rounds.

    limit 0: not cut. tail: share of rounds that win the limit or more. growing: what wins below half the limit give of the mean:
    that much of it grows with them where all are paid a little more. skewness: of the win as it is cut, with wins at their class's mean.
    """

    limit: int
    rounds: int
    mean: float
    variance: float
    tail: float
    growing: float
    skewness: float


def load_returns(path: Path) -> CertifiedReturns:
    """Return the returns in a file; raises ReturnsUnreadableError."""
    try:
        return CertifiedReturns.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ReturnsUnreadableError(str(path), "the file", error.strerror or type(error).__name__) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ReturnsUnreadableError(str(path), ".".join(map(str, first["loc"])) or "the file", first["msg"]) from error


@cache
def certified_returns() -> dict[str, CertifiedReturns]:
    """Return the shipped returns by rules hash."""
    found = [load_returns(path) for path in sorted(_FOLDER.glob("*.json"))]
    return {each.rules_hash: each for each in found}


def win_law(returns: CertifiedReturns, configuration: CertifiedConfiguration, limit: int) -> WinLaw:
    """Return the law of a win cut at `limit` bets, a power of two, or of the whole win where it is 0.

    Class 0 has no win, class 1 less than one bet, class k from 2^(k-2) bets to below 2^(k-1).
    """
    rows = [(int(each.rounds), int(each.win_minor), int(each.win_minor_squared)) for each in configuration.classes]
    bet, rounds = returns.bet_minor, sum(count for count, _, _ in rows)
    below = CLASS_COUNT if limit == 0 else limit.bit_length() + 1  # classes whose wins are all below the limit
    kept, cut = rows[:below], sum(count for count, _, _ in rows[below:])
    mean = Fraction(sum(wins for _, wins, _ in kept) + cut * limit * bet, rounds * bet)
    square = Fraction(sum(squares for _, _, squares in kept) + cut * (limit * bet) ** 2, rounds * bet * bet)
    growing = Fraction(sum(wins for _, wins, _ in rows[: below - 1 if limit else below]), rounds * bet)
    variance = float(square - mean * mean)
    means = [(count, wins / count / bet) for count, wins, _ in kept if count] + [(cut, float(limit))]
    third = sum(count * (win - float(mean)) ** 3 for count, win in means) / rounds
    skewness = third / variance**1.5 if variance else 0.0
    return WinLaw(limit, rounds, float(mean), variance, cut / rounds, float(growing), skewness)
