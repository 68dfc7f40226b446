"""The boards of one spin of a game that pays by ways: drops and their marks, falls and refills, gold that turns."""

from engines.game_events import Drop
from replay.referee.falling import removed_counts, union_cells
from replay.referee.grammar import SpinRecord, Step
from replay.referee.landing import boards_as_drawn, check_drop_form, is_shaped
from replay.referee.pairing import is_followed
from replay.referee.scene import can_tumble
from replay.referee.ways_ladder import check_change
from replay.referee.ways_tables import UNKNOWN_MARK
from replay.referee.ways_tumble import check_tumble
from replay.referee.ways_wins import WaysDropWins, check_wins
from replay.referee.ways_world import (
    TOLD_GOLD,
    TOLD_PLAIN,
    WaysScene,
    WaysWorld,
    after_tumble,
    distinct_worlds,
    gone_by,
    played_out,
    with_wins,
)

__all__ = ["walk_boards"]

# What a mark is known to be after a drop that tells it, by what was known before; a pair that is not here is a fault.
_READ = {(UNKNOWN_MARK, 0): TOLD_PLAIN, (UNKNOWN_MARK, 1): TOLD_GOLD, (0, 0): 0, (1, 1): 1, (TOLD_PLAIN, 0): 0, (TOLD_GOLD, 1): 1}
_IN_DOUBT = (UNKNOWN_MARK, TOLD_PLAIN, TOLD_GOLD)


def walk_boards(scene: WaysScene, record: SpinRecord) -> list[WaysWorld]:
    """Check the drops, wins and tumbles of a spin and return what may lie at rest, the recorded board first; none where none is known."""
    worlds: list[WaysWorld] = []
    wins = WaysDropWins([], [], ())
    number = -1
    while (number := number + 1) < len(record.steps):
        step = record.steps[number]
        before = record.steps[number - 1] if number else None
        if scene.hit == "yes" and (step.drop is not None or step.wins):
            index = step.drop[0] if step.drop else step.wins[0][0]
            scene.note_after_cap(index, f"drop {number}", "a drop")
        if before is None:
            worlds = _first_drop(scene, record, step)
        elif before.tumble is not None:
            worlds = _fallen_drop(scene, worlds or _as_told(scene, record.steps[:number], step), step)
        else:
            worlds = _drop_without_tumble(scene, wins, before, step)
        check_drop_form(scene, step, number, "values")
        _split_at_lost_tumble(scene, worlds, record.steps, number)
        wins = check_wins(scene, worlds, step, number)
        worlds = wins.worlds
        scene.is_diverged |= scene.limit_fault is not None and bool(step.wins)
        check_change(scene, wins, step, number, is_last=number + 1 == len(record.steps))
        if step.tumble is not None:
            worlds = check_tumble(scene, wins, step.tumble, number)
    return _at_rest(scene, record, wins, worlds)


def _first_drop(scene: WaysScene, record: SpinRecord, step: Step) -> list[WaysWorld]:
    tables = scene.tables
    drawn = boards_as_drawn(scene, record, step, lambda drop: drop.marks)
    if drawn is None:
        return []
    index, drop = drawn.placed
    worlds = [
        WaysWorld(each.board, tables.marks_of(scene.strip_set, each.board), each.tops, tables.reel_rows, 0, 0, 0, each.is_right)
        for each in drawn.boards
    ]
    if not drawn.is_in_doubt:
        return _check_marks(scene, worlds, index, drop)
    if drawn.are_stops_wrong:
        as_shown = _check_marks(scene, [each for each in worlds if each.board == drop.symbols], index, drop)
        return distinct_worlds([*as_shown, _with_open_marks(worlds[1])])
    return distinct_worlds([_with_open_marks(each) for each in worlds])


def _as_told(scene: WaysScene, before: list[Step], step: Step) -> list[WaysWorld]:
    """Return the world of a drop after one that is missing: its board as it is told, after the tumbles that came before."""
    if step.drop is None or not is_shaped(scene, step.drop[1], step.drop[1].marks):
        return []
    rows, drop = scene.tables.reel_rows, step.drop[1]
    gone = [removed_counts(each.tumble[1].removed_cells, rows) for each in before if each.tumble is not None]
    shown = tuple([height + sum([counts[reel] for counts in gone]) for reel, height in enumerate(rows)])
    marks = (UNKNOWN_MARK,) * len(drop.symbols)
    steps = sum(bool(each.wins) for each in before)
    return [WaysWorld(drop.symbols, marks, (), shown, len(before), steps, scene.sums[0], True)]


def _fallen_drop(scene: WaysScene, worlds: list[WaysWorld], step: Step) -> list[WaysWorld]:
    """Check a board after its tumble; `worlds` are those the tumble leads to."""
    if step.drop is None:
        if step.is_inferred:
            return worlds
        index = step.wins[0][0] if step.wins else step.tumble[0] if step.tumble else -1
        scene.notebook.add("drop_missing", "integrity", index, "", what="drop", want="the board after the tumble", got="none")
        return worlds
    index, drop = step.drop
    if not worlds or not is_shaped(scene, drop, drop.marks):
        return worlds
    matched = [world for world in worlds if world.board == drop.symbols]
    if len(matched) == len(worlds):
        return _check_marks(scene, worlds, index, drop)
    rights = [_with_open_marks(world) for world in worlds if world.is_right]
    if matched:
        checked = _check_marks(scene, matched, index, drop)
        return checked if any(world.is_right for world in checked) else distinct_worlds(checked + rights)
    nearest = min(worlds, key=lambda world: sum(a != b for a, b in zip(world.board, drop.symbols, strict=True)))
    bad = [cell for cell in range(len(drop.symbols)) if nearest.board[cell] != drop.symbols[cell]]
    scene.note_cells(index, drop.drop_index, "board_fall", bad, nearest.board, drop.symbols, None)
    unknown = (UNKNOWN_MARK,) * len(drop.symbols)
    recorded = nearest._replace(board=drop.symbols, marks=unknown, is_right=False)
    return distinct_worlds([recorded, *rights])


def _with_open_marks(world: WaysWorld) -> WaysWorld:
    """Return a world after a drop with wrong cells: what that alone tells of marks is not held against what comes."""
    return world._replace(marks=tuple([UNKNOWN_MARK if mark in _IN_DOUBT else mark for mark in world.marks]))


def _check_marks(scene: WaysScene, worlds: list[WaysWorld], index: int, drop: Drop) -> list[WaysWorld]:
    """Check the marks of a board that is as it should be; where gold is drawn, either is right as it lands."""
    fitting = []
    read_by_world = []
    for world in worlds:
        read = [_READ.get(pair) for pair in zip(world.marks, drop.marks, strict=True)]
        read_by_world.append(read)
        known = tuple([mark for mark in read if mark is not None])
        if len(known) == len(read):
            fitting.append(world._replace(marks=known))
    if len(fitting) == len(worlds):
        return fitting
    if fitting:
        rights = [_with_open_marks(world) for world in worlds if world.is_right]
        return fitting if any(world.is_right for world in fitting) else distinct_worlds(fitting + rights)
    place = next((place for place, world in enumerate(worlds) if world.is_right), 0)
    bad = [cell for cell, mark in enumerate(read_by_world[place]) if mark is None]
    _note_marks(scene, index, drop, worlds[place], bad)
    return distinct_worlds([followed for world in worlds for followed in _with_wrong_marks(world, drop)])


def _with_wrong_marks(world: WaysWorld, drop: Drop) -> list[WaysWorld]:
    """Return the worlds that may follow from wrong marks: those that should be, and those that are told where they differ.

    A mark that one drop alone tells, this one or the one before, may be the wrong one: none is held against what comes.
    """
    known, told = [], []
    for before, got in zip(world.marks, drop.marks, strict=True):
        mark = _READ.get((before, got), before)
        mark = UNKNOWN_MARK if mark in _IN_DOUBT else mark
        known.append(mark)
        told.append(got if got in (0, 1) and mark not in _IN_DOUBT else mark)
    followed = [world._replace(marks=tuple(known))]
    return followed if known == told else [*followed, world._replace(marks=tuple(told), is_right=False)]


def _note_marks(scene: WaysScene, index: int, drop: Drop, world: WaysWorld, bad: list[int]) -> None:
    words = {UNKNOWN_MARK: "0 or 1", TOLD_PLAIN: "0", TOLD_GOLD: "1"}
    landing = scene.tables.marks_of(scene.strip_set, drop.symbols)
    travelled = any(world.marks[cell] != landing[cell] for cell in bad)
    scene.notebook.add(
        "marks",
        "open",
        index,
        f"drop {drop.drop_index}, cell{'s' if len(bad) > 1 else ''} {', '.join(map(str, bad))}",
        what="marks",
        want=", ".join(words.get(world.marks[cell], str(world.marks[cell])) for cell in bad),
        got=", ".join(str(drop.marks[cell]) for cell in bad),
        assumption="SLW-3" if travelled else None,
    )


def _split_at_lost_tumble(scene: WaysScene, worlds: list[WaysWorld], steps: list[Step], number: int) -> None:
    """Divide a step whose later wins are those of the next board: a tumble and its drop are missing between them."""
    step, tables = steps[number], scene.tables
    for world in worlds if len(step.wins) > 1 and step.cap is None else ():
        wins = tables.wins(world.board)
        count = len(wins)
        if not 0 < count < len(step.wins) or not is_followed(step.wins[:count], wins):
            continue
        gone = gone_by(scene, world, union_cells(win.cells for win in wins), ())
        after = after_tumble(scene, world, gone, None, is_right=True)
        if after is not None and is_followed(step.wins[count:], tables.wins(after.board)):
            steps.insert(number + 1, Step(None, step.wins[count:], change=step.change, tumble=step.tumble, is_inferred=True))
            step.wins, step.change, step.tumble = step.wins[:count], None, None
            return


def _drop_without_tumble(scene: WaysScene, wins: WaysDropWins, before: Step, step: Step) -> list[WaysWorld]:
    """Note that no tumble stands between two drops; the strips tell what it was, so the next drop is still checked."""
    index = step.drop[0] if step.drop else step.wins[0][0] if step.wins else -1
    if not before.wins and not any(wins.won):
        want = "no drop, as nothing has won"
        scene.notebook.add("drop_invented", "integrity", index, "", what="drop", want=want, got=f"a drop at index {index}")
        return wins.worlds
    if scene.after_cap_fault is None:
        _note_tumble_missing(scene, before, index, wins)
    found = [
        after
        for world, won in zip(wins.worlds, wins.won, strict=True)
        for cells in {won, wins.recorded}
        if (after := after_tumble(scene, world, gone_by(scene, world, cells, ()), None, is_right=world.is_right)) is not None
    ]
    return _fallen_drop(scene, distinct_worlds(found) or _as_told(scene, [before], step), step)


def _note_tumble_missing(scene: WaysScene, step: Step, index: int, wins: WaysDropWins) -> int:
    cells = next((won for won in wins.won if won), wins.recorded)
    at = step.wins[-1][0] if step.wins else index
    want = f"a tumble after the win on cells {list(cells)}"
    return scene.notebook.add("tumble_missing", "open", at, "", what="tumble", want=want, got="no tumble")


def _at_rest(scene: WaysScene, record: SpinRecord, wins: WaysDropWins, worlds: list[WaysWorld]) -> list[WaysWorld]:
    """Return the worlds at rest; a tumble that should still come, or a drop after the last one, is missing."""
    if not record.steps:
        scene.notebook.add("drop_missing", "integrity", record.index_first, "drop 0", what="drop", want="the board as drawn", got="none")
        return []
    last = record.steps[-1]
    if last.tumble is not None:
        if scene.after_cap_fault is None:
            index = last.tumble[0]
            scene.notebook.add("drop_missing", "integrity", index, "", what="drop", want="the board after the tumble", got="none")
        return [played_out(scene, with_wins(scene, world, scene.tables.wins(world.board))) for world in worlds]
    if not worlds or scene.hit == "yes":
        return worlds
    if not any(wins.won):
        told = [gone_by(scene, world, wins.recorded, ())[0] for world in worlds]
        scene.may_be_limited = any(not can_tumble(scene, world, gone) for world, gone in zip(worlds, told, strict=True) if gone)
        return worlds
    gone = [gone_by(scene, world, won, ())[0] for world, won in zip(worlds, wins.won, strict=True)]
    if any(not can_tumble(scene, world, removed) for world, removed, won in zip(worlds, gone, wins.won, strict=True) if won):
        scene.is_limited = True
        return worlds
    if scene.hit == "no" and last.wins and all(wins.won):
        scene.stop_fault = _note_tumble_missing(scene, last, record.index_last, wins)
    as_it_lies = [world._replace(is_right=False) for world in worlds]
    return distinct_worlds(as_it_lies + [played_out(scene, world) for world in worlds if world.is_right])
