"""The stratified estimate of Moonlight Princess: its boards are the game's, its means are those of plain simulation.

SLOT_AUDIT_CALIBRATION says how many times the quick counts are played.
"""

import json
import os
import tomllib
from argparse import Namespace
from fractions import Fraction
from functools import cache, reduce
from math import sqrt
from pathlib import Path
from typing import Any

import numpy
import pytest

from engines.registry import game_of_rules, installed_rules
from engines.rng import round_key
from engines.simulate import SUM_NAMES as ROUND_SUMS
from engines.simulate import Sums, simulate
from tests.conftest import ROOT
from tests.holm import holm, normal_p
from tests.rules_changes import changed_rules
from tools import calibrate
from tools.calibrate_moonlight import heart_means, measure, sample_of, subject, table_with_mean
from tools.moonlight_estimate import REACH, Estimate, Sample, estimate, exact_means, feature_value, measured, strata_of, values_of
from tools.moonlight_spins import (
    AGAIN,
    BARE,
    HEARTED,
    LIMITS,
    SPINS,
    SUM_NAMES,
    TIMES,
    WINNING,
    WINNING_AGAIN,
    bought_stratum,
    chunk_sums,
    play_board,
    scatter_strata,
)
from tools.moonlight_strips import PLANS, make_strips

RULES: Any = installed_rules("moonlight-princess")
TIMES_MORE = int(os.environ.get("SLOT_AUDIT_CALIBRATION", "1"))
CHUNKS = 48 * TIMES_MORE


def test_a_board_is_played_as_in_the_game() -> None:
    """For 120 rounds' first spins, win, hearts and scatters are those that the game's own round recorded."""
    game = game_of_rules(RULES)
    tables, buffer = game.tables, game.new_buffer()
    wins = 0
    for nonce in range(120):
        events = game.events(round_key(bytes(32), RULES.game, "", nonce), "ante", 20, {}, ())
        first: list[Any] = events[: 1 + [event.kind for event in events].index("spin_ended")]
        drops = [event for event in first if event.kind == "drop"]
        for reel, stop in enumerate(drops[0].stops):
            buffer.tops[reel], buffer.shown[reel] = stop, 5
        buffer.symbols[:] = drops[0].symbols
        spin = [0] * len(SUM_NAMES)
        won = play_board(buffer, tables, first[0].strip_set, 20, spin)
        assert won == sum(event.win_minor for event in first if event.kind == "win")
        assert list(buffer.symbols) == list(drops[-1].symbols)
        hearts = list(drops[-1].symbols).count(tables.heart)
        assert spin[TIMES] == won * hearts
        assert spin[SPINS] == 1
        wins += won > 0
    assert wins > 20


def test_both_speeds_give_the_same_sums() -> None:
    """Compiled and plain samples of each stratum are the same integers."""
    for part in strata_of(RULES):
        count = 3 if part.is_feature else 40
        assert chunk_sums(RULES, part, b"speeds", 1, count=count) == chunk_sums(RULES, part, b"speeds", 1, count=count, is_compiled=False)


def test_strata_are_the_whole() -> None:
    """The strata of set B have the exact odds of their scatter counts and come to one; bought boards have the weights of the rules."""
    from engines.games.moonlight_princess.exact import scatter_odds

    odds = scatter_odds(RULES, RULES.strip_set_index("B"))
    parts = scatter_strata(RULES)
    assert [part.odds for part in parts] == [*odds[:4], sum(odds[4:])]
    bought = bought_stratum(RULES)
    weights = [sum(w for chosen, w in zip(bought.reel_sets, bought.weights, strict=True) if len(chosen) == count) for count in (4, 5, 6)]
    assert [weight * 1000 for weight in weights] == [weight * sum(weights) for weight in RULES.buy.weights]


def plain(mode: str, round_count: int) -> list[Sums]:
    return list(simulate(RULES, mode, round_count, seed=b"plain"))


def column(sums: Sums, name: str, strip_set: int) -> float:
    return sums.strata[strip_set][ROUND_SUMS.index(name)]


def ratio(above: list[float], below: list[float]) -> tuple[float, float]:
    """Return a ratio of sums over chunks and its standard error."""
    value = sum(above) / sum(below)
    rest = [a - value * b for a, b in zip(above, below, strict=True)]
    return value, sqrt(sum(each * each for each in rest)) / sum(below)


@cache
def exact() -> dict[str, list[Fraction]]:
    return exact_means(RULES, strata_of(RULES))


@cache
def quick_sample() -> Sample:
    parts = []
    for part in strata_of(RULES):
        count = 256 if part.is_feature else 4096
        chunks = [chunk_sums(RULES, part, b"quick", chunk, count=count) for chunk in range(CHUNKS)]
        parts.append(measured(part, chunks, exact().get(part.name)))
    return Sample(RULES, tuple(parts))


def compared(found: dict[str, tuple[Estimate, tuple[float, float]]]) -> dict[str, float]:
    p_values = {}
    for name, (stratified, (value, error)) in found.items():
        own = (stratified.high - stratified.value) / REACH
        p_values[name] = normal_p(stratified.value, value, sqrt(own**2 + error**2))
    return p_values


def test_the_estimate_is_that_of_plain_simulation() -> None:
    """All parts of the stratified estimate agree with rounds played as they are recorded, jointly at 99%."""
    base, bought = plain("base", TIMES_MORE * 24 << 16), plain("buy", TIMES_MORE << 14)
    sample, values, coins = quick_sample(), values_of(RULES), RULES.bet.coins
    rounds = [float(each.total("rounds")) for each in base]
    found = {}
    for place, name in enumerate(("A", "B")):
        alone = ratio([column(each, "base_win_minor", place) / coins for each in base], [column(each, "rounds", place) for each in base])
        found[f"alone {name}"] = estimate(sample, lambda means, name=name: values.alone(means, name)), alone
    for name, value in (("triggers", values.trigger_odds), ("hits", values.hit_odds)):
        count = ratio([float(each.total(name)) for each in base], rounds)
        found[name] = estimate(sample, lambda means, value=value: value(means, "base")), count
    wins = ratio([each.total("win_minor") / coins for each in base], rounds)
    found["base"] = estimate(sample, lambda means: values.mode_return(means, "base")), wins
    total = reduce(Sums.plus, bought)
    mean = total.total("win_minor") / total.total("rounds")
    error = sqrt((total.total("win_minor_squared") / total.total("rounds") - mean**2) / total.total("rounds")) / coins
    found["buy"] = estimate(sample, lambda means: 100 * values.mode_return(means, "buy")), (mean / coins, error)
    first = total.total("base_win_minor") / total.total("rounds") / coins
    found["bought spin"] = estimate(sample, values.bought_spin), (first, 0.02 / sqrt(TIMES_MORE))
    assert holm(compared(found)) == [], found
    off = {name: (Estimate(*(1.1 * value for value in each)), plainly) for name, (each, plainly) in found.items()}
    assert holm(compared(off))


def test_control_variates_keep_the_mean_and_shorten_the_interval() -> None:
    """With exact first boards the estimate stays within both intervals, and its own is shorter."""
    part = strata_of(RULES)[0]
    chunks = [chunk_sums(RULES, part, b"controls", chunk, count=8192) for chunk in range(60)]
    with_exact, without = (measured(part, chunks, means) for means in (exact()[part.name], None))
    wide, short = (estimate(Sample(RULES, (each,)), lambda means: float(means["A"][BARE])) for each in (without, with_exact))
    assert short.high - short.low < 0.85 * (wide.high - wide.low)
    assert max(short.low, wide.low) < min(short.high, wide.high)


def test_a_feature_is_the_sum_over_its_spins() -> None:
    """The closed form is what playing out the number of spins and the mean total multiplier gives."""
    mean = numpy.zeros(len(SUM_NAMES))
    mean[[BARE, HEARTED, TIMES, WINNING, AGAIN, WINNING_AGAIN]] = 3.0, 2.0, 2.5, 0.3, 0.02, 0.009
    hearts = 4.0
    odds, totals, value = {15: 1.0}, {15: 0.0}, 0.0
    for _ in range(400):
        later: dict[int, float] = {}
        later_totals: dict[int, float] = {}
        for left, chance in odds.items():
            total = totals[left]
            value += chance * (3.0 + hearts * 2.5) + total * 2.0
            for after, share, raised in ((left - 1, 0.98, 0.3 - 0.009), (left + 4, 0.02, 0.009)):
                if after > 0:
                    later[after] = later.get(after, 0.0) + chance * share
                    later_totals[after] = later_totals.get(after, 0.0) + total * share + chance * hearts * raised
        odds, totals = later, later_totals
    assert abs(feature_value(RULES, mean, hearts) - value / RULES.bet.coins) < 1e-9


def options_of(folder: Path, scale: int, *seeds: str) -> Namespace:
    return Namespace(folder=folder, seed=list(seeds), scale=scale, version=None)


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample made in two runs, the first killed within a line, is that made in one; seeds add up."""
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_SPINS", 512)
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_FEATURES", 32)
    monkeypatch.setattr("tools.calibrate_moonlight.SHARES", {part.name: 2 for part in strata_of(RULES)})
    monkeypatch.setattr("tools.calibrate_moonlight.exact_means", lambda rules, strata: exact())
    whole = sample_of(RULES, options_of(tmp_path / "one", 2, "s"))
    sample_of(RULES, options_of(tmp_path / "two", 1, "s"))
    path = tmp_path / "two" / "s" / "A.jsonl"
    path.write_text(path.read_text()[:-20])
    again = sample_of(RULES, options_of(tmp_path / "two", 2, "s"))
    for one, two in zip(whole.strata, again.strata, strict=True):
        assert (one.rows == two.rows).all()
    both = sample_of(RULES, options_of(tmp_path / "one", 2, "s", "t"))
    assert [part.spin_count for part in both.strata[:-1]] == [2 * part.spin_count for part in whole.strata[:-1]]


def test_what_a_chunk_depends_on() -> None:
    """Another seed, cap or pay is another sample; heart tables and strip set weights are not."""
    hearts = [{**each.model_dump(), "weights": (1,) * 15} for each in RULES.heart_weights]
    assert subject(changed_rules(RULES, heart_weights=hearts), "s") == subject(RULES, "s")
    assert subject(installed_rules("moonlight-princess", "0.1.0"), "s") == subject(RULES, "s")  # type: ignore[arg-type]
    others = {subject(RULES, "s"), subject(RULES, "t"), subject(changed_rules(RULES, cap={"multiple": 10}), "s")}
    assert len(others) == 3


def test_the_tuning_reaches_its_targets() -> None:
    """With the means that the tuning asks for, a sample's three modes and both base sets come to their targets."""
    sample = quick_sample()
    weight, hearts = heart_means(sample)
    choices = [{**each.model_dump(), "weights": (10000 - k * weight, k * weight, 0)} for k, each in enumerate(RULES.strip_choices, 1)]
    values = values_of(RULES)._replace(rules=changed_rules(RULES, strip_choices=choices), hearts=hearts)
    means = {part.stratum.name: part.rows.mean(axis=0) for part in sample.strata}
    assert abs(values.mode_return(means, "base") - 0.98) < 1e-9
    assert abs(values.mode_return(means, "buy") - 0.98) < 1e-9
    assert abs(values.mode_return(means, "ante") - 0.98) < 1e-4  # the weight is whole
    assert abs(values.alone(means, "A") - values.alone(means, "B")) < 1e-9


def test_a_table_reaches_its_mean() -> None:
    """The weight of the lowest heart brings a table within a ten-thousandth of the mean; a mean out of reach is refused."""
    for mean in (Fraction(7, 2), Fraction(4)):
        table = table_with_mean(RULES.heart_values.values, mean)
        reached = Fraction(sum(v * w for v, w in zip(RULES.heart_values.values, table, strict=True)), sum(table))
        assert abs(reached - mean) < Fraction(1, 4000)
    with pytest.raises(ValueError, match=r"hearts of mean 2.000: want strips that need a mean nearer to the start table's"):
        table_with_mean(RULES.heart_values.values, Fraction(2))


def test_a_spin_that_a_limit_ended_is_refused() -> None:
    """The estimate knows no technical limits and says so."""
    part = strata_of(RULES)[0]
    chunk = chunk_sums(RULES, part, b"limits", 0, count=10)
    chunk[LIMITS] = 1
    with pytest.raises(ValueError, match="stratum A: want no spin that a limit of the rules ends, got 1"):
        measured(part, [chunk], None)


def test_the_strips_in_force_are_shuffles_of_the_plans() -> None:
    """Shuffles 6, 0 and 5 under seed 1 are the strips of A, B and the free spins, so the file can be made anew."""
    letters = "".join(symbol.letter for symbol in RULES.symbols if symbol.role == "paying")
    for plan, number, strip_set in zip(PLANS, (6, 0, 5), RULES.strip_sets, strict=True):
        assert make_strips(1, number, letters, plan) == strip_set.strips


def test_strips_are_chosen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The strips step prints one shuffle of each plan as TOML, and the command refuses what it cannot do."""
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_SPINS", 512)
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_FEATURES", 32)
    monkeypatch.setattr("tools.calibrate_moonlight.SHUFFLES", 2)
    monkeypatch.setattr("sys.argv", ["calibrate.py", "moonlight-princess", "strips", "--seed", "1"])
    calibrate.main()
    chosen = tomllib.loads(capsys.readouterr().out)["strip_sets"]
    letters = "".join(symbol.letter for symbol in RULES.symbols if symbol.role == "paying")
    for plan, strip_set in zip(PLANS, chosen, strict=True):
        assert strip_set["strips"] in [list(make_strips(1, number, letters, plan)) for number in range(2)]
    for step, message in (("guess", "step 'guess': want one of strips, tune, measure"), ("tune", "step 'tune' samples: want --folder")):
        monkeypatch.setattr("sys.argv", ["calibrate.py", "moonlight-princess", step])
        with pytest.raises(SystemExit):
            calibrate.main()
        assert message in capsys.readouterr().err


def test_what_is_measured_is_said_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measurement names seeds, command and counts, and each mode and part lies within its interval."""
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_SPINS", 512)
    monkeypatch.setattr("tools.moonlight_spins.CHUNK_FEATURES", 32)
    monkeypatch.setattr("tools.calibrate_moonlight.SHARES", {part.name: 3 for part in strata_of(RULES)})
    monkeypatch.setattr("tools.calibrate_moonlight.exact_means", lambda rules, strata: exact())
    facts = json.loads(measure(options_of(tmp_path, 1, "s", "t")))
    assert facts["command"] == "python tools/calibrate.py moonlight-princess measure --seed s t --scale 1 --folder FOLDER"
    assert (facts["seeds"], facts["rules_hash"]) == (["s", "t"], RULES.rules_hash)
    assert facts["strata"]["A"] == {"spins": 6 * 512, "features": 0}
    assert facts["strata"]["free"]["features"] == 6 * 32
    found = [part for mode in facts["modes"].values() for part in mode.values()] + list(facts["parts"].values())
    assert len(found) == 9 + 7
    assert all(part["low"] <= part["value"] <= part["high"] for part in found)


def test_the_measured_return_is_that_of_the_rules() -> None:
    """The committed measurement is of the draft that was frozen, and each mode's interval lies within 97.90 and 98.10."""
    facts = json.loads((ROOT / "docs" / "measured" / "moonlight-princess-return.json").read_text())
    assert facts["rules_hash"] == installed_rules("moonlight-princess", "0.2.0").rules_hash
    for mode in facts["modes"].values():
        assert 0.979 < mode["rtp"]["low"] < mode["rtp"]["high"] < 0.981
