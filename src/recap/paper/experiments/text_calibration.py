"""What subtracting text-only margins does to the pair of claim and contradiction (Table text-calibration-effect)."""

from __future__ import annotations

from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Study
from recap.paper.experiments.telling import span, tally
from recap.policy import IMG
from recap.report.result import Result, Sheet

IMAGE_PAIR, CALIBRATED_PAIR = "img-pair", "cal-pair"


def measure(study: Study) -> Result:
    """The pair on image margins and on image-minus-text lifts, beside RECAP-Img."""
    sheet = Sheet(
        "text-calibration-effect",
        "The pair with and without its text reference",
        "All rows inside the graph, pooled at exact 80 % coverage; the change is CalPair minus ImgPair. Percent "
        "and points.",
    )
    settings, missing = allowing(study.main(), IMAGE_PAIR, CALIBRATED_PAIR, IMG)
    changes: list[float] = []
    beaten: list[float] = []
    for s in settings:
        image, calibrated, recap = (s.pooled(name) for name in (IMAGE_PAIR, CALIBRATED_PAIR, IMG))
        changes.append(calibrated["hall_auc"] - image["hall_auc"])
        beaten.append(recap["hall_auc"] - max(image["hall_auc"], calibrated["hall_auc"]))
        figures = {
            IMAGE_PAIR: _figures(image),
            CALIBRATED_PAIR: _figures(calibrated) | {"change.hall_auc": changes[-1]},
            IMG: {"hall_auc": recap["hall_auc"]},
        }
        for method, found in figures.items():
            sheet.put(found, model=s.model, data=s.data, method=method)
    return Result(
        (sheet.table,),
        (
            f"Subtracting the text reference raises the pair's Hall-AUC in {tally(study, settings, changes)}: "
            f"{span(changes)}.",
            f"Answer-conditioned RECAP-Img, without any text reference, is above both pairs in "
            f"{tally(study, settings, beaten)}: {span(beaten)} against the better of the two.",
        ),
        missing=(*missing, *study.absent(study.headline, study.primary)),
    )


def _figures(pooled: dict[str, float]) -> dict[str, float]:
    return {"hall_auc": pooled["hall_auc"], "acc@80": pooled["acc"]}


EXPERIMENT = Experiment(
    "text-calibration",
    "Text-reference calibration",
    "Does subtracting what the model says without the image make claim and contradiction tell more?",
    ("text-calibration-effect",),
    measure,
)
