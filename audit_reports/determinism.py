"""Determinism: the same rounds come to the same bytes, whichever kernel plays them, how often, in which process and at which bet."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from audit_reports.blocks import Block, Heading, Table, plain
from audit_reports.long_simulation import Configuration, configurations
from engines.digest import PINNED_ROUNDS, append_form, pinned_digest
from engines.game import Game, Outcome
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules

__all__ = ["Same", "determinism", "determinism_blocks", "determinism_json"]

ROUNDS = 300  # of each configuration, played by both kernels
SEED = bytes(range(32))
HASH_SEED = "4242"  # of the other process


class Same(NamedTuple):
    """One row: what was done in two ways, of which configuration, over how many rounds, and what each came to."""

    what: str
    of: str
    rounds: int
    first: str
    second: str

    @property
    def passes(self) -> bool:
        """Whether both ways came to the same."""
        return self.first == self.second


def determinism(rules: GameRules) -> Iterator[Same]:
    """Yield every row, one after the other."""
    plain_game, game = game_of_rules(rules), game_of_rules(rules)
    game.compile()
    for configuration in configurations(rules):
        by_plain = _digest(_outcomes(plain_game, configuration, rules.bet.coins))
        by_machine = _digest(_outcomes(game, configuration, rules.bet.coins))
        yield Same("plain and compiled kernel", configuration.name, ROUNDS, by_plain, by_machine)
        yield _by_bet(game, configuration)
    for mode in rules.modes:
        digest = pinned_digest(game, mode.name)
        yield Same(f"this and another process, hash seed {HASH_SEED}", mode.name, PINNED_ROUNDS, digest, _elsewhere(rules, mode.name))


def _outcomes(game: Game, configuration: Configuration, bet_minor: int) -> Iterator[Outcome]:
    rules, state = game.rules, game.rules.first_state
    choices = (rules.choice_names.index(configuration.choice),) if configuration.choice else ()
    for nonce in range(ROUNDS):
        outcome = game.play(round_key(SEED, rules.game, "", nonce), configuration.mode, bet_minor, state, choices)
        state = outcome.state_out
        yield outcome


def _digest(outcomes: Iterator[Outcome]) -> str:
    total = sha256()
    for outcome in outcomes:
        total.update(append_form(outcome.events))
    return total.hexdigest()


def _by_bet(game: Game, configuration: Configuration) -> Same:
    """Hold the wins at the highest bet against those at the lowest, in proportion: why the RTP is the same at every bet."""
    bet = game.rules.bet
    wins = {
        coin: [outcome.total_win_minor for outcome in _outcomes(game, configuration, coin * bet.coins)]
        for coin in (bet.coin_minor_min, bet.coin_minor_max)
    }
    low, high = (
        sha256(",".join(str(win * other) for win in wins[coin]).encode()).hexdigest()
        for coin, other in ((bet.coin_minor_min, bet.coin_minor_max), (bet.coin_minor_max, bet.coin_minor_min))
    )
    return Same("wins in proportion at the lowest and the highest bet", configuration.name, ROUNDS, low, high)


def _elsewhere(rules: GameRules, mode: str) -> str:
    """Return the pinned digest as another process has it, under a hash seed of its own; the rules go there as JSON."""
    program = (
        "import importlib, sys; from engines.registry import game_of_rules; from engines.digest import pinned_digest\n"
        "model = importlib.import_module(sys.argv[1]).Rules; game = game_of_rules(model.model_validate_json(sys.stdin.read()))\n"
        "game.compile(); print(pinned_digest(game, sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": HASH_SEED}
    command = [sys.executable, "-c", program, type(rules).__module__, mode]
    done = subprocess.run(command, input=rules.model_dump_json(), env=environment, capture_output=True, text=True)
    return done.stdout.strip() or f"no digest: {done.stderr.strip()[-200:]}"


def determinism_json(rows: Sequence[Same]) -> dict[str, Any]:
    """Return the report as `determinism.json` has it."""
    return {
        "schema": "determinism/1",
        "seed": SEED.hex(),
        "rows": [{**row._asdict(), "result": "pass" if row.passes else "fail"} for row in rows],
    }


def determinism_blocks(rows: Sequence[Same]) -> Iterator[Block]:
    """Yield the section of the report."""
    yield Heading(2, "Determinism", "determinism")
    yield plain("A round follows from its key, rules, state and choices alone. Digests are SHA-256 over recorded bytes, or over wins.")
    table = tuple((row.what, row.of, f"{row.rounds:,}", row.first[:16], row.second[:16], "pass" if row.passes else "FAIL") for row in rows)
    heads = ("done in two ways", "of", "rounds", "one way", "the other", "result")
    yield Table("the same rounds in two ways; digests by their first sixteen digits", heads, table, frozenset((2,)))
