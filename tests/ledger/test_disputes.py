"""Disputes, legal hold and retention in a file: the contract, what fsck finds of a writer that lies, answer times, ledgers kept."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.canonical import CanonicalFormError
from engines.game import EventBytes
from ledger.codec import event_bytes
from ledger.disputes import Dispute, answer_time, close_dispute, disputes, disputes_among, open_dispute
from ledger.legal_hold import holds, rounds_on_hold
from ledger.lifecycle_events import DisputeClosed, DisputeOpened
from ledger.named_profiles import NamedProfiles
from ledger.profile import default_profile, shipped_profile
from ledger.profile_setting import ProfileAltered, set_profile
from ledger.retention import round_records, weigh_retention
from ledger.rounds import RoundLedger
from tests.conftest import ROOT
from tests.contracts.alterations_contract import TWO, faults_of
from tests.contracts.disputes_contract import DisputesContract, profile_with, weighed
from tests.ledger_files import Place, altered, new_ledger, play_some, rows

HASH = "ab" * 32
KEPT = [ROOT / "tests" / "golden" / "ledgers" / issue / "ledger.db" for issue in ("issue-2", "issue-4", "issue-5")]


@pytest.fixture
def new_place(tmp_path: Path) -> Callable[[], Place]:
    """Give a function that makes a place for a new ledger in a file."""

    def make() -> Place:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return Place(folder / "ledger.db", folder / "keys")

    return make


class TestSQLiteDisputes(DisputesContract):
    """The contract, on SQLite."""


def opening(round_ids: tuple[str, ...], dispute_id: str = "cd" * 16, **fields: Any) -> DisputeOpened:
    """Return an opening as a writer that lies could write it."""
    given: dict[str, Any] = {"claimant_ref": "", "received_at_us": 5, "recorded_at_us": 9, **fields}
    return DisputeOpened(dispute_id=dispute_id, round_ids=round_ids, claim_hash=HASH, recorded_by_hash=HASH, **given)


def closing(dispute_id: str = "cd" * 16, **fields: Any) -> DisputeClosed:
    """Return a closing as a writer that lies could write it."""
    given: dict[str, Any] = {"answered_at_us": 6, "closed_at_us": 9, "decision": "upheld", **fields}
    return DisputeClosed(dispute_id=dispute_id, answer_hash=HASH, closed_by_hash=HASH, approved_by_hash=HASH, **given)


ROUND = "ROUND"  # stands for one of the ledger's
LIES: dict[str, tuple[list[DisputeOpened | DisputeClosed], list[tuple[str, str, str]]]] = {
    "nothing": ([opening((ROUND,)), closing()], []),
    "opened twice": ([opening((ROUND,)), opening((ROUND,))], [("dispute_twice", "one", "another")]),
    "closed and not opened": ([closing()], [("dispute_unknown", "one opened before it", "cd" * 16)]),
    "closed before it is opened": ([closing(), opening((ROUND,))], [("dispute_unknown", "one opened before it", "cd" * 16)]),
    "closed twice": ([opening((ROUND,)), closing(), closing()], [("dispute_closed_twice", "one", "another")]),
    "a round that is none": ([opening((ROUND, "nothing"))], [("dispute_round", "one opened before it", "nothing")]),
    "no round": ([opening(())], [("dispute_round", "one at least", "none")]),
    "an account that is none": (
        [opening((ROUND,), claimant_ref="ef" * 16)],
        [("account_unknown", "an account that was opened", "ef" * 16)],
    ),
    "received later": ([opening((ROUND,), received_at_us=10)], [("dispute_times", "9 or earlier, when it was recorded", "10")]),
    "answered earlier": (
        [opening((ROUND,)), closing(answered_at_us=4)],
        [("dispute_times", "between 5, when it came in, and 9, when it was closed", "4")],
    ),
    "answered later": (
        [opening((ROUND,)), closing(answered_at_us=10)],
        [("dispute_times", "between 5, when it came in, and 9, when it was closed", "10")],
    ),
}


def found_by_fsck(path: Path) -> list[tuple[str, str, str]]:
    """Return code, want and got of all faults."""
    from ledger.fsck import check_ledger

    return [(fault.code, fault.want, fault.got) for fault in check_ledger(path) if fault is not None]


@pytest.mark.parametrize("name", LIES)
def test_disputes_that_cannot_be(tmp_path: Path, name: str) -> None:
    """What a writer that lies records of disputes is found, each cause once; what may be is not."""
    events, wanted = LIES[name]
    with new_ledger(tmp_path) as (ledger, ref):
        (round_id,) = play_some(ledger, ref, 1)
        for version, event in enumerate(events, 2):
            if isinstance(event, DisputeOpened):
                round_ids = tuple(round_id if each == ROUND else each for each in event.round_ids)
                event = event.model_copy(update={"round_ids": round_ids})
            ledger.store.append_events("ledger", version, [event_bytes(event)])
    assert found_by_fsck(tmp_path / "ledger.db") == wanted


def test_disputes_elsewhere_and_in_another_form(tmp_path: Path) -> None:
    """One on another stream, about a round that is opened later, or with a field too few is found; and one about a round in play is not."""
    from tests.ledger_files import game

    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        round_id = ledger.open_round(ref, game(), "base", 200).round_id
        ledger.store.append_events("ledger", 2, [event_bytes(opening((round_id,)))])
    assert found_by_fsck(path) == []
    with RoundLedger.open_for_writing(path) as ledger:
        ledger.store.append_events("epoch/9", 1, [event_bytes(opening((round_id,), "12" * 16))])
        ledger.store.append_events("epoch/9", 2, [event_bytes(closing())])
        data = event_bytes(opening((round_id,), "34" * 16)).data.replace(b'"claimant_ref":"",', b"")
        ledger.store.append_events("ledger", 3, [EventBytes("dispute_opened/1", data)])
    assert found_by_fsck(path) == [
        ("dispute_stream", "ledger", "epoch/9"),
        ("dispute_stream", "ledger", "epoch/9"),
        ("event_fields", "those of its version, each of its type", "claimant_ref missing"),
    ]


def test_an_altered_dispute_is_no_dispute_and_no_clean_ledger(tmp_path: Path) -> None:
    """Whoever alters one has fsck against him, and a reader that goes by it stops."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        open_dispute(ledger, play_some(ledger, ref, 1), "short", 5, "Ann")
    swap(path, "dispute_opened/1", '_at_us":5', '_at_us":4')
    assert len(faults_of(path)) >= 1
    altered(path, "UPDATE stored_events SET topic = 'dispute_closed/1' WHERE topic = 'dispute_opened/1'")
    with RoundLedger.open_for_reading(path) as reader, pytest.raises(CanonicalFormError):
        disputes(reader.store)


def swap(path: Path, topic: str, old: str, new: str, stream: str = "") -> None:
    """Put other text into the events of a topic, in one stream or in all."""
    where = f"topic = '{topic}'" + (f" AND originator_id = '{stream}'" if stream else "")
    altered(path, f"UPDATE stored_events SET state = replace(state, '{old}', '{new}') WHERE {where}")


def test_profiles_whose_values_nobody_knows_hold(tmp_path: Path) -> None:
    """A round that names a profile that is neither recorded nor shipped is held and stays; altered values stop whoever needs them."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        set_profile(ledger.store, profile_with("2.0.0", holds=False, days=1), *TWO)
        round_ids = play_some(ledger, ref, 2)
        open_dispute(ledger, round_ids, "short", 5, "Ann")
    with RoundLedger.open_for_reading(path) as reader:
        assert rounds_on_hold(disputes(reader.store), NamedProfiles(reader.store)) == {}
    named, unknown = '"profile_hash":"', '"profile_hash":"0123'
    swap(path, "round_opened/1", named, unknown)
    with RoundLedger.open_for_reading(path) as reader:
        assert rounds_on_hold(disputes(reader.store), NamedProfiles(reader.store)).keys() == set(round_ids)
        assert weighed(reader, 2**52) == [("rounds", None, 2, 0, 0, 0, 0, 0), ("complaints", None, 1, 1, 0, 0, 0, 0)]
    swap(path, "round_opened/1", unknown, named, f"round/{round_ids[0]}")
    with RoundLedger.open_for_reading(path) as reader:  # of one of two rounds it is known
        assert [row[:3] for row in weighed(reader, 2**52)] == [("rounds", None, 1), ("rounds", 1, 1), ("complaints", None, 1)]
    swap(path, "round_opened/1", unknown, named)
    swap(path, "profile_set/1", '"within_days":3', '"within_days":4')
    with RoundLedger.open_for_reading(path) as reader, pytest.raises(ProfileAltered):
        rounds_on_hold(disputes(reader.store), NamedProfiles(reader.store))
    assert holds(None)


@given(st.lists(st.integers(1, 36_525), min_size=1, max_size=4), st.integers(0, 2**50), st.integers(0, 3))
def test_the_strictest_profile_counts(days: list[int], received_at_us: int, unknown_count: int) -> None:
    """An answer is due as many days after the receipt as the least of the profiles has; unknown ones say nothing."""
    profiles = [profile_with(f"{number}.0.0", within_days=each) for number, each in enumerate(days)]
    dispute = Dispute(opening((ROUND,), received_at_us=received_at_us), None)
    due = answer_time(dispute, [*profiles, *[None] * unknown_count])
    assert due is not None
    assert due.due_at_us == received_at_us + min(days) * 86_400_000_000
    assert due.profile.answer.within_days == min(days)
    assert answer_time(dispute, [None] * unknown_count) is None


@given(
    st.lists(
        st.sampled_from(
            [opening((ROUND,), each * 16) for each in ("aa", "bb")]
            + [closing(each * 16, decision=how) for each in ("aa", "bb") for how in ("upheld", "settled")]
        )
    )
)
def test_the_first_opening_and_the_first_closing_behind_it_count(events: list[Any]) -> None:
    """Whatever the order of events, a dispute is there once, from its first opening on, and closed where a closing comes later."""
    found = {dispute.dispute_id: dispute for dispute in disputes_among(events)}
    for dispute_id in ("aa" * 16, "bb" * 16):
        mine = [event for event in events if event.dispute_id == dispute_id]
        kinds = [event.kind for event in mine]
        assert (dispute_id in found) == ("dispute_opened" in kinds)
        if dispute_id in found:
            behind = mine[kinds.index("dispute_opened") :]
            assert found[dispute_id].closed == next((event for event in behind if event.kind == "dispute_closed"), None)


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.parent.name)
def test_ledgers_from_before_there_were_disputes(tmp_path: Path, kept: Path) -> None:
    """In each ledger kept all rounds are counted, under a profile that is known, and nothing is disputed."""
    path = tmp_path / "ledger.db"
    shutil.copyfile(kept, path)
    ((count,),) = rows(path, "SELECT count(*) FROM rounds")
    with RoundLedger.open_for_reading(path) as reader:
        found = weigh_retention(reader.store, round_records(reader.store), 2**52)
        assert disputes(reader.store) == []
    of_rounds = [row for row in found if row.kind == "rounds"]
    assert sum(row.kept_count for row in of_rounds) == count
    assert all(row.profile is not None for row in found)
    assert sum(row.past_count + row.unended_count for row in of_rounds) == count


def test_a_round_that_names_no_profile_is_under_the_default(tmp_path: Path) -> None:
    """As in ledgers from before there were profiles; a hash that is one of a shipped profile needs no setting."""
    with new_ledger(tmp_path) as (ledger, _):
        named = NamedProfiles(ledger.store)
        assert named.named("") is named.named(hashlib.sha256(b'{"id":"default"}').hexdigest()) is default_profile()
        shipped = shipped_profile("void-2-days")
        assert shipped is not None
        assert named.named(shipped.profile_hash) == shipped
        assert named.named(shipped.profile_hash[:8]) is named.named("ff" * 32) is named.named("default") is None


def test_memory_does_not_grow_with_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weighing five times the rounds takes no more memory at once: two pages of them."""
    import tracemalloc

    monkeypatch.setattr("ledger.reading._PAGE_ROUNDS", 50)

    def peak(ledger: RoundLedger) -> int:
        tracemalloc.start()
        weighed(ledger, 2**52)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    with new_ledger(tmp_path) as (ledger, ref):
        dispute = open_dispute(ledger, play_some(ledger, ref, 120), "short", 5, "Ann", claimant=ref)
        close_dispute(ledger, dispute.dispute_id, "no", "rejected", *TWO)
        few = peak(ledger)
        play_some(ledger, ref, 480)
        assert peak(ledger) < 1.1 * few
