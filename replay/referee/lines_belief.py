"""A belief about a round of win lines and Moons: where it stands, what is owed next, what has been paid."""

from typing import NamedTuple

from replay.referee.belief import raise_to_money
from replay.referee.lines import LineWin
from replay.verdict import Finding

__all__ = ["UNKNOWN_VALUE", "LinesBelief", "Owed", "wanted_kind", "with_value_faults_paid"]

UNKNOWN_VALUE = -1  # of a Moon whose value no board tells


class Owed(NamedTuple):
    """What a spin has still to write after its drop: a line win, a prize or a trigger."""

    kind: str  # of the event
    which: str = ""  # of a prize
    pay_x100: int = 0
    moons: int = 0
    win: LineWin | None = None


class LinesBelief(NamedTuple):
    """What is believed of a round after some of its events; money in minor units."""

    moons: tuple[int, ...]  # the values of the Moons that lie, by cell; 0 for none
    strip_set: int
    phase: str = "start"  # what comes: "start", "drop", "rest" (of the spin), "feature" (its end), "done"
    spin: int = 0
    left: int | None = 0  # respins left as the game counts; None: as the next spin tells
    left_right: int = 0  # by the rules; below 0 in a respin that is not owed
    fresh: tuple[int, ...] = ()  # cells of Moons that one board alone has shown
    unseen: int = 0  # Moons that are held and that no board has shown; -1: nobody knows how many
    shown_x100: int = 0  # what the values of the last board add up to as they are told
    value_faults: tuple[int, ...] = ()  # numbers of the findings about the Moons that lie with no value of the table
    moons_at_trigger: int = 0
    in_bonus: bool = False
    is_over: bool = True  # this spin is the last
    goes_on: bool = False  # a bonus that should be over is played on, which is reported
    owed: tuple[Owed, ...] = ()
    cap_due: tuple[int, int, int] | None = None  # total before, amount, what the cap leaves of it
    won_minor: int = 0  # of `added`, by line wins
    added: int = 0  # by the spin, uncut
    cut: int = 0
    total: int | None = 0  # before the spin; None after a missing one
    base: int = 0
    feature: int = 0
    told: str = ""  # "spin", "round": its events are taken as they are
    end: str = ""  # "", "capped", "maybe" (capped), "stopped"
    is_cap_ignored: bool = False
    cap_fault: int = -1  # number of the finding that turns to money where more is paid past the cap
    spin_fault: int = -1  # number of the finding that turns to money where respins are withheld, or one too many wins
    swap: int = 0  # 1: the event after the next is read first, 2: then the one passed over
    doubts: int = 0  # about events that are as the rules want
    findings: tuple[Finding, ...] = ()

    @property
    def cost(self) -> tuple[int, int]:
        """The findings made so far, and of beliefs that take as many how unlikely this one is."""
        return len(self.findings), self.doubts

    def key(self) -> object:
        """Return what tells it from others, findings apart."""
        return self[:-2]


def with_value_faults_paid(belief: LinesBelief) -> LinesBelief:
    """Return a belief whose findings about Moons with no value of the table are about money."""
    for number in belief.value_faults:
        belief = raise_to_money(belief, number)
    return belief


def wanted_kind(belief: LinesBelief) -> str:
    """Return the kind of the event that comes next, empty after the last."""
    if belief.phase == "rest":
        return "cap_hit" if belief.cap_due else belief.owed[0].kind if belief.owed else "spin_ended"
    return {"start": "spin_started", "drop": "drop", "feature": "feature_ended", "done": ""}[belief.phase]
