"""The text box of the page, in Debian's Chromium."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'recap-vlm[dev]'")

from playwright.sync_api import expect

from tests.server.page.browsing import Visit

pytestmark = pytest.mark.page

TEXT = "The crate is on the suitcase 🙂. The suitcase is to the left of the crate. It stands between them."


def test_a_texts_claims_are_coloured_and_explained(visit: Visit) -> None:
    page = visit.open()
    page.get_by_label("A caption or an answer").fill(TEXT)
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-told")).to_have_text("world:aligned was asked: 2 claims, 1 rejected.")
    assert page.locator("#text-shown").inner_text() == TEXT
    expect(page.locator("#text-shown mark.accepted")).to_have_text("The crate is on the suitcase")
    expect(page.locator("#text-shown mark.rejected")).to_have_text("The suitcase is to the left of the crate")
    expect(page.locator("#text-claims li").nth(1)).to_contain_text(
        "rejected: “The suitcase is to the left of the crate”"
    )
    expect(page.locator("#text-claims li").last).to_contain_text("not understood")


def test_a_text_without_claims_says_so(visit: Visit) -> None:
    page = visit.open()
    page.get_by_label("A caption or an answer").fill("What a lovely day!")
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-told")).to_have_text("No spatial claim was found, so nothing was audited.")


def test_another_picture_takes_the_last_ones_claims_away(visit: Visit) -> None:
    page = visit.open()
    page.get_by_label("A caption or an answer").fill(TEXT)
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-claims li").first).to_contain_text("the claim")
    expect(page.locator("#text-claims li .small").first).not_to_contain_text("accepted:")
    page.locator("#scenes img").nth(3).click()
    expect(page.locator("#text-result")).to_be_hidden()


def test_another_picture_takes_the_last_ones_verdict_away(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#card")).to_be_visible()
    page.locator("#scenes img").nth(3).click()
    expect(page.locator("#card")).to_be_hidden()
    expect(page.locator("#history li")).to_have_count(1)
    page.locator("#history button").first.click()
    expect(page.locator("#card")).to_be_visible()


def test_that_a_thing_is_there_is_said_of_it(visit: Visit) -> None:
    page = visit.open()
    page.locator('#scenes label:has([value="photograph/coffee"])').click()
    sample = page.locator("#text").get_attribute("placeholder") or ""
    assert "lamp" not in sample
    page.get_by_label("A caption or an answer").fill("The cup is above the table. There is no elephant.")
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-told")).to_contain_text(" claims, ")
    heads = page.locator("#text-claims b").all_inner_texts()
    assert any(head.endswith("“The cup” in the picture") for head in heads), heads
    assert any(head.endswith("“elephant” not in the picture") for head in heads), heads
    page.get_by_label("A caption or an answer").fill(sample)
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-result")).to_be_visible()
    expect(page.locator("#text-told")).not_to_contain_text("without a verdict")


def test_a_text_about_a_photograph_in_the_box_is_read(visit: Visit) -> None:
    page = visit.open()
    page.locator('#scenes label:has([value="photograph/coffee"])').click()
    page.get_by_label("A caption or an answer").fill(TEXT)
    page.get_by_role("button", name="Audit the text").click()
    expect(page.locator("#text-told")).to_contain_text("photo:coco was asked: ")
    expect(page.locator("#text-told")).to_contain_text("without a verdict.")
    expect(page.locator("#text-shown mark.accepted")).to_have_count(0)
