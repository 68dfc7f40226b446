"""Packs that are wrong in one thing are found out by each checker, by that thing; right ones sealed by the same hand are not."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from audit_reports.bag import read_zip
from ledger.codec import LIFECYCLE_EVENTS
from tests.command_line import run
from tests.conftest import ROOT
from tests.pack_forging import take_apart
from tests.right_packs import RightPacks, right_packs
from tests.wrong_packs import WRONGS, make_wrong, right

Capture = pytest.CaptureFixture[str]
ALONE = ROOT / "audit_reports" / "verifier" / "verify_pack.py"
PROGRAM, FILE = "audit pack verify", "verify_pack.py"
pytestmark = pytest.mark.skipif(not ALONE.exists(), reason="the stand-alone verifier, which goes into every pack, is not here")
FINDINGS_MAX = 8  # of one wrong thing: what follows from it is in bounds
OF_NO_FORM = {"folder_of_another_round"}  # a checker may take it for no pack at all


class Seen(NamedTuple):
    """What a checker says of a pack: exit status, each finding as text, all that it wrote."""

    status: int
    findings: list[str]
    text: str


Checker = Callable[[bytes], Seen]


@pytest.fixture(scope="session")
def packs(tmp_path_factory: pytest.TempPathFactory) -> RightPacks:
    """The right packs."""
    return right_packs(tmp_path_factory.mktemp("right"))


@pytest.fixture
def checker(request: pytest.FixtureRequest, capfd: Capture, tmp_path: Path) -> Checker:
    """The checker that the test is for: the command, or the file alone, copied into an empty folder, on the bare interpreter."""
    pack, case = tmp_path / "pack.zip", request.node.callspec.params
    base = case["base"] if "base" in case else WRONGS[case["name"]].base
    if request.param == PROGRAM and base == "presented" and "presentation_sent" not in LIFECYCLE_EVENTS:
        pytest.skip("this program records nothing of what was shown")

    def by_program(data: bytes) -> Seen:
        pack.write_bytes(data)
        done = run(capfd, "pack", "verify", pack, "--json")
        return _seen(done.status, done.out, done.err)

    def by_file(data: bytes) -> Seen:
        pack.write_bytes(data)
        folder = tmp_path / "alone"
        folder.mkdir(exist_ok=True)
        (folder / FILE).write_bytes(ALONE.read_bytes())
        done = subprocess.run([sys.executable, "-I", "-S", FILE, pack, "--json"], cwd=folder, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return _seen(done.returncode, done.stdout, done.stderr)

    return by_program if request.param == PROGRAM else by_file


def _seen(status: int, out: str, err: str) -> Seen:
    if status == 4:
        return Seen(status, [err], out + err)
    return Seen(status, [json.dumps(each, ensure_ascii=False).lower() for each in json.loads(out)["findings"]], out + err)


@pytest.mark.parametrize("checker", [PROGRAM, FILE], indirect=True)
@pytest.mark.parametrize("base", ["settled", "in_play", "presented"])
def test_right_packs_sealed_by_the_same_hand_are_right(
    base: str, checker: Checker, packs: RightPacks, request: pytest.FixtureRequest
) -> None:
    """Nothing is found in a right pack that the forger has taken apart and sealed anew with keys of his own: he leaves no trace."""
    seen = checker(right(base, packs).sealed())
    assert (seen.status, seen.findings) == (0, []), seen.text


CASES = [
    pytest.param(name, checker, id=f"{name}-{checker}")
    for name, way in WRONGS.items()
    for checker in ((PROGRAM, FILE) if way.is_seen_by_all else (PROGRAM,))
]


@pytest.mark.parametrize("name, checker", CASES, indirect=["checker"])
def test_one_wrong_thing_is_found(name: str, checker: Checker, packs: RightPacks) -> None:
    """Each wrong pack ends with findings, one of them on what is wrong, and none is a failure of the checker's own."""
    data = make_wrong(name, packs)
    if data is None:
        pytest.skip("the right pack has no such file")
    seen = checker(data)
    assert seen.status == 3 or (seen.status == 4 and name in OF_NO_FORM), seen.text
    assert any(re.search(WRONGS[name].words, finding) for finding in seen.findings), seen.text
    assert len(seen.findings) <= FINDINGS_MAX


def test_what_is_wrong_is_one_thing(packs: RightPacks) -> None:
    """Each wrong pack differs from the right one sealed by the same hand, its members do, and fifteen or more are for every checker."""
    sealed = {base: right(base, packs).sealed() for base in ("settled", "in_play", "presented")}
    for name, way in WRONGS.items():
        data = make_wrong(name, packs)
        if data is None:
            continue
        members, others = read_zip(data, name), read_zip(sealed[way.base], name)
        assert {member for member in members if members[member] != others.get(member)} or set(members) != set(others), name
    assert sum(way.is_seen_by_all for way in WRONGS.values()) >= 15


def test_the_forger_changes_nothing_that_he_does_not_mean_to(packs: RightPacks) -> None:
    """A pack taken apart holds what it did, and files that follow from amounts follow to the same bytes."""
    from tests.forged_amounts import follow_from_wins

    one, two = take_apart(packs.settled), take_apart(packs.settled)
    follow_from_wins(two)
    assert one.sealed() == two.sealed()
