"""Moonlight Princess, rules 1.x: 6x5, pays anywhere, tumbles, multiplier hearts, free spins with a growing total.

The draws are listed in order in this folder's README (draw map). Rules as in the rules file; names such as MLP-8 are
those of its assumptions.
"""

from typing import NamedTuple

from engines.event_buffer import (
    CAPPED,
    CAUSE_HEARTS,
    CAUSE_TOTAL_HEARTS,
    FREE_SPINS,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_SHORT,
    HEAD_SPINS,
    HEAD_STRIP_SET,
    HEAD_TOTAL,
    HEAD_TRIGGERS,
    LIMITED,
    NOT_ENDED,
    PART_BASE,
    PART_FREE,
    PLAYED,
    SCATTER_PAY,
    STATUS_BUFFER_FULL,
    STATUS_DONE,
    STATUS_LIMIT,
    RoundBuffer,
    clear_head,
    emit_drop,
    emit_feature_ended,
    emit_feature_trigger,
    emit_multiplier_change,
    emit_prize,
    emit_spin_ended,
    emit_spin_started,
    emit_tumble,
)
from engines.games.moonlight_princess.rules import BOUGHT_MODE, Rules
from engines.jit import kernel
from engines.kernels.reels import land_reel, refill_reels, room_on_strips
from engines.kernels.scatter_pays import count_symbols, mark_winners
from engines.kernels.win_cap import cut_to_cap
from engines.rng import below, choose, start_stream, weighted

__all__ = ["DRAW_PURPOSES", "READINGS", "STATE_FIELDS", "Tables", "build_tables", "play_round", "rest_spin"]

STATE_FIELDS: tuple[str, ...] = ()  # the game carries nothing from round to round
READINGS = Rules.reading_names
READ_CAP, READ_SCATTER_PAY, READ_SCATTER_WINS, READ_FREE_SCATTER_PAY = 0, 1, 2, 3
CAP_OF_COST = 1
CAP_OF_SPIN = 2

DRAW_PURPOSES = ("strip set", "reel stop", "heart value", "scatter count", "scatter reel", "reel stop that fits")
DRAW_STRIP_SET, DRAW_STOP, DRAW_HEART, DRAW_SCATTER_COUNT, DRAW_SCATTER_REEL, DRAW_FITTING_STOP = 0, 1, 2, 3, 4, 5

PAY_SCALE = 100
FEATURE_LENGTH_MAX = 1 << 20  # spins of a round; the rules file's limit lies far below


class Tables(NamedTuple):
    """The rules file as integers; lists are in the order of the rules file."""

    reel_count: int
    cell_starts: list[int]  # the first cell of each reel, and the end
    symbol_count: int
    paying_count: int  # paying symbols come first
    scatter: int
    heart: int
    strips: list[int]  # all strips, end to end
    strip_starts: list[int]  # for each reel of each strip set
    strip_lengths: list[int]
    pay_counts: list[int]
    pays_x100: list[int]  # for each paying symbol, one for each of pay_counts
    scatter_pays_x100: list[int]  # for 0, 1, 2 … scatters
    heart_values: list[int]
    heart_weights: list[int]  # for each strip set, one for each value
    set_weights: list[int]  # for each mode, one for each strip set
    free_strip_set: int
    trigger_count: int
    trigger_spins: int
    retrigger_count: int
    retrigger_spins: int
    costs_x100: list[int]  # for each mode
    cap_multiple: int
    spins_max: int
    tumbles_max: int
    buy_mode: int
    buy_strip_set: int
    buy_scatter_counts: list[int]
    buy_weights: list[int]
    fitting_stops: list[int]  # for each reel of the bought strip set: stops that show no scatter, then those that do
    fitting_starts: list[int]  # two for each reel, and the end


def _fitting_stops(rules: Rules, scatter: int) -> tuple[list[int], list[int]]:
    stops: list[int] = []
    starts = [0]
    strip_set = rules.strip_set_index(rules.buy.strip_set)
    for reel in range(rules.layout.reels):
        strip = rules.strip(strip_set, reel)
        around = strip + strip[: rules.layout.rows - 1]
        shows = [scatter in around[stop : stop + rules.layout.rows] for stop in range(len(strip))]
        for wanted in (False, True):
            stops.extend(stop for stop in range(len(strip)) if shows[stop] == wanted)
            starts.append(len(stops))
    return stops, starts


def build_tables(rules: Rules) -> Tables:
    """Return the tables of a rules file that has passed its own checks."""
    strips = [rules.strip(s, reel) for s in range(len(rules.strip_sets)) for reel in range(rules.layout.reels)]
    scatter = next(i for i, symbol in enumerate(rules.symbols) if symbol.role == "scatter")
    weights_of = {choice.mode: choice.weights for choice in rules.strip_choices}
    stops, starts = _fitting_stops(rules, scatter)
    return Tables(
        reel_count=rules.layout.reels,
        cell_starts=[reel * rules.layout.rows for reel in range(rules.layout.reels + 1)],
        symbol_count=len(rules.symbols),
        paying_count=sum(symbol.role == "paying" for symbol in rules.symbols),
        scatter=scatter,
        heart=next(i for i, symbol in enumerate(rules.symbols) if symbol.role == "heart"),
        strips=[symbol for strip in strips for symbol in strip],
        strip_starts=[sum(len(strip) for strip in strips[:i]) for i in range(len(strips))],
        strip_lengths=[len(strip) for strip in strips],
        pay_counts=list(rules.pay_counts.counts),
        pays_x100=[pay for symbol in rules.symbols if symbol.role == "paying" for pay in symbol.pays_x100],
        scatter_pays_x100=list(rules.symbols[scatter].pays_x100),
        heart_values=list(rules.heart_values.values),
        heart_weights=[weight for table in rules.heart_weights for weight in table.weights],
        set_weights=[w for mode in rules.modes for w in weights_of.get(mode.name, (0,) * len(rules.strip_sets))],
        free_strip_set=rules.strip_set_index(rules.free_spins_strip_set),
        trigger_count=rules.trigger.count,
        trigger_spins=rules.trigger.spins,
        retrigger_count=rules.retrigger.count,
        retrigger_spins=rules.retrigger.spins,
        costs_x100=[mode.cost_x100 for mode in rules.modes],
        cap_multiple=rules.cap.multiple,
        spins_max=rules.limits.free_spins,
        tumbles_max=rules.limits.tumbles,
        buy_mode=rules.mode_index(BOUGHT_MODE),
        buy_strip_set=rules.strip_set_index(rules.buy.strip_set),
        buy_scatter_counts=list(rules.buy.scatter_counts),
        buy_weights=list(rules.buy.weights),
        fitting_stops=stops,
        fitting_starts=starts,
    )


@kernel
def draw_hearts(buffer: RoundBuffer, tables: Tables, strip_set: int) -> None:
    """Draw the value of each heart that has none yet, in the order of cells (MLP-5, ALL-9)."""
    value_count = len(tables.heart_values)
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] == tables.heart and buffer.values[cell] == 0:
            drawn = weighted(buffer.stream, tables.heart_weights, strip_set * value_count, value_count, DRAW_HEART)
            buffer.values[cell] = tables.heart_values[drawn]


@kernel
def land_board(buffer: RoundBuffer, tables: Tables, strip_set: int) -> None:
    """Draw the stop of each reel from the left and show the board."""
    for reel in range(tables.reel_count):
        length = tables.strip_lengths[strip_set * tables.reel_count + reel]
        land_reel(buffer, tables, strip_set, reel, below(buffer.stream, length, DRAW_STOP))


@kernel
def land_bought_board(buffer: RoundBuffer, tables: Tables) -> None:
    """Draw a first board with 4, 5 or 6 scatters (MLP-7): their number, their reels, then a stop that fits for each reel."""
    drawn = weighted(buffer.stream, tables.buy_weights, 0, len(tables.buy_weights), DRAW_SCATTER_COUNT)
    scatter_count = tables.buy_scatter_counts[drawn]
    choose(buffer.stream, scatter_count, tables.reel_count, buffer.pool, DRAW_SCATTER_REEL)
    for reel in range(tables.reel_count):
        shows = 0
        for i in range(scatter_count):
            if buffer.pool[i] == reel:
                shows = 1
        start = tables.fitting_starts[2 * reel + shows]
        fitting_count = tables.fitting_starts[2 * reel + shows + 1] - start
        stop = tables.fitting_stops[start + below(buffer.stream, fitting_count, DRAW_FITTING_STOP)]
        land_reel(buffer, tables, tables.buy_strip_set, reel, stop)


@kernel
def play_tumbles(buffer: RoundBuffer, tables: Tables, strip_set: int, bet_minor: int) -> tuple[int, bool]:
    """Play a board that has landed until nothing wins; return the sum of its wins in minor units and whether a limit ended it."""
    for cell in range(len(buffer.symbols)):
        buffer.values[cell] = 0
    draw_hearts(buffer, tables, strip_set)
    emit_drop(buffer, 0, len(buffer.symbols), 0, tables.reel_count)
    won_minor = 0
    for tumble in range(tables.tumbles_max + 1):
        step_minor = mark_winners(buffer, tables, bet_minor)
        won_minor += step_minor
        if step_minor == 0:
            return won_minor, False
        if tumble == tables.tumbles_max or not room_on_strips(buffer, tables, strip_set):
            return won_minor, True
        refill_reels(buffer, tables, strip_set)
        draw_hearts(buffer, tables, strip_set)
        emit_tumble(buffer, tables.cell_starts, 0)
        emit_drop(buffer, tumble + 1, len(buffer.symbols), 0, 0)
    return won_minor, True


@kernel
def multiply_by_hearts(
    buffer: RoundBuffer, readings: list[int], free: bool, won_minor: int, scatter_pay_x100: int, total_multiplier: int
) -> tuple[int, int]:
    """Apply the hearts of a board at rest; return the factor (1 where none applies) and the total multiplier from here on.

    In the base game the factor is the sum of the hearts, in free spins the total that they raise; both only on a
    winning spin. What the scatter pay alone makes of a spin is a matter of MLP-1 and MLP-2.
    """
    hearts = 0
    for cell in range(len(buffer.values)):
        hearts += buffer.values[cell]
    scatter_reading = readings[READ_SCATTER_WINS] if free else readings[READ_SCATTER_PAY]
    wins = won_minor > 0 or (scatter_reading == 1 and scatter_pay_x100 > 0)
    if hearts == 0 or not wins:
        return 1, total_multiplier
    if free:
        emit_multiplier_change(buffer, total_multiplier, total_multiplier + hearts, CAUSE_TOTAL_HEARTS)
        return total_multiplier + hearts, total_multiplier + hearts
    emit_multiplier_change(buffer, 1, hearts, CAUSE_HEARTS)
    return hearts, total_multiplier


@kernel
def award_spin(
    buffer: RoundBuffer, before_minor: int, win_minor: int, scatter_pay_x100: int, prize_multiplier: int, bet_minor: int, cap_minor: int
) -> tuple[int, int, bool]:
    """Count a spin's win, then its scatter pay, towards the cap (MLP-8, ALL-1); return award, cut and whether the cap was hit."""
    left_minor = cut_to_cap(buffer, before_minor, win_minor, cap_minor)
    if left_minor >= 0:
        return left_minor, win_minor - left_minor, True
    if scatter_pay_x100 == 0:
        return win_minor, 0, False
    prize_minor = scatter_pay_x100 * prize_multiplier * bet_minor // PAY_SCALE
    emit_prize(buffer, SCATTER_PAY, scatter_pay_x100, prize_multiplier, prize_minor)
    left_minor = cut_to_cap(buffer, before_minor + win_minor, prize_minor, cap_minor)
    if left_minor >= 0:
        return win_minor + left_minor, prize_minor - left_minor, True
    return win_minor + prize_minor, 0, False


@kernel
def rest_spin(
    buffer: RoundBuffer,
    tables: Tables,
    readings: list[int],
    spin_index: int,
    won_minor: int,
    limited: bool,
    total_multiplier: int,
    spins_left: int,
    bet_minor: int,
    cap_minor: int,
) -> tuple[int, int]:
    """Settle a spin at rest: hearts, win, scatter pay, trigger; return the total multiplier and the spins left."""
    head = buffer.head
    free = spin_index > 0
    count_symbols(buffer, tables.symbol_count)
    scatter_count = buffer.counts[tables.scatter]
    scatter_pay_x100 = tables.scatter_pays_x100[min(scatter_count, len(tables.scatter_pays_x100) - 1)]
    if free and readings[READ_FREE_SCATTER_PAY] == 1:
        scatter_pay_x100 = 0
    factor, total_multiplier = multiply_by_hearts(buffer, readings, free, won_minor, scatter_pay_x100, total_multiplier)
    spin_multiplier = factor if won_minor > 0 else 1
    prize_multiplier = factor if readings[READ_SCATTER_PAY] == 1 else 1
    before_minor = 0 if readings[READ_CAP] == CAP_OF_SPIN else head[HEAD_TOTAL]
    award_minor, cut_minor, capped = award_spin(
        buffer, before_minor, won_minor * spin_multiplier, scatter_pay_x100, prize_multiplier, bet_minor, cap_minor
    )
    if not capped and not limited:
        wanted = tables.retrigger_count if free else tables.trigger_count
        awarded = tables.retrigger_spins if free else tables.trigger_spins
        if scatter_count >= wanted:
            spins_left += awarded
            emit_feature_trigger(buffer, FREE_SPINS, scatter_count, awarded, spins_left)
            if not free:
                head[HEAD_TRIGGERS] += 1
    head[HEAD_TOTAL] += award_minor
    if not free:
        head[HEAD_BASE] = award_minor
    emit_spin_ended(buffer, spin_multiplier, cut_minor, award_minor, head[HEAD_TOTAL])
    if capped and readings[READ_CAP] != CAP_OF_SPIN:
        head[HEAD_ENDED] = CAPPED
    elif limited:
        head[HEAD_ENDED] = LIMITED
    elif spins_left == 0:
        head[HEAD_ENDED] = PLAYED
    elif spin_index == tables.spins_max:
        head[HEAD_ENDED] = LIMITED
    return total_multiplier, spins_left


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
    READINGS. state_in and choices are empty. Returns STATUS_DONE, STATUS_LIMIT (done, ended by a technical limit) or
    STATUS_BUFFER_FULL (nothing of the buffer is to be used).
    """
    head = buffer.head
    start_stream(buffer.stream, key, nonce)
    clear_head(head)
    cap_minor = tables.cap_multiple * bet_minor
    if readings[READ_CAP] == CAP_OF_COST:
        cap_minor = cap_minor * tables.costs_x100[mode] // PAY_SCALE
    set_count = len(tables.set_weights) // len(tables.costs_x100)
    total_multiplier = 0
    spins_left = 0
    for spin_index in range(FEATURE_LENGTH_MAX):
        if spin_index > 0:
            spins_left -= 1
            strip_set = tables.free_strip_set
        elif mode == tables.buy_mode:
            strip_set = tables.buy_strip_set
        else:
            strip_set = weighted(buffer.stream, tables.set_weights, mode * set_count, set_count, DRAW_STRIP_SET)
        part = PART_FREE if spin_index > 0 else PART_BASE
        emit_spin_started(buffer, spin_index, part, strip_set, spins_left, 1, total_multiplier)
        if spin_index == 0 and mode == tables.buy_mode:
            land_bought_board(buffer, tables)
        else:
            land_board(buffer, tables, strip_set)
        won_minor, limited = play_tumbles(buffer, tables, strip_set, bet_minor)
        total_multiplier, spins_left = rest_spin(
            buffer, tables, readings, spin_index, won_minor, limited, total_multiplier, spins_left, bet_minor, cap_minor
        )
        head[HEAD_SPINS] = spin_index
        if spin_index == 0:
            head[HEAD_STRIP_SET] = strip_set
        if head[HEAD_ENDED] != NOT_ENDED:
            break
    if head[HEAD_SPINS] > 0:
        emit_feature_ended(buffer, FREE_SPINS, head[HEAD_SPINS], head[HEAD_TOTAL] - head[HEAD_BASE])
    if head[HEAD_SHORT] == 1:
        return STATUS_BUFFER_FULL
    return STATUS_LIMIT if head[HEAD_ENDED] == LIMITED else STATUS_DONE
