# Inspect is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedFunctionDecorator=false
"""The scorer `recap/audit`: right or wrong where the answer is accepted, no score where it is not."""

from __future__ import annotations

import asyncio
from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from recap.answers import AnswerVerdict, RejectRule
from recap.claims.answers import truth_word
from recap.errors import RecapError
from recap.integrations.auditing import shared_auditor
from recap.integrations.inspect.messages import picture_and_question


@scorer(metrics=[accuracy(), stderr()])
def audit(model: str | None = None, policy: str | None = None, reject_when: str | float = "any") -> Scorer:
    """Scores the answers that RECAP accepts against their targets, and abstains from those that it rejects.

    Accuracy is then that of the accepted answers; Inspect counts the others as unscored. A model or policy is named
    as for `recap audit`. An answer whose audit has no verdict is not scored either, and its explanation says why.
    """
    rule, auditor = RejectRule.of(reject_when), shared_auditor(model, policy)

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        try:
            picture, question = picture_and_question(state.messages)
            told = await asyncio.to_thread(auditor.audit, picture, question, text, rule)
        except RecapError as error:  # what is not to be audited, and a picture that cannot be read
            return Score.unscored(answer=text, explanation=f"not audited: {error}", metadata={"recap": "skipped"})
        if not told.accepted:
            return Score.unscored(answer=told.answer or text, explanation=told.reason, metadata=_metadata(told))
        right = _agrees(told.answer or text, target)
        return Score(
            value=CORRECT if right else INCORRECT,
            answer=told.answer or text,
            explanation=told.reason,
            metadata=_metadata(told),
        )

    return score


def _agrees(answer: str, target: Target) -> bool:
    """Whether an answer is one of the targets, which are written as people write them: "True", "Yes.", "1"."""
    said = truth_word(answer)
    if said is not None:
        return any(truth_word(each) == said for each in target)
    return answer.strip().lower() in [each.strip().lower() for each in target]


def _metadata(told: AnswerVerdict) -> dict[str, Any]:
    return {
        "recap": told.word,
        "accepted": told.accepted,
        "risk": told.risk,
        "threshold": told.threshold,
        "mode": told.mode,
    }
