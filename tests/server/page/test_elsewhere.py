"""The page before servers of other kinds: with a token, without a policy, with another model, and after a drift."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'recap-vlm[dev]'")

from PIL import Image
from playwright.sync_api import Browser, expect

import recap
from recap.audit import Auditor
from recap.models.local import LocalModel
from recap.routing import BundledAuditor
from recap.schemes import DEFAULT_MODEL
from recap.server.app import create_app
from recap.server.service import Service
from recap.world.bundled import checkpoint_folder
from tests.server.page.browsing import FINE, SCENES, visiting
from tests.server.test_corrections import EVERYTHING
from tests.server.upstream import served
from tests.simulate import ALIGNED, simulate

pytestmark = pytest.mark.page

TOKEN = "sesame-sesame-sesame"


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    return Auditor.load(DEFAULT_MODEL)


def test_a_token_is_asked_for_and_kept_in_memory_only(browser: Browser, auditor: Auditor) -> None:
    with served(create_app(Service(auditor, token=TOKEN))) as url, visiting(browser, url) as visit:
        page = visit.page
        page.goto(url + "/")
        field = page.get_by_label("This server asks for a token.")
        expect(field).to_be_focused()
        assert visit.axe() == []
        field.fill("not the token at all")
        page.keyboard.press("Enter")
        expect(field).to_have_value("")
        expect(page.get_by_role("alert")).to_have_text("That token is not the right one.")
        field.fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("#scenes img[src]")).to_have_count(SCENES)
        expect(field).to_be_hidden()
        visit.ask(FINE)
        expect(page.locator("#chip")).to_contain_text("accepted")
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie, location.search]") == [
            0,
            0,
            "",
            "",
        ]
        visit.refused(401)


def test_without_a_policy_there_is_the_evidence(browser: Browser, auditor: Auditor) -> None:
    bare = Auditor(auditor.model, None, auditor.graph)
    with served(create_app(Service(bare))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.ask(FINE)
        expect(page.locator("#chip")).to_have_text("○ not calibrated")
        expect(page.locator("#probes li")).to_have_count(3)
        expect(page.locator("#risk")).to_be_hidden()
        expect(page.locator("#drift")).to_be_hidden()
        expect(page.locator("#policy")).to_contain_text("Nothing is calibrated")
        assert visit.axe() == []
        visit.refused(404)


def test_without_calibration_risks_there_is_no_slider(browser: Browser, auditor: Auditor) -> None:
    assert auditor.policy is not None
    policy = replace(auditor.policy, cdfs=replace(auditor.policy.cdfs, reference=None))
    older = Auditor(auditor.model, policy, auditor.graph)
    with served(create_app(Service(older))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.ask(FINE)
        expect(page.locator("#chip")).to_contain_text("accepted")
        expect(page.locator("#scale-box")).to_be_hidden()
        expect(page.locator("#standing")).to_contain_text("limit 0.80: accepted")


def test_a_correction_is_offered_with_its_promise(browser: Browser, auditor: Auditor) -> None:
    assert auditor.policy is not None
    corrects = Auditor(auditor.model, replace(auditor.policy, repair=EVERYTHING), auditor.graph)
    with served(create_app(Service(corrects))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.ask(FINE)
        expect(page.locator("#chip")).to_have_text("✕ corrected")
        expect(page.locator("#aside")).to_contain_text("The opposite answer is offered instead: “no”.")
        expect(page.locator("#aside")).to_contain_text("Promised: at most 10 % of corrected answers are wrong")
        expect(page.locator("#scale-box")).to_be_hidden()
        expect(page.locator("#history .chip")).to_have_text("corrected")
        expect(page.locator("#policy")).to_contain_text("corrections: with 90 % confidence")
        assert visit.axe() == []


def test_what_cannot_be_told_is_neither_accepted_nor_rejected(browser: Browser, auditor: Auditor) -> None:
    assert auditor.policy is not None
    made = recap.calibrate(simulate(ALIGNED, 100, 1), undecided=True).undecided
    assert made is not None
    untold = replace(made, answers=tuple(replace(each, at_least=0.0) for each in made.answers))
    honest = Auditor(auditor.model, replace(auditor.policy, undecided=untold), auditor.graph)
    with served(create_app(Service(honest))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.ask(FINE)
        expect(page.locator("#chip")).to_have_text("○ cannot be told")
        expect(page.locator("#card")).to_have_attribute("data-verdict", "open")
        expect(page.locator("#reason")).to_contain_text("are both affirmed, and cannot both hold")
        expect(page.locator("#scale-box")).to_be_hidden()
        expect(page.locator("#history .chip")).to_have_text("cannot be told")
        assert visit.axe() == []


def test_a_drift_is_warned_of(browser: Browser, auditor: Auditor) -> None:
    app = create_app(Service(auditor))
    with served(app) as url, visiting(browser, url) as visit:
        page = visit.open()
        expect(page.locator("#drift")).to_have_text("Drift: too few answers to tell (0 of 50).")
        for _ in range(80):
            app.state.metrics.monitor.observe(1.0, False)
        visit.ask(FINE)
        expect(page.locator("#drift.moved")).to_contain_text("⚠ Drift: risks have moved away from calibration")
        assert visit.axe() == []


def test_to_another_model_the_scenes_are_only_drawings(browser: Browser) -> None:
    model = LocalModel.load(str(checkpoint_folder(DEFAULT_MODEL)), called="someone/other-model", dtype="float32")
    with served(create_app(Service(Auditor(model)))) as url, visiting(browser, url) as visit:
        page = visit.open()
        expect(page.locator("#note")).to_contain_text("These scenes are drawings")
        visit.ask(FINE)
        expect(page.locator("#who")).to_have_text("other-model says")
        visit.refused(404)


def test_about_things_that_a_small_model_does_not_know_there_is_no_verdict(browser: Browser, auditor: Auditor) -> None:
    with served(create_app(Service(auditor))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.ask("Is the zebra to the left of the crate?")
        expect(page.locator("#chip")).to_have_text("○ no verdict")
        expect(page.locator("#card")).to_have_attribute("data-verdict", "open")
        expect(page.locator("#reason")).to_have_text("world:aligned does not know “zebra”.")
        expect(page.locator("#aside")).to_have_text("What it knows is listed under the question.")
        expect(page.locator("#risk")).to_be_hidden()
        expect(page.locator("#history .chip")).to_have_text("no verdict")
        assert visit.axe() == []


def test_the_json_of_the_command_line_is_shown(browser: Browser, auditor: Auditor) -> None:
    verdict = auditor.audit("world:whatsup/0032", FINE)
    with served(create_app(Service(auditor))) as url, visiting(browser, url) as visit:
        page = visit.open()
        visit.paste(json.dumps(verdict.to_json()))
        visit.answered(FINE)
        expect(page.locator("#who")).to_have_text("world:aligned says")
        expect(page.locator("#chip")).to_contain_text("accepted")
        expect(visit.slider).to_be_visible()


def test_a_server_that_has_gone_is_said_so(browser: Browser, auditor: Auditor) -> None:
    with served(create_app(Service(auditor))) as url, visiting(browser, url) as visit:
        page = visit.open()
        page.context.set_offline(True)
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("alert")).to_have_text("The server does not answer. Is it still running?")
        visit.complaints.clear()


def test_a_photograph_gets_no_verdict_from_a_model_of_drawn_scenes(browser: Browser, auditor: Auditor) -> None:
    with served(create_app(Service(auditor))) as url, visiting(browser, url) as visit:
        page = visit.open()
        page.locator('#scenes label:has([value="photograph/coffee"])').click()
        expect(page.locator("#note")).to_contain_text("Photograph: Rachel Michetti, CC0.")
        expect(page.locator("#note")).to_contain_text("No model for photographs is served here")
        visit.ask("Is the mug to the left of the table?")
        expect(page.locator("#chip")).to_have_text("○ no verdict")
        expect(page.locator("#reason")).to_contain_text("This picture is unlike the drawn scenes that world:aligned")
        expect(page.locator("#probes li")).to_have_count(2)
        expect(page.locator("#scale-box")).to_be_hidden()
        page.locator("#known summary").click()
        expect(page.locator("#known-things")).to_contain_text("world:aligned, in drawn scenes: apple, ball,")
        assert visit.axe() == []


def test_who_spoke_is_said_with_the_policy_of_that_model(browser: Browser) -> None:
    several = BundledAuditor(("world:aligned", "world:biased"))
    held = io.BytesIO()
    Image.effect_mandelbrot((120, 120), (-2, -1.5, 1, 1.5), 90).convert("RGB").save(held, "PNG")
    with served(create_app(Service(several))) as url, visiting(browser, url) as visit:
        page = visit.open()
        expect(page.locator("#serving")).to_contain_text("world:aligned and world:biased")
        visit.ask(FINE)
        expect(page.locator("#who")).to_have_text("world:aligned says")
        expect(page.locator("#policy")).to_contain_text("recap-selector")
        page.set_input_files("#file", {"name": "own.png", "mimeType": "image/png", "buffer": held.getvalue()})
        expect(page.locator("#note")).to_contain_text("No model for photographs is served here")
        visit.ask("Is the cat to the left of the hat?")
        expect(page.locator("#chip")).to_have_text("○ no verdict")
        expect(page.locator("#aside")).to_contain_text("No bundled model was made for such a picture")
