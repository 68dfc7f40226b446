"""What a pack holds of the account around its round: as much as it takes to add its balance up, and no more."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit_reports import pack_streams
from audit_reports.bag import read_zip
from audit_reports.evidence_pack import PackTerms, build_pack
from audit_reports.pack_check import check_pack
from engines.registry import installed_game
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.rounds import RoundLedger
from replay.anchors import NO_ANCHORS
from tests.planted_lives import moonlight
from tests.verifier_process import codes

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Played(NamedTuple):
    """A ledger in use, its keys, and an account with money."""

    ledger: RoundLedger
    keys: Path
    account_ref: str

    def pack(self, round_id: str) -> bytes:
        """The pack of a round."""
        return build_pack(self.ledger, round_id, PackTerms(self.keys, NO_ANCHORS), KEY).data


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """A new ledger with one account."""
    with RoundLedger.create(tmp_path / "ledger.db", tmp_path / "keys") as ledger:
        account_ref = ledger.open_account("anna", "EUR")
        ledger.move_funds(account_ref, 1_000_000)
        yield Played(ledger, tmp_path / "keys", account_ref)


def files(pack: bytes) -> dict[str, bytes]:
    """The payload of a pack, by name in data/."""
    return {name.partition("/data/")[2]: content for name, content in read_zip(pack, "pack").items()}


def findings(pack: bytes) -> tuple[list[str], list[str]]:
    """What each of the two checkers finds."""
    return [each.code for each in check_pack(pack, "pack").findings], sorted(codes(pack))


def spell(played: Played) -> str:
    """Play a round of Moon Spell."""
    game = installed_game("moon-spell")
    return played.ledger.play(played.account_ref, game, "base", 2 * game.rules.bet.coins).round_id


def test_a_long_account_is_cut(played: Played) -> None:
    """Of an account that money moved into often the pack has the opening and what was moved meanwhile, says so, and is right."""
    for _ in range(pack_streams.ACCOUNT_APPENDS_MAX):
        played.ledger.move_funds(played.account_ref, 1)
    spell(played)
    played.ledger.move_funds(played.account_ref, 5)
    round_id = spell(played)
    pack = played.pack(round_id)
    inner = files(pack)
    lines = [json.loads(line) for line in inner["streams/account.jsonl"].splitlines()]
    assert [line["index"] for line in lines] == [0, pack_streams.ACCOUNT_APPENDS_MAX + 2]
    assert f"account/{played.account_ref}" in json.loads(inner["pack.json"])["absent"]
    assert findings(pack) == ([], [])
    assert any(text.startswith("record: what was cut out of account/") for text in check_pack(pack, "pack").unchecked)
    assert "balance: follows from one movement of the account to the next" in check_pack(pack, "pack").checked


def test_a_round_that_ended_meanwhile_is_in_the_pack(played: Played) -> None:
    """A round that was interrupted before and goes on while others are played moved the balance between: the pack has it."""
    ledger = played.ledger
    waiting = ledger.open_round(played.account_ref, moonlight(), "buy", 200).round_id
    ledger.play_leg(waiting, moonlight())
    interrupt_round(ledger.store, ledger.recorded(waiting), "connection_lost")
    spell(played)
    before = spell(played)
    resume_interrupted(ledger.store, ledger.recorded(waiting), "player")
    ledger.finish_round(waiting, moonlight())
    round_id = spell(played)
    pack = played.pack(round_id)
    streams = json.loads(files(pack)["pack.json"])["streams"]
    assert (streams[f"round/{before}"], streams[f"round/{waiting}"]) == ("streams/round-before.jsonl", "streams/round-other-1.jsonl")
    rows = json.loads(files(pack)["history.json"])["rounds"]
    assert [row["round_id"] for row in rows] == [waiting, before, round_id]
    assert findings(pack) == ([], [])


def test_more_rounds_than_a_pack_holds_are_said(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many rounds went on meanwhile the pack says that the balance is not added up, and so do those who check it."""
    monkeypatch.setattr(pack_streams, "OTHERS_MAX", 2)
    ledger = played.ledger
    round_id = ledger.open_round(played.account_ref, moonlight(), "buy", 200).round_id
    ledger.play_leg(round_id, moonlight())
    interrupt_round(ledger.store, ledger.recorded(round_id), "connection_lost")
    for _ in range(4):
        spell(played)
    resume_interrupted(ledger.store, ledger.recorded(round_id), "player")
    ledger.finish_round(round_id, moonlight())
    pack = played.pack(round_id)
    assert "rounds in between" in json.loads(files(pack)["pack.json"])["absent"]
    assert findings(pack) == ([], [])
    assert "balance: not all that moved it is in the pack" in check_pack(pack, "pack").unchecked


def test_what_was_recorded_later_is_no_part_of_a_pack(played: Played) -> None:
    """Other accounts' rounds change nothing of a pack as of the same moment but the tree that its leaves stand in."""
    round_id = spell(played)
    first = files(played.pack(round_id))
    other = played.ledger.open_account("bert", "EUR")
    played.ledger.move_funds(other, 10_000)
    second = files(played.pack(round_id))
    assert first["streams/account.jsonl"] == second["streams/account.jsonl"]
    assert "bert" not in base64.b64decode(json.loads(second["streams/account.jsonl"].splitlines()[0])["data"]).decode()
    assert json.loads(first["pack.json"])["tree_size"] < json.loads(second["pack.json"])["tree_size"]
