"""A belief about a round of runs: where it stands, what lies there, what is owed next, what has been paid."""

from typing import NamedTuple

from replay.referee.belief import raise_to_money
from replay.referee.falling import Board
from replay.referee.runs import Run
from replay.referee.runs_tables import RunsRound
from replay.referee.sums import pay_out
from replay.verdict import Finding

__all__ = ["Owed", "RunsBelief", "mask_of", "paid", "risen_to", "wanted_kind"]


class Owed(NamedTuple):
    """What a spin has still to write: only what its kind of event needs is filled in."""

    kind: str  # of the event
    is_optional: bool = False
    run: Run | None = None  # of a win; None: any
    which: str = ""  # of a prize; the feature of a trigger; "limit" of a spin that ends the round by one
    to: int = 0  # of a multiplier that changes; 0: any
    removed: tuple[int, ...] | None = None  # of a tumble; None: any
    turned: tuple[int, ...] = ()
    board: Board | None = None  # of a drop; None: any
    marks: Board = ()
    counted: int = 0  # of a trigger
    spins: int = 0
    left: int = 0


class RunsBelief(NamedTuple):
    """What is believed of a round after some of its events; money in minor units, sets of cells as bits."""

    active: int  # princess
    chosen: int = -1  # princess of the free spins; -1: nobody knows
    phase: str = "start"  # what comes: "start", "drop" (the first), "spin" (what is owed), "feature" (its end), "choice", "done"
    part: str = "base"
    spin: int = 0
    played: int = 0  # spins of the feature
    start_index: int = -1  # of the spin's first event
    strip_set: int = 0
    board: Board | None = None  # None: as the next drop tells
    marks: Board = ()
    drop_index: int = 0
    powers: tuple[int, ...] = ()  # princesses who have still to act in this spin
    may_act: bool = False
    highlights: int = 0
    is_hidden: bool = False  # nobody knows which cells are highlighted
    won: int = 0  # cells won on in this spin
    fresh: int = 0  # cells won on for the first time in this step
    risen: int = 0  # highlighted cells won on, as the multiplier tells
    is_constellation_paid: bool = False
    multiplier: int = 1
    multiplier_right: int = 1
    multiplier_fault: int = -1  # number of the finding that turns to money where a pay is at a wrong multiplier
    pay_multiplier: int = 1  # of the step's wins
    meter: int = 0
    taken: tuple[Run, ...] = ()  # the step's wins as the game counts them
    before: tuple[int, int] = (0, 0)  # cells won on and meter before the step
    is_settled: bool = False  # nothing but wins of the step was written, and what follows is owed
    owed: tuple[Owed, ...] = ()
    left: int = 0  # free spins left
    left_right: int = 0
    given: int = 0  # free spins in all
    resonances: int = 0
    triggered: str = ""  # the feature that follows the spin
    is_unowed: bool = False  # this spin should not be played
    spin_fault: int = -1  # number of the finding that turns to money where a spin that is not owed pays
    cap_due: tuple[int, int, int] | None = None  # total before, amount, what the cap leaves of it
    won_minor: int = 0
    added: int = 0  # by the spin, uncut
    cut: int = 0
    total: int | None = 0  # before the spin; None after a missing one
    base: int = 0
    feature: int = 0  # this one
    features: int = 0  # all of them
    end: str = ""  # "", "capped", "maybe" (capped), "limit", "stopped"
    is_cap_ignored: bool = False
    cap_fault: int = -1  # number of the finding that turns to money where more is paid past the cap
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


def mask_of(cells: tuple[int, ...]) -> int:
    """Return a set of cells as bits; cells no board has are left out."""
    mask = 0
    for cell in cells:
        mask |= 1 << cell if 0 <= cell < 64 else 0
    return mask


def wanted_kind(belief: RunsBelief) -> str:
    """Return the kind of the event that must come next, empty after the last."""
    if belief.phase == "spin":
        return "cap_hit" if belief.cap_due else next((owed.kind for owed in belief.owed if not owed.is_optional), "spin_ended")
    return {"start": "spin_started", "drop": "drop", "feature": "feature_ended", "choice": "choice_offered", "done": ""}[belief.phase]


def paid(play: RunsRound, belief: RunsBelief, amount: int, *, is_win: bool) -> RunsBelief:
    """Return a belief after a win or prize of `amount`; what it hangs on and is told already is then about money."""
    if amount > 0 and belief.multiplier != belief.multiplier_right:
        belief = raise_to_money(belief, belief.multiplier_fault)
    if amount > 0 and belief.is_unowed:
        belief = raise_to_money(belief, belief.spin_fault)
    return pay_out(play, belief, amount, is_win=is_win)


def risen_to(play: RunsRound, multiplier: int, rise: int) -> int:
    """Return the multiplier after a rise; never past the ceiling, nor below what it was."""
    return max(multiplier, min(play.tables.ceiling, multiplier + rise))
