"""A spin at rest, as any game has it: what `spin_ended` adds up to, and what the round goes on from."""

from replay.referee.grammar import SpinRecord
from replay.referee.notebook import distinct_values, settled_options
from replay.referee.scene import Scene
from replay.referee.standing import Standing

__all__ = ["check_sums", "follow_rest", "index_at_rest", "take_as_told"]


def check_sums(scene: Scene, record: SpinRecord, cuts: tuple[int, ...], sums: tuple[int, ...], standing: Standing) -> None:
    """Check `cut_minor`, `award_minor` and `total_minor`: the cut is one of `cuts`, the award one of `sums`."""
    if record.ended is None:
        want = f"spin_ended with an award of {sums[0]}"
        scene.notebook.add("spin_ended_missing", "integrity", record.index_last, "spin_ended", what="event", want=want, got="none")
        standing.totals = (
            None if standing.totals is None else distinct_values([total + award for total in standing.totals for award in sums])
        )
        standing.awards.append(sums[0])
        standing.awards_taken.append(sums[0])
        return
    index, ended = record.ended
    if ended.cut_minor not in cuts:
        scene.notebook.add("cut", "money", index, "spin_ended", what="cut in minor units", want=cuts[0], got=ended.cut_minor)
    if ended.award_minor not in sums:
        scene.notebook.add("award", "money", index, "spin_ended", what="award in minor units", want=sums[0], got=ended.award_minor)
    if ended.meter:
        scene.notebook.add("meter", "integrity", index, "spin_ended", what="meter", want=0, got=ended.meter)
    _check_total(scene, index, ended.total_minor, ended.award_minor, sums, standing)


def _check_total(scene: Scene, index: int, total: int, award: int, sums: tuple[int, ...], standing: Standing) -> None:
    possible = (award, *(other for other in sums if other != award)) if award not in sums else (award,)
    wanted = None if standing.totals is None else distinct_values([before + added for before in standing.totals for added in possible])
    taken = next((added for added in possible if standing.totals is not None and total - added in standing.totals), award)
    standing.totals, is_right = settled_options(total, wanted)
    if not is_right and wanted is not None:
        scene.notebook.add("total", "money", index, "spin_ended", what="total of the round in minor units", want=wanted[0], got=total)
    standing.awards.append(award)
    standing.awards_taken.append(taken)


def follow_rest(scene: Scene, standing: Standing, hit: str, *, is_last: bool) -> None:
    """Go on from a spin at rest: whether the cap (`hit`, as in `CapOutcome`) or a limit, reached or ignored, ended the round."""
    if hit != "no" and not standing.is_over_reported and scene.tables.readings["ALL-1"] != 2:
        standing.over = "capped" if hit == "yes" else "maybe"
        if hit == "due":
            standing.spins_right = standing.free_played
    elif scene.is_limited and not standing.over:
        standing.over = "limit"
    if scene.limit_fault is not None and not standing.is_over_reported:
        standing.spin_faults.append(scene.limit_fault)
        standing.is_over_reported = True
        standing.spins_right = standing.free_played
    if scene.stop_fault is not None and is_last and not standing.over:
        standing.spin_faults.append(scene.stop_fault)
        standing.over = "stopped"


def index_at_rest(record: SpinRecord) -> int:
    """Return the event to name for what is missing at rest."""
    return record.ended[0] if record.ended else record.index_last


def take_as_told(record: SpinRecord, standing: Standing) -> None:
    """Go on from what is recorded of a spin whose boards are not known."""
    if record.trigger:
        standing.spins_left = (record.trigger[1].spins_left,)
        standing.spins_right += record.trigger[1].spins_awarded
    award = record.ended[1].award_minor if record.ended else 0
    standing.totals = (record.ended[1].total_minor,) if record.ended else None
    for awards in (standing.awards, standing.awards_taken, standing.awards_right):
        awards.append(award)
    if record.cap_of_win or record.cap_of_prize:
        standing.over = "maybe"
