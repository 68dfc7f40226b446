"""Records of what was shown, on SQLite and on PostgreSQL, and what fsck finds of a writer that lies in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.lifecycle_events import PresentationAcked, PresentationSent
from ledger.presentations import PresentationRefused
from ledger.table_rows import TableRows
from tests.contracts.alterations_contract import faults_of
from tests.contracts.presentations_contract import PresentationsContract, show
from tests.ledger_files import Place, altered, game, new_ledger, play_some, rows
from tests.postgres_server import PostgresServer


class TestSqlitePresentations(PresentationsContract):
    """The contract, on SQLite."""

    @pytest.fixture
    def new_place(self, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a place for a new ledger."""
        return lambda: Place(tmp_path / "ledger.db", tmp_path / "keys")


class TestPostgresPresentations(PresentationsContract):
    """The contract, on PostgreSQL."""

    @pytest.fixture
    def new_place(self, postgres: PostgresServer, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a database for a new ledger."""
        return lambda: Place(postgres.url(postgres.new_database()), tmp_path / "keys")


def sent(**fields: object) -> EventBytes:
    """Return a record of what was shown as a writer that lies could write it."""
    plain = {"through_index": 3, "spin_index": 0, "spin_win_minor": 0, "total_win_minor": 0, "balance_minor": -1, "manifest_hash": ""}
    return event_bytes(PresentationSent(**{**plain, "session_ref": "", "channel": "", "sent_at_us": 1, **fields}))  # type: ignore[arg-type]


def acked(sent_index: int) -> EventBytes:
    """Return an acknowledgement of an event."""
    return event_bytes(PresentationAcked(sent_index=sent_index, total_win_minor=-1, acked_at_us=1))


LIES: dict[str, tuple[Callable[[int], list[EventBytes]], list[str]]] = {
    "of what comes later": (lambda count: [sent(through_index=count)], ["presentation_order"]),
    "of the opening": (lambda _: [sent(through_index=0)], ["presentation_order"]),
    "acknowledged before it is sent": (lambda count: [acked(count + 1), sent()], ["presentation_order"]),
    "acknowledges itself": (lambda count: [sent(), acked(count + 1)], ["presentation_order"]),
    "right": (lambda count: [sent(), acked(count)], []),
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("is_over", [True, False])
def test_a_record_of_what_cannot_have_been_shown_is_found(tmp_path: Path, name: str, is_over: bool) -> None:
    """Of an event that comes later, that is the opening, or that is itself; behind a settlement or while the round is in play."""
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = play_some(ledger, ref, 1)[0] if is_over else ledger.open_round(ref, game(), "base", 200).round_id
        if not is_over:
            leg = [EventBytes(*row[2:]) for row in ledger.round_events(play_some_of_another(ledger))[1:-1]]
            ledger.store.leave_round(round_id, 1, lambda _: leg, status="open")
        events_of, wanted = LIES[name]
        count = len(ledger.round_events(round_id))
        ledger.store.show_round(round_id, events_of(count))
    found = faults_of(tmp_path / "ledger.db")
    assert len(found) == len(wanted), found
    assert all("event named by presentation_" in message for message in found)


def play_some_of_another(ledger: object) -> str:
    """Play a round of another account and return its id."""
    other = ledger.open_account("bob", "EUR")  # type: ignore[attr-defined]
    ledger.move_funds(other, 1000)  # type: ignore[attr-defined]
    return play_some(ledger, other, 1)[0]  # type: ignore[arg-type]


def test_records_of_no_round_are_found(tmp_path: Path) -> None:
    """In the stream of a round that was never opened, first or later, and in that of an account."""
    with new_ledger(tmp_path) as (ledger, ref):
        play_some(ledger, ref, 1)
        ledger.store.append_events("round/none", 1, [sent()])
        ledger.store.append_events(f"account/{ref}", 3, [sent(through_index=1)])
    found = faults_of(tmp_path / "ledger.db")
    assert sum("round of presentation_sent: want one opened before it" in message for message in found) == 2, found


def test_nothing_else_comes_in_with_what_was_shown(tmp_path: Path) -> None:
    """An append behind a round's end that begins with what was shown and goes on with something else is found, wherever that stands."""
    with new_ledger(tmp_path) as (ledger, ref):
        ids = play_some(ledger, ref, 3)
        for round_id, place in zip(ids, (0, 1, 2), strict=True):
            events = [sent(), sent()]
            events.insert(place, EventBytes(*ledger.round_events(round_id)[1][2:]))
            ledger.store.show_round(round_id, events)
    found = faults_of(tmp_path / "ledger.db")
    for round_id in ids:
        assert any(f"round/{round_id}" in message and "versions from" in message for message in found), found


ALTERED = {
    "an amount": "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), '\"total_win_minor\":', '\"total_win_minor\":9') "
    "AS BLOB) WHERE topic = 'presentation_sent/1'",
    "a topic": "UPDATE stored_events SET topic = 'presentation_acked/1' WHERE topic = 'presentation_sent/1'",
    "a topic of another type": "UPDATE stored_events SET topic = CAST(topic AS BLOB) WHERE topic = 'presentation_sent/1'",
    "gone": "DELETE FROM stored_events WHERE topic = 'presentation_acked/1'",
    "all gone": "DELETE FROM stored_events WHERE topic LIKE 'presentation%'",
    "the version of the row": "UPDATE rounds SET version = version - 1",
}


@pytest.mark.parametrize("name", ALTERED)
def test_what_is_altered_is_found(tmp_path: Path, name: str) -> None:
    """A byte, a topic, an event, a leaf's events, the row's version."""
    with new_ledger(tmp_path) as (ledger, ref):
        for round_id in play_some(ledger, ref, 2):
            show(ledger, round_id)
    assert faults_of(tmp_path / "ledger.db") == []
    altered(tmp_path / "ledger.db", ALTERED[name])
    found = faults_of(tmp_path / "ledger.db")
    assert len(found) >= 2
    assert all(any(round_id in message for message in found) for (round_id,) in rows(tmp_path / "ledger.db", "SELECT round_id FROM rounds"))


def test_rounds_that_were_shown_are_held_against_their_rows_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many they are, the ledger is gone over once."""
    monkeypatch.setattr("ledger.recomputed_rounds.PAGE_ROWS", 8)
    with new_ledger(tmp_path) as (ledger, ref):
        ids = play_some(ledger, ref, 1)
        for _ in range(60):
            ids += play_some(ledger, ref, 1)
            show(ledger, ids[-2])  # while the next is played
    passes: list[object] = []
    monkeypatch.setattr("ledger.fsck._round_faults", lambda *given: passes.append(given) or ())
    assert faults_of(tmp_path / "ledger.db") == []
    assert not passes
    altered(tmp_path / "ledger.db", f"UPDATE rounds SET version = version - 1 WHERE round_id = '{ids[30]}'")
    faults_of(tmp_path / "ledger.db")
    assert len(passes) == 1


def test_rounds_that_ended_last_are_remembered_and_older_ones_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a round has come to is not looked up where it ended a while ago, and is the same where it ended long ago, shown many times."""
    with new_ledger(tmp_path) as (ledger, ref):
        ids = play_some(ledger, ref, 6)
        for round_id in (*ids, *ids):
            show(ledger, round_id)
    asked: list[str] = []

    def settled_version(rows_: TableRows, stream: str, leaf_index: int) -> int:
        asked.append(stream)
        return read(rows_, stream, leaf_index)

    read = TableRows.settled_version
    monkeypatch.setattr(TableRows, "settled_version", settled_version)
    assert faults_of(tmp_path / "ledger.db") == []
    assert asked == []
    monkeypatch.setattr("ledger.over_rounds.KEPT_MAX", 2)
    assert faults_of(tmp_path / "ledger.db") == []
    assert set(asked) == {f"round/{round_id}" for round_id in ids[:4]}


def test_the_error_says_what_to_do() -> None:
    """Which, wanted, found, what to do."""
    error = PresentationRefused("r1", "event shown", "the index of a spin_ended in its stream", "3, drop", "they are at 5")
    assert str(error) == "event shown of round r1: want the index of a spin_ended in its stream, got 3, drop; they are at 5"
    assert error.exit_status == 2
