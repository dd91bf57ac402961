"""The page for everyone: by keyboard alone, on a phone, in the dark, and held to axe's rules."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'recap-vlm[dev]'")

from playwright.sync_api import Browser, expect

from tests.server.page.browsing import CAUGHT, FINE, Visit, visiting

pytestmark = pytest.mark.page

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


def test_everything_can_be_done_with_a_keyboard(visit: Visit) -> None:
    page = visit.open()

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            focus = page.evaluate(
                """() => { const e = document.activeElement, box = e.classList.contains("unseen") ? e.parentElement : e;
                return [e.id || e.name || e.textContent, getComputedStyle(box).outlineStyle]; }"""
            )
            assert focus[1] != "none", f"the focus on {focus[0]} is not to be seen"
            if focus[0] == name:
                return
        raise AssertionError(f"{name} is not reached")

    tab_to("scene")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#picture")).to_have_attribute("alt", re.compile("cup, spoon"))
    tab_to("file")
    tab_to("question")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Is the spoon in front of the cup?")
    page.keyboard.press("Enter")
    visit.answered("Is the spoon in front of the cup?")
    tab_to("go")
    tab_to("answer")
    tab_to("coverage")
    page.keyboard.press("Home")
    expect(page.locator("#coverage-shown")).to_have_text("1 %")
    page.keyboard.press("End")
    expect(page.locator("#coverage-shown")).to_have_text("100 %")
    tab_to("copy")
    tab_to("open")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Open a shared verdict")).to_be_visible()
    expect(page.get_by_label("Paste its JSON")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#open")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#history [aria-current]")).to_be_focused()


def test_it_fits_a_phone(browser: Browser, url: str) -> None:
    with visiting(browser, url, **PHONE) as visit:
        page = visit.open()
        expect(page.locator(".camera")).to_be_visible()
        page.get_by_role("button", name=FINE).tap()
        visit.answered(FINE)
        expect(page.locator("#card h2")).to_be_in_viewport()
        visit.slider.fill("1")
        expect(page.locator("#would")).to_contain_text("be rejected instead")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, .button, #coverage, .scenes label, .audited label")]
            .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)"""
        )
        assert small == []


LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": PHONE,
    "tablet": {"viewport": {"width": 768, "height": 1000}},
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(browser: Browser, url: str, look: str) -> None:
    with visiting(browser, url, **LOOKS[look]) as visit:
        page = visit.open()
        assert visit.axe() == []
        visit.ask(CAUGHT)
        visit.ask(FINE)
        visit.slider.fill("5")
        expect(page.locator("#history .flips")).not_to_have_count(0)
        assert visit.axe() == []
        page.get_by_role("button", name="Open a shared verdict").click()
        page.get_by_label("Paste its JSON").fill("{")
        page.get_by_role("button", name="Show it").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
        assert visit.axe() == []


def test_dark_mode_is_dark(browser: Browser, url: str) -> None:
    grounds: list[int] = []
    for scheme in ("light", "dark"):
        with visiting(browser, url, color_scheme=scheme) as visit:
            ground = visit.open().evaluate("getComputedStyle(document.body).backgroundColor")
            grounds.append(sum(map(int, re.findall(r"\d+", ground))))
    assert grounds[0] > 600 > 150 > grounds[1]
