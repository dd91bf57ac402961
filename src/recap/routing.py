"""Several models in the box: each picture is audited by the one that was made for such pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from recap.audit import AuditCase, Auditor, Picture, Verdict
from recap.errors import RecapError
from recap.models.domain import Domain, PictureCheck
from recap.models.load import bundled_domain, default_policy
from recap.policy import Policy, asks_for_things, load_policy
from recap.schemes import DEFAULT_MODELS, scheme_of
from recap.store import Store
from recap.texts import TextReading, TextVerdict


class BundledAuditor(Auditor):
    """Bundled models in order of preference. The first whose domain holds a picture speaks about it.

    Where none does, the one to which the picture is least strange is asked, and there is no verdict. Models are
    loaded when a picture first needs them; `model`, `policy` and `domain` are those of the first.
    """

    def __init__(self, names: Sequence[str], **options: Any) -> None:
        """`options` are those of `Auditor.load`."""
        if not names:
            raise RecapError("no model is bundled with this installation")
        self.names, self._options = tuple(names), options
        self._loaded: dict[str, tuple[Auditor, Domain | None]] = {}
        self._asks: bool | None = None
        first = self.auditor(self.names[0])
        super().__init__(
            first.model, first.policy, first.graph, first.store, any_model=first.any_model, domain=first.domain
        )

    @classmethod
    def load_default(cls, policy: str | Path | Policy | None = None, **options: Any) -> Auditor:
        """What audits where nobody names a model: all that are bundled, or the one that a given policy speaks for.

        `options` are those of `Auditor.load`.
        """
        names = bundled_models()
        if policy is None:
            return cls(names, **options)
        frozen = policy if isinstance(policy, Policy) else load_policy(policy)
        # A policy names its model as tables do: world:aligned@0123456789ab (float32, sdpa).
        own = [name for name in names if (frozen.model or "").startswith(f"{name}@")]
        return Auditor.load((own or names)[0], frozen, **options)

    def using(self, store: Store) -> BundledAuditor:
        other = super().using(store)
        assert isinstance(other, BundledAuditor)
        return other

    def auditor(self, name: str) -> Auditor:
        """The auditor of one of the models, loaded when it is first asked for."""
        return self._entry(name)[0]

    def load_all(self) -> list[Auditor]:
        """Every auditor, now: a service waits at its start, and not at its first photograph."""
        return [self.auditor(name) for name in self.names]

    def audit_many(
        self, cases: Sequence[AuditCase | tuple[Picture, str] | tuple[Picture, str, str | None]]
    ) -> list[Verdict]:
        """Many verdicts, each by the model that knows such pictures."""
        prepared = self._named(cases)
        chosen = self._choose({case.name or "": case for case in prepared})
        verdicts: dict[int, Verdict] = {}
        for name in self.names:
            mine = [i for i, case in enumerate(prepared) if chosen[case.name or ""][0] == name]
            if mine:
                auditor = self.auditor(name)
                speaker, strange = auditor.model.identity.name, [chosen[prepared[i].name or ""][1] for i in mine]
                known = [
                    replace(prepared[i], strangeness={speaker: value}) for i, value in zip(mine, strange, strict=True)
                ]
                said = auditor.using(self.store).audit_many(known)
                verdicts |= {
                    i: self._told(verdict, value) for i, verdict, value in zip(mine, said, strange, strict=True)
                }
        return [verdicts[i] for i in range(len(prepared))]

    @property
    def asks_for_things(self) -> bool:
        """Whether the policy of any model that may speak can use the question: who will is not known before."""
        if self._asks is None:
            graph = self._options.get("graph")
            files = [file for name in self.names if (file := default_policy(name, graph)) is not None]
            self._asks = any(asks_for_things(load_policy(file)) for file in files)
        return self._asks

    def judge_text(self, reading: TextReading, verdicts: Sequence[Verdict]) -> TextVerdict:
        """What follows for a text, under the policy of the model that spoke about its picture."""
        for auditor, _ in self._loaded.values():
            if verdicts and auditor.model.identity.name == verdicts[0].model:
                return auditor.judge_text(reading, verdicts)
        return super().judge_text(reading, verdicts)

    def _told(self, verdict: Verdict, strangeness: float) -> Verdict:
        """The verdict, with a word about who could have been asked where nobody was made for the picture."""
        if verdict.no_verdict is None or strangeness <= 1:
            return verdict
        made = [f"{name} for {domain.pictures}" for name, (_, domain) in self._loaded.items() if domain is not None]
        return replace(
            verdict, notes=(*verdict.notes, f"no bundled model was made for such a picture ({', '.join(made)})")
        )

    def _entry(self, name: str) -> tuple[Auditor, Domain | None]:
        if name not in self._loaded:
            # The domain says who speaks even where its word is not wanted on the verdict (`any_picture`).
            self._loaded[name] = Auditor.load(name, **self._options), bundled_domain(name)
        return self._loaded[name]

    def _named(
        self, cases: Sequence[AuditCase | tuple[Picture, str] | tuple[Picture, str, str | None]]
    ) -> list[AuditCase]:
        """Every case with its picture open and a name that only cases about the same picture share."""
        graph = self.graph
        given = [
            case if isinstance(case, AuditCase) else AuditCase.of(*case[:2], (*case[2:], None)[0], graph)
            for case in cases
        ]
        unnamed: dict[int, str] = {}
        named = [
            case if case.name else replace(case, name=unnamed.setdefault(id(case.image), f"picture {len(unnamed) + 1}"))
            for case in given
        ]
        opened = {case.name: case for case in named}
        shown = {name: case.opened().image for name, case in opened.items()}
        return [replace(case, image=shown[case.name]) for case in named]

    def strangeness_of(self, picture: Image.Image) -> dict[str, float]:
        """How strange a picture is to each model up to the first that was made for such pictures."""
        found: dict[str, float] = {}
        for name in self.names:
            auditor, domain = self._entry(name)
            check = PictureCheck(domain, auditor.model)
            check.finish([""], lambda _: picture)
            found[name] = check.strangeness.get("", 0.0)
            if found[name] <= 1:
                break
        return found

    def _choose(self, cases: dict[str, AuditCase]) -> dict[str, tuple[str, float]]:
        """Which model speaks about each picture, and how strange the picture is to it."""
        best: dict[str, tuple[str, float]] = {}
        for name in self.names:
            left = [picture for picture in cases if best.get(picture, ("", 2.0))[1] > 1]
            if not left:
                break
            auditor, domain = self._entry(name)
            known = {picture: cases[picture].strangeness for picture in left}
            told = {picture: each[name] for picture, each in known.items() if name in each}
            check = PictureCheck(domain, auditor.model, told)
            check.finish(left, lambda picture: cases[picture].opened().image)  # pyright: ignore[reportArgumentType]
            for picture in left:
                strangeness = check.strangeness.get(picture, 0.0)
                if picture not in best or strangeness < best[picture][1]:
                    best[picture] = name, strangeness
        return best


def bundled_models() -> tuple[str, ...]:
    """The models that are asked where nobody names one, as far as they are installed, in order of preference."""
    return tuple(name for name in DEFAULT_MODELS if _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        scheme = scheme_of(name)
        return scheme is not None and (scheme.checkpoint_folder(name) / "config.json").is_file()
    except RecapError:
        return False
