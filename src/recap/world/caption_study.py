"""How well false claims in captions are told from true ones: captions of drawn scenes, audited as a user's texts are.

What is measured goes the whole way: a caption is written, its claims are read out of it, each is audited, and what
was read is compared with what the scene's geometry says. Units are pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recap.arrays import Bools, Floats
from recap.audit import AuditCase, Auditor, Verdict
from recap.errors import RecapError
from recap.policy import calibrate_table
from recap.risks import compute_risk
from recap.statistics import Interval, auroc, draw_units, interval, resample_auroc, resample_share
from recap.table import MarginTable, Row
from recap.texts import TextReading
from recap.world.captions import Caption, absent_claims, captions, names_in

KEPT = 0.8
"""share of true claims that is to be kept"""
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class CaptionStudy:
    """What was measured; every figure with its clustered interval at 95 %."""

    model: str
    captions: int
    pictures: int
    claims: int
    false: int
    read: float
    """share of the captions' claims that were read out of them as written"""
    auroc: dict[str, Interval]
    """of each risk against falseness"""
    caught: dict[str, Interval]
    """share of false claims that are rejected where 80 % of true ones are kept"""
    policy: list[dict[str, float]]
    """on the other half of the pictures, by the caption policy: share of claims kept, and how many of those are true"""
    absent: dict[str, Any]
    """shares accepted of claims about absent things, and of the captions' own, without and with presuppositions"""
    nonsense: dict[str, Any]
    """claims that something is inside: AUROC with and without contradictions that cannot be"""

    def to_json(self) -> dict[str, Any]:
        document = dict(vars(self))
        for name in ("auroc", "caught"):
            document[name] = {risk: vars(value) for risk, value in document[name].items()}
        return document


def caption_study(auditor: Auditor, count: int = 1000, say: Callable[[str], None] = lambda _: None) -> CaptionStudy:
    """Write captions, read and audit them, and say how well false claims are told from true ones."""
    written = captions(count)
    say(f"{count:,} captions")
    rows, plain, read = _audited(auditor, written)
    table = MarginTable(tuple(rows), auditor.graph, source="captions")
    false = ~table.positive
    risks = _risks(table)
    counts = draw_units(len(np.unique(table.units)))
    aurocs = {
        name: interval(auroc(risk, false), resample_auroc(risk, false, table.units, counts))
        for name, risk in risks.items()
    }
    caught = {name: _caught(risk, false, table, counts) for name, risk in risks.items()}
    say("claims about things that are not there")
    return CaptionStudy(
        model=str(auditor.model.identity.name),
        captions=count,
        pictures=len(np.unique(table.units)),
        claims=len(rows),
        false=int(false.sum()),
        read=read,
        auroc=aurocs,
        caught=caught,
        policy=_policy_curve(table),
        absent=_absent(auditor, written, count),
        nonsense=_nonsense(rows, plain, auditor),
    )


def _audited(auditor: Auditor, written: Sequence[Caption]) -> tuple[list[Row], list[Row], float]:
    """One labelled row per claim that was read as written, in which contradictions that cannot be are neutral; the same
    rows with them; and the share of claims that were read."""
    readings = [auditor.read_text(caption.text, exists=False) for caption in written]
    verdicts = _verdicts(auditor, written, readings)
    rows: list[Row] = []
    plain: list[Row] = []
    for number, (caption, reading, some) in enumerate(zip(written, readings, verdicts, strict=True)):
        judged = auditor.judge_text(reading, some)
        for claim, verdict in zip(judged.claims, some, strict=True):
            said = (claim.claim.subject, claim.claim.relation, claim.claim.object or "")
            if said in caption.labels:
                label = "yes" if caption.labels[said] else "no"
                more = {"id": f"{number}-{len(rows)}", "label": label, "unit": caption.picture}
                rows.append(claim.verdict.row.model_copy(update=more))
                plain.append(verdict.row.model_copy(update=more))
    return rows, plain, len(rows) / sum(len(caption.labels) for caption in written)


def _verdicts(auditor: Auditor, written: Sequence[Caption], readings: Sequence[TextReading]) -> list[list[Verdict]]:
    cases = [
        AuditCase(caption.picture, check.question, check.claim, check.said.answer, caption.picture)
        for caption, reading in zip(written, readings, strict=True)
        for check in reading.checks
    ]
    verdicts = iter(auditor.audit_many(cases))
    return [[next(verdicts) for _ in reading.checks] for reading in readings]


def _risks(table: MarginTable) -> dict[str, Floats]:
    """RECAP's risk of the claims, and what confidence alone has to say: the direct margin for the claim, and |m|."""
    direct = np.array([row.direct.image or 0.0 for row in table.rows])
    return {
        "recap-img": compute_risk(table, "recap-img"),
        "direct margin": -direct,
        "confidence": compute_risk(table, "confidence"),
    }


def _caught(risk: Floats, false: Bools, table: MarginTable, counts: Any) -> Interval:
    bound = np.quantile(risk[~false], KEPT, method="inverted_cdf")
    rejected = risk > bound
    share = float(rejected[false].mean())
    return interval(share, resample_share(rejected, false, table.units, counts))


def _policy_curve(table: MarginTable) -> list[dict[str, float]]:
    """Calibrated on the claims of every second picture, applied to the others."""
    first = table.units // 2 % 2 == 0  # in pairs: every second caption has a false relation
    curve: list[dict[str, float]] = []
    rest = table.where(~first)
    for share in SHARES:
        policy = calibrate_table(table.where(first), share, mode="recap-img")
        accepted = policy.apply(policy.scores(rest)).accepted
        right = float(rest.positive[accepted].mean()) if accepted.any() else float("nan")
        curve.append({"asked": share, "kept": float(accepted.mean()), "precision": right})
    return curve


def _nonsense(rows: Sequence[Row], plain: Sequence[Row], auditor: Auditor) -> dict[str, Any]:
    inside = [place for place, row in enumerate(rows) if row.claim == "inside"]
    changed = [place for place in inside if rows[place].margins != plain[place].margins]
    told: dict[str, Any] = {"inside": len(inside), "neutral": len(changed)}
    for name, some in (("with", plain), ("without", rows)):
        table = MarginTable(tuple(some), auditor.graph, source="captions")
        told[name] = auroc(compute_risk(table, "recap-img"), ~table.positive)
    return told


def _absent(auditor: Auditor, written: Sequence[Caption], count: int) -> dict[str, Any]:
    """Claims about absent things, and for comparison true and false ones about things that are there: the shares that
    are accepted without a look at what they suppose, and with what the policy knows of that."""
    if auditor.policy is None:
        raise RecapError("captions are judged by a policy; give one")
    claims = absent_claims(count)
    rule = auditor.policy.presupposition
    told: dict[str, Any] = {"claims": len(claims), "rule": None if rule is None else rule.statement}
    told["existence_auroc"] = _existence_auroc(auditor, claims[: count // 4])
    for name, exists in (("without", False), ("with", None)):
        absent = _accepted(auditor, claims, exists)
        present = _accepted(auditor, written, exists)
        told[name] = {
            "absent": _share(absent),
            "affirmed": _share([each for each in absent if each.affirmed]),
            "true": _share([each for each in present if each.true]),
            "false": _share([each for each in present if not each.true]),
        }
        told["affirmed"] = sum(each.affirmed for each in absent)
        told["auroc"] = _told_apart(auditor, absent, [each for each in present if each.true])
        told[name]["families"] = {
            family: {
                kind: _share([each for each in some if each.family == family])
                for kind, some in (("absent", absent), ("true", [each for each in present if each.true]))
            }
            for family in sorted({each.family for each in absent})
        }
    return told


class _Claim(NamedTuple):
    picture: str
    family: str
    true: bool
    accepted: bool
    row: Row

    @property
    def affirmed(self) -> bool:
        """By the model, asked directly."""
        return (self.row.direct.image or 0.0) >= 0


def _accepted(auditor: Auditor, some: Sequence[Caption], exists: bool | None) -> list[_Claim]:
    """What is said of the claims of captions as they were written."""
    readings = [auditor.read_text(caption.text, exists=exists) for caption in some]
    return [
        _Claim(
            caption.picture,
            auditor.graph.family_of(each.claim.relation),
            caption.labels[said],
            each.accepted is True,
            each.verdict.row,
        )
        for caption, reading, verdicts in zip(some, readings, _verdicts(auditor, some, readings), strict=True)
        for each in auditor.judge_text(reading, verdicts).claims
        if (said := (each.claim.subject, each.claim.relation, each.claim.object or "")) in caption.labels
    ]


def _told_apart(auditor: Auditor, absent: Sequence[_Claim], true: Sequence[_Claim]) -> dict[str, float]:
    """AUROC of each risk, for claims about something absent against true ones."""
    rows = [each.row.model_copy(update={"id": f"{i}", "unit": each.picture}) for i, each in enumerate((*absent, *true))]
    risks = _risks(MarginTable(tuple(rows), auditor.graph, source="captions"))
    event = np.arange(len(rows)) < len(absent)
    return {name: auroc(risks[name], event) for name in ("direct margin", "recap-img")}


def _share(claims: Sequence[_Claim]) -> dict[str, float]:
    """The share that is accepted, with its interval; pictures are resampled."""
    if not claims:
        return dict.fromkeys(("point", "low", "high"), float("nan"))
    accepted = np.array([each.accepted for each in claims])
    _, units = np.unique([each.picture for each in claims], return_inverse=True)
    drawn = resample_share(accepted, np.ones_like(accepted), units, draw_units(int(units.max()) + 1))
    return vars(interval(float(accepted.mean()), drawn))


def _existence_auroc(auditor: Auditor, some: Sequence[Caption]) -> float:
    """How well the question for a thing tells those that are there from those that are not."""
    readings = [auditor.read_text(caption.text, exists=True) for caption in some]
    here = {caption.picture: names_in(caption.picture) for caption in some}
    found = [
        (verdict.row.direct.image or 0.0, check.said.subject in here[caption.picture])
        for caption, reading, those in zip(some, readings, _verdicts(auditor, some, readings), strict=True)
        for check, verdict in zip(reading.checks, those, strict=True)
        if check.said.kind == "exists"
    ]
    return auroc(np.array([margin for margin, _ in found]), np.array([there for _, there in found]))
