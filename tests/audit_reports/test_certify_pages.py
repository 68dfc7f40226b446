"""The report of a certification pack in Chromium and on paper: nothing is cut, charts have axes, a clause is two clicks away."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit_reports.bag import read_zip
from ledger.keys import create_signing_key
from tests.chromium import Opened, opened_page, screenshot
from tests.conftest import ROOT
from tests.paper import page_texts, squeezed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The two that are built in seconds; the long lane names all four.
GAMES = tuple(os.environ.get("SLOT_AUDIT_PAGES", "starlight-wins moon-spell").split())
WIDTHS = {"phone": 390, "desk": 1200}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The payload of a small pack of each game, taken out into a folder."""
    folder = tmp_path_factory.mktemp("pages")
    create_signing_key(folder / "pack.key")
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = {}
    for game in GAMES:
        out = folder / f"{game}.zip"
        terms = ["--rounds", "1e4", "--as-of", "2026-12-01T10:00:00Z", "--pack-key", str(folder / "pack.key")]
        command = [sys.executable, "-c", program, "certify", "--game", game, "-o", str(out), *terms]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        for name, content in read_zip(out.read_bytes(), str(out)).items():
            if "/data/" in name:
                path = folder / game / name.split("/data/", 1)[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        found[game] = folder / game
    return found


def violations(opened: Opened) -> list[str]:
    """Return what axe-core finds that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[dict[str, Any]] = Axe().run(opened.page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("game", GAMES)
def test_a_report_opens_whole(chromium: "Browser", pages: dict[str, Path], game: str, width: str) -> None:
    """It asks for nothing but itself, says nothing to the console, is no wider than the window, and bars nobody; every chart is drawn."""
    file = pages[game] / "report.html"
    with opened_page(chromium, file, viewport={"width": WIDTHS[width], "height": 800}) as opened:
        screenshot(opened, "certify", game, width)
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert violations(opened) + opened.troubles == []
        drawn = opened.page.locator("figure img").evaluate_all("all => all.map(each => [each.naturalWidth, each.alt.length])")
        assert len(drawn) >= 2
        assert all(pixels > 300 and words > 20 for pixels, words in drawn)
        assert all(text.strip() for text in opened.page.locator("figcaption").all_inner_texts())
        assert {url for url in opened.asked if not url.startswith("data:")} == {file.as_uri()}


@pytest.mark.parametrize("game", GAMES)
def test_the_artefact_of_every_clause_is_two_clicks_away(chromium: "Browser", pages: dict[str, Path], game: str) -> None:
    """From the top, one click leads to the clauses, and another from a clause's row to its section or file, which is there."""
    file = pages[game] / "report.html"
    with opened_page(chromium, file, viewport={"width": 1200, "height": 800}) as opened:
        opened.page.get_by_role("navigation").get_by_role("link", name="Clauses").click()
        assert opened.page.locator("#clauses").bounding_box()["y"] < 800  # type: ignore[index]
        row = opened.page.get_by_role("row").filter(has_text="4.7.3")
        row.get_by_role("link", name="Par sheet").click()
        box = opened.page.locator("#par").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 800
        links = opened.page.locator("td.links a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
        sections = set(re.findall(r'id="([^"]+)"', file.read_text()))
        wrong = [link for link in links if not (link[1:] in sections if link.startswith("#") else (pages[game] / link).is_file())]
        assert links
        assert wrong == []
        judged = opened.page.locator("#clauses ~ .scroll tbody tr").evaluate_all(
            "rows => rows.filter(row => row.children.length === 5).map(row => [row.children[2].innerText, row.children[4].innerText])"
        )
        assert [row for row in judged if row[0] in ("pass", "FAIL") and not row[1].strip()] == []


@pytest.mark.parametrize("game", GAMES)
def test_the_paper_says_all(pages: dict[str, Path], game: str) -> None:
    """Every section, every configuration and every chart's caption is on it; no page is empty or crammed; it is a tagged PDF."""
    data = (pages[game] / "report.pdf").read_bytes()
    texts = page_texts(data)
    text = squeezed("\n".join(texts))
    html = (pages[game] / "report.html").read_text()
    heads = re.findall(r"<h2[^>]*>([^<]+)</h2>", html)
    assert len(heads) >= 12
    assert [head for head in heads if squeezed(head) not in text] == []
    captions = re.findall(r"<figcaption>([^<]+)</figcaption>", html)
    assert [caption for caption in captions if squeezed(caption)[:40] not in text] == []
    assert all(page.strip() for page in texts)
    assert b"/MarkInfo" in data or b"/StructTreeRoot" in data


def test_charts_name_their_axes(pages: dict[str, Path]) -> None:
    """Charts are drawn as paths, the same on every machine, with a label on every axis: what is drawn for it is there."""
    from audit_reports.charts import certification_charts
    from audit_reports.long_simulation import Simulated, SimulationTerms, run_simulations
    from engines.registry import installed_rules

    rules = installed_rules("moon-spell")
    steps = run_simulations(SimulationTerms(rules, 20_000, b"charts"), pages["moon-spell"] / "p", job_count=1, is_resumed=False)
    simulated = [step for step in steps if isinstance(step, Simulated)]
    charts = list(certification_charts(rules, simulated))
    assert [chart.file for chart in charts] == ["charts/convergence-base.svg", "charts/distribution-base.svg"]
    wanted = (
        {"rounds simulated (logarithmic)", "RTP in % of the cost"},
        {"% of rounds", "RTP given,", "% of the cost", "win of a round, in bets"},
    )
    for chart, labels in zip(charts, wanted, strict=True):
        drawn = chart.svg.decode()
        assert "<text" not in drawn
        assert "<dc:date>" not in drawn
        assert labels <= set(re.findall(r"<!-- ([^>]+) -->", drawn))
        assert chart.words in chart.caption
