"""The auditor: a picture and a question in, a verdict with its trail out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image

from recap.claims import Claim, Graph, Statement, default_graph, load_graph
from recap.claims.plausible import impossible
from recap.claims.text import CLAIM_SOURCES, extract, listed_claims
from recap.errors import RecapError, one_of
from recap.images import image_size, open_image
from recap.models import LikelihoodModel
from recap.models.contract import Writer, crop_note, most_noise_of, noise_of, shape_note
from recap.models.domain import Domain, PictureCheck
from recap.models.load import bundled_domain, default_policy, load_model
from recap.policy import Policy, asks_for_things, check_policy, load_policy
from recap.policy.closeness import sampling_errors, too_close
from recap.policy.modes import probes_of
from recap.probing import Item, plan_job, rows_of, run_job
from recap.probing.run import margin_of
from recap.store import Store
from recap.texts import LONGEST_TEXT, Check, TextReading, TextVerdict
from recap.verdict import ProbeResult, Verdict, judged_rows, probe_results, replay, verdict_on, without_verdict

Picture = str | Path | bytes | Image.Image


@dataclass(frozen=True)
class AuditCase:
    """One answer to audit: the question is parsed, the answer checked, the picture as it was given."""

    image: Picture
    question: str
    claim: Claim
    answer: str | None
    """None for the model's own"""
    name: str | None = None
    """what the margin table calls the picture; pictures of one name share their forward"""
    strangeness: Mapping[str, float] = field(default_factory=dict[str, float])
    """how far the picture is from those that a model was made for, by the model's name, as far as that was measured
    before (`Auditor.strangeness_of`); above 1: foreign"""

    @classmethod
    def of(
        cls, image: Picture, question: str, answer: str | None, graph: Graph, claim: Claim | None = None, name: str = ""
    ) -> AuditCase:
        """A question asks for the model's own answer, unless one is given; a statement says "yes" itself.

        `claim` is what the question asks, where it has been parsed before.
        """
        if answer not in (None, "yes", "no"):
            raise RecapError(f'the answer to audit is "{answer}", but must be "yes" or "no"')
        claim = claim or graph.parse(question)
        if answer is None and not claim.statement.is_question and "?" not in question:
            answer = "yes"
        return cls(image, question, claim, answer, name or (str(image) if isinstance(image, str | Path) else None))

    def opened(self) -> AuditCase:
        """The same case with its picture in memory; one that cannot be opened is refused."""
        return replace(self, image=_open(self.image))


class Auditor:
    """A model, a relation graph and, if there is one, a calibrated policy."""

    def __init__(
        self,
        model: LikelihoodModel,
        policy: Policy | None = None,
        graph: Graph | None = None,
        store: Store | None = None,
        *,
        any_model: bool = False,
        domain: Domain | None = None,
    ) -> None:
        """`any_model` lets a policy speak for another model than the one it was calibrated on.

        Outside a `domain` there is no verdict; without one every picture and every thing is taken.
        """
        self.model, self.policy, self.any_model, self.domain = model, policy, any_model, domain
        self.graph = graph or default_graph()
        self.store = store or Store(":memory:")
        if policy is not None:
            check_policy(policy, self.graph, str(model.identity), "the audit", any_model=any_model)

    @classmethod
    def load(
        cls,
        model: str,
        policy: str | Path | Policy | None = None,
        *,
        graph: str | Path | None = None,
        store: str | Path | None = None,
        any_model: bool = False,
        any_picture: bool = False,
        **options: Any,
    ) -> Auditor:
        """A checkpoint by name or folder, one in the box (`world:aligned`), or one that is served (`http://…`).

        A bundled model brings a policy of its own, which is used if none is given and the graph is the paper's, and
        a domain: about pictures and things that it was not made for there is no verdict, unless `any_picture` is set.
        `options` go to `LocalModel.load` (dtype, device, …) or `RemoteModel.load` (concurrency, patience, …).
        """
        if policy is None:
            policy = default_policy(model, graph)
        frozen = policy if isinstance(policy, Policy) or policy is None else load_policy(policy)
        kept = Store(store) if store else None
        domain = None if any_picture else bundled_domain(model)
        return cls(load_model(model, **options), frozen, load_graph(graph), kept, any_model=any_model, domain=domain)

    @property
    def probes(self) -> str:
        """The probe set that is asked: as much as the policy's mode needs."""
        return "img" if self.policy is None else probes_of(self.policy.mode)

    def using(self, store: Store) -> Auditor:
        """The same auditor with another store."""
        other = copy(self)
        other.store = store
        return other

    def audit(self, image: Picture, question: str, answer: str | None = None) -> Verdict:
        """One verdict on the answer that is given; without one, on the model's own, or on a statement as it is said."""
        return self.audit_many([(image, question, answer)])[0]

    def audit_many(
        self, cases: Sequence[AuditCase | tuple[Picture, str] | tuple[Picture, str, str | None]]
    ) -> list[Verdict]:
        """Many verdicts; questions about the same picture share its forward."""
        prepared = [
            case if isinstance(case, AuditCase) else AuditCase.of(*case[:2], (*case[2:], None)[0], self.graph)
            for case in cases
        ]
        pictures: dict[str, Picture] = {}
        unnamed: dict[int, str] = {}
        items: list[Item] = []
        for case in prepared:
            name = case.name or unnamed.setdefault(id(case.image), f"picture {len(unnamed) + 1}")
            pictures[name] = case.image
            own = _asked(case.question) if case.claim.statement.is_question else None
            items.append(Item(str(len(items)), "", name, name, case.claim.statement, None, own, case.answer))

        def size(name: str | None, questions: int) -> int:
            return self.model.size(None if name is None else _size(pictures[name]), questions)

        job = plan_job(items, self.probes, size, self.model.tokens, self.graph, padded=self.model.padded)
        speaker = self.model.identity.name  # once: telling it takes a look at the whole model
        measured = {case.name or "": case.strangeness[speaker] for case in prepared if speaker in case.strangeness}
        check = PictureCheck(self.domain, self.model, measured)
        ran = run_job(job, self.model, self.store, lambda name: check.noted(name, _open(pictures[name])))
        for why in ran.failed.values():
            raise RecapError(why)
        rows = rows_of(job, ran, str(self.model.identity), self.graph)
        trails = [
            (
                case.question,
                probe_results(plan, lambda role, image=image: margin_of(ran.margins, image, role.probe)),
                row,
            )
            for case, image, plan, row in zip(prepared, job.images, job.plans, rows, strict=True)
        ]
        check.finish(pictures, lambda name: _open(pictures[name]))
        verdicts = judged_rows(trails, self.policy, self.graph, checked=True)
        sizes = {image: _size(pictures[image]) for image in dict.fromkeys(job.images)}
        shown = {image: (crop_note(self.model.kept(size)), shape_note(size)) for image, size in sizes.items()}
        noted = [
            replace(verdict, notes=tuple(filter(None, shown[image]))) if any(shown[image]) else verdict
            for verdict, image in zip(verdicts, job.images, strict=True)
        ]
        return [
            self._within(verdict, speaker, item.statement, check.strangeness.get(item.image or "", 0.0))
            for verdict, item in zip(self._weighed(noted), items, strict=True)
        ]

    def strangeness_of(self, picture: Image.Image) -> dict[str, float]:
        """How strange a picture is to each model that may speak about it, for `AuditCase`; empty without a domain."""
        check = PictureCheck(self.domain, self.model)
        check.finish([""], lambda _: _open(picture))
        return {} if self.domain is None else {self.model.identity.name: check.strangeness[""]}

    def _weighed(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """The verdicts, with a note where rounding, or sampling, could have turned them; none is changed."""
        policy, rows, samples = self.policy, [verdict.row for verdict in verdicts], self.model.identity.samples
        if policy is None or not rows:
            return list(verdicts)
        if samples:
            errors = sampling_errors(policy, rows, self.graph, samples)
            noted = zip(verdicts, errors, strict=True)
            return [replace(each, notes=(*each.notes, error.note), sampling=error) for each, error in noted]
        # Measuring the noise takes many forwards, and most verdicts would stand under any that there can be.
        most = most_noise_of(self.model)
        if math.isfinite(most) and not too_close(policy, rows, self.graph, most).any():
            return list(verdicts)
        width = noise_of(self.model)
        close = too_close(policy, rows, self.graph, width)
        note = f"too close: margins that differ by {width:.2g}, as between engines and batches, can turn this verdict"
        return [
            replace(each, notes=(*each.notes, note), too_close=True) if near else each
            for each, near in zip(verdicts, close, strict=True)
        ]

    def _within(self, verdict: Verdict, name: str, statement: Statement, strangeness: float) -> Verdict:
        """The verdict as it stands inside the domain of the model of this name; outside it, its evidence alone."""
        domain = self.domain
        told = replace(verdict, model=name)
        why = None if domain is None else domain.objection(name, statement, strangeness)
        if domain is None or why is None:
            return told
        notes = (*verdict.notes, *domain.notes(name, statement, strangeness))
        return replace(without_verdict(told, why, self.graph), notes=notes)

    def audit_text(
        self, image: Picture, text: str, *, exists: bool | None = None, claims: str = "rules"
    ) -> TextVerdict:
        """Every spatial claim of a caption or answer, audited as it is said, all in the picture's one forward.

        `exists` also asks whether the things are there: a relation about a thing that is not is rejected for that.
        Left open, that is done where the policy was calibrated on it. `claims` is who finds the claims: rules, a served
        model, or both.
        """
        reading = self.read_text(text, exists=exists, claims=claims)
        name = str(image) if isinstance(image, str | Path) else None
        cases = [AuditCase(image, each.question, each.claim, each.said.answer, name) for each in reading.checks]
        return self.judge_text(reading, self.audit_many(cases) if cases else [])

    def read_text(self, text: str, *, exists: bool | None = None, claims: str = "rules") -> TextReading:
        """The claims of a text, ready to be audited."""
        one_of(claims, CLAIM_SOURCES, "a way to find claims")
        if len(text.strip()) > LONGEST_TEXT:
            raise RecapError(f"the text has {len(text):,} characters; at most {LONGEST_TEXT:,} are audited")
        ask = exists is True or (exists is None and self.asks_for_things)
        if claims == "rules":
            found = extract(text, self.graph, exists=ask)
        else:
            found = listed_claims(text, self.graph, self.writer.complete, source=claims, exists=ask)
        return TextReading.of(found, self.graph, exists=exists)

    @property
    def writer(self) -> Writer:
        """The model as one that writes; an error if it only answers yes or no."""
        if not isinstance(self.model, Writer):
            raise RecapError(
                f"{self.model.identity.name} cannot list claims: only served models write (--model "
                "http://host:port/v1); without --claims the rules find them"
            )
        return self.model

    @property
    def asks_for_things(self) -> bool:
        """Whether the policy can use the question whether a thing is there."""
        return self.policy is not None and asks_for_things(self.policy)

    def judge_text(self, reading: TextReading, verdicts: Sequence[Verdict]) -> TextVerdict:
        """What follows for a text from the verdicts on its checks."""
        told = [self._without_nonsense(each, verdict) for each, verdict in zip(reading.checks, verdicts, strict=True)]
        frozen = self.policy
        return reading.judged(told, *((None, None) if frozen is None else (frozen.existence, frozen.presupposition)))

    def _without_nonsense(self, check: Check, verdict: Verdict) -> Verdict:
        """The verdict where contradictions that cannot be ("Does the bird contain the tree?") count as neutral."""
        names = impossible(check.claim)
        if not names or verdict.accepted is None:
            return verdict
        image = dict(verdict.row.margins.get("image") or {}) | dict.fromkeys(names, 0.0)
        row = verdict.row.model_copy(update={"margins": dict(verdict.row.margins) | {"image": image}})
        kept = tuple(each for each in verdict.probes if each.relation not in names)
        # What is promised, corrected or undecided rests on evidence as it was calibrated, with every contradiction.
        plain = None if self.policy is None else replace(self.policy, repair=None, undecided=None)
        [made] = judged_rows([(verdict.question, kept, row)], plain, self.graph, checked=True)
        return replace(made, model=verdict.model, notes=verdict.notes, promise=None)


def _asked(question: str) -> str:
    """The question as the model gets it: with a question mark, which a small model's margin depends on."""
    words = " ".join(question.split())
    return words if "?" in words or "？" in words else words.rstrip(" .!") + "?"


def _open(picture: Picture) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture if picture.mode == "RGB" else picture.convert("RGB")
    return open_image(picture)


def _size(picture: Picture) -> tuple[int, int]:
    return picture.size if isinstance(picture, Image.Image) else image_size(picture)


__all__ = ["AuditCase", "Auditor", "Picture", "ProbeResult", "Verdict", "replay", "verdict_on"]
