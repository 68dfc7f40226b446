"""The page of a pack in Chromium: at two widths, by mouse and keyboard, without scripts, in print, and for those who cannot see it.

Elements are found as a reader finds them: by role and name.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chromium import Opened, opened_page, screenshot
from tests.pack_set import NAMES, STRANGE, BuiltPack, PackSet
from tests.paper import page_texts, squeezed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

WIDTHS = {"phone": 390, "desk": 1200}
HEIGHT = 800
A4_WIDTH = 718  # of 210 mm, without margins of 10 mm, in CSS pixels
SERIOUS = ("serious", "critical")
TABS_MAX = 60
SMALLEST_TARGET = 24  # CSS pixels: WCAG 2.2, 2.5.8

# How far the page reaches beyond the window.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# What is cut off on paper, where nobody can scroll; what is there for readers aloud alone is one pixel wide.
CUT_OFF = """[...document.querySelectorAll('body *')].filter(each => each.scrollWidth > each.clientWidth + 1 &&
  each.clientWidth > 1 && getComputedStyle(each).overflowX !== 'visible').map(each => each.outerHTML.slice(0, 100))"""
FOCUS = """() => { const style = getComputedStyle(document.activeElement);
  return {name: document.activeElement.textContent, outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
          shadow: style.boxShadow}; }"""


@pytest.fixture
def page_file(packs: PackSet, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[BuiltPack, Path]:
    """A pack, and its page in a file."""
    pack = packs[request.param]
    file = tmp_path / "report.html"
    file.write_bytes(pack.members["report.html"])
    return pack, file


def spins(opened: Opened, *, is_shown: bool) -> list[int]:
    """Return the numbers of the sections that are labelled as spins, or of those that are to be seen, as they stand in the page."""
    script = "(all, isShown) => all.filter(each => !isShown || each.checkVisibility()).map(each => each.getAttribute('aria-label'))"
    labels: list[str] = opened.page.locator("section[aria-label^='spin ']").evaluate_all(script, is_shown)
    return [int(label.removeprefix("spin ")) for label in labels]


def shown(opened: Opened) -> list[int]:
    """Return which spins are to be seen."""
    return spins(opened, is_shown=True)


def button(opened: Opened, name: str) -> "Locator":
    """Return a button of the stepper."""
    return opened.page.get_by_role("button", name=name, exact=True)


def status(opened: Opened) -> str:
    """Return what the stepper says."""
    return opened.page.get_by_role("status").inner_text()


def violations(opened: Opened) -> list[str]:
    """Return what axe-core finds against the page that is serious or critical, each with the first element that it is found in."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[dict[str, Any]] = Axe().run(opened.page).response["violations"]
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page_file", NAMES, indirect=True)
def test_a_page_opens_whole(chromium: "Browser", page_file: tuple[BuiltPack, Path], width: str) -> None:
    """The page asks for nothing but itself, says nothing to the console, is no wider than the window, and bars nobody, light or dark."""
    pack, file = page_file
    with opened_page(chromium, file, viewport={"width": WIDTHS[width], "height": HEIGHT}) as opened:
        assert pack.round_id in opened.page.get_by_role("heading", level=1).inner_text()
        screenshot(opened, pack.name, width)
        if len(pack.spins) > 1:
            button(opened, "All").click()
        assert shown(opened) == list(range(1, len(pack.spins) + 1))
        wrong = []
        for scheme in ("light", "dark") if b"prefers-color-scheme" in file.read_bytes() else ("light",):
            opened.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            screenshot(opened, pack.name, width, scheme, "all")
            wrong += [f"{scheme}: {each}" for each in violations(opened)]
        wrong += [f"wider than the window by {beyond}" for beyond in [opened.page.evaluate(OVERFLOW)] if beyond > 0]
        assert wrong + opened.troubles == []
        assert opened.asked == [file.as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page_file", NAMES, indirect=True)
def test_the_stepper_goes_through_all_spins(chromium: "Browser", page_file: tuple[BuiltPack, Path], width: str) -> None:
    """Next shows one spin after the other up to the last and no further, Back the one before, All each; the status says which."""
    pack, file = page_file
    count = len(pack.spins)
    with opened_page(chromium, file, viewport={"width": WIDTHS[width], "height": HEIGHT}) as opened:
        assert spins(opened, is_shown=False) == list(range(1, count + 1))
        if count == 1:
            assert shown(opened) == [1]
            return
        for number in range(1, count + 1):
            assert (shown(opened), status(opened)) == ([number], f"spin {number} of {count}")
            assert opened.page.evaluate(OVERFLOW) <= 0
            if number < count:
                button(opened, "Next").click()
        screenshot(opened, pack.name, width, "last")
        if button(opened, "Next").is_enabled():
            button(opened, "Next").click()
        assert shown(opened) == [count]
        button(opened, "Back").click()
        assert (shown(opened), status(opened)) == ([count - 1], f"spin {count - 1} of {count}")
        button(opened, "All").click()
        assert shown(opened) == list(range(1, count + 1))
        for name in ("Back", "Next", "All"):
            box = button(opened, name).bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= SMALLEST_TARGET
        assert opened.troubles == []


def tabbed_to(opened: Opened, name: str) -> dict[str, Any]:
    """Press Tab up to a button and return how it looks with the focus on it."""
    for _ in range(TABS_MAX):
        opened.page.keyboard.press("Tab")
        focus: dict[str, Any] = opened.page.evaluate(FOCUS)
        if focus["name"] == name:
            return focus
    raise AssertionError(f"{name}: not reached by {TABS_MAX} times Tab")


@pytest.mark.parametrize("page_file", ["long", "reproduced"], indirect=True)
def test_the_stepper_works_by_keyboard(chromium: "Browser", page_file: tuple[BuiltPack, Path]) -> None:
    """Tab comes to each button, which shows that it has the focus; Enter and Space press it, the arrow keys step, up to both ends."""
    pack, file = page_file
    count = len(pack.spins)
    with opened_page(chromium, file, viewport={"width": WIDTHS["desk"], "height": HEIGHT}) as opened:
        keyboard = opened.page.keyboard
        focus = tabbed_to(opened, "Next")
        assert focus["outline"] >= 2 or focus["shadow"] != "none", focus
        screenshot(opened, pack.name, "focus")
        for key, number in (("Enter", 2), ("Space", 3), ("ArrowRight", 4), ("ArrowLeft", 3)):
            keyboard.press(key)
            assert (shown(opened), status(opened)) == ([number], f"spin {number} of {count}"), key
        for _ in range(count):
            keyboard.press("ArrowRight")
        assert shown(opened) == [count]
        for _ in range(count):
            keyboard.press("ArrowLeft")
        assert shown(opened) == [1]
        opened.page.evaluate("document.activeElement.blur()")
        tabbed_to(opened, "All")
        keyboard.press("Enter")
        assert shown(opened) == list(range(1, count + 1))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page_file", NAMES, indirect=True)
def test_without_scripts_all_is_there(chromium: "Browser", page_file: tuple[BuiltPack, Path], width: str) -> None:
    """With scripts off each spin is to be seen, there is no stepper, and the page is no wider than the window."""
    pack, file = page_file
    with opened_page(chromium, file, viewport={"width": WIDTHS[width], "height": HEIGHT}, java_script_enabled=False) as opened:
        assert shown(opened) == list(range(1, len(pack.spins) + 1))
        assert opened.page.get_by_role("button").count() == 0
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert opened.troubles == []


@pytest.mark.parametrize("page_file", NAMES, indirect=True)
def test_printed_it_is_whole(chromium: "Browser", page_file: tuple[BuiltPack, Path]) -> None:
    """On paper each spin is there, whichever the stepper showed, no stepper, and nothing is cut off at the edge."""
    pack, file = page_file
    with opened_page(chromium, file, viewport={"width": A4_WIDTH, "height": HEIGHT}) as opened:
        opened.page.emulate_media(media="print")
        screenshot(opened, pack.name, "print")
        assert shown(opened) == list(range(1, len(pack.spins) + 1))
        assert opened.page.get_by_role("button").count() == 0
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert opened.page.evaluate(CUT_OFF) == []
        printed = opened.page.pdf(format="A4", margin=dict.fromkeys(("top", "right", "bottom", "left"), "10mm"))
    text = squeezed(" ".join(page_texts(printed))).lower()
    wanted = [f"Spin {number} of {len(pack.spins)}" for number in range(1, len(pack.spins) + 1)]
    wanted += [pack.round_id, pack.document("verdict.json")["verdict"]]
    assert [each for each in wanted if squeezed(each).lower() not in text] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page_file", ["strange"], indirect=True)
def test_words_from_outside_are_text(chromium: "Browser", page_file: tuple[BuiltPack, Path], width: str) -> None:
    """Markup, formulas, marks that turn the text around and a word of 4,000 characters stand there as text, in order, and do nothing."""
    _, file = page_file
    with opened_page(chromium, file, viewport={"width": WIDTHS[width], "height": HEIGHT}) as opened:
        text = opened.page.locator("body").inner_text()
        for part in visible_parts(STRANGE):
            assert part in text, part
        assert "W" * 1000 in text
        assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u200b\u200f\ufeff") & set(text)
        assert opened.page.locator("img, iframe, object, embed, link, base, form, a[href]:not([href^='#'])").count() == 0
        assert "owned" not in opened.page.title()
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert opened.troubles == []


def visible_parts(text: str) -> Iterator[str]:
    """Yield what stands between the marks of a text that no eye sees."""
    yield from (part.strip() for part in re.split("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text) if part.strip())
