"""What subtracting text-only margins does to the pair of claim and contradiction (Table text-calibration-effect)."""

from __future__ import annotations

from recap.paper.experiment import IMG, Result, Setting, Sheet, Study, experiment, span, tally

IMAGE_PAIR, CALIBRATED_PAIR = "img-pair", "cal-pair"


@experiment("Text-reference calibration", "text-calibration-effect", risks=(IMAGE_PAIR, CALIBRATED_PAIR, IMG))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does subtracting what the model says without the image make claim and contradiction tell more?"""
    sheet = Sheet(
        "text-calibration-effect",
        "The pair with and without its text reference",
        f"All rows inside the graph, pooled at exact {study.percent} coverage; the change is CalPair minus ImgPair. "
        "Percent and points.",
    )
    changes: list[float] = []
    beaten: list[float] = []
    for s in settings:
        image, calibrated, recap = (s.pooled(name) for name in (IMAGE_PAIR, CALIBRATED_PAIR, IMG))
        changes.append(calibrated["hall_auc"] - image["hall_auc"])
        beaten.append(recap["hall_auc"] - max(image["hall_auc"], calibrated["hall_auc"]))
        sheet.put(s, IMAGE_PAIR, image, ("hall_auc", "acc"))
        sheet.put(s, CALIBRATED_PAIR, calibrated, ("hall_auc", "acc"))
        sheet.put(s, CALIBRATED_PAIR, {"hall_auc": changes[-1]}, difference="change")
        sheet.put(s, IMG, recap, ("hall_auc",))
    return Result(
        (sheet.table,),
        (
            f"Subtracting the text reference raises the pair's Hall-AUC in {tally(study, settings, changes)}: "
            f"{span(changes)}.",
            f"Answer-conditioned RECAP-Img, without any text reference, is above both pairs in "
            f"{tally(study, settings, beaten)}: {span(beaten)} against the better of the two.",
        ),
    )
