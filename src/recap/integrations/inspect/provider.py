# Inspect is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportUntypedBaseClass=false
"""The model provider `recap`: any model that RECAP can ask, answering yes or no with its log-probabilities."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    TopLogprob,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from recap.chats import decoded
from recap.images import open_image
from recap.integrations.inspect.messages import picture_and_question
from recap.models import LikelihoodModel
from recap.models.contract import Request
from recap.models.load import load_model


class RecapModel(ModelAPI):
    """Answers yes where log p(yes) ≥ log p(no): `--model recap/world:aligned`, or a checkpoint by folder or name."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008
        **loading: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._model: LikelihoodModel = load_model(model_name, **loading)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """One answer; the two log-probabilities are those of yes and no alone."""
        picture, question = picture_and_question(input)
        margin = await asyncio.to_thread(self._margin, picture, question)
        yes, no = -math.log1p(math.exp(-margin)), -math.log1p(math.exp(margin))
        answer, best = ("yes", yes) if margin >= 0 else ("no", no)
        both = [TopLogprob(token="yes", logprob=yes), TopLogprob(token="no", logprob=no)]
        told = Logprobs(content=[Logprob(token=answer, logprob=best, top_logprobs=both)])
        said = ChatMessageAssistant(content=answer, source="generate")
        choice = ChatCompletionChoice(message=said, stop_reason="stop", logprobs=told)
        return ModelOutput(model=self.model_name, choices=[choice])

    def _margin(self, picture: str, question: str) -> float:
        image = open_image(decoded(picture) if picture[:5].lower() == "data:" else picture)
        return self._model.margins([Request(image, (question,))])[0][0]


@modelapi(name="recap")
def recap_provider() -> type[ModelAPI]:
    """The provider, found by name."""
    return RecapModel
