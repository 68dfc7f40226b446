"""Simulation: the kernel that plays recorded rounds, and sums that no number of workers changes."""

from engines.event_buffer import HEAD_TOTAL
from engines.registry import installed_game, installed_rules
from engines.rng import key_words, simulation_key, simulation_nonce
from engines.simulate import CHUNK_ROUNDS, Sums, estimate_return, simulate

RULES = installed_rules("moonlight-princess")
SEED = bytes(range(32))


def total(chunks: list[Sums]) -> Sums:
    result = chunks[0]
    for chunk in chunks[1:]:
        result = result.plus(chunk)
    return result


def test_sums_do_not_depend_on_workers() -> None:
    """One worker and two give the same chunks in the same order."""
    count = CHUNK_ROUNDS * 2 + 1000
    assert list(simulate(RULES, "ante", count, seed=SEED, job_count=1)) == list(simulate(RULES, "ante", count, seed=SEED, job_count=2))


def test_simulated_rounds_are_those_of_the_plain_kernel() -> None:
    """The sums over 200 rounds are those of rounds played one by one in plain Python under the same keys and nonces."""
    game = installed_game("moonlight-princess")
    key = key_words(simulation_key(SEED, RULES.game, "base", 0))
    wins = []
    buffer, nonce = game.new_buffer(), [0, 0, 0]
    for index in range(200):
        simulation_nonce(index, nonce)
        game.kernel(key, nonce, game.tables, 0, 20, RULES.reading_values(), [], [], buffer)
        wins.append(buffer.head[HEAD_TOTAL])
    sums = total(list(simulate(RULES, "base", 200, seed=SEED)))
    assert sums.total("win_minor") == sum(wins)
    assert sums.total("win_minor_squared") == sum(win * win for win in wins)
    assert sums.total("hits") == sum(win > 0 for win in wins)
    assert sums.total("win_minor_max") == max(wins)
    assert sums.histogram[0] == sum(win == 0 for win in wins)
    assert sums.histogram[1] == sum(0 < win < 20 for win in wins)
    assert sums.histogram[2] == sum(20 <= win < 40 for win in wins)
    assert sum(sums.histogram) == 200


def test_every_bought_round_triggers() -> None:
    """Each bought round has its feature, so spins beyond the first."""
    sums = total(list(simulate(RULES, "buy", 2000, seed=SEED)))
    assert sums.total("triggers") == 2000
    assert sums.total("feature_spins") >= 15 * 2000 - 15 * sums.total("capped")


def test_the_interval_holds_the_observed_return() -> None:
    """The interval is symmetric about the observed return and shrinks with the number of rounds."""
    small = estimate_return(RULES, "base", total(list(simulate(RULES, "base", 5000, seed=SEED))))
    large = estimate_return(RULES, "base", total(list(simulate(RULES, "base", 60_000, seed=SEED))))
    for estimate in (small, large):
        assert estimate.rtp_low < estimate.rtp_observed < estimate.rtp_high
        assert estimate.confidence == 0.99
