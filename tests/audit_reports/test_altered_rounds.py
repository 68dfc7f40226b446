"""A round altered in a ledger, in any way: `audit verify --round` says `record_tampered`, and what the other checks say stands beside it."""

import os
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engines.registry import installed_game
from ledger.copying import copy_ledger
from ledger.rounds import RoundLedger
from replay.verdict import CHECK_NAMES
from tests.attacks import ATTACKS, open_for_attack, rebuild_log
from tests.command_line import run

INSTANCES = int(os.environ.get("SLOT_AUDIT_ATTACKS", "6"))
Capture = pytest.CaptureFixture[str]

PAYLOADS = ("change any byte of a payload", "swap two payloads", "change leaf and payload")
LEAVES = ("change a leaf",)
PLACES = ("change a version", "change a stream", "change a topic", "delete an event in the middle", "add an event")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of a few rounds, long and short, in one file."""
    folder = tmp_path_factory.mktemp("whole")
    game = installed_game("moonlight-princess")
    with RoundLedger.create(folder / "ledger.db") as opened:
        ann = opened.open_account("ann", "EUR")
        opened.move_funds(ann, 10**7)
        for number in range(10):
            opened.play(ann, game, ("base", "buy")[number % 3 // 2], 200)
    copy_ledger(folder / "ledger.db", folder / "whole.db")
    shutil.copytree(folder / "ledger.db.keys", folder / "whole.db.keys")
    return folder / "whole.db"


def altered_round(whole: Path, copy: Path, name: str, number: int) -> str:
    """Make one instance of an attack that hits a round on a copy; return the round's id."""
    chance = random.Random(f"{name} {number}")
    while True:
        shutil.copyfile(whole, copy)
        with closing(open_for_attack(str(copy))) as connection:
            before = dict(connection.execute("SELECT stream, group_concat(hex(leaf_hash)) FROM leaves GROUP BY stream"))
            words = ATTACKS[name](connection, chance)
            after = dict(connection.execute("SELECT stream, group_concat(hex(leaf_hash)) FROM leaves GROUP BY stream"))
        stream = words or next((stream for stream in before if before[stream] != after[stream]), "")
        if words is not None and stream.startswith("round/"):
            return stream.removeprefix("round/")


def verified(capfd: Capture, whole: Path, copy: Path, round_id: str) -> tuple[dict[str, Any], str]:
    """The verdict as a document and as text."""
    options = ("verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--round", round_id)
    done, told = run(capfd, *options, "--json"), run(capfd, *options)
    assert (done.status, told.status) == (3, 3)
    return done.document, told.out


@pytest.mark.parametrize("name", PAYLOADS + LEAVES + PLACES)
def test_an_altered_round_is_tampered_and_the_other_checks_stand_beside(capfd: Capture, whole: Path, tmp_path: Path, name: str) -> None:
    """The verdict, an integrity finding with want and got, and six results; those of the other checks are what they are without the leaves."""
    copy = tmp_path / "copy.db"
    for number in range(INSTANCES):
        round_id = altered_round(whole, copy, name, number)
        document, text = verified(capfd, whole, copy, round_id)
        assert document["verdict"] == "record_tampered", (name, number)
        checks = {check["name"]: check["result"] for check in document["checks"]}
        assert tuple(checks) == CHECK_NAMES
        assert checks["record"] == "fail"
        finding = next(finding for finding in document["findings"] if finding["severity"] == "integrity")
        assert f"want {finding['want']}, got {finding['got']}" in finding["message"]
        assert text.startswith(f"RECORD_TAMPERED  round {round_id}\n")
        for check in document["checks"]:
            line = next(line for line in text.splitlines() if line.startswith(f"  {check['name']} "))
            assert check["result"].replace("_", " ") in line
        assert all(finding["code"] in text for finding in document["findings"])
        if name in LEAVES:
            assert [checks[each] for each in ("seed", "replay", "referee", "totals")] == ["pass"] * 4, (name, number, checks)
        if name in PAYLOADS:
            with closing(open_for_attack(str(copy))) as connection:
                rebuild_log(connection)
            options = ("verify", "--ledger", copy, "--keys", whole.with_name("whole.db.keys"), "--round", round_id, "--json")
            laundered = {check["name"]: check["result"] for check in run(capfd, *options).document["checks"]}
            assert laundered | {"record": "fail"} == checks, (name, number)
