"""Evidence packs: built from real rounds, the same bytes each time, checked by themselves, and every change in one found."""

import json
import os
import random
import re
import shlex
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit_reports.bag import MANIFEST, TAG_MANIFEST, PackUnreadableError, manifest, read_zip, zip_bytes
from audit_reports.commands.pack import CASE_FIELDS
from audit_reports.evidence_pack import VERIFIER
from audit_reports.pack_check import check_pack
from tests.command_line import run
from tests.conftest import ROOT
from tests.ledger_files import altered

Capture = pytest.CaptureFixture[str]
PAGE = ROOT / "docs" / "how-to" / "evidence-pack.md"
FLIPS = int(os.environ.get("SLOT_AUDIT_FLIPS", "60"))
CASE = "\n".join(f"{line.strip()}" for line in re.findall(r"^    (\w+ = .*)$", PAGE.read_text(), re.MULTILINE))


@pytest.fixture
def ledger(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with four rounds of anna's, the last left between two legs, and a checkpoint over all; the builder's key is the test's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AUDIT_PACK_KEY", raising=False)
    path = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", path)
    run(capfd, "play", "--game", "moonlight-princess", "--account", "anna", "--rounds", "2", "--ledger", path)
    run(capfd, "play", "--game", "moonlight-princess", "--mode", "buy", "--account", "anna", "--ledger", path)
    run(capfd, "play", "--game", "moonlight-princess", "--mode", "buy", "--account", "anna", "--legs", "2", "--ledger", path)
    run(capfd, "checkpoint", "--ledger", path, "-o", tmp_path / "kept.checkpoint")
    return path


def round_ids(capfd: Capture, ledger: Path) -> list[str]:
    """Return the ids of all rounds, in the order of opening."""
    return [line["round_id"] for line in run(capfd, "find", "--ledger", ledger, "--json").lines[:-1]]


def built(capfd: Capture, ledger: Path, round_id: str, name: str, *options: object) -> bytes:
    """Return the bytes of a pack."""
    place = ledger.with_name(name)
    done = run(capfd, "pack", "build", "--round", round_id, "--ledger", ledger, "-o", place, *options)
    assert done.status == 0, done.err
    return place.read_bytes()


def codes(data: bytes) -> set[str]:
    """Return the codes of what is found in a pack; a file that is none has its own."""
    try:
        return {finding.code for finding in check_pack(data, "pack").findings}
    except PackUnreadableError:
        return {"unreadable"}


def test_the_same_state_gives_the_same_bytes(capfd: Capture, ledger: Path) -> None:
    """Two builds are equal to the byte, later growth of other accounts or not, and nothing is found in them."""
    options = ("--checkpoint", ledger.with_name("kept.checkpoint"), "--vkey", ledger.with_name("ledger.db.keys") / "log.vkey")
    round_id = round_ids(capfd, ledger)[2]
    first, second = (built(capfd, ledger, round_id, name, *options) for name in ("a.zip", "b.zip"))
    assert first == second
    assert codes(first) == set()
    names = zipfile.ZipFile(ledger.with_name("a.zip")).namelist()
    assert names == sorted(names)
    assert [each for each in names if each.endswith(("round-before.jsonl", "round-after.jsonl", "round-key.json", "draws.jsonl"))] != []


def test_an_open_round_tells_nothing_of_what_is_to_come(capfd: Capture, ledger: Path) -> None:
    """The pack of a round in play has no key, no draw and no what-if, and says so; nothing is found in it."""
    data = built(capfd, ledger, round_ids(capfd, ledger)[3], "open.zip")
    files = {name.partition("/data/")[2] for name in read_zip(data, "pack")}
    assert not files & {"round-key.json", "draws.jsonl", "what-if.json"}
    assert codes(data) == set()
    done = run(capfd, "pack", "verify", ledger.with_name("open.zip"), "--json")
    assert (done.status, done.document["verdict"]) == (0, "incomplete_open")
    assert any(text.startswith("rerun: the pack has no key") for text in done.document["unchecked"])


def test_a_tampered_round_is_found_tampered_in_its_pack(capfd: Capture, ledger: Path) -> None:
    """A pack is built of an altered round as well, its verdict says so, and so does whoever checks the pack."""
    round_id = round_ids(capfd, ledger)[0]
    where = f"originator_id = 'round/{round_id}' AND topic = 'round_settled/1'"
    altered(ledger, f'UPDATE stored_events SET state = replace(state, \'"ended":"played"\', \'"ended":"capped"\') WHERE {where}')
    data = built(capfd, ledger, round_id, "tampered.zip")
    done = run(capfd, "pack", "verify", ledger.with_name("tampered.zip"))
    assert done.status == 3
    assert "record_tampered" in done.out.splitlines()[0]
    assert "leaf" in codes(data)


def test_every_change_of_a_byte_is_found(capfd: Capture, ledger: Path) -> None:
    """Random bytes changed anywhere in the file, and members removed, added, renamed and swapped, are found."""
    data = built(capfd, ledger, round_ids(capfd, ledger)[1], "whole.zip", "--checkpoint", ledger.with_name("kept.checkpoint"))
    chance = random.Random(7)
    for _ in range(FLIPS):
        changed = bytearray(data)
        changed[chance.randrange(len(changed))] ^= chance.randrange(1, 256)
        assert codes(bytes(changed))
    members = read_zip(data, "pack")
    one, two = [name for name in members if name.endswith(("round.jsonl", "account.jsonl"))]
    for other in (
        {name: content for name, content in members.items() if name != one},
        {**members, f"{one}.more": b"{}\n"},
        {name.replace("account.jsonl", "amount.jsonl"): content for name, content in members.items()},
        {**members, one: members[two], two: members[one]},
    ):
        assert codes(zip_bytes(other)) & {"bag", "pack_form"}


def sealed_anew(members: dict[str, bytes]) -> bytes:
    """Return a pack of these members with the bag's lists of hashes made anew, as one would who wants to pass for whole."""
    folder = next(iter(members)).split("/")[0] + "/"
    inner = {name.removeprefix(folder): content for name, content in members.items()}
    inner[MANIFEST] = manifest({name: content for name, content in inner.items() if name.startswith("data/")})
    tags = {name: content for name, content in inner.items() if not name.startswith("data/") and name != TAG_MANIFEST}
    inner[TAG_MANIFEST] = manifest(tags)
    return zip_bytes({folder + name: content for name, content in inner.items()})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_another(text: bytes, chance: random.Random) -> bytes:
    """Return a JSON object in which one value is of another kind, or away."""
    whole = json.loads(text)
    *path, last = chance.choice(list(places(whole)))
    holder = whole
    for key in path:
        holder = holder[key]
    if chance.random() < 0.2:
        del holder[last]
    else:
        holder[last] = chance.choice([None, True, -1, 2**53, 10**30, "", "\x00", "00" * 32, "9" * 5000, [], [1], {}, {"a": 1}, [[[]]], 1.5])
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def test_values_of_another_kind_are_found_too(capfd: Capture, ledger: Path) -> None:
    """A pack whose hashes are made anew over a member with a value of another kind is found out, never a failure of ours."""
    data = built(capfd, ledger, round_ids(capfd, ledger)[1], "whole.zip", "--checkpoint", ledger.with_name("kept.checkpoint"))
    members = read_zip(data, "pack")
    assert sealed_anew(members) == data
    chance = random.Random(1)
    ours = [name for name in members if name.endswith((".json", ".jsonl")) and not name.endswith(("report.json", "signature.json"))]
    for _ in range(FLIPS):
        name = chance.choice(ours)
        lines = members[name].splitlines(keepends=True)
        place = chance.randrange(len(lines))
        before, lines[place] = lines[place], with_another(lines[place], chance)
        is_found = bool(codes(sealed_anew({**members, name: b"".join(lines)})))
        assert is_found == (lines[place] != before), (name, lines[place])


def test_what_cannot_be_done_is_said(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """Wrong options are named with what was wanted, and nothing is written."""
    round_id = round_ids(capfd, ledger)[0]
    (tmp_path / "there.zip").write_bytes(b"")
    (tmp_path / "case.toml").write_text("claimant = 1\n")
    (tmp_path / "long.toml").write_text("#" * 99_900 + "\n" + "".join(f'{name} = ""\n' for name in CASE_FIELDS) + "#" * 100)
    (tmp_path / "deep.toml").write_text("claimant = " + "[" * 50_000)
    (tmp_path / "key").write_text("zz")
    log_key = ledger.with_name("ledger.db.keys") / "log.key"
    out = ("-o", tmp_path / "new.zip")
    for words, status, message in (
        (("build", "--round", round_id, "-o", tmp_path / "there.zip"), 2, "-o: want a file that is not there yet"),
        (("build", "--round", round_id, "--case", tmp_path / "case.toml", *out), 2, "--case: want a TOML file with texts of 4000"),
        (("build", "--round", round_id, "--case", tmp_path / "none.toml", *out), 2, "--case: want a TOML file with texts of 4000"),
        (("build", "--round", round_id, "--case", tmp_path / "long.toml", *out), 2, "which is longer"),
        (("build", "--round", round_id, "--case", tmp_path / "deep.toml", *out), 2, "--case: want a TOML file with texts of 4000"),
        (("build", "--round", "nothing-of-it", *out), 3, "round nothing-of-it"),
        (("build", "--round", round_id, "--as-of", "now", *out), 2, "--as-of: want a time"),
        (("build", "--round", round_id, "--as-of", "1969-12-31T23:59:59Z", *out), 2, "--as-of: want a time from 1970 to 2255"),
        (("build", "--round", round_id, "--as-of", "2256-01-01T00:00:00Z", *out), 2, "--as-of: want a time from 1970 to 2255"),
        (("build", "--round", round_id, "--pack-key", log_key, *out), 2, "--pack-key: want the builder's own key, got 'that of the log'"),
        (("build", "--round", round_id, "--pack-key", tmp_path / "key", *out), 4, "want an Ed25519 private key"),
    ):
        done = run(capfd, "pack", *words, "--ledger", ledger)
        assert done.status == status, done.err
        assert message in done.err
        assert not (tmp_path / "new.zip").exists()
    for words, status, message in (
        (("verify", tmp_path / "there.zip"), 4, "want stored members alone"),
        (("verify", tmp_path / "none.zip"), 4, "none.zip"),
        (("verify", tmp_path / "there.zip", "--key", tmp_path / "key"), 2, "--key: want a file with 64 hex digits"),
    ):
        done = run(capfd, "pack", *words)
        assert (done.status, message in done.err) == (status, True), done.err


def test_a_checkpoint_of_more_leaves_is_named(capfd: Capture, ledger: Path) -> None:
    """A pack of a ledger that has lost its end does not say that no checkpoint was given: it names what it was held against."""
    round_id, shorter = round_ids(capfd, ledger)[0], ledger.with_name("shorter.db")
    with closing(sqlite3.connect(ledger)) as database:
        database.execute("VACUUM INTO ?", (str(shorter),))
    run(capfd, "play", "--game", "moonlight-princess", "--account", "berta", "--ledger", ledger)
    run(capfd, "checkpoint", "--ledger", ledger, "-o", ledger.with_name("grown.checkpoint"))
    data = built(capfd, shorter, round_id, "shorter.zip", "--checkpoint", ledger.with_name("grown.checkpoint"))
    (index,) = [json.loads(content) for name, content in read_zip(data, "pack").items() if name.endswith("/data/pack.json")]
    assert index["verdict"] == "record_tampered"
    assert "checkpoint" not in index["absent"]
    assert re.fullmatch(r"the builder was given such of \d+, and the ledger has \d+", index["absent"]["checkpoints of more leaves"])


def test_the_commands_of_the_page_do_what_it_says(capfd: Capture, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `audit` command of docs/how-to/evidence-pack.md is run, with this ledger's ids and files for those of the page."""
    monkeypatch.chdir(ledger.parent)
    monkeypatch.delenv("AUDIT_LEDGER", raising=False)
    Path("case.toml").write_text(CASE)
    Path("log.vkey").write_bytes((ledger.with_name("ledger.db.keys") / "log.vkey").read_bytes())
    for line in re.findall(r"^    (audit .*)$", PAGE.read_text(), re.MULTILINE):
        words = [round_ids(capfd, ledger)[2] if word == "$ROUND" else word for word in shlex.split(line)[1:]]
        done = run(capfd, *words)
        assert done.status == 0, done.err
        if words[1] == "build":
            with zipfile.ZipFile("dispute.zip") as pack:
                (name,) = [each for each in pack.namelist() if each.endswith("/data/keys/pack.pub")]
                Path("pack.pub").write_bytes(pack.read(name))
    (alone,) = re.findall(r"^    (python .*)$", PAGE.read_text(), re.MULTILINE)
    Path("verify_pack.py").write_bytes(VERIFIER.read_bytes())
    checked = subprocess.run([sys.executable, *shlex.split(alone)[1:]], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout[:13]) == (0, "NOTHING FOUND"), checked.stderr
    assert "builder: signed by the key that you hold" in done.out
    assert "checkpoints: 1, signed by the key that you hold" in done.out
