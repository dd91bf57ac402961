"""The page with photographs: one of those in the box, and one of a visitor's own."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'recap-vlm[dev]'")

from playwright.sync_api import expect

from recap.server.page import scene_picture, scenes
from tests.server.page.browsing import Visit

pytestmark = pytest.mark.page

COFFEE = "photograph/coffee"
CAUGHT, FINE, _, UNKNOWN = scenes()[COFFEE].questions


def test_a_photograph_in_the_box_is_audited_by_the_model_for_photographs(visit: Visit) -> None:
    page = visit.open()
    page.locator(f'#scenes label:has([value="{COFFEE}"])').click()
    expect(page.locator("#note")).to_have_text("Photograph: Rachel Michetti, CC0.")
    for question, shown in ((FINE, "✓ accepted"), (CAUGHT, "✕ rejected"), (UNKNOWN, "○ no verdict")):
        page.get_by_role("button", name=question).click()
        visit.answered(question)
        expect(page.locator("#chip")).to_have_text(shown)
        expect(page.locator("#who")).to_have_text("photo:coco says")
        expect(page.locator("#probes-heading")).to_have_text("What photo:coco was asked")
        assert visit.axe() == []
    expect(page.locator("#reason")).to_have_text("photo:coco does not know “lamp”.")
    expect(page.locator("#aside")).to_have_text("What it knows is listed under the question.")
    visit.ask("Is the man to the left of the cup?")
    expect(page.locator("#chip")).to_have_text("○ no verdict")
    expect(page.locator("#aside")).to_contain_text("photo:coco can be asked about “person” instead of “man”.")
    assert visit.axe() == []
    expect(page.locator(".effect")).to_have_count(0)
    expect(page.locator("#policy")).to_contain_text("The policy in force for photo:coco:")
    page.locator("#known summary").click()
    expect(page.locator("#known-things")).to_contain_text("photo:coco, in photographs: ")


def test_a_photograph_of_ones_own_hints_at_who_answers_and_what_it_knows(visit: Visit) -> None:
    page = visit.open()
    held = {"name": "table.jpg", "mimeType": "image/jpeg", "buffer": scene_picture(COFFEE)}
    page.get_by_label("Choose a picture").set_input_files(held)
    expect(page.locator("#note")).to_contain_text("photo:coco answers about photographs. It knows")
    visit.ask(FINE)
    expect(page.locator(".said")).to_contain_text("photo:coco says yes ✓ accepted")
    page.get_by_label("A caption or an answer").fill("A cup is on the table. There is a dog under the table.")
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-told")).to_contain_text("photo:coco was asked: ")
    expect(page.locator("#text-shown mark.accepted")).to_contain_text("cup is on the table")
    expect(page.locator("#text-shown mark.rejected")).to_contain_text("dog under the table")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_photograph_fits_the_window(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    page = visit.open()
    page.locator(f'#scenes label:has([value="{COFFEE}"])').click()
    visit.ask(UNKNOWN)
    page.locator("#known summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
