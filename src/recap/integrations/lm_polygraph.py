# lm-polygraph is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
"""lm-polygraph: RECAP's risks as estimators, and the calculator that asks the probes they need.

A benchmark's input texts are questions and its images the pictures; the answers are the ones that the host's model
generates. Higher estimates mean less certain, as everywhere there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lm_polygraph.estimators.estimator import Estimator
from lm_polygraph.stat_calculators.stat_calculator import StatCalculator
from lm_polygraph.utils.factory_stat_calculator import StatCalculatorContainer

from recap.arrays import Floats
from recap.audit import Auditor, verdict_on
from recap.claims import default_graph
from recap.claims.answers import said, yes_or_no
from recap.errors import RecapError
from recap.models import LikelihoodModel
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.policy import Policy, load_policy
from recap.risks import compute_risk
from recap.risks.compute import risk_named
from recap.store import Store
from recap.table import MarginTable, Row, as_table

QUESTION = "{question}"
ROWS = "recap_rows"
"""the statistic: for each question the margins of its probes as a row of a margin table, or None"""


class RecapRowsCalculator(StatCalculator):
    """Asks a model every probe of each question about its picture."""

    @staticmethod
    def meta_info() -> tuple[list[str], list[str]]:
        return [ROWS], ["greedy_texts"]

    def __init__(self, model: LikelihoodModel, prompt: str = QUESTION) -> None:
        """`prompt` is what the benchmark puts around each question, with {question} in its place."""
        super().__init__()
        self.auditor = Auditor(model)
        if prompt.count(QUESTION) != 1:
            raise RecapError(f"the prompt around the questions must hold {QUESTION} once")
        self.before, _, self.after = prompt.partition(QUESTION)

    def __call__(
        self,
        dependencies: Mapping[str, Any],
        texts: Sequence[str],
        model: Any,  # noqa: ARG002
        max_new_tokens: int = 100,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, list[Row | None]]:
        """What is no spatial question with a yes or no, or comes without a picture, has no row."""
        pictures = dependencies.get("images") or [None] * len(texts)
        cases: dict[int, tuple[Any, str, str]] = {}
        asked = [text.removeprefix(self.before).removesuffix(self.after).strip() for text in texts]
        for i, (picture, text, answered) in enumerate(zip(pictures, asked, dependencies["greedy_texts"], strict=True)):
            answer = yes_or_no((said(answered) or "").strip())
            if picture is not None and answer is not None and self._is_spatial(text):
                cases[i] = picture, text, answer
        with Store(":memory:") as store:
            verdicts = self.auditor.using(store).audit_many(list(cases.values())) if cases else []
        rows = {i: verdict.row for i, verdict in zip(cases, verdicts, strict=True)}
        return {ROWS: [rows.get(i) for i in range(len(texts))]}

    def _is_spatial(self, text: str) -> bool:
        try:
            return self.auditor.graph.parse(text).statement.is_question
        except RecapError:
            return False


def load_stat_calculator(config: Any, builder: Any) -> RecapRowsCalculator:
    """As lm-polygraph builds it: the model that `config` names, else the benchmark's own, which is not loaded twice."""
    named, prompt = config.get("model"), config.get("prompt") or QUESTION
    if named is not None:
        return RecapRowsCalculator(load_model(str(named)), prompt)
    host = builder.model
    if not hasattr(host, "processor_visual"):
        raise RecapError("the benchmark's model shows no pictures: name one for the calculator (cfg: model)")
    return RecapRowsCalculator(LocalModel(host.model, host.processor_visual, str(host.model_path)), prompt)


def recap_rows(model: str | None = None, prompt: str = QUESTION) -> StatCalculatorContainer:
    """The calculator's entry for `available_stat_calculators`."""
    stats, needs = RecapRowsCalculator.meta_info()
    return StatCalculatorContainer(
        name="RecapRowsCalculator",
        obj=RecapRowsCalculator,
        builder=__name__,
        cfg={"model": model, "prompt": prompt},
        stats=stats,
        dependencies=needs,
    )


class RecapRisk(Estimator):
    """One of RECAP's risks by name; NaN for what has none."""

    def __init__(self, name: str = "recap-img", calibration: MarginTable | str | Path | None = None) -> None:
        """`calibration` is a margin table, for risks that are calibrated or fitted."""
        risk = risk_named(name)
        if (risk.calibrated or risk.fitted) and calibration is None:
            raise RecapError(f"risk {name} needs a calibration table; recap-img does not")
        super().__init__([ROWS], "sequence")
        self.name = name
        self.calibration = None if calibration is None else as_table(calibration, None)

    def __str__(self) -> str:
        return f"Recap-{self.name}"

    def __call__(self, stats: Mapping[str, Sequence[Row | None]]) -> Floats:
        given = stats[ROWS]
        rows = tuple(row for row in given if row is not None)
        values = np.full(len(given), np.nan)
        if rows:
            table = MarginTable(
                rows, default_graph() if self.calibration is None else self.calibration.graph, source="the benchmark"
            )
            values[[row is not None for row in given]] = compute_risk(table, self.name, self.calibration)
        return values


class RecapAudit(Estimator):
    """How far each answer is from being accepted: the policy's risk less its threshold. Accepted where that is ≤ 0."""

    def __init__(self, policy: Policy | str | Path, *, any_model: bool = False) -> None:
        super().__init__([ROWS], "sequence")
        self.policy = policy if isinstance(policy, Policy) else load_policy(policy)
        self.any_model = any_model

    def __str__(self) -> str:
        return f"RecapAudit-{self.policy.mode}"

    def __call__(self, stats: Mapping[str, Sequence[Row | None]]) -> Floats:
        return np.array([np.nan if row is None else self._distance(row) for row in stats[ROWS]])

    def _distance(self, row: Row) -> float:
        verdict = verdict_on(row.model_copy(update={"model": None}) if self.any_model else row, self.policy)
        if verdict.risk is None or verdict.threshold is None:
            return -np.inf if verdict.accepted else np.inf
        return verdict.risk - verdict.threshold
