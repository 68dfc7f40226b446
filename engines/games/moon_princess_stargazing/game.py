"""Moon Princess Stargazing, rules 1.x: 5x5, runs in rows and reels, nothing falls in; powers, Resonance, free spins by choice.

The draws are listed in order in this folder's README (draw map). Rules as in the rules file; names such as MPS-3 are
those of its assumptions, and `docs/decisions/0006-stargazing-events.md` says what the events hold.
"""

from engines.event_buffer import (
    CAPPED,
    CAUSE_HIGHLIGHTS,
    CLEAR_GRID,
    CONSTELLATION,
    FREE_SPINS,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_FIGURES,
    HEAD_METER,
    HEAD_OWN,
    HEAD_SHORT,
    HEAD_SPINS,
    HEAD_STATE,
    HEAD_STRIP_SET,
    HEAD_TOTAL,
    HEAD_TRIGGERS,
    HIGHLIGHTED,
    LEAVES,
    LIMITED,
    NOT_ENDED,
    PART_BASE,
    PART_FREE,
    PART_RESONANCE,
    PLAYED,
    RESONANCE,
    STATUS_BUFFER_FULL,
    STATUS_DONE,
    STATUS_LIMIT,
    STATUS_WANTS_CHOICE,
    STAYS,
    TURNS,
    RoundBuffer,
    clear_head,
    emit_choice_offered,
    emit_drop,
    emit_feature_ended,
    emit_feature_trigger,
    emit_multiplier_change,
    emit_power,
    emit_prize,
    emit_spin_ended,
    emit_spin_started,
    emit_tumble,
    emit_win,
)
from engines.games.moon_princess_stargazing.rules import Rules
from engines.games.moon_princess_stargazing.tables import Tables, build_tables
from engines.jit import kernel
from engines.kernels.powers import count_paying, turn_anywhere, turn_diagonal
from engines.kernels.reels import land_reel
from engines.kernels.runs import POWER_WILD, fall, mark_runs, next_run, symbol_of_run
from engines.kernels.win_cap import cut_to_cap
from engines.rng import below, choose, start_stream, weighted

__all__ = [
    "DRAW_PURPOSES",
    "FIGURES",
    "READINGS",
    "STATE_FIELDS",
    "Tables",
    "add_spins",
    "build_tables",
    "play_round",
    "play_to_rest",
    "use_power",
]

STATE_FIELDS: tuple[str, ...] = ("princess",)  # the active princess, by her place in `powers`
READINGS = Rules.reading_names
READ_CAP, READ_MIXED, READ_RAISED_FIRST, READ_RISE, READ_SESSION, READ_RETRIGGER = 0, 1, 2, 3, 4, 5
CAP_OF_COST = 1
CAP_OF_SPIN = 2

DRAW_PURPOSES = ("reel stop", "highlighted count", "highlighted cell", "base power", "power size", "power cell", "diagonal")
DRAW_STOP, DRAW_HIGHLIGHTS, DRAW_HIGHLIGHTED, DRAW_ACTS, DRAW_SIZE, DRAW_CELL, DRAW_DIAGONAL = 0, 1, 2, 3, 4, 5, 6

# What simulations add up, from HEAD_FIGURES on, each with what its sum is shown per: rounds, the cost of the rounds, or another figure.
FIGURES: tuple[tuple[str, str], ...] = (
    ("base_powers", "rounds"),
    ("base_clears", "rounds"),
    ("base_constellations", "rounds"),
    ("resonances", "rounds"),
    ("resonance_win_minor", "cost"),
    ("resonance_constellations", "resonances"),
    ("free_features", "rounds"),
    ("free_win_minor", "cost"),
    ("free_spins", "free_features"),
    ("free_clears", "free_features"),
    ("free_constellations", "free_features"),
    ("multipliers_at_start", "free_features"),
    ("multipliers_at_end", "free_features"),
)
FIGURE_POWERS, FIGURE_CLEARS, FIGURE_CONSTELLATIONS = HEAD_FIGURES, HEAD_FIGURES + 1, HEAD_FIGURES + 2
FIGURE_RESONANCES, FIGURE_RESONANCE_WIN, FIGURE_RESONANCE_CONSTELLATIONS = HEAD_FIGURES + 3, HEAD_FIGURES + 4, HEAD_FIGURES + 5
FIGURE_FEATURES, FIGURE_FREE_WIN, FIGURE_FREE_SPINS, FIGURE_FREE_CLEARS = (
    HEAD_FIGURES + 6,
    HEAD_FIGURES + 7,
    HEAD_FIGURES + 8,
    HEAD_FIGURES + 9,
)
FIGURE_FREE_CONSTELLATIONS, FIGURE_START, FIGURE_END = HEAD_FIGURES + 10, HEAD_FIGURES + 11, HEAD_FIGURES + 12

# What the game keeps in the head while it plays a spin.
OWN_MULTIPLIER = HEAD_OWN
OWN_WON = HEAD_OWN + 1  # minor units won in the spin, before the cap cuts
OWN_CUT = HEAD_OWN + 2  # minor units that the cap cut
OWN_DROPS = HEAD_OWN + 3
OWN_DARK = HEAD_OWN + 4  # highlighted cells not yet won on

# How a board, or a whole spin, came to its end.
AT_REST = 0
CLEAR = 1
CUT = 2  # the cap was reached

PAY_SCALE = 100
POWER_WILDS, DIAGONAL = 0, 1  # the princesses' powers, in the only order that the rules' model allows
ACTS = 0  # of the weights of the base power
FREE_SPINS_MAX = 1 << 20  # the rules file's limit lies far below


@kernel
def start_spin(buffer: RoundBuffer, tables: Tables, spin_index: int, part: int, spins_left: int) -> None:
    """Draw a spin's stops from the left and its highlighted cells, and show the board."""
    head, strip_set = buffer.head, tables.strip_sets[part]
    for reel in range(tables.reel_count):
        length = tables.strip_lengths[strip_set * tables.reel_count + reel]
        land_reel(buffer, tables, strip_set, reel, below(buffer.stream, length, DRAW_STOP))
    drawn = weighted(buffer.stream, tables.highlight_weights, 0, len(tables.highlight_weights), DRAW_HIGHLIGHTS)
    count, cell_count = tables.highlight_counts[drawn], len(buffer.symbols)
    choose(buffer.stream, count, cell_count, buffer.pool, DRAW_HIGHLIGHTED)
    for cell in range(cell_count):
        buffer.highlights[cell] = 0
        buffer.marks[cell] = 0
    for i in range(count):
        buffer.highlights[buffer.pool[i]] = HIGHLIGHTED
    head[OWN_WON], head[OWN_CUT], head[OWN_DROPS], head[OWN_DARK] = 0, 0, 0, count
    emit_spin_started(buffer, spin_index, part, strip_set, spins_left, head[OWN_MULTIPLIER], 0)
    emit_drop(buffer, 0, 0, cell_count, tables.reel_count)


@kernel
def is_capped(buffer: RoundBuffer, readings: list[int], amount_minor: int, cap_minor: int) -> bool:
    """Count a win or prize towards the spin and the cap; return whether the cap is reached, what it cuts then in the head (ALL-1)."""
    head = buffer.head
    before_minor = head[OWN_WON] if readings[READ_CAP] == CAP_OF_SPIN else head[HEAD_TOTAL] + head[OWN_WON]
    left_minor = cut_to_cap(buffer, before_minor, amount_minor, cap_minor)
    head[OWN_WON] += amount_minor
    if left_minor >= 0:
        head[OWN_CUT] = amount_minor - left_minor
    return left_minor >= 0


@kernel
def pay_prize(buffer: RoundBuffer, readings: list[int], which: int, pay_x100: int, bet_minor: int, cap_minor: int) -> bool:
    """Write a prize at the multiplier in force; return whether it reaches the cap."""
    multiplier = buffer.head[OWN_MULTIPLIER]
    prize_minor = pay_x100 * multiplier * bet_minor // PAY_SCALE
    emit_prize(buffer, which, pay_x100, multiplier, prize_minor)
    return is_capped(buffer, readings, prize_minor, cap_minor)


@kernel
def pay_of_kinds(buffer: RoundBuffer, tables: Tables, start: int, end: int) -> int:
    """Return the pays of the runs of one princess inside a mixed run, 0 where there is none (reading MPS-3 = 1)."""
    pay_x100, place = 0, start
    while end - place >= tables.run_min:
        _, count, kind, place = next_run(buffer, tables, tables.kinds, place, end)
        if count > 0:
            pay_x100 += tables.pays_x100[kind * tables.length_count + count - tables.run_min]
    return pay_x100


@kernel
def pay_runs(buffer: RoundBuffer, tables: Tables, readings: list[int], multiplier: int, bet_minor: int, cap_minor: int) -> bool:
    """Write a `win` for each run: rows from the top, then reels from the left (ALL-6); return whether one reaches the cap.

    What the princesses' runs fill of the meter is added once all wins are written (MPS-10).
    """
    sections = 0
    for line in range(len(tables.line_starts) - 1):
        place, end = tables.line_starts[line], tables.line_starts[line + 1]
        while end - place >= tables.run_min:
            start, count, group, place = next_run(buffer, tables, tables.groups, place, end)
            if count == 0:
                break
            symbol, length = symbol_of_run(buffer, tables, start, count, group), count - tables.run_min
            pay_x100 = tables.pays_x100[symbol * tables.length_count + length]
            if symbol == tables.mixed and readings[READ_MIXED] == 1:
                pay_x100 = pay_of_kinds(buffer, tables, start, start + count)
            for i in range(count):
                buffer.pool[i] = tables.line_cells[start + i]
            win_minor = pay_x100 * multiplier * bet_minor // PAY_SCALE
            emit_win(buffer, symbol, line, count, count, buffer.pool, 1, pay_x100, multiplier, win_minor)
            if is_capped(buffer, readings, win_minor, cap_minor):
                return True
            if group == tables.mixed:
                sections += tables.sections_of_run[length]
    buffer.head[HEAD_METER] = min(buffer.head[HEAD_METER] + sections, tables.sections)
    return False


@kernel
def show_fall(buffer: RoundBuffer, tables: Tables) -> None:
    """Let the board fall as its cells are marked, and write the tumble and what is then shown."""
    fall(buffer, tables)
    emit_tumble(buffer, tables.cell_starts, tables.wild, False)
    buffer.head[OWN_DROPS] += 1
    emit_drop(buffer, buffer.head[OWN_DROPS], 0, len(buffer.symbols), 0)


@kernel
def is_cleared(buffer: RoundBuffer, tables: Tables) -> bool:
    """Return whether no paying symbol is left; all wilds go then, unpaid (MPS-8)."""
    if count_paying(buffer, tables.paying_count) > 0:
        return False
    wild_count = 0
    for cell in range(len(buffer.symbols)):
        buffer.removed[cell] = LEAVES if buffer.symbols[cell] == tables.wild else STAYS
        wild_count += buffer.removed[cell]
    if wild_count > 0:
        show_fall(buffer, tables)
    return True


@kernel
def play_to_rest(buffer: RoundBuffer, tables: Tables, readings: list[int], part: int, bet_minor: int, cap_minor: int) -> int:
    """Play the steps of a board: wins, rise, constellation, fall (MPS-4); return AT_REST, CLEAR or CUT.

    Every step removes or turns a paying symbol or removes a wild, so there is an end (MPS-6).
    """
    head = buffer.head
    while not is_cleared(buffer, tables):
        run_count, new_count, lit_count = mark_runs(buffer, tables)
        if run_count == 0:
            return AT_REST
        rise = min(lit_count, 1) if readings[READ_RISE] == 1 else new_count
        before = head[OWN_MULTIPLIER]
        after = min(before + rise, tables.multiplier_max)
        if pay_runs(buffer, tables, readings, after if readings[READ_RAISED_FIRST] == 1 else before, bet_minor, cap_minor):
            return CUT
        if after != before:
            emit_multiplier_change(buffer, before, after, CAUSE_HIGHLIGHTS)
            head[OWN_MULTIPLIER] = after
        head[OWN_DARK] -= new_count
        if new_count > 0 and head[OWN_DARK] == 0:
            count_figure(head, part, FIGURE_CONSTELLATIONS, FIGURE_RESONANCE_CONSTELLATIONS, FIGURE_FREE_CONSTELLATIONS)
            if pay_prize(buffer, readings, CONSTELLATION, tables.constellation_x100, bet_minor, cap_minor):
                return CUT
        show_fall(buffer, tables)
    return CLEAR


@kernel
def count_figure(head: list[int], part: int, base: int, resonance: int, free: int) -> None:
    """Add one to the figure that belongs to the part."""
    if part == PART_BASE:
        head[base] += 1
    elif part == PART_RESONANCE:
        head[resonance] += 1
    else:
        head[free] += 1


@kernel
def use_power(buffer: RoundBuffer, tables: Tables, princess: int, weights: list[int]) -> None:
    """Let a princess turn paying symbols to wilds: the size by its weight, then the cells (MPS-7)."""
    first = tables.size_starts[princess]
    size = tables.sizes[first + weighted(buffer.stream, weights, first, tables.size_starts[princess + 1] - first, DRAW_SIZE)]
    if princess == DIAGONAL:
        turn_diagonal(buffer, tables, size, DRAW_DIAGONAL)
    else:
        turn_anywhere(buffer, tables, size, DRAW_CELL)
    emit_power(buffer, princess, size)
    for cell in range(len(buffer.symbols)):
        if buffer.removed[cell] == TURNS:
            buffer.symbols[cell] = tables.wild
            buffer.marks[cell] = POWER_WILD if princess == POWER_WILDS else 0


@kernel
def clear_prize(buffer: RoundBuffer, tables: Tables, readings: list[int], result: int, figure: int, bet_minor: int, cap_minor: int) -> int:
    """Pay the prize of a cleared grid (MPS-8); return how the spin came to its end."""
    if result != CLEAR:
        return result
    buffer.head[figure] += 1
    return CUT if pay_prize(buffer, readings, CLEAR_GRID, tables.clear_grid_x100, bet_minor, cap_minor) else CLEAR


@kernel
def empty_meter(head: list[int], sections: int) -> bool:
    """Return whether the meter is full, and empty it then (MPS-10)."""
    if head[HEAD_METER] < sections:
        return False
    head[HEAD_METER] = 0
    return True


@kernel
def end_spin(buffer: RoundBuffer, readings: list[int], spin_index: int, result: int) -> int:
    """Write a spin's end, add its award to the round and return it; the round ends where the cap was reached."""
    head = buffer.head
    award_minor = head[OWN_WON] - head[OWN_CUT]
    head[HEAD_TOTAL] += award_minor
    head[HEAD_SPINS] = spin_index
    emit_spin_ended(buffer, 1, head[OWN_CUT], award_minor, head[HEAD_TOTAL])
    if result == CUT and readings[READ_CAP] != CAP_OF_SPIN:
        head[HEAD_ENDED] = CAPPED
    return award_minor


@kernel
def play_base_spin(buffer: RoundBuffer, tables: Tables, readings: list[int], bet_minor: int, cap_minor: int) -> None:
    """Play spin 0: one draw says whether the active princess acts on the board at rest, who then changes (MPS-9)."""
    head = buffer.head
    head[OWN_MULTIPLIER] = 1
    start_spin(buffer, tables, 0, PART_BASE, 0)
    result = play_to_rest(buffer, tables, readings, PART_BASE, bet_minor, cap_minor)
    if result == AT_REST and weighted(buffer.stream, tables.acts_weights, 0, 2, DRAW_ACTS) == ACTS:
        princess = head[HEAD_STATE]
        head[HEAD_STATE] = tables.next_princess[princess]
        head[FIGURE_POWERS] += 1
        use_power(buffer, tables, princess, tables.base_size_weights)
        result = play_to_rest(buffer, tables, readings, PART_BASE, bet_minor, cap_minor)
    result = clear_prize(buffer, tables, readings, result, FIGURE_CLEARS, bet_minor, cap_minor)
    if empty_meter(head, tables.sections) and result != CUT:
        emit_feature_trigger(buffer, RESONANCE, tables.sections, 1, 1)
        head[HEAD_TRIGGERS] = 1
    head[HEAD_BASE] = end_spin(buffer, readings, 0, result)
    head[HEAD_STRIP_SET] = tables.strip_sets[PART_BASE]
    if head[HEAD_ENDED] == NOT_ENDED and head[HEAD_TRIGGERS] == 0:
        head[HEAD_ENDED] = PLAYED


@kernel
def play_resonances(buffer: RoundBuffer, tables: Tables, readings: list[int], bet_minor: int, cap_minor: int) -> None:
    """Play the Resonance and those won from it; the round is not at its end after it where its grid was cleared (MPS-11)."""
    head = buffer.head
    for number in range(1, tables.resonances_max + 1):
        head[OWN_MULTIPLIER], head[HEAD_METER] = 1, 0
        start_spin(buffer, tables, number, PART_RESONANCE, 0)
        result = play_to_rest(buffer, tables, readings, PART_RESONANCE, bet_minor, cap_minor)
        for princess in range(len(tables.next_princess)):
            if result == AT_REST:
                use_power(buffer, tables, princess, tables.base_size_weights)
                result = play_to_rest(buffer, tables, readings, PART_RESONANCE, bet_minor, cap_minor)
        won_again = empty_meter(head, tables.sections) and result == AT_REST and readings[READ_RETRIGGER] == 0
        if result == CLEAR:
            emit_feature_trigger(buffer, FREE_SPINS, len(buffer.symbols), 0, 0)
        elif won_again and number < tables.resonances_max:
            emit_feature_trigger(buffer, RESONANCE, tables.sections, 1, 1)
        head[FIGURE_RESONANCES] = number
        head[FIGURE_RESONANCE_WIN] += end_spin(buffer, readings, number, result)
        if head[HEAD_ENDED] == NOT_ENDED and result != CLEAR and not won_again:
            head[HEAD_ENDED] = PLAYED
        elif won_again and number == tables.resonances_max:
            head[HEAD_ENDED] = LIMITED
        if head[HEAD_ENDED] != NOT_ENDED or result == CLEAR:
            break
    emit_feature_ended(buffer, RESONANCE, head[FIGURE_RESONANCES], head[FIGURE_RESONANCE_WIN])


@kernel
def add_spins(buffer: RoundBuffer, tables: Tables, given: int, left: int) -> int:
    """Add the free spins of a full meter, cut to what is left of the most that a round may have; return how many are added."""
    added = min(tables.spins_added, tables.spins_max - given)
    if added > 0:
        emit_feature_trigger(buffer, FREE_SPINS, tables.sections, added, left + added)
    return added


@kernel
def play_free_spins(buffer: RoundBuffer, tables: Tables, readings: list[int], princess: int, bet_minor: int, cap_minor: int) -> None:
    """Play the free spins of the chosen princess, who acts where a spin's drop does not win (MPS-12)."""
    head = buffer.head
    head[FIGURE_FEATURES], head[FIGURE_START], head[HEAD_METER] = 1, head[OWN_MULTIPLIER], 0
    given = tables.start_spins[princess]
    left = given
    for spin_index in range(head[HEAD_SPINS] + 1, FREE_SPINS_MAX):
        left -= 1
        start_spin(buffer, tables, spin_index, PART_FREE, left)
        result = play_to_rest(buffer, tables, readings, PART_FREE, bet_minor, cap_minor)
        if result == AT_REST and head[OWN_DROPS] == 0:
            use_power(buffer, tables, princess, tables.free_size_weights)
            result = play_to_rest(buffer, tables, readings, PART_FREE, bet_minor, cap_minor)
        result = clear_prize(buffer, tables, readings, result, FIGURE_FREE_CLEARS, bet_minor, cap_minor)
        if empty_meter(head, tables.sections) and result != CUT:
            added = add_spins(buffer, tables, given, left)
            given, left = given + added, left + added
        head[FIGURE_FREE_SPINS] += 1
        head[FIGURE_FREE_WIN] += end_spin(buffer, readings, spin_index, result)
        if head[HEAD_ENDED] == NOT_ENDED and left == 0:
            head[HEAD_ENDED] = PLAYED
        if head[HEAD_ENDED] != NOT_ENDED:
            break
    head[FIGURE_END] = head[OWN_MULTIPLIER]
    emit_feature_ended(buffer, FREE_SPINS, head[FIGURE_FREE_SPINS], head[FIGURE_FREE_WIN])


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
    """Play one round to its end, or to a choice that is missing, into `buffer`.

    key: 8 words; nonce: 3 words, zeros for a recorded round. mode: place in the rules file. readings: in the order of
    READINGS. state_in: the active princess. choices: none, or the chosen princess. Returns STATUS_DONE, STATUS_LIMIT (done,
    ended by a technical limit), STATUS_WANTS_CHOICE or STATUS_BUFFER_FULL (nothing of the buffer is to be used).
    """
    head = buffer.head
    start_stream(buffer.stream, key, nonce)
    clear_head(head)
    cap_minor = tables.cap_multiple * bet_minor
    if readings[READ_CAP] == CAP_OF_COST:
        cap_minor = cap_minor * tables.costs_x100[mode] // PAY_SCALE
    head[HEAD_STATE] = tables.first_princess if readings[READ_SESSION] == 1 else state_in[0]
    play_base_spin(buffer, tables, readings, bet_minor, cap_minor)
    if head[HEAD_ENDED] == NOT_ENDED:
        play_resonances(buffer, tables, readings, bet_minor, cap_minor)
    if head[HEAD_ENDED] == NOT_ENDED:
        emit_choice_offered(buffer, len(tables.next_princess))
        if len(choices) > 0:
            play_free_spins(buffer, tables, readings, choices[0], bet_minor, cap_minor)
    if head[HEAD_SHORT] == 1:
        return STATUS_BUFFER_FULL
    if head[HEAD_ENDED] == NOT_ENDED:
        return STATUS_WANTS_CHOICE
    return STATUS_LIMIT if head[HEAD_ENDED] == LIMITED else STATUS_DONE
