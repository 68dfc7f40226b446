"""Where a record contradicts itself and no rule tells which side is wrong: only the seed does."""

from replay.referee.grammar import SpinRecord
from replay.referee.world import SpinScene

__all__ = ["is_heart_in_doubt"]


def is_heart_in_doubt(scene: SpinScene, record: SpinRecord, differences: list[int]) -> bool:
    """Return whether a sum of hearts that is off by one of `differences` may be right, and a heart's recorded value wrong.

    That is so where the last drop alone shows a heart and another value of its table explains the sum.
    """
    if not record.steps or record.steps[-1].drop is None or record.change is None:
        return False
    if record.ended is not None and record.ended[1].spin_multiplier != record.change[1].to_multiplier:
        return False  # the spin's own multiplier takes the side of the hearts
    drop = record.steps[-1].drop[1]
    allowed = scene.tables.heart_values[scene.strip_set]
    landed = [drop.values[cell] for cell in _landed_last(scene, record) if drop.symbols[cell] == scene.tables.heart]
    return any(value + difference in allowed for value in landed for difference in differences)


def _landed_last(scene: SpinScene, record: SpinRecord) -> list[int]:
    """Return the cells of the last drop that no drop before it shows."""
    rows = scene.tables.rows
    before = record.steps[-2].tumble if len(record.steps) > 1 else None
    if before is None:
        return list(range(scene.tables.cell_count)) if len(record.steps) == 1 else []
    return [reel * rows + row for reel, new in enumerate(before[1].new_symbols[: scene.tables.reels]) for row in range(min(len(new), rows))]
