"""The interruption matrix: rounds broken wherever they can break, gone on with in every way, held against the same rounds in one go.

On ledgers of their own in a temporary folder, which are gone afterwards; seeds are fresh, so a row says what must be equal, not what
was won. Causes are those of GLI-19, 4.16.1.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from audit_reports.blocks import Block, Heading, Table, plain
from audit_reports.long_simulation import Configuration, configurations
from engines.game import Game, Outcome
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules
from ledger.bets import Opened, Played
from ledger.interruptions import CAUSES, interrupt_round, resume_interrupted
from ledger.rounds import RoundLedger
from ledger.voids import void_round

__all__ = ["BrokenRound", "broken_blocks", "broken_json", "broken_rounds"]

TRIES_MAX = 3_000  # client seeds, of which one has the round come to a feature
FUNDS_MINOR = 10**9
OUTCOMES = ("round_opened", "choice_made", "round_interrupted", "round_resumed", "round_settled")
AT_EVERY_LEG = "after the bet and after every leg"


class BrokenRound(NamedTuple):
    """One row: how a round of a configuration was broken and gone on with, and what is not as in one go."""

    of: str
    cause: str
    where: str
    goes_on: str
    wrong: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether outcome, win and balance are those of the same round in one go."""
        return not self.wrong


class _Bench:
    """A ledger for one game in a folder, with one account that can pay."""

    def __init__(self, folder: Path, game: Game) -> None:
        self._path, self.game = folder / "ledger.db", game
        self.ledger = RoundLedger.create(self._path)
        self.account = self.ledger.open_account("account of the matrix", "EUR")
        self.ledger.move_funds(self.account, FUNDS_MINOR)

    def restart(self) -> None:
        """Close the ledger and open it again, as by another process."""
        self.ledger.close()
        self.ledger = RoundLedger.open_for_writing(self._path)

    def open(self, configuration: Configuration) -> Opened:
        """Open a round with a client seed by which it comes to a feature, if one of many does."""
        bet_minor, seeds = self.game.rules.bet.coins, itertools.count()
        choices = _choices(self.game.rules, configuration)
        while True:
            number = next(seeds)
            commitment = self.ledger.commitment(self.account)
            key = round_key(self.ledger.seed_of(commitment.epoch), self.game.rules.game, str(number), commitment.next_nonce)
            outcome = self.game.play(key, configuration.mode, bet_minor, self.game.rules.first_state, choices)
            topics = [event.topic for event in outcome.events]
            if number == TRIES_MAX or ("choice_offered/1" in topics if choices else topics.count("spin_started/1") > 1):
                return self.ledger.open_round(self.account, self.game, configuration.mode, bet_minor, client_seed=str(number))

    def in_one_go(self, opened: Opened, choices: Sequence[int]) -> Outcome:
        """Return the outcome of an opened round as its key decides it."""
        event = self.ledger.recorded(opened.round_id).event
        key = round_key(self.ledger.seed_of(event.epoch), event.game, event.client_seed, event.nonce)
        return self.game.play(key, event.mode, event.bet_minor, event.state_in, choices)


def broken_rounds(rules: GameRules) -> Iterator[BrokenRound]:
    """Yield every row, one after the other."""
    game = game_of_rules(rules)
    game.compile()
    for configuration in configurations(rules):
        for cause in CAUSES:
            with TemporaryDirectory() as folder:
                yield _by_player(_Bench(Path(folder), game), configuration, cause)
        with TemporaryDirectory() as folder:
            yield _by_system(_Bench(Path(folder), game), configuration)
        with TemporaryDirectory() as folder:
            yield _void(_Bench(Path(folder), game), configuration)


def _choices(rules: GameRules, configuration: Configuration) -> tuple[int, ...]:
    return (rules.choice_names.index(configuration.choice),) if configuration.choice else ()


def _by_player(bench: _Bench, configuration: Configuration, cause: Any) -> BrokenRound:
    """Break a round after its bet and after each leg, and go on leg by leg; a restart is one of this program as well."""
    choices = _choices(bench.game.rules, configuration)
    opened = bench.open(configuration)
    while True:
        interrupt_round(bench.ledger.store, bench.ledger.recorded(opened.round_id), cause)
        if cause == "system_restarted":
            bench.restart()
        if isinstance(bench.ledger.play_leg(opened.round_id, bench.game, choices or None), Played):
            break
    wrong = tuple(_differences(bench, opened, bench.in_one_go(opened, choices)))
    bench.ledger.close()
    return BrokenRound(configuration.name, cause, AT_EVERY_LEG, "by the player", wrong)


def _by_system(bench: _Bench, configuration: Configuration) -> BrokenRound:
    """Break a round after its bet, and have the system complete it: the first choice where one is left."""
    opened = bench.open(configuration)
    interrupt_round(bench.ledger.store, bench.ledger.recorded(opened.round_id), "connection_lost")
    resume_interrupted(bench.ledger.store, bench.ledger.recorded(opened.round_id), "system")
    bench.ledger.finish_for_player(bench.ledger.recorded(opened.round_id), bench.game)
    first = (0,) if bench.game.rules.choice_names else ()
    wrong = tuple(_differences(bench, opened, bench.in_one_go(opened, first)))
    bench.ledger.close()
    return BrokenRound(configuration.name, "connection_lost", "after the bet", "by the system, first choice", wrong)


def _void(bench: _Bench, configuration: Configuration) -> BrokenRound:
    """Break a round after its first leg and void it, which two people say: the profile's rule pays, and nothing else."""
    opened = bench.open(configuration)
    leg = bench.ledger.play_leg(opened.round_id, bench.game, _choices(bench.game.rules, configuration) or None)
    wrong: tuple[str, ...] = ()
    if not isinstance(leg, Played):
        interrupt_round(bench.ledger.store, bench.ledger.recorded(opened.round_id), "game_disabled")
        reason = {"why": "the game was taken out of service", "by": "A. First", "approved_by": "B. Second"}
        voided = void_round(bench.ledger, opened.round_id, "cannot_continue", **reason)
        pays = max(voided.won_minor, opened.event.cost_minor) if voided.pays == "better_of" else opened.event.cost_minor
        balance = bench.ledger.account(bench.account).balance_minor
        want = opened.event.balance_before_minor - opened.event.cost_minor + pays
        wrong = tuple(
            f"{what}: want {wanted}, got {got}"
            for what, wanted, got in (("refund", pays, voided.refund_minor), ("balance", want, balance))
            if wanted != got
        )
    bench.ledger.close()
    return BrokenRound(configuration.name, "game_disabled", "after the first leg", "void: the profile's refund", wrong)


def _differences(bench: _Bench, opened: Opened, outcome: Outcome) -> Iterator[str]:
    """Yield in what a settled round differs from the same round in one go."""
    rows = bench.ledger.round_events(opened.round_id)
    own = [(row.topic, row.data) for row in rows if row.topic.partition("/")[0] not in OUTCOMES]
    if own != [(event.topic, event.data) for event in outcome.events]:
        yield f"game events: want {len(outcome.events)} as in one go, got {len(own)}, or others"
    if not rows[-1].topic.startswith("round_settled/"):
        yield f"end: want round_settled, got {rows[-1].topic}"
    balance = bench.ledger.account(bench.account).balance_minor
    wanted = opened.event.balance_before_minor - opened.event.cost_minor + outcome.total_win_minor
    if balance != wanted:
        yield f"balance: want {wanted}, got {balance}"


def broken_json(rows: Sequence[BrokenRound]) -> dict[str, Any]:
    """Return the matrix as `interruptions.json` has it."""
    return {
        "schema": "interruptions/1",
        "rows": [{**row._asdict(), "wrong": list(row.wrong), "result": "pass" if row.passes else "fail"} for row in rows],
    }


def broken_blocks(rows: Sequence[BrokenRound]) -> Iterator[Block]:
    """Yield the section of the report."""
    yield Heading(2, "Interruptions", "interruptions")
    yield plain("Rounds that come to a feature, each recorded in a ledger of its own, by the game's own rules.")
    yield plain("Game events, win and balance in the end are those of the same round in one go, to the byte; a void round pays its refund.")
    heads = ("wager", "cause", "broken", "gone on", "result")
    table = tuple(
        (row.of, row.cause.replace("_", " "), row.where, row.goes_on, "pass" if row.passes else f"FAIL: {'; '.join(row.wrong)}")
        for row in rows
    )
    yield Table("rounds broken off", heads, table)
