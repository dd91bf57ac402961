# LiteLLM is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportMissingTypeArgument=false
"""LiteLLM: a guardrail in the proxy's own process. `recap serve` offers the same to a proxy elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from litellm._logging import verbose_proxy_logger
from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from recap.answers import NOT_MADE, REJECT_TEXT, RejectRule
from recap.chats import NotAuditableError, decoded, read_messages
from recap.errors import RecapError, one_of
from recap.integrations.auditing import shared_auditor
from recap.integrations.telemetry import emit_verdict

NAME = "recap"
ON_REJECT = ("block", "replace")
ON_FAILURE = ("reject", "pass")


class RecapGuardrail(CustomGuardrail):
    """Audits answers after the call: a rejected one is blocked with its reason, or replaced.

    In the proxy's configuration: `guardrail: recap.integrations.litellm.RecapGuardrail`, `mode: post_call`, and the
    options below beside them. An answer that is one to audit, and whose audit cannot be made, is treated as a rejected
    one (`on_failure: reject`), as LiteLLM's own guardrails do; `on_failure: pass` lets it through, and the log says so.
    """

    def __init__(
        self,
        model: str | None = None,
        policy: str | None = None,
        on_reject: str = "block",
        reject_text: str = REJECT_TEXT,
        reject_when: str | float = "any",
        on_failure: str = "reject",
        **options: Any,
    ) -> None:
        one_of(str(on_reject), ON_REJECT, "what can be done with a rejected answer")
        one_of(str(on_failure), ON_FAILURE, "what can be done with an answer whose audit cannot be made")
        if not isinstance(reject_text, str) or not reject_text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RecapError("reject_text is empty, and an answer cannot be replaced by nothing")
        self.rule = RejectRule.of(reject_when)
        self.shared = shared_auditor(model, policy)
        self.on_reject, self.reject_text, self.on_failure = on_reject, reject_text, on_failure
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
        for text in inputs.get("texts") or []:
            reason, judged = await self._rejected(messages, text, getattr(logging_obj, "litellm_call_id", None))
            if reason is not None and self.on_reject == "block":
                raise GuardrailRaisedException(
                    guardrail_name=self.guardrail_name,
                    message=reason,
                    should_wrap_with_default_message=False,
                    blocked_content=judged,
                )
            kept.append(text if reason is None else self.reject_text)
        return {**inputs, "texts": kept}

    async def _rejected(self, messages: Any, text: str, call: str | None) -> tuple[str | None, bool]:
        """Why an answer is rejected, None where it is not or is none to audit; and whether a verdict says so."""
        why = NOT_MADE
        try:
            asked = await asyncio.to_thread(lambda: read_messages(messages, self.shared.auditor.graph))
            try:
                picture = decoded(asked.picture)
            except RecapError as error:
                why = str(error)
                raise
            told = await asyncio.to_thread(self.shared.audit, picture, asked.question, text, self.rule)
        except NotAuditableError:
            return None, False
        except Exception as error:  # whatever it is, the proxy knows one kind of failure of a guardrail
            verbose_proxy_logger.error("%s: an answer was not audited: %s", self.guardrail_name, error)
            if self.on_failure == "pass":
                return None, False
            reason = f"not audited, so rejected: {why}"
            emit_verdict("rejected", None, reason, answered=call)
            return reason, False
        emit_verdict(told.word, told.risk, told.reason, answered=call)
        return (told.reason if told.accepted is False else None), True
