"""The exported lines hold each event at its place, byte for byte."""

import json

import pytest

from ledger.errors import RoundUnknown
from ledger.export import export_all, export_round
from ledger.rounds import RoundLedger
from tests.ledger_files import altered, game, new_ledger, play_some


def test_lines_of_a_round(tmp_path):
    """Index and append count from 0 in the stream, times are the leaf's, and the event's bytes stand in the line as they are."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        (round_id,) = play_some(ledger, account_ref, 1)
        lines = list(export_round(ledger, round_id))
        events, appends = ledger.round_events(round_id), ledger.store.stream_appends(f"round/{round_id}")
        assert len(lines) == len(events) > 4
        for number, (line, event) in enumerate(zip(lines, events, strict=True)):
            leaf = appends[min(number, 1)]
            assert json.loads(line) == {
                "round_id": round_id,
                "stream": f"round/{round_id}",
                "index": number,
                "append": min(number, 1),
                "recorded_at": leaf.recorded_at_us,
                "event": json.loads(event.data),
            }
            assert b'"event":' + event.data + b"}" in line
        assert list(export_round(ledger, round_id, is_canonical=True)) == [event.data for event in events]


def test_all_rounds_in_the_order_of_opening(tmp_path):
    """All rounds follow each other, a round's events together, also where rounds were open at the same time."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        other = ledger.open_account("bob", "EUR")
        ledger.move_funds(other, 1000)
        opened = ledger.open_round(other, game(), "base", 200)
        ids = [opened.round_id, *play_some(ledger, account_ref, 2)]
        ledger.finish_round(opened.round_id, game())
        assert list(export_all(ledger)) == [line for round_id in ids for line in export_round(ledger, round_id)]
        assert list(export_all(ledger, is_canonical=True)) == [event.data for round_id in ids for event in ledger.round_events(round_id)]
        with pytest.raises(RoundUnknown):
            export_round(ledger, "nothing")


def test_altered_bytes_are_shown_as_what_they_are(tmp_path):
    """Bytes that are no JSON are exported in hex, and an event that no append covers has none."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        (round_id,) = play_some(ledger, account_ref, 1)
    altered(
        tmp_path / "ledger.db",
        f"UPDATE stored_events SET state = x'7b0a' WHERE originator_id = 'round/{round_id}' AND originator_version = 2",
        f"DELETE FROM leaves WHERE stream = 'round/{round_id}' AND version_first = 2",
    )
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        line = json.loads(list(export_round(reader, round_id))[1])
    assert (line["event"], line["event_hex"], line["append"], line["recorded_at"]) == (None, "7b0a", -1, 0)
