"""The boards of win lines and Moons: the first against stops and strips, those of respins against the Moons that are held."""

from collections.abc import Iterable

from engines.game_events import Drop, FeatureTrigger, GameEvent
from replay.referee.belief import fault, raise_to_money
from replay.referee.first_board import CELLS_NAMED_MAX, cells_text, shown_boards
from replay.referee.hold_and_respin import after_respin, cash_x100, moon_count
from replay.referee.lines import line_wins
from replay.referee.lines_belief import UNKNOWN_VALUE, LinesBelief, Owed
from replay.referee.lines_tables import LinesRound, LinesTables

__all__ = ["bonus_prizes", "first_drops", "respin_drops"]

Moons = tuple[int, ...]


def first_drops(play: LinesRound, belief: LinesBelief, index: int, drop: Drop) -> list[LinesBelief]:
    """Return what may be believed after the drop of spin 0: its board as the stops show it, or as it is told."""
    tables = play.tables
    belief = _check_form(belief, index, drop)
    if not _is_shaped(tables, drop):
        return [_without_board(tables, belief, index, drop)]
    found: list[LinesBelief] = []
    for after, shown in shown_boards(tables, belief, belief.strip_set, index, drop):
        each = _first_board(play, after, index, drop, shown.board, passed_over=shown.passed_over)
        if shown.is_against_stops and [owed[:4] for owed in each.owed] != [owed[:4] for owed in found[0].owed]:
            each = raise_to_money(each, len(belief.findings))
        found.append(each)
    return found


def _check_form(belief: LinesBelief, index: int, drop: Drop) -> LinesBelief:
    if drop.drop_index:
        belief = fault(belief, "drop_index", "integrity", index, "drop", what="drop index", want=0, got=drop.drop_index)
    if drop.marks:
        belief = fault(belief, "marks", "integrity", index, "drop", what="marks", want="none", got=list(drop.marks))
    return belief


def _is_shaped(tables: LinesTables, drop: Drop) -> bool:
    return len(drop.symbols) == len(drop.values) == tables.cell_count


def _without_board(tables: LinesTables, belief: LinesBelief, index: int, drop: Drop) -> LinesBelief:
    got = f"{len(drop.symbols)} symbols and {len(drop.values)} values"
    want = f"{tables.cell_count} cells"
    told = fault(belief, "board_shape", "integrity", index, "drop", what="board", want=want, got=got)
    return told._replace(phase="rest", told="spin", is_over=not belief.spin or belief.left == 0)


def _moon_text(tables: LinesTables, moon: int) -> str:
    return tables.symbol_name(tables.blank) if not moon else "a Moon" if moon < 0 else f"a Moon of {moon}"


def _shown_text(tables: LinesTables, drop: Drop, cell: int) -> str:
    """Return what a cell shows, with a value that it has or lacks against the rules: never the words of what is wanted."""
    symbol, value = drop.symbols[cell], drop.values[cell]
    if symbol == tables.moon:
        return f"a Moon of {value}"
    return tables.symbol_name(symbol) + (f" of {value}" if value else "")


def _first_board(
    play: LinesRound, belief: LinesBelief, index: int, drop: Drop, board: tuple[int, ...], passed_over: Iterable[int] = ()
) -> LinesBelief:
    """Return what is believed after spin 0 shows `board`; the values of the cells `passed_over` are of a cause that is told."""
    tables = play.tables
    moons = tables.no_values
    if tables.moon in board or drop.values != tables.no_values:
        allowed = tables.moon_values
        moons = tuple(
            [
                0 if symbol != tables.moon else value if value in allowed else UNKNOWN_VALUE
                for symbol, value in zip(board, drop.values, strict=True)
            ]
        )
        bad = [cell for cell, moon in enumerate(moons) if moon != drop.values[cell] and cell not in passed_over]
        if bad:
            belief = _value_fault(tables, belief, index, drop, moons, bad)
    wins = line_wins(board, tables.lines, tables.counts, tables.pays_by_symbol, tables.wild)
    owed = [Owed("win", "", win.pay_x100, 0, win) for win in wins]
    count = moon_count(moons)
    if tables.cash_from <= count < tables.trigger_from:
        owed.append(Owed("prize", "moon_cash", cash_x100(moons), count))
    elif count >= tables.trigger_from:
        owed.append(Owed("feature_trigger", moons=count))
        if count == tables.cell_count:
            owed += bonus_prizes(tables, moons, count, count)
    fresh = tuple([cell for cell, moon in enumerate(moons) if moon])
    belief = belief._replace(shown_x100=sum(drop.values))
    return belief._replace(phase="rest", moons=moons, fresh=fresh, owed=tuple(owed), is_over=True)


def _value_fault(tables: LinesTables, belief: LinesBelief, index: int, drop: Drop, moons: Moons, bad: list[int]) -> LinesBelief:
    named = bad[:CELLS_NAMED_MAX]
    want = ", ".join("a value of the table" if moons[cell] < 0 else str(moons[cell]) for cell in named)
    if len(bad) > 1 and all(moons[cell] < 0 for cell in bad):
        want = "values of the table"
    got = ", ".join(str(drop.values[cell]) for cell in named)
    is_drawn = any(moons[cell] < 0 for cell in bad)
    hung = None if is_drawn or not belief.spin else "MSP-5"
    after = fault(
        belief, "moon_value", "integrity", index, f"drop, {cells_text(bad)}", what="Moon value", want=want, got=got, assumption=hung
    )
    return after._replace(value_faults=(*belief.value_faults, len(belief.findings))) if is_drawn else after


def bonus_prizes(tables: LinesTables, moons: Moons, count: int, moons_at_trigger: int) -> list[Owed]:
    """Return the prizes at the end of a bonus: the cash of all Moons, then the ladder."""
    prizes = [Owed("prize", "moon_cash", cash_x100(moons), count)] if count else []
    return prizes + [Owed("prize", "ladder", pay, count) for pay in tables.ladder_pays(count, moons_at_trigger)]


def respin_drops(
    play: LinesRound, belief: LinesBelief, index: int, drop: Drop, ahead: list[GameEvent], *, is_plain: bool
) -> list[LinesBelief]:
    """Return what may be believed after the drop of a respin: the Moons that are held and those that land.

    `ahead` are the events that follow: a board in doubt may be what they say. `is_plain`: as the rules want it or not at all.
    """
    tables = play.tables
    belief = _check_form(belief, index, drop)
    if drop.stops:
        belief = fault(belief, "stops", "integrity", index, "drop", what="stops", want="none in a respin", got=list(drop.stops))
    if not _is_shaped(tables, drop):
        return [_without_board(tables, belief, index, drop)]
    told = _moons_told(tables, drop)
    held = tuple([_held(before, now) for before, now in zip(belief.moons, told, strict=True)])
    if is_plain:
        if _unlike(tables, drop, held):
            return []
        return _after_drop(play, belief, held)
    found: list[LinesBelief] = []
    is_plausible = not _unlike(tables, drop, held)
    belief = belief._replace(shown_x100=sum(drop.values))
    for moons in _proposals(tables, belief, drop, held, told, ahead):
        is_as_told = moons == told and held != told
        bad = _unlike(tables, drop, held if is_as_told else moons)
        after = _note_board(tables, belief, index, drop, held if is_as_told else moons, bad) if bad else belief
        if bad and is_plausible:
            after = after._replace(doubts=after.doubts + 1)
        if is_as_told and not _is_unpaid(belief, told):
            after = raise_to_money(after, len(after.findings) - 1)
        found += _after_drop(play, after, moons)
    return found


def _held(before: int, now: int) -> int:
    return before if before > 0 or (before and not now) else now


def _moons_told(tables: LinesTables, drop: Drop) -> Moons:
    allowed = tables.moon_values
    return tuple(
        [
            0 if symbol != tables.moon else value if value in allowed else UNKNOWN_VALUE
            for symbol, value in zip(drop.symbols, drop.values, strict=True)
        ]
    )


def _unlike(tables: LinesTables, drop: Drop, moons: Moons) -> list[int]:
    """Return the cells of a respin's drop that are not as `moons` has them."""
    bad = []
    for cell, (moon, symbol, value) in enumerate(zip(moons, drop.symbols, drop.values, strict=True)):
        if moon:
            is_right = symbol == tables.moon and (value == moon if moon > 0 else value in tables.moon_values)
        else:
            is_right = symbol == tables.blank and value == 0
        if not is_right:
            bad.append(cell)
    return bad


def _proposals(tables: LinesTables, belief: LinesBelief, drop: Drop, held: Moons, told: Moons, ahead: list[GameEvent]) -> Iterable[Moons]:
    """Return the boards that may really have lain there, the one that the rules want of the recorded first."""
    before = belief.moons
    allowed = tables.moon_values
    hinted = tuple([moon or (value if value in allowed else 0) for moon, value in zip(held, drop.values, strict=True)])
    boards = [held, before, hinted]
    cells = range(tables.cell_count)
    following = next((event for event in ahead if isinstance(event, Drop)), None)
    if following is not None and _is_shaped(tables, following):
        shown = _moons_told(tables, following)
        later = [cell for cell in cells if shown[cell] and not before[cell]]
        both = [cell for cell in later if held[cell]]
        trigger = next((event for event in ahead[:2] if isinstance(event, FeatureTrigger)), None)
        choices = [both, later]
        if trigger is not None:
            missing = max(trigger.count - moon_count(before), 0)
            choices.append((both + [cell for cell in later if cell not in both])[:missing])
        for chosen in choices:
            boards.append(tuple([before[cell] or (shown[cell] if cell in chosen else 0) for cell in cells]))
            boards.append(tuple([before[cell] or (held[cell] or shown[cell] if cell in chosen else 0) for cell in cells]))
    else:
        boards.append(tuple([held[cell] or hinted[cell] or UNKNOWN_VALUE for cell in cells]))
    return dict.fromkeys([*boards, told])


def _note_board(tables: LinesTables, belief: LinesBelief, index: int, drop: Drop, moons: Moons, bad: list[int]) -> LinesBelief:
    """Return a belief with one finding about all cells that are not as they should be."""
    lost = [cell for cell in bad if belief.moons[cell] and drop.symbols[cell] != tables.moon]
    if all((drop.symbols[cell] == tables.moon) == (moons[cell] != 0) for cell in bad) and not lost:
        strange = [cell for cell in bad if drop.symbols[cell] not in (tables.moon, tables.blank)]
        if not strange:
            return _value_fault(tables, belief, index, drop, moons, bad)
    got = ", ".join(_shown_text(tables, drop, cell) for cell in bad[:CELLS_NAMED_MAX])
    want = ", ".join(_moon_text(tables, moons[cell]) for cell in bad[:CELLS_NAMED_MAX])
    code, what = ("moon_held", "held Moons") if lost else ("respin_board", "symbols of a respin")
    return fault(belief, code, "integrity", index, f"drop, {cells_text(bad)}", what=what, want=want, got=got, assumption="MSP-5")


def _is_unpaid(belief: LinesBelief, told: Moons) -> bool:
    """Return whether no amount follows from a board that a held Moon is not on as it was, taken as it is told.

    That is so where the Moons only changed places, or where what changed had been seen on one board alone: then nobody
    but the seed knows which of the two is right.
    """
    changed = [cell for cell, moon in enumerate(belief.moons) if moon and moon != told[cell]]
    return sorted(belief.moons) == sorted(told) or all(cell in belief.fresh and told[cell] for cell in changed)


def _after_drop(play: LinesRound, belief: LinesBelief, moons: Moons) -> list[LinesBelief]:
    """Return the belief, or where it is not known how many Moons were held the two, after a respin that shows `moons`."""
    tables = play.tables
    count = moon_count(moons)
    new = sum([1 for before, now in zip(belief.moons, moons, strict=True) if now and not before])
    grown = count - moon_count(belief.moons)
    landings = dict.fromkeys((grown, new)) if belief.unseen == 0 else dict.fromkeys((max(new - belief.unseen, 0), new))
    if belief.unseen < 0:
        landings = dict.fromkeys((0, new))
    fresh = tuple([cell for cell, (before, now) in enumerate(zip(belief.moons, moons, strict=True)) if now != before])
    found = []
    for landed in landings:
        respins = after_respin(belief.left or 0, landed, count, tables.cell_count, tables.spins)
        endings = {respins.is_over}
        if belief.goes_on:
            endings = {(belief.left or 0) <= 0} | ({False} if landed else set()) | ({True} if count == tables.cell_count else set())
        for is_over in sorted(endings):
            owed: list[Owed] = []
            if is_over:
                owed = bonus_prizes(tables, moons, count, belief.moons_at_trigger)
            elif respins.is_reset:
                owed = [Owed("feature_trigger", moons=count)]
            after = _weighed(tables, belief, landed, count, is_over=is_over)
            if UNKNOWN_VALUE not in moons:
                after = after._replace(value_faults=())
            found.append(after._replace(phase="rest", moons=moons, fresh=fresh, unseen=0, owed=tuple(owed), is_over=is_over))
    return found


def _weighed(tables: LinesTables, belief: LinesBelief, landed: int, count: int, *, is_over: bool) -> LinesBelief:
    """Return a belief in which a fault of the respins counts as money where one is withheld, or one too many shows a Moon."""
    is_withheld = is_over and count < tables.cell_count and belief.left_right > 0
    if belief.spin_fault >= 0 and (is_withheld or (belief.left_right < 0 and landed > 0)):
        return raise_to_money(belief, belief.spin_fault)
    return belief
