"""Rounds that are cut off where a round can be, gone on with in every way there is, and held against what their key leads to."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engines.game import Outcome
from engines.game_events import GAME_EVENTS
from engines.registry import GAMES, game_of_rules, installed_game
from engines.rng import round_key
from engines.rules import load_rules
from ledger.bets import Game, Opened, Played, Waiting
from ledger.held import held_rounds
from ledger.interruptions import CAUSES, interrupt_round
from ledger.merkle import append_form
from ledger.rounds import RoundLedger
from replay.verification import Verifier
from tests.ledger_files import Place

__all__ = ["CUTS", "RULES_OF", "CutRounds", "check_round", "cut_game", "live_cut_rounds", "telling_seed"]

CUTS = ("interrupt", "drop", "interrupt and drop")
ROOT = Path(__file__).resolve().parent
# The installed games, and test rules that ask and go on more often.
RULES_OF: dict[str, str] = {
    **{name: name for name in GAMES},
    "asking": "stargazing-referee.toml",
    "pictures": "moonlight-pictures.toml",
}
TRIES = 800  # client seeds that are looked through for a round of several legs


def cut_game(name: str) -> Game:
    """Return the game that a name of RULES_OF stands for."""
    rules = RULES_OF[name]
    return game_of_rules(load_rules(ROOT / "rules" / rules)) if rules.endswith(".toml") else installed_game(rules)


def _own(data: bytes) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(data)
    return values


def outcome_of(game: Game, opened: Opened, choices: list[int]) -> tuple[Outcome, list[int]]:
    """Return what a round's key leads to with these choices, where they end with the first of what is offered, and all choices made."""
    made = list(choices)
    event = opened.event
    while True:
        outcome = game.play(opened.key, event.mode, event.bet_minor, dict(event.state_in), made)
        offers = [_own(each.data)["choices"] for each in outcome.events if each.topic == "choice_offered/1"]
        if not outcome.wants_choice:
            return outcome, made[: len(offers)]
        made.append(offers[-1][0])


def telling_seed(
    ledger: RoundLedger, account_ref: str, game: Game, mode: str, bet_minor: int, *, choice: int = 0, spins_max: int = 10**6
) -> str:
    """Return a client seed under which the account's next round has several spins, "" where none of those tried does.

    Of a game that asks, it is a round that asks, and with this choice has so many spins at most.
    """
    shown = ledger.commitment(account_ref)
    seed = ledger.seed_of(shown.epoch)
    for number in range(TRIES):
        key = round_key(seed, game.rules.game, str(number), shown.next_nonce)
        outcome = game.play(key, mode, bet_minor, dict(game.rules.first_state), [choice] if game.rules.choice_names else [])
        topics = [event.topic for event in outcome.events]
        if 2 <= topics.count("spin_started/1") <= spins_max and ("choice_offered/1" in topics) == bool(game.rules.choice_names):
            return str(number)
    return ""


def check_round(ledger: RoundLedger, round_id: str, game: Game, choices: list[int], balance_before: int) -> None:
    """Raise AssertionError unless a settled round is what its key and these choices lead to, however it was cut into appends."""
    opened = ledger.recorded(round_id)
    outcome, made = outcome_of(game, opened, choices)
    rows = ledger.round_events(round_id)
    played = [(row.topic, row.data) for row in rows if row.topic.partition("/")[0] in GAME_EVENTS]
    assert played == [(event.topic, event.data) for event in outcome.events], round_id
    settled = _own(rows[-1].data)
    assert settled["kind"] == "round_settled"
    wins = (settled["total_win_minor"], settled["base_win_minor"], settled["feature_win_minor"])
    assert wins == (outcome.total_win_minor, outcome.base_win_minor, outcome.feature_win_minor)
    assert settled["state_out"] == outcome.state_out
    assert settled["balance_after_minor"] == balance_before - opened.event.cost_minor + outcome.total_win_minor
    assert settled["outcome_digest"] == hashlib.sha256(append_form([data for _, data in played])).hexdigest()
    assert settled["round_digest"] == hashlib.sha256(append_form([row.data for row in rows[:-1]])).hexdigest()
    assert [_own(row.data)["choice"] for row in rows if row.topic == "choice_made/1"] == made
    account = ledger.store.account(opened.event.account_ref)
    assert account is not None
    assert (account.balance_minor, account.round_in_play) == (settled["balance_after_minor"], "")
    assert ledger.store.interrupted_round(opened.event.account_ref, opened.event.game) == ""
    kept = ledger.store.round(round_id)
    assert kept is not None
    assert (kept.status, kept.version) == ("settled", len(rows))


class CutRounds:
    """One ledger whose writer may be lost at any moment, and an account that plays one game on it."""

    def __init__(self, place: Place, game: Game, chance: random.Random) -> None:
        self.place, self.game, self.chance = place, game, chance
        self.counts: Counter[str] = Counter()
        self.ledger = RoundLedger.create(place.ledger, place.keys_dir)
        self.ref = self.ledger.open_account("alice", "EUR")
        self.ledger.move_funds(self.ref, 10**12)

    def drop(self) -> None:
        """Lose the writer as a crash does, the epoch open, and come back with another."""
        self.ledger.factory.close()
        self.ledger._is_closed = True
        self.ledger = self.place.open_for_writing()

    def balance(self) -> int:
        """Return the account's balance."""
        account = self.ledger.store.account(self.ref)
        assert account is not None
        return account.balance_minor

    def slot(self) -> str:
        """Return the round that takes the account's slot."""
        account = self.ledger.store.account(self.ref)
        assert account is not None
        return account.round_in_play

    def cut(self, round_id: str, cut: str) -> None:
        """Cut a round off where it is; its cost stays held, and nothing else of it is paid or known."""
        if "interrupt" in cut:
            opened, balance = self.ledger.recorded(round_id), self.balance()
            acked = self.chance.randint(-1, len(opened.later))
            acked_at = opened.event.opened_at_us if acked >= 0 else 0
            interrupt_round(self.ledger.store, opened, self.chance.choice(CAUSES), acked_index=acked, acked_at_us=acked_at)
            assert self.balance() == balance
            assert [(held.round_id, held.standing, held.held_minor) for held in held_rounds(self.ledger)] == [
                (round_id, "interrupted", opened.event.cost_minor)
            ]
        if "drop" in cut:
            self.drop()
        self.counts[cut] += 1

    def live(self, mode: str, bet_minor: int, choices: list[int], cut_of: Callable[[int], str], *, ends_at: int, client_seed: str) -> str:
        """Play a round from bet to settlement, cut as `cut_of` says at each boundary, and return its id.

        From boundary `ends_at` on it is finished in one go; choices that are not given are the system's then.
        """
        before = self.balance()
        opened = self.ledger.open_round(self.ref, self.game, mode, bet_minor, client_seed=client_seed)
        round_id, boundary, offers, made = opened.round_id, 0, 0, list(choices)
        while True:
            if cut := cut_of(boundary):
                self.cut(round_id, cut)
            assert self.balance() == before - opened.event.cost_minor
            if boundary == ends_at:
                self.ledger.finish_round(round_id, self.game, made)
                break
            found = self.ledger.play_leg(round_id, self.game, made[:offers])
            if isinstance(found, Played):
                break
            assert self.slot() == round_id
            if isinstance(found, Waiting):
                offers += 1
                made += [found.offered[-1]] if offers > len(made) else []
                self.counts["offers"] += 1
            boundary += 1
        self.counts["rounds"] += 1
        self.counts["boundaries"] += boundary + 1
        check_round(self.ledger, round_id, self.game, made, before)
        return round_id


def live_cut_rounds(place: Place, name: str, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Play rounds of a game in each of its modes, half of them cut at every boundary, half at one, each with choices of its own.

    Returns how often what happened, and what a verification says of rounds in which it finds anything; raises AssertionError where a
    round is not what its key and choices lead to.
    """
    game, chance = cut_game(name), random.Random(f"cut {name} {seed}")
    rounds = CutRounds(place, game, chance)
    wrong: list[str] = []
    for number in range(count):
        for mode in game.rules.modes:
            bet_minor = game.rules.bet.coins * min(10, game.rules.bet.coin_minor_max)
            choices = (
                [chance.randrange(len(game.rules.choice_names)) for _ in range(chance.randint(0, 1))] if game.rules.choice_names else []
            )
            client_seed = telling_seed(rounds.ledger, rounds.ref, game, mode.name, bet_minor)
            if number % 2:
                place_cut, cut = chance.randrange(12), chance.choice(CUTS)
                terms: dict[str, Any] = {"cut_of": lambda at, where=place_cut, how=cut: how if at == where else "", "ends_at": place_cut}
            else:
                terms = {"cut_of": lambda _: chance.choice(CUTS), "ends_at": -1}
            round_id = rounds.live(mode.name, bet_minor, choices, client_seed=client_seed, **terms)
            wrong += _what_a_verdict_says(rounds, round_id)
    rounds.ledger.close()
    return rounds.counts, wrong


def _what_a_verdict_says(rounds: CutRounds, round_id: str) -> list[str]:
    with rounds.place.open_for_reading() as reader:
        found = Verifier(reader, keys_dir=rounds.place.keys_dir, rules=rounds.game.rules).verify(round_id)
    is_cut = any(row.topic.startswith("round_interrupted/") for row in rounds.ledger.round_events(round_id))
    wanted = "incomplete_resolved" if is_cut else "reproduced"
    said = [finding.message for finding in found.findings if finding.severity != "warning"]
    return said if found.verdict == wanted else [*said, f"{round_id}: {found.verdict}, {wanted} wanted"]
