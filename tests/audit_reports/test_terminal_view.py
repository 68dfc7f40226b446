"""The picture of a round on a terminal: pinned pictures, marks, findings, and that no record can break a line.

The pinned pictures in tests/golden/show are written only by `WRITE_PICTURES=1 pytest tests/audit_reports/test_terminal_view.py`;
look at what has changed before they go in.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from audit_reports.round_reader import Played, build_report
from audit_reports.terminal_view import print_round, symbol_labels
from engines.game_events import (
    CapHit,
    ChoiceOffered,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    MultiplierChange,
    Power,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from ledger.lifecycle_events import ChoiceMade
from replay.verdict import Finding
from tests.audit_reports.test_round_report import PICTURES, ROUND_ID, changed, pictured_round
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "golden" / "show"
SOURCES = ("audit_reports/round_report.py", "audit_reports/terminal_view.py")
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
MANY, MUCH = 2**31, 2**53 - 1

FINDINGS = [
    Finding("win_amount", "money", 3, 0, "8 cyan_gem", "80", "90", "win in minor units of 8 cyan_gem: want 80, got 90"),
    Finding("award", "money", 9, 0, "spin_ended", "390", "500", "award in minor units of spin_ended: want 390, got 500", "MLP-8"),
    Finding("balance", "integrity", -1, -1, "balance after", "100180", "100300", "balance after: want 100180, got 100300"),
    Finding("spin_missing", "completeness", -1, 0, "spin 0", "a start", "none", "spin 0 has something missing"),
    Finding("digest", "integrity", 10, -1, "round_settled", "00", "01", "digest of round_settled: want 00, got 01"),
]

# Valid events that no game writes: the extremes of every field, and places that do not exist.
ODD_EVENTS: list[Played] = [
    SpinStarted(
        spin_index=MANY,
        part="free",
        strip_set=-1,
        spins_left=MANY,
        multiplier=MANY,
        total_multiplier=MANY,
        meter=MANY,
        highlighted_cells=(MANY,),
    ),
    Drop(drop_index=MANY, symbols=(MANY,) * 29, values=(MANY,) * 40, marks=(1,), stops=(MANY,) * 12),
    Drop(drop_index=0, symbols=(), values=(1,), marks=(), stops=()),
    Drop(drop_index=0, symbols=(10,) * 70, values=(999,) * 70, marks=(), stops=()),
    Win(symbol=MANY, line=MANY, count=MANY, cells=(MANY, 0), ways=MANY, pay_x100=MANY, multiplier=MANY, win_minor=MUCH),
    Win(symbol=0, line=-1, count=0, cells=(), ways=0, pay_x100=0, multiplier=0, win_minor=0),
    Tumble(removed_cells=(MANY,), turned_cells=(1,), turned_symbols=(MANY,), new_symbols=((MANY,) * 9,) * 9),
    Tumble(removed_cells=(), turned_cells=(), turned_symbols=(), new_symbols=()),
    MultiplierChange(from_multiplier=MANY, to_multiplier=0, cause="hearts"),
    MultiplierChange(from_multiplier=0, to_multiplier=MANY, cause="total_hearts"),
    Prize(which="scatter_pay", pay_x100=MANY, multiplier=MANY, prize_minor=MUCH),
    FeatureTrigger(feature="free_spins", count=MANY, spins_awarded=MANY, spins_left=MANY),
    CapHit(total_before_minor=MUCH, uncapped_minor=0, awarded_minor=MUCH),
    SpinEnded(spin_multiplier=MANY, cut_minor=MUCH, award_minor=MUCH, total_minor=MUCH, meter=MANY),
    FeatureEnded(feature="free_spins", spins_played=MANY, total_minor=MUCH),
    Power(princess=MANY, size=MANY, turned_cells=(MANY, 0)),
    Power(princess=0, size=0, turned_cells=()),
    ChoiceOffered(choices=(MANY, 0)),
    ChoiceOffered(choices=()),
    ChoiceMade(choice=MANY, made_by="system", session_ref="", channel="", made_at_us=MUCH),
]


def picture(name: str, **options: Any) -> str:
    """Return the plain picture of a pictured round at 80 columns."""
    return print_round(pictured_round(name).report(), **{"width": 80, "is_coloured": False, "spin_index": None, **options})


def altered_picture(**options: Any) -> str:
    """Return the picture of a round with a wrong win and a wrong award, and its findings."""
    pictured = pictured_round("tumble")
    events = changed(changed(pictured.events, 3, win_minor=90), 9, award_minor=500)
    return print_round(pictured.report(events), **{"width": 80, "is_coloured": False, "spin_index": None, "findings": FINDINGS, **options})


def check_golden(path: Path, text: str) -> None:
    """Compare a picture with the pinned one; write it where WRITE_PICTURES is set."""
    if os.environ.get("WRITE_PICTURES"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def check_lines(text: str, coloured: str, width: int) -> None:
    """Check that no line is too long or ends in blanks and that colour adds nothing but codes."""
    assert COLOUR_CODES.sub("", coloured) == text
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        assert cell_len(line) <= width
        assert line == line.rstrip()
        assert line.isprintable()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_the_pinned_ones(name: str) -> None:
    """Each pictured round is drawn as pinned."""
    check_golden(GOLDEN / f"{name}.txt", picture(name))


def test_an_altered_round_is_pinned_with_its_findings() -> None:
    """Findings stand under the event they are about, and amounts that do not add up are marked."""
    check_golden(GOLDEN / "findings.txt", altered_picture())


@pytest.mark.parametrize("name", PICTURES)
def test_colour_adds_codes_and_nothing_else(name: str) -> None:
    """The coloured picture has codes, and without them is the plain one."""
    coloured = picture(name, is_coloured=True)
    assert "\x1b[" in coloured
    check_lines(picture(name), coloured, 80)


def test_every_event_index_is_shown() -> None:
    """The index of each event of a round stands in its picture once."""
    for name in PICTURES:
        shown = re.findall(r"(?:^  |  | )#(\d+)(?= )", picture(name).split("\n\n", 1)[1], flags=re.MULTILINE)
        assert sorted(map(int, shown)) == [index for index, _ in pictured_round(name).events]


def test_boards_are_compact() -> None:
    """A losing free spin takes seven lines: its title, the board, the award; and a blank one before it."""
    lines = picture("free-spins", spin_index=15).split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith("-- spin 15"))
    assert lines[start - 1] == ""
    assert lines[start + 6].startswith("  #72")


def test_one_spin_can_be_chosen() -> None:
    """With a spin index only that spin is drawn; one that is not there is said to be missing."""
    text = picture("free-spins", spin_index=3)
    assert re.findall(r"^-- spin (\d+)", text, flags=re.MULTILINE) == ["3"]
    assert "the record holds no spin 16" in picture("free-spins", spin_index=16)


def test_each_finding_is_shown_once() -> None:
    """Every finding is drawn once, or counted where its spin is not drawn; its event carries a mark."""
    text = altered_picture()
    for finding in FINDINGS:
        assert text.count(f" {finding.code}:") == 1
    assert "#3!" in text
    assert "findings elsewhere in the round: 4" in altered_picture(spin_index=8)


def test_the_arithmetic_is_in_words() -> None:
    """The award says wins times the sum of the hearts, the change of the total multiplier both totals."""
    assert "tumble wins 6.30 x (2 + 2 = 4) = 25.20" in picture("hearts")
    assert "total multiplier 0 -> 7  (0 + 5 + 2 = 7)" in picture("capped-free-spins")


def test_labels_are_short_and_differ() -> None:
    """Labels are made of the word that tells symbols apart; names that give the same label are numbered."""
    names = [symbol.name for symbol in pictured_round("tumble").rules.symbols]
    assert " ".join(symbol_labels(names)) == "SUN WING MOON STAR RED BLUE GREN CYAN YELO SCAT HEAR"
    assert symbol_labels(["star", "star", "starlight", "", "a"]) == ("STAR", "STA2", "STA3", "?", "A")
    many = symbol_labels(["planet_gem"] * 40)
    assert len(set(many)) == 40
    assert all(len(label) <= 4 for label in many)


def test_a_record_cannot_steer_the_terminal() -> None:
    """Control codes, wide letters and text without blanks in a record are shown escaped, counted and broken."""
    pictured = pictured_round("tumble")
    hostile = {"mode": "\x1b[2J\u202e" + "猫" * 200, "external_ref": "x" * 256}
    report = build_report("r\n" * 99, pictured.opened.model_copy(update=hostile), pictured.settled, pictured.events, pictured.rules)
    text = print_round(report, width=80, is_coloured=False, spin_index=None)
    check_lines(text, print_round(report, width=80, is_coloured=True, spin_index=None), 80)
    assert "\\x1b[2J\\u202e" in text


@given(
    data=st.data(),
    name=st.sampled_from(["tumble", "hearts", "capped", "capped-free-spins"]),
    width=st.integers(80, 130),
    has_opening=st.booleans(),
    has_settlement=st.booleans(),
    spin_index=st.none() | st.integers(0, 3),
)
def test_any_sequence_of_events_is_drawn(
    data: st.DataObject, name: str, width: int, has_opening: bool, has_settlement: bool, spin_index: int | None
) -> None:
    """A prefix, a shuffled part of a round and events that no game writes are drawn within the width, the same with colour."""
    pictured = pictured_round(name)
    whole = [event for _, event in pictured.events]
    prefixes = st.integers(0, len(whole)).map(lambda count: whole[:count])
    events = data.draw(prefixes | st.lists(st.sampled_from(whole + ODD_EVENTS), max_size=30))
    opened, settled = pictured.opened if has_opening else None, pictured.settled if has_settlement else None
    report = build_report(ROUND_ID, opened, settled, list(enumerate(events, start=1)), pictured.rules)
    text, coloured = (
        print_round(report, width=width, is_coloured=is_coloured, spin_index=spin_index, findings=FINDINGS) for is_coloured in (False, True)
    )
    check_lines(text, coloured, width)


def test_long_event_indexes_keep_their_column() -> None:
    """A round of hundreds of spins, its event indexes in the millions, is drawn within the width."""
    pictured = pictured_round("capped-free-spins")
    events = [(1_000_000 + index, event) for index, (_, event) in enumerate(pictured.events * 200)]
    report = pictured.report(events)
    text = print_round(report, width=80, is_coloured=False, spin_index=None)
    check_lines(text, print_round(report, width=80, is_coloured=True, spin_index=None), 80)


def test_rich_is_imported_only_to_colour() -> None:
    """Neither module imports rich at its top."""
    for source in SOURCES:
        assert not re.search(r"^(import|from) rich", (ROOT / source).read_text(encoding="utf-8"), flags=re.MULTILINE)
