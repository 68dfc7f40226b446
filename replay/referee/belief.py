"""What every belief about a round can be given: a finding more, and one that turns out to be about money."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast

from replay.referee.notebook import note
from replay.verdict import Finding, Severity

__all__ = ["RoundBelief", "fault", "faults_of_fields", "raise_to_money"]


class RoundBelief(Protocol):
    """A named tuple of what is believed of a round after some of its events."""

    @property
    def spin(self) -> int:
        """The spin that the round is in."""

    @property
    def swap(self) -> int:
        """1: the event after the next is read first, 2: then the one passed over, else 0."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong by this belief."""

    @property
    def total(self) -> int | None:
        """The award of the spins before this one in minor units; None after a missing one."""

    @property
    def added(self) -> int:
        """What the spin added so far, uncut, in minor units."""

    @property
    def won_minor(self) -> int:
        """What of it wins added."""

    @property
    def cut(self) -> int:
        """What the cap took from it."""

    @property
    def cap_due(self) -> tuple[int, int, int] | None:
        """Where a `cap_hit` is due: the total before, the amount, what the cap leaves of it."""

    @property
    def is_cap_ignored(self) -> bool:
        """Whether the game goes on as if there were no cap, which is reported."""

    @property
    def cap_fault(self) -> int:
        """The finding that turns to money where more is paid past the cap; -1 for none."""

    @property
    def cost(self) -> tuple[int, int]:
        """The findings made so far, and of beliefs that take as many how unlikely this one is."""

    def key(self) -> object:
        """Return what tells it from others, findings apart."""


B = TypeVar("B", bound=RoundBelief)


def fault(
    belief: B,
    code: str,
    severity: Severity,
    index: int,
    where: str,
    *,
    what: str,
    want: object,
    got: object,
    assumption: str | None = None,
    **changes: Any,
) -> B:
    """Return a belief with one finding more and with `changes`."""
    found = note(code, severity, index, belief.spin, where, what=what, want=want, got=got, assumption=assumption)
    return cast(B, cast(Any, belief)._replace(findings=(*belief.findings, found), **changes))


def raise_to_money(belief: B, number: int) -> B:
    """Return a belief whose finding `number`, if there is such, is about money."""
    if not 0 <= number < len(belief.findings):
        return belief
    findings = list(belief.findings)
    findings[number] = findings[number]._replace(severity="money")
    return cast(B, cast(Any, belief)._replace(findings=tuple(findings)))


def faults_of_fields(
    belief: B, code: str, index: int, where: str, fields: Iterable[tuple[str, object, object]], assumptions: Mapping[str, str]
) -> B:
    """Return a belief with a finding for each of `fields` (name, wanted, recorded) that is wrong; its code is `code` and the name.

    assumptions: what a field hangs on, by its name.
    """
    for name, want, got in fields:
        if want != got:
            hung = assumptions.get(name)
            what = name.replace("_", " ")
            belief = fault(belief, f"{code}{name}", "integrity", index, where, what=what, want=want, got=got, assumption=hung)
    return belief
