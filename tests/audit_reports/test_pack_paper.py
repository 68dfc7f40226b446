"""The paper of a pack: a PDF that says what the page says, whatever was written in from outside, and is the same each time."""

import re

import pytest

from tests.pack_set import NAMES, BuiltPack, PackSet
from tests.paper import page_texts, squeezed

WORDS_A_PAGE_MAX = 3000
STRANGE_WORDS = ("<script>document.title='owned';alert(1)</script>", "onerror=alert(2)>", "=cmd|'/C calc'!A0", "@SUM(A1)", "#let x = 1;")


@pytest.fixture
def paper(packs: PackSet, request: pytest.FixtureRequest) -> tuple[BuiltPack, list[str]]:
    """A pack, and the text of each page of its paper."""
    pack = packs[request.param]
    if "report.pdf" not in pack.members:
        pytest.skip("the pack has no paper")
    assert pack.members["report.pdf"].startswith(b"%PDF-")
    return pack, page_texts(pack.members["report.pdf"])


@pytest.mark.parametrize("paper", NAMES, indirect=True)
def test_the_paper_says_all(paper: tuple[BuiltPack, list[str]]) -> None:
    """Round, verdict, each finding, each spin, the question and each check stand on it, on pages that are neither empty nor crammed."""
    pack, pages = paper
    verdict, count = pack.document("verdict.json"), len(pack.spins)
    text = squeezed("\n".join(pages))
    wanted = [pack.round_id, verdict["verdict"], *(each["code"] for each in verdict["findings"])]
    wanted += [check["name"] for check in verdict["checks"]] + [f"Spin {number} of {count}" for number in range(1, count + 1)]
    wanted += [pack.document("case.json")["claimant"]] if pack.name != "strange" else []
    assert [each for each in wanted if squeezed(each).lower() not in text.lower()] == []
    assert len(pages) >= 1 + count // 4
    assert all(page.strip() for page in pages)
    assert max(len(page.split()) for page in pages) < WORDS_A_PAGE_MAX


@pytest.mark.parametrize("paper", NAMES, indirect=True)
def test_the_spins_stand_in_order(paper: tuple[BuiltPack, list[str]]) -> None:
    """The headings of the spins come once each, in the order of play."""
    pack, pages = paper
    count = len(pack.spins)
    numbers = [int(number) for number in re.findall(rf"spin(\d+)of{count}(?!\d)", squeezed("\n".join(pages)).lower())]
    assert list(dict.fromkeys(numbers)) == list(range(1, count + 1))


@pytest.mark.parametrize("paper", ["strange"], indirect=True)
def test_words_from_outside_are_text_on_paper(paper: tuple[BuiltPack, list[str]]) -> None:
    """Markup, formulas, what a typesetter would obey, and a word of 4,000 characters are on it as they were written, none lost."""
    pack, pages = paper
    text = squeezed("\n".join(pages))
    assert [each for each in STRANGE_WORDS if squeezed(each) not in text] == []
    letters = sum(character == "W" for character in text)
    assert letters >= pack.document("case.json")["question"].count("W")
    assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\ufeff") & set(text)


@pytest.mark.parametrize("paper", ["strange", "long"], indirect=True)
def test_the_paper_runs_and_fetches_nothing(paper: tuple[BuiltPack, list[str]]) -> None:
    """It has no script, no action, no attached file, no link to outside, and all its fonts are in it."""
    from io import BytesIO

    from pypdf import PdfReader
    from pypdf.generic import DictionaryObject, StreamObject

    pack, _ = paper
    reader = PdfReader(BytesIO(pack.members["report.pdf"]))
    assert not reader.attachments
    objects = [reader.get_object(number) for number in range(1, len(reader.xref_objStm) + sum(map(len, reader.xref.values())) + 1)]
    dictionaries = [each for each in objects if isinstance(each, DictionaryObject)]
    assert len(dictionaries) > len(reader.pages)
    forbidden = {"/JS", "/JavaScript", "/AA", "/OpenAction", "/Launch", "/URI", "/EmbeddedFile", "/RichMedia", "/XFA", "/AcroForm"}
    assert [key for each in dictionaries for key in each if key in forbidden] == []
    fonts = [each for each in dictionaries if each.get("/Type") == "/FontDescriptor"]
    assert fonts
    assert all({"/FontFile", "/FontFile2", "/FontFile3"} & set(font) for font in fonts)
    assert all(isinstance(each, StreamObject) or "/F" not in each or each.get("/Type") != "/Filespec" for each in dictionaries)
