"""Jurisdiction profiles: what a file may say, which one is in force, and that every round names the one it was opened under."""

import hashlib
import json
import threading
from pathlib import Path

import pytest

from engines.canonical import canonical_json
from engines.registry import installed_game
from ledger.approval import ApproverSame
from ledger.codec import event_bytes
from ledger.errors import BetNotAllowed, CurrencyUnknown, LedgerReadOnly, TextInvalid
from ledger.fsck import Fault, check_ledger
from ledger.profile import (
    Profile,
    ProfileFileUnreadable,
    decisions,
    default_profile,
    load_profile,
    profile_of,
    shipped_profile,
    shipped_profiles,
)
from ledger.profile_setting import (
    ProfileSame,
    ProfileUnknown,
    ProfileVersionTaken,
    find_profile,
    profile_in_force,
    profile_settings,
    set_profile,
)
from ledger.rounds import RoundLedger
from replay.verification import Verification, Verifier
from tests.ledger_files import altered, game, new_ledger, play_some, rows, whole_ledger_faults

FILE = Path(__file__).parents[2] / "ledger" / "profiles" / "default.toml"


def shipped(profile_id: str) -> Profile:
    """Return a profile that comes with the program."""
    profile = shipped_profile(profile_id)
    assert profile is not None
    return profile


def faults_of(path: Path) -> list[Fault]:
    return [fault for fault in check_ledger(path) if fault is not None]


def test_the_profiles_that_come_with_the_program() -> None:
    """There is one for each rule that an issue names, each whole, and every value has a clause, a document or an assumption."""
    found = {profile_id: shipped(profile_id) for profile_id in shipped_profiles()}
    assert all(profile_id == profile.id for profile_id, profile in found.items())
    assert {name: profile.void_deadline.days for name, profile in found.items() if name.startswith("void")} == {
        "void-2-days": 2,
        "void-15-days": 15,
        "void-90-days": 90,
    }
    assert found["default"].void_deadline.days == 90
    assert (found["return-of-bet"].cannot_continue.pays, found["better-of"].cannot_continue.pays) == ("return_of_bet", "better_of")
    completing = found["complete-24-hours"].not_resumed
    assert (completing.action, completing.after_hours) == ("complete", 24)
    assert len({profile.profile_hash for profile in found.values()}) == len(found) == 7
    for profile in found.values():
        assert all(part.source or part.assumption for part in decisions(profile))
        assert all(part.clause or part.source == "unfinished-games" for part in decisions(profile) if part.source)


def test_a_hash_is_of_the_values() -> None:
    """The hash is SHA-256 of the canonical JSON of the values: a comment changes nothing, a value does."""
    profile = default_profile()
    assert profile.profile_hash == hashlib.sha256(canonical_json(json.loads(json.dumps(profile.values)))).hexdigest()
    assert profile_of(profile.values, "here") == profile
    other = {**profile.values, "answer": {**profile.values["answer"], "within_days": 4}}
    assert profile_of(other, "here").profile_hash != profile.profile_hash


@pytest.mark.parametrize(
    ("old", "new", "where", "reason"),
    [
        ("days = 90\nsource", "days = 0\nsource", "void_deadline.days", "greater than or equal to 1"),
        ("days = 90\nsource", "days = 90.5\nsource", "void_deadline.days", "valid integer"),
        ("days = 90\nsource", 'days = "90"\nsource', "void_deadline.days", "valid integer"),
        ("days = 90\nsource", "days = true\nsource", "void_deadline.days", "valid integer"),
        ("days = 90\nsource", "days = 1979-05-27\nsource", "the file", "a value of another kind"),
        ('action = "void"', 'action = "forget"', "not_resumed.action", "Input should be 'wait', 'complete' or 'void'"),
        ('action = "void"', 'action = "complete"', "not_resumed", "want hours where the round is completed and 0 elsewhere"),
        ('"void"\nafter_hours = 0', '"complete"\nafter_hours = 2161', "the profile", "2161 hours comes after the void deadline"),
        ('pays = "return_of_bet"\n', "", "cannot_continue.pays", "Field required"),
        ('source = "njac"\nclause = "3.1(d)"', "", "answer", "want either a source or an assumption"),
        ('source = "njac"', 'source = "nowhere"', "the profile", "Answer hangs on 'nowhere'"),
        ('kind = "accounts"', 'kind = "rounds"', "the profile", "retention: want each once"),
        ('of = "random_numbers"\npercent = 99', 'of = "random_numbers"\npercent = 98', "confidence.0.percent", "95 or 99"),
        ('[[confidence]]\nof = "random_numbers"', '[[coins]]\ncurrency = "eur"', "coins.0.currency", "pattern"),
        ('version = "1.0.0"', 'version = "1"', "version", "pattern"),
        ('id = "default"', 'id = "default"\nextra = 1', "extra", "Extra inputs"),
        ('id = "default"', "id = default", "the file", "no TOML"),
    ],
)
def test_what_no_profile_can_say(tmp_path: Path, old: str, new: str, where: str, reason: str) -> None:
    """A value that is missing, of another type or range, without an origin, or against another is refused, with its place."""
    text = FILE.read_text()
    assert old in text
    path = tmp_path / "p.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ProfileFileUnreadable) as caught:
        load_profile(path)
    assert (caught.value.where, caught.value.path) == (where, str(path))
    assert reason in caught.value.reason


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, and coins of a currency that ISO 4217 has not, are said."""
    with pytest.raises(ProfileFileUnreadable, match="one that cannot be read"):
        load_profile(tmp_path / "none.toml")
    with pytest.raises(CurrencyUnknown):
        load_profile(with_coins(tmp_path, "XXX", [1]))


def with_coins(folder: Path, currency: str, coins: list[int], version: str = "1.0.0") -> Path:
    """Write the default profile with a list of coins for a currency."""
    path = folder / f"coins-{currency}-{version}.toml"
    coin_list = f'[[coins]]\ncurrency = "{currency}"\ncoins_minor = {coins}\nassumption = "house-coins"\n'
    text = FILE.read_text().replace("\n[assumptions]\n", '\n[assumptions]\nhouse-coins = "The house takes these."\n', 1)
    path.write_text(text.replace('id = "default"\nversion = "1.0.0"', f'id = "coins"\nversion = "{version}"') + coin_list)
    return path


def test_a_profile_is_set_by_two(tmp_path: Path) -> None:
    """It is an event of the ledger with all values; rounds opened after it name it, those before it another, and both are found."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        first = ledger.play(ref, game(), "base", 200).opened
        event = set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
        assert ledger.profile == shipped("better-of")
        second = ledger.play(ref, game(), "base", 200).opened
        assert (first.profile_id, first.profile_hash) == ("default", default_profile().profile_hash)
        assert (second.profile_id, second.profile_hash) == ("better-of", event.profile_hash)
        assert ledger.profile == shipped("better-of")
    with RoundLedger.open_for_reading(path) as reader:
        assert profile_in_force(reader.store).profile == shipped("better-of")
        assert [each.event for each in profile_settings(reader.store)] == [event]
        for opened in (first, second):
            assert find_profile(reader.store, opened.profile_hash).profile.id == opened.profile_id
        assert find_profile(reader.store, second.profile_hash[:8]).setting is not None
        assert reader.store.text(event.set_by_hash).content == "Ann"
    assert all(b"Ann" not in data for (data,) in rows(path, "SELECT state FROM stored_events"))
    assert whole_ledger_faults(path) == []
    assert faults_of(path) == []


def test_a_set_profile_is_found_without_the_program_s_files(tmp_path: Path) -> None:
    """A profile of the house's own is read from the record, whatever has become of its file, and after another one was set."""
    file = with_coins(tmp_path, "EUR", [10, 20])
    with new_ledger(tmp_path) as (ledger, ref):
        set_profile(ledger.store, load_profile(file), "Ann", "Bob")
        opened = ledger.play(ref, game(), "base", 200).opened
        set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
    file.unlink()
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader:
        found = find_profile(reader.store, opened.profile_hash)
        assert (found.profile.id, found.profile.coins_minor("EUR")) == ("coins", (10, 20))


def test_a_writer_sees_a_profile_set_by_another(tmp_path: Path) -> None:
    """While one writer plays, others set profiles: no round names one that was replaced before it."""
    path = tmp_path / "ledger.db"
    ids = ["better-of", "void-2-days", "void-15-days", "default", "complete-24-hours"]
    with new_ledger(tmp_path) as (ledger, ref), RoundLedger.open_for_writing(path) as other:
        play_some(ledger, ref, 1)
        thread = threading.Thread(target=lambda: [set_profile(other.store, shipped(each), "Ann", "Bob") for each in ids[1:]])
        set_profile(other.store, shipped(ids[0]), "Ann", "Bob")
        thread.start()
        while thread.is_alive():
            play_some(ledger, ref, 1)
        thread.join()
        assert ledger.play(ref, game(), "base", 200).opened.profile_id == ids[-1]
    assert faults_of(path) == []


def test_what_cannot_be_set(tmp_path: Path) -> None:
    """The one in force again, other values under a version that was set, one person twice, and a reader are refused."""
    with new_ledger(tmp_path) as (ledger, _):
        set_profile(ledger.store, load_profile(with_coins(tmp_path, "EUR", [10])), "Ann", "Bob")
        before = ledger.store.tree()
        with pytest.raises(ProfileSame, match="want another than the one in force"):
            set_profile(ledger.store, load_profile(with_coins(tmp_path, "EUR", [10])), "Ann", "Bob")
        with pytest.raises(ProfileVersionTaken, match=r"values of profile coins 1\.0\.0"):
            set_profile(ledger.store, load_profile(with_coins(tmp_path, "EUR", [20])), "Ann", "Bob")
        with pytest.raises(ApproverSame):
            set_profile(ledger.store, shipped("better-of"), "Ann", "ann ")
        with pytest.raises(TextInvalid):
            set_profile(ledger.store, shipped("better-of"), "", "Bob")
        with pytest.raises(ProfileUnknown, match="profile nothing: want one that was set"):
            find_profile(ledger.store, "nothing")
        assert ledger.store.tree() == before
        set_profile(ledger.store, load_profile(with_coins(tmp_path, "EUR", [20], "1.0.1")), "Ann", "Bob")
    with RoundLedger.open_for_reading(tmp_path / "ledger.db") as reader, pytest.raises(LedgerReadOnly):
        set_profile(reader.store, shipped("better-of"), "Ann", "Bob")


def test_coins_that_the_profile_leaves_out(tmp_path: Path) -> None:
    """A bet of a coin that is not listed for the account's currency is refused and nothing is taken; other currencies are as before."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path, currency="JPY") as (ledger, ref):
        other = ledger.open_account("bob", "KWD")
        ledger.move_funds(other, 10_000)
        set_profile(ledger.store, load_profile(with_coins(tmp_path, "JPY", [10, 100])), "Ann", "Bob")
        ledger.play(ref, game(), "base", 200)
        before = (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1))
        with pytest.raises(BetNotAllowed, match="want 200 or 2000 JPY, got 220; nearest: 200 and 2000"):
            ledger.play(ref, game(), "base", 220)
        assert (ledger.store.tree(), ledger.account("alice"), ledger.store.epoch(1)) == before
        assert ledger.play(ref, game(), "base", 200).opened.nonce == 1
        ledger.play(other, game(), "base", 220)
    assert whole_ledger_faults(path) == []


def test_fsck_finds_a_round_under_another_profile(tmp_path: Path) -> None:
    """A round that names another than the one in force, a setting whose values are not its hash's, and one on another stream are found."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        event = set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
        ledger.play(ref, game(), "base", 200)
        outdated = (shipped("void-2-days"), 2)
        ledger._profile._known = outdated
        round_id = ledger.play(ref, game(), "base", 200).round_id
        wrong = {**event.profile, "version": "9.9.9"}
        ledger.store.append_events("ledger", 3, [event_bytes(event.model_copy(update={"profile": wrong}))])
        ledger.store.append_events("epoch/9", 1, [event_bytes(event)])
    found = [(fault.code, fault.stream) for fault in faults_of(path)]
    ledger_faults = [("profile_hash", "ledger"), ("profile_name", "ledger"), ("profile_stream", "epoch/9")]
    assert found == [("profile", f"round/{round_id}"), *ledger_faults]


def test_a_ledger_with_a_gap_in_its_own_stream_can_be_played_on(tmp_path: Path) -> None:
    """The version that a writer holds the stream against is the last one's, not the number of events: it does not read for ever."""
    with new_ledger(tmp_path) as (ledger, ref):
        set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
        set_profile(ledger.store, shipped("void-2-days"), "Ann", "Bob")
        altered(tmp_path / "ledger.db", "DELETE FROM stored_events WHERE originator_id = 'ledger' AND originator_version = 2")
        assert ledger.play(ref, game(), "base", 200).opened.profile_id == "void-2-days"


def verification_of(path: Path, round_id: str) -> Verification:
    """Return what is said of one round."""
    with RoundLedger.open_for_reading(path) as reader:
        return Verifier(reader, keys_dir=path.with_name("ledger.db.keys")).verify(round_id)


def test_a_verdict_says_under_which_profile_a_round_should_be(tmp_path: Path) -> None:
    """A round under another profile than the one in force diverges in its settlement, with one finding; others stay as they were."""
    path = tmp_path / "ledger.db"
    real = installed_game("moonlight-princess")
    with new_ledger(tmp_path) as (ledger, ref):
        first = ledger.play(ref, real, "base", 200).round_id
        event = set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
        second = ledger.play(ref, real, "base", 200).round_id
        ledger._profile._known = (shipped("void-2-days"), 2)
        third = ledger.play(ref, real, "base", 200).round_id
    assert [verification_of(path, each).verdict for each in (first, second)] == ["reproduced", "reproduced"]
    found = verification_of(path, third)
    assert found.verdict == "settlement_divergence"
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("profile", "integrity")
    assert finding.want == f"the one in force, better-of {event.profile_hash}"


def test_a_verdict_says_that_a_bet_is_off_the_profile_s_list(tmp_path: Path) -> None:
    """A recorded bet of a coin that the profile in force leaves out is one finding about money."""
    path = tmp_path / "ledger.db"
    real = installed_game("moonlight-princess")
    with new_ledger(tmp_path, currency="JPY") as (ledger, ref):
        profile = load_profile(with_coins(tmp_path, "JPY", [10, 100]))
        set_profile(ledger.store, profile, "Ann", "Bob")
        good = ledger.play(ref, real, "base", 200).round_id
        lying = profile.model_copy(update={"coins": ()})  # a writer that takes any coin and names the profile all the same
        lying.__dict__["profile_hash"] = profile.profile_hash
        ledger._profile._known = (lying, 2)
        bad = ledger.play(ref, real, "base", 220).round_id
    assert verification_of(path, good).verdict == "reproduced"
    found = verification_of(path, bad)
    assert found.verdict == "settlement_divergence"
    (finding,) = found.findings
    want = "20 coins of 10 or 100, as profile coins takes them in JPY"
    assert (finding.code, finding.severity, finding.want, finding.got) == ("bet", "money", want, "220")


def test_a_malformed_list_of_coins_stops_no_verdict(tmp_path: Path) -> None:
    """Values that a key holder wrote as they like are fsck's to find; the verdict on a round goes on."""
    path = tmp_path / "ledger.db"
    with new_ledger(tmp_path) as (ledger, ref):
        event = set_profile(ledger.store, shipped("better-of"), "Ann", "Bob")
        for coins in ([5], {"a": 1}, "x"):
            wrong = event.model_copy(update={"profile": {**event.profile, "coins": coins}})
            ledger.store.append_events("ledger", len(ledger.store.stream_events("ledger")) + 1, [event_bytes(wrong)])
        ledger._profile._known = (shipped("better-of"), 5)
        round_id = ledger.play(ref, installed_game("moonlight-princess"), "base", 200).round_id
    assert verification_of(path, round_id).verdict == "reproduced"
    assert [fault.code for fault in faults_of(path)] == ["profile_hash"] * 3
