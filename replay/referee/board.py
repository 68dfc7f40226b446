"""The boards of one spin: drops against strips, falls and refills, and the tumbles between them."""

from typing import NamedTuple

from engines.game_events import Drop, Tumble
from replay.referee.falling import removed_counts
from replay.referee.grammar import SpinRecord, Step
from replay.referee.landing import boards_as_drawn, check_drop_form, check_refill, is_shaped
from replay.referee.scatter_pays import board_wins
from replay.referee.scene import can_tumble
from replay.referee.wins import DropWins, check_wins
from replay.referee.world import UNKNOWN_VALUE, SpinScene, World, after_tumble, as_expected, distinct, played_out

__all__ = ["SpinBoards", "walk_boards"]


class SpinBoards(NamedTuple):
    """How the boards of a spin came to rest."""

    worlds: list[World]  # the recorded one first; empty where no board is known
    recorded_minor: int  # sum of the recorded wins


def walk_boards(scene: SpinScene, record: SpinRecord) -> SpinBoards:
    """Check the drops, wins and tumbles of a spin and return what lies at rest."""
    worlds: list[World] = []
    wins = DropWins([], [], ())
    steps = list(record.steps)
    number = recorded_minor = 0
    index_wanted = 0
    while number < len(steps):
        step = steps[number]
        if number == 0:
            worlds = _first_drop(scene, record, step)
        elif steps[number - 1].tumble is not None:
            worlds = _fallen_drop(scene, worlds or _as_told(scene, steps[:number], step), step)
        else:
            worlds = _drop_without_tumble(scene, wins, steps[number - 1], step)
        check_drop_form(scene, step, index_wanted, "marks")
        index_wanted += 1
        if worlds:
            scene.boards.append(worlds[0].board)
        _split_at_lost_tumble(scene, worlds, steps, number)
        wins = check_wins(scene, worlds, step, number)
        worlds = wins.worlds
        recorded_minor += sum(win.win_minor for _, win in step.wins)
        scene.is_diverged |= scene.limit_fault is not None and bool(step.wins)
        if step.tumble is not None:
            worlds = _check_tumble(scene, wins, step.tumble, number)
        number += 1
    return SpinBoards(_at_rest(scene, record, wins, worlds, steps), recorded_minor)


def _first_drop(scene: SpinScene, record: SpinRecord, step: Step) -> list[World]:
    tables = scene.tables
    drawn = boards_as_drawn(scene, record, step, lambda drop: drop.values)
    if drawn is None:
        return []
    index, drop = drawn.placed
    shown = (tables.rows,) * tables.reels
    worlds = [World(each.board, drop.values, each.tops, shown, 0, 0, each.is_right) for each in drawn.boards]
    unknown = (UNKNOWN_VALUE,) * tables.cell_count
    if not drawn.is_in_doubt:
        return _first_values(scene, worlds, index, drop)
    if drawn.are_stops_wrong:
        as_shown = _first_values(scene, [each for each in worlds if each.board == drop.symbols], index, drop)
        return distinct([*as_shown, _with_told_values(scene, worlds[1], drop, unknown)])
    return [_with_told_values(scene, each, drop, unknown) for each in worlds]


def _with_told_values(scene: SpinScene, world: World, drop: Drop, known: tuple[int, ...]) -> World:
    """Return a world of which a drop with wrong cells tells the hearts' values: those that can be, where none is known."""
    heart, allowed = scene.tables.heart, scene.tables.heart_values[scene.strip_set]
    values = [
        0 if symbol != heart else before if before > 0 else told if told in allowed else UNKNOWN_VALUE
        for symbol, told, before in zip(world.board, drop.values, known, strict=True)
    ]
    return world._replace(values=tuple(values))


def _first_values(scene: SpinScene, worlds: list[World], index: int, drop: Drop) -> list[World]:
    heart = scene.tables.heart
    drawn = [
        world._replace(values=tuple([UNKNOWN_VALUE if symbol == heart else 0 for symbol in world.board]))
        if heart in world.board
        else world._replace(values=scene.tables.no_values)
        for world in worlds
    ]
    return _check_values(scene, drawn, index, drop, 0)


def _as_told(scene: SpinScene, before: list[Step], step: Step) -> list[World]:
    """Return the world of a drop after one that is missing: its board as it is told, after the tumbles that came before."""
    if step.drop is None or not is_shaped(scene, step.drop[1], step.drop[1].values):
        return []
    tables, drop = scene.tables, step.drop[1]
    gone = [removed_counts(each.tumble[1].removed_cells, tables.reel_rows) for each in before if each.tumble is not None]
    shown = tuple(tables.rows + sum(counts[reel] for counts in gone) for reel in range(tables.reels))
    return [World(drop.symbols, drop.values, (), shown, len(before), 0, True)]


def _fallen_drop(scene: SpinScene, worlds: list[World], step: Step) -> list[World]:
    """Check a board after its tumble; `worlds` are those the tumble leads to."""
    if step.drop is None:
        if not step.is_inferred:
            index = step.wins[0][0] if step.wins else step.tumble[0] if step.tumble else -1
            scene.notebook.add("drop_missing", "integrity", index, "", what="drop", want="the board after the tumble", got="none")
        return worlds
    index, drop = step.drop
    if not is_shaped(scene, drop, drop.values):
        return worlds
    matched = [world for world in worlds if world.board == drop.symbols]
    if len(matched) == len(worlds):
        return _check_values(scene, worlds, index, drop, drop.drop_index)
    rights = [world for world in worlds if world.is_right]
    if matched:
        checked = _check_values(scene, matched, index, drop, drop.drop_index)
        return checked if any(world.is_right for world in checked) else distinct(checked + rights)
    nearest = min(worlds, key=lambda world: sum(a != b for a, b in zip(world.board, drop.symbols, strict=True)))
    bad = [cell for cell in range(len(drop.symbols)) if nearest.board[cell] != drop.symbols[cell]]
    scene.note_cells(index, drop.drop_index, "board_fall", bad, nearest.board, drop.symbols, None)
    told = nearest._replace(board=drop.symbols, is_right=False)
    recorded = _with_told_values(scene, told, drop, (UNKNOWN_VALUE,) * len(drop.symbols))
    return distinct([recorded, *(_with_told_values(scene, world, drop, world.values) for world in rights)])


def _drop_without_tumble(scene: SpinScene, wins: DropWins, before: Step, step: Step) -> list[World]:
    """Note that no tumble stands between two drops; the strips tell what it was, so the next drop is still checked."""
    index = step.drop[0] if step.drop else step.wins[0][0] if step.wins else -1
    if not before.wins and not any(wins.removals):
        want = "no drop, as nothing has won"
        scene.notebook.add("drop_invented", "integrity", index, "", what="drop", want=want, got=f"a drop at index {index}")
        return wins.worlds
    _note_tumble_missing(scene, before, index, wins)
    found = [
        after
        for world, removal in zip(wins.worlds, wins.removals, strict=True)
        for removed in {removal, wins.recorded}
        if (after := after_tumble(scene, world, removed, None, is_right=world.is_right)) is not None
    ]
    return _fallen_drop(scene, distinct(found) or _as_told(scene, [before], step), step)


def _note_tumble_missing(scene: SpinScene, step: Step, index: int, wins: DropWins) -> int:
    removed = next((removal for removal in wins.removals if removal), wins.recorded)
    at = step.wins[-1][0] if step.wins else index
    want = f"a tumble that removes cells {list(removed)}"
    return scene.notebook.add("tumble_missing", "open", at, "", what="tumble", want=want, got="no tumble")


def _check_values(scene: SpinScene, worlds: list[World], index: int, drop: Drop, drop_index: int) -> list[World]:
    """Check the hearts of a board that is as it should be; a new heart's value is taken as drawn where it can be."""
    tables, values = scene.tables, drop.values
    if len(worlds) == 1 and worlds[0].values == values == tables.no_values:
        return worlds
    allowed = tables.heart_values[scene.strip_set]
    fitting, resolved = [], []
    for world in worlds:
        if world.board != drop.symbols:
            resolved.append(world)
            continue
        pairs = list(zip(world.values, values, strict=True))
        bad = [cell for cell, (want, got) in enumerate(pairs) if (got not in allowed if want == UNKNOWN_VALUE else got != want)]
        drawn = tuple([got if want == UNKNOWN_VALUE and got in allowed else want for want, got in pairs])
        resolved.append(world._replace(values=drawn))
        if not bad:
            fitting.append(world._replace(values=drawn))
    if fitting:
        is_any_right = any(world.is_right for world in fitting)
        return distinct(fitting if is_any_right else fitting + [world for world in resolved if world.is_right])
    nearest = next(world for world in resolved if world.board == drop.symbols)
    _note_values(scene, index, drop, drop_index, nearest)
    known = tuple([UNKNOWN_VALUE if want == UNKNOWN_VALUE else got for want, got in zip(nearest.values, values, strict=True)])
    is_right = UNKNOWN_VALUE in nearest.values or _is_landing_in_doubt(scene, nearest, drop)
    return distinct([nearest._replace(values=known, is_right=is_right), *(world for world in resolved if world.is_right)])


def _is_landing_in_doubt(scene: SpinScene, world: World, drop: Drop) -> bool:
    """Return whether each wrong value was seen in one drop before only: then either of the two may be the one drawn.

    Hearts never leave a reel and new ones lie above, so counted from the bottom a heart keeps its place.
    """
    rows, heart = scene.tables.rows, scene.tables.heart
    if len(scene.boards) < 2:
        return True
    before = scene.boards[-2]
    for cell, (want, got) in enumerate(zip(world.values, drop.values, strict=True)):
        end = (cell // rows + 1) * rows
        if want != got and before[end - rows : end].count(heart) >= world.board[cell:end].count(heart):
            return False
    return True


def _note_values(scene: SpinScene, index: int, drop: Drop, drop_index: int, world: World) -> None:
    bad = [cell for cell, (want, got) in enumerate(zip(world.values, drop.values, strict=True)) if want != got]
    drawn = any(world.values[cell] == UNKNOWN_VALUE for cell in bad)
    wants = [
        f"a heart value of set {scene.tables.set_name(scene.strip_set)}" if world.values[cell] < 0 else str(world.values[cell])
        for cell in bad
    ]
    scene.notebook.add(
        "heart_value",
        "open",
        index,
        f"drop {drop_index}, cell{'s' if len(bad) > 1 else ''} {', '.join(map(str, bad))}",
        what="heart value",
        want=", ".join(wants),
        got=", ".join(str(drop.values[cell]) for cell in bad),
        assumption=None if drawn else "MLP-5",
    )


def _split_at_lost_tumble(scene: SpinScene, worlds: list[World], steps: list[Step], number: int) -> None:
    """Divide a step whose later wins are those of the next board: a tumble and its drop are missing between them."""
    step = steps[number]
    tables = scene.tables
    for world in worlds if len(step.wins) > 1 else ():
        wins = board_wins(world.board, tables.counts, tables.pays)
        count = len(wins)
        if not 0 < count < len(step.wins) or [win.cells for win in wins] != [win.cells for _, win in step.wins[:count]]:
            continue
        removed = tuple(sorted({cell for win in wins for cell in win.cells}))
        after = after_tumble(scene, world, removed, None, is_right=True)
        if after is None:
            continue
        following = [win.cells for win in board_wins(after.board, tables.counts, tables.pays)]
        if following == [win.cells for _, win in step.wins[count:]]:
            steps.insert(number + 1, Step(None, step.wins[count:], tumble=step.tumble, is_inferred=True))
            steps[number] = step
            step.wins, step.tumble = step.wins[:count], None
            return


def _check_tumble(scene: SpinScene, wins: DropWins, placed: tuple[int, Tumble], drop_index: int) -> list[World]:
    """Check a tumble and return the worlds after it: what is recorded first, then what should be."""
    index, tumble = placed
    where = f"drop {drop_index}, tumble"
    add = scene.notebook.add
    if tumble.turned_cells or tumble.turned_symbols:
        add("turned", "integrity", index, where, what="turned cells", want="none", got=list(tumble.turned_cells))
    if not wins.worlds:
        return []
    if len(wins.worlds) == 1 and tumble.removed_cells == wins.removals[0] == wins.recorded and wins.recorded:
        after = as_expected(scene, wins.worlds[0], wins.recorded, tumble.new_symbols)
        if after is not None:
            return [after]
    allowed = {*wins.removals, wins.recorded}
    limited = [not can_tumble(scene, world, removal) for world, removal in zip(wins.worlds, wins.removals, strict=True)]
    if not any(allowed):
        add(
            "tumble_invented",
            "open",
            index,
            where,
            what="tumble",
            want="none, as nothing has won",
            got=f"cells {list(tumble.removed_cells)}",
        )
    elif tumble.removed_cells not in allowed:
        want = list(wins.removals[0] or wins.recorded)
        add("removed_cells", "open", index, where, what="removed cells", want=want, got=list(tumble.removed_cells))
    if any(allowed) and all(limited) and scene.limit_fault is None and not scene.is_past_end:
        scene.limit_fault = add(
            "limit_ignored", "open", index, where, what="tumble", want="none past a technical limit", got="a tumble", assumption="ALL-5"
        )
    _check_refill(scene, wins, placed, where)
    found: list[World] = []
    for world, removal in zip(wins.worlds, wins.removals, strict=True):
        is_same = tumble.removed_cells == removal
        from_strips = after_tumble(scene, world, removal, None, is_right=world.is_right) if world.tops else None
        as_told = after_tumble(scene, world, tumble.removed_cells, tumble.new_symbols, is_right=world.is_right and is_same)
        if is_same and as_told is not None and (from_strips is None or as_told == from_strips):
            found.append(as_told)
            continue
        variants = [
            as_told._replace(is_right=False) if as_told is not None else None,
            after_tumble(scene, world, tumble.removed_cells, None, is_right=False) if world.tops else None,
            after_tumble(scene, world, removal, tumble.new_symbols, is_right=False),
            from_strips,
        ]
        found += [variant for variant in variants if variant is not None]
    return found if len(found) < 2 else distinct(found)


def _check_refill(scene: SpinScene, wins: DropWins, placed: tuple[int, Tumble], where: str) -> None:
    told = placed[1].removed_cells
    removals = [(told, removal, wins.recorded) if removal != told else (told,) for removal in wins.removals]
    check_refill(scene, placed, where, [(world.tops, world.shown) for world in wins.worlds], removals)


def _at_rest(scene: SpinScene, record: SpinRecord, wins: DropWins, worlds: list[World], steps: list[Step]) -> list[World]:
    """Return the worlds at rest; a tumble that should still come, or a drop after the last one, is missing."""
    if not steps:
        scene.notebook.add("drop_missing", "integrity", record.index_first, "drop 0", what="drop", want="the board as drawn", got="none")
        return []
    last = steps[-1]
    if last.tumble is not None:
        scene.notebook.add("drop_missing", "integrity", last.tumble[0], "", what="drop", want="the board after the tumble", got="none")
        return [played_out(scene, _counted(scene, world)) for world in worlds]
    if not worlds or not any(wins.removals):
        return worlds
    if any(not can_tumble(scene, world, removal) for world, removal in zip(worlds, wins.removals, strict=True) if removal):
        scene.is_limited = True
        return worlds
    if last.wins and all(wins.removals):
        scene.stop_fault = _note_tumble_missing(scene, last, record.index_last, wins)
    as_it_lies = [world._replace(is_right=False) for world in worlds]
    return distinct(as_it_lies + [played_out(scene, world) for world in worlds if world.is_right])


def _counted(scene: SpinScene, world: World) -> World:
    tables = scene.tables
    pay = sum(win.pay_x100 for win in board_wins(world.board, tables.counts, tables.pays))
    return world._replace(wins_minor=world.wins_minor + pay * scene.bet_minor // 100)
