"""A whole ledger: what a single altered field must not hide, and what a writer at work must not be accused of."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_game
from ledger.history import ALL_ROUNDS, RoundFilter
from ledger.merkle import append_digest, leaf_bytes, leaf_hash
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from tests.attacks import open_for_attack

GAME = installed_game("moonlight-princess")


def played(path: Path, rounds: int) -> tuple[Path, str]:
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
        for ref in refs:
            ledger.move_funds(ref, 100_000)
        for number in range(rounds):
            ledger.play(refs[number % 2], GAME, "base", 200)
    return path, refs[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A ledger of twelve rounds of two accounts, and the reference of the first account."""
    return played(tmp_path_factory.mktemp("bulk") / "ledger.db", 12)


@pytest.fixture
def copy(whole: tuple[Path, str], tmp_path: Path) -> Path:
    path = tmp_path / "copy.db"
    shutil.copyfile(whole[0], path)
    return path


def verify_all(path: Path, keys: Path, wanted: RoundFilter = ALL_ROUNDS, sample_count: int | None = None) -> BulkSummary:
    summary = BulkSummary()
    for _ in verify_bulk(plan_bulk(path, keys, wanted, sample_count=sample_count), summary):
        pass
    return summary


def keys_of(whole: tuple[Path, str]) -> Path:
    return whole[0].with_name("ledger.db.keys")


def change_opening(connection: sqlite3.Connection, **changes: Any) -> str:
    """Change fields of the first round's opening; return its stream."""
    select = "SELECT originator_id, state FROM stored_events WHERE topic = 'round_opened/1' ORDER BY rowid LIMIT 1"
    stream, data = connection.execute(select).fetchone()
    event = {**json.loads(data), **changes}
    altered = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
    connection.execute("UPDATE stored_events SET state = ? WHERE originator_id = ? AND originator_version = 1", (altered, stream))
    return str(stream)


def repair_leaf(connection: sqlite3.Connection, stream: str) -> None:
    """Make the hash of a stream's first leaf anew; its nodes and the root are left as they were."""
    (data,) = connection.execute("SELECT state FROM stored_events WHERE originator_id = ? AND originator_version = 1", (stream,)).fetchone()
    (recorded_at,) = connection.execute("SELECT recorded_at_us FROM leaves WHERE stream = ? AND version_first = 1", (stream,)).fetchone()
    leaf = leaf_hash(leaf_bytes(stream, 1, 1, recorded_at, append_digest([data])))
    connection.execute("UPDATE leaves SET leaf_hash = ? WHERE stream = ? AND version_first = 1", (leaf, stream))


@pytest.mark.parametrize(
    "wanted",
    [ALL_ROUNDS, RoundFilter(since_us=1_600_000_000_000_000), RoundFilter(game="moonlight-princess"), RoundFilter(account_ref="ann")],
)
def test_a_clean_ledger_is_clean(whole: tuple[Path, str], wanted: RoundFilter) -> None:
    """Nothing is found in an untouched ledger, whole or filtered."""
    summary = verify_all(whole[0], keys_of(whole), wanted)
    assert not summary.is_wrong
    assert summary.round_count == (6 if wanted.account_ref else 12)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"opened_at_us": 1_000_000_000_000_000}, RoundFilter(since_us=1_600_000_000_000_000)),
        ({"opened_at_us": 2**52}, RoundFilter(until_us=4_000_000_000_000_000)),
        ({"account_ref": "00" * 16}, RoundFilter(account_ref="ann")),
        ({"game": "moon-shine"}, RoundFilter(game="moonlight-princess")),
        ({"kind": "nothing"}, RoundFilter(since_us=1_600_000_000_000_000)),
    ],
    ids=str,
)
def test_an_altered_field_takes_no_round_out_of_an_audit(
    whole: tuple[Path, str], copy: Path, changes: dict[str, Any], wanted: RoundFilter
) -> None:
    """A round whose time, account, game or kind was altered is still among those verified, and found."""
    connection = open_for_attack(str(copy))
    change_opening(connection, **changes)
    connection.close()
    summary = verify_all(copy, keys_of(whole), wanted)
    assert summary.is_wrong
    assert summary.verdicts["record_tampered"] == 1


@pytest.mark.parametrize(
    ("wanted", "sample_count"), [(ALL_ROUNDS, None), (RoundFilter(game="moonlight-princess"), None), (ALL_ROUNDS, 32)], ids=str
)
def test_a_repaired_leaf_does_not_lead_to_the_root(tmp_path: Path, wanted: RoundFilter, sample_count: int | None) -> None:
    """A change with its leaf made anew, under nodes left as they were, is found in a whole, a filtered and a sampled run."""
    held = played(tmp_path / "ledger.db", 32)
    connection = open_for_attack(str(held[0]))
    repair_leaf(connection, change_opening(connection, channel="other"))
    connection.close()
    assert verify_all(held[0], keys_of(held), wanted, sample_count).is_wrong


@pytest.mark.parametrize("topic", ["account_opened/1", "funds_moved/1", "epoch_committed/1", "epoch_closed/1", "ledger_created/1"])
def test_events_of_no_round_are_held_against_their_leaves(whole: tuple[Path, str], copy: Path, topic: str) -> None:
    """An altered event of an account, an epoch or the ledger is a finding about the ledger."""
    connection = open_for_attack(str(copy))
    rowid, data = connection.execute("SELECT rowid, state FROM stored_events WHERE topic = ? LIMIT 1", (topic,)).fetchone()
    event = json.loads(data)
    name = next(name for name in event if name.endswith("_at_us"))
    event[name] += 1
    altered = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
    connection.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (altered, rowid))
    connection.close()
    summary = verify_all(copy, keys_of(whole))
    assert [finding.code for finding in summary.ledger_findings] == ["leaf"]
    if topic == "epoch_committed/1":
        assert summary.verdicts["diverged"] == 12


def test_a_leaf_that_claims_to_cover_endless_events_is_only_a_finding(whole: tuple[Path, str], copy: Path) -> None:
    """A leaf's last version of any size costs neither memory nor time."""
    connection = open_for_attack(str(copy))
    connection.execute("UPDATE leaves SET version_last = 9000000000000000000 WHERE version_first = 2 AND stream LIKE 'round/%'")
    connection.close()
    assert verify_all(copy, keys_of(whole)).verdicts["record_tampered"] == 12


def test_a_writer_at_work_is_not_accused(whole: tuple[Path, str], copy: Path) -> None:
    """Rounds recorded between plan and end are left to the next time: nothing is found."""
    plan = plan_bulk(copy, keys_of(whole))
    summary = BulkSummary()
    with RoundLedger.open_for_writing(copy, keys_of(whole)) as ledger:
        ledger.play(whole[1], GAME, "base", 200)
        in_play = ledger.open_round(whole[1], GAME, "base", 200)
        assert in_play
        for _ in verify_bulk(plan, summary):
            pass
    assert summary.ledger_findings == []
    assert not summary.is_wrong
    assert summary.round_count == 12


def test_the_report_does_not_depend_on_the_number_of_workers(whole: tuple[Path, str]) -> None:
    """One worker and two give the same sums."""
    one, two = BulkSummary(), BulkSummary()
    for summary, jobs in ((one, 1), (two, 2)):
        for _ in verify_bulk(plan_bulk(whole[0], keys_of(whole)), summary, job_count=jobs):
            pass
    assert one == two


@pytest.mark.parametrize("index", [-7, 2**62, 2**63 - 1])
def test_a_leaf_index_that_no_leaf_has_hides_no_round(whole: tuple[Path, str], copy: Path, index: int) -> None:
    """A round whose leaf was given an index below 0 or beyond all that there will be is shown, as tampered with."""
    connection = open_for_attack(str(copy))
    (stream,) = connection.execute("SELECT stream FROM leaves WHERE stream LIKE 'round/%' ORDER BY leaf_index LIMIT 1 OFFSET 6").fetchone()
    connection.execute("UPDATE leaves SET leaf_index = ? WHERE stream = ? AND version_first = 1", (index, stream))
    connection.close()
    summary = BulkSummary()
    unclean = [each for each in verify_bulk(plan_bulk(copy, keys_of(whole)), summary) if each is not None]
    assert summary.round_count == 12
    assert [(each.round_id, each.verdict, each.findings[0].code) for each in unclean] == [
        (stream.removeprefix("round/"), "record_tampered", "leaf_index")
    ]
    assert summary.is_wrong
