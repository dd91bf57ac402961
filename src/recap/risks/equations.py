"""The paper's equations, one function each. Arrays in, arrays out; x(u) is any channel's margin.

`yes` is the audited answer ŷ, claim is x(c), contradiction is A_x(c), support_penalty is P_x(c): all (n,).
Risks are oriented so that higher means reject.
"""

from __future__ import annotations

import numpy as np

from recap.arrays import Bools, Floats


def confidence(direct: Floats) -> Floats:
    """R_conf = −|m(q_orig)| (Eq. 2)."""
    return -np.abs(direct)


def lift(image: Floats, text: Floats) -> Floats:
    """Δ(u) = m_I(u) − m_T(u): what the picture adds to the words (Eq. 3)."""
    return image - text


def strongest_contradiction(x: Floats, edges: Bools) -> Floats:
    """A_x(c) = max over a ∈ A(c) of x(a), and 0 when A(c) is empty: a missing edge is neutral (Eq. 4).

    x and edges are (n, K); edges marks which columns are contradictions of the row's claim.
    """
    if not x.shape[1]:
        return np.zeros(len(x))
    return np.where(edges.any(axis=1), np.where(edges, x, -np.inf).max(axis=1), 0.0)


def support_penalty(x: Floats, weights: Floats) -> Floats:
    """P_x(c) = Σ over s ∈ S(c) of β_s [−x(s)]₊ (Eq. 4). x and weights are (n, S); weight 0 is no edge."""
    return np.where(weights > 0, weights * np.maximum(-x, 0.0), 0.0).sum(axis=1)


def evidence(claim: Floats, contradiction: Floats, support_penalty: Floats | float) -> Floats:
    """E_x(c) = x(c) − A_x(c) − P_x(c): what speaks for a positive claim (Eq. 5)."""
    return claim - contradiction - support_penalty


def relation_margin(yes: Bools, claim: Floats, contradiction: Floats, support_penalty: Floats) -> Floats:
    """M_x: the evidence for a "yes"; for a "no" its best witness, max{−x(c), A_x(c), P_x(c)} (Eq. 6)."""
    against = np.maximum(np.maximum(-claim, contradiction), support_penalty)
    return np.where(yes, evidence(claim, contradiction, support_penalty), against)


def relation_risk(yes: Bools, claim: Floats, contradiction: Floats, support_penalty: Floats) -> Floats:
    """R_x = −M_x (Eq. 7): RECAP-Img with x = m_I, RECAP-Cal with x = Δ."""
    return -relation_margin(yes, claim, contradiction, support_penalty)


def selector(confidence_percentile: Floats, relation_percentile: Floats) -> Floats:
    """R_sel = max{F̂_conf(R_conf), F̂_rel(R_rel)}: both must be low for an answer to be accepted (Eq. 9)."""
    return np.maximum(confidence_percentile, relation_percentile)


def aligned(yes: Bools, margin: Floats) -> Floats:
    """s(ŷ, m): the margin as support for the audited answer, m for "yes" and −m for "no"."""
    return np.where(yes, margin, -margin)


def pair_risk(yes: Bools, claim: Floats, contradiction: Floats) -> Floats:
    """−s(ŷ, x(c) − A_x(c)): the symmetric reading, in which a contradiction is all that "no" can mean."""
    return -aligned(yes, claim - contradiction)


def claim_contradiction_risk(yes: Bools, claim: Floats, contradiction: Floats) -> Floats:
    """The answer-conditioned risk of claim and contradiction alone: the support term is left out of both branches."""
    return -np.where(yes, claim - contradiction, np.maximum(-claim, contradiction))


def competitive_no_risk(yes: Bools, claim: Floats, contradiction: Floats, support_penalty: Floats) -> Floats:
    """RECAP with A_x(c) − x(c) in place of A_x(c) in the "no" branch: a contradiction must outdo the claim."""
    against = np.maximum(np.maximum(-claim, contradiction - claim), support_penalty)
    return -np.where(yes, evidence(claim, contradiction, support_penalty), against)


def prompt_consistency_risk(yes: Bools, direct: Floats, paraphrases: Floats) -> Floats:
    """Prompt-SC: minus the weakest answer-aligned margin among the original query and its paraphrases (n, P)."""
    weakest, strongest = np.fmin(direct, paraphrases.min(axis=1)), np.fmax(direct, paraphrases.max(axis=1))
    return -np.where(yes, weakest, -strongest)


def contrast_risk(yes: Bools, clean_pair: Floats, degraded_pair: Floats) -> Floats:
    """VCD-Contrast: minus what the clean image adds, over the degraded one, to the answer's side of the pair."""
    return -aligned(yes, clean_pair - degraded_pair)


def flip_risk(asserted_clean: Floats, asserted_flipped: Floats) -> Floats:
    """BCEA-Flip: −(m_I(r_ŷ) − m_flip(I)(r_ŷ)), r_ŷ being the relation that the answer asserts."""
    return -(asserted_clean - asserted_flipped)
