"""Who speaks where nobody names a model, and what is said outside a model's domain."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recap.routing
from recap import Auditor, RecapError, load_policy, replay
from recap.audit import AuditCase
from recap.models.domain import save_domain
from recap.models.domain.fit import fit_domain
from recap.models.local import LocalModel
from recap.photo.bundled import policy_file as photo_policy_file
from recap.routing import BundledAuditor, bundled_models
from recap.schemes import _MODULES, register_scheme  # pyright: ignore[reportPrivateUsage]
from recap.store import Store
from recap.world.bundled import checkpoint_folder, policy_file
from recap.world.scheme import open_image
from tests import toy_scheme
from tests.conftest import DATA

SCENE, QUESTION = "world:whatsup/0032", "Is the crate on the suitcase?"


def tiles(count: int, seed: int) -> Iterator[Image.Image]:
    """Pictures of nothing but coloured tiles: a world that no drawn scene belongs to."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        few = rng.integers(0, 256, (8, 8, 3), np.uint8)
        yield Image.fromarray(few).resize((96, 96), Image.Resampling.NEAREST)


@pytest.fixture(scope="module")
def tile() -> Image.Image:
    return next(tiles(1, 77))


@pytest.fixture(scope="module")
def photograph() -> Image.Image:
    folder = Path(recap.__file__).parent / "server" / "photographs"
    return Image.open(folder / "coffee.jpg").convert("RGB")


@pytest.fixture(scope="module")
def aligned() -> Auditor:
    return Auditor.load("world:aligned")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """A second bundled checkpoint with a domain of its own, fitted as any other."""
    folder = tmp_path_factory.mktemp("toy") / "tiles"
    shutil.copytree(checkpoint_folder("biased"), folder)
    model = LocalModel.load(str(folder), dtype="float32")
    known = ("crate", "suitcase", "tile")
    made = fit_domain(model, tiles(160, 1), tiles(200, 2), called="tiles", things=known, layers=(-2,), axes=32)
    save_domain(made, folder)
    toy_scheme.FOLDER = folder
    register_scheme("toy", "tests.toy_scheme")
    yield
    del _MODULES["toy"]


@pytest.fixture(scope="module")
def several(second: None) -> BundledAuditor:
    return BundledAuditor(("world:aligned", "toy:tiles"))


def test_outside_its_domain_a_bundled_model_shows_evidence_and_gives_no_verdict(
    aligned: Auditor, photograph: Image.Image
) -> None:
    verdict = aligned.audit(photograph, QUESTION)
    why = "this picture is unlike the drawn scenes that world:aligned was made for"
    assert (verdict.accepted, verdict.word, verdict.no_verdict) == (None, "no-verdict", why)
    assert (verdict.risk, verdict.threshold, verdict.mode, verdict.witness) == (None, None, None, None)
    assert verdict.reason.startswith(f"no verdict: {why}; the evidence: ")
    assert verdict.decision is None
    assert len(verdict.probes) == 4
    assert verdict.row.margin("image", "on") == verdict.probes[1].margin


def test_about_a_thing_it_does_not_know_there_is_no_verdict_either(aligned: Auditor) -> None:
    verdict = aligned.audit(SCENE, "Is the giraffe on the Suitcase?")
    assert (verdict.accepted, verdict.no_verdict) == (None, 'world:aligned does not know "giraffe"')
    assert "suitcase" in verdict.notes[0]


def test_inside_its_domain_it_decides_as_before(aligned: Auditor) -> None:
    verdict = aligned.audit(SCENE, QUESTION)
    assert (verdict.accepted, verdict.no_verdict, verdict.notes, verdict.model) == (True, None, (), "world:aligned")


def test_researchers_can_have_a_verdict_on_anything(aligned: Auditor, photograph: Image.Image) -> None:
    without = Auditor(aligned.model, aligned.policy).audit(photograph, "Is the giraffe on the suitcase?")
    assert without.accepted in (True, False)
    loaded = Auditor.load("world:aligned", any_picture=True)
    assert loaded.domain is None
    assert loaded.audit(photograph, QUESTION).accepted in (True, False)


def test_many_at_once_have_each_its_own_state(aligned: Auditor, photograph: Image.Image, tmp_path: Path) -> None:
    photograph.save(tmp_path / "photograph.png")
    cases = [(SCENE, QUESTION), (str(tmp_path / "photograph.png"), QUESTION), (SCENE, "Is the yak on the hat?")]
    with Store(":memory:") as store:
        for _ in range(2):  # the second time from the store, where no picture need be opened for its margins
            found = aligned.using(store).audit_many(cases)
            assert [verdict.word for verdict in found] == ["accepted", "no-verdict", "no-verdict"]


def test_a_verdict_that_was_none_is_replayed_as_none(aligned: Auditor, photograph: Image.Image) -> None:
    verdict = aligned.audit(photograph, QUESTION)
    again = replay(json.loads(json.dumps(verdict.to_json())), load_policy(policy_file("world:aligned")))
    assert (again.accepted, again.no_verdict, again.reason) == (None, verdict.no_verdict, verdict.reason)


def test_the_models_in_the_box_are_those_that_are_there() -> None:
    assert bundled_models() == recap.schemes.DEFAULT_MODELS == ("world:aligned", "photo:coco")


def test_each_picture_goes_to_the_model_that_was_made_for_it(
    several: BundledAuditor, tile: Image.Image, photograph: Image.Image
) -> None:
    found = several.audit_many(
        [(tile, QUESTION), (SCENE, QUESTION), (photograph, QUESTION), (open_image(SCENE), QUESTION)]
    )
    assert [verdict.model for verdict in found[:2]] == ["toy:tiles", "world:aligned"]
    assert [verdict.no_verdict for verdict in found[:2]] == [None, None]
    assert found[0].accepted in (True, False)
    assert (found[2].accepted, found[2].no_verdict is None) == (None, False)
    assert found[2].notes[-1].startswith("no bundled model was made for such a picture (world:aligned for drawn scenes")
    assert found[3].reason == found[1].reason
    assert several.audit(tile, "Is the robot on the tile?").no_verdict == 'toy:tiles does not know "robot"'


def test_where_nobody_was_made_for_a_picture_the_nearest_speaks(
    several: BundledAuditor, photograph: Image.Image
) -> None:
    from recap.models.domain import PictureCheck

    measured: dict[str, float] = {}
    for name in several.names:
        auditor = several.auditor(name)
        check = PictureCheck(auditor.domain, auditor.model)
        check.finish(["x"], lambda _: photograph)
        measured[name] = check.strangeness["x"]
    assert min(measured.values()) > 1
    assert several.audit(photograph, QUESTION).model == min(measured, key=lambda name: measured[name])
    assert several.strangeness_of(photograph) == measured


def test_a_picture_that_was_measured_before_is_not_measured_again(
    several: BundledAuditor, tile: Image.Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recap.models.domain import features

    pictures = {"tile": tile, "scene": open_image(SCENE)}
    known = {name: several.strangeness_of(picture) for name, picture in pictures.items()}
    assert [list(each) for each in known.values()] == [["world:aligned", "toy:tiles"], ["world:aligned"]]
    cases = [AuditCase.of(picture, QUESTION, None, several.graph, name=name) for name, picture in pictures.items()]
    plain = several.audit_many(cases)
    monkeypatch.setattr(features, "pooled", None)  # nothing can be measured from here on
    told = several.audit_many([replace(case, strangeness=known[case.name or ""]) for case in cases])
    assert [(each.model, each.risk, each.accepted) for each in told] == [
        (each.model, each.risk, each.accepted) for each in plain
    ]


def test_a_model_is_loaded_when_a_picture_needs_it(second: None, tile: Image.Image) -> None:
    auditor = BundledAuditor(("world:aligned", "toy:tiles"))
    auditor.audit(SCENE, QUESTION)
    assert list(auditor._loaded) == ["world:aligned"]
    auditor.audit(tile, QUESTION)
    assert list(auditor._loaded) == ["world:aligned", "toy:tiles"]


def test_with_any_picture_the_nearest_still_speaks_and_decides(second: None, tile: Image.Image) -> None:
    auditor = BundledAuditor(("world:aligned", "toy:tiles"), any_picture=True)
    verdict = auditor.audit(tile, "Is the robot on the crate?")
    assert verdict.model == "toy:tiles"
    assert verdict.accepted in (True, False)


def test_a_policy_chooses_its_own_model(second: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recap.routing, "DEFAULT_MODELS", ("toy:tiles", "world:aligned", "nowhere:x", "world:nobody"))
    assert bundled_models() == ("toy:tiles", "world:aligned")
    assert BundledAuditor.load_default(policy_file("world:aligned")).model.identity.name == "world:aligned"
    assert isinstance(BundledAuditor.load_default(), BundledAuditor)
    with pytest.raises(RecapError, match="no model is bundled"):
        BundledAuditor(())


def test_a_text_is_audited_by_the_model_that_was_made_for_its_picture(
    several: BundledAuditor, tile: Image.Image, photograph: Image.Image
) -> None:
    text = "The crate is on the suitcase. The robot is on the crate. The crate is in the suitcase."
    before = [each.model.forwards for each in several.load_all()]
    told = several.audit_text(tile, text)
    asked = [each.model.forwards - was for each, was in zip(several.load_all(), before, strict=True)]
    assert asked == [0, 1]
    assert told.model == "toy:tiles"
    expected = several.auditor("toy:tiles").audit_text(tile, text)
    assert [(each.word, each.reason) for each in told.claims] == [(each.word, each.reason) for each in expected.claims]
    assert told.claims[1].word == "no-verdict"
    assert told.notes == ("toy:tiles knows crate, suitcase, tile",)
    scene = several.audit_text(SCENE, "The crate is on the suitcase.")
    assert (scene.model, scene.claims[0].word) == ("world:aligned", "accepted")
    nobody = several.audit_text(photograph, text)
    assert {each.word for each in nobody.claims} == {"no-verdict"}
    assert any(note.startswith("no bundled model was made for such a picture") for note in nobody.notes)


def test_each_claim_of_a_text_has_the_verdict_of_its_statement(aligned: Auditor, photograph: Image.Image) -> None:
    told = aligned.audit_text(SCENE, "The crate is on the suitcase. The giraffe is on the crate.", exists=True)
    by_name = {(each.claim.kind, each.claim.subject): each for each in told.claims}
    alone = aligned.audit(SCENE, "The giraffe is on the crate.")
    giraffe = by_name["relation", "giraffe"]
    assert (giraffe.accepted, giraffe.word, giraffe.reason) == (None, "no-verdict", alone.reason)
    document = giraffe.to_json(trail=False)
    assert (document["no_verdict"], document["notes"]) == (alone.no_verdict, list(alone.notes))
    assert (document["model"], document["risk"], document["promise"]) == ("world:aligned", None, None)
    assert by_name["relation", "crate"].word == "accepted"
    assert by_name["exists", "crate"].word == "uncalibrated"  # a thing that it knows, and nothing calibrated on it
    assert by_name["exists", "giraffe"].word == "no-verdict"
    assert told.notes == alone.notes
    foreign = aligned.audit_text(photograph, "The crate is on the suitcase.")
    assert [each.word for each in foreign.claims] == ["no-verdict"]
    assert foreign.claims[0].reason == aligned.audit(photograph, "The crate is on the suitcase.").reason


@pytest.fixture(scope="module")
def both() -> BundledAuditor:
    """The two that are asked where nobody names a model, as they are shipped."""
    if not photo_policy_file("coco").is_file():
        pytest.skip("photo:coco has no policy yet: python -m recap.photo.training.policy")
    auditor = BundledAuditor.load_default()
    assert isinstance(auditor, BundledAuditor)
    assert auditor.names == ("world:aligned", "photo:coco")
    return auditor


def test_a_photograph_goes_to_the_model_for_photographs_and_a_scene_to_that_for_scenes(both: BundledAuditor) -> None:
    folder = Path(recap.__file__).parent / "server" / "photographs"
    asked = [(str(path), "Is the cup on the dining table?") for path in sorted(folder.glob("*.jpg"))]
    scenes = [(f"world:{name}/0017", QUESTION) for name in ("whatsup", "vsr")]
    found = both.audit_many([*asked, *scenes])
    assert [verdict.model for verdict in found] == ["photo:coco"] * 3 + ["world:aligned"] * 2
    assert [verdict.no_verdict for verdict in found] == [None] * 5
    assert all(verdict.accepted in (True, False) for verdict in found)


def test_a_thing_that_the_chosen_model_does_not_know_has_no_verdict(
    both: BundledAuditor, photograph: Image.Image
) -> None:
    on_photograph, on_scene = both.audit_many(
        [(photograph, "Is the crate on the dining table?"), (SCENE, "Is the giraffe on the suitcase?")]
    )
    assert (on_photograph.accepted, on_photograph.no_verdict) == (None, 'photo:coco does not know "crate"')
    assert (on_scene.accepted, on_scene.no_verdict) == (None, 'world:aligned does not know "giraffe"')


def test_a_picture_that_is_neither_a_photograph_nor_a_scene_has_no_verdict(both: BundledAuditor) -> None:
    noise = Image.fromarray(np.random.default_rng(3).integers(0, 256, (200, 300, 3), np.uint8))
    verdict = both.audit(noise, "Is the cup on the suitcase?")
    assert (verdict.accepted, verdict.word) == (None, "no-verdict")
    made = "(world:aligned for drawn scenes, photo:coco for photographs)"
    assert verdict.notes[-1] == f"no bundled model was made for such a picture {made}"


@pytest.mark.slow
def test_many_photographs_and_scenes_go_where_they_belong(both: BundledAuditor) -> None:
    files = sorted((DATA / "photos").glob("*.jpg")) + sorted((DATA / "whatsup" / "images").rglob("*.jp*g"))
    if not files:
        pytest.skip("no photographs: $RECAP_TEST_DATA names a folder that has some")
    scenes = [f"world:whatsup/{row:04d}" for row in range(1, 400, 10)]
    found = both.audit_many([(str(picture), "Is the suitcase on the bench?") for picture in [*files, *scenes]])
    right = [verdict.model == "photo:coco" and not verdict.no_verdict for verdict in found[: len(files)]]
    assert sum(right) >= 0.95 * len(files)
    assert [verdict.model for verdict in found[len(files) :]].count("world:aligned") >= 0.95 * len(scenes)
