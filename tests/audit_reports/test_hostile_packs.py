"""Files made to harm whoever opens them: each checker refuses them or says what it finds, in bounds, and leaves nothing behind."""

import json
import os
import random
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from audit_reports.bag import read_zip
from tests.conftest import ROOT
from tests.hostile_makers import UGLY
from tests.hostile_packs import HOSTILE
from tests.right_packs import CASE, right_packs, settled_pack

ALONE = ROOT / "audit_reports" / "verifier" / "verify_pack.py"
PROGRAM, FILE = "audit pack verify", "verify_pack.py"
OUTPUT_BYTES_MAX = 1_000_000
FLIPS = int(os.environ.get("SLOT_AUDIT_FLIPS", "60"))
OF_MANY = [name for name, each in HOSTILE.items() if each.is_one_of_many]
pytestmark = pytest.mark.skipif(not ALONE.exists(), reason="the stand-alone verifier, which goes into every pack, is not here")
CHOSEN = [name for name, each in HOSTILE.items() if not each.is_one_of_many] + random.Random(7).sample(
    OF_MANY, min(FLIPS // 6, len(OF_MANY))
)


class Ended(NamedTuple):
    """How a checker ended over one file."""

    status: int  # below 0: by that signal
    out: str
    err: str


def run_limited(checker: str, folder: Path, files: list[Path]) -> dict[str, Ended]:
    """Run a checker over files, each in a child with 1 GiB of memory and 5 seconds of processor time, in a folder that is empty."""
    written, empty = folder / "written", folder / "empty"
    written.mkdir()
    empty.mkdir()
    words = ["audit", "pack", "verify"]
    if checker == FILE:
        alone = folder / FILE
        alone.write_bytes(ALONE.read_bytes())
        words = ["-I", "-S", str(alone)]
    before = _tree(folder, written)
    child = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "limited_child.py"), str(written), *words],
        input="".join(f"{file}\n" for file in files),
        cwd=empty,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert _tree(folder, written) == before
    found = [json.loads(line) for line in child.stdout.splitlines()]
    return {each["file"]: Ended(each["status"], *(_text(written / f"{each['file']}.{name}") for name in ("out", "err"))) for each in found}


def _tree(folder: Path, apart: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file of a folder and of the one above it, but for what lies in `apart`."""
    paths = [path for path in folder.rglob("*") if apart not in (path, *path.parents)] + list(folder.parent.iterdir())
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths if path.is_file() or path.is_symlink()}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def wrongs_of(ended: Ended, statuses: tuple[int, ...]) -> str:
    """Return what is not right about the end of a checker over a hostile file, empty where all is."""
    text = ended.out + ended.err
    marks = {hex(ord(each)) for each in text if each != "\n" and unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    for is_wrong, what in (
        ("Traceback" in ended.err, f"a traceback, {ended.err.strip().splitlines()[-1:]}"),
        (ended.status not in statuses, f"status {ended.status}"),
        (ended.status == 4 and not ended.err.strip(), "no message"),
        (ended.status == 3 and ended.out.startswith("NOTHING"), f"status 3 and {ended.out[:40]!r}"),
        (bool(marks), f"characters that are not shown, {sorted(marks)}"),
        (len(text) > OUTPUT_BYTES_MAX, f"{len(text)} characters of output"),
    ):
        if is_wrong:
            return what
    return ""


@pytest.mark.parametrize("checker", [PROGRAM, FILE])
def test_a_hostile_file_does_no_harm(checker: str, tmp_path: Path) -> None:
    """Each hostile file ends a checker with a message or findings, in bounds of memory, time and text, and nothing is written anywhere."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    (tmp_path / "ledgers").mkdir()
    right = right_packs(tmp_path / "ledgers").settled
    files = {"right": right} | {name: HOSTILE[name].make(right) for name in CHOSEN}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    ended = run_limited(checker, folder, [folder / name for name in files])
    assert ended.pop("right").status == 0
    wrong = {name: what for name in CHOSEN if (what := wrongs_of(ended[name], HOSTILE[name].statuses))}
    assert wrong == {}


class _Tags(HTMLParser):
    """Lists the tags of a page, with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.found.append((tag, *(name for name, _ in attributes)))


def test_a_question_in_hostile_words_makes_no_page_of_its_own(tmp_path: Path) -> None:
    """What a claimant writes is text in the page: no tag and no attribute comes of it, and the pack stays right."""
    pages = []
    for name, words in (("plain", "text"), ("ugly", UGLY)):
        folder = tmp_path / name
        folder.mkdir()
        pack = settled_pack(folder / "ledger.db", {**CASE, "claimant": words, "question": words})
        (page,) = [content for file, content in read_zip(pack, name).items() if file.endswith("/report.html")]
        pages.append(page.decode())
    tags = [_Tags(), _Tags()]
    for parser, page in zip(tags, pages, strict=True):
        parser.feed(page)
    assert {tag for tag in tags[1].found if "onerror" in tag or tag[0] in ("img", "iframe", "object")} == set()
    assert sum(tag[0] == "script" for tag in tags[1].found) == sum(tag[0] == "script" for tag in tags[0].found)
    assert "<script>alert(1)" not in pages[1]
