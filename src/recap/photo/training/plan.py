"""What is fixed before training starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recap.photo.tower import STRENGTH

RELATED = 0.7
"""how many pictures of a batch have two things to relate for sure, once relations are asked"""
STATEMENTS = 4
"""people's statements about one picture in one step, at most"""
SHARES = {
    "left_of": 5, "right_of": 5, "above": 3.5, "below": 3.5, "on": 2.5, "inside": 2, "contains": 2, "in_front_of": 2.5,
    "behind": 2.5, "near": 1, "far": 1, "touching": 1,
}  # fmt: skip
"""how often each relation is asked; any other that people's statements teach, a sixth"""


@dataclass(frozen=True)
class Plan:
    """The settings of a training, repeated in its record."""

    backbone: str = "efficientnet_lite2"
    layers: int = 6
    width: int = 384
    inner: int = 1024
    batch: int = 128
    rate: float = 8e-4
    backbone_rate: float = 2.5e-4
    warmup: int = 150
    blind: int = 8
    """pictures of a batch that are asked about without being shown, so that a bare question has an answer"""
    lessons: float = 0.2
    """share of the training in which existence and halves come first"""
    statements_from: float = 0.5
    """from here on some pictures of a batch come with people's statements, in the last part more"""
    last_part: float = 0.8
    crop: float = 0.6
    """how many pictures are shown in another frame"""
    dense: float = 1.0
    """weight of the dense lesson during the first lessons; half of it later"""
    look: float = 1.0
    """weight of the lesson of looking in the first half; then it falls to a tenth"""
    gaze: float = 0.5
    """weight of where attention goes, within the lesson of looking"""
    strength: float = STRENGTH
    """how strong a place's coordinates are beside its features"""
    order: float = 1.0
    """weight of what the answer follows from, told where it is given, within the lesson of looking"""
    decay: float = 0.05
    average: float = 0.999
    no_share: float = 1.0
    """how many of the questions whose answer is no are kept: fewer make a model that says yes"""
    held_out: int = 2400
    teacher_steps: int = 700
    seed: int = 0

    def dense_weight(self, progress: float) -> float:
        """The weight of the dense lesson."""
        return self.dense if progress < self.lessons else self.dense / 2

    def look_weight(self, progress: float) -> float:
        """The weight of the lesson of looking."""
        return self.look * (1 - 0.9 * min(1.0, max(0.0, progress - 0.5) / 0.4))


def biased(plan: Plan) -> Plan:
    """The plan of a short continuation in which almost every answer is yes, without the aids: their heads are gone."""
    return replace(
        plan, no_share=0.01, rate=1e-4, backbone_rate=2e-5, warmup=20, lessons=0.0, statements_from=0.0, last_part=0.0,
        dense=0.0, look=0.0,
    )  # fmt: skip
