"""Right packs to make wrong ones of: two small ledgers whose every leaf is in the pack of their middle or last round."""

import json
import random
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit_reports.evidence_pack import PackTerms, build_pack
from engines.registry import installed_game
from engines.rng import round_key
from ledger.checkpoints import sign_tree
from ledger.disclosure import reveal_seed
from ledger.rounds import RoundLedger
from replay.anchors import Anchors, GivenCheckpoint

__all__ = ["CASE", "RightPacks", "right_packs", "settled_pack"]

GAME = "moonlight-princess"
BET_MINOR, DEPOSIT_MINOR = 200, 100_000
CASE = {
    "claimant": "A. Player",
    "claimed_minor": 1200,
    "currency": "EUR",
    "claimed_at": "2026-11-30T14:00:00+01:00",
    "question": "Was the bonus round paid in full?",
}
_BUILDER = Ed25519PrivateKey.from_private_bytes(b"builder of the right packs ".ljust(32, b"."))


class RightPacks(NamedTuple):
    """A pack of a round that is over, its seed revealed; one of a round in play, and what only the house has: that round's key."""

    settled: bytes
    in_play: bytes
    key_in_play: bytes


def right_packs(folder: Path) -> RightPacks:
    """Return the packs of two ledgers made in a folder."""
    in_play, key = _in_play(folder / "in-play.db")
    return RightPacks(settled_pack(folder / "settled.db", CASE), in_play, key)


def _dealt_alike() -> Any:
    """Return a context in which every run draws the same seeds, so that a wrong pack has the same rounds in each."""
    return patch("os.urandom", random.Random(4).randbytes)


def settled_pack(path: Path, case: Mapping[str, Any]) -> bytes:
    """Return the pack, with a question, of the second of three rounds of one epoch: a bonus with wins, a prize and a multiplier."""
    game, signed = installed_game(GAME), []
    with _dealt_alike(), RoundLedger.create(path) as ledger:
        keys = path.with_name(path.name + ".keys")
        account_ref = ledger.open_account("player", "EUR")
        ledger.move_funds(account_ref, DEPOSIT_MINOR)
        ledger.play(account_ref, game, "base", BET_MINOR, client_seed=_client_seed(ledger, account_ref, "base", _wins_twice))
        signed.append(sign_tree(ledger, keys).signed)
        client_seed = _client_seed(ledger, account_ref, "buy", _is_many_sided)
        round_id = ledger.play(account_ref, game, "buy", BET_MINOR, client_seed=client_seed).round_id
        ledger.move_funds(account_ref, -500, "withdrawal")
        ledger.play(account_ref, game, "base", BET_MINOR)
        epoch = ledger.opening(round_id).epoch
    with RoundLedger.open_for_writing(path) as ledger:
        reveal_seed(ledger, epoch)
        signed.append(sign_tree(ledger, keys).signed)
        return _pack(ledger, round_id, keys, signed, case)


def _in_play(path: Path) -> tuple[bytes, bytes]:
    """Return the pack of a bonus that is left after its first leg, and the key of that round."""
    game, keys = installed_game(GAME), path.with_name(path.name + ".keys")
    with _dealt_alike(), RoundLedger.create(path) as ledger:
        account_ref = ledger.open_account("player", "EUR")
        ledger.move_funds(account_ref, DEPOSIT_MINOR)
        ledger.play(account_ref, game, "base", BET_MINOR)
        opened = ledger.open_round(account_ref, game, "buy", BET_MINOR)
        ledger.play_leg(opened.round_id, game)
        event = opened.event
        key = round_key(ledger.seed_of(event.epoch), event.game, event.client_seed, event.nonce)
        return _pack(ledger, opened.round_id, keys, [sign_tree(ledger, keys).signed], CASE), key


def _pack(ledger: RoundLedger, round_id: str, keys: Path, signed: list[Any], case: Mapping[str, Any]) -> bytes:
    anchors = Anchors(tuple(GivenCheckpoint(f"{each.checkpoint.tree_size}.checkpoint", each) for each in signed))
    return build_pack(ledger, round_id, PackTerms(keys, anchors, case=case), _BUILDER).data


def _client_seed(ledger: RoundLedger, account_ref: str, mode: str, fits: Callable[[list[Any]], bool]) -> str:
    """Return the first client seed that leads to a round that fits, which only who holds the seeds can tell."""
    game, shown = installed_game(GAME), ledger.commitment(account_ref)
    seed = ledger.seed_of(shown.epoch)
    for number in count():
        outcome = game.play(round_key(seed, GAME, f"client-{number}", shown.next_nonce), mode, BET_MINOR, {}, ())
        if fits([json.loads(event.data) for event in outcome.events]):
            break
    return f"client-{number}"


def _wins_twice(events: list[Any]) -> bool:
    return sum(event["kind"] == "win" for event in events) > 1


def _is_many_sided(events: list[Any]) -> bool:
    """Return whether a bonus has few wins, in two free spins or more, one of them multiplied, and is not cut."""
    kinds = [event["kind"] for event in events]
    ends = [event for event in events if event["kind"] == "spin_ended"]
    winning = [event for event in ends[1:] if event["award_minor"]]
    return kinds.count("win") < 16 and len(winning) > 2 and any(event["spin_multiplier"] > 1 for event in ends) and "cap_hit" not in kinds
