"""Jurisdiction profiles through the command line: shown, set by two, and what a bet then may be."""

from pathlib import Path

import pytest

from ledger.profile import shipped_profile
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.ledger_files import altered, rows

Capture = pytest.CaptureFixture[str]
TWO = ("--by", "Ann", "--approved-by", "Bob")
PROFILES = Path(__file__).parents[2] / "ledger" / "profiles"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new ledger."""
    RoundLedger.create(tmp_path / "ledger.db").close()
    return tmp_path / "ledger.db"


def test_show_and_set(capfd: Capture, path: Path) -> None:
    """The default is in force until another is set; then that one is shown with who set it, and the default by its id or hash."""
    before = run(capfd, "profile", "show", "--ledger", path)
    assert before.status == 0
    assert before.out.startswith("default 1.0.0: The profile of a house that has set none\n")
    assert "it comes with the program and was never set, and is in force while none is\n" in before.out
    wanted = ["retention", "verification", "logs", "days", "90", "gli-19", "B.2.6(c)"]
    assert wanted in [line.split() for line in before.out.splitlines()]
    done = run(capfd, "profile", "set", PROFILES / "better-of.toml", "--ledger", path, *TWO)
    profile = shipped_profile("better-of")
    assert profile is not None
    assert (done.status, done.out) == (0, f"in force from now on: better-of 1.0.0, {profile.profile_hash}\n")
    shown = run(capfd, "profile", "show", "--ledger", path)
    lines = shown.out.splitlines()
    assert lines[1] == f"hash {profile.profile_hash}, in force"
    assert lines[2].startswith("set ")
    assert lines[2].endswith(" by Ann, approved by Bob")
    assert any(line.split() == ["cannot", "continue", "pays", "better_of", "agco", "4.21(5)"] for line in lines)
    assert max(map(len, lines)) <= 140
    default = run(capfd, "profile", "show", "--id", "default", "--ledger", path)
    assert default.status == 0
    assert ", not in force\nit comes with the program and was never set\n" in default.out
    assert run(capfd, "profile", "show", "--id", profile.profile_hash[:12], "--ledger", path).out == shown.out


def test_the_json_of_both(capfd: Capture, path: Path) -> None:
    """The documents hold every value with its origin, the hash, and each time it was set."""
    profile = shipped_profile("void-15-days")
    assert profile is not None
    done = run(capfd, "profile", "set", "void-15-days", "--ledger", path, *TWO, "--json").document
    assert done == {
        "schema": "profile/1",
        "profile_id": "void-15-days",
        "profile_version": "1.0.0",
        "profile_hash": profile.profile_hash,
        "set_at_us": done["set_at_us"],
    }
    document = run(capfd, "profile", "show", "--ledger", path, "--json").document
    setting = {"event_index": 1, "set_at_us": done["set_at_us"], "set_by": "Ann", "approved_by": "Bob"}
    hashed = {"profile": profile.values, "profile_hash": profile.profile_hash}
    assert document == {"schema": "profile/1", **hashed, "is_in_force": True, "settings": [setting], "findings": []}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("better-of", "--by", "Ann"), 2, "Missing option '--approved-by'"),
        (("better-of", "--by", "Ann", "--approved-by", "ANN"), 2, "--approved-by: want another person than --by"),
        (("default", *TWO), 2, "profile default 1.0.0: want another than the one in force"),
        (("nothing.toml", *TWO), 4, "profile nothing.toml, the file: want a profile's value, got one that cannot be read"),
        (("postgresql://x", *TWO), 2, "FILE: want a profile's file"),
    ],
    ids=str,
)
def test_wrong_usage_of_set(capfd: Capture, path: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    """Wrong usage has its own message, and nothing is recorded."""
    done = run(capfd, "profile", "set", *arguments, "--ledger", path)
    assert done.status == status
    assert message in done.err
    assert run(capfd, "profile", "show", "--ledger", path, "--json").document["settings"] == []


def test_an_unknown_profile(capfd: Capture, path: Path) -> None:
    """An id that none has is wrong usage and lists those that there are."""
    done = run(capfd, "profile", "show", "--id", "nothing", "--ledger", path)
    assert done.status == 2
    assert "choose one of better-of, complete-24-hours, default," in done.err


def test_a_name_that_was_erased_or_altered(capfd: Capture, path: Path) -> None:
    """An erased name is in brackets and nothing is wrong; an altered one is a finding."""
    run(capfd, "profile", "set", "better-of", "--ledger", path, *TWO)
    altered(path, "DELETE FROM texts WHERE content = 'Ann'", "UPDATE texts SET content = 'Eve' WHERE content = 'Bob'")
    shown = run(capfd, "profile", "show", "--ledger", path)
    assert shown.status == 3
    assert " by (erased), approved by (altered)\n" in shown.out
    assert "text_hash" in shown.out


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ('"days":90,"source":"unf', '"days":91,"source":"unf', "got "),
        ('"better_of"', '"worse_of"', "got Input should be 'return_of_bet' or 'better_of' in cannot_continue.pays"),
    ],
)
def test_values_that_were_altered(capfd: Capture, path: Path, old: str, new: str, got: str) -> None:
    """Recorded values that are not those of their hash, be they a profile or none, are not shown, and nobody plays by them."""
    run(capfd, "profile", "set", "better-of", "--ledger", path, *TWO)
    ((state,),) = rows(path, "SELECT CAST(state AS TEXT) FROM stored_events WHERE topic = 'profile_set/1'")
    quoted = state.replace(old, new).replace("'", "''")
    altered(path, f"UPDATE stored_events SET state = CAST('{quoted}' AS BLOB) WHERE topic = 'profile_set/1'")
    for command in (("profile", "show"), ("profile", "set", "void-2-days", *TWO), ("play", "--game", "moonlight-princess")):
        done = run(capfd, *command, "--ledger", path)
        assert done.status == 4
        assert "profile better-of, event 1 of stream ledger: want values of hash 2eaeb487" in done.err
        assert got in done.err
    assert run(capfd, "fsck", "--ledger", path).status == 3


def test_a_bet_that_the_profile_leaves_out(capfd: Capture, path: Path, tmp_path: Path) -> None:
    """`audit play` bets the nearest coin below ten that is listed, and names the allowed bets where another is asked for."""
    file = tmp_path / "coins.toml"
    coins = '\n[[coins]]\ncurrency = "JPY"\ncoins_minor = [4, 50]\nsource = "gli-19"\n'
    file.write_text((PROFILES / "default.toml").read_text().replace('id = "default"', 'id = "coins"') + coins)
    run(capfd, "profile", "set", file, "--ledger", path, *TWO)
    game = ("--game", "moonlight-princess", "--currency", "JPY", "--ledger", path)
    refused = run(capfd, "play", *game, "--bet", "200")
    assert refused.status == 2
    assert "bet of moonlight-princess: want 80 or 1000 JPY, got 200; nearest: 80 and 1000" in refused.err
    played = run(capfd, "play", *game, "--json")
    assert (played.status, played.lines[-1]["cost_minor"]) == (0, 80)
    assert run(capfd, "play", "--game", "moonlight-princess", "--account", "eve", "--ledger", path, "--json").lines[-1]["cost_minor"] == 200
    assert run(capfd, "verify", "--all", "--ledger", path).status == 0
    assert run(capfd, "fsck", "--ledger", path).status == 0
