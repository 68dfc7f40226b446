"""`audit certify` and `audit pack verify` of what it builds: whole and redacted packs, the same bytes again, wrong ones found."""

import ast
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from audit_reports.bag import read_zip
from audit_reports.certification import certification_folder
from audit_reports.pack_seal import Cover, sealed
from audit_reports.pack_streams import document
from audit_reports.statement import CERTIFICATION_PACK
from audit_reports.verifier import verify_certification, verify_pack
from engines.registry import installed_rules, installed_rules_path
from ledger.keys import create_signing_key, load_signing_key
from tests.command_line import run
from tests.conftest import ROOT

Capture = pytest.CaptureFixture[str]
GAME = "moon-spell"
AS_OF = "2026-12-01T10:00:00Z"
ROUNDS = "1e4"
FLIPS, MEMBERS = int(os.environ.get("SLOT_AUDIT_FLIPS", "8")), 3


class Built:
    """A pack built by the command line, its members by name in data/, and the key that it was signed with."""

    def __init__(self, path: Path, key: Path) -> None:
        self.path, self.key = path, key
        self.data = path.read_bytes()
        members = read_zip(self.data, str(path))
        self.folder = next(iter(members)).partition("/")[0]
        self.files = {name.split("/data/", 1)[1]: content for name, content in members.items() if "/data/" in name}

    def json(self, name: str) -> Any:
        """Return what a file holds."""
        return json.loads(self.files[name])

    def sealed_anew(self, files: Mapping[str, bytes]) -> bytes:
        """Return the pack of other files, signed by the same hand."""
        index = json.loads(files["pack.json"])
        said = {name: index[name] for name in ("game", "rules_hash", "rules_version", "verdict")}
        folder = certification_folder(index["game"], index["rules_version"], index["rules_hash"])
        cover = Cover(CERTIFICATION_PACK, folder, f"{index['game']} {index['rules_version']}", index["as_of_us"], said)
        return sealed(cover, files, load_signing_key(self.key))


def _command(out: Path, key: Path, *more: object) -> list[str]:
    terms = ["certify", "--game", GAME, "--rounds", ROUNDS, "--as-of", AS_OF, "--pack-key", key, "-o", out, "--jobs", "1", *more]
    return [str(term) for term in terms]


def _run_apart(*arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == expected, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A whole pack of Moon Spell."""
    folder = tmp_path_factory.mktemp("certify")
    key = folder / "pack.key"
    create_signing_key(key)
    _run_apart(*_command(folder / "whole.zip", key))
    return Built(folder / "whole.zip", key)


@pytest.fixture(scope="module")
def redacted(built: Built) -> Built:
    """The same pack, redacted."""
    out = built.path.with_name("redacted.zip")
    _run_apart(*_command(out, built.key, "--redact"))
    return Built(out, built.key)


def test_a_pack_holds_what_its_format_names(built: Built) -> None:
    """Every file that docs/certification-format.md names is there, and the verdict is that all agrees."""
    page = (ROOT / "docs" / "certification-format.md").read_text()
    index = built.json("pack.json")
    assert (index["verdict"], index["findings"]) == ("agrees", [])
    for name in built.files:
        assert f"`{name}`" in page or name.startswith(("charts/", "forced/")) or name.removesuffix(".json") in index["parts"], name
    assert {f"{part}.json" for part in index["parts"]} <= set(built.files)


def test_the_same_seed_and_moment_give_the_same_bytes(built: Built, tmp_path: Path) -> None:
    """Built again in another process, with two workers and another hash seed, the pack is the same to the byte."""
    out = tmp_path / "again.zip"
    command = [*_command(out, built.key), "--jobs", "2"]
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", program, *command], env=environment, check=True, capture_output=True, cwd=tmp_path)
    assert out.read_bytes() == built.data


def test_a_redacted_pack_lacks_strips_and_keeps_all_hashes(built: Built, redacted: Built) -> None:
    """What shows strips is gone, each named with its hash; all else is the whole pack's to the byte; no strip is left in any file."""
    withheld = {row["file"]: row["sha256"] for row in redacted.json("redactions.json")["withheld"]}
    assert set(built.files) - set(redacted.files) == set(withheld)
    assert withheld == {name: hashlib.sha256(built.files[name]).hexdigest() for name in withheld}
    assert {"strips.json", "strips.html", "rules.toml", "rules.json"} <= set(withheld)
    kept = {name: content for name, content in redacted.files.items() if name != "redactions.json"}
    assert kept == {name: built.files[name] for name in kept}
    letters = [strip["letters"] for strip in built.json("strips.json")["strips"]]
    assert not any(strip.encode() in content or strip[:12].encode() in content for strip in letters for content in redacted.files.values())


@pytest.mark.parametrize("which", ["built", "redacted"])
def test_a_right_pack_is_verified(which: str, capfd: Capture, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """`audit pack verify` makes it again and finds nothing, with the builder's key and without."""
    pack: Built = request.getfixturevalue(which)
    public = tmp_path / "pack.pub"
    public.write_bytes(pack.files["keys/pack.pub"])
    done = run(capfd, "pack", "verify", pack.path, "--key", public, "--json")
    assert (done.status, done.document["findings"], done.document["verdict"]) == (0, [], "agrees")
    assert any(text.startswith("builder: signed by the key that you hold") for text in done.document["checked"])
    assert any("every figure computed again" in text for text in done.document["checked"])


def _par(change: Callable[[Any], None]) -> Callable[[Built], dict[str, bytes]]:
    def changed(pack: Built) -> dict[str, bytes]:
        par = pack.json("par.json")
        change(par)
        return {**pack.files, "par.json": document(par)}

    return changed


def _file(name: str, change: Callable[[Any], None]) -> Callable[[Built], dict[str, bytes]]:
    def changed(pack: Built) -> dict[str, bytes]:
        value = pack.json(name)
        change(value)
        return {**pack.files, name: document(value)}

    return changed


def _swap(value: Any) -> None:
    letters = value["strips"][1]["letters"]
    value["strips"][1]["letters"] = letters[1:] + letters[0]


def _more_won(value: Any) -> None:
    point = value["configurations"][0]["points"][0]
    point["win_minor"] = str(int(point["win_minor"]) + 1)


# What the file without an engine cannot see.
ENGINE_NEEDED = {"a cap said to be out of reach", "a cap that is said to be unreachable", "a rules file of another hash", "a p-value"}
WRONG: dict[str, tuple[Callable[[Built], dict[str, bytes]], str]] = {
    "a strip turned by one place": (_file("strips.json", _swap), "made_again"),
    "a strip's hash in the par sheet": (_par(lambda par: par["strips"][0].update(sha256="0" * 64)), "made_again"),
    "a displayed RTP that is not the game's": (_par(lambda par: par.update(displayed_rtp="0.9171")), "made_again"),
    "a return shifted": (_par(lambda par: par["configurations"][0].update(return_decimal="0.91710422")), "made_again"),
    "an interval narrowed": (_par(lambda par: par["configurations"][0]["return_99"].update(low="0.907")), "made_again"),
    "a cap that is said to be unreachable": (
        _par(lambda par: par["configurations"][0]["top_award"]["route"].update(is_shown=False)),
        "made_again",
    ),
    "one more minor unit won": (_file("simulation.json", _more_won), "simulation"),
    "an exact figure of another value": (_file("derivation.json", lambda log: log["figures"][0].update(value="1/2")), "made_again"),
    "a p-value": (_file("randomness.json", lambda part: part["rows"][3].update(p="0.500000")), "made_again"),
    "a forced round that failed": (_file("forced.json", lambda part: part["rows"][0].update(total_win_minor=1)), "made_again"),
    "a digest of the other kernel": (_file("determinism.json", lambda part: part["rows"][0].update(second="0" * 64)), "made_again"),
    "a clause that leads to no file": (_file("clauses.json", lambda rows: rows[1]["files"].append("none.json")), ""),
    "a p-value after Holm's correction": (_file("randomness.json", lambda part: part["rows"][0].update(adjusted="0.500000")), "made_again"),
    "a draw's range with fewer words": (_file("dossier.json", lambda part: part["ranges"][0].update(words_each=1)), "made_again"),
    "a figure that agrees with nothing": (_par(lambda par: par["two_ways"][-1].update(second="1")), "made_again"),
    "a table that does not add up": (_file("derivation.json", lambda log: log["tables"][0].update(total="1")), "made_again"),
    "a verdict turned": (_file("pack.json", lambda index: index.update(verdict="disagrees")), "verdict"),
    "a rules file of another hash": (
        lambda pack: {**pack.files, "rules.toml": pack.files["rules.toml"].replace(b"9071", b"9072")},
        "rules",
    ),
    "one paytable id with two hashes": (_file("pack.json", lambda index: index.update(rules_hash="1" * 64)), "paytable_two_hashes"),
    "a file too many": (lambda pack: {**pack.files, "more.json": b"{}\n"}, "files"),
    "a file too few": (lambda pack: {name: content for name, content in pack.files.items() if name != "sbom.json"}, "files"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_pack_that_is_sealed_anew_is_found(what: str, built: Built, capfd: Capture, tmp_path: Path) -> None:
    """Each wrong thing is found by its name in a pack whose hashes and signature are right."""
    change, code = WRONG[what]
    wrong = tmp_path / "wrong.zip"
    wrong.write_bytes(built.sealed_anew(change(built)))
    if code:
        done = run(capfd, "pack", "verify", wrong, "--json")
        assert done.status == 3
        assert code in {finding["code"] for finding in done.document["findings"]}, done.document["findings"]
    alone = verify_certification.audit_of(wrong.read_bytes())
    if what in ENGINE_NEEDED:
        assert alone.findings == []
    else:
        assert alone.findings != []


@pytest.mark.parametrize("which", ["built", "redacted"])
def test_the_stand_alone_verifier_finds_nothing_in_a_right_pack(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In an empty folder, with the bare interpreter, it ends with 0; with another key it does not."""
    pack: Built = request.getfixturevalue(which)
    code = tmp_path / "verify_certification.py"
    code.write_bytes(pack.files["verify_certification.py"])
    (tmp_path / "pack.zip").write_bytes(pack.data)
    for name, key, status in (("right", pack.files["keys/pack.pub"], 0), ("wrong", b"00" * 32, 3)):
        (tmp_path / name).write_bytes(key)
        command = [sys.executable, "-I", "-S", code.name, "pack.zip", "--key", name, "--json"]
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert {finding["code"] for finding in found["findings"]} == ({"pack-key"} if status else set())
    assert {path.name for path in tmp_path.iterdir()} == {"verify_certification.py", "pack.zip", "right", "wrong"}


def test_what_both_verifiers_share_is_the_same_text() -> None:
    """Zip, canonical JSON, signature and key stream are the same functions in both files, line by line; nothing of ours is imported."""
    texts = [Path(str(module.__file__)).read_text() for module in (verify_pack, verify_certification)]
    functions = [{node.name: ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)} for text in texts]
    shared = set(functions[0]) & set(functions[1]) - {"audit_of", "main"}
    assert {"members_of", "json_of", "is_signature", "words_of", "unhex", "plain"} <= shared
    assert {name for name in shared if functions[0][name] != functions[1][name]} == set()
    text = texts[1]
    assert len(text.splitlines()) <= 599
    imported = {name.name.partition(".")[0] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module).partition(".")[0] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


def test_changed_bytes_and_members_are_found_by_both(built: Built, capfd: Capture, tmp_path: Path) -> None:
    """Of packs with one byte changed, or a member taken out, renamed, swapped or added, every one is found by both."""
    from audit_reports.bag import PackUnreadableError, zip_bytes
    from audit_reports.certification_check import CertificationChecking

    def is_found(data: bytes) -> list[bool]:
        try:
            checking = CertificationChecking(data, "pack", b"")
            next(checking.steps(), None)
            ours = checking.result.exit_status != 0 and checking.result.findings != []
        except PackUnreadableError:
            ours = True
        try:
            alone = verify_certification.audit_of(data).findings != []
        except ValueError:
            alone = True
        return [ours, alone]

    chance = random.Random(8)
    for _ in range(FLIPS):
        data = bytearray(built.data)
        data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        assert is_found(bytes(data)) == [True, True]
    members = read_zip(built.data, "pack")
    for name in chance.sample(sorted(members), MEMBERS):
        other = chance.choice([each for each in members if members[each] != members[name]])
        changes = [
            {each: content for each, content in members.items() if each != name},
            {f"{each}.x" if each == name else each: content for each, content in members.items()},
            {**members, name: members[other], other: members[name]},
            {**members, f"{name}.more": b"{}\n"},
        ]
        assert [is_found(zip_bytes(each)) for each in changes] == [[True, True]] * 4, name


def test_a_part_made_by_another_version_of_the_program_is_no_finding(built: Built, capfd: Capture, tmp_path: Path) -> None:
    """Where files of the program are not those that built the pack, a part that comes out otherwise is said to be not checked."""
    software, part = built.json("software.json"), built.json("randomness.json")
    software["files"][0]["sha256"] = "0" * 64
    part["rows"][3].update(p="0.500000")
    other = tmp_path / "other.zip"
    other.write_bytes(built.sealed_anew({**built.files, "software.json": document(software), "randomness.json": document(part)}))
    done = run(capfd, "pack", "verify", other, "--json")
    assert (done.status, done.document["findings"]) == (0, [])
    assert any(text.startswith("randomness: made again it is another; 1 files") for text in done.document["unchecked"])
    assert any(text.startswith("forced: made again") for text in done.document["checked"])


def test_the_how_to_is_followed(built: Built, capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `audit` command of docs/how-to/certification.md is run, with few rounds and the built pack's file for those of the page."""
    page = (ROOT / "docs" / "how-to" / "certification.md").read_text()
    commands = re.findall(r"^    audit (.+)$", page, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["certify", "certify", "certify", "pack"]
    monkeypatch.chdir(tmp_path)
    for name in ("moon-spell.zip", "pack.pub"):
        (tmp_path / name).write_bytes(built.data if name.endswith(".zip") else built.files["keys/pack.pub"])
    for command in commands:
        words = command.split()
        if words[0] == "certify":
            out = words[words.index("-o") + 1]
            Path(out).unlink(missing_ok=True)
            done = run(capfd, *words, "--rounds", ROUNDS, "--pack-key", built.key)
            assert done.status == (2 if "--resume" in words else 0), done.err  # nothing was broken off
            Path(out).write_bytes(built.data)
        else:
            assert run(capfd, *words).status == 0
    assert "python verify_certification.py moon-spell.zip --key pack.pub" in page


def test_a_pack_changed_without_the_key_is_found(built: Built, capfd: Capture, tmp_path: Path) -> None:
    """A byte changed in a member, its checksum made right, is found by the bag; another form of the zip is refused."""
    members = read_zip(built.data, "pack")
    from audit_reports.bag import zip_bytes

    name = f"{built.folder}/data/par.json"
    changed = tmp_path / "changed.zip"
    changed.write_bytes(zip_bytes({**members, name: members[name].replace(b'"agrees":true', b'"agrees":false', 1)}))
    done = run(capfd, "pack", "verify", changed)
    assert done.status == 3
    assert "bag" in done.out
    changed.write_bytes(built.data[:-1])
    assert run(capfd, "pack", "verify", changed).status == 4


def test_a_version_that_is_installed_with_other_rules_is_found(built: Built, tmp_path: Path, capfd: Capture) -> None:
    """Certified under the version of the installed rules, other rules are one paytable id with two hashes, and the pack says so."""
    rules = installed_rules(GAME)
    path = installed_rules_path(GAME, rules.version, rules.rules_hash)
    assert path is not None
    file, out = tmp_path / "rules.toml", tmp_path / "other.zip"
    file.write_text(path.read_text().replace("rtp_target_x10000 = 9071", "rtp_target_x10000 = 9171"))
    assert tomllib.loads(file.read_text())["rtp_target_x10000"] == 9171
    done = run(capfd, *_command(out, built.key, "--rules", file, "--json"))
    assert done.status == 3
    assert {each["code"] for each in done.document["findings"]} == {"paytable_two_hashes", "displayed_rtp"}
    assert not Path(f"{out}.progress").exists()
    verified = run(capfd, "pack", "verify", out)
    assert (verified.status, "NOTHING FOUND" in verified.out) == (3, True)


def test_ctrl_c_and_resume(built: Built, tmp_path: Path) -> None:
    """Broken off by Ctrl-C the command ends with 130, says what was done, and goes on with --resume to the same sums."""
    out = tmp_path / "long.zip"
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*_command(out, built.key)[:3], "--rounds", "2e7", "--pack-key", str(built.key), "-o", str(out), "--as-of", AS_OF]
    child = subprocess.Popen([sys.executable, "-c", program, *command], env=environment, stderr=subprocess.PIPE, text=True)
    progress = Path(f"{out}.progress")
    while not progress.exists():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert re.search(r"[0-9]+ of 306 chunks of 65536 simulated rounds done, kept in .*long.zip.progress: go on with --resume", err)
    assert "Traceback" not in err
    chunks, _, points = json.loads(progress.read_bytes())["done"]["base"]
    assert chunks > 0
    assert points
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rounds", "9999"], "--rounds: want 10000 at least, for intervals that mean something, got '9999'"),
        (["--rounds", "many"], "--rounds"),
        (["--game", "moon"], "game 'moon': want one of"),
        (["--seed", "xyz"], "--seed: want bytes in hex"),
        (["--as-of", "2500-01-01T00:00:00Z"], "--as-of: want a time from 1970 to 2255"),
        (["--resume"], "want one to go on from; leave out --resume, got none"),
        (["--tests", "gli-11"], "list of tests 'gli-11': want one of gli-19, pennsylvania"),
    ],
)
def test_wrong_usage_is_said(more: list[str], message: str, built: Built, tmp_path: Path, capfd: Capture) -> None:
    """What cannot be taken is refused before any work, with what was wanted; nothing is written."""
    out = tmp_path / "none.zip"
    done = run(capfd, *_command(out, built.key, *more))
    assert done.status == 2, done.err
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_never_replaced(built: Built, capfd: Capture) -> None:
    """-o names a new file."""
    done = run(capfd, *_command(built.path, built.key))
    assert done.status == 2
    assert built.path.read_bytes() == built.data


def test_a_missing_library_is_named_with_its_extra(built: Built, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a library of the extra `certify` nothing is begun."""
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "scipy" else find(name, *rest))
    done = run(capfd, *_command(tmp_path / "none.zip", built.key))
    assert (done.status, done.err.strip()) == (
        2,
        "audit: audit certify: want the library scipy, got none; pip install 'slot-audit[certify]'",
    )
