"""Rounds broken off at the end of each leg, by an interruption, by their writer's death or both, held against the same round in one go.

What is wanted comes from the game alone: `Game.play` of the recorded key. Digests, legs and money are worked out here once more.
"""

import hashlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

from engines.game import EventBytes, Game, Outcome
from engines.registry import GAMES, game_of_rules, installed_game
from engines.rng import round_key
from engines.rules import load_rules
from ledger.bets import Opened, Played, Waiting
from ledger.interruptions import CAUSES, interrupt_round
from ledger.rounds import RoundLedger
from tests.conftest import ROOT
from tests.ledger_files import Place
from tests.moon_spell_rounds import MANY_MOONS
from tests.stargazing_rules import CAPPED, FREE, RESONANT
from tests.starlight_rounds import VARIANTS

__all__ = ["KINDS", "WAYS", "Kind", "dealt_seeds", "differences", "kind_game", "live", "open_one"]

# At the end of each leg: an interruption, the writer's death, both, or by chance; `finished` goes on by chance in one go.
WAYS = ("interrupted", "dropped", "both", "by chance", "finished")
OWN_KINDS = ("round_opened", "choice_made", "round_interrupted", "round_resumed", "round_settled")
TRIES = {False: 300, True: 3000}  # client seeds, of which one has the round come to a feature, or to a choice
ASKING = ("moon-princess-stargazing", "stargazing by free spins")
_TEST_RULES = {
    "starlight-wins by short strips": VARIANTS["short strips"],
    "starlight-wins by low caps": VARIANTS["low cap"],
    "moon-spell by many Moons": MANY_MOONS,
    "stargazing by free spins": FREE,
    "stargazing by Resonances": RESONANT,
    "stargazing by a low cap": CAPPED,
}
_TEST_FILES = {"moonlight by a low cap": "moonlight-cap", "stargazing by pictures": "stargazing-pictures"}


class Kind(NamedTuple):
    """A game by the name that it has here, a mode, and what is chosen where it asks."""

    game: str
    mode: str
    choices: tuple[int, ...]


@cache
def kind_game(name: str) -> Game:
    """Return a game: an installed one, or one by test rules that come to its features often."""
    if name in GAMES:
        return installed_game(name)
    if name in _TEST_FILES:
        return game_of_rules(load_rules(ROOT / "tests" / "rules" / f"{_TEST_FILES[name]}.toml"))
    return game_of_rules(_TEST_RULES[name])


def _kinds() -> Iterator[Kind]:
    for name in (*GAMES, *_TEST_FILES, *_TEST_RULES):
        rules = kind_game(name).rules
        for mode, choice in itertools.product(rules.modes, range(max(1, len(rules.choice_names)))):
            yield Kind(name, mode.name, (choice,) * 3 if rules.choice_names else ())


KINDS = tuple(_kinds())


@contextmanager
def dealt_seeds(text: str) -> Iterator[None]:
    """Deal seeds that follow from a text, so that rounds come again."""
    numbers = itertools.count()
    with patch("ledger.epochs.new_seed", lambda: hashlib.sha256(f"{text} {next(numbers)}".encode()).digest()):
        yield


def open_one(ledger: RoundLedger, account_ref: str, kind: Kind, *, is_rare: bool) -> Opened:
    """Open a round, where wanted with a client seed by which it has more legs than one, or asks for a choice."""
    game = kind_game(kind.game)
    bet_minor, seeds = 2 * game.rules.bet.coins, itertools.count()
    while True:
        client_seed = str(next(seeds))
        commitment = ledger.commitment(account_ref)
        key = round_key(ledger.seed_of(commitment.epoch), game.rules.game, client_seed, commitment.next_nonce)
        is_asked = kind.game in ASKING
        if not is_rare or int(client_seed) >= TRIES[is_asked] or _is_rare(_outcome(game, kind, key, bet_minor), is_asked=is_asked):
            return ledger.open_round(account_ref, game, kind.mode, bet_minor, client_seed=client_seed)


def _is_rare(outcome: Outcome, *, is_asked: bool) -> bool:
    return any(event.topic == "choice_offered/1" for event in outcome.events) if is_asked else bool(_leg_ends(outcome.events))


def _outcome(game: Game, kind: Kind, key: bytes, bet_minor: int, state: dict[str, int] | None = None) -> Outcome:
    return game.play(key, kind.mode, bet_minor, dict(game.rules.first_state) if state is None else state, kind.choices)


def _leg_ends(events: Sequence[EventBytes]) -> list[int]:
    """Return before which of the game events a leg begins, apart from the code under test."""
    topics = [event.topic for event in events]
    return [n for n in range(1, len(topics)) if topics[n] == "spin_started/1" or topics[n - 1] == "choice_offered/1"]


def differences(ledger: RoundLedger, round_id: str, kind: Kind, *, by_system: bool = False, is_by_legs: bool = False) -> list[str]:
    """Return in what a settled round differs from the same round played in one go; is_by_legs: each leg is an append of its own."""
    rows = ledger.round_events(round_id)
    bodies = [json.loads(row.data) for row in rows]
    opened, settled = bodies[0], bodies[-1]
    key = round_key(ledger.seed_of(opened["epoch"]), opened["game"], opened["client_seed"], opened["nonce"])
    assert key == ledger.recorded(round_id).key
    outcome = _outcome(kind_game(kind.game), kind, key, opened["bet_minor"], opened["state_in"])
    own = [EventBytes(row.topic, row.data) for row in rows if row.topic.partition("/")[0] not in OWN_KINDS]
    offers = sum(event.topic == "choice_offered/1" for event in outcome.events)
    asked = [place for place, body in enumerate(bodies) if body["kind"] == "choice_offered"]
    made = [(body["choice"], body["made_by"]) for body in bodies if body["kind"] == "choice_made"]
    ended = "auto_completed" if by_system and outcome.ended == "played" else outcome.ended
    wins = (outcome.total_win_minor, outcome.base_win_minor, outcome.feature_win_minor)
    pairs: dict[str, tuple[Any, Any]] = {
        "last event": ("round_settled", settled["kind"]),
        "game events": (list(outcome.events), own),
        "choices": ([(choice, "system" if by_system else "player") for choice in kind.choices[:offers]], made),
        "what follows an offer": (["choice_made"] * offers, [_after(bodies, place) for place in asked]),
        "wins": (wins, tuple(settled.get(name) for name in ("total_win_minor", "base_win_minor", "feature_win_minor"))),
        "end": (ended, settled.get("ended")),
        "state": (outcome.state_out, settled.get("state_out")),
        "outcome digest": (_digest([event.data for event in outcome.events]), settled.get("outcome_digest")),
        "round digest": (_digest([row.data for row in rows[:-1]]), settled.get("round_digest")),
        "balance": (opened["balance_before_minor"] - opened["cost_minor"] + wins[0], settled.get("balance_after_minor")),
    }
    if is_by_legs:
        appends = ledger.store.stream_appends(f"round/{round_id}")
        firsts = {row.version for number, row in enumerate(_game_rows(rows)) if number in (0, *_leg_ends(outcome.events))}
        starts = {each.version_first for each in appends}
        pairs["starts of legs"] = (True, firsts <= starts | {version + 1 for version in starts})  # a choice may stand before it
        pairs["number of legs"] = (len(firsts), len(appends) - 1 - sum(body["kind"] in OWN_KINDS[2:4] for body in bodies))
    return [
        f"{name} of {round_id}, {kind}: want {str(want)[:200]}, got {str(got)[:200]}" for name, (want, got) in pairs.items() if want != got
    ]


def _game_rows(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row.topic.partition("/")[0] not in OWN_KINDS]


def _after(bodies: Sequence[dict[str, Any]], place: int) -> str:
    kinds = (body["kind"] for body in bodies[place + 1 :] if body["kind"] not in ("round_interrupted", "round_resumed"))
    return str(next(kinds, ""))


def _digest(data: Sequence[bytes]) -> str:
    return hashlib.sha256(b"".join(len(each).to_bytes(4, "big") + each for each in data)).hexdigest()


class Writer:
    """A ledger open for writing, whose writer may go away like one that was killed."""

    def __init__(self, place: Place) -> None:
        self.place, self.ledger = place, place.open_for_writing()

    def drop(self) -> None:
        """Have another writer take over; this one's epochs stay open."""
        self.ledger.factory.close()
        self.ledger._is_closed = True
        self.ledger = self.place.open_for_writing()


def live(writer: Writer, round_id: str, kind: Kind, way: str, chance: random.Random) -> Counter[str]:
    """Play an opened round leg by leg, break it off at the end of each in a way, and return what was done how often."""
    game, told = kind_game(kind.game), Counter[str](rounds=1)
    choices: tuple[int, ...] = ()
    while True:
        told["boundaries"] += 1
        does = ("interrupt", "drop") if way == "both" else {"interrupted": ("interrupt",), "dropped": ("drop",)}.get(way)
        for act in (
            does if does is not None else chance.choice([(), ("interrupt",), ("drop",), ("interrupt", "drop"), ("drop", "interrupt")])
        ):
            told[f"{act}s" if act == "interrupt" else "drops"] += 1
            if act == "interrupt":
                interrupt_round(writer.ledger.store, writer.ledger.recorded(round_id), chance.choice(CAUSES))
            else:
                writer.drop()
        if way == "finished" and not chance.randrange(4):
            writer.ledger.finish_round(round_id, game, kind.choices)
            return told
        given = choices if chance.randrange(2) else kind.choices  # all that is to be chosen may be said at once
        played = writer.ledger.play_leg(round_id, game, given)
        if isinstance(played, Played):
            return told
        told["legs"] += 1
        if isinstance(played, Waiting):
            told["waits"] += 1
            choices = kind.choices[: len(choices) + 1] if given == choices else kind.choices
