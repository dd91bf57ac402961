"""The page in Debian's Chromium, against a real server with the model and the policy in the box."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'recap-vlm[dev]'")

from playwright.sync_api import Page, expect

from recap.audit import replay
from recap.policy import load_policy
from recap.schemes import DEFAULT_MODEL
from recap.world.bundled import policy_file
from tests.server.page.browsing import CAUGHT, FINE, PHOTOGRAPHS, SCENE, SCENES, Visit

pytestmark = pytest.mark.page

PICTURE = {"name": "my crate.png", "mimeType": "image/png"}


def told(url: str, question: str) -> dict[str, Any]:
    return httpx.post(f"{url}/v1/audit", json={"image": SCENE, "question": question}, timeout=60).json()


def test_a_scene_is_asked_about_and_the_verdict_explained(visit: Visit) -> None:
    page, expected = visit.open(), told(visit.url, CAUGHT)
    page.get_by_role("button", name="Ask", exact=True).click()
    visit.answered(CAUGHT)
    assert expected["accepted"] is False
    expect(page.locator("#answer")).to_have_text(expected["answer"])
    expect(page.locator("#chip")).to_contain_text("rejected")
    expect(page.locator("#reason")).to_contain_text("A contradiction, “suitcase below crate”")
    expect(page.locator("#told")).to_contain_text("rejected. A contradiction")
    rows = page.get_by_role("list").filter(has=page.locator(".bar")).get_by_role("listitem")
    assert rows.count() == len({probe["question"] for probe in expected["probes"]})
    expect(rows.last).to_contain_text("contradiction")
    margin = f"{expected['probes'][-1]['margin']:+.2f}".replace("-", "−")
    expect(rows.last.locator(".value")).to_have_text(margin)
    expect(page.locator("#scale")).to_have_attribute("aria-label", re.compile(rf"risk {expected['risk']:.2f}; limit"))
    expect(page.locator("#scale .share")).to_have_count(100)
    expect(page.locator("#drift")).to_contain_text("Drift:")


@pytest.mark.parametrize(
    "question", [CAUGHT, FINE, "Is the hat next to the crate?", "The crate is below the suitcase."]
)
def test_the_witness_and_the_standing_are_those_of_the_api(visit: Visit, question: str) -> None:
    page, expected = visit.open(), told(visit.url, question)
    visit.ask(question)
    witness, standing = expected["witness"], expected["standing"]
    decided = page.locator("#probes li").filter(has=page.locator(".decided"))
    expect(decided.locator(".decided")).to_have_text([f"decided, as {witness['kind']}"])
    expect(decided.locator(".value")).to_have_text(re.compile(rf"{abs(witness['margin']):.2f}$"))
    risk, threshold = (f"{round(1000 * standing[name]) / 10:g}" for name in ("risk", "threshold"))
    expect(page.locator("#standing")).to_have_text(
        f"{risk} % of the answers that set the limit are no riskier; it accepts the surest {threshold} %."
    )


@pytest.mark.parametrize("question", ["What is this?", "      "])
def test_a_refused_question_does_not_stand_beside_an_older_verdict(visit: Visit, question: str) -> None:
    page = visit.open()
    visit.ask(FINE)
    expect(page.locator("#chip")).to_contain_text("accepted")
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("#card")).to_be_hidden()
    expect(page.locator("#history [aria-current]")).to_have_count(0)
    visit.refused(422)
    page.get_by_role("button", name=FINE).last.click()
    visit.answered(FINE)
    expect(page.locator("#chip")).to_contain_text("accepted")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_suggestions_ask_at_once(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name=FINE).click()
    visit.answered(FINE)
    expect(page.locator("#chip")).to_contain_text("accepted")


def test_an_answer_that_someone_else_gave_can_be_audited(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("radio", name="no", exact=True).check()
    visit.ask(FINE)
    expect(page.locator(".said")).to_contain_text("the answer given is no ✕ rejected")


def test_an_uploaded_picture_is_audited_like_the_scene_it_shows(visit: Visit, picture: bytes) -> None:
    page, expected = visit.open(), told(visit.url, CAUGHT)
    page.get_by_label("Choose a picture").set_input_files(PICTURE | {"buffer": picture})
    expect(page.get_by_role("img", name="Your picture: my crate.png")).to_be_visible()
    expect(page.locator("#note")).to_contain_text("photo:coco answers about photographs. It knows")
    expect(page.locator("#suggestions li")).to_have_count(0)
    visit.ask(CAUGHT)
    expect(page.locator("#reason")).to_contain_text("“suitcase below crate”")
    shown = page.locator(".value").all_text_contents()
    margins = {f"{probe['margin']:+.2f}".replace("-", "−") for probe in expected["probes"]}
    assert set(shown) == margins


GIVE = """([kind, event, base64]) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], "given.png", {type: kind}));
    const field = event === "paste" ? "clipboardData" : "dataTransfer";
    const Kind = event === "paste" ? ClipboardEvent : DragEvent;
    document.body.dispatchEvent(new Kind(event, {[field]: carried, bubbles: true, cancelable: true}));
}"""


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_a_picture_can_be_dropped_and_pasted(visit: Visit, picture: bytes, event: str) -> None:
    page = visit.open()
    page.evaluate(GIVE, ["image/png", event, base64.b64encode(picture).decode()])
    expect(page.get_by_role("img", name="Your picture: given.png")).to_be_visible()
    visit.ask(FINE)
    expect(page.locator("#chip")).to_contain_text("accepted")


def test_a_picture_too_large_for_the_server_is_made_smaller_first(visit: Visit) -> None:
    held = io.BytesIO()
    Image.new("RGB", (8000, 4000), "olive").save(held, "JPEG")
    page = visit.open()
    page.get_by_label("Choose a picture").set_input_files(PICTURE | {"buffer": held.getvalue()})
    expect(page.locator("#note")).to_contain_text("8000 × 4000")
    visit.ask(FINE)
    expect(page.locator("#card")).to_be_visible()


@pytest.mark.parametrize("content", [b"", b"not a picture at all", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_what_is_no_picture_is_said_so(visit: Visit, content: bytes) -> None:
    page = visit.open()
    page.get_by_label("Choose a picture").set_input_files(PICTURE | {"buffer": content})
    expect(page.get_by_role("alert")).to_contain_text("my crate.png is")
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_what_the_server_refuses_is_told_in_its_words(visit: Visit) -> None:
    page = visit.open()
    page.get_by_label("Your question").fill("What is this?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("No spatial relation found")
    visit.refused(422)
    held = io.BytesIO()
    frames = [Image.new("RGB", (32, 32), colour) for colour in ("red", "blue")]
    frames[0].save(held, "GIF", save_all=True, append_images=frames[1:])
    page.get_by_label("Choose a picture").set_input_files(
        {"name": "moves.gif", "mimeType": "image/gif", "buffer": held.getvalue()}
    )
    page.get_by_label("Your question").fill(FINE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The image: it moves; send a single frame.")
    visit.refused(400)


def test_the_slider_shows_what_another_coverage_would_change(visit: Visit) -> None:
    page = visit.open()
    visit.ask(CAUGHT)
    visit.ask(FINE)
    quantiles = httpx.get(f"{visit.url}/v1/policy").json()["quantiles"]
    turns = next(i for i, limit in enumerate(quantiles, 1) if told(visit.url, FINE)["risk"] <= limit)
    expect(page.locator("#would")).to_contain_text(f"A coverage of {turns} % or more accepts this answer")
    visit.slider.fill(str(turns))
    expect(page.locator("#would")).to_contain_text("still be accepted")
    visit.slider.fill(str(turns - 1))
    expect(page.locator("#would")).to_contain_text("be rejected instead. Of this visit’s 2 answers, 1 would change.")
    expect(visit.slider).to_have_attribute("aria-valuetext", re.compile("would be rejected"))
    expect(page.locator("#history li").first).to_contain_text("would be rejected")
    assert page.locator("#history li").last.locator(".flips").count() == 0
    visit.slider.fill("100")
    expect(page.locator("#history li").last).to_contain_text("would be accepted")
    page.get_by_role("button", name="Back to 80 %").click()
    expect(visit.slider).to_have_value("80")
    expect(page.locator("#history .flips")).to_have_count(0)


def test_answers_of_the_visit_are_kept_and_opened_again(visit: Visit) -> None:
    page = visit.open()
    visit.ask(CAUGHT)
    page.get_by_title("A drawing: umbrella, hat and guitar").click()
    visit.ask("Is the umbrella in front of the hat?")
    assert page.locator("#history li").count() == 2
    page.get_by_role("button", name=CAUGHT).last.click()
    visit.answered(CAUGHT)
    expect(page.locator("#picture")).to_have_attribute("alt", re.compile("crate, suitcase"))
    expect(page.get_by_label("Your question")).to_have_value(CAUGHT)
    expect(page.locator("#history [aria-current]")).to_contain_text(CAUGHT)
    page.reload()
    expect(page.locator("#history li")).to_have_count(0)
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_the_downloaded_trail_gives_the_verdict_again(visit: Visit, tmp_path: Path) -> None:
    page = visit.open()
    visit.ask(CAUGHT)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the trail").click()
    assert started.value.suggested_filename == "recap-is-the-crate-below-the-suitcase.json"
    started.value.save_as(tmp_path / "trail.json")
    trail = json.loads((tmp_path / "trail.json").read_text("utf-8"))
    again = replay(trail, load_policy(policy_file(DEFAULT_MODEL)))
    assert (again.accepted, again.risk, again.reason) == (False, trail["risk"], trail["reason"])


def shared(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy to share").click()
    expect(page.locator("#copy")).to_have_text("Copied ✓")
    return page.evaluate("navigator.clipboard.readText()")


def test_a_shared_verdict_is_shown_again_without_its_picture(visit: Visit) -> None:
    page = visit.open()
    visit.ask(CAUGHT)
    text, values = shared(page), page.locator(".value").all_text_contents()
    page.reload()
    page.get_by_label("Your question").focus()
    visit.paste(text)
    visit.answered(CAUGHT)
    assert page.locator(".value").all_text_contents() == values
    expect(page.locator("#chip")).to_contain_text("rejected")
    expect(page.locator("#aside")).to_contain_text("the picture is not in it")
    expect(page.locator("#picture")).to_be_hidden()
    visit.slider.fill("100")
    expect(page.locator("#would")).to_contain_text("be accepted instead")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("Choose a picture to ask about first.")


def test_json_from_strangers_is_read_with_care(visit: Visit) -> None:
    page = visit.open()
    visit.ask(CAUGHT)
    good = json.loads(shared(page))
    nasty = {
        '{"probes": ': "not JSON",
        '{"probes": 1}': "question",
        json.dumps(good | {"kind": "recap-policy"}): "another kind",
        json.dumps(good | {"answer": "maybe"}): "answer",
        json.dumps(good | {"probes": [good["probes"][0] | {"margin": "1"}]}): "probes[0].margin",
        json.dumps(good | {"risk": [1]}): "risk",
    }
    for text, why in nasty.items():
        visit.paste(text)
        expect(page.get_by_role("alert")).to_contain_text(why)
    markup = '<img src="x" onerror="document.title = 1">'
    visit.paste(json.dumps(good | {"question": markup, "model": markup, "policy": {"quantiles": [3, 1]}}))
    expect(page.locator("#asked")).to_have_text(markup)
    assert page.locator("#asked img, #who img, #history img[src=x]").count() == 0


def test_the_scenes_are_all_there(visit: Visit) -> None:
    page = visit.open()
    assert page.get_by_role("radio", name="A drawing:").count() == SCENES - PHOTOGRAPHS
    assert page.locator('#scenes input[value^="photograph/"]').count() == PHOTOGRAPHS
    sizes = page.evaluate("[...document.querySelectorAll('#scenes img')].map((image) => image.naturalWidth)")
    assert sizes.count(480) == SCENES - PHOTOGRAPHS
    assert all(size > 0 for size in sizes)
