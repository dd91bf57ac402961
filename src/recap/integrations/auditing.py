"""The auditor behind a plugin: loaded when it is first needed, once for all that name the same model and policy."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock

from recap.answers import AnswerVerdict, RejectRule, audit_answer
from recap.audit import Auditor, Picture
from recap.chats import decoded
from recap.routing import BundledAuditor
from recap.store import Store


class SharedAuditor:
    """One auditor for many callers, who may come from several threads at once."""

    def __init__(self, model: str | None = None, policy: str | Path | None = None) -> None:
        """As for `recap audit`: a checkpoint, a bundled model, an address; without a name the models in the box."""
        self._model, self._policy = model, policy
        self._loaded: Auditor | None = None
        self._loading = Lock()

    @property
    def auditor(self) -> Auditor:
        with self._loading:
            if self._loaded is None:
                self._loaded = (
                    BundledAuditor.load_default(self._policy)
                    if self._model is None
                    else Auditor.load(self._model, self._policy)
                )
            return self._loaded

    def audit(self, picture: Picture, question: str, text: str, rule: RejectRule | None = None) -> AnswerVerdict:
        """The verdict on an answer in words, as the guard gives it; margins are not kept."""
        image = decoded(picture) if isinstance(picture, str) and picture[:5].lower() == "data:" else picture
        with Store(":memory:") as store:
            return audit_answer(self.auditor.using(store), image, question, text, rule)


@cache
def shared_auditor(model: str | None = None, policy: str | Path | None = None) -> SharedAuditor:
    """The one auditor of this process for a model and a policy."""
    return SharedAuditor(model, policy)
