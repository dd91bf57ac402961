"""Every risk by name (public contract 2): what it needs of a table, and its formula. Adding one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recap.risks import equations as eq
from recap.risks.margins import Margins
from recap.statistics import EmpiricalCDF
from recap.table import Floats

DIRECT = ("direct.image",)
IMAGE = ("image.claim", "image.contradictions", "image.supports")
TEXT = ("text.claim", "text.contradictions", "text.supports")
IMAGE_PAIR, TEXT_PAIR = IMAGE[:2], TEXT[:2]
DEGRADED_PAIR = ("degraded.claim", "degraded.contradictions")
FLIPPED_PAIR = ("flipped.claim", "flipped.contradictions")


@dataclass(frozen=True)
class Risk:
    """A risk's name, the inputs it declares, and a pure formula over them.

    `calibrated` formulas read the calibration rows too (for their CDFs); the others ignore that argument.
    """

    name: str
    needs: tuple[str, ...]
    formula: Callable[[Margins, Margins], Floats]
    about: str
    calibrated: bool = False
    fitted: bool = False
    """trained on the calibration rows' labels; see `fitted.py`"""
    families: tuple[str, ...] | None = None
    """the only relation families for which it means anything; None for all"""

    @property
    def needs_graph(self) -> bool:
        """Whether it is defined only for statements that the relation graph covers."""
        return any(not need.startswith("direct.") for need in self.needs)


def _image_pair(m: Margins) -> Floats:
    return eq.pair_risk(m.yes, *m.image[:2])


def _selector(m: Margins, calibration: Margins) -> Floats:
    formulas = (RISKS[name].formula for name in ("confidence", "recap-img"))
    return eq.selector(*(EmpiricalCDF.of(risk(calibration, calibration))(risk(m, m)) for risk in formulas))


def _fixed(name: str, needs: tuple[str, ...], formula: Callable[[Margins], Floats], about: str) -> Risk:
    return Risk(name, needs, lambda m, _: formula(m), about)


_ALL = (
    _fixed("confidence", DIRECT, lambda m: eq.confidence(m.direct), "−|m| of the direct answer"),
    _fixed(
        "recap-img", IMAGE, lambda m: eq.relation_risk(m.yes, *m.image), "relation evidence on the image: the default"
    ),
    _fixed(
        "recap-cal", IMAGE + TEXT, lambda m: eq.relation_risk(m.yes, *m.lift), "RECAP-Img on image-minus-text lifts"
    ),
    Risk("recap-selector", DIRECT + IMAGE, _selector, "RECAP-Img with confidence kept as a veto", calibrated=True),
    _fixed(
        "claim-only", IMAGE[:1], lambda m: -eq.aligned(m.yes, m.image.claim), "the claim's own margin, for the answer"
    ),
    _fixed("symmetric-pair", IMAGE_PAIR, _image_pair, "claim against contradiction, sign of the answer"),
    _fixed(
        "claim-anti",
        IMAGE_PAIR,
        lambda m: eq.claim_contradiction_risk(m.yes, *m.image[:2]),
        "RECAP-Img without its support term",
    ),
    _fixed(
        "competitive-no",
        IMAGE,
        lambda m: eq.competitive_no_risk(m.yes, *m.image),
        'RECAP-Img whose "no" needs a contradiction stronger than the claim',
    ),
    _fixed("yes-penalty", (), lambda m: m.yes.astype(float), 'every "yes" is risky, every "no" is not'),
    _fixed(
        "prompt-sc",
        (*DIRECT, "direct.paraphrases"),
        lambda m: eq.prompt_consistency_risk(m.yes, m.direct, m.paraphrases),
        "weakest support for the answer over five wordings",
    ),
    _fixed(
        "vcd-contrast",
        IMAGE_PAIR + DEGRADED_PAIR,
        lambda m: eq.contrast_risk(m.yes, m.image.pair, m.degraded.pair),
        "what a degraded image takes away from the pair",
    ),
    Risk(
        "bcea-flip",
        IMAGE_PAIR + FLIPPED_PAIR,
        lambda m, _: eq.flip_risk(m.asserted(m.image), m.asserted(m.flipped)),
        "what mirroring takes away from the asserted relation: left/right only",
        families=("left_right",),
    ),
    _fixed(
        "ca-bidirectional",
        ("direct.ca_bidirectional",),
        lambda m: -eq.aligned(m.yes, m.ca_bidirectional),
        "support under the bidirectional constraint prompt",
    ),
    _fixed(
        "ca-combined",
        ("direct.ca_combined",),
        lambda m: -eq.aligned(m.yes, m.ca_combined),
        "support under the combined constraint prompt",
    ),
    _fixed(
        "claim-delta",
        ("image.claim", "text.claim"),
        lambda m: -eq.aligned(m.yes, m.lift.claim),
        "the claim's image-minus-text lift",
    ),
    _fixed("text-pair", TEXT_PAIR, lambda m: eq.pair_risk(m.yes, *m.text[:2]), "the pair without the image"),
    _fixed("img-pair", IMAGE_PAIR, _image_pair, "the pair on the image"),
    _fixed(
        "anti-delta",
        ("image.contradictions", "text.contradictions"),
        lambda m: eq.aligned(m.yes, m.lift.contradiction),
        "the strongest contradiction's lift alone",
    ),
    _fixed("cal-pair", IMAGE_PAIR + TEXT_PAIR, lambda m: eq.pair_risk(m.yes, *m.lift[:2]), "the pair on lifts"),
)

RISKS: dict[str, Risk] = {risk.name: risk for risk in _ALL}
