"""Debian's Chromium, driven by Playwright: a browser for a module of tests, pages opened from a file, what they ask for written down."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

__all__ = ["Opened", "chromium", "opened_page", "screenshot"]

REQUIRED = "SLOT_AUDIT_BROWSER"
PROGRAM = "chromium"
TIMEOUT_MS = 15_000
# Nothing of its own on the network, and no sandbox where the tests run as root.
OPTIONS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
)


@dataclass
class Opened:
    """A page in the browser and what came of it: addresses asked for, messages and errors, dialogs."""

    page: "Page"
    asked: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def take_request(self, request: "Request") -> None:
        """Write down an address."""
        self.asked.append(request.url)

    def take_message(self, message: "ConsoleMessage") -> None:
        """Write down what the console says of errors and warnings."""
        if message.type in ("error", "warning"):
            self.troubles.append(f"{message.type}: {message.text}")

    def take_error(self, error: object) -> None:
        """Write down an error of a script."""
        self.troubles.append(f"page error: {error}")

    def take_dialog(self, dialog: "Dialog") -> None:
        """Write down that a script asked for attention, and go on."""
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """The browser; where there is none the test is skipped, or fails with SLOT_AUDIT_BROWSER=required."""
    program = shutil.which(PROGRAM)
    if program is None:
        message = f"no browser on this machine: install the Debian package {PROGRAM}"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    options = [*OPTIONS, *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@contextmanager
def opened_page(browser: "Browser", file: Path, **terms: Any) -> Iterator[Opened]:
    """Open a file in a new window without a network; terms: as `Browser.new_context`, such as `viewport` and `java_script_enabled`."""
    context = browser.new_context(offline=True, **terms)
    try:
        context.set_default_timeout(TIMEOUT_MS)
        opened = Opened(context.new_page())
        opened.page.on("request", opened.take_request)
        opened.page.on("console", opened.take_message)
        opened.page.on("pageerror", opened.take_error)
        opened.page.on("dialog", opened.take_dialog)
        opened.page.goto(file.as_uri())
        yield opened
    finally:
        context.close()


def screenshot(opened: Opened, *words: object) -> None:
    """Write a picture of the whole page to the folder SLOT_AUDIT_SCREENSHOTS, where that is named."""
    if folder := os.environ.get("SLOT_AUDIT_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        opened.page.screenshot(path=Path(folder) / f"{'-'.join(map(str, words))}.png", full_page=True)
