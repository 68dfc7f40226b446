"""Samples of Moonlight Princess's spins and features as integer sums, played on the boards of the game's own kernels.

A spin's board depends on its reel stops alone; heart values are drawn apart, so a sum over spins counts hearts instead of
drawing them wherever its mean is linear in the values. A chunk is one key and one running stream (`rng/1`, item 9).
Wins are in coins, at a bet of one minor unit a coin.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, gcd, prod
from typing import Any, NamedTuple

from engines.event_buffer import HEAD_POSITION, RoundBuffer
from engines.games.moonlight_princess.game import DRAW_HEART, Tables, build_tables, land_board
from engines.games.moonlight_princess.rules import Rules
from engines.jit import arrays_of, compiled, kernel
from engines.kernels.reels import land_reel, refill_reels, room_on_strips
from engines.kernels.scatter_pays import mark_winners, pay_of_count
from engines.registry import game_of_rules
from engines.rng import below, key_words, simulation_key, start_stream, weighted

CHUNK_SPINS, CHUNK_FEATURES = 1 << 16, 1 << 12
HEART_DRAWS = 16  # of the hearts of a feature, and of a spin that could pass the cap: boards cost more than values
CAP_STEP = 100  # bets between the two caps over which a feature's surplus is summed

# Sums over spins. "bare": of spins that come to rest without a heart; "first": of the first board.
SUM_NAMES = (
    "spins",
    "bare_win",
    "hearted_win",
    "win_times_hearts",
    "winning_hearts",  # hearts of winning spins
    "hits",
    "retriggers",
    "winning_hearts_of_retriggers",
    "triggers",
    "scatter_pay",
    "limited",
    "surplus",  # above the cap, over HEART_DRAWS draws of the hearts
    "first_bare_win",
    "first_hearted_win",
    "first_win_times_hearts",
    "first_hearts",
    "first_retriggers",
    "first_triggers",
    "fall_bare_win",  # fall: for each symbol that wins on the first board, the board once its cells alone have left
    "fall_hearted_win",
    "fall_win_times_hearts",
    "fall_triggers",
    "features",
    "feature_win",  # without a cap; this and what follows over HEART_DRAWS draws of the hearts
    "feature_capped",
    "feature_surplus",  # above the cap
    "feature_surplus_below",  # above a cap that is CAP_STEP bets lower
)
SPINS, BARE, HEARTED, TIMES, WINNING, HITS, AGAIN, WINNING_AGAIN, TRIGGERS, PAY, LIMITS, SURPLUS = range(12)
FIRST_BARE, FIRST_HEARTED, FIRST_TIMES, FIRST_HEARTS, FIRST_AGAIN, FIRST_TRIGGERS = range(12, 18)
FALL_BARE, FALL_HEARTED, FALL_TIMES, FALL_TRIGGERS = range(18, 22)
FEATURES, FEATURE_WIN, FEATURE_CAPPED, FEATURE_SURPLUS, FEATURE_SURPLUS_BELOW = range(22, 27)
FEATURE_LENGTH_MAX = 1000  # winning spins with hearts of one feature


BOUGHT, FEATURE = "bought", "free"  # strata that are not of the base game


class Stratum(NamedTuple):
    """Spins of one strip set, or features; with `reel_sets`, those whose first board shows scatters on just one of these sets of reels."""

    name: str
    strip_set: int
    reel_sets: tuple[tuple[int, ...], ...] = ()
    weights: tuple[int, ...] = ()  # of the reel sets
    odds: Fraction = Fraction(1)  # of the stratum among its strip set's spins
    is_feature: bool = False


def scatter_strata(rules: Rules) -> list[Stratum]:
    """Return the strata of the set that can trigger, by the scatters of the first board: 0, 1, … and those that trigger at once."""
    tables = build_tables(rules)
    shares = []
    for reel in range(tables.reel_count):
        length = tables.strip_lengths[tables.buy_strip_set * tables.reel_count + reel]
        shows = tables.fitting_starts[2 * reel + 2] - tables.fitting_starts[2 * reel + 1]
        shares.append((shows // gcd(shows, length), (length - shows) // gcd(shows, length)))
    total = prod(sum(share) for share in shares)
    reel_sets: dict[int, list[tuple[int, ...]]] = {}
    for count in range(tables.reel_count + 1):
        reel_sets.setdefault(min(count, tables.trigger_count), []).extend(combinations(range(tables.reel_count), count))
    strata = []
    for count, sets in reel_sets.items():
        weights = [prod(share[reel not in chosen] for reel, share in enumerate(shares)) for chosen in sets]
        name = f"{rules.buy.strip_set}-{count}"
        strata.append(Stratum(name, tables.buy_strip_set, tuple(sets), tuple(weights), Fraction(sum(weights), total)))
    return strata


def bought_stratum(rules: Rules) -> Stratum:
    """Return the first boards of bought rounds (MLP-7)."""
    reels = rules.layout.reels
    scale = prod(comb(reels, count) for count in rules.buy.scatter_counts)
    sets, weights = [], []
    for count, weight in zip(rules.buy.scatter_counts, rules.buy.weights, strict=True):
        for chosen in combinations(range(reels), count):
            sets.append(chosen)
            weights.append(weight * scale // comb(reels, count))
    return Stratum(BOUGHT, rules.strip_set_index(rules.buy.strip_set), tuple(sets), tuple(weights))


@kernel
def land_stratum(buffer: RoundBuffer, tables: Tables, strip_set: int, reel_sets: list[int], weights: list[int]) -> None:
    """Draw a first board: any, or one that shows scatters on just the reels of a set drawn by weight (sets as bits)."""
    if len(weights) == 0:
        land_board(buffer, tables, strip_set)
        return
    chosen = reel_sets[weighted(buffer.stream, weights, 0, len(weights), 0)]
    for reel in range(tables.reel_count):
        place = 2 * reel + ((chosen >> reel) & 1)
        start = tables.fitting_starts[place]
        stop = tables.fitting_stops[start + below(buffer.stream, tables.fitting_starts[place + 1] - start, 0)]
        land_reel(buffer, tables, strip_set, reel, stop)


@kernel
def add_fall(buffer: RoundBuffer, tables: Tables, strip_set: int, symbol: int, bet_minor: int, sums: list[int]) -> None:
    """Add what the board would come to once this symbol's cells alone had left the first board and the strips filled up."""
    after = buffer.pool
    for other in range(tables.symbol_count):
        after[other] = 0
    for reel in range(tables.reel_count):
        strip = strip_set * tables.reel_count + reel
        start, length = tables.strip_starts[strip], tables.strip_lengths[strip]
        leaving = 0
        for cell in range(tables.cell_starts[reel], tables.cell_starts[reel + 1]):
            if buffer.symbols[cell] == symbol:
                leaving += 1
            else:
                after[buffer.symbols[cell]] += 1
        position = buffer.tops[reel]
        for _ in range(leaving):
            position = length - 1 if position == 0 else position - 1
            after[tables.strips[start + position]] += 1
    won = 0
    for other in range(tables.paying_count):
        if after[other] >= tables.pay_counts[0]:
            won += pay_of_count(tables, other, after[other]) * bet_minor // 100
    hearts = after[tables.heart]
    sums[FALL_HEARTED if hearts > 0 else FALL_BARE] += won
    sums[FALL_TIMES] += won * hearts
    sums[FALL_TRIGGERS] += 1 if after[tables.scatter] >= tables.trigger_count else 0


@kernel
def play_board(buffer: RoundBuffer, tables: Tables, strip_set: int, bet_minor: int, sums: list[int]) -> int:
    """Tumble a board that has landed until nothing wins, add its counts to `sums`; return the win. Hearts get no value."""
    head, counts = buffer.head, buffer.counts
    head[HEAD_POSITION] = 0
    won = mark_winners(buffer, tables, bet_minor)
    hearts, scatters = counts[tables.heart], counts[tables.scatter]
    sums[FIRST_HEARTS] += hearts
    sums[FIRST_AGAIN] += 1 if scatters >= tables.retrigger_count else 0
    sums[FIRST_TRIGGERS] += 1 if scatters >= tables.trigger_count else 0
    sums[FIRST_HEARTED if hearts > 0 else FIRST_BARE] += won
    sums[FIRST_TIMES] += won * hearts
    if won > 0:
        for symbol in range(tables.paying_count):
            if counts[symbol] >= tables.pay_counts[0]:
                add_fall(buffer, tables, strip_set, symbol, bet_minor, sums)
    step = won
    tumbles = 0
    while step > 0:
        if tumbles == tables.tumbles_max or not room_on_strips(buffer, tables, strip_set):
            sums[LIMITS] += 1
            break
        refill_reels(buffer, tables, strip_set)
        head[HEAD_POSITION] = 0
        step = mark_winners(buffer, tables, bet_minor)
        won += step
        tumbles += 1
    hearts, scatters = counts[tables.heart], counts[tables.scatter]
    pay = tables.scatter_pays_x100[min(scatters, len(tables.scatter_pays_x100) - 1)] * bet_minor // 100
    again = 1 if scatters >= tables.retrigger_count else 0
    sums[SPINS] += 1
    sums[HEARTED if hearts > 0 else BARE] += won
    sums[TIMES] += won * hearts
    sums[WINNING] += hearts if won > 0 else 0
    sums[HITS] += 1 if won + pay > 0 else 0
    sums[AGAIN] += again
    sums[WINNING_AGAIN] += again * hearts if won > 0 else 0
    sums[TRIGGERS] += 1 if scatters >= tables.trigger_count else 0
    sums[PAY] += pay
    return won


@kernel
def drawn_hearts(buffer: RoundBuffer, tables: Tables, strip_set: int, heart_count: int) -> int:
    """Draw a value for each of `heart_count` hearts and return their sum."""
    value_count = len(tables.heart_values)
    total = 0
    for _ in range(heart_count):
        total += tables.heart_values[weighted(buffer.stream, tables.heart_weights, strip_set * value_count, value_count, DRAW_HEART)]
    return total


@kernel
def sample_spins(
    count: int,
    tables: Tables,
    strip_set: int,
    reel_sets: list[int],
    weights: list[int],
    bet_minor: int,
    buffer: RoundBuffer,
    sums: list[int],
) -> None:
    """Add `count` spins to `sums`; those that hearts could bring above the cap draw them HEART_DRAWS times for `surplus`."""
    cap_minor = tables.cap_multiple * bet_minor
    heart_max = tables.heart_values[len(tables.heart_values) - 1]
    for _ in range(count):
        land_stratum(buffer, tables, strip_set, reel_sets, weights)
        won = play_board(buffer, tables, strip_set, bet_minor, sums)
        hearts = buffer.counts[tables.heart]
        if won * heart_max * max(1, hearts) > cap_minor:
            for _ in range(HEART_DRAWS):
                sums[SURPLUS] += max(0, won * max(1, drawn_hearts(buffer, tables, strip_set, hearts)) - cap_minor)


@kernel
def add_feature(
    buffer: RoundBuffer, tables: Tables, strip_set: int, hearted: list[int], hearted_count: int, plain: int, bet_minor: int, sums: list[int]
) -> None:
    """Draw the hearts of a feature HEART_DRAWS times and add what it comes to; hearted: win and hearts of each spin with both."""
    cap_minor = tables.cap_multiple * bet_minor
    lower_minor = cap_minor - CAP_STEP * bet_minor
    sums[FEATURES] += 1
    for _ in range(HEART_DRAWS):
        total, total_multiplier = plain, 0
        for i in range(hearted_count):
            total_multiplier += drawn_hearts(buffer, tables, strip_set, hearted[2 * i + 1])
            total += hearted[2 * i] * total_multiplier
        sums[FEATURE_WIN] += total
        sums[FEATURE_CAPPED] += 1 if total >= cap_minor else 0
        sums[FEATURE_SURPLUS] += max(0, total - cap_minor)
        sums[FEATURE_SURPLUS_BELOW] += max(0, total - lower_minor)


@kernel
def sample_features(
    count: int, tables: Tables, strip_set: int, hearted: list[int], bet_minor: int, buffer: RoundBuffer, sums: list[int]
) -> None:
    """Add `count` features and their spins to `sums`, each played to its end whatever the cap. hearted: room for a feature."""
    for _ in range(count):
        spins_left, hearted_count, plain = tables.trigger_spins, 0, 0
        while spins_left > 0:
            spins_left -= 1
            land_board(buffer, tables, strip_set)
            pay_before = sums[PAY]
            won = play_board(buffer, tables, strip_set, bet_minor, sums)
            hearts = buffer.counts[tables.heart]
            plain += sums[PAY] - pay_before
            if hearts == 0:
                plain += won
            elif won > 0:
                hearted[2 * hearted_count], hearted[2 * hearted_count + 1] = won, hearts
                hearted_count += 1
            if buffer.counts[tables.scatter] >= tables.retrigger_count:
                spins_left += tables.retrigger_spins
        add_feature(buffer, tables, strip_set, hearted, hearted_count, plain, bet_minor, sums)


@kernel
def run_chunk(
    key: list[int],
    nonce: list[int],
    count: int,
    is_feature: bool,
    tables: Tables,
    strip_set: int,
    reel_sets: list[int],
    weights: list[int],
    bet_minor: int,
    buffer: RoundBuffer,
    sums: list[int],
) -> None:
    """Add a chunk of `count` spins or features under `key` to `sums`; for features `reel_sets` is their work space."""
    start_stream(buffer.stream, key, nonce)
    if is_feature:
        sample_features(count, tables, strip_set, reel_sets, bet_minor, buffer, sums)
    else:
        sample_spins(count, tables, strip_set, reel_sets, weights, bet_minor, buffer, sums)


@cache
def _work_space(rules_hash: str, is_compiled: bool) -> list[Any]:
    del rules_hash, is_compiled
    return []


def chunk_sums(rules: Rules, stratum: Stratum, seed: bytes, chunk: int, *, count: int = 0, is_compiled: bool = True) -> list[int]:
    """Return the sums of SUM_NAMES over one chunk of a stratum; the same arguments give the same sums at both speeds.

    count: spins or features, CHUNK_SPINS or CHUNK_FEATURES where 0.
    """
    kept = _work_space(rules.rules_hash, is_compiled)
    if not kept:
        game = game_of_rules(rules)
        kept += [
            compiled(run_chunk) if is_compiled else run_chunk,
            *(arrays_of(each) if is_compiled else each for each in (game.tables, game.new_buffer())),
        ]
    run, tables, buffer = kept
    count = count or (CHUNK_FEATURES if stratum.is_feature else CHUNK_SPINS)
    key = key_words(simulation_key(seed, rules.game, f"sample {stratum.name}", chunk))
    bits = [sum(1 << reel for reel in chosen) for chosen in stratum.reel_sets]
    if stratum.is_feature:
        bits = [0] * (2 * FEATURE_LENGTH_MAX)
    lists = [key, [0] * 3, bits, list(stratum.weights), [0] * len(SUM_NAMES)]
    key, nonce, bits, weights, sums = _arrays(lists) if is_compiled else lists
    run(key, nonce, count, stratum.is_feature, tables, stratum.strip_set, bits, weights, rules.bet.coins, buffer, sums)
    return [int(each) for each in sums]


def _arrays(lists: list[list[int]]) -> list[Any]:
    import numpy

    return [numpy.array(each, dtype=numpy.int64) for each in lists]
