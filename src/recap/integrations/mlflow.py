# MLflow is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false, reportUnknownParameterType=false
"""MLflow: RECAP's verdict on an answer as a scorer's feedback."""

from __future__ import annotations

from typing import Any, cast

from mlflow.entities import Feedback
from mlflow.genai.scorers import Scorer, scorer

from recap.answers import RejectRule
from recap.chats import AuditFailedError, NotAuditableError, read_messages
from recap.errors import RecapError
from recap.integrations.auditing import SharedAuditor, shared_auditor

NAME = "recap_audit"


def recap_audit(
    model: str | None = None, policy: str | None = None, *, reject_when: str | float = "any", name: str = NAME
) -> Scorer:
    """A scorer for `mlflow.genai.evaluate`: its value is accepted, rejected, uncalibrated, no-verdict or skipped.

    `inputs` hold a picture and a question (`image`, `question`) or a chat in OpenAI's shape (`messages`); `outputs`
    the answer as text, or a chat completion. A model and policy are named as for `recap audit`.
    """
    rule, auditor = RejectRule.of(reject_when), shared_auditor(model, policy)

    @scorer(name=name)
    def audited(*, inputs: dict[str, Any], outputs: Any) -> Feedback:
        try:
            picture, question = _asked(inputs, auditor)
            told = auditor.audit(picture, question, _text(outputs), rule)
        except (NotAuditableError, AuditFailedError) as error:
            return Feedback(name=name, value="skipped", rationale=f"not audited: {error}")
        numbers = {"risk": told.risk, "threshold": told.threshold, "mode": told.mode, "answer": told.answer}
        metadata = {key: str(value) for key, value in numbers.items() if value is not None}
        return Feedback(name=name, value=told.word, rationale=told.reason, metadata=metadata)

    return audited


def _asked(inputs: dict[str, Any], auditor: SharedAuditor) -> tuple[str, str]:
    if "messages" in inputs:
        found = read_messages(inputs["messages"], auditor.auditor.graph)
        return found.picture, found.question
    try:
        return str(inputs["image"]), str(inputs["question"])
    except KeyError as error:
        raise RecapError(
            f"the scorer {NAME} needs inputs with image and question, or messages; {error} is missing"
        ) from None


def _text(outputs: Any) -> str:
    """The answer, whichever way a predict function gives it."""
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, dict):
        held = cast(dict[str, Any], outputs)
        if held.get("choices"):
            return str(held["choices"][0]["message"]["content"])
        for key in ("answer", "response", "content", "text"):
            if isinstance(held.get(key), str):
                return held[key]
    raise NotAuditableError("the output holds no text")
