"""Many processes on the same accounts at once, on both databases; and that the look at what they left is not blind."""

import os
from typing import Any

import pytest

from tests.ledger_files import Place, altered, game, new_ledger_at
from tests.load import Load, put_under_load
from tests.reckoning import reckon

PROCESSES, ACCOUNTS, SECONDS = map(int, os.environ.get("SLOT_AUDIT_LOAD", "4 8 2").split())
ENOUGH = 100  # rounds, from which on everything happens that is to happen: a slow machine may come to fewer


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path) -> Place:
    """Give a place for a ledger in a file, then in a database."""
    if request.param == "sqlite":
        return Place(tmp_path / "ledger.db", tmp_path / "keys")
    pytest.importorskip("psycopg")
    server = request.getfixturevalue("postgres")
    return Place(server.url(server.new_database()), tmp_path / "keys")


def test_many_processes_on_the_same_accounts(place, tmp_path):
    """No account has two rounds in play, no balance is wrong, a key is one round, all are as they were told; nothing else is wrong."""
    result = put_under_load(place, Load(PROCESSES, ACCOUNTS, SECONDS), tmp_path)
    assert result.faults == []
    told = result.told
    assert told["settled"]
    if len(result.reckoning.rounds) > ENOUGH:
        assert all(told[word] for word in ("settled again", "opened", "in_play", "short", "moved")), told


def told_of(place: Place) -> list[dict[str, Any]]:
    """Play three rounds, the second twice under its key, leave a fourth in play, and return what was told."""
    with new_ledger_at(place) as (ledger, ref):
        told = [{"told": "moved", "account": ref, "amount": 10**9, "balance": 10**9}]
        for key in ("", "k", "k", ""):
            played = ledger.play(ref, game(), "base", 200, idempotency_key=key)
            won = {"win": played.settled.total_win_minor, "balance": played.settled.balance_after_minor}
            told.append({"told": "settled", "round": played.round_id, "account": ref, "cost": 200, "key": key, **won})
        opened = ledger.open_round(ref, game(), "base", 200)
        balance = opened.event.balance_before_minor - 200
        told.append({"told": "opened", "round": opened.round_id, "account": ref, "cost": 200, "key": "", "balance": balance})
        told.append({"told": "in_play", "round": opened.round_id, "account": ref})
    return told


def test_the_reckoning_follows_a_ledger(tmp_path):
    """Of a whole ledger and what was told of it nothing is wrong."""
    place = Place(tmp_path / "ledger.db", tmp_path / "keys")
    reckoning = reckon(place.ledger, told_of(place))
    assert reckoning.faults == []
    assert (len(reckoning.rounds), len(reckoning.round_by_key)) == (4, 1)


@pytest.mark.parametrize(
    ("line", "change", "fault"),
    [
        (1, {"win": 1}, "win and balance of"),
        (2, {"key": "other"}, "account, cost and key of"),
        (3, {"round": "none"}, "want what was told"),
        (5, {"balance": 1}, "balance of"),
        (5, {"told": "seen", "balance": 10**9}, "rounds that nobody was told of"),
        (6, {"round": "none"}, "round in play of"),
        (0, {"amount": 1}, "funds moved as told"),
    ],
)
def test_the_reckoning_sees_what_was_told_otherwise(tmp_path, line, change, fault):
    """What a caller was told and the record does not hold is named."""
    place = Place(tmp_path / "ledger.db", tmp_path / "keys")
    told = told_of(place)
    told[line] |= change
    assert [found for found in reckon(place.ledger, told).faults if fault in found]


def replaced(before: str, after: str) -> str:
    return f"UPDATE stored_events SET state = replace(state, '{before}', '{after}')"


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE accounts SET balance_minor = balance_minor + 1", "row of"),
        ("UPDATE accounts SET round_in_play = ''", "row of"),
        ("DELETE FROM stored_events WHERE topic = 'round_settled/1'", "rounds in play of"),
        (replaced('"cost_minor":200', '"cost_minor":201'), "balance after"),
        (replaced('"balance_before_minor":1', '"balance_before_minor":2'), "balance before"),
        (replaced('"idempotency_key":""', '"idempotency_key":"k"'), "earlier round under"),
        (replaced('"amount_minor":1', '"amount_minor":2'), "balance after funds moved"),
    ],
)
def test_the_reckoning_sees_what_does_not_follow(tmp_path, statement, fault):
    """A row or event that does not follow from the events before it is named."""
    place = Place(tmp_path / "ledger.db", tmp_path / "keys")
    told = told_of(place)
    altered(place.ledger, statement)
    assert [found for found in reckon(place.ledger, told).faults if fault in found]
