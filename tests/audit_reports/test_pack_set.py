"""The packs of each way a round can stand: their verdicts, both verifiers, the same bytes anywhere, and what is in none of them."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from audit_reports.bag import read_zip
from audit_reports.pack_check import check_pack
from engines.registry import installed_game
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT
from tests.pack_set import ACCOUNT, KEYLESS, NAMES, PEOPLE, PackSet
from tests.paper import paper_text
from tests.postgres_server import PASSWORD, PostgresServer

Capture = pytest.CaptureFixture[str]
VERDICTS = {
    "reproduced": "reproduced",
    "diverged": "diverged",
    "tampered": "record_tampered",
    "waiting": "incomplete_open",
    "presentation": "presentation_divergence",
    "capped": "reproduced",
    "sealed": "not_replayable",
    "revealed": "reproduced",
    "interrupted": "incomplete_open",
    "void": "incomplete_resolved",
    "long": "reproduced",
    "strange": "reproduced",
}
# What each pack is there for, as a kind of event that its round or epoch has.
SIGNS = {
    "waiting": "choice_offered",
    "presentation": "presentation_sent",
    "capped": "cap_hit",
    "revealed": "seed_revealed",
    "interrupted": "round_interrupted",
    "void": "round_voided",
}
PLACES = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONHASHSEED": "77", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"},
)
BUILD_ALL = """
import json, sys
from audit_reports.cli import main
for words in json.load(sys.stdin):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
"""


@pytest.mark.parametrize("name", NAMES)
def test_each_pack_is_what_its_name_says(packs: PackSet, name: str) -> None:
    """The verdict is that of the name, the round is one spin or more long, and the event that makes it special is there."""
    pack = packs[name]
    assert pack.document("verdict.json")["verdict"] == VERDICTS[name]
    assert len(pack.spins) >= (11 if name == "long" else 1)
    kinds = {event["kind"] for stream in ("round", "epoch") for event in events_of(pack.members[f"streams/{stream}.jsonl"])}
    assert {SIGNS[name]} <= kinds if name in SIGNS else not set(SIGNS.values()) & kinds
    assert ("round-key.json" in pack.members) == (name not in KEYLESS)


def test_all_games_are_among_the_packs(packs: PackSet) -> None:
    """Each of the four games has a pack."""
    games = {next(iter(events_of(packs[name].members["streams/round.jsonl"])))["game"] for name in NAMES if name != "presentation"}
    assert games == {"moonlight-princess", "starlight-wins", "moon-spell", "moon-princess-stargazing"}


@pytest.mark.parametrize("name", NAMES)
def test_both_verifiers_agree_on_each_pack(capfd: Capture, packs: PackSet, tmp_path: Path, name: str) -> None:
    """`pack verify` and the program in the pack find nothing but what the verdict says; tampering both find."""
    pack = packs[name]
    (tmp_path / "pack.pub").write_bytes(pack.members["keys/pack.pub"])
    held = ("--vkey", pack.folder / "ledger.db.keys" / "log.vkey", "--key", tmp_path / "pack.pub")
    rules = pack.command[pack.command.index("--rules") :][:2] if "--rules" in pack.command else ()
    done = run(capfd, "pack", "verify", pack.folder / "pack.zip", *held, *rules, "--json")
    found = {finding["code"] for finding in done.document["findings"]}
    assert bool(found) == (name in ("tampered", "diverged", "presentation")), done.out
    assert done.status == 3 if found else done.status in (0, 3)
    assert done.document["verdict"] == VERDICTS[name]
    if "verify_pack.py" not in pack.members:
        pytest.skip("the pack has no stand-alone verifier")
    (tmp_path / "verify_pack.py").write_bytes(pack.members["verify_pack.py"])
    command = [sys.executable, "-I", "-S", str(tmp_path / "verify_pack.py"), str(pack.folder / "pack.zip"), *map(str, held), "--json"]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    codes = {finding["code"] for finding in json.loads(alone.stdout)["findings"]}
    assert bool(codes) == (name in ("tampered", "presentation")), alone.stdout
    assert alone.returncode == (0 if VERDICTS[name] in ("reproduced", "incomplete_open", "incomplete_resolved") else 3), alone.stdout


def built_elsewhere(packs: PackSet, names: tuple[str, ...], folder: Path, place: Mapping[str, str]) -> dict[str, bytes]:
    """Return the packs as another process builds them, in another place: hash seed, zone, locale, current folder."""
    commands = [[*packs[name].command, "-o", str(folder / f"{name}.zip")] for name in names]
    kept = {key: value for key, value in os.environ.items() if key not in ("LANG", "PYTHONIOENCODING")}
    environment = {**kept, **place, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", BUILD_ALL]
    done = subprocess.run(command, input=json.dumps(commands), cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return {name: (folder / f"{name}.zip").read_bytes() for name in names}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place["TZ"])
def test_a_pack_is_the_same_wherever_it_is_built(packs: PackSet, tmp_path: Path, place: Mapping[str, str]) -> None:
    """Another process with another hash seed, time zone, locale and folder builds each pack equal to the byte."""
    names = tuple(name for name in NAMES if is_there(packs, name))
    for name, data in built_elsewhere(packs, names, tmp_path, place).items():
        ours = read_zip(packs[name].data, name)
        theirs = read_zip(data, name)
        assert [each for each in ours | theirs if ours.get(each) != theirs.get(each)] == [], name
        assert data == packs[name].data


def is_there(packs: PackSet, name: str) -> bool:
    """Return whether a pack can be made."""
    try:
        return bool(packs[name])
    except pytest.skip.Exception:
        return False


def events_of(lines: bytes) -> Iterator[dict[str, object]]:
    """Yield the events of a stream's file."""
    for line in lines.splitlines():
        yield json.loads(base64.b64decode(json.loads(line)["data"]))


def texts_of(members: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield all bytes of a pack: each member, what its base64 holds, and the text of the paper."""
    for name, content in members.items():
        yield name, content
        if name.endswith(".jsonl"):
            for line in content.splitlines():
                yield f"{name}, data", base64.b64decode(json.loads(line).get("data", ""))
        if name.endswith("signature.json"):
            yield f"{name}, payload", base64.b64decode(json.loads(content)["payload"])
        if name.endswith(".pdf"):
            yield f"{name}, text", paper_text(content).encode()


def forms(secret: bytes) -> Iterator[bytes]:
    """Yield how a secret could stand in a file: raw, in hex, in base64; of a key's file in PEM its body and the bytes of the key in it."""
    if secret.startswith(b"-----BEGIN"):
        body = b"".join(secret.strip().splitlines()[1:-1])
        yield body
        secret = base64.b64decode(body)[-32:]
    elif len(secret) > 32:
        yield secret.strip()
        return
    yield from (secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret).rstrip(b"="))
    yield base64.urlsafe_b64encode(secret).rstrip(b"=")


@pytest.mark.parametrize("name", NAMES)
def test_no_pack_holds_a_secret_or_a_name(packs: PackSet, name: str) -> None:
    """No seed that is not revealed, no private key, no key of another round, no account's or person's name, no folder of the machine."""
    pack = packs[name]
    names = [word for text in (ACCOUNT, *PEOPLE) for word in text.lower().encode().replace(b"-", b" ").split()]
    names += [str(pack.folder).lower().encode(), b"the reels stood still"]
    assert len(pack.kept_out) >= 4
    seen = []
    for where, content in texts_of(read_zip(pack.data, name)):
        seen += [(where, text) for text in names if text in content.lower()]
        seen += [(where, secret[:4]) for secret in pack.kept_out for form in forms(secret) if form in content]
    if name == "revealed":
        revealed = pack.kept_out[0]
        files = {where.rpartition("/")[2] for where, start in seen if start == revealed[:4]}
        assert files == {"epoch.jsonl, data"}
        seen = [(where, start) for where, start in seen if start != revealed[:4]]
    assert seen == []


def test_a_finding_names_no_place_of_the_machine(capfd: Capture, packs: PackSet, tmp_path: Path) -> None:
    """A pack held against another ledger's checkpoint names it in findings as a file of a pack, never by where it lay."""
    words, other = list(packs["long"].command), str(packs["void"].folder / "kept.checkpoint")
    words[words.index("--checkpoint") + 1] = other
    assert run(capfd, *words, "-o", tmp_path / "pack.zip").status == 0
    members = read_zip((tmp_path / "pack.zip").read_bytes(), "pack")
    verdict = next(content for name, content in members.items() if name.endswith("/verdict.json"))
    assert b"origin of checkpoint checkpoints/" in verdict
    assert [where for where, content in texts_of(members) if str(packs["void"].folder).encode() in content] == []


def test_a_pack_from_a_server_holds_no_password(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """A pack built from a database is the one that a copy of the ledger in a file gives, and has neither address nor password."""
    url = postgres.url(postgres.new_database())
    with RoundLedger.create(url, tmp_path / "keys") as ledger:
        account_ref = ledger.open_account(ACCOUNT, "EUR")
        ledger.move_funds(account_ref, 10_000)
        round_id = ledger.play(account_ref, installed_game("moonlight-princess"), "base", 200).round_id
    assert run(capfd, "copy", tmp_path / "copy.db", "--ledger", url).status == 0
    packs = []
    for name, place in (("server.zip", url), ("file.zip", tmp_path / "copy.db")):
        words = ("--round", round_id, "--ledger", place, "--keys", tmp_path / "keys", "--pack-key", tmp_path / "pack.key")
        done = run(capfd, "pack", "build", *words, "-o", tmp_path / name)
        assert done.status == 0, done.err
        packs.append((tmp_path / name).read_bytes())
    assert packs[0] == packs[1]
    for where, content in texts_of(read_zip(packs[0], "pack")):
        assert not [word for word in (PASSWORD, "127.0.0.1", "postgresql://", "Quirina") if word.encode() in content], where


def test_a_draft_that_was_replaced_is_not_judged_by_another_engine(packs: PackSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine of a draft's round is not here any more its pack is checked but for rules and outcome, and says so."""
    replaced = SimpleNamespace(fingerprint="0" * 64)
    monkeypatch.setattr("audit_reports.pack_check.game_of_rules", lambda _: replaced)
    found = check_pack(packs["capped"].data, "pack")
    assert (found.findings, found.exit_status) == ([], 0)
    assert "rules: a draft that was replaced since, whose engine is not here" in found.unchecked
    assert not any(text.startswith(("rules", "rerun")) for text in found.checked)
