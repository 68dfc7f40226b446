"""The rules of Moon Princess Stargazing as the integers that its kernel reads."""

from typing import NamedTuple

from engines.event_buffer import PART_BASE, PART_FREE, PART_RESONANCE
from engines.games.moon_princess_stargazing.rules import Rules

__all__ = ["Tables", "build_tables"]


class Tables(NamedTuple):
    """The rules file as integers; lists are in the order of the rules file."""

    reel_count: int
    cell_starts: list[int]  # the first cell of each reel, and the end
    paying_count: int  # paying symbols come first
    wild: int
    mixed: int
    blank: int
    groups: list[int]  # for each symbol what it makes runs with: the princesses `mixed`, every other one itself
    kinds: list[int]  # the same with each princess by herself
    line_cells: list[int]  # the rows from the top, then the reels from the left
    line_starts: list[int]  # and the end
    run_min: int  # the shortest run
    length_count: int  # of the lengths that a run may have
    wild_left_count: int
    pays_x100: list[int]  # for each symbol, one for each length of a run
    sections_of_run: list[int]  # for each length of a run
    sections: int
    strips: list[int]  # all strips, end to end
    strip_starts: list[int]  # for each reel of each strip set
    strip_lengths: list[int]
    strip_sets: list[int]  # by part
    highlight_counts: list[int]
    highlight_weights: list[int]
    multiplier_max: int
    constellation_x100: int
    clear_grid_x100: int
    acts_weights: list[int]
    sizes: list[int]  # princess by princess
    size_starts: list[int]  # for each princess, and the end
    base_size_weights: list[int]  # as `sizes`
    free_size_weights: list[int]
    next_princess: list[int]  # for each princess
    first_princess: int
    start_spins: list[int]  # for each princess
    spins_added: int
    spins_max: int
    resonances_max: int
    costs_x100: list[int]
    cap_multiple: int


def _lines(rules: Rules) -> list[list[int]]:
    reels, rows = range(rules.layout.reels), range(rules.layout.rows)
    across = [[reel * len(rows) + row for reel in reels] for row in rows]
    return across + [[reel * len(rows) + row for row in rows] for reel in reels]


def build_tables(rules: Rules) -> Tables:
    """Return the tables of a rules file that has passed its own checks."""
    roles = [symbol.role for symbol in rules.symbols]
    strips = [rules.strip(s, reel) for s in range(len(rules.strip_sets)) for reel in range(rules.layout.reels)]
    lines, lengths = _lines(rules), rules.pay_counts.counts
    names, order = rules.choice_names, rules.princess_order.princesses
    princesses, mixed = [rules.symbol_index(name) for name in names], roles.index("mixed")
    size_counts = [len(power.sizes) for power in rules.powers]
    part_sets = {PART_BASE: rules.base_strip_set, PART_FREE: rules.free_spins_strip_set, PART_RESONANCE: rules.resonance_strip_set}
    return Tables(
        reel_count=rules.layout.reels,
        cell_starts=[reel * rules.layout.rows for reel in range(rules.layout.reels + 1)],
        paying_count=roles.count("paying"),
        wild=roles.index("wild"),
        mixed=mixed,
        blank=roles.index("blank"),
        groups=[mixed if symbol in princesses else symbol for symbol in range(len(roles))],
        kinds=list(range(len(roles))),
        line_cells=[cell for line in lines for cell in line],
        line_starts=[sum(len(line) for line in lines[:i]) for i in range(len(lines) + 1)],
        run_min=lengths[0],
        length_count=len(lengths),
        wild_left_count=rules.wild_left.count,
        pays_x100=[pay for symbol in rules.symbols for pay in symbol.pays_x100 or (0,) * len(lengths)],
        sections_of_run=list(rules.meter.sections_of_run),
        sections=rules.meter.sections,
        strips=[symbol for strip in strips for symbol in strip],
        strip_starts=[sum(len(strip) for strip in strips[:i]) for i in range(len(strips))],
        strip_lengths=[len(strip) for strip in strips],
        strip_sets=[rules.strip_set_index(part_sets.get(part, rules.base_strip_set)) for part in range(PART_RESONANCE + 1)],
        highlight_counts=list(rules.highlights.counts),
        highlight_weights=list(rules.highlight_weights.weights),
        multiplier_max=rules.ceiling.multiplier,
        constellation_x100=rules.prize_x100("constellation"),
        clear_grid_x100=rules.prize_x100("clear_grid"),
        acts_weights=[rules.base_power.act, rules.base_power.rest],
        sizes=[size for power in rules.powers for size in power.sizes],
        size_starts=[sum(size_counts[:i]) for i in range(len(size_counts) + 1)],
        base_size_weights=[weight for princess in range(len(names)) for weight in rules.weights_of("base", princess)],
        free_size_weights=[weight for princess in range(len(names)) for weight in rules.weights_of("free", princess)],
        next_princess=[names.index(order[(order.index(name) + 1) % len(order)]) for name in names],
        first_princess=rules.first_state["princess"],
        start_spins=[row.spins for row in rules.free_spins],
        spins_added=rules.free_spins_limit.spins_added,
        spins_max=rules.free_spins_limit.spins_max,
        resonances_max=rules.resonance_limit.resonances,
        costs_x100=[mode.cost_x100 for mode in rules.modes],
        cap_multiple=rules.cap.multiple,
    )
