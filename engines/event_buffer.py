"""The integers that a kernel writes a round into: work space, totals, and one record for each game event.

A record is: code, number of words that follow, fields. The code is the place of the event's kind in
`game_events.GAME_EVENTS`, from 1; the fields are those of its model in the model's order: an integer as itself, a word
(`part`, `cause`, …) as its place among the model's words from 0, a list as its length and items, a list of lists as
its length and each list so.
"""

from typing import NamedTuple

from engines.jit import kernel
from engines.rng import LOG_START, STREAM_LENGTH, STREAM_LOG

__all__ = [
    "CAPPED",
    "CAUSE_HEARTS",
    "CAUSE_HIGHLIGHTS",
    "CAUSE_TOTAL_HEARTS",
    "CAUSE_TUMBLE",
    "CLEAR_GRID",
    "CONSTELLATION",
    "FREE_SPINS",
    "HEAD_BASE",
    "HEAD_ENDED",
    "HEAD_FIGURES",
    "HEAD_LENGTH",
    "HEAD_METER",
    "HEAD_OWN",
    "HEAD_POSITION",
    "HEAD_SHORT",
    "HEAD_SPINS",
    "HEAD_STATE",
    "HEAD_STRIP_SET",
    "HEAD_TOTAL",
    "HEAD_TRIGGERS",
    "HIGHLIGHTED",
    "HOLD_AND_RESPIN",
    "LADDER",
    "LEAVES",
    "LIMITED",
    "MOON_CASH",
    "NOT_ENDED",
    "PART_BASE",
    "PART_FREE",
    "PART_RESONANCE",
    "PART_RESPIN",
    "PLAYED",
    "RESONANCE",
    "SCATTER_PAY",
    "STATUS_BUFFER_FULL",
    "STATUS_DONE",
    "STATUS_LIMIT",
    "STATUS_WANTS_CHOICE",
    "STAYS",
    "TURNS",
    "WON_ON",
    "RoundBuffer",
    "clear_head",
    "emit_cap_hit",
    "emit_choice_offered",
    "emit_drop",
    "emit_feature_ended",
    "emit_feature_trigger",
    "emit_multiplier_change",
    "emit_power",
    "emit_prize",
    "emit_spin_ended",
    "emit_spin_started",
    "emit_tumble",
    "emit_win",
    "new_buffer",
]

# What `play_round` returns.
STATUS_DONE = 0
STATUS_WANTS_CHOICE = 1
STATUS_BUFFER_FULL = 2
STATUS_LIMIT = 3  # done, ended by a technical limit of the rules

# Places in the head.
HEAD_POSITION = 0  # words of `events` in use
HEAD_SHORT = 1  # 1 where a record did not fit
HEAD_TOTAL = 2  # minor units won
HEAD_BASE = 3  # of these, the award of spin 0
HEAD_ENDED = 4
HEAD_SPINS = 5  # spins played beyond spin 0
HEAD_TRIGGERS = 6  # features won in spin 0
HEAD_STRIP_SET = 7  # of spin 0
HEAD_METER = 8  # sections filled; 0 where a game has no meter
HEAD_OWN = 9  # up to 7 integers that a game keeps while it plays a spin
HEAD_STATE = 16  # state out, up to 16 integers
HEAD_FIGURES = 32  # up to 16 integers that simulations add up, as the game's FIGURES names them
HEAD_LENGTH = 48

# HEAD_ENDED: still going, or how the round ended.
NOT_ENDED = 0
PLAYED = 1
CAPPED = 2
LIMITED = 3

# Codes of the kinds, and of the words in their fields.
SPIN_STARTED = 1
DROP = 2
WIN = 3
TUMBLE = 4
MULTIPLIER_CHANGE = 5
PRIZE = 6
FEATURE_TRIGGER = 7
CAP_HIT = 8
SPIN_ENDED = 9
FEATURE_ENDED = 10
POWER = 11
CHOICE_OFFERED = 12
PART_BASE = 0
PART_FREE = 1
PART_RESPIN = 2
PART_RESONANCE = 3
CAUSE_HEARTS = 0
CAUSE_TOTAL_HEARTS = 1
CAUSE_TUMBLE = 2
CAUSE_HIGHLIGHTS = 3
FREE_SPINS = 0
HOLD_AND_RESPIN = 1
RESONANCE = 2
SCATTER_PAY = 0
MOON_CASH = 1
LADDER = 2
CONSTELLATION = 3
CLEAR_GRID = 4

# What `removed` says of a cell.
STAYS = 0
LEAVES = 1
TURNS = 2

# What `highlights` says of a cell.
HIGHLIGHTED = 1  # and not yet won on in this spin
WON_ON = 2

EVENT_WORDS_FIRST = 1 << 14


class RoundBuffer(NamedTuple):
    """One round's work space; every part is a list of integers, or an int64 array on the compiled path."""

    head: list[int]
    events: list[int]
    stream: list[int]  # random numbers, see rng.py
    symbols: list[int]  # the board, a symbol for each cell
    values: list[int]  # for each cell a heart's multiplier or a Moon's cash, else 0
    marks: list[int]  # for each cell 1 where its symbol is gold, 2 where it is a Power Wild, else 0
    highlights: list[int]  # for each cell HIGHLIGHTED, WON_ON or 0
    tops: list[int]  # strip position in the top visible row of each reel
    shown: list[int]  # strip positions that each reel has shown in this spin
    counts: list[int]  # cells of each symbol on the board
    removed: list[int]  # for each cell LEAVES or TURNS with the next tumble, else STAYS
    pool: list[int]  # what `choose` draws from, and other short lists


def new_buffer(*, cell_count: int, reel_count: int, event_words: int = EVENT_WORDS_FIRST, draw_count: int = 0) -> RoundBuffer:
    """Return an empty buffer of lists: `event_words` for events, room to note `draw_count` draws of 5 words each."""
    stream = [0] * (STREAM_LENGTH + 5 * draw_count)
    stream[STREAM_LOG] = LOG_START if draw_count else 0
    cells = [0] * cell_count
    return RoundBuffer(
        head=[0] * HEAD_LENGTH,
        events=[0] * event_words,
        stream=stream,
        symbols=cells.copy(),
        values=cells.copy(),
        marks=cells.copy(),
        highlights=cells.copy(),
        tops=[0] * reel_count,
        shown=[0] * reel_count,
        counts=[0] * 32,
        removed=cells.copy(),
        pool=[0] * max(cell_count, 32),
    )


@kernel
def clear_head(head: list[int]) -> None:
    """Set every place of the head to 0."""
    for i in range(HEAD_LENGTH):
        head[i] = 0


@kernel
def begin(buffer: RoundBuffer, code: int, word_count: int) -> int:
    """Write a record's code and length; return the place of its first field, -1 and HEAD_SHORT where it does not fit."""
    place = buffer.head[HEAD_POSITION]
    if place + 2 + word_count > len(buffer.events):
        buffer.head[HEAD_SHORT] = 1
        return -1
    buffer.events[place] = code
    buffer.events[place + 1] = word_count
    buffer.head[HEAD_POSITION] = place + 2 + word_count
    return place + 2


@kernel
def emit_spin_started(
    buffer: RoundBuffer,
    spin_index: int,
    part: int,
    strip_set: int,
    spins_left: int,
    multiplier: int,
    total_multiplier: int,
) -> None:
    """Write a `spin_started` with the meter in the head and the cells that `buffer.highlights` marks."""
    highlights, events = buffer.highlights, buffer.events
    highlighted_count = 0
    for cell in range(len(highlights)):
        if highlights[cell] != 0:
            highlighted_count += 1
    place = begin(buffer, SPIN_STARTED, 8 + highlighted_count)
    if place < 0:
        return
    events[place] = spin_index
    events[place + 1] = part
    events[place + 2] = strip_set
    events[place + 3] = spins_left
    events[place + 4] = multiplier
    events[place + 5] = total_multiplier
    events[place + 6] = buffer.head[HEAD_METER]
    events[place + 7] = highlighted_count
    place += 8
    for cell in range(len(highlights)):
        if highlights[cell] != 0:
            events[place] = cell
            place += 1


@kernel
def emit_drop(buffer: RoundBuffer, drop_index: int, value_count: int, mark_count: int, stop_count: int) -> None:
    """Write a `drop` of the buffer's board with the first so many of its values, marks and reel stops: all of them or none."""
    symbols, values, marks, tops, events = buffer.symbols, buffer.values, buffer.marks, buffer.tops, buffer.events
    cell_count = len(symbols)
    place = begin(buffer, DROP, 5 + cell_count + value_count + mark_count + stop_count)
    if place < 0:
        return
    events[place] = drop_index
    events[place + 1] = cell_count
    place += 2
    for cell in range(cell_count):
        events[place + cell] = symbols[cell]
    place += cell_count
    events[place] = value_count
    for cell in range(value_count):
        events[place + 1 + cell] = values[cell]
    place += 1 + value_count
    events[place] = mark_count
    for cell in range(mark_count):
        events[place + 1 + cell] = marks[cell]
    place += 1 + mark_count
    events[place] = stop_count
    for reel in range(stop_count):
        events[place + 1 + reel] = tops[reel]


@kernel
def emit_win(
    buffer: RoundBuffer,
    symbol: int,
    line: int,
    count: int,
    cell_count: int,
    cells: list[int],
    ways: int,
    pay_x100: int,
    multiplier: int,
    win_minor: int,
) -> None:
    """Write a `win` of the first `cell_count` of `cells`, ascending."""
    place = begin(buffer, WIN, 8 + cell_count)
    if place < 0:
        return
    events = buffer.events
    events[place] = symbol
    events[place + 1] = line
    events[place + 2] = count
    events[place + 3] = cell_count
    place += 4
    for i in range(cell_count):
        events[place + i] = cells[i]
    place += cell_count
    events[place] = ways
    events[place + 1] = pay_x100
    events[place + 2] = multiplier
    events[place + 3] = win_minor


@kernel
def emit_tumble(buffer: RoundBuffer, cell_starts: list[int], turned_symbol: int, is_refilled: bool = True) -> None:
    """Write a `tumble` after the fall: the cells that left or turned, and what is new on top of each reel.

    `buffer.removed` still says which cells left or turned, as numbered before the fall. cell_starts: the first cell of each
    reel, and the end. is_refilled: whether symbols came from above into the cells that were left empty.
    """
    symbols, removed, events = buffer.symbols, buffer.removed, buffer.events
    cell_count = len(symbols)
    reel_count = len(buffer.tops)
    left_count = 0
    turned_count = 0
    for cell in range(cell_count):
        if removed[cell] == LEAVES:
            left_count += 1
        elif removed[cell] == TURNS:
            turned_count += 1
    filled_count = left_count if is_refilled else 0
    place = begin(buffer, TUMBLE, 4 + left_count + filled_count + 2 * turned_count + reel_count)
    if place < 0:
        return
    for kind in range(2):
        events[place] = turned_count if kind else left_count
        place += 1
        for cell in range(cell_count):
            if removed[cell] == LEAVES + kind:
                events[place] = cell
                place += 1
    events[place] = turned_count
    for i in range(turned_count):
        events[place + 1 + i] = turned_symbol
    place += 1 + turned_count
    events[place] = reel_count
    place += 1
    for reel in range(reel_count):
        new_count = 0
        for cell in range(cell_starts[reel], cell_starts[reel + 1]):
            if is_refilled and removed[cell] == LEAVES:
                new_count += 1
        events[place] = new_count
        for row in range(new_count):
            events[place + 1 + row] = symbols[cell_starts[reel] + row]
        place += 1 + new_count


@kernel
def emit_multiplier_change(buffer: RoundBuffer, from_multiplier: int, to_multiplier: int, cause: int) -> None:
    """Write a `multiplier_change`."""
    place = begin(buffer, MULTIPLIER_CHANGE, 3)
    if place >= 0:
        buffer.events[place] = from_multiplier
        buffer.events[place + 1] = to_multiplier
        buffer.events[place + 2] = cause


@kernel
def emit_prize(buffer: RoundBuffer, which: int, pay_x100: int, multiplier: int, prize_minor: int) -> None:
    """Write a `prize`."""
    place = begin(buffer, PRIZE, 4)
    if place >= 0:
        buffer.events[place] = which
        buffer.events[place + 1] = pay_x100
        buffer.events[place + 2] = multiplier
        buffer.events[place + 3] = prize_minor


@kernel
def emit_feature_trigger(buffer: RoundBuffer, feature: int, count: int, spins_awarded: int, spins_left: int) -> None:
    """Write a `feature_trigger`."""
    place = begin(buffer, FEATURE_TRIGGER, 4)
    if place >= 0:
        buffer.events[place] = feature
        buffer.events[place + 1] = count
        buffer.events[place + 2] = spins_awarded
        buffer.events[place + 3] = spins_left


@kernel
def emit_cap_hit(buffer: RoundBuffer, total_before_minor: int, uncapped_minor: int, awarded_minor: int) -> None:
    """Write a `cap_hit`."""
    place = begin(buffer, CAP_HIT, 3)
    if place >= 0:
        buffer.events[place] = total_before_minor
        buffer.events[place + 1] = uncapped_minor
        buffer.events[place + 2] = awarded_minor


@kernel
def emit_spin_ended(buffer: RoundBuffer, spin_multiplier: int, cut_minor: int, award_minor: int, total_minor: int) -> None:
    """Write a `spin_ended` with the meter in the head."""
    place = begin(buffer, SPIN_ENDED, 5)
    if place >= 0:
        buffer.events[place] = spin_multiplier
        buffer.events[place + 1] = cut_minor
        buffer.events[place + 2] = award_minor
        buffer.events[place + 3] = total_minor
        buffer.events[place + 4] = buffer.head[HEAD_METER]


@kernel
def emit_feature_ended(buffer: RoundBuffer, feature: int, spins_played: int, total_minor: int) -> None:
    """Write a `feature_ended`."""
    place = begin(buffer, FEATURE_ENDED, 3)
    if place >= 0:
        buffer.events[place] = feature
        buffer.events[place + 1] = spins_played
        buffer.events[place + 2] = total_minor


@kernel
def emit_power(buffer: RoundBuffer, princess: int, size: int) -> None:
    """Write a `power` of the cells that `buffer.removed` says TURNS of."""
    removed, events = buffer.removed, buffer.events
    turned_count = 0
    for cell in range(len(removed)):
        if removed[cell] == TURNS:
            turned_count += 1
    place = begin(buffer, POWER, 3 + turned_count)
    if place < 0:
        return
    events[place] = princess
    events[place + 1] = size
    events[place + 2] = turned_count
    place += 3
    for cell in range(len(removed)):
        if removed[cell] == TURNS:
            events[place] = cell
            place += 1


@kernel
def emit_choice_offered(buffer: RoundBuffer, choice_count: int) -> None:
    """Write a `choice_offered` of the choices 0 to `choice_count` - 1."""
    place = begin(buffer, CHOICE_OFFERED, 1 + choice_count)
    if place < 0:
        return
    buffer.events[place] = choice_count
    for choice in range(choice_count):
        buffer.events[place + 1 + choice] = choice
