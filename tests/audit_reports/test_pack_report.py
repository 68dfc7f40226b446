"""The report of a pack: its clauses, its page and its paper, and texts from outside that would rather be something else."""

import html
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from audit_reports.bag import read_zip
from audit_reports.blocks import Block, Pairs, Table, Text, Verdict, plain
from audit_reports.pack_page import pack_page
from audit_reports.pack_paper import PaperMissingError, pack_paper
from audit_reports.pay_text import pays_text
from audit_reports.pictures import symbol_svg
from audit_reports.round_report import SymbolReport
from audit_reports.spreadsheet import spreadsheet_safe
from engines.registry import GAMES, installed_rules
from tests.command_line import run

Capture = pytest.CaptureFixture[str]
HOSTILE = "<script>alert(1)</script> &amp; =1+1 ]] \u202egnp.exe\u202c \u200b \U0001f600 \u05e9\u05dc \ud800 \x1b[31m #let x = 1 \\ $y$ @c"
UNSEEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Reader(HTMLParser):
    """Gathers the tags of a page, and the text of its cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "bdi":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def read(page: bytes) -> _Reader:
    reader = _Reader()
    reader.feed(page.decode())
    return reader


def blocks_of(text: str) -> list[Block]:
    """A text in each kind of block."""
    wrong = Verdict("reproduced", text, is_wrong=False)
    return [plain(text, "strong"), wrong, Pairs(((text, text),)), Table(text, (text, "b"), ((text, text),)), Text(text, text)]


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60))
@example(HOSTILE)
@example("f" * 5000)
@example("a b\u00adc\u061c\u180e\U000e0041")
def test_any_text_is_text_on_page_and_paper(text: str) -> None:
    """Whatever comes from outside adds no tag to the page, hides no mark in it, and can be set on paper."""
    page = pack_page(text, [Pairs((("claimant", text),)), *blocks_of(text)], 1)
    reader = read(page)
    assert set(reader.tags) == set(read(pack_page("x", [Pairs((("claimant", "x"),)), *blocks_of("x")], 1)).tags)
    assert not UNSEEN.search(page.decode().replace("\n", ""))
    shown = "".join(f"[U+{ord(sign):04X}]" if UNSEEN.match(sign) else sign for sign in text.encode("utf-8", "replace").decode())
    if not re.search("[\u00ad\u034f\u061c\u180e\r\U000e0000-\U000e007f]", shown):
        assert html.escape(shown.split("\n")[0]).encode() in page
    assert pack_paper(f"round {text}", blocks_of(text), 1).startswith(b"%PDF-")


def test_the_same_blocks_are_the_same_bytes() -> None:
    """Page and paper hold no time, no font and no name of the machine: two drawings are equal."""
    assert pack_page("t", blocks_of(HOSTILE), 1) == pack_page("t", blocks_of(HOSTILE), 1)
    paper = pack_paper("t", blocks_of(HOSTILE), 1)
    assert paper == pack_paper("t", blocks_of(HOSTILE), 1)
    assert b"CreationDate" not in paper


def test_without_the_library_no_pack_is_built(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the extra; nothing is written."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    ledger = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", ledger)
    run(capfd, "play", "--game", "moon-spell", "--account", "anna", "--ledger", ledger)
    (line, _) = run(capfd, "find", "--ledger", ledger, "--json").lines
    monkeypatch.setitem(sys.modules, "typst", None)
    done = run(capfd, "pack", "build", "--round", line["round_id"], "--ledger", ledger, "-o", tmp_path / "new.zip")
    assert (done.status, "install slot-audit with its extra `paper`" in done.err) == (2, True)
    assert str(PaperMissingError()) in done.err
    assert not (tmp_path / "new.zip").exists()
    tour = run(capfd, "demo", "--dir", tmp_path / "tour")
    assert tour.status == 0
    assert "not built: paper of an evidence pack" in tour.out


def test_clauses_say_what_was_checked_and_name_what_is_there(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row names files of the pack; no two rows are of one clause; none passes by a check that was not made or has failed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    ledger = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", ledger)
    run(capfd, "play", "--game", "moonlight-princess", "--mode", "buy", "--account", "anna", "--ledger", ledger)
    (line, _) = run(capfd, "find", "--ledger", ledger, "--json").lines
    (tmp_path / "ledger.db.keys" / "seeds.key").unlink()
    run(capfd, "pack", "build", "--round", line["round_id"], "--ledger", ledger, "-o", tmp_path / "pack.zip")
    members = {name.partition("/data/")[2]: content for name, content in read_zip((tmp_path / "pack.zip").read_bytes(), "pack").items()}
    rows = json.loads(members["clauses.json"])
    results = {check["name"]: check["result"] for check in json.loads(members["verdict.json"])["checks"]}
    assert results["replay"] == "not_run"
    assert len({(row["standard"], row["clause"]) for row in rows}) == len(rows) >= 40
    assert {row["result"] for row in rows} == {"pass", "not_applicable", "not_assessed"}
    for row in rows:
        assert set(row["files"]) <= set(members)
        if (named := re.match("check ([a-z]+)", row["why"])) is not None:
            assert row["result"] == {"pass": "pass", "fail": "fail"}.get(results[named[1]], "not_assessed")
    of_log = [row for row in rows if row["title"].startswith("logs cannot be altered")]
    assert [row["result"] for row in of_log] == ["not_assessed"]


def test_every_symbol_has_a_picture_of_its_own() -> None:
    """No two symbols of a game look alike, and a colour in a name is the colour of its picture."""
    for game in GAMES:
        symbols = [SymbolReport(number, each.name, each.letter, each.role) for number, each in enumerate(installed_rules(game).symbols)]
        assert len({symbol_svg(symbol) for symbol in symbols}) == len(symbols), game
    assert "#2e7d32" in symbol_svg(SymbolReport(3, "green_heart", "g", "paying"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-cmd", "@x", "\tx"])
def test_text_in_csv_is_no_formula(text: str) -> None:
    """What a spreadsheet would run gets an apostrophe; other text stays as it is."""
    assert spreadsheet_safe(text).startswith("'")
    assert spreadsheet_safe("ext-1") == "ext-1"


def test_pays_are_by_the_count_that_they_are_for() -> None:
    """What is no scatter is paid by the counts of the paytable, a scatter by its number from 0 on."""
    stargazing, moonlight = installed_rules("moon-princess-stargazing"), installed_rules("moonlight-princess")
    assert pays_text(stargazing, stargazing.symbol_index("wild")) == "3: 0.30x, 4: 1.00x, 5: 5.00x"
    assert pays_text(moonlight, moonlight.symbol_index("scatter")) == "4: 3.00x, 5: 5.00x, 6: 100.00x"
    assert pays_text(stargazing, stargazing.symbol_index("empty")) == ""
