"""What the rules make of a spin at rest, for each board and each sum of wins that it may hang on."""

from typing import NamedTuple

from replay.referee.amounts import cap_award, win_amount
from replay.referee.board import SpinBoards
from replay.referee.grammar import SpinRecord
from replay.referee.scatter_pays import hearts_sum
from replay.referee.standing import Options
from replay.referee.tables import RefereeTables
from replay.referee.world import UNKNOWN_VALUE, SpinScene, World

__all__ = ["Plan", "plan_award", "plan_of", "plans_at_rest"]


class Plan(NamedTuple):
    """What follows from one board at rest, one sum of wins and one total multiplier before the spin."""

    wins_minor: int  # before hearts
    total: int  # multiplier gathered before the spin
    hearts: int
    scatters: int
    applies: bool  # whether the hearts do
    change_from: int
    change_to: int
    spin_multiplier: int
    prize_pay_x100: int
    prize_multiplier: int
    spins: int  # awarded
    is_right: bool

    def prize_minor(self, bet_minor: int) -> int:
        """Return the scatter prize in minor units."""
        return win_amount(self.prize_pay_x100, self.prize_multiplier, bet_minor)


def plan_of(
    tables: RefereeTables,
    *,
    is_free: bool,
    wins_minor: int,
    total: int,
    hearts: int,
    scatters: int,
    is_limited: bool = False,
    is_right: bool = True,
) -> Plan:
    """Return what the rules make of a spin at rest, the win cap apart."""
    pay_x100 = tables.scatter_pay(scatters, is_free)
    readings = tables.readings
    is_winning = wins_minor > 0 or (pay_x100 > 0 and readings["MLP-2" if is_free else "MLP-1"] == 1)
    applies = is_winning and hearts > 0
    before = total if is_free else 1
    after = before
    if applies:
        after = total + hearts if is_free else hearts
    return Plan(
        wins_minor=wins_minor,
        total=total,
        hearts=hearts,
        scatters=scatters,
        applies=applies,
        change_from=before,
        change_to=after,
        spin_multiplier=after if applies and wins_minor > 0 else 1,
        prize_pay_x100=pay_x100,
        prize_multiplier=after if applies and readings["MLP-1"] == 1 else 1,
        spins=0 if is_limited else tables.spins_for(scatters, is_free),
        is_right=is_right,
    )


def plans_at_rest(scene: SpinScene, record: SpinRecord, boards: SpinBoards, totals: Options) -> list[Plan]:
    """Return a plan for each board, sum of wins and total multiplier that the spin may hang on; none twice."""
    if totals is None:
        totals = (record.change[1].from_multiplier,) if record.change else (record.start[1].total_multiplier,) if record.start else (0,)
    plans: list[Plan] = []
    for world in boards.worlds:
        hearts = _hearts(record, world)
        scatters = world.board.count(scene.tables.scatter)
        for wins_minor in {boards.recorded_minor, world.wins_minor}:
            is_right = world.is_right and wins_minor == world.wins_minor
            for total in totals:
                plan = plan_of(
                    scene.tables,
                    is_free=scene.is_free,
                    wins_minor=wins_minor,
                    total=total,
                    hearts=hearts,
                    scatters=scatters,
                    is_limited=scene.is_limited,
                    is_right=is_right,
                )
                plans.append(plan)
    return plans


def _hearts(record: SpinRecord, world: World) -> int:
    if UNKNOWN_VALUE not in world.values:
        return hearts_sum(world.values)
    known = sum(value for value in world.values if value != UNKNOWN_VALUE)
    if record.change is None:
        return known
    change = record.change[1]
    told = change.to_multiplier - (change.from_multiplier if change.cause == "total_hearts" else 0)
    return max(told, known)


def plan_award(scene: SpinScene, plan: Plan, total_before: int, cap_minor: int | None) -> int:
    """Return what a spin adds to a round that stood at `total_before`; without `cap_minor` uncapped."""
    win = plan.wins_minor * plan.spin_multiplier
    prize = plan.prize_minor(scene.bet_minor)
    if cap_minor is None:
        return win + prize
    before = 0 if scene.tables.readings["ALL-1"] == 2 else total_before
    capped = cap_award(before, win, cap_minor)
    if capped is not None:
        return capped
    capped = cap_award(before + win, prize, cap_minor)
    return win + (prize if capped is None else capped)
