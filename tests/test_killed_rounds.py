"""A writer that is killed within an append leaves the round where it was, and the next one goes on with it to the same end."""

import os

import pytest

from tests.cut_rounds import RULES_OF, cut_game
from tests.killed_rounds import POINTS, play_killed
from tests.ledger_files import Place, whole_ledger_faults
from tests.whole import fsck_messages

ROUNDS = int(os.environ.get("SLOT_AUDIT_KILLED_ROUNDS", "1"))
NAMES = ("asking", *(name for name in RULES_OF if name != "asking"))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_writer_killed_within_each_append(tmp_path, seed):
    """Killed at each point of each append of a round, writer after writer, the round ends as its key and choices say."""
    place = Place(tmp_path / "ledger.db", tmp_path / "keys")
    name = NAMES[seed % len(NAMES)]
    mode = cut_game(name).rules.modes[-1].name
    assert play_killed(place, name, mode, seed=seed) >= 2 * len(POINTS)
    assert fsck_messages(place.ledger) == []
    assert whole_ledger_faults(place.ledger) == []


def test_a_writer_killed_within_each_append_on_a_server(postgres, tmp_path):
    """On PostgreSQL a killed writer leaves nothing of its transaction either."""
    place = Place(postgres.url(postgres.new_database()), tmp_path / "keys")
    assert play_killed(place, "asking", "base", points=("before the commit",)) >= 4
    assert whole_ledger_faults(place.ledger) == []
