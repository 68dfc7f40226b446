"""Registered builds in the record: who, what, once; and what the check of a whole ledger says of rounds by others."""

import json
from pathlib import Path

import pytest

from engines.registry import InstalledBuild, installed_builds
from ledger.approval import ApproverSame
from ledger.builds import BuildKnown, register_builds, registrations
from ledger.codec import event_bytes
from ledger.errors import LedgerReadOnly, TextInvalid
from ledger.fsck import Fault, check_ledger
from ledger.rounds import RoundLedger
from ledger.store import TextRow
from ledger.texts import is_own_text, salted_text
from tests.fake_game import FakeGame
from tests.ledger_files import altered, new_ledger, rows, whole_ledger_faults

BUILDS = installed_builds("moonlight-princess")[-1:]
ROGUE = FakeGame(fingerprint="cd" * 32)
APPROVED = FakeGame(fingerprint=BUILDS[0].fingerprint)


def faults_of(path: Path) -> list[Fault]:
    return [fault for fault in check_ledger(path) if fault is not None]


def other_build(fingerprint: str) -> InstalledBuild:
    return BUILDS[0]._replace(fingerprint=fingerprint)


def test_a_registration_is_an_event_of_the_ledger(tmp_path: Path) -> None:
    """Game, rules, fingerprint and manifest are recorded in one append, the record stays whole, and it reads back the same."""
    with new_ledger(tmp_path) as (ledger, _):
        events = register_builds(ledger, BUILDS, "Ann", "Bob")
        assert [(found.event, found.event_index) for found in registrations(ledger)] == [(events[0], 1)]
        assert (events[0].game, events[0].engine_fingerprint) == (BUILDS[0].game, BUILDS[0].fingerprint)
        assert events[0].sources == BUILDS[0].sources
        assert events[0].registered_at_us > 0
        assert [append.version_first for append in ledger.store.stream_appends("ledger")] == [1, 2]
    assert whole_ledger_faults(tmp_path / "ledger.db") == []
    assert faults_of(tmp_path / "ledger.db") == []


def test_names_are_no_part_of_the_record(tmp_path: Path) -> None:
    """Event bytes hold salted hashes alone: the same name never hashes the same twice, and can be erased unseen by any proof."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, _):
        first = register_builds(ledger, BUILDS, "Zofia Kowalska", "Bob")[0]
        second = register_builds(ledger, [other_build("ee" * 32)], "Zofia Kowalska", "Bob")[0]
        assert first.registered_by_hash != second.registered_by_hash
        row = ledger.store.text(first.registered_by_hash)
        assert row is not None
        assert (row.content, is_own_text(row)) == ("Zofia Kowalska", True)
    assert all(b"Zofia" not in data for (data,) in rows(path, "SELECT state FROM stored_events"))
    altered(path, "DELETE FROM texts")
    with RoundLedger.open_for_reading(path) as ledger:
        assert ledger.store.text(first.registered_by_hash) is None
    assert whole_ledger_faults(path) == []


def test_an_altered_text_is_not_its_hash_s() -> None:
    """Another text, another salt, or a salt that is none, is seen."""
    row = salted_text("Ann")
    assert is_own_text(row)
    for other in (row._replace(content="Anna"), row._replace(salt="00" * 32), TextRow(row.text_hash, "no hex", "Ann")):
        assert not is_own_text(other)


def test_a_build_is_registered_once(tmp_path: Path) -> None:
    """The same build again is refused; together with a new one only the new one is recorded."""
    with new_ledger(tmp_path) as (ledger, _):
        register_builds(ledger, BUILDS, "Ann", "Bob")
        with pytest.raises(
            BuildKnown, match=f"build {BUILDS[0].game} {BUILDS[0].rules_version} {BUILDS[0].fingerprint}: want one that is not registered"
        ):
            register_builds(ledger, BUILDS, "Ann", "Bob")
        fresh = other_build("ee" * 32)
        assert [event.engine_fingerprint for event in register_builds(ledger, [*BUILDS, fresh], "Ann", "Bob")] == [fresh.fingerprint]
        assert len(registrations(ledger)) == 2


@pytest.mark.parametrize(
    ("by", "approved_by", "error"),
    [
        ("Ann", "Ann", ApproverSame),
        ("Ann", " ann ", ApproverSame),
        ("", "Bob", TextInvalid),
        ("Ann", "  ", TextInvalid),
        ("Ann", "B" * 300, TextInvalid),
        ("A\0nn", "Bob", TextInvalid),
    ],
)
def test_two_people_are_needed(tmp_path: Path, by: str, approved_by: str, error: type[Exception]) -> None:
    """One person twice, whatever the case, and a name that is none, are refused, and nothing is recorded."""
    with new_ledger(tmp_path) as (ledger, _):
        before = ledger.store.tree()
        with pytest.raises(error):
            register_builds(ledger, BUILDS, by, approved_by)
        assert ledger.store.tree() == before
    assert rows(tmp_path / "ledger.db", "SELECT count(*) FROM texts") == [(0,)]


def test_who_only_reads_cannot_register(tmp_path: Path) -> None:
    """A ledger opened for reading takes no registration."""
    with new_ledger(tmp_path):
        pass
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as ledger, pytest.raises(LedgerReadOnly):
        register_builds(ledger, BUILDS, "Ann", "Bob")


def test_fsck_finds_a_build_that_was_not_registered(tmp_path: Path) -> None:
    """Rounds before the first registration are not judged; after it one by another build is found, one by its own is not."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        ledger.play(ref, ROGUE, "base", 200)
        register_builds(ledger, BUILDS, "Ann", "Bob")
        ledger.play(ref, APPROVED, "base", 200)
        rogue_id = ledger.play(ref, ROGUE, "base", 200).round_id
        register_builds(ledger, [other_build(ROGUE.fingerprint)], "Ann", "Bob")
        ledger.play(ref, ROGUE, "base", 200)
    found = [(fault.code, fault.stream, fault.got) for fault in faults_of(path) if fault.code != "build_manifest"]
    assert found == [("build_unapproved", f"round/{rogue_id}", ROGUE.fingerprint)]


def test_fsck_finds_a_registration_that_cannot_be(tmp_path: Path) -> None:
    """A manifest of another fingerprint, a second registration, and one on another stream are found."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        (event,) = register_builds(ledger, BUILDS[:1], "Ann", "Bob")
        sources = {**event.sources, "engines/rng.py": "00" * 32}
        ledger.store.append_events("ledger", 3, [event_bytes(event.model_copy(update={"sources": sources}))])
        ledger.store.append_events(f"account/{ref}", 3, [event_bytes(event)])
    assert [fault.code for fault in faults_of(path)] == ["build_manifest", "build_twice", "build_stream"]


def test_a_ledger_from_before_there_were_texts(tmp_path: Path) -> None:
    """It reads as one without names, gets the table with its first registration, and that reads back."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path):
        pass
    altered(path, "DROP TABLE texts")
    with RoundLedger.open_for_reading(path) as ledger:
        assert ledger.store.text("00" * 32) is None
    with RoundLedger.open_for_writing(path) as ledger:
        events = register_builds(ledger, BUILDS, "Ann", "Bob")
        row = ledger.store.text(events[0].approved_by_hash)
        assert row is not None
        assert row.content == "Bob"
    assert whole_ledger_faults(path) == []


def test_the_bytes_are_canonical(tmp_path: Path) -> None:
    """The recorded bytes are the sorted, compact JSON of the event, every field there."""
    with new_ledger(tmp_path) as (ledger, _):
        register_builds(ledger, BUILDS, "Ann", "Bob")
        data = ledger.store.stream_events("ledger")[1].data
    values = json.loads(data)
    assert json.dumps(values, sort_keys=True, separators=(",", ":")).encode() == data
    assert sorted(values) == [
        "approved_by_hash",
        "engine_fingerprint",
        "game",
        "kind",
        "registered_at_us",
        "registered_by_hash",
        "rules_hash",
        "rules_version",
        "sources",
        "v",
    ]
