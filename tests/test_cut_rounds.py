"""A round that is cut off where a round can be ends with the game events, the win and the balance of one that is not."""

import os

import pytest

from tests.cut_rounds import RULES_OF, live_cut_rounds
from tests.ledger_files import Place, whole_ledger_faults
from tests.whole import fsck_messages

ROUNDS = int(os.environ.get("SLOT_AUDIT_CUT_ROUNDS", "2"))  # of each game in each mode


@pytest.mark.parametrize("name", RULES_OF)
def test_a_round_cut_off_at_any_boundary_ends_as_one_that_was_not(tmp_path, name):
    """Interrupted at every leg boundary, or its writer lost there, a round is what its key and choices lead to; nobody finds a fault."""
    place = Place(tmp_path / "ledger.db", tmp_path / "keys")
    counts, wrong = live_cut_rounds(place, name, ROUNDS, 1)
    assert wrong == []
    assert fsck_messages(place.ledger) == []
    assert whole_ledger_faults(place.ledger) == []
    assert counts["boundaries"] > counts["rounds"] >= ROUNDS
    assert counts["interrupt"] + counts["drop"] + counts["interrupt and drop"] > 0
