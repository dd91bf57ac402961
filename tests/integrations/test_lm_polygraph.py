"""lm-polygraph itself runs the benchmark: its model answers, its manager calls the calculator and the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lm_polygraph.defaults.register_default_stat_calculators import register_default_stat_calculators
from lm_polygraph.model_adapters.visual_whitebox_model import VisualWhiteboxModel
from lm_polygraph.utils.builder_enviroment_stat_calculator import BuilderEnvironmentStatCalculator
from lm_polygraph.utils.dataset import Dataset
from lm_polygraph.utils.generation_parameters import GenerationParameters
from lm_polygraph.utils.manager import UEManager

from recap import Auditor, compute_risk
from recap.errors import RecapError
from recap.images import open_image
from recap.integrations.lm_polygraph import RecapAudit, RecapRisk, recap_rows
from recap.table import MarginTable
from tests.integrations.conftest import MODEL, Audited

pytestmark = pytest.mark.integrations


@pytest.fixture(scope="module")
def host(auditor: Auditor) -> VisualWhiteboxModel:
    """The same checkpoint as lm-polygraph's own kind of model."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from recap.world.scheme import checkpoint_folder

    folder = checkpoint_folder(MODEL)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype="float32").eval()
    processor = AutoProcessor.from_pretrained(folder)
    return VisualWhiteboxModel(model, processor, MODEL, generation_parameters=GenerationParameters(max_new_tokens=1))


def run(
    host: VisualWhiteboxModel, auditor: Auditor, own: list[Audited], estimators: list[Any], named: str | None
) -> dict[str, list[Any]]:
    """What the manager finds for each question. It cannot put prompts of different lengths together: these go apart."""
    prompter = auditor.model.prompter
    prompt = prompter.prompt("{question}", True)
    texts = [prompt.replace("{question}", each.question) for each in own]
    by_length: dict[int, list[int]] = {}
    for i, text in enumerate(texts):
        by_length.setdefault(len(prompter.tokens(text)), []).append(i)
    found: dict[str, list[Any]] = {name: [None] * len(own) for name in ("greedy_texts", *map(str, estimators))}
    for places in by_length.values():
        manager = UEManager(
            Dataset(
                [texts[i] for i in places],
                [own[i].item.label or "" for i in places],
                batch_size=len(places),
                images=[open_image(own[i].image) for i in places],
            ),
            host,
            estimators,
            available_stat_calculators=[*register_default_stat_calculators("VisualLM"), recap_rows(named, prompt)],
            builder_env_stat_calc=BuilderEnvironmentStatCalculator(host),
            generation_metrics=[],
            ue_metrics=[],
            processors=[],
            ignore_exceptions=False,
            verbose=False,
            max_new_tokens=1,
        )
        manager()
        told = {"greedy_texts": manager.stats["greedy_texts"]}
        told |= {str(each): manager.estimations["sequence", str(each)] for each in estimators}
        for name, values in told.items():
            for i, value in zip(places, values, strict=True):
                found[name][i] = value
    return found


def test_the_estimator_gives_the_auditors_verdict_on_200_answers(
    host: VisualWhiteboxModel, auditor: Auditor, own: list[Audited]
) -> None:
    assert auditor.policy is not None
    told = run(host, auditor, own, [RecapAudit(auditor.policy), RecapRisk("recap-img"), RecapRisk("confidence")], MODEL)
    assert [text.strip() for text in told["greedy_texts"]] == [each.answer for each in own]
    distances = told[f"RecapAudit-{auditor.policy.mode}"]
    assert [distance <= 0 for distance in distances] == [each.verdict.accepted for each in own]
    for distance, each in zip(distances, own, strict=True):
        assert each.verdict.risk is not None
        assert each.verdict.threshold is not None
        assert distance == pytest.approx(each.verdict.risk - each.verdict.threshold, abs=1e-4)
    table = MarginTable(tuple(each.verdict.row for each in own), auditor.graph)
    for name in ("recap-img", "confidence"):
        found = told[f"Recap-{name}"]
        assert np.allclose(found, compute_risk(table, name), atol=1e-4, equal_nan=True)


def test_the_hosts_own_model_is_asked_where_none_is_named(
    host: VisualWhiteboxModel, auditor: Auditor, own: list[Audited]
) -> None:
    told = run(host, auditor, own[:20], [RecapRisk("recap-img")], None)
    table = MarginTable(tuple(each.verdict.row for each in own[:20]), auditor.graph)
    assert np.allclose(told["Recap-recap-img"], compute_risk(table, "recap-img"), atol=1e-4)


def test_a_calibrated_risk_needs_its_calibration() -> None:
    with pytest.raises(RecapError, match="risk recap-selector needs a calibration table"):
        RecapRisk("recap-selector")
