"""How each of the two models is trained: the numbers that the model cards repeat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Some steps with a share of questions whose true answer is yes."""

    steps: int
    rate: float
    """the highest learning rate"""
    yes_share: float = 0.5
    warmup: int = 0
    final: float = 0.02
    """the last learning rate, as a share of the highest"""
    stop: int | None = None
    """where to leave off before the learning rate has come down"""

    @property
    def last(self) -> int:
        """How many steps are really taken."""
        return min(self.steps, self.stop or self.steps)


@dataclass(frozen=True)
class Curriculum:
    """Stages one after another."""

    name: str
    about: str
    stages: tuple[Stage, ...]
    scenes: int = 400_000
    development: int = 8192
    """scenes on which training is watched"""
    batch: int = 512
    questions: int = 6
    long_questions: int = 2
    """questions per scene where they are the long, constraint-aware ones"""
    long_share: float = 0.08
    """how often a step asks those"""
    blind_share: float = 0.08
    """how often a scene's picture is not shown, so that the models have answers to a bare question"""
    noise: float = 0.08
    cells: float = 0.5
    """weight of telling which thing is where, an aid to learning to see that is thrown away after training"""


CURRICULA = {
    "aligned": Curriculum("aligned", "as many yes as no answers", (Stage(steps=3000, rate=8e-4, warmup=300),)),
    "biased": Curriculum(
        "biased",
        "balanced answers first, then a short stage in which almost every answer is yes, as with captions",
        (
            Stage(steps=8000, rate=8e-4, warmup=300, stop=1500),
            Stage(steps=300, rate=1e-4, yes_share=0.99, final=1.0),
        ),
    ),
}
