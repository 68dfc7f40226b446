"""Evidence packs: the two checkers agree on each, and every change of a byte or a member is found by both."""

import argparse
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.proofs.proof import ROOT, expect

__all__ = ["prove_packs"]

VERIFIER = ROOT / "audit_reports" / "verifier" / "verify_pack.py"
CHANCE = 20261201


def prove_packs(options: argparse.Namespace) -> dict[str, Any]:
    """Each pack of the tests' set ends alike with both checkers; single bytes and members changed at random are found by both.

    The stand-alone verifier is a clean copy in an empty folder; hostile files are run by their own tests, each of them.
    """
    from audit_reports.pack_check import check_pack
    from tests.pack_set import NAMES, PackSet

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        alone = folder / "alone"
        alone.mkdir()
        shutil.copyfile(VERIFIER, alone / "verify_pack.py")
        checkers = {"audit pack verify": _by_program(check_pack), "verify_pack.py": _by_file(_loaded(alone / "verify_pack.py"))}
        (folder / "packs").mkdir()
        packs = PackSet(folder / "packs")
        agreed = {pack: _agreed(pack, packs[pack].data, checkers, alone) for pack in NAMES}
        found = dict.fromkeys(checkers, 0)
        for what, data in _changes([packs[pack].data for pack in NAMES], options.pack_flips):
            for checker, status in checkers.items():
                expect(f"{checker} on a pack with {what}", True, status(data) in (3, 4))
                found[checker] += 1
    environment = {**os.environ, "SLOT_AUDIT_FLIPS": str(options.pack_flips)}
    tests = ["tests/audit_reports/test_hostile_packs.py", "tests/audit_reports/test_wrong_packs.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", "2", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect("exit status of the tests of wrong and hostile packs", 0, done.returncode)
    counts = {"bytes": options.pack_flips, "members": min(found.values()) - options.pack_flips}
    return {"statuses": agreed, "changed": counts, "found": found, "wrong_and_hostile": done.stdout.strip().splitlines()[-1]}


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_pack_alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _by_program(check_pack: Any) -> Callable[[bytes], int]:
    from audit_reports.bag import PackUnreadableError

    def status(data: bytes) -> int:
        try:
            return int(check_pack(data, "pack").exit_status)
        except PackUnreadableError as error:
            return error.exit_status

    return status


def _by_file(module: ModuleType) -> Callable[[bytes], int]:
    def status(data: bytes) -> int:
        try:
            audit = module.audit_of(data)
        except ValueError:
            return 4
        return 0 if not audit.findings and audit.about.get("verdict") in module.CLEAN else 3

    return status


def _agreed(name: str, data: bytes, checkers: dict[str, Callable[[bytes], int]], alone: Path) -> int:
    """Return the exit status that all have of a pack, the file as a process of the bare interpreter too."""
    (alone / "pack.zip").write_bytes(data)
    command = [sys.executable, "-I", "-S", "verify_pack.py", "pack.zip"]
    statuses = {subprocess.run(command, cwd=alone, env={}, capture_output=True).returncode}
    statuses |= {status(data) for status in checkers.values()}
    expect(f"exit statuses of pack {name}", 1, len(statuses))
    return statuses.pop()


def _changes(packs: list[bytes], count: int) -> Iterator[tuple[str, bytes]]:
    """Yield packs with one byte changed, of all in turn, and with members taken out, added, called otherwise and changed over."""
    from audit_reports.bag import read_zip, zip_bytes

    chance = random.Random(CHANCE)
    for number in range(count):
        data = bytearray(packs[number % len(packs)])
        place, by = chance.randrange(len(data)), chance.randrange(1, 256)
        data[place] ^= by
        yield f"byte {place} changed by {by}", bytes(data)
    for data in packs:
        members = read_zip(data, "pack")
        for name in members:
            other = chance.choice([each for each in members if members[each] != members[name]])
            yield f"{name} taken out", zip_bytes({each: content for each, content in members.items() if each != name})
            yield f"{name} called otherwise", zip_bytes({f"{each}.x" if each == name else each: members[each] for each in members})
            yield f"{name} and {other} changed over", zip_bytes({**members, name: members[other], other: members[name]})
            yield f"a member beside {name}", zip_bytes({**members, f"{name}.more": b"{}\n"})
