"""A tumble of a game that pays by ways: what leaves, what turns wild, what falls in."""

from engines.game_events import Tumble
from replay.referee.falling import union_cells
from replay.referee.landing import check_refill
from replay.referee.scene import can_tumble
from replay.referee.ways_wins import WaysDropWins
from replay.referee.ways_world import (
    TOLD_GOLD,
    TOLD_PLAIN,
    Gone,
    WaysScene,
    WaysWorld,
    after_tumble,
    distinct_worlds,
    gone_by,
)

__all__ = ["check_tumble"]


def check_tumble(scene: WaysScene, wins: WaysDropWins, placed: tuple[int, Tumble], drop_index: int) -> list[WaysWorld]:
    """Check a tumble and return the worlds after it: what is recorded first, then what should be."""
    index, tumble = placed
    where = f"drop {drop_index}, tumble"
    add = scene.notebook.add
    wilds = (scene.tables.wild,) * len(tumble.turned_cells)
    told: Gone = tumble.removed_cells, tumble.turned_cells
    expected = [gone_by(scene, world, won, tumble.turned_cells) for world, won in zip(wins.worlds, wins.won, strict=True)]
    by_record = [gone_by(scene, world, wins.recorded, tumble.turned_cells) for world in wins.worlds]
    if tumble.turned_symbols != wilds:
        got = scene.names(list(tumble.turned_symbols)) or "none"
        if len(tumble.turned_symbols) == len(wilds) or told in expected or not wins.worlds:
            add("turned_symbols", "integrity", index, where, what="turned symbols", want=scene.names(list(wilds)) or "none", got=got)
    if not wins.worlds:
        return []
    if len(wins.worlds) == 1 and told == expected[0] and any(told):
        world = wins.worlds[0]
        after = after_tumble(scene, world, told, None, is_right=world.is_right) if can_tumble(scene, world, told[0]) else None
        if after is not None and _is_refilled(scene, world, told, tumble):
            return [after]
    _check_gone(scene, wins, placed, expected, by_record, where)
    limited = [not can_tumble(scene, world, gone[0]) for world, gone in zip(wins.worlds, expected, strict=True)]
    if (any(wins.won) or wins.recorded) and all(limited) and scene.limit_fault is None and not scene.is_past_end:
        want = "none past a technical limit"
        scene.limit_fault = add("limit_ignored", "open", index, where, what="tumble", want=want, got="a tumble", assumption="ALL-5")
    removals = [_removals(told, *pair) for pair in zip(expected, by_record, strict=True)]
    check_refill(scene, placed, where, [(world.tops, world.shown) for world in wins.worlds], removals)
    return _worlds_after(scene, wins, tumble, expected)


def _removals(*ways_gone: Gone) -> list[tuple[int, ...]]:
    """Return the cells removed in each way, each once."""
    return list(dict.fromkeys(removed for removed, _ in ways_gone))


def _is_refilled(scene: WaysScene, world: WaysWorld, gone: Gone, tumble: Tumble) -> bool:
    as_told = after_tumble(scene, world, gone, tumble.new_symbols, is_right=True)
    return as_told is not None and as_told == after_tumble(scene, world, gone, None, is_right=True)


def _check_gone(
    scene: WaysScene, wins: WaysDropWins, placed: tuple[int, Tumble], expected: list[Gone], by_record: list[Gone], where: str
) -> None:
    index, tumble = placed
    told: Gone = tumble.removed_cells, tumble.turned_cells
    add = scene.notebook.add
    allowed = [gone for gone in (*expected, *by_record) if any(gone)]
    if not allowed:
        got = f"cells {list(union_cells(told))}"
        add("tumble_invented", "open", index, where, what="tumble", want="none, as nothing has won", got=got)
    elif told not in allowed:
        removed, turned = next((gone for gone in allowed if union_cells(gone) == union_cells(told)), allowed[0])
        if turned == tumble.turned_cells:
            add("removed_cells", "open", index, where, what="removed cells", want=list(removed), got=list(tumble.removed_cells))
            return
        want = f"cells {list(turned)}"
        if any(_is_told_once(world, gone, told) for world, gone in zip(wins.worlds, expected, strict=True)):
            want += ", or other marks in the drop that alone tells them: the seed tells which"
        add("turned_cells", "open", index, where, what="gold", want=want, got=f"cells {list(tumble.turned_cells)}", assumption="SLW-3")


def _is_told_once(world: WaysWorld, gone: Gone, told: Gone) -> bool:
    """Return whether a tumble differs only in cells whose mark one drop alone tells: then either of the two may be wrong."""
    if union_cells(gone) != union_cells(told) or set(told[0]) & set(told[1]):
        return False
    return all(world.marks[cell] in (TOLD_PLAIN, TOLD_GOLD) for cell in set(gone[1]) ^ set(told[1]))


def _worlds_after(scene: WaysScene, wins: WaysDropWins, tumble: Tumble, expected: list[Gone]) -> list[WaysWorld]:
    told: Gone = tumble.removed_cells, tumble.turned_cells
    found: list[WaysWorld | None] = []
    for world, gone in zip(wins.worlds, expected, strict=True):
        is_same = told == gone or _is_told_once(world, gone, told)
        as_told = after_tumble(scene, world, told, tumble.new_symbols, is_right=world.is_right and is_same)
        by_strips = after_tumble(scene, world, told, None, is_right=world.is_right and is_same) if world.tops else as_told
        if as_told is not None and by_strips is not None and as_told != by_strips:
            as_told = as_told._replace(is_right=False)
        found += [as_told, by_strips]
        if told != gone:
            found.append(after_tumble(scene, world, gone, tumble.new_symbols, is_right=False))
            found.append(after_tumble(scene, world, gone, None, is_right=world.is_right))
    return distinct_worlds([world for world in found if world is not None])
