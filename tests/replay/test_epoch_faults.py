"""Faults of epochs made for real: each in a whole ledger whose log fits, seen by the verdict of the round, of all rounds, and by fsck.

Who writes can deal a nonce twice, bet under a commitment made later, or show another seed, and the log over it is sound.
Only a count, an order or a hash sees it.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engines.canonical import canonical_json
from engines.registry import installed_game
from ledger.codec import event_bytes
from ledger.disclosure import epoch_states, release_key, reveal_seed
from ledger.epochs import EpochOwner
from ledger.fsck import check_ledger
from ledger.history import ALL_ROUNDS, RoundFilter
from ledger.lifecycle_events import EpochClosed, EpochCommitted, SeedKeyRotated, SeedRevealed
from ledger.merkle import append_form
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verification import ANOTHER_KEY, Verifier
from tests.attacks import open_for_attack, rebuild_log
from tests.ledger_files import altered

GAME = installed_game("moonlight-princess")
ROUNDS = 4  # of ann before the fault and after it; one of bob between


class Course(NamedTuple):
    """A ledger that is being played: rounds of ann so far, and what a fault does to it."""

    ledger: RoundLedger
    ann: str
    bob: str
    rounds: list[str]


def play(course: Course, count: int = 1) -> None:
    for _ in range(count):
        course.rounds.append(course.ledger.play(course.ann, GAME, "base", 200).round_id)


def made(path: Path, owner: EpochOwner, fault: Callable[[Course], str]) -> str:
    """Play a ledger with a fault in the middle; return the round that the fault is in."""
    with RoundLedger.create(path, epoch_of=owner) as ledger:
        ann, bob = (ledger.open_account(name, "EUR") for name in ("ann", "bob"))
        for ref in (ann, bob):
            ledger.move_funds(ref, 100_000)
        course = Course(ledger, ann, bob, [])
        play(course, ROUNDS)
        ledger.play(bob, GAME, "base", 200)
        wrong = fault(course)
        play(course, ROUNDS)
        # As many rounds as were opened: the row tells nothing.
        for (epoch,) in rows(path, "SELECT epoch FROM epochs"):
            count = sum(json.loads(data)["epoch"] == epoch for (data,) in rows(path, OPENINGS))
            altered(path, f"UPDATE epochs SET next_nonce = {count} WHERE epoch = {epoch}")
    return wrong


OPENINGS = "SELECT state FROM stored_events WHERE topic = 'round_opened/1' ORDER BY rowid"


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def of_round(path: Path, round_id: str) -> list[str]:
    with RoundLedger.open_for_reading(path) as ledger:
        return [finding.code for finding in Verifier(ledger).verify(round_id).findings]


def of_rounds(path: Path) -> list[str]:
    return [code for (round_id,) in rows(path, "SELECT round_id FROM rounds ORDER BY round_id") for code in of_round(path, round_id)]


def of_all(path: Path, wanted: RoundFilter = ALL_ROUNDS) -> list[str]:
    summary = BulkSummary()
    keys = path.with_name(path.name + ".keys")
    unclean = [found for found in verify_bulk(plan_bulk(path, keys, wanted), summary) if found is not None]
    assert summary.is_wrong == bool(unclean or summary.ledger_findings)
    return [finding.code for found in unclean for finding in found.findings] + [finding.code for finding in summary.ledger_findings]


def of_fsck(path: Path) -> list[str]:
    return [fault.code for fault in check_ledger(path) if fault is not None]


def move_nonce(course: Course, by: int) -> str:
    epoch = course.ledger._epochs.current(course.ann)
    altered(course.ledger.path, f"UPDATE epochs SET next_nonce = next_nonce + {by} WHERE epoch = {epoch.number}")
    epoch.next_nonce += by  # a writer that does not see that its ledger went back
    play(course)
    return course.rounds[-1]


@pytest.mark.parametrize("owner", ["writer", "account"])
@pytest.mark.parametrize(
    ("by", "code"), [(-1, "nonce_used_twice"), (-3, "nonce_used_twice"), (1, "nonce_skipped"), (1000, "nonce_skipped")]
)
def test_a_nonce_used_twice_or_skipped(tmp_path: Path, owner: EpochOwner, by: int, code: str) -> None:
    """A nonce dealt again, or left out, with a round key that is right for it, is one finding each way, and in that round alone."""
    path, code = tmp_path / "ledger.db", "nonce_skipped" if by > 0 else "nonce_used_twice"
    wrong = made(path, owner, lambda course: move_nonce(course, by))
    assert of_round(path, wrong) == [code]
    assert of_all(path, RoundFilter(account_ref="ann")) == [code]
    assert of_all(path, RoundFilter(account_ref="bob")) == []
    assert of_rounds(path) == of_all(path) == of_fsck(path) == [code]


def test_a_nonce_is_held_against_the_account_s_own_rounds_however_far_back(tmp_path: Path) -> None:
    """Rounds of others between two of an account are passed over: a nonce dealt twice is found, the right ones are not accused."""

    def after_many(course: Course) -> str:
        for _ in range(30):
            course.ledger.play(course.bob, GAME, "base", 20)
        return move_nonce(course, -2)

    path = tmp_path / "ledger.db"
    wrong = made(path, "account", after_many)
    assert of_round(path, wrong) == of_rounds(path) == ["nonce_used_twice"]


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("nonce", [2, 50])
def test_one_altered_nonce_accuses_no_other_round(tmp_path: Path, place: int, nonce: int) -> None:
    """A nonce altered in the record is a finding of that round's key where that can be had, else one of the order."""
    path = tmp_path / "ledger.db"
    rounds: list[str] = []
    made(path, "account", lambda course: rounds.extend(course.rounds) or "")
    changed(path, rounds[place], nonce=nonce)
    # Another key leads to another outcome, which is no second finding.
    assert of_round(path, rounds[place]) == of_rounds(path) == of_all(path) == ["round_key"]
    with RoundLedger.open_for_reading(path) as ledger:
        found = Verifier(ledger).verify(rounds[place])
    assert (found.verdict, found.fingerprint) == ("diverged", "")
    assert {check.name: (check.result, check.detail) for check in found.checks}["replay"] == ("not_run", ANOTHER_KEY)
    assert of_fsck(path) == ["nonce_skipped" if nonce > place else "nonce_used_twice"]


def under_epoch_of_bob(course: Course) -> str:
    epochs = course.ledger._epochs._open
    own, epochs[course.ann] = epochs[course.ann], epochs[course.bob]
    play(course)
    epochs[course.ann] = own
    return course.rounds[-1]


def test_a_round_under_another_account_s_epoch(tmp_path: Path) -> None:
    """A bet under an epoch of another account is found: that account's nonces were burnt."""
    path = tmp_path / "ledger.db"
    wrong = made(path, "account", under_epoch_of_bob)
    assert of_round(path, wrong) == ["epoch_account"]
    assert of_all(path) == of_fsck(path) == ["epoch_account"]


def changed(path: Path, round_id: str, **changes: Any) -> None:
    """Change fields of a round's opening as a careful insider does: the round's own digest and the whole log are made anew."""
    with closing(open_for_attack(str(path))) as connection:
        select = "SELECT rowid, state FROM stored_events WHERE originator_id = ? ORDER BY originator_version"
        (first, opening), *middle, (last, settlement) = connection.execute(select, (f"round/{round_id}",)).fetchall()
        opening = canonical_json({**json.loads(opening), **changes})
        digest = hashlib.sha256(append_form([opening, *(data for _, data in middle)])).hexdigest()
        settlement = canonical_json({**json.loads(settlement), "round_digest": digest})
        connection.executemany("UPDATE stored_events SET state = ? WHERE rowid = ?", [(opening, first), (settlement, last)])
        rebuild_log(connection)


def later(path: Path, stream: str, behind: str) -> None:
    """Move the first append of a stream behind the first of another, events and leaves, and make the log anew."""
    with closing(open_for_attack(str(path))) as connection:
        moved, target = (
            connection.execute("SELECT rowid FROM stored_events WHERE originator_id = ? AND originator_version = 1", (name,)).fetchone()[0]
            for name in (stream, behind)
        )
        order = [row[0] for row in connection.execute("SELECT rowid FROM stored_events ORDER BY rowid")]
        order.remove(moved)
        order.insert(order.index(target) + 1, moved)
        leaves = connection.execute("SELECT leaf_index, stream, version_first FROM leaves ORDER BY leaf_index").fetchall()
        line = [leaf for leaf in leaves if leaf[1:] != (stream, 1)]
        place = next(number for number, leaf in enumerate(line) if leaf[1:] == (behind, 1))
        line.insert(place + 1, next(leaf for leaf in leaves if leaf[1:] == (stream, 1)))
        connection.executemany("UPDATE stored_events SET rowid = -? WHERE rowid = ?", [(new + 1, old) for new, old in enumerate(order)])
        connection.execute("UPDATE stored_events SET rowid = -rowid")
        connection.executemany(
            "UPDATE leaves SET leaf_index = -? WHERE leaf_index = ?", [(new + 1, leaf[0]) for new, leaf in enumerate(line)]
        )
        connection.execute("UPDATE leaves SET leaf_index = -leaf_index - 1")
        rebuild_log(connection)


def nothing(course: Course) -> str:
    return course.rounds[0]


@pytest.mark.parametrize("owner", ["writer", "account"])
def test_a_ledger_without_a_fault(tmp_path: Path, owner: EpochOwner) -> None:
    """Nothing is found where nothing is wrong, after every seed was revealed as well."""
    path = tmp_path / "ledger.db"
    made(path, owner, nothing)
    assert of_rounds(path) == of_all(path) == of_fsck(path) == []
    with RoundLedger.open_for_writing(path) as ledger:
        for state in list(epoch_states(ledger)):
            reveal_seed(ledger, state.epoch)
    assert of_rounds(path) == of_all(path) == of_fsck(path) == []


@pytest.mark.parametrize("owner", ["writer", "account"])
def test_a_commitment_younger_than_the_bet(tmp_path: Path, owner: EpochOwner) -> None:
    """A bet recorded before the commitment that it names is found, in a log that was made anew over it."""
    path = tmp_path / "ledger.db"
    wrong = made(path, owner, nothing)
    later(path, "epoch/1", f"round/{wrong}")
    assert of_round(path, wrong) == ["commitment_late"]
    assert of_all(path) == ["commitment_late"]
    assert of_fsck(path)[0] == "epoch_unknown"


def test_a_round_key_that_has_not_its_commitment(tmp_path: Path) -> None:
    """Another round key commitment in the opening is found by whoever has the key: sealed, released or after the reveal."""
    path = tmp_path / "ledger.db"
    wrong = made(path, "writer", nothing)
    with RoundLedger.open_for_writing(path) as ledger:
        released = {wrong: bytes.fromhex(release_key(ledger, wrong).round_key)}
    changed(path, wrong, round_key_commitment="12" * 32)
    assert of_round(path, wrong) == of_all(path) == ["round_key"]
    nobody = tmp_path / "nobody"
    with RoundLedger.open_for_reading(path) as reader:
        found = Verifier(reader, keys_dir=nobody, round_keys=released).verify(wrong)
        assert [finding.code for finding in found.findings] == ["round_key"]
        assert Verifier(reader, keys_dir=nobody).verify(wrong).verdict == "not_replayable"
    with RoundLedger.open_for_writing(path) as ledger:
        reveal_seed(ledger, 1)
    with RoundLedger.open_for_reading(path) as reader:
        found = Verifier(reader, keys_dir=nobody).verify(wrong)
        assert (found.verdict, [finding.code for finding in found.findings]) == ("diverged", ["round_key"])


def test_a_released_key_that_is_not_the_seed_s(tmp_path: Path) -> None:
    """A round key handed out that the seed does not lead to is found as soon as the seed is shown."""
    path = tmp_path / "ledger.db"
    wrong = made(path, "writer", nothing)
    with RoundLedger.open_for_writing(path) as ledger:
        reveal_seed(ledger, 1)
        found = Verifier(ledger, keys_dir=tmp_path / "nobody", round_keys={wrong: bytes(32)}).verify(wrong)
    assert [(finding.code, finding.where) for finding in found.findings] == [("round_key", "released round key of nonce 0 in epoch 1")]


@pytest.mark.parametrize("owner", ["writer", "account"])
def test_a_revealed_seed_that_was_not_committed_to(tmp_path: Path, owner: EpochOwner) -> None:
    """Another seed shown for an epoch is found whether or not the sealed one can be opened."""
    path = tmp_path / "ledger.db"
    wrong = made(path, owner, nothing)
    with RoundLedger.open_for_writing(path) as ledger:
        shown = SeedRevealed(epoch=1, server_seed="ab" * 32, revealed_at_us=1)
        ledger.store.append_events("epoch/1", 3, [event_bytes(shown)])
    assert of_round(path, wrong) == ["revealed_seed"]
    assert set(of_all(path)) == {"revealed_seed"}
    assert of_fsck(path) == ["seed_commitment"]
    with RoundLedger.open_for_reading(path) as reader:
        found = Verifier(reader, keys_dir=tmp_path / "nobody").verify(wrong)
        assert (found.verdict, found.findings[0].code) == ("diverged", "revealed_seed")


def test_a_round_opened_after_its_epoch_was_closed(tmp_path: Path) -> None:
    """A bet under a closed epoch, whose seed may be known, is found."""
    path = tmp_path / "ledger.db"
    made(path, "writer", nothing)
    with RoundLedger.open_for_writing(path) as ledger:
        epoch = ledger._epochs.current("")
        closed = event_bytes(EpochClosed(epoch=2, round_count=0, closed_at_us=1))
        ledger.store.append_events("epoch/2", 2, [closed])
        wrong = ledger.play(ledger.account("ann").account_ref, GAME, "base", 200).round_id
        ledger._epochs.forget(epoch)
    altered(path, "UPDATE epochs SET is_closed = 1 WHERE epoch = 2")
    assert of_round(path, wrong) == of_all(path) == ["epoch_closed"]
    assert of_fsck(path)[0] == "epoch_closed"


def test_one_seed_for_two_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that commits to a seed again, so that its nonces come again, is found."""
    path = tmp_path / "ledger.db"
    monkeypatch.setattr("ledger.epochs.new_seed", lambda: bytes(range(32)))
    made(path, "writer", nothing)
    columns = "epoch INTEGER PRIMARY KEY, seed_commitment TEXT, sealed_seed BLOB, writer_ref TEXT, next_nonce INTEGER, is_closed INTEGER"
    copied = "INSERT INTO epochs SELECT * FROM unique_epochs"
    altered(path, "ALTER TABLE epochs RENAME TO unique_epochs", f"CREATE TABLE epochs ({columns})", copied, "DROP TABLE unique_epochs")
    with RoundLedger.open_for_writing(path) as ledger:
        ledger.play(ledger.account("ann").account_ref, GAME, "base", 200)
    assert of_all(path) == ["commitment_twice"]
    assert of_fsck(path) == ["definition", "definition", "commitment_twice"]  # of the table that takes it, and of its index


def test_two_commitments_of_one_epoch(tmp_path: Path) -> None:
    """A commitment made again for an epoch, after its rounds were played, is found."""
    path = tmp_path / "ledger.db"
    made(path, "writer", nothing)
    again = EpochCommitted(
        epoch=1, seed_commitment="cd" * 32, sealed_seed_hash="ef" * 32, writer_ref="ab" * 16, account_ref="", committed_at_us=1
    )
    with RoundLedger.open_for_writing(path) as ledger:
        ledger.store.append_events("epoch/1", 3, [event_bytes(again)])
    assert of_fsck(path) == ["epoch_twice"]


def test_an_account_s_epoch_before_the_account(tmp_path: Path) -> None:
    """An epoch committed to for an account that was never opened is found."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as ledger:
        stranger = EpochCommitted(
            epoch=1, seed_commitment="cd" * 32, sealed_seed_hash="ef" * 32, writer_ref="ab" * 16, account_ref="01" * 16, committed_at_us=1
        )
        ledger.store.append_events("epoch/1", 1, [event_bytes(stranger)])
    assert of_fsck(path)[0] == "account_unknown"


def test_a_round_under_a_seed_of_the_key_before(tmp_path: Path) -> None:
    """A bet under an epoch that was open when the seed key was rotated, which closes all, is found."""
    path = tmp_path / "ledger.db"

    def rotated_alone(course: Course) -> str:
        event = SeedKeyRotated(old_key_id="ab" * 32, new_key_id="cd" * 32, rotated_at_us=1)
        course.ledger.store.append_events("ledger", 2, [event_bytes(event)])
        play(course)
        return course.rounds[-1]

    made(path, "writer", rotated_alone)
    assert of_fsck(path) == ["epoch_outdated"]
