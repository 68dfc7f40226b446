"""Moon Spell, rules 1.x: 5x3, 20 lines, wilds, Moons with cash values, hold and respin with a prize ladder.

The draws are listed in order in this folder's README (draw map). Rules as in the rules file; names such as MSP-3 are
those of its assumptions.
"""

from typing import NamedTuple

from engines.event_buffer import (
    CAPPED,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_SHORT,
    HEAD_SPINS,
    HEAD_STRIP_SET,
    HEAD_TOTAL,
    HEAD_TRIGGERS,
    HOLD_AND_RESPIN,
    LADDER,
    MOON_CASH,
    NOT_ENDED,
    PART_BASE,
    PART_RESPIN,
    PLAYED,
    STATUS_BUFFER_FULL,
    STATUS_DONE,
    RoundBuffer,
    clear_head,
    emit_drop,
    emit_feature_ended,
    emit_feature_trigger,
    emit_prize,
    emit_spin_ended,
    emit_spin_started,
    emit_win,
)
from engines.games.moon_spell.rules import Rules
from engines.jit import kernel
from engines.kernels.lines import line_run
from engines.kernels.reels import land_reel
from engines.kernels.win_cap import cut_to_cap
from engines.rng import below, start_stream, weighted

__all__ = ["DRAW_PURPOSES", "READINGS", "STATE_FIELDS", "Tables", "build_tables", "play_round", "rest_base", "rest_bonus"]

STATE_FIELDS: tuple[str, ...] = ()  # the game carries nothing from round to round
READINGS = Rules.reading_names
READ_CAP, READ_IS_CAPPED, READ_LADDER = 0, 1, 2
CAP_OF_COST = 1
CAP_OF_SPIN = 2
CAP_NONE = 1 << 60  # MSP-2 = 1: no total reaches it
LADDER_ALL_RUNGS = 1
LADDER_OF_RESPINS = 2

DRAW_PURPOSES = ("reel stop", "Moon value", "Moon or blank")
DRAW_STOP, DRAW_VALUE, DRAW_MOON = 0, 1, 2

PAY_SCALE = 100
NO_STRIPS = -1  # strip set of a respin


class Tables(NamedTuple):
    """The rules file as integers; lists are in the order of the rules file."""

    reel_count: int
    cell_starts: list[int]  # the first cell of each reel, and the end
    paying_count: int  # paying symbols come first
    wild: int
    moon: int
    blank: int
    strips: list[int]  # all strips, end to end
    strip_starts: list[int]
    strip_lengths: list[int]
    base_strip_set: int
    line_count: int
    line_cells: list[int]  # for each line, the cell it passes on each reel
    pay_counts: list[int]
    pays_x100: list[int]  # for each paying symbol, one for each of pay_counts
    moon_values: list[int]  # in hundredths of the bet
    moon_weights: list[int]
    cash_count: int
    trigger_count: int
    respins: int
    respin_weights: list[int]  # Moon, blank
    ladder_counts: list[int]
    ladder_prizes: list[int]  # in hundredths of the bet
    costs_x100: list[int]
    cap_multiple: int


def build_tables(rules: Rules) -> Tables:
    """Return the tables of a rules file that has passed its own checks."""
    roles = [symbol.role for symbol in rules.symbols]
    reels, rows = rules.layout.reels, rules.layout.rows
    strips = [rules.strip(s, reel) for s in range(len(rules.strip_sets)) for reel in range(reels)]
    return Tables(
        reel_count=reels,
        cell_starts=[reel * rows for reel in range(reels + 1)],
        paying_count=roles.count("paying"),
        wild=roles.index("wild"),
        moon=roles.index("moon"),
        blank=roles.index("blank"),
        strips=[symbol for strip in strips for symbol in strip],
        strip_starts=[sum(len(strip) for strip in strips[:i]) for i in range(len(strips))],
        strip_lengths=[len(strip) for strip in strips],
        base_strip_set=rules.strip_set_index(rules.base_strip_set),
        line_count=len(rules.lines.rows),
        line_cells=[reel * rows + row for line in rules.lines.rows for reel, row in enumerate(line)],
        pay_counts=list(rules.pay_counts.counts),
        pays_x100=[pay for symbol in rules.symbols if symbol.role == "paying" for pay in symbol.pays_x100],
        moon_values=list(rules.moon_values.values_x100),
        moon_weights=list(rules.moon_weights.weights),
        cash_count=rules.moon_counts.cash,
        trigger_count=rules.moon_counts.trigger,
        respins=rules.respins.spins,
        respin_weights=[rules.respin_weights.moon, rules.respin_weights.blank],
        ladder_counts=list(rules.ladder.counts),
        ladder_prizes=list(rules.ladder.prizes_x100),
        costs_x100=[mode.cost_x100 for mode in rules.modes],
        cap_multiple=rules.cap.multiple,
    )


@kernel
def land_board(buffer: RoundBuffer, tables: Tables) -> int:
    """Draw the stop of each reel from the left, then the value of each Moon; return how many Moons there are."""
    for reel in range(tables.reel_count):
        length = tables.strip_lengths[tables.base_strip_set * tables.reel_count + reel]
        land_reel(buffer, tables, tables.base_strip_set, reel, below(buffer.stream, length, DRAW_STOP))
    moon_count = 0
    for cell in range(len(buffer.symbols)):
        buffer.values[cell] = 0
        if buffer.symbols[cell] == tables.moon:
            draw_value(buffer, tables, cell)
            moon_count += 1
    return moon_count


@kernel
def draw_value(buffer: RoundBuffer, tables: Tables, cell: int) -> None:
    """Draw the cash of the Moon on `cell`."""
    drawn = weighted(buffer.stream, tables.moon_weights, 0, len(tables.moon_weights), DRAW_VALUE)
    buffer.values[cell] = tables.moon_values[drawn]


@kernel
def land_respin(buffer: RoundBuffer, tables: Tables) -> int:
    """Hold the Moons and draw Moon or blank for every other cell in order, a Moon's value at once; return the new Moons (MSP-5)."""
    new_count = 0
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] == tables.moon:
            continue
        if weighted(buffer.stream, tables.respin_weights, 0, 2, DRAW_MOON) == 0:
            buffer.symbols[cell] = tables.moon
            draw_value(buffer, tables, cell)
            new_count += 1
        else:
            buffer.symbols[cell] = tables.blank
    return new_count


@kernel
def add_win(buffer: RoundBuffer, before_minor: int, spin_minor: int, amount_minor: int, cap_minor: int) -> tuple[int, int]:
    """Add a win or prize to what the spin has won; return that sum and what the cap cut of it, -1 where it did not bite."""
    left_minor = cut_to_cap(buffer, before_minor + spin_minor, amount_minor, cap_minor)
    if left_minor >= 0:
        return spin_minor + left_minor, amount_minor - left_minor
    return spin_minor + amount_minor, -1


@kernel
def pay_lines(buffer: RoundBuffer, tables: Tables, bet_minor: int, before_minor: int, cap_minor: int) -> tuple[int, int]:
    """Write a `win` for each line that wins, by number; return what the spin won and what the cap cut, -1 where it did not bite."""
    spin_minor = 0
    steps = len(tables.pay_counts)
    for line in range(tables.line_count):
        count = line_run(buffer, tables, line)
        if count < tables.pay_counts[0]:
            continue
        symbol = buffer.symbols[buffer.pool[0]]
        pay_x100 = 0
        for step in range(steps):
            if count >= tables.pay_counts[step]:
                pay_x100 = tables.pays_x100[symbol * steps + step]
        win_minor = pay_x100 * bet_minor // PAY_SCALE
        emit_win(buffer, symbol, line, count, count, buffer.pool, 1, pay_x100, 1, win_minor)
        spin_minor, cut_minor = add_win(buffer, before_minor, spin_minor, win_minor, cap_minor)
        if cut_minor >= 0:
            return spin_minor, cut_minor
    return spin_minor, -1


@kernel
def pay_prize(
    buffer: RoundBuffer, which: int, pay_x100: int, bet_minor: int, before_minor: int, spin_minor: int, cap_minor: int
) -> tuple[int, int]:
    """Write a `prize`; return what the spin has won with it and what the cap cut, -1 where it did not bite."""
    prize_minor = pay_x100 * bet_minor // PAY_SCALE
    emit_prize(buffer, which, pay_x100, 1, prize_minor)
    return add_win(buffer, before_minor, spin_minor, prize_minor, cap_minor)


@kernel
def moon_cash(buffer: RoundBuffer) -> int:
    """Return the sum of the Moons' values in hundredths of the bet."""
    cash_x100 = 0
    for cell in range(len(buffer.values)):
        cash_x100 += buffer.values[cell]
    return cash_x100


@kernel
def rest_bonus(
    buffer: RoundBuffer,
    tables: Tables,
    readings: list[int],
    ladder_count: int,
    bet_minor: int,
    before_minor: int,
    spin_minor: int,
    cap_minor: int,
) -> tuple[int, int]:
    """Pay the bonus at its end: the Moons' cash, then the ladder (MSP-3, MSP-4); return what the spin won and what the cap cut."""
    spin_minor, cut_minor = pay_prize(buffer, MOON_CASH, moon_cash(buffer), bet_minor, before_minor, spin_minor, cap_minor)
    for rung in range(len(tables.ladder_counts)):
        if cut_minor >= 0:
            break
        reached = tables.ladder_counts[rung] <= ladder_count
        last = rung + 1 == len(tables.ladder_counts) or tables.ladder_counts[rung + 1] > ladder_count
        if reached and (last or readings[READ_LADDER] == LADDER_ALL_RUNGS):
            prize_x100 = tables.ladder_prizes[rung]
            spin_minor, cut_minor = pay_prize(buffer, LADDER, prize_x100, bet_minor, before_minor, spin_minor, cap_minor)
    return spin_minor, cut_minor


@kernel
def end_spin(buffer: RoundBuffer, readings: list[int], spin_minor: int, cut_minor: int, left: int) -> None:
    """Write a spin's end, add its award to the round and say whether the round is over; `left` are the respins to come."""
    head = buffer.head
    head[HEAD_TOTAL] += spin_minor
    capped = cut_minor >= 0
    emit_spin_ended(buffer, 1, cut_minor if capped else 0, spin_minor, head[HEAD_TOTAL])
    if capped and readings[READ_CAP] != CAP_OF_SPIN:
        head[HEAD_ENDED] = CAPPED
    elif left == 0:
        head[HEAD_ENDED] = PLAYED


@kernel
def rest_base(
    buffer: RoundBuffer, tables: Tables, readings: list[int], moon_count: int, bet_minor: int, spin_minor: int, cap_minor: int
) -> tuple[int, int, int]:
    """Pay or hold the Moons of the first board (MSP-4); return what the spin won, what the cap cut, and the respins awarded."""
    if moon_count < tables.cash_count:
        return spin_minor, -1, 0
    if moon_count < tables.trigger_count:
        spin_minor, cut_minor = pay_prize(buffer, MOON_CASH, moon_cash(buffer), bet_minor, 0, spin_minor, cap_minor)
        return spin_minor, cut_minor, 0
    left = tables.respins if moon_count < len(buffer.symbols) else 0
    emit_feature_trigger(buffer, HOLD_AND_RESPIN, moon_count, left, left)
    buffer.head[HEAD_TRIGGERS] = 1
    if left > 0:
        return spin_minor, -1, left
    counted = 0 if readings[READ_LADDER] == LADDER_OF_RESPINS else moon_count
    spin_minor, cut_minor = rest_bonus(buffer, tables, readings, counted, bet_minor, 0, spin_minor, cap_minor)
    return spin_minor, cut_minor, 0


@kernel
def play_base_spin(buffer: RoundBuffer, tables: Tables, readings: list[int], bet_minor: int, cap_minor: int) -> tuple[int, int]:
    """Play spin 0; return its Moons and the respins it awards."""
    head = buffer.head
    emit_spin_started(buffer, 0, PART_BASE, tables.base_strip_set, 0, 1, 0)
    moon_count = land_board(buffer, tables)
    emit_drop(buffer, 0, len(buffer.symbols), 0, tables.reel_count)
    spin_minor, cut_minor = pay_lines(buffer, tables, bet_minor, 0, cap_minor)
    left = 0
    if cut_minor < 0:
        spin_minor, cut_minor, left = rest_base(buffer, tables, readings, moon_count, bet_minor, spin_minor, cap_minor)
    end_spin(buffer, readings, spin_minor, cut_minor, left)
    head[HEAD_BASE] = spin_minor
    head[HEAD_STRIP_SET] = tables.base_strip_set
    return moon_count, left


@kernel
def play_respins(
    buffer: RoundBuffer, tables: Tables, readings: list[int], moons_held: int, left: int, bet_minor: int, cap_minor: int
) -> None:
    """Play the hold and respin to its end."""
    head = buffer.head
    cell_count = len(buffer.symbols)
    moon_count = moons_held
    for spin_index in range(1, (cell_count + 1) * tables.respins + 1):
        left -= 1
        emit_spin_started(buffer, spin_index, PART_RESPIN, NO_STRIPS, left, 1, 0)
        new_count = land_respin(buffer, tables)
        moon_count += new_count
        emit_drop(buffer, 0, cell_count, 0, 0)
        if moon_count == cell_count:
            left = 0
        elif new_count > 0:
            emit_feature_trigger(buffer, HOLD_AND_RESPIN, moon_count, tables.respins - left, tables.respins)
            left = tables.respins
        spin_minor, cut_minor = 0, -1
        if left == 0:
            counted = moon_count - moons_held if readings[READ_LADDER] == LADDER_OF_RESPINS else moon_count
            before_minor = 0 if readings[READ_CAP] == CAP_OF_SPIN else head[HEAD_TOTAL]
            spin_minor, cut_minor = rest_bonus(buffer, tables, readings, counted, bet_minor, before_minor, 0, cap_minor)
        end_spin(buffer, readings, spin_minor, cut_minor, left)
        head[HEAD_SPINS] = spin_index
        if head[HEAD_ENDED] != NOT_ENDED:
            break


@kernel
def play_round(
    key: list[int],
    nonce: list[int],
    tables: Tables,
    mode: int,
    bet_minor: int,
    readings: list[int],
    state_in: list[int],
    choices: list[int],
    buffer: RoundBuffer,
) -> int:
    """Play one round to its end into `buffer`.

    key: 8 words; nonce: 3 words, zeros for a recorded round. mode: place in the rules file. readings: in the order of
    READINGS. state_in and choices are empty. Returns STATUS_DONE, or STATUS_BUFFER_FULL (nothing of the buffer is to be used).
    """
    head = buffer.head
    start_stream(buffer.stream, key, nonce)
    clear_head(head)
    cap_minor = tables.cap_multiple * bet_minor
    if readings[READ_CAP] == CAP_OF_COST:
        cap_minor = cap_minor * tables.costs_x100[mode] // PAY_SCALE
    if readings[READ_IS_CAPPED] == 1:
        cap_minor = CAP_NONE
    moon_count, left = play_base_spin(buffer, tables, readings, bet_minor, cap_minor)
    if head[HEAD_ENDED] == NOT_ENDED:
        play_respins(buffer, tables, readings, moon_count, left, bet_minor, cap_minor)
    if head[HEAD_TRIGGERS] > 0:
        emit_feature_ended(buffer, HOLD_AND_RESPIN, head[HEAD_SPINS], head[HEAD_TOTAL] - head[HEAD_BASE])
    return STATUS_BUFFER_FULL if head[HEAD_SHORT] == 1 else STATUS_DONE
