"""Captions of drawn scenes with known truth, half of them with one false relation, audited as a user's texts are.

What is measured goes the whole way: a caption is written, its claims are read out of it, each is audited, and what
was read is compared with what the scene's geometry says. Units are pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recap.arrays import Bools, Floats
from recap.audit import AuditCase, Auditor, Verdict
from recap.errors import RecapError
from recap.policy import calibrate_table
from recap.policy.existence import Existence
from recap.risks import compute_risk
from recap.statistics import Interval, auroc, draw_units, interval, resample_auroc, resample_share
from recap.table import MarginTable, Row
from recap.texts import TextReading
from recap.world.benchmarks import Benchmark, benchmark
from recap.world.objects import things
from recap.world.scene import NOTHING
from recap.world.scheme import picture_name
from recap.world.truth import NO, YES, truth

DATASET = "vsr"
SEED = 29
CLAIMS = 3
"""in a caption, where the scene has as many"""
KEPT = 0.8
"""share of true claims that is to be kept"""
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
PHRASES = {
    "left_of": ("to the left of", "left of", "on the left side of"), "right_of": ("to the right of", "right of"),
    "above": ("above", "over"), "below": ("below", "under", "underneath"), "on": ("on",), "inside": ("inside", "in"),
    "in_front_of": ("in front of",), "behind": ("behind",),
}  # fmt: skip
FORMS = (
    "The {s} is {p} the {o}.",
    "There is {as} {p} the {o}.",
    "{P} the {o} there is {as}.",
    "{As} can be seen {p} {ao}.",
    "The picture shows {as} {p} {ao}.",
    "{As} is placed {p} the {o}.",
)

Said = tuple[str, str, str]


@dataclass(frozen=True)
class Caption:
    """A text about a picture, and what of it is true."""

    picture: str
    text: str
    labels: dict[Said, bool]
    """subject, relation, object → whether that is so"""


def captions(count: int = 1000, seed: int = SEED) -> list[Caption]:
    """As many captions, one to a picture as long as there are pictures; every second one has one false relation."""
    world, rng = benchmark(DATASET), np.random.default_rng(seed)
    facts = _facts(world)
    usable = [number for number in range(len(world.scenes)) if len(facts[number][True]) > 1 and facts[number][False]]
    if not usable or count < 4:
        raise RecapError("captions: at least 4 are needed")
    found: list[Caption] = []
    for place in range(count):
        number = usable[place % len(usable)]
        true, false = facts[number][True], facts[number][False]
        order = rng.permutation(len(true)).tolist()
        chosen: list[Said] = [true[int(i)] for i in order[:CLAIMS]]
        if place % 2:
            chosen[int(rng.integers(len(chosen)))] = false[int(rng.integers(len(false)))]
        text = " ".join(_sentence(said, rng) for said in chosen)
        labels = {said: said in true for said in chosen}
        found.append(Caption(picture_name(DATASET, number), text, labels))
    return found


def absent_claims(count: int = 500, seed: int = SEED) -> list[Caption]:
    """Captions about something that is not in the picture, beside something that is."""
    world, rng = benchmark(DATASET), np.random.default_rng((seed, 1))
    names, found = list(things()), list[Caption]()
    for place in range(count):
        number = place % len(world.scenes)
        here = _names(world, number)
        absent = [name for name in names if name not in here]
        said = (str(rng.choice(absent)), str(rng.choice(list(PHRASES))), str(rng.choice(here)))
        found.append(Caption(picture_name(DATASET, number), _sentence(said, rng), {said: False}))
    return found


def _names(world: Benchmark, number: int) -> list[str]:
    kinds = list(things())
    return [kinds[int(kind)] for kind in world.scenes.thing[number] if kind != NOTHING]


def _facts(world: Benchmark) -> list[dict[bool, list[Said]]]:
    """Per picture, what is clearly true and what is clearly false of two of its things."""
    scenes, names = world.scenes, list(things())
    facts: list[dict[bool, list[Said]]] = [{True: [], False: []} for _ in range(len(scenes))]
    places = scenes.thing.shape[1]
    for i in range(places):
        for j in range(places):
            if i == j:
                continue
            there = (scenes.thing[:, i] != NOTHING) & (scenes.thing[:, j] != NOTHING)
            for relation in PHRASES:
                known = truth(scenes, relation, i, j)
                for number in np.flatnonzero(there & ((known == YES) | (known == NO))):
                    pair = names[int(scenes.thing[number, i])], names[int(scenes.thing[number, j])]
                    if pair[0] != pair[1]:
                        facts[number][bool(known[number] == YES)].append((pair[0], relation, pair[1]))
    return facts


def _sentence(said: Said, rng: np.random.Generator) -> str:
    subject, relation, obj = said
    phrase = str(rng.choice(PHRASES[relation]))
    article = {name: ("an " if name[0] in "aeiou" else "a ") + name for name in (subject, obj)}
    parts = {"s": subject, "o": obj, "p": phrase, "P": phrase.capitalize(), "as": article[subject], "ao": article[obj]}
    text = str(rng.choice(FORMS))
    for name, value in (parts | {"As": article[subject].capitalize()}).items():
        text = text.replace(f"{{{name}}}", value)
    return text


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
    """claims about absent things: share accepted, without and with existence"""
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
        absent=_absent(auditor, written, max(80, count // 2)),
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
    """Existence is calibrated on the things of every second picture; the rest is judged with it, and without."""
    if auditor.policy is None:
        raise RecapError("captions are judged by a policy; give one")
    claims = absent_claims(count)
    judged = [caption for place, caption in enumerate(claims) if place % 2]
    margins, present = _existence_margins(auditor, [c for place, c in enumerate(claims) if not place % 2])
    existence = Existence.of(margins, present)
    sample = [caption for place, caption in enumerate(written) if not place % 2][: len(judged)]
    told: dict[str, Any] = {"claims": len(judged), "existence_auroc": auroc(margins, present), "lost": existence.lost}
    told["used"] = existence.tells
    for name, some in (("absent", judged), ("true", sample)):
        readings = [auditor.read_text(caption.text, exists=True) for caption in some]
        verdicts = _verdicts(auditor, some, readings)
        for how, rule in (("without", None), ("with", existence if existence.tells else None)):
            claims = [
                each
                for caption, reading, verdict in zip(some, readings, verdicts, strict=True)
                for each in reading.judged(verdict, rule).claims
                if each.claim.kind == "relation"
                and caption.labels.get((each.claim.subject, each.claim.relation, each.claim.object or ""), False)
                is (name == "true")
            ]
            told[f"{name}_accepted_{how}"] = _share([each.accepted is True for each in claims])
            if name == "absent":
                affirmed = [each.accepted is True for each in claims if (each.verdict.row.direct.image or 0.0) >= 0]
                told |= {"affirmed": len(affirmed), f"affirmed_accepted_{how}": _share(affirmed)}
    return told


def _share(events: Sequence[bool]) -> float:
    return float(np.mean(events)) if events else float("nan")


def _existence_margins(auditor: Auditor, some: Sequence[Caption]) -> tuple[Floats, Bools]:
    readings = [auditor.read_text(caption.text, exists=True) for caption in some]
    verdicts = _verdicts(auditor, some, readings)
    found = [
        (verdict.row.direct.image or 0.0, check.said.subject == next(iter(caption.labels))[2])
        for caption, reading, those in zip(some, readings, verdicts, strict=True)
        for check, verdict in zip(reading.checks, those, strict=True)
        if check.said.kind == "exists"
    ]
    return np.array([margin for margin, _ in found]), np.array([there for _, there in found])
