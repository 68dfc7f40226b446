"""The ladder of multipliers: what it shows between the wins of a drop and the tumble."""

from replay.referee.grammar import Step
from replay.referee.scene import can_tumble
from replay.referee.ways import ladder_multiplier
from replay.referee.ways_wins import WaysDropWins
from replay.referee.ways_world import WaysScene, gone_by

__all__ = ["check_change"]

Rung = tuple[int, int]


def check_change(scene: WaysScene, wins: WaysDropWins, step: Step, drop_index: int, *, is_last: bool) -> None:
    """Check `multiplier_change` after the wins of a drop and go up the ladder."""
    if scene.hit == "yes":
        placed = step.change or step.tumble
        if placed is not None:
            scene.note_after_cap(placed[0], f"drop {drop_index}", f"a {placed[1].kind}")
    has_won = bool(step.wins) or any(wins.won)
    raised = [(ladder_multiplier(scene.ladder, place + 1), place + 1) for _, place in scene.rungs]
    if step.change is None:
        if has_won:
            scene.rungs = _unchanged(scene, step, raised, drop_index)
        return
    index, change = step.change
    where, add = f"drop {drop_index}, multiplier", scene.notebook.add
    got = f"from {change.from_multiplier} to {change.to_multiplier}"
    if not has_won:
        add("multiplier_invented", "open", index, where, what="change", want="none, as nothing has won", got=got)
        scene.rungs = _distinct([*scene.rungs, (change.to_multiplier, scene.rungs[0][1])])
        return
    if change.cause != "tumble":
        add("multiplier_cause", "integrity", index, where, what="cause", want="tumble", got=change.cause)
    moved = [(before[0], after) for before, after in zip(scene.rungs, raised, strict=True) if before[0] != after[0]]
    if not moved or (is_last and step.tumble is None and scene.hit == "no" and _is_limited(scene, wins)):
        none = "none" if not moved else "none, as no tumble can follow"
        add("multiplier_invented", "open", index, where, what="change", want=none, got=got)
        scene.rungs = _distinct([*raised, (change.to_multiplier, raised[0][1])])
        return
    if change.from_multiplier not in {before for before, _ in moved}:
        want = moved[0][0]
        add("multiplier_from", "open", index, where, what="multiplier before the change", want=want, got=change.from_multiplier)
    agreeing = [after for _, after in moved if after[0] == change.to_multiplier]
    if agreeing:
        scene.rungs = _distinct(agreeing)
        return
    add("multiplier_change", "open", index, where, what="multiplier", want=moved[0][1][0], got=change.to_multiplier)
    steps = [place for place, multiplier in enumerate(scene.ladder) if multiplier == change.to_multiplier]
    scene.rungs = _distinct([*raised, *((change.to_multiplier, place) for place in steps or [raised[0][1]])])


def _is_limited(scene: WaysScene, wins: WaysDropWins) -> bool:
    """Return whether a technical limit forbids the tumble that would follow."""
    pairs = [(world, won) for world, won in zip(wins.worlds, wins.won, strict=True) if won]
    return bool(pairs) and all(not can_tumble(scene, world, gone_by(scene, world, won, ())[0]) for world, won in pairs)


def _unchanged(scene: WaysScene, step: Step, raised: list[Rung], drop_index: int) -> list[Rung]:
    """Return the rungs after a drop with wins and no change: the same multiplier as before, where that may be."""
    same = [after for before, after in zip(scene.rungs, raised, strict=True) if before[0] == after[0]]
    if same:
        return _distinct(same)
    if step.tumble is not None and scene.hit != "yes":
        want = f"a change from {scene.rungs[0][0]} to {raised[0][0]}"
        index = step.tumble[0]
        where = f"drop {drop_index}, multiplier"
        scene.notebook.add("multiplier_missing", "open", index, where, what="change", want=want, got="no multiplier_change")
    return _distinct([*raised, *scene.rungs])


def _distinct(rungs: list[Rung]) -> list[Rung]:
    return list(dict.fromkeys(rungs))
