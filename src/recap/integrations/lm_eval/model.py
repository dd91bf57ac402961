# The harness is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false, reportUntypedClassDecorator=false, reportMissingTypeStubs=false
"""`recap-hf-multimodal`: log-likelihoods of answers to questions about pictures, through RECAP's local models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from recap.errors import RecapError
from recap.integrations.loading import load_local
from recap.models.contract import Request

PLACEHOLDER = "<image>"
"""where tasks say that the picture stands; the chat template of the model puts it where it belongs"""


@register_model("recap-hf-multimodal")
class RecapMultimodalLM(LM):
    """Any checkpoint that `recap` loads, asked as released: one picture, the question, the chat template."""

    MULTIMODAL = True

    def __init__(self, pretrained: str, batch_size: int | str | None = None, **options: Any) -> None:  # noqa: ARG002
        super().__init__()
        self.model = load_local(pretrained, options)

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:  # noqa: ARG002
        """log p of each continuation, and whether it is the greedy one. Questions about one picture share a forward."""
        by_picture: dict[int, list[int]] = {}
        for i, request in enumerate(requests):
            by_picture.setdefault(id(_picture(request)), []).append(i)
        found: dict[int, tuple[float, bool]] = {}
        for places in by_picture.values():
            continuations: dict[str, dict[str, list[int]]] = {}
            for i in places:
                question, text = _question(requests[i].args[0]), str(requests[i].args[1])
                continuations.setdefault(question, {}).setdefault(text, []).append(i)
            asked = Request(_picture(requests[places[0]]), tuple(continuations))
            scored = self.model.likelihoods(asked, [tuple(some) for some in continuations.values()])
            for some, told in zip(continuations.values(), scored, strict=True):
                for askers, likelihood in zip(some.values(), told, strict=True):
                    found |= dict.fromkeys(askers, likelihood)
        return [found[i] for i in range(len(requests))]

    def apply_chat_template(self, chat_history: Sequence[dict[str, Any]], add_generation_prompt: bool = True) -> str:  # noqa: ARG002
        """The user's words alone: the model's own template is put around them when they are asked."""
        said = [message for message in chat_history if message["role"] == "user"]
        if len(said) != 1 or len(chat_history) != 1:
            raise RecapError("recap-hf-multimodal asks one question about one picture: no examples, no system prompt")
        return str(said[0]["content"])

    @property
    def tokenizer_name(self) -> str:
        """For the harness's cache of requests."""
        return str(self.model.identity)

    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002
        """For the harness's record of the run."""
        return self.model.identity.template

    def loglikelihood_rolling(self, requests: list[Instance]) -> NoReturn:
        """There is no perplexity of an answer."""
        raise NotImplementedError("recap-hf-multimodal scores answers; it tells no perplexity of texts")

    def generate_until(self, requests: list[Instance]) -> NoReturn:
        """The harness has a model for that."""
        raise NotImplementedError("recap-hf-multimodal scores answers; to generate them, use hf-multimodal")


def _question(context: str) -> str:
    return context.replace(PLACEHOLDER, " ").strip()


def _picture(request: Instance) -> Any:
    """The one picture of a request; None where it has none."""
    given = request.args[2].get("visual") if len(request.args) > 2 else None
    shown: list[Any] = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
    if len(shown) > 1:
        raise RecapError(f"recap-hf-multimodal asks about one picture, and a request holds {len(shown)}")
    return shown[0] if shown else None
