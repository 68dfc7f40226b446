"""Lists of tests: which a standard names, by which of ours each is answered, and at which confidence all are judged together."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from audit_reports.randomness.statistics import BIT_TESTS, TESTS

__all__ = ["INTERPLAY", "ListOfTests", "ListStrangeError", "load_list", "shipped_list", "shipped_list_names"]

_FOLDER = Path(__file__).parent / "lists"
INTERPLAY = "interplay"
Words = Annotated[str, Field(min_length=1, max_length=300)]


class ListStrangeError(Exception):
    """A list of tests is not there, or is none."""

    exit_status = 2

    def __init__(self, where: str, wanted: str, found: str) -> None:
        super().__init__(where, wanted, found)
        self.where, self.wanted, self.found = where, wanted, found

    def __str__(self) -> str:
        return f"list of tests {self.where}: want {self.wanted}, got {self.found}"


class ListOfTests(BaseModel):
    """One list: `tests` gives for each name in the standard those that are made, `not_made` why another is not."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$")]
    title: Words
    percent: Literal[95, 99]
    source: Words
    clause: Words
    tests: Annotated[dict[Words, list[str]], Field(min_length=1)]
    not_made: dict[Words, Words]

    @property
    def made(self) -> frozenset[str]:
        """The tests that are made, by our names."""
        return frozenset(name for names in self.tests.values() for name in names)

    @model_validator(mode="after")
    def _names_tests(self) -> Self:
        known = {*TESTS, *BIT_TESTS, INTERPLAY}
        if strange := sorted(self.made - known):
            raise ValueError(f"tests: want some of {', '.join(sorted(known))}, got {', '.join(strange)}")
        return self


def shipped_list_names() -> tuple[str, ...]:
    """Return the lists that come with the program, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def shipped_list(name: str) -> ListOfTests:
    """Return the list of this name that comes with the program; raises ListStrangeError."""
    if name not in shipped_list_names():
        raise ListStrangeError(repr(name), f"one of {', '.join(shipped_list_names())}", "no such list")
    return load_list(_FOLDER / f"{name}.toml")


def load_list(path: Path) -> ListOfTests:
    """Return the list in a TOML file; raises ListStrangeError."""
    try:
        return ListOfTests.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ListStrangeError(str(path), "a file that can be read", error.strerror or type(error).__name__) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the list"
        raise ListStrangeError(f"{path}, {where}", "a value of a list of tests", first["msg"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ListStrangeError(str(path), "TOML", str(error)) from error
