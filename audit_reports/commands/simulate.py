"""`simulate`: the return of a game over many rounds."""

import os
import time
from fractions import Fraction
from math import sqrt
from typing import Annotated, Any

import typer

from audit_reports.options import GameOption, JsonOption, RulesOption, UsageError, chosen_choices, chosen_rules, job_count, parse_count
from audit_reports.output import follow, note, print_json, print_line

__all__ = ["MissingExtraError", "register", "simulation_seed"]

SEED_BYTES = 32
INTERVAL_ROUNDS_MIN = 1000  # fewer are far from the normal distribution that the interval supposes


class MissingExtraError(Exception):
    """A command needs a library that is not installed."""

    exit_status = 2

    def __init__(self, command: str, library: str, extra: str) -> None:
        super().__init__(command, library, extra)
        self.command, self.library, self.extra = command, library, extra

    def __str__(self) -> str:
        return f"audit {self.command}: want the library {self.library}, got none; pip install 'slot-audit[{self.extra}]'"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("simulate")(simulate)


def simulate(
    game: GameOption,
    mode: Annotated[str, typer.Option("--mode", help="base, ante or buy.")] = "base",
    rounds: Annotated[str, typer.Option("--rounds", help="How many rounds.")] = "1e6",
    seed: Annotated[str, typer.Option("--seed", help="Simulation seed in hex; fresh unless named, and printed.")] = "",
    choice: Annotated[str, typer.Option("--choice", help="Where a round waits for a choice, the one that all take; else the first.")] = "",
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes; 0 is one for each core. The sums do not depend on it.")] = 0,
    rules: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Play many rounds outside any ledger and show the RTP.

    With its interval, hit frequency, volatility, features and strata.

    Example: audit simulate --game moonlight-princess --mode base --rounds 1e7
    """
    from importlib.util import find_spec

    from engines.jit import cache_folder
    from ledger.money import check_mode

    chosen = chosen_rules(game, rules)
    check_mode(chosen, mode)
    choices = chosen_choices(chosen, choice)
    jobs = job_count(jobs)
    count = parse_count(rounds, "--rounds")
    seed_bytes = simulation_seed(seed)
    if find_spec("numba") is None:
        raise MissingExtraError("simulate", "numba", "fast")
    from engines.simulate import CHUNK_ROUNDS, Sums
    from engines.simulate import simulate as run

    if not cache_folder().exists():
        note("compiling the kernels, once: some 15 seconds")
    started = time.perf_counter()
    total: Sums | None = None
    chunks = run(chosen, mode, count, seed=seed_bytes, choices=choices, job_count=jobs)
    for sums in follow(chunks, what=f"chunks of {CHUNK_ROUNDS} rounds", total=-(-count // CHUNK_ROUNDS)):
        total = sums if total is None else total.plus(sums)
    assert total is not None
    facts = _facts(chosen, mode, total, seed_bytes, time.perf_counter() - started)
    if choices:
        facts["choice"] = chosen.choice_names[choices[0]]
    if as_json:
        print_json(facts)
    else:
        for line in _lines(facts):
            print_line(line)
    if rules:
        note(f"rules from a file outside the registry, hash {chosen.rules_hash}")


def simulation_seed(text: str) -> bytes:
    """Return the seed of an option in hex, a fresh one where it is empty; raises UsageError."""
    if not text:
        return os.urandom(SEED_BYTES)
    try:
        seed = bytes.fromhex(text)
    except ValueError as error:
        raise UsageError("--seed", "bytes in hex, such as 00ff", text) from error
    return seed


def _stratum(rules: Any, place: int, row: dict[str, int]) -> dict[str, Any]:
    count, bet = row["rounds"], rules.bet.coins
    mean = row["win_minor"] / count / bet
    spread = max(row["win_minor_squared"] / count / bet**2 - mean**2, 0.0)
    return {
        "strip_set": rules.strip_sets[place].name,
        "rounds": count,
        "win_bets_mean": mean,
        "base_win_bets_mean": row["base_win_minor"] / count / bet,
        "win_bets_sd": sqrt(spread),
        "hit_frequency": row["hits"] / count,
    }


def _figures(rules: Any, mode: str, sums: Any) -> dict[str, Any]:
    """Return the figures of the game's own with what each sum is divided by, and those of money as shares of the RTP."""
    from engines.registry import game_of_rules

    figures = dict(game_of_rules(rules).figures)
    found = dict(zip(figures, sums.figures, strict=True))
    count = sums.total("rounds")
    of = {**found, "rounds": count, "cost": count * rules.cost_minor(mode, rules.bet.coins)}
    rows = {name: {"sum": found[name], "per": per, "ratio": found[name] / of[per] if of[per] else None} for name, per in figures.items()}
    shares = {"base": sums.total("base_win_minor") / of["cost"]}
    shares |= {name.removesuffix("_win_minor"): row["ratio"] for name, row in rows.items() if row["per"] == "cost"}
    return {"rtp_shares": shares, "figures": rows} if rows else {}


def _facts(rules: Any, mode: str, sums: Any, seed: bytes, seconds: float) -> dict[str, Any]:
    from engines.registry import exact_return
    from engines.simulate import SUM_NAMES, estimate_return

    exact = exact_return(rules, mode)
    estimate = estimate_return(rules, mode, sums)
    count, bet = sums.total("rounds"), rules.bet.coins
    mean = sums.total("win_minor") / count / bet
    triggers = sums.total("triggers")
    win_bets_sd = sqrt(max(sums.total("win_minor_squared") / count / bet**2 - mean**2, 0.0))
    interval = estimate._asdict()
    if count < INTERVAL_ROUNDS_MIN or not win_bets_sd:
        interval |= {"rtp_low": None, "rtp_high": None}
    return {
        "schema": "simulate/1",
        "game": rules.game,
        "rules_version": rules.version,
        "rules_hash": rules.rules_hash,
        "mode": mode,
        "rounds": count,
        "seed": seed.hex(),
        **interval,
        "rtp_exact": None if exact is None else f"{exact.numerator}/{exact.denominator}",
        "hit_frequency": sums.total("hits") / count,
        "win_bets_sd": win_bets_sd,
        "rounds_per_feature": count / triggers if triggers else None,
        "feature_spins_mean": sums.total("feature_spins") / triggers if triggers else None,
        "capped": sums.total("capped"),
        "limited": sums.total("limited"),
        "win_bets_max": sums.total("win_minor_max") / bet,
        "strata": [_stratum(rules, place, dict(zip(SUM_NAMES, row, strict=True))) for place, row in enumerate(sums.strata) if row[0]],
        "histogram": sums.histogram,
        **_figures(rules, mode, sums),
        "rounds_per_second": round(count / seconds),
    }


def _figure_line(name: str, row: dict[str, Any]) -> str:
    title = name.replace("_", " ")
    if not row["sum"] or row["per"] != "rounds":
        ratio = "" if row["ratio"] is None else f", {row['ratio']:.4f} for each of the {row['per'].replace('_', ' ')}"
        return f"{title:<25} {row['sum']}{ratio}"
    return f"{title:<25} {row['sum']}, once in {1 / row['ratio']:.1f} rounds"


def _lines(facts: dict[str, Any]) -> list[str]:
    draft = " (draft rules)" if facts["rules_version"].startswith("0.") else ""
    choice = f", choice {facts['choice']}" if "choice" in facts else ""
    rounds = f"{facts['rounds']} rounds, {facts['rounds_per_second']} a second"
    if facts["rtp_low"] is None:
        too_few = facts["rounds"] < INTERVAL_ROUNDS_MIN
        interval = f"interval not meaningful {f'below {INTERVAL_ROUNDS_MIN:,} rounds' if too_few else 'where all wins are the same'}"
    else:
        interval = f"{facts['confidence']:.0%} interval {facts['rtp_low']:.4%} to {facts['rtp_high']:.4%} (normal approximation)"
    lines = [
        f"{facts['game']} {facts['rules_version']}{draft}, {facts['mode']}{choice}: {rounds}",
        f"RTP observed    {facts['rtp_observed']:.4%}, {interval}",
        *([f"RTP exact       {float(Fraction(facts['rtp_exact'])):.6%}"] if facts["rtp_exact"] else []),
        f"hit frequency   {facts['hit_frequency']:.2%}",
        f"volatility      standard deviation {facts['win_bets_sd']:.2f} bets a round",
        f"highest win     {facts['win_bets_max']:.2f} bets; {facts['capped']} rounds capped, {facts['limited']} ended by a technical limit",
    ]
    if facts["rounds_per_feature"]:
        lines.append(
            f"feature         once in {facts['rounds_per_feature']:.1f} rounds, {facts['feature_spins_mean']:.2f} spins on average"
        )
    for row in facts["strata"]:
        lines.append(
            f"strip set {row['strip_set']:<5} {row['rounds']} rounds, {row['win_bets_mean']:.4f} bets a round"
            f" ({row['base_win_bets_mean']:.4f} without features), sd {row['win_bets_sd']:.2f}, hits {row['hit_frequency']:.2%}"
        )
    if "figures" in facts:
        lines.append("shares of RTP   " + ", ".join(f"{part} {share:.4%}" for part, share in facts["rtp_shares"].items()))
        lines += [_figure_line(name, row) for name, row in facts["figures"].items() if row["per"] != "cost"]
    return [*lines, f"seed            {facts['seed']}"]
