"""Corrections, incidents and erasures in a file: the contract, what fsck finds of a writer that lies, and bytes that are gone."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.corrections import correct_balance, correct_round
from ledger.errors import TextInvalid
from ledger.forgetting import forget_account
from ledger.incidents import INCIDENT_TEXTS, IncidentFileUnreadable, load_incident, record_incident
from ledger.lifecycle_events import CorrectionRecorded, FundsMoved
from ledger.rounds import RoundLedger
from tests.choosing_game import choosing
from tests.contracts.alterations_contract import TWO, AlterationsContract, faults_of, report_of
from tests.ledger_files import Place, altered, game, new_ledger, play_some, rows

FILE = """
cause = "a cable"
review = "the logs of the reel controller"
repair = "a new cable"
integrity = "audit builds list, no differences"
began_at = 2026-11-30T15:00:00+01:00
restored_at = 2026-11-30T14:30:00Z
reason = "the link was lost"
is_recovered = true
recovery = "every round was finished"
rounds = []
"""
BASE = {"element": "balance_minor", "incident_id": "", "corrected_at_us": 1}
HASHES = dict.fromkeys(("why_hash", "corrected_by_hash", "approved_by_hash"), "ab" * 32)


@pytest.fixture
def new_place(tmp_path: Path) -> Callable[[], Place]:
    """Give a function that makes a place for a new ledger in a file."""

    def make() -> Place:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return Place(folder / "ledger.db", folder / "keys")

    return make


class TestSQLiteAlterations(AlterationsContract):
    """The contract, on SQLite."""


def correction(**fields: object) -> EventBytes:
    """Return a correction of a balance as a writer that lies could write it."""
    return event_bytes(CorrectionRecorded(alteration_id="ab" * 16, **{**BASE, **HASHES, **fields}))  # type: ignore[arg-type]


def moved(amount_minor: int, balance_minor: int, reason: str = "correction") -> EventBytes:
    """Return a movement."""
    event = FundsMoved(amount_minor=amount_minor, reason=reason, balance_after_minor=balance_minor, moved_at_us=1)  # type: ignore[arg-type]
    return event_bytes(event)


LIES: dict[str, tuple[list[EventBytes], int, list[str]]] = {
    "a movement for no correction": ([moved(5, 1005)], 5, ["correction_missing"]),
    "another amount": ([correction(before="1000", after="1005", movement_version=4), moved(6, 1006)], 6, ["correction_movement"]),
    "another balance before": ([correction(before="999", after="1005", movement_version=4), moved(6, 1006)], 6, ["correction_before"]),
    "another version": ([correction(before="1000", after="1005", movement_version=9), moved(5, 1005)], 5, ["correction_movement"]),
    "another reason": (
        [correction(before="1000", after="1005", movement_version=4), moved(5, 1005, "deposit")],
        5,
        ["correction_movement"],
    ),
    "no movement": ([correction(before="1000", after="1005", movement_version=4)], 0, ["correction_movement"]),
    "two corrections": (
        [correction(before="1000", after="1005", movement_version=4)] * 2 + [moved(5, 1005)],
        5,
        ["correction_movement", "correction_movement"],
    ),
    "another element": ([correction(element="currency", before="EUR", after="JPY", movement_version=0)], 0, ["correction_element"]),
    "an incident that is none": (
        [correction(before="1000", after="1005", movement_version=4, incident_id="cd" * 16), moved(5, 1005)],
        5,
        ["incident_unknown"],
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_correction_that_does_not_add_up(tmp_path: Path, name: str) -> None:
    """What a correction says and what is moved must agree, in one place and in order; else it is found, each cause once."""
    events, amount_minor, codes = LIES[name]
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path, balance_minor=1000) as (ledger, ref):
        ledger.store.correct_account(ref, amount_minor, lambda account, now: events, texts=[])
    found = faults_of(path)
    assert len(found) == len(codes), found
    wanted = {"correction_missing": "want a correction_recorded directly before it", "incident_unknown": "want one recorded before it"}
    for code, message in zip(codes, found, strict=True):
        assert wanted.get(code, "correction_recorded") in message


def test_a_correction_of_a_round_in_play_is_found(tmp_path: Path) -> None:
    """A writer that corrects a round before its end is found, and so is a game event behind a settlement's correction."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        opened = ledger.open_round(ref, game(), "base", 200)
        event = correction(element="round_opened.channel", before="", after="x", movement_version=0)
        ledger.store.correct_round(opened.round_id, 1, lambda now: event, texts=[])
    assert [message for message in faults_of(path) if "one that was settled before" in message]


def test_a_second_leaf_of_a_settled_round_must_follow(tmp_path: Path) -> None:
    """Behind a settlement versions go on without a gap, also for the second correction, on the fast path and on the slow one."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = play_some(ledger, ref, 1)[0]
        for after in ("1", "2", "3"):
            correct_round(ledger, round_id, "round_opened.channel", after, "why", *TWO)
    assert faults_of(path) == []
    altered(path, "UPDATE accounts SET currency = 'USD'")  # nothing of the tree: the fast path goes on
    assert len(faults_of(path)) == 1
    altered(path, "UPDATE accounts SET currency = 'EUR'", "UPDATE leaves SET recorded_at_us = recorded_at_us + 1 WHERE leaf_index = 1")
    messages = faults_of(path)  # the slow path: of the leaf and the nodes over it, nothing of what follows
    assert messages
    assert not [message for message in messages if "versions" in message or "correction" in message]
    altered(
        path,
        "UPDATE leaves SET recorded_at_us = recorded_at_us - 1 WHERE leaf_index = 1",
        "DELETE FROM stored_events WHERE topic = 'correction_recorded/1' AND originator_version = (SELECT max(originator_version) - 1 FROM "
        "stored_events WHERE topic = 'correction_recorded/1')",
    )
    assert any("want an event, got none" in message for message in faults_of(path))
    altered(path, f"UPDATE rounds SET version = version - 1 WHERE round_id = '{round_id}'")
    assert any(f"version in rounds {round_id}" in message for message in faults_of(path))


def test_corrected_rounds_are_held_against_their_rows_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of rounds that were corrected, and of one that waits, are the wanted ones without going over the ledger once more."""
    with new_ledger(tmp_path) as (ledger, ref):
        for round_id in play_some(ledger, ref, 3)[:2]:
            for after in ("1", "2"):
                correct_round(ledger, round_id, "round_opened.channel", after, "why", *TWO)
        record_incident(ledger, report_of([round_id]), *TWO)
        ledger.play_to_choice(ref, choosing(), "base", 200)
    passes: list[object] = []
    monkeypatch.setattr("ledger.fsck._round_faults", lambda *given: passes.append(given) or ())
    assert faults_of(tmp_path / "ledger.db") == []
    assert not passes
    altered(tmp_path / "ledger.db", f"UPDATE rounds SET version = version - 1 WHERE round_id = '{round_id}'")
    assert faults_of(tmp_path / "ledger.db") == []
    assert len(passes) == 1


def test_incidents_that_cannot_be(tmp_path: Path) -> None:
    """An incident twice, about a round that was not opened before it, ended before it began, or on another stream is found."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        event = record_incident(ledger, report_of(play_some(ledger, ref, 1)), *TWO)
        wrong = event.model_copy(update={"incident_id": "cd" * 16, "round_ids": ("nothing",), "restored_at_us": 1})
        ledger.store.append_events("ledger", 3, [event_bytes(event)])
        ledger.store.append_events("ledger", 4, [event_bytes(wrong)])
        ledger.store.append_events("epoch/9", 1, [event_bytes(event.model_copy(update={"incident_id": "ef" * 16}))])
    messages = faults_of(path)
    assert len(messages) == 4
    for words in ("want one, got another", "when it began, got 1", "want one opened before it, got nothing", "want ledger, got epoch/9"):
        assert any(words in message for message in messages), messages


def test_erased_bytes_are_gone_from_the_file(tmp_path: Path) -> None:
    """After forgetting, no byte of the name or of an erased text is in the file of the ledger or in its log."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as ledger:
        ref = ledger.open_account("Zofia Kowalska of Gdynia", "EUR")
        ledger.move_funds(ref, 100_000)
        round_ids = play_some(ledger, ref, 3)
        record_incident(ledger, report_of(round_ids, "Kowalska " * 1000), *TWO)
        correct_balance(ledger, ref, 10, "Kowalska called", *TWO)
        assert any(b"Kowalska" in file.read_bytes() for file in tmp_path.glob("ledger.db*") if file.is_file())
        forget_account(ledger, ref, *TWO)
        assert not [file for file in tmp_path.glob("ledger.db*") if file.is_file() and b"Kowalska" in file.read_bytes()]
        play_some(ledger, ref, 1)
    assert not [file for file in tmp_path.glob("ledger.db*") if file.is_file() and b"Kowalska" in file.read_bytes()]
    assert faults_of(path) == []
    assert rows(path, "SELECT count(*) FROM account_names") == [(0,)]


def test_a_whole_file_is_an_incident(tmp_path: Path) -> None:
    """The six parts are read, times with any offset."""
    path = tmp_path / "incident.toml"
    path.write_text(FILE)
    report = load_incident(path)
    assert (report.restored_at - report.began_at).total_seconds() == 1800
    assert report.cause == "a cable"


@pytest.mark.parametrize("part", sorted(tomllib.loads(FILE)))
def test_no_part_may_be_missing(tmp_path: Path, part: str) -> None:
    """Each of the parts that GLI-19, B.2.1(e) asks for must be there."""
    path = tmp_path / "incident.toml"
    path.write_text("\n".join(line for line in FILE.splitlines() if not line.startswith(part)))
    with pytest.raises(IncidentFileUnreadable, match=f"{part}: want one of its six parts, got Field required"):
        load_incident(path)


@pytest.mark.parametrize(
    ("old", "new", "where", "reason"),
    [
        ('cause = "a cable"', 'cause = ""', "cause", "at least 1 character"),
        ('cause = "a cable"', "cause = 5", "cause", "valid string"),
        ("14:30:00Z", "13:59:59Z", "restored_at", "before it began"),
        ("T14:30:00Z", "T14:30:00", "restored_at", "timezone"),
        ("2026-11-30T14:30:00Z", '"2026-11-30T14:30:00Z"', "restored_at", "valid datetime"),
        ("rounds = []", "rounds = [5]", "rounds.0", "valid string"),
        ("rounds = []", f"rounds = {['r'] * 1001}", "rounds", "at most 1000"),
        ("rounds = []", "rounds = [", "the file", "no TOML"),
        ("rounds = []", "rounds = []\nseverity = 1", "severity", "Extra inputs"),
    ],
)
def test_what_no_incident_can_say(tmp_path: Path, old: str, new: str, where: str, reason: str) -> None:
    """A part that is empty, of another kind, or a time that cannot be is refused with its place."""
    path = tmp_path / "incident.toml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(IncidentFileUnreadable) as caught:
        load_incident(path)
    assert caught.value.where == where
    assert reason in caught.value.reason


@pytest.mark.parametrize("text", [" ", "a\\u0000b", "x" * 10_000 + " y"])
def test_texts_that_are_none(tmp_path: Path, text: str) -> None:
    """Blanks alone, the character 0 and more than ten thousand characters are refused."""
    path = tmp_path / "incident.toml"
    path.write_text(FILE.replace("a cable", text))
    with pytest.raises((TextInvalid, IncidentFileUnreadable)):
        load_incident(path)
    assert len(INCIDENT_TEXTS) == 6
    with pytest.raises(IncidentFileUnreadable, match="one that cannot be read"):
        load_incident(tmp_path / "none.toml")
