"""A visit to the page in a real browser, which notes whatever a visitor should never see."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

SCENES, PHOTOGRAPHS = 15, 3
"""pictures to choose from, and how many of them are photographs; they come last"""
SCENE, CAUGHT, FINE = "world:whatsup/0032", "Is the crate below the suitcase?", "Is the crate on the suitcase?"
"""a scene in the box; a question about it that the model gets wrong and RECAP catches; and one that it gets right"""
PATIENCE = 30_000
"""milliseconds; the machine may be busy, and the first picture of a benchmark lays out all its scenes"""

expect.set_options(timeout=PATIENCE)

PASTE = """(text) => {
    const carried = new DataTransfer();
    carried.setData("text/plain", text);
    const event = new ClipboardEvent("paste", {clipboardData: carried, bubbles: true, cancelable: true});
    document.activeElement.dispatchEvent(event);
}"""


@contextmanager
def chromium() -> Generator[Browser]:
    """Debian's Chromium. Nothing is downloaded."""
    found = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no chromium on PATH (make chromium installs Debian's)")
    # Chromium's sandbox refuses to work for root, which is what a container's user often is.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


class Visit:
    """One visitor with a browser window of their own."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.elsewhere.append(request.url)

    def refused(self, status: int) -> None:
        """A refusal that was provoked: browsers note it on the console, which is no fault of the page."""
        self.complaints = [each for each in self.complaints if not re.search(rf"status of {status}\b", each)]

    def open(self, scenes: int = SCENES) -> Page:
        self.page.goto(self.url + "/")
        expect(self.page.locator("#scenes img[src]")).to_have_count(scenes)
        return self.page

    def ask(self, question: str) -> None:
        """Ask in words, and wait for the verdict."""
        self.page.get_by_label("Your question").fill(question)
        self.page.get_by_role("button", name="Ask", exact=True).click()
        self.answered(question)

    def answered(self, question: str) -> None:
        expect(self.page.locator("#asked")).to_have_text(question)
        expect(self.page.locator("#go")).to_have_text("Ask")

    def paste(self, text: str) -> None:
        """Paste text where the focus is."""
        self.page.evaluate(PASTE, text)

    @property
    def slider(self) -> Any:
        return self.page.get_by_role("slider", name="Accept the surest")

    def axe(self) -> list[str]:
        """What an accessibility check finds serious or worse."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']} ({each['impact']}): {[node['html'] for node in each['nodes']]}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]


@contextmanager
def visiting(browser: Browser, url: str, **window: Any) -> Generator[Visit]:
    """A visit; at its end nothing may have been said on the console or asked of another host."""
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 860}} | window))
    context.set_default_timeout(PATIENCE)
    try:
        visit = Visit(context.new_page(), url)
        yield visit
        assert visit.complaints == []
        assert visit.elsewhere == []
    finally:
        context.close()
