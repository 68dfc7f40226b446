"""Approved builds through the command line: registered by two, listed, and the installed sources held against the manifest."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_builds
from ledger.builds import register_builds
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT
from tests.ledger_files import altered

Capture = pytest.CaptureFixture[str]
GAME = "moonlight-princess"
BUILD = installed_builds(GAME)[-1]
TWO = ("--by", "Ann", "--approved-by", "Bob")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new ledger."""
    RoundLedger.create(tmp_path / "ledger.db").close()
    return tmp_path / "ledger.db"


def test_register_and_list(capfd: Capture, path: Path) -> None:
    """What is installed is registered and found to be installed; before, the list says that nothing is judged."""
    empty = run(capfd, "builds", "list", "--ledger", path)
    assert (empty.status, empty.out) == (0, "no build is registered: no round is judged by its build\n")
    done = run(capfd, "builds", "register", "--ledger", path, *TWO)
    assert (done.status, done.err) == (0, "")
    assert f"registered {GAME} {BUILD.rules_version}: {BUILD.fingerprint}, {len(BUILD.sources)} sources and the rules file\n" in done.out
    listed = run(capfd, "builds", "list", "--ledger", path)
    assert listed.status == 0
    head, *rows = listed.out.splitlines()
    assert head.split() == ["game", "rules", "fingerprint", "registered", "by", "approved", "by", "installed"]
    assert len(rows) == len(installed_builds())
    assert any(row.startswith(GAME) and BUILD.fingerprint[:16] in row and row.endswith("Ann  Bob          yes") for row in rows)


def test_the_json_of_both(capfd: Capture, path: Path) -> None:
    """The documents hold every fact: manifest, names, place, what is installed, what differs."""
    done = run(capfd, "builds", "register", "--ledger", path, "--game", GAME, *TWO, "--json").document
    registered, *_ = done["registered"]
    assert done["schema"] == "builds/1"
    assert registered["sources"] == BUILD.sources
    document = run(capfd, "builds", "list", "--ledger", path, "--json").document
    build, *_ = document["builds"]
    named = {"registered_by": "Ann", "approved_by": "Bob", "event_index": 1, "is_installed": True, "differences": []}
    assert build == {**registered, **named}
    assert set(registered) == {"game", "rules_version", "rules_hash", "fingerprint", "registered_at_us", "sources"}
    installed = {"game": GAME, "rules_version": BUILD.rules_version, "fingerprint": BUILD.fingerprint, "is_registered": True}
    assert installed in document["installed"]
    assert document["schema"] == "builds/1"
    assert [finding for finding in document["findings"] if GAME in finding["where"]] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "Ann"), "Missing option '--approved-by'"),
        (("--approved-by", "Ann"), "Missing option '--by'"),
        (("--by", "Ann", "--approved-by", "ANN"), "--approved-by: want another person than --by, got 'Ann' for both"),
        (("--by", "", "--approved-by", "Bob"), "--by: want a text, got an empty one"),
        ((*TWO, "--game", "tic-tac-toe"), "game 'tic-tac-toe': want one of moonlight-princess"),
    ],
    ids=str,
)
def test_wrong_usage_of_register(capfd: Capture, path: Path, arguments: tuple[str, ...], message: str) -> None:
    """Wrong usage has status 2 and its own message, and nothing is recorded."""
    done = run(capfd, "builds", "register", "--ledger", path, *arguments)
    assert done.status == 2
    assert message in done.err
    assert run(capfd, "builds", "list", "--ledger", path, "--json").document["builds"] == []


def test_a_second_registration_is_an_error(capfd: Capture, path: Path) -> None:
    """The same build again has status 2; a ledger without its keys cannot be registered in."""
    run(capfd, "builds", "register", "--ledger", path, *TWO)
    again = run(capfd, "builds", "register", "--ledger", path, "--game", GAME, *TWO)
    assert again.status == 2
    assert f"{BUILD.fingerprint}: want one that is not registered yet, got one that is; see `audit builds list`" in again.err
    assert run(capfd, "builds", "register", "--ledger", path, "--keys", path.with_name("none"), *TWO).status == 4


def test_another_build_is_not_the_installed_one(capfd: Capture, path: Path) -> None:
    """Where another build was approved, list and doctor name each file that differs, and a round played here is unapproved."""
    sources = {path_: digest for path_, digest in BUILD.sources.items() if path_ != "engines/rng.py"}
    sources["engines/old.py"] = "00" * 32
    other = BUILD._replace(fingerprint="ee" * 32, sources=sources, rules_hash="11" * 32)
    with RoundLedger.open_for_writing(path) as ledger:
        register_builds(ledger, [other], "Ann", "Bob")
    listed = run(capfd, "builds", "list", "--ledger", path)
    assert listed.status == 3
    assert f"{other.fingerprint}: what is installed differs in 3 files" in listed.out
    assert f"  engines/old.py: want {'00' * 32}, got none" in listed.out
    assert f"  engines/rng.py: want none, got {BUILD.sources['engines/rng.py']}" in listed.out
    assert f"  {BUILD.rules_path}: want {'11' * 32}, got {BUILD.rules_hash}" in listed.out
    assert "build_manifest" in listed.out  # the manifest made up above is not that of its fingerprint
    health = run(capfd, "doctor", "--ledger", path)
    assert health.status == 4
    where = f"installed build of {GAME} {BUILD.rules_version}"
    assert f"{where}: want {other.fingerprint}, got {BUILD.fingerprint}, which differs in engines/old.py" in health.out
    assert "mend: install the registered release, or have this one approved: audit builds register" in health.out
    played = run(capfd, "play", "--ledger", path, "--game", GAME, "--json")
    assert played.status == 0
    all_ = run(capfd, "verify", "--all", "--ledger", path, "--json")
    assert (all_.status, all_.lines[-1]["verdicts"]) == (3, {"build_unapproved": 1})
    one = run(capfd, "verify", "--round", all_.lines[0]["round_id"], "--ledger", path)
    assert one.status == 3
    assert one.out.startswith("BUILD_UNAPPROVED  round ")
    assert run(capfd, "fsck", "--ledger", path).status == 3


def test_a_version_that_is_not_installed(capfd: Capture, path: Path) -> None:
    """The build of rules that are not installed here is listed as such; that is no finding of its own."""
    with RoundLedger.open_for_writing(path) as ledger:
        register_builds(ledger, [*installed_builds(), BUILD._replace(rules_version="9.9.9")], "Ann", "Bob")
        old = BUILD._replace(rules_version="9.9.9", fingerprint="ee" * 32)
        register_builds(ledger, [old], "Ann", "Bob")
    document = run(capfd, "builds", "list", "--ledger", path, "--json").document
    assert document["builds"][-1]["differences"] == [{"path": f"rules 9.9.9 of {GAME}", "want": BUILD.rules_hash, "got": "none"}]
    assert {finding["code"] for finding in document["findings"]} == {"build_manifest"}


def test_names_that_were_erased_or_altered(capfd: Capture, path: Path) -> None:
    """A name that is gone, or is not the one recorded, is not shown; the registration stands."""
    run(capfd, "builds", "register", "--ledger", path, "--game", GAME, *TWO)
    altered(path, "UPDATE texts SET content = 'Zed' WHERE content = 'Ann'", "DELETE FROM texts WHERE content = 'Bob'")
    listed = run(capfd, "builds", "list", "--ledger", path, "--json")
    build, *_ = listed.document["builds"]
    assert (build["registered_by"], build["approved_by"], build["is_installed"]) == ("(altered)", "(erased)", True)
    assert listed.status == 3
    (found,) = [finding for finding in listed.document["findings"] if finding["code"] == "text_hash"]
    assert "want one that comes to its hash, got another" in found["message"]


def test_a_tampered_registration(capfd: Capture, path: Path) -> None:
    """A registration whose bytes are not its leaf's is a finding of list and doctor; one that is no event has status 4."""
    run(capfd, "builds", "register", "--ledger", path, *TWO)
    where = "WHERE originator_id = 'ledger' AND originator_version = 2"
    digest = BUILD.sources["engines/rng.py"]
    altered(path, f"UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), '{digest}', '{'0' * 64}') AS BLOB) {where}")
    listed = run(capfd, "builds", "list", "--ledger", path, "--json")
    assert listed.status == 3
    assert [finding["code"] for finding in listed.document["findings"]] == ["leaf", "build_manifest"]
    assert "mend: treat the ledger as altered: keep it, run audit fsck" in run(capfd, "doctor", "--ledger", path).out
    altered(path, f"UPDATE stored_events SET state = CAST('{{}}' AS BLOB) {where}")
    for command in ("list", "register"):
        broken = run(capfd, "builds", command, "--ledger", path, *(TWO if command == "register" else ()))
        assert broken.status == 4
        assert "event bytes: want BuildRegistered in canonical form" in broken.err
    assert "BAD  builds: event bytes: want BuildRegistered in canonical form" in run(capfd, "doctor", "--ledger", path).out


def test_registrations_that_were_taken_away(capfd: Capture, path: Path) -> None:
    """Where the registrations are gone and their leaves are there, list and doctor do not pass that for a ledger without any."""
    run(capfd, "builds", "register", "--ledger", path, *TWO)
    altered(path, "DELETE FROM stored_events WHERE originator_id = 'ledger' AND originator_version > 1")
    listed = run(capfd, "builds", "list", "--ledger", path)
    assert listed.status == 3
    assert "[integrity] events_missing" in listed.out
    health = run(capfd, "doctor", "--ledger", path)
    assert health.status == 4
    assert "BAD  builds: stream ledger, events of the stream: want" in health.out


def run_copy(folder: Path, *arguments: object) -> Any:
    """Run `audit` from a copy of the packages, as another installation would."""
    program = "import sys; from audit_reports.cli import main; main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    words = [str(argument) for argument in arguments]
    return subprocess.run([sys.executable, "-c", program, *words], cwd=folder, env=environment, capture_output=True, text=True)


def test_an_edited_installation_finds_itself_out(capfd: Capture, path: Path, tmp_path: Path) -> None:
    """A copy of the program is clean as it is; each file that is edited, added or lost in it is named, with both hashes."""
    copy = tmp_path / "copy"
    for package in ("engines", "ledger", "replay", "audit_reports"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    run(capfd, "builds", "register", "--ledger", path, *TWO)
    assert run_copy(copy, "builds", "list", "--ledger", path).returncode == 0
    kernels = copy / "engines" / "kernels"
    (kernels / "more.py").write_text('"""One more."""\n')
    with (kernels / "reels.py").open("a") as file:
        file.write("from engines.kernels.more import *\n")
    (kernels / "win_cap.py").unlink()
    done = run_copy(copy, "builds", "list", "--ledger", path, "--json")
    assert (done.returncode, done.stderr) == (3, "")
    document = json.loads(done.stdout)
    build = next(each for each in document["builds"] if each["game"] == GAME)
    wanted = BUILD.sources
    found = {difference["path"]: (difference["want"], difference["got"]) for difference in build["differences"]}
    assert set(found) == {f"engines/kernels/{name}.py" for name in ("more", "reels", "win_cap")}
    assert found["engines/kernels/win_cap.py"] == (wanted["engines/kernels/win_cap.py"], "none")
    assert found["engines/kernels/more.py"][0] == "none"
    assert found["engines/kernels/reels.py"][0] == wanted["engines/kernels/reels.py"] != found["engines/kernels/reels.py"][1]
    assert build["is_installed"] is False
    assert "build_unapproved" in [finding["code"] for finding in document["findings"]]
    health = run_copy(copy, "doctor", "--ledger", path)
    assert health.returncode == 4
    assert "which differs in engines/kernels/more.py, engines/kernels/reels.py, engines/kernels/win_cap.py" in health.stdout
    rules = copy / BUILD.rules_path
    rules.write_text("nothing")
    assert "BAD  builds: " in run_copy(copy, "doctor", "--ledger", path).stdout
