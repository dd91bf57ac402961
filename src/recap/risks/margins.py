"""A margin table as the equations see it: the answer, the direct margins, and the witnesses of each channel."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recap.risks.equations import lift, strongest_contradiction, support_penalty
from recap.table import Bools, Channel, Floats, MarginTable


class Witnesses(NamedTuple):
    """x(c), A_x(c) and P_x(c) of one channel, (n,) each."""

    claim: Floats
    contradiction: Floats
    support_penalty: Floats

    @classmethod
    def of(cls, channel: Channel) -> Witnesses:
        """Summarise a channel's margins (Eq. 4)."""
        return cls(
            channel.claim,
            strongest_contradiction(channel.contradictions, channel.contradiction_edges),
            support_penalty(channel.supports, channel.support_weights),
        )

    @property
    def pair(self) -> Floats:
        """x(c) − A_x(c): the claim against its strongest contradiction."""
        return self.claim - self.contradiction


def _of_channel(name: str) -> cached_property[Witnesses]:
    return cached_property(lambda margins: Witnesses.of(margins.table.channel(name)))


class Margins:
    """Columns of a table by the names that the formulas use. Witnesses are summarised when first asked for."""

    def __init__(self, table: MarginTable) -> None:
        self.table = table
        self.yes: Bools = table.yes
        """ŷ = yes"""
        self.direct: Floats = table.direct("image")
        """m(q_orig) on the image"""
        self.paraphrases: Floats = table.paraphrases
        """m of the paraphrased direct question, (n, P)"""
        self.ca_bidirectional: Floats = table.direct("ca_bidirectional")
        self.ca_combined: Floats = table.direct("ca_combined")

    image = _of_channel("image")
    """x = m_I"""
    text = _of_channel("text")
    """x = m_T"""
    degraded = _of_channel("degraded")
    """x = m on the degraded image"""
    flipped = _of_channel("flipped")
    """x = m on the mirrored image"""

    @cached_property
    def lift(self) -> Witnesses:
        """x = Δ = m_I − m_T, subtracted relation by relation before anything is summarised (Eq. 3)"""
        image, text = self.table.channel("image"), self.table.channel("text")
        return Witnesses.of(
            replace(
                image,
                claim=lift(image.claim, text.claim),
                contradictions=lift(image.contradictions, text.contradictions),
                supports=lift(image.supports, text.supports),
            )
        )

    def asserted(self, witnesses: Witnesses) -> Floats:
        """x of the relation that the answer asserts: the claim for "yes", its contradiction for "no"."""
        return np.where(self.yes, witnesses.claim, witnesses.contradiction)
