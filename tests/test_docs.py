"""The documents say what the program does: references are not stale, named files, functions and commands exist."""

import re
import subprocess
import sys

from tests.conftest import ROOT

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "engines" / "games").rglob("README.md")),
]


def test_generated_references_are_not_stale() -> None:
    """The event catalogue and the command reference are those that the program gives now."""
    done = subprocess.run([sys.executable, "tools/references.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    """Each relative link of a page leads to a file of the project."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_functions_named_in_pages_exist() -> None:
    """Each `package.module.name` in backquotes is a thing that can be imported."""
    import importlib

    for page in PAGES:
        for dotted in re.findall(r"`((?:engines|ledger|replay|audit_reports)(?:\.\w+)+)`", page.read_text()):
            if dotted.endswith(".db"):
                continue
            parts = dotted.split(".")
            for cut in range(len(parts), 0, -1):
                try:
                    thing = importlib.import_module(".".join(parts[:cut]))
                except ModuleNotFoundError:
                    continue
                break
            for name in parts[cut:]:
                thing = getattr(thing, name)


def test_paths_named_in_pages_exist() -> None:
    """Each path in backquotes that ends in .py, .md or .toml is a file of the project."""
    for page in PAGES:
        for path in re.findall(
            r"`((?:engines|ledger|replay|audit_reports|docs|tools|tests|bench)/[\w./-]+\.(?:py|md|toml))`", page.read_text()
        ):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_every_command_is_in_the_reference_with_an_example() -> None:
    """Each command of the program has its section, and its help an example."""
    from audit_reports.cli import app

    names = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
    text = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for name in names:
        sections = re.split(r"\n## ", text)
        mine = [section for section in sections if section.split("\n")[0].removeprefix("audit ").split()[0:1] == [name]]
        assert mine, name
        assert all("Example" in section for section in mine), name
