# LiteLLM is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportMissingTypeArgument=false
"""LiteLLM: a guardrail in the proxy's own process. `recap serve` offers the same to a proxy elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from recap.chats import NotAuditableError, decoded, read_messages
from recap.errors import one_of
from recap.integrations.auditing import shared_auditor
from recap.integrations.telemetry import emit_verdict

NAME = "recap"
REJECT_TEXT = "I cannot tell this from the picture with enough certainty."
ON_REJECT = ("block", "replace")


class RecapGuardrail(CustomGuardrail):
    """Audits answers after the call: a rejected one is blocked with its reason, or replaced.

    In the proxy's configuration: `guardrail: recap.integrations.litellm.RecapGuardrail`, `mode: post_call`, and the
    options below beside them.
    """

    def __init__(
        self,
        model: str | None = None,
        policy: str | None = None,
        on_reject: str = "block",
        reject_text: str = REJECT_TEXT,
        reject_when: str = "any",
        **options: Any,
    ) -> None:
        one_of(on_reject, ON_REJECT, "what can be done with a rejected answer")
        self.shared = shared_auditor(model, policy)
        self.on_reject, self.reject_text, self.reject_when = on_reject, reject_text, reject_when
        options.setdefault("guardrail_name", NAME)
        options.setdefault("supported_event_hooks", [GuardrailEventHooks.post_call])
        super().__init__(**options)

    async def apply_guardrail(
        self,
        inputs: Any,
        request_data: dict[str, Any],
        input_type: Literal["request", "response"],
        logging_obj: Any = None,
    ) -> Any:
        """The answers of a call, audited beside the question that the call asked."""
        if input_type != "response":
            return inputs
        messages = inputs.get("structured_messages") or request_data.get("messages")
        kept: list[str] = []
        for text in inputs.get("texts", []):
            reason = await self._rejected(messages, text, getattr(logging_obj, "litellm_call_id", None))
            if reason is not None and self.on_reject == "block":
                raise GuardrailRaisedException(
                    guardrail_name=self.guardrail_name, message=reason, should_wrap_with_default_message=False
                )
            kept.append(text if reason is None else self.reject_text)
        return {**inputs, "texts": kept}

    async def _rejected(self, messages: Any, text: str, call: str | None) -> str | None:
        """Why an answer is rejected; None where it is not, or is none to audit."""
        try:
            asked = read_messages(messages, self.shared.auditor.graph)
            picture = decoded(asked.picture)
            told = await asyncio.to_thread(self.shared.audit, picture, asked.question, text, self.reject_when)
        except NotAuditableError:
            return None
        emit_verdict(told.word, told.risk, told.reason, answered=call)
        return told.reason if told.accepted is False else None
