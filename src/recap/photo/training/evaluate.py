# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""How well a model in training answers: questions from the boxes of held-out photographs, and people's statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from recap.models.llava import NO, YES
from recap.photo.things import number_of
from recap.photo.training.annotations import PersonStatement
from recap.photo.training.augment import show
from recap.photo.training.learner import SHORT, Learner
from recap.photo.training.questions import Asked, QuestionSampler, ThingTable, Wording, join, thing_table
from recap.photo.training.vocabulary import templates, topics, vocabulary

Tensor = torch.Tensor
BATCH = 128


@dataclass(frozen=True)
class Examination:
    """Questions about photographs: `asked` has a row per picture; `family` says what each question measures."""

    rows: Tensor
    asked: Asked
    family: np.ndarray
    """(n, questions) names"""


def box_questions(sampler: QuestionSampler, table: ThingTable) -> tuple[Asked, list[str]]:
    """SHORT.questions questions per picture, and the family of each column: rules only, plainly worded."""
    share = torch.zeros(len(sampler.names), device=sampler.device)
    parts: list[tuple[str, Asked]] = [("existence", sampler.existence(table, 4)), ("halves", sampler.halves(table, 4))]
    for family, pair in (("left/right", ("left_of", "right_of")), ("above/below", ("above", "below"))):
        chosen = share.clone()
        chosen[[sampler.names.index(name) for name in pair]] = 1
        drawn = sampler.relations(table, 4, chosen, tries=1, absent=0.0)
        parts.append((family, replace(drawn, valid=drawn.valid & ((drawn.yes == 0) | (drawn.yes == 1)))))
    chosen = share.clone()
    chosen[[sampler.names.index(name) for name in ("left_of", "right_of", "above", "below")]] = 1
    drawn = sampler.relations(table, 2, chosen, tries=1, absent=1.0)
    parts.append(("absent thing", drawn))
    families = [family for family, part in parts for _ in range(part.topic.shape[1])]
    return join([part for _, part in parts]), families


def family_of(families: list[str], asked: Asked) -> np.ndarray:
    """(n, questions): what each question measures. Halves across and along the picture are told apart."""
    found = np.tile(np.array(families, dtype=object), (len(asked.topic), 1))
    upright = np.isin(asked.topic.cpu().numpy(), [topics().index(name) for name in ("top_half", "bottom_half")])
    halves = found == "halves"
    found[halves & upright], found[halves & ~upright] = "top/bottom half", "left/right half"
    return found


def examine_boxes(sampler: QuestionSampler, rows: Tensor, kind: Tensor, corners: Tensor) -> Examination:
    """Held-out photographs, whole."""
    table = thing_table(kind, corners, torch.ones_like(corners[..., 0]), sampler.clarity)
    asked, families = box_questions(sampler, table)
    return Examination(rows, asked, family_of(families, asked))


def examine_statements(statements: list[PersonStatement], row_of: dict[int, int], device: torch.device) -> Examination:
    """People's statements about the photographs that there are, in the package's wording."""
    known, place = number_of(), {name: at for at, name in enumerate(topics())}
    by_row: dict[int, list[PersonStatement]] = {}
    for said in statements:
        if said.image in row_of and said.subject in known and said.object in known and said.relation in place:
            by_row.setdefault(row_of[said.image], []).append(said)
    chunks = [
        (row, said[i : i + SHORT.questions])
        for row, said in by_row.items()
        for i in range(0, len(said), SHORT.questions)
    ]
    shape = (len(chunks), SHORT.questions)
    numbers = np.zeros((4, *shape), np.int64)
    valid = np.zeros(shape, bool)
    family = np.full(shape, "outside the graph", dtype=object)
    for at, (_, said) in enumerate(chunks):
        for column, each in enumerate(said):
            numbers[:, at, column] = place[each.relation], known[each.subject], known[each.object], each.label
            valid[at, column] = True
            family[at, column] = each.family if each.covered else "outside the graph"
    topic, subject, obj, yes = (torch.from_numpy(each).to(device) for each in numbers)
    asked = Asked(topic, subject, obj, yes.float(), torch.from_numpy(valid).to(device))
    return Examination(torch.tensor([row for row, _ in chunks], device=device), asked, family)


@torch.no_grad()
def margins(learner: Learner, pixels: Callable[[Tensor], Tensor], exam: Examination, blind: bool = False) -> Tensor:
    """log p(yes) − log p(no) of every question, (n, questions)."""
    device = exam.rows.device
    words = vocabulary()
    wording = Wording(templates({"plain": 1.0}, SHORT.width - 1), device, others=0.0)
    generator = torch.Generator(device).manual_seed(0)
    found: list[Tensor] = []
    for start in range(0, len(exam.rows), BATCH):
        at = slice(start, start + BATCH)
        rows = exam.rows[at]
        asked = Asked(*(getattr(exam.asked, name)[at] for name in Asked.__dataclass_fields__))
        worded = wording.words(asked, generator)
        ids = torch.nn.functional.pad(worded.ids, (0, 1))
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            seen = show(pixels(rows), None)
            answer = torch.full_like(worded.length, words[YES])
            scores = learner(seen, ids, worded.length, answer, SHORT, len(rows) if blind else 0).answer
        found.append(scores[..., words[YES]] - scores[..., words[NO]])
    return torch.cat(found) if found else torch.zeros(exam.asked.topic.shape, device=device)


def by_family(exam: Examination, margin: Tensor) -> dict[str, dict[str, Any]]:
    """Accuracy, its parts on true and on false statements, and the count, for each family."""
    valid, truth, said = (x.cpu().numpy() for x in (exam.asked.valid, exam.asked.yes > 0.5, margin >= 0))
    result: dict[str, dict[str, Any]] = {}
    covered = valid & (exam.family != "outside the graph")
    groups = {str(name): valid & (exam.family == name) for name in dict.fromkeys(exam.family[valid])}
    for name, rows in {**groups, "inside the graph": covered, "all": valid}.items():
        if rows.any():
            right = said == truth
            result[name] = {
                "accuracy": float(right[rows].mean()), "n": int(rows.sum()),
                "true": float(right[rows & truth].mean()) if (rows & truth).any() else None,
                "false": float(right[rows & ~truth].mean()) if (rows & ~truth).any() else None,
            }  # fmt: skip
    return result
