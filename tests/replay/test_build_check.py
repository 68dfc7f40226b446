"""The verdict `build_unapproved`: its place among the verdicts, before and after a registration, and registrations that were altered."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engines.registry import game_of_rules, installed_builds, installed_rules
from ledger.builds import register_builds
from ledger.merkle import append_digest, leaf_bytes, leaf_hash
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.verification import Verification, Verifier
from tests.attacks import open_for_attack
from tests.fake_game import FakeGame
from tests.ledger_files import altered

BUILDS = installed_builds("moonlight-princess")[-1:]
RULES = installed_rules("moonlight-princess")
GAME = game_of_rules(RULES)
# The installed engine under another name: the same bytes.
RENAMED = game_of_rules(RULES)
RENAMED.fingerprint = "cd" * 32

Made = tuple[Path, RoundLedger, str]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """A ledger open for writing, and the reference of an account."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as ledger:
        ref = ledger.open_account("ann", "EUR")
        ledger.move_funds(ref, 10**6)
        yield path, ledger, ref


def verify(path: Path, round_id: str, keys_dir: Path | None = None) -> Verification:
    with RoundLedger.open_for_reading(path) as ledger:
        return Verifier(ledger, keys_dir=keys_dir).verify(round_id)


def verdict_and_codes(verification: Verification) -> tuple[str, list[str]]:
    return verification.verdict, [finding.code for finding in verification.findings]


def test_without_registrations_no_build_is_judged(made: Made) -> None:
    """A ledger with no registered build has no such verdict: a round by another build with equal bytes is reproduced."""
    path, ledger, ref = made
    round_id = ledger.play(ref, RENAMED, "base", 200).round_id
    assert verdict_and_codes(verify(path, round_id)) == ("reproduced", [])


def test_from_the_first_registration_on(made: Made) -> None:
    """A round opened before it is not judged, one by the registered build is right, one by another is found, until that is registered."""
    path, ledger, ref = made
    before = ledger.play(ref, RENAMED, "base", 200).round_id
    straddling = ledger.open_round(ref, RENAMED, "base", 200).round_id
    register_builds(ledger, BUILDS, "Ann", "Bob")
    ledger.finish_round(straddling, RENAMED)
    approved = ledger.play(ref, GAME, "base", 200).round_id
    rogue = ledger.play(ref, RENAMED, "base", 200).round_id
    register_builds(ledger, [BUILDS[0]._replace(fingerprint=RENAMED.fingerprint)], "Ann", "Bob")
    late = ledger.play(ref, RENAMED, "base", 200).round_id
    for round_id in (before, straddling, approved, late):
        assert verdict_and_codes(verify(path, round_id)) == ("reproduced", [])
    verification = verify(path, rogue)
    (finding,) = verification.findings
    assert (verification.verdict, finding.code, finding.severity) == ("build_unapproved", "build_unapproved", "integrity")
    assert (finding.want, finding.got) == (BUILDS[0].fingerprint, RENAMED.fingerprint)
    assert all(check.result in ("pass", "not_shown") for check in verification.checks)
    assert f"recorded by engine {RENAMED.fingerprint[:16]}…" in " ".join(verification.notes)


def test_a_build_of_another_game_approves_nothing(made: Made) -> None:
    """Where builds are registered, a game without one is unapproved, under the other game's fingerprint too."""
    path, ledger, ref = made
    register_builds(ledger, [BUILDS[0]._replace(game="tic-tac-toe")], "Ann", "Bob")
    verification = verify(path, ledger.play(ref, GAME, "base", 200).round_id)
    assert verification.verdict == "build_unapproved"
    assert verification.findings[0].want == "a registered build of moonlight-princess, of which there is none"


def test_its_place_in_the_ladder(made: Made, tmp_path: Path) -> None:
    """Below `record_tampered` and `not_replayable`, above `diverged`, `rule_breach` and an open round; the finding is always listed."""
    path, ledger, ref = made
    register_builds(ledger, BUILDS, "Ann", "Bob")
    false = ledger.play(ref, FakeGame(fingerprint="cd" * 32), "base", 200).round_id
    assert verify(path, false).checks[2].result == "fail"
    assert verdict_and_codes(verify(path, false))[0] == "build_unapproved"
    sealed = verify(path, false, tmp_path / "no-keys")
    assert sealed.verdict == "not_replayable"
    in_play = ledger.open_round(ref, RENAMED, "base", 200).round_id
    assert verdict_and_codes(verify(path, in_play)) == ("build_unapproved", ["build_unapproved"])
    altered(path, f"UPDATE stored_events SET state = CAST(state || ' ' AS BLOB) WHERE originator_id = 'round/{false}' AND topic = 'drop/1'")
    tampered = verify(path, false)
    assert tampered.verdict == "record_tampered"
    for verification in (sealed, tampered):
        assert "build_unapproved" in [finding.code for finding in verification.findings]


def test_all_rounds_say_the_same_as_one(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify_bulk` finds the unapproved round and no other, in one process or several, of the whole ledger or a sample."""
    path, ledger, ref = made
    monkeypatch.setattr("replay.bulk.CHUNK_ROUNDS", 2)
    register_builds(ledger, BUILDS, "Ann", "Bob")
    games = (GAME, GAME, RENAMED, GAME, GAME)
    played = [ledger.play(ref, game, "base", 200).round_id for game in games]
    ledger.close()
    for jobs, sample in ((1, None), (2, None), (1, 5), (1, 4)):
        summary = BulkSummary()
        plan = plan_bulk(path, path.with_name("ledger.db.keys"), sample_count=sample)
        unclean = [each for each in verify_bulk(plan, summary, job_count=jobs) if each is not None]
        assert [each.round_id for each in unclean] == [played[2]]
        assert summary.verdicts["build_unapproved"] == 1
        assert summary.is_wrong


def change_registration(path: Path, *, is_leaf_changed: bool) -> None:
    """Write the fingerprint of another build into the registration, and where asked its leaf anew."""
    with closing(open_for_attack(str(path))) as connection:
        select = "SELECT state FROM stored_events WHERE originator_id = 'ledger' AND originator_version = 2"
        event = json.loads(connection.execute(select).fetchone()[0])
        data = json.dumps({**event, "engine_fingerprint": "cd" * 32}, sort_keys=True, separators=(",", ":")).encode()
        connection.execute("UPDATE stored_events SET state = ? WHERE originator_id = 'ledger' AND originator_version = 2", (data,))
        if is_leaf_changed:
            where = "WHERE stream = 'ledger' AND version_first = 2"
            (at,) = connection.execute(f"SELECT recorded_at_us FROM leaves {where}").fetchone()
            hashed = leaf_hash(leaf_bytes("ledger", 2, 2, at, append_digest([data])))
            connection.execute(f"UPDATE leaves SET leaf_hash = ? {where}", (hashed,))


def delete_registration(path: Path) -> None:
    altered(path, "DELETE FROM stored_events WHERE originator_id = 'ledger' AND originator_version = 2")


def disguise_registration(path: Path) -> None:
    altered(path, "UPDATE stored_events SET topic = 'key_rotated/1' WHERE originator_id = 'ledger' AND originator_version = 2")


def approve_without_a_leaf(path: Path) -> None:
    """Add a registration of the other build that no leaf covers."""
    copied = "SELECT 'ledger', 3, topic, CAST(replace(CAST(state AS TEXT), '{0}', '{1}') AS BLOB) FROM stored_events"
    copied = copied.format(BUILDS[0].fingerprint, "cd" * 32) + " WHERE originator_id = 'ledger' AND originator_version = 2"
    altered(path, f"INSERT INTO stored_events (originator_id, originator_version, topic, state) {copied}")


def move_registration(path: Path) -> None:
    """Let the registration change places with a leaf behind the round, the last one that has nodes over it."""
    last = 63
    with closing(open_for_attack(str(path))) as connection:
        (own,) = connection.execute("SELECT leaf_index FROM leaves WHERE stream = 'ledger' AND version_first = 2").fetchone()
        for before, after in ((own, -1), (last, own), (-1, last)):
            connection.execute("UPDATE leaves SET leaf_index = ? WHERE leaf_index = ?", (after, before))


def with_sql(statement: str) -> Callable[[Path], None]:
    return lambda path: altered(path, statement)


REGISTRATION = "WHERE stream = 'ledger' AND version_first = 2"


@pytest.mark.parametrize(
    "alter",
    [
        lambda path: change_registration(path, is_leaf_changed=False),
        lambda path: change_registration(path, is_leaf_changed=True),
        delete_registration,
        disguise_registration,
        approve_without_a_leaf,
        move_registration,
        with_sql(f"DELETE FROM leaves {REGISTRATION}"),
        with_sql(f"UPDATE leaves SET leaf_index = -5 {REGISTRATION}"),
        with_sql(f"UPDATE leaves SET leaf_index = 4611686018427387999 {REGISTRATION}"),
        with_sql("DELETE FROM nodes"),
        with_sql(f"UPDATE leaves SET version_first = -5 {REGISTRATION}"),
        with_sql(f"UPDATE leaves SET version_last = -1 {REGISTRATION}"),
        with_sql(f"UPDATE leaves SET recorded_at_us = -1 {REGISTRATION}"),
        with_sql(f"UPDATE leaves SET leaf_hash = 'x' {REGISTRATION}"),
    ],
)
def test_an_altered_registration_approves_nothing(made: Made, alter: Callable[[Path], None]) -> None:
    """Whoever alters a registration to approve a build, or takes it away, is seen by one round alone, and by all of them."""
    path, ledger, ref = made
    register_builds(ledger, BUILDS, "Ann", "Bob")
    round_id = ledger.play(ref, RENAMED, "base", 200).round_id
    for _ in range(32):  # so that the nodes over the registration are there
        ledger.play(ref, GAME, "base", 200)
    ledger.close()
    alter(path)
    verification = verify(path, round_id)
    assert verification.verdict in ("build_unapproved", "record_tampered")
    assert "build_altered" in [finding.code for finding in verification.findings]
    summary = BulkSummary()
    for _ in verify_bulk(plan_bulk(path, path.with_name("ledger.db.keys")), summary):
        pass
    assert summary.ledger_findings


def test_a_late_registration_cannot_be_moved_before_a_round(made: Made) -> None:
    """The place of a leaf is no part of its hash: a registration whose leaf is said to stand earlier approves nothing."""
    path, ledger, ref = made
    register_builds(ledger, BUILDS, "Ann", "Bob")
    round_id = ledger.play(ref, RENAMED, "base", 200).round_id
    register_builds(ledger, [BUILDS[0]._replace(fingerprint=RENAMED.fingerprint)], "Ann", "Bob")
    ledger.close()
    altered(path, "UPDATE leaves SET leaf_index = -5 WHERE stream = 'ledger' AND version_first = 3")
    assert verify(path, round_id).verdict in ("build_unapproved", "record_tampered")
    assert "build_altered" in [finding.code for finding in verify(path, round_id).findings]


def test_other_alterations_of_the_ledger_s_stream_are_no_matter_of_builds(made: Made) -> None:
    """An altered first event is the ledger's finding, and no round's."""
    path, ledger, ref = made
    round_id = ledger.play(ref, GAME, "base", 200).round_id
    ledger.close()
    altered(path, "UPDATE stored_events SET topic = 'key_rotated/1' WHERE originator_id = 'ledger'")
    assert verdict_and_codes(verify(path, round_id)) == ("reproduced", [])
