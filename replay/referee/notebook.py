"""Where the referee writes down what it finds; whether a fault cost money is often known only when its spin is at rest."""

from collections.abc import Sequence
from typing import Literal

from replay.verdict import Finding, Severity

__all__ = ["Notebook", "Weight", "distinct_values", "note", "settled_options"]

Weight = Literal["money", "integrity", "warning", "open"]


def note(
    code: str, severity: Severity, index: int, spin: int, where: str, *, what: str, want: object, got: object, assumption: str | None = None
) -> Finding:
    """Return a finding about one event of a spin; `where` is within the spin, "" for the spin itself."""
    place = f"spin {spin}" + (f", {where}" if where else "")
    message = f"{what} of {place}: want {want}, got {got}"
    return Finding(code, severity, index, spin, place, str(want), str(got), message, assumption)


class Notebook:
    """The findings of one round in the order in which they were made."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.spin_index = 0
        self._open: list[int] = []

    def add(
        self, code: str, weight: Weight, index: int, where: str, *, what: str, want: object, got: object, assumption: str | None = None
    ) -> int:
        """Write a finding down and return its number.

        `where` is within the spin, "" for the spin itself. A weight of `open` is decided by `close_spin`.
        """
        severity: Severity = "integrity" if weight == "open" else weight
        if weight == "open":
            self._open.append(len(self.findings))
        self.findings.append(note(code, severity, index, self.spin_index, where, what=what, want=want, got=got, assumption=assumption))
        return len(self.findings) - 1

    @property
    def is_open(self) -> bool:
        """Whether a finding of this spin still waits for its severity."""
        return bool(self._open)

    def close_spin(self, *, is_paid_wrongly: bool) -> None:
        """Decide the severity of the spin's open findings."""
        if is_paid_wrongly:
            for number in self._open:
                self.raise_to_money(number)
        self._open.clear()

    def raise_to_money(self, number: int) -> None:
        """Make finding `number` one about money: what was paid depends on it."""
        self.findings[number] = self.findings[number]._replace(severity="money")


def distinct_values(values: Sequence[int]) -> tuple[int, ...]:
    """Return `values` in their order, each once."""
    return tuple(dict.fromkeys(values))


def settled_options(recorded: int, options: tuple[int, ...] | None) -> tuple[tuple[int, ...], bool]:
    """Return what the check goes on from and whether `recorded` is right.

    A right value stands alone from here on; after a wrong one both it and those it should have been may be followed.
    None is a value that nothing before it tells: every one is right.
    """
    if options is None or recorded in options:
        return (recorded,), True
    return (recorded, *options), False
