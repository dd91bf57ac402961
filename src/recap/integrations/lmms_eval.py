# lmms-eval is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
"""lmms-eval: the model `recap`, which answers yes or no and abstains where its audit rejects the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from lmms_eval.models.registry_v2 import ModelManifest
from lmms_eval.protocol import ChatMessages

from recap.audit import Auditor
from recap.chats import NotAuditableError
from recap.errors import RecapError
from recap.images import open_image
from recap.integrations.loading import load_local
from recap.models.contract import Request
from recap.models.load import bundled_domain, default_policy
from recap.policy import load_policy
from recap.store import Store

ABSTENTION = "I cannot tell this from the picture with enough certainty."
TOGETHER = 64
"""questions that are audited at once"""


class _Recap(lmms):
    """A checkpoint, its policy, and what is said in place of a rejected answer."""

    def __init__(
        self,
        pretrained: str,
        policy: str | None = None,
        abstention: str = ABSTENTION,
        batch_size: int | str | None = None,  # noqa: ARG002
        **options: Any,
    ) -> None:
        """`policy` is a file; a bundled model brings its own. Without one nothing is rejected."""
        super().__init__()
        self.model, self.abstention = load_local(pretrained, options), abstention
        found = policy or default_policy(pretrained, None)
        frozen = None if found is None else load_policy(found)
        self.auditor = Auditor(self.model, frozen, domain=bundled_domain(pretrained))

    def answered(self, asked: Sequence[tuple[Any, str]]) -> list[str]:
        """The model's answers to questions about pictures: audited where they are spatial, as they are elsewhere."""
        said: list[str] = []
        for start in range(0, len(asked), TOGETHER):
            said += self._answered(asked[start : start + TOGETHER])
        return said

    def _answered(self, asked: Sequence[tuple[Any, str]]) -> list[str]:
        spatial = [i for i, (_, question) in enumerate(asked) if self._is_spatial(question)]
        with Store(":memory:") as store:
            verdicts = self.auditor.using(store).audit_many([asked[i] for i in spatial]) if spatial else []
        told = dict(zip(spatial, verdicts, strict=True))
        return [
            self._plain(*each)
            if i not in told
            else self.abstention
            if told[i].accepted is False or told[i].no_verdict is not None
            else told[i].answer
            for i, each in enumerate(asked)
        ]

    def _is_spatial(self, question: str) -> bool:
        try:
            return self.auditor.graph.parse(question).statement.is_question
        except RecapError:
            return False

    def _plain(self, picture: Any, question: str) -> str:
        return "yes" if self.model.margins([Request(picture, (question,))])[0][0] >= 0 else "no"

    def _document(self, task: str, split: str, number: int) -> Any:
        return self.task_dict[task][split][number]

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        """It has one answer to one question."""
        raise NotImplementedError("recap answers one question about one picture")


class RecapChat(_Recap):
    """For tasks that give messages."""

    is_simple = False

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """One answer each; nothing is generated beyond a yes, a no, or the abstention."""
        asked: list[tuple[Any, str]] = []
        for request in requests:
            _, messages_of, _, number, task, split = request.args
            asked.append(_picture_and_question(messages_of(self._document(task, split, number))))
        return self.answered(asked)

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        """lmms-eval asks chat models for texts alone."""
        raise NotImplementedError("log-likelihoods are asked of the simple model: --force_simple")


class RecapSimple(_Recap):
    """For tasks that give a text and pictures; the one that lmms-eval asks for log-likelihoods."""

    is_simple = True

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """One answer each."""
        asked: list[tuple[Any, str]] = []
        for request in requests:
            context, _, visuals_of, number, task, split = request.args
            asked.append((_one(visuals_of(self._document(task, split, number))), context))
        return self.answered(asked)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """log p of each continuation, and whether it is the greedy one."""
        found: list[tuple[float, bool]] = []
        for request in requests:
            context, continuation, visuals_of, number, task, split = request.args
            document = self._document(task, split, number)
            text = continuation(document) if isinstance(continuation, Callable) else continuation
            shown = Request(_one(visuals_of(document)), (context.strip(),))
            found.append(self.model.likelihoods(shown, [(str(text),)])[0][0])
        return found


def _picture_and_question(messages: Any) -> tuple[Any, str]:
    chat = ChatMessages(messages=messages)
    pictures, videos, sounds = chat.extract_media()
    if videos or sounds:
        raise NotAuditableError("recap is shown pictures, neither videos nor sounds")
    words = [part.text for part in chat.messages[-1].content if part.type == "text"]
    return _one(pictures), " ".join(words)


def _one(pictures: Sequence[Any] | None) -> Any:
    if pictures is None or len(pictures) != 1:
        raise NotAuditableError(f"recap asks about one picture, and a document holds {len(pictures or ())}")
    [picture] = pictures
    return open_image(picture) if isinstance(picture, str) else picture.convert("RGB")


manifest = ModelManifest(
    model_id="recap",
    simple_class_path=f"{__name__}.RecapSimple",
    chat_class_path=f"{__name__}.RecapChat",
    aliases=("recap-hf-multimodal",),
)
"""what lmms-eval finds through the entry point"""
