"""What a round carries from one spin to the next: totals, multipliers, spins owed, and how it may have ended."""

from dataclasses import dataclass, field

__all__ = ["Options", "Standing"]

Options = tuple[int, ...] | None  # values the next event may go on from; None: any


@dataclass(slots=True)
class Standing:
    """The values that the next spin goes on from: each the recorded one, after a fault also the one it should be."""

    totals: Options = (0,)
    multipliers: Options = (0,)
    multiplier_right: int = 0
    multiplier_faults: list[int] = field(default_factory=list)  # findings that later wins may turn into money
    spins_left: Options = (0,)
    spins_right: int = 0  # free spins rightly awarded
    spin_faults: list[int] = field(default_factory=list)  # findings about spins awarded or played
    free_played: int = 0
    free_unowed: int = 0  # of these, played after the end
    over: str = ""  # "", "maybe" (capped), "capped", "limit", "open" (by a limit or not), "stopped" (early, with a fault)
    is_over_reported: bool = False
    awards: list[int] = field(default_factory=list)  # recorded, by spin
    awards_taken: list[int] = field(default_factory=list)  # those that the totals went on from
    awards_right: list[int] = field(default_factory=list)
    is_award_unknown: bool = False  # a spin is missing
