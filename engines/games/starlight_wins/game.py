"""Starlight Wins, rules 1.x: reels of 4-5-5-5-4, ways, tumbles, gold that turns wild, a ladder of multipliers, free spins.

The draws are listed in order in this folder's README (draw map). Rules as in the rules file; names such as SLW-3 are
those of its assumptions.
"""

from typing import NamedTuple

from engines.event_buffer import (
    CAPPED,
    CAUSE_TUMBLE,
    FREE_SPINS,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_SHORT,
    HEAD_SPINS,
    HEAD_STRIP_SET,
    HEAD_TOTAL,
    HEAD_TRIGGERS,
    LEAVES,
    LIMITED,
    NOT_ENDED,
    PART_BASE,
    PART_FREE,
    PLAYED,
    STATUS_BUFFER_FULL,
    STATUS_DONE,
    STATUS_LIMIT,
    TURNS,
    RoundBuffer,
    clear_head,
    emit_drop,
    emit_feature_ended,
    emit_feature_trigger,
    emit_multiplier_change,
    emit_spin_ended,
    emit_spin_started,
    emit_tumble,
)
from engines.games.starlight_wins.rules import Rules
from engines.jit import kernel
from engines.kernels.reels import land_reel, refill_reels, room_on_strips
from engines.kernels.ways import pay_ways
from engines.rng import below, start_stream, weighted

__all__ = ["DRAW_PURPOSES", "READINGS", "STATE_FIELDS", "Tables", "build_tables", "count_scatters", "play_round", "play_spin"]

STATE_FIELDS: tuple[str, ...] = ()  # the game carries nothing from round to round
READINGS = Rules.reading_names
READ_CAP, READ_LOOSE_WILDS = 0, 2  # SLW-1, the displayed bet, is in the pays of the tables
CAP_OF_COST = 1
CAP_OF_SPIN = 2
LOOSE_WILDS_LEAVE = 1

DRAW_PURPOSES = ("reel stop", "gold or not")
DRAW_STOP, DRAW_GOLD = 0, 1
IS_GOLD = 0  # the first entry of a gold table

PAY_SCALE = 100
FEATURE_LENGTH_MAX = 1 << 20  # spins of a round; the rules file's limit lies far below


class Tables(NamedTuple):
    """The rules file as integers; lists are in the order of the rules file."""

    reel_count: int
    cell_starts: list[int]  # the first cell of each reel, and the end
    paying_count: int  # paying symbols come first
    scatter: int
    wild: int
    strips: list[int]  # all strips, end to end
    strip_starts: list[int]  # for each reel of each strip set
    strip_lengths: list[int]
    pay_counts: list[int]
    pays_x100: list[int]  # for each paying symbol, one for each of pay_counts; by the displayed bet as decided (SLW-1)
    gold_weights: list[int]  # for each reel of each strip set two: gold, and not
    all_gold: list[int]  # for each reel of each strip set 1 where every paying symbol is gold
    ladder: list[int]  # multipliers of the win steps in the base game, then in free spins
    ladder_starts: list[int]  # of each part, and the end
    base_strip_set: int
    free_strip_set: int
    trigger: list[int]  # scatters, spins, spins for each scatter more: in the base game, then in free spins
    costs_x100: list[int]  # for each mode
    cap_multiple: int
    spins_max: int
    tumbles_max: int


def build_tables(rules: Rules) -> Tables:
    """Return the tables of a rules file that has passed its own checks."""
    rows = rules.reel_rows
    reels = range(len(rows))
    strips = [rules.strip(s, reel) for s in range(len(rules.strip_sets)) for reel in reels]
    role_of = [symbol.role for symbol in rules.symbols]
    base, free = rules.ladder("base"), rules.ladder("free")
    awards = (rules.trigger, rules.retrigger)
    return Tables(
        reel_count=len(rows),
        cell_starts=[sum(rows[:reel]) for reel in range(len(rows) + 1)],
        paying_count=role_of.count("paying"),
        scatter=role_of.index("scatter"),
        wild=role_of.index("wild"),
        strips=[symbol for strip in strips for symbol in strip],
        strip_starts=[sum(len(strip) for strip in strips[:i]) for i in range(len(strips))],
        strip_lengths=[len(strip) for strip in strips],
        pay_counts=list(rules.pay_counts.counts),
        pays_x100=[pay for symbol, role in enumerate(role_of) if role == "paying" for pay in rules.pays_x100_of(symbol)],
        gold_weights=[part for gold in rules.gold for weight in gold.weights for part in (weight, gold.total - weight)],
        all_gold=[int(reel in gold.all_gold) for gold in rules.gold for reel in reels],
        ladder=[*base, *free],
        ladder_starts=[0, len(base), len(base) + len(free)],
        base_strip_set=rules.strip_set_index(rules.base_strip_set),
        free_strip_set=rules.strip_set_index(rules.free_spins_strip_set),
        trigger=[value for award in awards for value in (award.count, award.spins, award.spins_each_more)],
        costs_x100=[mode.cost_x100 for mode in rules.modes],
        cap_multiple=rules.cap.multiple,
        spins_max=rules.limits.free_spins,
        tumbles_max=rules.limits.tumbles,
    )


@kernel
def draw_gold(buffer: RoundBuffer, tables: Tables, strip_set: int) -> None:
    """Mark which of the new cells are gold, in the order of cells (SLW-3, ALL-9).

    New are as many cells from the top of a reel as left it, by `buffer.removed`.
    """
    for reel in range(tables.reel_count):
        place = strip_set * tables.reel_count + reel
        if tables.gold_weights[2 * place] > 0 or tables.all_gold[place] == 1:
            new = tables.cell_starts[reel]
            for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
                if buffer.removed[cell] == LEAVES:
                    if buffer.symbols[new] < tables.paying_count:
                        drawn = IS_GOLD
                        if tables.all_gold[place] == 0:
                            drawn = weighted(buffer.stream, tables.gold_weights, 2 * place, 2, DRAW_GOLD)
                        buffer.marks[new] = 1 if drawn == IS_GOLD else 0
                    new += 1


@kernel
def land_board(buffer: RoundBuffer, tables: Tables, strip_set: int) -> None:
    """Draw the stop of each reel from the left, show the board and mark its gold."""
    for reel in range(tables.reel_count):
        length = tables.strip_lengths[strip_set * tables.reel_count + reel]
        land_reel(buffer, tables, strip_set, reel, below(buffer.stream, length, DRAW_STOP))
    for cell in range(len(buffer.symbols)):
        buffer.marks[cell] = 0
        buffer.removed[cell] = LEAVES  # every cell is new
    draw_gold(buffer, tables, strip_set)


@kernel
def remove_loose_wilds(buffer: RoundBuffer, wild: int) -> None:
    """Let every wild on the board leave with the tumble, won with or not (reading SLW-2 = 1)."""
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] == wild:
            buffer.removed[cell] = LEAVES


@kernel
def turn_gold(buffer: RoundBuffer, wild: int) -> None:
    """Make wilds of the gold symbols that won, in their places, before anything falls (SLW-3)."""
    for cell in range(len(buffer.symbols)):
        if buffer.removed[cell] == TURNS:
            buffer.symbols[cell] = wild
            buffer.marks[cell] = 0


@kernel
def play_tumbles(
    buffer: RoundBuffer, tables: Tables, readings: list[int], part: int, strip_set: int, bet_minor: int, before_minor: int, cap_minor: int
) -> tuple[int, int, bool]:
    """Play a board that has landed until nothing wins, the cap is reached or a limit ends it.

    before_minor: what counts towards the cap before this spin. Returns the sum of the spin's wins in minor units, what the
    cap cuts from it (-1 where it is not reached), and whether a limit ended it.
    """
    emit_drop(buffer, 0, 0, len(buffer.marks), tables.reel_count)
    step, last_step = tables.ladder_starts[part], tables.ladder_starts[part + 1] - 1
    won_minor = 0
    for tumble in range(tables.tumbles_max + 1):
        multiplier = tables.ladder[step]
        step_minor, cut_minor = pay_ways(buffer, tables, multiplier, bet_minor, before_minor + won_minor, cap_minor)
        won_minor += step_minor
        if step_minor == 0 or cut_minor >= 0:
            return won_minor, cut_minor, False
        if readings[READ_LOOSE_WILDS] == LOOSE_WILDS_LEAVE:
            remove_loose_wilds(buffer, tables.wild)
        if tumble == tables.tumbles_max or not room_on_strips(buffer, tables, strip_set):
            return won_minor, -1, True
        step = min(step + 1, last_step)
        if tables.ladder[step] != multiplier:
            emit_multiplier_change(buffer, multiplier, tables.ladder[step], CAUSE_TUMBLE)
        turn_gold(buffer, tables.wild)
        refill_reels(buffer, tables, strip_set)
        draw_gold(buffer, tables, strip_set)
        emit_tumble(buffer, tables.cell_starts, tables.wild)
        emit_drop(buffer, tumble + 1, 0, len(buffer.marks), 0)
    return won_minor, -1, True


@kernel
def count_scatters(buffer: RoundBuffer, scatter: int) -> int:
    """Return how many scatters lie on the board."""
    count = 0
    for cell in range(len(buffer.symbols)):
        if buffer.symbols[cell] == scatter:
            count += 1
    return count


@kernel
def award_free_spins(buffer: RoundBuffer, tables: Tables, part: int, spins_left: int) -> int:
    """Award free spins for the scatters on a board at rest (SLW-4); return the spins left after it."""
    count = count_scatters(buffer, tables.scatter)
    wanted = tables.trigger[3 * part]
    if count < wanted:
        return spins_left
    awarded = tables.trigger[3 * part + 1] + tables.trigger[3 * part + 2] * (count - wanted)
    emit_feature_trigger(buffer, FREE_SPINS, count, awarded, spins_left + awarded)
    if part == PART_BASE:
        buffer.head[HEAD_TRIGGERS] += 1
    return spins_left + awarded


@kernel
def play_spin(
    buffer: RoundBuffer, tables: Tables, readings: list[int], spin_index: int, spins_left: int, bet_minor: int, cap_minor: int
) -> int:
    """Play one spin to rest and settle it: wins as they are paid, the cap, the trigger (SLW-4); return the spins left.

    Spin 0 is the paid one, the rest are free; spins_left: after this one. The head says whether the round is at its end.
    """
    head = buffer.head
    part = PART_FREE if spin_index > 0 else PART_BASE
    strip_set = tables.free_strip_set if spin_index > 0 else tables.base_strip_set
    emit_spin_started(buffer, spin_index, part, strip_set, spins_left, tables.ladder[tables.ladder_starts[part]], 0)
    land_board(buffer, tables, strip_set)
    before_minor = 0 if readings[READ_CAP] == CAP_OF_SPIN else head[HEAD_TOTAL]
    won_minor, cut_minor, limited = play_tumbles(buffer, tables, readings, part, strip_set, bet_minor, before_minor, cap_minor)
    capped = cut_minor >= 0
    if not capped and not limited:
        spins_left = award_free_spins(buffer, tables, part, spins_left)
    award_minor = won_minor - max(cut_minor, 0)
    head[HEAD_TOTAL] += award_minor
    head[HEAD_SPINS] = spin_index
    if spin_index == 0:
        head[HEAD_BASE] = award_minor
        head[HEAD_STRIP_SET] = strip_set
    emit_spin_ended(buffer, 1, max(cut_minor, 0), award_minor, head[HEAD_TOTAL])
    if capped and readings[READ_CAP] != CAP_OF_SPIN:
        head[HEAD_ENDED] = CAPPED
    elif limited:
        head[HEAD_ENDED] = LIMITED
    elif spins_left == 0:
        head[HEAD_ENDED] = PLAYED
    elif spin_index == tables.spins_max:
        head[HEAD_ENDED] = LIMITED
    return spins_left


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
    spins_left = play_spin(buffer, tables, readings, 0, 0, bet_minor, cap_minor)
    for spin_index in range(1, FEATURE_LENGTH_MAX):
        if head[HEAD_ENDED] != NOT_ENDED:
            break
        spins_left = play_spin(buffer, tables, readings, spin_index, spins_left - 1, bet_minor, cap_minor)
    if head[HEAD_SPINS] > 0:
        emit_feature_ended(buffer, FREE_SPINS, head[HEAD_SPINS], head[HEAD_TOTAL] - head[HEAD_BASE])
    if head[HEAD_SHORT] == 1:
        return STATUS_BUFFER_FULL
    return STATUS_LIMIT if head[HEAD_ENDED] == LIMITED else STATUS_DONE
